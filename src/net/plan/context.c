/* SPDX-License-Identifier: MIT
 *
 * Functions for the shape functions of operators: inputs, outputs, constants, failures, packing,
 * attributes. Each attribute that is read is marked, so that an attribute that no shape function
 * reads is refused instead of ignored.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "net/kernels/kernels.h"
#include "net/onnx/proto.h"
#include "net/plan/cache.h"
#include "net/plan/context.h"

const char *sis__node_name(const sis__node *n) {
    return n->proto->name && *n->proto->name ? n->proto->name : "(unnamed)";
}

int sis__ctx_fail(sis__shape_ctx *c, int code, const char *format, ...) {
    char text[512];
    if (c->error)
        return c->error;
    va_list args;
    va_start(args, format);
    sis__vformat(text, sizeof text, format, args);
    va_end(args);
    c->error = sis__fail(code, "operator %s (node %s): %s", c->node->proto->op_type,
                         sis__node_name(c->node), text);
    return c->error;
}

const sis__tensor *sis__ctx_input(const sis__shape_ctx *c, size_t i) {
    return i < c->step->n_inputs && c->step->inputs[i] >= 0 ? &c->plan->tensors[c->step->inputs[i]]
                                                            : NULL;
}

int sis__ctx_has_output(const sis__shape_ctx *c, size_t i) {
    return i < c->step->n_outputs && c->step->outputs[i] >= 0;
}

/* The type of the first input with the same dtype, else the default type. */
static int elem_like(const sis__shape_ctx *c, sis__dtype dtype) {
    static const int usual[] = {SIS__FLOAT, SIS__INT64, 9, SIS__STRING, 0};
    for (size_t i = 0; i < c->node->n_inputs; i++)
        if (sis__ctx_input(c, i) && sis__ctx_input(c, i)->dtype == dtype)
            return sis__ctx_input(c, i)->elem;
    return usual[dtype];
}

void sis__ctx_elem(sis__shape_ctx *c, size_t i, int elem) {
    if (!c->error && sis__ctx_has_output(c, i))
        c->plan->tensors[c->step->outputs[i]].elem = elem;
}

int sis__ctx_output(sis__shape_ctx *c, size_t i, sis__dtype dtype, size_t rank,
                    const size_t *dims) {
    if (c->error || !sis__ctx_has_output(c, i))
        return c->error;
    sis__tensor *t = &c->plan->tensors[c->step->outputs[i]];
    if (t->fed) /* the plan starts after this node */
        return SIS_OK;
    if (rank > SIS__MAX_RANK)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a result of %zu axes; at most %d are supported",
                             rank, SIS__MAX_RANK);
    t->dtype = dtype;
    t->elem = elem_like(c, dtype);
    t->rank = rank;
    t->count = 1;
    for (size_t d = 0; d < rank; d++) {
        if (dims[d] && t->count > SIS__MAX_COUNT / dims[d])
            return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a result of more than 2^31 values");
        t->dims[d] = dims[d];
        t->count *= dims[d];
    }
    t->known = 1;
    return SIS_OK;
}

void sis__ctx_alias(sis__shape_ctx *c) {
    const sis__tensor *in = &c->plan->tensors[c->step->inputs[0]];
    if (sis__ctx_has_output(c, 0)) /* points to the owner of the memory, so chains of views stay
                                   * short */
        c->plan->tensors[c->step->outputs[0]].alias =
            in->alias >= 0 ? in->alias : c->step->inputs[0];
}

void sis__ctx_known(sis__shape_ctx *c, size_t i, const void *data) {
    if (sis__ctx_has_output(c, i))
        c->plan->tensors[c->step->outputs[i]].data = data;
}

void *sis__ctx_alloc(sis__shape_ctx *c, size_t n, size_t size) {
    void *memory = c->error ? NULL : sis__arena_own(&c->plan->memory, sis__alloc(n, size));
    c->error = c->error ? c->error : sis__arena_error(&c->plan->memory);
    return memory;
}

