/* SPDX-License-Identifier: MIT
 *
 * Subsets that keep the decision for a fraction of all completions; see sis/prove.h. With the
 * decision itself as a score (1 or 0) and draws as mask samples, the mean score of a masked copy is
 * the fraction of draws that keep the decision. So the search is that of quick, with the fraction
 * as threshold.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/explain.h>
#include <sis/prove.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/sum.h"

enum { ROUNDS = 5, LOOKS_FROM = 64, ROWS = 256 };

void sis_chance_opt_init(sis_chance_opt *opt) {
    *opt = (sis_chance_opt){.share = NAN, .confidence = 0.95, .samples = 2000, .seed = 1};
}

/* An example and its draws. */
typedef struct {
    const sis_model *model;
    const sis_input *input;
    const sis_opt *search;
    const sis_deck *deck;
    size_t n;      /* features */
    double *masks; /* (n_masks, n_values) draws for the search */
    size_t n_masks;
    uint64_t next;          /* seed of the next draws */
    double *rows, *margins; /* (ROWS, n_values), (ROWS, n_outputs) */
    unsigned char *present; /* (n) */
    size_t evaluations, tests;
} sampler;

static double score_of(const sampler *t, double margin) {
    return t->model->link ? t->model->link(margin) : margin;
}

/* ---- Draws ----------------------------------------------------------------------------------- */

/* Results of some draws. */
typedef struct {
    size_t draws, kept;
    double high, low; /* the sum of scores (base/sum.h) */
} tally;

static void complete(sampler *t, const double *mask, double *row) {
    const sis_input *in = t->input;
    for (size_t v = 0; v < in->n_values; v++) {
        int f = in->feature_of ? in->feature_of[v] : (int)v;
        row[v] = f < 0 || t->present[f] ? in->values[v] : mask[v];
    }
}

static int add_score(const sampler *t, double margin, tally *sum) {
    double score = score_of(t, margin);
    if (isnan(score))
        return sis__fail(SIS_E_NAN, "the model returned NaN for output %zu", t->input->output);
    sum->draws++;
    sum->kept += (size_t)sis_decided(score, t->search->threshold, t->search->below);
    sis__sum_add(&sum->high, &sum->low, score);
    return SIS_OK;
}

static double mean_of(const tally *sum) {
    return sum->draws ? sis__sum_mean(sum->high, sum->low, sum->draws) : 0;
}

/* Complete the present features with each of n masks. */
static int count_kept(sampler *t, const double *masks, size_t n, tally *sum) {
    size_t width = t->input->n_values, outputs = t->model->n_outputs;
    int error = SIS_OK;
    for (size_t done = 0, some; !error && done < n; done += some) {
        some = n - done < ROWS ? n - done : ROWS;
        for (size_t i = 0; i < some; i++)
            complete(t, masks + (done + i) * width, t->rows + i * width);
        error = t->model->predict(t->model->ctx, t->rows, some, width, t->margins);
        for (size_t i = 0; !error && i < some; i++)
            error = add_score(t, t->margins[i * outputs + t->input->output], sum);
    }
    t->evaluations += n;
    return error;
}

/* n new completions, in blocks. */
static int draw_more(sampler *t, size_t n, tally *sum) {
    double *masks = (double *)sis__alloc(n < ROWS ? n : ROWS, t->input->n_values * sizeof *masks);
    int error = masks ? SIS_OK : SIS_E_NOMEM;
    for (size_t done = 0, some; !error && done < n; done += some) {
        some = n - done < ROWS ? n - done : ROWS;
        error = sis_deck_draw(t->deck, t->input, some, t->next++, masks);
        if (!error)
            error = count_kept(t, masks, some, sum);
    }
    free(masks);
    return error;
}

