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
    double *example;     /* (width) the last one */
    unsigned char *kept; /* (n_features) of the question, with what is fixed */
    size_t asked;        /* questions that the oracle was asked */
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

/* Take features into `kept`, which is not enough, as long as it stays so; those that come last in
 * `order` are tried first. What is not kept at the end is a contrast: changing it can lose the
 * decision, and changing less of it cannot. s->example shows it. *proved as above. */
int sis__sets_contrast(sis__sets *s, const int *order, unsigned char *kept, int *proved);

/* Sets of features, as flags. */
typedef struct sis__family {
    size_t n_features, n, room;
    unsigned char *flags; /* (n, n_features) */
} sis__family;
int sis__family_add(sis__family *f, const unsigned char *flags);
void sis__family_release(sis__family *f);

/* The next smallest set that is enough and contains none of `enough`. *found 1: `kept` is it; 0: there
 * is none; -1: given up (`kept` is enough if `enough` is empty, but may not be the smallest).
 * `contrasts` is what has been found so far, and grows: what is enough is what meets all of them.
 * *proved: `kept` needs each of its features. */
int sis__sets_smallest(sis__sets *s, const int *order, const sis__family *enough,
                       sis__family *contrasts, unsigned char *kept, int *found, int *proved);

/* The next smallest contrast that is not in `contrasts`: the complement of `kept`, *found as above.
 * `enough` is what has been found so far, and grows: a contrast is what meets all that is. *proved:
 * changing less of it cannot lose the decision. */
int sis__sets_next_contrast(sis__sets *s, const int *order, sis__family *enough,
                            const sis__family *contrasts, unsigned char *kept, int *found,
                            int *proved);

#endif
