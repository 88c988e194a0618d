/* SPDX-License-Identifier: MIT
 *
 * From what a file holds to what a model takes: texts become token ids by the model's own
 * vocabulary; bases and colours come first or last as the model's input wants them; everything else
 * is what it is. The same for the examples explained and for those that masks are made of.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"

static int is_kind(const sis_data *data, const char *kind) {
    return strcmp(sis_data_kind(data), kind) == 0;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static int open_vocabulary(cli_task *t) {
    const char *json = t->net ? sis_net_meta_get(t->net, SIS_NET_META_VOCABULARY) : NULL;
    const char *tokenizer = t->net ? sis_net_meta_get(t->net, SIS_NET_META_TOKENIZER) : NULL;
    if (!cli_is_token(t))
        return cli_error("--input: holds texts, but this model takes no token ids; only networks "
                         "with a vocabulary and cmd: models take texts");
    if (!json)
        return cli_error("--input: holds texts, but this model has no vocabulary of its own; give "
                         "token ids (.npy)");
    if (tokenizer && strcmp(tokenizer, SIS_TOKENIZER) != 0)
        return cli_error("--input: holds texts, and this model's tokenizer \"%s\" is not known; "
                         "give token ids (.npy)",
                         tokenizer);
    return cli_fail(sis_vocabulary_parse(json, &t->vocabulary));
}

size_t cli_token_length(const sis_net *net) {
    size_t n = sis_net_values(net);
    const char *text = sis_net_meta_get(net, SIS_NET_META_LENGTH);
    long length;
    return n == 0 && text && cli_whole(text, &length) && length > 0 ? (size_t)length : n;
}

/* ---- Bases and colours ----------------------------------------------------------------------- */

/* An example of `places` places with `channels` values each. */
typedef struct {
    size_t channels, places;
    int first, wanted_first; /* do the channels come first, in the data and in the model? */
} layout;

/* Does the model want the channels first? As the data have them if it does not say. */
static int wants_first(const cli_task *t, size_t channels, int first) {
    sis_net_shape s = {0};
    size_t dims[SIS_NET_MAX_RANK], rank = 0;
    if (t->net)
        sis_net_input_shape(t->net, &s);
    for (size_t d = 0; d < s.rank; d++)
        if (s.dims[d] != 1)
            dims[rank++] = s.dims[d];
    if (rank < 2 || dims[0] == dims[rank - 1])
        return first;
    return dims[0] == channels ? 1 : dims[rank - 1] == channels ? 0 : first;
}

