/* SPDX-License-Identifier: MIT
 *
 * sis/analysis.h - what many records say: counts, clusters, a comparison of two models, an
 * evaluation of several methods; attacks on the examples of a task.
 *
 * Experimental: may change from one version to the next.
 *
 * From the top down: findings, each a struct with one JSON form (sis cluster, sis compare, sis
 * evaluate); counts over all subsets (sis summary); points and clusters; DNA motifs; measures of
 * single rationales.
 *
 * Clusters are those of DBSCAN (Ester et al. 1996), numbered as scikit-learn numbers them.
 * Neighbours are found through an index that fits the distance; there is no matrix of distances.
 * Memory is that of the points and of at most opt.memory bytes of neighbours, whatever eps is.
 *
 *     sis_points *points;
 *     sis_points_new(SIS_DISTANCE_JACCARD, &points);
 *     while (sis_results_next(file, &record) > 0) {          // sis/results.h
 *         for (size_t k = 0; k < record.collection.n_subsets; k++)
 *             sis_points_add_subset(points, &record, k);
 *         sis_record_release(&record);
 *     }
 *     sis_cluster_opt opt;  sis_cluster_opt_init(&opt);  opt.eps = 0.5;
 *     sis_clusters found;
 *     if (sis_cluster(points, &opt, &found) == 0)
 *         use(found.labels);                                 // cluster of each, -1 = noise
 *     sis_clusters_release(&found);
 *     sis_points_free(points);
 *
 * A finding is one JSON object (UTF-8). Its fields are named as the members of the structs unless a
 * comment says otherwise; readers take them in any order and ignore unknown ones. What was not
 * measured is NaN, and null or absent in the file. Structs hold borrowed pointers when you fill
 * them, their own when a function of this header does: release those, and only those.
 *
 * Errors: 0 or a negative code of sis/error.h; SIS_E_FORMAT with a message that names the field.
 * Points may be read by several threads at once, not while points are added. Results are the same
 * for any number of threads.
 */
#ifndef SIS_ANALYSIS_H
#define SIS_ANALYSIS_H

#include <stddef.h>
#include <stdint.h>

#include <sis/attack.h>
#include <sis/data.h>
#include <sis/dna.h>
#include <sis/error.h>
#include <sis/example.h>
#include <sis/explain.h>
#include <sis/net.h>
#include <sis/results.h>
#include <sis/sis.h>
#include <sis/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Records in memory ----------------------------------------------------------------------- */

/* The records of one file. Zeroed before the first is added; released with sis_records_release. */
typedef struct sis_records {
    const char *name;  /* of the file, for messages; borrowed */
    sis_record *items; /* (n) in the order of the file */
    size_t n, room;
    void *ids; /* after sis_records_index */
} sis_records;

/* Take a record over: *record is zeroed. */
int sis_records_add(sis_records *records, sis_record *record);

/* All are there: now they can be found by id. With `once` two records of one id are an error. */
int sis_records_index(sis_records *records, int once);
const sis_record *sis_records_find(const sis_records *records, const char *id); /* or NULL */
void sis_records_release(sis_records *records);

/* ---- Parts of a run -------------------------------------------------------------------------- */

/* A record, where it is, and which example it is of. */
typedef struct sis_line {
    size_t row;   /* in the data set */
    size_t file;  /* of the list */
    long long at; /* in the file */
    size_t length;
    int first;     /* it says how the file was made */
    int retryable; /* cut short or an error: a later record of the same file takes its place */
} sis_line;

/* Lines of the parts of one run. Zeroed before the first file. */
typedef struct sis_lines {
    const char **paths; /* (n_files) borrowed */
    size_t n_files;
    sis_line *items; /* (n) */
    size_t n, room;
    sis_provenance provenance; /* of the whole run: without a shard */
    char *provenance_json;     /* the same as text */
    char *provenance_part;     /* as the first file has it, with its shard */
    const char *provenance_by; /* the file that it is from */
    size_t torn;               /* files that end in the middle of a record, which is left out */
} sis_lines;

/* Add a file, which must be of the same run as those before it; or a line that was written there. A
 * file without records is fine. */
int sis_lines_add(sis_lines *lines, const char *path);
int sis_lines_note(sis_lines *lines, const sis_line *line);

/* Bring them into the order of the run and leave out retryable ones that were replaced. missing(ctx,
 * row) is told of each example that has no line. */
int sis_lines_sort(sis_lines *lines, void (*missing)(void *ctx, size_t row), void *ctx);

/* Write them; the first says how the run was made: provenance_json, or provenance_part. Nonzero from
 * `write` stops and is the result. */
typedef int sis_lines_out(void *ctx, const char *bytes, size_t n);
int sis_lines_write(const sis_lines *lines, const char *provenance, sis_lines_out *write,
                    void *ctx);
void sis_lines_release(sis_lines *lines);

/* Sort the records of a results file into the order of its run; a new file atomically replaces the
 * old one. `provenance`: the new provenance of its first record; NULL: unchanged. _in_place: with
 * lines that are already known, so that the file is not read again. */
int sis_lines_sort_file(const char *path, const char *provenance);
int sis_lines_sort_in_place(sis_lines *lines, const char *path, const char *provenance);

/* The record of a line once more with this provenance (NULL: without): free(*out). */
int sis_line_remake(const char *line, size_t n, const char *provenance, char **out, size_t *n_out);

/* Results files that were named, and which of them are parts of one run (--shard): these count as one
 * source, called by the first of them. Zeroed before the first; paths are borrowed. */
