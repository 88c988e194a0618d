/* SPDX-License-Identifier: MIT
 *
 * Summarizes a trace. A trace of 784 pixels has 784 scores, but only a score better than those of
 * all smaller suffixes can answer "which is the smallest suffix that reaches this threshold?".
 * These steps, and the order up to the last of them, answer it exactly for every threshold. A
 * hundred points of the history suffice for drawing.
 */
#include "report/report.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

enum { HISTORY_MAX = 101 };

/* The score of the last m features of the order. */
static double suffix_score(const sis_trace *t, size_t m) {
    return m < t->n ? t->scores[t->n - m - 1] : t->start;
}

static int is_better(double a, double b, int below) {
    return below ? a < b : a > b;
}

static int take_steps(const sis_trace *t, int below, sis__trace_summary *out) {
    if (!(out->steps = SIS_NEW_RAW(sis__trace_step, t->n + 1)))
        return SIS_E_NOMEM;
    for (size_t m = 0; m <= t->n; m++)
        if (m == 0 || is_better(suffix_score(t, m), out->steps[out->n_steps - 1].score, below))
            out->steps[out->n_steps++] = (sis__trace_step){m, suffix_score(t, m)};
    sis__trace_step *fit = (sis__trace_step *)sis__realloc(out->steps, out->n_steps, sizeof *fit);
    if (!fit)
        return SIS_E_NOMEM;
    out->steps = fit;
    return SIS_OK;
}

static int take_order(const sis_trace *t, sis__trace_summary *out) {
    out->n_order = out->steps[out->n_steps - 1].size;
    if (!(out->order = SIS_NEW_RAW(int, out->n_order)))
        return SIS_E_NOMEM;
    for (size_t i = 0; i < out->n_order; i++)
        out->order[i] = t->order[t->n - 1 - i];
    return SIS_OK;
}

static int take_history(const sis_trace *t, sis__trace_summary *out) {
    out->n_history = t->n + 1 < HISTORY_MAX ? t->n + 1 : HISTORY_MAX;
    if (!(out->history = SIS_NEW_RAW(double, out->n_history)))
        return SIS_E_NOMEM;
    for (size_t i = 0; i < out->n_history; i++) {
        size_t masked = (i * t->n + (out->n_history - 1) / 2) / (out->n_history - 1);
        out->history[i] = suffix_score(t, t->n - masked);
    }
    return SIS_OK;
}

static int take_tail(const sis_trace *t, sis__trace_summary *out) {
    if (t->n < 3 * SIS__TAIL)
        return SIS_OK;
    if (!(out->tail = SIS_NEW_RAW(double, SIS__TAIL + 1)))
        return SIS_E_NOMEM;
    for (size_t i = 0; i <= SIS__TAIL; i++)
        out->tail[i] = suffix_score(t, SIS__TAIL - i);
    return SIS_OK;
}

int sis__trace_summarise(const sis_record *record, sis__trace_summary *out) {
    const sis_collection *c = &record->collection;
    *out = (sis__trace_summary){.score = c->score};
    if (c->n_subsets == 0 || c->subsets[0].trace.n == 0)
        return SIS_OK;
    const sis_trace *t = &c->subsets[0].trace;
    int code = take_steps(t, record->question.below, out);
    if (code == SIS_OK)
        code = take_order(t, out);
    if (code == SIS_OK)
        code = take_history(t, out);
    if (code == SIS_OK)
        code = take_tail(t, out);
    if (code != SIS_OK)
        sis__trace_summary_release(out);
    return code;
}

void sis__trace_summary_release(sis__trace_summary *w) {
    free(w->steps);
    free(w->order);
    free(w->history);
    free(w->tail);
    *w = (sis__trace_summary){0};
}

size_t sis__trace_summary_find(const sis__trace_summary *w, double threshold, int below) {
    if (!sis_decided(w->score, threshold, below))
        return SIZE_MAX;
    for (size_t i = 0; i < w->n_steps; i++)
        if (sis_decided(w->steps[i].score, threshold, below))
            return w->steps[i].size;
    return SIZE_MAX;
}
