/* SPDX-License-Identifier: MIT
 *
 * Pages: what becomes of hostile text, what walks answer, that a page is whole or an error.
 */
#include <sis/report.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "report/html.h"
#include "report/report.h"
#include "support_results.h"

/* ---- Text ------------------------------------------------------------------------------------ */

typedef void (*writer)(sis__buf *b, const char *text);

static void assert_written(writer write, const char *text, const char *wanted) {
    sis__buf b;
    sis__buf_init(&b);
    write(&b, text);
    assert_int_equal(sis__buf_error(&b), 0);
    assert_string_equal(b.data ? b.data : "", wanted);
    sis__buf_release(&b);
}

static void text_is_never_markup(void **state) {
    (void)state;
    assert_written(sis__html_text, "<a href=\"x\" id='y'>&amp;",
                   "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;");
    assert_written(sis__html_text, "caf\xC3\xA9 \xF0\x9F\x98\x80", "caf\xC3\xA9 \xF0\x9F\x98\x80");
    assert_written(sis__html_text,
                   "a\xE2\x80\xAE"
                   "b\x01\x7F",
                   "a[U+202E]b[U+0001][U+007F]");
    assert_written(sis__plain_text, "a<b\xE2\x80\xAE", "a<b[U+202E]");
}

static void bytes_that_are_no_text_are_replaced(void **state) {
    (void)state;
    static const char *const bad[] = {"\x80",         "\xC3",
                                      "\xC0\xAF",     "\xE2\x80",
                                      "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                      "\xFF",         "\xF8\x88\x80\x80\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sis__buf b;
        sis__buf_init(&b);
        sis__html_text(&b, bad[i]);
        assert_non_null(strstr(b.data, "\xEF\xBF\xBD"));
        assert_null(strpbrk(b.data, "\xC0\xC3\xE2\xED\xF4\xF8\xFF"));
        sis__buf_release(&b);
    }
}

static void long_text_is_cut_between_characters(void **state) {
    (void)state;
    sis__buf b;
    sis__buf_init(&b);
    sis__html_clip(&b, "\xC3\xA9\xC3\xA9\xC3\xA9", 2);
    assert_string_equal(b.data, "\xC3\xA9\xC3\xA9\xE2\x80\xA6");
    sis__buf_clear(&b);
    sis__html_clip(&b, "ab", 2);
    assert_string_equal(b.data, "ab");
    sis__buf_release(&b);
}

static void numbers_are_for_people(void **state) {
    (void)state;
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0.70287, "0.7029"},
                 {1, "1"},
                 {0.99996, "&gt;0.9999"},
                 {-2.5, "\xE2\x88\x92"
                        "2.5"},
                 {19000, "19000"},
                 {NAN, "\xE2\x80\x93"},
                 {1e-7, "1e-07"}};
    sis__buf b;
    sis__buf_init(&b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis__buf_clear(&b);
        sis__html_number(&b, cases[i].v);
        assert_string_equal(b.data, cases[i].text);
    }
    sis__buf_clear(&b);
    sis__html_plural(&b, 1234567, "subset");
    sis__html_plural(&b, 1, "word");
    assert_string_equal(b.data, "1,234,567 subsets1 word");
    sis__buf_release(&b);
}

