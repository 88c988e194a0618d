/* SPDX-License-Identifier: MIT
 *
 * sis/analysis.h - analyses of many records: counts, clusters, comparisons of two models,
 * evaluations of several methods; attacks on the examples of a task.
 *
 * Experimental: may change from one version to the next.
 *
 * Sections: analyses, each a struct with a JSON form (sis cluster, sis compare, sis evaluate);
 * counts over all subsets (sis summary); points and clusters; DNA motifs; measures of single
 * rationales.
 *
 * Clusters are those of DBSCAN (Ester et al. 1996), numbered as scikit-learn numbers them.
 * Neighbours are found with an index for the distance, without a distance matrix. Memory: the
 * points and at most opt.memory bytes of neighbours, whatever eps is.
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
 * The JSON form is one object (UTF-8). Fields have the names of struct members unless a comment
 * says otherwise; readers accept them in any order and ignore unknown ones. Missing measurements
 * are NaN, and null or absent in the file. Release structs that a function of this header fills;
 * structs that you fill borrow their pointers and must not be released.
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

/* The records of one file. Zero it before the first is added; free it with sis_records_release. */
typedef struct sis_records {
    const char *name;  /* of the file, for messages; borrowed */
    sis_record *items; /* (n) in the order of the file */
    size_t n, room;
    void *ids; /* after sis_records_index */
} sis_records;

/* Add a record and take ownership: *record is zeroed. */
int sis_records_add(sis_records *records, sis_record *record);

/* Build the index by id, after all records are added. With `once`, duplicate ids are an error. */
int sis_records_index(sis_records *records, int once);
const sis_record *sis_records_find(const sis_records *records, const char *id); /* or NULL */
void sis_records_release(sis_records *records);

/* ---- Parts of a run -------------------------------------------------------------------------- */

/* A record, its place and its example. */
typedef struct sis_line {
    size_t row;   /* in the data set */
    size_t file;  /* index in the list of files */
    long long at; /* offset in the file */
    size_t length;
    int first;     /* it holds the provenance of the file */
    int retryable; /* cut short or an error: a later record of the same file replaces it */
} sis_line;

/* Lines of the parts of one run. Zero it before the first file. */
typedef struct sis_lines {
    const char **paths; /* (n_files) borrowed */
    size_t n_files;
    sis_line *items; /* (n) */
    size_t n, room;
    sis_provenance provenance; /* of the whole run, without a shard */
    char *provenance_json;     /* the same as JSON text */
    char *provenance_part;     /* of the first file, with its shard */
    const char *provenance_by; /* the file of that provenance */
    size_t torn;               /* files that end in an incomplete record, which is left out */
} sis_lines;

/* Add a file, which must belong to the same run as earlier ones, or a line written to it. The file
 * may be empty. */
int sis_lines_add(sis_lines *lines, const char *path);
int sis_lines_note(sis_lines *lines, const sis_line *line);

/* Sort the lines into the order of the run and drop replaced retryable ones. missing(ctx, row) is
 * called for each example without a line. */
int sis_lines_sort(sis_lines *lines, void (*missing)(void *ctx, size_t row), void *ctx);

/* Write the lines. The first holds the provenance of the run: provenance_json, or provenance_part.
 * Nonzero from `write` stops and is the result. */
typedef int sis_lines_out(void *ctx, const char *bytes, size_t n);
int sis_lines_write(const sis_lines *lines, const char *provenance, sis_lines_out *write,
                    void *ctx);
void sis_lines_release(sis_lines *lines);

/* Sort the records of a results file into the order of its run; a new file atomically replaces the
 * old one. `provenance`: the new provenance of its first record; NULL: unchanged. _in_place: uses
 * lines that are already known instead of reading the file. */
int sis_lines_sort_file(const char *path, const char *provenance);
int sis_lines_sort_in_place(sis_lines *lines, const char *path, const char *provenance);

/* Results files, and which of them are parts of one run (--shard). The parts of a run count as one
 * source, named after the first part. Zero it before the first; paths are borrowed. */
typedef struct sis_part_file {
    const char *path, *source; /* source: the path of the first part */
    char *run;                 /* provenance of the run; NULL: no part */
} sis_part_file;
typedef struct sis_parts {
    sis_part_file *items; /* (n) */
    size_t n, room;
} sis_parts;
int sis_parts_add(sis_parts *parts, const char *path, const char **source);
void sis_parts_release(sis_parts *parts);

