/* SPDX-License-Identifier: MIT
 *
 * What a record advises where nothing was found: thresholds that have an explanation, and only
 * those.
 */
#include "support_results.h"

#include <string.h>

static void advises(sis_status status, int below, double score, double masked, const char *wanted) {
    char text[256];
    sis_record r = {.below = below,
                    .collection = {.status = status, .score = score, .masked_score = masked}};
    sis_record_advice(&r, text, sizeof text);
    assert_string_equal(text, wanted);
}

static void a_score_beyond_the_mask_needs_a_nearer_threshold(void **state) {
    (void)state;
    advises(SIS_STATUS_NOT_DECIDED, 0, 0.75397, 0.49054,
            "Ask with a threshold above 0.4905 (everything masked), up to 0.7539.");
    advises(SIS_STATUS_NOT_DECIDED, 1, 0.25, 0.49054,
            "Ask with a threshold of 0.25 or more, below 0.4905 (everything masked).");
    advises(SIS_STATUS_DEFAULT_DECISION, 0, 0.99999, 0.9,
            "Take another mask, or ask with a threshold above 0.9 (everything masked), up to "
            "0.9999.");
    advises(SIS_STATUS_NOT_DECIDED, 0, -12.3456, -20,
            "Ask with a threshold above -20 (everything masked), up to -12.35.");
}

static void a_score_short_of_the_mask_is_the_opposite_decision(void **state) {
    (void)state;
    advises(SIS_STATUS_NOT_DECIDED, 0, 0.0015029, 0.52,
            "Ask with --below and a threshold of 0.001503 or more, below 0.52 (everything "
            "masked).");
    advises(SIS_STATUS_NOT_DECIDED, 1, 0.9657, 0.4971,
            "Ask without --below and with a threshold above 0.4971 (everything masked), up to "
            "0.9657.");
    advises(SIS_STATUS_DEFAULT_DECISION, 0, 0.85, 0.9,
            "Take another mask, or ask with --below and a threshold of 0.85 or more, below 0.9 "
            "(everything masked).");
}

static void close_scores_get_as_many_digits_as_they_need(void **state) {
    (void)state;
    advises(SIS_STATUS_NOT_DECIDED, 0, 0.500002, 0.5,
            "Ask with a threshold above 0.5 (everything masked), up to 0.500002.");
    advises(SIS_STATUS_NOT_DECIDED, 0, 1e-30, 0,
            "Ask with a threshold above 0 (everything masked), up to 1e-30.");
    advises(SIS_STATUS_NOT_DECIDED, 0, 0.00150289, 0.519962,
            "Ask with --below and a threshold of 0.001503 or more, below 0.52 (everything "
            "masked).");
}

static void equal_scores_leave_only_another_mask(void **state) {
    (void)state;
    const char *same =
        "It scores the same with everything masked: only another mask could tell its parts apart.";
    advises(SIS_STATUS_DEFAULT_DECISION, 0, 1, 1, same);
    advises(SIS_STATUS_NOT_DECIDED, 1, 0.1 + 0.2, 0.3, same);
}

static void a_class_to_keep_has_no_threshold(void **state) {
    (void)state;
    static const struct {
        sis_status status;
        int guarantee;
        const char *advice;
    } cases[] = {
        {SIS_STATUS_DEFAULT_DECISION, -1, "Take another mask, or ask about another output."},
        {SIS_STATUS_DEFAULT_DECISION, SIS_GUARANTEE_CHANCE,
         "Take another mask, or ask about another output."},
        {SIS_STATUS_DEFAULT_DECISION, SIS_GUARANTEE_ALL, "Ask with another domain."},
        {SIS_STATUS_NOT_DECIDED, -1, "Another output is higher: ask about that one."},
        {SIS_STATUS_EXPLAINED, -1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        sis_guarantee g = {.kind = (sis_guarantee_kind)cases[i].guarantee};
        sis_record r = {.keep = "class",
                        .guarantee = cases[i].guarantee < 0 ? NULL : &g,
                        .collection = {.status = cases[i].status, .score = 3, .masked_score = 1}};
        sis_record_advice(&r, text, sizeof text);
        assert_string_equal(text, cases[i].advice);
    }
}

static void an_explained_record_gets_no_advice(void **state) {
    (void)state;
    advises(SIS_STATUS_EXPLAINED, 0, 0.9, 0.5, "");
    advises(SIS_STATUS_ERROR, 0, 0.9, 0.5, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_score_beyond_the_mask_needs_a_nearer_threshold),
        cmocka_unit_test(a_score_short_of_the_mask_is_the_opposite_decision),
        cmocka_unit_test(close_scores_get_as_many_digits_as_they_need),
        cmocka_unit_test(equal_scores_leave_only_another_mask),
        cmocka_unit_test(a_class_to_keep_has_no_threshold),
        cmocka_unit_test(an_explained_record_gets_no_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
