/* SPDX-License-Identifier: MIT
 *
 * sis/prove.h - proves that features suffice for a decision whatever values the others have.
 *
 * Experimental: may change from one version to the next.
 *
 * sis_collect() finds subsets that are sufficient with everything else masked. For some models (see
 * sis_prover_new) this header decides whether a subset is sufficient for every value of the other
 * features:
 *
 *     sis_prover *prover;
 *     sis_prove_opt opt;
 *     sis_prove_opt_init(&opt);
 *     opt.threshold = 0.8;                        // or opt.keep_class = 1
 *     sis_collection c;
 *     sis_guarantee g;
 *     if (sis_prover_new(&model, &prover) == 0 &&
 *         sis_prove_collect(prover, &input, &opt, &c, &g) == 0)
 *         for (size_t k = 0; k < c.n_subsets; k++)
 *             use(c.subsets[k].features, c.subsets[k].n);   // whatever the others are: score >= 0.8
 *     sis_collection_release(&c);
 *     sis_prover_free(prover);
 *
 * A proof is an exhaustive search for counterexamples. It completes or is given up after
 * opt.branches; nothing is sampled. In addition, every reported subset is attacked by an adversary
 * that uses only predictions.
 */
#ifndef SIS_PROVE_H
#define SIS_PROVE_H

#include <sis/error.h>
#include <sis/explain.h>
#include <sis/sis.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sis_prove_opt {
    double threshold; /* keep score of input->output >= threshold; no default (NaN) */
    int below;        /* score <= threshold instead */
    int keep_class;   /* instead of both: no other output becomes higher than input->output; scores
                         are its lead, as in sis_model_argmax() */
    const double *low, *high;     /* (n_values) range of the other values. Default NULL: any
                                     number */
    const unsigned char *missing; /* (n_values) which of them may be missing. NULL: none */
    size_t branches;   /* give up a proof after this number of branches; default 1,000,000, 0:
                          never */
    double time_limit; /* seconds, after which all further proofs of the example are given up;
                          default 0: never */
    int (*stop)(void *ctx); /* polled often; nonzero: further proofs are given up, as after
                               time_limit. Default NULL: never */
    void *stop_ctx;
    size_t max_subsets; /* maximum number of subsets; default 0: all disjoint ones, or one smallest
                           or contrast */
    int smallest;       /* subsets of the fewest features, one after the other; they may overlap */
    int contrast;       /* instead find features whose change alone can lose the decision, the
                           fewest first; they may overlap. guarantee->examples holds such inputs;
                           one-hot features stay one-hot; audits without these inputs search for
                           others */
    int cheapest; /* contrasts: the nearest first, instead of the fewest features first */
    const unsigned char *fixed; /* (n_features) contrasts: features that never change. NULL: none */
    const double *scale;        /* (n_values) contrasts of trees are the nearest: distances are sums
                                   of |change| / scale, and 1 for another category. NULL: 1 */
    const double *step; /* (n_values) values change by multiples of it where possible; 0: by any
                           number. NULL: 0 */
    size_t tries;       /* of the adversary, for each proof; default 256 */
    uint64_t seed;      /* of the adversary; default 1 */
    int counterexamples; /* audits: keep an input for each feature of a subset that shows it is
                            needed */
} sis_prove_opt;

/* Sets the defaults. */
void sis_prove_opt_init(sis_prove_opt *opt);

/* Scales and steps of columns, computed from rows: the standard deviation (1 if it is 0), and a
 * step of 1 for integer columns. Call `add` for any number of rows, then `get`. */
typedef struct sis_spread sis_spread;
int sis_spread_new(size_t n_values, sis_spread **out);
void sis_spread_add(sis_spread *s, const double *row);
void sis_spread_get(const sis_spread *s, double *scale, double *step);
void sis_spread_free(sis_spread *s);

/* The prepared model, which is borrowed. Several threads may use one prover. SIS_E_UNSUPPORTED:
 * proofs are not available for this model; the message names the supported models. */
typedef struct sis_prover sis_prover;
int sis_prover_new(const sis_model *model, sis_prover **out);
void sis_prover_free(sis_prover *p);

/* Find disjoint subsets that are sufficient whatever the other features are; if out->minimal, no
 * feature of a subset can be left out. The mask of the input is not read. In the collection,
 * masked_score is the score of an input without the decision (or the lowest score seen, if every
 * input has the decision: status DEFAULT_DECISION), a subset's score is the lowest seen with it,
 * and rest_score is that of an input that differs only in the subsets. SIS_E_UNSUPPORTED: a
 * threshold for one of several classes. On failure nothing needs to be released. */
int sis_prove_collect(const sis_prover *p, const sis_input *input, const sis_prove_opt *opt,
                      sis_collection *out, sis_guarantee *guarantee);

/* Does the decision hold for all values of features other than these n? *holds 1: yes, proved; 0:
 * no, and `example` (n_values, may be NULL) is a counterexample; -1: given up. SIS_E_ARGUMENT: the
 * input does not have that decision. */
int sis_prove_check(const sis_prover *p, const sis_input *input, const sis_prove_opt *opt,
                    const int *features, size_t n, int *holds, double *example);

/* Check the claims of a collection: every subset is proved again and attacked. If `guarantee` says
 * minimal, each feature must be shown to be needed by an input that loses the decision without it.
 * Like sis_verify: 0 even if the claims are false. */
int sis_prove_audit(const sis_prover *p, const sis_input *input, const sis_prove_opt *opt,
                    const sis_collection *claim, const sis_guarantee *guarantee, sis_audit *out);

/* ---- Guarantees for a share of values ------------------------------------------------------ */

typedef struct sis_chance_opt {
    double share;      /* share of completions that must keep the decision, above 0 and below 1 */
    double confidence; /* of the intervals, and of all guarantees of the collection together;
                          default 0.95 */
    size_t samples;    /* maximum number of draws per example; default 2000 */
    uint64_t seed;     /* default 1 */
} sis_chance_opt;
void sis_chance_opt_init(sis_chance_opt *opt);

/* Find subsets that keep the decision for a share of the values of the other features, drawn from a
 * deck (sis/explain.h). The method quick searches with a quarter of the draws, so that their share
 * exceeds opt->share by a margin. Each subset is then tested with new draws until the lower end of
 * an exact interval (Clopper-Pearson) reaches opt->share. A test is repeated at most a few times,
 * with more draws or another subset. The j-th test of an example may err with probability (1 -
 * confidence) / (j (j + 1)), which sums to 1 - confidence. Subsets that pass no test are left out;
 * if none is left, the subset is all features. Scores of subsets, masks and rest are means over
 * draws. */
int sis_chance_collect(const sis_model *model, const sis_input *input, const sis_opt *search,
                       const sis_deck *deck, const sis_chance_opt *opt, sis_collection *out,
                       sis_guarantee *guarantee);

/* Check with draws of another seed: a claim is refuted if the result has a probability below one in
 * a million under the claim. */
int sis_chance_audit(const sis_model *model, const sis_input *input, const sis_opt *search,
                     const sis_deck *deck, const sis_collection *claim,
                     const sis_guarantee *guarantee, sis_audit *out);

#ifdef __cplusplus
}
#endif
#endif
