/* SPDX-License-Identifier: MIT
 *
 * TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble of ai.onnx.ml: x (n, width) ->
 * scores (n, outputs).
 *
 * The first two identify a node by the pair (tree, node). Here nodes are numbered in file order,
 * and children are found once, by binary search in a sorted list of pairs. A node with two parents,
 * or a tree without exactly one root that reaches all of it, is refused, so there are no cycles. A
 * leaf's weights are a range of (output, weight) pairs. In a TreeEnsemble, nodes and leaves have
 * separate numbers; each reference to a leaf becomes a node. Sums are in double, over trees in the
 * order of their numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/proto.h"
#include "net/ops/ml_scores.h"
#include "net/ops/ops.h"
#include "net/ops/trees.h"
#include "net/plan/cache.h"

static const size_t MAX_OUTPUTS = (size_t)1 << 20;

/* ---- Reading ------------------------------------------------------------------------------- */

typedef struct {
    const int64_t *trees, *ids, *features, *yes, *no, *missing;
    const float *values;
    const Sis__Onnx__Attribute *modes;
    size_t n;
} node_lists;

/* An attribute with n integers. */
static int ints_of(sis__shape_ctx *c, const char *name, size_t n, const int64_t **v) {
    size_t count;
    *v = sis__attr_ints(c, name, &count);
    if (count != n)
        sis__ctx_fail(c, SIS_E_FORMAT, "%s has %zu entries instead of %zu", name, count, n);
    return c->error;
}

/* A list of floats, or of doubles in a tensor named NAME_as_tensor. */
static const float *floats_of(sis__shape_ctx *c, const char *name, size_t *n) {
    char other[64];
    sis__decoded d;
    const float *v = sis__attr_floats(c, name, n);
    snprintf(other, sizeof other, "%s_as_tensor", name);
    if (!sis__attr_tensor(c, other, &d) || *n)
        return v;
    if (d.dtype != SIS__F32)
        sis__ctx_fail(c, SIS_E_FORMAT, "%s is of another type", other);
    *n = c->error ? 0 : d.count;
    return c->error ? NULL : (const float *)d.data;
}

/* Where missing values go, one entry per node; NULL: to the no side. */
static const int64_t *missing_of(sis__shape_ctx *c, size_t n) {
    size_t count;
    const int64_t *v = sis__attr_ints(c, "nodes_missing_value_tracks_true", &count);
    if (v && count != n)
        sis__ctx_fail(c, SIS_E_FORMAT, "nodes_missing_value_tracks_true has %zu entries", count);
    return v;
}

static int read_nodes(sis__shape_ctx *c, node_lists *l) {
    size_t n;
    l->trees = sis__attr_ints(c, "nodes_treeids", &l->n);
    ints_of(c, "nodes_nodeids", l->n, &l->ids);
    ints_of(c, "nodes_featureids", l->n, &l->features);
    ints_of(c, "nodes_truenodeids", l->n, &l->yes);
    ints_of(c, "nodes_falsenodeids", l->n, &l->no);
    l->missing = missing_of(c, l->n);
    l->values = floats_of(c, "nodes_values", &n);
    if (n != l->n)
        sis__ctx_fail(c, SIS_E_FORMAT, "nodes_values has %zu entries instead of %zu", n, l->n);
    l->modes = sis__attr_find(c, "nodes_modes");
    sis__attr_find(c, "nodes_hitrates");
    sis__attr_find(c, "nodes_hitrates_as_tensor");
    if (!l->modes || l->modes->n_strings != l->n || l->n == 0)
        sis__ctx_fail(c, SIS_E_FORMAT, "nodes_modes does not have one mode for each node");
    return c->error;
}

static int read_mode(sis__shape_ctx *c, const ProtobufCBinaryData *s, sis__tree_node *n) {
    static const char *const names[] = {"LEAF",      "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT", "BRANCH_EQ",  "BRANCH_NEQ"};
    for (int i = 0; i <= SIS__NODE_NEQ; i++)
        if (s->len == strlen(names[i]) && memcmp(s->data, names[i], s->len) == 0) {
            n->mode = (unsigned char)i;
            return c->error;
        }
    return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "node mode %.*s", (int)(s->len < 40 ? s->len : 40),
                         (const char *)s->data);
}

/* ---- Names of nodes -------------------------------------------------------------------------- */

typedef struct {
    int64_t tree, id;
    size_t at;
} named;

