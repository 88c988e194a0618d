/* SPDX-License-Identifier: MIT
 *
 * sis/prove.h: the oracle for an opened model; collections and audits that ask it. A subset is what
 * remains when features are given up one by one as long as the decision is proved to stay. With its
 * features free the remaining ones may be sufficient again, and so on until they are not.
 */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/model.h>
#include <sis/prove.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/order.h"
#include "model/forest.h"
#include "prove/attack.h"
#include "prove/nets.h"
#include "prove/sets.h"
#include "prove/trees.h"

void sis_prove_opt_init(sis_prove_opt *opt) {
    *opt = (sis_prove_opt){.threshold = NAN, .branches = 1000000, .tries = 256, .seed = 1};
}

/* ---- Models ---------------------------------------------------------------------------------- */

struct sis_prover {
    const sis_model *model;
    sis__ensemble *ensemble; /* of an ONNX file; `trees` refers to it */
    sis__prover *trees;
    sis__circuit *circuit; /* exactly one of trees and circuit is set */
};

/* Read a network as trees or as a circuit. */
static int read_net(sis_prover *p) {
    int error = sis__ensemble_new(p->model, &p->ensemble);
    if (error)
        return error;
    return p->ensemble ? sis__prover_of_ensemble(p->ensemble, &p->trees)
                       : sis__circuit_of_net(p->model, &p->circuit);
}

int sis_prover_new(const sis_model *model, sis_prover **out) {
    const sis__booster *b = sis__model_booster(model);
    const sis_net *net = b ? NULL : sis_model_net(model);
    *out = NULL;
    if (!b && !net)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "--guarantee all does not support this model; it supports "
                         "XGBoost (.json, .ubj), LightGBM (.txt), and ONNX files of "
                         "trees, linear models or ReLU networks");
    sis_prover *p = SIS_NEW(sis_prover, 1);
    if (!p)
        return SIS_E_NOMEM;
    *p = (sis_prover){.model = model};
    int error = b && b->forest.linear ? sis__circuit_of_linear(b, &p->circuit)
                : b                   ? sis__prover_new(b, &p->trees)
                                      : read_net(p);
    if (error)
        sis_prover_free(p);
    else
        *out = p;
    return error;
}

void sis_prover_free(sis_prover *p) {
    if (!p)
        return;
    sis__prover_free(p->trees);
    sis__ensemble_free(p->ensemble);
    sis__circuit_free(p->circuit);
    free(p);
}

/* ---- Thresholds ------------------------------------------------------------------------------ */

static double score_at(const sis_model *m, double margin) {
    return m->link ? m->link(margin) : margin;
}

/* The margin where the decision begins: the smallest whose score reaches the threshold (below: the
 * largest), infinite if there is none. A score that equals the threshold in single precision also
 * has the decision (sis_decided), but scores between the two do not; it only counts if sums are
 * floats, which have no value between. */
static double margin_of(const sis_model *m, const sis_prove_opt *opt) {
    const sis__booster *b = sis__model_booster(m);
    int sign = opt->below ? -1 : 1;
    int64_t low = sis__double_rank(-INFINITY),
            high = sis__double_rank(INFINITY); /* in the direction of `sign` */
    while (low < high) {
        int64_t middle = low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
        if (sign * score_at(m, sign * sis__double_at(middle)) >= sign * opt->threshold)
            high = middle;
        else
            low = middle + 1;
    }
    double margin = sign * sis__double_at(low);
    if (!b || !b->forest.single || b->divisor != 1 || b->scale != 1)
        return margin;
    float next = (float)margin;
    if (sign * (double)next >= sign * margin)
        next = nextafterf(next, opt->below ? INFINITY : -INFINITY);
    return sis_decided(score_at(m, (double)next), opt->threshold, opt->below) ? (double)next
                                                                              : margin;
}

/* ---- One example ----------------------------------------------------------------------------- */

/* An example, its decision, and the options. */
typedef struct {
    const sis_prover *p;
    const sis_input *input;
    const sis_prove_opt *opt;
    sis_model model; /* its scores are those of the decision */
    double threshold;
    int below;
    size_t n;                   /* features */
    const unsigned char *fixed; /* (n) never changed; NULL: none */
    sis__oracle *o;
    sis__sets sets;
    size_t evaluations;
    double began;
    double margin; /* of the row that was scored or met last */
} query;

