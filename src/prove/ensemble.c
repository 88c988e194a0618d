/* SPDX-License-Identifier: MIT
 *
 * See ensemble.h.
 */
#include "prove/ensemble.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/ops/trees.h"
#include "net/plan/net.h"

struct sis__ensemble {
    sis__plan *plan; /* whose memory the trees are in */
    const sis__trees *t;
    sis__booster b; /* a view of t */
};

/* ---- Reading --------------------------------------------------------------------------------- */

static int renames(const sis__step *s) {
    return s->ops == &sis__op_identity || s->ops == &sis__op_zip_map;
}

/* The step that makes a tensor, but for those that only give it another name. */
static const sis__step *maker_of(const sis__plan *p, int *tensor) {
    for (size_t i = p->n_steps; i-- > 0;) {
        const sis__step *s = &p->steps[i];
        for (size_t k = 0; k < s->n_outputs; k++)
            if (s->outputs[k] == *tensor && renames(s)) {
                *tensor = s->inputs[0];
                break;
            } else if (s->outputs[k] == *tensor)
                return s;
    }
    return NULL;
}

/* The trees that make the scores of the input itself; NULL: there are none such. */
static const sis__trees *find_trees(const sis_net *net, const sis__plan *p) {
    int output = net->output;
    const sis__step *s = maker_of(p, &output);
    int classifier = s && s->ops == &sis__op_tree_ensemble_classifier;
    if (!s || (!classifier && s->ops != &sis__op_tree_ensemble_regressor) ||
        s->outputs[classifier ? 1 : 0] != output)
        return NULL;
    int input = s->inputs[0];
    return maker_of(p, &input) == NULL && input == net->input ? s->p.trees : NULL;
}

static int view(sis__ensemble *e) {
    const sis__trees *t = e->t;
    sis__booster *b = &e->b;
    int mean = t->forest.how == SIS__TREES_AVERAGE;
    *b = (sis__booster){.forest = t->forest, .divisor = 1, .scale = 1};
    if (mean)
        b->divisor = (double)t->forest.n_trees;
    b->forest.single = 1; /* rows are floats, and so are sums in the end */
    b->forest.base = SIS_NEW(double, t->forest.n_sums);
    for (size_t k = 0; b->forest.base && t->base && k < t->forest.n_sums; k++)
        b->forest.base[k] = t->base[k] * b->divisor;
    return b->forest.base ? SIS_OK : SIS_E_NOMEM;
}

int sis__ensemble_new(const sis_model *model, sis__ensemble **out) {
    const sis_net *net = sis_model_net(model);
    *out = NULL;
    if (!net || net->embedding >= 0 || net->final != SIS__FINAL_NONE || sis_net_values(net) == 0)
        return SIS_OK;
    sis__ensemble *e = SIS_NEW(sis__ensemble, 1);
    int error = e ? sis__net_plan_row(net, &e->plan) : SIS_E_NOMEM;
    if (!error)
        e->t = find_trees(net, e->plan);
    int fits = !error && e->t && e->plan->tensors[net->input].dtype == SIS__F32 && e->t->n == 1 &&
               e->t->forest.width == model->n_values;
    if (fits && e->t->post == SIS__POST_SOFTMAX_ZERO)
        error = sis__fail(SIS_E_UNSUPPORTED, "nothing can be proved of a tree ensemble that leaves "
                                             "sums of 0 out of its softmax (SOFTMAX_ZERO)");
    if (fits && !error)
        error = view(e);
    if (fits && !error) {
        *out = e;
        return SIS_OK;
    }
    sis__ensemble_free(e);
    return error;
}

void sis__ensemble_free(sis__ensemble *e) {
    if (!e)
        return;
    if (e->b.forest.single) /* there is a view, whose base is its own */
        free(e->b.forest.base);
    sis__plan_free(e->plan);
    free(e);
}

const sis__booster *sis__ensemble_booster(const sis__ensemble *e) {
    return &e->b;
}

size_t sis__ensemble_outputs(const sis__ensemble *e) {
    return e->t->outputs;
}

/* ---- Scores ---------------------------------------------------------------------------------- */

void sis__ensemble_scores(const sis__ensemble *e, const double *row, const sis__ensemble_scratch *t,
                          float *scores) {
    for (size_t j = 0; j < e->t->forest.width; j++)
        t->row[j] = (double)(float)row[j];
    sis__forest_sums(&e->t->forest, t->row, t->sums, t->seen);
    sis__trees_round(e->t, t->sums, scores);
    sis__trees_finish(e->t, scores);
}

int sis__ensemble_decided(const sis__ensemble_decision *d, const float *scores, size_t outputs) {
    for (size_t k = 0; d->keep_class && k < outputs; k++)
        if (scores[k] > scores[d->output])
            return 0;
    double score = (double)scores[d->output];
    return d->keep_class || (d->below ? score <= d->threshold : score >= d->threshold);
}

/* ---- Where a decision begins ----------------------------------------------------------------- */

/* Floats as integers in the same order. */
static float at_rank(int32_t rank) {
    uint32_t bits = rank < 0 ? (uint32_t)INT32_MIN - (uint32_t)rank : (uint32_t)rank;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static int32_t rank_of(float v) {
    int32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits < 0 ? (int32_t)((uint32_t)INT32_MIN - (uint32_t)bits) : bits;
}

static int decided_at(const sis__ensemble *e, const sis__ensemble_decision *d, float raw,
                      float *scores) {
    memset(scores, 0, e->t->outputs * sizeof *scores);
    scores[e->t->single ? 0 : d->output] = raw;
    sis__trees_finish(e->t, scores);
    return sis__ensemble_decided(d, scores, e->t->outputs);
}

/* The first float with the decision, going up (sign 1) or down (-1); the last if none has it. */
static double bisect(const sis__ensemble *e, const sis__ensemble_decision *d, int sign,
                     float *scores) {
    int32_t low = rank_of(-FLT_MAX), high = rank_of(FLT_MAX);
    while (low < high) {
        int32_t middle = (int32_t)(low + ((int64_t)high - low) / 2);
        if (decided_at(e, d, (float)sign * at_rank(middle), scores))
            high = middle;
        else
            low = middle + 1;
    }
    return (double)((float)sign * at_rank(low));
}

int sis__ensemble_cut_of(const sis__ensemble *e, const sis__ensemble_decision *d,
                         sis__ensemble_cut *out) {
    const sis__trees *t = e->t;
    *out = (sis__ensemble_cut){.of_one = t->single || !d->keep_class};
    if (!out->of_one)
        return SIS_OK;
    if (!t->single && t->post == SIS__POST_SOFTMAX)
        return sis__fail(
            SIS_E_UNSUPPORTED,
            "of several classes only that one stays on top can be proved, not that its "
            "probability does");
    float *scores = SIS_NEW(float, t->outputs);
    if (!scores)
        return SIS_E_NOMEM;
    int falls = t->single && d->output == 0; /* the score of the first class, as the sum rises */
    out->sum = t->single ? 0 : d->output;
    out->least = (d->below && !d->keep_class) == falls;
    out->value = bisect(e, d, out->least ? 1 : -1, scores);
    free(scores);
    return SIS_OK;
}
