/* SPDX-License-Identifier: MIT
 *
 * Strides, indices, sources and reductions along the axes of a tensor. See axes.h.
 */
#include "net/ops/axes.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

void sis__axis_around(const sis__tensor *t, size_t axis, sis__axis *a) {
    *a = (sis__axis){.axis = axis, .outer = 1, .size = 1, .inner = 1};
    for (size_t d = 0; d < t->rank; d++)
        *(d < axis ? &a->outer : d == axis ? &a->size : &a->inner) *= t->dims[d];
}

void sis__strides_of(const sis__tensor *t, size_t *stride) {
    size_t at = 1;
    for (size_t d = t->rank; d-- > 0;) {
        stride[d] = at;
        at *= t->dims[d];
    }
}

int sis__index_next(size_t n, const size_t *dims, const size_t *stride, size_t *index, size_t *at) {
    for (size_t d = n; d-- > 0;) {
        *at += stride[d];
        if (++index[d] < dims[d])
            return 1;
        *at -= stride[d] * dims[d];
        index[d] = 0;
    }
    return 0;
}

size_t sis__index_in(int64_t i, size_t size) {
    int64_t n = (int64_t)size;
    i = i < 0 && i >= -n ? i + n : i;
    return i >= 0 && i < n ? (size_t)i : SIZE_MAX;
}

double sis__number_at(const sis__tensor *t, const void *data, size_t i) {
    return t->dtype == SIS__F32    ? (double)((const float *)data)[i]
           : t->dtype == SIS__BOOL ? (double)((const uint8_t *)data)[i]
                                   : (double)((const int64_t *)data)[i];
}

int64_t sis__saturate(double v) {
    return isnan(v)                      ? 0
           : v >= 9223372036854775807.0  ? INT64_MAX
           : v <= -9223372036854775808.0 ? INT64_MIN
                                         : (int64_t)v;
}

void sis__number_set(const sis__tensor *t, void *data, size_t i, double v) {
    if (t->dtype == SIS__F32)
        ((float *)data)[i] = (float)v;
    else if (t->dtype == SIS__BOOL)
        ((uint8_t *)data)[i] = v != 0;
    else
        ((int64_t *)data)[i] = sis__saturate(v);
}

/* ---- Where values come from ------------------------------------------------------------------ */

int sis__picked_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                       sis__source *from) {
    const sis__axis *a = &s->p.axis;
    const sis__tensor *i = &p->tensors[s->inputs[1]];
    const int64_t *index = (const int64_t *)i->data;
    (void)out;
    for (size_t k = 0; index && k < i->count; k++)
        if (sis__index_in(index[k], a->size) == SIZE_MAX)
            return 0;
    sis__source_digit(from, a->outer, in == 0 ? (ptrdiff_t)(a->size * a->inner) : 0);
    sis__source_digit(from, i->count, in == 1 ? 1 : index ? (ptrdiff_t)a->inner : 0);
    sis__source_digit(from, a->inner, in == 0);
    if (in == 0 && !index)
        from->over[from->n_over++] = (sis__digit){a->size, (ptrdiff_t)a->inner};
    from->same = in == 0 && index;
    if (from->same && i->count == 1) {
        from->offset = (ptrdiff_t)(sis__index_in(*index, a->size) * a->inner);
    } else if (from->same) {
        from->picks = index;
        from->picked = 1;
        from->pick_size = a->size;
    }
    return 1;
}

int sis__images_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                       sis__source *from) {
    const sis__tensor *x = &p->tensors[s->inputs[in]], *y = &p->tensors[s->outputs[out]];
    size_t n = y->rank ? y->dims[0] : 0;
    if (in > 0)
        return sis__source_all(from, y->count, x->count);
    if (n == 0)
        return 0;
    sis__source_digit(from, n, (ptrdiff_t)(x->count / n));
    sis__source_digit(from, y->count / n, 0);
    from->over[from->n_over++] = (sis__digit){x->count / n, 1};
    return 1;
}

int sis__lines_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                      sis__source *from) {
    const sis__axis *a = &s->p.axis;
    (void)p, (void)out;
    sis__source_digit(from, a->outer, (ptrdiff_t)(a->size * a->inner));
    sis__source_digit(from, a->size, 0);
    sis__source_digit(from, a->inner, 1);
    from->over[from->n_over++] = (sis__digit){a->size, (ptrdiff_t)a->inner};
    return in == 0;
}

void sis__reduce_over(sis__reduce *e, const sis__tensor *x, const unsigned char *reduced) {
    size_t stride[SIS__MAX_RANK];
    sis__strides_of(x, stride);
    e->count = 1;
    for (size_t d = 0; d < x->rank; d++)
        if (reduced[d]) {
            e->reduced[e->n_reduced] = x->dims[d];
            e->reduced_stride[e->n_reduced++] = stride[d];
            e->count *= x->dims[d];
        } else {
            e->kept[e->n_kept] = x->dims[d];
            e->kept_stride[e->n_kept++] = stride[d];
        }
}

int sis__never_run(const sis__step *s, sis__run *r) {
    (void)s, (void)r;
    return SIS_OK;
}

int sis__pass_back(const sis__step *s, sis__run *r) {
    const float *dy = sis__dout(s, r, 0);
    float *dx = sis__din(s, r, 0);
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; dx && dy && i < n; i++)
        dx[i] += dy[i];
    return SIS_OK;
}
