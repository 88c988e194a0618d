/* SPDX-License-Identifier: MIT
 *
 * Which output of the model is meant: by number, by label, or the highest score of each example.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

enum { LABEL = 256 };

/* What the model calls its outputs. */
static int read_labels(sis_task *t) {
    sis__task_outputs *o = &t->outputs;
    char label[LABEL];
    o->labels = SIS_NEW(char *, t->model.n_outputs);
    if (!o->labels)
        return SIS_E_NOMEM;
    o->n = t->model.n_outputs;
    for (size_t k = 0; t->encoding.net && k < o->n; k++)
        if (sis_net_label(t->encoding.net, k, label, sizeof label) == SIS_OK &&
            !(o->labels[k] = sis__strdup(label)))
            return SIS_E_NOMEM;
    return SIS_OK;
}

/* `, the label "good"`, or `, a label ("cat", "dog")`, or "": the model names none. */
static void list_labels(const sis__task_outputs *o, char *text, size_t size) {
    enum { MOST = 10 };
    size_t used = 0;
    text[0] = '\0';
    for (size_t k = 0; k < o->n && k < MOST && used < size && o->labels[k]; k++)
        used += (size_t)snprintf(text + used, size - used, "%s\"%.40s\"",
                                 k          ? ", "
                                 : o->n > 1 ? ", a label ("
                                            : ", the label ",
                                 o->labels[k]);
    if (used && o->n > 1 && used < size)
        snprintf(text + used, size - used, o->n > MOST ? ", ...)" : ")");
}

static int no_such_output(const sis__task_outputs *o, const char *found) {
    char labels[1024], last[32] = "";
    list_labels(o, labels, sizeof labels);
    if (o->n > 1)
        snprintf(last, sizeof last, " to %zu", o->n - 1);
    return sis__fail(SIS_E_ARGUMENT,
                     "--class: the model has %zu output%s; expected 0%s%s or top, found \"%s\"",
                     o->n, o->n > 1 ? "s" : "", last, labels, found);
}

int sis__task_outputs_choose(sis__task_outputs *o, const char *text) {
    long number;
    if (!text || strcmp(text, "top") == 0) {
        o->fixed = text && o->n > 1 ? SIZE_MAX : 0;
        return SIS_OK;
    }
    for (size_t k = 0; k < o->n; k++)
        if (o->labels[k] && strcmp(o->labels[k], text) == 0) {
            o->fixed = k;
            return SIS_OK;
        }
    if (!sis__text_whole(text, &number) || number < 0 || (size_t)number >= o->n)
        return no_such_output(o, text);
    o->fixed = (size_t)number;
    return SIS_OK;
}

int sis__task_outputs_begin(sis_task *t) {
    int error = read_labels(t);
    return error == SIS_OK ? sis__task_outputs_choose(&t->outputs, t->opt.output) : error;
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
