/* SPDX-License-Identifier: MIT
 *
 * One decision explained by another method: status, attributions, order, the first features of the
 * order as the constraint asks, and scores by full passes. Then the same for many inputs on several
 * threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/texts.h"
#include "methods/methods.h"

/* ---- Options ------------------------------------------------------------------------------- */

const char *sis_method_name(sis_method method) {
    return SIS__TEXT_OF(SIS_METHODS, method);
}

const char *sis_preference_name(sis_preference prefer) {
    return SIS__TEXT_OF(SIS_PREFERENCES, prefer);
}

const char *sis_constraint_name(sis_constraint constraint) {
    return SIS__TEXT_OF(SIS_CONSTRAINTS, constraint);
}

void sis_method_opt_init(sis_method_opt *how) {
    *how = (sis_method_opt){
        .seed = 1, .samples = 5000, .width = 25, .ridge = 1, .steps = 300, .step = 1};
}

const char *sis_method_opt_check(const sis_method_opt *how) {
    if ((unsigned)how->method > SIS_METHOD_QUICK)
        return "unknown method";
    if ((unsigned)how->prefer > SIS_PREFER_NONE)
        return "there is no such preference";
    if ((unsigned)how->constraint > SIS_CONSTRAINT_TOP)
        return "unknown constraint";
    if (how->constraint == SIS_CONSTRAINT_TOP && how->method != SIS_METHOD_IG)
        return "the constraint top is for ig: only its attributions add up to the score";
    if (how->constraint != SIS_CONSTRAINT_SUFFICIENT && how->method >= SIS_METHOD_GRADIENT)
        return "it finds sufficient subsets: it takes no other constraint";
    if (how->order && (how->method == SIS_METHOD_GRADIENT || how->constraint == SIS_CONSTRAINT_TOP))
        return "an order that was found before fits the constraints sufficient and length only";
    if (how->samples < 2 || how->samples > 10000000)
        return "lime needs 2 to 10,000,000 samples";
    if (!(how->width > 0) || isinf(how->width) || !(how->ridge > 0) || isinf(how->ridge))
        return "lime needs a width and a ridge penalty above 0";
    if (how->steps < 1 || how->steps > 10000000)
        return "ig needs 1 to 10,000,000 steps";
    if (how->step < 1)
        return "gradient masks at least one feature a step";
    return NULL;
}

/* ---- Results ------------------------------------------------------------------------------- */

void sis_rationale_release(sis_rationale *r) {
    if (!r)
        return;
    sis_collection_release(&r->collection);
    free(r->attributions);
    sis_guarantee_release(&r->guarantee);
    *r = (sis_rationale){0};
}

double sis_rationale_error(const sis_rationale *r) {
    return fabs(r->sum - r->difference) / fabs(r->difference);
}

/* ---- One input ----------------------------------------------------------------------------- */

/* Score the input and the fully masked input, and decide whether there is anything to explain. */
static int begin(sis__masked_scorer *v, sis_collection *out) {
    unsigned char *present = SIS_NEW(unsigned char, v->features.n);
    double margin, masked;
    if (!present)
        return SIS_E_NOMEM;
    int error = sis__scorer_margin(v, present, &masked);
    memset(present, 1, v->features.n);
    if (error == SIS_OK)
        error = sis__scorer_margin(v, present, &margin);
    free(present);
    if (error != SIS_OK)
        return error;
    out->n_features = v->features.n;
    out->score = out->rest_score = sis__scorer_score(v, margin);
    out->masked_score = sis__scorer_score(v, masked);
    out->status = !sis__scorer_decided(v, margin)  ? SIS_STATUS_NOT_DECIDED
                  : sis__scorer_decided(v, masked) ? SIS_STATUS_DEFAULT_DECISION
                                                   : SIS_STATUS_EXPLAINED;
    out->complete = out->status == SIS_STATUS_NOT_DECIDED;
    return SIS_OK;
}

/* The score of all features that are in no subset. */
static int judge_rest(sis__masked_scorer *v, const unsigned char *gone, sis_collection *out) {
    unsigned char *present = SIS_NEW(unsigned char, v->features.n);
    double rest;
    for (size_t f = 0; present && f < v->features.n; f++)
        present[f] = !gone[f];
    int error = present ? sis__scorer_margin(v, present, &rest) : SIS_E_NOMEM;
    free(present);
    if (error == SIS_OK) {
        out->rest_score = sis__scorer_score(v, rest);
        out->complete = !sis__scorer_decided(v, rest);
    }
    return error;
}

