/* SPDX-License-Identifier: MIT
 *
 * Gradient of Conv, for one example and one group at a time, as two matrix products:
 *
 *     dw (filters, depth) += dy (filters, pixels) . patches (pixels, depth)
 *     dpatches (pixels, depth) = dy^T . w, added to the positions that the patches come from
 *
 * The image is first copied with channels last and with padding. A row of patches is then a few
 * runs of contiguous numbers (one for each row of the kernel), so patches are packed and added back
 * by whole runs. Depth runs over kernel positions, then channels. Weights are stored in the
 * standard's order, channels first, and are transposed once per call.
 */
#include <string.h>

#include "net/kernels/kernels.h"
#include "net/ops/sliding.h"

enum { BLOCK_FLOATS = 96 * 1024, MAX_PIXELS = 256, BACK_PIXELS = 48 };

typedef struct {
    const sis__window *w;
    const sis__kernels *kn;
    size_t channels, filters; /* of a group */
    size_t depth, positions, pixels, plane;
    size_t seen[3];   /* padded size of the image, as far as windows reach */
    size_t runs, run; /* of a patch: number of runs, length of a run */
    size_t block;     /* pixels that are packed together */
    float *image;     /* (seen..., channels) */
    float *packed;    /* patches of a block, or weights */
    float *turned;    /* (filters, depth) weights or their gradient */
    float *patches;   /* (BACK_PIXELS, depth) */
    size_t *at;       /* (pixels) offset of each pixel's patch in the image */
    size_t *run_at;   /* (runs) offset of each run in a patch */
} gradient;

static void set_sizes(gradient *g, const sis__window *w) {
    *g = (gradient){.w = w, .kn = sis__kernels_best()};
    g->channels = w->channels / w->groups;
    g->filters = w->filters / w->groups;
    g->positions = w->kernel[0] * w->kernel[1] * w->kernel[2];
    g->depth = g->channels * g->positions;
    g->pixels = w->out[0] * w->out[1] * w->out[2];
    g->plane = w->in[0] * w->in[1] * w->in[2];
    for (size_t a = 0; a < 3; a++)
        g->seen[a] = w->out[a]
                         ? (w->out[a] - 1) * w->stride[a] + (w->kernel[a] - 1) * w->dilation[a] + 1
                         : 0;
    g->run = w->dilation[2] == 1 ? w->kernel[2] * g->channels : g->channels;
    g->runs = g->depth / g->run;
    g->block = BLOCK_FLOATS / g->depth;
    g->block = g->block < 1 ? 1 : g->block > MAX_PIXELS ? MAX_PIXELS : g->block;
}

static size_t image_size(const gradient *g) {
    return g->seen[0] * g->seen[1] * g->seen[2] * g->channels;
}

static size_t packed_size(const gradient *g) {
    size_t patches = sis__packed_size(g->kn, g->block, g->depth);
    size_t weights = sis__packed_size(g->kn, g->filters, g->depth);
    return patches > weights ? patches : weights;
}

static size_t round_up(size_t floats) {
    return (floats + 15) / 16 * 16;
}

size_t sis__conv_backward_scratch(const sis__window *w) {
    gradient g;
    set_sizes(&g, w);
    size_t floats = round_up(image_size(&g)) + round_up(packed_size(&g)) +
                    round_up(g.filters * g.depth) + round_up(BACK_PIXELS * g.depth);
    return floats * sizeof(float) + (g.pixels + g.runs) * sizeof(size_t);
}

/* ---- Layout ---------------------------------------------------------------------------------- */

/* The offset of a pixel's patch in the image, for `at`. */
static size_t find_pixel(const gradient *g, size_t p) {
    const sis__window *w = g->w;
    size_t z = p / w->out[2] / w->out[1] * w->stride[0],
           y = p / w->out[2] % w->out[1] * w->stride[1];
    return ((z * g->seen[1] + y) * g->seen[2] + p % w->out[2] * w->stride[2]) * g->channels;
}

/* The offset of run i in a patch. */
static size_t find_run(const gradient *g, size_t i) {
    const sis__window *w = g->w;
    size_t across = w->dilation[2] == 1 ? 1 : w->kernel[2], x = i % across, row = i / across;
    size_t y = row % w->kernel[1] * w->dilation[1], z = row / w->kernel[1] * w->dilation[0];
    return ((z * g->seen[1] + y) * g->seen[2] + x * w->dilation[2]) * g->channels;
}

