/* SPDX-License-Identifier: MIT
 *
 * LinearRegressor and LinearClassifier of ai.onnx.ml, and the code that linear models and tree
 * ensembles share (ml_scores.h).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/ops/encode.h"
#include "net/ops/ml_scores.h"
#include "net/ops/ops.h"

/* ---- Shared with trees ----------------------------------------------------------------------- */

int sis__post_read(sis__shape_ctx *c, sis__post *post) {
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    *post = (sis__post)sis__attr_choice(c, "post_transform", names, 5);
    return c->error;
}

int sis__labels_read(sis__shape_ctx *c, size_t *n, const int64_t **labels, sis__dtype *type) {
    const char *ints =
        sis__attr_find(c, "classlabels_int64s") ? "classlabels_int64s" : "classlabels_ints";
    *labels = sis__attr_ints(c, ints, n);
    *type = SIS__I64;
    if (*n == 0) {
        *labels = sis__attr_words(c, "classlabels_strings", n);
        *type = SIS__TEXT;
    } else {
        sis__attr_find(c, "classlabels_strings");
    }
    if (*n == 0)
        sis__ctx_fail(c, SIS_E_FORMAT, "no class labels");
    return c->error;
}

int sis__rows_read(sis__shape_ctx *c, size_t *n, size_t *width) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    if (x->rank < 1 || x->rank > 2 || x->dtype == SIS__BOOL)
        return sis__ctx_fail(c, SIS_E_FORMAT, "an input that is not a table of numbers");
    *n = x->rank == 2 ? x->dims[0] : 1;
    *width = x->dims[x->rank - 1];
    return c->error;
}

float sis__row_value(const sis__step *s, const sis__run *r, size_t at) {
    const void *x = sis__in(s, r, 0);
    return sis__tin(s, r, 0)->dtype == SIS__F32 ? ((const float *)x)[at]
                                                : (float)((const int64_t *)x)[at];
}

static void softmax(float *v, size_t n, int skip_zero) {
    float top = -INFINITY;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        top = v[i] > top ? v[i] : top;
    for (size_t i = 0; i < n; i++)
        if (skip_zero && fabsf(v[i]) <= 1e-7f) /* as in ONNX Runtime: values close to 0 are
                                                * skipped */
            v[i] *= expf(-top);
        else
            sum += v[i] = expf(v[i] - top);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(v[i] / sum);
}

/* The quantile function of the normal distribution, by Winitzki's formula for the inverse of erf as
 * in ONNX Runtime: accurate to two digits. NaN outside of 0 to 1. */
static float probit(float p) {
    const float a = 0.147f, u = 2 * p - 1, rest = logf((1 - u) * (1 + u));
    float v = 2 / (3.14159265f * a) + 0.5f * rest;
    return copysignf(1.41421356f * sqrtf(sqrtf(v * v - rest / a) - v), u);
}

void sis__post_apply(sis__post post, float *scores, size_t n) {
    if (post == SIS__POST_SOFTMAX || post == SIS__POST_SOFTMAX_ZERO)
        softmax(scores, n, post == SIS__POST_SOFTMAX_ZERO);
    else if (post == SIS__POST_LOGISTIC)
        sis__kernels_best()->sigmoid(scores, scores, n);
    for (size_t i = 0; post == SIS__POST_PROBIT && i < n; i++)
        scores[i] = probit(scores[i]);
}

/* The gradient of one row's scores before post from the one after it; `scores` are those after it.
 * The slope of a probit is that of the exact function. */
static void post_backward(sis__post post, const float *scores, const float *after, float *before,
                          size_t n) {
    double dot = 0;
    for (size_t i = 0; i < n; i++)
        dot += (double)after[i] * scores[i];
    for (size_t i = 0; i < n; i++)
        before[i] = post == SIS__POST_NONE       ? after[i]
                    : post == SIS__POST_LOGISTIC ? after[i] * scores[i] * (1 - scores[i])
                    : post == SIS__POST_PROBIT
                        ? after[i] * 2.5066283f * expf(0.5f * scores[i] * scores[i])
                        : (float)(scores[i] * (after[i] - dot));
}