/* 1 for files that can be read only once: standard input, pipes, <(...) of a shell. */
int sis_results_once(const char *path);

/* ---- Distances ----------------------------------------------------------------------------- */

/* The distances of two subsets:
 *
 *     jaccard       of the sets A, B of their words, without duplicates:
 *                   (|A u B| - |A n B|) / |A u B|
 *     jaccard-bag   the same of bags: the sum over all words of the larger count minus the smaller
 *                   one, divided by the sum of the larger counts
 *     levenshtein   of the letters from the first to the last chosen base, others in between being
 *                   N: the least number of insertions, deletions and replacements
 *     energy        of their pixels, X and Y drawn uniformly from the two sets:
 *                   2 E|X - Y| - E|X - X'| - E|Y - Y'|, Euclidean lengths, at least 0
 *     energy-sqrt   its square root, a metric
 *     overlap       of the names and values of their features: with u names in either, n in both,
 *                   and v of these with equal values, (2 u - n - v) / (2 u). Two subsets of the
 *                   same features are at most 0.5 apart, and 0 if the values agree
 *
 * Quotients of counts are rounded once, so that a distance of 3/10 equals an eps of 0.3. */
#define SIS_DISTANCES(X)                                                                           \
    X(JACCARD, "jaccard")                                                                          \
    X(JACCARD_BAG, "jaccard-bag")                                                                  \
    X(LEVENSHTEIN, "levenshtein")                                                                  \
    X(ENERGY, "energy")                                                                            \
    X(ENERGY_SQRT, "energy-sqrt")                                                                  \
    X(OVERLAP, "overlap")

typedef enum sis_distance {
#define SIS_DISTANCE_CODE(name, text) SIS_DISTANCE_##name,
    SIS_DISTANCES(SIS_DISTANCE_CODE)
#undef SIS_DISTANCE_CODE
        SIS_DISTANCE_CUSTOM /* a callback: sis_points_new_custom */
} sis_distance;

const char *sis_distance_name(sis_distance distance); /* "custom" for a callback */

/* The distance of that name; SIS_E_ARGUMENT for an unknown name. */
int sis_distance_find(const char *name, sis_distance *out);

/* The default distance for a kind (sis_record.kind): jaccard for "text", levenshtein for "dna",
 * energy for "image", overlap for everything else and for NULL. */
sis_distance sis_distance_of_kind(const char *kind);

/* ---- Clusters: sis cluster ------------------------------------------------------------------ */

/* A subset of a record. */
typedef struct sis_member {
    const char *id;
    size_t subset;
    const char *source; /* its results file or model; NULL: unknown */
    size_t record;      /* index of the record in the order added; not in the file */
    int core;           /* is it a core point? not in the file */
} sis_member;

typedef struct sis_pattern {
    const char *text; /* "pattern": the subset as one line of text */
    size_t count;
} sis_pattern;

typedef struct sis_share {
    const char *source;
    double share;
} sis_share;

/* A known motif that is similar to the matrix of a cluster. */
typedef struct sis_found_match {
    const char *id, *name;
    double divergence, p, q; /* sis_motif_test */
    double offset;           /* where the motif begins, in columns of the cluster's matrix */
    int reverse;             /* on its other strand */
    size_t n_matrix;
    const double
        *matrix; /* (n_matrix) four shares per position, of the matching strand */
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
    const double *matrix; /* (n_matrix) DNA: counts of A C G T at each position, four numbers each;
                             members may lie on either strand. NULL: unknown */
    size_t n_matches;
    const sis_found_match *matches; /* of that matrix, nearest first; NULL: no motifs given */
    const double *mean; /* (2, height, width) images: how often a pixel is chosen, and its
                           contribution to the mean of all members; not in the file */
} sis_found_cluster;

typedef struct sis_clustering {
    const char *distance;
    const char *strands; /* DNA: "both" or "forward"; NULL: unknown */
    int counts; /* every subset is one word: a cluster is a word with its subsets, and eps was not
                   given */
    double eps;
    size_t min_size, n; /* n: number of subsets */
    size_t n_clusters;
    const sis_found_cluster *clusters;
    size_t n_noise;
    const sis_member *noise; /* in no cluster */

    /* Not in the file. */
    size_t n_records;     /* with subsets */
    size_t n_different;   /* distinct subsets */
    int several_outputs;  /* the records explain different outputs */
    int found_eps;        /* eps was chosen automatically */
    const char *no_eps;   /* why no eps was found: only identical subsets are together. Or NULL */
    size_t n_curve;       /* with opt.curve: the distances of sis_kdistances, farthest first */
    const double *curve;  /* (n_curve) */
    size_t height, width; /* of images; else 0 */
    void *held;
} sis_clustering;

