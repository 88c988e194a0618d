/* SPDX-License-Identifier: MIT
 *
 * The section of evaluations: plots by method, and a table of medians and p-values.
 */
#include <math.h>

#include "report/figures.h"
#include "report/page.h"

static const struct {
    int quantity;
    const char *words;
} TESTS[] = {{SIS_QUANTITY_LENGTH, "length in features"},
             {SIS_QUANTITY_PERCENT, "length in % of the input"},
             {SIS_QUANTITY_SCORE, "score alone"},
             {SIS_QUANTITY_IMPORTANCE, "importance inside"},
             {SIS_QUANTITY_MARKED, "share marked"},
             {SIS_QUANTITY_DIVERGENCE, "divergence"},
             {SIS_QUANTITY_SUFFICIENCY, "sufficiency (AOPC)"},
             {SIS_QUANTITY_COMPREHENSIVENESS, "comprehensiveness (AOPC)"},
             {SIS_QUANTITY_PGI, "PGI"},
             {SIS_QUANTITY_PGU, "PGU"},
             {SIS_QUANTITY_STABLE, "stability"},
             {SIS_QUANTITY_TOKEN_F1, "token F1"},
             {SIS_QUANTITY_IOU_F1, "IOU F1"}};
enum { N_TESTS = sizeof TESTS / sizeof *TESTS };

static const sis_quantity *quantity_of(const sis_evaluated_method *m, int k) {
    return &m->summary.quantities[TESTS[k].quantity];
}

static int was_tested(const sis_evaluation *e, int k) {
    for (size_t i = 0; i < e->n_methods; i++)
        if (isfinite(quantity_of(&e->methods[i], k)->median))
            return 1;
    return 0;
}

static void add_row(sis__buf *b, const sis_evaluated_method *m, int k) {
    const sis_quantity *q = quantity_of(m, k);
    const double p[] = {q->rank_sum_p, q->signed_rank_p};
    /* the median as a score: near 1 must not show as 1 */
    sis__html(b, "<tr><td>%s</td><th><bdi>%.40s</bdi></th><td>%g</td>", TESTS[k].words, m->name,
              q->median);
    for (int i = 0; i < 2; i++)
        if (isfinite(p[i]))
            sis__html(b, "<td>%.3g</td>", p[i]);
        else
            sis__buf_str(b, "<td>\xE2\x80\x93</td>");
    sis__buf_str(b, "</tr>\n");
}

static void add_table(sis__buf *b, const sis_evaluation *e) {
    sis__buf_str(b, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Tests\">"
                    "<table class=\"numbers\"><caption>Medians, and two-sided p-values against the "
                    "first method</caption><thead><tr><th></th><th>method</th><th>median</th>"
                    "<th>rank-sum p</th><th>signed-rank p</th></tr></thead>\n<tbody>");
    for (int k = 0; k < N_TESTS; k++)
        for (size_t i = 0; was_tested(e, k) && i < e->n_methods && i < SIS__GROUPS_MAX; i++)
            add_row(b, &e->methods[i], k);
    sis__buf_str(b, "</tbody></table></div>\n");
}

/* Pearson's r between the marked share and the quality of the human annotation. */
static void add_correlations(sis__buf *b, const sis_evaluation *e) {
    for (size_t i = 0; i < e->n_methods && i < SIS__GROUPS_MAX; i++) {
        const sis_evaluated_method *m = &e->methods[i];
        if (isfinite(m->summary.pearson_r))
            sis__html(
                b,
                "<p><bdi>%.40s</bdi>: the share marked and the quality of the human selection "
                "have a correlation of %g, p = %g.</p>\n",
                m->name, m->summary.pearson_r, m->summary.pearson_p);
    }
}

static int add_evaluation(sis__buf *b, const sis_report *report, size_t k) {
    const sis_evaluation *e = &report->evaluations[k];
    sis__html(b,
              "<h3 class=\"part\">%'zu method%s on %'zu example%s</h3>\n"
              "<p class=\"soft\">Model <bdi>%.100s",
              e->n_methods, sis__plural(e->n_methods), e->n_examples, sis__plural(e->n_examples),
              e->model ? e->model : "");
    if (e->motif)
        sis__html(b, "</bdi>, motif <bdi>%.60s", e->motif);
    sis__buf_str(b, "</bdi></p>\n");
    int code = sis__page_figures(b, report, "methods", k);
    add_table(b, e);
    add_correlations(b, e);
    return code;
}

int sis__page_evaluations(sis__buf *b, const sis_report *report) {
    int code = SIS_OK;
    for (size_t k = 0; code == SIS_OK && k < report->n_evaluations; k++)
        code = add_evaluation(b, report, k);
    return code;
}
