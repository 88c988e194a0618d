/* SPDX-License-Identifier: MIT
 *
 * Features of texts: words, tokens or sentences, each a group of tokens with its original text and
 * position; padding and special tokens are never masked. Token ids without a text are one feature
 * each, named by the model's vocabulary. Also the masks of token models: an embedding, another
 * token, or removal.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/files.h>
#include <sis/handle.h>
#include <sis/text.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "task/task.h"

/* ---- Units of features ----------------------------------------------------------------------- */

/* "word", "token" or "sentence", or NULL: something else. */
static const char *text_unit(const char *features) {
    static const char *const units[] = {"word", "token", "sentence"};
    if (strcmp(features, "each") == 0)
        return units[0];
    for (size_t k = 0; k < sizeof units / sizeof *units; k++)
        if (strcmp(features, units[k]) == 0)
            return units[k];
    return NULL;
}

int sis__task_is_text_unit(const char *features) {
    return strcmp(features, "each") != 0 && text_unit(features);
}

int sis__task_has_words(const sis_task *t) {
    return t->encoding.prompts.items ||
           ((t->encoding.token || t->encoding.pieces.items) && text_unit(t->opt.question.features));
}

const char *sis__task_unit(const sis_task *t) {
    if (t->encoding.prompts.items)
        return t->encoding.prompts.unit;
    const char *unit = text_unit(t->opt.question.features);
    return unit && t->encoding.texts && strcmp(unit, "word") != 0 ? unit : NULL;
}

static double padding_of(const sis_task *t) {
    return t->encoding.padding;
}

/* ---- Positions of tokens --------------------------------------------------------------------- */

/* The position of a value's token in the text, and its feature. */
typedef struct {
    size_t start, end; /* bytes */
    size_t unit;       /* SIZE_MAX: none, never masked */
} place;

/* From the words of the data set. */
static int locate_words(const sis_task *t, const sis_example *e, place *places) {
    sis_words words = {0};
    int error = sis_data_words(t->source.data, e->row, &words);
    for (size_t v = 0; error == SIS_OK && v < e->input.n_values; v++) {
        size_t word = e->word_at[v];
        int there = word != SIZE_MAX && e->own->values[v] != padding_of(t);
        places[v].unit = there ? word : SIZE_MAX;
        if (there) {
            places[v].start = words.items[word].start;
            places[v].end = places[v].start + words.items[word].length;
        }
    }
    sis_words_release(&words);
    return error;
}

/* From the tokens of a tokenizer. */
static int locate_tokens(const sis_task *t, const sis_example *e, place *places) {
    sis_tokens tokens = {0};
    const char *text = sis_data_text(t->source.data, e->row);
    int by_token = strcmp(t->opt.question.features, "token") == 0;
    int error = sis_tokenizer_encode(t->encoding.tokenizer, text, e->input.n_values, &tokens);
    for (size_t v = 0; error == SIS_OK && v < e->input.n_values; v++) {
        const sis_token *k = v < tokens.n ? &tokens.items[v] : NULL;
        places[v].unit = !k || k->word == SIZE_MAX ? SIZE_MAX : by_token ? v : k->word;
        places[v].start = k ? k->start : 0;
        places[v].end = k ? k->start + k->length : 0;
    }
    sis_tokens_release(&tokens);
    return error;
}

/* From the parts of a prompt; the first value is the number of the prompt. */
static int locate_parts(const sis_task *t, const sis_example *e, place *places) {
    const sis__task_prompt *p = &t->encoding.prompts.items[e->row];
    places[0].unit = SIZE_MAX;
    for (size_t v = 1; v < e->input.n_values; v++) {
        size_t start = (size_t)(p->parts[v - 1].text - p->text);
        places[v] = (place){start, start + p->parts[v - 1].length, v - 1};
    }
    return SIS_OK;
}

/* Group tokens by sentence. */
static void gather_sentences(const char *text, place *places, size_t n) {
    size_t end = 0, sentence = 0;
    for (size_t v = 0; v < n; v++) {
        if (places[v].unit == SIZE_MAX)
            continue;
        while (places[v].start >= end && text[end]) {
            end = sis_sentence_end(text, end);
            sentence++;
        }
        places[v].unit = sentence;
    }
}

/* Number the features in text order, one for each run of tokens of one unit; their positions to
 * spans (2n). */
