/* SPDX-License-Identifier: MIT
 *
 * The base: errors, memory, buffers, random numbers, parallel for.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/half.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/parallel.h"
#include "base/replace.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "base/utf8.h"

static void errors_have_names_texts_and_a_message(void **state) {
    (void)state;
    assert_string_equal(sis_error_name(SIS_E_FORMAT), "FORMAT");
    assert_string_equal(sis_error_name(0), "OK");
    assert_string_equal(sis_error_name(77), "UNKNOWN");
    assert_string_equal(sis_error_text(SIS_E_NAN), "the model returned NaN");
    assert_string_equal(sis_error_text(0), "success");
    assert_string_equal(sis_error_text(77), "unknown error");
    assert_int_equal(sis__fail(SIS_E_IO, "cannot read %s", "x"), SIS_E_IO);
    assert_int_equal(sis__fail_in(SIS_E_IO, "file %d", 3), SIS_E_IO);
    assert_string_equal(sis_error_detail(), "file 3: cannot read x");
}

static void libraries_are_loaded_when_asked_for(void **state) {
    (void)state;
    double (*root)(double) = NULL;
    assert_null(sis__library_open((const char *const[]){"libsis-none.so.9", NULL}));
    assert_null(sis__library_open((const char *const[]){NULL}));
    void *math = sis__library_open((const char *const[]){"libsis-none.so.9", "libm.so.6", NULL});
    assert_non_null(math);
    assert_false(sis__library_take(math, "sis_none", &root));
    assert_null(root);
    assert_true(sis__library_take(math, "sqrt", &root));
    assert_true(root(9) == 3);
}

static void allocations_that_would_overflow_are_refused(void **state) {
    (void)state;
    assert_null(sis__alloc(SIZE_MAX / 2, 8));
    assert_null(sis__alloc_raw(SIZE_MAX, SIZE_MAX));
    assert_null(sis__realloc(NULL, SIZE_MAX / 4, 16));
}

static void arrays_of_any_type_grow(void **state) {
    (void)state;
    double *numbers = NULL;
    char **names = NULL;
    size_t room = 0, places = 0;
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(sis__reserve(&numbers, &room, i + 1, sizeof *numbers), SIS_OK);
        assert_int_equal(sis__reserve(&names, &places, i + 1, sizeof *names), SIS_OK);
        numbers[i] = (double)i;
        names[i] = NULL;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_true(numbers[i] == (double)i && !names[i]);
    double *before = numbers;
    assert_int_equal(sis__reserve(&numbers, &room, SIZE_MAX / 2, sizeof *numbers), SIS_E_NOMEM);
    assert_ptr_equal(numbers, before);
    free(numbers);
    free(names);
}

/* The shortest of 15 to 17 digits that reads back as the same number, by printf. */
static void assert_written(sis__buf *b, double v) {
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    sis__buf_clear(b);
    sis__buf_double(b, v);
    assert_string_equal(b->data, text);
}

static void doubles_are_written_as_printf_does(void **state) {
    (void)state;
    sis__rng r;
    sis__buf b;
    sis__rng_init(&r, 7);
    sis__buf_init(&b);
    for (int i = 0; i < 40000; i++) {
        double u = sis__rng_uniform(&r) - 0.5, ten = pow(10, (double)sis__rng_below(&r, 30) - 14);
        double forms[] = {u,
                          u * ten,
                          floor(u * 1e6) / 1e4,
                          (double)(float)(u * ten),
                          ten,
                          nextafter(ten, 0),
                          nextafter(ten, 1e300),
                          u * u * u * 1e-3,
                          -u + 0.5 * ten,
                          ldexp(1, -(int)sis__rng_below(&r, 60) - 1)};
        for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
            if (forms[k] != floor(forms[k]))
                assert_written(&b, forms[k]);
        assert_written(&b, floor(u * 2e15));
        assert_written(&b, floor(u * 2000));
    }
    sis__buf_release(&b);
}

