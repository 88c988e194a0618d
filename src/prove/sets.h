/* SPDX-License-Identifier: MIT
 *
 * Find minimal and smallest sets of features by asking an oracle: sufficient sets, which keep the
 * decision, and contrasts, which can lose it. Every sufficient set meets every contrast, so a
 * smallest sufficient set is a smallest hitting set of all contrasts, and the other way round.
 */
#ifndef SIS_PROVE_SETS_H
#define SIS_PROVE_SETS_H

#include "prove/oracle.h"

/* Knowledge about one example. An input that loses the decision also answers later questions: every
 * set that keeps none of the features it changes fails. */
typedef struct sis__sets {
    sis__oracle *o;
    unsigned char *changed; /* (n_examples, n_features) features that each known example changes */
    size_t n_examples, room;
    double *example;     /* (width) the last one */
    unsigned char *kept; /* (n_features) of the question, including fixed ones */
    size_t asked;        /* number of questions to the oracle */
} sis__sets;

int sis__sets_init(sis__sets *s, sis__oracle *o);
void sis__sets_release(sis__sets *s);

/* Ask the oracle. If the answer is FAILS, s->example shows it, unless an earlier example answered
 * (then *known is 1). known may be NULL: always ask the oracle. */
int sis__sets_ask(sis__sets *s, const unsigned char *kept, sis__proof *proof, int *known);

/* The order in which to give up features: first those that endanger the decision least when they
 * alone are free. order (n_features): result. */
int sis__sets_order(sis__sets *s, int *order);

/* Give up features of `kept`, which is sufficient, as long as the rest is; features early in
 * `order` are tried first. *proved: every remaining feature is needed; 0 if a question was not
 * decided. */
int sis__sets_minimal(sis__sets *s, const int *order, unsigned char *kept, int *proved);

/* Add features to `kept`, which is not sufficient, as long as it stays so; features late in `order`
 * are tried first. The features not kept at the end are a contrast: changing them can lose the
 * decision, and changing fewer of them cannot. s->example shows it. *proved as above. */
int sis__sets_contrast(sis__sets *s, const int *order, unsigned char *kept, int *proved);

/* Sets of features, as flags. */
typedef struct sis__family {
    size_t n_features, n, room;
    unsigned char *flags; /* (n, n_features) */
} sis__family;
int sis__family_add(sis__family *f, const unsigned char *flags);
void sis__family_release(sis__family *f);

/* The next smallest sufficient set that contains none of `enough`. *found 1: `kept` is it; 0: there
 * is none; -1: given up (`kept` is sufficient if `enough` is empty, but may not be the smallest).
 * `contrasts` holds those found so far, and grows: a sufficient set meets all contrasts. *proved:
 * `kept` needs each of its features. */
int sis__sets_smallest(sis__sets *s, const int *order, const sis__family *enough,
                       sis__family *contrasts, unsigned char *kept, int *found, int *proved);

/* The next smallest contrast that is not in `contrasts`: the complement of `kept`, *found as above.
 * `enough` holds the sufficient sets found so far, and grows: a contrast meets all of them.
 * *proved: changing fewer features cannot lose the decision. */
int sis__sets_next_contrast(sis__sets *s, const int *order, sis__family *enough,
                            const sis__family *contrasts, unsigned char *kept, int *found,
                            int *proved);

#endif