typedef struct sis_part_file {
    const char *path, *source; /* source: the path of the first part */
    char *run;                 /* how the run was made; NULL: it is no part */
} sis_part_file;
typedef struct sis_parts {
    sis_part_file *items; /* (n) */
    size_t n, room;
} sis_parts;
int sis_parts_add(sis_parts *parts, const char *path, const char **source);
void sis_parts_release(sis_parts *parts);

/* Standard input, a pipe and what <(...) of a shell names can be read once only. */
int sis_results_once(const char *path);

/* ---- Distances ----------------------------------------------------------------------------- */

/* name, what a record must carry. The distances of two subsets:
 *
 *     jaccard       of the sets A, B of their words, a word counted once however often it is there:
 *                   (|A u B| - |A n B|) / |A u B|
 *     jaccard-bag   the same of bags: the sum over all words of the larger count minus the smaller
 *                   one, divided by the sum of the larger counts
 *     levenshtein   of the letters from the first to the last chosen base, what is between and not
 *                   chosen being N: the least number of letters to insert, delete or replace
 *     energy        of their pixels, X and Y drawn evenly from one and the other:
 *                   2 E|X - Y| - E|X - X'| - E|Y - Y'|, Euclidean lengths, at least 0
 *     energy-sqrt   its square root, a metric
 *     overlap       of the names of their features and the values of these: with u names in either,
 *                   n in both, and v of these with the same value, (2 u - n - v) / (2 u). So two
 *                   subsets of the same features are at most 0.5 apart, and 0 if the values agree
 *
 * Quotients of counts are rounded once, so that a distance of 3/10 equals an eps of 0.3. */
#define SIS_DISTANCES(X)                                                                           \
    X(JACCARD, "jaccard", "words")                                                                 \
    X(JACCARD_BAG, "jaccard-bag", "words")                                                         \
    X(LEVENSHTEIN, "levenshtein", "sequence")                                                      \
    X(ENERGY, "energy", "shape")                                                                   \
    X(ENERGY_SQRT, "energy-sqrt", "shape")                                                         \
    X(OVERLAP, "overlap", "values")

typedef enum sis_distance {
#define SIS_DISTANCE_CODE(name, text, field) SIS_DISTANCE_##name,
    SIS_DISTANCES(SIS_DISTANCE_CODE)
#undef SIS_DISTANCE_CODE
        SIS_DISTANCE_CUSTOM /* a callback: sis_points_new_custom */
} sis_distance;

const char *sis_distance_name(sis_distance distance); /* "custom" for a callback */

/* The distance of that name; SIS_E_ARGUMENT if there is none. */
int sis_distance_find(const char *name, sis_distance *out);

/* The distance for records of a kind (sis_record.kind): jaccard for "text", levenshtein for "dna",
 * energy for "image", overlap for everything else and for NULL. */
sis_distance sis_distance_of_kind(const char *kind);

/* ---- Clusters: sis cluster ------------------------------------------------------------------ */

/* A subset of a record. */
typedef struct sis_member {
    const char *id;
    size_t subset;
    const char *source; /* the results file, or the model, it is from; NULL: unknown */
    size_t record;      /* which of the records that were added; not in the file */
    int core;           /* is it a core point? not in the file */
} sis_member;

typedef struct sis_pattern {
    const char *text; /* "pattern": what subsets look like in a line */
    size_t count;
} sis_pattern;

typedef struct sis_share {
    const char *source;
    double share;
} sis_share;

/* A known motif that the matrix of a cluster is like. */
typedef struct sis_found_match {
    const char *id, *name;
    double divergence, p, q; /* sis_motif_test */
    double offset;           /* where it begins, in columns of the cluster's matrix */
    int reverse;             /* its other strand */
    size_t n_matrix;
    const double
        *matrix; /* (n_matrix) four shares for each position, of the strand that is meant */
} sis_found_match;

typedef struct sis_found_cluster {
    size_t number; /* "id", from 1, the largest first */
    size_t size, core;
    size_t n_members;
    const sis_member *members;
    size_t n_patterns;
    const sis_pattern *patterns; /* "top", most frequent first */
    sis_member medoid;           /* without a source; id NULL: unknown */
    const char *medoid_pattern;  /* not in the file */
    size_t n_shares;
    const sis_share *shares; /* "share": an object, a number for each source */
    size_t n_matrix;
    const double *matrix; /* (n_matrix) of DNA: how often A C G T are at each position, four numbers
                             each; members may lie on either strand. NULL: unknown */
    size_t n_matches;
    const sis_found_match *matches; /* of that matrix, nearest first; NULL: no motifs were given */
    const double *mean; /* (2, height, width) of images: how often a pixel is chosen, and what it
                           then adds to the mean of all members; not in the file */
} sis_found_cluster;

typedef struct sis_clustering {
    const char *distance;
    const char *strands; /* of DNA: "both" or "forward"; NULL: unknown */
    int counts; /* every subset is one word: a cluster is a word, with its subsets; eps was not given */
    double eps;
    size_t min_size, n; /* n: subsets in all */
    size_t n_clusters;
    const sis_found_cluster *clusters;
    size_t n_noise;
    const sis_member *noise; /* in no cluster */

    /* Not in the file. */
    size_t n_records;     /* with subsets */
    size_t n_different;   /* subsets that are not the same as an earlier one */
    int several_outputs;  /* the records are about different outputs */
    int found_eps;        /* eps was not given but found */
    const char *no_eps;   /* why none was found: only identical subsets are together. Or NULL */
    size_t n_curve;       /* with opt.curve: how far subsets have to look, farthest first */
    const double *curve;  /* (n_curve) */
    size_t height, width; /* of images; else 0 */
    void *held;
} sis_clustering;

