/* SPDX-License-Identifier: MIT
 *
 * What is kept for each candidate. Three kinds of site are linear in their map, and keep both the
 * change that masking the candidate makes to the map inside its box and what that change adds up to
 * behind the site:
 *
 *     CONV    change of the map -> change of the convolution's output, before bias and activation
 *     DENSE   change of the map -> change of the dense layer's output
 *     MEAN    change of the map -> change of the sums over positions
 *
 * To bring one up to date, the change inside the dirty box is computed, compared with the kept one,
 * and the difference (often a few values: a Relu that stays shut changes nothing) is multiplied and
 * added. Each such step rounds, so after a number of them the sum is made anew from the kept
 * change. A change that is all zeros adds up to zeros, exactly: that is how a feature that changes
 * nothing is recognised.
 *
 * The other two compute values, not changes: MAX keeps the maximum inside the box, WHOLE the values
 * inside it.
 *
 * The base of a DENSE cut is kept in double; masking a feature adds its change, and every so often
 * it is computed anew as a full pass would.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/walk_window.h"

enum { UPDATES = 64 }; /* differences added before a sum is made anew */

static const sis__box *box_of(const sis__front *f, const sis__site *s, size_t j) {
    return &f->maps[s->map].box[j];
}

/* ---- Differences --------------------------------------------------------------------------- */

/* Compare the new values of n channels with base + kept change; what differs goes to index (plus
 * `first`) and change. Returns how many differ and corrects the number of changes that are not 0.
 */
static size_t compare(const float *now, const float *base, float *kept, size_t n, int first,
                      int *index, float *change, size_t *changed) {
    size_t found = 0, before = 0, after = 0;
    for (size_t c = 0; c < n; c++) {
        float d = now[c] - base[c], step = d - kept[c];
        index[found] = first + (int)c;
        change[found] = step;
        found += step != 0.0f;
        before += kept[c] != 0.0f;
        after += d != 0.0f;
        kept[c] = d;
    }
    *changed += after - before;
    return found;
}

/* The channels of a kept change that are not 0. */
static size_t collect(const float *kept, size_t n, int first, int *index, float *change) {
    size_t found = 0;
    for (size_t c = 0; c < n; c++) {
        index[found] = first + (int)c;
        change[found] = kept[c];
        found += kept[c] != 0.0f;
    }
    return found;
}

/* ---- Convolution --------------------------------------------------------------------------- */

/* Outputs along one axis that input i reaches, with the kernel positions it is seen at. Calls for
 * each: fn is inlined by hand in the loops below. */
static int output_of(const sis__window *w, size_t d, int i, size_t k, const sis__box *box) {
    int at = i + (int)w->pad[d] - (int)(k * w->dilation[d]), stride = (int)w->stride[d];
    if (at < 0 || at % stride)
        return -1;
    at /= stride;
    return at >= box->lo[d] && at < box->hi[d] ? at : -1;
}

/* One row of the output, one run of kernel positions along x. */
typedef struct {
    const sis__layer *l;
    const sis__kernels *kn;
    sis__rows rows;
    size_t tap_row; /* kz * kernel[1] + ky */
    const sis__box *box;
    float *out; /* kept change of the output */
    int z, y;   /* of the output */
} reach;

/* Neighbouring outputs see x at neighbouring kernel positions: one run. */
static void reach_run(reach *r, int x) {
    const sis__window *w = &r->l->w;
    int pad = (int)w->pad[2], last = (int)w->kernel[2] - 1;
    int lo = x + pad - last > r->box->lo[2] ? x + pad - last : r->box->lo[2];
    int hi = x + pad < r->box->hi[2] - 1 ? x + pad : r->box->hi[2] - 1;
    if (lo > hi)
        return;
    size_t tap = (size_t)(lo - (x + pad - last)); /* reversed: the last kernel position first */
    r->rows.ldw = w->kernel[2] * w->filters;
    r->rows.w = r->l->taps + r->tap_row * w->channels * r->rows.ldw + tap * w->filters;
    r->kn->add_rows(&r->rows, r->out + sis__box_at(r->box, r->z, r->y, lo) * w->filters,
                    (size_t)(hi - lo + 1) * w->filters);
}

/* Strided or dilated: one kernel position at a time. */
static void reach_each(reach *r, int x) {
    const sis__window *w = &r->l->w;
    for (size_t k = 0; k < w->kernel[2]; k++) {
        int o = output_of(w, 2, x, k, r->box);
        if (o < 0)
            continue;
        r->rows.ldw = w->kernel[2] * w->filters;
        r->rows.w = r->l->taps + r->tap_row * w->channels * r->rows.ldw +
                    (w->kernel[2] - 1 - k) * w->filters;
        r->kn->add_rows(&r->rows, r->out + sis__box_at(r->box, r->z, r->y, o) * w->filters,
                        w->filters);
    }
}

