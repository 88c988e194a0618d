/* SPDX-License-Identifier: MIT
 *
 * The section of comparisons of two models: how often their decisions agree, whether the subsets of
 * one suffice for the other, their joint clusters, and the examples whose subsets differ. A is
 * always green, B always pink.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "report/figures.h"
#include "report/page.h"

enum { CLUSTERS_MAX = 50, DIFFERENCES_MAX = 50, PATTERNS_MAX = 8 };

static void add_side(sis__buf *b, const sis__compared *c, size_t side) {
    char name[200];
    sis__side_name(c, side, name, sizeof name);
    sis__buf_printf(b, "<span class=\"swatch side%zu\"></span> <bdi>", side);
    sis__html_clip(b, name, 40);
    sis__buf_str(b, "</bdi>");
}

static void add_percent(sis__buf *b, double share) {
    if (isnan(share))
        sis__buf_str(b, "\xE2\x80\x93");
    else
        sis__buf_printf(b, "%.1f %%", 100 * share);
}

/* ---- Summary --------------------------------------------------------------------------------- */

static void add_agreement(sis__buf *b, const sis__compared *c) {
    sis__buf_str(b, "<div class=\"tile\"><b>");
    add_percent(b, sis_comparison_agreement(&c->found));
    sis__buf_str(b, "</b><span class=\"soft\">agree, of ");
    sis__html_plural(b, c->found.common, "common example");
    sis__buf_str(b, "</span></div>\n");
}

static void add_sufficient(sis__buf *b, const sis__compared *c, size_t side) {
    sis__buf_str(b, "<div class=\"tile\"><b>");
    add_percent(b, c->found.cross[side].n ? c->found.cross[side].sufficient : NAN);
    sis__buf_str(b, "</b><span class=\"soft\">of ");
    sis__html_plural(b, c->found.cross[side].n, "subset");
    sis__buf_str(b, " of ");
    add_side(b, c, side);
    sis__buf_str(b, " are enough for ");
    add_side(b, c, !side);
    sis__buf_str(b, "</span></div>\n");
}

static void add_tiles(sis__buf *b, const sis__compared *c) {
    size_t n = c->joint.n_clusters - (c->joint.found.n_noise > 0);
    sis__buf_str(b, "<div class=\"tiles\">\n");
    add_agreement(b, c);
    add_sufficient(b, c, 0);
    add_sufficient(b, c, 1);
    sis__buf_str(b, "<div class=\"tile\"><b>");
    sis__html_count(b, n);
    sis__buf_printf(b, "</b><span class=\"soft\">joint cluster%s of ", n == 1 ? "" : "s");
    sis__html_plural(b, c->joint.found.n, "subset");
    sis__buf_str(b, "</span></div>\n</div>\n");
}

static void add_models(sis__buf *b, const sis__compared *c) {
    sis__buf_str(b, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Models\">"
                    "<table class=\"numbers\"><thead><tr><th></th><th>model</th><th>results</th>"
                    "<th>decision</th><th>examples</th><th>subsets</th></tr></thead>\n<tbody>");
    for (size_t k = 0; k < 2; k++) {
        const sis_side *s = &c->found.sides[k];
        sis__buf_str(b, "<tr><th>");
        add_side(b, c, k);
        sis__buf_str(b, "</th><td><bdi>");
        sis__html_clip(b, s->model, 100);
        sis__buf_str(b, "</bdi></td><td><bdi>");
        sis__html_clip(b, s->results, 100);
        sis__buf_printf(b, "</bdi></td><td>score %s ", s->below ? "\xE2\x89\xA4" : "\xE2\x89\xA5");
        sis__html_number(b, s->threshold);
        sis__buf_str(b, "</td><td>");
        sis__html_count(b, s->n);
        sis__buf_str(b, "</td><td>");
        sis__html_count(b, s->subsets);
        sis__buf_str(b, "</td></tr>\n");
    }
    sis__buf_str(b, "</tbody></table></div>\n");
}

/* ---- Joint clusters -------------------------------------------------------------------------- */

/* Add a bar of two parts, described in words. */
static void add_shares(sis__buf *b, const sis__compared *c, const sis__cluster *cluster) {
    sis__buf_str(b, "<div class=\"bars\" aria-hidden=\"true\">");
    for (size_t k = 0; k < 2; k++)
        sis__buf_printf(b, "<span class=\"side%zu\" style=\"flex:%.4f\"></span>", k,
                        sis__side_share(c, cluster, k));
    sis__buf_str(b, "</div>\n<p class=\"soft\">");
    for (size_t k = 0; k < 2; k++) {
        sis__buf_printf(b, "%s%.0f %% ", k ? " \xC2\xB7 " : "",
                        100 * sis__side_share(c, cluster, k));
        add_side(b, c, k);
    }
    sis__buf_str(b, "</p>\n");
}

