/* SPDX-License-Identifier: MIT
 *
 * Operators that copy values in another order: Transpose, Slice, Expand, Tile. Each is one strided
 * copy (axes.h). All types.
 */
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/broadcast.h"
#include "net/ops/ops.h"

/* ---- Strided copies -------------------------------------------------------------------------- */

static void strides_of(const sis__tensor *t, ptrdiff_t *stride) {
    ptrdiff_t at = 1;
    for (size_t d = t->rank; d-- > 0;) {
        stride[d] = at;
        at *= (ptrdiff_t)t->dims[d];
    }
}

static int strided_output(sis__shape_ctx *c, sis__strided *p) {
    return sis__ctx_output(c, 0, sis__ctx_input(c, 0)->dtype, p->rank, p->dims);
}

/* Call fn for each row (run along the last axis) with the offset in x and in y. */
static void each_row(const sis__strided *p, void (*fn)(void *, ptrdiff_t, size_t), void *ctx) {
    size_t index[2 * SIS__MAX_RANK] = {0}, axes = p->rank ? p->rank - 1 : 0, rows = 1, y = 0;
    size_t length = p->rank ? p->dims[p->rank - 1] : 1;
    ptrdiff_t x = p->offset;
    for (size_t d = 0; d < axes; d++)
        rows *= p->dims[d];
    for (size_t i = 0; length && i < rows; i++, y += length) {
        fn(ctx, x, y);
        for (size_t d = axes; d-- > 0;) {
            x += p->stride[d];
            if (++index[d] < p->dims[d])
                break;
            x -= p->stride[d] * (ptrdiff_t)p->dims[d];
            index[d] = 0;
        }
    }
}

typedef struct {
    const char *x;
    char *y;
    float *dx;
    const float *dy;
    size_t n, size;
    ptrdiff_t step;
} mover;

static mover mover_of(const sis__step *s, const sis__run *r) {
    const sis__strided *p = &s->p.strided;
    return (mover){.x = (const char *)sis__in(s, r, 0),
                   .y = (char *)sis__out(s, r, 0),
                   .dx = r->grad ? sis__din(s, r, 0) : NULL,
                   .dy = r->grad ? sis__dout(s, r, 0) : NULL,
                   .n = p->rank ? p->dims[p->rank - 1] : 1,
                   .step = p->rank ? p->stride[p->rank - 1] : 0,
                   .size = sis__dtype_size(sis__tin(s, r, 0)->dtype)};
}

static void copy_row(void *ctx, ptrdiff_t x, size_t y) {
    const mover *m = (const mover *)ctx;
    if (m->step == 1) {
        memcpy(m->y + y * m->size, m->x + x * (ptrdiff_t)m->size, m->n * m->size);
    } else if (m->size == 4) {
        const float *from = (const float *)(const void *)m->x + x;
        float *to = (float *)(void *)m->y + y;
        for (size_t i = 0; i < m->n; i++)
            to[i] = from[(ptrdiff_t)i * m->step];
    } else {
        for (size_t i = 0; i < m->n; i++)
            memcpy(m->y + (y + i) * m->size,
                   m->x + (x + (ptrdiff_t)i * m->step) * (ptrdiff_t)m->size, m->size);
    }
}

static void add_row(void *ctx, ptrdiff_t x, size_t y) {
    const mover *m = (const mover *)ctx;
    for (size_t i = 0; i < m->n; i++)
        m->dx[x + (ptrdiff_t)i * m->step] += m->dy[y + i];
}

int sis__strided_forward(const sis__step *s, sis__run *r) {
    mover m = mover_of(s, r);
    each_row(&s->p.strided, copy_row, &m);
    return SIS_OK;
}

int sis__strided_backward(const sis__step *s, sis__run *r) {
    mover m = mover_of(s, r);
    if (m.dx)
        each_row(&s->p.strided, add_row, &m);
    return SIS_OK;
}

int sis__strided_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                        sis__source *from) {
    const sis__strided *m = &s->p.strided;
    (void)p, (void)out;
    from->same = 1;
    from->offset = m->offset;
    for (size_t d = 0; d < m->rank; d++)
        sis__source_digit(from, m->dims[d], m->stride[d]);
    return in == 0;
}

