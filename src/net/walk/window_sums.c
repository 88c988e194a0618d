/* SPDX-License-Identifier: MIT
 *
 * Cuts that are sums over a map: dense layers and means, both linear. For each candidate, the
 * change of the map inside its box and the resulting change of the sums are kept.
 *
 * Sums are in double, as in a full pass. The errors of both are far below the precision of a float,
 * so rounding gives the same float unless the sum is too close to the midpoint of two floats. This
 * is detected (`slack`), and then the sum is computed in the order of a full pass. Channels that
 * have always been 0 have a mean of 0 and no slack.
 *
 * Slack: with u = 2^-53, each rounding of a sum has an error of at most u times its size, which for
 * weights w and values v is at most |w| |v|, their lengths (Cauchy-Schwarz). n roundings exceed 5
 * sqrt(n) u |w| |v| once in 10^16 times if errors are independent and uniform (Hoeffding; see
 * Higham and Mary, 2019). So roundings are counted, each times the squared length of its values,
 * without |w|:
 *
 *     a full pass      terms |v|^2         terms: additions that a term goes through, see terms_of
 *     the base         terms |v|^2         when it is summed, then for each mask those of the
 *                                          candidate's change, and |v|^2 for adding it
 *     a change         (n + 2) |c|^2       for each row of n new differences c: they are added
 *                                          from 0; each is rounded, and so is each product
 *                      |kept|^2            and added to what was there
 *     base + change    |v + kept|^2        the sum, and the same again for v - slack and v + slack
 *
 * If errors are not independent, as in sums of equal terms, tests measure them.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/walk/window.h"

static const double slack_unit = 5 * 0x1p-53;

/* ---- Memory --------------------------------------------------------------------------------- */

/* Rows of the dense layer's weights in the order of the map, and the length of each column. */
static int dense_weights(sis__prefix *f, sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    sis__cut_linear *l = &s->linear;
    const sis__gemm *g = &l->step->p.gemm;
    size_t nr = sis__kernels_best()->nr, panels = (g->n + nr - 1) / nr;
    float *to = l->weights =
        (float *)sis__arena_own(&f->memory, sis__alloc(g->k, panels * nr * sizeof *l->weights));
    if (!to)
        return SIS_E_NOMEM;
    SIS__EACH_ROW(&m->whole, z, y)
    for (int x = 0; x < m->whole.hi[2]; x++)
        for (size_t c = 0; c < m->channels; c++) {
            size_t k = sis__axes_at(&s->cut.axes, z, y, x) + c * s->cut.axes.stride[0];
            for (size_t i = 0; i < panels; i++, to += nr)
                memcpy(to, g->packed + (i * g->k + k) * nr, nr * sizeof *to);
        }
    for (size_t i = 0; i < g->k * l->padded; i++)
        l->length[i % l->padded] += (double)l->weights[i] * (double)l->weights[i];
    return SIS_OK;
}

/* Are the values of a channel contiguous? */
static int is_run(const sis__map *m, const sis__axis_map *v) {
    size_t last = 0;
    for (size_t a = 0; a < 3; a++)
        last += (size_t)(m->whole.hi[a] - 1) * v->stride[a + 1];
    return last + 1 == sis__positions(m);
}

/* Maximal number of additions that a term of a full pass goes through: in a piece of a dense layer
 * and over all pieces; in one of the 16 lanes of the kernels, which are added in pairs; or all. */
static double terms_of(const sis__prefix *f, const sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    size_t n = sis__positions(m);
    if (s->kind == SIS__KEEP_DENSE)
        return SIS__PIECE + (double)(n * m->channels / SIS__PIECE + 1);
    return is_run(m, &s->cut.axes) ? (double)(n / 16 + 5) : (double)n;
}

static int sums_init(sis__prefix *f, sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    sis__cut_linear *l = &s->linear;
    size_t nr = sis__kernels_best()->nr, values = sis__positions(m) * m->channels;
    int error = SIS_OK, dense = s->kind == SIS__KEEP_DENSE;
    l->padded = dense ? (l->step->p.gemm.n + nr - 1) / nr * nr : m->channels;
    l->sums = SIS_ARENA(&f->memory, double, l->padded);
    l->slack = SIS_ARENA(&f->memory, double, l->padded);
    l->length = SIS_ARENA(&f->memory, double, l->padded);
    l->flat = SIS_ARENA(&f->memory, float, values);
    l->live = SIS_ARENA(&f->memory, unsigned char, l->padded);
    if (sis__arena_error(&f->memory))
        return SIS_E_NOMEM;
    l->terms = terms_of(f, s);
    if (dense)
        error = dense_weights(f, s);
    for (size_t i = 0; i < l->padded; i++)
        l->length[i] = sqrt(dense ? l->length[i] : (double)sis__positions(m));
    return error;
}

