/* SPDX-License-Identifier: MIT
 *
 * Batched gradient SIS (Carter, Jain, Mueller and Gifford 2021): backward selection for inputs that
 * are too large for it. A mask m, one number a feature, mixes input and mask,
 * x_m = (1 - m) x + m z; the gradient of the score in m says for all features at once what masking
 * each would do, to first order. Each step masks the k features with the largest values:
 *
 *     step      0     1     2     3     4     5
 *     score    0.99  0.98  0.97  0.71  0.75  0.31     threshold 0.7
 *     left      12     9     6     5     4     0      -> the 4 left at step 4
 *
 * What was left when the score last reached the threshold is sufficient but, since slopes are not
 * differences, holds features that are not needed. It is pruned by removals that are each tried on
 * the model: in large pieces first, if there are many; then, if they are few enough for the work
 * that may be spent (most_selected), by exact backward selection inside it (sis_collect, everything
 * else absent), or, if more are left, one by one until every single one is needed. Either way
 * Proposition 1 holds of what is reported, by full passes.
 *
 * Cost: n / k gradients, then a few times as many full passes as features were left, or, for exact
 * selection, evaluations that read at most WORK_WALKED (or WORK_PASSED) values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "methods/methods.h"

enum { MOST_WALKED = 4096, MOST_PASSED = 256, TRIES = 16 };

/* Values in all copies that exact selection asks about: by the model's own walk, by full passes. */
static const double WORK_WALKED = 5e10, WORK_PASSED = 6e7;

/* Where the parts of the work on a subset end, of 1: selection, pruning; the rest is exact. */
static const double SELECTED = 0.25, PRUNED = 0.75;

typedef struct {
    sis__masked_scorer *v;
    size_t step;
    size_t most; /* features that exact selection is for */
    sis__gradient_points at;
    double *now;            /* (n_samples, width) the points of the present state */
    double *d_now;          /* (n_samples, width) */
    double *scores;         /* (n_samples) */
    double *value;          /* (n) slope of the score in m; below: its negative */
    unsigned char *gone;    /* (n) absent, equal to its mask, or in an earlier subset */
    unsigned char *masked;  /* (n) of the selection under way */
    unsigned char *present; /* (n) scratch */
    int *live;              /* (n) features not masked yet */
    size_t n_live;
    int *heap;  /* (step) the best of them */
    int *order; /* (n) as they were masked */
    size_t n_order;
    int *first; /* (n) the order of the first subset turned round, for its trace; or NULL */
    size_t n_first;
    size_t n_found, n_wanted; /* subsets */
} search;

/* So much of the work on the subset under way is done. */
static void say_done(search *c, double part) {
    c->v->fraction = ((double)c->n_found + part) / (double)c->n_wanted;
}

/* ---- Selection ----------------------------------------------------------------------------- */

/* Is a masked before b? */
static int before(const search *c, int a, int b) {
    return c->value[a] != c->value[b] ? c->value[a] > c->value[b] : a < b;
}

/* Restore the heap below `at`: every parent comes after its children, so the root is the last. */
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

/* The first k of the live features in the order of before(), into the heap. */
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

/* Slopes in m at the present state, and its score. */
static int look(search *c, double *score) {
    sis__masked_scorer *v = c->v;
    size_t width = c->at.width;
    sis_slopes slopes = {
        .points = c->now, .n = v->features.n_samples, .scores = c->scores, .d_points = c->d_now};
    int error = sis__gradient_points_slopes(v, &c->at, &slopes);
    if (error != SIS_OK)
        return error;
    double sign = v->opt->below ? -1 : 1;
    double high = 0, low = 0;
    memset(c->value, 0, v->features.n * sizeof *c->value);
    for (size_t s = 0; s < v->features.n_samples; s++) {
        sis__sum_add(&high, &low, c->scores[s]);
        for (size_t i = 0; i < width; i++) {
            int f = v->features.feature_of[i / c->at.dim];
            if (f >= 0)
                c->value[f] +=
                    sign * (c->at.mask[s * width + i] - c->at.input[i]) * c->d_now[s * width + i];
        }
    }
    *score = sis__sum_mean(high, low, v->features.n_samples);
    for (size_t f = 0; f < v->features.n; f++)
        if (isnan(c->value[f]))
            return sis__fail(SIS_E_NAN, "the slope of output %zu is not a number", v->in->output);
    return SIS_OK;
}

