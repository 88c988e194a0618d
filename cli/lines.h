/* SPDX-License-Identifier: MIT
 *
 * lines.h - results files as lines to be moved: for putting the parts of a run together, and for the
 * order of a file that was gone on with.
 */
#ifndef SIS_CLI_LINES_H
#define SIS_CLI_LINES_H

#include <sis/results.h>

#include "output.h"

/* A record, where it is, and which example it is of. */
typedef struct cli_line {
    size_t row;   /* in the data set */
    size_t file;  /* of the list */
    long long at; /* in the file */
    size_t length;
    int first; /* it says how the file was made */
    int poor;  /* cut short or an error: a later record of the same file takes its place */
} cli_line;

/* Lines of the parts of one run. Zeroed before the first file. */
typedef struct cli_lines {
    const char **paths; /* (n_files) borrowed */
    size_t n_files;
    cli_line *items; /* (n) */
    size_t n, room;
    sis_provenance provenance; /* of the whole run: without a shard */
    char *provenance_json;     /* the same as text */
    char *provenance_part;     /* as the first file has it, with its shard */
    const char *provenance_by; /* the file that it is from */
    size_t torn;               /* files that end in the middle of a record, which is left out */
} cli_lines;

/* Add a file, which must be of the same run as those before it. CLI_DONE, or CLI_FAILED after one
 * line. A file without records is fine. */
int cli_lines_add(cli_lines *l, const char *path);

/* Bring them into the order of the run and leave poor ones out that were replaced. missing(ctx, row)
 * is told of each example that has no line. */
int cli_lines_sort(cli_lines *l, void (*missing)(void *ctx, size_t row), void *ctx);

/* Write them; the first says how the run was made: made_json, or made_part. */
int cli_lines_write(const cli_lines *l, const char *provenance, cli_output *out);

/* The record of a line once more, made so (NULL: without a word about it): free(*out). */
int cli_line_remake(const char *line, size_t n, const char *provenance, char **out, size_t *n_out);

void cli_lines_release(cli_lines *l);

/* Bring the records of a results file into the order of its run, in its place: a new file takes the
 * place of the old one at once. `made`: what its first record is to say of how it was made; NULL: what
 * it says. */
int cli_lines_settle(const char *path, const char *provenance);

/* The same of a file whose lines have been noted one by one as they were written, so that it need not
 * be read to know them; made: how the run was made, as the first of them says. */
int cli_lines_note(cli_lines *l, const cli_line *line);
int cli_lines_settle_noted(cli_lines *l, const char *path, const char *provenance);

/* ---- Sources --------------------------------------------------------------------------------- */

/* Results files that were named, and which of them are parts of one run (--shard): these count as one
 * source, called by the first of them. Zeroed before the first. */
typedef struct cli_parts {
    struct cli_part {
        const char *path, *source; /* borrowed; source: the path of the first part */
        char *run;                 /* how the run was made; NULL: it is no part */
    } * items;                     /* (n) */
    size_t n, room;
} cli_parts;

int cli_parts_add(cli_parts *p, const char *path, const char **source);
void cli_parts_release(cli_parts *p);

#endif
