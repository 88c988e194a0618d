/* SPDX-License-Identifier: MIT
 *
 * See circuit.h. Affine operators are read by evaluation: column j of their matrix is the result
 * for the j-th unit input. Convolutions and matrix products, which would need too many evaluations,
 * are read from their weights.
 */
#include "prove/circuit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/ops/sliding.h"
#include "net/plan/net.h"

static const size_t MAX_WEIGHTS = (size_t)1 << 26;

typedef struct {
    sis__circuit *c;
    const sis_net *net;
    sis__run *run;
    const sis__plan *plan;
    size_t *node_of; /* (n_tensors) SIZE_MAX: not read yet */
    const sis__step *refused;
    size_t linear; /* the node of a linear model, whose scores must be the output */
} reading;

static void node_release(sis__circuit_node *n) {
    free(n->start);
    free(n->read);
    free(n->weights);
    free(n->bias);
}

void sis__circuit_free(sis__circuit *c) {
    for (size_t k = 0; c && k < c->n; k++)
        node_release(&c->nodes[k]);
    if (c)
        free(c->nodes);
    free(c);
}

/* The circuit takes ownership of the node, or it is released. */
static int push_node(sis__circuit *c, sis__circuit_node *n, size_t *at) {
    int error = sis__reserve(&c->nodes, &c->room, c->n + 1, sizeof *c->nodes);
    if (error) {
        node_release(n);
        return error;
    }
    if (n->kind == SIS__CIRCUIT_AFFINE)
        c->weights += n->start[n->n];
    c->widest = n->n > c->widest ? n->n : c->widest;
    *at = c->n;
    c->nodes[c->n++] = *n;
    return SIS_OK;
}

/* The same for a node that was read, unless that failed. */
static int keep_node(sis__circuit *c, int error, sis__circuit_node *n, size_t *at) {
    if (!error)
        return push_node(c, n, at);
    node_release(n);
    return error;
}

static int refuse(reading *r, const sis__step *s) {
    r->refused = r->refused ? r->refused : s;
    return SIS_E_UNSUPPORTED;
}

/* ---- Weights --------------------------------------------------------------------------------- */

/* Lists of weights, one number after the other. */
typedef struct {
    sis__circuit_node *n;
    size_t count, read_room, weights_room;
} weight_list;

static int push_weight(weight_list *l, size_t from, double w) {
    int error = SIS_OK;
    if (w == 0)
        return SIS_OK;
    if (!isfinite(w) || l->count >= MAX_WEIGHTS)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "a layer has weights that are not finite or too small beside "
                         "their sum, or more than %zu weights",
                         MAX_WEIGHTS);
    error = sis__reserve(&l->n->read, &l->read_room, l->count + 1, sizeof *l->n->read);
    if (!error)
        error = sis__reserve(&l->n->weights, &l->weights_room, l->count + 1, sizeof *l->n->weights);
    if (error)
        return error;
    l->n->read[l->count] = (uint32_t)from;
    l->n->weights[l->count++] = w;
    return SIS_OK;
}

static int open_affine(sis__circuit_node *n, size_t n_out, size_t from) {
    *n = (sis__circuit_node){.kind = SIS__CIRCUIT_AFFINE, .n = n_out, .from = {from, 0}};
    n->start = SIS_NEW(size_t, n_out + 1);
    n->bias = SIS_NEW(double, n_out);
    return n->start && n->bias ? SIS_OK : SIS_E_NOMEM;
}

/* The weights w (n_out) of one value: the operator's result for this value alone minus its result
 * for zeros (bias). The value is as large as floats allow: the result has a rounding error of 2^-24
 * of |w| far + |bias|, so w x has an error of 2^-24 of |w x| + |bias| for each |x| <= far, which the
 * bounds include as rounding (bounds.c). With a smaller value, a large bias would hide digits of
 * the weight.
 *
 * If the result overflows, smaller values are tried; there the bias must not dominate. A weight
 * that is not found is NaN, which push_weight() refuses. */
