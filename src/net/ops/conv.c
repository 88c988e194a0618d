/* SPDX-License-Identifier: MIT
 *
 * Conv: x (n, channels, in...), w (filters, channels / groups, kernel...), b (filters) -> y (n,
 * filters, out...).
 *
 * For one example and one group it is a matrix product: weights (filters, depth) times patches
 * (depth, pixels), where depth runs over the rows of the kernel, channels, and columns of the
 * kernel. Each row of the kernel has its own sum and the sums are added, so that walks can keep
 * them (net/walk/window_conv.c).
 *
 * Patches are not stored. The input of a block of pixels is copied once, with its padding, line
 * after line; a row of the patches is then a part of that copy, from some offset on:
 *
 *     copy   0 0 0 0 0   line of padding        patches of kernel position (1, 2): from here on
 *            0 a b c 0   image                                        0 a[b c 0 0 d e f]0
 *            0 d e f 0
 *
 * Outputs are computed along padded lines, so those that fall between two lines of the image are
 * discarded; if lines fill vectors or halves of vectors, each line is computed by itself. With a
 * stride, each remainder of the position modulo the stride has its own plane. Where too much would
 * be discarded (much padding, or many filters on small maps), a block of patches is copied into the
 * packed form of the kernels, small enough for the L2 cache.
 *
 * Batches of maps whose lines do not fill vectors are transposed so that examples are the lanes
 * (lanes_view). Depthwise convolutions have their own kernel, with the same sums. Convolutions of
 * 3 x 3 that no window walk reaches are computed in tiles (conv_tiles.c).
 */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/kernels/product.h"
#include "net/ops/axes.h"
#include "net/ops/conv_tiles.h"
#include "net/ops/ops.h"
#include "net/ops/sliding.h"

enum { BLOCK_FLOATS = 48 * 1024, VIEW_FLOATS = 96 * 1024 };

static size_t pixels_of(const sis__window *w) {
    return w->out[0] * w->out[1] * w->out[2];
}

static size_t rows_of(const sis__window *w) {
    return w->kernel[0] * w->kernel[1];
}

static size_t depth_of(const sis__window *w) {
    return w->channels / w->groups * rows_of(w) * w->kernel[2];
}

/* Pixels of one block, in whole panels. */
static size_t block_of(const sis__window *w, size_t nr) {
    size_t panels = BLOCK_FLOATS / nr / depth_of(w), all = (pixels_of(w) + nr - 1) / nr;
    panels = panels < 1 ? 1 : panels;
    return (panels < all ? panels : all) * nr;
}

/* ---- Inputs of a block ----------------------------------------------------------------------- */

/* The copy of the input: for each channel, position of the kernel along z, and phase (position
 * modulo stride) along y and x, a plane (lines, width). */
typedef struct {
    size_t rows, cols;    /* pixels of a block along y and x */
    size_t lines, width;  /* of a plane */
    size_t planes, plane; /* number of planes, and floats of one */
    size_t flat;          /* pixels of a block, counted along the lines */
    int lines_fill;       /* lines fill panels: nothing between two lines is computed */
    int used;             /* cheaper than packing */
    int points;           /* 1 x 1 kernel: the image is its own view, except for the pixels that do
                           * not fill a panel, which are copied */
} view;

static int is_point(const sis__window *w) {
    for (size_t a = 0; a < 3; a++)
        if (w->kernel[a] != 1 || w->stride[a] != 1 || w->pad[a] != 0 || w->out[a] != w->in[a])
            return 0;
    return pixels_of(w) * depth_of(w) <= INT32_MAX;
}

static size_t phases_of(const sis__window *w, size_t axis) {
    return w->stride[axis] < w->kernel[axis] ? w->stride[axis] : w->kernel[axis];
}

/* For position k of the kernel along an axis: the plane; its remainder; the offset in the plane. */
static size_t phase_of(const sis__window *w, size_t axis, size_t k) {
    return w->stride[axis] < w->kernel[axis] ? k * w->dilation[axis] % w->stride[axis] : k;
}

static size_t remainder_of(const sis__window *w, size_t axis, size_t phase) {
    return w->stride[axis] < w->kernel[axis] ? phase : phase * w->dilation[axis] % w->stride[axis];
}

