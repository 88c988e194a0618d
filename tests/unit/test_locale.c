/* SPDX-License-Identifier: MIT
 *
 * Reading and writing do not depend on the locale of the host program. The test builds the locales
 * into its own folder, because few systems have them installed.
 */
#include "support_data.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/export.h>
#include <sis/model.h>
#include <sis/report.h>
#include <sis/task.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/number.h"

static void must(int error) {
    if (error)
        fail_msg("%s", sis_error_detail());
}

/* ---- Everything that reads or writes numbers, as one text -------------------------------------- */

static void add_numbers(sis__buf *b) {
    static const double v[] = {0.1, 1e-5, 5e-324, 1.7976931348623157e308, 0.30000000000000004, 2.5};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        sis__buf_double(b, v[i]);
        sis__buf_printf(b, " %.3f %g\n", v[i] < 1e9 ? v[i] : 0, v[i]);
    }
    sis__fail(SIS_E_IO, "%.2f", 1.25);
    sis__buf_str(b, sis_error_detail());
}

/* A LightGBM tree: 0.75 left of 0.5, -1.25 right of it. */
static void add_lightgbm(sis__buf *b) {
    static const char text[] = "tree\nversion=v3\nnum_class=1\nnum_tree_per_iteration=1\n"
                               "max_feature_idx=0\nobjective=binary sigmoid:1.5\n"
                               "feature_names=i\nfeature_infos=[0:1]\n\n"
                               "Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nsplit_gain=1.5\n"
                               "threshold=0.5\ndecision_type=2\nleft_child=-1\nright_child=-2\n"
                               "leaf_value=0.75 -1.25\n\nend of trees\n";
    sis_model m;
    must(sis_model_open(folder_text("lightgbm.txt", text), NULL, &m));
    for (double x = 0.25; x < 1; x += 0.5) {
        double margin;
        must(m.predict(m.ctx, &x, 1, 1, &margin));
        sis__buf_double(b, margin);
        sis__buf_char(b, '\n');
    }
    sis_model_close(&m);
}

static int add_bytes(void *ctx, const char *bytes, size_t n) {
    sis__buf_add((sis__buf *)ctx, bytes, n);
    return 0;
}

static int add_figure(void *ctx, const sis_figure *figure) {
    return add_bytes(ctx, figure->bytes, figure->n);
}

/* A record read back from a file, in every output format. */
static void add_forms(sis__buf *b, const sis_record *record) {
    char *line, *page;
    size_t n;
    sis_record back;
    sis_report *report;
    sis_export *e;
    sis_where *where;
    must(sis_record_format(record, 1, &line, &n));
    sis__buf_add(b, line, n);
    must(sis_record_parse(line, n, &back));
    free(line);
    must(sis_where_parse("score>0.5 AND kind=table", &where));
    sis__buf_printf(b, "%d\n", sis_where_holds(where, &back));
    sis_where_free(where);
    must(sis_export_open(&(sis_export_opt){.format = "csv", .write = add_bytes, .ctx = b}, &e));
    must(sis_export_add(e, &back));
    must(sis_export_close(e));
    must(sis_report_new(&report));
    must(sis_report_add(report, "r.jsonl", &back));
    must(sis_report_page(report, NULL, &page, &n));
    sis__buf_add(b, page, n);
    free(page);
    must(sis_report_figures(report, SIS_FIGURE_SVG, add_figure, b));
    sis_report_free(report);
}

static void add_records(sis__buf *b, const sis_task_opt *o) {
    sis_task *t;
    sis_record r;
    int got;
    must(sis_task_open(o, &t));
    while ((got = sis_task_next(t, &r)) == 1) {
        r.collection.seconds = 0;
        r.provenance = NULL; /* contains the folder's name */
        add_forms(b, &r);
    }
    must(got);
    sis_task_free(t);
}

