/* SPDX-License-Identifier: MIT
 *
 * Operators that put values in other places by a list made with the plan (axes.h): DepthToSpace,
 * SpaceToDepth, Trilu, ReverseSequence; and CumSum, EyeLike.
 */
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

/* ---- DepthToSpace, SpaceToDepth -------------------------------------------------------------- */

typedef struct {
    size_t n, depth, rows, cols, block; /* of the side with the larger image */
    int column_first;                   /* mode CRD */
} blocks;

/* Place in the deep tensor of channel c, row y and column x of the wide one. */
static size_t deep_place(const blocks *b, size_t n, size_t c, size_t y, size_t x) {
    size_t part = y % b->block * b->block + x % b->block, parts = b->block * b->block;
    size_t channel = b->column_first ? c * parts + part : part * b->depth + c;
    return ((n * b->depth * parts + channel) * (b->rows / b->block) + y / b->block) *
               (b->cols / b->block) +
           x / b->block;
}

static int depth_shape(sis__cx *c) {
    static const char *const modes[] = {"DCR", "CRD"};
    const sis__tensor *x = sis__cx_input(c, 0);
    int to_space = c->step->op == SIS__OP_DEPTH_TO_SPACE;
    int64_t size = sis__attr_int(c, "blocksize", 0);
    int mode = to_space ? sis__attr_choice(c, "mode", modes, 2) : 0;
    if (x->rank != 4 || size < 1 || size > 65536)
        return sis__cx_fail(c, SIS_E_FORMAT, "blocks of %lld in a tensor of %zu axes",
                            (long long)size, x->rank);
    size_t s = (size_t)size, ss = s * s;
    if (to_space ? x->dims[1] % ss : x->dims[2] % s || x->dims[3] % s)
        return sis__cx_fail(c, SIS_E_FORMAT, "blocks of %zu do not divide the axes", s);
    blocks b = {x->dims[0], x->dims[1], x->dims[2], x->dims[3], s, mode};
    size_t dims[4] = {x->dims[0], x->dims[1] * ss, x->dims[2] / s, x->dims[3] / s};
    if (to_space) {
        b = (blocks){x->dims[0], x->dims[1] / ss, x->dims[2] * s, x->dims[3] * s, s, mode};
        memcpy(dims, (size_t[]){b.n, b.depth, b.rows, b.cols}, sizeof dims);
    }
    sis__cx_output(c, 0, x->dtype, 4, dims);
    uint32_t *from = sis__cx_places(c);
    for (size_t i = 0; from && i < b.n * b.depth * b.rows * b.cols; i++) {
        size_t deep = deep_place(&b, i / b.cols / b.rows / b.depth, i / b.cols / b.rows % b.depth,
                                 i / b.cols % b.rows, i % b.cols);
        from[to_space ? i : deep] = (uint32_t)(to_space ? deep : i);
    }
    return c->error;
}

const sis__op sis__op_depth_to_space = {1,
                                        1,
                                        depth_shape,
                                        sis__places_forward,
                                        sis__places_backward,
                                        .trait = SIS__MOVES,
                                        .source = sis__places_source};
const sis__op sis__op_space_to_depth = {1,
                                        1,
                                        depth_shape,
                                        sis__places_forward,
                                        sis__places_backward,
                                        .trait = SIS__MOVES,
                                        .source = sis__places_source};

/* ---- Trilu ----------------------------------------------------------------------------------- */

static int trilu_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    int upper = sis__attr_int(c, "upper", 1) != 0;
    size_t n = 0;
    const int64_t *given = sis__cx_input(c, 1) ? sis__cx_ints(c, 1, &n) : NULL;
    if (x->rank < 2)
        return sis__cx_fail(c, SIS_E_FORMAT, "an input that is no matrix");
    int64_t k = n ? given[0] : 0, cols = (int64_t)x->dims[x->rank - 1];
    int64_t rows = (int64_t)x->dims[x->rank - 2];
    k = k > cols + 1 ? cols + 1 : k < -rows - 1 ? -rows - 1 : k;
    sis__cx_output(c, 0, x->dtype, x->rank, x->dims);
    uint32_t *from = sis__cx_places(c);
    for (size_t i = 0; from && i < x->count; i++) {
        int64_t col = (int64_t)i % cols, row = (int64_t)i / cols % rows;
        int stays = upper ? col - row >= k : col - row <= k;
        from[i] = stays ? (uint32_t)i : SIS__NOWHERE;
    }
    return c->error;
}

