/* SPDX-License-Identifier: MIT
 *
 * Whole files.
 */
#ifndef SIS_BASE_FILE_H
#define SIS_BASE_FILE_H

#include <stddef.h>

/* Read a regular file of at most 2 GB. A NUL that is not counted follows the bytes;
 * free(*bytes). */
int sis__file_read(const char *path, char **bytes, size_t *n);

/* Split FILE#NAME at the last #. *file is the caller's to free; *name is NULL if there is no name,
 * or if a file with the whole name exists. */
int sis__file_part(const char *spec, char **file, const char **name);

/* Do both paths lead to the same file, directly or through links? */
int sis__file_same(const char *a, const char *b);

/* Read up to `size` bytes from the start of a file. Returns their number; 0 if it cannot be
 * read. */
size_t sis__file_head(const char *path, char *head, size_t size);

#endif
