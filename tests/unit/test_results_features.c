/* SPDX-License-Identifier: MIT
 *
 * Features of records: their names and categories.
 */
#include "support_results.h"

#include <stdint.h>
#include <string.h>

#include <sis/record.h>

/* A table: age, housing as three categories, job as two. */
typedef struct {
    sis_record record;
    double values[6], mask[6];
    int map[6];
    const char *features[3], *names[6];
} table;

static void table_make(table *t) {
    *t = (table){.values = {30, 0, 1, 0, 1, 0},
                 .mask = {1, 0.5, 0.25, 0.25, 0, 1},
                 .map = {0, 1, 1, 1, 2, 2},
                 .features = {"age", "housing", "job"},
                 .names = {"age", "housing=free", "housing=own", "housing=", "job_a", "job_b"}};
    t->record = (sis_record){.collection = {.n_features = 3},
                             .drawing.n_values = 6,
                             .drawing.values = t->values,
                             .drawing.mask = t->mask,
                             .drawing.n_names = 3,
                             .drawing.names = t->features,
                             .drawing.value_names = t->names,
                             .drawing.feature_map = t->map};
}

static void assert_name(const sis_record *r, int feature, const char *name) {
    char text[64];
    assert_int_equal(sis_record_name(r, feature, text, sizeof text), 1);
    assert_string_equal(text, name);
}

static void categories_are_called_by_their_name(void **state) {
    (void)state;
    table t;
    table_make(&t);
    const sis_record *r = &t.record;
    assert_null(sis_record_category(r, t.values, 0));
    assert_string_equal(sis_record_category(r, t.values, 1), "own");
    assert_string_equal(sis_record_category(r, t.values, 2), "a");
    assert_null(sis_record_category(r, t.mask, 0)); /* a number that happens to be 1 */
    assert_null(sis_record_category(r, t.mask, 1));
    assert_string_equal(sis_record_category(r, t.mask, 2), "b");
    t.values[2] = 0;
    assert_string_equal(sis_record_category(r, t.values, 1), "(none)");
    t.values[3] = 1;
    assert_string_equal(sis_record_category(r, t.values, 1), "\"\"");
    t.values[2] = 1;
    assert_null(sis_record_category(r, t.values, 1));
    assert_string_equal(sis_record_value_name(r, 1), "free");
    assert_string_equal(sis_record_value_name(r, 0), "age");
}

/* Records from other programs may have names of values only, or of features only. */
static void names_of_values_alone_are_enough(void **state) {
    (void)state;
    table t;
    table_make(&t);
    t.record.drawing.value_names = NULL;
    assert_null(sis_record_category(&t.record, t.values, 1));
    assert_null(sis_record_value_name(&t.record, 1));
    assert_name(&t.record, 1, "housing");
    t.record.drawing.names = t.names;
    t.record.drawing.n_names = 6;
    assert_name(&t.record, 0, "age");
    assert_name(&t.record, 1, "housing");
    assert_name(&t.record, 2, "job");
    assert_string_equal(sis_record_category(&t.record, t.values, 1), "own");
    t.map[4] = t.map[5] = -1;
    assert_string_equal(sis_record_value_name(&t.record, 4), "job_a");
}

/* Values that form one feature for another reason are not categories, even if they are 0 and 1. */
static void other_groups_are_no_categories(void **state) {
    (void)state;
    table t;
    table_make(&t);
    t.names[1] = "height", t.names[2] = "weight", t.names[3] = "x";
    assert_null(sis_record_category(&t.record, t.values, 1));
    assert_string_equal(sis_record_value_name(&t.record, 2), "weight");
    t.record.drawing.names = t.names;
    t.record.drawing.n_names = 6;
    t.record.drawing.value_names = NULL;
    assert_name(&t.record, 1, "height");
    assert_null(sis_record_category(&t.record, t.values, 1));
}

static void features_without_names_have_numbers(void **state) {
    (void)state;
    table t;
    char text[64];
    size_t count;
    table_make(&t);
    t.record.drawing.names = t.record.drawing.value_names = NULL;
    t.record.drawing.n_names = 0;
    assert_int_equal(sis_record_name(&t.record, 2, text, sizeof text), 0);
    assert_string_equal(text, "feature 2");
    assert_null(sis_record_category(&t.record, t.values, 1));
    assert_int_equal(sis_record_values(&t.record, 1, &count), 1);
    assert_int_equal(count, 3);
    t.record.drawing.values = NULL;
    assert_true(sis_record_values(&t.record, 1, &count) == SIZE_MAX && count == 0);
    const char *words[] = {"a", "fine", "film"};
    t.record.drawing.words = words;
    t.record.drawing.n_words = 3;
    assert_name(&t.record, 1, "fine");
}

