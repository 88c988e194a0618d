/* SPDX-License-Identifier: MIT
 *
 * Other people's models (the folder zoo of the shared data), each with an input to explain: the one
 * that was recorded beside it. For tests and benchmarks.
 */
#ifndef SIS_TEST_SUPPORT_ZOO_H
#define SIS_TEST_SUPPORT_ZOO_H

#include <sis/model.h>

typedef struct zoo_model {
    char name[256], family[64]; /* of the index */
    char path[4096];            /* of the file */
    sis_model model;
    sis_input input; /* the first recorded row, masked by 0 or the masked token */
    size_t
        n_features;  /* pixels with all their channels, positions with all bases, tokens, values */
    const char *why; /* there is none: what is missing */
} zoo_model;

/* Read the index in this folder and call `each` with every model in turn, opened (or not: m->why).
 * What `each` returns ends it unless it is 0. -1: there is no index. */
int zoo_each(const char *folder, int (*each)(void *ctx, zoo_model *m), void *ctx);

/* Recorded values shuffled by this seed, in the place of those of the input. */
void zoo_shuffle(zoo_model *m, unsigned seed);

#endif
