/* SPDX-License-Identifier: MIT
 *
 * See nets.h.
 */
#include "prove/nets.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/plan/net.h"

static const double UNIT = 0x1p-23;
static const size_t MOST_WEIGHTS = (size_t)1 << 26;
static const double MOST_WORK = 4e6; /* of backward bounds inside, for one question */

typedef struct {
    int relu; /* or affine: */
    size_t n_in, n_out;
    size_t *start; /* (n_in + 1) where the weights of each value begin */
    uint32_t *to;  /* the value each goes to */
    double *weights;
    double *bias; /* (n_out) */
} layer;

struct sis__chain {
    layer *layers;
    size_t n, room;
    size_t width, outputs, widest;
    int softmax;
};

/* ---- Reading --------------------------------------------------------------------------------- */

static int is_affine(int op) {
    switch (op) {
    case SIS__OP_CONV:
    case SIS__OP_AVERAGE_POOL:
    case SIS__OP_GLOBAL_AVERAGE_POOL:
    case SIS__OP_GEMM:
    case SIS__OP_MATMUL:
    case SIS__OP_ADD:
    case SIS__OP_SUB:
    case SIS__OP_MUL:
    case SIS__OP_DIV:
    case SIS__OP_BATCH_NORMALIZATION:
        return 1;
    default:
        return 0;
    }
}

/* Does it read nothing that is not constant but this, and as what a product may be linear in? */
static int reads_only(const sis__plan *p, const sis__step *s, int tensor) {
    size_t at = SIZE_MAX;
    for (size_t i = 0; i < s->n_inputs; i++) {
        if (s->inputs[i] == tensor && at == SIZE_MAX)
            at = i;
        else if (s->inputs[i] >= 0 && !p->tensors[s->inputs[i]].data)
            return 0;
    }
    return at == 0 || (at == 1 && (s->op == SIS__OP_ADD || s->op == SIS__OP_SUB ||
                                   s->op == SIS__OP_MUL || s->op == SIS__OP_MATMUL));
}

static int push_layer(sis__chain *c, layer l) {
    int error = sis__reserve(&c->layers, &c->room, c->n + 1, sizeof *c->layers);
    if (error) {
        free(l.start);
        free(l.to);
        free(l.weights);
        free(l.bias);
        return error;
    }
    c->layers[c->n++] = l;
    c->widest = l.n_out > c->widest ? l.n_out : c->widest;
    return SIS_OK;
}

/* The weights of one value: what the operator makes of it alone, less what it makes of nothing. */
static int probe(const sis__step *s, sis__run *r, float *in, const float *out, layer *l, size_t j,
                 size_t *room) {
    const float one = 1024; /* so that a large bias leaves the digits of small weights */
    in[j] = one;
    int error = s->ops->forward(s, r);
    in[j] = 0;
    for (size_t i = 0; !error && i < l->n_out; i++) {
        double w = ((double)out[i] - l->bias[i]) / one;
        size_t n = l->start[j + 1], same = *room;
        if (w == 0)
            continue;
        if (!isfinite(w) || n >= MOST_WEIGHTS)
            return sis__fail(SIS_E_UNSUPPORTED,
                             "a layer has weights that are not finite, or more "
                             "than %zu of them",
                             MOST_WEIGHTS);
        error = sis__reserve(&l->to, &same, n + 1, sizeof *l->to);
        if (!error)
            error = sis__reserve(&l->weights, room, n + 1, sizeof *l->weights);
        if (error)
            break;
        l->to[n] = (uint32_t)i;
        l->weights[n] = w;
        l->start[j + 1]++;
    }
    return error;
}

static int read_affine(sis__chain *c, const sis__step *s, sis__run *r, int from, int to) {
    const sis__plan *p = r->plan;
    layer l = {.n_in = p->tensors[from].count, .n_out = p->tensors[to].count};
    float *in = (float *)r->data[from];
    const float *out = (const float *)r->data[to];
    size_t room = 0;
    l.start = SIS_NEW(size_t, l.n_in + 1);
    l.bias = SIS_NEW(double, l.n_out);
    int error = l.start && l.bias ? SIS_OK : SIS_E_NOMEM;
    if (!error) {
        memset(in, 0, l.n_in * sizeof *in);
        error = s->ops->forward(s, r);
    }
    for (size_t i = 0; !error && i < l.n_out; i++)
        l.bias[i] = out[i];
    for (size_t j = 0; !error && j < l.n_in; j++) {
        l.start[j + 1] = l.start[j];
        error = probe(s, r, in, out, &l, j, &room);
    }
    if (!error)
        return push_layer(c, l);
    free(l.start);
    free(l.to);
    free(l.weights);
    free(l.bias);
    return error;
}

