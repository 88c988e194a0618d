/* SPDX-License-Identifier: MIT
 *
 * Explains examples and makes records. sis_task_explain runs on the caller's thread. sis_task_next
 * lets a pool of threads run ahead and returns their answers in order. A thread loads an example,
 * explains it and frees it. The example is loaded again for its record, which takes microseconds,
 * so examples that wait for a slow one before them use no memory for values.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/example.h>
#include <sis/explain.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

void sis_task_cancel(sis_task *t) {
    atomic_store(&t->cancelled, 1);
}

int sis__task_check_examples(const sis_task *t, const size_t *which, size_t n) {
    size_t max = 0;
    for (size_t k = 0; which && k < n; k++)
        max = which[k] > max ? which[k] : max;
    max = which || n == 0 ? max : n - 1;
    return n > 0 && max >= t->source.n
               ? sis__fail(SIS_E_ARGUMENT, "no example %zu; the task has %zu", max, t->source.n)
               : SIS_OK;
}

/* ---- Handles of the model ------------------------------------------------------------------ */

/* One handle of the model for each example that is explained at the same time. */
struct sis__task_handles {
    sis_model *models; /* (n) the first is the task's */
    int n;
    int *idle; /* (n_idle) unused handles */
    int n_idle;
    pthread_cond_t given_back;
};

void sis__task_handles_free(sis_task *t) {
    sis__task_handles *h = t->run.handles;
    if (!h)
        return;
    for (int k = 1; k < h->n; k++)
        if (h->models[k].worker_free)
            h->models[k].worker_free(h->models[k].ctx);
    pthread_cond_destroy(&h->given_back);
    free(h->models);
    free(h->idle);
    free(h);
    t->run.handles = NULL;
}

static int make_handles(sis_task *t) {
    int jobs = t->opt.answer.search.jobs > 0 ? t->opt.answer.search.jobs : sis__cores();
    jobs = (size_t)jobs > t->source.n ? (int)t->source.n : jobs;
    jobs = jobs < 1 || !t->model.worker_new ? 1 : jobs;
    sis__task_handles *h = t->run.handles = SIS_NEW(sis__task_handles, 1);
    if (!h)
        return SIS_E_NOMEM;
    pthread_cond_init(&h->given_back, NULL);
    h->models = SIS_NEW(sis_model, (size_t)jobs);
    h->idle = SIS_NEW(int, (size_t)jobs);
    int error = h->models && h->idle ? SIS_OK : SIS_E_NOMEM;
    while (error == SIS_OK && h->n < jobs) {
        sis_model *m = &h->models[h->n];
        *m = t->model;
        if (h->n > 0)
            error = m->worker_new(t->model.ctx, &m->ctx);
        if (error == SIS_OK)
            h->idle[h->n_idle++] = h->n++;
    }
    if (error != SIS_OK)
        sis__task_handles_free(t);
    return error;
}

/* All handles are made before the first is used. */
static int prepare_handles(sis_task *t) {
    pthread_mutex_lock(&t->run.lock);
    int error = t->run.handles ? SIS_OK : make_handles(t);
    if (t->run.progress.inputs == 0)
        t->run.progress.inputs = t->source.n;
    pthread_mutex_unlock(&t->run.lock);
    return error;
}

static int take_handle(sis_task *t) {
    sis__task_handles *h = t->run.handles;
    pthread_mutex_lock(&t->run.lock);
    while (h->n_idle == 0)
        pthread_cond_wait(&h->given_back, &t->run.lock);
    int handle = h->idle[--h->n_idle];
    pthread_mutex_unlock(&t->run.lock);
    return handle;
}

static void give_back(sis_task *t, int handle) {
    sis__task_handles *h = t->run.handles;
    pthread_mutex_lock(&t->run.lock);
    h->idle[h->n_idle++] = handle;
    pthread_cond_signal(&h->given_back);
    pthread_mutex_unlock(&t->run.lock);
}

/* ---- One example --------------------------------------------------------------------------- */

/* A collection of status error. */
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

/* The number of features of an example that failed, for its record. */
static size_t count_features(const sis_example *e) {
    long n = sis_input_features(&e->input);
    return n > 0 ? (size_t)n : 0;
}

/* 1 if the failure concerns only this example. */
static int is_soft(const sis_task *t, int error) {
    return error == SIS_E_NAN || error == SIS_E_UNSTABLE ||
           (error == SIS_E_MODEL && t->opt.answer.keep_going);
}

