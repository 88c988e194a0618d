/* SPDX-License-Identifier: MIT
 *
 * Rows in the words of a request: numbers that read back as themselves, texts put together from
 * their pieces, or cells of a table. What goes around the rows is the business of each protocol.
 *
 * Writing such numbers is slow (microseconds each), and the masked copies of one input consist of
 * the same few values again and again, so the texts of recent values are kept in a small table.
 */
#ifndef SIS_MODEL_REQUEST_H
#define SIS_MODEL_REQUEST_H

#include <sis/handle.h>
#include <sis/model.h>

#include "base/buf.h"

#define SIS__REQUEST_BYTES ((size_t)4 << 20) /* of rows in one request, if they are more than one */

typedef struct sis__request {
    sis__buf text;           /* what was written so far */
    struct number *numbers;  /* sets of texts, found by a hash of the value */
    unsigned evict;          /* which of a full set goes next */
    const sis_piece *pieces; /* (n_pieces) rows are texts made of them; NULL: rows are numbers */
    size_t n_pieces;
    const sis_row_form *form; /* rows are cells of a table; NULL: as above */
    const size_t *dims;       /* (rank) rows of numbers are lists of lists of this shape; */
    size_t rank;              /* 0 or 1: one list */
    int flat;                 /* the numbers of all rows are one list */
    int logical;              /* numbers are written as true and false */
    int bare_nan;             /* NaN is written as NaN, which JSON does not know, not as null */
} sis__request;

int sis__request_init(sis__request *r);
void sis__request_release(sis__request *r);

/* A row (n): [1,2,3], with pieces "one string", with a form [1,"own"] or {"age":1,"home":"own"}. */
int sis__request_row(sis__request *r, const double *row, size_t n);

/* [row,row,...]: the first rows, as many as fit, and at least one; their number is *written.
 * rows (n_rows, n) */
int sis__request_rows(sis__request *r, const double *rows, size_t n_rows, size_t n,
                      size_t *written);

/* Which category the values of a column of words say; SIZE_MAX: none, all are absent. A mixture is
 * SIS_E_ARGUMENT. */
int sis__request_category(const sis_row_column *c, const double *values, size_t *found);

/* The text of a row, byte for byte and without quotes; only with pieces. */
int sis__request_raw(sis__request *r, const double *row, size_t n);

#endif