static double score_of(const query *t, double margin) {
    return score_at(&t->model, margin);
}

static int decided(const query *t, double score) {
    return sis_decided(score, t->threshold, t->below);
}

/* The score of a row. */
static int score_row(query *t, const double *row, double *score) {
    size_t output = t->input->output;
    double *margins = SIS_NEW(double, t->model.n_outputs);
    int error =
        margins ? t->model.predict(t->model.ctx, row, 1, t->input->n_values, margins) : SIS_E_NOMEM;
    t->evaluations++;
    if (!error && isnan(margins[output]))
        error = sis__fail(SIS_E_NAN, "the model returned NaN for output %zu", output);
    t->margin = error ? NAN : margins[output];
    *score = error ? NAN : score_of(t, margins[output]);
    free(margins);
    return error;
}

static int check_query(const query *t) {
    const sis_model *m = t->p->model;
    if (!t->opt->keep_class && isnan(t->opt->threshold))
        return sis__fail(SIS_E_ARGUMENT, "no threshold was set");
    if (t->input->n_values != m->n_values)
        return sis__fail(SIS_E_ARGUMENT, "the model takes %zu values, but the input has %zu",
                         m->n_values, t->input->n_values);
    if (t->input->output >= m->n_outputs)
        return sis__fail(SIS_E_ARGUMENT, "no output %zu: the model has %zu, numbered from 0",
                         t->input->output, m->n_outputs);
    if (t->opt->keep_class && m->n_outputs < 2)
        return sis__fail(SIS_E_ARGUMENT, "a model of one output has no classes; give a threshold");
    return SIS_OK;
}

static int query_init(query *t, const sis_prover *p, const sis_input *input,
                      const sis_prove_opt *opt) {
    *t = (query){.p = p, .input = input, .opt = opt, .model = *p->model, .began = sis__seconds()};
    t->threshold = opt->keep_class ? 0 : opt->threshold;
    t->below = !opt->keep_class && opt->below;
    t->fixed = opt->contrast ? opt->fixed : NULL;
    if (opt->keep_class)
        sis_model_argmax(p->model, &t->model);
    int error = check_query(t);
    long n = error ? error : sis_input_features(input);
    t->n = n < 0 ? 0 : (size_t)n;
    return n < 0 ? (int)n : SIS_OK;
}

/* Any statement holds for an empty range, so it is refused. NaN at both ends means that there is no
 * value: the feature must be allowed to be missing, and the model must support missing values. */
static int check_domain(const query *t) {
    const sis_prove_opt *opt = t->opt;
    const sis__circuit *c = t->p->circuit;
    for (size_t j = 0; j < t->input->n_values; j++) {
        double low = opt->low ? opt->low[j] : -INFINITY;
        double high = opt->high ? opt->high[j] : INFINITY;
        int missing = opt->missing && opt->missing[j];
        if (!(low <= high) && !missing)
            return sis__fail(SIS_E_ARGUMENT,
                             "--domain: the range of value %zu is empty, from %.9g to %.9g; the "
                             "example has %.9g",
                             j, low, high, t->input->values[j]);
        if (missing && c && !c->zero_if_missing)
            return sis__fail(SIS_E_ARGUMENT,
                             "--domain: value %zu may be missing, but a network has no "
                             "score for missing values; remove them from the data",
                             j);
    }
    return SIS_OK;
}

/* The question of an example, with the decision at this margin. */
static sis__prove_question question(const query *t, double margin, size_t branches) {
    const sis_prove_opt *opt = t->opt;
    sis__prove_question q = {.row = t->input->values,
                             .feature_of = t->input->feature_of,
                             .n_features = t->n,
                             .low = opt->low,
                             .high = opt->high,
                             .missing = opt->missing,
                             .output = t->input->output,
                             .one_of = opt->contrast,
                             .max = branches};
    if (!opt->keep_class) {
        q.what = opt->below ? SIS__PROVE_AT_MOST : SIS__PROVE_AT_LEAST;
        q.threshold = margin;
    }
    return q;
}

