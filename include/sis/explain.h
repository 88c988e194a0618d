/* SPDX-License-Identifier: MIT
 *
 * sis/explain.h - rationales by other methods, to hold sufficient input subsets against; and what
 * methods and measures need: statistics, scores of parts of inputs, hot decks.
 *
 * Experimental: may change from one version to the next.
 *
 *     sis_opt opt;  sis_opt_init(&opt);  opt.threshold = 0.7;
 *     sis_method_opt how;  sis_method_opt_init(&how);  how.method = SIS_METHOD_IG;
 *     sis_rationale r;
 *     if (sis_explain(&model, &input, &opt, &how, &r) == 0)
 *         use(r.collection.subsets, r.attributions);
 *     sis_rationale_release(&r);
 *
 * Each method gives every feature an attribution; the attributions give an order, most important
 * first; a constraint says how many features from its top are the rationale. Masks, features,
 * outputs, thresholds and statuses are those of sis/sis.h, and the scores that are reported come
 * from full passes. Ties go to the higher feature number, so that the lowest goes first when
 * features are masked, as in backward selection.
 *
 *     method      attribution of a feature                                        importance
 *     perturb     score of the input minus the score with only it masked          the same
 *     ig          integral of the gradient from baseline to input, times the      sum of absolute
 *                 way; summed over the feature's values                           values
 *     lime        weight of a linear model fitted to the scores of random         the same
 *                 masks, near ones counting more
 *     gradient    none: see below
 *     quick       none: see below
 *
 * With opt.below importances change sign, but for ig, whose have none.
 *
 * Batched gradient SIS (Carter, Jain, Mueller and Gifford 2021) is backward selection that masks
 * the `step` features at once whose masking, by the gradient, costs least: n / step gradients
 * instead of n^2 / 2 evaluations. What was left when the score last reached the threshold is then
 * pruned by exact removal of single features until each is needed (Proposition 1).
 *
 * Quick finds collections of disjoint minimal subsets, as SIS does, with few questions: by divide and
 * conquer (Junker 2004) about 2k(1 + log2(n/k)) for a subset of k, besides those for the order of
 * preference. It keeps what comes early in that order, so its subsets are other ones than those of
 * backward selection, and often a little larger.
 *
 * A sample that holds NaN has NaN for every statistic, as an empty one has.
 */
#ifndef SIS_EXPLAIN_H
#define SIS_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

#include <sis/error.h>
#include <sis/sis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name in results files */
#define SIS_METHODS(X)                                                                             \
    X(PERTURB, "perturb")                                                                          \
    X(IG, "ig")                                                                                    \
    X(LIME, "lime")                                                                                \
    X(GRADIENT, "gradient")                                                                        \
    X(QUICK, "quick")

typedef enum sis_method {
#define SIS_METHOD_CODE(name, text) SIS_METHOD_##name,
    SIS_METHODS(SIS_METHOD_CODE)
#undef SIS_METHOD_CODE
} sis_method;

/* name in results files, which features are the rationale */
#define SIS_CONSTRAINTS(X)                                                                         \
    X(SUFFICIENT, "sufficient") /* the fewest from the top that reach the threshold (FindSIS) */   \
    X(LENGTH, "length") /* as many as the median subset of the SIS collection of the input has */  \
    X(TOP, "top")       /* ig: the fewest from the top whose attributions add up to the threshold  \
                           minus the score of the baseline */

typedef enum sis_constraint {
#define SIS_CONSTRAINT_CODE(name, text) SIS_CONSTRAINT_##name,
    SIS_CONSTRAINTS(SIS_CONSTRAINT_CODE)
#undef SIS_CONSTRAINT_CODE
} sis_constraint;

/* name as an option, in which order quick prefers features */
#define SIS_PREFERENCES(X)                                                                         \
    X(PERTURB, "perturb")   /* by what the score loses when only this one is masked */             \
    X(GRADIENT, "gradient") /* by what it would lose by the gradient at the input */               \
    X(NONE, "none")         /* as they come */

typedef enum sis_preference {
#define SIS_PREFER_CODE(name, text) SIS_PREFER_##name,
    SIS_PREFERENCES(SIS_PREFER_CODE)
#undef SIS_PREFER_CODE
} sis_preference;

const char *sis_preference_name(sis_preference prefer);
const char *sis_method_name(sis_method method);
const char *sis_constraint_name(sis_constraint constraint);

