/* SPDX-License-Identifier: MIT
 *
 * What a network keeps, shared by all threads that use it: packed weights, what operators made of
 * attributes, plans (shared.h) and row layouts (row_layout.h).
 */
#ifndef SIS_NET_PLAN_CACHE_H
#define SIS_NET_PLAN_CACHE_H

#include "net/plan/context.h"
#include "net/plan/net.h"

struct sis__cache *sis__cache_new(void);
void sis__cache_free(struct sis__cache *c);

struct sis__shared_plans *sis__cache_plans(const sis_net *net);
struct sis__row_layouts *sis__cache_layouts(const sis_net *net);

/* Forget everything derived from weights. */
void sis__cache_clear(struct sis__cache *c);

/* b packed, found or made; for matrices that belong to the document. */
int sis__cache_pack(const sis_net *net, const sis__matrix *b, const float **packed);

/* Is it finite all over, times its alpha? Looked at once for all plans if it has been packed. */
int sis__cache_finite(const sis_net *net, const sis__matrix *b);

/* What an operator made of a node's attributes alone, which is large and the same in every plan. It
 * lives in memory that belongs to `arena`, a plan with nothing else in it. Keeping one takes the arena
 * over, also on failure. NULL: there is none yet. */
typedef struct sis__made {
    const void *node; /* of the document */
    const void *value;
    uint64_t seen; /* attributes that were read for it */
    sis__plan *arena;
} sis__made;
const sis__made *sis__cache_made(const sis_net *net, const void *node);
int sis__cache_keep_made(const sis_net *net, const sis__made *made);

#endif
