/* SPDX-License-Identifier: MIT
 *
 * task.h - options that make a task (sis/task.h), the same in every command that asks a model about
 * examples.
 */
#ifndef SIS_CLI_TASK_H
#define SIS_CLI_TASK_H

#include <sis/net.h>
#include <sis/task.h>

#include "cli.h"
#include "opening.h"

/* Which input of a network examples go into, and what the others are. */
#define CLI_INPUTS(type, explained, given)                                                         \
    {"explain",                                                                                    \
     0,                                                                                            \
     "NAME",                                                                                       \
     CLI_STRING(type, explained),                                                                  \
     "input that is explained",                                                                    \
     .from_results = CLI_VALUE_FROM_RESULTS,                                                       \
     .more = "For a network with several inputs. By default the row holds the values of all "      \
             "inputs, in the order of the file. If one input is token ids, it is explained, and "  \
             "masks, token types, positions and lengths are derived from it. sis model lists the " \
             "inputs."},                                                                           \
    {                                                                                              \
        "with", 0, "NAME=FILE", CLI_LIST(type, given),                                             \
            "value of another input: an array or a number",                                        \
            .from_results = CLI_CHECKED_FROM_RESULTS,                                              \
            .more = "May be given several times. A number fills the whole input."                  \
    }

/* A task as a command asks for it: its options set what the library is asked, but for what they say in other
 * words. */
typedef struct cli_task_opt {
    sis_task_opt opt;
    cli_opening open;        /* in the place of opt.model.open */
    cli_list with;           /* other inputs of the model: NAME=FILE or NAME=NUMBER */
    const char *categorical; /* NULL: none, "": whatever holds words, else columns */
    const char *baseline, *prefer;
    size_t jobs, seed, memory; /* memory in MiB */
} cli_task_opt;

/* Which model, which examples; what a feature is, and what a missing one looks like; which output; how. */
extern const cli_option cli_source_options[], cli_question_options[], cli_output_options[],
    cli_method_options[];
#define CLI_SOURCE_WITHOUT_MODEL (cli_source_options + 1) /* where --model is not any model */
void cli_task_opt_init(cli_task_opt *o);

/* The task for the library. Borrows from the options. */
void cli_task_options(const cli_task_opt *o, sis_task_opt *out);

/* The same where nothing but scores are wanted. */
void cli_plain_options(const cli_task_opt *o, sis_task_opt *out);

/* Threads: as many as were asked for, or the process's share of the machine; 0: as many as it has. */
int cli_jobs(const cli_task_opt *o);

/* What --categorical says: NULL, "" or columns. */
void cli_categorical(const char *columns, sis_data_opt *out);

/* Say what is to be known of how the model is run, and of examples that were left out. */
void cli_task_note(int quiet, const sis_task *task);

/* ---- Small things ---------------------------------------------------------------------------- */

/* The name of a file without its folder; a cmd: model or an address is what it is. */
const char *cli_last_part(const char *path);

/* Do both name the same model? A file counts as the same wherever it lies. */
int cli_same_model(const char *a, const char *b);

/* n zeroed items, or NULL after an error line. */
void *cli_grab(size_t n, size_t size);

/* Does the text end so, with something before it? */
int cli_ends_in(const char *text, const char *end);

/* A number and nothing else, finite. */
int cli_number(const char *text, double *value);

#endif
