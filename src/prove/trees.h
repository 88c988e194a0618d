/* SPDX-License-Identifier: MIT
 *
 * Does a decision of boosted trees stay whatever the values of some features are? Decided exactly:
 * yes, or no with an example.
 *
 * The values of a column are divided into *cells* at the thresholds of the trees; within a cell
 * nothing changes, so a question is about finitely many inputs. It is answered by branch and bound:
 * the largest leaf that each tree can still reach bounds the sum; if that bound does not decide,
 * one test of the trees is assumed to pass and then to fail. Bounds include the rounding error of
 * the library's sums, and if nothing is left to branch on, the library's own sums decide.
 *
 *     cells.c     values -> cells, tests of the trees -> sets of cells
 *     ensemble.c  tree ensembles of ONNX files
 *     search.c    branch and bound; search.h has its files
 *     trees.c     questions and answers
 */
#ifndef SIS_PROVE_TREES_H
#define SIS_PROVE_TREES_H

#include "prove/ensemble.h"
#include "prove/oracle.h"
#include "trees/booster.h"

typedef struct sis__prover sis__prover;

/* The decision that must stay. */
typedef enum sis__prove_what {
    SIS__PROVE_CLASS,    /* no other output exceeds `output` */
    SIS__PROVE_AT_LEAST, /* the margin of `output` is at least `threshold` */
    SIS__PROVE_AT_MOST
} sis__prove_what;

typedef struct sis__prove_question {
    const double *row;     /* (width) the example */
    const int *feature_of; /* (width) -1: never free; NULL: each column is a feature */
    size_t n_features;
    const double *low, *high;     /* (width) range of free columns, rounded like the trees' inputs;
                                   * NULL: any number */
    const unsigned char *missing; /* (width) which of them may be missing too; NULL: none */
    sis__prove_what what;
    size_t output;
    double threshold;
    int one_of; /* features with several columns, exactly one of which is 1, stay like that */
    size_t max; /* maximal number of branches per answer; 0: no limit */
} sis__prove_question;

/* Borrows the booster. Several threads may use it. */
int sis__prover_new(const sis__booster *b, sis__prover **out);
void sis__prover_free(sis__prover *p);

/* Are values rounded to float before they are compared? */
int sis__prover_rounds(const sis__prover *p);

/* The same for an ensemble of an ONNX file; thresholds are then scores. */
int sis__prover_of_ensemble(const sis__ensemble *e, sis__prover **out);

/* The oracle for a question. Every answer is exact, unless `max` branches did not decide. Borrows
 * the prover and the question's pointers. */
int sis__trees_oracle(const sis__prover *p, const sis__prove_question *q, sis__oracle **out);

#endif
