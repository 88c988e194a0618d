/* SPDX-License-Identifier: MIT
 *
 * Vocabularies: their words, encoded texts, and JSON.
 */
#include "support_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/data.h>
#include <sis/text.h>

static const char texts[] = "The cat saw the dog\nA dog saw a cat, the END\nzebra Cat\n";

static sis_vocabulary *build(size_t max, const size_t *rows, size_t n) {
    sis_data *data;
    sis_vocabulary *v;
    assert_int_equal(sis_data_read(folder_text("v.txt", texts), NULL, &data), 0);
    assert_int_equal(sis_vocabulary_build(data, rows, n, max, &v), 0);
    sis_data_free(data);
    return v;
}

static void has_words(const sis_vocabulary *v, const char *expected) {
    char joined[512] = "";
    for (size_t i = 0; i < sis_vocabulary_size(v); i++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", i ? "|" : "",
                 sis_vocabulary_word(v, i));
    assert_string_equal(joined, expected);
    assert_null(sis_vocabulary_word(v, sis_vocabulary_size(v)));
}

static void frequent_words_come_first(void **state) {
    (void)state;
    const size_t second = 1;
    sis_vocabulary *v = build(100, NULL, 0);
    has_words(v, "<padding>|<unknown>|the|cat|saw|dog|a|end|zebra");
    assert_int_equal(sis_vocabulary_find(v, "the"), 2);
    assert_int_equal(sis_vocabulary_find(v, "zebra"), 8);
    assert_int_equal(sis_vocabulary_find(v, "horse"), 1);
    assert_int_equal(sis_vocabulary_find(v, "<padding>"), 1);
    assert_int_equal(sis_vocabulary_find(v, "<unknown>"), 1);
    assert_int_equal(sis_vocabulary_find(v, "no such word"), 1);
    sis_vocabulary_free(v);
    v = build(3, NULL, 0);
    has_words(v, "<padding>|<unknown>|the|cat|saw");
    sis_vocabulary_free(v);
    v = build(3, &second, 1);
    has_words(v, "<padding>|<unknown>|a|dog|saw");
    sis_vocabulary_free(v);
}

static void many_words_are_found_again(void **state) {
    (void)state;
    enum { N = 5000 };
    char *text = (char *)malloc(N * 12), *at = text;
    sis_data *data;
    sis_vocabulary *v;
    for (int i = 0; i < N; i++)
        at += sprintf(at, "w%d ", i);
    assert_int_equal(sis_data_read(folder_text("many.txt", text), NULL, &data), 0);
    assert_int_equal(sis_vocabulary_build(data, NULL, 0, N, &v), 0);
    for (int i = 0; i < N; i++) {
        char word[16];
        snprintf(word, sizeof word, "w%d", i);
        assert_int_equal(sis_vocabulary_find(v, word), i + 2);
    }
    sis_vocabulary_free(v);
    sis_data_free(data);
    free(text);
}

static void encoded(const sis_vocabulary *v, const char *text, size_t length, size_t n,
                    const char *ids, const char *places) {
    sis_words w = {0};
    double id[16];
    size_t at[16];
    char a[256] = "", b[256] = "";
    assert_int_equal(sis_words_split(text, &w), 0);
    assert_int_equal(sis_vocabulary_encode(v, &w, length, id, at), n);
    for (size_t k = 0; k < length; k++) {
        snprintf(a + strlen(a), sizeof a - strlen(a), "%g ", id[k]);
        snprintf(b + strlen(b), sizeof b - strlen(b), "%ld ", at[k] == SIZE_MAX ? -1 : (long)at[k]);
    }
    assert_string_equal(a, ids);
    assert_string_equal(b, places);
    assert_int_equal(sis_vocabulary_encode(v, &w, length, id, NULL), n);
    sis_words_release(&w);
}