static int transpose_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__strided *p = &c->step->p.strided;
    size_t n;
    ptrdiff_t stride[SIS__MAX_RANK];
    unsigned char used[SIS__MAX_RANK] = {0};
    const int64_t *perm = sis__attr_ints(c, "perm", &n);
    if (c->error)
        return c->error;
    if (n && n != x->rank)
        return sis__ctx_fail(c, SIS_E_FORMAT, "perm of %zu axes for %zu", n, x->rank);
    strides_of(x, stride);
    p->rank = x->rank;
    for (size_t d = 0; d < x->rank; d++) {
        size_t from = x->rank - 1 - d;
        if (n)
            from = sis__ctx_axis(c, perm[d], x->rank);
        if (used[from]++)
            return sis__ctx_fail(c, SIS_E_FORMAT, "perm names axis %zu twice", from);
        p->dims[d] = x->dims[from];
        p->stride[d] = stride[from];
    }
    return strided_output(c, p);
}

/* Swap the last two axes; used by lowering (net/lower/operators.c). */
static int swap_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__strided *p = &c->step->p.strided;
    if (x->rank < 2)
        return sis__ctx_fail(c, SIS_E_FORMAT, "%zu axes, not a matrix", x->rank);
    p->rank = x->rank;
    strides_of(x, p->stride);
    memcpy(p->dims, x->dims, sizeof x->dims);
    size_t last = x->rank - 1;
    p->dims[last] = x->dims[last - 1];
    p->dims[last - 1] = x->dims[last];
    p->stride[last] = (ptrdiff_t)x->dims[last];
    p->stride[last - 1] = 1;
    return strided_output(c, p);
}

/* Move the first axis before the last: transBatchA of FusedMatMul. */
static int sink_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__strided *p = &c->step->p.strided;
    ptrdiff_t stride[SIS__MAX_RANK];
    if (x->rank < 2)
        return sis__ctx_fail(c, SIS_E_FORMAT, "%zu axes, not a matrix", x->rank);
    p->rank = x->rank;
    strides_of(x, stride);
    for (size_t d = 0; d < x->rank; d++) {
        size_t from = d + 1 == x->rank ? d : d + 2 == x->rank ? 0 : d + 1;
        p->dims[d] = x->dims[from];
        p->stride[d] = stride[from];
    }
    return strided_output(c, p);
}

static int expand_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__strided *p = &c->step->p.strided;
    sis__tensor target = {0};
    ptrdiff_t stride[SIS__MAX_RANK];
    const int64_t *v = sis__ctx_ints(c, 1, &target.rank);
    if (c->error)
        return c->error;
    if (target.rank > SIS__MAX_RANK)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a shape of %zu axes", target.rank);
    for (size_t d = 0; d < target.rank; d++) {
        if (v[d] < 0 || v[d] > INT32_MAX)
            return sis__ctx_fail(c, SIS_E_FORMAT, "axis %zu of the shape is %lld", d,
                                 (long long)v[d]);
        target.dims[d] = (size_t)v[d];
    }
    if (sis__broadcast_dims((const sis__tensor *[]){x, &target}, 2, &p->rank, p->dims) != 0)
        return sis__ctx_fail(c, SIS_E_FORMAT, "a shape that does not fit");
    strides_of(x, stride);
    for (size_t d = 0; d < p->rank; d++) {
        size_t back = p->rank - d; /* axes are aligned at the end */
        p->stride[d] = back > x->rank || x->dims[x->rank - back] == 1 ? 0 : stride[x->rank - back];
    }
    return strided_output(c, p);
}

/* Each axis is repeated: a digit for the repeats, and one for the axis. */
static int tile_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__strided *p = &c->step->p.strided;
    size_t n, dims[SIS__MAX_RANK];
    ptrdiff_t stride[SIS__MAX_RANK];
    const int64_t *times = sis__ctx_ints(c, 1, &n);
    if (c->error)
        return c->error;
    if (n != x->rank)
        return sis__ctx_fail(c, SIS_E_FORMAT, "%zu repeats for %zu axes", n, x->rank);
    strides_of(x, stride);
    for (size_t d = 0; d < n; d++) {
        if (times[d] < 0 || times[d] > INT32_MAX)
            return sis__ctx_fail(c, SIS_E_FORMAT, "%lld repeats", (long long)times[d]);
        dims[d] = x->dims[d] * (size_t)times[d];
        p->dims[p->rank++] = (size_t)times[d];
        p->dims[p->rank] = x->dims[d];
        p->stride[p->rank++] = stride[d];
    }
    return sis__ctx_output(c, 0, x->dtype, n, dims);
}

