/* SPDX-License-Identifier: MIT
 *
 * Analysis of many records by the library alone: clusters with patterns and shares, comparisons of
 * two files and their models, pairs of records, evaluations of methods.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/analysis.h>

#include "base/buf.h"
#include "support_command.h"

/* Rows of three numbers; the first subset has the first two. */
static const char *const A[] = {
    "{\"sis\":1,\"id\":\"x\",\"model\":\"sh "
    "a.sh\",\"method\":\"sis\",\"output\":0,\"direction\":\">=\","
    "\"threshold\":1.5,\"score\":3,\"masked_score\":0,\"status\":\"explained\",\"n_features\":3,"
    "\"subsets\":[{\"features\":[1,0],\"score\":2}],\"rest_score\":1,\"values\":[1,1,1],"
    "\"mask\":[0,0,0],\"names\":[\"a\",\"b\",\"c\"]}",
    "{\"sis\":1,\"id\":\"y\",\"model\":\"sh "
    "a.sh\",\"method\":\"sis\",\"output\":0,\"direction\":\">=\","
    "\"threshold\":1.5,\"score\":1,\"masked_score\":0,\"status\":\"not_decided\",\"n_features\":3,"
    "\"subsets\":[],\"values\":[1,0,0],\"mask\":[0,0,0],\"names\":[\"a\",\"b\",\"c\"]}"};
static const char *const B[] = {
    "{\"sis\":1,\"id\":\"x\",\"model\":\"sh "
    "a.sh\",\"method\":\"sis\",\"output\":0,\"direction\":\">=\","
    "\"threshold\":1.5,\"score\":3,\"masked_score\":0,\"status\":\"explained\",\"n_features\":3,"
    "\"subsets\":[{\"features\":[2,1],\"score\":2}],\"rest_score\":1,\"values\":[1,1,1],"
    "\"mask\":[0,0,0],\"names\":[\"a\",\"b\",\"c\"]}",
    "{\"sis\":1,\"id\":\"y\",\"model\":\"sh "
    "a.sh\",\"method\":\"sis\",\"output\":0,\"direction\":\">=\","
    "\"threshold\":1.5,\"score\":1,\"masked_score\":0,\"status\":\"not_decided\",\"n_features\":3,"
    "\"subsets\":[],\"values\":[1,0,0],\"mask\":[0,0,0],\"names\":[\"a\",\"b\",\"c\"]}"};

/* Three outputs: the row itself. */
#define MODEL "cmd:" ECHO

static int read_lines(const char *const lines[2], const char *name, sis_records *out) {
    int error = SIS_OK;
    out->name = name;
    for (size_t i = 0; error == SIS_OK && i < 2; i++) {
        sis_record r;
        error = sis_record_parse(lines[i], strlen(lines[i]), &r);
        if (error == SIS_OK)
            error = sis_records_add(out, &r);
        sis_record_release(&r);
    }
    return error == SIS_OK ? sis_records_index(out, 1) : error;
}

static int cluster_both(const sis_records sides[2], sis_clustering *out) {
    sis_clustering_opt opt;
    sis_clusterer *c = NULL;
    sis_clustering_opt_init(&opt);
    opt.eps = 1;
    opt.min_size = 2;
    int error = sis_clusterer_new(&opt, &c);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; error == SIS_OK && i < sides[k].n; i++)
            error = sis_clusterer_add(c, sides[k].name, &sides[k].items[i]);
    if (error == SIS_OK)
        error = sis_clusterer_find(c, out);
    sis_clusterer_free(c);
    return error;
}

static void clusters_know_their_members(void **state) {
    sis_records sides[2] = {0};
    sis_clustering c;
    (void)state;
    assert_int_equal(read_lines(A, "a.jsonl", &sides[0]), 0);
    assert_int_equal(read_lines(B, "b.jsonl", &sides[1]), 0);
    assert_int_equal(cluster_both(sides, &c), 0);
    assert_string_equal(c.distance, "overlap");
    assert_int_equal(c.n_clusters, 1);
    assert_int_equal(c.n_records, 2);
    assert_int_equal(c.clusters[0].size, 2);
    assert_int_equal(c.clusters[0].members[1].record, 2); /* the second of A has no subsets */
    assert_string_equal(c.clusters[0].members[1].source, "b.jsonl");
    assert_string_equal(c.clusters[0].patterns[0].text, "a=1 b=1");
    assert_true(c.clusters[0].shares[0].share == 0.5);
    sis_clustering_release(&c);
    sis_records_release(&sides[0]);
    sis_records_release(&sides[1]);
}

