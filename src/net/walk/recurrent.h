/* SPDX-License-Identifier: MIT
 *
 * Walks over LSTM and GRU layers: shared by the files of the recurrent rule.
 *
 *     recurrent_cell.c   one layer in one direction: weights, and one time step
 *     recurrent_chain.c  layers stacked in one direction: the base and the states of candidates
 *     recurrent_upper.c  a bidirectional layer on top of another one
 *     recurrent.c        finds them in a network; the rule
 *
 * Time along a chain counts in its direction: time 0 of a reverse layer is the last position.
 */
#ifndef SIS_NET_WALK_RECURRENT_H
#define SIS_NET_WALK_RECURRENT_H

#include "net/kernels/kernels.h"
#include "net/walk/entry.h"

/* ---- One layer in one direction -------------------------------------------------------------- */

typedef struct sis__rnn_cell {
    size_t gates, input, hidden; /* gates: 4 in an LSTM, 3 in a GRU */
    size_t width;                /* gates * hidden */
    size_t state;                /* floats: hidden, in an LSTM twice that */
    int linear_before_reset;
    const float *w, *w_late, *rz, *rh; /* packed, see sis__recurrent */
    float *bias;                       /* (width) */
    float *reset_bias;                 /* (hidden) of a GRU that resets after the product */
    float *start;                      /* (state) before time 0 */
} sis__rnn_cell;

/* Read a step of the plan. SIS_E_UNSUPPORTED if the kernels do not support it, or if inputs other
 * than x depend on the input. Weights, bias and initial states are those of the operator. */
int sis__rnn_cell_init(sis__rnn_cell *c, const sis__step *s, sis__run *r, size_t direction);
void sis__rnn_cell_release(sis__rnn_cell *c);

/* gates (n, width) = bias + x (n, input) . w^T */
void sis__rnn_cell_project(const sis__rnn_cell *c, size_t n, const float *x, float *gates);

/* The part of that product from one half of the inputs: n rows h of one direction below. The first
 * half starts with the bias, the second with `zeros`. */
void sis__rnn_cell_project_half(const sis__rnn_cell *c, size_t half, const float *zeros, size_t n,
                                const float *const *h, float *const *to);

/* One time step of n rows. The caller sets n, h, x, c, to and room of s; gates (n, width) are
 * overwritten. */
void sis__rnn_cell_step(const sis__rnn_cell *c, sis__cell_step *s, float *gates);

/* ---- Layers stacked in one direction --------------------------------------------------------- */

enum { SIS__RNN_CELLS = 8 };

typedef struct sis__rnn_chain_spec {
    sis__rnn_cell cells[SIS__RNN_CELLS]; /* the chain takes ownership */
    size_t n_cells;
    int reverse;
    size_t length;
    size_t memory; /* limit in bytes for the states of candidates */
    int all_times; /* states of all times will be read, not only of the last */

    /* Cells of a layer on top that read h of this chain as one half (0 or 1) of their inputs. The
     * contribution of that half to their gates is kept with the states. NULL: none. */
    const sis__rnn_cell *above[2];
    size_t half;
} sis__rnn_chain_spec;

typedef struct sis__rnn_chain sis__rnn_chain;

/* A chain over the input of the first layer. Reset it before use. Takes ownership of the cells,
 * even on failure. */
int sis__rnn_chain_new(const sis__entry *f, sis__rnn_chain_spec *spec, sis__rnn_chain **out);
void sis__rnn_chain_free(sis__rnn_chain *s);

/* Compute the base with these features masked; mask one more, whose candidate must be up to
 * date. */
void sis__rnn_chain_reset(sis__rnn_chain *s, const unsigned char *masked);
void sis__rnn_chain_mask(sis__rnn_chain *s, int feature);

/* Update the states of candidates. */
void sis__rnn_chain_run(sis__rnn_chain *s, const int *features, size_t n);

/* Does masking this feature change any input of the chain? */
int sis__rnn_chain_reaches(const sis__rnn_chain *s, int feature);

/* Has the state of this candidate been recomputed since sis__rnn_chain_seen()? */
int sis__rnn_chain_moved(const sis__rnn_chain *s, int feature);
void sis__rnn_chain_seen(sis__rnn_chain *s, int feature);

/* The state after a time with this feature masked too (-1: the base); must be up to date. Only the
 * last time unless the chain was made for all. */
const float *sis__rnn_chain_at(const sis__rnn_chain *s, int feature, size_t time);

/* Are the contributions to the gates of cell d above kept? And their address for a state. */
int sis__rnn_chain_keeps_sums(const sis__rnn_chain *s, size_t d);
const float *sis__rnn_chain_sums(const sis__rnn_chain *s, size_t d, const float *state);

/* ---- A bidirectional layer on top of another one --------------------------------------------- */

/* Rows that are computed together. */
typedef struct sis__rnn_upper_batch {
    int *rows;               /* (features + 1) */
    const float **x, **more; /* projections, in two addends */
    float *h, *c, *to, *gates, *inputs, *room;
} sis__rnn_upper_batch;

typedef struct sis__rnn_upper {
    sis__rnn_cell cells[2]; /* of each direction */
    size_t length, features;
    size_t upto[2];           /* number of computed times; 0: this direction is not read */
    int all_times;            /* states of all times are kept, not only the last */
    sis__rnn_chain *below[2]; /* borrowed */
    float *states[2];         /* (features + 1, times, state); the base is last */
    sis__rnn_upper_batch batch;
    sis__arena memory;
} sis__rnn_upper;

/* Allocate memory, after all of the above except `below` is set; SIS_E_UNSUPPORTED: states would
 * exceed the limit. */
int sis__rnn_upper_allocate(sis__rnn_upper *u, size_t memory);
void sis__rnn_upper_free(sis__rnn_upper *u);

/* Compute the base; update candidates whose states below have changed. */
void sis__rnn_upper_reset(sis__rnn_upper *u);
void sis__rnn_upper_update(sis__rnn_upper *u, const int *features, size_t n);

/* State of direction d after a time with this feature masked too; -1: the base. */
float *sis__rnn_upper_at(const sis__rnn_upper *u, size_t d, int feature, size_t time);

#endif
