/* SPDX-License-Identifier: MIT
 *
 * Numbers in order: for qsort and bsearch, and what order says about a sample.
 */
#ifndef SIS_BASE_ORDER_H
#define SIS_BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Ascending. NaN is neither before nor after anything: leave it out. */
int sis__by_int(const void *a, const void *b);
int sis__by_double(const void *a, const void *b);

/* Numbers as integers in the same order, so that all between two can be halved. */
int64_t sis__double_rank(double v);
double sis__double_at(int64_t rank);
int32_t sis__float_rank(float v);
float sis__float_at(int32_t rank);

/* The q-quantile (0..1) of n sorted numbers, between neighbours by proportion; NaN if there are
 * none. */
double sis__quantile(const double *sorted, size_t n, double q);

#endif