static int read_step(sis__chain *c, const sis__step *s, sis__run *r, int *at) {
    const sis__plan *p = r->plan;
    int to = s->n_outputs ? s->outputs[0] : -1;
    int error = SIS_OK;
    if (to < 0 || p->tensors[to].dtype != SIS__F32 || !reads_only(p, s, *at))
        error = SIS_E_UNSUPPORTED;
    else if (s->op == SIS__OP_RELU)
        error = push_layer(
            c, (layer){.relu = 1, .n_in = p->tensors[to].count, .n_out = p->tensors[to].count});
    else if (is_affine(s->op))
        error = read_affine(c, s, r, *at, to);
    else if (s->ops->trait != SIS__KEEPS)
        error = SIS_E_UNSUPPORTED;
    *at = to;
    return error;
}

static int unsupported(const sis__plan *p, const sis__step *s) {
    const char *name = s ? sis__node_name(&p->graph->nodes[s->node]) : "?";
    return sis__fail(SIS_E_UNSUPPORTED,
                     "nothing can be proved of this network for every value because of the node "
                     "%s; it can of chains of dense layers, convolutions, means and ReLU, and of "
                     "boosted trees in files of XGBoost and LightGBM",
                     name);
}

static int read_chain(sis__chain *c, const sis_net *net, sis__run *r) {
    int at = net->input, error = SIS_OK;
    c->width = r->plan->tensors[at].count;
    while (!error && at != net->pre_output) {
        const sis__step *s = sis__plan_reader(r->plan, at);
        error = s ? read_step(c, s, r, &at) : SIS_E_UNSUPPORTED;
        if (error == SIS_E_UNSUPPORTED)
            return unsupported(r->plan, s);
    }
    c->outputs = r->plan->tensors[net->pre_output].count;
    c->widest = c->width > c->widest ? c->width : c->widest;
    c->softmax = net->final == SIS__FINAL_SOFTMAX || net->final == SIS__FINAL_LOG_SOFTMAX;
    return error;
}

int sis__chain_new(const sis_model *model, sis__chain **out) {
    const sis_net *net = sis_model_net(model);
    sis__plan *plan = NULL;
    sis__run *run = NULL;
    *out = NULL;
    if (!net || net->embedding >= 0 || sis_net_values(net) == 0)
        return SIS_E_UNSUPPORTED;
    sis__chain *c = SIS_NEW(sis__chain, 1);
    int error = c ? sis__net_plan_row(net, &plan) : SIS_E_NOMEM;
    if (!error)
        error = sis__run_new(plan, &run);
    if (!error && (plan->tensors[net->input].dtype != SIS__F32 ||
                   plan->tensors[net->input].count != model->n_values))
        error = SIS_E_UNSUPPORTED;
    if (!error)
        error = sis__run_forward(run); /* constants that are computed lie where they belong */
    if (!error)
        error = read_chain(c, net, run);
    sis__run_free(run);
    sis__plan_free(plan);
    if (error)
        sis__chain_free(c);
    else
        *out = c;
    return error;
}

void sis__chain_free(sis__chain *c) {
    for (size_t k = 0; c && k < c->n; k++) {
        free(c->layers[k].start);
        free(c->layers[k].to);
        free(c->layers[k].weights);
        free(c->layers[k].bias);
    }
    if (c)
        free(c->layers);
    free(c);
}

/* ---- Bounds ---------------------------------------------------------------------------------- */

typedef struct {
    sis__oracle oracle; /* first */
    const sis__chain *c;
    sis__chain_question q;
    double *row;          /* (width) */
    double **low, **high; /* (n + 1) of what each layer reads, and the last one makes */
    double **size;        /* (n) affine: how large the numbers are whose sum each value is */
    double *now, *next;   /* (widest) coefficients */
    double *margins;      /* (outputs) */
} session;