static void set_limits(const query *t, sis__oracle *o) {
    o->deadline = t->opt->time_limit > 0 ? t->began + t->opt->time_limit : 0;
    o->stop = t->opt->stop;
    o->stop_ctx = t->opt->stop_ctx;
    o->fixed = t->fixed;
}

/* Make the oracle of an example that has the decision. */
static int query_open(query *t) {
    const sis_prove_opt *opt = t->opt;
    sis__prove_question q =
        question(t, opt->keep_class ? 0 : margin_of(t->p->model, opt), opt->branches);
    const sis__circuit *c = t->p->circuit;
    if (c && (c->end == SIS__END_LOGISTIC || c->end == SIS__END_SHARES) && !opt->keep_class)
        q.threshold = opt->threshold < 1 ? log(opt->threshold / (1 - opt->threshold)) : INFINITY;
    const sis__net_question of_net = {.model = &t->model,
                                      .input = t->input,
                                      .low = opt->low,
                                      .high = opt->high,
                                      .missing = opt->missing,
                                      .keep_class = opt->keep_class,
                                      .below = t->below,
                                      .margin = q.threshold,
                                      .threshold = t->threshold};
    int error = check_domain(t);
    if (!error)
        error = t->p->trees ? sis__trees_oracle(t->p->trees, &q, &t->o)
                            : sis__net_oracle(t->p->circuit, &of_net, t->n, &t->o);
    if (!error)
        set_limits(t, t->o);
    return error ? error : sis__sets_init(&t->sets, t->o);
}

static void query_release(query *t) {
    sis__sets_release(&t->sets);
    sis__oracle_free(t->o);
}

/* The worst score that the adversary finds with these features kept. */
static int attack(query *t, const unsigned char *kept, double *score) {
    const sis__attack a = {.model = &t->model,
                           .output = t->input->output,
                           .below = t->below,
                           .o = t->o,
                           .tries = t->opt->tries,
                           .seed = t->opt->seed};
    double margin;
    int error = sis__attack_run(&a, kept, &margin, NULL, &t->evaluations);
    t->margin = error ? NAN : margin;
    *score = error ? NAN : score_of(t, margin);
    return error;
}

/* The adversary found a score in spite of a proof: does it have the decision? */
static int check_attack(const query *t, double score) {
    return decided(t, score) ? SIS_OK
                             : sis__fail(SIS_E_MODEL,
                                         "a proof is refuted by a score of %.9g; this is a bug of "
                                         "sis, please report it",
                                         score);
}

/* Is the decision proved with these features kept? *score: of an input that loses it, or the worst
 * that the adversary finds. */
static int examine(query *t, const unsigned char *kept, sis__proof *proof, double *score) {
    int error = sis__sets_ask(&t->sets, kept, proof, NULL);
    if (!error && *proof == SIS__PROOF_FAILS)
        return score_row(t, t->sets.example, score);
    if (!error)
        error = attack(t, kept, score);
    return !error && *proof == SIS__PROOF_HOLDS ? check_attack(t, *score) : error;
}

/* ---- Bounds ---------------------------------------------------------------------------------- */

enum { BOUND_ROUNDS = 20, BOUND_BRANCHES = 20000 };

/* Do all inputs with these features kept have at least this margin (below: at most)? FAILS: t->margin and *score are
 * those of one that has not. */
static int ask_margin(query *t, const unsigned char *kept, double margin, size_t branches,
                      sis__proof *proof, double *score) {
    sis__prove_question q = question(t, margin, branches);
    sis__oracle *o = NULL;
    double *row = SIS_NEW(double, t->input->n_values);
    *proof = SIS__PROOF_NONE;
    int error = row ? sis__trees_oracle(t->p->trees, &q, &o) : SIS_E_NOMEM;
    if (!error) {
        set_limits(t, o);
        error = o->ask(o, kept, proof, row);
    }
    if (!error && *proof == SIS__PROOF_FAILS)
        error = score_row(t, row, score);
    sis__oracle_free(o);
    free(row);
    return error;
}

/* A proved bound on the score with these features kept, of trees: a little beyond the worst score that was met, which
 * *score is and which becomes worse if a question finds a worse one. NaN: given up, or the threshold is all that is known. */
