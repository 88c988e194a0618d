/* SPDX-License-Identifier: MIT
 *
 * Numbers in order: for qsort and bsearch, and what order says about a sample.
 */
#ifndef SIS_BASE_ORDER_H
#define SIS_BASE_ORDER_H

#include <stddef.h>

/* Ascending. NaN is neither before nor after anything: leave it out. */
int sis__by_int(const void *a, const void *b);
int sis__by_double(const void *a, const void *b);

/* The q-quantile (0..1) of n sorted numbers, between neighbours by proportion; NaN if there are
 * none. */
double sis__quantile(const double *sorted, size_t n, double q);

#endif
