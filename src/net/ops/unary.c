/* SPDX-License-Identifier: MIT
 *
 * Element-wise functions of one input, Clip and Cast. A float function is one line: its value and
 * its derivative as expressions of x (input), y (result) and the constants alpha and beta.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "net/kernels/kernels.h"
#include "net/onnx/words.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

static int unary_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__ctx_float(c, 0);
    c->step->flops = (double)x->count;
    return sis__ctx_output(c, 0, SIS__F32, x->rank, x->dims);
}

/* The same with constants: their attributes and defaults. */
typedef struct {
    const char *alpha, *beta;
    float missing[2];
} constants;

static int constants_shape(sis__shape_ctx *c, const constants *k) {
    c->step->p.unary.alpha = sis__attr_float(c, k->alpha, k->missing[0]);
    if (k->beta)
        c->step->p.unary.beta = sis__attr_float(c, k->beta, k->missing[1]);
    return unary_shape(c);
}

/* operator, names of its constants, defaults */
#define WITH_CONSTANTS(X)                                                                          \
    X(leaky_relu, "alpha", NULL, 0.01f, 0)                                                         \
    X(elu, "alpha", NULL, 1.0f, 0)                                                                 \
    X(celu, "alpha", NULL, 1.0f, 0)                                                                \
    X(thresholded_relu, "alpha", NULL, 1.0f, 0)                                                    \
    X(swish, "alpha", NULL, 1.0f, 0)                                                               \
    X(times, "alpha", NULL, 1.0f, 0)                                                               \
    X(quick_gelu, "alpha", NULL, 1.702f, 0)                                                        \
    X(hard_sigmoid, "alpha", "beta", 0.2f, 0.5f)                                                   \
    X(selu, "alpha", "gamma", 1.67326319217681884765625f, 1.05070102214813232421875f)              \
    X(shrink, "lambd", "bias", 0.5f, 0.0f)

#define SHAPE_FUNCTION(name, alpha, beta, a, b)                                                    \
    static int name##_shape(sis__shape_ctx *c) {                                                   \
        return constants_shape(c, &(constants){alpha, beta, {a, b}});                              \
    }
WITH_CONSTANTS(SHAPE_FUNCTION)
#undef SHAPE_FUNCTION

enum { GELU_BLOCK = 256 };

/* beta: use the tanh approximation. */
static int gelu_shape(sis__shape_ctx *c) {
    static const char *const names[] = {"none", "tanh"};
    c->step->p.unary.beta = (float)sis__attr_choice(c, "approximate", names, 2);
    return unary_shape(c);
}

static float softplus(float x) {
    return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x));
}

