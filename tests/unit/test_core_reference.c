/* SPDX-License-Identifier: MIT
 *
 * Behaviours of the published numpy implementation, and the cases in which it fails.
 */
#include "support.h"

#include <math.h>

#include <sis/sis.h>

static sis_model sum_model(void) {
    return (sis_model){.size = sizeof(sis_model), .predict = sum_values, .n_outputs = 1};
}

static void collect(const sis_model *m, const sis_input *in, double threshold, sis_collection *c) {
    sis_opt opt = decision(threshold);
    assert_int_equal(sis_collect(m, in, &opt, c), SIS_OK);
}

static void assert_features(const sis_subset *s, size_t n, const int *features) {
    assert_int_equal(s->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(s->features[i], features[i]);
}

static const double four[] = {0.1, 0.5, 0.8, 0.1}, zeros[8];

static void sum_of_four_gives_order_values_and_subset(void **state) {
    (void)state;
    sis_model m = sum_model();
    sis_input in = {.values = four, .mask = zeros, .n_values = 4};
    sis_collection c;
    collect(&m, &in, 1.0, &c);
    assert_int_equal(c.n_subsets, 1);
    assert_features(&c.subsets[0], 2, (int[]){2, 1});
    const sis_trace *t = &c.subsets[0].trace;
    const int order[] = {0, 3, 1, 2};
    const double values[] = {1.4, 1.3, 0.8, 0};
    assert_int_equal(t->n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(t->order[i], order[i]);
        assert_true(fabs(t->scores[i] - values[i]) < 1e-12);
    }
    assert_true(fabs(c.subsets[0].score - 1.3) < 1e-12);
    assert_true(fabs(c.score - 1.5) < 1e-12);
    assert_true(c.masked_score == 0);
    assert_true(fabs(c.rest_score - 0.2) < 1e-12);
    /* 4+3+2+1 probes, the input, the rest; then input, mask, subset and rest again; then these
     * and the subset without each of its two features, three times */
    assert_int_equal(c.evaluations, 12 + 4 + 3 * 6);
    sis_collection_release(&c);
}

static void columns_as_features_give_two_subsets(void **state) {
    (void)state;
    const double x[] = {.1, .5, .4, .2, .6, .3};
    const int columns[] = {0, 1, 2, 0, 1, 2};
    sis_model m = sum_model();
    sis_input in = {.values = x, .mask = zeros, .n_values = 6, .feature_of = columns};
    sis_collection c;
    collect(&m, &in, 1.0, &c);
    assert_int_equal(c.n_features, 3);
    assert_int_equal(c.n_subsets, 2);
    assert_features(&c.subsets[0], 1, (int[]){1});
    assert_features(&c.subsets[1], 2, (int[]){2, 0}); /* 0.7 + 0.3: equality is enough */
    sis_collection_release(&c);
}

static void ties_go_to_the_lowest_feature(void **state) {
    (void)state;
    const double x[] = {1, 1, 1, 1};
    sis_model m = sum_model();
    sis_input in = {.values = x, .mask = zeros, .n_values = 4};
    sis_collection c;
    collect(&m, &in, 2.0, &c);
    assert_int_equal(c.n_subsets, 2);
    assert_features(&c.subsets[0], 2, (int[]){3, 2});
    assert_features(&c.subsets[1], 2, (int[]){1, 0});
    sis_collection_release(&c);
}

static void below_the_threshold_there_is_nothing(void **state) {
    (void)state;
    sis_model m = sum_model();
    sis_input in = {.values = four, .mask = zeros, .n_values = 4};
    sis_collection c;
    collect(&m, &in, 1.6, &c);
    assert_int_equal(c.status, SIS_STATUS_NOT_DECIDED);
    assert_int_equal(c.n_subsets, 0);
    sis_collection_release(&c);
}

static void a_mask_that_decides_by_itself_explains_nothing(void **state) {
    (void)state;
    const double ones[] = {1, 1, 1, 1};
    sis_model m = sum_model();
    sis_input in = {.values = four, .mask = ones, .n_values = 4};
    sis_collection c;
    collect(&m, &in, 1.0, &c);
    assert_int_equal(c.status, SIS_STATUS_DEFAULT_DECISION);
    assert_int_equal(c.n_subsets, 0);
    assert_true(c.masked_score == 4);
    sis_collection_release(&c);
}

static int nan_without_2(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    sum_values(ctx, rows, n, width, scores);
    for (size_t i = 0; i < n; i++)
        if (rows[i * width + 2] == 0)
            scores[i] = NAN;
    return 0;
}

static void nan_is_an_error_and_says_where(void **state) {
    (void)state;
    sis_model m = {.size = sizeof m, .predict = nan_without_2, .n_outputs = 1};
    sis_input in = {.values = four, .mask = zeros, .n_values = 4};
    sis_opt opt = decision(1);
    sis_collection c;
    assert_int_equal(sis_collect(&m, &in, &opt, &c), SIS_E_NAN);
    assert_string_equal(sis_error_detail(),
                        "the model returned NaN for output 0 with 4 of 4 features masked");
}

static void a_start_that_is_partly_masked_is_the_input(void **state) {
    (void)state;
    sis_model m = sum_model();
    const unsigned char absent[] = {0, 0, 1, 0};
    sis_input in = {.values = four, .mask = zeros, .n_values = 4, .absent = absent};
    sis_collection c;
    collect(&m, &in, 1.0, &c); /* 1.5 with feature 2, but 0.7 without */
    assert_int_equal(c.status, SIS_STATUS_NOT_DECIDED);
    assert_true(fabs(c.score - 0.7) < 1e-12);
    sis_collection_release(&c);
    collect(&m, &in, 0.6, &c);
    assert_int_equal(c.status, SIS_STATUS_EXPLAINED);
    assert_features(&c.subsets[0], 2, (int[]){1, 3});
    assert_int_equal(c.subsets[0].trace.n, 3);
    sis_collection_release(&c);
}

static int single_precision(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++)
        scores[i] = (float)rows[i * width] > 0 ? 0.7f : 0.1f; /* 0.7f < 0.7 */
    return 0;
}

