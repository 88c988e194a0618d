/* SPDX-License-Identifier: MIT
 *
 * See words.h. A hash table with open addressing over FNV hashes. It has a lock, because operators
 * that make texts (lower case, tokens) run on any thread. The total size of texts is limited.
 */
#include "net/onnx/words.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

typedef struct {
    char *text;
    size_t n;
    uint64_t hash;
} entry;

struct sis__words {
    pthread_mutex_t lock;
    entry *entries;
    size_t n, cap;
    size_t *slots; /* entry + 1; the number of slots is a power of two */
    size_t n_slots;
    size_t bytes;
};

static const size_t max_bytes = (size_t)256 << 20;

sis__words *sis__words_new(void) {
    sis__words *w = SIS_NEW(sis__words, 1);
    if (w)
        pthread_mutex_init(&w->lock, NULL);
    return w;
}

void sis__words_free(sis__words *w) {
    if (!w)
        return;
    for (size_t i = 0; i < w->n; i++)
        free(w->entries[i].text);
    free(w->entries);
    free(w->slots);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static uint64_t hash_of(const unsigned char *s, size_t n) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ s[i]) * 1099511628211u;
    return h ^ (h >> 29);
}

static size_t find_slot(const sis__words *w, const void *text, size_t n, uint64_t hash) {
    size_t i = hash & (w->n_slots - 1);
    for (; w->slots[i]; i = (i + 1) & (w->n_slots - 1)) {
        const entry *e = &w->entries[w->slots[i] - 1];
        if (e->hash == hash && e->n == n && (n == 0 || memcmp(e->text, text, n) == 0))
            break;
    }
    return i;
}

/* Make room for one more entry and keep at least half of the slots empty. */
static int make_room(sis__words *w) {
    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 64;
        entry *entries = (entry *)sis__realloc(w->entries, cap, sizeof *entries);
        if (!entries)
            return SIS_E_NOMEM;
        w->entries = entries;
        w->cap = cap;
    }
    if (w->n_slots > 2 * w->n + 2)
        return SIS_OK;
    size_t n = w->n_slots ? 2 * w->n_slots : 256, *slots = SIS_NEW(size_t, n);
    if (!slots)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < w->n; i++) {
        size_t at = w->entries[i].hash & (n - 1);
        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = i + 1;
    }
    free(w->slots);
    w->slots = slots;
    w->n_slots = n;
    return SIS_OK;
}

static int put(sis__words *w, const void *text, size_t n, int64_t *id) {
    uint64_t hash = hash_of((const unsigned char *)text, n);
    int error = make_room(w);
    if (error)
        return error;
    size_t at = find_slot(w, text, n, hash);
    if (w->slots[at]) {
        *id = (int64_t)w->slots[at] - 1;
        return SIS_OK;
    }
    if (n > max_bytes - w->bytes)
        return sis__fail(SIS_E_UNSUPPORTED, "texts of more than %zu MB", max_bytes >> 20);
    char *copy = SIS_NEW_RAW(char, n + 1);
    if (!copy)
        return SIS_E_NOMEM;
    if (n)
        memcpy(copy, text, n);
    copy[n] = '\0';
    w->entries[w->n] = (entry){.text = copy, .n = n, .hash = hash};
    w->slots[at] = ++w->n;
    w->bytes += n;
    *id = (int64_t)w->n - 1;
    return SIS_OK;
}

int sis__words_put(sis__words *w, const void *text, size_t n, int64_t *id) {
    pthread_mutex_lock(&w->lock);
    int error = put(w, text, n, id);
    pthread_mutex_unlock(&w->lock);
    return error;
}

const char *sis__words_get(sis__words *w, int64_t id, size_t *n) {
    pthread_mutex_lock(&w->lock);
    const entry *e = id >= 0 && (uint64_t)id < w->n ? &w->entries[id] : NULL;
    const char *text = e ? e->text : "";
    *n = e ? e->n : 0;
    pthread_mutex_unlock(&w->lock);
    return text;
}

size_t sis__words_size(sis__words *w) {
    pthread_mutex_lock(&w->lock);
    size_t bytes = w->bytes;
    pthread_mutex_unlock(&w->lock);
    return bytes;
}
