/* SPDX-License-Identifier: MIT
 *
 * Winograd's convolution F(2 x 2, 3 x 3). A tile of 2 x 2 outputs reads 4 x 4 inputs. With fixed
 * matrices A, B and G, for input d, weights g and one channel,
 *
 *     output = A^T ((G g G^T) * (B^T d B)) A        (* element by element)
 *
 * Sums over channels are taken before A is applied: 16 matrix products (filters, channels) x
 * (channels, tiles), together 16 products for each tile where the direct sum has 36. The transforms
 * of inputs and outputs are additions. Examples are the lanes of vectors, as in lanes_view of
 * conv.c: map (channel, y, x, example).
 *
 * Each output still depends only on the values that enter it. But there are no sums of single rows
 * of the kernel, so a window walk cannot keep them: the walk ends in front of such a layer. So
 * tiles are used only where one value of the network's input changes most of the map, and a walk
 * ends anyway.
 */
#include "net/ops/conv_tiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/kernels/kernels.h"
#include "net/ops/ops.h"

enum { SUMS = 16, MIN_CHANNELS = 48, MAX_MAP = 32 * 1024, BLOCK_FLOATS = 64 * 1024 };

/* ---- How far a value of the input reaches ----------------------------------------------------- */

static const float everywhere = 1e9f;
static const float min_reach = 1.25f; /* times the size of the map: about 0.75 of it is reached */

/* The smallest (or largest) number of an attribute; absent: 1. */
static float attribute(sis__shape_ctx *c, const char *name, int largest) {
    size_t n;
    const int64_t *list = sis__attr_ints(c, name, &n);
    float v = n ? (float)list[0] : 1;
    for (size_t i = 1; i < n; i++)
        v = ((float)list[i] > v) == largest ? (float)list[i] : v;
    return v;
}

/* The smallest size of a window. */
static float window_of(sis__shape_ctx *c) {
    const sis__value *f =
        c->node->n_inputs > 1 ? &c->plan->graph->values[c->node->inputs[1]] : NULL;
    if (c->node->op->family != SIS__CONVOLUTION || !f->shaped)
        return attribute(c, "kernel_shape", 0);
    int64_t size = f->rank > 2 ? f->dims[2] : 1;
    for (size_t d = 3; d < f->rank; d++)
        size = f->dims[d] < size ? f->dims[d] : size;
    return (float)size;
}

/* The number of positions, along an axis, of a node's output that one position of the network's
 * input can change, if those of its inputs are `in`. Too small if axes differ. */
static float reach_after(const sis__plan *p, const sis__node *n, float in) {
    sis__shape_ctx c = {.plan = (sis__plan *)(uintptr_t)p, .node = n};
    if (!n->op || in == 0)
        return in;
    switch (n->op->family) {
    case SIS__CONVOLUTION:
    case SIS__POOL:
        return (in + (window_of(&c) - 1) * attribute(&c, "dilations", 0)) /
               attribute(&c, "strides", 1);
    case SIS__CHANNEL_NORM:
    case SIS__PADDING:
        return in;
    default:
        return n->op->trait == SIS__MIXES || n->op->trait == SIS__MIXES_TEXTS ? everywhere : in;
    }
}

/* The same for input 0 of a node. Negative: out of memory. */
static float reach_before(const sis__plan *p, const sis__node *node) {
    const sis__graph *g = p->graph;
    float *reach = SIS_NEW(float, g->n_values), found = -1;
    for (size_t i = 0; reach && i < g->n_values; i++)
        reach[i] = g->values[i].producer < 0 && !g->values[i].data;
    for (size_t i = 0; reach && i < g->n_nodes && &g->nodes[i] != node; i++) {
        const sis__node *n = &g->nodes[i];
        float in = 0;
        for (size_t k = 0; k < n->n_inputs; k++)
            if (n->inputs[k] >= 0)
                in = fmaxf(in, reach[n->inputs[k]]);
        for (size_t k = 0; k < n->n_outputs; k++)
            if (n->outputs[k] >= 0)
                reach[n->outputs[k]] = reach_after(p, n, in);
    }
    if (reach)
        found = reach[node->inputs[0]];
    free(reach);
    return found;
}

/* ---- Which convolutions ----------------------------------------------------------------------- */

static size_t tiles_along(const sis__window *w, size_t axis) {
    return (w->out[axis] + 1) / 2;
}

