/* SPDX-License-Identifier: MIT
 *
 * Encodes examples of a data set for the model: texts become token ids of the model's vocabulary,
 * bases and colours get the model's axis order, other values are unchanged. Used for explained
 * examples and for examples that masks are made from.
 */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/files.h>
#include <sis/handle.h>
#include <sis/text.h>

#include "base/dims.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "task/task.h"

int sis__task_is_kind(const sis_data *data, const char *kind) {
    return strcmp(sis_data_kind(data), kind) == 0;
}

/* ---- The model's requirements -------------------------------------------------------------- */

static int take_names(sis__task_encoding *e, const json_t *list) {
    size_t n = json_array_size(list);
    const char *name = "";
    e->names = n ? SIS_NEW(char *, n) : NULL;
    e->read.n_names = 0;
    if (n && !e->names)
        return SIS_E_NOMEM;
    for (; e->read.n_names < n && name; e->read.n_names += name != NULL) {
        name = json_string_value(json_array_get(list, e->read.n_names));
        if (name && !(e->names[e->read.n_names] = sis__strdup(name)))
            return SIS_E_NOMEM;
    }
    if (n == 0 || !name)
        return sis__fail(SIS_E_FORMAT, "the names in the model's file are not a list of texts");
    e->read.names = (const char *const *)e->names;
    e->read.categorical = 1;
    return SIS_OK;
}

/* The names live as long as the model. */
static void borrow_names(sis__task_encoding *e, const char *const *names, size_t n) {
    e->read.names = names;
    e->read.n_names = n;
    e->read.categorical = 1;
}

/* The required names of a table's values. */
static int open_names(sis__task_encoding *e, const sis_model *model) {
    const char *text = e->net ? sis_net_meta_get(e->net, SIS_NET_META_NAMES) : NULL;
    const char *const *names = sis_model_names(model);
    e->read.n_values = model->n_values;
    if (names)
        borrow_names(e, names, model->n_values);
    e->read.words = names ? sis_model_words(model) : NULL;
    if (!text)
        return SIS_OK;
    json_error_t why;
    json_t *list = sis__json_load(text, strlen(text), 0, &why);
    int no_room = !list && json_error_code(&why) == json_error_out_of_memory;
    int error = no_room ? sis__fail(SIS_E_NOMEM, "out of memory") : take_names(e, list);
    json_decref(list);
    return error;
}

/* An unreadable vocabulary is reported only if there are texts. */
static int open_vocabulary(sis__task_encoding *e) {
    const char *json = e->token ? sis_net_meta_get(e->net, SIS_NET_META_VOCABULARY) : NULL;
    int error = json ? sis_vocabulary_parse(json, &e->vocabulary) : SIS_OK;
    return error == SIS_E_NOMEM ? error : SIS_OK;
}

/* Open the tokenizer file of the options, and find the padding token. */
static int open_tokenizer(sis_task *t) {
    sis__task_encoding *e = &t->encoding;
    if (!e->token)
        return sis__fail(SIS_E_OPTION, "--tokenizer needs a network that takes token ids");
    int error = sis_tokenizer_read(t->opt.examples.tokenizer, &e->tokenizer);
    if (error != SIS_OK)
        return sis__fail_in(error, "--tokenizer");
    long pad = sis_tokenizer_special(e->tokenizer, SIS_SPECIAL_PAD);
    e->padding = pad < 0 ? 0 : (double)pad;
    error = sis__task_own_model(t);
    return error == SIS_OK ? sis_model_pad_token(&t->model, (size_t)e->padding, 1) : error;
}

int sis__task_encode_open(sis_task *t) {
    sis__task_encoding *e = &t->encoding;
    e->net = sis_model_document(&t->model);
    e->engine = sis_model_net(&t->model) != NULL;
    e->token = e->net && sis_net_is_token(e->net);
    e->read = t->opt.examples.read;
    int error = sis__task_table_open(t);
    if (error == SIS_OK)
        error = open_names(e, &t->model);
    if (error == SIS_OK && t->opt.examples.tokenizer)
        return open_tokenizer(t);
    return error == SIS_OK ? open_vocabulary(e) : error;
}

