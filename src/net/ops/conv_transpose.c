/* SPDX-License-Identifier: MIT
 *
 * ConvTranspose: x (n, channels, in...), w (channels, filters / groups, kernel...) -> y (n, filters,
 * out...). Every value of x adds its multiple of the kernel to the result. Value by value; sums of
 * one result run over channels and places in the order of x, in double for none: floats, as Conv.
 */
#include <string.h>

#include "base/error.h"
#include "net/ops/ops.h"

typedef struct {
    size_t n, channels, filters, groups;
    size_t in[3], out[3], kernel[3];
    int64_t stride[3], dilation[3], pad[3];
} turned;

static void each_axis(sis__cx *c, const char *name, size_t spatial, int64_t low, int64_t *to) {
    size_t n;
    const int64_t *v = sis__attr_ints(c, name, &n);
    if (n && n != spatial)
        sis__cx_fail(c, SIS_E_FORMAT, "%s of %zu numbers for %zu axes", name, n, spatial);
    for (size_t i = 0; !c->error && i < n; i++) {
        if (v[i] < low || v[i] > INT32_MAX)
            sis__cx_fail(c, SIS_E_FORMAT, "%s of %lld", name, (long long)v[i]);
        to[3 - spatial + i] = v[i];
    }
}

/* Padding in front, and the size of the result, of axis a. */
static void size_axis(sis__cx *c, turned *p, size_t a, int64_t behind, int64_t extra, int64_t size,
                      int mode) {
    int64_t full = p->stride[a] * ((int64_t)p->in[a] - 1) + extra +
                   ((int64_t)p->kernel[a] - 1) * p->dilation[a] + 1;
    int64_t out = full - p->pad[a] - behind;
    if (!size && (mode == 1 || mode == 2)) { /* SAME: the input times the stride, or all there is */
        size = (int64_t)p->in[a] * p->stride[a];
        size = size < full ? size : full;
    }
    if (size) {
        int64_t total = full > size ? full - size : 0;
        p->pad[a] =
            mode == 1 ? total / 2 : total - total / 2; /* odd: more in front but for UPPER */
        out = size;
    }
    if (out < 1 || out > INT32_MAX)
        sis__cx_fail(c, SIS_E_FORMAT, "a result of %lld along an axis", (long long)out);
    p->out[a] = c->error ? 0 : (size_t)out;
}

static void read_axes(sis__cx *c, turned *p, size_t spatial) {
    static const char *const modes[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    int64_t extra[3] = {0}, size[3] = {0}, behind[3] = {0}, kernel[3] = {0};
    size_t n;
    int mode = sis__attr_choice(c, "auto_pad", modes, 4);
    each_axis(c, "strides", spatial, 1, p->stride);
    each_axis(c, "dilations", spatial, 1, p->dilation);
    each_axis(c, "output_padding", spatial, 0, extra);
    each_axis(c, "output_shape", spatial, 1, size);
    each_axis(c, "kernel_shape", spatial, 1, kernel);
    const int64_t *pads = sis__attr_ints(c, "pads", &n);
    if (n && n != 2 * spatial)
        sis__cx_fail(c, SIS_E_FORMAT, "%zu pads for %zu axes", n, spatial);
    for (size_t i = 0; !c->error && i < spatial; i++) {
        size_t a = 3 - spatial + i;
        if (kernel[a] && (size_t)kernel[a] != p->kernel[a])
            sis__cx_fail(c, SIS_E_FORMAT, "kernel_shape is not that of the weights");
        p->pad[a] = n ? pads[i] : 0;
        behind[a] = n ? pads[spatial + i] : 0;
        if (p->pad[a] < 0 || p->pad[a] > INT32_MAX || behind[a] < 0 || behind[a] > INT32_MAX)
            sis__cx_fail(c, SIS_E_FORMAT, "negative pads");
        size_axis(c, p, a, behind[a], extra[a], size[a], mode);
    }
}

static int conv_transpose_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *w = sis__cx_input(c, 1), *b = sis__cx_input(c, 2);
    turned *p = (turned *)sis__cx_own(c, sizeof *p);
    int64_t groups = sis__attr_int(c, "group", 1);
    sis__cx_float(c, 0);
    sis__cx_float(c, 1);
    if (x->rank < 3 || x->rank > 5 || w->rank != x->rank)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "inputs of %zu and %zu axes", x->rank, w->rank);
    else if (groups < 1 || w->dims[0] != x->dims[1] || x->dims[1] % (size_t)groups)
        sis__cx_fail(c, SIS_E_FORMAT, "weights of %zu channels for %zu", w->dims[0], x->dims[1]);
    if (c->error)
        return c->error;
    size_t spatial = x->rank - 2, dims[5];
    *p = (turned){.n = x->dims[0], .channels = x->dims[1], .groups = (size_t)groups};
    p->filters = w->dims[1] * p->groups;
    for (size_t a = 0; a < 3; a++) {
        int real = a >= 3 - spatial;
        p->in[a] = real ? x->dims[a + spatial - 1] : 1;
        p->kernel[a] = real ? w->dims[a + spatial - 1] : 1;
        p->out[a] = 1;
        p->stride[a] = p->dilation[a] = 1;
    }
    read_axes(c, p, spatial);
    if (b && (b->dtype != SIS__F32 || b->count != p->filters))
        sis__cx_fail(c, SIS_E_FORMAT, "the bias must be %zu floats", p->filters);
    dims[0] = p->n;
    dims[1] = p->filters;
    for (size_t i = 0; i < spatial; i++)
        dims[2 + i] = p->out[3 - spatial + i];
    c->step->flops = 2.0 * (double)x->count * (double)(w->dims[0] ? w->count / w->dims[0] : 0);
    return sis__cx_output(c, 0, SIS__F32, x->rank, dims);
}

