/* SPDX-License-Identifier: MIT
 *
 * explain.h - shared by the files of sis explain.
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

/* An example named in the final notes. */
typedef struct cli_first {
    char id[104];
    double score; /* if decided by default: the score with everything masked */
} cli_first;

/* Records by status. */
typedef struct cli_counted {
    size_t counts[SIS_N_STATUSES];
    cli_first first[SIS_N_STATUSES]; /* an example; for undecided ones, the nearest to a decision */
    char why[304];                   /* error of the first failed example */
} cli_counted;

/* The state of a run that turns records into lines. */
typedef struct cli_explaining {
    const cli_explain_options *o;
    sis_task *task;
    cli_output out;
    char *provenance;     /* for the first record; NULL: the file has it already */
    char *new_provenance; /* replaces the provenance of a file made with other --rows; else NULL */
    sis_lines lines;      /* positions of the lines in the file, for sorting */
    long long bytes;      /* bytes written so far */
    sis__queue *queue;    /* several processes: work left to do */
    int jobs;
    cli_progress bar;
    size_t *todo; /* (n_todo) examples to explain, ascending */
    size_t n_todo;
    size_t n_written, last; /* records so far; the example of the last one */
    cli_counted found;
    double deadline;  /* when the run ends, in seconds; 0: never */
    int late;         /* the deadline has passed */
    int out_of_order; /* the records in the file are out of order */
    int broken;       /* writing failed, and the error was printed */
} cli_explaining;

#endif
