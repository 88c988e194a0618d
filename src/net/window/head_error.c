/* SPDX-License-Identifier: MIT
 *
 * How far apart two margins can be whose rows are close. The head is gone through once, and for
 * each value of each of its tensors two numbers are followed: what it is at most, and how far it
 * can be off, by the errors of the row and by rounding on the way. That is known for dense layers,
 * Relu, constants that are added, and whatever only moves values; other heads have no answer.
 *
 * A sum of k terms in single precision, in any order, is off by less than (k + 2) 2^-24 of the
 * terms' sizes, added up; both margins are rounded, so this counts twice.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/window/window.h"

/* Of one value. */
typedef struct {
    double size, error;
} extent;

typedef struct {
    const sis__plan *p;
    extent **of; /* (n_tensors) NULL: not known */
} follow;

static void add_rounding(extent *e, size_t terms) {
    e->error += (double)(terms + 3) * 0x1p-23 * e->size;
}

static const float *constant(const follow *f, int i) {
    return i >= 0 && f->p->tensors[i].dtype == SIS__F32 ? (const float *)f->p->tensors[i].data
                                                        : NULL;
}

static int follow_dense(const follow *f, const sis__step *s, const extent *x, extent *y) {
    const sis__gemm *g = &s->p.gemm;
    size_t nr = sis__kernels_best()->nr;
    int added = s->op == SIS__OP_GEMM && s->n_inputs > 2 ? s->inputs[2] : -1;
    const float *bias = constant(f, added);
    if (!g->packed || g->m != 1 || g->trans_a || g->over.rank || (added >= 0 && !bias) ||
        f->p->tensors[s->inputs[0]].count != g->k)
        return 0;
    for (size_t i = 0; i < g->n; i++) {
        const float *w = g->packed + i / nr * g->k * nr + i % nr;
        y[i] = (extent){bias ? fabs((double)(g->beta * bias[i * g->c_col])) : 0, 0};
        for (size_t k = 0; k < g->k; k++) {
            y[i].size += fabs((double)w[k * nr]) * x[k].size;
            y[i].error += fabs((double)w[k * nr]) * x[k].error;
        }
        add_rounding(&y[i], g->k);
    }
    return 1;
}

/* A constant, one number or one for each value. */
static int follow_add(const follow *f, const sis__step *s, const extent *x, extent *y) {
    int in = x == f->of[s->inputs[0]] ? 0 : 1, other = s->inputs[1 - in];
    const float *k = constant(f, other);
    size_t n = f->p->tensors[s->outputs[0]].count, many = k ? f->p->tensors[other].count : 0;
    if (!k || (many != 1 && many != n) || f->p->tensors[s->inputs[in]].count != n)
        return 0;
    for (size_t i = 0; i < n; i++) {
        y[i] = (extent){x[i].size + fabs((double)k[many == 1 ? 0 : i]), x[i].error};
        add_rounding(&y[i], 1);
    }
    return 1;
}

/* One tensor behind the other: along the only axis that is not 1. */
static int follow_concat(const follow *f, const sis__step *s, extent *y) {
    const sis__tensor *out = &f->p->tensors[s->outputs[0]];
    if (out->dims[s->p.axis.axis] != out->count)
        return 0;
    for (size_t i = 0; i < s->n_inputs; i++) {
        const extent *x = f->of[s->inputs[i]];
        size_t n = f->p->tensors[s->inputs[i]].count;
        if (!x)
            return 0;
        memcpy(y, x, n * sizeof *y);
        y += n;
    }
    return 1;
}

/* 1: what the step makes is known, 0: it is not, negative: an error. */
static int follow_step(follow *f, const sis__step *s) {
    const sis__tensor *out = &f->p->tensors[s->outputs[0]];
    const extent *x = NULL;
    for (size_t i = 0; i < s->n_inputs && !x; i++)
        x = s->inputs[i] >= 0 ? f->of[s->inputs[i]] : NULL;
    if (s->n_outputs > 1 && s->outputs[1] >= 0)
        return 0;
    extent *y = f->of[s->outputs[0]] = SIS_NEW(extent, out->count);
    if (!y)
        return SIS_E_NOMEM;
    if (s->ops->trait == SIS__KEEPS || s->op == SIS__OP_RELU) {
        if (!x || x != f->of[s->inputs[0]] || f->p->tensors[s->inputs[0]].count != out->count)
            return 0;
        memcpy(y, x, out->count * sizeof *y);
        return 1;
    }
    switch (s->op) {
    case SIS__OP_GEMM:
    case SIS__OP_MATMUL:
        return x && x == f->of[s->inputs[0]] && follow_dense(f, s, x, y);
    case SIS__OP_ADD:
        return x && follow_add(f, s, x, y);
    case SIS__OP_CONCAT:
        return follow_concat(f, s, y);
    default:
        return 0;
    }
}

/* A margin from what the last activation reads: that, less what is largest of the others. */
static double margin_error(const sis_net *net, const extent *z, size_t n, size_t output) {
    int softmax = net->final == SIS__FINAL_SOFTMAX || net->final == SIS__FINAL_LOG_SOFTMAX;
    double others = 0;
    for (size_t k = 0; softmax && k < n; k++)
        if (k != output)
            others = fmax(others, z[k].error + 0x1p-40 * z[k].size);
    return z[output].error + 0x1p-40 * z[output].size + others;
}

/* Errors of the cuts, which no value of a row exceeds. */
static int follow_cuts(follow *f, const sis__prefix *prefix, double largest, const float *error) {
    for (size_t i = 0; i < prefix->n_points; i++) {
        const sis__cut_place *c = &prefix->points[i].cut;
        if (prefix->points[i].kind == SIS__KEEP_CONV)
            continue;
        extent *x = f->of[c->value] = SIS_NEW(extent, c->width);
        if (!x)
            return SIS_E_NOMEM;
        for (size_t k = 0; k < c->width; k++)
            x[k] = (extent){largest + (double)error[c->at + k], (double)error[c->at + k]};
    }
    return SIS_OK;
}

int sis__head_error(const sis__prefix *prefix, const sis__head *head, double largest,
                    const float *error, double *margin) {
    const sis__subject *s = prefix->s;
    const sis__plan *p = sis__head_plan(head);
    follow f = {p, SIS_NEW(extent *, p->n_tensors)};
    int last = s->net->pre_output;
    *margin = INFINITY;
    if (!f.of)
        return SIS_E_NOMEM;
    int known = follow_cuts(&f, prefix, largest, error) == SIS_OK ? 1 : SIS_E_NOMEM;
    for (size_t i = 0; known > 0 && i < p->n_steps; i++)
        known = follow_step(&f, &p->steps[i]);
    if (known > 0 && f.of[last])
        *margin = margin_error(s->net, f.of[last], p->tensors[last].count, s->output);
    for (size_t i = 0; i < p->n_tensors; i++)
        free(f.of[i]);
    free((void *)f.of);
    return known < 0 ? known : SIS_OK;
}
