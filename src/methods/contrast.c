/* SPDX-License-Identifier: MIT
 *
 * Contrasts by masks: which features, masked alone, lose the decision? Minimal sets, found by the search for
 * sufficient subsets. It is given the question the other way round:
 *
 *     input     everything masked          a feature that is "present" is masked in truth
 *     mask      the input                  a feature that is "masked" has its own value
 *     decision  the score is on the other side of the threshold
 *
 * So a subset is sufficient to lose the decision, with all other features as they are, and no single feature of it can be
 * left out. Contrasts are disjoint, and the rest (all of them kept, everything else masked) still decides if
 * the collection is complete.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "methods/methods.h"

/* The question the other way round. */
typedef struct {
    sis_input input;
    sis_opt opt;
    double *values, *mask; /* (n_values) */
} reversed;

/* The first float beyond the threshold: a score there has lost the decision, also where models answer floats
 * (sis_decided). */
static double beyond(double threshold, int below) {
    return (double)nextafterf((float)threshold, below ? INFINITY : -INFINITY);
}

/* Walks of networks expect tokens in inputs; a missing one is a mask's. */
static int needs_passes(const sis_model *model, const sis_input *in) {
    int special = model->embed != NULL;
    for (size_t v = 0; v < in->n_values; v++)
        special |= isnan(in->mask[v]) || isnan(in->values[v]);
    return special;
}

static void reverse_release(reversed *r) {
    free(r->values);
    free(r->mask);
}

/* An absent feature stays masked. */
static int reverse(const sis_model *model, const sis_input *in, const sis_opt *opt, reversed *r) {
    size_t n = in->n_values;
    *r = (reversed){.input = *in};
    if (in->n_samples > 1)
        return sis__fail(SIS_E_ARGUMENT,
                         "contrasts need one mask; with draws of a hot deck, features have many");
    int error = sis_input_check(in, model);
    if (error != SIS_OK)
        return error;
    sis_opt_init(&r->opt);
    memcpy(&r->opt, opt, opt->size < sizeof r->opt ? opt->size : sizeof r->opt);
    r->opt.size = sizeof r->opt;
    r->values = (double *)sis__copy(in->mask, n, sizeof *r->values);
    r->mask = (double *)sis__copy(in->values, n, sizeof *r->mask);
    if (!r->values || !r->mask) {
        reverse_release(r);
        return SIS_E_NOMEM;
    }
    for (size_t v = 0; v < n; v++) {
        int f = in->feature_of ? in->feature_of[v] : (int)v;
        if (f < 0)
            r->values[v] = in->values[v];
        else if (in->absent && in->absent[f])
            r->mask[v] = in->mask[v];
    }
    r->input.values = r->values;
    r->input.mask = r->mask;
    r->input.absent = NULL;
    r->opt.threshold = beyond(opt->threshold, opt->below);
    r->opt.below = !opt->below;
    r->opt.exact |= needs_passes(model, in);
    return SIS_OK;
}

static void swap(double *a, double *b) {
    double c = *a;
    *a = *b;
    *b = c;
}

/* Without contrasts: does the input not decide, or does it decide in any case? */
static sis_status plain_status(const sis_collection *c, const sis_opt *opt) {
    return sis_decided(c->score, opt->threshold, opt->below) ? SIS_STATUS_DEFAULT_DECISION
                                                             : SIS_STATUS_NOT_DECIDED;
}

static int has_contrasts(const sis_collection *c) {
    return c->status == SIS_STATUS_EXPLAINED || c->status == SIS_STATUS_CUT;
}

int sis_contrast(const sis_model *model, const sis_input *input, const sis_opt *opt,
                 sis_collection *out) {
    reversed r;
    *out = (sis_collection){0};
    int error = reverse(model, input, opt, &r);
    if (error != SIS_OK)
        return error;
    error = sis_collect(model, &r.input, &r.opt, out);
    reverse_release(&r);
    if (error != SIS_OK)
        return error;
    swap(&out->score, &out->masked_score);
    if (!has_contrasts(out)) {
        out->status = plain_status(out, opt);
        out->rest_score = out->score;
    }
    return SIS_OK;
}

int sis_contrast_verify(const sis_model *model, const sis_input *input, const sis_opt *opt,
                        const sis_collection *claim, sis_audit *out) {
    reversed r;
    sis_collection asked = *claim;
    *out = (sis_audit){0};
    int error = reverse(model, input, opt, &r);
    if (error != SIS_OK)
        return error;
    swap(&asked.score, &asked.masked_score);
    if (!has_contrasts(claim)) /* as the search that is reversed says it */
        asked.status = sis_decided(asked.score, r.opt.threshold, r.opt.below)
                           ? SIS_STATUS_DEFAULT_DECISION
                           : SIS_STATUS_NOT_DECIDED;
    error = sis_verify(model, &r.input, &r.opt, &asked, out);
    reverse_release(&r);
    if (error != SIS_OK)
        return error;
    swap(&out->score, &out->masked_score);
    if (out->holds && !has_contrasts(claim) && plain_status(claim, opt) != claim->status) {
        out->holds = 0;
        snprintf(out->reason, sizeof out->reason, "status is \"%s\", claimed is \"%s\"",
                 sis_status_name(plain_status(claim, opt)), sis_status_name(claim->status));
    }
    return SIS_OK;
}
