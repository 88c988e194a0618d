/* SPDX-License-Identifier: MIT
 *
 * Missing values, column types, files without a header.
 */
#include "support_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sis/data.h>
#include <sis/files.h>

static int open_with(const char *text, const sis_data_opt *opt, sis_data **out) {
    return sis_data_read(folder_text("c.csv", text), opt, out);
}

static sis_data *opened(const char *text, const sis_data_opt *opt) {
    sis_data *data;
    assert_int_equal(open_with(text, opt, &data), 0);
    return data;
}

static void refused_with(const char *text, const sis_data_opt *opt, const char *part) {
    sis_data *data;
    assert_true(open_with(text, opt, &data) < 0);
    assert_null(data);
    assert_message_has(part);
}

/* Row i of the data set is these n numbers; NaN is NaN. */
static void row_is(const sis_data *data, size_t i, const double *wanted, size_t n) {
    double row[16];
    assert_int_equal(sis_data_width(data, i), n);
    assert_int_equal(sis_data_values(data, i, row), 0);
    for (size_t v = 0; v < n; v++)
        assert_true(isnan(wanted[v]) ? isnan(row[v]) : row[v] == wanted[v]);
}

static const char holes[] = "a,w,b\n1,x,5\n,y,NA\n4,,7\n10,y,n/a\n";

static void a_column_with_a_blank_stays_one_of_numbers(void **state) {
    (void)state;
    sis_data_opt opt;
    sis_data_opt_init(&opt);
    opt.categorical = 1;
    refused_with(holes, &opt,
                 "row 1 (line 3), column \"a\": expected a finite number, found an "
                 "empty cell; say with --missing");
    opt.missing = SIS_MISSING_NAN;
    sis_data *data = opened(holes, &opt);
    static const char *const names[] = {"a", "w=x", "w=y", "w=nan", "b"};
    for (size_t v = 0; v < 5; v++)
        assert_string_equal(sis_data_names(data)[v], names[v]);
    row_is(data, 1, (const double[]){NAN, 0, 1, 0, NAN}, 5);
    row_is(data, 2, (const double[]){4, 0, 0, 1, 7}, 5);
    assert_true(sis_data_is_missing_category(data, 3) && !sis_data_is_missing_category(data, 2) &&
                !sis_data_is_missing_category(data, 0));
    assert_string_equal(sis_data_note(data), "missing words: a category of their own in 1 column, "
                                             "no category (0) in 0");
    sis_data_free(data);
    opt.missing = SIS_MISSING_ALL;
    data = opened(holes, &opt);
    row_is(data, 2, (const double[]){4, NAN, NAN, 7}, 4);
    sis_data_free(data);
    data = opened("a,w\n1,none\n2,x\n", &opt); /* a word, but missing in a column of numbers */
    row_is(data, 0, (const double[]){1, 1, 0}, 3);
    sis_data_free(data);
    opt.categorical = 0;
    data = opened("a,b\nnone,1\n2, null \n", &opt);
    row_is(data, 0, (const double[]){NAN, 1}, 2);
    row_is(data, 1, (const double[]){2, NAN}, 2);
    sis_data_free(data);
}

/* Missing words as pandas.get_dummies and OneHotEncoder encode them: all zeros, or the last
 * column. */
