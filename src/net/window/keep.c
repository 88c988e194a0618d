/* SPDX-License-Identifier: MIT
 *
 * What is kept for candidates, and the memory for it, all of it taken here: the largest part is one
 * copy a feature of the values (or changes) inside its box at every convolution and at the cuts.
 *
 * The choice between the two ways with convolutions is made here too, by what they cost. Computing
 * candidates as a full pass does costs the boxes of all convolutions wherever two of them meet, but
 * then no call is too close. Adding up changes costs less, but full passes where two candidates are
 * closer than rounding: a few, unless many features are all but equal to their mask (the rim of an
 * image that is nearly black everywhere): these are close to each other at every step.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/window/read.h"

static const double close_calls = 0.5;  /* expected for a feature in general */
static const double faint_share = 1e-3; /* of the largest difference between value and mask */

/* Sums of a convolution that have to be made again for others when a feature is masked: the mean
 * over some features. */
static double overlap(const sis__front *f, const sis__layer *l) {
    size_t n = f->s->n_features, step = n / 32 + 1, asked = 0, met = 0;
    for (size_t i = 0; i < n; i += step, asked++) {
        sis__box a = sis__conv_lines(f, l, i);
        for (size_t j = 0; j < n; j++) {
            sis__box b = sis__conv_lines(f, l, j);
            b = sis__box_meet(&a, &b);
            met += sis__box_volume(&b);
        }
    }
    return asked ? (double)met / (double)asked : 0;
}

/* Features whose values are all but their mask: candidates that differ by less than rounding does
 * until they are all masked. */
static double faint_features(const sis__front *f) {
    size_t n = f->s->n_features, faint = 0;
    double top = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t j = 0; j < n; j++) {
            double most = 0;
            for (size_t k = f->s->start[j]; k < f->s->start[j + 1]; k++) {
                size_t v = f->s->value[k];
                most = fmax(most, fabs((double)f->s->z[v] - (double)f->s->x[v]));
            }
            top = pass == 0 ? fmax(top, most) : top;
            faint += pass == 1 && most > 0 && most < faint_share * top;
        }
    return (double)faint;
}

/* Is computing candidates as a full pass does cheaper than asking for full passes where they are
 * too close? Close calls are few, except between faint features: each of them against all
 * others. */
static int prefers_exact(const sis__reader *r) {
    const sis__front *f = r->f;
    double n = (double)f->s->n_features, faint = faint_features(f), flops = 0;
    for (size_t i = 0; i < f->n_layers; i++) {
        const sis__map *out = &f->maps[f->layers[i].out];
        if (f->layers[i].kind == SIS__LAYER_CONV)
            flops += f->layers[i].step->flops / (double)sis__positions(out) *
                     (2 * sis__box_total(f, out) + n / 2 * overlap(f, &f->layers[i]));
    }
    return flops <= (close_calls * n + faint * faint / 2) * r->plan->flops;
}

/* Do the sums that an exact walk keeps leave room for the cuts? */
static int exact_fits(const sis__front *f) {
    double floats = 0;
    for (size_t i = 0; i < f->n_layers; i++) {
        const sis__map *out = &f->maps[f->layers[i].out];
        if (f->layers[i].kind == SIS__LAYER_CONV)
            floats += ((double)sis__positions(out) + sis__box_total(f, out)) *
                      (double)(out->channels * sis__conv_rows(&f->layers[i]));
    }
    return floats < 0.75 * (double)(f->s->memory / sizeof(float));
}

/* A site at every convolution, ahead of the cuts. */
static void site_convolutions(sis__front *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_layers; i++)
        n += f->layers[i].kind == SIS__LAYER_CONV;
    memmove(f->sites + n, f->sites, f->n_sites * sizeof *f->sites);
    f->n_sites += n;
    n = 0;
    for (size_t i = 0; i < f->n_layers; i++) {
        sis__layer *l = &f->layers[i];
        if (l->kind != SIS__LAYER_CONV)
            continue;
        l->site = (int)n;
        f->sites[n++] = (sis__site){.kind = f->exact ? SIS__SITE_KEEP : SIS__SITE_CONV,
                                    .map = f->exact ? l->out : l->in[0],
                                    .layer = (int)i,
                                    .value = -1,
                                    .divisor = 1,
                                    .fixed = !f->exact && l->in[0] == 0,
                                    .over = f->maps[l->out].box};
    }
}

/* Which maps the sites need. */
static void mark_needed(sis__front *f) {
    for (size_t i = 0; i < f->n_sites; i++)
        f->maps[f->sites[i].map].needed = 1;
    for (size_t i = f->n_layers; i-- > 0;)
        for (size_t k = 0; f->maps[f->layers[i].out].needed && k < f->layers[i].n_in; k++)
            f->maps[f->layers[i].in[k]].needed = 1;
}