static void show_only(sampler *t, const sis_subset *s) {
    memset(t->present, 0, t->n);
    for (size_t i = 0; i < s->n; i++)
        t->present[s->features[i]] = 1;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/* Test a subset with new draws: double their number until the interval decides, or there are `max`.
 * The reported interval is that of all draws at the requested confidence, as far as the test's
 * allows. */
static int test(sampler *t, const sis_subset *s, const sis_chance_opt *opt, size_t max,
                sis_kept *out, double *mean, int *passed) {
    tally sum = {0};
    show_only(t, s);
    *passed = 0;
    for (size_t look = LOOKS_FROM < max ? LOOKS_FROM : max; !*passed; look *= 2) {
        double j, low, high;
        look = look < max ? look : max;
        int error = draw_more(t, look - sum.draws, &sum);
        if (error)
            return error;
        j = (double)++t->tests;
        sis_share_interval(sum.kept, sum.draws, 1 - (1 - opt->confidence) / (j * (j + 1)), &low,
                           &high);
        *passed = low >= opt->share;
        *out = (sis_kept){.draws = sum.draws, .kept = sum.kept, .low = low, .high = high};
        if (sum.draws >= max || high < opt->share)
            break;
    }
    *mean = mean_of(&sum);
    return SIS_OK;
}

/* The smallest fraction of n draws whose interval lies above the requested fraction; above 1 if
 * even all n are too few. */
static double share_to_reach(const sis_chance_opt *opt, size_t n) {
    for (size_t k = (size_t)floor(opt->share * (double)n); k <= n; k++) {
        double low, high;
        sis_share_interval(k, n, opt->confidence, &low, &high);
        if (low >= opt->share)
            return (double)k / (double)n;
    }
    return 2;
}

/* ---- Collections ----------------------------------------------------------------------------- */

/* Find subsets that keep the decision for at least `share` of the search's draws. */
static int search_subsets(sampler *t, double share, sis_collection *out) {
    const sis_deciding decision = {t->model, t->search->threshold, t->search->below};
    sis_model deciding;
    sis_rationale r;
    sis_method_opt how;
    sis_opt opt = *t->search;
    sis_input input = *t->input;
    sis_model_decide(&decision, &deciding);
    sis_method_opt_init(&how);
    how.method = SIS_METHOD_QUICK;
    opt.threshold = share;
    opt.below = 0;
    input.mask = t->masks;
    input.n_samples = t->n_masks;
    int error = sis_explain(&deciding, &input, &opt, &how, &r);
    if (error)
        return error;
    *out = r.collection;
    t->evaluations += out->evaluations;
    r.collection = (sis_collection){0};
    sis_rationale_release(&r);
    return SIS_OK;
}

/* Test all subsets; move those that pass to the front. */
static int test_all(sampler *t, const sis_chance_opt *opt, size_t max, sis_collection *c,
                    sis_guarantee *g) {
    size_t kept = 0;
    int error = SIS_OK;
    free(g->shares);
    g->shares = SIS_NEW(sis_kept, c->n_subsets);
    if (!g->shares)
        return SIS_E_NOMEM;
    for (size_t k = 0; !error && k < c->n_subsets; k++) {
        sis_subset s = c->subsets[k];
        int passed;
        error = test(t, &s, opt, max, &g->shares[kept], &s.score, &passed);
        c->subsets[k] = c->subsets[kept];
        c->subsets[kept] = s;
        kept += !error && passed;
    }
    g->n_shares = kept;
    return error;
}

static void cut(sis_collection *c, size_t n) {
    for (size_t k = n; k < c->n_subsets; k++) {
        free(c->subsets[k].features);
        sis_trace_release(&c->subsets[k].trace);
    }
    c->complete &= n == c->n_subsets;
    c->n_subsets = n;
}

/* The subset of all features: nothing is drawn, so the decision cannot be lost. */
static int take_everything(sampler *t, sis_collection *c, sis_guarantee *g) {
    cut(c, 0);
    free(c->subsets);
    c->subsets = SIS_NEW(sis_subset, 1);
    free(g->shares);
    g->shares = SIS_NEW(sis_kept, 1);
    if (!c->subsets || !g->shares)
        return SIS_E_NOMEM;
    c->n_subsets = g->n_shares = 1;
    g->shares[0] = (sis_kept){.low = 1, .high = 1};
    g->minimal = 0;
    c->subsets[0].score = c->score;
    c->subsets[0].features = SIS_NEW(int, t->n);
    for (size_t f = 0; c->subsets[0].features && f < t->n; f++)
        c->subsets[0].features[c->subsets[0].n++] = (int)f;
    return c->subsets[0].features ? SIS_OK : SIS_E_NOMEM;
}

/* Search and test; if no subset passes, repeat with a higher fraction. */
static int find_and_test(sampler *t, const sis_chance_opt *opt, sis_collection *out,
                         sis_guarantee *g) {
    double share = share_to_reach(opt, t->n_masks);
    size_t max = (opt->samples - t->n_masks);
    int error = SIS_OK;
    for (int round = 0; !error && round < ROUNDS; round++) {
        double score = out->score;
        sis_collection_release(out);
        error = search_subsets(t, share, out);
        if (error || out->status != SIS_STATUS_EXPLAINED)
            return error;
        out->score = score;
        error = test_all(t, opt, max, out, g);
        if (error || g->n_shares) {
            if (!error)
                cut(out, g->n_shares);
            return error;
        }
        share += (1 - share) / 2;
    }
    return error ? error : take_everything(t, out, g);
}

/* The mean score over the search's draws. */
static int mean_score(sampler *t, const unsigned char *present, double *mean) {
    tally sum = {0};
    memcpy(t->present, present, t->n);
    int error = count_kept(t, t->masks, t->n_masks, &sum);
    *mean = mean_of(&sum);
    return error;
}

static int fill_scores(sampler *t, sis_collection *c) {
    unsigned char *present = SIS_NEW(unsigned char, t->n);
    int error = present ? mean_score(t, present, &c->masked_score) : SIS_E_NOMEM;
    c->rest_score = c->score;
    if (!error && c->n_subsets) {
        memset(present, 1, t->n);
        for (size_t k = 0; k < c->n_subsets; k++)
            for (size_t i = 0; i < c->subsets[k].n; i++)
                present[c->subsets[k].features[i]] = 0;
        error = mean_score(t, present, &c->rest_score);
    }
    free(present);
    return error;
}

static int sampler_init(sampler *t, const sis_chance_opt *opt) {
    const sis_input *in = t->input;
    long n = sis_input_features(in);
    if (n < 0)
        return (int)n;
    t->n = (size_t)n;
    t->n_masks = opt->samples / 4;
    t->masks = (double *)sis__alloc(t->n_masks, in->n_values * sizeof *t->masks);
    t->rows = (double *)sis__alloc(ROWS, in->n_values * sizeof *t->rows);
    t->margins = (double *)sis__alloc(ROWS, t->model->n_outputs * sizeof *t->margins);
    t->present = SIS_NEW(unsigned char, t->n);
    t->next = opt->seed << 20;
    if (!t->masks || !t->rows || !t->margins || !t->present)
        return SIS_E_NOMEM;
    return sis_deck_draw(t->deck, in, t->n_masks, t->next++, t->masks);
}

static void sampler_release(sampler *t) {
    free(t->masks);
    free(t->rows);
    free(t->margins);
    free(t->present);
}

static int check_options(const sis_chance_opt *opt) {
    if (!(opt->share > 0 && opt->share < 1) || !(opt->confidence > 0 && opt->confidence < 1))
        return sis__fail(SIS_E_ARGUMENT, "share and confidence: expected numbers between 0 and 1");
    return share_to_reach(opt, opt->samples / 4) <= 1
               ? SIS_OK
               : sis__fail(SIS_E_ARGUMENT,
                           "%zu draws are too few to show a share of %g with confidence "
                           "%g; give more --samples",
                           opt->samples, opt->share, opt->confidence);
}

/* The score of the unmasked input. */
static int score_input(sampler *t, double *score) {
    tally one = {0};
    memset(t->present, 1, t->n);
    int error = count_kept(t, t->masks, 1, &one);
    *score = mean_of(&one);
    return error;
}

int sis_chance_collect(const sis_model *model, const sis_input *input, const sis_opt *search,
                       const sis_deck *deck, const sis_chance_opt *opt, sis_collection *out,
                       sis_guarantee *guarantee) {
    double began = sis__seconds();
    sampler t = {.model = model, .input = input, .search = search, .deck = deck};
    *out = (sis_collection){0};
    *guarantee = (sis_guarantee){.kind = SIS_GUARANTEE_CHANCE,
                                 .minimal = 1,
                                 .share = opt->share,
                                 .confidence = opt->confidence,
                                 .seed = opt->seed};
    int error = check_options(opt);
    if (!error)
        error = sampler_init(&t, opt);
    if (!error)
        error = score_input(&t, &out->score);
    double score = out->score;
    if (!error)
        error = find_and_test(&t, opt, out, guarantee);
    out->score = score;
    if (!error)
        error = fill_scores(&t, out);
    out->verified = 1;
    out->evaluations = t.evaluations;
    out->seconds = sis__seconds() - began;
    sampler_release(&t);
    if (error) {
        sis_collection_release(out);
        sis_guarantee_release(guarantee);
    }
    return error;
}

/* ---- Audits ---------------------------------------------------------------------------------- */

static int audit_subset(sampler *t, const sis_collection *claim, const sis_guarantee *g, size_t k,
                        sis_audit *out) {
    const sis_subset *s = &claim->subsets[k];
    sis_subset_audit *a = &out->subsets[k];
    tally sum = {0};
    double low, high;
    for (size_t i = 0; i < s->n; i++)
        if ((size_t)s->features[i] >= t->n)
            return sis__fail(SIS_E_ARGUMENT, "subset %zu names feature %d, but the input has %zu",
                             k, s->features[i], t->n);
    show_only(t, s);
    int error = draw_more(t,
                          s->n == t->n               ? 1
                          : g->shares[k].draws > 500 ? g->shares[k].draws
                                                     : 500,
                          &sum);
    if (error)
        return error;
    sis_share_interval(sum.kept, sum.draws, 1 - 2e-6, &low, &high);
    a->score = mean_of(&sum);
    a->best_without_one = NAN;
    a->sufficient = high >= g->share && high >= g->shares[k].low && low <= g->shares[k].high;
    a->minimal = 1;
    if (!a->sufficient && out->holds) {
        out->holds = 0;
        sis__format(
            out->reason, sizeof out->reason,
            "subset %zu keeps the decision for %zu of %zu draws; %.4g was promised, %.4g to "
            "%.4g found before",
            k, sum.kept, sum.draws, g->share, g->shares[k].low, g->shares[k].high);
    }
    return SIS_OK;
}

static int audit(sampler *t, const sis_collection *claim, const sis_guarantee *g, sis_audit *out) {
    int error = score_input(t, &out->score);
    int decided = sis_decided(out->score, t->search->threshold, t->search->below);
    out->masked_score = claim->masked_score;
    out->rest_score = claim->rest_score;
    out->complete = claim->complete;
    if (!error && (fabs(claim->score - out->score) > 1e-4 * (1 + fabs(out->score)) ||
                   decided != (claim->status != SIS_STATUS_NOT_DECIDED))) {
        out->holds = 0;
        sis__format(out->reason, sizeof out->reason,
                    "the score is said to be %.9g, found %.9g; it is "
                    "%sdecided",
                    claim->score, out->score, decided ? "" : "not ");
    }
    for (size_t k = 0; !error && k < claim->n_subsets; k++)
        error = audit_subset(t, claim, g, k, out);
    return error;
}

int sis_chance_audit(const sis_model *model, const sis_input *input, const sis_opt *search,
                     const sis_deck *deck, const sis_collection *claim,
                     const sis_guarantee *guarantee, sis_audit *out) {
    sampler t = {.model = model, .input = input, .search = search, .deck = deck};
    sis_chance_opt opt;
    sis_chance_opt_init(&opt);
    opt.share = guarantee->share;
    opt.seed = guarantee->seed + 7919;
    *out = (sis_audit){.holds = 1};
    int error = guarantee->n_shares == claim->n_subsets
                    ? sampler_init(&t, &opt)
                    : sis__fail(SIS_E_ARGUMENT, "expected one share for each subset");
    out->subsets = SIS_NEW(sis_subset_audit, claim->n_subsets);
    out->n_subsets = out->subsets ? claim->n_subsets : 0;
    if (!error)
        error = out->subsets ? audit(&t, claim, guarantee, out) : SIS_E_NOMEM;
    out->evaluations = t.evaluations;
    sampler_release(&t);
    if (error)
        sis_audit_release(out);
    return error;
}
