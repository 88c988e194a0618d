/* SPDX-License-Identifier: MIT
 *
 * An oracle knows one example and one decision, and answers one question: does the decision stay
 * whatever the features that are not kept are? What is found by asking it does not depend on what
 * kind of model it knows.
 *
 *     trees.c    oracles of tree ensembles: exact
 *     nets.c     oracles of networks and linear models: sound
 *     sets.c     minimal sets of features, by asking
 *     attack.c   an adversary that looks for what would refute an answer, by predictions alone
 *     prove.c    sis/prove.h: which oracle fits an opened model; collections, audits
 */
#ifndef SIS_PROVE_ORACLE_H
#define SIS_PROVE_ORACLE_H

#include <stddef.h>

#include "base/clock.h"
#include "base/rng.h"

typedef enum sis__proof { SIS__PROOF_NONE, SIS__PROOF_HOLDS, SIS__PROOF_FAILS } sis__proof;

typedef struct sis__oracle sis__oracle;

/* How far a changed value is from what it was: |difference| / scale. */
typedef struct sis__steps {
    const double *scale; /* (width) NULL: 1 */
    const double *step;  /* (width) values change by multiples of it; 0: by any number. NULL: 0 */
} sis__steps;

/* Its maker's struct begins with this. */
struct sis__oracle {
    size_t n_features, width;
    const double *row;     /* (width) the example, as the model sees it */
    const int *feature_of; /* (width) -1: never free; NULL: each value is a feature */
    double
        deadline; /* by sis__seconds(): questions are given up then; 0: never. Its user's to set */
    int (*stop)(void *ctx); /* questions are given up once it is nonzero; NULL: never. The same */
    void *stop_ctx;
    const unsigned char *fixed; /* (n_features) kept in every question; NULL: none is. The same */

    /* kept: n_features flags. HOLDS: proved. FAILS: `example` (width) is an input with the same
     * values of what is kept, without the decision. NONE: not decided. */
    int (*ask)(sis__oracle *o, const unsigned char *kept, sis__proof *proof, double *example);

    /* How far the decision might be lost if each of those that are kept is free as well, without much
     * thought: for an order. harm (n_features). */
    int (*harms)(sis__oracle *o, const unsigned char *kept, double *harm);
    int adapts; /* harms are cheap, and others when less is kept */

    /* A value that column j may have, at random, often where something changes. */
    double (*draw)(const sis__oracle *o, size_t j, sis__rng *r);

    /* The row that the slopes at `from` point to, of those that keep what is kept, against one rival after
     * the other by turns; NULL: there are no slopes. Nothing is promised of it. */
    void (*worsen)(sis__oracle *o, const unsigned char *kept, const double *from, size_t turn,
                   double *row);

    /* A row without the decision that differs from the example in what is not kept, the nearest one by
     * `steps`. *distance INFINITY: there is none that its steps lead to. *proved 0: given up, there may be
     * nearer ones. NULL: it cannot be found. */
    int (*nearest)(sis__oracle *o, const unsigned char *kept, const sis__steps *steps,
                   double *example, double *distance, int *proved);

    /* Make one category of what was drawn for a column of categories. NULL: there are none. */
    void (*repair)(const sis__oracle *o, sis__rng *r, double *row);

    void (*free)(sis__oracle *o);
};

static inline int sis__oracle_feature(const sis__oracle *o, size_t j) {
    return o->feature_of ? o->feature_of[j] : (int)j;
}

/* What a question keeps, with what every question does. */
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
