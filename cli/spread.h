/* SPDX-License-Identifier: MIT
 *
 * spread.h - where the examples of a task are explained: by this process, or by many (mpi/).
 *
 * sis-mpi runs the same command in every process. The first leads: it reads what there is, hands out
 * examples and writes; the others open the same task and serve. In the plain program there is no
 * spread, and everything happens here.
 */
#ifndef SIS_CLI_SPREAD_H
#define SIS_CLI_SPREAD_H

#include <sis/task.h>

/* Called now and then by whoever leads, in the thread that called `explain`; nonzero ends the run. */
typedef int cli_spread_tick(void *ctx);

typedef struct cli_spread {
    int leads; /* is this the process that leads? */
    int jobs;  /* threads that are its share of the machine */

    /* As sis_task_run and sis_task_predict; records and scores come in any order. */
    int (*explain)(sis_task *task, const size_t *which, size_t n, sis_task_done *done, void *ctx,
                   cli_spread_tick *tick);
    int (*predict)(sis_task *task, sis_task_scored *done, void *ctx);

    /* Serve whoever leads until it wants no more: 0 or an error code. */
    int (*serve)(sis_task *task);
} cli_spread;

/* NULL: there are no others. */
extern const cli_spread *cli_spread_now;

#endif