void sis__task_encode_release(sis__task_encoding *e) {
    if (!e->shared) {
        for (size_t i = 0; e->names && i < e->read.n_names; i++)
            free(e->names[i]);
        free(e->names);
        free(e->words);
        sis_vocabulary_free(e->vocabulary);
        sis_tokenizer_free(e->tokenizer);
        sis__task_rows_release(&e->rows);
    }
    sis__task_seed_close(e);
    free(e->pieces.items);
    free(e->pieces.first);
    free(e->pieces.stand_in);
    sis__buf_release(&e->pieces.texts);
    sis__task_prompts_release(&e->prompts);
}

/* ---- Texts --------------------------------------------------------------------------------- */

/* 0 if the network accepts texts. */
static int check_vocabulary(sis__task_encoding *e) {
    const char *json = sis_net_meta_get(e->net, SIS_NET_META_VOCABULARY);
    const char *tokenizer = sis_net_meta_get(e->net, SIS_NET_META_TOKENIZER);
    if (!e->token)
        return sis__fail(SIS_E_ARGUMENT,
                         "--input: contains texts, which this model does not take; use a network "
                         "with a vocabulary or a string input, or a cmd: or http: model");
    if (!json)
        return sis__fail(
            SIS_E_ARGUMENT,
            "--input: contains texts, but the model has no vocabulary (sis.vocabulary); give its "
            "--tokenizer (vocab.txt, tokenizer.json), or token ids (.npy)");
    if (tokenizer && strcmp(tokenizer, SIS_TOKENIZER) != 0)
        return sis__fail(SIS_E_ARGUMENT,
                         "--input: contains texts, but the model's tokenizer \"%s\" is not "
                         "supported; give token ids (.npy)",
                         tokenizer);
    return e->vocabulary ? SIS_OK : sis_vocabulary_parse(json, &e->vocabulary);
}

/* Readers reorder columns for the model; a data set that is given must already have its order. */
static int check_columns(const sis_task *t) {
    const sis_data_opt *wanted = &t->encoding.read;
    const char *const *names = sis_data_names(t->source.data);
    if (!t->opt.examples.data || !wanted->names || !names)
        return SIS_OK;
    size_t n = sis_data_width(t->source.data, 0);
    n = n < wanted->n_names ? n : wanted->n_names; /* the count is checked later */
    for (size_t v = 0; v < n; v++)
        if (strcmp(names[v], wanted->names[v]) != 0)
            return sis__fail(SIS_E_ARGUMENT,
                             "--input: value %zu is named \"%.80s\"; the model expects \"%.80s\"",
                             v, names[v], wanted->names[v]);
    return SIS_OK;
}

int sis__task_encode_begin(sis_task *t) {
    int error = check_columns(t);
    if (error == SIS_OK)
        error = sis__task_rows_begin(t);
    if (error != SIS_OK || !sis__task_is_kind(t->source.data, "text"))
        return error;
    t->encoding.texts = 1;
    if (t->encoding.prompts.items)
        return sis__task_prompts_begin(t);
    if (t->encoding.tokenizer)
        return SIS_OK;
    const sis_net *net = t->encoding.net;
    return net && !sis_net_takes_words(net) ? check_vocabulary(&t->encoding)
                                            : sis__task_pieces_begin(t);
}

/* Token ids per row of the network; 0: as many as words. */
static size_t token_length(const sis_net *net) {
    size_t n = sis_net_values(net);
    const char *text = sis_net_meta_get(net, SIS_NET_META_LENGTH);
    long length;
    return n == 0 && text && sis__text_whole(text, &length) && length > 0 ? (size_t)length : n;
}

