/* SPDX-License-Identifier: MIT
 *
 * records.h - results files, read: record by record, or whole with every record found by its id.
 */
#ifndef SIS_CLI_RECORDS_H
#define SIS_CLI_RECORDS_H

#include <sis/analysis.h>
#include <sis/export.h>
#include <sis/results.h>

#include "task.h"

/* ---- One after the other --------------------------------------------------------------------- */

/* Gets a record that is released afterwards; to keep it, copy *r and zero it. Anything but CLI_DONE
 * ends the reading. */
typedef int cli_visit(void *ctx, sis_record *r);

/* Which of them are meant (--where), and how many have been so far. Zeroed: all. */
typedef struct cli_where {
    sis_where *conditions;
    size_t asked, held;
} cli_where;

int cli_where_open(cli_where *w, const char *text);

/* 1 or 0; SIS_E_OPTION as sis_where_holds has it. */
int cli_where_holds(cli_where *w, const sis_record *r);

/* Tell, unless `quiet`, if there were records and none was meant. */
void cli_where_tell(const cli_where *w, int quiet);
void cli_where_release(cli_where *w);

/* Give those of the first `max` records of a file that are meant to `visit`; `where` NULL: all. CLI_DONE,
 * what `visit` returned, or CLI_FAILED after one line. A file without any is an error; standard input may
 * be empty. */
int cli_records_each(const char *path, size_t max, cli_where *where, cli_visit *visit, void *ctx);

/* The records of a file that are meant, found by id (sis/analysis.h); with or without the same id twice. That
 * none is meant is an error. */
int cli_records_read(const char *path, cli_where *where, sis_records *out);

#endif
