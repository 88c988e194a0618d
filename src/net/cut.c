/* SPDX-License-Identifier: MIT
 *
 * Prepare a network for another engine (ONNX Runtime): write its file with both ends cut off.
 *
 * The end: the input of the last activation becomes a further output. The caller then has margins,
 * and saturated scores keep their order. The beginning: the lookup of token ids in an embedding
 * matrix is removed and its result becomes a further input, so that a masked token can have any
 * embedding. Everything else stays, including the outputs of the file.
 */
#include <stdlib.h>
#include <string.h>

#include <sis/net.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/proto.h"
#include "net/plan/net.h"

/* ---- The last activation --------------------------------------------------------------------- */

/* The softmax that reads this value, or NULL. */
static const sis__node *softmax_of(const sis_net *net, int value) {
    for (size_t i = 0; i < net->graph.n_nodes; i++) {
        const sis__node *n = &net->graph.nodes[i];
        if (n->n_inputs == 1 && n->inputs[0] == value && n->proto->op_type &&
            (strcmp(n->proto->op_type, "Softmax") == 0 ||
             strcmp(n->proto->op_type, "LogSoftmax") == 0))
            return n;
    }
    return NULL;
}

/* Find the axes that the softmax runs along. */
static void find_axes(const sis_net *net, sis_net_cut *cut) {
    const sis__node *n = softmax_of(net, net->pre_output);
    cut->to_the_end = n && n->opset < 13;
    cut->axis = cut->to_the_end ? 1 : -1;
    cut->axis = n ? sis__proto_int(n->proto, "axis", cut->axis) : cut->axis;
}

static void find_activation(const sis_net *net, sis_net_cut *cut) {
    cut->output = net->graph.values[net->output].name;
    cut->activation = net->final == SIS__FINAL_SIGMOID ? SIS_NET_SIGMOID
                      : net->final == SIS__FINAL_NONE  ? SIS_NET_NO_ACTIVATION
                                                       : SIS_NET_SOFTMAX;
    if (cut->activation == SIS_NET_NO_ACTIVATION)
        return;
    cut->before = net->graph.values[net->pre_output].name;
    if (cut->activation == SIS_NET_SOFTMAX)
        find_axes(net, cut);
}

/* ---- The document ---------------------------------------------------------------------------- */

/* Graphs inside nodes may read the token ids by name; then the lookup cannot be removed. */
static int has_bodies(const Sis__Onnx__Graph *g) {
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_attribute; k++)
            if (g->node[i]->attribute[k]->g || g->node[i]->attribute[k]->n_graphs)
                return 1;
    return 0;
}

static int is_output(const Sis__Onnx__Graph *g, const char *name) {
    for (size_t i = 0; i < g->n_output; i++)
        if (g->output[i]->name && strcmp(g->output[i]->name, name) == 0)
            return 1;
    return 0;
}

/* The declaration of the embedding input: the shape of the ids with one more axis. */
typedef struct {
    Sis__Onnx__ValueInfo info;
    Sis__Onnx__Type type;
    Sis__Onnx__Type__Tensor tensor;
    Sis__Onnx__TensorShape shape;
    Sis__Onnx__TensorShape__Dimension dims[SIS__MAX_RANK + 1], *list[SIS__MAX_RANK + 1];
} embedded_input;

static void describe_embedded(const sis_net *net, embedded_input *e) {
    const sis__value *ids = &net->graph.values[net->input],
                     *matrix = &net->graph.values[net->embedding];
    sis__onnx__value_info__init(&e->info);
    sis__onnx__type__init(&e->type);
    sis__onnx__type__tensor__init(&e->tensor);
    sis__onnx__tensor_shape__init(&e->shape);
    e->info.name = (char *)(uintptr_t)net->graph.values[net->embedded].name;
    e->info.type = &e->type;
    e->type.value_case = SIS__ONNX__TYPE__VALUE_TENSOR_TYPE;
    e->type.tensor_type = &e->tensor;
    e->tensor.has_elem_type = 1;
    e->tensor.elem_type = matrix->elem_type;
    e->tensor.shape = &e->shape;
    e->shape.n_dim = ids->rank + 1;
    e->shape.dim = e->list;
    for (size_t d = 0; d <= ids->rank; d++) {
        int64_t size = d < ids->rank ? ids->dims[d] : matrix->dims[1];
        e->list[d] = &e->dims[d];
        sis__onnx__tensor_shape__dimension__init(e->list[d]);
        if (size < 0)
            continue;
        e->dims[d].value_case = SIS__ONNX__TENSOR_SHAPE__DIMENSION__VALUE_DIM_VALUE;
        e->dims[d].dim_value = size;
    }
}

