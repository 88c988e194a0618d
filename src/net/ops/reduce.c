/* SPDX-License-Identifier: MIT
 *
 * ReduceMax, ReduceMin, ReduceMean, ReduceSum, ReduceProd, ReduceL2 and ReduceSumSquare over any
 * axes. Sums are in double, in the order of the input; contiguous values use 16 partial sums.
 */
#include <math.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

/* The axes: attribute, or second input (ReduceSum since opset 13, the others since 18). */
static int read_axes(sis__shape_ctx *c, size_t rank, unsigned char *reduced) {
    const int64_t *axes = NULL;
    size_t n = 0;
    axes = sis__attr_ints(c, "axes", &n);
    int64_t noop = sis__attr_int(c, "noop_with_empty_axes", 0);
    if (sis__ctx_input(c, 1))
        axes = sis__ctx_ints(c, 1, &n);
    for (size_t d = 0; d < rank; d++)
        reduced[d] = n == 0 && !noop;
    for (size_t i = 0; i < n; i++) {
        size_t at;
        at = sis__ctx_axis(c, axes[i], rank);
        reduced[at] = 1;
    }
    return c->error;
}

static int reduce_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    unsigned char reduced[SIS__MAX_RANK];
    size_t dims[SIS__MAX_RANK], rank = 0;
    int extreme = c->step->op == SIS__OP_REDUCE_MAX || c->step->op == SIS__OP_REDUCE_MIN;
    if (x->dtype == SIS__BOOL && !extreme)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "arithmetic of bool");
    int64_t keep = sis__attr_int(c, "keepdims", 1);
    read_axes(c, x->rank, reduced);
    if (c->error)
        return c->error;
    sis__reduce_over(&c->step->p.reduce, x, reduced);
    for (size_t d = 0; d < x->rank; d++)
        if (!reduced[d] || keep)
            dims[rank++] = reduced[d] ? 1 : x->dims[d];
    c->step->flops = (double)x->count;
    return sis__ctx_output(c, 0, x->dtype, rank, dims);
}

static double start_of(int op) {
    return op == SIS__OP_REDUCE_MAX    ? -INFINITY
           : op == SIS__OP_REDUCE_MIN  ? INFINITY
           : op == SIS__OP_REDUCE_PROD ? 1.0
                                       : 0.0;
}

static double join(int op, double a, double b) {
    switch (op) {
    case SIS__OP_REDUCE_MAX:
        return (b > a) | isnan(b) ? b : a;
    case SIS__OP_REDUCE_MIN:
        return b < a || isnan(b) ? b : a;
    case SIS__OP_REDUCE_PROD:
        return a * b;
    case SIS__OP_REDUCE_L2:
    case SIS__OP_REDUCE_SUM_SQUARE:
        return a + b * b;
    default:
        return a + b;
    }
}

/* The last step after all values are combined. */
static double final_value(int op, double v, size_t n) {
    return op == SIS__OP_REDUCE_MEAN ? v / (double)n : op == SIS__OP_REDUCE_L2 ? sqrt(v) : v;
}

/* Are the values of one result contiguous? */
static int is_run(const sis__reduce *e) {
    size_t stride = 1;
    for (size_t d = e->n_reduced; d-- > 0; stride *= e->reduced[d])
        if (e->reduced_stride[d] != stride && e->reduced[d] != 1)
            return 0;
    return 1;
}

static double reduce_one(const sis__step *s, const sis__run *r, size_t at) {
    const sis__reduce *e = &s->p.reduce;
    const sis__tensor *t = sis__tin(s, r, 0);
    size_t index[SIS__MAX_RANK] = {0};
    double v = start_of(s->op);
    const void *x = sis__in(s, r, 0);
    if (e->count == 0)
        return final_value(s->op, v, 0);
    int sums = s->op == SIS__OP_REDUCE_SUM || s->op == SIS__OP_REDUCE_MEAN;
    if (sums && t->dtype == SIS__F32 && is_run(e))
        return final_value(s->op, sis__kernels_best()->sum((const float *)x + at, e->count),
                           e->count);
    do
        v = join(s->op, v, sis__number_at(t, x, at));
    while (sis__index_next(e->n_reduced, e->reduced, e->reduced_stride, index, &at));
    return final_value(s->op, v, e->count);
}

