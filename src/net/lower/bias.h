/* SPDX-License-Identifier: MIT
 *
 * A number for each filter that is added to what a convolution gives, as CNTK and others write it, is its
 * bias:
 *
 *     Conv(x, w)  Add(., b)   ->   Conv(x, w, Squeeze(b))
 *
 * The sum of a pixel starts from it then, as ONNX Runtime has it, and passes and walks have a layer less.
 */
#ifndef SIS_NET_LOWER_BIAS_H
#define SIS_NET_LOWER_BIAS_H

struct Sis__Onnx__Graph;

/* Wherever nobody else reads the sums without it. Graphs with bodies (If, Loop), which may read anything,
 * stay as they are. */
int sis__bias_join(struct Sis__Onnx__Graph *g);

#endif
