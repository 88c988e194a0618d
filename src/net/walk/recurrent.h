/* SPDX-License-Identifier: MIT
 *
 * Walks over LSTM and GRU layers, as the files of the recurrent rule share them.
 *
 *     recurrent_cell.c   one layer in one direction: weights, and one time step
 *     recurrent_chain.c  layers stacked in one direction: the base and the states of candidates
 *     recurrent_upper.c  a bidirectional layer on top of another one
 *     recurrent.c        finds them in a network; the rule
 *
 * Time along a chain counts in the direction it runs: time 0 is the last position of a reverse layer.
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
    float *reset_bias;                 /* (hidden) of a GRU that resets behind the product */
    float *start;                      /* (state) before time 0 */
} sis__rnn_cell;

/* From a step of the plan. SIS_E_UNSUPPORTED if it does more than the kernels do, or if anything
 * but x depends on the input. Weights, bias and initial states are those that the operator itself
 * starts with. */
int sis__rnn_cell_init(sis__rnn_cell *c, const sis__step *s, sis__run *r, size_t direction);
void sis__rnn_cell_release(sis__rnn_cell *c);

/* gates (n, width) = bias + x (n, input) . w^T */
void sis__rnn_cell_project(const sis__rnn_cell *c, size_t n, const float *x, float *gates);

/* The part of that product that one half of the inputs adds: n rows h of one direction below. The first
 * half begins with the bias, the second with `zeros`. */
void sis__rnn_cell_project_half(const sis__rnn_cell *c, size_t half, const float *zeros, size_t n,
                                const float *const *h, float *const *to);

/* One time of n rows. s: n, h, x, c, to, room are set; gates (n, width) are overwritten. */
void sis__rnn_cell_step(const sis__rnn_cell *c, sis__cell_step *s, float *gates);

/* ---- Layers stacked in one direction --------------------------------------------------------- */

enum { SIS__RNN_CELLS = 8 };

typedef struct sis__rnn_chain_spec {
    sis__rnn_cell cells[SIS__RNN_CELLS]; /* taken over */
    size_t n_cells;
    int reverse;
    size_t length;
    size_t memory; /* bytes for the states of candidates */
    int all_times; /* states of every time will be asked for, not only of the last */

    /* Cells of a layer on top that read h of this chain as one half (0 or 1) of their inputs. What that
     * half adds to their gates is kept with the states. NULL: none. */
    const sis__rnn_cell *above[2];
    size_t half;
} sis__rnn_chain_spec;

typedef struct sis__rnn_chain sis__rnn_chain;

/* A chain over what the first layer reads. It has no base before it is reset. Takes the cells over
 * even if it fails. */
int sis__rnn_chain_new(const sis__entry *f, sis__rnn_chain_spec *spec, sis__rnn_chain **out);
void sis__rnn_chain_free(sis__rnn_chain *s);

/* Compute the base with these features masked; mask one more, which is up to date. */
void sis__rnn_chain_reset(sis__rnn_chain *s, const unsigned char *masked);
void sis__rnn_chain_mask(sis__rnn_chain *s, int feature);

/* Bring candidates up to date. */
void sis__rnn_chain_run(sis__rnn_chain *s, const int *features, size_t n);

/* Does masking this feature change any input of the chain? */
int sis__rnn_chain_reaches(const sis__rnn_chain *s, int feature);

/* Was the state of this candidate computed again since sis__rnn_chain_seen? */
int sis__rnn_chain_moved(const sis__rnn_chain *s, int feature);
void sis__rnn_chain_seen(sis__rnn_chain *s, int feature);

/* The state after a time with this feature masked too (-1: the base), up to date. Only of the last time
 * unless the chain was made for all. */
const float *sis__rnn_chain_at(const sis__rnn_chain *s, int feature, size_t time);

/* Is what states add to the gates of cell d above kept? And where it lies for a state. */
int sis__rnn_chain_keeps_sums(const sis__rnn_chain *s, size_t d);
const float *sis__rnn_chain_sums(const sis__rnn_chain *s, size_t d, const float *state);

/* ---- A bidirectional layer on top of another one --------------------------------------------- */

/* Rows that are computed together. */
typedef struct sis__rnn_upper_batch {
    int *rows;               /* (features + 1) */
    const float **x, **more; /* projections, in two parts */
    float *h, *c, *to, *gates, *inputs, *room;
} sis__rnn_upper_batch;

typedef struct sis__rnn_upper {
    sis__rnn_cell cells[2]; /* of each direction */
    size_t length, features;
    size_t upto[2];           /* times that are computed; 0: nobody reads this direction */
    int all_times;            /* states of all times are kept, not only of the last of these */
    sis__rnn_chain *below[2]; /* borrowed */
    float *states[2];         /* (features + 1, times, state); last those of the base */
    sis__rnn_upper_batch batch;
    sis__arena memory;
} sis__rnn_upper;

/* Memory, once all of the above but `below` is set; SIS_E_UNSUPPORTED: states would take more than this. */
int sis__rnn_upper_allocate(sis__rnn_upper *u, size_t memory);
void sis__rnn_upper_free(sis__rnn_upper *u);

/* Compute the base; candidates whose states below have moved. */
void sis__rnn_upper_reset(sis__rnn_upper *u);
void sis__rnn_upper_update(sis__rnn_upper *u, const int *features, size_t n);

/* State of direction d after a time of it with this feature masked too; -1: the base. */
float *sis__rnn_upper_at(const sis__rnn_upper *u, size_t d, int feature, size_t time);

#endif
