/* SPDX-License-Identifier: MIT
 *
 * The window rule: networks that begin with convolutions, pooling and element-wise layers. window.h
 * describes its parts.
 *
 *     reset   computes the base and discards what is kept for candidates
 *     update  updates candidates whose boxes meet a box that was masked since
 *     row     collects the values of the cuts
 *     bounds  says which candidates can be the best
 *     mask    recomputes the base inside the feature's boxes
 *
 * A candidate that does not change the cuts does not change the margin. If a candidate changes only
 * few values of a cut that is a whole map, the head gets only these.
 */
#include "net/walk/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/plan/forward.h"

enum { REFRESH = 32 };  /* masks between two recomputations of a dense cut's sums */
enum { TOGETHER = 32 }; /* candidates updated together */
enum { NEAR = 16 };     /* rows per call that are passed as changes */
enum { SPARSE = 4 };    /* such rows have at most 1 changed value in SPARSE */

/* ---- The rule -------------------------------------------------------------------------------- */

typedef struct {
    sis__rule_instance instance;
    sis__prefix *f;
    unsigned char *masked; /* (n_features) */
    unsigned char *stale;  /* (n_features) something kept for it is dirty */
    size_t *made;          /* (n_features) value of `masks` when its row was last made; SIZE_MAX:
                            * never */
    float *base;           /* (f->row) the current state at the cuts */
    size_t masks;          /* since the last reset */
    size_t version;        /* of the base */
    size_t max;            /* maximal number of values that a candidate changes; 0: rows are written
                    * whole */
    size_t *place;         /* (NEAR, max) their positions */
    float *value;          /* (NEAR, max) */
    sis__row_change changes[NEAR];
    float *one;              /* (f->row) scratch row */
    sis__estimate *estimate; /* NULL: every candidate may be the best */
} window_rule;

/* ---- The current state ----------------------------------------------------------------------- */

static void make_base_row(window_rule *w) {
    for (size_t i = 0; i < w->f->n_points; i++) {
        sis__keep_point *s = &w->f->points[i];
        if (s->ops->row)
            s->ops->row(w->f, s, w->base + s->cut.at);
    }
    w->version++;
}

static void mask_elements(sis__prefix *f, size_t j) {
    const sis__map *m = &f->maps[0];
    for (size_t i = f->input.start[j]; i < f->input.start[j + 1]; i++) {
        const sis__element *e = &f->input.elements[i];
        m->base[sis__box_at(&m->whole, e->z, e->y, e->x) * m->channels + (size_t)e->c] = e->masked;
    }
}

/* After the base was recomputed. */
static void reset_point(sis__prefix *f, sis__keep_point *s) {
    for (size_t j = 0; j < f->s->in.n; j++) {
        s->kept[j].dirty = s->box[j];
        s->kept[j].changed = 0;
    }
    if (s->ops->reset)
        s->ops->reset(f, s);
}

static int window_reset(sis__rule_instance *r, const unsigned char *masked) {
    window_rule *w = (window_rule *)r;
    sis__prefix *f = w->f;
    size_t n = f->s->in.n;
    memcpy(w->masked, masked, n);
    memcpy(f->maps[0].base, f->input.values,
           sis__positions(&f->maps[0]) * f->maps[0].channels * sizeof *f->input.values);
    for (size_t j = 0; j < n; j++)
        if (masked[j])
            mask_elements(f, j);
    for (size_t i = 0; i < f->n_layers; i++)
        sis__layer_base(f, i, &f->maps[f->layers[i].out].whole);
    for (size_t i = 0; i < f->n_points; i++)
        reset_point(f, &f->points[i]);
    memset(w->stale, 1, n);
    memset(w->made, 0xff, n * sizeof *w->made);
    w->masks = 0;
    if (w->estimate)
        sis__estimate_reset(w->estimate);
    make_base_row(w);
    return SIS_OK;
}

/* ---- Candidates ----------------------------------------------------------------------------- */