/* Load example i and explain it. If the model fails for it, the collection has status error. On
 * failure nothing needs to be released. */
static int answer_with(const sis_task *t, size_t i, const sis_model *model, const sis_opt *opt,
                       sis_example *e, sis_rationale *found) {
    char said[512];
    int error = sis__task_load(t, i, model, SIZE_MAX, e);
    if (is_soft(t, error)) { /* of the scores that select the highest output */
        snprintf(said, sizeof said, "%s", sis_error_detail());
        error = sis__task_load(t, i, model, 0, e);
        if (error == SIS_OK)
            error = fail_softly(said, count_features(e), found);
    } else if (error == SIS_OK && e->error) {
        error = fail_softly(e->error, 0, found);
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

/* An example in progress. */
typedef struct {
    sis_task *task;
    size_t evaluations; /* counted so far */
    int only_counts;    /* another thread reports progress */
} reporter;

/* Call the caller's progress function; nonzero: stop. The lock is held. */
static int tell(sis_task *t) {
    const sis_opt *opt = &t->opt.answer.search;
    return opt->progress && sis__is_due(&t->run.told, opt->progress_every)
               ? opt->progress(opt->progress_ctx, &t->run.progress)
               : 0;
}

static int report(void *ctx, const sis_progress *p) {
    reporter *r = (reporter *)ctx;
    sis_task *t = r->task;
    if (atomic_load(&t->cancelled))
        return 1;
    pthread_mutex_lock(&t->run.lock);
    t->run.progress.evaluations += p->evaluations - r->evaluations;
    r->evaluations = p->evaluations;
    t->run.progress.walk = p->walk;
    int stop = r->only_counts ? 0 : tell(t);
    pthread_mutex_unlock(&t->run.lock);
    return stop;
}

/* Prepare examples, decision and handles. */
static int prepare(sis_task *t) {
    sis_opt search = t->opt.answer.search;
    if (!t->source.data)
        return sis__fail(SIS_E_OPTION, "--input: the task has no examples");
    if (t->opt.question.plain)
        return sis__fail(SIS_E_OPTION, "this task computes scores only");
    search.threshold = t->threshold;
    const char *wrong = sis_opt_check(&search);
    return wrong ? sis__fail(SIS_E_ARGUMENT, "%s", wrong) : prepare_handles(t);
}

/* An example and its result. */
typedef struct {
    sis_example example;
    sis_rationale found;
} answer;

static void release_answer(answer *a) {
    sis_example_release(&a->example);
    sis_rationale_release(&a->found);
}

/* On failure the answer is empty. */
static int find_answer(sis_task *t, size_t i, int only_counts, answer *out) {
    enum { MIN_MEMORY = 1 << 16 };
    reporter r = {.task = t, .only_counts = only_counts};
    sis_opt opt = t->opt.answer.search;
    opt.threshold = t->threshold;
    opt.progress = report;
    opt.progress_ctx = &r;
    opt.progress_every = 0; /* check for cancellation at each prediction */
    opt.memory /= (size_t)t->run.handles->n;
    opt.memory = opt.memory < MIN_MEMORY ? MIN_MEMORY : opt.memory;
    int handle = take_handle(t);
    int error =
        answer_with(t, i, &t->run.handles->models[handle], &opt, &out->example, &out->found);
    give_back(t, handle);
    if (error != SIS_OK)
        *out = (answer){0};
    pthread_mutex_lock(&t->run.lock);
    t->run.progress.inputs_done += error == SIS_OK;
    t->run.progress.walk = 0;
    pthread_mutex_unlock(&t->run.lock);
    return error;
}

/* ---- On the caller's thread ---------------------------------------------------------------- */

/* The answer whose record a thread has borrowed. */
typedef struct {
    const sis_task *task;
    answer answer;
} lent;

static pthread_key_t lent_key;
static pthread_once_t lent_once = PTHREAD_ONCE_INIT;
static int lent_error;

static void free_lent(void *p) {
    release_answer(&((lent *)p)->answer);
    free(p);
}

static void make_key(void) {
    lent_error = pthread_key_create(&lent_key, free_lent);
}

/* The entry of this thread, created if needed; NULL: no memory. */
static lent *own_lent(void) {
    pthread_once(&lent_once, make_key);
    lent *l = lent_error ? NULL : (lent *)pthread_getspecific(lent_key);
    if (l || lent_error)
        return l;
    l = SIS_NEW(lent, 1);
    if (l && pthread_setspecific(lent_key, l) != 0) {
        free(l);
        l = NULL;
    }
    return l;
}

/* End this thread's loan from the task. */
static void end_loan(const sis_task *t) {
    pthread_once(&lent_once, make_key);
    lent *l = lent_error ? NULL : (lent *)pthread_getspecific(lent_key);
    if (!l || l->task != t)
        return;
    pthread_setspecific(lent_key, NULL);
    free_lent(l);
}

int sis_task_explain(sis_task *t, size_t i, sis_record *record) {
    *record = (sis_record){0};
    lent *l = own_lent();
    int error = l ? prepare(t) : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = sis__task_check_examples(t, &i, 1);
    if (error != SIS_OK)
        return error;
    release_answer(&l->answer);
    l->task = t;
    error = find_answer(t, i, 0, &l->answer);
    if (error == SIS_OK)
        sis_task_record(t, &l->answer.example, &l->answer.found, record);
    return error;
}

/* ---- Pool of threads ------------------------------------------------------------------------- */

enum {
    ROOM = 64, /* answers that may wait for the caller before threads block */
    TELL_NANOSECONDS = 50000000
};

/* The queue of sis_task_next, numbered from 0: k is example_of(k). */
struct sis__task_ahead {
    size_t n, given, taken; /* given: started by threads; taken: returned to the caller */
    answer **answers;       /* (n) found and not taken */
    size_t failed;          /* the first failure; n: none */
    int error;              /* why */
    char message[1024];
    int ending; /* stop: no more results are needed */
    answer now; /* of the record that the caller has borrowed */
    pthread_t *threads;
    int n_threads; /* 0: the caller's thread explains */
    pthread_cond_t changed;
};

static size_t example_of(const sis_task *t, size_t k) {
    return t->run.which ? t->run.which[k] : k;
}

static void drop(answer *a) {
    if (a)
        release_answer(a);
    free(a);
}

/* 1 if enough answers wait for the caller. */
static int is_full(const sis__task_ahead *a) {
    return a->given - a->taken >= ROOM && a->answers[a->taken];
}

/* The next example; n: nothing left to do. */
static size_t begin_one(sis_task *t) {
    sis__task_ahead *a = t->run.ahead;
    pthread_mutex_lock(&t->run.lock);
    while (a->given < a->n && !a->ending && a->failed == a->n && is_full(a))
        pthread_cond_wait(&a->changed, &t->run.lock);
    size_t k = a->ending || a->failed < a->n ? a->n : a->given;
    a->given += k < a->n;
    pthread_mutex_unlock(&t->run.lock);
    return k;
}

static void end_one(sis_task *t, size_t k, int error, answer *found) {
    sis__task_ahead *a = t->run.ahead;
    pthread_mutex_lock(&t->run.lock);
    a->answers[k] = found;
    if (error != SIS_OK && k < a->failed) {
        a->failed = k;
        a->error = error;
        snprintf(a->message, sizeof a->message, "%s", sis_error_detail());
    }
    if (error != SIS_OK || k == a->taken)
        pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&t->run.lock);
}

/* Explain number k. A thread of the pool keeps the result and its output. */
static void explain_one(sis_task *t, size_t k, int ahead) {
    answer *found = SIS_NEW(answer, 1);
    int error = found ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK && atomic_load(&t->cancelled))
        error = sis__fail(SIS_E_CANCELLED, "cancelled");
    if (error == SIS_OK)
        error = find_answer(t, example_of(t, k), ahead, found);
    if (error != SIS_OK) {
        free(found);
        found = NULL;
    } else if (ahead) {
        size_t output = found->example.input.output;
        sis_example_release(&found->example);
        found->example.input.output = output;
    }
    end_one(t, k, error, found);
}

