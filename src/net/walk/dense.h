/* SPDX-License-Identifier: MIT
 *
 * What walks over dense layers are made of.
 *
 *     dense.c         the verbs of the walk: bases and leads of up to two layers
 *     dense_new.c     making it: tables, tolerance
 *     dense_ending.c  finding a layer in a plan, and what stands at the cut -> margins
 */
#ifndef SIS_NET_WALK_DENSE_H
#define SIS_NET_WALK_DENSE_H

#include "net/walk/entry.h"

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

/* ---- From the cut to margins ----------------------------------------------------------------- */

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

/* Margins of the first n of `rows`. A row gives the same margin whatever n. Where it is not far,
 * the row's pre-activations are in e->z afterwards. */
int sis__ending_margins(sis__ending *e, size_t n, double *margins);

/* The margin of one row at the cut as a full pass computes it. */
int sis__ending_exact(sis__ending *e, const float *row, double *margin);

/* How large the numbers are whose rounding shows in the margin: of the first of the rows that
 * margins were computed of last. */
double sis__ending_size(const sis__ending *e, double margin);

/* ---- The walk -------------------------------------------------------------------------------- */

enum { SIS__SWITCH_AT_ONCE = 16 }; /* switches that one product applies */

typedef struct sis__dense_layer {
    sis__dense dense;
    size_t wide; /* outputs rounded up to 16; everything beyond dense.out is zero */
    float *base; /* (wide) pre-activations of the present state */
    float *lead; /* (p, wide) by slot */
} sis__dense_layer;

typedef struct sis__dense_walk {
    sis_walk walk;
    const sis__subject *s;
    sis__face face;
    sis__ending ending;
    sis__dense_layer first, second;
    int deep;             /* there is a second */
    float *scale;         /* (first.wide) bounds on the terms of its sums */
    unsigned char *still; /* (p) by feature: masking provably changes nothing */
    int *slot_of;         /* (p) */
    int *feature_at;      /* (p) */
    size_t n_live;        /* slots of features that are present */
    size_t since_base, since_leads;
    double margin, size; /* of the present state; see sis__ending_size */
    double least_size;   /* numbers of this size go into sums even if these come out as 0 */
    double unit, most;   /* error to expect for size 1; the largest tolerance so far */
    float *spare;        /* (the wider layer) */
    int *place;          /* (p) by slot: place in the probe, -1: not probed */
    int block[SIS__ENDING_BLOCK]; /* slots of the ending's rows */

    /* Units between the layers. */
    int *on;          /* (first.wide) -1: on in the base, 0: off */
    float *w;         /* (first.wide, second.wide) */
    float *on_packed; /* w packed, rows of units that are off zero */
    size_t n_found;   /* units that the candidate at hand switches, and their new sizes */
    int *found;
    float *sizes;
    float *some_w; /* (SIS__SWITCH_AT_ONCE, second.wide) rows of units that switch, and packed */
    float *some_packed;
    float *columns; /* (p, SIS__SWITCH_AT_ONCE) */
} sis__dense_walk;

extern const sis_walk_ops sis__dense_ops;

/* The last layer that has leads. */
static inline sis__dense_layer *sis__dense_cut(sis__dense_walk *w) {
    return w->deep ? &w->second : &w->first;
}

#endif
