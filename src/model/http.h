/* SPDX-License-Identifier: MIT
 *
 * Answers of the protocols that http.c speaks, apart from the network: what a fuzzer can reach.
 */
#ifndef SIS_MODEL_HTTP_H
#define SIS_MODEL_HTTP_H

#include <stddef.h>

typedef enum sis__protocol {
    SIS__PROTOCOL_V2,     /* Open Inference Protocol: KServe, Triton, MLServer */
    SIS__PROTOCOL_V1,     /* TensorFlow Serving, KServe v1 */
    SIS__PROTOCOL_MLFLOW, /* MLflow's /invocations */
} sis__protocol;

/* What was asked. */
typedef struct sis__asked {
    sis__protocol protocol;
    const char *output; /* the output that is wanted, by name; NULL: as choose_output says */
    size_t rows, sent;  /* rows asked about, and with those that only fill the tensor */
    size_t number;      /* of the request */
} sis__asked;

/* A body (length, and a NUL behind it; it may be changed), of which the first json_length bytes are
 * JSON (0: all), to scores (rows, *n_outputs). If scores is NULL only learn *n_outputs. */
int sis__http_read(const sis__asked *asked, char *body, size_t length, size_t json_length,
                   size_t *n_outputs, double *scores);

#endif
