/* SPDX-License-Identifier: MIT
 *
 * What a strand holds, for the two files that make and run it.
 */
#ifndef SIS_NET_WALK_RECURRENT_STRAND_H
#define SIS_NET_WALK_RECURRENT_STRAND_H

#include "net/walk/recurrent.h"

enum { SIS__STRAND_ROWS = 256 }; /* rows times times of a block, if it has several times */

/* Where a candidate stands. */
typedef struct sis__candidate {
    size_t from, to; /* times whose input it changes: none before from, none from `to` on */
    size_t kept_at;  /* where its states begin, in states */
    size_t stale;    /* first time whose state is not up to date; the length: none */
    size_t quiet;    /* inputs are what they were in its last run from this time on */
    unsigned char known, moved; /* was run since the last reset; see sis__strand_moved */
} sis__candidate;

struct sis__strand {
    sis__cell cells[SIS__MOST_CELLS];
    size_t n_cells, length, features;
    size_t state, part[SIS__MOST_CELLS]; /* floats of a state; where each cell's begin */
    size_t first;                        /* time before which nothing is ever masked */
    size_t base_from;                    /* first time whose base state is kept, less one */
    int *owner;                          /* (length) feature of each time, -1: none */
    float *inputs[2];                    /* (length, width) projected: present, masked */
    unsigned char *masked;               /* (features) */
    sis__candidate *candidates;          /* (features) */
    float *base;                         /* (length + 1 - base_from, state) */
    float *kept;
    size_t every;  /* times between kept states; 0: none is kept */
    int all_times; /* somebody looks at states before the last */
    float *final;  /* (features, state) at the last time */

    /* The batch under way. */
    int *todo;      /* (features) in the order they join */
    size_t *starts; /* (length + 1) for sorting them */
    int *rows;      /* (features) that have joined */
    size_t n_rows;
    float *h[SIS__MOST_CELLS], *c[SIS__MOST_CELLS]; /* (features, hidden) */
    unsigned char *as_it_was, *as_base;             /* (features) by row: at the end of a block */
    float *gates, *outputs, *spare;
};

/* States of the base up to the time before the first feature, from where they start (s->base). */
void sis__strand_begin(sis__strand *s);

#endif
