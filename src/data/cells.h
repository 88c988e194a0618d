/* SPDX-License-Identifier: MIT
 *
 * The cells of a table, read one at a time (RFC 4180: quotes, doubled quotes, newlines inside
 * quotes; lines may end in LF, CRLF or CR). The length of a cell is limited: an unclosed quote is
 * found after a megabyte, not at the end of the file.
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
void sis__cells_close(sis__cells *t); /* call it also if opening failed */

/* Skip the UTF-8 byte order mark; refuse UTF-16 with a message. */
int sis__cells_begin(sis__cells *t);

/* The first cell of the next row that is not blank. 1: found, 0: end of file. */
int sis__cells_row(sis__cells *t);

/* One cell, including its separator. */
int sis__cells_next(sis__cells *t);

/* The cell, without blanks around it unless it was in quotes. */
const char *sis__cells_text(sis__cells *t);

#endif
