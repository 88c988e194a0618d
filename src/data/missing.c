/* SPDX-License-Identifier: MIT
 *
 * Replacement of missing values: the mean or the median of the other rows. For a column of
 * categories the most frequent one is set to 1. Computed once, when the data set is complete;
 * sis_data_values() applies it.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/files.h>
#include <sis/sis.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"
#include "data/cell.h"
#include "data/data.h"

/* The values of all rows, column by column. */
typedef struct {
    size_t n, width;
    double *columns; /* (width, n) */
    size_t missing;
} matrix;

static int gather(const sis_data *data, matrix *m) {
    *m = (matrix){.n = data->count, .width = sis_data_width(data, 0)};
    if (m->n > SIZE_MAX / sizeof(double) / (m->width ? m->width : 1))
        return sis__fail(SIS_E_NOMEM, "out of memory: %zu rows of %zu values", m->n, m->width);
    m->columns = SIS_NEW_RAW(double, m->n * m->width);
    double *row = SIS_NEW_RAW(double, m->width);
    int error = m->columns && row ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < m->n; i++) {
        size_t width = sis_data_width(data, i);
        error = sis_data_error(data);
        if (error == SIS_OK && width != m->width)
            error = sis__fail(SIS_E_FORMAT,
                              "%s: examples 0 and %zu have %zu and %zu values; a mean of others "
                              "needs equally many",
                              data->name, i, m->width, width);
        if (error == SIS_OK)
            error = data->ops->values(data, i, row);
        for (size_t v = 0; error == SIS_OK && v < m->width; v++) {
            m->columns[v * m->n + i] = row[v];
            m->missing += isnan(row[v]) != 0;
            if (isinf(row[v]))
                error = sis__fail(
                    SIS_E_FORMAT,
                    "%s, example %zu: value %zu is infinite; every value must be a finite number",
                    data->name, i, v);
        }
    }
    free(row);
    return error;
}

/* The mean or median of a column, which is reordered; NaN: no numbers. */
static double middle(double *column, size_t n, sis_missing how) {
    size_t k = 0;
    sis_mean mean = {0};
    for (size_t i = 0; i < n; i++)
        if (!isnan(column[i]))
            column[k++] = column[i];
    if (k == 0)
        return NAN;
    if (how == SIS_MISSING_MEDIAN) {
        qsort(column, k, sizeof *column, sis__by_double);
        return sis__quantile(column, k, 0.5);
    }
    for (size_t i = 0; i < k; i++)
        sis_mean_add(&mean, column + i, 1);
    return sis_mean_get(&mean);
}

/* The most frequent number of a column, which is reordered; the smallest of equally frequent ones.
 * NaN: no numbers. */
static double mode(double *column, size_t n) {
    size_t k = 0, longest = 0;
    double found = NAN;
    for (size_t i = 0; i < n; i++)
        if (!isnan(column[i]))
            column[k++] = column[i];
    qsort(column, k, sizeof *column, sis__by_double);
    for (size_t from = 0, i = 1; i <= k; i++)
        if (i == k || column[i] != column[from]) {
            found = i - from > longest ? column[from] : found;
            longest = i - from > longest ? i - from : longest;
            from = i;
        }
    return found;
}

static int no_value(const sis_data *data, size_t v) {
    char number[32], name[SIS__EXCERPT_SIZE];
    snprintf(number, sizeof number, "%zu", v);
    return sis__fail(SIS_E_FORMAT,
                     "%s: column \"%s\" has no value in any row, so it has no mean; remove it",
                     data->name, data->names ? sis__cell_excerpt(data->names[v], name) : number);
}

/* Is it one of the categories of a column? */
static int is_category(const sis_data *data, size_t v) {
    return data->map && data->map[v] >= 0 && data->names && data->feature_names &&
           strcmp(data->names[v], data->feature_names[data->map[v]]) != 0;
}

int sis_word_is_missing(const char *cell) {
    return sis__cell_missing_word(cell);
}

int sis_data_is_missing_category(const sis_data *data, size_t v) {
    return is_category(data, v) &&
           sis__cell_missing_word(data->names[v] + strlen(data->feature_names[data->map[v]]) + 1);
}

/* Compute the replacement of each value. */
static int find_fill(const sis_data *data, const matrix *m, sis_missing how, double *fill) {
    int error = SIS_OK;
    for (size_t v = 0; error == SIS_OK && v < m->width; v++) {
        double *column = m->columns + v * m->n;
        fill[v] = data->is_position && data->is_position[v]
                      ? mode(column, m->n)
                      : middle(column, m->n, is_category(data, v) ? SIS_MISSING_MEAN : how);
        if (isnan(fill[v]))
            error = no_value(data, v);
    }
    return error == SIS_OK && data->map ? sis_mean_choose(data->map, m->width, fill) : error;
}

int sis__data_set_missing(sis_data *data, sis_missing missing) {
    matrix m = {0};
    data->missing = missing;
    if (missing < SIS_MISSING_MEAN ||
        (data->kind != SIS_KIND_TABLE && data->kind != SIS_KIND_ARRAY))
        return SIS_OK;
    int error = gather(data, &m);
    if (error == SIS_OK && m.missing) {
        double *fill = SIS_NEW(double, m.width);
        error = fill ? find_fill(data, &m, missing, fill) : SIS_E_NOMEM;
        if (error == SIS_OK)
            data->fill = fill;
        else
            free(fill);
    }
    free(m.columns);
    return error;
}
