/* SPDX-License-Identifier: MIT
 *
 * Workers with a queue, and one thread that watches them: a request that takes too long, or whose
 * client has gone, has its task cancelled.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "serve/serve.h"

struct sis__pool {
    sis__serving *serving;
    pthread_mutex_t lock;
    pthread_cond_t more, watched;
    sis__job *first, *last; /* that wait */
    size_t waiting;
    sis__job *running;
    int ending;
    size_t n_workers;
    pthread_t *workers, watcher;
    int watching; /* the watcher was started */
};

/* ---- Workers --------------------------------------------------------------------------------- */

static sis__job *take(sis__pool *p) {
    pthread_mutex_lock(&p->lock);
    while (!p->first && !p->ending)
        pthread_cond_wait(&p->more, &p->lock);
    sis__job *job = p->first;
    if (job) {
        p->first = job->next;
        if (!p->first)
            p->last = NULL;
        p->waiting--;
        job->next = p->running;
        p->running = job;
        pthread_cond_signal(&p->watched);
    }
    pthread_mutex_unlock(&p->lock);
    return job;
}

static void leave(sis__pool *p, sis__job *job) {
    pthread_mutex_lock(&p->lock);
    sis__job **at = &p->running;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *ctx) {
    sis__pool *p = (sis__pool *)ctx;
    sis__metrics *m = &p->serving->metrics;
    for (sis__job *job; (job = take(p)) != NULL;) {
        atomic_fetch_sub(&m->waiting, 1);
        atomic_fetch_add(&m->running, 1);
        job->request.lock = &p->lock;
        sis__route(p->serving, &job->request);
        atomic_fetch_sub(&m->running, 1);
        leave(p, job);
        job->done(job);
    }
    return NULL;
}

int sis__pool_put(sis__pool *p, sis__job *job) {
    pthread_mutex_lock(&p->lock);
    int room = p->waiting < p->serving->opt->queue && !p->ending;
    if (room) {
        job->next = NULL;
        if (p->last)
            p->last->next = job;
        else
            p->first = job;
        p->last = job;
        p->waiting++;
        atomic_fetch_add(&p->serving->metrics.waiting, 1);
        pthread_cond_signal(&p->more);
    } else {
        atomic_fetch_add(&p->serving->metrics.counts[SIS__COUNT_REFUSED], 1);
    }
    pthread_mutex_unlock(&p->lock);
    return room;
}

/* ---- The watcher ----------------------------------------------------------------------------- */

/* Has the client closed its side? What it may have sent meanwhile stays where it is. */
static int has_gone(int socket) {
    char byte;
    ssize_t got = socket < 0 ? 1 : recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

static void look(sis__pool *p, sis__job *job, double now) {
    sis__request *r = &job->request;
    sis__metrics *m = &p->serving->metrics;
    if (!r->cut && job->deadline > 0 && now >= job->deadline) {
        r->cut = 1;
        atomic_fetch_add(&m->counts[SIS__COUNT_CUT], 1);
    }
    if (!r->gone && has_gone(job->socket)) {
        r->gone = 1;
        atomic_fetch_add(&m->counts[SIS__COUNT_GONE], 1);
    }
    if (r->task && (r->cut || r->gone))
        sis_task_cancel(r->task);
}

static void wait_a_moment(sis__pool *p) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&p->watched, &p->lock, &until);
}

static void *watch(void *ctx) {
    sis__pool *p = (sis__pool *)ctx;
    pthread_mutex_lock(&p->lock);
    while (!p->ending || p->running || p->first) {
        if (p->running || p->ending)
            wait_a_moment(p);
        else
            pthread_cond_wait(&p->watched, &p->lock);
        for (sis__job *job = p->running; job; job = job->next)
            look(p, job, sis__seconds());
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- Start and stop -------------------------------------------------------------------------- */

int sis__pool_start(sis__serving *s, sis__pool **out) {
    size_t wanted = s->opt->workers ? s->opt->workers : (size_t)sis__cores();
    sis__pool *p = *out = SIS_NEW(sis__pool, 1);
    if (!p)
        return SIS_E_NOMEM;
    p->serving = s;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->more, NULL);
    pthread_cond_init(&p->watched, NULL);
    p->workers = SIS_NEW(pthread_t, wanted);
    while (p->workers && p->n_workers < wanted &&
           pthread_create(&p->workers[p->n_workers], NULL, work, p) == 0)
        p->n_workers++;
    p->watching = p->n_workers > 0 && pthread_create(&p->watcher, NULL, watch, p) == 0;
    if (p->watching)
        return SIS_OK;
    sis__pool_end(p);
    sis__pool_free(p);
    *out = NULL;
    return sis__fail(SIS_E_NOMEM, "no threads to be had");
}

void sis__pool_end(sis__pool *p) {
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->ending = 1;
    pthread_cond_broadcast(&p->more);
    pthread_cond_broadcast(&p->watched);
    pthread_mutex_unlock(&p->lock);
    for (size_t k = 0; k < p->n_workers; k++)
        pthread_join(p->workers[k], NULL);
    if (p->watching)
        pthread_join(p->watcher, NULL);
}

void sis__pool_free(sis__pool *p) {
    if (!p)
        return;
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->more);
    pthread_cond_destroy(&p->watched);
    free(p->workers);
    free(p);
}
