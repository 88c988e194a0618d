/* SPDX-License-Identifier: MIT
 *
 * Medoids of clusters.
 */
#ifndef SIS_ANALYSIS_MEDOID_H
#define SIS_ANALYSIS_MEDOID_H

#include "analysis/space.h"

/* Set out->medoids from labels (s->n) of the distinct points; out->n_clusters is set. */
int sis__medoids_find(const sis__space *s, const int *labels, int jobs, sis_clusters *out);

#endif
