/* SPDX-License-Identifier: MIT
 *
 * Attributes that are texts, for operators of ai.onnx.ml, and whether an Imputer replaces NaN.
 */
#ifndef SIS_NET_OPS_ENCODE_H
#define SIS_NET_OPS_ENCODE_H

#include "net/plan/context.h"

/* The texts of an attribute as numbers (net/onnx/words.h); NULL and 0 if absent. */
const int64_t *sis__attr_words(sis__shape_ctx *c, const char *name, size_t *n);

/* Does this Imputer replace NaN, not some number? */
int sis__imputer_of_nan(const sis__step *s);

#endif
