/* SPDX-License-Identifier: MIT
 *
 * Does a decision of a network stay whatever some of the features are? Sound, not complete: proved, or
 * refuted by an example, or neither.
 *
 * Networks are chains of affine operators (Gemm, MatMul, Conv, pooling by means, batch norm, sums with
 * and products by constants) and ReLU. An affine operator is read by asking it: its matrix is what it
 * makes of one value at a time. What the features may be is a box. Intervals go forward through the
 * layers; then what has to stay is bounded backwards (CROWN, Zhang et al. 2018): a linear function of
 * the last layer becomes one of the input, a ReLU whose sign is open being replaced by the line below or
 * above it. Without a ReLU that is exact. Bounds leave room for the network's rounding.
 */
#ifndef SIS_PROVE_NETS_H
#define SIS_PROVE_NETS_H

#include <sis/model.h>

#include "prove/oracle.h"

typedef struct sis__chain sis__chain;

/* SIS_E_UNSUPPORTED if the network is something else; the message says at which operator. */
int sis__chain_new(const sis_model *model, sis__chain **out);
void sis__chain_free(sis__chain *c);

typedef struct sis__chain_question {
    const sis_model *model; /* who decides about examples: its scores are those of the decision */
    const sis_input *input;
    const double *low, *high; /* (n_values) NULL: any number */
    int keep_class;
    int below;
    double margin;    /* where the decision begins, unless keep_class */
    double threshold; /* the same as a score of `model` */
} sis__chain_question;

int sis__chain_oracle(const sis__chain *c, const sis__chain_question *q, size_t n_features,
                      sis__oracle **out);

#endif
