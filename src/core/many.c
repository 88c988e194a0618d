/* SPDX-License-Identifier: MIT
 *
 * Many inputs on several threads. One thread explains a whole input with its own model context.
 * Results are handed over in the order of the inputs, as soon as all earlier ones are done, so the
 * output does not depend on the number of threads.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "core/core.h"

typedef struct {
    const sis_input *inputs;
    const sis_opt *opt;
    const sis_finder *finder;
    sis__model_per_thread each;
    size_t *evaluations;       /* (each.n) of the current input */
    size_t n, handed;          /* inputs; how many have been handed over */
    sis_collection **finished; /* (n) explained and waiting */
    sis_progress total;
    double last_report; /* time of the last progress report */
    int stopped;        /* result of `done` when it stopped the run */
    pthread_mutex_t lock;
} job;

typedef struct {
    job *job;
    int worker;
} reporter;

/* Combine the progress of one thread with that of all others. */
static int report(void *ctx, const sis_progress *p) {
    reporter *r = (reporter *)ctx;
    job *j = r->job;
    pthread_mutex_lock(&j->lock);
    size_t *before = &j->evaluations[r->worker];
    j->total.evaluations += p->evaluations - *before;
    *before = p->evaluations;
    j->total.walk = p->walk;
    int stop = j->opt->progress && sis__is_due(&j->last_report, j->opt->progress_every)
                   ? j->opt->progress(j->opt->progress_ctx, &j->total)
                   : 0;
    pthread_mutex_unlock(&j->lock);
    return stop;
}

/* Hand over all results whose turn has come. Call with the lock held. */
static int hand_over(job *j) {
    int result = j->stopped;
    while (result == 0 && j->handed < j->n && j->finished[j->handed]) {
        sis_collection *c = j->finished[j->handed];
        result = j->stopped = j->finder->done(j->finder->ctx, j->handed, c);
        j->finished[j->handed++] = NULL;
        sis_collection_release(c);
        free(c);
    }
    return result;
}

/* A collection that holds the error message instead of subsets. */
static int failed_collection(sis_collection *c, const sis_input *input) {
    long n = sis_input_features(input);
    *c = (sis_collection){.status = SIS_STATUS_ERROR,
                          .score = NAN,
                          .masked_score = NAN,
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
    opt.progress_every = 0;
    j->evaluations[worker] = 0;
    sis_collection *c = SIS_NEW(sis_collection, 1);
    if (!c)
        return SIS_E_NOMEM;
    int error = j->finder->find(j->finder->ctx, i, &j->each.models[worker], &opt, c);
    if ((error == SIS_E_NAN || error == SIS_E_UNSTABLE) && j->inputs)
        error = failed_collection(c, &j->inputs[i]);
    if (error != SIS_OK) {
        free(c);
        return j->inputs ? sis__example_fail(error, j->inputs, i, "%s", sis_error_detail()) : error;
    }
    pthread_mutex_lock(&j->lock);
    j->total.inputs_done++;
    j->total.walk = 0;
    j->finished[i] = c;
    error = hand_over(j);
    pthread_mutex_unlock(&j->lock);
    return error;
}

int sis_find_many(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *given,
                  const sis_finder *finder) {
    sis_opt opt;
    int error = sis__opt_take(given, &opt);
    if (error != SIS_OK)
        return error;
    sis_opt share = opt;
    share.size = given->size; /* `find` may copy it as the caller's version of the struct */
    job j = {.inputs = inputs, .opt = &share, .finder = finder, .n = n};
    error = sis__model_per_thread_init(model, opt.jobs, n, &j.each);
    if (error != SIS_OK)
        return error;
    share.memory = opt.memory / (size_t)j.each.n;
    if (share.memory < 1 << 16)
        share.memory = 1 << 16;
    j.total.inputs = n;
    j.evaluations = SIS_NEW(size_t, (size_t)j.each.n);
    j.finished = SIS_NEW(sis_collection *, n);
    pthread_mutex_init(&j.lock, NULL);
    error = j.evaluations && j.finished ? sis__parallel(j.each.n, n, explain_one, &j) : SIS_E_NOMEM;
    sis__model_per_thread_release(&j.each);
    j.total.walk = 1;
    if (error == SIS_OK && n > 0 && opt.progress)
        opt.progress(opt.progress_ctx, &j.total);
    for (size_t i = 0; j.finished && i < n; i++)
        if (j.finished[i]) {
            sis_collection_release(j.finished[i]);
            free(j.finished[i]);
        }
    pthread_mutex_destroy(&j.lock);
    free(j.evaluations);
    free(j.finished);
    return error;
}

/* ---- sis_collect for each -------------------------------------------------------------------- */

typedef struct {
    const sis_input *inputs;
    int (*done)(void *ctx, size_t i, const sis_collection *c);
    void *ctx;
} collectors;

static int collect_one(void *ctx, size_t i, const sis_model *model, const sis_opt *opt,
                       sis_collection *out) {
    return sis_collect(model, &((const collectors *)ctx)->inputs[i], opt, out);
}

static int collected(void *ctx, size_t i, const sis_collection *c) {
    const collectors *all = (const collectors *)ctx;
    return all->done(all->ctx, i, c);
}

int sis_collect_many(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                     int (*done)(void *ctx, size_t i, const sis_collection *c), void *ctx) {
    collectors all = {inputs, done, ctx};
    return sis_find_many(model, inputs, n, opt, &(sis_finder){collect_one, collected, &all});
}