static void doubles_read_back_as_themselves(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 1);
    sis__buf b;
    sis__buf_init(&b);
    for (int i = 0; i < 20000; i++) {
        union {
            uint64_t u;
            double d;
        } v = {.u = sis__rng_next(&r)};
        if (!isfinite(v.d))
            continue;
        sis__buf_clear(&b);
        sis__buf_double(&b, v.d);
        assert_true(strtod(b.data, NULL) == v.d);
    }
    const struct {
        double v;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {-0.0, "0"},
                 {3, "3"},
                 {0.7f, "0.699999988079071"},
                 {1e300, "1e+300"},
                 {NAN, "null"},
                 {INFINITY, "1.7976931348623157e+308"},
                 {123456789012.0, "123456789012"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis__buf_clear(&b);
        sis__buf_double(&b, cases[i].v);
        assert_string_equal(b.data, cases[i].text);
    }
    sis__buf_release(&b);
}

static void json_strings_are_escaped_and_valid_utf8(void **state) {
    (void)state;
    sis__buf b;
    sis__buf_init(&b);
    sis__buf_json(&b, "a\"\\\n\t\b\f\r\x01 caf\xC3\xA9 \xFF \xED\xA0\x80");
    assert_string_equal(b.data, "\"a\\\"\\\\\\n\\t\\b\\f\\r\\u0001 caf\xC3\xA9 \xEF\xBF\xBD "
                                "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    sis__buf_release(&b);
}

/* Every valid UTF-8 sequence of up to four bytes decodes to its character; the first byte of any
 * other sequence decodes to U+FFFD. */
static void every_character_reads_back(void **state) {
    (void)state;
    for (uint32_t c = 1; c <= 0x10FFFF; c++) {
        char text[5] = {0};
        size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        static const unsigned first[] = {0, 0, 0xC0, 0xE0, 0xF0};
        for (size_t k = n; k-- > 1;)
            text[k] = (char)(0x80 | (c >> (6 * (n - 1 - k)) & 0x3F));
        text[0] = (char)(first[n] | c >> (6 * (n - 1)));
        uint32_t found;
        int pair = c >= 0xD800 && c < 0xE000;
        assert_int_equal(sis__utf8_step(text, &found), pair ? 1 : n);
        assert_int_equal(found, pair ? SIS__UTF8_BAD : c);
        assert_int_equal(sis__utf8_next(text, n, &found), pair ? 1 : n);
        if (n > 1) /* cut off */
            assert_true(sis__utf8_next(text, n - 1, &found) == 1 && found == SIS__UTF8_BAD);
    }
}

static void what_is_no_utf8_is_found_and_mended(void **state) {
    (void)state;
    static const char *const bad[] = {
        "\x80", "\xC0\x80",         "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF5", "\xF4\x90\x80\x80", "\xC3",     "\xE2\x82",     "\xFF"};
    uint32_t c;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(sis__utf8_step(bad[i], &c) == 1 && c == SIS__UTF8_BAD);
        assert_int_equal(sis__utf8_check(bad[i], strlen(bad[i])), 0);
    }
    assert_int_equal(sis__utf8_check("caf\xC3\xA9\xEF\xBF\xBD", 8), 8);
    assert_int_equal(sis__utf8_check("a\0b", 3), 1);
    assert_true(sis__utf8_same("a\xFF", "a\xEF\xBF\xBD") && sis__utf8_same("", ""));
    assert_false(sis__utf8_same("ab", "a") || sis__utf8_same("a", "b") ||
                 sis__utf8_same("a", "ab"));
}

/* ---- Names ----------------------------------------------------------------------------------- */

