/* SPDX-License-Identifier: MIT
 *
 * How rows fill a tensor. Models declare a shape with free axes; the first axis is usually the
 * batch, but some models take one row without it, or a fixed number of rows.
 */
#ifndef SIS_MODEL_SHAPE_H
#define SIS_MODEL_SHAPE_H

#include <sis/net.h>

enum { SIS__RANK = 16, SIS__SHAPE_TEXT = 128 };

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

/* "[-1,28,28]" */
void sis__shape_text(const sis__shape *s, char text[SIS__SHAPE_TEXT]);

#endif
