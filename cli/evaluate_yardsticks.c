/* SPDX-License-Identifier: MIT
 *
 * The field's yardsticks (--yardsticks): what the ranking behind a rationale is worth where it is
 * cut, how often rationales stay enough when others come back, whether two files found the same.
 * Agreement with people (--human) is measured feature by feature here, too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "evaluate.h"

/* ---- Rankings -------------------------------------------------------------------------------- */

/* All features of all subsets of a record, each once: to `out` (n_features), as many as returned. */
static size_t list_chosen(const sis_collection *c, int *out) {
    size_t n = 0;
    for (size_t k = 0; k < c->n_subsets; k++)
        for (size_t i = 0; i < c->subsets[k].n; i++)
            out[n++] = c->subsets[k].features[i];
    return n;
}

/* The most important first: the order of the first selection turned round, if it was kept (--trace);
 * otherwise the subsets one after the other. */
static size_t rank_features(const sis_collection *c, int *out) {
    const sis_trace *t = &c->subsets[0].trace;
    if (!t->order || t->n != c->n_features)
        return list_chosen(c, out);
    for (size_t i = 0; i < t->n; i++)
        out[i] = t->order[t->n - 1 - i];
    return t->n;
}

static int find_ranking(const evaluation *ev, const eval_method *m, size_t e,
                        const sis_model *model, const sis_opt *opt, double *numbers) {
    const sis_record *r = m->of[e];
    int *order = SIS_NEW(int, r->collection.n_features);
    if (!order)
        return SIS_E_NOMEM;
    sis_ranking ranking = {.input = &ev->examples[e].input,
                           .order = order,
                           .n = rank_features(&r->collection, order),
                           .deck = ev->deck,
                           .samples = cli_draws(&ev->o->question),
                           .seed = ev->o->question.seed + e};
    int error = sis_faithfulness_measure(model, &ranking, opt, (sis_faithfulness *)(void *)numbers);
    free(order);
    return error;
}

static void keep_ranking(eval_method *m, size_t e, const double *numbers) {
    eval_rationale *first = &m->items[m->first[e]];
    sis_faithfulness *found = &m->faithfulness[e];
    memcpy(found, numbers, sizeof *found);
    first->sufficiency = sis_sample_mean(found->sufficiency, SIS_N_CUTS);
    first->comprehensiveness = sis_sample_mean(found->comprehensiveness, SIS_N_CUTS);
    first->pgi = sis_sample_mean(found->pgi, SIS_N_CUTS);
    first->pgu = sis_sample_mean(found->pgu, SIS_N_CUTS);
}

/* ---- Stability ------------------------------------------------------------------------------- */

/* Of rationale i, how many draws hold at each cut. */
static int find_stability(const evaluation *ev, const eval_method *m, size_t i,
                          const sis_model *model, const sis_opt *opt, double *numbers) {
    const eval_rationale *x = &m->items[i];
    sis_part part = {&ev->examples[x->example].input, x->features, (size_t)x->length, 0};
    size_t held[SIS_N_CUTS];
    int error = sis_stability_measure(model, &part, opt, cli_draws(&ev->o->question),
                                      ev->o->question.seed + i, held);
    for (size_t k = 0; error == SIS_OK && k < SIS_N_CUTS; k++)
        numbers[k] = (double)held[k];
    return error;
}

static void keep_stability(const evaluation *ev, eval_method *m, size_t i, const double *numbers) {
    double all = 0;
    for (size_t k = 0; k < SIS_N_CUTS; k++) {
        m->held[k] += (size_t)numbers[k];
        all += numbers[k];
    }
    m->items[i].stable = all / (double)(SIS_N_CUTS * cli_draws(&ev->o->question));
}

/* ---- The same again? ------------------------------------------------------------------------- */

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

/* Against the subsets that the first file has of the example. */
static int measure_same(const evaluation *ev, eval_method *m, size_t e) {
    const sis_collection *a = &m->of[e]->collection, *b = &ev->methods[0].of[e]->collection;
    eval_rationale *first = &m->items[m->first[e]];
    int *x = cli_grab(a->n_features, sizeof *x), *y = cli_grab(a->n_features, sizeof *y);
    sis_overlap o = {0};
    int status = x && y
                     ? cli_fail(sis_overlap_measure(x, list_chosen(a, x), y, list_chosen(b, y), &o))
                     : CLI_FAILED;
    first->same = same_subsets(a, b);
    first->jaccard = o.jaccard;
    free(x);
    free(y);
    return status;
}

/* ---- People ---------------------------------------------------------------------------------- */

