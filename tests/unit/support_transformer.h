/* SPDX-License-Identifier: MIT
 *
 * Random encoders as exporters write them: attention, layer normalisation and GELU in single
 * operators.
 */
#ifndef SIS_TEST_SUPPORT_TRANSFORMER_H
#define SIS_TEST_SUPPORT_TRANSFORMER_H

#include <stddef.h>

#include <sis/net.h>

#include "base/rng.h"

enum { ENCODER_WORDS = 24 };

typedef struct encoder {
    size_t layers, width, heads, length; /* tokens; the model takes any number up to this */
    int masked;                          /* takes an attention mask, which follows from the ids */
    int spelling;                        /* of GELU: 0, 1 or 2 */
    int before;                          /* layers normalise what they read, not what they give */
    int mean;  /* the mean over all tokens goes into the head, not the first token */
    int fixed; /* its length is declared in the file */
    int rigid; /* and heads are split with it, so it takes no other */
    int sharp; /* tokens look at one other, nearly */
    int norm;  /* layer normalisation is an operator: 1, or 2: with the sum in front of it */
} encoder;

void build_encoder(const encoder *e, sis__rng *r, sis_net **out);

/* Any of these. */
encoder draw_encoder(sis__rng *r);

#endif