static int64_t join_whole(int op, int64_t a, int64_t b) {
    return op == SIS__OP_REDUCE_SUM                ? (int64_t)((uint64_t)a + (uint64_t)b)
           : (b > a) == (op == SIS__OP_REDUCE_MAX) ? b
                                                   : a;
}

/* Sums, maxima and minima of integers, exactly. */
static int64_t reduce_whole(const sis__step *s, const sis__run *r, size_t start) {
    const sis__reduce *e = &s->p.reduce;
    const int64_t *x = (const int64_t *)(const void *)sis__in(s, r, 0);
    size_t index[SIS__MAX_RANK] = {0}, at = start;
    int extreme = s->op == SIS__OP_REDUCE_MAX || s->op == SIS__OP_REDUCE_MIN, first = 1;
    int64_t v = 0;
    if (e->count == 0 || !(extreme || s->op == SIS__OP_REDUCE_SUM)) {
        sis__number_set(sis__tin(s, r, 0), &v, 0, reduce_one(s, r, start));
        return v;
    }
    do {
        v = first ? x[at] : join_whole(s->op, v, x[at]);
        first = 0;
    } while (sis__index_next(e->n_reduced, e->reduced, e->reduced_stride, index, &at));
    return v;
}

/* A row of values into the results of its columns. */
static void join_row(int op, const float *x, size_t n, double *v) {
    if (op == SIS__OP_REDUCE_SUM || op == SIS__OP_REDUCE_MEAN)
        for (size_t k = 0; k < n; k++)
            v[k] += (double)x[k];
    else
        for (size_t k = 0; k < n; k++)
            v[k] = join(op, v[k], (double)x[k]);
}

/* The maxima of n columns, whose first values are at x[row]. */
static void max_of_columns(const sis__reduce *e, const float *x, size_t row, size_t n, float *y) {
    const sis__kernels *kn = sis__kernels_best();
    size_t over[SIS__MAX_RANK] = {0};
    for (size_t k = 0; k < n; k++)
        y[k] = -INFINITY;
    do
        kn->max_row(y, x + row, n);
    while (sis__index_next(e->n_reduced, e->reduced, e->reduced_stride, over, &row));
}

/* Over axes before the last: columns side by side, each in the order of the input. 0: not this case. */
static int reduce_columns(const sis__step *s, sis__run *r) {
    enum { COLUMNS = 64 };
    const sis__reduce *e = &s->p.reduce;
    size_t last = e->n_kept - 1, index[SIS__MAX_RANK] = {0}, at = 0;
    float *y = sis__out(s, r, 0);
    if (e->n_kept == 0 || e->kept_stride[last] != 1 || sis__tin(s, r, 0)->dtype != SIS__F32 ||
        e->count == 0 || is_run(e))
        return 0;
    do
        for (size_t from = 0, n; from < e->kept[last]; from += n, y += n) {
            double v[COLUMNS];
            size_t over[SIS__MAX_RANK] = {0}, row = at + from;
            n = e->kept[last] - from < COLUMNS ? e->kept[last] - from : COLUMNS;
            if (s->op == SIS__OP_REDUCE_MAX) {
                max_of_columns(e, sis__in(s, r, 0), row, n, y);
                continue;
            }
            for (size_t k = 0; k < n; k++)
                v[k] = start_of(s->op);
            do
                join_row(s->op, sis__in(s, r, 0) + row, n, v);
            while (sis__index_next(e->n_reduced, e->reduced, e->reduced_stride, over, &row));
            for (size_t k = 0; k < n; k++)
                y[k] = (float)final_value(s->op, v[k], e->count);
        }
    while (sis__index_next(last, e->kept, e->kept_stride, index, &at));
    return 1;
}

static int reduce_forward(const sis__step *s, sis__run *r) {
    const sis__reduce *e = &s->p.reduce;
    const sis__tensor *t = sis__tin(s, r, 0);
    size_t index[SIS__MAX_RANK] = {0}, at = 0, i = 0;
    float *y = sis__out(s, r, 0);
    if (sis__tout(s, r, 0)->count == 0 || reduce_columns(s, r))
        return SIS_OK;
    do {
        if (t->dtype == SIS__I64)
            ((int64_t *)(void *)y)[i++] = sis__elem_wrap(t->elem, reduce_whole(s, r, at));
        else
            sis__number_set(t, y, i++, reduce_one(s, r, at));
    } while (sis__index_next(e->n_kept, e->kept, e->kept_stride, index, &at));
    return SIS_OK;
}