static void lay_out(gradient *g, void *scratch) {
    g->image = (float *)scratch;
    g->packed = g->image + round_up(image_size(g));
    g->turned = g->packed + round_up(packed_size(g));
    g->patches = g->turned + round_up(g->filters * g->depth);
    g->at = (size_t *)(void *)(g->patches + round_up(BACK_PIXELS * g->depth));
    g->run_at = g->at + g->pixels;
    for (size_t p = 0; p < g->pixels; p++)
        g->at[p] = find_pixel(g, p);
    for (size_t i = 0; i < g->runs; i++)
        g->run_at[i] = find_run(g, i);
}

/* A row of the image; row y of the image is row y - pad of the input. */
typedef struct {
    const gradient *g;
    size_t z, y;      /* of the image */
    size_t from, to;  /* columns inside the input */
    ptrdiff_t source; /* offset of the input's row, if it exists */
    int exists;
} image_row;

static image_row row_of(const gradient *g, size_t i) {
    const sis__window *w = g->w;
    image_row r = {.g = g, .z = i / g->seen[1], .y = i % g->seen[1]};
    ptrdiff_t z = (ptrdiff_t)r.z - w->pad[0], y = (ptrdiff_t)r.y - w->pad[1];
    ptrdiff_t end = (ptrdiff_t)w->in[2] + w->pad[2];
    r.exists = z >= 0 && z < (ptrdiff_t)w->in[0] && y >= 0 && y < (ptrdiff_t)w->in[1];
    r.from = (size_t)w->pad[2] < g->seen[2] ? (size_t)w->pad[2] : g->seen[2];
    r.to = end < (ptrdiff_t)g->seen[2] ? (size_t)end : g->seen[2];
    r.source = (z * (ptrdiff_t)w->in[1] + y) * (ptrdiff_t)w->in[2] - w->pad[2];
    return r;
}

/* Copy x (channels, in...) into the image, with zeros around it. */
static void fill_image(const gradient *g, const float *x) {
    memset(g->image, 0, image_size(g) * sizeof *g->image);
    for (size_t i = 0; i < g->seen[0] * g->seen[1]; i++) {
        image_row r = row_of(g, i);
        float *to = g->image + i * g->seen[2] * g->channels;
        for (size_t c = 0; r.exists && c < g->channels; c++) {
            const float *from = x + (ptrdiff_t)(c * g->plane) + r.source;
            for (size_t k = r.from; k < r.to; k++)
                to[k * g->channels + c] = from[k];
        }
    }
}

/* dx += image */
static void add_image(const gradient *g, float *dx) {
    for (size_t i = 0; i < g->seen[0] * g->seen[1]; i++) {
        image_row r = row_of(g, i);
        const float *from = g->image + i * g->seen[2] * g->channels;
        for (size_t c = 0; r.exists && c < g->channels; c++) {
            float *to = dx + (ptrdiff_t)(c * g->plane) + r.source;
            for (size_t k = r.from; k < r.to; k++)
                to[k] += from[k * g->channels + c];
        }
    }
}

/* ---- Weights --------------------------------------------------------------------------------- */

/* Pack columns j..j+nr-1 of the patches of n pixels from p on into one panel (n, nr). */
static void pack_panel(const gradient *g, size_t j, size_t p, size_t n, float *panel) {
    size_t nr = g->kn->nr, end = j + nr < g->depth ? j + nr : g->depth;
    if (end < j + nr)
        memset(panel, 0, n * nr * sizeof *panel);
    for (size_t at = j; at < end;) {
        size_t i = at / g->run, inside = at % g->run, rest = g->run - inside;
        size_t length = end - at < rest ? end - at : rest;
        const float *from = g->image + g->run_at[i] + inside;
        for (size_t q = 0; q < n; q++)
            memcpy(panel + q * nr + (at - j), from + g->at[p + q], length * sizeof *panel);
        at += length;
    }
}

