/* SPDX-License-Identifier: MIT
 *
 * MaxPool, AveragePool and their global forms: x (n, channels, in...) -> y (n, channels, out...).
 * Windows may overlap padding, which a maximum ignores and an average counts only on request.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"
#include "net/ops/sliding.h"

static size_t plane_of(const size_t *d) {
    return d[0] * d[1] * d[2];
}

static int pool_shape(sis__shape_ctx *c, sis__dtype type) {
    sis__window *w = &c->step->p.window;
    int64_t ceil_mode = sis__attr_int(c, "ceil_mode", 0);
    sis__window_read(c, w, NULL, ceil_mode != 0);
    w->filters = w->channels;
    w->groups = w->channels;
    sis__window_output(c, w, 0, type);
    c->step->flops = (double)(w->n * w->channels) * (double)plane_of(w->out) *
                     (double)w->kernel[0] * (double)w->kernel[1] * (double)w->kernel[2];
    return c->error;
}

static int max_pool_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__attr_find(c, "storage_order"); /* of Indices, which are not supported */
    int bytes = x->elem == SIS__UINT8 || x->elem == SIS__INT8;
    if (!bytes)
        sis__ctx_float(c, 0);
    pool_shape(c, x->dtype);
    const sis__window *w = &c->step->p.window;
    if (bytes && !c->error)
        c->step->scratch = (plane_of(w->in) + plane_of(w->out)) * sizeof(float);
    return c->error;
}

static int average_pool_shape(sis__shape_ctx *c) {
    int64_t include = sis__attr_int(c, "count_include_pad", 0);
    sis__ctx_float(c, 0);
    pool_shape(c, SIS__F32);
    c->step->p.window.include_pad = include != 0;
    return c->error;
}

/* One window per channel. */
static int global_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__window *w = &c->step->p.window;
    size_t dims[SIS__MAX_RANK];
    sis__ctx_float(c, 0);
    if (c->error)
        return c->error;
    if (x->rank < 2 || x->count == 0)
        return sis__ctx_fail(c, SIS_E_FORMAT, "an input of %zu axes, %zu values", x->rank,
                             x->count);
    *w = (sis__window){.n = x->dims[0], .channels = x->dims[1], .filters = x->dims[1], .groups = 1};
    for (size_t i = 0; i < 3; i++)
        w->in[i] = w->out[i] = w->kernel[i] = w->stride[i] = w->dilation[i] = 1;
    for (size_t d = 0; d < x->rank; d++)
        dims[d] = d < 2 ? x->dims[d] : 1;
    w->in[2] = w->kernel[2] = x->count / w->n / w->channels;
    c->step->flops = (double)x->count;
    return sis__ctx_output(c, 0, SIS__F32, x->rank, dims);
}

/* The part of a window that lies inside the input. */
typedef struct {
    size_t from[3], to[3];
} span;

static span span_of(const sis__window *w, size_t p) {
    size_t o[3] = {p / w->out[2] / w->out[1], p / w->out[2] % w->out[1], p % w->out[2]};
    span s;
    for (size_t a = 0; a < 3; a++)
        sis__window_span(w, a, o[a], &s.from[a], &s.to[a]);
    return s;
}

/* The index in the plane of the input of output p at kernel position (i, j, k), which must
 * exist. */
static size_t seen(const sis__window *w, size_t p, size_t i, size_t j, size_t k) {
    size_t o[3] = {p / w->out[2] / w->out[1], p / w->out[2] % w->out[1], p % w->out[2]};
    size_t at[3] = {i, j, k};
    for (size_t a = 0; a < 3; a++)
        at[a] = (size_t)((ptrdiff_t)(o[a] * w->stride[a] + at[a] * w->dilation[a]) - w->pad[a]);
    return (at[0] * w->in[1] + at[1]) * w->in[2] + at[2];
}

/* Index of the first maximum (NaN is larger than any number); SIZE_MAX: window without input. */
static size_t find_max(const sis__window *w, const float *x, size_t p) {
    span s = span_of(w, p);
    size_t best = SIZE_MAX;
    for (size_t i = s.from[0]; i < s.to[0]; i++)
        for (size_t j = s.from[1]; j < s.to[1]; j++) {
            size_t at = s.from[2] < s.to[2] ? seen(w, p, i, j, s.from[2]) : 0;
            for (size_t k = s.from[2]; k < s.to[2]; k++, at += w->dilation[2])
                if (best == SIZE_MAX || x[at] > x[best] || (isnan(x[at]) && !isnan(x[best])))
                    best = at;
        }
    return best;
}

