/* SPDX-License-Identifier: MIT
 *
 * Recorded cases: distances by definition, and the labels of scikit-learn's DBSCAN on them, as
 * tests/dbscan_cases.py writes them. An argument names another file of cases.
 */
#include "driver.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

enum { LINE = 4096, ITEMS = 64 };

static const char *path = SIS_SOURCE_DIR "/tests/unit/analysis_cases.txt";

typedef struct {
    FILE *file;
    char line[LINE];
    size_t number, cases, distances;
} reader;

static char *next(reader *r) {
    if (!fgets(r->line, LINE, r->file))
        return NULL;
    r->number++;
    r->line[strcspn(r->line, "\n")] = '\0';
    return r->line;
}

/* Parse one point. */
static int add_point(sis_points *p, char *text) {
    const char *words[ITEMS];
    int places[2 * ITEMS];
    double values[ITEMS];
    size_t n = 0;
    sis_distance d = sis_points_distance_kind(p);
    if (d == SIS_DISTANCE_LEVENSHTEIN)
        return sis_points_add_letters(p, text, strlen(text));
    for (char *at = strtok(text, " "); at && n < ITEMS; at = strtok(NULL, " "), n++) {
        char *value = strpbrk(at, d == SIS_DISTANCE_OVERLAP ? "=" : ",");
        words[n] = at;
        if (value) {
            *value = '\0';
            values[n] = strtod(value + 1, NULL);
            places[2 * n] = atoi(at);
            places[2 * n + 1] = atoi(value + 1);
        }
    }
    if (d == SIS_DISTANCE_OVERLAP)
        return sis_points_add_cells(p, words, values, n);
    return d == SIS_DISTANCE_ENERGY || d == SIS_DISTANCE_ENERGY_SQRT
               ? sis_points_add_pixels(p, places, n)
               : sis_points_add_words(p, words, n);
}

static void check_labels(const reader *r, const sis_points *p, double eps, size_t min_size,
                         char *labels) {
    int *expected = (int *)calloc(sis_points_count(p), sizeof *expected);
    size_t n = 0;
    assert_non_null(expected);
    for (char *at = strtok(labels, " "); at; at = strtok(NULL, " "))
        expected[n++] = atoi(at);
    assert_int_equal(n, sis_points_count(p));
    for (int variant = 0; variant < 3; variant++) { /* with threads; with very little memory */
        sis_cluster_opt opt;
        sis_clusters found;
        sis_cluster_opt_init(&opt);
        opt.eps = eps;
        opt.min_size = min_size;
        opt.jobs = variant == 1 ? 3 : 1;
        opt.memory = variant == 2 ? 16 : opt.memory;
        assert_int_equal(sis_cluster(p, &opt, &found), 0);
        for (size_t i = 0; i < n; i++)
            if (found.labels[i] != expected[i])
                fail_msg("line %zu: point %zu is in cluster %d, expected %d", r->number, i,
                         found.labels[i], expected[i]);
        sis_clusters_release(&found);
    }
    free(expected);
}

static void check_case(reader *r, const char *head) {
    char name[32];
    double eps;
    size_t min_size, n;
    sis_distance distance;
    sis_points *p;
    assert_int_equal(sscanf(head, "case %31s %lf %zu %zu", name, &eps, &min_size, &n), 4);
    assert_int_equal(sis_distance_find(name, &distance), 0);
    assert_int_equal(sis_points_new(distance, &p), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(add_point(p, next(r)), 0);
    char *labels = next(r);
    assert_true(labels && strncmp(labels, "labels ", 7) == 0);
    check_labels(r, p, eps, min_size, labels + 7);
    while (next(r) && strncmp(r->line, "distance ", 9) == 0) {
        size_t i, j;
        double expected, found;
        assert_int_equal(sscanf(r->line, "distance %zu %zu %lf", &i, &j, &expected), 3);
        assert_int_equal(sis_points_distance(p, i, j, &found), 0);
        if (found != expected)
            fail_msg("line %zu: the distance is %.17g, expected %.17g", r->number, found, expected);
        r->distances++;
    }
    sis_points_free(p);
    r->cases++;
}

static void cases_are_as_recorded(void **state) {
    reader r = {.file = fopen(path, "r")};
    (void)state;
    if (!r.file)
        fail_msg("%s cannot be read", path);
    char *head = next(&r);
    while (head && strncmp(head, "case ", 5) == 0) {
        char copy[LINE];
        memcpy(copy, head, LINE);
        check_case(&r, copy);
        head = feof(r.file) ? NULL : r.line; /* the line after the distances */
    }
    fclose(r.file);
    printf("%zu cases, %zu distances\n", r.cases, r.distances);
    assert_true(r.cases >= 48 && r.distances >= 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases_are_as_recorded)};
    path = test_args[0] ? test_args[0] : path;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