static size_t shift_of(const sis__window *w, size_t axis, size_t k) {
    return k * w->dilation[axis] / w->stride[axis];
}

/* How many of `all` fit into the room besides `more`; at least one. */
static size_t fitting(size_t room, size_t all, size_t more) {
    size_t max = room > more ? room - more : 1;
    return all < max ? all : max;
}

static view view_of(const sis__window *w, size_t nr) {
    /* Packing a value costs about as much as multiplying it for this many filters. Loads that cross
     * cache lines slow down every sixth product. */
    size_t packing = w->pad[2] == 0 && w->stride[2] == 1 ? 24 : 64;
    size_t more_y = shift_of(w, 1, w->kernel[1] - 1), more_x = shift_of(w, 2, w->kernel[2] - 1);
    size_t per = w->filters / w->groups;
    view v = {.planes = w->channels / w->groups * w->kernel[0] * phases_of(w, 1) * phases_of(w, 2)};
    v.points = v.used = is_point(w);
    size_t room = v.planes && !v.points ? VIEW_FLOATS / v.planes : 0;
    if (more_x >= room || more_y >= room / (more_x + 1))
        return v;
    v.cols = fitting(room / (more_y + 1), w->out[2], more_x);
    v.width = v.cols + more_x;
    v.rows = v.cols < w->out[2] ? 1 : fitting(room / v.width, w->out[1], more_y);
    size_t max = VIEW_FLOATS / per / v.width; /* rows whose results fit too */
    v.rows = v.rows < max || v.rows == 1 ? v.rows : max ? max : 1;
    v.lines = v.rows + more_y;
    v.plane = v.lines * v.width;
    v.lines_fill = v.rows > 0 && v.cols == w->out[2] && sis__takes_lines(nr, v.cols) &&
                   v.rows * v.cols % nr == 0 && w->out[1] % v.rows * v.cols % nr == 0;
    v.flat = v.lines_fill ? v.rows * v.cols : (v.rows - 1) * v.width + v.cols;
    size_t panels = (v.flat + nr - 1) / nr, packed = (v.rows * v.cols + nr - 1) / nr;
    v.used = panels * per * 6 / 5 <= packed * (per + packing);
    return v;
}

/* Floats for the copy (plus a panel), the results, and the offsets. */
static size_t view_floats(const sis__window *w, const view *v, size_t nr) {
    if (v->points)
        return depth_of(w) * nr + depth_of(w);
    size_t results = v->lines_fill ? 0 : w->filters / w->groups * v->flat;
    return v->planes * v->plane + nr + results + depth_of(w);
}

/* Is each group one channel with two spatial axes and few filters? With more filters, tiles of
 * products are faster. */
static int is_depthwise(const sis__window *w) {
    return w->groups == w->channels && w->filters <= 2 * w->groups && w->kernel[0] == 1 &&
           w->in[0] == 1 && w->out[0] == 1 && w->pad[0] == 0;
}

static sis__depthwise depthwise_of(const sis__window *w) {
    sis__depthwise p = {
        .planes = w->n * w->channels, .channels = w->channels, .times = w->filters / w->groups};
    for (size_t a = 0; a < 2; a++) {
        p.in[a] = w->in[a + 1];
        p.out[a] = w->out[a + 1];
        p.kernel[a] = w->kernel[a + 1];
        p.stride[a] = w->stride[a + 1];
        p.dilation[a] = w->dilation[a + 1];
        p.pad[a] = w->pad[a + 1];
    }
    return p;
}

/* Number of examples whose pixels fill a panel together, if one has too few. */
static size_t together(const sis__window *w, size_t nr) {
    size_t pixels = pixels_of(w);
    return pixels && 2 * pixels <= nr && w->n > 1 ? nr / pixels : 1;
}

/* ---- Examples as lanes ----------------------------------------------------------------------- */

/* If lines do not fill vectors and there are enough examples, these become the lanes of vectors:
 * map (channel, y, x, example), with its padding. Nothing between two lines is computed, and
 * vectors are aligned. */
typedef struct {
    size_t lanes;       /* number of examples; 0: not used */
    size_t lines, cols; /* of a map with padding */
    size_t map, sums;   /* floats of the maps of a group, and of its results or one map */
} lanes_view;

