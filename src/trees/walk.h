/* SPDX-License-Identifier: MIT
 *
 * The sums of a forest for one input with some features masked, and for every candidate the sums
 * with that one masked too; to the bit those of sis__forest_sums().
 */
#ifndef SIS_TREES_WALK_H
#define SIS_TREES_WALK_H

#include "trees/forest.h"

typedef struct sis__forest_walk sis__forest_walk;

/* One input, borrowed. With `single` the numbers are floats already. */
typedef struct sis__forest_input {
    const double *x, *z; /* (width) present and masked */
    const int *feature;  /* (width) of each column, -1: never masked; NULL: each its own */
    size_t n_features;
} sis__forest_input;

/* About how many bytes a walk takes. */
double sis__forest_walk_size(const sis__forest *f);

int sis__forest_walk_new(const sis__forest *f, const sis__forest_input *in, sis__forest_walk **out);
void sis__forest_walk_free(sis__forest_walk *w);

/* Start over with these masked (n_features flags), which a new walk waits for; mask one more. */
void sis__forest_walk_reset(sis__forest_walk *w, const unsigned char *masked);
void sis__forest_walk_mask(sis__forest_walk *w, int feature);

/* sums (n, n_sums) with each of n features masked too; -1: as it is. */
void sis__forest_walk_sums(sis__forest_walk *w, const int *features, size_t n, double *sums);

/* (n_features) in how many trees masking a feature leads to another leaf. */
const uint32_t *sis__forest_walk_turns(const sis__forest_walk *w);

/* About what masking a feature adds to each sum (n_sums, those of the next feature follow); -1: about
 * what the sums are. How much sums in
 * order, present ones or a candidate's, may differ from that is at most bound (n_sums) in this state;
 * 0: not known, since leaves are not added up or not finite. */
const double *sis__forest_walk_change(const sis__forest_walk *w, int feature);
int sis__forest_walk_bound(const sis__forest_walk *w, double *bound);

#endif
