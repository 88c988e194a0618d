/* SPDX-License-Identifier: MIT
 *
 * Describes the columns of a table, or rows of numbers: type, missing values, distinct values,
 * range or categories. sis_columns_format() prints lines that are also a valid types file
 * (types.c).
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/files.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "data/cell.h"
#include "data/columns.h"
#include "data/data.h"

void sis_columns_release(sis_columns *c) {
    for (size_t k = 0; c->items && k < c->n; k++) {
        free((void *)(uintptr_t)c->items[k].name);
        free((void *)(uintptr_t)c->items[k].categories);
        free((void *)(uintptr_t)c->items[k].counts);
    }
    free(c->items);
    *c = (sis_columns){0};
}

/* ---- Numbers ------------------------------------------------------------------------------- */

/* Describe n numbers, `step` apart; NaN is missing. */
static int describe_numbers(const double *first, size_t n, size_t step, sis_column *out) {
    double *sorted = SIS_NEW_RAW(double, n);
    size_t k = 0;
    if (!sorted)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (!isnan(first[i * step]))
            sorted[k++] = first[i * step];
    qsort(sorted, k, sizeof *sorted, sis__by_double);
    out->missing = n - k;
    out->min = k ? sorted[0] : NAN;
    out->max = k ? sorted[k - 1] : NAN;
    out->distinct = k > 0;
    for (size_t i = 1; i < k; i++)
        out->distinct += sorted[i] != sorted[i - 1];
    free(sorted);
    return SIS_OK;
}

/* ---- Words --------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    size_t rows;
} counted;

static int by_text(const void *a, const void *b) {
    return strcmp(((const counted *)a)->text, ((const counted *)b)->text);
}

/* Its categories in order, without missing values. */
static int take_categories(const sis__column *c, counted *all, sis_column *out) {
    sis__strings names = {0};
    size_t *counts = SIS_NEW(size_t, c->cells.n), n = 0;
    for (size_t k = 0; k < c->cells.n; k++)
        if (c->absent[k])
            out->missing += all[k].rows;
        else
            all[n++] = all[k];
    qsort(all, n, sizeof *all, by_text);
    for (size_t k = 0; counts && k < n; k++) {
        sis__strings_add(&names, all[k].text);
        counts[k] = all[k].rows;
    }
    out->n_categories = out->distinct = n;
    out->counts = counts;
    out->categories = counts ? sis__strings_finish(&names) : NULL;
    sis__strings_release(&names);
    return out->categories ? SIS_OK : SIS_E_NOMEM;
}

static int describe_words(const sis__columns *t, size_t column, sis_column *out) {
    const sis__column *c = &t->columns[column];
    counted *all = SIS_NEW(counted, c->cells.n);
    if (!all)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < c->cells.n; k++)
        all[k].text = sis__names_text(&c->cells, (uint32_t)k);
    for (size_t i = 0; i < t->height; i++)
        all[t->codes[i * t->width + column]].rows++;
    int error = take_categories(c, all, out);
    free(all);
    return error;
}

/* ---- Columns ------------------------------------------------------------------------------- */

static const char *type_name(const sis__column *c) {
    int category = sis__column_is_category(c);
    return c->type == SIS__COLUMN_ID                                ? "id"
           : c->type == SIS__COLUMN_LABEL                           ? "label"
           : c->type == SIS__COLUMN_KEPT                            ? "kept"
           : c->type == SIS__COLUMN_IGNORE || (category && c->full) ? "ignore"
           : category                                               ? "category"
                                                                    : "number";
}

static int describe_column(const sis__columns *t, size_t k, sis_column *out) {
    const sis__column *c = &t->columns[k];
    *out = (sis_column){.name = sis__strdup(c->name), .type = type_name(c), .min = NAN, .max = NAN};
    if (!out->name)
        return SIS_E_NOMEM;
    if (c->words == 0 && !sis__column_is_category(c))
        return describe_numbers(t->numbers + k, t->height, t->width, out);
    if (!c->full)
        return describe_words(t, k, out);
    out->missing = c->missing;
    out->distinct = SIS__CATEGORIES_MAX + 1;
    return SIS_OK;
}

