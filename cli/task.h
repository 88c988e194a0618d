/* SPDX-License-Identifier: MIT
 *
 * task.h - task options (sis/task.h), shared by every command that runs a model on examples.
 */
#ifndef SIS_CLI_TASK_H
#define SIS_CLI_TASK_H

#include <sis/net.h>
#include <sis/task.h>

#include "cli.h"
#include "opening.h"

/* The network input that examples go to, and the values of the other inputs. */
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

/* Task options of a command: the library's options, plus those that need conversion. */
typedef struct cli_task_opt {
    sis_task_opt opt;
    cli_opening open;        /* replaces opt.model.open */
    cli_list with;           /* other inputs of the model: NAME=FILE or NAME=NUMBER */
    const char *categorical; /* NULL: none, "": all columns with words, else column names */
    const char *baseline, *prefer;
    size_t jobs, seed, memory; /* memory in MiB */
} cli_task_opt;

/* Options for: the model and examples; language models; which examples and inputs; features and
 * masks; the output; the method. */
extern const cli_option cli_source_options[], cli_prompt_options[], cli_rows_options[],
    cli_question_options[], cli_output_options[], cli_method_options[];
#define CLI_SOURCE_WITHOUT_MODEL (cli_source_options + 1) /* for commands where --model differs */

/* Everything that opens a model and its examples. `table`: cli_source_options, or without --model. */
#define CLI_SOURCES(type, group, table)                                                            \
    group(type, task, cli_task_opt, table), group(type, task, cli_task_opt, cli_prompt_options),   \
        group(type, task, cli_task_opt, cli_rows_options),                                         \
        group(type, task.open, cli_opening, cli_opening_options)
void cli_task_opt_init(cli_task_opt *o);

/* Fill the library's options. Borrows from `o`. */
void cli_task_options(const cli_task_opt *o, sis_task_opt *out);

/* The same for commands that only need scores. */
void cli_plain_options(const cli_task_opt *o, sis_task_opt *out);

/* The number of threads: --jobs, or this process's share of the machine; 0: all cores. */
int cli_jobs(const cli_task_opt *o);

/* Convert --categorical: NULL, "" or columns. */
void cli_categorical(const char *columns, sis_data_opt *out);

/* Print notes about how the model runs and about skipped examples. */
void cli_task_note(int quiet, const sis_task *task);

/* ---- Helpers --------------------------------------------------------------------------------- */

/* The name of a file without its folder; cmd: models and addresses are unchanged. */
const char *cli_last_part(const char *path);

/* Do both name the same model? The folder of a file is ignored. */
int cli_same_model(const char *a, const char *b);

/* Allocate n zeroed items, or NULL after an error line. */
void *cli_grab(size_t n, size_t size);

/* Does the text end in `end`, with something before it? */
int cli_ends_in(const char *text, const char *end);

/* Parse a finite number that fills the whole text. */
int cli_number(const char *text, double *value);

#endif
