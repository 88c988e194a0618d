/* SPDX-License-Identifier: MIT
 *
 * Quantised operators, with the integer arithmetic of the standard: QuantizeLinear,
 * DequantizeLinear, DynamicQuantizeLinear, MatMulInteger, QLinearMatMul, ConvInteger, QLinearConv,
 * ONNX Runtime's QGemm, QLinearAdd, QLinearMul and QLinearConcat, and the weights of its MatMulNBits. Others
 * of its quantised operators are made of these (net/onnx/recipes.c).
 *
 * Integers of 8 bits are kept in 64 (net/onnx/graph.h), so sums are exact; scaling back rounds to
 * the nearest, ties to even, and saturates. Products of 8-bit numbers run in the kernels of floats: up to 256 terms
 * of at most 255 * 255 stay below 2^24, where every sum of floats is exact in any order, and pieces of that length are
 * added in double. What has no constant weights, or is wider, is done value by value.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/kernels/kernels.h"
#include "net/kernels/product.h"
#include "net/ops/axes.h"
#include "net/ops/broadcast.h"
#include "net/ops/ops.h"
#include "net/ops/quant.h"
#include "net/ops/sliding.h"

static int64_t saturate(int elem, double v) {
    int64_t low, high;
    sis__elem_range(elem, &low, &high);
    v = rint(v);
    return isnan(v) ? 0 : v < (double)low ? low : v > (double)high ? high : (int64_t)v;
}

static const int64_t *whole(const sis__step *s, const sis__run *r, size_t i) {
    return (const int64_t *)(const void *)sis__in(s, r, i);
}

static void need_whole(sis__cx *c, size_t i) {
    const sis__tensor *t = sis__cx_input(c, i);
    if (!t || t->dtype != SIS__I64)
        sis__cx_fail(c, SIS_E_FORMAT, "input %zu must be integers", i);
}

/* ---- QuantizeLinear, DequantizeLinear --------------------------------------------------------- */

typedef struct {
    sis__axis axis;
    size_t step;  /* 1: a scale for each index along the axis; 0: one for all */
    size_t block; /* indices that share one, since opset 21 */
    size_t per;   /* scales along the axis */
} scaling;

static int scaling_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *scale = sis__cx_input(c, 1);
    const sis__tensor *zero = sis__cx_input(c, 2);
    int quantizes = c->step->op == SIS__OP_QUANTIZE_LINEAR;
    scaling *p = (scaling *)sis__cx_own(c, sizeof *p);
    int64_t axis = sis__attr_int(c, "axis", 1), block = sis__attr_int(c, "block_size", 0);
    int64_t elem = sis__attr_int(c, "output_dtype", 0);
    sis__attr_find(c, "saturate");
    sis__attr_find(c, "precision");
    if (scale->dtype != SIS__F32 ||
        (zero && (zero->dtype != SIS__I64 || zero->count != scale->count)))
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "scales or zero points of another type");
    if (!quantizes && x->dtype != SIS__I64)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "input 0 is %s; integers are supported",
                     sis__elem_name(x->elem));
    if (c->error)
        return c->error;
    *p = (scaling){.axis = {.outer = 1, .size = 1, .inner = x->count}, .block = 1, .per = 1};
    if (scale->count > 1 || scale->rank > 0) {
        size_t at = x->rank == 1 ? 0 : sis__cx_axis(c, axis, x->rank);
        sis__axis_around(x, at, &p->axis);
        p->step = scale->count > 1;
        p->block = block > 0 ? (size_t)block : 1;
        p->per = block > 0 && scale->rank == x->rank ? scale->dims[at] : p->axis.size;
        size_t wanted = block > 0 ? p->axis.outer * p->per * p->axis.inner : p->axis.size;
        if (p->step && (scale->count != wanted || (block > 0 && p->per * p->block < p->axis.size)))
            sis__cx_fail(c, SIS_E_FORMAT, "%zu scales for an axis of %zu", scale->count,
                         p->axis.size);
    }
    int out = zero ? zero->elem : elem ? (int)elem : SIS__UINT8;
    if (quantizes && sis__elem_dtype(out) != SIS__I64)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "results of type %s", sis__elem_name(out));
    sis__cx_output(c, 0, quantizes ? SIS__I64 : SIS__F32, x->rank, x->dims);
    sis__cx_elem(c, 0, quantizes ? out : scale->elem);
    return c->error;
}

/* Which scale value i has. */
static size_t scale_of(const scaling *p, size_t i) {
    size_t at = p->axis.inner ? i / p->axis.inner % p->axis.size : 0;
    if (!p->step)
        return 0;
    if (p->per == p->axis.size && p->block == 1)
        return at;
    size_t outer = i / p->axis.inner / p->axis.size, inner = i % p->axis.inner;
    return (outer * p->per + at / p->block) * p->axis.inner + inner;
}

/* The nearest integer of what lies within least .. most, ties to even; NaN: instead. Adding 3 * 2^22 leaves no bits
 * for a fraction, which compilers turn into vectors on any machine. */
static inline float nearest_within(float v, float least, float most, float instead) {
    const float bias = 12582912.0f;
    v = v > least ? v < most ? v : most : v <= least ? least : instead;
    return (v + bias) - bias;
}

/* One scale for all of floats: bounds in front of the loop. */
static void quantize_alike(const float *x, size_t n, float scale, int64_t zero, int elem,
                           int64_t *y) {
    int64_t low, high;
    sis__elem_range(elem, &low, &high);
    float least = (float)(low - zero), most = (float)(high - zero);
    for (size_t i = 0; i < n; i++) {
        float v = nearest_within(x[i] / scale, least, most, (float)-zero);
        y[i] = (int64_t)(int32_t)v + zero;
    }
}

static int quantize_forward(const sis__step *s, sis__run *r) {
    const scaling *p = (const scaling *)s->p.own;
    const sis__tensor *x = sis__tin(s, r, 0);
    int64_t *y = (int64_t *)(void *)sis__out(s, r, 0);
    int elem = sis__tout(s, r, 0)->elem;
    int narrow =
        elem == SIS__UINT8 || elem == SIS__INT8 || elem == SIS__UINT16 || elem == SIS__INT16;
    if (!p->step && narrow && x->dtype == SIS__F32) {
        quantize_alike(sis__in(s, r, 0), x->count, *sis__in(s, r, 1),
                       sis__in(s, r, 2) ? *whole(s, r, 2) : 0, elem, y);
        return SIS_OK;
    }
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
    if (!p->step) {
        int64_t zero = sis__in(s, r, 2) ? *whole(s, r, 2) : 0;
        float scale = *sis__in(s, r, 1);
        for (size_t i = 0, n = sis__tin(s, r, 0)->count; i < n; i++)
            sis__out(s, r, 0)[i] = (float)(whole(s, r, 0)[i] - zero) * scale;
        return SIS_OK;
    }
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; i < n; i++) {
        size_t k = scale_of(p, i);
        int64_t zero = sis__in(s, r, 2) ? whole(s, r, 2)[k] : 0;
        sis__out(s, r, 0)[i] = (float)(whole(s, r, 0)[i] - zero) * sis__in(s, r, 1)[k];
    }
    return SIS_OK;
}

const sis__op sis__op_quantize_linear = {2,    3, scaling_shape, quantize_forward,
                                         NULL, 0, SIS__MIXES};
const sis__op sis__op_dequantize_linear = {2,    3, scaling_shape, dequantize_forward,
                                           NULL, 0, SIS__MIXES};

/* x -> uint8 y, its scale and zero point, from the smallest and largest value */
static int dynamic_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    sis__cx_float(c, 0);
    sis__cx_output(c, 0, SIS__I64, x->rank, x->dims);
    sis__cx_elem(c, 0, SIS__UINT8);
    sis__cx_output(c, 1, SIS__F32, 0, NULL);
    sis__cx_output(c, 2, SIS__I64, 0, NULL);
    sis__cx_elem(c, 2, SIS__UINT8);
    return c->error;
}

