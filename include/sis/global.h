/* SPDX-License-Identifier: MIT
 *
 * sis/global.h - what a model has learned: subsets of many decisions, clustered.
 *
 * Laboratory: may change from one version to the next.
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
 * Clusters are those of DBSCAN (Ester et al. 1996), numbered as scikit-learn numbers them.
 * Neighbours are found through an index that fits the distance; a matrix of distances is never
 * made. Memory is that of the points and of at most opt.memory bytes of neighbours, whatever eps
 * is.
 *
 * Ownership and errors as in sis/sis.h. Points may be read by several threads at once, not while
 * points are added. Results are the same for any number of threads.
 */
#ifndef SIS_GLOBAL_H
#define SIS_GLOBAL_H

#include <stddef.h>

#include <sis/data.h>
#include <sis/error.h>
#include <sis/results.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* Of the options, eps is not looked at. SIS_E_ARGUMENT if nothing is left to choose from. */
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

/* A position frequency matrix from n strings of A C G T N: each is laid, without gaps, where it
 * agrees best with the first one, then twice more where it agrees best with what all of them make;
 * N counts as a quarter of each base. Ends that fewer than half of the strings reach are cut off.
 * With `turned` (n) not NULL a string may be laid on its other strand, and turned[i] says whether it
 * was. `name` is that of the motif. *numbers is what the motif points to: free() it. */
int sis_motif_learn(const char *const *strings, size_t n, const char *name, unsigned char *turned,
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

/* The `most` motifs with the least divergence, best first: *matches holds the number returned;
 * free() it. Negative on failure. */
long sis_motif_search(const sis_motif *matrix, const sis_motifs *motifs, size_t most,
                      sis_motif_match **matches);

/* The `most` motifs with the smallest p, best first: a short motif has a small divergence more easily
 * than a long one. p: how probable it is that a motif of the same length whose
 * columns are shuffled, each drawn from all columns of the set and its other strand, is as near to
 * the matrix somewhere, on either strand. It is summed over all such motifs, in steps of a fiftieth
 * of a nat, with places taken as independent of each other, so it is an
 * upper bound: two or three times too large for vague motifs. q: the least share of false ones among
 * the matches with such a p or a smaller one (Benjamini and Hochberg), over all motifs of the
 * set. */
long sis_motif_test(const sis_motif *matrix, const sis_motifs *motifs, size_t most,
                    sis_motif_match **matches);

#ifdef __cplusplus
}
#endif
#endif
