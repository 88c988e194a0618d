/* SPDX-License-Identifier: MIT
 *
 * Operators that sort and select: TopK, and those whose number of results depends on the values
 * (NonZero, Unique, NonMaxSuppression), which run where the values are known when the plan is made.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

/* ---- TopK ------------------------------------------------------------------------------------ */

typedef struct {
    sis__axis axis;
    size_t k;
    int smallest;
} top;

/* A value and its place as one number that is the larger the earlier it is to be taken: of equal values
 * the first, NaN last. */
typedef unsigned __int128 ranked;

static ranked rank_at(uint64_t rank, size_t at) {
    return (ranked)rank << 64 | (SIZE_MAX - at);
}

static ranked rank_of(double v, size_t at) {
    uint64_t bits;
    v += 0.0; /* -0 is 0 */
    memcpy(&bits, &v, sizeof bits);
    return rank_at(isnan(v) ? 0 : bits >> 63 ? ~bits : bits | (uint64_t)1 << 63, at);
}

static ranked rank_in(const sis__tensor *t, const void *x, size_t from, int smallest, size_t at) {
    if (t->dtype == SIS__I64) {
        uint64_t rank = sis__whole_rank(t->elem, ((const int64_t *)x)[from]);
        return rank_at(smallest ? ~rank : rank, at);
    }
    double v = sis__number_at(t, x, from);
    return rank_of(smallest ? -v : v, at);
}

/* A heap: the first of all lies in front, and none goes before the one above it. */
static void sift_down(ranked *list, size_t n, size_t i) {
    ranked moved = list[i];
    for (size_t below; (below = 2 * i + 1) < n; i = below) {
        below += below + 1 < n && list[below + 1] > list[below];
        if (list[below] < moved)
            break;
        list[i] = list[below];
    }
    list[i] = moved;
}

static void make_heap(ranked *list, size_t n) {
    for (size_t i = n / 2; i-- > 0;)
        sift_down(list, n, i);
}

/* Takes the first out of a heap of n > 0. */
static size_t take_first(ranked *list, size_t n) {
    size_t at = SIZE_MAX - (size_t)list[0];
    list[0] = list[n - 1];
    if (n > 1)
        sift_down(list, n - 1, 0);
    return at;
}

static int top_k_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    top *p = (top *)sis__cx_own(c, sizeof *p);
    size_t n = 0, dims[SIS__MAX_RANK];
    size_t axis = sis__cx_axis(c, sis__attr_int(c, "axis", -1), x->rank);
    int smallest = sis__attr_int(c, "largest", 1) == 0;
    sis__attr_find(c, "sorted");           /* they are */
    int64_t k = sis__attr_int(c, "k", -1); /* before opset 10 */
    const int64_t *given = sis__cx_input(c, 1) ? sis__cx_ints(c, 1, &n) : NULL;
    k = n == 1 ? given[0] : k;
    if (k < 0 || x->dtype > SIS__I64 || x->rank == 0 || (uint64_t)k > x->dims[axis])
        sis__cx_fail(c, SIS_E_FORMAT, "the %lld largest of an axis", (long long)k);
    if (c->error)
        return c->error;
    sis__axis_around(x, axis, &p->axis);
    p->k = (size_t)k;
    p->smallest = smallest;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = p->k;
    c->step->scratch = p->axis.size * sizeof(ranked) + 64;
    c->step->flops = 20.0 * (double)x->count;
    sis__cx_output(c, 0, x->dtype, x->rank, dims);
    sis__cx_output(c, 1, SIS__I64, x->rank, dims);
    sis__cx_elem(c, 1, SIS__INT64);
    return c->error;
}

static int top_k_forward(const sis__step *s, sis__run *r) {
    const top *p = (const top *)s->p.own;
    const sis__tensor *t = sis__tin(s, r, 0);
    ranked *list = (ranked *)(void *)r->scratch;
    size_t size = sis__dtype_size(t->dtype);
    for (size_t o = 0; o < p->axis.outer; o++)
        for (size_t in = 0; in < p->axis.inner; in++) {
            for (size_t i = 0; i < p->axis.size; i++) {
                size_t at = (o * p->axis.size + i) * p->axis.inner + in;
                list[i] = rank_in(t, sis__in(s, r, 0), at, p->smallest, i);
            }
            make_heap(list, p->axis.size);
            for (size_t i = 0; i < p->k; i++) {
                size_t best = take_first(list, p->axis.size - i);
                size_t to = (o * p->k + i) * p->axis.inner + in;
                size_t from = (o * p->axis.size + best) * p->axis.inner + in;
                if (sis__out(s, r, 0))
                    memcpy((char *)sis__out(s, r, 0) + to * size,
                           (const char *)sis__in(s, r, 0) + from * size, size);
                if (sis__out(s, r, 1))
                    ((int64_t *)(void *)sis__out(s, r, 1))[to] = (int64_t)best;
            }
        }
    return SIS_OK;
}