/* A Relu reads what is kept for the convolution in front of it. */
static void fuse(sis__front *f) {
    for (size_t i = 0; i < f->n_layers; i++) {
        sis__layer *l = &f->layers[i];
        int from = l->in[0] - 1;
        l->fused = l->kind == SIS__LAYER_RELU && from >= 0 && f->layers[from].site >= 0;
    }
}

/* Rows of the dense layer's weights in the order of the map. */
static int dense_weights(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    const sis__gemm *g = &s->step->p.gemm;
    size_t nr = sis__kernels_best()->nr, panels = (g->n + nr - 1) / nr;
    s->padded = panels * nr;
    s->weights = (float *)sis__front_alloc(f, g->k, s->padded * sizeof *s->weights);
    s->length = (double *)sis__front_alloc(f, s->padded, sizeof *s->length);
    if (!s->weights || !s->length)
        return SIS_E_NOMEM;
    float *to = s->weights;
    SIS__EACH_ROW(&m->whole, z, y)
    for (int x = 0; x < m->whole.hi[2]; x++)
        for (size_t c = 0; c < m->channels; c++) {
            size_t k = (size_t)z * s->sight.stride[1] + (size_t)y * s->sight.stride[2] +
                       (size_t)x * s->sight.stride[3] + c * s->sight.stride[0];
            for (size_t i = 0; i < panels; i++, to += nr)
                memcpy(to, g->packed + (i * g->k + k) * nr, nr * sizeof *to);
        }
    for (size_t i = 0; i < g->k * s->padded; i++)
        s->length[i % s->padded] += (double)s->weights[i] * (double)s->weights[i];
    for (size_t i = 0; i < s->padded; i++)
        s->length[i] = sqrt(s->length[i]);
    return SIS_OK;
}

size_t sis__keep_room(size_t *used, size_t n) {
    size_t at = *used;
    *used += (n + 15) / 16 * 16;
    return at;
}

/* Places in the stores for what a site keeps. */
static void place_spots(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    int wide = s->kind == SIS__SITE_DENSE || s->kind == SIS__SITE_MEAN;
    size_t n = f->s->n_features, *used = wide ? &f->n_wide : &f->n_store;
    size_t copies = s->kind == SIS__SITE_KEEP ? sis__conv_rows(&f->layers[s->layer]) : 1;
    for (size_t j = 0; j < n && s->kind != SIS__SITE_MAX; j++)
        s->spots[j].in = sis__keep_room(used, sis__box_volume(&m->box[j]) * m->channels * copies);
    /* What cuts read at every step lies together. */
    for (size_t j = 0; j < n; j++) {
        size_t out = wide ? s->padded : s->kind == SIS__SITE_MAX ? m->channels : 0;
        if (s->kind == SIS__SITE_CONV)
            out = sis__box_volume(&s->over[j]) * f->layers[s->layer].w.filters;
        s->spots[j].out = sis__keep_room(used, out);
    }
}

static sis__box *line_boxes(sis__front *f, const sis__layer *l) {
    sis__box *box = (sis__box *)sis__front_alloc(f, f->s->n_features, sizeof *box);
    for (size_t j = 0; box && j < f->s->n_features; j++)
        box[j] = sis__conv_lines(f, l, j);
    return box;
}

static int site_init(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    s->spots = (sis__spot *)sis__front_alloc(f, f->s->n_features, sizeof *s->spots);
    s->box = s->kind == SIS__SITE_KEEP ? line_boxes(f, &f->layers[s->layer]) : m->box;
    int error = s->spots && s->box ? SIS_OK : SIS_E_NOMEM;
    if (!error && s->kind == SIS__SITE_DENSE)
        error = dense_weights(f, s);
    if (!error && s->kind == SIS__SITE_MAX)
        error = sis__top_init(f, &s->top, m, f->s->n_features);
    if (!error && s->kind == SIS__SITE_MEAN)
        s->padded = m->channels;
    if (!error && (s->kind == SIS__SITE_DENSE || s->kind == SIS__SITE_MEAN)) {
        s->sums = (double *)sis__front_alloc(f, s->padded, sizeof *s->sums);
        s->slack = (double *)sis__front_alloc(f, s->padded, sizeof *s->slack);
        if (f->exact)
            s->flat =
                (float *)sis__front_alloc(f, sis__positions(m) * m->channels, sizeof *s->flat);
        error = s->sums && s->slack && (s->flat || !f->exact) ? SIS_OK : SIS_E_NOMEM;
    }
    if (!error && s->fixed)
        return sis__fixed_init(f, s);
    if (!error)
        place_spots(f, s);
    return error;
}

/* ---- Scratch ------------------------------------------------------------------------------- */

