/* SPDX-License-Identifier: MIT
 *
 * Ids of examples: from a column or field that the caller names, in every format that has columns
 * or fields.
 */
#include "support_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/data.h>

static int open_by(const char *name, const char *text, const sis_data_opt *opt, sis_data **out) {
    return sis_data_read(folder_text(name, text), opt, out);
}

/* Checks the ids of the two examples of a file. `id` names the column that holds them; NULL:
 * none. */
static void called(const char *name, const char *text, const char *id, const char *first,
                   const char *second) {
    sis_data *data;
    char number[SIS_ID_SIZE];
    sis_data_opt opt = {.size = sizeof opt, .id = id};
    if (open_by(name, text, &opt, &data) != 0)
        fail_msg("%s", sis_error_detail());
    assert_int_equal(sis_data_count(data), 2);
    assert_string_equal(sis_data_id(data, 0, number), first);
    assert_string_equal(sis_data_id(data, 1, number), second);
    sis_data_free(data);
}

static void refused(const char *name, const char *text, const char *id, int code,
                    const char *part) {
    sis_data *data;
    sis_data_opt opt = {.size = sizeof opt, .id = id};
    assert_int_equal(open_by(name, text, &opt, &data), code);
    assert_null(data);
    assert_message_has(name);
    assert_message_has(part);
}

static void every_format_with_columns_has_ids(void **state) {
    (void)state;
    called("a.csv", "case,age\n A-1 ,3\n\"B, 2\",4\n", "case", "A-1", "B, 2");
    called("a.csv", "age,case\n3,12\n4,007\n", "case", "12", "007");
    /* Duplicate ids are accepted; callers that need unique ids check them. */
    called("a.csv", "age,case\n3,12\n4,12\n", "case", "12", "12");
    called("a.csv", "age,case\n3,12\n4,007\n", NULL, "0", "1");
    called("a.tsv", "case\tage\nA\t3\nB\t4\n", "case", "A", "B");
    called("t.tsv", "label\ttext\tcase\n1\ta fine film\tx\n0\ta bad film\ty\n", "case", "x", "y");
    called("t.tsv", "label\ttext\tcase\n1\ta fine film\tx\n0\ta bad film\ty\n", NULL, "0", "1");
    called("t.tsv", "case\ttext\nx\ta fine film\ny\ta bad film\n", "case", "x", "y");
    called("a.jsonl", "{\"values\":[1],\"case\":\"x\",\"id\":7}\n{\"values\":[2],\"case\":5}\n",
           "case", "x", "5");
    called("a.jsonl", "{\"values\":[1],\"case\":\"x\",\"id\":7}\n{\"values\":[2],\"case\":5}\n",
           NULL, "7", "1");
    called("a.seq", "seq\tcase\tEventID\nACGT\tx\tp\nAC\ty\t\n", "case", "x", "y");
    called("a.seq", "seq\tcase\tEventID\nACGT\tx\tp\nAC\ty\t\n", NULL, "p", "1");
}

static void ids_of_a_table_are_no_feature(void **state) {
    (void)state;
    sis_data *data;
    char number[SIS_ID_SIZE];
    double row[3];
    sis_data_opt opt = {.size = sizeof opt, .id = "case"};
    static const char text[] = "age,case,housing,risk\n3,1,own,high\n4,2,rent,low\n";
    opt.categorical = 1;
    opt.label = "risk";
    assert_int_equal(open_by("a.csv", text, &opt, &data), 0);
    assert_int_equal(sis_data_width(data, 0), 3);
    assert_int_equal(sis_data_features(data, 0, NULL), 2);
    assert_string_equal(sis_data_names(data)[0], "age");
    assert_string_equal(sis_data_names(data)[1], "housing=own");
    assert_string_equal(sis_data_id(data, 1, number), "2");
    assert_string_equal(sis_data_label(data, 1), "low");
    assert_int_equal(sis_data_values(data, 1, row), 0);
    assert_true(row[0] == 4 && row[1] == 0 && row[2] == 1);
    sis_data_free(data);

    static const char *const names[] = {"housing=rent", "housing=own"};
    opt.names = names;
    opt.n_names = 2;
    assert_int_equal(open_by("a.csv", text, &opt, &data), 0);
    assert_string_equal(sis_data_id(data, 0, number), "1");
    sis_data_free(data);
    static const char *const wanted[] = {"case"};
    opt.names = wanted;
    opt.n_names = 1;
    assert_int_equal(open_by("a.csv", text, &opt, &data), SIS_E_FORMAT);
    assert_message_has("has no column for the value \"case\"");
    opt.id = "risk";
    assert_int_equal(open_by("a.csv", text, &opt, &data), SIS_E_ARGUMENT);
    assert_message_has("column \"risk\" cannot be both the id and the label");
}