/* Tokens first, then padding. */
static int encode_tokens(const sis_task *t, const sis_data *data, size_t row, size_t width,
                         double *ids, size_t *word_at) {
    sis_tokens tokens = {0};
    int error =
        sis_tokenizer_encode(t->encoding.tokenizer, sis_data_text(data, row), width, &tokens);
    for (size_t k = 0; error == SIS_OK && k < width; k++) {
        ids[k] = k < tokens.n ? tokens.items[k].id : t->encoding.padding;
        if (word_at)
            word_at[k] = k < tokens.n ? tokens.items[k].word : SIZE_MAX;
    }
    sis_tokens_release(&tokens);
    return error;
}

static int encode_text(const sis_task *t, const sis_data *data, size_t row, size_t width,
                       double *ids, size_t *word_at) {
    sis_words words = {0};
    if (t->encoding.tokenizer)
        return encode_tokens(t, data, row, width, ids, word_at);
    int error = sis_data_words(data, row, &words);
    if (error == SIS_OK)
        sis_vocabulary_encode(t->encoding.vocabulary, &words, width, ids, word_at);
    sis_words_release(&words);
    return error;
}

static int is_prompt(const sis_task *t, const sis_data *data) {
    return t->encoding.prompts.items && data == t->source.data;
}

static int is_cut(const sis_task *t, const sis_data *data) {
    return t->encoding.pieces.items && data == t->source.data;
}

static size_t count_pieces(const sis_task *t, size_t row) {
    return t->encoding.pieces.first[row + 1] - t->encoding.pieces.first[row];
}

static void encode_pieces(const sis_task *t, size_t row, size_t width, double *values,
                          size_t *word_at) {
    size_t first = t->encoding.pieces.first[row], n = count_pieces(t, row);
    for (size_t k = 0; k < width; k++) {
        values[k] = k < n ? (double)(first + k) : 0;
        if (word_at)
            word_at[k] = k < n ? k : SIZE_MAX;
    }
}

/* The number of values of a text if the network takes any length. */
static int count_tokens(const sis_task *t, const sis_data *data, size_t row, size_t *n) {
    sis_words words = {0};
    sis_tokens tokens = {0};
    int error = t->encoding.tokenizer ? sis_tokenizer_encode(t->encoding.tokenizer,
                                                             sis_data_text(data, row), 0, &tokens)
                                      : sis_data_words(data, row, &words);
    *n = t->encoding.tokenizer ? tokens.n : words.n;
    sis_words_release(&words);
    sis_tokens_release(&tokens);
    return error;
}

int sis__task_width(const sis_task *t, const sis_data *data, size_t row, size_t *width) {
    int error = SIS_OK;
    if (is_prompt(t, data)) {
        *width = 1 + t->encoding.prompts.items[row].n;
        return SIS_OK;
    }
    if (is_cut(t, data)) {
        *width = count_pieces(t, row);
    } else if (!t->encoding.texts || !sis__task_is_kind(data, "text")) {
        *width = sis_data_width(data, row);
        return sis_data_error(data);
    } else if ((*width = token_length(t->encoding.net)) == 0)
        error = count_tokens(t, data, row, width);
    *width = *width ? *width : 1; /* one of padding */
    return error;
}

/* ---- Bases and colours --------------------------------------------------------------------- */

/* An example of `places` places with `channels` values each. */
typedef struct {
    size_t channels, places;
    int first, wanted_first; /* channels first, in the data and in the model */
} layout;

/* 1 if the model takes channels first; the data's order if it does not say. */
static int wants_first(const sis_model *model, size_t channels, int first) {
    sis_net_shape s;
    size_t dims[SIS_NET_MAX_RANK], rank = 0;
    sis_model_row_shape(model, &s);
    for (size_t d = 0; d < s.rank; d++)
        if (s.dims[d] != 1)
            dims[rank++] = s.dims[d];
    if (rank == 3 && channels > 1 && dims[0] == 0 && dims[2] == 0)
        return 1; /* unknown: ONNX's convention */
    if (rank < 2 || dims[0] == dims[rank - 1])
        return first;
    return dims[0] == channels ? 1 : dims[rank - 1] == channels ? 0 : first;
}

