/* SPDX-License-Identifier: MIT
 *
 * Walks over networks that begin with a dense layer: linear models and perceptrons.
 *
 * Masking feature i adds one vector to the first layer's pre-activations, the same at every step of
 * a walk: the sum of its columns of weights, each times (mask - value). This is the candidate's
 * *effect* on the layer. If at most one layer with few outputs follows (see margins_tail), or no
 * Relu follows, that is all: the rest of the network runs on base + effect.
 *
 * With a Relu and a second dense layer, a candidate changes the second layer's pre-activations by
 * the sum, over the units that are on (positive) in the base, of the unit's row of weights times
 * its effect, as long as no unit switches between on and off. This effect on the second layer is
 * kept. With switches
 *
 *     pre-activations = base + effect + sum over units u it switches of |u's new value| * row of u
 *
 * because a unit that goes off removes the negative value that its effect assumed, and one that
 * goes on adds its positive value. A candidate switches few units; they are found by comparing
 * signs. When a feature is masked for good and units of the base switch, effects get one rank-one
 * update per switch.
 *
 * Features are kept in *slots*, present ones first, so that the effects of all candidates form a
 * matrix without gaps.
 *
 * Rounding: every few masks, the base is recomputed by a pass of the network, and after many
 * switches, so are the effects. What remains is the rounding error of single precision, which the
 * driver measures.
 *
 * Cost of a probe: two passes over the effects, and the head. Cost of a mask: switches times
 * candidates times the width of the second layer. Memory: features times both widths.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/kernels/kernels.h"
#include "net/ops/ops.h"
#include "net/walk/entry.h"

enum {
    RENEW_BASE = 4,     /* masks between two recomputations of the base */
    RENEW_EFFECTS = 256 /* switches of base units between two recomputations of the effects */
};

/* ---- Layers -------------------------------------------------------------------------------- */

/* y (1, out) = x (1, in) . w (in, out) + bias: Gemm, or MatMul with or without Add. */
typedef struct {
    size_t in, out;
    const float *packed;            /* w packed for the kernel */
    int from, to;                   /* tensors: x, and y with its bias */
    const sis__step *product, *add; /* add: NULL if there is no Add */
} dense_layer;

static int is_constant(const sis__plan *p, int tensor) {
    return tensor < 0 || p->tensors[tensor].data != NULL;
}

static int adds_constant(const sis__plan *p, const sis__step *s, int tensor) {
    return s->op == SIS__OP_ADD && p->tensors[s->outputs[0]].count == p->tensors[tensor].count &&
           is_constant(p, s->inputs[s->inputs[0] == tensor]);
}

/* The dense layer that reads a tensor; 0 if another step reads it. */
static int layer_at(const sis__plan *p, int tensor, dense_layer *layer) {
    const sis__step *s = sis__plan_reader(p, tensor);
    if (!s || !sis__is(s, SIS__DENSE) || s->inputs[0] != tensor)
        return 0;
    const sis__gemm *g = &s->p.gemm;
    if (!g->packed || g->m != 1 || g->over.rank || p->tensors[tensor].dtype != SIS__F32 ||
        (s->n_inputs > 2 && !is_constant(p, s->inputs[2])))
        return 0;
    *layer =
        (dense_layer){.in = g->k, .out = g->n, .packed = g->packed, .from = tensor, .product = s};
    layer->to = s->outputs[0];
    const sis__step *add = sis__plan_reader(p, layer->to);
    if (add && adds_constant(p, add, layer->to)) {
        layer->add = add;
        layer->to = add->outputs[0];
    }
    return 1;
}

/* The result of the Relu that reads a tensor, possibly through steps that keep values; -1 if
 * another step reads it. */
static int rectified_by(const sis__plan *p, int tensor) {
    const sis__step *s = sis__plan_reader(p, tensor);
    if (!s || !sis__is(s, SIS__RECTIFIER))
        return -1;
    for (;;) {
        tensor = s->outputs[0];
        s = sis__plan_reader(p, tensor);
        if (!s || s->ops->trait != SIS__KEEPS)
            return tensor;
    }
}

/* Copy row i of w to row (out). */
static void weights_of(const dense_layer *layer, size_t i, float *row) {
    size_t nr = sis__kernels_best()->nr;
    for (size_t j = 0; j < layer->out; j++)
        row[j] = layer->packed[(j / nr * layer->in + i) * nr + j % nr];
}

