/* SPDX-License-Identifier: MIT
 *
 * The form of a model's inputs, from its examples if there are any, otherwise from its metadata.
 * Categories are never guessed from names, because a number may be called "speed=kmh". The examples
 * or the network (sis.columns) define them; otherwise each value is a numeric column.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/handle.h>
#include <sis/net.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "serve/serve.h"

enum { LOOKED_AT = 2000 }; /* examples read to find the range of a column */

/* ---- Texts ----------------------------------------------------------------------------------- */

static void free_texts(char **texts, size_t n) {
    for (size_t i = 0; texts && i < n; i++)
        free(texts[i]);
    free(texts);
}

static char **copy_texts(const char *const *texts, size_t n) {
    char **out = SIS_NEW(char *, n);
    for (size_t i = 0; out && i < n; i++)
        if (!(out[i] = sis__strdup(texts[i]))) {
            free_texts(out, n);
            return NULL;
        }
    return out;
}

/* A JSON list of texts; *n is 0 if it is not one. */
static int parse_texts(const char *json, char ***out, size_t *n) {
    json_t *list = json ? sis__json_load(json, strlen(json), 0, NULL) : NULL;
    const char **texts = SIS_NEW(const char *, json_array_size(list));
    int error = texts ? SIS_OK : SIS_E_NOMEM, all = json_array_size(list) > 0;
    for (size_t i = 0; texts && all && i < json_array_size(list); i++)
        all = (texts[i] = json_string_value(json_array_get(list, i))) != NULL;
    if (!error && all) {
        *n = json_array_size(list);
        *out = copy_texts(texts, *n);
        error = *out ? SIS_OK : SIS_E_NOMEM;
    }
    free(texts);
    json_decref(list);
    return error;
}

/* ---- Kind and shape -------------------------------------------------------------------------- */

static void shape_of_data(sis__schema *s, const sis_data *data) {
    size_t rank;
    const size_t *dims = sis_data_shape(data, 0, &rank);
    s->rank = rank <= 8 && strcmp(s->kind, "text") != 0 ? rank : 0;
    memcpy(s->dims, dims, s->rank * sizeof *dims);
}

/* The shape of a network's input, without leading axes of length 1. */
static void shape_of_net(sis__schema *s, const sis_net *net) {
    sis_net_shape shape;
    sis_net_input_shape(net, &shape);
    size_t first = 0;
    while (strcmp(s->kind, "image") == 0 && first < shape.rank && shape.rank - first > 2 &&
           shape.dims[first] == 1)
        first++;
    for (size_t k = first; k < shape.rank; k++)
        if (shape.dims[k] == 0 || k - first >= 8)
            return;
    s->rank = shape.rank > first ? shape.rank - first : 0;
    for (size_t k = 0; k < s->rank; k++)
        s->dims[k] = shape.dims[first + k];
    size_t side = s->rank == 1 ? (size_t)lround(sqrt((double)s->dims[0])) : 0;
    if (strcmp(s->kind, "image") == 0 && side > 1 && side * side == s->dims[0]) {
        s->rank = 2; /* a flat image is assumed to be square */
        s->dims[0] = s->dims[1] = side;
    }
}

