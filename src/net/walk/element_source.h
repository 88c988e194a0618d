/* SPDX-License-Identifier: MIT
 *
 * Find out where each element of a tensor comes from. Exporters put Reshape, Transpose, Squeeze,
 * Slice, Cast and the like around layers; a walk must know which value of the input, or which state
 * of a recurrent layer, each element after such a chain comes from.
 *
 *     x (1, 3, 2)  -> Transpose -> (3, 1, 2) -> Slice -> (2, 1, 2)      from = {2, 3, 4, 5}
 */
#ifndef SIS_NET_WALK_ELEMENT_SOURCE_H
#define SIS_NET_WALK_ELEMENT_SOURCE_H

#include "net/plan/plan.h"

typedef struct sis__origin {
    int tensor;   /* last tensor reached */
    size_t n;     /* its number of elements */
    size_t *from; /* (n) element of the first tensor; SIZE_MAX: a constant */
} sis__origin;

/* Which steps may be followed. */
typedef enum sis__passing {
    SIS__MOVED, /* those that move, repeat or drop elements without changing values */
    SIS__MAPPED /* also those that replace each by a function of it alone */
} sis__passing;

/* Start at a tensor of a plan. */
int sis__origin_begin(sis__origin *o, const sis__plan *p, int tensor);
void sis__origin_release(sis__origin *o);

/* Follow one more step: 1, or 0 if that is not possible, or a negative error code. */
int sis__origin_step(sis__origin *o, const sis__plan *p, sis__passing how);

/* Follow as far as possible. */
int sis__origin_follow(sis__origin *o, const sis__plan *p, sis__passing how);

/* The origins of a step's output 0, if each of its elements depends on at most one element of
 * inputs with known origins, and on constants. lists: (n_tensors), NULL: not known. Returns 1 and
 * *from, 0, or a negative error code. */
int sis__origin_pass(const sis__plan *p, const sis__step *s, size_t *const *lists, sis__passing how,
                     size_t **from);

#endif
