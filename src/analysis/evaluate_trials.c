/* SPDX-License-Identifier: MIT
 *
 * The parts of sis_evaluate that ask the model about other inputs:
 *
 *     --robust      are rationales sufficient with a second mask, hot-deck values, neighbours
 *                   unmasked, or half of the other features unmasked?
 *     --metrics     faithfulness of rankings, stability of rationales, agreement of two files
 *     --imputation  the mask compared with hot-deck values, one feature at a time
 *
 * Each measurement (sis__measuring) has three functions: count_ says how many numbers an example
 * has, find_ computes them, keep_ stores them in the rationales. The hot deck has all examples of
 * the task: words and bases are drawn from any position, other features from the same position.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/example.h>

#include "analysis/evaluate.h"
#include "base/error.h"
#include "base/mem.h"

enum { SEEDS = 64 }; /* seeds per example; rationale k of a method takes seed k % SEEDS */

/* ---- Hot decks ----------------------------------------------------------------------------- */

/* 1 if values of two examples can be exchanged. */
static int same_shape(const sis__loaded *l, size_t a, size_t b) {
    return l->inputs[a].n_values == l->inputs[b].n_values &&
           sis_task_model_of(l->task, &l->examples[a]) ==
               sis_task_model_of(l->task, &l->examples[b]);
}

/* 1 if each base of DNA is a feature. */
static int is_bases(const sis__loaded *l, size_t i) {
    return sis_kind_of(sis_data_kind(sis_task_data(l->task))) == SIS_KIND_DNA &&
           4 * sis_input_features(&l->inputs[i]) == (long)l->inputs[i].n_values;
}

/* Make the hot deck, unless there is one. `option` is what needs it. */
static int need_deck(sis__evaluation *ev, const char *option) {
    const sis__loaded *l = &ev->all;
    int anywhere = ev->token || (l->n && is_bases(l, 0));
    size_t n = 0, first = 0;
    if (ev->deck)
        return SIS_OK;
    if (!(ev->donors = sis__held_room(ev->held, l->n, sizeof *ev->donors)))
        return SIS_E_NOMEM;
    for (size_t i = 0; i < l->n; i++) {
        if (l->examples[i].error)
            continue;
        first = n == 0 ? i : first;
        if (!anywhere && !same_shape(l, first, i))
            return sis__fail(SIS_E_ARGUMENT,
                             "%s takes values from other examples, but \"%s\" has another "
                             "shape than \"%s\"; choose examples of one shape with --rows",
                             option, l->examples[i].id, l->examples[first].id);
        ev->donors[n++] = l->inputs[i];
    }
    return sis_deck_new(ev->donors, n, anywhere ? SIS_DECK_ANYWHERE : SIS_DECK_FEATURES, &ev->deck);
}

/* The arrangement of an example's features: a row, a grid, or none (height 0). */
static void find_grid(const sis__evaluation *ev, const sis_record *r, size_t *height,
                      size_t *width) {
    size_t n = r->collection.n_features;
    *height = *width = 0;
    if (ev->token || r->drawing.sequence) {
        *height = 1;
        *width = n;
        return;
    }
    if (sis_kind_of(r->drawing.kind) != SIS_KIND_IMAGE)
        return;
    for (size_t a = 0; r->drawing.shape && a + 1 < r->drawing.rank && *height == 0; a++)
        if (r->drawing.shape[a] <= n / r->drawing.shape[a + 1] &&
            r->drawing.shape[a] * r->drawing.shape[a + 1] == n) {
            *height = r->drawing.shape[a];
            *width = r->drawing.shape[a + 1];
        }
}

/* ---- A second mask ------------------------------------------------------------------------- */

/* 1 if the second mask is_other_mask from the first. Masks of token models are compared by name. */
static int is_other_mask(const sis__evaluation *ev) {
    const sis_input *a = &ev->all.inputs[0], *b = &ev->second.inputs[0];
    size_t n = a->n_values * a->n_samples;
    if (ev->token)
        return !ev->o->mask || strcmp(ev->o->mask, ev->o->second_mask) != 0;
    return a->n_samples != b->n_samples || memcmp(a->mask, b->mask, n * sizeof *a->mask) != 0;
}

