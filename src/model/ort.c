/* SPDX-License-Identifier: MIT
 *
 * `ort:FILE.onnx`: a network in ONNX Runtime. Every masked copy is a full pass.
 *
 * The file is cut first (sis_net_cut_ends): scores are read before the last activation, as margins,
 * and token models start after their embedding matrix. So a saturated network is ranked as in the
 * engine, and a mask may be an embedding of no token.
 *
 * The same row has the same bits in every run and for any number of jobs: every pass has the number
 * of rows that rows_at_once() computes from shapes alone, the last one is padded, and one thread
 * computes it. Threads share the session.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/handle.h>
#include <sis/net.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "model/inputs.h"
#include "model/network.h"
#include "model/ort_library.h"
#include "model/request.h"

enum { MAX_INPUTS = 256, MAX_ROWS = 16 };
enum { TENSOR = 1, SEQUENCE = 2 }; /* ONNXType */
/* Inputs of a pass of several rows. Rows of more than a few kilobytes gain nothing from each other, and
 * every step of a selection fills its last pass up. */
static const size_t PASS_BYTES = (size_t)32 << 10;

/* ---- A file: cut, opened as a session, its inputs and its output found ------------------------- */

/* What a tensor is; a shape of more than SIS__RANK axes has no sizes. */
typedef struct {
    int number; /* ONNX's number of the type */
    sis__value_type type;
    sis__shape shape;
} tensor_info;

/* Shared by all handles of an opened file. */
typedef struct {
    char *path;
    sis_net *document; /* metadata and labels; NULL: the file could not be read here */
    sis_net_cut cut;   /* zeroed without a document; its bytes are freed */
    ort_session *session;
    char *output;              /* the library's own string */
    sis__model_inputs inputs;  /* without the one for embeddings */
    sis__value_type embedding; /* type of the input cut.embedded */
} network;

static const size_t max_bytes = INT32_MAX; /* limit of files that ONNX Runtime reads from memory */

static void free_network(network *net) {
    if (!net)
        return;
    sis__inputs_release(&net->inputs);
    if (net->output)
        SIS__ORT(free_memory, sis__ort.allocator, net->output);
    if (net->session)
        sis__ort.release_session(net->session);
    free(net->cut.bytes);
    sis_net_free(net->document);
    free(net->path);
    free(net);
}

/* ---- Inputs --------------------------------------------------------------------------------- */

static int read_info(const ort_tensor_info *info, tensor_info *out) {
    int64_t dims[SIS__RANK];
    int code = SIS__ORT(element_type, info, &out->number);
    if (code == SIS_OK)
        code = SIS__ORT(rank, info, &out->shape.rank);
    if (code == SIS_OK && out->shape.rank <= SIS__RANK)
        code = SIS__ORT(dims, info, dims, out->shape.rank);
    for (size_t d = 0; code == SIS_OK && d < out->shape.rank && d < SIS__RANK; d++)
        out->shape.dims[d] = dims[d];
    out->type = sis__value_numbered(out->number);
    return code;
}

/* The type of an input or output: kind, and what a tensor is. Releases `type`. */
static int read_type(int code, ort_type_info *type, int *kind, tensor_info *tensor) {
    const ort_tensor_info *info = NULL;
    *tensor = (tensor_info){.type = SIS__VALUE_UNKNOWN};
    if (code == SIS_OK)
        code = SIS__ORT(kind_of_type, type, kind);
    if (code == SIS_OK && *kind == TENSOR)
        code = SIS__ORT(tensor_of_type, type, &info);
    if (code == SIS_OK && info)
        code = read_info(info, tensor);
    if (type)
        sis__ort.release_type(type);
    return code;
}

static int read_input(network *net, size_t i, const char *name) {
    ort_type_info *type = NULL;
    tensor_info in;
    int kind = 0, code = SIS__ORT(input_type, net->session, i, &type);
    code = read_type(code, type, &kind, &in);
    if (code == SIS_OK && (in.type == SIS__VALUE_UNKNOWN || in.shape.rank > SIS__RANK))
        code = sis__fail(SIS_E_UNSUPPORTED,
                         "input \"%.60s\" is not a tensor of numbers or texts (ONNX type %d)", name,
                         in.number);
    if (code == SIS_OK && net->cut.embedded && strcmp(name, net->cut.embedded) == 0) {
        net->embedding = in.type;
        return SIS_OK;
    }
    return code == SIS_OK ? sis__inputs_add(&net->inputs, name, in.type, &in.shape) : code;
}

static int read_inputs(network *net, const sis_model_opt *opt) {
    size_t n = 0;
    int code = SIS__ORT(input_count, net->session, &n);
    if (code == SIS_OK && (n == 0 || n > MAX_INPUTS))
        code = sis__fail(SIS_E_UNSUPPORTED, "it takes %zu inputs; 1 to %d are supported", n,
                         MAX_INPUTS);
    for (size_t i = 0; i < n && code == SIS_OK; i++) {
        char *name = NULL;
        code = SIS__ORT(input_name, net->session, i, sis__ort.allocator, &name);
        if (code == SIS_OK)
            code = read_input(net, i, name);
        if (name)
            SIS__ORT(free_memory, sis__ort.allocator, name);
    }
    return code == SIS_OK ? sis__inputs_assign(&net->inputs, opt) : code;
}