static void missing_words_are_what_the_model_was_trained_on(void **state) {
    (void)state;
    static const char *const without[] = {"w=y", "w=x", "a"}, *const with[] = {"a", "w_x", "w_nan"};
    static const char table[] = "a,w\n1,x\n2,NA\n3,\n";
    sis_data_opt opt;
    sis_data_opt_init(&opt);
    opt.categorical = 1;
    opt.n_names = 3;
    opt.names = without;
    refused_with(table, &opt,
                 "row 1, column \"w\": the cell is empty, and the model has no category");
    opt.missing = SIS_MISSING_NAN;
    sis_data *data = opened(table, &opt);
    row_is(data, 1, (const double[]){0, 0, 2}, 3);
    assert_string_equal(sis_data_note(data), "missing words: a category of their own in 0 columns, "
                                             "no category (0) in 1");
    sis_data_free(data);
    opt.names = with;
    opt.missing = SIS_MISSING_ERROR;
    data = opened(table, &opt);
    row_is(data, 0, (const double[]){1, 1, 0}, 3);
    row_is(data, 1, (const double[]){2, 0, 1}, 3);
    row_is(data, 2, (const double[]){3, 0, 1}, 3);
    assert_int_equal(sis_data_features(data, 0, NULL), 2);
    sis_data_free(data);
    opt.names = NULL; /* the model has no names, only a number of values */
    opt.n_values = 2;
    refused_with(table, &opt, "the cell is empty");
    opt.missing = SIS_MISSING_NAN;
    for (opt.memory = 0; opt.memory < 2; opt.memory++) {
        data = opened(table, &opt);
        row_is(data, 0, (const double[]){1, 1}, 2);
        row_is(data, 2, (const double[]){3, 0}, 2);
        sis_data_free(data);
    }
    for (opt.n_values = 3; opt.n_values < 5; opt.n_values++) {
        data = opened(table, &opt);
        row_is(data, 2, (const double[]){3, 0, 1}, 3);
        sis_data_free(data);
    }
}

/* Numeric categories are sorted as numbers; true and false are numbers unless they are declared
 * or named as categories; column_category refers to the longest column name that fits. */
static void columns_are_what_encoders_make_of_them(void **state) {
    (void)state;
    static const char table[] = "z,b,z_b\n10,True,u\n9,false,v\n";
    static const char *const names[] = {"b", "z_b_v", "z_9.0", "z_10"}, *const truths[] = {
                                                                            "b_True"};
    sis_data_opt opt;
    sis_data_opt_init(&opt);
    opt.categories = "z,z_b";
    sis_data *data = opened(table, &opt);
    static const char *const wanted[] = {"z=9", "z=10", "b", "z_b=u", "z_b=v"};
    for (size_t v = 0; v < 5; v++)
        assert_string_equal(sis_data_names(data)[v], wanted[v]);
    row_is(data, 0, (const double[]){0, 1, 1, 1, 0}, 5);
    row_is(data, 1, (const double[]){1, 0, 0, 0, 1}, 5);
    sis_data_free(data);
    opt.names = names;
    opt.n_names = 4;
    refused_with(table, &opt, "row 0, column \"z_b\": unknown category \"u\"");
    data = opened("z,b,z_b\n10,True,v\n9,false,v\n", &opt);
    row_is(data, 0, (const double[]){1, 1, 0, 1}, 4);
    row_is(data, 1, (const double[]){0, 1, 1, 0}, 4);
    sis_data_free(data);
    opt.names = truths;
    opt.n_names = 1;
    refused_with(table, &opt, "row 1, column \"b\": unknown category \"false\"");
    sis_data_opt_init(&opt);
    opt.categories = "b,z_b";
    data = opened(table, &opt);
    assert_string_equal(sis_data_names(data)[1], "b=True");
    sis_data_free(data);
    sis_data_opt_init(&opt);
    data = opened("b\nTRUE\nfalse\n1\n", &opt);
    row_is(data, 0, (const double[]){1}, 1);
    row_is(data, 1, (const double[]){0}, 1);
    sis_data_free(data);
}

