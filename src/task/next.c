/* SPDX-License-Identifier: MIT
 *
 * Records one by one. With one job the caller's thread explains an example when it is asked for;
 * with more a thread of the task runs ahead and puts answers into a queue; it waits when that is
 * full, the caller when it is empty.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "task/task.h"

/* ---- In the caller's thread ---------------------------------------------------------------- */

/* Progress of one example as that of the task. */
static int report_one(void *ctx, const sis_progress *p) {
    sis_task *t = (sis_task *)ctx;
    const sis_opt *opt = &t->opt.answer.search;
    if (atomic_load(&t->cancelled))
        return 1;
    if (!opt->progress || !sis__is_due(&t->told, opt->progress_every))
        return 0;
    sis_progress all = {t->source.n, t->at, t->evaluations + p->evaluations, p->walk};
    return opt->progress(opt->progress_ctx, &all);
}

static int answer_next(sis_task *t, const sis_opt *search, sis_record *record) {
    sis_opt opt = *search;
    opt.progress = report_one;
    sis_example_release(&t->example);
    sis_rationale_release(&t->found);
    if (t->at == t->source.n)
        return 0;
    int error = sis__task_answer(t, t->at, &t->model, &opt, &t->example, &t->found);
    if (error != SIS_OK) {
        t->at = t->source.n;
        return error;
    }
    t->at++;
    t->evaluations += t->found.collection.evaluations;
    if (t->at == t->source.n && t->opt.answer.search.progress)
        t->opt.answer.search.progress(t->opt.answer.search.progress_ctx,
                                      &(sis_progress){t->at, t->at, t->evaluations, 1});
    sis_task_record(t, &t->example, &t->found, record);
    return 1;
}

/* ---- Ahead of the caller ------------------------------------------------------------------- */

enum { ROOM = 64 };

struct sis__task_ahead {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct {
        sis_example example;
        sis_rationale found;
    } queue[ROOM];
    size_t put, taken;  /* answers so far: those between are in the queue, at their number % ROOM */
    int ended, result;  /* of the run, once it ended */
    char message[1024]; /* and what it said */
};

static int put_answer(void *ctx, size_t i, sis_example *e, sis_rationale *found) {
    sis_task *t = (sis_task *)ctx;
    sis__task_ahead *a = t->ahead;
    (void)i;
    pthread_mutex_lock(&a->lock);
    while (a->put - a->taken == ROOM && !atomic_load(&t->cancelled))
        pthread_cond_wait(&a->changed, &a->lock);
    int cancelled = atomic_load(&t->cancelled);
    if (!cancelled) {
        a->queue[a->put % ROOM].example = *e;
        a->queue[a->put++ % ROOM].found = *found;
        *e = (sis_example){0};
        *found = (sis_rationale){0};
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return cancelled ? sis__fail(SIS_E_CANCELLED, "cancelled") : SIS_OK;
}

static void *run_ahead(void *ctx) {
    sis_task *t = (sis_task *)ctx;
    sis__task_ahead *a = t->ahead;
    int result = sis__task_run(t, NULL, t->source.n, put_answer, t);
    pthread_mutex_lock(&a->lock);
    a->result = result;
    snprintf(a->message, sizeof a->message, "%s", result ? sis_error_detail() : "");
    a->ended = 1;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static int start(sis_task *t) {
    sis__task_ahead *a = t->ahead = SIS_NEW(sis__task_ahead, 1);
    if (!a)
        return SIS_E_NOMEM;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    if (pthread_create(&a->thread, NULL, run_ahead, t) == 0)
        return SIS_OK;
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
    t->ahead = NULL;
    return sis__fail(SIS_E_NOMEM, "no thread can be started");
}

void sis__task_ahead_free(sis_task *t) {
    sis__task_ahead *a = t->ahead;
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    sis_task_cancel(t);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    for (; a->taken < a->put; a->taken++) {
        sis_example_release(&a->queue[a->taken % ROOM].example);
        sis_rationale_release(&a->queue[a->taken % ROOM].found);
    }
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
    t->ahead = NULL;
}

/* The oldest answer of the queue becomes the task's own. */
static int take_next(sis_task *t, sis_record *record) {
    int got = t->ahead ? SIS_OK : start(t);
    if (got != SIS_OK)
        return got;
    sis__task_ahead *a = t->ahead;
    sis_example_release(&t->example);
    sis_rationale_release(&t->found);
    pthread_mutex_lock(&a->lock);
    if (atomic_load(&t->cancelled)) /* perhaps by a signal: the runner may not have seen it */
        pthread_cond_broadcast(&a->changed);
    while (a->put == a->taken && !a->ended)
        pthread_cond_wait(&a->changed, &a->lock);
    if (a->put > a->taken) {
        t->example = a->queue[a->taken % ROOM].example;
        t->found = a->queue[a->taken++ % ROOM].found;
        pthread_cond_broadcast(&a->changed);
        got = 1;
    } else {
        got = a->result; /* told once */
        a->result = SIS_OK;
        sis_error_set(a->message);
    }
    pthread_mutex_unlock(&a->lock);
    if (got == 1)
        sis_task_record(t, &t->example, &t->found, record);
    return got;
}

/* ---- Both ---------------------------------------------------------------------------------- */

int sis_task_next(sis_task *t, sis_record *record) {
    sis_opt search;
    *record = (sis_record){0};
    int error = sis__task_search(t, &search);
    if (error != SIS_OK)
        return error;
    int jobs = search.jobs > 0 ? search.jobs : sis__cores();
    return t->ahead || (jobs > 1 && t->model.worker_new && t->source.n > 1)
               ? take_next(t, record)
               : answer_next(t, &search, record);
}
