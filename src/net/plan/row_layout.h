/* SPDX-License-Identifier: MIT
 *
 * A row layout is one way rows can come in: at the network's input or at the embeddings, with such a
 * shape. It knows whether rows may be run together and how many at a time pay. It holds plans
 * for powers of two of rows (shared.h), and runs (the memory of a thread) for the next caller.
 */
#ifndef SIS_NET_PLAN_ROW_LAYOUT_H
#define SIS_NET_PLAN_ROW_LAYOUT_H

#include "net/plan/context.h"
#include "net/plan/net.h"
#include "net/plan/shared.h"

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

typedef struct sis__row_layout {
    int start;       /* value that rows are fed to */
    int counted;     /* its first axis counts rows */
    size_t fixed;    /* runs are of so many rows, whatever is asked; 0: any number */
    size_t n_values; /* of one row */
    size_t rank, dims[SIS__MAX_RANK]; /* of one row; without the axis that counts them */
    size_t n_outputs;                 /* of one row */
    int batched;                      /* rows may be run together */
    int whole;                        /* its outputs are integers or truth values */
    int by_value; /* shapes depend on values, as the number of words in a text: a plan for each row
                       (sis__row_layout_evaluate) */
    size_t chunk; /* rows of the largest run, a power of two */
    size_t users; /* calls under way */
    size_t used_at;                              /* when it was last asked for */
    double flops;                                /* of one row */
    sis__shared_plan *plans[SIS__N_TARGETS][32]; /* by target and log2 of rows */
    struct sis__runs *runs[SIS__N_TARGETS][32];  /* runs not in use */
    struct sis__row_layout *next;
} sis__row_layout;

/* How a row comes in. */
typedef struct sis__row_form {
    int embedded;               /* as embeddings, not as ids */
    size_t n_values;            /* of one row */
    const sis_net_shape *shape; /* as sis_net_batch has it */
} sis__row_form;

/* The layout for such rows, made on first use; give it back with sis__row_layout_done. A network keeps
 * the few that were used last. */
int sis__row_layout_get(const sis_net *net, const sis__row_form *form, sis__row_layout **out);
void sis__row_layout_done(const sis_net *net, sis__row_layout *g);

/* The inputs of a plan for this number of rows. */
sis__feed sis__row_layout_rows(const sis__row_layout *g, size_t rows);

/* A run for 2^log2_rows rows, and its return. */
int sis__row_layout_take(const sis_net *net, sis__row_layout *g, sis__target t, int log2_rows,
                         sis__run **r);
void sis__row_layout_give(const sis_net *net, sis__row_layout *g, sis__target t, int log2_rows,
                          sis__run *r);

/* One row of a layout whose shapes depend on values: its results, or what goes into the last
 * activation, (n_outputs) floats. */
int sis__row_layout_evaluate(const sis_net *net, const sis__row_layout *g, int margins,
                             const float *row, float *out);

/* Copy one row of floats to where a run takes it. */
void sis__row_layout_feed(const sis__row_layout *g, sis__run *r, size_t row, const float *values);

/* The layouts of a network. Clearing forgets all; none may be in use. */
struct sis__row_layouts *sis__row_layouts_new(void);
void sis__row_layouts_clear(struct sis__row_layouts *c);
void sis__row_layouts_free(struct sis__row_layouts *c);

#endif
