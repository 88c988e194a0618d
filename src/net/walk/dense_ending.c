/* SPDX-License-Identifier: MIT
 *
 * Dense layers in a plan, and from the cut to margins. See dense.h.
 *
 * Scores are close to the cut in most networks, and then cost less here than in the head: a narrow
 * product needs no packing, and log-odds are computed in single precision for sixteen rows at a
 * time. The product adds up in the order of a full pass. What goes into it differs from a full pass
 * in the last digits only, so most of its sums are rounded the same way, and what is left of the
 * difference comes from the layers in front.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/kernels/kernels.h"
#include "net/ops/ops.h"
#include "net/walk/dense.h"
#include "net/walk/element_source.h"

/* ---- Layers -------------------------------------------------------------------------------- */

static int is_constant(const sis__plan *p, int tensor) {
    return tensor < 0 || p->tensors[tensor].data != NULL;
}

static int adds_constant(const sis__plan *p, const sis__step *s, int tensor) {
    return s->op == SIS__OP_ADD && p->tensors[s->outputs[0]].count == p->tensors[tensor].count &&
           is_constant(p, s->inputs[s->inputs[0] == tensor]);
}

int sis__dense_at(const sis__plan *p, int tensor, sis__dense *layer) {
    const sis__step *s = sis__plan_reader(p, tensor);
    if (!s || (s->op != SIS__OP_GEMM && s->op != SIS__OP_MATMUL) || s->inputs[0] != tensor)
        return 0;
    const sis__gemm *g = &s->p.gemm;
    if (!g->packed || g->m != 1 || g->over.rank || p->tensors[tensor].dtype != SIS__F32 ||
        (s->n_inputs > 2 && !is_constant(p, s->inputs[2])))
        return 0;
    *layer =
        (sis__dense){.in = g->k, .out = g->n, .packed = g->packed, .from = tensor, .product = s};
    layer->to = s->outputs[0];
    const sis__step *add = sis__plan_reader(p, layer->to);
    if (add && adds_constant(p, add, layer->to)) {
        layer->add = add;
        layer->to = add->outputs[0];
    }
    return 1;
}

int sis__dense_rectified(const sis__plan *p, int tensor) {
    const sis__step *s = sis__plan_reader(p, tensor);
    if (!s || s->op != SIS__OP_RELU)
        return -1;
    for (;;) {
        tensor = s->outputs[0];
        s = sis__plan_reader(p, tensor);
        if (!s || s->ops->trait != SIS__KEEPS)
            return tensor;
    }
}

void sis__dense_row(const sis__dense *layer, size_t i, float *row) {
    size_t nr = sis__kernels_best()->nr;
    for (size_t j = 0; j < layer->out; j++)
        row[j] = layer->packed[(j / nr * layer->in + i) * nr + j % nr];
}

/* Each part is what its step makes of zeros. */
static int find_bias(const sis__dense *layer, sis__run *r, float *start, float *added) {
    size_t bytes = layer->out * sizeof *start;
    memset(r->data[layer->from], 0, layer->in * sizeof *start);
    int error = layer->product->ops->forward(layer->product, r), sum = layer->product->outputs[0];
    memcpy(start, r->data[sum], bytes);
    memset(added, 0, bytes);
    if (error != SIS_OK || !layer->add)
        return error;
    memset(r->data[sum], 0, bytes);
    error = layer->add->ops->forward(layer->add, r);
    memcpy(added, r->data[layer->to], bytes);
    return error;
}

/* ---- Endings ------------------------------------------------------------------------------- */

enum { LANES = 16 };

static int is_softmax(const sis_net *net) {
    return net->final == SIS__FINAL_SOFTMAX || net->final == SIS__FINAL_LOG_SOFTMAX;
}

/* The layer behind rectified units, if it is the last and narrow. */
static int scores_next(const sis__face *f, const sis__dense *cut, sis__dense *next) {
    int on = sis__dense_rectified(f->plan, cut->to);
    return on >= 0 && sis__dense_at(f->plan, on, next) && next->in == cut->out &&
           next->to == f->s->net->pre_output;
}

sis__distance sis__ending_distance(const sis__face *f, const sis__dense *cut) {
    sis__dense next;
    const sis_net *net = f->s->net;
    size_t outputs = f->plan->tensors[net->pre_output].count;
    if (outputs > SIS__NARROW || (is_softmax(net) && outputs < 2))
        return SIS__FAR;
    return cut->to == net->pre_output   ? SIS__HERE
           : scores_next(f, cut, &next) ? SIS__NEXT
                                        : SIS__FAR;
}