static void number_places(sis_example *e, const place *places, size_t *spans) {
    size_t n = 0, last = SIZE_MAX;
    for (size_t v = 0; v < e->input.n_values; v++) {
        const place *p = &places[v];
        e->own->map[v] = -1;
        if (p->unit == SIZE_MAX)
            continue;
        if (n == 0 || p->unit != last) {
            size_t before = n ? spans[2 * n - 1] : 0; /* two may share a character */
            spans[2 * n] = p->start > before ? p->start : before;
            spans[2 * n + 1] = spans[2 * n];
            n++;
        }
        last = p->unit;
        if (p->end > spans[2 * n - 1])
            spans[2 * n - 1] = p->end;
        e->own->map[v] = (int)n - 1;
    }
    e->input.feature_of = e->own->map;
    e->n_words = n;
}

/* Trim white space at the ends of spans, unless they contain nothing else. */
static void trim_spans(const char *text, size_t *spans, size_t n) {
    for (size_t k = 0; k < n; k++) {
        size_t start = spans[2 * k], end = spans[2 * k + 1];
        while (start < end && strchr(" \t\r\n", text[start]))
            start++;
        while (end > start && strchr(" \t\r\n", text[end - 1]))
            end--;
        if (start < end) {
            spans[2 * k] = start;
            spans[2 * k + 1] = end;
        }
    }
}

/* ---- Names of features ----------------------------------------------------------------------- */

/* Set the words of the features from a pool of consecutive strings. */
static int hand_out(sis__buf *pool, sis_example *e) {
    size_t bytes;
    int error = sis__buf_give(pool, &e->own->pool, &bytes);
    e->words = error == SIS_OK ? SIS_NEW_RAW(char *, e->n_words) : NULL;
    if (error == SIS_OK && !e->words)
        error = SIS_E_NOMEM;
    for (size_t k = 0, at = 0; error == SIS_OK && k < e->n_words; k++) {
        e->words[k] = e->own->pool + at;
        at += strlen(e->words[k]) + 1;
    }
    return error;
}

/* Copy the original text of each feature. */
static int quote_words(sis_example *e, const char *text, const size_t *spans) {
    sis__buf pool;
    sis__buf_init(&pool);
    for (size_t k = 0; k < e->n_words; k++) {
        sis__buf_add(&pool, text + spans[2 * k], spans[2 * k + 1] - spans[2 * k]);
        sis__buf_char(&pool, '\0');
    }
    return hand_out(&pool, e);
}

/* Convert spans from bytes to characters; spans ascend. */
static int count_characters(sis_example *e, const char *text, const size_t *spans) {
    size_t at = 0, characters = 0;
    uint32_t c;
    e->spans = SIS_NEW_RAW(int, 2 * e->n_words);
    if (!e->spans)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < 2 * e->n_words; k++) {
        for (; at < spans[k]; characters++)
            at += sis__utf8_step(text + at, &c);
        e->spans[k] = (int)characters;
    }
    return SIS_OK;
}

