/* SPDX-License-Identifier: MIT
 *
 * The cache of a network, shared by all threads that use it: packed weights, tables that operators
 * build from attributes, plans (shared.h) and row layouts (row_layout.h).
 */
#ifndef SIS_NET_PLAN_CACHE_H
#define SIS_NET_PLAN_CACHE_H

#include "net/plan/context.h"
#include "net/plan/net.h"

struct sis__cache *sis__cache_new(void);
void sis__cache_free(struct sis__cache *c);

struct sis__shared_plans *sis__cache_plans(const sis_net *net);
struct sis__row_layouts *sis__cache_layouts(const sis_net *net);

/* Drop everything that depends on weights. */
void sis__cache_clear(struct sis__cache *c);

/* Pack b, or return it from the cache; for matrices that belong to the document. */
int sis__cache_pack(const sis_net *net, const sis__matrix *b, const float **packed);

/* Are all values of alpha * b finite? Computed once for all plans if b is packed. */
int sis__cache_finite(const sis_net *net, const sis__matrix *b);

/* Large data that an operator builds from a node's attributes alone, the same in every plan. Its
 * memory belongs to `arena`, a plan that contains nothing else. sis__cache_keep_made() takes
 * ownership of the arena, even on failure. sis__cache_made() returns NULL if there is none yet. */
typedef struct sis__made {
    const void *node; /* points into the document */
    const void *value;
    uint64_t seen; /* attributes that were read to build it */
    sis__plan *arena;
} sis__made;
const sis__made *sis__cache_made(const sis_net *net, const void *node);
int sis__cache_keep_made(const sis_net *net, const sis__made *made);

#endif