int sis__disjoint(sis__masked_scorer *v, const sis__finder_of_subsets *f, sis_collection *out) {
    size_t cap = 0;
    int error = SIS_OK;
    while (error == SIS_OK && !out->complete && (!out->n_subsets || out->n_subsets != f->max)) {
        error = sis__reserve(&out->subsets, &cap, out->n_subsets + 1, sizeof *out->subsets);
        if (error != SIS_OK)
            break;
        sis_subset *s = &out->subsets[out->n_subsets++];
        *s = (sis_subset){0};
        error = f->find(f->ctx, s);
        for (size_t i = 0; error == SIS_OK && i < s->n; i++)
            f->gone[s->features[i]] = 1;
        if (error == SIS_OK)
            error = judge_rest(v, f->gone, out);
        if (error != SIS_OK && v->cut) { /* earlier subsets are complete */
            free(s->features);
            sis_trace_release(&s->trace);
            out->n_subsets--;
        }
    }
    return error;
}

static int rank_by_method(sis__masked_scorer *v, const sis_method_opt *how, sis__ranking *out) {
    switch (how->method) {
    case SIS_METHOD_PERTURB:
        return sis__perturb(v, out);
    case SIS_METHOD_IG:
        return sis__ig(v, how, out);
    case SIS_METHOD_LIME:
        return sis__lime(v, how, out);
    default:
        return sis__fail(SIS_E_ARGUMENT, "unknown method");
    }
}

static int rank(sis__masked_scorer *v, const sis_method_opt *how, sis__ranking *out) {
    int error = rank_by_method(v, how, out);
    for (size_t f = 0; error == SIS_OK && f < v->features.n; f++)
        if (!isfinite(out->attributions[f]) || isnan(out->importance[f]))
            error = sis__fail(SIS_E_NAN,
                              "the attribution of feature %zu is not a finite number; "
                              "scores and gradients must be finite",
                              f);
    return error;
}

/* The rank-th smallest size of the collection's subsets. */
static size_t size_of_rank(const sis_collection *c, size_t rank) {
    for (size_t k = 0; k < c->n_subsets; k++) {
        size_t size = c->subsets[k].n, smaller = 0, equal = 0;
        for (size_t i = 0; i < c->n_subsets; i++) {
            smaller += c->subsets[i].n < size;
            equal += c->subsets[i].n == size;
        }
        if (smaller <= rank && rank < smaller + equal)
            return size;
    }
    return 0;
}

size_t sis_collection_median(const sis_collection *c) {
    size_t n = c->n_subsets;
    if (n == 0)
        return 0;
    return (size_of_rank(c, (n - 1) / 2) + size_of_rank(c, n / 2) + 1) / 2;
}

static int median_length(sis__masked_scorer *v, size_t *length) {
    sis_collection c;
    sis_opt opt = *v->opt;
    opt.max_subsets = 0;
    opt.time_limit = 0; /* the limits apply to the whole search */
    opt.max_evaluations = 0;
    opt.progress = sis__scorer_inside;
    opt.progress_ctx = v;
    opt.progress_every = 0;
    int error = sis_collect(v->model, v->in, &opt, &c);
    if (error != SIS_OK)
        return error;
    *length = sis_collection_median(&c);
    v->evaluations += c.evaluations;
    sis_collection_release(&c);
    return *length ? SIS_OK
                   : sis__fail(SIS_E_MODEL,
                               "--constraint length: the input has no sufficient subset to "
                               "take the length from");
}

/* Result of a method. */
typedef struct {
    sis__ranking ranking;
    int *order; /* (n) most important first */
    size_t n;
} ranked;

/* The shortest prefix whose attributions add up to the goal; all features if none does. */
static size_t top_length(const ranked *r, double goal, int below) {
    double sum = 0;
    for (size_t k = 0; k < r->n; k++) {
        sum += r->ranking.attributions[r->order[k]];
        if (below ? sum <= goal : sum >= goal)
            return k + 1;
    }
    return r->n;
}

/* Number of features that the constraint asks for; `score` is that of the input. */
static int constrain(sis__masked_scorer *v, const sis_method_opt *how, const ranked *r,
                     double score, size_t *size) {
    int error = SIS_OK;
    double baseline = score - r->ranking.difference;
    switch (how->constraint) {
    case SIS_CONSTRAINT_SUFFICIENT:
        return sis__order_find(v, r->order, r->n, size);
    case SIS_CONSTRAINT_LENGTH:
        *size = how->length;
        if (*size == 0)
            error = median_length(v, size);
        *size = *size < r->n ? *size : r->n;
        return error;
    case SIS_CONSTRAINT_TOP:
        *size = top_length(r, v->opt->threshold - baseline, v->opt->below);
        return SIS_OK;
    }
    return sis__fail(SIS_E_ARGUMENT, "unknown constraint");
}

