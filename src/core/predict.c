/* SPDX-License-Identifier: MIT
 *
 * Plain scores of many inputs. Consecutive inputs of the same length are scored together, in chunks
 * that do not depend on the number of threads.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "core/core.h"

typedef struct {
    const sis_input *inputs;
    double *scores;
    sis__model_per_thread each;
    size_t *first; /* (n_chunks + 1) */
    size_t n_chunks;
    const sis_opt *opt;
    sis_progress total;
    double last_report; /* time of the last progress report */
    pthread_mutex_t lock;
} prediction;

/* Divide the inputs into chunks of equal width that fit the memory budget. */
static int cut(prediction *p, const sis_model *m, size_t n, size_t memory) {
    p->first = SIS_NEW(size_t, n + 1);
    if (!p->first)
        return SIS_E_NOMEM;
    size_t wish = m->max_rows ? m->max_rows : 256, rows = 0;
    for (size_t i = 0; i < n; i++) {
        size_t width = p->inputs[i].n_values;
        if (m->n_values && m->n_values != width)
            return sis__example_fail(SIS_E_ARGUMENT, p->inputs, i,
                                     "the model takes %zu values, but the input has %zu",
                                     m->n_values, width);
        if (width == 0 || !p->inputs[i].values)
            return sis__example_fail(SIS_E_ARGUMENT, p->inputs, i, "it has no values");
        int full = rows == wish || (rows + 1) * width * sizeof(double) > memory;
        if (rows == 0 || full || width != p->inputs[i - 1].n_values) {
            p->first[p->n_chunks++] = i;
            rows = 0;
        }
        rows++;
    }
    p->first[p->n_chunks] = n;
    return SIS_OK;
}

static int report(prediction *p, size_t n) {
    if (!p->opt->progress)
        return SIS_OK;
    pthread_mutex_lock(&p->lock);
    p->total.inputs_done += n;
    p->total.evaluations += n;
    int all = p->total.inputs_done == p->total.inputs, stop = 0;
    p->total.walk = all;
    if (all || sis__is_due(&p->last_report, p->opt->progress_every))
        stop = p->opt->progress(p->opt->progress_ctx, &p->total) != 0 && !all;
    pthread_mutex_unlock(&p->lock);
    return stop ? sis__fail(SIS_E_CANCELLED, "cancelled") : SIS_OK;
}

static int predict_chunk(void *ctx, size_t chunk, int worker) {
    prediction *p = (prediction *)ctx;
    const sis_model *m = &p->each.models[worker];
    size_t from = p->first[chunk], n = p->first[chunk + 1] - from;
    size_t width = p->inputs[from].n_values, outputs = m->n_outputs;
    double *rows = (double *)sis__alloc_raw(n, width * sizeof *rows);
    double *scores = p->scores + from * outputs;
    if (!rows)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        memcpy(rows + i * width, p->inputs[from + i].values, width * sizeof *rows);
    int error = sis__model_predict(m, rows, n, width, scores);
    free(rows);
    for (size_t i = 0; error == SIS_OK && i < n * outputs; i++) {
        scores[i] = m->link ? m->link(scores[i]) : scores[i];
        if (isnan(scores[i]))
            return sis__example_fail(SIS_E_NAN, p->inputs, from + i / outputs,
                                     "the model returned NaN for output %zu", i % outputs);
    }
    return error == SIS_OK ? report(p, n) : error;
}

int sis__model_predict(const sis_model *m, const double *rows, size_t n, size_t width,
                       double *scores) {
    sis_error_set("");
    int result = m->predict(m->ctx, rows, n, width, scores);
    if (result == 0)
        return SIS_OK;
    if (!*sis_error_detail())
        sis__fail(SIS_E_MODEL, "the model's predict function returned %d", result);
    return result < 0 ? result : SIS_E_MODEL;
}

int sis__model_check(const sis_model *m) {
    if (m->size == 0)
        return sis__fail(SIS_E_ARGUMENT,
                         "sis_model: its size is not set; call sis_model_init first");
    if (!m->predict || m->n_outputs == 0)
        return sis__fail(SIS_E_ARGUMENT, "a model needs predict and n_outputs");
    return SIS_OK;
}

int sis__model_confirm(const sis_model *m, const double *row, size_t width) {
    sis_model whole;
    sis__sized_extend(&whole, sizeof whole, m);
    if (!whole.confirm)
        return SIS_OK;
    double *scores = SIS_NEW(double, m->n_outputs);
    int error = scores ? sis__model_predict(m, row, 1, width, scores) : SIS_E_NOMEM;
    free(scores);
    return error;
}

int sis_predict(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *given,
                double *scores) {
    sis_opt opt;
    prediction p = {.inputs = inputs, .scores = scores, .opt = &opt, .total.inputs = n};
    int error = sis__model_check(model);
    if (error == SIS_OK)
        error = sis__opt_copy(given, &opt);
    if (error != SIS_OK)
        return error;
    error = cut(&p, model, n, opt.memory);
    if (error == SIS_OK)
        error = sis__model_per_thread_init(model, opt.jobs, p.n_chunks, &p.each);
    pthread_mutex_init(&p.lock, NULL);
    if (error == SIS_OK)
        error = sis__parallel(p.each.n, p.n_chunks, predict_chunk, &p);
    for (int i = 0; n > 0 && error == SIS_OK && i < p.each.n; i++)
        error = sis__model_confirm(&p.each.models[i], inputs->values, inputs->n_values);
    pthread_mutex_destroy(&p.lock);
    sis__model_per_thread_release(&p.each);
    free(p.first);
    return error;
}