typedef struct sis_clustering_opt {
    const char *distance;     /* name of a distance; NULL: by the kind of the records */
    const char *target;       /* only records of this output: sis_record_is_target */
    const char *target_index; /* the same by its position */
    double eps;               /* as in sis_cluster_opt; NaN (default): found */
    int identical;            /* if no eps is found, put identical subsets together; else fail */
    int curve;                /* keep the curve that eps is found in */
    size_t min_size;          /* default 5 */
    int forward;              /* DNA: as the letters are written; default: either strand */
    const char *motifs;       /* DNA: file of known motifs to compare clusters with, or NULL */
    size_t flank;             /* DNA: how far beyond subsets matrices may reach, default 20; 0: they
                                 have the bases of the subsets alone */
    size_t matches;           /* DNA: known motifs of a cluster, default 3 */
    size_t top;               /* patterns of a cluster, default 4 */
    int jobs;                 /* threads; 0: one per core */
} sis_clustering_opt;

void sis_clustering_opt_init(sis_clustering_opt *opt);

/* Clusters of the subsets of records, which are added one by one and not kept:
 *
 *     sis_clusterer *c;
 *     sis_clustering found;
 *     int error = sis_clusterer_new(&opt, &c);               // borrows the texts of opt
 *     while (error == 0 && sis_results_next(file, &record) > 0) {
 *         error = sis_clusterer_add(c, "a.jsonl", &record);
 *         sis_record_release(&record);
 *     }
 *     if (error == 0)
 *         error = sis_clusterer_find(c, &found);             // once, at the end
 *     sis_clusterer_free(c);
 *
 * eps is found where the curve of sis_kdistances turns; for images, where chains of similar ones
 * join clusters long before that, it is the value from there down with which the most subsets are in
 * clusters beside the largest. */
typedef struct sis_clusterer sis_clusterer;
int sis_clusterer_new(const sis_clustering_opt *opt, sis_clusterer **out);

/* Records of one source, in any order of sources. All must be of one kind. */
int sis_clusterer_add(sis_clusterer *c, const char *source, const sis_record *record);

/* Is there anything to cluster, and by which distance? SIS_E_ARGUMENT says why not. */
int sis_clusterer_check(const sis_clusterer *c, sis_distance *distance);
int sis_clusterer_find(sis_clusterer *c, sis_clustering *out);
void sis_clusterer_free(sis_clusterer *c);

/* Text with its newline: *n bytes and a NUL, free()d by you. 0 or SIS_E_NOMEM. */
int sis_clustering_format(const sis_clustering *clustering, char **text, size_t *n);
int sis_clustering_parse(const char *text, size_t n, sis_clustering *out);
void sis_clustering_release(sis_clustering *clustering); /* harmless on a zeroed or failed one */

/* ---- Comparisons: sis compare ---------------------------------------------------------------- */

/* One of two models, "a" and "b". */
typedef struct sis_side {
    const char *results, *model;
    size_t n, subsets; /* records, and subsets in them */
    double threshold;
    int below;       /* "direction": ">=" or "<=" */
    size_t decided;  /* records of which the model decided; not in the file */
    double features; /* a subset has on average; not in the file */
} sis_side;

/* The subsets of one model, scored by the other: "a_by_b" and "b_by_a" in "scores". */
typedef struct sis_cross {
    double sufficient; /* the share of them that is enough for the other */
    size_t n;
    const double *scores; /* (n) */
    size_t n_quantiles;   /* 0 or 5: least, quarter, half, three quarters, most */
    const double *quantiles, *own_quantiles; /* of these scores, and of their own model's */
} sis_cross;

/* How the models decide the examples that are in both files. */
#define SIS_DECISIONS(X)                                                                           \
    X(SAME, "same")                                                                                \
    X(OTHER_OUTPUT, "other_output")                                                                \
    X(ONLY_A, "only_a")                                                                            \
    X(ONLY_B, "only_b")                                                                            \
    X(NEITHER, "neither")
#define SIS_DECISION_NUMBER(code, name) SIS_DECISION_##code,
enum { SIS_DECISIONS(SIS_DECISION_NUMBER) SIS_N_DECISIONS };
#undef SIS_DECISION_NUMBER

/* An example that both explain. */
typedef struct sis_difference {
    const char *id;
    double distance; /* of its subsets */
    size_t n_patterns[2];
    const char *const *patterns[2]; /* "a", "b": subsets as text */
} sis_difference;

typedef struct sis_comparison {
    sis_side sides[2];
    size_t common, decisions[SIS_N_DECISIONS]; /* "decisions", with "agreement": a share */
    sis_cross cross[2];                        /* of A's subsets by B, of B's by A */
    sis_clustering joint;
    size_t n_differences;
    const sis_difference *differences; /* "differ", farthest first */

    /* Not in the file. */
    size_t n_explained; /* examples that both explain */
    double farthest;    /* the largest distance of their subsets */
    void *held;
} sis_comparison;

typedef struct sis_compare_opt {
    const char *models[2];         /* as sis_model_open takes them */
    sis_model_opt open;            /* how both are opened */
    sis_clustering_opt clustering; /* target and target_index choose the records that count */
    size_t differ;                 /* examples that differ most to keep, default 5 */
} sis_compare_opt;

void sis_compare_opt_init(sis_compare_opt *opt);

