/* SPDX-License-Identifier: MIT
 *
 * What looking for chains of operators shares (fuse.c, fuse_attention.c, view.c).
 */
#ifndef SIS_NET_PLAN_FUSE_H
#define SIS_NET_PLAN_FUSE_H

#include "net/kernels/kernels.h"
#include "net/plan/plan.h"

/* Who reads what. */
typedef struct sis__fuser {
    sis__plan *p;
    unsigned char *reads; /* (n_tensors) inputs of steps that are it; 2: several */
    int *reader;          /* (n_tensors) the last step that reads it, or -1 */
    int *maker;           /* (n_tensors) the step that computes it, or -1 */
} sis__fuser;

/* The step of that operator that makes a tensor; NULL: there is none. */
sis__step *sis__fuser_maker(const sis__fuser *f, int tensor, int op);

/* The step of that operator that alone reads the only result of s; NULL: there is none. */
sis__step *sis__fuser_next(const sis__fuser *f, const sis__step *s, int op);

/* Is it one constant float? */
int sis__fuser_number(const sis__fuser *f, int tensor, float *v);

/* The same type, and the same axes? */
int sis__same_shape(const sis__tensor *a, const sis__tensor *b);

/* Let `last` read these instead. */
int sis__fuser_set_inputs(const sis__fuser *f, sis__step *last, const int *inputs, size_t n);

/* A tensor seen as a stack of matrices (its last two axes) that lie in the memory of *source, which
 * is the tensor itself or what lies in front of Transpose, Slice, Split and the like. */
int sis__fuser_stack(const sis__fuser *f, int tensor, int *source, sis__stack *k);

/* Where matrices of a product's result have to go so that no Transpose is needed behind it: that step,
 * or NULL, and then they lie as they are. */
int sis__fuser_result(const sis__fuser *f, const sis__step *product, sis__step **turn,
                      sis__stack *k);

/* softmax(scores) . values as one step, together with what makes the scores. 1: done. */
int sis__fuse_attention(const sis__fuser *f, sis__step *product);

#endif
