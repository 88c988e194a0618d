/* SPDX-License-Identifier: MIT
 *
 * Models derived from other models: the lead of an output over all others, so that "it stays the
 * highest" becomes a decision with threshold 0; and whether a decision holds, so that a mean of
 * scores is a share of decisions.
 */
#include <math.h>
#include <stdint.h>

#include <sis/explain.h>

#include "base/sized.h"
#include "core/input.h"

/* Differences this small are rounding: margins of equal sums may differ in their last digits. */
static double lead_of(double own, double other) {
    double lead = own == other ? 0 : own - other;
    return fabs(lead) <= 1e-12 * (1 + fabs(own)) ? 0 : lead;
}

/* margins (n) to leads, in place. */
static void lead_row(double *m, size_t n) {
    size_t best = 0;
    double next = -INFINITY;
    int unknown = isnan(m[0]);
    for (size_t k = 1; k < n; k++) {
        unknown |= isnan(m[k]);
        next = fmax(next, fmin(m[k], m[best]));
        if (m[k] > m[best])
            best = k;
    }
    double top = m[best];
    for (size_t k = 0; k < n; k++)
        m[k] = unknown ? NAN : lead_of(m[k], k == best ? next : top);
}

static int lead_predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    const sis_model *m = (const sis_model *)ctx;
    int error = sis__model_predict(m, rows, n, width, scores);
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        lead_row(scores + i * m->n_outputs, m->n_outputs);
    return error;
}

/* Copy what all derived models take from the original. */
static void begin(const sis_model *model, sis_model *out) {
    sis_model whole;
    sis__sized_extend(&whole, sizeof whole, model);
    *out = (sis_model){.size = sizeof *out,
                       .n_outputs = whole.n_outputs,
                       .n_values = whole.n_values,
                       .max_rows = whole.max_rows,
                       .missing = whole.missing,
                       .confirm = whole.confirm};
}

void sis_model_argmax(const sis_model *model, sis_model *out) {
    begin(model, out);
    out->predict = lead_predict;
    out->ctx = (void *)(uintptr_t)model;
}

static int decide_predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    const sis_deciding *d = (const sis_deciding *)ctx;
    const sis_model *m = d->model;
    int error = sis__model_predict(m, rows, n, width, scores);
    for (size_t i = 0; error == SIS_OK && i < n * m->n_outputs; i++) {
        double score = m->link ? m->link(scores[i]) : scores[i];
        scores[i] = isnan(score) ? score : (double)sis_decided(score, d->threshold, d->below);
    }
    return error;
}

void sis_model_decide(const sis_deciding *decision, sis_model *out) {
    begin(decision->model, out);
    out->predict = decide_predict;
    out->ctx = (void *)(uintptr_t)decision;
}
