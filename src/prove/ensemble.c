/* SPDX-License-Identifier: MIT
 *
 * Reads the tree ensemble of an ONNX file, moves its tests before the Scaler or Imputer, and finds
 * where a decision begins. See ensemble.h.
 */
#include "prove/ensemble.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"
#include "net/ops/encode.h"
#include "net/ops/ops.h"
#include "net/ops/trees.h"
#include "net/plan/net.h"

enum { MAX_FRONT = 8 };

struct sis__ensemble {
    sis__plan *plan; /* owns the memory of the trees */
    const sis__trees *t;
    sis__booster b;                    /* a view of t */
    sis__tree_node *nodes;             /* its nodes, if there are steps before the trees */
    const sis__step *front[MAX_FRONT]; /* element-wise steps, from the trees back to the input */
    size_t n_front;
};

/* ---- Reading --------------------------------------------------------------------------------- */

/* The step that computes a tensor, skipping those that only rename or reshape it. */
static const sis__step *maker_of(const sis__plan *p, int *tensor) {
    for (size_t i = p->n_steps; i-- > 0;) {
        const sis__step *s = &p->steps[i];
        for (size_t k = 0; k < s->n_outputs; k++)
            if (s->outputs[k] == *tensor && k == 0 && s->ops->trait == SIS__KEEPS) {
                *tensor = s->inputs[0];
                break;
            } else if (s->outputs[k] == *tensor)
                return s;
    }
    return NULL;
}

/* The step whose scores are the output, if it is a tree ensemble. */
static const sis__step *find_trees(const sis_net *net, const sis__plan *p) {
    int output = net->output;
    const sis__step *s = maker_of(p, &output);
    int classifier = s && s->ops == &sis__op_tree_ensemble_classifier;
    return s && (classifier || s->ops == &sis__op_tree_ensemble_regressor) &&
                   s->outputs[classifier ? 1 : 0] == output
               ? s
               : NULL;
}

/* Find the steps between the input and the trees: 0 if they are not element-wise. */
static int find_front(sis__ensemble *e, const sis_net *net, int tensor) {
    const sis__step *s;
    size_t width = e->plan->tensors[net->input].count;
    while ((s = maker_of(e->plan, &tensor))) {
        if (e->n_front == MAX_FRONT || e->plan->tensors[tensor].count != width ||
            e->plan->tensors[tensor].dtype != SIS__F32 ||
            (!sis__is(s, SIS__SCALES) && !sis__is(s, SIS__IMPUTES)))
            return 0;
        e->front[e->n_front++] = s;
        tensor = s->inputs[0];
    }
    return tensor == net->input;
}

/* ---- Steps before the trees ------------------------------------------------------------------ */

/* A value of a column as the trees see it. */
typedef struct {
    const sis__ensemble *e;
    sis__run *run;
    float *in;
    const float *out;
    size_t column;
} passing;

static float pass(const passing *p, float x) {
    p->in[p->column] = x;
    for (size_t i = p->e->n_front; i-- > 0;)
        p->e->front[i]->ops->forward(p->e->front[i], p->run);
    return p->out[p->column];
}

/* The first value for which a test after the front steps gives another result than for values below
 * it; infinite if there is none. Tests compare, and the front steps are monotone. */
static double turn_of(const passing *p, const sis__forest *f, const sis__tree_node *n) {
    int32_t low = sis__float_rank(-FLT_MAX), high = sis__float_rank(FLT_MAX);
    int below = n->mode == SIS__NODE_LEQ || n->mode == SIS__NODE_LT; /* the result at the low end */
    if (sis__forest_yes(f, n, (double)pass(p, FLT_MAX)) == below)
        return INFINITY;
    while (low < high) {
        int32_t middle = (int32_t)(low + ((int64_t)high - low) / 2);
        if (sis__forest_yes(f, n, (double)pass(p, sis__float_at(middle))) != below)
            high = middle;
        else
            low = middle + 1;
    }
    return (double)sis__float_at(low);
}

