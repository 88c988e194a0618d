/* SPDX-License-Identifier: MIT
 *
 * Convolutions of 3 x 3 with fewer products (Winograd's F(2 x 2, 3 x 3)), part of conv.c.
 */
#ifndef SIS_NET_OPS_CONV_TILES_H
#define SIS_NET_OPS_CONV_TILES_H

#include "net/plan/context.h"

/* Is a convolution with these constant weights computed in tiles? Depends on the network and the
 * shape of a row only. */
int sis__tiles_take(const sis__shape_ctx *c, const sis__window *w, const float *weights);

/* The weights, transformed and packed. */
const float *sis__tiles_pack(sis__shape_ctx *c, const sis__window *w, const float *weights);

size_t sis__tiles_scratch(const sis__window *w, size_t nr); /* in floats */
int sis__tiles_forward(const sis__step *s, sis__run *r);

#endif
