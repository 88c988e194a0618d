/* SPDX-License-Identifier: MIT
 *
 * sis/example.h - one example of a task, encoded for the model.
 *
 * Experimental: may change from one version to the next.
 */
#ifndef SIS_EXAMPLE_H
#define SIS_EXAMPLE_H

#include <stddef.h>

#include <sis/error.h>
#include <sis/results.h>
#include <sis/sis.h>
#include <sis/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- One example --------------------------------------------------------------------------- */

/* An encoded example. Release it with sis_example_release. */
typedef struct sis_example {
    size_t row;        /* its number in the data set */
    char *id;          /* its id */
    sis_input input;   /* values, mask, features, output */
    const char *error; /* why it cannot be explained, such as a text without words; else NULL */
    size_t n_words;    /* models that take words, with words as features */
    char **words;      /* (n_words) text of each feature, as written */
    char *text;        /* texts: the whole text */
    int *spans;        /* (2 n_words) start and end of each feature in the text, in characters */
    size_t n_human;
    int *human;      /* (n_human) texts: features that a person marked; NULL: unknown */
    size_t *word_at; /* (n_values) texts: index of the word of each value, SIZE_MAX: padding; NULL:
                        no text */
    struct sis__example_memory *own; /* memory of the fields above */
} sis_example;

/* Load example i. The output "top" requires a prediction. */
int sis_task_load(const sis_task *task, size_t i, sis_example *out);
void sis_example_release(sis_example *example);

/* The model handle for an example: sis_task_model, unless a network leaves several sizes free and
 * examples have equal numbers of values in different shapes. Then each shape has its own handle. */
const sis_model *sis_task_model_of(const sis_task *task, const sis_example *example);

/* The record of an example and its result (NULL: without a result). It borrows from all arguments
 * and lives until this thread asks the task for another example. */
void sis_task_record(const sis_task *task, sis_example *example, const sis_rationale *found,
                     sis_record *record);

/* 0 if the record is of this example with the values, mask and outputs of this task; else
 * SIS_E_ARGUMENT with the difference. */
int sis_task_match(const sis_task *task, const sis_example *example, const sis_record *record);

/* 1 if the record has the model, method, decision, values, features and mask of this task and
 * example, else 0. */
int sis_task_is_answer(const sis_task *task, sis_example *example, const sis_record *record);

/* The state of an earlier run of the same analysis in a results file. Free `todo`. */
typedef struct sis_task_earlier {
    size_t bytes;     /* of its complete lines: truncate the file there and append */
    size_t n, n_done; /* records; finished examples */
    size_t *todo;     /* (n_todo) the other examples, ascending */
    size_t n_todo;
    int other_rows;   /* the file's provenance has other rows of the input */
    int out_of_order; /* its records are not in the order of the examples, or some are repeated */
} sis_task_earlier;

/* Examine the file at `path`, which may be missing. `provenance`: that of this run
 * (sis_task_provenance). Records that failed or were cut are redone; in a file without provenance
 * they stay, and `kept` is called. SIS_E_ARGUMENT if a record belongs to another analysis. If
 * results depend on numbers that records do not hold (seeds, steps), one example is explained again
 * and compared. */
int sis_task_resume(sis_task *task, const char *path, const char *provenance,
                    void (*kept)(void *ctx, const sis_record *record), void *ctx,
                    sis_task_earlier *out);

/* Like sis_task_provenance, for records made without a task: from the options and the number of
 * examples. */
int sis_task_opt_provenance(const sis_task_opt *opt, size_t examples, const char *const *command,
                            size_t n_command, char **provenance);

#ifdef __cplusplus
}
#endif
#endif