/* ---- Slice --------------------------------------------------------------------------------- */

typedef struct {
    const int64_t *starts, *ends, *axes, *steps;
    size_t n;
} slicing;

/* Attributes before opset 10, inputs since. */
static int read_slicing(sis__shape_ctx *c, slicing *v) {
    size_t n[4] = {0};
    *v = (slicing){0};
    if (c->step->n_inputs == 1) {
        v->starts = sis__attr_ints(c, "starts", &n[0]);
        v->ends = sis__attr_ints(c, "ends", &n[1]);
        v->axes = sis__attr_ints(c, "axes", &n[2]);
    } else {
        const int64_t **to[4] = {&v->starts, &v->ends, &v->axes, &v->steps};
        for (size_t i = 0; i < 4; i++)
            if (sis__ctx_input(c, i + 1))
                *to[i] = sis__ctx_ints(c, i + 1, &n[i]);
    }
    v->n = n[0];
    if (n[1] != v->n || (v->axes && n[2] != v->n) || (v->steps && n[3] != v->n))
        sis__ctx_fail(c, SIS_E_FORMAT, "%zu starts, %zu ends, %zu axes, %zu steps", n[0], n[1],
                      n[2], n[3]);
    return c->error;
}

static int64_t clamp(int64_t v, int64_t size, int64_t low, int64_t high) {
    v = v < 0 ? (v < -size ? -1 : v + size) : v; /* below the first: -1, without overflow */
    return v < low ? low : v > high ? high : v;
}

/* The end of a slice. As in ONNX Runtime, the largest integer means no end; backwards, before the
 * first. */
static int64_t end_of(int64_t v, int64_t size, int64_t step) {
    if (step > 0)
        return clamp(v, size, 0, size);
    return v == INT32_MAX || v == INT64_MAX ? -1 : clamp(v, size, -1, size - 1);
}

static int slice_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__strided *p = &c->step->p.strided;
    slicing v;
    unsigned char used[SIS__MAX_RANK] = {0};
    read_slicing(c, &v);
    if (c->error)
        return c->error;
    p->rank = x->rank;
    memcpy(p->dims, x->dims, sizeof x->dims);
    strides_of(x, p->stride);
    for (size_t i = 0; i < v.n; i++) {
        size_t d = sis__ctx_axis(c, v.axes ? v.axes[i] : (int64_t)i, x->rank);
        if (c->error)
            return c->error;
        int64_t size = (int64_t)x->dims[d], step = v.steps ? v.steps[i] : 1;
        if (step == 0 || step < -INT32_MAX || step > INT32_MAX || used[d]++)
            return sis__ctx_fail(c, SIS_E_FORMAT, "axis %zu is cut twice, or with step 0", d);
        int64_t first = size ? 0 : -1; /* backwards from before the first: from the first */
        int64_t from = step > 0 ? clamp(v.starts[i], size, 0, size)
                                : clamp(v.starts[i], size, first, size - 1);
        int64_t to = end_of(v.ends[i], size, step);
        int64_t span = step > 0 ? to - from : from - to, by = step > 0 ? step : -step;
        p->dims[d] = span > 0 ? (size_t)((span + by - 1) / by) : 0;
        p->offset += p->dims[d] ? from * p->stride[d] : 0;
        p->stride[d] *= step;
    }
    return strided_output(c, p);
}

SIS__STRIDED_OPERATOR(transpose, 1, 1, transpose_shape)
SIS__STRIDED_OPERATOR(expand, 2, 2, expand_shape)
SIS__STRIDED_OPERATOR(tile, 2, 2, tile_shape)
SIS__STRIDED_OPERATOR(slice, 1, 5, slice_shape)
SIS__STRIDED_OPERATOR(swap, 1, 1, swap_shape)
SIS__STRIDED_OPERATOR(sink, 1, 1, sink_shape)
