/* SPDX-License-Identifier: MIT
 *
 * Operators that move values: Transpose, Slice, Expand, Tile (each a strided copy), Concat, Split,
 * Gather, Pad. All work on any type.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "net/broadcast.h"
#include "net/ops.h"

/* ---- Strided copies -------------------------------------------------------------------------- */

static void strides_of(const sis__tensor *t, ptrdiff_t *stride) {
    ptrdiff_t at = 1;
    for (size_t d = t->rank; d-- > 0;) {
        stride[d] = at;
        at *= (ptrdiff_t)t->dims[d];
    }
}

static int strided_output(sis__cx *c, sis__strided *p) {
    return sis__cx_output(c, 0, sis__cx_input(c, 0)->dtype, p->rank, p->dims);
}

/* Call fn for each row (run along the last axis) with the offset in x and in y. */
static void each_row(const sis__strided *p, void (*fn)(void *, ptrdiff_t, size_t), void *ctx) {
    size_t index[SIS__MAX_RANK] = {0}, axes = p->rank ? p->rank - 1 : 0, rows = 1, y = 0;
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

static int strided_forward(const sis__step *s, sis__run *r) {
    mover m = mover_of(s, r);
    each_row(&s->p.strided, copy_row, &m);
    return SIS_OK;
}

static int strided_backward(const sis__step *s, sis__run *r) {
    mover m = mover_of(s, r);
    if (m.dx)
        each_row(&s->p.strided, add_row, &m);
    return SIS_OK;
}

static int transpose_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    sis__strided *p = &c->step->p.strided;
    const int64_t *perm;
    size_t n;
    ptrdiff_t stride[SIS__MAX_RANK];
    unsigned char used[SIS__MAX_RANK] = {0};
    int error = sis__attr_ints(c, "perm", &perm, &n);
    if (error)
        return error;
    if (n && n != x->rank)
        return sis__cx_fail(c, SIS_E_FORMAT, "perm of %zu axes for %zu", n, x->rank);
    strides_of(x, stride);
    p->rank = x->rank;
    for (size_t d = 0; d < x->rank; d++) {
        size_t from = x->rank - 1 - d;
        if (n && (error = sis__cx_axis(c, perm[d], x->rank, &from)) != 0)
            return error;
        if (used[from]++)
            return sis__cx_fail(c, SIS_E_FORMAT, "perm names axis %zu twice", from);
        p->dims[d] = x->dims[from];
        p->stride[d] = stride[from];
    }
    return strided_output(c, p);
}

static int expand_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    sis__strided *p = &c->step->p.strided;
    const int64_t *v;
    sis__tensor target = {0};
    ptrdiff_t stride[SIS__MAX_RANK];
    int error = sis__cx_ints(c, 1, &v, &target.rank);
    if (error)
        return error;
    if (target.rank > SIS__MAX_RANK)
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "a shape of %zu axes", target.rank);
    for (size_t d = 0; d < target.rank; d++) {
        if (v[d] < 0 || v[d] > INT32_MAX)
            return sis__cx_fail(c, SIS_E_FORMAT, "axis %zu of the shape is %lld", d,
                                (long long)v[d]);
        target.dims[d] = (size_t)v[d];
    }
    if (sis__broadcast_dims((const sis__tensor *[]){x, &target}, 2, &p->rank, p->dims) != 0)
        return sis__cx_fail(c, SIS_E_FORMAT, "a shape that does not fit");
    strides_of(x, stride);
    for (size_t d = 0; d < p->rank; d++) {
        size_t back = p->rank - d; /* axes are aligned at the end */
        p->stride[d] = back > x->rank || x->dims[x->rank - back] == 1 ? 0 : stride[x->rank - back];
    }
    return strided_output(c, p);
}

/* ---- Slice --------------------------------------------------------------------------------- */

typedef struct {
    const int64_t *starts, *ends, *axes, *steps;
    size_t n;
} slicing;

