/* SPDX-License-Identifier: MIT
 *
 * Helpers for operators that work along the axes of a tensor: indices and strides, sources of
 * values, strided copies (SIS__STRIDED_OPERATOR), reductions.
 */
#ifndef SIS_NET_OPS_AXES_H
#define SIS_NET_OPS_AXES_H

#include "net/plan/context.h"

/* The tensor seen as (outer, size, inner) around one axis. */
void sis__axis_around(const sis__tensor *t, size_t axis, sis__axis *a);

/* The distance of neighbours along each axis, in values. */
void sis__strides_of(const sis__tensor *t, size_t *stride);

/* Step an index over n axes; 0 when it wraps around to the start. *at is its offset. */
int sis__index_next(size_t n, const size_t *dims, const size_t *stride, size_t *index, size_t *at);

/* Index i, which may count from the end, counted from the front; SIZE_MAX: out of range. */
size_t sis__index_in(int64_t i, size_t size);

/* Value i of a tensor of floats, integers or bool. */
double sis__number_at(const sis__tensor *t, const void *data, size_t i);
/* Set value i. */
void sis__number_set(const sis__tensor *t, void *data, size_t i, double v);

/* The nearest int64; NaN is 0. */
int64_t sis__saturate(double v);

/* Sources (net/plan/source.h) of operators in which input 1 picks slices along p.axis, of those
 * that treat each image separately, and of those that mix all values along p.axis. */
int sis__picked_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                       sis__source *from);
int sis__images_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                       sis__source *from);
int sis__lines_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                      sis__source *from);

/* An operator that copies values in another order. Its shape function declares the output and fills
 * p.strided: the digits of an output index, and the step of each in the input. */
int sis__strided_forward(const sis__step *s, sis__run *r);
int sis__strided_backward(const sis__step *s, sis__run *r);
int sis__strided_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                        sis__source *from);
#define SIS__STRIDED_OPERATOR(name, min, max, shape)                                               \
    const sis__op sis__op_##name = {min,                                                           \
                                    max,                                                           \
                                    shape,                                                         \
                                    sis__strided_forward,                                          \
                                    sis__strided_backward,                                         \
                                    .trait = SIS__MOVES,                                           \
                                    .source = sis__strided_source};

/* Set the axes of x that are reduced, as (kept, reduced) loops. */
void sis__reduce_over(sis__reduce *e, const sis__tensor *x, const unsigned char *reduced);

/* Forward of operators whose outputs are known when the plan is made: never called. */
int sis__never_run(const sis__step *s, sis__run *r);

/* Backward of operators that copy values: the gradient is copied. */
int sis__pass_back(const sis__step *s, sis__run *r);

#endif
