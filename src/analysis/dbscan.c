/* SPDX-License-Identifier: MIT
 *
 * DBSCAN on the distinct points of a space.
 *
 * The result does not depend on the order in which clusters grow: clusters are the connected
 * components of the core points, numbered by their first core point, and a point that is not core
 * belongs to the lowest cluster it touches. So two parallel passes over the neighbours suffice:
 *
 *     1. count the neighbours of every point (weights included) -> core points
 *     2. join neighbours that are both core; note those of which one is
 *
 * The second pass reads the neighbours that the first has kept, as many as fit in opt->memory, and
 * computes the rest again. Notes are few: a point that is not core has fewer than min_size
 * neighbours.
 *
 * Joining is a union-find whose roots are the lowest numbers of their sets and are only replaced by
 * lower ones, by compare-and-swap: the result does not depend on the threads.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/space.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"

enum { BLOCK = 64 }; /* points per work item of a thread */

/* The neighbours of a block's points, kept from the first pass. */
typedef struct {
    uint32_t *items;      /* NULL: not kept */
    uint32_t ends[BLOCK]; /* end of each point's neighbours */
} kept_block;

/* `edge` is not core and is a neighbour of the core point `core`. */
typedef struct {
    uint32_t edge, core;
} touch;

typedef struct {
    touch *items;
    size_t n, room;
} touch_list;

typedef struct {
    const sis__space *s;
    const sis_cluster_opt *opt;
    int jobs;
    void **scratches;    /* (jobs) */
    sis__near *near;     /* (jobs) */
    touch_list *touches; /* (jobs) */
    size_t n_blocks;
    kept_block *blocks;        /* (n_blocks) */
    atomic_size_t kept, pairs; /* bytes; neighbours */
    atomic_size_t *counts;     /* (n) weights of all neighbours */
    unsigned char *core;       /* (n) */
    _Atomic uint32_t *parent;  /* (n) */
    int *labels;               /* (n) */
    size_t n_clusters;
} scan;

/* ---- Options ------------------------------------------------------------------------------- */

void sis_cluster_opt_init(sis_cluster_opt *opt) {
    *opt = (sis_cluster_opt){
        .eps = NAN, .min_size = 5, .jobs = 1, .memory = (size_t)512 << 20, .sample = 1000};
}

const char *sis__cluster_opt_check(const sis_cluster_opt *opt) {
    if (isnan(opt->eps))
        return "eps is not set";
    if (opt->eps < 0)
        return "eps is negative";
    if (opt->min_size < 1)
        return "min_size is 0; a point is its own neighbour, so the least is 1";
    return opt->jobs < 0 ? "jobs is negative" : NULL;
}

/* ---- First pass: core points ----------------------------------------------------------------- */

static size_t block_end(const scan *c, size_t block) {
    size_t end = (block + 1) * BLOCK;
    return end < c->s->n ? end : c->s->n;
}

/* Keep the neighbours of a block, if there is room. */
static void keep(scan *c, kept_block *b, const sis__near *near) {
    size_t bytes = near->n * sizeof *near->items;
    if (near->n > UINT32_MAX || atomic_fetch_add(&c->kept, bytes) + bytes > c->opt->memory)
        return;
    b->items = (uint32_t *)malloc(bytes ? bytes : 1); /* NULL: computed again in the second pass */
    if (b->items && bytes)
        memcpy(b->items, near->items, bytes);
}

static int count_block(void *ctx, size_t block, int worker) {
    scan *c = (scan *)ctx;
    sis__near *near = &c->near[worker];
    kept_block *b = &c->blocks[block];
    size_t first = block * BLOCK;
    near->n = 0;
    for (size_t u = first; u < block_end(c, block); u++) {
        size_t before = near->n, weight = c->s->weight[u];
        int code = c->s->metric->near(c->s, c->scratches[worker], u, near);
        if (code != SIS_OK)
            return code;
        for (size_t k = before; k < near->n; k++) {
            weight += c->s->weight[near->items[k]];
            atomic_fetch_add_explicit(&c->counts[near->items[k]], c->s->weight[u],
                                      memory_order_relaxed);
        }
        atomic_fetch_add_explicit(&c->counts[u], weight, memory_order_relaxed);
        b->ends[u - first] = (uint32_t)near->n;
    }
    atomic_fetch_add(&c->pairs, near->n);
    keep(c, b, near);
    return SIS_OK;
}

/* ---- Second pass: connected core points ------------------------------------------------------ */

