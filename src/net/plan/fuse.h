/* SPDX-License-Identifier: MIT
 *
 * Shared by the files that search for chains of operators: fuse.c, fuse_attention.c, view.c.
 */
#ifndef SIS_NET_PLAN_FUSE_H
#define SIS_NET_PLAN_FUSE_H

#include "net/kernels/kernels.h"
#include "net/plan/plan.h"

/* The readers and the producer of each tensor. */
typedef struct sis__fuser {
    sis__plan *p;
    unsigned char *reads; /* (n_tensors) number of reads; 2: two or more */
    int *reader;          /* (n_tensors) the last step that reads it, or -1 */
    int *maker;           /* (n_tensors) the step that computes it, or -1 */
} sis__fuser;

/* The step of that operator that computes a tensor, or NULL. */
sis__step *sis__fuser_maker(const sis__fuser *f, int tensor, int op);

/* The step of that operator that is the only reader of the only result of s, or NULL. */
sis__step *sis__fuser_next(const sis__fuser *f, const sis__step *s, int op);

/* Is it one constant float? */
int sis__fuser_number(const sis__fuser *f, int tensor, float *v);

/* The same type and shape? */
int sis__same_shape(const sis__tensor *a, const sis__tensor *b);

/* Set the inputs of `last`. */
int sis__fuser_set_inputs(const sis__fuser *f, sis__step *last, const int *inputs, size_t n);

/* A tensor as a stack of matrices (its last two axes) in the memory of *source, which is the tensor
 * itself or a tensor before Transpose, Slice, Split and the like. */
int sis__fuser_stack(const sis__fuser *f, int tensor, int *source, sis__stack *k);

/* Where a product must write its matrices so that the Transpose after it is not needed. *turn is
 * the Transpose, or NULL: there is none and the layout is the usual one. */
int sis__fuser_result(const sis__fuser *f, const sis__step *product, sis__step **turn,
                      sis__stack *k);

/* Fuse softmax(scores) . values, and the steps that compute the scores, into one step. 1: done. */
int sis__fuse_attention(const sis__fuser *f, sis__step *product);

#endif
