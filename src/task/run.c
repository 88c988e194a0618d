/* SPDX-License-Identifier: MIT
 *
 * Examples to answers to records. Threads load an example, explain it and forget it; when its turn
 * comes to be handed over it is loaded again for its record, which costs microseconds. So the
 * values of examples that wait for a slow one before them need no memory.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/explain.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

void sis_task_cancel(sis_task *t) {
    atomic_store(&t->cancelled, 1);
}

/* ---- One example --------------------------------------------------------------------------- */

/* A collection that says why there is none. */
static int fail_softly(const char *message, size_t n_features, sis_rationale *found) {
    *found = (sis_rationale){.collection = {.status = SIS_STATUS_ERROR,
                                            .n_features = n_features,
                                            .score = NAN,
                                            .masked_score = NAN,
                                            .message = sis__strdup(message)},
                             .sum = NAN,
                             .difference = NAN};
    return found->collection.message ? SIS_OK : SIS_E_NOMEM;
}

/* How many features an example has, for what is said of one that failed. */
static size_t count_features(const sis_example *e) {
    long n = sis_input_features(&e->input);
    return n > 0 ? (size_t)n : 0;
}

/* Is it a failure for this example alone? */
static int is_soft(const sis_task *t, int error) {
    return error == SIS_E_NAN || error == SIS_E_UNSTABLE ||
           (error == SIS_E_MODEL && t->opt.answer.keep_going);
}

int sis__task_answer(const sis_task *t, size_t i, const sis_model *model, const sis_opt *opt,
                     sis_example *e, sis_rationale *found) {
    char said[512];
    int error = sis__task_load(t, i, model, SIZE_MAX, e);
    if (is_soft(t, error)) { /* of the scores that tell which output is highest */
        snprintf(said, sizeof said, "%s", sis_error_detail());
        error = sis__task_load(t, i, model, 0, e);
        if (error == SIS_OK)
            error = fail_softly(said, count_features(e), found);
    } else if (error == SIS_OK && e->excuse) {
        error = fail_softly(e->excuse, 0, found);
    } else if (error == SIS_OK) {
        error = sis__task_method_find(t, i, e, sis__task_model_for(t, model, e->row), opt, found);
        if (is_soft(t, error))
            error = fail_softly(sis_error_detail(), count_features(e), found);
    }
    if (error != SIS_OK) {
        char number[SIS_ID_SIZE];
        sis_example_release(e);
        sis__fail_in(error, "example %s", sis__task_name(&t->source, i, number));
    }
    return error;
}

/* ---- Many ---------------------------------------------------------------------------------- */

/* An answer that waits for those before it. */
typedef struct {
    size_t output;
    sis_rationale found;
} answer;

typedef struct {
    sis_task *task;
    const size_t *which;
    answer **answers; /* (n) */
    sis__task_deliver *deliver;
    void *ctx;
} run;

static size_t example_of(const run *r, size_t k) {
    return r->which ? r->which[k] : k;
}

static void free_answer(answer *a) {
    if (a)
        sis_rationale_release(&a->found);
    free(a);
}

/* The core gets an empty collection: what was found stays here. */
static int find(void *ctx, size_t k, const sis_model *model, const sis_opt *opt,
                sis_collection *out) {
    const run *r = (const run *)ctx;
    sis_example e;
    answer *a = SIS_NEW(answer, 1);
    if (!a)
        return SIS_E_NOMEM;
    int error = sis__task_answer(r->task, example_of(r, k), model, opt, &e, &a->found);
    if (error != SIS_OK) {
        free(a);
        return error;
    }
    a->output = e.input.output;
    sis_example_release(&e);
    r->answers[k] = a;
    *out = (sis_collection){0};
    return SIS_OK;
}

static int hand_over(void *ctx, size_t k, const sis_collection *c) {
    const run *r = (const run *)ctx;
    answer *a = r->answers[k];
    sis_example e;
    (void)c;
    int result = sis__task_load(r->task, example_of(r, k), NULL, a->output, &e);
    if (result == SIS_OK) {
        result = r->deliver(r->ctx, example_of(r, k), &e, &a->found);
        sis_example_release(&e);
    }
    free_answer(a);
    r->answers[k] = NULL;
    return result;
}

static int report(void *ctx, const sis_progress *p) {
    sis_task *t = (sis_task *)ctx;
    if (atomic_load(&t->cancelled))
        return 1;
    const sis_opt *opt = &t->opt.answer.search;
    int end = p->inputs_done == p->inputs;
    return opt->progress && (end || sis__is_due(&t->told, opt->progress_every))
               ? opt->progress(opt->progress_ctx, p)
               : 0;
}

int sis__task_search(sis_task *t, sis_opt *search) {
    if (!t->source.data)
        return sis__fail(SIS_E_OPTION, "--input: expected examples; this task has none");
    if (t->opt.question.plain)
        return sis__fail(SIS_E_OPTION, "this task is for scores alone: nothing can be explained");
    *search = t->opt.answer.search;
    search->threshold = t->threshold;
    search->progress = report;
    search->progress_ctx = t;
    search->progress_every = 0; /* each answer asks whether it was cancelled */
    const char *wrong = sis_opt_check(search);
    return wrong ? sis__fail(SIS_E_ARGUMENT, "%s", wrong) : SIS_OK;
}

