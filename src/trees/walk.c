/* SPDX-License-Identifier: MIT
 *
 * See walk.h. Masking a feature can change a tree only if the feature decides a node on the current
 * path from the root to its leaf. So the walk keeps, for every tree, its leaf and, for each of the
 * few features on the path that would change it, the *other* leaf that masking leads to. The
 * features tested on the path are kept as a set of 64 bits (feature modulo 64): masking a feature
 * that is not in the set leaves the tree unchanged.
 *
 * The effect of masking each feature on the sums is kept as well and updated with the leaves. It
 * gives a candidate's sums at once, up to a known rounding error.
 *
 * Exact sums have to be added in the library's order, because rounding depends on it. A few
 * candidates are added up one by one, with their terms replacing the current ones. For many
 * candidates, each term is stored LANES times, once for each candidate of a block: each candidate
 * overwrites the terms of the trees it changes in its own lane, all lanes are summed at once, and
 * the overwritten terms are restored. Where a leaf has no term for a sum the term is -0, which
 * changes no number.
 *
 * Cost of a candidate: one addition per changed term and sum for the estimate, one per term for the
 * exact sum. Cost of masking a feature: recomputing the paths of the trees that test it. Memory:
 * LANES numbers per term, and a pair for each level of each tree.
 */
#include "trees/walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { LANES = 16, FEW = 3 };
typedef float floats __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float))));
typedef double doubles
    __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double))));

typedef struct {
    int feature;
    uint32_t tree, leaf; /* leaf of this tree with the feature masked */
} other;

/* Where the leaves of a tree are that one more masked feature leads to. */
typedef struct {
    uint32_t *paths; /* (n_paths) trees with more than one leaf */
    size_t n_paths;
    uint32_t *leaf;     /* (n_trees) */
    uint64_t *tested;   /* (n_trees) */
    other *others;      /* tree t has n_others[t] of them, from start[t] on */
    size_t *start;      /* (n_trees + 1) */
    uint32_t *n_others; /* (n_trees) */
    uint32_t *last;     /* (n_features) last tree whose path it changed, plus one */
} paths;

/* Sums as they are estimated between full passes. */
typedef struct {
    uint32_t *turns; /* (n_features) number of trees it would change */
    double *change;  /* (n_features, n_sums) estimated change of the sums */
    double *sums;    /* (n_sums) current estimates */
    double *size;    /* (n_sums) bound on the absolute values of the terms, added up */
    double steps;    /* number of updates of `change` and `sums` */
} estimates;

/* Exact sums of several features at once. */
typedef struct {
    double *terms;        /* (n_terms) current terms */
    other *sorted;        /* all others by feature, then by tree */
    size_t *of_feature;   /* (n_features + 1) first entry of each feature */
    int stale;            /* `sorted` and the lanes are out of date */
    float *single_lanes;  /* (n_terms, LANES) if `single` */
    double *double_lanes; /* otherwise */
    unsigned char *seen;  /* (n_sums) */
} exact_sums;

struct sis__forest_walk {
    const sis__forest *f;
    sis__forest_input in;
    int *owner;            /* (width) feature of each column, -1: none */
    size_t *column, *from; /* columns by feature; (n_features + 1) first of each */
    double *row;           /* (width) the current input */
    unsigned char *masked; /* (n_features) */
    paths at;
    estimates about;
    exact_sums sum;
};

/* ---- Paths ----------------------------------------------------------------------------------- */

static uint64_t bit_of(int feature) {
    return (uint64_t)1 << (feature & 63);
}

/* The feature whose masking would change the node's decision, or -1. */
static int turned_by(const sis__forest_walk *w, const sis__tree_node *n, int yes) {
    int owner = w->owner[n->feature];
    if (owner < 0 || w->masked[owner])
        return -1;
    return sis__forest_yes(w->f, n, w->in.z[n->feature]) != yes ? owner : -1;
}

