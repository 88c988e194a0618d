/* SPDX-License-Identifier: MIT
 *
 * Clusters by a distance of one's own: how far the worst placed pixel of one subset is from the
 * other subset (Hausdorff). Subsets that lie in the same place are alike, whatever their shape.
 *
 *     ./07_distance
 *
 * Only the callback is new. It is told the numbers of two points and looks up what they stand for;
 * records of a results file, kept until the clusters are found, would do as well as these arrays.
 */
#include <math.h>
#include <stdio.h>

#include <sis/analysis.h>

typedef struct {
    const char *name;
    size_t n;
    double at[4][2]; /* (n, 2) row, column */
} stroke;

static stroke strokes[] = {
    {"bar above", 3, {{4, 9}, {4, 10}, {4, 11}}},
    {"stem below", 3, {{20, 14}, {22, 14}, {23, 13}}},
    {"dot above", 1, {{5, 10}}},
    {"hook below", 4, {{21, 14}, {22, 15}, {23, 14}, {23, 13}}},
    {"arc above", 4, {{5, 8}, {4, 9}, {4, 11}, {5, 12}}},
    {"speck aside", 1, {{12, 26}}},
};
enum { N = sizeof strokes / sizeof *strokes };

/* The largest distance of a pixel of `a` to the nearest of `b`. */
static double reach(const stroke *a, const stroke *b) {
    double worst = 0;
    for (size_t i = 0; i < a->n; i++) {
        double nearest = INFINITY;
        for (size_t k = 0; k < b->n; k++)
            nearest = fmin(nearest, hypot(a->at[i][0] - b->at[k][0], a->at[i][1] - b->at[k][1]));
        worst = fmax(worst, nearest);
    }
    return worst;
}

/* The same both ways, as every distance has to be. */
static double hausdorff(void *ctx, size_t a, size_t b) {
    const stroke *all = (const stroke *)ctx;
    return fmax(reach(&all[a], &all[b]), reach(&all[b], &all[a]));
}

int main(void) {
    sis_points *points;
    sis_clusters found = {0};
    sis_cluster_opt opt;
    sis_cluster_opt_init(&opt);
    opt.eps = 3;
    opt.min_size = 2;
    int error = sis_points_new_custom(N, hausdorff, strokes, &points);
    if (!error)
        error = sis_cluster(points, &opt, &found);
    for (size_t i = 0; i < N && !error; i++)
        if (found.labels[i] < 0)
            printf("noise     %s\n", strokes[i].name);
        else
            printf("cluster %d %s%s\n", found.labels[i] + 1, strokes[i].name,
                   found.medoids[found.labels[i]] == i ? " (the medoid)" : "");
    if (error)
        fprintf(stderr, "%s\n", sis_error_detail());
    sis_clusters_release(&found);
    sis_points_free(points);
    return error ? 1 : 0;
}
