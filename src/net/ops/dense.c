/* SPDX-License-Identifier: MIT
 *
 * Gemm and MatMul, on the packed matrix product of kernels.h. A constant right side is packed when
 * the plan is made, any other right side in each run.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/kernels/product.h"
#include "net/ops/broadcast.h"
#include "net/ops/ops.h"
#include "net/plan/cache.h"

static int is_turned(const sis__gemm *g);

/* y += a . packed right side. */
static void multiply_packed(const sis__gemm *g, const sis__operand *a, float *y) {
    const sis__kernels *kn = sis__kernels_best();
    if (g->wide)
        kn->dense_wide(g->m, g->n, g->k, a->at, a->row, a->col, g->packed, y, g->n);
    else if (g->finite)
        kn->dense(g->m, g->n, g->k, a->at, a->row, a->col, g->packed, y, g->n);
    else
        kn->gemm(g->m, g->n, g->k, a->at, a->row, a->col, g->packed, y, g->n);
}

/* Does value `v` of the graph hold, in one row per example, the positions of a map from a
 * convolution or pooling? The answer depends on the graph only, so that plans with any starting
 * point agree. */
static int flattens_map(const sis__graph *g, int v) {
    int flat = 0;
    for (int steps = 0; steps < 16 && v >= 0 && g->values[v].producer >= 0; steps++) {
        const sis__node *n = &g->nodes[g->values[v].producer];
        if (n->op_id == SIS__OP_CONV || n->op_id == SIS__OP_MAX_POOL ||
            n->op_id == SIS__OP_AVERAGE_POOL)
            return flat;
        int passes = n->op && (n->op->trait == SIS__KEEPS || n->op->trait == SIS__MOVES ||
                               n->op->trait == SIS__MAPS);
        if (!passes && n->op_id != SIS__OP_BATCH_NORMALIZATION && n->op_id != SIS__OP_CONCAT)
            return 0;
        flat |= n->op_id == SIS__OP_FLATTEN || n->op_id == SIS__OP_RESHAPE;
        v = n->inputs[0];
        if (n->n_inputs > 1 && v >= 0 && g->values[v].producer < 0)
            v = n->inputs[1]; /* a constant, and the value it is added to */
    }
    return 0;
}

static int pack_right(sis__shape_ctx *c) {
    sis__gemm *g = &c->step->p.gemm;
    const float *b = (const float *)sis__ctx_constant(c, 1);
    c->step->flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    for (size_t d = 0; d < g->over.rank; d++)
        c->step->flops *= (double)g->over.dims[d];
    if (b && g->over.rank == 0) {
        sis__matrix right = {
            .at = b, .k = g->k, .n = g->n, .transposed = g->trans_b, .alpha = g->alpha};
        g->packed = sis__ctx_pack(c, &right);
        g->wide =
            g->k >= SIS__LONG || (sis__ctx_input(c, 0)->rank == 2 && g->k >= SIS__LONG_OF_MAP &&
                                  flattens_map(c->plan->graph, c->node->inputs[0]));
        g->finite = !g->wide && sis__cache_finite(c->plan->net, &right);
        if (c->plan->gradients)
            g->back = sis__ctx_pack(
                c,
                &(sis__matrix){
                    .at = b, .k = g->n, .n = g->k, .transposed = !g->trans_b, .alpha = g->alpha});
        if (c->error || !c->plan->gradients)
            return c->error;
    }
    c->step->scratch = sis__product_scratch(g->k, g->n);
    if (is_turned(g)) {
        size_t turned = sis__product_scratch(g->k, g->m) + g->m * g->n * sizeof(float);
        c->step->scratch = c->step->scratch > turned ? c->step->scratch : turned;
    }
    if (c->plan->gradients) { /* da packs b or dy, db packs a or dy */
        size_t max = g->m > g->n ? g->m : g->n, depth = g->k > max ? g->k : max;
        size_t a = sis__product_scratch(g->n, depth), b2 = sis__product_scratch(g->m, depth);
        c->step->scratch = c->step->scratch > a ? c->step->scratch : a;
        c->step->scratch = c->step->scratch > b2 ? c->step->scratch : b2;
    }
    if (c->step->scratch > (size_t)1 << 34)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a product of %zu x %zu x %zu", g->m, g->n,
                             g->k);
    return c->error;
}

/* ---- Gemm ---------------------------------------------------------------------------------- */

