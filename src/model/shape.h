/* SPDX-License-Identifier: MIT
 *
 * How rows fill a tensor. Models tell the shape they take, with free axes; the first axis usually
 * counts the rows, but some models take one row without it, or always the same number of rows.
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
    size_t dims[SIS__RANK]; /* those of one row; the axis of rows is left out */
    int batched;            /* the tensor has an axis of rows, in front */
    size_t rows;            /* a tensor holds exactly so many; 0: any number */
} sis__fit;

/* Rows of n_values values, of the shape `told` (shapes.h). Where that is NULL, a free axis takes what is left,
 * several are equally long; a first axis that is not free and not 1 counts rows only if a row cannot fill all axes, as
 * in the engine's own reading of a network. SIS_E_ARGUMENT if they do not fit, SIS_E_UNSUPPORTED if there are always so many rows
 * that nobody could fill the tensor; the message tells the shape. */
int sis__shape_fit(const sis__shape *s, const sis_net_shape *told, size_t n_values, sis__fit *out);

/* What one row looks like, 0 for free sizes; no axes: there is none for rows, or always several rows. */
void sis__shape_row(const sis__shape *s, sis_net_shape *row);

/* The only number of values that a row can have; 0: that depends. */
size_t sis__shape_values(const sis__shape *s);

/* "[-1,28,28]" */
void sis__shape_text(const sis__shape *s, char text[SIS__SHAPE_TEXT]);

#endif
