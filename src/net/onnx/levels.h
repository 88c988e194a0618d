/* SPDX-License-Identifier: MIT
 *
 * Quantised operators as floats. An 8-bit integer less its zero point is a level, a whole number that a float
 * holds exactly, and so it does sums of their products below 2^24. A quantised convolution is then an ordinary
 * one of levels, and what follows it does the same to every value: kernels and walks of floats serve both.
 *
 *     QLinearConv   ->   Lift  Conv  Levels  Settle
 *
 * Lift makes levels of integers and Settle integers of levels; between neighbours the two undo each other and
 * are left out. net/onnx/recipes.c says what each operator becomes, net/ops/quant.c has the four.
 */
#ifndef SIS_NET_ONNX_LEVELS_H
#define SIS_NET_ONNX_LEVELS_H

struct Onnx__GraphProto;
struct Onnx__NodeProto;

/* May this node be computed in levels? Its scales, zero points and weights must be constants, and sums small
 * enough to be exact. */
int sis__levels_fit(const struct Onnx__GraphProto *g, const struct Onnx__NodeProto *n);

/* Leave out every Lift of what was settled just before. */
int sis__levels_join(struct Onnx__GraphProto *g);

#endif