/* Groups: each channel has its own few filters. */
static void reach_groups(reach *r, int x) {
    const sis__window *w = &r->l->w;
    size_t per = w->filters / w->groups, inside = w->channels / w->groups;
    for (size_t k = 0; k < w->kernel[2]; k++) {
        int o = output_of(w, 2, x, k, r->box);
        if (o < 0)
            continue;
        float *to = r->out + sis__box_at(r->box, r->z, r->y, o) * w->filters;
        for (size_t t = 0; t < r->rows.count; t++) {
            size_t c = (size_t)r->rows.index[t];
            const float *from =
                r->l->taps + ((r->tap_row * w->kernel[2] + k) * w->channels + c) * per;
            for (size_t i = 0; i < per; i++)
                to[c / inside * per + i] += r->rows.d[t] * from[i];
        }
    }
}

/* Add what `count` changed channels at a position do to the output. */
static void conv_add(const sis__front *f, const sis__layer *l, const sis__box *box, const int *at,
                     size_t count, float *out) {
    const sis__window *w = &l->w;
    reach r = {.l = l, .kn = sis__kernels_best(), .box = box, .out = out};
    r.rows = (sis__rows){.index = f->index, .d = f->change, .count = count};
    for (size_t i = 0; i < w->kernel[0]; i++) {
        r.z = output_of(w, 0, at[0], i, box);
        for (size_t k = 0; r.z >= 0 && k < w->kernel[1]; k++) {
            r.y = output_of(w, 1, at[1], k, box);
            if (r.y < 0)
                continue;
            r.tap_row = i * w->kernel[1] + k;
            if (w->groups > 1)
                reach_groups(&r, at[2]);
            else if (w->stride[2] == 1 && w->dilation[2] == 1)
                reach_run(&r, at[2]);
            else
                reach_each(&r, at[2]);
        }
    }
}

/* ---- The three linear kinds ----------------------------------------------------------------- */

/* Floats that the site keeps behind the map for feature j. */
static size_t out_size(const sis__front *f, const sis__site *s, size_t j) {
    const sis__map *m = &f->maps[s->map];
    switch (s->kind) {
    case SIS__SITE_CONV: {
        const sis__map *out = &f->maps[f->layers[s->layer].out];
        return sis__box_volume(&out->box[j]) * out->channels;
    }
    case SIS__SITE_DENSE:
        return s->padded;
    case SIS__SITE_WHOLE:
        return 0;
    default:
        return m->channels;
    }
}

/* Add `count` differences at a position of the map (their index counts channels, or for DENSE
 * values of the map). */
static void add_changes(const sis__front *f, const sis__site *s, size_t j, const int *at,
                        size_t count, float *out) {
    if (count == 0)
        return;
    if (s->kind == SIS__SITE_CONV) {
        const sis__layer *l = &f->layers[s->layer];
        conv_add(f, l, &f->maps[l->out].box[j], at, count, out);
    } else if (s->kind == SIS__SITE_DENSE) {
        sis__rows r = {
            .w = s->weights, .ldw = s->padded, .index = f->index, .d = f->change, .count = count};
        sis__kernels_best()->add_rows(&r, out, s->padded);
    } else {
        for (size_t t = 0; t < count; t++)
            out[f->index[t]] += f->change[t];
    }
}

/* Number of the first channel at a position, as the site's index counts. */
static int first_of(const sis__front *f, const sis__site *s, const int *at) {
    const sis__map *m = &f->maps[s->map];
    return s->kind == SIS__SITE_DENSE
               ? (int)(sis__box_at(&m->whole, at[0], at[1], at[2]) * m->channels)
               : 0;
}

/* Sum anew from the kept change. */
static void sum_anew(sis__front *f, sis__site *s, size_t j) {
    sis__spot *p = &s->spots[j];
    const sis__box *b = box_of(f, s, j);
    size_t channels = f->maps[s->map].channels;
    const float *kept = f->store + p->in;
    float *out = f->store + p->out;
    memset(out, 0, out_size(f, s, j) * sizeof *out);
    p->updates = 0;
    if (p->changed == 0)
        return;
    SIS__EACH_ROW(b, z, y)
    for (int x = b->lo[2]; x < b->hi[2]; x++, kept += channels) {
        int at[3] = {z, y, x};
        size_t n = collect(kept, channels, first_of(f, s, at), f->index, f->change);
        add_changes(f, s, j, at, n, out);
    }
}

