/* SPDX-License-Identifier: MIT
 *
 * fetch.h - packages by name, through the client that knows where they come from and checks what it
 * gets (npm, apt-get), unpacked into a folder that is gone afterwards; and files that appear under
 * their name only when they are whole.
 */
#ifndef SIS_CLI_FETCH_H
#define SIS_CLI_FETCH_H

#include <stddef.h>

#include <zlib.h>

enum { CLI_PATH_MAX = 4096 };

/* "FOLDER/NAME" into `out`. CLI_DONE, or CLI_FAILED after an error line if it is too long. */
int cli_path(char out[CLI_PATH_MAX], const char *folder, const char *name);

/* Make a folder and those above it; one that is there is fine. */
int cli_make_folder(const char *path);

/* A folder for work under way; remove it with everything in it. */
int cli_work_begin(char folder[CLI_PATH_MAX]);
void cli_work_end(const char *folder);

/* Get the package and unpack it in `work`. CLI_DONE, or CLI_FAILED after a line that says what is
 * missing: the client, the network, the package. */
int cli_fetch_npm(const char *work, const char *package);
int cli_fetch_deb(const char *work, const char *package);

/* While a file is written it is called PATH.part. */
int cli_part_name(char part[CLI_PATH_MAX], const char *path);

/* Begin the part of `path` as a new gzip file in that mode of gzopen(); NULL after an error line. A
 * signal removes it. */
gzFile cli_part_open(const char *path, const char *mode);

/* Give the finished part its name, or remove it. */
int cli_part_done(const char *path);
void cli_part_drop(const char *path);

/* Write what the file `from` holds, unpacked if it is gzipped, to the part of `to`: gzipped if the
 * name `to` ends in .gz. */
int cli_part_copy(const char *from, const char *to);

#endif
