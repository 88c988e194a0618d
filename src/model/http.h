/* SPDX-License-Identifier: MIT
 *
 * Parse answers of the protocols of http.c, without a network, so that a fuzzer can test it.
 */
#ifndef SIS_MODEL_HTTP_H
#define SIS_MODEL_HTTP_H

#include <stddef.h>

typedef enum sis__protocol {
    SIS__PROTOCOL_V2,     /* Open Inference Protocol: KServe, Triton, MLServer */
    SIS__PROTOCOL_V1,     /* TensorFlow Serving, KServe v1 */
    SIS__PROTOCOL_MLFLOW, /* MLflow's /invocations */
} sis__protocol;

/* The request that was sent. */
typedef struct sis__asked {
    sis__protocol protocol;
    const char *output; /* name of the output; NULL: chosen by choose_output */
    size_t rows, sent;  /* number of rows, without and with padding rows */
    size_t number;      /* of the request */
} sis__asked;

/* Read a body (length, followed by a NUL; it may be changed), whose first json_length bytes are
 * JSON (0: all), into scores (rows, *n_outputs). If scores is NULL, only *n_outputs is set. */
int sis__http_read(const sis__asked *asked, char *body, size_t length, size_t json_length,
                   size_t *n_outputs, double *scores);

#endif