/* Scale and zero point that hold n values and 0. */
static float fit_bytes(const float *x, size_t n, int64_t *zero) {
    float low = 0, high = 0;
    for (size_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    float scale = high == low ? 1.0f : (high - low) / 255.0f;
    *zero = saturate(SIS__UINT8, (double)rintf(0.0f - low / scale));
    return scale;
}

void sis__bytes_round(const float *x, size_t n, float *y) {
    int64_t zero;
    float scale = fit_bytes(x, n, &zero);
    for (size_t i = 0; i < n; i++) {
        int64_t level;
        quantize_alike(x + i, 1, scale, zero, SIS__UINT8, &level);
        y[i] = (float)(level - zero) * scale;
    }
}

static int dynamic_forward(const sis__step *s, sis__run *r) {
    const float *x = sis__in(s, r, 0);
    size_t n = sis__tin(s, r, 0)->count;
    int64_t zero;
    float scale = fit_bytes(x, n, &zero);
    if (sis__out(s, r, 0))
        quantize_alike(x, n, scale, zero, SIS__UINT8, (int64_t *)(void *)sis__out(s, r, 0));
    if (sis__out(s, r, 1))
        *sis__out(s, r, 1) = scale;
    if (sis__out(s, r, 2))
        *(int64_t *)(void *)sis__out(s, r, 2) = zero;
    return SIS_OK;
}

const sis__op sis__op_dynamic_quantize_linear = {1,    1, dynamic_shape, dynamic_forward,
                                                 NULL, 0, SIS__MIXES};

/* ---- Products -------------------------------------------------------------------------------- */

/* Inputs of a product: values and zero points of both sides, and what is done to the sums. */
typedef struct {
    size_t m, n, k;
    int trans_a, trans_b;
    sis__broadcast over;
    size_t a, b, zero_a, zero_b;                    /* inputs; SIZE_MAX: none */
    size_t zero_a_step, zero_b_step;                /* 1: one for each row of a, column of b */
    size_t scale_a, scale_b, scale_y, zero_y, bias; /* SIZE_MAX: sums stay integers */
    size_t scale_b_step;
    float alpha;
    sis__window window; /* convolutions */
    /* 8-bit numbers with constant weights: those, without their zero points. Of matrices packed for the kernel, piece by
     * piece of k; of convolutions (filters, k). NULL: value by value. */
    const float *packed;
    int lines; /* convolutions: few filters, line by line */
} product;

static product plain_product(void) {
    return (product){.zero_a = SIZE_MAX,
                     .zero_b = SIZE_MAX,
                     .scale_a = SIZE_MAX,
                     .scale_b = SIZE_MAX,
                     .scale_y = SIZE_MAX,
                     .zero_y = SIZE_MAX,
                     .bias = SIZE_MAX,
                     .alpha = 1.0f};
}

static size_t given(const sis__cx *c, size_t i) {
    return i != SIZE_MAX && sis__cx_input(c, i) ? i : SIZE_MAX;
}

/* A zero point, or scale, of one value or of n. */
static size_t step_of(sis__cx *c, size_t i, size_t n) {
    const sis__tensor *t = i == SIZE_MAX ? NULL : sis__cx_input(c, i);
    if (t && t->count != 1 && t->count != n)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "input %zu has %zu values for %zu", i, t->count, n);
    return t && t->count > 1;
}

/* Zero points and bias must be integers, scales floats, none of them empty. */
static void check_kinds(sis__cx *c, const product *p) {
    const size_t integers[] = {p->zero_a, p->zero_b, p->zero_y, p->bias};
    const size_t floats[] = {p->scale_a, p->scale_b, p->scale_y};
    for (size_t i = 0; i < 4 && !c->error; i++)
        if (integers[i] != SIZE_MAX) {
            need_whole(c, integers[i]);
            if (!c->error && sis__cx_input(c, integers[i])->count == 0)
                sis__cx_fail(c, SIS_E_FORMAT, "input %zu is empty", integers[i]);
        }
    for (size_t i = 0; i < 3 && !c->error; i++)
        if (floats[i] != SIZE_MAX && sis__cx_float(c, floats[i]) == SIS_OK &&
            sis__cx_input(c, floats[i])->count == 0)
            sis__cx_fail(c, SIS_E_FORMAT, "input %zu is empty", floats[i]);
}

/* ---- In the kernels of floats ----------------------------------------------------------------- */

enum { PIECE = 256, ROWS = 64 }; /* terms that are exact; rows done together */

static int is_byte(const sis__tensor *t) {
    return t->elem == SIS__UINT8 || t->elem == SIS__INT8;
}

static size_t least_of(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Scratch: rows of the left, their products of one piece, scales of columns; sums in double. */
static size_t fast_scratch(const product *p) {
    return ROWS * (p->k + p->n) * sizeof(float) + p->n * sizeof(float) +
           ROWS * p->n * sizeof(double) + 256;
}

/* Weights b as (k, n), less their zero points. */
static void fill_weights(const product *p, const int64_t *b, const int64_t *zero, float *to) {
    for (size_t i = 0; i < p->k; i++)
        for (size_t j = 0; j < p->n; j++) {
            int64_t v = b[p->trans_b ? j * p->k + i : i * p->n + j];
            to[i * p->n + j] = (float)(v - (zero ? zero[j * p->zero_b_step] : 0));
        }
}

/* Fills packed where it can be used. */
static void pack_bytes(sis__cx *c, product *p) {
    const sis__tensor *a = sis__cx_input(c, p->a), *b = sis__cx_input(c, p->b);
    const sis__tensor *zero = p->zero_b == SIZE_MAX ? NULL : sis__cx_input(c, p->zero_b);
    const sis__kernels *kn = sis__kernels_best();
    size_t size = 0;
    if (c->error || !is_byte(a) || !is_byte(b) || !b->data || (zero && !zero->data) || p->k == 0 ||
        p->n == 0 || p->k > INT32_MAX / ROWS || p->n > INT32_MAX / ROWS)
        return;
    for (size_t from = 0; from < p->k; from += PIECE)
        size += sis__packed_size(kn, least_of(PIECE, p->k - from), p->n);
    float *packed = (float *)sis__cx_alloc(c, size, sizeof *packed), *to = packed;
    float *plain = SIS_NEW_RAW(float, p->k * p->n);
    if (!plain)
        c->error = SIS_E_NOMEM;
    if (!c->error)
        fill_weights(p, (const int64_t *)b->data, zero ? (const int64_t *)zero->data : NULL, plain);
    for (size_t from = 0; from < p->k && !c->error; from += PIECE) {
        size_t k = least_of(PIECE, p->k - from);
        sis__pack(kn, k, p->n, plain + from * p->n, p->n, 1, to);
        to += sis__packed_size(kn, k, p->n);
    }
    free(plain);
    p->packed = c->error ? NULL : packed;
    c->step->scratch = fast_scratch(p);
}

/* What a call of the kernel works with. */
typedef struct {
    float *left, *part, *scale;
    double *sums; /* (ROWS, n) */
} bench;

static bench bench_of(const product *p, const sis__run *r) {
    bench b;
    b.sums = (double *)(void *)r->scratch;
    b.left = (float *)(void *)(b.sums + ROWS * p->n);
    b.part = b.left + ROWS * p->k;
    b.scale = b.part + ROWS * p->n;
    return b;
}

/* sums (rows, n) = left (rows, k) . weights */
static void multiply_rows(const product *p, const bench *b, size_t rows) {
    const sis__kernels *kn = sis__kernels_best();
    const float *packed = p->packed;
    for (size_t from = 0; from < p->k; from += PIECE) {
        size_t k = least_of(PIECE, p->k - from);
        memset(b->part, 0, rows * p->n * sizeof *b->part);
        kn->gemm(rows, p->n, k, b->left + from, p->k, 1, packed, b->part, p->n);
        packed += sis__packed_size(kn, k, p->n);
        for (size_t i = 0; i < rows * p->n; i++)
            b->sums[i] = from ? b->sums[i] + (double)b->part[i] : (double)b->part[i];
    }
}

static int matmul_shape(sis__cx *c, product *p) {
    const sis__tensor *a = sis__cx_input(c, p->a), *b = sis__cx_input(c, p->b);
    need_whole(c, p->a);
    need_whole(c, p->b);
    check_kinds(c, p);
    if (a->rank < 2 || b->rank < 2)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "matrices of %zu and %zu axes", a->rank, b->rank);
    if (c->error)
        return c->error;
    p->m = a->dims[a->rank - 2 + (size_t)p->trans_a];
    p->k = a->dims[a->rank - 1 - (size_t)p->trans_a];
    p->n = b->dims[b->rank - 1 - (size_t)p->trans_b];
    sis__tensor left = *a, right = *b;
    size_t dims[SIS__MAX_RANK + 2], rank;
    left.rank -= 2;
    right.rank -= 2;
    if (b->dims[b->rank - 2 + (size_t)p->trans_b] != p->k ||
        sis__broadcast_dims((const sis__tensor *[]){&left, &right}, 2, &rank, dims) != 0)
        return sis__cx_fail(c, SIS_E_FORMAT, "matrices that do not fit");
    sis__broadcast_init(&p->over, rank, dims, (const sis__tensor *[]){&left, &right}, 2);
    p->zero_a_step = step_of(c, p->zero_a, p->m);
    p->zero_b_step = step_of(c, p->zero_b, p->n);
    p->scale_b_step = step_of(c, p->scale_b, p->n);
    dims[rank++] = p->m;
    dims[rank++] = p->n;
    c->step->flops = 2.0 * (double)p->k;
    for (size_t d = 0; d < rank; d++)
        c->step->flops *= (double)dims[d];
    const sis__tensor *zero = p->zero_y == SIZE_MAX ? NULL : sis__cx_input(c, p->zero_y);
    int scaled = p->scale_y != SIZE_MAX;
    int floats = !scaled && p->scale_a != SIZE_MAX;
    sis__cx_output(c, 0, floats ? SIS__F32 : SIS__I64, rank, dims);
    sis__cx_elem(c, 0, floats ? SIS__FLOAT : scaled ? (zero ? zero->elem : a->elem) : SIS__INT32);
    if (b->rank == 2)
        pack_bytes(c, p);
    return c->error;
}

