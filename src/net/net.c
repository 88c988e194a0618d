/* SPDX-License-Identifier: MIT
 *
 * Load a network from a file: parse the document, load the graph, and identify the input, the
 * output, the last activation and an embedding at the start. The network is compiled once, so that
 * unsupported operators are refused at load time.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dims.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/replace.h"
#include "base/rng.h"
#include "net/kernels/kernels.h"
#include "net/lower/lower.h"
#include "net/onnx/external.h"
#include "net/onnx/proto.h"
#include "net/onnx/words.h"
#include "net/ops/ops.h"
#include "net/plan/cache.h"
#include "net/plan/net.h"
#include "net/plan/plan.h"
#include "net/plan/row_layout.h"

/* The network does not take rows. Keep the message for callers that feed some. */
static int refuse_rows(sis_net *net, int error) {
    if (error != SIS_E_UNSUPPORTED)
        return error;
    free(net->refusal);
    net->refusal = sis__strdup(sis_error_detail());
    net->final = SIS__FINAL_NONE;
    net->pre_output = net->output;
    net->embedding = net->embedded = -1;
    return net->refusal ? SIS_OK : SIS_E_NOMEM;
}

/* ---- Identification -------------------------------------------------------------------------- */

static int find_input(sis_net *net) {
    const sis__graph *g = &net->graph;
    net->input = g->inputs[0];
    const sis__value *v = &g->values[net->input];
    if (v->dtype == SIS__OTHER)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "input %s is of type %s; numbers, bool and texts are supported", v->name,
                         sis__elem_name(v->elem_type));
    if (!v->shaped)
        return sis__fail(SIS_E_UNSUPPORTED, "input %s declares no shape; export the model with one",
                         v->name);
    if (net->rows && v->rank > 0 && v->dims[0] == (int64_t)net->rows)
        g->values[net->input].dims[0] = -1; /* a row is a batch of one */
    net->counted = v->rank > 0 && (v->dims[0] == -1 || v->dims[0] == 1);
    return SIS_OK;
}

/* Find the output that the caller named. */
static int find_chosen(sis_net *net) {
    const sis__graph *g = &net->graph;
    for (size_t i = 0; i < g->n_outputs; i++) {
        const sis__value *v = &g->values[g->outputs[i]];
        if (strcmp(v->name, net->chosen) != 0)
            continue;
        net->output = g->outputs[i];
        return v->elem_type == 0 || sis__elem_dtype(v->elem_type) <= SIS__BOOL
                   ? SIS_OK
                   : sis__fail(SIS_E_ARGUMENT, "output %.60s is not numeric", net->chosen);
    }
    return sis__fail(SIS_E_ARGUMENT, "the model has no output %.60s; its first of %zu is %.60s",
                     net->chosen, g->n_outputs, g->n_outputs ? g->values[g->outputs[0]].name : "");
}

/* The first output that may hold floats, else the first of integers or truth values, which are
 * usually labels. ort: and http: models choose in the same order. */
static int find_output(sis_net *net) {
    const sis__graph *g = &net->graph;
    net->output = -1;
    if (net->chosen)
        return find_chosen(net);
    for (size_t i = g->n_outputs; i-- > 0;) {
        int type = g->values[g->outputs[i]].elem_type;
        if (type == 0 || sis__elem_dtype(type) == SIS__F32)
            net->output = g->outputs[i];
    }
    for (size_t i = 0; net->output < 0 && i < g->n_outputs; i++)
        if (sis__elem_dtype(g->values[g->outputs[i]].elem_type) <= SIS__BOOL)
            net->output = g->outputs[i];
    if (net->output >= 0)
        return SIS_OK;
    net->output = g->n_outputs ? g->outputs[0] : -1;
    int error = sis__fail(SIS_E_UNSUPPORTED, "the model has no numeric output");
    return net->output < 0 ? error : refuse_rows(net, error);
}

/* Does the node copy input 0 to output 0? */
static int passes_on(const sis__node *n) {
    if (n->op_id != SIS__OP_CAST)
        return n->op && n->op->trait == SIS__KEEPS;
    int64_t to = sis__proto_int(n->proto, "to", 0);
    return to >= 0 && to <= INT32_MAX && sis__elem_dtype((int)to) == SIS__F32;
}