/* Each part is the step's result for zeros. */
static int find_bias(const dense_layer *layer, sis__run *r, float *start, float *added) {
    size_t bytes = layer->out * sizeof *start;
    memset(r->data[layer->from], 0, layer->in * sizeof *start);
    int error = layer->product->ops->forward(layer->product, r), sum = layer->product->outputs[0];
    memcpy(start, r->data[sum], bytes);
    memset(added, 0, bytes);
    if (error || !layer->add)
        return error;
    memset(r->data[sum], 0, bytes);
    error = layer->add->ops->forward(layer->add, r);
    memcpy(added, r->data[layer->to], bytes);
    return error;
}

/* ---- From the cut to margins ----------------------------------------------------------------- */

/* In most networks the scores are close to the cut and cost less here than in the head: a product
 * with few columns needs no packing, and log-odds are computed in single precision for sixteen rows
 * at a time. The product adds in the order of a full pass. Its inputs differ from a full pass only
 * in the last digits, so most of its sums round the same way; the remaining difference comes from
 * the layers before it.
 *
 * Rows at the cut are the input of the last activation (AT_OUTPUT), or a Relu and a dense layer
 * before it (ONE_LAYER), or further away (DEEP: the head is used). The first two need at most
 * NARROW outputs. */
typedef enum { AT_OUTPUT, ONE_LAYER, DEEP } distance;

enum {
    LANES = 16,
    NARROW = 16,
    BLOCK = 48 /* rows at a time, a multiple of 16 */
};

typedef struct {
    distance far;         /* distance from the cut to the scores */
    sis__head *head;      /* exact; used for all three */
    size_t width;         /* of a row at the cut */
    size_t stride;        /* of rows in memory: width rounded up to 16, padded with zeros */
    size_t outputs;       /* of the network */
    size_t which;         /* index of the explained output */
    int softmax;          /* the margin is log-odds; else the output itself */
    float *w;             /* ONE_LAYER: (stride, 16) */
    float *start, *added; /* (16) its bias */
    float *z;             /* (block, 16) */
    float *turned;        /* (16, 16) */
} margins_tail;

/* The layer after the Relu, if it is the last and has few outputs. */
static int scores_next(const sis__entry *f, const dense_layer *cut, dense_layer *next) {
    int on = rectified_by(f->plan, cut->to);
    return on >= 0 && layer_at(f->plan, on, next) && next->in == cut->out &&
           next->to == f->s->net->pre_output;
}

/* The distance from a layer's output to the scores. */
static distance distance_from(const sis__entry *f, const dense_layer *cut) {
    dense_layer next;
    const sis_net *net = f->s->net;
    size_t outputs = f->plan->tensors[net->pre_output].count;
    if (outputs > NARROW || (sis__net_softmax(net) && outputs < 2))
        return DEEP;
    return cut->to == net->pre_output ? AT_OUTPUT : scores_next(f, cut, &next) ? ONE_LAYER : DEEP;
}

static int take_layer(margins_tail *e, sis__arena *memory, sis__entry *f, const dense_layer *cut) {
    dense_layer next;
    float row[NARROW];
    scores_next(f, cut, &next);
    e->w = SIS_ARENA(memory, float, e->stride *LANES);
    if (!e->w)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < next.in; i++) {
        weights_of(&next, i, row);
        memcpy(e->w + i * LANES, row, next.out * sizeof *row);
    }
    return find_bias(&next, f->run, e->start, e->added);
}

static int tail_init(margins_tail *e, sis__rule_instance *r, sis__entry *f,
                     const dense_layer *cut) {
    *e = (margins_tail){
        .width = cut->out, .stride = (cut->out + LANES - 1) / LANES * LANES, .which = f->s->output};
    e->far = distance_from(f, cut);
    e->outputs = f->plan->tensors[f->s->net->pre_output].count;
    e->softmax = sis__net_softmax(f->s->net);
    e->z = SIS_ARENA(&r->memory, float, BLOCK *LANES);
    e->turned = SIS_ARENA(&r->memory, float, LANES *LANES);
    e->start = SIS_ARENA(&r->memory, float, LANES);
    e->added = SIS_ARENA(&r->memory, float, LANES);
    int error = sis__arena_error(&r->memory);
    if (!error)
        error = sis__head_new(
            f->s,
            &(sis__head_spec){.cuts = &(sis__cut){cut->to, &f->plan->tensors[cut->to]},
                              .n_cuts = 1},
            &r->head);
    e->head = r->head;
    if (!error && e->far == ONE_LAYER)
        error = take_layer(e, &r->memory, f, cut);
    return error;
}

