/* SPDX-License-Identifier: MIT
 *
 * The face of a subject: what the first layer that mixes values sees of it. All before that layer
 * only moves values (Flatten, Transpose), maps each on its own (Scaler, Cast) or looks it up
 * (embeddings), so each element of what the layer reads belongs to one feature and takes one of two
 * values.
 */
#ifndef SIS_NET_WALK_ENTRY_H
#define SIS_NET_WALK_ENTRY_H

#include "net/walk/walk.h"

typedef struct sis__face {
    const sis__subject *s;
    sis__plan *plan; /* one row, from the input to what the last activation reads */
    sis__run *run;
    struct sis__geometry *geometry;
    int tensor;    /* what the layer reads */
    size_t n;      /* its elements */
    int *feature;  /* (n) behind each element; -1: never masked */
    float *x, *z;  /* (n) each element with its feature present, and masked */
    float *values; /* (n_values) the present input */
} sis__face;

int sis__face_init(sis__face *f, const sis__subject *s);
void sis__face_release(sis__face *f);

/* The step that reads it; NULL if there is not exactly one. */
const sis__step *sis__face_reader(const sis__face *f);

/* Make these features (flags) masked in `values`, and one more. */
void sis__face_reset(sis__face *f, const unsigned char *masked);
void sis__face_mask(sis__face *f, int feature);

/* Run the plan on `values` as far as a tensor; its floats are run->data[tensor]. */
int sis__face_run(sis__face *f, int tensor);

#endif