/* The node that computes a value, skipping nodes that only copy it. */
static const sis__node *producer_of(const sis__graph *g, int value) {
    while (value >= 0 && g->values[value].producer >= 0) {
        const sis__node *n = &g->nodes[g->values[value].producer];
        if (!passes_on(n))
            return n;
        if (n->n_inputs == 0 || n->outputs[0] != value)
            return NULL;
        value = n->inputs[0];
    }
    return NULL;
}

/* Find the last activation; confirm_final() decides whether it is used. */
static void find_final(sis_net *net) {
    const sis__node *n = producer_of(&net->graph, net->output);
    net->final = SIS__FINAL_NONE;
    net->pre_output = net->output;
    if (!n || n->n_inputs < 1 || n->inputs[0] < 0)
        return;
    net->final = n->op_id == SIS__OP_SOFTMAX       ? SIS__FINAL_SOFTMAX
                 : n->op_id == SIS__OP_LOG_SOFTMAX ? SIS__FINAL_LOG_SOFTMAX
                 : n->op_id == SIS__OP_SIGMOID     ? SIS__FINAL_SIGMOID
                                                   : SIS__FINAL_NONE;
    if (net->final != SIS__FINAL_NONE)
        net->pre_output = n->inputs[0];
}

/* A softmax gives margins only if it runs over all scores of a row and nothing else. */
static void confirm_final(sis_net *net, const sis__row_layout *g) {
    const sis__plan *p = g && g->plans[SIS__SCORES][0] ? g->plans[SIS__SCORES][0]->plan : NULL;
    int fits = net->final == SIS__FINAL_SIGMOID || net->final == SIS__FINAL_NONE;
    for (size_t i = 0; p && !fits && i < p->n_steps; i++) {
        const sis__step *s = &p->steps[i];
        fits = (s->op == SIS__OP_SOFTMAX || s->op == SIS__OP_LOG_SOFTMAX) &&
               s->inputs[0] == net->pre_output && s->p.axis.inner == 1 &&
               s->p.axis.size == g->n_outputs;
    }
    if (!fits) {
        net->final = SIS__FINAL_NONE;
        net->pre_output = net->output;
    }
}

/* ---- Loading ------------------------------------------------------------------------------- */

/* The number of free sizes of a row. */
static size_t free_sizes(const sis_net *net) {
    sis_net_shape s;
    size_t n = 0;
    sis_net_input_shape(net, &s);
    for (size_t d = 0; d < s.rank; d++)
        n += s.dims[d] == 0;
    return n;
}

/* Try rows whose free sizes are all `places`; if all three are free, the first is the number of
 * channels and gets its own value. */
static int try_rows(const sis_net *net, size_t places, sis__row_layout **g) {
    sis_net_shape s;
    size_t open = free_sizes(net), n = 1;
    sis_net_input_shape(net, &s);
    int coloured = open == 3 && s.rank == 3;
    size_t sides = open - (size_t)coloured;
    size_t side = (size_t)(pow((double)places, 1 / (double)(sides ? sides : 1)) + 0.5);
    for (size_t d = 0; d < s.rank; d++) {
        s.dims[d] = s.dims[d] ? s.dims[d] : coloured && d == 0 ? 3 : side;
        n *= s.dims[d];
    }
    return sis__row_layout_get(net, &(sis__row_form){.n_values = n, .shape = &s}, g);
}

/* Compile for the declared shape, or for the first guess that fits if sizes are free. An
 * unsupported operator is an error; a guessed size that does not fit is not. */
static int check_runs(sis_net *net) {
    static const size_t guesses[] = {64, 1024, 224 * 224};
    const sis__value *v = &net->graph.values[net->input];
    sis__row_layout *g = NULL;
    int open = free_sizes(net) > 0, error = SIS_OK;
    size_t rest = 1;
    for (size_t d = net->counted ? 1 : 0; d < v->rank; d++) {
        size_t size = v->dims[d] < 0 ? 1 : (size_t)v->dims[d];
        if (size == 0 || rest > ((size_t)1 << 31) / size)
            return sis__fail(SIS_E_UNSUPPORTED, "input %s has no values, or over 2^31 in one row",
                             v->name);
        rest *= size;
    }
    error = try_rows(net, open ? guesses[0] : 1, &g);
    if (error == SIS_E_MODEL && !open)
        return sis__fail_in(SIS_E_UNSUPPORTED, "the network could not be run on a test row");
    int unfit = open && error && error != SIS_E_UNSUPPORTED && error != SIS_E_NOMEM;
    for (size_t i = 1; unfit && error && i < sizeof guesses / sizeof *guesses; i++)
        error = try_rows(net, guesses[i], &g);
    confirm_final(net, error ? NULL : g);
    if (!error)
        sis__row_layout_done(net, g);
    return unfit ? SIS_OK : error;
}

