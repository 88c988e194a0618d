/* SPDX-License-Identifier: MIT
 *
 * Parallel for over a shared counter. The cost of items differs by orders of magnitude (one example
 * has one subset, the next has nine), so each thread takes the next item when it is done instead of
 * a fixed share.
 */
#include "base/parallel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

typedef struct {
    sis__parallel_fn fn;
    void *ctx;
    size_t n, next;     /* next item to start */
    size_t failed;      /* lowest item that failed, n if none */
    int result;         /* its result */
    char message[1024]; /* its message */
    pthread_mutex_t lock;
} run;

typedef struct {
    run *run;
    int worker;
    pthread_t thread;
} worker;

static void *work(void *arg) {
    worker *w = (worker *)arg;
    run *r = w->run;
    for (;;) {
        pthread_mutex_lock(&r->lock);
        size_t item = r->failed < r->n ? r->n : r->next;
        if (item < r->n)
            r->next++;
        pthread_mutex_unlock(&r->lock);
        if (item >= r->n)
            return NULL;
        int result = r->fn(r->ctx, item, w->worker);
        if (result == 0)
            continue;
        pthread_mutex_lock(&r->lock);
        if (item < r->failed) {
            r->failed = item;
            r->result = result;
            strncpy(r->message, sis_error_detail(), sizeof r->message - 1);
        }
        pthread_mutex_unlock(&r->lock);
    }
}

int sis__parallel(int jobs, size_t n, sis__parallel_fn fn, void *ctx) {
    run r = {.fn = fn, .ctx = ctx, .n = n, .failed = n};
    pthread_mutex_init(&r.lock, NULL);
    int threads = jobs > 1 && n > 1 ? ((size_t)jobs > n ? (int)n : jobs) - 1 : 0, started = 0;
    worker self = {.run = &r}, *others = threads ? SIS_NEW(worker, (size_t)threads) : NULL;
    for (; others && started < threads; started++) {
        others[started] = (worker){.run = &r, .worker = started + 1};
        if (pthread_create(&others[started].thread, NULL, work, &others[started]) != 0)
            break;
    }
    work(&self);
    for (int i = 0; i < started; i++)
        pthread_join(others[i].thread, NULL);
    free(others);
    pthread_mutex_destroy(&r.lock);
    if (r.result != 0)
        sis_error_set(r.message);
    return r.result;
}