/* ---- The output ------------------------------------------------------------------------------ */

/* 2: floating point numbers, or dictionaries of them; 1: other numbers; 0: neither. */
static int rank_output(const network *net, size_t i, int *rank) {
    ort_type_info *type = NULL;
    tensor_info out;
    int kind = 0, code = SIS__ORT(output_type, net->session, i, &type);
    code = read_type(code, type, &kind, &out);
    *rank = kind == SEQUENCE || sis__value_is_float(out.type)                ? 2
            : out.type != SIS__VALUE_UNKNOWN && out.type != SIS__VALUE_BYTES ? 1
                                                                             : 0;
    return code;
}

/* Does output i have this name? NULL: any name. */
static int is_called(const network *net, size_t i, const char *wanted, int *called) {
    char *name = NULL;
    int code = SIS__ORT(output_name, net->session, i, sis__ort.allocator, &name);
    *called = code == SIS_OK && (!wanted || strcmp(name, wanted) == 0);
    if (name)
        SIS__ORT(free_memory, sis__ort.allocator, name);
    return code;
}

static int no_output(const char *wanted, size_t n) {
    return wanted ? sis__fail(SIS_E_ARGUMENT,
                              "none of its %zu outputs is numeric and named \"%.60s\"", n, wanted)
                  : sis__fail(SIS_E_UNSUPPORTED, "none of its %zu outputs is numeric", n);
}

/* The output with this name; NULL: the first of floating point, because probabilities often come
 * with labels, else the first of numbers. */
static int choose_output(network *net, const char *wanted) {
    size_t n = 0, chosen = 0;
    int best = 0, rank = 0, called = 0;
    int code = SIS__ORT(output_count, net->session, &n);
    n -= code == SIS_OK && net->cut.adds_output; /* after those of the file */
    for (size_t i = 0; code == SIS_OK && i < n; i++) {
        code = is_called(net, i, wanted, &called);
        if (code == SIS_OK)
            code = rank_output(net, i, &rank);
        if (called && rank > best) {
            best = rank;
            chosen = i;
        }
    }
    if (code == SIS_OK && best == 0)
        code = no_output(wanted, n);
    if (code == SIS_OK)
        code = SIS__ORT(output_name, net->session, chosen, sis__ort.allocator, &net->output);
    if (code == SIS_OK && net->cut.before && strcmp(net->output, net->cut.output) != 0)
        net->cut.before = NULL; /* it belongs to another output */
    return code;
}

/* ---- Opening a file -------------------------------------------------------------------------- */

/* One thread computes a pass, so that sums have a fixed order. */
static int start_session(network *net) {
    ort_session_options *options = NULL;
    int code = SIS__ORT(create_options, &options);
    if (code == SIS_OK)
        code = SIS__ORT(set_threads_inside, options, 1);
    if (code == SIS_OK)
        code = SIS__ORT(set_threads_between, options, 1);
    if (code == SIS_OK)
        code = sis__ort_check(
            net->cut.bytes
                ? sis__ort.create_session_from(sis__ort.env, net->cut.bytes, net->cut.n, options,
                                               &net->session)
                : sis__ort.create_session(sis__ort.env, net->path, options, &net->session));
    if (options)
        sis__ort.release_options(options);
    free(net->cut.bytes);
    net->cut.bytes = NULL;
    return code;
}

static void forget_document(network *net) {
    sis_net_free(net->document);
    free(net->cut.bytes);
    net->document = NULL;
    net->cut = (sis_net_cut){0};
}

/* Read the document and cut the file. A file that cannot be read here, or is too long for memory,
 * goes to ONNX Runtime by its path; it then has no labels, margins or embeddings. */
static int cut_file(network *net, const char *output, const sis_model_opt *opt) {
    int code = sis_net_read_document(net->path, &net->document);
    if (code != SIS_OK)
        return code == SIS_E_NOMEM || opt->normalize ? code : SIS_OK;
    for (size_t i = 0; i < opt->n_with && code == SIS_OK; i++)
        code = sis_net_set_input(net->document, opt->with[i].name, &opt->with[i]);
    if (code == SIS_OK && opt->explain)
        code = sis_net_explain_input(net->document, opt->explain);
    if (code == SIS_OK && output)
        code = sis_net_choose_output(net->document, output);
    if (code == SIS_OK && opt->normalize)
        code = sis__network_normalize(net->document, opt->normalize);
    if (code == SIS_OK)
        code = sis_net_cut_ends(net->document, &net->cut);
    if (code == SIS_OK && net->cut.n > max_bytes && !opt->normalize)
        forget_document(net);
    return code;
}