/* Lower bound of values in rows: ONE_LAYER needs them after the Relu. */
static float tail_low(const margins_tail *e) {
    return e->far == ONE_LAYER ? 0.0f : -INFINITY;
}

/* Log-odds of 16 rows z (16, 16). */
static void log_odds(margins_tail *e, const float *z, double *margins) {
    float top[LANES], own[LANES], sum[LANES] = {0}, *other = e->turned;
    for (size_t i = 0; i < LANES; i++) {
        own[i] = z[i * LANES + e->which];
        top[i] = -INFINITY;
    }
    for (size_t j = 0; j < e->outputs; j++) {
        if (j == e->which)
            continue;
        for (size_t i = 0; i < LANES; i++) {
            other[i] = z[i * LANES + j];
            top[i] = other[i] > top[i] ? other[i] : top[i];
        }
        other += LANES;
    }
    for (float *at = e->turned; at < other; at += LANES)
        for (size_t i = 0; i < LANES; i++)
            at[i] -= top[i];
    sis__kernels_best()->exp(e->turned, e->turned, (e->outputs - 1) * LANES);
    for (float *at = e->turned; at < other; at += LANES)
        for (size_t i = 0; i < LANES; i++)
            sum[i] += at[i];
    for (size_t i = 0; i < LANES; i++)
        margins[i] = (double)own[i] - (double)top[i] - log((double)sum[i]);
}

/* z = outputs of the last layer for these rows. */
static void run_layer(margins_tail *e, const float *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        memcpy(e->z + i * LANES, e->start, LANES * sizeof *e->z);
    sis__kernels_best()->narrow(n, e->stride, rows, e->w, e->z);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < LANES; j++)
            e->z[i * LANES + j] += e->added[j];
}

/* Margins by the head, from rows without padding. */
static int far_margins(margins_tail *e, float *rows, size_t n, double *margins) {
    if (e->stride != e->width)
        for (size_t i = 1; i < n; i++)
            memmove(rows + i * e->width, rows + i * e->stride, e->width * sizeof *rows);
    return sis__head_margins_rows(e->head, rows, n, margins);
}

/* Margins of n rows. Unless the distance is DEEP, their pre-activations are in e->z afterwards. */
static int tail_margins(margins_tail *e, float *rows, size_t n, double *margins) {
    if (e->far == DEEP)
        return far_margins(e, rows, n, margins);
    if (e->far == ONE_LAYER)
        run_layer(e, rows, n);
    else
        memcpy(e->z, rows, n * LANES * sizeof *e->z);
    for (size_t i = 0; i < n; i += LANES) {
        double some[LANES];
        if (e->softmax)
            log_odds(e, e->z + i * LANES, some);
        for (size_t k = 0; k < LANES && i + k < n; k++)
            margins[i + k] = e->softmax ? some[k] : (double)e->z[(i + k) * LANES + e->which];
    }
    return SIS_OK;
}

/* The size of the numbers whose rounding affects the first of those margins. */
static double tail_size(const margins_tail *e, double margin) {
    double size = fabs(margin);
    if (e->far == DEEP)
        return fmax(size, sis__head_size(e->head));
    for (size_t j = 0; j < e->outputs; j++)
        size = fmax(size, fabs((double)e->z[j]));
    return size;
}

/* ---- The walk -------------------------------------------------------------------------------- */

enum { AT_ONCE = 16 }; /* switches per product */

typedef struct {
    dense_layer dense;
    size_t wide;   /* outputs rounded up to 16; zero beyond dense.out */
    float *base;   /* (wide) pre-activations of the current state */
    float *effect; /* (p, wide) by slot */
} kept_layer;

