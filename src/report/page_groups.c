/* SPDX-License-Identifier: MIT
 *
 * The section of groups: tables of decisions and reasons by group, with confidence intervals.
 */
#include "report/page.h"

enum { FEATURES_MAX = 30 };

int sis_report_by(sis_report *report, const char *column) {
    size_t groups, features;
    sis_groups_free(report->groups);
    report->groups = NULL;
    int error = column ? sis_groups_new(column, &report->groups) : SIS_OK;
    for (size_t i = 0; !error && report->groups && i < report->n; i++)
        error = sis_groups_add(report->groups, &report->examples[i].record);
    return error || !column ? error : sis_groups_sort(report->groups, &groups, &features);
}

static void add_share(sis__buf *b, sis_proportion s) {
    if (s.of)
        sis__html(b,
                  "<td><span>%.1f %%</span> <small>%zu of %zu</small><span class=\"spread\">"
                  "<b style=\"left:%.1f%%;width:%.1f%%\"></b><i style=\"left:%.1f%%\"></i></span>"
                  "<small>%.1f to %.1f</small></td>",
                  100 * s.share, s.n, s.of, 100 * s.low, 100 * (s.high - s.low), 100 * s.share,
                  100 * s.low, 100 * s.high);
    else
        sis__buf_str(b, "<td>\xE2\x80\x93</td>");
}

static void add_decisions(sis__buf *b, const sis_groups *g, size_t n) {
    sis__html(b,
              "<div class=\"scroll\"><table class=\"numbers groups wide\"><thead><tr>"
              "<th scope=\"col\"><bdi>%.60s</bdi></th><th scope=\"col\">examples</th>"
              "<th scope=\"col\">decided</th></tr></thead>\n<tbody>\n",
              sis_groups_column(g));
    for (size_t i = 0; i < n; i++) {
        sis_group of = sis_groups_at(g, i);
        sis__html(b, "<tr><th scope=\"row\"><bdi>%.60s</bdi></th><td>%zu</td>", of.name,
                  of.examples);
        add_share(b, of.decided);
        sis__buf_str(b, "</tr>\n");
    }
    sis__buf_str(b, "</tbody></table></div>\n");
}

static void add_reasons(sis__buf *b, const sis_groups *g, size_t n, size_t features) {
    sis__buf_str(b, "<h3>Subsets with a feature</h3>\n<div class=\"scroll\"><table class=\"numbers "
                    "groups\"><thead><tr><th scope=\"col\">feature</th>");
    for (size_t i = 0; i < n; i++)
        sis__html(b, "<th scope=\"col\"><bdi>%.60s</bdi></th>", sis_groups_at(g, i).name);
    sis__buf_str(b, "</tr></thead>\n<tbody>\n");
    for (size_t f = 0; f < features && f < FEATURES_MAX; f++) {
        sis__html(b, "<tr><th scope=\"row\"><bdi>%.60s</bdi></th>", sis_groups_feature(g, f));
        for (size_t i = 0; i < n; i++)
            add_share(b, sis_groups_holds(g, i, f));
        sis__buf_str(b, "</tr>\n");
    }
    sis__buf_str(b, "</tbody></table></div>\n");
}

int sis__page_groups(sis__buf *b, const sis_report *report) {
    size_t n, features;
    if (!report->groups)
        return SIS_OK;
    int error = sis_groups_sort(report->groups, &n, &features);
    if (error)
        return error;
    sis__buf_str(
        b, "<p class=\"explain\">How often the decision was made in each group, and how often a "
           "feature is part of a subset, with 95 % intervals (Wilson). A difference does not "
           "say what causes it.</p>\n");
    add_decisions(b, report->groups, n);
    if (features)
        add_reasons(b, report->groups, n, features);
    return SIS_OK;
}