/* Is the shape one for which tiles save time? */
static int fits(const sis__window *w) {
    size_t tiles = tiles_along(w, 1) * tiles_along(w, 2), pixels = w->out[1] * w->out[2];
    for (size_t d = 1; d < 3; d++)
        if (w->kernel[d] != 3 || w->stride[d] != 1 || w->dilation[d] != 1)
            return 0;
    return w->kernel[0] == 1 && w->in[0] == 1 && w->out[0] == 1 && w->pad[0] == 0 &&
           w->groups == 1 && w->channels >= MIN_CHANNELS && w->filters >= MIN_CHANNELS &&
           pixels > 0 && pixels <= MAX_MAP / w->channels && SUMS * tiles <= 6 * pixels;
}

/* Layers over whole numbers must stay exact (net/lower/exact_quant.c). */
static int all_whole(const float *x, size_t n) {
    size_t i = 0;
    while (i < n && x[i] == rintf(x[i]))
        i++;
    return i == n;
}

int sis__tiles_take(const sis__shape_ctx *c, const sis__window *w, const float *weights) {
    if (c->error || !fits(w) || all_whole(weights, w->filters * w->channels * SIS__TILE_KERNEL))
        return 0;
    float reach = reach_after(c->plan, c->node, reach_before(c->plan, c->node));
    return reach >= min_reach * (float)w->out[1] && reach >= min_reach * (float)w->out[2];
}

const float *sis__tiles_pack(sis__shape_ctx *c, const sis__window *w, const float *weights) {
    return sis__ctx_pack(c, &(sis__matrix){.at = weights,
                                           .k = w->channels,
                                           .n = w->filters,
                                           .alpha = 1.0f,
                                           .lefts = SUMS,
                                           .rows = 1,
                                           .run = 1,
                                           .tiles = 1});
}

/* ---- Forward ---------------------------------------------------------------------------------- */

/* The work of `lanes` examples, some rows of tiles at a time. */
typedef struct {
    const sis__step *step;
    const sis__window *w;
    const float *bias;
    size_t lanes, rows, cols;   /* examples; rows of tiles of a block; its columns (tiles, lanes) */
    size_t line, plane;         /* floats of a line of the map, and of a channel */
    float *map, *in, *sums, *y; /* padded map; transformed inputs, products; results or one map */
    int *place;                 /* (channels) */
} tiling;

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Rows of tiles of a block. */
static size_t rows_of_block(const sis__window *w, size_t lanes) {
    size_t one = SUMS * larger(w->channels, w->filters) * tiles_along(w, 2) * lanes;
    size_t rows = BLOCK_FLOATS / one, all = tiles_along(w, 1);
    return rows < 1 ? 1 : rows < all ? rows : all;
}

static size_t map_line(const sis__window *w, size_t lanes) {
    return (2 * tiles_along(w, 2) + 2) * lanes;
}

static size_t map_plane(const sis__window *w, size_t lanes) {
    return (2 * tiles_along(w, 1) + 2) * map_line(w, lanes);
}

/* Floats of the map, of the inputs or products of a block, and of the results. */
static size_t map_floats(const sis__window *w, size_t lanes) {
    return w->channels * map_plane(w, lanes);
}

/* Floats from one of the 16 sums of a tile to the next, for n channels. They are written together,
 * so they must not evict each other from the L1 cache. */
static size_t step_of(size_t n, size_t columns) {
    return n * columns + SUMS;
}

static size_t block_floats(const sis__window *w, size_t lanes) {
    size_t columns = rows_of_block(w, lanes) * tiles_along(w, 2) * lanes;
    return SUMS * step_of(larger(w->channels, w->filters), columns);
}

static size_t result_floats(const sis__window *w, size_t lanes) {
    return lanes * larger(w->filters * w->out[1] * w->out[2], w->in[1] * w->in[2]);
}

size_t sis__tiles_scratch(const sis__window *w, size_t nr) {
    size_t lanes = nr / 2, floats = 0;
    for (size_t n = lanes; n > 0; n--) /* blocks of fewer examples can have more columns */
        floats = larger(floats, map_floats(w, n) + 2 * block_floats(w, n) + result_floats(w, n));
    return floats + nr + w->channels;
}

static tiling tiling_of(const sis__step *s, sis__run *r, size_t lanes) {
    const sis__window *w = &s->p.window;
    size_t rows = rows_of_block(w, lanes), nr = sis__kernels_best()->nr;
    tiling t = {.step = s,
                .w = w,
                .bias = sis__in(s, r, 2),
                .lanes = lanes,
                .rows = rows,
                .cols = rows * tiles_along(w, 2) * lanes,
                .line = map_line(w, lanes),
                .plane = map_plane(w, lanes),
                .map = (float *)(void *)r->scratch};
    t.in = t.map + map_floats(w, lanes);
    t.sums = t.in + block_floats(w, lanes) + nr; /* up to a panel is read beyond the inputs */
    t.y = t.sums + block_floats(w, lanes);
    t.place = (int *)(void *)(t.y + result_floats(w, lanes));
    for (size_t c = 0; c < w->channels; c++)
        t.place[c] = (int)(c * t.cols);
    memset(t.map, 0, map_floats(w, lanes) * sizeof *t.map); /* the padding */
    return t;
}