typedef struct sis_method_opt {
    sis_method method;
    sis_constraint constraint;
    size_t length;  /* LENGTH: how many; 0: find the collection first */
    int trace;      /* also the score of every prefix of the order, into subsets[0].trace; gradient
                       and quick, whose first subset is not the top of their order: it comes first */
    uint64_t seed;  /* lime */
    size_t samples; /* lime: random masks, default 5000 */
    double width;   /* lime: of the kernel, default 25; see docs/methods.md */
    double ridge;   /* lime: penalty on squared weights, default 1 */
    const double *lime_mask; /* lime: (n_values) what random masks put in instead of the input's
                                mask; NaN removes a token. NULL: the input's mask */
    size_t steps;            /* ig: points on the path, default 300 */
    int zero_baseline;       /* ig: from zero instead of the mask */
    size_t step;             /* gradient: features masked at once, default 1 */
    sis_preference prefer;   /* quick: which features it would rather keep */
    const int *order;        /* (n_order) all features that are not absent, most important first, as
                                the method found them before, for quick any; NULL: it finds them */
    size_t n_order;
} sis_method_opt;

/* Every default. */
void sis_method_opt_init(sis_method_opt *how);

/* NULL, or why these cannot be used, in words. */
const char *sis_method_opt_check(const sis_method_opt *how);

typedef struct sis_rationale {
    sis_collection collection; /* one subset, of gradient up to opt.max_subsets (0: one); claim says
                                  what is known of it. trace.order is the whole order, masked first
                                  to last, if how.trace */
    double *attributions;      /* (collection.n_features), or NULL: there are none */
    /* Of ig; NaN if it was not asked. Attributions must add up to the difference: */
    double sum;              /* of all attributions */
    double difference;       /* score of the input minus score of the baseline */
    sis_guarantee guarantee; /* for what the subsets are sufficient; zero: with the rest masked */
} sis_rationale;

void sis_rationale_release(sis_rationale *r);

/* |sum - difference| / |difference|; NaN if there is nothing to compare. */
double sis_rationale_error(const sis_rationale *r);

/* The median number of features of the subsets of a collection, halves rounded up: what LENGTH goes
 * by. 0 if it has none. */
size_t sis_collection_median(const sis_collection *c);

/* Explain one decision. On failure *out is empty and needs no release. SIS_E_UNSUPPORTED: the
 * method needs gradients and the model has none. */
int sis_explain(const sis_model *model, const sis_input *input, const sis_opt *opt,
                const sis_method_opt *how, sis_rationale *out);

/* Contrasts: disjoint minimal sets of features that lose the decision if they are masked, with all others as they
 * are. In the collection a subset's score is that of the input without its features; rest_score is that of all
 * subsets alone, and `complete` says that it decides; a trace's order is that in which features were shown again,
 * with everything masked at its start. As sis_collect otherwise; one mask only. */
int sis_contrast(const sis_model *model, const sis_input *input, const sis_opt *opt,
                 sis_collection *out);

/* As sis_verify, for what sis_contrast claims. */
int sis_contrast_verify(const sis_model *model, const sis_input *input, const sis_opt *opt,
                        const sis_collection *claim, sis_audit *out);

/* ---- Samples ------------------------------------------------------------------------------- */

/* The percentile (0 to 100), between the two nearest numbers as numpy takes it: 50 is the
 * median. */
int sis_sample_percentile(const double *x, size_t n, double percent, double *out);

double sis_sample_mean(const double *x, size_t n);

/* The standard deviation with n - 1 in its denominator; of a single number it is NaN. */
double sis_sample_deviation(const double *x, size_t n);

/* ---- Tests --------------------------------------------------------------------------------- */

/* Every p-value is two-sided. */
typedef struct sis_test {
    double statistic;
    double p;
    size_t n;  /* numbers, or pairs, that counted */
    int exact; /* p is of the exact distribution, not of its normal approximation */
} sis_test;

/* Wilcoxon's rank-sum test of two independent samples, also called Mann and Whitney's. The
 * statistic is U of x: how many pairs have x > y, equal ones counted half. Exact if there are no
 * ties and the smaller sample has at most 8 numbers (and nx * ny is at most a million); otherwise
 * normal, corrected for ties and continuity. The same as scipy.stats.mannwhitneyu(x, y) with its
 * defaults; scipy.stats.ranksums differs, it makes neither correction. */
int sis_test_rank_sum(const double *x, size_t nx, const double *y, size_t ny, sis_test *out);

/* Wilcoxon's signed-rank test of pairs. The statistic is the smaller of the two rank sums, of the
 * positive and of the negative differences x - y; pairs without a difference are left out (t.n are
 * left), and if none has one p is 1. Differences that are equal but for the rounding of x and y are
 * equally large. Exact if at most 50 differences are left, none is left out and
 * no two are equally large; otherwise normal, corrected for ties and continuity. The same as
 * scipy.stats.wilcoxon(x, y, correction=True) with the method, "exact" or "approx", that this
 * chooses. */
