/* SPDX-License-Identifier: MIT
 *
 * records.h - reads results files: record by record, or all records indexed by id.
 */
#ifndef SIS_CLI_RECORDS_H
#define SIS_CLI_RECORDS_H

#include <sis/analysis.h>
#include <sis/export.h>
#include <sis/results.h>

#include "task.h"

/* ---- Record by record ------------------------------------------------------------------------ */

/* Called with each record, which is released afterwards; to keep it, copy *r and zero it. Any
 * result other than CLI_DONE stops reading. */
typedef int cli_visit(void *ctx, sis_record *r);

/* The filter --where, with counts of records. Zeroed: all records match. */
typedef struct cli_where {
    sis_where *conditions;
    size_t asked, held;
} cli_where;

int cli_where_open(cli_where *w, const char *text);

/* 1 or 0, or SIS_E_OPTION as in sis_where_holds(). */
int cli_where_holds(cli_where *w, const sis_record *r);

/* Print a note, unless `quiet`, if there were records but none matched. */
void cli_where_tell(const cli_where *w, int quiet);
void cli_where_release(cli_where *w);

/* Call `visit` for each matching record among the first `max` of a file; `where` NULL: all match.
 * CLI_DONE, what `visit` returned, or CLI_FAILED after one line. A file without records is an
 * error; standard input may be empty. */
int cli_records_each(const char *path, size_t max, cli_where *where, cli_visit *visit, void *ctx);

/* Read the matching records of a file, indexed by id (sis/analysis.h), with or without duplicate
 * ids. It is an error if none matches. */
int cli_records_read(const char *path, cli_where *where, sis_records *out);

#endif