/* Update several candidates together, so that their products are queued together. */
static void update(window_rule *w, const size_t *features, size_t n) {
    sis__prefix *f = w->f;
    for (size_t i = 0; n > 0 && i < f->n_points; i++) {
        sis__keep_point *s = &f->points[i];
        for (size_t k = 0; k < n; k++)
            if (!sis__box_empty(&s->kept[features[k]].dirty)) {
                s->ops->update(f, s, features[k]);
                s->kept[features[k]].dirty = (sis__box){{0}, {0}};
            }
        if (s->ops->flush)
            s->ops->flush(f);
    }
    for (size_t k = 0; k < n; k++)
        w->stale[features[k]] = 0;
}

static void window_update(sis__rule_instance *r, const int *features, size_t n) {
    window_rule *w = (window_rule *)r;
    size_t together[TOGETHER] = {0}, count = 0;
    for (size_t k = 0; k < n; k++) {
        if (!w->stale[features[k]])
            continue;
        together[count++] = (size_t)features[k];
        if (count == TOGETHER) {
            update(w, together, count);
            count = 0;
        }
    }
    update(w, together, count);
    r->work = w->f->work;
}

/* Write the values of a cut with feature j masked too into a row. 0: equal to the base. */
static int put_cut(const window_rule *w, sis__keep_point *s, size_t j, float *row) {
    return s->ops->row_without &&
           s->ops->row_without(w->f, s, j, w->base + s->cut.at, row + s->cut.at);
}

/* Does feature j change a value of the cut? */
static int cut_differs(const window_rule *w, sis__keep_point *s, size_t j) {
    return s->ops->changes ? s->ops->changes(w->f, s, j, w->base + s->cut.at, NULL, NULL) > 0
                           : put_cut(w, s, j, w->one);
}

/* The values of the cut that feature j changes: positions in the row, and values. Returns their
 * number. */
static size_t cut_changes(const window_rule *w, sis__keep_point *s, size_t j, size_t *place,
                          float *value) {
    size_t n = 0;
    if (s->ops->changes)
        return s->ops->changes(w->f, s, j, w->base + s->cut.at, place, value);
    if (!put_cut(w, s, j, w->one))
        return 0;
    for (size_t at = s->cut.at; at < s->cut.at + s->cut.width; at++) {
        place[n] = at;
        value[n] = w->one[at];
        n += memcmp(&w->one[at], &w->base[at], sizeof *w->one) != 0;
    }
    return n;
}

/* Writes nothing: window_margins() passes the changes to the head. */
static sis__change changed_row(window_rule *w, int feature) {
    sis__prefix *f = w->f;
    int changes = feature < 0;
    if (feature >= 0 && w->made[feature] == w->masks)
        return SIS__AS_BEFORE;
    for (size_t i = 0; i < f->n_points && !changes; i++)
        changes = cut_differs(w, &f->points[i], (size_t)feature);
    if (changes && feature >= 0)
        w->made[feature] = w->masks;
    return changes ? SIS__CHANGED : SIS__NOTHING;
}

static sis__change window_row(sis__rule_instance *r, int feature, float *row) {
    window_rule *w = (window_rule *)r;
    sis__prefix *f = w->f;
    int changes = 0;
    if (w->max)
        return changed_row(w, feature);
    if (feature < 0) {
        memcpy(row, w->base, f->row * sizeof *row);
        return SIS__CHANGED;
    }
    if (w->made[feature] == w->masks)
        return SIS__AS_BEFORE;
    for (size_t i = 0; i < f->n_points; i++)
        changes |= put_cut(w, &f->points[i], (size_t)feature, row);
    if (!changes)
        return SIS__NOTHING;
    w->made[feature] = w->masks;
    return SIS__CHANGED;
}

/* The changes of a feature relative to the base. */
static sis__row_change changes_of(const window_rule *w, int feature, size_t *place, float *value) {
    size_t n = 0;
    for (size_t i = 0; feature >= 0 && i < w->f->n_points; i++)
        n += cut_changes(w, &w->f->points[i], (size_t)feature, place + n, value + n);
    return (sis__row_change){n, place, value};
}

