/* SPDX-License-Identifier: MIT
 *
 * Operators that put values in other places by a list made with the plan (axes.h): DepthToSpace,
 * SpaceToDepth, Trilu, ReverseSequence, Compress, CenterCropPad; and CumSum, EyeLike, Col2Im.
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

const sis__op sis__op_depth_to_space = {
    1, 1, depth_shape, sis__places_forward, sis__places_backward, 0, SIS__MOVES};
const sis__op sis__op_space_to_depth = {
    1, 1, depth_shape, sis__places_forward, sis__places_backward, 0, SIS__MOVES};

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

const sis__op sis__op_trilu = {1, 2,         trilu_shape, sis__places_forward, sis__places_backward,
                               0, SIS__MIXES};

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

const sis__op sis__op_reverse_sequence = {
    2, 2, reverse_sequence_shape, sis__places_forward, sis__places_backward, 0, SIS__MOVES};

/* ---- Compress: slices that a list of yes and no keeps ---------------------------------------- */

static int compress_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *keep = sis__cx_input(c, 1);
    int flat = sis__attr_find(c, "axis") == NULL;
    size_t axis = flat ? 0 : sis__cx_axis(c, sis__attr_int(c, "axis", 0), x->rank);
    size_t dims[SIS__MAX_RANK], kept = 0;
    if (keep->dtype != SIS__BOOL)
        sis__cx_fail(c, SIS_E_FORMAT, "a condition that is not bool");
    else if (!keep->data)
        sis__cx_fail(c, SIS_E_UNSUPPORTED,
                     "input 1 must be constant, but it depends on the network's input");
    if (c->error)
        return c->error;
    sis__axis a = {.outer = 1, .size = x->count, .inner = 1};
    if (!flat)
        sis__axis_around(x, axis, &a);
    size_t n = keep->count < a.size ? keep->count : a.size;
    const uint8_t *yes = (const uint8_t *)keep->data;
    for (size_t i = 0; i < n; i++)
        kept += yes[i] != 0;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = kept;
    sis__cx_output(c, 0, x->dtype, flat ? 1 : x->rank, dims);
    uint32_t *from = sis__cx_places(c);
    for (size_t o = 0, to = 0; from && o < a.outer; o++)
        for (size_t i = 0; i < n; i++)
            for (size_t in = 0; yes[i] && in < a.inner; in++)
                from[to++] = (uint32_t)((o * a.size + i) * a.inner + in);
    return c->error;
}

const sis__op sis__op_compress = {
    2, 2, compress_shape, sis__places_forward, sis__places_backward, 0, SIS__MOVES};

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

const sis__op sis__op_cum_sum = {2, 2,         cum_sum_shape, cum_sum_forward, cum_sum_backward,
                                 0, SIS__MIXES};

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

const sis__op sis__op_eye_like = {1, 1, eye_like_shape, eye_like_forward, NULL, 0, SIS__MIXES};

/* ---- CenterCropPad: axes to sizes, what is cut or added shared between both ends ----------------- */

static int crop_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    size_t listed, n, dims[SIS__MAX_RANK], stride[SIS__MAX_RANK], rank = x->rank;
    int64_t shift[SIS__MAX_RANK] = {0}; /* place in the result minus place in x */
    const int64_t *axes = sis__attr_ints(c, "axes", &listed), *sizes = sis__cx_ints(c, 1, &n);
    if (!c->error && (n != (listed ? listed : rank) || n > rank))
        sis__cx_fail(c, SIS_E_FORMAT, "%zu sizes for %zu axes", n, listed ? listed : rank);
    memcpy(dims, x->dims, sizeof dims);
    for (size_t i = 0; !c->error && i < n; i++) {
        size_t d = listed ? sis__cx_axis(c, axes[i], rank) : i;
        int64_t have = (int64_t)x->dims[d], want = sizes[i];
        if (want < 0 || want > INT32_MAX)
            return sis__cx_fail(c, SIS_E_FORMAT, "a size of %lld", (long long)want);
        shift[d] = want > have ? (want - have) / 2 : -((have - want) / 2);
        dims[d] = (size_t)want;
    }
    sis__cx_output(c, 0, x->dtype, rank, dims);
    uint32_t *from = sis__cx_places(c);
    sis__strides_of(x, stride);
    size_t count = 1;
    for (size_t d = 0; d < rank; d++)
        count *= dims[d];
    for (size_t i = 0; from && i < count; i++) {
        size_t to = 0, rest = i;
        int inside = 1;
        for (size_t d = rank; d-- > 0; rest /= dims[d]) {
            int64_t at = (int64_t)(rest % dims[d]) - shift[d];
            inside &= at >= 0 && at < (int64_t)x->dims[d];
            to += inside ? (size_t)at * stride[d] : 0;
        }
        from[i] = inside ? (uint32_t)to : SIS__NOWHERE;
    }
    return c->error;
}

const sis__op sis__op_center_crop_pad = {
    2, 2, crop_shape, sis__places_forward, sis__places_backward, 0, SIS__MIXES};

