/* SPDX-License-Identifier: MIT
 *
 * One walk over one input: chooses between the model's own walk and the batch walk, tracks the
 * masked features, and answers without evaluation what needs none (features that are already masked
 * or equal their mask).
 *
 * A model's own walk may round differently from a full pass, so a *judge* runs beside it: a batch
 * walk that follows every mask without evaluating anything. It is asked where the walk's answer is
 * too close to call, and before anything is reported.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/walk.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"
#include "core/core.h"

double sis__score(const sis_walk_state *s, double margin) {
    return s->link ? s->link(margin) : margin;
}

size_t sis__evaluations(const sis_walk_state *s) {
    size_t n = s->walk ? s->walk->evaluations : 0;
    return s->judge && s->judge != s->walk ? n + s->judge->evaluations : n;
}

/* Estimated progress. The number of selections is unknown, so each one takes half of the remaining
 * share, and the last one allowed takes all of it. */
static double share_done(const sis_walk_state *s) {
    size_t max = s->opt.max_subsets, before = (size_t)s->selections;
    if (!s->collecting)
        return s->fraction;
    if (max && before >= max)
        return 1;
    double left = ldexp(1, -s->selections);
    return 1 - left + s->fraction * (before + 1 == max ? left : left / 2);
}

static int is_over(const sis_walk_state *s) {
    const sis_opt *o = &s->opt;
    return s->limited && ((o->max_evaluations && sis__evaluations(s) >= o->max_evaluations) ||
                          (o->time_limit > 0 && sis__seconds() - s->began >= o->time_limit));
}

int sis__tick(sis_walk_state *s) {
    sis_progress p = {.inputs = 1, .evaluations = sis__evaluations(s), .walk = share_done(s)};
    if (s->opt.progress && sis__is_due(&s->last_report, s->opt.progress_every) &&
        s->opt.progress(s->opt.progress_ctx, &p) != 0)
        return sis__fail(SIS_E_CANCELLED, "cancelled");
    if (!is_over(s))
        return SIS_OK;
    s->cut = 1;
    return sis__fail(SIS_E_CANCELLED, "a limit has been reached");
}

void sis__progress_end(const sis_opt *opt, size_t evaluations) {
    if (opt->progress)
        opt->progress(opt->progress_ctx, &(sis_progress){1, 1, evaluations, 1});
}

static void state_free(sis_walk_state *s) {
    if (!s)
        return;
    if (s->judge && s->judge != s->walk)
        s->judge->ops->free(s->judge);
    if (s->walk)
        s->walk->ops->free(s->walk);
    sis__prepared_input_release(&s->features);
    free(s->masked);
    free(s);
}

/* Use the model's own walk if it has one for this input, otherwise the batch walk. */
static int choose_walk(sis_walk_state *s) {
    const sis_model *m = s->model;
    int error = SIS_E_UNSUPPORTED;
    if (m->walk_new && !s->opt.exact && s->input->n_samples <= 1)
        error = m->walk_new(m->ctx, s->input, s->opt.memory, &s->walk);
    if (error == SIS_OK)
        return sis__batch_new(s, &s->judge);
    if (error == SIS_E_UNSUPPORTED)
        error = sis__batch_new(s, &s->walk);
    s->judge = s->walk;
    return error;
}

int sis_walk_new(const sis_model *model, const sis_input *input, const sis_opt *opt,
                 sis_walk **out) {
    int error = sis_input_check(input, model);
    *out = NULL;
    if (error != SIS_OK)
        return error;
    sis_walk_state *s = SIS_NEW(sis_walk_state, 1);
    if (!s)
        return SIS_E_NOMEM;
    s->model = model;
    s->input = input;
    s->began = sis__seconds();
    s->link = input->n_samples > 1 ? NULL : model->link;
    error = sis__opt_copy(opt, &s->opt);
    if (error == SIS_OK)
        error = sis__prepared_input_init(&s->features, input, 0);
    if (error == SIS_OK) {
        s->masked = SIS_NEW(unsigned char, s->features.n);
        error = s->masked ? choose_walk(s) : SIS_E_NOMEM;
    }
    if (error == SIS_OK) {
        s->walk->state = s;
        s->judge->state = s;
        error = sis_walk_reset(s->walk, NULL);
    }
    if (error != SIS_OK) {
        state_free(s);
        return error;
    }
    *out = s->walk;
    return SIS_OK;
}

void sis_walk_free(sis_walk *w) {
    if (w)
        state_free(w->state);
}

int sis_walk_reset(sis_walk *w, const unsigned char *masked) {
    sis_walk_state *s = w->state;
    memcpy(s->masked, masked ? masked : s->features.absent, s->features.n);
    int error = w->ops->reset(w, s->masked, &s->walked);
    s->margin = s->walked;
    if (error == SIS_OK && s->judge != w)
        sis__batch_follow_reset(s->judge, s->masked);
    return error;
}

int sis__judge_reset(sis_walk_state *s, const unsigned char *masked, double *margin) {
    return s->judge->ops->reset(s->judge, masked, margin);
}

int sis__judge_probe(sis_walk_state *s, const int *features, size_t n, double *margins) {
    return s->judge->ops->probe(s->judge, features, n, margins);
}

int sis_walk_probe(sis_walk *w, const int *features, size_t n, double *scores) {
    sis_walk_state *s = w->state;
    size_t p = s->features.n, asked = 0;
    int *list = SIS_NEW_RAW(int, n);
    double *margins = SIS_NEW_RAW(double, n), *of = SIS_NEW_RAW(double, p);
    int error = list && margins && of ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        int f = features[i];
        if (f < 0 || (size_t)f >= p)
            error = sis__fail(SIS_E_ARGUMENT, "cannot probe feature %d; the input has 0 to %zu", f,
                              p - 1);
        else if (!s->masked[f] && !s->features.same[f])
            list[asked++] = f;
    }
    if (error == SIS_OK && asked) {
        qsort(list, asked, sizeof *list, sis__by_int);
        size_t unique = 1;
        for (size_t i = 1; i < asked; i++)
            if (list[i] != list[unique - 1])
                list[unique++] = list[i];
        error = w->ops->probe(w, list, unique, margins);
        for (size_t i = 0; error == SIS_OK && i < unique; i++)
            of[list[i]] = margins[i];
    }
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        int f = features[i], known = s->masked[f] || s->features.same[f];
        scores[i] = sis__score(s, known ? s->margin : of[f]);
    }
    free(list);
    free(margins);
    free(of);
    return error;
}

int sis_walk_mask(sis_walk *w, int feature, double *score) {
    sis_walk_state *s = w->state;
    if (feature < 0 || (size_t)feature >= s->features.n)
        return sis__fail(SIS_E_ARGUMENT, "cannot mask feature %d; the input has 0 to %zu", feature,
                         s->features.n - 1);
    if (!s->masked[feature] && !s->features.same[feature]) {
        int error = w->ops->mask(w, feature, &s->walked);
        if (error != SIS_OK)
            return error;
        s->margin = s->walked;
        if (s->judge != w)
            sis__batch_follow(s->judge, feature);
    }
    s->masked[feature] = 1;
    if (score)
        *score = sis_walk_score(w);
    return SIS_OK;
}

double sis_walk_score(const sis_walk *w) {
    return sis__score(w->state, w->state->margin);
}

size_t sis_walk_features(const sis_walk *w) {
    return w->state->features.n;
}

int sis_walk_is_own(const sis_walk *w) {
    return w->state->judge != w;
}

int sis_walk_masked(const sis_walk *w, int feature) {
    return feature >= 0 && (size_t)feature < w->state->features.n && w->state->masked[feature];
}
