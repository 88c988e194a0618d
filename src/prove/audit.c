/* SPDX-License-Identifier: MIT
 *
 * sis_prove_audit: check the claims of a collection. Each subset is proved again, and an adversary
 * (attack.h) tries to refute the proof. Each contrast needs an input that loses the decision.
 */
#include "prove/query.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"

typedef struct {
    sis__query *t;
    const sis_collection *claim;
    const sis_guarantee *guarantee;
    sis_audit *out;
    unsigned char *kept, *left; /* (n) */
} auditing;

/* Record the first claim that is false. */
__attribute__((format(printf, 2, 3))) static void refute(auditing *a, const char *format, ...) {
    if (!a->out->holds)
        return;
    a->out->holds = 0;
    va_list args;
    va_start(args, format);
    sis__vformat(a->out->reason, sizeof a->out->reason, format, args);
    va_end(args);
}

/* Allocate one input per feature, if requested. */
static int keep_examples(const auditing *a, size_t n, sis_subset_audit *out) {
    size_t width = a->t->input->n_values;
    if (!a->t->opt->counterexamples)
        return SIS_OK;
    out->examples = (double *)sis__alloc(n, width * sizeof *out->examples);
    out->example_scores = SIS_NEW(double, n);
    if (!out->examples || !out->example_scores)
        return SIS_E_NOMEM;
    out->n_examples = n;
    for (size_t i = 0; i < n * width; i++)
        out->examples[i] = NAN;
    return SIS_OK;
}

static void keep_example(const auditing *a, size_t i, double score, sis_subset_audit *out) {
    size_t width = a->t->input->n_values;
    if (!out->n_examples)
        return;
    memcpy(out->examples + i * width, a->t->sets.example, width * sizeof *out->examples);
    out->example_scores[i] = score;
}

/* For each feature: an input without the decision when it is given up, scored by the model
 * itself. */
static int audit_needed(auditing *a, size_t k) {
    const sis_subset *s = &a->claim->subsets[k];
    sis_subset_audit *out = &a->out->subsets[k];
    int error = keep_examples(a, s->n, out);
    out->minimal = 1;
    out->best_without_one = NAN;
    for (size_t i = 0; !error && i < s->n; i++) {
        sis__proof proof;
        double score = NAN;
        a->kept[s->features[i]] = 0;
        error = sis__query_examine(a->t, a->kept, &proof, &score);
        a->kept[s->features[i]] = 1;
        if (error || proof != SIS__PROOF_FAILS || sis__query_decided(a->t, score))
            out->minimal = 0;
        else
            keep_example(a, i, score, out);
        if (isnan(out->best_without_one) ||
            (a->t->below ? score < out->best_without_one : score > out->best_without_one))
            out->best_without_one = score;
    }
    if (!error && !out->minimal && a->guarantee->minimal)
        refute(a, "subset %zu: not every feature is shown to be necessary", k);
    return error;
}

/* A value as the model sees it, which is what oracles use and return. */
static double as_seen(const sis__query *t, double x) {
    return t->p->trees && !sis__prover_rounds(t->p->trees) ? x : (double)(float)x;
}

/* Does the example differ only in these features, within the domain? */
static int differs_in(const auditing *a, const double *row) {
    const sis_input *in = a->t->input;
    const sis_prove_opt *opt = a->t->opt;
    for (size_t j = 0; j < in->n_values; j++) {
        int f = in->feature_of ? in->feature_of[j] : (int)j;
        double x = in->values[j];
        if (row[j] == x || (float)row[j] == (float)x || (isnan(row[j]) && isnan(x)))
            continue;
        if (f < 0 || !a->kept[f] || (isnan(row[j]) && !(opt->missing && opt->missing[j])) ||
            (opt->low && as_seen(a->t, row[j]) < as_seen(a->t, opt->low[j])) ||
            (opt->high && as_seen(a->t, row[j]) > as_seen(a->t, opt->high[j])))
            return 0;
    }
    return 1;
}

/* A contrast with flagged features: does the claimed example lose the decision? */
static int audit_example(auditing *a, size_t k, sis_subset_audit *out) {
    const double *row = a->guarantee->examples + k * a->t->input->n_values;
    int error = sis__query_score(a->t, row, &out->score);
    int differs = differs_in(a, row);
    out->sufficient = !error && differs && !sis__query_decided(a->t, out->score);
    if (!error && !differs)
        refute(a, "contrast %zu: its example changes other features, or leaves the domain", k);
    else if (!error && !out->sufficient)
        refute(a, "contrast %zu: its example scores %.9g and keeps the decision", k, out->score);
    return error;
}