static float hard_sigmoid(float x, float alpha, float beta) {
    float y = alpha * x + beta;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

static float sigmoid(float x) {
    return x >= 0 ? 1 / (1 + expf(-x)) : expf(x) / (1 + expf(x));
}

static float tanh_argument(float x) {
    return 0.7978845608f * (x + 0.044715f * x * x * x);
}

static float gelu_slope(float x, int approximate) {
    if (!approximate)
        return 0.5f * (1 + erff(x * 0.70710678f)) + x * 0.39894228f * expf(-0.5f * x * x);
    float t = tanhf(tanh_argument(x));
    return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.7978845608f * (1 + 0.134145f * x * x);
}

static float shrink(float x, float lambd, float bias) {
    return x < -lambd ? x + bias : x > lambd ? x - bias : 0;
}

static float swish_slope(float x, float alpha) {
    float v = sigmoid(alpha * x);
    return v * (1 + alpha * x * (1 - v));
}

static float mish_slope(float x) {
    float t = tanhf(softplus(x));
    return t + x * (1 - t * t) * sigmoid(x);
}

/* name, shape function, value, derivative */
#define FUNCTIONS(X)                                                                               \
    X(leaky_relu, leaky_relu_shape, (x < 0 ? alpha : 1) * x, x < 0 ? alpha : 1)                    \
    X(elu, elu_shape, x < 0 ? alpha * expm1f(x) : x, x < 0 ? y + alpha : 1)                        \
    X(selu, selu_shape, beta *(x < 0 ? alpha * expm1f(x) : x), x < 0 ? y + alpha * beta : beta)    \
    X(celu, celu_shape, x < 0 ? alpha * expm1f(x / alpha) : x, x < 0 ? expf(x / alpha) : 1)        \
    X(thresholded_relu, thresholded_relu_shape, x > alpha ? x : 0, x > alpha ? 1 : 0)              \
    X(times, times_shape, alpha *x, alpha)                                                         \
    X(log, unary_shape, logf(x), 1 / x)                                                            \
    X(sqrt, unary_shape, sqrtf(x), 0.5f / y)                                                       \
    X(reciprocal, unary_shape, 1 / x, -y * y)                                                      \
    X(floor, unary_shape, floorf(x), 0)                                                            \
    X(ceil, unary_shape, ceilf(x), 0)                                                              \
    X(round, unary_shape, rintf(x), 0)                                                             \
    X(sin, unary_shape, sinf(x), cosf(x))                                                          \
    X(cos, unary_shape, cosf(x), -sinf(x))                                                         \
    X(softsign, unary_shape, x / (1 + fabsf(x)), 1 / ((1 + fabsf(x)) * (1 + fabsf(x))))            \
    X(softplus, unary_shape, softplus(x), sigmoid(x))                                              \
    X(hard_sigmoid, hard_sigmoid_shape, hard_sigmoid(x, alpha, beta), y > 0 && y < 1 ? alpha : 0)  \
    X(hard_swish, unary_shape, x *hard_sigmoid(x, 1.0f / 6, 0.5f),                                 \
      x <= -3  ? 0                                                                                 \
      : x >= 3 ? 1                                                                                 \
               : x / 3 + 0.5f)                                                                     \
    X(mish, unary_shape, x *tanhf(softplus(x)), mish_slope(x))                                     \
    X(swish, swish_shape, x *sigmoid(alpha *x), swish_slope(x, alpha))                             \
    X(quick_gelu, quick_gelu_shape, x *sigmoid(alpha *x), swish_slope(x, alpha))                   \
    X(shrink, shrink_shape, shrink(x, alpha, beta), fabsf(x) > alpha ? 1 : 0)

/* The derivative, and the operator, whose forward function exists. */
#define FUNCTION(name, shape, derivative, of)                                                      \
    static int name##_backward(const sis__step *s, sis__run *r) {                                  \
        const float *from = sis__in(s, r, 0), *to = sis__out(s, r, 0), *dy = sis__dout(s, r, 0);   \
        float *dx = sis__din(s, r, 0), alpha = s->p.unary.alpha, beta = s->p.unary.beta;           \
        for (size_t i = 0, n = sis__tin(s, r, 0)->count; dx && i < n; i++) {                       \
            float x = from[i], y = to[i];                                                          \
            (void)x, (void)y, (void)alpha, (void)beta;                                             \
            dx[i] += dy[i] * (float)(derivative);                                                  \
        }                                                                                          \
        return SIS_OK;                                                                             \
    }                                                                                              \
    const sis__op sis__op_##name = {                                                               \
        1,           1, shape, name##_forward, name##_backward, .in_place = 1, .trait = SIS__MAPS, \
        .family = of};

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
    FUNCTION(name, shape, derivative, SIS__NO_FAMILY)
FUNCTIONS(OPERATOR)
#undef OPERATOR

/* ---- Those with a kernel --------------------------------------------------------------------- */

#define KERNEL_OPERATOR(name, derivative, of)                                                      \
    static int name##_forward(const sis__step *s, sis__run *r) {                                   \
        sis__kernels_best()->name(sis__in(s, r, 0), sis__out(s, r, 0), sis__tin(s, r, 0)->count);  \
        return SIS_OK;                                                                             \
    }                                                                                              \
    FUNCTION(name, unary_shape, derivative, of)