static int compare_names(const void *a, const void *b) {
    const named *x = (const named *)a, *y = (const named *)b;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static size_t find_node(const named *names, size_t n, int64_t tree, int64_t id) {
    named key = {tree, id, 0};
    const named *found = (const named *)bsearch(&key, names, n, sizeof key, compare_names);
    return found ? found->at : SIZE_MAX;
}

static named *sort_names(sis__shape_ctx *c, const node_lists *l) {
    named *names = (named *)sis__ctx_alloc(c, l->n, sizeof *names);
    for (size_t i = 0; names && i < l->n; i++)
        names[i] = (named){l->trees[i], l->ids[i], i};
    if (names)
        qsort(names, l->n, sizeof *names, compare_names);
    return names;
}

/* ---- Building ------------------------------------------------------------------------------ */

static int build_node(sis__shape_ctx *c, sis__forest *f, const node_lists *l, const named *names,
                      size_t i) {
    sis__tree_node *n = &f->nodes[i];
    read_mode(c, &l->modes->strings[i], n);
    if (c->error || n->mode == SIS__NODE_LEAF)
        return c->error;
    size_t yes = find_node(names, l->n, l->trees[i], l->yes[i]);
    size_t no = find_node(names, l->n, l->trees[i], l->no[i]);
    n->value = l->values[i];
    n->missing_yes = (l->missing && l->missing[i]) || n->mode == SIS__NODE_NEQ;
    if (yes == SIZE_MAX || no == SIZE_MAX)
        return sis__ctx_fail(c, SIS_E_FORMAT,
                             "node %lld of tree %lld has a child that does not exist",
                             (long long)l->ids[i], (long long)l->trees[i]);
    if (l->features[i] < 0 || (size_t)l->features[i] >= f->width)
        return sis__ctx_fail(c, SIS_E_FORMAT, "feature %lld of an input of %zu columns",
                             (long long)l->features[i], f->width);
    n->yes = (uint32_t)yes;
    n->no = (uint32_t)no;
    n->feature = (uint32_t)l->features[i];
    return c->error;
}

/* Roots are the nodes without a parent; one per tree. */
static int find_roots(sis__shape_ctx *c, sis__forest *t, const node_lists *l, const named *names) {
    unsigned char *parents = (unsigned char *)sis__ctx_alloc(c, t->n_nodes, 1);
    t->roots = (uint32_t *)sis__ctx_alloc(c, t->n_nodes, sizeof *t->roots);
    if (!parents || !t->roots)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < t->n_nodes; i++) {
        const sis__tree_node *n = &t->nodes[i];
        if (n->mode != SIS__NODE_LEAF && (parents[n->yes]++ || parents[n->no]++))
            return sis__ctx_fail(c, SIS_E_FORMAT, "a node of tree %lld has two parents",
                                 (long long)l->trees[i]);
    }
    for (size_t k = 0; k < t->n_nodes; k++) { /* names are sorted by tree */
        if (k && compare_names(&names[k - 1], &names[k]) == 0)
            return sis__ctx_fail(c, SIS_E_FORMAT, "node %lld of tree %lld is defined twice",
                                 (long long)names[k].id, (long long)names[k].tree);
        if (parents[names[k].at])
            continue;
        if (t->n_trees && l->trees[t->roots[t->n_trees - 1]] == names[k].tree)
            return sis__ctx_fail(c, SIS_E_FORMAT, "tree %lld has two roots",
                                 (long long)names[k].tree);
        t->roots[t->n_trees++] = (uint32_t)names[k].at;
    }
    return c->error;
}

/* Weights of leaves, from the lists PREFIX_treeids, _nodeids, _ids and _weights. */
typedef struct {
    const int64_t *trees, *nodes, *ids;
    const float *weights;
    size_t n;
} weight_lists;

static int read_weights(sis__shape_ctx *c, int classifier, weight_lists *w) {
    size_t n;
    w->trees = sis__attr_ints(c, classifier ? "class_treeids" : "target_treeids", &w->n);
    ints_of(c, classifier ? "class_nodeids" : "target_nodeids", w->n, &w->nodes);
    ints_of(c, classifier ? "class_ids" : "target_ids", w->n, &w->ids);
    w->weights = floats_of(c, classifier ? "class_weights" : "target_weights", &n);
    if (n != w->n)
        sis__ctx_fail(c, SIS_E_FORMAT, "%zu weights instead of %zu", n, w->n);
    return c->error;
}

