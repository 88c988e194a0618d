/* SPDX-License-Identifier: MIT
 *
 * Quantised numbers: QuantizeLinear and DequantizeLinear in all forms, and the operators that
 * quantised layers are lowered to, which compute with 8-bit integers held exactly in floats
 * (net/lower/exact_quant.h): Lift, Levels, Settle, Factor, Sums and Fused.
 *
 * 8-bit integers are stored as int64 (net/onnx/graph.h). Scaling rounds to nearest, ties to even,
 * and saturates.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/broadcast.h"
#include "net/ops/ops.h"

static int64_t saturate(int elem, double v) {
    int64_t low, high;
    sis__elem_range(elem, &low, &high);
    v = rint(v);
    return isnan(v) ? 0 : v < (double)low ? low : v > (double)high ? high : (int64_t)v;
}

static const int64_t *whole(const sis__step *s, const sis__run *r, size_t i) {
    return (const int64_t *)(const void *)sis__in(s, r, i);
}

static int is_byte(const sis__tensor *t) {
    return t->elem == SIS__UINT8 || t->elem == SIS__INT8;
}

/* Context of a function over rows of a broadcast. */
typedef struct {
    const sis__step *s;
    sis__run *r;
} pair;

static void need_whole(sis__shape_ctx *c, size_t i) {
    const sis__tensor *t = sis__ctx_input(c, i);
    if (!t || t->dtype != SIS__I64)
        sis__ctx_fail(c, SIS_E_FORMAT, "input %zu must be integers", i);
}

/* ---- QuantizeLinear, DequantizeLinear -------------------------------------------------------- */

typedef struct {
    sis__axis axis;
    size_t step; /* 1: one scale per index along the axis; 0: one for all */
} scaling;

static int scaling_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0), *scale = sis__ctx_input(c, 1);
    const sis__tensor *zero = sis__ctx_input(c, 2);
    int quantizes = c->step->op == SIS__OP_QUANTIZE_LINEAR;
    scaling *p = (scaling *)sis__ctx_own(c, sizeof *p);
    int64_t axis = sis__attr_int(c, "axis", 1);
    int64_t elem = sis__attr_int(c, "output_dtype", 0);
    sis__attr_find(c, "saturate");
    sis__attr_find(c, "precision");
    if (scale->dtype != SIS__F32 ||
        (zero && (zero->dtype != SIS__I64 || zero->count != scale->count)))
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "scales or zero points of another type");
    if (!quantizes && x->dtype != SIS__I64)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "input 0 is %s; integers are supported",
                      sis__elem_name(x->elem));
    if (c->error)
        return c->error;
    *p = (scaling){.axis = {.outer = 1, .size = 1, .inner = x->count}};
    if (scale->count > 1 || scale->rank > 0) {
        size_t at = x->rank == 1 ? 0 : sis__ctx_axis(c, axis, x->rank);
        sis__axis_around(x, at, &p->axis);
        p->step = scale->count > 1;
        if (p->step && scale->count != p->axis.size)
            sis__ctx_fail(c, SIS_E_FORMAT, "%zu scales for an axis of %zu", scale->count,
                          p->axis.size);
    }
    int out = zero ? zero->elem : elem ? (int)elem : SIS__UINT8;
    if (quantizes && sis__elem_dtype(out) != SIS__I64)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "results of type %s", sis__elem_name(out));
    sis__ctx_output(c, 0, quantizes ? SIS__I64 : SIS__F32, x->rank, x->dims);
    sis__ctx_elem(c, 0, quantizes ? out : scale->elem);
    return c->error;
}

/* The scale of value i. */
static size_t scale_of(const scaling *p, size_t i) {
    return p->step && p->axis.inner ? i / p->axis.inner % p->axis.size : 0;
}

