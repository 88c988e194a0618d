/* SPDX-License-Identifier: MIT
 *
 * Implements sis/prove.h: makes the oracle for an opened model, and answers single questions. See
 * query.h.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/model.h>
#include <sis/prove.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"
#include "model/forest.h"
#include "prove/attack.h"
#include "prove/query.h"

void sis_prove_opt_init(sis_prove_opt *opt) {
    *opt = (sis_prove_opt){.threshold = NAN, .branches = 1000000, .tries = 256, .seed = 1};
}

/* ---- Models ---------------------------------------------------------------------------------- */

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
double sis__query_margin(const sis_model *m, const sis_prove_opt *opt) {
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

static double score_of(const sis__query *t, double margin) {
    return score_at(&t->model, margin);
}

int sis__query_decided(const sis__query *t, double score) {
    return sis_decided(score, t->threshold, t->below);
}

int sis__query_score(sis__query *t, const double *row, double *score) {
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

static int check_query(const sis__query *t) {
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

int sis__query_init(sis__query *t, const sis_prover *p, const sis_input *input,
                    const sis_prove_opt *opt) {
    *t = (sis__query){
        .p = p, .input = input, .opt = opt, .model = *p->model, .began = sis__seconds()};
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
static int check_domain(const sis__query *t) {
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
static sis__prove_question question(const sis__query *t, double margin, size_t branches) {
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

static void set_limits(const sis__query *t, sis__oracle *o) {
    o->deadline = t->opt->time_limit > 0 ? t->began + t->opt->time_limit : 0;
    o->stop = t->opt->stop;
    o->stop_ctx = t->opt->stop_ctx;
    o->fixed = t->fixed;
}

int sis__query_open(sis__query *t) {
    const sis_prove_opt *opt = t->opt;
    sis__prove_question q =
        question(t, opt->keep_class ? 0 : sis__query_margin(t->p->model, opt), opt->branches);
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

void sis__query_release(sis__query *t) {
    sis__sets_release(&t->sets);
    sis__oracle_free(t->o);
}

int sis__query_attack(sis__query *t, const unsigned char *kept, double *score) {
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

int sis__query_check(const sis__query *t, double score) {
    return sis__query_decided(t, score)
               ? SIS_OK
               : sis__fail(SIS_E_MODEL,
                           "a proof is refuted by a score of %.9g; this is a bug of "
                           "sis, please report it",
                           score);
}

int sis__query_examine(sis__query *t, const unsigned char *kept, sis__proof *proof, double *score) {
    int error = sis__sets_ask(&t->sets, kept, proof, NULL);
    if (!error && *proof == SIS__PROOF_FAILS)
        return sis__query_score(t, t->sets.example, score);
    if (!error)
        error = sis__query_attack(t, kept, score);
    return !error && *proof == SIS__PROOF_HOLDS ? sis__query_check(t, *score) : error;
}

/* ---- Bounds ---------------------------------------------------------------------------------- */

enum { BOUND_ROUNDS = 20, BOUND_BRANCHES = 20000 };

int sis__query_ask_margin(sis__query *t, const unsigned char *kept, double margin, size_t branches,
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
        error = sis__query_score(t, row, score);
    sis__oracle_free(o);
    free(row);
    return error;
}

int sis__query_bound(sis__query *t, const unsigned char *kept, double *score, double *bound) {
    int sign = t->below ? -1 : 1;
    double decision = sis__query_margin(t->p->model, t->opt);
    size_t branches = t->opt->branches < BOUND_BRANCHES ? t->opt->branches : BOUND_BRANCHES;
    for (int round = 0; round < BOUND_ROUNDS; round++) {
        double met = t->margin, at = met - sign * 1e-6 * fmax(1, fabs(met)), found;
        sis__proof proof;
        if (!(sign * at > sign * decision) || !isfinite(at))
            return SIS_OK;
        int error = sis__query_ask_margin(t, kept, at, branches, &proof, &found);
        if (error)
            return error;
        if (proof == SIS__PROOF_HOLDS)
            *bound = score_of(t, at);
        if (proof != SIS__PROOF_FAILS || !(sign * t->margin < sign * met))
            return SIS_OK;
        *score = found;
        error = sis__query_check(t, found);
        if (error)
            return error;
    }
    return SIS_OK;
}

/* ---- One question ---------------------------------------------------------------------------- */

int sis__query_flag(const sis__query *t, const int *features, size_t n, unsigned char *kept) {
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
    sis__query t;
    sis__proof proof = SIS__PROOF_NONE;
    double score;
    *holds = -1;
    int error = sis__query_init(&t, p, input, opt);
    unsigned char *kept = SIS_NEW(unsigned char, t.n);
    if (!error)
        error = kept ? sis__query_flag(&t, features, n, kept) : SIS_E_NOMEM;
    if (!error)
        error = sis__query_open(&t);
    if (!error)
        error = sis__query_examine(&t, kept, &proof, &score);
    if (!error && example && proof == SIS__PROOF_FAILS)
        memcpy(example, t.sets.example, input->n_values * sizeof *example);
    if (!error)
        *holds = proof == SIS__PROOF_NONE ? -1 : proof == SIS__PROOF_HOLDS;
    free(kept);
    sis__query_release(&t);
    return error;
}