/* Two models, or two versions of one: decisions on the examples that are in both files; how each
 * model scores the subsets of the other, everything else masked; clusters of all subsets together;
 * and the examples whose subsets differ most, by the mean over the subsets of both of the distance to
 * the nearest of the other. Each file holds one decision: a threshold and a direction. */
int sis_compare(const sis_records sides[2], const sis_compare_opt *opt, sis_comparison *out);

/* An example that is in both files. */
typedef struct sis_pair {
    size_t records[2];
    double overlap; /* of all features in subsets: intersection over union. If there are none: do
                       both have the same status? 1 or 0 */
    size_t shared;  /* subsets that both have */
    int same;       /* the same status and the same subsets, in any order */
} sis_pair;

/* All pairs, in the order of the first file: *n of them, free(*pairs). Both files are indexed. */
int sis_pairs_find(const sis_records *a, const sis_records *b, sis_pair **pairs, size_t *n);

int sis_comparison_format(const sis_comparison *comparison, char **text, size_t *n);
int sis_comparison_parse(const char *text, size_t n, sis_comparison *out);
void sis_comparison_release(sis_comparison *comparison);

/* Of 1, the share of common examples on which both decide the same or neither decides; NaN if there
 * are none. */
double sis_comparison_agreement(const sis_comparison *comparison);

/* ---- Evaluations: sis evaluate --json --------------------------------------------------------- */

/* Measurements of --metrics, --human and the like, for a rationale and in the summary. */
#define SIS_METRICS(X)                                                                             \
    X(STABLE, "stable")                                                                            \
    X(SUFFICIENCY, "sufficiency")                                                                  \
    X(COMPREHENSIVENESS, "comprehensiveness")                                                      \
    X(PGI, "pgi")                                                                                  \
    X(PGU, "pgu")                                                                                  \
    X(TOKEN_PRECISION, "token_precision")                                                          \
    X(TOKEN_RECALL, "token_recall")                                                                \
    X(TOKEN_F1, "token_f1")                                                                        \
    X(IOU_F1, "iou_f1")                                                                            \
    X(SAME, "same")                                                                                \
    X(JACCARD, "jaccard")

/* Measurements of a rationale. */
#define SIS_MEASURES(X)                                                                            \
    X(LENGTH, "length")                                                                            \
    X(PERCENT, "percent")                                                                          \
    X(SCORE, "score")                                                                              \
    X(SUFFICIENT, "sufficient")                                                                    \
    X(INSIDE, "inside")                                                                            \
    X(OUTSIDE, "outside")                                                                          \
    X(MARKED, "marked")                                                                            \
    X(DIVERGENCE, "divergence")                                                                    \
    X(SECOND, "second")                                                                            \
    X(DECK, "deck")                                                                                \
    X(DECK_HOLDS, "deck_holds")                                                                    \
    X(AROUND, "around")                                                                            \
    X(HALF, "half")                                                                                \
    X(HALF_HOLDS, "half_holds")                                                                    \
    SIS_METRICS(X)
#define SIS_MEASURE_NUMBER(code, name) SIS_MEASURE_##code,
typedef enum sis_measure { SIS_MEASURES(SIS_MEASURE_NUMBER) SIS_N_MEASURES } sis_measure;
#undef SIS_MEASURE_NUMBER

const char *sis_measure_name(sis_measure measure); /* "length" */

/* One subset of one example by one method. In the file a measure that is NaN is absent, and
 * "sufficient" is true or false. What is measured of an example as a whole, "sufficiency" and all
 * behind it, stands with its first subset. */
typedef struct sis_rated {
    size_t example; /* which of the examples; "id" in the file. SIZE_MAX: none of them */
    size_t subset, n_features;
    const int *features; /* (n_features) */
    double measures[SIS_N_MEASURES];
    long motif_start; /* -1: none */
    int reverse;      /* "motif_strand": "+" or "-" */
} sis_rated;

/* Of one number over all rationales of a method: an object in "summary" by the number's name. */
typedef struct sis_quantity {
    double median, mean, lowest, highest; /* median NaN: not measured */
    double outside;                       /* of the importance: "median_inside", "median_outside" */
    double rank_sum_p, signed_rank_p;     /* against the first method */
} sis_quantity;

/* The numbers that are summed up so. */
#define SIS_QUANTITIES(X)                                                                          \
    X(LENGTH, "length")                                                                            \
    X(PERCENT, "percent")                                                                          \
    X(SCORE, "score")                                                                              \
    X(MARKED, "marked")                                                                            \
    X(DIVERGENCE, "divergence")                                                                    \
    SIS_METRICS(X)                                                                                 \
    X(IMPORTANCE, "importance")
#define SIS_QUANTITY_NUMBER(code, name) SIS_QUANTITY_##code,
enum { SIS_QUANTITIES(SIS_QUANTITY_NUMBER) SIS_N_QUANTITIES };
#undef SIS_QUANTITY_NUMBER

/* What is told cut by cut: lists of as many numbers in "cuts" by these names. */
#define SIS_CURVES(X)                                                                              \
    X(PERCENT, "percent")                                                                          \
    X(FEATURES, "features")                                                                        \
    X(SUFFICIENCY, "sufficiency")                                                                  \
    X(COMPREHENSIVENESS, "comprehensiveness")                                                      \
    X(PGI, "pgi")                                                                                  \
    X(PGU, "pgu")                                                                                  \
    X(STABLE, "stable")                                                                            \
    X(STABLE_LOW, "stable_low")                                                                    \
    X(STABLE_HIGH, "stable_high")
#define SIS_CURVE_NUMBER(code, name) SIS_CURVE_##code,
enum { SIS_CURVES(SIS_CURVE_NUMBER) SIS_N_CURVES };
#undef SIS_CURVE_NUMBER

