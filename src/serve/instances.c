/* SPDX-License-Identifier: MIT
 *
 * Converts the instances of a request to a data set. An instance is
 *
 *     a text               a DNA sequence if the model takes DNA, otherwise a text
 *     a list of texts      words, used unchanged
 *     a list of numbers    values, nested or flat; null is a missing value
 *     an object            {"text": ...}, {"words": [...]}, {"sequence": ...}, {"values": [...]};
 *                          or a row of a table by its columns, {"age": 33, "housing": "own"}
 *
 * All instances of a request have the same form. An object may also have an "id" and a "label".
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/files.h>

#include "base/error.h"
#include "base/mem.h"
#include "serve/serve.h"

/* The form of an instance: the name of the member that holds it. */
enum form { TEXT, WORDS, SEQUENCE, VALUES, COLUMNS };
static const char *const members[] = {"text", "words", "sequence", "values"};

typedef struct {
    const json_t *list;
    const sis__schema *schema;
    const sis__limits *limits;
    enum form form;
    size_t n;
    const char **ids, **labels; /* (n) NULL: none */
    sis_data_with with;
} reading;

/* ---- Numbers --------------------------------------------------------------------------------- */

/* The shape of nested lists, from their first entries. */
static int find_shape(const json_t *v, size_t *rank, size_t *dims) {
    for (*rank = 0; json_is_array(v); v = json_array_get(v, 0)) {
        if (*rank + 1 >= SIS_RANK_MAX || json_array_size(v) == 0)
            return sis__fail(SIS_E_FORMAT, "an empty list, or lists nested more than %d deep",
                             SIS_RANK_MAX - 2);
        dims[(*rank)++] = json_array_size(v);
    }
    return SIS_OK;
}

static int get_number(const json_t *v, double *out) {
    if (json_is_null(v))
        *out = NAN;
    else if (json_is_number(v))
        *out = json_number_value(v);
    else if (json_is_boolean(v))
        *out = json_is_true(v);
    else
        return sis__fail(SIS_E_FORMAT, "expected a number");
    return SIS_OK;
}

/* Copy nested lists of that shape to out. */
static int get_numbers(const json_t *v, size_t rank, const size_t *dims, double **out) {
    if (rank == 0)
        return get_number(v, (*out)++);
    if (json_array_size(v) != dims[0])
        return sis__fail(SIS_E_FORMAT,
                         "lists of different lengths, or a list where a number was "
                         "expected: %zu entries, %zu before",
                         json_array_size(v), dims[0]);
    int error = SIS_OK;
    for (size_t k = 0; !error && k < dims[0]; k++)
        error = get_numbers(json_array_get(v, k), rank - 1, dims + 1, out);
    return error;
}

static size_t product(const size_t *dims, size_t rank) {
    size_t n = 1;
    for (size_t k = 0; k < rank; k++)
        n = dims[k] && n > SIZE_MAX / dims[k] ? SIZE_MAX : n * dims[k];
    return n;
}

static int too_wide(const reading *r, size_t width) {
    return sis__fail(SIS_E_ARGUMENT, "an instance of %zu values; this server takes at most %zu",
                     width, r->limits->values);
}

/* Values (n, dims...) as a data set of the model's kind. */
static int from_values(reading *r, const double *values, size_t rank, size_t *dims,
                       sis_data **out) {
    const sis__schema *s = r->schema;
    size_t width = product(dims + 1, rank - 1);
    int table = s->columns && width == s->n_values;
    int image = strcmp(s->kind, "image") == 0;
    if (image && rank == 2 && s->rank > 1 && width == product(s->dims, s->rank)) {
        rank = s->rank + 1;
        memcpy(dims + 1, s->dims, s->rank * sizeof *dims);
    }
    r->with.kind = table ? "table" : image && rank > 2 ? "image" : "array";
    r->with.missing = 1;
    if (table) {
        r->with.names = s->names;
        r->with.map = s->map;
        r->with.features = s->column_names;
    }
    return sis_data_from_values(values, rank, dims, &r->with, out);
}

static const json_t *content(const reading *r, size_t i) {
    const json_t *v = json_array_get(r->list, i);
    return json_is_object(v) && r->form != COLUMNS ? json_object_get(v, members[r->form]) : v;
}

static int read_values(reading *r, sis_data **out) {
    size_t dims[SIS_RANK_MAX] = {r->n}, rank;
    int error = find_shape(content(r, 0), &rank, dims + 1);
    if (!error && product(dims + 1, rank) > r->limits->values)
        return too_wide(r, product(dims + 1, rank));
    double *values = error ? NULL : SIS_NEW(double, product(dims, rank + 1)), *at = values;
    if (!values)
        return error ? error : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < r->n; i++) {
        error = get_numbers(content(r, i), rank, dims + 1, &at);
        if (error)
            sis__fail_in(error, "instance %zu", i);
    }
    if (!error)
        error = from_values(r, values, rank + 1, dims, out);
    free(values);
    return error;
}