/* Determine the sums. A classifier of two classes with weights for the first class only has one. */
static int read_leaves(sis__shape_ctx *c, sis__trees *t, const weight_lists *w, const named *names,
                       size_t *leaf) {
    sis__forest *f = &t->forest;
    t->all_positive = 1;
    t->single = t->classifier && t->outputs == 2 && w->n > 0;
    for (size_t i = 0; i < w->n; i++) {
        leaf[i] = find_node(names, f->n_nodes, w->trees[i], w->nodes[i]);
        if (leaf[i] == SIZE_MAX || f->nodes[leaf[i]].mode != SIS__NODE_LEAF || w->ids[i] < 0 ||
            (size_t)w->ids[i] >= t->outputs)
            return sis__ctx_fail(c, SIS_E_FORMAT, "weight %zu belongs to no leaf or no output", i);
        f->nodes[leaf[i]].to++;
        t->single &= w->ids[i] == 0;
        t->weighted |= w->ids[i] < 2 ? 1 << w->ids[i] : 0;
        t->all_positive &= w->weights[i] >= 0;
    }
    return c->error;
}

/* Sort the weights by leaf (counting sort), keeping the file order within a leaf. */
static int build_weights(sis__shape_ctx *c, sis__trees *t, const weight_lists *w,
                         const named *names) {
    sis__forest *f = &t->forest;
    size_t *leaf = (size_t *)sis__ctx_alloc(c, w->n, sizeof *leaf);
    uint32_t sum = 0;
    f->n_weights = w->n;
    f->targets = (uint32_t *)sis__ctx_alloc(c, w->n, sizeof *f->targets);
    f->weights = (double *)sis__ctx_alloc(c, w->n, sizeof *f->weights);
    if (!leaf || !f->targets || !f->weights)
        return SIS_E_NOMEM;
    if (read_leaves(c, t, w, names, leaf))
        return c->error;
    for (size_t i = 0; i < f->n_nodes; i++) {
        uint32_t n = f->nodes[i].to;
        f->nodes[i].from = f->nodes[i].to = sum;
        sum += n;
    }
    for (size_t i = 0; i < w->n; i++) {
        size_t at = f->nodes[leaf[i]].to++;
        f->targets[at] = (uint32_t)w->ids[i];
        f->weights[at] = w->weights[i];
    }
    return c->error;
}

/* Base values of two classes, as in ONNX Runtime: a class without weights has none, and a single
 * value belongs to the first class. */
static int read_base_pair(sis__shape_ctx *c, sis__trees *t, size_t n) {
    float *base = (float *)sis__ctx_alloc(c, 2, sizeof *base);
    for (size_t k = 0; base && k < n; k++)
        base[k] = t->weighted >> k & 1 ? t->base[k] : 0;
    t->base = base;
    return c->error;
}

static int read_base(sis__shape_ctx *c, sis__trees *t) {
    size_t n;
    t->base = floats_of(c, "base_values", &n);
    if (c->error || n == 0) {
        t->base = NULL;
        return c->error;
    }
    int alone = t->single;
    t->single &= n == 1; /* one value per class: each class has its own score */
    if (t->classifier && t->outputs == 2 && (alone ? n == 2 : n == 1))
        return read_base_pair(c, t, n);
    if (n != (t->single ? 1 : t->outputs))
        return sis__ctx_fail(c, SIS_E_FORMAT, "%zu base values for %zu outputs", n, t->outputs);
    return c->error;
}

static void read_aggregate(sis__shape_ctx *c, sis__trees *t) {
    static const char *const names[] = {"SUM", "AVERAGE", "MIN", "MAX"};
    t->forest.how = (sis__aggregate)sis__attr_choice(c, "aggregate_function", names, 4);
}

/* ---- TreeEnsemble ---------------------------------------------------------------------------- */

/* One entry per node; a child is the number of a node or, according to a flag, of a leaf. */
typedef struct {
    const int64_t *features, *modes, *yes, *yes_leaf, *no, *no_leaf, *missing, *targets;
    const float *splits, *weights, *members;
    size_t n, n_leaves, n_members, member; /* member: start of the next node's set */
} ensemble_lists;

