/* SPDX-License-Identifier: MIT
 *
 * The common part of LSTM and GRU: attributes and shapes, the input projection, states.
 *
 * For one direction, `gates` (times, batch, gates*hidden) of a block of times is filled with bias +
 * x . w^T by matrix products over all rows of the block; each time step then adds h . r^T to its
 * rows and runs the cell. A block is short enough to stay in the cache. While all rows of a batch
 * start with the same values, one row is computed for all. If the last run started with them too,
 * its states are reused: padding before texts is computed once.
 */
#ifndef SIS_NET_OPS_RECURRENT_H
#define SIS_NET_OPS_RECURRENT_H

#include "net/kernels/kernels.h"
#include "net/plan/context.h"

/* Inputs of both operators. */
enum { SIS__X, SIS__W, SIS__R, SIS__B, SIS__LENGTHS, SIS__H0, SIS__C0 };

int sis__recurrent_shape(sis__shape_ctx *c, size_t gates);

/* One direction during a run. */
typedef struct sis__pass {
    const sis__step *s;
    sis__run *r;
    const sis__recurrent *p;
    size_t d; /* direction */
    int backwards;
    size_t rows; /* rows that are computed: 1 while all are identical, else the batch */
    const float *w, *w_late, *rz, *rh; /* packed, see sis__recurrent */
    float *bias;                       /* (gates*hidden) part of every projection */
    float *gates;                      /* (block, batch, gates*hidden) */
    float *h, *c;                      /* (batch, hidden) */
    float *spare;                      /* (batch, 3*hidden) for the operator */
    const float **x;                   /* (batch) projections at one time */
    float *room;                       /* scratch of a cell step */
    char *free;                        /* unused scratch memory */
} sis__pass;

/* Lay out scratch memory, pack weights that are not constant, set h and c to the initial states. */
void sis__pass_begin(sis__pass *a, const sis__step *s, sis__run *r, size_t d);

/* gates (n, a->rows, gates*hidden) = bias + x . w^T for times from..from+n-1. A bidirectional layer
 * whose input is twice as wide as its state, as on top of another one, sums the halves separately:
 * (bias + x1 . w1^T) + x2 . w2^T. Each half belongs to one direction of the layer below, and walks
 * keep the half that did not change. */
void sis__pass_project(const sis__pass *a, size_t from, size_t n, float *gates);

/* Run a kernel on all rows at time t, except rows whose sequence has ended; sets the fields of `c`
 * that the pass knows. gates (rows, gates*hidden): projections. h is replaced. */
typedef void (*sis__pass_kernel)(const sis__cell_step *c);
void sis__pass_cells(const sis__pass *a, size_t t, const float *gates, sis__cell_step *c,
                     sis__pass_kernel kernel);

/* Is time t still within row b's sequence? */
int sis__pass_alive(const sis__pass *a, size_t t, size_t b);

/* Row of time t, a direction and example b in y; of example b in a final state. */
size_t sis__row_y(const sis__recurrent *p, size_t t, size_t d, size_t b);
size_t sis__row_state(const sis__recurrent *p, size_t d, size_t b);

/* Write h of every row to y at time t (zero if the sequence has ended). */
void sis__pass_emit(const sis__pass *a, size_t t);

/* Run all times, first to last in this direction, keeping only y. step: a->rows rows at time t with
 * projections `gates`. */
typedef void (*sis__pass_step)(const sis__pass *a, size_t t, float *gates);
void sis__pass_run(sis__pass *a, sis__pass_step step);

/* GRU: the parameters of a step. */
typedef struct sis__gru {
    size_t hidden;
    int linear_before_reset;
    const float *rz, *rh; /* packed */
    const float *rb;      /* (hidden) recurrent bias of the candidate if it is reset, else NULL */
} sis__gru;

/* gates (rows, 3*hidden): projection in; z, r and candidate before tanh out. h (rows, hidden) is
 * read; term (rows, hidden): with linear_before_reset h . rn^T + rb, else r h. */
void sis__gru_gates(const sis__gru *g, size_t rows, const float *h, float *gates, float *term);

/* ---- Gradient: backpropagation through time ---------------------------------------------------- */

/* One direction. LSTM: the record is made by forward, in a run's tape; GRU: by `begin`. */
typedef struct sis__tape {
    sis__pass a;
    float *gates;   /* (seq, batch, gates*hidden) recorded, then gradients before activation */
    float *h;       /* (seq, batch, hidden) states before each time */
    float *more;    /* the same: LSTM: c; GRU: see gru.c */
    float *dh, *dc; /* (batch, hidden) gradients of the state; GRU: dc of the candidate */
    const float *back,
        *back_n;   /* packed r: dh += gates . r; GRU: of z and r, and of the candidate */
    char *scratch; /* unused memory */
} sis__tape;

/* What differs: find or make the record; one time, from dh and dc of the new state to those of the
 * old one and the gradients of gates; the gradient dr (gates*hidden, hidden) of r. */
typedef struct sis__cell_gradient {
    void (*begin)(sis__tape *t);
    void (*step)(sis__tape *t, size_t time);
    void (*recurrence)(sis__tape *t, float *dr);
} sis__cell_gradient;
int sis__recurrent_backward(const sis__step *s, sis__run *r, const sis__cell_gradient *cell);

/* Floats from free memory; r (n, k) packed there; the time that comes k-th in this direction. */
float *sis__pass_take(char **free, size_t floats);
const float *sis__pass_pack_back(char **free, const float *r, size_t n, size_t k);
size_t sis__pass_time(const sis__pass *a, size_t k);

#endif
