/* SPDX-License-Identifier: MIT
 *
 * What the tests of incremental walks share: one input to walk over, full passes to hold the walk
 * against, and whole sweeps in which everything it says is checked.
 */
#ifndef SIS_TEST_SUPPORT_NETS_RNN_H
#define SIS_TEST_SUPPORT_NETS_RNN_H

#include <stddef.h>

#include <sis/net.h>
#include <sis/sis.h>
#include <sis/walk.h>

#include "base/rng.h"

/* A network and one input to explain; owns everything. */
typedef struct subject {
    sis_net *net;
    int embedded;
    size_t n_values, n_features, n_outputs;
    double *x, *z;
    int *map; /* NULL: each value is a feature */
    sis_input input;
    sis_model model; /* predict by margins, walk by sis_net_walk */
} subject;

/* How values become features. */
typedef enum maps {
    EACH,   /* every value */
    GROUPS, /* at random, some values never masked */
    STEPS   /* all values of a position; some positions never masked, some features own several */
} maps;

/* x and mask: n values each, owned from here on. width: values of a position, for STEPS. Takes the
 * network over as well. */
void subject_init(subject *s, sis_net *net, int embedded, size_t n, double *x, double *z);
void subject_map(subject *s, sis__rng *r, maps kind, size_t width);
void subject_release(subject *s);

/* n numbers around 0; mask like values but for some that are equal. Freed by subject_release. */
double *random_doubles(sis__rng *r, size_t n, double size);
double *random_mask(sis__rng *r, const double *x, size_t n, double size);

/* Margin with these features masked, by a full pass; `top` is one more, or -1. */
double full_margin(const subject *s, const unsigned char *masked, int top);

/* A walk of the network's own; fails the test if there is none. */
sis_walk *subject_walk(const subject *s);

/* How far walks were from full passes. */
typedef struct deviation {
    double worst;   /* largest |error| / (tolerance * (1 + |margin|)); exact walks: 0 or infinity */
    double error;   /* largest |error| / (1 + |margin|) */
    size_t margins; /* how many were compared */
    size_t unchanged; /* how many were answered as provably unchanged */
} deviation;

/* Reset to a random state, then probe random subsets and mask in random order to the end, checking
 * every margin (every `rare`-th if it is above 1) and every claim that nothing changes. */
void check_sweep(const subject *s, sis_walk *w, sis__rng *r, size_t rare, deviation *d);

/* Several sweeps with one walk. */
void check_walk(const subject *s, sis__rng *r, int sweeps, size_t rare, deviation *d);

/* The collection of this subject for some random thresholds is the one that full passes give. */
void check_collections(const subject *s, sis__rng *r, int n);

/* sis_net_walk, a reset, a probe and a mask; ctx is a subject. For with_failing_allocations. */
int try_walk(void *ctx);

#endif