static int find_bound(query *t, const unsigned char *kept, double *score, double *bound) {
    int sign = t->below ? -1 : 1;
    double decision = margin_of(t->p->model, t->opt);
    size_t branches = t->opt->branches < BOUND_BRANCHES ? t->opt->branches : BOUND_BRANCHES;
    for (int round = 0; round < BOUND_ROUNDS; round++) {
        double met = t->margin, at = met - sign * 1e-6 * fmax(1, fabs(met)), found;
        sis__proof proof;
        if (!(sign * at > sign * decision) || !isfinite(at))
            return SIS_OK;
        int error = ask_margin(t, kept, at, branches, &proof, &found);
        if (error)
            return error;
        if (proof == SIS__PROOF_HOLDS)
            *bound = score_of(t, at);
        if (proof != SIS__PROOF_FAILS || !(sign * t->margin < sign * met))
            return SIS_OK;
        *score = found;
        error = check_attack(t, found);
        if (error)
            return error;
    }
    return SIS_OK;
}

/* ---- Collections ----------------------------------------------------------------------------- */

typedef struct {
    query *t;
    sis_collection *out;
    sis_guarantee *guarantee;
    int *order;          /* (n) order in which to give up features */
    unsigned char *kept; /* (n) */
    unsigned char *left; /* (n) not in a subset yet */
    double *nearest;     /* (n_values) */
    size_t cap;
} collecting;

/* A proved bound of the last subset, whose features are kept. */
static int add_bound(collecting *c, sis__proof proof, double *score) {
    sis_guarantee *g = c->guarantee;
    double bound = NAN;
    if (!c->t->p->trees || c->t->opt->keep_class)
        return SIS_OK;
    int error = proof == SIS__PROOF_HOLDS ? find_bound(c->t, c->kept, score, &bound) : SIS_OK;
    if (error)
        return error;
    double *bounds = sis__realloc(g->bounds, g->n_bounds + 1, sizeof *bounds);
    if (!bounds)
        return SIS_E_NOMEM;
    g->bounds = bounds;
    g->bounds[g->n_bounds++] = bound;
    return SIS_OK;
}

/* List the kept features, from the end of the order. */
static int list_kept(const collecting *c, sis_subset *s) {
    s->features = SIS_NEW(int, c->t->n);
    for (size_t i = c->t->n; s->features && i-- > 0;)
        if (c->kept[c->order[i]])
            s->features[s->n++] = c->order[i];
    return s->features ? SIS_OK : SIS_E_NOMEM;
}

/* Add a minimal subset of the remaining features, which are sufficient. */
static int add_subset(collecting *c) {
    sis_collection *out = c->out;
    int minimal;
    sis__proof proof;
    int error = sis__reserve(&out->subsets, &c->cap, out->n_subsets + 1, sizeof *out->subsets);
    if (error)
        return error;
    sis_subset *s = &out->subsets[out->n_subsets++];
    *s = (sis_subset){.trace.start = NAN};
    memcpy(c->kept, c->left, c->t->n);
    error = sis__sets_minimal(&c->t->sets, c->order, c->kept, &minimal);
    if (!error)
        error = examine(c->t, c->kept, &proof, &s->score);
    if (!error)
        error = add_bound(c, proof, &s->score);
    if (!error)
        error = list_kept(c, s);
    c->guarantee->minimal &= minimal;
    for (size_t i = 0; i < c->t->n; i++)
        c->left[i] &= !c->kept[i];
    return error;
}

/* Append a subset with these features. */
static int push_subset(collecting *c, double score) {
    sis_collection *out = c->out;
    int error = sis__reserve(&out->subsets, &c->cap, out->n_subsets + 1, sizeof *out->subsets);
    if (error)
        return error;
    sis_subset *s = &out->subsets[out->n_subsets++];
    *s = (sis_subset){.trace.start = NAN, .score = score};
    return list_kept(c, s);
}

/* Add subsets with the fewest features, in turn: a set that meets all known contrasts is
 * sufficient, or yields another contrast. */
