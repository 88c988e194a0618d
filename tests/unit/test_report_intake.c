/* SPDX-License-Identifier: MIT
 *
 * Inputs of a report other than records: clusters, comparisons and evaluations; valid, damaged, and
 * with failing allocations.
 */
#include "support_report.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "report/report.h"

/* ---- Clusters -------------------------------------------------------------------------------- */

static const char CLUSTERS[] =
    "{\"distance\":\"<b>\",\"eps\":0.5,\"min_size\":2,\"n\":3,\"clusters\":[{\"id\":1,\"size\":3,"
    "\"core\":2,\"members\":[{\"id\":\"7\",\"subset\":0,\"source\":\"elsewhere/file.jsonl\"},"
    "{\"id\":\"7\",\"subset\":1},{\"id\":\"7\",\"subset\":2},{\"id\":\"8\",\"subset\":0},{\"id\":"
    "\"7\",\"subset\":0,\"source\":\"other.jsonl\"}],\"top\":[{\"pattern\":\"</td>\",\"count\":2}],"
    "\"medoid\":{\"id\":\"7\",\"subset\":0},\"share\":{\"a\":0.25,\"<i>\":0.75}}],\"noise\":[{"
    "\"id\":"
    "\"7\",\"subset\":1}]}";

static void clusters_find_their_members(void **state) {
    (void)state;
    sample s;
    sis_record kinds[5];
    sis_report *report;
    char *html;
    size_t n;
    kinds_make(&s, kinds);
    for (int k = 0; k < 5; k++) {
        assert_int_equal(sis_report_new(&report), SIS_OK);
        assert_int_equal(report_take(report, &kinds[k]), SIS_OK);
        assert_int_equal(sis_report_add_clusters(report, "c.json", CLUSTERS, strlen(CLUSTERS)), 0);
        assert_int_equal(report->sets[0].n_clusters, 2);
        assert_int_equal(report->sets[0].clusters[0].n_members, 2);
        assert_int_equal(report->sets[0].clusters[1].n_members, 1);
        assert_int_equal(sis_report_page(report, NULL, &html, &n), SIS_OK);
        assert_non_null(strstr(html, "1 cluster of 3 subsets by &lt;b&gt; distance"));
        assert_non_null(strstr(html, "25 % of <bdi>a</bdi>, 75 % of <bdi>&lt;i&gt;</bdi>"));
        if (report->examples[0].look == SIS__TABLE) /* ranges instead */
            assert_non_null(strstr(html, "aria-label=\"Features of members\""));
        else if (k != 3) /* pixel patterns are not readable */
            assert_non_null(
                strstr(html, "<bdi>&lt;/td&gt;</bdi> <span class=\"soft\">\xC3\x97 2</span>"));
        free(html);
        sis_report_free(report);
    }
}

static void clusters_that_are_none_are_refused(void **state) {
    (void)state;
    sis_report *report;
    assert_int_equal(sis_report_new(&report), SIS_OK);
    for (size_t n = 0; n < strlen(CLUSTERS); n++)
        assert_int_equal(sis_report_add_clusters(report, "c.json", CLUSTERS, n), SIS_E_FORMAT);
    assert_int_equal(sis_report_add_clusters(report, "c.json", "{\"clusters\":[]\0}", 16),
                     SIS_E_FORMAT);
    assert_int_equal(report->n_sets, 0);
    sis_report_free(report);
}

/* ---- Comparisons ----------------------------------------------------------------------------- */

static const char COMPARISON[] =
    "{\"a\":{\"results\":\"file.jsonl\",\"model\":\"m/"
    "<a>.onnx\",\"n\":5,\"subsets\":2,\"threshold\":"
    "0.5,\"direction\":\">=\"},\"b\":{\"results\":\"b\",\"model\":\"b.onnx\",\"n\":2,\"subsets\":9,"
    "\"threshold\":null,\"direction\":\">=\"},\"decisions\":{\"common\":4,\"same\":1,\"other_"
    "output\":1,"
    "\"only_a\":1,\"only_b\":0,\"neither\":1},\"scores\":{\"a_by_b\":{\"n\":3,\"sufficient\":0.25,"
    "\"scores\":[0.1,null,0.9,0.4],\"own_quantiles\":[0.5,0.6,0.7,0.8,0.9]},\"b_by_a\":{\"scores\":"
    "[0.2,"
    "0.3],\"own_quantiles\":[]}},\"joint\":{\"distance\":\"d\",\"eps\":0.5,\"n\":4,\"clusters\":[{"
    "\"id\":1,\"size\":3,\"members\":[{\"id\":\"7\",\"subset\":0,\"source\":\"b\"},{\"id\":\"7\","
    "\"subset\":1,\"source\":\"file.jsonl\"}],\"top\":[{\"pattern\":\"x\",\"count\":2}],\"share\":{"
    "\"file.jsonl\":0.5,\"b\":0.5}}],\"noise\":[{\"id\":\"7\",\"subset\":0}]},\"differ\":[{\"id\":"
    "\"7\","
    "\"distance\":1.5,\"a\":[\"<p>\",\"q\"],\"b\":[\"r\"]},{\"id\":\"gone\",\"distance\":1,\"a\":[]"
    ","
    "\"b\":[\"r\"]}]}";