static int find_second_mask(const sis__evaluation *ev, size_t e, const sis_model *model,
                            const sis_opt *opt, double *scores) {
    size_t n = sis__n_alone(ev, e);
    sis_input input = ev->second.inputs[ev->subjects[e].at];
    sis_part *parts = SIS_NEW(sis_part, n);
    if (!parts)
        return SIS_E_NOMEM;
    input.output = ev->subjects[e].record->question.target;
    sis__alone(ev, e, &input, parts);
    int error = sis_part_scores(model, parts, n, opt, scores);
    free(parts);
    return error;
}

static int keep_second_mask(sis__evaluation *ev, size_t e, const double *scores) {
    for (size_t k = 0; k < ev->n_methods; k++) {
        const sis__method *m = &ev->methods[k];
        for (size_t i = m->first[e]; i < m->first[e + 1]; i++)
            m->items[i].measures[SIS_MEASURE_SECOND] = *scores++;
    }
    return SIS_OK;
}

static int measure_second_mask(sis__evaluation *ev) {
    int error = sis__loaded_open(&ev->second, ev->o->second);
    if (error == SIS_OK && ev->second.n != ev->all.n)
        return sis__fail(SIS_E_ARGUMENT, "the input changed while it was read");
    if (error == SIS_OK && !is_other_mask(ev))
        return sis__fail(SIS_E_ARGUMENT,
                         "--robust: the second mask (%s) is the same as the first; name another "
                         "with --second-mask",
                         ev->o->second_mask);
    if (error == SIS_OK)
        error = sis__evaluate_each(
            ev, &(sis__measuring){&ev->second, sis__n_alone, find_second_mask, keep_second_mask});
    sis__loaded_close(&ev->second);
    return error;
}

/* ---- Hot-deck and neighbours --------------------------------------------------------------- */

enum { ROBUST_NUMBERS = sizeof(sis_robustness) / sizeof(double) }; /* numbers per rationale */

static size_t count_robust(const sis__evaluation *ev, size_t e) {
    return ROBUST_NUMBERS * sis__n_alone(ev, e);
}

/* The robustness of all rationales of one method for one example. */
static int measure_robustness(const sis__evaluation *ev, const sis__method *m, size_t e,
                              const sis_model *model, const sis_opt *opt, sis_robustness *found) {
    sis_robust_opt robust = {
        .deck = ev->deck, .samples = ev->o->samples, .distance = ev->o->around};
    int error = SIS_OK;
    find_grid(ev, m->of[e], &robust.height, &robust.width);
    for (size_t i = m->first[e], k = 0; error == SIS_OK && i < m->first[e + 1]; i++, k++) {
        const sis_rated *x = &m->items[i];
        const sis_part part = {&ev->subjects[e].input, x->features, x->n_features, 0};
        robust.seed = ev->o->seed + e * SEEDS + k % SEEDS;
        error = sis_robustness_measure(model, &part, opt, &robust, &found[k]);
    }
    return error;
}

static int find_robust(const sis__evaluation *ev, size_t e, const sis_model *model,
                       const sis_opt *opt, double *numbers) {
    sis_robustness *found = (sis_robustness *)(void *)numbers;
    int error = SIS_OK;
    for (size_t k = 0; error == SIS_OK && k < ev->n_methods; k++) {
        const sis__method *m = &ev->methods[k];
        error = measure_robustness(ev, m, e, model, opt, found);
        found += m->first[e + 1] - m->first[e];
    }
    return error;
}

static int keep_robust(sis__evaluation *ev, size_t e, const double *numbers) {
    const sis_robustness *found = (const sis_robustness *)(const void *)numbers;
    for (size_t k = 0; k < ev->n_methods; k++) {
        const sis__method *m = &ev->methods[k];
        for (size_t i = m->first[e]; i < m->first[e + 1]; i++, found++) {
            double *of = m->items[i].measures;
            of[SIS_MEASURE_DECK] = found->deck;
            of[SIS_MEASURE_DECK_HOLDS] = found->deck_holds;
            of[SIS_MEASURE_AROUND] = found->around;
            of[SIS_MEASURE_HALF] = found->half;
            of[SIS_MEASURE_HALF_HOLDS] = found->half_holds;
        }
    }
    return SIS_OK;
}