/* Identify input, output, activation and embedding of the graph. */
static int identify(sis_net *net) {
    int error = find_output(net), known = 0;
    if (!error && (known = find_input(net)) != SIS_OK && !net->refusal)
        error = refuse_rows(net, known);
    net->pre_output = net->output;
    if (error || net->refusal)
        return error;
    find_final(net);
    sis__net_find_embedding(&net->graph, net->input, &net->embedding, &net->embedded);
    return net->document_only ? SIS_OK : check_runs(net);
}

static int load_graph(sis_net *net, sis__graph *g) {
    int error = sis__graph_load(g, net->doc, net->words, sis__op_find);
    net->refusal = NULL;
    if (!error && (error = sis__net_prepare_inputs(net, g)) != SIS_OK) {
        error = g->n_inputs ? refuse_rows(net, error) : error;
        if (error)
            sis__graph_release(g);
    }
    return error;
}

int sis__net_reload(sis_net *net) {
    sis__graph fresh;
    const sis_net was = *net;
    int error = load_graph(net, &fresh);
    if (error) {
        *net = was;
        return error;
    }
    sis__cache_clear(net->cache);
    net->graph = fresh;
    error = identify(net);
    if (!error && net->refusal && !was.refusal) /* a change must not make the network unusable */
        error = sis_net_ready(net);
    if (!error) {
        sis__graph was_graph = was.graph;
        sis__graph_release(&was_graph);
        free(was.refusal);
        return SIS_OK;
    }
    sis__cache_clear(net->cache);
    free(net->refusal);
    *net = was;
    sis__graph_release(&fresh);
    return error;
}

/* document_only: nothing is run, so operators are not lowered. */
static int adopt(struct Sis__Onnx__Model *doc, int document_only, sis_net **out) {
    sis_net *net = *out = SIS_NEW(sis_net, 1);
    if (!net) {
        sis__proto_free(&doc->base);
        return SIS_E_NOMEM;
    }
    net->doc = doc;
    net->document_only = document_only;
    net->cache = sis__cache_new();
    net->words = sis__words_new();
    int error = net->cache && net->words ? SIS_OK : SIS_E_NOMEM;
    if (!error && !document_only)
        error = sis__lower(doc);
    if (!error)
        error = load_graph(net, &net->graph);
    if (!error)
        error = identify(net);
    if (error) {
        sis_net_free(net);
        *out = NULL;
    }
    return error;
}

int sis__net_adopt(struct Sis__Onnx__Model *doc, sis_net **out) {
    return adopt(doc, 0, out);
}

int sis_net_ready(const sis_net *net) {
    return net->refusal         ? sis__fail(SIS_E_UNSUPPORTED, "%s", net->refusal)
           : net->document_only ? sis__fail(SIS_E_UNSUPPORTED, "this network runs in ONNX Runtime")
                                : SIS_OK;
}

const char *sis_net_kernels(void) {
    return sis__kernels_best()->name;
}

void sis_net_free(sis_net *net) {
    if (!net)
        return;
    sis__cache_free(net->cache);
    sis__graph_release(&net->graph);
    sis__words_free(net->words);
    sis__net_free_choices(net);
    sis__proto_free(&net->doc->base);
    free(net->refusal);
    free(net);
}

/* path: the file that external data is relative to; NULL: no external data. */
static int parse(const void *bytes, size_t n, const char *path, int document_only, sis_net **out) {
    ProtobufCMessage *doc;
    *out = NULL;
    int error = sis__proto_parse(&sis__onnx__model__descriptor, bytes, n, &doc);
    if (error)
        return error;
    const Sis__Onnx__Graph *g = ((Sis__Onnx__Model *)doc)->graph;
    if (g && g->n_sparse_initializer && !document_only)
        error =
            sis__fail(SIS_E_UNSUPPORTED, "the engine does not support sparse tensors; export the "
                                         "model without them, or use ONNX Runtime (ort:FILE.onnx)");
    if (!error && path)
        error = sis__external_load((Sis__Onnx__Model *)doc, path);
    if (!error)
        return adopt((Sis__Onnx__Model *)doc, document_only, out);
    sis__proto_free(doc);
    return error;
}

