/* SPDX-License-Identifier: MIT
 *
 * Sums of leaves. For every tree the leaf of the present state is kept, and for every *pair* of a
 * tree and a feature that it tests the leaf if that feature were masked too. Masking a feature
 * moves the trees that test it to the leaves of its pairs, and makes the other pairs of these trees
 * find their leaves again; everything else stays. See trees.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/ops/trees.h"
#include "net/walk/trees.h"

typedef struct {
    size_t tree, leaf; /* leaf: a node */
    int feature;
} pair;

typedef struct {
    sis__additive sums;
    const sis__trees *t;
    const sis__entry *f;
    size_t features;
    unsigned char *masked; /* (features) */
    size_t *leaf;          /* (trees) of the present state */
    pair *pairs;           /* by tree */
    size_t *of_tree;       /* (trees + 1) where each tree's begin */
    size_t *by_feature;    /* pairs by feature, trees ascending */
    size_t *of_feature;    /* (features + 1) where each feature's begin in it */
    double *changes;       /* (features, n) */
    unsigned char *stale;  /* (features) changes are to be computed */
    unsigned char *seen;   /* (outputs) */
} forest;

/* ---- Going down ------------------------------------------------------------------------------ */

static size_t descend(const forest *w, size_t tree, int feature) {
    const sis__trees *t = w->t;
    size_t at = t->roots[tree];
    while (t->nodes[at].mode != SIS__NODE_LEAF) {
        const sis__tree_node *n = &t->nodes[at];
        int owner = w->f->feature[n->feature];
        int masked = owner >= 0 && (owner == feature || w->masked[owner]);
        at = sis__trees_yes(n, (masked ? w->f->z : w->f->x)[n->feature]) ? n->yes : n->no;
    }
    return at;
}

static void add_leaf(const forest *w, size_t leaf, double sign, double *sums) {
    const sis__tree_node *n = &w->t->nodes[leaf];
    for (size_t i = n->from; i < n->to; i++)
        sums[w->t->targets[i]] += sign * (double)w->t->weights[i];
}

/* ---- What walks ask -------------------------------------------------------------------------- */

static void forest_reset(sis__additive *s, const unsigned char *masked) {
    forest *w = (forest *)s;
    memcpy(w->masked, masked, w->features);
    memset(w->stale, 1, w->features);
    for (size_t k = 0; k < w->t->n_trees; k++) {
        w->leaf[k] = descend(w, k, -1);
        for (size_t i = w->of_tree[k]; i < w->of_tree[k + 1]; i++)
            w->pairs[i].leaf = descend(w, k, w->pairs[i].feature);
    }
}

static void forest_mask(sis__additive *s, int feature) {
    forest *w = (forest *)s;
    w->masked[feature] = 1;
    for (size_t i = w->of_feature[feature]; i < w->of_feature[feature + 1]; i++) {
        const pair *p = &w->pairs[w->by_feature[i]];
        w->leaf[p->tree] = p->leaf;
        for (size_t k = w->of_tree[p->tree]; k < w->of_tree[p->tree + 1]; k++) {
            pair *other = &w->pairs[k];
            if (w->masked[other->feature])
                continue;
            other->leaf = descend(w, p->tree, other->feature);
            w->stale[other->feature] = 1;
        }
    }
}

static void forest_total(sis__additive *s, int feature, double *sums) {
    forest *w = (forest *)s;
    size_t next = feature < 0 ? 0 : w->of_feature[feature];
    size_t end = feature < 0 ? 0 : w->of_feature[feature + 1];
    memset(sums, 0, s->n * sizeof *sums);
    memset(w->seen, 0, s->n);
    for (size_t k = 0; k < w->t->n_trees; k++) {
        size_t leaf = w->leaf[k];
        if (next < end && w->pairs[w->by_feature[next]].tree == k)
            leaf = w->pairs[w->by_feature[next++]].leaf;
        sis__trees_add(w->t, &w->t->nodes[leaf], sums, w->seen);
    }
}

static void forest_change(sis__additive *s, int feature, double *change) {
    forest *w = (forest *)s;
    double *kept = w->changes + (size_t)feature * s->n;
    if (w->stale[feature]) {
        memset(kept, 0, s->n * sizeof *kept);
        for (size_t i = w->of_feature[feature]; i < w->of_feature[feature + 1]; i++) {
            const pair *p = &w->pairs[w->by_feature[i]];
            if (p->leaf == w->leaf[p->tree])
                continue;
            add_leaf(w, p->leaf, 1, kept);
            add_leaf(w, w->leaf[p->tree], -1, kept);
        }
        w->stale[feature] = 0;
    }
    memcpy(change, kept, s->n * sizeof *kept);
}

