/* SPDX-License-Identifier: MIT
 *
 * Ordering of numbers: comparisons for qsort and bsearch, and quantiles.
 */
#ifndef SIS_BASE_ORDER_H
#define SIS_BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Ascending. NaN has no order: leave it out. */
int sis__by_int(const void *a, const void *b);
int sis__by_double(const void *a, const void *b);

/* Maps doubles to integers in the same order, so that the doubles between two numbers can be
 * bisected. */
int64_t sis__double_rank(double v);
double sis__double_at(int64_t rank);
int32_t sis__float_rank(float v);
float sis__float_at(int32_t rank);

/* The q-quantile (0..1) of n sorted numbers, interpolated linearly; NaN if n is 0. */
double sis__quantile(const double *sorted, size_t n, double q);

#endif