/* Everything that the method shows of an example, as one set, against what a person marked. */
static int measure_tokens(const evaluation *ev, eval_method *m, size_t e) {
    const sis_record *r = ev->examples[e].record;
    size_t n = 0;
    sis_overlap o;
    int *shown = cli_grab(r->collection.n_features, sizeof *shown);
    if (!shown)
        return CLI_FAILED;
    for (size_t i = m->first[e]; i < m->first[e + 1]; i++)
        for (size_t k = 0; k < (size_t)m->items[i].length; k++)
            shown[n++] = m->items[i].features[k];
    int status = cli_fail(sis_overlap_measure(shown, n, r->drawing.human, r->drawing.n_human, &o));
    m->items[m->first[e]].token_f1 = o.f1;
    m->items[m->first[e]].iou_f1 = o.iou_f1;
    free(shown);
    return status;
}

int eval_tokens(evaluation *ev) {
    int status = CLI_DONE;
    for (size_t k = 0; k < ev->n_methods; k++)
        for (size_t e = 0; status == CLI_DONE && e < ev->n_examples; e++)
            if (ev->examples[e].record->drawing.human &&
                ev->examples[e].record->drawing.n_human > 0)
                status = measure_tokens(ev, &ev->methods[k], e);
    return status;
}

/* ---- All of them ----------------------------------------------------------------------------- */

enum { RANKING = sizeof(sis_faithfulness) / sizeof(double) };

/* Of each method its ranking, then its rationales. */
static size_t count_numbers(const evaluation *ev, size_t e) {
    return RANKING * ev->n_methods + SIS_N_CUTS * eval_n_alone(ev, e);
}

static int find_numbers(const evaluation *ev, size_t e, const sis_model *model, const sis_opt *opt,
                        double *numbers) {
    int error = SIS_OK;
    for (size_t k = 0; error == SIS_OK && k < ev->n_methods; k++) {
        const eval_method *m = &ev->methods[k];
        error = find_ranking(ev, m, e, model, opt, numbers);
        numbers += RANKING;
        for (size_t i = m->first[e]; error == SIS_OK && i < m->first[e + 1]; i++) {
            error = find_stability(ev, m, i, model, opt, numbers);
            numbers += SIS_N_CUTS;
        }
    }
    return error;
}

static int keep_numbers(evaluation *ev, size_t e, const double *numbers) {
    int status = CLI_DONE;
    for (size_t k = 0; status == CLI_DONE && k < ev->n_methods; k++) {
        eval_method *m = &ev->methods[k];
        keep_ranking(m, e, numbers);
        numbers += RANKING;
        for (size_t i = m->first[e]; i < m->first[e + 1]; i++, numbers += SIS_N_CUTS)
            keep_stability(ev, m, i, numbers);
        if (k > 0)
            status = measure_same(ev, m, e);
    }
    return status;
}

int eval_yardsticks(evaluation *ev) {
    int status = eval_open_deck(ev, "--yardsticks", &ev->deck);
    for (size_t k = 0; status == CLI_DONE && k < ev->n_methods; k++) {
        eval_method *m = &ev->methods[k];
        m->faithfulness = cli_grab(ev->n_examples, sizeof *m->faithfulness);
        status = m->faithfulness ? CLI_DONE : CLI_FAILED;
    }
    if (status == CLI_DONE)
        status =
            eval_each(ev, &(eval_measure){&ev->task, count_numbers, find_numbers, keep_numbers});
    sis_deck_free(ev->deck);
    ev->deck = NULL;
    return status;
}

/* ---- Cut by cut ------------------------------------------------------------------------------ */

static double mean_at(const evaluation *ev, const eval_method *m, int curve, size_t cut) {
    double sum = 0;
    for (size_t e = 0; e < ev->n_examples; e++) {
        const sis_faithfulness *f = &m->faithfulness[e];
        sum += curve == SIS_CURVE_SUFFICIENCY         ? f->sufficiency[cut]
               : curve == SIS_CURVE_COMPREHENSIVENESS ? f->comprehensiveness[cut]
               : curve == SIS_CURVE_PGI               ? f->pgi[cut]
                                                      : f->pgu[cut];
    }
    return sum / (double)ev->n_examples;
}

void eval_curves(const evaluation *ev, const eval_method *m,
                 double curves[SIS_N_CURVES][SIS_N_CUTS]) {
    size_t draws = m->n_items * cli_draws(&ev->o->question);
    for (size_t k = 0; k < SIS_N_CUTS; k++) {
        for (int c = SIS_CURVE_SUFFICIENCY; c <= SIS_CURVE_PGU; c++)
            curves[c][k] = mean_at(ev, m, c, k);
        curves[SIS_CURVE_PERCENT][k] = sis_cut_percent(k);
        curves[SIS_CURVE_STABLE][k] = (double)m->held[k] / (double)draws;
        sis_share_interval(m->held[k], draws, 0.95, &curves[SIS_CURVE_STABLE_LOW][k],
                           &curves[SIS_CURVE_STABLE_HIGH][k]);
    }
}