typedef struct sis_clustering_opt {
    const char *distance;     /* name of a distance; NULL: by the kind of the records */
    const char *target;       /* only records of this output, see sis_record_is_target */
    const char *target_index; /* the same by its position */
    double eps;               /* as in sis_cluster_opt; NaN (default): chosen automatically */
    int identical;            /* if no eps is found, group identical subsets; else fail */
    int curve;                /* keep the curve from which eps is chosen */
    size_t min_size;          /* default 5 */
    int forward;              /* DNA: only the given strand; default: either strand */
    const char *motifs;       /* DNA: a file of known motifs to compare with the clusters, or
                                 NULL */
    size_t flank;             /* DNA: how far matrices may extend beyond subsets, default 20; 0:
                                 only the bases of the subsets */
    size_t matches;           /* DNA: known motifs listed per cluster, default 3 */
    size_t top;               /* patterns listed per cluster, default 4 */
    int jobs;                 /* threads; 0: one per core */
} sis_clustering_opt;

void sis_clustering_opt_init(sis_clustering_opt *opt);

/* Clusters the subsets of records. Records are added one by one and not kept:
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
 * eps is the knee of the curve of sis_kdistances. Chains of similar images join clusters at smaller
 * values; for images eps is the value up to the knee with the most subsets in clusters other than
 * the largest. */
typedef struct sis_clusterer sis_clusterer;
int sis_clusterer_new(const sis_clustering_opt *opt, sis_clusterer **out);

/* Add a record of a source; sources may alternate. All records must be of one kind. */
int sis_clusterer_add(sis_clusterer *c, const char *source, const sis_record *record);

/* 0 if there are subsets to cluster, with their distance; SIS_E_ARGUMENT with the reason if not. */
int sis_clusterer_check(const sis_clusterer *c, sis_distance *distance);
int sis_clusterer_find(sis_clusterer *c, sis_clustering *out);
void sis_clusterer_free(sis_clusterer *c);

/* JSON text with its newline: *n bytes and a NUL, free() it. 0 or SIS_E_NOMEM. */
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
    size_t decided;  /* records with a decision; not in the file */
    double features; /* mean number of features per subset; not in the file */
} sis_side;

/* The subsets of one model, scored by the other: "a_by_b" and "b_by_a" in "scores". */
typedef struct sis_cross {
    double sufficient; /* the share that is sufficient for the other model */
    size_t n;
    const double *scores; /* (n) */
    size_t n_quantiles;   /* 0 or 5: minimum, quartiles, maximum */
    const double *quantiles, *own_quantiles; /* of these scores, and of the scores by their own
                                                model */
} sis_cross;

/* The decisions of the two models on the examples in both files. */
#define SIS_DECISIONS(X)                                                                           \
    X(SAME, "same")                                                                                \
    X(OTHER_OUTPUT, "other_output")                                                                \
    X(ONLY_A, "only_a")                                                                            \
    X(ONLY_B, "only_b")                                                                            \
    X(NEITHER, "neither")
#define SIS_DECISION_NUMBER(code, name) SIS_DECISION_##code,
enum { SIS_DECISIONS(SIS_DECISION_NUMBER) SIS_N_DECISIONS };
#undef SIS_DECISION_NUMBER

/* An example that both models explain. */
typedef struct sis_difference {
    const char *id;
    double distance; /* of the subsets of the two models */
    size_t n_patterns[2];
    const char *const *patterns[2]; /* "a", "b": subsets as text */
} sis_difference;

typedef struct sis_comparison {
    sis_side sides[2];
    size_t common, decisions[SIS_N_DECISIONS]; /* "decisions", with "agreement" as a share */
    sis_cross cross[2];                        /* A's subsets scored by B, B's by A */
    sis_clustering joint;
    size_t n_differences;
    const sis_difference *differences; /* "differ", farthest first */

    /* Not in the file. */
    size_t n_explained; /* examples that both explain */
    double farthest;    /* the largest distance of their subsets */
    void *held;
} sis_comparison;

typedef struct sis_compare_opt {
    const char *models[2];         /* as in sis_model_open */
    sis_model_opt open;            /* how both are opened */
    sis_clustering_opt clustering; /* target and target_index choose the records that count */
    size_t differ;                 /* number of most different examples to keep, default 5 */
} sis_compare_opt;

