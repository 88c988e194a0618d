/* SPDX-License-Identifier: MIT
 *
 * Batched gradient SIS (Carter, Jain, Mueller and Gifford 2021): backward selection for inputs that
 * are too large for it. A mask m, one number per feature, interpolates between input and mask,
 * x_m = (1 - m) x + m z; the gradient of the score with respect to m estimates, to first order, the
 * effect of masking each feature. Each step masks the k features with the largest values:
 *
 *     step      0     1     2     3     4     5
 *     score    0.99  0.98  0.97  0.71  0.75  0.31     threshold 0.7
 *     left      12     9     6     5     4     0      -> the 4 left at step 4
 *
 * The features left when the score last reached the threshold are sufficient. Slopes are not
 * differences, so some of these features are not needed. If many are left, selection is repeated
 * among them in smaller steps, while a round leaves out at least a quarter of them. The rest is made
 * minimal by full passes: by exact backward selection (sis_collect, everything else absent) if
 * the work allows it (max_selected), else by the divide and conquer of quick.c.
 *
 * Cost: n / k gradients, at most ROUND_STEPS gradients for each further round, then evaluations that
 * read at most WORK_WALKED (or WORK_PASSED) values for exact selection, or about
 * 2 s (1 + log2(m / s)) full passes to find s features among the m that are left.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/walk.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "methods/methods.h"

enum { MAX_WALKED = 4096, MAX_PASSED = 256, ROUND_STEPS = 64 };

/* Values in all copies that exact selection asks about: by the model's own walk, by full passes. */
static const double WORK_WALKED = 5e8, WORK_PASSED = 6e7;

/* The part of the work on a subset after which selection and its repetitions end. */
static const double SELECTED = 0.25, REPEATED = 0.5;

/* The state that slopes are taken at. */
typedef struct {
    sis__gradient_points at;
    double *now;    /* (n_samples, width) its points */
    double *d_now;  /* (n_samples, width) */
    double *scores; /* (n_samples) */
} state;

typedef struct {
    sis__masked_scorer *v;
    size_t step;
    size_t max_exact; /* features that exact selection is for */
    state state;
    double *value;          /* (n) slope of the score in m; below: its negative */
    unsigned char *gone;    /* (n) absent, equal to its mask, or in an earlier subset */
    unsigned char *masked;  /* (n) in the current selection */
    unsigned char *present; /* (n) scratch */
    int *live;              /* (n) features not masked yet */
    size_t n_live;
    int *heap;  /* (step) the best of them */
    int *order; /* (n) in the order of masking */
    size_t n_order;
    int *left; /* (n) sufficient, in the order in which they would be masked next */
    size_t n_left;
    int *first; /* (n) the order of the first subset turned round, for its trace; or NULL */
    size_t n_first;
    size_t n_found, n_wanted; /* subsets */
} search;

/* Report the share of work done on the current subset. */
static void say_done(search *c, double part) {
    c->v->fraction = ((double)c->n_found + part) / (double)c->n_wanted;
}

/* ---- Selection ----------------------------------------------------------------------------- */

/* Is a masked before b? */
static int before(const search *c, int a, int b) {
    return c->value[a] != c->value[b] ? c->value[a] > c->value[b] : a < b;
}

/* Restore the heap below `at`: every parent comes after its children, so the root is the last
 * one. */
static void sink(const search *c, int *heap, size_t n, size_t at) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(c, heap[child], heap[child + 1]))
            child++;
        if (!before(c, heap[at], heap[child]))
            return;
        int swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

/* Put the first k live features in the order of before() into the heap. */
static void choose(const search *c, size_t k) {
    memcpy(c->heap, c->live, k * sizeof *c->heap);
    for (size_t i = k / 2; i-- > 0;)
        sink(c, c->heap, k, i);
    for (size_t i = k; i < c->n_live; i++)
        if (before(c, c->live[i], c->heap[0])) {
            c->heap[0] = c->live[i];
            sink(c, c->heap, k, 0);
        }
    for (size_t n = k; n > 1; n--) { /* the last to the end */
        int last = c->heap[0];
        c->heap[0] = c->heap[n - 1];
        c->heap[n - 1] = last;
        sink(c, c->heap, n - 1, 0);
    }
}