/* A file of XGBoost, a table, thresholds and domains as text. */
static void add_task(sis__buf *b) {
    sis_task_opt o;
    sis_task_opt_init(&o);
    o.model.spec = SIS_SOURCE_DIR "/examples/credit-trees.json";
    o.examples.input =
        folder_text("ROWS.CSV", "age,income,debt,savings,late_payments,open_accounts,"
                                "years_employed,credit_used\n"
                                "34.5,52000.25,4e3,12000,0,3,8,0.15000000000000000001\n"
                                "40,61000,2500,15000.75,0,2,NA,0.0625\n");
    o.question.mask = "mean:" SIS_SOURCE_DIR "/examples/credit.csv";
    o.question.threshold = "0.75";
    add_records(b, &o);
    o.question.mask = NULL;
    o.question.guarantee = "all";
    o.question.domain = "ball:1.5,-0.5:1e6";
    o.examples.rows = "0";
    add_records(b, &o);
}

static char *everything(void) {
    sis__buf b;
    char *text;
    size_t n;
    sis__buf_init(&b);
    add_numbers(&b);
    add_lightgbm(&b);
    add_task(&b);
    must(sis__buf_give(&b, &text, &n));
    return text;
}

/* ---- Locales --------------------------------------------------------------------------------- */

/* Build the locale and set it; 0: it cannot be built here. */
static int enter(const char *source, const char *charset) {
    char command[2048], name[64];
    snprintf(name, sizeof name, "%s.%s", source, charset);
    snprintf(command, sizeof command, "localedef -c -i %s -f %s '%s' >/dev/null 2>&1", source,
             charset, folder_path(name));
    if (system(command) == -1) /* localedef also fails on warnings, so setlocale() decides */
        return 0;
    setenv("LOCPATH", folder_path("."), 1);
    if (setlocale(LC_ALL, name))
        return 1;
    print_message("left out: no locale %s (package locales)\n", name);
    return 0;
}

/* A decimal comma; a decimal point of two bytes; i without a capital I. */
static void nothing_depends_on_the_locale(void **state) {
    (void)state;
    static const char *const sources[] = {"de_DE", "ps_AF", "tr_TR"};
    char *plain = everything(), *found;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (!enter(sources[i], "UTF-8"))
            continue;
        found = everything();
        setlocale(LC_ALL, "C");
        assert_string_equal(found, plain);
        free(found);
    }
    free(plain);
}

static void the_locale_of_the_host_stays(void **state) {
    (void)state;
    char text[16];
    if (!enter("de_DE", "UTF-8"))
        skip();
    assert_int_equal(sis__format(text, sizeof text, "%.1f", 0.5), 3);
    assert_string_equal(text, "0.5");
    assert_true(sis__number("1.5", NULL) == 1.5);
    assert_true(sis__number_float("1.5", NULL) == 1.5F);
    snprintf(text, sizeof text, "%.1f", 0.5);
    setlocale(LC_ALL, "C");
    assert_string_equal(text, "0,5");
}

static void letters_are_those_of_ascii(void **state) {
    (void)state;
    assert_true(sis__same_word("TITLE", "title"));
    assert_false(sis__same_word("title", "titles"));
    assert_false(sis__same_word("titles", "title"));
    assert_true(sis__same_start("Inf", "INFINITY", 3));
    assert_false(sis__same_start("Inf", "INFINITY", 4));
    assert_false(sis__is_alpha('\xE4'));
    assert_true(sis__lower('\xC4') == '\xC4');
    for (char c = 0; c < 127; c++) { /* in the locale "C" */
        assert_int_equal(sis__is_alpha(c), c >= 'A' && strchr("@[\\]^_`{|}~", c) == NULL);
        assert_true(sis__upper(sis__lower(c)) == sis__upper(c));
    }
}

/* Locales are subfolders of the test folder. */
static int remove_all(void **state) {
    char command[2048];
    snprintf(command, sizeof command, "rm -rf '%s'/*.UTF-8", folder_path("."));
    return system(command) ? -1 : folder_remove(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_depends_on_the_locale),
        cmocka_unit_test(the_locale_of_the_host_stays),
        cmocka_unit_test(letters_are_those_of_ascii),
    };
    return cmocka_run_group_tests(tests, folder_make, remove_all);
}
