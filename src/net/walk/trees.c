/* SPDX-License-Identifier: MIT
 *
 * Tree ensembles and linear models: only the terms that read a feature are looked at. Margins are
 * those of a full pass to the bit; see trees.h for how.
 *
 * Cost of a probe: the trees that test the feature, if one of them may have changed, or its
 * columns; plus the head. Memory: a few words for each pair of a tree and a feature it tests.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/walk/trees.h"

enum { BLOCK = 256 }; /* rows the head is given at a time */

typedef struct {
    sis_walk walk;
    const sis__subject *s;
    sis__face face;
    sis__additive *sums;
    sis__head *head;
    double *base;             /* (n) of the present state */
    double *change, *lo, *hi; /* (n) of a candidate */
    float *raw;               /* (n) */
    float *rows;              /* (BLOCK, outputs) */
} trees_walk;

/* ---- Candidates ---------------------------------------------------------------------------- */

/* Floats (n) if base + change rounds to the same within its bounds. */
static int round_change(trees_walk *w, int feature, float *raw) {
    const sis__additive *s = w->sums;
    if (!s->bound)
        return 0;
    w->sums->change(w->sums, feature, w->change);
    for (size_t k = 0; k < s->n; k++) {
        double sum = w->base[k] + w->change[k];
        w->lo[k] = sum - s->bound[k];
        w->hi[k] = sum + s->bound[k];
    }
    s->round(s, w->lo, raw);
    s->round(s, w->hi, w->raw);
    for (size_t k = 0; k < s->n; k++)
        if (!(raw[k] == w->raw[k]))
            return 0;
    return 1;
}

/* Scores (outputs) with this feature masked too; -1: as it is. */
static void score(trees_walk *w, int feature, float *scores) {
    sis__additive *s = w->sums;
    if (feature < 0 || !round_change(w, feature, scores)) {
        s->total(s, feature, w->change);
        s->round(s, w->change, scores);
    }
    s->finish(s, scores);
}

/* ---- The walk ------------------------------------------------------------------------------ */

static int trees_probe(sis_walk *walk, const int *features, size_t n, double *margins) {
    trees_walk *w = (trees_walk *)walk;
    int error = SIS_OK;
    for (size_t i = 0; i < n && error == SIS_OK; i += BLOCK) {
        size_t some = n - i < BLOCK ? n - i : BLOCK;
        for (size_t k = 0; k < some; k++)
            score(w, features[i + k], w->rows + k * w->sums->outputs);
        error = sis__head_margins(w->head, w->rows, some, margins + i);
    }
    return error;
}

static int trees_reset(sis_walk *walk, const unsigned char *masked, double *margin) {
    trees_walk *w = (trees_walk *)walk;
    w->sums->reset(w->sums, masked);
    w->sums->total(w->sums, -1, w->base);
    return trees_probe(walk, (int[]){-1}, 1, margin);
}

static int trees_mask(sis_walk *walk, int feature, double *margin) {
    trees_walk *w = (trees_walk *)walk;
    int error = trees_probe(walk, &feature, 1, margin);
    if (error != SIS_OK)
        return error;
    w->sums->mask(w->sums, feature);
    w->sums->total(w->sums, -1, w->base);
    return SIS_OK;
}

static void trees_free(sis_walk *walk) {
    trees_walk *w = (trees_walk *)walk;
    if (w->sums)
        w->sums->free(w->sums);
    sis__head_free(w->head);
    sis__face_release(&w->face);
    free(w->base);
    free(w->change);
    free(w->lo);
    free(w->hi);
    free(w->raw);
    free(w->rows);
    free(w);
}

/* ---- Making ---------------------------------------------------------------------------------- */

/* Is there any such operator? Most networks have none, and this is the first rule that is asked. */
static int has_sums(const sis_net *net) {
    for (size_t i = 0; i < net->graph.n_nodes; i++) {
        int op = net->graph.nodes[i].op_id;
        if (op == SIS__OP_TREE_ENSEMBLE_CLASSIFIER || op == SIS__OP_TREE_ENSEMBLE_REGRESSOR ||
            op == SIS__OP_LINEAR_CLASSIFIER || op == SIS__OP_LINEAR_REGRESSOR)
            return 1;
    }
    return 0;
}

static int make_sums(trees_walk *w, int *scores) {
    const sis__step *s = sis__face_reader(&w->face);
    if (!s)
        return SIS_E_UNSUPPORTED;
    int error = sis__forest_new(&w->face, s, &w->sums);
    if (error == SIS_E_UNSUPPORTED)
        error = sis__linear_new(&w->face, s, &w->sums);
    if (error != SIS_OK)
        return error;
    *scores = w->sums->scores_at < s->n_outputs ? s->outputs[w->sums->scores_at] : -1;
    return *scores >= 0 ? SIS_OK : SIS_E_UNSUPPORTED;
}

static int allocate(trees_walk *w) {
    size_t n = w->sums->n;
    w->base = SIS_NEW(double, n);
    w->change = SIS_NEW(double, n);
    w->lo = SIS_NEW(double, n);
    w->hi = SIS_NEW(double, n);
    w->raw = SIS_NEW(float, n);
    w->rows = SIS_NEW(float, BLOCK * w->sums->outputs);
    return w->base && w->change && w->lo && w->hi && w->raw && w->rows ? SIS_OK : SIS_E_NOMEM;
}

static int trees_init(trees_walk *w) {
    int scores = -1, error = sis__face_init(&w->face, w->s);
    if (error == SIS_OK)
        error = make_sums(w, &scores);
    if (error == SIS_OK)
        error = sis__head_new(w->s, scores, &w->face.plan->tensors[scores], &w->head);
    if (error == SIS_OK)
        sis__subject_note(w->s, sis__face_reader(&w->face), "%s", w->sums->note);
    return error == SIS_OK ? allocate(w) : error;
}

int sis__walk_trees_new(const sis__subject *s, sis_walk **out) {
    static const sis_walk_ops ops = {trees_reset, trees_probe, trees_mask, trees_free};
    *out = NULL;
    if (!has_sums(s->net))
        return SIS_E_UNSUPPORTED;
    trees_walk *w = SIS_NEW(trees_walk, 1);
    if (!w)
        return SIS_E_NOMEM;
    w->walk.ops = &ops;
    w->s = s;
    int error = trees_init(w);
    if (error != SIS_OK) {
        trees_free(&w->walk);
        return error;
    }
    *out = &w->walk;
    return SIS_OK;
}