static void names_keep_their_numbers(void **state) {
    (void)state;
    sis__names names = {0};
    char text[16];
    uint32_t number;
    assert_int_equal(sis__names_find(&names, "x", 1), UINT32_MAX);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 3000; i++) {
            int n = snprintf(text, sizeof text, "%u", i * 7);
            assert_int_equal(sis__names_find(&names, text, (size_t)n), round ? i : UINT32_MAX);
            assert_int_equal(sis__names_add(&names, text, (size_t)n, &number), SIS_OK);
            assert_int_equal(number, i);
            assert_string_equal(sis__names_text(&names, i), text);
        }
    assert_int_equal(sis__names_add(&names, "", 0, &number), SIS_OK);
    assert_string_equal(sis__names_text(&names, number), "");
    assert_int_equal(sis__names_find(&names, "a\0b", 3), UINT32_MAX);
    sis__names_release(&names);
}

static void lists_of_any_type_grow(void **state) {
    (void)state;
    struct pair {
        double a;
        char b;
    } *pairs = NULL;
    size_t room = 0;
    for (size_t n = 0; n < 100; n++) {
        assert_int_equal(sis__reserve(&pairs, &room, n + 1, sizeof *pairs), SIS_OK);
        pairs[n] = (struct pair){(double)n, 'x'};
        assert_true(room > n && pairs[0].a == 0 && pairs[n / 2].a == (double)(n / 2));
    }
    struct pair *kept = pairs;
    assert_int_equal(sis__reserve(&pairs, &room, SIZE_MAX, sizeof *pairs), SIS_E_NOMEM);
    assert_ptr_equal(pairs, kept);
    free(pairs);
}

static void random_numbers_depend_on_the_seed_alone(void **state) {
    (void)state;
    sis__rng a, b;
    sis__rng_init(&a, 7);
    sis__rng_init(&b, 7);
    double sum = 0, squares = 0;
    for (int i = 0; i < 10000; i++) {
        assert_true(sis__rng_next(&a) == sis__rng_next(&b));
        assert_true(sis__rng_below(&a, 10) < 10);
        sis__rng_below(&b, 10);
        double x = sis__rng_normal(&a);
        sis__rng_normal(&b);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / 10000) < 0.05);
    assert_true(fabs(squares / 10000 - 1) < 0.05);
}

static int square(void *ctx, size_t item, int worker) {
    (void)worker;
    ((size_t *)ctx)[item] = item * item;
    return item == 900 || item == 950 ? sis__fail(SIS_E_MODEL, "item %zu", item) : 0;
}

static void parallel_runs_each_item_once_and_reports_the_first_failure(void **state) {
    (void)state;
    for (int jobs = 1; jobs <= 4; jobs++) {
        size_t out[1000] = {0};
        assert_int_equal(sis__parallel(jobs, 900, square, out), 0);
        for (size_t i = 0; i < 900; i++)
            assert_true(out[i] == i * i);
        assert_int_equal(sis__parallel(jobs, 1000, square, out), SIS_E_MODEL);
        assert_string_equal(sis_error_detail(), "item 900");
    }
}

