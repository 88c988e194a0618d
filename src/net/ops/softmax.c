/* SPDX-License-Identifier: MIT
 *
 * Softmax and LogSoftmax along one axis (before opset 13: along all axes from that one on), and
 * ArgMax.
 */
#include <math.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

/* Number of groups whose exponentials are computed together. */
static size_t rows_together(const sis__axis *a) {
    return a->size && a->size < 512 ? 512 / a->size : 1;
}

static int softmax_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__axis *a = &c->step->p.axis;
    int old = c->node->opset < 13;
    sis__ctx_float(c, 0);
    int64_t axis = sis__attr_int(c, "axis", old ? 1 : -1);
    if (x->rank == 0 || (old && axis == (int64_t)x->rank)) /* no axis to run along */
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "axis %lld of a tensor of %zu axes",
                             (long long)axis, x->rank);
    a->axis = sis__ctx_axis(c, axis, x->rank);
    a->outer = a->size = a->inner = 1;
    for (size_t d = 0; d < x->rank; d++)
        *(d < a->axis ? &a->outer : d == a->axis || old ? &a->size : &a->inner) *= x->dims[d];
    c->step->scratch = (rows_together(a) + 2) * a->size * sizeof(float);
    c->step->flops = 10.0 * (double)x->count;
    return sis__ctx_output(c, 0, SIS__F32, x->rank, x->dims);
}

/* e = x - max for n values, `step` apart; returns the maximum. */
static float centre(size_t n, size_t step, const float *x, float *e) {
    float top = -INFINITY;
    for (size_t i = 0; i < n; i++)
        top = x[i * step] > top ? x[i * step] : top;
    for (size_t i = 0; i < n; i++)
        e[i] = x[i * step] - top;
    return top;
}

static int softmax_forward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &s->p.axis;
    float *e = (float *)r->scratch;
    if (a->inner == 1) {
        sis__kernels_best()->softmax(sis__in(s, r, 0), sis__out(s, r, 0), a->outer, a->size);
        return SIS_OK;
    }
    for (size_t o = 0; o < a->outer; o++)
        for (size_t in = 0; in < a->inner; in++) {
            size_t at = o * a->size * a->inner + in;
            float *y = sis__out(s, r, 0) + at;
            if (centre(a->size, a->inner, sis__in(s, r, 0) + at, e) ==
                -INFINITY) { /* all masked: no weights */
                for (size_t i = 0; i < a->size; i++)
                    y[i * a->inner] =
                        isnan(e[i]) && isnan(sis__in(s, r, 0)[at + i * a->inner]) ? NAN : 0.0f;
                continue;
            }
            sis__kernels_best()->exp(e, e, a->size);
            double sum = 0;
            for (size_t i = 0; i < a->size; i++)
                sum += e[i];
            for (size_t i = 0; i < a->size; i++)
                y[i * a->inner] = e[i] / (float)sum;
        }
    return SIS_OK;
}

/* Contiguous groups: the exponentials of several at once. */
static void log_softmax_rows(const sis__axis *a, const float *x, float *y, size_t rows, float *e) {
    for (size_t o = 0; o < rows; o++)
        centre(a->size, 1, x + o * a->size, y + o * a->size);
    sis__kernels_best()->exp(y, e, rows * a->size);
    for (size_t o = 0; o < rows; o++, y += a->size, e += a->size) {
        double sum = 0;
        for (size_t i = 0; i < a->size; i++)
            sum += e[i];
        float shift = (float)log(sum);
        for (size_t i = 0; i < a->size; i++)
            y[i] -= shift;
    }
}

static int log_softmax_forward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &s->p.axis;
    float *e = (float *)r->scratch;
    for (size_t o = 0, rows; a->inner == 1 && a->size && o < a->outer; o += rows) {
        rows = rows_together(a) < a->outer - o ? rows_together(a) : a->outer - o;
        log_softmax_rows(a, sis__in(s, r, 0) + o * a->size, sis__out(s, r, 0) + o * a->size, rows,
                         e);
    }
    if (a->inner == 1)
        return SIS_OK;
    for (size_t i = 0; i < a->outer * a->inner; i++) { /* gathered, computed, and put back */
        size_t at = i / a->inner * a->size * a->inner + i % a->inner;
        float *line = e + a->size, *y = line + a->size;
        for (size_t k = 0; k < a->size; k++)
            line[k] = sis__in(s, r, 0)[at + k * a->inner];
        log_softmax_rows(a, line, y, 1, e);
        for (size_t k = 0; k < a->size; k++)
            sis__out(s, r, 0)[at + k * a->inner] = y[k];
    }
    return SIS_OK;
}