/* Under what rationales are tried by robust: their own mask, the second one, hot-deck masks, with
 * neighbours put back, with random halves of the other features put back. */
enum {
    SIS_TRIAL_OWN,
    SIS_TRIAL_SECOND,
    SIS_TRIAL_DECK,
    SIS_TRIAL_AROUND,
    SIS_TRIAL_HALF,
    SIS_N_TRIALS
};

typedef struct sis_method_summary {
    double subsets_per_example, subsets_max, sufficient_examples, evaluations_per_example;
    sis_quantity quantities[SIS_N_QUANTITIES];
    double pearson_r, pearson_p;
    double holds[SIS_N_TRIALS]; /* share of rationales that stay sufficient; not in the file */
    size_t n_cuts;              /* 0: the metrics were not asked for */
    const double *curves[SIS_N_CURVES]; /* (n_cuts) means over examples; of stability the share of
                                         * draws that hold, and its interval; "features" is NULL
                                         * unless rankings are cut by number */
} sis_method_summary;

typedef struct sis_evaluated_method {
    const char *name, *method, *file;
    sis_method_summary summary;
    size_t n;
    const sis_rated *rationales; /* (n) */
} sis_evaluated_method;

typedef struct sis_evaluated_example {
    const char *id;
    size_t target, n_features;
    int below; /* "direction" */
    double threshold, score;
    double human_score, qhs;  /* of what a person marked */
    const double *importance; /* (n_features) or NULL */
} sis_evaluated_example;

/* The marks of people, and what the model makes of them alone. */
typedef struct sis_people {
    size_t n;                       /* examples with marks */
    size_t n_scored;                /* of these, with a score of the marks alone: */
    size_t sufficient;              /* examples whose marks are */
    double share;                   /* of all features that is marked, a mean */
    double median, lowest, highest; /* of qhs */
} sis_people;

typedef struct sis_evaluation {
    const char *model, *motif; /* motif NULL: none */
    size_t n_examples;
    const sis_evaluated_example *examples;
    size_t n_methods;
    const sis_evaluated_method *methods;
    size_t n_draws;                     /* "imputation": what masking one feature does */
    const double *by_mask, *by_hotdeck; /* (n_draws) */

    /* Not in the file. */
    size_t n_shared;        /* examples in the files, explained or not */
    const char *keep;       /* of the records: "class", or NULL */
    int masked;             /* all rationales are of masks; proofs and draws have other scores */
    const char *motif_name; /* or NULL */
    sis_people people;
    void *held;
} sis_evaluation;

typedef struct sis_evaluate_opt {
    sis_task *task; /* model and examples that the records were made of; NULL: neither is needed */
    sis_task *second;               /* the same under another mask, for robust */
    const char *mask, *second_mask; /* what their masks are called, for messages */
    int first;                      /* only the first subset of each example */
    int human;                      /* agreement with what people marked */
    int robust;                     /* do rationales hold under other masks? */
    int metrics;                    /* sufficiency, comprehensiveness, PGI, PGU, stability */
    int by_count;                   /* cut rankings after 1, 2, 3, 5 and 10 features */
    int imputation;                 /* compare the mask with hot-deck values */
    const char *motif;              /* file of a DNA motif, or NULL */
    size_t draws;                   /* of imputation, default 10000 */
    size_t samples;                 /* of hot decks and halves, default SIS_TASK_DRAWS */
    size_t around;                  /* how far neighbours are put back by robust, default 1 */
    uint64_t seed;                  /* default 1 */
    sis_opt search;                 /* jobs, memory, progress */
} sis_evaluate_opt;

void sis_evaluate_opt_init(sis_evaluate_opt *opt);

/* Several methods over the same decisions, one file each: length, score and importance of their
 * rationales, and what else was asked for; each method is tested against the first. Only examples
 * that every file explains count. Without files only the imputation is possible. The files are
 * indexed (sis_records_index), and *out points into them: release it first. */
int sis_evaluate(const sis_records *files, size_t n, const sis_evaluate_opt *opt,
                 sis_evaluation *out);

int sis_evaluation_format(const sis_evaluation *evaluation, char **text, size_t *n);
int sis_evaluation_parse(const char *text, size_t n, sis_evaluation *out);
void sis_evaluation_release(sis_evaluation *evaluation);

/* ---- What subsets hold --------------------------------------------------------------------- */

/* How often subsets hold a feature: by its name; of texts the word in lower case, of images the
 * place, of DNA letters that stand side by side in a subset. */
typedef struct sis_summary_item {
    const char *name;
    size_t subsets, examples;  /* that hold it */
    size_t right, wrong;       /* subsets of decisions that the label says are so */
    size_t numbers;            /* times that it was a number: */
    double min, max, mean;  /* of these */
    size_t n_classes, n_words; /* different ones, see below */
} sis_summary_item;

typedef struct sis_summary sis_summary;
int sis_summary_new(sis_summary **out);
int sis_summary_add(sis_summary *s, const sis_record *record);
void sis_summary_free(sis_summary *s);

/* All is there: *n items, those of most subsets first. Then item i, which is borrowed; and of it
 * class and word k, with the number of subsets of each. */
int sis_summary_sort(sis_summary *s, size_t *n);
sis_summary_item sis_summary_at(const sis_summary *s, size_t i);
const char *sis_summary_class(const sis_summary *s, size_t i, size_t k, size_t *n);
const char *sis_summary_word(const sis_summary *s, size_t i, size_t k, size_t *n);
void sis_summary_totals(const sis_summary *s, size_t *records, size_t *subsets);