typedef struct {
    sis__rule_instance instance;
    const sis__net_input *s;
    sis__entry *entry;
    margins_tail tail;
    kept_layer first, second;
    int deep;             /* there is a second layer */
    float *scale;         /* (first.wide) bounds on the terms of its sums */
    unsigned char *still; /* (p) by feature: masking provably changes nothing */
    int *slot_of;         /* (p) */
    int *feature_at;      /* (p) */
    size_t n_live;        /* slots of present features */
    size_t since_base, since_effects;
    double max_through; /* upper bound of the length of all effects on a unit times its outgoing
                          * weight */
    float *spare;       /* (the wider layer) */

    /* Units between the layers. */
    int *on;          /* (first.wide) -1: on in the base, 0: off */
    float *w;         /* (first.wide, second.wide) */
    float *on_packed; /* packed w with rows of units that are off set to zero */
    size_t n_found;   /* units that the current candidate switches, and their new sizes */
    int *found;
    float *sizes;
    float *some_w; /* (AT_ONCE, second.wide) rows of switching units, also packed */
    float *some_packed;
    float *columns; /* (p, AT_ONCE) */
} dense_walk;

/* The last layer with effects. */
static kept_layer *cut_of(dense_walk *w) {
    return w->deep ? &w->second : &w->first;
}

/* ---- Slots --------------------------------------------------------------------------------- */

static void swap_effects(dense_walk *w, kept_layer *l, size_t a, size_t b) {
    float *x = l->effect + a * l->wide, *y = l->effect + b * l->wide;
    memcpy(w->spare, x, l->wide * sizeof *x);
    memcpy(x, y, l->wide * sizeof *x);
    memcpy(y, w->spare, l->wide * sizeof *x);
}

/* Move a feature to slot `to`, swapping with the one there. */
static void move_feature(dense_walk *w, int feature, size_t to) {
    size_t from = (size_t)w->slot_of[feature];
    int other = w->feature_at[to];
    if (from == to)
        return;
    swap_effects(w, &w->first, from, to);
    if (w->deep)
        swap_effects(w, &w->second, from, to);
    w->slot_of[feature] = (int)to;
    w->feature_at[to] = feature;
    w->slot_of[other] = (int)from;
    w->feature_at[from] = other;
}

/* Sort features that are present and change something to the front. */
static void sort_slots(dense_walk *w, const unsigned char *masked) {
    w->n_live = 0;
    for (size_t i = 0; i < w->s->in.n; i++)
        if (!masked[i] && !w->still[i])
            move_feature(w, (int)i, w->n_live++);
}

/* ---- Effects on the second layer ------------------------------------------------------------- */

/* Recompute all effects: effects on the first layer, without units that are off, times w. */
static void renew_effects(dense_walk *w) {
    const sis__kernels *kn = sis__kernels_best();
    const dense_layer *d = &w->second.dense;
    size_t size = sis__packed_size(kn, d->in, d->out);
    memcpy(w->on_packed, d->packed, size * sizeof *w->on_packed);
    for (size_t at = 0; at < size; at += kn->nr)
        if (!w->on[at / kn->nr % d->in])
            memset(w->on_packed + at, 0, kn->nr * sizeof *w->on_packed);
    memset(w->second.effect, 0, w->n_live * w->second.wide * sizeof *w->second.effect);
    kn->gemm(w->n_live, d->out, d->in, w->first.effect, w->first.wide, 1, w->on_packed,
             w->second.effect, w->second.wide);
    w->since_effects = 0;
}

/* n <= AT_ONCE units of the base have switched: `on` holds their new state. */
static void correct_effects(dense_walk *w, const int *units, size_t n) {
    const sis__kernels *kn = sis__kernels_best();
    size_t wide = w->second.wide;
    for (size_t k = 0; k < n; k++) {
        size_t u = (size_t)units[k];
        float sign = w->on[u] ? 1.0f : -1.0f;
        memcpy(w->some_w + k * wide, w->w + u * wide, wide * sizeof *w->w);
        for (size_t i = 0; i < w->n_live; i++)
            w->columns[i * n + k] = sign * w->first.effect[i * w->first.wide + u];
    }
    sis__pack(kn, n, w->second.dense.out, w->some_w, wide, 1, w->some_packed);
    kn->gemm(w->n_live, w->second.dense.out, n, w->columns, n, 1, w->some_packed, w->second.effect,
             wide);
}

