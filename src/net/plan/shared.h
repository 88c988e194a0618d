/* SPDX-License-Identifier: MIT
 *
 * Plans that serve one walk after the other. A walk over a text makes plans for every length that it
 * comes to; so does the next one, for the same lengths.
 */
#ifndef SIS_NET_PLAN_SHARED_H
#define SIS_NET_PLAN_SHARED_H

#include "net/plan/plan.h"

typedef struct sis__shared_plan {
    const sis__plan *plan;
} sis__shared_plan;

/* A plan for this, found or made; to be given back. It has one output, is fed nothing that is constant
 * or a sequence, and says no more than sis__head does (net/walk/head.c). */
int sis__shared_plan_get(const sis_net *net, const sis__plan_spec *spec, sis__shared_plan **out);
void sis__shared_plan_done(sis__shared_plan *p); /* NULL: nothing to do */

/* Those of a network, by any number of threads: some megabytes that nobody uses are kept. Clearing forgets
 * all; those in use can only be given back then, like everything that is made of weights. */
struct sis__shared_plans *sis__shared_plans_new(void);
void sis__shared_plans_clear(struct sis__shared_plans *all);
void sis__shared_plans_free(struct sis__shared_plans *all);

#endif
