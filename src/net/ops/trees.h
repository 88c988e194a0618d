/* SPDX-License-Identifier: MIT
 *
 * Trees as arrays: what trees.c makes of a file, and what walks read.
 */
#ifndef SIS_NET_OPS_TREES_H
#define SIS_NET_OPS_TREES_H

#include "net/plan/context.h"

typedef enum sis__node_mode {
    SIS__NODE_LEAF,
    SIS__NODE_LEQ,
    SIS__NODE_LT,
    SIS__NODE_GTE,
    SIS__NODE_GT,
    SIS__NODE_EQ,
    SIS__NODE_NEQ
} sis__node_mode;

typedef enum sis__aggregate {
    SIS__TREES_SUM,
    SIS__TREES_AVERAGE,
    SIS__TREES_MIN,
    SIS__TREES_MAX
} sis__aggregate;

typedef struct sis__tree_node {
    sis__node_mode mode;
    int missing_true; /* NaN goes to the true side */
    size_t feature;   /* column of the input */
    float value;
    size_t yes, no;  /* children */
    size_t from, to; /* leaf: its range of weights */
} sis__tree_node;

struct sis__trees {
    size_t n, width, outputs;
    size_t n_nodes, n_trees;
    sis__tree_node *nodes;
    size_t *roots;     /* (n_trees) */
    size_t *targets;   /* of all weights: the output they go to */
    float *weights;    /* of all leaves, sorted by leaf */
    const float *base; /* (outputs), or (1) if single; NULL: none */
    sis__aggregate how;
    sis__post post;
    int classifier;
    int single;       /* two classes, weights of class 0 only: both follow from that one score */
    int all_positive; /* and all of them are >= 0 */
    const int64_t *labels;
};

/* Does a row with x in the node's column go to the true side? */
int sis__trees_yes(const sis__tree_node *n, float x);

/* A row runs in three parts: leaves are added to sum and seen (outputs each, zero to begin with)
 * tree after tree, sums are rounded, and what is left is done to the rounded ones. */
void sis__trees_add(const sis__trees *t, const sis__tree_node *leaf, double *sum,
                    unsigned char *seen);
void sis__trees_round(const sis__trees *t, const double *sum, float *raw);
void sis__trees_finish(const sis__trees *t, float *scores);

#endif