static void base64_is_base64(void **state) {
    (void)state;
    static const char *const wanted[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE="};
    for (size_t n = 0; n < 6; n++) {
        sis__buf b;
        sis__buf_init(&b);
        sis__html_base64(&b, (const unsigned char *)"foobar", n);
        assert_string_equal(b.data ? b.data : "", wanted[n]);
        sis__buf_release(&b);
    }
}

/* ---- Walks ----------------------------------------------------------------------------------- */

/* What is kept of a trace answers every threshold as the whole trace does. */
static void kept_walks_answer_like_traces(void **state) {
    (void)state;
    sis__rng rng;
    sis__rng_init(&rng, 5);
    for (int round = 0; round < 200; round++) {
        int order[300];
        double scores[300];
        size_t n = 1 + sis__rng_below(&rng, 300);
        for (size_t i = 0; i < n; i++) {
            order[i] = (int)i;
            scores[i] = floor(sis__rng_uniform(&rng) * 50) / 50;
        }
        sis_subset s = {.n = 1, .features = order};
        s.trace = (sis_trace){.n = n, .order = order, .scores = scores, .start = 0.9};
        sis_record r = {.below = round % 2, .collection = {.n_subsets = 1, .subsets = &s}};
        sis__walked w;
        assert_int_equal(sis__walked_take(&r, &w), SIS_OK);
        for (double t = -0.1; t < 1.1; t += 0.01)
            assert_int_equal(sis__walked_find(&w, t, r.below),
                             sis_trace_find(&s.trace, t, r.below));
        for (size_t i = 0; i < w.n_order; i++)
            assert_int_equal(w.order[i], order[n - 1 - i]);
        assert_true(w.history[0] == 0.9 && w.history[w.n_history - 1] == scores[n - 1]);
        sis__walked_release(&w);
    }
}

/* ---- Pages ----------------------------------------------------------------------------------- */

/* Add the record to the report by way of its text, as files do. */
static int add(sis_report *report, const sis_record *r) {
    char *line = record_line(r, 1);
    sis_record parsed;
    int code = sis_record_parse(line, strlen(line), &parsed);
    if (code == SIS_OK)
        code = sis_report_add(report, "some/file.jsonl", &parsed);
    free(line);
    return code;
}

/* The sample as text, sequence, table, picture, and as nothing but numbers. */
static void kinds_make(sample *s, sis_record out[5]) {
    sample_make(s);
    for (int k = 0; k < 5; k++)
        out[k] = s->record;
    for (int k = 1; k < 5; k++)
        out[k].words = NULL, out[k].n_words = 0;
    for (int k = 2; k < 5; k++)
        out[k].sequence = NULL;
    out[3].kind = "image";
    out[4].values = out[4].mask = NULL;
    out[4].names = out[4].value_names = NULL;
    out[4].feature_map = NULL;
    out[4].shape = NULL;
}

static char *page_of(const sis_record *records, size_t n, const char *title) {
    sis_report *report;
    char *html;
    size_t length;
    assert_int_equal(sis_report_new(&report), SIS_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(add(report, &records[i]), SIS_OK);
    sis_page_opt opt = {.title = title};
    assert_int_equal(sis_report_page(report, &opt, &html, &length), SIS_OK);
    assert_int_equal(strlen(html), length);
    sis_report_free(report);
    return html;
}

static size_t occurrences(const char *text, const char *part) {
    size_t n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

static void every_kind_has_its_card(void **state) {
    (void)state;
    static const char *const looks[] = {"text", "dna", "table", "image", "list"};
    sample s;
    sis_record kinds[5];
    kinds_make(&s, kinds);
    char *html = page_of(kinds, 5, NULL);
    for (int k = 0; k < 5; k++) {
        char wanted[40];
        snprintf(wanted, sizeof wanted, "data-look=\"%s\"", looks[k]);
        assert_int_equal(occurrences(html, wanted), 1);
    }
    assert_int_equal(occurrences(html, "<article"), 5);
    assert_int_equal(occurrences(html, "<img "), 3); /* the original and two subsets */
    assert_non_null(strstr(html, "<title>Decisions of m.onnx</title>"));
    assert_non_null(strstr(html,
                           "<mark class=\"s0 r2 h\" data-k=\"1\" title=\"subset 1, rank 2 of 2\">"
                           "caf\xC3\xA9</mark>"));
    assert_non_null(strstr(html, "{\"t\":["));
    free(html);
}

static void data_stay_data(void **state) {
    (void)state;
    static const char *const attacks[] = {"<script>alert(1)</script>", "</script>", "</style>",
                                          "\"><img src=x onerror=alert(1)>", "<!--"};
    sample s;
    sis_record kinds[5];
    for (size_t a = 0; a < sizeof attacks / sizeof *attacks; a++) {
        kinds_make(&s, kinds);
        char *plain = page_of(kinds, 5, "t");
        for (int i = 0; i < VALUES; i++)
            s.names[i] = s.value_names[i] = attacks[a];
        for (int i = 0; i < FEATURES; i++)
            s.words[i] = attacks[a];
        for (int k = 0; k < 5; k++) {
            kinds[k].id = kinds[k].model = kinds[k].method = attacks[a];
            kinds[k].label = kinds[k].output_label = attacks[a];
        }
        char *html = page_of(kinds, 5, attacks[a]);
        assert_int_equal(occurrences(html, "<script"), occurrences(plain, "<script"));
        assert_int_equal(occurrences(html, "</script"), occurrences(plain, "</script"));
        assert_int_equal(occurrences(html, "</style"), occurrences(plain, "</style"));
        assert_int_equal(occurrences(html, "<img"), occurrences(plain, "<img"));
        assert_int_equal(occurrences(html, "<!--"), 0);
        free(html);
        free(plain);
    }
}

static void other_statuses_say_why(void **state) {
    (void)state;
    sample s;
    sis_record kinds[5], r;
    kinds_make(&s, kinds);
    r = kinds[0];
    r.collection.n_subsets = 0;
    r.collection.status = SIS_STATUS_BELOW_THRESHOLD;
    char *html = page_of(&r, 1, NULL);
    assert_non_null(strstr(html, "does not reach the threshold, so there is no decision"));
    assert_non_null(strstr(html, "Ask with a threshold above "));
    assert_null(strstr(html, "id=\"walks\""));
    assert_null(strstr(html, "id=\"histories\""));
    free(html);
    r.collection.status = SIS_STATUS_ERROR;
    r.collection.message = (char *)"the <model> said no";
    html = page_of(&r, 1, NULL);
    assert_non_null(strstr(html, "the &lt;model&gt; said no"));
    free(html);
}

static void a_page_of_nothing_is_refused(void **state) {
    (void)state;
    sis_report *report;
    char *html;
    size_t n;
    assert_int_equal(sis_report_new(&report), SIS_OK);
    assert_int_equal(sis_report_page(report, NULL, &html, &n), SIS_E_ARGUMENT);
    assert_null(html);
    sis_report_free(report);
    sis_report_free(NULL);
}

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
        assert_int_equal(add(report, &kinds[k]), SIS_OK);
        assert_int_equal(sis_report_add_clusters(report, "c.json", CLUSTERS, strlen(CLUSTERS)), 0);
        assert_int_equal(report->sets[0].n_clusters, 2);
        assert_int_equal(report->sets[0].clusters[0].n_members, 2);
        assert_int_equal(report->sets[0].clusters[1].n_members, 1);
        assert_int_equal(sis_report_page(report, NULL, &html, &n), SIS_OK);
        assert_non_null(strstr(html, "1 cluster of 3 subsets by &lt;b&gt; distance"));
        assert_non_null(strstr(html, "25 % of <bdi>a</bdi>, 75 % of <bdi>&lt;i&gt;</bdi>"));
        if (k != 3) /* patterns of pixels say nothing to a person */
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
        assert_int_equal(add(report, &kinds[k]), SIS_OK);
        assert_int_equal(
            sis_report_add_comparison(report, "c.json", COMPARISON, strlen(COMPARISON)), SIS_OK);
        const sis__comparison *c = &report->comparisons[0];
        assert_int_equal(c->cross[0].scores.n, 3); /* null is no score */
        assert_true(isnan(c->sides[1].threshold) && c->joint.n_clusters == 2);
        assert_true(sis__side_share(c, &c->joint.clusters[0], 1) == 0.5);
        assert_int_equal(c->differences[0].examples[0], 0); /* of some/file.jsonl */
        assert_true(c->differences[0].examples[1] == SIZE_MAX);
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
    assert_true(report->evaluations[0].methods[1].rank_sum[0] == 0.01);
    sis_report_free(report);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

/* Change a few digits of the line, and now and then something else, so that it often still is a
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

/* Files of other commands with some bytes changed: drawn, or refused in one line. */
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
    assert_int_equal(add(report, &kinds[sis__rng_below(rng, 5)]), SIS_OK);
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
    for (int round = 0; round < 200; round++) {
        damage_file(sis_report_add_clusters, CLUSTERS, &rng);
        damage_file(sis_report_add_comparison, COMPARISON, &rng);
        damage_file(sis_report_add_evaluation, EVALUATION, &rng);
    }
}

/* Whatever still parses is drawn. */
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
    sis_figure_format format;
} scarce;

static int forget(void *ctx, const sis_figure *figure) {
    (void)ctx;
    return figure->n > 0 && figure->name[0] && figure->caption[0] ? 0 : SIS_E_FORMAT;
}

static int make_everything(void *ctx) {
    scarce *a = (scarce *)ctx;
    sis_report *report = NULL;
    sis_record r;
    char *html = NULL;
    size_t n;
    int code = sis_report_new(&report);
    for (int k = 0; code == SIS_OK && k < 5; k++) {
        code = sis_record_parse(a->lines[k], strlen(a->lines[k]), &r);
        if (code == SIS_OK)
            code = sis_report_add(report, k % 2 ? "b" : "file.jsonl", &r);
    }
    if (code == SIS_OK)
        code = sis_report_add_clusters(report, "c.json", CLUSTERS, strlen(CLUSTERS));
    if (code == SIS_OK)
        code = sis_report_add_comparison(report, "d.json", COMPARISON, strlen(COMPARISON));
    if (code == SIS_OK)
        code = sis_report_add_evaluation(report, "e.json", EVALUATION, strlen(EVALUATION));
    if (code == SIS_OK)
        code = sis_report_page(report, NULL, &html, &n);
    if (code == SIS_OK)
        code = sis_report_figures(report, a->format, forget, NULL);
    free(html);
    sis_report_free(report);
    return code;
}

static void memory_may_run_out_anywhere(void **state) {
    (void)state;
    sample s;
    sis_record kinds[5];
    scarce a = {.format = SIS_FIGURE_SVG};
    kinds_make(&s, kinds);
    for (int k = 0; k < 5; k++)
        a.lines[k] = record_line(&kinds[k], 1);
    assert_true(with_failing_allocations(make_everything, &a) > 100);
    for (int k = 0; k < 5; k++)
        free(a.lines[k]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_never_markup),
        cmocka_unit_test(bytes_that_are_no_text_are_replaced),
        cmocka_unit_test(long_text_is_cut_between_characters),
        cmocka_unit_test(numbers_are_for_people),
        cmocka_unit_test(base64_is_base64),
        cmocka_unit_test(kept_walks_answer_like_traces),
        cmocka_unit_test(every_kind_has_its_card),
        cmocka_unit_test(data_stay_data),
        cmocka_unit_test(other_statuses_say_why),
        cmocka_unit_test(a_page_of_nothing_is_refused),
        cmocka_unit_test(clusters_find_their_members),
        cmocka_unit_test(clusters_that_are_none_are_refused),
        cmocka_unit_test(comparisons_find_their_examples),
        cmocka_unit_test(damaged_evaluations_are_refused),
        cmocka_unit_test(damaged_comparisons_are_refused),
        cmocka_unit_test(damaged_records_are_drawn_or_refused),
        cmocka_unit_test(damaged_files_are_drawn_or_refused),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
