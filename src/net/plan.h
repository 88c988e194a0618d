/* SPDX-License-Identifier: MIT
 *
 * What plans and networks know of each other beyond graph.h.
 */
#ifndef SIS_NET_PLAN_H
#define SIS_NET_PLAN_H

#include "net/graph.h"

/* Memory that is freed with the plan; frees it at once on failure (NULL counts as one). */
int sis__plan_own(sis__plan *p, void *memory);

/* Bytes of all initializers: what limits on derived memory are measured against. */
size_t sis__net_bytes(const sis_net *net);

#endif
