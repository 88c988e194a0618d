/* SPDX-License-Identifier: MIT
 *
 * Operators that select or set single values by indices, which may depend on the input:
 * GatherElements, GatherND, OneHot. All types.
 */
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

typedef struct {
    sis__axis axis;              /* not for GatherND */
    size_t tuples, width, slice; /* number and length of index tuples, values per tuple */
    size_t lead, batches;        /* GatherND: number of shared leading axes, and of their slices */
} picks;

static const int64_t *indices(const sis__step *s, const sis__run *r) {
    return (const int64_t *)(const void *)sis__in(s, r, 1);
}

static void need_indices(sis__shape_ctx *c) {
    if (sis__ctx_input(c, 1)->dtype != SIS__I64)
        sis__ctx_fail(c, SIS_E_FORMAT, "indices that are not integers");
}

/* Copy the slice of x that each tuple of indices selects. at: its number, or SIZE_MAX. */
static int pick_forward(const sis__step *s, sis__run *r,
                        size_t (*at)(const sis__step *, const sis__run *, size_t)) {
    const picks *p = (const picks *)s->p.own;
    size_t bytes = p->slice * sis__dtype_size(sis__tin(s, r, 0)->dtype);
    for (size_t k = 0; k < p->tuples; k++) {
        size_t from = at(s, r, k);
        if (from == SIZE_MAX)
            return sis__fail(SIS_E_ARGUMENT, "an index outside of its axis");
        memcpy((char *)sis__out(s, r, 0) + k * bytes, (const char *)sis__in(s, r, 0) + from * bytes,
               bytes);
    }
    return SIS_OK;
}

static int pick_backward(const sis__step *s, sis__run *r,
                         size_t (*at)(const sis__step *, const sis__run *, size_t)) {
    const picks *p = (const picks *)s->p.own;
    for (size_t k = 0; sis__din(s, r, 0) && k < p->tuples; k++) {
        float *to = sis__din(s, r, 0) + at(s, r, k) * p->slice;
        for (size_t i = 0; i < p->slice; i++)
            to[i] += sis__dout(s, r, 0)[k * p->slice + i];
    }
    return SIS_OK;
}

/* ---- GatherElements: an index for each value ------------------------------------------------- */

static int elements_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0), *i = sis__ctx_input(c, 1);
    picks *p = (picks *)sis__ctx_own(c, sizeof *p);
    size_t axis = sis__ctx_axis(c, sis__attr_int(c, "axis", 0), x->rank);
    need_indices(c);
    if (i->rank != x->rank)
        sis__ctx_fail(c, SIS_E_FORMAT, "inputs that do not fit each other");
    for (size_t d = 0; !c->error && d < x->rank; d++)
        if (i->dims[d] > x->dims[d] && d != axis)
            sis__ctx_fail(c, SIS_E_FORMAT, "more indices than values along axis %zu", d);
    if (c->error)
        return c->error;
    sis__axis_around(x, axis, &p->axis);
    p->tuples = i->count;
    p->slice = 1;
    return sis__ctx_output(c, 0, x->dtype, i->rank, i->dims);
}

/* The offset in x that index number k selects; SIZE_MAX: out of range. */
static size_t element_at(const sis__step *s, const sis__run *r, size_t k) {
    const sis__tensor *x = sis__tin(s, r, 0), *t = sis__tin(s, r, 1);
    size_t axis = ((const picks *)s->p.own)->axis.axis, at = 0, stride = 1, rest = k;
    for (size_t d = x->rank; d-- > 0;) {
        size_t i = rest % t->dims[d];
        rest /= t->dims[d];
        if (d == axis && (i = sis__index_in(indices(s, r)[k], x->dims[d])) == SIZE_MAX)
            return SIZE_MAX;
        at += i * stride;
        stride *= x->dims[d];
    }
    return at;
}

static int gather_elements_forward(const sis__step *s, sis__run *r) {
    return pick_forward(s, r, element_at);
}

static int gather_elements_backward(const sis__step *s, sis__run *r) {
    return pick_backward(s, r, element_at);
}

const sis__op sis__op_gather_elements = {2,
                                         2,
                                         elements_shape,
                                         gather_elements_forward,
                                         gather_elements_backward,
                                         .trait = SIS__MIXES_TEXTS};

/* ---- GatherND: an index tuple for each slice ------------------------------------------------- */