/* A copy of the list without `left_out`, with `added` at its end (NULL: nothing). */
static void *copy_list(void *items, size_t *n, const void *left_out, void *added) {
    void *const *from = items;
    void **to = SIS_NEW(void *, *n + 1);
    size_t kept = 0;
    for (size_t i = 0; to && i < *n; i++)
        if (from[i] != left_out)
            to[kept++] = from[i];
    if (to && added)
        to[kept++] = added;
    *n = kept;
    return to;
}

/* Serialize the document with its ends cut off. The document itself does not change. */
static int pack(const sis_net *net, sis_net_cut *cut) {
    Sis__Onnx__Model model = *net->doc;
    Sis__Onnx__Graph graph = *net->doc->graph;
    Sis__Onnx__ValueInfo before = SIS__ONNX__VALUE_INFO__INIT;
    embedded_input embedded;
    const void *lookup = NULL;
    int error = SIS_E_NOMEM;
    if (cut->embedded) {
        describe_embedded(net, &embedded);
        lookup = net->graph.nodes[net->graph.values[net->embedded].producer].proto;
    }
    cut->adds_output = cut->before && !is_output(&graph, cut->before);
    before.name = (char *)(uintptr_t)cut->before;
    graph.node = copy_list(graph.node, &graph.n_node, lookup, NULL);
    graph.input =
        copy_list(graph.input, &graph.n_input, NULL, cut->embedded ? &embedded.info : NULL);
    graph.output =
        copy_list(graph.output, &graph.n_output, NULL, cut->adds_output ? &before : NULL);
    model.graph = &graph;
    if (graph.node && graph.input && graph.output)
        error = sis__proto_pack(&model.base, &cut->bytes, &cut->n);
    free(graph.node);
    free(graph.input);
    free(graph.output);
    return error;
}

/* ---- Weights --------------------------------------------------------------------------------- */

static void free_values(Sis__Onnx__Tensor *t) {
    free(t->raw_data.data);
    free(t->float_data);
    free(t->double_data);
    t->raw_data = (ProtobufCBinaryData){0};
    t->has_raw_data = 0;
    t->float_data = NULL;
    t->double_data = NULL;
    t->n_float_data = t->n_double_data = 0;
}

/* The other engine has the weights. Only the mask and the embeddings are still needed here. */
static void drop_weights(sis_net *net) {
    for (size_t i = 0; i < net->graph.n_values; i++) {
        sis__value *v = &net->graph.values[i];
        if (!v->tensor || v->dtype != SIS__F32 || (int)i == net->embedding ||
            strcmp(v->name, SIS_NET_MASK) == 0)
            continue;
        free_values(v->tensor);
        free(v->owned);
        v->owned = NULL;
        v->data = NULL;
    }
}

int sis_net_cut_ends(sis_net *net, sis_net_cut *cut) {
    *cut = (sis_net_cut){0};
    if (!net->document_only)
        return sis__fail(SIS_E_ARGUMENT, "only networks of ONNX Runtime are cut");
    if (net->output >= 0)
        find_activation(net, cut);
    if (net->embedding >= 0 && !has_bodies(net->doc->graph) &&
        !is_output(net->doc->graph, net->graph.values[net->embedded].name))
        cut->embedded = net->graph.values[net->embedded].name;
    else
        net->embedding = net->embedded = -1;
    int error = pack(net, cut);
    if (!error)
        drop_weights(net);
    return error;
}