const sis__op sis__op_top_k = {1, 2, top_k_shape, top_k_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- Results that are known when the plan is made -------------------------------------------- */

/* Is input i constant? If not, that is the error. */
static int is_known(sis__cx *c, size_t i) {
    const sis__tensor *t = sis__cx_input(c, i);
    if (t && !t->data)
        sis__cx_fail(c, SIS_E_UNSUPPORTED,
                     "input %zu must be constant, but it depends on the network's input", i);
    return !c->error && t;
}

/* Output i is (rank, dims) int64, to be filled at what is returned. */
static int64_t *known_ints(sis__cx *c, size_t i, size_t rank, const size_t *dims) {
    size_t n = 1;
    for (size_t d = 0; d < rank; d++)
        n *= dims[d];
    int64_t *data = (int64_t *)sis__cx_alloc(c, n ? n : 1, sizeof *data);
    sis__cx_output(c, i, SIS__I64, rank, dims);
    sis__cx_elem(c, i, SIS__INT64);
    sis__cx_known(c, i, data);
    return data;
}

static int never_run(const sis__step *s, sis__run *r) {
    (void)s, (void)r;
    return SIS_OK;
}

/* (rank, how many): one index of each value that is not zero a row */
static int non_zero_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    size_t n = 0, at = 0, stride[SIS__MAX_RANK];
    if (!is_known(c, 0))
        return c->error;
    for (size_t i = 0; i < x->count; i++)
        n += sis__number_at(x, x->data, i) != 0;
    int64_t *y = known_ints(c, 0, 2, (size_t[]){x->rank, n});
    sis__strides_of(x, stride);
    for (size_t i = 0; y && i < x->count; i++) {
        if (sis__number_at(x, x->data, i) == 0)
            continue;
        for (size_t d = 0; d < x->rank; d++)
            y[d * n + at] = (int64_t)(i / stride[d] % x->dims[d]);
        at++;
    }
    return c->error;
}

const sis__op sis__op_non_zero = {1, 1, non_zero_shape, never_run, NULL, 0, SIS__MIXES};

/* ---- Unique: of the slices along an axis, or of all values ----------------------------------- */

typedef struct {
    const sis__tensor *x;
    sis__axis axis;
    size_t *first, *inverse, *count; /* (size): of each kind; of each slice its kind */
    size_t n;
} kinds;

/* -1, 0 or 1; NaN is equal to nothing. */
static int compare_values(const sis__tensor *x, size_t i, size_t j) {
    if (x->dtype == SIS__I64) {
        const int64_t *whole = (const int64_t *)x->data;
        uint64_t v = sis__whole_rank(x->elem, whole[i]), w = sis__whole_rank(x->elem, whole[j]);
        return (v > w) - (v < w);
    }
    double v = sis__number_at(x, x->data, i), w = sis__number_at(x, x->data, j);
    return v == w ? 0 : v < w ? -1 : 1;
}

static int compare_slices(const kinds *k, size_t a, size_t b) {
    int order = 0;
    for (size_t o = 0; o < k->axis.outer; o++)
        for (size_t in = 0; in < k->axis.inner && !order; in++)
            order = compare_values(k->x, (o * k->axis.size + a) * k->axis.inner + in,
                                   (o * k->axis.size + b) * k->axis.inner + in);
    return order;
}

/* Kinds in the order they are met; each slice is compared with the kinds so far. */
static void find_kinds(kinds *k) {
    for (size_t i = 0; i < k->axis.size; i++) {
        size_t j = 0;
        while (j < k->n && compare_slices(k, k->first[j], i) != 0)
            j++;
        if (j == k->n) {
            k->first[k->n] = i;
            k->count[k->n++] = 0;
        }
        k->count[j]++;
        k->inverse[i] = j;
    }
}