static int quantize_forward(const sis__step *s, sis__run *r) {
    const scaling *p = (const scaling *)s->p.own;
    const sis__tensor *x = sis__tin(s, r, 0);
    int64_t *y = (int64_t *)(void *)sis__out(s, r, 0);
    int elem = sis__tout(s, r, 0)->elem;
    for (size_t i = 0; i < x->count; i++) {
        size_t k = scale_of(p, i);
        float v = (float)sis__number_at(x, sis__in(s, r, 0), i) / sis__in(s, r, 1)[k];
        y[i] =
            saturate(elem, (double)rintf(v) + (double)(sis__in(s, r, 2) ? whole(s, r, 2)[k] : 0));
    }
    return SIS_OK;
}

static int dequantize_forward(const sis__step *s, sis__run *r) {
    const scaling *p = (const scaling *)s->p.own;
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; i < n; i++) {
        size_t k = scale_of(p, i);
        int64_t zero = sis__in(s, r, 2) ? whole(s, r, 2)[k] : 0;
        sis__out(s, r, 0)[i] = (float)(whole(s, r, 0)[i] - zero) * sis__in(s, r, 1)[k];
    }
    return SIS_OK;
}

const sis__op sis__op_quantize_linear = {
    2, 3, scaling_shape, quantize_forward, NULL, .trait = SIS__MIXES};
const sis__op sis__op_dequantize_linear = {
    2, 3, scaling_shape, dequantize_forward, NULL, .trait = SIS__MIXES};

/* ---- Levels (net/lower/exact_quant.h) -------------------------------------------------------- */

/* Lift: integers minus their zero points -> levels. One zero point, or one per index of the first
 * axis, or of an axis counted from the end (the other one if the matrix will be transposed). */
static int lift_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0), *zero = sis__ctx_input(c, 1);
    scaling *p = (scaling *)sis__ctx_own(c, sizeof *p);
    size_t from_end = (size_t)sis__attr_int(c, "from_end", 0);
    if (sis__attr_int(c, "transB", 0))
        from_end = 3 - from_end;
    need_whole(c, 0);
    if (zero)
        need_whole(c, 1);
    if (c->error)
        return c->error;
    size_t axis = from_end && from_end <= x->rank ? x->rank - from_end : 0;
    *p = (scaling){.axis = {.outer = 1, .size = 1, .inner = x->count}};
    if (zero && zero->count != 1) {
        if (x->rank == 0 || zero->count != x->dims[axis])
            return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "%zu zero points", zero->count);
        sis__axis_around(x, axis, &p->axis);
        p->step = 1;
    }
    sis__ctx_output(c, 0, SIS__F32, x->rank, x->dims);
    sis__ctx_elem(c, 0, SIS__FLOAT);
    return c->error;
}

static int lift_forward(const sis__step *s, sis__run *r) {
    const scaling *p = (const scaling *)s->p.own;
    const int64_t *x = whole(s, r, 0), *zero = whole(s, r, 1);
    float *y = sis__out(s, r, 0);
    for (size_t i = 0; i < p->axis.outer * p->axis.size; i++) {
        int64_t z = zero ? zero[i % p->axis.size * p->step] : 0;
        for (size_t k = 0; k < p->axis.inner; k++)
            *y++ = (float)(*x++ - z);
    }
    return SIS_OK;
}

const sis__op sis__op_lift = {1, 2, lift_shape, lift_forward, NULL, .trait = SIS__MIXES};

/* Settle: levels and a zero point (none: 0, int32, or with `bytes` uint8) -> integers */
static int settle_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0), *zero = sis__ctx_input(c, 1);
    int bytes = sis__attr_int(c, "bytes", 0) != 0;
    sis__ctx_float(c, 0);
    if (zero)
        need_whole(c, 1);
    if (!c->error && zero && zero->count != 1)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "%zu zero points", zero->count);
    sis__ctx_output(c, 0, SIS__I64, x->rank, x->dims);
    sis__ctx_elem(c, 0, zero ? zero->elem : bytes ? SIS__UINT8 : SIS__INT32);
    return c->error;
}

static int settle_forward(const sis__step *s, sis__run *r) {
    const float *x = sis__in(s, r, 0);
    int64_t *y = (int64_t *)(void *)sis__out(s, r, 0), zero = whole(s, r, 1) ? *whole(s, r, 1) : 0;
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; i < n; i++)
        y[i] = (int64_t)(int32_t)x[i] + zero;
    return SIS_OK;
}

