/* SPDX-License-Identifier: MIT
 *
 * ONNX Runtime, if it is installed: for network.c, when the engine does not support a file.
 */
#ifndef SIS_MODEL_ORT_H
#define SIS_MODEL_ORT_H

#include <sis/model.h>

/* Open FILE or FILE#OUTPUT. `note`: the text of sis_model_note(), or NULL. */
int sis__ort_open(const char *spec, const sis_model_opt *opt, const char *note, sis_model *out);

#endif
