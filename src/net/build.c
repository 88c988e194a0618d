/* SPDX-License-Identifier: MIT
 *
 * Build a network from code. The calls append to an ONNX document; sis_net_build() then turns the
 * document into a network as if it had been read from a file. All memory is allocated so that
 * protobuf-c can free it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/proto.h"
#include "net/plan/net.h"
#include "net/plan/plan.h"

enum { IR_VERSION = 7, OPSET = 13, OPSET_ML = 2 };

struct sis_net_builder {
    Sis__Onnx__Model *doc;
    Sis__Onnx__Node *last; /* the node that gets attributes */
    int error;             /* error of the first call that failed */
};

/* Remember and return the first failure. */
static int done(sis_net_builder *b, int error) {
    if (!b->error)
        b->error = error;
    return b->error;
}

static int check(const sis_net_builder *b) {
    return b ? b->error : SIS_E_NOMEM;
}

/* ---- The model ----------------------------------------------------------------------------- */

static int add_opset(Sis__Onnx__Model *doc, const char *domain, int64_t version) {
    Sis__Onnx__OperatorSetId *o = (Sis__Onnx__OperatorSetId *)sis__proto_add(
        &sis__onnx__operator_set_id__descriptor, &doc->opset_import, &doc->n_opset_import);
    if (!o)
        return SIS_E_NOMEM;
    o->domain = sis__strdup(domain);
    o->has_version = 1;
    o->version = version;
    return o->domain ? SIS_OK : SIS_E_NOMEM;
}

static int start_document(Sis__Onnx__Model *doc, const char *name) {
    doc->has_ir_version = 1;
    doc->ir_version = IR_VERSION;
    doc->producer_name = sis__strdup("sis");
    doc->graph = (Sis__Onnx__Graph *)sis__proto_new(&sis__onnx__graph__descriptor);
    if (!doc->producer_name || !doc->graph)
        return SIS_E_NOMEM;
    doc->graph->name = sis__strdup(name);
    return doc->graph->name ? add_opset(doc, "", OPSET) : SIS_E_NOMEM;
}

sis_net_builder *sis_net_builder_new(const char *name) {
    sis_net_builder *b = SIS_NEW(sis_net_builder, 1);
    if (!b)
        return NULL;
    b->doc = (Sis__Onnx__Model *)sis__proto_new(&sis__onnx__model__descriptor);
    b->error = b->doc ? start_document(b->doc, name) : SIS_E_NOMEM;
    return b;
}

void sis_net_builder_free(sis_net_builder *b) {
    if (!b)
        return;
    if (b->doc)
        sis__proto_free(&b->doc->base);
    free(b);
}

/* ---- Inputs and outputs ---------------------------------------------------------------------- */

static int set_shape(Sis__Onnx__Type__Tensor *t, const sis_net_shape *shape) {
    t->shape = (Sis__Onnx__TensorShape *)sis__proto_new(&sis__onnx__tensor_shape__descriptor);
    for (size_t i = 0; t->shape && i < shape->rank; i++) {
        Sis__Onnx__TensorShape__Dimension *d = (Sis__Onnx__TensorShape__Dimension *)sis__proto_add(
            &sis__onnx__tensor_shape__dimension__descriptor, &t->shape->dim, &t->shape->n_dim);
        if (!d)
            return SIS_E_NOMEM;
        if (shape->dims[i]) {
            d->dim_value = (int64_t)shape->dims[i];
            d->value_case = SIS__ONNX__TENSOR_SHAPE__DIMENSION__VALUE_DIM_VALUE;
        } else if ((d->dim_param = sis__strdup(i ? "length" : "rows")) != NULL) {
            d->value_case = SIS__ONNX__TENSOR_SHAPE__DIMENSION__VALUE_DIM_PARAM;
        }
    }
    return t->shape ? SIS_OK : SIS_E_NOMEM;
}

