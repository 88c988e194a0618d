/* SPDX-License-Identifier: MIT
 *
 * sis/export.h - exports results as tables, BED and SQLite; conditions that select records.
 *
 * Experimental: may change from one version to the next.
 *
 *     sis_export_opt o = {.format = "sqlite", .path = "results.db"};
 *     sis_export *e;
 *     if (sis_export_open(&o, &e) == 0)
 *         for (each record r)
 *             sis_export_add(e, &r);
 *     sis_export_close(e);
 *
 * A row is a feature of a subset, or with .subsets a subset. A record without subsets is one row
 * with empty cells. The columns:
 *
 *     example label model method class direction threshold score status   of the record
 *     subset size subset_score                                            of the subset, from 1
 *     place feature name value masked                                     of a feature: its place
 *                         in the subset (1 is the most important), number from 0, name, value and
 *                         masked value; in rows of features
 *     features                                                            of a subset: names and
 *                         values, "age = 34; housing = own"; in rows of subsets
 *     chrom start end     DNA whose ids carry coordinates: of the feature, or of the subset
 *
 * Coordinates come from ids with "chr1:100-200", optionally followed by a strand "(-)". The length
 * of the sequence decides whether positions are 0-based and half-open (as bedtools writes them) or
 * 1-based and inclusive; BED output is always 0-based. Coordinates of a cropped or padded sequence
 * (`full_length`) are those of the whole sequence; padding has none.
 *
 * bed has one line per subset (BED12), whose blocks are adjacent bases. sqlite is a file with the
 * tables records, subsets and features, a view `found` with the columns above, and an index by
 * name:
 *
 *     SELECT DISTINCT example FROM found WHERE name = 'late_payments';
 */
#ifndef SIS_EXPORT_H
#define SIS_EXPORT_H

#include <stddef.h>

#include <sis/error.h>
#include <sis/results.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Export -------------------------------------------------------------------------------- */

#define SIS_EXPORTS "csv tsv bed sqlite"

typedef struct sis_export_opt {
    const char *format; /* one of SIS_EXPORTS */
    int subsets;        /* csv, tsv: one row per subset; default: one row per feature */
    const char *path;   /* sqlite: the file, which is replaced */
    int (*write)(void *ctx, const char *bytes, size_t n); /* other formats: receives whole lines;
                                                             nonzero stops and is the result */
    void *ctx;
} sis_export_opt;

typedef struct sis_export sis_export;

/* SIS_E_UNSUPPORTED for sqlite if the library was built without it. *out is NULL on failure. */
int sis_export_open(const sis_export_opt *opt, sis_export **out);
int sis_export_add(sis_export *e, const sis_record *record);

/* Records that could not be exported: for bed, those without coordinates or subsets. */
size_t sis_export_left_out(const sis_export *e);

/* Finish the file and free the export. A SQLite file gets its name now, unless adding a record
 * failed; then the old file stays. NULL is allowed. */
int sis_export_close(sis_export *e);

/* Free the export without writing a SQLite file. NULL is allowed. */
void sis_export_cancel(sis_export *e);

/* ---- Selection of records -------------------------------------------------------------------- */

/* Conditions joined by " and ": `sex=female and score<0.3`, `feature=late_payments and class=1 and
 * size<5`.
 *
 *     example id label class status kind model method   texts: = and !=; example and id are the same; a
 *                                                    class is its label or number
 *     score threshold                                numbers: = != < <= > >=
 *     feature size                                   of a subset: the name of a feature in it, how
 *                                                    many it has
 *     any other name                                 a column of the example: = != and, of numbers,
 *                                                    < <= > >=; a missing value is "missing"
 *
 * Conditions on subsets must all hold for the same subset. `feature!=age`: a subset without age. ==
 * is =. Quote a column that has the name of a field: `"score">3`. Values may be in single or double
 * quotes. They must be if they begin with = ! < > or a quote, contain " and ", or contain a
 * condition ("debt or size<3") after a blank or , ; & | (. */
typedef struct sis_where sis_where;
int sis_where_parse(const char *text, sis_where **out);

/* 1 or 0; SIS_E_OPTION: the record has no such column, or the column is not numeric. Conditions on
 * columns are false for records of errors, which have no values. */
int sis_where_holds(const sis_where *w, const sis_record *record);
void sis_where_free(sis_where *w);

#ifdef __cplusplus
}
#endif
#endif
