/* SPDX-License-Identifier: MIT
 *
 * `http://...` and `https://...`: models behind a server. The address determines one of three
 * protocols:
 *
 *     .../v2/models/M[/versions/V]   Open Inference Protocol; POST .../infer
 *     .../v1/models/M[/versions/V]   TensorFlow Serving, KServe v1; POST ...:predict
 *     .../invocations                MLflow; POST to the address itself
 *
 * The model's metadata (v2: GET of the address, v1: GET .../metadata) give the input's name, type
 * and shape. Binary tensors are used if a v2 server supports them: numbers are exact, and neither
 * side spends time on digits. web.c transfers the bytes; this file writes requests and reads
 * answers.
 *
 * A request holds as many rows as fit in 4 MiB and as the server accepts: its max_batch_size if it
 * declares one, half as many after status 413 (too large) or an answer that took a quarter of the
 * time-out.
 */
#include "model/http.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/handle.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/answer.h"
#include "model/inputs.h"
#include "model/kind.h"
#include "model/request.h"
#include "model/web.h"

static const size_t LONGEST_ANSWER = (size_t)256 << 20, LONGEST_METADATA = (size_t)16 << 20;
static const size_t LONGEST_TENSOR = (size_t)1 << 30; /* limit in bytes of a request, if the model
                                                       * determines its size */

/* ---- A model --------------------------------------------------------------------------------- */

/* Data about the model. The opened handle owns it, those of other threads borrow it. It is constant
 * once the model is open. */
typedef struct {
    sis__protocol protocol;
    char *address; /* without login, output and verb */
    char *verb;    /* path of requests */
    char *output;  /* the chosen output, or NULL */
    char *input;   /* name of the input */
    sis__value_type type;
    sis__shape shape;
    int has_shape, binary;
    sis__model_inputs inputs; /* v2: all of them */
    size_t max_rows;          /* the server's own limit; 0: none known */
    double timeout;
    const sis_model_opt *opt; /* only while opening */
} endpoint;

typedef struct {
    sis__asked_model base;
    endpoint *end;
    int borrowed;
    sis__web *web;
    sis__web_answer answer;
    size_t max_rows; /* in one request; 0: as many as fit */
} http_model;

static void endpoint_free(endpoint *e) {
    if (!e)
        return;
    free(e->address);
    free(e->verb);
    free(e->output);
    free(e->input);
    sis__inputs_release(&e->inputs);
    free(e);
}

