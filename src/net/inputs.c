/* SPDX-License-Identifier: MIT
 *
 * Networks of several inputs. One is fed with rows; each other is given (a constant, from
 * sis_net_set_input), follows from the tokens (attention mask, token types, positions, lengths), or
 * is a further part of the row. The last two are computed by nodes put in front of the graph
 * (net/onnx/graft.h), so everything behind this file sees a network of one input.
 *
 * Who is who, unless the caller says it: a network with an input of token ids has the others follow
 * by their names; any other takes all its inputs side by side in one row, in the order of the file.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dims.h"
#include "base/error.h"
#include "base/follow.h"
#include "base/mem.h"
#include "net/onnx/graft.h"
#include "net/onnx/proto.h"
#include "net/onnx/words.h"
#include "net/ops/ops.h"
#include "net/plan/net.h"

/* ---- Given inputs ---------------------------------------------------------------------------- */

struct sis__given {
    char *name;
    sis__dtype dtype;
    int elem;
    size_t rank, count;
    int64_t dims[SIS__MAX_RANK];
    void *data;
    struct sis__given *next;
};

void sis__net_forget(sis_net *net) {
    for (struct sis__given *g = net->given, *next; g; g = next) {
        next = g->next;
        free(g->name);
        free(g->data);
        free(g);
    }
    free(net->explained);
    free(net->chosen);
    net->given = NULL;
    net->explained = NULL;
    net->chosen = NULL;
}

/* A number that an input of whole numbers, or of truth values, would change. */
static int is_changed(sis__dtype to, double v) {
    return (to == SIS__BOOL && v != 0 && v != 1) || (to == SIS__I64 && v != floor(v));
}

/* Numbers of one of our types in another, as a row has them. */
static int convert(const sis_net *net, const sis_net_tensor *t, struct sis__given *g) {
    int error = SIS_OK;
    for (size_t k = 0; k < g->count && !error; k++) {
        size_t i = t->shape.rank ? k : 0;
        double v = t->type == SIS_NET_FLOATS  ? (double)((const float *)t->data)[i]
                   : t->type == SIS_NET_INTS  ? (double)((const int64_t *)t->data)[i]
                   : t->type == SIS_NET_BOOLS ? (double)((const uint8_t *)t->data)[i]
                                              : 0;
        const char *text = t->type == SIS_NET_TEXTS ? ((const char *const *)t->data)[i] : NULL;
        if ((text != NULL) != (g->dtype == SIS__TEXT))
            return sis__fail(SIS_E_ARGUMENT, "input %s takes %s", g->name,
                             text ? "numbers, not texts" : "texts, not numbers");
        if (is_changed(g->dtype, v))
            return sis__fail(SIS_E_ARGUMENT, "input %s takes %s, not %g", g->name,
                             g->dtype == SIS__BOOL ? "0 and 1" : "whole numbers", v);
        if (text)
            error = sis__words_put(net->graph.words, text, strlen(text), (int64_t *)g->data + k);
        else if (g->dtype == SIS__F32)
            ((float *)g->data)[k] = (float)v;
        else if (g->dtype == SIS__BOOL)
            ((uint8_t *)g->data)[k] = v != 0;
        else
            ((int64_t *)g->data)[k] = t->type == SIS_NET_INTS   ? ((const int64_t *)t->data)[i]
                                      : v >= -9e15 && v <= 9e15 ? (int64_t)v
                                                                : INT64_MIN;
    }
    return error || g->dtype != SIS__I64
               ? error
               : sis__elem_check(g->elem, g->name, (const int64_t *)g->data, g->count);
}

/* A declared input of the document, by name. */
static const Sis__Onnx__ValueInfo *declared(const sis_net *net, const char *name) {
    const Sis__Onnx__Graph *g = net->doc->graph;
    for (size_t i = 0; i < g->n_input; i++)
        if (g->input[i]->name && strcmp(g->input[i]->name, name) == 0)
            return g->input[i];
    return NULL;
}