/* Attributes before opset 10, inputs since. */
static int read_slicing(sis__cx *c, slicing *v) {
    size_t n[4] = {0};
    int error = SIS_OK;
    *v = (slicing){0};
    if (c->step->n_inputs == 1) {
        error = sis__attr_ints(c, "starts", &v->starts, &n[0]);
        if (!error)
            error = sis__attr_ints(c, "ends", &v->ends, &n[1]);
        if (!error)
            error = sis__attr_ints(c, "axes", &v->axes, &n[2]);
    } else {
        const int64_t **to[4] = {&v->starts, &v->ends, &v->axes, &v->steps};
        for (size_t i = 0; i < 4 && !error; i++)
            if (sis__cx_input(c, i + 1))
                error = sis__cx_ints(c, i + 1, to[i], &n[i]);
    }
    v->n = n[0];
    if (!error && (n[1] != v->n || (v->axes && n[2] != v->n) || (v->steps && n[3] != v->n)))
        error = sis__cx_fail(c, SIS_E_FORMAT, "%zu starts, %zu ends, %zu axes, %zu steps", n[0],
                             n[1], n[2], n[3]);
    return error;
}

static int64_t clamp(int64_t v, int64_t size, int64_t low, int64_t high) {
    v = v < 0 ? (v < -size ? -1 : v + size) : v; /* below the first: -1, without overflow */
    return v < low ? low : v > high ? high : v;
}

static int slice_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    sis__strided *p = &c->step->p.strided;
    slicing v;
    unsigned char used[SIS__MAX_RANK] = {0};
    int error = read_slicing(c, &v);
    if (error)
        return error;
    p->rank = x->rank;
    memcpy(p->dims, x->dims, sizeof p->dims);
    strides_of(x, p->stride);
    for (size_t i = 0; i < v.n; i++) {
        size_t d;
        if ((error = sis__cx_axis(c, v.axes ? v.axes[i] : (int64_t)i, x->rank, &d)) != 0)
            return error;
        int64_t size = (int64_t)x->dims[d], step = v.steps ? v.steps[i] : 1;
        if (step == 0 || step < -INT32_MAX || step > INT32_MAX || used[d]++)
            return sis__cx_fail(c, SIS_E_FORMAT, "axis %zu is cut twice, or with step 0", d);
        int64_t from =
            step > 0 ? clamp(v.starts[i], size, 0, size) : clamp(v.starts[i], size, -1, size - 1);
        int64_t to =
            step > 0 ? clamp(v.ends[i], size, 0, size) : clamp(v.ends[i], size, -1, size - 1);
        int64_t span = step > 0 ? to - from : from - to, by = step > 0 ? step : -step;
        p->dims[d] = span > 0 ? (size_t)((span + by - 1) / by) : 0;
        p->offset += p->dims[d] ? from * p->stride[d] : 0;
        p->stride[d] *= step;
    }
    return strided_output(c, p);
}

const sis__op sis__op_transpose = {1, 1, transpose_shape, strided_forward, strided_backward, 0};
const sis__op sis__op_expand = {2, 2, expand_shape, strided_forward, strided_backward, 0};
const sis__op sis__op_slice = {1, 5, slice_shape, strided_forward, strided_backward, 0};

/* ---- Concat, Split: pieces of one axis --------------------------------------------------------
 */

static void split_around(const sis__tensor *t, size_t axis, sis__axis *a) {
    *a = (sis__axis){.axis = axis, .outer = 1, .size = 1, .inner = 1};
    for (size_t d = 0; d < t->rank; d++)
        *(d < axis ? &a->outer : d == axis ? &a->size : &a->inner) *= t->dims[d];
}

