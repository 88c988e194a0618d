/* SPDX-License-Identifier: MIT
 *
 * SIScollection: run backward selection, take the shortest sufficient suffix of the order as a
 * subset, mask it, and repeat with the remaining features until they no longer reach the threshold.
 *
 * The walk only proposes. Everything reported was decided by full passes (the judge):
 *   (1) the subset alone reaches the threshold,
 *   (2) without any one of its features it does not (Proposition 1),
 *   (3) everything without the whole collection does not (Proposition 2).
 * Walk and judge disagree only within rounding error of the threshold. Then the subset grows along
 * the order until (1) holds, and loses its least needed feature until (2) holds. The batch walk is
 * its own judge and caches scores, so these checks are free. At the end again.c checks that the model
 * is deterministic.
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

/* State of a search. */
typedef struct {
    const sis_opt *opt;
    sis_walk_state *s;
    sis_collection *out;
    unsigned char *gone;   /* (n) absent, or in a subset already found */
    unsigned char *others; /* (n) scratch: all features outside a subset */
    int *sorted;           /* (n) scratch: a subset, ascending */
    double *margins;       /* (n) scratch */
    double *walked;        /* (n) margins of the current backward selection */
    size_t cap;            /* capacity of subsets */
} search;

static int decided(const search *c, double margin) {
    return sis_decided(sis__score(c->s, margin), c->opt->threshold, c->opt->below);
}

/* Full pass with only these features present. */
static int judge_only(search *c, const int *features, size_t n, double *margin) {
    memset(c->others, 1, c->s->features.n);
    for (size_t i = 0; i < n; i++)
        c->others[features[i]] = 0;
    return sis__judge_reset(c->s, c->others, margin);
}

/* The size of the subset according to the trace. Asks the judge where a margin is too close to the
 * threshold. */
static int propose_size(search *c, const sis_trace *t, const int *last_first, size_t *size) {
    for (*size = 1; *size < t->n; (*size)++) {
        double margin = c->walked[t->n - 1 - *size];
        int error =
            sis__unsure(c->s, c->opt, margin) ? judge_only(c, last_first, *size, &margin) : SIS_OK;
        if (error != SIS_OK)
            return error;
        if (decided(c, margin))
            break;
    }
    return SIS_OK;
}

/* The feature that the subset needs least: masking it leaves the best margin. */
static int min_needed(search *c, const int *features, size_t n, int *feature, double *margin) {
    memcpy(c->sorted, features, n * sizeof *features);
    qsort(c->sorted, n, sizeof *c->sorted, sis__by_int);
    int error = sis__judge_probe(c->s, c->sorted, n, c->margins);
    size_t best = 0;
    for (size_t i = 1; error == SIS_OK && i < n; i++)
        if (c->opt->below ? c->margins[i] < c->margins[best] : c->margins[i] > c->margins[best])
            best = i;
    *feature = c->sorted[best];
    *margin = c->margins[best];
    return error;
}

static void drop(int *features, size_t *n, int feature) {
    size_t at = 0;
    while (features[at] != feature)
        at++;
    memmove(features + at, features + at + 1, (*n - at - 1) * sizeof *features);
    (*n)--;
}

/* Adjust *n until (1) and (2) hold for the first *n of `features`, which has `max` entries. */
static int fit_subset(search *c, int *features, size_t max, size_t *n, double *score) {
    double margin, without;
    int weakest, error;
    for (;;) {
        error = judge_only(c, features, *n, &margin);
        if (error != SIS_OK)
            return error;
        if (decided(c, margin))
            break;
        if (*n >= max)
            return sis__fail_unstable(NAN, NAN);
        (*n)++;
    }
    for (;;) {
        error = min_needed(c, features, *n, &weakest, &without);
        if (error != SIS_OK || !decided(c, without))
            break;
        if (*n == 1)
            return sis__fail_unstable(NAN, NAN); /* the mask alone did not reach it before */
        drop(features, n, weakest);
        error = judge_only(c, features, *n, &margin);
        if (error != SIS_OK)
            break;
    }
    *score = sis__score(c->s, margin);
    return error;
}