static int open_network(network *net, const char *output, const sis_model_opt *opt) {
    int code = cut_file(net, output, opt);
    if (code == SIS_OK)
        code = start_session(net);
    if (code == SIS_OK)
        code = read_inputs(net, opt);
    return code == SIS_OK ? choose_output(net, output) : code;
}

/* output: its name; NULL: the first of floating point, else the first of numbers. */
static int open_shared(const char *path, const char *output, const sis_model_opt *opt,
                       network **out) {
    network *net = *out = SIS_NEW(network, 1);
    int code =
        net && (net->path = sis__strdup(path)) ? open_network(net, output, opt) : SIS_E_NOMEM;
    if (code != SIS_OK) {
        free_network(net);
        *out = NULL;
    }
    return code;
}

/* ---- A model --------------------------------------------------------------------------------- */

/* Memory of a pass. */
typedef struct {
    double *rows; /* (n, seen) as the inputs see them */
    float *embedded;
    double *scores;
    size_t rows_cap, embedded_cap, scores_cap;
    struct {
        void *values; /* in the tensor's type */
        size_t cap;
    } given[MAX_INPUTS + 1];
} memory;

typedef enum { OPENED, SHARED, WORKER } handle_role;

typedef struct {
    sis__opened opened;   /* first: see kind.h */
    pthread_mutex_t lock; /* one pass at a time */
    handle_role role;
    network *net; /* owned by the handle that was opened */

    sis__tokens tokens; /* zeroed: rows are not token ids */
    sis__mixed mixed;   /* workers borrow it */
    const sis_piece *pieces;
    size_t n_pieces;
    int texts; /* rows are numbers of pieces */

    size_t n_outputs; /* 0: not measured yet */
    int margins;      /* scores are read before the last activation */
    int alone;        /* rows of a pass influence each other: one row per pass */
    memory memory;
} ort_model;