void sis_compare_opt_init(sis_compare_opt *opt);

/* Compare two models, or two versions of one: their decisions on the examples in both files; the
 * scores of each model's subsets by the other, everything else masked; clusters of all subsets
 * together; and the examples whose subsets differ most. The distance of an example is the mean,
 * over the subsets of both, of the distance to the nearest subset of the other. Each file holds one
 * decision: a threshold and a direction. */
int sis_compare(const sis_records sides[2], const sis_compare_opt *opt, sis_comparison *out);

/* An example that is in both files. */
typedef struct sis_pair {
    size_t records[2];
    double overlap; /* intersection over union of all features in subsets. Without features: 1 if
                       both have the same status, else 0 */
    size_t shared;  /* subsets that both have */
    int same;       /* equal status and equal subsets, in any order */
} sis_pair;

/* All pairs, in the order of the first file: *n of them, free(*pairs). Both files are indexed. */
int sis_pairs_find(const sis_records *a, const sis_records *b, sis_pair **pairs, size_t *n);

int sis_comparison_format(const sis_comparison *comparison, char **text, size_t *n);
int sis_comparison_parse(const char *text, size_t n, sis_comparison *out);
void sis_comparison_release(sis_comparison *comparison);

/* The share of common examples on which both models decide the same or neither decides; NaN without
 * common examples. */
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

/* One subset of one example by one method. In the file, a measure that is NaN is absent, and
 * "sufficient" is true or false. Measures of a whole example ("sufficiency" and those after it) are
 * stored with its first subset. */
typedef struct sis_rated {
    size_t example; /* index of the example; "id" in the file. SIZE_MAX: none */
    size_t subset, n_features;
    const int *features; /* (n_features) */
    double measures[SIS_N_MEASURES];
    long motif_start; /* -1: none */
    int reverse;      /* "motif_strand": "+" or "-" */
} sis_rated;

/* Statistics of one number over all rationales of a method: an object in "summary" under the
 * number's name. */
typedef struct sis_quantity {
    double median, mean, lowest, highest; /* median NaN: not measured */
    double outside;                       /* of the importance: "median_inside", "median_outside" */
    double rank_sum_p, signed_rank_p;     /* against the first method */
} sis_quantity;

/* The numbers that are summarised. */
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

/* Values per cut: lists of n_cuts numbers in "cuts" under these names. */
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

/* Conditions under which `robust` tests rationales: their own mask, the second mask, hot-deck
 * masks, neighbours put back, random halves of the other features put back. */
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
    size_t n_cuts;              /* 0: metrics not requested */
    const double *curves[SIS_N_CURVES]; /* (n_cuts) means over examples; for stability the share of
                                           draws that hold and its interval; "features" is NULL
                                           unless rankings are cut by number */
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
    double human_score, qhs;  /* of the features that a person marked */
    const double *importance; /* (n_features) or NULL */
} sis_evaluated_example;

/* Features marked by people, and their scores by the model. */
typedef struct sis_people {
    size_t n;                       /* examples with marks */
    size_t n_scored;                /* examples with marks and a score of the marks alone: */
    size_t sufficient;              /* examples whose marks are sufficient */
    double share;                   /* mean share of marked features */
    double median, lowest, highest; /* of qhs */
} sis_people;

typedef struct sis_evaluation {
    const char *model, *motif; /* motif NULL: none */
    size_t n_examples;
    const sis_evaluated_example *examples;
    size_t n_methods;
    const sis_evaluated_method *methods;
    size_t n_draws;                     /* "imputation": the effect of masking one feature */
    const double *by_mask, *by_hotdeck; /* (n_draws) */

    /* Not in the file. */
    size_t n_shared;        /* examples in the files, explained or not */
    const char *keep;       /* of the records: "class", or NULL */
    int masked;             /* all rationales use masks; proofs and draws have other scores */
    const char *motif_name; /* or NULL */
    sis_people people;
    void *held;
} sis_evaluation;

typedef struct sis_evaluate_opt {
    sis_task *task; /* model and examples of the records; NULL: not needed */
    sis_task *second;               /* the same with another mask, for robust */
    const char *mask, *second_mask; /* names of their masks, for messages */
    int first;                      /* only the first subset of each example */
    int human;                      /* agreement with marks of people */
    int robust;                     /* test rationales under other masks */
    int metrics;                    /* sufficiency, comprehensiveness, PGI, PGU, stability */
    int by_count;                   /* cut rankings after 1, 2, 3, 5 and 10 features */
    int imputation;                 /* compare the mask with hot-deck values */
    const char *motif;              /* file of a DNA motif, or NULL */
    size_t draws;                   /* of imputation, default 10000 */
    size_t samples;                 /* of hot decks and halves, default SIS_TASK_DRAWS */
    size_t around;                  /* distance up to which robust puts neighbours back, default
                                       1 */
    uint64_t seed;                  /* default 1 */
    sis_opt search;                 /* jobs, memory, progress */
} sis_evaluate_opt;