static int probe(const sis__step *s, sis__run *r, float *in, const float *out, const double *bias,
                 size_t n_out, double *w) {
    static const float PROBES[] = {0x1p126f, 0x1p96f, 0x1p64f, 0x1p32f, 1};
    int error = SIS_OK, open = 1;
    for (size_t i = 0; i < n_out; i++)
        w[i] = NAN;
    for (size_t k = 0; !error && open && k < sizeof PROBES / sizeof *PROBES; k++) {
        *in = PROBES[k];
        error = s->ops->forward(s, r);
        open = 0;
        for (size_t i = 0; !error && i < n_out; i++) {
            double rise = (double)out[i] - bias[i];
            if (isnan(w[i]) && isfinite(rise) && (k == 0 || fabs(rise) >= fabs(bias[i])))
                w[i] = rise / (double)PROBES[k];
            open |= isnan(w[i]);
        }
    }
    *in = 0;
    return error;
}

static int push_column(weight_list *l, const double *w, size_t n) {
    int error = SIS_OK;
    for (size_t i = 0; !error && i < n; i++)
        error = push_weight(l, i, w[i]);
    return error;
}

/* Transpose weights: from columns (by input, starting at `start`) to rows (by output). */
static int turn_over(const sis__circuit_node *columns, sis__circuit_node *n) {
    size_t count = columns->start[columns->n];
    n->read = SIS_NEW(uint32_t, count + 1);
    n->weights = SIS_NEW(double, count + 1);
    if (!n->read || !n->weights)
        return SIS_E_NOMEM;
    for (size_t w = 0; w < count; w++)
        n->start[columns->read[w] + 1]++;
    for (size_t i = 0; i < n->n; i++)
        n->start[i + 1] += n->start[i];
    for (size_t j = columns->n;
         j-- > 0;) /* from the end: each start[i + 1] moves down to the start of row i */
        for (size_t w = columns->start[j + 1]; w-- > columns->start[j];) {
            size_t at = --n->start[columns->read[w] + 1];
            n->read[at] = (uint32_t)j;
            n->weights[at] = columns->weights[w];
        }
    memmove(n->start, n->start + 1, n->n * sizeof *n->start);
    n->start[n->n] = count;
    return SIS_OK;
}

/* The constant matrix that a row is multiplied by, or NULL. */
static const float *matrix_of(const sis__step *s, const sis__plan *p) {
    const sis__gemm *g = &s->p.gemm;
    int one = sis__is(s, SIS__DENSE) && g->m == 1 && !g->over.rank;
    return one && s->inputs[1] >= 0 ? (const float *)p->tensors[s->inputs[1]].data : NULL;
}

static int read_matrix(const sis__gemm *g, const float *b, sis__circuit_node *n) {
    weight_list l = {.n = n};
    int error = SIS_OK;
    for (size_t i = 0; !error && i < g->n; i++) {
        for (size_t j = 0; !error && j < g->k; j++)
            error =
                push_weight(&l, j, (double)g->alpha * b[g->trans_b ? i * g->k + j : j * g->n + i]);
        n->start[i + 1] = l.count;
    }
    return error;
}

static int ask_affine(const sis__step *s, sis__run *r, int from, int to, sis__circuit_node *n) {
    float *in = (float *)r->data[from];
    const float *out = (const float *)r->data[to], *matrix = matrix_of(s, r->plan);
    sis__circuit_node columns = {.n = r->plan->tensors[from].count};
    weight_list l = {.n = &columns};
    memset(in, 0, columns.n * sizeof *in);
    int error = s->ops->forward(s, r);
    for (size_t i = 0; !error && i < n->n; i++)
        n->bias[i] = out[i];
    if (!error && matrix)
        return read_matrix(&s->p.gemm, matrix, n);
    columns.start = SIS_NEW(size_t, columns.n + 1);
    double *w = SIS_NEW(double, n->n);
    if (!error && (!columns.start || !w))
        error = SIS_E_NOMEM;
    for (size_t j = 0; !error && j < columns.n; j++) {
        error = probe(s, r, in + j, out, n->bias, n->n, w);
        if (!error)
            error = push_column(&l, w, n->n);
        columns.start[j + 1] = l.count;
    }
    if (!error)
        error = turn_over(&columns, n);
    free(w);
    node_release(&columns);
    return error;
}

