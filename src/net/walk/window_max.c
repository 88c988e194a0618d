/* SPDX-License-Identifier: MIT
 *
 * Cuts that are the maximum of each channel over all positions (global max pooling). For each
 * candidate, the maxima inside its box are kept. Those outside come from maxima over rows (z, y)
 * and parts of rows:
 *
 *     . . . . . . .      above: rows before the first row of the box
 *     l l[b b b]r r      left, right: the rest of each row of the box
 *     l l[b b b]r r
 *     . . . . . . .      below: rows after the last
 *
 * In a map of several planes, rows between those of the box count in full. `left` and `right` cover
 * only positions that some feature can change; the others are computed once. An update costs the
 * changed rows of the box; a query costs two vectors per row of the box and two more.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/walk/window.h"

static int rows_of(const sis__map *m) {
    return m->whole.hi[0] * m->whole.hi[1];
}

static const float *position(const sis__map *m, int row, int x) {
    return m->base + ((size_t)row * (size_t)m->whole.hi[2] + (size_t)x) * m->channels;
}

/* Indices of the first and one past the last row of a box. */
static void row_range(const sis__map *m, const sis__box *b, int *first, int *last) {
    *first = b->lo[0] * m->whole.hi[1] + b->lo[1];
    *last = (b->hi[0] - 1) * m->whole.hi[1] + b->hi[1];
}

static int outside_init(sis__prefix *f, sis__max_outside *t, const sis__map *m) {
    sis__box all = {{0}, {0}};
    for (size_t j = 0; j < f->s->in.n; j++)
        all = sis__box_join(&all, &m->box[j]);
    *t = (sis__max_outside){.rows = (size_t)rows_of(m), .channels = m->channels};
    if (sis__box_empty(&all)) /* it may be anywhere, even after the end */
        all.lo[2] = all.hi[2] = 0;
    t->from = all.lo[2];
    t->to = all.hi[2];
    size_t width = (size_t)(t->to - t->from) + 1, one = t->rows * m->channels;
    t->left = (float *)sis__arena_own(&f->memory, sis__alloc(one, width * sizeof *t->left));
    t->right = (float *)sis__arena_own(&f->memory, sis__alloc(one, width * sizeof *t->right));
    t->above = SIS_ARENA(&f->memory, float, one + m->channels);
    t->below = SIS_ARENA(&f->memory, float, one + m->channels);
    return sis__arena_error(&f->memory);
}

static float *side(const sis__max_outside *t, float *of, int row, int x) {
    size_t width = (size_t)(t->to - t->from) + 1;
    return of + ((size_t)row * width + (size_t)(x - t->from)) * t->channels;
}

/* to = maximum of from and x. */
static void extend(const sis__max_outside *t, const float *from, const float *x, float *to) {
    sis__kernels_best()->max_up((const float *const[]){from, x}, 2, t->channels, to);
}

/* Update left maxima after position x >= lo and right ones up to x < hi of a row. */
static void update_row(sis__max_outside *t, const sis__map *m, int row, int lo, int hi) {
    for (int x = lo; x < t->to; x++)
        extend(t, side(t, t->left, row, x), position(m, row, x), side(t, t->left, row, x + 1));
    for (int x = hi - 1; x >= t->from; x--)
        extend(t, side(t, t->right, row, x + 1), position(m, row, x), side(t, t->right, row, x));
}

/* to = maximum of from and the whole row */
static void extend_row(const sis__max_outside *t, const float *from, int row, float *to) {
    extend(t, from, side(t, t->left, row, t->to), to);
    sis__kernels_best()->max_row(to, side(t, t->right, row, t->to), t->channels);
}

/* Update maxima over rows: above from row `first` on, below up to row `last`. */
static void update_rows(sis__max_outside *t, int first, int last) {
    size_t n = t->channels;
    for (size_t i = (size_t)first; i < t->rows; i++)
        extend_row(t, t->above + i * n, (int)i, t->above + (i + 1) * n);
    for (size_t i = (size_t)last; i-- > 0;)
        extend_row(t, t->below + (i + 1) * n, (int)i, t->below + i * n);
}

static void lowest(float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = -INFINITY;
}