static int concat_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    size_t dims[SIS__MAX_RANK], at;
    int64_t axis;
    int error = sis__attr_int(c, "axis", 1, &axis);
    if (!error)
        error = sis__cx_axis(c, axis, x->rank, &at);
    if (error)
        return error;
    memcpy(dims, x->dims, sizeof dims);
    dims[at] = 0;
    for (size_t i = 0; i < c->step->n_inputs; i++) {
        const sis__tensor *t = sis__cx_input(c, i);
        int fits = t && t->rank == x->rank && t->dtype == x->dtype;
        for (size_t d = 0; fits && d < x->rank; d++)
            fits = d == at || t->dims[d] == x->dims[d];
        if (!fits)
            return sis__cx_fail(c, SIS_E_FORMAT, "input %zu does not fit the first", i);
        dims[at] += t->dims[at];
    }
    split_around(x, at, &c->step->p.axis);
    return sis__cx_output(c, 0, x->dtype, x->rank, dims);
}

/* Copy (outer, part, inner) between a piece and its place in the whole. */
typedef struct {
    size_t outer, part, whole; /* in values, part and whole times inner */
    size_t from;               /* where the piece begins in each of the whole's rows */
} piece;

static void copy_piece(const piece *p, size_t size, const char *whole, char *part) {
    for (size_t o = 0; o < p->outer; o++)
        memcpy(part + o * p->part * size, whole + (o * p->whole + p->from) * size, p->part * size);
}

static void place_piece(const piece *p, size_t size, const char *part, char *whole) {
    for (size_t o = 0; o < p->outer; o++)
        memcpy(whole + (o * p->whole + p->from) * size, part + o * p->part * size, p->part * size);
}

static void add_piece(const piece *p, const float *whole, float *part) {
    for (size_t o = 0; o < p->outer; o++)
        for (size_t i = 0; i < p->part; i++)
            part[o * p->part + i] += whole[o * p->whole + p->from + i];
}

static int concat_forward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &s->p.axis;
    const sis__tensor *y = sis__tout(s, r, 0);
    piece p = {.outer = a->outer, .whole = y->dims[a->axis] * a->inner};
    for (size_t i = 0; i < s->n_inputs; i++) {
        p.part = sis__tin(s, r, i)->dims[a->axis] * a->inner;
        place_piece(&p, sis__dtype_size(y->dtype), (const char *)sis__in(s, r, i),
                    (char *)sis__out(s, r, 0));
        p.from += p.part;
    }
    return SIS_OK;
}

static int concat_backward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &s->p.axis;
    piece p = {.outer = a->outer, .whole = sis__tout(s, r, 0)->dims[a->axis] * a->inner};
    for (size_t i = 0; i < s->n_inputs; i++) {
        p.part = sis__tin(s, r, i)->dims[a->axis] * a->inner;
        if (sis__din(s, r, i))
            add_piece(&p, sis__dout(s, r, 0), sis__din(s, r, i));
        p.from += p.part;
    }
    return SIS_OK;
}

const sis__op sis__op_concat = {1, SIZE_MAX, concat_shape, concat_forward, concat_backward, 0};

static int split_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    const int64_t *sizes = NULL;
    size_t n = 0, at, dims[SIS__MAX_RANK], pieces = c->step->n_outputs;
    int64_t axis, declared;
    int error = sis__attr_int(c, "axis", 0, &axis);
    if (!error)
        error = sis__attr_int(c, "num_outputs", (int64_t)pieces, &declared);
    if (!error)
        error = sis__attr_ints(c, "split", &sizes, &n);
    if (!error && sis__cx_input(c, 1))
        error = sis__cx_ints(c, 1, &sizes, &n);
    if (!error)
        error = sis__cx_axis(c, axis, x->rank, &at);
    if (error)
        return error;
    if ((sizes && n != pieces) || pieces == 0)
        return sis__cx_fail(c, SIS_E_FORMAT, "%zu sizes for %zu outputs", n, pieces);
    size_t even = (x->dims[at] + pieces - 1) / pieces, used = 0;
    memcpy(dims, x->dims, sizeof dims);
    for (size_t i = 0; i < pieces && !error; i++) {
        size_t left = x->dims[at] - used;
        if (sizes && (sizes[i] < 0 || (uint64_t)sizes[i] > left))
            return sis__cx_fail(c, SIS_E_FORMAT, "pieces larger than the axis of %zu", x->dims[at]);
        dims[at] = sizes ? (size_t)sizes[i] : even < left ? even : left;
        used += dims[at];
        error = sis__cx_output(c, i, x->dtype, x->rank, dims);
    }
    if (!error && used != x->dims[at])
        return sis__cx_fail(c, SIS_E_FORMAT, "pieces of %zu for an axis of %zu", used, x->dims[at]);
    for (size_t i = 0; i < pieces; i++)
        if (c->step->outputs[i] < 0)
            return sis__cx_fail(c, SIS_E_UNSUPPORTED, "an output without a name");
    split_around(x, at, &c->step->p.axis);
    return error;
}

