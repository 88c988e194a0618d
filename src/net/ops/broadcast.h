/* SPDX-License-Identifier: MIT
 *
 * Broadcasting as ONNX and numpy define it: shapes are aligned at their last axis; an axis of size
 * 1 is repeated.
 */
#ifndef SIS_NET_OPS_BROADCAST_H
#define SIS_NET_OPS_BROADCAST_H

#include "net/plan/context.h"

/* The common shape of n tensors; -1 if there is none. */
int sis__broadcast_dims(const sis__tensor *const *t, size_t n, size_t *rank, size_t *dims);

/* Strides of up to 3 tensors along the axes of that shape, with axes merged where possible. */
void sis__broadcast_init(sis__broadcast *b, size_t rank, const size_t *dims,
                         const sis__tensor *const *t, size_t n);

/* Call fn with the offsets of the inputs for each row, that is, each run along the last merged
 * axis. */
typedef void (*sis__row_fn)(void *ctx, const size_t *offset, size_t out);
void sis__broadcast_rows(const sis__broadcast *b, sis__row_fn fn, void *ctx);

/* Length of a row; stride of input i along it. */
size_t sis__broadcast_length(const sis__broadcast *b);
size_t sis__broadcast_step(const sis__broadcast *b, size_t input);

/* In a shape function: the common shape of the first n inputs, none of which may be missing. Stores
 * their strides in the step's parameters if n <= 3. */
int sis__ctx_broadcast(sis__shape_ctx *c, size_t n, size_t *rank, size_t *dims);

/* Inputs from .. to - 1 must have the same type. */
int sis__ctx_same_types(sis__shape_ctx *c, size_t from, size_t to);

#endif
