/* SPDX-License-Identifier: MIT
 *
 * `FILE.onnx`: a network of our own engine as a model. Rows are converted to single precision and
 * margins are returned. The model is constant, so all threads share one. The network's walk answers
 * probes if one fits.
 *
 * If a network begins with a lookup of token ids in an embedding matrix, the lookup is done here
 * (tokens.c), so that a mask can be an embedding of no word.
 */
#include "model/network.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/handle.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"

enum { ROWS = 256 };

static sis_net_batch batch_of(const network_model *m, size_t n, size_t n_values) {
    int embedded = m->tokens.matrix != NULL;
    return (sis_net_batch){.n_rows = n,
                           .n_values = m->texts         ? 1
                                       : m->mixed.items ? m->mixed.n
                                       : embedded       ? n_values * m->tokens.dim
                                                        : n_values,
                           .embedded = embedded,
                           .jobs = 1,
                           .shape = sis__shapes_find(&m->opened.shapes, n_values)};
}

/* Does value v of a row go into an input of integers? Inputs that take a part of the row have a
 * batch axis. */
static int is_whole(const sis_net *net, size_t v) {
    sis_net_tensor in = {0};
    size_t fed = 0, end = 0;
    for (size_t i = 0; i < sis_net_inputs(net); i++)
        fed += sis_net_input_is_fed(net, i) != 0;
    for (size_t i = 0; i < sis_net_inputs(net); i++) {
        if (!sis_net_input_is_fed(net, i) || sis_net_input_get(net, i, &in) != SIS_OK)
            continue;
        size_t count = 1;
        for (size_t d = 1; d < in.shape.rank; d++)
            count *= in.shape.dims[d];
        end += count;
        if (fed == 1 || v < end)
            break;
    }
    return in.type == SIS_NET_INTS;
}

/* Do rows go into any input of integers? */
static int has_whole(const sis_net *net) {
    sis_net_tensor in;
    for (size_t i = 0; i < sis_net_inputs(net); i++)
        if (sis_net_input_is_fed(net, i) && sis_net_input_get(net, i, &in) == SIS_OK &&
            in.type == SIS_NET_INTS)
            return 1;
    return 0;
}

/* Rows are floats, which hold integers up to 2^24. */
static int convert_row(const network_model *m, const double *from, size_t n, int whole,
                       float *row) {
    for (size_t v = 0; v < n; v++) {
        row[v] = (float)from[v];
        if (whole && from[v] != floor(from[v]) && is_whole(m->net, v))
            return sis__fail(SIS_E_ARGUMENT,
                             "value %zu of a row is %g, but the input takes whole numbers; give "
                             "whole numbers, also as the mask",
                             v, from[v]);
        if (fabs(from[v]) > 1 << 24 && (double)row[v] != from[v] && is_whole(m->net, v))
            return sis__fail(SIS_E_UNSUPPORTED,
                             "value %zu of a row is %.17g; the engine supports whole numbers up to "
                             "16777216: use ONNX Runtime (ort:FILE.onnx)",
                             v, from[v]);
    }
    return SIS_OK;
}

/* The rows of the batch in the network's type; the caller frees them. */
static int convert(const network_model *m, const double *rows, size_t n_values, sis_net_batch *b) {
    float *to = (float *)sis__alloc_raw(b->n_rows, b->n_values * sizeof *to);
    int error = to ? SIS_OK : SIS_E_NOMEM, whole = has_whole(m->net);
    b->rows = to;
    for (size_t i = 0; error == SIS_OK && i < b->n_rows; i++) {
        const double *from = rows + i * n_values;
        float *row = to + i * b->n_values;
        if (m->tokens.matrix)
            error = sis__tokens_embed(&m->tokens, from, n_values, row);
        else if (m->mixed.items)
            error = sis__mixed_row(&m->mixed, from, row);
        else
            error = convert_row(m, from, n_values, whole, row);
    }
    return error;
}

