/* SPDX-License-Identifier: MIT
 *
 * Tables: quoting, line ends, headers, numbers; errors and their positions.
 */
#include "support_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/data.h>

#include "base/rng.h"
#include "data/cell.h"

static sis_data *table(const char *name, const char *text) {
    sis_data *data = data_open(folder_text(name, text));
    assert_string_equal(sis_data_kind(data), "table");
    return data;
}

/* The table has these names ("a|b") and, row by row, these numbers. */
static void holds(sis_data *data, const char *names, size_t n, const double *numbers) {
    char joined[256] = "";
    size_t width = sis_data_width(data, 0), rank;
    double row[16];
    for (size_t k = 0; k < width; k++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", k ? "|" : "",
                 sis_data_names(data)[k]);
    assert_string_equal(joined, names);
    assert_int_equal(sis_data_shape(data, 0, &rank)[0], width);
    assert_int_equal(rank, 1);
    assert_int_equal(sis_data_count(data) * width, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sis_data_values(data, i / width, row), 0);
        assert_true(row[i % width] == numbers[i]);
    }
    sis_data_free(data);
}

static void refused_as(const char *name, const char *text, size_t n, const char *part) {
    data_refused(folder_write(name, text, n), SIS_E_FORMAT, part);
    assert_message_has(name);
}

static void refused(const char *text, const char *part) {
    refused_as("t.csv", text, strlen(text), part);
}