static int add_joint(sis__buf *b, const sis_report *report, const sis__compared *c) {
    const sis__clusters *set = &c->joint;
    size_t n = set->n_clusters - (set->found.n_noise > 0), runs[2];
    int code = SIS_OK;
    for (size_t k = 0; k < 2; k++)
        runs[k] = sis__side_run(report, &c->found.sides[k]);
    sis__buf_str(b, "<h3 class=\"part\">Joint clusters</h3>\n<p class=\"soft\">");
    sis__html_plural(b, n, "cluster");
    sis__buf_str(b, " of the subsets of both models; ");
    sis__html_plural(b, set->found.n_noise, "subset");
    sis__buf_printf(b, " belong%s to none. Members shown are spread evenly.</p>\n",
                    set->found.n_noise == 1 ? "s" : "");
    for (size_t i = 0; code == SIS_OK && i < n && i < CLUSTERS_MAX; i++) {
        sis__page_cluster_heading(b, set, i);
        add_shares(b, c, &set->clusters[i]);
        code = sis__page_cluster(b, report, set, i, runs, 2);
        sis__buf_str(b, "</div>\n");
    }
    if (n > CLUSTERS_MAX)
        sis__buf_printf(b, "<p class=\"soft\">The largest %d are shown.</p>\n", CLUSTERS_MAX);
    return code;
}

/* ---- Differences ----------------------------------------------------------------------------- */

/* Add patterns from the comparison for subsets whose records are missing. */
static void add_patterns(sis__buf *b, const sis_difference *f, size_t side) {
    sis__buf_str(b, "<ul class=\"patterns\">");
    for (size_t i = 0; i < f->n_patterns[side] && i < PATTERNS_MAX; i++) {
        sis__buf_str(b, "<li><bdi>");
        sis__html_clip(b, f->patterns[side][i], 160);
        sis__buf_str(b, "</bdi></li>");
    }
    sis__buf_str(b, "</ul>\n");
}

static int add_half(sis__buf *b, const sis_report *report, const sis__compared *c,
                    size_t difference, size_t side) {
    size_t i = c->examples[difference][side];
    int code = SIS_OK;
    sis__buf_printf(b, "<div class=\"half side%zu\"><p class=\"whose\">", side);
    add_side(b, c, side);
    if (i != SIZE_MAX) {
        char output[200];
        const sis_record *r = &report->examples[i].record;
        sis__buf_str(b, " <span class=\"soft\">score ");
        sis__html_number(b, r->collection.score);
        if (!sis__output_is_plain(r)) {
            sis__output_name(r, output, sizeof output);
            sis__buf_str(b, " for <bdi>");
            sis__html_clip(b, output, 40);
            sis__buf_str(b, "</bdi>");
        }
        sis__buf_str(b, "</span>");
    }
    sis__buf_str(b, "</p>\n");
    if (i != SIZE_MAX)
        code = sis__card_body(b, &report->examples[i], NULL);
    else
        add_patterns(b, &c->found.differences[difference], side);
    sis__buf_str(b, "</div>\n");
    return code;
}

static int add_differences(sis__buf *b, const sis_report *report, const sis__compared *c) {
    int code = SIS_OK;
    size_t shown =
        c->found.n_differences < DIFFERENCES_MAX ? c->found.n_differences : DIFFERENCES_MAX;
    sis__buf_str(b, "<h3 class=\"part\">Where subsets differ most</h3>\n<p class=\"soft\">");
    sis__html_plural(b, shown, "example");
    sis__buf_str(b, ", the farthest apart first: the mean distance of a subset to the nearest of "
                    "the other model.</p>\n");
    for (size_t i = 0; code == SIS_OK && i < shown; i++) {
        const sis_difference *f = &c->found.differences[i];
        sis__buf_str(b, "<div class=\"pair\"><h4><bdi>");
        sis__html_clip(b, f->id, 60);
        sis__buf_str(b, "</bdi> <span class=\"tag\">");
        sis__html_number(b, f->distance);
        sis__buf_str(b, " apart</span></h4>\n<div class=\"halves\">\n");
        for (size_t side = 0; code == SIS_OK && side < 2; side++)
            code = add_half(b, report, c, i, side);
        sis__buf_str(b, "</div></div>\n");
    }
    return code;
}

/* ---- The section ----------------------------------------------------------------------------- */

static int add_comparison(sis__buf *b, const sis_report *report, size_t k) {
    const sis__compared *c = &report->comparisons[k];
    sis__buf_str(b, "<h3 class=\"part\">");
    add_side(b, c, 0);
    sis__buf_str(b, " against ");
    add_side(b, c, 1);
    sis__buf_str(b, "</h3>\n");
    add_tiles(b, c);
    add_models(b, c);
    int code = sis__page_figures(b, report, "comparison", k);
    if (code == SIS_OK && c->joint.n_clusters > (c->joint.found.n_noise > 0))
        code = add_joint(b, report, c);
    if (code == SIS_OK && c->found.n_differences)
        code = add_differences(b, report, c);
    return code;
}

int sis__page_comparisons(sis__buf *b, const sis_report *report) {
    int code = SIS_OK;
    for (size_t k = 0; code == SIS_OK && k < report->n_comparisons; k++)
        code = add_comparison(b, report, k);
    return code;
}
