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
    size_t row;         /* its number in the data set */
    char *id;           /* what it is called */
    sis_input input;    /* values, mask, features, output */
    const char *excuse; /* why nothing can be asked about it: it has no words. Else NULL */
    size_t n_words;     /* of models that take words, where features are words */
    char **words;       /* (n_words) of each feature, as it was written */
    char *text;         /* of texts: the whole */
    int *spans;         /* (2 n_words) start and end of each feature in it, in characters */
    size_t n_human;
    int *human;      /* (n_human) texts: features that a person marked; NULL: not known */
    size_t *word_at; /* (n_values) texts: for each value the number of its word, SIZE_MAX: padding;
                        NULL: no text */

    /* The library's own. */
    double *values, *mask; /* what input points to, if it is not the task's */
    int *map;
    char *pool;
    size_t dims[3];
    double completeness[2];
    sis_prompted prompted;
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
 * decision, values, features and mask? 1 or 0. For going on with a results file (sis_resume_scan). */
int sis_task_is_answer(const sis_task *task, sis_example *example, const sis_record *record);

/* The same for records that were made without a task: what the options name, of so many examples. */
int sis_task_opt_provenance(const sis_task_opt *opt, size_t examples, const char *const *command,
                            size_t n_command, char **provenance);

#ifdef __cplusplus
}
#endif
#endif
