/* SPDX-License-Identifier: MIT
 *
 * Element-wise operators of two inputs, with broadcasting: arithmetic, maxima, comparisons, logic.
 * Each float operator is one line: its value and its two partial derivatives. Max, Min and Sum of
 * several inputs are lowered to these (net/lower/operators.c). Integers (shape arithmetic, token
 * ids) are rare and use a slower loop with a switch.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/ops/axes.h"
#include "net/ops/broadcast.h"
#include "net/ops/ops.h"

/* ---- Shapes -------------------------------------------------------------------------------- */

static int arithmetic_shape(sis__shape_ctx *c) {
    size_t rank, dims[SIS__MAX_RANK];
    sis__ctx_same_types(c, 0, 2);
    sis__ctx_broadcast(c, 2, &rank, dims);
    if (sis__ctx_input(c, 0)->dtype == SIS__BOOL)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "arithmetic of bool");
    return sis__ctx_output(c, 0, sis__ctx_input(c, 0)->dtype, rank, dims);
}

static int pow_shape(sis__shape_ctx *c) {
    size_t rank, dims[SIS__MAX_RANK];
    sis__ctx_broadcast(c, 2, &rank, dims);
    if (sis__ctx_input(c, 0)->dtype == SIS__BOOL || sis__ctx_input(c, 1)->dtype == SIS__BOOL)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "arithmetic of bool");
    return sis__ctx_output(c, 0, sis__ctx_input(c, 0)->dtype, rank, dims);
}

static int mod_shape(sis__shape_ctx *c) {
    int fmod = sis__attr_int(c, "fmod", 0) != 0;
    arithmetic_shape(c);
    c->step->p.broadcast.choice = fmod;
    return c->error;
}

/* Integers only. */
static int compare_shape(sis__shape_ctx *c) {
    size_t rank, dims[SIS__MAX_RANK];
    sis__ctx_same_types(c, 0, 2);
    sis__ctx_broadcast(c, 2, &rank, dims);
    return sis__ctx_output(c, 0, SIS__BOOL, rank, dims);
}

static int logic_shape(sis__shape_ctx *c) {
    if (sis__ctx_input(c, 0)->dtype != SIS__BOOL)
        return sis__ctx_fail(c, SIS_E_FORMAT, "inputs that are not bool");
    return compare_shape(c);
}

/* ---- Float arithmetic ---------------------------------------------------------------------- */

/* One row: y[i] = f(a[i * sa], b[i * sb]). */
typedef struct {
    const float *a, *b;
    float *y;
    const float *dy;
    float *da, *db;
    size_t sa, sb, n;
} row;

/* Use a kernel if both strides are 0 or 1. */
static int runs_fast(const row *r) {
    return r->sa <= 1 && r->sb <= 1;
}

#define KERNEL_ROW(name, kernel)                                                                   \
    static int name##_fast(const row *r) {                                                         \
        if (runs_fast(r))                                                                          \
            sis__kernels_best()->kernel(r->a, r->sa, r->b, r->sb, r->y, r->n);                     \
        return runs_fast(r);                                                                       \
    }
KERNEL_ROW(add, add)
KERNEL_ROW(sub, sub)
KERNEL_ROW(mul, mul)
KERNEL_ROW(div, div)
KERNEL_ROW(max, max)
KERNEL_ROW(min, min)
#undef KERNEL_ROW

static int pow_fast(const row *r) { /* squares */
    int square = runs_fast(r) && r->sb == 0 && r->n && *r->b == 2.0f;
    if (square)
        sis__kernels_best()->mul(r->a, r->sa, r->a, r->sa, r->y, r->n);
    return square;
}

static int mod_fast(const row *r) {
    (void)r;
    return 0;
}

static int prelu_fast(const row *r) {
    return mod_fast(r);
}

static float power(float a, float b) {
    return b == 2.0f ? a * a : powf(a, b);
}

static float power_da(float a, float b) {
    return b == 2.0f ? 2.0f * a : b == 0.0f ? 0.0f : b * powf(a, b - 1.0f);
}

static float larger(float a, float b) {
    return isnan(a) || a > b ? a : b;
}

static float smaller(float a, float b) {
    return isnan(a) || a < b ? a : b;
}

