/* SPDX-License-Identifier: MIT
 *
 * A tree ensemble of an ONNX file in the form that proofs need (trees.h): a forest that reads
 * floats, and the steps from its sums to scores. Sums are added in double, divided (by the number
 * of trees, for means), a base is added, the result is rounded to float, and a function of floats
 * computes the scores. That function is only evaluated, never inverted: bisection finds where a
 * decision begins. If a Scaler or an Imputer comes before the trees, bisection also finds the
 * threshold of each test on the input, which gives an equivalent forest.
 */
#ifndef SIS_PROVE_ENSEMBLE_H
#define SIS_PROVE_ENSEMBLE_H

#include <sis/model.h>

#include "trees/booster.h"

typedef struct sis__ensemble sis__ensemble;

/* The ensemble that a network consists of; *out NULL: another network. */
int sis__ensemble_new(const sis_model *model, sis__ensemble **out);
void sis__ensemble_free(sis__ensemble *e);

/* Its sums as a booster without a link; the ensemble owns it. */
const sis__booster *sis__ensemble_booster(const sis__ensemble *e);

size_t sis__ensemble_outputs(const sis__ensemble *e);

/* The scores (outputs) of a row (width), as in the network. Scratch: row (width), sums and seen
 * (n_sums). */
typedef struct sis__ensemble_scratch {
    double *row, *sums;
    unsigned char *seen;
} sis__ensemble_scratch;

void sis__ensemble_scores(const sis__ensemble *e, const double *row, const sis__ensemble_scratch *t,
                          float *scores);

/* The decision as a condition on sums. For a score, and for two classes that depend on one sum, it
 * is a threshold of one sum. */
typedef struct sis__ensemble_cut {
    int of_one;   /* else: no other sum exceeds that of the output */
    int min;      /* the sum must be at least `value`, else at most */
    size_t sum;   /* index of the sum */
    double value; /* after division and base */
} sis__ensemble_cut;

/* Does an output have the decision with these scores? */
typedef struct sis__ensemble_decision {
    int keep_class, below;
    size_t output;
    double threshold;
} sis__ensemble_decision;

int sis__ensemble_decided(const sis__ensemble_decision *d, const float *scores, size_t outputs);
int sis__ensemble_cut_of(const sis__ensemble *e, const sis__ensemble_decision *d,
                         sis__ensemble_cut *out);

#endif
