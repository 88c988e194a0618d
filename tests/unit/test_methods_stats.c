/* SPDX-License-Identifier: MIT
 *
 * Ranks, percentiles and tests against worked examples and recorded values of SciPy 1.10:
 * mannwhitneyu(x, y), wilcoxon(x, y, correction=True), pearsonr(x, y), numpy's percentile.
 */
#include "support.h"

#include <math.h>

#include <sis/explain.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Equal except for rounding in the last digits. */
static void assert_close(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-12 * fabs(expected)))
        fail_msg("expected %.17g, found %.17g", expected, found);
}

static void assert_test(const sis_test *t, double statistic, double p, int exact) {
    assert_close(t->statistic, statistic);
    assert_close(t->p, p);
    assert_int_equal(t->exact, exact);
}

static void rank_sum(const double *x, size_t nx, const double *y, size_t ny, double u, double p,
                     int exact) {
    sis_test t;
    assert_int_equal(sis_test_rank_sum(x, nx, y, ny, &t), SIS_OK);
    assert_test(&t, u, p, exact);
    assert_int_equal(t.n, nx + ny);
    assert_int_equal(sis_test_rank_sum(y, ny, x, nx, &t), SIS_OK);
    assert_test(&t, (double)nx * (double)ny - u, p, exact);
}

static void signed_rank(const double *x, const double *y, size_t n, size_t counted, double w,
                        double p, int exact) {
    sis_test t;
    assert_int_equal(sis_test_signed_rank(x, y, n, &t), SIS_OK);
    assert_test(&t, w, p, exact);
    assert_int_equal(t.n, counted);
    assert_int_equal(sis_test_signed_rank(y, x, n, &t), SIS_OK);
    assert_test(&t, w, p, exact);
}

static void pearson(const double *x, const double *y, size_t n, double r, double p) {
    sis_test t;
    assert_int_equal(sis_test_pearson(x, y, n, &t), SIS_OK);
    assert_close(t.statistic, r);
    assert_close(t.p, p);
}

/* Numbers without ties, of either sign. */
static void scatter(double *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] = (double)((i * 7919) % 1009) / 7 - 60;
}

/* ---- Samples ------------------------------------------------------------------------------- */

static void percentiles_are_those_of_numpy(void **state) {
    (void)state;
    const double x[] = {3, 1, 4, 1, 5, 9, 2, 6};
    const double at[] = {0, 10, 25, 50, 90, 100}, expected[] = {1, 1, 1.75, 3.5, 6.9, 9};
    double found;
    for (size_t i = 0; i < COUNT(at); i++) {
        assert_int_equal(sis_sample_percentile(x, COUNT(x), at[i], &found), SIS_OK);
        assert_close(found, expected[i]);
    }
    assert_int_equal(sis_sample_percentile(x, 1, 90, &found), SIS_OK);
    assert_true(found == 3);
    const double endless[] = {-INFINITY, 0, INFINITY};
    assert_int_equal(sis_sample_percentile(endless, 3, 50, &found), SIS_OK);
    assert_true(found == 0);
}

static void percentiles_of_nothing_are_nan(void **state) {
    (void)state;
    const double odd[] = {1, NAN, 2};
    double found = 0;
    assert_int_equal(sis_sample_percentile(odd, 3, 50, &found), SIS_OK);
    assert_true(isnan(found));
    found = 0;
    assert_int_equal(sis_sample_percentile(odd, 0, 50, &found), SIS_OK);
    assert_true(isnan(found));
    assert_int_equal(sis_sample_percentile(odd, 1, 101, &found), SIS_E_ARGUMENT);
    assert_int_equal(sis_sample_percentile(odd, 1, NAN, &found), SIS_E_ARGUMENT);
}

