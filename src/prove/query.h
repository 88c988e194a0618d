/* SPDX-License-Identifier: MIT
 *
 * A question to an opened model about one example: the example, its decision and the oracle that
 * answers. Collections and audits ask through it.
 *
 *     prove.c      models, thresholds, one example, proved bounds
 *     collect.c    subsets and contrasts
 *     audit.c      the claims of a collection
 */
#ifndef SIS_PROVE_QUERY_H
#define SIS_PROVE_QUERY_H

#include <sis/prove.h>

#include "prove/nets.h"
#include "prove/sets.h"
#include "prove/trees.h"

struct sis_prover {
    const sis_model *model;
    sis__ensemble *ensemble; /* of an ONNX file; `trees` refers to it */
    sis__prover *trees;
    sis__circuit *circuit; /* exactly one of trees and circuit is set */
};

/* An example, its decision, and the options. */
typedef struct sis__query {
    const sis_prover *p;
    const sis_input *input;
    const sis_prove_opt *opt;
    sis_model model; /* its scores are those of the decision */
    double threshold;
    int below;
    size_t n;                   /* features */
    const unsigned char *fixed; /* (n) never changed; NULL: none */
    sis__oracle *o;
    sis__sets sets;
    size_t evaluations;
    double began;
    double margin; /* of the row that was scored or met last */
} sis__query;

/* Check the input and the options; release the query also after a failure. */
int sis__query_init(sis__query *t, const sis_prover *p, const sis_input *input,
                    const sis_prove_opt *opt);

/* Make the oracle of an example that has the decision. */
int sis__query_open(sis__query *t);
void sis__query_release(sis__query *t);

/* The score of a row. */
int sis__query_score(sis__query *t, const double *row, double *score);
int sis__query_decided(const sis__query *t, double score);

/* The margin where a decision begins. */
double sis__query_margin(const sis_model *m, const sis_prove_opt *opt);

/* The worst score that the adversary finds with these features kept. */
int sis__query_attack(sis__query *t, const unsigned char *kept, double *score);

/* The adversary found a score in spite of a proof: does it have the decision? */
int sis__query_check(const sis__query *t, double score);

/* Is the decision proved with these features kept? *score: of an input that loses it, or the worst
 * that the adversary finds. */
int sis__query_examine(sis__query *t, const unsigned char *kept, sis__proof *proof, double *score);

/* Do all inputs with these features kept have at least this margin (below: at most)? FAILS:
 * t->margin and *score are those of one that has not. */
int sis__query_ask_margin(sis__query *t, const unsigned char *kept, double margin, size_t branches,
                          sis__proof *proof, double *score);

/* A proved bound on the score with these features kept, of trees: a little beyond the worst score
 * that was met, which *score is and which becomes worse if a question finds a worse one. NaN: given
 * up, or the threshold is all that is known. */
int sis__query_bound(sis__query *t, const unsigned char *kept, double *score, double *bound);

/* Flags (n) of some features. */
int sis__query_flag(const sis__query *t, const int *features, size_t n, unsigned char *kept);

#endif