static double first_term(const sis__prefix *f, const sis__keep_point *s, size_t i) {
    const sis__gemm *g = &s->linear.step->p.gemm;
    int bias = s->linear.step->n_inputs > 2 ? s->linear.step->inputs[2] : -1;
    if (bias < 0)
        return 0;
    return (double)(g->beta * ((const float *)f->plan->tensors[bias].data)[i * g->c_col]);
}

/* ---- Slack ---------------------------------------------------------------------------------- */

/* The length of a candidate's change. Its squares were added and removed over time, so their error
 * is far below this fraction of the total. */
static double length_of(const sis__kept *p) {
    return sqrt(p->squares < 0 ? 0 : p->squares) + 0x1p-12 * p->path;
}

/* The error bound of sums for a change of that length with so many roundings of its own. */
static double error_with(const sis__cut_linear *l, double length, double error) {
    double all = sqrt(l->squares) + length;
    return sqrt(l->error + error + (l->terms + 4) * all * all);
}

/* Set slack for the current state, with some reserve so that this is rare. */
static void allow(const sis__prefix *f, sis__keep_point *s, int afresh) {
    sis__cut_linear *l = &s->linear;
    double error = error_with(l, l->worst_length, l->worst_error);
    int more = afresh || !(error <= l->allowed);
    if (!more && !l->more_live)
        return;
    l->more_live = 0;
    l->allowed = more ? 1.0625 * error : l->allowed;
    for (size_t i = 0; i < s->cut.width; i++) {
        double first = s->kind == SIS__KEEP_DENSE ? fabs(first_term(f, s, i)) : 0;
        int idle = s->kind == SIS__KEEP_MEAN && !l->live[i];
        l->slack[i] =
            idle ? 0 : slack_unit * (sqrt(2 * l->terms + 64) * first + l->length[i] * l->allowed);
    }
}

/* Slack covers the worst of all candidates. */
static void see_change(sis__cut_linear *l, const sis__kept *p) {
    double length = length_of(p);
    l->worst_length = length <= l->worst_length ? l->worst_length : length;
    l->worst_error = p->error <= l->worst_error ? l->worst_error : p->error;
}

/* ---- Changes ------------------------------------------------------------------------------- */

/* Add `count` changes of values of the map to sums. */
static void add_changes(const sis__prefix *f, sis__keep_point *s, size_t count, double *sums) {
    size_t channels = f->maps[s->map].channels;
    sis__rows r = {.w = s->linear.weights,
                   .ldw = s->linear.padded,
                   .index = f->scratch.index,
                   .d = f->scratch.change,
                   .count = count};
    if (s->kind == SIS__KEEP_DENSE)
        sis__kernels_best()->add_rows(&r, sums, s->linear.padded);
    size_t start = count ? (size_t)f->scratch.index[0] / channels * channels : 0;
    for (size_t t = 0; s->kind == SIS__KEEP_MEAN && t < count; t++) {
        size_t i = (size_t)f->scratch.index[t]; /* in ascending order */
        while (i - start >= channels)
            start += channels;
        sums[i - start] += f->scratch.change[t];
        s->linear.more_live |= !s->linear.live[i - start];
        s->linear.live[i - start] = 1;
    }
}

