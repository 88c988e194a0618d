/* SPDX-License-Identifier: MIT
 *
 * The member of each cluster that lies in its middle.
 */
#ifndef SIS_ANALYSIS_MEDOID_H
#define SIS_ANALYSIS_MEDOID_H

#include "analysis/space.h"

/* out->medoids from labels (s->n) of the different points; out->n_clusters is set. */
int sis__medoids_find(const sis__space *s, const int *labels, int jobs, sis_clusters *out);

#endif
