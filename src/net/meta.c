/* SPDX-License-Identifier: MIT
 *
 * Everything in a model file besides its graph: metadata, labels and the mask; and access to the
 * parameters by number.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "net/onnx/proto.h"
#include "net/ops/ops.h"
#include "net/plan/cache.h"
#include "net/plan/net.h"

/* ---- Metadata ------------------------------------------------------------------------------ */

static size_t find_meta(const Sis__Onnx__Model *doc, const char *key) {
    for (size_t i = 0; i < doc->n_metadata_props; i++)
        if (doc->metadata_props[i]->key && strcmp(doc->metadata_props[i]->key, key) == 0)
            return i;
    return SIZE_MAX;
}

size_t sis_net_meta_count(const sis_net *net) {
    return net->doc->n_metadata_props;
}

const char *sis_net_meta_key(const sis_net *net, size_t i) {
    return i < net->doc->n_metadata_props ? net->doc->metadata_props[i]->key : NULL;
}

const char *sis_net_meta_get(const sis_net *net, const char *key) {
    size_t i = find_meta(net->doc, key);
    if (i == SIZE_MAX)
        return NULL;
    return net->doc->metadata_props[i]->value ? net->doc->metadata_props[i]->value : "";
}

static void remove_meta(Sis__Onnx__Model *doc, size_t i) {
    sis__proto_free(&doc->metadata_props[i]->base);
    doc->n_metadata_props--;
    memmove((void *)(doc->metadata_props + i), (void *)(doc->metadata_props + i + 1),
            (doc->n_metadata_props - i) * sizeof *doc->metadata_props);
}

static int add_meta(Sis__Onnx__Model *doc, const char *key, char *value) {
    Sis__Onnx__StringStringEntry *e = SIS_NEW(Sis__Onnx__StringStringEntry, 1);
    if (!e)
        return SIS_E_NOMEM;
    sis__onnx__string_string_entry__init(e);
    e->key = sis__strdup(key);
    if (!e->key || sis__proto_append(&doc->metadata_props, &doc->n_metadata_props, e)) {
        sis__proto_free(&e->base);
        return SIS_E_NOMEM;
    }
    e->value = value;
    return SIS_OK;
}

int sis_net_meta_set(sis_net *net, const char *key, const char *value) {
    size_t i = find_meta(net->doc, key);
    if (!value) {
        if (i != SIZE_MAX)
            remove_meta(net->doc, i);
        return SIS_OK;
    }
    char *copy = sis__strdup(value);
    if (!copy)
        return SIS_E_NOMEM;
    int error = SIS_OK;
    if (i == SIZE_MAX) {
        error = add_meta(net->doc, key, copy);
    } else {
        free(net->doc->metadata_props[i]->value);
        net->doc->metadata_props[i]->value = copy;
    }
    if (error)
        free(copy);
    return error;
}

/* ---- Labels -------------------------------------------------------------------------------- */

static int label_from_meta(const char *list, size_t output, char *text, size_t size) {
    json_t *labels = sis__json_load(list, strlen(list), 0, NULL);
    const char *label = json_string_value(json_array_get(labels, output));
    if (label)
        snprintf(text, size, "%s", label);
    json_decref(labels);
    return label ? SIS_OK : SIS_E_ARGUMENT;
}

/* Labels of a classifier node or of the ZipMap after it. If their number is not `outputs` (0: not
 * known), they belong to a classifier inside the network and are ignored. */
static int label_from_node(const sis__node *n, size_t outputs, size_t output, char *text,
                           size_t size) {
    for (size_t i = 0; n->proto && i < n->proto->n_attribute; i++) {
        const Sis__Onnx__Attribute *a = n->proto->attribute[i];
        if (!a->name || strncmp(a->name, "classlabels_", 12) != 0 ||
            (outputs && outputs != (a->n_strings ? a->n_strings : a->n_ints)))
            continue;
        if (output < a->n_strings) {
            snprintf(text, size, "%.*s", (int)a->strings[output].len,
                     (const char *)a->strings[output].data);
            return SIS_OK;
        }
        if (output < a->n_ints) {
            snprintf(text, size, "%lld", (long long)a->ints[output]);
            return SIS_OK;
        }
    }
    return SIS_E_ARGUMENT;
}