const sis__op sis__op_settle = {1, 2, settle_shape, settle_forward, NULL, .trait = SIS__MIXES};

/* The constants of Levels, packed into the one integer that broadcast parameters have room for. */
typedef struct {
    int zero, is_signed, over; /* over: divide by the factor */
} level_kind;

static int pack_kind(const level_kind *k) {
    return (k->zero + 1024) * 4 + k->is_signed * 2 + k->over;
}

static level_kind kind_of(int choice) {
    return (level_kind){choice / 4 - 1024, choice / 2 % 2, choice % 2};
}

/* Levels: x, factor, constant zero point (none: 0, uint8) -> x times or over the factor, rounded to
 * levels. `raw`: only the type of the zero point is used. */
static int levels_shape(sis__shape_ctx *c) {
    const sis__tensor *zero = sis__ctx_input(c, 2);
    size_t rank, dims[SIS__MAX_RANK];
    level_kind k = {.over = sis__attr_int(c, "over", 0) != 0};
    int raw = sis__attr_int(c, "raw", 0) != 0;
    sis__ctx_float(c, 0);
    sis__ctx_float(c, 1);
    if (zero && (!is_byte(zero) || !zero->data || zero->count != 1))
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a zero point that is not an 8-bit constant");
    if (c->error)
        return c->error;
    k.zero = zero && !raw ? (int)*(const int64_t *)zero->data : 0;
    k.is_signed = zero && zero->elem == SIS__INT8;
    c->step->n_inputs = 2; /* the zero point is a constant of the step */
    sis__ctx_broadcast(c, 2, &rank, dims);
    c->step->p.broadcast.choice = pack_kind(&k);
    sis__ctx_output(c, 0, SIS__F32, rank, dims);
    sis__ctx_elem(c, 0, SIS__FLOAT);
    if (!c->error)
        c->step->flops = 4.0 * (double)c->plan->tensors[c->step->outputs[0]].count;
    return c->error;
}

/* The nearest integer of v clamped to least .. most, ties to even; NaN: `instead`. Adding 3 * 2^22
 * removes the fraction; compilers vectorise this on any machine. */
static inline float nearest_within(float v, float min, float max, float instead) {
    const float bias = 12582912.0f;
    v = v > min ? v < max ? v : max : v <= min ? min : instead;
    return (v + bias) - bias;
}

static void levels_row(void *ctx, const size_t *offset, size_t out) {
    const pair *v = (const pair *)ctx;
    const sis__broadcast *b = &v->s->p.broadcast;
    level_kind k = kind_of(b->choice);
    const float *x = sis__in(v->s, v->r, 0) + offset[0], *f = sis__in(v->s, v->r, 1) + offset[1];
    float *y = sis__out(v->s, v->r, 0) + out;
    float min = (float)((k.is_signed ? -128 : 0) - k.zero), none = (float)-k.zero;
    float max = (float)((k.is_signed ? 127 : 255) - k.zero);
    size_t n = sis__broadcast_length(b), sx = sis__broadcast_step(b, 0),
           sf = sis__broadcast_step(b, 1);
    if (k.over)
        for (size_t i = 0; i < n; i++)
            y[i] = nearest_within(x[i * sx] / f[i * sf], min, max, none);
    else if (sx == 1 && sf == 0)
        for (size_t i = 0; i < n; i++)
            y[i] = nearest_within(x[i] * *f, min, max, none);
    else if (sx == 1 && sf == 1)
        for (size_t i = 0; i < n; i++)
            y[i] = nearest_within(x[i] * f[i], min, max, none);
    else
        for (size_t i = 0; i < n; i++)
            y[i] = nearest_within(x[i * sx] * f[i * sf], min, max, none);
}

static int levels_forward(const sis__step *s, sis__run *r) {
    sis__broadcast_rows(&s->p.broadcast, levels_row, &(pair){s, r});
    return SIS_OK;
}

