/* SPDX-License-Identifier: MIT
 *
 * Tables with words: columns of categories, each one feature, and columns of labels.
 */
#include "support_data.h"

#include <stdio.h>
#include <stdlib.h>

#include <sis/data.h>

static int open_with(const char *text, const sis_data_opt *opt, sis_data **out) {
    return sis_data_read(folder_text("c.csv", text), opt, out);
}

static void refused_with(const char *text, const sis_data_opt *opt, const char *part) {
    sis_data *data;
    int code = open_with(text, opt, &data);
    assert_true(code == SIS_E_FORMAT || code == SIS_E_ARGUMENT);
    assert_null(data);
    assert_message_has(part);
}

static void categories_are_one_feature_a_column(void **state) {
    (void)state;
    const double numbers[] = {69, 0, 1, 0, 1, 34, 1, 0, 0, 2, 20, 0, 0, 1, 3};
    sis_data_opt opt;
    sis_data *data;
    int map[5];
    double row[5];
    sis_data_opt_init(&opt);
    opt.categorical = 1;
    static const char text[] = "age,race,priors\n69, Other ,1\n34,\"Native, x\",2\n20,White,3\n";
    assert_int_equal(open_with(text, &opt, &data), 0);
    static const char *const names[] = {"age", "race=Native, x", "race=Other", "race=White",
                                        "priors"};
    static const char *const features[] = {"age", "race", "priors"};
    const int expected[] = {0, 1, 1, 1, 2};
    for (size_t k = 0; k < 5; k++)
        assert_string_equal(sis_data_names(data)[k], names[k]);
    for (size_t k = 0; k < 3; k++)
        assert_string_equal(sis_data_feature_names(data)[k], features[k]);
    assert_int_equal(sis_data_features(data, 0, map), 3);
    assert_memory_equal(map, expected, sizeof map);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(sis_data_values(data, i, row), 0);
        assert_memory_equal(row, numbers + 5 * i, sizeof row);
    }
    assert_null(sis_data_label(data, 0));
    sis_data_free(data);

    opt.label = "race";
    assert_int_equal(open_with(text, &opt, &data), 0);
    assert_int_equal(sis_data_width(data, 0), 2);
    assert_string_equal(sis_data_label(data, 1), "Native, x");
    sis_data_free(data);
    opt.categorical = 0;
    assert_int_equal(open_with(text, &opt, &data), 0);
    assert_string_equal(sis_data_label(data, 0), "Other");
    assert_string_equal(sis_data_names(data)[1], "priors");
    sis_data_free(data);
    opt.label = "priors";
    refused_with(text, &opt,
                 "row 0 (line 2), column \"race\": expected a number, found \" Other \"");
    opt.label = "absent";
    refused_with("a\n1\n", &opt, "no column \"absent\"");
    opt.label = "a";
    refused_with("a\n1\n", &opt, "no column is a feature");
    refused_with("a,b\n,1\n", &opt, "column \"a\": expected a label, found an empty cell");
    opt.label = NULL;
    opt.categorical = 1;
    assert_int_equal(open_with("a,b\n1,\n2,x\n", &opt, &data), 0);
    assert_string_equal(sis_data_names(data)[1], "b=x");
    assert_string_equal(sis_data_names(data)[2], "b=nan");
    sis_data_free(data);
}

static void categories_can_be_those_of_a_model(void **state) {
    (void)state;
    static const char *const names[] = {"race=B", "race=A", "race=C", "age"};
    const double first[] = {0, 1, 0, 5}, second[] = {0, 0, 1, 6};
    sis_data_opt opt;
    sis_data *data;
    double row[4];
    sis_data_opt_init(&opt);
    opt.categorical = 1;
    opt.names = names;
    opt.n_names = 4;
    assert_int_equal(open_with("age,race,other\n5,A,x\n6,C,y\n", &opt, &data), 0);
    assert_int_equal(sis_data_values(data, 0, row), 0);
    assert_memory_equal(row, first, sizeof row);
    assert_int_equal(sis_data_values(data, 1, row), 0);
    assert_memory_equal(row, second, sizeof row);
    assert_int_equal(sis_data_features(data, 0, NULL), 2);
    assert_string_equal(sis_data_feature_names(data)[0], "race");
    sis_data_free(data);
    static const char *const numbers[] = {"x", "x=1"};
    const double columns[] = {1, 3};
    opt.names = numbers; /* x=1 is a column, not a category of x */
    opt.n_names = 2;
    assert_int_equal(open_with("x,y,x=1\n1,9,3\n", &opt, &data), 0);
    assert_int_equal(sis_data_values(data, 0, row), 0);
    assert_memory_equal(row, columns, sizeof columns);
    sis_data_free(data);
    static const char *const longer[] = {"x", "x=1=A", "x=1=B"};
    const double words[] = {5, 0, 1}, one[] = {1, 0};
    opt.names = longer; /* categories of the column x=1, not of x */
    opt.n_names = 3;
    assert_int_equal(open_with("x,x=1\n5,B\n6,A\n", &opt, &data), 0);
    assert_int_equal(sis_data_values(data, 0, row), 0);
    assert_memory_equal(row, words, sizeof words);
    assert_int_equal(sis_data_features(data, 0, NULL), 2);
    assert_string_equal(sis_data_feature_names(data)[1], "x=1");
    sis_data_free(data);
    opt.names = longer + 1; /* categories of x, if x has these words */
    opt.n_names = 2;
    assert_int_equal(open_with("x,x=1\n1=A,7\n1=B,8\n", &opt, &data), 0);
    assert_int_equal(sis_data_values(data, 0, row), 0);
    assert_memory_equal(row, one, sizeof one);
    sis_data_free(data);
    opt.names = names;
    opt.n_names = 4;
    refused_with("age,race\n5,A\n6,D\n", &opt,
                 "row 1, column \"race\": unknown category \"D\"; expected B, A, C");
    refused_with("age,rice\n5,A\n", &opt, "has no column for the value \"race=B\"");
    refused_with("age,race\n5,A\nNA,A\n", &opt,
                 "row 1 (line 3), column \"age\": expected a finite number, found \"NA\"");
    refused_with("age,race\n1e400,A\n", &opt,
                 "row 0 (line 2), column \"age\": expected a finite number");
    refused_with("age,race\n,A\n", &opt, "found an empty cell");
}

