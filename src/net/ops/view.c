/* SPDX-License-Identifier: MIT
 *
 * Operators that only change the shape, or nothing: Reshape, Flatten, Squeeze, Unsqueeze, Identity,
 * Dropout, ZipMap. The result shares memory with the input, so they cost nothing in a run.
 */
#include <string.h>

#include "base/error.h"
#include "net/onnx/proto.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"
#include "net/plan/net.h"

static int view(sis__shape_ctx *c, size_t rank, const size_t *dims) {
    sis__ctx_alias(c);
    return sis__ctx_output(c, 0, sis__ctx_input(c, 0)->dtype, rank, dims);
}

static int view_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *t = sis__tin(s, r, 0);
    if (sis__out(s, r, 0) && sis__out(s, r, 0) != sis__in(s, r, 0)) /* folded into a constant */
        memcpy(sis__out(s, r, 0), sis__in(s, r, 0), t->count * sis__dtype_size(t->dtype));
    return SIS_OK;
}

/* ---- Reshape ------------------------------------------------------------------------------- */

/* Graphs exported for one row may contain a Reshape to (1, 256). In a plan for n rows the leading 1
 * becomes n if x is computed from the rows, its first axis is the batch and the rest fits. This is
 * a guess; the network compares such plans with single runs before it uses them. */
static size_t rows_of_one(sis__shape_ctx *c, const sis__tensor *x, const size_t *dims,
                          size_t rank) {
    size_t batch = c->plan->batch;
    int guess = batch > 1 && rank && dims[0] == 1 && x->rank && x->dims[0] == batch && !x->data;
    c->plan->widened |= guess;
    return guess ? batch : 1;
}

/* Is it the batch size that the file was exported for, which is one row now? */
static int is_batch(const sis__shape_ctx *c, int64_t size) {
    const sis_net *net = c->plan->net;
    return net->rows > 1 && !net->whole && size == (int64_t)net->rows;
}

static int reshape_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    size_t n, dims[SIS__MAX_RANK], known = 1, open = SIZE_MAX;
    int64_t zero = sis__attr_int(c, "allowzero", 0);
    const int64_t *target = c->step->n_inputs > 1 ? sis__ctx_ints(c, 1, &n)
                                                  : sis__attr_ints(c, "shape", &n); /* opset 1 */
    if (c->error)
        return c->error;
    if (n > SIS__MAX_RANK)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a shape of %zu axes", n);
    int lead = n && (target[0] == 1 || is_batch(c, target[0]));
    for (size_t d = 0; d < n; d++) {
        int64_t v = target[d] == 0 && !zero && d < x->rank ? (int64_t)x->dims[d] : target[d];
        v = lead && d == 0 ? 1 : v;
        if (v < -1 || v > INT32_MAX || (v == -1 && open != SIZE_MAX))
            return sis__ctx_fail(c, SIS_E_FORMAT, "axis %zu of the shape is %lld", d, (long long)v);
        dims[d] = v < 0 ? 1 : (size_t)v;
        open = v < 0 ? d : open;
        if (dims[d] && known > ((size_t)1 << 31) / dims[d])
            return sis__ctx_fail(c, SIS_E_FORMAT, "%zu values into a larger shape", x->count);
        known *= dims[d];
    }
    int fits = open == SIZE_MAX ? known * c->plan->batch == x->count
                                : open > 0 && known && x->count % (known * c->plan->batch) == 0;
    if (fits && lead) {
        dims[0] = rows_of_one(c, x, dims, n);
        known *= dims[0];
    }
    if (open != SIZE_MAX && (known == 0 || x->count % known))
        return sis__ctx_fail(c, SIS_E_FORMAT, "%zu values do not fit the shape", x->count);
    if (open != SIZE_MAX)
        dims[open] = x->count / known;
    size_t count = 1;
    for (size_t d = 0; d < n; d++)
        count *= dims[d];
    if (count != x->count)
        return sis__ctx_fail(c, SIS_E_FORMAT, "%zu values into a shape of %zu", x->count, count);
    return view(c, n, dims);
}

/* Broadcasting before opset 7: append axes of size 1 to the first input so that its axes are
 * aligned at `axis` of the second. Without the attribute nothing is added. */
static int align_shape(sis__shape_ctx *c) {
    const sis__tensor *b = sis__ctx_input(c, 0), *a = sis__ctx_input(c, 1);
    size_t dims[SIS__MAX_RANK], rank = b->rank;
    int64_t axis = sis__attr_int(c, "axis", (int64_t)a->rank - (int64_t)b->rank);
    c->step->n_inputs = 1; /* only the shape of the other is used */
    memcpy(dims, b->dims, sizeof dims);
    axis = axis < 0 && b->rank <= a->rank ? axis + (int64_t)a->rank : axis;
    if (axis < 0 || (uint64_t)axis + b->rank > a->rank)
        return b->count == 1 ? view(c, rank, dims)
                             : sis__ctx_fail(c, SIS_E_FORMAT, "broadcasting at axis %lld of %zu",
                                             (long long)axis, a->rank);
    while ((size_t)axis + rank < a->rank)
        dims[rank++] = 1;
    return view(c, rank, dims);
}