static void pairs_are_found_by_id(void **state) {
    sis_records sides[2] = {0};
    sis_pair *pairs;
    size_t n;
    (void)state;
    assert_int_equal(read_lines(A, "a.jsonl", &sides[0]), 0);
    assert_int_equal(read_lines(B, "b.jsonl", &sides[1]), 0);
    assert_int_equal(sis_pairs_find(&sides[0], &sides[1], &pairs, &n), 0);
    assert_int_equal(n, 2);
    assert_true(pairs[0].overlap == 1.0 / 3 && pairs[0].shared == 0 && !pairs[0].same);
    assert_true(pairs[1].overlap == 1 && pairs[1].same);
    free(pairs);
    sis_records_release(&sides[0]);
    sis_records_release(&sides[1]);
}

static void models_score_the_subsets_of_each_other(void **state) {
    sis_records sides[2] = {0};
    sis_compare_opt opt;
    sis_comparison c;
    (void)state;
    sis_compare_opt_init(&opt);
    opt.models[0] = opt.models[1] = MODEL;
    assert_int_equal(read_lines(A, "a.jsonl", &sides[0]), 0);
    assert_int_equal(read_lines(B, "b.jsonl", &sides[1]), 0);
    assert_int_equal(sis_compare(sides, &opt, &c), 0);
    assert_int_equal(c.common, 2);
    assert_int_equal(c.decisions[SIS_DECISION_SAME], 1);
    assert_int_equal(c.decisions[SIS_DECISION_NEITHER], 1);
    assert_true(c.cross[0].n == 1 && c.cross[0].scores[0] == 1 && c.cross[0].sufficient == 0);
    assert_true(c.cross[1].scores[0] == 0); /* the first feature is masked */
    assert_int_equal(c.n_explained, 1);
    assert_string_equal(c.differences[0].patterns[1][0], "b=1 c=1");
    assert_non_null(c.joint.no_eps); /* two subsets are too few for a curve */
    sis_comparison_release(&c);
    opt.clustering.target_index = "1";
    assert_int_equal(sis_compare(sides, &opt, &c), SIS_E_ARGUMENT);
    assert_non_null(strstr(sis_error_detail(), "a.jsonl: cannot compare"));
    sis_records_release(&sides[0]);
    sis_records_release(&sides[1]);
}

static void methods_are_tested_against_the_first(void **state) {
    sis_records files[2] = {0};
    sis_evaluate_opt opt;
    sis_evaluation e;
    (void)state;
    sis_evaluate_opt_init(&opt);
    assert_int_equal(read_lines(A, "a.jsonl", &files[0]), 0);
    assert_int_equal(read_lines(B, "b.jsonl", &files[1]), 0);
    assert_int_equal(sis_evaluate(files, 2, &opt, &e), 0);
    assert_int_equal(e.n_shared, 2);
    assert_int_equal(e.n_examples, 1);           /* the other is not explained */
    assert_string_equal(e.methods[0].name, "a"); /* both methods are sis, so files name them */
    assert_true(e.methods[1].summary.quantities[SIS_QUANTITY_LENGTH].median == 2);
    assert_true(e.methods[1].summary.quantities[SIS_QUANTITY_LENGTH].signed_rank_p == 1);
    assert_true(isnan(e.methods[1].summary.quantities[SIS_QUANTITY_IMPORTANCE].median));
    assert_true(e.masked && e.methods[0].summary.sufficient_examples == 1);
    sis_evaluation_release(&e);
    opt.human = 1;
    assert_int_equal(sis_evaluate(files, 2, &opt, &e), SIS_E_ARGUMENT);
    assert_non_null(strstr(sis_error_detail(), "--human: no explained record of a.jsonl"));
    sis_records_release(&files[0]);
    sis_records_release(&files[1]);
}

/* ---- Parts of a run -------------------------------------------------------------------------- */

