/* SPDX-License-Identifier: MIT
 *
 * Inputs that the current state of a search (search.h) allows: makes one that has the example's
 * values where possible, finds the nearest one, and tests whether an input keeps the decision.
 */
#include "prove/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* A value of a cell within the domain, the example's own if possible. */
static double value_in(const sis__search *s, size_t j, size_t cell) {
    const sis__column_cells *c = &s->p->cells.columns[j];
    const sis__prove_question *q = s->q;
    if (cell + 1 == c->n)
        return NAN;
    double low = q->low ? fmax(q->low[j], c->low[cell]) : c->low[cell];
    double high = q->high ? fmin(q->high[j], c->high[cell]) : c->high[cell];
    double x = s->tmp.row[j];
    return x >= low && x <= high ? x : isfinite(low) ? low : isfinite(high) ? high : 0;
}

/* May a category have value x (0 or 1) in the current state and domain? */
static int may_be(const sis__search *s, size_t j, double x) {
    const sis__prove_question *q = s->q;
    return sis__search_can_be(s, j, x) &&
           (s->tmp.row[j] == x ||
            (s->free_column[j] && (!q->low || x >= q->low[j]) && (!q->high || x <= q->high[j])));
}

/* The column of a categorical feature that is 1 in a row of the current state: the example's if
 * possible, else the first possible one, else UINT32_MAX. */
static uint32_t choose_category(const sis__search *s, size_t f) {
    uint32_t chosen = UINT32_MAX;
    size_t zeros = 0, n = s->by.first[f + 1] - s->by.first[f];
    const uint32_t *columns = s->by.columns + s->by.first[f];
    for (size_t k = 0; k < n; k++)
        zeros += may_be(s, columns[k], 0) != 0;
    for (size_t k = 0; k < n; k++)
        if (may_be(s, columns[k], 1) && zeros - (may_be(s, columns[k], 0) != 0) == n - 1 &&
            (chosen == UINT32_MAX || s->tmp.row[columns[k]] == 1))
            chosen = columns[k];
    return chosen;
}

/* Choose a category for each categorical feature. Returns the number that differ from the example,
 * -1 if a feature has none. */
int sis__row_categories(const sis__search *s, double *row) {
    int changed = 0;
    for (size_t f = 0; s->by.one_of && f < s->q->n_features; f++) {
        uint32_t chosen = s->by.one_of[f] ? choose_category(s, f) : 0;
        if (chosen == UINT32_MAX)
            return -1;
        changed += s->by.one_of[f] && s->tmp.row[chosen] != 1;
        for (size_t i = s->by.first[f]; s->by.one_of[f] && i < s->by.first[f + 1]; i++)
            row[s->by.columns[i]] = s->by.columns[i] == chosen;
    }
    return changed;
}

/* A row of the current state, with the example's values where possible. 0: there is none. */
int sis__row_make(sis__search *s, double *row) {
    const sis__cells *c = &s->p->cells;
    for (size_t j = 0; j < c->width; j++) {
        const uint64_t *set = s->state + c->first_word[j];
        size_t cell = sis__cells_find(c, j, s->tmp.row[j]);
        row[j] = s->tmp.row[j];
        if (!s->free_column[j] || sis__cells_has(set, cell))
            continue;
        for (cell = 0; cell + 1 < c->columns[j].n && !sis__cells_has(set, cell);)
            cell++;
        row[j] = value_in(s, j, cell);
    }
    return sis__row_categories(s, row) >= 0;
}

/* ---- Near rows ------------------------------------------------------------------------------- */