/* Rows of other lengths may have another number of scores than the measured row. */
static int check_outputs(const network_model *m, const sis_net_batch *b) {
    size_t n = 0;
    int error = sis_net_batch_outputs(m->net, b, &n);
    if (error != SIS_OK || n == m->n_outputs)
        return error;
    if (m->n_outputs == 0)
        return sis__fail(SIS_E_ARGUMENT, "the number of outputs is unknown");
    return sis__fail(
        SIS_E_UNSUPPORTED,
        "the number of scores depends on the length of the input: %zu before, %zu for %zu values; "
        "export the network with a fixed number of outputs, or explain inputs of one length",
        m->n_outputs, n, b->n_values);
}

static int predict(void *ctx, const double *rows, size_t n, size_t n_values, double *margins) {
    const network_model *m = (const network_model *)ctx;
    sis_net_batch b = batch_of(m, n, n_values);
    int error = check_outputs(m, &b);
    if (error == SIS_OK && m->texts)
        return sis__texts_margins(m->texts, rows, n, n_values, m->n_outputs, margins);
    if (error == SIS_OK)
        error = convert(m, rows, n_values, &b);
    if (error == SIS_OK)
        error = sis_net_margins(m->net, &b, margins);
    free((void *)(uintptr_t)b.rows);
    return error;
}

static int embed(void *ctx, const double *row, size_t n_values, double *point) {
    const network_model *m = (const network_model *)ctx;
    sis_net_batch b = batch_of(m, 1, n_values);
    int error = convert(m, row, n_values, &b);
    for (size_t i = 0; error == SIS_OK && i < b.n_values; i++)
        point[i] = b.rows[i];
    free((void *)(uintptr_t)b.rows);
    return error;
}

/* The gradient of margins, which does not vanish in single precision when the score is 1, times the
 * slope of the link in double precision. */
static int gradient(void *ctx, const sis_slopes *s) {
    const network_model *m = (const network_model *)ctx;
    size_t n = s->n * s->width, outputs = m->n_outputs;
    size_t values_each = m->tokens.matrix ? m->tokens.dim : 1;
    float *points = SIS_NEW_RAW(float, n), *d_points = SIS_NEW_RAW(float, n);
    double *margins = SIS_NEW_RAW(double, s->n *outputs);
    int error = points && d_points && margins ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        points[i] = (float)s->points[i];
    const sis_net_batch batch = {.rows = points,
                                 .n_rows = s->n,
                                 .n_values = s->width,
                                 .embedded = m->tokens.matrix != NULL,
                                 .jobs = 1,
                                 .shape =
                                     sis__shapes_find(&m->opened.shapes, s->width / values_each)};
    const sis_net_grad grad = {.output = s->output, .of_margins = 1, .d_rows = d_points};
    if (error == SIS_OK)
        error = check_outputs(m, &batch);
    if (error == SIS_OK)
        error = sis_net_gradient(m->net, &batch, &grad);
    if (error == SIS_OK)
        error = sis_net_margins(m->net, &batch, margins);
    for (size_t i = 0; error == SIS_OK && i < s->n; i++) {
        double margin = margins[i * outputs + s->output], scale = 1;
        s->scores[i] = margin;
        if (sis_net_has_link(m->net)) {
            s->scores[i] = sis_net_link(margin);
            scale = s->scores[i] * sis_net_link(-margin);
        }
        for (size_t k = i * s->width; k < (i + 1) * s->width; k++)
            s->d_points[k] = scale * d_points[k];
    }
    free(points);
    free(d_points);
    free(margins);
    return error;
}

static int walk_new(void *ctx, const sis_input *input, size_t memory, sis_walk **out) {
    const network_model *m = (const network_model *)ctx;
    const sis_net_walk_opt opt = {.memory = memory,
                                  .by_cost = !m->always_walk,
                                  .shape = sis__shapes_find(&m->opened.shapes, input->n_values)};
    return m->tokens.matrix ? sis__tokens_walk(&m->tokens, m->net, input, &opt, out)
                            : sis_net_walk(m->net, input, &opt, out);
}

/* The engine does not support the file, as the error message says; try ONNX Runtime. If that is not
 * available, the message says what to do. */
