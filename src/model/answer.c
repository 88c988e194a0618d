/* SPDX-License-Identifier: MIT
 *
 * See answer.h.
 */
#include "model/answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

void sis__answer_excerpt(const char *bytes, size_t n, char *text, size_t size) {
    size_t used = 0, max = size < 86 ? size - 6 : 80;
    text[used++] = '"';
    for (size_t i = 0; i < n && i < max && bytes[i] != '\n'; i++) {
        unsigned char letter = (unsigned char)bytes[i];
        text[used++] = letter < 0x20 || letter == 0x7F ? ' ' : (char)letter;
    }
    memcpy(text + used, n > max ? "\"..." : "\"", n > max ? 5 : 2);
}

static void excerpt_of(const sis__web *web, const sis__buf *body, char *text, size_t size) {
    sis__answer_excerpt(body->data ? body->data : "", body->len, text, size);
    sis__web_hide(web, text);
}

int sis__answer_ask(sis__web *web, const sis__web_request *q, sis__web_answer *a,
                    const char *expected, json_t **json) {
    char excerpt[SIS__EXCERPT];
    *json = NULL;
    int error = sis__web_send(web, q, a);
    if (error != SIS_OK || a->status != 200)
        return error;
    *json = a->body.len ? sis__json_load(a->body.data, a->body.len, 0, NULL) : NULL;
    if (json_is_object(*json))
        return SIS_OK;
    json_decref(*json);
    *json = NULL;
    excerpt_of(web, &a->body, excerpt, sizeof excerpt);
    return sis__fail(SIS_E_MODEL, "expected %s, found %s", expected, excerpt);
}

/* {"error":"..."}, {"error":{"message":"..."}}, or {"detail":"..."} of common Python servers. */
int sis__answer_reason(const sis__web *web, const sis__web_answer *a, char text[SIS__REASON]) {
    json_t *json = a->body.len ? sis__json_load(a->body.data, a->body.len, 0, NULL) : NULL;
    const json_t *error = json_object_get(json, "error");
    const json_t *said[] = {json_object_get(error, "message"), error,
                            json_object_get(json, "detail")};
    const char *reason = NULL;
    for (size_t i = 0; i < sizeof said / sizeof *said && !reason; i++)
        reason = json_string_value(said[i]);
    if (reason) {
        snprintf(text, SIS__REASON, "%.600s", reason);
        sis__web_hide(web, text);
    } else {
        excerpt_of(web, &a->body, text, SIS__EXCERPT);
    }
    json_decref(json);
    return reason != NULL;
}

/* Put quotes around each NaN, Infinity and -Infinity outside strings, so that the text is valid
 * JSON and the value can be found: NaN becomes "a", Infinity "nfinit". Returns their number. */
static size_t quote_non_numbers(char *text) {
    static const char *const names[] = {"NaN", "-NaN", "Infinity", "-Infinity"};
    size_t count = 0;
    int inside = 0;
    for (char *c = text; *c; c++) {
        if (*c == '\\' && inside && c[1]) {
            c++;
        } else if (*c == '"') {
            inside = !inside;
        } else if (!inside) {
            for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                size_t length = strlen(names[i]);
                if (strncmp(c, names[i], length) == 0) {
                    c[0] = c[length - 1] = '"';
                    c += length - 1;
                    count++;
                    break;
                }
            }
        }
    }
    return count;
}

int sis__answer_parse(sis__answer *a, char *text, size_t length, size_t rows,
                      const char *expected) {
    char excerpt[SIS__EXCERPT];
    json_error_t error, again;
    *a = (sis__answer){.rows = rows};
    a->json =
        sis__json_load(text, length, JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES, &error);
    if (a->json)
        return SIS_OK;
    if (json_error_code(&error) == json_error_out_of_memory)
        return sis__fail(SIS_E_NOMEM, "out of memory: an answer of %zu bytes", length);
    sis__answer_excerpt(text, length, excerpt, sizeof excerpt);
    if (strlen(text) == length && (a->non_numbers = quote_non_numbers(text)) > 0)
        a->json =
            sis__json_load(text, length, JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES, &again);
    if (!a->json)
        sis__fail(SIS_E_MODEL, "expected %s, found %s%s", expected, excerpt,
                  json_error_code(&error) == json_error_numeric_overflow
                      ? ", in which a number is too large"
                      : "");
    return a->json ? SIS_OK : SIS_E_MODEL;
}

void sis__answer_release(sis__answer *a) {
    json_decref(a->json);
    *a = (sis__answer){0};
}

const char *sis__answer_type(const json_t *value) {
    if (!value)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_NULL:
        return "null";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "a number";
    }
}

