/* SPDX-License-Identifier: MIT
 *
 * The window walk: networks that begin with convolutions, pooling and element-wise layers. See
 * window.h for how it is put together.
 *
 *     reset  computes the base, forgets what is kept for candidates
 *     probe  brings candidates up to date whose boxes met a box that was masked since, makes a row
 *            for the head of each that changes anything, runs the head on all rows at once
 *     mask   computes the base anew inside the feature's boxes
 *
 * Candidates that leave the cuts as they are have the present margin, to the bit, and no others do.
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
/* Walks that add up changes: see measure(). */
enum { SAMPLES = 8 };
static const double roundings = 16 * 0x1p-23, deviations = 24;

typedef struct {
    sis_walk walk;
    sis__front *f;
    sis__head *head;
    unsigned char *masked; /* (n_features) */
    unsigned char *stale;  /* (n_features) something kept for it is dirty */
    float *base;           /* (f->row) the present state at the cuts */
    double margin;         /* its margin */
    float *rows;           /* (n_rows, f->row) waiting */
    size_t *place;         /* (n_rows) where their margins go */
    double *margins;       /* (n_rows) */
    size_t n_rows, masks;
    sis__bound *bound;     /* NULL: every candidate is computed whenever it is asked for */
    unsigned char *chosen; /* (n_features) of those asked for, which to compute */
} window_walk;

static int present_margin(window_walk *w, double *margin) {
    for (size_t i = 0; i < w->f->n_sites; i++)
        sis__site_row(w->f, &w->f->sites[i], w->base);
    int error = sis__head_margins(w->head, w->base, 1, &w->margin);
    *margin = w->margin;
    if (!w->f->exact)
        w->walk.tolerance = fmax(w->walk.tolerance, roundings * (1 + sis__head_size(w->head)));
    return error;
}

static void mask_element(sis__front *f, const sis__element *e) {
    const sis__map *m = &f->maps[0];
    m->base[sis__box_at(&m->whole, e->z, e->y, e->x) * m->channels + (size_t)e->c] = e->masked;
}

static void mask_elements(sis__front *f, size_t j) {
    for (size_t i = f->start[j]; i < f->start[j + 1]; i++)
        mask_element(f, &f->elements[i]);
}

/* Bring candidates up to date, those that are not, together: their products wait for each other. */
static void update(window_walk *w, const size_t *features, size_t n) {
    sis__front *f = w->f;
    for (size_t i = 0; n > 0 && i < f->n_sites; i++) {
        for (size_t k = 0; k < n; k++)
            sis__site_update(f, &f->sites[i], features[k]);
        if (f->sites[i].kind == SIS__SITE_KEEP)
            sis__conv_flush(f, &f->layers[f->sites[i].layer]);
    }
    for (size_t k = 0; k < n; k++) {
        w->stale[features[k]] = 0;
        if (w->bound)
            sis__bound_forget(w->bound, features[k]);
    }
}

static void update_all(window_walk *w, const int *features, size_t n) {
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

/* Run the rows that wait. */
static int run_rows(window_walk *w, size_t n, double *margins) {
    if (w->bound && n > 0)
        sis__bound_see(w->bound, sis__kernels_best()->max_of(w->rows, n * w->f->row));
    int error = sis__head_margins(w->head, w->rows, n, w->margins);
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        double m = w->margins[i];
        /* Only candidates that change nothing may answer the present margin. */
        if (m == w->margin && w->walk.tolerance > 0)
            m = nextafter(m, INFINITY);
        margins[w->place[i]] = m;
    }
    return error;
}

