/* SPDX-License-Identifier: MIT
 *
 * The columns of a table that may hold categories: what cells they have, and how they become
 * values.
 */
#ifndef SIS_DATA_COLUMNS_H
#define SIS_DATA_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/names.h"
#include "data/data.h"

enum { SIS__CATEGORIES_MOST = 1000 };

/* What the category of missing words is called, as pandas and scikit-learn call it. */
#define SIS__MISSING_CATEGORY "nan"

/* What a column holds. */
typedef enum sis__column_type {
    SIS__COLUMN_ANY, /* words if any cell is one, else numbers */
    SIS__COLUMN_NUMBER,
    SIS__COLUMN_CATEGORY,
    SIS__COLUMN_IGNORE, /* nothing that matters */
    SIS__COLUMN_ID,
    SIS__COLUMN_LABEL,
} sis__column_type;

/* A column under way: the different cells it has had. */
typedef struct sis__column {
    const char *name;
    sis__column_type type;
    sis__names cells;
    unsigned char *absent; /* (cells.n) the cell is a word that is missing */
    size_t absent_room;
    size_t words, missing;      /* cells that are no number, but for those without a value */
    size_t truths;              /* cells that are true or false: 1 or 0 among numbers */
    size_t word_row, word_line; /* the first word is in this row, which begins on this line */
    size_t missing_row, missing_line;
    uint16_t word_code, missing_code; /* and is this cell */
    int full;                         /* there were more than SIS__CATEGORIES_MOST */
} sis__column;

void sis__column_release(sis__column *c);

/* The number of the cell among the different ones, into *code. Asks for nothing more once the
 * column is full: *code is then 0. 0 or SIS_E_NOMEM. */
int sis__column_add(sis__column *c, const char *cell, uint16_t *code);

/* The same of a column that has had all its cells. */
uint16_t sis__column_find(const sis__column *c, const char *cell);

/* Does it hold categories, as far as it was read? */
int sis__column_is_category(const sis__column *c);

/* Give columns (n), which have names, the types that the options say; `by_number`: they may be meant
 * by number from 0, too. */
int sis__columns_types(sis__column *columns, size_t n, const char *path, const sis_data_opt *opt,
                       int by_number);

/* A table as it was read, or some rows of it. */
typedef struct sis__columns {
    const char *path;
    size_t width, height;
    sis__column *columns;  /* (width) */
    const double *numbers; /* (height, width) where the cell is one, NaN where none is */
    const uint16_t *codes; /* (height, width) */
    int has_header;
    size_t first; /* the number of the first row */
} sis__columns;

/* The values of such a table as opt wants them; lives no longer than t->columns. And rows of it as a
 * data set, without the names and features of values, which are given to a data set by itself. */
typedef struct sis__layout sis__layout;
int sis__layout_new(const sis__columns *t, const sis_data_opt *opt, sis__layout **out);
void sis__layout_free(sis__layout *l);
int sis__layout_rows(const sis__layout *l, const sis__columns *t, sis_data **out);
int sis__layout_name(sis__layout *l, sis_data *data);

/* May the values of a row still be wrong: categories that were not named? */
int sis__layout_is_strict(const sis__layout *l);

/* Read a table and hand it to `use` with ctx. */
typedef int sis__columns_use(const sis__columns *t, void *ctx);
int sis__columns_of_csv(const char *path, char separator, const sis_data_opt *opt,
                        sis__columns_use *use, void *ctx);

#endif
