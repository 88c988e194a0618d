/* SPDX-License-Identifier: MIT
 *
 * A network as what bounds need to know of it: nodes that each make a row of numbers of one or two
 * earlier ones.
 *
 *     affine   sums of products and a constant: Gemm, MatMul, Conv, pooling by means, batch norm, sums
 *              with and products by constants, linear models
 *     relu     the larger of 0 and each
 *     maximum  of groups: MaxPool, GlobalMaxPool
 *     sum      of two nodes, or their difference
 *
 *     circuit.c   networks, and linear boosters -> nodes
 *     bounds.c    the least that a linear function of a node can be while the input is in a box
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
    size_t n;        /* numbers that it makes */
    size_t from[2];  /* the nodes it reads; the second of sums alone */
    double sign;     /* sum: of the second */
    size_t *start;   /* affine, max (n + 1): where what each number is made of begins in */
    uint32_t *read;  /* which number of the node that is read, */
    double *weights; /* affine: times so much */
    double *bias;    /* (n) */
} sis__circuit_node;

/* What becomes of the last node, as the model answers it. */
typedef enum sis__circuit_end {
    SIS__END_MARGINS,  /* nothing, or the link of the model */
    SIS__END_SOFTMAX,  /* margins are log odds */
    SIS__END_LOGISTIC, /* scores: each by itself */
    SIS__END_SHARES,   /* scores: a softmax */
    SIS__END_RATIOS    /* scores: logistic ones, divided by their sum; their order is known */
} sis__circuit_end;

typedef struct sis__circuit {
    sis__circuit_node *nodes; /* the first is the input, the last what is decided about */
    size_t n, room, width, outputs, widest;
    sis__circuit_end end;
    int zero_if_missing; /* a value that is missing counts as 0 */
    size_t weights;      /* of all nodes */
} sis__circuit;

/* SIS_E_UNSUPPORTED if the network is something else; the message says at which operator. */
int sis__circuit_of_net(const sis_model *model, sis__circuit **out);
/* gblinear. */
int sis__circuit_of_linear(const sis__booster *b, sis__circuit **out);
void sis__circuit_free(sis__circuit *c);

#endif
