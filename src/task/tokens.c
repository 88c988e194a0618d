/* SPDX-License-Identifier: MIT
 *
 * Models that take words: features are the tokens that are not padding (id 0), called as they were
 * written or by the model's vocabulary, and a mask is an embedding or another token.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

enum { PADDING = 0 };

int sis__task_has_words(const sis_task *t) {
    return (t->encoding.token || t->encoding.pieces.items) && strcmp(t->opt.features, "each") == 0;
}

/* ---- Words --------------------------------------------------------------------------------- */

/* What the tokens of an example are called by. */
typedef struct {
    const sis_vocabulary *vocabulary;
    const char *text; /* as it was written; NULL: there are ids only */
    sis_words split;
} wording;

/* The word of value v: as it was written, or that of its id, or "#id". */
static void put_word(const sis_example *e, size_t v, const wording *w, sis__buf *pool) {
    double id = e->values[v];
    const char *word =
        w->vocabulary && id >= 0 ? sis_vocabulary_word(w->vocabulary, (size_t)id) : NULL;
    if (w->text) {
        const sis_word *written = &w->split.items[e->word_at[v]];
        sis__buf_add(pool, w->text + written->start, written->length);
    } else if (word)
        sis__buf_str(pool, word);
    else
        sis__buf_printf(pool, "#%.0f", id);
    sis__buf_char(pool, '\0');
}

/* The words of the features, in one piece of memory. */
static int take_words(sis_example *e, const wording *w) {
    sis__buf pool;
    size_t bytes;
    sis__buf_init(&pool);
    for (size_t v = 0; v < e->input.n_values; v++)
        if (e->map[v] >= 0)
            put_word(e, v, w, &pool);
    int error = sis__buf_give(&pool, &e->pool, &bytes);
    e->words = error == SIS_OK ? SIS_NEW_RAW(char *, e->n_words) : NULL;
    if (error == SIS_OK && !e->words)
        error = SIS_E_NOMEM;
    for (size_t k = 0, at = 0; error == SIS_OK && k < e->n_words; k++) {
        e->words[k] = e->pool + at;
        at += strlen(e->words[k]) + 1;
    }
    return error;
}

/* The features whose words a person marked in the text. */
static int find_human(const sis_task *t, sis_example *e) {
    size_t n;
    const int *human = sis_data_human(t->source.data, e->row, &n);
    if (!human)
        return SIS_OK;
    e->human = SIS_NEW(int, n);
    if (!e->human)
        return SIS_E_NOMEM;
    for (size_t v = 0, k = 0; v < e->input.n_values; v++) { /* both ascend */
        size_t word = e->word_at[v];
        while (word != SIZE_MAX && k < n && (size_t)human[k] < word)
            k++;
        if (word != SIZE_MAX && k < n && (size_t)human[k] == word)
            e->human[e->n_human++] = e->map[v];
    }
    return SIS_OK;
}

static int number_tokens(sis_example *e) {
    size_t n = 0;
    e->map = SIS_NEW_RAW(int, e->input.n_values);
    if (!e->map)
        return SIS_E_NOMEM;
    for (size_t v = 0; v < e->input.n_values; v++)
        e->map[v] = e->values[v] == PADDING ? -1 : (int)n++;
    e->input.feature_of = e->map;
    e->n_words = n;
    return SIS_OK;
}

int sis__task_words(const sis_task *t, sis_example *e) {
    wording w = {.vocabulary = t->encoding.vocabulary};
    int error = number_tokens(e);
    if (error == SIS_OK && t->encoding.texts) {
        w.text = sis_data_text(t->source.data, e->row);
        error = sis_data_words(t->source.data, e->row, &w.split);
    }
    if (error == SIS_OK)
        error = take_words(e, &w);
    if (error == SIS_OK && w.text)
        error = find_human(t, e);
    sis_words_release(&w.split);
    if (e->n_words == 0)
        e->excuse = t->encoding.texts ? "the text has no words" : "every token is padding (id 0)";
    return error;
}

