/* SPDX-License-Identifier: MIT
 *
 * From the sums of a model of ai.onnx.ml (trees, linear) to its outputs: post_transform and labels.
 * Also its input rows as floats.
 */
#ifndef SIS_NET_OPS_ML_SCORES_H
#define SIS_NET_OPS_ML_SCORES_H

#include "net/plan/context.h"

int sis__post_read(sis__shape_ctx *c, sis__post *post);

/* Class labels: their number, and the integers or the numbers of the texts. */
int sis__labels_read(sis__shape_ctx *c, size_t *n, const int64_t **labels, sis__dtype *type);

/* Input 0 as rows of floats or integers; a vector is one row. */
int sis__rows_read(sis__shape_ctx *c, size_t *n, size_t *width);
float sis__row_value(const sis__step *s, const sis__run *r, size_t at);

/* In place on the scores of one row. */
void sis__post_apply(sis__post post, float *scores, size_t n);

/* Turn the rounded sums (rows) of a linear model into scores (outputs), in place. */
void sis__linear_finish(const sis__linear *l, float *scores);

#endif