static int run_elsewhere(const char *path, const sis_model_opt *opt, sis_model *out) {
    char why[500], note[400], other[500];
    snprintf(why, sizeof why, "%s", sis_error_detail());
    snprintf(note, sizeof note,
             "%.*s; ONNX Runtime runs it: without walks (each masked copy is a full pass), "
             "gradients and proofs",
             (int)(strcspn(why, ";") < 280 ? strcspn(why, ";") : 280), why);
    int error = sis__ort_open(path, opt, note, out);
    if (error == SIS_OK || error == SIS_E_NOMEM)
        return error;
    snprintf(other, sizeof other, "%s", sis_error_detail());
    return sis__fail(SIS_E_UNSUPPORTED, "%s. %s", why, other);
}

static void network_close(void *ctx) {
    network_model *m = (network_model *)ctx;
    if (!m->borrowed)
        sis_net_free(m->net);
    sis__mixed_free(&m->mixed);
    sis__texts_free(m->texts);
    free(m->tokens.mask);
    free(m);
}

/* The same network with its own masked token. */
static int network_share(void *ctx, void **out) {
    const network_model *m = (const network_model *)ctx;
    network_model *twin = (network_model *)sis__copy(m, 1, sizeof *m);
    if (!twin)
        return SIS_E_NOMEM;
    twin->borrowed = 1;
    twin->mixed = (sis__mixed){0};
    twin->texts = NULL;
    if (m->tokens.mask)
        twin->tokens.mask = (float *)sis__copy(m->tokens.mask, m->tokens.dim, sizeof(float));
    if (m->tokens.mask && !twin->tokens.mask) {
        free(twin);
        return SIS_E_NOMEM;
    }
    *out = twin;
    return SIS_OK;
}

static int network_take_rows(void *ctx, const sis_row_form *form) {
    network_model *m = (network_model *)ctx;
    if (!sis_net_takes_words(m->net))
        return sis__fail(SIS_E_UNSUPPORTED, "this network takes numbers, not words");
    sis__mixed_free(&m->mixed);
    return sis__mixed_init(&m->mixed, m->net, form);
}

static int network_take_texts(void *ctx, const sis_piece *pieces, size_t n) {
    network_model *m = (network_model *)ctx;
    sis__texts_free(m->texts);
    return sis__texts_new(m->net, pieces, n, &m->texts);
}

static void network_row_shape(const void *ctx, sis_net_shape *shape) {
    sis_net_input_shape(((const network_model *)ctx)->net, shape);
}

/* Set the fields that depend on the network's rows. */
static void describe(network_model *m, sis_model *out) {
    m->n_outputs = sis_net_outputs(m->net);
    out->n_outputs = m->n_outputs;
    out->n_values = sis_net_values(m->net);
    out->link = sis_net_has_link(m->net) ? sis_net_link : NULL;
}

static int network_take_batch(sis_model *model) {
    network_model *m = (network_model *)model->ctx;
    if (m->borrowed)
        return sis__fail(SIS_E_UNSUPPORTED, "a shared model takes whole batches");
    int error = sis_net_count_rows(m->net);
    if (error == SIS_OK)
        describe(m, model);
    return error;
}

/* Only called for networks of free length. */
static int network_measure(sis_model *model, const double *row, size_t n_values) {
    network_model *m = (network_model *)model->ctx;
    sis_net_batch b = batch_of(m, 1, n_values);
    (void)row;
    int error = sis_net_batch_outputs(m->net, &b, &m->n_outputs);
    m->n_outputs = error == SIS_OK ? m->n_outputs : 0;
    model->n_outputs = m->n_outputs;
    return error == SIS_OK && m->n_outputs == 0
               ? sis__fail(SIS_E_UNSUPPORTED, "the number of scores depends on the input; export "
                                              "the network with a fixed number of outputs")
               : error;
}

/* Choose the input for rows, and set the others. */
static int set_inputs(sis_net *net, const sis_model_opt *opt) {
    int error = SIS_OK;
    for (size_t i = 0; i < opt->n_with && !error; i++)
        error = sis_net_set_input(net, opt->with[i].name, &opt->with[i]);
    if (!error && opt->explain)
        error = sis_net_explain_input(net, opt->explain);
    return error ? error : sis_net_ready(net);
}

/* ---- Pixels -------------------------------------------------------------------------------- */