/* Replace a test by the equivalent test of the input value. */
static int move_test(passing *p, const sis__forest *f, sis__tree_node *n) {
    const sis__tree_node before = *n;
    p->column = n->feature;
    if (n->mode > SIS__NODE_GT)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "--guarantee all does not support trees that test for "
                         "equality (BRANCH_EQ, BRANCH_NEQ) after a Scaler or Imputer");
    float missing = pass(p, NAN);
    n->missing_yes = (unsigned char)sis__forest_yes(f, &before, (double)missing);
    n->value = turn_of(p, f, &before);
    n->mode = n->mode == SIS__NODE_LEQ || n->mode == SIS__NODE_LT ? SIS__NODE_LT : SIS__NODE_GTE;
    return SIS_OK;
}

/* Are the front steps monotone for each column? Checks the signs of scales, and the values that an
 * Imputer replaces. */
static int check_front(const sis__ensemble *e) {
    size_t width = e->t->forest.width;
    for (size_t i = 0; i < e->n_front; i++) {
        const sis__norm *m = &e->front[i]->p.norm;
        for (size_t j = 0; sis__is(e->front[i], SIS__SCALES) && j < width; j++)
            if (!(m->scale[j * m->scale_step] >= 0))
                return sis__fail(SIS_E_UNSUPPORTED,
                                 "--guarantee all does not support trees after a Scaler whose "
                                 "scale %zu is negative or not a number",
                                 j);
        if (sis__is(e->front[i], SIS__IMPUTES) && !sis__imputer_of_nan(e->front[i]))
            return sis__fail(SIS_E_UNSUPPORTED,
                             "--guarantee all supports trees after an Imputer only if it "
                             "replaces missing values (NaN)");
    }
    return SIS_OK;
}

static int move_tests(sis__ensemble *e, const sis_net *net, int trees_input) {
    const sis__forest *f = &e->t->forest;
    passing p = {.e = e};
    e->nodes = (sis__tree_node *)sis__copy(f->nodes, f->n_nodes, sizeof *f->nodes);
    int error = e->nodes ? sis__run_new(e->plan, &p.run) : SIS_E_NOMEM;
    if (!error) {
        p.in = (float *)p.run->data[net->input];
        p.out = (const float *)p.run->data[trees_input];
        memset(p.in, 0, f->width * sizeof *p.in);
        error = check_front(e);
    }
    for (size_t i = 0; !error && i < f->n_nodes; i++)
        if (e->nodes[i].mode != SIS__NODE_LEAF)
            error = move_test(&p, f, &e->nodes[i]);
    sis__run_free(p.run);
    return error;
}

/* ---- Ensembles ------------------------------------------------------------------------------- */

static int view(sis__ensemble *e) {
    const sis__trees *t = e->t;
    sis__booster *b = &e->b;
    int mean = t->forest.how == SIS__TREES_AVERAGE;
    *b = (sis__booster){.forest = t->forest, .divisor = 1, .scale = 1};
    if (mean)
        b->divisor = (double)t->forest.n_trees;
    b->forest.nodes = e->nodes ? e->nodes : t->forest.nodes;
    b->forest.single = 1; /* rows are floats, and so are the final sums */
    b->forest.base = SIS_NEW(double, t->forest.n_sums);
    for (size_t k = 0; b->forest.base && t->base && k < t->forest.n_sums; k++)
        b->forest.base[k] = t->base[k] * b->divisor;
    return b->forest.base ? SIS_OK : SIS_E_NOMEM;
}

static int check_trees(const sis__trees *t) {
    if (t->post == SIS__POST_SOFTMAX_ZERO)
        return sis__fail(SIS_E_UNSUPPORTED, "--guarantee all does not support the post_transform "
                                            "SOFTMAX_ZERO");
    if (t->post == SIS__POST_PROBIT)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "--guarantee all does not support the post_transform PROBIT");
    if (t->forest.how == SIS__TREES_MIN || t->forest.how == SIS__TREES_MAX)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "--guarantee all supports tree ensembles that aggregate by "
                         "SUM or AVERAGE, not by MIN or MAX");
    return SIS_OK;
}