/* ---- Columns --------------------------------------------------------------------------------- */

static int unknown_category(const sis__schema_column *c, const char *found) {
    sis__buf b;
    sis__buf_init(&b);
    for (size_t k = 0; k < c->n_categories && k < 8; k++)
        sis__buf_printf(&b, "%s%s", k ? ", " : "", c->categories[k]);
    int error = sis__fail(SIS_E_FORMAT, "column \"%s\": \"%.60s\" is not among %s%s", c->name,
                          found, b.data ? b.data : "", c->n_categories > 8 ? ", ..." : "");
    sis__buf_release(&b);
    return error;
}

static int get_cell(const sis__schema_column *c, const json_t *v, double *out) {
    if (!v)
        return sis__fail(SIS_E_FORMAT, "column \"%s\" is missing", c->name);
    if (c->n_categories == 0) {
        int error = get_number(v, &out[c->first]);
        return error ? sis__fail_in(error, "column \"%s\"", c->name) : SIS_OK;
    }
    const char *text = json_string_value(v);
    for (size_t k = 0; json_is_null(v) && k < c->n_categories; k++)
        text = !text && sis_word_is_missing(c->categories[k]) ? c->categories[k] : text;
    if (!text && json_is_null(v)) { /* 0 in each value, like encoders */
        out[c->first] = c->position ? (double)NAN : 0;
        return SIS_OK;
    }
    if (!text)
        return sis__fail(SIS_E_FORMAT, "column \"%s\": expected a category, as text", c->name);
    for (size_t k = 0; k < c->n_categories; k++)
        if (strcmp(c->categories[k], text) == 0) {
            out[c->first + (c->position ? 0 : k)] = c->position ? (double)k : 1;
            return SIS_OK;
        }
    return unknown_category(c, text);
}

static int read_columns(reading *r, sis_data **out) {
    const sis__schema *s = r->schema;
    size_t dims[SIS_RANK_MAX] = {r->n, s->n_values};
    if (!s->columns)
        return sis__fail(SIS_E_FORMAT, "expected \"text\", \"words\", \"sequence\" or \"values\"; "
                                       "for named columns start the server with --input");
    double *values = SIS_NEW(double, r->n * s->n_values);
    int error = values ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < r->n; i++)
        for (size_t k = 0; !error && k < s->n_columns; k++) {
            error = get_cell(&s->columns[k],
                             json_object_get(json_array_get(r->list, i), s->columns[k].name),
                             values + i * s->n_values);
            if (error)
                sis__fail_in(error, "instance %zu", i);
        }
    if (!error)
        error = from_values(r, values, 2, dims, out);
    free(values);
    return error;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static int no_text(size_t i) {
    return sis__fail(SIS_E_FORMAT, "instance %zu: expected a text, as those before", i);
}

static int read_texts(reading *r, sis_data **out) {
    const char **texts = SIS_NEW(const char *, r->n);
    int error = texts ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < r->n; i++) {
        texts[i] = json_string_value(content(r, i));
        if (!texts[i])
            error = no_text(i);
        else if (strlen(texts[i]) > r->limits->values)
            error = too_wide(r, strlen(texts[i]));
    }
    if (!error)
        error = r->form == SEQUENCE ? sis_data_from_sequences(texts, r->n, &r->with, out)
                                    : sis_data_from_texts(texts, r->n, &r->with, out);
    free(texts);
    return error;
}

static int read_words(reading *r, sis_data **out) {
    size_t total = 0, at = 0, *counts = SIS_NEW(size_t, r->n);
    for (size_t i = 0; counts && i < r->n; i++)
        total += counts[i] = json_array_size(content(r, i));
    const char **words = SIS_NEW(const char *, total);
    int error = words && counts ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < r->n; i++) {
        if (counts[i] > r->limits->values)
            error = too_wide(r, counts[i]);
        for (size_t k = 0; !error && k < counts[i]; k++)
            if (!(words[at++] = json_string_value(json_array_get(content(r, i), k))))
                error = no_text(i);
    }
    if (!error)
        error = sis_data_from_words(words, counts, r->n, &r->with, out);
    free(words);
    free(counts);
    return error;
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* Is it a row by columns, even if a column is called "text"? */
static int has_columns(const json_t *v, const sis__schema *s) {
    for (size_t k = 0; k < s->n_columns; k++)
        if (!json_object_get(v, s->columns[k].name))
            return 0;
    return s->n_columns > 0;
}

