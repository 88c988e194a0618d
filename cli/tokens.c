/* SPDX-License-Identifier: MIT
 *
 * Models that take token ids: features are the tokens that are not padding (id 0), called by the
 * words of the model's vocabulary, and a mask is an embedding or another token.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"

enum { PADDING = 0 };

int cli_is_token(const cli_task *t) {
    return t->net && sis_net_is_token(t->net);
}

int cli_has_words(const cli_task *t) {
    return t->vocabulary || t->pieces;
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* The model's vocabulary, which also names the ids of an array; NULL if it carries none of use. */
static sis_vocabulary *own_vocabulary(const cli_task *t) {
    const char *json = t->net ? sis_net_meta_get(t->net, SIS_NET_META_VOCABULARY) : NULL;
    sis_vocabulary *words = NULL;
    return json && sis_vocabulary_parse(json, &words) == SIS_OK ? words : NULL;
}

/* What the tokens of an example are called by. */
typedef struct {
    const sis_vocabulary *vocabulary;
    const char *text; /* as it was written; NULL: there are ids only */
    sis_words split;
} wording;

/* The word of value v of input i: as it was written, or that of its id, or "#id". */
static char *word_of(const cli_task *t, size_t i, size_t v, const wording *w) {
    char number[32];
    double id = t->inputs[i].values[v];
    const char *word =
        w->vocabulary && id >= 0 ? sis_vocabulary_word(w->vocabulary, (size_t)id) : NULL;
    const sis_word *written = w->text ? &w->split.items[t->word_at[i][v]] : NULL;
    snprintf(number, sizeof number, "#%.0f", id);
    char *copy =
        written ? strndup(w->text + written->start, written->length) : strdup(word ? word : number);
    if (!copy)
        cli_error("out of memory");
    return copy;
}

/* The features whose words a person marked in the text. */
static int find_human(cli_task *t, size_t i) {
    size_t n;
    const int *human = sis_data_human(t->data, t->rows[i], &n);
    if (!human)
        return CLI_DONE;
    t->human[i] = cli_grab(n, sizeof **t->human);
    if (!t->human[i])
        return CLI_FAILED;
    for (size_t v = 0, k = 0; v < t->inputs[i].n_values; v++) { /* both ascend */
        size_t word = t->word_at[i][v];
        while (word != SIZE_MAX && k < n && (size_t)human[k] < word)
            k++;
        if (word != SIZE_MAX && k < n && (size_t)human[k] == word)
            t->human[i][t->n_human[i]++] = t->maps[i][v];
    }
    return CLI_DONE;
}

/* Features and words of one example. */
static int number_tokens(cli_task *t, size_t i, const wording *w) {
    const sis_input *in = &t->inputs[i];
    int n = 0;
    t->maps[i] = cli_grab(in->n_values, sizeof **t->maps);
    t->words[i] = cli_grab(in->n_values, sizeof **t->words);
    if (!t->maps[i] || !t->words[i])
        return CLI_FAILED;
    for (size_t v = 0; v < in->n_values; v++)
        t->maps[i][v] = in->values[v] == PADDING ? -1 : n++;
    t->inputs[i].feature_of = t->maps[i];
    for (size_t v = 0; v < in->n_values; v++)
        if (t->maps[i][v] >= 0 && !(t->words[i][t->maps[i][v]] = word_of(t, i, v, w)))
            return CLI_FAILED;
    return w->text ? find_human(t, i) : CLI_DONE;
}

const char *cli_task_excuse(const cli_task *t, size_t i) {
    for (size_t v = 0; v < t->inputs[i].n_values; v++)
        if (!t->words || t->maps[i][v] >= 0)
            return NULL;
    return t->word_at ? "the text has no words" : "every token is padding (id 0)";
}

/* The text of input i, if it was one. */
static int begin_wording(const cli_task *t, size_t i, wording *w) {
    if (!t->word_at)
        return CLI_DONE;
    w->text = sis_data_text(t->data, t->rows[i]);
    return cli_fail(sis_data_words(t->data, t->rows[i], &w->split));
}