KERNEL_OPERATOR(relu, y > 0 ? 1.0f : 0.0f, SIS__RECTIFIER)
KERNEL_OPERATOR(exp, y, SIS__NO_FAMILY)
KERNEL_OPERATOR(sigmoid, y *(1 - y), SIS__NO_FAMILY)
KERNEL_OPERATOR(tanh, 1 - y * y, SIS__NO_FAMILY)
KERNEL_OPERATOR(erf, 1.1283791671f * expf(-x * x), SIS__NO_FAMILY)
#undef KERNEL_OPERATOR

static int gelu_forward(const sis__step *s, sis__run *r) {
    static const sis__gelu exact = {0.70710678f, 1.0f, 0.5f, 1, SIS__HALF_OF_X};
    const sis__kernels *kn = sis__kernels_best();
    const float *x = sis__in(s, r, 0);
    float *y = sis__out(s, r, 0);
    size_t n = sis__tin(s, r, 0)->count;
    if (s->p.unary.beta == 0)
        kn->gelu(&exact, x, y, n);
    for (size_t i = 0; s->p.unary.beta != 0 && i < n; i += GELU_BLOCK) {
        float t[GELU_BLOCK];
        size_t some = n - i < GELU_BLOCK ? n - i : GELU_BLOCK;
        for (size_t k = 0; k < some; k++)
            t[k] = tanh_argument(x[i + k]);
        kn->tanh(t, t, some);
        for (size_t k = 0; k < some; k++)
            y[i + k] = 0.5f * x[i + k] * (1 + t[k]);
    }
    return SIS_OK;
}

FUNCTION(gelu, gelu_shape, gelu_slope(x, beta != 0), SIS__NO_FAMILY)
#undef FUNCTION

/* ---- Neg and Abs: integers too --------------------------------------------------------------- */

static int any_number_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    if (x->dtype == SIS__BOOL)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "arithmetic of bool");
    return sis__ctx_output(c, 0, x->dtype, x->rank, x->dims);
}

static int64_t whole_sign(int op, int elem, int64_t v) {
    if (op == SIS__OP_SIGN)
        return v < 0 ? -1 : v != 0;
    return sis__elem_wrap(elem, op == SIS__OP_NEG || v < 0 ? (int64_t)(0 - (uint64_t)v) : v);
}

static float float_sign(int op, float v) {
    return op == SIS__OP_NEG   ? -v
           : op == SIS__OP_ABS ? fabsf(v)
           : isnan(v)          ? v
                               : (float)((v > 0) - (v < 0));
}

static int sign_forward(const sis__step *s, sis__run *r) {
    const float *x = sis__in(s, r, 0);
    const sis__tensor *t = sis__tin(s, r, 0);
    float *y = sis__out(s, r, 0);
    if (t->dtype == SIS__I64) {
        const int64_t *from = (const int64_t *)(const void *)x;
        int64_t *to = (int64_t *)(void *)y;
        for (size_t i = 0; i < t->count; i++)
            to[i] = whole_sign(s->op, t->elem, from[i]);
        return SIS_OK;
    }
    for (size_t i = 0; i < t->count; i++)
        y[i] = float_sign(s->op, x[i]);
    return SIS_OK;
}

static int sign_backward(const sis__step *s, sis__run *r) {
    const float *x = sis__in(s, r, 0), *dy = sis__dout(s, r, 0);
    float *dx = sis__din(s, r, 0);
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; dx && i < n; i++)
        dx[i] += s->op == SIS__OP_NEG || x[i] < 0 ? -dy[i] : x[i] > 0 ? dy[i] : 0;
    return SIS_OK;
}

