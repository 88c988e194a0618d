/* SPDX-License-Identifier: MIT
 *
 * An adversary: looks for an input that keeps some features and loses the decision, by predictions
 * alone; where the oracle knows slopes, these say where to look. It proves nothing and needs no proof, so
 * what it finds refutes any.
 */
#ifndef SIS_PROVE_ATTACK_H
#define SIS_PROVE_ATTACK_H

#include <sis/sis.h>

#include "prove/oracle.h"

typedef struct sis__attack {
    const sis_model *model;
    size_t output;
    int below;      /* the decision is lost by high scores */
    sis__oracle *o; /* says which values there are, and where slopes point to */
    size_t tries;
    uint64_t seed;
} sis__attack;

/* *margin: the worst that was met, that of the example itself at least. row (width, may be NULL): the
 * input that has it. *evaluations (may be NULL) grows by what was predicted. */
int sis__attack_run(const sis__attack *a, const unsigned char *kept, double *margin, double *row,
                    size_t *evaluations);

#endif
