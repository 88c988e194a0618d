/* SPDX-License-Identifier: MIT
 *
 * Converts a subset of a record to a point: its words, letters, pixels or cells. Records come from
 * files and may lack what a distance needs; errors name the missing field.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/record.h>
#include <sis/text.h>

#include "analysis/points.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"

/* ---- Errors ---------------------------------------------------------------------------------- */

static int lacks(const sis_points *p, const sis_record *r, const char *what) {
    return sis__fail(SIS_E_FORMAT,
                     "record \"%.100s\": the distance %s needs %s; this record (kind \"%s\") "
                     "has none",
                     r->id ? r->id : "", sis_distance_name(p->distance), what,
                     r->drawing.kind ? r->drawing.kind : "not given");
}

/* The features of subset k, ascending; NULL after a failure. */
static int *ascending(const sis_subset *s) {
    int *features = (int *)sis__copy(s->features, s->n, sizeof *features);
    if (features)
        qsort(features, s->n, sizeof *features, sis__by_int);
    return features;
}

/* ---- Words --------------------------------------------------------------------------------- */

/* The word in lower case, as in the tokenizer; unchanged if the tokenizer would split it. */
static int lower(const char *word, sis_words *split, char **out) {
    int code = sis_words_split(word, split);
    if (code == SIS_OK && !(*out = sis__strdup(split->n == 1 ? split->items[0].text : word)))
        code = SIS_E_NOMEM;
    return code;
}

static int add_words(sis_points *p, const sis_record *r, const sis_subset *s) {
    sis_words split = {0};
    if (!r->drawing.words)
        return lacks(p, r, "words");
    char **words = SIS_NEW(char *, s->n);
    int code = words ? SIS_OK : SIS_E_NOMEM;
    for (size_t k = 0; k < s->n && code == SIS_OK; k++)
        code = lower(r->drawing.words[s->features[k]], &split, &words[k]);
    if (code == SIS_OK)
        code = sis_points_add_words(p, (const char *const *)words, s->n);
    for (size_t k = 0; words && k < s->n; k++)
        free(words[k]);
    free(words);
    sis_words_release(&split);
    return code;
}

/* ---- Letters ------------------------------------------------------------------------------- */

static char base_of(char c) {
    static const char known[] = "ACGTacgt";
    const char *at = c ? strchr(known, c) : NULL;
    return at ? known[(at - known) % 4] : 'N';
}

/* The first and the last base of subset k. */
static int find_span(const sis_record *record, size_t k, int *first, int *last) {
    if (!record->drawing.sequence || k >= record->collection.n_subsets)
        return sis__fail(SIS_E_FORMAT, "record \"%.100s\" has no %s", record->id ? record->id : "",
                         record->drawing.sequence ? "such subset" : "sequence");
    const sis_subset *s = &record->collection.subsets[k];
    *first = INT_MAX;
    *last = 0;
    for (size_t i = 0; i < s->n; i++) {
        *first = s->features[i] < *first ? s->features[i] : *first;
        *last = s->features[i] > *last ? s->features[i] : *last;
    }
    return SIS_OK;
}

int sis_subset_letters(const sis_record *record, size_t k, char **letters, size_t *n) {
    int first, last;
    *letters = NULL;
    *n = 0;
    int error = find_span(record, k, &first, &last);
    if (error != SIS_OK)
        return error;
    const sis_subset *s = &record->collection.subsets[k];
    *n = (size_t)(last - first) + 1;
    char *text = SIS_NEW_RAW(char, *n + 1);
    if (!text)
        return SIS_E_NOMEM;
    memset(text, 'N', *n);
    text[*n] = '\0';
    for (size_t i = 0; i < s->n; i++)
        text[s->features[i] - first] = base_of(record->drawing.sequence[s->features[i]]);
    *letters = text;
    return SIS_OK;
}

int sis_subset_window(const sis_record *record, size_t k, size_t flank, char **letters, size_t *n) {
    int first, last;
    *letters = NULL;
    *n = 0;
    int error = find_span(record, k, &first, &last);
    if (error != SIS_OK)
        return error;
    const char *sequence = record->drawing.sequence;
    size_t length = strlen(sequence), from = (size_t)first, to = (size_t)last + 1;
    *n = to - from + 2 * flank;
    char *text = SIS_NEW_RAW(char, *n + 1);
    if (!text)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < *n; i++)
        text[i] = from + i >= flank && from + i - flank < length
                      ? base_of(sequence[from + i - flank])
                      : 'N';
    text[*n] = '\0';
    *letters = text;
    return SIS_OK;
}

static int add_letters(sis_points *p, const sis_record *r, size_t k) {
    char *letters;
    size_t n;
    if (!r->drawing.sequence)
        return lacks(p, r, "a sequence");
    int code = sis_subset_letters(r, k, &letters, &n);
    if (code == SIS_OK && (code = sis_points_add_letters(p, letters, n)) == SIS_E_ARGUMENT)
        code = sis__fail_in(SIS_E_FORMAT, "record \"%.100s\"", r->id ? r->id : "");
    free(letters);
    return code;
}

/* ---- Pixels -------------------------------------------------------------------------------- */

static int has_feature(const int *sorted, size_t n, int feature) {
    return bsearch(&feature, sorted, n, sizeof *sorted, sis__by_int) != NULL;
}

typedef struct {
    int row, column;
    double sum; /* of its values */
    size_t n;
} pixel;

static int by_place(const void *a, const void *b) {
    const pixel *x = (const pixel *)a, *y = (const pixel *)b;
    return x->row != y->row ? (x->row > y->row) - (x->row < y->row)
                            : (x->column > y->column) - (x->column < y->column);
}

