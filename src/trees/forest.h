/* SPDX-License-Identifier: MIT
 *
 * Trees as arrays: what readers make of XGBoost's, LightGBM's and ONNX files, and what predicts and
 * walks. A row goes down each tree to a leaf; a leaf adds weights to some of the sums. What becomes
 * of the sums (links, classes) is their user's business.
 *
 *     forest.c     a row's way down, sums, and the checks that make a forest safe to use
 *     walk.c       sums of a row with one more feature masked, from what it changes
 *     document.c   JSON and UBJSON files
 *     xgboost.c, lightgbm.c   files -> booster.h: a forest with all that belongs to it
 */
#ifndef SIS_TREES_FOREST_H
#define SIS_TREES_FOREST_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sis__node_mode {
    SIS__NODE_LEAF,
    SIS__NODE_LEQ,
    SIS__NODE_LT,
    SIS__NODE_GTE,
    SIS__NODE_GT,
    SIS__NODE_EQ,
    SIS__NODE_NEQ,
    SIS__NODE_IN,    /* x, its fraction cut off, is one of a set of categories */
    SIS__NODE_ONE_OF /* x is one of a list of floats; src/prove is given no forest with such */
} sis__node_mode;

typedef struct sis__tree_node {
    double value;      /* what x is compared with; IN: below it, x is no category */
    uint32_t feature;  /* column of the row */
    uint32_t yes, no;  /* children */
    uint32_t from, to; /* leaf: its range of weights; IN, ONE_OF: its range of `members` */
    unsigned char mode;
    unsigned char missing_yes;  /* NaN goes to the yes side */
    unsigned char zero_missing; /* and 0 goes where NaN goes */
} sis__tree_node;

typedef enum sis__aggregate {
    SIS__TREES_SUM,
    SIS__TREES_AVERAGE, /* a sum; the division is its user's */
    SIS__TREES_MIN,
    SIS__TREES_MAX
} sis__aggregate;

typedef struct sis__forest {
    size_t width;  /* columns of a row */
    size_t n_sums; /* at least 1 */
    size_t n_nodes, n_trees, n_weights, n_members;
    sis__tree_node *nodes;
    uint32_t *roots;   /* (n_trees) */
    uint32_t *targets; /* (n_weights) the sum each goes to */
    double *weights;   /* (n_weights) */
    uint32_t
        *members;   /* sets of categories, 32 to a word; lists of floats, sorted, as their bits */
    double *base;   /* (n_sums) what sums begin with; NULL: 0 */
    double *linear; /* (width, n_sums) behind the trees, each value times this is added, but for
                          NaN; NULL: none */
    sis__aggregate how;
    int single; /* rows are rounded to float, and so is every product and every sum on the way */

    /* Made by sis__forest_finish(). A *term* is one addend of one sum: the occurrence-th weight
     * that a leaf of a tree has for it. Terms are numbered by sum, then in the order they are
     * added; the linear ones come last in each sum. */
    size_t n_terms, depth; /* depth: of the deepest tree; a single leaf has 0 */
    uint32_t *depths;      /* (n_trees) */
    size_t *sum_terms;     /* (n_sums + 1) where the terms of each sum begin */
    uint32_t *term_of;     /* (n_weights) */
    uint32_t *tree_terms;  /* the terms of each tree, */
    size_t *tree_start;    /* (n_trees + 1) where they begin */
    double *size;          /* (n_sums) the base and the largest term of every tree, added up */
} sis__forest;

/* Where memory of a forest comes from: zeroed, NULL after a failure that is already reported. */
typedef struct sis__forest_alloc {
    void *(*get)(void *ctx, size_t n, size_t size);
    void *ctx;
} sis__forest_alloc;

/* Check what was read and make the rest: every node hangs in one place, children, columns, weights
 * and sets lie where there are any. `a` NULL: from the heap, and sis__forest_release() frees all of
 * it. *reached (may be NULL): nodes that hang on a root. */
int sis__forest_finish(sis__forest *f, const sis__forest_alloc *a, size_t *reached);
void sis__forest_release(sis__forest *f);

/* Is x one of the categories or floats of an IN or ONE_OF node? */
int sis__forest_member(const sis__forest *f, const sis__tree_node *n, double x);

/* Does x go to the yes side? */
static inline int sis__forest_yes(const sis__forest *f, const sis__tree_node *n, double x) {
    if (isnan(x) || (n->zero_missing && fabs(x) <= (double)1e-35f))
        return n->missing_yes;
    switch (n->mode) {
    case SIS__NODE_LEQ:
        return x <= n->value;
    case SIS__NODE_LT:
        return x < n->value;
    case SIS__NODE_GTE:
        return x >= n->value;
    case SIS__NODE_GT:
        return x > n->value;
    case SIS__NODE_EQ:
        return x == n->value;
    case SIS__NODE_NEQ:
        return x != n->value;
    default:
        return sis__forest_member(f, n, x);
    }
}

/* The sums (n_sums) of a row (width), tree after tree; seen (n_sums) is scratch. With `single` the row's
 * values are floats already. */
void sis__forest_sums(const sis__forest *f, const double *row, double *sums, unsigned char *seen);

/* The same in parts: begin, add the leaves of all trees in order, end. */
void sis__forest_begin(const sis__forest *f, double *sums, unsigned char *seen);
void sis__forest_add(const sis__forest *f, uint32_t leaf, double *sums, unsigned char *seen);

/* What column j of value x adds to sum k by `linear`: -0, which changes no sum, for NaN. */
double sis__forest_product(const sis__forest *f, size_t j, size_t k, double x);

#endif
