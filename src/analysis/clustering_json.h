/* SPDX-License-Identifier: MIT
 *
 * Clusters inside of other findings.
 */
#ifndef SIS_ANALYSIS_CLUSTERING_JSON_H
#define SIS_ANALYSIS_CLUSTERING_JSON_H

#include <sis/analysis.h>

#include "base/buf.h"
#include "results/fields.h"

void sis__clustering_put(sis__buf *b, const sis_clustering *c);
void sis__clustering_take(sis__fields *f, sis_clustering *out);

#endif
