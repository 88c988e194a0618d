/* SPDX-License-Identifier: MIT
 *
 * Networks that begin with a dense layer on the input: linear models and perceptrons.
 *
 * Masking feature i adds one vector to the first layer's pre-activations, the same at every step of
 * a walk: the sum of its columns of weights, each times (mask - value). This is the candidate's
 * *lead* on the layer. Where the scores are near (see sis__ending), or no rectified units follow, that
 * is all: the rest of the network runs on base + lead.
 *
 * With rectified units and a second dense layer, a candidate moves the second layer's
 * pre-activations by the sum over units that are on in the base of the unit's row of weights times
 * its lead there, as long as no unit switches. This lead on the second layer is kept. With switches
 *
 *     pre-activations = base + lead + sum over the units u it switches of |u's new value| * row of u
 *
 * because a unit that goes off takes back the negative value its lead assumed, and one that comes on
 * adds its positive one. A candidate switches few units; they are found by comparing signs. When a
 * feature is masked for good and units of the base switch, leads are corrected by as many rank-one
 * updates.
 *
 * Features live in *slots*, those that are present first, so that leads of all candidates are a
 * matrix without gaps.
 *
 * Rounding: the base is computed anew by the network itself every few masks, leads after many
 * switches. What is left is the noise of full passes in single precision. How far margins are from
 * them is measured when the walk is made, in states like those it will meet, relative to the size of
 * the numbers in front of the last activation; the tolerance follows that size from probe to probe.
 *
 * Cost of a probe: two passes over the leads, and the rest of the network from the cut. Cost of a
 * mask: switches times candidates times the width of the second layer. Memory: features times the
 * width of both.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "net/kernels.h"
#include "net/walk_dense.h"

enum {
    RENEW_BASE = 4,    /* masks between computations of the base by the network itself */
    RENEW_LEADS = 256, /* switches of base units between those of the leads */
    AT_ONCE = 16       /* switches that one product applies */
};

typedef struct {
    sis__dense dense;
    size_t wide; /* outputs rounded up to 16; everything beyond dense.out is zero */
    float *base; /* (wide) pre-activations of the present state */
    float *lead; /* (p, wide) by slot */
} layer;

typedef struct {
    sis_walk walk;
    const sis__subject *s;
    sis__face face;
    sis__ending ending;
    layer first, second;
    int deep;             /* there is a second */
    float *scale;         /* (first.wide) bounds on the terms of its sums */
    unsigned char *still; /* (p) by feature: masking provably changes nothing */
    int *slot_of;         /* (p) */
    int *feature_at;      /* (p) */
    size_t n_live;        /* slots of features that are present */
    size_t since_base, since_leads;
    double margin, size; /* of the present state; see sis__ending_size */
    double least_size;   /* numbers of this size go into sums even if these come out as 0 */
    double unit, most;   /* error to expect for size 1; the largest tolerance so far */
    float *spare;        /* (the wider layer) */
    int *place;          /* (p) by slot: place in the probe, -1: not probed */
    int block[SIS__ENDING_BLOCK]; /* slots of the ending's rows */

    /* Units between the layers. */
    int *on;          /* (first.wide) -1: on in the base, 0: off */
    float *w;         /* (first.wide, second.wide) */
    float *on_packed; /* w packed, rows of units that are off zero */
    size_t n_found;   /* units that the candidate at hand switches, and their new sizes */
    int *found;
    float *sizes;
    float *some_w; /* (AT_ONCE, second.wide) rows of units that switch, and packed */
    float *some_packed;
    float *columns; /* (p, AT_ONCE) */
} dense_walk;

static layer *cut_of(dense_walk *w) {
    return w->deep ? &w->second : &w->first;
}

/* ---- Making the tables ------------------------------------------------------------------------ */

