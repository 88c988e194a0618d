/* SPDX-License-Identifier: MIT
 *
 * Plans, runs and packed weights that a network keeps, shared by all threads that use it.
 *
 * A geometry is one way rows can come in: at the network's input or at the embeddings, with such a
 * shape. It knows whether rows may be run together and how many at a time pay. Plans are made
 * for powers of two of rows; runs (the memory of a thread) are kept for the next caller.
 */
#ifndef SIS_NET_PLAN_CACHE_H
#define SIS_NET_PLAN_CACHE_H

#include "net/plan/context.h"
#include "net/plan/net.h"

/* What a run computes. */
typedef enum sis__target {
    SIS__SCORES,
    SIS__MARGINS,
    SIS__SCORE_GRADIENT, /* in rows and parameters */
    SIS__MARGIN_GRADIENT,
    SIS__SCORE_SLOPES, /* in rows alone */
    SIS__MARGIN_SLOPES,
    SIS__N_TARGETS
} sis__target;

typedef struct sis__geometry {
    int start;       /* value that rows are fed to */
    int counted;     /* its first axis counts rows */
    size_t fixed;    /* runs are of so many rows, whatever is asked; 0: any number */
    size_t n_values; /* of one row */
    size_t rank, dims[SIS__MAX_RANK]; /* of one row; without the axis that counts them */
    size_t n_outputs;                 /* of one row */
    int batched;                      /* rows may be run together */
    int by_value;   /* shapes depend on values: a plan for each row (sis__cache_evaluate) */
    size_t chunk;   /* rows of the largest run, a power of two */
    size_t users;   /* calls under way */
    size_t used_at; /* when it was last asked for */
    double flops;   /* of one row */
    struct sis__plan *plans[SIS__N_TARGETS][32]; /* by target and log2 of rows */
    struct sis__runs *runs[SIS__N_TARGETS][32];  /* runs not in use */
    struct sis__geometry *next;
} sis__geometry;

/* How a row comes in. */
typedef struct sis__row_form {
    int embedded;               /* as embeddings, not as ids */
    size_t n_values;            /* of one row */
    const sis_net_shape *shape; /* as sis_net_batch has it */
} sis__row_form;

struct sis__cache *sis__cache_new(void);
void sis__cache_free(struct sis__cache *c);

/* The geometry for such rows, made on first use; give it back with sis__cache_done. A
 * network keeps a few: one that rows of a thousand lengths go through does not keep a thousand
 * plans. */
int sis__cache_geometry(const sis_net *net, const sis__row_form *form, sis__geometry **out);
void sis__cache_done(const sis_net *net, sis__geometry *g);

/* A run for 2^log2_rows rows, and its return. */
int sis__cache_take(const sis_net *net, sis__geometry *g, sis__target t, int log2_rows,
                    sis__run **r);
void sis__cache_give(const sis_net *net, sis__geometry *g, sis__target t, int log2_rows,
                     sis__run *r);

/* One row of a geometry whose shapes depend on values: its results, or what goes into the last
 * activation, (n_outputs) floats. */
int sis__cache_evaluate(const sis_net *net, const sis__geometry *g, int margins, const float *row,
                        float *out);

/* Plans of walks (shared.h). */
struct sis__shared_plans *sis__cache_shared(const sis_net *net);

/* Forget everything derived from weights. */
void sis__cache_clear(struct sis__cache *c);

/* b packed, found or made; for matrices that belong to the document. */
int sis__cache_pack(const sis_net *net, const sis__matrix *b, const float **packed);

/* Is it finite all over, times its alpha? Looked at once for all plans if it has been packed. */
int sis__cache_finite(const sis_net *net, const sis__matrix *b);

/* What an operator made of a node's attributes alone, which is large and the same in every plan. It
 * lives in memory that belongs to `arena`, a plan with nothing else in it. Keeping one takes the arena
 * over, also on failure. NULL: there is none yet. */
typedef struct sis__made {
    const void *node; /* of the document */
    const void *value;
    uint64_t seen; /* attributes that were read for it */
    sis__plan *arena;
} sis__made;
const sis__made *sis__cache_made(const sis_net *net, const void *node);
int sis__cache_keep_made(const sis_net *net, const sis__made *made);

/* Copy one row of floats to where a run takes it. */
void sis__feed_row(const sis__geometry *g, sis__run *r, size_t row, const float *values);

#endif