static int take_layer(sis__ending *e, sis__face *f, const sis__dense *cut) {
    sis__dense next;
    float row[SIS__NARROW];
    scores_next(f, cut, &next);
    e->w = SIS_NEW(float, e->stride *LANES);
    if (!e->w)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < next.in; i++) {
        sis__dense_row(&next, i, row);
        memcpy(e->w + i * LANES, row, next.out * sizeof *row);
    }
    return find_bias(&next, f->run, e->start, e->added);
}

int sis__ending_init(sis__ending *e, sis__face *f, const sis__dense *cut) {
    *e = (sis__ending){
        .width = cut->out, .stride = (cut->out + LANES - 1) / LANES * LANES, .which = f->s->output};
    e->distance = sis__ending_distance(f, cut);
    e->outputs = f->plan->tensors[f->s->net->pre_output].count;
    e->softmax = is_softmax(f->s->net);
    e->rows = SIS_NEW(float, SIS__ENDING_BLOCK * e->stride);
    e->z = SIS_NEW(float, SIS__ENDING_BLOCK *LANES);
    e->turned = SIS_NEW(float, LANES *LANES);
    e->start = SIS_NEW(float, LANES);
    e->added = SIS_NEW(float, LANES);
    int error = e->rows && e->z && e->turned && e->start && e->added ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = sis__head_new(f->s, cut->to, &f->plan->tensors[cut->to], &e->head);
    if (error == SIS_OK && e->distance == SIS__NEXT)
        error = take_layer(e, f, cut);
    if (error != SIS_OK)
        sis__ending_release(e);
    return error;
}

void sis__ending_release(sis__ending *e) {
    sis__head_free(e->head);
    free(e->w);
    free(e->start);
    free(e->added);
    free(e->rows);
    free(e->z);
    free(e->turned);
    *e = (sis__ending){0};
}

float sis__ending_low(const sis__ending *e) {
    return e->distance == SIS__NEXT ? 0.0f : -INFINITY;
}

/* Log-odds of 16 rows z (16, 16). */
static void log_odds(sis__ending *e, const float *z, double *margins) {
    float top[LANES], own[LANES], sum[LANES] = {0}, *other = e->turned;
    for (size_t i = 0; i < LANES; i++) {
        own[i] = z[i * LANES + e->which];
        top[i] = -INFINITY;
    }
    for (size_t j = 0; j < e->outputs; j++) {
        if (j == e->which)
            continue;
        for (size_t i = 0; i < LANES; i++) {
            other[i] = z[i * LANES + j];
            top[i] = other[i] > top[i] ? other[i] : top[i];
        }
        other += LANES;
    }
    for (float *at = e->turned; at < other; at += LANES)
        for (size_t i = 0; i < LANES; i++)
            at[i] -= top[i];
    sis__kernels_best()->exp(e->turned, e->turned, (e->outputs - 1) * LANES);
    for (float *at = e->turned; at < other; at += LANES)
        for (size_t i = 0; i < LANES; i++)
            sum[i] += at[i];
    for (size_t i = 0; i < LANES; i++)
        margins[i] = (double)own[i] - (double)top[i] - log((double)sum[i]);
}

/* z of the rows, by the layer behind them. */
static void run_layer(sis__ending *e, size_t n) {
    for (size_t i = 0; i < n; i++)
        memcpy(e->z + i * LANES, e->start, LANES * sizeof *e->z);
    sis__kernels_best()->narrow(n, e->stride, e->rows, e->w, e->z);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < LANES; j++)
            e->z[i * LANES + j] += e->added[j];
}

/* Rows without their padding, for the head. */
static int far_margins(sis__ending *e, size_t n, double *margins) {
    if (e->stride != e->width)
        for (size_t i = 1; i < n; i++)
            memmove(e->rows + i * e->width, e->rows + i * e->stride, e->width * sizeof *e->rows);
    return sis__head_margins(e->head, e->rows, n, margins);
}

int sis__ending_margins(sis__ending *e, size_t n, double *margins) {
    if (e->distance == SIS__FAR)
        return far_margins(e, n, margins);
    if (e->distance == SIS__NEXT)
        run_layer(e, n);
    else
        memcpy(e->z, e->rows, n * LANES * sizeof *e->z);
    for (size_t i = 0; i < n; i += LANES) {
        double some[LANES];
        if (e->softmax)
            log_odds(e, e->z + i * LANES, some);
        for (size_t k = 0; k < LANES && i + k < n; k++)
            margins[i + k] = e->softmax ? some[k] : (double)e->z[(i + k) * LANES + e->which];
    }
    return SIS_OK;
}

int sis__ending_exact(sis__ending *e, const float *row, double *margin) {
    return sis__head_margins(e->head, row, 1, margin);
}

double sis__ending_size(const sis__ending *e, double margin) {
    double size = fabs(margin);
    for (size_t j = 0; e->distance != SIS__FAR && j < e->outputs; j++)
        size = fmax(size, fabs((double)e->z[j]));
    return size;
}
