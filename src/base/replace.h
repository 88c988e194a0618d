/* SPDX-License-Identifier: MIT
 *
 * replace.h - files that are written whole or not at all, and temporary files that a signal
 * removes.
 *
 *     sis__replacement r;
 *     int error = sis__replace_begin(&r, path);
 *     if (!error)
 *         fwrite(bytes, 1, n, r.file);          // sis__replace_end() checks for errors
 *     return sis__replace_end(&r, error);
 *
 * The bytes go to a new file beside the target, under a name that nobody can foresee. At the end it
 * is flushed to the disk and renamed, so that the target has its old content or all of the new one,
 * whenever the program is killed. The new file has the mode of the old one. A target that is a link
 * stays one. Devices and pipes cannot be replaced: they are written to in place.
 */
#ifndef SIS_BASE_REPLACE_H
#define SIS_BASE_REPLACE_H

#include <stdio.h>

typedef struct sis__replacement {
    FILE *file; /* write here; NULL: not started */
    char *path; /* the target, with links resolved */
    char *part; /* the new file; NULL: written in place */
    int absent; /* there was no target at the start, so there must be none at the end */
} sis__replacement;

/* SIS_OK, or an error after which only sis__replace_end() is allowed. */
int sis__replace_begin(sis__replacement *r, const char *path);

/* Close the file. If `error` is SIS_OK and all was written, rename it; otherwise remove it. Returns
 * `error`, or the failure found here; errno is that of the first failure. */
int sis__replace_end(sis__replacement *r, int error);

/* Write all bytes in one call. */
int sis__replace_all(const char *path, const void *bytes, size_t n);

/* Some files are read without being named by the user: weights beside an ONNX file, labels beside
 * images or sequences. Call _never before reading one: from then on replacing it fails, under any
 * name. _check tells whether `path` is such a file, for code that writes in place. */
int sis__replace_never(const char *path);
int sis__replace_check(const char *path);

/* Files and folders to remove if a signal ends the program. _forget drops an entry without removing
 * the file. _remove_all removes all of them; after it none can be added, because the program is
 * about to end. */
int sis__temporary_add(const char *path);
void sis__temporary_forget(const char *path);
void sis__temporary_remove_all(void);

#endif