/* The inputs of one window in a channel, each with a weight of the kernel, or 1 (NULL). */
static int read_window(const sis__window *w, size_t channel, size_t at, const float *kernel,
                       weight_list *l) {
    const size_t o[] = {at / w->out[2] / w->out[1] % w->out[0], at / w->out[2] % w->out[1],
                        at % w->out[2]};
    size_t from[3], to[3], k[3];
    int error = SIS_OK;
    for (size_t a = 0; a < 3; a++)
        sis__window_span(w, a, o[a], &from[a], &to[a]);
    for (k[0] = from[0]; k[0] < to[0]; k[0]++)
        for (k[1] = from[1]; k[1] < to[1]; k[1]++)
            for (k[2] = from[2]; !error && k[2] < to[2]; k[2]++) {
                size_t i = channel, place = (k[0] * w->kernel[1] + k[1]) * w->kernel[2] + k[2];
                for (int a = 0; a < 3; a++)
                    i = i * w->in[a] + (size_t)((ptrdiff_t)(o[a] * w->stride[a]) - w->pad[a] +
                                                (ptrdiff_t)(k[a] * w->dilation[a]));
                error = push_weight(l, i, kernel ? (double)kernel[place] : 1);
            }
    return error;
}

static int read_conv(const sis__step *s, const sis__plan *p, sis__circuit_node *n) {
    const sis__window *w = &s->p.window;
    const float *weights = (const float *)p->tensors[s->inputs[1]].data;
    int biased = s->n_inputs > 2 && s->inputs[2] >= 0, error = SIS_OK;
    const float *bias = biased ? (const float *)p->tensors[s->inputs[2]].data : NULL;
    size_t area = w->out[0] * w->out[1] * w->out[2], depth = w->channels / w->groups;
    size_t kernel = w->kernel[0] * w->kernel[1] * w->kernel[2];
    weight_list l = {.n = n};
    for (size_t i = 0; !error && i < n->n; i++) {
        size_t f = i / area, group = f / (w->filters / w->groups);
        n->bias[i] = bias ? bias[f] : 0;
        for (size_t c = 0; !error && c < depth; c++)
            error =
                read_window(w, group * depth + c, i % area, weights + (f * depth + c) * kernel, &l);
        n->start[i + 1] = l.count;
    }
    return error;
}

/* ---- Operators ------------------------------------------------------------------------------- */

static int is_constant(const sis__plan *p, int tensor) {
    return tensor < 0 || p->tensors[tensor].data != NULL;
}

/* The only input that is not constant, if the operator may be linear in it; else -1. */
static int only_input(const sis__plan *p, const sis__step *s) {
    size_t at = SIZE_MAX, n = 0;
    for (size_t i = 0; i < s->n_inputs; i++)
        if (!is_constant(p, s->inputs[i])) {
            at = i;
            n++;
        }
    return n == 1 && (at == 0 || s->ops->linear >> at & 1) ? s->inputs[at] : -1;
}

static int read_tensor(reading *r, int tensor, size_t *node);

static int read_affine(reading *r, const sis__step *s, int from, int to, size_t *node) {
    sis__circuit_node n = {0};
    size_t source;
    int error = read_tensor(r, from, &source);
    if (!error)
        error = open_affine(&n, r->plan->tensors[to].count, source);
    if (!error)
        error = sis__is(s, SIS__CONVOLUTION) && !is_constant(r->plan, s->inputs[0])
                    ? read_conv(s, r->plan, &n)
                    : ask_affine(s, r->run, from, to, &n);
    return keep_node(r->c, error, &n, node);
}

