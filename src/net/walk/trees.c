/* SPDX-License-Identifier: MIT
 *
 * Walks over tree ensembles and linear models: only the terms that depend on the masked feature are
 * computed again. Margins have the bits of a full pass; trees.h says how.
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

typedef struct {
    sis__rule_instance instance;
    sis__additive *sums;
    double *base;             /* (n) of the current state */
    double *change, *lo, *hi; /* (n) of a candidate */
    float *raw;               /* (n) */
} trees_walk;

/* ---- Candidates ---------------------------------------------------------------------------- */

/* raw (n) = base + change as floats, if both bounds round to the same. */
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

/* ---- The rule ------------------------------------------------------------------------------ */

static sis__change trees_row(sis__rule_instance *r, int feature, float *scores) {
    trees_walk *w = (trees_walk *)r;
    sis__additive *s = w->sums;
    if (feature >= 0 && s->idle && s->idle(s, feature))
        return SIS__NOTHING;
    if (feature < 0 || !round_change(w, feature, scores)) {
        s->total(s, feature, w->change);
        s->round(s, w->change, scores);
    }
    s->finish(s, scores);
    return SIS__CHANGED;
}

static int trees_reset(sis__rule_instance *r, const unsigned char *masked) {
    trees_walk *w = (trees_walk *)r;
    w->sums->reset(w->sums, masked);
    w->sums->total(w->sums, -1, w->base);
    return SIS_OK;
}

static int trees_mask(sis__rule_instance *r, int feature) {
    trees_walk *w = (trees_walk *)r;
    w->sums->mask(w->sums, feature);
    w->sums->total(w->sums, -1, w->base);
    return SIS_OK;
}

static void trees_close(sis__rule_instance *r) {
    const trees_walk *w = (const trees_walk *)r;
    if (w->sums && w->sums->free)
        w->sums->free(w->sums);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static int make_sums(trees_walk *w, const sis__net_input *s, int *scores) {
    const sis__step *step = s->entry ? sis__entry_reader(s->entry) : NULL;
    if (!step)
        return SIS_E_UNSUPPORTED;
    sis__arena *memory = &w->instance.memory;
    int error = sis__forest_new(s->entry, step, memory, &w->sums);
    if (error == SIS_E_UNSUPPORTED)
        error = sis__linear_new(s->entry, step, memory, &w->sums);
    if (error)
        return error;
    sis__entry_note(s->entry);
    sis__net_input_note(s, step, "%s", w->sums->note);
    *scores = w->sums->scores_at < step->n_outputs ? step->outputs[w->sums->scores_at] : -1;
    return *scores >= 0 ? SIS_OK : SIS_E_UNSUPPORTED;
}

static int trees_open(sis__rule_instance *r) {
    trees_walk *w = (trees_walk *)r;
    int scores = -1, error = make_sums(w, r->s, &scores);
    if (error)
        return error;
    r->width = w->sums->outputs;
    r->exact = 1;
    w->base = SIS_ARENA(&r->memory, double, w->sums->n);
    w->change = SIS_ARENA(&r->memory, double, w->sums->n);
    w->lo = SIS_ARENA(&r->memory, double, w->sums->n);
    w->hi = SIS_ARENA(&r->memory, double, w->sums->n);
    w->raw = SIS_ARENA(&r->memory, float, w->sums->n);
    sis__cut cut = {scores, &r->s->entry->plan->tensors[scores]};
    error = sis__head_new(r->s, &(sis__head_spec){.cuts = &cut, .n_cuts = 1}, &r->head);
    return !error ? sis__arena_error(&r->memory) : error;
}

const sis__rule sis__rule_trees = {
    .name = "trees",
    .bytes = sizeof(trees_walk),
    .min_copies = 40,
    .keeps_entry = 1,
    .open = trees_open,
    .close = trees_close,
    .reset = trees_reset,
    .mask = trees_mask,
    .row = trees_row,
};