/* name, value, derivative by a, derivative by b */
#define ARITHMETIC(X)                                                                              \
    X(add, a + b, 1.0f, 1.0f)                                                                      \
    X(sub, a - b, 1.0f, -1.0f)                                                                     \
    X(mul, a *b, b, a)                                                                             \
    X(div, a / b, 1.0f / b, -a / (b * b))                                                          \
    X(max, larger(a, b), a >= b, b >= a)                                                           \
    X(min, smaller(a, b), a <= b, b <= a)                                                          \
    X(pow, power(a, b), power_da(a, b), a > 0.0f ? powf(a, b) * logf(a) : 0.0f)                    \
    X(mod, fmodf(a, b), 1.0f, -truncf(a / b))                                                      \
    X(prelu, a < 0.0f ? a * b : a, a < 0.0f ? b : 1.0f, a < 0.0f ? a : 0.0f)

#define ROW_FUNCTIONS(name, value, by_a, by_b)                                                     \
    static void name##_row(const row *r) {                                                         \
        for (size_t i = 0; !name##_fast(r) && i < r->n; i++) {                                     \
            float a = r->a[i * r->sa], b = r->b[i * r->sb];                                        \
            r->y[i] = value;                                                                       \
        }                                                                                          \
    }                                                                                              \
    static void name##_row_backward(const row *r) {                                                \
        for (size_t i = 0; i < r->n; i++) {                                                        \
            float a = r->a[i * r->sa], b = r->b[i * r->sb], d = r->dy[i];                          \
            (void)a, (void)b;                                                                      \
            if (r->da)                                                                             \
                r->da[i * r->sa] += d * (float)(by_a);                                             \
            if (r->db)                                                                             \
                r->db[i * r->sb] += d * (float)(by_b);                                             \
        }                                                                                          \
    }
ARITHMETIC(ROW_FUNCTIONS)
#undef ROW_FUNCTIONS

typedef struct {
    const sis__broadcast *b;
    row base;
    void (*fn)(const row *r);
} sweep;

static void sweep_row(void *ctx, const size_t *offset, size_t out) {
    const sweep *w = (const sweep *)ctx;
    row r = w->base;
    r.a += offset[0];
    r.b += offset[1];
    r.da = r.da ? r.da + offset[0] : NULL;
    r.db = r.db ? r.db + offset[1] : NULL;
    r.y = r.y ? r.y + out : NULL;
    r.dy = r.dy ? r.dy + out : NULL;
    w->fn(&r);
}

static void run_sweep(const sis__broadcast *b, row base, void (*fn)(const row *)) {
    sweep w = {b, base, fn};
    w.base.n = sis__broadcast_length(b);
    w.base.sa = sis__broadcast_step(b, 0);
    w.base.sb = sis__broadcast_step(b, 1);
    sis__broadcast_rows(b, sweep_row, &w);
}

/* ---- Integers ------------------------------------------------------------------------------ */

