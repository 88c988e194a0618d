/* SPDX-License-Identifier: MIT
 *
 * The window rule: networks that begin with convolutions, pooling and element-wise layers. See
 * window.h for how it is put together.
 *
 *     reset   computes the base, forgets what is kept for candidates
 *     update  brings candidates up to date whose boxes met a box that was masked since
 *     row     puts together what the cuts hold
 *     bounds  says which candidates can be the best
 *     mask    computes the base anew inside the feature's boxes
 *
 * Candidates that leave the cuts as they are change nothing. Where a cut is a whole map, of
 * which a candidate changes little, a row is the feature's number, and the head is told what changes.
 */
#include "net/window/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { REFRESH = 32 };  /* masks between two sums of a dense cut */
enum { TOGETHER = 32 }; /* candidates brought up to date at a time */
enum { NEAR = 16 };     /* rows that are told by what changes, at a time */
enum { SPARSE = 4 };    /* a candidate changes one of so many values at most, if it is */

typedef struct {
    sis__ruled ruled;
    sis__prefix *f;
    unsigned char *masked; /* (n_features) */
    unsigned char *stale;  /* (n_features) something kept for it is dirty */
    size_t *made;          /* (n_features) masks there were when its row was made last; SIZE_MAX */
    float *base;           /* (f->row) the present state at the cuts */
    size_t masks;          /* since the last reset */
    size_t version;        /* of the base */
    size_t most;   /* values of it that a candidate changes; 0: rows are written as a whole */
    size_t *place; /* (NEAR, most) where these are */
    float *value;  /* (NEAR, most) */
    float *one;    /* (f->row) room for a row */
    /* One of them, or none: every candidate may be the best. */
    sis__bound *bound;
    sis__estimate *estimate;
} window_rule;

/* ---- The present state ---------------------------------------------------------------------- */

static void make_base_row(window_rule *w) {
    for (size_t i = 0; i < w->f->n_points; i++)
        sis__keep_row(w->f, &w->f->points[i], w->base);
    w->version++;
}

static void mask_elements(sis__prefix *f, size_t j) {
    const sis__map *m = &f->maps[0];
    for (size_t i = f->input.start[j]; i < f->input.start[j + 1]; i++) {
        const sis__element *e = &f->input.elements[i];
        m->base[sis__box_at(&m->whole, e->z, e->y, e->x) * m->channels + (size_t)e->c] = e->masked;
    }
}

static int window_reset(sis__ruled *r, const unsigned char *masked) {
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
        sis__keep_reset(f, &f->points[i]);
    memset(w->stale, 1, n);
    memset(w->made, 0xff, n * sizeof *w->made);
    w->masks = 0;
    if (w->bound)
        sis__bound_reset(w->bound);
    if (w->estimate)
        sis__estimate_reset(w->estimate);
    make_base_row(w);
    return SIS_OK;
}

/* ---- Candidates ----------------------------------------------------------------------------- */

/* Bring candidates up to date together: their products wait for each other. */
static void update(window_rule *w, const size_t *features, size_t n) {
    sis__prefix *f = w->f;
    for (size_t i = 0; n > 0 && i < f->n_points; i++) {
        for (size_t k = 0; k < n; k++)
            sis__keep_update(f, &f->points[i], features[k]);
        if (f->points[i].kind == SIS__KEEP_CONV)
            sis__conv_flush(f);
    }
    for (size_t k = 0; k < n; k++) {
        w->stale[features[k]] = 0;
        if (w->bound)
            sis__bound_forget(w->bound, features[k]);
    }
}

static void window_update(sis__ruled *r, const int *features, size_t n) {
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
}

/* The row by its number. */
static sis__change numbered_row(window_rule *w, int feature, float *row) {
    sis__prefix *f = w->f;
    int changes = feature < 0;
    if (feature >= 0 && w->made[feature] == w->masks)
        return SIS__AS_BEFORE;
    for (size_t i = 0; i < f->n_points && !changes; i++)
        changes = sis__keep_differs(f, &f->points[i], (size_t)feature, w->base, w->one);
    if (changes && feature >= 0)
        w->made[feature] = w->masks;
    *row = (float)feature;
    return changes ? SIS__CHANGED : SIS__NOTHING;
}

