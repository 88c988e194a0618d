/* SPDX-License-Identifier: MIT
 *
 * The window walk: networks that begin with convolutions, pooling and element-wise layers. See
 * window.h for how it is put together.
 *
 *     reset  computes the base, forgets what is kept for candidates
 *     probe  brings candidates up to date whose boxes met a box that was masked since, makes a row
 *            for the head of each that changes anything, runs the head on all rows at once; where
 *            only the best is wanted and there are bounds, of those that can be the best
 *     mask   computes the base anew inside the feature's boxes
 *
 * Candidates that leave the cuts as they are have the present margin.
 */
#include "net/window/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { REFRESH = 32 };                           /* masks between two sums of a dense cut */
enum { TOGETHER = 32 };                          /* candidates brought up to date at a time */
static const size_t row_bytes = (size_t)4 << 20; /* rows that wait for the head */

typedef struct {
    sis_walk walk;
    sis__prefix *f;
    sis__head *head;
    unsigned char *masked; /* (n_features) */
    unsigned char *stale;  /* (n_features) something kept for it is dirty */
    float *base;           /* (f->row) the present state at the cuts */
    double margin;         /* its margin */
    float *rows;           /* (n_rows, f->row) waiting */
    size_t *place;         /* (n_rows) where their margins go */
    double *margins;       /* (n_rows) */
    size_t n_rows, masks;
    /* One of them, or none: every candidate is computed whenever it is asked for. */
    sis__bound *bound;
    sis__estimate *estimate;
    unsigned char *chosen; /* (n_features) of those asked for, which to compute */
} window_walk;

static int present_margin(window_walk *w, double *margin) {
    for (size_t i = 0; i < w->f->n_points; i++)
        sis__keep_row(w->f, &w->f->points[i], w->base);
    int error = sis__head_margins(w->head, w->base, 1, &w->margin);
    *margin = w->margin;
    return error;
}

static void mask_element(sis__prefix *f, const sis__element *e) {
    const sis__map *m = &f->maps[0];
    m->base[sis__box_at(&m->whole, e->z, e->y, e->x) * m->channels + (size_t)e->c] = e->masked;
}

static void mask_elements(sis__prefix *f, size_t j) {
    for (size_t i = f->input.start[j]; i < f->input.start[j + 1]; i++)
        mask_element(f, &f->input.elements[i]);
}

/* Bring candidates up to date, those that are not, together: their products wait for each other. */
static void update(window_walk *w, const size_t *features, size_t n) {
    sis__prefix *f = w->f;
    for (size_t i = 0; n > 0 && i < f->n_points; i++) {
        for (size_t k = 0; k < n; k++)
            sis__keep_update(f, &f->points[i], features[k]);
        if (f->points[i].kind == SIS__KEEP_CONV)
            sis__conv_flush(f, &f->layers[f->points[i].layer]);
    }
    for (size_t k = 0; k < n; k++) {
        w->stale[features[k]] = 0;
        if (w->bound)
            sis__bound_forget(w->bound, features[k]);
    }
}

/* Those of n features that are chosen (NULL: all). */
static void update_all(window_walk *w, const int *features, size_t n, const unsigned char *chosen) {
    size_t together[TOGETHER] = {0}, count = 0;
    for (size_t k = 0; k < n; k++) {
        if (!w->stale[features[k]] || (chosen && !chosen[k]))
            continue;
        together[count++] = (size_t)features[k];
        if (count == TOGETHER) {
            update(w, together, count);
            count = 0;
        }
    }
    update(w, together, count);
}

/* Run the rows that wait. */
static int run_rows(window_walk *w, size_t n, double *margins) {
    if (w->bound && n > 0)
        sis__bound_see(w->bound, sis__kernels_best()->max_of(w->rows, n * w->f->row));
    int error = sis__head_margins(w->head, w->rows, n, w->margins);
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        margins[w->place[i]] = w->margins[i];
    return error;
}

/* Margins of those of n features that are chosen (NULL: all). */
static int compute(window_walk *w, const int *features, size_t n, const unsigned char *chosen,
                   double *margins) {
    sis__prefix *f = w->f;
    size_t waiting = 0;
    update_all(w, features, n, chosen);
    for (size_t k = 0; k < n; k++) {
        if (chosen && !chosen[k])
            continue;
        size_t j = (size_t)features[k];
        float *row = w->rows + waiting * f->row;
        int changes = 0;
        for (size_t i = 0; i < f->n_points; i++)
            changes |= sis__keep_row_without(f, &f->points[i], j, w->base, row);
        if (!changes) {
            margins[k] = w->margin;
            continue;
        }
        w->place[waiting++] = k;
        if (waiting < w->n_rows)
            continue;
        int error = run_rows(w, waiting, margins);
        if (error != SIS_OK)
            return error;
        waiting = 0;
    }
    return run_rows(w, waiting, margins);
}

/* What wants * margin of each candidate is at most; INFINITY: nothing is known of it. */
static int find_most(window_walk *w, const int *features, size_t n, double *most) {
    int wants = w->walk.wants;
    if (w->estimate)
        return sis__estimate_most(w->estimate, features, n, wants, w->base, most);
    update_all(w, features, n, NULL);
    sis__bound_follow(w->bound, w->f->points[w->f->n_points - 1].linear.sums, wants);
    for (size_t k = 0; k < n; k++)
        most[k] = sis__bound_of(w->bound, (size_t)features[k]);
    return SIS_OK;
}

