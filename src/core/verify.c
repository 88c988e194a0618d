/* SPDX-License-Identifier: MIT
 *
 * The audit of a collection, by full passes only: are its subsets disjoint, sufficient and minimal
 * (no single feature can go), and do the remaining features fall short of the threshold? For small
 * subsets it also answers the stronger question that backward selection only approximates: is any
 * proper subset sufficient?
 *
 * A collection about a noisy model states its noise: the largest difference between two answers to one question. Two
 * answers that are each within the noise of a third differ by at most twice as much, so that is what scores may
 * differ by. A claim that is contradicted by less is not refuted, but counted (within_noise).
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/walk.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "core/core.h"

typedef struct {
    const sis_opt *opt;
    sis_walk_state *s;
    const sis_collection *claim;
    sis_audit *out;
    unsigned char *masked; /* (n) scratch */
    unsigned char *gone;   /* (n) absent or in a subset seen so far */
    int *present;          /* (n) scratch */
    double *margins;       /* (n) scratch */
} auditor;

static int reached(const auditor *a, double score) {
    return sis_decided(score, a->opt->threshold, a->opt->below);
}

/* Record the first claim that is false. */
__attribute__((format(printf, 2, 3))) static void refute(auditor *a, const char *format, ...) {
    if (!a->out->holds)
        return;
    a->out->holds = 0;
    va_list args;
    va_start(args, format);
    sis__vformat(a->out->reason, sizeof a->out->reason, format, args);
    va_end(args);
}

static double noise_of(const auditor *a) {
    return a->s->model->noisy ? 2 * a->claim->noise : 0;
}

/* The claimed score must equal the one found, except for noise and rounding: the model may run on another
 * machine now. */
static void compare(auditor *a, const char *what, double claimed, double found) {
    if (fabs(claimed - found) > noise_of(a) + 1e-4 * (1 + fabs(found)) || isnan(claimed))
        refute(a, "%s: claimed %.9g, found %.9g", what, claimed, found);
}

/* Is it so that a score does, or does not, reach the threshold, but for noise? */
static int agrees(auditor *a, double score, int reaches) {
    if (reached(a, score) == reaches)
        return 1;
    int close = noise_of(a) > 0 && fabs(score - a->opt->threshold) <= noise_of(a);
    a->out->within_noise += (size_t)close;
    return close;
}

static int score_of(auditor *a, const unsigned char *masked, double *score) {
    double margin;
    int error = sis__judge_reset(a->s, masked, &margin);
    *score = error == SIS_OK ? sis__score(a->s, margin) : 0;
    return error;
}

/* Keep a sufficient proper subset if it is smaller than the one found before. */
static void note_smaller(const sis_subset *s, size_t chosen, sis_subset_audit *out) {
    size_t n = (size_t)__builtin_popcountll(chosen);
    if (n == 0 || (out->n_smaller && out->n_smaller <= n))
        return;
    out->n_smaller = 0;
    for (size_t i = 0; i < s->n; i++)
        if (chosen >> i & 1)
            out->smaller[out->n_smaller++] = s->features[i];
}

/* Test every subset of `chosen` (a bit per position in s) that lacks one or more positions from
 * `from` on. Each subset is reached in only one way: by removing positions in ascending order. */
static int search_smaller(auditor *a, const sis_subset *s, size_t chosen, size_t from,
                          sis_subset_audit *out) {
    double margin, margins[16];
    int features[16];
    memset(a->masked, 1, a->s->features.n);
    for (size_t i = 0; i < s->n; i++)
        if (chosen >> i & 1)
            a->masked[s->features[i]] = 0;
    for (size_t i = from; i < s->n; i++)
        features[i] = s->features[i];
    int error = sis__judge_reset(a->s, a->masked, &margin);
    if (error == SIS_OK)
        error = sis__judge_probe(a->s, features + from, s->n - from, margins + from);
    for (size_t i = from; error == SIS_OK && i < s->n; i++) {
        size_t less = chosen & ~((size_t)1 << i);
        if (reached(a, sis__score(a->s, margins[i])))
            note_smaller(s, less, out);
        if (i + 1 < s->n)
            error = search_smaller(a, s, less, i + 1, out);
    }
    return error;
}

/* The best score with one feature of the subset masked as well; the judge is at the subset. */
static int probe_one_less(auditor *a, double *best) {
    size_t n = 0, p = a->s->features.n;
    for (size_t i = 0; i < p; i++)
        if (!a->masked[i])
            a->present[n++] = (int)i;
    int error = sis__judge_probe(a->s, a->present, n, a->margins);
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        double score = sis__score(a->s, a->margins[i]);
        if (i == 0 || (a->opt->below ? score < *best : score > *best))
            *best = score;
    }
    return error;
}

