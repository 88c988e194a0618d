/* SPDX-License-Identifier: MIT
 *
 * An oracle knows one example and its decision, and answers one question: does the decision stay
 * whatever the values of the features that are not kept? The searches that use it do not depend on
 * the kind of model.
 *
 *     trees.c    oracles for tree ensembles: exact
 *     nets.c     oracles for networks and linear models: sound
 *     sets.c     minimal and smallest sets of features, by questions
 *     attack.c   an adversary that tries to refute answers, by predictions alone
 *     prove.c    sis/prove.h: the oracle for an opened model
 *     collect.c  subsets and contrasts of an example; audit.c: checks of such claims
 */
#ifndef SIS_PROVE_ORACLE_H
#define SIS_PROVE_ORACLE_H

#include <stddef.h>

#include "base/clock.h"
#include "base/rng.h"

typedef enum sis__proof { SIS__PROOF_NONE, SIS__PROOF_HOLDS, SIS__PROOF_FAILS } sis__proof;

typedef struct sis__oracle sis__oracle;

/* The distance of a changed value from the original: |difference| / scale. */
typedef struct sis__steps {
    const double *scale; /* (width) NULL: 1 */
    const double *step;  /* (width) values change by multiples of this; 0: by any number. NULL: 0 */
} sis__steps;

/* Every oracle's own struct begins with this. */
struct sis__oracle {
    size_t n_features, width;
    const double *row;     /* (width) the example, as the model sees it */
    const int *feature_of; /* (width) -1: never free; NULL: each value is a feature */
    double
        deadline; /* time (sis__seconds()) when questions are given up; 0: never. Set by the user */
    int (*stop)(void *ctx); /* questions are given up when it returns nonzero; NULL: never. Set by
                             * the user */
    void *stop_ctx;
    const unsigned char *fixed; /* (n_features) kept in every question; NULL: none. Set by the
                                 * user */

    /* kept: n_features flags. HOLDS: proved. FAILS: `example` (width) is an input without the
     * decision that has the same values of the kept features. NONE: not decided. */
    int (*ask)(sis__oracle *o, const unsigned char *kept, sis__proof *proof, double *example);

    /* A cheap estimate of how much the decision would be endangered if each kept feature were free
     * too, used to order features. harm (n_features). */
    int (*harms)(sis__oracle *o, const unsigned char *kept, double *harm);
    int adapts; /* harms are cheap, and change as fewer features are kept */

    /* A random allowed value of column j, often close to where the model changes. */
    double (*draw)(const sis__oracle *o, size_t j, sis__rng *r);

    /* The row, among those that agree on the kept features, that the gradient at `from` points to,
     * for one rival after the other (`turn`); NULL: no gradients. A heuristic. */
    void (*worsen)(sis__oracle *o, const unsigned char *kept, const double *from, size_t turn,
                   double *row);

    /* The nearest row (by `steps`) without the decision that agrees with the example on the kept
     * features. *distance INFINITY: none can be reached by steps. *proved 0: given up, there may be
     * nearer ones. NULL: not supported. */
    int (*nearest)(sis__oracle *o, const unsigned char *kept, const sis__steps *steps,
                   double *example, double *distance, int *proved);

    /* Make a row with random columns consistent: one category per feature. NULL: there are none. */
    void (*repair)(const sis__oracle *o, sis__rng *r, double *row);

    void (*free)(sis__oracle *o);
};

static inline int sis__oracle_feature(const sis__oracle *o, size_t j) {
    return o->feature_of ? o->feature_of[j] : (int)j;
}

/* The kept features of a question, including those kept in every question. */
static inline void sis__oracle_keep(const sis__oracle *o, const unsigned char *kept,
                                    unsigned char *all) {
    for (size_t f = 0; f < o->n_features; f++)
        all[f] = kept[f] || (o->fixed && o->fixed[f]);
}

static inline int sis__oracle_late(const sis__oracle *o) {
    return (o->stop && o->stop(o->stop_ctx)) || (o->deadline > 0 && sis__seconds() >= o->deadline);
}

static inline void sis__oracle_free(sis__oracle *o) {
    if (o)
        o->free(o);
}

#endif
