/* SPDX-License-Identifier: MIT
 *
 * compare.h - the options of sis compare and its text output (compare_show.c).
 */
#ifndef SIS_CLI_COMPARE_H
#define SIS_CLI_COMPARE_H

#include "cluster.h"
#include "opening.h"
#include "records.h"

typedef struct cli_compare_options {
    sis_compare_opt how;
    const char *output, *where;
    cli_target target;
    cli_clustering clustering;
    size_t max;
    cli_opening open;
    int force;
    cli_common common;
} cli_compare_options;

int cli_comparison_print(const cli_compare_options *o, const sis_comparison *c);

#endif