/* Switch the units of the base that were found. */
static void switch_units(dense_walk *w) {
    for (size_t k = 0; k < w->n_found; k++)
        w->on[w->found[k]] = ~w->on[w->found[k]];
    w->since_effects += w->n_found;
    if (w->since_effects > RENEW_EFFECTS) {
        renew_effects(w);
        return;
    }
    for (size_t k = 0; k < w->n_found; k += AT_ONCE)
        correct_effects(w, w->found + k, w->n_found - k < AT_ONCE ? w->n_found - k : AT_ONCE);
}

/* Find the units that differ from `on` if the base changes by `effect`. */
static void find_switched(dense_walk *w, const float *effect) {
    w->n_found = sis__kernels_best()->switched(w->first.base, effect, w->on, w->first.wide,
                                               w->found, w->sizes);
}

/* ---- Base ---------------------------------------------------------------------------------- */

/* Recompute the base with the network itself. */
static int renew_base(dense_walk *w) {
    int error = sis__entry_run(w->entry, cut_of(w)->dense.to);
    for (kept_layer *l = &w->first; !error && l; l = l == cut_of(w) ? NULL : &w->second)
        memcpy(l->base, w->entry->run->data[l->dense.to], l->dense.out * sizeof *l->base);
    w->since_base = 0;
    return error;
}

/* Switch the units whose sign changed in the new base. */
static void switch_changed_units(dense_walk *w) {
    memset(w->spare, 0, w->first.wide * sizeof *w->spare);
    find_switched(w, w->spare);
    switch_units(w);
}

/* ---- Candidates ---------------------------------------------------------------------------- */

/* The change at the cut if the feature in this slot is masked. The switched units have been
 * found. */
static sis__patch patch_of(dense_walk *w, size_t slot) {
    kept_layer *l = cut_of(w);
    sis__patch p = {.a = l->base, .b = l->effect + slot * l->wide};
    if (w->deep) {
        p.rows = w->w;
        p.n_rows = w->n_found;
        p.units = w->found;
        p.sizes = w->sizes;
    }
    return p;
}

/* The values at the cut with the feature in this slot masked too, but at least `low`. */
static void candidate_row(dense_walk *w, size_t slot, float low, float *row) {
    if (w->deep)
        find_switched(w, w->first.effect + slot * w->first.wide);
    sis__patch p = patch_of(w, slot);
    sis__kernels_best()->patch(&p, low, row, cut_of(w)->wide);
}

static sis__change dense_row(sis__rule_instance *r, int feature, float *row) {
    dense_walk *w = (dense_walk *)r;
    float low = tail_low(&w->tail);
    if (feature >= 0 && w->still[feature])
        return SIS__NOTHING;
    if (feature >= 0)
        candidate_row(w, (size_t)w->slot_of[feature], low, row);
    for (size_t j = 0; feature < 0 && j < w->tail.stride; j++)
        row[j] = fmaxf(cut_of(w)->base[j], low);
    return SIS__CHANGED;
}

/* Does it only affect Relu units that are off before and after, whatever the rounding? */
static int dense_idle(const sis__rule_instance *r, int feature) {
    const dense_walk *w = (const dense_walk *)r;
    const kept_layer *l = &w->first;
    const float *effect = l->effect + (size_t)w->slot_of[feature] * l->wide;
    float eps = (float)(w->entry->n + 64) * 1.2e-7f;
    if (!w->deep && w->tail.far != ONE_LAYER)
        return 0;
    for (size_t j = 0; j < l->dense.out; j++)
        if (effect[j] != 0 &&
            fmaxf(l->base[j], l->base[j] + effect[j]) > -eps * (w->scale[j] + fabsf(l->base[j])))
            return 0;
    return 1;
}

/* Add the effect of the feature in this slot to the base. */
static int take_in(dense_walk *w, size_t slot) {
    const sis__kernels *kn = sis__kernels_best();
    candidate_row(w, slot, -INFINITY, cut_of(w)->base);
    if (w->deep) {
        sis__patch p = {.a = w->first.base, .b = w->first.effect + slot * w->first.wide};
        kn->patch(&p, -INFINITY, w->first.base, w->first.wide);
    }
    move_feature(w, w->feature_at[slot], --w->n_live);
    if (w->deep)
        switch_units(w);
    if (++w->since_base < RENEW_BASE)
        return SIS_OK;
    int error = renew_base(w);
    if (!error && w->deep)
        switch_changed_units(w);
    return error;
}