static int begin(sis_columns *out, size_t rows, size_t n) {
    *out = (sis_columns){.rows = rows, .n = n, .items = SIS_NEW(sis_column, n)};
    return out->items ? SIS_OK : SIS_E_NOMEM;
}

static int use_table(const sis__columns *t, void *ctx) {
    sis_columns *out = (sis_columns *)ctx;
    int error = begin(out, t->height, t->width);
    out->has_header = t->has_header;
    for (size_t k = 0; error == SIS_OK && k < t->width; k++)
        error = describe_column(t, k, &out->items[k]);
    return error;
}

/* ---- Rows of numbers ----------------------------------------------------------------------- */

/* All values of rows of one width, (count, width); free(*out). */
static int read_values(const sis_data *data, size_t width, double **out) {
    size_t n = sis_data_count(data);
    *out = n > SIZE_MAX / sizeof(double) / width ? NULL : SIS_NEW_RAW(double, n *width);
    int error = *out ? SIS_OK : sis__fail(SIS_E_NOMEM, "out of memory");
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        if (sis_data_width(data, i) != width)
            error = sis__fail(SIS_E_UNSUPPORTED, "%s: rows of different lengths have no columns",
                              data->name);
        else
            error = sis_data_values(data, i, *out + i * width);
    }
    return error;
}

static int describe_rows(const sis_data *data, sis_columns *out) {
    size_t rank, width = sis_data_width(data, 0);
    double *values = NULL;
    char name[32];
    sis_data_shape(data, 0, &rank);
    if (data->kind != SIS_KIND_ARRAY || rank != 1 || width == 0)
        return sis__fail(SIS_E_UNSUPPORTED, "%s: has no columns; expected a table (.csv, .tsv)",
                         data->name);
    int error = read_values(data, width, &values);
    if (error == SIS_OK)
        error = begin(out, sis_data_count(data), width);
    for (size_t k = 0; error == SIS_OK && k < width; k++) {
        snprintf(name, sizeof name, "c%zu", k);
        out->items[k] = (sis_column){.name = sis__strdup(name), .type = "number"};
        error = out->items[k].name ? describe_numbers(values + k, out->rows, width, &out->items[k])
                                   : SIS_E_NOMEM;
    }
    free(values);
    return error;
}

/* The cell separator of the file; 0: it is not a table. */
static int separator_of(const char *path, const sis_data_opt *opt) {
    if (sis__data_ends_in(path, ".csv"))
        return ',';
    return sis__data_ends_in(path, ".tsv") && sis__data_is_labelled_text(path, opt) == 0 ? '\t' : 0;
}

int sis_columns_read(const char *path, const sis_data_opt *given, sis_columns *out) {
    sis_data_opt opt, standard;
    sis_data *data = NULL;
    *out = (sis_columns){0};
    int error = sis__data_opt_take(given, &opt);
    if (error != SIS_OK)
        return error;
    int separator = separator_of(path, &opt);
    if (separator) {
        error = sis__columns_of_csv(path, (char)separator, &opt, use_table, out);
    } else {
        sis_data_opt_init(&standard);
        standard.label = opt.label;
        standard.id = opt.id;
        standard.missing = SIS_MISSING_NAN;
        error = sis_data_read(path, &standard, &data);
        if (error == SIS_OK)
            error = describe_rows(data, out);
        sis_data_free(data);
    }
    if (error != SIS_OK)
        sis_columns_release(out);
    return error;
}

/* ---- Formatting ---------------------------------------------------------------------------- */

static int by_rows(const void *a, const void *b) {
    size_t x = ((const counted *)a)->rows, y = ((const counted *)b)->rows;
    return x != y ? (x < y) - (x > y) : by_text(a, b);
}

