/* SPDX-License-Identifier: MIT
 *
 * Minimal sets of features, found by asking an oracle.
 */
#ifndef SIS_PROVE_SETS_H
#define SIS_PROVE_SETS_H

#include "prove/oracle.h"

/* What has been learned of one example. An input that lost the decision answers later questions
 * too: whatever keeps none of the features it changes fails by it. */
typedef struct sis__sets {
    sis__oracle *o;
    unsigned char *changed; /* (n_examples, n_features) what inputs found so far change */
    size_t n_examples, room;
    double *example; /* (width) the last one */
    size_t asked;    /* questions that the oracle was asked */
} sis__sets;

int sis__sets_init(sis__sets *s, sis__oracle *o);
void sis__sets_release(sis__sets *s);

/* As the oracle answers it. If it fails, s->example shows it (unless `proof` came from an earlier
 * one: then *known is 1). known may be NULL: the oracle is always asked. */
int sis__sets_ask(sis__sets *s, const unsigned char *kept, sis__proof *proof, int *known);

/* Features in the order in which to give them up: first those that, free by themselves, bring the
 * decision least into danger. order (n_features): result. */
int sis__sets_order(sis__sets *s, int *order);

/* Give up features of `kept`, which is enough, as long as what is left is; those that come first in
 * `order` are tried first. *proved: every feature that stays is needed; 0 if a question was not
 * decided. */
int sis__sets_minimal(sis__sets *s, const int *order, unsigned char *kept, int *proved);

#endif
