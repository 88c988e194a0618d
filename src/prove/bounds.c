/* SPDX-License-Identifier: MIT
 *
 * Intervals forward, linear bounds backward (CROWN), and the search for good slopes. See bounds.h.
 */
#include "prove/bounds.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static const double UNIT = 0x1p-23;
static const double MAX_TIGHT = 5e7; /* limit of the work to tighten a node once */

/* x * y, but 0 times infinity is 0. */
static double times(double x, double y) {
    return x == 0 || y == 0 ? 0 : x * y;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

#define EACH(member, count)                                                                        \
    { offsetof(sis__bounds, member), (count) * sizeof **((sis__bounds *)NULL)->member }

/* The arrays that have an array for each node: where, and the bytes for each of its numbers. */
static const struct {
    size_t at, size;
} arrays[] = {
    EACH(low, 1),           EACH(high, 1),
    EACH(size, 1),          EACH(alpha, 1),
    EACH(beta, 1),          EACH(point, 1),
    EACH(split, 1),         EACH(mark, 1),
    EACH(listed, 1),        EACH(last.was_low, 1),
    EACH(last.was_high, 1), EACH(last.other, 1),
    EACH(moved, 2),         EACH(coef, SIS__BOUNDS_LANES),
};
#undef EACH
enum { N_ARRAYS = sizeof arrays / sizeof *arrays };

static void free_arrays(const sis__bounds *b, size_t at) {
    void *all, *one;
    memcpy(&all, (const char *)b + at, sizeof all);
    for (size_t k = 0; all && k < b->c->n; k++) {
        memcpy(&one, (char *)all + k * sizeof one, sizeof one);
        free(one);
    }
    free(all);
}

static int new_arrays(sis__bounds *b, size_t at, size_t size) {
    void *all = sis__alloc(b->c->n, sizeof(void *)), *one = all;
    memcpy((char *)b + at, &all, sizeof all);
    for (size_t k = 0; one && k < b->c->n; k++) {
        one = sis__alloc(b->c->nodes[k].n, size);
        memcpy((char *)all + k * sizeof one, &one, sizeof one);
    }
    return one ? SIS_OK : SIS_E_NOMEM;
}

void sis__bounds_release(sis__bounds *b) {
    for (size_t i = 0; i < N_ARRAYS; i++)
        free_arrays(b, arrays[i].at);
    free(b->n_listed);
    free(b->goal);
    free(b->mean);
    *b = (sis__bounds){0};
}

int sis__bounds_init(sis__bounds *b, const sis__circuit *c) {
    int error = SIS_OK;
    *b = (sis__bounds){.c = c,
                       .n_listed = SIS_NEW(size_t, c->n),
                       .goal = SIS_NEW(double, c->outputs),
                       .mean = SIS_NEW(double, c->width)};
    for (size_t i = 0; !error && i < N_ARRAYS; i++)
        error = new_arrays(b, arrays[i].at, arrays[i].size);
    if (!b->n_listed || !b->goal || !b->mean)
        error = SIS_E_NOMEM;
    if (error)
        sis__bounds_release(b);
    return error;
}

/* ---- Forward --------------------------------------------------------------------------------- */

static void forward_affine(sis__bounds *b, size_t k) {
    const sis__circuit_node *n = &b->c->nodes[k];
    const double *l = b->low[n->from[0]], *h = b->high[n->from[0]];
    double n_in = (double)b->c->nodes[n->from[0]].n;
    for (size_t i = 0; i < n->n; i++) {
        double low = n->bias[i], high = n->bias[i], size = fabs(n->bias[i]);
        for (size_t w = n->start[i]; w < n->start[i + 1]; w++) {
            double v = n->weights[w], x = v * l[n->read[w]], y = v * h[n->read[w]];
            low += v > 0 ? x : y;
            high += v > 0 ? y : x;
            size += fmax(fabs(x), fabs(y));
        }
        double room = (n_in + 4) * UNIT * size;
        b->size[k][i] = size;
        b->low[k][i] = isfinite(room) ? low - room : -INFINITY;
        b->high[k][i] = isfinite(room) ? high + room : INFINITY;
    }
    b->work += (double)n->start[n->n];
}

static void forward_max(sis__bounds *b, size_t k) {
    const sis__circuit_node *n = &b->c->nodes[k];
    for (size_t i = 0; i < n->n; i++) {
        b->low[k][i] = b->high[k][i] = -INFINITY;
        for (size_t w = n->start[i]; w < n->start[i + 1]; w++) {
            b->low[k][i] = fmax(b->low[k][i], b->low[n->from[0]][n->read[w]]);
            b->high[k][i] = fmax(b->high[k][i], b->high[n->from[0]][n->read[w]]);
        }
    }
}

static void forward_sum(sis__bounds *b, size_t k) {
    const sis__circuit_node *n = &b->c->nodes[k];
    const double *l = b->low[n->from[0]], *h = b->high[n->from[0]];
    const double *m = n->sign > 0 ? b->low[n->from[1]] : b->high[n->from[1]];
    const double *o = n->sign > 0 ? b->high[n->from[1]] : b->low[n->from[1]];
    for (size_t i = 0; i < n->n; i++) {
        double size = fmax(fabs(l[i]), fabs(h[i])) + fmax(fabs(m[i]), fabs(o[i]));
        b->size[k][i] = size;
        b->low[k][i] = isfinite(size) ? l[i] + n->sign * m[i] - 2 * UNIT * size : -INFINITY;
        b->high[k][i] = isfinite(size) ? h[i] + n->sign * o[i] + 2 * UNIT * size : INFINITY;
    }
}

/* Is there a ReLU before this node? Without one, intervals are exact. */
static int is_bent(const sis__bounds *b, size_t k) {
    const sis__circuit_node *n = &b->c->nodes[k];
    return n->kind != SIS__CIRCUIT_INPUT &&
           (n->kind != SIS__CIRCUIT_AFFINE || b->c->nodes[n->from[0]].kind != SIS__CIRCUIT_INPUT);
}

/* The coefficients of a number; marks it as used. */
static inline double *reach(sis__bounds *b, size_t k, size_t i, size_t lanes) {
    double *c = b->coef[k] + i * lanes;
    if (b->local && !b->mark[k][i]) {
        b->mark[k][i] = 1;
        b->listed[k][b->n_listed[k]++] = (uint32_t)i;
        memset(c, 0, lanes * sizeof *c);
    }
    return c;
}

/* The number of used numbers of a node, and the i-th of them. */
static inline size_t count_of(const sis__bounds *b, size_t k) {
    return b->local ? b->n_listed[k] : b->c->nodes[k].n;
}

static inline size_t listed(const sis__bounds *b, size_t k, size_t i) {
    return b->local ? b->listed[k][i] : i;
}

static void back_to_input(sis__bounds *b, size_t node, size_t lanes, double *bound);

/* Set the goal to number i of a node from both sides, in lanes m and m + 1: an affine node is
 * replaced by its inputs. */
static void seed(sis__bounds *b, size_t k, size_t i, size_t m, size_t lanes, double *bound) {
    const sis__circuit_node *n = &b->c->nodes[k];
    if (n->kind != SIS__CIRCUIT_AFFINE) {
        double *c = reach(b, k, i, lanes);
        c[m] = 1;
        c[m + 1] = -1;
        return;
    }
    for (size_t w = n->start[i]; w < n->start[i + 1]; w++) {
        double *c = reach(b, n->from[0], n->read[w], lanes);
        c[m] += n->weights[w];
        c[m + 1] -= n->weights[w];
    }
    double room = (double)(b->c->nodes[n->from[0]].n + 4) * UNIT * b->size[k][i];
    bound[m] = n->bias[i] - room;
    bound[m + 1] = -n->bias[i] - room;
    b->work += (double)(n->start[i + 1] - n->start[i]);
}

/* Bound some numbers of a node backwards, from both sides. */
static void tighten_some(sis__bounds *b, size_t k, const size_t *which, size_t count) {
    double bound[SIS__BOUNDS_LANES] = {0};
    size_t lanes = 2 * count;
    for (size_t m = 0; m <= k && !b->local; m++)
        memset(b->coef[m], 0, b->c->nodes[m].n * lanes * sizeof **b->coef);
    for (size_t m = 0; m < count; m++)
        seed(b, k, which[m], 2 * m, lanes, bound);
    back_to_input(b, b->c->nodes[k].kind == SIS__CIRCUIT_AFFINE ? k - 1 : k, lanes, bound);
    for (size_t m = 0; m < count; m++) {
        b->low[k][which[m]] = fmax(b->low[k][which[m]], bound[2 * m]);
        b->high[k][which[m]] = fmin(b->high[k][which[m]], -bound[2 * m + 1]);
    }
}

/* Does each number of a node depend on a small part of its input? */
static int is_local(const sis__bounds *b, size_t k) {
    const sis__circuit_node *n = &b->c->nodes[k];
    return n->kind == SIS__CIRCUIT_AFFINE && 2 * n->start[n->n] < n->n * b->c->nodes[n->from[0]].n;
}

typedef struct {
    double key;
    size_t number;
} keyed;

static int by_key(const void *a, const void *b) {
    const keyed *x = (const keyed *)a, *y = (const keyed *)b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* The numbers of a node whose sign is open: grouped if they read the same inputs, else the widest
 * first. */
static keyed *open_numbers(const sis__bounds *b, size_t k, int from_scratch, size_t *count) {
    const sis__circuit_node *n = &b->c->nodes[k];
    keyed *all = SIS_NEW(keyed, n->n);
    *count = 0;
    for (size_t i = 0; all && i < n->n; i++)
        if (b->low[k][i] < 0 && b->high[k][i] > 0 && (from_scratch || b->last.other[k][i])) {
            double place = b->local && n->start[i] < n->start[i + 1] ? n->read[n->start[i]] : 0;
            all[*count].key = b->local ? place : -fmin(-b->low[k][i], b->high[k][i]);
            all[(*count)++].number = i;
        }
    if (all)
        qsort(all, *count, sizeof *all, by_key);
    return all;
}

/* Does a number depend on an input whose box has changed? */
static int is_other(const sis__bounds *b, size_t k, size_t i) {
    const sis__circuit_node *n = &b->c->nodes[k];
    const unsigned char *from = b->last.other[n->from[0]];
    if (n->kind == SIS__CIRCUIT_INPUT)
        return b->low[0][i] != b->last.was_low[0][i] || b->high[0][i] != b->last.was_high[0][i];
    if (n->kind == SIS__CIRCUIT_RELU)
        return from[i];
    if (n->kind == SIS__CIRCUIT_SUM)
        return from[i] || b->last.other[n->from[1]][i];
    for (size_t w = n->start[i]; w < n->start[i + 1]; w++)
        if (from[n->read[w]])
            return 1;
    return 0;
}

static void find_others(sis__bounds *b) {
    for (size_t k = 0; k < b->c->n; k++)
        for (size_t i = 0; i < b->c->nodes[k].n; i++)
            b->last.other[k][i] = !b->last.remembers || (unsigned char)is_other(b, k, i);
}

/* Restore tightened bounds of numbers whose inputs have not changed. */
static void recall(sis__bounds *b, size_t k) {
    for (size_t i = 0; i < b->c->nodes[k].n; i++)
        if (!b->last.other[k][i]) {
            b->low[k][i] = fmax(b->low[k][i], b->last.was_low[k][i]);
            b->high[k][i] = fmin(b->high[k][i], b->last.was_high[k][i]);
        }
}

static void remember(sis__bounds *b, size_t k) {
    memcpy(b->last.was_low[k], b->low[k], b->c->nodes[k].n * sizeof **b->low);
    memcpy(b->last.was_high[k], b->high[k], b->c->nodes[k].n * sizeof **b->high);
}

/* Tighten the inputs of a ReLU whose sign is open. Without memory they stay as they are. */
static void tighten(sis__bounds *b, size_t k, int from_scratch) {
    size_t which[SIS__BOUNDS_LANES / 2], count;
    double max = b->work + MAX_TIGHT;
    if (!is_bent(b, k))
        return;
    b->local = is_local(b, k);
    if (!from_scratch)
        recall(b, k);
    keyed *all = open_numbers(b, k, from_scratch, &count);
    for (size_t i = 0; all && i < count && b->work < max;) {
        size_t n = 0;
        while (i < count && n < SIS__BOUNDS_LANES / 2)
            which[n++] = all[i++].number;
        tighten_some(b, k, which, n);
    }
    free(all);
    b->local = 0;
    if (!from_scratch)
        remember(b, k);
}

/* Initial slopes: the line that leaves the smaller area. */
static void first_slopes(sis__bounds *b, size_t k) {
    size_t from = b->c->nodes[k].from[0];
    for (size_t i = 0; i < b->c->nodes[k].n; i++)
        b->alpha[k][i] = b->high[from][i] > -b->low[from][i];
}

/* Apply the assumed signs to the inputs of a ReLU; 0 if they are impossible. */
static int forward_relu(sis__bounds *b, size_t k) {
    size_t from = b->c->nodes[k].from[0];
    int possible = 1;
    for (size_t i = 0; i < b->c->nodes[k].n; i++) {
        double *l = &b->low[from][i], *h = &b->high[from][i];
        if (b->split[k][i] > 0)
            *l = fmax(*l, 0);
        if (b->split[k][i] < 0)
            *h = fmin(*h, 0);
        possible &= *l <= *h;
        b->low[k][i] = fmax(0, *l);
        b->high[k][i] = fmax(0, *h);
    }
    if (!b->tuned)
        first_slopes(b, k);
    return possible;
}

int sis__bounds_forward(sis__bounds *b, int tight) {
    if (tight == 2)
        find_others(b);
    for (size_t k = 1; k < b->c->n; k++) {
        const sis__circuit_node *n = &b->c->nodes[k];
        if (n->kind == SIS__CIRCUIT_AFFINE)
            forward_affine(b, k);
        else if (n->kind == SIS__CIRCUIT_MAX)
            forward_max(b, k);
        else if (n->kind == SIS__CIRCUIT_SUM)
            forward_sum(b, k);
        if (n->kind != SIS__CIRCUIT_RELU)
            continue;
        if (tight)
            tighten(b, n->from[0], tight != 2);
        if (!forward_relu(b, k)) {
            b->last.remembers = 0;
            return 0;
        }
    }
    if (tight == 2)
        remember(b, 0);
    b->last.remembers |= tight == 2;
    return 1;
}

/* ---- Backward -------------------------------------------------------------------------------- */

typedef struct {
    double slope, shift;
} line;

/* The line that replaces a ReLU whose coefficient has this sign. */
static line line_of(const sis__bounds *b, size_t k, size_t i, double a) {
    size_t from = b->c->nodes[k].from[0];
    double l = b->low[from][i], u = b->high[from][i];
    if (l >= 0)
        return (line){1, 0};
    if (u <= 0)
        return (line){0, 0};
    if (a >= 0)
        return (line){isfinite(l) ? b->alpha[k][i] : 0, 0};
    if (!isfinite(l) || !isfinite(u)) /* below an infinite end: the maximum */
        return (line){0, u};
    return (line){u / (u - l), -u * l / (u - l)};
}

static void back_relu(sis__bounds *b, size_t k, size_t lanes, double *bound) {
    size_t from = b->c->nodes[k].from[0];
    for (size_t t = 0; t < count_of(b, k); t++) {
        size_t i = listed(b, k, t);
        const double *at = b->coef[k] + i * lanes;
        double low = b->low[from][i], high = b->high[from][i];
        if (high <= 0 && !b->split[k][i])
            continue;
        double *to = reach(b, from, i, lanes);
        if (low >= 0 && !b->split[k][i]) {
            for (size_t m = 0; m < lanes; m++)
                to[m] += at[m];
            continue;
        }
        line above = line_of(b, k, i, -1), below = line_of(b, k, i, 1);
        for (size_t m = 0; m < lanes; m++) {
            line v = at[m] < 0 ? above : below;
            if (at[m] != 0) {
                to[m] += times(at[m], v.slope);
                bound[m] += times(at[m], v.shift);
            }
            if (b->split[k][i]) /* its sign times the input is >= 0 */
                to[m] -= b->split[k][i] * b->beta[k][i];
        }
    }
}

/* to += a * v, elementwise. */
static inline void add_times(double *restrict to, const double *restrict a, double v,
                             size_t lanes) {
    if (lanes == SIS__BOUNDS_LANES)
        for (size_t m = 0; m < SIS__BOUNDS_LANES; m++)
            to[m] += a[m] * v;
    else
        for (size_t m = 0; m < lanes; m++)
            to[m] += a[m] * v;
}

static int all_zero(const double *a, size_t n) {
    size_t m = 0;
    while (m < n && a[m] == 0)
        m++;
    return m == n;
}

static void back_affine(sis__bounds *b, size_t k, size_t lanes, double *bound) {
    const sis__circuit_node *n = &b->c->nodes[k];
    double room[SIS__BOUNDS_LANES] = {0}, n_in = (double)b->c->nodes[n->from[0]].n;
    for (size_t t = 0; t < count_of(b, k); t++) {
        size_t i = listed(b, k, t);
        const double *a = b->coef[k] + i * lanes;
        if (all_zero(a, lanes))
            continue;
        for (size_t m = 0; m < lanes; m++) {
            bound[m] += a[m] * n->bias[i];
            room[m] += times(fabs(a[m]), b->size[k][i]);
        }
        for (size_t w = n->start[i]; w < n->start[i + 1]; w++)
            add_times(reach(b, n->from[0], n->read[w], lanes), a, n->weights[w], lanes);
        b->work += (double)((n->start[i + 1] - n->start[i]) * lanes) / 4;
    }
    for (size_t m = 0; m < lanes; m++)
        bound[m] -= times((n_in + 4) * UNIT, room[m]);
}

/* The two numbers of a group that may be its maximum (the same twice if there is one); returns the
 * number of further ones. */
static size_t candidates(const sis__bounds *b, size_t k, size_t i, size_t two[2]) {
    const sis__circuit_node *n = &b->c->nodes[k];
    const double *low = b->low[n->from[0]], *high = b->high[n->from[0]];
    size_t best = n->read[n->start[i]], others = 0;
    for (size_t w = n->start[i]; w < n->start[i + 1]; w++)
        best = low[n->read[w]] > low[best] ? n->read[w] : best;
    two[0] = two[1] = best;
    for (size_t w = n->start[i]; w < n->start[i + 1]; w++)
        if (n->read[w] != best && high[n->read[w]] > low[best]) {
            others++;
            two[1] = n->read[w];
        }
    return others > 1 ? others - 1 : 0;
}

/* Lower bound of a maximum: any number of its group. Upper bound: for two, the chord over their
 * difference; for more, the highest. */
static void back_max(sis__bounds *b, size_t k, size_t lanes, double *bound) {
    size_t from = b->c->nodes[k].from[0];
    const double *low = b->low[from], *high = b->high[from];
    for (size_t t = 0; t < count_of(b, k); t++) {
        size_t i = listed(b, k, t), two[2], more = candidates(b, k, i, two);
        double l = low[two[1]] - high[two[0]], u = high[two[1]] - low[two[0]];
        int same = two[0] == two[1], one_line = !more && isfinite(l) && isfinite(u);
        double share = same || u <= 0 ? 0 : l >= 0 ? 1 : u / (u - l);
        double shift = same || u <= 0 || l >= 0 ? 0 : -u * l / (u - l);
        double *first = reach(b, from, two[0], lanes), *second = reach(b, from, two[1], lanes);
        for (size_t m = 0; m < lanes; m++) {
            double a = b->coef[k][i * lanes + m];
            if (a == 0)
                continue;
            if (a > 0 || same) {
                first[m] += a;
            } else if (one_line) {
                first[m] += a * (1 - share);
                second[m] += a * share;
                bound[m] += a * shift;
            } else {
                bound[m] += a * b->high[k][i];
            }
        }
    }
}

static void back_sum(sis__bounds *b, size_t k, size_t lanes, double *bound) {
    const sis__circuit_node *n = &b->c->nodes[k];
    for (size_t t = 0; t < count_of(b, k); t++) {
        size_t i = listed(b, k, t);
        double *x = reach(b, n->from[0], i, lanes), *y = reach(b, n->from[1], i, lanes);
        for (size_t m = 0; m < lanes; m++) {
            double a = b->coef[k][i * lanes + m];
            x[m] += a;
            y[m] += n->sign * a;
            bound[m] -= times(2 * UNIT * fabs(a), b->size[k][i]);
        }
    }
}

/* The minimum of functions of the input; clears the lists. */
static void bound_input(sis__bounds *b, size_t lanes, double *bound) {
    for (size_t t = 0; t < count_of(b, 0); t++) {
        size_t j = listed(b, 0, t);
        for (size_t m = 0; m < lanes; m++) {
            double a = b->coef[0][j * lanes + m];
            bound[m] += times(a, a > 0 ? b->low[0][j] : b->high[0][j]);
        }
    }
    for (size_t m = 0; m < lanes; m++)
        bound[m] = isnan(bound[m]) ? -INFINITY : bound[m];
}

static void unlist(sis__bounds *b, size_t last) {
    for (size_t k = 0; k <= last; k++) {
        for (size_t t = 0; t < b->n_listed[k]; t++)
            b->mark[k][b->listed[k][t]] = 0;
        b->n_listed[k] = 0;
    }
}

/* Turn functions of the nodes up to this one into functions of the input, and bound them. */
static void back_to_input(sis__bounds *b, size_t node, size_t lanes, double *bound) {
    for (size_t k = node; k > 0; k--) {
        sis__circuit_kind kind = b->c->nodes[k].kind;
        (kind == SIS__CIRCUIT_AFFINE ? back_affine
         : kind == SIS__CIRCUIT_RELU ? back_relu
         : kind == SIS__CIRCUIT_MAX  ? back_max
                                     : back_sum)(b, k, lanes, bound);
    }
    bound_input(b, lanes, bound);
    if (b->local)
        unlist(b, node);
}

void sis__bounds_back(sis__bounds *b, size_t node, size_t lanes, double *bound) {
    for (size_t k = 0; k < node; k++)
        memset(b->coef[k], 0, b->c->nodes[k].n * lanes * sizeof **b->coef);
    memset(bound, 0, lanes * sizeof *bound);
    back_to_input(b, node, lanes, bound);
}

/* ---- Points ---------------------------------------------------------------------------------- */

/* The value of an affine node at a point, in double precision. */
static void point_affine(sis__bounds *b, size_t k) {
    const sis__circuit_node *n = &b->c->nodes[k];
    const double *x = b->point[n->from[0]];
    for (size_t i = 0; i < n->n; i++) {
        double sum = n->bias[i];
        for (size_t w = n->start[i]; w < n->start[i + 1]; w++)
            sum += n->weights[w] * x[n->read[w]];
        b->point[k][i] = sum;
    }
    b->work += (double)n->start[n->n];
}

static size_t largest(const sis__bounds *b, size_t k, size_t i) {
    const sis__circuit_node *n = &b->c->nodes[k];
    size_t best = n->read[n->start[i]];
    for (size_t w = n->start[i]; w < n->start[i + 1]; w++)
        best = b->point[n->from[0]][n->read[w]] > b->point[n->from[0]][best] ? n->read[w] : best;
    return best;
}

/* Number i of a node at a point; `lined`: with the last function's lines instead of ReLUs. */
static double point_of(const sis__bounds *b, size_t k, size_t i, int lined) {
    const sis__circuit_node *n = &b->c->nodes[k];
    const double *x = b->point[n->from[0]];
    if (n->kind == SIS__CIRCUIT_SUM)
        return x[i] + n->sign * b->point[n->from[1]][i];
    if (n->kind == SIS__CIRCUIT_MAX)
        return x[largest(b, k, i)];
    if (!lined)
        return fmax(0, x[i]);
    line v = line_of(b, k, i, b->coef[k][i]);
    return times(v.slope, x[i]) + v.shift;
}

/* Compute all numbers of a point from its input. */
static void take_point(sis__bounds *b, int lined) {
    for (size_t k = 1; k < b->c->n; k++) {
        if (b->c->nodes[k].kind == SIS__CIRCUIT_AFFINE) {
            point_affine(b, k);
            continue;
        }
        for (size_t i = 0; i < b->c->nodes[k].n; i++)
            b->point[k][i] = point_of(b, k, i, lined);
    }
}

/* The gradient of the goal at a point, from a node that is not affine to its input. */
static void slope_back(sis__bounds *b, size_t k) {
    const sis__circuit_node *n = &b->c->nodes[k];
    double *to = b->coef[n->from[0]];
    for (size_t i = 0; i < n->n; i++) {
        double a = b->coef[k][i];
        if (n->kind == SIS__CIRCUIT_RELU)
            to[i] += b->point[n->from[0]][i] > 0 ? a : 0;
        else if (n->kind == SIS__CIRCUIT_MAX)
            to[largest(b, k, i)] += a;
        else
            to[i] += a;
        if (n->kind == SIS__CIRCUIT_SUM)
            b->coef[n->from[1]][i] += n->sign * a;
    }
}

void sis__bounds_slope(sis__bounds *b) {
    const sis__circuit *c = b->c;
    double bound = 0;
    take_point(b, 0);
    for (size_t k = 0; k < c->n; k++)
        memset(b->coef[k], 0, c->nodes[k].n * sizeof **b->coef);
    memcpy(b->coef[c->n - 1], b->goal, c->outputs * sizeof *b->goal);
    for (size_t k = c->n - 1; k > 0; k--)
        if (c->nodes[k].kind == SIS__CIRCUIT_AFFINE)
            back_affine(b, k, 1, &bound);
        else
            slope_back(b, k);
}

/* ---- Tuning ---------------------------------------------------------------------------------- */

/* The input at which the last function's bound is reached, and the mean of these over the second
 * half of all steps, which tends to satisfy the assumptions. */
static void take_corner(sis__bounds *b, int step, int steps) {
    int n = step - steps / 2;
    for (size_t j = 0; j < b->c->width; j++) {
        double x = b->coef[0][j] > 0 ? b->low[0][j] : b->high[0][j];
        b->point[0][j] = isfinite(x) ? x : 0;
        b->mean[j] += n > 0 ? (b->point[0][j] - b->mean[j]) / (n + 1) : b->point[0][j] - b->mean[j];
    }
}

/* One step of gradient ascent on slopes and weights, with steps that shrink with the distance
 * moved. */
static void step_up(sis__bounds *b, size_t k, double rate) {
    const double *x = b->point[b->c->nodes[k].from[0]];
    size_t n = b->c->nodes[k].n;
    double scale = 0;
    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(b->coef[k][i]));
    for (size_t i = 0; i < n; i++) {
        size_t from = b->c->nodes[k].from[0];
        double a = b->coef[k][i];
        if (b->split[k][i]) {
            double up = -b->split[k][i] * x[i];
            b->moved[k][2 * i + 1] += up * up;
            if (up != 0)
                b->beta[k][i] += rate * scale * up / sqrt(b->moved[k][2 * i + 1]);
            b->beta[k][i] = fmax(0, b->beta[k][i]);
        } else if (a > 0 && b->low[from][i] < 0 && b->high[from][i] > 0) {
            double up = a * x[i];
            b->moved[k][2 * i] += up * up;
            if (up != 0)
                b->alpha[k][i] += rate * up / sqrt(b->moved[k][2 * i]);
            b->alpha[k][i] = fmin(1, fmax(0, b->alpha[k][i]));
        }
    }
}

double sis__bounds_tune(sis__bounds *b, int steps, double enough) {
    size_t last = b->c->n - 1;
    double best = -INFINITY, bound;
    b->tuned = 1;
    for (size_t k = 1; k <= last; k++)
        memset(b->moved[k], 0, 2 * b->c->nodes[k].n * sizeof **b->moved);
    for (int step = 0; best <= enough; step++) {
        memcpy(b->coef[last], b->goal, b->c->outputs * sizeof *b->goal);
        sis__bounds_back(b, last, 1, &bound);
        best = fmax(best, bound);
        if (step >= steps || best > enough)
            break;
        take_corner(b, step, steps);
        take_point(b, 1);
        for (size_t k = 1; k <= last; k++)
            if (b->c->nodes[k].kind == SIS__CIRCUIT_RELU)
                step_up(b, k, 0.5);
    }
    return best;
}

int sis__bounds_widest(const sis__bounds *b, size_t *node, size_t *number) {
    double worst = 0;
    for (size_t k = 1; k < b->c->n; k++) {
        if (b->c->nodes[k].kind != SIS__CIRCUIT_RELU)
            continue;
        for (size_t i = 0; i < b->c->nodes[k].n; i++) {
            size_t from = b->c->nodes[k].from[0];
            double l = b->low[from][i], u = b->high[from][i];
            double gap = l < 0 && u > 0 ? fabs(b->coef[k][i]) * -l * (u / (u - l)) : 0;
            if (gap > worst && isfinite(gap)) {
                worst = gap;
                *node = k;
                *number = i;
            }
        }
    }
    return worst > 0;
}

void sis__bounds_reset(sis__bounds *b) {
    b->tuned = 0;
    for (size_t k = 1; k < b->c->n; k++) {
        if (b->c->nodes[k].kind != SIS__CIRCUIT_RELU)
            continue;
        first_slopes(b, k);
        memset(b->split[k], 0, b->c->nodes[k].n);
        memset(b->beta[k], 0, b->c->nodes[k].n * sizeof **b->beta);
    }
}