static void ort_close(void *ctx) {
    ort_model *m = ctx;
    if (!m)
        return;
    for (size_t i = 0; i <= MAX_INPUTS; i++)
        free(m->memory.given[i].values);
    free(m->memory.rows);
    free(m->memory.embedded);
    free(m->memory.scores);
    free(m->tokens.mask);
    if (m->role != WORKER)
        sis__mixed_free(&m->mixed);
    if (m->role == OPENED)
        free_network(m->net);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* ---- Results --------------------------------------------------------------------------------- */

/* The scores of a pass: their number, and the shape of their tensor. */
typedef struct {
    size_t count;
    sis__shape dims;
} result_shape;

/* Append the numbers of a tensor to the scores. */
static int read_tensor(ort_model *m, ort_value *v, result_shape *shape) {
    ort_tensor_info *info = NULL;
    tensor_info tensor = {.type = SIS__VALUE_UNKNOWN};
    size_t count = 0;
    void *data = NULL;
    int code = SIS__ORT(info_of_value, v, &info);
    if (code == SIS_OK)
        code = read_info(info, &tensor);
    if (code == SIS_OK)
        code = SIS__ORT(element_count, info, &count);
    if (info)
        sis__ort.release_info(info);
    if (code == SIS_OK && (tensor.type == SIS__VALUE_UNKNOWN || tensor.type == SIS__VALUE_BYTES ||
                           tensor.shape.rank > SIS__RANK))
        code = sis__fail(SIS_E_UNSUPPORTED, "output \"%.60s\" is not numeric (ONNX type %d)",
                         m->net->output, tensor.number);
    if (code == SIS_OK)
        code = SIS__ORT(tensor_data, v, &data);
    if (code == SIS_OK)
        code = sis__reserve(&m->memory.scores, &m->memory.scores_cap, shape->count + count,
                            sizeof *m->memory.scores);
    for (size_t i = 0; code == SIS_OK && i < count; i++)
        m->memory.scores[shape->count++] = sis__value_get(tensor.type, data, i);
    shape->dims = tensor.shape;
    return code;
}

/* A list with a dictionary per row, as scikit-learn's exporter writes probabilities: keys are the
 * classes in order, values the scores. */
static int read_maps(ort_model *m, ort_value *v, result_shape *shape) {
    size_t rows = 0;
    int code = SIS__ORT(part_count, v, &rows);
    for (size_t i = 0; code == SIS_OK && i < rows; i++) {
        ort_value *map = NULL, *scores = NULL;
        code = SIS__ORT(part, v, (int)i, sis__ort.allocator, &map);
        if (code == SIS_OK)
            code = SIS__ORT(part, map, 1, sis__ort.allocator, &scores);
        if (code == SIS_OK)
            code = read_tensor(m, scores, shape);
        if (scores)
            sis__ort.release_value(scores);
        if (map)
            sis__ort.release_value(map);
    }
    shape->dims = (sis__shape){.rank = 1, .dims = {(long long)rows}};
    return code;
}

/* z (k) -> the log-odds of each output of a softmax: z_c - log of the sum over the others of
 * exp(z_j). Only for the largest the sum of the others is computed directly; for the rest,
 * subtracting its own term loses no digits. */
static void log_odds(double *z, size_t k) {
    size_t top = 0;
    double all = 0, rest = 0, second = -INFINITY;
    for (size_t c = 1; c < k; c++)
        top = z[c] > z[top] ? c : top;
    for (size_t c = 0; c < k; c++)
        second = c != top && z[c] > second ? z[c] : second;
    double high = z[top];
    for (size_t c = 0; c < k; c++) {
        all += exp(z[c] - high);
        rest += c == top ? 0 : exp(z[c] - second);
    }
    for (size_t c = 0; c < k; c++)
        z[c] = c == top ? high - second - log(rest) : z[c] - high - log(all - exp(z[c] - high));
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Number of values of a row as the inputs see it. */
static size_t seen_values(const ort_model *m, size_t n_values) {
    return m->texts ? 1 : m->mixed.items ? m->mixed.n : n_values;
}

static int fit_input(const ort_model *m, size_t i, size_t n_values, sis__fit *fit) {
    return sis__inputs_fit(&m->net->inputs, i, sis__shapes_find(&m->opened.shapes, n_values),
                           seen_values(m, n_values), fit);
}

/* A row of ids -> embeddings, and 1 for a token, 0 for padding: derived inputs need no more. */
static int embed(const ort_model *m, const double *ids, size_t n, float *embedded, double *seen) {
    const sis__tokens *t = &m->tokens;
    const float *padding = t->matrix + t->pad * t->dim;
    int code = sis__tokens_embed(t, ids, n, embedded);
    for (size_t i = 0; code == SIS_OK && i < n; i++)
        seen[i] = memcmp(embedded + i * t->dim, padding, t->dim * sizeof *padding) != 0;
    return code;
}

/* Rows contain words as numbers. */
static int mix(ort_model *m, const double *row, float *values, double *seen) {
    int code = sis__mixed_row(&m->mixed, row, values);
    for (size_t i = 0; code == SIS_OK && i < m->mixed.n; i++)
        seen[i] = values[i];
    return code;
}

/* Rows (n, n_values) as the inputs see them. */
static int see_rows(ort_model *m, const double *rows, size_t n, size_t n_values) {
    memory *b = &m->memory;
    size_t seen = seen_values(m, n_values),
           floats = m->tokens.matrix ? n_values * m->tokens.dim : m->mixed.n;
    int code = sis__reserve(&b->rows, &b->rows_cap, n * seen, sizeof *b->rows);
    if (code == SIS_OK)
        code = sis__reserve(&b->embedded, &b->embedded_cap, n * floats, sizeof *b->embedded);
    for (size_t r = 0; code == SIS_OK && r < n && !m->texts; r++) {
        const double *row = rows + r * n_values;
        double *to = b->rows + r * seen;
        if (m->tokens.matrix)
            code = embed(m, row, n_values, b->embedded + r * floats, to);
        else if (m->mixed.items)
            code = mix(m, row, b->embedded + r * floats, to);
        else
            memcpy(to, row, n_values * sizeof *row);
    }
    return code;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

/* A pass: n rows, padded to `filled` with copies of the last. */
typedef struct {
    const double *rows; /* (n, n_values) the caller's */
    size_t n, filled, n_values;
} ort_pass;

static const int onnx_types[] = {
#define NUMBER(name, tensorflow, onnx, type, min, max) onnx,
    SIS__VALUE_TYPES(NUMBER)
#undef NUMBER
};

static size_t dims_of(const sis__fit *fit, size_t filled, size_t last, int64_t *dims) {
    size_t rank = 0;
    if (fit->batched)
        dims[rank++] = (int64_t)filled;
    for (size_t d = 0; d < fit->rank; d++)
        dims[rank++] = (int64_t)fit->dims[d];
    if (last)
        dims[rank++] = (int64_t)last;
    return rank;
}

/* The source row of row `copy` of a tensor. */
static size_t source(const ort_pass *p, size_t copy) {
    return copy < p->n ? copy : p->n - 1;
}

/* The tensor of an input of numbers. */
static int make_numbers(ort_model *m, size_t i, const sis__fit *fit, const ort_pass *p,
                        ort_value **out) {
    const sis__model_input *in = &m->net->inputs.items[i];
    size_t count = sis__inputs_count(fit), copies = fit->batched ? p->filled : 1,
           seen = seen_values(m, p->n_values), bytes = sis__value_size(in->type);
    int taken = !in->given && in->follow == SIS__FOLLOWS_NOT; /* from the row */
    int ids = taken && m->tokens.matrix != NULL;              /* only the shape is used */
    int64_t dims[SIS__RANK + 2];
    void **values = &m->memory.given[i].values;
    int code = sis__reserve(values, &m->memory.given[i].cap, copies * count, bytes);
    for (size_t r = 0; code == SIS_OK && r < copies; r++) {
        const double *row = m->memory.rows + source(p, r) * seen;
        code = taken && !ids ? sis__values_check(in->type, row + in->part, count) : SIS_OK;
        for (size_t k = 0; code == SIS_OK && k < count; k++)
            sis__value_put(in->type, *values, r * count + k,
                           ids ? 0 : sis__inputs_value(&m->net->inputs, i, row, seen, k));
    }
    size_t rank = dims_of(fit, p->filled, 0, dims);
    return code == SIS_OK ? SIS__ORT(tensor_on, sis__ort.memory, *values, copies * count * bytes,
                                     dims, rank, onnx_types[in->type], out)
                          : code;
}

/* The tensor of embeddings, with the shape of its ids. */
static int make_embedded(ort_model *m, const sis__fit *fit, const ort_pass *p, ort_value **out) {
    size_t count = sis__inputs_count(fit) * m->tokens.dim, copies = fit->batched ? p->filled : 1,
           bytes = sis__value_size(m->net->embedding);
    int64_t dims[SIS__RANK + 2];
    void **values = &m->memory.given[MAX_INPUTS].values;
    int code = sis__reserve(values, &m->memory.given[MAX_INPUTS].cap, copies * count, bytes);
    for (size_t r = 0; code == SIS_OK && r < copies; r++) {
        const float *row = m->memory.embedded + source(p, r) * count;
        for (size_t k = 0; k < count; k++)
            sis__value_put(m->net->embedding, *values, r * count + k, row[k]);
    }
    size_t rank = dims_of(fit, p->filled, m->tokens.dim, dims);
    return code == SIS_OK ? SIS__ORT(tensor_on, sis__ort.memory, *values, copies * count * bytes,
                                     dims, rank, onnx_types[m->net->embedding], out)
                          : code;
}

/* The text of cell k of input i in row r. *owned: to be freed. */
static int text_of(const ort_model *m, size_t i, const ort_pass *p, size_t r, size_t k,
                   const char **text, char **owned) {
    const sis__model_input *in = &m->net->inputs.items[i];
    if (m->texts) {
        int code = sis__request_join(m->pieces, m->n_pieces, p->rows + r * p->n_values, p->n_values,
                                     owned);
        *text = *owned;
        return code;
    }
    if (!m->mixed.items)
        return sis__fail(SIS_E_ARGUMENT,
                         "input %.60s takes texts; give a table with words or texts", in->name);
    *text = sis_net_text(m->net->document, (float)m->memory.rows[r * m->mixed.n + in->part + k]);
    return SIS_OK;
}

/* The tensor of an input of strings. */
static int make_texts(ort_model *m, size_t i, const sis__fit *fit, const ort_pass *p,
                      ort_value **out) {
    size_t count = sis__inputs_count(fit), copies = fit->batched ? p->filled : 1;
    const char **texts = SIS_NEW(const char *, copies *count);
    char **owned = SIS_NEW(char *, p->n);
    int64_t dims[SIS__RANK + 2];
    int code = texts && owned ? SIS_OK : SIS_E_NOMEM;
    for (size_t r = 0; code == SIS_OK && r < copies; r++)
        for (size_t k = 0; code == SIS_OK && k < count; k++) {
            if (r < p->n)
                code = text_of(m, i, p, r, k, &texts[r * count + k], &owned[r]);
            else
                texts[r * count + k] = texts[(p->n - 1) * count + k];
        }
    if (code == SIS_OK)
        code = SIS__ORT(tensor_new, sis__ort.allocator, dims, dims_of(fit, p->filled, 0, dims),
                        onnx_types[SIS__VALUE_BYTES], out);
    if (code == SIS_OK)
        code = SIS__ORT(tensor_put_texts, *out, texts, copies * count);
    for (size_t r = 0; owned && r < p->n; r++)
        free(owned[r]);
    free(owned);
    free(texts);
    return code;
}

/* ---- Passes ---------------------------------------------------------------------------------- */

/* How rows fill the tensor that takes them, or the first that takes a part. */
static int fit_rows(const ort_model *m, size_t n_values, sis__fit *fit) {
    const sis__model_inputs *inputs = &m->net->inputs;
    size_t i = inputs->main;
    for (size_t k = inputs->n; i == inputs->n && k-- > 0;)
        if (!inputs->items[k].given)
            i = k;
    return fit_input(m, i, n_values, fit);
}

static int run(ort_model *m, const ort_pass *p, ort_value **result) {
    const network *net = m->net;
    ort_value *given[MAX_INPUTS + 1] = {NULL};
    const char *names[MAX_INPUTS + 1], *const outputs[] = {m->margins ? net->cut.before
                                                                      : net->output};
    size_t n = 0;
    sis__fit fit;
    int code = see_rows(m, p->rows, p->n, p->n_values);
    for (; code == SIS_OK && n < net->inputs.n; n++) {
        names[n] = net->inputs.items[n].name;
        code = fit_input(m, n, p->n_values, &fit);
        if (code == SIS_OK)
            code = net->inputs.items[n].type == SIS__VALUE_BYTES
                       ? make_texts(m, n, &fit, p, &given[n])
                       : make_numbers(m, n, &fit, p, &given[n]);
    }
    if (code == SIS_OK && m->tokens.matrix) {
        names[n] = net->cut.embedded;
        code = fit_rows(m, p->n_values, &fit);
        if (code == SIS_OK)
            code = make_embedded(m, &fit, p, &given[n++]);
    }
    if (code == SIS_OK)
        code = SIS__ORT(run, net->session, NULL, names, (const ort_value *const *)given, n, outputs,
                        1, result);
    for (size_t i = 0; i <= MAX_INPUTS; i++)
        if (given[i])
            sis__ort.release_value(given[i]);
    return code;
}

/* One pass: m->memory.scores (filled, shape->count / filled). */
static int pass(ort_model *m, const ort_pass *p, result_shape *shape) {
    ort_value *result = NULL;
    int kind = 0;
    *shape = (result_shape){0};
    int code = run(m, p, &result);
    if (code == SIS_OK)
        code = SIS__ORT(kind_of_value, result, &kind);
    if (code == SIS_OK)
        code = kind == SEQUENCE ? read_maps(m, result, shape) : read_tensor(m, result, shape);
    if (result)
        sis__ort.release_value(result);
    long long first = shape->dims.rank > 0 ? shape->dims.dims[0] : 1;
    if (code == SIS_OK && (shape->count == 0 || shape->count % p->filled != 0 ||
                           (p->filled > 1 && first != (long long)p->filled)))
        code = sis__fail(SIS_E_MODEL, "expected scores for %zu rows, found %zu values", p->filled,
                         shape->count);
    size_t k = code == SIS_OK ? shape->count / p->filled : 0;
    if (m->margins && m->net->cut.activation == SIS_NET_SOFTMAX)
        for (size_t r = 0; k && r < p->filled; r++)
            log_odds(m->memory.scores + r * k, k);
    return code;
}

/* Bytes of the inputs of one row. */
static size_t row_bytes(const ort_model *m, size_t n_values) {
    const sis__model_inputs *inputs = &m->net->inputs;
    size_t bytes =
        m->tokens.matrix ? n_values * m->tokens.dim * sis__value_size(m->net->embedding) : 0;
    for (size_t i = 0; i < inputs->n; i++) {
        sis__fit fit;
        if (fit_input(m, i, n_values, &fit) == SIS_OK && fit.batched)
            bytes += sis__inputs_count(&fit) * sis__value_size(inputs->items[i].type);
    }
    return bytes;
}

/* Rows of a pass: a power of two that fits into PASS_BYTES. Some models have no batch axis, or a
 * fixed batch. */
static size_t rows_at_once(const ort_model *m, size_t n_values) {
    sis__fit fit;
    if (fit_rows(m, n_values, &fit) != SIS_OK || !fit.batched)
        return 1;
    if (fit.rows || m->alone)
        return fit.rows ? fit.rows : 1;
    size_t rows = MAX_ROWS, bytes = row_bytes(m, n_values);
    while (rows > 1 && bytes > PASS_BYTES / rows)
        rows /= 2;
    return rows;
}

static int fail_at(int code, const char *path) {
    if (code == SIS_E_MODEL || code == SIS_E_UNSUPPORTED || code == SIS_E_ARGUMENT)
        sis__fail_in(code, "model ort:%.200s", path);
    return code;
}

static int predict(void *ctx, const double *rows, size_t n_rows, size_t n_values, double *scores) {
    ort_model *m = ctx;
    ort_pass p = {.filled = rows_at_once(m, n_values), .n_values = n_values};
    size_t k = m->n_outputs;
    int code = k ? SIS_OK : sis__fail(SIS_E_ARGUMENT, "the number of outputs is unknown");
    pthread_mutex_lock(&m->lock);
    for (size_t first = 0; code == SIS_OK && first < n_rows; first += p.n) {
        result_shape shape;
        p.rows = rows + first * n_values;
        p.n = n_rows - first < p.filled ? n_rows - first : p.filled;
        code = pass(m, &p, &shape);
        if (code == SIS_OK && shape.count != k * p.filled)
            code = sis__fail(SIS_E_MODEL, "expected %zu scores a row, found %zu", k,
                             shape.count / p.filled);
        if (code == SIS_OK)
            memcpy(scores + first * k, m->memory.scores, p.n * k * sizeof *scores);
    }
    pthread_mutex_unlock(&m->lock);
    return fail_at(code, m->net->path);
}

/* ---- Measuring ------------------------------------------------------------------------------- */

/* Another row: the numbers in reverse order (turned), or only their first half, or all 1 if that is
 * the same row. Rows with words: all are removed. */
static void other_row(const ort_model *m, const double *row, size_t n, int turned, double *other) {
    int same = 1;
    for (size_t i = 0; i < n; i++) {
        other[i] = m->texts || m->mixed.items ? NAN
                   : turned                   ? row[n - 1 - i]
                   : i < n / 2                ? row[i]
                                              : 0;
        same &= other[i] == row[i];
    }
    for (size_t i = 0; same && i < n; i++)
        other[i] = 1;
}

/* Does the row keep its scores as the first or second of a pair? Only lack of memory is an error:
 * some models have no batch axis in their output, and may not accept a reversed row. */
static int compare_pair(ort_model *m, const double *pair, size_t place, size_t n_values,
                        size_t filled, const double *alone, int turned, int *same) {
    result_shape shape;
    size_t k = m->n_outputs;
    int code = pass(m, &(ort_pass){pair, 2, filled, n_values}, &shape);
    *same = code == SIS_OK ? shape.count == k * filled : turned;
    for (size_t i = 0; code == SIS_OK && *same && i < k; i++)
        *same = fabs(m->memory.scores[place * k + i] - alone[i]) <= 1e-4 * fmax(1, fabs(alone[i]));
    return code == SIS_E_NOMEM ? code : SIS_OK;
}

/* Does a row keep its scores before and after another one? Some models mix all rows of a pass. */
static int may_batch(ort_model *m, const double *row, size_t n_values, size_t filled, int *may) {
    double *pair = SIS_NEW_RAW(double, 2 * n_values + m->n_outputs),
           *alone = pair ? pair + 2 * n_values : NULL;
    result_shape shape;
    int code = pair ? pass(m, &(ort_pass){row, 1, filled > 2 ? filled : 1, n_values}, &shape)
                    : SIS_E_NOMEM;
    *may = code == SIS_OK;
    if (*may)
        memcpy(alone, m->memory.scores, m->n_outputs * sizeof *alone);
    for (size_t trial = 0; code == SIS_OK && *may && trial < 4; trial++) {
        size_t place = trial % 2;
        memcpy(pair + place * n_values, row, n_values * sizeof *row);
        other_row(m, row, n_values, trial > 1, pair + (1 - place) * n_values);
        code = compare_pair(m, pair, place, n_values, filled, alone, trial > 1, may);
    }
    free(pair);
    return code;
}

/* Each row of a pass must have its own scores. */
static int check_rows(ort_model *m, const double *row, size_t n_values) {
    sis__fit fit;
    int apart = 1, code = fit_rows(m, n_values, &fit);
    if (code != SIS_OK || !fit.batched || fit.rows == 1)
        return code;
    code = may_batch(m, row, n_values, fit.rows ? fit.rows : 2, &apart);
    m->alone = !apart;
    return code != SIS_OK || apart || fit.rows == 0
               ? code
               : sis__fail(SIS_E_UNSUPPORTED,
                           "it takes batches of %zu rows whose scores depend on each other; export "
                           "it for one row, or give them as one example",
                           fit.rows);
}

/* A softmax gives margins only if it runs over all scores of a row and nothing else. */
static int gives_margins(const ort_model *m, const result_shape *s) {
    const sis_net_cut *cut = &m->net->cut;
    if (cut->activation == SIS_NET_SIGMOID)
        return 1;
    int64_t rank = (int64_t)s->dims.rank, axis = cut->axis < 0 ? cut->axis + rank : cut->axis;
    size_t along = 1, behind = 1;
    for (int64_t d = 0; d < rank; d++)
        if (d == axis || (d > axis && cut->to_the_end))
            along *= (size_t)s->dims.dims[d];
        else if (d > axis)
            behind *= (size_t)s->dims.dims[d];
    return axis >= 0 && axis < rank && behind == 1 && along == m->n_outputs;
}

/* Measure one row: the number of scores, and whether they are margins. */
static int measure_scores(ort_model *m, const double *row, size_t n_values) {
    sis__fit fit;
    result_shape shape;
    int code = fit_rows(m, n_values, &fit);
    size_t filled = code == SIS_OK && fit.batched && fit.rows ? fit.rows : 1;
    m->margins = m->net->cut.before != NULL;
    for (int again = 1; code == SIS_OK && again;) {
        code = pass(m, &(ort_pass){row, 1, filled, n_values}, &shape);
        m->n_outputs = code == SIS_OK ? shape.count / filled : 0;
        again = code == SIS_OK && m->margins && !gives_margins(m, &shape);
        m->margins &= !again;
    }
    return code;
}

static int measure_outputs(sis_model *model, const double *row, size_t n_values) {
    ort_model *m = model->ctx;
    int code = measure_scores(m, row, n_values);
    if (code == SIS_OK)
        code = check_rows(m, row, n_values);
    if (code != SIS_OK)
        m->n_outputs = 0;
    model->n_outputs = m->n_outputs;
    model->link = m->margins ? sis_net_link : NULL;
    return fail_at(code, m->net->path);
}

/* ---- Handles --------------------------------------------------------------------------------- */

/* A further handle of the same network; `role`: which settings it accepts, and what it frees. */
static int copy_handle(const ort_model *m, handle_role role, void **out) {
    ort_model *twin = sis__copy(m, 1, sizeof *twin);
    *out = twin;
    if (!twin)
        return SIS_E_NOMEM;
    pthread_mutex_init(&twin->lock, NULL);
    twin->role = role;
    twin->memory = (memory){0};
    twin->tokens.mask = NULL;
    if (role == SHARED) {
        twin->mixed = (sis__mixed){0};
        twin->texts = 0;
    }
    if (m->tokens.mask)
        twin->tokens.mask = sis__copy(m->tokens.mask, m->tokens.dim, sizeof *m->tokens.mask);
    if (!m->tokens.mask || twin->tokens.mask)
        return SIS_OK;
    ort_close(twin);
    *out = NULL;
    return SIS_E_NOMEM;
}

static int worker_new(void *ctx, void **worker) {
    return copy_handle(ctx, WORKER, worker);
}

static int share(void *ctx, void **twin) {
    return copy_handle(ctx, SHARED, twin);
}

/* ---- Settings -------------------------------------------------------------------------------- */

static int take_rows(void *ctx, const sis_row_form *form) {
    ort_model *m = ctx;
    const sis_net *net = m->net->document;
    if (!net || !sis_net_takes_words(net))
        return sis__fail(SIS_E_UNSUPPORTED, "this network takes numbers, not words");
    sis__mixed_free(&m->mixed);
    return sis__mixed_init(&m->mixed, net, form);
}

static int take_texts(void *ctx, const sis_piece *pieces, size_t n) {
    ort_model *m = ctx;
    const sis__model_inputs *inputs = &m->net->inputs;
    if (inputs->main == inputs->n || inputs->items[inputs->main].type != SIS__VALUE_BYTES)
        return sis__fail(SIS_E_UNSUPPORTED, "this network does not take one text for each row");
    m->pieces = pieces;
    m->n_pieces = n;
    m->texts = 1;
    return SIS_OK;
}

static void row_shape(const void *ctx, sis_net_shape *shape) {
    sis__inputs_row(&((const ort_model *)ctx)->net->inputs, shape);
}

static const sis_net *document(const void *ctx) {
    return ((const ort_model *)ctx)->net->document;
}

static sis__tokens *tokens(void *ctx) {
    return &((ort_model *)ctx)->tokens;
}

static const char *engine(const void *ctx) {
    (void)ctx;
    return sis__ort.engine;
}

/* "input x: float32 (any, 3)" for each input, the output, and what runs it. */
static int describe(const void *ctx, char **text) {
    const network *net = ((const ort_model *)ctx)->net;
    sis__buf b = {0};
    char *carried = NULL, shape[SIS__DIMS_TEXT];
    size_t n;
    int code = net->document ? sis_net_describe_meta(net->document, &carried) : SIS_OK;
    if (code != SIS_OK)
        return code;
    for (size_t i = 0; i < net->inputs.n; i++) {
        const sis__model_input *in = &net->inputs.items[i];
        sis__shape_text(&in->shape, shape);
        sis__buf_printf(&b, "input %s: %s %s\n", in->name, sis__value_name(in->type), shape);
        sis__buf_str(&b, i == 0 && carried ? carried : "");
    }
    free(carried);
    sis__buf_printf(
        &b, "output %s\nrun by %s: each masked copy is a full pass; no gradients, no proofs\n",
        net->output, sis__ort.engine);
    return sis__buf_give(&b, text, &n);
}

/* ---- The kind -------------------------------------------------------------------------------- */

static int open_file(const char *path, const char *output, const sis_model_opt *opt,
                     const char *note, sis_model *out) {
    int code = sis__ort_load();
    ort_model *m = code == SIS_OK ? SIS_NEW(ort_model, 1) : NULL;
    if (!m)
        return code == SIS_OK ? SIS_E_NOMEM : code;
    m->opened.kind = &sis__model_ort;
    pthread_mutex_init(&m->lock, NULL);
    if (note)
        snprintf(m->opened.note, sizeof m->opened.note, "%s", note);
    code = open_shared(path, output, opt, &m->net);
    if (code == SIS_OK && m->net->cut.embedded)
        code = sis__tokens_init(&m->tokens, m->net->document);
    if (code != SIS_OK) {
        fail_at(code, path);
        ort_close(m);
        return code;
    }
    *out = (sis_model){.size = sizeof *out,
                       .predict = predict,
                       .ctx = m,
                       .n_values = sis__inputs_values(&m->net->inputs),
                       .worker_new = worker_new,
                       .worker_free = ort_close};
    return SIS_OK;
}

int sis__ort_open(const char *spec, const sis_model_opt *opt, const char *note, sis_model *out) {
    char *file;
    const char *output;
    int code = sis__file_part(spec, &file, &output);
    if (code == SIS_OK)
        code = open_file(file, output, opt, note, out);
    free(file);
    return code;
}

static int ort_open(const char *spec, const sis_model_opt *opt, sis_model *out) {
    return sis__ort_open(spec + strlen(sis__model_ort.prefix), opt, NULL, out);
}

const sis__model_kind sis__model_ort = {
    .prefix = "ort:",
    .open = ort_open,
    .measure = measure_outputs,
    .predict = predict,
    .take_texts = take_texts,
    .take_rows = take_rows,
    .row_shape = row_shape,
    .document = document,
    .tokens = tokens,
    .engine = engine,
    .describe = describe,
    .share = share,
    .close = ort_close,
};
