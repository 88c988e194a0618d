/* SPDX-License-Identifier: MIT
 *
 * show.h - one record on a terminal or in a file.
 */
#ifndef SIS_CLI_SHOW_H
#define SIS_CLI_SHOW_H

#include <stdio.h>

#include <sis/results.h>

#include "cli.h"

/* Print the record; at most `subsets` of its subsets, 0 for all. In colour if `out` is a terminal
 * and NO_COLOR is not set. */
void cli_show_record(FILE *out, const sis_record *r, size_t subsets);

#endif
