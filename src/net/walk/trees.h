/* SPDX-License-Identifier: MIT
 *
 * Walks over models that are sums: of leaves (trees_forest.c) or of products
 * (trees_linear.c). The operators add up in double in a fixed order and round to float.
 *
 * Leaves are always added up in that order (src/trees/walk.c). Of products, a candidate's sums are
 * those of the base plus a few terms that change. Added up like that they
 * may differ from the operator's in the last digits of a double, by at most `bound`. So they are
 * rounded twice, with the bound added and subtracted: if both give the same floats, these are the
 * operator's, to the bit; in the rare other case the terms are added up again in the operator's
 * order.
 */
#ifndef SIS_NET_WALK_TREES_H
#define SIS_NET_WALK_TREES_H

#include "net/walk/entry.h"

typedef struct sis__additive sis__additive;

struct sis__additive {
    size_t n;         /* sums */
    size_t outputs;   /* scores made of them */
    size_t scores_at; /* which output of the step they are */
    double *bound;    /* (n) NULL: changes are of no use, always ask for totals */
    const char *note; /* what is computed for a candidate */

    /* The features that are masked, all of them or one more. */
    void (*reset)(sis__additive *s, const unsigned char *masked);
    void (*mask)(sis__additive *s, int feature);
    /* Sums with one more masked (-1: as it is), in the operator's order. */
    void (*total)(sis__additive *s, int feature, double *sums);
    /* About what masking one more adds to each; only asked with `bound`. */
    void (*change)(sis__additive *s, int feature, double *change);
    /* Does masking one more leave all terms as they are? NULL: not known. */
    int (*idle)(sis__additive *s, int feature);
    /* Sums to floats: must not decrease where a sum increases. Then to scores, in place. */
    void (*round)(const sis__additive *s, const double *sums, float *raw);
    void (*finish)(const sis__additive *s, float *scores);
    void (*free)(sis__additive *s); /* NULL: all is in the rule's memory */
};

/* Of the step that reads the entry. SIS_E_UNSUPPORTED if it is another operator. */
int sis__forest_new(const sis__entry *f, const sis__step *s, sis__arena *memory,
                    sis__additive **out);
int sis__linear_new(const sis__entry *f, const sis__step *s, sis__arena *memory,
                    sis__additive **out);

#endif
