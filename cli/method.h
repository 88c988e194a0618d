/* SPDX-License-Identifier: MIT
 *
 * method.h - how to explain: which method, which constraint, and their numbers.
 */
#ifndef SIS_CLI_METHOD_H
#define SIS_CLI_METHOD_H

#include <sis/explain.h>

#include "cli.h"
#include "task.h"

typedef struct cli_method {
    const char *name, *constraint, *lengths, *orders, *baseline;
    size_t steps, step;
    int remove;
} cli_method;
extern const cli_option cli_method_options[];
void cli_method_init(cli_method *m);

/* "sis" itself, which takes none of the other options? */
int cli_method_is_sis(const cli_method *m);

/* Do the options fit each other? CLI_DONE or an exit status after one line on stderr. */
int cli_method_check(const cli_method *m, const cli_question *q, size_t max_subsets);

/* What the options mean for each input. */
typedef struct cli_plan {
    sis_method_opt *how; /* (n) */
    int **orders;        /* (n) NULL: none; each NULL: found anew */
    size_t n;
    double *remove; /* a mask that takes tokens out, if one was asked for */
} cli_plan;

/* For the n inputs `which` of the task. The plan is zeroed before, and released whatever the
 * outcome. */
int cli_method_plan(const cli_method *m, const cli_task *t, const cli_question *q,
                    const size_t *which, size_t n, cli_plan *plan);
void cli_method_release(cli_plan *plan);

#endif
