/* SPDX-License-Identifier: MIT
 *
 * What is kept for each candidate.
 *
 * Three kinds of site are linear in their map, and keep both the change that masking the candidate
 * makes to the map inside its box and what that change adds up to behind the site:
 *
 *     CONV    change of the map -> change of the convolution's output, before bias and activation
 *     DENSE   change of the map -> change of the dense layer's output
 *     MEAN    change of the map -> change of the sums over positions
 *
 * To bring one up to date, the change inside the dirty box is computed, compared with the kept one,
 * and the difference (often a few values: a Relu that stays shut changes nothing) is multiplied and
 * added. A change that is all zeros adds up to zeros, exactly: that is how a feature that changes
 * nothing is recognised.
 *
 * DENSE and MEAN sum in double, as a full pass does, and so does the base. Both sums are off by far
 * less than a float can tell, so that rounding them gives the same float, unless they lie too close
 * to the middle between two floats. That is noticed (`slack`), and then the sum is made in the very
 * order of a full pass. CONV sums in single precision, and makes its sum anew from the kept change
 * after a number of steps.
 *
 * The other kinds compute values, not changes: WHOLE keeps those inside the box, MAX their maximum,
 * KEEP the sums for each row of a kernel that they are made of.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/walk_window.h"

enum { UPDATES = 16 }; /* differences added before a sum in single precision is made anew */

static const float top_share = 0x1p-15f; /* error of a value that was added up, to the largest */

/* Sums in double of the same terms in another order differ by less than this times the length of
 * weights times that of values: fifty standard deviations of what rounding does, eight times the worst
 * that was ever seen. */
static const double slack_factor = 16 * 0x1p-53;

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

/* ---- Dense layers and means ------------------------------------------------------------------ */

/* Add `count` changes of values of the map to sums. */
static void add_changes(const sis__front *f, const sis__site *s, size_t count, double *sums) {
    size_t channels = f->maps[s->map].channels;
    sis__rows r = {.w = s->weights,
                   .ldw = s->padded,
                   .index = f->index,
                   .wide_d = f->wide_change,
                   .count = count};
    if (s->kind == SIS__SITE_DENSE)
        sis__kernels_best()->add_rows_wide(&r, sums, s->padded);
    else
        for (size_t t = 0; t < count; t++)
            sums[(size_t)f->index[t] % channels] += f->wide_change[t];
}

static void update_sum(sis__front *f, sis__site *s, size_t j) {
    const sis__kernels *kn = sis__kernels_best();
    sis__spot *p = &s->spots[j];
    const sis__map *m = &f->maps[s->map];
    size_t n = (size_t)(p->dirty.hi[2] - p->dirty.lo[2]) * m->channels;
    const float *from = sis__front_evaluate(f, j, s->map, &p->dirty).at;
    SIS__EACH_ROW(&p->dirty, z, y) {
        size_t at = sis__box_at(&m->whole, z, y, p->dirty.lo[2]) * m->channels;
        size_t in = sis__box_at(&s->box[j], z, y, p->dirty.lo[2]) * m->channels;
        sis__compared c = {.now = from,
                           .base = m->base + at,
                           .kept = f->wide + p->in + in,
                           .n = n,
                           .first = (int)at,
                           .index = f->index,
                           .change = f->wide_change};
        add_changes(f, s, kn->changes(&c), f->wide + p->out);
        p->changed += c.more_nonzero;
        from += n;
    }
    if (p->changed == 0)
        memset(f->wide + p->out, 0, s->padded * sizeof *f->wide);
}

/* ---- Values -------------------------------------------------------------------------------- */

/* Of a convolution whose changes are kept, without a copy. */
static void update_kept_max(const sis__front *f, const sis__layer *conv, size_t j, float *top) {
    const sis__kernels *kn = sis__kernels_best();
    const sis__map *m = &f->maps[conv->out];
    const sis__box *b = &m->box[j];
    const float *kept = f->store + f->sites[conv->site].spots[j].out;
    size_t n = (size_t)(b->hi[2] - b->lo[2]);
    SIS__EACH_ROW(b, z, y) {
        const float *base = m->base + sis__box_at(&m->whole, z, y, b->lo[2]) * m->channels;
        kn->add_max(base, kept, n, top, m->channels);
        kept += n * m->channels;
    }
}

