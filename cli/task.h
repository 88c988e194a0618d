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

/* Which model, which examples. */
typedef struct cli_source {
    const char *model, *input, *rows, *label, *id, *text;
    const char *explain;     /* of several inputs the one that rows go into */
    const char *normalize;   /* pixels: "imagenet", "0.5/0.5" */
    cli_list with;           /* the others: NAME=FILE or NAME=NUMBER */
    const char *categorical; /* NULL: none, "": whatever holds words, else columns */
    const char *types, *missing, *rows_as;
    int no_header;
    const char *labels, *kind, *layout; /* of images, and of arrays that are some */
    int fit;
    size_t length;                               /* of sequences; 0: as they are */
    const char *tokenizer;                       /* of texts */
    const char *prompt, *answer, *score, *cache; /* of language models */
    cli_opening open;
    size_t jobs;
} cli_source;
extern const cli_option cli_source_options[];
#define CLI_SOURCE_WITHOUT_MODEL (cli_source_options + 1) /* where --model is not any model */
void cli_source_init(cli_source *s);

/* What a feature is, what a missing one looks like, which output is meant. */
typedef struct cli_question {
    const char *mask, *features;
    const char *target; /* NULL: not asked, because records say it */
    const char *target_index;
    size_t samples; /* 0: as many as usual */
    size_t seed, memory;
    int refine;
} cli_question;
extern const cli_option cli_question_options[]; /* all but the output */
extern const cli_option cli_output_options[];
void cli_question_init(cli_question *q);

/* The options of a task: every default, then these. q NULL: nothing but scores are wanted. */
void cli_task_options(const cli_source *s, const cli_question *q, sis_task_opt *out);

/* Threads: as many as were asked for, or the process's share of the machine; 0: as many as it has. */
int cli_jobs(const cli_source *s);

/* How files are read, by options that several commands have. */
void cli_read_options(const char *categorical, const char *types, int no_header, sis_data_opt *out);

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
