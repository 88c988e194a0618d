/* SPDX-License-Identifier: MIT
 *
 * `cmd:COMMAND`: any program as a model. The protocol is in sis/model.h; child.c carries the lines,
 * this file writes the questions and reads the answers.
 *
 * Writing numbers that read back as themselves is slow (microseconds each), and the masked copies
 * of one input consist of the same few values again and again, so the texts of recent values are
 * kept in a small direct-mapped table.
 *
 * Answers are judged strictly. A wrong number of scores, a string where a number belongs or a NaN
 * is never guessed around: an explanation of a model that was misread is worse than none. Python
 * writes NaN and Infinity, which JSON does not know; they are found and reported as what they are.
 * Only one of several scores of a row may be NaN: it counts when it is that one that is asked for.
 */
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/child.h"
#include "model/kind.h"

enum { SET_BITS = 12, WAYS = 4, NUMBERS = WAYS << SET_BITS, NUMBER_TEXT = 25, EXCERPT = 128 };

static const size_t LINE = (size_t)4 << 20; /* bytes of numbers in one request */

typedef struct {
    uint64_t bits;
    unsigned char length; /* 0: empty */
    char text[NUMBER_TEXT];
} number;

typedef struct {
    sis__opened opened;   /* first: see kind.h */
    pthread_mutex_t lock; /* one question at a time */
    char *command;
    double timeout;
    size_t n_outputs; /* 0: not measured yet */
    size_t requests;  /* so far, for messages */
    sis__child child;
    sis__buf request;
    number *numbers;         /* (NUMBERS): sets of WAYS, found by a hash of the value */
    unsigned evict;          /* which of a full set goes next */
    const sis_piece *pieces; /* (n_pieces) rows are texts made of them; NULL: rows are numbers */
    size_t n_pieces;
} command_model;

/* ---- Questions ------------------------------------------------------------------------------- */

static void add_number(command_model *m, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    number *set = m->numbers + ((bits * 0x9E3779B97F4A7C15u) >> (64 - SET_BITS)) * WAYS;
    number *slot = NULL;
    for (int i = 0; i < WAYS; i++) {
        if (set[i].length && set[i].bits == bits) {
            sis__buf_add(&m->request, set[i].text, set[i].length);
            return;
        }
        if (!set[i].length && !slot)
            slot = &set[i];
    }
    size_t before = m->request.len;
    sis__buf_double(&m->request, value);
    size_t length = m->request.len - before;
    if (sis__buf_error(&m->request) != SIS_OK || length > NUMBER_TEXT)
        return;
    if (!slot)
        slot = &set[m->evict++ % WAYS];
    slot->bits = bits;
    slot->length = (unsigned char)length;
    memcpy(slot->text, m->request.data + before, length);
}

static void add_numbers(command_model *m, const double *row, size_t n) {
    sis__buf_char(&m->request, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            sis__buf_char(&m->request, ',');
        add_number(m, row[i]);
    }
    sis__buf_char(&m->request, ']');
}

/* Pieces of one row, in one string. */
static int add_text(command_model *m, const double *row, size_t n) {
    sis__buf_char(&m->request, '"');
    for (size_t i = 0; i < n; i++) {
        if (isnan(row[i]))
            continue;
        if (!(row[i] >= 0 && row[i] < (double)m->n_pieces))
            return sis__fail(SIS_E_ARGUMENT, "piece %g of a text: there are %zu", row[i],
                             m->n_pieces);
        const sis_piece *p = &m->pieces[(size_t)row[i]];
        sis__buf_escape(&m->request, p->text, p->length);
    }
    sis__buf_char(&m->request, '"');
    return SIS_OK;
}

