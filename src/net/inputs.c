/* SPDX-License-Identifier: MIT
 *
 * Networks with several inputs. One input takes the rows. Each other input is
 *
 * - constant: its values come from sis_net_set_input();
 * - derived from the tokens: attention mask, token types, positions, lengths;
 * - or a further part of the row.
 *
 * Nodes that are put in front of the graph (net/onnx/graft.h) compute the last two, so the rest of
 * the engine sees a network with one input. base/signature.h decides the role of each input.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/signature.h"
#include "net/onnx/graft.h"
#include "net/onnx/proto.h"
#include "net/onnx/words.h"
#include "net/ops/ops.h"
#include "net/plan/net.h"

/* ---- Constant inputs ------------------------------------------------------------------------- */

struct sis__extra_input {
    char *name;
    sis__dtype dtype;
    int elem;
    size_t rank, count;
    int64_t dims[SIS__MAX_RANK];
    void *data;
    struct sis__extra_input *next;
};

void sis__net_free_choices(sis_net *net) {
    for (struct sis__extra_input *g = net->extra, *next; g; g = next) {
        next = g->next;
        free(g->name);
        free(g->data);
        free(g);
    }
    free(net->explained);
    free(net->chosen);
    net->extra = NULL;
    net->explained = NULL;
    net->chosen = NULL;
}

/* Would conversion to this type of integers or booleans change the number? */
static int is_changed(sis__dtype to, double v) {
    return (to == SIS__BOOL && v != 0 && v != 1) || (to == SIS__I64 && v != floor(v));
}