/* The shape of the file, free sizes 0. */
static void declared_shape(const Sis__Onnx__TensorShape *from, sis_net_shape *shape) {
    shape->rank = from && from->n_dim <= SIS_NET_MAX_RANK ? from->n_dim : 0;
    for (size_t d = 0; d < shape->rank; d++) {
        const Sis__Onnx__TensorShape__Dimension *dim = from->dim[d];
        int fixed = dim->value_case == SIS__ONNX__TENSOR_SHAPE__DIMENSION__VALUE_DIM_VALUE;
        shape->dims[d] = fixed && dim->dim_value > 0 ? (size_t)dim->dim_value : 0;
    }
}

/* The shape of a value: one number fills what is declared, free sizes being 1; an array has its own,
 * along the axes that are declared. */
static int given_shape(const char *name, const Sis__Onnx__TensorShape *from,
                       const sis_net_shape *own, sis_net_shape *out) {
    sis_net_shape wanted = {0};
    declared_shape(from, &wanted);
    *out = own->rank ? *own : wanted;
    for (size_t d = 0; own->rank == 0 && d < out->rank; d++)
        out->dims[d] = out->dims[d] ? out->dims[d] : 1;
    if (own->rank == 0 || own->rank > SIS_NET_MAX_RANK || wanted.rank == 0)
        return SIS_OK;
    out->rank = wanted.rank;
    int error = sis__dims_fit(own->dims, own->rank, wanted.dims, wanted.rank, out->dims);
    return error ? sis__fail_in(error, "input %s", name) : SIS_OK;
}

static int new_given(const sis_net *net, const char *name, const sis_net_tensor *t,
                     struct sis__given **out) {
    const Sis__Onnx__ValueInfo *info = declared(net, name);
    if (!info || !info->type || info->type->value_case != SIS__ONNX__TYPE__VALUE_TENSOR_TYPE)
        return sis__fail(SIS_E_ARGUMENT, "the model has no input %s that is a tensor", name);
    struct sis__given *g = *out = SIS_NEW(struct sis__given, 1);
    if (!g)
        return SIS_E_NOMEM;
    g->elem = info->type->tensor_type->elem_type;
    g->dtype = sis__elem_dtype(g->elem);
    g->name = (char *)sis__copy(name, strlen(name) + 1, 1);
    sis_net_shape shape;
    int error = given_shape(name, info->type->tensor_type->shape, &t->shape, &shape);
    if (error)
        return error;
    g->rank = shape.rank;
    g->count = 1;
    for (size_t d = 0; d < g->rank && d < SIS__MAX_RANK; d++) {
        g->dims[d] = (int64_t)shape.dims[d];
        if (shape.dims[d] && g->count > SIS__MAX_COUNT / shape.dims[d])
            return sis__fail(SIS_E_ARGUMENT, "input %s has too many values", name);
        g->count *= shape.dims[d];
    }
    g->data = sis__alloc(g->count + 1, 8);
    if (!g->name || !g->data)
        return SIS_E_NOMEM;
    if (g->dtype == SIS__OTHER || g->rank > SIS__MAX_RANK)
        return sis__fail(SIS_E_ARGUMENT, "input %s cannot be given", name);
    return convert(net, t, g);
}

static void free_given(struct sis__given *g) {
    if (!g)
        return;
    free(g->name);
    free(g->data);
    free(g);
}

/* Take the one of that name out of the list. */
static struct sis__given *unlink_given(sis_net *net, const char *name) {
    for (struct sis__given **at = &net->given; *at; at = &(*at)->next)
        if (strcmp((*at)->name, name) == 0) {
            struct sis__given *g = *at;
            *at = g->next;
            g->next = NULL;
            return g;
        }
    return NULL;
}

