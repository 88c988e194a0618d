/* SPDX-License-Identifier: MIT
 *
 * A worker process. The command's work runs in its own thread (which starts more, as in the plain
 * program), so that the communicating thread never blocks and only one thread calls MPI.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sis/error.h>

#include "base/error.h"
#include "base/mem.h"
#include "spread.h"

/* ---- Functions for the work ------------------------------------------------------------------ */

static size_t next(sis__queue *t, size_t *items, size_t max) {
    pool *c = (pool *)t;
    size_t n = 0;
    pthread_mutex_lock(&c->lock);
    while (c->n_items == 0 && !c->closed)
        pthread_cond_wait(&c->more, &c->lock);
    for (; n < max && c->n_items > 0; n++, c->n_items--)
        items[n] = c->items[c->first++];
    if (c->n_items == 0) {
        c->first = 0;
        pthread_cond_signal(&c->done); /* for the thread that fetches more */
    }
    pthread_mutex_unlock(&c->lock);
    return n;
}

static int answer(sis__queue *t, size_t thing, const void *bytes, size_t n) {
    static const char zeros[8];
    pool *c = (pool *)t;
    pthread_mutex_lock(&c->lock);
    sis__buf_add(&c->answers, &thing, sizeof thing);
    sis__buf_add(&c->answers, &n, sizeof n);
    sis__buf_add(&c->answers, bytes, n);
    sis__buf_add(&c->answers, zeros, (8 - n % 8) % 8);
    c->n_answers++;
    int error = sis__buf_error(&c->answers);
    pthread_cond_signal(&c->done);
    pthread_mutex_unlock(&c->lock);
    return error;
}

static void close_queue(sis__queue *t) {
    pool *c = (pool *)t;
    pthread_mutex_lock(&c->lock);
    c->closed = 1;
    c->n_items = c->first = 0;
    pthread_cond_broadcast(&c->more);
    pthread_mutex_unlock(&c->lock);
}

static void *run(void *ctx) {
    pool *c = ctx;
    int error = c->work->work(c->work->ctx, &c->base);
    pthread_mutex_lock(&c->lock);
    c->error = error;
    if (error)
        snprintf(c->message, sizeof c->message, "%s", sis_error_detail());
    c->finished = 1;
    pthread_cond_signal(&c->done);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- Functions for the communicating thread -------------------------------------------------- */

int pool_start(pool *c, const sis__work *w) {
    *c = (pool){.base = {next, answer, close_queue}, .work = w};
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    pthread_cond_init(&c->done, &steady);
    pthread_condattr_destroy(&steady);
    sis__buf_init(&c->answers);
    return pthread_create(&c->thread, NULL, run, c) == 0
               ? SIS_OK
               : sis__fail(SIS_E_NOMEM, "cannot start a thread");
}

int pool_put(pool *c, const size_t *items, size_t n) {
    pthread_mutex_lock(&c->lock);
    int error = sis__reserve(&c->items, &c->room, c->first + c->n_items + n, sizeof *items);
    if (error == SIS_OK && !c->closed) {
        memcpy(c->items + c->first + c->n_items, items, n * sizeof *items);
        c->n_items += n;
        pthread_cond_broadcast(&c->more);
    }
    pthread_mutex_unlock(&c->lock);
    return error;
}

static struct timespec from_now(double seconds) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    long long nano = t.tv_nsec + (long long)(seconds * 1e9);
    t.tv_sec += (time_t)(nano / 1000000000);
    t.tv_nsec = (long)(nano % 1000000000);
    return t;
}

size_t pool_take(pool *c, sis__buf *out, double seconds) {
    struct timespec until = from_now(seconds);
    sis__buf_clear(out);
    pthread_mutex_lock(&c->lock);
    if (c->n_answers == 0 && !c->finished && seconds > 0)
        pthread_cond_timedwait(&c->done, &c->lock, &until);
    size_t n = c->n_answers;
    sis__buf swap = *out;
    *out = c->answers;
    c->answers = swap;
    c->n_answers = 0;
    pthread_mutex_unlock(&c->lock);
    return n;
}

size_t pool_waiting(pool *c) {
    pthread_mutex_lock(&c->lock);
    size_t n = c->n_items;
    pthread_mutex_unlock(&c->lock);
    return n;
}

int pool_failed(pool *c, char message[512]) {
    pthread_mutex_lock(&c->lock);
    int error = c->finished ? c->error : SIS_OK;
    if (error != SIS_OK)
        memcpy(message, c->message, sizeof c->message);
    pthread_mutex_unlock(&c->lock);
    return error;
}

void pool_end(pool *c) {
    pthread_mutex_lock(&c->lock);
    c->closed = 1;
    pthread_cond_broadcast(&c->more);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    free(c->items);
    sis__buf_release(&c->answers);
    pthread_cond_destroy(&c->done);
    pthread_cond_destroy(&c->more);
    pthread_mutex_destroy(&c->lock);
}

int pool_each(const char *bytes, size_t n,
              int (*take)(void *ctx, size_t thing, const void *bytes, size_t n), void *ctx) {
    int error = SIS_OK;
    for (size_t at = 0; error == SIS_OK && at < n;) {
        size_t head[2]; /* thing, length */
        memcpy(head, bytes + at, sizeof head);
        at += sizeof head;
        error = take(ctx, head[0], bytes + at, head[1]);
        at += (head[1] + 7) / 8 * 8;
    }
    return error;
}