/* Lowered attention: (batch, length, width) becomes (batch, length, heads, size). If there is a
 * second input, both are (batch, heads, length, size) already and must have the same number of
 * heads. */
static int heads_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0), *q = sis__ctx_input(c, 1);
    int64_t heads = sis__attr_int(c, "heads", 1);
    size_t n = heads > 0 && heads < INT32_MAX ? (size_t)heads : 0;
    c->step->n_inputs = 1; /* only the shape of the other is used */
    if (q && (x->rank != 4 || q->rank != 4 || x->dims[1] != q->dims[1]))
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "queries and keys with different heads");
    if (!q && (x->rank != 3 || n == 0 || x->dims[2] % n))
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "%lld heads for an input of %zu axes",
                             (long long)heads, x->rank);
    return q ? view(c, 4, x->dims)
             : view(c, 4, (size_t[]){x->dims[0], x->dims[1], n, x->dims[2] / n});
}

/* A mask of (batch, keys) or (batch, queries, keys) becomes (batch, 1, queries or 1, keys). */
static int spread_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    if (x->rank != 2 && x->rank != 3)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a mask of %zu axes; 2 or 3 are supported",
                             x->rank);
    size_t queries = x->rank == 3 ? x->dims[1] : 1;
    return view(c, 4, (size_t[]){x->dims[0], 1, queries, x->dims[x->rank - 1]});
}

static int flatten_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    size_t dims[2] = {1, 1}, at;
    int64_t axis = sis__attr_int(c, "axis", 1);
    at = axis == (int64_t)x->rank ? x->rank : sis__ctx_axis(c, axis, x->rank);
    for (size_t d = 0; d < x->rank; d++)
        dims[d >= at] *= x->dims[d];
    return view(c, 2, dims);
}

/* ---- Squeeze, Unsqueeze --------------------------------------------------------------------- */

/* Axes as flags over `rank` axes, from the attribute or, since opset 13, the second input. */
static int flag_axes(sis__shape_ctx *c, size_t given, size_t rank, unsigned char *flags,
                     size_t *n) {
    const int64_t *axes = NULL;
    axes = sis__attr_ints(c, "axes", n);
    if (sis__ctx_input(c, 1))
        axes = sis__ctx_ints(c, 1, n);
    size_t total = rank + (given ? 0 : *n);
    memset(flags, 0, SIS__MAX_RANK);
    if (total > SIS__MAX_RANK)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a result of %zu axes", total);
    for (size_t i = 0; i < *n; i++) {
        size_t at;
        at = sis__ctx_axis(c, axes[i], total);
        if (flags[at]++)
            sis__ctx_fail(c, SIS_E_FORMAT, "axis %zu is named twice", at);
    }
    return c->error;
}

static int squeeze_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    unsigned char drop[SIS__MAX_RANK];
    size_t n, dims[SIS__MAX_RANK], rank = 0;
    flag_axes(c, 1, x->rank, drop, &n);
    if (c->error)
        return c->error;
    for (size_t d = 0; d < x->rank; d++) {
        if (drop[d] && x->dims[d] != 1)
            return sis__ctx_fail(c, SIS_E_FORMAT, "axis %zu has size %zu, not 1", d, x->dims[d]);
        if (!drop[d] && (n || x->dims[d] != 1))
            dims[rank++] = x->dims[d];
    }
    return view(c, rank, dims);
}

static int unsqueeze_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    unsigned char add[SIS__MAX_RANK];
    size_t n, dims[SIS__MAX_RANK], from = 0;
    flag_axes(c, 0, x->rank, add, &n);
    if (c->error)
        return c->error;
    for (size_t d = 0; d < x->rank + n; d++)
        dims[d] = add[d] ? 1 : x->dims[from++];
    return view(c, x->rank + n, dims);
}

/* ---- Identity -------------------------------------------------------------------------------- */

static int identity_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    return view(c, x->rank, x->dims);
}

/* The result of a branch and its condition (net/lower/branches.c). */
static int branch_shape(sis__shape_ctx *c) {
    const sis__tensor *t = sis__ctx_input(c, 1);
    if (!t->data || t->dtype != SIS__BOOL || t->count != 1 ||
        *(const uint8_t *)t->data != (c->step->op == SIS__OP_THEN))
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "which branch is taken depends on the input's size");
    return identity_shape(c);
}

/* Is it one constant number of that type that is zero? */
static int is_zero(const sis__tensor *t, sis__dtype type) {
    static const unsigned char zero[8];
    return t && t->data && t->dtype == type && t->count == 1 &&
           memcmp(t->data, zero, sis__dtype_size(type)) == 0;
}

