/* SPDX-License-Identifier: MIT
 *
 * sis/example.h - one example of a task as the model is asked about it.
 *
 * Experimental: what is declared here may change from one version to the next.
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

/* An example as the model is asked about it. Released with sis_example_release. */
typedef struct sis_example {
    size_t row;        /* its number in the data set */
    char *id;          /* what it is called */
    sis_input input;   /* values, mask, features, output */
    const char *error; /* why it cannot be explained, such as a text without words; else NULL */
    size_t n_words;    /* of models that take words, where features are words */
    char **words;      /* (n_words) of each feature, as it was written */
    char *text;        /* of texts: the whole */
    int *spans;        /* (2 n_words) start and end of each feature in it, in characters */
    size_t n_human;
    int *human;      /* (n_human) texts: features that a person marked; NULL: not known */
    size_t *word_at; /* (n_values) texts: for each value the number of its word, SIZE_MAX: padding;
                        NULL: no text */
    struct sis__example_memory *own; /* what the others point into */
} sis_example;

/* Example i. The output "top" needs an answer of the model. */
int sis_task_load(const sis_task *task, size_t i, sis_example *out);
void sis_example_release(sis_example *example);

/* The model as it is asked about an example: sis_task_model, but where a network leaves several sizes free
 * and examples have as many values in different shapes. There each such shape has a handle of its own. */
const sis_model *sis_task_model_of(const sis_task *task, const sis_example *example);

/* The record of an example and what was found for it; NULL: what it is, without an answer.
 * Everything in it is borrowed from the three, and lives until this thread asks the task for another
 * example. */
void sis_task_record(const sis_task *task, sis_example *example, const sis_rationale *found,
                     sis_record *record);

/* Is the record of this example, as this task asks about it: the same values, mask and outputs? 0,
 * or SIS_E_ARGUMENT with what differs. */
int sis_task_match(const sis_task *task, const sis_example *example, const sis_record *record);

/* Does the record answer what this task asks about the example: with the same model, method,
 * decision, values, features and mask? 1 or 0. */
int sis_task_is_answer(const sis_task *task, sis_example *example, const sis_record *record);

/* The state of an earlier run in a results file, if it answered the same question as this task. Free `todo`. */
typedef struct sis_task_earlier {
    size_t bytes;     /* of its whole lines: cut the file there and append to it */
    size_t n, n_done; /* records; examples that are done */
    size_t *todo;     /* (n_todo) the other examples, ascending */
    size_t n_todo;
    int other_rows;   /* the file says that it is of other rows of the input */
    int out_of_order; /* its records are not in the order of the examples, or some are done again */
} sis_task_earlier;

/* Look at the file at `path`, which may be missing. `provenance`: what this run says of itself (sis_task_provenance).
 * Records that failed or were cut are done again; in a file that does not say how it was made they
 * stay, and `kept` is told. SIS_E_ARGUMENT if a record answers another question; where answers hang on numbers that
 * records do not hold (seeds, steps), one example is explained again and compared. */
int sis_task_resume(sis_task *task, const char *path, const char *provenance,
                    void (*kept)(void *ctx, const sis_record *record), void *ctx,
                    sis_task_earlier *out);

/* As sis_task_provenance, for records that were made without a task: the provenance that the options and the number
 * of examples give. */
int sis_task_opt_provenance(const sis_task_opt *opt, size_t examples, const char *const *command,
                            size_t n_command, char **provenance);

#ifdef __cplusplus
}
#endif
#endif