/* Inputs as MatMulInteger and ConvInteger have them. */
static product *integer_product(sis__cx *c) {
    product *p = (product *)sis__cx_own(c, sizeof *p);
    if (!p)
        return NULL;
    *p = plain_product();
    p->b = 1;
    p->zero_a = given(c, 2);
    p->zero_b = given(c, 3);
    return p;
}

static int matmul_integer_shape(sis__cx *c) {
    product *p = integer_product(c);
    return p ? matmul_shape(c, p) : c->error;
}

int sis__matmul_whole_shape(sis__cx *c) {
    const sis__tensor *a = sis__cx_input(c, 0);
    c->step->op = SIS__OP_MATMUL_INTEGER;
    c->step->ops = &sis__op_matmul_integer;
    matmul_integer_shape(c);
    sis__cx_elem(c, 0, a->elem);
    ((product *)c->step->p.own)->packed = NULL; /* bytes are for those with zero points */
    return c->error;
}

/* a, scale, zero, b, scale, zero, then for QGemm a bias, then the result's scale and zero */
static int qlinear_matmul(sis__cx *c, int gemm) {
    product *p = (product *)sis__cx_own(c, sizeof *p);
    int ta = gemm && sis__attr_int(c, "transA", 0), tb = gemm && sis__attr_int(c, "transB", 0);
    float alpha = gemm ? sis__attr_float(c, "alpha", 1.0f) : 1.0f;
    if (!p)
        return c->error;
    *p = plain_product();
    p->trans_a = ta;
    p->trans_b = tb;
    p->alpha = alpha;
    p->b = 3;
    p->scale_a = 1;
    p->zero_a = given(c, 2);
    p->scale_b = 4;
    p->zero_b = given(c, 5);
    p->bias = gemm ? given(c, 6) : SIZE_MAX;
    p->scale_y = given(c, gemm ? 7 : 6);
    p->zero_y = given(c, gemm ? 8 : 7);
    return matmul_shape(c, p);
}

static int qlinear_matmul_shape(sis__cx *c) {
    return qlinear_matmul(c, 0);
}

static int qgemm_shape(sis__cx *c) {
    return qlinear_matmul(c, 1);
}

static int64_t zero_at(const sis__step *s, const sis__run *r, size_t input, size_t i) {
    return input == SIZE_MAX ? 0 : whole(s, r, input)[i];
}

/* The sum of one result, scaled if it is to be; column is its column, or filter. */
static void store(const sis__step *s, sis__run *r, const product *p, size_t at, size_t column,
                  int64_t sum) {
    int64_t *y = (int64_t *)(void *)sis__out(s, r, 0);
    int elem = sis__tout(s, r, 0)->elem;
    if (p->scale_a == SIZE_MAX) {
        y[at] = sis__elem_wrap(elem, sum);
        return;
    }
    float scale =
        p->alpha * *sis__in(s, r, p->scale_a) * sis__in(s, r, p->scale_b)[column * p->scale_b_step];
    if (p->scale_y == SIZE_MAX)
        sis__out(s, r, 0)[at] = (float)sum * scale;
    else
        y[at] = saturate(elem, (double)rintf((float)sum * (scale / *sis__in(s, r, p->scale_y))) +
                                   (double)zero_at(s, r, p->zero_y, 0));
}

static void multiply(const sis__step *s, sis__run *r, const product *p, const size_t *at) {
    const int64_t *a = whole(s, r, p->a) + at[0] * p->m * p->k;
    const int64_t *b = whole(s, r, p->b) + at[1] * p->k * p->n;
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            int64_t za = zero_at(s, r, p->zero_a, i * p->zero_a_step);
            int64_t zb = zero_at(s, r, p->zero_b, j * p->zero_b_step);
            uint64_t sum = 0; /* wraps */
            for (size_t k = 0; k < p->k; k++)
                sum += ((uint64_t)a[p->trans_a ? k * p->m + i : i * p->k + k] - (uint64_t)za) *
                       ((uint64_t)b[p->trans_b ? j * p->k + k : k * p->n + j] - (uint64_t)zb);
            if (p->bias != SIZE_MAX) {
                size_t n = sis__tin(s, r, p->bias)->count;
                sum += (uint64_t)whole(s, r, p->bias)[n == 1 ? 0 : n == p->n ? j : i * p->n + j];
            }
            store(s, r, p, at[2] * p->m * p->n + i * p->n + j, j, (int64_t)sum);
        }
}

/* How sums of column j are scaled, and what they become; the same as `store` does. */
static void fill_scales(const sis__step *s, const sis__run *r, const product *p, float *scale) {
    float to = p->scale_y == SIZE_MAX ? 1 : *sis__in(s, r, p->scale_y);
    for (size_t j = 0; p->scale_a != SIZE_MAX && j < p->n; j++) {
        scale[j] =
            p->alpha * *sis__in(s, r, p->scale_a) * sis__in(s, r, p->scale_b)[j * p->scale_b_step];
        scale[j] = p->scale_y == SIZE_MAX ? scale[j] : scale[j] / to;
    }
}

/* A row of sums to results that lie `step` apart. */
static void store_row(const sis__step *s, sis__run *r, const product *p, const double *sums,
                      const float *scale, size_t at, size_t step) {
    int64_t *y = (int64_t *)(void *)sis__out(s, r, 0) + at, low, high;
    float *f = sis__out(s, r, 0) + at;
    sis__elem_range(sis__tout(s, r, 0)->elem, &low, &high);
    float zero = (float)zero_at(s, r, p->zero_y, 0), least = (float)low - zero,
          most = (float)high - zero;
    for (size_t j = 0; j < p->n; j++) {
        if (p->scale_a == SIZE_MAX) {
            y[j * step] = sis__elem_wrap(SIS__INT32, (int64_t)sums[j]);
        } else if (p->scale_y == SIZE_MAX) {
            f[j * step] = (float)sums[j] * scale[j];
        } else {
            float v = nearest_within((float)sums[j] * scale[j], least, most, -zero);
            y[j * step] = (int64_t)(int32_t)(v + zero);
        }
    }
}

static void add_bias(const sis__step *s, const sis__run *r, const product *p, size_t row,
                     double *sums) {
    size_t n = sis__tin(s, r, p->bias)->count;
    for (size_t j = 0; j < p->n; j++)
        sums[j] += (double)whole(s, r, p->bias)[n == 1 ? 0 : n == p->n ? j : row * p->n + j];
}

static void matmul_fast(const sis__step *s, sis__run *r, const product *p, const size_t *at) {
    const int64_t *a = whole(s, r, p->a) + at[0] * p->m * p->k;
    bench b = bench_of(p, r);
    fill_scales(s, r, p, b.scale);
    for (size_t first = 0; first < p->m; first += ROWS) {
        size_t rows = least_of(ROWS, p->m - first);
        for (size_t i = 0; i < rows; i++) {
            int64_t zero = zero_at(s, r, p->zero_a, (first + i) * p->zero_a_step);
            for (size_t k = 0; k < p->k; k++)
                b.left[i * p->k + k] =
                    (float)(a[p->trans_a ? k * p->m + first + i : (first + i) * p->k + k] - zero);
        }
        multiply_rows(p, &b, rows);
        for (size_t i = 0; i < rows; i++) {
            if (p->bias != SIZE_MAX)
                add_bias(s, r, p, first + i, b.sums + i * p->n);
            store_row(s, r, p, b.sums + i * p->n, b.scale, (at[2] * p->m + first + i) * p->n, 1);
        }
    }
}

