/* SPDX-License-Identifier: MIT
 *
 * The sums of a forest for one input with some features masked, and for every candidate the sums
 * with one more feature masked; bit for bit those of sis__forest_sums().
 */
#ifndef SIS_TREES_WALK_H
#define SIS_TREES_WALK_H

#include "trees/forest.h"

typedef struct sis__forest_walk sis__forest_walk;

/* One input, borrowed. With `single` the numbers are already floats. */
typedef struct sis__forest_input {
    const double *x, *z; /* (width) present and masked */
    const int *feature;  /* (width) of each column, -1: never masked; NULL: the column */
    size_t n_features;
} sis__forest_input;

/* Approximate size of a walk in bytes. */
double sis__forest_walk_size(const sis__forest *f);

int sis__forest_walk_new(const sis__forest *f, const sis__forest_input *in, sis__forest_walk **out);
void sis__forest_walk_free(sis__forest_walk *w);

/* Restart with these features masked (n_features flags); a new walk needs it before anything else.
 * _mask: mask one more. */
void sis__forest_walk_reset(sis__forest_walk *w, const unsigned char *masked);
void sis__forest_walk_mask(sis__forest_walk *w, int feature);

/* sums (n, n_sums) with each of n features masked as well; -1: the current state. */
void sis__forest_walk_sums(sis__forest_walk *w, const int *features, size_t n, double *sums);

/* (n_features) number of trees in which masking a feature leads to another leaf. */
const uint32_t *sis__forest_walk_turns(const sis__forest_walk *w);

/* Estimated change of each sum when a feature is masked (n_sums; the next feature's follow); -1:
 * the estimated sums themselves. bound (n_sums): the largest difference between these estimates and
 * sums added in order, in this state. Returns 0 if it is unknown because leaves are not added up or
 * not finite. */
const double *sis__forest_walk_change(const sis__forest_walk *w, int feature);
int sis__forest_walk_bound(const sis__forest_walk *w, double *bound);

#endif