static void update_linear(sis__front *f, sis__site *s, size_t j) {
    sis__spot *p = &s->spots[j];
    const sis__map *m = &f->maps[s->map];
    const sis__box *b = box_of(f, s, j);
    sis__part now = sis__front_evaluate(f, j, s->map, &p->dirty);
    const float *from = now.at;
    float *out = f->store + p->out;
    int anew = p->updates++ >= UPDATES;
    SIS__EACH_ROW(&p->dirty, z, y)
    for (int x = p->dirty.lo[2]; x < p->dirty.hi[2]; x++, from += m->channels) {
        int at[3] = {z, y, x};
        const float *base = m->base + sis__box_at(&m->whole, z, y, x) * m->channels;
        float *kept = f->store + p->in + sis__box_at(b, z, y, x) * m->channels;
        size_t n = compare(from, base, kept, m->channels, first_of(f, s, at), f->index, f->change,
                           &p->changed);
        if (!anew)
            add_changes(f, s, j, at, n, out);
    }
    if (anew || p->changed == 0)
        sum_anew(f, s, j);
}

/* ---- Values -------------------------------------------------------------------------------- */

static void update_max(sis__front *f, sis__site *s, size_t j) {
    const sis__kernels *kn = sis__kernels_best();
    const sis__box *b = box_of(f, s, j);
    size_t channels = f->maps[s->map].channels, n = sis__box_volume(b);
    const float *from = sis__front_evaluate(f, j, s->map, b).at;
    float *top = f->store + s->spots[j].out;
    memcpy(top, from, channels * sizeof *top);
    for (size_t i = 1; i < n; i++)
        kn->max_row(top, from + i * channels, 1, channels);
}

static void update_whole(sis__front *f, sis__site *s, size_t j) {
    const sis__spot *p = &s->spots[j];
    size_t channels = f->maps[s->map].channels, n = (size_t)(p->dirty.hi[2] - p->dirty.lo[2]);
    const float *from = sis__front_evaluate(f, j, s->map, &p->dirty).at;
    SIS__EACH_ROW(&p->dirty, z, y) {
        memcpy(f->store + p->in + sis__box_at(box_of(f, s, j), z, y, p->dirty.lo[2]) * channels,
               from, n * channels * sizeof *from);
        from += n * channels;
    }
}

void sis__site_update(sis__front *f, sis__site *s, size_t j) {
    if (sis__box_empty(&s->spots[j].dirty))
        return;
    if (s->kind == SIS__SITE_MAX)
        update_max(f, s, j);
    else if (s->kind == SIS__SITE_WHOLE)
        update_whole(f, s, j);
    else
        update_linear(f, s, j);
    s->spots[j].dirty = (sis__box){{0}, {0}};
}

/* ---- The present state ---------------------------------------------------------------------- */

/* The input of a dense layer in the order of its tensor, then the layer itself. */
void sis__site_refresh(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    const sis__gemm *g = &s->step->p.gemm;
    const float *from = m->base, *bias = NULL;
    if (s->kind != SIS__SITE_DENSE)
        return;
    SIS__EACH_ROW(&m->whole, z, y)
    for (int x = 0; x < m->whole.hi[2]; x++, from += m->channels) {
        float *to = f->patches + (size_t)z * s->sight.stride[1] + (size_t)y * s->sight.stride[2] +
                    (size_t)x * s->sight.stride[3];
        for (size_t c = 0; c < m->channels; c++)
            to[c * s->sight.stride[0]] = from[c];
    }
    if (s->step->n_inputs > 2 && s->step->inputs[2] >= 0)
        bias = (const float *)f->plan->tensors[s->step->inputs[2]].data;
    for (size_t i = 0; i < s->width; i++)
        f->products[i] = bias ? g->beta * bias[i * g->c_col] : 0.0f;
    sis__kernels_best()->gemm(1, g->n, g->k, f->patches, g->k, 1, g->packed, f->products, g->n);
    for (size_t i = 0; i < s->width; i++)
        s->sums[i] = f->products[i];
}

/* sums += sign * the base inside the box */
static void add_sums(const sis__front *f, sis__site *s, const sis__box *b, double sign) {
    const sis__map *m = &f->maps[s->map];
    SIS__EACH_ROW(b, z, y)
    for (int x = b->lo[2]; x < b->hi[2]; x++) {
        const float *from = m->base + sis__box_at(&m->whole, z, y, x) * m->channels;
        for (size_t c = 0; c < m->channels; c++)
            s->sums[c] += sign * (double)from[c];
    }
}