/* Outputs whose windows lie inside the input, along each axis; none if there are no two
 * neighbours. */
static span inside_of(const sis__window *w) {
    span s = {0};
    if (w->out[2] < 2)
        return s;
    for (size_t a = 0; a < 3; a++) {
        size_t reach = (w->kernel[a] - 1) * w->dilation[a] + 1, step = w->stride[a];
        ptrdiff_t last = (ptrdiff_t)w->in[a] + w->pad[a] - (ptrdiff_t)reach; /* o * step <= last */
        s.from[a] = w->pad[a] > 0 ? ((size_t)w->pad[a] + step - 1) / step : 0;
        s.to[a] = last < 0 ? 0 : (size_t)last / step + 1;
        s.to[a] = s.to[a] < w->out[a] ? s.to[a] : w->out[a];
        s.from[a] = s.from[a] < s.to[a] ? s.from[a] : s.to[a];
    }
    return s;
}

/* These windows of a plane in the form of the kernels. */
static sis__pooled pooled_of(const sis__window *w, const span *inside) {
    sis__pooled p = {.slice = w->in[1] * w->in[2],
                     .line = w->in[2],
                     .y_slice = w->out[1] * w->out[2],
                     .y_line = w->out[2],
                     .divisor = 1};
    for (size_t a = 0; a < 3; a++) {
        p.kernel[a] = w->kernel[a];
        p.dilation[a] = w->dilation[a];
        p.stride[a] = w->stride[a];
        p.out[a] = inside->to[a] - inside->from[a];
        p.divisor *= (double)w->kernel[a];
    }
    return p;
}

/* Set the start of the first of these windows, and its result. */
static void place_pooled(const sis__window *w, const span *inside, const float *x, float *y,
                         sis__pooled *p) {
    size_t at = 0, to = 0;
    for (size_t a = 0; a < 3; a++) {
        at = at * w->in[a] + (size_t)((ptrdiff_t)(inside->from[a] * w->stride[a]) - w->pad[a]);
        to = to * w->out[a] + inside->from[a];
    }
    p->x = x + at;
    p->y = y + to;
}

/* The next output from p on whose window is not among these; the number of outputs if there is
 * none. */
static size_t next_outside(const sis__window *w, const span *inside, size_t p) {
    for (size_t skip = 1; p < plane_of(w->out) && skip; p += skip) {
        size_t o[3] = {p / w->out[2] / w->out[1], p / w->out[2] % w->out[1], p % w->out[2]};
        skip = inside->to[2] - o[2];
        for (size_t a = 0; a < 3; a++)
            if (o[a] < inside->from[a] || o[a] >= inside->to[a])
                skip = 0;
    }
    return p;
}

typedef float window_value(const sis__window *w, const float *x, size_t p);

/* All planes: inside windows with the kernel, the others one by one. */
static void pool_planes(const sis__window *w, const float *x, float *y, size_t planes,
                        void (*kernel)(const sis__pooled *), window_value *one) {
    span inside = inside_of(w);
    sis__pooled p = pooled_of(w, &inside);
    int some = plane_of(p.out) > 0;
    for (; planes; planes--, x += plane_of(w->in), y += plane_of(w->out)) {
        if (some) {
            place_pooled(w, &inside, x, y, &p);
            kernel(&p);
        }
        for (size_t o = 0; (o = next_outside(w, &inside, o)) < plane_of(w->out); o++)
            y[o] = one(w, x, o);
    }
}

/* The maximum of any window. */
static float max_at(const sis__window *w, const float *x, size_t p) {
    const sis__kernels *kn = sis__kernels_best();
    span s = span_of(w, p);
    size_t n = s.to[2] - s.from[2];
    float max = -INFINITY;
    for (size_t i = s.from[0]; i < s.to[0]; i++)
        for (size_t j = s.from[1]; j < s.to[1] && n; j++) {
            const float *row = x + seen(w, p, i, j, s.from[2]);
            float best = w->dilation[2] == 1 ? kn->max_of(row, n) : row[0];
            for (size_t k = 1; w->dilation[2] > 1 && k < n; k++)
                kn->max_row(&best, row + k * w->dilation[2], 1);
            kn->max_row(&max, &best, 1);
        }
    return max;
}