static int dense_mask(sis__rule_instance *r, int feature) {
    dense_walk *w = (dense_walk *)r;
    sis__entry_mask(w->entry, feature);
    return w->still[feature] ? SIS_OK : take_in(w, (size_t)w->slot_of[feature]);
}

static int dense_reset(sis__rule_instance *r, const unsigned char *masked) {
    dense_walk *w = (dense_walk *)r;
    sis__entry_reset(w->entry, masked);
    sort_slots(w, masked);
    int error = renew_base(w);
    if (error || !w->deep)
        return error;
    for (size_t j = 0; j < w->first.dense.out; j++)
        w->on[j] = w->first.base[j] > 0 ? -1 : 0;
    renew_effects(w);
    return SIS_OK;
}

static int dense_margins(sis__rule_instance *r, const int *features, float *rows, size_t n,
                         double *margins) {
    (void)features;
    return tail_margins(&((dense_walk *)r)->tail, rows, n, margins);
}

/* Includes numbers of other states: a unit that went on and off leaves its rounding error in the
 * effects, and a unit that a candidate switches on may exceed everything in the current state. */
static double dense_size(const sis__rule_instance *r, double margin) {
    const dense_walk *w = (const dense_walk *)r;
    return fmax(w->max_through, tail_size(&w->tail, margin));
}

/* ---- Making the tables ----------------------------------------------------------------------- */

/* A unit that a feature reaches has an effect, even if the feature's values cancel: full passes may
 * round them differently, so this does not prove that nothing changes. */
static void add_effect(float *effect, float weight, float by) {
    *effect += weight * by;
    if (*effect == 0 && weight != 0)
        *effect = FLT_TRUE_MIN;
}

/* Compute the effects on the first layer by feature (initially its slot), and find the features
 * that change nothing. */
static int fill_effects(dense_walk *w) {
    const sis__entry *f = w->entry;
    kept_layer *l = &w->first;
    memset(w->still, 1, w->s->in.n);
    for (size_t e = 0; e < f->n; e++) {
        int i = f->feature[e];
        float by = i >= 0 ? f->z[e] - f->x[e] : 0, max = fmaxf(fabsf(f->x[e]), fabsf(f->z[e]));
        weights_of(&l->dense, e, w->spare);
        for (size_t j = 0; j < l->dense.out; j++) {
            w->scale[j] += fabsf(w->spare[j]) * max;
            if (by == 0)
                continue;
            add_effect(&l->effect[(size_t)i * l->wide + j], w->spare[j], by);
            w->still[i] &= w->spare[j] == 0;
        }
    }
    for (size_t j = 0; j < l->dense.out; j++)
        if (!isfinite(w->scale[j]))
            return SIS_E_UNSUPPORTED;
    return SIS_OK;
}

static double largest_of(const float *v, size_t n) {
    float largest = 0;
    for (size_t j = 0; j < n; j++)
        largest = fmaxf(largest, fabsf(v[j]));
    return (double)largest;
}

static double length_of(const float *v, size_t n, size_t stride) {
    double squares = 0;
    for (size_t j = 0; j < n; j++)
        squares += (double)v[j * stride] * (double)v[j * stride];
    return sqrt(squares);
}

/* Prepare the weights of the second layer, if it has effects, and `max_through`. */
static void fill_weights(dense_walk *w) {
    for (size_t u = 0; u < w->first.dense.out && (w->deep || w->tail.far == ONE_LAYER); u++) {
        float *row = w->deep ? w->w + u * w->second.wide : w->tail.w + u * LANES;
        if (w->deep)
            weights_of(&w->second.dense, u, row);
        double effects = length_of(w->first.effect + u, w->s->in.n, w->first.wide);
        double weight = largest_of(row, w->deep ? w->second.dense.out : w->tail.outputs);
        w->max_through = fmax(w->max_through, effects * weight);
    }
}

/* ---- Making ---------------------------------------------------------------------------------- */

static size_t round_up(size_t n) {
    return (n + 15) / 16 * 16;
}

