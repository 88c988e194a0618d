/* SPDX-License-Identifier: MIT
 *
 * Tensors whose values lie in files beside the model.
 */
#ifndef SIS_NET_ONNX_EXTERNAL_H
#define SIS_NET_ONNX_EXTERNAL_H

struct Sis__Onnx__Model;

/* Read them all into the document, as if they had been inside. `path` is the model's. Files are
 * looked for in its folder and below, nowhere else. */
int sis__external_load(struct Sis__Onnx__Model *doc, const char *path);

#endif