static int check_which(const sis_task *t, const size_t *which, size_t n) {
    size_t most = 0;
    for (size_t k = 0; which && k < n; k++)
        most = which[k] > most ? which[k] : most;
    most = which || n == 0 ? most : n - 1;
    return n > 0 && most >= t->source.n
               ? sis__fail(SIS_E_ARGUMENT, "there is no example %zu; the task has %zu", most,
                           t->source.n)
               : SIS_OK;
}

int sis__task_run(sis_task *t, const size_t *which, size_t n, sis__task_deliver *deliver,
                  void *ctx) {
    run r = {.task = t, .which = which, .deliver = deliver, .ctx = ctx};
    sis_opt search;
    int error = sis__task_search(t, &search);
    if (error == SIS_OK)
        error = check_which(t, which, n);
    if (error != SIS_OK || n == 0)
        return error;
    r.answers = SIS_NEW(answer *, n);
    if (!r.answers)
        return SIS_E_NOMEM;
    error = sis_find_many(&t->model, NULL, n, &search, &(sis_finder){find, hand_over, &r});
    for (size_t k = 0; k < n; k++)
        free_answer(r.answers[k]);
    free(r.answers);
    return error;
}

/* Records to the caller's function. */
typedef struct {
    const sis_task *task;
    sis_task_done *done;
    void *ctx;
} receiver;

static int write_record(void *ctx, size_t i, sis_example *e, sis_rationale *found) {
    const receiver *to = (const receiver *)ctx;
    sis_record record;
    sis_task_record(to->task, e, found, &record);
    return to->done(to->ctx, i, &record);
}

int sis_task_run(sis_task *t, const size_t *which, size_t n, sis_task_done *done, void *ctx) {
    return sis__task_run(t, which, n, write_record, &(receiver){t, done, ctx});
}

/* ---- As they come ---------------------------------------------------------------------------- */

/* Examples named one at a time, records handed over as they are done. */
typedef struct {
    sis_task *task;
    sis_task_more *more;
    sis_task_done *done;
    void *ctx;
    pthread_mutex_t lock;
    int error; /* of the first example that failed, whichever thread was first */
    size_t failed;
    char message[512];
} stream;

static int keep_failure(stream *s, size_t i, int error) {
    pthread_mutex_lock(&s->lock);
    if (s->error == SIS_OK || i < s->failed) {
        s->error = error;
        s->failed = i;
        snprintf(s->message, sizeof s->message, "%s", sis_error_detail());
    }
    pthread_mutex_unlock(&s->lock);
    return error;
}

static int hand_record(stream *s, size_t i, sis_example *e, sis_rationale *found) {
    sis_record record;
    sis_task_record(s->task, e, found, &record);
    pthread_mutex_lock(&s->lock);
    int error = s->done(s->ctx, i, &record);
    pthread_mutex_unlock(&s->lock);
    return error;
}

/* The core counts to as many as there may be; those that are not named are nothing to do. */
static int find_named(void *ctx, size_t k, const sis_model *model, const sis_opt *opt,
                      sis_collection *out) {
    stream *s = (stream *)ctx;
    sis_example e;
    sis_rationale found;
    size_t i;
    (void)k;
    *out = (sis_collection){0};
    if (!s->more(s->ctx, &i))
        return SIS_OK;
    int error = check_which(s->task, &i, 1);
    if (error == SIS_OK)
        error = sis__task_answer(s->task, i, model, opt, &e, &found);
    if (error != SIS_OK)
        return keep_failure(s, i, error);
    error = hand_record(s, i, &e, &found);
    sis_example_release(&e);
    sis_rationale_release(&found);
    return error == SIS_OK ? SIS_OK : keep_failure(s, i, error);
}

static int nothing_more(void *ctx, size_t k, const sis_collection *c) {
    (void)ctx, (void)k, (void)c;
    return 0;
}

int sis_task_each(sis_task *t, size_t most, sis_task_more *more, sis_task_done *done, void *ctx) {
    stream s = {.task = t, .more = more, .done = done, .ctx = ctx};
    sis_opt search;
    int error = sis__task_search(t, &search);
    if (error != SIS_OK || most == 0)
        return error;
    pthread_mutex_init(&s.lock, NULL);
    error =
        sis_find_many(&t->model, NULL, most, &search, &(sis_finder){find_named, nothing_more, &s});
    pthread_mutex_destroy(&s.lock);
    if (s.error != SIS_OK)
        sis_error_set(s.message);
    return s.error != SIS_OK ? s.error : error;
}

/* ---- Scores -------------------------------------------------------------------------------- */

/* Examples whose values are in memory at the same time. */
typedef struct {
    sis_example *examples;
    sis_input *inputs;
    double *scores; /* (n, outputs) */
    size_t n, room, bytes;
    const sis_model *model; /* that they are asked of */
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

/* Score n examples: of the task, which[k] (NULL: k) for each, or without a source those of the data
 * set from the first on; in blocks of a quarter of the memory. */
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
        return sis__fail(SIS_E_OPTION, "--input: expected examples; this task has none");
    int error = check_which(t, which, n);
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

/* The percentile of the scores that would be explained, over every example of the data set. */
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
                         "--threshold: a percentile lies between p0 and p100, found \"%s\"", text);
    if (is_percentile && !t->source.data)
        return sis__fail(SIS_E_OPTION, "--threshold: a percentile needs examples; this task has "
                                       "none");
    if (is_percentile)
        return score_percentile(t, v, out);
    *out = v;
    return SIS_OK;
}
