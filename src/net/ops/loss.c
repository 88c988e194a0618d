/* SPDX-License-Identifier: MIT
 *
 * NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: x (n, classes, places...), targets (n,
 * places...) and an optional weight for each class. Some exporters leave the loss in the graph.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

typedef struct {
    size_t n, classes, places;
    int reduce; /* 0: mean, 1: sum, 2: none */
    int64_t ignored;
    int ignores;
    int softmax; /* x are logits */
} loss;

static int loss_shape(sis__cx *c) {
    static const char *const names[] = {"mean", "sum", "none"};
    const sis__tensor *x = sis__cx_input(c, 0), *t = sis__cx_input(c, 1), *w = sis__cx_input(c, 2);
    loss *p = (loss *)sis__cx_own(c, sizeof *p);
    sis__cx_float(c, 0);
    int reduce = sis__attr_choice(c, "reduction", names, 3);
    int ignores = sis__attr_find(c, "ignore_index") != NULL;
    int64_t ignored = sis__attr_int(c, "ignore_index", 0);
    if (x->rank < 2 || t->dtype != SIS__I64 || t->rank + 1 != x->rank ||
        (x->dims[1] && t->count != x->count / x->dims[1]))
        sis__cx_fail(c, SIS_E_FORMAT, "targets that do not fit the scores");
    if (w && (w->dtype != SIS__F32 || x->rank < 2 || w->count != x->dims[1]))
        sis__cx_fail(c, SIS_E_FORMAT, "weights that do not fit the classes");
    if (c->error)
        return c->error;
    *p = (loss){.n = x->dims[0], .classes = x->dims[1], .places = 1, .reduce = reduce};
    p->ignores = ignores;
    p->ignored = ignored;
    p->softmax = c->step->op == SIS__OP_SOFTMAX_CROSS_ENTROPY_LOSS;
    for (size_t d = 2; d < x->rank; d++)
        p->places *= x->dims[d];
    sis__cx_output(c, 1, SIS__F32, x->rank, x->dims);
    return sis__cx_output(c, 0, SIS__F32, reduce == 2 ? t->rank : 0, t->dims);
}

/* log sum of exponentials of the logits at one place, 0 where x holds log-probabilities */
static double log_sum(const loss *p, const float *x) {
    double top = -(double)INFINITY, sum = 0;
    for (size_t k = 0; k < p->classes; k++)
        top = x[k * p->places] > top ? x[k * p->places] : top; /* fmax crashes gcc 12 on arm64 */
    for (size_t k = 0; k < p->classes; k++)
        sum += exp(x[k * p->places] - top);
    return p->softmax ? top + log(sum) : 0;
}

static int loss_forward(const sis__step *s, sis__run *r) {
    const loss *p = (const loss *)s->p.own;
    const float *x = sis__in(s, r, 0), *w = sis__in(s, r, 2);
    const int64_t *t = (const int64_t *)(const void *)sis__in(s, r, 1);
    float *y = sis__out(s, r, 0), *logs = sis__out(s, r, 1);
    double sum = 0, weights = 0;
    for (size_t i = 0; i < p->n * p->places; i++) {
        const float *at = x + (i / p->places * p->classes) * p->places + i % p->places;
        double rest = log_sum(p, at), value = 0;
        for (size_t k = 0; logs && k < p->classes; k++)
            logs[(size_t)(at - x) + k * p->places] = (float)(at[k * p->places] - rest);
        if (!p->ignores || t[i] != p->ignored) {
            size_t k = sis__index_in(t[i], p->classes);
            if (k == SIZE_MAX)
                return sis__fail(SIS_E_ARGUMENT, "target %lld of %zu classes", (long long)t[i],
                                 p->classes);
            double weight = w ? (double)w[k] : 1.0;
            value = -weight * (at[k * p->places] - rest);
            weights += weight;
        }
        sum += value;
        if (p->reduce == 2 && y)
            y[i] = (float)value;
    }
    if (p->reduce < 2 && y)
        *y = (float)(p->reduce ? sum : sum / weights);
    return SIS_OK;
}

const sis__op sis__op_negative_log_likelihood_loss = {
    2, 3, loss_shape, loss_forward, sis__no_gradient, 0, SIS__MIXES};
const sis__op sis__op_softmax_cross_entropy_loss = {
    2, 3, loss_shape, loss_forward, sis__no_gradient, 0, SIS__MIXES};
