/* SPDX-License-Identifier: MIT
 *
 * sis/findings.h - what is found in many records: clusters, a comparison, an evaluation.
 *
 * Laboratory: may change from one version to the next.
 *
 * Records are in sis/results.h.
 *
 * Each is one JSON object (UTF-8) with one struct, one writer and one reader here. Its fields are
 * named as the members of the structs unless a comment says otherwise; readers take them in any
 * order and ignore those they do not know. What has not been measured is NaN, and null or absent in
 * the file.
 *
 * Ownership: structs hold borrowed pointers when you fill them, their own when a _parse does: release
 * those, and only those. Errors: SIS_E_FORMAT with a message that names the field.
 */
#ifndef SIS_FINDINGS_H
#define SIS_FINDINGS_H

#include <stddef.h>

#include <sis/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Clusters: sis cluster ------------------------------------------------------------------ */

/* A subset of a record. */
typedef struct sis_member {
    const char *id;
    size_t subset;
    const char *source; /* the results file, or the model, it is from; NULL: not told */
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
    double divergence, p, q; /* sis_motif_test of sis/global.h */
    double offset;           /* where it begins, in columns of the cluster's matrix */
    int reverse;             /* its other strand */
    size_t n_matrix;
    const double
        *matrix; /* (n_matrix) four shares for each position, of the strand that is meant */
} sis_found_match;

typedef struct sis_found_cluster {
    size_t number; /* "id", from 1 */
    size_t size, core;
    size_t n_members;
    const sis_member *members;
    size_t n_patterns;
    const sis_pattern *patterns; /* "top", most frequent first */
    sis_member medoid;           /* without a source; id NULL: not told */
    size_t n_shares;
    const sis_share *shares; /* "share": an object, a number for each source */
    size_t n_matrix;
    const double *matrix; /* (n_matrix) of DNA: how often A C G T are at each position, four numbers
                             each; members may lie on either strand. NULL: not told */
    size_t n_matches;
    const sis_found_match
        *matches; /* of that matrix, nearest first; none if no motifs were given */
} sis_found_cluster;

typedef struct sis_clustering {
    const char *distance;
    const char *strands; /* of DNA: "both" or "forward"; NULL: not told */
    double eps;
    size_t min_size, n; /* n: subsets in all */
    size_t n_clusters;
    const sis_found_cluster *clusters;
    size_t n_noise;
    const sis_member *noise; /* in no cluster */
    void *held;              /* the reader's */
} sis_clustering;

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
    int below; /* "direction": ">=" or "<=" */
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
    void *held;
} sis_comparison;

int sis_comparison_format(const sis_comparison *comparison, char **text, size_t *n);
int sis_comparison_parse(const char *text, size_t n, sis_comparison *out);
void sis_comparison_release(sis_comparison *comparison);

/* Of 1, the share of common examples on which both decide the same or neither decides; NaN if there
 * are none. */
double sis_comparison_agreement(const sis_comparison *comparison);

/* ---- Evaluations: sis evaluate --json --------------------------------------------------------- */

/* What is measured with --yardsticks, --human and the like (sis/evaluate.h), of a rationale and summed up. */
#define SIS_YARDSTICKS(X)                                                                          \
    X(STABLE, "stable")                                                                            \
    X(SUFFICIENCY, "sufficiency")                                                                  \
    X(COMPREHENSIVENESS, "comprehensiveness")                                                      \
    X(PGI, "pgi")                                                                                  \
    X(PGU, "pgu")                                                                                  \
    X(TOKEN_F1, "token_f1")                                                                        \
    X(IOU_F1, "iou_f1")                                                                            \
    X(SAME, "same")                                                                                \
    X(JACCARD, "jaccard")

/* What is measured of a rationale. */
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
    SIS_YARDSTICKS(X)
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
    SIS_YARDSTICKS(X)                                                                              \
    X(IMPORTANCE, "importance")
#define SIS_QUANTITY_NUMBER(code, name) SIS_QUANTITY_##code,
enum { SIS_QUANTITIES(SIS_QUANTITY_NUMBER) SIS_N_QUANTITIES };
#undef SIS_QUANTITY_NUMBER

/* What is told cut by cut (sis/evaluate.h): lists of as many numbers in "cuts" by these names. */
#define SIS_CURVES(X)                                                                              \
    X(PERCENT, "percent")                                                                          \
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

typedef struct sis_method_summary {
    double subsets_per_example, subsets_most, sufficient_examples;
    sis_quantity quantities[SIS_N_QUANTITIES];
    double pearson_r, pearson_p;
    size_t n_cuts;                      /* 0: the yardsticks were not asked for */
    const double *curves[SIS_N_CURVES]; /* (n_cuts) means over examples; of stability the share of
                                         * draws that hold, and its interval */
} sis_method_summary;

typedef struct sis_evaluated_method {
    const char *name, *method, *file;
    sis_method_summary summary;
    size_t n;
    const sis_rated *rationales; /* (n) */
} sis_evaluated_method;

typedef struct sis_evaluated_example {
    const char *id;
    size_t output, n_features;
    int below; /* "direction" */
    double threshold, score;
    double human_score, qhs;  /* of what a person marked */
    const double *importance; /* (n_features) or NULL */
} sis_evaluated_example;

typedef struct sis_evaluation {
    const char *model, *motif; /* motif NULL: none */
    size_t n_examples;
    const sis_evaluated_example *examples;
    size_t n_methods;
    const sis_evaluated_method *methods;
    size_t n_draws;                     /* "imputation": what masking one feature does */
    const double *by_mask, *by_hotdeck; /* (n_draws) */
    void *held;
} sis_evaluation;

int sis_evaluation_format(const sis_evaluation *evaluation, char **text, size_t *n);
int sis_evaluation_parse(const char *text, size_t n, sis_evaluation *out);
void sis_evaluation_release(sis_evaluation *evaluation);

#ifdef __cplusplus
}
#endif
#endif
