/* SPDX-License-Identifier: MIT
 *
 * Inside of the network object that only its own files need.
 */
#ifndef SIS_NET_NET_H
#define SIS_NET_NET_H

#include "net/graph.h"

struct Onnx__GraphProto;

/* Make a network of a document, which belongs to it (or is freed) afterwards. */
int sis__net_adopt(struct Onnx__ModelProto *doc, sis_net **out);

/* Read the graph again after the document has changed; on failure nothing has happened. */
int sis__net_reload(sis_net *net);

/* Value of parameter i, or -1. */
int sis__net_param(const sis_net *net, size_t i);

/* A plan for one row of a network whose rows have one length, each result kept apart. */
int sis__net_plan_row(const sis_net *net, struct sis__plan **plan);

/* Append an initializer. elem_type 1: float, 7: int64. */
int sis__document_add_tensor(struct Onnx__GraphProto *g, const char *name, int elem_type,
                             const sis_net_shape *shape, const void *values);

#endif