/* The features that remain after the first `masked` ones of the order, ascending. */
static size_t gather_left(search *c, const sis_trace *t, size_t masked, int *features) {
    size_t n = 0, p = c->s->features.n;
    memcpy(c->others, c->gone, p);
    for (size_t k = 0; k < masked; k++)
        c->others[t->order[k]] = 1;
    for (size_t i = 0; i < p; i++)
        if (!c->others[i])
            features[n++] = (int)i;
    return n;
}

/* After an early stop the remaining features have no order. Rank them by the effect of masking each
 * one, as the last probe measured it. */
static int rank_left(search *c, const sis_trace *t, int *features, size_t *n) {
    double margin;
    size_t left = gather_left(c, t, t->n ? t->n - 1 : 0, features);
    *n = left;
    int error = judge_only(c, features, left, &margin);
    if (error == SIS_OK)
        error = sis__judge_probe(c->s, features, left, c->margins);
    /* Insertion sort: most needed first; among equals, the higher number first. */
    double sign = c->opt->below ? -1 : 1;
    for (size_t i = 1; error == SIS_OK && i < left; i++) {
        int f = features[i];
        double m = c->margins[i];
        size_t k = i;
        for (; k > 0 && sign * c->margins[k - 1] >= sign * m; k--) {
            c->margins[k] = c->margins[k - 1];
            features[k] = features[k - 1];
        }
        c->margins[k] = m;
        features[k] = f;
    }
    return error;
}

/* A limit has ended the selection: keep the features that remained when a full pass last reached
 * the threshold. That holds at least for the state before anything was masked. */
static int keep_bound(search *c, sis_trace *t, int *features) {
    sis_subset *bound = &c->out->bound;
    size_t n = 0, masked = t->n;
    double margin = 0;
    int error = SIS_OK;
    c->s->limited = c->s->cut = 0;
    for (;; masked--) {
        if (masked > 0 && !decided(c, c->walked[masked - 1]))
            continue;
        n = gather_left(c, t, masked, features);
        error = judge_only(c, features, n, &margin);
        if (error != SIS_OK || decided(c, margin) || masked == 0)
            break;
    }
    if (error != SIS_OK)
        return error;
    *bound =
        (sis_subset){.n = n, .features = features, .score = sis__score(c->s, margin), .trace = *t};
    c->out->status = SIS_STATUS_CUT;
    return decided(c, margin) && n > 0 ? SIS_OK : sis__fail_unstable(NAN, NAN);
}

/* One backward selection over the features that are not gone, and its subset. */
static int find_subset(search *c, sis_subset *out) {
    sis_trace t = {0};
    int *features = SIS_NEW_RAW(int, c->s->features.n);
    int error = features ? sis_walk_reset(c->s->walk, c->gone) : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = sis__backselect(c->s, c->opt, &t, c->walked);
    size_t n = 0, max = 0;
    if (error != SIS_OK) {
        max = 0;
    } else if (c->opt->early_stop) {
        error = rank_left(c, &t, features, &max);
        n = max;
    } else {
        max = t.n;
        for (size_t k = 0; k < max; k++)
            features[k] = t.order[max - 1 - k];
        error = propose_size(c, &t, features, &n);
    }
    if (error == SIS_OK)
        error =
            max > 0 ? fit_subset(c, features, max, &n, &out->score) : sis__fail_unstable(NAN, NAN);
    if (error != SIS_OK && c->s->cut) {
        error = keep_bound(c, &t, features);
        if (c->out->bound.features)
            return error; /* the subset owns both now, even if nothing is left of it */
    }
    if (error != SIS_OK) {
        free(features);
        sis_trace_release(&t);
        return error;
    }
    out->n = n;
    out->features = features;
    out->trace = t;
    return SIS_OK;
}

