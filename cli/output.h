/* SPDX-License-Identifier: MIT
 *
 * output.h - where results go: standard output, or a file that is complete after every line.
 */
#ifndef SIS_CLI_OUTPUT_H
#define SIS_CLI_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

typedef struct cli_output {
    FILE *file;
    const char *path; /* NULL: standard output */
} cli_output;

/* Open `path` (NULL or "-": standard output), emptied, or cut to `keep` bytes and appended to if
 * keep >= 0. CLI_DONE or CLI_FAILED. */
int cli_output_open(cli_output *o, const char *path, long long keep);

/* Is there no such file yet, or an empty one, or may it be overwritten? CLI_DONE, or CLI_FAILED after
 * one line; `resumes`: the command has --resume. */
int cli_output_fresh(const char *path, int force, int resumes);

/* Would writing to `path` destroy `input`, a file that is read? An error line if so. Either may be
 * NULL; the input may have a prefix such as "mean:". */
int cli_output_spares(const char *path, const char *input);

/* Write and flush. */
int cli_output_write(cli_output *o, const char *bytes, size_t n);

/* Write without flushing. */
int cli_output_add(cli_output *o, const char *bytes, size_t n);

/* Open, write and close. */
int cli_output_all(const char *path, const char *bytes, size_t n);

/* The sis_figure_format that a file's ending says, or a bare "svg"; -1: none. */
int cli_figure_format(const char *path);

/* Close; the last chance to hear that the disk is full. */
int cli_output_close(cli_output *o);

#endif