const sis__op sis__op_levels = {2, 3, levels_shape, levels_forward, NULL, .trait = SIS__MAPS};

/* Factor: scales of x, of weights (one, or one per output) and of the result (none: 1), and
 * weights of filters -> the factor of sums, along the channel axis, or without weights along the
 * last axis */
static int factor_shape(sis__shape_ctx *c) {
    const sis__tensor *scale = sis__ctx_input(c, 1), *w = sis__ctx_input(c, 3);
    size_t dims[SIS__MAX_RANK], rank = scale->count > 1 ? w && w->rank >= 2 ? w->rank - 1 : 1 : 0;
    c->step->p.unary.alpha = sis__attr_float(c, "alpha", 1);
    for (size_t i = 0; i < 3; i++)
        if (sis__ctx_input(c, i))
            sis__ctx_float(c, i);
    for (size_t d = 0; d < rank; d++)
        dims[d] = d ? 1 : scale->count;
    return sis__ctx_output(c, 0, SIS__F32, rank, dims);
}

static int factor_forward(const sis__step *s, sis__run *r) {
    const float *to = sis__in(s, r, 2);
    for (size_t i = 0, n = sis__tout(s, r, 0)->count; i < n; i++) {
        float scale = s->p.unary.alpha * *sis__in(s, r, 0) * sis__in(s, r, 1)[i];
        sis__out(s, r, 0)[i] = to ? scale / *to : scale;
    }
    return SIS_OK;
}

const sis__op sis__op_factor = {2, 4, factor_shape, factor_forward, NULL, .trait = SIS__MIXES};

/* Sums: the two factors and the addend of QLinearAdd, from scale and zero point of each side and of
 * the result; and 1. */
static int sums_shape(sis__shape_ctx *c) {
    for (size_t i = 0; i < 6; i += 2) {
        sis__ctx_float(c, i);
        need_whole(c, i + 1);
    }
    for (size_t i = 0; i < 4; i++)
        sis__ctx_output(c, i, SIS__F32, 0, NULL);
    return c->error;
}

static int sums_forward(const sis__step *s, sis__run *r) {
    float to = *sis__in(s, r, 4), one = *sis__in(s, r, 0) / to, two = *sis__in(s, r, 2) / to;
    float at = fmaf(one, (float)*whole(s, r, 1), two * (float)*whole(s, r, 3));
    float results[4] = {one, two, (float)*whole(s, r, 5) - at, 1};
    for (size_t i = 0; i < 4; i++)
        if (sis__out(s, r, i))
            *sis__out(s, r, i) = results[i];
    return SIS_OK;
}

const sis__op sis__op_sums = {6, 6, sums_shape, sums_forward, NULL, .trait = SIS__MIXES};

/* Fused: a * b + c, rounded once if a is a byte */
static int fused_shape(sis__shape_ctx *c) {
    size_t rank, dims[SIS__MAX_RANK];
    for (size_t i = 0; i < 3; i++)
        sis__ctx_float(c, i);
    sis__ctx_broadcast(c, 3, &rank, dims);
    return sis__ctx_output(c, 0, SIS__F32, rank, dims);
}

static void fused_row(void *ctx, const size_t *offset, size_t out) {
    const pair *v = (const pair *)ctx;
    const sis__broadcast *w = &v->s->p.broadcast;
    size_t by[3];
    const float *in[3];
    for (size_t i = 0; i < 3; i++) {
        by[i] = sis__broadcast_step(w, i);
        in[i] = sis__in(v->s, v->r, i) + offset[i];
    }
    for (size_t i = 0, n = sis__broadcast_length(w); i < n; i++)
        sis__out(v->s, v->r, 0)[out + i] =
            (float)((double)in[0][i * by[0]] * (double)in[1][i * by[1]] + (double)in[2][i * by[2]]);
}

static int fused_forward(const sis__step *s, sis__run *r) {
    sis__broadcast_rows(&s->p.broadcast, fused_row, &(pair){s, r});
    return SIS_OK;
}

const sis__op sis__op_fused = {3, 3, fused_shape, fused_forward, NULL, .trait = SIS__MAPS};
