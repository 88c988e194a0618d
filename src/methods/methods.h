/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of the methods. In the order in which they are used:
 *
 *     masked_scorer.c     scores of one input with any set of features present
 *     gradient_points.c   the input and its mask as points where the model has gradients
 *     perturb.c, ig.c, lime.c   a masked scorer -> attributions and importances
 *     ridge.c      the regression of lime
 *     order.c      importances -> order -> length of its prefix
 *     gradient.c   batched gradient SIS
 *     quick.c      divide and conquer: few evaluations
 *     contrast.c   features that lose the decision, by the search for those that keep it
 *     explain.c    options; one input, many inputs
 *     attack.c     Carlini-Wagner (sis/attack.h)
 *     parts.c, deck.c, stats*.c   scores of parts of inputs; hot decks; statistics
 *
 * A *margin* is what a model returns; a *score* is link(margin). With several mask samples margins
 * are mean scores and there is no link.
 */
#ifndef SIS_METHODS_METHODS_H
#define SIS_METHODS_METHODS_H

#include <sis/explain.h>

#include "core/input.h"

/* ---- masked_scorer.c ----------------------------------------------------------------------- */

typedef struct sis__masked_scorer {
    const sis_model *model;
    const sis_input *in;
    const sis_opt *opt;
    sis__prepared_input features;
    double (*link)(double);
    size_t evaluations;
    double fraction;        /* progress within this phase */
    double stretch;         /* progress that the current copies will add */
    double from, to;        /* start and end of the phase within all of the work */
    double last_report;     /* time of the last progress report */
    double began;           /* start, in seconds */
    int limited, cut;       /* do limits apply? has one been reached? */
    size_t room;            /* rows per call of the model */
    double *rows;           /* (room, n_values) */
    double *answers;        /* (room, n_outputs) */
    unsigned char *present; /* (n) scratch */
    double high, low;       /* the sum of scores over mask samples so far (base/sum.h) */
} sis__masked_scorer;

int sis__scorer_init(sis__masked_scorer *v, const sis_model *model, const sis_input *input,
                     const sis_opt *opt);
void sis__scorer_release(sis__masked_scorer *v);

/* Start the next phase of the work, which ends at `to` (0..1). */
void sis__scorer_phase(sis__masked_scorer *v, double to);

/* Progress of a nested search: ctx is the scorer, whose fraction becomes p->walk. */
int sis__scorer_inside(void *ctx, const sis_progress *p);

/* Copies of the input to be scored. `choose` flags the features present in copy i; absent features
 * are always masked. */
typedef struct sis__copies {
    size_t n;
    void (*choose)(void *ctx, size_t i, unsigned char *present);
    void *ctx;
    const double *mask; /* (n_samples, n_values); NULL: the input's */
} sis__copies;

/* margins (copies->n) */
int sis__scorer_margins(sis__masked_scorer *v, const sis__copies *copies, double *margins);

/* The margin with exactly the flagged features present. */
int sis__scorer_margin(sis__masked_scorer *v, const unsigned char *present, double *margin);

double sis__scorer_score(const sis__masked_scorer *v, double margin);
int sis__scorer_decided(const sis__masked_scorer *v, double margin);

/* Report progress; SIS_E_CANCELLED if the caller stops the search. */
int sis__scorer_tick(sis__masked_scorer *v);

/* ---- Methods -------------------------------------------------------------------------------- */

/* Result of a method. */
typedef struct sis__ranking {
    double *attributions; /* (n) */
    double *importance;   /* (n) larger comes earlier in the order */
    double sum, difference;
} sis__ranking;

int sis__perturb(sis__masked_scorer *v, sis__ranking *out);
int sis__ig(sis__masked_scorer *v, const sis_method_opt *how, sis__ranking *out);
int sis__lime(sis__masked_scorer *v, const sis_method_opt *how, sis__ranking *out);

/* ---- order.c ------------------------------------------------------------------------------- */

/* Sort features by importance, the largest first; equal ones by their numbers, the higher first. */
void sis__order_sort(int *features, size_t n, const double *importance);
/* All features except absent ones, most important first: *n of them. */
void sis__order(const sis__masked_scorer *v, const double *importance, int *order, size_t *n);
/* The caller's order (how->order), after checking its features. */
int sis__order_given(const sis__masked_scorer *v, const sis_method_opt *how, int *order, size_t *n);

/* FindSIS: *size is the length of the shortest prefix that reaches the threshold. */
int sis__order_find(sis__masked_scorer *v, const int *order, size_t n, size_t *size);

/* The score after each masking, from the last of the order to the first. */
int sis__order_trace(sis__masked_scorer *v, const int *order, size_t n, sis_trace *out);

/* The same for a subset that is not a prefix of the order (n features, most important first): first
 * the subset, then the order, then all other features. */
int sis__order_trace_first(sis__masked_scorer *v, const int *order, size_t n, sis_subset *s);

/* A subset of the first `size` features with its score, and the score of the rest. */
int sis__order_subset(sis__masked_scorer *v, const int *order, size_t size, sis_collection *out);

/* ---- gradient_points.c --------------------------------------------------------------------- */

/* The input and its mask as points at which the model has a gradient. */
typedef struct sis__gradient_points {
    size_t width, dim;
    double *input; /* (width) absent features masked */
    double *mask;  /* (n_samples, width) values that are never masked are the input's */
} sis__gradient_points;

int sis__gradient_points_init(sis__gradient_points *p, const sis__masked_scorer *v,
                              const char *method);
void sis__gradient_points_release(sis__gradient_points *p);

/* Scores and gradients at s->n points; counts as many evaluations. Fills in width and output. */
int sis__gradient_points_slopes(sis__masked_scorer *v, const sis__gradient_points *p,
                                sis_slopes *s);

/* ---- explain.c ----------------------------------------------------------------------------- */

/* Finds one subset among the features that are not `gone` (n flags), and flags its features. */
typedef struct sis__finder_of_subsets {
    int (*find)(void *ctx, sis_subset *out);
    void *ctx;
    unsigned char *gone;
    size_t max; /* stop after this many subsets; 0: find all */
} sis__finder_of_subsets;

/* Fill the subsets of a collection whose status is EXPLAINED, until the remaining features are not
 * sufficient. */
int sis__disjoint(sis__masked_scorer *v, const sis__finder_of_subsets *f, sis_collection *out);

/* ---- gradient.c, quick.c ---------------------------------------------------------------------------- */

/* Fill the subsets of a collection whose status is EXPLAINED. */
int sis__gradient(sis__masked_scorer *v, const sis_method_opt *how, sis_collection *out);
int sis__quick(sis__masked_scorer *v, const sis_method_opt *how, sis_collection *out);

/* A minimal subset of left[0..n), which is enough; most important first. `share` is the part of all
 * progress that this takes. */
int sis__quick_inside(sis__masked_scorer *v, const int *left, size_t n, double share,
                      sis_subset *out);

#endif