/* Margins of those of n features that are chosen (NULL: all). */
static int compute(window_walk *w, const int *features, size_t n, const unsigned char *chosen,
                   double *margins) {
    sis__front *f = w->f;
    size_t waiting = 0;
    for (size_t k = 0; k < n; k++) {
        if (chosen && !chosen[k])
            continue;
        size_t j = (size_t)features[k];
        float *row = w->rows + waiting * f->row;
        int changes = 0;
        for (size_t i = 0; i < f->n_sites; i++)
            changes |= sis__site_row_without(f, &f->sites[i], j, w->base, row);
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

/* The best wants * margin of those that were chosen, which become known. */
static double learn(window_walk *w, const int *features, size_t n, const double *margins) {
    double best = -INFINITY;
    for (size_t k = 0; k < n; k++)
        if (w->chosen[k]) {
            sis__bound_learn(w->bound, (size_t)features[k], margins[k]);
            best = fmax(best, w->walk.wants * margins[k]);
        }
    return best;
}

/* Those nothing is known of, and the most promising of the others, first. Then those that may come
 * up to the best of them; the rest cannot be better. */
static int probe_best(window_walk *w, const int *features, size_t n, double *margins) {
    const sis__site *cut = &w->f->sites[w->f->n_sites - 1];
    size_t top = n;
    sis__bound_follow(w->bound, cut->sums, w->walk.wants);
    for (size_t k = 0; k < n; k++) {
        double most = margins[k] = sis__bound_of(w->bound, (size_t)features[k]);
        w->chosen[k] = isinf(most) != 0;
        if (!w->chosen[k] && (top == n || most > margins[top]))
            top = k;
    }
    if (top < n)
        w->chosen[top] = 1;
    int error = compute(w, features, n, w->chosen, margins);
    if (error != SIS_OK)
        return error;
    double best = learn(w, features, n, margins);
    for (size_t k = 0; k < n; k++) {
        int maybe = !w->chosen[k] && !(margins[k] < best);
        if (!w->chosen[k] && !maybe)
            margins[k] = w->walk.wants > 0 ? -INFINITY : INFINITY;
        w->chosen[k] = (unsigned char)maybe;
    }
    error = compute(w, features, n, w->chosen, margins);
    if (error == SIS_OK)
        learn(w, features, n, margins);
    return error;
}

static int window_probe(sis_walk *walk, const int *features, size_t n, double *margins) {
    window_walk *w = (window_walk *)walk;
    update_all(w, features, n);
    if (w->bound && walk->wants)
        return probe_best(w, features, n, margins);
    return compute(w, features, n, NULL, margins);
}

/* Rows of n candidates as full passes make them. 0: some cut cannot. */
static int rows_anew(window_walk *w, const int *features, size_t n) {
    sis__front *f = w->f;
    int can = n <= w->n_rows;
    for (size_t k = 0; k < n && can; k++)
        for (size_t i = 0; i < f->n_sites && can; i++)
            can = sis__site_row_anew(f, &f->sites[i], (size_t)features[k], w->base,
                                     w->rows + k * f->row);
    return can;
}

/* Margins of n candidates by full passes. */
static int full_margins(const window_walk *w, const int *features, size_t n, double *margins) {
    const sis__subject *s = w->f->s;
    size_t outputs = sis_net_outputs(s->net);
    float *rows = (float *)sis__alloc_raw(n, s->n_values * sizeof *rows);
    double *full = (double *)sis__alloc_raw(n, outputs * sizeof *full);
    int error = rows && full ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        sis__subject_row(s, w->masked, features[i], rows + i * s->n_values);
    sis_net_batch b = {rows, n, s->n_values, s->fed == s->net->embedded, 1};
    if (error == SIS_OK)
        error = sis_net_margins(s->net, &b, full);
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        margins[i] = full[i * outputs + s->output];
    free(rows);
    free(full);
    return error;
}

/* How far changes that are added up are from full passes: measured on a few candidates. Differences
 * are random; among the many thousands of a sweep the largest is about five standard deviations,
 * and it must stay well below the tolerance. */
static int measure(window_walk *w) {
    size_t n = w->f->s->n_features, used = 0;
    int features[SAMPLES], error;
    double walked[SAMPLES], full[SAMPLES], sum = 0;
    for (size_t i = 0, j; i < SAMPLES && i < n; i++)
        if (!w->masked[j = i * n / (n < SAMPLES ? n : SAMPLES)])
            features[used++] = (int)j;
    if (rows_anew(w, features, used))
        error = sis__head_margins(w->head, w->rows, used, full);
    else
        error = full_margins(w, features, used, full);
    if (error == SIS_OK)
        error = window_probe(&w->walk, features, used, walked);
    for (size_t i = 0; error == SIS_OK && i < used; i++) {
        double e = walked[i] - full[i];
        sum += isfinite(e) ? e * e : 0;
    }
    if (error == SIS_OK && used)
        w->walk.tolerance = fmax(w->walk.tolerance, deviations * sqrt(sum / (double)used));
    return error;
}

static int window_reset(sis_walk *walk, const unsigned char *masked, double *margin) {
    window_walk *w = (window_walk *)walk;
    sis__front *f = w->f;
    size_t n = f->s->n_features;
    memcpy(w->masked, masked, n);
    memcpy(f->maps[0].base, f->input,
           sis__box_volume(&f->maps[0].whole) * f->maps[0].channels * sizeof *f->input);
    for (size_t j = 0; j < n; j++)
        if (masked[j])
            mask_elements(f, j);
    for (size_t i = 0; i < f->n_layers; i++)
        sis__layer_base(f, i, &f->maps[f->layers[i].out].whole);
    for (size_t i = 0; i < f->n_sites; i++)
        sis__site_reset(f, &f->sites[i]);
    memset(w->stale, 1, n);
    w->masks = 0;
    if (w->bound)
        sis__bound_reset(w->bound);
    int error = present_margin(w, margin);
    return error == SIS_OK && !f->exact ? measure(w) : error;
}

/* Does it meet the box of feature i at a cut? What meets it anywhere before does so there too, or
 * changes nothing there. */
static int meets_at_cut(const sis__front *f, size_t i, size_t j) {
    for (size_t k = f->n_sites; k-- > 0 && f->sites[k].kind > SIS__SITE_KEEP;) {
        const sis__box *box = f->sites[k].box;
        if (sis__box_meets(&box[i], &box[j]))
            return 1;
    }
    return 0;
}

/* What the boxes of feature i meet must be computed again. */
static void spoil(window_walk *w, size_t i) {
    sis__front *f = w->f;
    for (size_t j = 0; j < f->s->n_features; j++) {
        if (w->masked[j] || !meets_at_cut(f, i, j))
            continue;
        for (size_t k = 0; k < f->n_sites; k++) {
            const sis__box *box = f->sites[k].box;
            if (f->sites[k].fixed || !sis__box_meets(&box[i], &box[j]))
                continue;
            sis__box met = sis__box_meet(&box[i], &box[j]);
            sis__box *dirty = &f->sites[k].spots[j].dirty;
            *dirty = sis__box_join(dirty, &met);
        }
        w->stale[j] = 1;
    }
}

static int window_mask(sis_walk *walk, int feature, double *margin) {
    window_walk *w = (window_walk *)walk;
    sis__front *f = w->f;
    size_t j = (size_t)feature;
    update_all(w, &feature, 1);
    for (size_t i = 0; i < f->n_sites; i++)
        sis__site_before(f, &f->sites[i], j);
    mask_elements(f, j);
    for (size_t i = 0; i < f->n_layers; i++)
        if (f->layers[i].sums)
            sis__conv_adopt(f, &f->layers[i], j);
        else
            sis__layer_base(f, i, &f->maps[f->layers[i].out].box[j]);
    for (size_t i = 0; i < f->n_sites; i++)
        sis__site_after(f, &f->sites[i], j);
    w->masked[j] = 1;
    spoil(w, j);
    if (++w->masks % REFRESH == 0)
        for (size_t i = 0; i < f->n_sites; i++)
            sis__site_refresh(f, &f->sites[i]);
    return present_margin(w, margin);
}

static void window_free(sis_walk *walk) {
    window_walk *w = (window_walk *)walk;
    sis__bound_free(w->bound);
    sis__head_free(w->head);
    sis__front_free(w->f);
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
    const sis__front *f = w->f;
    size_t n = 0;
    sis__cut *cuts = SIS_NEW(sis__cut, f->n_sites);
    if (!cuts)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < f->n_sites; i++)
        if (f->sites[i].kind > SIS__SITE_KEEP)
            cuts[n++] = (sis__cut){f->sites[i].value, &f->plan->tensors[f->sites[i].value]};
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
    int error = sis__front_new(s, &w->f);
    if (error == SIS_OK)
        error = head_init(w);
    if (error == SIS_OK)
        error = rows_init(w);
    if (error == SIS_OK)
        error = sis__bound_new(w->f, w->head, &w->bound);
    if (error != SIS_OK) {
        window_free(&w->walk);
        return error;
    }
    w->walk.tolerance = w->f->exact ? 0 : roundings;
    *out = &w->walk;
    return SIS_OK;
}
