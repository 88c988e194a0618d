/* SPDX-License-Identifier: MIT
 *
 * Read the attributes of sliding windows (kernel, stride, dilation, padding). One to three spatial
 * axes, always stored as three.
 */
#include "net/ops/sliding.h"

#include <string.h>

#include "base/error.h"

/* An attribute with one positive number per spatial axis; absent: 1. */
static int read_each(sis__shape_ctx *c, const char *name, size_t spatial, size_t *v) {
    size_t n;
    const int64_t *list = sis__attr_ints(c, name, &n);
    if (c->error || n == 0)
        return c->error;
    if (n != spatial)
        return sis__ctx_fail(c, SIS_E_FORMAT, "%s has %zu numbers for %zu axes", name, n, spatial);
    for (size_t i = 0; i < n; i++) {
        if (list[i] < 1 || list[i] > INT32_MAX)
            return sis__ctx_fail(c, SIS_E_FORMAT, "%s of %lld", name, (long long)list[i]);
        v[3 - spatial + i] = (size_t)list[i];
    }
    return c->error;
}

static int read_pads(sis__shape_ctx *c, size_t spatial, sis__window *w) {
    size_t n;
    const int64_t *list = sis__attr_ints(c, "pads", &n);
    if (c->error || n == 0)
        return c->error;
    if (n != 2 * spatial)
        return sis__ctx_fail(c, SIS_E_FORMAT, "pads has %zu numbers for %zu axes", n, spatial);
    for (size_t i = 0; i < n; i++)
        if (list[i] < 0 || list[i] > INT32_MAX)
            return sis__ctx_fail(c, SIS_E_FORMAT, "pads of %lld", (long long)list[i]);
    for (size_t i = 0; i < spatial; i++) {
        w->pad[3 - spatial + i] = (ptrdiff_t)list[i];
        w->pad_end[3 - spatial + i] = (size_t)list[spatial + i];
    }
    return c->error;
}

/* SAME: as many outputs as inputs per stride, with the padding split evenly. */
static void pad_same(sis__window *w, size_t axis, int lower) {
    size_t reach = (w->kernel[axis] - 1) * w->dilation[axis] + 1;
    size_t out = (w->in[axis] + w->stride[axis] - 1) / w->stride[axis];
    size_t covered = out ? (out - 1) * w->stride[axis] + reach : 0;
    size_t total = covered > w->in[axis] ? covered - w->in[axis] : 0;
    w->pad[axis] = (ptrdiff_t)(lower ? (total + 1) / 2 : total / 2);
    w->pad_end[axis] = total - (size_t)w->pad[axis];
    w->out[axis] = out;
}

static int count_outputs(sis__shape_ctx *c, sis__window *w, size_t axis, int ceil_mode) {
    size_t reach = (w->kernel[axis] - 1) * w->dilation[axis] + 1;
    size_t room = w->in[axis] + (size_t)w->pad[axis] + w->pad_end[axis];
    if (reach > room)
        return sis__ctx_fail(c, SIS_E_FORMAT, "a window of %zu on an axis of %zu", reach, room);
    size_t stride = w->stride[axis], free = room - reach;
    w->out[axis] = (ceil_mode ? (free + stride - 1) / stride : free / stride) + 1;
    /* A window must start inside the input or in the padding before it. */
    if (ceil_mode && (w->out[axis] - 1) * stride >= w->in[axis] + (size_t)w->pad[axis])
        w->out[axis]--;
    return c->error;
}

