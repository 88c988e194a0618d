/* SPDX-License-Identifier: MIT
 *
 * What the first layer that mixes values sees of a subject: everything in front of it only moves
 * values (Flatten, Transpose), maps each on its own (Scaler, Cast) or looks it up (embeddings), so
 * each element of what the layer reads belongs to one feature and takes one of two values.
 */
#ifndef SIS_NET_FRONT_H
#define SIS_NET_FRONT_H

#include "net/walk.h"

typedef struct sis__front {
    const sis__subject *s;
    sis__plan *plan; /* one row, from the input to what the last activation reads */
    sis__run *run;
    struct sis__geometry *geometry;
    int tensor;    /* what the layer reads */
    size_t n;      /* its elements */
    int *feature;  /* (n) behind each element; -1: never masked */
    float *x, *z;  /* (n) each element with its feature present, and masked */
    float *values; /* (n_values) the present input */
} sis__front;

int sis__front_init(sis__front *f, const sis__subject *s);
void sis__front_release(sis__front *f);

/* The step that reads it; NULL if there is not exactly one. */
const sis__step *sis__front_reader(const sis__front *f);

/* Make these features (flags) masked in `values`, and one more. */
void sis__front_reset(sis__front *f, const unsigned char *masked);
void sis__front_mask(sis__front *f, int feature);

/* Run the plan on `values` as far as a tensor; its floats are run->data[tensor]. */
int sis__front_run(sis__front *f, int tensor);

#endif