int cli_token_features(cli_task *t) {
    t->maps = cli_grab(t->n, sizeof *t->maps);
    t->words = cli_grab(t->n, sizeof *t->words);
    t->human = cli_grab(t->n, sizeof *t->human);
    t->n_human = cli_grab(t->n, sizeof *t->n_human);
    if (!t->maps || !t->words || !t->human || !t->n_human)
        return CLI_FAILED;
    sis_vocabulary *words = own_vocabulary(t);
    wording w = {.vocabulary = words};
    int status = CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < t->n; i++) {
        status = begin_wording(t, i, &w);
        if (status == CLI_DONE)
            status = number_tokens(t, i, &w);
    }
    sis_words_release(&w.split);
    sis_vocabulary_free(words);
    return status;
}

/* ---- Masks ----------------------------------------------------------------------------------- */

static int fill(cli_task *t, double id) {
    size_t width = 0;
    for (size_t i = 0; i < t->n; i++)
        width = t->inputs[i].n_values > width ? t->inputs[i].n_values : width;
    for (size_t v = 0; v < width; v++)
        t->mask[v] = id;
    return 1;
}

/* A masked token looks like this. */
static int fill_embedding(cli_task *t, const double *embedding, size_t n) {
    if (sis_model_mask_token(&t->model, embedding, n) == SIS_OK)
        return fill(t, SIS_TOKEN_MASK);
    cli_error("--mask: %s", sis_error_detail());
    return -1;
}

static int constant_embedding(cli_task *t, double value) {
    const float *matrix;
    size_t n, dim;
    if (sis_net_embedding(t->net, &matrix, &n, &dim) != SIS_OK)
        return -1;
    double *embedding = cli_grab(dim, sizeof *embedding);
    for (size_t k = 0; embedding && k < dim; k++)
        embedding[k] = value;
    int filled = embedding ? fill_embedding(t, embedding, dim) : -1;
    free(embedding);
    return filled;
}

static int mean_embedding(cli_task *t) {
    const float *matrix;
    size_t n, dim;
    if (sis_net_embedding(t->net, &matrix, &n, &dim) != SIS_OK)
        return -1;
    double *mean = cli_grab(dim, sizeof *mean), *row = cli_grab(dim, sizeof *row);
    for (size_t i = 0; mean && row && i < n; i++) {
        for (size_t k = 0; k < dim; k++)
            row[k] = matrix[i * dim + k];
        sis_mean_add(mean, row, dim, i + 1);
    }
    int filled = mean && row ? fill_embedding(t, mean, dim) : -1;
    free(mean);
    free(row);
    return filled;
}

static int file_embedding(cli_task *t, const char *path) {
    sis_array a;
    if (sis_array_read(path, &a) != SIS_OK) {
        cli_error("--mask: %s", sis_error_detail());
        return -1;
    }
    int filled = fill_embedding(t, a.values, a.n);
    sis_array_release(&a);
    return filled;
}

/* token:WORD or token:ID. */
static int fill_token(cli_task *t, const char *text) {
    sis_vocabulary *words = own_vocabulary(t);
    long id = -1;
    for (size_t i = 0; id < 0 && words && i < sis_vocabulary_size(words); i++)
        if (strcmp(sis_vocabulary_word(words, i), text) == 0)
            id = (long)i;
    sis_vocabulary_free(words);
    if (id < 0 && (!cli_whole(text, &id) || id < 0)) {
        cli_error("--mask token:%s: the model's vocabulary has no such word", text);
        return -1;
    }
    return fill(t, (double)id);
}

int cli_token_mask(cli_task *t, const char *text) {
    double v;
    if (!*text)
        return fill(t, SIS_TOKEN_MASK); /* as the model was opened */
    if (strcmp(text, "embedding-mean") == 0)
        return mean_embedding(t);
    if (strcmp(text, "zero") == 0)
        return constant_embedding(t, 0);
    if (strncmp(text, "value:", 6) == 0 && cli_number(text + 6, &v))
        return constant_embedding(t, v);
    if (strcmp(text, "pad") == 0)
        return fill(t, PADDING);
    if (strcmp(text, "remove") == 0)
        return fill(t, NAN);
    if (strncmp(text, "token:", 6) == 0)
        return fill_token(t, text + 6);
    if (cli_ends_in(text, ".npy"))
        return file_embedding(t, text);
    if (strncmp(text, "hotdeck:", 8) == 0)
        return 0;
    cli_error("--mask: this model takes token ids; expected embedding-mean, zero, value:V, pad, "
              "token:WORD, remove, FILE.npy (one embedding) or hotdeck:FILE, found \"%s\"",
              text);
    return -1;
}
