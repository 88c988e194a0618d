/* SPDX-License-Identifier: MIT
 *
 * An adversary: searches for an input that keeps some features and loses the decision, using
 * predictions only, and the oracle's gradients if it has some. It proves nothing and relies on no
 * proof, so an input that it finds refutes any proof.
 */
#ifndef SIS_PROVE_ATTACK_H
#define SIS_PROVE_ATTACK_H

#include <sis/sis.h>

#include "prove/oracle.h"

typedef struct sis__attack {
    const sis_model *model;
    size_t output;
    int below;      /* high scores lose the decision */
    sis__oracle *o; /* gives the allowed values, and gradients */
    size_t tries;
    uint64_t seed;
} sis__attack;

/* *margin: the worst one found, at least that of the example itself. row (width, may be NULL): its
 * input. *evaluations (may be NULL) grows by the number of predictions. */
int sis__attack_run(const sis__attack *a, const unsigned char *kept, double *margin, double *row,
                    size_t *evaluations);

#endif
