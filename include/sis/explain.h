/* SPDX-License-Identifier: MIT
 *
 * sis/explain.h - other explanation methods to compare with sufficient input subsets; also
 * statistics, scores of parts of inputs and hot decks.
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
 * Each method gives every feature an attribution. Sorting by attribution gives an order, most
 * important first. A constraint sets how many features from its top form the rationale. Masks,
 * features, outputs, thresholds and statuses are those of sis/sis.h, and reported scores come from
 * full passes. Ties go to the higher feature number, so that the lowest goes first when features
 * are masked, as in backward selection.
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
 * With opt.below importances change sign, except those of ig, which have none.
 *
 * Batched gradient SIS (Carter, Jain, Mueller and Gifford 2021) is backward selection that masks
 * `step` features at once, those that cost least by the gradient: n / step gradients instead of n^2
 * / 2 evaluations. The features left when the score last reached the threshold are then removed one
 * by one, by exact scores, until each is needed (Proposition 1).
 *
 * Quick finds collections of disjoint minimal subsets, as SIS does, with few evaluations: divide
 * and conquer (Junker 2004) takes about 2k(1 + log2(n/k)) for a subset of k features, plus those
 * for the order of preference. It prefers features early in that order, so its subsets differ from
 * those of backward selection and are often a little larger.
 *
 * Every statistic of a sample that is empty or holds NaN is NaN.
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
    size_t length;  /* LENGTH: number of features; 0: find the collection first */
    int trace;      /* also the score of every prefix of the order, in subsets[0].trace. With
                       gradient and quick the first subset comes first, although it is not the top
                       of their order */
    uint64_t seed;  /* lime */
    size_t samples; /* lime: random masks, default 5000 */
    double width;   /* lime: width of the kernel, default 25; see docs/methods.md */
    double ridge;   /* lime: penalty on squared weights, default 1 */
    const double *lime_mask; /* lime: (n_values) replaces the input's mask in random masks; NaN
                                removes a token. NULL: the input's mask */
    size_t steps;            /* ig: points on the path, default 300 */
    int zero_baseline;       /* ig: the path starts at zero instead of the mask */
    size_t step;             /* gradient: features masked at once, default 1 */
    sis_preference prefer;   /* quick: which features to prefer */
    const int *order;        /* (n_order) all present features, most important first, from an
                                earlier run of the method; any order for quick. NULL: computed */
    size_t n_order;
} sis_method_opt;

/* Sets the defaults. */
void sis_method_opt_init(sis_method_opt *how);

/* NULL, or why these options are invalid. */
const char *sis_method_opt_check(const sis_method_opt *how);

typedef struct sis_rationale {
    sis_collection collection; /* one subset; gradient: up to opt.max_subsets (0: one). claim says
                                  what is known of it. With how.trace, trace.order is the whole
                                  order, masked first to last */
    double *attributions;      /* (collection.n_features), or NULL: none */
    /* ig only, else NaN. Attributions must add up to the difference: */
    double sum;              /* of all attributions */
    double difference;       /* score of the input minus score of the baseline */
    sis_guarantee guarantee; /* the condition under which subsets are sufficient; zero: the rest is
                                masked */
} sis_rationale;

void sis_rationale_release(sis_rationale *r);

/* |sum - difference| / |difference|; NaN if there is nothing to compare. */
double sis_rationale_error(const sis_rationale *r);

/* The median number of features of a collection's subsets, halves rounded up; used by LENGTH. 0
 * without subsets. */
size_t sis_collection_median(const sis_collection *c);

/* Explain one decision. On failure *out is empty and needs no release. SIS_E_UNSUPPORTED: the
 * method needs gradients and the model has none. */
int sis_explain(const sis_model *model, const sis_input *input, const sis_opt *opt,
                const sis_method_opt *how, sis_rationale *out);

/* Contrasts: disjoint minimal sets of features that lose the decision when they are masked and all
 * others are unchanged. In the collection, a subset's score is that of the input without its
 * features; rest_score is the score of all subsets alone, and `complete` says that it decides. A
 * trace starts with everything masked and lists features in the order in which they are shown
 * again. Otherwise like sis_collect; one mask only. */
int sis_contrast(const sis_model *model, const sis_input *input, const sis_opt *opt,
                 sis_collection *out);

/* Like sis_verify, for the claims of sis_contrast. */
int sis_contrast_verify(const sis_model *model, const sis_input *input, const sis_opt *opt,
                        const sis_collection *claim, sis_audit *out);

/* ---- Samples ------------------------------------------------------------------------------- */

/* The percentile (0 to 100), interpolated linearly as in numpy: 50 is the median. */
int sis_sample_percentile(const double *x, size_t n, double percent, double *out);

double sis_sample_mean(const double *x, size_t n);