static int add_smallest(collecting *c, sis__family *enough, sis__family *contrasts, int *found) {
    sis__proof proof;
    double score;
    int minimal;
    int error =
        sis__sets_smallest(&c->t->sets, c->order, enough, contrasts, c->kept, found, &minimal);
    if (error || *found == 0 ||
        (*found == -1 && enough->n)) /* given up: the first one is still sufficient */
        return error;
    c->guarantee->minimal &= minimal;
    error = examine(c->t, c->kept, &proof, &score);
    if (!error)
        error = add_bound(c, proof, &score);
    if (!error)
        error = sis__family_add(enough, c->kept);
    for (size_t i = 0; i < c->t->n; i++)
        c->left[i] &= !c->kept[i];
    return error ? error : push_subset(c, score);
}

static int find_smallest(collecting *c) {
    size_t max = c->t->opt->max_subsets ? c->t->opt->max_subsets : 1;
    sis__family enough = {.n_features = c->t->n}, contrasts = {.n_features = c->t->n};
    sis__proof rest = SIS__PROOF_NONE;
    int found = 1, error = sis__sets_order(&c->t->sets, c->order);
    memset(c->left, 1, c->t->n);
    while (!error && found == 1 && c->out->n_subsets < max)
        error = add_smallest(c, &enough, &contrasts, &found);
    c->guarantee->smallest = found != -1;
    if (!error)
        error = examine(c->t, c->left, &rest, &c->out->rest_score);
    c->out->complete = !error && rest == SIS__PROOF_FAILS;
    sis__family_release(&enough);
    sis__family_release(&contrasts);
    return error;
}

/* Replace the input that shows a contrast by the nearest one, in whole steps if possible. */
static int find_nearest(collecting *c, double *distance) {
    const sis_prove_opt *opt = c->t->opt;
    sis__oracle *o = c->t->o;
    int error = SIS_OK, proved = 0;
    *distance = NAN;
    sis__oracle_keep(o, c->kept, c->t->sets.kept);
    for (int whole = opt->step != NULL; !error && o->nearest && whole >= 0; whole--) {
        const sis__steps steps = {opt->scale, whole ? opt->step : NULL};
        double found;
        error = o->nearest(o, c->t->sets.kept, &steps, c->nearest, &found, &proved);
        if (!error && isfinite(found)) {
            *distance = found;
            memcpy(c->t->sets.example, c->nearest, o->width * sizeof *c->nearest);
            break;
        }
    }
    c->guarantee->nearest &= proved && !isnan(*distance);
    return error;
}

/* Append the example that shows a contrast. */
static int push_example(collecting *c, double distance) {
    sis_guarantee *g = c->guarantee;
    size_t width = c->t->input->n_values, n = g->n_examples + 1;
    double *more = (double *)sis__realloc(g->examples, n, width * sizeof *more);
    g->examples = more ? more : g->examples;
    double *distances =
        c->t->o->nearest ? (double *)sis__realloc(g->distances, n, sizeof *distances) : NULL;
    g->distances = distances ? distances : g->distances;
    if (!more || (c->t->o->nearest && !distances))
        return SIS_E_NOMEM;
    if (distances)
        distances[g->n_examples] = distance;
    memcpy(more + g->n_examples++ * width, c->t->sets.example, width * sizeof *more);
    return SIS_OK;
}

/* A minimal contrast claims a proof for each of its features: with that feature at its original
 * value, every input that keeps the others has the decision. */
static int attack_contrast(collecting *c) {
    int error = SIS_OK;
    double score;
    for (size_t f = 0; !error && f < c->t->n; f++) {
        if (c->kept[f])
            continue;
        c->kept[f] = 1;
        error = attack(c->t, c->kept, &score);
        c->kept[f] = 0;
        if (!error)
            error = check_attack(c->t, score);
    }
    return error;
}