static int audit_subset(auditor *a, size_t k) {
    const sis_subset *s = &a->claim->subsets[k];
    sis_subset_audit *out = &a->out->subsets[k];
    if (s->n == 0) {
        refute(a, "subset %zu is empty", k);
        return SIS_OK;
    }
    for (size_t i = 0; i < s->n; i++) {
        int f = s->features[i];
        if (f < 0 || (size_t)f >= a->s->features.n)
            return sis__fail(SIS_E_ARGUMENT, "subset %zu names feature %d; the input has 0 to %zu",
                             k, f, a->s->features.n - 1);
        if (a->gone[f])
            refute(a, "subset %zu: feature %d is absent or in an earlier subset", k, f);
        a->gone[f] = 1;
    }
    memset(a->masked, 1, a->s->features.n);
    for (size_t i = 0; i < s->n; i++)
        a->masked[s->features[i]] = 0;
    int error = score_of(a, a->masked, &out->score);
    if (error == SIS_OK)
        error = probe_one_less(a, &out->best_without_one);
    if (error != SIS_OK)
        return error;
    char what[48];
    snprintf(what, sizeof what, "the score of subset %zu", k);
    compare(a, what, s->score, out->score);
    out->sufficient = reached(a, out->score);
    out->minimal = !reached(a, out->best_without_one);
    if (a->claim->claim != SIS_CLAIM_NOTHING && !agrees(a, out->score, 1))
        refute(a, "subset %zu alone scores %.9g and does not meet the threshold %.9g", k,
               out->score, a->opt->threshold);
    else if (a->claim->claim == SIS_CLAIM_MINIMAL && !agrees(a, out->best_without_one, 0))
        refute(a, "subset %zu meets the threshold without one of its features (%.9g)", k,
               out->best_without_one);
    if (s->n > a->opt->exhaustive)
        return SIS_OK;
    out->exhaustive = 1;
    out->smaller = SIS_NEW(int, s->n);
    return out->smaller ? search_smaller(a, s, ((size_t)1 << s->n) - 1, 0, out) : SIS_E_NOMEM;
}

/* For a collection that was cut short: are the remaining features sufficient? */
static int audit_bound(auditor *a) {
    const sis_subset *s = &a->claim->bound;
    double score;
    memset(a->masked, 1, a->s->features.n);
    for (size_t i = 0; i < s->n; i++) {
        if (s->features[i] < 0 || (size_t)s->features[i] >= a->s->features.n)
            return sis__fail(SIS_E_ARGUMENT, "the bound names feature %d; the input has 0 to %zu",
                             s->features[i], a->s->features.n - 1);
        a->masked[s->features[i]] = 0;
    }
    int error = score_of(a, a->masked, &score);
    if (error != SIS_OK)
        return error;
    compare(a, "the score of the bound", s->score, score);
    if (!agrees(a, score, 1))
        refute(a, "the bound alone scores %.9g and does not meet the threshold %.9g", score,
               a->opt->threshold);
    return SIS_OK;
}

/* What the scores found here say; where noise leaves it open, the claim. */
static sis_status true_status(auditor *a) {
    sis_status claimed = a->claim->status;
    int decided = claimed != SIS_STATUS_NOT_DECIDED,
        by_default = claimed == SIS_STATUS_DEFAULT_DECISION;
    decided = agrees(a, a->out->score, decided) ? decided : !decided;
    if (!decided)
        return SIS_STATUS_NOT_DECIDED;
    if (claimed == SIS_STATUS_NOT_DECIDED)
        by_default = reached(a, a->out->masked_score);
    by_default = agrees(a, a->out->masked_score, by_default) ? by_default : !by_default;
    return by_default ? SIS_STATUS_DEFAULT_DECISION : SIS_STATUS_EXPLAINED;
}