static void tables_are_read_whatever_ends_their_lines(void **state) {
    (void)state;
    const double numbers[] = {1, 2, 3, -4.5, 6e2, 0.25};
    static const char *const texts[] = {
        "a,b,c\n1,2,3\n-4.5,6e2,.25\n",
        "a,b,c\n1,2,3\n-4.5,6e2,.25",
        "a,b,c\r\n1,2,3\r\n-4.5,6e2,.25\r\n",
        "a,b,c\r1,2,3\r-4.5,6e2,.25",
        "\xEF\xBB\xBF\"a\",\"b\",\"c\"\n\"1\",\"2\",3\n-4.5,6e2,.25\n",
        "\n \n a , b,c \n\n1, 2 ,\t3\n   \n-4.5,+6E+2,0.250\n\n\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        holds(table("t.csv", texts[i]), "a|b|c", 6, numbers);
    holds(table("t.TSV", "a\tb\tc\n1\t2\t3\n-4.5\t6e2\t.25\n"), "a|b|c", 6, numbers);
    holds(table("u.tsv", "a,b\n1\n"), "a,b", 1, numbers);
    holds(table("w.csv", "\xEF\xBC\xA1\n1\n"), "\xEF\xBC\xA1", 1, numbers); /* similar to a BOM */
    holds(table("w.csv", "\xEF\xBF\xBD\n1\n"), "\xEF\xBF\xBD", 1, numbers);
}

static void quotes_hide_separators_newlines_and_quotes(void **state) {
    (void)state;
    const double numbers[] = {1, 2, 3, 4};
    holds(table("t.csv", "\"a,\"\"x\"\"\r\nb\",\" c \"\r\n1,\"2\"\r\n\"3\",4"), "a,\"x\"\r\nb| c ",
          4, numbers);
    holds(table("t.csv", "5\" disk,\"\"\"\"\n1,2\n3,4\n"), "5\" disk|\"", 4, numbers);
}

static void ids_are_row_numbers(void **state) {
    (void)state;
    char number[SIS_ID_SIZE];
    sis_data *data = table("t.csv", "a\n\n10\n11\n");
    assert_int_equal(sis_data_count(data), 2);
    assert_string_equal(sis_data_id(data, 0, number), "0");
    assert_string_equal(sis_data_id(data, 1, number), "1");
    assert_null(sis_data_label(data, 0));
    sis_data_free(data);
}

static void what_is_wrong_is_said_with_its_place(void **state) {
    (void)state;
    refused("age,b\n1,2\n\nabc,2\n",
            "t.csv, row 1 (line 4), column \"age\": expected a number, found \"abc\"");
    refused("home,b\nown,2\n", "found \"own\"; for a column of words there are the options");
    refused("b,Text\n2,good\n", "found \"good\"; --text COLUMN takes a column as texts");
    refused("\"a\nb\",c\n1,2\n3,x\n", "row 1 (line 4), column \"c\"");
    refused("a,b\n1,2\n1,\n",
            "row 1 (line 3), column \"b\": expected a number, found an empty cell");
    refused("a,b\n1,\"\"\n", "found an empty cell");
    refused("a,b\n1,2\n3\n", "row 1 (line 3): expected 2 cells as in the header, found 1");
    refused("a,b\n1,2,3,4\n", "row 0 (line 2): expected 2 cells as in the header, found 4");
    refused("a,,c\n1,2,3\n", "column 2 has no name in the header");
    refused(",a,\n0,1,2\n", "column 3 has no name in the header; name it, or remove it");
    refused("a,b,c,b\n1,2,3,4\n", "columns 2 and 4 are both named \"b\"");
    refused("", "is empty");
    refused("\xEF\xBB\xBF", "is empty");
    refused("\n\n\n", "is empty");
    refused("a,b\n", "has a header but no rows");
    refused("a,b\n\"1,2\n", "line 2: a quote is opened and never closed");
    refused("a,b\n\"1\"x,2\n", "line 2: text after a closing quote");
    refused("a;b\n1;2\n",
            "the header is a single cell, \"a;b\"; expected commas between cells, "
            "not semicolons");
    refused("a\tb\n1\t2\n", "or tabs and a name ending in .tsv");
    refused("a,b\n1,\"2,5\"\n", "found \"2,5\"; write numbers with a decimal point");
    refused("a\n1\n2,3\n", "row 1 (line 3): expected 1 cell as in the header, found 2");
    refused("a\n\x1b[31mred\n", "found \"?[31mred\"");
    refused("\xFF\xFE"
            "a",
            "UTF-16");
    refused("\xEF\xBB,\n1\n", "not UTF-8");
    refused_as("t.csv", "a,b\n1,\0\n", 9, "line 2: a NUL byte");
    refused_as("t.csv", "a\0b\n1\n", 6, "line 1: a NUL byte");
    refused_as("u.tsv", "a,b\n1,2\n", 8, "separated by tabs here; commas need .csv");
}

static void names_of_files_decide(void **state) {
    (void)state;
    sis_data *data;
    static const char *const names[] = {"t.txt2", "csv", ".csv.bak", "t.cs", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(sis_data_read(names[i], NULL, &data), SIS_E_UNSUPPORTED);
        assert_message_has("expected a name ending in .npy, .csv, .tsv");
        assert_null(data);
    }
    assert_int_equal(sis_data_read(folder_path("absent.csv"), NULL, &data), SIS_E_IO);
    assert_message_has("absent.csv: No such file");
}

static void standard_input_is_a_table(void **state) {
    (void)state;
    const double numbers[] = {1, 2};
    const char *path = folder_text("stdin", "a,b\n1,2\n");
    sis_data *data;
    assert_non_null(freopen(path, "r", stdin));
    assert_int_equal(sis_data_read("-", NULL, &data), 0);
    holds(data, "a|b", 2, numbers);
    assert_non_null(freopen(folder_text("stdin", "a,b\n1,z\n"), "r", stdin));
    assert_int_equal(sis_data_read("-", NULL, &data), SIS_E_FORMAT);
    assert_message_has("standard input, row 0 (line 2)");
}

static void only_finite_decimal_numbers_are_numbers(void **state) {
    (void)state;
    static const char *const bad[] = {"",     " ",     "+",        "-",   ".",   "e5",  "1e",
                                      "1e+",  "1.2.3", "0x10",     "nan", "NaN", "inf", "-inf",
                                      "1 2",  "1,5",   "--1",      "1-",  "1f",  "1_0", "١",
                                      "1e5.", "+-1",   "infinity", "e",   ".e1", "- 1"};
    double v;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (sis__cell_number(bad[i], &v))
            fail_msg("\"%s\" was read as %g", bad[i], v);
    const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {" 007\t", 7},
                {"5.", 5},
                {".5", 0.5},
                {"+1e2", 100},
                {"9007199254740993", 9007199254740992.0},
                {"123456789012345678901234567890", 123456789012345678901234567890.0},
                {"1e22", 1e22},
                {"1e23", 1e23},
                {"1e-22", 1e-22},
                {"4.9e-324", 4.9e-324},
                {"1e-400", 0},
                {"1e99999999999999999999", INFINITY},
                {"-1e309", -INFINITY},
                {"0e99999999999999999999", 0},
                {"1.7976931348623157e308", 1.7976931348623157e308},
                {"0.000000000000000000000000000000000001", 1e-36}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(sis__cell_number(good[i].text, &v));
        assert_true(v == good[i].value);
    }
    assert_true(sis__cell_number("-0", &v) && signbit(v));
    refused("a\n1e999\n", "expected a finite number, found \"1e999\"");
    refused("a\nnan\n", "expected a number, found \"nan\"");
    refused("a\n0x1F\n", "expected a number, found \"0x1F\"");
}

