/* SPDX-License-Identifier: MIT
 *
 * Report pages: first subsets at other thresholds, each kind of record, and escaping of data.
 */
#include "support_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "report/report.h"

/* ---- Traces ---------------------------------------------------------------------------------- */

/* The stored part of a trace gives the same subset as the whole trace at every threshold. */
static void kept_walks_answer_like_traces(void **state) {
    (void)state;
    sis__rng rng;
    sis__rng_init(&rng, 5);
    for (int round = 0; round < 200; round++) {
        int order[300];
        double scores[300];
        size_t n = 1 + sis__rng_below(&rng, 300);
        for (size_t i = 0; i < n; i++) {
            order[i] = (int)i;
            scores[i] = floor(sis__rng_uniform(&rng) * 50) / 50;
        }
        sis_subset s = {.n = 1, .features = order};
        s.trace = (sis_trace){.n = n, .order = order, .scores = scores, .start = 0.9};
        sis_record r = {.question.below = round % 2, .collection = {.n_subsets = 1, .subsets = &s}};
        r.collection.score = sis__rng_uniform(&rng);
        sis__trace_summary w;
        assert_int_equal(sis__trace_summarise(&r, &w), SIS_OK);
        for (double t = -0.1; t < 1.1; t += 0.01)
            assert_int_equal(sis__trace_summary_find(&w, t, r.question.below),
                             sis_decided(r.collection.score, t, r.question.below)
                                 ? sis_trace_find(&s.trace, t, r.question.below)
                                 : SIZE_MAX);
        for (size_t i = 0; i < w.n_order; i++)
            assert_int_equal(w.order[i], order[n - 1 - i]);
        assert_true(w.history[0] == 0.9 && w.history[w.n_history - 1] == scores[n - 1]);
        sis__trace_summary_release(&w);
    }
}

/* ---- Pages ----------------------------------------------------------------------------------- */

static char *page_of(const sis_record *records, size_t n, const sis_page_opt *opt) {
    sis_report *report;
    char *html;
    size_t length;
    assert_int_equal(sis_report_new(&report), SIS_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(report_take(report, &records[i]), SIS_OK);
    assert_int_equal(sis_report_page(report, opt, &html, &length), SIS_OK);
    assert_int_equal(strlen(html), length);
    sis_report_free(report);
    return html;
}

static void every_kind_has_its_card(void **state) {
    (void)state;
    static const char *const looks[] = {"text", "dna", "table", "image", "list"};
    sample s;
    sis_record kinds[5];
    kinds_make(&s, kinds);
    char *html = page_of(kinds, 5, NULL);
    for (int k = 0; k < 5; k++) {
        char wanted[40];
        snprintf(wanted, sizeof wanted, "data-look=\"%s\"", looks[k]);
        assert_int_equal(occurrences(html, wanted), 1);
    }
    assert_int_equal(occurrences(html, "<article"), 5);
    assert_int_equal(occurrences(html, "<img "), 3); /* the original and two subsets */
    assert_non_null(strstr(html, "<title>Decisions of m</title>"));
    assert_non_null(strstr(html,
                           "<mark class=\"s0 r2 h\" data-k=\"1\" title=\"subset 1, rank 2 of 2\">"
                           "caf\xC3\xA9</mark>"));
    assert_non_null(strstr(html, "{\"t\":["));
    free(html);
}

static void cards_alone_have_no_script(void **state) {
    (void)state;
    sample s;
    sis_record kinds[5];
    kinds_make(&s, kinds);
    char *html = page_of(kinds, 5, &(sis_page_opt){.cards = 1});
    assert_int_equal(occurrences(html, "<article"), 5);
    assert_null(strstr(html, "<script>"));
    assert_null(strstr(html, "<nav"));
    free(html);
}

static void data_stay_data(void **state) {
    (void)state;
    static const char *const attacks[] = {"<script>alert(1)</script>", "</script>", "</style>",
                                          "\"><img src=x onerror=alert(1)>", "<!--"};
    sample s;
    sis_record kinds[5];
    for (size_t a = 0; a < sizeof attacks / sizeof *attacks; a++) {
        kinds_make(&s, kinds);
        char *plain = page_of(kinds, 5, &(sis_page_opt){.title = "t"});
        for (int i = 0; i < VALUES; i++)
            s.names[i] = s.value_names[i] = attacks[a];
        for (int i = 0; i < FEATURES; i++)
            s.words[i] = attacks[a];
        for (int k = 0; k < 5; k++) {
            kinds[k].id = kinds[k].model = kinds[k].question.method = attacks[a];
            kinds[k].drawing.label = kinds[k].question.target_label = attacks[a];
        }
        char *html = page_of(kinds, 5, &(sis_page_opt){.title = attacks[a]});
        assert_int_equal(occurrences(html, "<script"), occurrences(plain, "<script"));
        assert_int_equal(occurrences(html, "</script"), occurrences(plain, "</script"));
        assert_int_equal(occurrences(html, "</style"), occurrences(plain, "</style"));
        assert_int_equal(occurrences(html, "<img"), occurrences(plain, "<img"));
        assert_int_equal(occurrences(html, "<!--"), 0);
        free(html);
        free(plain);
    }
}

static void other_statuses_say_why(void **state) {
    (void)state;
    sample s;
    sis_record kinds[5], r;
    kinds_make(&s, kinds);
    r = kinds[0];
    r.collection.n_subsets = 0;
    r.collection.status = SIS_STATUS_NOT_DECIDED;
    char *html = page_of(&r, 1, NULL);
    assert_non_null(strstr(html, "score does not meet this threshold, so there is no decision"));
    assert_non_null(strstr(html, "Ask with a threshold above "));
    assert_null(strstr(html, "id=\"walks\""));
    assert_null(strstr(html, "id=\"histories\""));
    free(html);
    r.collection.status = SIS_STATUS_ERROR;
    r.collection.message = (char *)"the <model> said no";
    html = page_of(&r, 1, NULL);
    assert_non_null(strstr(html, "the &lt;model&gt; said no"));
    free(html);
}

static void a_page_of_nothing_is_refused(void **state) {
    (void)state;
    sis_report *report;
    char *html;
    size_t n;
    assert_int_equal(sis_report_new(&report), SIS_OK);
    assert_int_equal(sis_report_page(report, NULL, &html, &n), SIS_E_ARGUMENT);
    assert_null(html);
    sis_report_free(report);
    sis_report_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_walks_answer_like_traces),
        cmocka_unit_test(every_kind_has_its_card),
        cmocka_unit_test(cards_alone_have_no_script),
        cmocka_unit_test(data_stay_data),
        cmocka_unit_test(other_statuses_say_why),
        cmocka_unit_test(a_page_of_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
