/* SPDX-License-Identifier: MIT
 *
 * sis model: what is in an ONNX file, and what explaining one of its decisions costs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sis/model.h>

#include "cli.h"

typedef struct {
    int no_timing;
    cli_common common;
} model_options;

static const cli_option options[] = {
    {"no-timing", 0, NULL, CLI_FLAG(model_options, no_timing),
     "do not measure a backward selection"},
    CLI_GROUP(model_options, common, cli_common, cli_common_options),
    {0},
};

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* An input to try the model on: values between 0 and 1, or tokens, from a fixed sequence. */
static void make_input(const sis_net *net, double *values, double *mask, size_t n) {
    const float *matrix;
    size_t vocabulary = 0, dim;
    unsigned state = 1;
    if (sis_net_is_token(net))
        sis_net_embedding(net, &matrix, &vocabulary, &dim);
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        double u = (double)(state >> 8) / (1 << 24);
        values[i] = vocabulary ? floor(u * (double)vocabulary) : u;
        mask[i] = vocabulary ? SIS_TOKEN_MASK : 0.5;
    }
}

/* Seconds of one full pass. */
static double time_passes(const sis_model *m, const double *values, size_t n) {
    enum { ROWS = 16 };
    double *rows = calloc(ROWS * n, sizeof *rows);
    double *scores = calloc(ROWS * m->n_outputs, sizeof *scores), best = INFINITY;
    for (size_t i = 0; rows && i < ROWS * n; i++)
        rows[i] = values[i % n];
    for (int k = 0; rows && scores && k < 3; k++) {
        double began = seconds();
        if (m->predict(m->ctx, rows, ROWS, n, scores) == 0)
            best = fmin(best, (seconds() - began) / ROWS);
    }
    free(rows);
    free(scores);
    return best;
}

/* Measure one backward selection and what it would take by full passes. */
static int print_cost(const sis_model *m, const sis_net *net) {
    size_t n = m->n_values;
    if (n == 0) {
        printf("\nRows may have any length, so no backward selection was timed.\n");
        return CLI_DONE;
    }
    double *values = calloc(n, sizeof *values), *mask = calloc(n, sizeof *mask);
    sis_opt opt;
    sis_opt_init(&opt);
    sis_walk *w = NULL;
    sis_trace t = {0};
    int error = SIS_E_NOMEM;
    if (values && mask) {
        make_input(net, values, mask, n);
        sis_input in = {.values = values, .mask = mask, .n_values = n};
        double pass = time_passes(m, values, n), began = seconds();
        error = sis_walk_new(m, &in, &opt, &w);
        if (error == SIS_OK)
            error = sis_backselect(w, &opt, &t);
        double took = seconds() - began, copies = (double)n * (double)(n + 1) / 2;
        if (error == SIS_OK)
            printf("\nOne backward selection over %zu features scores %.0f masked copies: %.3g s, "
                   "%.3g s by full passes (%.0f times as long).\n",
                   n, copies, took, pass * copies, pass * copies / took);
    }
    sis_trace_release(&t);
    sis_walk_free(w);
    free(values);
    free(mask);
    return cli_fail(error);
}

static int run(const void *p, const cli_list *args) {
    const model_options *o = (const model_options *)p;
    sis_model model;
    char *text = NULL;
    int status = cli_fail(sis_model_open(args->items[0], NULL, &model));
    const sis_net *net = status == CLI_DONE ? sis_model_net(&model) : NULL;
    if (status == CLI_DONE && !net)
        status = cli_error("%s is no network; only ONNX files can be looked into", args->items[0]);
    if (status == CLI_DONE)
        status = cli_fail(sis_net_describe(net, &text));
    if (status == CLI_DONE)
        fputs(text, stdout);
    if (status == CLI_DONE && !o->no_timing)
        status = print_cost(&model, net);
    free(text);
    sis_model_close(&model);
    return status;
}

const cli_command cli_model = {
    .name = "model",
    .summary = "describe an ONNX file: graph, shapes, cost of a walk",
    .options = options,
    .options_size = sizeof(model_options),
    .args = "FILE.onnx",
    .min_args = 1,
    .max_args = 1,
    .run = run,
    .examples = (const cli_example[]){{"sis model digits.onnx", "What is in digits.onnx?"}, {0}},
    .description =
        "Prints the input, every node with its output shape and parameters, how each of them takes "
        "part in a walk, and the output; then measures one backward selection on an input made up "
        "for the purpose, on one thread, beside what it would take by full passes.",
};