/* Set the type of a value. shape may be NULL: not declared. */
static int set_type(Sis__Onnx__ValueInfo *v, int elem_type, const sis_net_shape *shape) {
    Sis__Onnx__Type *type = v->type =
        (Sis__Onnx__Type *)sis__proto_new(&sis__onnx__type__descriptor);
    if (!type)
        return SIS_E_NOMEM;
    Sis__Onnx__Type__Tensor *t =
        (Sis__Onnx__Type__Tensor *)sis__proto_new(&sis__onnx__type__tensor__descriptor);
    if (!t)
        return SIS_E_NOMEM;
    type->value_case = SIS__ONNX__TYPE__VALUE_TENSOR_TYPE;
    type->tensor_type = t;
    t->has_elem_type = 1;
    t->elem_type = elem_type;
    return shape ? set_shape(t, shape) : SIS_OK;
}

int sis_net_add_input(sis_net_builder *b, const char *name, int integers,
                      const sis_net_shape *shape) {
    if (check(b))
        return check(b);
    Sis__Onnx__Graph *g = b->doc->graph;
    if (shape->rank > SIS_NET_MAX_RANK)
        return done(b, sis__fail(SIS_E_ARGUMENT, "input %s of %zu axes", name, shape->rank));
    Sis__Onnx__ValueInfo *v = (Sis__Onnx__ValueInfo *)sis__proto_add(
        &sis__onnx__value_info__descriptor, &g->input, &g->n_input);
    if (!v || !(v->name = sis__strdup(name)))
        return done(b, SIS_E_NOMEM);
    return done(b, set_type(v, integers ? 7 : 1, shape));
}

int sis_net_add_output(sis_net_builder *b, const char *name) {
    if (check(b))
        return check(b);
    Sis__Onnx__Graph *g = b->doc->graph;
    Sis__Onnx__ValueInfo *v = (Sis__Onnx__ValueInfo *)sis__proto_add(
        &sis__onnx__value_info__descriptor, &g->output, &g->n_output);
    if (!v || !(v->name = sis__strdup(name)))
        return done(b, SIS_E_NOMEM);
    return done(b, set_type(v, 1, NULL));
}

/* Other readers need the declared shape of the output; this library computes it. */
static int declare_output_shape(sis_net *net) {
    Sis__Onnx__Graph *g = net->doc->graph;
    Sis__Onnx__ValueInfo *v = NULL;
    for (size_t i = 0; i < g->n_output && !v; i++)
        if (strcmp(g->output[i]->name, net->graph.values[net->output].name) == 0)
            v = g->output[i];
    if (!v || sis_net_values(net) == 0)
        return SIS_OK;
    sis__plan *plan;
    int error = sis__net_plan_row(net, &plan);
    if (error) /* shapes that depend on values cannot be declared */
        return error == SIS_E_UNSUPPORTED ? SIS_OK : error;
    const sis__tensor *t = &plan->tensors[net->output];
    sis_net_shape shape = {.rank = t->rank};
    for (size_t d = 0; d < t->rank; d++)
        shape.dims[d] = d == 0 && net->counted && t->dims[0] == 1 ? 0 : t->dims[d];
    error = set_shape(v->type->tensor_type, &shape);
    sis__plan_free(plan);
    return error;
}

int sis_net_build(sis_net_builder *b, sis_net **out) {
    *out = NULL;
    int error = check(b);
    if (!error) {
        Sis__Onnx__Model *doc = b->doc;
        b->doc = NULL;
        error = sis__net_adopt(doc, out);
    }
    if (!error)
        error = declare_output_shape(*out);
    if (error) {
        sis_net_free(*out);
        *out = NULL;
    }
    sis_net_builder_free(b);
    return error;
}

/* ---- Initializers ---------------------------------------------------------------------------- */

