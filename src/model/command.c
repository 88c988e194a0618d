/* SPDX-License-Identifier: MIT
 *
 * `cmd:COMMAND`: any program as a model. The protocol is in sis/model.h; child.c transfers the
 * lines, this file writes requests and reads answers.
 *
 * A line does not say which request it answers. A child that writes an extra line after child.c has
 * checked would answer every later request with the scores of the one before. Therefore two
 * consecutive requests never have the same number of rows: a shifted answer has the wrong length
 * and is refused. The last request has no successor, so the core sends one more before it reports
 * scores (confirm).
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sis/handle.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/answer.h"
#include "model/child.h"
#include "model/kind.h"
#include "model/request.h"

typedef struct {
    sis__asked_model base;
    char *command;
    double timeout;
    size_t restarts;
    int threads; /* number of threads that each child may start */
    size_t rows; /* in the last request */
    sis__child child;
} command_model;

/* Write a request for as many of the first rows as fit; *asked is their number. The line has
 * m->rows rows: one more than *asked if the last request had as many, with a copy of the first row
 * if there is no other. rows (n_rows, n_values) */
static int write_request(command_model *m, const double *rows, size_t n_rows, size_t n_values,
                         size_t *asked) {
    sis__buf *text = &m->base.request.text;
    sis__buf_clear(text);
    sis__buf_str(text, "{\"inputs\":");
    int error = sis__request_rows(&m->base.request, rows, n_rows, n_values, asked);
    size_t written = *asked;
    if (error == SIS_OK && *asked == m->rows) {
        written++;
        text->len--; /* the bracket */
        sis__buf_char(text, ',');
        error = sis__request_row(&m->base.request, rows + *asked % n_rows * n_values, n_values);
        sis__buf_char(text, ']');
        *asked += *asked < n_rows;
    }
    sis__buf_str(text, "}\n");
    if (error == SIS_OK)
        error = sis__buf_error(text);
    if (error == SIS_OK)
        m->rows = written;
    return error;
}

/* Read the answer into scores (asked, m->base.n_outputs). If scores is NULL, only m->base.n_outputs is set,
 * from the first row. *answered: the line belongs to this request. */
static int read_answer(command_model *m, char *line, size_t length, size_t asked, double *scores,
                       int *answered) {
    char excerpt[SIS__EXCERPT];
    sis__answer a;
    *answered = 0;
    int code = sis__answer_parse(&a, line, length, m->rows, "JSON and nothing else on stdout");
    if (code != SIS_OK)
        return code;
    const json_t *error = json_object_get(a.json, "error");
    json_t *outputs = json_object_get(a.json, "outputs");
    *answered = json_is_string(error) || json_array_size(outputs) == m->rows;
    if (json_is_string(error)) {
        code = sis__fail(SIS_E_MODEL, "the model reports: %.600s", json_string_value(error));
    } else if (!json_is_array(outputs)) {
        sis__answer_excerpt(line, strlen(line), excerpt, sizeof excerpt);
        code =
            sis__fail(SIS_E_MODEL, "expected an object with a list \"outputs\", found %s", excerpt);
    } else if (!*answered && m->base.requests > 1) {
        sis__answer_excerpt(line, strlen(line), excerpt, sizeof excerpt);
        code = sis__fail(SIS_E_MODEL,
                         "expected %zu output%s, one for each row, found %zu; write one line for "
                         "each request to stdout: %s",
                         m->rows, m->rows == 1 ? "" : "s", json_array_size(outputs), excerpt);
    } else {
        if (*answered && asked < m->rows) { /* ignore the copy's scores */
            json_array_remove(outputs, asked);
            a.rows = asked;
        }
        code = sis__answer_rows(&a, outputs, "output", &m->base.n_outputs, scores);
    }
    sis__answer_release(&a);
    return code;
}

/* ---- A model --------------------------------------------------------------------------------- */

/* Restart the child after a pause: 0.1 s, 0.2 s, ... 10 s. */
static int restart(command_model *m, size_t attempt) {
    double pause = fmin(0.1 * ldexp(1, (int)(attempt < 16 ? attempt : 16)), 10);
    struct timespec left = {(time_t)pause, (long)(1e9 * (pause - floor(pause)))};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
    sis__child_stop(&m->child);
    return sis__child_start(&m->child, m->command, m->threads);
}