static void outside_reset(sis__max_outside *t, const sis__map *m) {
    const sis__kernels *kn = sis__kernels_best();
    size_t n = t->channels;
    for (int row = 0; row < (int)t->rows; row++) {
        float *left = side(t, t->left, row, t->from), *right = side(t, t->right, row, t->to);
        lowest(left, n);
        lowest(right, n);
        for (int x = 0; x < t->from; x++)
            kn->max_row(left, position(m, row, x), n);
        for (int x = t->to; x < m->whole.hi[2]; x++)
            kn->max_row(right, position(m, row, x), n);
        update_row(t, m, row, t->from, t->to);
    }
    lowest(t->above, n);
    lowest(t->below + t->rows * n, n);
    update_rows(t, 0, (int)t->rows);
}

static void outside_update(sis__max_outside *t, const sis__map *m, const sis__box *r) {
    int first, last;
    if (sis__box_empty(r))
        return;
    SIS__EACH_ROW(r, z, y)
    update_row(t, m, z * m->whole.hi[1] + y, r->lo[2], r->hi[2]);
    row_range(m, r, &first, &last);
    update_rows(t, first, last);
}

/* y = maximum of the two; both pointers become y. */
static void merge(const sis__max_outside *t, const float *sides[2], float *y) {
    extend(t, sides[0], sides[1], y);
    sides[0] = sides[1] = y;
}

/* Maxima of everything outside a nonempty box, as the maximum of two vectors. y (channels) is
 * scratch. */
static void outside_of(const sis__max_outside *t, const sis__map *m, const sis__box *b, float *y,
                       const float *sides[2]) {
    const sis__kernels *kn = sis__kernels_best();
    size_t n = t->channels;
    int first, last, height = m->whole.hi[1];
    row_range(m, b, &first, &last);
    sides[0] = side(t, t->left, first, b->lo[2]);
    sides[1] = side(t, t->right, first, b->hi[2]);
    if (t->rows == 1)
        return;
    merge(t, sides, y);
    for (int row = first + 1; row < last; row++) {
        int inside = row % height >= b->lo[1] && row % height < b->hi[1];
        kn->max_row(y, side(t, t->left, row, inside ? b->lo[2] : t->to), n);
        kn->max_row(y, side(t, t->right, row, inside ? b->hi[2] : t->to), n);
    }
    if (first > 0)
        kn->max_row(y, t->above + (size_t)first * n, n);
    if (last < (int)t->rows)
        kn->max_row(y, t->below + (size_t)last * n, n);
}

/* ---- The cut -------------------------------------------------------------------------------- */

static int max_init(sis__prefix *f, sis__keep_point *s) {
    return outside_init(f, &s->outside, &f->maps[s->map]);
}

static void max_reset(sis__prefix *f, sis__keep_point *s) {
    outside_reset(&s->outside, &f->maps[s->map]);
}

static void max_update(sis__prefix *f, sis__keep_point *s, size_t j) {
    const sis__kernels *kn = sis__kernels_best();
    size_t channels = f->maps[s->map].channels, n = sis__box_volume(&s->box[j]);
    float *top = f->store.single + s->kept[j].out;
    lowest(top, channels);
    const float *from = sis__prefix_evaluate(f, j, s->map, &s->box[j]).at;
    for (size_t i = 0; i < n; i++)
        kn->max_row(top, from + i * channels, channels);
}

static void max_after(sis__prefix *f, sis__keep_point *s, size_t j) {
    outside_update(&s->outside, &f->maps[s->map], &s->box[j]);
}

static void max_row(sis__prefix *f, sis__keep_point *s, float *row) {
    (void)f;
    if (s->cut.relu)
        sis__kernels_best()->relu(s->outside.below, row, s->cut.width);
    else
        memcpy(row, s->outside.below, s->cut.width * sizeof *row);
}

int sis__keep_join(sis__prefix *f, const sis__keep_point *s, size_t j, const float *inside,
                   const float *base, float *row) {
    sis__maxima t = {.inside = inside, .base = base, .n = s->cut.width, .relu = s->cut.relu};
    outside_of(&s->outside, &f->maps[s->map], &s->box[j], f->scratch.outside, t.outside);
    return sis__kernels_best()->join_maxima(&t, row);
}

static int max_row_without(sis__prefix *f, sis__keep_point *s, size_t j, const float *base,
                           float *row) {
    if (!sis__box_empty(&s->box[j]))
        return sis__keep_join(f, s, j, f->store.single + s->kept[j].out, base, row);
    memcpy(row, base, s->cut.width * sizeof *row);
    return 0;
}

const sis__keep_ops sis__keep_maxima = {.init = max_init,
                                        .reset = max_reset,
                                        .update = max_update,
                                        .after = max_after,
                                        .row = max_row,
                                        .row_without = max_row_without};
