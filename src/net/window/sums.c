/* SPDX-License-Identifier: MIT
 *
 * Cuts that sum: dense layers and means. Both are linear in their map. They keep the change that
 * masking a candidate makes to the map inside its box, and what that change adds up to behind the
 * cut.
 *
 * They sum in double, as a full pass does, and so does the base. Both sums are off by far less than
 * a float can tell, so that rounding them gives the same float, unless they lie too close to the
 * middle between two floats. That is noticed (`slack`), and then the sum is made in the very order
 * of a full pass. Channels that nothing but 0 was ever seen of have a mean of 0 and no slack.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/window/window.h"

/* Sums in double of the same terms in another order differ by less than this times the length of
 * weights times that of values: fifty standard deviations of what rounding does. */
static const double slack_factor = 16 * 0x1p-53;

/* ---- Memory --------------------------------------------------------------------------------- */

/* Rows of the dense layer's weights in the order of the map, and the length of each column. */
static int dense_weights(sis__prefix *f, sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    sis__cut_linear *l = &s->linear;
    const sis__gemm *g = &l->step->p.gemm;
    size_t nr = sis__kernels_best()->nr, panels = (g->n + nr - 1) / nr;
    float *to = l->weights = (float *)sis__prefix_alloc(f, g->k, panels * nr * sizeof *l->weights);
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

int sis__sums_init(sis__prefix *f, sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    sis__cut_linear *l = &s->linear;
    size_t nr = sis__kernels_best()->nr, values = sis__positions(m) * m->channels;
    int error = SIS_OK, dense = s->kind == SIS__KEEP_DENSE;
    l->padded = dense ? (l->step->p.gemm.n + nr - 1) / nr * nr : m->channels;
    l->sums = (double *)sis__prefix_alloc(f, l->padded, sizeof *l->sums);
    l->slack = (double *)sis__prefix_alloc(f, l->padded, sizeof *l->slack);
    l->length = (double *)sis__prefix_alloc(f, l->padded, sizeof *l->length);
    l->flat = (float *)sis__prefix_alloc(f, values, sizeof *l->flat);
    l->live = (unsigned char *)sis__prefix_alloc(f, l->padded, sizeof *l->live);
    if (!l->sums || !l->slack || !l->length || !l->flat || !l->live)
        return SIS_E_NOMEM;
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

/* Sums were made of values, or of changes, with this sum of squares: they may be off by as much as
 * the longest ever make them, however short values are by now. */
static void allow_for(const sis__prefix *f, sis__keep_point *s, double squares) {
    sis__cut_linear *l = &s->linear;
    int more = !(squares <= l->most_squares);
    if (!more && !l->more_live)
        return;
    l->more_live = 0;
    l->most_squares = more ? 1.25 * squares : l->most_squares;
    for (size_t i = 0; i < s->cut.width; i++) {
        double first = s->kind == SIS__KEEP_DENSE ? fabs(first_term(f, s, i)) : 0;
        int idle = s->kind == SIS__KEEP_MEAN && !l->live[i];
        l->slack[i] = idle ? 0 : slack_factor * (first + l->length[i] * sqrt(l->most_squares));
    }
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
    for (size_t t = 0; s->kind == SIS__KEEP_MEAN && t < count; t++) {
        size_t c = (size_t)f->scratch.index[t] % channels;
        sums[c] += f->scratch.change[t];
        s->linear.more_live |= !s->linear.live[c];
        s->linear.live[c] = 1;
    }
}

void sis__sums_update(sis__prefix *f, sis__keep_point *s, size_t j) {
    const sis__kernels *kn = sis__kernels_best();
    sis__kept *p = &s->kept[j];
    const sis__map *m = &f->maps[s->map];
    size_t n = (size_t)(p->dirty.hi[2] - p->dirty.lo[2]) * m->channels;
    const float *from = sis__prefix_evaluate(f, j, s->map, &p->dirty).at;
    double squares = 0;
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
        add_changes(f, s, found, f->store.wide + p->out);
        for (size_t t = 0; t < found; t++)
            squares += f->scratch.change[t] * f->scratch.change[t];
        p->changed += c.more_nonzero;
        from += n;
    }
    p->squares += squares;
    allow_for(f, s, p->squares);
    if (p->changed == 0)
        memset(f->store.wide + p->out, 0, s->linear.padded * sizeof *f->store.wide);
}

/* ---- Sums as a full pass makes them ---------------------------------------------------------- */

/* A box of the map, from a part that holds it, to where the tensor has it: linear.flat is the base
 * from one mask to the next. */
static void flatten(const sis__prefix *f, sis__keep_point *s, const sis__part *p,
                    const sis__box *b) {
    size_t channels = f->maps[s->map].channels, step = s->cut.axes.stride[0];
    SIS__EACH_ROW(b, z, y)
    for (int x = b->lo[2]; x < b->hi[2]; x++) {
        const float *from = sis__part_at(p, channels, z, y, x);
        float *to = s->linear.flat + sis__axes_at(&s->cut.axes, z, y, x);
        for (size_t c = 0; c < channels; c++)
            to[c * step] = from[c];
    }
}

static void flatten_base(const sis__prefix *f, sis__keep_point *s, const sis__box *b) {
    const sis__map *m = &f->maps[s->map];
    flatten(f, s, &(sis__part){m->base, m->whole}, b);
}

/* Products of n values and weights, added up from the first to the last. */
static double sum_piece(const float *x, const float *w, size_t step, size_t n) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += (double)x[k] * (double)w[k * step];
    return sum;
}

