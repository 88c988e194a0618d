/* SPDX-License-Identifier: MIT
 *
 * Groups of examples: shares, their intervals, and the group of each example.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

static void intervals_are_wilsons(void **state) {
    /* Computed from the formula in Python. */
    static const struct {
        size_t n, of;
        double low, high;
    } cases[] = {{0, 10, 0, 0.277533},
                 {5, 10, 0.236593, 0.763407},
                 {10, 10, 0.722467, 1},
                 {1, 1, 0.206549, 1},
                 {648, 1000, 0.617884, 0.676983}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sis_proportion s = sis_proportion_of(cases[k].n, cases[k].of);
        assert_true(fabs(s.low - cases[k].low) < 1e-5 && fabs(s.high - cases[k].high) < 1e-5);
        assert_true(s.low <= s.share && s.share <= s.high);
    }
    sis_proportion none = sis_proportion_of(0, 0);
    assert_true(isnan(none.share) && none.low == 0 && none.high == 1);
}

/* An applicant; subset: "[]", or the features of the only subset. */
static int add(sis_groups *g, double age, int female, const char *status, const char *subset) {
    char line[1024];
    sis_record r = {0};
    int n = snprintf(line, sizeof line,
                     "{\"sis\":2,\"id\":\"x\",\"model\":\"m\",\"method\":\"sis\",\"target\":0,"
                     "\"direction\":\">=\",\"threshold\":0.5,\"score\":0.6,\"masked_score\":0.1,"
                     "\"status\":\"%s\",\"n_features\":2,\"subsets\":[%s],\"rest_score\":0.2,"
                     "\"kind\":\"table\",\"values\":[%g,%d,%d],\"names\":[\"age\",\"sex\"],"
                     "\"value_names\":[\"age\",\"sex=male\",\"sex=female\"],"
                     "\"feature_map\":[0,1,1],\"label\":\"yes\"}",
                     status, subset, age, !female, female);
    int error = sis_record_parse(line, (size_t)n, &r);
    if (!error)
        error = sis_groups_add(g, &r);
    sis_record_release(&r);
    return error;
}

#define AGE "{\"features\":[0],\"score\":0.6}"
#define BOTH "{\"features\":[0,1],\"score\":0.6}"

static int add_some(sis_groups *g) {
    int error = add(g, 20, 1, "explained", AGE);
    if (!error)
        error = add(g, 30, 1, "not_decided", "");
    if (!error)
        error = add(g, 40, 1, "default_decision", "");
    if (!error)
        error = add(g, 50, 0, "explained", BOTH);
    return error ? error : add(g, 5, 0, "explained", AGE);
}

static void examples_are_counted_in_their_group(void **state) {
    sis_groups *g;
    size_t n, features;
    (void)state;
    assert_int_equal(sis_groups_new("sex", &g), 0);
    assert_int_equal(add_some(g), 0);
    assert_int_equal(sis_groups_sort(g, &n, &features), 0);
    assert_int_equal(n, 2);
    assert_int_equal(features, 2);
    sis_group female = sis_groups_at(g, 0), male = sis_groups_at(g, 1);
    assert_string_equal(female.name, "female");
    assert_string_equal(male.name, "male");
    assert_int_equal(female.decided.n, 2);
    assert_int_equal(female.decided.of, 3);
    assert_int_equal(female.subsets, 1);
    assert_int_equal(male.decided.n, 2);
    assert_string_equal(sis_groups_feature(g, 0), "age");
    assert_int_equal(sis_groups_holds(g, 0, 0).n, 1);
    assert_int_equal(sis_groups_holds(g, 1, 1).n, 1);
    assert_int_equal(sis_groups_holds(g, 1, 1).of, 2);
    assert_int_equal(sis_groups_holds(g, 0, 1).n, 0);
    sis_groups_free(g);
}

static void numbers_are_cut_into_ranges(void **state) {
    static const char *const names[] = {"below 20", "20 to 40.5", "40.5 and more"};
    static const size_t sizes[] = {1, 3, 1};
    sis_groups *g;
    size_t n, features;
    (void)state;
    assert_int_equal(sis_groups_new("age:20,40.5", &g), 0);
    assert_int_equal(add_some(g), 0);
    assert_int_equal(sis_groups_sort(g, &n, &features), 0);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(sis_groups_at(g, i).name, names[i]);
        assert_int_equal(sis_groups_at(g, i).examples, sizes[i]);
    }
    sis_groups_free(g);
    assert_int_equal(sis_groups_new("age", &g), 0); /* each number is a group, in ascending order */
    assert_int_equal(add_some(g), 0);
    assert_int_equal(sis_groups_sort(g, &n, &features), 0);
    assert_int_equal(n, 5);
    assert_string_equal(sis_groups_at(g, 0).name, "5");
    sis_groups_free(g);
}

static void what_cannot_be_grouped_is_refused(void **state) {
    sis_groups *g;
    (void)state;
    assert_int_equal(sis_groups_new("colour", &g), 0);
    assert_int_equal(add_some(g), SIS_E_OPTION);
    assert_message_has("no column \"colour\"");
    sis_groups_free(g);
    assert_int_equal(sis_groups_new("sex:3", &g), 0);
    assert_int_equal(add_some(g), SIS_E_OPTION);
    assert_message_has("sex is not a number");
    sis_groups_free(g);
    assert_int_equal(sis_groups_new("age:5,3", &g), 0); /* not ascending, so it is a column name */
    assert_int_equal(add_some(g), SIS_E_OPTION);
    sis_groups_free(g);
    assert_int_equal(sis_groups_new("age", &g), 0);
    int error = SIS_OK;
    for (int age = 0; !error && age < 60; age++)
        error = add(g, age, 0, "explained", AGE);
    assert_int_equal(error, SIS_E_OPTION);
    assert_message_has("more than 50 different values");
    sis_groups_free(g);
}

static int group_once(void *ctx) {
    sis_groups *g = NULL;
    char *json = NULL;
    size_t n, features, bytes;
    int error = sis_groups_new((const char *)ctx, &g);
    if (!error)
        error = add_some(g);
    if (!error)
        error = sis_groups_sort(g, &n, &features);
    if (!error)
        error = sis_groups_format(g, features, &json, &bytes);
    free(json);
    sis_groups_free(g);
    return error;
}

static void memory_may_run_out(void **state) {
    char by[] = "sex";
    (void)state;
    assert_true(with_failing_allocations(group_once, by) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_are_wilsons),
        cmocka_unit_test(examples_are_counted_in_their_group),
        cmocka_unit_test(numbers_are_cut_into_ranges),
        cmocka_unit_test(what_cannot_be_grouped_is_refused),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
