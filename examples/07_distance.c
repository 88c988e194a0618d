/* SPDX-License-Identifier: MIT
 *
 * A distance of your own: subsets of a results file, clustered by which features they have, whatever the
 * values of these.
 *
 *     ./07_distance ../tests/report/results/table.jsonl
 *
 * The library knows its points only as numbers and asks how far two of them are apart. What they stand
 * for, here a subset of a record, is kept by the program and found through ctx.
 */
#include <stdio.h>
#include <stdlib.h>

#include <sis/global.h>

enum { MOST = 1000 };

typedef struct {
    sis_record records[MOST]; /* released when all is done: subsets point into them */
    size_t n_records;
    struct {
        const sis_record *record;
        const sis_subset *subset;
    } points[MOST];
    size_t n_points;
} collection;

static int has(const sis_subset *s, int feature) {
    for (size_t i = 0; i < s->n; i++)
        if (s->features[i] == feature)
            return 1;
    return 0;
}

/* The share of their features that only one of them has. Never negative, 0 for equal ones, the same both
 * ways; several threads may ask at once, so nothing is written here. */
static double apart(void *ctx, size_t a, size_t b) {
    const collection *all = ctx;
    const sis_subset *s = all->points[a].subset, *t = all->points[b].subset;
    size_t both = 0;
    for (size_t i = 0; i < s->n; i++)
        both += (size_t)has(t, s->features[i]);
    size_t either = s->n + t->n - both;
    return (double)(either - both) / (double)either;
}

static int read_all(const char *path, collection *all) {
    sis_results *file;
    int found = sis_results_open(path, &file);
    if (found < 0)
        return found;
    while (all->n_records < MOST &&
           (found = sis_results_next(file, &all->records[all->n_records])) > 0) {
        const sis_record *r = &all->records[all->n_records++];
        for (size_t k = 0; k < r->collection.n_subsets && all->n_points < MOST; k++) {
            all->points[all->n_points].record = r;
            all->points[all->n_points++].subset = &r->collection.subsets[k];
        }
    }
    sis_results_close(file);
    return found < 0 ? found : 0;
}

static void print_point(const collection *all, size_t i) {
    const sis_subset *s = all->points[i].subset;
    char name[64];
    for (size_t k = 0; k < s->n; k++) {
        sis_record_name(all->points[i].record, s->features[k], name, sizeof name);
        printf(" %s", name);
    }
    printf("   (example %s)\n", all->points[i].record->id);
}

int main(int argc, char **argv) {
    collection *all = calloc(1, sizeof *all);
    sis_points *points = NULL;
    sis_clusters found = {0};
    sis_cluster_opt opt;
    sis_cluster_opt_init(&opt);
    opt.eps = 0.5;
    opt.min_size = 2;
    if (!all || argc != 2)
        return 2;
    int error = read_all(argv[1], all);
    if (!error)
        error = sis_points_new_custom(all->n_points, apart, all, &points);
    if (!error)
        error = sis_cluster(points, &opt, &found);
    for (size_t c = 0; c < found.n_clusters && !error; c++) {
        printf("cluster %zu\n", c + 1);
        for (size_t i = 0; i < found.n; i++)
            if (found.labels[i] == (int)c)
                print_point(all, i);
    }
    if (error)
        fprintf(stderr, "%s\n", sis_error_detail());
    sis_clusters_release(&found);
    sis_points_free(points);
    for (size_t i = 0; all && i < all->n_records; i++)
        sis_record_release(&all->records[i]);
    free(all);
    return error ? 1 : 0;
}