static void absent_values_are_filled_by_the_other_rows(void **state) {
    (void)state;
    sis_data_opt opt;
    sis_data_opt_init(&opt);
    opt.categorical = 1;
    opt.missing = SIS_MISSING_MEAN;
    sis_data *data = opened(holes, &opt);
    row_is(data, 1, (const double[]){5, 0, 1, 6}, 4);
    row_is(data, 2, (const double[]){4, 0, 1, 7}, 4); /* y is there twice */
    sis_data_free(data);
    opt.missing = SIS_MISSING_MEDIAN;
    data = opened(holes, &opt);
    row_is(data, 1, (const double[]){4, 0, 1, 6}, 4);
    row_is(data, 2, (const double[]){4, 0, 1, 7}, 4);
    sis_data_free(data);
    refused_with("a,b\n1,\n2,\n", &opt, "column \"b\" has no value in any row");
    opt.categorical = 0;
    assert_int_equal(sis_data_read(folder_text("v.jsonl", "{\"values\":[1,null]}\n"
                                                          "{\"values\":[\"NA\",4]}\n"),
                                   &opt, &data),
                     0);
    row_is(data, 0, (const double[]){1, 4}, 2);
    row_is(data, 1, (const double[]){1, 4}, 2);
    sis_data_free(data);
    assert_true(sis_data_read(folder_text("v.jsonl", "{\"values\":[1,2]}\n{\"values\":[null]}\n"),
                              &opt, &data) < 0);
    assert_message_has("a mean of others needs equally many");
    opt.missing = SIS_MISSING_ERROR;
    assert_true(sis_data_read(folder_text("v.jsonl", "{\"values\":[1,null]}\n"), &opt, &data) < 0);
    assert_message_has("value 1 is missing; say with --missing");
    const double given[] = {1, NAN, 3, 8};
    sis_data_with with = {.missing = SIS_MISSING_MEAN};
    assert_int_equal(sis_data_from_values(given, 2, (const size_t[]){2, 2}, &with, &data), 0);
    row_is(data, 0, (const double[]){1, 8}, 2);
    sis_data_free(data);
    const double endless[] = {1, NAN, 3, INFINITY};
    assert_int_equal(sis_data_from_values(endless, 2, (const size_t[]){2, 2}, &with, &data),
                     SIS_E_FORMAT);
    assert_message_has("example 1: value 1 is infinite");
}

static void files_without_a_header_are_seen(void **state) {
    (void)state;
    sis_data_opt opt;
    sis_data_opt_init(&opt);
    sis_data *data = opened("5,2.5\n3,4\n", &opt);
    assert_int_equal(sis_data_count(data), 2);
    assert_string_equal(sis_data_names(data)[1], "c1");
    row_is(data, 0, (const double[]){5, 2.5}, 2);
    sis_data_free(data);
    data = opened("0,1,2\n3,4,5\n", &opt); /* pandas writes this header for unnamed columns */
    assert_int_equal(sis_data_count(data), 1);
    assert_string_equal(sis_data_names(data)[2], "2");
    sis_data_free(data);
    opt.no_header = 1;
    data = opened("0,1,2\n3,4,5\n", &opt);
    assert_int_equal(sis_data_count(data), 2);
    sis_data_free(data);
    opt.no_header = 0;
    opt.categorical = 1;
    opt.label = "3";
    data = opened("A11,4,\" x\",1,4\nA12,5,y,2,\"4\"\n", &opt); /* one number twice */
    assert_int_equal(sis_data_count(data), 2);
    assert_string_equal(sis_data_label(data, 0), "1");
    assert_string_equal(sis_data_names(data)[0], "c0=A11");
    assert_string_equal(sis_data_names(data)[3], "c2= x");
    row_is(data, 1, (const double[]){0, 1, 5, 0, 1, 4}, 6);
    sis_data_free(data);
    opt.label = "7";
    refused_with("A11,4,4\n", &opt, "no column \"7\" in the header: c0, c1, c2");
    opt.label = NULL;
    refused_with("a,b,a\n1,2,3\n", &opt,
                 "columns 1 and 3 are both named \"a\"; rename one, "
                 "or give --no-header");
}

