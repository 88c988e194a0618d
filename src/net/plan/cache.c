/* SPDX-License-Identifier: MIT
 *
 * See cache.h. The lock protects the lists. It is never held during a computation, so two threads
 * may compute the same entry; one of them is then discarded.
 */
#include "net/plan/cache.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/plan/row_layout.h"
#include "net/plan/shared.h"

enum finiteness { NOT_LOOKED_AT, FINITE, NOT_FINITE };

typedef struct packed_matrix {
    sis__matrix of;
    float *packed;
    enum finiteness values;
    struct packed_matrix *next;
} packed_matrix;

typedef struct kept_made {
    sis__made made;
    struct kept_made *next;
} kept_made;

struct sis__cache {
    pthread_mutex_t lock; /* of the two lists */
    packed_matrix *packed;
    kept_made *made;
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

static void clear_lists(struct sis__cache *c) {
    for (packed_matrix *p = c->packed, *next; p; p = next) {
        next = p->next;
        free(p->packed);
        free(p);
    }
    for (kept_made *m = c->made, *next; m; m = next) {
        next = m->next;
        sis__plan_free(m->made.arena);
        free(m);
    }
    c->packed = NULL;
    c->made = NULL;
}

void sis__cache_clear(struct sis__cache *c) {
    sis__row_layouts_clear(c->layouts); /* layouts return their plans */
    sis__shared_plans_clear(c->plans);
    clear_lists(c);
}

void sis__cache_free(struct sis__cache *c) {
    if (!c)
        return;
    sis__row_layouts_free(c->layouts);
    sis__shared_plans_free(c->plans);
    clear_lists(c);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- Packed weights ------------------------------------------------------------------------- */

static packed_matrix *find_packed(const struct sis__cache *c, const sis__matrix *b) {
    for (packed_matrix *p = c->packed; p; p = p->next)
        if (p->of.at == b->at && p->of.k == b->k && p->of.n == b->n &&
            p->of.transposed == b->transposed && p->of.alpha == b->alpha &&
            p->of.lefts == b->lefts && p->of.rows == b->rows && p->of.run == b->run &&
            p->of.row == b->row && p->of.tiles == b->tiles)
            return p;
    return NULL;
}

int sis__cache_pack(const sis_net *net, const sis__matrix *b, const float **packed) {
    struct sis__cache *c = net->cache;
    pthread_mutex_lock(&c->lock);
    const packed_matrix *found = find_packed(c, b);
    pthread_mutex_unlock(&c->lock);
    if (found) {
        *packed = found->packed;
        return SIS_OK;
    }
    packed_matrix *p = SIS_NEW(packed_matrix, 1);
    float *to = sis__matrix_pack(b);
    if (!p || !to) {
        free(p);
        free(to);
        return SIS_E_NOMEM;
    }
    *p = (packed_matrix){.of = *b, .packed = to};
    pthread_mutex_lock(&c->lock);
    if ((found = find_packed(c, b)) == NULL) {
        p->next = c->packed;
        c->packed = p;
        found = p;
    }
    pthread_mutex_unlock(&c->lock);
    if (found != p) {
        free(p->packed);
        free(p);
    }
    *packed = found->packed;
    return SIS_OK;
}

static int all_finite(const float *x, size_t n, float times) {
    int bad = 0;
    for (size_t i = 0; i < n; i++)
        bad |= !isfinite(times * x[i]);
    return !bad;
}

int sis__cache_finite(const sis_net *net, const sis__matrix *b) {
    struct sis__cache *c = net->cache;
    if (!c)
        return all_finite(b->at, b->k * b->n, b->alpha);
    pthread_mutex_lock(&c->lock);
    packed_matrix *found = find_packed(c, b);
    enum finiteness known = found ? found->values : NOT_LOOKED_AT;
    pthread_mutex_unlock(&c->lock);
    if (known != NOT_LOOKED_AT)
        return known == FINITE;
    known = all_finite(b->at, b->k * b->n, b->alpha) ? FINITE : NOT_FINITE;
    pthread_mutex_lock(&c->lock);
    if ((found = find_packed(c, b)) != NULL)
        found->values = known;
    pthread_mutex_unlock(&c->lock);
    return known == FINITE;
}

/* ---- Tables of operators --------------------------------------------------------------------- */

const sis__made *sis__cache_made(const sis_net *net, const void *node) {
    struct sis__cache *c = net->cache;
    if (!c)
        return NULL;
    pthread_mutex_lock(&c->lock);
    const kept_made *m = c->made;
    while (m && m->made.node != node)
        m = m->next;
    pthread_mutex_unlock(&c->lock);
    return m ? &m->made : NULL;
}

int sis__cache_keep_made(const sis_net *net, const sis__made *made) {
    struct sis__cache *c = net->cache;
    kept_made *m = SIS_NEW(kept_made, 1);
    if (!m) {
        sis__plan_free(made->arena);
        return SIS_E_NOMEM;
    }
    m->made = *made;
    pthread_mutex_lock(&c->lock);
    m->next = c->made; /* two threads may have made the same one: both are in use */
    c->made = m;
    pthread_mutex_unlock(&c->lock);
    return SIS_OK;
}
