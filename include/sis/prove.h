/* SPDX-License-Identifier: MIT
 *
 * sis/prove.h - which part of this input is enough whatever the rest is?
 *
 * Experimental: may change from one version to the next.
 *
 * sis_collect() finds subsets that are sufficient with everything else masked. Of some models
 * (sis_prover_new says which) it can be decided whether a subset is sufficient for every value of
 * everything else:
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
 * A proof is a search through all that could speak against it, so it is either complete or given up
 * after opt.branches; nothing is sampled. What is reported is nevertheless attacked first, by an
 * adversary that knows nothing but predictions.
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
    double threshold; /* score of input->output >= threshold is to stay; has no default (NaN) */
    int below;        /* score <= threshold instead */
    int keep_class;   /* instead of both: no other output becomes higher than input->output; scores
                         are then how far it is ahead, as sis_model_argmax() says */
    const double *low, *high;     /* (n_values) what the others may be. Default NULL: any number */
    const unsigned char *missing; /* (n_values) which of them may be missing, too. NULL: none */
    size_t branches;   /* give up a question after so many; default 1,000,000, 0: never */
    double time_limit; /* seconds, after which all further questions of the example are given up;
                           default 0: never */
    int (*stop)(void *ctx); /* asked often; nonzero: further questions are given up, as after
                               time_limit. Default NULL: never */
    void *stop_ctx;
    size_t max_subsets; /* stop after that many; default 0: find all disjoint ones, and one smallest
                           or contrast */
    int smallest;       /* subsets of the fewest features, one after the other; they may overlap */
    int contrast;       /* instead: features whose change alone can lose the decision, the fewest
                           first; they may overlap. guarantee->examples has such inputs; features of several
                           values, of which one is 1 and the others are 0, stay such;
                           audits without these look for others */
    int cheapest; /* contrasts: of all sets the nearest ones first, instead of those of fewest features */
    const unsigned char *fixed; /* (n_features) contrasts: what is never changed. NULL: nothing */
    const double *scale;        /* (n_values) contrasts of trees are the nearest ones: distances are
                                   sums of |change| / scale, and 1 for another category. NULL: 1 */
    const double *step; /* (n_values) where they can, values change by multiples of it; 0: by any
                           number. NULL: 0 */
    size_t tries;       /* of the adversary, for each proof; default 256 */
    uint64_t seed;      /* of the adversary; default 1 */
    int counterexamples; /* audits: keep the inputs that show each feature of a subset to be needed */
} sis_prove_opt;

/* Every default. */
void sis_prove_opt_init(sis_prove_opt *opt);

/* Scales and steps of columns from rows: the standard deviation (1 if there is none), and a step of 1 for
 * columns of whole numbers. `add` may be called for any number of rows, then `get`. */
typedef struct sis_spread sis_spread;
int sis_spread_new(size_t n_values, sis_spread **out);
void sis_spread_add(sis_spread *s, const double *row);
void sis_spread_get(const sis_spread *s, double *scale, double *step);
void sis_spread_free(sis_spread *s);

/* What is known of a model before any example is; borrows it. Several threads may use one.
 * SIS_E_UNSUPPORTED: nothing can be proved of it; the message says of what it can. */
typedef struct sis_prover sis_prover;
int sis_prover_new(const sis_model *model, sis_prover **out);
void sis_prover_free(sis_prover *p);

/* Disjoint subsets, each sufficient whatever the other features are and, if out->minimal, unable to
 * do without any one of its own. The mask of the input is not looked at. In the collection
 * masked_score is the score of an input without the decision (of the lowest that was met, if every
 * input has it: status DEFAULT_DECISION), a subset's score the lowest that was met with it, and
 * rest_score that of an input where everything but the subsets is as it was. SIS_E_UNSUPPORTED: a
 * threshold for one of several classes. On failure nothing needs a release. */
int sis_prove_collect(const sis_prover *p, const sis_input *input, const sis_prove_opt *opt,
                      sis_collection *out, sis_guarantee *guarantee);

/* Does the decision stay whatever is not among these n features? *holds 1: yes, proved; 0: no, and
 * `example` (n_values, may be NULL) is an input for which it does not; -1: given up.
 * SIS_E_ARGUMENT: the input does not have that decision. */
int sis_prove_check(const sis_prover *p, const sis_input *input, const sis_prove_opt *opt,
                    const int *features, size_t n, int *holds, double *example);

/* Check the claims of a collection: every subset is proved again and attacked, every feature of it
 * shown to be needed by an input that loses the decision without it, if `guarantee` says so. As
 * sis_verify: 0 even if the claims are false. */
int sis_prove_audit(const sis_prover *p, const sis_input *input, const sis_prove_opt *opt,
                    const sis_collection *claim, const sis_guarantee *guarantee, sis_audit *out);

/* ---- A share of them ----------------------------------------------------------------------- */

typedef struct sis_chance_opt {
    double share;      /* of completions that are to keep the decision, above 0 and below 1 */
    double confidence; /* of the intervals, and that every promise of the collection holds; default
                          0.95 */
    size_t samples;    /* draws an example, at most; default 2000 */
    uint64_t seed;     /* default 1 */
} sis_chance_opt;
void sis_chance_opt_init(sis_chance_opt *opt);

/* Subsets for which the decision stays for a share of the values of everything else, drawn from a
 * deck (sis/explain.h). They are searched for with a quarter of the draws, by sis/explain.h's quick,
 * so that the share of these reaches opt->share with some room. Each is then tested with draws that
 * the search has not seen, until the lower end of an exact interval (Clopper-Pearson) reaches it. A
 * test is repeated at most a few times, with more draws or another subset, and the j-th of an example
 * may err with probability (1 - confidence) / (j (j + 1)), which adds up to 1 - confidence; what
 * passes none is left out, and if nothing is left the subset is all features. Scores of subsets, masks and
 * rest are means over draws. */
int sis_chance_collect(const sis_model *model, const sis_input *input, const sis_opt *search,
                       const sis_deck *deck, const sis_chance_opt *opt, sis_collection *out,
                       sis_guarantee *guarantee);

/* Draw again, with another seed: a claim is refuted if what is found then is as good as impossible
 * (one in a million) were it true. */
int sis_chance_audit(const sis_model *model, const sis_input *input, const sis_opt *search,
                     const sis_deck *deck, const sis_collection *claim,
                     const sis_guarantee *guarantee, sis_audit *out);

#ifdef __cplusplus
}
#endif
#endif
