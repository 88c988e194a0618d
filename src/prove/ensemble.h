/* SPDX-License-Identifier: MIT
 *
 * The tree ensemble of an ONNX file as what proofs about boosters need to know (trees.h): a forest that
 * reads floats, and what becomes of its sums. They are added in double, divided (by the number of trees,
 * for means), a base is added, the result is rounded to float, and a function of floats makes scores of
 * it. That function is only asked, never inverted: where a decision begins is found by bisection. So is
 * where each test of a tree turns, if a Scaler or an Imputer stands in front of the trees: the same trees
 * that test the input itself.
 */
#ifndef SIS_PROVE_ENSEMBLE_H
#define SIS_PROVE_ENSEMBLE_H

#include <sis/model.h>

#include "trees/booster.h"

typedef struct sis__ensemble sis__ensemble;

/* The ensemble that a network consists of; *out NULL: it is something else. */
int sis__ensemble_new(const sis_model *model, sis__ensemble **out);
void sis__ensemble_free(sis__ensemble *e);

/* Its sums as a booster without a link, which belongs to it. */
const sis__booster *sis__ensemble_booster(const sis__ensemble *e);

size_t sis__ensemble_outputs(const sis__ensemble *e);

/* The scores (outputs) of a row (width), as the network has them. Scratch: row (width), sums and seen
 * (n_sums). */
typedef struct sis__ensemble_scratch {
    double *row, *sums;
    unsigned char *seen;
} sis__ensemble_scratch;

void sis__ensemble_scores(const sis__ensemble *e, const double *row, const sis__ensemble_scratch *t,
                          float *scores);

/* What is to stay of the scores, as a question about sums. Of both classes of a pair that follow from one
 * sum, and of a score, that is where one sum begins to have it. */
typedef struct sis__ensemble_cut {
    int of_one;   /* else: no other sum is higher than that of the output */
    int min;      /* at least `value`, else at most */
    size_t sum;   /* which */
    double value; /* behind division and base */
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
