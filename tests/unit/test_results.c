/* SPDX-License-Identifier: MIT
 *
 * Records of results files: their format, and reading back to the byte.
 */
#include "support_results.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

static void records_are_written_field_by_field(void **state) {
    (void)state;
    sample s;
    sample_make(&s);
    char *line = record_line(&s.record, 1);
    assert_string_equal(
        line,
        "{\"sis\":2,\"id\":\"7\",\"model\":\"m.onnx\",\"method\":\"sis\",\"target\":3,\"n_"
        "outputs\":4,"
        "\"target_label\":\"three\",\"direction\":\">=\",\"threshold\":0.7,\"score\":0.95,"
        "\"masked_score\":0.1,\"status\":\"explained\",\"n_features\":6,\"subsets\":[{\"features\":"
        "[4,1],\"score\":0.75,\"start\":0.95,\"order\":[3,0,2,5,1,4],\"trace\":[0.9,0.85,0.8,0.75,"
        "0.5,0.1]},{\"features\":[5,0,2],\"score\":0.7}],\"rest_score\":0.25,\"verified\":true,"
        "\"complete\":true,\"evaluations\":123,\"seconds\":0.012346,\"kind\":\"table\",\"shape\":"
        "[2,4],\"values\":[1,2.5,-3,0,1e-07,1e+22,0.1,7],\"mask\":[0,0,0,0,0,0,0,0],"
        "\"masking\":\"pad\",\"names\":"
        "[\"a\",\"b "
        "\\\"q\\\"\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\"],\"value_names\":[\"a=1\",\"b\",\"c\","
        "\"d\",\"e\",\"f\",\"g\",\"a=2\"],\"feature_map\":[0,1,2,3,4,5,"
        "-1,0],\"label\":\"cat\",\"words\":[\"the\",\"caf\xC3\xA9\",\"\",\"\\n\",\"\\\\\",\"end\"],"
        "\"sequence\":\"ACGTNA\",\"human\":[1,5]}\n");
    assert_stable(line);
    free(line);
    line = record_line(&s.record, 0);
    assert_null(strstr(line, "order"));
    assert_null(strstr(line, "trace"));
    assert_stable(line);
    free(line);
}

static void records_hold_what_was_read(void **state) {
    (void)state;
    sample s;
    sis_record r;
    sample_make(&s);
    s.record.question.below = 1;
    char *line = record_line(&s.record, 1);
    assert_int_equal(sis_record_parse(line, strlen(line), &r), 0);
    const sis_collection *c = &r.collection;
    assert_true(r.question.below && r.question.target == 3 && r.question.n_outputs == 4 &&
                r.question.threshold == 0.7 && r.drawing.n_human == 2);
    assert_true(c->verified && c->complete && c->evaluations == 123 && c->seconds == 0.012346);
    assert_true(c->score == 0.95 && c->masked_score == 0.1 && c->rest_score == 0.25);
    assert_true(c->subsets[0].trace.start == 0.95 && isnan(c->subsets[1].trace.start));
    assert_memory_equal(c->subsets[1].features, s.features[1], 3 * sizeof(int));
    assert_memory_equal(c->subsets[0].trace.order, s.order, sizeof s.order);
    assert_memory_equal(c->subsets[0].trace.scores, s.scores, sizeof s.scores);
    assert_memory_equal(r.drawing.values, s.values, sizeof s.values);
    assert_memory_equal(r.drawing.feature_map, s.map, sizeof s.map);
    assert_memory_equal(r.drawing.shape, s.shape, sizeof s.shape);
    assert_string_equal(r.drawing.names[1], "b \"q\"");
    assert_string_equal(r.drawing.value_names[7], "a=2");
    assert_string_equal(r.drawing.words[1], "caf\xC3\xA9");
    assert_string_equal(r.drawing.sequence, "ACGTNA");
    assert_string_equal(r.question.target_label, "three");
    sis_record_release(&r);
    assert_null(r.id);
    sis_record_release(&r);
    free(line);
}

