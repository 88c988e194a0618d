/* SPDX-License-Identifier: MIT
 *
 * Selects the explained output: by label, by position, or by the highest score of each example. If
 * a model has labels, an integer is a label: labels 1 and 2 are not positions 1 and 2.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

enum { LABEL = 256 };

/* The labels of the model's outputs. */
static int read_labels(sis_task *t) {
    sis__task_outputs *o = &t->outputs;
    char label[LABEL];
    o->labels = SIS_NEW(char *, t->model.n_outputs);
    if (!o->labels)
        return SIS_E_NOMEM;
    o->n = t->model.n_outputs;
    for (size_t k = 0; k < o->n; k++)
        if (sis_model_label(&t->model, k, label, sizeof label) == SIS_OK &&
            !(o->labels[k] = sis__strdup(label)))
            return SIS_E_NOMEM;
    return SIS_OK;
}

/* Write `"cat", "dog"` into `text`. 0: the model has no labels. */
static int list_labels(const sis__task_outputs *o, char *text, size_t size) {
    enum { MAX = 10 };
    size_t used = 0, n = 0;
    text[0] = '\0';
    for (size_t k = 0; k < o->n && used < size; k++)
        if (o->labels[k] && n++ < MAX)
            used += (size_t)snprintf(text + used, size - used, "%s\"%.40s\"", n > 1 ? ", " : "",
                                     o->labels[k]);
    if (n > MAX && used < size)
        snprintf(text + used, size - used, ", ...");
    return n > 0;
}

/* "0", or "0 to 9" */
static const char *positions(const sis__task_outputs *o, char text[48]) {
    snprintf(text, 48, o->n > 1 ? "0 to %zu" : "0", o->n - 1);
    return text;
}

static int no_such_output(const sis__task_outputs *o, const char *option, const char *found) {
    char last[48];
    return sis__fail(SIS_E_ARGUMENT, "%s: the model has %zu output%s; expected %s%s, found \"%s\"",
                     option, o->n, o->n > 1 ? "s" : "", positions(o, last),
                     strcmp(option, "--target") == 0 ? " or top" : "", found);
}

static int choose_position(sis__task_outputs *o, const char *option, const char *text) {
    long number;
    if (!sis__text_whole(text, &number) || number < 0 || (size_t)number >= o->n)
        return no_such_output(o, option, text);
    o->fixed = (size_t)number;
    return SIS_OK;
}

int sis__task_outputs_choose(sis__task_outputs *o, const char *target, const char *index) {
    char labels[1024], last[48];
    if (index)
        return choose_position(o, "--target-index", index);
    if (!target || strcmp(target, "top") == 0) {
        o->fixed = target && o->n > 1 ? SIZE_MAX : 0;
        return SIS_OK;
    }
    for (size_t k = 0; k < o->n; k++)
        if (o->labels[k] && strcmp(o->labels[k], target) == 0) {
            o->fixed = k;
            return SIS_OK;
        }
    if (list_labels(o, labels, sizeof labels))
        return sis__fail(SIS_E_ARGUMENT,
                         "--target: no label \"%.60s\"; expected %s%s or top, or a position (%s) "
                         "with --target-index",
                         target, o->n > 1 ? "one of " : "", labels, positions(o, last));
    return choose_position(o, "--target", target);
}

int sis__task_outputs_begin(sis_task *t) {
    int error = read_labels(t);
    return error == SIS_OK ? sis__task_outputs_choose(&t->outputs, t->opt.question.target,
                                                      t->opt.question.target_index)
                           : error;
}

size_t sis__task_output(const sis_task *t, const double *scores) {
    size_t best = 0;
    if (t->outputs.fixed != SIZE_MAX)
        return t->outputs.fixed;
    for (size_t k = 1; k < t->model.n_outputs; k++)
        if (scores[k] > scores[best])
            best = k;
    return best;
}
