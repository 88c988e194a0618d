/* SPDX-License-Identifier: MIT
 *
 * Clusters against an oracle, on random points of every distance: labels, core points, neighbours,
 * medoids and k-distances, for any number of threads and any memory; and with failing allocations.
 */
#include "support_analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { N = 90 };

static sis_cluster_opt options(double eps, size_t min_size) {
    sis_cluster_opt opt;
    sis_cluster_opt_init(&opt);
    opt.eps = eps;
    opt.min_size = min_size;
    return opt;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The quantile `at` of all distances. */
static double quantile(const double *m, size_t n, double at) {
    double *sorted = (double *)malloc(n * n * sizeof *sorted);
    assert_non_null(sorted);
    memcpy(sorted, m, n * n * sizeof *sorted);
    qsort(sorted, n * n, sizeof *sorted, ascending);
    double v = sorted[(size_t)(at * (double)(n * n - 1))];
    free(sorted);
    return v;
}

static void same_clusters(const sis_clusters *found, const int *labels, const double *m,
                          const sis_cluster_opt *opt) {
    size_t n = found->n;
    for (size_t i = 0; i < n; i++) {
        size_t near = 0;
        for (size_t j = 0; j < n; j++)
            near += m[i * n + j] <= opt->eps;
        assert_int_equal(found->labels[i], labels[i]);
        assert_int_equal(found->core[i], near >= opt->min_size);
    }
}

/* The medoid is the member with the smallest sum, if the cluster is small enough to check all. */
static void check_medoids(const sis_clusters *c, const double *m) {
    for (size_t k = 0; k < c->n_clusters; k++) {
        double best = INFINITY, medoid = 0;
        for (size_t i = 0; i < c->n; i++) {
            double sum = 0;
            for (size_t j = 0; j < c->n; j++)
                sum += c->labels[j] == (int)k ? m[i * c->n + j] : 0;
            if (c->labels[i] == (int)k && sum < best)
                best = sum;
            if (i == c->medoids[k])
                medoid = sum;
        }
        assert_int_equal(c->labels[c->medoids[k]], k);
        assert_true(medoid <= best * (1 + 1e-12));
    }
}

static void check_points(const sis_points *p, const double *m, double eps, size_t min_size) {
    sis_cluster_opt opt = options(eps, min_size);
    int *labels = plain_dbscan(m, sis_points_count(p), eps, min_size);
    for (int variant = 0; variant < 4; variant++) {
        sis_clusters found;
        opt.jobs = variant % 2 ? 3 : 1;
        opt.memory = variant < 2 ? (size_t)1 << 20 : 40;
        assert_int_equal(sis_cluster(p, &opt, &found), 0);
        same_clusters(&found, labels, m, &opt);
        check_medoids(&found, m);
        sis_clusters_release(&found);
    }
    free(labels);
}

static void labels_are_those_of_the_oracle(void **state) {
    static const double places[] = {0, 0.02, 0.05, 0.1, 0.3, 1};
    sis__rng r;
    (void)state;
    sis__rng_init(&r, 7);
    for (int d = 0; d < SIS_DISTANCE_CUSTOM; d++)
        for (size_t round = 0; round < 6; round++) {
            sis_points *p = random_points(&r, (sis_distance)d, N, 1 + round % 3);
            double *m = distance_matrix(p);
            double eps = quantile(m, N, places[round]);
            check_points(p, m, eps, 1 + sis__rng_below(&r, 7));
            check_points(p, m, nextafter(eps, 0), 3); /* just above eps */
            free(m);
            sis_points_free(p);
        }
}

/* Images so large that fields are computed pixel by pixel, or not stored. */
static void large_images_are_clustered_too(void **state) {
    static const int factors[] = {8, 200};
    sis__rng r;
    (void)state;
    sis__rng_init(&r, 10);
    for (size_t f = 0; f < 2; f++) {
        sis_points *p;
        assert_int_equal(sis_points_new(SIS_DISTANCE_ENERGY, &p), 0);
        for (size_t i = 0; i < N; i++) {
            int places[16];
            size_t n = 1 + sis__rng_below(&r, 8), near = sis__rng_below(&r, 12);
            for (size_t k = 0; k < n; k++) {
                places[2 * k] = factors[f] * (int)(near + sis__rng_below(&r, 4));
                places[2 * k + 1] = factors[f] * (int)(2 * near + sis__rng_below(&r, 3));
            }
            assert_int_equal(sis_points_add_pixels(p, places, n), 0);
        }
        double *m = distance_matrix(p);
        check_points(p, m, quantile(m, N, 0.05), 4);
        free(m);
        sis_points_free(p);
    }
}

static void distances_are_metric_enough(void **state) {
    sis__rng r;
    (void)state;
    sis__rng_init(&r, 8);
    for (int d = 0; d < SIS_DISTANCE_CUSTOM; d++) {
        sis_points *p = random_points(&r, (sis_distance)d, N, 2);
        double *m = distance_matrix(p);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) {
                assert_true(m[i * N + j] == m[j * N + i]); /* to the bit */
                assert_true(m[i * N + j] >= 0 && (i != j || m[i * N + j] == 0));
            }
        free(m);
        sis_points_free(p);
    }
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static double line(void *ctx, size_t a, size_t b) {
    const double *x = (const double *)ctx;
    return fabs(x[a] - x[b]);
}

static void any_distance_can_be_given(void **state) {
    double x[] = {0, 1, 2, 10, 11, 12, 30, NAN};
    static const int expected[] = {0, 0, 0, 1, 1, 1, -1};
    sis_cluster_opt opt = options(1, 2);
    sis_points *p;
    sis_clusters c;
    (void)state;
    assert_int_equal(sis_points_new_custom(7, line, x, &p), 0);
    assert_int_equal(sis_cluster(p, &opt, &c), 0);
    assert_memory_equal(c.labels, expected, sizeof expected);
    assert_int_equal(c.n_clusters, 2);
    assert_int_equal(c.medoids[0], 1);
    assert_int_equal(c.medoids[1], 4);
    sis_clusters_release(&c);
    sis_points_free(p);
    assert_int_equal(sis_points_new_custom(8, line, x, &p), 0);
    assert_int_equal(sis_cluster(p, &opt, &c), SIS_E_NAN);
    assert_message_has("points 7 and 0");
    sis_points_free(p);
    assert_int_equal(sis_points_new_custom(3, NULL, NULL, &p), SIS_E_ARGUMENT);
}

/* ---- k-distances ----------------------------------------------------------------------------- */

static void k_distances_are_those_of_the_matrix(void **state) {
    sis__rng r;
    (void)state;
    sis__rng_init(&r, 9);
    for (int d = 0; d < SIS_DISTANCE_CUSTOM; d++) {
        sis_points *p = random_points(&r, (sis_distance)d, N, 2);
        double *m = distance_matrix(p);
        sis_cluster_opt opt = options(NAN, 4);
        sis_kdistances k;
        opt.sample = 0;
        opt.jobs = 2;
        assert_int_equal(sis_kdistances_find(p, &opt, &k), 0);
        double expected[N];
        size_t n = 0;
        int bounded = d != SIS_DISTANCE_LEVENSHTEIN && d != SIS_DISTANCE_ENERGY &&
                      d != SIS_DISTANCE_ENERGY_SQRT;
        for (size_t i = 0; i < N; i++) {
            double row[N];
            memcpy(row, m + i * N, sizeof row);
            qsort(row, N, sizeof *row, ascending);
            if (!bounded || row[3] < 1)
                expected[n++] = row[3];
        }
        qsort(expected, n, sizeof *expected, ascending);
        assert_int_equal(k.n, n);
        for (size_t i = 0; i < n; i++)
            assert_true(k.values[i] == expected[n - 1 - i]);
        assert_true(k.knee < k.n);
        sis_kdistances_release(&k);
        opt.sample = 10;
        assert_int_equal(sis_kdistances_find(p, &opt, &k), 0);
        assert_true(k.n >= 1 && k.n <= 10);
        sis_kdistances_release(&k);
        free(m);
        sis_points_free(p);
    }
}

static void the_knee_is_where_the_curve_turns(void **state) {
    double x[62];
    sis_points *p;
    sis_kdistances k;
    sis_cluster_opt opt = options(NAN, 2);
    (void)state;
    for (size_t i = 0; i < 60; i++) /* pairs 1 apart, far from each other; two outliers */
        x[i] = (double)(i / 2) * 100 + (double)(i % 2);
    x[60] = 5000;
    x[61] = 9000;
    assert_int_equal(sis_points_new_custom(62, line, x, &p), 0);
    assert_int_equal(sis_kdistances_find(p, &opt, &k), 0);
    assert_int_equal(k.n, 62);
    assert_true(k.values[k.knee] == 1);
    sis_kdistances_release(&k);
    opt.min_size = 63;
    assert_int_equal(sis_kdistances_find(p, &opt, &k), SIS_E_ARGUMENT);
    sis_points_free(p);
}

/* ---- Bad input ------------------------------------------------------------------------------- */

static void wrong_options_are_refused(void **state) {
    static const struct {
        double eps;
        size_t min_size;
        int jobs;
        const char *part;
    } cases[] = {{NAN, 5, 1, "eps is not set"},
                 {-1, 5, 1, "negative"},
                 {1, 0, 1, "min_size"},
                 {1, 5, -1, "jobs"}};
    sis_points *p;
    sis_clusters c;
    (void)state;
    assert_int_equal(sis_points_new(SIS_DISTANCE_JACCARD, &p), 0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sis_cluster_opt opt = options(cases[k].eps, cases[k].min_size);
        opt.jobs = cases[k].jobs;
        assert_int_equal(sis_cluster(p, &opt, &c), SIS_E_ARGUMENT);
        assert_non_null(strstr(sis_error_detail(), cases[k].part));
    }
    sis_cluster_opt opt = options(INFINITY, 1);
    assert_int_equal(sis_cluster(p, &opt, &c), 0); /* no points, no clusters */
    assert_int_equal(c.n_clusters, 0);
    sis_clusters_release(&c);
    sis_points_free(p);
}

static void wrong_points_are_refused(void **state) {
    sis_points *p;
    const char *words[] = {"a", "a"};
    double values[] = {1, 2}, nan[] = {NAN};
    int far[] = {0, 70000};
    (void)state;
    assert_int_equal(sis_points_new(SIS_DISTANCE_CUSTOM, &p), SIS_E_ARGUMENT);
    assert_null(p);
    assert_int_equal(sis_points_new(SIS_DISTANCE_OVERLAP, &p), 0);
    assert_int_equal(sis_points_add_words(p, words, 1), SIS_E_ARGUMENT);
    assert_int_equal(sis_points_add_cells(p, words, values, 2), SIS_E_ARGUMENT);
    assert_int_equal(sis_points_add_cells(p, words, nan, 1), SIS_E_ARGUMENT);
    assert_int_equal(sis_points_add_cells(p, words, values, 0), SIS_E_ARGUMENT);
    assert_int_equal(sis_points_count(p), 0);
    sis_points_free(p);
    assert_int_equal(sis_points_new(SIS_DISTANCE_ENERGY, &p), 0);
    assert_int_equal(sis_points_add_pixels(p, far, 1), SIS_E_ARGUMENT);
    assert_int_equal(sis_points_count(p), 0);
    sis_points_free(p);
}

/* ---- Allocations that fail ------------------------------------------------------------------- */

static int cluster_few(void *ctx) {
    sis_distance d = *(sis_distance *)ctx;
    static const char *const words[] = {"a", "b", "a"};
    static const double values[] = {1, 2};
    static const int places[] = {0, 0, 3, 4};
    sis_cluster_opt opt = options(1, 2);
    sis_points *p;
    sis_clusters c = {0};
    sis_kdistances k = {0};
    int code = sis_points_new(d, &p);
    for (size_t i = 0; i < 3 && code == SIS_OK; i++)
        code = d == SIS_DISTANCE_LEVENSHTEIN ? sis_points_add_letters(p, "ACGTACGT", 4 + i)
               : d == SIS_DISTANCE_OVERLAP   ? sis_points_add_cells(p, words, values, 1 + i % 2)
               : d == SIS_DISTANCE_ENERGY    ? sis_points_add_pixels(p, places, 1 + i % 2)
                                             : sis_points_add_words(p, words, 1 + i);
    if (code == SIS_OK)
        code = sis_cluster(p, &opt, &c);
    if (code == SIS_OK)
        code = sis_kdistances_find(p, &opt, &k);
    sis_clusters_release(&c);
    sis_kdistances_release(&k);
    sis_points_free(p);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    static const sis_distance all[] = {SIS_DISTANCE_JACCARD_BAG, SIS_DISTANCE_LEVENSHTEIN,
                                       SIS_DISTANCE_ENERGY, SIS_DISTANCE_OVERLAP};
    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        sis_distance d = all[k];
        assert_true(with_failing_allocations(cluster_few, &d) > 10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_those_of_the_oracle),
        cmocka_unit_test(large_images_are_clustered_too),
        cmocka_unit_test(distances_are_metric_enough),
        cmocka_unit_test(any_distance_can_be_given),
        cmocka_unit_test(k_distances_are_those_of_the_matrix),
        cmocka_unit_test(the_knee_is_where_the_curve_turns),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(wrong_points_are_refused),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
