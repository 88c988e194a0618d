/* SPDX-License-Identifier: MIT
 *
 * Finds distinct points by a hash of their rows, in one pass, and sorts them for the index.
 */
#include "analysis/space.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/platform.h"

/* ---- Equal points -------------------------------------------------------------------------- */

static uint64_t row_hash(const sis__row *r) {
    uint64_t h = sis__bytes_hash(r->items, r->n * sizeof *r->items, 1);
    return r->values ? sis__bytes_hash(r->values, r->n * sizeof *r->values, h) : h;
}

static size_t table_size(size_t n) {
    size_t size = 64;
    while (size < 2 * n)
        size *= 2;
    return size;
}

/* s->of, first and weight, numbered in order of appearance. */
static int find_equals(sis__space *s) {
    const sis_points *p = s->points;
    size_t size = table_size(p->n);
    uint32_t *table = SIS_NEW(uint32_t, size); /* number + 1 */
    if (!table)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < p->n; i++) {
        sis__row row = sis__points_row(p, i), other;
        size_t at = row_hash(&row) & (size - 1);
        for (; table[at]; at = (at + 1) & (size - 1)) {
            other = sis__points_row(p, s->first[table[at] - 1]);
            if (sis__row_order(&row, &other) == 0)
                break;
        }
        if (!table[at]) {
            s->first[s->n] = i;
            table[at] = (uint32_t)++s->n;
        }
        s->of[i] = table[at] - 1;
        s->weight[s->of[i]]++;
    }
    free(table);
    return SIS_OK;
}

/* Points of a callback are all distinct. */
static void number_all(sis__space *s) {
    for (size_t i = 0; i < s->points->n; i++) {
        s->first[i] = i;
        s->weight[i] = 1;
        s->of[i] = (uint32_t)i;
    }
    s->n = s->points->n;
}

/* ---- Order --------------------------------------------------------------------------------- */

static int by_row(const void *a, const void *b, void *ctx) {
    const sis__space *s = (const sis__space *)ctx;
    sis__row x = sis__points_row(s->points, s->first[*(const uint32_t *)a]);
    sis__row y = sis__points_row(s->points, s->first[*(const uint32_t *)b]);
    int order = s->metric->order ? s->metric->order(&x, &y) : 0;
    return order ? order : sis__row_order(&x, &y);
}

/* Renumber the distinct points: old[k] becomes k. */
static int renumber(sis__space *s, const uint32_t *old) {
    size_t *first = SIS_NEW(size_t, s->n), *weight = SIS_NEW(size_t, s->n);
    uint32_t *new_number = SIS_NEW(uint32_t, s->n);
    if (!first || !weight || !new_number) {
        free(first);
        free(weight);
        free(new_number);
        return SIS_E_NOMEM;
    }
    for (size_t k = 0; k < s->n; k++) {
        first[k] = s->first[old[k]];
        weight[k] = s->weight[old[k]];
        new_number[old[k]] = (uint32_t)k;
    }
    for (size_t i = 0; i < s->points->n; i++)
        s->of[i] = new_number[s->of[i]];
    free(s->first);
    free(s->weight);
    free(new_number);
    s->first = first;
    s->weight = weight;
    return SIS_OK;
}

static int sort_points(sis__space *s) {
    uint32_t *old = SIS_NEW_RAW(uint32_t, s->n);
    if (!old)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < s->n; k++)
        old[k] = (uint32_t)k;
    sis__sort(old, s->n, sizeof *old, by_row, s);
    int code = renumber(s, old);
    free(old);
    return code;
}

/* Copy the rows of the distinct points consecutively. */
static int copy_rows(sis__space *s) {
    size_t total = 0;
    for (size_t u = 0; u < s->n; u++)
        total += sis__points_row(s->points, s->first[u]).n;
    s->start = SIS_NEW(size_t, s->n + 1);
    s->items = SIS_NEW_RAW(uint32_t, total);
    s->values = s->points->values ? SIS_NEW_RAW(uint32_t, total) : NULL;
    if (!s->start || !s->items || (s->points->values && !s->values))
        return SIS_E_NOMEM;
    for (size_t u = 0; u < s->n; u++) {
        sis__row row = sis__points_row(s->points, s->first[u]);
        size_t at = s->start[u];
        memcpy(s->items + at, row.items, row.n * sizeof *row.items);
        if (s->values)
            memcpy(s->values + at, row.values, row.n * sizeof *row.values);
        s->start[u + 1] = at + row.n;
    }
    return SIS_OK;
}

/* ---- The space ----------------------------------------------------------------------------- */

static const sis__metric *metric_of(sis_distance d) {
    return d == SIS_DISTANCE_CUSTOM        ? &sis__metric_scan
           : d == SIS_DISTANCE_LEVENSHTEIN ? &sis__metric_edit
           : sis__is_energy(d)             ? &sis__metric_energy
                                           : &sis__metric_sets;
}

static int build(sis__space *s) {
    size_t n = s->points->n;
    s->of = SIS_NEW_RAW(uint32_t, n);
    s->first = SIS_NEW_RAW(size_t, n);
    s->weight = SIS_NEW(size_t, n);
    if (!s->of || !s->first || !s->weight)
        return SIS_E_NOMEM;
    if (s->points->distance == SIS_DISTANCE_CUSTOM) {
        number_all(s);
        return SIS_OK;
    }
    int code = find_equals(s);
    if (code == SIS_OK)
        code = sort_points(s);
    if (code == SIS_OK)
        code = copy_rows(s);
    return code;
}

int sis__space_new(const sis_points *points, double eps, sis__space *out) {
    *out = (sis__space){.points = points, .metric = metric_of(points->distance), .eps = eps};
    if (points->n >= UINT32_MAX)
        return sis__fail(SIS_E_UNSUPPORTED, "more than 2^32 points");
    int code = build(out);
    if (code == SIS_OK && out->metric->index_new)
        code = out->metric->index_new(out);
    if (code != SIS_OK)
        sis__space_release(out);
    return code;
}

void sis__space_release(sis__space *s) {
    if (s->index)
        s->metric->index_free(s);
    free(s->first);
    free(s->weight);
    free(s->of);
    free(s->start);
    free(s->items);
    free(s->values);
    *s = (sis__space){0};
}

/* ---- Threads ------------------------------------------------------------------------------- */

int sis__jobs(int jobs) {
    return jobs > 0 ? jobs : sis__cores();
}

void **sis__scratches_new(const sis__space *s, int jobs) {
    void **scratches = SIS_NEW(void *, (size_t)jobs);
    for (int j = 0; scratches && s->metric->scratch_new && j < jobs; j++)
        if (s->metric->scratch_new(s, &scratches[j]) != SIS_OK) {
            sis__scratches_free(s, scratches, j);
            return NULL;
        }
    return scratches;
}

void sis__scratches_free(const sis__space *s, void **scratches, int jobs) {
    for (int j = 0; scratches && s->metric->scratch_free && j < jobs; j++)
        s->metric->scratch_free(scratches[j]);
    free(scratches);
}

int sis__near_add(sis__near *near, size_t v) {
    int code = sis__reserve(&near->items, &near->room, near->n + 1, sizeof *near->items);
    if (code == SIS_OK)
        near->items[near->n++] = (uint32_t)v;
    return code;
}
