/* SPDX-License-Identifier: MIT
 *
 * records.h - results files, read: record by record, or whole with every record found by its id.
 */
#ifndef SIS_CLI_RECORDS_H
#define SIS_CLI_RECORDS_H

#include <sis/export.h>
#include <sis/results.h>

#include "base/ids.h"
#include "task.h"

/* ---- One after the other --------------------------------------------------------------------- */

/* Gets a record that is released afterwards; to keep it, copy *r and zero it. Anything but CLI_DONE
 * ends the reading. */
typedef int cli_visit(void *ctx, sis_record *r);

/* Give the first `most` records of a file to `visit`. CLI_DONE, what `visit` returned, or
 * CLI_FAILED after one line. A file without any is an error; standard input may be empty. */
int cli_records_each(const char *path, size_t most, cli_visit *visit, void *ctx);

/* Standard input, a pipe and what <(...) of a shell names are gone once they are read. */
int cli_records_once(const char *path);

/* Which of them are meant (--where), and how many have been so far. Zeroed: all. */
typedef struct cli_where {
    sis_where *conditions;
    size_t asked, held;
} cli_where;

int cli_where_open(cli_where *w, const char *text);
int cli_where_holds(cli_where *w, const sis_record *r);

/* Tell, unless `quiet`, if there were records and none was meant. */
void cli_where_tell(const cli_where *w, int quiet);
void cli_where_release(cli_where *w);

/* ---- By id ----------------------------------------------------------------------------------- */

/* A whole file. */
typedef struct cli_results {
    const char *path;    /* borrowed */
    sis_record *records; /* (n) in the order of the file */
    size_t n, room;
    sis__ids ids; /* after cli_results_sort */
} cli_results;

/* Take a record, which is zeroed: a cli_visit whose context is a cli_results. */
int cli_results_add(void *results, sis_record *r);

/* All is there: now records can be found. With `once`, two of the same id are an error. */
int cli_results_sort(cli_results *s, int once);

/* Read all of s->path and sort it. */
int cli_results_read(cli_results *s, int once);

/* The record of that id, or NULL; the i-th by id. */
const sis_record *cli_results_find(const cli_results *s, const char *id);
const sis_record *cli_results_at(const cli_results *s, size_t i);

void cli_results_release(cli_results *s);

/* ---- Against the task ------------------------------------------------------------------------ */

/* The input of the task that a record of a file is of, or NULL after an error line: there is none,
 * or input, mask or outputs are not those that the record was made with. */
const sis_input *cli_record_input(const cli_task *t, const char *path, const sis_record *r);

/* Are they the same, NaN being NaN? */
int cli_same_numbers(const double *a, const double *b, size_t n);

#endif