static sis__change window_row(sis__ruled *r, int feature, float *row) {
    window_rule *w = (window_rule *)r;
    sis__prefix *f = w->f;
    int changes = 0;
    if (w->most)
        return numbered_row(w, feature, row);
    if (feature < 0) {
        memcpy(row, w->base, f->row * sizeof *row);
        return SIS__CHANGED;
    }
    if (w->made[feature] == w->masks)
        return SIS__AS_BEFORE;
    for (size_t i = 0; i < f->n_points; i++)
        changes |= sis__keep_row_without(f, &f->points[i], (size_t)feature, w->base, row);
    if (!changes)
        return SIS__NOTHING;
    w->made[feature] = w->masks;
    if (w->bound)
        sis__bound_see(w->bound, sis__kernels_best()->max_of(row, f->row));
    return SIS__CHANGED;
}

/* What a feature changes of the base. */
static sis__row_change changes_of(const window_rule *w, int feature, size_t *place, float *value) {
    size_t n = 0;
    for (size_t i = 0; feature >= 0 && i < w->f->n_points; i++)
        n += sis__keep_changes(w->f, &w->f->points[i], (size_t)feature, w->base, w->one, place + n,
                               value + n);
    return (sis__row_change){n, place, value};
}

static int window_margins(sis__ruled *r, float *rows, size_t n, double *margins) {
    window_rule *w = (window_rule *)r;
    sis__row_change changes[NEAR];
    int error = SIS_OK;
    if (!w->most)
        return sis__head_margins(r->head, rows, n, margins);
    for (size_t i = 0, some; i < n && error == SIS_OK; i += some) {
        some = n - i < NEAR ? n - i : NEAR;
        for (size_t k = 0; k < some; k++)
            changes[k] =
                changes_of(w, (int)rows[i + k], w->place + k * w->most, w->value + k * w->most);
        error = sis__head_margins_near(r->head, w->base, w->version, changes, some, margins + i);
    }
    return error;
}

static void window_bounds(sis__ruled *r, int wants, const int *features, size_t n, double *most) {
    window_rule *w = (window_rule *)r;
    int known =
        w->estimate && sis__estimate_most(w->estimate, features, n, wants, w->base, most) == SIS_OK;
    if (w->bound) {
        window_update(r, features, n);
        sis__bound_follow(w->bound, w->f->points[w->f->n_points - 1].linear.sums, wants);
    }
    for (size_t k = 0; k < n && !known; k++)
        most[k] = w->bound ? sis__bound_of(w->bound, (size_t)features[k]) : INFINITY;
}

static void window_learn(sis__ruled *r, int feature, double margin) {
    window_rule *w = (window_rule *)r;
    if (w->bound)
        sis__bound_learn(w->bound, (size_t)feature, margin);
}

/* ---- Masking -------------------------------------------------------------------------------- */

/* Does it meet the box of feature i at a cut? What meets it anywhere before does so there too, or
 * changes nothing there. */
static int meets_at_cut(const sis__prefix *f, size_t i, size_t j) {
    for (size_t k = f->n_points; k-- > 0 && f->points[k].kind != SIS__KEEP_CONV;) {
        const sis__box *box = f->points[k].box;
        if (sis__box_meets(&box[i], &box[j]))
            return 1;
    }
    return 0;
}

/* What the boxes of feature i meet must be computed again. */
static void spoil(window_rule *w, size_t i) {
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
            sis__estimate_spoil(w->estimate, j);
    }
}

