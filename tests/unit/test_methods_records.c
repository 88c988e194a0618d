/* SPDX-License-Identifier: MIT
 *
 * Records of other methods: constraint, attributions and completeness are written and read back;
 * their claims; and invalid records.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support_results.h"

static const double attributions[FEATURES] = {0.5, -0.25, 0, 1e-9, 0.125, 3};
static const double completeness[2] = {0.84, 0.85};

static void ig_sample(sample *s) {
    sample_make(s);
    s->record.question.method = "ig";
    s->record.question.constraint = "length";
    s->record.attributions = attributions;
    s->record.n_attributions = FEATURES;
    s->record.completeness = completeness;
    s->record.collection.subsets[1].score = 0.5;
}

static void they_come_back_to_the_byte(void **state) {
    (void)state;
    sample s;
    ig_sample(&s);
    char *line = record_line(&s.record, 1);
    assert_non_null(strstr(line, "\"method\":\"ig\",\"constraint\":\"length\",\"target\""));
    assert_non_null(strstr(line, "\"score\":0.75,\"sufficient\":true,\"start\""));
    assert_non_null(strstr(line, "\"score\":0.5,\"sufficient\":false}"));
    assert_non_null(strstr(line, "\"attributions\":[0.5,-0.25,0,1e-09,0.125,3],\"completeness\":"
                                 "{\"sum\":0.84,\"difference\":0.85,\"error\":0.0117"));
    assert_stable(line);
    sis_record parsed;
    assert_int_equal(sis_record_parse(line, strlen(line), &parsed), SIS_OK);
    assert_string_equal(parsed.question.constraint, "length");
    assert_int_equal(parsed.n_attributions, FEATURES);
    assert_memory_equal(parsed.attributions, attributions, sizeof attributions);
    assert_memory_equal(parsed.completeness, completeness, sizeof completeness);
    sis_record_release(&parsed);
    free(line);
}

static void each_method_claims_its_own(void **state) {
    (void)state;
    static const struct {
        const char *method, *constraint;
        sis_claim claim;
    } cases[] = {{"sis", NULL, SIS_CLAIM_MINIMAL},
                 {"gradient", "sufficient", SIS_CLAIM_MINIMAL},
                 {"lime", "sufficient", SIS_CLAIM_SUFFICIENT},
                 {"lime", "length", SIS_CLAIM_NOTHING},
                 {"ig", "top", SIS_CLAIM_NOTHING}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sample s;
        sis_record parsed;
        sample_make(&s);
        s.record.question.method = cases[i].method;
        s.record.question.constraint = cases[i].constraint;
        char *line = record_line(&s.record, 0);
        assert_int_equal(!strstr(line, "\"sufficient\""), !cases[i].constraint);
        assert_int_equal(sis_record_parse(line, strlen(line), &parsed), SIS_OK);
        assert_int_equal(parsed.collection.claim, cases[i].claim);
        sis_record_release(&parsed);
        free(line);
    }
}

/* The record with `from` replaced is refused; the message contains `part`. */
static void refuse(const char *from, const char *to, const char *part) {
    sample s;
    char line[4096];
    sis_record parsed;
    ig_sample(&s);
    char *whole = record_line(&s.record, 0), *at = strstr(whole, from);
    assert_non_null(at);
    snprintf(line, sizeof line, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
    assert_int_equal(sis_record_parse(line, strlen(line), &parsed), SIS_E_FORMAT);
    assert_message_has(part);
    free(whole);
}

static void what_is_wrong_is_named(void **state) {
    (void)state;
    refuse("\"constraint\":\"length\"", "\"constraint\":3", "\"constraint\": expected text");
    refuse("[0.5,-0.25,", "[0.5,", "\"attributions\": expected 6 entries");
    refuse("[0.5,-0.25,", "[0.5,\"x\",", "\"attributions\": expected a number");
    refuse("{\"sum\":0.84", "{\"total\":0.84", "\"completeness.sum\": is missing");
    refuse("\"difference\":0.85", "\"difference\":null", "\"completeness.difference\": expected");
    refuse("\"completeness\":{", "\"completeness\":7,\"else\":{",
           "\"completeness\": expected an object");
    sample s;
    char *line;
    size_t n;
    const double wrong[FEATURES] = {0, 0, NAN, 0, 0, 0}, endless[2] = {INFINITY, 1};
    ig_sample(&s);
    s.record.attributions = wrong;
    assert_int_equal(sis_record_format(&s.record, 0, &line, &n), SIS_E_ARGUMENT);
    ig_sample(&s);
    s.record.completeness = endless;
    assert_int_equal(sis_record_format(&s.record, 0, &line, &n), SIS_E_ARGUMENT);
}

static int there_and_back(void *ctx) {
    const sample *s = (const sample *)ctx;
    char *line;
    size_t n;
    sis_record parsed;
    int error = sis_record_format(&s->record, 1, &line, &n);
    if (error == SIS_OK)
        error = sis_record_parse(line, n, &parsed);
    if (error == SIS_OK)
        sis_record_release(&parsed);
    free(line);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sample s;
    ig_sample(&s);
    with_failing_allocations(there_and_back, &s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_come_back_to_the_byte),
        cmocka_unit_test(each_method_claims_its_own),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
