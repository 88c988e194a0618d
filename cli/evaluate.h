/* SPDX-License-Identifier: MIT
 *
 * evaluate.h - the options of sis evaluate and its output: tables, CSV, JSON (evaluate_table.c).
 */
#ifndef SIS_CLI_EVALUATE_H
#define SIS_CLI_EVALUATE_H

#include "records.h"

typedef struct eval_options {
    cli_task_opt task;
    sis_evaluate_opt how;
    const char *csv, *json, *where;
    int force;
    cli_common common;
} eval_options;

/* Print the tables on standard output and write the requested files. */
int eval_tell(const eval_options *o, const sis_evaluate_opt *opt, const sis_evaluation *e);

#endif
