/* SPDX-License-Identifier: MIT
 *
 * A front while it is read from a plan. The files that do it:
 *
 *     front.c  which steps join, in order; the whole
 *     input.c  values of the input -> map 0, features -> boxes
 *     rules.c  steps that become layers
 *     cuts.c   steps that end the front
 *     keep.c   what is kept for candidates, and the memory for it
 *     fixed.c  the same where the input itself is convolved
 */
#ifndef SIS_NET_WINDOW_READ_H
#define SIS_NET_WINDOW_READ_H

#include "net/window/window.h"

/* What a tensor of the plan is to the front. */
typedef struct sis__standing {
    sis__sight sight; /* sight.map >= 0: shows a map */
    int cut;          /* >= 0: a site that cuts */
} sis__standing;

typedef struct sis__reader {
    sis__front *f;
    const sis__plan *plan;
    sis__standing *of;    /* (n_tensors) */
    unsigned char *taken; /* (n_steps) joined the front */
    double taken_flops;   /* of those */
    double window_flops;  /* the same inside boxes of mean size */
    size_t kept;          /* floats kept for candidates */
} sis__reader;

static inline const sis__tensor *sis__tensor_of(const sis__reader *r, int i) {
    return &r->plan->tensors[i];
}

/* Values of a constant float tensor, or NULL. */
static inline const float *sis__constant_of(const sis__reader *r, int i) {
    return i >= 0 && sis__tensor_of(r, i)->dtype == SIS__F32
               ? (const float *)sis__tensor_of(r, i)->data
               : NULL;
}

/* How a tensor shows a map, or NULL. */
static inline const sis__sight *sis__sight_of(const sis__reader *r, int i) {
    return i >= 0 && r->of[i].sight.map >= 0 ? &r->of[i].sight : NULL;
}

static inline size_t sis__positions(const sis__map *m) {
    return sis__box_volume(&m->whole);
}

/* Memory for the base and the boxes of a map whose size is known. */
int sis__map_init(sis__front *f, sis__map *m);

/* Positions in the boxes of all features. */
double sis__box_total(const sis__front *f, const sis__map *m);

/* Read the input into map 0. */
int sis__read_input(sis__reader *r);

/* Take a step in as a layer, or as a cut. 1: done, 0: it stays outside, negative: an error. */
int sis__read_layer(sis__reader *r, const sis__step *s);
int sis__read_cut(sis__reader *r, const sis__step *s);

/* Cut at a tensor that shows a map, as it is. */
void sis__cut_whole(sis__reader *r, int value);

/* Which axis of the map each spatial axis of a (1, channels, positions...) tensor is. 0: the tensor
 * shows the map in another order. */
int sis__find_slots(const sis__tensor *t, const sis__sight *v, size_t *slot);

/* Decide how convolutions are kept, and make room for everything. */
int sis__keep(sis__reader *r);

/* Place for n values in a store of which `*used` are taken. */
size_t sis__keep_room(size_t *used, size_t n);

/* A convolution of the input itself: find features that change it alike and make room for what is
 * kept; then, with all memory there, compute that. SIS_E_UNSUPPORTED: it is not finite. */
int sis__fixed_init(sis__front *f, sis__site *s);
int sis__fixed_sum(sis__front *f, sis__site *s);

#endif
