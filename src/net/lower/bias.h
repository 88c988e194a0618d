/* SPDX-License-Identifier: MIT
 *
 * Fold a constant per filter that is added to a convolution, as CNTK and others write it, into its
 * bias:
 *
 *     Conv(x, w)  Add(., b)   ->   Conv(x, w, Squeeze(b))
 *
 * Sums then start from the bias, as in ONNX Runtime, and passes and walks have one layer less.
 * A BatchNormalization by constants becomes part of the weights in the same way:
 *
 *     Conv(x, w, b)  BatchNormalization(., s, t, m, v)   ->   Conv(x, k w, t + k (b - m)),  k = s / sqrt(v + eps)
 */
#ifndef SIS_NET_LOWER_BIAS_H
#define SIS_NET_LOWER_BIAS_H

struct Sis__Onnx__Graph;

/* Fold wherever nothing else reads the sums before the Add. Graphs with bodies (If, Loop) can read
 * any value and stay unchanged. */
int sis__bias_join(struct Sis__Onnx__Graph *g);

#endif