void *sis__ctx_own(sis__shape_ctx *c, size_t size) {
    return c->step->p.own = sis__ctx_alloc(c, 1, size);
}

const void *sis__ctx_constant(const sis__shape_ctx *c, size_t i) {
    const sis__tensor *t = sis__ctx_input(c, i);
    return t && !(c->plan->gradients && t->depends) ? t->data : NULL;
}

const int64_t *sis__ctx_ints(sis__shape_ctx *c, size_t i, size_t *n) {
    const sis__tensor *t = sis__ctx_input(c, i);
    *n = 0;
    if (!t || t->dtype != SIS__I64)
        sis__ctx_fail(c, SIS_E_FORMAT, "input %zu must be integers", i);
    else if (!t->data)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED,
                      "input %zu must be constant, but it depends on the network's input", i);
    if (c->error)
        return NULL;
    *n = t->count;
    return (const int64_t *)t->data;
}

int sis__ctx_float(sis__shape_ctx *c, size_t i) {
    const sis__tensor *t = sis__ctx_input(c, i);
    if (!t)
        return sis__ctx_fail(c, SIS_E_FORMAT, "input %zu is missing", i);
    if (t->dtype != SIS__F32)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "input %zu is %s; only float is supported", i,
                             sis__dtype_name(t->dtype));
    return c->error;
}

size_t sis__ctx_axis(sis__shape_ctx *c, int64_t axis, size_t rank) {
    int64_t n = (int64_t)rank, at = axis < 0 ? axis + n : axis;
    if (axis < -n || at >= n)
        sis__ctx_fail(c, SIS_E_FORMAT, "axis %lld of a tensor of %zu axes", (long long)axis, rank);
    return c->error ? 0 : (size_t)at;
}

static float *pack_lefts(const sis__kernels *kn, const sis__matrix *b) {
    size_t size = sis__packed_left_size(kn, b->n, b->k);
    float *to = size < SIZE_MAX / b->lefts ? SIS_NEW_RAW(float, size * b->lefts) : NULL;
    float *tiles = to && b->tiles ? sis__tile_weights(b->at, b->n * b->k) : NULL;
    const float *at = b->tiles ? tiles : b->at;
    for (size_t i = 0; to && at && i < b->lefts; i++) {
        const sis__filters w = {.at = at + i * b->n * b->k,
                                .m = b->n,
                                .channels = b->k / b->rows / b->run,
                                .rows = b->rows,
                                .run = b->run};
        sis__pack_left(kn, &w, to + i * size);
    }
    free(tiles);
    if (at)
        return to;
    free(to);
    return NULL;
}

float *sis__matrix_pack(const sis__matrix *b) {
    const sis__kernels *kn = sis__kernels_best();
    if (b->lefts)
        return pack_lefts(kn, b);
    size_t size = sis__packed_size(kn, b->k, b->n), row = b->row ? b->row : b->k;
    float *to = SIS_NEW_RAW(float, size);
    if (!to)
        return NULL;
    sis__pack(kn, b->k, b->n, b->at, b->transposed ? 1 : b->n, b->transposed ? row : 1, to);
    for (size_t i = 0; b->alpha != 1.0f && i < size; i++)
        to[i] *= b->alpha;
    return to;
}

/* Does this memory belong to the document, and so outlive the plan? */
static int of_document(const sis__shape_ctx *c, const float *at) {
    for (size_t i = 0; i < c->step->n_inputs; i++)
        if (c->step->inputs[i] >= 0 && (size_t)c->step->inputs[i] < c->plan->graph->n_values) {
            const sis__value *v = &c->plan->graph->values[c->step->inputs[i]];
            const sis__tensor *t = &c->plan->tensors[c->step->inputs[i]];
            if (v->data && t->data == v->data && at >= (const float *)v->data &&
                at < (const float *)v->data + t->count)
                return 1;
        }
    return 0;
}