/* Transpose the maps of the examples. */
static void take_examples(const tiling *t, const float *x) {
    const sis__window *w = t->w;
    size_t plane = w->in[1] * w->in[2], line = w->in[2] * t->lanes;
    for (size_t c = 0; c < w->channels; c++) {
        sis__operand from = {x + c * plane, w->channels * plane, 1};
        sis__kernels_best()->turn(t->lanes, plane, &from, t->y, t->lanes, 1);
        for (size_t y = 0; y < w->in[1]; y++)
            memcpy(t->map + c * t->plane + (y + (size_t)w->pad[1]) * t->line +
                       (size_t)w->pad[2] * t->lanes,
                   t->y + y * line, line * sizeof *t->y);
    }
}

static void give_examples(const tiling *t, float *y) {
    const sis__window *w = t->w;
    size_t pixels = w->out[1] * w->out[2];
    for (size_t f = 0; f < w->filters; f++) {
        sis__operand from = {t->y + f * pixels * t->lanes, t->lanes, 1};
        sis__kernels_best()->turn(pixels, t->lanes, &from, y + f * pixels, w->filters * pixels, 1);
    }
}

static void multiply(const tiling *t, size_t columns) {
    const sis__kernels *kn = sis__kernels_best();
    const sis__window *w = t->w;
    size_t left = sis__packed_left_size(kn, w->filters, w->channels);
    for (size_t i = 0; i < SUMS; i++)
        kn->gemm_packed(&(sis__packed_product){.m = w->filters,
                                               .n = columns,
                                               .k = w->channels,
                                               .parts = 1,
                                               .a = w->packed + i * left,
                                               .b = t->in + i * step_of(w->channels, t->cols),
                                               .c = t->sums + i * step_of(w->filters, t->cols),
                                               .ldc = t->cols,
                                               .place = t->place});
}

/* Some rows of tiles, from `first` on. */
static void convolve_block(const tiling *t, size_t first, size_t rows) {
    const sis__kernels *kn = sis__kernels_best();
    const sis__window *w = t->w;
    size_t count = tiles_along(w, 2), pixels = w->out[1] * w->out[2], row = count * t->lanes;
    sis__tiles in = {.n = w->channels,
                     .count = count,
                     .lanes = t->lanes,
                     .plane = t->plane,
                     .line = t->line,
                     .step = step_of(w->channels, t->cols),
                     .row = t->cols};
    sis__tiles out = in;
    for (size_t i = 0; i < rows; i++) {
        in.map = t->map + 2 * (first + i) * t->line;
        in.sums = t->in + i * row;
        kn->tiles_in(&in);
    }
    multiply(t, rows * row);
    out.n = w->filters;
    out.plane = pixels * t->lanes;
    out.line = w->out[2] * t->lanes;
    out.step = step_of(w->filters, t->cols);
    out.cols = w->out[2];
    out.bias = t->bias;
    out.relu = t->step->relu;
    for (size_t i = 0; i < rows; i++) {
        size_t y = 2 * (first + i);
        out.map = t->y + y * out.line;
        out.sums = t->sums + i * row;
        out.lines = w->out[1] - y < 2 ? 1 : 2;
        kn->tiles_out(&out);
    }
}

int sis__tiles_forward(const sis__step *s, sis__run *r) {
    const sis__window *w = &s->p.window;
    size_t lanes = sis__kernels_best()->nr / 2, all = tiles_along(w, 1);
    size_t in = w->channels * w->in[1] * w->in[2], out = w->filters * w->out[1] * w->out[2];
    tiling t = {.lanes = 0};
    for (size_t i = 0; i < w->n; i += t.lanes) {
        size_t n = w->n - i < lanes ? w->n - i : lanes;
        if (t.lanes != n)
            t = tiling_of(s, r, n);
        take_examples(&t, sis__in(s, r, 0) + i * in);
        for (size_t first = 0; first < all; first += t.rows)
            convolve_block(&t, first, all - first < t.rows ? all - first : t.rows);
        give_examples(&t, sis__out(s, r, 0) + i * out);
    }
    return SIS_OK;
}
