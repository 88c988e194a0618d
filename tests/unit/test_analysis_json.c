/* SPDX-License-Identifier: MIT
 *
 * JSON of clusters, comparisons and evaluations: reading and writing again gives the same bytes,
 * absent fields have their defaults, and failed allocations are reported.
 */
#include "support.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

/* ---- Complete objects ------------------------------------------------------------------------- */

static const sis_member members[] = {{.id = "a\xFF", .source = "x.jsonl"},
                                     {.id = "b \"q\"", .subset = 3, .source = "y.jsonl"},
                                     {.id = "c", .subset = 1}};
static const sis_pattern patterns[] = {{"creme brulee", 2}, {"", 1}};
static const sis_share shares[] = {{"x.jsonl", 1.0 / 3}, {"y\xED\xA0\x80.jsonl", 2.0 / 3}};
static const double matrix[] = {3, 0.25, 0, 1, 0, 0, 4.25, 0};
static const sis_found_match matches[] = {{"MA1", "ELK1", 0.5, 1e-9, 1e-6, -2, 1, 4, matrix},
                                          {"MA2", "MA2", 7, NAN, NAN, 0, 0, 0, NULL}};
static const sis_found_cluster clusters[] = {
    {.number = 1,
     .size = 2,
     .core = 1,
     .n_members = 2,
     .members = members,
     .n_patterns = 2,
     .patterns = patterns,
     .medoid = {.id = "c", .subset = 1},
     .n_shares = 2,
     .shares = shares,
     .n_matrix = 8,
     .matrix = matrix,
     .n_matches = 2,
     .matches = matches},
    {.number = 2, .size = 1, .n_members = 1, .members = members + 2},
};
static const sis_clustering clustering = {.distance = "jaccard",
                                          .strands = "both",
                                          .eps = 0.1,
                                          .min_size = 2,
                                          .n = 4,
                                          .n_clusters = 2,
                                          .clusters = clusters,
                                          .n_noise = 1,
                                          .noise = members + 1};

static const double scores[] = {0.25, NAN, 1e300}, quantiles[] = {0, 0.25, 0.5, 0.75, 1};
static const char *const texts[] = {"p", "q", "r"};
static const sis_difference differences[] = {{"b", 0.75, {2, 1}, {texts, texts + 2}}};

static sis_comparison comparison(void) {
    return (sis_comparison){
        .sides = {{"x.jsonl", "m.onnx", 5, 6, 0.7, 0, 0, 0},
                  {"y.jsonl", "cmd:m", 4, 0, NAN, 1, 0, 0}},
        .common = 9,
        .decisions = {3, 2, 1, 1, 2},
        .cross = {{0.5, 3, scores, 5, quantiles, quantiles}, {NAN, 0, NULL, 0, NULL, NULL}},
        .joint = clustering,
        .n_differences = 1,
        .differences = differences,
    };
}

static const int features[] = {4, 2};
static const double importance[] = {0.1, -0.2, 0};

static void evaluation_make(sis_evaluation *e, sis_rated rated[2], sis_evaluated_example *x,
                            sis_evaluated_method m[2]) {
    *x = (sis_evaluated_example){"b", 3, 3, 1, 0.7, 0.9, 0.8, -0.1, importance};
    for (int k = 0; k < SIS_N_MEASURES; k++)
        for (int i = 0; i < 2; i++)
            rated[i].measures[k] = k % (i + 2) ? 0.5 : NAN;
    rated[0].measures[SIS_MEASURE_SUFFICIENT] = 1;
    rated[1].measures[SIS_MEASURE_SUFFICIENT] = 0;
    for (int i = 0; i < 2; i++) {
        rated[i].example = 0;
        rated[i].subset = (size_t)i;
        rated[i].n_features = 2;
        rated[i].features = features;
        rated[i].motif_start = i ? -1 : 12;
        rated[i].reverse = !i;
        m[i] = (sis_evaluated_method){.name = i ? "lime" : "sis",
                                      .method = "m",
                                      .file = "f",
                                      .n = 1,
                                      .rationales = rated + i};
        m[i].summary =
            (sis_method_summary){1.5, 4, 1, .pearson_r = i ? NAN : 0.5, .pearson_p = NAN};
        for (int k = 0; k < SIS_N_QUANTITIES; k++)
            m[i].summary.quantities[k] = (sis_quantity){k ? 2 : NAN, 2, 1, 3, 0.5, 0.01, NAN};
    }
    m[1].summary.n_cuts = 3;
    for (int k = 0; k < SIS_N_CURVES; k += 2)
        m[1].summary.curves[k] = importance;
    *e = (sis_evaluation){.model = "m.onnx",
                          .motif = "M1",
                          .n_examples = 1,
                          .examples = x,
                          .n_methods = 2,
                          .methods = m,
                          .n_draws = 3,
                          .by_mask = scores,
                          .by_hotdeck = scores};
}