static void max_planes(const sis__window *w, const float *x, float *y, size_t planes) {
    pool_planes(w, x, y, planes, sis__kernels_best()->pool_max, max_at);
}

/* 8-bit integers as floats, which is exact. A window of padding only gets their lowest value. */
static int max_pool_bytes(const sis__step *s, sis__run *r) {
    const sis__window *w = &s->p.window;
    const int64_t lowest = sis__tin(s, r, 0)->elem == SIS__INT8 ? INT8_MIN : 0;
    size_t in = plane_of(w->in), out = plane_of(w->out);
    float *x = (float *)(void *)r->scratch, *y = x + in;
    for (size_t c = 0; c < w->n * w->channels; c++) {
        for (size_t i = 0; i < in; i++)
            x[i] = (float)((const int64_t *)(const void *)sis__in(s, r, 0))[c * in + i];
        max_planes(w, x, y, 1);
        for (size_t i = 0; i < out; i++)
            ((int64_t *)(void *)sis__out(s, r, 0))[c * out + i] =
                y[i] == -INFINITY ? lowest : (int64_t)y[i];
    }
    return SIS_OK;
}

static int max_pool_forward(const sis__step *s, sis__run *r) {
    const sis__window *w = &s->p.window;
    if (sis__tin(s, r, 0)->dtype == SIS__I64)
        return max_pool_bytes(s, r);
    max_planes(w, sis__in(s, r, 0), sis__out(s, r, 0), w->n * w->channels);
    return SIS_OK;
}

/* Does every window lie inside the input? */
static int all_inside(const sis__window *w) {
    for (size_t a = 0; a < 3; a++)
        if (w->pad[a] != 0 ||
            (w->out[a] - 1) * w->stride[a] + (w->kernel[a] - 1) * w->dilation[a] >= w->in[a])
            return 0;
    return 1;
}

/* Index, relative to x, of the first value `top` of an inside window; SIZE_MAX: none. */
static size_t find_value(const sis__window *w, const float *x, float top) {
    for (size_t i = 0; i < w->kernel[0]; i++)
        for (size_t j = 0; j < w->kernel[1]; j++) {
            size_t row = (i * w->dilation[0] * w->in[1] + j * w->dilation[1]) * w->in[2];
            for (size_t k = 0; k < w->kernel[2]; k++)
                if (x[row + k * w->dilation[2]] == top)
                    return row + k * w->dilation[2];
        }
    return SIZE_MAX;
}

/* One plane. The maximum is known, so its position is found by comparing; NaN is searched for. */
static void max_plane_backward(const sis__window *w, const float *x, const float *y,
                               const float *dy, float *dx) {
    size_t p = 0;
    for (size_t oz = 0; oz < w->out[0]; oz++)
        for (size_t oy = 0; oy < w->out[1]; oy++) {
            size_t row = (oz * w->stride[0] * w->in[1] + oy * w->stride[1]) * w->in[2];
            for (size_t ox = 0; ox < w->out[2]; ox++, p++) {
                size_t first = row + ox * w->stride[2];
                if (dy[p] == 0)
                    continue;
                size_t at = find_value(w, x + first, y[p]);
                at = at == SIZE_MAX ? find_max(w, x, p) : first + at;
                dx[at] += dy[p];
            }
        }
}

/* The same for windows that overlap the edge. */
static void max_edges_backward(const sis__window *w, const float *x, const float *dy, float *dx) {
    for (size_t p = 0; p < plane_of(w->out); p++) {
        size_t at = find_max(w, x, p);
        if (at != SIZE_MAX)
            dx[at] += dy[p];
    }
}

static int max_pool_backward(const sis__step *s, sis__run *r) {
    const sis__window *w = &s->p.window;
    const float *x = sis__in(s, r, 0), *y = sis__out(s, r, 0), *dy = sis__dout(s, r, 0);
    float *dx = sis__din(s, r, 0);
    size_t in = plane_of(w->in), out = plane_of(w->out);
    int inside = all_inside(w);
    for (size_t c = 0; dx && dy && c < w->n * w->channels; c++)
        if (inside)
            max_plane_backward(w, x + c * in, y + c * out, dy + c * out, dx + c * in);
        else
            max_edges_backward(w, x + c * in, dy + c * out, dx + c * in);
    return SIS_OK;
}