static int add_contrast(collecting *c, sis__family *enough, sis__family *contrasts, int *found) {
    double score, distance = NAN;
    int minimal = 1;
    int error =
        sis__sets_next_contrast(&c->t->sets, c->order, enough, contrasts, c->kept, found, &minimal);
    if (!error && *found == -1 && c->out->n_subsets == 0) { /* any contrast, if there is one */
        memset(c->kept, 0, c->t->n);
        error = sis__sets_contrast(&c->t->sets, c->order, c->kept, &minimal);
        *found = -2;
    }
    if (error || *found == 0 || *found == -1)
        return error;
    error = find_nearest(c, &distance);
    if (!error)
        error = score_row(c->t, c->t->sets.example, &score);
    if (!error && decided(c->t, score))
        return sis__fail(SIS_E_UNSUPPORTED,
                         "no input without the decision was found within %zu "
                         "branches",
                         c->t->opt->branches);
    if (!error && minimal)
        error = attack_contrast(c);
    for (size_t i = 0; i < c->t->n; i++)
        c->kept[i] = !c->kept[i];
    c->guarantee->minimal &= minimal;
    if (!error)
        error = push_example(c, distance);
    if (!error)
        error = sis__family_add(contrasts, c->kept);
    return error ? error : push_subset(c, score);
}

/* Does one distance come before another? NaN comes last. */
static int is_nearer(double a, double b) {
    return isnan(b) ? !isnan(a) : a < b;
}

/* Sort contrasts by distance; keep at most `max`. */
static void sort_contrasts(collecting *c, size_t max) {
    sis_guarantee *g = c->guarantee;
    sis_collection *out = c->out;
    size_t width = c->t->input->n_values;
    for (size_t i = 0; i < out->n_subsets; i++)
        for (size_t k = i; k > 0 && is_nearer(g->distances[k], g->distances[k - 1]); k--) {
            double distance = g->distances[k], *row = g->examples + k * width;
            sis_subset subset = out->subsets[k];
            memcpy(c->nearest, row, width * sizeof *row);
            memcpy(row, row - width, width * sizeof *row);
            memcpy(row - width, c->nearest, width * sizeof *row);
            g->distances[k] = g->distances[k - 1];
            g->distances[k - 1] = distance;
            out->subsets[k] = out->subsets[k - 1];
            out->subsets[k - 1] = subset;
        }
    while (out->n_subsets > max)
        free(out->subsets[--out->n_subsets].features);
    g->n_examples = out->n_subsets;
}

static int note_fixed(collecting *c) {
    sis_guarantee *g = c->guarantee;
    g->fixed = SIS_NEW(int, c->t->n);
    for (size_t f = 0; g->fixed && f < c->t->n; f++)
        if (c->t->fixed[f])
            g->fixed[g->n_fixed++] = (int)f;
    return g->fixed ? SIS_OK : SIS_E_NOMEM;
}

enum { MAX_CONTRASTS = 1000 }; /* number of candidates for the nearest */

static int find_contrasts(collecting *c) {
    size_t wanted = c->t->opt->max_subsets ? c->t->opt->max_subsets : 1;
    size_t max = c->t->opt->cheapest ? MAX_CONTRASTS : wanted;
    sis__family enough = {.n_features = c->t->n}, contrasts = {.n_features = c->t->n};
    int found = 1, error = sis__sets_order(&c->t->sets, c->order);
    while (!error && found == 1 && c->out->n_subsets < max)
        error = add_contrast(c, &enough, &contrasts, &found);
    c->guarantee->smallest = found >= 0 && !c->t->opt->cheapest;
    c->out->rest_score = c->out->score;
    c->out->complete = !error && found == 0 && c->out->n_subsets <= wanted;
    if (!error && c->t->opt->cheapest) {
        sort_contrasts(c, wanted);
        c->guarantee->cheapest = found == 0 && c->guarantee->nearest;
    }
    sis__family_release(&enough);
    sis__family_release(&contrasts);
    return error;
}

static int find_subsets(collecting *c) {
    sis_collection *out = c->out;
    sis__proof rest;
    int error = sis__sets_order(&c->t->sets, c->order);
    memset(c->left, 1, c->t->n);
    do {
        if (!error)
            error = add_subset(c);
        if (!error)
            error = examine(c->t, c->left, &rest, &out->rest_score);
    } while (!error && rest == SIS__PROOF_HOLDS && out->n_subsets != c->t->opt->max_subsets);
    out->complete = !error && rest == SIS__PROOF_FAILS;
    return error;
}