/* The leaf reached from a node with one more feature masked. */
static uint32_t descend(sis__forest_walk *w, size_t tree, uint32_t at, int feature) {
    const sis__tree_node *n = &w->f->nodes[at];
    while (n->mode != SIS__NODE_LEAF) {
        int own = w->owner[n->feature] == feature;
        int yes = sis__forest_yes(w->f, n, (own ? w->in.z : w->row)[n->feature]);
        int turning = own ? -1 : turned_by(w, n, yes);
        if (turning >= 0)
            w->at.tested[tree] |= bit_of(turning);
        at = yes ? n->yes : n->no;
        n = &w->f->nodes[at];
    }
    return at;
}

/* Compute the path of a tree and the other leaves beside it. */
static void follow(sis__forest_walk *w, size_t tree) {
    uint32_t at = w->f->roots[tree], count = 0;
    other *others = w->at.others + w->at.start[tree];
    const sis__tree_node *n = &w->f->nodes[at];
    w->at.tested[tree] = 0;
    for (; n->mode != SIS__NODE_LEAF; n = &w->f->nodes[at]) {
        int yes = sis__forest_yes(w->f, n, w->row[n->feature]), feature = turned_by(w, n, yes);
        if (feature >= 0 && w->at.last[feature] != tree + 1) {
            w->at.last[feature] = (uint32_t)tree + 1;
            w->at.tested[tree] |= bit_of(feature);
            others[count++] = (other){feature, (uint32_t)tree, yes ? n->no : n->yes};
        }
        at = yes ? n->yes : n->no;
    }
    w->at.leaf[tree] = at;
    w->at.n_others[tree] = count;
    for (uint32_t i = 0; i < count; i++) {
        w->at.last[others[i].feature] = 0;
        others[i].leaf = descend(w, tree, others[i].leaf, others[i].feature);
    }
}

static void add_leaf(const sis__forest *f, uint32_t leaf, double sign, double *sums) {
    const sis__tree_node *n = &f->nodes[leaf];
    for (size_t i = n->from; i < n->to; i++)
        sums[f->targets[i]] += sign * f->weights[i];
}

/* Add the effects of a tree's path to the estimates, or remove them (sign -1). */
static void count_path(sis__forest_walk *w, size_t tree, int sign) {
    const other *others = w->at.others + w->at.start[tree];
    add_leaf(w->f, w->at.leaf[tree], sign, w->about.sums);
    for (uint32_t i = 0; i < w->at.n_others[tree]; i++) {
        double *change = w->about.change + (size_t)others[i].feature * w->f->n_sums;
        w->about.turns[others[i].feature] += (uint32_t)sign;
        add_leaf(w->f, others[i].leaf, sign, change);
        add_leaf(w->f, w->at.leaf[tree], -sign, change);
    }
    w->about.steps += 2;
}

/* ---- Terms ----------------------------------------------------------------------------------- */

/* Set a term of the current state, or (lane >= 0) of a candidate. */
static void put(sis__forest_walk *w, size_t term, int lane, double v) {
    if (lane < 0)
        w->sum.terms[term] = v;
    else if (w->f->single)
        w->sum.single_lanes[term * LANES + (size_t)lane] = (float)v;
    else
        w->sum.double_lanes[term * LANES + (size_t)lane] = v;
}

static void put_leaf(sis__forest_walk *w, size_t tree, int lane, uint32_t leaf) {
    const sis__forest *f = w->f;
    const sis__tree_node *n = &f->nodes[leaf];
    size_t terms = f->by.tree_start[tree + 1] - f->by.tree_start[tree];
    if (terms > n->to - n->from)
        for (size_t i = f->by.tree_start[tree]; i < f->by.tree_start[tree + 1]; i++)
            put(w, f->by.tree_terms[i], lane, -0.0);
    for (size_t i = n->from; i < n->to; i++)
        put(w, f->by.term_of[i], lane, f->weights[i]);
}

/* Set a column's linear terms, from the current row or masked. */
static void put_column(sis__forest_walk *w, size_t j, int lane, const double *row) {
    const sis__forest *f = w->f;
    for (size_t k = 0; f->linear && k < f->n_sums; k++)
        put(w, f->by.sum_terms[k + 1] - f->width + j, lane, sis__forest_product(f, j, k, row[j]));
}