/* `name` is in the place of a score; NaN and null are errors only if the row has one score. */
static int no_number(const sis__answer *a, const char *name, double *score) {
    *score = NAN;
    if (a->several && (*name == 'n' || *name == 'N'))
        return SIS_OK;
    return sis__fail(SIS_E_NAN, "row %zu of %zu: expected a score, found %s", a->row + 1, a->rows,
                     name);
}

int sis__answer_value(const sis__answer *a, double value, double *score) {
    *score = value;
    if (isfinite(value))
        return SIS_OK;
    return no_number(a, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity", score);
}

int sis__answer_score(const sis__answer *a, const json_t *value, double *score) {
    if (json_is_number(value)) {
        *score = json_number_value(value);
        return SIS_OK;
    }
    if (json_is_null(value) || (a->non_numbers && json_is_string(value)))
        return no_number(a,
                         json_is_null(value)             ? "null"
                         : json_string_length(value) < 3 ? "NaN"
                         : json_string_length(value) < 7 ? "Infinity"
                                                         : "-Infinity",
                         score);
    return sis__fail(SIS_E_MODEL, "row %zu of %zu: expected a number, found %s", a->row + 1,
                     a->rows, sis__answer_type(value));
}

/* Entry a->row of the list; of an object with names, the wanted member. */
static int find_row(const sis__answer *a, const json_t *list, const json_t **row) {
    *row = json_array_get(list, a->row);
    if (!a->named || !json_is_object(*row))
        return SIS_OK;
    const json_t *object = *row;
    void *only = json_object_iter((json_t *)object);
    *row = a->member                       ? json_object_get(object, a->member)
           : json_object_size(object) == 1 ? json_object_iter_value(only)
                                           : NULL;
    if (*row)
        return SIS_OK;
    return sis__fail(
        SIS_E_MODEL, "row %zu of %zu: expected one output%s%s, found an object of %zu%s%.60s%s",
        a->row + 1, a->rows, a->member ? " named " : "", a->member ? a->member : "",
        json_object_size(object), only ? ", the first named \"" : "",
        only ? json_object_iter_key(only) : "", only ? "\" (add #NAME to the address)" : "");
}

/* The scores of row a->row, a number or a list: scores (n_outputs). */
static int read_row(const sis__answer *a, const json_t *value, size_t n_outputs, double *scores) {
    if (!json_is_array(value) && n_outputs == 1)
        return sis__answer_score(a, value, scores);
    if (!json_is_array(value))
        return sis__fail(SIS_E_MODEL, "row %zu of %zu: expected a list of %zu scores, found %s",
                         a->row + 1, a->rows, n_outputs, sis__answer_type(value));
    if (json_array_size(value) != n_outputs)
        return sis__fail(SIS_E_MODEL, "row %zu of %zu: expected %zu scores, found %zu", a->row + 1,
                         a->rows, n_outputs, json_array_size(value));
    int code = SIS_OK;
    for (size_t i = 0; i < n_outputs && code == SIS_OK; i++)
        code = sis__answer_score(a, json_array_get(value, i), &scores[i]);
    return code;
}

/* The number of scores of a row; each is checked. */
static int count_scores(sis__answer *a, const json_t *value, size_t *n_outputs) {
    double score;
    int code = SIS_OK;
    *n_outputs = json_is_array(value) ? json_array_size(value) : 1;
    a->several = *n_outputs > 1;
    if (*n_outputs == 0)
        code = sis__fail(SIS_E_MODEL, "row %zu of %zu: expected scores, found an empty list",
                         a->row + 1, a->rows);
    for (size_t i = 0; i < *n_outputs && code == SIS_OK; i++)
        code =
            sis__answer_score(a, json_is_array(value) ? json_array_get(value, i) : value, &score);
    return code;
}

int sis__answer_rows(sis__answer *a, const json_t *list, const char *entry, size_t *n_outputs,
                     double *scores) {
    const json_t *row;
    if (json_array_size(list) != a->rows)
        return sis__fail(SIS_E_MODEL, "expected %zu %s%s, one for each row, found %zu%s", a->rows,
                         entry, a->rows == 1 ? "" : "s", json_array_size(list),
                         a->rows == 1 ? " (several scores a row are a list of lists, [[0.1,0.9]])"
                                      : "");
    a->several = *n_outputs > 1;
    a->row = 0;
    int code = find_row(a, list, &row);
    if (!scores)
        return code == SIS_OK ? count_scores(a, row, n_outputs) : code;
    for (; code == SIS_OK && a->row < a->rows; a->row++)
        if ((code = find_row(a, list, &row)) == SIS_OK)
            code = read_row(a, row, *n_outputs, scores + a->row * *n_outputs);
    return code;
}