static int read_sum(reading *r, const sis__step *s, size_t *node) {
    const sis__plan *p = r->plan;
    sis__circuit_node n = {.kind = SIS__CIRCUIT_SUM, .sign = s->op == SIS__OP_SUB ? -1 : 1};
    n.n = p->tensors[s->outputs[0]].count;
    if (s->n_inputs != 2 || p->tensors[s->inputs[0]].count != n.n ||
        p->tensors[s->inputs[1]].count != n.n)
        return refuse(r, s);
    int error = read_tensor(r, s->inputs[0], &n.from[0]);
    if (!error)
        error = read_tensor(r, s->inputs[1], &n.from[1]);
    return error ? error : push_node(r->c, &n, node);
}

/* GlobalMaxPool: one window over the whole image. */
static sis__window whole_image(const sis__tensor *x) {
    sis__window w = {.n = x->dims[0], .channels = x->dims[1], .filters = x->dims[1], .groups = 1};
    for (size_t a = 0; a < 3; a++) {
        w.stride[a] = w.dilation[a] = w.out[a] = w.in[a] = w.kernel[a] = 1;
    }
    for (size_t d = 2; d < x->rank; d++)
        w.in[2] *= x->dims[d];
    w.kernel[2] = w.in[2];
    return w;
}

static int read_max(reading *r, const sis__step *s, size_t *node) {
    const sis__tensor *x = &r->plan->tensors[s->inputs[0]];
    const sis__window w = sis__is(s, SIS__POOL) ? s->p.window : whole_image(x);
    sis__circuit_node n = {.kind = SIS__CIRCUIT_MAX, .n = r->plan->tensors[s->outputs[0]].count};
    weight_list l = {.n = &n};
    int error = read_tensor(r, s->inputs[0], &n.from[0]);
    if (!error)
        error = (n.start = SIS_NEW(size_t, n.n + 1)) ? SIS_OK : SIS_E_NOMEM;
    size_t area = w.out[0] * w.out[1] * w.out[2];
    for (size_t i = 0; !error && i < n.n; i++) {
        error = read_window(&w, i / area, i % area, NULL, &l);
        n.start[i + 1] = l.count;
        if (!error && l.count == n.start[i])
            error = refuse(r, s);
    }
    return keep_node(r->c, error, &n, node);
}

/* A linear model of ai.onnx.ml, whose scores must be the output. If two classes share one row of
 * weights, the other class has the opposite ones. */
static int read_linear(reading *r, const sis__step *s, size_t *node) {
    const sis__linear *m = &s->p.linear;
    int pair = m->rows < m->outputs, error;
    sis__circuit_node n = {0};
    weight_list l = {.n = &n};
    size_t source;
    if (m->post == SIS__POST_SOFTMAX_ZERO || m->post == SIS__POST_PROBIT ||
        r->c->end != SIS__END_MARGINS)
        return refuse(r, s);
    error = read_tensor(r, s->inputs[0], &source);
    if (!error)
        error = open_affine(&n, m->outputs, source);
    for (size_t k = 0; !error && k < m->outputs; k++) {
        double sign = pair && k == 0 ? -1 : 1;
        size_t row = pair ? 0 : k;
        n.bias[k] = m->bias ? sign * m->bias[row] : 0;
        for (size_t j = 0; !error && j < m->width; j++)
            error = push_weight(&l, j, sign * m->weights[row * m->width + j]);
        n.start[k + 1] = l.count;
    }
    r->c->end = m->post == SIS__POST_LOGISTIC  ? SIS__END_LOGISTIC
                : m->post == SIS__POST_SOFTMAX ? SIS__END_SHARES
                                               : SIS__END_MARGINS;
    error = keep_node(r->c, error, &n, node);
    r->linear = error || r->c->end == SIS__END_MARGINS ? 0 : *node;
    return error;
}