static uint32_t root_of(scan *c, uint32_t u) {
    uint32_t parent = atomic_load_explicit(&c->parent[u], memory_order_relaxed);
    while (parent != u) {
        uint32_t above = atomic_load_explicit(&c->parent[parent], memory_order_relaxed);
        if (above != parent) /* path halving; losing the race is harmless */
            atomic_compare_exchange_weak(&c->parent[u], &parent, above);
        u = above;
        parent = atomic_load_explicit(&c->parent[u], memory_order_relaxed);
    }
    return u;
}

static void join(scan *c, uint32_t u, uint32_t v) {
    for (;;) {
        u = root_of(c, u);
        v = root_of(c, v);
        if (u == v)
            return;
        uint32_t low = u < v ? u : v, high = u < v ? v : u, expected = high;
        if (atomic_compare_exchange_strong(&c->parent[high], &expected, low))
            return;
    }
}

static int note(touch_list *t, uint32_t edge, uint32_t core) {
    int code = sis__reserve(&t->items, &t->room, t->n + 1, sizeof *t->items);
    if (code == SIS_OK)
        t->items[t->n++] = (touch){edge, core};
    return code;
}

/* Process u and its neighbours. */
static int take(scan *c, touch_list *t, uint32_t u, const uint32_t *near, size_t n) {
    int code = SIS_OK;
    for (size_t k = 0; k < n && code == SIS_OK; k++) {
        uint32_t v = near[k];
        if (c->core[u] && c->core[v])
            join(c, u, v);
        else if (c->core[u])
            code = note(t, v, u);
        else if (c->core[v])
            code = note(t, u, v);
    }
    return code;
}

static int join_block(void *ctx, size_t block, int worker) {
    scan *c = (scan *)ctx;
    const kept_block *b = &c->blocks[block];
    sis__near *near = &c->near[worker];
    size_t first = block * BLOCK;
    int code = SIS_OK;
    for (size_t u = first; u < block_end(c, block) && code == SIS_OK; u++) {
        size_t begin = u == first ? 0 : b->ends[u - first - 1];
        if (b->items) {
            code = take(c, &c->touches[worker], (uint32_t)u, b->items + begin,
                        b->ends[u - first] - begin);
            continue;
        }
        near->n = 0;
        code = c->s->metric->near(c->s, c->scratches[worker], u, near);
        if (code == SIS_OK)
            code = take(c, &c->touches[worker], (uint32_t)u, near->items, near->n);
    }
    return code;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

/* A component: its root, and the first core point in it. */
typedef struct {
    size_t first;
    uint32_t root;
} component;

static int by_first(const void *a, const void *b) {
    size_t x = ((const component *)a)->first, y = ((const component *)b)->first;
    return (x > y) - (x < y);
}

/* Set the labels of core points. */
static int number_clusters(scan *c) {
    size_t n = c->s->n, count = 0;
    component *all = SIS_NEW(component, n); /* at the index of its root, then compacted */
    if (!all)
        return SIS_E_NOMEM;
    for (size_t u = 0; u < n; u++)
        all[u].first = SIZE_MAX;
    for (size_t u = 0; u < n; u++) {
        component *own = &all[root_of(c, (uint32_t)u)];
        if (c->core[u] && c->s->first[u] < own->first)
            *own = (component){c->s->first[u], root_of(c, (uint32_t)u)};
    }
    for (size_t u = 0; u < n; u++)
        if (all[u].first != SIZE_MAX)
            all[count++] = all[u];
    qsort(all, count, sizeof *all, by_first);
    for (size_t k = 0; k < count; k++)
        c->labels[all[k].root] = (int)k;
    for (size_t u = 0; u < n; u++)
        c->labels[u] = c->core[u] ? c->labels[root_of(c, (uint32_t)u)] : -1;
    c->n_clusters = count;
    free(all);
    return SIS_OK;
}

/* Set the labels of points next to core points. */
static void number_edges(scan *c) {
    for (int j = 0; j < c->jobs; j++)
        for (size_t k = 0; k < c->touches[j].n; k++) {
            touch t = c->touches[j].items[k];
            int *label = &c->labels[t.edge];
            if (*label < 0 || c->labels[t.core] < *label)
                *label = c->labels[t.core];
        }
}

/* ---- DBSCAN ---------------------------------------------------------------------------------- */

static int scan_new(scan *c, const sis__space *s, const sis_cluster_opt *opt) {
    size_t n = s->n;
    *c = (scan){.s = s, .opt = opt, .jobs = sis__jobs(opt->jobs)};
    c->n_blocks = (n + BLOCK - 1) / BLOCK;
    if ((size_t)c->jobs > c->n_blocks) /* scratch memory only for working threads */
        c->jobs = c->n_blocks ? (int)c->n_blocks : 1;
    c->scratches = sis__scratches_new(s, c->jobs);
    c->near = SIS_NEW(sis__near, (size_t)c->jobs);
    c->touches = SIS_NEW(touch_list, (size_t)c->jobs);
    c->blocks = SIS_NEW(kept_block, c->n_blocks);
    c->counts = SIS_NEW(atomic_size_t, n);
    c->core = SIS_NEW(unsigned char, n);
    c->parent = SIS_NEW(_Atomic uint32_t, n);
    c->labels = SIS_NEW(int, n);
    if (!c->scratches || !c->near || !c->touches || !c->blocks || !c->counts || !c->core ||
        !c->parent || !c->labels)
        return SIS_E_NOMEM;
    for (size_t u = 0; u < n; u++)
        atomic_init(&c->parent[u], (uint32_t)u);
    return SIS_OK;
}

static void scan_free(scan *c) {
    for (int j = 0; j < c->jobs; j++) {
        if (c->near)
            free(c->near[j].items);
        if (c->touches)
            free(c->touches[j].items);
    }
    for (size_t b = 0; c->blocks && b < c->n_blocks; b++)
        free(c->blocks[b].items);
    sis__scratches_free(c->s, c->scratches, c->jobs);
    free(c->near);
    free(c->touches);
    free(c->blocks);
    free(c->counts);
    free(c->core);
    free(c->parent);
    free(c->labels);
}

/* Copy results from distinct points to all points. */
static int spread(const scan *c, sis_clusters *out) {
    size_t n = c->s->points->n;
    out->labels = SIS_NEW(int, n);
    out->core = SIS_NEW(unsigned char, n);
    if (!out->labels || !out->core)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        out->labels[i] = c->labels[c->s->of[i]];
        out->core[i] = c->core[c->s->of[i]];
    }
    out->n = n;
    out->n_clusters = c->n_clusters;
    out->n_different = c->s->n;
    out->n_neighbours = c->pairs;
    return SIS_OK;
}