static layout layout_of(const cli_task *t, const sis_data *data, size_t i) {
    size_t rank, width = sis_data_width(data, i);
    const size_t *shape = sis_data_shape(data, i, &rank);
    layout a = {.channels = 1, .places = width};
    if (is_kind(data, "dna"))
        a = (layout){shape[0], shape[1], 1, 1};
    else if (is_kind(data, "image") && rank == 3)
        a = (layout){shape[2], width / shape[2], 0, 0};
    a.wanted_first = wants_first(t, a.channels, a.first);
    return a;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

int cli_encode_names(cli_task *t) {
    const char *text = t->net ? sis_net_meta_get(t->net, SIS_NET_META_NAMES) : NULL;
    if (!text)
        return CLI_DONE;
    t->names_list = json_loads(text, 0, NULL);
    size_t n = json_array_size(t->names_list);
    const char **names = n ? cli_grab(n, sizeof *names) : NULL;
    for (size_t k = 0; names && k < n; k++)
        if (!(names[k] = json_string_value(json_array_get(t->names_list, k)))) {
            free(names);
            names = NULL;
        }
    if (!names)
        return cli_error("the model's own names of its values are no list of text");
    t->opt.names = names;
    t->opt.n_names = n;
    t->opt.categorical = 1;
    return CLI_DONE;
}

int cli_encode_begin(cli_task *t) {
    if (!is_kind(t->data, "text"))
        return CLI_DONE;
    return t->net ? open_vocabulary(t) : cli_pieces_begin(t);
}

int cli_encode_width(const cli_task *t, const sis_data *data, size_t i, size_t *width) {
    sis_words words = {0};
    if (t->pieces && data == t->data) {
        *width = cli_pieces_count(t, i);
        return CLI_DONE;
    }
    if (!t->vocabulary || !is_kind(data, "text")) {
        *width = sis_data_width(data, i);
        return CLI_DONE;
    }
    *width = cli_token_length(t->net);
    if (*width > 0)
        return CLI_DONE;
    int error = sis_data_words(data, i, &words);
    *width = words.n ? words.n : 1;
    sis_words_release(&words);
    return cli_fail(error);
}

static int encode_text(const cli_task *t, const sis_data *data, size_t i, cli_row *row) {
    sis_words words = {0};
    int error = sis_data_words(data, i, &words);
    if (!error)
        sis_vocabulary_encode(t->vocabulary, &words, row->width, row->values, row->word_at);
    sis_words_release(&words);
    return cli_fail(error);
}

/* ---- Examples of another form ---------------------------------------------------------------- */

enum { FORM = 128 };

/* "(3, 8, 8)" */
static void put_shape(const size_t *dims, size_t rank, char text[FORM]) {
    size_t used = (size_t)snprintf(text, FORM, "(");
    for (size_t d = 0; d < rank && used < FORM; d++)
        used += (size_t)snprintf(text + used, FORM - used, "%s%zu", d ? ", " : "", dims[d]);
    if (used < FORM)
        snprintf(text + used, FORM - used, ")");
}

/* What the example is. */
static void put_example(const sis_data *data, size_t i, char text[2 * FORM]) {
    char form[FORM];
    size_t rank, width = sis_data_width(data, i);
    const size_t *shape = sis_data_shape(data, i, &rank);
    put_shape(shape, rank, form);
    if (is_kind(data, "dna"))
        snprintf(text, 2 * FORM, "a sequence of %zu bases", width / 4);
    else if (is_kind(data, "table"))
        snprintf(text, 2 * FORM, "a row of %zu number%s", width, width == 1 ? "" : "s");
    else
        snprintf(text, 2 * FORM, "an %s of %zu values, %s", sis_data_kind(data), width, form);
}

/* What the model takes: by what it says of itself, and by its shape. */
static void put_wanted(const cli_task *t, char text[2 * FORM]) {
    sis_net_shape s = {0};
    char form[FORM];
    size_t n = sis_net_values(t->net);
    const char *kind = sis_net_meta_get(t->net, SIS_NET_META_KIND);
    kind = kind ? kind : "";
    sis_net_input_shape(t->net, &s);
    put_shape(s.dims, s.rank, form);
    if (cli_is_token(t))
        snprintf(text, 2 * FORM, "%s%zu token ids", strcmp(kind, "text") ? "" : "texts, or ", n);
    else if (strcmp(kind, "dna") == 0 && n % 4 == 0)
        snprintf(text, 2 * FORM, "sequences of %zu bases", n / 4);
    else if (strcmp(kind, "table") == 0)
        snprintf(text, 2 * FORM, "rows of %zu numbers", n);
    else
        snprintf(text, 2 * FORM, "%s of %zu values, %s",
                 strcmp(kind, "image") == 0 ? "images" : "arrays", n, form);
}

/* The same number of values along other axes: the values would be taken for others. */
static int is_turned(const cli_task *t, const sis_data *data, size_t i) {
    sis_net_shape s = {0};
    size_t rank, at = 0;
    const size_t *shape = sis_data_shape(data, i, &rank);
    int differs = 0;
    sis_net_input_shape(t->net, &s);
    for (size_t d = 0; d < rank; d++) {
        if (shape[d] == 1)
            continue;
        while (at < s.rank && s.dims[at] == 1)
            at++;
        if (at == s.rank)
            return 0; /* fewer axes: one flat list is as good as another */
        differs |= s.dims[at] != 0 && s.dims[at] != shape[d];
        at++;
    }
    while (at < s.rank && s.dims[at] == 1)
        at++;
    return differs && at == s.rank;
}

/* What may be the reason. */
static const char *misfit_hint(const sis_data *data, size_t width, size_t wanted) {
    if (is_kind(data, "array"))
        return width == wanted ? "; transpose it" : " (the first axis of the file counts examples)";
    if (is_kind(data, "table") && width > wanted)
        return " (columns that are no features are named with --label and --id)";
    return "";
}

/* Refuse an example that is not of the form the model takes. */
static int check_form(const cli_task *t, const sis_data *data, size_t i) {
    size_t wanted = t->net ? sis_net_values(t->net) : 0, width = sis_data_width(data, i);
    char found[2 * FORM], takes[2 * FORM], number[SIS_ID_SIZE];
    if (wanted == 0 || (wanted == width && !(is_kind(data, "array") && is_turned(t, data, i))))
        return CLI_DONE;
    put_example(data, i, found);
    put_wanted(t, takes);
    return cli_error("%s: example %s is %s; the model takes %s%s",
                     data == t->data ? "--input" : "--mask", sis_data_id(data, i, number), found,
                     takes, misfit_hint(data, width, wanted));
}

int cli_encode(const cli_task *t, const sis_data *data, size_t i, cli_row *row) {
    if (t->pieces && data == t->data) {
        cli_pieces_encode(t, i, row);
        return CLI_DONE;
    }
    if (t->vocabulary && is_kind(data, "text"))
        return encode_text(t, data, i, row);
    layout a = layout_of(t, data, i);
    int status = check_form(t, data, i);
    if (status == CLI_DONE)
        status = cli_fail(sis_data_values(data, i, row->values));
    if (status != CLI_DONE || a.first == a.wanted_first || a.channels == 1)
        return status;
    double *as_read = cli_grab(row->width, sizeof *as_read);
    if (!as_read)
        return CLI_FAILED;
    memcpy(as_read, row->values, row->width * sizeof *as_read);
    for (size_t p = 0; p < a.places; p++)
        for (size_t c = 0; c < a.channels; c++)
            row->values[a.wanted_first ? c * a.places + p : p * a.channels + c] =
                as_read[a.first ? c * a.places + p : p * a.channels + c];
    free(as_read);
    return CLI_DONE;
}

/* ---- What they are --------------------------------------------------------------------------- */

const size_t *cli_shape(const cli_task *t, size_t i, size_t *rank, size_t out[3]) {
    const size_t *shape = sis_data_shape(t->data, t->rows[i], rank);
    layout a = layout_of(t, t->data, t->rows[i]);
    if (cli_has_words(t)) {
        *rank = 1;
        return &t->inputs[i].n_values;
    }
    if (a.channels == 1 || a.first == a.wanted_first)
        return shape;
    if (a.wanted_first) { /* (h, w, c) -> (c, h, w) */
        out[0] = shape[2], out[1] = shape[0], out[2] = shape[1];
    } else { /* (4, length) -> (length, 4) */
        out[0] = shape[1], out[1] = shape[0];
    }
    return out;
}

size_t cli_encode_features(const cli_task *t, size_t i, int *map) {
    layout a = layout_of(t, t->data, t->rows[i]);
    if (a.channels == 1)
        return sis_data_features(t->data, t->rows[i], map);
    for (size_t v = 0; map && v < a.channels * a.places; v++)
        map[v] = (int)(a.wanted_first ? v % a.places : v / a.channels);
    return a.places;
}
