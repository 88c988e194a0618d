/* SPDX-License-Identifier: MIT
 *
 * Tree ensembles of ai.onnx.ml: a forest (src/trees), and the steps from its sums to scores.
 */
#ifndef SIS_NET_OPS_TREES_H
#define SIS_NET_OPS_TREES_H

#include "net/plan/context.h"
#include "trees/forest.h"

struct sis__trees {
    size_t n, outputs;
    sis__forest forest; /* one sum if `single`, else one per output */
    const float *base;  /* (sums) NULL: none */
    sis__post post;
    int classifier;
    int single;       /* two classes, weights of class 0 only: both scores follow from one sum */
    int all_positive; /* all weights are >= 0 */
    int weighted;     /* classes with weights: 1: the first, 2: the second, 3: both */
    const int64_t *labels;
};

/* From the sums of a row to its scores: sums are rounded, and the rest is computed from the rounded
 * ones. */
void sis__trees_round(const sis__trees *t, const double *sum, float *raw);
void sis__trees_finish(const sis__trees *t, float *scores);

#endif