int sis__ensemble_new(const sis_model *model, sis__ensemble **out) {
    const sis_net *net = sis_model_net(model);
    *out = NULL;
    if (!net || net->embedding >= 0 || net->final != SIS__FINAL_NONE || sis_net_values(net) == 0)
        return SIS_OK;
    sis__ensemble *e = SIS_NEW(sis__ensemble, 1);
    int error = e ? sis__net_plan_row(net, &e->plan) : SIS_E_NOMEM;
    const sis__step *s = error ? NULL : find_trees(net, e->plan);
    int fits = s && e->plan->tensors[net->input].dtype == SIS__F32 && s->p.trees->n == 1 &&
               s->p.trees->forest.width == model->n_values && find_front(e, net, s->inputs[0]);
    if (fits) {
        e->t = s->p.trees;
        error = check_trees(e->t);
    }
    if (fits && !error && e->n_front)
        error = move_tests(e, net, s->inputs[0]);
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
    if (e->b.forest.single) /* there is a view, with its own base */
        free(e->b.forest.base);
    sis__plan_free(e->plan);
    free(e->nodes);
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
    sis__forest f = e->t->forest;
    f.nodes = e->b.forest.nodes;
    for (size_t j = 0; j < f.width; j++)
        t->row[j] = (double)(float)row[j];
    sis__forest_sums(&f, t->row, t->sums, t->seen);
    sis__trees_round(e->t, t->sums, scores);
    sis__trees_finish(e->t, scores);
}

int sis__ensemble_decided(const sis__ensemble_decision *d, const float *scores, size_t outputs) {
    for (size_t k = 0; d->keep_class && k < outputs; k++)
        if (scores[k] > scores[d->output])
            return 0;
    return d->keep_class || sis_decided((double)scores[d->output], d->threshold, d->below);
}

/* ---- Where a decision begins ----------------------------------------------------------------- */

static int decided_at(const sis__ensemble *e, const sis__ensemble_decision *d, float raw,
                      float *scores) {
    memset(scores, 0, e->t->outputs * sizeof *scores);
    scores[e->t->single ? 0 : d->output] = raw;
    sis__trees_finish(e->t, scores);
    return sis__ensemble_decided(d, scores, e->t->outputs);
}

/* The first float with the decision, going up (sign 1) or down (-1); the last one if none has
 * it. */
static double bisect(const sis__ensemble *e, const sis__ensemble_decision *d, int sign,
                     float *scores) {
    int32_t low = sis__float_rank(-FLT_MAX), high = sis__float_rank(FLT_MAX);
    while (low < high) {
        int32_t middle = (int32_t)(low + ((int64_t)high - low) / 2);
        if (decided_at(e, d, (float)sign * sis__float_at(middle), scores))
            high = middle;
        else
            low = middle + 1;
    }
    return (double)((float)sign * sis__float_at(low));
}

int sis__ensemble_cut_of(const sis__ensemble *e, const sis__ensemble_decision *d,
                         sis__ensemble_cut *out) {
    const sis__trees *t = e->t;
    *out = (sis__ensemble_cut){.of_one = t->single || !d->keep_class};
    if (!out->of_one)
        return SIS_OK;
    if (!t->single && t->post == SIS__POST_SOFTMAX)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "for several classes give --keep class: no proof exists for "
                         "a threshold on a probability");
    float *scores = SIS_NEW(float, t->outputs);
    if (!scores)
        return SIS_E_NOMEM;
    int falls = t->single && d->output == 0; /* the score of the first class falls as the sum
                                              * rises */
    out->sum = t->single ? 0 : d->output;
    out->min = (d->below && !d->keep_class) == falls;
    out->value = bisect(e, d, out->min ? 1 : -1, scores);
    free(scores);
    return SIS_OK;
}
