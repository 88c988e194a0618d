/* SPDX-License-Identifier: MIT
 *
 * What is kept for each candidate.
 *
 *     CONV         the change that masking the candidate makes to the map inside its box, and how
 *                  that changes the convolution's output, before bias and activation
 *     DENSE, MEAN  the same for sums: see sum.c
 *     KEEP         the sums for each row of a kernel that its outputs are made of
 *     MAX, WHOLE   not changes but values: the maximum inside the box, or all of them
 *
 * To bring a change up to date, it is computed inside the dirty box and compared with the kept one;
 * the difference (often a few values: a Relu that stays shut changes nothing) is multiplied and
 * added. A change that is all zeros adds up to zeros, exactly: that is how a feature that changes
 * nothing is recognised. CONV sums in single precision, and makes its sum anew from the kept change
 * after a number of steps.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/window/window.h"

enum { UPDATES = 16 }; /* differences added before a sum in single precision is made anew */

static const float top_share = 0x1p-15f; /* error of a value that was added up, to the largest */

/* ---- Differences --------------------------------------------------------------------------- */

/* Compare the new values of n channels with base + kept change; what differs goes to f->index and
 * f->change. Returns how many differ and corrects the number of changes that are not 0. */
static size_t compare(const sis__front *f, const float *now, const float *base, float *kept,
                      size_t n, long *changed) {
    size_t found = 0;
    for (size_t c = 0; c < n; c++) {
        float d = now[c] - base[c], step = d - kept[c];
        f->index[found] = (int)c;
        f->change[found] = step;
        found += step != 0.0f;
        *changed += (d != 0.0f) - (kept[c] != 0.0f);
        kept[c] = d;
    }
    return found;
}

/* The channels of a kept change that are not 0. */
static size_t collect(const sis__front *f, const float *kept, size_t n) {
    size_t found = 0;
    for (size_t c = 0; c < n; c++) {
        f->index[found] = (int)c;
        f->change[found] = kept[c];
        found += kept[c] != 0.0f;
    }
    return found;
}

/* ---- Convolution --------------------------------------------------------------------------- */

/* Sum anew from the kept change. */
static void sum_anew(sis__front *f, sis__site *s, size_t j) {
    sis__spot *p = &s->spots[j];
    const sis__layer *l = &f->layers[s->layer];
    const sis__box *b = &s->box[j], *to = &f->maps[l->out].box[j];
    size_t channels = f->maps[s->map].channels;
    const float *kept = f->store + p->in;
    float *out = f->store + p->out;
    memset(out, 0, sis__box_volume(to) * l->w.filters * sizeof *out);
    p->updates = 0;
    if (p->changed == 0)
        return;
    SIS__EACH_ROW(b, z, y)
    for (int x = b->lo[2]; x < b->hi[2]; x++, kept += channels)
        sis__conv_add(f, l, to, (int[3]){z, y, x}, collect(f, kept, channels), out);
}

static void update_conv(sis__front *f, sis__site *s, size_t j) {
    sis__spot *p = &s->spots[j];
    const sis__map *m = &f->maps[s->map];
    const sis__layer *l = &f->layers[s->layer];
    const float *from = sis__front_evaluate(f, j, s->map, &p->dirty).at;
    int anew = p->updates++ >= UPDATES;
    SIS__EACH_ROW(&p->dirty, z, y)
    for (int x = p->dirty.lo[2]; x < p->dirty.hi[2]; x++, from += m->channels) {
        const float *base = m->base + sis__box_at(&m->whole, z, y, x) * m->channels;
        float *kept = f->store + p->in + sis__box_at(&s->box[j], z, y, x) * m->channels;
        size_t n = compare(f, from, base, kept, m->channels, &p->changed);
        if (n && !anew)
            sis__conv_add(f, l, &f->maps[l->out].box[j], (int[3]){z, y, x}, n, f->store + p->out);
    }
    if (anew || p->changed == 0)
        sum_anew(f, s, j);
}

/* ---- Values -------------------------------------------------------------------------------- */

/* Of a convolution whose changes are kept, without a copy. */
static void kept_max(const sis__front *f, const sis__layer *conv, size_t j, float *top) {
    const sis__kernels *kn = sis__kernels_best();
    const sis__map *m = &f->maps[conv->out];
    const sis__box *b = &m->box[j];
    const sis__part base = {m->base, m->whole}, kept = sis__site_kept(f, conv, j);
    SIS__EACH_ROW(b, z, y)
    kn->add_max(sis__part_at(&base, m->channels, z, y, b->lo[2]),
                sis__part_at(&kept, m->channels, z, y, b->lo[2]), (size_t)(b->hi[2] - b->lo[2]),
                top, m->channels);
}

