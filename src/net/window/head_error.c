/* SPDX-License-Identifier: MIT
 *
 * How far apart two margins can be whose rows are close. The head is gone through twice: forwards
 * for how large each value can be, backwards for how steeply the margin can follow it (*slope).
 * That is known for dense layers, Relu, constants that are added, and whatever only moves values;
 * other heads have no answer.
 *
 * A sum of k terms in single precision, in any order, is off by less than (k + 2) 2^-24 of the
 * terms' sizes, added up; both margins are rounded, so this counts twice, and as much as the slope
 * of what is rounded says.
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
    double size, slope;
} extent;

typedef struct {
    const sis__plan *p;
    extent **of;  /* (n_tensors) NULL: not known */
    int backward; /* sizes are there, slopes are to be found */
    double rounding;
} follow;

static size_t count_of(const follow *f, int tensor) {
    return f->p->tensors[tensor].count;
}

static const float *constant(const follow *f, int i) {
    return f->p->tensors[i].dtype == SIS__F32 ? (const float *)f->p->tensors[i].data : NULL;
}

static void add_rounding(follow *f, const extent *e, size_t terms) {
    f->rounding += (double)(terms + 3) * 0x1p-23 * e->size * e->slope;
}

static int follow_dense(follow *f, const sis__step *s, extent *x, extent *y) {
    const sis__gemm *g = &s->p.gemm;
    size_t nr = sis__kernels_best()->nr;
    int added = s->op == SIS__OP_GEMM && s->n_inputs > 2 ? s->inputs[2] : -1;
    const float *bias = added >= 0 ? constant(f, added) : NULL;
    if (!g->packed || g->m != 1 || g->trans_a || g->over.rank || (added >= 0 && !bias) ||
        count_of(f, s->inputs[0]) != g->k)
        return 0;
    for (size_t i = 0; i < g->n; i++) {
        const float *w = g->packed + i / nr * g->k * nr + i % nr;
        if (f->backward) {
            add_rounding(f, &y[i], g->k);
            for (size_t k = 0; k < g->k; k++)
                x[k].slope += fabs((double)w[k * nr]) * y[i].slope;
            continue;
        }
        y[i].size = bias ? fabs((double)(g->beta * bias[i * g->c_col])) : 0;
        for (size_t k = 0; k < g->k; k++)
            y[i].size += fabs((double)w[k * nr]) * x[k].size;
    }
    return 1;
}

/* A constant, one number or one for each value. */
static int follow_add(follow *f, const sis__step *s, extent *x, extent *y) {
    int in = x == f->of[s->inputs[0]] ? 0 : 1, other = s->inputs[1 - in];
    const float *k = constant(f, other);
    size_t n = count_of(f, s->outputs[0]), many = count_of(f, other);
    if (!k || (many != 1 && many != n) || count_of(f, s->inputs[in]) != n)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (f->backward) {
            add_rounding(f, &y[i], 1);
            x[i].slope += y[i].slope;
        } else {
            y[i].size = x[i].size + fabs((double)k[many == 1 ? 0 : i]);
        }
    return 1;
}

/* n values that stay what they are, or become 0. */
static void follow_same(const follow *f, extent *x, extent *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (f->backward)
            x[i].slope += y[i].slope;
        else
            y[i].size = x[i].size;
}

/* One tensor behind the other: along the only axis that is not 1. */
static int follow_concat(const follow *f, const sis__step *s, extent *y) {
    const sis__tensor *out = &f->p->tensors[s->outputs[0]];
    if (out->dims[s->p.axis.axis] != out->count)
        return 0;
    for (size_t i = 0; i < s->n_inputs; i++) {
        if (!f->of[s->inputs[i]])
            return 0;
        follow_same(f, f->of[s->inputs[i]], y, count_of(f, s->inputs[i]));
        y += count_of(f, s->inputs[i]);
    }
    return 1;
}