void sis_evaluate_opt_init(sis_evaluate_opt *opt);

/* Compare several methods on the same decisions, one file each: length, score and importance of
 * their rationales, and further measures on request; each method is tested against the first. Only
 * examples that every file explains count. Without files only the imputation is possible. The files
 * must be indexed (sis_records_index). *out points into them: release it first. */
int sis_evaluate(const sis_records *files, size_t n, const sis_evaluate_opt *opt,
                 sis_evaluation *out);

int sis_evaluation_format(const sis_evaluation *evaluation, char **text, size_t *n);
int sis_evaluation_parse(const char *text, size_t n, sis_evaluation *out);
void sis_evaluation_release(sis_evaluation *evaluation);

/* ---- Counts of features -------------------------------------------------------------------- */

/* How often subsets contain a feature: identified by name, for texts by the word in lower case, for
 * images by the place, for DNA by adjacent letters of a subset. */
typedef struct sis_summary_item {
    const char *name;
    size_t subsets, examples;  /* that contain it */
    size_t right, wrong;       /* subsets of decisions that the label confirms or contradicts */
    size_t numbers;            /* occurrences as a number: */
    double min, max, mean;  /* of these */
    size_t n_classes, n_words; /* numbers of distinct ones, see below */
} sis_summary_item;

typedef struct sis_summary sis_summary;
int sis_summary_new(sis_summary **out);
int sis_summary_add(sis_summary *s, const sis_record *record);
void sis_summary_free(sis_summary *s);

/* Sort after all records are added: *n items, most subsets first. Then get item i, which is
 * borrowed, and its class or word k with the number of subsets. */
int sis_summary_sort(sis_summary *s, size_t *n);
sis_summary_item sis_summary_at(const sis_summary *s, size_t i);
const char *sis_summary_class(const sis_summary *s, size_t i, size_t k, size_t *n);
const char *sis_summary_word(const sis_summary *s, size_t i, size_t k, size_t *n);
void sis_summary_totals(const sis_summary *s, size_t *records, size_t *subsets);

/* The first n items as JSON, one per line; free(*json). */
int sis_summary_format(const sis_summary *s, size_t n, char **json, size_t *bytes);

/* The number of subsets that contain the feature of this name. */
size_t sis_summary_holds(const sis_summary *s, const char *name);

/* ---- Groups -------------------------------------------------------------------------------- */

/* A share and its 95 % Wilson interval; of nothing: NaN, from 0 to 1. */
typedef struct sis_proportion {
    size_t n, of;
    double share, low, high;
} sis_proportion;
sis_proportion sis_proportion_of(size_t n, size_t of);

/* Examples with the same value of a column. */
typedef struct sis_group {
    const char *name;
    size_t examples; /* without those of status error */
    sis_proportion decided;
    size_t subsets;
} sis_group;

/* Decisions and features by the values of a column: "sex", or by ranges of numbers "age:30,50".
 * "label" is the label unless a column has that name. SIS_E_OPTION: a record has no such column, or
 * there are more than 50 groups. After sis_groups_sort there are `groups` groups, numbers ascending
 * and words alphabetically, and `features`, most subsets first. */
typedef struct sis_groups sis_groups;
int sis_groups_new(const char *by, sis_groups **out);
int sis_groups_add(sis_groups *g, const sis_record *record);
int sis_groups_sort(sis_groups *g, size_t *groups, size_t *features);
void sis_groups_free(sis_groups *g);

/* Borrowed. */
const char *sis_groups_column(const sis_groups *g);
sis_group sis_groups_at(const sis_groups *g, size_t i);
const char *sis_groups_feature(const sis_groups *g, size_t f);

/* The share of the subsets of group i that contain feature f. */
sis_proportion sis_groups_holds(const sis_groups *g, size_t i, size_t f);

/* JSON, one line per group, with at most this number of features; free(*json). */
int sis_groups_format(const sis_groups *g, size_t features, char **json, size_t *n);

