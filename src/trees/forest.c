/* SPDX-License-Identifier: MIT
 *
 * See forest.h.
 */
#include "trees/forest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- Rows ------------------------------------------------------------------------------------ */

static float listed(const sis__forest *f, size_t member) {
    float v;
    memcpy(&v, &f->members[member], sizeof v);
    return v;
}

static int is_listed(const sis__forest *f, const sis__tree_node *n, double x) {
    size_t from = n->from, to = n->to;
    while (from < to) {
        size_t at = from + (to - from) / 2;
        double v = (double)listed(f, at);
        if (v == x)
            return 1;
        if (v < x)
            from = at + 1;
        else
            to = at;
    }
    return 0;
}

int sis__forest_member(const sis__forest *f, const sis__tree_node *n, double x) {
    if (n->mode == SIS__NODE_ONE_OF)
        return is_listed(f, n, x);
    if (!(x >= n->value) || !(x < 32.0 * (double)(n->to - n->from)))
        return 0;
    uint32_t category = (uint32_t)x;
    return f->members[n->from + category / 32] >> (category % 32) & 1;
}

/* The child that a row goes to, computed without a branch because the branch would be
 * unpredictable. */
static inline uint32_t child(const sis__forest *f, const sis__tree_node *n, const double *row) {
    uint32_t yes = 0u - (uint32_t)(sis__forest_yes(f, n, row[n->feature]) != 0);
    return n->no ^ ((n->no ^ n->yes) & yes);
}

/* Find the leaves of a row in n trees, interleaved: while one tree waits for memory, the others
 * proceed. */
static void find_leaves(const sis__forest *f, const uint32_t *roots, size_t n, const double *row,
                        uint32_t *at) {
    memcpy(at, roots, n * sizeof *at);
    for (int more = 1; more;) {
        more = 0;
        for (size_t i = 0; i < n; i++)
            if (f->nodes[at[i]].mode != SIS__NODE_LEAF) {
                at[i] = child(f, &f->nodes[at[i]], row);
                more = 1;
            }
    }
}

/* Adding two floats in double and rounding gives the same result as adding them as floats. */
static double rounded(const sis__forest *f, double v) {
    return f->single ? (double)(float)v : v;
}

void sis__forest_begin(const sis__forest *f, double *sums, unsigned char *seen) {
    for (size_t k = 0; k < f->n_sums; k++)
        sums[k] = f->base ? f->base[k] : 0;
    memset(seen, 0, f->n_sums);
}

static void keep_extremes(const sis__forest *f, const sis__tree_node *n, double *sums,
                          unsigned char *seen) {
    for (size_t i = n->from; i < n->to; i++) {
        size_t k = f->targets[i];
        double w = f->weights[i];
        sums[k] = !seen[k] ? w : f->how == SIS__TREES_MIN ? fmin(sums[k], w) : fmax(sums[k], w);
        seen[k] = 1;
    }
}

void sis__forest_add(const sis__forest *f, uint32_t leaf, double *sums, unsigned char *seen) {
    const sis__tree_node *n = &f->nodes[leaf];
    if (f->how == SIS__TREES_MIN || f->how == SIS__TREES_MAX) {
        keep_extremes(f, n, sums, seen);
        return;
    }
    for (size_t i = n->from; i < n->to; i++) {
        size_t k = f->targets[i];
        sums[k] = rounded(f, sums[k] + f->weights[i]);
        seen[k] = 1;
    }
}

double sis__forest_product(const sis__forest *f, size_t j, size_t k, double x) {
    return isnan(x) ? -0.0 : rounded(f, x * f->linear[j * f->n_sums + k]);
}