/* A tensor of floats or of integers. */
static size_t tensor_of(sis__shape_ctx *c, const char *name, sis__dtype type, const void **data) {
    sis__decoded d;
    if (sis__attr_tensor(c, name, &d) && d.dtype != type)
        sis__ctx_fail(c, SIS_E_FORMAT, "%s is of another type", name);
    *data = d.data;
    return c->error ? 0 : d.count;
}

static int read_ensemble(sis__shape_ctx *c, ensemble_lists *l) {
    const void *data;
    size_t n;
    l->features = sis__attr_ints(c, "nodes_featureids", &l->n);
    ints_of(c, "nodes_truenodeids", l->n, &l->yes);
    ints_of(c, "nodes_trueleafs", l->n, &l->yes_leaf);
    ints_of(c, "nodes_falsenodeids", l->n, &l->no);
    ints_of(c, "nodes_falseleafs", l->n, &l->no_leaf);
    l->missing = missing_of(c, l->n);
    n = tensor_of(c, "nodes_modes", SIS__I64, &data);
    l->modes = (const int64_t *)data;
    if (n != l->n || n == 0)
        sis__ctx_fail(c, SIS_E_FORMAT, "nodes_modes does not have one mode for each node");
    n = tensor_of(c, "nodes_splits", SIS__F32, &data);
    l->splits = (const float *)data;
    if (n != l->n)
        sis__ctx_fail(c, SIS_E_FORMAT, "nodes_splits has %zu entries instead of %zu", n, l->n);
    l->targets = sis__attr_ints(c, "leaf_targetids", &l->n_leaves);
    n = tensor_of(c, "leaf_weights", SIS__F32, &data);
    l->weights = (const float *)data;
    if (n != l->n_leaves)
        sis__ctx_fail(c, SIS_E_FORMAT, "leaf_weights has %zu entries instead of %zu", n,
                      l->n_leaves);
    l->n_members = tensor_of(c, "membership_values", SIS__F32, &data);
    l->members = (const float *)data;
    sis__attr_find(c, "nodes_hitrates");
    return c->error;
}

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Read the set of the next node that tests membership: it ends at NaN or at the end of the list. */
static int take_members(sis__shape_ctx *c, sis__forest *f, ensemble_lists *l, sis__tree_node *n) {
    size_t from = l->member, to = from;
    if (from >= l->n_members)
        return sis__ctx_fail(c, SIS_E_FORMAT,
                             "membership_values has fewer sets than nodes ask for");
    while (to < l->n_members && !isnan(l->members[to]))
        to++;
    memcpy(f->members + from, l->members + from, (to - from) * sizeof *f->members);
    qsort(f->members + from, to - from, sizeof *f->members, compare_floats);
    n->from = (uint32_t)from;
    n->to = (uint32_t)to;
    l->member = to + 1;
    return c->error;
}

/* A child's number; each reference to a leaf becomes a new node. */
static uint32_t child_of(sis__shape_ctx *c, sis__trees *t, const ensemble_lists *l, int64_t id,
                         int leaf) {
    sis__forest *f = &t->forest;
    if (id < 0 || (size_t)id >= (leaf ? l->n_leaves : l->n)) {
        sis__ctx_fail(c, SIS_E_FORMAT, "a node has a child that does not exist");
        return 0;
    }
    if (!leaf)
        return (uint32_t)id;
    if (l->targets[id] < 0 || (size_t)l->targets[id] >= t->outputs)
        sis__ctx_fail(c, SIS_E_FORMAT, "leaf %lld belongs to no output", (long long)id);
    f->targets[f->n_weights] = (uint32_t)l->targets[id];
    f->weights[f->n_weights] = l->weights[id];
    f->nodes[f->n_nodes] = (sis__tree_node){
        .mode = SIS__NODE_LEAF, .from = (uint32_t)f->n_weights, .to = (uint32_t)f->n_weights + 1};
    f->n_weights++;
    return (uint32_t)f->n_nodes++;
}

