/* SPDX-License-Identifier: MIT
 *
 * See bias.h.
 */
#include "net/lower/bias.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/lower/index.h"
#include "net/onnx/graph.h"
#include "net/onnx/proto.h"

static int lacks_bias(const Sis__Onnx__Node *n) {
    return sis__node_is(n, "", "Conv") && n->n_output == 1 && n->n_input <= 3 &&
           !*sis__node_input(n, 2);
}

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
    if (!error && conv->n_input == 3) {
        free(conv->input[2]);
        conv->input[2] = name;
    } else if (!error) {
        error = sis__proto_append(&conv->input, &conv->n_input, name);
    }
    if (error) {
        free(name);
        return error;
    }
    add->output[0] = sums;
    conv->output[0] = result;
    return SIS_OK;
}

static int may_join(const Sis__Onnx__Graph *g) {
    int some = 0;
    for (size_t i = 0; i < g->n_node; i++) {
        some |= lacks_bias(g->node[i]);
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
    }
    sis__index_release(&x);
    return error;
}