static layout layout_of(const sis_task *t, const sis_data *data, size_t row) {
    size_t rank, width = sis_data_width(data, row);
    const size_t *shape = sis_data_shape(data, row, &rank);
    layout a = {.channels = 1, .places = width};
    if (sis__task_is_kind(data, "dna"))
        a = (layout){shape[0], shape[1], 1, 1};
    else if (sis__task_is_kind(data, "image") && rank == 3)
        a = (layout){shape[2], width / shape[2], 0, 0};
    a.wanted_first = wants_first(&t->model, a.channels, a.first);
    return a;
}

/* The shape of an example; texts have none here. */
static const size_t *shape_in(const sis_task *t, const sis_data *data, size_t row, size_t dims[3],
                              size_t *rank) {
    const size_t *shape = sis_data_shape(data, row, rank);
    layout a = layout_of(t, data, row);
    if (a.channels == 1 || a.first == a.wanted_first)
        return shape;
    if (a.wanted_first) { /* (h, w, c) -> (c, h, w) */
        dims[0] = shape[2], dims[1] = shape[0], dims[2] = shape[1];
    } else { /* (4, length) -> (length, 4) */
        dims[0] = shape[1], dims[1] = shape[0];
    }
    return dims;
}

/* ---- Checks of the form -------------------------------------------------------------------- */

/* Describe the example. */
static void put_example(const sis_data *data, size_t row, char text[2 * SIS__DIMS_TEXT]) {
    char form[SIS__DIMS_TEXT];
    size_t rank, width = sis_data_width(data, row);
    const size_t *shape = sis_data_shape(data, row, &rank);
    sis__dims_text(shape, rank, form);
    if (sis__task_is_kind(data, "dna"))
        snprintf(text, 2 * SIS__DIMS_TEXT, "a sequence of %zu bases", width / 4);
    else if (sis__task_is_kind(data, "table"))
        snprintf(text, 2 * SIS__DIMS_TEXT, "a row of %zu number%s", width, width == 1 ? "" : "s");
    else
        snprintf(text, 2 * SIS__DIMS_TEXT, "an %s of %zu values, %s", sis_data_kind(data), width,
                 form);
}

/* Values per row of the model; 0: variable or unknown. */
static size_t count_values(const sis__task_encoding *e, const sis_net_shape *s) {
    size_t n = e->engine || s->rank > 0;
    for (size_t d = 0; d < s->rank; d++)
        n *= s->dims[d];
    return n;
}

/* Describe the model's input, from its metadata and shape. */
static void put_wanted(const sis__task_encoding *e, const sis_net_shape *s,
                       char text[2 * SIS__DIMS_TEXT]) {
    char form[SIS__DIMS_TEXT];
    size_t n = count_values(e, s);
    const char *kind = e->net ? sis_net_meta_get(e->net, SIS_NET_META_KIND) : NULL;
    kind = kind ? kind : "";
    sis__dims_text(s->dims, s->rank, form);
    if (e->token)
        snprintf(text, 2 * SIS__DIMS_TEXT, "%s%zu token ids",
                 strcmp(kind, "text") ? "" : "texts, or ", n);
    else if (strcmp(kind, "dna") == 0 && n % 4 == 0)
        snprintf(text, 2 * SIS__DIMS_TEXT, "sequences of %zu bases", n / 4);
    else if (strcmp(kind, "table") == 0)
        snprintf(text, 2 * SIS__DIMS_TEXT, "rows of %zu numbers", n);
    else if (n == 0)
        snprintf(text, 2 * SIS__DIMS_TEXT, "arrays of shape %s", form);
    else
        snprintf(text, 2 * SIS__DIMS_TEXT, "%s of %zu values, %s",
                 strcmp(kind, "image") == 0 ? "images" : "arrays", n, form);
}

