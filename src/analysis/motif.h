/* SPDX-License-Identifier: MIT
 *
 * Columns of motifs, for those who compare them.
 */
#ifndef SIS_ANALYSIS_MOTIF_H
#define SIS_ANALYSIS_MOTIF_H

#include <sis/analysis.h>

extern const double sis__uniform_column[4];

/* Kullback-Leibler divergence of p from a motif's column q, a hundredth of which is uniform. */
double sis__column_divergence(const double *p, const double *q);

/* Column k of the motif, or of its other strand, written to `turned`. */
const double *sis__motif_column(const sis_motif *m, size_t k, int reverse, double turned[4]);

#endif
