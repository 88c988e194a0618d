/* SPDX-License-Identifier: MIT
 *
 * Walks over models whose scores are sums: of leaf values (trees_forest.c) or of products of
 * weights and values (trees_linear.c). The operators add in double in a fixed order and round to
 * float.
 *
 * Leaves are always added in that order (src/trees/walk.c). For products, a candidate's sums are
 * those of the base plus a few changed terms. They may differ from the operator's sums by at most
 * `bound`. So each sum is rounded twice, with the bound added and subtracted. If both give the same
 * float, the operator's sum gives it too. Otherwise, which is rare, the terms are added again in
 * the operator's order.
 */
#ifndef SIS_NET_WALK_TREES_H
#define SIS_NET_WALK_TREES_H

#include "net/walk/entry.h"

typedef struct sis__additive sis__additive;

struct sis__additive {
    size_t n;         /* number of sums */
    size_t outputs;   /* number of scores */
    size_t scores_at; /* output of the step that holds the scores */
    double *bound;    /* (n) NULL: changes are not available, use totals */
    const char *note; /* describes the work per candidate */

    /* Set the masked features; mask one more. */
    void (*reset)(sis__additive *s, const unsigned char *masked);
    void (*mask)(sis__additive *s, int feature);
    /* Sums with one more feature masked (-1: none), in the operator's order. */
    void (*total)(sis__additive *s, int feature, double *sums);
    /* Approximate change of each sum if one more is masked; only called if `bound` is set. */
    void (*change)(sis__additive *s, int feature, double *change);
    /* Does masking one more leave all terms unchanged? NULL: not known. */
    int (*idle)(sis__additive *s, int feature);
    /* Round sums to floats, which must be monotone; then turn these into scores, in place. */
    void (*round)(const sis__additive *s, const double *sums, float *raw);
    void (*finish)(const sis__additive *s, float *scores);
    void (*free)(sis__additive *s); /* NULL: the rule's memory holds everything */
};

/* For the step that reads the entry. SIS_E_UNSUPPORTED: another operator. */
int sis__forest_new(const sis__entry *f, const sis__step *s, sis__arena *memory,
                    sis__additive **out);
int sis__linear_new(const sis__entry *f, const sis__step *s, sis__arena *memory,
                    sis__additive **out);

#endif
