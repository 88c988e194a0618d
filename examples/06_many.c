/* SPDX-License-Identifier: MIT
 *
 * Many inputs on all cores, in order, with progress and an audit of each result.
 *
 *     ./06_many
 */
#include <math.h>
#include <stdio.h>

#include <sis/sis.h>

enum { INPUTS = 40, WIDTH = 12 };

typedef struct {
    const sis_model *model;
    const sis_input *inputs;
    const sis_opt *opt;
    size_t subsets, holds;
} tally;

/* Thread-safe: it only reads. */
static int wave(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        double y = 0;
        for (size_t k = 0; k + 1 < width; k++)
            y += rows[i * width + k] * rows[i * width + k + 1];
        scores[i] = tanh(y);
    }
    return 0;
}

static int done(void *ctx, size_t i, const sis_collection *c) {
    tally *t = ctx;
    sis_opt quiet = *t->opt;
    quiet.progress = NULL; /* that counts what explanations cost */
    sis_audit audit;
    int error = sis_verify(t->model, &t->inputs[i], &quiet, c, &audit);
    if (error)
        return error;
    t->subsets += c->n_subsets;
    t->holds += (size_t)audit.holds;
    sis_audit_release(&audit);
    return 0;
}

/* Called by one thread at a time; a result other than 0 would cancel. */
static int progress(void *ctx, const sis_progress *p) {
    *(size_t *)ctx = p->evaluations;
    return 0;
}

int main(void) {
    static double values[INPUTS][WIDTH], zero[WIDTH];
    static sis_input inputs[INPUTS];
    for (size_t i = 0; i < INPUTS; i++) {
        for (size_t k = 0; k < WIDTH; k++)
            values[i][k] = sin((double)(i * 7 + k * k));
        inputs[i] = (sis_input){.values = values[i], .mask = zero, .n_values = WIDTH};
    }
    sis_model model = {
        .size = sizeof model, .predict = wave, .n_outputs = 1, .worker_new = sis_worker_share};
    sis_opt opt;
    sis_opt_init(&opt);
    opt.threshold = 0.5;
    opt.jobs = 0; /* one thread per core */
    size_t evaluations = 0;
    opt.progress = progress;
    opt.progress_ctx = &evaluations;
    tally t = {&model, inputs, &opt, 0, 0};
    if (sis_collect_many(&model, inputs, INPUTS, &opt, done, &t) != 0) {
        fprintf(stderr, "%s\n", sis_error_detail());
        return 1;
    }
    printf("%d inputs, %zu masked copies asked about, %zu subsets, %zu of %d audits hold\n", INPUTS,
           evaluations, t.subsets, t.holds, INPUTS);
    return t.holds == INPUTS ? 0 : 1;
}
