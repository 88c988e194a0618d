/* SPDX-License-Identifier: MIT
 *
 * The entry of a network: the input of the first layer that mixes values. All steps before it only
 * move values (Flatten, Transpose), map each separately (Scaler, Cast) or look it up (embeddings),
 * so each element belongs to one feature and takes one of two values.
 */
#ifndef SIS_NET_WALK_ENTRY_H
#define SIS_NET_WALK_ENTRY_H

#include "net/walk/walk.h"

struct sis__entry {
    const sis__net_input *s;
    sis__plan *plan; /* one row, from the input to the input of the last activation */
    sis__run *run;
    struct sis__row_layout *layout;
    int tensor;    /* the tensor that the layer reads */
    size_t n;      /* its elements */
    int *feature;  /* (n) of each element; -1: never masked */
    float *x, *z;  /* (n) each element with its feature present, and masked */
    float *values; /* (n_values) the current input */
    sis__arena memory;
};

/* SIS_E_UNSUPPORTED if the network starts differently. */
int sis__entry_new(const sis__net_input *s, sis__entry **out);
void sis__entry_free(sis__entry *f);

/* Describe the steps before the layer in the notes. */
void sis__entry_note(const sis__entry *f);

/* The step that reads it; NULL unless there is exactly one. */
const sis__step *sis__entry_reader(const sis__entry *f);

/* Mask these features (flags) in `values`; mask one more. */
void sis__entry_reset(sis__entry *f, const unsigned char *masked);
void sis__entry_mask(sis__entry *f, int feature);

/* Run the plan on `values` up to a tensor; its floats are run->data[tensor]. */
int sis__entry_run(sis__entry *f, int tensor);

#endif
