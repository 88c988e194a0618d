/* SPDX-License-Identifier: MIT
 *
 * Many inputs on several threads. Each input is explained whole by one thread with a model context
 * of its own; results are handed over in the order of the inputs, as soon as all earlier ones are,
 * so the caller can write them to a file that looks the same whatever the number of threads.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "core/core.h"

typedef struct {
    sis_model model;    /* with this thread's context */
    size_t evaluations; /* of the input under way */
} desk;

typedef struct {
    const sis_input *inputs;
    const sis_opt *opt;
    int (*done)(void *ctx, size_t i, const sis_collection *c);
    void *ctx;
    desk *desks;
    size_t n, handed;          /* inputs; how many were handed over */
    sis_collection **finished; /* (n) explained and waiting */
    sis_progress total;
    pthread_mutex_t lock;
} job;

typedef struct {
    job *job;
    int worker;
} reporter;

/* One thread's progress -> everybody's. */
static int report(void *ctx, const sis_progress *p) {
    reporter *r = (reporter *)ctx;
    job *j = r->job;
    pthread_mutex_lock(&j->lock);
    size_t *before = &j->desks[r->worker].evaluations;
    j->total.evaluations += p->evaluations - *before;
    *before = p->evaluations;
    j->total.walk = p->walk;
    int stop = j->opt->progress ? j->opt->progress(j->opt->progress_ctx, &j->total) : 0;
    pthread_mutex_unlock(&j->lock);
    return stop;
}

/* Hand over what is next in line. The lock is held. */
static int hand_over(job *j) {
    int result = 0;
    while (result == 0 && j->handed < j->n && j->finished[j->handed]) {
        sis_collection *c = j->finished[j->handed];
        result = j->done(j->ctx, j->handed, c);
        j->finished[j->handed++] = NULL;
        sis_collection_release(c);
        free(c);
    }
    return result;
}

/* A collection that says why there is none. */
static int failed_collection(sis_collection *c, const sis_input *input) {
    long n = sis_input_features(input);
    *c = (sis_collection){.status = SIS_STATUS_ERROR,
                          .n_features = n > 0 ? (size_t)n : 0,
                          .message = sis__strdup(sis_error_detail())};
    return c->message ? SIS_OK : SIS_E_NOMEM;
}

static int explain_one(void *ctx, size_t i, int worker) {
    job *j = (job *)ctx;
    reporter r = {.job = j, .worker = worker};
    sis_opt opt = *j->opt;
    opt.progress = report;
    opt.progress_ctx = &r;
    j->desks[worker].evaluations = 0;
    sis_collection *c = SIS_NEW(sis_collection, 1);
    if (!c)
        return SIS_E_NOMEM;
    int error = sis_collect(&j->desks[worker].model, &j->inputs[i], &opt, c);
    if (error == SIS_E_NAN)
        error = failed_collection(c, &j->inputs[i]);
    if (error != SIS_OK) {
        free(c);
        return sis__fail_in(error, "example %zu", i);
    }
    pthread_mutex_lock(&j->lock);
    j->total.inputs_done++;
    j->finished[i] = c;
    error = hand_over(j);
    pthread_mutex_unlock(&j->lock);
    return error;
}

static int open_desks(job *j, const sis_model *model, int jobs) {
    for (int i = 0; i < jobs; i++) {
        j->desks[i].model = *model;
        if (!model->worker_new)
            continue;
        int error = model->worker_new(model->ctx, &j->desks[i].model.ctx);
        if (error != SIS_OK) {
            j->desks[i].model.ctx = NULL;
            return error;
        }
    }
    return SIS_OK;
}

static void close_desks(job *j, const sis_model *model, int jobs) {
    for (int i = 0; model->worker_free && i < jobs; i++)
        if (j->desks[i].model.ctx)
            model->worker_free(j->desks[i].model.ctx);
}

int sis_collect_many(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                     int (*done)(void *ctx, size_t i, const sis_collection *c), void *ctx) {
    const char *wrong = sis_opt_check(opt);
    if (wrong)
        return sis__fail(SIS_E_ARGUMENT, "%s", wrong);
    int jobs = opt->jobs ? opt->jobs : sis__cores();
    if (!model->worker_new)
        jobs = 1;
    if ((size_t)jobs > n)
        jobs = n ? (int)n : 1;
    sis_opt share = *opt;
    share.memory = opt->memory / (size_t)jobs;
    if (share.memory < 1 << 16)
        share.memory = 1 << 16;
    job j = {.inputs = inputs, .opt = &share, .done = done, .ctx = ctx, .n = n};
    j.total.inputs = n;
    j.desks = SIS_NEW(desk, (size_t)jobs);
    j.finished = SIS_NEW(sis_collection *, n);
    if (!j.desks || !j.finished) {
        free(j.desks);
        free(j.finished);
        return SIS_E_NOMEM;
    }
    pthread_mutex_init(&j.lock, NULL);
    int error = open_desks(&j, model, jobs);
    if (error == SIS_OK)
        error = sis__parallel(jobs, n, explain_one, &j);
    close_desks(&j, model, jobs);
    for (size_t i = 0; i < n; i++)
        if (j.finished[i]) {
            sis_collection_release(j.finished[i]);
            free(j.finished[i]);
        }
    pthread_mutex_destroy(&j.lock);
    free(j.desks);
    free(j.finished);
    return error;
}
