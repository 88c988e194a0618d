/* SPDX-License-Identifier: MIT
 *
 * Decides which convolutions are kept, and allocates all memory of a prefix. Most of this memory
 * holds, for each feature, a copy of the sums inside its box at every kept convolution.
 *
 * A convolution that is not kept is recomputed from its inputs whenever a candidate is updated.
 * Keeping it saves this work if the boxes of candidates overlap only in part. If memory does not
 * suffice for all, the convolutions that need most memory are not kept.
 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/walk/window.h"

/* ---- Room ----------------------------------------------------------------------------------- */

/* Floats kept of a convolution for feature j. */
static size_t own_floats(const sis__prefix *f, const sis__layer *l, size_t j) {
    const sis__row_sums own = sis__conv_own(f, l, j);
    return sis__box_volume(&own.box) * l->w.filters * own.rows[0] * own.rows[1];
}

/* Floats needed to keep a convolution. */
static double conv_floats(const sis__prefix *f, const sis__layer *l) {
    const sis__map *out = &f->maps[l->out];
    double floats = (double)sis__positions(out) * (double)(out->channels * sis__conv_rows(l));
    for (size_t j = 0; j < f->s->in.n; j++)
        floats += (double)own_floats(f, l, j);
    return floats;
}

/* Floats needed by the cuts. */
static double cut_floats(const sis__prefix *f) {
    double floats = 0;
    for (size_t i = 0; i < f->n_points; i++) {
        const sis__keep_point *s = &f->points[i];
        double inside = sis__box_total(f, &f->maps[s->map]) * (double)f->maps[s->map].channels;
        double behind = (double)f->s->in.n * (double)s->cut.width;
        floats += s->kind == SIS__KEEP_WHOLE ? inside
                  : s->kind == SIS__KEEP_MAX ? behind
                                             : 2 * (inside + behind);
    }
    return floats;
}

/* Choose as many convolutions as fit: conv.point is 0 for these. */
static void choose_convolutions(sis__prefix *f) {
    double room = (double)(f->s->memory / sizeof(float)) - cut_floats(f), used = 0;
    for (size_t i = 0; i < f->n_layers; i++)
        if (f->layers[i].kind == SIS__LAYER_CONV) {
            f->layers[i].conv.point = 0;
            used += conv_floats(f, &f->layers[i]);
        }
    while (used > 0.9 * room) {
        size_t max = f->n_layers;
        for (size_t i = 0; i < f->n_layers; i++) {
            const sis__layer *l = &f->layers[i];
            if (l->kind == SIS__LAYER_CONV && l->conv.point >= 0 &&
                (max == f->n_layers || conv_floats(f, l) > conv_floats(f, &f->layers[max])))
                max = i;
        }
        if (max == f->n_layers)
            return;
        f->layers[max].conv.point = -1;
        used -= conv_floats(f, &f->layers[max]);
    }
}

/* Insert a keep point for each of them before the cuts. */
static void place_convolutions(sis__prefix *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_layers; i++)
        n += f->layers[i].kind == SIS__LAYER_CONV && f->layers[i].conv.point >= 0;
    memmove(f->points + n, f->points, f->n_points * sizeof *f->points);
    f->n_points += n;
    n = 0;
    for (size_t i = 0; i < f->n_layers; i++) {
        sis__layer *l = &f->layers[i];
        if (l->kind != SIS__LAYER_CONV || l->conv.point < 0)
            continue;
        l->conv.point = (int)n;
        f->points[n++] = (sis__keep_point){.kind = SIS__KEEP_CONV, .map = l->out, .layer = (int)i};
    }
}

/* Mark the maps that the points need. */
static void mark_needed(sis__prefix *f) {
    for (size_t i = 0; i < f->n_points; i++)
        f->maps[f->points[i].map].needed = 1;
    for (size_t i = f->n_layers; i-- > 0;)
        for (size_t k = 0; f->maps[f->layers[i].out].needed && k < f->layers[i].n_in; k++)
            f->maps[f->layers[i].in[k]].needed = 1;
}