static int gemm_attributes(sis__shape_ctx *c, sis__gemm *g) {
    int64_t ta = 0, tb = 0;
    ta = sis__attr_int(c, "transA", 0);
    tb = sis__attr_int(c, "transB", 0);
    g->alpha = sis__attr_float(c, "alpha", 1.0f);
    g->beta = sis__attr_float(c, "beta", 1.0f);
    sis__attr_find(c, "broadcast"); /* before opset 7; broadcasting is implicit here */
    g->trans_a = ta != 0;
    g->trans_b = tb != 0;
    return c->error;
}

static int gemm_shape(sis__shape_ctx *c) {
    const sis__tensor *a = sis__ctx_input(c, 0), *b = sis__ctx_input(c, 1),
                      *t = sis__ctx_input(c, 2);
    sis__gemm *g = &c->step->p.gemm;
    gemm_attributes(c, g);
    for (size_t i = 0; i < 3; i++)
        if (sis__ctx_input(c, i))
            sis__ctx_float(c, i);
    if (c->error)
        return c->error;
    if (a->rank != 2 || b->rank != 2)
        return sis__ctx_fail(c, SIS_E_FORMAT, "matrices of %zu and %zu axes", a->rank, b->rank);
    g->m = a->dims[g->trans_a];
    g->k = a->dims[!g->trans_a];
    g->n = b->dims[!g->trans_b];
    if (b->dims[g->trans_b] != g->k)
        return sis__ctx_fail(c, SIS_E_FORMAT, "%zu columns on the left, %zu rows on the right",
                             g->k, b->dims[g->trans_b]);
    if (t) {
        size_t rows = t->rank == 2 ? t->dims[0] : 1, cols = t->rank ? t->dims[t->rank - 1] : 1;
        if (t->rank > 2 || (rows != 1 && rows != g->m) || (cols != 1 && cols != g->n))
            return sis__ctx_fail(c, SIS_E_FORMAT, "the third input does not fit (%zu, %zu)", g->m,
                                 g->n);
        g->c_row = rows == 1 ? 0 : cols;
        g->c_col = cols == 1 ? 0 : 1;
    }
    sis__ctx_output(c, 0, SIS__F32, 2, (size_t[]){g->m, g->n});
    return pack_right(c);
}

static sis__operand left_of(const sis__gemm *g, const float *a) {
    return g->trans_a ? (sis__operand){a, 1, g->m} : (sis__operand){a, g->k, 1};
}

static sis__operand right_of(const sis__gemm *g, const float *b) {
    return g->trans_b ? (sis__operand){b, 1, g->k} : (sis__operand){b, g->n, 1};
}

static sis__operand turned(sis__operand v) {
    return (sis__operand){v.at, v.col, v.row};
}

/* y += x . w^T for weights w (n, k) that are not packed and much larger than x (m, k): computed as
 * y^T += w . x^T, so that only x is packed. The sums have the same terms in the same order. */
static void multiply_turned(const sis__gemm *g, const float *x, const float *w, float *y,
                            float *scratch) {
    float *turned = scratch + sis__packed_size(sis__kernels_best(), g->k, g->m);
    for (size_t i = 0; i < g->m * g->n; i++)
        turned[i % g->n * g->m + i / g->n] = y[i];
    sis__product_add(
        &(sis__product){g->n, g->m, g->k, {w, g->k, 1}, {x, 1, g->k}, 1.0f, turned, g->m}, scratch);
    for (size_t i = 0; i < g->m * g->n; i++)
        y[i] = turned[i % g->n * g->m + i / g->n];
}

static int is_turned(const sis__gemm *g) {
    return !g->packed && g->trans_b && !g->trans_a && g->alpha == 1.0f && g->n > 2 * g->m &&
           g->k > g->n;
}

/* beta * c, for all rows if c has one row; never -0, so adding 0 changes nothing. */
static void fill_rows(const sis__gemm *g, const float *c, float *y) {
    for (size_t i = 0; i < g->m; i++)
        if (i > 0 && (!c || g->c_row == 0))
            memcpy(y + i * g->n, y, g->n * sizeof *y);
        else
            for (size_t j = 0; j < g->n; j++)
                y[i * g->n + j] = c ? g->beta * c[i * g->c_row + j * g->c_col] + 0.0f : 0.0f;
}

static int gemm_forward(const sis__step *s, sis__run *r) {
    const sis__gemm *g = &s->p.gemm;
    const sis__kernels *kn = sis__kernels_best();
    const float *c = sis__in(s, r, 2), *b = sis__in(s, r, 1);
    float *y = sis__out(s, r, 0);
    fill_rows(g, c, y);
    sis__operand a = left_of(g, sis__in(s, r, 0));
    if (g->packed)
        multiply_packed(g, &a, y);
    else if (is_turned(g))
        multiply_turned(g, a.at, b, y, (float *)(void *)r->scratch);
    else
        sis__product_add(&(sis__product){g->m, g->n, g->k, a, right_of(g, b), g->alpha, y, g->n},
                         r->scratch);
    if (s->relu)
        kn->relu(y, y, g->m * g->n);
    return SIS_OK;
}