/* The line of the example in the design, without other optional fields. */
static void short_records_are_enough(void **state) {
    (void)state;
    static const char line[] =
        "{\"sis\":2,\"id\":\"0\",\"model\":\"m.onnx\",\"method\":\"sis\",\"target\":7,"
        "\"direction\":"
        "\">=\",\"threshold\":0.7,\"score\":0.999,\"masked_score\":0.065,\"status\":\"explained\","
        "\"n_features\":784,\"subsets\":[{\"features\":[233,234],\"score\":0.704,\"order\":[1,234,"
        "233],\"trace\":[0.9,0.8,0.1]}],\"rest_score\":0.31,\"later\":{\"a\":[1,null]}}";
    sis_record r;
    assert_int_equal(sis_record_parse(line, sizeof line - 1, &r), 0);
    assert_true(r.collection.subsets[0].trace.start == 0.999);
    assert_true(!r.collection.verified && !r.collection.complete && !r.drawing.values &&
                !r.drawing.names);
    assert_int_equal(r.question.n_outputs, 0);
    assert_int_equal(r.collection.n_features, 784);
    sis_record_release(&r);
}

static void other_statuses_have_no_subsets(void **state) {
    (void)state;
    for (int status = SIS_STATUS_NOT_DECIDED; status <= SIS_STATUS_ERROR; status++) {
        sis_record r = {.id = "", .model = "", .question.method = "sis", .question.threshold = 1};
        char message[] = "the model answered NaN\x1b";
        r.collection =
            (sis_collection){.status = (sis_status)status, .n_features = 3, .score = 0.5};
        if (status == SIS_STATUS_ERROR) {
            r.collection.message = message;
            r.collection.score = r.collection.masked_score = NAN;
        }
        char *line = record_line(&r, 1);
        assert_null(strstr(line, "rest_score"));
        assert_stable(line);
        sis_record parsed;
        assert_int_equal(sis_record_parse(line, strlen(line), &parsed), 0);
        assert_true(parsed.collection.rest_score == 0.5 || isnan(parsed.collection.score));
        if (status == SIS_STATUS_ERROR)
            assert_string_equal(parsed.collection.message, message);
        sis_record_release(&parsed);
        free(line);
    }
}

static void the_old_name_of_a_status_is_read(void **state) {
    (void)state;
    static const char line[] =
        "{\"sis\":1,\"id\":\"0\",\"model\":\"m\",\"method\":\"sis\",\"output\":0,\"direction\":"
        "\"<=\",\"threshold\":0.7,\"score\":0.92,\"masked_score\":0.1,\"status\":"
        "\"below_threshold\",\"n_features\":2,\"subsets\":[]}";
    sis_record r;
    assert_int_equal(sis_record_parse(line, sizeof line - 1, &r), 0);
    assert_int_equal(r.collection.status, SIS_STATUS_NOT_DECIDED);
    char *now = record_line(&r, 1);
    assert_non_null(strstr(now, "\"status\":\"not_decided\""));
    free(now);
    sis_record_release(&r);
}

/* ---- Random records ------------------------------------------------------------------------ */

static double any_number(sis__rng *r) {
    static const double special[] = {0, 1, -1, 0.1, 1e300, -5e-324, DBL_MAX, 1.0 / 3, 1e15, 123456};
    union {
        uint64_t u;
        double d;
    } bits = {.u = sis__rng_next(r)};
    switch (sis__rng_below(r, 4)) {
    case 0:
        return special[sis__rng_below(r, sizeof special / sizeof *special)];
    case 1:
        return sis__rng_normal(r);
    case 2:
        return (double)(float)sis__rng_normal(r);
    default:
        return isfinite(bits.d) ? bits.d : 0;
    }
}