static void put_columns(sis__forest_walk *w, int feature, int lane, const double *row) {
    for (size_t i = w->from[feature]; i < w->from[feature + 1]; i++)
        put_column(w, w->column[i], lane, row);
}

/* Sum all lanes: the sums of lane l go to sums[l * n_sums ...], for the first n lanes. */
static void add_single(const sis__forest_walk *w, size_t k, size_t n, double *sums) {
    const sis__forest *f = w->f;
    floats sum, next;
    for (int l = 0; l < LANES; l++)
        sum[l] = f->base ? (float)f->base[k] : 0;
    for (size_t t = f->by.sum_terms[k]; t < f->by.sum_terms[k + 1]; t++) {
        memcpy(&next, w->sum.single_lanes + t * LANES, sizeof next);
        sum += next;
    }
    for (size_t l = 0; l < n; l++)
        sums[l * f->n_sums + k] = (double)sum[l];
}

static void add_double(const sis__forest_walk *w, size_t k, size_t n, double *sums) {
    const sis__forest *f = w->f;
    doubles sum, next;
    for (int l = 0; l < LANES; l++)
        sum[l] = f->base ? f->base[k] : 0;
    for (size_t t = f->by.sum_terms[k]; t < f->by.sum_terms[k + 1]; t++) {
        memcpy(&next, w->sum.double_lanes + t * LANES, sizeof next);
        sum += next;
    }
    for (size_t l = 0; l < n; l++)
        sums[l * f->n_sums + k] = sum[l];
}

/* ---- Candidates ------------------------------------------------------------------------------ */

static void fill_lanes(sis__forest_walk *w) {
    for (size_t t = 0; t < w->f->by.n_terms; t++)
        for (int l = 0; l < LANES; l++)
            put(w, t, l, w->sum.terms[t]);
}

/* Sort the others by feature (counting sort). */
static void sort_others(sis__forest_walk *w) {
    size_t *of = w->sum.of_feature, p = w->in.n_features;
    memset(of, 0, (p + 1) * sizeof *of);
    for (size_t t = 0; t < w->f->n_trees; t++)
        for (uint32_t i = 0; i < w->at.n_others[t]; i++)
            of[w->at.others[w->at.start[t] + i].feature]++;
    for (size_t i = 0; i < p; i++)
        of[i + 1] += of[i];
    for (size_t t = w->f->n_trees; t-- > 0;)
        for (uint32_t i = 0; i < w->at.n_others[t]; i++) {
            const other *o = &w->at.others[w->at.start[t] + i];
            w->sum.sorted[--of[o->feature]] = *o;
        }
    w->sum.stale = 0;
}

/* Write a candidate's leaves into its lane, or (back) restore those of the current state. */
static void set_lane(sis__forest_walk *w, int feature, int lane, int back) {
    if (feature < 0)
        return;
    for (size_t i = w->sum.of_feature[feature]; i < w->sum.of_feature[feature + 1]; i++) {
        const other *o = &w->sum.sorted[i];
        put_leaf(w, o->tree, lane, back ? w->at.leaf[o->tree] : o->leaf);
    }
    if (w->f->linear && !w->masked[feature])
        put_columns(w, feature, lane, back ? w->row : w->in.z);
}

static void sum_block(sis__forest_walk *w, const int *features, size_t n, double *sums) {
    for (size_t l = 0; l < n; l++)
        set_lane(w, features[l], (int)l, 0);
    for (size_t k = 0; k < w->f->n_sums; k++)
        (w->f->single ? add_single : add_double)(w, k, n, sums);
    for (size_t l = 0; l < n; l++)
        set_lane(w, features[l], (int)l, 1);
}

/* The leaf of a tree with one more feature masked. */
static inline uint32_t leaf_with(const sis__forest_walk *w, size_t tree, int feature) {
    const other *o = w->at.others + w->at.start[tree], *end = o + w->at.n_others[tree];
    if (feature < 0 || !(w->at.tested[tree] & bit_of(feature)))
        return w->at.leaf[tree];
    while (o < end && o->feature != feature)
        o++;
    return o < end ? o->leaf : w->at.leaf[tree];
}

