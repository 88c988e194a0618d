/* SPDX-License-Identifier: MIT
 *
 * Read a plan into a prefix (window.h): shared by the files that do it.
 *
 *     window_read.c         visits the steps of the plan
 *     window_read_input.c   map 0: the input of the first layer
 *     window_read_layers.c  steps that become layers
 *     window_read_cuts.c    steps that become cuts
 */
#ifndef SIS_NET_WALK_WINDOW_READ_H
#define SIS_NET_WALK_WINDOW_READ_H

#include "net/walk/window.h"

/* The role of a tensor of the plan in the prefix. */
typedef struct sis__tensor_role {
    sis__axis_map axes; /* axes.map >= 0: represents a map */
    int cut;            /* >= 0: its keep point, if it is a cut */
} sis__tensor_role;

typedef struct sis__reader {
    sis__prefix *f;
    const sis__plan *plan;
    sis__tensor_role *of; /* (n_tensors) */
    unsigned char *taken; /* (n_steps) joined the prefix */
    double taken_flops;   /* of those */
    double window_flops;  /* the same inside boxes of average size */
} sis__reader;

static inline const sis__tensor *sis__reader_tensor(const sis__reader *r, int i) {
    return &r->plan->tensors[i];
}

/* Values of a constant float tensor, or NULL. */
static inline const float *sis__reader_constant(const sis__reader *r, int i) {
    return i >= 0 && sis__reader_tensor(r, i)->dtype == SIS__F32
               ? (const float *)sis__reader_tensor(r, i)->data
               : NULL;
}

/* How a tensor represents a map, or NULL. */
static inline const sis__axis_map *sis__reader_axes(const sis__reader *r, int i) {
    return i >= 0 && r->of[i].axes.map >= 0 ? &r->of[i].axes : NULL;
}

/* Allocate a map whose size is known. */
int sis__map_init(sis__prefix *f, sis__map *m);

/* Map 0. */
int sis__read_input(sis__reader *r);

/* Read a step as a layer, or as a cut. 1: joined the prefix, 0: does not fit, negative: an
 * error. */
int sis__read_layer(sis__reader *r, const sis__step *s);
int sis__read_cut(sis__reader *r, const sis__step *s);

/* Cut at a tensor that represents a map, unless it is already a cut: the head reads all of it. */
void sis__cut_whole(sis__reader *r, int tensor);

/* Find the axis of the map for each spatial axis of an operator; spatial axes of size 1 get the
 * free axes. 0: the tensor has another order of axes. */
int sis__find_slots(const sis__tensor *t, const sis__axis_map *v, size_t *slot);

#endif
