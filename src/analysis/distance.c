/* SPDX-License-Identifier: MIT
 *
 * Reference implementations of the distances in sis/analysis.h. The faster code in this folder must
 * agree with them to the bit.
 *
 * An energy distance is a sum of roots, so its last bits depend on the order of summation. The
 * order is part of the definition here: for each pixel of the point that comes first
 * (sis__row_order), in order, the sum of its distances to the pixels of the other, in order.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/points.h"
#include "base/error.h"
#include "base/mem.h"

/* ---- Sets ---------------------------------------------------------------------------------- */

/* (|A u B| - |A n B|) / |A u B|; with values, a common item counts half unless the values are
 * equal. */
double sis__set_distance(const sis__row *a, const sis__row *b) {
    size_t both = 0, same = 0;
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        if (a->items[i] == b->items[j]) {
            same += !a->values || a->values[i] == b->values[j];
            both++, i++, j++;
        } else if (a->items[i] < b->items[j]) {
            i++;
        } else {
            j++;
        }
    }
    size_t all = a->n + b->n - both;
    return (double)(2 * all - both - same) / (double)(2 * all);
}

/* ---- Letters ------------------------------------------------------------------------------- */

enum { ROW_ON_STACK = 256 };

static size_t min(size_t a, size_t b, size_t c) {
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* The textbook recurrence, one row at a time: cost[j] is the distance of the first i letters of a
 * and the first j of b. */
static int letters_distance(const sis__row *a, const sis__row *b, double *out) {
    size_t stack[ROW_ON_STACK + 1], *cost = stack;
    if (b->n > ROW_ON_STACK && !(cost = SIS_NEW_RAW(size_t, b->n + 1)))
        return SIS_E_NOMEM;
    for (size_t j = 0; j <= b->n; j++)
        cost[j] = j;
    for (size_t i = 1; i <= a->n; i++) {
        size_t diagonal = cost[0]; /* of the row above */
        cost[0] = i;
        for (size_t j = 1; j <= b->n; j++) {
            size_t above = cost[j];
            size_t change = diagonal + (a->items[i - 1] != b->items[j - 1]);
            cost[j] = min(above + 1, cost[j - 1] + 1, change);
            diagonal = above;
        }
    }
    *out = (double)cost[b->n];
    if (cost != stack)
        free(cost);
    return SIS_OK;
}

/* The smaller of that and of the distance to the reverse complement. */
static int strands_distance(const sis__row *a, const sis__row *b, double *out) {
    uint32_t *turned = SIS_NEW_RAW(uint32_t, a->n);
    double other = 0;
    if (!turned)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < a->n; i++)
        turned[i] = sis__opposite(a->items[a->n - 1 - i]);
    sis__row back = {.items = turned, .n = a->n};
    int code = letters_distance(a, b, out);
    if (code == SIS_OK)
        code = letters_distance(&back, b, &other);
    *out = other < *out ? other : *out;
    free(turned);
    return code;
}

/* ---- Pixels -------------------------------------------------------------------------------- */

static double sum_of_gaps(const sis__row *a, const sis__row *b) {
    double all = 0;
    for (size_t i = 0; i < a->n; i++) {
        double one = 0;
        for (size_t j = 0; j < b->n; j++)
            one += sis__pixel_gap(a->items[i], b->items[j]);
        all += one;
    }
    return all;
}

double sis__energy_of_sums(double ab, double aa, double bb, size_t n_a, size_t n_b) {
    double a = (double)n_a, b = (double)n_b;
    double d = 2 * (ab / (a * b)) - (aa / (a * a) + bb / (b * b));
    return d > 0 ? d : 0;
}

static double energy_distance(const sis__row *a, const sis__row *b) {
    int order = sis__row_order(a, b);
    if (order == 0)
        return 0;
    double ab = order < 0 ? sum_of_gaps(a, b) : sum_of_gaps(b, a);
    return sis__energy_of_sums(ab, sum_of_gaps(a, a), sum_of_gaps(b, b), a->n, b->n);
}

/* ---- Any ----------------------------------------------------------------------------------- */

int sis_points_distance(const sis_points *points, size_t a, size_t b, double *out) {
    *out = 0;
    if (a >= points->n || b >= points->n)
        return sis__fail(SIS_E_ARGUMENT, "no point %zu; there are %zu", a > b ? a : b, points->n);
    if (points->distance == SIS_DISTANCE_CUSTOM) {
        *out = a == b ? 0 : points->custom(points->ctx, a, b);
        return isnan(*out) ? sis__fail(SIS_E_NAN, "the distance of points %zu and %zu is NaN", a, b)
                           : SIS_OK;
    }
    sis__row x = sis__points_row(points, a), y = sis__points_row(points, b);
    if (points->distance == SIS_DISTANCE_LEVENSHTEIN)
        return (points->both ? strands_distance : letters_distance)(&x, &y, out);
    *out = sis__is_energy(points->distance) ? energy_distance(&x, &y) : sis__set_distance(&x, &y);
    if (points->distance == SIS_DISTANCE_ENERGY_SQRT)
        *out = sqrt(*out);
    return SIS_OK;
}