/* Put the mask's coordinates where features are masked. */
static void follow(search *c) {
    size_t width = c->at.width;
    for (size_t s = 0; s < c->v->features.n_samples; s++)
        for (size_t i = 0; i < width; i++) {
            int f = c->v->features.feature_of[i / c->at.dim];
            if (f >= 0 && c->masked[f])
                c->now[s * width + i] = c->at.mask[s * width + i];
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

static void start(search *c) {
    c->n_live = c->n_order = 0;
    for (size_t f = 0; f < c->v->features.n; f++) {
        c->masked[f] = c->gone[f];
        if (!c->gone[f])
            c->live[c->n_live++] = (int)f;
    }
    for (size_t s = 0; s < c->v->features.n_samples; s++)
        memcpy(c->now + s * c->at.width, c->at.input, c->at.width * sizeof *c->now);
    follow(c);
}

/* Mask everything; *last is how many were masked when the score last reached the threshold. */
static int select_backwards(search *c, size_t *last) {
    const sis_opt *opt = c->v->opt;
    int error = SIS_OK;
    start(c);
    *last = 0;
    while (error == SIS_OK && c->n_live > 0) {
        double score;
        say_done(c, SELECTED * (double)c->n_order / (double)(c->n_order + c->n_live));
        error = look(c, &score);
        if (error == SIS_OK && sis_decided(score, opt->threshold, opt->below))
            *last = c->n_order;
        if (error == SIS_OK)
            mask_some(c, c->step < c->n_live ? c->step : c->n_live);
    }
    return error;
}

/* ---- Repair -------------------------------------------------------------------------------- */

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

/* Copies of what is present without one piece each. */
typedef struct {
    const search *c;
    const int *left; /* features present */
    size_t n_left, first, piece;
} removals;

static void choose_removal(void *ctx, size_t i, unsigned char *present) {
    const removals *r = (const removals *)ctx;
    size_t from = r->first + i * r->piece;
    memset(present, 0, r->c->v->features.n);
    for (size_t k = 0; k < r->n_left; k++)
        present[r->left[k]] = k < from || k >= from + r->piece;
}

/* How far pruning is, of 1: half of the first rounds' work is in pieces of one feature, a quarter in
 * those of two, and so on; of rounds that are made again, nobody knows how many follow. */
static double share_pruned(double of_round, size_t piece, int again) {
    if (again)
        return 1 - ldexp(0.25 * (2 - of_round), -again);
    return 0.75 * (1 + of_round) / (2 * (double)piece);
}

/* A round: the pieces are that large, and it is made for the so-manieth time. */
typedef struct {
    size_t piece, dropped;
    int again;
} pruning;

/* Go through left[0..*n) in pieces and drop each that is not needed. The more in a row are needed,
 * the more of the next are tried together; the first that can go goes, the others are tried again. */
static int drop_pieces(search *c, int *left, size_t *n, pruning *p) {
    double margins[TRIES];
    size_t at = 0, needed = 0, piece = p->piece;
    p->dropped = 0;
    while (at < *n) {
        size_t pieces = (*n - at + piece - 1) / piece, tries = pieces < TRIES ? pieces : TRIES,
               k = 0;
        tries = tries < needed + 1 ? tries : needed + 1;
        removals r = {c, left, *n, at, piece};
        double done = share_pruned((double)at / (double)*n, piece, p->again);
        say_done(c, SELECTED + (PRUNED - SELECTED) * done);
        int error = sis__scorer_margins(
            c->v, &(sis__copies){.n = tries, .choose = choose_removal, .ctx = &r}, margins);
        if (error != SIS_OK)
            return error;
        while (k < tries && !sis__scorer_decided(c->v, margins[k]))
            k++;
        at += k * piece;
        needed = k < tries ? 0 : needed + k;
        if (k == tries)
            continue;
        size_t size = *n - at < piece ? *n - at : piece;
        memmove(left + at, left + at + size, (*n - at - size) * sizeof *left);
        *n -= size;
        p->dropped += size;
    }
    return SIS_OK;
}

/* Drop pieces, halving their size, until few enough are left for exact selection; at size one,
 * until every single feature is needed. */
static int prune(search *c, int *left, size_t *n) {
    pruning p = {.piece = 1};
    while (p.piece * 2 < *n)
        p.piece *= 2;
    while (*n > c->most) {
        int error = drop_pieces(c, left, n, &p);
        if (error != SIS_OK || (p.piece == 1 && p.dropped == 0))
            return error;
        p.again += p.piece == 1;
        p.piece = p.piece > 1 ? p.piece / 2 : 1;
    }
    return SIS_OK;
}

/* The progress of exact selection. */
static int report_exact(void *ctx, const sis_progress *p) {
    search *c = (search *)ctx;
    say_done(c, PRUNED + (1 - PRUNED) * p->walk);
    sis_progress all = {.evaluations = p->evaluations, .walk = c->v->fraction};
    return sis__scorer_inside(c->v, &all);
}

/* The options of exact selection; its limits are what is left of those of the whole. */
static sis_opt exact_options(search *c) {
    sis_opt opt = *c->v->opt;
    double left = opt.time_limit - (sis__seconds() - c->v->began);
    opt.max_subsets = 1;
    opt.early_stop = 0;
    if (opt.time_limit > 0)
        opt.time_limit = left > 1e-6 ? left : 1e-6;
    if (opt.max_evaluations) /* of which there are some, or the last question would have said so */
        opt.max_evaluations -= c->v->evaluations;
    opt.progress = report_exact;
    opt.progress_ctx = c;
    opt.progress_every = 0;
    return opt;
}

/* Exact backward selection inside left[0..n). */
static int select_exactly(search *c, const int *left, size_t n, sis_subset *out) {
    sis_collection found;
    sis_input inside = *c->v->in;
    sis_opt opt = exact_options(c);
    memset(c->present, 1, c->v->features.n);
    for (size_t k = 0; k < n; k++)
        c->present[left[k]] = 0;
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

/* A subset of left[0..n), which is masked-first, as it is. */
static int take_all(search *c, const int *left, size_t n, sis_subset *out) {
    double margin;
    say_done(c, 1);
    memset(c->present, 0, c->v->features.n);
    out->features = SIS_NEW_RAW(int, n);
    if (!out->features)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < n; k++) {
        out->features[k] = left[n - 1 - k];
        c->present[left[k]] = 1;
    }
    out->n = n;
    int error = sis__scorer_margin(c->v, c->present, &margin);
    out->score = error == SIS_OK ? sis__scorer_score(c->v, margin) : 0;
    return error;
}

/* Before pruning changes it. */
static void keep_first(search *c) {
    for (c->n_first = 0; c->n_first < c->n_order; c->n_first++)
        c->first[c->n_first] = c->order[c->n_order - 1 - c->n_first];
}

static int find_subset(search *c, sis_subset *out) {
    size_t last = 0, n;
    int enough = 0, error = select_backwards(c, &last);
    while (error == SIS_OK && !enough) { /* where slopes come with other scores than predictions */
        error = enough_from(c, last, &enough);
        if (error == SIS_OK && !enough && last == 0)
            return sis__fail_unstable(NAN, NAN);
        last = enough ? last : last > c->step ? last - c->step : 0;
    }
    if (c->first && !c->n_found)
        keep_first(c);
    int *left = c->order + last;
    n = c->n_order - last;
    if (error == SIS_OK)
        error = prune(c, left, &n);
    if (error != SIS_OK)
        return error;
    error = n <= c->most ? select_exactly(c, left, n, out) : take_all(c, left, n, out);
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
static size_t most_selected(const sis__masked_scorer *v) {
    int walks = v->features.n > MOST_PASSED && has_walk(v);
    double size = (double)(v->in->n_values * v->features.n_samples);
    double most = sqrt(2 * (walks ? WORK_WALKED : WORK_PASSED) / size);
    double limit = walks ? MOST_WALKED : MOST_PASSED;
    return (size_t)(most < limit ? most : limit);
}

static int search_init(search *c, sis__masked_scorer *v, const sis_method_opt *how) {
    *c = (search){.v = v, .step = how->step < v->features.n ? how->step : v->features.n};
    c->most = most_selected(v);
    c->n_wanted = v->opt->max_subsets ? v->opt->max_subsets : 1;
    int error = sis__gradient_points_init(&c->at, v, "gradient");
    if (error != SIS_OK)
        return error;
    c->now = (double *)sis__alloc_raw(v->features.n_samples, c->at.width * sizeof(double));
    c->d_now = (double *)sis__alloc_raw(v->features.n_samples, c->at.width * sizeof(double));
    c->scores = SIS_NEW(double, v->features.n_samples);
    c->value = SIS_NEW(double, v->features.n);
    c->gone = SIS_NEW(unsigned char, v->features.n);
    c->masked = SIS_NEW(unsigned char, v->features.n);
    c->present = SIS_NEW(unsigned char, v->features.n);
    c->live = SIS_NEW(int, v->features.n);
    c->heap = SIS_NEW(int, c->step);
    c->order = SIS_NEW(int, v->features.n);
    c->first = how->trace ? SIS_NEW(int, v->features.n) : NULL;
    if (!c->now || !c->d_now || !c->scores || !c->value || !c->gone || !c->masked || !c->present ||
        !c->live || !c->heap || !c->order || (how->trace && !c->first))
        return SIS_E_NOMEM;
    for (size_t f = 0; f < v->features.n; f++)
        c->gone[f] = v->features.absent[f] || v->features.same[f];
    return SIS_OK;
}

static void search_release(search *c) {
    sis__gradient_points_release(&c->at);
    free(c->now);
    free(c->d_now);
    free(c->scores);
    free(c->value);
    free(c->gone);
    free(c->masked);
    free(c->present);
    free(c->live);
    free(c->heap);
    free(c->order);
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