/* In the order they were given; a graph that is loaded again gets them again. */
static void put_given(sis__graph *g, const struct sis__given *given) {
    for (; given; given = given->next) {
        int id = sis__graph_find(g, given->name);
        if (id < 0)
            continue;
        sis__value *v = &g->values[id];
        v->data = given->data;
        v->shaped = 1;
        v->rank = given->rank;
        memcpy(v->dims, given->dims, sizeof v->dims);
        size_t kept = 0;
        for (size_t i = 0; i < g->n_inputs; i++)
            if (g->inputs[i] != id)
                g->inputs[kept++] = g->inputs[i];
        g->n_inputs = kept;
    }
}

/* ---- Who is who ------------------------------------------------------------------------------ */

/* What an input with such a name is where there are tokens; -1: something else. */
static int follows(const char *name) {
    static const int kinds[] = {-1, SIS__GRAFT_PRESENT, SIS__GRAFT_ZEROS, SIS__GRAFT_POSITIONS,
                                SIS__GRAFT_LENGTHS}; /* in the order of sis__follow */
    return kinds[sis__follow_named(name)];
}

/* The only input of whole numbers that nothing says follows; -1: none, or several. */
static int find_ids(const sis__graph *g) {
    int found = -1;
    for (size_t i = 0; i < g->n_inputs; i++) {
        const sis__value *v = &g->values[g->inputs[i]];
        if (follows(v->name) >= 0)
            continue;
        int tokens = v->dtype == SIS__I64 && v->shaped && v->rank == 2 && v->dims[1] != 1;
        if (!tokens || found >= 0)
            return -1;
        found = g->inputs[i];
    }
    return found;
}

/* Input -> Cast or Identity, any number -> Gather from a float matrix that is an initializer; what
 * else reads it on the way may ask for its shape alone. */
void sis__net_find_embedding(const sis__graph *g, int value, int *embedding, int *embedded) {
    *embedding = *embedded = -1;
    for (int hops = 0; hops < 4; hops++) {
        const sis__node *next = NULL;
        for (size_t i = 0; i < g->n_nodes; i++)
            for (size_t j = 0; j < g->nodes[i].n_inputs; j++) {
                const sis__node *n = &g->nodes[i];
                if (n->inputs[j] != value || n->op_id == SIS__OP_SHAPE || n->op_id == SIS__OP_SIZE)
                    continue;
                if (next)
                    return;
                next = n;
            }
        if (!next || next->n_outputs != 1 || next->outputs[0] < 0)
            return;
        if (next->op_id == SIS__OP_CAST || next->op_id == SIS__OP_IDENTITY) {
            value = next->outputs[0];
            continue;
        }
        if (next->op_id != SIS__OP_GATHER || next->n_inputs != 2 || next->inputs[1] != value ||
            next->inputs[0] < 0)
            return;
        const sis__value *m = &g->values[next->inputs[0]];
        int by_rows = 1;
        for (size_t i = 0; i < next->proto->n_attribute; i++)
            by_rows &= next->proto->attribute[i]->i == 0;
        if (m->data && m->dtype == SIS__F32 && m->rank == 2 && m->dims[0] > 0 && by_rows) {
            *embedding = next->inputs[0];
            *embedded = next->outputs[0];
        }
        return;
    }
}

/* ---- Nodes in front -------------------------------------------------------------------------- */

/* Every input but `ids` follows from it, or from its embeddings where it has them. */
static int follow_ids(sis_net *net, sis__graph *g, int ids) {
    sis__graft *grafts = SIS_NEW(sis__graft, g->n_inputs);
    size_t n = 0;
    int embedding, embedded, error = grafts ? SIS_OK : SIS_E_NOMEM;
    sis__net_find_embedding(g, ids, &embedding, &embedded);
    for (size_t i = 0; i < g->n_inputs && !error; i++) {
        const sis__value *v = &g->values[g->inputs[i]];
        int kind = follows(v->name);
        if (g->inputs[i] == ids)
            continue;
        if (kind < 0 || v->dtype > SIS__BOOL)
            error = sis__fail(SIS_E_UNSUPPORTED,
                              "the model takes input %s beside %s; give it a value (--with %s=...)",
                              v->name, g->values[ids].name, v->name);
        grafts[n] = (sis__graft){.kind = (sis__graft_kind)kind, .from = ids, .to = g->inputs[i]};
        grafts[n].pad_id = net->pad;
        if (embedded >= 0) {
            const sis__value *m = &g->values[embedding];
            grafts[n].from = embedded;
            grafts[n].embedded = 1;
            grafts[n].dim = (size_t)m->dims[1];
            if (net->pad >= 0 && net->pad < m->dims[0])
                grafts[n].pad = (const float *)m->data + net->pad * m->dims[1];
        }
        n++;
    }
    if (!error && n)
        error = sis__graph_graft(g, grafts, n);
    free(grafts);
    return error;
}