/* The first n items as JSON, a line each; free(*json). */
int sis_summary_format(const sis_summary *s, size_t n, char **json, size_t *bytes);

/* How many subsets hold what is called so. */
size_t sis_summary_holds(const sis_summary *s, const char *name);

/* ---- Groups -------------------------------------------------------------------------------- */

/* A share and its 95 % interval by Wilson's formula; of nothing it is NaN, from 0 to 1. */
typedef struct sis_proportion {
    size_t n, of;
    double share, low, high;
} sis_proportion;
sis_proportion sis_proportion_of(size_t n, size_t of);

/* Examples that have the same value of a column. */
typedef struct sis_group {
    const char *name;
    size_t examples; /* without those of status error */
    sis_proportion decided;
    size_t subsets;
} sis_group;

/* Decisions and reasons by the values of a column: "sex", or by ranges of numbers "age:30,50"; "label" is
 * the label unless there is a column of that name. SIS_E_OPTION: a record has no such column, or there are
 * more than 50 groups. After sis_groups_sort there are `groups` of them, numbers in their order and words
 * by the alphabet, and `features`, those of most subsets first. */
typedef struct sis_groups sis_groups;
int sis_groups_new(const char *by, sis_groups **out);
int sis_groups_add(sis_groups *g, const sis_record *record);
int sis_groups_sort(sis_groups *g, size_t *groups, size_t *features);
void sis_groups_free(sis_groups *g);

/* Borrowed. */
const char *sis_groups_column(const sis_groups *g);
sis_group sis_groups_at(const sis_groups *g, size_t i);
const char *sis_groups_feature(const sis_groups *g, size_t f);

/* The share of the subsets of group i that hold feature f. */
sis_proportion sis_groups_holds(const sis_groups *g, size_t i, size_t f);

/* As JSON, one line a group, with at most this number of features; free(*json). */
int sis_groups_format(const sis_groups *g, size_t features, char **json, size_t *n);

/* ---- Points -------------------------------------------------------------------------------- */

/* What is clustered: points of one kind, numbered from 0 in the order in which they are added. What
 * is added is copied. */
typedef struct sis_points sis_points;

int sis_points_new(sis_distance distance, sis_points **out);
void sis_points_free(sis_points *points);
size_t sis_points_count(const sis_points *points);

/* Points of distance levenshtein that are DNA: the distance of two is then the lesser of those to
 * one and to its other strand, backwards with A and T, C and G exchanged. Before points are used. */
int sis_points_both_strands(sis_points *points, int both);
sis_distance sis_points_distance_kind(const sis_points *points);

/* Subset k of a record. SIS_E_FORMAT if the record lacks what the distance needs; the message names
 * the record and the field. */
int sis_points_add_subset(sis_points *points, const sis_record *record, size_t k);

/* The same from plain arrays, at least one item each; SIS_E_ARGUMENT for points of another
 * distance. */
int sis_points_add_words(sis_points *points, const char *const *words, size_t n);
int sis_points_add_letters(sis_points *points, const char *letters, size_t n); /* n <= 65535 */
int sis_points_add_pixels(sis_points *points, const int *places, size_t n); /* (n, 2) row, column,
                                                                               0 to 65535 */
int sis_points_add_cells(sis_points *points, const char *const *names, const double *values,
                         size_t n);

/* n points of which only their distances are known: never negative, the same both ways, 0 for a
 * point and itself, which is not asked for. NaN ends the call with SIS_E_NAN. It is called by
 * several threads at once, for every pair of points, since there is no index for it; ctx is
 * borrowed and must outlive the points. Points are only numbers: keep what they stand for yourself,
 * for example the records of a file, released after sis_cluster (examples/07_distance.c). */
typedef double (*sis_distance_fn)(void *ctx, size_t a, size_t b);
int sis_points_new_custom(size_t n, sis_distance_fn distance, void *ctx, sis_points **out);

/* The distance of two points, by its plain definition. */
int sis_points_distance(const sis_points *points, size_t a, size_t b, double *out);

/* ---- Clusters ------------------------------------------------------------------------------ */

typedef struct sis_cluster_opt {
    double eps;      /* points at most that far apart are neighbours; NaN by default: set it */
    size_t min_size; /* a point with that many neighbours, itself among them, is core; default 5 */
    int jobs;        /* threads; default 1, 0: one per core */
    size_t memory;   /* bytes for neighbours; beyond it some are found twice. Default 512 MiB */
    size_t sample;   /* sis_kdistances: points to look at; default 1000, 0: all */
} sis_cluster_opt;

void sis_cluster_opt_init(sis_cluster_opt *opt);

/* NULL, or why these options cannot be used. */
const char *sis_cluster_opt_check(const sis_cluster_opt *opt);

typedef struct sis_clusters {
    size_t n;            /* points */
    int *labels;         /* (n) cluster from 0, -1: noise */
    unsigned char *core; /* (n) is it a core point? */
    size_t n_clusters;
    size_t *medoids;    /* (n_clusters) the member with the least sum of distances to all, the first
                            of several; of more than 256 different members, among and to the 256
                            most frequent */
    size_t n_different; /* points that are not the same as an earlier one */
    size_t n_neighbours; /* pairs of different points at most eps apart */
} sis_clusters;

/* DBSCAN. A cluster is a set of core points connected through neighbours that are core, and every
 * other neighbour of these. Clusters are numbered in the order of their first core points; a point
 * that is not core belongs to the lowest cluster it is a neighbour of. */
