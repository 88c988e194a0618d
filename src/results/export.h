/* SPDX-License-Identifier: MIT
 *
 * What the files of an export share.
 */
#ifndef SIS_RESULTS_EXPORT_H
#define SIS_RESULTS_EXPORT_H

#include <sis/export.h>

#include "base/buf.h"

typedef struct sis__sqlite sis__sqlite;

struct sis_export {
    sis_export_opt opt;
    int tabs, bed;
    sis__buf line;   /* under way */
    size_t cells;    /* of its last row so far */
    size_t left_out; /* records */
    int error;       /* the first of adding */
    sis__sqlite *sqlite;
};

/* Where a sequence lies in a genome. */
typedef struct sis__locus {
    const char *chrom; /* (length) in the id of its record */
    size_t length;
    size_t start, bases; /* counted from 0 */
    int reverse;
    char strand; /* '+', '-' or '.' */
} sis__locus;

/* 1, or 0: the record does not say. The place of a base of it, counted from 0. */
int sis__export_locate(const sis_record *r, sis__locus *out);
size_t sis__locus_of(const sis__locus *l, size_t base);

/* Cells: the class; what a feature was; what it is when it is masked. "" where nothing can be said. What
 * is a number is written to `number`; a category that looks like one is not. */
const char *sis__export_class(const sis_record *r, char number[32]);
const char *sis__export_value(const sis_record *r, int feature, char number[SIS_NUMBER_SIZE]);
const char *sis__export_masked(const sis_record *r, int feature, char number[SIS_NUMBER_SIZE]);

/* A SQLite file, written anew. Adding is one transaction, which closing ends: the indices are made
 * then. Without the library opening is SIS_E_UNSUPPORTED. */
int sis__sqlite_open(const char *path, sis__sqlite **out);
int sis__sqlite_add(sis__sqlite *db, const sis_record *r);
/* Write the file if `error` is SIS_OK, drop it otherwise. */
int sis__sqlite_close(sis__sqlite *db, int error);

#endif
