/* SPDX-License-Identifier: MIT
 *
 * compare.h - two results files and the models that they are of.
 *
 *     compare.c         the command: reading, decisions, differences
 *     compare_score.c   the scores that a model gives to subsets of the other
 *     compare_show.c    what was found, for a person and as JSON
 */
#ifndef SIS_CLI_COMPARE_H
#define SIS_CLI_COMPARE_H

#include <sis/data.h>
#include <sis/model.h>
#include <sis/net.h>

#include "cluster.h"
#include "opening.h"
#include "records.h"

/* One results file and its model. */
typedef struct cli_side {
    cli_results results;
    const char *spec;   /* the model */
    size_t *first_item; /* (records) the first of its subsets among all that are clustered */
    double threshold;   /* of all records */
    int below;
    sis_model model;
    const sis_net *net; /* or NULL */
} cli_side;

/* Did the model decide on that example? */
static inline int cli_is_decided(const sis_record *r) {
    return r->collection.status == SIS_STATUS_EXPLAINED || r->collection.status == SIS_STATUS_CUT ||
           r->collection.status == SIS_STATUS_DEFAULT_DECISION;
}

/* Scores that one model gives to the subsets of the other. */
typedef struct cli_cross {
    size_t n;            /* subsets */
    double *scores;      /* (n) in the order of the records */
    size_t sufficient;   /* of them, for the model that gives the scores */
    double quantiles[5]; /* least, quarter, half, three quarters, most */
} cli_cross;

/* Open the models. */
int cli_side_open(cli_side *s, const cli_opening *open);

/* Every subset of `of`, everything else masked, scored by `by`. */
int cli_cross_score(const cli_side *of, const cli_side *by, size_t jobs, cli_cross *out);

/* 0, 1/4, 1/2, 3/4 and 1 of n values, at least one. */
int cli_quantiles(const double *values, size_t n, double out[5]);

/* The options of the command. */
typedef struct cli_compare_options {
    const char *model_a, *model_b, *distance, *output;
    cli_target target;
    cli_clustering clustering;
    size_t top, most, differ;
    cli_opening open;
    int force;
    cli_common common;
} cli_compare_options;

/* An example that both models explain. */
typedef struct cli_difference {
    size_t records[2];
    double distance;
} cli_difference;

/* What was found. */
typedef struct cli_comparison {
    const cli_compare_options *o;
    cli_side sides[2];
    cli_subsets subsets;
    cli_cross cross[2]; /* subsets of the side, by the other's model */
    double own[2][5];   /* quantiles of the scores of their own model */
    sis_clusters clusters;
    cli_members members;
    cli_matrices matrices;
    cli_means means;
    cli_cluster_page page;
    struct {
        size_t common, both, other_output, only[2], neither;
    } decisions;
    cli_difference *differences; /* farthest first */
    size_t n_differences;
} cli_comparison;

int cli_comparison_print(const cli_comparison *c);
int cli_comparison_json(const cli_comparison *c, const char *path);

#endif
