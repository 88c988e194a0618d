/* SPDX-License-Identifier: MIT
 *
 * What records and their features share.
 */
#ifndef SIS_RESULTS_RECORD_H
#define SIS_RESULTS_RECORD_H

#include <sis/results.h>

/* Add an order of values to a record with a feature_map. */
int sis__record_index(sis_record *r);

#endif