/* Compute those that are chosen; their best wants * margin, if it is above *best. */
static int compute_chosen(window_walk *w, const int *features, size_t n, double *margins,
                          double *best) {
    int error = compute(w, features, n, w->chosen, margins);
    for (size_t k = 0; error == SIS_OK && k < n; k++)
        if (w->chosen[k]) {
            *best = fmax(*best, w->walk.wants * margins[k]);
            if (w->bound)
                sis__bound_learn(w->bound, (size_t)features[k], margins[k]);
        }
    return error;
}

/* Those nothing is known of, and the most promising of the others, first. Then those that may come
 * up to the best of them; the rest cannot be better. */
static int probe_best(window_walk *w, const int *features, size_t n, double *margins) {
    size_t top = n;
    double best = -INFINITY;
    int error = find_most(w, features, n, margins);
    if (error != SIS_OK)
        return error;
    for (size_t k = 0; k < n; k++) {
        w->chosen[k] = (unsigned char)(isinf(margins[k]) != 0);
        if (!w->chosen[k] && (top == n || margins[k] > margins[top]))
            top = k;
    }
    if (top < n)
        w->chosen[top] = 1;
    error = compute_chosen(w, features, n, margins, &best);
    for (size_t k = 0; k < n && error == SIS_OK; k++) {
        int maybe = !w->chosen[k] && !(margins[k] < best);
        if (!w->chosen[k] && !maybe)
            margins[k] = w->walk.wants > 0 ? -INFINITY : INFINITY;
        w->chosen[k] = (unsigned char)maybe;
    }
    return error == SIS_OK ? compute_chosen(w, features, n, margins, &best) : error;
}

static int window_probe(sis_walk *walk, const int *features, size_t n, double *margins) {
    window_walk *w = (window_walk *)walk;
    if ((w->bound || w->estimate) && walk->wants)
        return probe_best(w, features, n, margins);
    return compute(w, features, n, NULL, margins);
}

static int window_reset(sis_walk *walk, const unsigned char *masked, double *margin) {
    window_walk *w = (window_walk *)walk;
    sis__prefix *f = w->f;
    size_t n = f->s->n_features;
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
    w->masks = 0;
    if (w->bound)
        sis__bound_reset(w->bound);
    if (w->estimate)
        sis__estimate_reset(w->estimate);
    return present_margin(w, margin);
}

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
static void spoil(window_walk *w, size_t i) {
    sis__prefix *f = w->f;
    for (size_t j = 0; j < f->s->n_features; j++) {
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

static int window_mask(sis_walk *walk, int feature, double *margin) {
    window_walk *w = (window_walk *)walk;
    sis__prefix *f = w->f;
    size_t j = (size_t)feature;
    update_all(w, &feature, 1, NULL);
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
    return present_margin(w, margin);
}

static void window_free(sis_walk *walk) {
    window_walk *w = (window_walk *)walk;
    sis__bound_free(w->bound);
    sis__estimate_free(w->estimate);
    sis__head_free(w->head);
    sis__prefix_free(w->f);
    free(w->chosen);
    free(w->masked);
    free(w->stale);
    free(w->base);
    free(w->rows);
    free(w->place);
    free(w->margins);
    free(w);
}

static int head_init(window_walk *w) {
    const sis__prefix *f = w->f;
    size_t n = 0;
    sis__cut *cuts = SIS_NEW(sis__cut, f->n_points);
    if (!cuts)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < f->n_points; i++)
        if (f->points[i].kind != SIS__KEEP_CONV)
            cuts[n++] =
                (sis__cut){f->points[i].cut.value, &f->plan->tensors[f->points[i].cut.value]};
    int error = sis__head_new_cuts(f->s, cuts, n, &w->head);
    free(cuts);
    return error;
}

static int rows_init(window_walk *w) {
    size_t n = w->f->s->n_features, most = row_bytes / sizeof(float) / (w->f->row + 1);
    w->n_rows = most < 16 ? 16 : most;
    w->n_rows = w->n_rows < n ? w->n_rows : n;
    w->masked = SIS_NEW(unsigned char, n);
    w->stale = SIS_NEW(unsigned char, n);
    w->chosen = SIS_NEW(unsigned char, n);
    w->base = SIS_NEW(float, w->f->row);
    w->rows = (float *)sis__alloc_raw(w->n_rows, w->f->row * sizeof *w->rows);
    w->place = SIS_NEW(size_t, w->n_rows);
    w->margins = SIS_NEW(double, w->n_rows);
    return w->masked && w->stale && w->chosen && w->base && w->rows && w->place && w->margins
               ? SIS_OK
               : SIS_E_NOMEM;
}

int sis__walk_window_new(const sis__subject *s, sis_walk **out) {
    static const sis_walk_ops ops = {window_reset, window_probe, window_mask, window_free};
    *out = NULL;
    window_walk *w = SIS_NEW(window_walk, 1);
    if (!w)
        return SIS_E_NOMEM;
    w->walk.ops = &ops;
    int error = sis__prefix_new(s, &w->f);
    if (error == SIS_OK)
        error = head_init(w);
    if (error == SIS_OK)
        error = rows_init(w);
    if (error == SIS_OK)
        error = sis__bound_new(w->f, w->head, &w->bound);
    if (error == SIS_OK && !w->bound)
        error = sis__estimate_new(w->f, w->head, &w->estimate);
    if (error != SIS_OK) {
        window_free(&w->walk);
        return error;
    }
    *out = &w->walk;
    return SIS_OK;
}