const sis__op sis__op_neg = {
    1, 1, any_number_shape, sign_forward, sign_backward, .in_place = 1, .trait = SIS__MAPS};
const sis__op sis__op_abs = {
    1, 1, any_number_shape, sign_forward, sign_backward, .in_place = 1, .trait = SIS__MAPS};
const sis__op sis__op_sign = {
    1, 1, any_number_shape, sign_forward, NULL, .in_place = 1, .trait = SIS__MAPS};

/* ---- IsNaN ----------------------------------------------------------------------------------- */

static int is_nan_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__ctx_float(c, 0);
    return sis__ctx_output(c, 0, SIS__BOOL, x->rank, x->dims);
}

static int is_nan_forward(const sis__step *s, sis__run *r) {
    uint8_t *y = (uint8_t *)(void *)sis__out(s, r, 0);
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; i < n; i++)
        y[i] = (uint8_t)(isnan(sis__in(s, r, 0)[i]) != 0);
    return SIS_OK;
}

const sis__op sis__op_is_nan = {1, 1, is_nan_shape, is_nan_forward, NULL, .trait = SIS__MAPS};

/* ---- Not ------------------------------------------------------------------------------------- */

static int not_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    if (x->dtype != SIS__BOOL)
        return sis__ctx_fail(c, SIS_E_FORMAT, "an input that is not bool");
    return sis__ctx_output(c, 0, SIS__BOOL, x->rank, x->dims);
}

static int not_forward(const sis__step *s, sis__run *r) {
    const uint8_t *x = (const uint8_t *)(const void *)sis__in(s, r, 0);
    uint8_t *y = (uint8_t *)(void *)sis__out(s, r, 0);
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; i < n; i++)
        y[i] = !x[i];
    return SIS_OK;
}

const sis__op sis__op_not = {1, 1, not_shape, not_forward, NULL, .in_place = 1, .trait = SIS__MAPS};

/* ---- Clip: bounds are attributes, and inputs since opset 11 ---------------------------------- */

typedef struct {
    float low, high;
    int64_t min, max; /* of integers */
} clip;

/* The constant bound from input i, or NULL. */
static const void *clip_bound(sis__shape_ctx *c, size_t i, const char *name) {
    const sis__tensor *t = sis__ctx_input(c, i);
    if (t && (t->dtype != sis__ctx_input(c, 0)->dtype || t->count != 1))
        sis__ctx_fail(c, SIS_E_FORMAT, "%s must be one number of the input's type", name);
    else if (t && !t->data)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "%s must be constant", name);
    return t && !c->error ? t->data : NULL;
}

static int clip_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    const void *low = clip_bound(c, 1, "min"), *high = clip_bound(c, 2, "max");
    float min = sis__attr_float(c, "min", -INFINITY), max = sis__attr_float(c, "max", INFINITY);
    clip *p = (clip *)sis__ctx_own(c, sizeof *p);
    if (x->dtype != SIS__F32 && x->dtype != SIS__I64)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "bounds of %s", sis__dtype_name(x->dtype));
    if (c->error)
        return c->error;
    *p = (clip){min, max, INT64_MIN, INT64_MAX};
    if (x->dtype == SIS__F32) {
        p->low = low ? *(const float *)low : min;
        p->high = high ? *(const float *)high : max;
    } else {
        p->min = low ? *(const int64_t *)low : INT64_MIN;
        p->max = high ? *(const int64_t *)high : INT64_MAX;
    }
    c->step->n_inputs = 1; /* bounds are constants of the step */
    return sis__ctx_output(c, 0, x->dtype, x->rank, x->dims);
}

static int clip_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *t = sis__tin(s, r, 0);
    const clip *p = (const clip *)s->p.own;
    const float *x = sis__in(s, r, 0);
    float *y = sis__out(s, r, 0);
    for (size_t i = 0; i < t->count; i++) {
        if (t->dtype == SIS__I64) {
            int64_t whole = ((const int64_t *)(const void *)x)[i];
            ((int64_t *)(void *)y)[i] = whole < p->min ? p->min : whole > p->max ? p->max : whole;
            continue;
        }
        float v = x[i] < p->low ? p->low : x[i];
        y[i] = v > p->high ? p->high : v;
    }
    return SIS_OK;
}

