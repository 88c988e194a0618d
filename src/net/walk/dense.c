/* SPDX-License-Identifier: MIT
 *
 * Networks that begin with a dense layer on the input: linear models and perceptrons.
 *
 * Masking feature i adds one vector to the first layer's pre-activations, the same at every step of
 * a walk: the sum of its columns of weights, each times (mask - value). This is the candidate's
 * *lead* on the layer. Where the scores are near (see sis__ending), or no rectified units follow,
 * that is all: the rest of the network runs on base + lead.
 *
 * With rectified units and a second dense layer, a candidate moves the second layer's
 * pre-activations by the sum over units that are on in the base of the unit's row of weights times
 * its lead there, as long as no unit switches. This lead on the second layer is kept. With switches
 *
 *     pre-activations = base + lead + sum over units u it switches of |u's new value| * row of u
 *
 * because a unit that goes off takes back the negative value its lead assumed, and one that comes
 * on adds its positive one. A candidate switches few units; they are found by comparing signs. When
 * a feature is masked for good and units of the base switch, leads are corrected by as many
 * rank-one updates.
 *
 * Features live in *slots*, those that are present first, so that leads of all candidates are a
 * matrix without gaps.
 *
 * Rounding: the base is computed anew by the network itself every few masks, leads after many
 * switches. What is left is the noise of full passes in single precision, which is measured when
 * the walk is made (dense_new.c).
 *
 * Cost of a probe: two passes over the leads, and the rest of the network from the cut. Cost of a
 * mask: switches times candidates times the width of the second layer. Memory: features times the
 * width of both.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/kernels/kernels.h"
#include "net/walk/dense.h"

enum {
    RENEW_BASE = 4,   /* masks between computations of the base by the network itself */
    RENEW_LEADS = 256 /* switches of base units between those of the leads */
};

/* ---- Slots --------------------------------------------------------------------------------- */

static void swap_leads(sis__dense_walk *w, sis__dense_layer *l, size_t a, size_t b) {
    float *x = l->lead + a * l->wide, *y = l->lead + b * l->wide;
    memcpy(w->spare, x, l->wide * sizeof *x);
    memcpy(x, y, l->wide * sizeof *x);
    memcpy(y, w->spare, l->wide * sizeof *x);
}

/* Put a feature into the slot `to`; what was there takes its place. */
static void move_feature(sis__dense_walk *w, int feature, size_t to) {
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
static void sort_slots(sis__dense_walk *w, const unsigned char *masked) {
    w->n_live = 0;
    for (size_t i = 0; i < w->s->n_features; i++)
        if (!masked[i] && !w->still[i])
            move_feature(w, (int)i, w->n_live++);
}

/* ---- Leads on the second layer --------------------------------------------------------------- */

/* All of them: leads on the first layer, units that are off left out, times w. */
static void renew_leads(sis__dense_walk *w) {
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

/* n <= SIS__SWITCH_AT_ONCE units of the base have switched: `on` says what they are now. */
static void correct_leads(sis__dense_walk *w, const int *units, size_t n) {
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
static void switch_units(sis__dense_walk *w) {
    for (size_t k = 0; k < w->n_found; k++)
        w->on[w->found[k]] = ~w->on[w->found[k]];
    w->since_leads += w->n_found;
    if (w->since_leads > RENEW_LEADS) {
        renew_leads(w);
        return;
    }
    for (size_t k = 0; k < w->n_found; k += SIS__SWITCH_AT_ONCE)
        correct_leads(w, w->found + k,
                      w->n_found - k < SIS__SWITCH_AT_ONCE ? w->n_found - k : SIS__SWITCH_AT_ONCE);
}

/* Find the units that differ from `on` where base moves by `lead`. */
static void find_switched(sis__dense_walk *w, const float *lead) {
    w->n_found = sis__kernels_best()->switched(w->first.base, lead, w->on, w->first.wide, w->found,
                                               w->sizes);
}

/* ---- Base ---------------------------------------------------------------------------------- */

/* By the network itself. */
static int renew_base(sis__dense_walk *w) {
    int error = sis__face_run(&w->face, sis__dense_cut(w)->dense.to);
    for (sis__dense_layer *l = &w->first; error == SIS_OK && l;
         l = l == sis__dense_cut(w) ? NULL : &w->second)
        memcpy(l->base, w->face.run->data[l->dense.to], l->dense.out * sizeof *l->base);
    w->since_base = 0;
    return error;
}

/* Units whose sign the new base has turned. */
static void settle_units(sis__dense_walk *w) {
    memset(w->spare, 0, w->first.wide * sizeof *w->spare);
    find_switched(w, w->spare);
    switch_units(w);
}

/* How far margins of candidates of the present state may be from full passes. */
static double error_now(const sis__dense_walk *w) {
    return w->unit * (w->least_size + w->size);
}

static void set_margin(sis__dense_walk *w, double margin) {
    w->margin = margin;
    w->size = sis__ending_size(&w->ending, margin);
    w->most = fmax(w->most, error_now(w) / (1 + fabs(margin)));
    w->walk.tolerance = w->most;
}

/* ---- Candidates ---------------------------------------------------------------------------- */

/* What masking the feature in this slot adds at the cut. What it switches has been found. */
static sis__patch patch_of(sis__dense_walk *w, size_t slot) {
    sis__dense_layer *l = sis__dense_cut(w);
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
static void candidate_row(sis__dense_walk *w, size_t slot, float low, float *row) {
    if (w->deep)
        find_switched(w, w->first.lead + slot * w->first.wide);
    sis__patch p = patch_of(w, slot);
    sis__kernels_best()->patch(&p, low, row, sis__dense_cut(w)->wide);
}

/* Does the feature in this slot only reach rectified units that are off before and after, whatever
 * the rounding? */
static int reaches_nothing(const sis__dense_walk *w, size_t slot) {
    const sis__dense_layer *l = &w->first;
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
static double told_apart(const sis__dense_walk *w, size_t slot, double margin) {
    if (fabs(margin - w->margin) > error_now(w))
        return margin;
    if (reaches_nothing(w, slot))
        return w->margin;
    return margin == w->margin ? nextafter(margin, INFINITY) : margin;
}

/* Margins of the features in the n slots of the block. */
static int probe_block(sis__dense_walk *w, size_t n, double *margins) {
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
static int measure_base(sis__dense_walk *w, double *margin) {
    const float *base = sis__dense_cut(w)->base;
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
    sis__dense_walk *w = (sis__dense_walk *)walk;
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
    sis__dense_walk *w = (sis__dense_walk *)walk;
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
static int take_in(sis__dense_walk *w, size_t slot) {
    const sis__kernels *kn = sis__kernels_best();
    candidate_row(w, slot, -INFINITY, sis__dense_cut(w)->base);
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
    sis__dense_walk *w = (sis__dense_walk *)walk;
    int error = dense_probe(walk, &feature, 1, margin);
    if (error != SIS_OK)
        return error;
    set_margin(w, *margin);
    sis__face_mask(&w->face, feature);
    return w->still[feature] ? SIS_OK : take_in(w, (size_t)w->slot_of[feature]);
}

static void layer_release(sis__dense_layer *l) {
    free(l->base);
    free(l->lead);
}

static void dense_free(sis_walk *walk) {
    sis__dense_walk *w = (sis__dense_walk *)walk;
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

const sis_walk_ops sis__dense_ops = {dense_reset, dense_probe, dense_mask, dense_free};
