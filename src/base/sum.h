/* SPDX-License-Identifier: MIT
 *
 * Sums of doubles kept as two doubles, about 106 bits: the order of the additions does not matter,
 * and the error of a mean is at most half a unit in the last place, unless terms cancel to less
 * than 2^-50 of the largest or are below 1e-290. The mean of equal terms is exact. Terms are scaled
 * down, so sums of 2^32 finite numbers stay finite.
 */
#ifndef SIS_BASE_SUM_H
#define SIS_BASE_SUM_H

#include <math.h>
#include <stddef.h>

static const double SIS__SUM_SCALE = 0x1p-32;

/* Add x to the sum *high + *low, which starts at zero. */
static inline void sis__sum_add(double *high, double *low, double x) {
    double a = *high, b = x * SIS__SUM_SCALE, sum = a + b, part = sum - a;
    double error = (a - (sum - part)) + (b - part) + *low;
    *high = sum + error;
    *low = error - (*high - sum);
}

/* The sum divided by n > 0. */
static inline double sis__sum_mean(double high, double low, size_t n) {
    double count = (double)n, mean = high / count;
    mean += (fma(-mean, count, high) + low) / count;
    return mean / SIS__SUM_SCALE;
}

#endif
