/* SPDX-License-Identifier: MIT
 *
 * The plans of a network, each made once: for full passes, gradients and the heads of walks. A walk over
 * a text makes plans for every length that it comes to, and the next walk needs the same ones.
 */
#ifndef SIS_NET_PLAN_SHARED_H
#define SIS_NET_PLAN_SHARED_H

#include "net/plan/plan.h"

typedef struct sis__shared_plan {
    const sis__plan *plan;
} sis__shared_plan;

/* A plan for this, found or made; to be given back. The spec has one output and no feed that is constant
 * or a sequence. Beside these it may set `one`, `asked`, `batch`, `keep_all`, `gradients` and
 * `params_fixed`. */
int sis__shared_plan_get(const sis_net *net, const sis__plan_spec *spec, sis__shared_plan **out);
void sis__shared_plan_done(sis__shared_plan *p); /* NULL: nothing to do */

/* Those of a network, by any number of threads: some megabytes that nobody uses are kept. Clearing forgets
 * all; those in use can only be given back then, like everything that is made of weights. */
struct sis__shared_plans *sis__shared_plans_new(void);
void sis__shared_plans_clear(struct sis__shared_plans *all);
void sis__shared_plans_free(struct sis__shared_plans *all);

#endif
