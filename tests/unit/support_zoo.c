/* SPDX-License-Identifier: MIT
 *
 * See support_zoo.h. The index is a table: name, family, ... A record holds "inputs" by name, each
 * with type, dims and data.
 */
#include "support_zoo.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/net.h>

#include "base/rng.h"

enum { CHANNELS = 4 }; /* maximum: colours, bases */

/* The input of a record if it is the only one and numeric, else NULL. */
static json_t *one_input(zoo_model *m, json_t *root) {
    json_t *inputs = json_object_get(root, "inputs");
    void *first = json_object_iter(inputs);
    json_t *input = json_object_size(inputs) == 1 ? json_object_iter_value(first) : NULL;
    const char *type = json_string_value(json_object_get(input, "type"));
    if (!input)
        m->why = "several inputs";
    else if (!type || strstr(type, "string"))
        m->why = "texts";
    return m->why ? NULL : input;
}

/* The first row of a recorded tensor. n: values in a row, 0 if that is free. */
static double *first_row(const json_t *input, size_t *n) {
    json_t *dims = json_object_get(input, "dims"), *data = json_object_get(input, "data");
    size_t rows = (size_t)json_integer_value(json_array_get(dims, 0)), all = json_array_size(data);
    if (*n == 0)
        *n = rows ? all / rows : 0;
    double *row = *n && *n <= all ? calloc(*n, sizeof *row) : NULL;
    for (size_t i = 0; row && i < *n; i++)
        row[i] = json_number_value(json_array_get(data, i));
    return row;
}

/* Number of axes of a row with a size other than 1, and where channels are: 0 none, 1 first, -1
 * last. */
static int channels_of(const sis_net *net, size_t *channels) {
    sis_net_shape s, dims = {0};
    sis_net_input_shape(net, &s);
    for (size_t d = 0; d < s.rank; d++)
        if (s.dims[d] != 1)
            dims.dims[dims.rank++] = s.dims[d];
    size_t front = dims.dims[0], behind = dims.rank ? dims.dims[dims.rank - 1] : 0;
    *channels = 1;
    if (dims.rank < 2)
        return 0;
    int where = front && front <= CHANNELS ? 1 : behind && behind <= CHANNELS ? -1 : 0;
    *channels = where > 0 ? front : where < 0 ? behind : 1;
    return where;
}

static void choose_features(zoo_model *m, int *feature_of) {
    const sis_net *net = sis_model_net(&m->model);
    size_t n = m->input.n_values, channels, places;
    int where = channels_of(net, &channels);
    places = n / channels;
    m->n_features = sis_net_is_token(net) ? 0 : places;
    for (size_t v = 0; v < n; v++)
        if (sis_net_is_token(net))
            feature_of[v] = m->input.values[v] != 0 ? (int)m->n_features++ : -1;
        else
            feature_of[v] = (int)(where > 0 ? v % places : v / channels);
}

/* The output that is highest. */
static int choose_output(zoo_model *m) {
    size_t n = m->model.n_outputs;
    double *scores = calloc(n ? n : 1, sizeof *scores);
    int error = !scores || !n;
    if (!error)
        error = m->model.predict(m->model.ctx, m->input.values, 1, m->input.n_values, scores);
    for (size_t k = 1; !error && k < n; k++)
        if (scores[k] > scores[m->input.output])
            m->input.output = k;
    free(scores);
    return error;
}

static void make_input(zoo_model *m, const json_t *recorded) {
    size_t n = m->model.n_values;
    double *values = first_row(recorded, &n), *mask = calloc(n ? n : 1, sizeof *mask);
    int *feature_of = calloc(n ? n : 1, sizeof *feature_of);
    m->input = (sis_input){.values = values, .mask = mask, .n_values = n};
    m->input.feature_of = feature_of;
    if (!values || !mask || !feature_of) {
        m->why = "no record";
        return;
    }
    for (size_t v = 0; v < n && sis_net_is_token(sis_model_net(&m->model)); v++)
        mask[v] = SIS_TOKEN_MASK;
    choose_features(m, feature_of);
    if (sis_model_measure(&m->model, values, n) != 0 || choose_output(m) != 0)
        m->why = sis_error_detail();
    else if (m->n_features == 0)
        m->why = "no features";
}

static void open_model(zoo_model *m) {
    char record[4200];
    json_error_t at;
    snprintf(record, sizeof record, "%.*s.json", (int)(strlen(m->path) - strlen(".onnx")), m->path);
    json_t *root = json_load_file(record, 0, &at), *input = one_input(m, root);
    if (input && sis_model_open(m->path, NULL, &m->model) != 0)
        m->why = sis_error_detail();
    else if (input && !sis_model_net(&m->model))
        m->why = "not our engine";
    else if (input)
        make_input(m, input);
    json_decref(root);
}

static void close_model(zoo_model *m) {
    sis_model_close(&m->model);
    free((void *)(uintptr_t)m->input.values);
    free((void *)(uintptr_t)m->input.mask);
    free((void *)(uintptr_t)m->input.feature_of);
}

int zoo_each(const char *folder, int (*each)(void *ctx, zoo_model *m), void *ctx) {
    char line[4096];
    int ended = 0;
    snprintf(line, sizeof line, "%s/index.tsv", folder);
    FILE *f = fopen(line, "r");
    if (!f)
        return -1;
    while (!ended && fgets(line, sizeof line, f)) {
        zoo_model m = {.why = NULL};
        if (sscanf(line, "%255[^\t]\t%63[^\t]", m.name, m.family) != 2 ||
            strcmp(m.name, "file") == 0)
            continue;
        snprintf(m.path, sizeof m.path, "%s/%s.onnx", folder, m.name);
        open_model(&m);
        ended = each(ctx, &m);
        close_model(&m);
    }
    fclose(f);
    return ended;
}

void zoo_shuffle(zoo_model *m, unsigned seed) {
    double *x = (double *)(uintptr_t)m->input.values;
    sis__rng r;
    sis__rng_init(&r, seed);
    for (size_t i = m->input.n_values; i > 1; i--) {
        size_t k = sis__rng_below(&r, i);
        double kept = x[i - 1];
        x[i - 1] = x[k];
        x[k] = kept;
    }
}