/* da = alpha * dy . op(b)^T, in the storage order of a. */
static void left_backward(const sis__gemm *g, const float *b, const float *dy, float *da,
                          void *scratch) {
    sis__operand d = {dy, g->n, 1}, right = right_of(g, b);
    if (g->back && !g->trans_a)
        sis__kernels_best()->gemm(g->m, g->k, g->n, dy, g->n, 1, g->back, da, g->k);
    else if (g->trans_a)
        sis__product_add(&(sis__product){g->k, g->m, g->n, right, turned(d), g->alpha, da, g->m},
                         scratch);
    else
        sis__product_add(&(sis__product){g->m, g->k, g->n, d, turned(right), g->alpha, da, g->k},
                         scratch);
}

/* db = alpha * op(a)^T . dy, in the storage order of b. */
static void right_backward(const sis__gemm *g, const float *a, const float *dy, float *db,
                           void *scratch) {
    sis__operand d = {dy, g->n, 1}, left = left_of(g, a);
    if (g->trans_b)
        sis__product_add(&(sis__product){g->n, g->k, g->m, turned(d), left, g->alpha, db, g->k},
                         scratch);
    else
        sis__product_add(&(sis__product){g->k, g->n, g->m, turned(left), d, g->alpha, db, g->n},
                         scratch);
}

static int gemm_backward(const sis__step *s, sis__run *r) {
    const sis__gemm *g = &s->p.gemm;
    const float *dy = sis__dout(s, r, 0);
    float *dc = sis__din(s, r, 2);
    if (sis__din(s, r, 0))
        left_backward(g, sis__in(s, r, 1), dy, sis__din(s, r, 0), r->scratch);
    if (sis__din(s, r, 1))
        right_backward(g, sis__in(s, r, 0), dy, sis__din(s, r, 1), r->scratch);
    for (size_t i = 0; dc && i < g->m; i++)
        for (size_t j = 0; j < g->n; j++)
            dc[i * g->c_row + j * g->c_col] += g->beta * dy[i * g->n + j];
    return SIS_OK;
}

/* ---- MatMul -------------------------------------------------------------------------------- */

/* A vector is a row on the left and a column on the right; its axis is removed from the result. */
static int matmul_shape(sis__shape_ctx *c) {
    sis__gemm *g = &c->step->p.gemm;
    sis__ctx_float(c, 0);
    sis__ctx_float(c, 1);
    if (c->error)
        return c->error;
    sis__tensor a = *sis__ctx_input(c, 0), b = *sis__ctx_input(c, 1);
    int vector_a = a.rank == 1, vector_b = b.rank == 1;
    if (a.rank == 0 || b.rank == 0)
        return sis__ctx_fail(c, SIS_E_FORMAT, "a number instead of a matrix");
    if (vector_a)
        a = (sis__tensor){.rank = 2, .dims = {1, a.dims[0]}, .count = a.count};
    if (vector_b)
        b = (sis__tensor){.rank = 2, .dims = {b.dims[0], 1}, .count = b.count};
    g->alpha = 1.0f;
    g->m = a.dims[a.rank - 2];
    g->k = a.dims[a.rank - 1];
    g->n = b.dims[b.rank - 1];
    if (b.dims[b.rank - 2] != g->k)
        return sis__ctx_fail(c, SIS_E_FORMAT, "%zu columns on the left, %zu rows on the right",
                             g->k, b.dims[b.rank - 2]);
    sis__tensor over_a = a, over_b = b;
    size_t dims[SIS__MAX_RANK + 2], rank;
    over_a.rank -= 2;
    over_b.rank -= 2;
    if (sis__broadcast_dims((const sis__tensor *[]){&over_a, &over_b}, 2, &rank, dims) != 0)
        return sis__ctx_fail(c, SIS_E_FORMAT, "leading axes that do not fit");
    if (b.rank == 2) { /* one product for all rows */
        for (size_t d = 0; d < over_a.rank; d++)
            g->m *= over_a.dims[d];
    } else {
        sis__broadcast_init(&g->over, rank, dims, (const sis__tensor *[]){&over_a, &over_b}, 2);
    }
    if (!vector_a)
        dims[rank++] = a.dims[a.rank - 2];
    if (!vector_b)
        dims[rank++] = g->n;
    sis__ctx_output(c, 0, SIS__F32, rank, dims);
    pack_right(c);
    g->tokens = g->packed && a.rank == 3 && a.dims[1] > 1;
    return c->error;
}

