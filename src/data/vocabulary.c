/* SPDX-License-Identifier: MIT
 *
 * Vocabularies: words and their ids. A vocabulary is built by counting words in the same structure
 * and keeping the most frequent.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <sis/data.h>
#include <sis/text.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "data/cell.h"

/* A word of the list. The first of duplicate words counts. */
typedef struct {
    uint32_t name; /* index of its text */
    size_t count;  /* number of occurrences */
} entry;

struct sis_vocabulary {
    sis__names names;
    uint32_t *ids; /* (names.n) the first word with this text */
    size_t ids_room;
    entry *words; /* (n) */
    size_t n, room;
    size_t unknown;
};

enum { WORDS_MAX = 1 << 28 };

/* ---- The table ----------------------------------------------------------------------------- */

const char *sis_vocabulary_word(const sis_vocabulary *v, size_t id) {
    return id < v->n ? sis__names_text(&v->names, v->words[id].name) : NULL;
}

/* The id of a word; SIZE_MAX: none. */
static size_t id_of(const sis_vocabulary *v, const char *word) {
    uint32_t name = sis__names_find(&v->names, word, strlen(word));
    return name == UINT32_MAX ? SIZE_MAX : v->ids[name];
}

/* Append a word; lookup finds the first of duplicates. */
static int append(sis_vocabulary *v, const char *word) {
    uint32_t name = 0;
    size_t known = v->names.n;
    int code = v->n < WORDS_MAX ? SIS_OK : sis__fail(SIS_E_FORMAT, "too many different words");
    if (code == SIS_OK)
        code = sis__reserve(&v->words, &v->room, v->n + 1, sizeof *v->words);
    if (code == SIS_OK)
        code = sis__reserve(&v->ids, &v->ids_room, known + 1, sizeof *v->ids);
    if (code == SIS_OK)
        code = sis__names_add(&v->names, word, strlen(word), &name);
    if (code != SIS_OK)
        return code;
    if (v->names.n > known)
        v->ids[name] = (uint32_t)v->n;
    v->words[v->n++] = (entry){.name = name};
    return SIS_OK;
}

void sis_vocabulary_free(sis_vocabulary *v) {
    if (!v)
        return;
    sis__names_release(&v->names);
    free(v->ids);
    free(v->words);
    free(v);
}

size_t sis_vocabulary_size(const sis_vocabulary *v) {
    return v->n;
}

size_t sis_vocabulary_find(const sis_vocabulary *v, const char *word) {
    size_t id = id_of(v, word);
    return id != SIZE_MAX && id > 0 ? id : v->unknown;
}

/* ---- Building ------------------------------------------------------------------------------ */

static int count_words(sis_vocabulary *v, const sis_words *words) {
    for (size_t k = 0; k < words->n; k++) {
        size_t id = id_of(v, words->items[k].text);
        int code = id == SIZE_MAX ? append(v, words->items[k].text) : SIS_OK;
        if (code != SIS_OK)
            return code;
        v->words[id == SIZE_MAX ? v->n - 1 : id].count++;
    }
    return SIS_OK;
}

static int count_texts(sis_vocabulary *v, const sis_data *texts, const size_t *rows, size_t n) {
    sis_words words = {0};
    int code = SIS_OK;
    for (size_t i = 0; i < n && code == SIS_OK; i++) {
        code = sis_data_words(texts, rows ? rows[i] : i, &words);
        if (code == SIS_OK)
            code = count_words(v, &words);
    }
    sis_words_release(&words);
    return code;
}

/* Names are numbered in the order of their first appearance. */
static int by_frequency(const void *a, const void *b) {
    const entry *x = (const entry *)a, *y = (const entry *)b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->name > y->name) - (x->name < y->name);
}