static void means_and_deviations(void **state) {
    (void)state;
    const double x[] = {2, 4, 4, 4, 5, 5, 7, 9}, same[] = {0.1, 0.1, 0.1};
    assert_close(sis_sample_mean(x, COUNT(x)), 5);
    assert_close(sis_sample_deviation(x, COUNT(x)), sqrt(32.0 / 7));
    assert_true(sis_sample_mean(same, 3) == 0.1);
    assert_true(sis_sample_deviation(same, 3) == 0);
    assert_true(isnan(sis_sample_mean(x, 0)));
    assert_true(isnan(sis_sample_deviation(x, 1)));
}

/* ---- Rank-sum ------------------------------------------------------------------------------ */

/* Age at diagnosis of diabetes, men and women: the example of SciPy's manual. */
static void rank_sum_of_worked_examples(void **state) {
    (void)state;
    const double men[] = {19, 22, 16, 29, 24}, women[] = {20, 11, 17, 12};
    rank_sum(men, 5, women, 4, 17, 0.1111111111111111, 1);
    /* Permeability of the human chorioamnion at term and before: Hollander and Wolfe, 1973. */
    const double term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
    const double before[] = {1.15, 0.88, 0.90, 0.74, 1.21};
    rank_sum(term, 10, before, 5, 35, 0.2544122544122544, 1);
}

static void rank_sum_with_ties(void **state) {
    (void)state;
    const double a[] = {1, 2, 2, 3}, b[] = {2, 3, 4, 5, 5};
    rank_sum(a, 4, b, 5, 2.5, 0.07854585095119067, 0);
    double x[40], y[35];
    for (int i = 0; i < 40; i++)
        x[i] = i % 7;
    for (int i = 0; i < 35; i++)
        y[i] = (i * i) % 9;
    rank_sum(x, 40, y, 35, 765, 0.48715076156511194, 0);
}

static void rank_sum_is_exact_up_to_eight(void **state) {
    (void)state;
    double x[9], y[20];
    for (int i = 0; i < 9; i++)
        x[i] = i;
    for (int i = 0; i < 20; i++)
        y[i] = i + 4.5;
    rank_sum(x, 8, y, 20, 6, 1.9304367130454086e-05, 1);
    rank_sum(x, 9, y, 20, 10, 0.00017848775202400087, 0);
}

static void rank_sum_keeps_small_p(void **state) {
    (void)state;
    double x[70], y[70];
    for (int i = 0; i < 70; i++) {
        x[i] = i + 1000;
        y[i] = i;
    }
    rank_sum(x, 60, y, 70, 4200, 1.071802910453994e-22, 0);
}

static void rank_sum_of_little(void **state) {
    (void)state;
    const double one[] = {1, 2}, two[] = {2, 1}, same[] = {3, 3, 3}, odd[] = {1, NAN};
    sis_test t;
    rank_sum(one, 1, two, 1, 0, 1, 1);
    rank_sum(one, 2, two, 2, 2, 1, 0);
    rank_sum(same, 3, same, 2, 3, 1, 0);
    assert_int_equal(sis_test_rank_sum(one, 0, two, 2, &t), SIS_OK);
    assert_true(isnan(t.p) && isnan(t.statistic));
    assert_int_equal(sis_test_rank_sum(one, 2, odd, 2, &t), SIS_OK);
    assert_true(isnan(t.p) && isnan(t.statistic));
}

/* All orders of m and n numbers, counted one by one, against the generating function of the
 * tail. */
static void rank_sum_counts_every_order(void **state) {
    (void)state;
    enum { M = 4, N = 6, ALL = M + N };
    const unsigned first[] = {0x0f, 0x35, 0xe1, 0x2a1, 0x3c0};
    for (size_t k = 0; k < COUNT(first); k++) {
        double x[M], y[N];
        size_t nx = 0, ny = 0, total = 0, beyond = 0;
        for (unsigned i = 0; i < ALL; i++)
            *(first[k] >> i & 1 ? &x[nx++] : &y[ny++]) = i;
        assert_int_equal(nx, M);
        sis_test t;
        assert_int_equal(sis_test_rank_sum(x, M, y, N, &t), SIS_OK);
        double off = fabs(t.statistic - M * N / 2.0);
        for (unsigned set = 0; set < 1u << ALL; set++) {
            double u = 0, seen = 0, chosen = 0;
            for (unsigned i = 0; i < ALL; i++) {
                chosen += set >> i & 1;
                u += set >> i & 1 ? seen : 0;
                seen += !(set >> i & 1);
            }
            total += chosen == M;
            beyond += chosen == M && fabs(u - M * N / 2.0) >= off;
        }
        assert_int_equal(total, 210);
        assert_close(t.p, (double)beyond / (double)total);
    }
}