static void sums_update(sis__prefix *f, sis__keep_point *s, size_t j) {
    const sis__kernels *kn = sis__kernels_best();
    sis__kept *p = &s->kept[j];
    const sis__map *m = &f->maps[s->map];
    size_t n = (size_t)(p->dirty.hi[2] - p->dirty.lo[2]) * m->channels;
    const float *from = sis__prefix_evaluate(f, j, s->map, &p->dirty).at;
    double squares = 0, sums = 0; /* squares of changes; additions to `out` */
    SIS__EACH_ROW(&p->dirty, z, y) {
        size_t at = sis__box_at(&m->whole, z, y, p->dirty.lo[2]) * m->channels;
        size_t in = sis__box_at(&s->box[j], z, y, p->dirty.lo[2]) * m->channels;
        sis__compared c = {.now = from,
                           .base = m->base + at,
                           .kept = f->store.wide + p->in + in,
                           .n = n,
                           .first = (int)at,
                           .index = f->scratch.index,
                           .change = f->scratch.change};
        size_t found = kn->changes(&c);
        double row = 0, grows = 0;
        int inexact = 0;
        add_changes(f, s, found, f->store.wide + p->out);
        f->work += 4 * (double)found * (s->kind == SIS__KEEP_DENSE ? (double)s->linear.padded : 1);
        for (size_t t = 0; t < found; t++) {
            size_t i = (size_t)f->scratch.index[t] - at;
            double step = f->scratch.change[t], kept = c.kept[i];
            row += step * step;
            grows += step * (2 * kept - step);
            inexact |= (float)((double)c.base[i] + kept) != from[i];
        }
        p->squares += grows;
        p->inexact |= inexact;
        squares += row;
        p->error += (double)(found + 2) * row;
        sums += found == 0 ? 0 : s->kind == SIS__KEEP_DENSE ? 1 : (double)(n / m->channels);
        p->changed += c.more_nonzero;
        from += n;
    }
    p->path += sqrt(squares);
    p->error += sums * pow(length_of(p) + sqrt(squares), 2);
    if (p->changed == 0) {
        memset(f->store.wide + p->out, 0, s->linear.padded * sizeof *f->store.wide);
        p->squares = p->path = p->error = 0;
    }
    see_change(&s->linear, p);
    allow(f, s, 0);
}

/* ---- Sums in the order of a full pass -------------------------------------------------------- */

/* Copy a box of the map, from a part that contains it, to the tensor's order: linear.flat is the
 * base between masks. Returns the growth of the sum of squares. */
static double flatten(const sis__prefix *f, sis__keep_point *s, const sis__part *p,
                      const sis__box *b) {
    size_t channels = f->maps[s->map].channels, step = s->cut.axes.stride[0];
    double grows = 0;
    SIS__EACH_ROW(b, z, y)
    for (int x = b->lo[2]; x < b->hi[2]; x++) {
        const float *from = sis__part_at(p, channels, z, y, x);
        float *to = s->linear.flat + sis__axes_at(&s->cut.axes, z, y, x);
        for (size_t c = 0; c < channels; c++) {
            double now = (double)from[c], before = (double)to[c * step];
            grows += (now - before) * (now + before);
            to[c * step] = from[c];
        }
    }
    return grows;
}

static double flatten_base(const sis__prefix *f, sis__keep_point *s, const sis__box *b) {
    const sis__map *m = &f->maps[s->map];
    return flatten(f, s, &(sis__part){m->base, m->whole}, b);
}

/* The dot product of n values and weights, from the first to the last. */
static double sum_piece(const float *x, const float *w, size_t step, size_t n) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += (double)x[k] * (double)w[k * step];
    return sum;
}

/* Output i of a dense layer of point->flat, summed as in the kernel. */
static float dense_in_order(const sis__prefix *f, const sis__keep_point *s, size_t i) {
    enum { N = SIS__PIECE };
    const sis__gemm *g = &s->linear.step->p.gemm;
    size_t nr = sis__kernels_best()->nr, k = 0, step = nr;
    const float *w = g->packed + i / nr * g->k * nr + i % nr, *x = s->linear.flat;
    double sum = first_term(f, s, i);
    if (g->trans_b && g->alpha == 1.0f) { /* the same weights contiguously */
        w = (const float *)f->plan->tensors[s->linear.step->inputs[1]].data + i * g->k;
        step = 1;
    }
    for (; k + 4 * N <= g->k; k += 4 * N) {
        double a = 0, b = 0, c = 0, d = 0; /* four independent sums hide latency */
        for (size_t p = k; p < k + N; p++) {
            a += (double)x[p] * (double)w[p * step];
            b += (double)x[p + N] * (double)w[(p + N) * step];
            c += (double)x[p + 2 * N] * (double)w[(p + 2 * N) * step];
            d += (double)x[p + 3 * N] * (double)w[(p + 3 * N) * step];
        }
        sum = sum + a + b + c + d;
    }
    for (; k < g->k; k += N)
        sum += sum_piece(x + k, w + k * step, step, g->k - k < N ? g->k - k : N);
    return (float)sum;
}