static int find_layers(dense_walk *w) {
    dense_layer *a = &w->first.dense, *b = &w->second.dense;
    if (!w->entry)
        return SIS_E_UNSUPPORTED;
    const sis__plan *p = w->entry->plan;
    if (!layer_at(p, w->entry->tensor, a) || a->in != w->entry->n)
        return SIS_E_UNSUPPORTED;
    int on = rectified_by(p, a->to);
    w->deep =
        on >= 0 && layer_at(p, on, b) && b->in == a->out && distance_from(w->entry, a) == DEEP;
    w->first.wide = round_up(a->out);
    w->second.wide = w->deep ? round_up(b->out) : 0;
    double floats = (double)w->s->in.n * (double)(w->first.wide + w->second.wide + AT_ONCE);
    return floats * sizeof(float) < (double)w->s->memory ? SIS_OK : SIS_E_UNSUPPORTED;
}

static void allocate_layer(dense_walk *w, kept_layer *l) {
    l->base = SIS_ARENA(&w->instance.memory, float, l->wide);
    l->effect = SIS_ARENA(&w->instance.memory, float, w->s->in.n * l->wide);
}

static void allocate_units(dense_walk *w) {
    sis__arena *memory = &w->instance.memory;
    const sis__kernels *kn = sis__kernels_best();
    size_t n = w->first.wide, wide = w->second.wide, out = w->second.dense.out;
    w->on = SIS_ARENA(memory, int, n);
    w->w = SIS_ARENA(memory, float, n *wide);
    w->on_packed = SIS_ARENA_RAW(memory, float, sis__packed_size(kn, w->second.dense.in, out));
    w->found = SIS_ARENA_RAW(memory, int, n);
    w->sizes = SIS_ARENA_RAW(memory, float, n);
    w->some_w = SIS_ARENA_RAW(memory, float, AT_ONCE *wide);
    w->some_packed = SIS_ARENA_RAW(memory, float, sis__packed_size(kn, AT_ONCE, out));
    w->columns = SIS_ARENA_RAW(memory, float, w->s->in.n *AT_ONCE);
}

static int allocate(dense_walk *w) {
    size_t p = w->s->in.n, wider = w->first.wide;
    sis__arena *memory = &w->instance.memory;
    wider = w->second.wide > wider ? w->second.wide : wider;
    w->scale = SIS_ARENA(memory, float, w->first.wide);
    w->still = SIS_ARENA(memory, unsigned char, p);
    w->slot_of = SIS_ARENA_RAW(memory, int, p);
    w->feature_at = SIS_ARENA_RAW(memory, int, p);
    w->spare = SIS_ARENA(memory, float, wider);
    allocate_layer(w, &w->first);
    if (w->deep) {
        allocate_layer(w, &w->second);
        allocate_units(w);
    }
    int error = sis__arena_error(memory);
    for (size_t i = 0; !error && i < p; i++)
        w->slot_of[i] = w->feature_at[i] = (int)i;
    return error;
}

static void note_layer(const dense_walk *w, const dense_layer *l, const char *text) {
    sis__net_input_note(w->s, l->product, "%s", text);
    if (l->add)
        sis__net_input_note(w->s, l->add, "%s", text);
}

static void note_layers(const dense_walk *w) {
    sis__entry_note(w->entry);
    note_layer(w, &w->first.dense, "column of the feature");
    if (!w->deep)
        return;
    const sis__plan *p = w->entry->plan;
    int rectified = rectified_by(p, w->first.dense.to);
    sis__net_input_note(w->s, &p->steps[p->tensors[rectified].node], "units that switch");
    note_layer(w, &w->second.dense, "product kept, switched units");
}

static int dense_open(sis__rule_instance *r) {
    dense_walk *w = (dense_walk *)r;
    w->s = r->s;
    w->entry = r->s->entry;
    int error = find_layers(w);
    if (!error)
        error = tail_init(&w->tail, r, w->entry, &cut_of(w)->dense);
    r->width = w->tail.width;
    r->stride = w->tail.stride;
    r->block = BLOCK;
    if (!error)
        error = allocate(w);
    if (!error)
        error = fill_effects(w);
    if (error)
        return error;
    fill_weights(w);
    note_layers(w);
    return SIS_OK;
}

const sis__rule sis__rule_dense = {
    .name = "dense",
    .bytes = sizeof(dense_walk),
    .min_copies = 300,
    .keeps_entry = 1,
    .open = dense_open,
    .reset = dense_reset,
    .mask = dense_mask,
    .row = dense_row,
    .margins = dense_margins,
    .size = dense_size,
    .idle = dense_idle,
};
