/* SPDX-License-Identifier: MIT
 *
 * Quantised operators as floats. An 8-bit integer less its zero point is a level, a whole number that a float
 * holds exactly, and so it does sums of their products below 2^24. A quantised convolution is then an ordinary
 * one of levels, and what follows it does the same to every value: kernels and walks of floats serve both.
 *
 *     QLinearConv   ->   Lift  Conv  Levels  Settle
 *
 * Lift makes levels of integers and Settle integers of levels; between neighbours the two undo each other and
 * are left out. net/lower/recipes.c says what each operator becomes, net/ops/quant.c has the parts. Operators whose sums are not
 * exact in single precision, or whose weights or scales are computed, are refused: ONNX Runtime runs them.
 */
#ifndef SIS_NET_LOWER_LEVELS_H
#define SIS_NET_LOWER_LEVELS_H

struct sis__index;
struct Sis__Onnx__Graph;
struct Sis__Onnx__Node;

/* Why a quantised operator cannot be computed in levels; NULL: it can. Its scales, zero points and weights must be constants, and
 * sums small enough to be exact. */
const char *sis__levels_refused(struct sis__index *g, const struct Sis__Onnx__Node *n);

/* Leave out every Lift of what was settled just before. */
int sis__levels_join(struct Sis__Onnx__Graph *g);

#endif
