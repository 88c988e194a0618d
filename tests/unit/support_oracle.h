/* SPDX-License-Identifier: MIT
 *
 * Random functions of every temper to explain, and the paper's three procedures written down as
 * plainly as possible, to hold the core against.
 */
#ifndef SIS_TEST_ORACLE_H
#define SIS_TEST_ORACLE_H

#include <sis/sis.h>

#include "base/rng.h"

enum { MAX = 24 }; /* features of a random function at most */

typedef enum { LINEAR, PRODUCTS, NETWORK, TABLE, COARSE, N_TEMPERS } temper;

/* A function of n values; read it through a sis_model whose ctx it is. */
typedef struct function {
    temper temper;
    size_t n;
    double w[MAX], v[MAX][MAX];
    uint64_t salt;
    size_t rows; /* what predict was asked */
} function;

/* A random function, input and mask. Some values equal their mask. */
typedef struct problem {
    function f;
    double x[MAX], z[MAX];
    double threshold;
    sis_model model;
    sis_input input;
} problem;

void problem_init(problem *p, sis__rng *r);
double function_value(const function *f, const double *x);

/* The score of the input with only these features (flags) present. */
double present_value(const problem *p, const unsigned char *present);
int function_predict(void *ctx, const double *rows, size_t n, size_t width, double *scores);

/* What SIScollection must return. */
typedef struct answer {
    sis_status status;
    size_t n_subsets, sizes[MAX];
    int subsets[MAX][MAX];
    double scores[MAX];
    int order[MAX]; /* of the first backward selection */
    double trace[MAX];
    double rest;
} answer;

void oracle_collect(const problem *p, double threshold, int below, answer *out);

/* Fails the test unless every claim of the collection holds. */
void assert_holds(const sis_model *model, const sis_input *input, const sis_opt *opt,
                  const sis_collection *c);

/* Fails the test unless the collection is that answer. */
void assert_answer(const sis_collection *c, const answer *a);

#endif