static int build_test(sis__shape_ctx *c, sis__trees *t, ensemble_lists *l, size_t i) {
    sis__forest *f = &t->forest;
    sis__tree_node *n = &f->nodes[i];
    if (l->modes[i] < 0 || l->modes[i] > 6)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "node mode %lld", (long long)l->modes[i]);
    if (l->features[i] < 0 || (size_t)l->features[i] >= f->width)
        return sis__ctx_fail(c, SIS_E_FORMAT, "feature %lld of an input of %zu columns",
                             (long long)l->features[i], f->width);
    n->mode = l->modes[i] == 6 ? SIS__NODE_ONE_OF : (unsigned char)(SIS__NODE_LEQ + l->modes[i]);
    n->value = l->splits[i];
    n->feature = (uint32_t)l->features[i];
    n->missing_yes = (l->missing && l->missing[i]) || n->mode == SIS__NODE_NEQ;
    n->yes = child_of(c, t, l, l->yes[i], l->yes_leaf[i] != 0);
    n->no = child_of(c, t, l, l->no[i], l->no_leaf[i] != 0);
    return n->mode == SIS__NODE_ONE_OF ? take_members(c, f, l, n) : c->error;
}

static int build_ensemble(sis__shape_ctx *c, sis__trees *t) {
    sis__forest *f = &t->forest;
    ensemble_lists l = {0};
    read_ensemble(c, &l);
    const int64_t *roots = sis__attr_ints(c, "tree_roots", &f->n_trees);
    if (!c->error && (l.n > INT32_MAX / 4 || l.n_members > INT32_MAX || t->outputs > MAX_OUTPUTS))
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "more nodes or outputs than are supported");
    if (c->error)
        return c->error;
    f->nodes = (sis__tree_node *)sis__ctx_alloc(c, 3 * l.n, sizeof *f->nodes);
    f->targets = (uint32_t *)sis__ctx_alloc(c, 2 * l.n, sizeof *f->targets);
    f->weights = (double *)sis__ctx_alloc(c, 2 * l.n, sizeof *f->weights);
    f->members = (uint32_t *)sis__ctx_alloc(c, l.n_members, sizeof *f->members);
    f->roots = (uint32_t *)sis__ctx_alloc(c, f->n_trees, sizeof *f->roots);
    if (c->error)
        return c->error;
    f->n_nodes = l.n;
    f->n_members = l.n_members;
    for (size_t i = 0; i < f->n_trees; i++)
        f->roots[i] = roots[i] < 0 || roots[i] > INT32_MAX ? UINT32_MAX : (uint32_t)roots[i];
    for (size_t i = 0; i < l.n && !c->error; i++)
        build_test(c, t, &l, i);
    return c->error;
}

/* ---- Common to all --------------------------------------------------------------------------- */

/* In the standard 1 is softmax and 2 logistic. ONNX Runtime swaps them, and its decisions are the
 * ones to explain. */
static void read_codes(sis__shape_ctx *c, sis__trees *t) {
    static const sis__post posts[] = {SIS__POST_NONE, SIS__POST_LOGISTIC, SIS__POST_SOFTMAX,
                                      SIS__POST_SOFTMAX_ZERO, SIS__POST_PROBIT};
    static const sis__aggregate how[] = {SIS__TREES_AVERAGE, SIS__TREES_SUM, SIS__TREES_MIN,
                                         SIS__TREES_MAX};
    int64_t code = sis__attr_int(c, "aggregate_function", 1);
    int64_t post = sis__attr_int(c, "post_transform", 0);
    if (code < 0 || code > 3 || post < 0 || post > 4)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "aggregate_function %lld, post_transform %lld",
                      (long long)code, (long long)post);
    if (c->error)
        return;
    t->forest.how = how[code];
    t->post = posts[post];
}

static void *get(void *ctx, size_t n, size_t size) {
    return sis__ctx_alloc((sis__shape_ctx *)ctx, n, size);
}

/* Run the forest's checks, and check that all nodes are reached. */
static int finish_forest(sis__shape_ctx *c, sis__trees *t) {
    size_t reached = 0;
    t->forest.n_sums = t->single ? 1 : t->outputs;
    int error = sis__forest_finish(&t->forest, &(sis__forest_alloc){get, c}, &reached);
    if (error) {
        char said[256];
        snprintf(said, sizeof said, "%s", sis_error_detail());
        return c->error ? c->error : sis__ctx_fail(c, error, "%s", said);
    }
    if (reached != t->forest.n_nodes)
        return sis__ctx_fail(c, SIS_E_FORMAT, "%zu nodes belong to no tree",
                             t->forest.n_nodes - reached);
    return c->error;
}

