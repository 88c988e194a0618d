/* SPDX-License-Identifier: MIT
 *
 * Text in HTML: markup, invalid UTF-8 and numbers.
 */
#include "support.h"

#include <math.h>
#include <string.h>

#include "report/html.h"

typedef void (*writer)(sis__buf *b, const char *text);

static void assert_written(writer write, const char *text, const char *wanted) {
    sis__buf b;
    sis__buf_init(&b);
    write(&b, text);
    assert_int_equal(sis__buf_error(&b), 0);
    assert_string_equal(b.data ? b.data : "", wanted);
    sis__buf_release(&b);
}

static void text_is_never_markup(void **state) {
    (void)state;
    assert_written(sis__html_text, "<a href=\"x\" id='y'>&amp;",
                   "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;");
    assert_written(sis__html_text, "caf\xC3\xA9 \xF0\x9F\x98\x80", "caf\xC3\xA9 \xF0\x9F\x98\x80");
    assert_written(sis__html_text,
                   "a\xE2\x80\xAE"
                   "b\x01\x7F",
                   "a[U+202E]b[U+0001][U+007F]");
    assert_written(sis__plain_text, "a<b\xE2\x80\xAE", "a<b[U+202E]");
}

static void bytes_that_are_no_text_are_replaced(void **state) {
    (void)state;
    static const char *const bad[] = {"\x80",         "\xC3",
                                      "\xC0\xAF",     "\xE2\x80",
                                      "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                      "\xFF",         "\xF8\x88\x80\x80\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sis__buf b;
        sis__buf_init(&b);
        sis__html_text(&b, bad[i]);
        assert_non_null(strstr(b.data, "\xEF\xBF\xBD"));
        assert_null(strpbrk(b.data, "\xC0\xC3\xE2\xED\xF4\xF8\xFF"));
        sis__buf_release(&b);
    }
}

static void long_text_is_cut_between_characters(void **state) {
    (void)state;
    sis__buf b;
    sis__buf_init(&b);
    sis__html_clip(&b, "\xC3\xA9\xC3\xA9\xC3\xA9", 2);
    assert_string_equal(b.data, "\xC3\xA9\xC3\xA9\xE2\x80\xA6");
    sis__buf_clear(&b);
    sis__html_clip(&b, "ab", 2);
    assert_string_equal(b.data, "ab");
    sis__buf_release(&b);
}

static void numbers_are_for_people(void **state) {
    (void)state;
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0.70287, "0.7029"},
                 {1, "1"},
                 {0.99996, "&gt;0.9999"},
                 {-2.5, "\xE2\x88\x92"
                        "2.5"},
                 {19000, "19000"},
                 {NAN, "\xE2\x80\x93"},
                 {1e-7, "1e-07"}};
    sis__buf b;
    sis__buf_init(&b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis__buf_clear(&b);
        sis__html_number(&b, cases[i].v);
        assert_string_equal(b.data, cases[i].text);
    }
    sis__buf_release(&b);
}

/* Arguments of a format are text and numbers, never markup. */
static void arguments_of_a_format_are_escaped(void **state) {
    (void)state;
    sis__buf b = {0};
    sis__html(&b, "<b title=\"%s\">%.3s</b> %'zu of %zu, %d %ld, %g, %.2g, %.1f %%", "a\"<", "a<&b",
              (size_t)1234567, (size_t)1234567, -3, 5L, 0.99999, 0.128, 12.34);
    assert_string_equal(b.data, "<b title=\"a&quot;&lt;\">a&lt;&amp;\xE2\x80\xA6</b> 1,234,567 of "
                                "1234567, -3 5, &gt;0.9999, 0.13, 12.3 %");
    sis__buf_release(&b);
}

static void base64_is_base64(void **state) {
    (void)state;
    static const char *const wanted[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE="};
    for (size_t n = 0; n < 6; n++) {
        sis__buf b;
        sis__buf_init(&b);
        sis__html_base64(&b, (const unsigned char *)"foobar", n);
        assert_string_equal(b.data ? b.data : "", wanted[n]);
        sis__buf_release(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_never_markup),
        cmocka_unit_test(bytes_that_are_no_text_are_replaced),
        cmocka_unit_test(long_text_is_cut_between_characters),
        cmocka_unit_test(numbers_are_for_people),
        cmocka_unit_test(arguments_of_a_format_are_escaped),
        cmocka_unit_test(base64_is_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
