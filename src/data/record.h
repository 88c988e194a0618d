/* SPDX-License-Identifier: MIT
 *
 * The rules of results.h, in one place for what is written and what is read.
 */
#ifndef SIS_DATA_RECORD_H
#define SIS_DATA_RECORD_H

#include <sis/results.h>

/* 0, or `code` and a message that names the field that breaks a rule; SIS_E_NOMEM. */
int sis__record_check(const sis_record *r, int code);

/* Add by_feature to a record with a feature_map. */
int sis__record_index(sis_record *r);

#endif
