/* SPDX-License-Identifier: MIT
 *
 * Random points, and DBSCAN by its definition on a whole matrix of distances: the oracle.
 */
#ifndef SIS_TEST_SUPPORT_ANALYSIS_H
#define SIS_TEST_SUPPORT_ANALYSIS_H

#include <sis/analysis.h>

#include "base/rng.h"

/* n points, few of them alike for `spread` = 3, many for 1. */
sis_points *random_points(sis__rng *r, sis_distance distance, size_t n, size_t spread);

/* (n, n) by plain definitions; free() it. */
double *distance_matrix(const sis_points *points);

/* Labels (n) as Ester et al. grow clusters, point after point; free() them. */
int *plain_dbscan(const double *matrix, size_t n, double eps, size_t min_size);

#endif