/* ---- Masks --------------------------------------------------------------------------------- */

/* A masked token looks like this. */
static int fill_embedding(sis_task *t, const double *embedding, size_t n) {
    int error = sis__task_own_model(t);
    if (error == SIS_OK)
        error = sis_model_mask_token(&t->model, embedding, n);
    return error ? sis__fail_in(error, "--mask") : sis__task_mask_fill(t, SIS_TOKEN_MASK);
}

static int constant_embedding(sis_task *t, double value) {
    const float *matrix;
    size_t n, dim;
    int error = sis_net_embedding(t->encoding.net, &matrix, &n, &dim);
    if (error != SIS_OK)
        return error;
    double *embedding = SIS_NEW_RAW(double, dim);
    for (size_t k = 0; embedding && k < dim; k++)
        embedding[k] = value;
    error = embedding ? fill_embedding(t, embedding, dim) : SIS_E_NOMEM;
    free(embedding);
    return error;
}

static int mean_embedding(sis_task *t) {
    const float *matrix;
    size_t n, dim;
    int error = sis_net_embedding(t->encoding.net, &matrix, &n, &dim);
    if (error != SIS_OK)
        return error;
    double *mean = SIS_NEW(double, dim), *row = SIS_NEW_RAW(double, dim);
    for (size_t i = 0; mean && row && i < n; i++) {
        for (size_t k = 0; k < dim; k++)
            row[k] = matrix[i * dim + k];
        sis_mean_add(mean, row, dim, i + 1);
    }
    error = mean && row ? fill_embedding(t, mean, dim) : SIS_E_NOMEM;
    free(mean);
    free(row);
    return error;
}

static int file_embedding(sis_task *t, const char *path) {
    sis_array a;
    int error = sis_array_read(path, &a);
    if (error != SIS_OK)
        return sis__fail_in(error, "--mask");
    error = fill_embedding(t, a.values, a.n);
    sis_array_release(&a);
    return error;
}

/* token:WORD or token:ID. */
static int fill_token(sis_task *t, const char *text) {
    const sis_vocabulary *words = t->encoding.vocabulary;
    long id = -1;
    for (size_t i = 0; id < 0 && words && i < sis_vocabulary_size(words); i++)
        if (strcmp(sis_vocabulary_word(words, i), text) == 0)
            id = (long)i;
    if (id < 0 && (!sis__text_whole(text, &id) || id < 0))
        return sis__fail(SIS_E_ARGUMENT, "--mask token:%s: the model's vocabulary has no such word",
                         text);
    return sis__task_mask_fill(t, (double)id);
}

int sis__task_mask_token(sis_task *t, const char *text) {
    double v;
    if (!*text)
        return sis__task_mask_fill(t, SIS_TOKEN_MASK); /* as the model was opened */
    if (strcmp(text, "embedding-mean") == 0)
        return mean_embedding(t);
    if (strcmp(text, "zero") == 0)
        return constant_embedding(t, 0);
    if (strncmp(text, "value:", 6) == 0 && sis__text_number(text + 6, &v))
        return constant_embedding(t, v);
    if (strcmp(text, "pad") == 0)
        return sis__task_mask_fill(t, PADDING);
    if (strcmp(text, "remove") == 0)
        return sis__task_mask_fill(t, NAN);
    if (strncmp(text, "token:", 6) == 0)
        return fill_token(t, text + 6);
    if (sis__text_ends_in(text, ".npy"))
        return file_embedding(t, text);
    if (strncmp(text, "hotdeck:", 8) == 0 || (strcmp(text, "hotdeck") == 0 && t->opt.background))
        return SIS_OK;
    return sis__fail(SIS_E_ARGUMENT,
                     "--mask: this model takes token ids; expected embedding-mean, zero, value:V, "
                     "pad, token:WORD, remove, FILE.npy (one embedding) or hotdeck:FILE, found "
                     "\"%s\"",
                     text);
}
