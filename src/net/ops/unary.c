/* SPDX-License-Identifier: MIT
 *
 * Element-wise functions of one input, Clip and Cast. A float function is one line: its value and
 * its derivative as expressions of x (input), y (result) and the constants alpha and beta.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/ops/ops.h"

static int unary_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    sis__cx_float(c, 0);
    c->step->flops = (double)x->count;
    return sis__cx_output(c, 0, SIS__F32, x->rank, x->dims);
}

/* The same with attributes alpha and beta. */
static int scaled_shape(sis__cx *c, float alpha, float beta, int has_beta) {
    c->step->p.unary.alpha = sis__attr_float(c, "alpha", alpha);
    if (has_beta)
        c->step->p.unary.beta = sis__attr_float(c, "beta", beta);
    return unary_shape(c);
}

static int leaky_relu_shape(sis__cx *c) {
    return scaled_shape(c, 0.01f, 0, 0);
}

static int elu_shape(sis__cx *c) {
    return scaled_shape(c, 1.0f, 0, 0);
}

static int hard_sigmoid_shape(sis__cx *c) {
    return scaled_shape(c, 0.2f, 0.5f, 1);
}

static float softplus(float x) {
    return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x));
}

static float hard_sigmoid(float x, float alpha, float beta) {
    float y = alpha * x + beta;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

/* name, shape function, value, derivative */
#define FUNCTIONS(X)                                                                               \
    X(leaky_relu, leaky_relu_shape, x < 0 ? alpha * x : x, x < 0 ? alpha : 1)                      \
    X(elu, elu_shape, x < 0 ? alpha * expm1f(x) : x, x < 0 ? y + alpha : 1)                        \
    X(log, unary_shape, logf(x), 1 / x)                                                            \
    X(sqrt, unary_shape, sqrtf(x), 0.5f / y)                                                       \
    X(reciprocal, unary_shape, 1 / x, -y * y)                                                      \
    X(floor, unary_shape, floorf(x), 0)                                                            \
    X(ceil, unary_shape, ceilf(x), 0)                                                              \
    X(softplus, unary_shape, softplus(x), 1 / (1 + expf(-x)))                                      \
    X(hard_sigmoid, hard_sigmoid_shape, hard_sigmoid(x, alpha, beta), y > 0 && y < 1 ? alpha : 0)

#define OPERATOR(name, shape, value, derivative)                                                   \
    static int name##_forward(const sis__step *s, sis__run *r) {                                   \
        const float *from = sis__in(s, r, 0);                                                      \
        float *to = sis__out(s, r, 0), alpha = s->p.unary.alpha, beta = s->p.unary.beta;           \
        (void)alpha, (void)beta;                                                                   \
        for (size_t i = 0, n = sis__tin(s, r, 0)->count; i < n; i++) {                             \
            float x = from[i];                                                                     \
            to[i] = value;                                                                         \
        }                                                                                          \
        return SIS_OK;                                                                             \
    }                                                                                              \
    static int name##_backward(const sis__step *s, sis__run *r) {                                  \
        const float *from = sis__in(s, r, 0), *to = sis__out(s, r, 0), *dy = sis__dout(s, r, 0);   \
        float *dx = sis__din(s, r, 0), alpha = s->p.unary.alpha;                                   \
        for (size_t i = 0, n = sis__tin(s, r, 0)->count; dx && i < n; i++) {                       \
            float x = from[i], y = to[i];                                                          \
            (void)x, (void)y, (void)alpha;                                                         \
            dx[i] += dy[i] * (float)(derivative);                                                  \
        }                                                                                          \
        return SIS_OK;                                                                             \
    }                                                                                              \
    const sis__op sis__op_##name = {1, 1, shape, name##_forward, name##_backward, 1, SIS__MAPS};
FUNCTIONS(OPERATOR)
#undef OPERATOR

/* ---- Those with a kernel --------------------------------------------------------------------- */