/* 1 if merging adjacent axes of `fine` gives `coarse`, which has as many values. */
static int is_merged(const size_t *fine, size_t rank, const size_t *coarse, size_t n) {
    size_t at = 0;
    for (size_t d = 0; d < n; d++) {
        size_t size = 1;
        while (at < rank && size < coarse[d])
            size *= fine[at++];
        if (size != coarse[d])
            return 0;
    }
    return 1;
}

static int is_alike(const size_t *a, size_t n, const size_t *b, size_t m) {
    return is_merged(a, n, b, m) || is_merged(b, m, a, n);
}

/* 1 if the example has as many values along other axes, so that values would be confused. A list
 * counts as all axes merged. */
static int is_turned(const sis_task *t, const sis_net_shape *s, const sis_data *data, size_t row) {
    size_t dims[3], rank;
    const size_t *shape = shape_in(t, data, row, dims, &rank);
    return !is_alike(shape, rank, s->dims, s->rank);
}

/* Interpret a list of n values as a square image, grey or colour; 0: impossible. */
static int square_size(size_t n, size_t size[3]) {
    for (size_t channels = 1; channels <= 3; channels += 2) {
        size_t side = (size_t)floor(sqrt((double)n / (double)channels) + 0.5);
        size[0] = size[1] = side;
        size[2] = channels;
        if (side > 0 && side * side * channels == n)
            return 1;
    }
    return 0;
}

/* The size (height, width, channels) of the model's images; returns the number of axes that give
 * it, 0 if unknown. */
static int image_size(const sis_net_shape *s, size_t size[3]) {
    const size_t *dims = s->dims;
    size_t rank = s->rank;
    while (rank > 1 && (*dims == 1 || rank == 4)) /* an axis of channels or of the batch */
        dims++, rank--;
    if (rank == 1)
        return square_size(dims[0], size);
    if (rank == 3 && dims[0] == 3)
        size[0] = dims[1], size[1] = dims[2], size[2] = 3;
    else if (rank == 2 || rank == 3)
        size[0] = dims[0], size[1] = dims[1], size[2] = rank == 3 ? dims[2] : 1;
    else
        return 0;
    return size[0] && size[1] && size[2] && size[2] <= 4 ? (int)rank : 0;
}

int sis__task_fit(sis_task *t) {
    sis__task_encoding *e = &t->encoding;
    sis_net_shape s;
    sis_model_row_shape(&t->model, &s);
    if (t->opt.examples.data)
        return sis__fail(SIS_E_OPTION, "--fit needs images in files");
    if (e->token || !image_size(&s, e->read.fit))
        return sis__fail(SIS_E_OPTION, "--fit: this model does not state its image size");
    return SIS_OK;
}

/* 1 if the image has as many values as the model takes but other sides. */
static int is_other_size(const sis_net_shape *s, const sis_data *data, size_t row) {
    size_t rank, size[3];
    const size_t *own = sis_data_shape(data, row, &rank);
    if (!sis__task_is_kind(data, "image") || image_size(s, size) < 2)
        return 0;
    return (rank == 3 ? own[2] : 1) == size[2] && (own[0] != size[0] || own[1] != size[1]);
}

/* A likely reason. */
static const char *misfit_hint(const sis__task_encoding *e, const sis_net_shape *s,
                               const sis_data *data, size_t row) {
    size_t size[3], width = sis_data_width(data, row), wanted = count_values(e, s);
    if (sis__task_is_kind(data, "image"))
        return !e->token && image_size(s, size) ? "; --fit resizes images" : "";
    const char *kind = e->net ? sis_net_meta_get(e->net, SIS_NET_META_KIND) : NULL;
    if (sis__task_is_kind(data, "dna"))
        return !kind || strcmp(kind, "dna") == 0 ? "; --length N crops or pads sequences" : "";
    if (sis__task_is_kind(data, "array"))
        return width == wanted ? "; transpose or reshape it"
                               : " (the first axis of the file counts examples)";
    if (sis__task_is_kind(data, "table") && width > wanted)
        return " (columns that are no features are named with --label and --id)";
    return "";
}

