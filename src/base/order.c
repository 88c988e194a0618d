/* SPDX-License-Identifier: MIT
 *
 * Comparisons without overflow, and quantiles.
 */
#include "base/order.h"

#include <math.h>
#include <string.h>

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

double sis__double_at(int64_t rank) {
    uint64_t bits = rank < 0 ? (uint64_t)INT64_MIN - (uint64_t)rank : (uint64_t)rank;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

int64_t sis__double_rank(double v) {
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits < 0 ? (int64_t)((uint64_t)INT64_MIN - (uint64_t)bits) : bits;
}

float sis__float_at(int32_t rank) {
    uint32_t bits = rank < 0 ? (uint32_t)INT32_MIN - (uint32_t)rank : (uint32_t)rank;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

int32_t sis__float_rank(float v) {
    int32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits < 0 ? (int32_t)((uint32_t)INT32_MIN - (uint32_t)bits) : bits;
}
