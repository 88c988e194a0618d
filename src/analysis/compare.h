/* SPDX-License-Identifier: MIT
 *
 * compare.h - two results files and their models.
 *
 *     compare.c        decisions, joint clusters, differences
 *     compare_score.c  scores of a model's subsets by the other model
 */
#ifndef SIS_ANALYSIS_COMPARE_H
#define SIS_ANALYSIS_COMPARE_H

#include <sis/analysis.h>
#include <sis/net.h>

/* The selected records of one file, and its model. */
typedef struct sis__side {
    sis_records of;         /* borrowed from the caller's */
    const char *model_name; /* as in sis_model_open */
    size_t n_subsets;
    double threshold; /* of all records */
    int below;
    sis_model model;
    const sis_net *net; /* or NULL */
} sis__side;

/* Score every subset of `of`, everything else masked, by `by`: scores (of->n_subsets). */
int sis__cross_score(const sis__side *of, const sis__side *by, int jobs, double *scores);

#endif