static void *run_ahead(void *ctx) {
    sis_task *t = (sis_task *)ctx;
    for (size_t k; (k = begin_one(t)) < t->run.ahead->n;)
        explain_one(t, k, 1);
    return NULL;
}

static int start(sis_task *t) {
    sis__task_ahead *a = t->run.ahead = SIS_NEW(sis__task_ahead, 1);
    if (!a)
        return SIS_E_NOMEM;
    int jobs = t->run.handles->n > 1 ? t->run.handles->n : 0;
    a->n = a->failed = t->run.which ? t->run.n_which : t->source.n;
    pthread_cond_init(&a->changed, NULL);
    a->answers = SIS_NEW(answer *, a->n);
    a->threads = SIS_NEW(pthread_t, (size_t)jobs);
    if (!a->answers || !a->threads) {
        sis__task_ahead_free(t);
        return SIS_E_NOMEM;
    }
    t->run.progress = (sis_progress){.inputs = a->n};
    while (a->n_threads < jobs &&
           pthread_create(&a->threads[a->n_threads], NULL, run_ahead, t) == 0)
        a->n_threads++;
    return SIS_OK;
}

void sis__task_ahead_free(sis_task *t) {
    sis__task_ahead *a = t->run.ahead;
    end_loan(t);
    if (!a)
        return;
    pthread_mutex_lock(&t->run.lock);
    sis_task_cancel(t);
    a->ending = 1;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&t->run.lock);
    for (int k = 0; k < a->n_threads; k++)
        pthread_join(a->threads[k], NULL);
    for (size_t k = 0; a->answers && k < a->n; k++)
        drop(a->answers[k]);
    release_answer(&a->now);
    pthread_cond_destroy(&a->changed);
    free(a->answers);
    free(a->threads);
    free(a);
    t->run.ahead = NULL;
}