/* ---- Signed-rank --------------------------------------------------------------------------- */

/* A depression scale before and after treatment: Hollander and Wolfe, 1973. */
static void signed_rank_of_worked_examples(void **state) {
    (void)state;
    const double before[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
    const double after[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
    signed_rank(before, after, 9, 9, 5, 0.0390625, 1);
    /* Darwin's maize: cross-fertilised plants minus their self-fertilised pairs. */
    const double maize[] = {6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75};
    const double none[15] = {0};
    signed_rank(maize, none, 15, 15, 24, 0.041259765625, 1);
}

/* Percentages of 101 features: all differences are one or two features, but their bits differ. */
static void rounding_takes_no_ties_apart(void **state) {
    (void)state;
    double x[12], y[12], share_x[12], share_y[12];
    for (int i = 0; i < 12; i++) {
        x[i] = 10 + i;
        y[i] = x[i] + (i % 3 == 0 ? -2 : i % 2 ? 1 : -1);
        share_x[i] = 100.0 * x[i] / 101.0;
        share_y[i] = 100.0 * y[i] / 101.0;
    }
    sis_test whole, share;
    assert_int_equal(sis_test_signed_rank(x, y, 12, &whole), SIS_OK);
    assert_int_equal(sis_test_signed_rank(share_x, share_y, 12, &share), SIS_OK);
    assert_true(whole.p == share.p && whole.statistic == share.statistic);
    assert_int_equal(whole.n, 12);
    assert_int_equal(share.n, 12);
    assert_false(whole.exact || share.exact);
}

static void signed_rank_is_exact_up_to_fifty(void **state) {
    (void)state;
    double x[60];
    const double zero[60] = {0};
    scatter(x, 60);
    signed_rank(x, zero, 25, 25, 112, 0.18172985315322876, 1);
    signed_rank(x, zero, 50, 50, 427, 0.04193213473556767, 1);
    signed_rank(x, zero, 51, 51, 447, 0.04338524324511899, 0);
    signed_rank(x, zero, 60, 60, 649, 0.050641453608202026, 0);
}

static void signed_rank_with_ties_and_zeros(void **state) {
    (void)state;
    double x[35], y[35];
    size_t differ = 0;
    for (int i = 0; i < 35; i++) {
        x[i] = i % 7;
        y[i] = (i * i) % 9;
        differ += x[i] != y[i];
    }
    signed_rank(x, y, 35, differ, 193, 0.601959244438599, 0);
    const double a[] = {1, 2, 3, 4}, b[] = {2, 2, 3, 5};
    signed_rank(a, b, 4, 2, 0, 0.3457785861511603, 0);
}

static void signed_rank_of_little(void **state) {
    (void)state;
    const double one[] = {1, 2}, two[] = {2, 4}, odd[] = {NAN, 1};
    sis_test t;
    signed_rank(one, two, 1, 1, 0, 1, 1);
    signed_rank(one, one, 2, 0, 0, 1, 0);
    assert_int_equal(sis_test_signed_rank(one, two, 0, &t), SIS_OK);
    assert_true(isnan(t.p));
    assert_int_equal(sis_test_signed_rank(one, odd, 2, &t), SIS_OK);
    assert_true(isnan(t.p) && isnan(t.statistic));
}

/* ---- Pearson ------------------------------------------------------------------------------- */

static void pearson_of_worked_examples(void **state) {
    (void)state;
    const double a[] = {1, 2, 3, 4, 5}, b[] = {10, 9, 2.5, 6, 4};
    pearson(a, b, 5, -0.7426106572325059, 0.15055580885344544);
    const double c[] = {17, 19, 21, 26, 28}, d[] = {16, 22, 25, 29, 20};
    pearson(c, d, 5, 0.4637848993211921, 0.4314018919603196);
    const double e[] = {3, 5, 6};
    pearson(a, e, 3, 0.9819805060619655, 0.12103771832367739);
}

static void pearson_keeps_small_p(void **state) {
    (void)state;
    double x[500], weak[500], strong[500];
    sis_test t;
    for (int i = 0; i < 500; i++) {
        int noise = (i * 7919) % 1009 - 500;
        x[i] = i;
        weak[i] = i * 0.491 + noise;
        strong[i] = i + noise * 0.5;
    }
    assert_int_equal(sis_test_pearson(x, weak, 500, &t), SIS_OK);
    assert_close(t.statistic, 0.22906650676302434);
    assert_true(fabs(t.p / 2.239504317979826e-07 - 1) < 1e-9);
    assert_int_equal(sis_test_pearson(x, strong, 500, &t), SIS_OK);
    assert_close(t.statistic, 0.7011352906285918);
    assert_true(fabs(t.p / 3.5774270348362583e-75 - 1) < 1e-9);
}

static void pearson_of_little(void **state) {
    (void)state;
    const double a[] = {1, 2, 3}, b[] = {5, 3, 1}, same[] = {0.1, 0.1, 0.1}, odd[] = {1, NAN, 2};
    const double tiny[] = {1e-300, 2e-300, 3e-300};
    sis_test t;
    pearson(a, b, 2, -1, 1);
    pearson(a, b, 3, -1, 0);
    const double *none[] = {same, odd, tiny};
    for (size_t i = 0; i < COUNT(none); i++) {
        assert_int_equal(sis_test_pearson(a, none[i], 3, &t), SIS_OK);
        assert_true(isnan(t.p) && isnan(t.statistic));
    }
    assert_int_equal(sis_test_pearson(a, b, 1, &t), SIS_OK);
    assert_true(isnan(t.p) && isnan(t.statistic));
}

/* ---- Memory -------------------------------------------------------------------------------- */

static int every_test(void *ctx) {
    const double x[] = {1, 2, 4, 7}, y[] = {3, 5, 6, 11};
    double median;
    sis_test t;
    (void)ctx;
    int code = sis_sample_percentile(x, 4, 50, &median);
    if (code == SIS_OK)
        code = sis_test_rank_sum(x, 4, y, 4, &t);
    return code == SIS_OK ? sis_test_signed_rank(x, y, 4, &t) : code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    assert_int_equal(with_failing_allocations(every_test, NULL), 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_those_of_numpy),
        cmocka_unit_test(percentiles_of_nothing_are_nan),
        cmocka_unit_test(means_and_deviations),
        cmocka_unit_test(rank_sum_of_worked_examples),
        cmocka_unit_test(rank_sum_with_ties),
        cmocka_unit_test(rank_sum_is_exact_up_to_eight),
        cmocka_unit_test(rank_sum_keeps_small_p),
        cmocka_unit_test(rank_sum_of_little),
        cmocka_unit_test(rank_sum_counts_every_order),
        cmocka_unit_test(signed_rank_of_worked_examples),
        cmocka_unit_test(rounding_takes_no_ties_apart),
        cmocka_unit_test(signed_rank_is_exact_up_to_fifty),
        cmocka_unit_test(signed_rank_with_ties_and_zeros),
        cmocka_unit_test(signed_rank_of_little),
        cmocka_unit_test(pearson_of_worked_examples),
        cmocka_unit_test(pearson_keeps_small_p),
        cmocka_unit_test(pearson_of_little),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
