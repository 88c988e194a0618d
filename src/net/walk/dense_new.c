/* SPDX-License-Identifier: MIT
 *
 * Making a walk over dense layers (dense.c): finding them, their tables, and how far margins
 * may be from those of full passes.
 *
 * That is measured, in states like those the walk will meet, relative to the size of the numbers in
 * front of the last activation; the tolerance then follows that size from probe to probe.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "net/kernels/kernels.h"
#include "net/walk/dense.h"

/* ---- Making the tables ----------------------------------------------------------------------- */

/* Leads on the first layer by feature (its slot, to begin with), and which features are still. */
static int fill_leads(sis__dense_walk *w) {
    const sis__face *f = &w->face;
    sis__dense_layer *l = &w->first;
    memset(w->still, 1, w->s->n_features);
    for (size_t e = 0; e < f->n; e++) {
        int i = f->feature[e];
        float by = i >= 0 ? f->z[e] - f->x[e] : 0, most = fmaxf(fabsf(f->x[e]), fabsf(f->z[e]));
        sis__dense_row(&l->dense, e, w->spare);
        for (size_t j = 0; j < l->dense.out; j++) {
            w->scale[j] += fabsf(w->spare[j]) * most;
            if (by == 0)
                continue;
            l->lead[(size_t)i * l->wide + j] += w->spare[j] * by;
            w->still[i] &= w->spare[j] == 0;
        }
    }
    for (size_t j = 0; j < l->dense.out; j++)
        if (!isfinite(w->scale[j]))
            return SIS_E_UNSUPPORTED;
    return SIS_OK;
}

static void fill_weights(sis__dense_walk *w) {
    for (size_t u = 0; w->deep && u < w->first.dense.out; u++)
        sis__dense_row(&w->second.dense, u, w->w + u * w->second.wide);
}

/* ---- Tolerance ----------------------------------------------------------------------------- */

/* The margin with one more feature masked, by a full pass. */
static int exact_with(sis__dense_walk *w, int feature, double *margin) {
    const sis__subject *s = w->s;
    int cut = sis__dense_cut(w)->dense.to;
    sis__face_mask(&w->face, feature);
    int error = sis__face_run(&w->face, cut);
    if (error == SIS_OK)
        error = sis__ending_exact(&w->ending, (const float *)w->face.run->data[cut], margin);
    for (size_t v = s->start[feature]; v < s->start[feature + 1]; v++)
        w->face.values[s->value[v]] = s->x[s->value[v]];
    return error;
}

/* Errors of single candidates, and the size of the state each occurred in. */
typedef struct {
    double *error, *size;
    size_t n, states, trials; /* in each */
} errors;

/* As many as can be had at little cost; at least 4 times 16. */
static int errors_init(const sis__dense_walk *w, errors *e) {
    size_t n = (size_t)(4e6 / (w->face.plan->flops + 2e3));
    n = n < 64 ? 64 : n > 1024 ? 1024 : n;
    *e = (errors){.states = n < 256 ? 4 : 16};
    e->trials = n / e->states;
    e->error = SIS_NEW(double, n);
    e->size = SIS_NEW(double, n);
    return e->error && e->size ? SIS_OK : SIS_E_NOMEM;
}

/* Errors of random candidates of the present state. */
static int errors_here(sis__dense_walk *w, sis__rng *r, errors *e) {
    for (size_t k = 0; k < e->trials && w->n_live; k++) {
        int i = w->feature_at[sis__rng_below(r, w->n_live)];
        double probed, exact;
        int error = w->walk.ops->probe(&w->walk, &i, 1, &probed);
        if (error == SIS_OK)
            error = exact_with(w, i, &exact);
        if (error != SIS_OK)
            return error;
        if (isnan(probed) || isnan(exact))
            return SIS_E_UNSUPPORTED;
        e->error[e->n] = fabs(probed - exact);
        e->size[e->n++] = w->size;
    }
    return SIS_OK;
}

/* In states with more and more masked, a few masks after a reset in each. */
static int measure(sis__dense_walk *w, errors *e) {
    sis__rng r;
    unsigned char *masked = SIS_NEW(unsigned char, w->s->n_features);
    int error = masked ? errors_init(w, e) : SIS_E_NOMEM;
    sis__rng_init(&r, 0xD5);
    for (size_t state = 0; state < e->states && error == SIS_OK; state++) {
        double margin, share = (double)state / (double)e->states;
        for (size_t i = 0; i < w->s->n_features; i++)
            masked[i] = sis__rng_uniform(&r) < share;
        error = w->walk.ops->reset(&w->walk, masked, &margin);
        for (int k = 0; k < 3 && w->n_live > 1 && error == SIS_OK; k++)
            error =
                w->walk.ops->mask(&w->walk, w->feature_at[sis__rng_below(&r, w->n_live)], &margin);
        if (error == SIS_OK)
            error = errors_here(w, &r, e);
    }
    free(masked);
    return error;
}

/* Twelve times the typical error, at least two and a half times the worst of those seen. Not less
 * than a few units in the last place either, and more with few features, where errors are rare and
 * coarse. */
static void choose_unit(sis__dense_walk *w, const errors *e) {
    double squares = 0, worst = 0, least = 5e-7 * (1 + 256.0 / (double)w->s->n_features);
    w->least_size = 1;
    for (size_t k = 0; k < e->n; k++)
        w->least_size = fmax(w->least_size, e->size[k] / 2);
    for (size_t k = 0; k < e->n; k++) {
        double off = e->error[k] / (w->least_size + e->size[k]);
        worst = fmax(worst, off);
        squares += off * off;
    }
    w->unit = fmax(12 * sqrt(squares / (double)(e->n ? e->n : 1)), fmax(2.5 * worst, least));
    w->most = w->walk.tolerance = w->unit * w->least_size;
}

