/* SPDX-License-Identifier: MIT
 *
 * Margins of masked copies of one input, with any set of features present. Copies are built from
 * scratch, unlike in a walk, because consecutive copies differ in many features. They are evaluated
 * in chunks within the memory budget. With several mask samples (hot deck) a copy is several rows,
 * and its margin is the mean of their scores.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "methods/methods.h"

enum { ROWS = 256 };

static size_t room_for(const sis__masked_scorer *v) {
    size_t row = (v->in->n_values + v->model->n_outputs) * sizeof(double);
    size_t max = v->opt->memory / row, wish = v->model->max_rows ? v->model->max_rows : ROWS;
    max = max < wish ? max : wish;
    return max ? max : 1;
}

int sis__scorer_init(sis__masked_scorer *v, const sis_model *model, const sis_input *input,
                     const sis_opt *opt) {
    *v = (sis__masked_scorer){
        .model = model, .in = input, .opt = opt, .to = 1, .began = sis__seconds()};
    int error = sis_input_check(input, model);
    if (error == SIS_OK)
        error = sis__prepared_input_init(&v->features, input, 0);
    if (error != SIS_OK)
        return error;
    v->link = v->features.n_samples > 1 ? NULL : model->link;
    v->room = room_for(v);
    v->present = SIS_NEW(unsigned char, v->features.n);
    v->rows = (double *)sis__alloc_raw(v->room, input->n_values * sizeof(double));
    v->answers = (double *)sis__alloc_raw(v->room, model->n_outputs * sizeof(double));
    if (v->present && v->rows && v->answers)
        return SIS_OK;
    sis__scorer_release(v);
    return SIS_E_NOMEM;
}

void sis__scorer_release(sis__masked_scorer *v) {
    sis__prepared_input_release(&v->features);
    free(v->present);
    free(v->rows);
    free(v->answers);
    *v = (sis__masked_scorer){0};
}

/* ---- Scores -------------------------------------------------------------------------------- */

double sis__scorer_score(const sis__masked_scorer *v, double margin) {
    return v->link ? v->link(margin) : margin;
}

int sis__scorer_decided(const sis__masked_scorer *v, double margin) {
    return sis_decided(sis__scorer_score(v, margin), v->opt->threshold, v->opt->below);
}

void sis__scorer_phase(sis__masked_scorer *v, double to) {
    v->from += (v->to - v->from) * v->fraction;
    v->fraction = v->stretch = 0;
    v->to = to;
}

int sis__scorer_inside(void *ctx, const sis_progress *p) {
    sis__masked_scorer *v = (sis__masked_scorer *)ctx;
    const sis_opt *o = v->opt;
    v->fraction = p->walk;
    if (!o->progress || !sis__is_due(&v->last_report, o->progress_every))
        return 0;
    double walk = v->from + (v->to - v->from) * v->fraction;
    sis_progress all = {1, 0, v->evaluations + p->evaluations, walk < 1 ? walk : 1};
    return o->progress(o->progress_ctx, &all);
}

int sis__scorer_tick(sis__masked_scorer *v) {
    const sis_opt *o = v->opt;
    if (sis__scorer_inside(v, &(sis_progress){.walk = v->fraction}) != 0)
        return sis__fail(SIS_E_CANCELLED, "cancelled");
    v->cut = v->limited && ((o->max_evaluations && v->evaluations >= o->max_evaluations) ||
                            (o->time_limit > 0 && sis__seconds() - v->began >= o->time_limit));
    return v->cut ? sis__fail(SIS_E_CANCELLED, "a limit has been reached") : SIS_OK;
}

/* Row `at`: the input, with features that are not flagged taken from `mask`. */
static void build_row(sis__masked_scorer *v, size_t at, const double *mask) {
    double *row = v->rows + at * v->in->n_values;
    for (size_t i = 0; i < v->in->n_values; i++) {
        int f = v->features.feature_of[i];
        row[i] = f < 0 || (v->present[f] && !v->features.absent[f]) ? v->in->values[i] : mask[i];
    }
}

static int predict(sis__masked_scorer *v, size_t n) {
    int error = sis__model_predict(v->model, v->rows, n, v->in->n_values, v->answers);
    v->evaluations += n;
    return error == SIS_OK ? sis__scorer_tick(v) : error;
}

/* Add the model's answer for row `at`, mask sample s, to the margin of its copy. Samples come in
 * order. */
static int add_answer(sis__masked_scorer *v, size_t at, size_t s, double *margin) {
    double m = v->answers[at * v->model->n_outputs + v->in->output];
    double score = v->model->link ? v->model->link(m) : m;
    if (isnan(m) || isnan(score))
        return sis__fail(SIS_E_NAN, "the model returned NaN for output %zu with features masked",
                         v->in->output);
    *margin = m;
    if (v->features.n_samples == 1)
        return SIS_OK;
    v->high = s ? v->high : 0;
    v->low = s ? v->low : 0;
    sis__sum_add(&v->high, &v->low, score);
    *margin = sis__sum_mean(v->high, v->low, s + 1);
    return SIS_OK;
}

int sis__scorer_margins(sis__masked_scorer *v, const sis__copies *copies, double *margins) {
    size_t n_rows = copies->n * v->features.n_samples, width = v->in->n_values;
    const double *mask = copies->mask ? copies->mask : v->in->mask;
    double step = v->stretch / (double)n_rows;
    int error = SIS_OK;
    for (size_t first = 0, count; error == SIS_OK && first < n_rows; first += count) {
        count = n_rows - first < v->room ? n_rows - first : v->room;
        v->fraction += step * (double)count;
        for (size_t k = 0; k < count; k++) {
            size_t s = (first + k) % v->features.n_samples;
            if (s == 0 || k == 0)
                copies->choose(copies->ctx, (first + k) / v->features.n_samples, v->present);
            build_row(v, k, mask + s * width);
        }
        error = predict(v, count);
        for (size_t k = 0; error == SIS_OK && k < count; k++)
            error = add_answer(v, k, (first + k) % v->features.n_samples,
                               &margins[(first + k) / v->features.n_samples]);
    }
    v->stretch = 0;
    return error;
}

typedef struct {
    const unsigned char *present;
    size_t n;
} flags;

static void choose_flags(void *ctx, size_t i, unsigned char *present) {
    const flags *f = (const flags *)ctx;
    (void)i;
    memcpy(present, f->present, f->n);
}

int sis__scorer_margin(sis__masked_scorer *v, const unsigned char *present, double *margin) {
    flags f = {present, v->features.n};
    return sis__scorer_margins(v, &(sis__copies){.n = 1, .choose = choose_flags, .ctx = &f},
                               margin);
}