/* Number of positions along one axis that count for the divisor. With ceil_mode a window may extend
 * beyond the declared padding; positions there never count. */
static size_t counted(const sis__window *w, size_t axis, size_t o) {
    size_t from, to, start = o * w->stride[axis];
    size_t end = w->in[axis] + (size_t)w->pad[axis] + w->pad_end[axis];
    sis__window_span(w, axis, o, &from, &to);
    if (!w->include_pad)
        return to - from;
    size_t there = (end - start + w->dilation[axis] - 1) / w->dilation[axis];
    return there < w->kernel[axis] ? there : w->kernel[axis];
}

static size_t divisor(const sis__window *w, size_t p) {
    return counted(w, 0, p / w->out[2] / w->out[1]) * counted(w, 1, p / w->out[2] % w->out[1]) *
           counted(w, 2, p % w->out[2]);
}

static float average_at(const sis__window *w, const float *x, size_t p) {
    span s = span_of(w, p);
    size_t n = divisor(w, p);
    double sum = 0;
    for (size_t i = s.from[0]; i < s.to[0]; i++)
        for (size_t j = s.from[1]; j < s.to[1]; j++) {
            const float *row = s.from[2] < s.to[2] ? x + seen(w, p, i, j, s.from[2]) : x;
            for (size_t k = s.from[2]; k < s.to[2]; k++, row += w->dilation[2])
                sum += (double)*row;
        }
    return n ? (float)(sum / (double)n) : 0.0f;
}

static int global_average_forward(const sis__step *s, sis__run *r) {
    const sis__window *w = &s->p.window;
    size_t n = w->in[2];
    for (size_t c = 0; c < w->n * w->channels; c++)
        sis__out(s, r, 0)[c] =
            (float)(sis__kernels_best()->sum(sis__in(s, r, 0) + c * n, n) / (double)n);
    return SIS_OK;
}

static int average_pool_forward(const sis__step *s, sis__run *r) {
    const sis__window *w = &s->p.window;
    pool_planes(w, sis__in(s, r, 0), sis__out(s, r, 0), w->n * w->channels,
                sis__kernels_best()->pool_average, average_at);
    return SIS_OK;
}

static int average_pool_backward(const sis__step *s, sis__run *r) {
    const sis__window *w = &s->p.window;
    const float *dy = sis__dout(s, r, 0);
    float *dx = sis__din(s, r, 0);
    size_t in = plane_of(w->in), out = plane_of(w->out);
    for (size_t c = 0; dx && c < w->n * w->channels; c++)
        for (size_t p = 0; p < out; p++) {
            span v = span_of(w, p);
            size_t n = divisor(w, p);
            float share = n ? dy[c * out + p] / (float)n : 0.0f;
            for (size_t i = v.from[0]; i < v.to[0]; i++)
                for (size_t j = v.from[1]; j < v.to[1]; j++)
                    for (size_t k = v.from[2]; k < v.to[2]; k++)
                        dx[c * in + seen(w, p, i, j, k)] += share;
        }
    return SIS_OK;
}

#define POOL(name, shape, forward, backward, affine, kind, of)                                     \
    const sis__op sis__op_##name = {1,                                                             \
                                    1,                                                             \
                                    shape,                                                         \
                                    forward,                                                       \
                                    backward,                                                      \
                                    .linear = affine,                                              \
                                    .source = sis__images_source,                                  \
                                    .family = kind,                                                \
                                    .takes = of};
POOL(max_pool, max_pool_shape, max_pool_forward, max_pool_backward, 0, SIS__POOL, SIS__TAKES_MAX)
POOL(average_pool, average_pool_shape, average_pool_forward, average_pool_backward, 1, SIS__POOL,
     SIS__TAKES_MEAN)
POOL(global_max_pool, global_shape, max_pool_forward, max_pool_backward, 0, SIS__GLOBAL_POOL,
     SIS__TAKES_MAX)
POOL(global_average_pool, global_shape, global_average_forward, average_pool_backward, 1,
     SIS__GLOBAL_POOL, SIS__TAKES_MEAN)
#undef POOL
