/* SPDX-License-Identifier: MIT
 *
 * The cells of a table, one at a time off a file (RFC 4180: quotes, doubled quotes, newlines inside
 * quotes; lines may end in LF, CRLF or CR). A cell has a limit: a quote that is never closed is
 * found after a megabyte, not after the rest of the file.
 */
#ifndef SIS_DATA_CELLS_H
#define SIS_DATA_CELLS_H

#include <stddef.h>

#include "base/buf.h"
#include "data/source.h"

typedef struct sis__cells {
    sis__source source;
    char separator;
    size_t line;     /* of the next byte, counted from 1 */
    sis__buf cell;   /* the cell just read */
    int quoted;      /* it was in quotes */
    int last;        /* it ends its row */
    size_t column;   /* cells of the row before the next one */
    size_t row_line; /* where its row began */
    size_t row_offset;
} sis__cells;

int sis__cells_open(sis__cells *t, const char *path, char separator);
void sis__cells_close(sis__cells *t); /* whatever became of opening it */

/* Skip the mark some programs put before UTF-8; say what is wrong about UTF-16. */
int sis__cells_begin(sis__cells *t);

/* The first cell of the next row that is not blank. 1: there it is, 0: there is none. */
int sis__cells_row(sis__cells *t);

/* One cell, up to and with what ends it. */
int sis__cells_next(sis__cells *t);

/* The cell, without blanks around it unless it was in quotes. */
const char *sis__cells_text(sis__cells *t);

#endif
