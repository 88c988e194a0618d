/* SPDX-License-Identifier: MIT
 *
 * The rules of records: invalid values of each field, and lines that are not records.
 */
#include "support_data.h"
#include "support_results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <sis/record.h>

#include "base/rng.h"

/* ---- Rules --------------------------------------------------------------------------------- */

/* The sample's line with field `name` ("[0].name": of the first subset) set to the JSON `value`, or
 * removed if that is NULL. */
static char *with_field(const char *name, const char *value) {
    sample s;
    sample_make(&s);
    char *line = record_line(&s.record, 1);
    json_t *root = json_loads(line, 0, NULL), *object = root;
    free(line);
    if (strncmp(name, "[0].", 4) == 0) {
        object = json_array_get(json_object_get(root, "subsets"), 0);
        name += 4;
    }
    if (value)
        assert_int_equal(
            json_object_set_new(object, name, json_loads(value, JSON_DECODE_ANY, NULL)), 0);
    else
        assert_int_equal(json_object_del(object, name), 0);
    line = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    assert_non_null(line);
    return line;
}

/* A field, its value (NULL: removed), and the message. */
static const struct {
    const char *field, *value, *part;
} RULES[] = {
    {"sis", NULL, "\"sis\": is missing"},
    {"sis", "3", "version 3 of the format; this program reads 1 and 2"},
    {"sis", "\"1\"", "\"sis\": expected a number, found text"},
    {"sis", "1.5", "\"sis\": expected a whole number"},
    {"id", NULL, "\"id\": is missing"},
    {"id", "7", "\"id\": expected text, found a number"},
    {"id", "null", "\"id\": expected text, found null"},
    {"model", NULL, "\"model\": is missing"},
    {"model", "[]", "\"model\": expected text, found a list"},
    {"method", "{}", "\"method\": expected text, found an object"},
    {"target", "-1", "\"target\": -1 is out of range"},
    {"target", "true", "\"target\": expected a number, found true"},
    {"n_outputs", "3", "\"n_outputs\": target 3 is not one of 3"},
    {"n_outputs", "0", "\"n_outputs\": 0 is out of range"},
    {"n_outputs", "\"9\"", "\"n_outputs\": expected a number, found text"},
    {"target_label", "1", "\"target_label\": expected text"},
    {"direction", "\">\"", "\"direction\": unknown value \">\""},
    {"direction", NULL, "\"direction\": is missing"},
    {"direction", "1", "\"direction\": expected text"},
    {"threshold", "\"0.7\"", "\"threshold\": expected a number, found text"},
    {"threshold", "null", "\"threshold\": expected a number, found null"},
    {"score", NULL, "\"score\": is missing"},
    {"score", "null", "\"score\": expected a number, found null"},
    {"masked_score", "[]", "\"masked_score\": expected a number"},
    {"status", "\"done\"", "\"status\": unknown value \"done\""},
    {"status", "0", "\"status\": expected text"},
    {"status", "\"not_decided\"", "\"subsets\": expected none with this status, found 2"},
    {"message", "\"x\"", "\"message\": the status is not \"error\""},
    {"message", "1", "\"message\": expected text"},
    {"n_features", "0", "\"n_features\": expected 1 to"},
    {"n_features", "-1", "\"n_features\": -1 is out of range"},
    {"n_features", "5", "\"subsets[0].order\": 5 is not one of the 5 features"},
    {"n_features", "99999999999", "\"n_features\": expected 1 to 2147483647"},
    {"n_features", "2147483647", "\"words\": expected 2147483647 entries"},
    {"subsets", NULL, "\"subsets\": is missing"},
    {"subsets", "{}", "\"subsets\": expected a list, found an object"},
    {"subsets", "[]", "\"subsets\": expected at least one with this status, found 0"},
    {"subsets", "[1]", "\"subsets\": expected objects, found a number"},
    {"[0].features", NULL, "\"subsets[0].features\": is missing"},
    {"[0].features", "[]", "\"subsets[0].features\": is empty"},
    {"[0].features", "[6]", "\"subsets[0].features\": 6 is not one of the 6 features"},
    {"[0].features", "[-1]", "\"subsets[0].features\": -1 is not one of"},
    {"[0].features", "[1,2,1]", "\"subsets[0].features\": feature 1 occurs twice"},
    {"[0].features", "[1.0]", "\"subsets[0].features\": expected a whole number"},
    {"[0].features", "[\"1\"]", "\"subsets[0].features\": expected a number, found text"},
    {"[0].features", "[4294967296]", "\"subsets[0].features\": 4294967296 is out of range"},
    {"[0].score", NULL, "\"subsets[0].score\": is missing"},
    {"[0].score", "null", "\"subsets[0].score\": expected a number"},
    {"[0].start", "null", "\"subsets[0].start\": expected a number"},
    {"[0].order", "[0,1,2,3,4,4]", "\"subsets[0].order\": feature 4 occurs twice"},
    {"[0].order", "[0]", "\"subsets[0].trace\": expected 1 entries as in \"order\", found 6"},
    {"[0].order", NULL, "\"subsets[0].trace\": expected 0 entries"},
    {"[0].trace", NULL, "\"subsets[0].trace\": is missing"},
    {"[0].trace", "[1,2,3,4,5,null]", "\"subsets[0].trace\": expected a number, found null"},
    {"rest_score", NULL, "\"rest_score\": is missing"},
    {"rest_score", "null", "\"rest_score\": expected a number"},
    {"verified", "1", "\"verified\": expected true or false"},
    {"complete", "null", "\"complete\": expected true or false"},
    {"evaluations", "-5", "\"evaluations\": -5 is out of range"},
    {"evaluations", "1.5", "\"evaluations\": expected a whole number"},
    {"seconds", "-1", "\"seconds\": is not a time"},
    {"seconds", "\"1\"", "\"seconds\": expected a number"},
    {"kind", "1", "\"kind\": expected text"},
    {"shape", "[2,3]", "\"shape\": does not fit the 8 values"},
    {"shape", "[0,8]", "\"shape\": 0 is out of range"},
    {"shape", "[9223372036854775807,9223372036854775807]", "\"shape\": does not fit"},
    {"shape", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,8]",
     "\"shape\": does not fit"},
    {"values", "[1,2]", "\"mask\": expected 2 entries as in \"values\", found 8"},
    {"values", NULL, "\"mask\": expected 0 entries"},
    {"values", "[1,2,3,4,5,6,7,true]", "\"values\": expected a number, found true"},
    {"mask", "[1]", "\"mask\": expected 8 entries as in \"values\", found 1"},
    {"mask", "\"zero\"", "\"mask\": expected a list, found text"},
    {"names", "[\"a\"]", "\"names\": expected 6 entries, one for each feature, found 1"},
    {"names", "[1]", "\"names\": expected text"},
    {"value_names", "[\"a\"]", "\"value_names\": expected 8 entries as in \"values\", found 1"},
    {"value_names", "[1,1,1,1,1,1,1,1]", "\"value_names\": expected text"},
    {"value_names", "\"a\"", "\"value_names\": expected a list, found text"},
    {"feature_map", "[0,1,2,3,4,5,6,0]", "\"feature_map\": 6 is not one of the 6 features"},
    {"feature_map", "[0,1,2,3,4,5,-2,0]", "\"feature_map\": -2 is not one of"},
    {"feature_map", "[0]", "\"feature_map\": expected 8 entries as in \"values\", found 1"},
    {"feature_map", NULL, "\"values\": expected 6 entries, one for each feature (no feature_map)"},
    {"label", "3", "\"label\": expected text"},
    {"words", "[\"a\",\"b\"]", "\"words\": expected 6 entries, one for each feature, found 2"},
    {"words", "[]", "\"words\": expected 6 entries"},
    {"words", "[null]", "\"words\": expected text"},
    {"spans", "[0,1]", "\"spans\": needs the field"},
    {"text", "7", "\"text\": expected text"},
    {"unit", "7", "\"unit\": expected text"},
    {"sequence", "\"ACG\"", "\"sequence\": expected 6 entries"},
    {"sequence", "[]", "\"sequence\": expected text"},
    {"human", "[6]", "\"human\": 6 is not one of the 6 features"},
    {"human", "[1,1]", "\"human\": feature 1 occurs twice"},
    {"human", "1", "\"human\": expected a list"},
};

