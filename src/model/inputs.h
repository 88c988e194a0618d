/* SPDX-License-Identifier: MIT
 *
 * The inputs of models elsewhere (ONNX Runtime, servers): what base/signature.h makes of them, and how
 * rows fill their tensors.
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
    sis__follow follow; /* of the row's tokens */
    size_t part, count; /* a part of the row: where it begins, how many values; 0: not a part */
    double *given;      /* its values, whatever the row; NULL: none are given */
    size_t n_given;
    sis__shape given_shape;
} sis__model_input;

typedef struct sis__model_inputs {
    sis__model_input *items;
    size_t n, cap;
    size_t main; /* the one that takes the row; n: each takes a part */
} sis__model_inputs;

/* One more; the name is copied. */
int sis__inputs_add(sis__model_inputs *s, const char *name, sis__value_type type,
                    const sis__shape *shape);
void sis__inputs_release(sis__model_inputs *s);

/* Who is who, by names, types and what the caller says (opt->explain, opt->with). */
int sis__inputs_settle(sis__model_inputs *s, const sis_model_opt *opt);

/* Values of a row, if only one number fits; else 0. */
size_t sis__inputs_values(const sis__model_inputs *s);

/* What a row looks like, 0 for free sizes; no axes: it is cut into parts, or sis__shape_row does not say. */
void sis__inputs_row(const sis__model_inputs *s, sis_net_shape *row);

/* How rows of n_values, of the shape `told` if that is not NULL, fill tensor i. */
int sis__inputs_fit(const sis__model_inputs *s, size_t i, const sis_net_shape *told,
                    size_t n_values, sis__fit *out);

/* The values of tensor i for one row: so many, and value k of them. */
size_t sis__inputs_count(const sis__fit *fit);
double sis__inputs_value(const sis__model_inputs *s, size_t i, const double *row, size_t n_values,
                         size_t k);

#endif
