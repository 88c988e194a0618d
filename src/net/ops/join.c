/* SPDX-License-Identifier: MIT
 *
 * Operators along one axis: Concat joins pieces, Split cuts into pieces, Gather (embeddings, for
 * example) and ArrayFeatureExtractor pick slices by index. All types.
 */
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

/* ---- Concat, Split: pieces of one axis ------------------------------------------------------- */

static int concat_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    size_t dims[SIS__MAX_RANK], at;
    int64_t axis = sis__attr_int(c, "axis", 1);
    at = sis__ctx_axis(c, axis, x->rank);
    if (c->error)
        return c->error;
    memcpy(dims, x->dims, sizeof dims);
    dims[at] = 0;
    for (size_t i = 0; i < c->step->n_inputs; i++) {
        const sis__tensor *t = sis__ctx_input(c, i);
        int fits = t && t->rank == x->rank && t->dtype == x->dtype;
        for (size_t d = 0; fits && d < x->rank; d++)
            fits = d == at || t->dims[d] == x->dims[d];
        if (!fits)
            return sis__ctx_fail(c, SIS_E_FORMAT, "input %zu does not fit the first", i);
        dims[at] += t->dims[at];
    }
    sis__axis_around(x, at, &c->step->p.axis);
    return sis__ctx_output(c, 0, x->dtype, x->rank, dims);
}

/* The pieces are the inputs of Concat and the outputs of Split. Call fn for each piece in each row of
 * the whole, with its position in values: in the piece, in the whole, and its length. */
typedef void (*piece_fn)(const sis__step *s, sis__run *r, size_t piece, const size_t *at);

static int each_piece(const sis__step *s, sis__run *r, piece_fn fn) {
    const sis__axis *a = &s->p.axis;
    int joins = s->op == SIS__OP_CONCAT;
    size_t whole = (joins ? sis__tout(s, r, 0)->dims[a->axis] : a->size) * a->inner, from = 0;
    for (size_t i = 0; i < (joins ? s->n_inputs : s->n_outputs); i++) {
        const sis__tensor *t = joins ? sis__tin(s, r, i) : sis__tout(s, r, i);
        size_t n = t->dims[a->axis] * a->inner;
        for (size_t o = 0; o < a->outer; o++)
            fn(s, r, i, (size_t[]){o * n, o * whole + from, n});
        from += n;
    }
    return SIS_OK;
}

static void join_piece(const sis__step *s, sis__run *r, size_t i, const size_t *at) {
    size_t size = sis__dtype_size(sis__tout(s, r, 0)->dtype);
    memcpy((char *)sis__out(s, r, 0) + at[1] * size, (const char *)sis__in(s, r, i) + at[0] * size,
           at[2] * size);
}

static void cut_piece(const sis__step *s, sis__run *r, size_t i, const size_t *at) {
    size_t size = sis__dtype_size(sis__tin(s, r, 0)->dtype);
    memcpy((char *)sis__out(s, r, i) + at[0] * size, (const char *)sis__in(s, r, 0) + at[1] * size,
           at[2] * size);
}

static void add_to_input(const sis__step *s, sis__run *r, size_t i, const size_t *at) {
    for (size_t k = 0; sis__din(s, r, i) && k < at[2]; k++)
        sis__din(s, r, i)[at[0] + k] += sis__dout(s, r, 0)[at[1] + k];
}

static void add_to_whole(const sis__step *s, sis__run *r, size_t i, const size_t *at) {
    for (size_t k = 0; sis__din(s, r, 0) && sis__dout(s, r, i) && k < at[2]; k++)
        sis__din(s, r, 0)[at[1] + k] += sis__dout(s, r, i)[at[0] + k];
}

static int concat_forward(const sis__step *s, sis__run *r) {
    return each_piece(s, r, join_piece);
}

static int concat_backward(const sis__step *s, sis__run *r) {
    return each_piece(s, r, add_to_input);
}

static int split_forward(const sis__step *s, sis__run *r) {
    return each_piece(s, r, cut_piece);
}

static int split_backward(const sis__step *s, sis__run *r) {
    return each_piece(s, r, add_to_whole);
}

static int concat_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                         sis__source *from) {
    const sis__axis *a = &s->p.axis;
    size_t part = p->tensors[s->inputs[in]].dims[a->axis] * a->inner;
    from->same = 1;
    from->part = 1;
    for (size_t i = 0; i < in; i++)
        from->low += p->tensors[s->inputs[i]].dims[a->axis] * a->inner;
    from->high = from->low + part;
    from->offset = -(ptrdiff_t)from->low;
    sis__source_digit(from, a->outer, (ptrdiff_t)part);
    sis__source_digit(from, p->tensors[s->outputs[out]].dims[a->axis] * a->inner, 1);
    return part > 0;
}

static int split_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    const int64_t *sizes = NULL;
    size_t n = 0, at, dims[SIS__MAX_RANK], pieces = c->step->n_outputs;
    int64_t axis = sis__attr_int(c, "axis", 0);
    sis__attr_find(c, "num_outputs");
    sizes = sis__attr_ints(c, "split", &n);
    if (sis__ctx_input(c, 1))
        sizes = sis__ctx_ints(c, 1, &n);
    at = sis__ctx_axis(c, axis, x->rank);
    if (c->error)
        return c->error;
    if ((sizes && n != pieces) || pieces == 0)
        return sis__ctx_fail(c, SIS_E_FORMAT, "%zu sizes for %zu outputs", n, pieces);
    size_t even = (x->dims[at] + pieces - 1) / pieces, used = 0;
    memcpy(dims, x->dims, sizeof dims);
    for (size_t i = 0; i < pieces; i++) {
        size_t left = x->dims[at] - used;
        if (sizes && (sizes[i] < 0 || (uint64_t)sizes[i] > left))
            return sis__ctx_fail(c, SIS_E_FORMAT, "pieces larger than the axis of %zu",
                                 x->dims[at]);
        dims[at] = sizes ? (size_t)sizes[i] : even < left ? even : left;
        used += dims[at];
        sis__ctx_output(c, i, x->dtype, x->rank, dims);
    }
    if (used != x->dims[at])
        return sis__ctx_fail(c, SIS_E_FORMAT, "pieces of %zu for an axis of %zu", used,
                             x->dims[at]);
    for (size_t i = 0; i < pieces; i++)
        if (c->step->outputs[i] < 0)
            return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "an output without a name");
    sis__axis_around(x, at, &c->step->p.axis);
    return c->error;
}