int sis_cluster(const sis_points *points, const sis_cluster_opt *opt, sis_clusters *out);
void sis_clusters_release(sis_clusters *clusters);

/* How far each point has to look to be a core point, over all points or opt.sample of them, spread
 * evenly: sorted, farthest first. Points that cannot be core at any useful eps (their min_size - 1
 * nearest share no word or name with them, or there are not as many) are left out. */
typedef struct sis_kdistances {
    size_t n;
    double *values; /* (n) */
    size_t knee;    /* the value where the curve turns: farthest below the line between its ends,
                       zeros and the farthest twentieth left out */
} sis_kdistances;

/* Ignores opt.eps. SIS_E_ARGUMENT if there are no distances to choose from. */
int sis_kdistances_find(const sis_points *points, const sis_cluster_opt *opt, sis_kdistances *out);
void sis_kdistances_release(sis_kdistances *k);

/* ---- Images -------------------------------------------------------------------------------- */

/* The pixels of subset k of a record whose shape is that of an image, (height, width) or with
 * channels first or last: *n of them, each once, row by row. places (n, 2) row and column; values
 * (n) what the image is there, the mean of its channels, 0 if the record has no values. Both are
 * free()d by you. */
int sis_subset_pixels(const sis_record *record, size_t k, int **places, double **values, size_t *n);

/* ---- DNA ----------------------------------------------------------------------------------- */

/* The letters of subset k from its first to its last chosen base, gaps as N; any letter that is not
 * A C G T is N too. *n letters and a NUL, free()d by you. */
int sis_subset_letters(const sis_record *record, size_t k, char **letters, size_t *n);

/* The sequence under subset k, chosen or not, and `flank` letters on either side of it; N where the
 * sequence ends. */
int sis_subset_window(const sis_record *record, size_t k, size_t flank, char **letters, size_t *n);

/* A position frequency matrix from n strings of A C G T N: each is laid, without gaps, where it
 * agrees best with the first one, then twice more where it agrees best with what all of them make;
 * N counts as a quarter of each base. Ends that fewer than half of the strings reach are cut off.
 * With `turned` (n) not NULL a string may be laid on its other strand, and turned[i] says whether it
 * was. `name` is that of the motif. *numbers is what the motif points to: free() it. */
int sis_motif_learn(const char *const *strings, size_t n, const char *name, unsigned char *turned,
                    sis_motif *out, double **numbers);

/* The site under such strings. windows[i] is sis_subset_window of what strings[i] is
 * sis_subset_letters of. The strings are laid as above; then the windows are laid again and again where
 * they agree best with all. Columns whose bases in the windows differ from the background (G test, p at
 * most 0.01, and 0.1 bit) have these bases, others those of the strings. Beyond what half of the strings
 * reach, the motif goes on to such columns, over at most three others each. */
typedef struct sis_sites {
    size_t n, flank;
    const char *const *strings, *const *windows; /* (n) each */
    double background[4];                        /* shares of A C G T, above 0 */
} sis_sites;
int sis_motif_learn_sites(const sis_sites *sites, const char *name, unsigned char *turned,
                          sis_motif *out, double **numbers);

/* The other strand of n letters, in place. */
void sis_dna_turn(char *letters, size_t n);

/* How a matrix compares with a known motif (the paper's S2.3): laid where the motif makes the
 * matrix likeliest, on either strand; both continued by uniform columns; the sum over all columns
 * of the Kullback-Leibler divergence from the motif, in nats. A hundredth of the motif is uniform,
 * so that it is finite. */
typedef struct sis_motif_match {
    size_t motif;      /* number in the set */
    double divergence; /* 0: the same */
    long offset;       /* where the motif begins, in columns of the matrix */
    int reverse;       /* the motif's other strand */
    double p, q;       /* of sis_motif_test; else NaN */
} sis_motif_match;

void sis_motif_compare(const sis_motif *matrix, const sis_motif *motif, sis_motif_match *out);

/* The `max` motifs with the least divergence, best first: *matches holds the number returned;
 * free() it. Negative on failure. */
long sis_motif_search(const sis_motif *matrix, const sis_motifs *motifs, size_t max,
                      sis_motif_match **matches);

/* The `max` motifs with the smallest p, best first: a short motif has a small divergence more easily
 * than a long one. p: how probable it is that a motif of the same length whose
 * columns are shuffled, each drawn from all columns of the set and its other strand, is as near to
 * the matrix somewhere, on either strand. It is summed over all such motifs, in steps of a fiftieth
 * of a nat, with places taken as independent of each other, so it is an
 * upper bound: two or three times too large for vague motifs. q: the least share of false ones among
 * the matches with such a p or a smaller one (Benjamini and Hochberg), over all motifs of the
 * set. */
long sis_motif_test(const sis_motif *matrix, const sis_motifs *motifs, size_t max,
                    sis_motif_match **matches);

/* ---- Rationales on motifs -------------------------------------------------------------------------------- */

/* Where a rationale lies on a motif. */
typedef struct sis_alignment {
    size_t start;      /* the position of the sequence at which the motif begins */
    int reverse;       /* it is the motif of the other strand */
    double likelihood; /* its logarithm */
    double divergence; /* the sum over positions of KL(rationale || motif), in nats */
} sis_alignment;

/* A position of a motif is mixed with this share of uniform bases, so that none is impossible. */
#define SIS_MOTIF_UNIFORM 0.01

/* Lay n features of a sequence of A C G T N, all its other bases being N, on a motif where that is
 * likeliest: any place inside the sequence, either strand (of equals the first, the given strand
 * before the other). An N is any base with probability 1/4, and so is what the motif does not
 * cover. */
