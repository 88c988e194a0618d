/* SPDX-License-Identifier: MIT
 *
 * What the files of the methods share. The way through them:
 *
 *     masked_scorer.c     one input through masks: scores of any choice of present features
 *     gradient_points.c   the input and its mask where the model has slopes
 *     perturb.c, ig.c, lime.c   a masked scorer -> attributions and importances
 *     ridge.c      the regression under lime
 *     order.c      importances -> order -> how many from its top
 *     gradient.c   batched gradient SIS
 *     quick.c      divide and conquer: few questions
 *     explain.c    options; one input, many inputs
 *     attack.c     Carlini-Wagner (sis/attack.h)
 *     parts.c, deck.c, stats*.c   scores of parts of inputs; hot decks; statistics
 *
 * A *margin* is what a model answers; a *score* is link(margin). With several mask samples margins
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
    double fraction;        /* how far this phase of the work is, */
    double stretch;         /* and how much further when the copies asked for now are scored */
    double from, to;        /* the phase: where it begins and ends in all of the work */
    double told;            /* when progress was last reported */
    double began;           /* seconds */
    int limited, cut;       /* do the limits of the options count? has one been reached? */
    size_t room;            /* rows that go to the model at once */
    double *rows;           /* (room, n_values) */
    double *answers;        /* (room, n_outputs) */
    unsigned char *present; /* (n) scratch */
    double high, low;       /* the sum of scores over mask samples so far (base/sum.h) */
} sis__masked_scorer;

int sis__scorer_init(sis__masked_scorer *v, const sis_model *model, const sis_input *input,
                     const sis_opt *opt);
void sis__scorer_release(sis__masked_scorer *v);

/* The next phase of the work, up to there (0..1). */
void sis__scorer_phase(sis__masked_scorer *v, double to);

/* Progress of a search inside this one: ctx is the scorer, whose fraction becomes p->walk. */
int sis__scorer_inside(void *ctx, const sis_progress *p);

/* Copies of the input to be scored. `choose` flags the features present in copy i; absent ones are
 * masked whatever it says. */
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

/* Tell the caller how far we are; SIS_E_CANCELLED if it wants no more. */
int sis__scorer_tick(sis__masked_scorer *v);

/* ---- Methods -------------------------------------------------------------------------------- */

/* What a method finds. */
typedef struct sis__ranking {
    double *attributions; /* (n) */
    double *importance;   /* (n) the larger, the earlier in the order */
    double sum, difference;
} sis__ranking;

int sis__perturb(sis__masked_scorer *v, sis__ranking *out);
int sis__ig(sis__masked_scorer *v, const sis_method_opt *how, sis__ranking *out);
int sis__lime(sis__masked_scorer *v, const sis_method_opt *how, sis__ranking *out);

/* ---- order.c ------------------------------------------------------------------------------- */

/* All features but the absent ones, most important first: *n of them. */
void sis__order(const sis__masked_scorer *v, const double *importance, int *order, size_t *n);
/* That of the caller (how->order), if it is one of the features there are. */
int sis__order_given(const sis__masked_scorer *v, const sis_method_opt *how, int *order, size_t *n);

/* FindSIS: *size is the fewest features from the top that reach the threshold. */
int sis__order_find(sis__masked_scorer *v, const int *order, size_t n, size_t *size);

/* The score after each masking, from the last of the order to the first. */
int sis__order_trace(sis__masked_scorer *v, const int *order, size_t n, sis_trace *out);

/* The same for a subset that is not the top of its method's order (n of the features, most important
 * first): the subset comes first, then the order, then what is not in it. */
int sis__order_trace_first(sis__masked_scorer *v, const int *order, size_t n, sis_subset *s);

/* A subset of the first `size` with its score, and the score of the rest. */
int sis__order_subset(sis__masked_scorer *v, const int *order, size_t size, sis_collection *out);

/* ---- gradient_points.c --------------------------------------------------------------------- */

/* The input and its mask as points, where the model has a gradient. */
typedef struct sis__gradient_points {
    size_t width, dim;
    double *input; /* (width) absent features masked */
    double *mask;  /* (n_samples, width) what is never masked as in the input */
} sis__gradient_points;

int sis__gradient_points_init(sis__gradient_points *p, const sis__masked_scorer *v,
                              const char *method);
void sis__gradient_points_release(sis__gradient_points *p);

/* Scores and slopes at s->n points, at the cost of as many evaluations. Width and output are filled
 * in here. */
int sis__gradient_points_slopes(sis__masked_scorer *v, const sis__gradient_points *p,
                                sis_slopes *s);

/* ---- explain.c ----------------------------------------------------------------------------- */

/* How one subset after the other is found: of what is not `gone` (n flags), where those of each are
 * put once it is there. */
typedef struct sis__finder_of_subsets {
    int (*find)(void *ctx, sis_subset *out);
    void *ctx;
    unsigned char *gone;
    size_t most; /* stop after that many; 0: find all */
} sis__finder_of_subsets;

/* Fill the subsets of a collection whose status is EXPLAINED until what is left is not enough. */
int sis__disjoint(sis__masked_scorer *v, const sis__finder_of_subsets *f, sis_collection *out);

/* ---- gradient.c, quick.c ---------------------------------------------------------------------------- */

/* Fill the subsets of a collection whose status is EXPLAINED. */
int sis__gradient(sis__masked_scorer *v, const sis_method_opt *how, sis_collection *out);
int sis__quick(sis__masked_scorer *v, const sis_method_opt *how, sis_collection *out);

#endif
