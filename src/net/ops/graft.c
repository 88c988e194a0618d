/* SPDX-License-Identifier: MIT
 *
 * Operators that compute the inputs of a network with several inputs, so that the engine sees only
 * one: an input is a part of each row, or follows from its tokens (attention mask, positions,
 * length). They do not occur in ONNX files; net/onnx/graft.h inserts them.
 */
#include <string.h>

#include "base/error.h"
#include "net/onnx/graft.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

static const sis__graft *graft_of(sis__shape_ctx *c) {
    if (!c->node->graft)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "an internal operator");
    return c->node->graft;
}

/* ---- A part of a row ------------------------------------------------------------------------- */

typedef struct {
    size_t offset, rows, width, n; /* n values, from `offset` on, of each of `rows` rows of
                                    * `width` */
} part;

static int part_shape(sis__shape_ctx *c) {
    const sis__graft *g = graft_of(c);
    const sis__tensor *x = sis__ctx_input(c, 0);
    part *p = (part *)sis__ctx_own(c, sizeof *p);
    size_t dims[SIS__MAX_RANK], n = 1;
    if (c->error)
        return c->error;
    const sis__value *v = &c->plan->graph->values[g->to];
    for (size_t d = 0; d < v->rank; d++) {
        dims[d] = v->dims[d] < 0 ? 1 : (size_t)v->dims[d];
        n *= dims[d];
    }
    size_t width = x->rank ? x->dims[x->rank - 1] : 1;
    *p = (part){g->offset, width ? x->count / width : 0, width, n};
    if (g->counted)
        dims[0] = p->rows;
    if (g->offset > width || n > width - g->offset)
        return sis__ctx_fail(c, SIS_E_ARGUMENT, "a row of %zu values", width);
    sis__ctx_output(c, 0, v->dtype, v->rank, dims);
    sis__ctx_elem(c, 0, v->elem_type);
    return c->error;
}

static void put_value(const sis__tensor *t, void *y, size_t i, float v) {
    if (t->dtype == SIS__F32)
        ((float *)y)[i] = v;
    else if (t->dtype == SIS__BOOL)
        ((uint8_t *)y)[i] = v != 0;
    else
        ((int64_t *)y)[i] = sis__elem_whole(t->elem, v);
}

static int part_forward(const sis__step *s, sis__run *r) {
    const part *p = (const part *)s->p.own;
    for (size_t i = 0; i < p->rows; i++)
        for (size_t k = 0; k < p->n; k++)
            put_value(sis__tout(s, r, 0), sis__out(s, r, 0), i * p->n + k,
                      sis__in(s, r, 0)[i * p->width + p->offset + k]);
    return SIS_OK;
}

static int part_backward(const sis__step *s, sis__run *r) {
    const part *p = (const part *)s->p.own;
    for (size_t i = 0; sis__din(s, r, 0) && sis__dout(s, r, 0) && i < p->rows; i++)
        for (size_t k = 0; k < p->n; k++)
            sis__din(s, r, 0)[i * p->width + p->offset + k] += sis__dout(s, r, 0)[i * p->n + k];
    return SIS_OK;
}

const sis__op sis__op_part = {1, 1, part_shape, part_forward, part_backward, .trait = SIS__MIXES};

/* ---- Inputs derived from tokens -------------------------------------------------------------- */

/* x (rows, length) ids or (rows, length, dim) embeddings */
static int follow_shape(sis__shape_ctx *c) {
    const sis__graft *g = graft_of(c);
    const sis__tensor *x = sis__ctx_input(c, 0);
    if (c->error)
        return c->error;
    const sis__value *v = &c->plan->graph->values[g->to];
    size_t rank = x->rank - (g->embedded ? 1 : 0);
    if (x->rank <= (g->embedded ? 1u : 0u) ||
        v->rank != (g->kind == SIS__GRAFT_LENGTHS ? rank - 1 : rank))
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "tokens of %zu axes for an input of %zu", rank,
                             v->rank);
    int64_t low, high, length = (int64_t)x->dims[rank - 1];
    sis__elem_range(v->elem_type, &low, &high);
    if ((g->kind == SIS__GRAFT_POSITIONS && length - 1 > high) ||
        (g->kind == SIS__GRAFT_LENGTHS && length > high))
        return sis__ctx_fail(c, SIS_E_ARGUMENT,
                             "input %s takes %s, too small a type for %lld tokens", v->name,
                             sis__elem_name(v->elem_type), (long long)length);
    sis__ctx_output(c, 0, v->dtype, v->rank, x->dims);
    sis__ctx_elem(c, 0, v->elem_type);
    return c->error;
}

static int is_present(const sis__graft *g, const void *x, size_t i) {
    if (!g->embedded)
        return ((const int64_t *)x)[i] != g->pad_id;
    return !g->pad || memcmp((const float *)x + i * g->dim, g->pad, g->dim * sizeof(float)) != 0;
}

static int follow_forward(const sis__step *s, sis__run *r) {
    const sis__graft *g = r->plan->graph->nodes[s->node].graft;
    const sis__tensor *t = sis__tin(s, r, 0), *y = sis__tout(s, r, 0);
    size_t length = t->dims[t->rank - (g->embedded ? 2 : 1)];
    for (size_t i = 0; i < y->count; i++) {
        size_t n = g->kind == SIS__GRAFT_LENGTHS ? length : 0, present = 0;
        for (size_t k = 0; k < n; k++)
            present += (size_t)is_present(g, sis__in(s, r, 0), i * length + k);
        float v = g->kind == SIS__GRAFT_PRESENT     ? (float)is_present(g, sis__in(s, r, 0), i)
                  : g->kind == SIS__GRAFT_POSITIONS ? (float)(i % length)
                  : g->kind == SIS__GRAFT_LENGTHS   ? (float)present
                                                    : 0.0f;
        put_value(y, sis__out(s, r, 0), i, v);
    }
    return SIS_OK;
}

/* Whether each token is present, or no dependency at all. */
static int follow_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                         sis__source *from) {
    const sis__tensor *x = &p->tensors[s->inputs[in]], *y = &p->tensors[s->outputs[out]];
    if (s->op != SIS__OP_PRESENT || y->count == 0)
        return sis__source_all(from, y->count, 0);
    size_t each = x->count / y->count;
    sis__source_digit(from, y->count, (ptrdiff_t)each);
    from->over[from->n_over++] = (sis__digit){each, 1};
    return 1;
}

const sis__op sis__op_present = {1, 1, follow_shape, follow_forward, NULL, .source = follow_source};
const sis__op sis__op_zeros = {1, 1, follow_shape, follow_forward, NULL, .source = follow_source};
const sis__op sis__op_positions = {
    1, 1, follow_shape, follow_forward, NULL, .source = follow_source};
const sis__op sis__op_lengths = {1, 1, follow_shape, follow_forward, NULL, .trait = SIS__MIXES};
