/* SPDX-License-Identifier: MIT
 *
 * Adds points: words and values become numbers, and rows of sets are sorted. See points.h for the
 * layout of rows.
 */
#include "analysis/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/texts.h"

enum { LETTERS_MAX = 65535, PLACE_MAX = 65535 };

/* ---- Names --------------------------------------------------------------------------------- */

const char *sis_distance_name(sis_distance distance) {
    return (unsigned)distance < SIS_DISTANCE_CUSTOM ? SIS__TEXT_OF(SIS_DISTANCES, distance)
                                                    : "custom";
}

int sis_distance_find(const char *name, sis_distance *out) {
    for (*out = 0; *out < SIS_DISTANCE_CUSTOM; ++*out)
        if (strcmp(name, sis_distance_name(*out)) == 0)
            return SIS_OK;
    return sis__fail(SIS_E_ARGUMENT, "unknown distance \"%s\"", name);
}

sis_distance sis_distance_of_kind(const char *kind) {
    static const sis_distance distances_of[SIS_N_KINDS] = {
        [SIS_KIND_NONE] = SIS_DISTANCE_OVERLAP,    [SIS_KIND_ARRAY] = SIS_DISTANCE_OVERLAP,
        [SIS_KIND_TABLE] = SIS_DISTANCE_OVERLAP,   [SIS_KIND_TEXT] = SIS_DISTANCE_JACCARD,
        [SIS_KIND_DNA] = SIS_DISTANCE_LEVENSHTEIN, [SIS_KIND_IMAGE] = SIS_DISTANCE_ENERGY};
    return distances_of[sis_kind_of(kind)];
}

/* ---- Points -------------------------------------------------------------------------------- */

int sis_points_new(sis_distance distance, sis_points **out) {
    *out = NULL;
    if ((unsigned)distance >= SIS_DISTANCE_CUSTOM)
        return sis__fail(SIS_E_ARGUMENT, "unknown distance number %d", (int)distance);
    sis_points *p = SIS_NEW(sis_points, 1);
    void *start = NULL;
    if (!p || sis__reserve(&start, &p->start_room, 1, sizeof *p->start) != SIS_OK) {
        free(p);
        return SIS_E_NOMEM;
    }
    p->start = (size_t *)start;
    p->start[0] = 0;
    p->distance = distance;
    *out = p;
    return SIS_OK;
}

int sis_points_new_custom(size_t n, sis_distance_fn distance, void *ctx, sis_points **out) {
    *out = NULL;
    if (!distance)
        return sis__fail(SIS_E_ARGUMENT, "the distance function is missing");
    sis_points *p = SIS_NEW(sis_points, 1);
    if (!p)
        return SIS_E_NOMEM;
    *p = (sis_points){.distance = SIS_DISTANCE_CUSTOM, .n = n, .custom = distance, .ctx = ctx};
    *out = p;
    return SIS_OK;
}

void sis_points_free(sis_points *points) {
    if (!points)
        return;
    free(points->start);
    free(points->items);
    free(points->values);
    sis__names_release(&points->names);
    sis__names_release(&points->extra);
    free(points);
}

size_t sis_points_count(const sis_points *points) {
    return points->n;
}

sis_distance sis_points_distance_kind(const sis_points *points) {
    return points->distance;
}

int sis_points_both_strands(sis_points *points, int both) {
    if (points->distance != SIS_DISTANCE_LEVENSHTEIN)
        return sis__fail(SIS_E_ARGUMENT, "points of distance %s have no strands",
                         sis_distance_name(points->distance));
    points->both = both;
    return SIS_OK;
}

sis__row sis__points_row(const sis_points *points, size_t i) {
    size_t at = points->start[i];
    return (sis__row){points->items + at, points->values ? points->values + at : NULL,
                      points->start[i + 1] - at};
}

int sis__row_order(const sis__row *a, const sis__row *b) {
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (size_t k = 0; k < a->n; k++)
        if (a->items[k] != b->items[k])
            return a->items[k] < b->items[k] ? -1 : 1;
    for (size_t k = 0; a->values && k < a->n; k++)
        if (a->values[k] != b->values[k])
            return a->values[k] < b->values[k] ? -1 : 1;
    return 0;
}

/* ---- Adding -------------------------------------------------------------------------------- */

/* Reserve a row of n items after the others: *items, and *values if needed. Nothing is added before
 * end_row. */
static int begin_row(sis_points *p, sis_distance a, sis_distance b, size_t n) {
    if (p->distance != a && p->distance != b)
        return sis__fail(SIS_E_ARGUMENT, "points of distance %s are built from other data",
                         sis_distance_name(p->distance));
    if (n == 0)
        return sis__fail(SIS_E_ARGUMENT, "a point needs at least one item");
    size_t used = p->start[p->n];
    int code = sis__reserve(&p->start, &p->start_room, p->n + 2, sizeof *p->start);
    if (code == SIS_OK)
        code = sis__reserve(&p->items, &p->items_room, used + n, sizeof *p->items);
    if (code == SIS_OK && p->distance == SIS_DISTANCE_OVERLAP)
        code = sis__reserve(&p->values, &p->values_room, used + n, sizeof *p->values);
    return code;
}