/* The number in a cell that is nearest to the example's and reachable by its steps; NaN: none. */
static double nearest_in(const sis__search *s, size_t j, size_t cell) {
    const sis__column_cells *c = &s->p->cells.columns[j];
    const sis__prove_question *q = s->q;
    double x = s->tmp.row[j], step = s->near.steps->step ? s->near.steps->step[j] : 0;
    if (cell + 1 == c->n)
        return NAN;
    double low = q->low ? fmax(q->low[j], c->low[cell]) : c->low[cell];
    double high = q->high ? fmin(q->high[j], c->high[cell]) : c->high[cell];
    if (x >= low && x <= high)
        return x;
    low = c->category ? fmax(low, 0) : low;
    if (low > high)
        return NAN;
    double from = isnan(x) || c->category ? 0 : q->row[j], to = isnan(x)  ? fmax(low, fmin(high, 0))
                                                                : x < low ? low
                                                                          : high;
    step = c->category ? 1 : step;
    double n = step > 0 ? trunc((to - from) / step) : 0, y = to;
    for (int k = -1; step > 0 && k <= 2; k++) { /* away from the example */
        y = from + (n + (to < from ? -k : k)) * step;
        y = s->p->b->forest.single ? (double)(float)y : y;
        if (y >= low && y <= high)
            return y;
    }
    return y >= low && y <= high ? y : NAN;
}

/* The cost of each cell that a column may be in. */
void sis__row_costs(sis__search *s) {
    const sis__cells *c = &s->p->cells;
    for (size_t j = 0; j < c->width; j++)
        for (size_t k = 0; s->free_column[j] && k < c->columns[j].n; k++) {
            double x = s->tmp.row[j], y = nearest_in(s, j, k);
            double scale = s->near.steps->scale ? s->near.steps->scale[j] : 1;
            s->near.cost[64 * c->first_word[j] + k] =
                y == x || (isnan(x) && k + 1 == c->columns[j].n) ? 0
                : isnan(y)                                       ? INFINITY
                : c->columns[j].category || isnan(x)             ? 1
                                                                 : fabs(y - x) / scale;
        }
}

/* The cheapest cell of a column in the current state, among those that pass or fail a test;
 * `passed` NULL: among all. */
double sis__row_cheapest(const sis__search *s, size_t j, const uint64_t *passed, int side,
                         size_t *cell) {
    const sis__cells *c = &s->p->cells;
    const uint64_t *set = s->state + c->first_word[j];
    double best = INFINITY;
    for (size_t k = 0; k < c->columns[j].n; k++) {
        double cost = s->near.cost[64 * c->first_word[j] + k];
        if (sis__cells_has(set, k) && (!passed || sis__cells_has(passed, k) == side) &&
            cost < best) {
            best = cost;
            *cell = k;
        }
    }
    return best;
}

/* The nearest row of the current state; returns its distance. */
double sis__row_nearest(const sis__search *s, double *row) {
    double distance = 0;
    for (size_t j = 0; j < s->p->cells.width; j++) {
        size_t cell = 0;
        row[j] = s->tmp.row[j];
        if (!s->free_column[j] || sis__search_is_category(s, j))
            continue;
        distance += sis__row_cheapest(s, j, NULL, 0, &cell);
        if (isinf(distance))
            return distance;
        row[j] = nearest_in(s, j, cell);
    }
    int categories = sis__row_categories(s, row);
    return categories < 0 ? INFINITY : distance + categories;
}

/* ---- The decision ---------------------------------------------------------------------------- */

/* Does the row keep the decision, by the library's own sums? */
int sis__row_stays(sis__search *s, const double *row) {
    const sis__booster *b = s->p->b;
    const sis__prove_question *q = s->q;
    double margin;
    if (s->p->e) {
        const sis__ensemble_scratch scratch = {s->tmp.seen_row, s->tmp.sums, s->tmp.seen};
        sis__ensemble_scores(s->p->e, row, &scratch, s->tmp.scores);
        return sis__ensemble_decided(&s->decision, s->tmp.scores, sis__ensemble_outputs(s->p->e));
    }
    sis__forest_sums(&b->forest, row, s->tmp.sums, s->tmp.seen);
    if (q->what == SIS__PROVE_CLASS) {
        for (size_t k = 0; k < b->forest.n_sums; k++)
            if (s->tmp.sums[k] > s->tmp.sums[q->output])
                return 0;
        return 1;
    }
    sis__booster_margins(b, s->tmp.sums, s->tmp.rest, q->output, q->output + 1, &margin);
    return q->what == SIS__PROVE_AT_LEAST ? margin >= q->threshold : margin <= q->threshold;
}
