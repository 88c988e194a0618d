/* SPDX-License-Identifier: MIT
 *
 * output.h - output to standard output, to a file that is replaced atomically, or to a file that is
 * appended line by line. Appended lines are visible at once, and a killed run loses at most one
 * line.
 */
#ifndef SIS_CLI_OUTPUT_H
#define SIS_CLI_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

#include "base/replace.h"

typedef struct cli_output {
    FILE *file;
    const char *path; /* NULL: standard output */
    sis__replacement whole;
} cli_output;

/* Open a file that is replaced atomically on close; NULL or "-": standard output. CLI_DONE or
 * CLI_FAILED; call cli_output_close() in both cases. */
int cli_output_open(cli_output *o, const char *path);
/* The same for a file that this run wrote itself. */
int cli_output_rewrite(cli_output *o, const char *path);

/* Open a file for appending. Fails if another process has it open for appending. */
int cli_output_append(cli_output *o, const char *path);

/* Truncate such a file to its first `bytes` bytes. */
int cli_output_cut(cli_output *o, size_t bytes);

/* Write and flush. */
int cli_output_write(cli_output *o, const char *bytes, size_t n);

/* Write without flushing. */
int cli_output_add(cli_output *o, const char *bytes, size_t n);

/* Open, write and close. */
int cli_output_all(const char *path, const char *bytes, size_t n);

/* Write a text returned by a library call, unless the call failed with `code`; frees the text. */
int cli_output_made(const char *path, int code, char *text, size_t n);

/* Print a text that ends in a newline on stdout, with control characters replaced, and free it,
 * unless the call that made it failed with `code`. */
int cli_print_made(int code, char *text);

/* The sis_figure_format of a file's ending, or of a bare "svg"; -1: none. */
int cli_figure_format(const char *path);

/* Close, and report write errors such as a full disk. An atomic file replaces the old one if
 * `status` is CLI_DONE, else it is dropped. Returns `status`, or CLI_FAILED. */
int cli_output_close(cli_output *o, int status);

#endif
