/* SPDX-License-Identifier: MIT
 *
 * From the document to the graph: number all names, decode initializers, connect nodes and sort
 * them topologically. The map from names to numbers exists only while loading. Time is linear in
 * the size of the document.
 */
#include "net/onnx/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "net/onnx/graft.h"
#include "net/onnx/proto.h"
#include "net/onnx/words.h"

typedef struct {
    sis__graph *g;
    const Sis__Onnx__Graph *proto;
    sis__names names;            /* numbers are those of values */
    const Sis__Onnx__Model *doc; /* for the versions of operators */
} loader;

/* ---- Names --------------------------------------------------------------------------------- */

static int lookup(const loader *l, const char *name) {
    uint32_t number = sis__names_find(&l->names, name, strlen(name));
    return number == UINT32_MAX ? -1 : (int)number;
}

/* A new value; -1 if the name is taken. */
static int define(loader *l, const char *name, int *id) {
    uint32_t number;
    int error = sis__names_add(&l->names, name, strlen(name), &number);
    *id = error || number < l->g->n_values ? -1 : (int)number;
    if (*id >= 0)
        l->g->values[l->g->n_values++] = (sis__value){.name = name, .producer = -1};
    return error;
}

int sis__graph_find(const sis__graph *g, const char *name) {
    for (size_t i = 0; i < g->n_values; i++)
        if (strcmp(g->values[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* ---- Values -------------------------------------------------------------------------------- */

static int load_initializer(loader *l, Sis__Onnx__Tensor *t) {
    if (!t->name || !*t->name)
        return sis__fail(SIS_E_FORMAT, "an initializer has no name");
    int id, error = define(l, t->name, &id);
    if (error)
        return error;
    if (id < 0)
        return sis__fail(SIS_E_FORMAT, "initializer %s is defined twice", t->name);
    sis__decoded d;
    error = sis__tensor_decode(t, l->g->words, &d);
    if (error)
        return error;
    sis__value *v = &l->g->values[id];
    v->elem_type = t->data_type;
    v->dtype = d.dtype;
    v->shaped = 1;
    v->rank = d.rank;
    memcpy(v->dims, d.dims, sizeof v->dims);
    v->data = d.data;
    v->owned = d.owned;
    v->tensor = t;
    return SIS_OK;
}

/* The declared type of an input. Anything but a tensor gets type 0 and is refused where it is
 * used. */
static int load_type(sis__value *v, const Sis__Onnx__Type *type) {
    if (!type || type->value_case != SIS__ONNX__TYPE__VALUE_TENSOR_TYPE) {
        v->dtype = SIS__OTHER;
        return SIS_OK;
    }
    v->elem_type = type->tensor_type->elem_type;
    v->dtype = sis__elem_dtype(v->elem_type);
    const Sis__Onnx__TensorShape *shape = type->tensor_type->shape;
    if (!shape)
        return SIS_OK;
    if (shape->n_dim > SIS__MAX_RANK)
        return sis__fail(SIS_E_UNSUPPORTED, "input %s has %zu axes; at most %d are supported",
                         v->name, shape->n_dim, SIS__MAX_RANK);
    v->shaped = 1;
    v->rank = shape->n_dim;
    for (size_t i = 0; i < v->rank; i++) {
        const Sis__Onnx__TensorShape__Dimension *d = shape->dim[i];
        int fixed = d->value_case == SIS__ONNX__TENSOR_SHAPE__DIMENSION__VALUE_DIM_VALUE;
        if (fixed && d->dim_value > INT32_MAX)
            return sis__fail(SIS_E_UNSUPPORTED, "input %s: axis %zu of size %lld is too large",
                             v->name, i, (long long)d->dim_value);
        /* some exporters write a free batch size as 0 or -1 */
        int any = !fixed || d->dim_value < 0 || (i == 0 && d->dim_value == 0);
        v->dims[i] = any ? -1 : d->dim_value;
    }
    return SIS_OK;
}

static int load_inputs(loader *l) {
    sis__graph *g = l->g;
    for (size_t i = 0; i < l->proto->n_input; i++) {
        const Sis__Onnx__ValueInfo *info = l->proto->input[i];
        const char *name = info->name ? info->name : "";
        int id = lookup(l, name), error;
        if (id >= 0 && g->values[id].data)
            continue; /* an initializer with a declaration is a constant */
        if (id >= 0)
            return sis__fail(SIS_E_FORMAT, "input %s is declared twice", name);
        if ((error = define(l, name, &id)) != SIS_OK)
            return error;
        g->inputs[g->n_inputs++] = id;
        if ((error = load_type(&g->values[id], info->type)) != SIS_OK)
            return error;
    }
    return SIS_OK;
}

static int load_outputs(loader *l) {
    for (size_t i = 0; i < l->proto->n_output; i++) {
        const char *name = l->proto->output[i]->name;
        int id = name ? lookup(l, name) : -1;
        if (id < 0)
            return sis__fail(SIS_E_FORMAT, "output %s is computed by no node",
                             name ? name : "(unnamed)");
        const Sis__Onnx__Type *type = l->proto->output[i]->type;
        if (type && type->value_case == SIS__ONNX__TYPE__VALUE_TENSOR_TYPE &&
            !l->g->values[id].elem_type)
            l->g->values[id].elem_type = type->tensor_type->elem_type;
        l->g->outputs[l->g->n_outputs++] = id;
    }
    return SIS_OK;
}

/* ---- Nodes --------------------------------------------------------------------------------- */

static const char *node_text(const char *s) {
    return s ? s : "";
}

static int define_outputs(loader *l, sis__node *n, int index) {
    for (size_t i = 0; i < n->n_outputs; i++) {
        const char *name = n->proto->output[i];
        n->outputs[i] = -1;
        if (!*name)
            continue;
        int error = define(l, name, &n->outputs[i]);
        if (error)
            return error;
        if (n->outputs[i] < 0)
            return sis__fail(SIS_E_FORMAT, "%s is computed twice, the second time by node %s (%s)",
                             name, node_text(n->proto->name), node_text(n->proto->op_type));
        l->g->values[n->outputs[i]].producer = index;
    }
    return SIS_OK;
}

static int connect_inputs(loader *l, sis__node *n) {
    for (size_t i = 0; i < n->n_inputs; i++) {
        const char *name = n->proto->input[i];
        n->inputs[i] = *name ? lookup(l, name) : -1;
        if (*name && n->inputs[i] < 0)
            return sis__fail(SIS_E_FORMAT, "node %s (%s) reads %s, which nothing computes",
                             node_text(n->proto->name), node_text(n->proto->op_type), name);
    }
    return SIS_OK;
}

static int version_of(const Sis__Onnx__Model *doc, const char *domain) {
    int standard = !*domain || strcmp(domain, "ai.onnx") == 0;
    for (size_t i = 0; i < doc->n_opset_import; i++) {
        const Sis__Onnx__OperatorSetId *o = doc->opset_import[i];
        const char *name = node_text(o->domain);
        if (standard ? !*name || strcmp(name, "ai.onnx") == 0 : strcmp(name, domain) == 0)
            return o->version > 0 && o->version < 1000 ? (int)o->version : 1;
    }
    return 1;
}

static int load_nodes(loader *l) {
    sis__graph *g = l->g;
    int *slot = g->slots, error = SIS_OK;
    for (size_t i = 0; i < g->n_nodes && !error; i++) {
        const Sis__Onnx__Node *p = l->proto->node[i];
        sis__node *n = &g->nodes[i];
        n->proto = p;
        n->op = g->find(node_text(p->domain), node_text(p->op_type), &n->op_id);
        n->opset = version_of(l->doc, node_text(p->domain));
        n->n_inputs = p->n_input;
        n->n_outputs = p->n_output;
        n->outputs = slot;
        n->inputs = slot + n->n_outputs;
        slot += n->n_inputs + n->n_outputs;
        error = define_outputs(l, n, (int)i);
    }
    for (size_t i = 0; i < g->n_nodes && !error; i++)
        error = connect_inputs(l, &g->nodes[i]);
    return error;
}

/* ---- Order --------------------------------------------------------------------------------- */

/* Depth-first search from each node in file order; a sorted file keeps its order. `next` is the
 * next input of each node to visit (SIZE_MAX: node is done), `stack` holds the open nodes; reaching
 * an open node is a cycle. */
static int order_nodes(sis__graph *g, size_t *next, int *stack, unsigned char *open, int *order) {
    size_t done = 0;
    for (size_t root = 0; root < g->n_nodes; root++) {
        size_t depth = 0;
        if (next[root] != SIZE_MAX)
            stack[depth++] = (int)root;
        while (depth) {
            int at = stack[depth - 1];
            sis__node *n = &g->nodes[at];
            open[at] = 1;
            int below = -1;
            while (below < 0 && next[at] < n->n_inputs) {
                int v = n->inputs[next[at]++];
                below = v >= 0 ? g->values[v].producer : -1;
                if (below >= 0 && next[below] == SIZE_MAX)
                    below = -1;
            }
            if (below >= 0) {
                if (open[below])
                    return sis__fail(SIS_E_FORMAT, "the graph has a cycle through node %s (%s)",
                                     node_text(g->nodes[below].proto->name),
                                     node_text(g->nodes[below].proto->op_type));
                stack[depth++] = below;
                continue;
            }
            next[at] = SIZE_MAX;
            open[at] = 0;
            order[done++] = at;
            depth--;
        }
    }
    return SIS_OK;
}

static int sort_nodes(sis__graph *g) {
    size_t *next = SIS_NEW(size_t, g->n_nodes);
    int *stack = SIS_NEW(int, g->n_nodes), *order = SIS_NEW(int, g->n_nodes);
    unsigned char *open = SIS_NEW(unsigned char, g->n_nodes);
    sis__node *sorted = SIS_NEW(sis__node, g->n_nodes);
    int error = SIS_E_NOMEM;
    if (next && stack && order && open && sorted)
        error = order_nodes(g, next, stack, open, order);
    for (size_t i = 0; !error && i < g->n_nodes; i++) {
        sorted[i] = g->nodes[order[i]];
        for (size_t k = 0; k < sorted[i].n_outputs; k++)
            if (sorted[i].outputs[k] >= 0)
                g->values[sorted[i].outputs[k]].producer = (int)i;
    }
    if (!error) {
        sis__node *unsorted = g->nodes;
        g->nodes = sorted;
        sorted = unsorted;
    }
    free(next);
    free(stack);
    free(order);
    free(open);
    free(sorted);
    return error;
}

/* ---- Main function --------------------------------------------------------------------------- */

static int reserve(loader *l) {
    const Sis__Onnx__Graph *p = l->proto;
    size_t values = p->n_initializer + p->n_input, slots = 0;
    for (size_t i = 0; i < p->n_node; i++) {
        values += p->node[i]->n_output;
        slots += p->node[i]->n_output + p->node[i]->n_input;
    }
    if (values > INT32_MAX / 4 || slots > INT32_MAX / 4 || p->n_node > INT32_MAX / 4)
        return sis__fail(SIS_E_UNSUPPORTED, "the graph has too many nodes");
    sis__graph *g = l->g;
    g->values = SIS_NEW(sis__value, values + 1); /* and one that a graft may add */
    g->nodes = SIS_NEW(sis__node, p->n_node);
    g->inputs = SIS_NEW(int, p->n_input + 1);
    g->outputs = SIS_NEW(int, p->n_output);
    g->slots = SIS_NEW(int, slots);
    if (!g->values || !g->nodes || !g->inputs || !g->outputs || !g->slots)
        return SIS_E_NOMEM;
    g->n_nodes = p->n_node;
    return SIS_OK;
}

static int load(sis__graph *g, const Sis__Onnx__Graph *proto, const Sis__Onnx__Model *doc) {
    loader l = {.g = g, .proto = proto, .doc = doc};
    int error = reserve(&l);
    for (size_t i = 0; i < proto->n_initializer && !error; i++)
        error = load_initializer(&l, proto->initializer[i]);
    if (!error)
        error = load_inputs(&l);
    if (!error)
        error = load_nodes(&l);
    if (!error)
        error = load_outputs(&l);
    if (!error)
        error = sort_nodes(g);
    sis__names_release(&l.names);
    return error;
}

int sis__graph_load(sis__graph *g, const Sis__Onnx__Model *doc, sis__words *words,
                    sis__op_lookup find) {
    *g = (sis__graph){.borrowed_words = words != NULL, .find = find};
    if (!doc->graph)
        return sis__fail(SIS_E_FORMAT, "not an ONNX model: it has no graph");
    g->words = words ? words : sis__words_new();
    int error = g->words ? load(g, doc->graph, doc) : SIS_E_NOMEM;
    if (error)
        sis__graph_release(g);
    return error;
}

/* ---- Grafts ---------------------------------------------------------------------------------- */

struct sis__grafted {
    sis__graft graft;
    Sis__Onnx__Node proto;
    int inputs[1], outputs[1];
};

static const char *const graft_names[] = {"Part", "Present", "Zeros", "Positions", "Lengths"};

static void graft_node(sis__graph *g, struct sis__grafted *at, const sis__graft *graft,
                       sis__node *n) {
    at->graft = *graft;
    at->inputs[0] = graft->from;
    at->outputs[0] = graft->to;
    sis__onnx__node__init(&at->proto);
    at->proto.op_type = (char *)(uintptr_t)graft_names[graft->kind];
    at->proto.name = (char *)(uintptr_t)g->values[graft->to].name;
    *n = (sis__node){.proto = &at->proto,
                     .opset = 1,
                     .n_inputs = 1,
                     .n_outputs = 1,
                     .inputs = at->inputs,
                     .outputs = at->outputs,
                     .graft = &at->graft};
    n->op = g->find("sis", graft_names[graft->kind], &n->op_id);
}

static int is_grafted(const sis__graft *grafts, size_t n, int value) {
    for (size_t i = 0; i < n; i++)
        if (grafts[i].to == value)
            return 1;
    return 0;
}

int sis__graph_graft(sis__graph *g, const sis__graft *grafts, size_t n) {
    struct sis__grafted *kept = SIS_NEW(struct sis__grafted, n);
    sis__node *nodes = SIS_NEW(sis__node, g->n_nodes + n);
    size_t inputs = 0;
    if (!kept || !nodes) {
        free(kept);
        free(nodes);
        return SIS_E_NOMEM;
    }
    memcpy(nodes + n, g->nodes, g->n_nodes * sizeof *nodes);
    for (size_t i = 0; i < n; i++)
        graft_node(g, &kept[i], &grafts[i], &nodes[i]);
    free(g->nodes);
    g->nodes = nodes;
    g->n_nodes += n;
    g->grafted = kept;
    for (size_t i = 0; i < g->n_values; i++)
        if (g->values[i].producer >= 0)
            g->values[i].producer += (int)n;
    for (size_t i = 0; i < n; i++)
        g->values[grafts[i].to].producer = (int)i;
    for (size_t i = 0; i < g->n_inputs; i++)
        if (!is_grafted(grafts, n, g->inputs[i]))
            g->inputs[inputs++] = g->inputs[i];
    g->n_inputs = inputs;
    return sort_nodes(g);
}

int sis__graph_row_input(sis__graph *g, size_t n, int counted) {
    sis__value *v = &g->values[g->n_values];
    *v = (sis__value){.name = "row",
                      .elem_type = SIS__FLOAT,
                      .dtype = SIS__F32,
                      .shaped = 1,
                      .rank = counted ? 2 : 1,
                      .producer = -1};
    v->dims[0] = counted ? -1 : (int64_t)n;
    v->dims[1] = (int64_t)n;
    g->inputs[g->n_inputs++] = (int)g->n_values;
    return (int)g->n_values++;
}

void sis__graph_release(sis__graph *g) {
    for (size_t i = 0; i < g->n_values; i++)
        free(g->values[i].owned);
    free(g->values);
    free(g->nodes);
    free(g->inputs);
    free(g->outputs);
    free(g->slots);
    free(g->grafted);
    if (!g->borrowed_words)
        sis__words_free(g->words);
    *g = (sis__graph){0};
}