static const char *kind_of(const sis_data *data, const sis_net *net, size_t n_names) {
    sis_kind kind = SIS_KIND_NONE;
    if (data)
        return sis_data_kind(data);
    const char *said = net ? sis_net_meta_get(net, SIS_NET_META_KIND) : NULL;
    if (said)
        kind = sis_kind_of(said);
    if (kind == SIS_KIND_NONE && net && sis_net_is_token(net))
        kind = SIS_KIND_TEXT;
    if (kind == SIS_KIND_NONE)
        kind = n_names ? SIS_KIND_TABLE : SIS_KIND_ARRAY;
    return sis_kind_name(kind);
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* The category of a value of a column, housing=own or housing_own; NULL: the value is a number. */
static const char *category_of(const char *value, const char *column) {
    size_t n = strlen(column);
    return strncmp(value, column, n) == 0 && (value[n] == '=' || value[n] == '_') ? value + n + 1 : NULL;
}

/* Add the column that begins at value `first`; of: the column name of each value. */
static int add_column(sis__schema *s, const char *const *of, size_t first) {
    sis__schema_column *c = &s->columns[s->n_columns++];
    int words = category_of(s->names[first], of[first]) != NULL;
    size_t n = 1;
    while (words && first + n < s->n_values && strcmp(of[first + n], of[first]) == 0 &&
           category_of(s->names[first + n], of[first]))
        n++;
    *c = (sis__schema_column){.first = first, .min = NAN, .max = NAN, .middle = NAN};
    c->name = sis__strdup(words ? of[first] : s->names[first]);
    c->n_categories = words ? n : 0;
    c->categories = words ? SIS_NEW(char *, n) : NULL;
    if (!c->name || (words && !c->categories))
        return SIS_E_NOMEM;
    for (size_t k = 0; words && k < n; k++)
        if (!(c->categories[k] = sis__strdup(category_of(s->names[first + k], of[first]))))
            return SIS_E_NOMEM;
    for (size_t k = 0; k < n; k++)
        s->map[first + k] = (int)(s->n_columns - 1);
    return SIS_OK;
}

/* The column name of each value, from the examples. */
static int columns_of_data(const sis__schema *s, const sis_data *data, const char **of) {
    const char *const *features = sis_data_feature_names(data);
    int *map = SIS_NEW(int, s->n_values);
    if (!map)
        return SIS_E_NOMEM;
    sis_data_features(data, 0, map);
    for (size_t v = 0; v < s->n_values; v++)
        of[v] = map[v] >= 0 ? features[map[v]] : s->names[v];
    free(map);
    return SIS_OK;
}

/* List the columns, where `of` is the column name of each value. */
static int list_columns(sis__schema *s, const char *const *of) {
    int error = SIS_OK;
    s->columns = SIS_NEW(sis__schema_column, s->n_values);
    s->column_names = SIS_NEW(const char *, s->n_values);
    s->map = SIS_NEW(int, s->n_values);
    if (!s->columns || !s->column_names || !s->map)
        return SIS_E_NOMEM;
    for (size_t v = 0; !error && v < s->n_values;) {
        error = add_column(s, of, v);
        const sis__schema_column *c = &s->columns[s->n_columns - 1];
        s->column_names[s->n_columns - 1] = c->name;
        v += c->n_categories ? c->n_categories : 1;
    }
    return error;
}

static int find_columns(sis__schema *s, const sis_data *data, const sis_net *net) {
    const char **of = SIS_NEW(const char *, s->n_values);
    char **said = NULL;
    size_t n_said = 0;
    if (strcmp(s->kind, "table") != 0 || s->n_values == 0) {
        free(of);
        return SIS_OK;
    }
    int error = of ? SIS_OK : SIS_E_NOMEM;
    if (!error && data)
        error = columns_of_data(s, data, of);
    else if (!error && net)
        error = parse_texts(sis_net_meta_get(net, SIS_NET_META_COLUMNS), &said, &n_said);
    for (size_t v = 0; !error && !data && v < s->n_values; v++)
        of[v] = n_said == s->n_values ? said[v] : s->names[v];
    if (!error)
        error = list_columns(s, of);
    free_texts(said, n_said);
    free(of);
    return error;
}

/* Compute minimum, maximum and median of each numeric column in the examples. */
static int measure_columns(sis__schema *s, const sis_data *data) {
    size_t n = sis_data_count(data) < LOOKED_AT ? sis_data_count(data) : LOOKED_AT, some;
    double *rows = SIS_NEW(double, n * s->n_values), *column = SIS_NEW(double, n);
    int error = rows && column ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < n; i++)
        error = sis_data_values(data, i, rows + i * s->n_values);
    for (size_t k = 0; !error && k < s->n_columns; k++) {
        sis__schema_column *c = &s->columns[k];
        some = 0;
        for (size_t i = 0; i < n; i++)
            if (isfinite(rows[i * s->n_values + c->first]))
                column[some++] = rows[i * s->n_values + c->first];
        if (c->n_categories || some == 0)
            continue;
        qsort(column, some, sizeof *column, sis__by_double);
        c->min = column[0];
        c->middle = column[some / 2];
        c->max = column[some - 1];
    }
    free(rows);
    free(column);
    return error;
}

/* Without examples, the mask stored in a network gives a typical value of each column. */
static void middle_of_net(sis__schema *s, const sis_net *net) {
    size_t n;
    const float *mask = sis_net_mask(net, &n);
    for (size_t k = 0; mask && n == s->n_values && k < s->n_columns; k++)
        if (!s->columns[k].n_categories)
            s->columns[k].middle = mask[s->columns[k].first];
}