/* The examples of the standard, and every split of a text into two parts. */
static void digests_are_those_of_the_standard(void **state) {
    static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    static const char none[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    static const char million[] =
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    char text[SIS__SHA256_TEXT], again[SIS__SHA256_TEXT], many[1000];
    sis__sha256 s;
    (void)state;
    sis__sha256_init(&s);
    sis__sha256_text(&s, text);
    assert_string_equal(text, none);
    sis__sha256_init(&s);
    sis__sha256_add(&s, "abc", 3);
    sis__sha256_text(&s, text);
    assert_string_equal(text, abc);
    memset(many, 'a', sizeof many);
    sis__sha256_init(&s);
    for (int i = 0; i < 1000; i++)
        sis__sha256_add(&s, many, sizeof many);
    sis__sha256_text(&s, text);
    assert_string_equal(text, million);
    sis__sha256_init(&s);
    sis__sha256_add(&s, many, 200);
    sis__sha256_text(&s, text);
    for (size_t cut = 0; cut <= 200; cut++) {
        sis__sha256_init(&s);
        sis__sha256_add(&s, many, cut);
        sis__sha256_add(&s, many + cut, 200 - cut);
        sis__sha256_text(&s, again);
        assert_string_equal(again, text);
    }
    assert_false(sis__sha256_file("/nowhere", text));
    assert_false(sis__sha256_file("/", text));
}

/* For every 16-bit number: the number itself, and the midpoint to the next one. */
static void floats_of_16_bits_are_the_nearest_ones(void **state) {
    (void)state;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        uint16_t b = (uint16_t)bits;
        float half = sis__half_to_float(b), wide = sis__bfloat_to_float(b);
        if (isnan(half))
            assert_true(isnan(sis__half_to_float(sis__half_bits(half))));
        else
            assert_int_equal(sis__half_bits(half), b);
        if (isnan(wide))
            assert_true(isnan(sis__bfloat_to_float(sis__bfloat_bits(wide))));
        else
            assert_int_equal(sis__bfloat_bits(wide), b);
        if ((bits & 0x7fff) < 0x7bff) {
            float middle = (half + sis__half_to_float((uint16_t)(b + 1))) / 2;
            assert_int_equal(sis__half_bits(middle), b + (b & 1));
            assert_int_equal(sis__half_bits(nextafterf(middle, half)), b);
        }
    }
    assert_true(sis__half_bits(65520) == 0x7c00 && sis__half_bits(-65520) == 0xfc00);
    assert_int_equal(sis__half_bits(65519), 0x7bff);
}

static void expect_text(const char *path, const char *expected) {
    char text[16] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fread(text, 1, sizeof text - 1, f), strlen(expected));
    fclose(f);
    assert_string_equal(text, expected);
}

static void files_are_replaced_whole_or_stay(void **state) {
    char folder[] = "/tmp/sis-test-XXXXXX", path[64];
    sis__replacement r, other;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/f", folder);
    assert_int_equal(sis__replace_all(path, "one", 3), 0);
    assert_int_equal(sis__replace_begin(&r, path), 0);
    fputs("part of two", r.file);
    fflush(r.file);
    expect_text(path, "one");
    assert_int_equal(sis__replace_end(&r, SIS_E_CANCELLED), SIS_E_CANCELLED);
    expect_text(path, "one");
    assert_int_equal(sis__replace_all(path, "two", 3), 0);
    expect_text(path, "two");
    assert_int_equal(remove(path), 0);
    assert_int_equal(sis__replace_begin(&r, path), 0); /* two writers, no file yet */
    assert_int_equal(sis__replace_begin(&other, path), 0);
    fputs("first", r.file);
    fputs("second", other.file);
    assert_int_equal(sis__replace_end(&r, SIS_OK), 0);
    assert_int_equal(sis__replace_end(&other, SIS_OK), SIS_E_IO);
    assert_message_has("File exists");
    expect_text(path, "first");
    assert_int_equal(sis__replace_begin(&r, folder), SIS_E_IO);
    sis__replace_end(&r, SIS_E_IO);
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(folder), 0); /* fails unless the folder is empty */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_names_texts_and_a_message),
        cmocka_unit_test(libraries_are_loaded_when_asked_for),
        cmocka_unit_test(allocations_that_would_overflow_are_refused),
        cmocka_unit_test(arrays_of_any_type_grow),
        cmocka_unit_test(doubles_read_back_as_themselves),
        cmocka_unit_test(doubles_are_written_as_printf_does),
        cmocka_unit_test(json_strings_are_escaped_and_valid_utf8),
        cmocka_unit_test(every_character_reads_back),
        cmocka_unit_test(what_is_no_utf8_is_found_and_mended),
        cmocka_unit_test(names_keep_their_numbers),
        cmocka_unit_test(lists_of_any_type_grow),
        cmocka_unit_test(random_numbers_depend_on_the_seed_alone),
        cmocka_unit_test(digests_are_those_of_the_standard),
        cmocka_unit_test(floats_of_16_bits_are_the_nearest_ones),
        cmocka_unit_test(files_are_replaced_whole_or_stay),
        cmocka_unit_test(parallel_runs_each_item_once_and_reports_the_first_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
