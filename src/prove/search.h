/* SPDX-License-Identifier: MIT
 *
 * One search through the inputs of a question about trees (trees.h). It looks for an input with
 *
 *     goal = (rival's sum) - (decided output's sum) >= 0      or  threshold - sum > 0  and the like
 *
 * A *frame* is a node of the search: the trees without the tests that the current sets of cells
 * decide, each node with the largest value below it. The sum of the roots' values bounds the goal.
 *
 *     trees.c     questions and answers: what is searched, and for which rival
 *     search.c    frames, branches, their order
 *     rows.c      an input of a frame, and the nearest one
 */
#ifndef SIS_PROVE_SEARCH_H
#define SIS_PROVE_SEARCH_H

#include "prove/cells.h"
#include "prove/trees.h"

struct sis__prover {
    const sis__booster *b;
    const sis__ensemble *e; /* owner of the sums of `b` and of the decision; NULL: none */
    sis__cells cells;
    double *room; /* (n_sums) bound on the difference of the library's sums from the exact ones */
};

typedef struct {
    uint32_t test, yes, no; /* test LEAF: a leaf */
    double max;             /* largest value of a leaf below */
} sis__search_node;

typedef struct {
    size_t nodes, roots, n_roots; /* offsets of its nodes and roots */
    double constant;              /* sum of the decided trees */
    uint32_t test;                /* the test it branches on */
    int tries, first;
    size_t saved; /* offset of the saved set of the test's column */
} sis__search_frame;

/* Stacks for the frames from the root of the search to the current one. */
typedef struct {
    sis__search_node *nodes;
    uint32_t *roots;
    sis__search_frame *frames;
    uint64_t *saved; /* sets of cells */
    size_t n_nodes, n_roots, n_frames, n_saved, nodes_room, roots_room, frames_room, saved_room;
} sis__search_stacks;

/* Scratch for one row and its scores. */
typedef struct {
    double *row, *sums, *rest; /* (width), (n_sums), (n_sums) */
    unsigned char *seen;
    double *seen_row; /* (width) */
    float *scores;    /* (outputs) */
} sis__search_row;

/* Columns by feature. */
typedef struct {
    size_t *first;         /* (features + 1) offset of each feature's columns */
    uint32_t *columns;     /* (width) */
    unsigned char *one_of; /* (features) its columns are categories, exactly one of which is 1 */
} sis__search_groups;

/* State of a search for the nearest row. */
typedef struct {
    const sis__steps *steps; /* NULL: any row */
    double *cost;            /* of each cell, 64 per word of the state */
    double best;             /* cost of the nearest so far, */
    double *best_row;        /* (width) and the row */
} sis__search_nearest;

typedef struct {
    const sis__prover *p;
    const sis__prove_question *q;
    const sis__oracle *oracle;        /* its deadline is used */
    const unsigned char *free_column; /* (width) */
    uint64_t *state;                  /* sets of cells, column by column */
    uint32_t for_it, against;         /* sums that raise and lower the goal; UINT32_MAX: none */
    double constant, slack;
    sis__ensemble_decision decision; /* for an ensemble */
    sis__search_stacks on;
    sis__search_row tmp;
    sis__search_groups by;
    sis__search_nearest near;
    size_t branches;
    int error;
} sis__search;

static inline int sis__search_can_be(const sis__search *s, size_t j, double x) {
    const sis__cells *c = &s->p->cells;
    return sis__cells_has(s->state + c->first_word[j], sis__cells_find(c, j, x));
}

/* Is the column a category of a feature that has several, exactly one of which is 1? */
static inline int sis__search_is_category(const sis__search *s, size_t j) {
    int f = sis__oracle_feature(s->oracle, j);
    return s->by.one_of && f >= 0 && s->by.one_of[f];
}

/* ---- search.c -------------------------------------------------------------------------------- */

/* The trees of the goal as the first frame. */
void sis__search_start(sis__search *s);

/* An upper bound of the goal below a frame. */
double sis__search_bound(const sis__search *s, const sis__search_frame *f);

/* Search from the first frame on; FAILS: `example` is an input without the decision. */
sis__proof sis__search_run(sis__search *s, double *example);

/* Leave the current frame. */
void sis__search_pop(sis__search *s);

/* ---- rows.c ---------------------------------------------------------------------------------- */

/* Choose a category for each categorical feature. Returns the number that differ from the example,
 * -1 if a feature has none. */
int sis__row_categories(const sis__search *s, double *row);

/* A row of the current state, with the example's values where possible. 0: there is none. */
int sis__row_make(sis__search *s, double *row);

/* The cost of each cell that a column may be in. */
void sis__row_costs(sis__search *s);

/* The cheapest cell of a column in the current state, among those that pass or fail a test;
 * `passed` NULL: among all. */
double sis__row_cheapest(const sis__search *s, size_t j, const uint64_t *passed, int side,
                         size_t *cell);

/* The nearest row of the current state; returns its distance. */
double sis__row_nearest(const sis__search *s, double *row);

/* Does the row keep the decision, by the library's own sums? */
int sis__row_stays(sis__search *s, const double *row);

#endif
