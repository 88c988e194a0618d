/* SPDX-License-Identifier: MIT
 *
 * Where floats of 16 bits are rounded.
 */
#ifndef SIS_NET_ONNX_SHORTEN_H
#define SIS_NET_ONNX_SHORTEN_H

#include "net/onnx/graph.h"

/* Put nodes that round (Shorten) into the graph and its bodies. A graph without floats of 16 bits
 * stays as it is. */
int sis__graph_shorten(sis__graph *g);

#endif
