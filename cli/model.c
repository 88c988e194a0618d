/* SPDX-License-Identifier: MIT
 *
 * sis model: describes a model file and estimates the cost of explaining a decision.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/model.h>
#include <sis/net.h>
#include <sis/walk.h>

#include "base/clock.h"
#include "base/platform.h"
#include "output.h"
#include "task.h"

typedef struct {
    int no_timing;
    size_t memory;
    const char *explain;
    cli_list with;
    cli_common common;
} model_options;

static const cli_option options[] = {
    {"no-timing", 0, NULL, CLI_FLAG(model_options, no_timing),
     "do not measure a backward selection"},
    CLI_MEMORY(model_options, memory),
    CLI_INPUTS(model_options, explain, with),
    CLI_GROUP(model_options, common, cli_common, cli_common_options),
    {0},
};

static void defaults(void *p) {
    sis_opt opt;
    sis_opt_init(&opt);
    ((model_options *)p)->memory = opt.memory >> 20;
}

/* ---- A sample input -------------------------------------------------------------------------- */

typedef struct {
    double *values, *mask;
    int *feature_of;
    sis_input input;
    size_t n_features;
} sample;

static void sample_release(sample *s) {
    free(s->values);
    free(s->mask);
    free(s->feature_of);
}

/* The next number of a fixed sequence between 0 and 1. */
static double next(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / (1 << 24);
}

/* The axis of bases if the input is DNA (the four values of a position are one feature), else
 * -1. */
static int base_axis(const sis_net *net) {
    sis_kind kind = sis_kind_of(sis_net_meta_get(net, SIS_NET_META_KIND));
    sis_net_shape shape;
    sis_net_input_shape(net, &shape);
    if (kind != SIS_KIND_DNA || shape.rank < 2)
        return -1;
    return shape.dims[shape.rank - 1] == 4   ? (int)shape.rank - 1
           : shape.dims[shape.rank - 2] == 4 ? (int)shape.rank - 2
                                             : -1;
}

static void fill_bases(const sis_net *net, sample *s, int axis) {
    sis_net_shape shape;
    sis_net_input_shape(net, &shape);
    size_t n = s->input.n_values, positions = n / 4;
    int last = axis == (int)shape.rank - 1;
    unsigned state = 1;
    for (size_t i = 0; i < positions; i++) {
        size_t base = (size_t)(4 * next(&state));
        for (size_t c = 0; c < 4; c++) {
            size_t v = last ? 4 * i + c : c * positions + i;
            s->values[v] = c == base;
            s->mask[v] = 0.25;
            s->feature_of[v] = (int)i;
        }
    }
    s->n_features = positions;
    s->input.feature_of = s->feature_of;
}

/* Does any input that a row is split into take integers? */
static int takes_whole_numbers(const sis_net *net) {
    sis_net_tensor input;
    for (size_t i = 0; i < sis_net_inputs(net); i++)
        if (sis_net_input_is_fed(net, i) && sis_net_input_get(net, i, &input) == SIS_OK &&
            input.type == SIS_NET_INTS)
            return 1;
    return 0;
}

static void fill_values(const sis_net *net, sample *s) {
    const float *matrix;
    size_t vocabulary = 0, dim;
    unsigned state = 1;
    int whole = takes_whole_numbers(net);
    if (sis_net_is_token(net))
        sis_net_embedding(net, &matrix, &vocabulary, &dim);
    for (size_t i = 0; i < s->input.n_values; i++) {
        double u = next(&state);
        s->values[i] = vocabulary ? floor(u * (double)vocabulary) : whole ? u >= 0.5 : u;
        s->mask[i] = vocabulary ? SIS_TOKEN_MASK : whole ? 0 : 0.5;
    }
    s->n_features = s->input.n_values;
}

static int sample_init(sample *s, const sis_net *net, size_t n) {
    s->values = calloc(n, sizeof *s->values);
    s->mask = calloc(n, sizeof *s->mask);
    s->feature_of = calloc(n, sizeof *s->feature_of);
    if (!s->values || !s->mask || !s->feature_of)
        return cli_error("out of memory");
    s->input = (sis_input){.values = s->values, .mask = s->mask, .n_values = n};
    int axis = base_axis(net);
    if (axis >= 0)
        fill_bases(net, s, axis);
    else
        fill_values(net, s);
    return CLI_DONE;
}