static int build_named(sis__shape_ctx *c, sis__trees *t) {
    sis__forest *f = &t->forest;
    node_lists l = {0};
    weight_lists w = {0};
    read_nodes(c, &l);
    read_weights(c, t->classifier, &w);
    if (!c->error && (l.n > INT32_MAX || w.n > INT32_MAX || t->outputs > MAX_OUTPUTS))
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "more nodes or outputs than are supported");
    if (c->error)
        return c->error;
    named *names = sort_names(c, &l);
    f->nodes = (sis__tree_node *)sis__ctx_alloc(c, l.n, sizeof *f->nodes);
    f->n_nodes = l.n;
    if (!names || !f->nodes)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < l.n && !c->error; i++)
        build_node(c, f, &l, names, i);
    if (!c->error)
        find_roots(c, f, &l, names);
    if (!c->error)
        build_weights(c, t, &w, names);
    if (!c->error)
        read_base(c, t);
    return c->error;
}

static int build(sis__shape_ctx *c, sis__trees *t) {
    (c->step->op == SIS__OP_TREE_ENSEMBLE ? build_ensemble : build_named)(c, t);
    return c->error ? c->error : finish_forest(c, t);
}

/* The same, sharing the result with other plans of the network. */
static int build_once(sis__shape_ctx *c, sis__trees *t) {
    const sis__made *made = sis__cache_made(c->plan->net, c->node->proto);
    const sis__trees *found = made ? (const sis__trees *)made->value : NULL;
    if (!c->plan->net->cache || (found && found->forest.width != t->forest.width))
        return build(c, t);
    if (found) {
        t->forest = found->forest;
        t->base = found->base;
        t->single = found->single;
        t->all_positive = found->all_positive;
        t->weighted = found->weighted;
        c->seen |= made->seen;
        return c->error;
    }
    sis__plan *plan = c->plan, *arena = SIS_NEW(sis__plan, 1);
    if (!arena)
        return c->error = SIS_E_NOMEM;
    arena->net = plan->net;
    arena->graph = plan->graph;
    c->plan = arena;
    build(c, t);
    sis__trees *copy = (sis__trees *)sis__ctx_alloc(c, 1, sizeof *copy);
    c->plan = plan;
    if (c->error) {
        sis__plan_free(arena);
        return c->error;
    }
    *copy = *t;
    c->error = sis__cache_keep_made(plan->net, &(sis__made){c->node->proto, copy, c->seen, arena});
    return c->error;
}

/* The labels that ONNX Runtime returns for integer labels of one class, or of two classes that both
 * have weights. */
static const int64_t signs[] = {0, 1};

static int trees_shape(sis__shape_ctx *c, int classifier) {
    sis__trees *t = c->step->p.trees = (sis__trees *)sis__ctx_alloc(c, 1, sizeof *t);
    sis__dtype type = SIS__TEXT; /* of labels */
    if (!t)
        return SIS_E_NOMEM;
    int coded = c->step->op == SIS__OP_TREE_ENSEMBLE; /* aggregates are numbers, not words */
    t->classifier = classifier;
    sis__rows_read(c, &t->n, &t->forest.width);
    if (coded)
        read_codes(c, t);
    else
        sis__post_read(c, &t->post);
    if (classifier) {
        sis__labels_read(c, &t->outputs, &t->labels, &type);
        sis__ctx_output(c, 0, type, 1, &t->n);
        sis__ctx_elem(c, 0, type == SIS__TEXT ? SIS__STRING : SIS__INT64);
    } else {
        int64_t targets = sis__attr_int(c, "n_targets", 1);
        if (targets < 1 || targets > INT32_MAX)
            return sis__ctx_fail(c, SIS_E_FORMAT, "%lld targets", (long long)targets);
        t->outputs = (size_t)targets;
        if (!coded)
            read_aggregate(c, t);
    }
    if (t->outputs == 1 && t->post != SIS__POST_PROBIT)
        t->post = SIS__POST_NONE; /* ONNX Runtime does not change a single score */
    sis__ctx_output(c, classifier ? 1 : 0, SIS__F32, 2, (size_t[]){t->n, t->outputs});
    if (c->step->op != SIS__OP_TREE_ENSEMBLE)
        sis__ctx_elem(c, classifier ? 1 : 0, SIS__FLOAT);
    if (!c->error)
        build_once(c, t);
    if (t->single && t->post == SIS__POST_PROBIT)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a probit of one score for 2 classes");
    if (type == SIS__I64 && (t->outputs == 1 || (t->outputs == 2 && t->weighted == 3)))
        t->labels = signs;
    c->step->scratch =
        t->forest.width * sizeof(double) + t->outputs * (sizeof(double) + sizeof(float) + 1) + 64;
    c->step->flops = (double)t->n * (double)t->forest.n_trees * 20.0;
    return c->error;
}