/* 1: it is known what the step does, 0: it is not. */
static int follow_step(follow *f, const sis__step *s, extent *y) {
    extent *x = NULL;
    for (size_t i = s->n_inputs; i-- > 0;) {
        if (s->inputs[i] < 0)
            return 0;
        x = f->of[s->inputs[i]] ? f->of[s->inputs[i]] : x;
    }
    if (s->op == SIS__OP_ADD)
        return x && follow_add(f, s, x, y);
    if (s->op == SIS__OP_CONCAT)
        return follow_concat(f, s, y);
    if (!x || x != f->of[s->inputs[0]])
        return 0;
    if (s->op == SIS__OP_GEMM || s->op == SIS__OP_MATMUL)
        return follow_dense(f, s, x, y);
    if ((s->ops->trait != SIS__KEEPS && s->op != SIS__OP_RELU) ||
        count_of(f, s->inputs[0]) != count_of(f, s->outputs[0]))
        return 0;
    follow_same(f, x, y, count_of(f, s->outputs[0]));
    return 1;
}

/* Sizes of the cuts. */
static int begin(follow *f, const sis__prefix *prefix, const float *size) {
    for (size_t i = 0; i < prefix->n_points; i++) {
        const sis__cut_place *c = &prefix->points[i].cut;
        if (prefix->points[i].kind == SIS__KEEP_CONV)
            continue;
        extent *x = f->of[c->value] = SIS_NEW(extent, c->width);
        if (!x)
            return SIS_E_NOMEM;
        for (size_t k = 0; k < c->width; k++)
            x[k].size = (double)size[c->at + k];
    }
    return 1;
}

/* All steps; 1: known, 0: not, negative: an error. */
static int forwards(follow *f) {
    int known = 1;
    for (size_t i = 0; known > 0 && i < f->p->n_steps; i++) {
        const sis__step *s = &f->p->steps[i];
        if (s->n_inputs == 0 || s->outputs[0] < 0 || (s->n_outputs > 1 && s->outputs[1] >= 0))
            return 0;
        extent *y = f->of[s->outputs[0]] = SIS_NEW(extent, count_of(f, s->outputs[0]));
        known = y ? follow_step(f, s, y) : SIS_E_NOMEM;
    }
    return known;
}

/* A margin follows its own output, and under a softmax none of the others more than that. */
static void backwards(follow *f, const sis__net_input *s, extent *last, size_t n) {
    int softmax = s->net->final == SIS__FINAL_SOFTMAX || s->net->final == SIS__FINAL_LOG_SOFTMAX;
    for (size_t k = 0; k < n; k++) {
        last[k].slope = k == s->output || softmax;
        f->rounding += 0x1p-40 * last[k].size * last[k].slope;
    }
    f->backward = 1;
    for (size_t i = f->p->n_steps; i-- > 0;)
        follow_step(f, &f->p->steps[i], f->of[f->p->steps[i].outputs[0]]);
}

static void find_slopes(const follow *f, const sis__prefix *prefix, float *slope) {
    for (size_t i = 0; i < prefix->n_points; i++) {
        const sis__cut_place *c = &prefix->points[i].cut;
        for (size_t k = 0; prefix->points[i].kind != SIS__KEEP_CONV && k < c->width; k++)
            slope[c->at + k] = (float)f->of[c->value][k].slope;
    }
}

int sis__head_error(const sis__prefix *prefix, const sis__head *head, const float *size,
                    float *slope, double *rounding) {
    const sis__plan *p = sis__head_plan(head);
    follow f = {.p = p, .of = SIS_NEW(extent *, p->n_tensors)};
    int last = prefix->s->net->pre_output;
    *rounding = INFINITY;
    if (!f.of)
        return SIS_E_NOMEM;
    int known = begin(&f, prefix, size);
    if (known > 0)
        known = forwards(&f);
    if (known > 0 && f.of[last]) {
        backwards(&f, prefix->s, f.of[last], count_of(&f, last));
        find_slopes(&f, prefix, slope);
        *rounding = f.rounding;
    }
    for (size_t i = 0; i < p->n_tensors; i++)
        free(f.of[i]);
    free((void *)f.of);
    return known < 0 ? known : SIS_OK;
}