/* Are there two numbers with opposite signs? */
static int is_pair(const sis__circuit_node *n) {
    size_t half = n->n == 2 ? n->start[1] : 0;
    if (n->n != 2 || n->start[2] != 2 * half || n->bias[0] != -n->bias[1])
        return 0;
    for (size_t w = 0; w < half; w++)
        if (n->read[w] != n->read[half + w] || n->weights[w] != -n->weights[half + w])
            return 0;
    return 1;
}

/* Positive scores of a linear model divided by their sum. A softmax and the two sides of a logistic
 * function already sum to 1. */
static int read_normalizer(reading *r, const sis__step *s, int from, size_t *node) {
    sis__circuit *c = r->c;
    int error = read_tensor(r, from, node);
    if (!error && (s->p.norm.kind != SIS__NORM_L1 || !r->linear || r->linear != *node))
        return refuse(r, s);
    if (!error && c->end == SIS__END_LOGISTIC && !is_pair(&c->nodes[*node]))
        c->end = SIS__END_RATIOS;
    return error;
}

static int read_step(reading *r, const sis__step *s, int to, size_t *node) {
    const sis__plan *p = r->plan;
    int from = only_input(p, s);
    if (p->tensors[to].dtype != SIS__F32)
        return refuse(r, s);
    if (sis__is(s, SIS__LINEAR_MODEL))
        return read_linear(r, s, node);
    if ((s->op == SIS__OP_ADD || s->op == SIS__OP_SUB) && from < 0)
        return read_sum(r, s, node);
    if (from < 0 || p->tensors[from].dtype != SIS__F32)
        return refuse(r, s);
    if ((sis__is(s, SIS__POOL) || sis__is(s, SIS__GLOBAL_POOL)) && s->ops->takes == SIS__TAKES_MAX)
        return read_max(r, s, node);
    if (s->op == SIS__OP_NORMALIZER)
        return read_normalizer(r, s, from, node);
    if (s->ops->linear)
        return read_affine(r, s, from, to, node);
    if (!sis__is(s, SIS__RECTIFIER) && s->ops->trait != SIS__KEEPS)
        return refuse(r, s);
    int error = read_tensor(r, from, node);
    sis__circuit_node n = {
        .kind = SIS__CIRCUIT_RELU, .n = p->tensors[to].count, .from = {error ? 0 : *node, 0}};
    return error || !sis__is(s, SIS__RECTIFIER) ? error : push_node(r->c, &n, node);
}

static const sis__step *writer_of(const sis__plan *p, int tensor) {
    for (size_t i = 0; i < p->n_steps; i++)
        for (size_t k = 0; k < p->steps[i].n_outputs; k++)
            if (p->steps[i].outputs[k] == tensor)
                return &p->steps[i];
    return NULL;
}

/* The node that computes a tensor, and all nodes it needs. */
static int read_tensor(reading *r, int tensor, size_t *node) {
    *node = r->node_of[tensor];
    if (*node != SIZE_MAX)
        return SIS_OK;
    const sis__step *s = writer_of(r->plan, tensor);
    if (!s)
        return refuse(r, NULL);
    int error = read_step(r, s, tensor, node);
    r->node_of[tensor] = error ? SIZE_MAX : *node;
    return error;
}

static int unsupported(const reading *r) {
    const char *name =
        r->refused ? sis__node_name(&r->plan->graph->nodes[r->refused->node]) : "that is not there";
    return sis__fail(SIS_E_UNSUPPORTED,
                     "--guarantee all does not support the node %s; it supports "
                     "dense layers, convolutions, pools, sums, ReLU, linear "
                     "models and trees (docs/guarantees.md)",
                     name);
}

