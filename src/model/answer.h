/* SPDX-License-Identifier: MIT
 *
 * Scores from an answer in JSON, judged strictly. A wrong number of scores, a string where a number
 * belongs or a NaN is never guessed around: an explanation of a model that was misread is worse
 * than none. Python writes NaN and Infinity, which JSON does not know; they are found and reported
 * as what they are. Only one of several scores of a row may be NaN: it counts when it is that one
 * that is asked for.
 */
#ifndef SIS_MODEL_ANSWER_H
#define SIS_MODEL_ANSWER_H

#include <jansson.h>
#include <stddef.h>

enum { SIS__EXCERPT = 128 };

/* What is being read: row `row` of `rows`, for messages. */
typedef struct sis__answer {
    json_t *json;
    size_t row, rows;
    size_t non_numbers; /* values that JSON could not have said */
    int several;        /* scores in a row */
    int named;          /* a row may be an object of named outputs; */
    const char *member; /* the one meant, NULL: there must be only one */
} sis__answer;

/* Parse `text` (length, and a NUL behind it; it may be changed) as an answer about `rows` rows.
 * `expected`: "JSON and nothing else on stdout", for the message. */
int sis__answer_parse(sis__answer *a, char *text, size_t length, size_t rows, const char *expected);
void sis__answer_release(sis__answer *a);

/* One score of row a->row, from JSON or as it is. */
int sis__answer_score(const sis__answer *a, const json_t *value, double *score);
int sis__answer_value(const sis__answer *a, double value, double *score);

/* A list with one entry for each row, each a score or a list of scores: scores (rows, *n_outputs).
 * If scores is NULL only learn *n_outputs, from the first row. `entry`: "output", for messages. */
int sis__answer_rows(sis__answer *a, const json_t *list, const char *entry, size_t *n_outputs,
                     double *scores);

/* "a list", "a string" ... */
const char *sis__answer_type(const json_t *value);

/* The beginning of some bytes in quotes, at most 80, on one line; size at least 16. */
void sis__answer_excerpt(const char *bytes, size_t n, char *text, size_t size);

#endif