enum { MAX_CHANNELS = 4 };

/* "0.5,0.4,0.3" up to `end`: returns the number of values; 0: another text. */
static size_t parse_numbers(const char *text, char end, double *out, const char **rest) {
    for (size_t n = 0; n < MAX_CHANNELS;) {
        char *after;
        out[n++] = sis__number(text, &after);
        if (after == text || (*after != ',' && *after != end))
            return 0;
        *rest = text = after + 1;
        if (*after == end)
            return n;
    }
    return 0;
}

/* The values used to train torchvision's networks. */
static const char IMAGENET[] = "0.485,0.456,0.406/0.229,0.224,0.225";

int sis__network_normalize(sis_net *net, const char *text) {
    double mean[MAX_CHANNELS], deviation[MAX_CHANNELS];
    const char *rest = strcmp(text, "imagenet") == 0 ? IMAGENET : text;
    size_t n = parse_numbers(rest, '/', mean, &rest);
    if (n == 0 || parse_numbers(rest, '\0', deviation, &rest) != n)
        return sis__fail(SIS_E_ARGUMENT,
                         "--normalize: expected imagenet or MEAN/DEVIATION, as 0.5/0.5 or "
                         "0.5,0.4,0.3/0.2,0.2,0.2, found \"%s\"",
                         text);
    return sis_net_normalize(net, mean, deviation, n);
}

/* FILE or FILE#OUTPUT. */
static int read_net(const char *spec, sis_net **net) {
    char *file;
    const char *output;
    int error = sis__file_part(spec, &file, &output);
    if (error == SIS_OK)
        error = sis_net_read(file, net);
    if (error == SIS_OK && output)
        error = sis_net_choose_output(*net, output);
    free(file);
    return error;
}

static int network_open(const char *spec, const sis_model_opt *opt, sis_model *out) {
    network_model *m = SIS_NEW(network_model, 1);
    if (!m)
        return SIS_E_NOMEM;
    m->opened.kind = &sis__model_network;
    int error = read_net(spec, &m->net);
    if (error == SIS_OK)
        error = set_inputs(m->net, opt);
    if (error == SIS_OK && opt->normalize)
        error = sis__network_normalize(m->net, opt->normalize);
    if (error == SIS_OK && sis_net_is_token(m->net))
        error = sis__tokens_init(&m->tokens, m->net);
    if (error != SIS_OK) {
        network_close(m);
        return error == SIS_E_UNSUPPORTED ? run_elsewhere(spec, opt, out) : error;
    }
    *out = (sis_model){.size = sizeof *out,
                       .predict = predict,
                       .ctx = m,
                       .max_rows = ROWS,
                       .worker_new = sis_worker_share,
                       .walk_new = walk_new,
                       .gradient = gradient,
                       .embed = m->tokens.matrix ? embed : NULL,
                       .dim = m->tokens.dim};
    describe(m, out);
    return SIS_OK;
}

const sis_net *sis_model_net(const sis_model *model) {
    return model->predict == predict ? ((const network_model *)model->ctx)->net : NULL;
}

static const sis_net *network_document(const void *ctx) {
    return ((const network_model *)ctx)->net;
}

static sis__tokens *network_tokens(void *ctx) {
    return &((network_model *)ctx)->tokens;
}

static int network_pad_token(void *ctx, size_t id) {
    const network_model *m = (const network_model *)ctx;
    return m->borrowed
               ? sis__fail(
                     SIS_E_UNSUPPORTED,
                     "cannot set the padding token %zu of a shared model; let the task open it", id)
               : sis_net_set_padding(m->net, (int64_t)id);
}

const sis__model_kind sis__model_network = {
    .suffix = ".onnx",
    .form = "FILE.onnx",
    .meaning = "a network in the ONNX format",
    .open = network_open,
    .measure = network_measure,
    .predict = predict,
    .take_texts = network_take_texts,
    .take_rows = network_take_rows,
    .take_batch = network_take_batch,
    .row_shape = network_row_shape,
    .document = network_document,
    .tokens = network_tokens,
    .pad_token = network_pad_token,
    .share = network_share,
    .close = network_close,
};
