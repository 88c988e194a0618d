/* SPDX-License-Identifier: MIT
 *
 * Bounds of a circuit (circuit.h) whose input lies in a box. Intervals go forward through the nodes; a
 * linear function of the last node is bounded backwards (CROWN, Zhang et al. 2018): it becomes one of
 * the input, a ReLU whose sign is open being replaced by a line below or above it. Where a sign is
 * assumed (a branch), the assumption is weighed in (Wang et al. 2021). The slopes of lines below and these
 * weights are free to choose; any choice is sound, and sis__bounds_tune() looks for good ones. Bounds
 * leave room for the rounding of a network that computes in single precision.
 */
#ifndef SIS_PROVE_BOUNDS_H
#define SIS_PROVE_BOUNDS_H

#include "prove/circuit.h"

enum { SIS__BOUNDS_LANES = 16 };

typedef struct sis__bounds {
    const sis__circuit *c;
    double **low, **high; /* (nodes) what each number can be; those of the input are the caller's */
    double **size;        /* affine, sum: how large the numbers are whose sum each is */
    double **coef;        /* (nodes) coefficients of the last function(s), lanes side by side */
    signed char **split;  /* ReLU: the sign that is assumed, or 0 */
    double **alpha;       /* ReLU: slope of the line below */
    double **beta;        /* ReLU: weight of what is assumed */
    double **moved;       /* ReLU (2 n): how far both have been moved */
    double **point;       /* a value of each number */
    int tuned;            /* slopes are no longer those of the beginning */
    double *mean;         /* (width) of the inputs that the last tuning met */
    double *goal;         /* (outputs) the function of the last node that is bounded */
    double work;          /* weights gone through */
    uint32_t *
        *listed; /* (nodes) numbers that the functions depend on, where only these are looked at, */
    size_t *n_listed;     /* (nodes) so many, */
    unsigned char **mark; /* (nodes) and which these are */
    int local;
    double **was_low,
        **was_high;        /* (nodes) bounds that were tightened last, with the input's box then */
    unsigned char **other; /* (nodes) numbers that depend on an input whose box is another one */
    int remembers;         /* there are such */
} sis__bounds;

int sis__bounds_init(sis__bounds *b, const sis__circuit *c);
void sis__bounds_release(sis__bounds *b);

/* Intervals of all nodes, by the input's and what is assumed. tight: what ReLUs read is bounded backwards
 * too, where that is not too much work (2: nothing is assumed; what depends on inputs alone whose box is that of the
 * last time is not bounded again). 0: no input in the box fits what is assumed. */
int sis__bounds_forward(sis__bounds *b, int tight);

/* The least that functions of a node can be: b->coef[node] (numbers, lanes) has them. coef[0]: how
 * they depend on the input. bound (lanes). */
void sis__bounds_back(sis__bounds *b, size_t node, size_t lanes, double *bound);

/* The least that b->goal can be, with slopes and weights that are made better in so many steps, until it
 * is above `enough`. */
double sis__bounds_tune(sis__bounds *b, int steps, double enough);

/* The ReLU whose sign costs the last function most, 0: none is open. */
int sis__bounds_widest(const sis__bounds *b, size_t *node, size_t *number);

/* Forget what is assumed; slopes as they are at first. */
void sis__bounds_reset(sis__bounds *b);

/* How b->goal depends on the input at one point of it (b->point[0]): coef[0]. */
void sis__bounds_slope(sis__bounds *b);

#endif
