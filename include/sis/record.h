/* SPDX-License-Identifier: MIT
 *
 * sis/record.h - what records say, in words and pictures; lines beside them; going on with a file.
 *
 * Experimental: what is declared here may change from one version to the next.
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

/* The first value of a feature, and how many it has: those with its number in feature_map. SIZE_MAX
 * and 0: there are none. */
size_t sis_record_values(const sis_record *record, int feature, size_t *count);

/* Value k, from 0, of a feature that has more. */
size_t sis_record_value(const sis_record *record, int feature, size_t k);

/* The feature that is a column of this name; -1: the record has no columns, or none of this name. */
int sis_record_column(const sis_record *record, const char *name);
/* The text of a column that is kept and is no feature, cut to size; "missing" if the cell was empty. 1, or 0:
 * there is no such column. */
int sis_record_kept(const sis_record *record, const char *name, char *text, size_t size);

/* What a value is called beside its feature, "own" of "housing=own"; NULL: it has no name of its
 * own. */
const char *sis_record_value_name(const sis_record *record, size_t value);

/* ---- Records in words ------------------------------------------------------------------------ */

/* How values lie in a picture: row y, column x, channel c is value
 * y * row_step + x * column_step + c * channel_step. */
typedef struct sis_raster {
    size_t rows, columns, channels;
    size_t row_step, column_step, channel_step;
} sis_raster;

/* The one answer to which axis is what: (rows, columns), or channels, 1 to 4 of them, before or
 * behind that; axes of length 1 in front of these are passed over. Where both ends may be channels,
 * those are whose values belong to one feature pixel by pixel, else the last. Reads shape,
 * feature_map and n_values. 1, or 0: it is no picture. */
int sis_record_raster(const sis_record *record, sis_raster *out);

/* What one feature of the record is, in a word: its `unit`, "word", "base", "pixel", "part" (of a picture, more
 * than a pixel), "value" (of a picture, less), otherwise "feature". */
const char *sis_record_unit(const sis_record *record);

/* For what subset k is sufficient, in words that go behind "enough" (160 bytes are enough): "with
 * everything else masked", "whatever the other 22 features are". */
void sis_record_promise(const sis_record *record, size_t k, char *text, size_t size);

/* Is the record about this output: by its label (its position if the record has no label), and by its
 * position? NULL: any. */
int sis_record_is_target(const sis_record *record, const char *label, const char *position);

/* Are its subsets contrasts, sets of features that lose the decision if they are changed or masked? */
int sis_record_is_contrast(const sis_record *record);

/* What was found: "2 sufficient subsets, verified", "1 way to lose it, proved", "rationale by ig,
 * top". 160 bytes are enough. */
void sis_record_found(const sis_record *record, char *text, size_t size);

/* What the score of a subset is: "score", "lowest score met" (of a proof; "highest" with below),
 * "changes the score to". */
const char *sis_record_score_name(const sis_record *record);

/* The score to show of subset k and what it is called: "score", "lowest score met", or, of a proved bound, "score at
 * least", rounded to four digits so that it stays true. */
const char *sis_record_subset_score(const sis_record *record, size_t k, double *score);

/* What masked_score is the score of: "everything masked", or where nothing is masked "other values of
 * everything", "everything drawn anew". NULL: of nothing. */
const char *sis_record_masked_name(const sis_record *record);

/* The score without the subsets: "only the subsets masked 0.31". 160 bytes are enough. */
void sis_record_rest(const sis_record *record, char *text, size_t size);

/* Why there is nothing to explain, a sentence; empty unless the record is not decided or decided by
 * default. 256 bytes are enough. */
void sis_record_reason(const sis_record *record, char *text, size_t size);

/* Was the decision right, by the label? 1 or 0; -1: the record does not say. A label is compared with
 * what the output is called, numbers by value. If the output is called by a word or has no name, a
 * number is its place; of a model with one output 1 is "the score is high", 0 the opposite. */
int sis_record_is_right(const sis_record *record);

/* What to ask instead where there was nothing to explain, a sentence of at most `size` bytes (200
 * are enough): the thresholds that have an explanation. Empty for records that are explained or
 * errors. */
void sis_record_advice(const sis_record *record, char *text, size_t size);

/* How many bytes of the names of two values are the name of their feature: 7 of "housing=own" and
 * "housing=rent", where the part before the last common '=' or '_' ends. 0: none. */
size_t sis_name_stem(const char *a, const char *b);

/* ---- Lines beside results ------------------------------------------------------------------- */

/* What sis predict writes: {"id":"0","scores":[0.1,0.9]} */
int sis_scores_format(const char *id, const double *scores, size_t n_scores, char **line,
                      size_t *n);

/* What sis verify writes:
 *     {"id":"0","holds":true,"score":0.9,"masked_score":0.1,"complete":true,"rest_score":0.3,
 *      "subsets":[{"sufficient":true,"score":0.8,"minimal":true,"best_without_one":0.6,
 *                  "exhaustive":true,"smaller":[4,2]}]}
 * with "reason" after "holds" if that is false, and "smaller" only if there is such a part. */
int sis_audit_format(const char *id, const sis_audit *audit, char **line, size_t *n);

/* ---- Going on ------------------------------------------------------------------------------ */

/* The state of an interrupted run. */
typedef struct sis_resume {
    size_t n;     /* whole records */
    size_t bytes; /* where to go on: the end of the last whole line */
    size_t torn;  /* bytes after that: a line that was being written */
} sis_resume;

/* Look at the results file `path`, which may be missing (nothing is done yet), and hand each record to `take`, if that
 * is not NULL, which may keep it by zeroing it; an error code of its own ends the scan. Cut the file to `bytes` and
 * append to it. A file with anything else in it than whole records and the beginning of one is an error:
 * it is not ours to cut. sis_task_resume does that for a task. */
int sis_resume_scan(const char *path, int (*take)(void *ctx, sis_record *record), void *ctx,
                    sis_resume *out);

#ifdef __cplusplus
}
#endif
#endif
