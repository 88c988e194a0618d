/* SPDX-License-Identifier: MIT
 *
 * Conv: x (n, channels, in...), w (filters, channels / groups, kernel...), b (filters) ->
 * y (n, filters, out...).
 *
 * One example and one group at a time it is a matrix product: weights (filters, depth) times
 * patches (depth, pixels), where depth runs over the rows of the kernel, channels, and places in a
 * row. Every row of the kernel is summed by itself and the sums are added, so that walks can keep
 * them (net/window/conv.c). Patches are never stored for the whole image: a block of pixels is
 * copied straight into the packed form the kernel wants, small enough to stay in the L2 cache.
 */
#include <string.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/kernels/product.h"
#include "net/ops/ops.h"
#include "net/ops/sliding.h"

enum { BLOCK_FLOATS = 48 * 1024 };

static size_t pixels_of(const sis__window *w) {
    return w->out[0] * w->out[1] * w->out[2];
}

static size_t rows_of(const sis__window *w) {
    return w->kernel[0] * w->kernel[1];
}

static size_t depth_of(const sis__window *w) {
    return w->channels / w->groups * rows_of(w) * w->kernel[2];
}

/* Pixels of one block: whole panels. */
static size_t block_of(const sis__window *w, size_t nr) {
    size_t panels = BLOCK_FLOATS / nr / depth_of(w), all = (pixels_of(w) + nr - 1) / nr;
    panels = panels < 1 ? 1 : panels;
    return (panels < all ? panels : all) * nr;
}

static int conv_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *f = sis__cx_input(c, 1);
    const sis__tensor *b = sis__cx_input(c, 2);
    sis__window *w = &c->step->p.window;
    sis__cx_float(c, 0);
    sis__cx_float(c, 1);
    int64_t groups = sis__attr_int(c, "group", 1);
    if (c->error)
        return c->error;
    if (f->rank != x->rank || f->rank < 3)
        return sis__cx_fail(c, SIS_E_FORMAT, "weights of %zu axes for an input of %zu", f->rank,
                            x->rank);
    if (sis__window_read(c, w, f->dims + 2, 0) != SIS_OK)
        return c->error;
    w->filters = f->dims[0];
    if (groups < 1 || w->channels % (size_t)groups || w->filters % (size_t)groups ||
        f->dims[1] * (size_t)groups != w->channels || w->filters == 0 || f->dims[1] == 0)
        return sis__cx_fail(c, SIS_E_FORMAT,
                            "%zu filters of %zu channels in %lld groups, input %zu", w->filters,
                            f->dims[1], (long long)groups, w->channels);
    w->groups = (size_t)groups;
    if (b && (b->dtype != SIS__F32 || b->rank != 1 || b->dims[0] != w->filters))
        return sis__cx_fail(c, SIS_E_FORMAT, "the bias must be %zu floats", w->filters);
    sis__window_output(c, w, 0, SIS__F32);
    const sis__kernels *kn = sis__kernels_best();
    const float *constant = (const float *)sis__cx_constant(c, 1);
    size_t depth = depth_of(w), block = block_of(w, kn->nr), per = w->filters / w->groups;
    if (constant)
        w->packed = sis__cx_pack(
            c, &(sis__matrix){constant, depth, per, 0, 1.0f, w->groups, rows_of(w), w->kernel[2]});
    c->step->scratch =
        (depth * block + (constant ? 0 : sis__packed_left_size(kn, per, depth))) * sizeof(float);
    if (c->plan->gradients && c->step->scratch < sis__conv_backward_scratch(w))
        c->step->scratch = sis__conv_backward_scratch(w);
    c->step->flops = 2.0 * (double)w->n * (double)w->filters * (double)pixels_of(w) * (double)depth;
    return c->error;
}

/* A run of output pixels in one row of the output. */
typedef struct {
    size_t z, y, x, n;
} segment;

/* Copy what the pixels of a segment see at kernel position k of one channel; zeros outside. */
static void copy_seen(const sis__window *w, const float *channel, const segment *s, const size_t *k,
                      float *to) {
    ptrdiff_t z = (ptrdiff_t)(s->z * w->stride[0] + k[0] * w->dilation[0]) - w->pad[0];
    ptrdiff_t y = (ptrdiff_t)(s->y * w->stride[1] + k[1] * w->dilation[1]) - w->pad[1];
    ptrdiff_t x = (ptrdiff_t)(s->x * w->stride[2] + k[2] * w->dilation[2]) - w->pad[2];
    ptrdiff_t step = (ptrdiff_t)w->stride[2], width = (ptrdiff_t)w->in[2];
    if (z < 0 || z >= (ptrdiff_t)w->in[0] || y < 0 || y >= (ptrdiff_t)w->in[1]) {
        memset(to, 0, s->n * sizeof *to);
        return;
    }
    const float *row = channel + (z * (ptrdiff_t)w->in[1] + y) * width;
    if (step == 1 && x >= 0 && x + (ptrdiff_t)s->n <= width) {
        memcpy(to, row + x, s->n * sizeof *to);
        return;
    }
    for (size_t i = 0; i < s->n; i++, x += step)
        to[i] = x >= 0 && x < width ? row[x] : 0.0f;
}