/* A text of up to 11 bytes, valid or not, at `out`. */
static const char *any_text(sis__rng *r, char out[12]) {
    static const char letters[] =
        "abcXYZ019 \"\\/\n\t\r\x01\x7F{}[]:,\xC3\xA9\xE2\x82\xAC\xF0\x9F\xFF";
    size_t n = sis__rng_below(r, 12);
    for (size_t i = 0; i < n; i++)
        out[i] = letters[sis__rng_below(r, sizeof letters - 1)];
    out[n] = '\0';
    return out;
}

static void shuffle(sis__rng *r, int *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        v[i] = (int)i;
    for (size_t i = n; i > 1; i--) {
        size_t k = sis__rng_below(r, i);
        int swap = v[k];
        v[k] = v[i - 1];
        v[i - 1] = swap;
    }
}

static void sample_randomise(sample *s, sis__rng *r, char texts[][12]) {
    sis_record *c = &s->record;
    size_t t = 0;
    int left = (int)sis__rng_below(r, 1 << 15);
    sample_make(s);
    c->id = any_text(r, texts[t++]);
    c->model = any_text(r, texts[t++]);
    c->drawing.label = left & 1 ? any_text(r, texts[t++]) : NULL;
    c->question.target_label = left & 2 ? any_text(r, texts[t++]) : NULL;
    c->drawing.kind = left & 4 ? any_text(r, texts[t++]) : NULL;
    for (size_t i = 0; i < FEATURES; i++)
        s->words[i] = any_text(r, texts[t++]);
    c->drawing.words = left & 8 ? s->words : NULL;
    c->drawing.n_words = left & 8 ? FEATURES : 0;
    for (size_t i = 0; i < VALUES; i++) {
        s->values[i] = any_number(r);
        s->mask[i] = any_number(r);
        s->map[i] = (int)sis__rng_below(r, FEATURES + 1) - 1;
    }
    c->drawing.mask = left & 16 ? s->mask : NULL;
    c->drawing.names = left & 32 ? s->names : NULL;
    c->drawing.n_names = left & 32 ? (left & 64 ? VALUES : FEATURES) : 0;
    c->drawing.value_names = left & 16384 ? s->value_names : NULL;
    c->drawing.sequence = left & 128 ? "GATTAC" : NULL;
    c->drawing.human = left & 256 ? s->human : NULL;
    c->drawing.n_human = left & 512 && c->drawing.human ? 2 : 0;
    c->question.below = (left & 1024) != 0;
    c->drawing.shape = left & 2048 ? s->shape : NULL;
    c->drawing.rank = left & 2048 ? 2 : 0;
    c->question.threshold = any_number(r);
    c->question.target = sis__rng_below(r, 1000);
    c->question.n_outputs = left & 8192 ? c->question.target + 1 + sis__rng_below(r, 10) : 0;
    c->collection.score = any_number(r);
    c->collection.masked_score = any_number(r);
    c->collection.rest_score = any_number(r);
    c->collection.verified = (left & 4096) != 0;
    c->collection.evaluations = (size_t)(sis__rng_next(r) >> (1 + sis__rng_below(r, 63)));
    c->collection.seconds = fabs(any_number(r));
    c->collection.n_subsets = 1 + sis__rng_below(r, 2);
    for (size_t k = 0; k < 2; k++) {
        shuffle(r, s->features[k], FEATURES);
        s->subsets[k].n = 1 + sis__rng_below(r, FEATURES);
        s->subsets[k].score = any_number(r);
    }
    shuffle(r, s->order, FEATURES);
    s->subsets[0].trace.n = sis__rng_below(r, FEATURES + 1);
    for (size_t i = 0; i < FEATURES; i++)
        s->scores[i] = any_number(r);
}

static void random_records_come_back_to_the_byte(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 4);
    for (int round = 0; round < 3000; round++) {
        static char texts[32][12];
        sample s;
        sample_randomise(&s, &r, texts);
        char *line = record_line(&s.record, 1);
        assert_stable(line);
        free(line);
    }
}

