/* SPDX-License-Identifier: MIT
 *
 * replace.h - files that are written whole or not at all, and temporary files that a signal removes.
 *
 *     sis__replacement r;
 *     int error = sis__replace_begin(&r, path);
 *     if (!error)
 *         fwrite(bytes, 1, n, r.file);          // the end looks whether that failed
 *     return sis__replace_end(&r, error);
 *
 * The bytes go to a new file beside the target, under a name that nobody can foresee. At the end it is
 * flushed to the disk and renamed, so that the target has its old content or all of the new one,
 * whenever the program is killed. The new file has the mode of the old one. A target that is a link
 * stays one. Devices and pipes cannot be replaced: they are written to in place.
 */
#ifndef SIS_BASE_REPLACE_H
#define SIS_BASE_REPLACE_H

#include <stdio.h>

typedef struct sis__replacement {
    FILE *file; /* write here; NULL: not begun */
    char *path; /* the target behind all links */
    char *part; /* the new file; NULL: written in place */
    int absent; /* there was no target at the beginning, so there must be none at the end */
} sis__replacement;

/* SIS_OK, or an error after which only sis__replace_end() is allowed. */
int sis__replace_begin(sis__replacement *r, const char *path);

/* Close, and rename if `error` is SIS_OK and everything could be written; otherwise remove the new
 * file. Returns `error`, or what went wrong here; errno stays that of the first failure. */
int sis__replace_end(sis__replacement *r, int error);

/* All bytes at once. */
int sis__replace_all(const char *path, const void *bytes, size_t n);

/* Some files are read though nobody names them: weights beside an ONNX file, labels beside images or
 * sequences. Call _never before you read one: replacements of it fail from then on, under any name.
 * _check tells whether `path` is such a file, for writers that do not replace. */
int sis__replace_never(const char *path);
int sis__replace_check(const char *path);

/* Files and folders that have to go if a signal ends the program. _forget does not remove; _remove_all
 * removes all that are left, and none can be added after it: the program is about to end. */
int sis__temporary_add(const char *path);
void sis__temporary_forget(const char *path);
void sis__temporary_remove_all(void);

#endif
