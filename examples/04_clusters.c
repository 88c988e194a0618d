/* SPDX-License-Identifier: MIT
 *
 * What was enough, again and again: subsets of several reviews, clustered by the words they share.
 *
 *     ./04_clusters
 *
 * A results file would come in through sis_points_add_subset; here the words are given.
 */
#include <stdio.h>

#include <sis/analysis.h>

int main(void) {
    static const char *const subsets[][3] = {
        {"creme", "brulee", NULL}, {"stale", NULL, NULL},          {"brulee", NULL, NULL},
        {"very", "stale", NULL},   {"creme", "brulee", "amazing"}, {"stale", NULL, NULL},
        {"pumpkin", "pie", NULL},
    };
    enum { N = sizeof subsets / sizeof *subsets };
    sis_points *points;
    sis_clusters found = {0};
    sis_cluster_opt opt;
    sis_cluster_opt_init(&opt);
    opt.eps = 0.5;
    opt.min_size = 2;
    int error = sis_points_new(SIS_DISTANCE_JACCARD, &points);
    for (size_t i = 0; i < N && !error; i++) {
        size_t n = 0;
        while (n < 3 && subsets[i][n])
            n++;
        error = sis_points_add_words(points, subsets[i], n);
    }
    if (!error)
        error = sis_cluster(points, &opt, &found);
    for (size_t i = 0; i < N && !error; i++) {
        if (found.labels[i] < 0)
            printf("noise    ");
        else
            printf("cluster %d", found.labels[i] + 1);
        for (size_t k = 0; k < 3 && subsets[i][k]; k++)
            printf(" %s", subsets[i][k]);
        printf("%s\n", found.core[i] ? "" : " (not core)");
    }
    if (error)
        fprintf(stderr, "%s\n", sis_error_detail());
    sis_clusters_release(&found);
    sis_points_free(points);
    return error ? 1 : 0;
}
