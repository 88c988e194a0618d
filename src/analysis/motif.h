/* SPDX-License-Identifier: MIT
 *
 * Columns and alignments of motifs, shared by the motif files.
 */
#ifndef SIS_ANALYSIS_MOTIF_H
#define SIS_ANALYSIS_MOTIF_H

#include <sis/analysis.h>

extern const double sis__uniform_column[4];

/* Kullback-Leibler divergence of p from a motif's column q, mixed with 0.01 uniform. */
double sis__column_divergence(const double *p, const double *q);

/* Column k of the motif; of its other strand it is written to `turned`. */
const double *sis__motif_column(const sis_motif *m, size_t k, int reverse, double turned[4]);

/* An alignment of strings. */
typedef struct sis__laid {
    size_t *offset; /* (n) column where each begins */
    size_t width;
    size_t first, last; /* columns of the motif */
} sis__laid;

/* Align strings as sis_motif_learn does: their first columns, and the number of columns.
 * free(laid->offset). */
int sis__motif_lay(const char *const *strings, size_t n, unsigned char *turned, sis__laid *laid);

/* first and last: the columns that at least half of n strings cover, or the maximum that any column
 * has. covered (width): number of strings per column. */
void sis__motif_trim(const size_t *covered, size_t width, size_t n, sis__laid *laid);

/* The motif of some columns of counts (width, 4) over n strings; a string without a base counts as
 * a quarter of each. */
int sis__motif_of(const double *counts, const sis__laid *laid, size_t n, const char *name,
                  sis_motif *out, double **numbers);

#endif
