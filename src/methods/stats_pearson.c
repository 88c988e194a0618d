/* SPDX-License-Identifier: MIT
 *
 * Pearson's correlation and its p-value. Without correlation r^2 follows a beta distribution, so
 * the two-sided p is the regularized incomplete beta function I(1 - r^2; n/2 - 1, 1/2). It is
 * computed as a continued fraction by Lentz's method, on the side where that converges fast. Small
 * p-values keep their relative precision, because the factor of the fraction is formed from
 * logarithms and nothing is subtracted from 1.
 */
#include <float.h>
#include <math.h>

#include <sis/explain.h>

/* needs about sqrt(max(a, b)) steps: enough for n up to a hundred million */
enum { STEPS = 10000 };

/* log |gamma(x)| without lgamma's global sign. */
static double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

static double not_zero(double v) {
    return fabs(v) < DBL_MIN ? DBL_MIN : v;
}

/* The continued fraction of I(x; a, b), for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b) {
    double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), f = d;
    for (int m = 1; m < STEPS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / not_zero(1 + even * d);
        c = not_zero(1 + even / c);
        f *= d * c;
        d = 1 / not_zero(1 + odd * d);
        c = not_zero(1 + odd / c);
        f *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return f;
}

/* I(x; a, b) where y is 1 - x. */
static double beta_share(double x, double y, double a, double b) {
    if (!(x > 0) || !(y > 0))
        return x > 0 ? 1 : 0;
    double factor = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(y));
    if (x < (a + 1) / (a + b + 2))
        return factor * beta_fraction(x, a, b) / a;
    return 1 - factor * beta_fraction(y, b, a) / b;
}

/* The sum of (x - its mean) (y - its mean). */
static double product(const double *x, double x_mean, const double *y, double y_mean, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - x_mean) * (y[i] - y_mean);
    return sum;
}

static int is_constant(const double *x, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (x[i] != x[0])
            return 0;
    return 1;
}

int sis_test_pearson(const double *x, const double *y, size_t n, sis_test *out) {
    *out = (sis_test){.statistic = NAN, .p = NAN, .n = n, .exact = 1};
    if (n < 2 || is_constant(x, n) || is_constant(y, n))
        return SIS_OK;
    double x_mean = sis_sample_mean(x, n), y_mean = sis_sample_mean(y, n);
    double xx = product(x, x_mean, x, x_mean, n), yy = product(y, y_mean, y, y_mean, n);
    double scale = isnormal(xx * yy) ? sqrt(xx * yy) : sqrt(xx) * sqrt(yy);
    double r = product(x, x_mean, y, y_mean, n) / scale;
    if (!isnormal(scale) || isnan(r))
        return SIS_OK;
    r = fmax(-1, fmin(1, r));
    out->statistic = n == 2 ? copysign(1, r) : r;
    out->p = n == 2 ? 1 : beta_share((1 - r) * (1 + r), r * r, (double)n / 2 - 1, 0.5);
    return SIS_OK;
}

/* The x with the given share of the beta distribution below it. */
static double beta_quantile(double share, double a, double b) {
    double low = 0, high = 1;
    for (int i = 0; i < 200 && high - low > 0; i++) {
        double middle = low + (high - low) / 2;
        if (middle == low || middle == high)
            break;
        if (beta_share(middle, 1 - middle, a, b) < share)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

void sis_share_interval(size_t kept, size_t n, double confidence, double *low, double *high) {
    double tail = (1 - confidence) / 2, k = (double)kept, lost = (double)(n - kept);
    *low = kept == 0 ? 0 : beta_quantile(tail, k, lost + 1);
    *high = kept == n ? 1 : beta_quantile(1 - tail, k + 1, lost);
}
