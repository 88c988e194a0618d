/* SPDX-License-Identifier: MIT
 *
 * The text of a record for every guarantee and direction, and its advice if nothing was found:
 * thresholds that have an explanation, and only those.
 */
#include "support_results.h"

#include <string.h>

#include <sis/record.h>

static void advises(sis_status status, int below, double score, double masked, const char *wanted) {
    char text[256];
    sis_record r = {.question.below = below,
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
        sis_record r = {.question.keep = "class",
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

/* For all values, nothing is masked, so the example itself must be decided. */
static void advice_for_proofs_is_a_threshold_that_is_met(void **state) {
    (void)state;
    sis_guarantee all = {.kind = SIS_GUARANTEE_ALL}, chance = {.kind = SIS_GUARANTEE_CHANCE};
    static const struct {
        int below, chance, status;
        double score;
        const char *advice;
    } cases[] = {
        {0, 0, SIS_STATUS_NOT_DECIDED, 0.146685, "Ask with a threshold of 0.1466 or less."},
        {1, 0, SIS_STATUS_NOT_DECIDED, 0.963629, "Ask with a threshold of 0.9637 or more."},
        {0, 1, SIS_STATUS_NOT_DECIDED, 0.146685, "Ask with a threshold of 0.1466 or less."},
        {0, 1, SIS_STATUS_DEFAULT_DECISION, 0.9,
         "Ask with another threshold, or another hot deck."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        sis_record r = {.question.method = "sis",
                        .question.below = cases[i].below,
                        .guarantee = cases[i].chance ? &chance : &all,
                        .collection = {.status = (sis_status)cases[i].status,
                                       .score = cases[i].score,
                                       .masked_score = cases[i].score}};
        sis_record_advice(&r, text, sizeof text);
        assert_string_equal(text, cases[i].advice);
    }
}

/* ---- Texts --------------------------------------------------------------------------------- */

enum { MASKED, CHANCE, ALL, CONTRAST, RATIONALE };

/* A record of that kind with n subsets. */
static sis_record record_of(int kind, sis_status status, size_t n, sis_guarantee *g) {
    static sis_subset subsets[2] = {{.n = 1}, {.n = 1}};
    static double examples[4];
    *g = (sis_guarantee){.kind = kind == CHANCE ? SIS_GUARANTEE_CHANCE : SIS_GUARANTEE_ALL,
                         .proved = 1,
                         .minimal = 1,
                         .examples = kind == CONTRAST && n ? examples : NULL};
    return (sis_record){.question.method = kind == CONTRAST    ? "contrast"
                                           : kind == RATIONALE ? "ig"
                                                               : "sis",
                        .question.constraint = kind == RATIONALE ? "top" : NULL,
                        .guarantee = kind == MASKED || kind == RATIONALE ? NULL : g,
                        .question.domain = "data:train.csv",
                        .collection = {.status = status,
                                       .n_features = 4,
                                       .score = 0.9,
                                       .masked_score = 0.125,
                                       .rest_score = 0.25,
                                       .n_subsets = n,
                                       .subsets = subsets,
                                       .verified = 1}};
}

static void what_was_found_is_called_what_it_is(void **state) {
    (void)state;
    static const struct {
        int kind;
        size_t n;
        const char *found, *score, *below, *masked, *rest;
    } cases[] = {
        {MASKED, 2, "2 sufficient subsets, verified", "score", "score", "everything masked",
         "only the subsets masked 0.25 (there are more subsets)"},
        {CHANCE, 1, "1 sufficient subset, verified", "mean score", "mean score",
         "everything drawn anew", "only the subsets drawn anew 0.25 (there may be more subsets)"},
        {ALL, 1, "1 sufficient subset, proved", "lowest score met", "highest score met",
         "other values of everything",
         "other values of only the subsets 0.25 (there may be more subsets)"},
        {CONTRAST, 2, "2 ways to lose it, proved", "changes the score to", "changes the score to",
         "other values of everything",
         "changing these alone can lose the decision, changing less of them cannot"},
        {RATIONALE, 1, "rationale by ig, top", "score", "score", "everything masked",
         "only the rationale masked 0.25"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[160];
        sis_guarantee g;
        sis_record r = record_of(cases[i].kind, SIS_STATUS_EXPLAINED, cases[i].n, &g);
        sis_record_found(&r, text, sizeof text);
        assert_string_equal(text, cases[i].found);
        sis_record_rest(&r, text, sizeof text);
        assert_string_equal(text, cases[i].rest);
        assert_string_equal(sis_record_score_name(&r), cases[i].score);
        assert_string_equal(sis_record_masked_name(&r), cases[i].masked);
        r.question.below = 1;
        assert_string_equal(sis_record_score_name(&r), cases[i].below);
    }
}

static void reasons_say_what_was_done_to_the_input(void **state) {
    (void)state;
    static const struct {
        int kind, keep;
        sis_status status;
        const char *reason;
    } cases[] = {
        {MASKED, 0, SIS_STATUS_NOT_DECIDED,
         "The score does not meet this threshold, so there is no decision to explain."},
        {ALL, 1, SIS_STATUS_NOT_DECIDED,
         "The model does not choose this output, so there is no decision to explain."},
        {MASKED, 0, SIS_STATUS_DEFAULT_DECISION,
         "Even with everything masked the score is 0.125, so no part of this input is "
         "responsible."},
        {MASKED, 1, SIS_STATUS_DEFAULT_DECISION,
         "Even with everything masked it is ahead by 0.125, so no part of this input is "
         "responsible."},
        {CHANCE, 0, SIS_STATUS_DEFAULT_DECISION,
         "Even with everything drawn anew the decision stays as often as was asked for (mean score "
         "0.125), so no part of this input is responsible."},
        {CONTRAST, 0, SIS_STATUS_DEFAULT_DECISION,
         "Whatever all features are, within the range of train.csv, the decision is the same; the "
         "nearest score that was met is 0.125."},
        {ALL, 1, SIS_STATUS_DEFAULT_DECISION,
         "Whatever all features are, within the range of train.csv, the decision is the same; the "
         "smallest lead that was met is 0.125."},
        {MASKED, 0, SIS_STATUS_EXPLAINED, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        sis_guarantee g;
        sis_record r = record_of(cases[i].kind, cases[i].status, 0, &g);
        r.question.keep = cases[i].keep ? "class" : NULL;
        sis_record_reason(&r, text, sizeof text);
        assert_string_equal(text, cases[i].reason);
    }
    sis_guarantee g;
    sis_record r = record_of(ALL, SIS_STATUS_NOT_DECIDED, 0, &g);
    assert_null(sis_record_masked_name(&r)); /* its masked_score equals the score */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_score_beyond_the_mask_needs_a_nearer_threshold),
        cmocka_unit_test(a_score_short_of_the_mask_is_the_opposite_decision),
        cmocka_unit_test(close_scores_get_as_many_digits_as_they_need),
        cmocka_unit_test(equal_scores_leave_only_another_mask),
        cmocka_unit_test(a_class_to_keep_has_no_threshold),
        cmocka_unit_test(an_explained_record_gets_no_advice),
        cmocka_unit_test(advice_for_proofs_is_a_threshold_that_is_met),
        cmocka_unit_test(what_was_found_is_called_what_it_is),
        cmocka_unit_test(reasons_say_what_was_done_to_the_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