static int classifier_shape(sis__shape_ctx *c) {
    return trees_shape(c, 1);
}

static int regressor_shape(sis__shape_ctx *c) {
    return trees_shape(c, 0);
}

/* ---- Running ------------------------------------------------------------------------------- */

/* Scores of two classes from one score, which belongs to the second class as the exporters of
 * boosted trees intend it and other runtimes compute it. */
static void complete_pair(const sis__trees *t, float *scores) {
    scores[1] = scores[0];
    if (t->post == SIS__POST_LOGISTIC)
        scores[0] = -scores[0];
    else
        scores[0] = t->all_positive ? 1 - scores[0] : -scores[0];
}

void sis__trees_round(const sis__trees *t, const double *sum, float *raw) {
    const sis__forest *f = &t->forest;
    for (size_t k = 0; k < f->n_sums; k++) {
        double v = f->how == SIS__TREES_AVERAGE ? sum[k] / (double)f->n_trees : sum[k];
        raw[k] = (float)(v + (t->base ? t->base[k] : 0));
    }
}

void sis__trees_finish(const sis__trees *t, float *scores) {
    if (t->single)
        complete_pair(t, scores);
    if (!(t->single && t->post != SIS__POST_LOGISTIC))
        sis__post_apply(t->post, scores, t->outputs);
}

/* The class with the largest sum among those for which some leaf has a weight. */
static size_t best_seen(const sis__trees *t, const float *raw, const unsigned char *seen) {
    size_t best = SIZE_MAX;
    for (size_t k = 0; k < t->outputs; k++)
        if ((seen[k] || t->base) && (best == SIZE_MAX || raw[k] > raw[best]))
            best = k;
    return best == SIZE_MAX ? 0 : best;
}

/* The class of a row, from its sums. With two classes, as in ONNX Runtime: the second if its sum
 * (or that of the first, if it has none) is positive; or above 0.5 if only one class has weights
 * and none is negative. */
static size_t class_of(const sis__trees *t, const float *raw, const unsigned char *seen) {
    if (t->outputs > 2 || (t->outputs == 1 && t->labels != signs))
        return best_seen(t, raw, seen);
    int half = t->outputs == 2 && t->weighted != 3 && t->all_positive;
    return raw[t->weighted & 2 ? 1 : 0] > (half ? 0.5f : 0);
}

/* Scores of one row; returns its class. Scratch: a row and its sums, the scores of one row,
 * flags. */
static size_t score_row(const sis__step *s, sis__run *r, size_t at, float *scores) {
    const sis__trees *t = s->p.trees;
    const sis__forest *f = &t->forest;
    double *row = (double *)(void *)r->scratch, *sum = row + f->width;
    unsigned char *seen = (unsigned char *)(sum + t->outputs) + t->outputs * sizeof(float);
    for (size_t j = 0; j < f->width; j++)
        row[j] = sis__row_value(s, r, at * f->width + j);
    sis__forest_sums(f, row, sum, seen);
    sis__trees_round(t, sum, scores);
    size_t best = t->classifier ? class_of(t, scores, seen) : 0;
    sis__trees_finish(t, scores);
    return best;
}

static int trees_forward(const sis__step *s, sis__run *r) {
    const sis__trees *t = s->p.trees;
    float *scores = sis__out(s, r, t->classifier ? 1 : 0);
    float *one = (float *)(void *)((double *)(void *)r->scratch + t->forest.width + t->outputs);
    int64_t *labels = t->labels ? (int64_t *)(void *)sis__out(s, r, 0) : NULL;
    for (size_t i = 0; i < t->n; i++) {
        size_t best = score_row(s, r, i, one);
        if (scores)
            memcpy(scores + i * t->outputs, one, t->outputs * sizeof *one);
        if (labels)
            labels[i] = t->labels[best];
    }
    return SIS_OK;
}

const sis__op sis__op_tree_ensemble_classifier = {
    1, 1, classifier_shape, trees_forward, NULL, .family = SIS__TREES};
const sis__op sis__op_tree_ensemble_regressor = {
    1, 1, regressor_shape, trees_forward, NULL, .family = SIS__TREES};
const sis__op sis__op_tree_ensemble = {
    1, 1, regressor_shape, trees_forward, NULL, .family = SIS__TREES};