static void comparisons_find_their_examples(void **state) {
    (void)state;
    sample s;
    sis_record kinds[5];
    sis_report *report;
    char *html, name[40];
    size_t n;
    kinds_make(&s, kinds);
    for (int k = 0; k < 5; k++) {
        assert_int_equal(sis_report_new(&report), SIS_OK);
        assert_int_equal(report_take(report, &kinds[k]), SIS_OK);
        assert_int_equal(
            sis_report_add_comparison(report, "c.json", COMPARISON, strlen(COMPARISON)), SIS_OK);
        const sis__compared *c = &report->comparisons[0];
        assert_true(c->found.cross[0].n == 4 && isnan(c->found.cross[0].scores[1])); /* null */
        assert_true(isnan(c->found.sides[1].threshold) && c->joint.n_clusters == 2);
        assert_true(sis__side_share(c, &c->joint.clusters[0], 1) == 0.5);
        assert_int_equal(c->examples[0][0], 0); /* of some/file.jsonl */
        assert_true(c->examples[0][1] == SIZE_MAX);
        sis__side_name(c, 0, name, sizeof name);
        assert_string_equal(name, "<a>");
        assert_int_equal(sis_report_page(report, NULL, &html, &n), SIS_OK);
        assert_non_null(strstr(html, "<b>50.0 %</b><span class=\"soft\">agree, of 4 common"));
        assert_int_equal(occurrences(html, "class=\"half "), 4);
        assert_null(strstr(html, "<a>"));
        free(html);
        sis_report_free(report);
    }
}

static void damaged_comparisons_are_refused(void **state) {
    (void)state;
    sis_report *report;
    assert_int_equal(sis_report_new(&report), SIS_OK);
    for (size_t n = 0; n < strlen(COMPARISON); n++)
        assert_int_equal(sis_report_add_comparison(report, "c.json", COMPARISON, n), SIS_E_FORMAT);
    assert_int_equal(report->n_comparisons, 0);
    sis_report_free(report);
}

/* ---- Evaluations ----------------------------------------------------------------------------- */

static const char EVALUATION[] =
    "{\"model\":\"<m>\",\"motif\":\"M1\",\"examples\":[{\"id\":\"7\",\"qhs\":-0.1}],\"imputation\":"
    "{\"by_mask\":[0,0.1],\"by_hotdeck\":[0,-0.2]},\"methods\":[{\"name\":\"<i>"
    "\","
    "\"file\":\"f\",\"summary\":{\"length\":{\"median\":2},\"pearson_r\":0.5},\"rationales\":[{"
    "\"id\":\"7\",\"length\":2,"
    "\"score\":0.8,\"sufficient\":true,\"inside\":0.2,\"outside\":null,\"marked\":0.5,"
    "\"divergence\":3,"
    "\"deck_holds\":0.5,\"half_holds\":1}]},{\"name\":\"b\",\"summary\":{\"length\":{\"median\":3,"
    "\"rank_sum_p\":0.01}},\"rationales\":[{\"length\":3}]}]}";

