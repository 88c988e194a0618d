/* SPDX-License-Identifier: MIT
 *
 * ONNX Runtime, if it is on this machine: what network.c needs of it for files that our own engine
 * refuses.
 */
#ifndef SIS_MODEL_ORT_H
#define SIS_MODEL_ORT_H

#include <sis/model.h>

/* Open FILE or FILE#OUTPUT. `note`: what sis_model_note() will say, or NULL. */
int sis__ort_open(const char *spec, const sis_model_opt *opt, const char *note, sis_model *out);

#endif