/* Gradients with respect to m at the current state, and its score. */
static int look(search *c, double *score) {
    sis__masked_scorer *v = c->v;
    size_t width = c->state.at.width;
    sis_slopes slopes = {.points = c->state.now,
                         .n = v->features.n_samples,
                         .scores = c->state.scores,
                         .d_points = c->state.d_now};
    int error = sis__gradient_points_slopes(v, &c->state.at, &slopes);
    if (error != SIS_OK)
        return error;
    double sign = v->opt->below ? -1 : 1;
    double high = 0, low = 0;
    memset(c->value, 0, v->features.n * sizeof *c->value);
    for (size_t s = 0; s < v->features.n_samples; s++) {
        sis__sum_add(&high, &low, c->state.scores[s]);
        for (size_t i = 0; i < width; i++) {
            int f = v->features.feature_of[i / c->state.at.dim];
            if (f >= 0)
                c->value[f] += sign * (c->state.at.mask[s * width + i] - c->state.at.input[i]) *
                               c->state.d_now[s * width + i];
        }
    }
    *score = sis__sum_mean(high, low, v->features.n_samples);
    for (size_t f = 0; f < v->features.n; f++)
        if (isnan(c->value[f]))
            return sis__fail(SIS_E_NAN, "the gradient of output %zu is not a number",
                             v->in->output);
    return SIS_OK;
}

/* Set masked features to the mask's coordinates. */
static void follow(search *c) {
    size_t width = c->state.at.width;
    for (size_t s = 0; s < c->v->features.n_samples; s++)
        for (size_t i = 0; i < width; i++) {
            int f = c->v->features.feature_of[i / c->state.at.dim];
            if (f >= 0 && c->masked[f])
                c->state.now[s * width + i] = c->state.at.mask[s * width + i];
        }
}

static void mask_some(search *c, size_t k) {
    size_t kept = 0;
    choose(c, k);
    for (size_t i = 0; i < k; i++)
        c->masked[c->heap[i]] = 1;
    memcpy(c->order + c->n_order, c->heap, k * sizeof *c->heap);
    c->n_order += k;
    for (size_t i = 0; i < c->n_live; i++)
        if (!c->masked[c->live[i]])
            c->live[kept++] = c->live[i];
    c->n_live = kept;
    follow(c);
}

/* Begin with exactly left[0..n_left) present. */
static void start(search *c) {
    c->n_order = 0;
    c->n_live = c->n_left;
    memcpy(c->live, c->left, c->n_left * sizeof *c->left);
    memset(c->masked, 1, c->v->features.n);
    for (size_t k = 0; k < c->n_left; k++)
        c->masked[c->left[k]] = 0;
    for (size_t s = 0; s < c->v->features.n_samples; s++)
        memcpy(c->state.now + s * c->state.at.width, c->state.at.input,
               c->state.at.width * sizeof *c->state.now);
    follow(c);
}

/* Mask all that is left; *last is how many were masked when the score last reached the threshold. */
static int mask_all(search *c, size_t step, size_t *last) {
    const sis_opt *opt = c->v->opt;
    double from = c->v->fraction * (double)c->n_wanted - (double)c->n_found;
    double to = from < SELECTED ? SELECTED : (from + REPEATED) / 2;
    int error = SIS_OK;
    start(c);
    *last = 0;
    while (error == SIS_OK && c->n_live > 0) {
        double score;
        say_done(c, from + (to - from) * (double)c->n_order / (double)c->n_left);
        error = look(c, &score);
        if (error == SIS_OK && sis_decided(score, opt->threshold, opt->below))
            *last = c->n_order;
        if (error == SIS_OK)
            mask_some(c, step < c->n_live ? step : c->n_live);
    }
    say_done(c, to);
    return error;
}

/* Is the order without its first `from` sufficient, by a full pass? */
static int enough_from(search *c, size_t from, int *enough) {
    double margin;
    memset(c->present, 0, c->v->features.n);
    for (size_t k = from; k < c->n_order; k++)
        c->present[c->order[k]] = 1;
    int error = sis__scorer_margin(c->v, c->present, &margin);
    *enough = error == SIS_OK && sis__scorer_decided(c->v, margin);
    return error;
}

