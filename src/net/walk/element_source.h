/* SPDX-License-Identifier: MIT
 *
 * Where the elements of a tensor come from. Exporters put Reshape, Transpose, Squeeze, Slice, Cast
 * and the like around the layers that compute; a walk has to know which value of the input, or
 * which state of a recurrent layer, stands behind each element that comes out of such a chain.
 *
 *     x (1, 3, 2)  -> Transpose -> (3, 1, 2) -> Slice -> (2, 1, 2)      from = {2, 3, 4, 5}
 */
#ifndef SIS_NET_WALK_ELEMENT_SOURCE_H
#define SIS_NET_WALK_ELEMENT_SOURCE_H

#include "net/plan/plan.h"

typedef struct sis__origin {
    int tensor;   /* how far it was followed */
    size_t n;     /* elements there */
    size_t *from; /* (n) element of the first tensor; SIZE_MAX: none, it is constant */
} sis__origin;

/* What the steps followed may do. */
typedef enum sis__passing {
    SIS__MOVED, /* elements are moved, repeated or dropped: the values stay what they are */
    SIS__MAPPED /* and each may be replaced by a function of it alone */
} sis__passing;

/* Start at a tensor of a plan. */
int sis__origin_begin(sis__origin *o, const sis__plan *p, int tensor);
void sis__origin_release(sis__origin *o);

/* Go on by one step: 1, or 0 where that is not possible, or a negative code. */
int sis__origin_step(sis__origin *o, const sis__plan *p, sis__passing how);

/* Go on as far as possible. */
int sis__origin_follow(sis__origin *o, const sis__plan *p, sis__passing how);

/* The list of a step's output 0, if each of its elements is made of one element at most of inputs
 * whose lists are known and of constants. lists: (n_tensors), NULL: not known. 1 and *from, 0, or a
 * negative code. */
int sis__origin_pass(const sis__plan *p, const sis__step *s, size_t *const *lists, sis__passing how,
                     size_t **from);

#endif