/* All inputs side by side in one row. */
static int join_inputs(sis__graph *g) {
    sis__graft *grafts = SIS_NEW(sis__graft, g->n_inputs);
    size_t n = g->n_inputs, width = 0;
    int counted = 1;
    if (!grafts)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const sis__value *v = &g->values[g->inputs[i]];
        counted &= v->rank > 0 && (v->dims[0] == -1 || v->dims[0] == 1);
    }
    int error = SIS_OK;
    for (size_t i = 0; i < n && !error; i++) {
        const sis__value *v = &g->values[g->inputs[i]];
        size_t values = 1;
        for (size_t d = counted ? 1 : 0; d < v->rank && !error; d++) {
            size_t size = v->dims[d] < 0 ? 0 : (size_t)v->dims[d];
            if (size == 0 || values > ((size_t)1 << 24) / size)
                error = sis__fail(
                    SIS_E_UNSUPPORTED,
                    "the model has %zu inputs, and %s leaves a size free; say which is explained "
                    "(--explain NAME) and give the others (--with NAME=FILE)",
                    n, v->name);
            else
                values *= size;
        }
        if (!error && (v->dtype == SIS__OTHER || !v->shaped))
            error = sis__fail(SIS_E_UNSUPPORTED, "input %s is no tensor with a shape", v->name);
        grafts[i] = (sis__graft){
            .kind = SIS__GRAFT_PART, .to = g->inputs[i], .offset = width, .counted = counted};
        width += values;
    }
    int row = error ? -1 : sis__graph_row_input(g, width, counted);
    for (size_t i = 0; i < n; i++)
        grafts[i].from = row;
    if (!error)
        error = sis__graph_graft(g, grafts, n);
    free(grafts);
    return error;
}

/* The one input that the caller named; the others have to follow. */
static int explain_named(sis_net *net, sis__graph *g) {
    int id = sis__graph_find(g, net->explained);
    for (size_t i = 0; i < g->n_inputs; i++)
        if (g->inputs[i] == id)
            return follow_ids(net, g, id);
    return sis__fail(SIS_E_ARGUMENT, "the model has no input %s to explain; its first is %s",
                     net->explained, g->n_inputs ? g->values[g->inputs[0]].name : "(none)");
}

int sis__net_prepare_inputs(sis_net *net, sis__graph *g) {
    put_given(g, net->given);
    if (g->n_inputs == 0)
        return net->given ? sis__fail(SIS_E_ARGUMENT,
                                      "the model has no input that is not given (--with), so that "
                                      "rows have nowhere to go")
                          : sis__fail(SIS_E_FORMAT, "the model has no input");
    if (net->explained)
        return explain_named(net, g);
    if (g->n_inputs == 1)
        return SIS_OK;
    int ids = find_ids(g);
    return ids >= 0 ? follow_ids(net, g, ids) : join_inputs(g);
}

/* ---- The caller's say ------------------------------------------------------------------------ */

int sis_net_set_input(sis_net *net, const char *name, const sis_net_tensor *value) {
    struct sis__given *fresh = NULL;
    int error = value ? new_given(net, name, value, &fresh) : SIS_OK;
    if (error) {
        free_given(fresh);
        return error;
    }
    struct sis__given *old = unlink_given(net, name);
    if (fresh) {
        fresh->next = net->given;
        net->given = fresh;
    }
    if ((error = sis__net_reload(net)) == SIS_OK) {
        free_given(old);
        return SIS_OK;
    }
    free_given(unlink_given(net, name)); /* as it was */
    if (old) {
        old->next = net->given;
        net->given = old;
    }
    return error;
}

