/* SPDX-License-Identifier: MIT
 *
 * Sums of leaf values, with the walk over forests (src/trees). If the model adds leaves in double,
 * a candidate's sum is that of the base plus the leaves that change; in the rare case that it is
 * too close to the midpoint of two floats, all leaves are added in order. Otherwise the sums of all
 * candidates are computed together when the first one is requested. See trees.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/ops/trees.h"
#include "net/walk/trees.h"
#include "trees/walk.h"

typedef struct {
    sis__additive sums;
    const sis__trees *t;
    double *x, *z; /* (width) input and mask */
    sis__forest_walk *walk;
    size_t features;
    unsigned char *masked; /* (features) */
    int *asked;            /* (features + 1) candidates, and -1 for the current state */
    size_t *at;            /* (features) index of each in it */
    double *totals;        /* (features + 1, n) */
    int stale;             /* totals must be recomputed */
} forest;

/* The state has changed. */
static void forest_moved(forest *w) {
    w->stale = 1;
    if (w->sums.bound)
        sis__forest_walk_bound(w->walk, w->sums.bound);
}

static void forest_reset(sis__additive *s, const unsigned char *masked) {
    forest *w = (forest *)s;
    memcpy(w->masked, masked, w->features);
    sis__forest_walk_reset(w->walk, masked);
    forest_moved(w);
}

static void forest_mask(sis__additive *s, int feature) {
    forest *w = (forest *)s;
    w->masked[feature] = 1;
    sis__forest_walk_mask(w->walk, feature);
    forest_moved(w);
}

/* The current state first, then every present feature. */
static void make_totals(forest *w) {
    size_t n = 0;
    w->asked[n++] = -1;
    for (size_t i = 0; i < w->features; i++) {
        w->at[i] = w->masked[i] ? 0 : n;
        if (!w->masked[i])
            w->asked[n++] = (int)i;
    }
    sis__forest_walk_sums(w->walk, w->asked, n, w->totals);
    w->stale = 0;
}

static void forest_total(sis__additive *s, int feature, double *sums) {
    forest *w = (forest *)s;
    if (s->bound) {
        sis__forest_walk_sums(w->walk, &feature, 1, sums);
        return;
    }
    if (w->stale)
        make_totals(w);
    size_t at = feature < 0 ? 0 : w->at[feature];
    memcpy(sums, w->totals + at * s->n, s->n * sizeof *sums);
}

static void forest_change(sis__additive *s, int feature, double *change) {
    memcpy(change, sis__forest_walk_change(((forest *)s)->walk, feature), s->n * sizeof *change);
}

static int forest_idle(sis__additive *s, int feature) {
    return sis__forest_walk_turns(((forest *)s)->walk)[feature] == 0;
}

static void forest_round(const sis__additive *s, const double *sums, float *raw) {
    sis__trees_round(((const forest *)s)->t, sums, raw);
}

static void forest_finish(const sis__additive *s, float *scores) {
    sis__trees_finish(((const forest *)s)->t, scores);
}

static void forest_free(sis__additive *s) {
    sis__forest_walk_free(((forest *)s)->walk);
}

/* ---- Making ---------------------------------------------------------------------------------- */

/* Only useful if sums are doubles that are finally rounded to float. */
static void make_bound(forest *w, double *bound) {
    const sis__forest *f = &w->t->forest;
    int use = !f->single && !f->linear && sis__forest_walk_bound(w->walk, bound);
    w->sums.bound = use ? bound : NULL;
}

static int allocate(forest *w, const sis__entry *e, sis__arena *memory) {
    size_t width = w->t->forest.width;
    double *bound = SIS_ARENA(memory, double, w->sums.n);
    w->x = SIS_ARENA(memory, double, width);
    w->z = SIS_ARENA(memory, double, width);
    w->masked = SIS_ARENA(memory, unsigned char, w->features);
    w->asked = SIS_ARENA(memory, int, w->features + 1);
    w->at = SIS_ARENA(memory, size_t, w->features);
    w->totals = (double *)sis__arena_own(
        memory, sis__alloc(w->features + 1, w->sums.n * sizeof *w->totals));
    if (sis__arena_error(memory))
        return SIS_E_NOMEM;
    for (size_t j = 0; j < width; j++) {
        w->x[j] = e->x[j];
        w->z[j] = e->z[j];
    }
    const sis__forest_input in = {w->x, w->z, e->feature, w->features};
    int error = sis__forest_walk_new(&w->t->forest, &in, &w->walk);
    if (!error)
        make_bound(w, bound);
    return error;
}

int sis__forest_new(const sis__entry *e, const sis__step *s, sis__arena *memory,
                    sis__additive **out) {
    *out = NULL;
    if (!sis__is(s, SIS__TREES))
        return SIS_E_UNSUPPORTED;
    const sis__trees *t = s->p.trees;
    if (t->n != 1 || t->forest.width != e->n)
        return SIS_E_UNSUPPORTED;
    forest *w = SIS_ARENA(memory, forest, 1);
    if (!w)
        return SIS_E_NOMEM;
    *w = (forest){.t = t, .features = e->s->in.n};
    w->sums = (sis__additive){.n = t->forest.n_sums,
                              .outputs = t->outputs,
                              .scores_at = t->classifier ? 1 : 0,
                              .note = "trees that test the feature",
                              .reset = forest_reset,
                              .mask = forest_mask,
                              .total = forest_total,
                              .change = forest_change,
                              .idle = t->forest.linear ? NULL : forest_idle,
                              .round = forest_round,
                              .finish = forest_finish,
                              .free = forest_free};
    *out = &w->sums; /* the rule frees it */
    return allocate(w, e, memory);
}
