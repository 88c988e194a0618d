/* SPDX-License-Identifier: MIT
 *
 * Is the model a function of its input? Before a collection is reported, the model is asked again
 * about what it claims: the input, everything masked, each subset alone, the rest. A model with
 * dropout left on, one that samples, or a server with noise answers differently, and then nothing
 * that was found can be relied on.
 *
 *   - The input and the fully masked input are asked as they were before, each in a call of its own.
 *     Both answers must be equal, but for rounding (SLACK).
 *   - Subsets and the rest may have been asked in a larger batch before, and some runtimes round
 *     differently then (BATCH_SLACK, as in an audit). Their decision must be the same.
 *   - If any answer differs, even in its last digit, every claim must hold by more than the largest
 *     difference; then the subsets without each one of their features are asked again, too.
 *
 * Models with a walk of their own (networks and trees that the library runs) are functions by
 * construction and are not asked again. Cost for others: 3 questions, and one for each subset.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "core/core.h"

/* Differences that are rounding, as a share of the largest score. */
static const double SLACK = 1e-6, BATCH_SLACK = 1e-4;

typedef struct {
    const sis_opt *opt;
    sis_walk_state *s;
    unsigned char *masked; /* (n) */
    double scale, noise;   /* the largest score met; the largest difference met */
    size_t before;         /* evaluations until now */
} asker;

static int decided(const asker *a, double score) {
    return sis_decided(score, a->opt->threshold, a->opt->below);
}

/* Evaluations go on counting where the search ended. */
static int report(void *ctx, const sis_progress *p) {
    const asker *a = (const asker *)ctx;
    sis_progress now = *p;
    now.evaluations += a->before;
    now.walk = 1;
    return a->opt->progress(a->opt->progress_ctx, &now);
}

/* The score with exactly a->masked masked, again; `first` is what it was. */
static int ask(asker *a, double first, int as_before) {
    double margin;
    int error = sis__judge_reset(a->s, a->masked, &margin);
    if (error != SIS_OK)
        return error;
    double again = sis__score(a->s, margin), difference = again == first ? 0 : fabs(again - first);
    a->scale = fmax(a->scale, fmax(fabs(first), fabs(again)));
    a->noise = fmax(a->noise, difference);
    if (!(difference <= (as_before ? SLACK : BATCH_SLACK) * a->scale) ||
        decided(a, again) != decided(a, first))
        return sis__fail_unstable(first, again);
    return SIS_OK;
}

static void mask_all_but(asker *a, const sis_subset *s) {
    memset(a->masked, 1, a->s->features.n);
    for (size_t i = 0; i < s->n; i++)
        a->masked[s->features[i]] = 0;
}

static int ask_about(asker *a, const sis_collection *c) {
    memcpy(a->masked, a->s->features.absent, a->s->features.n);
    int error = ask(a, c->score, 1);
    memset(a->masked, 1, a->s->features.n);
    if (error == SIS_OK)
        error = ask(a, c->masked_score, 1);
    for (size_t k = 0; error == SIS_OK && k < c->n_subsets; k++) {
        mask_all_but(a, &c->subsets[k]);
        error = ask(a, c->subsets[k].score, 0);
    }
    if (error == SIS_OK && c->bound.n) {
        mask_all_but(a, &c->bound);
        error = ask(a, c->bound.score, 0);
    }
    if (error != SIS_OK || c->n_subsets == 0)
        return error;
    memcpy(a->masked, a->s->features.absent, a->s->features.n);
    for (size_t k = 0; k < c->n_subsets; k++)
        for (size_t i = 0; i < c->subsets[k].n; i++)
            a->masked[c->subsets[k].features[i]] = 1;
    return ask(a, c->rest_score, 0);
}

/* Would the decision be another one within the noise? */
static int check_clear(const asker *a, double score) {
    if (decided(a, score - a->noise) == decided(a, score + a->noise))
        return SIS_OK;
    return sis__fail(
        SIS_E_UNSTABLE,
        "the model answers differently when it is asked again, by up to %.2g: too much for a "
        "score of %.9g at the threshold %.9g",
        a->noise, score, a->opt->threshold);
}

/* Without any one of its features the subset does not reach the threshold, by more than the noise. */
static int check_minimal(asker *a, const sis_subset *s) {
    double margin, *margins = SIS_NEW_RAW(double, s->n);
    int error = margins ? SIS_OK : SIS_E_NOMEM;
    mask_all_but(a, s);
    if (error == SIS_OK)
        error = sis__judge_reset(a->s, a->masked, &margin);
    if (error == SIS_OK)
        error = sis__judge_probe(a->s, s->features, s->n, margins);
    for (size_t i = 0; error == SIS_OK && i < s->n; i++) {
        double score = sis__score(a->s, margins[i]);
        error = decided(a, score) ? sis__fail_unstable(NAN, NAN) : check_clear(a, score);
    }
    free(margins);
    return error;
}

static int check_all_clear(asker *a, const sis_collection *c) {
    int error = check_clear(a, c->score);
    if (error == SIS_OK)
        error = check_clear(a, c->masked_score);
    for (size_t k = 0; error == SIS_OK && k < c->n_subsets && c->claim != SIS_CLAIM_NOTHING; k++) {
        error = check_clear(a, c->subsets[k].score);
        if (error == SIS_OK && c->claim == SIS_CLAIM_MINIMAL)
            error = check_minimal(a, &c->subsets[k]);
    }
    if (error == SIS_OK && c->bound.n)
        error = check_clear(a, c->bound.score);
    return error == SIS_OK && c->complete && c->n_subsets ? check_clear(a, c->rest_score) : error;
}

int sis__ask_again(const sis_model *model, const sis_input *input, const sis_opt *opt,
                   sis_collection *c) {
    if (model->walk_new && !opt->exact)
        return SIS_OK;
    asker a = {.opt = opt, .before = c->evaluations, .scale = fabs(opt->threshold)};
    sis_opt full = *opt;
    full.progress = opt->progress ? report : NULL;
    full.progress_ctx = &a;
    sis_walk *walk;
    int error = sis_walk_new(model, input, &full, &walk);
    if (error != SIS_OK)
        return error;
    a.s = walk->state;
    a.s->told = sis__seconds(); /* the search told it a moment ago */
    a.masked = SIS_NEW(unsigned char, a.s->features.n);
    error = a.masked ? ask_about(&a, c) : SIS_E_NOMEM;
    if (error == SIS_OK && a.noise > 0)
        error = check_all_clear(&a, c);
    c->evaluations += sis__evaluations(a.s);
    free(a.masked);
    sis_walk_free(walk);
    return error;
}