static void every_field_is_held_to_its_type_and_rule(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++) {
        char *line = with_field(RULES[i].field, RULES[i].value);
        sis_record r;
        int code = sis_record_parse(line, strlen(line), &r);
        if (code != SIS_E_FORMAT)
            fail_msg("%s = %s gives %d", RULES[i].field, RULES[i].value, code);
        assert_null(r.id);
        assert_message_has(RULES[i].part);
        free(line);
    }
    char *fine = with_field("human", "[]");
    sis_record r;
    assert_int_equal(sis_record_parse(fine, strlen(fine), &r), 0);
    sis_record_release(&r);
    free(fine);
}

/* The caller damages the sample, which must then be refused; afterwards restore it. */
static void not_written(sample *s, const char *part) {
    char *line;
    size_t n;
    assert_int_equal(sis_record_format(&s->record, 1, &line, &n), SIS_E_ARGUMENT);
    assert_null(line);
    assert_message_has(part);
    sample_make(s);
}

static void the_same_rules_hold_for_what_is_written(void **state) {
    (void)state;
    sample s;
    sample_make(&s);
    s.record.id = NULL;
    not_written(&s, "\"id\"");
    s.record.question.n_outputs = 2;
    not_written(&s, "\"n_outputs\"");
    s.record.question.threshold = NAN;
    not_written(&s, "\"threshold\"");
    s.record.collection.score = NAN;
    not_written(&s, "\"score\"");
    s.subsets[1].score = NAN;
    not_written(&s, "\"subsets[1].score\"");
    s.scores[2] = NAN;
    not_written(&s, "\"subsets[0].trace\": score 2");
    s.features[1][0] = FEATURES;
    not_written(&s, "\"subsets[1].features\": 6");
    s.values[3] = INFINITY;
    not_written(&s, "\"values\": number 3");
    s.mask[3] = -INFINITY;
    not_written(&s, "\"mask\": number 3");
    s.record.collection.rest_score = NAN;
    not_written(&s, "\"rest_score\"");
    s.record.collection.seconds = NAN;
    not_written(&s, "\"seconds\"");
    s.record.collection.status = (sis_status)9;
    not_written(&s, "unknown status 9");
    s.record.drawing.values = NULL;
    not_written(&s, "\"mask\": needs the field");
    s.record.question.target = SIZE_MAX;
    not_written(&s, "\"target\": is too large");
    s.record.drawing.n_values = 0;
    not_written(&s, "\"values\": is empty");
}