int sis__evaluate_robust(sis__evaluation *ev) {
    int error = need_deck(ev, "--robust");
    if (error == SIS_OK)
        error = measure_second_mask(ev);
    if (error == SIS_OK)
        error = sis__evaluate_each(
            ev, &(sis__measuring){&ev->all, count_robust, find_robust, keep_robust});
    return error;
}

/* ---- Rankings ------------------------------------------------------------------------------ */

/* All features of all subsets of a record, without duplicates, to `out` (n_features); returns their
 * number. */
static size_t list_chosen(const sis_collection *c, int *out) {
    size_t n = 0;
    for (size_t k = 0; k < c->n_subsets; k++)
        for (size_t i = 0; i < c->subsets[k].n; i++)
            out[n++] = c->subsets[k].features[i];
    return n;
}

/* Features, most important first: the order of the first backward selection, reversed, if the
 * record has it (--trace); otherwise the features of the subsets, first subset first. */
static size_t rank_features(const sis_collection *c, int *out) {
    const sis_trace *t = &c->subsets[0].trace;
    if (!t->order || t->n != c->n_features)
        return list_chosen(c, out);
    for (size_t i = 0; i < t->n; i++)
        out[i] = t->order[t->n - 1 - i];
    return t->n;
}

static int find_ranking(const sis__evaluation *ev, const sis__method *m, size_t e,
                        const sis_model *model, const sis_opt *opt, double *numbers) {
    const sis_record *r = m->of[e];
    int *order = SIS_NEW(int, r->collection.n_features);
    if (!order)
        return SIS_E_NOMEM;
    sis_ranking ranking = {.input = &ev->subjects[e].input,
                           .order = order,
                           .n = rank_features(&r->collection, order),
                           .by_count = ev->o->by_count,
                           .deck = ev->deck,
                           .samples = ev->o->samples,
                           .seed = ev->o->seed + e};
    int error = sis_faithfulness_measure(model, &ranking, opt, (sis_faithfulness *)(void *)numbers);
    free(order);
    return error;
}

static void keep_ranking(const sis__method *m, size_t e, const double *numbers) {
    double *of = m->items[m->first[e]].measures;
    sis_faithfulness *found = &m->faithfulness[e];
    memcpy(found, numbers, sizeof *found);
    of[SIS_MEASURE_SUFFICIENCY] = sis_sample_mean(found->sufficiency, SIS_N_CUTS);
    of[SIS_MEASURE_COMPREHENSIVENESS] = sis_sample_mean(found->comprehensiveness, SIS_N_CUTS);
    of[SIS_MEASURE_PGI] = sis_sample_mean(found->pgi, SIS_N_CUTS);
    of[SIS_MEASURE_PGU] = sis_sample_mean(found->pgu, SIS_N_CUTS);
}

/* ---- Stability ----------------------------------------------------------------------------- */

/* For each share of other features (a cut): in how many draws rationale i stays sufficient when
 * that share is unmasked. */
static int find_stability(const sis__evaluation *ev, const sis__method *m, size_t i,
                          const sis_model *model, const sis_opt *opt, double *numbers) {
    const sis_rated *x = &m->items[i];
    sis_part part = {&ev->subjects[x->example].input, x->features, x->n_features, 0};
    size_t kept[SIS_N_CUTS];
    int error = sis_stability_measure(model, &part, opt, ev->o->samples, ev->o->seed + i, kept);
    for (size_t k = 0; error == SIS_OK && k < SIS_N_CUTS; k++)
        numbers[k] = (double)kept[k];
    return error;
}

static void keep_stability(const sis__evaluation *ev, sis__method *m, size_t i,
                           const double *numbers) {
    double all = 0;
    for (size_t k = 0; k < SIS_N_CUTS; k++) {
        m->kept[k] += (size_t)numbers[k];
        all += numbers[k];
    }
    m->items[i].measures[SIS_MEASURE_STABLE] = all / (double)(SIS_N_CUTS * ev->o->samples);
}

/* ---- Agreement with the first file --------------------------------------------------------- */

static int same_subsets(const sis_collection *a, const sis_collection *b) {
    if (a->n_subsets != b->n_subsets)
        return 0;
    for (size_t k = 0; k < a->n_subsets; k++) {
        sis_overlap o;
        if (sis_overlap_measure(a->subsets[k].features, a->subsets[k].n, b->subsets[k].features,
                                b->subsets[k].n, &o) != SIS_OK ||
            o.jaccard < 1)
            return 0;
    }
    return 1;
}