static void types_are_what_options_say(void **state) {
    (void)state;
    static const char table[] = "id,a b,a,w,y\nr1,1,2,x,no\nr2,2,3,y,yes\n";
    sis_data_opt opt;
    sis_data_opt_init(&opt);
    opt.categories = "a b,w";
    opt.id = "id";
    opt.label = "y";
    sis_data *data = opened(table, &opt);
    assert_string_equal(sis_data_names(data)[0], "a b=1");
    assert_string_equal(sis_data_names(data)[2], "a");
    assert_int_equal(sis_data_features(data, 0, NULL), 3);
    sis_data_free(data);
    opt.categories = "w";
    opt.label = NULL;
    refused_with(table, &opt, "column \"y\": expected a number, found \"no\"");
    opt.categories = "w,z";
    refused_with(table, &opt, "no column \"z\"");
    opt.categories = "w,,";
    refused_with(table, &opt, "expected names separated by commas");
    opt = (sis_data_opt){.size = sizeof(sis_data_opt),
                         .types = folder_text("t.txt", "column type  missing\n"
                                                       "id\tid\n"
                                                       "a b  category  0  2\n"
                                                       "\n"
                                                       "w    ignore\n"
                                                       "gone ignore\n"
                                                       "y    label\n")};
    data = opened(table, &opt);
    assert_int_equal(sis_data_width(data, 0), 3);
    assert_string_equal(sis_data_label(data, 1), "yes");
    char number[SIS_ID_SIZE];
    assert_string_equal(sis_data_id(data, 1, number), "r2");
    row_is(data, 0, (const double[]){1, 0, 2}, 3);
    sis_data_free(data);
    folder_text("t.txt", "a b  numeric\n");
    refused_with(table, &opt,
                 "t.txt, line 1: expected number, category, ignore, id, label or kept "
                 "after the name of the column, found \"numeric\"");
    folder_text("t.txt", "a b  number\nab  number\n");
    refused_with(table, &opt, "c.csv has no column \"ab  number\"");
    folder_text("t.txt", "a label\ny label\n");
    refused_with(table, &opt, "2 columns have the type label");
    folder_text("t.txt", "w number\nid ignore\ny ignore\n");
    refused_with(table, &opt, "column \"w\": expected a number, found \"x\"");
}

static void categories_of_another_file_are_added(void **state) {
    (void)state;
    static const char *const names[] = {"w=z", "w=x", "other=q", "a"};
    sis_data_opt opt;
    sis_data_opt_init(&opt);
    opt.categorical = opt.more_names = 1;
    opt.names = names;
    opt.n_names = 4;
    sis_data *data = opened("a,w\n1,x\n2,y\n", &opt);
    static const char *const wanted[] = {"a", "w=x", "w=y", "w=z"};
    for (size_t v = 0; v < 4; v++)
        assert_string_equal(sis_data_names(data)[v], wanted[v]);
    row_is(data, 1, (const double[]){2, 0, 1, 0}, 4);
    sis_data_free(data);
}

