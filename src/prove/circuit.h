/* SPDX-License-Identifier: MIT
 *
 * A network in the form that bounds need: nodes, each of which computes a row of numbers from one
 * or two earlier ones.
 *
 *     affine   sums of products and a constant: Gemm, MatMul, Conv, average pooling, batch norm,
 *              sums with and products by constants, linear models
 *     relu     max(0, x) of each number
 *     maximum  of groups: MaxPool, GlobalMaxPool
 *     sum      of two nodes, or their difference
 *
 *     circuit.c   networks and linear boosters -> nodes
 *     bounds.c    lower bounds of linear functions of a node while the input is in a box
 *     nets.c      does a decision stay? By bounds, examples, and branches on the signs of ReLUs
 */
#ifndef SIS_PROVE_CIRCUIT_H
#define SIS_PROVE_CIRCUIT_H

#include <stddef.h>
#include <stdint.h>

#include <sis/model.h>

#include "trees/booster.h"

typedef enum sis__circuit_kind {
    SIS__CIRCUIT_INPUT,
    SIS__CIRCUIT_AFFINE,
    SIS__CIRCUIT_RELU,
    SIS__CIRCUIT_MAX,
    SIS__CIRCUIT_SUM
} sis__circuit_kind;

typedef struct sis__circuit_node {
    sis__circuit_kind kind;
    size_t n;        /* its number of outputs */
    size_t from[2];  /* the nodes it reads; only sums have two */
    double sign;     /* sum: sign of the second */
    size_t *start;   /* affine, max (n + 1): start of each number's terms in */
    uint32_t *read;  /* the indices in the input node, */
    double *weights; /* affine: and the weights */
    double *bias;    /* (n) */
} sis__circuit_node;

/* How the model turns the last node into its answer. */
typedef enum sis__circuit_end {
    SIS__END_MARGINS,  /* unchanged, or by the model's link */
    SIS__END_SOFTMAX,  /* margins are log odds */
    SIS__END_LOGISTIC, /* scores: logistic, each separately */
    SIS__END_SHARES,   /* scores: a softmax */
    SIS__END_RATIOS    /* scores: logistic, divided by their sum; only their order is used */
} sis__circuit_end;

typedef struct sis__circuit {
    sis__circuit_node *nodes; /* the first is the input, the last has the decision */
    size_t n, room, width, outputs, widest;
    sis__circuit_end end;
    int zero_if_missing; /* missing values count as 0 */
    size_t weights;      /* of all nodes */
} sis__circuit;

/* SIS_E_UNSUPPORTED for other networks; the message names the operator. */
int sis__circuit_of_net(const sis_model *model, sis__circuit **out);
/* gblinear. */
int sis__circuit_of_linear(const sis__booster *b, sis__circuit **out);
void sis__circuit_free(sis__circuit *c);

#endif