/* If every input has the decision, no subset causes it. */
static int start_collecting(collecting *c) {
    sis_collection *out = c->out;
    sis__proof proof = SIS__PROOF_NONE;
    int error = score_row(c->t, c->t->input->values, &out->score);
    if (!error && c->t->fixed)
        error = note_fixed(c);
    out->rest_score = out->masked_score = out->score;
    out->complete = !error && !decided(c->t, out->score);
    out->status = out->complete ? SIS_STATUS_NOT_DECIDED : SIS_STATUS_EXPLAINED;
    if (error || out->complete)
        return error;
    error = query_open(c->t);
    if (!error)
        error = examine(c->t, c->kept, &proof, &out->masked_score);
    if (proof == SIS__PROOF_HOLDS)
        out->status = SIS_STATUS_DEFAULT_DECISION;
    if (error || proof == SIS__PROOF_HOLDS)
        return error;
    c->guarantee->nearest = c->t->opt->contrast;
    return c->t->opt->contrast   ? find_contrasts(c)
           : c->t->opt->smallest ? find_smallest(c)
                                 : find_subsets(c);
}

int sis_prove_collect(const sis_prover *p, const sis_input *input, const sis_prove_opt *opt,
                      sis_collection *out, sis_guarantee *guarantee) {
    query t;
    *out = (sis_collection){0};
    *guarantee = (sis_guarantee){.kind = SIS_GUARANTEE_ALL, .proved = 1, .minimal = 1};
    int error = query_init(&t, p, input, opt);
    collecting c = {.t = &t, .out = out, .guarantee = guarantee};
    c.order = SIS_NEW(int, t.n);
    c.kept = SIS_NEW(unsigned char, t.n);
    c.left = SIS_NEW(unsigned char, t.n);
    c.nearest = SIS_NEW(double, input->n_values);
    if (!error && opt->cheapest && !p->trees)
        error = sis__fail(SIS_E_UNSUPPORTED, "nearest contrasts need trees");
    if (!error)
        error = c.order && c.kept && c.left && c.nearest ? start_collecting(&c) : SIS_E_NOMEM;
    out->n_features = t.n;
    out->verified = 1;
    out->evaluations = t.evaluations;
    out->seconds = sis__seconds() - t.began;
    free(c.order);
    free(c.kept);
    free(c.left);
    free(c.nearest);
    query_release(&t);
    if (error) {
        sis_collection_release(out);
        sis_guarantee_release(guarantee);
    }
    return error;
}

/* ---- One question ---------------------------------------------------------------------------- */

/* Flags (n) of some features. */
static int flag(const query *t, const int *features, size_t n, unsigned char *kept) {
    memset(kept, 0, t->n);
    for (size_t i = 0; i < n; i++) {
        if (features[i] < 0 || (size_t)features[i] >= t->n)
            return sis__fail(SIS_E_ARGUMENT, "no feature %d; the input has 0 to %zu", features[i],
                             t->n - 1);
        kept[features[i]] = 1;
    }
    return SIS_OK;
}

int sis_prove_check(const sis_prover *p, const sis_input *input, const sis_prove_opt *opt,
                    const int *features, size_t n, int *holds, double *example) {
    query t;
    sis__proof proof = SIS__PROOF_NONE;
    double score;
    *holds = -1;
    int error = query_init(&t, p, input, opt);
    unsigned char *kept = SIS_NEW(unsigned char, t.n);
    if (!error)
        error = kept ? flag(&t, features, n, kept) : SIS_E_NOMEM;
    if (!error)
        error = query_open(&t);
    if (!error)
        error = examine(&t, kept, &proof, &score);
    if (!error && example && proof == SIS__PROOF_FAILS)
        memcpy(example, t.sets.example, input->n_values * sizeof *example);
    if (!error)
        *holds = proof == SIS__PROOF_NONE ? -1 : proof == SIS__PROOF_HOLDS;
    free(kept);
    query_release(&t);
    return error;
}

/* ---- Audits ---------------------------------------------------------------------------------- */