enum { LANES_FLOATS = 192 * 1024 };

/* Does transposing (channels + filters values per pixel, each as expensive as 100 products) cost
 * less than it saves? */
static int is_transposing_cheaper(const sis__window *w, size_t nr) {
    size_t channels = w->channels / w->groups, per = w->filters / w->groups;
    int filled = w->out[2] % (nr / 2) == 0 || (is_point(w) && pixels_of(w) % nr == 0);
    return !filled && depth_of(w) * per >= 100 * (channels + per);
}

static lanes_view lanes_of(const sis__window *w, size_t nr) {
    lanes_view v = {0};
    size_t lanes = nr / 2, channels = w->channels / w->groups, per = w->filters / w->groups;
    size_t plane = w->in[1] * w->in[2], max = LANES_FLOATS / lanes;
    if (w->n < lanes || !pixels_of(w) || w->in[0] > 1 || w->out[0] > 1 || w->kernel[0] > 1 ||
        (w->stride[2] > 1 && w->out[2] % 2) || !is_transposing_cheaper(w, nr))
        return v;
    v.lines = (w->out[1] - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1;
    v.cols = (w->out[2] - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] + 1;
    if (w->pad[0] || w->pad[1] < 0 || w->pad[2] < 0 || v.lines < w->in[1] + (size_t)w->pad[1] ||
        v.cols < w->in[2] + (size_t)w->pad[2] || v.lines > max || v.cols > max / v.lines ||
        channels > max / v.lines / v.cols)
        return v;
    v.lanes = lanes;
    v.map = channels * v.lines * v.cols * lanes;
    v.sums = (per * pixels_of(w) > plane ? per * pixels_of(w) : plane) * lanes;
    return v;
}

static size_t scratch_floats(const sis__window *w, size_t nr) {
    if (is_depthwise(w)) {
        sis__depthwise p = depthwise_of(w);
        return pixels_of(w) ? sis__depthwise_room(&p) : 0;
    }
    lanes_view l = lanes_of(w, nr);
    size_t beside = l.lanes ? l.map + nr + l.sums + depth_of(w) : 0;
    view v = view_of(w, nr);
    size_t rest = together(w, nr) > 1 ? (depth_of(w) + w->filters / w->groups) * nr
                  : v.used            ? view_floats(w, &v, nr)
                                      : depth_of(w) * block_of(w, nr);
    return beside > rest ? beside : rest;
}

/* The offset of each row of the patches in the copy. */
static void find_places(const sis__window *w, const view *v, int *place) {
    for (size_t c = 0; v->points && c < depth_of(w); c++)
        place[c] = (int)(c * pixels_of(w));
    if (v->points)
        return;
    for (size_t k0 = 0; k0 < w->kernel[0]; k0++)
        for (size_t k1 = 0; k1 < w->kernel[1]; k1++)
            for (size_t c = 0; c < w->channels / w->groups; c++)
                for (size_t k2 = 0; k2 < w->kernel[2]; k2++) {
                    size_t plane = (c * w->kernel[0] + k0) * phases_of(w, 1) + phase_of(w, 1, k1);
                    plane = plane * phases_of(w, 2) + phase_of(w, 2, k2);
                    *place++ = (int)(plane * v->plane + shift_of(w, 1, k1) * v->width +
                                     shift_of(w, 2, k2));
                }
}

/* Copy n values of a line of the input from x on, with zeros outside the line. x may be
 * negative. */
static void copy_line(const sis__window *w, const float *line, ptrdiff_t x, size_t n, float *to) {
    ptrdiff_t step = (ptrdiff_t)w->stride[2], width = (ptrdiff_t)w->in[2];
    size_t before = x < 0 ? (size_t)((-x + step - 1) / step) : 0;
    before = before < n ? before : n;
    x += (ptrdiff_t)before * step;
    size_t inside = x < width ? (size_t)((width - x + step - 1) / step) : 0;
    inside = inside < n - before ? inside : n - before;
    memset(to, 0, before * sizeof *to);
    if (step == 1)
        memcpy(to + before, line + x, inside * sizeof *to);
    else
        for (size_t i = 0; i < inside; i++)
            to[before + i] = line[x + (ptrdiff_t)i * step];
    memset(to + before + inside, 0, (n - before - inside) * sizeof *to);
}

/* Copy one plane of a slice of a channel (NULL: padding), from line y and column x on. */
static void copy_plane(const sis__window *w, const view *v, const float *slice, ptrdiff_t y,
                       ptrdiff_t x, float *to) {
    for (size_t i = 0; i < v->lines; i++, y += (ptrdiff_t)w->stride[1], to += v->width)
        if (slice && y >= 0 && y < (ptrdiff_t)w->in[1])
            copy_line(w, slice + y * (ptrdiff_t)w->in[2], x, v->width, to);
        else
            memset(to, 0, v->width * sizeof *to);
}

/* Copy all planes for the block of pixels from `at` on. */
static void copy_view(const sis__window *w, const view *v, const float *x, const size_t *at,
                      float *to) {
    size_t slice = w->in[1] * w->in[2];
    for (size_t c = 0; c < w->channels / w->groups; c++)
        for (size_t k0 = 0; k0 < w->kernel[0]; k0++) {
            ptrdiff_t z = (ptrdiff_t)(at[0] * w->stride[0] + k0 * w->dilation[0]) - w->pad[0];
            int there = z >= 0 && z < (ptrdiff_t)w->in[0];
            const float *from = there ? x + (c * w->in[0] + (size_t)z) * slice : NULL;
            for (size_t i = 0; i < phases_of(w, 1); i++)
                for (size_t j = 0; j < phases_of(w, 2); j++, to += v->plane)
                    copy_plane(
                        w, v, from,
                        (ptrdiff_t)(at[1] * w->stride[1] + remainder_of(w, 1, i)) - w->pad[1],
                        (ptrdiff_t)(at[2] * w->stride[2] + remainder_of(w, 2, j)) - w->pad[2], to);
        }
}

/* ---- The operator --------------------------------------------------------------------------- */

static int conv_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0), *f = sis__ctx_input(c, 1);
    const sis__tensor *b = sis__ctx_input(c, 2);
    sis__window *w = &c->step->p.window;
    sis__ctx_float(c, 0);
    sis__ctx_float(c, 1);
    if (sis__window_filters(c, w, x, f) != SIS_OK)
        return c->error;
    if (b && (b->dtype != SIS__F32 || b->rank != 1 || b->dims[0] != w->filters))
        return sis__ctx_fail(c, SIS_E_FORMAT, "the bias must be %zu floats", w->filters);
    sis__window_output(c, w, 0, SIS__F32);
    const sis__kernels *kn = sis__kernels_best();
    const float *constant = (const float *)sis__ctx_constant(c, 1);
    size_t depth = depth_of(w), per = w->filters / w->groups;
    w->tiles = constant && sis__tiles_take(c, w, constant);
    if (w->tiles)
        w->packed = sis__tiles_pack(c, w, constant);
    else if (constant)
        w->packed = sis__ctx_pack(c, &(sis__matrix){constant, depth, per, 0, 1.0f, w->groups,
                                                    rows_of(w), w->kernel[2], 0, 0});
    c->step->scratch = (w->tiles ? sis__tiles_scratch(w, kn->nr)
                                 : scratch_floats(w, kn->nr) +
                                       (constant ? 0 : sis__packed_left_size(kn, per, depth))) *
                       sizeof(float);
    if (c->plan->gradients && c->step->scratch < sis__conv_backward_scratch(w))
        c->step->scratch = sis__conv_backward_scratch(w);
    c->step->flops = 2.0 * (double)w->n * (double)w->filters * (double)pixels_of(w) * (double)depth;
    if (w->tiles)
        c->step->flops *= 0.55; /* 16 products instead of 36, and the transforms */
    return c->error;
}

