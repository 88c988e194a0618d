/* SPDX-License-Identifier: MIT
 *
 * Labels from a separate file. In a table (.csv, otherwise tab-separated) rows of two or more cells
 * are the name of an example and its label, in any order; there may be more rows than examples, and
 * names may omit the file extension. Rows of one cell are labels in the order of the examples. A
 * first row that matches nothing is a header. An array (.npy, IDX) has one number per example.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "data/cell.h"
#include "data/cells.h"
#include "data/data.h"

/* Two cells of each row, concatenated. */
typedef struct {
    sis__strings cells;
    size_t rows, named; /* number of rows; of rows with two cells */
} table;

static int add_cell(table *t, sis__cells *c) {
    const char *text = sis__cells_text(c);
    if (sis__utf8_check(text, strlen(text)) != strlen(text))
        return sis__fail(SIS_E_FORMAT, "%s, line %zu: not UTF-8", c->source.name, c->row_line);
    sis__strings_add(&t->cells, text);
    return sis__buf_error(&t->cells.text);
}

static int read_row(table *t, sis__cells *c) {
    int code = add_cell(t, c), two = !c->last;
    for (size_t k = 1; code == SIS_OK && !c->last; k++) {
        code = sis__cells_next(c);
        if (code == SIS_OK && k == 1)
            code = add_cell(t, c);
    }
    if (!two)
        sis__strings_add(&t->cells, "");
    t->rows++;
    t->named += (size_t)two;
    return code;
}

static int read_table(const char *path, table *t) {
    sis__cells c;
    int row = 0, code = sis__cells_open(&c, path, sis__data_ends_in(path, ".csv") ? ',' : '\t');
    if (code == SIS_OK)
        code = sis__cells_begin(&c);
    while (code == SIS_OK && (row = sis__cells_row(&c)) == 1)
        code = read_row(t, &c);
    sis__cells_close(&c);
    return code != SIS_OK ? code : row;
}

/* ---- By name ------------------------------------------------------------------------------- */

/* The row named like the example, with or without its extension; SIZE_MAX: none. */
static size_t find_row(const sis__ids *names, const char *id, sis__buf *stem) {
    size_t row = sis__ids_find(names, id);
    const char *dot = strrchr(id, '.');
    if (row != SIZE_MAX || !dot || strchr(dot, '/'))
        return row;
    sis__buf_clear(stem);
    sis__buf_add(stem, id, (size_t)(dot - id));
    return sis__buf_error(stem) == SIS_OK ? sis__ids_find(names, stem->data) : SIZE_MAX;
}

static int take_named(const char *path, const sis_data *data, const sis__ids *names,
                      const char **cells, sis__strings *labels) {
    char number[SIS_ID_SIZE];
    sis__buf stem;
    int code = SIS_OK;
    sis__buf_init(&stem);
    for (size_t i = 0; code == SIS_OK && i < data->count; i++) {
        const char *id = sis_data_id(data, i, number), *slash = strrchr(id, '/');
        size_t row = find_row(names, id, &stem);
        if (row == SIZE_MAX && slash)
            row = find_row(names, slash + 1, &stem);
        if (sis__buf_error(&stem) != SIS_OK)
            code = SIS_E_NOMEM;
        else if (row == SIZE_MAX)
            code = sis__fail(SIS_E_FORMAT, "%s: has no label for \"%.200s\"", path, id);
        else
            sis__strings_add(labels, cells[2 * row + 1]);
    }
    sis__buf_release(&stem);
    return code;
}

static int label_by_name(const char *path, const sis_data *data, const char **cells, size_t rows,
                         sis__strings *labels) {
    const char **list = SIS_NEW_RAW(const char *, rows);
    sis__ids names = {0};
    if (!list)
        return SIS_E_NOMEM;
    for (size_t r = 0; r < rows; r++)
        list[r] = cells[2 * r];
    int code = sis__ids_init(&names, list, rows);
    if (code == SIS_OK && sis__ids_twice(&names))
        code = sis__fail(SIS_E_FORMAT, "%s: has two labels for \"%.200s\"", path,
                         sis__ids_twice(&names));
    if (code == SIS_OK)
        code = take_named(path, data, &names, cells, labels);
    sis__ids_release(&names);
    free(list);
    return code;
}

/* ---- In order ------------------------------------------------------------------------------ */

static int wrong_count(const char *path, size_t found, size_t wanted) {
    return sis__fail(SIS_E_FORMAT, "%s: has %zu labels for %zu examples", path, found, wanted);
}

static int label_in_order(const char *path, const sis_data *data, const char **cells, size_t rows,
                          sis__strings *labels) {
    size_t header = rows == data->count + 1;
    if (rows != data->count + header)
        return wrong_count(path, rows, data->count);
    for (size_t i = 0; i < data->count; i++)
        sis__strings_add(labels, cells[2 * (i + header)]);
    return SIS_OK;
}

/* An array: its own labels (IDX), or one number per example. */
static int label_by_array(const char *path, const sis_data *data, sis__strings *labels) {
    sis_data *array;
    sis__buf text;
    double v = 0;
    int code = sis_data_read(path, NULL, &array);
    if (code != SIS_OK)
        return code;
    if (sis_data_count(array) != data->count || sis_data_width(array, 0) != 1)
        code = wrong_count(path, sis_data_count(array) * sis_data_width(array, 0), data->count);
    sis__buf_init(&text);
    for (size_t i = 0; code == SIS_OK && i < data->count; i++) {
        code = sis_data_values(array, i, &v);
        sis__buf_clear(&text);
        sis__buf_double(&text, v);
        sis__strings_add(labels, sis__buf_error(&text) == SIS_OK ? text.data : "");
        code = code == SIS_OK ? sis__buf_error(&text) : code;
    }
    sis__buf_release(&text);
    sis_data_free(array);
    return code;
}

/* ---- Entry point --------------------------------------------------------------------------- */

static int label_by_table(const char *path, const sis_data *data, sis__strings *labels) {
    table t = {0};
    const char **cells = NULL;
    int code = read_table(path, &t);
    size_t rows = t.rows;
    if (code == SIS_OK && rows == 0)
        code = sis__fail(SIS_E_FORMAT, "%s: contains no labels", path);
    if (code == SIS_OK && t.named != 0 && t.named != rows)
        code = sis__fail(
            SIS_E_FORMAT,
            "%s: some rows have one cell; expected name and label in every row, or only labels",
            path);
    if (code != SIS_OK)
        sis__strings_release(&t.cells);
    else if (!(cells = sis__strings_finish(&t.cells)))
        code = SIS_E_NOMEM;
    else
        code = (t.named ? label_by_name : label_in_order)(path, data, cells, rows, labels);
    free(cells);
    return code;
}

int sis__data_label(sis_data *data, const char *path) {
    sis__strings labels = {0};
    int array = sis__data_ends_in(path, ".npy") || sis__data_ends_in(path, ".idx") ||
                sis__data_ends_in(path, "-ubyte");
    int code = (array ? label_by_array : label_by_table)(path, data, &labels);
    if (code != SIS_OK) {
        sis__strings_release(&labels);
        return code;
    }
    data->labels = sis__strings_finish(&labels);
    return data->labels ? SIS_OK : SIS_E_NOMEM;
}
