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

/* The texts of a JSON list; NULL if it is not one. *list keeps them. */
static const char **texts_of(sis__schema *s, const char *json, json_t **list, size_t *n) {
    const char *text = "";
    *list = json ? sis__json_load(json, strlen(json), 0, NULL) : NULL;
    *n = json_array_size(*list);
    const char **texts = *n ? SIS_ARENA(&s->memory, const char *, *n) : NULL;
    for (size_t i = 0; texts && text && i < *n; i++)
        text = texts[i] = json_string_value(json_array_get(*list, i));
    *n = texts && text ? *n : 0;
    return *n ? texts : NULL;
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
    return strncmp(value, column, n) == 0 && (value[n] == '=' || value[n] == '_') ? value + n + 1
                                                                                  : NULL;
}

/* Add the column that begins at value `first`; of: the column name of each value. */
static void add_column(sis__schema *s, const char *const *of, size_t first) {
    sis__schema_column *c = &s->columns[s->n_columns++];
    int words = category_of(s->names[first], of[first]) != NULL;
    size_t n = 1;
    while (words && first + n < s->n_values && strcmp(of[first + n], of[first]) == 0 &&
           category_of(s->names[first + n], of[first]))
        n++;
    *c = (sis__schema_column){.first = first, .min = NAN, .max = NAN, .middle = NAN};
    c->name = words ? of[first] : s->names[first];
    c->categories = words ? SIS_ARENA(&s->memory, const char *, n) : NULL;
    c->n_categories = c->categories ? n : 0;
    for (size_t k = 0; k < c->n_categories; k++)
        c->categories[k] = category_of(s->names[first + k], of[first]);
    for (size_t k = 0; k < n; k++)
        s->map[first + k] = (int)(s->n_columns - 1);
}

/* The column name of each value, from the examples. */
static void columns_of_data(sis__schema *s, const sis_data *data, const char **of) {
    const char *const *features = sis_data_feature_names(data);
    int *map = SIS_ARENA(&s->memory, int, s->n_values);
    if (map)
        sis_data_features(data, 0, map);
    for (size_t v = 0; map && v < s->n_values; v++)
        of[v] = map[v] >= 0 ? features[map[v]] : s->names[v];
}

/* List the columns of a table. */
static void find_columns(sis__schema *s, const sis_data *data, const sis_net *net) {
    size_t n_said = 0;
    if (strcmp(s->kind, "table") != 0 || s->n_values == 0)
        return;
    const char *meta = net && !data ? sis_net_meta_get(net, SIS_NET_META_COLUMNS) : NULL;
    const char **said = texts_of(s, meta, &s->columns_json, &n_said);
    const char **of = SIS_ARENA(&s->memory, const char *, s->n_values);
    s->columns = SIS_ARENA(&s->memory, sis__schema_column, s->n_values);
    s->column_names = SIS_ARENA(&s->memory, const char *, s->n_values);
    s->map = SIS_ARENA(&s->memory, int, s->n_values);
    if (sis__arena_error(&s->memory))
        return;
    for (size_t v = 0; v < s->n_values; v++)
        of[v] = n_said == s->n_values ? said[v] : s->names[v];
    if (data)
        columns_of_data(s, data, of);
    for (size_t v = 0; v < s->n_values && !sis__arena_error(&s->memory);) {
        add_column(s, of, v);
        const sis__schema_column *c = &s->columns[s->n_columns - 1];
        s->column_names[s->n_columns - 1] = c->name;
        v += c->n_categories ? c->n_categories : 1;
    }
}

/* Columns of a tree model whose value is the position of a word. */
static void find_words(sis__schema *s, const sis_model *model) {
    const char *const *const *words = sis_model_words(model);
    if (!words || model->n_values != s->n_values)
        return;
    for (size_t k = 0; k < s->n_columns; k++) {
        sis__schema_column *c = &s->columns[k];
        size_t n = 0;
        while (words[c->first] && words[c->first][n])
            n++;
        c->categories = n ? SIS_ARENA(&s->memory, const char *, n) : c->categories;
        c->position = n && c->categories;
        c->n_categories = c->position ? n : c->n_categories;
        if (c->position)
            memcpy(c->categories, words[c->first], n * sizeof *c->categories);
    }
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

static void find_names(sis__schema *s, const sis_model *model, const sis_data *data,
                       const sis_net *net) {
    if (net && !data) {
        const char *meta = sis_net_meta_get(net, SIS_NET_META_NAMES);
        s->names = texts_of(s, meta, &s->names_json, &s->n_values);
        return;
    }
    s->names = data ? sis_data_names(data) : sis_model_names(model);
    s->n_values = !s->names ? 0 : data ? sis_data_width(data, 0) : model->n_values;
}

/* The model's names of its outputs, if it names all of them. */
static void find_labels(sis__schema *s, const sis_model *model) {
    char label[256];
    size_t n = 0;
    while (sis_model_label(model, n, label, sizeof label) == SIS_OK)
        n++;
    if (n == 0 || (model->n_outputs && n != model->n_outputs))
        return;
    s->labels = SIS_ARENA(&s->memory, const char *, n);
    for (; s->labels && s->n_labels < n; s->n_labels++) {
        sis_model_label(model, s->n_labels, label, sizeof label);
        s->labels[s->n_labels] = sis__arena_own(&s->memory, sis__strdup(label));
    }
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
    find_names(s, model, data, net);
    s->kind = kind_of(data, net, s->n_values);
    if (data)
        shape_of_data(s, data);
    else if (net)
        shape_of_net(s, net);
    find_columns(s, data, net);
    find_words(s, model);
    find_labels(s, model);
    error = sis__arena_error(&s->memory);
    if (!error && data && s->columns)
        error = measure_columns(s, data);
    else if (!error && net && s->columns)
        middle_of_net(s, net);
    if (error)
        sis__schema_release(s);
    return error;
}

void sis__schema_release(sis__schema *s) {
    for (size_t i = 0; i < s->n_fields; i++)
        free(s->fields[i]);
    free(s->fields);
    json_decref(s->names_json);
    json_decref(s->columns_json);
    sis__arena_release(&s->memory);
    *s = (sis__schema){0};
}

static void write_column(const sis__schema_column *c, sis__buf *b) {
    sis__buf_char(b, '{');
    sis__json_text(b, "name", c->name);
    if (c->categories)
        sis__json_texts(b, "categories", c->categories, c->n_categories);
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
        sis__json_texts(b, "labels", s->labels, s->n_labels);
    if (!s->columns)
        return;
    sis__json_list(b, "columns");
    for (size_t k = 0; k < s->n_columns; k++) {
        sis__json_comma(b, k);
        write_column(&s->columns[k], b);
    }
    sis__buf_char(b, ']');
}
