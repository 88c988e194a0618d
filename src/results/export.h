/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of the export.
 */
#ifndef SIS_RESULTS_EXPORT_H
#define SIS_RESULTS_EXPORT_H

#include <sis/export.h>

#include "base/buf.h"

typedef struct sis__sqlite sis__sqlite;

struct sis_export {
    sis_export_opt opt;
    int tabs, bed;
    sis__buf line;   /* the current line */
    size_t cells;    /* cells in its last row so far */
    size_t left_out; /* skipped records */
    int error;       /* the first error */
    sis__sqlite *sqlite;
};

/* Position of a sequence in a genome. */
typedef struct sis__locus {
    const char *chrom; /* (length) in the id of its record */
    size_t length;
    size_t first, bases; /* letters that are bases of the genome; the others are padding */
    size_t start;        /* position of the first of these in the genome, counted from 0 */
    int reverse;
    char strand; /* '+', '-' or '.' */
} sis__locus;

/* 1, or 0 if the record has no position. sis__locus_of: the position of one of its letters, counted
 * from 0; 0 if it is padding. */
int sis__export_locate(const sis_record *r, sis__locus *out);
int sis__locus_of(const sis__locus *l, size_t base, size_t *at);

/* Cells: the class; the value of a feature; its value when masked. "" if unknown. Numbers are
 * written to `number`; a category that looks like a number is not. */
const char *sis__export_class(const sis_record *r, char number[32]);
const char *sis__export_value(const sis_record *r, int feature, char number[SIS_NUMBER_SIZE]);
const char *sis__export_masked(const sis_record *r, int feature, char number[SIS_NUMBER_SIZE]);

/* For contrast k: the changed value of a feature, and its distance (NaN: unknown). */
const char *sis__export_becomes(const sis_record *r, size_t k, int feature,
                                char number[SIS_NUMBER_SIZE]);
double sis__export_distance(const sis_record *r, size_t k);

/* Create a SQLite file. All rows are added in one transaction; closing commits it and creates
 * indices. Without the library, opening returns SIS_E_UNSUPPORTED. */
int sis__sqlite_open(const char *path, sis__sqlite **out);
int sis__sqlite_add(sis__sqlite *db, const sis_record *r);
/* Write the file if `error` is SIS_OK, discard it otherwise. */
int sis__sqlite_close(sis__sqlite *db, int error);

#endif