static void forest_round(const sis__additive *s, const double *sums, float *raw) {
    sis__trees_round(((const forest *)s)->t, sums, raw);
}

static void forest_finish(const sis__additive *s, float *scores) {
    sis__trees_finish(((const forest *)s)->t, scores);
}

static void forest_free(sis__additive *s) {
    forest *w = (forest *)s;
    free(s->bound);
    free(w->masked);
    free(w->leaf);
    free(w->pairs);
    free(w->of_tree);
    free(w->by_feature);
    free(w->of_feature);
    free(w->changes);
    free(w->stale);
    free(w->seen);
    free(w);
}

/* ---- Making ---------------------------------------------------------------------------------- */

/* The feature a node tests, if masking it changes what is tested; else -1. */
static int tested_by(const forest *w, const sis__tree_node *n) {
    if (n->mode == SIS__NODE_LEAF)
        return -1;
    float x = w->f->x[n->feature], z = w->f->z[n->feature];
    return x == z || (isnan(x) && isnan(z)) ? -1 : w->f->feature[n->feature];
}

typedef struct {
    size_t *stack; /* (nodes + 1) */
    size_t *last;  /* (features) last tree in which each was found, plus one */
} visit;

/* Pairs of one tree: appended to w->pairs if that is there, else counted. */
static size_t find_pairs(forest *w, visit *v, size_t tree, size_t at) {
    size_t depth = 0, before = at;
    v->stack[depth++] = w->t->roots[tree];
    while (depth) {
        const sis__tree_node *n = &w->t->nodes[v->stack[--depth]];
        int i = tested_by(w, n);
        if (i >= 0 && v->last[i] != tree + 1) {
            v->last[i] = tree + 1;
            if (w->pairs)
                w->pairs[at] = (pair){tree, 0, i};
            at++;
        }
        if (n->mode != SIS__NODE_LEAF) {
            v->stack[depth++] = n->yes;
            v->stack[depth++] = n->no;
        }
    }
    return at - before;
}

static void index_pairs(forest *w, size_t n) {
    for (size_t i = 0; i < n; i++)
        w->of_feature[w->pairs[i].feature + 1]++;
    for (size_t i = 0; i < w->features; i++)
        w->of_feature[i + 1] += w->of_feature[i];
    for (size_t i = n; i-- > 0;) /* from the back: starts move to where they belong */
        w->by_feature[--w->of_feature[w->pairs[i].feature + 1]] = i;
    for (size_t i = 0; i < w->features; i++)
        w->of_feature[i] = w->of_feature[i + 1];
    w->of_feature[w->features] = n;
}

static int make_pairs(forest *w) {
    visit v = {SIS_NEW(size_t, w->t->n_nodes + 1), SIS_NEW(size_t, w->features)};
    size_t n = 0;
    int error = v.stack && v.last ? SIS_OK : SIS_E_NOMEM;
    for (size_t k = 0; error == SIS_OK && k < w->t->n_trees; k++)
        n += find_pairs(w, &v, k, 0);
    if (error == SIS_OK) {
        memset(v.last, 0, w->features * sizeof *v.last);
        w->pairs = SIS_NEW(pair, n);
        w->by_feature = SIS_NEW(size_t, n);
        error = w->pairs && w->by_feature ? SIS_OK : SIS_E_NOMEM;
    }
    for (size_t k = 0; error == SIS_OK && k < w->t->n_trees; k++)
        w->of_tree[k + 1] = w->of_tree[k] + find_pairs(w, &v, k, w->of_tree[k]);
    if (error == SIS_OK)
        index_pairs(w, n);
    free(v.stack);
    free(v.last);
    return error;
}

/* Of what a tree adds to each sum: the largest magnitude and the most terms over its leaves, and
 * the same of the leaf at hand. (n) each. */
typedef struct {
    double *most, *of_leaf;
    size_t *terms, *in_leaf;
} extent;

static void measure_leaf(const forest *w, const sis__tree_node *n, extent *e) {
    for (size_t i = n->from; i < n->to; i++) {
        e->of_leaf[w->t->targets[i]] += fabs((double)w->t->weights[i]);
        e->in_leaf[w->t->targets[i]]++;
    }
    for (size_t i = n->from; i < n->to; i++) {
        size_t k = w->t->targets[i];
        e->most[k] = fmax(e->most[k], e->of_leaf[k]);
        e->terms[k] = e->terms[k] > e->in_leaf[k] ? e->terms[k] : e->in_leaf[k];
        e->of_leaf[k] = 0;
        e->in_leaf[k] = 0;
    }
}