/* For sums that take the minimum or maximum leaf: tree by tree. */
static void choose_leaves(sis__forest_walk *w, int feature, double *sums) {
    sis__forest_begin(w->f, sums, w->sum.seen);
    for (size_t t = 0; t < w->f->n_trees; t++)
        sis__forest_add(w->f, leaf_with(w, t, feature), sums, w->sum.seen);
}

/* Write a candidate's terms over the current ones, or (back) restore them. */
static void set_terms(sis__forest_walk *w, int feature, int back) {
    uint64_t bit = bit_of(feature);
    for (size_t i = 0; i < w->at.n_paths; i++) {
        size_t t = w->at.paths[i];
        if (w->at.tested[t] & bit)
            put_leaf(w, t, -1, back ? w->at.leaf[t] : leaf_with(w, t, feature));
    }
    put_columns(w, feature, -1, back ? w->row : w->in.z);
}

static void sum_one(sis__forest_walk *w, int feature, double *sums) {
    const sis__forest *f = w->f;
    if (feature >= 0)
        set_terms(w, feature, 0);
    for (size_t k = 0; k < f->n_sums; k++) {
        const double *term = w->sum.terms + f->by.sum_terms[k],
                     *end = w->sum.terms + f->by.sum_terms[k + 1];
        sums[k] = f->base ? f->base[k] : 0;
        if (f->single) {
            float sum = (float)sums[k];
            for (; term < end; term++)
                sum += (float)*term;
            sums[k] = (double)sum;
        } else {
            for (; term < end; term++)
                sums[k] += *term;
        }
    }
    if (feature >= 0)
        set_terms(w, feature, 1);
}

void sis__forest_walk_sums(sis__forest_walk *w, const int *features, size_t n, double *sums) {
    size_t k = w->f->n_sums;
    int added = w->f->how == SIS__TREES_SUM || w->f->how == SIS__TREES_AVERAGE;
    if (added && n > FEW && w->sum.stale) {
        sort_others(w);
        fill_lanes(w);
    }
    for (size_t i = 0; (!added || n <= FEW) && i < n; i++)
        (added ? sum_one : choose_leaves)(w, features[i], sums + i * k);
    for (size_t i = 0; added && n > FEW && i < n; i += LANES)
        sum_block(w, features + i, n - i < LANES ? n - i : LANES, sums + i * k);
}

const uint32_t *sis__forest_walk_turns(const sis__forest_walk *w) {
    return w->about.turns;
}

const double *sis__forest_walk_change(const sis__forest_walk *w, int feature) {
    return feature < 0 ? w->about.sums : w->about.change + (size_t)feature * w->f->n_sums;
}

/* A sum of n terms, added in any order, is off by at most n units in the last place of the sum of
 * their absolute values. This holds for the current sums and for a candidate's, with a few
 * operations more. Values kept in double are off by one unit for each update. */
int sis__forest_walk_bound(const sis__forest_walk *w, double *bound) {
    const sis__forest *f = w->f;
    int known = f->how == SIS__TREES_SUM || f->how == SIS__TREES_AVERAGE;
    for (size_t k = 0; k < f->n_sums; k++) {
        double n = (double)(f->by.sum_terms[k + 1] - f->by.sum_terms[k]) + 8;
        bound[k] =
            (2 * n * (f->single ? 0x1p-24 : 0x1p-53) + w->about.steps * 0x1p-51) * w->about.size[k];
        known &= isfinite(bound[k]) != 0;
    }
    return known;
}

/* ---- States ---------------------------------------------------------------------------------- */

/* Add the effect of masking a feature's columns. */
static void count_columns(sis__forest_walk *w, int feature, double *sums) {
    const sis__forest *f = w->f;
    for (size_t i = w->from[feature]; f->linear && i < w->from[feature + 1]; i++)
        for (size_t k = 0; k < f->n_sums; k++) {
            size_t j = w->column[i];
            sums[k] += sis__forest_product(f, j, k, w->in.z[j]);
            sums[k] -= sis__forest_product(f, j, k, w->row[j]);
            w->about.steps += 2;
        }
}

