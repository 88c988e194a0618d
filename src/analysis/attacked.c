/* SPDX-License-Identifier: MIT
 *
 * Attacks all examples of a task: chooses targets, and scores the network before and after.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>
#include <sis/example.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- Targets ------------------------------------------------------------------------------- */

/* The output with the largest score except `except` (SIZE_MAX: none). */
static size_t largest(const double *scores, size_t n, size_t except) {
    size_t best = SIZE_MAX;
    for (size_t k = 0; k < n; k++)
        if (k != except && (best == SIZE_MAX || scores[k] > scores[best]))
            best = k;
    return best;
}

size_t sis_attacked_decision(const sis_attacked *a, const double *scores) {
    double half = sis_net_has_link(a->net) ? 0.5 : 0;
    return a->n_outputs == 1 ? scores[0] >= half : largest(scores, a->n_outputs, SIZE_MAX);
}

/* The output with that label, SIZE_MAX: none; *labelled: the network has labels. */
static size_t find_label(const sis_attacked *a, const char *text, int *labelled) {
    char label[256];
    *labelled = 0;
    for (size_t k = 0; k < a->n_outputs; k++)
        if (sis_net_label(a->net, k, label, sizeof label) == SIS_OK) {
            *labelled = 1;
            if (strcmp(label, text) == 0)
                return k;
        }
    return SIZE_MAX;
}

/* A position below n, else SIZE_MAX. */
static size_t find_position(const char *text, size_t n) {
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    return end != text && !*end && !strchr("+- ", *text) && number < n ? number : SIZE_MAX;
}

static int find_target(const sis_attacked *a, const char *text, const double *scores,
                       size_t *target) {
    size_t choices = a->n_outputs == 1 ? 2 : a->n_outputs, now = sis_attacked_decision(a, scores);
    int labelled = 0;
    if (strcmp(text, "next") == 0) {
        *target = (now + 1) % choices;
        return SIS_OK;
    }
    if (strcmp(text, "second") == 0) {
        *target = a->n_outputs == 1 ? !now : largest(scores, a->n_outputs, now);
        return SIS_OK;
    }
    *target = a->n_outputs == 1 ? SIZE_MAX : find_label(a, text, &labelled);
    if (*target == SIZE_MAX && !labelled)
        *target = find_position(text, choices);
    if (*target != SIZE_MAX)
        return SIS_OK;
    if (a->n_outputs == 1)
        return sis__fail(SIS_E_OPTION,
                         "--towards: the network has one output; expected 0, 1, next or second, "
                         "found \"%s\"",
                         text);
    if (labelled)
        return sis__fail(SIS_E_OPTION,
                         "--towards: expected a label of the network, next or second, found "
                         "\"%s\"; sis model lists the labels",
                         text);
    return sis__fail(SIS_E_OPTION, "--towards: expected 0 to %zu, next or second, found \"%s\"",
                     a->n_outputs - 1, text);
}

/* ---- Examples ------------------------------------------------------------------------------ */

/* Scores of the examples with these values. */
static int score(const sis_attacked *a, const double *values, int jobs, double *scores) {
    sis_input *inputs = SIS_NEW(sis_input, a->n);
    sis_opt opt;
    if (!inputs)
        return SIS_E_NOMEM;
    sis_opt_init(&opt);
    opt.jobs = jobs;
    for (size_t i = 0; i < a->n; i++) {
        inputs[i] = a->examples[i].input;
        inputs[i].values = values + i * a->width;
    }
    int error = sis_predict(sis_task_model(a->task), inputs, a->n, &opt, scores);
    free(inputs);
    return error;
}

static int load(sis_attacked *a) {
    int error = SIS_OK;
    a->n = sis_task_count(a->task);
    a->n_outputs = sis_task_model(a->task)->n_outputs;
    a->width = sis_net_values(a->net);
    a->examples = SIS_NEW(sis_example, a->n);
    a->rows = SIS_NEW(double, a->n * a->width);
    a->changed = SIS_NEW(double, a->n * a->width);
    a->before = SIS_NEW(double, a->n * a->n_outputs);
    a->after = SIS_NEW(double, a->n * a->n_outputs);
    a->targets = SIS_NEW(size_t, a->n);
    a->found = SIS_NEW(sis_attack_result, a->n);
    if (!a->examples || !a->rows || !a->changed || !a->before || !a->after || !a->targets ||
        !a->found)
        return SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < a->n; i++) {
        error = sis_task_load(a->task, i, &a->examples[i]);
        if (error == SIS_OK)
            memcpy(a->rows + i * a->width, a->examples[i].input.values, a->width * sizeof *a->rows);
    }
    return error;
}

int sis_attacked_open(const sis_task *task, const char *towards, int jobs, sis_attacked *out) {
    *out = (sis_attacked){.task = task, .net = sis_model_net(sis_task_model(task))};
    if (!out->net)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "--model: an attack needs gradients, so it needs a network (FILE.onnx)");
    if (sis_net_is_token(out->net) || sis_net_values(out->net) == 0)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "--model: an attack needs a network that takes a fixed number of real "
                         "values, such as an image");
    int error = load(out);
    if (error == SIS_OK)
        error = score(out, out->rows, jobs, out->before);
    for (size_t i = 0; error == SIS_OK && i < out->n; i++)
        error = find_target(out, towards, out->before + i * out->n_outputs, &out->targets[i]);
    if (error != SIS_OK)
        sis_attacked_release(out);
    return error;
}

int sis_attacked_run(sis_attacked *a, const sis_attack_opt *opt) {
    int error = sis_attack(a->net, a->rows, a->n, a->targets, opt, a->found);
    for (size_t i = 0; error == SIS_OK && i < a->n; i++)
        for (size_t v = 0; v < a->width; v++)
            a->changed[i * a->width + v] = a->found[i].values[v];
    return error == SIS_OK ? score(a, a->changed, opt->jobs, a->after) : error;
}

void sis_attacked_release(sis_attacked *a) {
    for (size_t i = 0; a->examples && i < a->n; i++)
        sis_example_release(&a->examples[i]);
    for (size_t i = 0; a->found && i < a->n; i++)
        sis_attack_result_release(&a->found[i]);
    free(a->examples);
    free(a->rows);
    free(a->changed);
    free(a->before);
    free(a->after);
    free(a->targets);
    free(a->found);
    *a = (sis_attacked){0};
}
