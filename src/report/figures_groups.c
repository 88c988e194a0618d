/* SPDX-License-Identifier: MIT
 *
 * Groups of examples for figures: by results file, by decision, or by right and wrong decisions.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sis/record.h>

#include "report/figures.h"

/* Insert the output in order, unless there is no room. */
static void note_output(sis__groups *g, size_t output, size_t max) {
    size_t at = 0;
    while (at < g->n && g->outputs[at] < output)
        at++;
    if (at < g->n && g->outputs[at] == output)
        return;
    g->others |= g->n == max;
    if (g->n == max)
        return;
    memmove(g->outputs + at + 1, g->outputs + at, (g->n - at) * sizeof *g->outputs);
    g->outputs[at] = output;
    g->n++;
}

sis__groups sis__outputs_find(const sis_report *report, size_t max,
                              int (*wanted)(const sis__report_example *)) {
    sis__groups g = {.by = SIS__BY_OUTPUT};
    for (size_t i = 0; i < report->n; i++)
        if (wanted(&report->examples[i]))
            note_output(&g, report->examples[i].record.question.target, max);
    return g;
}

sis__groups sis__groups_find(const sis_report *report, size_t max,
                             int (*wanted)(const sis__report_example *)) {
    if (report->n_runs > 1 && report->n_runs <= max)
        return (sis__groups){.by = SIS__BY_RUN, .n = report->n_runs};
    return sis__outputs_find(report, max, wanted);
}

size_t sis__group_of(const sis__groups *g, const sis__report_example *e) {
    int right = g->by == SIS__BY_RIGHT ? sis_record_is_right(&e->record) : -1;
    if (g->by == SIS__BY_RIGHT)
        return right < 0 ? SIZE_MAX : (size_t)!right;
    if (g->by == SIS__BY_RUN)
        return e->run;
    for (size_t k = 0; g->by == SIS__BY_OUTPUT && k < g->n; k++)
        if (g->outputs[k] == e->record.question.target)
            return k;
    return g->others ? g->n - 1 : 0;
}

void sis__group_name(const sis_report *report, const sis__groups *g, size_t k, char *name) {
    size_t i = 0;
    if (g->by == SIS__BY_RIGHT)
        snprintf(name, SIS__NAME_SIZE, "decided %s", k ? "wrong" : "right");
    if (g->by == SIS__BY_RUN || g->by == SIS__BY_NOTHING)
        snprintf(name, SIS__NAME_SIZE, "%s", sis__run_name(report, k));
    if (g->by != SIS__BY_OUTPUT)
        return;
    while (i + 1 < report->n && report->examples[i].record.question.target != g->outputs[k])
        i++;
    const sis_record *r = &report->examples[i].record;
    int n = snprintf(name, SIS__NAME_SIZE, "%s", r->question.below ? "not " : "");
    sis__output_name(r, name + n, (size_t)(SIS__NAME_SIZE - 16 - n));
    if (g->others && k + 1 == g->n)
        strcat(name, " and others");
}
