/* SPDX-License-Identifier: MIT
 *
 * CumSum: cumulative sums along an axis. Transformers use it to number positions.
 */
#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

typedef struct {
    sis__axis axis;
    int exclusive, reverse;
} sums;

static int cum_sum_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sums *p = (sums *)sis__ctx_own(c, sizeof *p);
    int exclusive = sis__attr_int(c, "exclusive", 0) != 0;
    int reverse = sis__attr_int(c, "reverse", 0) != 0;
    size_t n;
    const int64_t *given = sis__ctx_ints(c, 1, &n);
    size_t axis = n == 1 ? sis__ctx_axis(c, given[0], x->rank) : 0;
    if (n != 1 || x->dtype > SIS__I64)
        sis__ctx_fail(c, SIS_E_FORMAT, "expected one axis of numbers");
    if (c->error)
        return c->error;
    sis__axis_around(x, axis, &p->axis);
    p->exclusive = exclusive;
    p->reverse = reverse;
    return sis__ctx_output(c, 0, x->dtype, x->rank, x->dims);
}

/* One line: to[i] (+)= sum of the values before it; from the other end with `back`. */
static void sum_line(const sums *p, const float *from, float *to, int back, int add) {
    double sum = 0;
    for (size_t k = 0; k < p->axis.size; k++) {
        size_t i = (back ? p->axis.size - 1 - k : k) * p->axis.inner;
        double v = from[i];
        double out = p->exclusive ? sum : sum + v;
        to[i] = add ? to[i] + (float)out : (float)out;
        sum += v;
    }
}

static void sum_whole(const sums *p, int elem, const int64_t *from, int64_t *to) {
    uint64_t sum = 0;
    for (size_t k = 0; k < p->axis.size; k++) {
        size_t i = (p->reverse ? p->axis.size - 1 - k : k) * p->axis.inner;
        uint64_t v = (uint64_t)from[i];
        to[i] = sis__elem_wrap(elem, (int64_t)(p->exclusive ? sum : sum + v));
        sum += v;
    }
}

static int cum_sum_forward(const sis__step *s, sis__run *r) {
    const sums *p = (const sums *)s->p.own;
    const float *x = sis__in(s, r, 0);
    float *y = sis__out(s, r, 0);
    const sis__tensor *t = sis__tin(s, r, 0);
    for (size_t o = 0; o < p->axis.outer; o++)
        for (size_t in = 0; in < p->axis.inner; in++) {
            size_t at = o * p->axis.size * p->axis.inner + in;
            if (t->dtype == SIS__F32)
                sum_line(p, x + at, y + at, p->reverse, 0);
            else
                sum_whole(p, t->elem, (const int64_t *)(const void *)x + at,
                          (int64_t *)(void *)y + at);
        }
    return SIS_OK;
}

static int cum_sum_backward(const sis__step *s, sis__run *r) {
    const sums *p = (const sums *)s->p.own;
    for (size_t o = 0; sis__din(s, r, 0) && o < p->axis.outer; o++)
        for (size_t in = 0; in < p->axis.inner; in++) {
            size_t at = o * p->axis.size * p->axis.inner + in;
            sum_line(p, sis__dout(s, r, 0) + at, sis__din(s, r, 0) + at, !p->reverse, 1);
        }
    return SIS_OK;
}

const sis__op sis__op_cum_sum = {
    2, 2, cum_sum_shape, cum_sum_forward, cum_sum_backward, .trait = SIS__MIXES};