/* Leave only what selection in steps of that size does not mask. */
static int select_left(search *c, size_t step) {
    size_t last = 0;
    int enough = 0, error = mask_all(c, step, &last);
    while (error == SIS_OK && !enough) { /* slopes may come with other scores than predictions */
        error = enough_from(c, last, &enough);
        if (error == SIS_OK && !enough && last == 0)
            return sis__fail_unstable(NAN, NAN);
        last = enough ? last : last > step ? last - step : 0;
    }
    if (error != SIS_OK)
        return error;
    c->n_left = c->n_order - last;
    memcpy(c->left, c->order + last, c->n_left * sizeof *c->left);
    return SIS_OK;
}

/* Select again in smaller steps while too many are left for exact selection and it is of use. */
static int select_repeatedly(search *c) {
    size_t before = 0, step = c->step;
    int error = SIS_OK;
    while (error == SIS_OK && c->n_left > c->max_exact &&
           (before == 0 || c->n_left < before - before / 4)) {
        before = c->n_left;
        size_t smaller = (before + ROUND_STEPS - 1) / ROUND_STEPS;
        step = smaller < step ? smaller : step;
        error = select_left(c, step);
    }
    return error;
}

/* ---- Minimal subsets ----------------------------------------------------------------------- */

/* The progress of exact selection. */
static int report_exact(void *ctx, const sis_progress *p) {
    search *c = (search *)ctx;
    say_done(c, REPEATED + (1 - REPEATED) * p->walk);
    sis_progress all = {.evaluations = p->evaluations, .walk = c->v->fraction};
    return sis__scorer_inside(c->v, &all);
}

/* Options of exact selection; its limits are the remainder of the overall limits. */
static sis_opt exact_options(search *c) {
    sis_opt opt = *c->v->opt;
    double left = opt.time_limit - (sis__seconds() - c->v->began);
    opt.max_subsets = 1;
    opt.early_stop = 0;
    if (opt.time_limit > 0)
        opt.time_limit = left > 1e-6 ? left : 1e-6;
    if (opt.max_evaluations) /* at least one is left, or the last call would have failed */
        opt.max_evaluations -= c->v->evaluations;
    opt.progress = report_exact;
    opt.progress_ctx = c;
    opt.progress_every = 0;
    return opt;
}

/* Exact backward selection among what is left. */
static int select_exactly(search *c, sis_subset *out) {
    sis_collection found;
    sis_input inside = *c->v->in;
    sis_opt opt = exact_options(c);
    memset(c->present, 1, c->v->features.n);
    for (size_t k = 0; k < c->n_left; k++)
        c->present[c->left[k]] = 0;
    inside.absent = c->present;
    int error = sis_collect(c->v->model, &inside, &opt, &found);
    if (error != SIS_OK)
        return error;
    c->v->evaluations += found.evaluations;
    if (found.n_subsets == 1) {
        *out = found.subsets[0];
        found.subsets[0] = (sis_subset){0};
        sis_trace_release(&out->trace);
    } else if (found.status == SIS_STATUS_CUT) {
        c->v->cut = 1;
        error = sis__fail(SIS_E_CANCELLED, "a limit has been reached");
    } else {
        error = sis__fail_unstable(NAN, NAN);
    }
    sis_collection_release(&found);
    return error;
}

/* Keep the order of the first selection, most important first, for the trace. */
static void keep_first(search *c) {
    for (c->n_first = 0; c->n_first < c->n_order; c->n_first++)
        c->first[c->n_first] = c->order[c->n_order - 1 - c->n_first];
}

/* Divide and conquer among what is left, most important first. */
static int minimise(search *c, sis_subset *out) {
    for (size_t i = 0, j = c->n_left; i + 1 < j--; i++) {
        int swap = c->left[i];
        c->left[i] = c->left[j];
        c->left[j] = swap;
    }
    double from = c->v->fraction;
    return sis__quick_inside(c->v, c->left, c->n_left,
                             ((double)c->n_found + 1) / (double)c->n_wanted - from, out);
}