/* ---- Points -------------------------------------------------------------------------------- */

/* Points to be clustered, all of one kind, numbered from 0 in the order added. Data are copied. */
typedef struct sis_points sis_points;

int sis_points_new(sis_distance distance, sis_points **out);
void sis_points_free(sis_points *points);
size_t sis_points_count(const sis_points *points);

/* For DNA with distance levenshtein: the distance of two points is the smaller of the distances to
 * a point and to its reverse complement. Call it before points are used. */
int sis_points_both_strands(sis_points *points, int both);
sis_distance sis_points_distance_kind(const sis_points *points);

/* Add subset k of a record. SIS_E_FORMAT if the record lacks a field that the distance needs; the
 * message names the record and the field. */
int sis_points_add_subset(sis_points *points, const sis_record *record, size_t k);

/* Add points from arrays of at least one item each; SIS_E_ARGUMENT for points of another
 * distance. */
int sis_points_add_words(sis_points *points, const char *const *words, size_t n);
int sis_points_add_letters(sis_points *points, const char *letters, size_t n); /* n <= 65535 */
int sis_points_add_pixels(sis_points *points, const int *places, size_t n); /* (n, 2) row, column,
                                                                               0 to 65535 */
int sis_points_add_cells(sis_points *points, const char *const *names, const double *values,
                         size_t n);

/* n points given only by a distance function: never negative, symmetric, 0 for a point and itself
 * (not called for these). NaN ends the call with SIS_E_NAN. Several threads call it at once, for
 * every pair of points, because there is no index. ctx is borrowed and must outlive the points.
 * Points are only numbers: keep the objects yourself, for example the records of a file, and
 * release them after sis_cluster (examples/07_distance.c). */
typedef double (*sis_distance_fn)(void *ctx, size_t a, size_t b);
int sis_points_new_custom(size_t n, sis_distance_fn distance, void *ctx, sis_points **out);

/* The distance of two points, by its plain definition. */
int sis_points_distance(const sis_points *points, size_t a, size_t b, double *out);

/* ---- Clusters ------------------------------------------------------------------------------ */

typedef struct sis_cluster_opt {
    double eps;      /* points at most this far apart are neighbours; NaN by default: set it */
    size_t min_size; /* a point with this number of neighbours, including itself, is core; default
                        5 */
    int jobs;        /* threads; default 1, 0: one per core */
    size_t memory;   /* bytes for neighbours; if exceeded, some are computed twice. Default 512
                        MiB */
    size_t sample;   /* sis_kdistances: number of points to use; default 1000, 0: all */
} sis_cluster_opt;

void sis_cluster_opt_init(sis_cluster_opt *opt);

typedef struct sis_clusters {
    size_t n;            /* points */
    int *labels;         /* (n) cluster from 0, -1: noise */
    unsigned char *core; /* (n) is it a core point? */
    size_t n_clusters;
    size_t *medoids;    /* (n_clusters) the member with the least sum of distances to all members,
                           the first of several; with more than 256 distinct members, among and to
                           the 256 most frequent */
    size_t n_different; /* number of distinct points */
    size_t n_neighbours; /* pairs of distinct points at most eps apart */
} sis_clusters;

/* DBSCAN. A cluster is a set of core points connected through core neighbours, and all other
 * neighbours of these. Clusters are numbered in the order of their first core points; a point that
 * is not core belongs to the lowest cluster of which it is a neighbour. */
int sis_cluster(const sis_points *points, const sis_cluster_opt *opt, sis_clusters *out);
void sis_clusters_release(sis_clusters *clusters);

/* The distance at which each point becomes core, for all points or an evenly spread sample of
 * opt.sample, sorted farthest first. Points that are core at no useful eps are left out: fewer than
 * min_size - 1 others exist or share a word or name with them. */
typedef struct sis_kdistances {
    size_t n;
    double *values; /* (n) */
    size_t knee;    /* index of the knee: the value farthest below the line between the ends of the
                       curve, without zeros and the farthest twentieth */
} sis_kdistances;

/* Ignores opt.eps. SIS_E_ARGUMENT if no distances are left. */
int sis_kdistances_find(const sis_points *points, const sis_cluster_opt *opt, sis_kdistances *out);
void sis_kdistances_release(sis_kdistances *k);

/* ---- Images -------------------------------------------------------------------------------- */

/* The pixels of subset k of a record with the shape of an image, (height, width) or with channels
 * first or last: *n of them, without duplicates, row by row. places (n, 2) row and column; values
 * (n) the mean of the channels, 0 if the record has no values. free() both. */