static void columns_are_described(void **state) {
    (void)state;
    sis_columns c;
    char *text;
    size_t n;
    assert_int_equal(sis_columns_read(folder_text("c.csv", holes), NULL, &c), 0);
    assert_int_equal(c.rows, 4);
    assert_true(c.has_header && c.n == 3);
    assert_string_equal(c.items[0].type, "number");
    assert_int_equal(c.items[0].missing, 1);
    assert_int_equal(c.items[0].distinct, 3);
    assert_true(c.items[0].min == 1 && c.items[0].max == 10);
    assert_string_equal(c.items[1].type, "category");
    assert_int_equal(c.items[1].missing, 1);
    assert_int_equal(c.items[1].n_categories, 2);
    assert_int_equal(c.items[1].counts[1], 2);
    assert_int_equal(c.items[2].missing, 2);
    assert_int_equal(sis_columns_json(&c, &text, &n), 0);
    assert_string_equal(
        text,
        "{\"rows\":4,\"header\":true,\"columns\":["
        "{\"name\":\"a\",\"type\":\"number\",\"missing\":1,\"distinct\":3,\"least\":1,\"most\":10},"
        "{\"name\":\"w\",\"type\":\"category\",\"missing\":1,\"distinct\":2,"
        "\"categories\":{\"x\":1,\"y\":2}},"
        "{\"name\":\"b\",\"type\":\"number\",\"missing\":2,\"distinct\":2,\"least\":5,\"most\":7}]}"
        "\n");
    free(text);
    assert_int_equal(sis_columns_format(&c, &text), 0);
    assert_string_equal(text, "column  type      missing  distinct  values\n"
                              "a       number          1         3  1 to 10\n"
                              "w       category        1         2  y 2, x 1\n"
                              "b       number          2         2  5 to 7\n");
    sis_columns_release(&c);
    sis_data_opt opt; /* the output is a file of types */
    sis_data_opt_init(&opt);
    opt.types = folder_text("t.txt", text);
    opt.missing = SIS_MISSING_NAN;
    sis_data_free(opened(holes, &opt));
    free(text);
    assert_int_equal(
        sis_columns_read(folder_text("v.jsonl", "{\"values\":[1,null]}\n{\"values\":[1,2]}\n"),
                         NULL, &c),
        0);
    assert_string_equal(c.items[1].name, "c1");
    assert_int_equal(c.items[1].missing, 1);
    assert_true(c.items[0].distinct == 1 && !c.has_header);
    sis_columns_release(&c);
    assert_int_equal(sis_columns_read(folder_text("v.txt", "a text\n"), NULL, &c),
                     SIS_E_UNSUPPORTED);
}

static int read_all_once(void *ctx) {
    const char *const *paths = (const char *const *)ctx;
    sis_data_opt opt;
    sis_data *data = NULL;
    sis_columns c;
    char *text = NULL, *json = NULL;
    size_t n;
    sis_data_opt_init(&opt);
    opt.categorical = 1;
    opt.missing = SIS_MISSING_MEAN;
    opt.types = paths[1];
    int code = sis_data_read(paths[0], &opt, &data);
    sis_data_free(data);
    if (code == SIS_OK)
        code = sis_data_read(paths[2], NULL, &data);
    if (code == SIS_OK)
        sis_data_free(data);
    if (code == SIS_OK)
        code = sis_columns_read(paths[0], &opt, &c);
    if (code == SIS_OK) {
        code = sis_columns_format(&c, &text);
        if (code == SIS_OK)
            code = sis_columns_json(&c, &json, &n);
        sis_columns_release(&c);
    }
    free(text);
    free(json);
    return code;
}

static void memory_may_run_out(void **state) {
    (void)state;
    char paths[3][2048];
    snprintf(paths[0], sizeof paths[0], "%s", folder_text("c.csv", holes));
    snprintf(paths[1], sizeof paths[1], "%s", folder_text("t.txt", "a number\n"));
    snprintf(paths[2], sizeof paths[2], "%s", folder_text("d.csv", "1,1\n2,3\n"));
    const char *all[] = {paths[0], paths[1], paths[2]};
    assert_true(with_failing_allocations(read_all_once, all) > 30);
}

static void spoiled_files_do_no_harm(void **state) {
    (void)state;
    with_spoiled_files("s.csv", holes, sizeof holes - 1, 300, data_read_spoiled);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_with_a_blank_stays_one_of_numbers),
        cmocka_unit_test(missing_words_are_what_the_model_was_trained_on),
        cmocka_unit_test(columns_are_what_encoders_make_of_them),
        cmocka_unit_test(absent_values_are_filled_by_the_other_rows),
        cmocka_unit_test(files_without_a_header_are_seen),
        cmocka_unit_test(types_are_what_options_say),
        cmocka_unit_test(categories_of_another_file_are_added),
        cmocka_unit_test(columns_are_described),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(spoiled_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
