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
    sis__html(b, "<span class=\"swatch side%zu\"></span> <bdi>%.40s</bdi>", side, name);
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
    sis__html(b, "</b><span class=\"soft\">agree, of %'zu common example%s</span></div>\n",
              c->found.common, sis__plural(c->found.common));
}

static void add_sufficient(sis__buf *b, const sis__compared *c, size_t side) {
    size_t n = c->found.cross[side].n;
    sis__buf_str(b, "<div class=\"tile\"><b>");
    add_percent(b, n ? c->found.cross[side].sufficient : NAN);
    sis__html(b, "</b><span class=\"soft\">of %'zu subset%s of ", n, sis__plural(n));
    add_side(b, c, side);
    sis__buf_str(b, " are enough for ");
    add_side(b, c, !side);
    sis__buf_str(b, "</span></div>\n");
}

static void add_tiles(sis__buf *b, const sis__compared *c) {
    size_t n = c->joint.n_clusters - (c->joint.found.n_noise > 0), all = c->joint.found.n;
    sis__buf_str(b, "<div class=\"tiles\">\n");
    add_agreement(b, c);
    add_sufficient(b, c, 0);
    add_sufficient(b, c, 1);
    sis__html(b,
              "<div class=\"tile\"><b>%'zu</b><span class=\"soft\">joint cluster%s of %'zu "
              "subset%s</span></div>\n</div>\n",
              n, sis__plural(n), all, sis__plural(all));
}

/* Files without their folders; commands and addresses as they are. */
static const char *model_name(const char *model) {
    int as_given = strncmp(model, "cmd:", 4) == 0 || strstr(model, "://");
    return as_given ? model : sis__file_name(model, NULL);
}

static void add_models(sis__buf *b, const sis__compared *c) {
    sis__buf_str(b, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Models\">"
                    "<table class=\"numbers\"><thead><tr><th></th><th>model</th><th>results</th>"
                    "<th>decision</th><th>examples</th><th>subsets</th></tr></thead>\n<tbody>");
    for (size_t k = 0; k < 2; k++) {
        const sis_side *s = &c->found.sides[k];
        sis__buf_str(b, "<tr><th>");
        add_side(b, c, k);
        sis__html(b,
                  "</th><td><bdi>%.100s</bdi></td><td><bdi>%.100s</bdi></td><td>score %s %g</td>"
                  "<td>%'zu</td><td>%'zu</td></tr>\n",
                  model_name(s->model), sis__file_name(s->results, NULL),
                  s->below ? "\xE2\x89\xA4" : "\xE2\x89\xA5", s->threshold, s->n, s->subsets);
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
    size_t noise = set->found.n_noise, n = set->n_clusters - (noise > 0), runs[2];
    int code = SIS_OK;
    for (size_t k = 0; k < 2; k++)
        runs[k] = sis__side_run(report, &c->found.sides[k]);
    sis__html(b,
              "<h3 class=\"part\">Joint clusters</h3>\n<p class=\"soft\">%'zu cluster%s of the "
              "subsets of both models; %'zu subset%s belong%s to none. Members shown are spread "
              "evenly.</p>\n",
              n, sis__plural(n), noise, sis__plural(noise), noise == 1 ? "s" : "");
    for (size_t i = 0; code == SIS_OK && i < n && i < CLUSTERS_MAX; i++) {
        sis__page_cluster_heading(b, set, i);
        add_shares(b, c, &set->clusters[i]);
        code = sis__page_cluster(b, report, set, i, runs, 2);
        sis__buf_str(b, "</div>\n");
    }
    if (n > CLUSTERS_MAX)
        sis__html(b, "<p class=\"soft\">The largest %d are shown.</p>\n", CLUSTERS_MAX);
    return code;
}

/* ---- Differences ----------------------------------------------------------------------------- */

/* Add patterns from the comparison for subsets whose records are missing. */
static void add_patterns(sis__buf *b, const sis_difference *f, size_t side) {
    sis__buf_str(b, "<ul class=\"patterns\">");
    for (size_t i = 0; i < f->n_patterns[side] && i < PATTERNS_MAX; i++)
        sis__html(b, "<li><bdi>%.160s</bdi></li>", f->patterns[side][i]);
    sis__buf_str(b, "</ul>\n");
}

static int add_half(sis__buf *b, const sis_report *report, const sis__compared *c,
                    size_t difference, size_t side) {
    size_t i = c->examples[difference][side];
    const sis_record *r = i == SIZE_MAX ? NULL : &report->examples[i].record;
    char output[200];
    int code = SIS_OK;
    sis__html(b, "<div class=\"half side%zu\"><p class=\"whose\">", side);
    add_side(b, c, side);
    if (r)
        sis__html(b, " <span class=\"soft\">score %g", r->collection.score);
    if (r && !sis__output_is_plain(r)) {
        sis__output_name(r, output, sizeof output);
        sis__html(b, " for <bdi>%.40s</bdi>", output);
    }
    sis__buf_str(b, r ? "</span></p>\n" : "</p>\n");
    if (r)
        code = sis__card_body(b, &report->examples[i], NULL);
    else
        add_patterns(b, &c->found.differences[difference], side);
    sis__buf_str(b, "</div>\n");
    return code;
}

static int add_differences(sis__buf *b, const sis_report *report, const sis__compared *c) {
    int code = SIS_OK;
    size_t n = c->found.n_differences, shown = n < DIFFERENCES_MAX ? n : DIFFERENCES_MAX;
    sis__html(
        b,
        "<h3 class=\"part\">Where subsets differ most</h3>\n<p class=\"soft\">%'zu example%s, "
        "the farthest apart first: the mean distance of a subset to the nearest of the other "
        "model.</p>\n",
        shown, sis__plural(shown));
    for (size_t i = 0; code == SIS_OK && i < shown; i++) {
        const sis_difference *f = &c->found.differences[i];
        sis__html(
            b,
            "<div class=\"pair\"><h4><bdi>%.60s</bdi> <span class=\"tag\">%g apart</span></h4>\n"
            "<div class=\"halves\">\n",
            f->id, f->distance);
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
