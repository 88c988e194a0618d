/* SPDX-License-Identifier: MIT
 *
 * Scores of examples without masking, and thresholds given as percentiles of them.
 */
#include <stdlib.h>

#include <sis/example.h>
#include <sis/explain.h>

#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

/* ---- Scores -------------------------------------------------------------------------------- */

/* A block of examples in memory. */
typedef struct {
    sis_example *examples;
    sis_input *inputs;
    double *scores; /* (n, outputs) */
    size_t n, room, bytes;
    const sis_model *model; /* that predicts them */
} block;

static void empty(block *b) {
    while (b->n > 0)
        sis_example_release(&b->examples[--b->n]);
    b->bytes = 0;
}

static int add_row(const sis_task *t, size_t row, block *b) {
    sis_example *e = &b->examples[b->n];
    char number[SIS_ID_SIZE];
    int error = sis__task_load_values(t, row, e);
    if (error != SIS_OK)
        return error;
    b->n++;
    e->id = sis__strdup(sis_data_id(t->source.data, row, number));
    e->input.name = e->id;
    b->inputs[b->n - 1] = e->input;
    b->bytes += e->input.n_values * sizeof(double);
    return e->id ? SIS_OK : SIS_E_NOMEM;
}

static int score_block(const sis_task *t, const sis_opt *opt, block *b, size_t first,
                       sis_task_scored *done, void *ctx) {
    size_t outputs = t->model.n_outputs;
    int error = b->n ? sis_predict(b->model, b->inputs, b->n, opt, b->scores) : SIS_OK;
    for (size_t k = 0; error == SIS_OK && k < b->n; k++)
        error = done(ctx, first + k, b->scores + k * outputs);
    empty(b);
    return error;
}

/* Score n examples, which[k] of the task (NULL: k); without a source, the first n of the data set.
 * Blocks use a quarter of the memory. */
static int score_rows(const sis_task *t, const sis__task_source *s, const size_t *which, size_t n,
                      sis_task_scored *done, void *ctx) {
    enum { ROOM = 1 << 16 };
    size_t outputs = t->model.n_outputs;
    block b = {.room = n < ROOM ? n : ROOM};
    sis_opt opt = t->opt.answer.search;
    opt.progress = NULL;
    b.examples = SIS_NEW(sis_example, b.room);
    b.inputs = SIS_NEW(sis_input, b.room);
    b.scores = (double *)sis__alloc_raw(b.room, outputs * sizeof *b.scores);
    int error = b.examples && b.inputs && b.scores ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        size_t row = s ? sis__task_row(s, which ? which[i] : i) : i;
        const sis_model *model = sis__task_model_for(t, &t->model, row);
        if (model != b.model || b.n == b.room || b.bytes >= opt.memory / 4)
            error = score_block(t, &opt, &b, i - b.n, done, ctx);
        b.model = model;
        if (error == SIS_OK)
            error = add_row(t, row, &b);
    }
    if (error == SIS_OK)
        error = score_block(t, &opt, &b, n - b.n, done, ctx);
    empty(&b);
    free(b.examples);
    free(b.inputs);
    free(b.scores);
    return error;
}

int sis_task_predict(sis_task *t, const size_t *which, size_t n, sis_task_scored *done, void *ctx) {
    if (!t->source.data)
        return sis__fail(SIS_E_OPTION, "--input: the task has no examples");
    int error = sis__task_check_examples(t, which, n);
    return error ? error : score_rows(t, &t->source, which, n, done, ctx);
}

/* ---- Thresholds ---------------------------------------------------------------------------- */

typedef struct {
    const sis_task *task;
    double *scores;
} chosen;

static int keep_score(void *ctx, size_t i, const double *scores) {
    const chosen *c = (const chosen *)ctx;
    c->scores[i] = scores[sis__task_output(c->task, scores)];
    return SIS_OK;
}

/* The percentile of the explained output's scores over all examples of the data set. */
static int score_percentile(const sis_task *t, double percent, double *out) {
    size_t n = sis_data_count(t->source.data);
    chosen c = {.task = t, .scores = SIS_NEW_RAW(double, n)};
    int error = c.scores ? score_rows(t, NULL, NULL, n, keep_score, &c) : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = sis_sample_percentile(c.scores, n, percent, out);
    free(c.scores);
    return error;
}

int sis__task_threshold_find(const sis_task *t, const char *text, double *out) {
    int is_percentile = text[0] == 'p';
    double v;
    if (!sis__text_number(text + is_percentile, &v))
        return sis__fail(SIS_E_OPTION,
                         "--threshold: expected a number or pNN (a percentile), found \"%s\"",
                         text);
    if (is_percentile && (v < 0 || v > 100))
        return sis__fail(SIS_E_OPTION,
                         "--threshold: expected a percentile from p0 to p100, found \"%s\"", text);
    if (is_percentile && !t->source.data)
        return sis__fail(SIS_E_OPTION,
                         "--threshold: a percentile needs examples, but the task has none");
    if (is_percentile)
        return score_percentile(t, v, out);
    *out = v;
    return SIS_OK;
}
