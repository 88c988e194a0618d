/* SPDX-License-Identifier: MIT
 *
 * Quantised operators computed exactly in floats. An 8-bit integer minus its zero point is a level.
 * A float holds a level exactly, and also sums of products of levels below 2^24. So a quantised
 * convolution becomes an ordinary convolution of levels followed by an element-wise function, and
 * the kernels and walks of floats serve both.
 *
 *     QLinearConv   ->   Lift  Conv  Levels  Settle
 *
 * Lift converts integers to levels, Settle converts levels to integers; between neighbours the two
 * cancel and are removed. net/lower/operators.c has the table of operators, and net/ops/quant.c
 * computes Lift, Levels and Settle. Operators whose sums are not exact in single precision, or whose
 * weights or scales are computed, are left to ONNX Runtime.
 */
#ifndef SIS_NET_LOWER_EXACT_QUANT_H
#define SIS_NET_LOWER_EXACT_QUANT_H

struct sis__index;
struct Sis__Onnx__Graph;
struct Sis__Onnx__Node;

/* Why a quantised operator cannot be computed exactly; NULL: it can. Scales, zero points and
 * weights must be constants, and sums must be small enough. */
const char *sis__exact_quant_refused(struct sis__index *g, const struct Sis__Onnx__Node *n);

/* Remove every Lift that directly follows a Settle. */
int sis__exact_quant_join(struct Sis__Onnx__Graph *g);

#endif