typedef struct {
    query *t;
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
        error = examine(a->t, a->kept, &proof, &score);
        a->kept[s->features[i]] = 1;
        if (error || proof != SIS__PROOF_FAILS || decided(a->t, score))
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
static double as_seen(const query *t, double x) {
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
    int error = score_row(a->t, row, &out->score);
    out->sufficient = !error && differs_in(a, row) && !decided(a->t, out->score);
    if (!error && !out->sufficient)
        refute(a, "contrast %zu: its example scores %.9g and keeps the decision", k, out->score);
    return error;
}

/* The same for a claim without an example: find one. All features except its own are flagged. */
static int find_example(auditing *a, size_t k, sis_subset_audit *out) {
    sis__proof proof = SIS__PROOF_NONE;
    int error = examine(a->t, a->kept, &proof, &out->score);
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
    int error = flag(a->t, s->features, s->n, a->kept);
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
        error = examine(a->t, a->kept, &proof, &score);
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
    int error =
        ask_margin(a->t, a->kept, margin_of(a->t->p->model, &opt), opt.branches, &proof, &score);
    if (!error && proof != SIS__PROOF_HOLDS)
        refute(a, "subset %zu: the bound %.9g is not shown; found %.9g", k, g->bounds[k], score);
    return error;
}

static int audit_subset(auditing *a, size_t k) {
    const sis_subset *s = &a->claim->subsets[k];
    sis_subset_audit *out = &a->out->subsets[k];
    sis__proof proof;
    int error = flag(a->t, s->features, s->n, a->kept);
    if (!error)
        error = examine(a->t, a->kept, &proof, &out->score);
    if (error)
        return error;
    out->sufficient = proof == SIS__PROOF_HOLDS && decided(a->t, out->score);
    if (!out->sufficient)
        refute(a, "subset %zu does not keep the decision: other values of the rest score %.9g", k,
               out->score);
    if (!decided(a->t, s->score))
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
    int error = query_open(a->t);
    if (!error)
        error = examine(a->t, a->kept, &proof, &a->out->masked_score);
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
        error = examine(a->t, a->left, &proof, &a->out->rest_score);
    a->out->complete = !error && proof == SIS__PROOF_FAILS;
    if (a->claim->complete && !a->out->complete)
        refute(a, "the rest still keeps the decision (%.9g)", a->out->rest_score);
    return error;
}

static int audit(auditing *a) {
    const sis_collection *claim = a->claim;
    sis_audit *out = a->out;
    int error = score_row(a->t, a->t->input->values, &out->score);
    if (error)
        return error;
    out->masked_score = out->rest_score = out->score;
    if (!(fabs(claim->score - out->score) <= 1e-4 * (1 + fabs(out->score))))
        refute(a, "score: claimed %.9g, found %.9g", claim->score, out->score);
    if (claim->n_features != a->t->n)
        refute(a, "number of features: claimed %zu, found %zu", claim->n_features, a->t->n);
    out->complete = !decided(a->t, out->score);
    if (out->complete != (claim->status == SIS_STATUS_NOT_DECIDED))
        refute(a, "status is \"%s\", but the example is %sdecided", sis_status_name(claim->status),
               out->complete ? "not " : "");
    return out->complete ? SIS_OK : audit_decided(a);
}

int sis_prove_audit(const sis_prover *p, const sis_input *input, const sis_prove_opt *opt,
                    const sis_collection *claim, const sis_guarantee *guarantee, sis_audit *out) {
    query t;
    *out = (sis_audit){.holds = 1, .n_values = input->n_values};
    int error = query_init(&t, p, input, opt);
    auditing a = {.t = &t, .claim = claim, .guarantee = guarantee, .out = out};
    a.kept = SIS_NEW(unsigned char, t.n);
    a.left = SIS_NEW(unsigned char, t.n);
    out->subsets = SIS_NEW(sis_subset_audit, claim->n_subsets);
    out->n_subsets = out->subsets ? claim->n_subsets : 0;
    unsigned char *fixed = SIS_NEW(unsigned char, t.n);
    if (!error && (!a.kept || !a.left || !out->subsets || !fixed))
        error = SIS_E_NOMEM;
    if (!error)
        error = flag(&t, guarantee->fixed, guarantee->n_fixed, fixed);
    if (!error) {
        t.fixed = fixed;
        memset(a.left, 1, t.n);
        error = audit(&a);
    }
    out->evaluations = t.evaluations;
    free(a.kept);
    free(a.left);
    free(fixed);
    query_release(&t);
    if (error)
        sis_audit_release(out);
    return error;
}