static int product_forward(const sis__step *s, sis__run *r) {
    const product *p = (const product *)s->p.own;
    size_t index[SIS__MAX_RANK] = {0}, total = 1;
    for (size_t d = 0; d < p->over.rank; d++)
        total *= p->over.dims[d];
    for (size_t i = 0; i < total; i++) {
        size_t at[3] = {0, 0, i};
        for (size_t d = 0; d < p->over.rank; d++) {
            at[0] += index[d] * p->over.stride[0][d];
            at[1] += index[d] * p->over.stride[1][d];
        }
        if (p->packed)
            matmul_fast(s, r, p, at);
        else
            multiply(s, r, p, at);
        for (size_t d = p->over.rank; d-- > 0 && ++index[d] == p->over.dims[d];)
            index[d] = 0;
    }
    return SIS_OK;
}

const sis__op sis__op_matmul_integer = {2, 4,         matmul_integer_shape, product_forward, NULL,
                                        0, SIS__MIXES};
const sis__op sis__op_qlinear_matmul = {8, 8,         qlinear_matmul_shape, product_forward, NULL,
                                        0, SIS__MIXES};
const sis__op sis__op_qgemm = {6, 9, qgemm_shape, product_forward, NULL, 0, SIS__MIXES};

/* ---- Convolutions ---------------------------------------------------------------------------- */

/* Floats that a convolution takes: the channels of a group, windows of PIXELS outputs, their sums, and what packing takes. */
enum { PIXELS = 256 };

typedef struct {
    float *image, *windows, *sums;
    double *total; /* (n, PIXELS) */
    void *pack;
} darkroom;

static size_t plane_of(const sis__window *w) {
    return w->in[0] * w->in[1] * w->in[2];
}

static size_t conv_scratch(const product *p) {
    const sis__window *w = &p->window;
    size_t floats = w->channels / w->groups * plane_of(w) + (p->k + p->n) * PIXELS + w->out[2];
    return floats * sizeof(float) + p->n * PIXELS * sizeof(double) +
           sis__product_scratch(PIECE, PIXELS) + 256;
}

/* Weights of all filters (filters, k), zero points off, where they can be used. */
static void flatten_bytes(sis__cx *c, product *p) {
    const sis__tensor *a = sis__cx_input(c, p->a), *b = sis__cx_input(c, p->b);
    const sis__tensor *zero = p->zero_b == SIZE_MAX ? NULL : sis__cx_input(c, p->zero_b);
    const sis__window *w = &p->window;
    int few = p->n < 4 && p->k <= PIECE;
    if (c->error || !is_byte(a) || !is_byte(b) || !b->data || (zero && !zero->data) || p->k == 0 ||
        w->out[2] == 0 || (w->out[2] > PIXELS && !few) ||
        (double)(p->k + p->n) * PIXELS + (double)a->count > 1e9)
        return;
    float *plain = (float *)sis__cx_alloc(c, b->count, sizeof *plain);
    for (size_t i = 0; plain && i < b->count; i++)
        plain[i] = (float)(((const int64_t *)b->data)[i] -
                           (zero ? ((const int64_t *)zero->data)[i / p->k * p->zero_b_step] : 0));
    p->packed = plain;
    p->lines = few;
    c->step->scratch = conv_scratch(p) + (few ? w->out[2] * sizeof(float) : 0);
}

static int conv_shape(sis__cx *c, product *p) {
    const sis__tensor *x = sis__cx_input(c, p->a), *f = sis__cx_input(c, p->b);
    sis__window *w = &p->window;
    need_whole(c, p->a);
    need_whole(c, p->b);
    check_kinds(c, p);
    if (p->bias != SIZE_MAX && !c->error && f->rank &&
        sis__cx_input(c, p->bias)->count != f->dims[0])
        sis__cx_fail(c, SIS_E_FORMAT, "a bias that does not fit");
    if (sis__window_filters(c, w, x, f) != SIS_OK)
        return c->error;
    p->zero_b_step = step_of(c, p->zero_b, w->filters);
    p->scale_b_step = step_of(c, p->scale_b, w->filters);
    const sis__tensor *zero = p->zero_y == SIZE_MAX ? NULL : sis__cx_input(c, p->zero_y);
    sis__window_output(c, w, 0, SIS__I64);
    sis__cx_elem(c, 0, p->scale_y == SIZE_MAX ? SIS__INT32 : zero ? zero->elem : x->elem);
    c->step->flops = 2.0 * (double)w->n * (double)w->filters * (double)w->out[0] *
                     (double)w->out[1] * (double)w->out[2] * (double)(f->count / w->filters);
    p->k = f->count / w->filters;
    p->n = w->filters / w->groups;
    flatten_bytes(c, p);
    return c->error;
}

static int conv_integer_shape(sis__cx *c) {
    product *p = integer_product(c);
    return p ? conv_shape(c, p) : c->error;
}

static int qlinear_conv_shape(sis__cx *c) {
    product *p = (product *)sis__cx_own(c, sizeof *p);
    if (!p)
        return c->error;
    *p = plain_product();
    p->scale_a = 1;
    p->zero_a = given(c, 2);
    p->b = 3;
    p->scale_b = 4;
    p->zero_b = given(c, 5);
    p->scale_y = 6;
    p->zero_y = given(c, 7);
    p->bias = given(c, 8);
    return conv_shape(c, p);
}

/* One result: channels of its group times the kernel, zero points taken off; padding adds none. */
static int64_t convolve(const sis__step *s, const sis__run *r, const product *p, size_t n, size_t f,
                        const size_t *o) {
    const sis__window *w = &p->window;
    size_t per = w->channels / w->groups, first = f / (w->filters / w->groups) * per;
    size_t plane = w->in[0] * w->in[1] * w->in[2];
    size_t kernel = w->kernel[0] * w->kernel[1] * w->kernel[2];
    int64_t za = zero_at(s, r, p->zero_a, 0), zb = zero_at(s, r, p->zero_b, f * p->zero_b_step);
    int64_t sum = 0;
    size_t from[3], to[3], k[3];
    for (size_t a = 0; a < 3; a++)
        sis__window_span(w, a, o[a], &from[a], &to[a]);
    for (size_t ch = 0; ch < per; ch++) {
        const int64_t *x = whole(s, r, p->a) + (n * w->channels + first + ch) * plane;
        const int64_t *v = whole(s, r, p->b) + (f * per + ch) * kernel;
        for (k[0] = from[0]; k[0] < to[0]; k[0]++)
            for (k[1] = from[1]; k[1] < to[1]; k[1]++)
                for (k[2] = from[2]; k[2] < to[2]; k[2]++) {
                    ptrdiff_t at = 0;
                    for (size_t a = 0; a < 3; a++)
                        at = at * (ptrdiff_t)w->in[a] +
                             (ptrdiff_t)(o[a] * w->stride[a] + k[a] * w->dilation[a]) - w->pad[a];
                    size_t tap = (k[0] * w->kernel[1] + k[1]) * w->kernel[2] + k[2];
                    sum += (x[at] - za) * (v[tap] - zb);
                }
    }
    return sum;
}

static darkroom darkroom_of(const product *p, const sis__run *r) {
    darkroom d;
    d.pack = r->scratch;
    d.total = (double *)(void *)(r->scratch + (sis__product_scratch(PIECE, PIXELS) + 63) / 64 * 64);
    d.image = (float *)(void *)(d.total + p->n * PIXELS);
    d.windows = d.image + p->window.channels / p->window.groups * plane_of(&p->window);
    d.sums = d.windows + p->k * PIXELS;
    return d;
}

/* Outputs from .. to - 1 of the last axis see an input that exists at kernel position k. */
static void outputs_at(const sis__window *w, size_t k, size_t *from, size_t *to) {
    ptrdiff_t shift = (ptrdiff_t)(k * w->dilation[2]) - w->pad[2], step = (ptrdiff_t)w->stride[2];
    ptrdiff_t last = (ptrdiff_t)w->in[2] - 1 - shift;
    *from = shift < 0 ? (size_t)((-shift + step - 1) / step) : 0;
    *to = last < 0 ? 0 : least_of((size_t)(last / step) + 1, w->out[2]);
    *from = least_of(*from, *to);
}