/* The segment of at most `most` pixels that starts at pixel p. */
static segment segment_at(const sis__window *w, size_t p, size_t most) {
    segment s = {
        .x = p % w->out[2], .y = p / w->out[2] % w->out[1], .z = p / w->out[2] / w->out[1]};
    s.n = w->out[2] - s.x < most ? w->out[2] - s.x : most;
    return s;
}

/* Patches of pixels p..p+n-1 of one group: to[row * stride] (depth rows of n). */
static void copy_patches(const sis__window *w, const float *x, size_t p, size_t n, float *to,
                         size_t stride) {
    size_t plane = w->in[0] * w->in[1] * w->in[2], k[3];
    for (size_t done = 0; done < n;) {
        segment s = segment_at(w, p + done, n - done);
        float *at = to + done;
        for (k[0] = 0; k[0] < w->kernel[0]; k[0]++)
            for (k[1] = 0; k[1] < w->kernel[1]; k[1]++)
                for (size_t c = 0; c < w->channels / w->groups; c++)
                    for (k[2] = 0; k[2] < w->kernel[2]; k[2]++, at += stride)
                        copy_seen(w, x + c * plane, &s, k, at);
        done += s.n;
    }
}

/* The same in packed panels; unused columns of the last are zero. */
static void pack_patches(const sis__window *w, const float *x, size_t p, size_t n, size_t nr,
                         float *to) {
    size_t depth = depth_of(w);
    for (size_t j = 0; j < n; j += nr, to += depth * nr) {
        size_t cols = n - j < nr ? n - j : nr;
        if (cols < nr)
            memset(to, 0, depth * nr * sizeof *to);
        copy_patches(w, x, p + j, cols, to, nr);
    }
}

/* One group of one example: x (channels of the group, in...) -> y (filters of the group, pixels).
 */
typedef struct {
    const float *weights, *bias, *x;
    float *y;
} group;

static void convolve(const sis__step *s, const group *g, float *patches) {
    const sis__window *w = &s->p.window;
    const sis__kernels *kn = sis__kernels_best();
    size_t pixels = pixels_of(w), block = block_of(w, kn->nr);
    sis__packed_product p = {.m = w->filters / w->groups,
                             .k = depth_of(w),
                             .parts = rows_of(w),
                             .a = g->weights,
                             .b = patches,
                             .row_start = g->bias,
                             .ldc = pixels};
    for (size_t from = 0; from < pixels; from += block) {
        p.n = pixels - from < block ? pixels - from : block;
        p.c = g->y + from;
        pack_patches(w, g->x, from, p.n, kn->nr, patches);
        kn->gemm_packed(&p);
        for (size_t i = 0; s->relu && i < p.m; i++)
            kn->relu(p.c + i * pixels, p.c + i * pixels, p.n);
    }
}

static int conv_forward(const sis__step *s, sis__run *r) {
    const sis__window *w = &s->p.window;
    const sis__kernels *kn = sis__kernels_best();
    const float *f = sis__in(s, r, 1), *b = sis__in(s, r, 2);
    float *patches = (float *)(void *)r->scratch;
    float *packed = patches + depth_of(w) * block_of(w, kn->nr); /* if weights are not constant */
    size_t per = w->filters / w->groups, depth = depth_of(w), in = w->in[0] * w->in[1] * w->in[2];
    size_t left = sis__packed_left_size(kn, per, depth);
    for (size_t g = 0; g < w->groups; g++) {
        const float *weights = w->packed ? w->packed + g * left : packed;
        if (!w->packed)
            sis__pack_left(kn,
                           &(sis__filters){f + g * per * depth, per, w->channels / w->groups,
                                           rows_of(w), w->kernel[2]},
                           packed);
        for (size_t i = 0; i < w->n; i++) {
            size_t at = i * w->groups + g;
            convolve(s,
                     &(group){.weights = weights,
                              .bias = b ? b + g * per : NULL,
                              .x = sis__in(s, r, 0) + at * (w->channels / w->groups) * in,
                              .y = sis__out(s, r, 0) + at * per * pixels_of(w)},
                     patches);
        }
    }
    return SIS_OK;
}

const sis__op sis__op_conv = {2, 3, conv_shape, conv_forward, sis__conv_backward, 0, SIS__MIXES};
