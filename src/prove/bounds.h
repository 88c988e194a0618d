/* SPDX-License-Identifier: MIT
 *
 * Bounds of a circuit (circuit.h) whose input lies in a box. Intervals go forward through the
 * nodes; a linear function of the last node is bounded backwards (CROWN, Zhang et al. 2018): it
 * becomes a function of the input, and a ReLU whose sign is open is replaced by a line below or
 * above it. Assumed signs (branches) enter as weighted constraints (Wang et al. 2021). The slopes
 * of the lower lines and these weights are free parameters: any choice is sound, and
 * sis__bounds_tune() searches for good ones. Bounds include the rounding error of a network that
 * computes in single precision.
 */
#ifndef SIS_PROVE_BOUNDS_H
#define SIS_PROVE_BOUNDS_H

#include "prove/circuit.h"

enum { SIS__BOUNDS_LANES = 16 };

/* Bounds when they were last tightened. */
typedef struct sis__bounds_before {
    double **was_low, **was_high; /* (nodes) and the input's box then */
    unsigned char **other; /* (nodes) numbers that depend on an input whose box has changed */
    int remembers;         /* there are such bounds */
} sis__bounds_before;

typedef struct sis__bounds {
    const sis__circuit *c;
    double **low, **high; /* (nodes) range of each number; the caller sets those of the input */
    double **size;        /* affine, sum: sum of the absolute values of the terms */
    double **coef;        /* (nodes) coefficients of the last function(s), lanes side by side */
    signed char **split;  /* ReLU: the assumed sign, or 0 */
    double **alpha;       /* ReLU: slope of the lower line */
    double **beta;        /* ReLU: weight of the assumption */
    double **moved;       /* ReLU (2 n): distance that both have been moved */
    double **point;       /* a value of each number */
    int tuned;            /* slopes have been tuned */
    double *mean;         /* (width) of the inputs during the last tuning */
    double *goal;         /* (outputs) coefficients of the function that is bounded */
    double work;          /* number of weights processed */
    uint32_t **listed;    /* (nodes) indices of the numbers that the functions depend on, */
    size_t *n_listed;     /* (nodes) how many, */
    unsigned char **mark; /* (nodes) and their flags */
    int local;
    sis__bounds_before last;
} sis__bounds;

int sis__bounds_init(sis__bounds *b, const sis__circuit *c);
void sis__bounds_release(sis__bounds *b);

/* Compute the intervals of all nodes from the input's box and the assumptions. tight: the inputs of
 * ReLUs are bounded backwards too, if that is not too much work (2: without assumptions; numbers
 * whose inputs still have the last box are not bounded again). Returns 0 if no input in the box
 * satisfies the assumptions. */
int sis__bounds_forward(sis__bounds *b, int tight);

/* Lower bounds of functions of a node, given in b->coef[node] (numbers, lanes). Sets coef[0], their
 * coefficients in the input. bound (lanes). */
void sis__bounds_back(sis__bounds *b, size_t node, size_t lanes, double *bound);

/* A lower bound of b->goal, improved by tuning slopes and weights for this many steps or until it
 * is above `enough`. */
double sis__bounds_tune(sis__bounds *b, int steps, double enough);

/* The ReLU with an open sign that weakens the last function's bound most; 0: none is open. */
int sis__bounds_widest(const sis__bounds *b, size_t *node, size_t *number);

/* Drop all assumptions and tuned slopes. */
void sis__bounds_reset(sis__bounds *b);

/* The gradient of b->goal at the input b->point[0]: coef[0]. */
void sis__bounds_slope(sis__bounds *b);

#endif