static void window_max(sis__front *f, const sis__site *s, size_t j, float *top) {
    const sis__kernels *kn = sis__kernels_best();
    const sis__box *b = &s->box[j];
    size_t channels = f->maps[s->map].channels, n = sis__box_volume(b);
    for (size_t c = 0; c < channels; c++)
        top[c] = -INFINITY;
    if (!f->exact && !f->anew && s->map > 0 && f->layers[s->map - 1].site >= 0) {
        kept_max(f, &f->layers[s->map - 1], j, top);
        return;
    }
    const float *from = sis__front_evaluate(f, j, s->map, b).at;
    for (size_t i = 0; i < n; i++)
        kn->max_row(top, from + i * channels, 1, channels);
}

static void update_whole(sis__front *f, sis__site *s, size_t j) {
    const sis__spot *p = &s->spots[j];
    size_t channels = f->maps[s->map].channels, n = (size_t)(p->dirty.hi[2] - p->dirty.lo[2]);
    const float *from = sis__front_evaluate(f, j, s->map, &p->dirty).at;
    SIS__EACH_ROW(&p->dirty, z, y) {
        memcpy(f->store + p->in + sis__box_at(&s->box[j], z, y, p->dirty.lo[2]) * channels, from,
               n * channels * sizeof *from);
        from += n * channels;
    }
}

static void update_kept(sis__front *f, sis__site *s, size_t j) {
    const sis__spot *p = &s->spots[j];
    const sis__layer *l = &f->layers[s->layer];
    sis__box r = f->maps[s->map].box[j], to = r;
    r.lo[2] = p->dirty.lo[2];
    r.hi[2] = p->dirty.hi[2];
    sis__box see = sis__layer_field(l, &f->maps[l->in[0]], &r);
    for (size_t d = 0; d < 2; d++) {
        see.lo[d] = p->dirty.lo[d];
        see.hi[d] = p->dirty.hi[d];
    }
    sis__part in = sis__front_evaluate(f, j, l->in[0], &see);
    sis__conv_queue(f, l, &in, &p->dirty, &r, &(sis__part){f->store + p->in, to});
}

void sis__site_update(sis__front *f, sis__site *s, size_t j) {
    if (sis__box_empty(&s->spots[j].dirty))
        return;
    switch (s->kind) {
    case SIS__SITE_CONV:
        update_conv(f, s, j);
        break;
    case SIS__SITE_DENSE:
    case SIS__SITE_MEAN:
        sis__sum_update(f, s, j);
        break;
    case SIS__SITE_MAX:
        window_max(f, s, j, f->store + s->spots[j].out);
        break;
    case SIS__SITE_KEEP:
        update_kept(f, s, j);
        break;
    default:
        update_whole(f, s, j);
    }
    s->spots[j].dirty = (sis__box){{0}, {0}};
}

/* ---- The present state ---------------------------------------------------------------------- */

/* How far maxima of values that were added up may be from those of a full pass, generously. */
static void refresh_slack(const sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    size_t n = sis__box_volume(&m->whole) * m->channels;
    float most = 1;
    for (size_t i = 0; i < n; i++) {
        float size = fabsf(m->base[i]);
        most = size > most ? size : most;
    }
    s->slack_top = f->exact ? -1 : top_share * most;
}

static int sums(const sis__site *s) {
    return s->kind == SIS__SITE_DENSE || s->kind == SIS__SITE_MEAN;
}

void sis__site_refresh(sis__front *f, sis__site *s) {
    if (s->kind == SIS__SITE_MAX)
        refresh_slack(f, s);
    if (sums(s))
        sis__sum_refresh(f, s);
}

void sis__site_reset(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    for (size_t j = 0; j < f->s->n_features && !s->fixed; j++) {
        sis__spot *p = &s->spots[j];
        p->dirty = s->box[j];
        p->changed = 0;
        p->updates = UPDATES;
        if (s->kind == SIS__SITE_CONV)
            memset(f->store + p->in, 0,
                   sis__box_volume(&m->box[j]) * m->channels * sizeof *f->store);
    }
    if (s->kind == SIS__SITE_MAX)
        sis__top_reset(&s->top, m);
    if (sums(s))
        sis__sum_reset(f, s);
    else
        sis__site_refresh(f, s);
}

void sis__site_before(sis__front *f, sis__site *s, size_t j) {
    if (sums(s))
        sis__sum_before(f, s, j);
}

