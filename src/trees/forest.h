/* SPDX-License-Identifier: MIT
 *
 * Trees as arrays, read from XGBoost, LightGBM and ONNX files, used for prediction and walks. A row
 * reaches one leaf of each tree, and the leaf adds weights to some of the sums. Links and classes
 * are left to the caller.
 *
 *     forest.c     leaves and sums of a row, and the checks that make a forest safe to use
 *     walk.c       sums of a row with one more feature masked, updated incrementally
 *     document.c   JSON and UBJSON files
 *     xgboost.c, lightgbm.c   files -> booster.h: a forest with link and names
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
    SIS__NODE_IN,    /* the integer part of x is in a set of categories */
    SIS__NODE_ONE_OF /* x is in a list of floats; src/prove gets no forest with such nodes */
} sis__node_mode;

typedef struct sis__tree_node {
    double value;      /* compared with x; IN: below it, x is not a category */
    uint32_t feature;  /* column of the row */
    uint32_t yes, no;  /* children */
    uint32_t from, to; /* leaf: its range of weights; IN, ONE_OF: its range of `members` */
    unsigned char mode;
    unsigned char missing_yes;  /* NaN goes to the yes side */
    unsigned char zero_missing; /* 0 goes where NaN goes */
} sis__tree_node;

typedef enum sis__aggregate {
    SIS__TREES_SUM,
    SIS__TREES_AVERAGE, /* a sum; the caller divides */
    SIS__TREES_MIN,
    SIS__TREES_MAX
} sis__aggregate;

/* A *term* is one addend of one sum: the k-th weight that a leaf of a tree has for this sum. Terms are numbered by
 * sum, then in the order of addition; the linear terms are the last of each sum. */
typedef struct sis__forest_terms {
    size_t n_terms;
    uint32_t *depths;     /* (n_trees) */
    size_t *sum_terms;    /* (n_sums + 1) first term of each sum */
    uint32_t *term_of;    /* (n_weights) */
    uint32_t *tree_terms; /* the terms of each tree */
    size_t *tree_start;   /* (n_trees + 1) first entry of each tree in tree_terms */
} sis__forest_terms;

typedef struct sis__forest {
    size_t width;  /* columns of a row */
    size_t n_sums; /* at least 1 */
    size_t n_nodes, n_trees, n_weights, n_members;
    sis__tree_node *nodes;
    uint32_t *roots;   /* (n_trees) */
    uint32_t *targets; /* (n_weights) the sum that each weight is added to */
    double *weights;   /* (n_weights) */
    uint32_t *members; /* sets of categories, 32 per word; sorted lists of floats, as their bits */
    double *base;      /* (n_sums) initial values of sums; NULL: 0 */
    double *linear;    /* (width, n_sums) value * linear is added last, except NaN; NULL: none */
    sis__aggregate how;
    int single; /* rows, products and partial sums are rounded to float */

    /* Computed by sis__forest_finish(). */
    size_t depth; /* of the deepest tree; a single leaf has 0 */
    double *size; /* (n_sums) base plus the largest term of every tree */
    sis__forest_terms by;
} sis__forest;

/* Allocator for a forest: returns zeroed memory, or NULL after a failure that is already
 * reported. */
typedef struct sis__forest_alloc {
    void *(*get)(void *ctx, size_t n, size_t size);
    void *ctx;
} sis__forest_alloc;

/* Check what was read and compute the rest. Every node must have one parent, and children, columns,
 * weights and sets must be in range. `a` NULL: use the heap, and sis__forest_release() frees all of
 * it. *reached (may be NULL): number of nodes reachable from a root. */
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

/* The sums (n_sums) of a row (width), tree by tree; seen (n_sums) is scratch. With `single` the
 * row's values are already floats. */
void sis__forest_sums(const sis__forest *f, const double *row, double *sums, unsigned char *seen);

/* The same in steps: begin, add the leaves of all trees in order, end. */
void sis__forest_begin(const sis__forest *f, double *sums, unsigned char *seen);
void sis__forest_add(const sis__forest *f, uint32_t leaf, double *sums, unsigned char *seen);

/* The linear term of column j with value x for sum k; -0, which changes no sum, for NaN. */
double sis__forest_product(const sis__forest *f, size_t j, size_t k, double x);

#endif