static int read_net(reading *r) {
    const sis_net *net = r->net;
    sis__circuit *c = r->c;
    size_t last;
    for (size_t i = 0; i < r->plan->n_tensors; i++)
        r->node_of[i] = SIZE_MAX;
    c->width = r->plan->tensors[net->input].count;
    if (sis__net_softmax(net))
        c->end = SIS__END_SOFTMAX;
    sis__circuit_node input = {.kind = SIS__CIRCUIT_INPUT, .n = c->width};
    int error = push_node(c, &input, &r->node_of[net->input]);
    if (!error)
        error = read_tensor(r, net->pre_output, &last);
    if (error == SIS_E_UNSUPPORTED && r->refused)
        return unsupported(r);
    if (!error && (last != c->n - 1 || (r->linear && r->linear != last)))
        return unsupported(r);
    c->outputs = error ? 0 : c->nodes[last].n;
    return error;
}

int sis__circuit_of_net(const sis_model *model, sis__circuit **out) {
    const sis_net *net = sis_model_net(model);
    sis__plan *plan = NULL;
    reading r = {.net = net};
    *out = NULL;
    if (!net || net->embedding >= 0 || sis_net_values(net) == 0)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "--guarantee all does not support networks that read tokens");
    r.c = SIS_NEW(sis__circuit, 1);
    int error = r.c ? sis__net_plan_row(net, &plan) : SIS_E_NOMEM;
    if (!error)
        error = sis__run_new(plan, &r.run);
    if (!error && (plan->tensors[net->input].dtype != SIS__F32 ||
                   plan->tensors[net->input].count != model->n_values))
        error = sis__fail(SIS_E_UNSUPPORTED,
                          "--guarantee all needs a network whose input is one row of "
                          "floats");
    if (!error)
        error = sis__run_forward(r.run); /* sets computed constants */
    r.plan = plan;
    if (!error)
        error = (r.node_of = SIS_NEW(size_t, plan->n_tensors)) ? read_net(&r) : SIS_E_NOMEM;
    free(r.node_of);
    sis__run_free(r.run);
    sis__plan_free(plan);
    if (error)
        sis__circuit_free(r.c);
    else
        *out = r.c;
    return error;
}

/* ---- Linear boosters ------------------------------------------------------------------------- */

static int read_booster(const sis__booster *b, sis__circuit *c) {
    const sis__forest *f = &b->forest;
    double scale = b->scale / b->divisor;
    sis__circuit_node input = {.kind = SIS__CIRCUIT_INPUT, .n = f->width}, n = {0};
    weight_list l = {.n = &n};
    size_t at;
    int error = push_node(c, &input, &at);
    if (!error)
        error = open_affine(&n, f->n_sums, at);
    for (size_t k = 0; !error && k < f->n_sums; k++) {
        n.bias[k] = f->base ? f->base[k] * scale : 0;
        for (size_t j = 0; !error && j < f->width; j++)
            error = push_weight(&l, j, f->linear[j * f->n_sums + k] * scale);
        n.start[k + 1] = l.count;
    }
    return keep_node(c, error, &n, &at);
}

int sis__circuit_of_linear(const sis__booster *b, sis__circuit **out) {
    *out = NULL;
    if (!b->forest.linear || b->forest.n_trees)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "--guarantee all does not support trees and linear terms in "
                         "one model");
    sis__circuit *c = SIS_NEW(sis__circuit, 1);
    int error = c ? read_booster(b, c) : SIS_E_NOMEM;
    if (error) {
        sis__circuit_free(c);
        return error;
    }
    c->width = b->forest.width;
    c->widest = c->width > c->widest ? c->width : c->widest;
    c->outputs = b->forest.n_sums;
    c->end = b->link == SIS__LINK_SOFTMAX ? SIS__END_SOFTMAX : SIS__END_MARGINS;
    c->zero_if_missing = 1;
    *out = c;
    return SIS_OK;
}