static enum form form_of(const json_t *v, const sis__schema *s) {
    int dna = strcmp(s->kind, "dna") == 0;
    if (json_is_string(v))
        return dna ? SEQUENCE : TEXT;
    if (json_is_array(v))
        return json_is_string(json_array_get(v, 0)) ? WORDS : VALUES;
    if (json_is_object(v) && !has_columns(v, s))
        for (enum form f = TEXT; f <= VALUES; f++)
            if (json_object_get(v, members[f]))
                return f == TEXT && dna ? SEQUENCE : f;
    return json_is_object(v) ? COLUMNS : VALUES;
}

/* "id" and "label" of the objects among them. */
static int find_known(reading *r) {
    int ids = 0, labels = 0;
    r->ids = SIS_NEW(const char *, r->n);
    r->labels = SIS_NEW(const char *, r->n);
    if (!r->ids || !r->labels)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < r->n; i++) {
        const json_t *v = json_array_get(r->list, i);
        r->ids[i] = json_string_value(json_object_get(v, "id"));
        r->labels[i] = json_string_value(json_object_get(v, "label"));
        ids += r->ids[i] != NULL;
        labels += r->labels[i] != NULL;
    }
    int columns = r->form == COLUMNS; /* in a table it may be a column */
    r->with.ids = (size_t)ids == r->n && !columns ? r->ids : NULL;
    r->with.labels = (size_t)labels == r->n && !columns ? r->labels : NULL;
    return SIS_OK;
}

int sis__instances_read(const json_t *list, const sis__schema *schema, const sis__limits *limits,
                        sis_data **out) {
    static int (*const readers[])(reading *, sis_data **) = {read_texts, read_words, read_texts,
                                                             read_values, read_columns};
    reading r = {.list = list, .schema = schema, .limits = limits, .n = json_array_size(list)};
    *out = NULL;
    if (r.n == 0)
        return sis__fail(SIS_E_FORMAT, "\"instances\": expected a list with at least one instance");
    if (r.n > limits->instances)
        return sis__fail(SIS_E_ARGUMENT,
                         "%zu instances; this server takes at most %zu in a request", r.n,
                         limits->instances);
    r.with.name = "the request";
    r.form = form_of(json_array_get(list, 0), schema);
    int error = find_known(&r);
    if (!error)
        error = readers[r.form](&r, out);
    free(r.ids);
    free(r.labels);
    return error;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static int tensor_shape(const json_t *tensor, size_t *rank, size_t *dims) {
    const json_t *shape = json_object_get(tensor, "shape");
    *rank = json_array_size(shape);
    if (*rank == 0 || *rank >= SIS_RANK_MAX)
        return sis__fail(SIS_E_FORMAT, "\"shape\": expected a list of 1 to %d lengths",
                         SIS_RANK_MAX - 1);
    for (size_t k = 0; k < *rank; k++) {
        json_int_t n = json_integer_value(json_array_get(shape, k));
        if (n <= 0 || n > 1 << 28)
            return sis__fail(SIS_E_FORMAT, "\"shape\": expected positive lengths");
        dims[k] = (size_t)n;
    }
    return SIS_OK;
}

/* Flat data, or lists nested like the shape. */
static int tensor_values(const json_t *data, size_t rank, const size_t *dims, double *values) {
    size_t n = product(dims, rank);
    return json_is_array(json_array_get(data, 0)) ? get_numbers(data, rank, dims, &values)
                                                  : get_numbers(data, 1, &n, &values);
}

int sis__tensor_read(const json_t *tensor, const sis__schema *schema, const sis__limits *limits,
                     sis_data **out) {
    reading r = {.list = json_object_get(tensor, "data"), .schema = schema, .limits = limits};
    const char *type = json_string_value(json_object_get(tensor, "datatype"));
    size_t dims[SIS_RANK_MAX], rank;
    *out = NULL;
    if (type && strcmp(type, "BYTES") == 0)
        return sis__instances_read(r.list, schema, limits, out);
    int error = tensor_shape(tensor, &rank, dims);
    if (error)
        return error;
    if (dims[0] > limits->instances || product(dims + 1, rank - 1) > limits->values)
        return sis__fail(SIS_E_ARGUMENT,
                         "\"shape\": this server takes at most %zu instances of at "
                         "most %zu values",
                         limits->instances, limits->values);
    if (product(dims, rank) > json_array_size(r.list) * product(dims + 1, rank - 1))
        return sis__fail(SIS_E_FORMAT, "\"data\": %zu entries do not make the shape",
                         json_array_size(r.list));
    r.with.name = "the request";
    double *values = SIS_NEW(double, product(dims, rank));
    error = values ? tensor_values(r.list, rank, dims, values) : SIS_E_NOMEM;
    if (!error)
        error = from_values(&r, values, rank, dims, out);
    free(values);
    return error;
}