/* A run of output pixels in one row of the output. */
typedef struct {
    size_t z, y, x, n;
} segment;

/* Copy the inputs of a segment's pixels at kernel position k of one channel; zeros outside. */
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

/* The segment of at most `max` pixels that starts at pixel p. */
static segment segment_at(const sis__window *w, size_t p, size_t max) {
    segment s = {
        .x = p % w->out[2], .y = p / w->out[2] % w->out[1], .z = p / w->out[2] / w->out[1]};
    s.n = w->out[2] - s.x < max ? w->out[2] - s.x : max;
    return s;
}

/* Copy the inputs of n pixels of each channel for a 1 x 1 kernel: the pixels themselves. */
static void copy_points(const sis__window *w, const float *x, size_t n, float *to, size_t stride) {
    size_t plane = pixels_of(w);
    for (size_t c = 0; c < w->channels / w->groups; c++, x += plane, to += stride)
        for (size_t i = 0; i < n; i++)
            to[i] = x[i];
}

/* Copy the patches of pixels p..p+n-1 of one group to to[row * stride] (depth rows of n). */
static void copy_patches(const sis__window *w, const float *x, size_t p, size_t n, float *to,
                         size_t stride) {
    size_t plane = w->in[0] * w->in[1] * w->in[2], k[3];
    if (is_point(w)) {
        copy_points(w, x + p, n, to, stride);
        return;
    }
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

/* The product of a group, without its size and destination. b: packed patches, or a view. */
static sis__packed_product product_of(const sis__window *w, const group *g, const float *b) {
    return (sis__packed_product){.m = w->filters / w->groups,
                                 .k = depth_of(w),
                                 .parts = rows_of(w),
                                 .a = g->weights,
                                 .b = b,
                                 .row_start = g->bias};
}

static void convolve(const sis__step *s, const group *g, float *patches) {
    const sis__window *w = &s->p.window;
    const sis__kernels *kn = sis__kernels_best();
    size_t pixels = pixels_of(w), block = block_of(w, kn->nr);
    sis__packed_product p = product_of(w, g, patches);
    p.ldc = pixels;
    for (size_t from = 0; from < pixels; from += block) {
        p.n = pixels - from < block ? pixels - from : block;
        p.c = g->y + from;
        pack_patches(w, g->x, from, p.n, kn->nr, patches);
        kn->gemm_packed(&p);
        for (size_t i = 0; s->relu && i < p.m; i++)
            kn->relu(p.c + i * pixels, p.c + i * pixels, p.n);
    }
}

/* Copy results (filters, flat) of a block to its pixels. */
static void put_pixels(const sis__step *s, const view *v, const float *from, const size_t *at,
                       size_t rows, size_t cols, float *y) {
    const sis__window *w = &s->p.window;
    const sis__kernels *kn = sis__kernels_best();
    for (size_t f = 0; f < w->filters / w->groups; f++, y += pixels_of(w), from += v->flat)
        for (size_t i = 0; i < rows; i++) {
            float *to = y + (at[0] * w->out[1] + at[1] + i) * w->out[2] + at[2];
            if (s->relu)
                kn->relu(from + i * v->width, to, cols);
            else
                memcpy(to, from + i * v->width, cols * sizeof *to);
        }
}

/* Compute a block whose lines fill panels, directly into its pixels. */
static void convolve_lines(const sis__step *s, sis__packed_product *p, float *y, size_t n) {
    const sis__kernels *kn = sis__kernels_best();
    p->n = n;
    p->c = y;
    p->ldc = pixels_of(&s->p.window);
    kn->gemm_packed(p);
    for (size_t i = 0; s->relu && i < p->m; i++)
        kn->relu(y + i * p->ldc, y + i * p->ldc, n);
}

/* convolve() with a view. room: (view_floats). */
static void convolve_view(const sis__step *s, const group *g, const view *v, const int *place,
                          float *room) {
    const sis__window *w = &s->p.window;
    float *sums = room + v->planes * v->plane + sis__kernels_best()->nr;
    sis__packed_product p = product_of(w, g, room);
    size_t at[3];
    p.c = sums;
    p.ldc = v->flat;
    p.place = place;
    p.line = v->lines_fill ? v->cols : 0;
    p.pitch = v->width;
    memset(sums - sis__kernels_best()->nr, 0, sis__kernels_best()->nr * sizeof *sums);
    for (at[0] = 0; at[0] < w->out[0]; at[0]++)
        for (at[1] = 0; at[1] < w->out[1]; at[1] += v->rows)
            for (at[2] = 0; at[2] < w->out[2]; at[2] += v->cols) {
                size_t rows = w->out[1] - at[1] < v->rows ? w->out[1] - at[1] : v->rows;
                size_t cols = w->out[2] - at[2] < v->cols ? w->out[2] - at[2] : v->cols;
                copy_view(w, v, g->x, at, room);
                if (v->lines_fill) {
                    convolve_lines(s, &p, g->y + (at[0] * w->out[1] + at[1]) * cols, rows * cols);
                    continue;
                }
                p.n = (rows - 1) * v->width + cols;
                sis__kernels_best()->gemm_packed(&p);
                put_pixels(s, v, sums, at, rows, cols, g->y);
            }
}

/* The same for a 1 x 1 kernel. room: (depth, nr). */
static void convolve_points(const sis__step *s, const group *g, const int *place, float *room) {
    const sis__window *w = &s->p.window;
    const sis__kernels *kn = sis__kernels_best();
    size_t pixels = pixels_of(w), rest = pixels % kn->nr, depth = depth_of(w);
    sis__packed_product p = {.m = w->filters / w->groups,
                             .n = pixels - rest,
                             .k = depth,
                             .parts = 1,
                             .a = g->weights,
                             .b = g->x,
                             .row_start = g->bias,
                             .c = g->y,
                             .ldc = pixels,
                             .place = place};
    if (p.n)
        kn->gemm_packed(&p);
    if (rest) {
        pack_patches(w, g->x, p.n, rest, kn->nr, room);
        p.b = room;
        p.place = NULL;
        p.c = g->y + p.n;
        p.n = rest;
        kn->gemm_packed(&p);
    }
    if (s->relu)
        kn->relu(g->y, g->y, p.m * pixels);
}

/* One group of several examples, whose pixels share one panel. room: (depth + filters of the group,
 * nr). */
static void convolve_together(const sis__step *s, const group *g, size_t n, float *room) {
    const sis__window *w = &s->p.window;
    const sis__kernels *kn = sis__kernels_best();
    size_t pixels = pixels_of(w), in = w->channels * w->in[0] * w->in[1] * w->in[2];
    float *sums = room + depth_of(w) * kn->nr;
    sis__packed_product p = product_of(w, g, room);
    p.n = n * pixels;
    p.c = sums;
    p.ldc = kn->nr;
    if (p.n < kn->nr)
        memset(room, 0, p.k * kn->nr * sizeof *room);
    for (size_t i = 0; i < n; i++)
        copy_patches(w, g->x + i * in, 0, pixels, room + i * pixels, kn->nr);
    kn->gemm_packed(&p);
    if (s->relu)
        kn->relu(sums, sums, p.m * kn->nr);
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < p.m; f++)
            for (size_t k = 0; k < pixels; k++)
                g->y[(i * w->filters + f) * pixels + k] = sums[f * kn->nr + i * pixels + k];
}