static void names_are_cut_to_the_room_there_is(void **state) {
    (void)state;
    table t;
    char text[4];
    table_make(&t);
    assert_int_equal(sis_record_name(&t.record, 1, text, sizeof text), 1);
    assert_string_equal(text, "hou");
    t.record.drawing.names = t.names;
    t.record.drawing.n_names = 6;
    assert_int_equal(sis_record_name(&t.record, 1, text, sizeof text), 1);
    assert_string_equal(text, "hou");
}

static void names_share_what_is_before_a_separator(void **state) {
    (void)state;
    assert_int_equal(sis_name_stem("housing=own", "housing=rent"), 7);
    assert_int_equal(sis_name_stem("job_self_made", "job_self_taught"), 8);
    assert_int_equal(sis_name_stem("age", "age"), 0);
    assert_int_equal(sis_name_stem("_a", "_b"), 0);
    assert_int_equal(sis_name_stem("height", "weight"), 0);
    assert_int_equal(sis_name_stem("", ""), 0);
    assert_int_equal(sis_name_stem("a=", "a=b"), 1);
}

/* The index that parsing adds only makes finding values faster. */
static void values_are_found_wherever_they_lie(void **state) {
    (void)state;
    static const char line[] =
        "{\"sis\":2,\"id\":\"0\",\"model\":\"m\",\"method\":\"sis\",\"target\":0,\"direction\":\">="
        "\","
        "\"threshold\":0.5,\"score\":0.1,\"masked_score\":0,\"status\":\"not_decided\","
        "\"n_features\":2147483647,\"subsets\":[],\"values\":[1,0,0,3,0,1,0,2],"
        "\"feature_map\":[2,-1,2147483646,0,2,-1,0,2]}";
    const int features[] = {0, 1, 2, 3, 2147483646};
    sis_record r;
    assert_int_equal(sis_record_parse(line, sizeof line - 1, &r), SIS_OK);
    assert_non_null(r.drawing.by_feature);
    sis_record plain = r;
    plain.drawing.by_feature = NULL;
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        size_t n, want;
        assert_true(sis_record_values(&r, features[i], &n) ==
                    sis_record_values(&plain, features[i], &want));
        assert_int_equal(n, want);
        assert_int_equal(n, i == 0 ? 2 : i == 2 ? 3 : i == 4);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(sis_record_value(&r, features[i], k),
                             sis_record_value(&plain, features[i], k));
    }
    sis_record_release(&r);
}

/* ---- Pictures -------------------------------------------------------------------------------- */

/* Rows, columns and channels of a shape of three axes, and where the channels are. */
static void assert_raster(const size_t shape[3], const int *map, const size_t wanted[4]) {
    sis_record r = {.drawing.rank = 3, .drawing.shape = shape, .drawing.feature_map = map};
    sis_raster g = {0};
    r.drawing.n_values = shape[0] * shape[1] * shape[2];
    assert_int_equal(sis_record_raster(&r, &g), 1);
    const size_t found[] = {g.rows, g.columns, g.channels, g.channel_step};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(found[i], wanted[i]);
}

static void channels_are_where_values_of_a_pixel_belong_together(void **state) {
    (void)state;
    const int behind[12] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3};
    const int patches[16] = {0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3};
    int ahead[36];
    for (int v = 0; v < 36; v++)
        ahead[v] = v % 12;
    assert_raster((size_t[]){1, 4, 3}, NULL, (size_t[]){4, 3, 1, 12});
    assert_raster((size_t[]){1, 4, 3}, behind, (size_t[]){1, 4, 3, 1});
    assert_raster((size_t[]){3, 4, 1}, NULL, (size_t[]){3, 4, 1, 1});
    assert_raster((size_t[]){3, 4, 3}, NULL, (size_t[]){3, 4, 3, 1});
    assert_raster((size_t[]){3, 4, 3}, ahead, (size_t[]){4, 3, 3, 12});
    assert_raster((size_t[]){1, 4, 4}, patches, (size_t[]){4, 4, 1, 16});
    assert_raster((size_t[]){3, 28, 28}, NULL, (size_t[]){28, 28, 3, 784});
    assert_raster((size_t[]){28, 28, 4}, NULL, (size_t[]){28, 28, 4, 1});
}

