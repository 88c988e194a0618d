/* SPDX-License-Identifier: MIT
 *
 * Records of every kind for tests of reports.
 */
#ifndef SIS_TEST_SUPPORT_REPORT_H
#define SIS_TEST_SUPPORT_REPORT_H

#include <sis/report.h>

#include "support_results.h"

/* The sample as text, sequence, table, picture, and as nothing but numbers. */
void kinds_make(sample *s, sis_record out[5]);

/* Add the record to the report by way of its text, as files do. */
int report_take(sis_report *report, const sis_record *r);

/* How often `part` is in the text. */
size_t occurrences(const char *text, const char *part);

#endif