/* ---- Cost ------------------------------------------------------------------------------------ */

/* Time one full pass, in seconds. */
static double time_passes(const sis_model *m, const double *values, size_t n) {
    enum { ROWS = 16 };
    double *rows = calloc(ROWS * n, sizeof *rows);
    double *scores = calloc(ROWS * m->n_outputs, sizeof *scores), best = INFINITY;
    for (size_t i = 0; rows && i < ROWS * n; i++)
        rows[i] = values[i % n];
    for (int k = 0; rows && scores && k < 3; k++) {
        double began = sis__work_seconds();
        if (m->predict(m->ctx, rows, ROWS, n, scores) == 0)
            best = fmin(best, (sis__work_seconds() - began) / ROWS);
    }
    free(rows);
    free(scores);
    return best;
}

static int not_timed(void) {
    printf(
        "No backward selection was timed: for made-up numbers from 0 to 1 the model answers NaN. "
        "Examples of its own kind may be fine: sis predict.\n");
    return CLI_DONE;
}

/* Times a backward selection, and stops it once it has run long enough to extrapolate. */
enum { ENOUGH = 3, LONG = 60 }; /* seconds: enough to extrapolate; advise a faster method */

typedef struct {
    double start;  /* thread CPU seconds; 0: not started */
    size_t copies; /* evaluated so far */
} trial;

static int watch(void *ctx, const sis_progress *p) {
    trial *t = ctx;
    t->copies = p->evaluations;
    return t->start > 0 && sis__work_seconds() - t->start > ENOUGH;
}

/* Seconds of a backward selection by the walk whose progress t watches: measured, or extrapolated
 * from its first masked copies if it was stopped (*extrapolated). */
static int time_selection(sis_walk *w, const sis_opt *opt, trial *t, double copies, double *took,
                          int *extrapolated) {
    sis_trace trace = {0};
    t->start = sis__work_seconds();
    int error = sis_backselect(w, opt, &trace);
    *took = sis__work_seconds() - t->start;
    sis_trace_release(&trace);
    *extrapolated = error == SIS_E_CANCELLED;
    if (!*extrapolated)
        return error;
    *took *= copies / fmax(1, (double)t->copies);
    return SIS_OK;
}

/* Print the cost of one backward selection; for a walk also the cost by full passes. */
static int print_cost(const sis_model *m, const sample *s, sis_walk *w, const sis_opt *opt,
                      trial *t) {
    double copies = (double)s->n_features * (double)(s->n_features + 1) / 2, took;
    double full = copies * time_passes(m, s->values, s->input.n_values);
    int extrapolated = 0, error = time_selection(w, opt, t, copies, &took, &extrapolated);
    if (error == SIS_E_NAN)
        return not_timed();
    if (error)
        return cli_fail(error);
    char about[64] = "";
    if (extrapolated)
        snprintf(about, sizeof about, "about (from its first %.2g %%) ",
                 100 * (double)t->copies / copies);
    printf("One backward selection over %zu features asks about %.0f masked copies: ",
           s->n_features, copies);
    if (!sis_walk_is_own(w))
        printf("%s%.3g s, each a full pass.\n", about, took);
    else
        printf("by the walk %s%.3g s, by full passes %.3g s (", about, took, full);
    if (sis_walk_is_own(w) && full < took)
        printf("full passes are faster here).\n");
    else if (sis_walk_is_own(w))
        printf("%.*f times as long).\n", full < 10 * took, full / took);
    if (took > LONG)
        printf("--method quick asks about some hundreds of them; --features can make parts of "
               "pictures "
               "or sentences the features.\n");
    return CLI_DONE;
}

static int describe(const sis_net *net, const sis_walk *w) {
    char *text;
    int error = sis_net_describe(net, w, &text);
    return cli_print_made(error, text);
}