/* 1 if it does not fit a model with several free sizes. Rows of tables, which have no shape, are
 * checked when they are predicted. */
static int is_misshapen(const sis_task *t, const sis_net_shape *s, const sis_data *data,
                        size_t row) {
    size_t rank, dims[3], fit[SIS_NET_MAX_RANK];
    const size_t *shape = shape_in(t, data, row, dims, &rank);
    return rank > 1 && sis__dims_fit(shape, rank, s->dims, s->rank, fit) != SIS_OK;
}

/* 1 if it does not fit the model's declared input. Remote models may take other numbers of values
 * than their shape suggests, and report errors themselves. */
static int is_misfit(const sis_task *t, const sis_net_shape *s, const sis_data *data, size_t row) {
    size_t wanted = count_values(&t->encoding, s);
    if (wanted == 0)
        return sis__task_needs_shapes(t) && is_misshapen(t, s, data, row);
    if (t->encoding.rows.wanted)
        return 0;
    if (wanted != sis_data_width(data, row))
        return t->encoding.engine;
    return is_other_size(s, data, row) || is_turned(t, s, data, row);
}

/* Refuse an example of the wrong form. */
static int check_form(const sis_task *t, const sis_data *data, size_t row) {
    char found[2 * SIS__DIMS_TEXT], takes[2 * SIS__DIMS_TEXT], number[SIS_ID_SIZE];
    sis_net_shape s;
    sis_model_row_shape(&t->model, &s);
    if (!is_misfit(t, &s, data, row))
        return SIS_OK;
    put_example(data, row, found);
    put_wanted(&t->encoding, &s, takes);
    return sis__fail(SIS_E_ARGUMENT, "%s: example %s is %s; the model takes %s%s",
                     data == t->source.data ? "--input" : "--mask", sis_data_id(data, row, number),
                     found, takes, misfit_hint(&t->encoding, &s, data, row));
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* Index of channel c of place p. */
static size_t index_of(const layout *a, int first, size_t p, size_t c) {
    return first ? c * a->places + p : p * a->channels + c;
}

static int is_kept(const layout *a) {
    return a->first == a->wanted_first || a->channels == 1;
}

/* Move channels from the data's position to the model's. */
static int turn(const layout *a, double *values, size_t width) {
    double *as_read = (double *)sis__copy(values, width, sizeof *values);
    if (!as_read)
        return SIS_E_NOMEM;
    for (size_t p = 0; p < a->places; p++)
        for (size_t c = 0; c < a->channels; c++)
            values[index_of(a, a->wanted_first, p, c)] = as_read[index_of(a, a->first, p, c)];
    free(as_read);
    return SIS_OK;
}

/* For each value of the model, its index in the layout. */
static void put_order(const layout *a, size_t width, int *order) {
    for (size_t v = 0; v < width; v++)
        order[v] = (int)v;
    for (size_t p = 0; p < a->places && !is_kept(a); p++)
        for (size_t c = 0; c < a->channels; c++)
            order[index_of(a, a->wanted_first, p, c)] = (int)index_of(a, a->first, p, c);
}

void sis__task_order(const sis_task *t, size_t row, size_t width, int *order) {
    layout a = layout_of(t, t->source.data, row);
    if (is_cut(t, t->source.data))
        a.channels = 1;
    put_order(&a, width, order);
}

/* 1 if the array has these sizes, ignoring axes of 1. */
static int has_dims(const sis_array *array, const size_t *dims, size_t rank) {
    size_t at = 0;
    for (size_t d = 0; d < array->rank; d++) {
        if (array->dims[d] == 1)
            continue;
        while (at < rank && dims[at] == 1)
            at++;
        if (at == rank || dims[at++] != array->dims[d])
            return 0;
    }
    while (at < rank && dims[at] == 1)
        at++;
    return at == rank;
}

/* The shape of an example with channels first; from the second entry on, with channels last. */
static void put_both(const layout *a, const size_t *shape, size_t rank, size_t dims[4]) {
    dims[0] = dims[rank] = a->channels;
    memcpy(dims + 1, shape + a->first, (rank - 1) * sizeof *dims);
}

/* 1 if its channels are first; the model's order if its shape is ambiguous. */
static int array_first(const layout *a, const size_t *shape, size_t rank, const sis_array *array) {
    size_t dims[4];
    put_both(a, shape, rank, dims);
    int first = has_dims(array, dims, rank), last = has_dims(array, dims + 1, rank);
    return first && last ? a->first : first ? 1 : last ? 0 : a->wanted_first;
}

/* 1 if it has the axes of an example, with channels first or last. */
static int is_array_alike(const layout *a, const size_t *shape, size_t rank,
                          const sis_array *array) {
    size_t dims[4];
    if (a->channels == 1)
        return is_alike(array->dims, array->rank, shape, rank);
    put_both(a, shape, rank, dims);
    return is_alike(array->dims, array->rank, dims, rank) ||
           is_alike(array->dims, array->rank, dims + 1, rank);
}

static int other_axes(const sis_array *array, const size_t *shape, size_t rank) {
    char found[SIS__DIMS_TEXT], own[SIS__DIMS_TEXT];
    sis__dims_text(array->dims, array->rank, found);
    sis__dims_text(shape, rank, own);
    return sis__fail(SIS_E_ARGUMENT, "the array has shape %s, but an example has %s", found, own);
}

int sis__task_array_order(const sis_task *t, const sis_array *array, int *order) {
    const sis_data *data = t->source.data;
    size_t rank, row = sis__task_row(&t->source, 0);
    layout a = layout_of(t, data, row);
    const size_t *shape = sis_data_shape(data, row, &rank);
    if (is_cut(t, data))
        a.channels = 1;
    else if (sis_data_width(data, row) == array->n && !is_array_alike(&a, shape, rank, array))
        return other_axes(array, shape, rank);
    if (a.channels > 1)
        a.first = array_first(&a, shape, rank, array);
    put_order(&a, array->n, order);
    return SIS_OK;
}

int sis__task_encode(const sis_task *t, const sis_data *data, size_t row, size_t width,
                     double *values, size_t *word_at) {
    if (is_prompt(t, data)) {
        sis__task_prompt_encode(t, row, width, values, word_at);
        return SIS_OK;
    }
    if (is_cut(t, data)) {
        encode_pieces(t, row, width, values, word_at);
        return SIS_OK;
    }
    if (t->encoding.texts && sis__task_is_kind(data, "text"))
        return encode_text(t, data, row, width, values, word_at);
    layout a = layout_of(t, data, row);
    int error = check_form(t, data, row);
    if (error == SIS_OK)
        error = sis_data_values(data, row, values);
    if (error != SIS_OK || is_kept(&a))
        return error;
    return turn(&a, values, width);
}

/* ---- Shapes and features --------------------------------------------------------------------- */

const size_t *sis__task_shape(const sis_task *t, size_t row, size_t dims[3], size_t *rank) {
    return shape_in(t, t->source.data, row, dims, rank);
}

size_t sis__task_own_features(const sis_task *t, size_t row, int *map) {
    layout a = layout_of(t, t->source.data, row);
    if (a.channels == 1)
        return sis_data_features(t->source.data, row, map);
    for (size_t v = 0; map && v < a.channels * a.places; v++)
        map[v] = (int)(a.wanted_first ? v % a.places : v / a.channels);
    return a.places;
}