/* Put kinds in rising order, by insertion, and renumber. */
static void sort_kinds(kinds *k, size_t *number) {
    for (size_t i = 0; i < k->n; i++)
        number[i] = i;
    for (size_t i = 1; i < k->n; i++)
        for (size_t j = i; j > 0 && compare_slices(k, k->first[j - 1], k->first[j]) > 0; j--) {
            size_t f = k->first[j], n = k->count[j], m = number[j];
            k->first[j] = k->first[j - 1];
            k->count[j] = k->count[j - 1];
            number[j] = number[j - 1];
            k->first[j - 1] = f;
            k->count[j - 1] = n;
            number[j - 1] = m;
        }
    for (size_t i = 0; i < k->axis.size; i++) {
        size_t j = 0;
        while (number[j] != k->inverse[i])
            j++;
        k->inverse[i] = j;
    }
}

static void copy_slices(sis__cx *c, const kinds *k, size_t rank, const size_t *dims) {
    size_t size = sis__dtype_size(k->x->dtype), at = 0;
    char *y = (char *)sis__cx_alloc(c, k->axis.outer * k->n * k->axis.inner + 1, size);
    sis__cx_output(c, 0, k->x->dtype, rank, dims);
    for (size_t o = 0; y && o < k->axis.outer; o++)
        for (size_t j = 0; j < k->n; j++)
            for (size_t in = 0; in < k->axis.inner; in++, at++)
                memcpy(y + at * size,
                       (const char *)k->x->data +
                           ((o * k->axis.size + k->first[j]) * k->axis.inner + in) * size,
                       size);
    sis__cx_known(c, 0, y);
}

static int unique_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    int flat = sis__attr_find(c, "axis") == NULL, sorted = sis__attr_int(c, "sorted", 1) != 0;
    size_t axis = flat ? 0 : sis__cx_axis(c, sis__attr_int(c, "axis", 0), x->rank);
    kinds k = {.x = x, .axis = {.outer = 1, .size = x->count, .inner = 1}};
    size_t dims[SIS__MAX_RANK];
    if (!is_known(c, 0))
        return c->error;
    if (!flat)
        sis__axis_around(x, axis, &k.axis);
    if ((double)k.axis.size * (double)(x->count + 1) > 1e9)
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "%zu slices to compare", k.axis.size);
    size_t *memory = (size_t *)sis__cx_alloc(c, 4 * k.axis.size + 1, sizeof *memory);
    if (!memory)
        return c->error;
    k.first = memory;
    k.inverse = memory + k.axis.size;
    k.count = memory + 2 * k.axis.size;
    find_kinds(&k);
    if (sorted)
        sort_kinds(&k, memory + 3 * k.axis.size);
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = k.n;
    copy_slices(c, &k, flat ? 1 : x->rank, dims);
    const size_t *lists[3] = {k.first, k.inverse, k.count};
    for (size_t i = 0; i < 3; i++) {
        size_t n = i == 1 ? k.axis.size : k.n;
        int64_t *to = known_ints(c, i + 1, 1, &n);
        for (size_t j = 0; to && j < n; j++)
            to[j] = (int64_t)lists[i][j];
    }
    return c->error;
}

const sis__op sis__op_unique = {1, 1, unique_shape, never_run, NULL, 0, SIS__MIXES};

/* ---- NonMaxSuppression: boxes (n, boxes, 4), scores (n, classes, boxes) ---------------------- */

typedef struct {
    const float *boxes, *scores;
    size_t n_boxes, most;
    float overlap, least;
    int centred;
} suppression;

/* Corners with the smaller numbers first, and the area. */
typedef struct {
    double low[2], high[2], area;
} corners;

static corners corners_of(const suppression *p, size_t i) {
    const float *b = p->boxes + 4 * i;
    corners c;
    for (size_t a = 0; a < 2; a++) {
        double half = 0.5 * (double)b[2 + a];
        double one = p->centred ? b[a] - half : (double)b[a];
        double two = p->centred ? b[a] + half : (double)b[2 + a];
        c.low[a] = one < two ? one : two;
        c.high[a] = one < two ? two : one;
    }
    c.area = (c.high[0] - c.low[0]) * (c.high[1] - c.low[1]);
    return c;
}

