/* SPDX-License-Identifier: MIT
 *
 * The exact lines that predict and verify write.
 */
#include "support.h"

#include <stdlib.h>

#include <sis/record.h>
#include <sis/results.h>

static void scores_are_a_line(void **state) {
    (void)state;
    const double scores[] = {0.1, -2e300};
    char *line;
    size_t n;
    assert_int_equal(sis_scores_format("a \"b\"", scores, 2, &line, &n), 0);
    assert_string_equal(line, "{\"id\":\"a \\\"b\\\"\",\"scores\":[0.1,-2e+300]}\n");
    free(line);
}

static int small[] = {4, 2};
static sis_subset_audit subsets[] = {
    {.score = 0.8, .best_without_one = 0.6, .sufficient = 1, .minimal = 1},
    {.score = 0.75,
     .best_without_one = 0.7,
     .sufficient = 1,
     .exhaustive = 1,
     .n_smaller = 2,
     .smaller = small},
};
static const sis_audit audit = {.score = 0.9,
                                .masked_score = 0.1,
                                .rest_score = 0.3,
                                .n_subsets = 2,
                                .subsets = subsets,
                                .complete = 1,
                                .reason = "subset 1 is not minimal"};

static void an_audit_says_what_holds_and_what_does_not(void **state) {
    (void)state;
    sis_audit holds = audit;
    char *line;
    size_t n;
    assert_int_equal(sis_audit_format("0", &audit, &line, &n), 0);
    assert_string_equal(
        line, "{\"id\":\"0\",\"holds\":false,\"reason\":\"subset 1 is not minimal\",\"score\":0.9,"
              "\"masked_score\":0.1,\"complete\":true,\"rest_score\":0.3,\"subsets\":["
              "{\"sufficient\":true,\"score\":0.8,\"minimal\":true,\"best_without_one\":0.6},"
              "{\"sufficient\":true,\"score\":0.75,\"minimal\":false,\"best_without_one\":0.7,"
              "\"exhaustive\":true,\"smaller\":[4,2]}]}\n");
    free(line);
    holds.holds = 1;
    holds.n_subsets = 0;
    assert_int_equal(sis_audit_format("0", &holds, &line, &n), 0);
    assert_string_equal(line, "{\"id\":\"0\",\"holds\":true,\"score\":0.9,\"masked_score\":0.1,"
                              "\"complete\":true,\"rest_score\":0.3,\"subsets\":[]}\n");
    free(line);
}

static int format_both(void *ctx) {
    (void)ctx;
    char *line = NULL;
    size_t n;
    int error = sis_audit_format("0", &audit, &line, &n);
    if (error)
        return error;
    free(line);
    error = sis_scores_format("0", &audit.score, 1, &line, &n);
    if (!error)
        free(line);
    return error;
}

static void lines_without_memory_are_refused(void **state) {
    (void)state;
    assert_true(with_failing_allocations(format_both, NULL) > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_a_line),
        cmocka_unit_test(an_audit_says_what_holds_and_what_does_not),
        cmocka_unit_test(lines_without_memory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
