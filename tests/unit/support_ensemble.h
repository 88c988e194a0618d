/* SPDX-License-Identifier: MIT
 *
 * Random tree ensembles as attributes of ONNX nodes.
 */
#ifndef SIS_TEST_SUPPORT_ENSEMBLE_H
#define SIS_TEST_SUPPORT_ENSEMBLE_H

#include <sis/net.h>

#include "base/rng.h"

enum { ENSEMBLE_NODES = 4000, ENSEMBLE_WEIGHTS = 16000 };

/* What grows. */
typedef struct ensemble_shape {
    size_t columns;
    size_t n_weights; /* of a leaf: the outputs from the first on */
    int sparse;       /* some leaves leave outputs out */
    int modes;        /* 4: comparisons of order; 6: of equality, too */
    double steps;     /* weights are whole multiples of 1 / steps; 0: any */
    float (*threshold)(const void *ctx, size_t column, sis__rng *r);
    const void *ctx; /* for threshold */
} ensemble_shape;

/* The attributes so far. */
typedef struct ensemble {
    size_t n, n_weights;
    int64_t trees[ENSEMBLE_NODES], ids[ENSEMBLE_NODES], features[ENSEMBLE_NODES],
        yes[ENSEMBLE_NODES], no[ENSEMBLE_NODES], missing[ENSEMBLE_NODES];
    float values[ENSEMBLE_NODES];
    const char *modes[ENSEMBLE_NODES];
    int64_t w_trees[ENSEMBLE_WEIGHTS], w_nodes[ENSEMBLE_WEIGHTS], w_ids[ENSEMBLE_WEIGHTS];
    float weights[ENSEMBLE_WEIGHTS];
} ensemble;

/* One more tree, if there is room for a full one of that depth. */
void ensemble_grow(ensemble *e, const ensemble_shape *s, int64_t tree, size_t depth, sis__rng *r);

/* All of it to the node that was added last; prefix: class or target. */
void ensemble_add(const ensemble *e, sis_net_builder *b, const char *prefix);

#endif
