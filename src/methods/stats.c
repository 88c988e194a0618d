/* SPDX-License-Identifier: MIT
 *
 * Statistics of samples: ranks, percentiles, Wilcoxon's two tests.
 *
 * Ranks cost a sort. Exact distributions are counted in doubles without loss of precision: only the
 * lower tail up to the statistic is counted, starting from its small numbers, never as one minus
 * the rest.
 *
 *     signed-rank   subsets of {1..n} by their sum; n <= 50, so every count is below 2^53
 *     rank-sum      the numbers of ways to reach U = u with m and n numbers are the coefficients of
 *                   (1 - x^(n+1)) ... (1 - x^(n+m)) / ((1 - x) ... (1 - x^m)): m passes over
 *                   the tail
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/explain.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/sum.h"

enum { EXACT_SMALLER = 8, EXACT_PAIRS = 50 };
static const double EXACT_PRODUCT = 1e6; /* nx * ny: the length of the exact distribution */

/* ---- Samples ------------------------------------------------------------------------------- */

static int has_nan(const double *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (isnan(x[i]))
            return 1;
    return 0;
}

/* A number and its original index. */
typedef struct {
    double value;
    size_t at;
} place;

static int by_value(const void *a, const void *b) {
    return sis__by_double(&((const place *)a)->value, &((const place *)b)->value);
}

/* Ranks, and the sum of t^3 - t over groups of t ties; 0 if there are no ties. Numbers are tied if
 * they differ by at most `slack` from the next smaller one. */
static int rank(const double *x, size_t n, double slack, double *ranks, double *ties) {
    place *sorted = SIS_NEW_RAW(place, n);
    *ties = 0;
    if (!sorted)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        sorted[i] = (place){x[i], i};
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && sorted[to].value - sorted[to - 1].value <= slack;)
            to++;
        double t = (double)(to - from);
        *ties += t * t * t - t;
        for (size_t i = from; i < to; i++)
            ranks[sorted[i].at] = (double)(from + to + 1) / 2;
    }
    free(sorted);
    return SIS_OK;
}

int sis_sample_percentile(const double *x, size_t n, double percent, double *out) {
    *out = NAN;
    if (!(percent >= 0 && percent <= 100))
        return sis__fail(SIS_E_ARGUMENT, "expected a percentile from 0 to 100, found %g", percent);
    if (n == 0 || has_nan(x, n))
        return SIS_OK;
    double *sorted = (double *)sis__copy(x, n, sizeof *x);
    if (!sorted)
        return SIS_E_NOMEM;
    qsort(sorted, n, sizeof *sorted, sis__by_double);
    *out = sis__quantile(sorted, n, percent / 100);
    free(sorted);
    return SIS_OK;
}

double sis_sample_mean(const double *x, size_t n) {
    double high = 0, low = 0;
    for (size_t i = 0; i < n; i++)
        sis__sum_add(&high, &low, x[i]);
    return n ? sis__sum_mean(high, low, n) : NAN;
}

double sis_sample_deviation(const double *x, size_t n) {
    double mean = sis_sample_mean(x, n), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return n > 1 ? sqrt(sum / (double)(n - 1)) : NAN;
}

/* ---- Distributions ------------------------------------------------------------------------- */

/* Probability of both tails of the normal distribution beyond |z|. */
static double normal_tails(double z) {
    return erfc(fabs(z) / sqrt(2));
}

/* Two-sided p from the lower tail. */
static double both_tails(double lower) {
    return lower < 0.5 ? 2 * lower : 1;
}

/* Share of the subsets of {1..n} whose sum is at most `max`. */
static int signed_rank_tail(size_t n, size_t max, double *out) {
    double *count = SIS_NEW(double, max + 1), sum = 0;
    if (!count)
        return SIS_E_NOMEM;
    count[0] = 1;
    for (size_t i = 1; i <= n; i++)
        for (size_t s = max; s >= i; s--)
            count[s] += count[s - i];
    for (size_t s = 0; s <= max; s++)
        sum += count[s];
    free(count);
    *out = ldexp(sum, -(int)n);
    return SIS_OK;
}

/* Share of the orders of m and n numbers whose U is at most `max`. */
static int rank_sum_tail(size_t m, size_t n, size_t max, double *out) {
    double *count = SIS_NEW(double, max + 1), sum = 0;
    if (!count)
        return SIS_E_NOMEM;
    count[0] = 1;
    for (size_t i = 1; i <= m; i++) {
        for (size_t u = max; u >= n + i; u--)
            count[u] -= count[u - n - i];
        for (size_t u = i; u <= max; u++)
            count[u] += count[u - i];
    }
    for (size_t u = 0; u <= max; u++)
        sum += count[u];
    free(count);
    for (size_t i = 1; i <= m; i++)
        sum *= (double)i / (double)(n + i);
    *out = sum;
    return SIS_OK;
}

/* ---- Rank-sum ------------------------------------------------------------------------------ */

