/* SPDX-License-Identifier: MIT
 *
 * See shared.h. A linear list: searching a few hundred plans is fast compared to making one.
 */
#include "net/plan/shared.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/plan/cache.h"
#include "net/plan/net.h"

/* Limits of unused plans: bytes, also as a fraction of the network's size; and number. */
static const size_t min_bytes = (size_t)32 << 20, max_unused = 512;

typedef struct shared {
    sis__shared_plan public; /* first */
    sis__plan *plan;
    struct sis__shared_plans *all; /* NULL: the list was cleared while it was in use */
    sis__feed *feeds;
    sis__plan_spec spec; /* with these feeds; its outputs are not kept */
    int output;
    size_t bytes, users;
    size_t given_back; /* value of `clock` when it was last returned */
    struct shared *next;
} shared;

struct sis__shared_plans {
    pthread_mutex_t lock;
    shared *list;
    size_t unused, bytes; /* of unused plans */
    size_t max_bytes, clock;
};

struct sis__shared_plans *sis__shared_plans_new(void) {
    struct sis__shared_plans *all = SIS_NEW(struct sis__shared_plans, 1);
    if (all)
        pthread_mutex_init(&all->lock, NULL);
    return all;
}

static void shared_free(shared *p) {
    if (p) {
        sis__plan_free(p->plan);
        free(p->feeds);
    }
    free(p);
}

void sis__shared_plans_clear(struct sis__shared_plans *all) {
    for (shared *p = all->list, *next; p; p = next) {
        next = p->next;
        p->all = NULL;
        if (p->users == 0)
            shared_free(p);
    }
    all->list = NULL;
    all->unused = all->bytes = 0;
}

void sis__shared_plans_free(struct sis__shared_plans *all) {
    if (!all)
        return;
    sis__shared_plans_clear(all);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

static int same_feed(const sis__feed *a, const sis__feed *b) {
    return a->value == b->value && a->rank == b->rank && a->elem == b->elem &&
           a->shape_only == b->shape_only &&
           memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

static int serves(const shared *p, const sis__plan_spec *spec) {
    if (p->output != spec->outputs[0] || p->spec.n_feeds != spec->n_feeds ||
        p->spec.one != spec->one || p->spec.asked != spec->asked || p->spec.batch != spec->batch ||
        p->spec.keep_all != spec->keep_all || p->spec.gradients != spec->gradients ||
        p->spec.params_fixed != spec->params_fixed)
        return 0;
    for (size_t i = 0; i < spec->n_feeds; i++)
        if (!same_feed(&p->feeds[i], &spec->feeds[i]))
            return 0;
    return 1;
}

/* Find a plan for this spec and count one more user; NULL: none. Needs the lock. */
static shared *find(struct sis__shared_plans *all, const sis__plan_spec *spec) {
    shared *p = all->list;
    while (p && !serves(p, spec))
        p = p->next;
    if (p && p->users++ == 0) {
        all->unused--;
        all->bytes -= p->bytes;
    }
    return p;
}

/* Approximate size of a plan: folded and packed constants, tensors, steps and their lists. */
static size_t bytes_of(const sis__plan *p) {
    return 2 * p->cost.folded + p->n_tensors * sizeof *p->tensors +
           2 * p->n_steps * sizeof *p->steps;
}

static int make(const sis_net *net, const sis__plan_spec *spec, shared **out) {
    shared *p = *out = SIS_NEW(shared, 1);
    if (!p)
        return SIS_E_NOMEM;
    p->feeds = (sis__feed *)sis__copy(spec->feeds, spec->n_feeds, sizeof *spec->feeds);
    p->spec = *spec;
    p->spec.feeds = p->feeds;
    p->spec.outputs = NULL;
    p->output = spec->outputs[0];
    p->users = 1;
    int error = p->feeds ? sis__plan_new(net, spec, &p->plan) : SIS_E_NOMEM;
    p->public.plan = p->plan;
    p->bytes = !error ? bytes_of(p->plan) : 0;
    return error;
}

int sis__shared_plan_get(const sis_net *net, const sis__plan_spec *spec, sis__shared_plan **out) {
    struct sis__shared_plans *all = sis__cache_plans(net);
    shared *made = NULL;
    *out = NULL;
    pthread_mutex_lock(&all->lock);
    shared *found = find(all, spec);
    pthread_mutex_unlock(&all->lock);
    int error = found ? SIS_OK : make(net, spec, &made);
    if (error) {
        shared_free(made);
        return error;
    }
    if (!found) { /* another thread may have made the same one */
        pthread_mutex_lock(&all->lock);
        found = find(all, spec);
        if (!found) {
            found = made;
            all->max_bytes = min_bytes + sis__net_bytes(net) / 4;
            made->all = all;
            made->next = all->list;
            all->list = made;
            made = NULL;
        }
        pthread_mutex_unlock(&all->lock);
        shared_free(made);
    }
    *out = &found->public;
    return SIS_OK;
}

/* Remove the least recently used plan without users; NULL: all are in use. Needs the lock. */
static shared *oldest_unused(struct sis__shared_plans *all) {
    shared **at = NULL;
    for (shared **p = &all->list; *p; p = &(*p)->next)
        if ((*p)->users == 0 && (!at || (*p)->given_back < (*at)->given_back))
            at = p;
    shared *p = at ? *at : NULL;
    if (p) {
        *at = p->next;
        all->unused--;
        all->bytes -= p->bytes;
    }
    return p;
}

void sis__shared_plan_done(sis__shared_plan *public) {
    shared *p = (shared *)public, *old = NULL;
    struct sis__shared_plans *all = p ? p->all : NULL;
    if (!all) {
        if (p && --p->users == 0)
            shared_free(p);
        return;
    }
    pthread_mutex_lock(&all->lock);
    p->given_back = ++all->clock;
    if (--p->users == 0) {
        all->unused++;
        all->bytes += p->bytes;
    }
    for (shared *one = p; one && (all->unused > max_unused || all->bytes > all->max_bytes);) {
        one = oldest_unused(all);
        if (one) {
            one->next = old;
            old = one;
        }
    }
    pthread_mutex_unlock(&all->lock);
    for (shared *next; old; old = next) {
        next = old->next;
        shared_free(old);
    }
}