/* A child that failed before is restarted, so that other examples can be computed. */
static int ask_patiently(command_model *m, char **line, size_t *length) {
    int code = SIS_OK;
    if (!m->child.pid) {
        sis__child_stop(&m->child); /* clean up */
        code = sis__child_start(&m->child, m->command, m->threads);
    }
    if (code == SIS_OK)
        code = sis__child_ask(&m->child, &m->base.request.text, m->timeout, line, length);
    for (size_t k = 0; code == SIS_E_MODEL && k < m->restarts; k++) {
        code = restart(m, k);
        if (code == SIS_OK)
            code = sis__child_ask(&m->child, &m->base.request.text, m->timeout, line, length);
    }
    return code;
}

static int ask(sis__asked_model *base, const double *rows, size_t n_rows, size_t n_values,
               double *scores, size_t *asked) {
    command_model *m = (command_model *)base;
    char *line;
    size_t length;
    int code = write_request(m, rows, n_rows, n_values, asked);
    if (code != SIS_OK)
        return code;
    m->base.requests++;
    code = ask_patiently(m, &line, &length);
    if (code == SIS_OK) {
        int answered;
        code = read_answer(m, line, length, *asked, scores, &answered);
        if (!answered) /* later lines could not be matched to requests */
            sis__child_stop(&m->child);
    }
    if (code == SIS_E_MODEL || code == SIS_E_NAN)
        sis__fail_in(code, "model cmd:%.100s, request %zu", m->command, m->base.requests);
    return code;
}

static void model_free(void *ctx) {
    command_model *m = ctx;
    if (!m)
        return;
    sis__child_stop(&m->child);
    sis__request_release(&m->base.request);
    free(m->command);
    pthread_mutex_destroy(&m->base.lock);
    free(m);
}

/* `like`: its command, time-out, threads and number of outputs are copied. */
static int model_new(const command_model *like, command_model **out) {
    int code = SIS_E_NOMEM;
    command_model *m = SIS_NEW(command_model, 1);
    if (!m)
        return code;
    *m = (command_model){.base.opened.kind = &sis__model_command,
                         .base.ask = ask,
                         .timeout = like->timeout,
                         .restarts = like->restarts,
                         .threads = like->threads,
                         .base.n_outputs = like->base.n_outputs,
                         .command = sis__strdup(like->command),
                         .child = SIS__CHILD_NONE};
    pthread_mutex_init(&m->base.lock, NULL);
    if (!m->command || sis__request_init(&m->base.request) != SIS_OK)
        goto fail;
    code = sis__child_start(&m->child, m->command, m->threads);
    if (code != SIS_OK) {
        sis__fail_in(code, "model cmd:%.100s", m->command);
        goto fail;
    }
    *out = m;
    return SIS_OK;
fail:
    model_free(m);
    return code;
}

/* One child per thread. */
static int worker_new(void *ctx, void **worker) {
    const command_model *m = ctx;
    command_model *twin = NULL;
    int code = model_new(m, &twin);
    if (twin)
        sis__request_like(&twin->base.request, &m->base.request);
    *worker = twin;
    return code;
}

static int command_open(const char *spec, const sis_model_opt *opt, sis_model *out) {
    const char *command = spec + strlen(sis__model_command.prefix);
    command_model *m = NULL;
    if (command[strspn(command, " \t\n")] == '\0')
        return sis__fail(SIS_E_ARGUMENT, "model \"%.100s\": expected a command after cmd:", spec);
    int cores = sis__cores(), users = opt->jobs > 0 ? opt->jobs : cores;
    command_model like = {.command = (char *)command,
                          .timeout = opt->timeout,
                          .restarts = opt->restarts,
                          .threads = users < cores ? cores / users : 1};
    int code = model_new(&like, &m);
    if (code == SIS_OK)
        *out = (sis_model){.size = sizeof *out,
                           .predict = sis__asked_predict,
                           .ctx = m,
                           .worker_new = worker_new,
                           .worker_free = model_free,
                           .missing = 1, /* JSON has null for it */
                           .confirm = 1};
    return code;
}

const sis__model_kind sis__model_command = {
    .prefix = "cmd:",
    .form = "cmd:COMMAND",
    .meaning = "a program that reads rows and writes scores",
    .open = command_open,
    .measure = sis__asked_measure,
    .predict = sis__asked_predict,
    .take_texts = sis__asked_take_texts,
    .take_rows = sis__asked_take_rows,
    .share = worker_new,
    .close = model_free,
};