static int find_subset(search *c, sis_subset *out) {
    c->n_left = 0;
    for (size_t f = 0; f < c->v->features.n; f++)
        if (!c->gone[f])
            c->left[c->n_left++] = (int)f;
    int error = select_left(c, c->step);
    if (error == SIS_OK && c->first && !c->n_found)
        keep_first(c);
    if (error == SIS_OK)
        error = select_repeatedly(c);
    if (error == SIS_OK)
        error = c->n_left <= c->max_exact ? select_exactly(c, out) : minimise(c, out);
    c->n_found++;
    return error;
}

/* ---- Collection ---------------------------------------------------------------------------- */

/* Does the model walk over this input faster than full passes do? */
static int has_walk(const sis__masked_scorer *v) {
    sis_walk *w = NULL;
    if (!v->model->walk_new || v->opt->exact || v->features.n_samples > 1 ||
        v->model->walk_new(v->model->ctx, v->in, v->opt->memory, &w) != SIS_OK)
        return 0;
    w->ops->free(w);
    return 1;
}

/* How many features exact selection is for: n of them take n^2 / 2 copies, and a copy costs the more
 * the larger the input is. */
static size_t max_selected(const sis__masked_scorer *v) {
    int walks = v->features.n > MAX_PASSED && has_walk(v);
    double size = (double)(v->in->n_values * v->features.n_samples);
    double max = sqrt(2 * (walks ? WORK_WALKED : WORK_PASSED) / size);
    double limit = walks ? MAX_WALKED : MAX_PASSED;
    return (size_t)(max < limit ? max : limit);
}

static int search_init(search *c, sis__masked_scorer *v, const sis_method_opt *how) {
    *c = (search){.v = v, .step = how->step < v->features.n ? how->step : v->features.n};
    c->max_exact = max_selected(v);
    c->n_wanted = v->opt->max_subsets ? v->opt->max_subsets : 1;
    int error = sis__gradient_points_init(&c->state.at, v, "gradient");
    if (error != SIS_OK)
        return error;
    c->state.now =
        (double *)sis__alloc_raw(v->features.n_samples, c->state.at.width * sizeof(double));
    c->state.d_now =
        (double *)sis__alloc_raw(v->features.n_samples, c->state.at.width * sizeof(double));
    c->state.scores = SIS_NEW(double, v->features.n_samples);
    c->value = SIS_NEW(double, v->features.n);
    c->gone = SIS_NEW(unsigned char, v->features.n);
    c->masked = SIS_NEW(unsigned char, v->features.n);
    c->present = SIS_NEW(unsigned char, v->features.n);
    c->live = SIS_NEW(int, v->features.n);
    c->heap = SIS_NEW(int, c->step);
    c->order = SIS_NEW(int, v->features.n);
    c->left = SIS_NEW(int, v->features.n);
    c->first = how->trace ? SIS_NEW(int, v->features.n) : NULL;
    if (!c->state.now || !c->state.d_now || !c->state.scores || !c->value || !c->gone ||
        !c->masked || !c->present || !c->live || !c->heap || !c->order || !c->left ||
        (how->trace && !c->first))
        return SIS_E_NOMEM;
    for (size_t f = 0; f < v->features.n; f++)
        c->gone[f] = v->features.absent[f] || v->features.same[f];
    return SIS_OK;
}

static void search_release(search *c) {
    sis__gradient_points_release(&c->state.at);
    free(c->state.now);
    free(c->state.d_now);
    free(c->state.scores);
    free(c->value);
    free(c->gone);
    free(c->masked);
    free(c->present);
    free(c->live);
    free(c->heap);
    free(c->order);
    free(c->left);
    free(c->first);
}

static int find_next(void *ctx, sis_subset *out) {
    return find_subset((search *)ctx, out);
}

int sis__gradient(sis__masked_scorer *v, const sis_method_opt *how, sis_collection *out) {
    search c;
    int error = search_init(&c, v, how);
    if (error == SIS_OK)
        error = sis__disjoint(v, &(sis__finder_of_subsets){find_next, &c, c.gone, c.n_wanted}, out);
    if (error == SIS_OK && how->trace)
        error = sis__order_trace_first(v, c.first, c.n_first, &out->subsets[0]);
    search_release(&c);
    return error;
}