/* The sum of channel i. */
static double channel_in_order(const sis__prefix *f, const sis__keep_point *s, size_t i) {
    const sis__map *m = &f->maps[s->map];
    const float *from = s->linear.flat + i * s->cut.axes.stride[0];
    double sum = 0;
    if (is_run(m, &s->cut.axes))
        return sis__kernels_best()->sum(from, sis__positions(m));
    SIS__EACH_ROW(&m->whole, z, y)
    for (int x = 0; x < m->whole.hi[2]; x++)
        sum += (double)from[sis__axes_at(&s->cut.axes, z, y, x)];
    return sum;
}

static float mean_in_order(const sis__prefix *f, const sis__keep_point *s, size_t i) {
    return (float)(channel_in_order(f, s, i) / s->linear.divisor);
}

/* Copy channels of the map inside feature j's box to the tensor's order: values of the base, or
 * with the feature masked too. The change that is kept must be exact. */
static void flatten_channels(sis__prefix *f, sis__keep_point *s, size_t j, int masked, size_t first,
                             size_t end) {
    const sis__map *m = &f->maps[s->map];
    const double *kept = f->store.wide + s->kept[j].in;
    SIS__EACH_ROW(&s->box[j], z, y)
    for (int x = s->box[j].lo[2]; x < s->box[j].hi[2]; x++, kept += m->channels) {
        const float *base = m->base + sis__box_at(&m->whole, z, y, x) * m->channels;
        float *to = s->linear.flat + sis__axes_at(&s->cut.axes, z, y, x);
        for (size_t c = first; c < end; c++)
            to[c * s->cut.axes.stride[0]] = masked ? (float)((double)base[c] + kept[c]) : base[c];
    }
}

/* All channels with feature j masked too. */
static void flatten_without(sis__prefix *f, sis__keep_point *s, size_t j) {
    if (!s->kept[j].inexact) {
        flatten_channels(f, s, j, 1, 0, f->maps[s->map].channels);
        return;
    }
    sis__part without = sis__prefix_evaluate(f, j, s->map, &s->box[j]);
    flatten(f, s, &without, &s->box[j]);
}

/* A mean with feature j masked too. */
static float mean_without(sis__prefix *f, sis__keep_point *s, size_t j, size_t i) {
    flatten_channels(f, s, j, 1, i, i + 1);
    float mean = mean_in_order(f, s, i);
    flatten_channels(f, s, j, 0, i, i + 1);
    return mean;
}

/* Recompute the sums that are too close to a midpoint in the order of a full pass, with feature j
 * masked too unless j is SIZE_MAX. Slack is that of the worst candidate; most others need less. */
static void recompute_close_sums(sis__prefix *f, sis__keep_point *s, size_t j, float *row) {
    const sis__cut_linear *l = &s->linear;
    const double *change = j == SIZE_MAX ? NULL : f->store.wide + s->kept[j].out;
    double less = l->allowed - (change ? error_with(l, length_of(&s->kept[j]), s->kept[j].error)
                                       : error_with(l, 0, 0));
    int flat = 0;
    for (size_t i = 0; i < s->cut.width; i++) {
        double v = l->sums[i] + (change ? change[i] : 0.0);
        double e = l->slack[i] > 0 ? l->slack[i] - slack_unit * l->length[i] * less : l->slack[i];
        float low = (float)((v - e) / l->divisor), high = (float)((v + e) / l->divisor);
        if (low == high || (s->cut.relu && !l->plus && high < 0)) {
            row[i] = low;
            continue;
        }
        if (change && s->kind == SIS__KEEP_MEAN && !s->kept[j].inexact) {
            row[i] = mean_without(f, s, j, i);
            continue;
        }
        if (change && !flat)
            flatten_without(f, s, j);
        flat = 1;
        row[i] = s->kind == SIS__KEEP_DENSE ? dense_in_order(f, s, i) : mean_in_order(f, s, i);
    }
    if (change && flat)
        flatten_base(f, s, &s->box[j]);
}

/* ---- The current state ----------------------------------------------------------------------- */

