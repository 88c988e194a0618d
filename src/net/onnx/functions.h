/* SPDX-License-Identifier: MIT
 *
 * Functions that a model defines itself.
 */
#ifndef SIS_NET_ONNX_FUNCTIONS_H
#define SIS_NET_ONNX_FUNCTIONS_H

struct Onnx__ModelProto;

/* Put the nodes of functions in the place of those that call them, in the document. */
int sis__functions_expand(struct Onnx__ModelProto *doc);

#endif