static void numbers_are_those_of_the_c_library(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 2);
    for (int i = 0; i < 20000; i++) {
        char text[64];
        double v, scale = pow(10, (double)sis__rng_below(&r, 40) - 20);
        snprintf(text, sizeof text, i % 2 ? "%.*f" : "%.*e", (int)sis__rng_below(&r, 18),
                 (sis__rng_uniform(&r) - 0.5) * scale);
        assert_true(sis__cell_number(text, &v));
        assert_true(v == strtod(text, NULL));
    }
}

static void excerpts_are_short_and_plain(void **state) {
    (void)state;
    char out[SIS__EXCERPT_SIZE], text[200];
    assert_string_equal(sis__cell_excerpt("caf\xC3\xA9\n\x7F\xC2\x9B", out), "caf\xC3\xA9???\x9B");
    for (size_t pad = 0; pad < 4; pad++) { /* three bytes a character, cut after each byte */
        memset(text, 'x', pad);
        for (size_t i = 0; i < 40; i++)
            memcpy(text + pad + 3 * i, "\xE2\x82\xAC", 4);
        sis__cell_excerpt(text, out);
        size_t n = strlen(out);
        assert_true(n < sizeof out && n > 50);
        assert_string_equal(out + n - 3, "...");
        assert_int_equal((n - 3 - pad) % 3, 0);
    }
    memset(text, 0x80, sizeof text);
    text[199] = '\0';
    assert_string_equal(sis__cell_excerpt(text, out), "...");
}

static void long_cells_are_refused_and_wide_tables_read(void **state) {
    (void)state;
    size_t n = 3 << 20, width = 20000, at = 0;
    char *text = (char *)malloc(n);
    assert_non_null(text);
    memset(text, 'x', n);
    refused_as("t.csv", text, n, "a cell of more than 1048576 bytes");
    memcpy(text, "a,b\n\"", 5);
    refused_as("t.csv", text, n, "line 2 has a cell of more than 1048576 bytes; is a quote never");
    for (size_t row = 0; row < 3; row++)
        for (size_t k = 0; k < width; k++)
            at +=
                (size_t)sprintf(text + at, row ? "%zu%c" : "c%zu%c", k, k + 1 < width ? ',' : '\n');
    sis_data *data;
    double *v = (double *)malloc(width * sizeof *v);
    assert_int_equal(sis_data_read(folder_write("t.csv", text, at), NULL, &data), 0);
    assert_int_equal(sis_data_values(data, 1, v), 0);
    assert_true(v[width - 1] == (double)width - 1);
    assert_string_equal(sis_data_names(data)[width - 1], "c19999");
    sis_data_free(data);
    free(v);
    free(text);
}

