/* SPDX-License-Identifier: MIT
 *
 * External data: tensors whose values are stored in files next to the model.
 */
#ifndef SIS_NET_ONNX_EXTERNAL_H
#define SIS_NET_ONNX_EXTERNAL_H

struct Sis__Onnx__Model;

/* Read all external values into the document. `path` is the model's; only files in its folder and
 * below are read. */
int sis__external_load(struct Sis__Onnx__Model *doc, const char *path);

#endif