/* The sums of a dense layer, piece by piece. */
static void sum_base(const sis__prefix *f, sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    size_t n = sis__positions(m) * m->channels, found = 0;
    for (size_t i = 0; i < s->linear.padded; i++)
        s->linear.sums[i] = i < s->cut.width ? first_term(f, s, i) : 0.0;
    for (size_t i = 0; i < n; i++) {
        f->scratch.index[found] = (int)i;
        f->scratch.change[found] = (double)m->base[i];
        found += m->base[i] != 0;
        if (found == SIS__PIECE || i + 1 == n) {
            add_changes(f, s, found, s->linear.sums);
            found = 0;
        }
    }
}

/* The sum of each channel, in the order of a full pass. */
static void sum_channels(const sis__prefix *f, sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    size_t n = sis__positions(m) * m->channels;
    for (size_t i = 0; i < m->channels; i++)
        s->linear.sums[i] = channel_in_order(f, s, i);
    for (size_t i = 0; i < n; i++)
        s->linear.live[i % m->channels] |= m->base[i] != 0;
}

static void sums_refresh(sis__prefix *f, sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    sis__cut_linear *l = &s->linear;
    size_t n = sis__positions(m) * m->channels;
    if (s->kind == SIS__KEEP_DENSE)
        sum_base(f, s);
    else
        sum_channels(f, s);
    l->squares = l->worst_length = l->worst_error = 0;
    for (size_t i = 0; i < n; i++)
        l->squares += (double)m->base[i] * (double)m->base[i];
    l->error = l->terms * l->squares;
    for (size_t j = 0; j < f->s->in.n; j++)
        see_change(l, &s->kept[j]);
    allow(f, s, 1);
}

static void sums_reset(sis__prefix *f, sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    for (size_t j = 0; j < f->s->in.n; j++) {
        sis__kept *p = &s->kept[j];
        p->squares = p->path = p->error = 0;
        p->inexact = 0;
        memset(f->store.wide + p->in, 0,
               sis__box_volume(&m->box[j]) * m->channels * sizeof *f->store.wide);
        memset(f->store.wide + p->out, 0, s->linear.padded * sizeof *f->store.wide);
    }
    memset(s->linear.live, 0, s->linear.padded);
    flatten_base(f, s, &m->whole);
    sums_refresh(f, s);
}

static void sums_before(sis__prefix *f, sis__keep_point *s, size_t j) {
    const double *change = f->store.wide + s->kept[j].out;
    for (size_t i = 0; i < s->cut.width; i++)
        s->linear.sums[i] += change[i];
    s->linear.error += s->kept[j].error;
}

static void sums_after(sis__prefix *f, sis__keep_point *s, size_t j) {
    sis__cut_linear *l = &s->linear;
    l->squares += flatten_base(f, s, &s->box[j]);
    l->squares = l->squares < 0 ? 0 : l->squares;
    l->error += l->squares;
    allow(f, s, 0);
}

/* ---- Rows of the head ----------------------------------------------------------------------- */

/* The values of the cut with feature j masked too, or of the current state if j is SIZE_MAX. */
static void write_sums(sis__prefix *f, sis__keep_point *s, size_t j, float *row) {
    const sis__kernels *kn = sis__kernels_best();
    const double *change = j == SIZE_MAX ? NULL : f->store.wide + s->kept[j].out;
    const sis__cut_linear *l = &s->linear;
    const sis__sums sums = {.sum = l->sums,
                            .change = change,
                            .slack = l->slack,
                            .divisor = l->divisor,
                            .n = s->cut.width,
                            .relu = s->cut.relu && !l->plus};
    int close = kn->round_sums(&sums, row);
    if (close)
        recompute_close_sums(f, s, j, row);
    for (size_t i = 0; s->linear.plus && i < s->cut.width; i++)
        row[i] += s->linear.plus[i];
    if (s->cut.relu && (s->linear.plus || close))
        kn->relu(row, row, s->cut.width);
}

static void sums_row(sis__prefix *f, sis__keep_point *s, float *row) {
    write_sums(f, s, SIZE_MAX, row);
}

static int sums_row_without(sis__prefix *f, sis__keep_point *s, size_t j, const float *base,
                            float *row) {
    if (s->kept[j].changed)
        write_sums(f, s, j, row);
    else
        memcpy(row, base, s->cut.width * sizeof *row);
    return s->kept[j].changed != 0;
}

const sis__keep_ops sis__keep_sums = {.init = sums_init,
                                      .reset = sums_reset,
                                      .refresh = sums_refresh,
                                      .update = sums_update,
                                      .before = sums_before,
                                      .after = sums_after,
                                      .row = sums_row,
                                      .row_without = sums_row_without};