/* The line of the image that a line of outputs sees at row i, j of the kernel, in front of its padding; NULL: none. */
static const float *line_seen(const sis__window *w, const float *plane, size_t line, size_t i,
                              size_t j) {
    ptrdiff_t z = (ptrdiff_t)(line / w->out[1] * w->stride[0] + i * w->dilation[0]) - w->pad[0];
    ptrdiff_t y = (ptrdiff_t)(line % w->out[1] * w->stride[1] + j * w->dilation[1]) - w->pad[1];
    if (z < 0 || y < 0 || z >= (ptrdiff_t)w->in[0] || y >= (ptrdiff_t)w->in[1])
        return NULL;
    return plane + ((size_t)z * w->in[1] + (size_t)y) * w->in[2];
}

/* to[o] += by * what output o of the line sees at kernel position k; by 0: to[o] = it. */
static void see_line(const sis__window *w, const float *line, size_t k, float by, float *to) {
    size_t from, end, step = w->stride[2];
    outputs_at(w, k, &from, &end);
    const float *x = line + ((ptrdiff_t)(from * step + k * w->dilation[2]) - w->pad[2]);
    for (size_t o = from; by == 0 && o < end; o++)
        to[o] = x[(o - from) * step];
    if (step == 1)
        for (size_t o = from; by != 0 && o < end; o++)
            to[o] += by * x[o - from];
    else
        for (size_t o = from; by != 0 && o < end; o++)
            to[o] += by * x[(o - from) * step];
}

/* windows (k, PIXELS): what `lines` lines of outputs see, kernel position by kernel position. */
static void fill_windows(const product *p, const darkroom *d, size_t first, size_t lines) {
    const sis__window *w = &p->window;
    size_t kernel = w->kernel[0] * w->kernel[1] * w->kernel[2];
    memset(d->windows, 0, p->k * PIXELS * sizeof *d->windows);
    for (size_t row = 0; row < p->k; row++)
        for (size_t l = 0; l < lines; l++) {
            size_t tap = row % kernel, k = tap % w->kernel[2], j = tap / w->kernel[2];
            const float *line = line_seen(w, d->image + row / kernel * plane_of(w), first + l,
                                          j / w->kernel[1], j % w->kernel[1]);
            if (line)
                see_line(w, line, k, 0, d->windows + row * PIXELS + l * w->out[2]);
        }
}

/* Sums of one filter, n of them, to results. */
static void store_filter(const sis__step *s, sis__run *r, const product *p, size_t filter,
                         const double *sums, size_t n, size_t at) {
    int64_t *y = (int64_t *)(void *)sis__out(s, r, 0) + at, low, high;
    double bias = (double)zero_at(s, r, p->bias, filter);
    sis__elem_range(sis__tout(s, r, 0)->elem, &low, &high);
    if (p->scale_a == SIZE_MAX) {
        for (size_t i = 0; i < n; i++)
            y[i] = sis__elem_wrap(SIS__INT32, (int64_t)(sums[i] + bias));
        return;
    }
    float scale = *sis__in(s, r, p->scale_a) * sis__in(s, r, p->scale_b)[filter * p->scale_b_step];
    scale /= *sis__in(s, r, p->scale_y);
    int32_t zero = (int32_t)zero_at(s, r, p->zero_y, 0);
    float least = (float)(low - zero), most = (float)(high - zero);
    for (size_t i = 0; i < n; i++)
        y[i] = (int32_t)nearest_within((float)(sums[i] + bias) * scale, least, most, (float)-zero) +
               zero;
}

/* A few filters over a few terms: line by line. */
static void conv_lines(const sis__step *s, sis__run *r, const product *p, const darkroom *d,
                       size_t first, size_t at) {
    const sis__window *w = &p->window;
    size_t kernel = w->kernel[0] * w->kernel[1] * w->kernel[2], lines = w->out[0] * w->out[1];
    for (size_t f = 0; f < p->n; f++)
        for (size_t l = 0; l < lines; l++) {
            float *sum = d->windows;
            memset(sum, 0, w->out[2] * sizeof *sum);
            for (size_t row = 0; row < p->k; row++) {
                size_t tap = row % kernel, j = tap / w->kernel[2];
                const float *line = line_seen(w, d->image + row / kernel * plane_of(w), l,
                                              j / w->kernel[1], j % w->kernel[1]);
                float weight = p->packed[(first + f) * p->k + row];
                if (line && weight != 0)
                    see_line(w, line, tap % w->kernel[2], weight, sum);
            }
            for (size_t o = 0; o < w->out[2]; o += PIXELS) {
                size_t n = least_of(PIXELS, w->out[2] - o);
                for (size_t i = 0; i < n; i++)
                    d->total[i] = (double)sum[o + i];
                store_filter(s, r, p, first + f, d->total, n, at + (f * lines + l) * w->out[2] + o);
            }
        }
}

/* Some lines of outputs, all filters: weights (n, k) times windows (k, pixels), piece by piece of k. */
static void conv_block(const sis__step *s, sis__run *r, const product *p, const darkroom *d,
                       const size_t *what) {
    size_t first = what[0], at = what[1], pixels = what[2], plane = what[3];
    for (size_t from = 0; from < p->k; from += PIECE) {
        size_t k = least_of(PIECE, p->k - from);
        memset(d->sums, 0, p->n * PIXELS * sizeof *d->sums);
        sis__product_add(&(sis__product){p->n,
                                         pixels,
                                         k,
                                         {p->packed + first * p->k + from, p->k, 1},
                                         {d->windows + from * PIXELS, PIXELS, 1},
                                         1.0f,
                                         d->sums,
                                         PIXELS},
                         d->pack);
        for (size_t i = 0; i < p->n * PIXELS; i++)
            d->total[i] = from ? d->total[i] + (double)d->sums[i] : (double)d->sums[i];
    }
    for (size_t f = 0; f < p->n; f++)
        store_filter(s, r, p, first + f, d->total + f * PIXELS, pixels, at + f * plane);
}

/* One image and group. */
static void conv_fast(const sis__step *s, sis__run *r, const product *p, size_t n, size_t group) {
    const sis__window *w = &p->window;
    size_t per = w->channels / w->groups, lines = w->out[0] * w->out[1], plane = lines * w->out[2];
    size_t first = group * p->n, at = (n * w->filters + first) * plane;
    const int64_t *x = whole(s, r, p->a) + (n * w->channels + group * per) * plane_of(w);
    int64_t zero = zero_at(s, r, p->zero_a, 0);
    darkroom d = darkroom_of(p, r);
    for (size_t i = 0; i < per * plane_of(w); i++)
        d.image[i] = (float)(int32_t)(x[i] - zero);
    if (p->lines) {
        conv_lines(s, r, p, &d, first, at);
        return;
    }
    size_t together = PIXELS / w->out[2]; /* lines */
    for (size_t l = 0; l < lines; l += together) {
        size_t some = least_of(together, lines - l);
        fill_windows(p, &d, l, some);
        conv_block(s, r, p, &d, (size_t[]){first, at + l * w->out[2], some * w->out[2], plane});
    }
}

static int conv_forward(const sis__step *s, sis__run *r) {
    const product *p = (const product *)s->p.own;
    const sis__window *w = &p->window;
    size_t at = 0, o[3];
    for (size_t i = 0; p->packed && i < w->n * w->groups; i++)
        conv_fast(s, r, p, i / w->groups, i % w->groups);
    if (p->packed)
        return SIS_OK;
    for (size_t n = 0; n < w->n; n++)
        for (size_t f = 0; f < w->filters; f++)
            for (o[0] = 0; o[0] < w->out[0]; o[0]++)
                for (o[1] = 0; o[1] < w->out[1]; o[1]++)
                    for (o[2] = 0; o[2] < w->out[2]; o[2]++, at++) {
                        int64_t sum = convolve(s, r, p, n, f, o);
                        store(s, r, p, at, f, sum + zero_at(s, r, p->bias, f));
                    }
    return SIS_OK;
}

const sis__op sis__op_conv_integer = {2, 4, conv_integer_shape, conv_forward, NULL, 0, SIS__MIXES};
const sis__op sis__op_qlinear_conv = {8, 9, qlinear_conv_shape, conv_forward, NULL, 0, SIS__MIXES};

/* ---- QLinearAdd, QLinearMul: a, scale, zero, b, scale, zero, scale, zero ---------------------- */

