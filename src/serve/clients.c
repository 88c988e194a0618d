/* SPDX-License-Identifier: MIT
 *
 * Connections of slow clients. libmicrohttpd closes silent ones, but a client that sends a byte now
 * and then would keep its connection forever, and enough of them would lock everybody else out. So
 * a thread closes connections whose request does not arrive in time or whose answer is not read in
 * time. When there are too many connections, in total or from one address, the one that has been
 * sending its request for the longest time is closed. Clients that send and read at normal speed
 * are not affected.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "serve/serve.h"

struct sis__client {
    sis__clients *all;
    int socket, closed;
    uint64_t address;
    enum sis__phase phase;
    double since; /* start of this phase */
    sis__client *before, *next;
};

struct sis__clients {
    size_t max, n;
    double seconds;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t watcher;
    int watching, ending;
    sis__client *first;
};

enum { WRITING_TAKES = 10 }; /* times the seconds allowed for a request: answers are larger */

/* An IPv4 address, or the network of an IPv6 address, because one client may own a whole
 * network. */
static uint64_t address_of(const struct sockaddr *at) {
    uint64_t address = 0;
    if (at && at->sa_family == AF_INET)
        memcpy(&address, &((const struct sockaddr_in *)at)->sin_addr, 4);
    else if (at && at->sa_family == AF_INET6)
        memcpy(&address, &((const struct sockaddr_in6 *)at)->sin6_addr, 8);
    return address;
}

/* Shut the socket down; its owner notices and closes it. */
static void drop(sis__client *c) {
    c->closed = 1;
    shutdown(c->socket, SHUT_RDWR);
}

/* Before adding a connection: drop the slowest if there are too many, from its address or in
 * total. */
static void make_room(sis__clients *all, uint64_t address) {
    sis__client *slowest = NULL, *same = NULL;
    size_t n_same = 0, open = 0;
    for (sis__client *c = all->first; c; c = c->next) {
        int is_same = c->address == address;
        open += !c->closed;
        n_same += !c->closed && is_same;
        if (c->closed || c->phase != SIS__PHASE_READING)
            continue;
        if (!slowest || c->since < slowest->since)
            slowest = c;
        if (is_same && (!same || c->since < same->since))
            same = c;
    }
    if (n_same >= all->max / 2 && same)
        drop(same);
    else if (open >= all->max && slowest)
        drop(slowest);
}

sis__client *sis__clients_add(sis__clients *all, int socket, const struct sockaddr *from) {
    sis__client *c = SIS_NEW(sis__client, 1);
    if (!c)
        return NULL;
    *c = (sis__client){.all = all, .socket = socket, .address = address_of(from)};
    c->since = sis__seconds();
    pthread_mutex_lock(&all->lock);
    if (all->n >= all->max / 2)
        make_room(all, c->address);
    c->next = all->first;
    if (c->next)
        c->next->before = c;
    all->first = c;
    all->n++;
    pthread_cond_signal(&all->changed);
    pthread_mutex_unlock(&all->lock);
    return c;
}

void sis__client_enter(sis__client *c, enum sis__phase phase) {
    if (!c)
        return;
    pthread_mutex_lock(&c->all->lock);
    c->phase = phase;
    c->since = sis__seconds();
    pthread_mutex_unlock(&c->all->lock);
}

void sis__client_remove(sis__client *c) {
    if (!c)
        return;
    sis__clients *all = c->all;
    pthread_mutex_lock(&all->lock);
    if (c->before)
        c->before->next = c->next;
    else
        all->first = c->next;
    if (c->next)
        c->next->before = c->before;
    all->n--;
    pthread_mutex_unlock(&all->lock);
    free(c);
}

static int is_late(const sis__client *c, double now) {
    double seconds = c->all->seconds * (c->phase == SIS__PHASE_WRITING ? WRITING_TAKES : 1);
    return !c->closed && c->phase != SIS__PHASE_ASKING && now - c->since > seconds;
}

static void wait_for(sis__clients *all, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    long more = until.tv_nsec + (long)(1e9 * seconds);
    until.tv_sec += more / 1000000000;
    until.tv_nsec = more % 1000000000;
    pthread_cond_timedwait(&all->changed, &all->lock, &until);
}

static void *watch(void *ctx) {
    sis__clients *all = (sis__clients *)ctx;
    double moment = all->seconds / 8 < 1 ? all->seconds / 8 : 1, looked = 0;
    pthread_mutex_lock(&all->lock);
    while (!all->ending) {
        if (all->n)
            wait_for(all, moment);
        else
            pthread_cond_wait(&all->changed, &all->lock);
        double now = sis__seconds();
        if (now - looked < moment) /* a client has just connected */
            continue;
        looked = now;
        for (sis__client *c = all->first; c; c = c->next)
            if (is_late(c, now))
                drop(c);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

int sis__clients_start(size_t max, double seconds, sis__clients **out) {
    sis__clients *all = *out = SIS_NEW(sis__clients, 1);
    if (!all)
        return SIS_E_NOMEM;
    all->max = max;
    all->seconds = seconds;
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->changed, NULL);
    all->watching = pthread_create(&all->watcher, NULL, watch, all) == 0;
    return all->watching ? SIS_OK : sis__fail(SIS_E_NOMEM, "cannot start threads");
}

void sis__clients_stop(sis__clients *all) {
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    all->ending = 1;
    pthread_cond_signal(&all->changed);
    pthread_mutex_unlock(&all->lock);
    if (all->watching)
        pthread_join(all->watcher, NULL);
    pthread_mutex_destroy(&all->lock);
    pthread_cond_destroy(&all->changed);
    free(all);
}
