/* SPDX-License-Identifier: MIT
 *
 * The inputs of models in ONNX Runtime or on servers: their roles, decided by base/signature.h, and
 * how rows fill their tensors.
 */
#ifndef SIS_MODEL_INPUTS_H
#define SIS_MODEL_INPUTS_H

#include <sis/model.h>
#include <sis/net.h>

#include "base/dims.h"
#include "base/signature.h"
#include "model/values.h"

/* ---- How rows fill a tensor --------------------------------------------------------------------
 *
 * Models declare a shape with free axes; the first axis is usually the batch, but some models take
 * one row without it, or a fixed number of rows. */

enum { SIS__RANK = 16 };

typedef struct sis__shape {
    size_t rank;
    long long dims[SIS__RANK]; /* negative: free */
} sis__shape;

/* Rows of a certain width in a tensor of that shape. */
typedef struct sis__fit {
    size_t rank;
    size_t dims[SIS__RANK]; /* of one row, without the batch axis */
    int batched;            /* the tensor has a batch axis, the first */
    size_t rows;            /* a tensor holds exactly this many; 0: any number */
} sis__fit;

/* Fit rows of n_values values with the shape `declared` (shapes.h). If that is NULL, a free axis takes
 * the rest, several free axes are equal; a first axis that is fixed and not 1 is the batch only if
 * a row cannot fill all axes, as in the engine. SIS_E_ARGUMENT if they do not fit,
 * SIS_E_UNSUPPORTED if the fixed batch is too large; the message names the shape. */
int sis__shape_fit(const sis__shape *s, const sis_net_shape *declared, size_t n_values,
                   sis__fit *out);

/* The shape of one row, 0 for free sizes; rank 0: no batch axis, or a fixed batch. */
void sis__shape_row(const sis__shape *s, sis_net_shape *row);

/* The number of values of a row; 0: not fixed. */
size_t sis__shape_values(const sis__shape *s);

/* "(any, 28, 28)" */
void sis__shape_text(const sis__shape *s, char text[SIS__DIMS_TEXT]);

/* ---- All inputs of a model --------------------------------------------------------------------- */

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
