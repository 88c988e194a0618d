/* SPDX-License-Identifier: MIT
 *
 * Tensors of which a file holds only the values that are not zero.
 */
#ifndef SIS_NET_ONNX_SPARSE_H
#define SIS_NET_ONNX_SPARSE_H

struct Onnx__ModelProto;

/* Write them out: sparse initializers become initializers, the sparse value of a Constant its value. */
int sis__sparse_expand(struct Onnx__ModelProto *doc);

#endif