/* The same for a claim without an example: find one. All features except its own are flagged. */
static int find_example(auditing *a, size_t k, sis_subset_audit *out) {
    sis__proof proof = SIS__PROOF_NONE;
    int error = sis__query_examine(a->t, a->kept, &proof, &out->score);
    out->sufficient = !error && proof == SIS__PROOF_FAILS;
    if (!error && !out->sufficient)
        refute(a, "contrast %zu: no input was found that changes the decision", k);
    return error;
}

/* A contrast: an example loses the decision; with any one of its features restored, no input
 * does. */
static int audit_contrast(auditing *a, size_t k) {
    const sis_subset *s = &a->claim->subsets[k];
    sis_subset_audit *out = &a->out->subsets[k];
    int error = sis__query_flag(a->t, s->features, s->n, a->kept);
    if (!error && a->guarantee->examples)
        error = audit_example(a, k, out);
    for (size_t f = 0; !error && f < a->t->n; f++)
        a->kept[f] = !a->kept[f];
    if (!error && !a->guarantee->examples)
        error = find_example(a, k, out);
    out->minimal = 1;
    out->best_without_one = out->score;
    for (size_t i = 0; !error && i < s->n; i++) {
        sis__proof proof;
        double score = NAN;
        a->kept[s->features[i]] = 1;
        error = sis__query_examine(a->t, a->kept, &proof, &score);
        a->kept[s->features[i]] = 0;
        out->minimal &= proof == SIS__PROOF_HOLDS;
    }
    if (!error && !out->minimal && a->guarantee->minimal)
        refute(a, "contrast %zu has more features than necessary", k);
    return error;
}

/* Is the claimed bound one? */
static int audit_bound(auditing *a, size_t k) {
    const sis_guarantee *g = a->guarantee;
    sis_prove_opt opt = *a->t->opt;
    sis__proof proof;
    double score = NAN;
    if (k >= g->n_bounds || isnan(g->bounds[k]))
        return SIS_OK;
    if (!a->t->p->trees || opt.keep_class) {
        refute(a, "subset %zu: a bound that cannot be proved for this model", k);
        return SIS_OK;
    }
    opt.threshold = g->bounds[k];
    if (!sis_decided(a->out->score, opt.threshold, opt.below)) {
        refute(a, "subset %zu: the input itself scores worse than the bound %.9g", k, g->bounds[k]);
        return SIS_OK;
    }
    int error = sis__query_ask_margin(a->t, a->kept, sis__query_margin(a->t->p->model, &opt),
                                      opt.branches, &proof, &score);
    if (!error && proof != SIS__PROOF_HOLDS)
        refute(a, "subset %zu: the bound %.9g is not shown; found %.9g", k, g->bounds[k], score);
    return error;
}

static int audit_subset(auditing *a, size_t k) {
    const sis_subset *s = &a->claim->subsets[k];
    sis_subset_audit *out = &a->out->subsets[k];
    sis__proof proof;
    int error = sis__query_flag(a->t, s->features, s->n, a->kept);
    if (!error)
        error = sis__query_examine(a->t, a->kept, &proof, &out->score);
    if (error)
        return error;
    out->sufficient = proof == SIS__PROOF_HOLDS && sis__query_decided(a->t, out->score);
    if (!out->sufficient)
        refute(a, "subset %zu does not keep the decision: other values of the rest score %.9g", k,
               out->score);
    if (!sis__query_decided(a->t, s->score))
        refute(a,
               "subset %zu: the claimed score %.9g does not meet the "
               "threshold",
               k, s->score);
    for (size_t i = 0; i < s->n; i++) {
        if (!a->left[s->features[i]] && !a->guarantee->smallest)
            refute(a, "subset %zu: feature %d is in an earlier subset", k, s->features[i]);
        a->left[s->features[i]] = 0;
    }
    error = audit_bound(a, k);
    return error ? error : audit_needed(a, k);
}

