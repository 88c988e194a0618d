/* SPDX-License-Identifier: MIT
 *
 * A record with every field in it, for tests of results files.
 */
#ifndef SIS_TEST_SUPPORT_RESULTS_H
#define SIS_TEST_SUPPORT_RESULTS_H

#include <sis/results.h>

#include "support.h"

enum { FEATURES = 6, VALUES = 8 };

/* A record and the memory it borrows. */
typedef struct {
    sis_record record;
    sis_subset subsets[2];
    int features[2][FEATURES], order[FEATURES], map[VALUES], human[2];
    double scores[FEATURES], values[VALUES], mask[VALUES];
    size_t shape[2];
    const char *names[VALUES], *words[FEATURES], *value_names[VALUES];
} sample;

void sample_make(sample *s);

/* The record as text, which must work; free() it. */
char *record_line(const sis_record *r, int with_trace);

/* Parse the line and write it again: the same bytes. */
void assert_stable(const char *line);

#endif