/* Convert the numbers to the type of the input, as for rows. */
static int convert(const sis_net *net, const sis_net_tensor *t, struct sis__extra_input *g) {
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

/* Describe the input as the file declares it. An input with too many axes has no shape. */
static void declare_info(const Sis__Onnx__ValueInfo *info, sis__declared *out) {
    const Sis__Onnx__TensorShape *shape = info->type->tensor_type->shape;
    *out = (sis__declared){.name = info->name,
                           .rank = shape && shape->n_dim <= SIS__MAX_RANK ? shape->n_dim : 0};
    for (size_t d = 0; d < out->rank; d++) {
        const Sis__Onnx__TensorShape__Dimension *dim = shape->dim[d];
        int fixed = dim->value_case == SIS__ONNX__TENSOR_SHAPE__DIMENSION__VALUE_DIM_VALUE;
        out->dims[d] = fixed && dim->dim_value > 0 ? dim->dim_value : -1;
    }
}

static int new_extra(const sis_net *net, const char *name, const sis_net_tensor *t,
                     struct sis__extra_input **out) {
    const Sis__Onnx__ValueInfo *info = declared(net, name);
    if (!info || !info->type || info->type->value_case != SIS__ONNX__TYPE__VALUE_TENSOR_TYPE)
        return sis__fail(SIS_E_ARGUMENT, "the model has no input %s that is a tensor", name);
    struct sis__extra_input *g = *out = SIS_NEW(struct sis__extra_input, 1);
    if (!g)
        return SIS_E_NOMEM;
    g->elem = info->type->tensor_type->elem_type;
    g->dtype = sis__elem_dtype(g->elem);
    g->name = (char *)sis__copy(name, strlen(name) + 1, 1);
    sis__declared in;
    size_t dims[SIS__SIGNATURE_RANK];
    declare_info(info, &in);
    int error = sis__signature_given(&in, t->shape.dims, t->shape.rank, dims, &g->rank, &g->count);
    if (error)
        return error;
    for (size_t d = 0; d < g->rank && d < SIS__MAX_RANK; d++)
        g->dims[d] = (int64_t)dims[d];
    g->data = sis__alloc(g->count + 1, 8);
    if (!g->name || !g->data)
        return SIS_E_NOMEM;
    if (g->dtype == SIS__OTHER || g->rank > SIS__MAX_RANK)
        return sis__fail(SIS_E_ARGUMENT, "input %s cannot be given", name);
    return convert(net, t, g);
}

static void free_extra(struct sis__extra_input *g) {
    if (!g)
        return;
    free(g->name);
    free(g->data);
    free(g);
}

/* Remove the input with this name from the list; NULL if there is none. */
static struct sis__extra_input *unlink_extra(sis_net *net, const char *name) {
    for (struct sis__extra_input **at = &net->extra; *at; at = &(*at)->next)
        if (strcmp((*at)->name, name) == 0) {
            struct sis__extra_input *g = *at;
            *at = g->next;
            g->next = NULL;
            return g;
        }
    return NULL;
}

/* Put the constants into the graph in the order of the calls; a reloaded graph gets them again. */
static void put_extras(sis__graph *g, const struct sis__extra_input *extra) {
    for (; extra; extra = extra->next) {
        int id = sis__graph_find(g, extra->name);
        if (id < 0)
            continue;
        sis__value *v = &g->values[id];
        v->data = extra->data;
        v->shaped = 1;
        v->rank = extra->rank;
        memcpy(v->dims, extra->dims, sizeof v->dims);
        size_t kept = 0;
        for (size_t i = 0; i < g->n_inputs; i++)
            if (g->inputs[i] != id)
                g->inputs[kept++] = g->inputs[i];
        g->n_inputs = kept;
    }
}

/* ---- Embeddings ------------------------------------------------------------------------------ */

/* Match: input -> any number of Cast or Identity -> Gather from a float matrix that is an
 * initializer. Other readers of these values may only ask for their shape. */
void sis__net_find_embedding(const sis__graph *g, int value, int *embedding, int *embedded) {
    *embedding = *embedded = -1;
    for (int hops = 0; hops < 4; hops++) {
        const sis__node *next = NULL;
        for (size_t i = 0; i < g->n_nodes; i++)
            for (size_t j = 0; j < g->nodes[i].n_inputs; j++) {
                const sis__node *n = &g->nodes[i];
                if (n->inputs[j] != value || n->op_id == SIS__OP_SHAPE)
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

/* ---- Inserted nodes -------------------------------------------------------------------------- */

/* The inputs of the graph and the role of each. */
typedef struct {
    sis__declared *inputs; /* (n_inputs of the graph) */
    sis__input_role *roles;
    sis__graft *grafts;
    sis__signature found;
} assignment;

static void declare_value(const sis__value *v, sis__declared *out) {
    *out = (sis__declared){.name = v->name, .rank = v->rank};
    out->kind = v->dtype == SIS__I64                   ? SIS__INPUT_WHOLE
                : v->dtype == SIS__TEXT                ? SIS__INPUT_TEXTS
                : v->dtype == SIS__OTHER || !v->shaped ? SIS__INPUT_OTHER
                                                       : SIS__INPUT_NUMBERS;
    for (size_t d = 0; d < v->rank; d++)
        out->dims[d] = v->dims[d];
}

/* Find every other input that is derived from `ids`, or from its embeddings if it has them. */
static size_t follow_ids(const sis_net *net, const sis__graph *g, const assignment *a, int ids) {
    static const sis__graft_kind kinds[] = {SIS__GRAFT_PART, SIS__GRAFT_PRESENT, SIS__GRAFT_ZEROS,
                                            SIS__GRAFT_POSITIONS,
                                            SIS__GRAFT_LENGTHS}; /* in the order of sis__follow */
    int embedding, embedded;
    size_t n = 0;
    sis__net_find_embedding(g, ids, &embedding, &embedded);
    const sis__value *m = embedded >= 0 ? &g->values[embedding] : NULL;
    for (size_t i = 0; i < g->n_inputs; i++) {
        if (g->inputs[i] == ids)
            continue;
        sis__graft *to = &a->grafts[n++];
        *to = (sis__graft){.kind = kinds[a->roles[i].follow],
                           .from = m ? embedded : ids,
                           .to = g->inputs[i],
                           .pad_id = net->pad,
                           .embedded = m != NULL};
        if (!m)
            continue;
        to->dim = (size_t)m->dims[1];
        if (net->pad >= 0 && net->pad < m->dims[0])
            to->pad = (const float *)m->data + net->pad * m->dims[1];
    }
    return n;
}

/* Lay all inputs side by side in one row. Returns their number, 0: out of memory. */
static size_t share_row(sis__graph *g, const assignment *a) {
    size_t n = g->n_inputs, width = 0;
    for (size_t i = 0; i < n; i++) {
        a->grafts[i] = (sis__graft){.kind = SIS__GRAFT_PART,
                                    .to = g->inputs[i],
                                    .offset = a->roles[i].part,
                                    .counted = a->found.counted};
        width += a->roles[i].count;
    }
    int row = sis__graph_row_input(g, width, a->found.counted);
    for (size_t i = 0; i < n; i++)
        a->grafts[i].from = row;
    return row < 0 ? 0 : n;
}

static int graft_inputs(sis_net *net, sis__graph *g, assignment *a) {
    size_t n = g->n_inputs;
    for (size_t i = 0; i < n; i++)
        declare_value(&g->values[g->inputs[i]], &a->inputs[i]);
    int error = sis__signature_assign(a->inputs, n, net->explained, a->roles, &a->found);
    if (error || (n == 1 && a->found.main < n))
        return error;
    if (a->found.main == n)
        return share_row(g, a) ? sis__graph_graft(g, a->grafts, n) : SIS_E_NOMEM;
    return sis__graph_graft(g, a->grafts, follow_ids(net, g, a, g->inputs[a->found.main]));
}

int sis__net_prepare_inputs(sis_net *net, sis__graph *g) {
    put_extras(g, net->extra);
    if (g->n_inputs == 0 && !net->extra)
        return sis__fail(SIS_E_FORMAT, "the model has no input");
    assignment a = {.inputs = SIS_NEW(sis__declared, g->n_inputs),
                    .roles = SIS_NEW(sis__input_role, g->n_inputs),
                    .grafts = SIS_NEW(sis__graft, g->n_inputs)};
    int error = a.inputs && a.roles && a.grafts ? graft_inputs(net, g, &a) : SIS_E_NOMEM;
    free(a.inputs);
    free(a.roles);
    free(a.grafts);
    return error;
}

/* ---- Choices of the caller ------------------------------------------------------------------- */

int sis_net_set_input(sis_net *net, const char *name, const sis_net_tensor *value) {
    struct sis__extra_input *fresh = NULL;
    int error = value ? new_extra(net, name, value, &fresh) : SIS_OK;
    if (error) {
        free_extra(fresh);
        return error;
    }
    struct sis__extra_input *old = unlink_extra(net, name);
    if (fresh) {
        fresh->next = net->extra;
        net->extra = fresh;
    }
    if ((error = sis__net_reload(net)) == SIS_OK) {
        free_extra(old);
        return SIS_OK;
    }
    free_extra(unlink_extra(net, name)); /* undo */
    if (old) {
        old->next = net->extra;
        net->extra = old;
    }
    return error;
}

/* Replace *at, the name of an input or output of the network, and reload; undo it on failure. */
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

/* The value of input i of the file: a declared input that is no initializer; -1: none. */
static int input_value(const sis_net *net, size_t i) {
    for (size_t k = 0; k < net->doc->graph->n_input; k++) {
        const char *name = net->doc->graph->input[k]->name;
        int id = name ? sis__graph_find(&net->graph, name) : -1;
        if (id >= 0 && !net->graph.values[id].tensor && i-- == 0)
            return id;
    }
    return -1;
}

size_t sis_net_inputs(const sis_net *net) {
    size_t n = 0;
    while (input_value(net, n) >= 0)
        n++;
    return n;
}

int sis_net_input_get(const sis_net *net, size_t i, sis_net_tensor *input) {
    int id = input_value(net, i);
    *input = (sis_net_tensor){0};
    if (id < 0)
        return sis__fail(SIS_E_ARGUMENT, "the model has no input %zu", i);
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

int sis_net_input_is_fed(const sis_net *net, size_t i) {
    int id = input_value(net, i);
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