/* A name that the network goes by, *at, is exchanged; it stays as it was if that leads nowhere. */
static int rename_in(sis_net *net, char **at, const char *name) {
    char *copy = name ? sis__strdup(name) : NULL, *old = *at;
    if (name && !copy)
        return SIS_E_NOMEM;
    *at = copy;
    int error = sis__net_reload(net);
    if (error)
        *at = old;
    free(error ? copy : old);
    return error;
}

int sis_net_explain_input(sis_net *net, const char *name) {
    return rename_in(net, &net->explained, name);
}

int sis_net_choose_output(sis_net *net, const char *name) {
    return rename_in(net, &net->chosen, name);
}

int sis_net_set_padding(sis_net *net, int64_t id) {
    int64_t old = net->pad;
    net->pad = id;
    int error = sis__net_reload(net);
    if (error)
        net->pad = old;
    return error;
}

size_t sis_net_inputs(const sis_net *net) {
    size_t n = 0;
    for (size_t i = 0; i < net->doc->graph->n_input; i++) {
        const char *name = net->doc->graph->input[i]->name;
        int id = name ? sis__graph_find(&net->graph, name) : -1;
        n += id >= 0 && !net->graph.values[id].tensor;
    }
    return n;
}

int sis_net_input_get(const sis_net *net, size_t i, sis_net_tensor *input) {
    *input = (sis_net_tensor){0};
    for (size_t k = 0; k < net->doc->graph->n_input; k++) {
        const char *name = net->doc->graph->input[k]->name;
        int id = name ? sis__graph_find(&net->graph, name) : -1;
        if (id < 0 || net->graph.values[id].tensor || i-- > 0)
            continue;
        const sis__value *v = &net->graph.values[id];
        input->name = v->name;
        input->type = v->dtype == SIS__F32    ? SIS_NET_FLOATS
                      : v->dtype == SIS__BOOL ? SIS_NET_BOOLS
                      : v->dtype == SIS__TEXT ? SIS_NET_TEXTS
                                              : SIS_NET_INTS;
        input->shape.rank = v->rank;
        for (size_t d = 0; d < v->rank; d++)
            input->shape.dims[d] = v->dims[d] < 0 ? 0 : (size_t)v->dims[d];
        return SIS_OK;
    }
    return sis__fail(SIS_E_ARGUMENT, "the model has no input %zu", i);
}

int sis_net_input_is_fed(const sis_net *net, size_t i) {
    sis_net_tensor t;
    int id = sis_net_input_get(net, i, &t) ? -1 : sis__graph_find(&net->graph, t.name);
    if (id < 0 || net->graph.values[id].data)
        return 0;
    int producer = net->graph.values[id].producer;
    return id == net->input ||
           (producer >= 0 && strcmp(net->graph.nodes[producer].proto->op_type, "Part") == 0);
}

int sis_net_takes_words(const sis_net *net) {
    sis_net_tensor t;
    int words = 0;
    for (size_t i = 0; i < sis_net_inputs(net); i++)
        if (sis_net_input_is_fed(net, i) && sis_net_input_get(net, i, &t) == SIS_OK)
            words |= t.type == SIS_NET_TEXTS;
    return words;
}

size_t sis_net_words_size(const sis_net *net) {
    return sis__words_size(net->graph.words);
}

int sis_net_word(const sis_net *net, const char *text, float *value) {
    int64_t id;
    int error = sis__words_put(net->graph.words, text, strlen(text), &id);
    if (!error && id > 1 << 24)
        error = sis__fail(SIS_E_UNSUPPORTED, "more than 2^24 different texts");
    *value = error ? 0.0f : (float)id;
    return error;
}

const char *sis_net_text(const sis_net *net, float value) {
    size_t n;
    return sis__words_get(net->graph.words, (int64_t)value, &n);
}
