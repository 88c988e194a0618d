/* SPDX-License-Identifier: MIT
 *
 * Normalisation of pixels, as networks for photographs expect it: (value - mean) / deviation for
 * each channel. Two nodes at the start of the graph compute it, so that scores, walks, gradients
 * and proofs are all about pixels.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/net.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/proto.h"
#include "net/plan/net.h"

enum { MAX_CHANNELS = 64, FLOATS = 1 };
static const char MEAN[] = "sis.normalize.mean", DEVIATION[] = "sis.normalize.deviation",
                  CENTRED[] = "sis.normalize.centred", NORMALIZED[] = "sis.normalize.normalized";

/* ---- Checks ---------------------------------------------------------------------------------- */

/* The shape that broadcasts the numbers along the channels of a row. */
static int find_shape(const sis_net *net, size_t n, sis_net_shape *shape) {
    sis_net_shape row;
    sis_net_input_shape(net, &row);
    *shape = (sis_net_shape){0};
    if (n == 1)
        return SIS_OK;
    const size_t *dims = row.dims + (row.rank == 4); /* skip the axis of a fixed batch */
    if ((row.rank == 3 || row.rank == 4) && dims[0] == n)
        *shape = (sis_net_shape){.rank = 3, .dims = {n, 1, 1}};
    else if ((row.rank == 3 || row.rank == 4) && dims[2] == n)
        *shape = (sis_net_shape){.rank = 1, .dims = {n}};
    else
        return sis__fail(SIS_E_ARGUMENT,
                         "--normalize: %zu means need images of %zu channels, which "
                         "this network does not take",
                         n, n);
    return SIS_OK;
}

static int check_numbers(const double *mean, const double *deviation, size_t n) {
    if (n == 0 || n > MAX_CHANNELS)
        return sis__fail(SIS_E_ARGUMENT, "--normalize: 1 to %d channels", MAX_CHANNELS);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(mean[i]) || !isfinite(deviation[i]) || !(deviation[i] > 0))
            return sis__fail(SIS_E_ARGUMENT,
                             "--normalize: expected numbers as means and numbers above 0 "
                             "as deviations, found %g/%g",
                             mean[i], deviation[i]);
    return SIS_OK;
}

/* Does the document have a float input of that name, and an opset in which shapes broadcast? */
static int check_document(const Sis__Onnx__Model *doc, const char *name) {
    for (size_t i = 0; i < doc->n_opset_import; i++)
        if (!*doc->opset_import[i]->domain && doc->opset_import[i]->version < 7)
            return sis__fail(SIS_E_ARGUMENT,
                             "--normalize: the ONNX version of the network is below 7; "
                             "export it again");
    for (size_t i = 0; i < doc->graph->n_input; i++) {
        const Sis__Onnx__ValueInfo *v = doc->graph->input[i];
        if (strcmp(v->name, name) == 0 && v->type &&
            v->type->value_case == SIS__ONNX__TYPE__VALUE_TENSOR_TYPE &&
            v->type->tensor_type->elem_type == FLOATS)
            return SIS_OK;
    }
    return sis__fail(SIS_E_ARGUMENT, "--normalize needs a network with one input of images as "
                                     "floats; choose one with --explain NAME");
}

/* ---- The document -------------------------------------------------------------------------- */

static int set_text(char **to, const char *text) {
    char *copy = sis__strdup(text);
    if (!copy)
        return SIS_E_NOMEM;
    free(*to);
    *to = copy;
    return SIS_OK;
}

/* Let all nodes that read `name` read `to`. */
static int rename_uses(Sis__Onnx__Graph *g, const char *name, const char *to) {
    int error = SIS_OK;
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; !error && k < g->node[i]->n_input; k++)
            if (strcmp(g->node[i]->input[k], name) == 0)
                error = set_text(&g->node[i]->input[k], to);
    return error;
}

/* Insert a node before all others. */
static int insert_first(Sis__Onnx__Model *doc, const char *op, const char *from, const char *by,
                        const char *to) {
    Sis__Onnx__Graph *g = doc->graph;
    Sis__Onnx__Node *n;
    char names[128];
    snprintf(names, sizeof names, "x %s", by);
    int error = sis__document_add_node(doc, op, names, to, &n);
    if (!error)
        error = set_text(&n->input[0], from);
    if (error)
        return error;
    memmove(g->node + 1, g->node, (g->n_node - 1) * sizeof *g->node);
    g->node[0] = n;
    return SIS_OK;
}

static int add_numbers(Sis__Onnx__Graph *g, const char *name, const sis_net_shape *shape,
                       const double *values, size_t n) {
    float single[MAX_CHANNELS];
    for (size_t i = 0; i < n; i++)
        single[i] = (float)values[i];
    return sis__document_add_tensor(g, name, FLOATS, shape, single);
}

int sis_net_normalize(sis_net *net, const double *mean, const double *deviation, size_t n) {
    sis_net_shape shape;
    Sis__Onnx__Model *doc = net->doc;
    const char *input = net->graph.values[net->input].name;
    int error = check_numbers(mean, deviation, n);
    if (!error && net->refusal)
        error = sis_net_ready(net);
    if (!error)
        error = check_document(doc, input);
    if (!error)
        error = find_shape(net, n, &shape);
    char *name = error ? NULL : sis__strdup(input);
    if (error || !name)
        return error ? error : SIS_E_NOMEM;
    error = rename_uses(doc->graph, name, NORMALIZED);
    if (!error)
        error = add_numbers(doc->graph, MEAN, &shape, mean, n);
    if (!error)
        error = add_numbers(doc->graph, DEVIATION, &shape, deviation, n);
    if (!error)
        error = insert_first(doc, "Div", CENTRED, DEVIATION, NORMALIZED);
    if (!error)
        error = insert_first(doc, "Sub", name, MEAN, CENTRED);
    free(name);
    return error ? error : sis__net_reload(net);
}