int sis_motif_align(const sis_motif *motif, const char *sequence, const int *features, size_t n,
                    sis_alignment *out);

/* ---- Robustness ---------------------------------------------------------------------------- */

/* What else to try than the mask that a rationale was found with. */
typedef struct sis_robust_opt {
    const sis_deck *deck; /* hot-deck masks in the place of its own; borrowed */
    size_t samples;       /* of them, and of random halves; at least 1 */
    uint64_t seed;        /* of example 0; input i of a call has seed + i */
    size_t height,
        width;       /* how features lie, as in sis_features_around; 0: they have no neighbours */
    size_t distance; /* of neighbours that are put back */
} sis_robust_opt;

/* Scores of a rationale when what surrounds it is different, and how often they are enough. */
typedef struct sis_robustness {
    double deck, deck_holds; /* mean over hot-deck masks; share of them under which it is enough */
    double around, around_holds; /* with its neighbours put back; 1 or 0. NaN: they have none */
    double half, half_holds; /* with random halves of all other features put back: mean, share */
} sis_robustness;

/* Try n rationales (parts that say what is left): out (n). opt->threshold and below say what is
 * enough. Needs memory for `samples` masks of each of them. */
int sis_robustness_measure(const sis_model *model, const sis_part *parts, size_t n,
                           const sis_opt *opt, const sis_robust_opt *robust, sis_robustness *out);

/* ---- Metrics ------------------------------------------------------------------------------
 *
 * The numbers by which the field compares explanations. A ranking is looked at where it is cut: its
 * first 1, 5, 10, 20 and 50 per cent of all features, rounded up; or its first 1, 2, 3, 5 and 10. */

enum { SIS_N_CUTS = 5 };

double sis_cut_percent(size_t cut);              /* 1, 5, 10, 20, 50 */
size_t sis_cut_features(size_t cut, size_t all); /* how many of `all` features that is */
size_t sis_cut_count(size_t cut);                /* 1, 2, 3, 5, 10 */

/* What a ranking is worth at each cut. The mean over the cuts is the AOPC (area over the perturbation
 * curve) of DeYoung et al. 2020, ERASER. */
typedef struct sis_faithfulness {
    double
        sufficiency[SIS_N_CUTS]; /* what the score falls by if only the first features are left */
    double comprehensiveness[SIS_N_CUTS]; /* if they alone are masked */
    double pgi[SIS_N_CUTS]; /* the mean change of the score, either way, if they are drawn anew */
    double pgu[SIS_N_CUTS]; /* if all others are (Dai et al. 2022) */
} sis_faithfulness;

/* Of features in `order`, the most important first: n of them, all or only those that the method
 * ranks; then a cut behind the last takes what there is. opt->below turns falls into rises. What is
 * drawn anew comes from the deck, `samples` times; without a deck pgi and pgu are NaN. */
typedef struct sis_ranking {
    const sis_input *input;
    const int *order; /* (n) */
    size_t n;
    int by_count; /* cut by sis_cut_count() */
    const sis_deck *deck;
    size_t samples;
    uint64_t seed;
} sis_ranking;

int sis_faithfulness_measure(const sis_model *model, const sis_ranking *ranking, const sis_opt *opt,
                             sis_faithfulness *out);

/* Does a rationale (a part that says what is left) stay enough when others of its features come
 * back? At each cut that share of all other features, drawn at random, is put back `samples` times:
 * held (SIS_N_CUTS) says how often the score still was enough. */
int sis_stability_measure(const sis_model *model, const sis_part *part, const sis_opt *opt,
                          size_t samples, uint64_t seed, size_t held[SIS_N_CUTS]);

/* How two sets of features agree: a is judged, b is right. */
typedef struct sis_overlap {
    double precision, recall, f1; /* of features: ERASER's token F1 */
    double iou_f1;  /* of spans, the longest runs of neighbours: one of a is right if it shares half
                     * with one of b, intersection over union (ERASER's IOU F1) */
    double jaccard; /* intersection over union of the sets */
} sis_overlap;

/* Features may come in any order and more than once. An empty set agrees with nothing: all 0. */
int sis_overlap_measure(const int *a, size_t na, const int *b, size_t nb, sis_overlap *out);

/* ---- Attacks on the examples of a task ----------------------------------------------------- */

/* The examples of a task, and what an attack makes of them. */
typedef struct sis_attacked {
    const sis_task *task; /* borrowed */
    const sis_net *net;   /* its network */
    size_t n, n_outputs, width;
    sis_example *examples;    /* (n) */
    double *rows, *changed;   /* (n, width) values before and after */
    double *before, *after;   /* (n, n_outputs) scores */
    size_t *targets;          /* (n) */
    sis_attack_result *found; /* (n) */
} sis_attacked;

/* Load and score all examples, and choose for each the output to reach: "next" to the one it has,
 * "second" highest, a label, or a position if the network has no labels; of one output 0 or 1. */
int sis_attacked_open(const sis_task *task, const char *towards, int jobs, sis_attacked *out);

/* Attack them, and score what came out of it. */
int sis_attacked_run(sis_attacked *a, const sis_attack_opt *opt);

/* What the network decides by these scores: the highest output; of one output, whether a probability
 * is at least one half, or else a score at least zero. */
size_t sis_attacked_decision(const sis_attacked *a, const double *scores);
void sis_attacked_release(sis_attacked *a); /* harmless on a zeroed one */

#ifdef __cplusplus
}
#endif
#endif