static int clip_backward(const sis__step *s, sis__run *r) {
    const float *x = sis__in(s, r, 0), *dy = sis__dout(s, r, 0);
    const clip *p = (const clip *)s->p.own;
    float *dx = sis__din(s, r, 0);
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; dx && i < n; i++)
        dx[i] += x[i] >= p->low && x[i] <= p->high ? dy[i] : 0;
    return SIS_OK;
}

const sis__op sis__op_clip = {
    1, 3, clip_shape, clip_forward, clip_backward, .in_place = 1, .trait = SIS__MAPS};

/* ---- Cast ---------------------------------------------------------------------------------- */

static int cast_to(sis__shape_ctx *c, int64_t to) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    int known = to > 0 && to <= INT32_MAX;
    sis__dtype type = known ? sis__elem_dtype((int)to) : SIS__OTHER;
    if (type == SIS__OTHER)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a cast to %s",
                             sis__elem_name(known ? (int)to : -1));
    c->step->p.unary.to = (int)to;
    if (type == x->dtype && (type == SIS__F32 || to == SIS__INT64 || x->elem == (int)to))
        sis__ctx_alias(c);
    sis__ctx_output(c, 0, type, x->rank, x->dims);
    sis__ctx_elem(c, 0, (int)to);
    return c->error;
}

static int cast_shape(sis__shape_ctx *c) {
    sis__attr_find(c, "saturate"); /* only for float8, which is refused */
    return cast_to(c, sis__attr_int(c, "to", 0));
}

static int cast_like_shape(sis__shape_ctx *c) {
    sis__attr_find(c, "saturate");
    int elem = sis__ctx_input(c, 1)->elem;
    c->step->n_inputs = 1; /* only the type of the other is used */
    return cast_to(c, elem);
}

/* Integers and bool, from any type but floats. */
static int64_t integer_at(const sis__tensor *t, const void *x, size_t i) {
    return t->dtype == SIS__BOOL ? ((const uint8_t *)x)[i] : ((const int64_t *)x)[i];
}

/* The number that a text contains, or NaN. */
static double parse_number(const sis__run *r, int64_t id) {
    size_t n;
    char *end;
    const char *text = sis__words_get(r->plan->graph->words, id, &n);
    double v = sis__number(text, &end);
    return n && !*end ? v : (double)NAN;
}

static int write_number(const sis__tensor *t, const sis__run *r, const void *x, size_t i,
                        int64_t *to) {
    char text[64];
    if (t->dtype == SIS__F32) {
        float v = ((const float *)x)[i];
        if (isnan(v) || isinf(v))
            snprintf(text, sizeof text, "%s", isnan(v) ? "NaN" : v > 0 ? "INF" : "-INF");
        else /* the fewest digits that give the same float */
            for (int digits = 1; digits <= 9; digits++) {
                sis__format(text, sizeof text, "%.*g", digits, (double)v);
                if (sis__number_float(text, NULL) == v)
                    break;
            }
        if (fabsf(v) >= 1 && fabsf(v) < 1e8f && strchr(text, 'e')) /* 10, not 1e+01 */
            sis__format(text, sizeof text, "%.0f", (double)v);
    } else {
        snprintf(text, sizeof text, "%lld", (long long)integer_at(t, x, i));
    }
    return sis__words_put(r->plan->graph->words, text, strlen(text), to);
}

