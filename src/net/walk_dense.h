/* SPDX-License-Identifier: MIT
 *
 * What walks over dense layers are made of: finding a layer in a plan, and turning what stands at
 * the cut into margins.
 */
#ifndef SIS_NET_WALK_DENSE_H
#define SIS_NET_WALK_DENSE_H

#include "net/face.h"

/* ---- Layers -------------------------------------------------------------------------------- */

/* y (1, out) = x (1, in) . w (in, out) + bias: Gemm, or MatMul with or without Add. */
typedef struct sis__dense {
    size_t in, out;
    const float *packed;            /* w packed for the kernel */
    int from, to;                   /* tensors: x, and y with its bias */
    const sis__step *product, *add; /* add: NULL if there is none */
} sis__dense;

/* The layer that reads a tensor; 0 if what reads it is none. */
int sis__dense_at(const sis__plan *p, int tensor, sis__dense *layer);

/* What a Relu that reads a tensor computes, behind anything that leaves values as they are; -1 if
 * it is read by something else. */
int sis__dense_rectified(const sis__plan *p, int tensor);

/* Row i of w into row (out). */
void sis__dense_row(const sis__dense *layer, size_t i, float *row);

/* ---- From the cut to margins ------------------------------------------------------------------ */

/* Rows at the cut are what the last activation reads; or a rectified dense layer away from that; or
 * farther, and the head takes over. The first two are for at most SIS__NARROW outputs. */
typedef enum sis__distance { SIS__HERE, SIS__NEXT, SIS__FAR } sis__distance;

enum {
    SIS__NARROW = 16,
    SIS__ENDING_BLOCK = 48, /* rows at a time, a multiple of 16 */
};

typedef struct sis__ending {
    sis__distance distance;
    sis__head *head;      /* exact, for all three */
    size_t width;         /* of a row at the cut */
    size_t stride;        /* of rows in memory: width rounded up to 16, the rest zero */
    size_t outputs;       /* of the network */
    size_t which;         /* of them is explained */
    int softmax;          /* its margin is log-odds; else that output itself */
    float *w;             /* SIS__NEXT: (stride, 16) */
    float *start, *added; /* (16) its bias */
    float *rows;          /* (block, stride) what margins are asked for */
    float *z;             /* (block, 16) */
    float *turned;        /* (16, 16) */
} sis__ending;

/* How far it is from the output of a layer. */
sis__distance sis__ending_distance(const sis__face *f, const sis__dense *layer);

int sis__ending_init(sis__ending *e, sis__face *f, const sis__dense *cut);
void sis__ending_release(sis__ending *e);

/* The least that values in `rows` may be: SIS__NEXT takes them rectified. */
float sis__ending_low(const sis__ending *e);

/* Margins of the first n of `rows`. A row gives the same margin whatever n. Where it is not far, the
 * row's pre-activations are in e->z afterwards. */
int sis__ending_margins(sis__ending *e, size_t n, double *margins);

/* The margin of one row at the cut as a full pass computes it. */
int sis__ending_exact(sis__ending *e, const float *row, double *margin);

/* How large the numbers are whose rounding shows in the margin: of the first of the rows that margins
 * were computed of last. */
double sis__ending_size(const sis__ending *e, double margin);

#endif