/* The line for the first rows, as many as fit; their number is *asked. rows (n_rows, n_values) */
static int write_request(command_model *m, const double *rows, size_t n_rows, size_t n_values,
                         size_t *asked) {
    size_t n = 0, longest = 0;
    int error = SIS_OK;
    sis__buf_clear(&m->request);
    sis__buf_str(&m->request, "{\"inputs\":[");
    for (; n < n_rows && error == SIS_OK && (n == 0 || m->request.len + longest < LINE); n++) {
        size_t before = m->request.len;
        if (n)
            sis__buf_char(&m->request, ',');
        if (m->pieces)
            error = add_text(m, rows + n * n_values, n_values);
        else
            add_numbers(m, rows + n * n_values, n_values);
        if (m->request.len - before > longest)
            longest = m->request.len - before;
    }
    sis__buf_str(&m->request, "]}\n");
    *asked = n;
    return error == SIS_OK ? sis__buf_error(&m->request) : error;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Put quotes over each NaN, Infinity and -Infinity outside strings, so that the line is JSON again
 * and the value can be found: NaN becomes "a", Infinity "nfinit". Returns how many there were. */
static size_t quote_non_numbers(char *line) {
    static const char *const names[] = {"NaN", "-NaN", "Infinity", "-Infinity"};
    size_t count = 0;
    int inside = 0;
    for (char *c = line; *c; c++) {
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

/* Parse the line; *non_numbers tells how many values JSON could not have said. */
static int parse(char *line, size_t length, json_t **answer, size_t *non_numbers) {
    char excerpt[EXCERPT];
    json_error_t error, again;
    *non_numbers = 0;
    *answer = json_loadb(line, length, JSON_DECODE_INT_AS_REAL, &error);
    if (*answer)
        return SIS_OK;
    if (json_error_code(&error) == json_error_out_of_memory)
        return sis__fail(SIS_E_NOMEM, "out of memory: an answer of %zu bytes", length);
    sis__child_excerpt(line, length, excerpt, sizeof excerpt);
    if (strlen(line) == length && (*non_numbers = quote_non_numbers(line)) > 0)
        *answer = json_loadb(line, length, JSON_DECODE_INT_AS_REAL, &again);
    return *answer ? SIS_OK
                   : sis__fail(SIS_E_MODEL, "expected JSON and nothing else on stdout, found %s",
                               excerpt);
}

static const char *type_name(const json_t *value) {
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

/* What is being read: row `row` of `rows` of the answer, for messages. */
typedef struct {
    size_t row, rows, non_numbers;
    int several; /* scores in a row */
} place;

static int read_score(const json_t *value, const place *at, double *score) {
    if (json_is_number(value)) {
        *score = json_number_value(value);
        return SIS_OK;
    }
    if (json_is_null(value) || (at->non_numbers && json_is_string(value))) {
        const char *name = json_is_null(value)             ? "null"
                           : json_string_length(value) < 3 ? "NaN"
                           : json_string_length(value) < 7 ? "Infinity"
                                                           : "-Infinity";
        *score = NAN;
        if (at->several && (*name == 'n' || *name == 'N'))
            return SIS_OK;
        return sis__fail(SIS_E_NAN, "row %zu of %zu: the model answered %s instead of a score",
                         at->row + 1, at->rows, name);
    }
    return sis__fail(SIS_E_MODEL, "row %zu of %zu: expected a number, found %s", at->row + 1,
                     at->rows, type_name(value));
}

/* One row's scores (n_outputs), given as a number or a list. */
static int read_row(const json_t *value, const place *at, size_t n_outputs, double *scores) {
    if (!json_is_array(value) && n_outputs == 1)
        return read_score(value, at, scores);
    if (!json_is_array(value))
        return sis__fail(SIS_E_MODEL, "row %zu of %zu: expected a list of %zu scores, found %s",
                         at->row + 1, at->rows, n_outputs, type_name(value));
    if (json_array_size(value) != n_outputs)
        return sis__fail(SIS_E_MODEL, "row %zu of %zu: expected %zu scores, found %zu", at->row + 1,
                         at->rows, n_outputs, json_array_size(value));
    for (size_t i = 0; i < n_outputs; i++) {
        int code = read_score(json_array_get(value, i), at, &scores[i]);
        if (code != SIS_OK)
            return code;
    }
    return SIS_OK;
}

/* The list "outputs" with one entry for each of `rows` rows; its reference is the answer's. */
static int find_outputs(const json_t *answer, const char *line, size_t rows,
                        const json_t **outputs) {
    char excerpt[EXCERPT];
    const json_t *error = json_object_get(answer, "error");
    *outputs = json_object_get(answer, "outputs");
    if (json_is_string(error))
        return sis__fail(SIS_E_MODEL, "the model says: %.600s", json_string_value(error));
    if (!json_is_array(*outputs)) {
        sis__child_excerpt(line, strlen(line), excerpt, sizeof excerpt);
        return sis__fail(SIS_E_MODEL, "expected an object with a list \"outputs\", found %s",
                         excerpt);
    }
    if (json_array_size(*outputs) != rows)
        return sis__fail(SIS_E_MODEL, "expected %zu output%s, one for each row, found %zu%s", rows,
                         rows == 1 ? "" : "s", json_array_size(*outputs),
                         rows == 1 ? " (several scores a row are a list of lists, [[0.1,0.9]])"
                                   : "");
    return SIS_OK;
}

/* Read an answer for `rows` rows into scores (rows, *n_outputs). If scores is NULL only learn
 * *n_outputs, from the first row. */
static int read_answer(char *line, size_t length, size_t rows, size_t *n_outputs, double *scores) {
    json_t *answer = NULL;
    const json_t *outputs = NULL, *first;
    place at = {.rows = rows, .several = *n_outputs > 1};
    int code = parse(line, length, &answer, &at.non_numbers);
    if (code == SIS_OK)
        code = find_outputs(answer, line, rows, &outputs);
    if (code == SIS_OK && !scores) {
        double score;
        first = json_array_get(outputs, 0);
        *n_outputs = json_is_array(first) ? json_array_size(first) : 1;
        at.several = *n_outputs > 1;
        if (*n_outputs == 0)
            code =
                sis__fail(SIS_E_MODEL, "row 1 of %zu: expected scores, found an empty list", rows);
        for (size_t i = 0; i < *n_outputs && code == SIS_OK; i++)
            code = read_score(json_is_array(first) ? json_array_get(first, i) : first, &at, &score);
    }
    for (; code == SIS_OK && scores && at.row < rows; at.row++)
        code = read_row(json_array_get(outputs, at.row), &at, *n_outputs,
                        scores + at.row * *n_outputs);
    json_decref(answer);
    return code;
}

/* ---- A model --------------------------------------------------------------------------------- */

/* Ask for the first rows, as many as fit; *asked is their number. Locked. */
static int ask_child(command_model *m, const double *rows, size_t n_rows, size_t n_values,
                     double *scores, size_t *asked) {
    char *line;
    size_t length;
    int code = write_request(m, rows, n_rows, n_values, asked);
    if (code != SIS_OK)
        return code;
    m->requests++;
    code = sis__child_ask(&m->child, &m->request, m->timeout, &line, &length);
    if (code == SIS_OK)
        code = read_answer(line, length, *asked, &m->n_outputs, scores);
    if (code == SIS_E_MODEL || code == SIS_E_NAN)
        sis__fail_in(code, "model cmd:%.100s, request %zu", m->command, m->requests);
    return code;
}

static int ask(command_model *m, const double *rows, size_t n_rows, size_t n_values, double *scores,
               size_t *asked) {
    pthread_mutex_lock(&m->lock);
    int code = ask_child(m, rows, n_rows, n_values, scores, asked);
    pthread_mutex_unlock(&m->lock);
    return code;
}

static int predict(void *ctx, const double *rows, size_t n_rows, size_t n_values, double *scores) {
    command_model *m = ctx;
    if (m->n_outputs == 0)
        return sis__fail(SIS_E_ARGUMENT, "model cmd:%.100s: its outputs were not measured",
                         m->command);
    for (size_t asked = 0; n_rows > 0; n_rows -= asked) {
        int code = ask(m, rows, n_rows, n_values, scores, &asked);
        if (code != SIS_OK)
            return code;
        rows += asked * n_values;
        scores += asked * m->n_outputs;
    }
    return SIS_OK;
}

static int measure(void *ctx, const double *row, size_t n_values, size_t *n_outputs) {
    command_model *m = ctx;
    size_t asked;
    int code = ask(m, row, 1, n_values, NULL, &asked);
    if (code != SIS_OK)
        m->n_outputs = 0;
    *n_outputs = m->n_outputs;
    return code;
}

static void model_free(void *ctx) {
    command_model *m = ctx;
    if (!m)
        return;
    sis__child_stop(&m->child);
    sis__buf_release(&m->request);
    free(m->numbers);
    free(m->command);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static int model_new(const char *command, double timeout, size_t n_outputs, command_model **out) {
    int code = SIS_E_NOMEM;
    command_model *m = SIS_NEW(command_model, 1);
    if (!m)
        return code;
    *m = (command_model){.opened.kind = &sis__model_command,
                         .timeout = timeout,
                         .n_outputs = n_outputs,
                         .command = sis__strdup(command),
                         .numbers = SIS_NEW(number, NUMBERS),
                         .child = SIS__CHILD_NONE};
    pthread_mutex_init(&m->lock, NULL);
    if (!m->command || !m->numbers)
        goto fail;
    code = sis__child_start(&m->child, command);
    if (code != SIS_OK) {
        sis__fail_in(code, "model cmd:%.100s", command);
        goto fail;
    }
    *out = m;
    return SIS_OK;
fail:
    model_free(m);
    return code;
}

/* One more thread, one more child. */
static int worker_new(void *ctx, void **worker) {
    const command_model *m = ctx;
    command_model *twin = NULL;
    int code = model_new(m->command, m->timeout, m->n_outputs, &twin);
    if (twin) {
        twin->pieces = m->pieces;
        twin->n_pieces = m->n_pieces;
    }
    *worker = twin;
    return code;
}

static int command_open(const char *spec, const sis_model_opt *opt, sis_model *out) {
    const char *command = spec + strlen(sis__model_command.prefix);
    command_model *m = NULL;
    if (command[strspn(command, " \t\n")] == '\0')
        return sis__fail(SIS_E_ARGUMENT, "model \"%.100s\": expected a command after cmd:", spec);
    int code = model_new(command, opt->timeout, 0, &m);
    if (code == SIS_OK)
        *out = (sis_model){
            .predict = predict, .ctx = m, .worker_new = worker_new, .worker_free = model_free};
    return code;
}

int sis_model_take_texts(sis_model *model, const sis_piece *pieces, size_t n) {
    command_model *m = model->ctx;
    if (model->predict != predict) /* whatever else its context is */
        return sis__fail(SIS_E_UNSUPPORTED, "only cmd: models take texts");
    m->pieces = pieces;
    m->n_pieces = n;
    return SIS_OK;
}

const sis__model_kind sis__model_command = {
    .prefix = "cmd:",
    .form = "cmd:COMMAND",
    .meaning = "a program that reads rows and writes scores",
    .open = command_open,
    .measure = measure,
    .close = model_free,
};