static int set_tolerance(sis__dense_walk *w) {
    errors e = {.states = 0};
    int error = measure(w, &e);
    if (error == SIS_OK)
        choose_unit(w, &e);
    free(e.error);
    free(e.size);
    return error == SIS_OK && !(w->unit < 1e-3) ? SIS_E_UNSUPPORTED : error;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static size_t round_up(size_t n) {
    return (n + 15) / 16 * 16;
}

static int find_layers(sis__dense_walk *w) {
    const sis__plan *p = w->face.plan;
    sis__dense *a = &w->first.dense, *b = &w->second.dense;
    if (!sis__dense_at(p, w->face.tensor, a) || a->in != w->face.n)
        return SIS_E_UNSUPPORTED;
    int on = sis__dense_rectified(p, a->to);
    w->deep = on >= 0 && sis__dense_at(p, on, b) && b->in == a->out &&
              sis__ending_distance(&w->face, a) == SIS__FAR;
    w->first.wide = round_up(a->out);
    w->second.wide = w->deep ? round_up(b->out) : 0;
    double floats =
        (double)w->s->n_features * (double)(w->first.wide + w->second.wide + SIS__SWITCH_AT_ONCE);
    return floats * sizeof(float) < (double)w->s->memory ? SIS_OK : SIS_E_UNSUPPORTED;
}

static int allocate_layer(sis__dense_layer *l, size_t features) {
    l->base = SIS_NEW(float, l->wide);
    l->lead = SIS_NEW(float, features * l->wide);
    return l->base && l->lead ? SIS_OK : SIS_E_NOMEM;
}

static int allocate_units(sis__dense_walk *w) {
    const sis__kernels *kn = sis__kernels_best();
    size_t n = w->first.wide, wide = w->second.wide, out = w->second.dense.out;
    w->on = SIS_NEW(int, n);
    w->w = SIS_NEW(float, n *wide);
    w->on_packed = SIS_NEW_RAW(float, sis__packed_size(kn, w->second.dense.in, out));
    w->found = SIS_NEW_RAW(int, n);
    w->sizes = SIS_NEW_RAW(float, n);
    w->some_w = SIS_NEW_RAW(float, SIS__SWITCH_AT_ONCE *wide);
    w->some_packed = SIS_NEW_RAW(float, sis__packed_size(kn, SIS__SWITCH_AT_ONCE, out));
    w->columns = SIS_NEW_RAW(float, w->s->n_features *SIS__SWITCH_AT_ONCE);
    return w->on && w->w && w->on_packed && w->found && w->sizes && w->some_w && w->some_packed &&
                   w->columns
               ? SIS_OK
               : SIS_E_NOMEM;
}

static int allocate(sis__dense_walk *w) {
    size_t p = w->s->n_features, wider = w->first.wide;
    wider = w->second.wide > wider ? w->second.wide : wider;
    w->scale = SIS_NEW(float, w->first.wide);
    w->still = SIS_NEW(unsigned char, p);
    w->slot_of = SIS_NEW_RAW(int, p);
    w->feature_at = SIS_NEW_RAW(int, p);
    w->spare = SIS_NEW(float, wider);
    w->place = SIS_NEW_RAW(int, p);
    if (!w->scale || !w->still || !w->slot_of || !w->feature_at || !w->spare || !w->place)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < p; i++)
        w->slot_of[i] = w->feature_at[i] = (int)i, w->place[i] = -1;
    int error = allocate_layer(&w->first, p);
    if (error == SIS_OK && w->deep)
        error = allocate_layer(&w->second, p);
    return error == SIS_OK && w->deep ? allocate_units(w) : error;
}

static void note_layer(const sis__dense_walk *w, const sis__dense *l, const char *text) {
    sis__subject_note(w->s, l->product, "%s", text);
    if (l->add)
        sis__subject_note(w->s, l->add, "%s", text);
}

static int dense_init(sis__dense_walk *w) {
    int error = sis__face_init(&w->face, w->s);
    if (error == SIS_OK)
        error = find_layers(w);
    if (error == SIS_OK)
        error = sis__ending_init(&w->ending, &w->face, &sis__dense_cut(w)->dense);
    if (error == SIS_OK)
        error = allocate(w);
    if (error == SIS_OK)
        error = fill_leads(w);
    if (error != SIS_OK)
        return error;
    fill_weights(w);
    note_layer(w, &w->first.dense, "column of the feature");
    if (w->deep) {
        const sis__plan *p = w->face.plan;
        int rectified = sis__dense_rectified(p, w->first.dense.to);
        sis__subject_note(w->s, &p->steps[p->tensors[rectified].node], "units that switch");
        note_layer(w, &w->second.dense, "product kept, switched units");
    }
    return set_tolerance(w);
}

int sis__walk_dense_new(const sis__subject *s, sis_walk **out) {
    *out = NULL;
    sis__dense_walk *w = SIS_NEW(sis__dense_walk, 1);
    if (!w)
        return SIS_E_NOMEM;
    w->walk.ops = &sis__dense_ops;
    w->s = s;
    int error = dense_init(w);
    if (error != SIS_OK) {
        w->walk.ops->free(&w->walk);
        return error;
    }
    *out = &w->walk;
    return SIS_OK;
}