/* dy/dx of one value among n. */
static float slope(int op, float x, float y, float n) {
    switch (op) {
    case SIS__OP_REDUCE_MEAN:
        return 1 / n;
    case SIS__OP_REDUCE_L2:
        return y > 0 ? x / y : 0;
    case SIS__OP_REDUCE_SUM_SQUARE:
        return 2 * x;
    default:
        return 1;
    }
}

/* The gradient of a maximum goes to the first value that reaches it. */
static void spread_one(const sis__step *s, const sis__run *r, size_t at, size_t out) {
    const sis__reduce *e = &s->p.reduce;
    size_t index[SIS__MAX_RANK] = {0};
    const float *x = sis__in(s, r, 0);
    float *dx = sis__din(s, r, 0), dy = sis__dout(s, r, 0)[out], y = sis__out(s, r, 0)[out];
    if (e->count == 0)
        return;
    do {
        if (s->op != SIS__OP_REDUCE_MAX && s->op != SIS__OP_REDUCE_MIN) {
            dx[at] += dy * slope(s->op, x[at], y, (float)e->count);
        } else if (x[at] == y) {
            dx[at] += dy;
            return;
        }
    } while (sis__index_next(e->n_reduced, e->reduced, e->reduced_stride, index, &at));
}

/* d(product)/d(factor) = product of the other factors, computed as such because a factor may be
 * zero. */
static void spread_product(const sis__step *s, const sis__run *r, size_t start, size_t out) {
    const sis__reduce *e = &s->p.reduce;
    size_t i[SIS__MAX_RANK] = {0}, at = start;
    do {
        size_t j[SIS__MAX_RANK] = {0}, other = start;
        double others = 1;
        do
            others *= other == at ? 1.0 : sis__in(s, r, 0)[other];
        while (sis__index_next(e->n_reduced, e->reduced, e->reduced_stride, j, &other));
        sis__din(s, r, 0)[at] += (float)(others * sis__dout(s, r, 0)[out]);
    } while (sis__index_next(e->n_reduced, e->reduced, e->reduced_stride, i, &at));
}

static int reduce_backward(const sis__step *s, sis__run *r) {
    const sis__reduce *e = &s->p.reduce;
    size_t index[SIS__MAX_RANK] = {0}, at = 0, i = 0;
    if (!sis__din(s, r, 0) || sis__tin(s, r, 0)->count == 0)
        return SIS_OK;
    do {
        if (s->op == SIS__OP_REDUCE_PROD)
            spread_product(s, r, at, i++);
        else
            spread_one(s, r, at, i++);
    } while (sis__index_next(e->n_kept, e->kept, e->kept_stride, index, &at));
    return SIS_OK;
}

static int reduce_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                         sis__source *from) {
    const sis__reduce *e = &s->p.reduce;
    if (in > 0)
        return sis__source_all(from, p->tensors[s->outputs[out]].count,
                               p->tensors[s->inputs[in]].count);
    for (size_t d = 0; d < e->n_kept; d++)
        sis__source_digit(from, e->kept[d], (ptrdiff_t)e->kept_stride[d]);
    for (size_t d = 0; d < e->n_reduced; d++)
        from->over[from->n_over++] = (sis__digit){e->reduced[d], (ptrdiff_t)e->reduced_stride[d]};
    return 1;
}

#define REDUCTION(name, of)                                                                        \
    const sis__op sis__op_##name = {1,                                                             \
                                    2,                                                             \
                                    reduce_shape,                                                  \
                                    reduce_forward,                                                \
                                    reduce_backward,                                               \
                                    .source = reduce_source,                                       \
                                    .family = SIS__REDUCTION,                                      \
                                    .takes = of};
REDUCTION(reduce_max, SIS__TAKES_MAX)
REDUCTION(reduce_min, SIS__TAKES_OTHER)
REDUCTION(reduce_mean, SIS__TAKES_MEAN)
REDUCTION(reduce_sum, SIS__TAKES_SUM)
REDUCTION(reduce_prod, SIS__TAKES_OTHER)
REDUCTION(reduce_l2, SIS__TAKES_OTHER)
REDUCTION(reduce_sum_square, SIS__TAKES_OTHER)
#undef REDUCTION