static int split_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                        sis__source *from) {
    const sis__axis *a = &s->p.axis;
    from->same = 1;
    for (size_t o = 0; o < out; o++)
        from->offset += (ptrdiff_t)(p->tensors[s->outputs[o]].dims[a->axis] * a->inner);
    sis__source_digit(from, a->outer, (ptrdiff_t)(a->size * a->inner));
    sis__source_digit(from, p->tensors[s->outputs[out]].dims[a->axis] * a->inner, 1);
    return in == 0;
}

/* ---- Gather: slices of x chosen by integers -------------------------------------------------- */

static int gather_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0), *i = sis__ctx_input(c, 1);
    size_t dims[2 * SIS__MAX_RANK], rank = 0, at;
    int64_t axis = sis__attr_int(c, "axis", 0);
    at = sis__ctx_axis(c, axis, x->rank);
    if (c->error)
        return c->error;
    if (i->dtype != SIS__I64)
        return sis__ctx_fail(c, SIS_E_FORMAT, "indices that are not integers");
    for (size_t d = 0; d < at; d++)
        dims[rank++] = x->dims[d];
    for (size_t d = 0; d < i->rank; d++)
        dims[rank++] = i->dims[d];
    for (size_t d = at + 1; d < x->rank; d++)
        dims[rank++] = x->dims[d];
    sis__axis_around(x, at, &c->step->p.axis);
    return sis__ctx_output(c, 0, x->dtype, rank, dims);
}

/* Columns by number, none of which may count from the end. A row stays a row, as in ONNX Runtime. */
static int extractor_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0), *i = sis__ctx_input(c, 1);
    size_t dims[SIS__MAX_RANK] = {1}, last = x->rank == 1 ? 1 : x->rank - 1;
    if (i->dtype != SIS__I64 || x->rank == 0 || i->count == 0)
        return sis__ctx_fail(c, SIS_E_FORMAT, "columns that are not integers");
    for (size_t k = 0; i->data && k < i->count; k++)
        if (((const int64_t *)i->data)[k] < 0)
            sis__ctx_fail(c, SIS_E_ARGUMENT, "column %lld",
                          (long long)((const int64_t *)i->data)[k]);
    sis__axis_around(x, x->rank - 1, &c->step->p.axis);
    memcpy(dims, x->dims, (x->rank - 1) * sizeof *dims);
    dims[last] = i->count;
    return sis__ctx_output(c, 0, x->dtype, last + 1, dims);
}

/* Index k counted from the front; SIZE_MAX: out of range. */
static size_t index_at(const sis__step *s, const sis__run *r, size_t k) {
    return sis__index_in(((const int64_t *)(const void *)sis__in(s, r, 1))[k], s->p.axis.size);
}

static int gather_forward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &s->p.axis;
    size_t n = sis__tin(s, r, 1)->count,
           slice = a->inner * sis__dtype_size(sis__tin(s, r, 0)->dtype);
    const char *x = (const char *)sis__in(s, r, 0);
    char *y = (char *)sis__out(s, r, 0);
    for (size_t k = 0; k < n; k++) {
        size_t i = index_at(s, r, k);
        if (i == SIZE_MAX)
            return sis__fail(SIS_E_ARGUMENT, "index %lld into an axis of %zu",
                             (long long)((const int64_t *)(const void *)sis__in(s, r, 1))[k],
                             a->size);
        for (size_t o = 0; o < a->outer; o++)
            memcpy(y + (o * n + k) * slice, x + (o * a->size + i) * slice, slice);
    }
    return SIS_OK;
}

static int gather_backward(const sis__step *s, sis__run *r) {
    const sis__axis *a = &s->p.axis;
    size_t n = sis__tin(s, r, 1)->count;
    const float *dy = sis__dout(s, r, 0);
    float *dx = sis__din(s, r, 0);
    for (size_t o = 0; dx && o < a->outer; o++)
        for (size_t k = 0; k < n; k++) {
            size_t i = index_at(s, r, k);
            for (size_t j = 0; j < a->inner; j++)
                dx[(o * a->size + i) * a->inner + j] += dy[(o * n + k) * a->inner + j];
        }
    return SIS_OK;
}

#define ALONG_AXIS(name, min, max, shape, forward, backward, how, from)                            \
    const sis__op sis__op_##name = {min,      max,          shape,         forward,                \
                                    backward, .trait = how, .source = from};
ALONG_AXIS(concat, 1, SIZE_MAX, concat_shape, concat_forward, concat_backward, SIS__MIXES_TEXTS,
           concat_source)
ALONG_AXIS(split, 1, 2, split_shape, split_forward, split_backward, SIS__MIXES_TEXTS, split_source)
ALONG_AXIS(gather, 2, 2, gather_shape, gather_forward, gather_backward, SIS__MOVES,
           sis__picked_source)
ALONG_AXIS(array_feature_extractor, 2, 2, extractor_shape, gather_forward, gather_backward,
           SIS__MOVES, sis__picked_source)
#undef ALONG_AXIS