const float *sis__ctx_pack(sis__shape_ctx *c, const sis__matrix *b) {
    const float *packed = NULL;
    if (c->error)
        return NULL;
    if (c->plan->net->cache && of_document(c, b->at)) {
        c->error = sis__cache_pack(c->plan->net, b, &packed);
        return packed;
    }
    packed = (const float *)sis__arena_own(&c->plan->memory, sis__matrix_pack(b));
    c->error = sis__arena_error(&c->plan->memory);
    return packed;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

#define TYPE(name) SIS__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__##name

const Sis__Onnx__Attribute *sis__attr_find(sis__shape_ctx *c, const char *name) {
    const Sis__Onnx__Node *p = c->node->proto;
    for (size_t i = 0; i < p->n_attribute && i < 64; i++)
        if (p->attribute[i]->name && strcmp(p->attribute[i]->name, name) == 0) {
            c->seen |= (uint64_t)1 << i;
            return p->attribute[i];
        }
    return NULL;
}

/* The attribute, if it exists and has the type. Old files omit the type; then the field that is set
 * decides. */
static const Sis__Onnx__Attribute *find_typed(sis__shape_ctx *c, const char *name, int type) {
    const Sis__Onnx__Attribute *a = sis__attr_find(c, name);
    if (!a || c->error)
        return NULL;
    int filled = type == TYPE(INT)      ? a->has_i
                 : type == TYPE(FLOAT)  ? a->has_f
                 : type == TYPE(STRING) ? a->has_s
                                        : 1;
    if (a->has_type && a->type != TYPE(UNDEFINED) ? (int)a->type == type : filled)
        return a;
    sis__ctx_fail(c, SIS_E_FORMAT, "attribute %s has the wrong type", a->name);
    return NULL;
}

int64_t sis__attr_int(sis__shape_ctx *c, const char *name, int64_t missing) {
    const Sis__Onnx__Attribute *a = find_typed(c, name, TYPE(INT));
    return a ? a->i : missing;
}

float sis__attr_float(sis__shape_ctx *c, const char *name, float missing) {
    const Sis__Onnx__Attribute *a = find_typed(c, name, TYPE(FLOAT));
    return a ? a->f : missing;
}

void sis__attr_text(sis__shape_ctx *c, const char *name, const char *missing, char *v,
                    size_t size) {
    const Sis__Onnx__Attribute *a = find_typed(c, name, TYPE(STRING));
    if (a)
        snprintf(v, size, "%.*s", (int)(a->s.len < size ? a->s.len : size), (char *)a->s.data);
    else
        snprintf(v, size, "%s", missing);
}

const int64_t *sis__attr_ints(sis__shape_ctx *c, const char *name, size_t *n) {
    const Sis__Onnx__Attribute *a = find_typed(c, name, TYPE(INTS));
    *n = a ? a->n_ints : 0;
    return a ? a->ints : NULL;
}

const float *sis__attr_floats(sis__shape_ctx *c, const char *name, size_t *n) {
    const Sis__Onnx__Attribute *a = find_typed(c, name, TYPE(FLOATS));
    *n = a ? a->n_floats : 0;
    return a ? a->floats : NULL;
}

int sis__attr_tensor(sis__shape_ctx *c, const char *name, sis__decoded *out) {
    const Sis__Onnx__Attribute *a = sis__attr_find(c, name);
    *out = (sis__decoded){0};
    if (!a || !a->t || c->error)
        return 0;
    int error = sis__tensor_decode(a->t, c->plan->graph->words, out);
    if (!error && out->owned && !sis__arena_own(&c->plan->memory, out->owned))
        error = SIS_E_NOMEM;
    if (error)
        c->error = sis__fail_in(error, "operator %s", c->node->proto->op_type);
    return !error;
}

int sis__attr_choice(sis__shape_ctx *c, const char *name, const char *const *names, int n) {
    char text[32];
    sis__attr_text(c, name, names[0], text, sizeof text);
    for (int i = 0; i < n; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    sis__ctx_fail(c, SIS_E_UNSUPPORTED, "%s %s", name, text);
    return 0;
}