static void update_max(sis__front *f, sis__site *s, size_t j) {
    const sis__kernels *kn = sis__kernels_best();
    const sis__box *b = &s->box[j];
    size_t channels = f->maps[s->map].channels, n = sis__box_volume(b);
    float *top = f->store + s->spots[j].out;
    for (size_t c = 0; c < channels; c++)
        top[c] = -INFINITY;
    if (!f->exact && s->map > 0 && f->layers[s->map - 1].site >= 0) {
        update_kept_max(f, &f->layers[s->map - 1], j, top);
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
        update_sum(f, s, j);
        break;
    case SIS__SITE_MAX:
        update_max(f, s, j);
        break;
    case SIS__SITE_KEEP:
        update_kept(f, s, j);
        break;
    default:
        update_whole(f, s, j);
    }
    s->spots[j].dirty = (sis__box){{0}, {0}};
}

/* ---- Sums as a full pass makes them ----------------------------------------------------------- */

static size_t place_of(const sis__site *s, int z, int y, int x) {
    return (size_t)z * s->sight.stride[1] + (size_t)y * s->sight.stride[2] +
           (size_t)x * s->sight.stride[3];
}

/* The base as the tensor of a cut has it: kept in site->flat from one mask to the next. */
static void flatten(const sis__front *f, sis__site *s, const sis__box *b) {
    const sis__map *m = &f->maps[s->map];
    SIS__EACH_ROW(b, z, y)
    for (int x = b->lo[2]; x < b->hi[2]; x++) {
        const float *from = m->base + sis__box_at(&m->whole, z, y, x) * m->channels;
        for (size_t c = 0; c < m->channels; c++)
            s->flat[place_of(s, z, y, x) + c * s->sight.stride[0]] = from[c];
    }
}

/* The same with the feature masked too, inside its box. */
static void flatten_without(const sis__front *f, sis__site *s, size_t j) {
    const sis__map *m = &f->maps[s->map];
    const sis__box *b = &s->box[j];
    const double *kept = f->wide + s->spots[j].in;
    SIS__EACH_ROW(b, z, y)
    for (int x = b->lo[2]; x < b->hi[2]; x++)
        for (size_t c = 0; c < m->channels; c++) {
            float *to = &s->flat[place_of(s, z, y, x) + c * s->sight.stride[0]];
            *to = (float)((double)*to + *kept++); /* exact: the difference of two floats */
        }
}

static double first_term(const sis__front *f, const sis__site *s, size_t i) {
    const sis__gemm *g = &s->step->p.gemm;
    int bias = s->step->n_inputs > 2 ? s->step->inputs[2] : -1;
    if (bias < 0)
        return 0;
    return (double)(g->beta * ((const float *)f->plan->tensors[bias].data)[i * g->c_col]);
}

/* Products of n values and weights, added up from the first to the last. */
static double sum_piece(const float *x, const float *w, size_t step, size_t n) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += (double)x[k] * (double)w[k * step];
    return sum;
}

/* Output i of a dense layer of what is in site->flat, as the kernel sums it. */
static float dense_in_order(const sis__front *f, const sis__site *s, size_t i) {
    const sis__gemm *g = &s->step->p.gemm;
    size_t nr = sis__kernels_best()->nr, k = 0, step = nr;
    const float *w = g->packed + i / nr * g->k * nr + i % nr;
    double sum = first_term(f, s, i), piece[4];
    if (g->trans_b && g->alpha == 1.0f) { /* the same weights side by side */
        w = (const float *)f->plan->tensors[s->step->inputs[1]].data + i * g->k;
        step = 1;
    }
    for (; k + 4 * SIS__PIECE <= g->k; k += 4 * SIS__PIECE) {
        memset(piece, 0, sizeof piece);
        for (size_t p = k; p < k + SIS__PIECE; p++)
            for (size_t q = 0; q < 4; q++) /* four sums at a time hide each other's latency */
                piece[q] +=
                    (double)s->flat[p + q * SIS__PIECE] * (double)w[(p + q * SIS__PIECE) * step];
        for (size_t q = 0; q < 4; q++)
            sum += piece[q];
    }
    for (; k < g->k; k += SIS__PIECE)
        sum += sum_piece(s->flat + k, w + k * step, step,
                         g->k - k < SIS__PIECE ? g->k - k : SIS__PIECE);
    return (float)sum;
}

