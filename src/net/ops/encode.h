/* SPDX-License-Identifier: MIT
 *
 * Texts of attributes, for the operators of ai.onnx.ml, and what others ask of these.
 */
#ifndef SIS_NET_OPS_ENCODE_H
#define SIS_NET_OPS_ENCODE_H

#include "net/plan/context.h"

/* The texts of an attribute as their numbers; NULL and 0 if absent. */
const int64_t *sis__attr_words(sis__cx *c, const char *name, size_t *n);

/* Does an Imputer replace missing values (NaN), not a number? */
int sis__imputer_of_nan(const sis__step *s);

#endif
