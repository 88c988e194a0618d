/* SPDX-License-Identifier: MIT
 *
 * Operators that are others put together: what ONNX Runtime's optimizer and quantiser write.
 */
#ifndef SIS_NET_ONNX_RECIPES_H
#define SIS_NET_ONNX_RECIPES_H

struct Sis__Onnx__Model;

/* Put standard operators in the place of such nodes, in the document. */
int sis__recipes_apply(struct Sis__Onnx__Model *doc);

#endif
