/* SPDX-License-Identifier: MIT
 *
 * Tensors of which a file holds only the values that are not zero.
 */
#ifndef SIS_NET_ONNX_SPARSE_H
#define SIS_NET_ONNX_SPARSE_H

struct Sis__Onnx__Model;

/* Write them out: sparse initializers become initializers, the sparse value of a Constant its value. */
int sis__sparse_expand(struct Sis__Onnx__Model *doc);

#endif
