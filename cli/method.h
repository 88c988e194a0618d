/* SPDX-License-Identifier: MIT
 *
 * method.h - options that say how to explain: which method, which constraint, and their numbers.
 */
#ifndef SIS_CLI_METHOD_H
#define SIS_CLI_METHOD_H

#include <sis/task.h>

#include "cli.h"

typedef struct cli_method {
    const char *name, *constraint, *lengths, *orders, *baseline, *prefer;
    size_t steps, step;
    int remove;
} cli_method;
extern const cli_option cli_method_options[];
void cli_method_init(cli_method *m);

/* "sis" itself, which takes none of the other options? */
int cli_method_is_sis(const cli_method *m);

/* As a task has them. */
void cli_method_fill(const cli_method *m, sis_task_opt *out);

#endif