/* Transpose the maps of `lanes` examples. The padding is already set. `room`: one map. */
static void turn_examples(const sis__window *w, const lanes_view *v, const float *x, float *room,
                          float *to) {
    size_t plane = w->in[1] * w->in[2], line = w->in[2] * v->lanes;
    for (size_t c = 0; c < w->channels / w->groups; c++) {
        sis__operand from = {x + c * plane, w->channels * plane, 1};
        sis__kernels_best()->turn(v->lanes, plane, &from, room, v->lanes, 1);
        for (size_t y = 0; y < w->in[1]; y++)
            memcpy(to + (((c * v->lines + y + (size_t)w->pad[1]) * v->cols) + (size_t)w->pad[2]) *
                            v->lanes,
                   room + y * line, line * sizeof *to);
    }
}

/* One group of `lanes` examples. room: (map, a panel, sums). */
static void convolve_lanes(const sis__step *s, const group *g, const lanes_view *v,
                           const int *place, float *room) {
    const sis__window *w = &s->p.window;
    const sis__kernels *kn = sis__kernels_best();
    size_t pixels = pixels_of(w), line = w->out[2] * v->lanes;
    float *sums = room + v->map + kn->nr;
    sis__packed_product p = product_of(w, g, room);
    turn_examples(w, v, g->x, sums, room);
    p.n = line;
    p.ldc = pixels * v->lanes;
    p.place = place;
    p.line = w->stride[2] > 1 ? v->lanes : 0;
    p.pitch = w->stride[2] * v->lanes;
    for (size_t y = 0; y < w->out[1]; y++) {
        p.b = room + y * w->stride[1] * v->cols * v->lanes;
        p.c = sums + y * line;
        kn->gemm_packed(&p);
    }
    if (s->relu)
        kn->relu(sums, sums, p.m * p.ldc);
    for (size_t f = 0; f < p.m; f++) {
        sis__operand from = {sums + f * p.ldc, v->lanes, 1};
        kn->turn(pixels, v->lanes, &from, g->y + f * pixels, w->filters * pixels, 1);
    }
}

