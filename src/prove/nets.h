/* SPDX-License-Identifier: MIT
 *
 * Does a decision of a network stay whatever some of the features are? Proved, or refuted by an example,
 * or neither.
 *
 * All rivals are bounded at once (bounds.h). Those that stay open are attacked, by the corners of the
 * bounds and down the slope from there, and then bounded with tuned lines; where that does not do, the
 * sign of a ReLU is assumed, one way and then the other (branch and bound), until nothing is open or the
 * work becomes too much. For small networks that decides nearly every question.
 */
#ifndef SIS_PROVE_NETS_H
#define SIS_PROVE_NETS_H

#include <sis/model.h>

#include "prove/circuit.h"
#include "prove/oracle.h"

typedef struct sis__net_question {
    const sis_model *model; /* who decides about examples: its scores are those of the decision */
    const sis_input *input;
    const double *low, *high;     /* (n_values) NULL: any number */
    const unsigned char *missing; /* (n_values) which may be missing, too; NULL: none */
    int keep_class;
    int below;
    double margin;    /* where the decision begins, unless keep_class */
    double threshold; /* the same as a score of `model` */
} sis__net_question;

int sis__net_oracle(const sis__circuit *c, const sis__net_question *q, size_t n_features,
                    sis__oracle **out);

#endif
