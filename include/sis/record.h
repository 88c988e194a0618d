/* SPDX-License-Identifier: MIT
 *
 * sis/record.h - descriptions of records as text and images; formats of scores and audits; resuming
 * a results file.
 *
 * Experimental: may change from one version to the next.
 */
#ifndef SIS_RECORD_H
#define SIS_RECORD_H

#include <stddef.h>

#include <sis/error.h>
#include <sis/results.h>
#include <sis/sis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Values of features ---------------------------------------------------------------------- */

/* The index of the first value of a feature and the number of its values (those with its number in
 * feature_map). SIZE_MAX and 0: none. */
size_t sis_record_values(const sis_record *record, int feature, size_t *count);

/* The index of value k, from 0, of a feature. */
size_t sis_record_value(const sis_record *record, int feature, size_t k);

/* The feature of the column of this name; -1: no such column. */
int sis_record_column(const sis_record *record, const char *name);
/* The text of a kept column (no feature), cut to size; "missing" if the cell is empty. 1, or 0: no
 * such column. */
int sis_record_kept(const sis_record *record, const char *name, char *text, size_t size);

/* The name of a value within its feature, "own" of "housing=own"; NULL: none. */
const char *sis_record_value_name(const sis_record *record, size_t value);

/* ---- Descriptions of records ----------------------------------------------------------------- */

/* The layout of an image: row y, column x, channel c is value y * row_step + x * column_step + c *
 * channel_step. */
typedef struct sis_raster {
    size_t rows, columns, channels;
    size_t row_step, column_step, channel_step;
} sis_raster;

/* The layout of a record's image: (rows, columns), or with 1 to 4 channels before or after; leading
 * axes of length 1 are skipped. If both ends may be channels, those whose values share one feature
 * per pixel are, else the last. Reads shape, feature_map and n_values. 1, or 0: no image. */
int sis_record_raster(const sis_record *record, sis_raster *out);

/* The unit of features, in a word: `unit` of the record, "word", "base", "pixel", "part" (of an
 * image, larger than a pixel), "value" (smaller than a pixel), else "feature". */
const char *sis_record_unit(const sis_record *record);

/* The condition under which subset k is sufficient, to follow "enough" (at most 160 bytes): "with
 * everything else masked", "whatever the other 22 features are". */
void sis_record_promise(const sis_record *record, size_t k, char *text, size_t size);

/* 1 if the record is about this output: by label (by position if the record has no label), and by
 * position. NULL: any. */
int sis_record_is_target(const sis_record *record, const char *label, const char *position);

/* 1 if its subsets are contrasts: features that lose the decision if they are changed or masked. */
int sis_record_is_contrast(const sis_record *record);

/* The result in words: "2 sufficient subsets, verified", "1 way to lose it, proved", "rationale by
 * ig, top". At most 160 bytes. */
void sis_record_found(const sis_record *record, char *text, size_t size);

/* The name of a subset's score: "score", "lowest score met" (of a proof; "highest" with below),
 * "changes the score to". */
const char *sis_record_score_name(const sis_record *record);

/* The score of subset k to show, and its name: "score", "lowest score met", or "score at least" for
 * a proved bound, rounded to four digits so that it stays true. */
const char *sis_record_subset_score(const sis_record *record, size_t k, double *score);

/* The name of masked_score: "everything masked", or without a mask "other values of everything",
 * "everything drawn anew". NULL: none. */
const char *sis_record_masked_name(const sis_record *record);

/* The score without the subsets: "only the subsets masked 0.31". At most 160 bytes. */
void sis_record_rest(const sis_record *record, char *text, size_t size);

/* A sentence on why there is nothing to explain; empty unless the record is not decided or decided
 * by default. At most 256 bytes. */
void sis_record_reason(const sis_record *record, char *text, size_t size);

/* 1 if the label confirms the decision, 0 if not, -1: unknown. A label is compared with the name of
 * the output, numbers by value. If the output's name is a word or missing, a number is a position;
 * with one output, 1 means "the score is high", 0 the opposite. */
int sis_record_is_right(const sis_record *record);

/* A sentence with the thresholds that have an explanation, for records without one, at most `size`
 * bytes (200 suffice). Empty for records that are explained or errors. */
void sis_record_advice(const sis_record *record, char *text, size_t size);

/* The number of bytes of two value names that are the name of their feature: 7 of "housing=own" and
 * "housing=rent", up to the last common '=' or '_'. 0: none. */
size_t sis_name_stem(const char *a, const char *b);

/* ---- Other lines --------------------------------------------------------------------------- */

/* What sis predict writes: {"id":"0","scores":[0.1,0.9]} */
int sis_scores_format(const char *id, const double *scores, size_t n_scores, char **line,
                      size_t *n);

/* What sis verify writes:
 *     {"id":"0","holds":true,"score":0.9,"masked_score":0.1,"complete":true,"rest_score":0.3,
 *      "subsets":[{"sufficient":true,"score":0.8,"minimal":true,"best_without_one":0.6,
 *                  "exhaustive":true,"smaller":[4,2]}]}
 * "reason" follows "holds" if that is false; "smaller" is only present if there is such a part. */
int sis_audit_format(const char *id, const sis_audit *audit, char **line, size_t *n);

/* ---- Resuming ------------------------------------------------------------------------------ */

/* The state of an interrupted run. */
typedef struct sis_resume {
    size_t n;     /* complete records */
    size_t bytes; /* where to continue: the end of the last complete line */
    size_t torn;  /* bytes after that: an incomplete line */
} sis_resume;

/* Read the results file `path`, which may be missing (no records), and pass each record to `take`
 * (may be NULL). `take` may keep a record by zeroing it; an error code from it ends the scan.
 * Truncate the file to `bytes` and append to it. A file with anything other than complete records
 * and a possibly incomplete last line is an error, because it must not be truncated.
 * sis_task_resume does all this for a task. */
int sis_resume_scan(const char *path, int (*take)(void *ctx, sis_record *record), void *ctx,
                    sis_resume *out);

#ifdef __cplusplus
}
#endif
#endif
