/* SPDX-License-Identifier: MIT
 *
 * Shared by record.c and feature.c.
 */
#ifndef SIS_RESULTS_RECORD_H
#define SIS_RESULTS_RECORD_H

#include <sis/results.h>

/* Add the order of values by feature to a record with a feature_map. */
int sis__record_index(sis_record *r);

#endif
