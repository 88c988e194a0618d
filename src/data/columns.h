/* SPDX-License-Identifier: MIT
 *
 * Columns of a table that may hold categories: their distinct cells, and their conversion to
 * values.
 */
#ifndef SIS_DATA_COLUMNS_H
#define SIS_DATA_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/names.h"
#include "data/data.h"

enum { SIS__CATEGORIES_MAX = 1000 };

/* Name of the category of missing words, as in pandas and scikit-learn. */
#define SIS__MISSING_CATEGORY "nan"

/* The type of a column. */
typedef enum sis__column_type {
    SIS__COLUMN_ANY, /* words if any cell is a word, else numbers */
    SIS__COLUMN_NUMBER,
    SIS__COLUMN_CATEGORY,
    SIS__COLUMN_IGNORE, /* not used */
    SIS__COLUMN_ID,
    SIS__COLUMN_LABEL,
    SIS__COLUMN_KEPT, /* not a feature; its text stays with the example */
} sis__column_type;

/* A column being read: its distinct cells so far. */
typedef struct sis__column {
    const char *name;
    sis__column_type type;
    sis__names cells;
    unsigned char *absent; /* (cells.n) the cell is a missing word */
    size_t absent_room;
    size_t words, missing;      /* cells that are not numbers; cells without a value */
    size_t truths;              /* cells that are true or false, counted as 1 or 0 */
    size_t word_row, word_line; /* row of the first word, and its line in the file */
    size_t missing_row, missing_line;
    uint16_t word_code, missing_code; /* codes of these two cells */
    int full;                         /* more than SIS__CATEGORIES_MAX distinct cells */
} sis__column;

void sis__column_release(sis__column *c);

/* *code: the index of the cell among the distinct cells; always 0 once the column is full. 0 or
 * SIS_E_NOMEM. */
int sis__column_add(sis__column *c, const char *cell, uint16_t *code);

/* The code of a cell, after all cells have been read. */
uint16_t sis__column_find(const sis__column *c, const char *cell);

/* Does it hold categories, as far as it has been read? */
int sis__column_is_category(const sis__column *c);

/* Set the types of named columns (n) from the options; `by_number`: columns may also be given by
 * number from 0. A first column without a name is a pandas index: it is the id, unless another
 * column is. */
int sis__columns_types(sis__column *columns, size_t n, const char *path, const sis_data_opt *opt,
                       int by_number);

/* A table as read, or some of its rows. */
typedef struct sis__columns {
    const char *path;
    size_t width, height;
    sis__column *columns;  /* (width) */
    const double *numbers; /* (height, width) NaN where the cell is not a number */
    const uint16_t *codes; /* (height, width) */
    int has_header;
    size_t first; /* the number of the first row */
} sis__columns;

/* How the columns of a table become values, according to opt; valid as long as t->columns. _rows
 * makes a data set of rows without names and features of values; _name adds these. */
typedef struct sis__layout sis__layout;
int sis__layout_new(const sis__columns *t, const sis_data_opt *opt, sis__layout **out);
void sis__layout_free(sis__layout *l);
int sis__layout_rows(const sis__layout *l, const sis__columns *t, sis_data **out);
int sis__layout_name(sis__layout *l, sis_data *data);

/* Must later rows be checked for unknown categories? */
int sis__layout_is_strict(const sis__layout *l);

/* Read a table and pass it to `use` with ctx. */
typedef int sis__columns_use(const sis__columns *t, void *ctx);
int sis__columns_of_csv(const char *path, char separator, const sis_data_opt *opt,
                        sis__columns_use *use, void *ctx);

#endif