int sis_subset_pixels(const sis_record *record, size_t k, int **places, double **values, size_t *n);

/* ---- DNA ----------------------------------------------------------------------------------- */

/* The letters of subset k from its first to its last chosen base. Gaps and letters other than A C G
 * T are N. *n letters and a NUL, free() them. */
int sis_subset_letters(const sis_record *record, size_t k, char **letters, size_t *n);

/* The sequence from the first to the last chosen base of subset k, and `flank` letters on either
 * side; N beyond the ends of the sequence. */
int sis_subset_window(const sis_record *record, size_t k, size_t flank, char **letters, size_t *n);

/* A position frequency matrix from n strings of A C G T N. Each string is aligned without gaps to
 * the first, then twice to the matrix of all strings; N counts as a quarter of each base. Ends
 * covered by fewer than half of the strings are cut off. If `turned` (n) is not NULL, strings may
 * be reverse-complemented, and turned[i] says whether string i was. `name` is the motif's name.
 * *numbers is the motif's memory: free() it. */
int sis_motif_learn(const char *const *strings, size_t n, const char *name, unsigned char *turned,
                    sis_motif *out, double **numbers);

/* The binding site under such strings. windows[i] is the sis_subset_window of the subset whose
 * sis_subset_letters is strings[i]. Strings are aligned as above, then the windows are aligned to
 * the matrix repeatedly. Columns whose bases in the windows differ from the background (G test, p
 * at most 0.01, and 0.1 bit) use the windows, others the strings. Beyond the columns that half of
 * the strings cover, the motif extends to such columns, over at most three others each. */
typedef struct sis_sites {
    size_t n, flank;
    const char *const *strings, *const *windows; /* (n) each */
    double background[4];                        /* shares of A C G T, above 0 */
} sis_sites;
int sis_motif_learn_sites(const sis_sites *sites, const char *name, unsigned char *turned,
                          sis_motif *out, double **numbers);

/* Reverse-complement n letters in place. */
void sis_dna_turn(char *letters, size_t n);

/* The match of a matrix and a known motif (the paper's S2.3). The motif is placed where the matrix
 * is likeliest, on either strand, and both are extended by uniform columns. The divergence is the
 * sum over columns of the Kullback-Leibler divergence from the motif, in nats. A share of 0.01 of
 * the motif is uniform, which keeps it finite. */
typedef struct sis_motif_match {
    size_t motif;      /* number in the set */
    double divergence; /* 0: identical */
    long offset;       /* where the motif begins, in columns of the matrix */
    int reverse;       /* the motif's other strand */
    double p, q;       /* of sis_motif_test; else NaN */
} sis_motif_match;

void sis_motif_compare(const sis_motif *matrix, const sis_motif *motif, sis_motif_match *out);

/* The `max` motifs with the least divergence, best first, in *matches; free() it. Returns their
 * number, or a negative code. */
long sis_motif_search(const sis_motif *matrix, const sis_motifs *motifs, size_t max,
                      sis_motif_match **matches);

/* The `max` motifs with the smallest p, best first; unlike the divergence, p does not favour short
 * motifs. p: the probability that a random motif of the same length, with columns drawn from all
 * columns of the set and their reverse complements, is as near to the matrix at any place on either
 * strand. It is computed over all such motifs, in steps of 0.02 nats, with places taken as
 * independent. It is thus an upper bound: two or three times too large for vague motifs. q: the
 * false discovery rate (Benjamini and Hochberg) over all motifs of the set. */
long sis_motif_test(const sis_motif *matrix, const sis_motifs *motifs, size_t max,
                    sis_motif_match **matches);

/* ---- Alignment with motifs ------------------------------------------------------------------- */

/* The best alignment of a rationale with a motif. */
typedef struct sis_alignment {
    size_t start;      /* the position in the sequence at which the motif begins */
    int reverse;       /* the motif's other strand */
    double likelihood; /* its logarithm */
    double divergence; /* the sum over positions of KL(rationale || motif), in nats */
} sis_alignment;

/* The share of uniform bases mixed into each position of a motif, so that no base is impossible. */
#define SIS_MOTIF_UNIFORM 0.01

/* Align n features of a sequence of A C G T N, its other bases being N, with a motif at the
 * likeliest place inside the sequence on either strand (of equals the first, the given strand
 * before the other). An N is any base with probability 1/4, and so are bases that the motif does
 * not cover. */
