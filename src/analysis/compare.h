/* SPDX-License-Identifier: MIT
 *
 * compare.h - two results files and the models that they are of.
 *
 *     compare.c        decisions, joint clusters, differences
 *     compare_score.c  the scores that a model gives to subsets of the other
 */
#ifndef SIS_ANALYSIS_COMPARE_H
#define SIS_ANALYSIS_COMPARE_H

#include <sis/analysis.h>
#include <sis/net.h>

/* The records that count of one file, and its model. */
typedef struct sis__side {
    sis_records of;         /* borrowed from the caller's */
    const char *model_name; /* as it is opened */
    size_t n_subsets;
    double threshold; /* of all records */
    int below;
    sis_model model;
    const sis_net *net; /* or NULL */
} sis__side;

/* Every subset of `of`, everything else masked, scored by `by`: scores (of->n_subsets). */
int sis__cross_score(const sis__side *of, const sis__side *by, int jobs, double *scores);

#endif