int sis__window_read(sis__shape_ctx *c, sis__window *w, const size_t *kernel, int ceil_mode) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    char mode[16];
    if (x->rank < 3 || x->rank > 5)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "an input of %zu axes; 3 to 5 are supported",
                             x->rank);
    size_t spatial = x->rank - 2;
    for (size_t i = 0; i < 3; i++) {
        w->in[i] = w->out[i] = w->kernel[i] = w->stride[i] = w->dilation[i] = 1;
        w->pad[i] = 0;
        w->pad_end[i] = 0;
    }
    w->n = x->dims[0];
    w->channels = x->dims[1];
    for (size_t i = 0; i < spatial; i++) {
        w->in[3 - spatial + i] = x->dims[2 + i];
        w->kernel[3 - spatial + i] = kernel ? kernel[i] : 0;
    }
    read_each(c, "kernel_shape", spatial, w->kernel);
    read_each(c, "strides", spatial, w->stride);
    read_each(c, "dilations", spatial, w->dilation);
    sis__attr_text(c, "auto_pad", "NOTSET", mode, sizeof mode);
    int same = strncmp(mode, "SAME_", 5) == 0, valid = strcmp(mode, "VALID") == 0;
    if (!same && !valid && strcmp(mode, "NOTSET") != 0 && *mode)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "auto_pad %s", mode);
    read_pads(c, spatial, w);
    if (c->error)
        return c->error;
    for (size_t i = 3 - spatial; i < 3; i++) {
        if (w->kernel[i] < 1 || w->kernel[i] > INT32_MAX)
            return sis__ctx_fail(c, SIS_E_FORMAT, "kernel_shape is missing or impossible");
        if (kernel && w->kernel[i] != kernel[i - (3 - spatial)])
            return sis__ctx_fail(c, SIS_E_FORMAT, "kernel_shape is not that of the weights");
        if (valid)
            w->pad[i] = 0, w->pad_end[i] = 0;
        if (same)
            pad_same(w, i, strcmp(mode, "SAME_LOWER") == 0);
        else
            count_outputs(c, w, i, ceil_mode);
    }
    return c->error;
}

int sis__window_filters(sis__shape_ctx *c, sis__window *w, const sis__tensor *x,
                        const sis__tensor *f) {
    int64_t groups = sis__attr_int(c, "group", 1);
    if (c->error)
        return c->error;
    if (f->rank != x->rank || f->rank < 3)
        return sis__ctx_fail(c, SIS_E_FORMAT, "weights of %zu axes for an input of %zu", f->rank,
                             x->rank);
    if (sis__window_read(c, w, f->dims + 2, 0) != SIS_OK)
        return c->error;
    w->filters = f->dims[0];
    if (groups < 1 || w->channels % (size_t)groups || w->filters % (size_t)groups ||
        f->dims[1] * (size_t)groups != w->channels || w->filters == 0 || f->dims[1] == 0)
        return sis__ctx_fail(c, SIS_E_FORMAT,
                             "%zu filters of %zu channels in %lld groups, input %zu", w->filters,
                             f->dims[1], (long long)groups, w->channels);
    w->groups = (size_t)groups;
    return c->error;
}

int sis__window_output(sis__shape_ctx *c, const sis__window *w, size_t i, sis__dtype t) {
    if (c->error) /* the rank may be invalid */
        return c->error;
    size_t spatial = sis__ctx_input(c, 0)->rank - 2;
    size_t dims[5] = {w->n, w->filters};
    for (size_t d = 0; d < spatial; d++)
        dims[2 + d] = w->out[3 - spatial + d];
    return sis__ctx_output(c, i, t, 2 + spatial, dims);
}

void sis__window_span(const sis__window *w, size_t axis, size_t o, size_t *from, size_t *to) {
    ptrdiff_t start = (ptrdiff_t)(o * w->stride[axis]) - w->pad[axis];
    ptrdiff_t step = (ptrdiff_t)w->dilation[axis], in = (ptrdiff_t)w->in[axis];
    if (start >= 0 && start + (ptrdiff_t)(w->kernel[axis] - 1) * step < in) { /* completely
                                                                               * inside */
        *from = 0;
        *to = w->kernel[axis];
        return;
    }
    ptrdiff_t first = start < 0 ? (-start + step - 1) / step : 0;
    ptrdiff_t end = start >= in ? 0 : (in - start + step - 1) / step;
    *to = (size_t)(end < (ptrdiff_t)w->kernel[axis] ? end : (ptrdiff_t)w->kernel[axis]);
    *from = (size_t)first < *to ? (size_t)first : *to;
}
