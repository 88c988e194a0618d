/* SPDX-License-Identifier: MIT
 *
 * explain.h - what the files of sis explain share.
 */
#ifndef SIS_CLI_EXPLAIN_H
#define SIS_CLI_EXPLAIN_H

#include "base/spread.h"
#include "output.h"
#include "records.h"
#include <sis/analysis.h>

typedef struct cli_explain_options {
    cli_task_opt task;
    const char *shard, *output;
    double time_limit_total;
    int force, resume, dry_run;
    cli_common common;
} cli_explain_options;

/* An example that is named in the remarks at the end. */
typedef struct cli_first {
    char id[104];
    double score; /* decided by default: with everything masked */
} cli_first;

/* Records by status. */
typedef struct cli_counted {
    size_t counts[SIS_N_STATUSES];
    cli_first first[SIS_N_STATUSES]; /* an example: of those not decided the nearest */
    char why[304];                   /* the first that failed did */
} cli_counted;

/* The state of a run that turns records into lines. */
typedef struct cli_explaining {
    const cli_explain_options *o;
    sis_task *task;
    cli_output out;
    char *provenance;      /* for the first record; NULL: the file says it already */
    char *provenance_anew; /* the same of a file that says so of other --rows; else NULL */
    sis_lines lines;       /* of such a file, where they are in it, if they come out of order */
    long long bytes;       /* of it so far */
    sis__queue *things;    /* of many processes: what is to be done, while there is work */
    int jobs;
    cli_progress bar;
    size_t *todo; /* (n_todo) examples of the task that this run is to do, ascending */
    size_t n_todo;
    size_t n_written, last; /* records so far; the example of the last one */
    cli_counted found;
    double deadline;           /* seconds: the run ends then; 0: never */
    int late;                  /* and has ended so */
    int unsettled;             /* records are done again that are in the file: it is out of order */
    int broken;                /* the file cannot be written, and that was said */
} cli_explaining;

#endif