/* x * y where nothing times whatever is nothing. */
static double times(double x, double y) {
    return x == 0 || y == 0 ? 0 : x * y;
}

static void forward_affine(const layer *l, const session *e, size_t k) {
    double *low = e->low[k + 1], *high = e->high[k + 1], *size = e->size[k];
    for (size_t i = 0; i < l->n_out; i++) {
        low[i] = high[i] = l->bias[i];
        size[i] = fabs(l->bias[i]);
    }
    for (size_t j = 0; j < l->n_in; j++) {
        double a = e->low[k][j], b = e->high[k][j], most = fmax(fabs(a), fabs(b));
        for (size_t w = l->start[j]; w < l->start[j + 1]; w++) {
            double v = l->weights[w];
            low[l->to[w]] += times(v, v > 0 ? a : b);
            high[l->to[w]] += times(v, v > 0 ? b : a);
            size[l->to[w]] += times(fabs(v), most);
        }
    }
    for (size_t i = 0; i < l->n_out; i++) {
        double room = (double)(l->n_in + 4) * UNIT * size[i];
        low[i] = isfinite(room) ? low[i] - room : -INFINITY;
        high[i] = isfinite(room) ? high[i] + room : INFINITY;
    }
}

static void forward_relu(const layer *l, const session *e, size_t k) {
    for (size_t i = 0; i < l->n_out; i++) {
        e->low[k + 1][i] = fmax(0, e->low[k][i]);
        e->high[k + 1][i] = fmax(0, e->high[k][i]);
    }
}

/* Coefficients of what a ReLU makes -> of what it reads, so that the value is no larger. */
static double back_relu(const session *e, size_t k) {
    double constant = 0;
    for (size_t i = 0; i < e->c->layers[k].n_in; i++) {
        double l = e->low[k][i], u = e->high[k][i], a = e->now[i];
        if (a == 0 || l >= 0)
            continue;
        if (u <= 0) {
            e->now[i] = 0;
        } else if (a > 0) {
            e->now[i] = isfinite(l) && u > -l ? a : 0;
        } else if (!isfinite(u) || !isfinite(l)) {
            if (!isfinite(u))
                return -INFINITY;
            constant += a * u; /* below an open end: the largest it can be */
            e->now[i] = 0;
        } else {
            constant -= a * u * l / (u - l);
            e->now[i] = a * u / (u - l);
        }
    }
    return constant;
}

static double back_affine(session *e, size_t k) {
    const layer *l = &e->c->layers[k];
    double constant = 0, room = 0;
    for (size_t i = 0; i < l->n_out; i++) {
        constant += e->now[i] * l->bias[i];
        room += times(fabs(e->now[i]), e->size[k][i]);
    }
    for (size_t j = 0; j < l->n_in; j++) {
        e->next[j] = 0;
        for (size_t w = l->start[j]; w < l->start[j + 1]; w++)
            e->next[j] += e->now[l->to[w]] * l->weights[w];
    }
    double *swap = e->now;
    e->now = e->next;
    e->next = swap;
    return constant - times((double)(l->n_in + 4) * UNIT, room);
}

/* The least that e->now (of what the layers before `k` make) can be; e->now: how it depends on the
 * input. */
static double back(session *e, size_t k) {
    double bound = 0;
    while (k-- > 0)
        bound += e->c->layers[k].relu ? back_relu(e, k) : back_affine(e, k);
    for (size_t j = 0; j < e->c->width; j++)
        bound += times(e->now[j], e->now[j] > 0 ? e->low[0][j] : e->high[0][j]);
    return isnan(bound) ? -INFINITY : bound;
}

/* What a ReLU reads, bounded backwards, where its sign is open and that is not too much work. */
static void tighten(session *e, size_t k) {
    size_t n = e->c->layers[k].n_in, weights = 0;
    for (size_t i = 0; i < k; i++)
        weights += e->c->layers[i].relu ? 0 : e->c->layers[i].start[e->c->layers[i].n_in];
    if (k < 2 || (double)n * (double)weights > MOST_WORK)
        return;
    for (size_t i = 0; i < n; i++)
        for (int side = 0; side < 2 && e->low[k][i] < 0 && e->high[k][i] > 0; side++) {
            memset(e->now, 0, e->c->widest * sizeof *e->now);
            e->now[i] = side ? -1 : 1;
            double bound = back(e, k);
            if (side)
                e->high[k][i] = fmin(e->high[k][i], -bound);
            else
                e->low[k][i] = fmax(e->low[k][i], bound);
        }
}