const sis__op sis__op_trilu = {
    1, 2, trilu_shape, sis__places_forward, sis__places_backward, .trait = SIS__MIXES};

/* ---- ReverseSequence: the first values of each column, turned round -------------------------- */

static int reverse_sequence_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    int64_t batch = sis__attr_int(c, "batch_axis", 1), time = sis__attr_int(c, "time_axis", 0);
    size_t n, stride[SIS__MAX_RANK];
    const int64_t *lengths = sis__cx_ints(c, 1, &n);
    if (x->rank < 2 || batch + time != 1 || batch < 0 || batch > 1 || n != x->dims[batch == 1])
        sis__cx_fail(c, SIS_E_FORMAT, "lengths that do not fit the axes");
    sis__cx_output(c, 0, x->dtype, x->rank, x->dims);
    uint32_t *from = sis__cx_places(c);
    sis__strides_of(x, stride);
    for (size_t i = 0; from && i < x->count; i++) {
        size_t t = i / stride[time] % x->dims[time], b = i / stride[batch] % x->dims[batch];
        size_t length = lengths[b] < 0 ? 0 : (size_t)lengths[b];
        size_t other = t < length && length <= x->dims[time] ? length - 1 - t : t;
        from[i] = (uint32_t)(i + other * stride[time] - t * stride[time]);
    }
    return c->error;
}

const sis__op sis__op_reverse_sequence = {2,
                                          2,
                                          reverse_sequence_shape,
                                          sis__places_forward,
                                          sis__places_backward,
                                          .trait = SIS__MOVES,
                                          .source = sis__places_source};

/* ---- CumSum ---------------------------------------------------------------------------------- */

typedef struct {
    sis__axis axis;
    int exclusive, reverse;
} sums;

static int cum_sum_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    sums *p = (sums *)sis__cx_own(c, sizeof *p);
    int exclusive = sis__attr_int(c, "exclusive", 0) != 0;
    int reverse = sis__attr_int(c, "reverse", 0) != 0;
    size_t n;
    const int64_t *given = sis__cx_ints(c, 1, &n);
    size_t axis = n == 1 ? sis__cx_axis(c, given[0], x->rank) : 0;
    if (n != 1 || x->dtype > SIS__I64)
        sis__cx_fail(c, SIS_E_FORMAT, "one axis of numbers is wanted");
    if (c->error)
        return c->error;
    sis__axis_around(x, axis, &p->axis);
    p->exclusive = exclusive;
    p->reverse = reverse;
    return sis__cx_output(c, 0, x->dtype, x->rank, x->dims);
}

/* Along one line: to[i] (+)= sum of what is in front of it, from the other end with `back`. */
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

/* ---- EyeLike --------------------------------------------------------------------------------- */

static int eye_like_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    int64_t elem = sis__attr_int(c, "dtype", x->elem), k = sis__attr_int(c, "k", 0);
    sis__dtype type = elem > 0 && elem <= 16 ? sis__elem_dtype((int)elem) : SIS__OTHER;
    if (x->rank != 2 || type > SIS__BOOL)
        return sis__cx_fail(c, SIS_E_FORMAT, "a matrix of numbers is wanted");
    c->step->p.unary.to = (int)(k < -INT32_MAX ? -INT32_MAX : k > INT32_MAX ? INT32_MAX : k);
    sis__cx_output(c, 0, type, 2, x->dims);
    sis__cx_elem(c, 0, (int)elem);
    return c->error;
}

static int eye_like_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *t = sis__tout(s, r, 0);
    for (size_t i = 0; i < t->count; i++)
        sis__number_set(t, sis__out(s, r, 0), i,
                        (int64_t)(i % t->dims[1]) - (int64_t)(i / t->dims[1]) == s->p.unary.to);
    return SIS_OK;
}

const sis__op sis__op_eye_like = {
    1, 1, eye_like_shape, eye_like_forward, NULL, .trait = SIS__MIXES};