/* The mean of channel i. */
static float mean_in_order(const sis__front *f, const sis__site *s, size_t i) {
    const sis__map *m = &f->maps[s->map];
    double sum = 0;
    SIS__EACH_ROW(&m->whole, z, y)
    for (int x = 0; x < m->whole.hi[2]; x++)
        sum += (double)s->flat[place_of(s, z, y, x) + i * s->sight.stride[0]];
    return (float)(sum / s->divisor);
}

/* Decide in the order of a full pass those sums that are too close to call, with feature j masked
 * too unless j is SIZE_MAX. */
static void settle(sis__front *f, sis__site *s, size_t j, float *row) {
    const double *change = j == SIZE_MAX ? NULL : f->wide + s->spots[j].out;
    if (change)
        flatten_without(f, s, j);
    for (size_t i = 0; i < s->width; i++) {
        double v = s->sums[i] + (change ? change[i] : 0.0), e = s->slack[i];
        if ((float)((v - e) / s->divisor) != (float)((v + e) / s->divisor))
            row[i] = s->kind == SIS__SITE_DENSE ? dense_in_order(f, s, i) : mean_in_order(f, s, i);
    }
    if (change)
        flatten(f, s, &s->box[j]);
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

void sis__site_refresh(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    size_t n = sis__box_volume(&m->whole) * m->channels, found = 0;
    double length = 0;
    if (s->kind == SIS__SITE_MAX)
        refresh_slack(f, s);
    if (s->kind != SIS__SITE_DENSE && s->kind != SIS__SITE_MEAN)
        return;
    for (size_t i = 0; i < s->padded; i++) {
        s->sums[i] = s->kind == SIS__SITE_DENSE && i < s->width ? first_term(f, s, i) : 0.0;
        s->slack[i] = fabs(s->sums[i]);
    }
    for (size_t i = 0; i < n; i++) {
        double v = (double)m->base[i];
        f->index[found] = (int)i;
        f->wide_change[found] = v;
        found += v != 0;
        length += v * v;
        if (s->kind == SIS__SITE_MEAN)
            s->slack[i % m->channels] += fabs(v);
        if (found == m->channels || i + 1 == n) {
            add_changes(f, s, found, s->sums);
            found = 0;
        }
    }
    for (size_t i = 0; i < s->width; i++) {
        if (s->kind == SIS__SITE_DENSE)
            s->slack[i] += s->length[i] * sqrt(length);
        s->slack[i] *= slack_factor;
    }
}

void sis__site_reset(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    for (size_t j = 0; j < f->s->n_features; j++) {
        sis__spot *p = &s->spots[j];
        size_t n = sis__box_volume(&m->box[j]) * m->channels;
        p->dirty = s->box[j];
        p->changed = 0;
        p->updates = UPDATES;
        if (s->kind == SIS__SITE_CONV)
            memset(f->store + p->in, 0, n * sizeof *f->store);
        if (s->kind == SIS__SITE_DENSE || s->kind == SIS__SITE_MEAN) {
            memset(f->wide + p->in, 0, n * sizeof *f->wide);
            memset(f->wide + p->out, 0, s->padded * sizeof *f->wide);
        }
    }
    if (s->kind == SIS__SITE_MAX)
        sis__top_reset(&s->top, m);
    if (s->flat)
        flatten(f, s, &m->whole);
    sis__site_refresh(f, s);
}

/* sums += sign * what the base inside the box adds up to */
static void add_base(const sis__front *f, sis__site *s, const sis__box *b, double sign) {
    const sis__map *m = &f->maps[s->map];
    SIS__EACH_ROW(b, z, y)
    for (int x = b->lo[2]; x < b->hi[2]; x++) {
        size_t at = sis__box_at(&m->whole, z, y, x) * m->channels, found = 0;
        for (size_t c = 0; c < m->channels; c++) {
            f->index[found] = (int)(at + c);
            f->wide_change[found] = sign * (double)m->base[at + c];
            found += m->base[at + c] != 0.0f;
        }
        add_changes(f, s, found, s->sums);
    }
}

/* In an exact walk the change that is kept is that of the base; else it is rounded differently, and
 * adding it up would drift. */
void sis__site_before(sis__front *f, sis__site *s, size_t j) {
    const double *change = f->wide + s->spots[j].out;
    if (s->kind != SIS__SITE_DENSE && s->kind != SIS__SITE_MEAN)
        return;
    for (size_t i = 0; f->exact && i < s->width; i++)
        s->sums[i] += change[i];
    if (!f->exact)
        add_base(f, s, &s->box[j], -1.0);
}

void sis__site_after(sis__front *f, sis__site *s, size_t j) {
    int sums = s->kind == SIS__SITE_DENSE || s->kind == SIS__SITE_MEAN;
    if (s->kind == SIS__SITE_MAX)
        sis__top_update(&s->top, &f->maps[s->map], &s->box[j]);
    if (s->flat)
        flatten(f, s, &s->box[j]);
    if (sums && !f->exact)
        add_base(f, s, &s->box[j], 1.0);
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
        float *to = row + place_of(s, z, y, x);
        for (size_t c = 0; c < channels; c++) {
            differs |= memcmp(&from[c], &to[c * step], sizeof *from) != 0;
            to[c * step] = from[c];
        }
    }
    return differs;
}