/* More ids than the limit on categories. */
static void there_may_be_any_number_of_ids(void **state) {
    (void)state;
    sis_data *data;
    char number[SIS_ID_SIZE], *text = (char *)malloc(60000), *at = text + sprintf(text, "id,a\n");
    sis_data_opt opt = {.size = sizeof opt, .id = "id"};
    for (int i = 0; i < 3000; i++)
        at += sprintf(at, "case %d,%d\n", i, i);
    assert_int_equal(open_by("many.csv", text, &opt, &data), 0);
    assert_string_equal(sis_data_id(data, 2999, number), "case 2999");
    sis_data_free(data);
    free(text);
}

static void what_is_no_id_is_refused(void **state) {
    (void)state;
    refused("a.csv", "a,b\n1,2\n", "c", SIS_E_ARGUMENT,
            "no column \"c\" in the header: a, b");
    refused("a.csv", "a,b\n1,2\n,2\n", "a", SIS_E_FORMAT,
            "row 1 (line 3), column \"a\": expected an id, found an empty cell");
    refused("a.csv", "a,b\n\" \",2\n", "a", SIS_E_FORMAT, "expected an id, found an empty cell");
    refused("a.csv", "a,b\nx\xFF,2\n", "a", SIS_E_FORMAT, "found bytes that are not UTF-8 text");
    refused("a.csv", "a\n1\n", "a", SIS_E_FORMAT, "no column is a feature");
    refused("a.csv", "a,b\n1,x\n", "a", SIS_E_FORMAT, "expected a number, found \"x\"");
    refused("t.tsv", "text\tcase\na fine film\tx\n", "id", SIS_E_ARGUMENT,
            "no column \"id\"");
    refused("t.tsv", "text\tcase\na fine film\t \n", "case", SIS_E_FORMAT,
            "line 2: the id is empty");
    refused("t.tsv", "pos\ta fine film\n", "id", SIS_E_ARGUMENT,
            "has no header, so no column \"id\"");
    refused("a.jsonl", "{\"values\":[1]}\n", "case", SIS_E_FORMAT,
            "line 1: has no field \"case\" (--id)");
    refused("a.jsonl", "{\"values\":[1],\"id\":\"\"}\n", NULL, SIS_E_FORMAT,
            "line 1: field \"id\": is empty; expected an id");
    refused("a.jsonl", "{\"values\":[1],\"id\":[]}\n", "id", SIS_E_FORMAT,
            "expected text or a number");
    refused("a.seq", "seq\tcase\nA\t\n", "case", SIS_E_FORMAT, "line 2: the id is empty");
    refused("a.seq", "seq\nA\n", "case", SIS_E_ARGUMENT, "no column \"case\"");
    refused("a.txt", "a fine film\n", "case", SIS_E_ARGUMENT,
            "has no named columns, so no column \"case\"");
    refused("a.fa", ">a\nACGT\n", "case", SIS_E_ARGUMENT, "has no named columns");
    sis_data *data;
    assert_int_equal(sis_data_read(folder_text("a.fa", ">a\nACGT\n"),
                                   &(sis_data_opt){.size = sizeof(sis_data_opt), .label = "bound"},
                                   &data),
                     SIS_E_ARGUMENT);
    assert_message_has("has no named columns, so no column \"bound\"");
}

static void read_with_ids(const char *path) {
    sis_data_opt opt = {.size = sizeof opt, .id = "b"};
    sis_data *data;
    int code = sis_data_read(path, &opt, &data);
    assert_true(code == SIS_OK || code == SIS_E_FORMAT || code == SIS_E_ARGUMENT);
    sis_data_free(data);
}

static const char spoiled[] = "a,b,c\n1,x,3\n2,\"y\xC3\xA9\",4\n3,\"q\"\"\",1\n";

static void spoiled_ids_do_no_harm(void **state) {
    (void)state;
    with_spoiled_files("s.csv", spoiled, sizeof spoiled - 1, 2000, read_with_ids);
}

static int read_once(void *ctx) {
    sis_data_opt opt = {.size = sizeof opt, .id = "b"};
    sis_data *data;
    int code = sis_data_read((const char *)ctx, &opt, &data);
    sis_data_free(data);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
    } files[] = {{"m.csv", spoiled},
                 {"m.tsv", "text\tb\na fine film\tx\n"},
                 {"m.jsonl", "{\"values\":[1],\"b\":\"x\"}\n"},
                 {"m.seq", "seq\tb\nACGT\tx\n"}};
    char path[2048];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s", folder_text(files[i].name, files[i].text));
        assert_true(with_failing_allocations(read_once, path) > 5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_with_columns_has_ids),
        cmocka_unit_test(ids_of_a_table_are_no_feature),
        cmocka_unit_test(there_may_be_any_number_of_ids),
        cmocka_unit_test(what_is_no_id_is_refused),
        cmocka_unit_test(spoiled_ids_do_no_harm),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