/* Output i of a dense layer of what is in point->flat, as the kernel sums it. */
static float dense_in_order(const sis__prefix *f, const sis__keep_point *s, size_t i) {
    const sis__gemm *g = &s->linear.step->p.gemm;
    size_t nr = sis__kernels_best()->nr, k = 0, step = nr;
    const float *w = g->packed + i / nr * g->k * nr + i % nr;
    double sum = first_term(f, s, i), piece[4];
    if (g->trans_b && g->alpha == 1.0f) { /* the same weights side by side */
        w = (const float *)f->plan->tensors[s->linear.step->inputs[1]].data + i * g->k;
        step = 1;
    }
    for (; k + 4 * SIS__PIECE <= g->k; k += 4 * SIS__PIECE) {
        memset(piece, 0, sizeof piece);
        for (size_t p = k; p < k + SIS__PIECE; p++)
            for (size_t q = 0; q < 4; q++) /* four sums at a time hide each other's latency */
                piece[q] += (double)s->linear.flat[p + q * SIS__PIECE] *
                            (double)w[(p + q * SIS__PIECE) * step];
        for (size_t q = 0; q < 4; q++)
            sum += piece[q];
    }
    for (; k < g->k; k += SIS__PIECE)
        sum += sum_piece(s->linear.flat + k, w + k * step, step,
                         g->k - k < SIS__PIECE ? g->k - k : SIS__PIECE);
    return (float)sum;
}

/* Do the values of a channel lie side by side? */
static int is_run(const sis__map *m, const sis__axis_map *v) {
    size_t last = 0;
    for (size_t a = 0; a < 3; a++)
        last += (size_t)(m->whole.hi[a] - 1) * v->stride[a + 1];
    return last + 1 == sis__positions(m);
}

/* The mean of channel i. */
static float mean_in_order(const sis__prefix *f, const sis__keep_point *s, size_t i) {
    const sis__map *m = &f->maps[s->map];
    const float *from = s->linear.flat + i * s->cut.axes.stride[0];
    double sum = 0;
    if (is_run(m, &s->cut.axes)) {
        sum = sis__kernels_best()->sum(from, sis__positions(m));
        return (float)(sum / s->linear.divisor);
    }
    SIS__EACH_ROW(&m->whole, z, y)
    for (int x = 0; x < m->whole.hi[2]; x++)
        sum += (double)from[sis__axes_at(&s->cut.axes, z, y, x)];
    return (float)(sum / s->linear.divisor);
}

/* Decide in the order of a full pass those sums that are too close to call, with feature j masked
 * too unless j is SIZE_MAX. */
static void settle(sis__prefix *f, sis__keep_point *s, size_t j, float *row) {
    const double *change = j == SIZE_MAX ? NULL : f->store.wide + s->kept[j].out;
    if (change) {
        sis__part without = sis__prefix_evaluate(f, j, s->map, &s->box[j]);
        flatten(f, s, &without, &s->box[j]);
    }
    for (size_t i = 0; i < s->cut.width; i++) {
        double v = s->linear.sums[i] + (change ? change[i] : 0.0), e = s->linear.slack[i];
        if ((float)((v - e) / s->linear.divisor) != (float)((v + e) / s->linear.divisor))
            row[i] = s->kind == SIS__KEEP_DENSE ? dense_in_order(f, s, i) : mean_in_order(f, s, i);
    }
    if (change)
        flatten_base(f, s, &s->box[j]);
}

/* ---- The present state ---------------------------------------------------------------------- */

void sis__sums_refresh(sis__prefix *f, sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    size_t n = sis__positions(m) * m->channels, found = 0;
    double squares = 0;
    for (size_t i = 0; i < s->linear.padded; i++)
        s->linear.sums[i] =
            s->kind == SIS__KEEP_DENSE && i < s->cut.width ? first_term(f, s, i) : 0.0;
    for (size_t i = 0; i < n; i++) {
        double v = (double)m->base[i];
        f->scratch.index[found] = (int)i;
        f->scratch.change[found] = v;
        found += v != 0;
        squares += v * v;
        if (found == m->channels || i + 1 == n) {
            add_changes(f, s, found, s->linear.sums);
            found = 0;
        }
    }
    s->linear.squares = squares;
    allow_for(f, s, squares);
}

void sis__sums_reset(sis__prefix *f, sis__keep_point *s) {
    const sis__map *m = &f->maps[s->map];
    for (size_t j = 0; j < f->s->in.n; j++) {
        sis__kept *p = &s->kept[j];
        p->squares = 0;
        memset(f->store.wide + p->in, 0,
               sis__box_volume(&m->box[j]) * m->channels * sizeof *f->store.wide);
        memset(f->store.wide + p->out, 0, s->linear.padded * sizeof *f->store.wide);
    }
    s->linear.most_squares = -1;
    memset(s->linear.live, 0, s->linear.padded);
    flatten_base(f, s, &m->whole);
    sis__sums_refresh(f, s);
}

void sis__sums_before(const sis__prefix *f, sis__keep_point *s, size_t j) {
    const double *change = f->store.wide + s->kept[j].out;
    for (size_t i = 0; i < s->cut.width; i++)
        s->linear.sums[i] += change[i];
    s->linear.squares += s->kept[j].squares;
    allow_for(f, s, s->linear.squares);
}

void sis__sums_after(const sis__prefix *f, sis__keep_point *s, size_t j) {
    flatten_base(f, s, &s->box[j]);
}

/* ---- Rows of the head ----------------------------------------------------------------------- */

void sis__sums_row(sis__prefix *f, sis__keep_point *s, size_t j, float *row) {
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
        settle(f, s, j, row);
    for (size_t i = 0; s->linear.plus && i < s->cut.width; i++)
        row[i] += s->linear.plus[i];
    if (s->cut.relu && (s->linear.plus || close))
        kn->relu(row, row, s->cut.width);
}
