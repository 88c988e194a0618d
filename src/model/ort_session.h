/* SPDX-License-Identifier: MIT
 *
 * A file in ONNX Runtime: cut, opened as a session, its inputs and its output found.
 */
#ifndef SIS_MODEL_ORT_SESSION_H
#define SIS_MODEL_ORT_SESSION_H

#include <sis/model.h>
#include <sis/net.h>

#include "model/inputs.h"
#include "model/ort_library.h"

enum { SIS__ORT_MAX_INPUTS = 256 };
enum { SIS__ORT_TENSOR = 1, SIS__ORT_SEQUENCE = 2 }; /* ONNXType */

/* Shared by all handles of an opened file. */
typedef struct sis__ort_network {
    char *path;
    sis_net *document; /* metadata and labels; NULL: the file could not be read here */
    sis_net_cut cut;   /* zeroed without a document; its bytes are freed */
    ort_session *session;
    char *output;              /* the library's own string */
    sis__model_inputs inputs;  /* without the one for embeddings */
    sis__value_type embedding; /* type of the input cut.embedded */
} sis__ort_network;

/* output: its name; NULL: the first of floating point, else the first of numbers. */
int sis__ort_network_open(const char *path, const char *output, const sis_model_opt *opt,
                          sis__ort_network **out);
void sis__ort_network_free(sis__ort_network *net);

#endif