/* The largest box of each map that computing a candidate can ask for. */
static int windows_init(sis__front *f) {
    size_t n = f->s->n_features;
    for (size_t m = 0; m <= f->n_layers; m++) {
        size_t most = 1;
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
            most = volume > most ? volume : most;
        }
        f->maps[m].window =
            (float *)sis__front_alloc(f, most * f->maps[m].channels, sizeof *f->maps[m].window);
        if (!f->maps[m].window)
            return SIS_E_NOMEM;
    }
    return SIS_OK;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Positions of the input that one output of a window sees, at most. */
static size_t most_seen(const sis__window *w) {
    size_t n = 1;
    for (size_t d = 0; d < 3; d++)
        n *= w->kernel[d] < w->in[d] ? w->kernel[d] : w->in[d];
    return n;
}

/* Room for the products of the largest convolution. */
static int queue_init(sis__front *f) {
    sis__queue *q = &f->queue;
    size_t rows = 1, sums = 1, lines = 1;
    q->room = (size_t)16 << 10;
    for (size_t i = 0; i < f->n_layers; i++) {
        const sis__layer *l = &f->layers[i];
        if (l->kind == SIS__LAYER_MAX)
            lines = larger(lines, most_seen(&l->w));
        if (l->kind != SIS__LAYER_CONV)
            continue;
        q->room = larger(q->room, sis__conv_sees(l));
        rows = larger(rows, sis__conv_rows(l));
        sums = larger(sums, sis__conv_rows(l) * l->w.filters);
    }
    if (rows > f->s->memory / SIS__QUEUE / sizeof *q->from)
        return SIS_E_UNSUPPORTED;
    q->seen = (float *)sis__front_alloc(f, q->room, sizeof *q->seen);
    q->from = (const float **)sis__front_alloc(f, rows, SIS__QUEUE * sizeof *q->from);
    q->to = (float **)sis__front_alloc(f, rows, SIS__QUEUE * sizeof *q->to);
    q->count = (size_t *)sis__front_alloc(f, rows, sizeof *q->count);
    f->lines = (const float **)sis__front_alloc(f, larger(rows, lines), sizeof *f->lines);
    f->products = (float *)sis__front_alloc(f, SIS__BLOCK, sums * sizeof *f->products);
    return q->seen && q->from && q->to && q->count && f->lines && f->products ? SIS_OK
                                                                              : SIS_E_NOMEM;
}

static int scratch_init(sis__front *f) {
    size_t channels = 1, row = 1;
    for (size_t i = 0; i <= f->n_layers; i++) {
        channels = larger(channels, f->maps[i].channels);
        row = larger(row, (size_t)f->maps[i].whole.hi[2] * f->maps[i].channels);
    }
    f->totals = (double *)sis__front_alloc(f, channels, sizeof *f->totals);
    f->outside = (float *)sis__front_alloc(f, channels, sizeof *f->outside);
    f->index = (int *)sis__front_alloc(f, row + 16, sizeof *f->index);
    f->change = (float *)sis__front_alloc(f, channels + 16, sizeof *f->change);
    f->wide_change = (double *)sis__front_alloc(f, row + 16, sizeof *f->wide_change);
    f->need = (sis__box *)sis__front_alloc(f, f->n_layers + 1, sizeof *f->need);
    f->work = (sis__box *)sis__front_alloc(f, f->n_layers + 1, sizeof *f->work);
    f->store = (float *)sis__front_alloc(f, f->n_store, sizeof *f->store);
    f->wide = (double *)sis__front_alloc(f, f->n_wide, sizeof *f->wide);
    if (!f->totals || !f->index || !f->outside || !f->change || !f->wide_change || !f->need ||
        !f->work || !f->store || !f->wide)
        return SIS_E_NOMEM;
    int error = queue_init(f);
    return error ? error : windows_init(f);
}

/* ---- The whole ----------------------------------------------------------------------------- */

int sis__keep(sis__reader *r) {
    sis__front *f = r->f;
    int error = SIS_OK;
    f->exact = prefers_exact(r) && exact_fits(f);
    site_convolutions(f);
    fuse(f);
    mark_needed(f);
    for (size_t i = 0; i < f->n_layers && !error; i++)
        if (f->layers[i].kind == SIS__LAYER_CONV)
            error =
                sis__conv_init(f, &f->layers[i], sis__constant_of(r, f->layers[i].step->inputs[1]),
                               f->layers[i].op == SIS__OP_MATMUL);
    for (size_t i = 0; i < f->n_sites && !error; i++)
        error = site_init(f, &f->sites[i]);
    if (!error && f->n_store + 2 * f->n_wide > f->s->memory / sizeof(float))
        error = SIS_E_UNSUPPORTED;
    if (!error)
        error = scratch_init(f);
    for (size_t i = 0; i < f->n_sites && !error; i++)
        if (f->sites[i].fixed)
            error = sis__fixed_sum(f, &f->sites[i]);
    return error;
}
