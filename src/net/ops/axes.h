/* SPDX-License-Identifier: MIT
 *
 * Axes: what operators that look at a tensor along its axes share.
 */
#ifndef SIS_NET_OPS_AXES_H
#define SIS_NET_OPS_AXES_H

#include "net/plan/context.h"

/* The tensor seen as (outer, size, inner) around one axis. */
void sis__axis_around(const sis__tensor *t, size_t axis, sis__axis *a);

/* How far apart neighbours along each axis lie, in values. */
void sis__strides_of(const sis__tensor *t, size_t *stride);

/* Step an index over n axes; 0 when it has come round. *at is the offset it stands for. */
int sis__index_next(size_t n, const size_t *dims, const size_t *stride, size_t *index, size_t *at);

/* i counted from the front of an axis of that size, or SIZE_MAX if it lies outside. */
size_t sis__index_in(int64_t i, size_t size);

/* Number i of a tensor of floats, integers or bool. */
double sis__number_at(const sis__tensor *t, const void *data, size_t i);
/* The other way round. */
void sis__number_set(const sis__tensor *t, void *data, size_t i, double v);

/* A whole number of that type as one without a sign that is the larger the larger it is: doubles do not tell those
 * above 2^53 apart. */
uint64_t sis__whole_rank(int elem, int64_t v);

/* Where values come from (net/plan/source.h) if input 1 says which slices along p.axis are picked, if images
 * are treated apart, and if all values along p.axis are. */
int sis__picked_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                       sis__source *from);
int sis__images_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                       sis__source *from);
int sis__lines_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                      sis__source *from);

/* Which axes of x are reduced, as runs go over them. */
void sis__reduce_over(sis__reduce *e, const sis__tensor *x, const unsigned char *reduced);

/* The gradient of what keeps its values: the same for each. */
int sis__pass_back(const sis__step *s, sis__run *r);

#endif
