/* SPDX-License-Identifier: MIT
 *
 * See bias.h.
 */
#include "net/onnx/bias.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "net/onnx/graph.h"
#include "net/onnx/proto.h"

/* What is known of each name, by its number. */
typedef struct {
    size_t reads;
    Sis__Onnx__Node *reader;           /* the last one */
    const Sis__Onnx__Tensor *constant; /* NULL: none */
} name_use;

typedef struct {
    sis__names names;
    name_use *uses;
} name_index;

static int is(const Sis__Onnx__Node *n, const char *type) {
    return n->op_type && strcmp(n->op_type, type) == 0 && (!n->domain || !*n->domain);
}

/* Is it a convolution without a bias? */
static int lacks_bias(const Sis__Onnx__Node *n) {
    return is(n, "Conv") && n->n_output == 1 &&
           (n->n_input == 2 || (n->n_input == 3 && !*n->input[2]));
}

/* ---- Who reads what -------------------------------------------------------------------------- */

static name_use *use_of(const name_index *x, const char *name) {
    uint32_t k = sis__names_find(&x->names, name, strlen(name));
    return k == UINT32_MAX ? NULL : &x->uses[k];
}

static int note(name_index *x, const char *name, name_use **use) {
    uint32_t k;
    int error = sis__names_add(&x->names, name, strlen(name), &k);
    *use = error ? NULL : &x->uses[k];
    return error;
}

static int note_node(name_index *x, Sis__Onnx__Node *n) {
    name_use *use;
    for (size_t i = 0; i < n->n_input; i++) {
        int error = note(x, n->input[i], &use);
        if (error)
            return error;
        use->reads++;
        use->reader = n;
    }
    for (size_t i = 0; i < n->n_attribute && is(n, "Constant") && n->n_output == 1; i++) {
        int error = note(x, n->output[0], &use);
        if (error)
            return error;
        use->constant = n->attribute[i]->t;
    }
    return SIS_OK;
}

static int index_names(name_index *x, const Sis__Onnx__Graph *g) {
    size_t most = g->n_initializer + g->n_output + g->n_node;
    name_use *use;
    int error = SIS_OK;
    for (size_t i = 0; i < g->n_node; i++)
        most += g->node[i]->n_input;
    x->uses = SIS_NEW(name_use, most);
    if (!x->uses)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < g->n_node && !error; i++)
        error = note_node(x, g->node[i]);
    for (size_t i = 0; i < g->n_initializer && !error; i++)
        if (g->initializer[i]->name && !(error = note(x, g->initializer[i]->name, &use)))
            use->constant = g->initializer[i];
    for (size_t i = 0; i < g->n_output && !error; i++)
        if (g->output[i]->name && !(error = note(x, g->output[i]->name, &use)))
            use->reads += 2;
    return error;
}

/* ---- The bias ---------------------------------------------------------------------------------- */

/* Does `added` have one float for each filter of w and nothing for anything else? */
static int is_bias(const Sis__Onnx__Tensor *w, const Sis__Onnx__Tensor *added) {
    if (!w || !added || w->n_dims < 3 || w->dims[0] < 2 || w->data_type != SIS__FLOAT ||
        added->data_type != SIS__FLOAT || added->n_dims > w->n_dims)
        return 0;
    for (size_t d = 1; d <= added->n_dims; d++) /* from the last axis on; filters are the second */
        if (added->dims[added->n_dims - d] != (d + 1 == w->n_dims ? w->dims[0] : 1))
            return 0;
    return added->n_dims + 1 >= w->n_dims;
}

/* The Add of such a constant to what n gives, and the constant's name; NULL: there is none. */
static Sis__Onnx__Node *find_add(const name_index *x, const Sis__Onnx__Node *n, char **bias) {
    const name_use *sums = use_of(x, n->output[0]), *w = use_of(x, n->input[1]);
    Sis__Onnx__Node *add = sums && sums->reads == 1 ? sums->reader : NULL;
    if (!add || !is(add, "Add") || add->n_input != 2 || add->n_output != 1 || add->n_attribute)
        return NULL;
    *bias = add->input[strcmp(add->input[0], n->output[0]) == 0];
    const name_use *b = use_of(x, *bias);
    return w && b && is_bias(w->constant, b->constant) ? add : NULL;
}

/* Let a node be Squeeze of one value. */
static int become_squeeze(Sis__Onnx__Node *n, const char *value, char *output) {
    char *type = sis__strdup("Squeeze"), *name = sis__strdup(value);
    if (!type || !name) {
        free(type);
        free(name);
        return SIS_E_NOMEM;
    }
    free(n->op_type);
    for (size_t i = 0; i < n->n_input; i++)
        free(n->input[i]);
    n->op_type = type;
    n->n_input = 1;
    n->input[0] = name;
    n->output[0] = output;
    return SIS_OK;
}

/* The Add becomes the Squeeze, under the name that the sums had, which nobody reads any more; the
 * convolution gives what the Add gave. */
static int join_one(Sis__Onnx__Node *conv, Sis__Onnx__Node *add, const char *bias) {
    char *sums = conv->output[0], *name = sis__strdup(sums);
    if (!name)
        return SIS_E_NOMEM;
    if (conv->n_input == 3) {
        free(conv->input[2]);
        conv->input[2] = name;
    } else if (sis__proto_append(&conv->input, &conv->n_input, name) != SIS_OK) {
        free(name);
        return SIS_E_NOMEM;
    }
    char *result = add->output[0];
    int error = become_squeeze(add, bias, sums);
    if (!error)
        conv->output[0] = result;
    return error;
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
    name_index x = {0};
    char *bias;
    if (!may_join(g))
        return SIS_OK;
    int error = index_names(&x, g);
    for (size_t i = 0; i < g->n_node && !error; i++) {
        Sis__Onnx__Node *add = lacks_bias(g->node[i]) ? find_add(&x, g->node[i], &bias) : NULL;
        if (add)
            error = join_one(g->node[i], add, bias);
    }
    sis__names_release(&x.names);
    free(x.uses);
    return error;
}
