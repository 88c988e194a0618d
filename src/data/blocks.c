/* SPDX-License-Identifier: MIT
 *
 * Data sets in blocks. See blocks.h.
 */
#include "data/blocks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/text.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- Marks --------------------------------------------------------------------------------- */

enum { BLOCKS = 32 }; /* in the memory limit: up to this many threads can hold one each */

int sis__marks_add(sis__marks *m, sis__mark at, size_t held) {
    if (m->memory == 0 || (m->n > 0 && held - m->held < m->memory / BLOCKS))
        return 0;
    int error = sis__reserve(&m->items, &m->room, m->n + 1, sizeof *m->items);
    if (error != SIS_OK)
        return error;
    m->items[m->n++] = at;
    m->over |= held > m->memory;
    m->held = m->over ? 0 : held;
    return m->over;
}

/* ---- Blocks -------------------------------------------------------------------------------- */

/* A block in memory. */
typedef struct {
    sis_data *data;
    size_t number, users;
} block;

/* The block that a thread used last. */
typedef struct {
    const void *thread;
    block *now;
} holder;

typedef struct {
    sis_data base;
    sis__data_ops ops;
    sis__reread *from;
    sis__marks marks;
    const sis__blocks_reader *reader;
    void *how;
    pthread_mutex_t lock; /* protects the rest */
    holder *holders;
    size_t n_holders, room;
    atomic_int error; /* of the first block that failed to load */
    char message[256];
    size_t serial; /* unique within the process */
} blocks;

/* The block this thread used last, cached per thread to avoid a lookup. */
typedef struct {
    size_t serial, first, end; /* serial 0: none */
    const sis_data *data;
} view;
static _Thread_local view last;

static void release(block *b) {
    if (b && --b->users == 0) {
        sis_data_free(b->data);
        free(b);
    }
}

