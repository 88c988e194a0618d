/* SPDX-License-Identifier: MIT
 *
 * Examples that wait for each other: a thread that asks the model leaves its rows and sleeps. When
 * every example under way sleeps, the thread of the caller asks about all rows in one call and wakes
 * them. It does not wait for ever: if an example takes long between two questions, the others are
 * answered without it.
 */
#include "gather.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE 20000000L /* nanoseconds */

/* What a thread has asked and waits for. */
typedef struct question {
    const double *rows;
    size_t n, width;
    double *scores;
    int result, answered;
    struct question *next;
} question;

typedef struct {
    const sis_model *model; /* of the caller */
    sis_model asked;        /* the same for the threads */
    const sis_input *inputs;
    size_t n;
    sis_opt opt;
    const sis_finder *finder;
    pthread_mutex_t lock;
    pthread_cond_t changed, answered;
    question *first, *last;
    size_t waiting;        /* questions */
    size_t started, ended; /* examples */
    int stopped;           /* no more examples are started */
    int failed;            /* what the model failed with: it is not asked again */
    int over, result;
    char message[1024];
} gathering;

static int ask(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    gathering *g = (gathering *)ctx;
    question q = {.rows = rows, .n = n, .width = width, .scores = scores};
    pthread_mutex_lock(&g->lock);
    if (g->last)
        g->last->next = &q;
    else
        g->first = &q;
    g->last = &q;
    g->waiting++;
    pthread_cond_signal(&g->changed);
    while (!q.answered)
        pthread_cond_wait(&g->answered, &g->lock);
    pthread_mutex_unlock(&g->lock);
    if (q.result != SIS_OK)
        sis_error_set("the model failed");
    return q.result;
}

static int find(void *ctx, size_t i, const sis_model *model, const sis_opt *opt,
                sis_collection *out) {
    gathering *g = (gathering *)ctx;
    pthread_mutex_lock(&g->lock);
    g->started++;
    pthread_mutex_unlock(&g->lock);
    int error = g->finder->find(g->finder->ctx, i, model, opt, out);
    pthread_mutex_lock(&g->lock);
    g->ended++;
    if (error != SIS_OK && error != SIS_E_NAN && error != SIS_E_UNSTABLE)
        g->stopped = 1;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->lock);
    return error;
}

static int done(void *ctx, size_t i, const sis_collection *c) {
    gathering *g = (gathering *)ctx;
    int error = g->finder->done(g->finder->ctx, i, c);
    if (error != SIS_OK) {
        pthread_mutex_lock(&g->lock);
        g->stopped = 1;
        pthread_cond_signal(&g->changed);
        pthread_mutex_unlock(&g->lock);
    }
    return error;
}

static void *find_all(void *arg) {
    gathering *g = (gathering *)arg;
    int result = sis_find_many(&g->asked, g->inputs, g->n, &g->opt, &(sis_finder){find, done, g});
    pthread_mutex_lock(&g->lock);
    strncpy(g->message, sis_error_detail(), sizeof g->message - 1);
    g->result = result;
    g->over = 1;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* Does every example that is or will soon be under way wait? The lock is held. */
static int all_wait(const gathering *g) {
    size_t max = (size_t)g->opt.jobs, left = (g->stopped ? g->started : g->n) - g->ended;
    return g->waiting > 0 && g->waiting >= (left < max ? left : max);
}

/* Rows of all questions, max_rows in a call. */
static int answer_rows(const sis_model *model, const double *rows, size_t n, size_t width,
                       double *scores) {
    size_t step = model->max_rows ? model->max_rows : n;
    int error = SIS_OK;
    for (size_t i = 0; error == SIS_OK && i < n; i += step)
        error = model->predict(model->ctx, rows + i * width, n - i < step ? n - i : step, width,
                               scores + i * model->n_outputs);
    return error;
}

static int answer_all(const sis_model *model, question *first) {
    size_t n = 0, at = 0, width = first->width, outputs = model->n_outputs;
    for (question *q = first; q; q = q->next)
        n += q->n;
    double *rows = malloc(n * width * sizeof *rows), *scores = malloc(n * outputs * sizeof *scores);
    for (question *q = first; rows && q; at += q->n, q = q->next)
        memcpy(rows + at * width, q->rows, q->n * width * sizeof *rows);
    int error = rows && scores ? answer_rows(model, rows, n, width, scores) : SIS_E_NOMEM;
    at = 0;
    for (question *q = first; error == SIS_OK && q; at += q->n, q = q->next)
        memcpy(q->scores, scores + at * outputs, q->n * outputs * sizeof *scores);
    free(rows);
    free(scores);
    return error;
}

/* Answer what is asked. The lock is held, but not while the model works. */
static void answer(gathering *g) {
    question *first = g->first, *next;
    g->first = g->last = NULL;
    g->waiting = 0;
    pthread_mutex_unlock(&g->lock);
    int error = g->failed ? g->failed : answer_all(g->model, first);
    pthread_mutex_lock(&g->lock);
    g->failed = error;
    for (question *q = first; q; q = next) {
        next = q->next;
        q->result = error;
        q->answered = 1;
    }
    pthread_cond_broadcast(&g->answered);
}

static void serve(gathering *g) {
    pthread_mutex_lock(&g->lock);
    while (!g->over) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PATIENCE;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        int late = 0;
        while (!g->over && !all_wait(g) && !late)
            late = pthread_cond_timedwait(&g->changed, &g->lock, &until) != 0;
        if (g->waiting > 0)
            answer(g);
    }
    pthread_mutex_unlock(&g->lock);
}

int gather_find_many(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                     const sis_finder *finder, int together) {
    gathering g = {.model = model, .asked = *model, .inputs = inputs, .n = n, .finder = finder};
    pthread_t thread;
    g.opt = *opt;
    g.opt.jobs = together;
    g.asked.predict = ask;
    g.asked.ctx = &g;
    g.asked.rows_new = NULL;
    g.asked.rows_free = NULL;
    g.asked.worker_new = sis_worker_share;
    pthread_mutex_init(&g.lock, NULL);
    pthread_cond_init(&g.changed, NULL);
    pthread_cond_init(&g.answered, NULL);
    int alone = pthread_create(&thread, NULL, find_all, &g) != 0;
    if (!alone) {
        serve(&g);
        pthread_join(thread, NULL);
    }
    pthread_cond_destroy(&g.changed);
    pthread_cond_destroy(&g.answered);
    pthread_mutex_destroy(&g.lock);
    if (alone)
        return sis_find_many(model, inputs, n, opt, finder);
    if (g.result != SIS_OK)
        sis_error_set(g.message);
    return g.result;
}