static void damaged_evaluations_are_refused(void **state) {
    (void)state;
    sis_report *report;
    assert_int_equal(sis_report_new(&report), SIS_OK);
    for (size_t n = 0; n < strlen(EVALUATION); n++)
        assert_int_equal(sis_report_add_evaluation(report, "e.json", EVALUATION, n), SIS_E_FORMAT);
    assert_int_equal(sis_report_add_evaluation(report, "e.json", EVALUATION, strlen(EVALUATION)),
                     SIS_OK);
    assert_int_equal(report->evaluations[0].n_methods, 2);
    assert_true(
        report->evaluations[0].methods[1].summary.quantities[SIS_QUANTITY_LENGTH].rank_sum_p ==
        0.01);
    sis_report_free(report);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

/* Change a few digits of the line, and sometimes something else, so that it often remains a
 * record. */
static void damage(char *line, size_t n, sis__rng *rng) {
    static const char other[] = "0123456789-.,e[]\"";
    for (size_t k = 1 + sis__rng_below(rng, 8); k > 0; k--) {
        size_t at = sis__rng_below(rng, n);
        if (line[at] >= '0' && line[at] <= '9')
            line[at] = other[sis__rng_below(rng, 10)];
        else if (sis__rng_below(rng, 16) == 0)
            line[at] = other[sis__rng_below(rng, sizeof other - 1)];
    }
}

static int count_figure(void *ctx, const sis_figure *figure) {
    *(size_t *)ctx += figure->n > 0;
    return 0;
}

typedef int (*adder)(sis_report *report, const char *name, const char *json, size_t n);

/* Files of other commands with some bytes changed are drawn, or refused with one line. */
static void damage_file(adder add_file, const char *json, sis__rng *rng) {
    sis_report *report;
    sample s;
    sis_record kinds[5];
    char *html, *copy = strdup(json);
    size_t n, figures = 0;
    kinds_make(&s, kinds);
    assert_non_null(copy);
    damage(copy, strlen(copy), rng);
    assert_int_equal(sis_report_new(&report), SIS_OK);
    assert_int_equal(report_take(report, &kinds[sis__rng_below(rng, 5)]), SIS_OK);
    int code = add_file(report, "c.json", copy, strlen(copy));
    assert_true(code == SIS_OK || code == SIS_E_FORMAT);
    assert_null(code == SIS_OK ? NULL : strchr(sis_error_detail(), '\n'));
    assert_int_equal(sis_report_page(report, NULL, &html, &n), SIS_OK);
    assert_int_equal(sis_report_figures(report, SIS_FIGURE_SVG, count_figure, &figures), 0);
    assert_null(strstr(html, "nan"));
    free(html);
    free(copy);
    sis_report_free(report);
}

static void damaged_files_are_drawn_or_refused(void **state) {
    (void)state;
    sis__rng rng;
    sis__rng_init(&rng, 21);
    for (size_t round = 0; round < rounds(200); round++) {
        damage_file(sis_report_add_clusters, CLUSTERS, &rng);
        damage_file(sis_report_add_comparison, COMPARISON, &rng);
        damage_file(sis_report_add_evaluation, EVALUATION, &rng);
    }
}

/* Everything that still parses is drawn. */
static void damaged_records_are_drawn_or_refused(void **state) {
    static const char *const files[] = {"image", "text", "dna", "table"};
    (void)state;
    sis__rng rng;
    size_t drawn = 0, figures = 0;
    sis__rng_init(&rng, 11);
    for (int round = 0; round < 16; round++) {
        sis_report *report;
        char path[4096], line[1 << 16], *html;
        size_t n;
        snprintf(path, sizeof path, "%s/tests/report/results/%s.jsonl", SIS_SOURCE_DIR,
                 files[round % 4]);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_int_equal(sis_report_new(&report), SIS_OK);
        while (fgets(line, sizeof line, file)) {
            sis_record r;
            damage(line, strlen(line) - 1, &rng);
            if (sis_record_parse(line, strlen(line), &r) == SIS_OK)
                assert_int_equal(sis_report_add(report, files[round % 4], &r), SIS_OK);
        }
        fclose(file);
        drawn += report->n;
        if (report->n) {
            assert_int_equal(sis_report_page(report, NULL, &html, &n), SIS_OK);
            free(html);
            assert_int_equal(sis_report_figures(report, SIS_FIGURE_SVG, count_figure, &figures), 0);
        }
        sis_report_free(report);
    }
    assert_true(drawn > 50 && figures > 50);
}

/* ---- Without memory -------------------------------------------------------------------------- */

typedef struct {
    char *lines[5];
} scarce;

static int forget(void *ctx, const sis_figure *figure) {
    (void)ctx;
    return figure->n > 0 && figure->name[0] && figure->caption[0] ? 0 : SIS_E_FORMAT;
}

static int fill(const scarce *a, sis_report **report) {
    sis_record r;
    int code = sis_report_new(report);
    for (int k = 0; code == SIS_OK && k < 5; k++) {
        code = sis_record_parse(a->lines[k], strlen(a->lines[k]), &r);
        if (code == SIS_OK)
            code = sis_report_add(*report, k % 2 ? "b" : "file.jsonl", &r);
    }
    if (code == SIS_OK)
        code = sis_report_add_clusters(*report, "c.json", CLUSTERS, strlen(CLUSTERS));
    if (code == SIS_OK)
        code = sis_report_add_comparison(*report, "d.json", COMPARISON, strlen(COMPARISON));
    if (code == SIS_OK)
        code = sis_report_add_evaluation(*report, "e.json", EVALUATION, strlen(EVALUATION));
    return code;
}

static int make_page(void *ctx) {
    sis_report *report = NULL;
    char *html = NULL;
    size_t n;
    int code = fill((const scarce *)ctx, &report);
    if (code == SIS_OK)
        code = sis_report_page(report, NULL, &html, &n);
    free(html);
    sis_report_free(report);
    return code;
}

static int make_figures(void *ctx) {
    return sis_report_figures((sis_report *)ctx, SIS_FIGURE_SVG, forget, NULL);
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sample s;
    sis_record kinds[5];
    sis_report *report = NULL;
    scarce a;
    kinds_make(&s, kinds);
    for (int k = 0; k < 5; k++)
        a.lines[k] = record_line(&kinds[k], 1);
    assert_true(with_failing_allocations(make_page, &a) > 100);
    assert_int_equal(fill(&a, &report), SIS_OK);
    assert_true(with_failing_allocations(make_figures, report) > 100);
    sis_report_free(report);
    for (int k = 0; k < 5; k++)
        free(a.lines[k]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_find_their_members),
        cmocka_unit_test(clusters_that_are_none_are_refused),
        cmocka_unit_test(comparisons_find_their_examples),
        cmocka_unit_test(damaged_evaluations_are_refused),
        cmocka_unit_test(damaged_comparisons_are_refused),
        cmocka_unit_test(damaged_records_are_drawn_or_refused),
        cmocka_unit_test(damaged_files_are_drawn_or_refused),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
