/* SPDX-License-Identifier: MIT
 *
 * ReduceMax, ReduceMin, ReduceMean, ReduceSum, ReduceProd over any axes. Sums run in double, in the
 * order of the input.
 */
#include <math.h>

#include "base/error.h"
#include "net/ops/ops.h"

/* Which axes: attribute, or second input (ReduceSum since opset 13, the others since 18). */
static int read_axes(sis__cx *c, size_t rank, unsigned char *reduced) {
    const int64_t *axes = NULL;
    size_t n = 0;
    axes = sis__attr_ints(c, "axes", &n);
    int64_t noop = sis__attr_int(c, "noop_with_empty_axes", 0);
    if (sis__cx_input(c, 1))
        axes = sis__cx_ints(c, 1, &n);
    for (size_t d = 0; d < rank; d++)
        reduced[d] = n == 0 && !noop;
    for (size_t i = 0; i < n; i++) {
        size_t at;
        at = sis__cx_axis(c, axes[i], rank);
        reduced[at] = 1;
    }
    return c->error;
}

static int reduce_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    sis__reduce *e = &c->step->p.reduce;
    unsigned char reduced[SIS__MAX_RANK];
    size_t dims[SIS__MAX_RANK], rank = 0, stride[SIS__MAX_RANK], at = 1;
    if (x->dtype == SIS__BOOL)
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "arithmetic of bool");
    int64_t keep = sis__attr_int(c, "keepdims", 1);
    read_axes(c, x->rank, reduced);
    if (c->error)
        return c->error;
    for (size_t d = x->rank; d-- > 0;) {
        stride[d] = at;
        at *= x->dims[d];
    }
    e->count = 1;
    for (size_t d = 0; d < x->rank; d++) {
        if (reduced[d]) {
            e->reduced[e->n_reduced] = x->dims[d];
            e->reduced_stride[e->n_reduced++] = stride[d];
            e->count *= x->dims[d];
        } else {
            e->kept[e->n_kept] = x->dims[d];
            e->kept_stride[e->n_kept++] = stride[d];
        }
        if (!reduced[d] || keep)
            dims[rank++] = reduced[d] ? 1 : x->dims[d];
    }
    c->step->flops = (double)x->count;
    return sis__cx_output(c, 0, x->dtype, rank, dims);
}

/* Step an index over n axes; 0 when it has come round. *at is the offset it stands for. */
static int advance(size_t n, const size_t *dims, const size_t *stride, size_t *index, size_t *at) {
    for (size_t d = n; d-- > 0;) {
        *at += stride[d];
        if (++index[d] < dims[d])
            return 1;
        *at -= stride[d] * dims[d];
        index[d] = 0;
    }
    return 0;
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
        return b > a || isnan(b) ? b : a;
    case SIS__OP_REDUCE_MIN:
        return b < a || isnan(b) ? b : a;
    case SIS__OP_REDUCE_PROD:
        return a * b;
    default:
        return a + b;
    }
}

static double reduce_one(const sis__step *s, const sis__run *r, size_t at) {
    const sis__reduce *e = &s->p.reduce;
    size_t index[SIS__MAX_RANK] = {0};
    double v = start_of(s->op);
    const void *x = sis__in(s, r, 0);
    int integers = sis__tin(s, r, 0)->dtype == SIS__I64;
    if (e->count == 0)
        return v;
    do
        v = join(s->op, v, integers ? (double)((const int64_t *)x)[at] : ((const float *)x)[at]);
    while (advance(e->n_reduced, e->reduced, e->reduced_stride, index, &at));
    return s->op == SIS__OP_REDUCE_MEAN ? v / (double)e->count : v;
}

static int64_t whole(double v) {
    return v >= 9.2233720368547748e18   ? INT64_MAX
           : v > -9.2233720368547758e18 ? (int64_t)v
                                        : INT64_MIN;
}

static int reduce_forward(const sis__step *s, sis__run *r) {
    const sis__reduce *e = &s->p.reduce;
    size_t index[SIS__MAX_RANK] = {0}, at = 0, i = 0;
    float *y = sis__out(s, r, 0);
    if (sis__tout(s, r, 0)->count == 0)
        return SIS_OK;
    do {
        double v = reduce_one(s, r, at);
        if (sis__tin(s, r, 0)->dtype == SIS__I64)
            ((int64_t *)(void *)y)[i++] = whole(v);
        else
            y[i++] = (float)v;
    } while (advance(e->n_kept, e->kept, e->kept_stride, index, &at));
    return SIS_OK;
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
        if (s->op == SIS__OP_REDUCE_SUM) {
            dx[at] += dy;
        } else if (s->op == SIS__OP_REDUCE_MEAN) {
            dx[at] += dy / (float)e->count;
        } else if (x[at] == y) {
            dx[at] += dy;
            return;
        }
    } while (advance(e->n_reduced, e->reduced, e->reduced_stride, index, &at));
}

/* d(product)/d(one factor) = product of the others, computed as such: a factor may be zero. */
static void spread_product(const sis__step *s, const sis__run *r, size_t start, size_t out) {
    const sis__reduce *e = &s->p.reduce;
    size_t i[SIS__MAX_RANK] = {0}, at = start;
    do {
        size_t j[SIS__MAX_RANK] = {0}, other = start;
        double others = 1;
        do
            others *= other == at ? 1.0 : sis__in(s, r, 0)[other];
        while (advance(e->n_reduced, e->reduced, e->reduced_stride, j, &other));
        sis__din(s, r, 0)[at] += (float)(others * sis__dout(s, r, 0)[out]);
    } while (advance(e->n_reduced, e->reduced, e->reduced_stride, i, &at));
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
    } while (advance(e->n_kept, e->kept, e->kept_stride, index, &at));
    return SIS_OK;
}

const sis__op sis__op_reduce_max = {1, 2,         reduce_shape, reduce_forward, reduce_backward,
                                    0, SIS__MIXES};
const sis__op sis__op_reduce_min = {1, 2,         reduce_shape, reduce_forward, reduce_backward,
                                    0, SIS__MIXES};
const sis__op sis__op_reduce_mean = {1, 2,         reduce_shape, reduce_forward, reduce_backward,
                                     0, SIS__MIXES};
const sis__op sis__op_reduce_sum = {1, 2,         reduce_shape, reduce_forward, reduce_backward,
                                    0, SIS__MIXES};
const sis__op sis__op_reduce_prod = {1, 2,         reduce_shape, reduce_forward, reduce_backward,
                                     0, SIS__MIXES};