/* The pixels of the values of these features, in order, without duplicates; returns their number.
 * `pixels` has room for every value. */
static size_t find_pixels(const sis_record *r, const sis_raster *g, const int *features, size_t n,
                          pixel *pixels) {
    size_t values = r->drawing.feature_map ? r->drawing.n_values : n, found = 0, kept = 0;
    for (size_t v = 0; v < values; v++) {
        if (r->drawing.feature_map && !has_feature(features, n, r->drawing.feature_map[v]))
            continue;
        size_t at = r->drawing.feature_map ? v : (size_t)features[v];
        pixels[found++] =
            (pixel){(int)(at / g->row_step % g->rows), (int)(at / g->column_step % g->columns),
                    r->drawing.values ? r->drawing.values[at] : 0, 1};
    }
    qsort(pixels, found, sizeof *pixels, by_place);
    for (size_t k = 0; k < found; k++) {
        if (k > 0 && by_place(&pixels[k], &pixels[kept - 1]) == 0) {
            pixels[kept - 1].sum += pixels[k].sum;
            pixels[kept - 1].n++;
        } else {
            pixels[kept++] = pixels[k];
        }
    }
    return kept;
}

static int no_image(const sis_record *r, const char *why) {
    return sis__fail(SIS_E_FORMAT, "record \"%.100s\": %s", r->id ? r->id : "", why);
}

/* The pixels of subset s, or the reason why it has none. */
static int pixels_of(const sis_record *r, const sis_subset *s, pixel **pixels, size_t *n) {
    sis_raster g;
    *pixels = NULL;
    if (!sis_record_raster(r, &g))
        return no_image(r, "its shape is not that of an image");
    if (!r->drawing.feature_map && r->collection.n_features != g.rows * g.columns * g.channels)
        return no_image(r, "its shape does not fit its features");
    int *features = ascending(s);
    *pixels = SIS_NEW(pixel, r->drawing.feature_map ? r->drawing.n_values : s->n);
    if (features && *pixels)
        *n = find_pixels(r, &g, features, s->n, *pixels);
    int code = !features || !*pixels ? SIS_E_NOMEM : SIS_OK;
    if (code == SIS_OK && *n == 0)
        code = no_image(r, "a subset has no pixels");
    free(features);
    return code;
}

int sis_subset_pixels(const sis_record *record, size_t k, int **places, double **values,
                      size_t *n) {
    pixel *pixels = NULL;
    *places = NULL;
    *values = NULL;
    *n = 0;
    if (k >= record->collection.n_subsets)
        return no_image(record, "has no such subset");
    int code = pixels_of(record, &record->collection.subsets[k], &pixels, n);
    if (code == SIS_OK) {
        *places = SIS_NEW(int, 2 * *n);
        *values = SIS_NEW(double, *n);
        code = *places && *values ? SIS_OK : SIS_E_NOMEM;
    }
    for (size_t i = 0; code == SIS_OK && i < *n; i++) {
        (*places)[2 * i] = pixels[i].row;
        (*places)[2 * i + 1] = pixels[i].column;
        (*values)[i] = pixels[i].sum / (double)pixels[i].n;
    }
    if (code != SIS_OK) {
        free(*places);
        free(*values);
        *places = NULL;
        *values = NULL;
    }
    free(pixels);
    return code;
}

static int add_pixels(sis_points *p, const sis_record *r, size_t k) {
    int *places;
    double *values;
    size_t n;
    if (!r->drawing.shape)
        return lacks(p, r, "the shape of an image");
    int code = sis_subset_pixels(r, k, &places, &values, &n);
    if (code == SIS_E_FORMAT)
        return sis__fail_in(code, "the distance %s", sis_distance_name(p->distance));
    if (code == SIS_OK)
        code = sis_points_add_pixels(p, places, n);
    free(places);
    free(values);
    return code;
}

/* ---- Cells --------------------------------------------------------------------------------- */

enum { NAME_SIZE = 24 };

/* The value of a feature; for several values (a one-hot block) the position of the largest. */
static double value_of(const sis_record *r, int feature) {
    double best = 0;
    size_t count, which = 0;
    sis_record_values(r, feature, &count);
    for (size_t k = 0; k < count; k++) {
        double value = r->drawing.values[sis_record_value(r, feature, k)];
        if (k == 0 || value > best) {
            best = value;
            which = k;
        }
    }
    return count > 1 ? (double)which : best;
}

/* The name of a feature: its own if there is one for each, else its number. */
static const char *name_of(const sis_record *r, int feature, char number[NAME_SIZE]) {
    if (r->drawing.names && r->drawing.n_names == r->collection.n_features)
        return r->drawing.names[feature];
    snprintf(number, NAME_SIZE, "%d", feature);
    return number;
}

static int add_cells(sis_points *p, const sis_record *r, const sis_subset *s) {
    if (!r->drawing.values)
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
        code = sis__fail_in(SIS_E_FORMAT, "record \"%.100s\"", r->id ? r->id : "");
    free(names);
    free(numbers);
    free(values);
    return code;
}

/* ---- Any ----------------------------------------------------------------------------------- */

int sis_points_add_subset(sis_points *points, const sis_record *record, size_t k) {
    if (k >= record->collection.n_subsets)
        return sis__fail(SIS_E_ARGUMENT, "record \"%.100s\" has no subset %zu",
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
        return add_pixels(points, record, k);
    case SIS_DISTANCE_OVERLAP:
        return add_cells(points, record, s);
    default:
        return sis__fail(SIS_E_ARGUMENT,
                         "points of a custom distance cannot be built from records");
    }
}