/* The sums of a dense layer or mean, with feature j masked too unless j is SIZE_MAX. */
static void sums_row(sis__front *f, sis__site *s, size_t j, float *row) {
    const sis__kernels *kn = sis__kernels_best();
    const double *change = j == SIZE_MAX ? NULL : f->wide + s->spots[j].out;
    int close = 0, relu = s->relu && !s->plus;
    if (s->kind == SIS__SITE_DENSE)
        close = kn->round_sums(&(sis__sums){s->sums, change, s->slack, s->width, relu}, row);
    for (size_t i = 0; s->kind == SIS__SITE_MEAN && i < s->width; i++) {
        double v = s->sums[i] + (change ? change[i] : 0.0), e = s->slack[i];
        row[i] = (float)(v / s->divisor);
        close |= (float)((v - e) / s->divisor) != (float)((v + e) / s->divisor);
    }
    if (close && f->exact)
        settle(f, s, j, row);
    for (size_t i = 0; s->plus && i < s->width; i++)
        row[i] += s->plus[i];
    if (s->relu && (s->plus || close))
        kn->relu(row, row, s->width);
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
    else if (s->kind == SIS__SITE_DENSE || s->kind == SIS__SITE_MEAN)
        sums_row(f, s, SIZE_MAX, row);
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

int sis__site_row_without(sis__front *f, sis__site *s, size_t j, const float *base, float *row) {
    const sis__spot *p = &s->spots[j];
    const sis__box *b = &s->box[j];
    if (s->kind == SIS__SITE_CONV || s->kind == SIS__SITE_KEEP)
        return 0;
    row += s->at;
    base += s->at;
    if (s->kind == SIS__SITE_MAX && !sis__box_empty(b)) {
        sis__tops t = {.inside = f->store + p->out,
                       .base = base,
                       .n = s->width,
                       .relu = s->relu,
                       .slack = s->slack_top};
        sis__top_outside(&s->top, &f->maps[s->map], b, f->outside, t.outside);
        return sis__kernels_best()->join_tops(&t, row) && !provably_still(f, j);
    }
    if (!sis__box_empty(b) && s->kind != SIS__SITE_WHOLE && p->changed) {
        sums_row(f, s, j, row);
        return 1;
    }
    memcpy(row, base, s->width * sizeof *row);
    if (sis__box_empty(b))
        return 0;
    int differs =
        s->kind == SIS__SITE_WHOLE && place_box(f, s, &(sis__part){f->store + p->in, *b}, row);
    return differs || !(f->exact || provably_still(f, j));
}