static void measure_tree(const forest *w, size_t *stack, size_t tree, extent *e) {
    size_t depth = 0;
    stack[depth++] = w->t->roots[tree];
    while (depth) {
        const sis__tree_node *n = &w->t->nodes[stack[--depth]];
        if (n->mode == SIS__NODE_LEAF) {
            measure_leaf(w, n, e);
            continue;
        }
        stack[depth++] = n->yes;
        stack[depth++] = n->no;
    }
}

/* Adding n terms is off by at most n units of 2^-53 of the sum of their magnitudes. The base's sum,
 * the change, which has up to twice the terms, and the operator's sum together: 6 n and a few. */
static int make_bound(forest *w) {
    sis__additive *s = &w->sums;
    size_t n = s->n, *stack = SIS_NEW(size_t, w->t->n_nodes + 1), *terms = SIS_NEW(size_t, n);
    double *all = SIS_NEW(double, n);
    extent e = {SIS_NEW(double, n), SIS_NEW(double, n), SIS_NEW(size_t, n), SIS_NEW(size_t, n)};
    int fine = stack && terms && all && e.most && e.of_leaf && e.terms && e.in_leaf, finite = 1;
    for (size_t k = 0; fine && k < w->t->n_trees; k++) {
        memset(e.most, 0, n * sizeof *e.most);
        memset(e.terms, 0, n * sizeof *e.terms);
        measure_tree(w, stack, k, &e);
        for (size_t i = 0; i < n; i++) {
            all[i] += e.most[i];
            terms[i] += e.terms[i];
        }
    }
    for (size_t i = 0; fine && i < n; i++) {
        all[i] *= 8.0 * (double)(terms[i] + 8) * 0x1p-53;
        finite &= isfinite(all[i]);
    }
    free(stack);
    free(terms);
    free(e.most);
    free(e.of_leaf);
    free(e.terms);
    free(e.in_leaf);
    s->bound = finite ? all : NULL;
    if (!finite)
        free(all);
    return fine ? SIS_OK : SIS_E_NOMEM;
}

static int allocate(forest *w) {
    size_t n = w->sums.n, trees = w->t->n_trees;
    w->masked = SIS_NEW(unsigned char, w->features);
    w->leaf = SIS_NEW(size_t, trees);
    w->of_tree = SIS_NEW(size_t, trees + 1);
    w->of_feature = SIS_NEW(size_t, w->features + 1);
    w->changes = (double *)sis__alloc(w->features, n * sizeof(double));
    w->stale = SIS_NEW(unsigned char, w->features);
    w->seen = SIS_NEW(unsigned char, w->t->outputs);
    return w->masked && w->leaf && w->of_tree && w->of_feature && w->changes && w->stale && w->seen
               ? SIS_OK
               : SIS_E_NOMEM;
}

int sis__forest_new(const sis__entry *f, const sis__step *s, sis__additive **out) {
    *out = NULL;
    if (s->op != SIS__OP_TREE_ENSEMBLE_CLASSIFIER && s->op != SIS__OP_TREE_ENSEMBLE_REGRESSOR)
        return SIS_E_UNSUPPORTED;
    const sis__trees *t = s->p.trees;
    if (t->n != 1 || t->width != f->n)
        return SIS_E_UNSUPPORTED;
    forest *w = SIS_NEW(forest, 1);
    if (!w)
        return SIS_E_NOMEM;
    *w = (forest){.t = t, .f = f, .features = f->s->n_features};
    w->sums = (sis__additive){.n = t->single ? 1 : t->outputs,
                              .outputs = t->outputs,
                              .scores_at = t->classifier ? 1 : 0,
                              .note = "trees that test the feature",
                              .reset = forest_reset,
                              .mask = forest_mask,
                              .total = forest_total,
                              .change = forest_change,
                              .round = forest_round,
                              .finish = forest_finish,
                              .free = forest_free};
    int error = allocate(w);
    if (error == SIS_OK)
        error = make_pairs(w);
    if (error == SIS_OK && (t->how == SIS__TREES_SUM || t->how == SIS__TREES_AVERAGE))
        error = make_bound(w);
    if (error != SIS_OK) {
        forest_free(&w->sums);
        return error;
    }
    *out = &w->sums;
    return SIS_OK;
}