/* The features that overlap a word that a person marked. */
static int find_human(const sis_task *t, sis_example *e, const size_t *spans) {
    size_t n, k = 0;
    sis_words words = {0};
    const int *human = sis_data_human(t->source.data, e->row, &n);
    if (!human)
        return SIS_OK;
    e->human = SIS_NEW(int, e->n_words);
    int error = e->human ? sis_data_words(t->source.data, e->row, &words) : SIS_E_NOMEM;
    for (size_t f = 0; error == SIS_OK && f < e->n_words; f++) { /* both ascend */
        const sis_word *w = NULL;
        for (; k < n && (size_t)human[k] < words.n; k++) {
            w = &words.items[human[k]];
            if (w->start + w->length > spans[2 * f])
                break;
        }
        if (k < n && w && w->start < spans[2 * f + 1])
            e->human[e->n_human++] = (int)f;
    }
    sis_words_release(&words);
    return error;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static int describe_text(const sis_task *t, sis_example *e, place *places, size_t *spans) {
    const char *text = sis_data_text(t->source.data, e->row);
    int prompts = t->encoding.prompts.items != NULL;
    int error = (prompts                 ? locate_parts
                 : t->encoding.tokenizer ? locate_tokens
                                         : locate_words)(t, e, places);
    if (error != SIS_OK)
        return error;
    if (!prompts && strcmp(t->opt.question.features, "sentence") == 0)
        gather_sentences(text, places, e->input.n_values);
    number_places(e, places, spans);
    trim_spans(text, spans, e->n_words);
    e->text = sis__strdup(text);
    error = e->text ? quote_words(e, text, spans) : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = count_characters(e, text, spans);
    return error == SIS_OK ? find_human(t, e, spans) : error;
}

static int text_features(const sis_task *t, sis_example *e) {
    place *places = SIS_NEW(place, e->input.n_values);
    size_t *spans = SIS_NEW(size_t, 2 * e->input.n_values);
    int error = places && spans ? describe_text(t, e, places, spans) : SIS_E_NOMEM;
    free(places);
    free(spans);
    return error;
}

/* ---- Token ids ------------------------------------------------------------------------------- */

/* The word of value v: of its id, or "#id". */
static void put_word(const sis_task *t, const sis_example *e, size_t v, sis__buf *pool) {
    double id = e->own->values[v];
    const char *word = NULL;
    if (id >= 0 && t->encoding.tokenizer)
        word = sis_tokenizer_word(t->encoding.tokenizer, (size_t)id);
    else if (id >= 0 && t->encoding.vocabulary)
        word = sis_vocabulary_word(t->encoding.vocabulary, (size_t)id);
    if (word)
        sis__buf_str(pool, word);
    else
        sis__buf_printf(pool, "#%.0f", id);
    sis__buf_char(pool, '\0');
}

static int token_features(const sis_task *t, sis_example *e) {
    sis__buf pool;
    sis__buf_init(&pool);
    for (size_t v = 0; v < e->input.n_values; v++) {
        e->own->map[v] = e->own->values[v] == padding_of(t) ? -1 : (int)e->n_words++;
        if (e->own->map[v] >= 0)
            put_word(t, e, v, &pool);
    }
    e->input.feature_of = e->own->map;
    return hand_out(&pool, e);
}

int sis__task_words(const sis_task *t, sis_example *e) {
    e->own->map = SIS_NEW_RAW(int, e->input.n_values);
    if (!e->own->map)
        return SIS_E_NOMEM;
    int error = (t->encoding.texts ? text_features : token_features)(t, e);
    if (e->n_words == 0)
        e->error = t->encoding.prompts.items
                       ? "the field of --explain is empty: nothing can be left out"
                   : t->encoding.texts ? "the text has no words"
                                       : "every token is padding (id 0)";
    return error;
}

/* ---- Masks --------------------------------------------------------------------------------- */

/* Set the embedding of masked tokens; NULL: the mean over the vocabulary. */
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
    long id = t->encoding.tokenizer ? sis_tokenizer_find(t->encoding.tokenizer, text) : -1;
    for (size_t i = 0; id < 0 && words && i < sis_vocabulary_size(words); i++)
        if (strcmp(sis_vocabulary_word(words, i), text) == 0)
            id = (long)i;
    if (id < 0 && (!sis__text_whole(text, &id) || id < 0))
        return sis__fail(SIS_E_ARGUMENT, "--mask token:%s: not a word of the %s", text,
                         t->encoding.tokenizer ? "tokenizer" : "model's vocabulary");
    return sis__task_mask_fill(t, (double)id);
}

int sis__task_mask_token(sis_task *t, const char *text) {
    const char *rest;
    double v;
    if (!*text)
        return sis__task_mask_fill(t, SIS_TOKEN_MASK); /* the model's default */
    if (strcmp(text, "embedding-mean") == 0)
        return fill_embedding(t, NULL, 0);
    if (strcmp(text, "zero") == 0)
        return constant_embedding(t, 0);
    if (sis__text_is(text, "value", &rest) && sis__text_number(rest, &v))
        return constant_embedding(t, v);
    if (strcmp(text, "pad") == 0)
        return sis__task_mask_fill(t, t->encoding.padding);
    if (strcmp(text, "remove") == 0)
        return sis__task_mask_fill(t, NAN);
    if (sis__text_is(text, "token", &rest) && *rest)
        return fill_token(t, rest);
    if (sis__mask_is_drawn(text, &rest) && (*rest || t->opt.question.background))
        return SIS_OK;
    if (sis__text_ends_in(text, ".npy"))
        return file_embedding(t, text);
    return sis__fail(
        SIS_E_ARGUMENT,
        "--mask: for token ids, expected embedding-mean, zero, value:V, pad, token:WORD, remove, "
        "FILE.npy (one embedding), hotdeck:FILE or rows:FILE, found \"%s\"",
        text);
}
