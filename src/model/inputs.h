/* SPDX-License-Identifier: MIT
 *
 * The inputs of models in ONNX Runtime or on servers: their roles, decided by base/signature.h, and
 * how rows fill their tensors.
 */
#ifndef SIS_MODEL_INPUTS_H
#define SIS_MODEL_INPUTS_H

#include <sis/model.h>
#include <sis/net.h>

#include "base/signature.h"
#include "model/shape.h"
#include "model/values.h"

typedef struct sis__model_input {
    char *name;
    sis__value_type type;
    sis__shape shape;
    sis__follow follow; /* how it is derived from the row's tokens */
    size_t part, count; /* part of the row: offset and number of values; 0: not a part */
    double *given;      /* constant values; NULL: none */
    size_t n_given;
    sis__shape given_shape;
} sis__model_input;

typedef struct sis__model_inputs {
    sis__model_input *items;
    size_t n, cap;
    size_t main; /* the input that takes the row; n: each takes a part */
} sis__model_inputs;

/* Append an input; the name is copied. */
int sis__inputs_add(sis__model_inputs *s, const char *name, sis__value_type type,
                    const sis__shape *shape);
void sis__inputs_release(sis__model_inputs *s);

/* Assign roles by names, types and the caller's options (opt->explain, opt->with). */
int sis__inputs_assign(sis__model_inputs *s, const sis_model_opt *opt);

/* Number of values of a row if it is fixed; else 0. */
size_t sis__inputs_values(const sis__model_inputs *s);

/* The shape of a row, 0 for free sizes; rank 0: it is cut into parts, or has no known shape. */
void sis__inputs_row(const sis__model_inputs *s, sis_net_shape *row);

/* How rows of n_values, with the shape `declared` unless NULL, fill tensor i. */
int sis__inputs_fit(const sis__model_inputs *s, size_t i, const sis_net_shape *declared,
                    size_t n_values, sis__fit *out);

/* For one row: the number of values of tensor i, and value k of them. */
size_t sis__inputs_count(const sis__fit *fit);
double sis__inputs_value(const sis__model_inputs *s, size_t i, const double *row, size_t n_values,
                         size_t k);

#endif
