/* SPDX-License-Identifier: MIT
 *
 * What LSTM and GRU share: attributes and shapes, the input projection, states.
 *
 * One direction at a time, `gates` (times, batch, gates*hidden) for a block of times is filled with
 * bias + x . w^T by matrix products over all rows of the block; each time step then adds h . r^T to
 * its rows and runs the cell on each. A block is short enough to stay in the cache. As long as all
 * rows of a batch begin alike, one row is computed for all, and not even that if the run before
 * began so: padding in front of texts is gone through once.
 */
#ifndef SIS_NET_OPS_RECURRENT_H
#define SIS_NET_OPS_RECURRENT_H

#include "net/kernels/kernels.h"
#include "net/plan/context.h"

/* Inputs of both operators. */
enum { SIS__X, SIS__W, SIS__R, SIS__B, SIS__LENGTHS, SIS__H0, SIS__C0 };

int sis__recurrent_shape(sis__cx *c, size_t gates);

/* One direction under way. */
typedef struct sis__pass {
    const sis__step *s;
    sis__run *r;
    const sis__recurrent *p;
    size_t d; /* direction */
    int backwards;
    size_t rows; /* that are computed: 1 as long as all are alike, else all of the batch */
    const float *w, *w_late, *rz, *rh; /* packed, see sis__recurrent */
    float *bias;                       /* (gates*hidden) that goes into every projection */
    float *gates;                      /* (block, batch, gates*hidden) */
    float *h, *c;                      /* (batch, hidden) */
    float *spare;                      /* (batch, 3*hidden) for the operator */
    const float **x;                   /* (batch) projections of a time */
    float *room;                       /* of a cell step */
    char *free;                        /* the rest of the scratch memory */
} sis__pass;

/* Lay out scratch memory, pack weights that are not constant, set h and c to the initial states. */
void sis__pass_begin(sis__pass *a, const sis__step *s, sis__run *r, size_t d);

/* gates (n, a->rows, gates*hidden) = bias + x . w^T for times from..from+n-1. A layer both ways that reads
 * twice as many values as it has units, as on top of another one, sums their halves apart: (bias + x1 .
 * w1^T) + x2 . w2^T. Each half is then what one direction below adds, and walks keep the one that is as
 * it was. */
void sis__pass_project(const sis__pass *a, size_t from, size_t n, float *gates);

/* All rows at time t by a kernel for all at once, but for those whose sequence has ended: fills in what
 * the pass knows of `c`. gates (rows, gates*hidden): projections. h is replaced. */
typedef void (*sis__pass_kernel)(const sis__cell_step *c);
void sis__pass_cells(const sis__pass *a, size_t t, const float *gates, sis__cell_step *c,
                     sis__pass_kernel kernel);

/* Is time t still within row b's sequence? */
int sis__pass_alive(const sis__pass *a, size_t t, size_t b);

/* Row of time t, a direction and example b in y; of example b in a final state. */
size_t sis__row_y(const sis__recurrent *p, size_t t, size_t d, size_t b);
size_t sis__row_state(const sis__recurrent *p, size_t d, size_t b);

/* h of every row into y at time t (zero where the sequence has ended). */
void sis__pass_emit(const sis__pass *a, size_t t);

/* All times, first to last in this direction, without keeping anything but y. step: a->rows rows at
 * time t, whose projections are in `gates`. */
typedef void (*sis__pass_step)(const sis__pass *a, size_t t, float *gates);
void sis__pass_run(sis__pass *a, sis__pass_step step);

/* GRU: what a step needs beside its rows. */
typedef struct sis__gru {
    size_t hidden;
    int linear_before_reset;
    const float *rz, *rh; /* packed */
    const float *rb;      /* (hidden) recurrent bias of the candidate if it is reset, else NULL */
} sis__gru;

/* gates (rows, 3*hidden): projection in; z, r and candidate before tanh out. h (rows, hidden) is
 * read; term (rows, hidden): with linear_before_reset h . rn^T + rb, else r h. */
void sis__gru_gates(const sis__gru *g, size_t rows, const float *h, float *gates, float *term);

/* Gradients of the input projection: gates (seq, batch, gates*hidden) -> dw, dx (either may be
 * NULL). scratch as for a product over all rows. */
void sis__pass_inputs_backward(const sis__pass *a, const float *gates, float *dw, float *dx,
                               void *scratch);

/* Gradient of an initial state: rows that were repeated are summed. */
void sis__pass_start_backward(const sis__pass *a, size_t input, size_t rows, const float *d);

#endif
