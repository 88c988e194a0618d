/* SPDX-License-Identifier: MIT
 *
 * Exports and conditions: cases that the golden tests of the program do not cover.
 */
#include "support_data.h"

#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>
#include <sis/export.h>

static const char line[] =
    "{\"sis\":2,\"id\":\"chr2:10-14\",\"model\":\"m\",\"method\":\"sis\",\"target\":1,"
    "\"target_label\":\"yes\",\"direction\":\">=\",\"threshold\":0.5,\"score\":0.9,"
    "\"masked_score\":0.1,\"status\":\"explained\",\"n_features\":4,\"subsets\":["
    "{\"features\":[0,1],\"score\":0.8},{\"features\":[2],\"score\":0.6}],\"rest_score\":0.2,"
    "\"kind\":\"dna\",\"label\":\"no\",\"names\":[\"a\",\"b\",\"c\",\"d\"],\"sequence\":\"ACGT\"}";

static void conditions_hold_or_not(void **state) {
    static const struct {
        const char *text;
        int holds;
    } cases[] = {{"feature=a", 1},
                 {"feature=d", 0},
                 {"feature=a and size=2", 1},
                 {"feature=a and size<2", 0}, /* not of the same subset */
                 {"feature!=a and size<2", 1},
                 {"class=yes", 1},
                 {"class=1", 1},
                 {"class!=1", 0},
                 {" label = no and score >= 0.9", 1},
                 {"score>0.9", 0},
                 {"threshold<=0.5 and status=explained and kind=dna", 1},
                 {"example=chr2:10-14 and method=sis and model!=x", 1},
                 {"size!=2", 1},
                 {"status==explained AND kind == dna", 1},
                 {"label='no' and example=\"chr2:10-14\"", 1},
                 {"label!='this and that'", 1},
                 {"label='kind=dna or size<3'", 0},
                 {"label=''", 0},
                 {"feature=class=1", 0},
                 {"size>2", 0}};
    sis_record r;
    (void)state;
    assert_int_equal(sis_record_parse(line, sizeof line - 1, &r), 0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sis_where *w;
        assert_int_equal(sis_where_parse(cases[k].text, &w), 0);
        assert_int_equal(sis_where_holds(w, &r), cases[k].holds);
        sis_where_free(w);
    }
    sis_record_release(&r);
}

static const char row[] =
    "{\"sis\":2,\"id\":\"r\",\"model\":\"m\",\"method\":\"sis\",\"target\":0,\"direction\":\">=\","
    "\"threshold\":0.5,\"score\":0.25,\"masked_score\":0.1,\"status\":\"not_decided\","
    "\"n_features\":4,\"subsets\":[],\"kind\":\"table\",\"values\":[30,0,1,null,7],"
    "\"names\":[\"age\",\"sex\",\"debt and rent\",\"score\"],\"value_names\":[\"age\",\"sex=male\","
    "\"sex=female\",\"debt and rent\",\"score\"],\"feature_map\":[0,1,1,2,3]}";

static void conditions_hold_of_columns(void **state) {
    static const struct {
        const char *text;
        int holds;
    } cases[] = {{"sex=female and score<0.3", 1},
                 {"sex=male", 0},
                 {"sex!=male and age>=30 and age<31", 1},
                 {"age=30.0", 1},
                 {"age!=30", 0},
                 {"age=thirty", 0},
                 {"'score'=7", 1}, /* the column of that name */
                 {"\"score\"<7", 0},
                 {"'debt and rent'=missing and id=r", 1},
                 {"'debt and rent'<5", 0},
                 {"colour=red", SIS_E_OPTION},
                 {"age>3 and colour=red", SIS_E_OPTION},
                 {"age<3 and colour=red", 0},
                 {"sex<5", SIS_E_OPTION},
                 {"Score>1", SIS_E_OPTION}};
    sis_record r;
    (void)state;
    assert_int_equal(sis_record_parse(row, sizeof row - 1, &r), 0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sis_where *w;
        assert_int_equal(sis_where_parse(cases[k].text, &w), 0);
        assert_int_equal(sis_where_holds(w, &r), cases[k].holds);
        sis_where_free(w);
    }
    assert_message_has("nor a column of record \"r\"");
    sis_record_release(&r);
}