int sis_motif_align(const sis_motif *motif, const char *sequence, const int *features, size_t n,
                    sis_alignment *out);

/* ---- Robustness ---------------------------------------------------------------------------- */

/* Masks to test a rationale under besides its own. */
typedef struct sis_robust_opt {
    const sis_deck *deck; /* hot-deck masks that replace its own; borrowed */
    size_t samples;       /* number of them, and of random halves; at least 1 */
    uint64_t seed;
    size_t height,
        width;       /* arrangement of features, as in sis_features_around; 0: no neighbours */
    size_t distance; /* of neighbours that are put back */
} sis_robust_opt;

/* Scores of a rationale in other surroundings, and how often they are sufficient. */
typedef struct sis_robustness {
    double deck, deck_holds; /* hot-deck masks: mean, share that is sufficient */
    double around, around_holds; /* with its neighbours put back; 1 or 0. NaN: no neighbours */
    double half, half_holds; /* with random halves of all other features put back: mean, share */
} sis_robustness;

/* Test a rationale (a part that is kept). opt->threshold and below define sufficiency. */
int sis_robustness_measure(const sis_model *model, const sis_part *part, const sis_opt *opt,
                           const sis_robust_opt *robust, sis_robustness *out);

/* ---- Metrics ------------------------------------------------------------------------------
 *
 * The numbers by which the field compares explanations. A ranking is looked at where it is cut: its
 * first 1, 5, 10, 20 and 50 per cent of all features, rounded up; or its first 1, 2, 3, 5 and 10. */

enum { SIS_N_CUTS = 5 };

double sis_cut_percent(size_t cut);              /* 1, 5, 10, 20, 50 */
size_t sis_cut_features(size_t cut, size_t all); /* how many of `all` features that is */
size_t sis_cut_count(size_t cut);                /* 1, 2, 3, 5, 10 */

/* Faithfulness of a ranking at each cut. The mean over the cuts is the AOPC (area over the
 * perturbation curve) of DeYoung et al. 2020, ERASER. */
typedef struct sis_faithfulness {
    double
        sufficiency[SIS_N_CUTS]; /* drop of the score if only the first features are kept */
    double comprehensiveness[SIS_N_CUTS]; /* drop if only they are masked */
    double pgi[SIS_N_CUTS]; /* mean absolute change of the score if they are redrawn */
    double pgu[SIS_N_CUTS]; /* if all others are redrawn (Dai et al. 2022) */
} sis_faithfulness;

/* A ranking: n features in `order`, most important first, all features or only those that the
 * method ranks; a cut beyond n takes all n. opt->below turns drops into rises. Redrawn values come
 * from the deck, `samples` times; without a deck pgi and pgu are NaN. */
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

/* Stability of a rationale (a part that is kept) when other features are put back. At each cut,
 * that share of all other features is drawn at random and put back, `samples` times: held
 * (SIS_N_CUTS) is how often the score stays sufficient. */
int sis_stability_measure(const sis_model *model, const sis_part *part, const sis_opt *opt,
                          size_t samples, uint64_t seed, size_t held[SIS_N_CUTS]);

/* Agreement of two sets of features: a is judged against b. */
typedef struct sis_overlap {
    double precision, recall, f1; /* of features: ERASER's token F1 */
    double iou_f1;  /* of spans, the maximal runs of neighbours: a span of a is correct if its
                       intersection over union with a span of b is at least half (ERASER's IOU
                       F1) */
    double jaccard; /* intersection over union of the sets */
} sis_overlap;

/* Features may be in any order and repeated. An empty set agrees with nothing: all 0. */
int sis_overlap_measure(const int *a, size_t na, const int *b, size_t nb, sis_overlap *out);

/* ---- Attacks on the examples of a task ----------------------------------------------------- */

/* The examples of a task and the results of an attack. */
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

/* Load and score all examples, and choose the target of each: "next" to its output, "second"
 * highest, a label, or a position if the network has no labels; with one output 0 or 1. */
int sis_attacked_open(const sis_task *task, const char *towards, int jobs, sis_attacked *out);

/* Attack the examples and score the results. */
int sis_attacked_run(sis_attacked *a, const sis_attack_opt *opt);

/* The network's decision by these scores: the highest output; with one output, whether a
 * probability is at least one half, or a score at least zero. */
size_t sis_attacked_decision(const sis_attacked *a, const double *scores);
void sis_attacked_release(sis_attacked *a); /* harmless on a zeroed one */

#ifdef __cplusplus
}
#endif
#endif