/* Is there no subset with fewer features? */
static int audit_smallest(auditing *a) {
    sis__family none = {.n_features = a->t->n}, contrasts = {.n_features = a->t->n};
    size_t smallest = 0;
    int found, minimal, *order = SIS_NEW(int, a->t->n);
    int error = order ? sis__sets_order(&a->t->sets, order) : SIS_E_NOMEM;
    if (!error)
        error =
            sis__sets_smallest(&a->t->sets, order, &none, &contrasts, a->kept, &found, &minimal);
    for (size_t f = 0; !error && f < a->t->n; f++)
        smallest += a->kept[f];
    size_t said = a->claim->n_subsets ? a->claim->subsets[0].n : 0;
    if (!error && (found != 1 || said != smallest))
        refute(a, "the smallest subset has %zu features, not %zu", smallest, said);
    free(order);
    sis__family_release(&contrasts);
    return error;
}

static int audit_decided(auditing *a) {
    sis__proof proof;
    int error = sis__query_open(a->t);
    if (!error)
        error = sis__query_examine(a->t, a->kept, &proof, &a->out->masked_score);
    if (!error && (proof == SIS__PROOF_HOLDS) != (a->claim->status == SIS_STATUS_DEFAULT_DECISION))
        refute(a, "status is \"%s\", but the decision is %sthe same for every input",
               sis_status_name(a->claim->status), proof == SIS__PROOF_HOLDS ? "" : "not ");
    int contrasts = a->guarantee->examples || a->t->opt->contrast;
    for (size_t k = 0; !error && k < a->claim->n_subsets; k++)
        error = contrasts ? audit_contrast(a, k) : audit_subset(a, k);
    if (error || contrasts) {
        a->out->complete = a->claim->complete;
        return error;
    }
    if (a->guarantee->smallest)
        error = audit_smallest(a);
    if (!error)
        error = sis__query_examine(a->t, a->left, &proof, &a->out->rest_score);
    a->out->complete = !error && proof == SIS__PROOF_FAILS;
    if (a->claim->complete && !a->out->complete)
        refute(a, "the rest still keeps the decision (%.9g)", a->out->rest_score);
    return error;
}

static int audit(auditing *a) {
    const sis_collection *claim = a->claim;
    sis_audit *out = a->out;
    int error = sis__query_score(a->t, a->t->input->values, &out->score);
    if (error)
        return error;
    out->masked_score = out->rest_score = out->score;
    if (!(fabs(claim->score - out->score) <= 1e-4 * (1 + fabs(out->score))))
        refute(a, "score: claimed %.9g, found %.9g", claim->score, out->score);
    if (claim->n_features != a->t->n)
        refute(a, "number of features: claimed %zu, found %zu", claim->n_features, a->t->n);
    out->complete = !sis__query_decided(a->t, out->score);
    if (out->complete != (claim->status == SIS_STATUS_NOT_DECIDED))
        refute(a, "status is \"%s\", but the example is %sdecided", sis_status_name(claim->status),
               out->complete ? "not " : "");
    return out->complete ? SIS_OK : audit_decided(a);
}

int sis_prove_audit(const sis_prover *p, const sis_input *input, const sis_prove_opt *opt,
                    const sis_collection *claim, const sis_guarantee *guarantee, sis_audit *out) {
    sis__query t;
    *out = (sis_audit){.holds = 1, .n_values = input->n_values};
    int error = sis__query_init(&t, p, input, opt);
    auditing a = {.t = &t, .claim = claim, .guarantee = guarantee, .out = out};
    a.kept = SIS_NEW(unsigned char, t.n);
    a.left = SIS_NEW(unsigned char, t.n);
    out->subsets = SIS_NEW(sis_subset_audit, claim->n_subsets);
    out->n_subsets = out->subsets ? claim->n_subsets : 0;
    unsigned char *fixed = SIS_NEW(unsigned char, t.n);
    if (!error && (!a.kept || !a.left || !out->subsets || !fixed))
        error = SIS_E_NOMEM;
    if (!error)
        error = sis__query_flag(&t, guarantee->fixed, guarantee->n_fixed, fixed);
    if (!error) {
        t.fixed = fixed;
        memset(a.left, 1, t.n);
        error = audit(&a);
    }
    out->evaluations = t.evaluations;
    free(a.kept);
    free(a.left);
    free(fixed);
    sis__query_release(&t);
    if (error)
        sis_audit_release(out);
    return error;
}
