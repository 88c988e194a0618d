/* SPDX-License-Identifier: MIT
 *
 * What a LayerNormalization or SkipLayerNormalization computes, for walks.
 */
#ifndef SIS_NET_OPS_LAYER_NORM_H
#define SIS_NET_OPS_LAYER_NORM_H

#include "net/kernels/kernels.h"
#include "net/plan/plan.h"

/* Tokens are normalised along their last axis, each being in[0] + in[1] + extra. */
typedef struct sis__summed_norm {
    int in[2];            /* tensors; in[1] is -1: none */
    const float *extra;   /* (norm.n) or NULL */
    sis__layer_norm norm; /* its shift may be NULL */
    int sum;              /* the tensor that the sum goes to; -1: nobody asks for it */
} sis__summed_norm;

/* 0: the step is something else, or its parameters are computed. */
int sis__summed_norm_of(const sis__plan *p, const sis__step *s, sis__summed_norm *out);

#endif
