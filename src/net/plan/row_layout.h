/* SPDX-License-Identifier: MIT
 *
 * A row layout is one form of input rows: fed at the network's input or at the embeddings, with a
 * given shape. It knows whether rows may be run together and how many at a time are fast. It holds
 * plans for powers of two of rows (shared.h), and idle runs (the memory of a thread) for the next
 * caller.
 */
#ifndef SIS_NET_PLAN_ROW_LAYOUT_H
#define SIS_NET_PLAN_ROW_LAYOUT_H

#include "net/plan/context.h"
#include "net/plan/net.h"
#include "net/plan/shared.h"

/* The result of a run. */
typedef enum sis__target {
    SIS__SCORES,
    SIS__MARGINS,
    SIS__SCORE_GRADIENT, /* with respect to rows and parameters */
    SIS__MARGIN_GRADIENT,
    SIS__SCORE_SLOPES, /* with respect to rows only */
    SIS__MARGIN_SLOPES,
    SIS__N_TARGETS
} sis__target;

typedef struct sis__row_layout {
    int start;                        /* value that takes the rows */
    int counted;                      /* its first axis is the batch */
    size_t fixed;                     /* runs always have this many rows; 0: any number */
    size_t n_values;                  /* of one row */
    size_t rank, dims[SIS__MAX_RANK]; /* of one row, without the batch axis */
    size_t n_outputs;                 /* of one row */
    int batched;                      /* several rows may be run together */
    int whole;                        /* its outputs are integers or booleans */
    int by_value;   /* shapes depend on values, such as the number of words: a plan for each row
                   * (sis__row_layout_evaluate) */
    size_t chunk;   /* rows of the largest run, a power of two */
    size_t users;   /* number of current callers */
    size_t used_at; /* time of the last request */
    double flops;   /* of one row */
    sis__shared_plan *plans[SIS__N_TARGETS][32]; /* by target and log2 of rows */
    struct sis__runs *runs[SIS__N_TARGETS][32];  /* idle runs */
    struct sis__row_layout *next;
} sis__row_layout;

/* The form of a row. */
typedef struct sis__row_form {
    int embedded;               /* fed as embeddings, not as ids */
    size_t n_values;            /* of one row */
    const sis_net_shape *shape; /* as in sis_net_batch */
} sis__row_form;

/* The layout for such rows, made on first use; return it with sis__row_layout_done(). A network
 * keeps the few most recently used. */
int sis__row_layout_get(const sis_net *net, const sis__row_form *form, sis__row_layout **out);
void sis__row_layout_done(const sis_net *net, sis__row_layout *g);

/* The inputs of a plan for this number of rows. */
sis__feed sis__row_layout_rows(const sis__row_layout *g, size_t rows);

/* Borrow a run for 2^log2_rows rows, and return it. */
int sis__row_layout_take(const sis_net *net, sis__row_layout *g, sis__target t, int log2_rows,
                         sis__run **r);
void sis__row_layout_give(const sis_net *net, sis__row_layout *g, sis__target t, int log2_rows,
                          sis__run *r);

/* One row of a layout whose shapes depend on values: (n_outputs) scores, or inputs of the last
 * activation. */
int sis__row_layout_evaluate(const sis_net *net, const sis__row_layout *g, int margins,
                             const float *row, float *out);

/* Copy one row of floats into the input of a run. */
void sis__row_layout_feed(const sis__row_layout *g, sis__run *r, size_t row, const float *values);

/* The layouts of a network. Clearing drops all; none may be in use. */
struct sis__row_layouts *sis__row_layouts_new(void);
void sis__row_layouts_clear(struct sis__row_layouts *c);
void sis__row_layouts_free(struct sis__row_layouts *c);

#endif