static int window_mask(sis__ruled *r, int feature) {
    window_rule *w = (window_rule *)r;
    sis__prefix *f = w->f;
    size_t j = (size_t)feature;
    for (size_t i = 0; i < f->n_points; i++)
        sis__keep_before(f, &f->points[i], j);
    mask_elements(f, j);
    for (size_t i = 0; i < f->n_layers; i++)
        if (f->layers[i].conv.sums)
            sis__conv_adopt(f, &f->layers[i], j);
        else
            sis__layer_base(f, i, &f->maps[f->layers[i].out].box[j]);
    for (size_t i = 0; i < f->n_points; i++)
        sis__keep_after(f, &f->points[i], j);
    w->masked[j] = 1;
    spoil(w, j);
    if (++w->masks % REFRESH == 0)
        for (size_t i = 0; i < f->n_points; i++)
            sis__keep_refresh(f, &f->points[i]);
    make_base_row(w);
    return SIS_OK;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static void window_close(sis__ruled *r) {
    window_rule *w = (window_rule *)r;
    sis__bound_free(w->bound);
    sis__estimate_free(w->estimate);
    sis__prefix_free(w->f);
    free(w->masked);
    free(w->stale);
    free(w->made);
    free(w->base);
    free(w->place);
    free(w->value);
    free(w->one);
    free(w);
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
    int error = sis__head_new_cuts(f->s, cuts, n, &w->ruled.head);
    free(cuts);
    return error;
}

static int state_init(window_rule *w) {
    size_t n = w->f->s->in.n;
    w->ruled.width = w->f->row;
    w->masked = SIS_NEW(unsigned char, n);
    w->stale = SIS_NEW(unsigned char, n);
    w->made = SIS_NEW(size_t, n);
    w->base = SIS_NEW(float, w->f->row);
    return w->masked && w->stale && w->made && w->base ? SIS_OK : SIS_E_NOMEM;
}

/* Tell the head what changes, where that is little of whole maps. */
static int near_init(window_rule *w) {
    const sis__prefix *f = w->f;
    size_t most = 0, wholes = 0;
    double inside = 0;
    for (size_t i = 0; i < f->n_points; i++) {
        const sis__keep_point *s = &f->points[i];
        int whole = s->kind == SIS__KEEP_WHOLE;
        wholes += (size_t)whole;
        most += sis__keep_most(f, s);
        inside += whole ? sis__box_total(f, &f->maps[s->map]) * (double)f->maps[s->map].channels
                        : (double)f->s->in.n * (double)s->cut.width;
    }
    if (!wholes || f->s->in.n >= (size_t)1 << 24 ||
        SPARSE * inside > (double)f->s->in.n * (double)f->row)
        return SIS_OK;
    w->one = SIS_NEW(float, f->row);
    w->place = (size_t *)sis__alloc_raw(NEAR, most * sizeof *w->place);
    w->value = (float *)sis__alloc_raw(NEAR, most * sizeof *w->value);
    if (!w->one || !w->place || !w->value)
        return SIS_E_NOMEM;
    w->most = most;
    w->ruled.width = 1;
    w->ruled.block = 4 * NEAR;
    return SIS_OK;
}

static int window_open(const sis__net_input *s, sis__ruled **out) {
    window_rule *w = SIS_NEW(window_rule, 1);
    *out = w ? &w->ruled : NULL;
    if (!w)
        return SIS_E_NOMEM;
    w->ruled.exact = 1;
    int error = sis__prefix_new(s, &w->f);
    if (error == SIS_OK)
        error = head_init(w);
    if (error == SIS_OK)
        error = state_init(w);
    if (error == SIS_OK)
        error = sis__bound_new(w->f, w->ruled.head, &w->bound);
    if (error == SIS_OK && !w->bound)
        error = sis__estimate_new(w->f, w->ruled.head, &w->estimate);
    if (error == SIS_OK && !w->bound && !w->estimate)
        error = near_init(w);
    return error;
}

const sis__rule sis__rule_window = {.name = "window",
                                    .pays_from = 500,
                                    .open = window_open,
                                    .close = window_close,
                                    .reset = window_reset,
                                    .mask = window_mask,
                                    .row = window_row,
                                    .update = window_update,
                                    .margins = window_margins,
                                    .bounds = window_bounds,
                                    .learn = window_learn};
