/* SPDX-License-Identifier: MIT
 *
 * output.h - where results go: standard output, a file that is written whole or not at all, or a file
 * that is appended to line by line, so that whoever reads along sees every line and a killed run loses
 * at most the line under way.
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

/* A file that appears as a whole when it is closed; NULL or "-": standard output. CLI_DONE or
 * CLI_FAILED; cli_output_close() follows in both cases. */
int cli_output_open(cli_output *o, const char *path);
/* The same for a file that this run has written itself. */
int cli_output_rewrite(cli_output *o, const char *path);

/* A file that is appended to. A second process that wants to is refused. */
int cli_output_append(cli_output *o, const char *path);

/* Keep the first bytes of such a file. */
int cli_output_cut(cli_output *o, size_t bytes);

/* Write and flush. */
int cli_output_write(cli_output *o, const char *bytes, size_t n);

/* Write without flushing. */
int cli_output_add(cli_output *o, const char *bytes, size_t n);

/* Open, write and close. */
int cli_output_all(const char *path, const char *bytes, size_t n);

/* Write a text that a library call made, unless that failed with `code`; the text is freed. */
int cli_output_made(const char *path, int code, char *text, size_t n);

/* Print a text that ends in a newline on stdout, safely, and free it, unless making it failed. */
int cli_print_made(int code, char *text);

/* The sis_figure_format that a file's ending says, or a bare "svg"; -1: none. */
int cli_figure_format(const char *path);

/* Close: the last chance to hear that the disk is full. A whole file takes its place if `status` is
 * CLI_DONE, else it is dropped. Returns `status`, or CLI_FAILED. */
int cli_output_close(cli_output *o, int status);

#endif