/* Run both passes and number the clusters. */
static int scan_neighbours(scan *c) {
    int code = sis__parallel(c->jobs, c->n_blocks, count_block, c);
    for (size_t u = 0; code == SIS_OK && u < c->s->n; u++)
        c->core[u] = c->counts[u] >= c->opt->min_size;
    if (code == SIS_OK)
        code = sis__parallel(c->jobs, c->n_blocks, join_block, c);
    if (code == SIS_OK)
        code = number_clusters(c);
    if (code == SIS_OK)
        number_edges(c);
    return code;
}

/* eps reaches points with nothing in common: all points are neighbours. */
static void join_everything(scan *c) {
    size_t n = c->s->n;
    int core = c->s->points->n >= c->opt->min_size;
    for (size_t u = 0; u < n; u++) {
        c->core[u] = (unsigned char)core;
        c->labels[u] = core - 1;
    }
    c->n_clusters = core && n > 0;
    c->pairs = n % 2 ? (n - 1) / 2 * n : n / 2 * (n - (n > 0));
}

static int cluster_space(const sis__space *s, const sis_cluster_opt *opt, sis_clusters *out) {
    scan c;
    int code = scan_new(&c, s, opt);
    if (code == SIS_OK && isfinite(s->metric->useless) && s->eps >= s->metric->useless)
        join_everything(&c);
    else if (code == SIS_OK)
        code = scan_neighbours(&c);
    if (code == SIS_OK)
        code = spread(&c, out);
    if (code == SIS_OK)
        code = sis__medoids_find(s, c.labels, c.jobs, out);
    scan_free(&c);
    return code;
}

int sis_cluster(const sis_points *points, const sis_cluster_opt *opt, sis_clusters *out) {
    sis__space s;
    const char *wrong = sis__cluster_opt_check(opt);
    *out = (sis_clusters){0};
    if (wrong)
        return sis__fail(SIS_E_ARGUMENT, "%s", wrong);
    int code = sis__space_new(points, opt->eps, &s);
    if (code != SIS_OK)
        return code;
    code = cluster_space(&s, opt, out);
    if (code != SIS_OK)
        sis_clusters_release(out);
    sis__space_release(&s);
    return code;
}

void sis_clusters_release(sis_clusters *clusters) {
    free(clusters->labels);
    free(clusters->core);
    free(clusters->medoids);
    *clusters = (sis_clusters){0};
}
