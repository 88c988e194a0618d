/* SPDX-License-Identifier: MIT
 *
 * See cache.h. The lock protects the list. It is never held during a computation, so two threads
 * may compute the same entry; one of them is then discarded.
 */
#include "net/plan/cache.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/kernels/kernels.h"
#include "net/plan/row_layout.h"
#include "net/plan/shared.h"

/* A packed matrix, or data that an operator made (then packed is NULL). */
typedef struct kept {
    sis__matrix of;
    float *packed;
    int finite; /* all values of alpha * b are */
    sis__made made;
    struct kept *next;
} kept;

struct sis__cache {
    pthread_mutex_t lock; /* of the list */
    kept *list;
    struct sis__shared_plans *plans;
    struct sis__row_layouts *layouts;
};

struct sis__cache *sis__cache_new(void) {
    struct sis__cache *c = SIS_NEW(struct sis__cache, 1);
    if (!c)
        return NULL;
    c->plans = sis__shared_plans_new();
    c->layouts = sis__row_layouts_new();
    pthread_mutex_init(&c->lock, NULL);
    if (!c->plans || !c->layouts) {
        sis__cache_free(c);
        return NULL;
    }
    return c;
}

struct sis__shared_plans *sis__cache_plans(const sis_net *net) {
    return net->cache->plans;
}

struct sis__row_layouts *sis__cache_layouts(const sis_net *net) {
    return net->cache->layouts;
}

static void kept_free(kept *k) {
    if (!k)
        return;
    free(k->packed);
    sis__plan_free(k->made.arena);
    free(k);
}

static void clear_list(struct sis__cache *c) {
    for (kept *k = c->list, *next; k; k = next) {
        next = k->next;
        kept_free(k);
    }
    c->list = NULL;
}

void sis__cache_clear(struct sis__cache *c) {
    sis__row_layouts_clear(c->layouts); /* layouts return their plans */
    sis__shared_plans_clear(c->plans);
    clear_list(c);
}

void sis__cache_free(struct sis__cache *c) {
    if (!c)
        return;
    sis__row_layouts_free(c->layouts);
    sis__shared_plans_free(c->plans);
    clear_list(c);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- Packed weights ------------------------------------------------------------------------- */

static const kept *find_packed(const struct sis__cache *c, const sis__matrix *b) {
    for (const kept *p = c->list; p; p = p->next)
        if (p->packed && p->of.at == b->at && p->of.k == b->k && p->of.n == b->n &&
            p->of.transposed == b->transposed && p->of.alpha == b->alpha &&
            p->of.lefts == b->lefts && p->of.rows == b->rows && p->of.run == b->run &&
            p->of.row == b->row && p->of.tiles == b->tiles)
            return p;
    return NULL;
}

static const kept *look_up(struct sis__cache *c, const sis__matrix *b) {
    pthread_mutex_lock(&c->lock);
    const kept *found = find_packed(c, b);
    pthread_mutex_unlock(&c->lock);
    return found;
}

/* Number of weights of a matrix before it is packed. */
static size_t weights_of(const sis__matrix *b) {
    return b->k * b->n * (b->tiles ? SIS__TILE_KERNEL : b->lefts ? b->lefts : 1);
}

static int all_finite(const sis__matrix *b) {
    int bad = 0;
    for (size_t i = 0, n = weights_of(b); i < n; i++)
        bad |= !isfinite(b->alpha * b->at[i]);
    return !bad;
}

int sis__cache_pack(const sis_net *net, const sis__matrix *b, const float **packed) {
    struct sis__cache *c = net->cache;
    const kept *found = look_up(c, b);
    kept *fresh = found ? NULL : SIS_NEW(kept, 1);
    if (!found) {
        if (!fresh || !(fresh->packed = sis__matrix_pack(b))) {
            kept_free(fresh);
            return SIS_E_NOMEM;
        }
        fresh->of = *b;
        fresh->finite = all_finite(b);
        pthread_mutex_lock(&c->lock);
        if ((found = find_packed(c, b)) == NULL) {
            fresh->next = c->list;
            found = c->list = fresh;
            fresh = NULL;
        }
        pthread_mutex_unlock(&c->lock);
        kept_free(fresh);
    }
    *packed = found->packed;
    return SIS_OK;
}

int sis__cache_finite(const sis_net *net, const sis__matrix *b) {
    const kept *found = net->cache ? look_up(net->cache, b) : NULL;
    return found ? found->finite : all_finite(b);
}

/* ---- Tables of operators --------------------------------------------------------------------- */

const sis__made *sis__cache_made(const sis_net *net, const void *node) {
    struct sis__cache *c = net->cache;
    if (!c)
        return NULL;
    pthread_mutex_lock(&c->lock);
    const kept *k = c->list;
    while (k && k->made.node != node)
        k = k->next;
    pthread_mutex_unlock(&c->lock);
    return k ? &k->made : NULL;
}

int sis__cache_keep_made(const sis_net *net, const sis__made *made) {
    struct sis__cache *c = net->cache;
    kept *k = SIS_NEW(kept, 1);
    if (!k) {
        sis__plan_free(made->arena);
        return SIS_E_NOMEM;
    }
    k->made = *made;
    pthread_mutex_lock(&c->lock);
    k->next = c->list; /* two threads may have made the same one: both are in use */
    c->list = k;
    pthread_mutex_unlock(&c->lock);
    return SIS_OK;
}
