/* SPDX-License-Identifier: MIT
 *
 * See bias.h.
 */
#include "net/lower/bias.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/lower/index.h"
#include "net/onnx/graph.h"
#include "net/onnx/proto.h"

static int is_conv(const Sis__Onnx__Node *n) {
    return sis__node_is(n, "", "Conv") && n->n_output == 1 && n->n_input >= 2 && n->n_input <= 3;
}

static int lacks_bias(const Sis__Onnx__Node *n) {
    return is_conv(n) && !*sis__node_input(n, 2);
}

/* Takes ownership of the name, unless it fails. */
static int set_bias(Sis__Onnx__Node *conv, char *name) {
    if (conv->n_input < 3)
        return sis__proto_append(&conv->input, &conv->n_input, name);
    free(conv->input[2]);
    conv->input[2] = name;
    return SIS_OK;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* Does `added` have one float for each filter of w and size 1 along all other axes? */
static int is_bias(const Sis__Onnx__Tensor *w, const Sis__Onnx__Tensor *added) {
    if (!w || !added || w->n_dims < 3 || w->dims[0] < 2 || w->data_type != SIS__FLOAT ||
        added->data_type != SIS__FLOAT || added->n_dims > w->n_dims)
        return 0;
    for (size_t d = 1; d <= added->n_dims; d++) /* from the last axis on; filters are the second */
        if (added->dims[added->n_dims - d] != (d + 1 == w->n_dims ? w->dims[0] : 1))
            return 0;
    return added->n_dims + 1 >= w->n_dims;
}

/* The Add of such a constant to the result of n, and the constant's name; NULL: none. */
static Sis__Onnx__Node *find_add(const sis__index *x, const Sis__Onnx__Node *n, const char **bias) {
    const sis__index_entry *sums = sis__index_of(x, n->output[0]);
    Sis__Onnx__Node *add = sums->reads == 1 ? sums->reader : NULL;
    if (!add || !sis__node_is(add, "", "Add") || add->n_input != 2 || add->n_output != 1 ||
        add->n_attribute)
        return NULL;
    *bias = add->input[strcmp(add->input[0], n->output[0]) == 0];
    return is_bias(sis__index_of(x, sis__node_input(n, 1))->constant,
                   sis__index_of(x, *bias)->constant)
               ? add
               : NULL;
}

/* The Add node becomes the Squeeze and takes the unused name of the sums; the convolution takes the
 * name of the Add's result. */
static int join_one(Sis__Onnx__Node *conv, Sis__Onnx__Node *add, const char *bias) {
    char *sums = conv->output[0], *result = add->output[0], *name = sis__strdup(sums);
    int error = name ? sis__node_become(add, "Squeeze", bias) : SIS_E_NOMEM;
    if (!error)
        error = set_bias(conv, name);
    if (error) {
        free(name);
        return error;
    }
    add->output[0] = sums;
    conv->output[0] = result;
    return SIS_OK;
}

/* ---- Normalisation --------------------------------------------------------------------------- */

/* Is it a BatchNormalization with given statistics? */
static int is_inference(const Sis__Onnx__Node *n) {
    return sis__proto_int(n, "spatial", 1) && sis__proto_int(n, "is_test", 1) &&
           !sis__proto_int(n, "training_mode", 0) && n->n_input == 5 && n->n_output == 1;
}

/* Constant floats, one per filter (0: any number); NULL: another tensor. */
static float *floats_of(const sis__index *x, const char *name, size_t filters, size_t *count) {
    const Sis__Onnx__Tensor *t = sis__index_of(x, name)->constant;
    sis__decoded d;
    if (!t || t->data_type != SIS__FLOAT || sis__tensor_decode(t, NULL, &d) != SIS_OK ||
        (filters && d.count != filters))
        return NULL;
    *count = d.count;
    return (float *)(uintptr_t)d.data; /* points into the document, which we own */
}

/* The constants of a convolution and of the BatchNormalization after it. */
typedef struct {
    float *w, *bias; /* bias NULL: none */
    float *v[4];     /* scale, shift, mean, variance */
    size_t filters, each;
    double epsilon;
} normalized;

static int find_numbers(const sis__index *x, const Sis__Onnx__Node *conv, const Sis__Onnx__Node *n,
                        normalized *f) {
    const Sis__Onnx__Tensor *w = sis__index_of(x, sis__node_input(conv, 1))->constant;
    const char *bias = sis__node_input(conv, 2);
    size_t count = 0, total = 0;
    const Sis__Onnx__Attribute *epsilon = sis__proto_attribute(n, "epsilon");
    f->epsilon = (double)(epsilon ? epsilon->f : 1e-5f);
    f->filters = w && w->n_dims > 2 && w->dims[0] > 0 ? (size_t)w->dims[0] : 0;
    f->w = f->filters ? floats_of(x, sis__node_input(conv, 1), 0, &total) : NULL;
    f->bias = f->w && *bias ? floats_of(x, bias, f->filters, &count) : NULL;
    int fits = f->w && total > 0 && (f->bias || !*bias);
    f->each = fits ? total / f->filters : 0;
    for (size_t i = 0; i < 4 && fits; i++)
        fits = (f->v[i] = floats_of(x, sis__node_input(n, i + 1), f->filters, &count)) != NULL;
    for (size_t i = 0; i < f->filters && fits; i++)
        fits = (double)f->v[3][i] + f->epsilon > 0;
    return fits;
}

/* Fold the normalisation into the weights and bias of the convolution, which nothing else reads. */
static void fold_numbers(const normalized *f) {
    for (size_t i = 0; i < f->filters; i++) {
        double k = (double)f->v[0][i] / sqrt((double)f->v[3][i] + f->epsilon);
        double bias = f->bias ? (double)f->bias[i] : 0;
        f->v[1][i] = (float)((double)f->v[1][i] + (bias - (double)f->v[2][i]) * k);
        for (size_t j = i * f->each; j < (i + 1) * f->each; j++)
            f->w[j] = (float)((double)f->w[j] * k);
    }
}

/* The normalisation node becomes dead: it reads the new result of the convolution. */
static int fold_one(const sis__index *x, Sis__Onnx__Node *conv) {
    const sis__index_entry *sums = sis__index_of(x, conv->output[0]);
    Sis__Onnx__Node *n = sums->reads == 1 ? sums->reader : NULL;
    normalized f;
    if (!n || !sis__node_is(n, "", "BatchNormalization") || !is_inference(n) ||
        strcmp(n->input[0], conv->output[0]) != 0)
        return SIS_OK;
    const sis__index_entry *w = sis__index_of(x, sis__node_input(conv, 1)),
                           *shift = sis__index_of(x, n->input[2]);
    if (w->reads != 1 || shift->reads != 1 || shift->producer || !find_numbers(x, conv, n, &f))
        return SIS_OK;
    char *name = sis__strdup(n->input[2]), *result = n->output[0];
    int error = name ? sis__node_become(n, "Identity", result) : SIS_E_NOMEM;
    if (!error)
        error = set_bias(conv, name);
    if (error) {
        free(name);
        return error;
    }
    fold_numbers(&f);
    n->output[0] = conv->output[0];
    conv->output[0] = result;
    return SIS_OK;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static int may_join(const Sis__Onnx__Graph *g) {
    int some = 0;
    for (size_t i = 0; i < g->n_node; i++) {
        some |= is_conv(g->node[i]);
        for (size_t k = 0; k < g->node[i]->n_attribute; k++)
            if (g->node[i]->attribute[k]->g || g->node[i]->attribute[k]->n_graphs)
                return 0;
    }
    return some;
}

int sis__bias_join(Sis__Onnx__Graph *g) {
    sis__index x;
    const char *bias;
    if (!may_join(g))
        return SIS_OK;
    int error = sis__index_graph(&x, g);
    for (size_t i = 0; i < g->n_node && !error; i++) {
        Sis__Onnx__Node *add = lacks_bias(g->node[i]) ? find_add(&x, g->node[i], &bias) : NULL;
        if (add)
            error = join_one(g->node[i], add, bias);
        else if (is_conv(g->node[i]))
            error = fold_one(&x, g->node[i]);
    }
    sis__index_release(&x);
    return error;
}