/* p of U = `smaller`, the smaller of U and nx * ny - U, by the normal approximation. */
static double rank_sum_normal(double nx, double ny, double ties, double smaller) {
    double n = nx + ny, middle = nx * ny / 2;
    double deviation = sqrt(nx * ny / 12 * (n + 1 - ties / (n * (n - 1))));
    if (!(deviation > 0) || smaller + 0.5 >= middle)
        return 1;
    return normal_tails((middle - smaller - 0.5) / deviation);
}

/* The test of nx and ny numbers, concatenated in `both`, with room for their ranks. */
static int rank_sum(const double *both, double *ranks, size_t nx, size_t ny, sis_test *out) {
    double ties, sum = 0, x = (double)nx, y = (double)ny;
    int code = rank(both, nx + ny, 0, ranks, &ties);
    for (size_t i = 0; code == SIS_OK && i < nx; i++)
        sum += ranks[i];
    out->statistic = sum - x * (x + 1) / 2;
    double smaller = fmin(out->statistic, x * y - out->statistic), lower;
    size_t few = nx < ny ? nx : ny, many = nx < ny ? ny : nx;
    out->exact = ties == 0 && few <= EXACT_SMALLER && x * y <= EXACT_PRODUCT;
    if (code != SIS_OK || !out->exact) {
        out->p = rank_sum_normal(x, y, ties, smaller);
        return code;
    }
    code = rank_sum_tail(few, many, (size_t)smaller, &lower);
    if (code == SIS_OK)
        out->p = both_tails(lower);
    return code;
}

int sis_test_rank_sum(const double *x, size_t nx, const double *y, size_t ny, sis_test *out) {
    *out = (sis_test){.statistic = NAN, .p = NAN, .n = nx + ny};
    if (nx == 0 || ny == 0 || has_nan(x, nx) || has_nan(y, ny))
        return SIS_OK;
    double *both = SIS_NEW_RAW(double, nx + ny), *ranks = SIS_NEW_RAW(double, nx + ny);
    int code = both && ranks ? SIS_OK : SIS_E_NOMEM;
    if (code == SIS_OK) {
        memcpy(both, x, nx * sizeof *x);
        memcpy(both + nx, y, ny * sizeof *y);
        code = rank_sum(both, ranks, nx, ny, out);
    }
    free(both);
    free(ranks);
    return code;
}

/* ---- Signed-rank --------------------------------------------------------------------------- */

static double signed_rank_normal(double n, double ties, double smaller) {
    double middle = n * (n + 1) / 4;
    double deviation = sqrt((n * (n + 1) * (2 * n + 1) - ties / 2) / 24);
    return smaller + 0.5 >= middle ? 1 : normal_tails((middle - smaller - 0.5) / deviation);
}

/* n nonzero differences among `all` pairs. Tied differences may differ by up to `slack`, the
 * rounding error of their terms (for example 14 and 13 of 101 features in per cent, and 13 and
 * 12). */
typedef struct {
    double *at;
    size_t n, all;
    double slack;
} differences;

/* `size` has room for their absolute values, then their ranks. */
static int signed_rank(const differences *d, double *size, sis_test *out) {
    size_t n = d->n;
    double ties, lower, positive = 0, *ranks = size + n, total = (double)n * (double)(n + 1) / 2;
    for (size_t i = 0; i < n; i++)
        size[i] = fabs(d->at[i]);
    int code = rank(size, n, d->slack, ranks, &ties);
    for (size_t i = 0; code == SIS_OK && i < n; i++)
        positive += d->at[i] > 0 ? ranks[i] : 0;
    out->statistic = fmin(positive, total - positive);
    out->exact = n == d->all && ties == 0 && n <= EXACT_PAIRS;
    if (code != SIS_OK || !out->exact) {
        out->p = signed_rank_normal((double)n, ties, out->statistic);
        return code;
    }
    code = signed_rank_tail(n, (size_t)out->statistic, &lower);
    if (code == SIS_OK)
        out->p = both_tails(lower);
    return code;
}

int sis_test_signed_rank(const double *x, const double *y, size_t n, sis_test *out) {
    *out = (sis_test){.statistic = NAN, .p = NAN};
    differences d = {SIS_NEW_RAW(double, n), 0, n, 0};
    double *size = SIS_NEW_RAW(double, 2 * n), max = 0;
    int code = d.at && size ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; code == SIS_OK && i < n; i++)
        if (x[i] != y[i]) {
            d.at[d.n++] = x[i] - y[i];
            max = fmax(max, fmax(fabs(x[i]), fabs(y[i])));
        }
    d.slack = isfinite(max) ? 4 * DBL_EPSILON * max : 0;
    if (code == SIS_OK && n > 0 && !has_nan(d.at, d.n)) {
        if (d.n > 0)
            code = signed_rank(&d, size, out);
        else
            *out = (sis_test){.statistic = 0, .p = 1};
    }
    out->n = d.n;
    free(d.at);
    free(size);
    return code;
}