static void conditions_that_make_no_sense_are_refused(void **state) {
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"", "expected FIELD=VALUE, as in \"class=1 and size<5\", found \"\""},
        {"feature", "expected FIELD=VALUE"},
        {"class=1 and ", "expected FIELD=VALUE"},
        {"=a", "expected a field or a column in front, found \"\""},
        {"age<young", "expected a number to compare with, found \"young\""},
        {"age=", "\"age\" is compared with nothing; add a value"},
        {"sex=female or age<3", "expected \" and \" between conditions"},
        {"score=>0.5",
         "expected =, !=, <, <=, > or >= (quote a value that begins with one), found \"=>\""},
        {"score<>1", "found \"<>\""},
        {"label<3", "expected = or !=, because label is not a number, found \"<\""},
        {"size=", "\"size\" is compared with nothing; add a value"},
        {"size=x", "expected a number to compare with, found \"x\""},
        {"score>nan", "expected a number to compare with"},
        {"status=Explained", "expected a status (explained, not_decided"},
        {"kind=picture", "expected a kind (array, table, text, dna or image), found \"picture\""},
        {"label='a and class=1", "expected the end of the quotes"},
        {"label='a' or class=1", "expected the end of the quotes, then \" and \" or nothing"},
        {"label='a' or label='b'", "expected the end of the quotes"},
        {"label='", "expected the end of the quotes"},
        {"feature=a or size<3", "expected \" and \" between conditions"},
        {"feature=a && size < 3", "expected \" and \" between conditions"},
        {"class=1, status=explained", "found \"1, status=explained\""},
    };
    (void)state;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        sis_where *w;
        assert_int_equal(sis_where_parse(wrong[k].text, &w), SIS_E_OPTION);
        assert_null(w);
        assert_message_has(wrong[k].message);
    }
}

static int keep(void *ctx, const char *bytes, size_t n) {
    strncat((char *)ctx, bytes, n);
    return 0;
}

static int stop(void *ctx, const char *bytes, size_t n) {
    (void)ctx, (void)bytes, (void)n;
    return -77;
}

static int export_once(void *ctx) {
    const char *format = (const char *)ctx;
    char text[4096] = "";
    sis_export_opt o = {.format = format, .write = keep, .ctx = text};
    o.path = folder_path("e.db");
    sis_export *e;
    sis_record r = {0};
    int code = sis_record_parse(line, sizeof line - 1, &r);
    if (code == SIS_OK)
        code = sis_export_open(&o, &e);
    if (code == SIS_OK) {
        code = sis_export_add(e, &r);
        int closed = sis_export_close(e);
        code = code == SIS_OK ? closed : code;
    }
    sis_record_release(&r);
    return code;
}

static int parse_once(void *ctx) {
    sis_where *w;
    int code = sis_where_parse((const char *)ctx, &w);
    sis_where_free(w);
    return code;
}

static int summarise_once(void *ctx) {
    sis_summary *s = NULL;
    sis_record r = {0};
    char *json = NULL;
    size_t n = 0, bytes;
    int code = sis_record_parse((const char *)ctx, strlen((const char *)ctx), &r);
    if (code == SIS_OK)
        code = sis_summary_new(&s);
    if (code == SIS_OK)
        code = sis_summary_add(s, &r);
    if (code == SIS_OK)
        code = sis_summary_sort(s, &n);
    if (code == SIS_OK)
        code = sis_summary_format(s, n, &json, &bytes);
    free(json);
    sis_summary_free(s);
    sis_record_release(&r);
    return code;
}

static void memory_may_run_out(void **state) {
    (void)state;
    char record[sizeof line];
    memcpy(record, line, sizeof line);
    assert_true(with_failing_allocations(summarise_once, record) > 5);
    char csv[] = "csv", bed[] = "bed", where[] = "feature=a and size<3";
    assert_true(with_failing_allocations(export_once, csv) > 3);
    assert_true(with_failing_allocations(export_once, bed) > 3);
    assert_true(with_failing_allocations(parse_once, where) > 2);
}

static void lines_are_as_documented(void **state) {
    char text[4096] = "";
    sis_export_opt o = {.format = "bed", .write = keep, .ctx = text};
    sis_export *e;
    sis_record r;
    (void)state;
    assert_int_equal(sis_record_parse(line, sizeof line - 1, &r), 0);
    assert_int_equal(sis_export_open(&o, &e), 0);
    assert_int_equal(sis_export_add(e, &r), 0);
    assert_int_equal(sis_export_left_out(e), 0);
    assert_int_equal(sis_export_close(e), 0);
    assert_string_equal(text, "chr2\t10\t12\tchr2:10-14/1\t800\t.\t10\t12\t0\t1\t2\t0\n"
                              "chr2\t12\t13\tchr2:10-14/2\t600\t.\t12\t13\t0\t1\t1\t0\n");
    const char *id = r.id;
    r.id = "a\tb\nchr2:10-14"; /* one record, one line */
    text[0] = '\0';
    r.collection.n_subsets = 1;
    assert_int_equal(sis_export_open(&o, &e), 0);
    assert_int_equal(sis_export_add(e, &r), 0);
    assert_int_equal(sis_export_close(e), 0);
    assert_string_equal(text, "chr2\t10\t12\ta b chr2:10-14/1\t800\t.\t10\t12\t0\t1\t2\t0\n");
    r.id = id;
    r.collection.n_subsets = 2;
    o.write = stop;
    o.format = "csv";
    assert_int_equal(sis_export_open(&o, &e), -77);
    assert_null(e);
    o.format = "xml";
    assert_int_equal(sis_export_open(&o, &e), SIS_E_OPTION);
    sis_record_release(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_hold_or_not),
        cmocka_unit_test(conditions_hold_of_columns),
        cmocka_unit_test(conditions_that_make_no_sense_are_refused),
        cmocka_unit_test(lines_are_as_documented),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