static void a_float32_score_at_the_threshold_reaches_it(void **state) {
    (void)state;
    assert_true((double)0.7f < 0.7);
    sis_model m = {.size = sizeof m, .predict = single_precision, .n_outputs = 1};
    sis_input in = {.values = four, .mask = zeros, .n_values = 4};
    sis_collection c;
    collect(&m, &in, 0.7, &c);
    assert_int_equal(c.n_subsets, 1);
    assert_features(&c.subsets[0], 1, (int[]){0});
    sis_collection_release(&c);
    assert_true(sis_decided(0.7f, 0.7, 1) && sis_decided(0.7f, 0.7, 0));
    assert_false(sis_decided(0.69999, 0.7, 0));
    assert_false(sis_decided(0.7, 0.7f, 1)); /* a double score is compared as a double */
}

static void below_explains_a_low_score(void **state) {
    (void)state;
    const double x[] = {-1, 0.5, -2, 0.25};
    sis_model m = sum_model();
    sis_input in = {.values = x, .mask = zeros, .n_values = 4};
    sis_opt opt = decision(-2);
    opt.below = 1;
    sis_collection c;
    assert_int_equal(sis_collect(&m, &in, &opt, &c), SIS_OK);
    assert_int_equal(c.n_subsets, 1);
    assert_features(&c.subsets[0], 1, (int[]){2});
    const int order[] = {1, 3, 0, 2};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(c.subsets[0].trace.order[i], order[i]);
    sis_collection_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum_of_four_gives_order_values_and_subset),
        cmocka_unit_test(columns_as_features_give_two_subsets),
        cmocka_unit_test(ties_go_to_the_lowest_feature),
        cmocka_unit_test(below_the_threshold_there_is_nothing),
        cmocka_unit_test(a_mask_that_decides_by_itself_explains_nothing),
        cmocka_unit_test(nan_is_an_error_and_says_where),
        cmocka_unit_test(a_start_that_is_partly_masked_is_the_input),
        cmocka_unit_test(a_float32_score_at_the_threshold_reaches_it),
        cmocka_unit_test(below_explains_a_low_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