void sis__forest_sums(const sis__forest *f, const double *row, double *sums, unsigned char *seen) {
    enum { TOGETHER = 8 };
    uint32_t leaves[TOGETHER];
    sis__forest_begin(f, sums, seen);
    for (size_t t = 0; t < f->n_trees; t += TOGETHER) {
        size_t n = f->n_trees - t < TOGETHER ? f->n_trees - t : TOGETHER;
        find_leaves(f, f->roots + t, n, row, leaves);
        for (size_t i = 0; i < n; i++)
            sis__forest_add(f, leaves[i], sums, seen);
    }
    for (size_t j = 0; f->linear && j < f->width; j++)
        for (size_t k = 0; k < f->n_sums; k++)
            sums[k] = rounded(f, sums[k] + sis__forest_product(f, j, k, row[j]));
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static int check_node(const sis__forest *f, size_t i) {
    const sis__tree_node *n = &f->nodes[i];
    if (n->mode == SIS__NODE_LEAF || n->mode >= SIS__NODE_IN) {
        size_t max = n->mode == SIS__NODE_LEAF ? f->n_weights : f->n_members;
        if (n->from > n->to || n->to > max)
            return sis__fail(SIS_E_FORMAT,
                             "node %zu refers to weights or categories that do not exist", i);
    }
    if (n->mode == SIS__NODE_LEAF)
        return SIS_OK;
    if (n->yes >= f->n_nodes || n->no >= f->n_nodes)
        return sis__fail(SIS_E_FORMAT, "node %zu refers to a child that does not exist", i);
    if (n->feature >= f->width)
        return sis__fail(SIS_E_FORMAT, "node %zu tests column %u, but there are %zu", i,
                         (unsigned)n->feature, f->width);
    return SIS_OK;
}

typedef struct {
    uint32_t node, depth;
} place;

typedef struct {
    place *stack;           /* (n_nodes + 2) */
    unsigned char *visited; /* (n_nodes) */
    uint32_t *count, *max;  /* (n_sums) weights of a leaf per sum; the tree's largest count */
    uint32_t *listed;       /* (n_sums) sums that the tree contributes to */
    size_t n_listed, reached;
} survey;

/* Count the terms that this leaf adds to each sum. */
static void count_leaf(const sis__forest *f, survey *s, const sis__tree_node *n) {
    for (size_t i = n->from; i < n->to; i++) {
        uint32_t k = f->targets[i];
        if (++s->count[k] > s->max[k] && ++s->max[k] == 1)
            s->listed[s->n_listed++] = k;
    }
    for (size_t i = n->from; i < n->to; i++)
        s->count[f->targets[i]] = 0;
}

/* Visit a tree. No node may occur twice in the whole forest, so there are no cycles. Sets s->listed
 * and s->max for the tree. */
static int visit(const sis__forest *f, survey *s, size_t tree) {
    size_t n = 0;
    s->n_listed = 0;
    f->by.depths[tree] = 0;
    s->stack[n++] = (place){f->roots[tree], 0};
    while (n) {
        place p = s->stack[--n];
        const sis__tree_node *node = &f->nodes[p.node];
        if (s->visited[p.node]++)
            return sis__fail(SIS_E_FORMAT, "tree %zu is not a tree: node %u has two parents", tree,
                             (unsigned)p.node);
        s->reached++;
        if (p.depth > f->by.depths[tree])
            f->by.depths[tree] = p.depth;
        if (node->mode == SIS__NODE_LEAF) {
            count_leaf(f, s, node);
            continue;
        }
        s->stack[n++] = (place){node->no, p.depth + 1};
        s->stack[n++] = (place){node->yes, p.depth + 1};
    }
    return SIS_OK;
}

static void clear(survey *s) {
    for (size_t i = 0; i < s->n_listed; i++)
        s->max[s->listed[i]] = 0;
}

/* ---- Terms ----------------------------------------------------------------------------------- */

/* Count terms: per sum in sum_terms[k + 1], per tree in tree_start[t + 1]. */
static int count_terms(sis__forest *f, survey *s) {
    for (size_t t = 0; t < f->n_trees; t++) {
        int error = visit(f, s, t);
        if (error)
            return error;
        f->depth = f->by.depths[t] > f->depth ? f->by.depths[t] : f->depth;
        f->by.tree_start[t + 1] = f->by.tree_start[t];
        for (size_t i = 0; i < s->n_listed; i++) {
            f->by.sum_terms[s->listed[i] + 1] += s->max[s->listed[i]];
            f->by.tree_start[t + 1] += s->max[s->listed[i]];
        }
        clear(s);
    }
    for (size_t k = 0; k < f->n_sums; k++) {
        f->by.sum_terms[k + 1] += f->by.sum_terms[k] + (f->linear ? f->width : 0);
        if (f->by.sum_terms[k + 1] > UINT32_MAX)
            return sis__fail(SIS_E_UNSUPPORTED, "more than 4 billion leaves");
    }
    f->by.n_terms = f->by.sum_terms[f->n_sums];
    return SIS_OK;
}

/* Number the terms of a tree; next (n_sums) is the next free number of each sum. */
static void number_terms(sis__forest *f, survey *s, size_t tree, size_t *next, uint32_t *first) {
    size_t at = f->by.tree_start[tree];
    for (size_t i = 0; i < s->n_listed; i++) {
        uint32_t k = s->listed[i];
        first[k] = (uint32_t)next[k];
        for (uint32_t m = 0; m < s->max[k]; m++)
            f->by.tree_terms[at++] = (uint32_t)next[k]++;
    }
}

static void number_weights(sis__forest *f, survey *s, size_t tree, const uint32_t *first) {
    size_t n = 0;
    s->stack[n++] = (place){f->roots[tree], 0};
    while (n) {
        const sis__tree_node *node = &f->nodes[s->stack[--n].node];
        if (node->mode != SIS__NODE_LEAF) {
            s->stack[n++] = (place){node->no, 0};
            s->stack[n++] = (place){node->yes, 0};
            continue;
        }
        for (size_t i = node->from; i < node->to; i++)
            f->by.term_of[i] = first[f->targets[i]] + s->count[f->targets[i]]++;
        for (size_t i = node->from; i < node->to; i++)
            s->count[f->targets[i]] = 0;
    }
}

static int place_terms(sis__forest *f, survey *s) {
    size_t *next = (size_t *)sis__copy(f->by.sum_terms, f->n_sums, sizeof *next);
    uint32_t *first = SIS_NEW(uint32_t, f->n_sums);
    int error = next && first ? SIS_OK : SIS_E_NOMEM;
    memset(s->visited, 0, f->n_nodes);
    s->reached = 0;
    for (size_t t = 0; !error && t < f->n_trees; t++) {
        error = visit(f, s, t);
        number_terms(f, s, t, next, first);
        number_weights(f, s, t, first);
        clear(s);
    }
    free(next);
    free(first);
    return error;
}

/* Add up the base and the largest weight of every term. Not finite if one of them is not. */
static int sum_sizes(sis__forest *f) {
    double *max = SIS_NEW(double, f->by.n_terms);
    if (!max)
        return SIS_E_NOMEM;
    for (size_t i = 0; f->by.n_terms > 0 && i < f->n_weights; i++) {
        double size = isnan(f->weights[i]) ? INFINITY : fabs(f->weights[i]);
        max[f->by.term_of[i]] = fmax(max[f->by.term_of[i]], size);
    }
    for (size_t k = 0; k < f->n_sums; k++) {
        f->size[k] = f->base ? fabs(f->base[k]) : 0;
        for (size_t t = f->by.sum_terms[k]; t < f->by.sum_terms[k + 1]; t++)
            f->size[k] += max[t];
    }
    free(max);
    return SIS_OK;
}

/* ---- Finish ---------------------------------------------------------------------------------- */

static void *get_heap(void *ctx, size_t n, size_t size) {
    (void)ctx;
    return sis__alloc(n, size);
}

static int survey_forest(sis__forest *f, const sis__forest_alloc *a, survey *s) {
    s->stack = SIS_NEW(place, f->n_nodes + 2);
    s->visited = SIS_NEW(unsigned char, f->n_nodes);
    s->count = SIS_NEW(uint32_t, f->n_sums);
    s->max = SIS_NEW(uint32_t, f->n_sums);
    s->listed = SIS_NEW(uint32_t, f->n_sums);
    f->by.depths = (uint32_t *)a->get(a->ctx, f->n_trees, sizeof *f->by.depths);
    f->by.sum_terms = (size_t *)a->get(a->ctx, f->n_sums + 1, sizeof *f->by.sum_terms);
    f->by.tree_start = (size_t *)a->get(a->ctx, f->n_trees + 1, sizeof *f->by.tree_start);
    f->by.term_of = (uint32_t *)a->get(a->ctx, f->n_weights, sizeof *f->by.term_of);
    f->size = (double *)a->get(a->ctx, f->n_sums, sizeof *f->size);
    if (!s->stack || !s->visited || !s->count || !s->max || !s->listed || !f->by.depths ||
        !f->by.sum_terms || !f->by.tree_start || !f->by.term_of || !f->size)
        return SIS_E_NOMEM;
    int error = count_terms(f, s);
    if (error)
        return error;
    f->by.tree_terms =
        (uint32_t *)a->get(a->ctx, f->by.tree_start[f->n_trees], sizeof *f->by.tree_terms);
    error = f->by.tree_terms ? place_terms(f, s) : SIS_E_NOMEM;
    return error ? error : sum_sizes(f);
}

int sis__forest_finish(sis__forest *f, const sis__forest_alloc *a, size_t *reached) {
    static const sis__forest_alloc heap = {get_heap, NULL};
    survey s = {0};
    int error = SIS_OK;
    if (f->n_nodes > INT32_MAX || f->n_weights > INT32_MAX || f->n_sums > INT32_MAX)
        return sis__fail(SIS_E_UNSUPPORTED, "more than 2 billion nodes");
    for (size_t i = 0; !error && i < f->n_nodes; i++)
        error = check_node(f, i);
    for (size_t i = 0; !error && i < f->n_weights; i++)
        if (f->targets[i] >= f->n_sums)
            error = sis__fail(SIS_E_FORMAT, "a weight is for output %u, but there are %zu",
                              (unsigned)f->targets[i], f->n_sums);
    for (size_t t = 0; !error && t < f->n_trees; t++)
        if (f->roots[t] >= f->n_nodes)
            error = sis__fail(SIS_E_FORMAT, "tree %zu has no root", t);
    if (!error)
        error = survey_forest(f, a ? a : &heap, &s);
    if (reached)
        *reached = s.reached;
    free(s.stack);
    free(s.visited);
    free(s.count);
    free(s.max);
    free(s.listed);
    return error;
}

void sis__forest_release(sis__forest *f) {
    free(f->nodes);
    free(f->roots);
    free(f->targets);
    free(f->weights);
    free(f->members);
    free(f->base);
    free(f->linear);
    free(f->by.depths);
    free(f->by.sum_terms);
    free(f->by.term_of);
    free(f->by.tree_terms);
    free(f->by.tree_start);
    free(f->size);
    *f = (sis__forest){0};
}