/* Places in a plane of x and of w, and the place in the result they meet at, if any. */
static size_t meets(const turned *p, size_t in, size_t k) {
    size_t at = 0;
    size_t i[3] = {in / p->in[2] / p->in[1], in / p->in[2] % p->in[1], in % p->in[2]};
    size_t j[3] = {k / p->kernel[2] / p->kernel[1], k / p->kernel[2] % p->kernel[1],
                   k % p->kernel[2]};
    for (size_t a = 0; a < 3; a++) {
        int64_t o = (int64_t)i[a] * p->stride[a] + (int64_t)j[a] * p->dilation[a] - p->pad[a];
        if (o < 0 || o >= (int64_t)p->out[a])
            return SIZE_MAX;
        at = at * p->out[a] + (size_t)o;
    }
    return at;
}

typedef struct {
    const float *x, *w, *dy;
    float *y, *dx, *dw;
} planes;

/* One plane of x with one kernel into one plane of the result, or gradients back. */
static void add_plane(const turned *p, const planes *v) {
    size_t inputs = p->in[0] * p->in[1] * p->in[2];
    size_t kernel = p->kernel[0] * p->kernel[1] * p->kernel[2];
    for (size_t i = 0; i < inputs; i++)
        for (size_t k = 0; k < kernel; k++) {
            size_t at = meets(p, i, k);
            if (at == SIZE_MAX)
                continue;
            if (v->y)
                v->y[at] += v->x[i] * v->w[k];
            if (v->dx)
                v->dx[i] += v->dy[at] * v->w[k];
            if (v->dw)
                v->dw[k] += v->dy[at] * v->x[i];
        }
}

/* Every pair of an input channel and a filter of its group. */
static void each_plane(const sis__step *s, sis__run *r, int backward) {
    const turned *p = (const turned *)s->p.own;
    size_t inputs = p->in[0] * p->in[1] * p->in[2], outs = p->out[0] * p->out[1] * p->out[2];
    size_t kernel = p->kernel[0] * p->kernel[1] * p->kernel[2], per = p->filters / p->groups;
    float *dx = backward ? sis__din(s, r, 0) : NULL, *dw = backward ? sis__din(s, r, 1) : NULL;
    for (size_t n = 0; n < p->n; n++)
        for (size_t ch = 0; ch < p->channels; ch++)
            for (size_t f = 0; f < per; f++) {
                size_t to = ch / (p->channels / p->groups) * per + f;
                size_t x = (n * p->channels + ch) * inputs, w = (ch * per + f) * kernel;
                size_t y = (n * p->filters + to) * outs;
                planes v = {.x = sis__in(s, r, 0) + x, .w = sis__in(s, r, 1) + w};
                v.y = backward ? NULL : sis__out(s, r, 0) + y;
                v.dy = backward ? sis__dout(s, r, 0) + y : NULL;
                v.dx = dx ? dx + x : NULL;
                v.dw = dw ? dw + w : NULL;
                add_plane(p, &v);
            }
}

static int conv_transpose_forward(const sis__step *s, sis__run *r) {
    const turned *p = (const turned *)s->p.own;
    const float *b = sis__in(s, r, 2);
    size_t outs = p->out[0] * p->out[1] * p->out[2];
    for (size_t i = 0; i < p->n * p->filters * outs; i++)
        sis__out(s, r, 0)[i] = b ? b[i / outs % p->filters] : 0.0f;
    each_plane(s, r, 0);
    return SIS_OK;
}

static int conv_transpose_backward(const sis__step *s, sis__run *r) {
    const turned *p = (const turned *)s->p.own;
    size_t outs = p->out[0] * p->out[1] * p->out[2];
    float *db = sis__din(s, r, 2);
    for (size_t i = 0; db && i < p->n * p->filters * outs; i++)
        db[i / outs % p->filters] += sis__dout(s, r, 0)[i];
    each_plane(s, r, 1);
    return SIS_OK;
}

const sis__op sis__op_conv_transpose = {
    2, 3, conv_transpose_shape, conv_transpose_forward, conv_transpose_backward, 0, SIS__MIXES};