static void means_are_exact_for_constants(void **state) {
    (void)state;
    sis_mean mean[3] = {{0}};
    double row[3];
    sis_data *data = table("t.csv", "a,b,c\n0.1,1,1e308\n0.1,2,1e308\n0.1,6,1e308\n");
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(sis_data_values(data, i, row), 0);
        sis_mean_add(mean, row, 3);
    }
    assert_true(sis_mean_get(&mean[0]) == 0.1 && sis_mean_get(&mean[1]) == 3 &&
                sis_mean_get(&mean[2]) == 1e308);
    sis_data_free(data);
}

/* ---- Hostile ------------------------------------------------------------------------------- */

static void use_hostile(const char *path) {
    sis_data *data;
    int code = sis_data_read(path, NULL, &data);
    if (code != SIS_OK) {
        assert_int_equal(code, SIS_E_FORMAT);
        assert_message_has("h.csv");
        return;
    }
    double *row = (double *)malloc(sis_data_width(data, 0) * sizeof *row);
    for (size_t i = 0; i < sis_data_count(data); i++)
        assert_int_equal(sis_data_values(data, i, row), 0);
    free(row);
    sis_data_free(data);
}

static void spoiled_files_do_no_harm(void **state) {
    (void)state;
    static const char text[] =
        "\xEF\xBB\xBF\"a \"\"x\"\"\",b,\"c\r\nd\"\r\n1,\"-2.5e3\",3\n\n4,5,6";
    with_spoiled_files("h.csv", text, sizeof text - 1, 3000, use_hostile);
}

static void random_text_does_no_harm(void **state) {
    (void)state;
    static const char letters[] = "aab01\",,\n\n\r\t .-e\x80\xEF";
    sis__rng r;
    sis__rng_init(&r, 9);
    for (int round = 0; round < 5000; round++) {
        char text[64];
        size_t n = sis__rng_below(&r, sizeof text);
        for (size_t i = 0; i < n; i++)
            text[i] = letters[sis__rng_below(&r, sizeof letters - 1)];
        use_hostile(folder_write("h.csv", text, n));
    }
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    char text[4096] = "a,b,\"c\"\n", path[2048];
    for (int i = 0; i < 200; i++)
        strcat(text, "1,2.5,3\n");
    snprintf(path, sizeof path, "%s", folder_text("t.csv", text));
    assert_true(with_failing_allocations(data_read_once, path) > 8);
}

/* ---- Data beside the repository ------------------------------------------------------------ */

static void real_tables_that_are_not_all_numbers_are_explained(void **state) {
    (void)state;
    sis_data *data;
    const char *path = shared_data("table/compas_two_years_noid.csv");
    if (!path)
        skip();
    assert_int_equal(sis_data_read(path, NULL, &data), SIS_E_FORMAT);
    assert_message_has("row 0 (line 2), column \"sex\": expected a number, found \"Male\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_read_whatever_ends_their_lines),
        cmocka_unit_test(quotes_hide_separators_newlines_and_quotes),
        cmocka_unit_test(ids_are_row_numbers),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(names_of_files_decide),
        cmocka_unit_test(standard_input_is_a_table),
        cmocka_unit_test(only_finite_decimal_numbers_are_numbers),
        cmocka_unit_test(numbers_are_those_of_the_c_library),
        cmocka_unit_test(excerpts_are_short_and_plain),
        cmocka_unit_test(long_cells_are_refused_and_wide_tables_read),
        cmocka_unit_test(means_are_exact_for_constants),
        cmocka_unit_test(spoiled_files_do_no_harm),
        cmocka_unit_test(random_text_does_no_harm),
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(real_tables_that_are_not_all_numbers_are_explained),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