/* ---- Entry points ---------------------------------------------------------------------------- */

static int find_names(sis__schema *s, const sis_model *model, const sis_data *data,
                      const sis_net *net) {
    const char *const *names = data ? sis_data_names(data) : sis_model_names(model);
    if (net && !data)
        return parse_texts(sis_net_meta_get(net, SIS_NET_META_NAMES), &s->names, &s->n_values);
    size_t n = !names ? 0 : data ? sis_data_width(data, 0) : model->n_values;
    if (!names || n == 0)
        return SIS_OK;
    s->names = copy_texts(names, n);
    s->n_values = n;
    return s->names ? SIS_OK : SIS_E_NOMEM;
}

/* The model's names of its outputs, if it names all of them. */
static int find_labels(sis__schema *s, const sis_model *model) {
    char label[256];
    while (sis_model_label(model, s->n_labels, label, sizeof label) == SIS_OK) {
        char **labels = sis__realloc(s->labels, s->n_labels + 1, sizeof *labels);
        if (!labels)
            return SIS_E_NOMEM;
        s->labels = labels;
        if (!(labels[s->n_labels] = sis__strdup(label)))
            return SIS_E_NOMEM;
        s->n_labels++;
    }
    if (model->n_outputs && s->n_labels != model->n_outputs) {
        free_texts(s->labels, s->n_labels);
        s->labels = NULL;
        s->n_labels = 0;
    }
    return SIS_OK;
}

int sis__schema_init(sis__schema *s, const sis_task *task) {
    const sis_model *model = sis_task_model(task);
    const sis_data *data = sis_task_data(task);
    const sis_net *net = sis_model_document(model);
    *s = (sis__schema){0};
    int error = sis_task_fields(task, &s->fields, &s->n_fields);
    if (error || s->n_fields) {
        s->kind = "prompt";
        return error;
    }
    error = find_names(s, model, data, net);
    s->kind = kind_of(data, net, s->n_values);
    if (data)
        shape_of_data(s, data);
    else if (net)
        shape_of_net(s, net);
    if (!error)
        error = find_columns(s, data, net);
    if (!error && data && s->columns)
        error = measure_columns(s, data);
    else if (!error && net && s->columns)
        middle_of_net(s, net);
    if (!error)
        error = find_labels(s, model);
    if (error)
        sis__schema_release(s);
    return error;
}

void sis__schema_release(sis__schema *s) {
    for (size_t k = 0; s->columns && k < s->n_columns; k++) {
        free(s->columns[k].name);
        free_texts(s->columns[k].categories, s->columns[k].n_categories);
    }
    free(s->columns);
    free(s->column_names);
    free_texts(s->names, s->n_values);
    free_texts(s->labels, s->n_labels);
    free_texts(s->fields, s->n_fields);
    free(s->map);
    *s = (sis__schema){0};
}

static void write_column(const sis__schema_column *c, sis__buf *b) {
    sis__buf_char(b, '{');
    sis__json_text(b, "name", c->name);
    if (c->categories)
        sis__json_texts(b, "categories", (const char *const *)c->categories, c->n_categories);
    if (isfinite(c->min)) {
        sis__json_number(b, "least", c->min);
        sis__json_number(b, "most", c->max);
    }
    if (isfinite(c->middle))
        sis__json_number(b, "middle", c->middle);
    sis__buf_char(b, '}');
}

void sis__schema_write(const sis__schema *s, sis__buf *b) {
    sis__json_text(b, "kind", s->kind);
    if (s->fields) {
        sis__json_texts(b, "fields", (const char *const *)s->fields, s->n_fields);
        sis__json_text(b, "explain", s->explain);
        sis__json_text(b, "unit", s->unit);
    }
    if (s->rank)
        sis__json_counts(b, "shape", s->dims, s->rank);
    if (s->labels)
        sis__json_texts(b, "labels", (const char *const *)s->labels, s->n_labels);
    if (!s->columns)
        return;
    sis__json_list(b, "columns");
    for (size_t k = 0; k < s->n_columns; k++) {
        sis__json_comma(b, k);
        write_column(&s->columns[k], b);
    }
    sis__buf_char(b, ']');
}