static int audit(auditor *a) {
    const sis_collection *claim = a->claim;
    memset(a->masked, 1, a->s->features.n);
    int error = score_of(a, a->gone, &a->out->score);
    if (error == SIS_OK)
        error = score_of(a, a->masked, &a->out->masked_score);
    if (error != SIS_OK)
        return error;
    sis_status status = true_status(a);
    if (claim->status == SIS_STATUS_CUT && status == SIS_STATUS_EXPLAINED)
        status = SIS_STATUS_CUT;
    if (claim->status != status)
        refute(a,
               "status: found \"%s\", claimed \"%s\" (score %.9g, all "
               "masked %.9g)",
               sis_status_name(status), sis_status_name(claim->status), a->out->score,
               a->out->masked_score);
    compare(a, "the score", claim->score, a->out->score);
    compare(a, "the masked score", claim->masked_score, a->out->masked_score);
    if (claim->n_features != a->s->features.n)
        refute(a, "number of features: claimed %zu, found %zu", claim->n_features,
               a->s->features.n);
    if (claim->status == SIS_STATUS_EXPLAINED && claim->n_subsets == 0)
        refute(a, "status is \"explained\", but there is no subset");
    for (size_t k = 0; error == SIS_OK && k < claim->n_subsets; k++)
        error = audit_subset(a, k);
    if (error == SIS_OK)
        error = score_of(a, a->gone, &a->out->rest_score);
    a->out->complete = error == SIS_OK && !reached(a, a->out->rest_score);
    if (error == SIS_OK && claim->n_subsets > 0)
        compare(a, "the score of the rest", claim->rest_score, a->out->rest_score);
    if (error == SIS_OK && claim->bound.n)
        error = audit_bound(a);
    if (error == SIS_OK && claim->complete && !agrees(a, a->out->rest_score, 0))
        refute(a, "the rest still meets the threshold (%.9g)", a->out->rest_score);
    return error;
}

int sis_verify(const sis_model *model, const sis_input *input, const sis_opt *given,
               const sis_collection *claim, sis_audit *out) {
    *out = (sis_audit){.holds = 1};
    sis_opt opt;
    sis_walk *walk;
    int error = sis__opt_take(given, &opt);
    opt.exact = 1;
    if (error == SIS_OK)
        error = SIS__RESERVED_CHECK(sis_collection, claim);
    if (error == SIS_OK)
        error = sis_walk_new(model, input, &opt, &walk);
    if (error != SIS_OK)
        return error;
    size_t n = walk->state->features.n;
    auditor a = {.opt = &opt, .s = walk->state, .claim = claim, .out = out};
    a.masked = SIS_NEW(unsigned char, n);
    a.gone = (unsigned char *)sis__copy(walk->state->features.absent, n, 1);
    a.present = SIS_NEW(int, n);
    a.margins = SIS_NEW(double, n);
    out->subsets = SIS_NEW(sis_subset_audit, claim->n_subsets);
    out->n_subsets = out->subsets ? claim->n_subsets : 0;
    error = a.masked && a.gone && a.present && a.margins && out->subsets ? audit(&a) : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = sis__model_confirm(model, input->values, input->n_values);
    out->evaluations = sis__evaluations(walk->state);
    free(a.masked);
    free(a.gone);
    free(a.present);
    free(a.margins);
    sis_walk_free(walk);
    if (error != SIS_OK)
        sis_audit_release(out);
    return error;
}

typedef struct {
    const sis_input *inputs;
    const sis_collection *claims;
    sis_audit *out;
    sis_opt opt;
    sis__model_per_thread each;
} audits;

static int verify_one(void *ctx, size_t i, int worker) {
    audits *j = (audits *)ctx;
    int error =
        sis_verify(&j->each.models[worker], &j->inputs[i], &j->opt, &j->claims[i], &j->out[i]);
    return error == SIS_OK ? SIS_OK
                           : sis__example_fail(error, j->inputs, i, "%s", sis_error_detail());
}

int sis_verify_many(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                    const sis_collection *claims, sis_audit *out) {
    audits j = {.inputs = inputs, .claims = claims, .out = out};
    memset(out, 0, n * sizeof *out);
    int error = sis__opt_copy(opt, &j.opt);
    j.opt.progress = NULL;
    if (error == SIS_OK)
        error = sis__model_per_thread_init(model, j.opt.jobs, n, &j.each);
    if (error == SIS_OK)
        error = sis__parallel(j.each.n, n, verify_one, &j);
    sis__model_per_thread_release(&j.each);
    for (size_t i = 0; error != SIS_OK && i < n; i++)
        sis_audit_release(&out[i]);
    return error;
}

void sis_audit_release(sis_audit *a) {
    if (!a)
        return;
    for (size_t i = 0; i < a->n_subsets; i++) {
        free(a->subsets[i].smaller);
        free(a->subsets[i].examples);
        free(a->subsets[i].example_scores);
    }
    free(a->subsets);
    *a = (sis_audit){0};
}