static int add_subset(search *c) {
    sis_collection *out = c->out;
    int error = sis__reserve(&out->subsets, &c->cap, out->n_subsets + 1, sizeof *out->subsets);
    if (error == SIS_OK) {
        sis_subset *s = &out->subsets[out->n_subsets];
        *s = (sis_subset){0};
        error = find_subset(c, s);
        if (error != SIS_OK || out->status == SIS_STATUS_CUT)
            return error;
        out->n_subsets++;
        for (size_t i = 0; i < s->n; i++)
            c->gone[s->features[i]] = 1;
    }
    return error;
}

/* Score the input and the fully masked input, and decide whether there is anything to explain. */
static int begin(search *c) {
    sis_collection *out = c->out;
    double margin, masked;
    int error = sis__judge_reset(c->s, c->gone, &margin);
    if (error == SIS_OK)
        error = judge_only(c, NULL, 0, &masked);
    if (error != SIS_OK)
        return error;
    out->score = out->rest_score = sis__score(c->s, margin);
    out->masked_score = sis__score(c->s, masked);
    out->status = !decided(c, margin)  ? SIS_STATUS_NOT_DECIDED
                  : decided(c, masked) ? SIS_STATUS_DEFAULT_DECISION
                                       : SIS_STATUS_EXPLAINED;
    out->complete = out->status == SIS_STATUS_NOT_DECIDED;
    return SIS_OK;
}

static int run(search *c) {
    sis_collection *out = c->out;
    int error = begin(c);
    if (error != SIS_OK || out->status != SIS_STATUS_EXPLAINED)
        return error;
    do {
        double rest;
        c->s->limited = 1;
        error = add_subset(c);
        if (error != SIS_OK || out->status == SIS_STATUS_CUT)
            return error;
        c->s->limited = 0; /* limits do not apply to the final checks */
        error = sis__judge_reset(c->s, c->gone, &rest);
        if (error != SIS_OK)
            return error;
        out->rest_score = sis__score(c->s, rest);
        out->complete = !decided(c, rest);
    } while (!out->complete && out->n_subsets != c->opt->max_subsets);
    return SIS_OK;
}

int sis_collect(const sis_model *model, const sis_input *input, const sis_opt *given,
                sis_collection *out) {
    double began = sis__seconds();
    *out = (sis_collection){0};
    sis_opt opt;
    sis_walk *walk;
    int error = sis__opt_take(given, &opt);
    if (error == SIS_OK)
        error = sis_walk_new(model, input, &opt, &walk);
    if (error != SIS_OK)
        return error;
    size_t n = walk->state->features.n;
    search c = {.opt = &opt, .s = walk->state, .out = out};
    c.s->collecting = 1;
    c.gone = (unsigned char *)sis__copy(walk->state->features.absent, n, 1);
    c.others = SIS_NEW(unsigned char, n);
    c.sorted = SIS_NEW(int, n);
    c.margins = SIS_NEW(double, n);
    c.walked = SIS_NEW(double, n);
    out->n_features = n;
    error = c.gone && c.others && c.sorted && c.margins && c.walked ? run(&c) : SIS_E_NOMEM;
    out->verified = 1;
    out->evaluations = sis__evaluations(walk->state);
    free(c.gone);
    free(c.others);
    free(c.sorted);
    free(c.margins);
    free(c.walked);
    sis_walk_free(walk);
    if (error == SIS_OK)
        error = sis__ask_again(model, input, &opt, out);
    if (error == SIS_OK)
        sis__progress_end(&opt, out->evaluations);
    out->seconds = sis__seconds() - began;
    if (error != SIS_OK)
        sis_collection_release(out);
    return error;
}

void sis_collection_release(sis_collection *c) {
    if (!c)
        return;
    for (size_t i = 0; i < c->n_subsets; i++) {
        free(c->subsets[i].features);
        sis_trace_release(&c->subsets[i].trace);
    }
    free(c->subsets);
    free(c->bound.features);
    sis_trace_release(&c->bound.trace);
    free(c->message);
    *c = (sis_collection){0};
}