/* Candidates whose rows are passed as changes. */
typedef struct {
    window_rule *w;
    const int *features;
} near_rows;

static void write_near(void *ctx, size_t first, size_t n, sis__row_slots *to) {
    const near_rows *near = (const near_rows *)ctx;
    window_rule *w = near->w;
    for (size_t k = 0; k < n; k++)
        w->changes[k] =
            changes_of(w, near->features[first + k], w->place + k * w->max, w->value + k * w->max);
    sis__slots_near(to, w->base, w->version, w->changes);
}

static int window_margins(sis__rule_instance *r, const int *features, float *rows, size_t n,
                          double *margins) {
    window_rule *w = (window_rule *)r;
    int error = SIS_OK;
    if (!w->max)
        return sis__head_margins_rows(r->head, rows, n, margins);
    for (size_t i = 0; i < n && !error; i += NEAR) {
        near_rows near = {w, features + i};
        error = sis__head_margins(r->head, &(sis__row_writer){.write = write_near, .ctx = &near},
                                  n - i < NEAR ? n - i : NEAR, margins + i);
    }
    return error;
}

static void window_bounds(sis__rule_instance *r, int wants, const int *features, size_t n,
                          double *max) {
    window_rule *w = (window_rule *)r;
    int known =
        w->estimate && sis__estimate_max(w->estimate, features, n, wants, w->base, max) == SIS_OK;
    for (size_t k = 0; k < n && !known; k++)
        max[k] = INFINITY;
}

/* ---- Masking -------------------------------------------------------------------------------- */

/* Does the box of feature j meet that of feature i at a cut? Boxes that meet earlier also meet
 * there, or change nothing there. */
static int meets_at_cut(const sis__prefix *f, size_t i, size_t j) {
    for (size_t k = f->n_points; k-- > 0 && f->points[k].kind != SIS__KEEP_CONV;) {
        const sis__box *box = f->points[k].box;
        if (sis__box_meets(&box[i], &box[j]))
            return 1;
    }
    return 0;
}

/* Mark everything that the boxes of feature i meet for recomputation. */
static void mark_dirty(window_rule *w, size_t i) {
    sis__prefix *f = w->f;
    for (size_t j = 0; j < f->s->in.n; j++) {
        if (w->masked[j] || !meets_at_cut(f, i, j))
            continue;
        for (size_t k = 0; k < f->n_points; k++) {
            const sis__box *box = f->points[k].box;
            if (!sis__box_meets(&box[i], &box[j]))
                continue;
            sis__box met = sis__box_meet(&box[i], &box[j]);
            sis__box *dirty = &f->points[k].kept[j].dirty;
            *dirty = sis__box_join(dirty, &met);
        }
        w->stale[j] = 1;
        if (w->estimate)
            sis__estimate_mark_stale(w->estimate, j);
    }
}

static int window_mask(sis__rule_instance *r, int feature) {
    window_rule *w = (window_rule *)r;
    sis__prefix *f = w->f;
    size_t j = (size_t)feature;
    for (size_t i = 0; i < f->n_points; i++)
        if (f->points[i].ops->before)
            f->points[i].ops->before(f, &f->points[i], j);
    mask_elements(f, j);
    for (size_t i = 0; i < f->n_layers; i++)
        if (f->layers[i].conv.sums)
            sis__conv_adopt(f, &f->layers[i], j);
        else
            sis__layer_base(f, i, &f->maps[f->layers[i].out].box[j]);
    for (size_t i = 0; i < f->n_points; i++)
        if (f->points[i].ops->after)
            f->points[i].ops->after(f, &f->points[i], j);
    w->masked[j] = 1;
    mark_dirty(w, j);
    if (++w->masks % REFRESH == 0)
        for (size_t i = 0; i < f->n_points; i++)
            if (f->points[i].ops->refresh)
                f->points[i].ops->refresh(f, &f->points[i]);
    make_base_row(w);
    r->work = f->work;
    return SIS_OK;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static void window_close(sis__rule_instance *r) {
    window_rule *w = (window_rule *)r;
    sis__estimate_free(w->estimate);
    sis__prefix_free(w->f);
}

static int head_init(window_rule *w) {
    const sis__prefix *f = w->f;
    size_t n = 0;
    sis__cut *cuts = SIS_NEW(sis__cut, f->n_points);
    if (!cuts)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < f->n_points; i++)
        if (f->points[i].kind != SIS__KEEP_CONV)
            cuts[n++] =
                (sis__cut){f->points[i].cut.value, &f->plan->tensors[f->points[i].cut.value]};
    int error =
        sis__head_new(f->s, &(sis__head_spec){.cuts = cuts, .n_cuts = n}, &w->instance.head);
    free(cuts);
    return error;
}