static void open_box(session *e, const unsigned char *kept) {
    for (size_t j = 0; j < e->c->width; j++) {
        int f = sis__oracle_feature(&e->oracle, j);
        int is_free = f >= 0 && !kept[f];
        double x = e->row[j];
        e->low[0][j] = !is_free ? x : e->q.low ? fmin(x, (double)(float)e->q.low[j]) : -INFINITY;
        e->high[0][j] = !is_free ? x : e->q.high ? fmax(x, (double)(float)e->q.high[j]) : INFINITY;
    }
}

static void forward(session *e, const unsigned char *kept) {
    open_box(e, kept);
    for (size_t k = 0; k < e->c->n; k++) {
        if (e->c->layers[k].relu) {
            tighten(e, k);
            forward_relu(&e->c->layers[k], e, k);
        } else {
            forward_affine(&e->c->layers[k], e, k);
        }
    }
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* The corner of the box where the linear bound is least; open ends so far away. */
static void take_corner(const session *e, double far, double *row) {
    for (size_t j = 0; j < e->c->width; j++) {
        double x = e->now[j] > 0 ? e->low[0][j] : e->now[j] < 0 ? e->high[0][j] : e->row[j];
        row[j] = isfinite(x) ? x : e->row[j] + (x > 0 ? far : -far);
    }
}

static int is_lost(session *e, const double *row, int *lost) {
    const sis_model *m = e->q.model;
    int error = m->predict(m->ctx, row, 1, e->c->width, e->margins);
    double margin = error ? 0 : e->margins[e->q.input->output];
    double score = m->link ? m->link(margin) : margin;
    *lost = !error && !sis_decided(score, e->q.threshold, e->q.below);
    return error;
}

/* Is the corner an example? */
static int try_corner(session *e, double *example, int *lost) {
    int error = SIS_OK, open = 0;
    for (size_t j = 0; j < e->c->width; j++)
        open |= (e->now[j] > 0 && isinf(e->low[0][j])) || (e->now[j] < 0 && isinf(e->high[0][j]));
    *lost = 0;
    for (double far = 1; !error && !*lost && far < 1e13; far *= open ? 10 : 1e13) {
        take_corner(e, far, example);
        error = is_lost(e, example, lost);
    }
    return error;
}

/* The least that `sign` times (output k minus output j; SIZE_MAX: k alone) can be. */
static double least(session *e, size_t k, size_t j, double sign) {
    memset(e->now, 0, e->c->widest * sizeof *e->now);
    e->now[k] = sign;
    if (j != SIZE_MAX)
        e->now[j] = -sign;
    return back(e, e->c->n);
}

/* By how much the decision is kept at least; if `example` is given, corners are tried on the way. */
static int margin_kept(session *e, double *kept_by, double *example, int *lost) {
    size_t k = e->q.input->output, n = e->c->outputs;
    int pairs = e->q.keep_class || (e->c->softmax && n > 1), error = SIS_OK;
    double sign = e->q.below ? -1 : 1, sum = 0;
    *kept_by = INFINITY;
    for (size_t j = 0; !error && j < (pairs ? n : 1); j++) {
        if (pairs && j == k)
            continue;
        double bound = least(e, k, pairs ? j : SIZE_MAX, sign);
        if (example && !*lost)
            error = try_corner(e, example, lost);
        sum += exp(-sign * bound); /* of softmax: all rivals together */
        *kept_by = fmin(*kept_by, e->q.keep_class ? bound : bound - sign * e->q.margin);
        if (*lost)
            return error;
    }
    if (pairs && !e->q.keep_class)
        *kept_by = sign * (-log(sum) - e->q.margin);
    if (isnan(*kept_by))
        *kept_by = -INFINITY;
    return error;
}

static int session_ask(sis__oracle *o, const unsigned char *kept, sis__proof *proof,
                       double *example) {
    session *e = (session *)o;
    double by;
    int lost = 0, any_free = 0;
    forward(e, kept);
    for (size_t j = 0; j < e->c->width; j++)
        any_free |= e->low[0][j] < e->high[0][j];
    *proof = SIS__PROOF_HOLDS; /* of the example itself */
    if (!any_free)
        return SIS_OK;
    int error = margin_kept(e, &by, NULL, &lost);
    double slack = e->q.keep_class ? 0 : 1e-9 * (1 + fabs(e->q.margin));
    *proof = !error && by > slack ? SIS__PROOF_HOLDS : SIS__PROOF_NONE;
    if (error || *proof == SIS__PROOF_HOLDS)
        return error;
    error = margin_kept(e, &by, example, &lost);
    *proof = lost ? SIS__PROOF_FAILS : SIS__PROOF_NONE;
    return error;
}

static int session_harm(sis__oracle *o, const unsigned char *kept, double *harm) {
    session *e = (session *)o;
    int lost = 0;
    forward(e, kept);
    int error = margin_kept(e, harm, NULL, &lost);
    *harm = -*harm;
    return error;
}

static double session_draw(const sis__oracle *o, size_t j, sis__rng *r) {
    const session *e = (const session *)o;
    double x = e->row[j], low = e->q.low ? (double)(float)e->q.low[j] : x - 10;
    double high = e->q.high ? (double)(float)e->q.high[j] : x + 10;
    switch (sis__rng_below(r, 4)) {
    case 0:
        return fmin(x, low);
    case 1:
        return fmax(x, high);
    case 2:
        return e->q.low ? low + (high - low) * sis__rng_uniform(r) : x + 1000 * sis__rng_normal(r);
    default:
        return low + (high - low) * sis__rng_uniform(r);
    }
}

static void session_free(sis__oracle *o) {
    session *e = (session *)o;
    for (size_t k = 0; e->low && e->high && e->size && k <= e->c->n; k++) {
        free(e->low[k]);
        free(e->high[k]);
        free(e->size[k]);
    }
    free(e->low);
    free(e->high);
    free(e->size);
    free(e->row);
    free(e->now);
    free(e->next);
    free(e->margins);
    free(e);
}

static int session_init(session *e) {
    const sis__chain *c = e->c;
    e->low = SIS_NEW(double *, c->n + 1);
    e->high = SIS_NEW(double *, c->n + 1);
    e->size = SIS_NEW(double *, c->n + 1);
    e->row = SIS_NEW(double, c->width);
    e->now = SIS_NEW(double, c->widest);
    e->next = SIS_NEW(double, c->widest);
    e->margins = SIS_NEW(double, e->q.model->n_outputs);
    if (!e->low || !e->high || !e->size || !e->row || !e->now || !e->next || !e->margins)
        return SIS_E_NOMEM;
    for (size_t k = 0; k <= c->n; k++) {
        size_t n = k ? c->layers[k - 1].n_out : c->width;
        e->low[k] = SIS_NEW(double, n);
        e->high[k] = SIS_NEW(double, n);
        e->size[k] = SIS_NEW(double, k < c->n ? c->layers[k].n_out : 1);
        if (!e->low[k] || !e->high[k] || !e->size[k])
            return SIS_E_NOMEM;
    }
    for (size_t j = 0; j < c->width; j++)
        e->row[j] = (double)(float)e->q.input->values[j];
    return SIS_OK;
}

int sis__chain_oracle(const sis__chain *c, const sis__chain_question *q, size_t n_features,
                      sis__oracle **out) {
    session *e = SIS_NEW(session, 1);
    *out = NULL;
    if (!e)
        return SIS_E_NOMEM;
    e->c = c;
    e->q = *q;
    int error = session_init(e);
    e->oracle = (sis__oracle){.n_features = n_features,
                              .width = c->width,
                              .row = e->row,
                              .feature_of = q->input->feature_of,
                              .ask = session_ask,
                              .harm = session_harm,
                              .draw = session_draw,
                              .free = session_free};
    if (error)
        session_free(&e->oracle);
    else
        *out = &e->oracle;
    return error;
}
