/* SPDX-License-Identifier: MIT
 *
 * Read scores from a JSON answer, strictly. A wrong number of scores, a string instead of a number
 * or a NaN is an error, never repaired: an explanation of a misread model is worse than none.
 * Python writes NaN and Infinity, which are not JSON; they are detected and reported by name. If a
 * row has several scores, a NaN is an error only if that score is used.
 */
#ifndef SIS_MODEL_ANSWER_H
#define SIS_MODEL_ANSWER_H

#include <jansson.h>
#include <stddef.h>

#include "model/web.h"

enum { SIS__EXCERPT = 128, SIS__REASON = 640 };

/* The current position: row `row` of `rows`, for messages. */
typedef struct sis__answer {
    json_t *json;
    size_t row, rows;
    size_t non_numbers; /* number of values that are not JSON */
    int several;        /* scores in a row */
    int named;          /* a row may be an object of named outputs; */
    const char *member; /* the wanted one; NULL: there must be only one */
} sis__answer;

/* Parse `text` (length, followed by a NUL; it may be changed) as an answer about `rows` rows.
 * `expected`: "JSON and nothing else on stdout", for the message. */
int sis__answer_parse(sis__answer *a, char *text, size_t length, size_t rows, const char *expected);
void sis__answer_release(sis__answer *a);

/* One score of row a->row, from JSON or from a number. */
int sis__answer_score(const sis__answer *a, const json_t *value, double *score);
int sis__answer_value(const sis__answer *a, double value, double *score);

/* A list with one entry per row, each a score or a list of scores: scores (rows, *n_outputs). If
 * scores is NULL, only *n_outputs is set, from the first row. `entry`: "output", for messages. */
int sis__answer_rows(sis__answer *a, const json_t *list, const char *entry, size_t *n_outputs,
                     double *scores);

/* Send a request that is answered by a JSON object. *json is NULL if the status is not 200, or on
 * failure. `expected`: "the metadata of a model", for messages. */
int sis__answer_ask(sis__web *web, const sis__web_request *request, sis__web_answer *answer,
                    const char *expected, json_t **json);

/* Why a server's status is not 200: the message in its answer (1), or the start of the answer (0),
 * without secrets. */
int sis__answer_reason(const sis__web *web, const sis__web_answer *answer, char text[SIS__REASON]);

/* "a list", "a string" ... */
const char *sis__answer_type(const json_t *value);

/* The start of some bytes, at most 80, in quotes and on one line; size at least 16. */
void sis__answer_excerpt(const char *bytes, size_t n, char *text, size_t size);

#endif