/* The standard deviation with denominator n - 1; NaN for a single number. */
double sis_sample_deviation(const double *x, size_t n);

/* ---- Tests --------------------------------------------------------------------------------- */

/* Every p-value is two-sided. */
typedef struct sis_test {
    double statistic;
    double p;
    size_t n;  /* numbers, or pairs, used */
    int exact; /* p is from the exact distribution, not the normal approximation */
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

/* The exact confidence interval of a share, when `kept` of n independent draws have the property
 * (Clopper and Pearson 1934). n = 0: 0 to 1. */
void sis_share_interval(size_t kept, size_t n, double confidence, double *low, double *high);

/* ---- Parts of inputs ----------------------------------------------------------------------- */

/* Some features of an input: those that are kept, or, with `without`, those that are masked. */
typedef struct sis_part {
    const sis_input *input;
    const int *features; /* (n) */
    size_t n;
    int without;
} sis_part;

/* The score of the explained output for each of n parts, by full passes; the mean over several
 * masks. Only jobs, memory and progress of the options are used. */
int sis_part_scores(const sis_model *model, const sis_part *parts, size_t n, const sis_opt *opt,
                    double *scores);

/* The marginal importance of every feature, to `importance` (n_features): the drop of the score
 * (opt->below: rise) if only that feature is masked. */
int sis_importance(const sis_model *model, const sis_input *input, const sis_opt *opt,
                   double *importance);

/* ---- Hot decks --------------------------------------------------------------------------------- */

/* A hot deck: inputs from which values of masked features are drawn. */
typedef struct sis_deck sis_deck;

/* The source of a masked feature's values. */
typedef enum sis_deck_kind {
    SIS_DECK_FEATURES, /* the same feature of a random input, drawn separately for each feature */
    SIS_DECK_ANYWHERE, /* any feature of any input, all equally likely (words, bases) */
    SIS_DECK_ROWS,     /* one input for all features, which keeps their dependence */
} sis_deck_kind;

/* Borrows the inputs, which must have equal numbers of values unless kind is ANYWHERE. */
int sis_deck_new(const sis_input *inputs, size_t n, sis_deck_kind kind, sis_deck **out);
void sis_deck_free(sis_deck *deck);

/* Draw masks for an input: mask (n_samples, n_values), determined by the seed. */
int sis_deck_draw(const sis_deck *deck, const sis_input *input, size_t n_samples, uint64_t seed,
                  double *mask);

/* n > 0 copies of an input, each with one mask drawn as above, which only sis_deck_copies_free
 * frees. */
int sis_deck_copies(const sis_deck *deck, const sis_input *input, size_t n, uint64_t seed,
                    sis_input **copies);
void sis_deck_copies_free(sis_input *copies);

/* How much scores depend on the draws: for each of n subsets of the input alone, the mean score
 * over n_samples > 1 new draws of the rest and its standard error, to scores and errors (n). Only
 * jobs, memory and progress of the options are used. */
int sis_deck_scores(const sis_deck *deck, const sis_model *model, const sis_input *input,
                    const sis_subset *subsets, size_t n, size_t n_samples, uint64_t seed,
                    const sis_opt *opt, double *scores, double *errors);

/* Comparison of mask and hot deck: `draws` times, an input of the deck and one of its features are
 * drawn. by_mask (draws) is the change of the score if the feature is masked, by_deck (draws) if it
 * gets a value from the deck. */
int sis_deck_study(const sis_deck *deck, const sis_model *model, const sis_opt *opt, size_t draws,
                   uint64_t seed, double *by_mask, double *by_deck);

/* ---- Derived models -------------------------------------------------------------------------- */

/* The decision "this output is highest" as a decision about a score: a model, borrowing the other,
 * whose score of an output is its margin minus the highest other margin. 0 or more: no other is
 * higher (equal within rounding is 0). For one thread. */
void sis_model_argmax(const sis_model *model, sis_model *out);

/* The decision as a score: 1 if the other model's score (link applied) reaches the threshold, else
 * 0. With several mask samples the mean is the share of samples that keep the decision. Borrows
 * both structs; for one thread. */
typedef struct sis_deciding {
    const sis_model *model;
    double threshold;
    int below;
} sis_deciding;
void sis_model_decide(const sis_deciding *decision, sis_model *out);

/* ---- Neighbouring features ------------------------------------------------------------------- */

/* Features in `height` rows of `width` (height 1: a sequence): set keep[f] for each of the n
 * features and for all within `distance` rows and columns of one. keep has height * width flags;
 * other flags are unchanged. */
int sis_features_around(size_t height, size_t width, const int *features, size_t n, size_t distance,
                        unsigned char *keep);

#ifdef __cplusplus
}
#endif
#endif
