/* SPDX-License-Identifier: MIT
 *
 * Random networks that begin with convolutions and the like, and a checker that holds a network's
 * own walk against full passes.
 */
#ifndef SIS_TEST_SUPPORT_NETS_H
#define SIS_TEST_SUPPORT_NETS_H

#include <stddef.h>

#include <sis/net.h>
#include <sis/walk.h>

#include "base/rng.h"

/* low..high, both among them; 1 with probability p. */
size_t between(sis__rng *r, size_t low, size_t high);
int chance(sis__rng *r, double p);

/* ---- Networks (support_nets.c) --------------------------------------------------------------- */

/* Networks of one kind; sizes, strides, activations and the like are drawn from r. */
typedef struct window_family {
    const char *name;
    int (*build)(sis__rng *r, sis_net **out);
    int embedded; /* rows are embeddings */
} window_family;

extern const window_family window_families[];
extern const size_t n_window_families;

/* ---- Walks (support_walks.c) ----------------------------------------------------------------- */

/* One input of a network to walk over. */
typedef struct walk_case {
    sis_net *net;
    int embedded;
    size_t n_values, n_features;
    double *x, *z;
    int *feature_of;
    sis_input input;
} walk_case;

/* Values and mask at random (some equal, some close), features: each value, patches of neighbours,
 * scattered groups, some values never masked. Takes the network over. */
void walk_case_init(walk_case *c, sis_net *net, int embedded, sis__rng *r);
void walk_case_release(walk_case *c);

/* The network as a model: margins by full passes, its own walk. */
sis_model walk_case_model(const walk_case *c);

/* Margins by full passes with `masked` masked and each of features[0..n) on top. */
void full_margins(const walk_case *c, const unsigned char *masked, const int *features, size_t n,
                  double *margins);

/* What was seen of walks. */
typedef struct walk_seen {
    size_t probes, exact, unchanged;
    double error;   /* largest |walk - full| / (1 + |full|) */
    double portion; /* largest part of the stated tolerance that was used */
} walk_seen;

/* Walk from a random state, `steps` masks at most, in random order or by rank; at every step probe
 * some or all that is left and compare. Fails the test if a claim of the walk is wrong. */
void check_windows(const walk_case *c, sis_walk *w, sis__rng *r, size_t steps, walk_seen *seen);

/* One selection by two walks, one of which is only asked for the best (wants = 1) or the lowest
 * (-1) margin: it may leave out others, and those alone. Returns how many it left out. */
size_t check_left_out(const walk_case *c, sis_walk *asked, sis_walk *all, int wants);

/* Compare the collection found with the network's walk with that of full passes alone. Returns the
 * number of subsets. */
size_t check_same_collection(const walk_case *c, sis__rng *r);

#endif