/* ---- Round trips ------------------------------------------------------------------------------ */

typedef int (*again)(const char *text, size_t n, char **out, size_t *m);

static int clusters_again(const char *text, size_t n, char **out, size_t *m) {
    sis_clustering c;
    int code = sis_clustering_parse(text, n, &c);
    if (code == SIS_OK)
        code = sis_clustering_format(&c, out, m);
    sis_clustering_release(&c);
    return code;
}

static int comparison_again(const char *text, size_t n, char **out, size_t *m) {
    sis_comparison c;
    int code = sis_comparison_parse(text, n, &c);
    if (code == SIS_OK)
        code = sis_comparison_format(&c, out, m);
    sis_comparison_release(&c);
    return code;
}

static int evaluation_again(const char *text, size_t n, char **out, size_t *m) {
    sis_evaluation e;
    int code = sis_evaluation_parse(text, n, &e);
    if (code == SIS_OK)
        code = sis_evaluation_format(&e, out, m);
    sis_evaluation_release(&e);
    return code;
}

/* Read and written again, the text is the same; truncated anywhere, it is refused. Frees the
 * text. */
static void assert_stable(char *text, size_t n, again read_again) {
    char *twice;
    size_t m;
    assert_int_equal(read_again(text, n, &twice, &m), SIS_OK);
    assert_string_equal(twice, text);
    assert_int_equal(m, n);
    free(twice);
    for (size_t k = 0; k + 1 < n; k++)
        assert_int_equal(read_again(text, k, &twice, &m), SIS_E_FORMAT);
    free(text);
}

static void clusters_read_back(void **state) {
    (void)state;
    char *text;
    size_t n;
    sis_clustering c;
    assert_int_equal(sis_clustering_format(&clustering, &text, &n), SIS_OK);
    assert_int_equal(sis_clustering_parse(text, n, &c), SIS_OK);
    assert_true(c.n == 4 && c.min_size == 2 && c.eps == 0.1 && c.n_clusters == 2 && c.n_noise == 1);
    assert_string_equal(c.clusters[0].members[0].id, "a\xEF\xBF\xBD"); /* UTF-8 fixed */
    assert_true(c.clusters[0].shares[1].share == 2.0 / 3 && c.clusters[0].core == 1);
    assert_null(c.clusters[1].medoid.id);
    assert_null(c.clusters[1].members[0].source);
    assert_string_equal(c.noise[0].source, "y.jsonl");
    assert_string_equal(c.strands, "both");
    const sis_found_match *m = c.clusters[0].matches;
    assert_true(c.clusters[0].n_matrix == 8 && c.clusters[0].matrix[6] == 4.25);
    assert_true(c.clusters[0].n_matches == 2 && m[0].q == 1e-6 && m[0].offset == -2);
    assert_true(m[0].reverse && m[0].n_matrix == 4 && m[0].matrix[1] == 0.25);
    assert_true(isnan(m[1].p) && !m[1].reverse && m[1].n_matrix == 0);
    sis_clustering_release(&c);
    assert_stable(text, n, clusters_again);
}

static void comparisons_read_back(void **state) {
    (void)state;
    char *text;
    size_t n;
    sis_comparison from = comparison(), c;
    assert_true(sis_comparison_agreement(&from) == 5.0 / 9);
    assert_int_equal(sis_comparison_format(&from, &text, &n), SIS_OK);
    assert_int_equal(sis_comparison_parse(text, n, &c), SIS_OK);
    assert_true(c.sides[1].below && isnan(c.sides[1].threshold) && c.cross[0].n == 3);
    assert_true(isnan(c.cross[0].scores[1]) && isnan(c.cross[1].sufficient) && c.cross[1].n == 0);
    assert_true(c.decisions[SIS_DECISION_OTHER_OUTPUT] == 2 && c.joint.n_clusters == 2);
    assert_string_equal(c.differences[0].patterns[1][0], "r");
    sis_comparison_release(&c);
    assert_stable(text, n, comparison_again);
}