/* Scores may be infinite: the largest double stands in. */
/* Six features in a text of seven characters, one of them of two bytes. */
static int line_with_spans(const int *spans, size_t n, sis_record *out) {
    sample s;
    char *line;
    size_t bytes;
    sample_make(&s);
    s.record.drawing.text = "a b\xC3\xA9 c d";
    s.record.drawing.unit = "token";
    s.record.drawing.spans = spans;
    s.record.drawing.n_spans = n;
    int code = sis_record_format(&s.record, 0, &line, &bytes);
    if (code != SIS_OK)
        return code;
    code = sis_record_parse(line, bytes, out);
    free(line);
    return code;
}

static void features_have_places_in_the_text(void **state) {
    static const int good[] = {0, 1, 2, 4, 4, 4, 5, 6, 7, 8, 8, 8};
    static const struct {
        int spans[12];
        size_t n;
        const char *part;
    } wrong[] = {{{0, 1}, 2, "\"spans\": expected 12 entries"},
                 {{0, 1, 2, 4, 4, 4, 5, 6, 7, 9, 9, 9}, 12, "9 is outside of the text"},
                 {{-1, 1, 2, 4, 4, 4, 5, 6, 7, 8, 8, 8}, 12, "-1 is outside of the text"},
                 {{0, 2, 1, 4, 4, 4, 5, 6, 7, 8, 8, 8}, 12, "1 is outside of the text, or out"}};
    sis_record r;
    (void)state;
    assert_int_equal(line_with_spans(good, 12, &r), 0);
    assert_string_equal(r.drawing.text, "a b\xC3\xA9 c d");
    assert_string_equal(sis_record_unit(&r), "token");
    assert_int_equal(r.drawing.n_spans, 12);
    assert_memory_equal(r.drawing.spans, good, sizeof good);
    sis_record_release(&r);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(line_with_spans(wrong[k].spans, wrong[k].n, &r), SIS_E_ARGUMENT);
        assert_message_has(wrong[k].part);
    }
}