static void recompute_changes(sis__forest_walk *w) {
    const sis__forest *f = w->f;
    size_t p = w->in.n_features;
    memset(w->about.turns, 0, p * sizeof *w->about.turns);
    memset(w->about.change, 0, p * f->n_sums * sizeof *w->about.change);
    for (size_t k = 0; k < f->n_sums; k++) {
        w->about.sums[k] = f->base ? f->base[k] : 0;
        for (size_t j = 0; f->linear && j < f->width; j++)
            w->about.sums[k] += sis__forest_product(f, j, k, w->row[j]);
    }
    w->about.steps = f->linear ? (double)f->width : 0;
    for (size_t i = 0; f->linear && i < p; i++)
        if (!w->masked[i])
            count_columns(w, (int)i, w->about.change + i * f->n_sums);
}

void sis__forest_walk_reset(sis__forest_walk *w, const unsigned char *masked) {
    const sis__forest *f = w->f;
    memcpy(w->masked, masked, w->in.n_features);
    for (size_t j = 0; j < f->width; j++) {
        int gone = w->owner[j] >= 0 && masked[w->owner[j]];
        w->row[j] = (gone ? w->in.z : w->in.x)[j];
        put_column(w, j, -1, w->row);
    }
    recompute_changes(w);
    for (size_t t = 0; t < f->n_trees; t++) {
        follow(w, t);
        count_path(w, t, 1);
        put_leaf(w, t, -1, w->at.leaf[t]);
    }
    w->sum.stale = 1;
}

void sis__forest_walk_mask(sis__forest_walk *w, int feature) {
    count_columns(w, feature, w->about.sums);
    w->masked[feature] = 1;
    for (size_t i = w->from[feature]; i < w->from[feature + 1]; i++)
        w->row[w->column[i]] = w->in.z[w->column[i]];
    put_columns(w, feature, -1, w->in.z);
    for (size_t i = 0; i < w->at.n_paths; i++) {
        size_t t = w->at.paths[i];
        if (!(w->at.tested[t] & bit_of(feature)))
            continue;
        count_path(w, t, -1);
        follow(w, t);
        count_path(w, t, 1);
        put_leaf(w, t, -1, w->at.leaf[t]);
    }
    w->sum.stale = 1;
}

/* ---- Making ---------------------------------------------------------------------------------- */

void sis__forest_walk_free(sis__forest_walk *w) {
    if (!w)
        return;
    free(w->owner);
    free(w->column);
    free(w->from);
    free(w->row);
    free(w->masked);
    free(w->at.paths);
    free(w->at.leaf);
    free(w->at.tested);
    free(w->at.others);
    free(w->at.start);
    free(w->at.n_others);
    free(w->at.last);
    free(w->about.turns);
    free(w->about.change);
    free(w->about.sums);
    free(w->about.size);
    free(w->sum.terms);
    free(w->sum.sorted);
    free(w->sum.of_feature);
    free(w->sum.single_lanes);
    free(w->sum.double_lanes);
    free(w->sum.seen);
    free(w);
}

/* List the columns of each feature. */
static void index_columns(sis__forest_walk *w) {
    size_t p = w->in.n_features;
    for (size_t j = 0; j < w->f->width; j++)
        if ((w->owner[j] = w->in.feature ? w->in.feature[j] : (int)j) >= 0)
            w->from[w->owner[j]]++;
    for (size_t i = 0; i < p; i++)
        w->from[i + 1] += w->from[i];
    for (size_t j = w->f->width; j-- > 0;)
        if (w->owner[j] >= 0)
            w->column[--w->from[w->owner[j]]] = j;
}

