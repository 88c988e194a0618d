/* SPDX-License-Identifier: MIT
 *
 * The entry of a network: what the first layer that mixes values sees of an input. All before that layer
 * only moves values (Flatten, Transpose), maps each on its own (Scaler, Cast) or looks it up
 * (embeddings), so each element of what the layer reads belongs to one feature and takes one of two
 * values.
 */
#ifndef SIS_NET_WALK_ENTRY_H
#define SIS_NET_WALK_ENTRY_H

#include "net/walk/walk.h"

struct sis__entry {
    const sis__net_input *s;
    sis__plan *plan; /* one row, from the input to what the last activation reads */
    sis__run *run;
    struct sis__row_layout *layout;
    int tensor;    /* what the layer reads */
    size_t n;      /* its elements */
    int *feature;  /* (n) behind each element; -1: never masked */
    float *x, *z;  /* (n) each element with its feature present, and masked */
    float *values; /* (n_values) the present input */
    sis__arena memory;
};

/* SIS_E_UNSUPPORTED if the network begins otherwise. */
int sis__entry_new(const sis__net_input *s, sis__entry **out);
void sis__entry_free(sis__entry *f);

/* Note the steps in front of the layer. */
void sis__entry_note(const sis__entry *f);

/* The step that reads it; NULL if there is not exactly one. */
const sis__step *sis__entry_reader(const sis__entry *f);

/* Make these features (flags) masked in `values`, and one more. */
void sis__entry_reset(sis__entry *f, const unsigned char *masked);
void sis__entry_mask(sis__entry *f, int feature);

/* Run the plan on `values` as far as a tensor; its floats are run->data[tensor]. */
int sis__entry_run(sis__entry *f, int tensor);

#endif