/* A Relu reads the kept sums of the convolution before it. */
static void fuse(sis__prefix *f) {
    for (size_t i = 0; i < f->n_layers; i++) {
        sis__layer *l = &f->layers[i];
        int from = l->in[0] - 1;
        l->fused = l->kind == SIS__LAYER_RELU && from >= 0 && f->layers[from].conv.point >= 0;
    }
}

/* Find the map from which each map's values of a candidate are computed. */
static void find_first(sis__prefix *f) {
    for (size_t i = 0; i < f->n_layers; i++) {
        const sis__layer *l = &f->layers[i];
        int *first = &f->maps[l->out].first;
        *first = l->out;
        for (size_t k = 0; k < l->n_in && !sis__layer_kept(l); k++)
            if (f->maps[l->in[k]].first < *first)
                *first = f->maps[l->in[k]].first;
    }
}

/* Reserve n values in a store of which `*used` are taken. */
static size_t room_for(size_t *used, size_t n) {
    size_t at = *used;
    *used += (n + 15) / 16 * 16;
    return at;
}

/* Assign places in the stores to what a point keeps. */
static void place_kept(sis__prefix *f, sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    int wide = s->kind == SIS__KEEP_DENSE || s->kind == SIS__KEEP_MEAN;
    size_t n = f->s->in.n, *used = wide ? &f->store.n_wide : &f->store.n_single;
    for (size_t j = 0; j < n && s->kind != SIS__KEEP_MAX; j++)
        s->kept[j].in =
            room_for(used, s->kind == SIS__KEEP_CONV ? own_floats(f, &f->layers[s->layer], j)
                                                     : sis__box_volume(&m->box[j]) * m->channels);
    /* Results that cuts read at every step are stored together. */
    for (size_t j = 0; j < n; j++)
        s->kept[j].out = room_for(used, wide                       ? s->linear.padded
                                        : s->kind == SIS__KEEP_MAX ? m->channels
                                                                   : 0);
}

static sis__box *line_boxes(sis__prefix *f, const sis__layer *l) {
    sis__box *box = SIS_ARENA(&f->memory, sis__box, f->s->in.n);
    for (size_t j = 0; box && j < f->s->in.n; j++)
        box[j] = sis__conv_lines(f, l, j);
    return box;
}

static const sis__keep_ops *const ops_of[] = {[SIS__KEEP_CONV] = &sis__keep_conv,
                                              [SIS__KEEP_DENSE] = &sis__keep_sums,
                                              [SIS__KEEP_MEAN] = &sis__keep_sums,
                                              [SIS__KEEP_MAX] = &sis__keep_maxima,
                                              [SIS__KEEP_WHOLE] = &sis__keep_whole};

static int point_init(sis__prefix *f, sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    int error = SIS_OK;
    s->ops = ops_of[s->kind];
    s->kept = SIS_ARENA(&f->memory, sis__kept, f->s->in.n);
    s->box = s->kind == SIS__KEEP_CONV ? line_boxes(f, &f->layers[s->layer]) : m->box;
    if (!s->kept || !s->box)
        return SIS_E_NOMEM;
    if (s->ops->init)
        error = s->ops->init(f, s);
    if (!error)
        place_kept(f, s);
    return error;
}

/* ---- Scratch ------------------------------------------------------------------------------- */

