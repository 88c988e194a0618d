/* SPDX-License-Identifier: MIT
 *
 * Letters: templates, and escaping of everything in a record.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include <sis/report.h>

static const char reasons[] =
    "{\"sis\":2,\"id\":\"<script>7\",\"model\":\"m&m\",\"method\":\"sis\","
    "\"guarantee\":{\"kind\":\"all\",\"proved\":true,\"minimal\":true,\"domain\":\"any\"},"
    "\"target\":0,\"target_label\":\"<b>yes\",\"direction\":\">=\",\"threshold\":0.5,\"score\":0."
    "75,"
    "\"masked_score\":0.1,\"status\":\"explained\",\"n_features\":2,"
    "\"subsets\":[{\"features\":[1,0],\"score\":0.6}],\"rest_score\":0.2,\"verified\":true,"
    "\"kind\":\"table\",\"values\":[1234567.5,0,1],\"names\":[\"in<come\",\"sex\"],"
    "\"value_names\":[\"in<come\",\"sex=a\",\"sex=<i>\"],\"feature_map\":[0,1,1],\"label\":"
    "\"good\"}";
static const char changes[] =
    "{\"sis\":2,\"id\":\"<script>7\",\"model\":\"m&m\",\"method\":\"contrast\","
    "\"guarantee\":{\"kind\":\"all\",\"proved\":true,\"minimal\":true,\"domain\":\"any\","
    "\"nearest\":true},"
    "\"target\":0,\"direction\":\">=\",\"threshold\":0.5,\"score\":0.75,"
    "\"masked_score\":0.1,\"status\":\"explained\",\"n_features\":2,"
    "\"subsets\":[{\"features\":[0],\"score\":0.4}],\"rest_score\":0.75,\"verified\":true,"
    "\"kind\":\"table\",\"values\":[1234567.5,0,1],\"examples\":[1234568.5,0,1],\"distances\":[1],"
    "\"names\":[\"in<come\",\"sex\"],"
    "\"value_names\":[\"in<come\",\"sex=a\",\"sex=<i>\"],\"feature_map\":[0,1,1]}";

static int write_letters(const char *const *lines, size_t n, const char *text, char **html) {
    sis_report *report = NULL;
    sis_letter_opt opt = {.template_text = text, .n_template = text ? strlen(text) : 0};
    size_t bytes;
    *html = NULL;
    int error = sis_report_new(&report);
    for (size_t i = 0; !error && i < n; i++) {
        sis_record r = {0};
        error = sis_record_parse(lines[i], strlen(lines[i]), &r);
        if (!error)
            error = sis_report_add(report, "r.jsonl", &r);
    }
    if (!error)
        error = sis_report_letters(report, &opt, html, &bytes);
    sis_report_free(report);
    return error;
}

static const char *const both[] = {reasons, changes};

static void fields_are_filled_in_and_escaped(void **state) {
    static const struct {
        const char *text, *html;
    } cases[] = {
        {"{{title}} {{#letters}}{{id}}|{{model}}|{{label}}|{{score}}{{/letters}}!",
         "m&amp;m &lt;script&gt;7|m&amp;m|good|0.75!"},
        {"{{#letters}}{{column:sex}} {{column:in<come}}{{/letters}}", "&lt;i&gt; 1.23457e+06"},
        {"a {{ {{x b } }}", NULL},
        {"{{#letters}}{{#changes}}yes{{/changes}}{{#reasons}}{{#proof}}, proved{{/proof}}"
         "{{/reasons}}{{/letters}}",
         "yes, proved"},
        {"plain { text }", "plain { text }"},
        {"", ""},
    };
    char *html;
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int error = write_letters(both, 2, cases[k].text, &html);
        assert_int_equal(error, cases[k].html ? 0 : SIS_E_OPTION);
        if (cases[k].html)
            assert_string_equal(html, cases[k].html);
        free(html);
    }
}

static void one_letter_has_reasons_and_changes(void **state) {
    static const char *const parts[] = {
        "for <bdi>&lt;b&gt;yes</bdi>", "at least 0.5, and it is.",  "<bdi>in&lt;come</bdi>",
        "<td>&lt;i&gt;</td>",          "Proved: this is enough",    "now 1234567.5",
        "instead 1234568.5",           "Proved: no smaller change", "Reference &lt;script&gt;7"};
    char *html;
    (void)state;
    assert_int_equal(write_letters(both, 2, NULL, &html), 0);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        assert_non_null(strstr(html, parts[k]));
    assert_null(strstr(html, "<script"));
    assert_null(strstr(html, "<i>"));
    assert_null(strstr(strstr(html, "<article>") + 1, "<article>"));
    free(html);
    assert_int_equal(write_letters(both, 1, NULL, &html), 0); /* no changes are mentioned */
    assert_null(strstr(html, "What would change it"));
    free(html);
}

static void wrong_templates_are_refused(void **state) {
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"{{score}}", "{{score}} is outside of {{#letters}}"},
        {"{{#letters}}{{colour}}{{/letters}}", "{{colour}} is not known; there are title"},
        {"{{#letters}}", "{{#letters}} has no {{/letters}}"},
        {"{{/letters}}", "{{/letters}} closes nothing"},
        {"{{#letters}}{{#id}}{{/letters}}{{/id}}", "{{#id}} has no {{/id}}"},
        {"{{#letters}}{{column:age}}{{/letters}}", "has no column \"age\""},
        {"{{#letters}}{{#letters}}{{/letters}}{{/letters}}", "{{letters}} is not known"},
    };
    static const char *const twice[] = {reasons, reasons};
    char *html;
    (void)state;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(write_letters(both, 2, wrong[k].text, &html), SIS_E_OPTION);
        assert_null(html);
        assert_message_has(wrong[k].message);
    }
    assert_int_equal(write_letters(twice, 2, NULL, &html), SIS_E_ARGUMENT);
    assert_message_has("two records of");
}

static int write_once(void *ctx) {
    char *html;
    (void)ctx;
    int error = write_letters(both, 2, NULL, &html);
    free(html);
    return error;
}

static void memory_may_run_out(void **state) {
    (void)state;
    assert_true(with_failing_allocations(write_once, NULL) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_filled_in_and_escaped),
        cmocka_unit_test(one_letter_has_reasons_and_changes),
        cmocka_unit_test(wrong_templates_are_refused),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