static void evaluations_read_back(void **state) {
    (void)state;
    char *text;
    size_t n;
    sis_rated rated[2];
    sis_evaluated_example x;
    sis_evaluated_method m[2];
    sis_evaluation from, e;
    evaluation_make(&from, rated, &x, m);
    assert_int_equal(sis_evaluation_format(&from, &text, &n), SIS_OK);
    assert_int_equal(sis_evaluation_parse(text, n, &e), SIS_OK);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < SIS_N_MEASURES; k++) {
            double a = e.methods[i].rationales[0].measures[k], b = rated[i].measures[k];
            assert_true(a == b || (isnan(a) && isnan(b)));
        }
    assert_true(e.methods[0].rationales[0].motif_start == 12 && e.methods[0].rationales[0].reverse);
    assert_true(e.methods[1].rationales[0].motif_start == -1 && e.examples[0].below);
    assert_true(isnan(e.methods[0].summary.quantities[1].rank_sum_p)); /* first method */
    assert_true(e.methods[1].summary.quantities[1].rank_sum_p == 0.01 && e.n_draws == 3);
    assert_true(e.methods[0].summary.n_cuts == 0 && e.methods[1].summary.n_cuts == 3);
    assert_true(e.methods[1].summary.curves[SIS_CURVE_SUFFICIENCY][1] == -0.2);
    assert_null(e.methods[1].summary.curves[SIS_CURVE_FEATURES]);
    assert_string_equal(sis_measure_name(SIS_MEASURE_DECK_HOLDS), "deck_holds");
    sis_evaluation_release(&e);
    assert_stable(text, n, evaluation_again);
}

/* ---- Unusual objects -------------------------------------------------------------------------- */

static void what_is_absent_has_its_default(void **state) {
    (void)state;
    static const char clusters_text[] = "{\"clusters\":[]}", other[] = "{\"methods\":[]}",
                      comparison_text[] = "{\"decisions\":{},\"a\":{},\"b\":{}}";
    sis_clustering c;
    sis_comparison d;
    sis_evaluation e;
    assert_int_equal(sis_clustering_parse(clusters_text, strlen(clusters_text), &c), SIS_OK);
    assert_true(isnan(c.eps) && !c.distance && c.n_noise == 0);
    assert_int_equal(sis_comparison_parse(comparison_text, strlen(comparison_text), &d), SIS_OK);
    assert_true(isnan(sis_comparison_agreement(&d)) && isnan(d.cross[0].sufficient));
    assert_string_equal(d.sides[0].model, "");
    assert_int_equal(sis_evaluation_parse(other, strlen(other), &e), SIS_OK);
    assert_true(!e.motif && e.n_methods == 0 && e.n_draws == 0);
    sis_clustering_release(&c);
    sis_comparison_release(&d);
    sis_evaluation_release(&e);
    static const char nobodys[] =
        "{\"examples\":[],\"methods\":[{\"rationales\":[{\"id\":\"x\"}]}]}";
    char *text;
    size_t n;
    assert_int_equal(evaluation_again(nobodys, strlen(nobodys), &text, &n), SIS_OK);
    assert_non_null(strstr(text, "\"rationales\":[{\"subset\":0}]")); /* without an example */
    free(text);
    assert_int_equal(sis_clustering_parse(other, strlen(other), &c), SIS_E_FORMAT);
    assert_int_equal(sis_clustering_parse("{\"clusters\":[]\0}", 16, &c), SIS_E_FORMAT);
    static const char *const bad[] = {"[1,2,3]", "[1,2,3,-1]", "[1,2,3,\"4\"]"};
    for (size_t k = 0; k < 3; k++) {
        char line[200];
        int m =
            snprintf(line, sizeof line, "{\"clusters\":[{\"members\":[],\"matrix\":%s}]}", bad[k]);
        assert_int_equal(sis_clustering_parse(line, (size_t)m, &c), SIS_E_FORMAT);
        assert_non_null(strstr(sis_error_detail(), "clusters[0].matrix"));
    }
    sis_clustering_release(&c); /* allowed after a failure */
}

static int make_all(void *ctx) {
    char *text, *twice = NULL;
    size_t n, m;
    sis_comparison from = comparison();
    (void)ctx;
    int code = sis_comparison_format(&from, &text, &n);
    if (code == SIS_OK)
        code = comparison_again(text, n, &twice, &m);
    free(text);
    free(twice);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    assert_true(with_failing_allocations(make_all, NULL) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_read_back),
        cmocka_unit_test(comparisons_read_back),
        cmocka_unit_test(evaluations_read_back),
        cmocka_unit_test(what_is_absent_has_its_default),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