int sis_net_label(const sis_net *net, size_t output, char *text, size_t size) {
    const char *list = sis_net_meta_get(net, SIS_NET_META_LABELS);
    if (list && label_from_meta(list, output, text, size) == SIS_OK)
        return SIS_OK;
    size_t outputs = sis_net_outputs(net);
    for (size_t i = net->graph.n_nodes; i-- > 0;)
        if (label_from_node(&net->graph.nodes[i], outputs, output, text, size) == SIS_OK)
            return SIS_OK;
    return sis__fail(SIS_E_ARGUMENT, "the model names no label for output %zu", output);
}

/* ---- Parameters and the mask ----------------------------------------------------------------- */

static int is_mask(const sis__value *v) {
    return v->data && strcmp(v->name, SIS_NET_MASK) == 0;
}

static int is_param(const sis__value *v) {
    return v->tensor && v->dtype == SIS__F32 && !is_mask(v);
}

static size_t count_of(const sis__value *v) {
    size_t n = 1;
    for (size_t d = 0; d < v->rank; d++)
        n *= (size_t)v->dims[d];
    return n;
}

size_t sis_net_params(const sis_net *net) {
    size_t n = 0;
    for (size_t i = 0; i < net->graph.n_values; i++)
        n += (size_t)is_param(&net->graph.values[i]);
    return n;
}

int sis__net_param(const sis_net *net, size_t i) {
    for (size_t v = 0; v < net->graph.n_values; v++)
        if (is_param(&net->graph.values[v]) && i-- == 0)
            return (int)v;
    return -1;
}

int sis_net_param_get(const sis_net *net, size_t i, sis_net_param *param) {
    int id = sis__net_param(net, i);
    if (id < 0)
        return sis__fail(SIS_E_ARGUMENT, "the model has no parameter %zu", i);
    const sis__value *v = &net->graph.values[id];
    *param = (sis_net_param){.name = v->name, .count = count_of(v), .values = v->data};
    param->shape.rank = v->rank;
    for (size_t d = 0; d < v->rank; d++)
        param->shape.dims[d] = (size_t)v->dims[d];
    return SIS_OK;
}

int sis_net_param_set(sis_net *net, size_t i, const float *values) {
    int id = sis__net_param(net, i);
    if (id < 0)
        return sis__fail(SIS_E_ARGUMENT, "the model has no parameter %zu", i);
    const sis__value *v = &net->graph.values[id];
    Sis__Onnx__Tensor *t = v->tensor;
    if (v->owned)
        return sis__fail(SIS_E_UNSUPPORTED, "parameter %s is stored as %s, not float", v->name,
                         sis__elem_name(v->elem_type));
    memcpy(t->has_raw_data ? (void *)t->raw_data.data : (void *)t->float_data, values,
           count_of(v) * sizeof *values);
    sis__cache_clear(net->cache);
    return SIS_OK;
}

const float *sis_net_mask(const sis_net *net, size_t *n) {
    for (size_t i = 0; i < net->graph.n_values; i++) {
        const sis__value *v = &net->graph.values[i];
        if (is_mask(v) && v->dtype == SIS__F32) {
            *n = count_of(v);
            return (const float *)v->data;
        }
    }
    *n = 0;
    return NULL;
}

/* The new mask is appended first and the old one removed when the new graph is loaded, so a failure
 * leaves the network unchanged. */
int sis_net_mask_set(sis_net *net, const float *values, const sis_net_shape *shape) {
    Sis__Onnx__Graph *g = net->doc->graph;
    size_t before = g->n_initializer, old = before;
    int taken = sis__graph_find(&net->graph, SIS_NET_MASK);
    if (taken >= 0 && !net->graph.values[taken].data)
        return sis__fail(SIS_E_ARGUMENT, "the model already has a value named %s", SIS_NET_MASK);
    for (size_t i = 0; i < before; i++)
        if (g->initializer[i]->name && strcmp(g->initializer[i]->name, SIS_NET_MASK) == 0)
            old = i;
    int error = sis__document_add_tensor(g, SIS_NET_MASK, 1, shape, values);
    Sis__Onnx__Tensor *replaced = NULL;
    if (!error && old < before) {
        replaced = g->initializer[old];
        g->initializer[old] = g->initializer[--g->n_initializer];
    }
    if (!error)
        error = sis__net_reload(net);
    if (error && replaced) {
        g->initializer[g->n_initializer++] = g->initializer[old];
        g->initializer[old] = replaced;
        replaced = NULL;
    }
    while (error && g->n_initializer > before)
        sis__proto_free(&g->initializer[--g->n_initializer]->base);
    if (replaced)
        sis__proto_free(&replaced->base);
    return error;
}