static int qlinear_binary_shape(sis__cx *c) {
    const sis__tensor *a = sis__cx_input(c, 0), *b = sis__cx_input(c, 3), *t[2] = {a, b};
    size_t rank, dims[SIS__MAX_RANK];
    need_whole(c, 0);
    need_whole(c, 3);
    product kinds = plain_product();
    kinds.scale_a = 1;
    kinds.zero_a = given(c, 2);
    kinds.scale_b = 4;
    kinds.zero_b = given(c, 5);
    kinds.scale_y = 6;
    kinds.zero_y = given(c, 7);
    check_kinds(c, &kinds);
    if (!c->error && (!is_byte(a) || !is_byte(b)))
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "integers of more than 8 bits");
    if (sis__broadcast_dims(t, 2, &rank, dims) != 0)
        return sis__cx_fail(c, SIS_E_FORMAT, "inputs whose shapes do not fit");
    sis__broadcast_init(&c->step->p.broadcast, rank, dims, t, 2);
    return sis__cx_output(c, 0, SIS__I64, rank, dims);
}

typedef struct {
    const sis__step *s;
    sis__run *r;
} pair;

static float real(const pair *v, size_t input, size_t at) {
    int64_t zero = sis__in(v->s, v->r, input + 2) ? whole(v->s, v->r, input + 2)[0] : 0;
    return (float)(whole(v->s, v->r, input)[at] - zero) * *sis__in(v->s, v->r, input + 1);
}

static int64_t zero_of(const pair *v, size_t input) {
    return sis__in(v->s, v->r, input) ? whole(v->s, v->r, input)[0] : 0;
}

/* A sum in the order in which ONNX Runtime rounds: scales over the result's, zero points together. */
static void add_row(const pair *v, const size_t *offset, size_t out, float least, float most) {
    const sis__broadcast *b = &v->s->p.broadcast;
    const int64_t *x = whole(v->s, v->r, 0) + offset[0], *z = whole(v->s, v->r, 3) + offset[1];
    int64_t *y = (int64_t *)(void *)sis__out(v->s, v->r, 0) + out;
    size_t n = sis__broadcast_length(b),
           by[2] = {sis__broadcast_step(b, 0), sis__broadcast_step(b, 1)};
    float to = *sis__in(v->s, v->r, 6), zero = (float)zero_of(v, 7);
    float one = *sis__in(v->s, v->r, 1) / to, two = *sis__in(v->s, v->r, 4) / to;
    float fixed = zero - fmaf(one, (float)zero_of(v, 2), two * (float)zero_of(v, 5));
    for (size_t i = 0; i < n; i++) { /* products of bytes are exact in double: as fused */
        float sum = (float)((double)one * (double)(int32_t)x[i * by[0]] + (double)fixed);
        sum = (float)((double)two * (double)(int32_t)z[i * by[1]] + (double)sum);
        y[i] = (int32_t)nearest_within(sum, least, most, zero);
    }
}

static void pair_row(void *ctx, const size_t *offset, size_t out) {
    const pair *v = (const pair *)ctx;
    const sis__broadcast *b = &v->s->p.broadcast;
    int64_t *y = (int64_t *)(void *)sis__out(v->s, v->r, 0), zero = zero_of(v, 7), low, high;
    float to = *sis__in(v->s, v->r, 6);
    sis__elem_range(sis__tout(v->s, v->r, 0)->elem, &low, &high);
    if (v->s->op == SIS__OP_QLINEAR_ADD) {
        add_row(v, offset, out, (float)low, (float)high);
        return;
    }
    for (size_t i = 0; i < sis__broadcast_length(b); i++) {
        float x = real(v, 0, offset[0] + i * sis__broadcast_step(b, 0));
        float z = real(v, 3, offset[1] + i * sis__broadcast_step(b, 1));
        y[out + i] = (int32_t)nearest_within(x * z / to, (float)(low - zero), (float)(high - zero),
                                             (float)-zero) +
                     zero;
    }
}

static int qlinear_binary_forward(const sis__step *s, sis__run *r) {
    sis__broadcast_rows(&s->p.broadcast, pair_row, &(pair){s, r});
    return SIS_OK;
}

const sis__op sis__op_qlinear_add = {
    7, 8, qlinear_binary_shape, qlinear_binary_forward, NULL, 0, SIS__MIXES};
const sis__op sis__op_qlinear_mul = {
    7, 8, qlinear_binary_shape, qlinear_binary_forward, NULL, 0, SIS__MIXES};

/* ---- QLinearConcat: scale and zero of the result, then value, scale and zero of each part ----- */

static int qlinear_concat_shape(sis__cx *c) {
    size_t parts = (c->node->n_own - 2) / 3, dims[SIS__MAX_RANK], total = 0;
    const sis__tensor *first = sis__cx_input(c, 2), *zero = sis__cx_input(c, 1);
    size_t axis = sis__cx_axis(c, sis__attr_int(c, "axis", 0), first->rank);
    sis__cx_float(c, 0);
    if (c->node->n_own != 3 * parts + 2 || first->rank == 0 || zero->dtype != SIS__I64 ||
        zero->count != 1 || sis__cx_input(c, 0)->count != 1)
        sis__cx_fail(c, SIS_E_FORMAT, "%zu inputs", c->node->n_own);
    for (size_t i = 0; i < parts && !c->error; i++) {
        const sis__tensor *x = sis__cx_input(c, 2 + 3 * i);
        need_whole(c, 2 + 3 * i);
        sis__cx_float(c, 3 + 3 * i);
        need_whole(c, 4 + 3 * i);
        int fits = !c->error && x->rank == first->rank && sis__cx_input(c, 3 + 3 * i)->count == 1 &&
                   sis__cx_input(c, 4 + 3 * i)->count == 1;
        for (size_t d = 0; fits && d < x->rank; d++)
            fits = d == axis || x->dims[d] == first->dims[d];
        if (!fits)
            sis__cx_fail(c, SIS_E_FORMAT, "part %zu does not fit", i);
        else
            total += x->dims[axis];
    }
    if (c->error)
        return c->error;
    memcpy(dims, first->dims, sizeof dims);
    dims[axis] = total;
    c->step->p.axis.axis = axis;
    sis__cx_output(c, 0, SIS__I64, first->rank, dims);
    sis__cx_elem(c, 0, zero->elem);
    return c->error;
}

static int qlinear_concat_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *t = sis__tout(s, r, 0);
    int64_t *y = (int64_t *)(void *)sis__out(s, r, 0), zero = whole(s, r, 1)[0];
    size_t at = 0;
    sis__axis all, part;
    sis__axis_around(t, s->p.axis.axis, &all);
    for (size_t i = 2; i + 2 < s->n_inputs; i += 3) {
        sis__axis_around(sis__tin(s, r, i), s->p.axis.axis, &part);
        size_t run = part.size * part.inner;
        for (size_t k = 0; k < part.outer * run; k++) {
            float v = (float)(whole(s, r, i)[k] - whole(s, r, i + 2)[0]) * *sis__in(s, r, i + 1);
            y[k / run * all.size * all.inner + at + k % run] =
                saturate(t->elem, (double)rintf(v / *sis__in(s, r, 0)) + (double)zero);
        }
        at += run;
    }
    return SIS_OK;
}

const sis__op sis__op_qlinear_concat = {
    5, SIZE_MAX, qlinear_concat_shape, qlinear_concat_forward, NULL, 0, SIS__MIXES};

/* ---- Unpack: weights of MatMulNBits (N, blocks, bytes of a block) -> (K, N) ------------------- */

typedef struct {
    size_t k, n, bits, block, blocks, zero_bytes;
    int float_zero;
} packing;

static int unpack_shape(sis__cx *c) {
    const sis__tensor *w = sis__cx_input(c, 0), *scale = sis__cx_input(c, 1);
    const sis__tensor *zero = sis__cx_input(c, 2);
    packing *p = (packing *)sis__cx_own(c, sizeof *p);
    int64_t k = sis__attr_int(c, "K", 0), n = sis__attr_int(c, "N", 0);
    int64_t bits = sis__attr_int(c, "bits", 4), block = sis__attr_int(c, "block_size", 0);
    need_whole(c, 0);
    sis__cx_float(c, 1);
    if (k < 1 || n < 1 || k > INT32_MAX || n > INT32_MAX || block < 1 || block > 1 << 20 ||
        (bits != 2 && bits != 4 && bits != 8) || block * bits % 8)
        sis__cx_fail(c, SIS_E_FORMAT, "%lld by %lld weights of %lld bits in blocks of %lld",
                     (long long)k, (long long)n, (long long)bits, (long long)block);
    if (c->error)
        return c->error;
    *p = (packing){.k = (size_t)k, .n = (size_t)n, .bits = (size_t)bits, .block = (size_t)block};
    p->blocks = (p->k + p->block - 1) / p->block;
    p->zero_bytes = (p->blocks * p->bits + 7) / 8;
    p->float_zero = zero && zero->dtype == SIS__F32;
    if (w->count != p->n * p->blocks * (p->block * p->bits / 8) ||
        scale->count != p->n * p->blocks ||
        (zero && zero->count != p->n * (p->float_zero ? p->blocks : p->zero_bytes)))
        sis__cx_fail(c, SIS_E_FORMAT, "weights, scales or zero points that do not fit");
    sis__cx_output(c, 0, SIS__F32, 2, (size_t[]){p->k, p->n});
    sis__cx_elem(c, 0, scale->elem);
    return c->error;
}

