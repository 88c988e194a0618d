/* SPDX-License-Identifier: MIT
 *
 * Distribute work to the threads of this process and put the answers in order. See spread.h.
 */
#include "base/spread.h"

#include <pthread.h>
#include <stdlib.h>

#include <sis/error.h>

#include "base/mem.h"

const sis__processes *sis__processes_now;

int sis__leads(void) {
    return !sis__processes_now || sis__processes_now->leads;
}

size_t sis__queue_next(sis__queue *t, size_t *items, size_t max) {
    return t->next(t, items, max);
}

int sis__queue_answer(sis__queue *t, size_t item, const void *bytes, size_t n) {
    return t->answer(t, item, bytes, n);
}

void sis__queue_close(sis__queue *t) {
    t->close(t);
}

/* ---- Answers --------------------------------------------------------------------------------- */

struct sis__early {
    size_t item, n;
    char *bytes;
};

static void exchange(struct sis__early *a, struct sis__early *b) {
    struct sis__early c = *a;
    *a = *b;
    *b = c;
}

static int keep_early(sis__reorder *d, size_t item, const void *bytes, size_t n) {
    int error = sis__reserve(&d->early, &d->room, d->n_early + 1, sizeof *d->early);
    char *copy = error == SIS_OK ? sis__copy(bytes, n, 1) : NULL;
    if (!copy)
        return SIS_E_NOMEM;
    size_t at = d->n_early++;
    d->early[at] = (struct sis__early){item, n, copy};
    for (; at > 0 && d->early[(at - 1) / 2].item > item; at = (at - 1) / 2)
        exchange(&d->early[at], &d->early[(at - 1) / 2]);
    return SIS_OK;
}

static void drop_top(sis__reorder *d) {
    free(d->early[0].bytes);
    d->early[0] = d->early[--d->n_early];
    for (size_t at = 0, smallest; at < d->n_early; at = smallest) {
        smallest = at;
        for (size_t k = 2 * at + 1; k <= 2 * at + 2 && k < d->n_early; k++)
            smallest = d->early[k].item < d->early[smallest].item ? k : smallest;
        if (smallest == at)
            break;
        exchange(&d->early[at], &d->early[smallest]);
    }
}

static int take(sis__reorder *d, size_t item, const void *bytes, size_t n) {
    d->taken++;
    return d->work->take(d->work->ctx, item, bytes, n);
}

static size_t wanted(const sis__reorder *d) {
    return d->work->which ? d->work->which[d->taken] : d->taken;
}

int sis__reorder_put(sis__reorder *d, size_t item, const void *bytes, size_t n) {
    if (d->work->ordered && item != wanted(d))
        return keep_early(d, item, bytes, n);
    int error = take(d, item, bytes, n);
    while (error == SIS_OK && d->n_early > 0 && d->early[0].item == wanted(d)) {
        error = take(d, d->early[0].item, d->early[0].bytes, d->early[0].n);
        drop_top(d);
    }
    return error;
}

void sis__reorder_release(sis__reorder *d) {
    for (size_t i = 0; i < d->n_early; i++)
        free(d->early[i].bytes);
    free(d->early);
    *d = (sis__reorder){0};
}

/* ---- One process ----------------------------------------------------------------------------- */

typedef struct {
    sis__queue base;
    const sis__work *work;
    sis__reorder reorder;
    size_t given;
    int error; /* take() has returned an error */
    pthread_mutex_t lock;
} here;

static size_t next_here(sis__queue *t, size_t *items, size_t max) {
    here *h = (here *)t;
    const sis__work *w = h->work;
    size_t n = 0;
    pthread_mutex_lock(&h->lock);
    for (; h->error == SIS_OK && n < max && h->given < w->n; n++, h->given++)
        items[n] = w->which ? w->which[h->given] : h->given;
    pthread_mutex_unlock(&h->lock);
    return n;
}

static int answer_here(sis__queue *t, size_t item, const void *bytes, size_t n) {
    here *h = (here *)t;
    pthread_mutex_lock(&h->lock);
    if (h->error == SIS_OK)
        h->error = sis__reorder_put(&h->reorder, item, bytes, n);
    int error = h->error;
    pthread_mutex_unlock(&h->lock);
    return error;
}

static void close_here(sis__queue *t) {
    here *h = (here *)t;
    pthread_mutex_lock(&h->lock);
    h->given = h->work->n;
    pthread_mutex_unlock(&h->lock);
}

int sis__spread(const sis__work *w) {
    if (sis__processes_now)
        return sis__processes_now->spread(w);
    here h = {.base = {next_here, answer_here, close_here}, .work = w, .reorder.work = w};
    pthread_mutex_init(&h.lock, NULL);
    int error = w->work(w->ctx, &h.base);
    sis__reorder_release(&h.reorder);
    pthread_mutex_destroy(&h.lock);
    return error;
}