static int format_and_parse(void *ctx) {
    (void)ctx;
    sample s;
    sis_record r = {0};
    char *line;
    size_t n;
    sample_make(&s);
    int code = sis_record_format(&s.record, 1, &line, &n);
    if (code == SIS_OK)
        code = sis_record_parse(line, n, &r);
    sis_record_release(&r);
    free(line);
    return code;
}

static void rows_and_origins_are_written_where_they_say_something(void **state) {
    sample s;
    sis_record r;
    (void)state;
    sample_make(&s);
    s.record.has_row = 1;
    s.record.row = 7;
    s.record.provenance = "{\"version\":\"1\"}";
    char *line = record_line(&s.record, 0);
    assert_null(strstr(line, "\"row\"")); /* its id is that number */
    assert_non_null(strstr(line, ",\"provenance\":{\"version\":\"1\"}}\n"));
    assert_stable(line);
    free(line);
    s.record.row = 8;
    line = record_line(&s.record, 0);
    assert_int_equal(sis_record_parse(line, strlen(line), &r), 0);
    assert_true(r.has_row && r.row == 8);
    assert_string_equal(r.provenance, s.record.provenance);
    sis_record_release(&r);
    free(line);
    const char *const bad[] = {"{", "[1]", "{\"a\":1}\n", "{} {}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t n;
        s.record.provenance = bad[i];
        assert_int_equal(sis_record_format(&s.record, 0, &line, &n), SIS_E_ARGUMENT);
    }
}

static const char *const words[] = {"sis", "explain", "--model=a \"b\".onnx"};

static int made_round_trip(void *ctx) {
    (void)ctx;
    sis_provenance provenance = {.version = "1.2",
                                 .n_command = 3,
                                 .command = words,
                                 .model_sha256 = "aa",
                                 .examples = 12,
                                 .rows = "0:4",
                                 .mask = "zero",
                                 .samples = 32,
                                 .seed = 7,
                                 .kernels = "base",
                                 .machine = "pdp11",
                                 .shard = 2,
                                 .shards = 8};
    sis_provenance back;
    char *json = NULL, *again = NULL;
    int error = sis_provenance_format(&provenance, &json);
    if (error == SIS_OK)
        error = sis_provenance_parse(json, &back);
    if (error == SIS_OK) {
        assert_true(back.shard == 2 && back.shards == 8 && back.examples == 12 && back.seed == 7);
        assert_string_equal(back.command[2], words[2]);
        assert_null(back.input_sha256);
        error = sis_provenance_format(&back, &again);
        if (error == SIS_OK)
            assert_string_equal(again, json);
        sis_provenance_release(&back);
    }
    free(json);
    free(again);
    return error;
}

static void how_results_were_made_reads_back(void **state) {
    static const char *const bad[] = {"{}",
                                      "[]",
                                      "{\"version\":1}",
                                      "{\"version\":\"1\",\"shard\":\"8/8\"}",
                                      "{\"version\":\"1\",\"shard\":\"x\"}",
                                      "{\"version\":\"1\",\"command\":[1]}",
                                      "{\"version\":\"1\",\"examples\":-1}"};
    sis_provenance provenance;
    (void)state;
    assert_int_equal(made_round_trip(NULL), 0);
    assert_true(with_failing_allocations(made_round_trip, NULL) > 5);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sis_provenance_parse(bad[i], &provenance), SIS_E_FORMAT);
    sis_provenance_release(NULL);
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    assert_true(with_failing_allocations(format_and_parse, NULL) > 25);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_origins_are_written_where_they_say_something),
        cmocka_unit_test(how_results_were_made_reads_back),
        cmocka_unit_test(records_are_written_field_by_field),
        cmocka_unit_test(records_hold_what_was_read),
        cmocka_unit_test(short_records_are_enough),
        cmocka_unit_test(other_statuses_have_no_subsets),
        cmocka_unit_test(the_old_name_of_a_status_is_read),
        cmocka_unit_test(random_records_come_back_to_the_byte),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