static int split_forward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &s->p.axis;
    piece p = {.outer = a->outer, .whole = a->size * a->inner};
    for (size_t i = 0; i < s->n_outputs; i++) {
        p.part = sis__tout(s, r, i)->dims[a->axis] * a->inner;
        copy_piece(&p, sis__dtype_size(sis__tout(s, r, i)->dtype), (const char *)sis__in(s, r, 0),
                   (char *)sis__out(s, r, i));
        p.from += p.part;
    }
    return SIS_OK;
}

static int split_backward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &s->p.axis;
    size_t whole = a->size * a->inner, from = 0;
    float *dx = sis__din(s, r, 0);
    for (size_t i = 0; dx && i < s->n_outputs; i++) {
        size_t part = sis__tout(s, r, i)->dims[a->axis] * a->inner;
        const float *dy = sis__dout(s, r, i);
        for (size_t o = 0; dy && o < a->outer; o++)
            for (size_t k = 0; k < part; k++)
                dx[o * whole + from + k] += dy[o * part + k];
        from += part;
    }
    return SIS_OK;
}

const sis__op sis__op_split = {1, 2, split_shape, split_forward, split_backward, 0};

/* ---- Gather: slices of x chosen by integers ----------------------------------------------------
 */

static int gather_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *i = sis__cx_input(c, 1);
    size_t dims[2 * SIS__MAX_RANK], rank = 0, at;
    int64_t axis;
    int error = sis__attr_int(c, "axis", 0, &axis);
    if (!error)
        error = sis__cx_axis(c, axis, x->rank, &at);
    if (error)
        return error;
    if (i->dtype != SIS__I64)
        return sis__cx_fail(c, SIS_E_FORMAT, "indices that are not integers");
    for (size_t d = 0; d < at; d++)
        dims[rank++] = x->dims[d];
    for (size_t d = 0; d < i->rank; d++)
        dims[rank++] = i->dims[d];
    for (size_t d = at + 1; d < x->rank; d++)
        dims[rank++] = x->dims[d];
    split_around(x, at, &c->step->p.axis);
    return sis__cx_output(c, 0, x->dtype, rank, dims);
}

/* Index k counted from the front, or SIZE_MAX. */
static size_t index_at(const sis__step *s, const sis__run *r, size_t k) {
    int64_t size = (int64_t)s->p.axis.size;
    int64_t i = ((const int64_t *)(const void *)sis__in(s, r, 1))[k];
    i = i < 0 && i >= -size ? i + size : i;
    return i >= 0 && i < size ? (size_t)i : SIZE_MAX;
}

static int gather_forward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &s->p.axis;
    size_t n = sis__tin(s, r, 1)->count,
           slice = a->inner * sis__dtype_size(sis__tin(s, r, 0)->dtype);
    const char *x = (const char *)sis__in(s, r, 0);
    char *y = (char *)sis__out(s, r, 0);
    for (size_t k = 0; k < n; k++) {
        size_t i = index_at(s, r, k);
        if (i == SIZE_MAX)
            return sis__fail(SIS_E_ARGUMENT, "index %lld into an axis of %zu",
                             (long long)((const int64_t *)(const void *)sis__in(s, r, 1))[k],
                             a->size);
        for (size_t o = 0; o < a->outer; o++)
            memcpy(y + (o * n + k) * slice, x + (o * a->size + i) * slice, slice);
    }
    return SIS_OK;
}