void sis__site_after(sis__front *f, sis__site *s, size_t j) {
    if (s->kind == SIS__SITE_MAX)
        sis__top_update(&s->top, &f->maps[s->map], &s->box[j]);
    if (sums(s))
        sis__sum_after(f, s, j);
}

/* ---- Rows of the head ----------------------------------------------------------------------- */

/* A box of the map, from a part that holds it, to where the tensor has it. Tells whether that
 * changed anything. */
static int place_box(const sis__front *f, const sis__site *s, const sis__part *p, float *row) {
    size_t channels = f->maps[s->map].channels, step = s->sight.stride[0];
    const float *from = p->at;
    int differs = 0;
    SIS__EACH_ROW(&p->box, z, y)
    for (int x = p->box.lo[2]; x < p->box.hi[2]; x++, from += channels) {
        float *to = row + sis__site_place(s, z, y, x);
        for (size_t c = 0; c < channels; c++) {
            differs |= memcmp(&from[c], &to[c * step], sizeof *from) != 0;
            to[c * step] = from[c];
        }
    }
    return differs;
}

void sis__site_row(sis__front *f, sis__site *s, float *row) {
    const sis__map *m = &f->maps[s->map];
    row += s->at;
    if (s->kind == SIS__SITE_WHOLE)
        place_box(f, s, &(sis__part){m->base, m->whole}, row);
    else if (s->kind == SIS__SITE_MAX && s->relu)
        sis__kernels_best()->relu(s->top.below, row, s->width);
    else if (s->kind == SIS__SITE_MAX)
        memcpy(row, s->top.below, s->width * sizeof *row);
    else if (sums(s))
        sis__sum_row(f, s, SIZE_MAX, row);
}

/* Adding up changes: does nothing of what the feature changes reach a convolution? */
static int provably_still(const sis__front *f, size_t j) {
    if (f->exact)
        return 0;
    for (size_t i = 0; i < f->n_sites && f->sites[i].kind == SIS__SITE_CONV; i++)
        if (f->sites[i].spots[j].changed)
            return 0;
    return 1;
}

/* Maxima of everything from those inside the box. 0: they are the base's, whatever the error. */
static int join_sides(sis__front *f, const sis__site *s, size_t j, const sis__tops *inside,
                      float *row) {
    sis__tops t = *inside;
    sis__top_outside(&s->top, &f->maps[s->map], &s->box[j], f->outside, t.outside);
    return sis__kernels_best()->join_tops(&t, row);
}

int sis__site_row_without(sis__front *f, sis__site *s, size_t j, const float *base, float *row) {
    const sis__spot *p = &s->spots[j];
    const sis__box *b = &s->box[j];
    if (s->kind == SIS__SITE_CONV || s->kind == SIS__SITE_KEEP)
        return 0;
    row += s->at;
    base += s->at;
    if (s->kind == SIS__SITE_MAX && !sis__box_empty(b)) {
        const sis__tops t = {.inside = f->store + p->out,
                             .base = base,
                             .n = s->width,
                             .relu = s->relu,
                             .slack = s->slack_top};
        return join_sides(f, s, j, &t, row) && !provably_still(f, j);
    }
    if (!sis__box_empty(b) && s->kind != SIS__SITE_WHOLE && p->changed) {
        sis__sum_row(f, s, j, row);
        return 1;
    }
    memcpy(row, base, s->width * sizeof *row);
    if (sis__box_empty(b))
        return 0;
    int differs =
        s->kind == SIS__SITE_WHOLE && place_box(f, s, &(sis__part){f->store + p->in, *b}, row);
    return differs || !(f->exact || provably_still(f, j));
}

int sis__site_row_anew(sis__front *f, sis__site *s, size_t j, const float *base, float *row) {
    if (s->kind == SIS__SITE_CONV)
        return 1;
    if (s->kind != SIS__SITE_MAX && s->kind != SIS__SITE_WHOLE)
        return 0;
    row += s->at;
    base += s->at;
    memcpy(row, base, s->width * sizeof *row);
    if (sis__box_empty(&s->box[j]))
        return 1;
    f->anew = 1;
    if (s->kind == SIS__SITE_MAX) {
        const sis__tops t = {
            .inside = row, .base = base, .n = s->width, .relu = s->relu, .slack = -1};
        window_max(f, s, j, row);
        join_sides(f, s, j, &t, row);
    } else {
        sis__part whole = sis__front_evaluate(f, j, s->map, &s->box[j]);
        place_box(f, s, &whole, row);
    }
    f->anew = 0;
    return 1;
}
