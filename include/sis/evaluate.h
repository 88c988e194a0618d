/* SPDX-License-Identifier: MIT
 *
 * sis/evaluate.h - which rationale to trust: the numbers by which explanations are compared.
 *
 *     sis_test t;
 *     if (sis_test_rank_sum(sis_lengths, 200, ig_lengths, 200, &t) == 0)
 *         printf("p = %g\n", t.p);
 *
 * From the bottom up: statistics of samples, the score of any part of an input, and what is said of a
 * rationale by them: how important its features are one by one, how it lies to a motif, whether it
 * holds under other masks.
 *
 * A sample that holds NaN has NaN for every statistic, as an empty one has.
 * Errors: 0 or a negative code of sis/error.h. Nothing here keeps what it was given.
 */
#ifndef SIS_EVALUATE_H
#define SIS_EVALUATE_H

#include <stddef.h>
#include <stdint.h>

#include <sis/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Samples ------------------------------------------------------------------------------- */

/* Ranks from 1, equal numbers sharing the mean of theirs: n numbers to `ranks`. */
int sis_sample_ranks(const double *x, size_t n, double *ranks);

/* The percentile (0 to 100), between the two nearest numbers as numpy takes it: 50 is the median. */
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

/* Wilcoxon's rank-sum test of two independent samples, also called Mann and Whitney's. The statistic
 * is U of x: how many pairs have x > y, equal ones counted half. Exact if there are no ties and the
 * smaller sample has at most 8 numbers (and nx * ny is at most a million); otherwise normal, corrected
 * for ties and continuity. The same as scipy.stats.mannwhitneyu(x, y) with its defaults;
 * scipy.stats.ranksums differs, it makes neither correction. */
int sis_test_rank_sum(const double *x, size_t nx, const double *y, size_t ny, sis_test *out);

/* Wilcoxon's signed-rank test of pairs. The statistic is the smaller of the two rank sums, of the
 * positive and of the negative differences x - y; pairs without a difference are left out (t.n are
 * left), and if none has one p is 1. Exact if at most 50 differences are left, none is left out and no
 * two are equally large; otherwise normal, corrected for ties and continuity. The same as
 * scipy.stats.wilcoxon(x, y, correction=True), which is exact under the same conditions. */
int sis_test_signed_rank(const double *x, const double *y, size_t n, sis_test *out);

/* Pearson's correlation: the statistic is r, p that of the t distribution with n - 2 degrees of freedom
 * (scipy.stats.pearsonr). Two pairs have p = 1; a sample without any difference has r = NaN. */
int sis_test_pearson(const double *x, const double *y, size_t n, sis_test *out);

#ifdef __cplusplus
}
#endif
#endif