static int gather_backward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &s->p.axis;
    size_t n = sis__tin(s, r, 1)->count;
    const float *dy = sis__dout(s, r, 0);
    float *dx = sis__din(s, r, 0);
    for (size_t o = 0; dx && o < a->outer; o++)
        for (size_t k = 0; k < n; k++) {
            size_t i = index_at(s, r, k);
            for (size_t j = 0; j < a->inner; j++)
                dx[(o * a->size + i) * a->inner + j] += dy[(o * n + k) * a->inner + j];
        }
    return SIS_OK;
}

const sis__op sis__op_gather = {2, 2, gather_shape, gather_forward, gather_backward, 0};

/* ---- Pad ----------------------------------------------------------------------------------- */

static int pad_value(sis__cx *c, sis__pad *p) {
    const sis__tensor *t = sis__cx_input(c, 2);
    if (!t)
        return sis__attr_float(c, "value", 0.0f, &p->value);
    if (t->count != 1 || t->dtype != sis__cx_input(c, 0)->dtype || !t->data)
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "the fill value must be one constant number");
    if (t->dtype == SIS__F32)
        p->value = *(const float *)t->data;
    else
        p->whole = *(const int64_t *)t->data;
    return SIS_OK;
}

static int pad_mode(sis__cx *c, sis__pad *p) {
    char mode[16];
    int error = sis__attr_text(c, "mode", "constant", mode, sizeof mode);
    if (error)
        return error;
    p->mode = strcmp(mode, "constant") == 0  ? SIS__PAD_CONSTANT
              : strcmp(mode, "reflect") == 0 ? SIS__PAD_REFLECT
                                             : SIS__PAD_EDGE;
    if (p->mode == SIS__PAD_EDGE && strcmp(mode, "edge") != 0)
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "mode %s", mode);
    return SIS_OK;
}

static int pad_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    sis__pad *p = &c->step->p.pad;
    const int64_t *pads;
    size_t n, dims[SIS__MAX_RANK];
    if (x->dtype == SIS__BOOL)
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "padding of bool");
    int error = pad_mode(c, p);
    if (!error)
        error = sis__cx_input(c, 1) ? sis__cx_ints(c, 1, &pads, &n)
                                    : sis__attr_ints(c, "pads", &pads, &n);
    if (!error)
        error = pad_value(c, p);
    if (error)
        return error;
    if (n != 2 * x->rank || sis__cx_input(c, 3))
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "%zu pads for %zu axes", n, x->rank);
    for (size_t d = 0; d < x->rank; d++) {
        int64_t before = pads[d], after = pads[x->rank + d], size = (int64_t)x->dims[d];
        if (before < -size || after < -size || before > INT32_MAX || after > INT32_MAX ||
            size + before + after < 0)
            return sis__cx_fail(c, SIS_E_FORMAT, "pads of %lld and %lld on an axis of %lld",
                                (long long)before, (long long)after, (long long)size);
        if (p->mode == SIS__PAD_REFLECT && (before >= size || after >= size) && before + after > 0)
            return sis__cx_fail(c, SIS_E_FORMAT, "reflects %lld and %lld of an axis of %lld",
                                (long long)before, (long long)after, (long long)size);
        if (p->mode == SIS__PAD_EDGE && size == 0 && before + after > 0)
            return sis__cx_fail(c, SIS_E_FORMAT, "repeats the edge of an empty axis");
        p->begin[d] = before;
        dims[d] = (size_t)(size + before + after);
    }
    return sis__cx_output(c, 0, x->dtype, x->rank, dims);
}

/* Where in an axis of x position i of y comes from; -1: the fill value. */
static int64_t pad_source(const sis__pad *p, size_t d, int64_t i, int64_t size) {
    i -= p->begin[d];
    if (i >= 0 && i < size)
        return i;
    if (p->mode == SIS__PAD_CONSTANT)
        return -1;
    if (p->mode == SIS__PAD_EDGE)
        return i < 0 ? 0 : size - 1;
    return i < 0 ? -i : 2 * size - 2 - i;
}

