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

/* A column under way: the different cells it has had. */
typedef struct sis__column {
    const char *name;
    sis__names cells;
    int words;                  /* some cell was no number */
    size_t word_row, word_line; /* the first such is in this row, which begins on this line */
    int full;                   /* there were more than SIS__CATEGORIES_MOST */
} sis__column;

void sis__column_release(sis__column *c);

/* The number of the cell among the different ones, into *code. Asks for nothing more once the
 * column is full: *code is then 0. 0 or SIS_E_NOMEM. */
int sis__column_add(sis__column *c, const char *cell, uint16_t *code);

/* A table as it was read. */
typedef struct sis__columns {
    const char *path;
    size_t width, height;
    sis__column *columns;  /* (width) */
    const double *numbers; /* (height, width) where the cell is one */
    const uint16_t *codes; /* (height, width) */
    size_t label, id;      /* columns that are no features; SIZE_MAX: there is none */
} sis__columns;

/* The data set of such a table, with the values of opt. */
int sis__columns_finish(const sis__columns *t, const sis_data_opt *opt, sis_data **out);

#endif
