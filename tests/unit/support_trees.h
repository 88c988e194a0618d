/* SPDX-License-Identifier: MIT
 *
 * Random boosted trees, written as the files of XGBoost and LightGBM, and what their documented
 * rules make of a row: slowly, tree by tree, with nothing of src/trees.
 */
#ifndef SIS_TEST_SUPPORT_TREES_H
#define SIS_TEST_SUPPORT_TREES_H

#include "base/rng.h"
#include "support.h"

enum { MADE_NODES = 63, MADE_TREES = 24, MADE_COLUMNS = 12, MADE_CATEGORIES = 64 };

typedef struct made_node {
    int left, right; /* -1: a leaf */
    int feature, default_left, categorical;
    int missing; /* LightGBM: 0 none, 1 zero, 2 NaN */
    uint64_t set;
    double value; /* threshold, or what a leaf adds */
} made_node;

typedef struct made_tree {
    made_node nodes[MADE_NODES];
    int n;
    float drop; /* of dart */
} made_tree;

typedef struct made_forest {
    size_t columns, outputs, n;
    made_tree trees[MADE_TREES];
    int dart, linear, named, average;
    int classes;                        /* outputs are classes of a softmax */
    double base;                        /* base_score */
    double slopes[MADE_COLUMNS + 1][8]; /* gblinear: weights and bias */
    const char *objective;
} made_forest;

/* Everything at random; thresholds and leaves are floats if `single`. */
void made_forest_init(made_forest *f, int single, sis__rng *r);

/* A value for a column: small whole numbers, thresholds, missing ones, categories. */
double made_value(const made_forest *f, sis__rng *r);

/* The files; free() them. */
char *made_xgboost(const made_forest *f, int binary, size_t *n);
char *made_lightgbm(const made_forest *f, size_t *n);

/* The sums of a row by the documented rules. */
void made_xgboost_sums(const made_forest *f, const double *row, double *sums);
void made_lightgbm_sums(const made_forest *f, const double *row, double *sums);

#endif
