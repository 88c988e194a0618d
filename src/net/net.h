/* SPDX-License-Identifier: MIT
 *
 * Inside of the network object that only its own files need.
 */
#ifndef SIS_NET_NET_H
#define SIS_NET_NET_H

#include "net/graph.h"

/* Make a network of a document, which belongs to it (or is freed) afterwards. */
int sis__net_adopt(struct Onnx__ModelProto *doc, sis_net **out);

#endif