void sis__site_reset(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    for (size_t j = 0; j < f->s->n_features; j++) {
        sis__spot *p = &s->spots[j];
        p->dirty = m->box[j];
        p->changed = 0;
        p->updates = 0;
        if (s->kind == SIS__SITE_MAX || s->kind == SIS__SITE_WHOLE)
            continue;
        memset(f->store + p->in, 0, sis__box_volume(&m->box[j]) * m->channels * sizeof *f->store);
        memset(f->store + p->out, 0, out_size(f, s, j) * sizeof *f->store);
    }
    if (s->kind == SIS__SITE_MAX)
        sis__top_reset(&s->top, m);
    if (s->kind == SIS__SITE_MEAN) {
        memset(s->sums, 0, m->channels * sizeof *s->sums);
        add_sums(f, s, &m->whole, 1.0);
    }
    sis__site_refresh(f, s);
}

void sis__site_before(sis__front *f, sis__site *s, size_t j) {
    if (s->kind == SIS__SITE_MEAN)
        add_sums(f, s, box_of(f, s, j), -1.0);
    if (s->kind == SIS__SITE_DENSE)
        for (size_t i = 0; i < s->width; i++)
            s->sums[i] += (double)f->store[s->spots[j].out + i];
}

void sis__site_after(sis__front *f, sis__site *s, size_t j) {
    if (s->kind == SIS__SITE_MEAN)
        add_sums(f, s, box_of(f, s, j), 1.0);
    if (s->kind == SIS__SITE_MAX)
        sis__top_update(&s->top, &f->maps[s->map], box_of(f, s, j));
}

/* ---- Rows of the head ----------------------------------------------------------------------- */

static size_t place_of(const sis__site *s, int z, int y, int x) {
    return (size_t)z * s->sight.stride[1] + (size_t)y * s->sight.stride[2] +
           (size_t)x * s->sight.stride[3];
}

/* A box of the map, from a part that holds it, to where the tensor has it. */
static int place_box(const sis__front *f, const sis__site *s, const sis__part *p, const float *base,
                     float *row) {
    size_t channels = f->maps[s->map].channels, step = s->sight.stride[0];
    const float *from = p->at;
    int differs = 0;
    SIS__EACH_ROW(&p->box, z, y)
    for (int x = p->box.lo[2]; x < p->box.hi[2]; x++, from += channels) {
        size_t at = place_of(s, z, y, x);
        for (size_t c = 0; c < channels; c++) {
            differs |= memcmp(&from[c], &base[at + c * step], sizeof *from) != 0;
            row[at + c * step] = from[c];
        }
    }
    return differs;
}

static void linear_row(const sis__site *s, const float *change, float *row) {
    for (size_t i = 0; i < s->width; i++) {
        double sum = s->sums[i] + (change ? (double)change[i] : 0.0);
        row[i] = (float)(s->kind == SIS__SITE_MEAN ? sum / s->divisor : sum);
    }
}

void sis__site_row(const sis__front *f, const sis__site *s, float *row) {
    const sis__map *m = &f->maps[s->map];
    row += s->at;
    if (s->kind == SIS__SITE_WHOLE) {
        place_box(f, s, &(sis__part){m->base, m->whole}, row, row);
    } else if (s->kind == SIS__SITE_MAX) {
        memcpy(row, s->top.below, s->width * sizeof *row);
    } else if (s->kind != SIS__SITE_CONV) {
        linear_row(s, NULL, row);
    }
}

int sis__site_row_without(sis__front *f, const sis__site *s, size_t j, const float *base,
                          float *row) {
    const sis__spot *p = &s->spots[j];
    const sis__box *b = box_of(f, s, j);
    row += s->at;
    base += s->at;
    if (s->kind == SIS__SITE_CONV || sis__box_empty(b))
        return 0;
    if (s->kind == SIS__SITE_WHOLE)
        return place_box(f, s, &(sis__part){f->store + p->in, *b}, base, row);
    if (s->kind == SIS__SITE_MAX) {
        memcpy(row, f->store + p->out, s->width * sizeof *row);
        sis__top_outside(&s->top, &f->maps[s->map], b, row);
        return memcmp(row, base, s->width * sizeof *row) != 0;
    }
    if (p->changed == 0)
        return 0;
    linear_row(s, f->store + p->out, row);
    return 1;
}