static void texts_are_padded_in_front(void **state) {
    (void)state;
    sis_vocabulary *v = build(3, NULL, 0), *without;
    encoded(v, "The horse saw", 5, 3, "0 0 2 1 4 ", "-1 -1 0 1 2 ");
    encoded(v, "cat The horse saw", 3, 3, "2 1 4 ", "1 2 3 ");
    encoded(v, "", 2, 0, "0 0 ", "-1 -1 ");
    assert_int_equal(sis_vocabulary_parse("[\"\",\"the\",\"cat\",\"saw\"]", &without), 0);
    assert_int_equal(sis_vocabulary_find(without, "no such word"), 0);
    encoded(without, "The horse saw a cat", 4, 3, "0 1 3 2 ", "-1 0 2 4 ");
    encoded(without, "The horse saw a cat", 2, 2, "3 2 ", "2 4 ");
    sis_vocabulary_free(without);
    sis_vocabulary_free(v);
}

static void json_goes_round(void **state) {
    (void)state;
    sis_vocabulary *v = build(100, NULL, 0), *again;
    char *json, *twice;
    assert_int_equal(sis_vocabulary_format(v, &json), 0);
    assert_string_equal(json, "[\"<padding>\",\"<unknown>\",\"the\",\"cat\",\"saw\",\"dog\",\"a\","
                              "\"end\",\"zebra\"]");
    assert_int_equal(sis_vocabulary_parse(json, &again), 0);
    assert_int_equal(sis_vocabulary_format(again, &twice), 0);
    assert_string_equal(json, twice);
    assert_int_equal(sis_vocabulary_find(again, "no such word"), 1);
    sis_vocabulary_free(again);
    sis_vocabulary_free(v);
    free(json);
    free(twice);
    assert_int_equal(sis_vocabulary_parse("[\"x\",\"a\",\"[UNK]\",\"a\",\"\\\"\"]", &v), 0);
    assert_int_equal(sis_vocabulary_find(v, "no such word"), 2);
    assert_int_equal(sis_vocabulary_find(v, "a"), 1);
    assert_int_equal(sis_vocabulary_find(v, "\""), 4);
    sis_vocabulary_free(v);
    static const char *const bad[] = {"", "{}", "[]", "[\"a\"]", "[\"a\",1]", "[\"a\",", "7"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(sis_vocabulary_parse(bad[i], &v), SIS_E_FORMAT);
        assert_message_has("vocabulary: ");
        assert_null(v);
    }
}

static void texts_without_words_have_none(void **state) {
    (void)state;
    sis_data *data;
    sis_vocabulary *v;
    assert_int_equal(sis_data_read(folder_text("v.txt", "...\n"), NULL, &data), 0);
    assert_int_equal(sis_vocabulary_build(data, NULL, 0, 10, &v), SIS_E_ARGUMENT);
    assert_null(v);
    sis_data_free(data);
    assert_int_equal(sis_data_read(folder_text("v.csv", "a\n1\n"), NULL, &data), 0);
    assert_int_equal(sis_vocabulary_build(data, NULL, 0, 10, &v), SIS_E_ARGUMENT);
    assert_message_has("contains no texts");
    sis_data_free(data);
}

static int build_and_format(void *ctx) {
    sis_vocabulary *v, *again = NULL;
    char *json = NULL;
    int code = sis_vocabulary_build((const sis_data *)ctx, NULL, 0, 10, &v);
    if (code == SIS_OK)
        code = sis_vocabulary_format(v, &json);
    if (code == SIS_OK)
        code = sis_vocabulary_parse(json, &again);
    sis_vocabulary_free(v);
    sis_vocabulary_free(again);
    free(json);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sis_data *data;
    assert_int_equal(sis_data_read(folder_text("v.txt", texts), NULL, &data), 0);
    assert_true(with_failing_allocations(build_and_format, data) > 10);
    sis_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequent_words_come_first),
        cmocka_unit_test(many_words_are_found_again),
        cmocka_unit_test(texts_are_padded_in_front),
        cmocka_unit_test(json_goes_round),
        cmocka_unit_test(texts_without_words_have_none),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
