/* SPDX-License-Identifier: MIT
 *
 * compare.h - two results files and the models that they are of.
 *
 *     compare.c         the command: reading, decisions, what is shown
 *     compare_score.c   the scores that a model gives to subsets of the other
 */
#ifndef SIS_CLI_COMPARE_H
#define SIS_CLI_COMPARE_H

#include <sis/data.h>
#include <sis/model.h>
#include <sis/results.h>

#include "cluster.h"

/* One results file and its model. */
typedef struct cli_side {
    const char *path, *spec; /* results; model */
    sis_record *records;     /* (n) */
    size_t n, room;
    size_t *by_id;      /* (n) in the order of their ids */
    size_t *first_item; /* (n) the first of its subsets among all that are clustered */
    double threshold;   /* of all records */
    int below;
    sis_model model;
    const sis_net *net;         /* or NULL */
    sis_vocabulary *vocabulary; /* of a model of texts, or NULL */
} cli_side;

/* The record of that id, or NULL. */
const sis_record *cli_side_find(const cli_side *s, const char *id);

/* Scores that one model gives to the subsets of the other. */
typedef struct cli_cross {
    size_t n;            /* subsets */
    double *scores;      /* (n) in the order of the records */
    size_t sufficient;   /* of them, for the model that gives the scores */
    double quantiles[5]; /* least, quarter, half, three quarters, most */
} cli_cross;

/* Open the models. */
int cli_side_open(cli_side *s, double timeout);

/* Every subset of `of`, everything else masked, scored by `by`. */
int cli_cross_score(const cli_side *of, const cli_side *by, size_t jobs, cli_cross *out);

/* 0, 1/4, 1/2, 3/4 and 1 of n values, at least one. */
int cli_quantiles(const double *values, size_t n, double out[5]);

#endif
