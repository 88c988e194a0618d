/* SPDX-License-Identifier: MIT
 *
 * How a batch is cut into pieces, and how margins are computed; for forward and gradient.
 */
#ifndef SIS_NET_PLAN_FORWARD_H
#define SIS_NET_PLAN_FORWARD_H

#include "net/plan/row_layout.h"

typedef struct sis__piece {
    size_t row, n; /* first row, number of rows */
    int log2_rows; /* rows of its plan: n, or more if the piece is padded */
} sis__piece;

/* chunk: rows of the largest piece, a power of two. fill: the last pieces may be padded with extra
 * rows if one longer plan is faster than several short ones. */
size_t sis__pieces(size_t chunk, size_t n_rows, int fill);
sis__piece sis__piece_at(size_t chunk, size_t n_rows, int fill, size_t i);

/* Check a batch and find its layout; return it with sis__row_layout_done(). */
int sis__batch_check(const sis_net *net, const sis_net_batch *b, sis__row_layout **g);

/* Margins of output c from z (m, n), the inputs of the last activation: y[i * step]. */
void sis__margins(const sis_net *net, const float *z, size_t m, size_t n, size_t c, double *y,
                  size_t step);

#endif
