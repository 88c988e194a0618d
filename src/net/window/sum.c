/* SPDX-License-Identifier: MIT
 *
 * Sites that sum: dense layers and means at a cut. Both are linear in their map. They keep the
 * change that masking a candidate makes to the map inside its box, and what that change adds up to
 * behind the site.
 *
 * They sum in double, as a full pass does, and so does the base. Both sums are off by far less than
 * a float can tell, so that rounding them gives the same float, unless they lie too close to the
 * middle between two floats. That is noticed (`slack`), and then the sum is made in the very order
 * of a full pass.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/window/window.h"

/* Sums in double of the same terms in another order differ by less than this times the length of
 * weights times that of values: fifty standard deviations of what rounding does. */
static const double slack_factor = 16 * 0x1p-53;

/* ---- Changes ------------------------------------------------------------------------------- */

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

void sis__sum_update(sis__front *f, sis__site *s, size_t j) {
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

/* ---- Sums as a full pass makes them ---------------------------------------------------------- */

/* The base as the tensor of a cut has it: kept in site->flat from one mask to the next. */
static void flatten(const sis__front *f, sis__site *s, const sis__box *b) {
    const sis__map *m = &f->maps[s->map];
    SIS__EACH_ROW(b, z, y)
    for (int x = b->lo[2]; x < b->hi[2]; x++) {
        const float *from = m->base + sis__box_at(&m->whole, z, y, x) * m->channels;
        for (size_t c = 0; c < m->channels; c++)
            s->flat[sis__site_place(s, z, y, x) + c * s->sight.stride[0]] = from[c];
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
            float *to = &s->flat[sis__site_place(s, z, y, x) + c * s->sight.stride[0]];
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
        sum += (double)s->flat[sis__site_place(s, z, y, x) + i * s->sight.stride[0]];
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

void sis__sum_refresh(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    size_t n = sis__box_volume(&m->whole) * m->channels, found = 0;
    double length = 0;
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

void sis__sum_reset(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    for (size_t j = 0; j < f->s->n_features; j++) {
        const sis__spot *p = &s->spots[j];
        memset(f->wide + p->in, 0, sis__box_volume(&m->box[j]) * m->channels * sizeof *f->wide);
        memset(f->wide + p->out, 0, s->padded * sizeof *f->wide);
    }
    if (s->flat)
        flatten(f, s, &m->whole);
    sis__sum_refresh(f, s);
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
void sis__sum_before(sis__front *f, sis__site *s, size_t j) {
    const double *change = f->wide + s->spots[j].out;
    for (size_t i = 0; f->exact && i < s->width; i++)
        s->sums[i] += change[i];
    if (!f->exact)
        add_base(f, s, &s->box[j], -1.0);
}

void sis__sum_after(sis__front *f, sis__site *s, size_t j) {
    if (s->flat)
        flatten(f, s, &s->box[j]);
    if (!f->exact)
        add_base(f, s, &s->box[j], 1.0);
}

/* ---- Rows of the head ----------------------------------------------------------------------- */

void sis__sum_row(sis__front *f, sis__site *s, size_t j, float *row) {
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
