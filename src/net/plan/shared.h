/* SPDX-License-Identifier: MIT
 *
 * The plans of a network, each made once: for full passes, gradients and the heads of walks. A walk
 * over a text needs plans for every length it meets, and the next walk needs the same ones.
 */
#ifndef SIS_NET_PLAN_SHARED_H
#define SIS_NET_PLAN_SHARED_H

#include "net/plan/plan.h"

typedef struct sis__shared_plan {
    const sis__plan *plan;
} sis__shared_plan;

/* Find or make a plan; return it with sis__shared_plan_done(). The spec has one output and no feed
 * that is constant or a sequence. It may also set `one`, `asked`, `batch`, `keep_all`, `gradients`
 * and `params_fixed`. */
int sis__shared_plan_get(const sis_net *net, const sis__plan_spec *spec, sis__shared_plan **out);
void sis__shared_plan_done(sis__shared_plan *p); /* NULL is allowed */

/* The plans of one network, for any number of threads. Some megabytes of unused plans are kept.
 * Clearing drops all; plans in use may then only be returned, because the weights they refer to are
 * gone. */
struct sis__shared_plans *sis__shared_plans_new(void);
void sis__shared_plans_clear(struct sis__shared_plans *all);
void sis__shared_plans_free(struct sis__shared_plans *all);

#endif