int sis_net_parse(const void *bytes, size_t n, sis_net **out) {
    return parse(bytes, n, NULL, 0, out);
}

/* ---- Files --------------------------------------------------------------------------------- */

static int read_file(const char *path, int document_only, sis_net **out) {
    char *bytes = NULL;
    size_t n = 0;
    *out = NULL;
    int error = sis__file_read(path, &bytes, &n);
    if (!error && (error = parse(bytes, n, path, document_only, out)) != 0 && error != SIS_E_NOMEM)
        sis__fail_in(error, "%s", path);
    free(bytes);
    return error;
}

int sis_net_read(const char *path, sis_net **out) {
    return read_file(path, 0, out);
}

int sis_net_read_document(const char *path, sis_net **out) {
    return read_file(path, 1, out);
}

int sis_net_pack(const sis_net *net, void **bytes, size_t *n) {
    uint8_t *packed;
    int error = sis__proto_pack(&net->doc->base, &packed, n);
    *bytes = error ? NULL : packed;
    return error;
}

int sis_net_write(const sis_net *net, const char *path) {
    void *bytes;
    size_t n;
    int error = sis_net_pack(net, &bytes, &n);
    if (error)
        return error;
    error = sis__replace_all(path, bytes, n);
    free(bytes);
    return error;
}

/* ---- One row ------------------------------------------------------------------------------- */

int sis__net_plan_row(const sis_net *net, sis__plan **plan) {
    sis__row_layout *g;
    if (net->whole)
        return sis__fail(SIS_E_UNSUPPORTED, "only whole batches of %zu rows can be run", net->rows);
    int error = sis__row_layout_get(net, &(sis__row_form){.n_values = sis_net_values(net)}, &g);
    if (error)
        return error;
    sis__feed feed = sis__row_layout_rows(g, 1);
    sis__row_layout_done(net, g);
    sis__plan_spec spec = {
        .feeds = &feed, .n_feeds = 1, .outputs = &net->output, .n_outputs = 1, .keep_all = 1};
    return sis__plan_new(net, &spec, plan);
}

/* ---- Batches ------------------------------------------------------------------------------- */

enum { MAX_ROWS = 4096 };

/* Fill a batch with n integers, which are valid for every type. */
static void fill_batch(const sis_net *net, float *values, size_t n) {
    sis__rng rng;
    sis__rng_init(&rng, 5);
    for (size_t i = 0; i < n; i++)
        values[i] = sis_net_integers(net) ? (float)sis__rng_below(&rng, 2)
                                          : (float)(2 * sis__rng_uniform(&rng) - 1);
}

/* Does each row get the same scores alone, or among copies of other rows, as in this batch? */
static int check_apart(const sis_net *net, const float *values, size_t n, const float *scores,
                       size_t n_scores) {
    size_t rows = net->rows, width = n / rows, each = 0;
    sis_net_batch b = {.rows = values, .n_rows = 1, .n_values = width, .jobs = 1};
    float *own = SIS_NEW(float, n_scores);
    int error = own ? sis_net_batch_outputs(net, &b, &each) : SIS_E_NOMEM, same = 1;
    if (!error && each * rows != n_scores)
        error = sis__fail(SIS_E_UNSUPPORTED, "%zu scores for %zu rows", n_scores, rows);
    for (size_t i = 0; !error && i < rows; i++) {
        b.rows = values + i * width;
        error = sis_net_forward(net, &b, own + i * each);
    }
    for (size_t i = 0; !error && i < n_scores; i++)
        same &= fabsf(own[i] - scores[i]) <= 1e-5f * (1 + fabsf(scores[i]));
    free(own);
    return error || same ? error : sis__fail(SIS_E_UNSUPPORTED, "rows depend on each other");
}

