/* SPDX-License-Identifier: MIT
 *
 * Does a decision of boosted trees stay whatever some of the features are? Decided exactly: yes, or
 * no with an example.
 *
 * Values of a column are cut into *cells* at the thresholds of the trees; within a cell nothing
 * changes, so a question is about finitely many inputs. It is answered by branch and bound: the
 * largest leaf that each tree can still reach bounds the sum; where that bound does not decide,
 * one test of the trees is taken as passed and then as failed. Bounds leave room for the rounding
 * of the library's sums, and where nothing is left to branch on its own sums decide.
 *
 *     cells.c     values -> cells, tests of the trees -> sets of cells
 *     ensemble.c  tree ensembles of ONNX files
 *     trees.c     branch and bound
 */
#ifndef SIS_PROVE_TREES_H
#define SIS_PROVE_TREES_H

#include "prove/ensemble.h"
#include "prove/oracle.h"
#include "trees/booster.h"

typedef struct sis__prover sis__prover;

/* What is to stay. */
typedef enum sis__prove_what {
    SIS__PROVE_CLASS,    /* no other output is higher than `output` */
    SIS__PROVE_AT_LEAST, /* the margin of `output` is at least `threshold` */
    SIS__PROVE_AT_MOST
} sis__prove_what;

typedef struct sis__prove_question {
    const double *row;     /* (width) the example */
    const int *feature_of; /* (width) -1: never free; NULL: each column is a feature */
    size_t n_features;
    const double *low, *high;     /* (width) what free columns may be, rounded as the trees round
                                     what they read; NULL: any number */
    const unsigned char *missing; /* (width) which of them may be missing, too; NULL: none */
    sis__prove_what what;
    size_t output;
    double threshold;
    int one_of; /* features of several columns, of which one is 1 and the others are 0, stay such */
    size_t most; /* branches for one answer; 0: as many as it takes */
} sis__prove_question;

/* Borrows the booster. Several may ask at once. */
int sis__prover_new(const sis__booster *b, sis__prover **out);
void sis__prover_free(sis__prover *p);

/* Are values rounded to float before they are compared? */
int sis__prover_rounds(const sis__prover *p);

/* The same of an ensemble of an ONNX file; thresholds are then those of scores. */
int sis__prover_of_ensemble(const sis__ensemble *e, sis__prover **out);

/* Who answers a question: every answer is exact, unless `most` branches did not decide. Borrows the
 * prover and what the question points to. */
int sis__trees_oracle(const sis__prover *p, const sis__prove_question *q, sis__oracle **out);

#endif
