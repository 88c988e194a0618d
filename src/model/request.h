/* SPDX-License-Identifier: MIT
 *
 * Rows as text of a request: numbers that read back exactly, texts joined from pieces, or cells of
 * a table. Each protocol writes what comes before and after the rows.
 *
 * Formatting such numbers is slow (microseconds each), and the masked copies of one input repeat
 * the same few values, so a small table keeps the texts of recent values.
 */
#ifndef SIS_MODEL_REQUEST_H
#define SIS_MODEL_REQUEST_H

#include <pthread.h>

#include <sis/handle.h>
#include <sis/model.h>

#include "base/buf.h"
#include "model/kind.h"

#define SIS__REQUEST_BYTES ((size_t)4 << 20) /* limit of a request with several rows */

typedef struct sis__request {
    sis__buf text;           /* what was written so far */
    struct number *numbers;  /* sets of texts, found by a hash of the value */
    unsigned evict;          /* entry of a full set to replace next */
    const sis_piece *pieces; /* (n_pieces) rows are texts made of these; NULL: rows are numbers */
    size_t n_pieces;
    const sis_row_form *form; /* rows are cells of a table; NULL: as above */
    const size_t *dims;       /* (rank) rows of numbers are nested lists of this shape; */
    size_t rank;              /* 0 or 1: one list */
    int flat;                 /* the numbers of all rows are one list */
    int logical;              /* numbers are written as true and false */
    int bare_nan;             /* NaN is written as NaN, which is not JSON, instead of null */
} sis__request;

int sis__request_init(sis__request *r);
void sis__request_release(sis__request *r);

/* Rows have the form of those of another request: pieces of texts, cells of a table, or numbers. */
void sis__request_like(sis__request *r, const sis__request *like);

/* A row (n): [1,2,3], with pieces "one string", with a form [1,"own"] or {"age":1,"home":"own"}. */
int sis__request_row(sis__request *r, const double *row, size_t n);

/* [row,row,...]: as many of the first rows as fit, at least one; their number is *written. rows
 * (n_rows, n) */
int sis__request_rows(sis__request *r, const double *rows, size_t n_rows, size_t n,
                      size_t *written);

/* The category given by the values of a column of words; SIZE_MAX: none, all are absent. A mixture
 * is SIS_E_ARGUMENT. */
int sis__request_category(const sis_row_column *c, const double *values, size_t *found);

/* The text of a row without quotes; only with pieces. */
int sis__request_raw(sis__request *r, const double *row, size_t n);

/* The same as a new string for models that take no requests. */
int sis__request_join(const sis_piece *pieces, size_t n_pieces, const double *row, size_t n,
                      char **text);

/* ---- Models that answer requests: cmd: and http: ---------------------------------------------- */

/* Their contexts begin with it. */
typedef struct sis__asked_model {
    sis__opened opened;   /* first: see kind.h */
    pthread_mutex_t lock; /* one question at a time */
    sis__request request;
    size_t n_outputs; /* 0: not measured yet */
    size_t requests;  /* number so far, for messages */

    /* Ask about as many of the first rows as fit into a request; *asked is their number. If scores is
     * NULL, only n_outputs is set, from the first row. */
    int (*ask)(struct sis__asked_model *m, const double *rows, size_t n_rows, size_t n_values,
               double *scores, size_t *asked);
} sis__asked_model;

/* For sis__model_kind. */
int sis__asked_predict(void *ctx, const double *rows, size_t n_rows, size_t n_values,
                       double *scores);
int sis__asked_measure(sis_model *model, const double *row, size_t n_values);
int sis__asked_take_texts(void *ctx, const sis_piece *pieces, size_t n);
int sis__asked_take_rows(void *ctx, const sis_row_form *form);

#endif