static void end_row(sis_points *p, size_t n) {
    p->start[p->n + 1] = p->start[p->n] + n;
    p->n++;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

size_t sis__items_sort(uint32_t *items, size_t n) {
    size_t kept = 0;
    if (n > 0)
        qsort(items, n, sizeof *items, by_number);
    for (size_t k = 0; k < n; k++)
        if (k == 0 || items[k] != items[kept - 1])
            items[kept++] = items[k];
    return kept;
}

/* Turn sorted words into pairs of word and occurrence, so that bags become sets: the second "very"
 * is another item than the first. `extra` numbers the pairs. */
static int number_repeats(sis_points *p, uint32_t *items, size_t n) {
    uint32_t key[2] = {0, 0};
    for (size_t k = 0; k < n; k++) {
        uint32_t number;
        key[1] = k > 0 && items[k] == key[0] ? key[1] + 1 : 0;
        key[0] = items[k];
        int code = sis__names_add(&p->extra, key, sizeof key, &number);
        if (code != SIS_OK)
            return code;
        items[k] = number;
    }
    return SIS_OK;
}

int sis_points_add_words(sis_points *points, const char *const *words, size_t n) {
    int code = begin_row(points, SIS_DISTANCE_JACCARD, SIS_DISTANCE_JACCARD_BAG, n);
    uint32_t *items = code == SIS_OK ? points->items + points->start[points->n] : NULL;
    for (size_t k = 0; k < n && code == SIS_OK; k++)
        code = sis__names_add(&points->names, words[k], strlen(words[k]), &items[k]);
    if (code == SIS_OK && points->distance == SIS_DISTANCE_JACCARD_BAG) {
        qsort(items, n, sizeof *items, by_number);
        code = number_repeats(points, items, n);
    }
    if (code == SIS_OK)
        end_row(points, sis__items_sort(items, n));
    return code;
}

int sis_points_add_letters(sis_points *points, const char *letters, size_t n) {
    if (n > LETTERS_MAX)
        return sis__fail(SIS_E_ARGUMENT, "a string of %zu letters; expected at most %d", n,
                         LETTERS_MAX);
    int code = begin_row(points, SIS_DISTANCE_LEVENSHTEIN, SIS_DISTANCE_LEVENSHTEIN, n);
    if (code != SIS_OK)
        return code;
    for (size_t k = 0; k < n; k++)
        points->items[points->start[points->n] + k] = (unsigned char)letters[k];
    end_row(points, n);
    return SIS_OK;
}

int sis_points_add_pixels(sis_points *points, const int *places, size_t n) {
    int code = begin_row(points, SIS_DISTANCE_ENERGY, SIS_DISTANCE_ENERGY_SQRT, n);
    uint32_t *items = code == SIS_OK ? points->items + points->start[points->n] : NULL;
    for (size_t k = 0; k < n && code == SIS_OK; k++) {
        int y = places[2 * k], x = places[2 * k + 1];
        if (y < 0 || x < 0 || y > PLACE_MAX || x > PLACE_MAX)
            code = sis__fail(SIS_E_ARGUMENT, "a pixel at row %d, column %d; expected 0 to %d", y, x,
                             PLACE_MAX);
        items[k] = (uint32_t)y << 16 | ((uint32_t)x & 0xFFFF);
    }
    if (code == SIS_OK)
        end_row(points, sis__items_sort(items, n));
    return code;
}

/* Name and value, to be sorted together. */
typedef struct {
    uint32_t name, value;
} cell;

static int by_name(const void *a, const void *b) {
    return by_number(&((const cell *)a)->name, &((const cell *)b)->name);
}

/* The cells, numbered and sorted by name. */
static int number_cells(sis_points *p, const char *const *names, const double *values, size_t n,
                        cell *cells) {
    for (size_t k = 0; k < n; k++) {
        double v = values[k] == 0 ? 0 : values[k]; /* -0 is 0 */
        int code = isnan(v) ? sis__fail(SIS_E_ARGUMENT, "a value is not a number")
                            : sis__names_add(&p->names, names[k], strlen(names[k]), &cells[k].name);
        if (code == SIS_OK)
            code = sis__names_add(&p->extra, &v, sizeof v, &cells[k].value);
        if (code != SIS_OK)
            return code;
    }
    qsort(cells, n, sizeof *cells, by_name);
    for (size_t k = 1; k < n; k++)
        if (cells[k].name == cells[k - 1].name)
            return sis__fail(SIS_E_ARGUMENT, "a name occurs twice");
    return SIS_OK;
}

int sis_points_add_cells(sis_points *points, const char *const *names, const double *values,
                         size_t n) {
    int code = begin_row(points, SIS_DISTANCE_OVERLAP, SIS_DISTANCE_OVERLAP, n);
    if (code != SIS_OK)
        return code;
    cell *cells = SIS_NEW(cell, n);
    code = cells ? number_cells(points, names, values, n, cells) : SIS_E_NOMEM;
    if (code == SIS_OK) {
        size_t at = points->start[points->n];
        for (size_t k = 0; k < n; k++) {
            points->items[at + k] = cells[k].name;
            points->values[at + k] = cells[k].value;
        }
        end_row(points, n);
    }
    free(cells);
    return code;
}