int sis_vocabulary_build(const sis_data *texts, const size_t *rows, size_t n_rows, size_t max,
                         sis_vocabulary **out) {
    sis_vocabulary *counts = SIS_NEW(sis_vocabulary, 1), *v = SIS_NEW(sis_vocabulary, 1);
    int code = counts && v ? SIS_OK : SIS_E_NOMEM;
    *out = NULL;
    if (code == SIS_OK)
        code = count_texts(counts, texts, rows, rows ? n_rows : sis_data_count(texts));
    if (code == SIS_OK && counts->n == 0)
        code = sis__fail(SIS_E_ARGUMENT, "no vocabulary: the texts have no words");
    if (code == SIS_OK)
        code = append(v, SIS_WORD_PADDING);
    if (code == SIS_OK)
        code = append(v, SIS_WORD_UNKNOWN);
    if (code == SIS_OK) {
        v->unknown = 1;
        qsort(counts->words, counts->n, sizeof *counts->words, by_frequency);
    }
    for (size_t i = 0; code == SIS_OK && i < counts->n && i < max; i++)
        code = append(v, sis_vocabulary_word(counts, i));
    sis_vocabulary_free(counts);
    if (code == SIS_OK)
        *out = v;
    else
        sis_vocabulary_free(v);
    return code;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static int is_unknown(const char *word) {
    static const char *const names[] = {SIS_WORD_UNKNOWN, "<unk>", "<UNK>", "<oov>",
                                        "<OOV>",          "[UNK]", "[unk]"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(names[k], word) == 0)
            return 1;
    return 0;
}

static int add_list(sis_vocabulary *v, const json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        int code = word ? append(v, word)
                        : sis__fail(SIS_E_FORMAT, "vocabulary: entry %zu is not text", i);
        if (code != SIS_OK)
            return code;
        if (i > 0 && !v->unknown && is_unknown(word))
            v->unknown = i;
    }
    return SIS_OK;
}

int sis_vocabulary_parse(const char *json, sis_vocabulary **out) {
    json_error_t error;
    char text[SIS__EXCERPT_SIZE];
    *out = NULL;
    json_t *list = sis__json_load(json, strlen(json), 0, &error);
    if (!list && json_error_code(&error) == json_error_out_of_memory)
        return sis__fail(SIS_E_NOMEM, "out of memory");
    if (!list)
        return sis__fail(SIS_E_FORMAT, "vocabulary: not JSON: %s (byte %d)",
                         sis__cell_excerpt(error.text, text), error.position);
    sis_vocabulary *v = NULL;
    int code = SIS_OK;
    if (!json_is_array(list) || json_array_size(list) < 2)
        code = sis__fail(SIS_E_FORMAT, "vocabulary: expected a JSON list of padding and words");
    else if (!(v = SIS_NEW(sis_vocabulary, 1)))
        code = SIS_E_NOMEM;
    else
        code = add_list(v, list);
    json_decref(list);
    if (code == SIS_OK)
        *out = v;
    else
        sis_vocabulary_free(v);
    return code;
}

int sis_vocabulary_format(const sis_vocabulary *v, char **json) {
    sis__buf b;
    size_t n;
    sis__buf_init(&b);
    for (size_t i = 0; i < v->n; i++) {
        sis__buf_str(&b, i ? "," : "[");
        sis__buf_json(&b, sis_vocabulary_word(v, i));
    }
    sis__buf_str(&b, "]");
    return sis__buf_give(&b, json, &n);
}

/* ---- Encoding ------------------------------------------------------------------------------ */

size_t sis_vocabulary_encode(const sis_vocabulary *v, const sis_words *words, size_t length,
                             double *ids, size_t *word_at) {
    size_t left = length;
    for (size_t k = words->n; k > 0 && left > 0; k--) {
        size_t id = sis_vocabulary_find(v, words->items[k - 1].text);
        if (id == 0)
            continue;
        ids[--left] = (double)id;
        if (word_at)
            word_at[left] = k - 1;
    }
    for (size_t k = 0; k < left; k++) {
        ids[k] = 0;
        if (word_at)
            word_at[k] = SIZE_MAX;
    }
    return length - left;
}
