/* SPDX-License-Identifier: MIT
 *
 * fetch.h - fetches packages with the client that verifies them (npm, apt-get) into a temporary
 * folder, and writes files under a temporary name until they are complete.
 */
#ifndef SIS_CLI_FETCH_H
#define SIS_CLI_FETCH_H

#include <stddef.h>

#include <zlib.h>

enum { CLI_PATH_MAX = 4096 };

/* "FOLDER/NAME" into `out`. CLI_DONE, or CLI_FAILED after an error line if it is too long. */
int cli_path(char out[CLI_PATH_MAX], const char *folder, const char *name);

/* Make a folder and its parents; it may exist already. */
int cli_make_folder(const char *path);

/* Make a temporary folder, and remove it with its contents. */
int cli_work_begin(char folder[CLI_PATH_MAX]);
void cli_work_end(const char *folder);

/* Fetch the package and unpack it in `work`. CLI_DONE, or CLI_FAILED after a line that names what
 * is missing: the client, the network or the package. */
int cli_fetch_npm(const char *work, const char *package);
int cli_fetch_deb(const char *work, const char *package);

/* The name of an unfinished file: PATH.part. */
int cli_part_name(char part[CLI_PATH_MAX], const char *path);

/* Open the part of `path` as a new gzip file, with a mode of gzopen(); NULL after an error line. A
 * signal removes the part. */
gzFile cli_part_open(const char *path, const char *mode);

/* Rename the finished part, or remove it. */
int cli_part_done(const char *path);
void cli_part_drop(const char *path);

/* Copy the uncompressed content of `from` to the part of `to`, gzipped if `to` ends in .gz. */
int cli_part_copy(const char *from, const char *to);

#endif
