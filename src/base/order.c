/* SPDX-License-Identifier: MIT
 *
 * Comparisons without overflow, and quantiles.
 */
#include "base/order.h"

#include <math.h>

int sis__by_int(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int sis__by_double(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double sis__quantile(const double *sorted, size_t n, double q) {
    if (n == 0)
        return NAN;
    double at = q * (double)(n - 1);
    size_t low = (size_t)at, high = low + 1 < n ? low + 1 : low;
    double share = at - (double)low;
    return share > 0 ? sorted[low] + share * (sorted[high] - sorted[low]) : sorted[low];
}