static int nd_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0), *i = sis__ctx_input(c, 1);
    picks *p = (picks *)sis__ctx_own(c, sizeof *p);
    int64_t batch = sis__attr_int(c, "batch_dims", 0);
    size_t width = i->rank ? i->dims[i->rank - 1] : 0, b = (size_t)batch;
    size_t dims[2 * SIS__MAX_RANK], rank = 0;
    need_indices(c);
    if (batch < 0 || i->rank == 0 || b >= i->rank || b + width > x->rank)
        sis__ctx_fail(c, SIS_E_FORMAT, "tuples of %zu indices for %zu axes", width, x->rank);
    if (c->error)
        return c->error;
    *p = (picks){.width = width, .slice = 1, .lead = b, .batches = 1, .tuples = 1};
    for (size_t d = 0; d < b; d++)
        p->batches *= x->dims[d];
    for (size_t d = b + width; d < x->rank; d++)
        p->slice *= x->dims[d];
    for (size_t d = 0; d + 1 < i->rank; d++)
        p->tuples *= dims[rank++] = i->dims[d];
    for (size_t d = b + width; d < x->rank; d++)
        dims[rank++] = x->dims[d];
    if (p->batches ? p->tuples % p->batches != 0 : p->tuples != 0)
        return sis__ctx_fail(c, SIS_E_FORMAT, "indices that do not fit the leading axes");
    return sis__ctx_output(c, 0, x->dtype, rank, dims);
}

/* The slice of x that tuple k selects; SIZE_MAX: out of range. */
static size_t slice_at(const sis__step *s, const sis__run *r, size_t k) {
    const picks *p = (const picks *)s->p.own;
    const sis__tensor *x = sis__tin(s, r, 0);
    const int64_t *tuple = indices(s, r) + k * p->width;
    size_t at = k / (p->tuples / p->batches);
    for (size_t j = 0; j < p->width; j++) {
        size_t i = sis__index_in(tuple[j], x->dims[p->lead + j]);
        if (i == SIZE_MAX)
            return SIZE_MAX;
        at = at * x->dims[p->lead + j] + i;
    }
    return at;
}

static int gather_nd_forward(const sis__step *s, sis__run *r) {
    return pick_forward(s, r, slice_at);
}

static int gather_nd_backward(const sis__step *s, sis__run *r) {
    return pick_backward(s, r, slice_at);
}

const sis__op sis__op_gather_nd = {
    2, 2, nd_shape, gather_nd_forward, gather_nd_backward, .trait = SIS__MIXES_TEXTS};

/* ---- OneHot: indices, depth, (off, on) ------------------------------------------------------- */

static int one_hot_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0), *d = sis__ctx_input(c, 1),
                      *v = sis__ctx_input(c, 2);
    picks *p = (picks *)sis__ctx_own(c, sizeof *p);
    size_t dims[SIS__MAX_RANK + 1];
    size_t axis = sis__ctx_axis(c, sis__attr_int(c, "axis", -1), x->rank + 1);
    if (d->count != 1 || v->count != 2 || d->dtype > SIS__I64 || x->dtype > SIS__I64)
        sis__ctx_fail(c, SIS_E_FORMAT, "a depth or values of the wrong size");
    else if (!d->data)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "the depth must be constant");
    if (c->error)
        return c->error;
    double depth = sis__number_at(d, d->data, 0);
    if (!(depth >= 1 && depth <= INT32_MAX))
        return sis__ctx_fail(c, SIS_E_FORMAT, "a depth of %g", depth);
    for (size_t k = 0, from = 0; k <= x->rank; k++)
        dims[k] = k == axis ? (size_t)depth : x->dims[from++];
    p->axis = (sis__axis){.axis = axis, .outer = 1, .size = (size_t)depth, .inner = 1};
    for (size_t k = 0; k < x->rank; k++)
        *(k < axis ? &p->axis.outer : &p->axis.inner) *= x->dims[k];
    sis__ctx_output(c, 0, v->dtype, x->rank + 1, dims);
    sis__ctx_elem(c, 0, v->elem);
    return c->error;
}

static int one_hot_forward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &((const picks *)s->p.own)->axis;
    const sis__tensor *x = sis__tin(s, r, 0);
    size_t size = sis__dtype_size(sis__tin(s, r, 2)->dtype);
    const char *values = (const char *)sis__in(s, r, 2);
    char *y = (char *)sis__out(s, r, 0);
    size_t bytes = a->outer * a->size * a->inner * size;
    for (size_t done = 0, n; done < bytes;
         done += n) { /* fill with the off value, doubling the filled part */
        n = done == 0 ? size : done < bytes - done ? done : bytes - done;
        memcpy(y + done, done ? y : values, n);
    }
    for (size_t o = 0; o < a->outer; o++)
        for (size_t in = 0; in < a->inner; in++) {
            double at = sis__number_at(x, sis__in(s, r, 0), o * a->inner + in);
            size_t on = sis__index_in(
                at >= -9e15 && at <= 9e15 ? (int64_t)at : -1 - (int64_t)a->size, a->size);
            if (on < a->size)
                memcpy(y + ((o * a->size + on) * a->inner + in) * size, values + size, size);
        }
    return SIS_OK;
}

const sis__op sis__op_one_hot = {3, 3, one_hot_shape, one_hot_forward, NULL, .trait = SIS__MIXES};
