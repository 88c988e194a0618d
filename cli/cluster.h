/* SPDX-License-Identifier: MIT
 *
 * cluster.h - what cluster and compare share: subsets of results files, clustered and shown.
 *
 *     cluster_eps.c     --eps
 *     cluster_read.c    results files -> subsets: points, patterns, where they come from
 *     cluster_text.c    clusters as a table for a person
 *     cluster_finding.c clusters as a finding, for JSON
 *     cluster_dna.c     matrices of DNA clusters, and the motifs they are like
 *     cluster_image.c   mean images
 */
#ifndef SIS_CLI_CLUSTER_H
#define SIS_CLI_CLUSTER_H

#include <stdio.h>

#include <sis/analysis.h>

#include "cli.h"
#include "lines.h"

/* One subset of one record. */
typedef struct cli_subset {
    char *pattern;         /* what it looks like in a line */
    size_t record, subset; /* which record of all that were read, which of its subsets */
    size_t n_pixels;       /* images only */
    int *places;           /* (n_pixels, 2) */
    double *values;        /* (n_pixels) */
} cli_subset;

/* One record that has subsets. */
typedef struct cli_origin {
    char *id;
    size_t file, model;
} cli_origin;

/* What was read. Zeroed before the first file. */
typedef struct cli_subsets {
    const char *distance; /* name, or NULL: that of the first record's kind */
    cli_target target;    /* only records of this output */
    int forward;          /* DNA: one strand alone counts */
    sis_points *points;   /* (n) */
    sis_kind kind;        /* of all records */
    cli_subset *items;    /* (n) */
    size_t n, items_room;
    cli_origin *origins;
    size_t n_origins, origins_room;
    const char **files; /* (n_files) borrowed names */
    size_t n_files;
    cli_parts parts; /* every file that was read, and which of `files` it counts as */
    size_t reading;  /* the number of that */
    char **models;   /* (n_models) */
    size_t n_models, models_room;
    size_t n_records, statuses[SIS_N_STATUSES], other_outputs;
    size_t first_output, n_outputs; /* outputs seen: the first, and 1 or 2 (= several) */
} cli_subsets;

/* Is the record about that output? */
int cli_record_is_output(const sis_record *r, const cli_target *target);

/* Read one file more. CLI_DONE, or CLI_FAILED after one line. */
int cli_subsets_read(cli_subsets *s, const char *path);

/* The subsets of one record. `file` is its number. */
int cli_subsets_add(cli_subsets *s, const sis_record *r, size_t file);

/* An error line unless there is something to cluster, or whatever the verb is. */
int cli_subsets_check(const cli_subsets *s, const char *verb);
void cli_subsets_release(cli_subsets *s);

/* Where a subset comes from, in words: its file, or its model if there is one file of several
 * models. */
size_t cli_source_count(const cli_subsets *s);
size_t cli_source_of(const cli_subsets *s, size_t item);
const char *cli_source_name(const cli_subsets *s, size_t source);

/* --eps, --min-size and what follows from them. */
typedef struct cli_clustering {
    const char *eps, *curve, *strands;
    size_t min_size, jobs;
    int optional; /* no error where auto finds no eps: NaN, and identical subsets only */
} cli_clustering;
extern const cli_option cli_clustering_options[];
void cli_clustering_init(cli_clustering *c);

/* Clusters and the eps that was used, or NaN: see `optional`. */
int cli_cluster_subsets(const cli_subsets *s, const cli_clustering *c, double *eps,
                        sis_clusters *out);

/* Members of each cluster, in order, and of the noise (the last). Release with free(start) and
 * free(items). */
typedef struct cli_members {
    size_t n_clusters;
    size_t *start; /* (n_clusters + 2) */
    size_t *items;
} cli_members;
int cli_members_find(const sis_clusters *c, cli_members *out);

/* What DNA clusters look like: a matrix for each cluster and the motifs it is like. */
typedef struct cli_matrices {
    int both;         /* members lie on either strand */
    sis_motif *items; /* (n) */
    double **numbers; /* (n) */
    char **names;     /* (n) */
    size_t n;
    sis_motifs motifs;         /* n = 0: none were given */
    sis_motif_match **matches; /* (n) */
    long *n_matches;           /* (n) */
} cli_matrices;
int cli_matrices_find(cli_subsets *s, const sis_clusters *c, const cli_members *m,
                      const char *motifs, cli_matrices *out);
int cli_matrices_write(const cli_matrices *x, const char *path);
void cli_matrices_release(cli_matrices *x);

/* Mean images: (n_clusters, 2, height, width), how often a pixel is chosen and what it then adds to
 * the mean of all members. */
typedef struct cli_means {
    size_t n, height, width;
    double *values;
} cli_means;
int cli_means_find(const cli_subsets *s, const cli_members *m, cli_means *out);

/* What there is to show. */
typedef struct cli_cluster_page {
    const cli_subsets *subsets;
    const sis_clusters *clusters;
    const cli_members *members;
    const cli_matrices *matrices; /* or NULL */
    const cli_means *means;       /* or NULL */
    const char *distance;
    double eps;
    int automatic;              /* eps was found */
    size_t min_size, top, most; /* patterns of a cluster; clusters shown, 0: all */
} cli_cluster_page;

/* The most frequent patterns of a cluster: at most p->top, most frequent first; free()d by the
 * caller. NULL after an error line. */
typedef struct cli_pattern {
    const char *text;
    size_t count, first; /* first: the first item that has it */
} cli_pattern;
cli_pattern *cli_patterns_find(const cli_cluster_page *p, size_t cluster, size_t *found);

int cli_cluster_print(FILE *out, const cli_cluster_page *p);

/* The clusters as a finding, which points into the page and into this. */
typedef struct cli_cluster_found {
    sis_clustering finding;
    sis_member *members;
    sis_found_cluster *clusters;
    sis_share *shares;
    sis_pattern *patterns;
    size_t n_patterns;
    sis_found_match *matches;
    double *match_numbers; /* what they point to */
} cli_cluster_found;
int cli_cluster_find(const cli_cluster_page *p, cli_cluster_found *f);
void cli_cluster_found_release(cli_cluster_found *f);

#endif