/* Sums and products wrap around. */
static int64_t divide(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

/* Integer powers wrap around like products; negative ones are computed in double. */
static int64_t raise(int64_t a, int64_t b) {
    if (b < 0)
        return sis__saturate(pow((double)a, (double)b));
    uint64_t result = 1, factor = (uint64_t)a;
    for (uint64_t n = (uint64_t)b; n; n >>= 1, factor *= factor)
        result *= n & 1 ? factor : 1;
    return (int64_t)result;
}

/* The sign of the divisor; with fmod the sign of the dividend. */
static int64_t remainder_of(int truncated, int64_t a, int64_t b) {
    if (b == 0 || b == -1)
        return 0;
    int64_t r = a % b;
    return !truncated && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t integer_of(int op, int choice, int64_t a, int64_t b) {
    switch (op) {
    case SIS__OP_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case SIS__OP_SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case SIS__OP_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case SIS__OP_DIV:
        return divide(a, b);
    case SIS__OP_MAX:
        return a < b ? b : a;
    case SIS__OP_MIN:
        return b < a ? b : a;
    case SIS__OP_MOD:
        return remainder_of(choice, a, b);
    default:
        return raise(a, b);
    }
}

typedef struct {
    int op, elem, choice;
    sis__dtype type_a, type_b;
    const void *a, *b;
    void *y;
    size_t sa, sb, n;
} mixed;

static double number(sis__dtype t, const void *p, size_t i) {
    return t == SIS__F32   ? (double)((const float *)p)[i]
           : t == SIS__I64 ? (double)((const int64_t *)p)[i]
                           : (double)((const uint8_t *)p)[i];
}

static int compare(int op, double a, double b) {
    switch (op) {
    case SIS__OP_EQUAL:
        return a == b;
    case SIS__OP_GREATER:
        return a > b;
    case SIS__OP_LESS:
        return a < b;
    case SIS__OP_GREATER_OR_EQUAL:
        return a >= b;
    case SIS__OP_LESS_OR_EQUAL:
        return a <= b;
    case SIS__OP_AND:
        return a != 0 && b != 0;
    default:
        return a != 0 || b != 0;
    }
}

/* Compare integers exactly. */
static int compare_integers(int op, int64_t a, int64_t b) {
    return compare(op, (b < a) - (a < b), 0);
}

static void integer_row(void *ctx, const size_t *offset, size_t out) {
    const mixed *m = (const mixed *)ctx;
    const int64_t *a = (const int64_t *)m->a + offset[0], *b = (const int64_t *)m->b + offset[1];
    int64_t *y = (int64_t *)m->y + out;
    for (size_t i = 0; i < m->n; i++)
        y[i] = sis__elem_wrap(m->elem, integer_of(m->op, m->choice, a[i * m->sa], b[i * m->sb]));
}

static void mixed_pow_row(void *ctx, const size_t *offset, size_t out) {
    const mixed *m = (const mixed *)ctx;
    for (size_t i = 0; i < m->n; i++) {
        double v = pow(number(m->type_a, m->a, offset[0] + i * m->sa),
                       number(m->type_b, m->b, offset[1] + i * m->sb));
        if (m->type_a == SIS__F32)
            ((float *)m->y)[out + i] = (float)v;
        else
            ((int64_t *)m->y)[out + i] = sis__elem_wrap(m->elem, sis__saturate(v));
    }
}

/* Compare floats; 0: operator not handled here. */
static int compare_floats(const mixed *m, const float *a, const float *b, uint8_t *y) {
    size_t sa = m->sa, sb = m->sb, n = m->n;
#define COMPARE(name, operation)                                                                   \
    case name:                                                                                     \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = a[i * sa] operation b[i * sb];                                                  \
        return 1;
    switch (m->op) {
        COMPARE(SIS__OP_EQUAL, ==)
        COMPARE(SIS__OP_GREATER, >)
        COMPARE(SIS__OP_LESS, <)
        COMPARE(SIS__OP_GREATER_OR_EQUAL, >=)
        COMPARE(SIS__OP_LESS_OR_EQUAL, <=)
    default:
        return 0;
    }
#undef COMPARE
}

static void compare_row(void *ctx, const size_t *offset, size_t out) {
    const mixed *m = (const mixed *)ctx;
    uint8_t *y = (uint8_t *)m->y + out;
    const int64_t *a = (const int64_t *)m->a, *b = (const int64_t *)m->b;
    if (m->type_a == SIS__F32 && m->type_b == SIS__F32 &&
        compare_floats(m, (const float *)m->a + offset[0], (const float *)m->b + offset[1], y))
        return;
    for (size_t i = 0; i < m->n; i++)
        if (m->type_a == SIS__I64 || m->type_a == SIS__TEXT)
            y[i] = (uint8_t)compare_integers(m->op, a[offset[0] + i * m->sa],
                                             b[offset[1] + i * m->sb]);
        else
            y[i] = (uint8_t)compare(m->op, number(m->type_a, m->a, offset[0] + i * m->sa),
                                    number(m->type_b, m->b, offset[1] + i * m->sb));
}

static void run_mixed(const sis__step *s, sis__run *r, sis__row_fn fn) {
    const sis__broadcast *b = &s->p.broadcast;
    mixed m = {.op = s->op,
               .elem = sis__tin(s, r, 0)->elem,
               .choice = b->choice,
               .type_a = sis__tin(s, r, 0)->dtype,
               .type_b = sis__tin(s, r, 1)->dtype,
               .a = sis__in(s, r, 0),
               .b = sis__in(s, r, 1),
               .y = sis__out(s, r, 0),
               .sa = sis__broadcast_step(b, 0),
               .sb = sis__broadcast_step(b, 1),
               .n = sis__broadcast_length(b)};
    sis__broadcast_rows(b, fn, &m);
}

static int compare_forward(const sis__step *s, sis__run *r) {
    run_mixed(s, r, compare_row);
    return SIS_OK;
}

/* ---- Two inputs ---------------------------------------------------------------------------- */

#define OPERATOR(name, value, by_a, by_b)                                                          \
    static int name##_forward(const sis__step *s, sis__run *r) {                                   \
        sis__dtype a = sis__tin(s, r, 0)->dtype, b = sis__tin(s, r, 1)->dtype;                     \
        row base = {.a = sis__in(s, r, 0), .b = sis__in(s, r, 1), .y = sis__out(s, r, 0)};         \
        if (a == SIS__F32 && b == SIS__F32)                                                        \
            run_sweep(&s->p.broadcast, base, name##_row);                                          \
        else                                                                                       \
            run_mixed(s, r, a == SIS__I64 && b == SIS__I64 ? integer_row : mixed_pow_row);         \
        return SIS_OK;                                                                             \
    }                                                                                              \
    static int name##_backward(const sis__step *s, sis__run *r) {                                  \
        row base = {.a = sis__in(s, r, 0), .b = sis__in(s, r, 1), .dy = sis__dout(s, r, 0)};       \
        base.da = sis__din(s, r, 0);                                                               \
        base.db = sis__din(s, r, 1);                                                               \
        if (sis__tin(s, r, 1)->dtype != SIS__F32)                                                  \
            return sis__fail(SIS_E_UNSUPPORTED, "an integer exponent");                            \
        run_sweep(&s->p.broadcast, base, name##_row_backward);                                     \
        return SIS_OK;                                                                             \
    }
ARITHMETIC(OPERATOR)
#undef OPERATOR

/* Before opset 7 a slope with one axis is per channel. */
static int prelu_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__tensor slope = *sis__ctx_input(c, 1);
    sis__ctx_float(c, 0);
    sis__ctx_float(c, 1);
    if (c->error)
        return c->error;
    if (c->node->opset < 7 && slope.rank == 1 && x->rank > 2)
        for (; slope.rank < x->rank - 1; slope.rank++)
            slope.dims[slope.rank] = 1;
    size_t rank, dims[SIS__MAX_RANK];
    const sis__tensor *t[2] = {x, &slope};
    if (sis__broadcast_dims(t, 2, &rank, dims) != 0)
        return sis__ctx_fail(c, SIS_E_FORMAT, "a slope that does not fit");
    sis__broadcast_init(&c->step->p.broadcast, rank, dims, t, 2);
    return sis__ctx_output(c, 0, SIS__F32, rank, dims);
}

#define BINARY(name, shape, forward, backward, how, affine)                                        \
    const sis__op sis__op_##name = {2, 2, shape, forward, backward, .trait = how, .linear = affine};
BINARY(add, arithmetic_shape, add_forward, add_backward, SIS__MAPS, 3)
BINARY(sub, arithmetic_shape, sub_forward, sub_backward, SIS__MAPS, 3)
BINARY(mul, arithmetic_shape, mul_forward, mul_backward, SIS__MAPS, 3)
BINARY(div, arithmetic_shape, div_forward, div_backward, SIS__MAPS, 1)
BINARY(max, arithmetic_shape, max_forward, max_backward, SIS__MAPS, 0)
BINARY(min, arithmetic_shape, min_forward, min_backward, SIS__MAPS, 0)
BINARY(pow, pow_shape, pow_forward, pow_backward, SIS__MAPS, 0)
BINARY(mod, mod_shape, mod_forward, mod_backward, SIS__MAPS, 0)
BINARY(prelu, prelu_shape, prelu_forward, prelu_backward, SIS__MAPS, 0)
BINARY(equal, compare_shape, compare_forward, NULL, SIS__MAPS_TEXTS, 0)
BINARY(greater, compare_shape, compare_forward, NULL, SIS__MAPS, 0)
BINARY(less, compare_shape, compare_forward, NULL, SIS__MAPS, 0)
BINARY(greater_or_equal, compare_shape, compare_forward, NULL, SIS__MAPS, 0)
BINARY(less_or_equal, compare_shape, compare_forward, NULL, SIS__MAPS, 0)
BINARY(and, logic_shape, compare_forward, NULL, SIS__MAPS, 0)
BINARY(or, logic_shape, compare_forward, NULL, SIS__MAPS, 0)