/* A path has at most as many others as nodes, and as features. */
static int allocate(sis__forest_walk *w) {
    const sis__forest *f = w->f;
    size_t p = w->in.n_features, terms = f->by.n_terms;
    w->at.start = SIS_NEW(size_t, f->n_trees + 1);
    for (size_t t = 0; w->at.start && t < f->n_trees; t++)
        w->at.start[t + 1] = w->at.start[t] + (f->by.depths[t] < p ? f->by.depths[t] : p);
    w->owner = SIS_NEW(int, f->width);
    w->column = SIS_NEW(size_t, f->width);
    w->from = SIS_NEW(size_t, p + 1);
    w->row = SIS_NEW(double, f->width);
    w->masked = SIS_NEW(unsigned char, p);
    w->at.leaf = SIS_NEW(uint32_t, f->n_trees);
    w->at.paths = SIS_NEW(uint32_t, f->n_trees);
    w->at.tested = SIS_NEW(uint64_t, f->n_trees);
    w->at.n_others = SIS_NEW(uint32_t, f->n_trees);
    w->at.last = SIS_NEW(uint32_t, p);
    w->about.turns = SIS_NEW(uint32_t, p);
    w->about.change = (double *)sis__alloc(p, f->n_sums * sizeof *w->about.change);
    w->about.sums = SIS_NEW(double, f->n_sums);
    w->about.size = SIS_NEW(double, f->n_sums);
    w->sum.terms = SIS_NEW(double, terms);
    w->sum.of_feature = SIS_NEW(size_t, p + 1);
    w->sum.seen = SIS_NEW(unsigned char, f->n_sums);
    w->at.others = w->at.start ? SIS_NEW(other, w->at.start[f->n_trees]) : NULL;
    w->sum.sorted = w->at.start ? SIS_NEW(other, w->at.start[f->n_trees]) : NULL;
    w->sum.single_lanes = f->single ? (float *)sis__alloc(terms, LANES * sizeof(float)) : NULL;
    w->sum.double_lanes = f->single ? NULL : (double *)sis__alloc(terms, LANES * sizeof(double));
    return w->at.start && w->owner && w->column && w->from && w->row && w->masked && w->at.leaf &&
                   w->at.paths && w->at.tested && w->at.n_others && w->at.last &&
                   w->sum.of_feature && w->sum.seen && w->at.others && w->about.turns &&
                   w->about.change && w->about.sums && w->about.size && w->sum.terms &&
                   w->sum.sorted && (w->sum.single_lanes || w->sum.double_lanes)
               ? SIS_OK
               : SIS_E_NOMEM;
}

/* Bound the terms of each sum. */
static void bound_terms(sis__forest_walk *w) {
    const sis__forest *f = w->f;
    for (size_t k = 0; k < f->n_sums; k++) {
        w->about.size[k] = f->size[k];
        for (size_t j = 0; f->linear && j < f->width; j++)
            w->about.size[k] += fmax(fabs(sis__forest_product(f, j, k, w->in.x[j])),
                                     fabs(sis__forest_product(f, j, k, w->in.z[j])));
    }
}

double sis__forest_walk_size(const sis__forest *f) {
    double levels = 0;
    for (size_t t = 0; t < f->n_trees; t++)
        levels += f->by.depths[t];
    return (double)f->by.n_terms *
               (double)(8 + LANES * (f->single ? sizeof(float) : sizeof(double))) +
           (double)f->n_trees * 32 + levels * 2 * sizeof(other) +
           (double)f->width * (64 + 8 * (double)f->n_sums);
}

int sis__forest_walk_new(const sis__forest *f, const sis__forest_input *in,
                         sis__forest_walk **out) {
    *out = NULL;
    sis__forest_walk *w = SIS_NEW(sis__forest_walk, 1);
    if (!w)
        return SIS_E_NOMEM;
    w->f = f;
    w->in = *in;
    int error = allocate(w);
    if (error) {
        sis__forest_walk_free(w);
        return error;
    }
    index_columns(w);
    for (size_t t = 0; t < f->n_trees; t++)
        if (f->by.depths[t] > 0)
            w->at.paths[w->at.n_paths++] = (uint32_t)t;
    bound_terms(w);
    *out = w;
    return SIS_OK;
}