/* Do two boxes share more than their share allows? */
static int overlaps(const suppression *p, const corners *a, const corners *b) {
    double side[2];
    for (size_t k = 0; k < 2; k++) {
        double low = a->low[k] > b->low[k] ? a->low[k] : b->low[k];
        double high = a->high[k] < b->high[k] ? a->high[k] : b->high[k];
        side[k] = high - low;
        if (!(side[k] > 0))
            return 0;
    }
    double both = side[0] * side[1], all = a->area + b->area - both;
    return both > 0 && all > 0 && both / all > (double)p->overlap;
}

typedef struct {
    size_t at;
    corners box;
} kept_box;

/* Boxes of one class that stay, best first; returns how many. */
static size_t suppress(const suppression *p, ranked *list, kept_box *kept) {
    size_t n = 0, stay = 0;
    for (size_t i = 0; i < p->n_boxes; i++)
        if (p->scores[i] > p->least)
            list[n++] = rank_of((double)p->scores[i], i);
    make_heap(list, n);
    for (; n && stay < p->most; n--) {
        kept_box next = {.at = take_first(list, n)};
        size_t k = 0;
        next.box = corners_of(p, next.at);
        while (k < stay && !overlaps(p, &kept[k].box, &next.box))
            k++;
        if (k == stay)
            kept[stay++] = next;
    }
    return stay;
}

static double number_of(sis__cx *c, size_t i, double missing) {
    const sis__tensor *t = sis__cx_input(c, i);
    return t && t->count && is_known(c, i) ? sis__number_at(t, t->data, 0) : missing;
}

static void keep_boxes(sis__cx *c, suppression *p, size_t n, size_t classes) {
    ranked *list = SIS_NEW_RAW(ranked, p->n_boxes);
    kept_box *kept = SIS_NEW_RAW(kept_box, p->n_boxes);
    size_t rows = 0, cap = n * classes * (p->most < p->n_boxes ? p->most : p->n_boxes);
    const float *boxes = p->boxes, *scores = p->scores;
    int64_t *found = SIS_NEW_RAW(int64_t, 3 * cap);
    if (!list || !kept || !found)
        c->error = SIS_E_NOMEM;
    for (size_t i = 0; !c->error && i < n * classes; i++) {
        p->boxes = boxes + i / classes * p->n_boxes * 4;
        p->scores = scores + i * p->n_boxes;
        size_t stay = suppress(p, list, kept);
        for (size_t k = 0; k < stay; k++, rows++) {
            found[3 * rows] = (int64_t)(i / classes);
            found[3 * rows + 1] = (int64_t)(i % classes);
            found[3 * rows + 2] = (int64_t)kept[k].at;
        }
    }
    int64_t *y = known_ints(c, 0, 2, (size_t[]){rows, 3});
    if (y && rows)
        memcpy(y, found, 3 * rows * sizeof *y);
    free(list);
    free(kept);
    free(found);
}

static int non_max_suppression_shape(sis__cx *c) {
    const sis__tensor *b = sis__cx_input(c, 0), *s = sis__cx_input(c, 1);
    suppression p = {.centred = sis__attr_int(c, "center_point_box", 0) != 0};
    double most = number_of(c, 2, 0), overlap = number_of(c, 3, 0);
    double least = number_of(c, 4, -(double)INFINITY);
    if (b->rank != 3 || s->rank != 3 || b->dims[2] != 4 || b->dtype != SIS__F32 ||
        s->dtype != SIS__F32 || b->dims[0] != s->dims[0] || b->dims[1] != s->dims[2])
        sis__cx_fail(c, SIS_E_FORMAT, "boxes and scores that do not fit");
    if (!is_known(c, 0) || !is_known(c, 1))
        return c->error;
    p.boxes = (const float *)b->data;
    p.scores = (const float *)s->data;
    p.n_boxes = b->dims[1];
    p.most = most > (double)p.n_boxes ? p.n_boxes : most > 0 ? (size_t)most : 0; /* all: 2^63 - 1 */
    size_t kept = p.most < p.n_boxes ? p.most : p.n_boxes;
    if ((double)s->count * (double)(kept + 1) > 1e10)
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "%zu boxes to compare", p.n_boxes);
    p.overlap = (float)overlap;
    p.least = (float)least;
    keep_boxes(c, &p, s->dims[0], s->dims[1]);
    return c->error;
}

const sis__op sis__op_non_max_suppression = {
    2, 5, non_max_suppression_shape, never_run, NULL, 0, SIS__MIXES};
