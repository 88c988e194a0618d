/* SPDX-License-Identifier: MIT
 *
 * Functions that a model defines itself.
 */
#ifndef SIS_NET_LOWER_FUNCTIONS_H
#define SIS_NET_LOWER_FUNCTIONS_H

struct Sis__Onnx__Model;

/* Put the nodes of functions in the place of those that call them, in the document. */
int sis__functions_expand(struct Sis__Onnx__Model *doc);

#endif
