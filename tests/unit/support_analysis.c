/* SPDX-License-Identifier: MIT
 *
 * See support_analysis.h.
 */
#include "support_analysis.h"

#include <stdio.h>
#include <stdlib.h>

#include "support.h"

enum { ITEMS = 200 };

static int add_words(sis_points *p, sis__rng *r, size_t spread) {
    char text[8][16];
    const char *words[8];
    size_t n = 1 + sis__rng_below(r, 6);
    for (size_t k = 0; k < n; k++) { /* low numbers are more frequent */
        size_t word = sis__rng_below(r, 1 + sis__rng_below(r, 12 * spread));
        snprintf(text[k], sizeof text[k], "w%zu", word);
        words[k] = text[k];
    }
    return sis_points_add_words(p, words, n);
}

/* Mutations of one of three strings of 13, 70 or 30 letters, or a random string. */
static int add_letters(sis_points *p, sis__rng *r, size_t spread) {
    static const size_t lengths[] = {13, 70, 30};
    char text[ITEMS];
    size_t which = sis__rng_below(r, 4), n = which < 3 ? lengths[which] : 1 + sis__rng_below(r, 90);
    for (size_t k = 0; k < n; k++)
        text[k] = "ACGTN"[which < 3 ? (k * (which + 2) + k / 3) % 5 : sis__rng_below(r, 5)];
    for (size_t e = sis__rng_below(r, 3 * spread); e > 0; e--)
        text[sis__rng_below(r, n)] = "ACGTN"[sis__rng_below(r, 5)];
    return sis_points_add_letters(p, text, n - (which < 3 ? sis__rng_below(r, 2) : 0));
}

static int add_pixels(sis_points *p, sis__rng *r, size_t spread) {
    int places[2 * 40];
    size_t n = 1 + sis__rng_below(r, 12), y = sis__rng_below(r, 6 * spread),
           x = sis__rng_below(r, 6 * spread);
    for (size_t k = 0; k < n; k++) {
        places[2 * k] = (int)(y + sis__rng_below(r, 1 + spread));
        places[2 * k + 1] = (int)(x + sis__rng_below(r, 2 + spread));
    }
    return sis_points_add_pixels(p, places, n);
}

static int add_cells(sis_points *p, sis__rng *r, size_t spread) {
    static const char *const names[] = {"age", "debt", "income", "late", "savings"};
    const char *chosen[5];
    double values[5];
    size_t n = 0;
    for (size_t k = 0; k < 5; k++)
        if (sis__rng_below(r, 2) || (k == 4 && n == 0)) {
            chosen[n] = names[k];
            values[n++] = (double)sis__rng_below(r, 2 * spread) / 2;
        }
    return sis_points_add_cells(p, chosen, values, n);
}

sis_points *random_points(sis__rng *r, sis_distance distance, size_t n, size_t spread) {
    sis_points *p;
    assert_int_equal(sis_points_new(distance, &p), 0);
    for (size_t i = 0; i < n; i++) {
        int code = distance == SIS_DISTANCE_LEVENSHTEIN ? add_letters(p, r, spread)
                   : distance == SIS_DISTANCE_OVERLAP   ? add_cells(p, r, spread)
                   : distance == SIS_DISTANCE_ENERGY || distance == SIS_DISTANCE_ENERGY_SQRT
                       ? add_pixels(p, r, spread)
                       : add_words(p, r, spread);
        assert_int_equal(code, 0);
    }
    return p;
}

double *distance_matrix(const sis_points *points) {
    size_t n = sis_points_count(points);
    double *m = (double *)calloc(n * n, sizeof *m);
    assert_non_null(m);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            assert_int_equal(sis_points_distance(points, i, j, &m[i * n + j]), 0);
    return m;
}

static size_t neighbours(const double *m, size_t n, size_t i, double eps) {
    size_t count = 0;
    for (size_t j = 0; j < n; j++)
        count += m[i * n + j] <= eps;
    return count;
}

int *plain_dbscan(const double *m, size_t n, double eps, size_t min_size) {
    int *labels = (int *)calloc(n, sizeof *labels), next = 0;
    size_t *stack = (size_t *)calloc(n + 1, sizeof *stack);
    assert_non_null(labels);
    assert_non_null(stack);
    for (size_t i = 0; i < n; i++)
        labels[i] = -1;
    for (size_t i = 0; i < n; i++) {
        if (labels[i] >= 0 || neighbours(m, n, i, eps) < min_size)
            continue;
        size_t depth = 0;
        labels[i] = next;
        stack[depth++] = i;
        while (depth > 0) {
            size_t at = stack[--depth];
            if (neighbours(m, n, at, eps) < min_size)
                continue;
            for (size_t j = 0; j < n; j++)
                if (labels[j] < 0 && m[at * n + j] <= eps) {
                    labels[j] = next;
                    stack[depth++] = j;
                }
        }
        next++;
    }
    free(stack);
    return labels;
}