/* Number i of those of `bits` bits that lie in bytes, the lowest first. */
static int64_t bits_at(const int64_t *bytes, size_t bits, size_t i) {
    size_t at = i * bits;
    return bytes[at / 8] >> at % 8 & ((1 << bits) - 1);
}

static int unpack_forward(const sis__step *s, sis__run *r) {
    const packing *p = (const packing *)s->p.own;
    const int64_t *w = whole(s, r, 0), *zero = whole(s, r, 2);
    size_t bytes = p->block * p->bits / 8;
    for (size_t j = 0; j < p->n; j++)
        for (size_t i = 0; i < p->k; i++) {
            size_t b = j * p->blocks + i / p->block;
            float z = (float)(1 << (p->bits - 1));
            if (zero && p->float_zero)
                z = sis__in(s, r, 2)[b];
            else if (zero)
                z = (float)bits_at(zero + j * p->zero_bytes, p->bits, i / p->block);
            float v = (float)bits_at(w + b * bytes, p->bits, i % p->block);
            sis__out(s, r, 0)[i * p->n + j] = (v - z) * sis__in(s, r, 1)[b];
        }
    return SIS_OK;
}

const sis__op sis__op_unpack = {2, 3, unpack_shape, unpack_forward, NULL, 0, SIS__MIXES};

/* ---- GatherBlockQuantized: table, indices, scales, zero points ------------------------------------ */

/* A table of integers, those of a block along one axis with one scale. In bytes of `bits` bits they lie side by side along the last axis. */
typedef struct {
    sis__axis from, blocks; /* around the axes that are chosen from and cut into blocks */
    size_t bits, block, per_line;
    int packed;
} table;

/* Sizes of the table with `bits` bits a number. */
static void read_table(sis__cx *c, table *p, size_t gather, size_t cut, sis__tensor *whole_table) {
    const sis__tensor *x = sis__cx_input(c, 0), *scale = sis__cx_input(c, 2),
                      *zero = sis__cx_input(c, 3);
    size_t last = x->rank - 1, per = p->packed ? 8 / p->bits : 1;
    *whole_table = *x;
    whole_table->dims[last] *= per;
    whole_table->count *= per;
    sis__axis_around(whole_table, gather, &p->from);
    sis__axis_around(whole_table, cut, &p->blocks);
    p->per_line = (p->blocks.size + p->block - 1) / p->block;
    size_t scales = p->blocks.outer * p->per_line * p->blocks.inner;
    size_t zeros = p->packed ? p->blocks.outer * ((p->per_line + per - 1) / per) : scales;
    if (scale->count != scales || (zero && zero->count != zeros) || (p->packed && cut != last))
        sis__cx_fail(c, SIS_E_FORMAT, "scales or zero points that do not fit");
}

static int block_gather_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *i = sis__cx_input(c, 1);
    table *p = (table *)sis__cx_own(c, sizeof *p);
    sis__tensor all;
    int64_t bits = sis__attr_int(c, "bits", 4), block = sis__attr_int(c, "block_size", 128);
    size_t gather = sis__cx_axis(c, sis__attr_int(c, "gather_axis", 0), x->rank);
    size_t cut = sis__cx_axis(c, sis__attr_int(c, "quantize_axis", 1), x->rank), rank = 0;
    need_whole(c, 0);
    need_whole(c, 1);
    sis__cx_float(c, 2);
    if (sis__cx_input(c, 3))
        need_whole(c, 3);
    if (!c->error && (block < 1 || block > 1 << 20 || (bits != 4 && bits != 8) || x->rank == 0 ||
                      x->rank + i->rank > SIS__MAX_RANK + 1))
        sis__cx_fail(c, SIS_E_FORMAT, "blocks of %lld", (long long)block);
    if (c->error)
        return c->error;
    p->bits = (size_t)bits;
    p->block = (size_t)block;
    p->packed = x->elem == SIS__UINT8 && bits < 8;
    read_table(c, p, gather, cut, &all);
    size_t dims[2 * SIS__MAX_RANK];
    for (size_t d = 0; d < gather; d++)
        dims[rank++] = all.dims[d];
    for (size_t d = 0; d < i->rank; d++)
        dims[rank++] = i->dims[d];
    for (size_t d = gather + 1; d < x->rank; d++)
        dims[rank++] = all.dims[d];
    sis__cx_output(c, 0, SIS__F32, rank, dims);
    sis__cx_elem(c, 0, sis__cx_input(c, 2)->elem);
    return c->error;
}

static float table_value(const sis__step *s, const sis__run *r, const table *p, size_t at) {
    size_t line = at / (p->blocks.size * p->blocks.inner),
           place = at / p->blocks.inner % p->blocks.size;
    size_t block = place / p->block;
    size_t scale = (line * p->per_line + block) * p->blocks.inner + at % p->blocks.inner;
    size_t per = p->packed ? 8 / p->bits : 1, zeros = (p->per_line + per - 1) / per;
    const int64_t *x = whole(s, r, 0), *zero = whole(s, r, 3);
    int64_t z = sis__tin(s, r, 0)->elem == SIS__UINT8 ? (int64_t)1 << (p->bits - 1) : 0;
    if (!p->packed)
        return (float)(x[at] - (zero ? zero[scale] : z)) * sis__in(s, r, 2)[scale];
    if (zero)
        z = bits_at(zero + line * zeros, p->bits, block);
    return (float)(bits_at(x, p->bits, at) - z) * sis__in(s, r, 2)[scale];
}

static int block_gather_forward(const sis__step *s, sis__run *r) {
    const table *p = (const table *)s->p.own;
    size_t n = sis__tin(s, r, 1)->count, inner = p->from.inner;
    for (size_t i = 0; i < p->from.outer * n; i++) {
        size_t row = sis__index_in(whole(s, r, 1)[i % n], p->from.size);
        if (row == SIZE_MAX)
            return sis__fail(SIS_E_ARGUMENT, "index %lld into an axis of %zu",
                             (long long)whole(s, r, 1)[i % n], p->from.size);
        for (size_t k = 0; k < inner; k++)
            sis__out(s, r, 0)[i * inner + k] =
                table_value(s, r, p, (i / n * p->from.size + row) * inner + k);
    }
    return SIS_OK;
}

const sis__op sis__op_gather_block_quantized = {
    3, 4, block_gather_shape, block_gather_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- Weights of recurrent layers: (directions, k, n) -> (directions, n, k) ------------------------ */

/* Scales and zero points are for a direction, or for each of its n columns. */
static int columns_shape(sis__cx *c) {
    const sis__tensor *w = sis__cx_input(c, 0), *scale = sis__cx_input(c, 1);
    const sis__tensor *zero = sis__cx_input(c, 2);
    need_whole(c, 0);
    sis__cx_float(c, 1);
    if (zero)
        need_whole(c, 2);
    if (!c->error && (w->rank != 3 || (zero && zero->count != scale->count) ||
                      (scale->count != w->dims[0] && scale->count != w->dims[0] * w->dims[2])))
        sis__cx_fail(c, SIS_E_FORMAT, "weights, scales or zero points that do not fit");
    if (c->error)
        return c->error;
    sis__cx_output(c, 0, SIS__F32, 3, (size_t[]){w->dims[0], w->dims[2], w->dims[1]});
    sis__cx_elem(c, 0, SIS__FLOAT);
    return c->error;
}

static int columns_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *w = sis__tin(s, r, 0), *scale = sis__tin(s, r, 1);
    size_t k = w->dims[1], n = w->dims[2];
    int each = scale->count != w->dims[0];
    for (size_t i = 0; i < w->count; i++) {
        size_t d = i / (k * n), row = i / n % k, column = i % n, at = each ? d * n + column : d;
        int64_t zero = whole(s, r, 2) ? whole(s, r, 2)[at] : 0;
        sis__out(s, r, 0)[(d * n + column) * k + row] =
            (float)(whole(s, r, 0)[i] - zero) * sis__in(s, r, 1)[at];
    }
    return SIS_OK;
}