static void wait_a_little(sis_task *t) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += TELL_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_broadcast(&t->run.ahead->changed); /* a missing answer frees a slot */
    pthread_cond_timedwait(&t->run.ahead->changed, &t->run.lock, &until);
}

/* The caller's thread reports progress while it waits: signal handlers of programs run there. The
 * lock is held. */
static void wait_for_next(sis_task *t) {
    sis__task_ahead *a = t->run.ahead;
    do {
        if (a->n_threads > 0 && tell(t))
            sis_task_cancel(t);
        if (a->taken < a->failed && !a->answers[a->taken])
            wait_a_little(t);
    } while (a->taken < a->failed && !a->answers[a->taken]);
}

/* Move the next answer to the caller: 1; 0: no more; or the failure, once. */
static int take_next(sis_task *t) {
    sis__task_ahead *a = t->run.ahead;
    answer *next = NULL;
    int got = 0;
    pthread_mutex_lock(&t->run.lock);
    wait_for_next(t);
    if (a->taken < a->failed) {
        next = a->answers[a->taken];
        a->answers[a->taken++] = NULL;
        if (a->given - a->taken <= ROOM / 2) /* wake waiting threads, but not at each answer */
            pthread_cond_broadcast(&a->changed);
        got = 1;
    } else if (a->error != SIS_OK) {
        got = a->error;
        a->error = SIS_OK;
        sis_error_set(a->message);
    }
    pthread_mutex_unlock(&t->run.lock);
    release_answer(&a->now);
    a->now = next ? *next : (answer){0};
    free(next);
    return got;
}

/* Load an example again that a thread has explained. */
static int load_again(sis_task *t, sis_record *record) {
    sis__task_ahead *a = t->run.ahead;
    size_t output = a->now.example.input.output;
    int error = a->now.example.id
                    ? SIS_OK
                    : sis__task_load(t, example_of(t, a->taken - 1), NULL, output, &a->now.example);
    if (error != SIS_OK)
        return error;
    sis_task_record(t, &a->now.example, &a->now.found, record);
    const sis_opt *opt = &t->opt.answer.search;
    if (a->taken == a->n && opt->progress) {
        t->run.progress.walk = 1;
        opt->progress(opt->progress_ctx, &t->run.progress);
    }
    return 1;
}

int sis_task_next(sis_task *t, sis_record *record) {
    *record = (sis_record){0};
    int error = prepare(t);
    if (error == SIS_OK && !t->run.ahead)
        error = start(t);
    if (error != SIS_OK)
        return error;
    sis__task_ahead *a = t->run.ahead;
    size_t k = a->n_threads ? a->n : begin_one(t);
    if (k < a->n)
        explain_one(t, k, 0);
    int got = take_next(t);
    return got == 1 ? load_again(t, record) : got;
}

int sis_task_choose(sis_task *t, const size_t *which, size_t n) {
    int error = sis__task_check_examples(t, which, n);
    size_t *copy = error == SIS_OK ? SIS_NEW(size_t, n) : NULL;
    if (!copy)
        return error != SIS_OK ? error : SIS_E_NOMEM;
    sis__task_begin_again(t);
    if (n > 0)
        memcpy(copy, which, n * sizeof *which);
    free(t->run.which);
    t->run.which = copy;
    t->run.n_which = n;
    return SIS_OK;
}
