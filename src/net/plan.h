/* SPDX-License-Identifier: MIT
 *
 * What plans and networks know of each other beyond graph.h.
 */
#ifndef SIS_NET_PLAN_H
#define SIS_NET_PLAN_H

#include "net/graph.h"

/* Elements of a tensor at most. */
#define SIS__MAX_COUNT ((size_t)1 << 31)

size_t sis__tensor_bytes(const sis__tensor *t);

/* The node's name for messages. */
const char *sis__node_name(const sis__node *n);

/* Give every tensor its place; fills offset and alias of tensors, arena and scratch. */
int sis__plan_lay_out(sis__plan *p);

/* Memory that is freed with the plan; frees it at once on failure (NULL counts as one). */
int sis__plan_own(sis__plan *p, void *memory);

/* Bytes of all initializers: what limits on derived memory are measured against. */
size_t sis__net_bytes(const sis_net *net);

#endif