int sis__document_add_tensor(Sis__Onnx__Graph *g, const char *name, int elem_type,
                             const sis_net_shape *shape, const void *values) {
    size_t count = 1, size = elem_type == 7 ? 8 : 4;
    for (size_t i = 0; i < shape->rank && i < SIS_NET_MAX_RANK; i++) {
        if (shape->dims[i] && count > (size_t)INT32_MAX / shape->dims[i])
            return sis__fail(SIS_E_ARGUMENT, "tensor %s has more than 2^31 values", name);
        count *= shape->dims[i];
    }
    if (shape->rank > SIS_NET_MAX_RANK)
        return sis__fail(SIS_E_ARGUMENT, "tensor %s of %zu axes", name, shape->rank);
    Sis__Onnx__Tensor *t = (Sis__Onnx__Tensor *)sis__proto_add(&sis__onnx__tensor__descriptor,
                                                               &g->initializer, &g->n_initializer);
    if (!t)
        return SIS_E_NOMEM;
    t->has_data_type = 1;
    t->data_type = elem_type;
    t->name = sis__strdup(name);
    t->dims = SIS_NEW(int64_t, shape->rank);
    t->raw_data.data = (uint8_t *)sis__copy(values, count, size);
    t->has_raw_data = t->raw_data.data != NULL;
    t->raw_data.len = t->raw_data.data ? count * size : 0;
    if (!t->name || !t->dims || !t->raw_data.data)
        return SIS_E_NOMEM;
    t->n_dims = shape->rank;
    for (size_t i = 0; i < shape->rank; i++)
        t->dims[i] = (int64_t)shape->dims[i];
    return SIS_OK;
}

int sis_net_add_param(sis_net_builder *b, const char *name, const sis_net_shape *shape,
                      const float *values) {
    if (check(b))
        return check(b);
    return done(b, sis__document_add_tensor(b->doc->graph, name, 1, shape, values));
}

int sis_net_add_ints(sis_net_builder *b, const char *name, const sis_net_shape *shape,
                     const int64_t *values) {
    if (check(b))
        return check(b);
    return done(b, sis__document_add_tensor(b->doc->graph, name, 7, shape, values));
}

/* ---- Nodes --------------------------------------------------------------------------------- */

/* "a - b" -> {"a", "", "b"} appended to a repeated field of strings. */
static int add_names(const char *names, char ***items, size_t *n) {
    while (*(names += strspn(names, " "))) {
        size_t length = strcspn(names, " ");
        int absent = length == 1 && *names == '-';
        if (sis__proto_add_text(items, n, names, absent ? 0 : length) != SIS_OK)
            return SIS_E_NOMEM;
        names += length;
    }
    return SIS_OK;
}

/* Prefixes of operator names, and their domains. */
static const struct {
    const char *prefix, *domain;
    int version;
} domains[] = {{"ml.", "ai.onnx.ml", OPSET_ML}, {"ms.", "com.microsoft", 1}};

static int use_domain(Sis__Onnx__Model *doc, const char *domain, int version) {
    for (size_t i = 0; i < doc->n_opset_import; i++)
        if (strcmp(doc->opset_import[i]->domain, domain) == 0)
            return SIS_OK;
    return add_opset(doc, domain, version);
}

/* The operator's name without its prefix; the node gets its domain. NULL: out of memory. */
static const char *take_domain(Sis__Onnx__Model *doc, Sis__Onnx__Node *n, const char *op) {
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        size_t length = strlen(domains[i].prefix);
        if (strncmp(op, domains[i].prefix, length) != 0)
            continue;
        n->domain = sis__strdup(domains[i].domain);
        if (!n->domain || use_domain(doc, domains[i].domain, domains[i].version) != SIS_OK)
            return NULL;
        return op + length;
    }
    return op;
}

int sis__document_add_node(Sis__Onnx__Model *doc, const char *op, const char *inputs,
                           const char *outputs, Sis__Onnx__Node **out) {
    Sis__Onnx__Graph *g = doc->graph;
    Sis__Onnx__Node *n = *out =
        (Sis__Onnx__Node *)sis__proto_add(&sis__onnx__node__descriptor, &g->node, &g->n_node);
    if (!n)
        return SIS_E_NOMEM;
    const char *name = take_domain(doc, n, op);
    if (!name || !(n->op_type = sis__strdup(name)))
        return SIS_E_NOMEM;
    int error = add_names(inputs, &n->input, &n->n_input);
    if (!error)
        error = add_names(outputs, &n->output, &n->n_output);
    if (!error && n->n_output == 0)
        error = sis__fail(SIS_E_ARGUMENT, "operator %s has no output", op);
    if (!error && !(n->name = sis__strdup(n->output[0])))
        error = SIS_E_NOMEM;
    return error;
}