static int state_init(window_rule *w) {
    size_t n = w->f->s->in.n;
    sis__arena *memory = &w->instance.memory;
    w->instance.width = w->f->row;
    w->masked = SIS_ARENA(memory, unsigned char, n);
    w->stale = SIS_ARENA(memory, unsigned char, n);
    w->made = SIS_ARENA(memory, size_t, n);
    w->base = SIS_ARENA(memory, float, w->f->row);
    return sis__arena_error(memory);
}

/* Maximal number of values of a row that a candidate changes at a cut, plus one: a value is written
 * before it is compared. */
static size_t max_changes(const sis__prefix *f, const sis__keep_point *s) {
    size_t max = 0;
    if (s->kind == SIS__KEEP_CONV)
        return 0;
    if (s->kind != SIS__KEEP_WHOLE)
        return s->cut.width + 1;
    for (size_t j = 0; j < f->s->in.n; j++)
        max = sis__box_volume(&s->box[j]) > max ? sis__box_volume(&s->box[j]) : max;
    return max * f->maps[s->map].channels + 1;
}

/* Pass only changes to the head if they are a small part of whole maps. */
static int near_init(window_rule *w) {
    const sis__prefix *f = w->f;
    size_t max = 0, wholes = 0;
    double inside = 0;
    for (size_t i = 0; i < f->n_points; i++) {
        const sis__keep_point *s = &f->points[i];
        int whole = s->kind == SIS__KEEP_WHOLE;
        wholes += (size_t)whole;
        max += max_changes(f, s);
        inside += whole ? sis__box_total(f, &f->maps[s->map]) * (double)f->maps[s->map].channels
                        : (double)f->s->in.n * (double)s->cut.width;
    }
    if (!wholes || SPARSE * inside > (double)f->s->in.n * (double)f->row)
        return SIS_OK;
    w->one = SIS_ARENA(&w->instance.memory, float, f->row);
    w->place = SIS_ARENA_RAW(&w->instance.memory, size_t, NEAR * max);
    w->value = SIS_ARENA_RAW(&w->instance.memory, float, NEAR *max);
    w->max = max;
    w->instance.width = 0;
    w->instance.block = 4 * NEAR;
    return sis__arena_error(&w->instance.memory);
}

static int window_open(sis__rule_instance *r) {
    window_rule *w = (window_rule *)r;
    r->exact = 1;
    int error = sis__prefix_new(r->s, &w->f);
    if (!error)
        error = head_init(w);
    if (!error)
        error = state_init(w);
    if (!error)
        error = sis__estimate_new(w->f, w->instance.head, &w->estimate);
    if (!error && !w->estimate)
        error = near_init(w);
    return error;
}

const sis__rule sis__rule_window = {.name = "window",
                                    .bytes = sizeof(window_rule),
                                    .min_copies = 500,
                                    .open = window_open,
                                    .close = window_close,
                                    .reset = window_reset,
                                    .mask = window_mask,
                                    .row = window_row,
                                    .update = window_update,
                                    .margins = window_margins,
                                    .bounds = window_bounds};
