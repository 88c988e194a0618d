/* SPDX-License-Identifier: MIT
 *
 * Walks over recurrent layers. A *strand* is a stack of LSTM and GRU layers that run in one
 * direction over the positions of a sequence; a bidirectional layer is two strands side by side.
 *
 *     recurrent.c         the verbs of the walk: strands -> cut -> head -> margins
 *     recurrent_strand.c  states of the base and of every candidate along one strand
 *     recurrent_new.c     making a strand
 *     recurrent_cell.c    one layer: from an operator's inputs to a step of many rows
 *
 * Time along a strand counts in the direction it runs: time 0 is the last position of a reverse
 * layer. A *state* is what all layers of a strand hold after a time: h of the first, its c if it is
 * an LSTM, h of the second, and so on.
 */
#ifndef SIS_NET_WALK_RECURRENT_H
#define SIS_NET_WALK_RECURRENT_H

#include "net/walk/entry.h"

/* ---- One layer in one direction -------------------------------------------------------------- */

typedef struct sis__cell {
    size_t gates, input, hidden; /* gates: 4 in an LSTM, 3 in a GRU */
    size_t width;                /* gates * hidden */
    size_t state;                /* floats: hidden, in an LSTM twice that */
    int linear_before_reset;
    const float *w, *rz, *rh; /* packed, see sis__recurrent */
    float *bias;              /* (width), and (hidden) for a candidate that is reset */
    float *reset_bias;
    float *start; /* (state) before time 0 */
} sis__cell;

/* From a step of the plan. SIS_E_UNSUPPORTED if it does more than the kernels do, or if anything
 * but x depends on the input. */
int sis__cell_init(sis__cell *c, const sis__step *s, sis__run *r, size_t direction);
void sis__cell_release(sis__cell *c);

/* gates (n, width) = bias + x (n, input) . w^T */
void sis__cell_project(const sis__cell *c, size_t n, const float *x, float *gates);

/* One time of n rows: gates as projected; h and c (n, hidden) are replaced; spare (n, hidden). */
void sis__cell_step(const sis__cell *c, size_t n, float *gates, float *h, float *state,
                    float *spare);

/* ---- A strand ------------------------------------------------------------------------------- */

enum { SIS__MOST_CELLS = 8 };

typedef struct sis__strand sis__strand;

typedef struct sis__strand_spec {
    sis__cell cells[SIS__MOST_CELLS]; /* taken over */
    size_t n_cells;
    int reverse;
    size_t length;
    size_t memory; /* bytes for the states of candidates */
    int all_times; /* states of every time will be asked for, not only of the last */
} sis__strand_spec;

/* Over what the first layer reads. Starts with nothing masked and no base: reset it. Takes the
 * cells over even if it fails. */
int sis__strand_new(const sis__face *f, sis__strand_spec *spec, sis__strand **out);
void sis__strand_free(sis__strand *s);

/* Does masking this feature change any input of the strand? */
int sis__strand_reaches(const sis__strand *s, int feature);

/* The base with these features masked. */
void sis__strand_reset(sis__strand *s, const unsigned char *masked);

/* Bring candidates up to date. */
void sis__strand_run(sis__strand *s, const int *features, size_t n);

/* Has the state of this candidate at the last time been computed anew since this was last asked? */
int sis__strand_moved(sis__strand *s, int feature);

/* Mask a candidate that is up to date. */
void sis__strand_mask(sis__strand *s, int feature);

/* State after a time with this feature masked too (-1: the base), up to date. Only the last time
 * unless the strand was made for all. */
const float *sis__strand_at(const sis__strand *s, int feature, size_t time);

#endif