/* Offset in x for each value of y in turn, SIZE_MAX for the fill value. */
static size_t pad_offset(const sis__pad *p, const sis__tensor *x, const sis__tensor *y, size_t at) {
    size_t offset = 0, stride = 1;
    for (size_t d = x->rank; d-- > 0;) {
        int64_t i = pad_source(p, d, (int64_t)(at % y->dims[d]), (int64_t)x->dims[d]);
        if (i < 0)
            return SIZE_MAX;
        offset += (size_t)i * stride;
        stride *= x->dims[d];
        at /= y->dims[d];
    }
    return offset;
}

static int pad_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *x = sis__tin(s, r, 0), *y = sis__tout(s, r, 0);
    const void *in = sis__in(s, r, 0);
    void *out = sis__out(s, r, 0);
    for (size_t i = 0; i < y->count; i++) {
        size_t from = pad_offset(&s->p.pad, x, y, i);
        if (x->dtype == SIS__F32)
            ((float *)out)[i] = from == SIZE_MAX ? s->p.pad.value : ((const float *)in)[from];
        else
            ((int64_t *)out)[i] = from == SIZE_MAX ? s->p.pad.whole : ((const int64_t *)in)[from];
    }
    return SIS_OK;
}

static int pad_backward(const sis__step *s, sis__run *r) {
    const sis__tensor *x = sis__tin(s, r, 0), *y = sis__tout(s, r, 0);
    float *dx = sis__din(s, r, 0);
    for (size_t i = 0; dx && i < y->count; i++) {
        size_t from = pad_offset(&s->p.pad, x, y, i);
        if (from != SIZE_MAX)
            dx[from] += sis__dout(s, r, 0)[i];
    }
    return SIS_OK;
}

const sis__op sis__op_pad = {1, 4, pad_shape, pad_forward, pad_backward, 0};

/* ---- Tile ---------------------------------------------------------------------------------- */

static int tile_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    const int64_t *times;
    size_t n, dims[SIS__MAX_RANK];
    int error = sis__cx_ints(c, 1, &times, &n);
    if (error)
        return error;
    if (n != x->rank)
        return sis__cx_fail(c, SIS_E_FORMAT, "%zu repeats for %zu axes", n, x->rank);
    for (size_t d = 0; d < n; d++) {
        if (times[d] < 0 || times[d] > INT32_MAX)
            return sis__cx_fail(c, SIS_E_FORMAT, "%lld repeats", (long long)times[d]);
        dims[d] = x->dims[d] * (size_t)times[d];
    }
    return sis__cx_output(c, 0, x->dtype, n, dims);
}

static size_t tile_offset(const sis__tensor *x, const sis__tensor *y, size_t at) {
    size_t offset = 0, stride = 1;
    for (size_t d = x->rank; d-- > 0;) {
        offset += at % y->dims[d] % x->dims[d] * stride;
        stride *= x->dims[d];
        at /= y->dims[d];
    }
    return offset;
}

static int tile_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *x = sis__tin(s, r, 0), *y = sis__tout(s, r, 0);
    size_t size = sis__dtype_size(x->dtype);
    for (size_t i = 0; i < y->count; i++)
        memcpy((char *)sis__out(s, r, 0) + i * size,
               (const char *)sis__in(s, r, 0) + tile_offset(x, y, i) * size, size);
    return SIS_OK;
}

static int tile_backward(const sis__step *s, sis__run *r) {
    const sis__tensor *x = sis__tin(s, r, 0), *y = sis__tout(s, r, 0);
    for (size_t i = 0; sis__din(s, r, 0) && i < y->count; i++)
        sis__din(s, r, 0)[tile_offset(x, y, i)] += sis__dout(s, r, 0)[i];
    return SIS_OK;
}

const sis__op sis__op_tile = {2, 2, tile_shape, tile_forward, tile_backward, 0};
