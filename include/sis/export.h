/* SPDX-License-Identifier: MIT
 *
 * sis/export.h - results for other programs: tables, genome browsers, SQLite; which records are
 * meant.
 *
 * Experimental: what is declared here may change from one version to the next.
 *
 *     sis_export_opt o = {.format = "sqlite", .path = "results.db"};
 *     sis_export *e;
 *     if (sis_export_open(&o, &e) == 0)
 *         for (each record r)
 *             sis_export_add(e, &r);
 *     sis_export_close(e);
 *
 * A row is a feature of a subset, or with .subsets a subset. A record without subsets is a row whose
 * cells of them are empty. The columns:
 *
 *     example label model method class direction threshold score status   of the record
 *     subset size subset_score                                            of the subset, from 1
 *     place feature name value masked                                     of a row a feature: its
 *                         place in the subset (1 is the most important), its number from 0, what it
 *                         is called, what it was, what it is when it is masked
 *     features                                                            of a row a subset: its
 *                         names and values, "age = 34; housing = own"
 *     chrom start end     DNA whose ids carry coordinates: of the feature, or of the subset
 *
 * Coordinates are those of an id that holds "chr1:100-200", perhaps with a strand "(-)" behind it.
 * The length of the sequence tells whether 100 is counted from 0 and 200 is the end (as bedtools
 * writes it) or both are bases counted from 1; BED counts from 0 in any case. If the sequence was
 * cropped or padded (`full_length`), they are those of the whole one; padding has no coordinates.
 *
 * bed is a line a subset (BED12), its blocks being bases side by side. sqlite is a file with the
 * tables records, subsets and features, a view `found` with the columns above, and an index by name:
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
    int subsets;        /* csv, tsv: a row a subset; default: a row a feature */
    const char *path;   /* sqlite: the file, which is written anew */
    int (*write)(void *ctx, const char *bytes, size_t n); /* the others: gets whole lines; nonzero
                                                             from it stops and is the result */
    void *ctx;
} sis_export_opt;

typedef struct sis_export sis_export;

/* SIS_E_UNSUPPORTED for sqlite if the library was built without it. *out is NULL on failure. */
int sis_export_open(const sis_export_opt *opt, sis_export **out);
int sis_export_add(sis_export *e, const sis_record *record);

/* Records that could not be exported: of bed those without coordinates or subsets. */
size_t sis_export_left_out(const sis_export *e);

/* Finish the file and free it. A SQLite file appears under its name now, unless a record could not be
 * added; then what stood there before stays. NULL is fine. */
int sis_export_close(sis_export *e);

/* Free it; a SQLite file is not written. NULL is fine. */
void sis_export_cancel(sis_export *e);

/* ---- Which records ------------------------------------------------------------------------- */

/* Conditions in words, with " and " between: `sex=female and score<0.3`,
 * `feature=late_payments and class=1 and size<5`.
 *
 *     example id label class status kind model method   texts: = and !=; example and id are the same; a
 *                                                    class is its label or number
 *     score threshold                                numbers: = != < <= > >=
 *     feature size                                   of a subset: the name of a feature in it, how
 *                                                    many it has
 *     any other name                                 a column of the example: = != and, of numbers,
 *                                                    < <= > >=; a missing value is "missing"
 *
 * Those of a subset must all hold for the same one. `feature!=age`: a subset without age. == is =. A column that is
 * called like a field goes in quotes: `"score">3`. A value may be in quotes of either kind; one that begins with = ! < > or a quote, has " and " in it, or something like a condition
 * ("debt or size<3") behind a blank or , ; & | ( has to be. */
typedef struct sis_where sis_where;
int sis_where_parse(const char *text, sis_where **out);

/* 1 or 0; SIS_E_OPTION: the record has no such column, or it is no number. Nothing of columns holds of
 * records of errors, which have no values. */
int sis_where_holds(const sis_where *w, const sis_record *record);
void sis_where_free(sis_where *w);

#ifdef __cplusplus
}
#endif
#endif