static void infinite_scores_are_written(void **state) {
    (void)state;
    sample s;
    sample_make(&s);
    s.record.collection.score = INFINITY;
    char *line = record_line(&s.record, 0);
    assert_non_null(strstr(line, "\"score\":1.7976931348623157e+308,"));
    assert_stable(line);
    free(line);
}

/* ---- Hostile lines ------------------------------------------------------------------------- */

static void refuse_line(const char *line, size_t n, const char *part) {
    sis_record r;
    assert_int_equal(sis_record_parse(line, n, &r), SIS_E_FORMAT);
    assert_message_has(part);
    assert_null(r.id);
}

static void lines_that_are_no_record_are_refused(void **state) {
    (void)state;
    static const char *const lines[] = {"",
                                        " ",
                                        "{}",
                                        "[]",
                                        "1",
                                        "null",
                                        "\"x\"",
                                        "{",
                                        "x",
                                        "{\"sis\":2,\"sis\":2}",
                                        "{\"sis\":2}{\"sis\":2}",
                                        "{\"sis\":1e999}",
                                        "{\"sis\":99999999999999999999999}",
                                        "{\"id\":\"\xFF\"}",
                                        "{\"id\":\"\\ud800\"}",
                                        "{\"id\":\"\\u0000\"}",
                                        "{\"a\":NaN}",
                                        "{\"a\":.5}"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        refuse_line(lines[i], strlen(lines[i]), i == 2 ? "is missing" : "not a record");
    refuse_line("{\"sis\":2,\"id\":\"a\0b\"}", 20, "not a record");
    refuse_line("{\"sis\":2\0}", 10, "not a record");
    refuse_line("\x1b[31m", 5, "not a record");
}

static void deep_nesting_is_refused(void **state) {
    (void)state;
    size_t n = 1 << 20;
    char *line = (char *)malloc(n + 8);
    assert_non_null(line);
    memcpy(line, "{\"sis\":", 7);
    memset(line + 7, '[', n);
    refuse_line(line, n + 7, "depth");
    free(line);
}

static void spoiled_lines_do_no_harm(void **state) {
    (void)state;
    sample s;
    sis__rng r;
    sis__rng_init(&r, 6);
    sample_make(&s);
    char *line = record_line(&s.record, 1), *copy;
    size_t n = strlen(line);
    for (size_t cut = 0; cut < n - 1; cut++) /* a line without its newline is still complete */
        refuse_line(line, cut, "not a record");
    for (int round = 0; round < 20000; round++) {
        sis_record record;
        copy = (char *)malloc(n);
        assert_non_null(copy);
        memcpy(copy, line, n);
        for (size_t k = 1 + sis__rng_below(&r, 3); k > 0; k--)
            copy[sis__rng_below(&r, n)] =
                round % 2 ? (char)sis__rng_next(&r) : line[sis__rng_below(&r, n)];
        int code = sis_record_parse(copy, n, &record);
        assert_true(code == SIS_OK || code == SIS_E_FORMAT);
        if (code == SIS_OK) {
            char *again = record_line(&record, 1);
            assert_stable(again);
            free(again);
        } else {
            assert_message_has("");
        }
        sis_record_release(&record);
        free(copy);
    }
    free(line);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_held_to_its_type_and_rule),
        cmocka_unit_test(the_same_rules_hold_for_what_is_written),
        cmocka_unit_test(features_have_places_in_the_text),
        cmocka_unit_test(infinite_scores_are_written),
        cmocka_unit_test(lines_that_are_no_record_are_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(spoiled_lines_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