/* A file with one record, row `row` of two, made by the second or first of two shards. */
static void write_part(const char *path, size_t row, const char *shard) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "{\"sis\":2,\"id\":\"%zu\",\"model\":\"m\",\"method\":\"sis\",\"target\":0,"
            "\"direction\":\">=\",\"threshold\":1,\"score\":0,\"masked_score\":0,"
            "\"status\":\"not_decided\",\"n_features\":1,\"subsets\":[],"
            "\"provenance\":{\"version\":\"1\",\"examples\":2,\"samples\":1,\"seed\":1,"
            "\"kernels\":\"k\",\"machine\":\"x\",\"shard\":\"%s\"}}\n",
            row, shard);
    assert_int_equal(fclose(f), 0);
}

typedef struct {
    char paths[2][64];
    sis__buf written;
} parts;

static int keep_bytes(void *ctx, const char *bytes, size_t n) {
    sis__buf_add(ctx, bytes, n);
    return SIS_OK;
}

static void none_is_missing(void *ctx, size_t row) {
    (void)ctx;
    (void)row;
    fail();
}

static int merge_parts(void *ctx) {
    parts *p = ctx;
    sis_lines l = {0};
    sis__buf_clear(&p->written);
    int error = sis_lines_add(&l, p->paths[0]);
    if (error == SIS_OK)
        error = sis_lines_add(&l, p->paths[1]);
    if (error == SIS_OK)
        error = sis_lines_sort(&l, none_is_missing, NULL);
    if (error == SIS_OK)
        error = sis_lines_write(&l, l.provenance_json, keep_bytes, &p->written);
    if (error == SIS_OK)
        error = sis__buf_error(&p->written);
    sis__buf_release(&p->written);
    sis_lines_release(&l);
    return error;
}

static void parts_of_a_run_are_merged_in_order(void **state) {
    parts p = {.paths = {"/tmp/sis-part-XXXXXX", "/tmp/sis-part-XXXXXX"}};
    sis_lines l = {0};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        int fd = mkstemp(p.paths[k]);
        assert_true(fd >= 0);
        close(fd);
        write_part(p.paths[k], 1 - k, k ? "0/2" : "1/2");
    }
    assert_int_equal(sis_lines_add(&l, p.paths[0]), 0);
    assert_int_equal(sis_lines_add(&l, p.paths[1]), 0);
    assert_int_equal(sis_lines_sort(&l, none_is_missing, NULL), 0);
    assert_int_equal(l.n, 2);
    assert_true(l.items[0].file == 1 && l.items[1].file == 0);
    assert_null(strstr(l.provenance_json, "shard"));
    sis_lines_release(&l);
    assert_true(with_failing_allocations(merge_parts, &p) > 10);
    write_part(p.paths[1], 1, "1/2"); /* the example of the first file is there twice */
    assert_int_equal(sis_lines_add(&l, p.paths[0]), 0);
    assert_int_equal(sis_lines_add(&l, p.paths[1]), 0);
    assert_int_equal(sis_lines_sort(&l, none_is_missing, NULL), SIS_E_FORMAT);
    sis_lines_release(&l);
    unlink(p.paths[0]);
    unlink(p.paths[1]);
}

static int everything(void *ctx) {
    sis_records sides[2] = {0};
    sis_clustering c = {0};
    sis_pair *pairs = NULL;
    sis_evaluate_opt opt;
    sis_evaluation e = {0};
    size_t n;
    (void)ctx;
    sis_evaluate_opt_init(&opt);
    int error = read_lines(A, "a.jsonl", &sides[0]);
    if (error == SIS_OK)
        error = read_lines(B, "b.jsonl", &sides[1]);
    if (error == SIS_OK)
        error = cluster_both(sides, &c);
    if (error == SIS_OK)
        error = sis_pairs_find(&sides[0], &sides[1], &pairs, &n);
    if (error == SIS_OK)
        error = sis_evaluate(sides, 2, &opt, &e);
    free(pairs);
    sis_evaluation_release(&e);
    sis_clustering_release(&c);
    sis_records_release(&sides[0]);
    sis_records_release(&sides[1]);
    return error;
}

static void memory_may_run_out(void **state) {
    (void)state;
    assert_true(with_failing_allocations(everything, NULL) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_know_their_members),
        cmocka_unit_test(pairs_are_found_by_id),
        cmocka_unit_test(models_score_the_subsets_of_each_other),
        cmocka_unit_test(methods_are_tested_against_the_first),
        cmocka_unit_test(parts_of_a_run_are_merged_in_order),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