/* The offset of each row of the patches in the map. */
static void find_lanes(const sis__window *w, const lanes_view *v, int *place) {
    for (size_t k1 = 0; k1 < w->kernel[1]; k1++)
        for (size_t c = 0; c < w->channels / w->groups; c++)
            for (size_t k2 = 0; k2 < w->kernel[2]; k2++)
                *place++ =
                    (int)(((c * v->lines + k1 * w->dilation[1]) * v->cols + k2 * w->dilation[2]) *
                          v->lanes);
}

static int depthwise_forward(const sis__step *s, sis__run *r) {
    sis__depthwise p = depthwise_of(&s->p.window);
    p.x = sis__in(s, r, 0);
    p.w = sis__in(s, r, 1);
    p.start = sis__in(s, r, 2);
    p.relu = s->relu;
    p.y = sis__out(s, r, 0);
    p.room = (float *)(void *)r->scratch;
    if (pixels_of(&s->p.window) && sis__depthwise_room(&p))
        sis__kernels_best()->depthwise(&p);
    return SIS_OK;
}

static int conv_forward(const sis__step *s, sis__run *r) {
    const sis__window *w = &s->p.window;
    const sis__kernels *kn = sis__kernels_best();
    if (is_depthwise(w))
        return depthwise_forward(s, r);
    if (w->tiles)
        return sis__tiles_forward(s, r);
    size_t some = together(w, kn->nr);
    lanes_view l = lanes_of(w, kn->nr);
    view v = some > 1 ? (view){0} : view_of(w, kn->nr);
    const float *f = sis__in(s, r, 1), *b = sis__in(s, r, 2);
    float *patches = (float *)(void *)r->scratch;
    float *packed = patches + scratch_floats(w, kn->nr); /* if weights are not constant */
    int *place = (int *)(void *)(packed - depth_of(w));
    size_t beside = l.lanes ? w->n / l.lanes * l.lanes : 0; /* examples that are lanes */
    size_t per = w->filters / w->groups, depth = depth_of(w), in = w->in[0] * w->in[1] * w->in[2];
    size_t left = sis__packed_left_size(kn, per, depth);
    for (size_t g = 0; g < w->groups; g++) {
        const float *weights = w->packed ? w->packed + g * left : packed;
        if (!w->packed)
            sis__pack_left(kn,
                           &(sis__filters){f + g * per * depth, per, w->channels / w->groups,
                                           rows_of(w), w->kernel[2]},
                           packed);
        if (beside) {
            memset(patches, 0, (l.map + kn->nr) * sizeof *patches); /* the padding */
            find_lanes(w, &l, place);
        }
        for (size_t i = 0; i < w->n; i += i < beside ? l.lanes : some) {
            size_t at = i * w->groups + g;
            group one = {.weights = weights,
                         .bias = b ? b + g * per : NULL,
                         .x = sis__in(s, r, 0) + at * (w->channels / w->groups) * in,
                         .y = sis__out(s, r, 0) + at * per * pixels_of(w)};
            if (i == beside && v.used)
                find_places(w, &v, place);
            if (i < beside)
                convolve_lanes(s, &one, &l, place, patches);
            else if (some > 1)
                convolve_together(s, &one, w->n - i < some ? w->n - i : some, patches);
            else if (v.points)
                convolve_points(s, &one, place, patches);
            else if (v.used)
                convolve_view(s, &one, &v, place, patches);
            else
                convolve(s, &one, patches);
        }
    }
    return SIS_OK;
}

const sis__op sis__op_conv = {2,
                              3,
                              conv_shape,
                              conv_forward,
                              sis__conv_backward,
                              .linear = 1,
                              .source = sis__images_source,
                              .family = SIS__CONVOLUTION};