/* turned += dy . patches of the image */
static void add_weights(const gradient *g, const float *dy) {
    for (size_t p = 0; p < g->pixels; p += g->block) {
        size_t n = g->pixels - p < g->block ? g->pixels - p : g->block;
        for (size_t j = 0; j < g->depth; j += g->kn->nr)
            pack_panel(g, j, p, n, g->packed + j * n);
        g->kn->gemm(g->filters, g->depth, n, dy + p, g->pixels, 1, g->packed, g->turned, g->depth);
    }
}

/* dw += turned, in the standard's order */
static void return_weights(const gradient *g, float *dw) {
    for (size_t f = 0; f < g->filters; f++)
        for (size_t c = 0; c < g->channels; c++)
            for (size_t k = 0; k < g->positions; k++)
                dw[(f * g->channels + c) * g->positions + k] +=
                    g->turned[f * g->depth + k * g->channels + c];
}

static void weights_backward(gradient *g, const float *x, const float *dy, float *dw) {
    const sis__window *w = g->w;
    for (size_t i = 0; i < w->groups; i++) {
        memset(g->turned, 0, g->filters * g->depth * sizeof *g->turned);
        for (size_t n = 0; n < w->n; n++) {
            size_t at = n * w->groups + i;
            fill_image(g, x + at * g->channels * g->plane);
            add_weights(g, dy + at * g->filters * g->pixels);
        }
        return_weights(g, dw + i * g->filters * g->depth);
    }
}

/* ---- Input ----------------------------------------------------------------------------------- */

static void pack_weights(gradient *g, const float *w) {
    for (size_t f = 0; f < g->filters; f++)
        for (size_t c = 0; c < g->channels; c++)
            for (size_t k = 0; k < g->positions; k++)
                g->turned[f * g->depth + k * g->channels + c] =
                    w[(f * g->channels + c) * g->positions + k];
    sis__pack(g->kn, g->filters, g->depth, g->turned, g->depth, 1, g->packed);
}

/* Add the patches of n pixels from p on to the image. */
static void add_patches(const gradient *g, size_t p, size_t n) {
    for (size_t q = 0; q < n; q++) {
        const float *restrict from = g->patches + q * g->depth;
        for (size_t i = 0; i < g->runs; i++, from += g->run) {
            float *restrict to = g->image + g->at[p + q] + g->run_at[i];
            for (size_t k = 0; k < g->run; k++)
                to[k] += from[k];
        }
    }
}

static void input_backward(gradient *g, const float *weights, const float *dy, float *dx) {
    const sis__window *w = g->w;
    for (size_t i = 0; i < w->groups; i++) {
        pack_weights(g, weights + i * g->filters * g->depth);
        for (size_t n = 0; n < w->n; n++) {
            size_t at = n * w->groups + i;
            const float *d = dy + at * g->filters * g->pixels;
            memset(g->image, 0, image_size(g) * sizeof *g->image);
            for (size_t p = 0; p < g->pixels; p += BACK_PIXELS) {
                size_t m = g->pixels - p < BACK_PIXELS ? g->pixels - p : BACK_PIXELS;
                memset(g->patches, 0, m * g->depth * sizeof *g->patches);
                g->kn->gemm(m, g->depth, g->filters, d + p, 1, g->pixels, g->packed, g->patches,
                            g->depth);
                add_patches(g, p, m);
            }
            add_image(g, dx + at * g->channels * g->plane);
        }
    }
}

/* ---- Main function --------------------------------------------------------------------------- */

static double sum_of(const float *x, size_t n) {
    double lanes[8] = {0}, sum = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++)
            lanes[k] += x[i + k];
    for (; i < n; i++)
        sum += x[i];
    for (size_t k = 0; k < 8; k++)
        sum += lanes[k];
    return sum;
}

int sis__conv_backward(const sis__step *s, sis__run *r) {
    const sis__window *w = &s->p.window;
    const float *dy = sis__dout(s, r, 0);
    float *dx = sis__din(s, r, 0), *dw = sis__din(s, r, 1), *db = sis__din(s, r, 2);
    gradient g;
    set_sizes(&g, w);
    lay_out(&g, r->scratch);
    for (size_t i = 0; db && i < w->n * w->filters; i++)
        db[i % w->filters] += (float)sum_of(dy + i * g.pixels, g.pixels);
    if (dw)
        weights_backward(&g, sis__in(s, r, 0), dy, dw);
    if (dx)
        input_backward(&g, sis__in(s, r, 1), dy, dx);
    return SIS_OK;
}
