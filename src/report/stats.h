/* SPDX-License-Identifier: MIT
 *
 * A growing list of numbers, and its statistics for plots.
 */
#ifndef SIS_REPORT_STATS_H
#define SIS_REPORT_STATS_H

#include <stddef.h>

typedef struct sis__numbers {
    double *items;
    size_t n, cap;
} sis__numbers;

int sis__numbers_add(sis__numbers *v, double x);
void sis__numbers_release(sis__numbers *v);
void sis__numbers_sort(sis__numbers *v);

/* The q-quantile (0..1) of sorted numbers, by linear interpolation; NaN if there are none. */
double sis__numbers_quantile(const sis__numbers *sorted, double q);

/* The range for plotting sorted numbers: excludes those farther from the middle half than three
 * times its width. */
void sis__numbers_range(const sis__numbers *sorted, double *low, double *high);

/* The smallest step of 1, 2 or 5 times a power of ten that is at least `step`. */
double sis__round_step(double step);

#endif