#define KERNEL_OPERATOR(name, derivative)                                                          \
    static int name##_forward(const sis__step *s, sis__run *r) {                                   \
        sis__kernels_best()->name(sis__in(s, r, 0), sis__out(s, r, 0), sis__tin(s, r, 0)->count);  \
        return SIS_OK;                                                                             \
    }                                                                                              \
    static int name##_backward(const sis__step *s, sis__run *r) {                                  \
        const float *to = sis__out(s, r, 0), *dy = sis__dout(s, r, 0);                             \
        float *dx = sis__din(s, r, 0);                                                             \
        for (size_t i = 0, n = sis__tin(s, r, 0)->count; dx && i < n; i++) {                       \
            float y = to[i];                                                                       \
            dx[i] += dy[i] * (float)(derivative);                                                  \
        }                                                                                          \
        return SIS_OK;                                                                             \
    }                                                                                              \
    const sis__op sis__op_##name = {1, 1,        unary_shape, name##_forward, name##_backward,     \
                                    1, SIS__MAPS};
KERNEL_OPERATOR(relu, y > 0 ? 1.0f : 0.0f)
KERNEL_OPERATOR(exp, y)
KERNEL_OPERATOR(sigmoid, y *(1 - y))
KERNEL_OPERATOR(tanh, 1 - y * y)
#undef KERNEL_OPERATOR

/* ---- Neg and Abs: integers too --------------------------------------------------------------- */

static int any_number_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    if (x->dtype == SIS__BOOL)
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "arithmetic of bool");
    return sis__cx_output(c, 0, x->dtype, x->rank, x->dims);
}

static int sign_forward(const sis__step *s, sis__run *r) {
    const float *x = sis__in(s, r, 0);
    float *y = sis__out(s, r, 0);
    size_t n = sis__tin(s, r, 0)->count;
    int neg = s->op == SIS__OP_NEG;
    if (sis__tin(s, r, 0)->dtype == SIS__I64) {
        const int64_t *from = (const int64_t *)(const void *)x;
        int64_t *to = (int64_t *)(void *)y;
        for (size_t i = 0; i < n; i++)
            to[i] = neg || from[i] < 0 ? (int64_t)(0 - (uint64_t)from[i]) : from[i];
        return SIS_OK;
    }
    for (size_t i = 0; i < n; i++)
        y[i] = neg ? -x[i] : fabsf(x[i]);
    return SIS_OK;
}

static int sign_backward(const sis__step *s, sis__run *r) {
    const float *x = sis__in(s, r, 0), *dy = sis__dout(s, r, 0);
    float *dx = sis__din(s, r, 0);
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; dx && i < n; i++)
        dx[i] += s->op == SIS__OP_NEG || x[i] < 0 ? -dy[i] : x[i] > 0 ? dy[i] : 0;
    return SIS_OK;
}

const sis__op sis__op_neg = {1, 1, any_number_shape, sign_forward, sign_backward, 1, SIS__MAPS};
const sis__op sis__op_abs = {1, 1, any_number_shape, sign_forward, sign_backward, 1, SIS__MAPS};

static int not_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    if (x->dtype != SIS__BOOL)
        return sis__cx_fail(c, SIS_E_FORMAT, "an input that is not bool");
    return sis__cx_output(c, 0, SIS__BOOL, x->rank, x->dims);
}

static int not_forward(const sis__step *s, sis__run *r) {
    const uint8_t *x = (const uint8_t *)(const void *)sis__in(s, r, 0);
    uint8_t *y = (uint8_t *)(void *)sis__out(s, r, 0);
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; i < n; i++)
        y[i] = !x[i];
    return SIS_OK;
}

const sis__op sis__op_not = {1, 1, not_shape, not_forward, NULL, 1, SIS__MAPS};

/* ---- Clip: bounds are attributes, and inputs since opset 11 ---------------------------------- */