int sis_net_add_node(sis_net_builder *b, const char *op, const char *inputs, const char *outputs) {
    if (check(b))
        return check(b);
    return done(b, sis__document_add_node(b->doc, op, inputs, outputs, &b->last));
}

/* ---- Attributes ---------------------------------------------------------------------------- */

static Sis__Onnx__Attribute *add_attribute(sis_net_builder *b, const char *name, int type) {
    if (check(b))
        return NULL;
    if (!b->last) {
        done(b, sis__fail(SIS_E_ARGUMENT, "attribute %s comes before any node", name));
        return NULL;
    }
    Sis__Onnx__Attribute *a = sis__proto_add_attribute(b->last, name, strlen(name), type);
    if (!a)
        done(b, SIS_E_NOMEM);
    return a;
}

#define NUMBER_ATTRIBUTE(name, ctype, kind, field, has)                                            \
    int sis_net_attr_##name(sis_net_builder *b, const char *attribute, ctype v) {                  \
        Sis__Onnx__Attribute *a = add_attribute(b, attribute, SIS__ATTRIBUTE(kind));               \
        if (!a)                                                                                    \
            return check(b);                                                                       \
        a->has = 1;                                                                                \
        a->field = v;                                                                              \
        return SIS_OK;                                                                             \
    }
NUMBER_ATTRIBUTE(int, int64_t, INT, i, has_i)
NUMBER_ATTRIBUTE(float, float, FLOAT, f, has_f)
#undef NUMBER_ATTRIBUTE

#define LIST_ATTRIBUTE(name, ctype, kind)                                                          \
    int sis_net_attr_##name(sis_net_builder *b, const char *attribute, const ctype *v, size_t n) { \
        Sis__Onnx__Attribute *a = add_attribute(b, attribute, SIS__ATTRIBUTE(kind));               \
        if (!a)                                                                                    \
            return check(b);                                                                       \
        if (!(a->name = (ctype *)sis__copy(v, n, sizeof *v)))                                      \
            return done(b, SIS_E_NOMEM);                                                           \
        a->n_##name = n;                                                                           \
        return SIS_OK;                                                                             \
    }
LIST_ATTRIBUTE(ints, int64_t, INTS)
LIST_ATTRIBUTE(floats, float, FLOATS)
#undef LIST_ATTRIBUTE

/* Bytes of a string; -1: out of memory. */
static int set_bytes(ProtobufCBinaryData *to, const char *text) {
    to->data = (uint8_t *)sis__copy(text, strlen(text), 1);
    to->len = to->data ? strlen(text) : 0;
    return to->data ? 0 : -1;
}

int sis_net_attr_text(sis_net_builder *b, const char *name, const char *v) {
    Sis__Onnx__Attribute *a = add_attribute(b, name, SIS__ATTRIBUTE(STRING));
    if (!a)
        return check(b);
    if (set_bytes(&a->s, v) != 0)
        return done(b, SIS_E_NOMEM);
    a->has_s = 1;
    return SIS_OK;
}

int sis_net_attr_texts(sis_net_builder *b, const char *name, const char *const *v, size_t n) {
    Sis__Onnx__Attribute *a = add_attribute(b, name, SIS__ATTRIBUTE(STRINGS));
    if (!a)
        return check(b);
    if (!(a->strings = SIS_NEW(ProtobufCBinaryData, n)))
        return done(b, SIS_E_NOMEM);
    for (; a->n_strings < n; a->n_strings++)
        if (set_bytes(&a->strings[a->n_strings], v[a->n_strings]) != 0)
            return done(b, SIS_E_NOMEM);
    return SIS_OK;
}