/* softmax: dx = y * (dy - sum(dy * y)); log-softmax: dx = dy - exp(y) * sum(dy) */
static int softmax_backward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &s->p.axis;
    const float *dy = sis__dout(s, r, 0), *y = sis__out(s, r, 0);
    float *dx = sis__din(s, r, 0);
    int logarithm = s->op == SIS__OP_LOG_SOFTMAX;
    for (size_t o = 0; dx && o < a->outer; o++)
        for (size_t in = 0; in < a->inner; in++) {
            size_t at = o * a->size * a->inner + in, end = at + a->size * a->inner;
            double sum = 0;
            for (size_t i = at; i < end; i += a->inner)
                sum += logarithm ? (double)dy[i] : (double)dy[i] * (double)y[i];
            for (size_t i = at; i < end; i += a->inner)
                dx[i] +=
                    logarithm ? (float)(dy[i] - exp(y[i]) * sum) : (float)(y[i] * (dy[i] - sum));
        }
    return SIS_OK;
}

const sis__op sis__op_softmax = {1,
                                 1,
                                 softmax_shape,
                                 softmax_forward,
                                 softmax_backward,
                                 .in_place = 1,
                                 .source = sis__lines_source};
const sis__op sis__op_log_softmax = {
    1, 1, softmax_shape, log_softmax_forward, softmax_backward, .source = sis__lines_source};

/* ---- ArgMax ---------------------------------------------------------------------------------- */

static int arg_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__axis *a = &c->step->p.axis;
    size_t dims[SIS__MAX_RANK], rank = 0;
    size_t axis = sis__ctx_axis(c, sis__attr_int(c, "axis", 0), x->rank);
    int64_t keep = sis__attr_int(c, "keepdims", 1);
    int last = sis__attr_int(c, "select_last_index", 0) != 0;
    if (x->dtype > SIS__I64)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "the largest of %s", sis__dtype_name(x->dtype));
    sis__axis_around(x, axis, a);
    a->last = last;
    for (size_t d = 0; d < x->rank; d++)
        if (d != axis || keep)
            dims[rank++] = d == axis ? 1 : x->dims[d];
    sis__ctx_output(c, 0, SIS__I64, rank, dims);
    sis__ctx_elem(c, 0, SIS__INT64);
    return c->error;
}

/* Does value i come before value k of the list? Doubles cannot hold integers above 2^53. */
static int is_more(const sis__tensor *t, const void *x, size_t i, size_t k, int or_equal) {
    if (t->dtype == SIS__I64) {
        const int64_t *whole = (const int64_t *)x;
        return whole[i] > whole[k] || (or_equal && whole[i] == whole[k]);
    }
    double v = sis__number_at(t, x, i), w = sis__number_at(t, x, k);
    return v > w || (or_equal && v == w);
}

/* The index of the maximum of x[from], x[from + inner] ... */
static size_t best_of(const sis__axis *a, const sis__tensor *t, const void *x, size_t from) {
    size_t best = 0;
    for (size_t i = 1; i < a->size; i++)
        if (is_more(t, x, from + i * a->inner, from + best * a->inner, a->last))
            best = i;
    return best;
}

static int arg_forward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &s->p.axis;
    int64_t *y = (int64_t *)(void *)sis__out(s, r, 0);
    for (size_t o = 0; o < a->outer; o++)
        for (size_t in = 0; in < a->inner; in++)
            y[o * a->inner + in] = (int64_t)best_of(a, sis__tin(s, r, 0), sis__in(s, r, 0),
                                                    o * a->size * a->inner + in);
    return SIS_OK;
}

const sis__op sis__op_arg_max = {1, 1, arg_shape, arg_forward, NULL, .trait = SIS__MIXES};
