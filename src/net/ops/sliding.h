/* SPDX-License-Identifier: MIT
 *
 * Sliding windows, shared by convolution and pooling.
 */
#ifndef SIS_NET_OPS_SLIDING_H
#define SIS_NET_OPS_SLIDING_H

#include "net/plan/context.h"

/* Fill w from the attributes strides, pads, dilations, auto_pad (and kernel_shape, which may be
 * missing if w->kernel is set) and the shape of input 0; computes w->out. */
int sis__window_read(sis__shape_ctx *c, sis__window *w, const size_t *kernel, int ceil_mode);

/* The same for a convolution of x with filters f (filters, channels of a group, kernel...) and the
 * attribute group. */
int sis__window_filters(sis__shape_ctx *c, sis__window *w, const sis__tensor *x,
                        const sis__tensor *f);

/* Shape (n, channels, out...) of the result, with as many spatial axes as input 0. */
int sis__window_output(sis__shape_ctx *c, const sis__window *w, size_t i, sis__dtype t);

/* First and one past the last k of an axis for which output o has an input. */
void sis__window_span(const sis__window *w, size_t axis, size_t o, size_t *from, size_t *to);

/* Gradient of Conv (conv_backward.c), and its scratch memory in bytes. */
int sis__conv_backward(const sis__step *s, sis__run *r);
size_t sis__conv_backward_scratch(const sis__window *w);

#endif