/* The block of example i. */
static size_t find_block(const blocks *d, size_t i) {
    size_t low = 0, high = d->marks.n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (d->marks.items[middle].example <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t first_of(const blocks *d, size_t number) {
    return number < d->marks.n ? d->marks.items[number].example : d->base.count;
}

static void keep_error(blocks *d, int error) {
    if (d->error != SIS_OK)
        return;
    d->error = error;
    strncpy(d->message, sis_error_detail(), sizeof d->message - 1);
}

static block *read_block(blocks *d, size_t number) {
    const sis__mark *at = &d->marks.items[number];
    sis__section section = {d->from, at, number + 1 < d->marks.n ? at[1].offset : SIZE_MAX};
    block *b = SIS_NEW(block, 1);
    int error = b ? d->reader->read(d->how, &section, &b->data) : SIS_E_NOMEM;
    if (error == SIS_OK && b->data->count != first_of(d, number + 1) - at->example)
        error = sis__fail(SIS_E_IO, "%s: has changed since it was first read", d->base.name);
    if (error == SIS_OK) {
        b->number = number;
        return b;
    }
    keep_error(d, error);
    if (b)
        sis_data_free(b->data);
    free(b);
    return NULL;
}

/* Find the holder of this thread's block. */
static holder *find_holder(blocks *d) {
    for (size_t k = 0; k < d->n_holders; k++)
        if (d->holders[k].thread == &last)
            return &d->holders[k];
    if (sis__reserve(&d->holders, &d->room, d->n_holders + 1, sizeof *d->holders) != SIS_OK) {
        keep_error(d, SIS_E_NOMEM);
        return NULL;
    }
    d->holders[d->n_holders] = (holder){.thread = &last};
    return &d->holders[d->n_holders++];
}

static block *find_read(const blocks *d, size_t number) {
    for (size_t k = 0; k < d->n_holders; k++)
        if (d->holders[k].now && d->holders[k].now->number == number)
            return d->holders[k].now;
    return NULL;
}

/* Load the block of example *i for this thread. Returns the data set of the block and sets *i to
 * the number of the example in it. NULL: it cannot be read; see d->error. */
static const sis_data *hold(const sis_data *data, size_t *i) {
    blocks *d = (blocks *)data;
    if (last.serial == d->serial && *i >= last.first && *i < last.end) {
        *i -= last.first;
        return last.data;
    }
    size_t number = find_block(d, *i), first = first_of(d, number);
    pthread_mutex_lock(&d->lock);
    holder *h = find_holder(d);
    if (h && (!h->now || h->now->number != number)) {
        release(h->now);
        h->now = NULL;
        block *b = find_read(d, number);
        h->now = b ? b : read_block(d, number);
        if (h->now)
            h->now->users++;
    }
    const sis_data *found = h && h->now ? h->now->data : NULL;
    pthread_mutex_unlock(&d->lock);
    last = (view){found ? d->serial : 0, first, first_of(d, number + 1), found};
    *i -= first;
    return found;
}

/* ---- Operations ---------------------------------------------------------------------------- */

int sis_data_error(const sis_data *data) {
    blocks *d = (blocks *)data;
    if (!data->in_blocks || atomic_load(&d->error) == SIS_OK)
        return SIS_OK;
    pthread_mutex_lock(&d->lock);
    int error = d->error;
    sis_error_set(d->message);
    pthread_mutex_unlock(&d->lock);
    return error;
}

static int get_values(const sis_data *data, size_t i, double *out) {
    const sis_data *b = hold(data, &i);
    return b ? b->ops->values(b, i, out) : sis_data_error(data);
}

static const size_t *get_shape(const sis_data *data, size_t i, size_t *rank) {
    static const size_t any[] = {1, 1, 1};
    const sis_data *b = hold(data, &i);
    *rank = 1;
    return b ? b->ops->shape(b, i, rank) : any;
}

static const char *get_id(const sis_data *data, size_t i) {
    const sis_data *b = hold(data, &i);
    return b ? b->ops->id(b, i) : NULL;
}

static const char *get_label(const sis_data *data, size_t i) {
    const sis_data *b = hold(data, &i);
    return b ? b->ops->label(b, i) : NULL;
}

static const char *get_kept(const sis_data *data, size_t i) {
    const sis_data *b = hold(data, &i);
    return b ? b->ops->kept(b, i) : NULL;
}

static const int *get_human(const sis_data *data, size_t i, size_t *n) {
    const sis_data *b = hold(data, &i);
    return b ? b->ops->human(b, i, n) : NULL;
}

static const char *get_text(const sis_data *data, size_t i) {
    const sis_data *b = hold(data, &i);
    return b ? b->ops->text(b, i) : "";
}

static size_t get_full_length(const sis_data *data, size_t i) {
    const sis_data *b = hold(data, &i);
    return b ? b->ops->full_length(b, i) : 0;
}

static int get_words(const sis_data *data, size_t i, sis_words *words) {
    const sis_data *b = hold(data, &i);
    return b ? b->ops->words(b, i, words) : sis_data_error(data);
}

static void free_blocks(sis_data *data) {
    blocks *d = (blocks *)data;
    for (size_t k = 0; k < d->n_holders; k++)
        release(d->holders[k].now);
    free(d->holders);
    free(d->marks.items);
    sis__reread_free(d->from);
    (d->reader->free ? d->reader->free : free)(d->how);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* ---- Construction -------------------------------------------------------------------------- */

/* Take kind and shape from the first block. */
static int take_kind(blocks *d) {
    size_t i = 0;
    const sis_data *first = hold(&d->base, &i);
    if (!first)
        return sis_data_error(&d->base);
    const sis__data_ops *own = first->ops;
    d->base.kind = first->kind;
    d->ops.kept = own->kept ? get_kept : NULL;
    d->ops.human = own->human ? get_human : NULL;
    d->ops.text = own->text ? get_text : NULL;
    d->ops.words = own->words ? get_words : NULL;
    d->ops.full_length = own->full_length ? get_full_length : NULL;
    return SIS_OK;
}

int sis__blocks_new(sis__source *s, sis__marks *marks, size_t count,
                    const sis__blocks_reader *reader, void *how, sis_data **out) {
    static atomic_size_t made;
    blocks *d = SIS_NEW(blocks, 1);
    char *name = sis__strdup(s->name);
    *out = NULL;
    if (!d || !name) {
        free(d);
        free(name);
        free(marks->items);
        (reader->free ? reader->free : free)(how);
        return SIS_E_NOMEM;
    }
    *d = (blocks){.ops = {.values = get_values,
                          .shape = get_shape,
                          .id = get_id,
                          .label = get_label,
                          .free = free_blocks},
                  .from = sis__source_kept(s),
                  .marks = *marks,
                  .reader = reader,
                  .how = how,
                  .serial = 1 + atomic_fetch_add(&made, 1)};
    d->base = (sis_data){.ops = &d->ops, .name = name, .count = count, .in_blocks = 1};
    pthread_mutex_init(&d->lock, NULL);
    int error = take_kind(d);
    if (error == SIS_OK)
        *out = &d->base;
    else
        sis_data_free(&d->base);
    return error;
}

void sis__blocks_lack(sis_data *data, int ids, int labels, int human) {
    blocks *d = (blocks *)data;
    d->ops.id = ids ? NULL : d->ops.id;
    d->ops.label = labels ? NULL : d->ops.label;
    d->ops.human = human ? NULL : d->ops.human;
}

int sis__blocks_check(const sis_data *data) {
    const blocks *d = (const blocks *)data;
    int error = SIS_OK;
    for (size_t k = 0; error == SIS_OK && k < d->marks.n; k++) {
        size_t i = d->marks.items[k].example;
        error = hold(data, &i) ? SIS_OK : sis_data_error(data);
    }
    return error;
}