/* ---- Col2Im: blocks (n, channels * size of a block, blocks) added up to an image ------------------ */

typedef struct {
    size_t axes, channels, image[3], block[3], blocks[3], step[3], dilation[3], pad[3];
} tiles;

/* One number per axis, from an attribute. */
static void read_each(sis__cx *c, const char *name, size_t axes, size_t *to) {
    size_t n;
    const int64_t *v = sis__attr_ints(c, name, &n);
    for (size_t i = 0; i < axes; i++) {
        if (n && (n < axes || v[i] < 0 || v[i] > INT32_MAX))
            sis__cx_fail(c, SIS_E_FORMAT, "%s that do not fit", name);
        else if (n)
            to[i] = (size_t)v[i];
    }
}

static int col2im_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    tiles *p = (tiles *)sis__cx_own(c, sizeof *p);
    size_t axes, n, count = 1, size = 1, dims[5], pads;
    const int64_t *image = sis__cx_ints(c, 1, &axes), *block = sis__cx_ints(c, 2, &n);
    const int64_t *pad = sis__attr_ints(c, "pads", &pads);
    sis__cx_float(c, 0);
    if (x->rank != 3 || axes < 1 || axes > 3 || n != axes || (pads && pads != 2 * axes))
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "an image of %zu axes", axes);
    if (c->error)
        return c->error;
    p->axes = axes;
    for (size_t d = 0; d < axes; d++)
        p->step[d] = p->dilation[d] = 1;
    read_each(c, "strides", axes, p->step);
    read_each(c, "dilations", axes, p->dilation);
    read_each(c, "pads", axes, p->pad);
    for (size_t d = 0; d < axes && !c->error; d++) {
        int64_t room = image[d] + (pads ? pad[d] + pad[axes + d] : 0);
        int64_t reach = (int64_t)p->dilation[d] * (block[d] - 1) + 1;
        if (image[d] < 1 || image[d] > INT32_MAX || block[d] < 1 || p->step[d] < 1 ||
            p->dilation[d] < 1 || reach > room)
            return sis__cx_fail(c, SIS_E_FORMAT, "blocks of %lld in an axis of %lld",
                                (long long)block[d], (long long)image[d]);
        p->image[d] = dims[2 + d] = (size_t)image[d];
        p->block[d] = (size_t)block[d];
        p->blocks[d] = (size_t)(room - reach) / p->step[d] + 1;
        count *= p->blocks[d];
        size *= p->block[d];
    }
    if (!c->error && (x->dims[1] == 0 || x->dims[1] % size || x->dims[2] != count))
        sis__cx_fail(c, SIS_E_FORMAT, "%zu blocks of %zu for %zu of %zu", count, size, x->dims[2],
                     x->dims[1]);
    if (c->error)
        return c->error;
    dims[0] = x->dims[0];
    dims[1] = p->channels = x->dims[1] / size;
    return sis__cx_output(c, 0, SIS__F32, 2 + axes, dims);
}

/* Where in the image (one channel) value k of block b goes; SIZE_MAX: outside. */
static size_t tile_place(const tiles *p, size_t k, size_t b) {
    size_t at[3] = {0}, to = 0;
    for (size_t d = p->axes; d-- > 0; k /= p->block[d], b /= p->blocks[d]) {
        size_t i = b % p->blocks[d] * p->step[d] + k % p->block[d] * p->dilation[d];
        if (i < p->pad[d] || i - p->pad[d] >= p->image[d])
            return SIZE_MAX;
        at[d] = i - p->pad[d];
    }
    for (size_t d = 0; d < p->axes; d++)
        to = to * p->image[d] + at[d];
    return to;
}

/* Adds blocks to the image, or with dx the image's gradient to the blocks. */
static void tile_sweep(const sis__step *s, sis__run *r, float *dx) {
    const tiles *p = (const tiles *)s->p.own;
    const sis__tensor *x = sis__tin(s, r, 0);
    size_t size = x->dims[1] / p->channels, plane = 1;
    for (size_t d = 0; d < p->axes; d++)
        plane *= p->image[d];
    for (size_t i = 0; i < x->count; i++) {
        size_t row = i / x->dims[2], to = tile_place(p, row % size, i % x->dims[2]);
        if (to == SIZE_MAX)
            continue;
        if (dx)
            dx[i] += sis__dout(s, r, 0)[row / size * plane + to];
        else
            sis__out(s, r, 0)[row / size * plane + to] += sis__in(s, r, 0)[i];
    }
}

static int col2im_forward(const sis__step *s, sis__run *r) {
    memset(sis__out(s, r, 0), 0, sis__tout(s, r, 0)->count * sizeof(float));
    tile_sweep(s, r, NULL);
    return SIS_OK;
}

static int col2im_backward(const sis__step *s, sis__run *r) {
    if (sis__din(s, r, 0))
        tile_sweep(s, r, sis__din(s, r, 0));
    return SIS_OK;
}

const sis__op sis__op_col2im = {3, 3, col2im_shape, col2im_forward, col2im_backward, 0, SIS__MIXES};