static float clip_bound(sis__cx *c, size_t i, const char *name, float missing) {
    const sis__tensor *t = sis__cx_input(c, i);
    if (!t)
        return sis__attr_float(c, name, missing);
    if (t->dtype != SIS__F32 || t->count != 1)
        sis__cx_fail(c, SIS_E_FORMAT, "%s must be one float", name);
    else if (!t->data)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "%s must be constant", name);
    return c->error ? missing : *(const float *)t->data;
}

static int clip_shape(sis__cx *c) {
    sis__unary *u = &c->step->p.unary;
    u->alpha = clip_bound(c, 1, "min", -INFINITY);
    u->beta = clip_bound(c, 2, "max", INFINITY);
    return unary_shape(c);
}

static int clip_forward(const sis__step *s, sis__run *r) {
    const float *x = sis__in(s, r, 0);
    float *y = sis__out(s, r, 0), low = s->p.unary.alpha, high = s->p.unary.beta;
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; i < n; i++) {
        float v = x[i] < low ? low : x[i];
        y[i] = v > high ? high : v;
    }
    return SIS_OK;
}

static int clip_backward(const sis__step *s, sis__run *r) {
    const float *x = sis__in(s, r, 0), *dy = sis__dout(s, r, 0);
    float *dx = sis__din(s, r, 0), low = s->p.unary.alpha, high = s->p.unary.beta;
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; dx && i < n; i++)
        dx[i] += x[i] >= low && x[i] <= high ? dy[i] : 0;
    return SIS_OK;
}

const sis__op sis__op_clip = {1, 3, clip_shape, clip_forward, clip_backward, 1, SIS__MAPS};

/* ---- Cast ---------------------------------------------------------------------------------- */

static int cast_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    int64_t to = sis__attr_int(c, "to", 0);
    if (c->error)
        return c->error;
    sis__dtype type = to > 0 && to <= 16 ? sis__elem_dtype((int)to) : SIS__OTHER;
    if (type == SIS__OTHER || to == 10 || to == 16) /* float16 would have to lose precision */
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "a cast to %s",
                            sis__elem_name(to > 0 && to <= 16 ? (int)to : -1));
    c->step->p.unary.to = (int)type;
    c->step->p.unary.narrow = to == 6;
    if (type == x->dtype && !c->step->p.unary.narrow)
        sis__cx_alias(c);
    return sis__cx_output(c, 0, type, x->rank, x->dims);
}

static int64_t to_integer(float v) {
    return isnan(v)              ? 0
           : v >= 9.2233715e18f  ? INT64_MAX
           : v <= -9.2233715e18f ? INT64_MIN
                                 : (int64_t)v;
}

static int cast_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *t = sis__tin(s, r, 0);
    const void *x = sis__in(s, r, 0);
    void *y = sis__out(s, r, 0);
    if (x == y)
        return SIS_OK;
    for (size_t i = 0; i < t->count; i++) {
        int64_t v = t->dtype == SIS__F32   ? to_integer(((const float *)x)[i])
                    : t->dtype == SIS__I64 ? ((const int64_t *)x)[i]
                                           : ((const uint8_t *)x)[i];
        if (s->p.unary.to == SIS__F32)
            ((float *)y)[i] = t->dtype == SIS__F32 ? ((const float *)x)[i] : (float)v;
        else if (s->p.unary.to == SIS__I64)
            ((int64_t *)y)[i] = s->p.unary.narrow ? (int32_t)(uint32_t)(uint64_t)v : v;
        else
            ((uint8_t *)y)[i] = t->dtype == SIS__F32 ? ((const float *)x)[i] != 0 : v != 0;
    }
    return SIS_OK;
}

static int cast_backward(const sis__step *s, sis__run *r) {
    const float *dy = sis__dout(s, r, 0);
    float *dx = sis__din(s, r, 0);
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; dx && i < n; i++)
        dx[i] += dy[i];
    return SIS_OK;
}

const sis__op sis__op_cast = {1, 1, cast_shape, cast_forward, cast_backward, 0, SIS__MAPS};