/* Leads on the first layer by feature (its slot, to begin with), and which features are still. */
static int fill_leads(dense_walk *w) {
    const sis__face *f = &w->face;
    layer *l = &w->first;
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

static void fill_weights(dense_walk *w) {
    for (size_t u = 0; w->deep && u < w->first.dense.out; u++)
        sis__dense_row(&w->second.dense, u, w->w + u * w->second.wide);
}

/* ---- Slots --------------------------------------------------------------------------------- */

static void swap_leads(dense_walk *w, layer *l, size_t a, size_t b) {
    float *x = l->lead + a * l->wide, *y = l->lead + b * l->wide;
    memcpy(w->spare, x, l->wide * sizeof *x);
    memcpy(x, y, l->wide * sizeof *x);
    memcpy(y, w->spare, l->wide * sizeof *x);
}

/* Put a feature into the slot `to`; what was there takes its place. */
static void move_feature(dense_walk *w, int feature, size_t to) {
    size_t from = (size_t)w->slot_of[feature];
    int other = w->feature_at[to];
    if (from == to)
        return;
    swap_leads(w, &w->first, from, to);
    if (w->deep)
        swap_leads(w, &w->second, from, to);
    w->slot_of[feature] = (int)to;
    w->feature_at[to] = feature;
    w->slot_of[other] = (int)from;
    w->feature_at[from] = other;
}

/* Features that are present and change something, in front. */
static void sort_slots(dense_walk *w, const unsigned char *masked) {
    w->n_live = 0;
    for (size_t i = 0; i < w->s->n_features; i++)
        if (!masked[i] && !w->still[i])
            move_feature(w, (int)i, w->n_live++);
}

/* ---- Leads on the second layer ----------------------------------------------------------------- */

/* All of them: leads on the first layer, units that are off left out, times w. */
static void renew_leads(dense_walk *w) {
    const sis__kernels *kn = sis__kernels_best();
    const sis__dense *d = &w->second.dense;
    size_t size = sis__packed_size(kn, d->in, d->out);
    memcpy(w->on_packed, d->packed, size * sizeof *w->on_packed);
    for (size_t at = 0; at < size; at += kn->nr)
        if (!w->on[at / kn->nr % d->in])
            memset(w->on_packed + at, 0, kn->nr * sizeof *w->on_packed);
    memset(w->second.lead, 0, w->n_live * w->second.wide * sizeof *w->second.lead);
    kn->gemm(w->n_live, d->out, d->in, w->first.lead, w->first.wide, 1, w->on_packed,
             w->second.lead, w->second.wide);
    w->since_leads = 0;
}

/* n <= AT_ONCE units of the base have switched: `on` says what they are now. */
static void correct_leads(dense_walk *w, const int *units, size_t n) {
    const sis__kernels *kn = sis__kernels_best();
    size_t wide = w->second.wide;
    for (size_t k = 0; k < n; k++) {
        size_t u = (size_t)units[k];
        float sign = w->on[u] ? 1.0f : -1.0f;
        memcpy(w->some_w + k * wide, w->w + u * wide, wide * sizeof *w->w);
        for (size_t i = 0; i < w->n_live; i++)
            w->columns[i * n + k] = sign * w->first.lead[i * w->first.wide + u];
    }
    sis__pack(kn, n, w->second.dense.out, w->some_w, wide, 1, w->some_packed);
    kn->gemm(w->n_live, w->second.dense.out, n, w->columns, n, 1, w->some_packed, w->second.lead,
             wide);
}

/* Switch the units of the base that were found. */
static void switch_units(dense_walk *w) {
    for (size_t k = 0; k < w->n_found; k++)
        w->on[w->found[k]] = ~w->on[w->found[k]];
    w->since_leads += w->n_found;
    if (w->since_leads > RENEW_LEADS) {
        renew_leads(w);
        return;
    }
    for (size_t k = 0; k < w->n_found; k += AT_ONCE)
        correct_leads(w, w->found + k, w->n_found - k < AT_ONCE ? w->n_found - k : AT_ONCE);
}

/* Find the units that differ from `on` where base moves by `lead`. */
static void find_switched(dense_walk *w, const float *lead) {
    w->n_found = sis__kernels_best()->switched(w->first.base, lead, w->on, w->first.wide, w->found,
                                               w->sizes);
}

/* ---- Base ---------------------------------------------------------------------------------- */

/* By the network itself. */
static int renew_base(dense_walk *w) {
    int error = sis__face_run(&w->face, cut_of(w)->dense.to);
    for (layer *l = &w->first; error == SIS_OK && l; l = l == cut_of(w) ? NULL : &w->second)
        memcpy(l->base, w->face.run->data[l->dense.to], l->dense.out * sizeof *l->base);
    w->since_base = 0;
    return error;
}

/* Units whose sign the new base has turned. */
static void settle_units(dense_walk *w) {
    memset(w->spare, 0, w->first.wide * sizeof *w->spare);
    find_switched(w, w->spare);
    switch_units(w);
}

/* How far margins of candidates of the present state may be from full passes. */
static double error_now(const dense_walk *w) {
    return w->unit * (w->least_size + w->size);
}

static void set_margin(dense_walk *w, double margin) {
    w->margin = margin;
    w->size = sis__ending_size(&w->ending, margin);
    w->most = fmax(w->most, error_now(w) / (1 + fabs(margin)));
    w->walk.tolerance = w->most;
}

/* ---- Candidates ---------------------------------------------------------------------------- */

/* What masking the feature in this slot adds at the cut. What it switches has been found. */
static sis__patch patch_of(dense_walk *w, size_t slot) {
    layer *l = cut_of(w);
    sis__patch p = {.a = l->base, .b = l->lead + slot * l->wide};
    if (w->deep) {
        p.rows = w->w;
        p.n_rows = w->n_found;
        p.units = w->found;
        p.sizes = w->sizes;
    }
    return p;
}

/* What stands at the cut with the feature in this slot masked too, but at least `low`. */
static void candidate_row(dense_walk *w, size_t slot, float low, float *row) {
    if (w->deep)
        find_switched(w, w->first.lead + slot * w->first.wide);
    sis__patch p = patch_of(w, slot);
    sis__kernels_best()->patch(&p, low, row, cut_of(w)->wide);
}

/* Does the feature in this slot only reach rectified units that are off before and after, whatever
 * the rounding? */
static int reaches_nothing(const dense_walk *w, size_t slot) {
    const layer *l = &w->first;
    const float *lead = l->lead + slot * l->wide;
    float eps = (float)(w->face.n + 64) * 1.2e-7f;
    if (!w->deep && w->ending.distance != SIS__NEXT)
        return 0;
    for (size_t j = 0; j < l->dense.out; j++)
        if (lead[j] != 0 &&
            fmaxf(l->base[j], l->base[j] + lead[j]) > -eps * (w->scale[j] + fabsf(l->base[j])))
            return 0;
    return 1;
}

/* A margin that happens to equal the present one must not pass for "changes nothing". */
static double told_apart(const dense_walk *w, size_t slot, double margin) {
    if (fabs(margin - w->margin) > error_now(w))
        return margin;
    if (reaches_nothing(w, slot))
        return w->margin;
    return margin == w->margin ? nextafter(margin, INFINITY) : margin;
}

/* Margins of the features in the n slots of the block. */
static int probe_block(dense_walk *w, size_t n, double *margins) {
    double m[SIS__ENDING_BLOCK];
    float low = sis__ending_low(&w->ending);
    for (size_t k = 0; k < n; k++)
        candidate_row(w, (size_t)w->block[k], low, w->ending.rows + k * w->ending.stride);
    int error = sis__ending_margins(&w->ending, n, m);
    for (size_t k = 0; error == SIS_OK && k < n; k++) {
        int *place = &w->place[w->block[k]];
        margins[*place] = told_apart(w, (size_t)w->block[k], m[k]);
        *place = -1;
    }
    return error;
}

/* ---- The walk ------------------------------------------------------------------------------ */

/* The margin of the base by a full pass, and its size. */
static int measure_base(dense_walk *w, double *margin) {
    const float *base = cut_of(w)->base;
    float low = sis__ending_low(&w->ending);
    double rough;
    for (size_t j = 0; j < w->ending.stride; j++)
        w->ending.rows[j] = fmaxf(base[j], low);
    int error = sis__ending_margins(&w->ending, 1, &rough);
    if (error == SIS_OK)
        error = sis__ending_exact(&w->ending, base, margin);
    if (error == SIS_OK)
        set_margin(w, *margin);
    return error;
}

static int dense_reset(sis_walk *walk, const unsigned char *masked, double *margin) {
    dense_walk *w = (dense_walk *)walk;
    sis__face_reset(&w->face, masked);
    sort_slots(w, masked);
    int error = renew_base(w);
    if (error == SIS_OK)
        error = measure_base(w, margin);
    if (error != SIS_OK || !w->deep)
        return error;
    for (size_t j = 0; j < w->first.dense.out; j++)
        w->on[j] = w->first.base[j] > 0 ? -1 : 0;
    renew_leads(w);
    return SIS_OK;
}

/* Slot after slot, so that leads are read in the order they lie in memory. */
static int dense_probe(sis_walk *walk, const int *features, size_t n, double *margins) {
    dense_walk *w = (dense_walk *)walk;
    size_t waiting = 0, left = 0;
    double least = fabs(w->margin);
    int error = SIS_OK;
    for (size_t i = 0; i < n; i++) {
        margins[i] = w->margin;
        if (w->still[features[i]])
            continue;
        w->place[w->slot_of[features[i]]] = (int)i;
        left++;
    }
    for (int slot = 0; left && error == SIS_OK; slot++) {
        if (w->place[slot] < 0)
            continue;
        w->block[waiting++] = slot;
        if (--left && waiting < SIS__ENDING_BLOCK)
            continue;
        error = probe_block(w, waiting, margins);
        waiting = 0;
    }
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        least = fmin(least, fabs(margins[i]));
    w->walk.tolerance = error_now(w) / (1 + least);
    return error;
}

/* The base takes in the feature in this slot. */
static int take_in(dense_walk *w, size_t slot) {
    const sis__kernels *kn = sis__kernels_best();
    candidate_row(w, slot, -INFINITY, cut_of(w)->base);
    if (w->deep) {
        sis__patch p = {.a = w->first.base, .b = w->first.lead + slot * w->first.wide};
        kn->patch(&p, -INFINITY, w->first.base, w->first.wide);
    }
    move_feature(w, w->feature_at[slot], --w->n_live);
    if (w->deep)
        switch_units(w);
    if (++w->since_base < RENEW_BASE)
        return SIS_OK;
    int error = renew_base(w);
    if (error == SIS_OK && w->deep)
        settle_units(w);
    return error;
}

static int dense_mask(sis_walk *walk, int feature, double *margin) {
    dense_walk *w = (dense_walk *)walk;
    int error = dense_probe(walk, &feature, 1, margin);
    if (error != SIS_OK)
        return error;
    set_margin(w, *margin);
    sis__face_mask(&w->face, feature);
    return w->still[feature] ? SIS_OK : take_in(w, (size_t)w->slot_of[feature]);
}

static void layer_release(layer *l) {
    free(l->base);
    free(l->lead);
}

static void dense_free(sis_walk *walk) {
    dense_walk *w = (dense_walk *)walk;
    sis__ending_release(&w->ending);
    sis__face_release(&w->face);
    layer_release(&w->first);
    layer_release(&w->second);
    free(w->scale);
    free(w->still);
    free(w->slot_of);
    free(w->feature_at);
    free(w->spare);
    free(w->place);
    free(w->on);
    free(w->w);
    free(w->on_packed);
    free(w->found);
    free(w->sizes);
    free(w->some_w);
    free(w->some_packed);
    free(w->columns);
    free(w);
}

/* ---- Tolerance ----------------------------------------------------------------------------- */

/* The margin with one more feature masked, by a full pass. */
static int exact_with(dense_walk *w, int feature, double *margin) {
    const sis__subject *s = w->s;
    int cut = cut_of(w)->dense.to;
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
static int errors_init(const dense_walk *w, errors *e) {
    size_t n = (size_t)(4e6 / (w->face.plan->flops + 2e3));
    n = n < 64 ? 64 : n > 1024 ? 1024 : n;
    *e = (errors){.states = n < 256 ? 4 : 16};
    e->trials = n / e->states;
    e->error = SIS_NEW(double, n);
    e->size = SIS_NEW(double, n);
    return e->error && e->size ? SIS_OK : SIS_E_NOMEM;
}

/* Errors of random candidates of the present state. */
static int errors_here(dense_walk *w, sis__rng *r, errors *e) {
    for (size_t k = 0; k < e->trials && w->n_live; k++) {
        int i = w->feature_at[sis__rng_below(r, w->n_live)];
        double probed, exact;
        int error = dense_probe(&w->walk, &i, 1, &probed);
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
static int measure(dense_walk *w, errors *e) {
    sis__rng r;
    unsigned char *masked = SIS_NEW(unsigned char, w->s->n_features);
    int error = masked ? errors_init(w, e) : SIS_E_NOMEM;
    sis__rng_init(&r, 0xD5);
    for (size_t state = 0; state < e->states && error == SIS_OK; state++) {
        double margin, share = (double)state / (double)e->states;
        for (size_t i = 0; i < w->s->n_features; i++)
            masked[i] = sis__rng_uniform(&r) < share;
        error = dense_reset(&w->walk, masked, &margin);
        for (int k = 0; k < 3 && w->n_live > 1 && error == SIS_OK; k++)
            error = dense_mask(&w->walk, w->feature_at[sis__rng_below(&r, w->n_live)], &margin);
        if (error == SIS_OK)
            error = errors_here(w, &r, e);
    }
    free(masked);
    return error;
}

/* Twenty times the typical error, at least four times the worst of those seen. Not less than a few
 * units in the last place either, and more with few features, where errors are rare and coarse. */
static void choose_unit(dense_walk *w, const errors *e) {
    double squares = 0, worst = 0, least = 5e-7 * (1 + 256.0 / (double)w->s->n_features);
    w->least_size = 1;
    for (size_t k = 0; k < e->n; k++)
        w->least_size = fmax(w->least_size, e->size[k] / 2);
    for (size_t k = 0; k < e->n; k++) {
        double off = e->error[k] / (w->least_size + e->size[k]);
        worst = fmax(worst, off);
        squares += off * off;
    }
    w->unit = fmax(20 * sqrt(squares / (double)(e->n ? e->n : 1)), fmax(4 * worst, least));
    w->most = w->walk.tolerance = w->unit * w->least_size;
}

static int set_tolerance(dense_walk *w) {
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

static int find_layers(dense_walk *w) {
    const sis__plan *p = w->face.plan;
    sis__dense *a = &w->first.dense, *b = &w->second.dense;
    if (!sis__dense_at(p, w->face.tensor, a) || a->in != w->face.n)
        return SIS_E_UNSUPPORTED;
    int on = sis__dense_rectified(p, a->to);
    w->deep = on >= 0 && sis__dense_at(p, on, b) && b->in == a->out &&
              sis__ending_distance(&w->face, a) == SIS__FAR;
    w->first.wide = round_up(a->out);
    w->second.wide = w->deep ? round_up(b->out) : 0;
    double floats = (double)w->s->n_features * (double)(w->first.wide + w->second.wide + AT_ONCE);
    return floats * sizeof(float) < (double)w->s->memory ? SIS_OK : SIS_E_UNSUPPORTED;
}

static int allocate_layer(layer *l, size_t features) {
    l->base = SIS_NEW(float, l->wide);
    l->lead = SIS_NEW(float, features * l->wide);
    return l->base && l->lead ? SIS_OK : SIS_E_NOMEM;
}

static int allocate_units(dense_walk *w) {
    const sis__kernels *kn = sis__kernels_best();
    size_t n = w->first.wide, wide = w->second.wide, out = w->second.dense.out;
    w->on = SIS_NEW(int, n);
    w->w = SIS_NEW(float, n *wide);
    w->on_packed = SIS_NEW_RAW(float, sis__packed_size(kn, w->second.dense.in, out));
    w->found = SIS_NEW_RAW(int, n);
    w->sizes = SIS_NEW_RAW(float, n);
    w->some_w = SIS_NEW_RAW(float, AT_ONCE *wide);
    w->some_packed = SIS_NEW_RAW(float, sis__packed_size(kn, AT_ONCE, out));
    w->columns = SIS_NEW_RAW(float, w->s->n_features *AT_ONCE);
    return w->on && w->w && w->on_packed && w->found && w->sizes && w->some_w && w->some_packed &&
                   w->columns
               ? SIS_OK
               : SIS_E_NOMEM;
}

static int allocate(dense_walk *w) {
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

static void note_layer(const dense_walk *w, const sis__dense *l, const char *text) {
    sis__subject_note(w->s, l->product, "%s", text);
    if (l->add)
        sis__subject_note(w->s, l->add, "%s", text);
}

static int dense_init(dense_walk *w) {
    int error = sis__face_init(&w->face, w->s);
    if (error == SIS_OK)
        error = find_layers(w);
    if (error == SIS_OK)
        error = sis__ending_init(&w->ending, &w->face, &cut_of(w)->dense);
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
    static const sis_walk_ops ops = {dense_reset, dense_probe, dense_mask, dense_free};
    *out = NULL;
    dense_walk *w = SIS_NEW(dense_walk, 1);
    if (!w)
        return SIS_E_NOMEM;
    w->walk.ops = &ops;
    w->s = s;
    int error = dense_init(w);
    if (error != SIS_OK) {
        dense_free(&w->walk);
        return error;
    }
    *out = &w->walk;
    return SIS_OK;
}