/* From attributions to the order. */
static int find_order(sis__masked_scorer *v, const sis_method_opt *how, sis_rationale *out,
                      ranked *r) {
    r->ranking.importance = SIS_NEW(double, v->features.n);
    r->ranking.attributions = out->attributions = SIS_NEW(double, v->features.n);
    int error =
        r->ranking.importance && out->attributions ? rank(v, how, &r->ranking) : SIS_E_NOMEM;
    if (error == SIS_OK)
        sis__order(v, r->ranking.importance, r->order, &r->n);
    out->sum = r->ranking.sum;
    out->difference = r->ranking.difference;
    return error;
}

/* From the order to the rationale. */
static int attribute(sis__masked_scorer *v, const sis_method_opt *how, sis_rationale *out) {
    static const double RANKED = 0.8, CONSTRAINED = 0.95; /* share of the work done */
    sis_collection *c = &out->collection;
    size_t size;
    sis__scorer_phase(v, RANKED);
    v->stretch = !how->order; /* for methods that score all their copies in one call */
    ranked r = {.ranking = {.sum = NAN, .difference = NAN},
                .order = SIS_NEW_RAW(int, v->features.n)};
    int error = !r.order     ? SIS_E_NOMEM
                : how->order ? sis__order_given(v, how, r.order, &r.n)
                             : find_order(v, how, out, &r);
    sis__scorer_phase(v, CONSTRAINED);
    if (error == SIS_OK)
        error = constrain(v, how, &r, c->score, &size);
    sis__scorer_phase(v, 1);
    if (error == SIS_OK)
        error = sis__order_subset(v, r.order, size, c);
    if (error == SIS_OK && how->trace)
        error = sis__order_trace(v, r.order, r.n, &c->subsets[0].trace);
    c->claim =
        how->constraint == SIS_CONSTRAINT_SUFFICIENT ? SIS_CLAIM_SUFFICIENT : SIS_CLAIM_NOTHING;
    free(r.order);
    free(r.ranking.importance);
    return error;
}

/* A limit was reached: keep scores and complete subsets, drop an unfinished rationale. */
static int keep_cut(sis_rationale *r, int subsets) {
    sis_collection *c = &r->collection, all = *c;
    free(r->attributions);
    r->attributions = NULL;
    r->sum = r->difference = NAN;
    c->status = SIS_STATUS_CUT;
    c->complete = 0;
    if (!subsets) {
        c->n_subsets = 0;
        c->subsets = NULL;
        c->rest_score = c->score;
        sis_collection_release(&all);
    }
    return SIS_OK;
}

int sis_explain(const sis_model *model, const sis_input *input, const sis_opt *opt,
                const sis_method_opt *how, sis_rationale *out) {
    double began = sis__seconds();
    *out = (sis_rationale){.sum = NAN, .difference = NAN};
    const char *wrong = sis_opt_check(opt);
    wrong = wrong ? wrong : sis_method_opt_check(how);
    if (wrong)
        return sis__fail(SIS_E_ARGUMENT, "%s", wrong);
    sis__masked_scorer v;
    int error = sis__scorer_init(&v, model, input, opt);
    if (error != SIS_OK)
        return error;
    error = begin(&v, &out->collection);
    v.limited = 1; /* limits do not apply to the scores that determine the status */
    if (error == SIS_OK && out->collection.status == SIS_STATUS_EXPLAINED)
        error = how->method == SIS_METHOD_GRADIENT ? sis__gradient(&v, how, &out->collection)
                : how->method == SIS_METHOD_QUICK  ? sis__quick(&v, how, &out->collection)
                                                   : attribute(&v, how, out);
    if (error == SIS_E_CANCELLED && v.cut)
        error = keep_cut(out, how->method >= SIS_METHOD_GRADIENT);
    out->collection.verified = 1;
    out->collection.evaluations = v.evaluations;
    sis__scorer_release(&v);
    if (error == SIS_OK)
        error = sis__ask_again(model, input, opt, &out->collection);
    if (error == SIS_OK)
        sis__progress_end(opt, out->collection.evaluations);
    out->collection.seconds = sis__seconds() - began;
    if (error != SIS_OK) {
        sis_rationale_release(out);
        out->sum = out->difference = NAN;
    }
    return error;
}
