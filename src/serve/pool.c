/* SPDX-License-Identifier: MIT
 *
 * The thread pool: workers, a queue for each model, and a watcher thread. The watcher cancels the
 * task of a request that exceeds its deadline or whose client has disconnected. It also answers
 * requests whose deadline passes while they wait.
 *
 * A slow model must not block the others. Each model has a lane with its own queue, and one more
 * lane serves requests without a model. There are --workers threads plus one for each further lane,
 * so that a thread is always left for every idle lane.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "serve/serve.h"

/* The lane of a model. */
typedef struct {
    sis__job *first, *last; /* waiting */
    size_t waiting, running;
    size_t max; /* maximum number running */
} lane;

struct sis__pool {
    sis__serving *serving;
    pthread_mutex_t lock;
    pthread_cond_t more, watched;
    lane *lanes;            /* (n_lanes) the last one is for requests without a model */
    size_t n_lanes, unused; /* lanes that run nothing */
    size_t idle;            /* workers */
    size_t tickets, waiting;
    sis__job *running;
    int ending;
    size_t n_workers;
    pthread_t *workers, watcher;
    int watching; /* the watcher was started */
};

/* ---- Lanes ----------------------------------------------------------------------------------- */

static void append(sis__pool *p, sis__job *job) {
    lane *l = &p->lanes[job->lane];
    job->ticket = p->tickets++;
    job->next = NULL;
    if (l->last)
        l->last->next = job;
    else
        l->first = job;
    l->last = job;
    l->waiting++;
    p->waiting++;
    atomic_fetch_add(&p->serving->metrics.waiting, 1);
}

static sis__job *remove_first(sis__pool *p, lane *l) {
    sis__job *job = l->first;
    l->first = job->next;
    if (!l->first)
        l->last = NULL;
    l->waiting--;
    p->waiting--;
    atomic_fetch_sub(&p->serving->metrics.waiting, 1);
    return job;
}

/* May an idle worker take the next request of this lane? A lane that already runs something leaves
 * a worker for each lane that runs nothing. */
static int may_run(const sis__pool *p, const lane *l) {
    return l->first && l->running < l->max && (l->running == 0 || p->idle > p->unused);
}

/* The lane whose next request arrived first. NULL: nothing may run. */
static lane *choose(const sis__pool *p) {
    lane *best = NULL;
    for (size_t k = 0; k < p->n_lanes; k++) {
        lane *l = &p->lanes[k];
        if (may_run(p, l) && (!best || l->first->ticket < best->first->ticket))
            best = l;
    }
    return best;
}

/* ---- Workers --------------------------------------------------------------------------------- */

static sis__job *take(sis__pool *p) {
    sis__job *job = NULL;
    lane *l;
    pthread_mutex_lock(&p->lock);
    p->idle++;
    while (!(l = choose(p)) && !(p->ending && p->waiting == 0))
        pthread_cond_wait(&p->more, &p->lock);
    if (l) {
        p->idle--;
        p->unused -= l->running++ == 0;
        job = remove_first(p, l);
        job->next = p->running;
        p->running = job;
        pthread_cond_signal(&p->watched);
    }
    if (p->ending && p->waiting == 0)
        pthread_cond_broadcast(&p->more); /* wake the other workers: no more requests will come */
    pthread_mutex_unlock(&p->lock);
    return job;
}

static void leave(sis__pool *p, sis__job *job) {
    pthread_mutex_lock(&p->lock);
    sis__job **at = &p->running;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    p->unused += --p->lanes[job->lane].running == 0;
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *ctx) {
    sis__pool *p = (sis__pool *)ctx;
    sis__metrics *m = &p->serving->metrics;
    for (sis__job *job; (job = take(p)) != NULL;) {
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
    job->lane = sis__route_model(p->serving, &job->request);
    pthread_mutex_lock(&p->lock);
    int room = p->lanes[job->lane].waiting < p->serving->opt->queue && !p->ending;
    if (room) {
        append(p, job);
        pthread_cond_signal(&p->more);
        pthread_cond_signal(&p->watched);
    } else {
        atomic_fetch_add(&p->serving->metrics.counts[SIS__COUNT_REFUSED], 1);
    }
    pthread_mutex_unlock(&p->lock);
    return room;
}

/* ---- The watcher ----------------------------------------------------------------------------- */

/* Has the client closed its side? Data that it has sent since stay unread. */
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

/* Remove expired requests; queues are ordered by deadline. */
static sis__job *expire(sis__pool *p, double now) {
    sis__job *late = NULL;
    for (size_t k = 0; k < p->n_lanes; k++) {
        lane *l = &p->lanes[k];
        while (l->first && l->first->deadline > 0 && now >= l->first->deadline) {
            sis__job *job = remove_first(p, l);
            job->next = late;
            late = job;
        }
    }
    return late;
}

/* Called without the lock, because it resumes connections. */
static void answer_late(sis__pool *p, sis__job *late) {
    for (sis__job *next; late; late = next) {
        next = late->next;
        late->request.cut = 1;
        atomic_fetch_add(&p->serving->metrics.counts[SIS__COUNT_CUT], 1);
        sis__request_fail(&late->request, 503,
                          "the request waited longer than the server's time limit; try "
                          "again later");
        late->request.retry = 1;
        late->done(late);
    }
}

static void *watch(void *ctx) {
    sis__pool *p = (sis__pool *)ctx;
    pthread_mutex_lock(&p->lock);
    while (!p->ending || p->running || p->waiting) {
        if (p->running || p->waiting || p->ending)
            wait_a_moment(p);
        else
            pthread_cond_wait(&p->watched, &p->lock);
        double now = sis__seconds();
        for (sis__job *job = p->running; job; job = job->next)
            look(p, job, now);
        sis__job *late = expire(p, now);
        if (!late)
            continue;
        pthread_cond_broadcast(&p->more); /* workers may have nothing left to wait for */
        pthread_mutex_unlock(&p->lock);
        answer_late(p, late);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- Start and stop -------------------------------------------------------------------------- */

static int open_lanes(sis__pool *p, size_t workers) {
    const sis__serving *s = p->serving;
    size_t n = s->opt->n_models + 1;
    p->lanes = SIS_NEW(lane, n);
    for (size_t k = 0; p->lanes && k < n; k++)
        p->lanes[k].max = k + 1 < n && s->models[k]->one_by_one ? 1 : workers;
    p->n_lanes = p->unused = p->lanes ? n : 0;
    return p->lanes != NULL;
}

int sis__pool_start(sis__serving *s, sis__pool **out) {
    size_t workers = s->opt->workers ? s->opt->workers : (size_t)sis__cores();
    size_t wanted = workers + s->opt->n_models;
    sis__pool *p = *out = SIS_NEW(sis__pool, 1);
    if (!p)
        return SIS_E_NOMEM;
    p->serving = s;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->more, NULL);
    pthread_cond_init(&p->watched, NULL);
    p->workers = open_lanes(p, workers) ? SIS_NEW(pthread_t, wanted) : NULL;
    while (p->workers && p->n_workers < wanted &&
           pthread_create(&p->workers[p->n_workers], NULL, work, p) == 0)
        p->n_workers++;
    p->watching = p->n_workers == wanted && pthread_create(&p->watcher, NULL, watch, p) == 0;
    if (p->watching)
        return SIS_OK;
    sis__pool_end(p);
    sis__pool_free(p);
    *out = NULL;
    return sis__fail(SIS_E_NOMEM, "cannot start threads");
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
    free(p->lanes);
    free(p->workers);
    free(p);
}
