/* SPDX-License-Identifier: MIT
 *
 * ONNX Runtime, if it is on this machine: what network.c needs of it for files that our own engine
 * refuses.
 */
#ifndef SIS_MODEL_ORT_H
#define SIS_MODEL_ORT_H

#include <sis/model.h>

/* Open a file. `note`: what sis_model_note() will say, or NULL. */
int sis__ort_open(const char *path, const sis_model_opt *opt, const char *note, sis_model *out);

#endif
