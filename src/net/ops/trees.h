/* SPDX-License-Identifier: MIT
 *
 * Tree ensembles of ai.onnx.ml: a forest (src/trees), and what becomes of its sums.
 */
#ifndef SIS_NET_OPS_TREES_H
#define SIS_NET_OPS_TREES_H

#include "net/plan/context.h"
#include "trees/forest.h"

struct sis__trees {
    size_t n, outputs;
    sis__forest forest; /* of one sum if `single`, else of one for each output */
    const float *base;  /* (sums) NULL: none */
    sis__post post;
    int classifier;
    int single;       /* two classes, weights of class 0 only: both follow from that one score */
    int all_positive; /* and all of them are >= 0 */
    int weighted;     /* 1: the first class has weights, 2: the second; 3: both */
    const int64_t *labels;
};

/* From the sums of a row to its scores: they are rounded, and what is left is done to the rounded
 * ones. */
void sis__trees_round(const sis__trees *t, const double *sum, float *raw);
void sis__trees_finish(const sis__trees *t, float *scores);

#endif