static void cast_one(const sis__tensor *t, const sis__run *r, const void *x, size_t i, int elem,
                     void *y) {
    sis__dtype type = sis__elem_dtype(elem);
    double text = t->dtype == SIS__TEXT ? parse_number(r, ((const int64_t *)x)[i]) : 0;
    float f = t->dtype == SIS__F32    ? ((const float *)x)[i]
              : t->dtype == SIS__TEXT ? (float)text
                                      : (float)integer_at(t, x, i);
    if (type == SIS__F32)
        ((float *)y)[i] = f;
    else if (type == SIS__BOOL)
        ((uint8_t *)y)[i] =
            t->dtype == SIS__F32 || t->dtype == SIS__TEXT ? f != 0 : integer_at(t, x, i) != 0;
    else
        ((int64_t *)y)[i] = sis__elem_wrap(elem, t->dtype == SIS__F32    ? sis__saturate((double)f)
                                                 : t->dtype == SIS__TEXT ? sis__saturate(text)
                                                                         : integer_at(t, x, i));
}

/* Common conversions in plain loops. 0: not one of these. */
static int cast_all(const sis__tensor *t, const void *x, int elem, void *y) {
    const uint8_t *bits = (const uint8_t *)x;
    const int64_t *whole = (const int64_t *)x;
    sis__dtype from = t->dtype;
    int wide = sis__elem_dtype(elem) == SIS__F32;
    if (from == SIS__BOOL && wide)
        for (size_t i = 0; i < t->count; i++)
            ((float *)y)[i] = bits[i];
    else if (from == SIS__BOOL && sis__elem_dtype(elem) == SIS__I64)
        for (size_t i = 0; i < t->count; i++)
            ((int64_t *)y)[i] = bits[i];
    else if (from == SIS__I64 && wide)
        for (size_t i = 0; i < t->count; i++)
            ((float *)y)[i] = (float)whole[i];
    else if (from == SIS__F32 && sis__elem_dtype(elem) == SIS__BOOL)
        for (size_t i = 0; i < t->count; i++)
            ((uint8_t *)y)[i] = ((const float *)x)[i] != 0;
    else
        return 0;
    return 1;
}

static int cast_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *t = sis__tin(s, r, 0);
    const void *x = sis__in(s, r, 0);
    void *y = sis__out(s, r, 0);
    int elem = s->p.unary.to, error = SIS_OK;
    if (x == y || cast_all(t, x, elem, y))
        return SIS_OK;
    for (size_t i = 0; i < t->count && !error; i++)
        if (elem != SIS__STRING)
            cast_one(t, r, x, i, elem, y);
        else if (t->dtype == SIS__TEXT)
            ((int64_t *)y)[i] = ((const int64_t *)x)[i];
        else
            error = write_number(t, r, x, i, (int64_t *)y + i);
    return error;
}

const sis__op sis__op_cast = {
    1, 1, cast_shape, cast_forward, sis__pass_back, .trait = SIS__MAPS_TEXTS};
const sis__op sis__op_cast_like = {
    2, 2, cast_like_shape, cast_forward, sis__pass_back, .trait = SIS__MAPS_TEXTS};

/* ---- Term: addend of attention scores from a mask -------------------------------------------- */

/* The addend for scores: floats as they are but at least `hidden`; other types 0, or `hidden` where
 * they are 0. */
static int term_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    c->step->p.unary.alpha = sis__attr_float(c, "hidden", 0);
    return sis__ctx_output(c, 0, SIS__F32, x->rank, x->dims);
}

static int term_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *t = sis__tin(s, r, 0);
    const float *x = sis__in(s, r, 0);
    float *y = sis__out(s, r, 0), hidden = s->p.unary.alpha;
    for (size_t i = 0; i < t->count; i++)
        if (t->dtype == SIS__F32)
            y[i] = x[i] < hidden ? hidden : x[i];
        else
            y[i] = integer_at(t, x, i) ? 0 : hidden;
    return SIS_OK;
}

const sis__op sis__op_term = {1, 1, term_shape, term_forward, sis__pass_back, .trait = SIS__MAPS};
