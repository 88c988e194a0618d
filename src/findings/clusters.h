/* SPDX-License-Identifier: MIT
 *
 * Clusters inside of other findings.
 */
#ifndef SIS_FINDINGS_CLUSTERS_H
#define SIS_FINDINGS_CLUSTERS_H

#include <sis/findings.h>

#include "base/buf.h"
#include "findings/fields.h"

void sis__clustering_put(sis__buf *b, const sis_clustering *c);
void sis__clustering_take(sis__fields *f, sis_clustering *out);

#endif
