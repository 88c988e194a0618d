/* SPDX-License-Identifier: MIT
 *
 * See sparse.h. A sparse tensor is a list of values and of their places: numbers in the flat array, or an
 * index for each axis. A small file may name large tensors, so what all take together is limited.
 */
#include "net/onnx/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/graph.h"
#include "net/onnx/proto.h"

static const size_t max_bytes = (size_t)256 << 20;

typedef struct {
    size_t left; /* bytes that may still be written out */
} expander;

static const char *name_of(const Sis__Onnx__SparseTensor *s) {
    return s->values && s->values->name ? s->values->name : "(unnamed)";
}

/* Bytes of an element that is kept as the file has it; 0: of another type. */
static size_t element_size(int type) {
    return type == SIS__FLOAT ? 4 : type == SIS__INT64 ? 8 : 0;
}

/* How many values the whole has. */
static int count_all(expander *x, const Sis__Onnx__SparseTensor *s, size_t size, size_t *count) {
    *count = 1;
    for (size_t d = 0; d < s->n_dims; d++) {
        if (s->dims[d] < 0 || (s->dims[d] && *count > x->left / size / (size_t)s->dims[d]))
            return sis__fail(SIS_E_UNSUPPORTED,
                             "sparse tensor %s: axis %zu of size %lld; all of them may take %zu MB",
                             name_of(s), d, (long long)s->dims[d], max_bytes >> 20);
        *count *= (size_t)s->dims[d];
    }
    x->left -= *count * size;
    return SIS_OK;
}

/* The place of value i in the flat array; SIZE_MAX: outside. */
static size_t place_of(const Sis__Onnx__SparseTensor *s, const sis__decoded *places, size_t i,
                       size_t count) {
    const int64_t *at = (const int64_t *)places->data;
    size_t place = 0;
    if (places->rank == 1)
        return at[i] >= 0 && (uint64_t)at[i] < count ? (size_t)at[i] : SIZE_MAX;
    for (size_t d = 0; d < s->n_dims; d++) {
        int64_t k = at[i * s->n_dims + d];
        if (k < 0 || k >= s->dims[d])
            return SIZE_MAX;
        place = place * (size_t)s->dims[d] + (size_t)k;
    }
    return place;
}

static int write_values(const Sis__Onnx__SparseTensor *s, const sis__decoded *values,
                        const sis__decoded *places, size_t size, char *all, size_t count) {
    int flat = places->rank == 1 && places->count == values->count;
    int by_axis = places->rank == 2 && (size_t)places->dims[0] == values->count &&
                  (size_t)places->dims[1] == s->n_dims;
    if (places->elem != SIS__INT64 || (!flat && !by_axis && values->count))
        return sis__fail(SIS_E_FORMAT, "sparse tensor %s: places that are none of its values",
                         name_of(s));
    for (size_t i = 0; i < values->count; i++) {
        size_t at = place_of(s, places, i, count);
        if (at == SIZE_MAX)
            return sis__fail(SIS_E_FORMAT, "sparse tensor %s: value %zu lies outside of it",
                             name_of(s), i);
        memcpy(all + at * size, (const char *)values->data + i * size, size);
    }
    return SIS_OK;
}

static int fill(expander *x, const Sis__Onnx__SparseTensor *s, Sis__Onnx__Tensor *t) {
    sis__decoded values = {0}, places = {0};
    size_t count = 0, size = s->values ? element_size(s->values->data_type) : 0;
    if (!s->values || !s->indices || size == 0)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "sparse tensor %s: only values of type float and int64 are read; save it "
                         "as a dense one",
                         name_of(s));
    int error = count_all(x, s, size, &count);
    if (!error)
        error = sis__tensor_decode(s->values, NULL, &values);
    if (!error)
        error = sis__tensor_decode(s->indices, NULL, &places);
    char *all = error ? NULL : (char *)sis__alloc(count + 1, size);
    if (all) {
        t->raw_data.data = (uint8_t *)all;
        t->raw_data.len = count * size;
        t->has_raw_data = 1;
        error = write_values(s, &values, &places, size, all, count);
    }
    free(values.owned);
    free(places.owned);
    return error || all ? error : SIS_E_NOMEM;
}

/* The same as a dense tensor. */
static int densify(expander *x, const Sis__Onnx__SparseTensor *s, Sis__Onnx__Tensor **out) {
    Sis__Onnx__Tensor *t = SIS_NEW(Sis__Onnx__Tensor, 1);
    *out = t;
    if (!t)
        return SIS_E_NOMEM;
    sis__onnx__tensor__init(t);
    int error = fill(x, s, t);
    if (error)
        return error;
    t->has_data_type = 1;
    t->data_type = s->values->data_type;
    t->name = s->values->name ? sis__strdup(s->values->name) : NULL;
    t->dims = s->n_dims ? (int64_t *)sis__copy(s->dims, s->n_dims, sizeof *s->dims) : NULL;
    t->n_dims = t->dims ? s->n_dims : 0;
    return (s->values->name && !t->name) || t->n_dims != s->n_dims ? SIS_E_NOMEM : SIS_OK;
}

static int expand_graph(expander *x, Sis__Onnx__Graph *g);

static int expand_attribute(expander *x, Sis__Onnx__Attribute *a) {
    Sis__Onnx__Tensor *dense = NULL;
    if (a->g)
        return expand_graph(x, a->g);
    if (!a->sparse_tensor || a->t || !a->name || strcmp(a->name, "sparse_value") != 0)
        return SIS_OK;
    char *name = sis__strdup("value");
    int error = name ? densify(x, a->sparse_tensor, &dense) : SIS_E_NOMEM;
    if (error) {
        free(name);
        if (dense)
            sis__proto_free(&dense->base);
        return error;
    }
    sis__proto_free(&a->sparse_tensor->base);
    a->sparse_tensor = NULL;
    a->t = dense;
    free(a->name);
    a->name = name;
    a->type = SIS__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__TENSOR;
    return SIS_OK;
}

static int expand_nodes(expander *x, Sis__Onnx__Node **nodes, size_t n) {
    int error = SIS_OK;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < nodes[i]->n_attribute && !error; k++)
            error = expand_attribute(x, nodes[i]->attribute[k]);
    return error;
}

static int expand_initializer(expander *x, Sis__Onnx__Graph *g, Sis__Onnx__SparseTensor *s) {
    Sis__Onnx__Tensor *dense = NULL;
    int error = densify(x, s, &dense);
    if (!error)
        error = sis__proto_append((void *)&g->initializer, &g->n_initializer, dense);
    if (error && dense)
        sis__proto_free(&dense->base);
    return error;
}

static int expand_graph(expander *x, Sis__Onnx__Graph *g) {
    int error = SIS_OK;
    while (g->n_sparse_initializer && !error) {
        Sis__Onnx__SparseTensor *s = g->sparse_initializer[g->n_sparse_initializer - 1];
        error = expand_initializer(x, g, s);
        if (!error) {
            sis__proto_free(&s->base);
            g->n_sparse_initializer--;
        }
    }
    if (!g->n_sparse_initializer) {
        free((void *)g->sparse_initializer);
        g->sparse_initializer = NULL;
    }
    return error ? error : expand_nodes(x, g->node, g->n_node);
}

int sis__sparse_expand(Sis__Onnx__Model *doc) {
    expander x = {.left = max_bytes};
    int error = doc->graph ? expand_graph(&x, doc->graph) : SIS_OK;
    for (size_t i = 0; i < doc->n_functions && !error; i++)
        error = expand_nodes(&x, doc->functions[i]->node, doc->functions[i]->n_node);
    return error;
}
