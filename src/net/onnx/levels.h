/* SPDX-License-Identifier: MIT
 *
 * Quantised operators as floats. An 8-bit integer less its zero point is a level, a whole number that a float
 * holds exactly, and so it does sums of their products below 2^24. A quantised convolution is then an ordinary
 * one of levels, and what follows it does the same to every value: kernels and walks of floats serve both.
 *
 *     QLinearConv   ->   Lift  Conv  Levels  Settle
 *
 * Lift makes levels of integers and Settle integers of levels; between neighbours the two undo each other and
 * are left out. net/onnx/recipes.c says what each operator becomes, net/ops/quant.c has the parts. Operators whose sums are not
 * exact in single precision, or whose weights or scales are computed, are refused: ONNX Runtime runs them.
 */
#ifndef SIS_NET_ONNX_LEVELS_H
#define SIS_NET_ONNX_LEVELS_H

#include "base/names.h"

struct Sis__Onnx__Graph;
struct Sis__Onnx__Node;
struct Sis__Onnx__Tensor;

/* Which initializer and which node each name of a graph is, by their numbers; NULL: none. */
typedef struct sis__levels {
    sis__names names;
    const struct Sis__Onnx__Tensor **constants;
    const struct Sis__Onnx__Node **producers;
    int error; /* SIS_E_NOMEM: some constant could not be read */
} sis__levels;

/* Release it after a failure, too. The graph must stay as it is in the meantime. */
int sis__levels_index(sis__levels *l, const struct Sis__Onnx__Graph *g);
void sis__levels_release(sis__levels *l);

/* Why a quantised operator cannot be computed in levels; NULL: it can. Its scales, zero points and weights must be constants, and
 * sums small enough to be exact. */
const char *sis__levels_refused(sis__levels *g, const struct Sis__Onnx__Node *n);

/* Leave out every Lift of what was settled just before. */
int sis__levels_join(struct Sis__Onnx__Graph *g);

#endif
