/* SPDX-License-Identifier: MIT
 *
 * Does a decision of a network stay whatever the values of some features are? The answer is a
 * proof, a counterexample, or neither.
 *
 * A *rival* is another output that could win instead. All rivals are bounded at once (bounds.h).
 * For those that this does not decide, counterexamples are searched at the corners of the bounds
 * and down the gradient from there; then the bounds are tuned. If that is not enough, the sign of a
 * ReLU is assumed, one way and then the other (branch and bound), until every case is decided or
 * the work limit is reached. For small networks this decides nearly every question.
 */
#ifndef SIS_PROVE_NETS_H
#define SIS_PROVE_NETS_H

#include <sis/model.h>

#include "prove/circuit.h"
#include "prove/oracle.h"

typedef struct sis__net_question {
    const sis_model *model; /* decides about examples with its scores */
    const sis_input *input;
    const double *low, *high;     /* (n_values) NULL: any number */
    const unsigned char *missing; /* (n_values) which values may be missing too; NULL: none */
    int keep_class;
    int below;
    double margin;    /* threshold of the decision, unless keep_class */
    double threshold; /* the same as a score of `model` */
} sis__net_question;

int sis__net_oracle(const sis__circuit *c, const sis__net_question *q, size_t n_features,
                    sis__oracle **out);

#endif
