/* SPDX-License-Identifier: MIT
 *
 * From a subset of a record to a point: its words, its letters, its pixels or its cells. Records come from
 * files, so what a distance needs may not be there; each function says which field is missing.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "global/points.h"

/* ---- What is missing ----------------------------------------------------------------------- */

static int lacks(const sis_points *p, const sis_record *r, const char *what) {
    return sis__fail(SIS_E_FORMAT,
                     "record \"%s\": the distance %s needs %s; this record (kind \"%s\") "
                     "has none",
                     r->id ? r->id : "", sis_distance_name(p->distance), what,
                     r->kind ? r->kind : "not given");
}

static int by_number(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The features of subset k, ascending; NULL after a failure. */
static int *ascending(const sis_subset *s) {
    int *features = (int *)sis__copy(s->features, s->n, sizeof *features);
    if (features)
        qsort(features, s->n, sizeof *features, by_number);
    return features;
}

/* ---- Words --------------------------------------------------------------------------------- */

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The words of the subset in lower case, in one block; *words points into it. */
static char *lower_words(const sis_record *r, const sis_subset *s, const char **words) {
    size_t n = 0;
    for (size_t k = 0; k < s->n; k++)
        n += strlen(r->words[s->features[k]]) + 1;
    char *block = SIS_NEW_RAW(char, n), *at = block;
    for (size_t k = 0; block && k < s->n; k++) {
        words[k] = at;
        for (const char *c = r->words[s->features[k]]; *c; c++)
            *at++ = lower(*c);
        *at++ = '\0';
    }
    return block;
}

static int add_words(sis_points *p, const sis_record *r, const sis_subset *s) {
    if (!r->words)
        return lacks(p, r, "words");
    const char **words = SIS_NEW(const char *, s->n);
    char *block = words ? lower_words(r, s, words) : NULL;
    int code = block ? sis_points_add_words(p, words, s->n) : SIS_E_NOMEM;
    free(block);
    free(words);
    return code;
}

/* ---- Letters ------------------------------------------------------------------------------- */

static char base_of(char c) {
    static const char known[] = "ACGTacgt";
    const char *at = c ? strchr(known, c) : NULL;
    return at ? known[(at - known) % 4] : 'N';
}

int sis_subset_letters(const sis_record *record, size_t k, char **letters, size_t *n) {
    *letters = NULL;
    *n = 0;
    if (!record->sequence || k >= record->collection.n_subsets)
        return sis__fail(SIS_E_FORMAT, "record \"%s\": has no %s", record->id ? record->id : "",
                         record->sequence ? "such subset" : "sequence");
    const sis_subset *s = &record->collection.subsets[k];
    int first = INT_MAX, last = 0;
    for (size_t i = 0; i < s->n; i++) {
        first = s->features[i] < first ? s->features[i] : first;
        last = s->features[i] > last ? s->features[i] : last;
    }
    *n = (size_t)(last - first) + 1;
    char *text = SIS_NEW_RAW(char, *n + 1);
    if (!text)
        return SIS_E_NOMEM;
    memset(text, 'N', *n);
    text[*n] = '\0';
    for (size_t i = 0; i < s->n; i++)
        text[s->features[i] - first] = base_of(record->sequence[s->features[i]]);
    *letters = text;
    return SIS_OK;
}

static int add_letters(sis_points *p, const sis_record *r, size_t k) {
    char *letters;
    size_t n;
    if (!r->sequence)
        return lacks(p, r, "a sequence");
    int code = sis_subset_letters(r, k, &letters, &n);
    if (code == SIS_OK && (code = sis_points_add_letters(p, letters, n)) == SIS_E_ARGUMENT)
        code = sis__fail_in(SIS_E_FORMAT, "record \"%s\"", r->id ? r->id : "");
    free(letters);
    return code;
}

/* ---- Pixels -------------------------------------------------------------------------------- */

/* How values lie in an image: value v is in row v / row_step % rows, and so on. */
typedef struct {
    size_t rows, columns, row_step, column_step;
    size_t n; /* values in all */
} raster;

enum { CHANNELS_MOST = 4 };

/* (h, w), (h, w, channels) or (channels, h, w); 0 if it is none of these. */
static int raster_of(const sis_record *r, raster *g) {
    const size_t *d = r->shape;
    if (d && r->rank == 2)
        *g = (raster){d[0], d[1], d[1], 1, 1};
    else if (d && r->rank == 3 && d[2] <= CHANNELS_MOST)
        *g = (raster){d[0], d[1], d[1] * d[2], d[2], d[2]};
    else if (d && r->rank == 3 && d[0] <= CHANNELS_MOST)
        *g = (raster){d[1], d[2], d[2], 1, d[0]};
    else
        return 0;
    if (g->rows < 1 || g->columns < 1 || g->n < 1 || g->rows > 65536 || g->columns > 65536)
        return 0;
    g->n *= g->rows * g->columns;
    return 1;
}

static int has_feature(const int *sorted, size_t n, int feature) {
    return bsearch(&feature, sorted, n, sizeof *sorted, by_number) != NULL;
}

/* The places of the values of these features; *count of them. `places` has room for all. */
static int find_places(const sis_record *r, const raster *g, const int *features, size_t n,
                       int *places, size_t *count) {
    size_t values = r->feature_map ? r->n_values : n;
    *count = 0;
    for (size_t v = 0; v < values; v++) {
        if (r->feature_map && !has_feature(features, n, r->feature_map[v]))
            continue;
        size_t at = r->feature_map ? v : (size_t)features[v];
        size_t y = at / g->row_step % g->rows, x = at / g->column_step % g->columns;
        places[2 * *count] = (int)y;
        places[2 * *count + 1] = (int)x;
        ++*count;
    }
    return *count > 0;
}

static int add_pixels(sis_points *p, const sis_record *r, const sis_subset *s) {
    raster g;
    size_t n = r->feature_map ? r->n_values : s->n, count = 0;
    if (!raster_of(r, &g))
        return lacks(p, r, "the shape of an image");
    if (!r->feature_map && r->collection.n_features != g.n)
        return lacks(p, r, "a shape that fits its features");
    int *features = ascending(s), *places = SIS_NEW(int, n > SIZE_MAX / 2 ? SIZE_MAX : 2 * n);
    int code = features && places ? SIS_OK : SIS_E_NOMEM;
    if (code == SIS_OK && !find_places(r, &g, features, s->n, places, &count))
        code = lacks(p, r, "pixels for the features of every subset");
    if (code == SIS_OK)
        code = sis_points_add_pixels(p, places, count);
    free(features);
    free(places);
    return code;
}

/* ---- Cells --------------------------------------------------------------------------------- */

enum { NAME_SIZE = 24 };

/* What a feature is: its value, or of several values (a one-hot block) which one is the largest. */
static double value_of(const sis_record *r, int feature) {
    if (!r->feature_map)
        return r->values[feature];
    double best = 0;
    size_t count = 0, which = 0;
    for (size_t v = 0; v < r->n_values; v++) {
        if (r->feature_map[v] != feature)
            continue;
        if (count == 0 || r->values[v] > best) {
            best = r->values[v];
            which = count;
        }
        count++;
    }
    return count > 1 ? (double)which : best;
}

/* What a feature is called: its own name if there is one for each, else its number. */
static const char *name_of(const sis_record *r, int feature, char number[NAME_SIZE]) {
    if (r->names && r->n_names == r->collection.n_features)
        return r->names[feature];
    snprintf(number, NAME_SIZE, "%d", feature);
    return number;
}

static int add_cells(sis_points *p, const sis_record *r, const sis_subset *s) {
    if (!r->values)
        return lacks(p, r, "values");
    const char **names = SIS_NEW(const char *, s->n);
    char(*numbers)[NAME_SIZE] = (char(*)[NAME_SIZE])sis__alloc(s->n, NAME_SIZE);
    double *values = SIS_NEW(double, s->n);
    int code = names && numbers && values ? SIS_OK : SIS_E_NOMEM;
    for (size_t k = 0; code == SIS_OK && k < s->n; k++) {
        names[k] = name_of(r, s->features[k], numbers[k]);
        values[k] = value_of(r, s->features[k]);
    }
    if (code == SIS_OK && (code = sis_points_add_cells(p, names, values, s->n)) == SIS_E_ARGUMENT)
        code = sis__fail_in(SIS_E_FORMAT, "record \"%s\"", r->id ? r->id : "");
    free(names);
    free(numbers);
    free(values);
    return code;
}

/* ---- Any ----------------------------------------------------------------------------------- */

int sis_points_add_subset(sis_points *points, const sis_record *record, size_t k) {
    if (k >= record->collection.n_subsets)
        return sis__fail(SIS_E_ARGUMENT, "record \"%s\" has no subset %zu",
                         record->id ? record->id : "", k);
    const sis_subset *s = &record->collection.subsets[k];
    switch (points->distance) {
    case SIS_DISTANCE_JACCARD:
    case SIS_DISTANCE_JACCARD_BAG:
        return add_words(points, record, s);
    case SIS_DISTANCE_LEVENSHTEIN:
        return add_letters(points, record, k);
    case SIS_DISTANCE_ENERGY:
    case SIS_DISTANCE_ENERGY_SQRT:
        return add_pixels(points, record, s);
    case SIS_DISTANCE_OVERLAP:
        return add_cells(points, record, s);
    default:
        return sis__fail(SIS_E_ARGUMENT,
                         "points of a distance of one's own are not made of records");
    }
}