static void model_free(void *ctx) {
    http_model *m = ctx;
    if (!m)
        return;
    if (!m->borrowed) {
        endpoint_free(m->end);
        sis__opened_free_labels(&m->base.opened);
    }
    sis__web_free(m->web);
    sis__buf_release(&m->answer.body);
    sis__request_release(&m->base.request);
    pthread_mutex_destroy(&m->base.lock);
    free(m);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static int expect_ok(const http_model *m, const char *expected) {
    const sis__web_answer *a = &m->answer;
    char reason[SIS__REASON], again[32] = "";
    if (a->status == 200)
        return SIS_OK;
    const char *hint = a->status == 401 || a->status == 403
                           ? " (give what it asks for by --token or --header)"
                       : a->status == 404 ? " (is the model's name right?)"
                                          : "";
    if (a->attempts > 1)
        snprintf(again, sizeof again, ", %d times", a->attempts);
    int reported = sis__answer_reason(m->web, a, reason);
    return sis__fail(SIS_E_MODEL, "HTTP %ld%s%s, expected 200 with %s%s%s", a->status, again, hint,
                     expected, reported ? ": the server reports: " : ", found ", reason);
}

/* The output: by name, else the only one, else the first of floating point, because probabilities
 * often come with labels. */
static const json_t *choose_output(const json_t *outputs, const char *name) {
    const json_t *output, *first = NULL;
    size_t i;
    json_array_foreach(outputs, i, output) {
        const char *own = json_string_value(json_object_get(output, "name"));
        sis__value_type type =
            sis__value_named(json_string_value(json_object_get(output, "datatype")));
        if (name ? own && strcmp(own, name) == 0 : sis__value_is_float(type))
            return output;
        if (!first && type != SIS__VALUE_BYTES)
            first = output;
    }
    return name ? NULL : first ? first : json_array_get(outputs, 0);
}

/* Read a JSON shape such as [2,3]. 0: not a shape. */
static int read_shape(const json_t *list, sis__shape *out) {
    const json_t *dim;
    sis__shape shape = {.rank = json_array_size(list)};
    size_t i;
    if (!json_is_array(list) || shape.rank > SIS__RANK)
        return 0;
    json_array_foreach(list, i, dim) {
        double v = json_number_value(dim);
        if (!json_is_number(dim) || v != floor(v) || v < -1 || v > 1e15)
            return 0;
        shape.dims[i] = (long long)v;
    }
    *out = shape;
    return 1;
}

/* A v2 output while it is read. */
typedef struct {
    const sis__asked *asked;
    sis__answer *answer;
    const json_t *tensor;
    sis__value_type type;
    size_t count, outputs; /* number of values, in all and per row */
    const char *binary;    /* the values, or NULL: they are in "data" */
    size_t binary_size;
} tensor_reader;

/* Set the number of values, in all and per row. */
static int read_counts(tensor_reader *t) {
    char text[SIS__DIMS_TEXT];
    sis__shape shape;
    size_t sent = t->asked->sent;
    if (!read_shape(json_object_get(t->tensor, "shape"), &shape))
        return sis__fail(SIS_E_MODEL, "expected an output with a list \"shape\"");
    t->count = 1;
    for (size_t d = 0; d < shape.rank && t->count > 0; d++)
        t->count = shape.dims[d] > 0 && (size_t)shape.dims[d] <= ((size_t)1 << 40) / t->count
                       ? t->count * (size_t)shape.dims[d]
                       : 0;
    sis__shape_text(&shape, text);
    if (t->count == 0 || t->count % sent != 0 ||
        (sent > 1 && (shape.rank == 0 || shape.dims[0] != (long long)sent)))
        return sis__fail(SIS_E_MODEL, "expected an output of shape (%zu, ...), found %s", sent,
                         text);
    t->outputs = t->count / sent;
    return SIS_OK;
}

/* Read the values of "data", flat or nested, into scores (rows, outputs); NULL: only check the
 * first row. *at counts the values. */
static int read_data(tensor_reader *t, const json_t *data, int depth, size_t *at, double *scores) {
    const json_t *value;
    double ignored;
    size_t i, last = (scores ? t->asked->rows : 1) * t->outputs;
    int code = SIS_OK;
    json_array_foreach(data, i, value) {
        if (json_is_array(value) && depth < SIS__RANK) {
            code = read_data(t, value, depth + 1, at, scores);
        } else {
            t->answer->row = *at / t->outputs;
            if (*at < last && json_is_boolean(value) && t->type == SIS__VALUE_BOOL)
                *(scores ? &scores[*at] : &ignored) = json_is_true(value);
            else if (*at < last)
                code = sis__answer_score(t->answer, value, scores ? &scores[*at] : &ignored);
            ++*at;
        }
        if (code != SIS_OK)
            return code;
    }
    return code;
}

static int read_binary(tensor_reader *t, double *scores) {
    double ignored;
    size_t last = (scores ? t->asked->rows : 1) * t->outputs;
    int code = SIS_OK;
    if (t->binary_size != t->count * sis__value_size(t->type))
        return sis__fail(SIS_E_MODEL, "expected %zu bytes for %zu values of %s, found %zu",
                         t->count * sis__value_size(t->type), t->count, sis__value_name(t->type),
                         t->binary_size);
    for (size_t i = 0; i < last && code == SIS_OK; i++) {
        t->answer->row = i / t->outputs;
        code = sis__answer_value(t->answer, sis__value_get(t->type, t->binary, i),
                                 scores ? &scores[i] : &ignored);
    }
    return code;
}

static int read_tensor(tensor_reader *t, size_t *n_outputs, double *scores) {
    const char *type = json_string_value(json_object_get(t->tensor, "datatype"));
    const json_t *data = json_object_get(t->tensor, "data");
    size_t seen = 0;
    int code = read_counts(t);
    if (code != SIS_OK)
        return code;
    t->type = sis__value_named(type);
    if (t->type == SIS__VALUE_UNKNOWN || t->type == SIS__VALUE_BYTES)
        return sis__fail(SIS_E_MODEL, "expected an output of numbers, found datatype %.20s",
                         type ? type : "none");
    if (scores && t->outputs != *n_outputs)
        return sis__fail(SIS_E_MODEL, "expected %zu scores a row, found %zu", *n_outputs,
                         t->outputs);
    t->answer->several = t->outputs > 1;
    if (!scores)
        *n_outputs = t->outputs;
    if (t->binary)
        return read_binary(t, scores);
    if (!json_is_array(data))
        return sis__fail(SIS_E_MODEL, "expected an output with a list \"data\", found %s",
                         sis__answer_type(data));
    code = read_data(t, data, 1, &seen, scores);
    if (code == SIS_OK && seen != t->count)
        code = sis__fail(SIS_E_MODEL, "expected %zu values, as the shape says, found %zu", t->count,
                         seen);
    return code;
}

/* Find the binary values of an output after the JSON: outputs with "binary_data_size" follow each
 * other. */
static int find_binary(tensor_reader *t, const json_t *outputs, const char *bytes, size_t length) {
    const json_t *output;
    size_t i, from = 0;
    json_array_foreach(outputs, i, output) {
        const json_t *size =
            json_object_get(json_object_get(output, "parameters"), "binary_data_size");
        double n = json_number_value(size);
        if (json_is_number(size) && !(n >= 0 && n <= (double)(length - from)))
            return sis__fail(SIS_E_MODEL, "an output of %.0f bytes in %zu bytes of binary data", n,
                             length);
        if (output == t->tensor && json_is_number(size)) {
            t->binary = bytes + from;
            t->binary_size = (size_t)n;
        }
        from += json_is_number(size) ? (size_t)n : 0;
    }
    return SIS_OK;
}

static const char *string_or(const json_t *value, const char *other) {
    return json_is_string(value) ? json_string_value(value) : other;
}

static int check_id(const json_t *answer, size_t number) {
    char own[24];
    const char *id = json_string_value(json_object_get(answer, "id"));
    snprintf(own, sizeof own, "%zu", number);
    return !id || !*id || strcmp(id, own) == 0
               ? SIS_OK
               : sis__fail(SIS_E_MODEL,
                           "expected the response to request %s, found the one to %.40s", own, id);
}

/* Report what was received instead. */
static int fail_found(const char *expected, const json_t *json) {
    char excerpt[SIS__EXCERPT];
    char *text = sis__json_dump(json, JSON_COMPACT | JSON_ENCODE_ANY);
    sis__answer_excerpt(text ? text : "", text ? strlen(text) : 0, excerpt, sizeof excerpt);
    free(text);
    return sis__fail(SIS_E_MODEL, "expected %s, found %s", expected, excerpt);
}

static int read_v2(const sis__asked *q, sis__answer *a, const char *rest, size_t rest_length,
                   size_t *n_outputs, double *scores) {
    const json_t *outputs = json_object_get(a->json, "outputs");
    tensor_reader t = {.asked = q, .answer = a};
    int code = check_id(a->json, q->number);
    if (code != SIS_OK)
        return code;
    if (json_array_size(outputs) == 0)
        return fail_found("an object with a list \"outputs\"", a->json);
    t.tensor = choose_output(outputs, q->output);
    if (!t.tensor)
        return sis__fail(SIS_E_MODEL, "expected an output named \"%.60s\", found \"%.60s\"",
                         q->output,
                         string_or(json_object_get(json_array_get(outputs, 0), "name"), ""));
    code = find_binary(&t, outputs, rest, rest_length);
    return code == SIS_OK ? read_tensor(&t, n_outputs, scores) : code;
}

static int read_predictions(const sis__asked *q, sis__answer *a, size_t *n_outputs,
                            double *scores) {
    const json_t *predictions = json_object_get(a->json, "predictions");
    a->named = 1;
    a->member = q->output;
    if (!json_is_array(predictions))
        return fail_found("an object with a list \"predictions\"", a->json);
    return sis__answer_rows(a, predictions, "prediction", n_outputs, scores);
}

int sis__http_read(const sis__asked *q, char *body, size_t length, size_t json_length,
                   size_t *n_outputs, double *scores) {
    sis__answer a;
    if (json_length > length)
        return sis__fail(SIS_E_MODEL, "expected %zu bytes of JSON, found %zu", json_length, length);
    size_t text = json_length ? json_length : length;
    char behind = body[text];
    body[text] = '\0';
    int code = sis__answer_parse(&a, body, text, q->rows, "JSON");
    body[text] = behind;
    if (code != SIS_OK)
        return code;
    const json_t *error = json_object_get(a.json, "error");
    if (json_is_string(error))
        code = sis__fail(SIS_E_MODEL, "the server reports: %.600s", json_string_value(error));
    else if (q->protocol == SIS__PROTOCOL_V2)
        code = read_v2(q, &a, body + text, length - text, n_outputs, scores);
    else
        code = read_predictions(q, &a, n_outputs, scores);
    sis__answer_release(&a);
    return code;
}

/* ---- Questions ------------------------------------------------------------------------------- */

/* The rows of one request: at most those of the caller. */
typedef struct {
    const double *rows; /* (n_rows, n_values) */
    size_t n_rows, n_values;
    sis__fit fit;
    size_t asked, sent; /* number of these rows in the request; and including padding rows */
} question;

/* The declared shape of the rows; texts have none. */
static const sis_net_shape *declared_shape(const http_model *m, const question *q) {
    return m->base.request.pieces ? NULL : sis__shapes_find(&m->base.opened.shapes, q->n_values);
}

static int check_rows(const http_model *m, const question *q) {
    if (m->base.request.pieces || m->base.request.form)
        return SIS_OK;
    if (m->end->type == SIS__VALUE_BYTES)
        return sis__fail(SIS_E_ARGUMENT, "the model takes texts (BYTES), not rows of numbers");
    int code = SIS_OK;
    for (size_t i = 0; i < q->n_rows && code == SIS_OK; i++)
        code = sis__values_check(m->end->type, q->rows + i * q->n_values, q->n_values);
    return code;
}

/* Limit the number of rows of this request before its size is known. */
static void limit_rows(const http_model *m, question *q) {
    if (m->max_rows && q->n_rows > m->max_rows)
        q->n_rows = m->max_rows;
    if (q->fit.rows && q->n_rows > q->fit.rows)
        q->n_rows = q->fit.rows;
}

static const double *last_row(const question *q) {
    return q->rows + (q->asked - 1) * q->n_values;
}

/* Pad the tensor with copies of the last row. */
static int fill_tensor(http_model *m, question *q,
                       int (*add)(http_model *m, const double *row, size_t n)) {
    const sis__buf *b = &m->base.request.text;
    size_t before = b->len, rows = q->fit.batched ? q->fit.rows : 0;
    q->sent = q->asked;
    for (int code; q->sent < rows; q->sent++) {
        if (b->len - before > LONGEST_TENSOR / rows && q->sent == q->asked + 1)
            return sis__fail(SIS_E_UNSUPPORTED,
                             "the model takes batches of %zu rows, more than %zu MiB; export it "
                             "with a free number of rows",
                             rows, LONGEST_TENSOR >> 20);
        if ((code = add(m, last_row(q), q->n_values)) != SIS_OK)
            return code;
    }
    return sis__buf_error(b);
}

static int add_list_row(http_model *m, const double *row, size_t n) {
    sis__buf_char(&m->base.request.text, ',');
    return sis__request_row(&m->base.request, row, n);
}

static int write_list(http_model *m, question *q) {
    sis__buf *b = &m->base.request.text;
    int code = sis__request_rows(&m->base.request, q->rows, q->n_rows, q->n_values, &q->asked);
    if (code != SIS_OK)
        return code;
    b->len--; /* the list goes on */
    code = fill_tensor(m, q, add_list_row);
    sis__buf_char(b, ']');
    return code == SIS_OK ? sis__buf_error(b) : code;
}

static int add_binary_row(http_model *m, const double *row, size_t n) {
    sis__buf *b = &m->base.request.text;
    if (!m->base.request.pieces) {
        for (size_t i = 0; i < n; i++) {
            char one[sizeof(double)];
            sis__value_put(m->end->type, one, 0, row[i]);
            sis__buf_add(b, one, sis__value_size(m->end->type));
        }
        return SIS_OK;
    }
    size_t at = b->len;
    uint32_t length = 0;
    sis__buf_add(b, &length, sizeof length);
    int code = sis__request_raw(&m->base.request, row, n);
    if (code == SIS_OK && (code = sis__buf_error(b)) == SIS_OK) {
        length = (uint32_t)(b->len - at - sizeof length);
        memcpy(b->data + at, &length, sizeof length);
    }
    return code;
}

/* Binary values of as many rows as fit. */
static int write_binary(http_model *m, question *q) {
    const sis__buf *b = &m->base.request.text;
    int code = SIS_OK;
    size_t longest = 0;
    for (q->asked = 0; q->asked < q->n_rows && code == SIS_OK &&
                       (q->asked == 0 || b->len + longest < SIS__REQUEST_BYTES);
         q->asked++) {
        size_t before = b->len;
        code = add_binary_row(m, q->rows + q->asked * q->n_values, q->n_values);
        longest = b->len - before > longest ? b->len - before : longest;
    }
    return code == SIS_OK ? fill_tensor(m, q, add_binary_row) : code;
}

/* {"name":"x","datatype":"FP32","shape":[2,3] */
static void add_tensor_head(sis__buf *b, const char *name, sis__value_type type,
                            const sis__fit *fit, size_t rows) {
    sis__buf_str(b, "{\"name\":");
    sis__buf_json(b, name);
    sis__buf_printf(b, ",\"datatype\":\"%s\",\"shape\":[", sis__value_name(type));
    if (fit->batched)
        sis__buf_printf(b, fit->rank ? "%zu," : "%zu", rows);
    for (size_t d = 0; d < fit->rank; d++)
        sis__buf_printf(b, d ? ",%zu" : "%zu", fit->dims[d]);
    sis__buf_char(b, ']');
}

static void add_number(sis__buf *b, sis__value_type type, double v) {
    if (type == SIS__VALUE_BOOL)
        sis__buf_str(b, v != 0 ? "true" : "false");
    else
        sis__buf_printf(b, "%.17g", v);
}

/* An input that is derived from the rows, or constant: always as text. */
static int add_v2_other(const http_model *m, const question *q, size_t i, sis__buf *b) {
    const sis__model_inputs *all = &m->end->inputs;
    sis__fit fit;
    int code = sis__inputs_fit(all, i, declared_shape(m, q), q->n_values, &fit);
    if (code != SIS_OK)
        return code;
    size_t count = sis__inputs_count(&fit), copies = fit.batched ? q->sent : 1;
    if (count > 0 && copies > LONGEST_TENSOR / 2 / count) /* a digit and a comma, at least */
        return sis__fail(SIS_E_UNSUPPORTED, "input %.60s: %zu values for each of %zu rows",
                         all->items[i].name, count, copies);
    sis__buf_char(b, ',');
    add_tensor_head(b, all->items[i].name, all->items[i].type, &fit, q->sent);
    sis__buf_str(b, ",\"data\":[");
    for (size_t r = 0; r < copies; r++)
        for (size_t k = 0; k < count; k++) {
            const double *row = r < q->asked ? q->rows + r * q->n_values : last_row(q);
            if (r || k)
                sis__buf_char(b, ',');
            add_number(b, all->items[i].type, sis__inputs_value(all, i, row, q->n_values, k));
        }
    sis__buf_str(b, "]}");
    return SIS_OK;
}

static int add_v2_tail(const http_model *m, const question *q, sis__buf *b) {
    const endpoint *e = m->end;
    int code = SIS_OK;
    sis__buf_char(b, '}');
    for (size_t i = 0; i < e->inputs.n && code == SIS_OK; i++)
        if (i != e->inputs.main)
            code = add_v2_other(m, q, i, b);
    sis__buf_char(b, ']');
    if (e->output) {
        sis__buf_str(b, ",\"outputs\":[{\"name\":");
        sis__buf_json(b, e->output);
        sis__buf_str(b, e->binary ? ",\"parameters\":{\"binary_data\":true}}]" : "}]");
    } else if (e->binary) {
        sis__buf_str(b, ",\"parameters\":{\"binary_data_output\":true}");
    }
    sis__buf_char(b, '}');
    return code;
}

/* The values are written first, because their number is needed before them in the request. */
static int write_v2(http_model *m, question *q, sis__buf *body, size_t *json_length) {
    sis__request *r = &m->base.request;
    r->flat = !r->pieces;
    r->logical = m->end->type == SIS__VALUE_BOOL;
    int code = m->end->binary ? write_binary(m, q) : write_list(m, q);
    if (code != SIS_OK)
        return code;
    sis__buf_printf(body, "{\"id\":\"%zu\",\"inputs\":[", m->base.requests);
    add_tensor_head(body, m->end->input, r->pieces ? SIS__VALUE_BYTES : m->end->type, &q->fit,
                    q->sent);
    if (m->end->binary) {
        sis__buf_printf(body, ",\"parameters\":{\"binary_data_size\":%zu}", r->text.len);
    } else {
        sis__buf_str(body, ",\"data\":");
        sis__buf_add(body, r->text.data, r->text.len);
    }
    code = add_v2_tail(m, q, body);
    if (m->end->binary) {
        *json_length = body->len;
        sis__buf_add(body, r->text.data, r->text.len);
    }
    return code == SIS_OK ? sis__buf_error(body) : code;
}

/* The text before the rows: for MLflow, cells of a table are a data frame. */
static void add_rows_head(const http_model *m, sis__buf *body) {
    const sis_row_form *f = m->base.request.form;
    if (m->end->protocol == SIS__PROTOCOL_V1 || !f) {
        sis__buf_str(body,
                     m->end->protocol == SIS__PROTOCOL_V1 ? "{\"instances\":" : "{\"inputs\":");
    } else if (f->objects) {
        sis__buf_str(body, "{\"dataframe_records\":");
    } else {
        sis__buf_str(body, "{\"dataframe_split\":{\"columns\":[");
        for (size_t k = 0; k < f->n; k++) {
            sis__buf_str(body, k ? "," : "");
            sis__buf_json(body, f->columns[k].name);
        }
        sis__buf_str(body, "],\"data\":");
    }
}

static int write_rows(http_model *m, question *q, sis__buf *body) {
    const sis_row_form *f = m->base.request.form;
    m->base.request.dims = q->fit.dims;
    m->base.request.rank = q->fit.rank;
    m->base.request.flat = m->end->has_shape && q->fit.rank == 0;
    int code = write_list(m, q);
    add_rows_head(m, body);
    sis__buf_add(body, m->base.request.text.data ? m->base.request.text.data : "",
                 m->base.request.text.len);
    sis__buf_str(body, f && !f->objects && m->end->protocol != SIS__PROTOCOL_V1 ? "}}" : "}");
    m->base.request.rank = 0; /* the dims belong to the request */
    return code == SIS_OK ? sis__buf_error(body) : code;
}

/* A text is one value if the server declares no shape; stored in this handle, because others share
 * the endpoint. */
static const sis__shape *shape_of(const http_model *m) {
    static const sis__shape texts = {.rank = 1, .dims = {-1}};
    return m->base.request.pieces && !m->end->has_shape ? &texts : &m->end->shape;
}

static int write_question(http_model *m, question *q, sis__buf *body, size_t *json_length) {
    int code = sis__shape_fit(shape_of(m), declared_shape(m, q),
                              m->base.request.pieces ? 1 : q->n_values, &q->fit);
    if (code != SIS_OK)
        return code;
    limit_rows(m, q);
    sis__buf_clear(&m->base.request.text);
    code = check_rows(m, q);
    if (code != SIS_OK)
        return code;
    return m->end->protocol == SIS__PROTOCOL_V2 ? write_v2(m, q, body, json_length)
                                                : write_rows(m, q, body);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static const char *expected_of(const endpoint *e) {
    return e->protocol == SIS__PROTOCOL_V2 ? "{\"outputs\":[...]}" : "{\"predictions\":[...]}";
}

/* Send fewer rows if the server is slow. */
static void adapt_batch(http_model *m, const question *q) {
    if (q->asked > 1 && m->end->timeout > 0 && m->answer.seconds > m->end->timeout / 4)
        m->max_rows = q->asked / 2;
}

static int send_question(http_model *m, const question *q, const sis__buf *body, size_t json_length,
                         double *scores) {
    sis__web_request request = {.url = m->end->verb,
                                .body = body->data,
                                .length = body->len,
                                .json_length = json_length,
                                .max = LONGEST_ANSWER};
    int code = sis__web_send(m->web, &request, &m->answer);
    if (code == SIS_OK)
        code = expect_ok(m, expected_of(m->end));
    if (code != SIS_OK)
        return code;
    const sis__asked asked = {.protocol = m->end->protocol,
                              .output = m->end->output,
                              .rows = q->asked,
                              .sent = q->sent,
                              .number = m->base.requests};
    sis__buf_add(&m->answer.body, "", 0); /* adds a NUL even if the body is empty */
    if ((code = sis__buf_error(&m->answer.body)) != SIS_OK)
        return code;
    return sis__http_read(&asked, m->answer.body.data, m->answer.body.len, m->answer.json_length,
                          &m->base.n_outputs, scores);
}

/* Send a request for as many of the first rows as fit; *asked is their number, 0: the request was
 * too long and the next will be shorter. */
static int ask(sis__asked_model *base, const double *rows, size_t n_rows, size_t n_values,
               double *scores, size_t *asked) {
    http_model *m = (http_model *)base;
    question q = {.rows = rows, .n_rows = n_rows, .n_values = n_values};
    sis__buf body;
    size_t json_length = 0;
    sis__buf_init(&body);
    m->base.requests++;
    m->answer.status = 0;
    int code = write_question(m, &q, &body, &json_length);
    if (code == SIS_OK)
        code = send_question(m, &q, &body, json_length, scores);
    sis__buf_release(&body);
    *asked = q.asked;
    if (code == SIS_E_MODEL && m->answer.status == 413 && q.asked > 1) {
        m->max_rows = q.asked / 2;
        *asked = 0;
        return SIS_OK;
    }
    adapt_batch(m, &q);
    if (code == SIS_E_MODEL || code == SIS_E_NAN)
        sis__fail_in(code, "model %.200s, request %zu%s", m->end->address, m->base.requests,
                     m->answer.status == 200 ? " (HTTP 200)" : "");
    return code;
}

static int take_texts(void *ctx, const sis_piece *pieces, size_t n) {
    http_model *m = ctx;
    if (m->end->has_shape && m->end->type != SIS__VALUE_BYTES)
        return sis__fail(SIS_E_UNSUPPORTED, "model %.200s takes %s, not texts", m->end->address,
                         sis__value_name(m->end->type));
    return sis__asked_take_texts(m, pieces, n);
}

static int take_rows(void *ctx, const sis_row_form *form) {
    http_model *m = ctx;
    if (m->end->has_shape || m->end->protocol == SIS__PROTOCOL_V2)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "model %.200s takes tensors, which cannot mix words and numbers; use "
                         "/v1/models/NAME or /invocations",
                         m->end->address);
    return sis__asked_take_rows(m, form);
}

static void row_shape(const void *ctx, sis_net_shape *shape) {
    const endpoint *e = ((const http_model *)ctx)->end;
    if (e->has_shape && e->type != SIS__VALUE_BYTES)
        sis__shape_row(&e->shape, shape);
}

/* ---- Metadata -------------------------------------------------------------------------------- */

/* GET address + tail as JSON; otherwise *json is NULL and the answer's status says why. */
static int get(http_model *m, const char *tail, json_t **json) {
    char *url = sis__buf_text("%s%s", m->end->address, tail);
    const sis__web_request request = {.url = url, .max = LONGEST_METADATA};
    *json = NULL;
    int code =
        url ? sis__answer_ask(m->web, &request, &m->answer, "the metadata of a model in JSON", json)
            : SIS_E_NOMEM;
    free(url);
    return code;
}

/* With several inputs, choosing one would be a guess. */
static int one_input(size_t n, const char *first, const char *second) {
    return n <= 1 ? SIS_OK
                  : sis__fail(
                        SIS_E_UNSUPPORTED,
                        "the model takes %zu inputs (%.40s, %.40s%s); this protocol supports one",
                        n, first ? first : "?", second ? second : "?", n > 2 ? ", ..." : "");
}

static int set_input(endpoint *e, const char *name, const char *type) {
    free(e->input);
    e->input = sis__strdup(name);
    e->type = sis__value_named(type);
    if (!e->input)
        return SIS_E_NOMEM;
    return e->type != SIS__VALUE_UNKNOWN
               ? SIS_OK
               : sis__fail(SIS_E_UNSUPPORTED, "input \"%.60s\" has the unknown type %.20s", name,
                           type ? type : "none");
}

static int set_output(endpoint *e, const json_t *outputs) {
    const json_t *output = choose_output(outputs, e->output);
    const char *name = json_string_value(json_object_get(output, "name"));
    if (json_array_size(outputs) == 0)
        return SIS_OK; /* the server does not declare them */
    if (!name && !e->output)
        return fail_found("metadata with the name of its output", output);
    if (!name)
        return sis__fail(SIS_E_ARGUMENT, "the model has no output named \"%.60s\"", e->output);
    free(e->output);
    e->output = sis__strdup(name);
    return e->output ? SIS_OK : SIS_E_NOMEM;
}

/* Read all inputs and find the one that takes rows. */
static int read_v2_inputs(endpoint *e, const json_t *inputs) {
    const json_t *input;
    size_t i;
    int code = SIS_OK;
    json_array_foreach(inputs, i, input) {
        const char *name = json_string_value(json_object_get(input, "name"));
        const char *type = json_string_value(json_object_get(input, "datatype"));
        sis__shape shape;
        if (!name || !read_shape(json_object_get(input, "shape"), &shape))
            return fail_found("metadata with the name and shape of its input", input);
        code = set_input(e, name, type);
        if (code == SIS_OK)
            code = sis__inputs_add(&e->inputs, name, e->type, &shape);
        if (code != SIS_OK)
            return code;
    }
    code = sis__inputs_assign(&e->inputs, e->opt);
    if (code == SIS_OK && e->inputs.main == e->inputs.n)
        code = sis__fail(SIS_E_UNSUPPORTED,
                         "the model takes %zu inputs (%.40s, %.40s%s); choose one with --explain "
                         "NAME and give the others with --with NAME=FILE",
                         e->inputs.n, e->inputs.items[0].name, e->inputs.items[1].name,
                         e->inputs.n > 2 ? ", ..." : "");
    return code;
}

/* {"name":"M","inputs":[{"name":"x","datatype":"FP32","shape":[-1,784]}],"outputs":[...]} */
static int read_v2_metadata(endpoint *e, const json_t *json) {
    const json_t *inputs = json_object_get(json, "inputs");
    int code = SIS_OK;
    if (json_array_size(inputs) > 0) {
        code = read_v2_inputs(e, inputs);
        const sis__model_input *in = code == SIS_OK ? &e->inputs.items[e->inputs.main] : NULL;
        if (in) {
            e->shape = in->shape;
            e->has_shape = 1;
            code = set_input(e, in->name, sis__value_name(in->type));
        }
    }
    return code == SIS_OK ? set_output(e, json_object_get(json, "outputs")) : code;
}

static int has_extension(const json_t *server, const char *name) {
    const json_t *extension;
    size_t i;
    json_array_foreach(json_object_get(server, "extensions"), i, extension) {
        const char *own = json_string_value(extension);
        if (own && strcmp(own, name) == 0)
            return 1;
    }
    return 0;
}

/* Read the server's extensions: binary tensors; maximal batch size. */
static int read_v2_server(http_model *m) {
    endpoint *e = m->end;
    char *root = strstr(strstr(e->address, "://"), "/v2/models/") + 3, behind = *root;
    json_t *server, *config = NULL;
    *root = '\0';
    int code = get(m, "", &server);
    *root = behind;
    e->binary = has_extension(server, "binary_tensor_data");
    if (code == SIS_OK && has_extension(server, "model_configuration"))
        code = get(m, "/config", &config);
    double max = json_number_value(json_object_get(config, "max_batch_size"));
    if (max >= 1 && max < 1e9)
        e->max_rows = (size_t)max;
    json_decref(server);
    json_decref(config);
    return code;
}

/* Labels of the output's classes, as sis serve writes them:
 * {"parameters":{"labels":["cat","dog"]}} */
static int read_v2_labels(http_model *m, const json_t *outputs) {
    const json_t *output = choose_output(outputs, m->end->output), *label;
    int code = SIS_OK;
    size_t i;
    json_array_foreach(json_object_get(json_object_get(output, "parameters"), "labels"), i, label) {
        if (code == SIS_OK && json_is_string(label))
            code = sis__opened_add_label(&m->base.opened, json_string_value(label));
    }
    return code;
}

static int open_v2(http_model *m) {
    json_t *json;
    int code = get(m, "", &json);
    if (code == SIS_OK)
        code = json ? read_v2_metadata(m->end, json) : expect_ok(m, "the metadata of a model");
    if (code == SIS_OK)
        code = read_v2_labels(m, json_object_get(json, "outputs"));
    json_decref(json);
    return code == SIS_OK ? read_v2_server(m) : code;
}

/* TensorFlow's {"tensor_shape":{"dim":[{"size":"-1"},{"size":"784"}]}}; *declared is 0 if the rank is
 * unknown. */
static int read_v1_shape(const json_t *shape, sis__shape *out, int *declared) {
    const json_t *dims = json_object_get(shape, "dim"), *dim;
    sis__shape found = {.rank = json_array_size(dims)};
    size_t i;
    *declared = found.rank > 0;
    if (found.rank > SIS__RANK)
        return sis__fail(SIS_E_UNSUPPORTED, "its input has %zu axes; at most %d are supported",
                         found.rank, SIS__RANK);
    json_array_foreach(dims, i, dim) {
        const char *size = json_string_value(json_object_get(dim, "size"));
        found.dims[i] = size ? strtoll(size, NULL, 10) : -1;
    }
    if (*declared)
        *out = found;
    return SIS_OK;
}

static int read_v1_metadata(endpoint *e, const json_t *json) {
    const json_t *signatures = json_object_get(
        json_object_get(json_object_get(json, "metadata"), "signature_def"), "signature_def");
    const json_t *signature = json_object_get(signatures, "serving_default");
    json_t *inputs = json_object_get(signature, "inputs");
    void *first = json_object_iter(inputs);
    void *second = first ? json_object_iter_next(inputs, first) : NULL;
    if (!first)
        return SIS_OK; /* not TensorFlow's */
    int code = one_input(json_object_size(inputs), json_object_iter_key(first),
                         second ? json_object_iter_key(second) : NULL);
    const json_t *input = json_object_iter_value(first);
    if (code == SIS_OK)
        code = read_v1_shape(json_object_get(input, "tensor_shape"), &e->shape, &e->has_shape);
    if (code == SIS_OK && e->has_shape)
        code = set_input(e, json_object_iter_key(first),
                         json_string_value(json_object_get(input, "dtype")));
    return code;
}

/* Only TensorFlow Serving has metadata; answers of others are ignored. */
static int open_v1(http_model *m) {
    json_t *json;
    int code = get(m, "/metadata", &json);
    if (code == SIS_OK && json)
        code = read_v1_metadata(m->end, json);
    json_decref(json);
    return code == SIS_E_MODEL && m->answer.status == 200 ? SIS_OK : code;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int ends_in(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

static void cut_end(char *text, const char *end) {
    if (ends_in(text, end))
        text[strlen(text) - strlen(end)] = '\0';
}

/* The part after # names the output and is not sent to the server. */
static int part_output(endpoint *e) {
    char *mark = strchr(e->address, '#');
    if (mark) {
        *mark = '\0';
        e->output = sis__strdup(mark + 1);
        if (!e->output)
            return SIS_E_NOMEM;
    }
    if (strchr(e->address, '?'))
        return sis__fail(
            SIS_E_ARGUMENT,
            "model %.*s: expected an address without \"?\"; use --header for further parameters",
            (int)strcspn(e->address, "?"), e->address);
    char *host = strstr(e->address, "://") + 3;
    while (ends_in(host, "/"))
        cut_end(host, "/");
    return SIS_OK;
}

/* Find the protocol from the address, and the path of requests. */
static int find_protocol(endpoint *e) {
    const char *path = strstr(e->address, "://") + 3;
    cut_end(e->address, "/infer");
    cut_end(e->address, ":predict");
    const char *v2 = strstr(path, "/v2/models/"), *v1 = strstr(path, "/v1/models/");
    const char *verb = "";
    if (v2 && v2[strlen("/v2/models/")]) {
        e->protocol = SIS__PROTOCOL_V2;
        verb = "/infer";
    } else if (v1 && v1[strlen("/v1/models/")]) {
        e->protocol = SIS__PROTOCOL_V1;
        verb = ":predict";
    } else if (ends_in(path, "/invocations")) {
        e->protocol = SIS__PROTOCOL_MLFLOW;
    } else {
        return sis__fail(SIS_E_ARGUMENT,
                         "model %.200s: expected an address that ends in /v2/models/NAME, "
                         "/v1/models/NAME or /invocations, or for a language model in "
                         "/v1/completions, /v1/chat/completions or /completion",
                         e->address);
    }
    e->verb = sis__buf_text("%s%s", e->address, verb);
    return e->verb ? SIS_OK : SIS_E_NOMEM;
}

/* Defaults before the server has answered: rows of any length, in double precision. */
static void assume(endpoint *e) {
    e->type = SIS__VALUE_FP64;
    e->shape = (sis__shape){.rank = 2, .dims = {-1, -1}};
}

static int find_out(http_model *m) {
    endpoint *e = m->end;
    assume(e);
    e->input = sis__strdup("input-0");
    int code = e->input ? part_output(e) : SIS_E_NOMEM;
    if (code == SIS_OK)
        code = find_protocol(e);
    if (code != SIS_OK)
        return code;
    if (e->protocol != SIS__PROTOCOL_V2 && (e->opt->explain || e->opt->n_with))
        code = sis__fail(SIS_E_ARGUMENT, "--%s: only models at /v2/models/NAME have named inputs",
                         e->opt->explain ? "explain" : "with");
    else if (e->protocol == SIS__PROTOCOL_V2)
        code = open_v2(m);
    else if (e->protocol == SIS__PROTOCOL_V1)
        code = open_v1(m);
    if (code == SIS_E_MODEL || code == SIS_E_UNSUPPORTED || code == SIS_E_ARGUMENT)
        sis__fail_in(code, "model %.200s", e->address);
    return code;
}

static int model_new(http_model **out) {
    http_model *m = SIS_NEW(http_model, 1);
    if (!m)
        return SIS_E_NOMEM;
    m->base.opened.kind = &sis__model_http;
    m->base.ask = ask;
    pthread_mutex_init(&m->base.lock, NULL);
    int code = sis__request_init(&m->base.request);
    m->base.request.bare_nan = 1;
    *out = m;
    return code;
}

static int worker_new(void *ctx, void **worker) {
    const http_model *m = ctx;
    http_model *twin = NULL;
    int code = model_new(&twin);
    if (code == SIS_OK) {
        twin->base.opened.shapes = m->base.opened.shapes;
        twin->base.opened.labels = m->base.opened.labels;
        twin->base.opened.n_labels = m->base.opened.n_labels;
        twin->end = m->end;
        twin->borrowed = 1;
        twin->base.n_outputs = m->base.n_outputs;
        twin->max_rows = m->max_rows;
        sis__request_like(&twin->base.request, &m->base.request);
        code = sis__web_clone(m->web, &twin->web);
    }
    if (code != SIS_OK) {
        model_free(twin);
        twin = NULL;
    }
    *worker = twin;
    return code;
}

static int http_open(const char *spec, const sis_model_opt *opt, sis_model *out) {
    http_model *m = NULL;
    int code = model_new(&m);
    if (code == SIS_OK && !(m->end = SIS_NEW(endpoint, 1)))
        code = SIS_E_NOMEM;
    if (code == SIS_OK) {
        m->end->timeout = opt->timeout;
        m->end->opt = opt;
        m->end->address = sis__strdup(spec);
        code = m->end->address ? SIS_OK : SIS_E_NOMEM;
    }
    if (code == SIS_OK)
        code = sis__web_new(opt, &m->web);
    if (code == SIS_OK)
        code = find_out(m);
    if (code != SIS_OK) {
        model_free(m);
        return code;
    }
    m->end->opt = NULL;
    m->max_rows = m->end->max_rows;
    int texts = m->end->type == SIS__VALUE_BYTES;
    *out =
        (sis_model){.size = sizeof *out,
                    .predict = sis__asked_predict,
                    .ctx = m,
                    .n_values = m->end->has_shape && !texts ? sis__shape_values(&m->end->shape) : 0,
                    .max_rows = m->max_rows,
                    .worker_new = worker_new,
                    .worker_free = model_free};
    return SIS_OK;
}

const sis__model_kind sis__model_http = {
    .prefix = "http://",
    .form = "http://...",
    .meaning = "a model behind a server",
    .open = http_open,
    .measure = sis__asked_measure,
    .predict = sis__asked_predict,
    .take_texts = take_texts,
    .take_rows = take_rows,
    .row_shape = row_shape,
    .share = worker_new,
    .close = model_free,
};

const sis__model_kind sis__model_https = {
    .prefix = "https://",
    .open = http_open,
};