/* Agreement of an example's subsets with those in the first file. */
static int measure_agreement(const sis__evaluation *ev, const sis__method *m, size_t e) {
    const sis_collection *a = &m->of[e]->collection, *b = &ev->methods[0].of[e]->collection;
    double *of = m->items[m->first[e]].measures;
    int *x = SIS_NEW(int, a->n_features), *y = SIS_NEW(int, a->n_features);
    sis_overlap o = {0};
    int error =
        x && y ? sis_overlap_measure(x, list_chosen(a, x), y, list_chosen(b, y), &o) : SIS_E_NOMEM;
    of[SIS_MEASURE_SAME] = same_subsets(a, b);
    of[SIS_MEASURE_JACCARD] = o.jaccard;
    free(x);
    free(y);
    return error;
}

/* ---- All metrics --------------------------------------------------------------------------- */

enum { RANKING_NUMBERS = sizeof(sis_faithfulness) / sizeof(double) }; /* numbers per ranking */

/* The numbers of an example: for each method its ranking, then its rationales. */
static size_t count_metrics(const sis__evaluation *ev, size_t e) {
    return RANKING_NUMBERS * ev->n_methods + SIS_N_CUTS * sis__n_alone(ev, e);
}

static int find_metrics(const sis__evaluation *ev, size_t e, const sis_model *model,
                        const sis_opt *opt, double *numbers) {
    int error = SIS_OK;
    for (size_t k = 0; error == SIS_OK && k < ev->n_methods; k++) {
        const sis__method *m = &ev->methods[k];
        error = find_ranking(ev, m, e, model, opt, numbers);
        numbers += RANKING_NUMBERS;
        for (size_t i = m->first[e]; error == SIS_OK && i < m->first[e + 1]; i++) {
            error = find_stability(ev, m, i, model, opt, numbers);
            numbers += SIS_N_CUTS;
        }
    }
    return error;
}

static int keep_metrics(sis__evaluation *ev, size_t e, const double *numbers) {
    int error = SIS_OK;
    for (size_t k = 0; error == SIS_OK && k < ev->n_methods; k++) {
        sis__method *m = &ev->methods[k];
        keep_ranking(m, e, numbers);
        numbers += RANKING_NUMBERS;
        for (size_t i = m->first[e]; i < m->first[e + 1]; i++, numbers += SIS_N_CUTS)
            keep_stability(ev, m, i, numbers);
        if (k > 0)
            error = measure_agreement(ev, m, e);
    }
    return error;
}

int sis__evaluate_metrics(sis__evaluation *ev) {
    /* Prompts need no hot deck: their parts are left out, and parts of others would not fit. */
    int error = ev->subjects->record->prompted ? SIS_OK : need_deck(ev, "--metrics");
    for (size_t k = 0; error == SIS_OK && k < ev->n_methods; k++) {
        sis__method *m = &ev->methods[k];
        m->faithfulness = sis__held_room(ev->held, ev->n_subjects, sizeof *m->faithfulness);
        error = m->faithfulness ? SIS_OK : SIS_E_NOMEM;
    }
    if (error == SIS_OK)
        error = sis__evaluate_each(
            ev, &(sis__measuring){&ev->all, count_metrics, find_metrics, keep_metrics});
    return error;
}

/* ---- Comparison of mask and hot deck ------------------------------------------------------- */

int sis__evaluate_imputation(sis__evaluation *ev) {
    size_t n = ev->o->draws;
    double *by_mask = sis__held_room(ev->held, n, sizeof *by_mask);
    double *by_deck = sis__held_room(ev->held, n, sizeof *by_deck);
    sis_opt opt;
    sis_opt_init(&opt);
    opt.jobs = ev->o->search.jobs;
    opt.memory = ev->o->search.memory;
    int error = by_mask && by_deck ? need_deck(ev, "--imputation") : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = sis_deck_study(ev->deck, sis_task_model(ev->all.task), &opt, n, ev->o->seed,
                               by_mask, by_deck);
    ev->out->n_draws = n;
    ev->out->by_mask = by_mask;
    ev->out->by_hotdeck = by_deck;
    return error;
}