/* Check single rows, or, if the graph does not accept them, batches of the declared size. */
static int split_batch(sis_net *net, size_t rows, const float *values, size_t n,
                       const float *scores, size_t n_scores) {
    int error = SIS_E_UNSUPPORTED;
    net->rows = rows;
    for (net->whole = 0; error && error != SIS_E_NOMEM && net->whole < 2; net->whole++) {
        error = sis__net_reload(net);
        if (!error)
            error = check_apart(net, values, n, scores, n_scores);
        if (!error)
            return SIS_OK;
    }
    net->rows = 0;
    net->whole = 0;
    int again = sis__net_reload(net);
    return again ? again : error;
}

int sis_net_count_rows(sis_net *net) {
    sis_net_shape s;
    size_t n = sis_net_values(net), n_scores = sis_net_outputs(net);
    sis_net_input_shape(net, &s);
    if (net->counted || net->graph.n_inputs != 1 || s.rank < 2 || s.dims[0] < 2 ||
        s.dims[0] > MAX_ROWS || n == 0 || n_scores == 0)
        return sis__fail(SIS_E_ARGUMENT, "the model was not exported with a free number of rows");
    float *values = SIS_NEW(float, n), *scores = SIS_NEW(float, n_scores);
    int error = values && scores ? SIS_OK : SIS_E_NOMEM;
    if (!error) {
        fill_batch(net, values, n);
        const sis_net_batch b = {.rows = values, .n_rows = 1, .n_values = n, .jobs = 1};
        error = sis_net_forward(net, &b, scores);
    }
    if (!error)
        error = split_batch(net, s.dims[0], values, n, scores, n_scores);
    free(values);
    free(scores);
    return error;
}

/* ---- Questions ----------------------------------------------------------------------------- */

size_t sis__net_bytes(const sis_net *net) {
    size_t n = 0;
    for (size_t i = 0; i < net->graph.n_values; i++) {
        const sis__value *v = &net->graph.values[i];
        size_t count = v->data ? 1 : 0;
        for (size_t d = 0; d < v->rank; d++)
            count *= (size_t)(v->dims[d] > 0 ? v->dims[d] : 0);
        n += count * sis__dtype_size(v->dtype);
    }
    return n;
}

void sis_net_input_shape(const sis_net *net, sis_net_shape *shape) {
    const sis__value *v = &net->graph.values[net->input];
    *shape = (sis_net_shape){0};
    for (size_t d = net->counted ? 1 : 0; d < v->rank; d++)
        shape->dims[shape->rank++] = v->dims[d] < 0 ? 0 : (size_t)v->dims[d];
}

size_t sis_net_values(const sis_net *net) {
    sis_net_shape s;
    size_t n = 1;
    sis_net_input_shape(net, &s);
    for (size_t d = 0; d < s.rank; d++)
        n *= s.dims[d];
    return n;
}

/* Outputs and flops for rows of the declared length; -1 if sizes are free. */
static int declared_row_info(const sis_net *net, size_t *outputs, double *flops) {
    sis__row_layout *g;
    size_t n = sis_net_values(net);
    if (n == 0 || sis__row_layout_get(net, &(sis__row_form){.n_values = n}, &g) != SIS_OK)
        return -1;
    *outputs = g->n_outputs;
    *flops = g->flops;
    sis__row_layout_done(net, g);
    return 0;
}

size_t sis_net_outputs(const sis_net *net) {
    size_t outputs;
    double flops;
    return declared_row_info(net, &outputs, &flops) == 0 ? outputs : 0;
}

double sis_net_flops(const sis_net *net) {
    size_t outputs;
    double flops;
    return declared_row_info(net, &outputs, &flops) == 0 ? flops : 0;
}

int sis_net_integers(const sis_net *net) {
    return net->graph.values[net->input].dtype != SIS__F32 || net->embedding >= 0;
}

int sis_net_has_link(const sis_net *net) {
    return net->final != SIS__FINAL_NONE;
}

int sis_net_is_token(const sis_net *net) {
    return net->embedding >= 0;
}

int sis_net_embedding(const sis_net *net, const float **matrix, size_t *vocabulary, size_t *dim) {
    if (net->embedding < 0)
        return sis__fail(SIS_E_ARGUMENT, "the model has no embedding matrix");
    const sis__value *m = &net->graph.values[net->embedding];
    *matrix = (const float *)m->data;
    *vocabulary = (size_t)m->dims[0];
    *dim = (size_t)m->dims[1];
    return SIS_OK;
}
