/* SPDX-License-Identifier: MIT
 *
 * Whole files.
 */
#ifndef SIS_BASE_FILE_H
#define SIS_BASE_FILE_H

#include <stddef.h>

/* All bytes of a regular file of at most 2 GB, and a NUL behind them that does not count;
 * free(*bytes). */
int sis__file_read(const char *path, char **bytes, size_t *n);

/* FILE#NAME: the file, which is the caller's to free, and what stands behind the last #; NULL if nothing does, or if
 * there is a file that is called so as a whole. */
int sis__file_part(const char *spec, char **file, const char **name);

/* Do both paths lead to one file, through links or not? */
int sis__file_same(const char *a, const char *b);

/* The first bytes of a file, at most `size`; 0 if it cannot be read. */
size_t sis__file_head(const char *path, char *head, size_t size);

#endif