int sis_test_signed_rank(const double *x, const double *y, size_t n, sis_test *out);

/* Pearson's correlation: the statistic is r, p that of the t distribution with n - 2 degrees of
 * freedom (scipy.stats.pearsonr). Two pairs have p = 1; a sample without any difference has r =
 * NaN. */
int sis_test_pearson(const double *x, const double *y, size_t n, sis_test *out);

/* An interval that holds the true share at least as often as `confidence` says, whatever it is, when
 * `kept` of n independent draws were of that kind (Clopper and Pearson 1934). n = 0: 0 to 1. */
void sis_share_interval(size_t kept, size_t n, double confidence, double *low, double *high);

/* ---- Parts of inputs ----------------------------------------------------------------------- */

/* Some features of an input: what is left of it, or, with `without`, what is masked. */
typedef struct sis_part {
    const sis_input *input;
    const int *features; /* (n) */
    size_t n;
    int without;
} sis_part;

/* The score of the output that is explained, for each of n parts, by full passes; of several masks
 * the mean. Only jobs, memory and progress of the options matter. */
int sis_part_scores(const sis_model *model, const sis_part *parts, size_t n, const sis_opt *opt,
                    double *scores);

/* The marginal importance of every feature: by how much the score falls (opt->below: rises) if that
 * feature alone is masked. n_features numbers to `importance`. */
int sis_importance(const sis_model *model, const sis_input *input, const sis_opt *opt,
                   double *importance);

/* ---- Hot decks --------------------------------------------------------------------------------- */

/* A hot deck: inputs that lend their values to missing features. */
typedef struct sis_deck sis_deck;

/* Which input lends a missing feature its values. */
typedef enum sis_deck_kind {
    SIS_DECK_FEATURES, /* any input, drawn for each feature by itself: the same feature of it */
    SIS_DECK_ANYWHERE, /* any feature of any input, each equally often (words, bases) */
    SIS_DECK_ROWS,     /* one input for all features, so that what depends on each other stays so */
} sis_deck_kind;

/* Borrows the inputs, which have the same number of values unless they lend ANYWHERE. */
int sis_deck_new(const sis_input *inputs, size_t n, sis_deck_kind kind, sis_deck **out);
void sis_deck_free(sis_deck *deck);

/* Draw masks for an input: mask (n_samples, n_values), the same for the same seed. */
int sis_deck_draw(const sis_deck *deck, const sis_input *input, size_t n_samples, uint64_t seed,
                  double *mask);

/* How much do scores depend on the draws? Each of n subsets of the input alone, with n_samples > 1 fresh
 * draws in the place of the rest: the mean score and its standard error, to scores and errors (n).
 * Only jobs, memory and progress of the options matter. */
int sis_deck_scores(const sis_deck *deck, const sis_model *model, const sis_input *input,
                    const sis_subset *subsets, size_t n, size_t n_samples, uint64_t seed,
                    const sis_opt *opt, double *scores, double *errors);

/* The study of masks: `draws` times an input of the deck and one of its features are drawn; by_mask
 * (draws) is the change of the score when its own mask takes the feature's place, by_deck (draws)
 * when a value drawn from the deck does. */
int sis_deck_study(const sis_deck *deck, const sis_model *model, const sis_opt *opt, size_t draws,
                   uint64_t seed, double *by_mask, double *by_deck);

/* ---- Models of other models ----------------------------------------------------------------- */

/* The decision "this output is on top" as one about a score: a model, which borrows the other, whose
 * score of an output is how far its margin is ahead of the highest other one. 0 or more: no other is
 * higher (equal but for rounding is 0). It is for one thread. */
void sis_model_argmax(const sis_model *model, sis_model *out);

/* The decision itself as a score: 1 where the other model's score (link applied) reaches the
 * threshold, else 0. With several mask samples its mean is the share of them that keep the decision.
 * Borrows both structs; for one thread. */
typedef struct sis_deciding {
    const sis_model *model;
    double threshold;
    int below;
} sis_deciding;
void sis_model_decide(const sis_deciding *decision, sis_model *out);

/* ---- Places -------------------------------------------------------------------------------- */

/* Features in rows of `width`, row after row, `height` of them (1: a sequence): set keep[f] for
 * each of the n features and for all that lie within `distance` of one, in rows as in columns. keep
 * has height * width flags, which are otherwise left as they are. */
int sis_features_around(size_t height, size_t width, const int *features, size_t n, size_t distance,
                        unsigned char *keep);

#ifdef __cplusplus
}
#endif
#endif
