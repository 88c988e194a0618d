/* SPDX-License-Identifier: MIT
 *
 * Internal state of a clusterer: the subsets of the added records.
 *
 *     clustering.c        records -> points and patterns; clusters -> sis_clustering
 *     clustering_eps.c    eps, if it is not given
 *     clustering_json.c   sis_clustering as JSON
 */
#ifndef SIS_ANALYSIS_CLUSTERING_H
#define SIS_ANALYSIS_CLUSTERING_H

#include <sis/analysis.h>

#include "analysis/points.h"
#include "base/buf.h"
#include "base/names.h"
#include "results/fields.h"

/* One subset. */
typedef struct sis__item {
    char *pattern;         /* the subset as one line of text */
    char *window;          /* DNA: the sequence around it; NULL: not needed */
    size_t record, subset; /* index in `records`, subset of it */
    size_t n_pixels;       /* images only */
    int *places;           /* (n_pixels, 2) */
    double *values;        /* (n_pixels) */
} sis__item;

/* One record that has subsets. */
typedef struct sis__origin {
    const char *id;
    size_t number; /* index among all added records */
    uint32_t source, model;
    size_t first; /* of its items */
} sis__origin;

struct sis_clusterer {
    sis_clustering_opt opt;
    sis__held *held;    /* strings and other memory of the clusters */
    sis_points *points; /* (n) */
    sis_kind kind;      /* of all records */
    sis__item *items;   /* (n) */
    size_t n, items_room;
    sis__origin *origins;
    size_t n_origins, origins_room;
    sis__names sources, models;
    size_t n_records, statuses[SIS_N_STATUSES], other_outputs, first_output;
    int several_outputs;
    int several_features; /* of a subset */
    double bases[4]; /* A C G T in the sequences of all records with subsets */
};

/* Set opt->eps, and the fields about eps and the curve in *out. */
int sis__clustering_eps(const sis_clusterer *c, sis_cluster_opt *opt, sis_clustering *out);

/* An error unless there are subsets; `verb` names the operation. */
int sis__clusterer_check(const sis_clusterer *c, const char *verb);

/* The clusters, which point into c->held. */
int sis__clusterer_find(sis_clusterer *c, sis_clustering *out);

/* The fields of a sis_clustering, inside another object too. */
void sis__clustering_pass(sis__fields *f, void *item);

#endif