/* Describe the network and a walk over a made-up input. */
static int describe_walk(const sis_model *m, const sis_net *net, const model_options *o) {
    sample s = {0};
    sis_opt opt;
    sis_walk *w = NULL;
    trial t = {0};
    sis_opt_init(&opt);
    opt.memory = o->memory << 20;
    opt.progress = watch;
    opt.progress_ctx = &t;
    int status = sample_init(&s, net, m->n_values);
    size_t before = sis__heap_bytes();
    int error = status == CLI_DONE ? sis_walk_new(m, &s.input, &opt, &w) : SIS_OK;
    if (status == CLI_DONE && error != SIS_E_NAN)
        status = cli_fail(error);
    size_t after = sis__heap_bytes();
    if (status == CLI_DONE)
        status = describe(net, w);
    if (status == CLI_DONE)
        putchar('\n');
    if (status == CLI_DONE && error == SIS_E_NAN)
        status = not_timed();
    if (status == CLI_DONE && w && after > before && sis_walk_is_own(w))
        printf("A walk keeps %.3g MiB.\n", (double)(after - before) / (1 << 20));
    if (status == CLI_DONE && w && !o->no_timing)
        status = print_cost(m, &s, w, &opt, &t);
    sis_walk_free(w);
    sample_release(&s);
    return status;
}

/* Describe a readable network that cannot take rows: its inputs, and the reason. 1: not such a
 * file. */
static int describe_refused(const char *path) {
    sis_net *net;
    if (sis_net_read(path, &net) != SIS_OK)
        return 1;
    int refused = sis_net_ready(net) != SIS_OK, status = refused ? describe(net, NULL) : 1;
    sis_net_free(net);
    return status == CLI_DONE ? 0 : 1;
}

static int run(const void *p, const cli_list *args) {
    const model_options *o = (const model_options *)p;
    const char *path = args->items[0];
    sis_model model;
    if (strncmp(path, "cmd:", 4) == 0)
        return cli_error("%s is a program; expected FILE.onnx, FILE.json, FILE.ubj or "
                         "FILE.txt",
                         path);
    char said[1024];
    sis_task_opt task;
    sis_task_opt_init(&task);
    task.model.spec = path;
    task.model.open.explain = o->explain;
    task.model.with = o->with.items;
    task.model.n_with = o->with.n;
    int error = sis_task_open_model(&task, &model), told = o->explain || o->with.n;
    snprintf(said, sizeof said, "%s", sis_error_detail());
    if ((error || sis_model_note(&model)) && !told && describe_refused(path) == 0) {
        if (!error)
            sis_model_close(&model);
        return CLI_DONE;
    }
    if (error)
        sis_error_set(said);
    int status = cli_fail(error);
    const sis_net *net = status == CLI_DONE ? sis_model_net(&model) : NULL;
    if (status == CLI_DONE && sis_model_note(&model))
        cli_note(o->common.quiet, "%s", sis_model_note(&model));
    if (status == CLI_DONE && !net) {
        char *text;
        error = sis_model_describe(&model, &text);
        status = cli_print_made(error, text);
    } else if (status == CLI_DONE && model.n_values)
        status = describe_walk(&model, net, o);
    else if (status == CLI_DONE) {
        status = describe(net, NULL);
        printf("\nRows may have any length, so no backward selection was timed.\n");
    }
    sis_model_close(&model);
    return status;
}

const cli_command cli_model = {
    .name = "model",
    .summary = "describe a model file: layers or trees, shapes, speed of a walk",
    .options = options,
    .options_size = sizeof(model_options),
    .init = defaults,
    .args = "FILE",
    .min_args = 1,
    .max_args = 1,
    .run = run,
    .examples = (const cli_example[]){{"sis model digits.onnx", "Describe digits.onnx."},
                                      {"sis model two.onnx --explain x --with w=3",
                                       "Describe a network with a second input, which is 3."},
                                      {0}},
    .description =
        "For an ONNX file, prints the input, what the file carries (kind of input, names of "
        "values, labels, mask, training), every node with its output shape, its parameters "
        "and what a walk computes of it for each candidate, and the output. It then prints "
        "how much memory the walk uses, and measures a backward selection on an example "
        "input, on one thread, and the time that full passes would take. Measurements stop "
        "after 3 seconds, and the rest is estimated.\n\nIn a walk, \"window\" is the part of "
        "the node's result that a masked feature can change (only this is computed), "
        "\"kept\" is what is not computed again as long as nothing near it is masked, "
        "\"batch of candidates\" is what runs as a whole for each candidate, and \"each "
        "value by itself\" is what only moves or maps values.\n\nFor an XGBoost (.json, "
        ".ubj) or LightGBM (.txt) model, prints its objective, its outputs, its trees, and "
        "the features that they use.",
};