/* "own 713, rent 179, free 108" */
static int add_categories(sis__buf *b, const sis_column *c) {
    enum { MAX = 6 };
    char name[SIS__EXCERPT_SIZE];
    counted *all = SIS_NEW(counted, c->n_categories);
    if (!all)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < c->n_categories; k++)
        all[k] = (counted){c->categories[k], c->counts[k]};
    qsort(all, c->n_categories, sizeof *all, by_rows);
    for (size_t k = 0; k < c->n_categories && k < MAX; k++)
        sis__buf_printf(b, "%s%s %zu", k ? ", " : "", sis__cell_excerpt(all[k].text, name),
                        all[k].rows);
    sis__buf_str(b, c->n_categories > MAX ? ", ..." : "");
    free(all);
    return SIS_OK;
}

static int add_values(sis__buf *b, const sis_column *c) {
    if (c->categories)
        return add_categories(b, c);
    if (!isnan(c->min))
        sis__buf_printf(b, c->min == c->max ? "%.6g" : "%.6g to %.6g", c->min, c->max);
    else if (c->distinct > SIS__CATEGORIES_MAX)
        sis__buf_str(b, "more than 1000 different cells, not all of them numbers");
    return SIS_OK;
}

int sis_columns_format(const sis_columns *columns, char **text) {
    enum { WIDEST = 40 };
    int wide = 6, error = SIS_OK;
    sis__buf b;
    size_t n;
    for (size_t k = 0; k < columns->n; k++) {
        size_t length = strlen(columns->items[k].name);
        wide = length > (size_t)wide ? (int)(length < WIDEST ? length : WIDEST) : wide;
    }
    sis__buf_init(&b);
    sis__buf_printf(&b, "%-*s  type      missing  distinct  values\n", wide, "column");
    for (size_t k = 0; error == SIS_OK && k < columns->n; k++) {
        const sis_column *c = &columns->items[k];
        sis__buf_printf(&b, "%-*s  %-8s %8zu  ", wide, c->name, c->type, c->missing);
        if (c->distinct > SIS__CATEGORIES_MAX && isnan(c->min))
            sis__buf_printf(&b, "%8s  ", ">1000");
        else
            sis__buf_printf(&b, "%8zu  ", c->distinct);
        error = add_values(&b, c);
        while (b.len && b.data[b.len - 1] == ' ')
            b.data[--b.len] = '\0';
        sis__buf_char(&b, '\n');
    }
    int given = sis__buf_give(&b, text, &n);
    if (error != SIS_OK && given == SIS_OK) {
        free(*text);
        *text = NULL;
    }
    return error != SIS_OK ? error : given;
}

static void add_column(sis__buf *b, const sis_column *c) {
    sis__buf_char(b, '{');
    sis__json_text(b, "name", c->name);
    sis__json_text(b, "type", c->type);
    sis__json_count(b, "missing", c->missing);
    sis__json_count(b, "distinct", c->distinct);
    if (!isnan(c->min)) {
        sis__json_number(b, "least", c->min);
        sis__json_number(b, "most", c->max);
    }
    if (c->n_categories)
        sis__json_object(b, "categories");
    for (size_t k = 0; k < c->n_categories; k++)
        sis__json_count(b, c->categories[k], c->counts[k]);
    sis__buf_str(b, c->n_categories ? "}}" : "}");
}

int sis_columns_json(const sis_columns *columns, char **json, size_t *n) {
    sis__buf b = {0};
    sis__buf_char(&b, '{');
    sis__json_count(&b, "rows", columns->rows);
    sis__json_flag(&b, "header", columns->has_header);
    sis__json_list(&b, "columns");
    for (size_t k = 0; k < columns->n; k++) {
        sis__json_comma(&b, k);
        add_column(&b, &columns->items[k]);
    }
    sis__buf_str(&b, "]}\n");
    return sis__buf_give(&b, json, n);
}