/* The largest box of each map that a candidate can need. */
static int windows_init(sis__prefix *f) {
    size_t n = f->s->in.n;
    for (size_t m = 0; m <= f->n_layers; m++) {
        size_t max = 1;
        for (size_t j = 0; j < n; j++) {
            sis__box b = f->maps[m].box[j];
            for (size_t i = 0; i < f->n_layers; i++)
                for (size_t k = 0; k < f->layers[i].n_in; k++)
                    if (f->layers[i].in[k] == (int)m) {
                        const sis__layer *l = &f->layers[i];
                        sis__box see = sis__layer_field(l, &f->maps[m], &f->maps[l->out].box[j]);
                        b = sis__box_join(&b, &see);
                    }
            size_t volume = sis__box_volume(&b);
            max = volume > max ? volume : max;
        }
        f->maps[m].window = SIS_ARENA(&f->memory, float, max * f->maps[m].channels);
    }
    return sis__arena_error(&f->memory);
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Maximal number of input positions of one output of a window. */
static size_t max_seen(const sis__window *w) {
    size_t n = 1;
    for (size_t d = 0; d < 3; d++)
        n *= w->kernel[d] < w->in[d] ? w->kernel[d] : w->in[d];
    return n;
}

/* Memory for the products of the largest convolution. */
static int queue_init(sis__prefix *f) {
    sis__queue *q = &f->scratch.queue;
    size_t rows = 1, sums = 1, lines = 1;
    q->room = (size_t)16 << 10;
    for (size_t i = 0; i < f->n_layers; i++) {
        const sis__layer *l = &f->layers[i];
        if (l->kind == SIS__LAYER_MAX)
            lines = larger(lines, max_seen(&l->w));
        if (l->kind != SIS__LAYER_CONV)
            continue;
        q->room = larger(q->room, sis__conv_sees(l));
        rows = larger(rows, sis__conv_rows(l));
        sums = larger(sums, sis__conv_rows(l) * l->w.filters);
    }
    if (rows > f->s->memory / SIS__QUEUE / sizeof *q->from)
        return SIS_E_UNSUPPORTED;
    q->seen = SIS_ARENA(&f->memory, float, q->room);
    q->from =
        (const float **)sis__arena_own(&f->memory, sis__alloc(rows, SIS__QUEUE * sizeof *q->from));
    q->to = (float **)sis__arena_own(&f->memory, sis__alloc(rows, SIS__QUEUE * sizeof *q->to));
    q->count = SIS_ARENA(&f->memory, size_t, rows);
    f->scratch.lines = SIS_ARENA(&f->memory, const float *, larger(rows, lines));
    f->scratch.products = (float *)sis__arena_own(
        &f->memory, sis__alloc(SIS__BLOCK, sums * sizeof *f->scratch.products));
    return sis__arena_error(&f->memory);
}

static int scratch_init(sis__prefix *f) {
    size_t channels = 1, row = SIS__PIECE;
    for (size_t i = 0; i <= f->n_layers; i++) {
        channels = larger(channels, f->maps[i].channels);
        row = larger(row, (size_t)f->maps[i].whole.hi[2] * f->maps[i].channels);
    }
    f->scratch.totals = SIS_ARENA(&f->memory, double, channels);
    f->scratch.outside = SIS_ARENA(&f->memory, float, channels);
    f->scratch.index = SIS_ARENA(&f->memory, int, row + 16);
    f->scratch.change = SIS_ARENA(&f->memory, double, row + 16);
    f->scratch.need = SIS_ARENA(&f->memory, sis__box, f->n_layers + 1);
    f->scratch.work = SIS_ARENA(&f->memory, sis__box, f->n_layers + 1);
    f->store.single = (float *)sis__arena_own(
        &f->memory, sis__large_pages(sis__alloc_raw(f->store.n_single + 1, sizeof *f->store.single),
                                     f->store.n_single, sizeof *f->store.single));
    f->store.wide = (double *)sis__large_pages(SIS_ARENA(&f->memory, double, f->store.n_wide),
                                               f->store.n_wide, sizeof *f->store.wide);
    int error = queue_init(f);
    return error ? error : windows_init(f);
}

int sis__keep_init(sis__prefix *f) {
    int error = SIS_OK;
    choose_convolutions(f);
    place_convolutions(f);
    fuse(f);
    find_first(f);
    mark_needed(f);
    for (size_t i = 0; i < f->n_layers && !error; i++) {
        sis__layer *l = &f->layers[i];
        if (l->kind == SIS__LAYER_CONV)
            error = sis__conv_init(f, l, (const float *)f->plan->tensors[l->step->inputs[1]].data,
                                   l->op == SIS__OP_MATMUL);
    }
    for (size_t i = 0; i < f->n_points && !error; i++)
        error = point_init(f, &f->points[i]);
    if (!error && f->store.n_single + 2 * f->store.n_wide > f->s->memory / sizeof(float))
        error = SIS_E_UNSUPPORTED;
    return error ? error : scratch_init(f);
}