/* Inference: the input, and a mask of ones if it is used. In training plans the result has its own
 * memory, and p.unary.alpha is the fraction of dropped units. */
static int dropout_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0), *ratio = sis__ctx_input(c, 1);
    const sis__tensor *training = sis__ctx_input(c, 2);
    sis__attr_find(c, "ratio");
    sis__attr_find(c, "seed");
    if (training && !is_zero(training, SIS__BOOL) && !is_zero(ratio, SIS__F32))
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "training mode; export the model for inference");
    sis__ctx_float(c, 0);
    sis__attr_find(c, "is_test"); /* before opset 7 */
    sis__ctx_output(c, 1, SIS__BOOL, x->rank, x->dims);
    c->step->p.unary.to = c->node->opset >= 12; /* ONNX Runtime's mask was 0 before */
    if (!c->plan->training)
        return identity_shape(c);
    c->step->p.unary.alpha = ratio && ratio->data ? *(const float *)ratio->data : 0.0f;
    return sis__ctx_output(c, 0, SIS__F32, x->rank, x->dims);
}

static uint32_t scramble(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* to += from, or to = from, for the kept units of row i, scaled so that the expected sum does not
 * change. */
static void drop_row(const sis__step *s, const sis__run *r, size_t i, const float *from, float *to,
                     int add) {
    const sis__tensor *t = sis__tin(s, r, 0);
    size_t n = t->dims[0] ? t->count / t->dims[0] : 0;
    float share = r->dropout ? s->p.unary.alpha : 0.0f, scale = 1 / (1 - share);
    uint32_t min = (uint32_t)((double)share * 4294967296.0);
    uint64_t row = r->first_row + i, seed = r->dropout;
    uint32_t key = scramble((uint32_t)seed ^
                            scramble((uint32_t)(seed >> 32) ^
                                     scramble((uint32_t)row ^ (uint32_t)s->node * 0x9e3779b9u)));
    for (size_t j = 0; j < n; j++) {
        float kept = scramble(key + (uint32_t)j * 0x9e3779b9u) >= min ? from[j] * scale : 0.0f;
        to[j] = add ? to[j] + kept : kept;
    }
}

static int dropout_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *t = sis__tin(s, r, 0);
    size_t rows = r->plan->training ? t->dims[0] : 0, width = rows ? t->count / rows : 0;
    if (sis__out(s, r, 1))
        memset(sis__out(s, r, 1), s->p.unary.to, sis__tout(s, r, 1)->count);
    if (!r->plan->training)
        return view_forward(s, r);
    for (size_t i = 0; i < rows; i++)
        drop_row(s, r, i, sis__in(s, r, 0) + i * width, sis__out(s, r, 0) + i * width, 0);
    return SIS_OK;
}

static int dropout_backward(const sis__step *s, sis__run *r) {
    const sis__tensor *t = sis__tin(s, r, 0);
    size_t rows = r->plan->training ? t->dims[0] : 0, width = rows ? t->count / rows : 0;
    if (!r->plan->training)
        return sis__pass_back(s, r);
    for (size_t i = 0; sis__din(s, r, 0) && i < rows; i++)
        drop_row(s, r, i, sis__dout(s, r, 0) + i * width, sis__din(s, r, 0) + i * width, 1);
    return SIS_OK;
}

/* ZipMap names the columns of a classifier's scores; the scores do not change. */
static int zip_map_shape(sis__shape_ctx *c) {
    sis__attr_find(c, "classlabels_strings");
    sis__attr_find(c, "classlabels_int64s");
    sis__ctx_float(c, 0);
    return identity_shape(c);
}

#define VIEW(name, min, max, shape, forward, backward)                                             \
    const sis__op sis__op_##name = {min, max, shape, forward, backward, .trait = SIS__KEEPS};
VIEW(align, 2, 2, align_shape, view_forward, sis__pass_back)
VIEW(heads, 1, 2, heads_shape, view_forward, sis__pass_back)
VIEW(spread, 1, 1, spread_shape, view_forward, NULL)
VIEW(reshape, 1, 2, reshape_shape, view_forward, sis__pass_back)
VIEW(flatten, 1, 1, flatten_shape, view_forward, sis__pass_back)
VIEW(squeeze, 1, 2, squeeze_shape, view_forward, sis__pass_back)
VIEW(unsqueeze, 1, 2, unsqueeze_shape, view_forward, sis__pass_back)
VIEW(identity, 1, 1, identity_shape, view_forward, sis__pass_back)
VIEW(then, 2, 2, branch_shape, view_forward, sis__pass_back)
VIEW(else, 2, 2, branch_shape, view_forward, sis__pass_back)
VIEW(dropout, 1, 3, dropout_shape, dropout_forward, dropout_backward)
VIEW(zip_map, 1, 1, zip_map_shape, view_forward, sis__pass_back)
#undef VIEW
