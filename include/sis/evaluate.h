/* SPDX-License-Identifier: MIT
 *
 * sis/evaluate.h - which rationale to trust: the numbers by which explanations are compared.
 *
 * Laboratory: may change from one version to the next.
 *
 *     sis_test t;
 *     if (sis_test_rank_sum(sis_lengths, 200, ig_lengths, 200, &t) == 0)
 *         printf("p = %g\n", t.p);
 *
 * From the bottom up: statistics of samples, the score of any part of an input, and what is said of
 * a rationale by them: how important its features are one by one, how it lies to a motif, whether
 * it holds under other masks.
 *
 * A sample that holds NaN has NaN for every statistic, as an empty one has.
 * Errors: 0 or a negative code of sis/error.h. Nothing here keeps what it was given.
 */
#ifndef SIS_EVALUATE_H
#define SIS_EVALUATE_H

#include <stddef.h>
#include <stdint.h>

#include <sis/data.h>
#include <sis/error.h>
#include <sis/sis.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* ---- Motifs -------------------------------------------------------------------------------- */

/* Where a rationale lies on a motif. */
typedef struct sis_alignment {
    size_t start;      /* the position of the sequence at which the motif begins */
    int reverse;       /* it is the motif of the other strand */
    double likelihood; /* its logarithm */
    double divergence; /* the sum over positions of KL(rationale || motif), in nats */
} sis_alignment;

/* A position of a motif is mixed with this share of uniform bases, so that none is impossible. */
#define SIS_MOTIF_UNIFORM 0.01

/* Lay n features of a sequence of A C G T N, all its other bases being N, on a motif where that is
 * likeliest: any place inside the sequence, either strand (of equals the first, the given strand
 * before the other). An N is any base with probability 1/4, and so is what the motif does not
 * cover. */
int sis_motif_align(const sis_motif *motif, const char *sequence, const int *features, size_t n,
                    sis_alignment *out);

/* ---- Masks --------------------------------------------------------------------------------- */

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

/* Features in rows of `width`, row after row, `height` of them (1: a sequence): set keep[f] for
 * each of the n features and for all that lie within `distance` of one, in rows as in columns. keep
 * has height * width flags, which are otherwise left as they are. */
int sis_features_around(size_t height, size_t width, const int *features, size_t n, size_t distance,
                        unsigned char *keep);

/* ---- Robustness ---------------------------------------------------------------------------- */

/* What else to try than the mask that a rationale was found with. */
typedef struct sis_robust_opt {
    const sis_deck *deck; /* hot-deck masks in the place of its own; borrowed */
    size_t samples;       /* of them, and of random halves; at least 1 */
    uint64_t seed;        /* of example 0; input i of a call has seed + i */
    size_t height,
        width;       /* how features lie, as in sis_features_around; 0: they have no neighbours */
    size_t distance; /* of neighbours that are put back */
} sis_robust_opt;

/* Scores of a rationale when what surrounds it is different, and how often they are enough. */
typedef struct sis_robustness {
    double deck, deck_holds; /* mean over hot-deck masks; share of them under which it is enough */
    double around, around_holds; /* with its neighbours put back; 1 or 0. NaN: they have none */
    double half, half_holds; /* with random halves of all other features put back: mean, share */
} sis_robustness;

/* Try n rationales (parts that say what is left): out (n). opt->threshold and below say what is
 * enough. Needs memory for `samples` masks of each of them. */
int sis_robustness_measure(const sis_model *model, const sis_part *parts, size_t n,
                           const sis_opt *opt, const sis_robust_opt *robust, sis_robustness *out);

/* ---- Yardsticks ------------------------------------------------------------------------------
 *
 * The numbers by which the field compares explanations. A ranking is looked at where it is cut: its
 * first 1, 5, 10, 20 and 50 per cent of all features, rounded up. */

enum { SIS_N_CUTS = 5 };

double sis_cut_percent(size_t cut);              /* 1, 5, 10, 20, 50 */
size_t sis_cut_features(size_t cut, size_t all); /* how many of `all` features that is */

/* What a ranking is worth at each cut. The mean over the cuts is the AOPC (area over the perturbation
 * curve) of DeYoung et al. 2020, ERASER. */
typedef struct sis_faithfulness {
    double
        sufficiency[SIS_N_CUTS]; /* what the score falls by if only the first features are left */
    double comprehensiveness[SIS_N_CUTS]; /* if they alone are masked */
    double pgi[SIS_N_CUTS]; /* the mean change of the score, either way, if they are drawn anew */
    double pgu[SIS_N_CUTS]; /* if all others are (Dai et al. 2022) */
} sis_faithfulness;

/* Of features in `order`, the most important first: n of them, all or only those that the method
 * ranks; then a cut behind the last takes what there is. opt->below turns falls into rises. What is
 * drawn anew comes from the deck, `samples` times; without a deck pgi and pgu are NaN. */
typedef struct sis_ranking {
    const sis_input *input;
    const int *order; /* (n) */
    size_t n;
    const sis_deck *deck;
    size_t samples;
    uint64_t seed;
} sis_ranking;

int sis_faithfulness_measure(const sis_model *model, const sis_ranking *ranking, const sis_opt *opt,
                             sis_faithfulness *out);

/* Does a rationale (a part that says what is left) stay enough when others of its features come
 * back? At each cut that share of all other features, drawn at random, is put back `samples` times:
 * held (SIS_N_CUTS) says how often the score still was enough. */
int sis_stability_measure(const sis_model *model, const sis_part *part, const sis_opt *opt,
                          size_t samples, uint64_t seed, size_t held[SIS_N_CUTS]);

/* How two sets of features agree: a is judged, b is right. */
typedef struct sis_overlap {
    double precision, recall, f1; /* of features: ERASER's token F1 */
    double iou_f1;  /* of spans, the longest runs of neighbours: one of a is right if it shares half
                     * with one of b, intersection over union (ERASER's IOU F1) */
    double jaccard; /* intersection over union of the sets */
} sis_overlap;

/* Features may come in any order and more than once. An empty set agrees with nothing: all 0. */
int sis_overlap_measure(const int *a, size_t na, const int *b, size_t nb, sis_overlap *out);

#ifdef __cplusplus
}
#endif
#endif
