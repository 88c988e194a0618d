/* SPDX-License-Identifier: MIT */
#include "support_ensemble.h"

#include <math.h>
#include <stdio.h>

static void grow_leaf(ensemble *e, const ensemble_shape *s, int64_t tree, int64_t id, sis__rng *r) {
    for (size_t k = 0; k < s->n_weights && e->n_weights < ENSEMBLE_WEIGHTS; k++) {
        if (s->sparse && sis__rng_below(r, 4) == 0)
            continue;
        double w = sis__rng_normal(r);
        e->w_trees[e->n_weights] = tree;
        e->w_nodes[e->n_weights] = id;
        e->w_ids[e->n_weights] = (int64_t)k;
        e->weights[e->n_weights++] = (float)(s->steps > 0 ? round(w * s->steps) / s->steps : w);
    }
}

/* Adds a node and its subtree. */
static int64_t grow(ensemble *e, const ensemble_shape *s, int64_t tree, int64_t *next, size_t depth,
                    sis__rng *r) {
    static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    size_t at = e->n++, column = sis__rng_below(r, s->columns);
    int64_t id = (*next)++;
    int leaf = depth == 0 || sis__rng_below(r, 6) == 0;
    e->trees[at] = tree;
    e->ids[at] = id;
    e->features[at] = leaf ? 0 : (int64_t)column;
    e->values[at] = leaf ? 0 : s->threshold(s->ctx, column, r);
    e->missing[at] = (int64_t)sis__rng_below(r, 2);
    e->modes[at] = leaf ? "LEAF" : modes[sis__rng_below(r, (size_t)s->modes)];
    e->yes[at] = e->no[at] = 0;
    if (leaf) {
        grow_leaf(e, s, tree, id, r);
        return id;
    }
    e->yes[at] = grow(e, s, tree, next, depth - 1, r);
    e->no[at] = grow(e, s, tree, next, depth - 1, r);
    return id;
}

void ensemble_grow(ensemble *e, const ensemble_shape *s, int64_t tree, size_t depth, sis__rng *r) {
    int64_t next = 0;
    if (e->n + ((size_t)2 << depth) <= ENSEMBLE_NODES)
        grow(e, s, tree, &next, depth, r);
}

void ensemble_add(const ensemble *e, sis_net_builder *b, const char *prefix) {
    const struct {
        const char *name;
        const int64_t *at;
    } lists[] = {{"treeids", e->w_trees}, {"nodeids", e->w_nodes}, {"ids", e->w_ids}};
    char name[32];
    sis_net_attr_ints(b, "nodes_treeids", e->trees, e->n);
    sis_net_attr_ints(b, "nodes_nodeids", e->ids, e->n);
    sis_net_attr_ints(b, "nodes_featureids", e->features, e->n);
    sis_net_attr_ints(b, "nodes_truenodeids", e->yes, e->n);
    sis_net_attr_ints(b, "nodes_falsenodeids", e->no, e->n);
    sis_net_attr_ints(b, "nodes_missing_value_tracks_true", e->missing, e->n);
    sis_net_attr_floats(b, "nodes_values", e->values, e->n);
    sis_net_attr_texts(b, "nodes_modes", e->modes, e->n);
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s_%s", prefix, lists[i].name);
        sis_net_attr_ints(b, name, lists[i].at, e->n_weights);
    }
    snprintf(name, sizeof name, "%s_weights", prefix);
    sis_net_attr_floats(b, name, e->weights, e->n_weights);
}
