/* SPDX-License-Identifier: MIT
 *
 * A space: the distinct points with their weights, in the order that the index needs, and the index
 * itself. This is the interface between clustering and the distances.
 *
 *     sets.c     words and cells: sizes, rarest words, inverted index
 *     edit.c     letters: lengths, letter counts, pairs of letters, bit-parallel tables
 *     energy.c   pixels: an embedding that bounds distances from below
 *     scan.c     callbacks: every pair
 */
#ifndef SIS_ANALYSIS_SPACE_H
#define SIS_ANALYSIS_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/points.h"

typedef struct sis__metric sis__metric;

typedef struct sis__space {
    const sis_points *points;
    const sis__metric *metric;
    double eps;
    size_t n;       /* distinct points */
    size_t *first;  /* (n) the first original point of each */
    size_t *weight; /* (n) number of equal points */
    uint32_t *of;   /* (points->n) the distinct point of each point */
    size_t *start;  /* (n + 1) rows, as in sis_points */
    uint32_t *items, *values;
    void *index; /* owned by the metric */
} sis__space;

/* A growing list of points. */
typedef struct sis__near {
    uint32_t *items;
    size_t n, room;
} sis__near;

struct sis__metric {
    /* Order of the points; NULL: sis__row_order. */
    int (*order)(const sis__row *a, const sis__row *b);
    /* Create and free the index; `s->eps` is set, NaN if only distances are needed. */
    int (*index_new)(sis__space *s);
    void (*index_free)(sis__space *s);
    /* Scratch memory of one thread. NULL: none. */
    int (*scratch_new)(const sis__space *s, void **scratch);
    void (*scratch_free)(void *scratch);
    /* Append every v < u with distance(u, v) <= eps to `near`, in any order. */
    int (*near)(const sis__space *s, void *scratch, size_t u, sis__near *near);
    /* The distances of u to v[0..n), equal to the reference to the bit. */
    int (*distances)(const sis__space *s, void *scratch, size_t u, const uint32_t *v, size_t n,
                     double *out);
    double useless; /* the distance of points with nothing in common, which eps should not reach; or
                       infinite */
};

extern const sis__metric sis__metric_sets, sis__metric_edit, sis__metric_energy, sis__metric_scan;

/* The space of some points, indexed for eps (NaN: no index). */
int sis__space_new(const sis_points *points, double eps, sis__space *out);
void sis__space_release(sis__space *s);

static inline sis__row sis__space_row(const sis__space *s, size_t u) {
    size_t at = s->start[u];
    return (sis__row){s->items + at, s->values ? s->values + at : NULL, s->start[u + 1] - at};
}

/* Scratch memory of `jobs` threads: an array, or NULL on failure. */
void **sis__scratches_new(const sis__space *s, int jobs);
void sis__scratches_free(const sis__space *s, void **scratches, int jobs);

int sis__near_add(sis__near *near, size_t v);

/* NULL, or why these options cannot be used. */
const char *sis__cluster_opt_check(const sis_cluster_opt *opt);

/* Set out->medoids from labels (s->n) of the distinct points; out->n_clusters is set. */
int sis__medoids_find(const sis__space *s, const int *labels, int jobs, sis_clusters *out);

/* The number of threads for `jobs`: 0 is one per core. */
int sis__jobs(int jobs);

#endif
