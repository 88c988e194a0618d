/* SPDX-License-Identifier: MIT
 *
 * Storage of the points to be clustered. A point is a row of 32-bit items, which depend on the
 * distance:
 *
 *     jaccard       ids of its words, sorted, without duplicates; in a bag of words, the second
 *                   "very" has an id of its own
 *     levenshtein   its letters
 *     energy        its pixels, row * 65536 + column, sorted, without duplicates
 *     overlap       ids of its column names, sorted, without duplicates; `values` has the id of the
 *                   value in each column
 *
 * Equal points are equal rows.
 */
#ifndef SIS_ANALYSIS_POINTS_H
#define SIS_ANALYSIS_POINTS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <sis/analysis.h>

#include "base/names.h"

/* One row. */
typedef struct sis__row {
    const uint32_t *items, *values; /* (n); values of cells, else NULL */
    size_t n;
} sis__row;

struct sis_points {
    sis_distance distance;
    size_t n;
    size_t *start; /* (n + 1) where each row begins */
    size_t start_room;
    uint32_t *items, *values;
    size_t items_room, values_room;
    int both;         /* compare both strands of DNA */
    sis__names names; /* ids of words or columns */
    sis__names extra; /* ids of values; of second and further occurrences of words */
    sis_distance_fn custom;
    void *ctx;
};

sis__row sis__points_row(const sis_points *points, size_t i);

/* Order of rows: the shorter first, then the one with the lower item at the first difference. 0:
 * equal. */
int sis__row_order(const sis__row *a, const sis__row *b);

/* Sort and remove duplicates; returns the number left. */
size_t sis__items_sort(uint32_t *items, size_t n);

static inline int sis__is_energy(sis_distance d) {
    return d == SIS_DISTANCE_ENERGY || d == SIS_DISTANCE_ENERGY_SQRT;
}

/* The complementary base; other letters are unchanged. */
static inline uint32_t sis__opposite(uint32_t letter) {
    return letter == 'A'   ? 'T'
           : letter == 'T' ? 'A'
           : letter == 'C' ? 'G'
           : letter == 'G' ? 'C'
                           : letter;
}

/* The Euclidean distance between two pixels. */
static inline double sis__pixel_gap(uint32_t p, uint32_t q) {
    double dy = (double)(p >> 16) - (double)(q >> 16);
    double dx = (double)(p & 0xFFFF) - (double)(q & 0xFFFF);
    return sqrt(dy * dy + dx * dx);
}

/* The jaccard or overlap distance: the reference that indexes must match to the bit. */
double sis__set_distance(const sis__row *a, const sis__row *b);

/* The energy distance, given the sums of pixel distances between a and b, within a and within b. */
double sis__energy_of_sums(double ab, double aa, double bb, size_t n_a, size_t n_b);

#endif
