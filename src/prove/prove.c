/* SPDX-License-Identifier: MIT
 *
 * sis/prove.h over trees.c: scores become margins, features columns.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/prove.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/forest.h"
#include "prove/trees.h"

void sis_prove_opt_init(sis_prove_opt *opt) {
    *opt = (sis_prove_opt){.threshold = NAN, .branches = 1000000};
}

void sis_proven_release(sis_proven *p) {
    free(p->features);
    *p = (sis_proven){0};
}

/* ---- Thresholds ------------------------------------------------------------------------------ */

/* Doubles as integers in the same order. */
static double at_rank(int64_t rank) {
    uint64_t bits = rank < 0 ? (uint64_t)INT64_MIN - (uint64_t)rank : (uint64_t)rank;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static int64_t rank_of(double v) {
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits < 0 ? (int64_t)((uint64_t)INT64_MIN - (uint64_t)bits) : bits;
}

/* The margin at which the decision begins: the least with which a score is decided (below: the
 * greatest), infinite if none is. */
static double margin_of(const sis_model *m, const sis_prove_opt *opt) {
    int sign = opt->below ? -1 : 1;
    int64_t low = rank_of(-INFINITY), high = rank_of(INFINITY); /* in the direction of `sign` */
    while (low < high) {
        int64_t middle = low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
        double margin = sign * at_rank(middle);
        if (sis_decided(m->link ? m->link(margin) : margin, opt->threshold, opt->below))
            high = middle;
        else
            low = middle + 1;
    }
    return sign * at_rank(low);
}

/* ---- Questions ------------------------------------------------------------------------------- */

typedef struct {
    sis__prover *prover;
    sis__prove_question q;
} question;

static size_t top_output(const sis_model *m, const sis_input *input, int *error) {
    double *margins = SIS_NEW(double, m->n_outputs);
    size_t best = 0;
    *error = margins ? m->predict(m->ctx, input->values, 1, input->n_values, margins) : SIS_E_NOMEM;
    for (size_t k = 1; !*error && k < m->n_outputs; k++)
        if (margins[k] > margins[best])
            best = k;
    free(margins);
    return best;
}

static int question_init(question *t, const sis_model *m, const sis_input *input,
                         const sis_prove_opt *opt) {
    const sis__booster *b = sis__model_booster(m);
    *t = (question){0};
    if (!b)
        return sis__fail(SIS_E_UNSUPPORTED, "only decisions of XGBoost's and LightGBM's trees can "
                                            "be proved for every value");
    if (!opt->keep_class && isnan(opt->threshold))
        return sis__fail(SIS_E_ARGUMENT, "no threshold was set");
    if (input->n_values != m->n_values)
        return sis__fail(SIS_E_ARGUMENT, "the model takes %zu values, the input has %zu",
                         m->n_values, input->n_values);
    long n = sis_input_features(input);
    int error = n < 0 ? (int)n : SIS_OK;
    t->q = (sis__prove_question){.row = input->values,
                                 .feature_of = input->feature_of,
                                 .n_features = error ? 0 : (size_t)n,
                                 .low = opt->low,
                                 .high = opt->high,
                                 .missing = opt->missing,
                                 .output = input->output,
                                 .most = opt->branches};
    if (!error && opt->keep_class)
        t->q.output = top_output(m, input, &error);
    if (!opt->keep_class) {
        t->q.what = opt->below ? SIS__PROVE_AT_MOST : SIS__PROVE_AT_LEAST;
        t->q.threshold = margin_of(m, opt);
    }
    return error ? error : sis__prover_new(b, &t->prover);
}

/* What is kept, from the end of the order. */
static int list_kept(const int *order, const unsigned char *kept, size_t n, sis_proven *out) {
    out->features = SIS_NEW(int, n);
    for (size_t i = n; out->features && i-- > 0;)
        if (kept[order[i]])
            out->features[out->n++] = order[i];
    return out->features ? SIS_OK : SIS_E_NOMEM;
}

int sis_prove_subset(const sis_model *model, const sis_input *input, const sis_prove_opt *opt,
                     sis_proven *out) {
    question t;
    *out = (sis_proven){0};
    int error = question_init(&t, model, input, opt);
    int *order = SIS_NEW(int, t.q.n_features);
    unsigned char *kept = SIS_NEW(unsigned char, t.q.n_features);
    if (!error && (!order || !kept))
        error = SIS_E_NOMEM;
    if (!error)
        error = sis__prove_order(t.prover, &t.q, order);
    if (!error)
        error = sis__prove_minimal(t.prover, &t.q, order, kept, &out->proved);
    if (!error)
        error = list_kept(order, kept, t.q.n_features, out);
    if (error)
        sis_proven_release(out);
    free(order);
    free(kept);
    sis__prover_free(t.prover);
    return error;
}

int sis_prove_check(const sis_model *model, const sis_input *input, const sis_prove_opt *opt,
                    const int *features, size_t n, int *holds, double *example) {
    question t;
    sis__proof proof = SIS__PROOF_NONE;
    *holds = -1;
    int error = question_init(&t, model, input, opt);
    unsigned char *kept = SIS_NEW(unsigned char, t.q.n_features);
    if (!error && !kept)
        error = SIS_E_NOMEM;
    for (size_t i = 0; !error && i < n; i++) {
        if (features[i] < 0 || (size_t)features[i] >= t.q.n_features)
            error = sis__fail(SIS_E_ARGUMENT, "feature %d, the input has 0 to %zu", features[i],
                              t.q.n_features - 1);
        else
            kept[features[i]] = 1;
    }
    if (!error)
        error = sis__prove(t.prover, &t.q, kept, &proof, example);
    if (!error)
        *holds = proof == SIS__PROOF_HOLDS ? 1 : proof == SIS__PROOF_FAILS ? 0 : -1;
    free(kept);
    sis__prover_free(t.prover);
    return error;
}
