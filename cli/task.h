/* SPDX-License-Identifier: MIT
 *
 * task.h - from the command line to something the library can work on: a model, the examples asked
 * for, and for each of them features, mask and output. What explain, verify and predict share.
 */
#ifndef SIS_CLI_TASK_H
#define SIS_CLI_TASK_H

#include <sis/data.h>
#include <sis/model.h>
#include <sis/sis.h>

#include "cli.h"

/* Which model, which examples. */
typedef struct cli_source {
    const char *model, *input, *rows;
    double timeout;
    size_t jobs;
} cli_source;
extern const cli_option cli_source_options[];
void cli_source_init(cli_source *s);

/* What a feature is, what a missing one looks like, which output is meant. */
typedef struct cli_question {
    const char *mask, *features, *output;
    size_t samples, seed, memory;
} cli_question;
extern const cli_option cli_question_options[];
void cli_question_init(cli_question *q);

/* A model and the examples asked for, in the order asked for. */
typedef struct cli_task {
    sis_model model;
    sis_data *data;
    size_t *rows; /* (n) example numbers in the file */
    size_t n;
    sis_input *inputs; /* (n), after cli_task_ask */
    double **values;   /* (n) */
    double *mask;      /* (n_samples, width) */
    size_t n_samples;
    int *feature_of; /* NULL: each value is a feature */
    char **names;    /* (n_features) or NULL */
    size_t n_features;
} cli_task;

/* Open model and data, choose and load rows. CLI_DONE or an exit status after one line on stderr.
 * cli_task_close is harmless whatever happened. */
int cli_task_open(cli_task *t, const cli_source *s);
void cli_task_close(cli_task *t);

/* Features, mask and output of every example into inputs. */
int cli_task_ask(cli_task *t, const cli_source *s, const cli_question *q);

/* Scores (n, n_outputs) of n inputs; *scores is free()d by the caller, also after a failure. */
int cli_task_predict(const cli_task *t, const sis_input *inputs, size_t n, size_t jobs,
                     double **scores);

/* "0.7", or "p90": the 90th percentile, over the whole input file, of the score that would be
 * explained. */
int cli_task_threshold(const cli_task *t, const char *text, const cli_source *s,
                       const cli_question *q, double *threshold);

#endif