static size_t best_of(const float *scores, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

/* ---- Shapes -------------------------------------------------------------------------------- */

static int read_coefficients(sis__shape_ctx *c, sis__linear *l) {
    size_t n, biases;
    l->weights = sis__attr_floats(c, "coefficients", &n);
    l->bias = sis__attr_floats(c, "intercepts", &biases);
    sis__post_read(c, &l->post);
    sis__rows_read(c, &l->n, &l->width);
    if (c->error)
        return c->error;
    l->rows = l->width ? n / l->width : 0;
    if (l->rows == 0 || l->rows * l->width != n || (l->bias && biases != l->rows))
        return sis__ctx_fail(c, SIS_E_FORMAT, "%zu coefficients, %zu intercepts for %zu columns", n,
                             biases, l->width);
    c->step->scratch = 2 * (l->rows + 2) * sizeof(float);
    c->step->flops = 2.0 * (double)l->n * (double)n;
    return c->error;
}

static int regressor_shape(sis__shape_ctx *c) {
    sis__linear *l = &c->step->p.linear;
    read_coefficients(c, l);
    int64_t targets = sis__attr_int(c, "targets", 1);
    if (targets != (int64_t)l->rows)
        sis__ctx_fail(c, SIS_E_FORMAT, "coefficients for %zu targets instead of %lld", l->rows,
                      (long long)targets);
    l->outputs = l->rows;
    if (l->rows == 1 && l->post != SIS__POST_PROBIT)
        l->post = SIS__POST_NONE; /* ONNX Runtime does not change a single score */
    sis__ctx_output(c, 0, SIS__F32, 2, (size_t[]){l->n, l->outputs});
    sis__ctx_elem(c, 0, SIS__FLOAT);
    return c->error;
}

static int classifier_shape(sis__shape_ctx *c) {
    sis__linear *l = &c->step->p.linear;
    read_coefficients(c, l);
    sis__attr_find(c, "multi_class");
    sis__dtype type;
    sis__labels_read(c, &l->outputs, &l->labels, &type);
    if (c->error)
        return c->error;
    l->scores_at = 1;
    if (l->rows != l->outputs && !(l->rows == 1 && l->outputs == 2))
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "%zu rows of coefficients for %zu classes",
                             l->rows, l->outputs);
    if (l->rows < l->outputs && l->post == SIS__POST_PROBIT)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED,
                             "a probit of one row of coefficients for 2 classes");
    if (l->rows < l->outputs && l->post != SIS__POST_LOGISTIC)
        l->post = SIS__POST_NONE; /* ONNX Runtime changes neither of the two scores */
    sis__ctx_output(c, 0, type, 1, &l->n);
    sis__ctx_elem(c, 0, type == SIS__TEXT ? SIS__STRING : SIS__INT64);
    sis__ctx_output(c, 1, SIS__F32, 2, (size_t[]){l->n, l->outputs});
    sis__ctx_elem(c, 1, SIS__FLOAT);
    return c->error;
}

/* ---- Forward and gradient -------------------------------------------------------------------- */

/* Scores of one row, (outputs). */
void sis__linear_finish(const sis__linear *l, float *scores) {
    if (l->rows < l->outputs) { /* one row of weights: those of the second class */
        scores[1] = scores[0];
        scores[0] = l->post == SIS__POST_LOGISTIC ? -scores[0] : 1 - scores[0];
    }
    sis__post_apply(l->post, scores, l->outputs);
}

static void score_row(const sis__step *s, const sis__run *r, size_t row, float *scores) {
    const sis__linear *l = &s->p.linear;
    for (size_t k = 0; k < l->rows; k++) {
        double sum = l->bias ? l->bias[k] : 0;
        for (size_t j = 0; j < l->width; j++)
            sum += (double)sis__row_value(s, r, row * l->width + j) * l->weights[k * l->width + j];
        scores[k] = (float)sum;
    }
    sis__linear_finish(l, scores);
}

/* The largest; with one row of weights, the second class if its sum is above 0. */
static size_t label_of(const sis__linear *l, const float *scores) {
    return l->rows < l->outputs && l->post == SIS__POST_NONE ? scores[1] > 0
                                                             : best_of(scores, l->outputs);
}

static int linear_forward(const sis__step *s, sis__run *r) {
    const sis__linear *l = &s->p.linear;
    float *scores = sis__out(s, r, (size_t)l->scores_at), *one = (float *)(void *)r->scratch;
    int64_t *labels = l->labels ? (int64_t *)(void *)sis__out(s, r, 0) : NULL;
    for (size_t i = 0; i < l->n; i++) {
        score_row(s, r, i, one);
        if (scores)
            memcpy(scores + i * l->outputs, one, l->outputs * sizeof *one);
        if (labels)
            labels[i] = l->labels[label_of(l, one)];
    }
    return SIS_OK;
}

static int linear_backward(const sis__step *s, sis__run *r) {
    const sis__linear *l = &s->p.linear;
    const float *y = sis__out(s, r, (size_t)l->scores_at);
    const float *dy = sis__dout(s, r, (size_t)l->scores_at);
    float *dx = sis__din(s, r, 0), *before = (float *)(void *)r->scratch;
    for (size_t i = 0; dx && dy && i < l->n; i++) {
        post_backward(l->post, y + i * l->outputs, dy + i * l->outputs, before, l->outputs);
        if (l->rows < l->outputs)
            before[0] = before[1] - before[0];
        for (size_t k = 0; k < l->rows; k++)
            for (size_t j = 0; j < l->width; j++)
                dx[i * l->width + j] += before[k] * l->weights[k * l->width + j];
    }
    return SIS_OK;
}

const sis__op sis__op_linear_regressor = {
    1, 1, regressor_shape, linear_forward, linear_backward, .family = SIS__LINEAR_MODEL};
const sis__op sis__op_linear_classifier = {
    1, 1, classifier_shape, linear_forward, linear_backward, .family = SIS__LINEAR_MODEL};