static void categories_have_a_limit(void **state) {
    (void)state;
    sis_data_opt opt;
    sis_data *data;
    sis_data_opt_init(&opt);
    opt.categorical = 1;
    char *text = (char *)malloc(40000), *at = text + sprintf(text, "a,b\n");
    for (int i = 0; i < 1001; i++)
        at += sprintf(at, "%d,%d\n", i, i % 3);
    assert_int_equal(open_with(text, &opt, &data), 0);
    assert_int_equal(sis_data_width(data, 0), 2);
    sis_data_free(data);
    sprintf(at, "x,y\n");
    refused_with(text, &opt, "column \"a\": more than 1000 different cells, and not all are");
    free(text);
}

/* Labels are not categories: prices or names may all be different. */
static void labels_have_no_limit(void **state) {
    (void)state;
    sis_data_opt opt;
    sis_data *data;
    sis_data_opt_init(&opt);
    opt.label = "price";
    for (int words = 0; words < 2; words++) {
        char *text = (char *)malloc(60000), *at = text + sprintf(text, "a,price\n"), label[16];
        for (int i = 0; i < 2500; i++)
            at += sprintf(at, words ? "%d,l%d\n" : "%d,%d\n", i % 7, i);
        assert_int_equal(open_with(text, &opt, &data), 0);
        assert_int_equal(sis_data_width(data, 0), 1);
        for (size_t i = 0; i < 2500; i++) {
            snprintf(label, sizeof label, words ? "l%zu" : "%zu", i);
            assert_string_equal(sis_data_label(data, i), label);
        }
        sis_data_free(data);
        free(text);
    }
}

static void real_tables_are_read(void **state) {
    (void)state;
    sis_data_opt opt;
    sis_data *data;
    sis_data_opt_init(&opt);
    opt.categorical = 1;
    opt.missing = SIS_MISSING_ALL;
    opt.label = "two_year_recid";
    const char *path = shared_data("table/compas_two_years_noid.csv");
    if (path) {
        assert_int_equal(sis_data_read(path, &opt, &data), 0);
        assert_int_equal(sis_data_count(data), 7214);
        assert_int_equal(sis_data_features(data, 0, NULL), 12);
        assert_string_equal(sis_data_label(data, 1), "1");
        sis_data_free(data);
    }
    opt.label = "Status";
    if ((path = shared_data("table/modeldata_credit_data.csv"))) {
        assert_int_equal(sis_data_read(path, &opt, &data), 0);
        assert_int_equal(sis_data_count(data), 4454);
        assert_string_equal(sis_data_label(data, 0), "good");
        sis_data_free(data);
    }
}

static void read_categories(const char *path) {
    sis_data_opt opt;
    sis_data *data;
    sis_data_opt_init(&opt);
    opt.categorical = 1;
    opt.label = "c";
    int code = sis_data_read(path, &opt, &data);
    assert_true(code == SIS_OK || code == SIS_E_FORMAT || code == SIS_E_ARGUMENT);
    sis_data_free(data);
}

static const char categories[] = "a,b,c\n1,x,p\n2,y,\"q\"\"\"\n3,x,1\n";

static void spoiled_categories_do_no_harm(void **state) {
    (void)state;
    with_spoiled_files("s.csv", categories, sizeof categories - 1, 2000, read_categories);
}

static int read_categories_once(void *ctx) {
    static const char *const names[] = {"b=y", "b=x", "a"};
    sis_data_opt opt;
    sis_data *data;
    sis_data_opt_init(&opt);
    opt.categorical = 1;
    opt.label = "c";
    int code = sis_data_read((const char *)ctx, &opt, &data);
    sis_data_free(data);
    opt.names = names;
    opt.n_names = 3;
    if (code == SIS_OK) {
        code = sis_data_read((const char *)ctx, &opt, &data);
        sis_data_free(data);
    }
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    char path[2048];
    snprintf(path, sizeof path, "%s", folder_text("m.csv", categories));
    assert_true(with_failing_allocations(read_categories_once, path) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(categories_are_one_feature_a_column),
        cmocka_unit_test(categories_can_be_those_of_a_model),
        cmocka_unit_test(categories_have_a_limit),
        cmocka_unit_test(labels_have_no_limit),
        cmocka_unit_test(real_tables_are_read),
        cmocka_unit_test(spoiled_categories_do_no_harm),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