const sis__op sis__op_columns = {2, 3, columns_shape, columns_forward, NULL, 0, SIS__MIXES};

/* ---- Levels (net/onnx/levels.h) -------------------------------------------------------------- */

/* Integers, less their zero points: one, or one for each index of the first axis, or of one counted from the
 * end. */
static int lift_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *zero = sis__cx_input(c, 1);
    scaling *p = (scaling *)sis__cx_own(c, sizeof *p);
    size_t from_end = (size_t)sis__attr_int(c, "from_end", 0);
    need_whole(c, 0);
    if (zero)
        need_whole(c, 1);
    if (c->error)
        return c->error;
    size_t axis = from_end && from_end <= x->rank ? x->rank - from_end : 0;
    *p = (scaling){.axis = {.outer = 1, .size = 1, .inner = x->count}, .block = 1, .per = 1};
    if (zero && zero->count != 1) {
        if (x->rank == 0 || zero->count != x->dims[axis])
            return sis__cx_fail(c, SIS_E_UNSUPPORTED, "%zu zero points", zero->count);
        sis__axis_around(x, axis, &p->axis);
        p->step = 1;
    }
    sis__cx_output(c, 0, SIS__F32, x->rank, x->dims);
    sis__cx_elem(c, 0, SIS__FLOAT);
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

const sis__op sis__op_lift = {1, 2, lift_shape, lift_forward, NULL, 0, SIS__MIXES};

/* Levels and a zero point (none: 0, int32, or `bytes`: uint8) -> integers */
static int settle_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *zero = sis__cx_input(c, 1);
    int bytes = sis__attr_int(c, "bytes", 0) != 0;
    sis__cx_float(c, 0);
    if (zero)
        need_whole(c, 1);
    if (!c->error && zero && zero->count != 1)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "%zu zero points", zero->count);
    sis__cx_output(c, 0, SIS__I64, x->rank, x->dims);
    sis__cx_elem(c, 0, zero ? zero->elem : bytes ? SIS__UINT8 : SIS__INT32);
    return c->error;
}

static int settle_forward(const sis__step *s, sis__run *r) {
    const float *x = sis__in(s, r, 0);
    int64_t *y = (int64_t *)(void *)sis__out(s, r, 0), zero = whole(s, r, 1) ? *whole(s, r, 1) : 0;
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; i < n; i++)
        y[i] = (int64_t)(int32_t)x[i] + zero;
    return SIS_OK;
}

const sis__op sis__op_settle = {1, 2, settle_shape, settle_forward, NULL, 0, SIS__MIXES};

/* What is fixed about levels, in the one number that parameters of broadcasting have room for. */
typedef struct {
    int zero, is_signed, over; /* over: divided by the factor */
} level_kind;

static int pack_kind(const level_kind *k) {
    return (k->zero + 1024) * 4 + k->is_signed * 2 + k->over;
}

static level_kind kind_of(int choice) {
    return (level_kind){choice / 4 - 1024, choice / 2 % 2, choice % 2};
}

/* x, factor, zero point (a constant; none: 0, uint8) -> x times or over the factor as levels. `raw`: nothing
 * but the type is wanted of the zero point. */
static int levels_shape(sis__cx *c) {
    const sis__tensor *zero = sis__cx_input(c, 2);
    size_t rank, dims[SIS__MAX_RANK];
    level_kind k = {.over = sis__attr_int(c, "over", 0) != 0};
    int raw = sis__attr_int(c, "raw", 0) != 0;
    sis__cx_float(c, 0);
    sis__cx_float(c, 1);
    if (zero && (!is_byte(zero) || !zero->data || zero->count != 1))
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "a zero point that is no constant of 8 bits");
    if (c->error)
        return c->error;
    k.zero = zero && !raw ? (int)*(const int64_t *)zero->data : 0;
    k.is_signed = zero && zero->elem == SIS__INT8;
    c->step->n_inputs = 2; /* the zero point is known from here on */
    sis__cx_broadcast(c, 2, &rank, dims);
    c->step->p.broadcast.choice = pack_kind(&k);
    sis__cx_output(c, 0, SIS__F32, rank, dims);
    sis__cx_elem(c, 0, SIS__FLOAT);
    if (!c->error)
        c->step->flops = 4.0 * (double)c->plan->tensors[c->step->outputs[0]].count;
    return c->error;
}

static void levels_row(void *ctx, const size_t *offset, size_t out) {
    const pair *v = (const pair *)ctx;
    const sis__broadcast *b = &v->s->p.broadcast;
    level_kind k = kind_of(b->choice);
    const float *x = sis__in(v->s, v->r, 0) + offset[0], *f = sis__in(v->s, v->r, 1) + offset[1];
    float *y = sis__out(v->s, v->r, 0) + out;
    float least = (float)((k.is_signed ? -128 : 0) - k.zero), none = (float)-k.zero;
    float most = (float)((k.is_signed ? 127 : 255) - k.zero);
    size_t n = sis__broadcast_length(b), sx = sis__broadcast_step(b, 0),
           sf = sis__broadcast_step(b, 1);
    if (k.over)
        for (size_t i = 0; i < n; i++)
            y[i] = nearest_within(x[i * sx] / f[i * sf], least, most, none);
    else if (sx == 1 && sf == 0)
        for (size_t i = 0; i < n; i++)
            y[i] = nearest_within(x[i] * *f, least, most, none);
    else if (sx == 1 && sf == 1)
        for (size_t i = 0; i < n; i++)
            y[i] = nearest_within(x[i] * f[i], least, most, none);
    else
        for (size_t i = 0; i < n; i++)
            y[i] = nearest_within(x[i * sx] * f[i * sf], least, most, none);
}

static int levels_forward(const sis__step *s, sis__run *r) {
    sis__broadcast_rows(&s->p.broadcast, levels_row, &(pair){s, r});
    return SIS_OK;
}

const sis__op sis__op_levels = {2, 3, levels_shape, levels_forward, NULL, 0, SIS__MAPS};

/* Scales of x, of weights (one, or one for each filter) and of the result, and weights -> what sums are
 * multiplied with, along the axis of channels */
static int factor_shape(sis__cx *c) {
    const sis__tensor *scale = sis__cx_input(c, 1), *w = sis__cx_input(c, 3);
    size_t dims[SIS__MAX_RANK], rank = scale->count > 1 && w->rank >= 2 ? w->rank - 1 : 0;
    for (size_t i = 0; i < 3; i++)
        sis__cx_float(c, i);
    for (size_t d = 0; d < rank; d++)
        dims[d] = d ? 1 : scale->count;
    return sis__cx_output(c, 0, SIS__F32, rank, dims);
}

static int factor_forward(const sis__step *s, sis__run *r) {
    for (size_t i = 0, n = sis__tout(s, r, 0)->count; i < n; i++) {
        float scale = *sis__in(s, r, 0) * sis__in(s, r, 1)[i];
        sis__out(s, r, 0)[i] = scale / *sis__in(s, r, 2);
    }
    return SIS_OK;
}

const sis__op sis__op_factor = {4, 4, factor_shape, factor_forward, NULL, 0, SIS__MIXES};

/* What QLinearAdd multiplies its two sides with and adds, from scale and zero point of each and of the result;
 * and 1. */
static int sums_shape(sis__cx *c) {
    for (size_t i = 0; i < 6; i += 2) {
        sis__cx_float(c, i);
        need_whole(c, i + 1);
    }
    for (size_t i = 0; i < 4; i++)
        sis__cx_output(c, i, SIS__F32, 0, NULL);
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

const sis__op sis__op_sums = {6, 6, sums_shape, sums_forward, NULL, 0, SIS__MIXES};

/* a * b + c, rounded once if a is a byte */
static int fused_shape(sis__cx *c) {
    size_t rank, dims[SIS__MAX_RANK];
    for (size_t i = 0; i < 3; i++)
        sis__cx_float(c, i);
    sis__cx_broadcast(c, 3, &rank, dims);
    return sis__cx_output(c, 0, SIS__F32, rank, dims);
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

const sis__op sis__op_fused = {3, 3, fused_shape, fused_forward, NULL, 0, SIS__MAPS};