static void what_is_no_picture_is_none(void **state) {
    (void)state;
    sis_raster g;
    const struct {
        size_t rank, shape[5], n_values;
        int is;
    } cases[] = {
        {1, {784}, 784, 0},        {2, {28, 28}, 784, 1},
        {2, {28, 28}, 785, 0},     {2, {28, 28}, 0, 1},
        {3, {28, 28, 5}, 3920, 0}, {4, {1, 28, 28, 1}, 784, 1},
        {4, {2, 2, 28, 28}, 0, 0}, {5, {1, 1, 3, 28, 28}, 2352, 1},
        {2, {0, 28}, 0, 0},        {2, {28, (size_t)1 << 40}, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis_record r = {.drawing.rank = cases[i].rank,
                        .drawing.shape = cases[i].shape,
                        .drawing.n_values = cases[i].n_values};
        assert_int_equal(sis_record_raster(&r, &g), cases[i].is);
    }
    assert_int_equal(sis_record_raster(&(sis_record){.drawing.rank = 2}, &g), 0);
}

static void features_are_counted_in_what_they_are(void **state) {
    (void)state;
    const size_t shape[2] = {4, 4};
    const double values[16] = {0};
    const int patches[16] = {0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3};
    const char *const words[] = {"a"};
    sis_record r = {.drawing.kind = "image",
                    .drawing.rank = 2,
                    .drawing.shape = shape,
                    .drawing.n_values = 16,
                    .drawing.values = values};
    r.collection.n_features = 16;
    assert_string_equal(sis_record_unit(&r), "pixel");
    r.drawing.feature_map = patches;
    r.collection.n_features = 4;
    assert_string_equal(sis_record_unit(&r), "part");
    r.collection.n_features = 17;
    assert_string_equal(sis_record_unit(&r), "value");
    r.drawing.kind = "array";
    assert_string_equal(sis_record_unit(&r), "feature");
    assert_string_equal(sis_record_unit(&(sis_record){.drawing.words = words}), "word");
    assert_string_equal(sis_record_unit(&(sis_record){.drawing.sequence = "A"}), "base");
}

static void labels_are_compared_by_name_and_value(void **state) {
    (void)state;
    enum { YES = SIS_STATUS_EXPLAINED, NO = SIS_STATUS_NOT_DECIDED, CUT = SIS_STATUS_CUT };
    static const struct {
        const char *label, *output;
        size_t n_outputs, place;
        int status, below, right;
    } cases[] = {
        {"2", "2", 1, 0, YES, 0, 1}, /* one score, that of class 2 of 1 and 2 */
        {"1", "2", 1, 0, YES, 0, 0},      {"1", "2", 1, 0, YES, 1, 1},
        {"2", "2", 1, 0, YES, 1, 0},      {"1", "2", 1, 0, NO, 0, 1},
        {"2.0", "2", 1, 0, YES, 0, 1},    {"1", "2", 1, 0, CUT, 0, 0},
        {"1", "2", 2, 1, YES, 0, 0}, /* a score for each of 1 and 2 */
        {"2", "2", 2, 1, YES, 0, 1},      {"1", "1", 2, 0, YES, 0, 1},
        {"0", "1", 2, 0, YES, 0, 0},      {"1", "2", 2, 1, YES, 1, 1},
        {"1", "good", 1, 0, YES, 0, 1}, /* 1 and 0 where the output has a name */
        {"0", "good", 1, 0, YES, 0, 0},   {"bad", "good", 1, 0, YES, 0, 0},
        {"good", "good", 1, 0, NO, 0, 0}, {"1", "bad", 2, 1, YES, 0, 1},
        {"1", NULL, 1, 0, YES, 0, 1}, /* without names */
        {"0", NULL, 1, 0, CUT, 1, 1},     {"2", NULL, 1, 0, YES, 0, -1},
        {"2", NULL, 3, 2, YES, 0, 1},     {"two", NULL, 3, 2, YES, 0, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis_record r = {.drawing.label = (char *)cases[i].label,
                        .question.target_label = (char *)cases[i].output,
                        .question.n_outputs = cases[i].n_outputs,
                        .question.target = cases[i].place,
                        .question.below = cases[i].below};
        r.collection.status = (sis_status)cases[i].status;
        if (sis_record_is_right(&r) != cases[i].right)
            fail_msg("case %zu: %d, expected %d", i, sis_record_is_right(&r), cases[i].right);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(categories_are_called_by_their_name),
        cmocka_unit_test(names_of_values_alone_are_enough),
        cmocka_unit_test(other_groups_are_no_categories),
        cmocka_unit_test(features_without_names_have_numbers),
        cmocka_unit_test(names_are_cut_to_the_room_there_is),
        cmocka_unit_test(names_share_what_is_before_a_separator),
        cmocka_unit_test(values_are_found_wherever_they_lie),
        cmocka_unit_test(channels_are_where_values_of_a_pixel_belong_together),
        cmocka_unit_test(what_is_no_picture_is_none),
        cmocka_unit_test(labels_are_compared_by_name_and_value),
        cmocka_unit_test(features_are_counted_in_what_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