/* Call fn for each pair of matrices with the indices of the left, the right and the result. */
static void each_pair(const sis__step *s, sis__run *r,
                      void (*fn)(const sis__step *, sis__run *, size_t, size_t, size_t)) {
    const sis__broadcast *o = &s->p.gemm.over;
    size_t at[SIS__MAX_RANK] = {0}, total = 1;
    for (size_t d = 0; d < o->rank; d++)
        total *= o->dims[d];
    for (size_t i = 0; i < total; i++) {
        size_t a = 0, b = 0;
        for (size_t d = 0; d < o->rank; d++) {
            a += at[d] * o->stride[0][d];
            b += at[d] * o->stride[1][d];
        }
        fn(s, r, a, b, i);
        for (size_t d = o->rank; d-- > 0 && ++at[d] == o->dims[d];)
            at[d] = 0;
    }
}

static void pair_forward(const sis__step *s, sis__run *r, size_t a, size_t b, size_t y) {
    const sis__gemm *g = &s->p.gemm;
    sis__operand left = left_of(g, sis__in(s, r, 0) + a * g->m * g->k);
    float *out = sis__out(s, r, 0) + y * g->m * g->n;
    if (g->packed)
        multiply_packed(g, &left, out);
    else
        sis__product_add(&(sis__product){g->m, g->n, g->k, left,
                                         right_of(g, sis__in(s, r, 1) + b * g->k * g->n), 1.0f, out,
                                         g->n},
                         r->scratch);
}

static int matmul_forward(const sis__step *s, sis__run *r) {
    const sis__gemm *g = &s->p.gemm;
    if (s->p.gemm.tokens) {
        sis__kernels_best()->linear(&(sis__linear_product){
            g->m, g->n, g->k, sis__in(s, r, 0), g->packed, sis__in(s, r, 2), sis__out(s, r, 0)});
        return SIS_OK;
    }
    memset(sis__out(s, r, 0), 0, sis__tout(s, r, 0)->count * sizeof(float));
    each_pair(s, r, pair_forward);
    return SIS_OK;
}

static void pair_backward(const sis__step *s, sis__run *r, size_t a, size_t b, size_t y) {
    const sis__gemm *g = &s->p.gemm;
    const float *dy = sis__dout(s, r, 0) + y * g->m * g->n;
    if (sis__din(s, r, 0))
        left_backward(g, sis__in(s, r, 1) + b * g->k * g->n, dy,
                      sis__din(s, r, 0) + a * g->m * g->k, r->scratch);
    if (sis__din(s, r, 1))
        right_backward(g, sis__in(s, r, 0) + a * g->m * g->k, dy,
                       sis__din(s, r, 1) + b * g->k * g->n, r->scratch);
}

static int matmul_backward(const sis__step *s, sis__run *r) {
    each_pair(s, r, pair_backward);
    return SIS_OK;
}

/* Each value needs a row of the left and a column of the right. */
static int product_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                          sis__source *from) {
    const sis__gemm *g = &s->p.gemm;
    size_t matrix = in == 0 ? g->m * g->k : g->k * g->n;
    sis__operand left = left_of(g, NULL), right = right_of(g, NULL);
    (void)p, (void)out;
    if (in == 2 && s->op == SIS__OP_MATMUL)
        return 0;
    for (size_t d = 0; d < g->over.rank && in < 2; d++)
        sis__source_digit(from, g->over.dims[d], (ptrdiff_t)(g->over.stride[in][d] * matrix));
    sis__source_digit(from, g->m, (ptrdiff_t)(in == 0 ? left.row : in == 1 ? 0 : g->c_row));
    sis__source_digit(from, g->n, (ptrdiff_t)(in == 0 ? 0 : in == 1 ? right.col : g->c_col));
    if (in < 2)
        from->over[from->n_over++] =
            (sis__digit){g->k, (ptrdiff_t)(in == 0 ? left.col : right.row)};
    return 1;
}

#define PRODUCT(name, max, affine)                                                                 \
    const sis__op sis__op_##name = {2,                                                             \
                                    max,                                                           \
                                    name##_shape,                                                  \
                                    name##_forward,                                                \
                                    name##_backward,                                               \
                                    .linear = affine,                                              \
                                    .source = product_source,                                      \
                                    .family = SIS__DENSE};
PRODUCT(gemm, 3, 1)
PRODUCT(matmul, 2, 3)
#undef PRODUCT
