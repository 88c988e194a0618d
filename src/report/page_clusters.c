/* SPDX-License-Identifier: MIT
 *
 * Clusters, each as its kind wants to be seen: pictures as a row of members; sequences as their
 * motif beside the most frequent patterns, with members below; words and tables as the patterns
 * with how often each is there. And where members are from, if they are from several files.
 */
#include <math.h>
#include <string.h>

#include "report/figures.h"
#include "report/page.h"

enum { ROW_MOST = 15, PATTERNS_MOST = 8, CLUSTERS_MOST = 100 };

/* What its members look like; a list if it is not known. */
static sis__look look_of(const sis_report *report, const sis__cluster *c) {
    return c->n_members ? report->examples[c->members[0].example].look : SIS__LIST;
}

static int is_in_run(const sis_report *report, const sis__member *m, const size_t *run) {
    return !run || report->examples[m->example].run == *run;
}

/* Members spread evenly over those of the cluster that are of the run, or over all. */
static int add_row(sis__buf *b, const sis_report *report, const sis__cluster *c,
                   const size_t *run) {
    size_t n = 0, at = 0, shown = 0;
    int code = SIS_OK, pictures = look_of(report, c) == SIS__IMAGE;
    for (size_t i = 0; i < c->n_members; i++)
        n += (size_t)is_in_run(report, &c->members[i], run);
    size_t most = n < ROW_MOST ? n : ROW_MOST;
    if (n == 0)
        return SIS_OK;
    sis__buf_printf(b, "<div class=\"row%s\">", pictures ? "" : " lines");
    for (size_t i = 0; code == SIS_OK && i < c->n_members; i++) {
        const sis__member *m = &c->members[i];
        if (!is_in_run(report, m, run))
            continue;
        if (shown < most && at++ == shown * n / most) {
            code = sis__thumb(b, &report->examples[m->example], m->subset);
            shown++;
        }
    }
    sis__buf_str(b, "</div>\n");
    return code;
}

static int add_rows(sis__buf *b, const sis_report *report, const sis__cluster *c,
                    const size_t *runs, size_t n) {
    int code = n ? SIS_OK : add_row(b, report, c, NULL);
    for (size_t k = 0; code == SIS_OK && k < n; k++) {
        sis__buf_printf(b, "<div class=\"side%zu\">", k);
        code = add_row(b, report, c, &runs[k]);
        sis__buf_str(b, "</div>\n");
    }
    return code;
}

/* "great 5, very good 2", as chips. */
static void add_patterns(sis__buf *b, const sis__cluster *c) {
    sis__buf_str(b, "<ul class=\"patterns\" aria-label=\"Most frequent patterns\">");
    for (size_t i = 0; i < c->found.n_patterns && i < PATTERNS_MOST; i++) {
        sis__buf_str(b, "<li><bdi>");
        sis__html_clip(b, c->found.patterns[i].text, 120);
        sis__buf_str(b, "</bdi> <span class=\"soft\">\xC3\x97 ");
        sis__html_count(b, c->found.patterns[i].count);
        sis__buf_str(b, "</span></li>\n");
    }
    sis__buf_str(b, "</ul>\n");
}

static void add_shares(sis__buf *b, const sis__cluster *c) {
    for (size_t i = 0; c->found.n_shares > 1 && i < c->found.n_shares; i++) {
        sis__buf_printf(b, "%s%.0f %% of <bdi>", i ? ", " : "<p class=\"soft\">",
                        100 * c->found.shares[i].share);
        sis__html_clip(b, c->found.shares[i].source, 60);
        sis__buf_str(b, i + 1 < c->found.n_shares ? "</bdi>" : "</bdi></p>\n");
    }
}

/* A drawing that was made; releases it. */
static int add_drawing(sis__buf *b, sis__drawing *d, int made) {
    int code = made;
    if (made > 0) {
        sis__buf_printf(b, "<div style=\"width:%.0fpx;max-width:100%%\">", d->width);
        code = sis__drawing_inline(b, d);
        sis__buf_str(b, "</div>\n");
    }
    sis__drawing_release(d);
    return code;
}

/* "FOXA1 MA0148.4 p 2e-9, q 1e-6" for each known motif that the cluster is like. */
static void add_matches(sis__buf *b, const sis__cluster *c) {
    sis__buf_str(b, "<ul class=\"matches\" aria-label=\"Known motifs like this one\">");
    for (size_t i = 0; i < c->found.n_matches && i < PATTERNS_MOST; i++) {
        const sis_found_match *m = &c->found.matches[i];
        sis__buf_str(b, "<li><bdi>");
        sis__html_clip(b, m->name, 60);
        sis__buf_str(b, "</bdi> <span class=\"soft\"><bdi>");
        sis__html_clip(b, strcmp(m->id, m->name) ? m->id : "", 60);
        sis__buf_printf(b, "</bdi> divergence %.3g", m->divergence);
        if (!isnan(m->p))
            sis__buf_printf(b, ", p %.2g, q %.2g", m->p, m->q);
        sis__buf_printf(b, "%s</span></li>\n", m->reverse ? ", other strand" : "");
    }
    sis__buf_str(b, "</ul>\n");
}

/* The logo of the cluster over that of the motif it is most like. */
static int add_logo(sis__buf *b, const sis_report *report, const sis__cluster *c) {
    sis__drawing d = {0};
    sis__buf_str(b, "<div class=\"logos\">");
    int code = add_drawing(b, &d, sis__make_cluster_logo(report, c, &d));
    d = (sis__drawing){0};
    if (code == SIS_OK && c->found.n_matches)
        code = add_drawing(b, &d, sis__make_match_logo(c, &d));
    if (code == SIS_OK && c->found.n_matches)
        add_matches(b, c);
    sis__buf_str(b, "</div>\n");
    return code;
}

static int is_noise(const sis__clusters *set, size_t i) {
    return set->found.n_noise && i + 1 == set->n_clusters;
}

void sis__page_cluster_heading(sis__buf *b, const sis__clusters *set, size_t i) {
    const sis__cluster *c = &set->clusters[i];
    sis__buf_str(b, "<div class=\"cluster\"><h4>");
    if (is_noise(set, i)) {
        sis__buf_str(b, "In no cluster");
    } else {
        sis__buf_str(b, "Cluster <bdi>");
        sis__html_count(b, c->found.number);
        sis__buf_str(b, "</bdi>");
    }
    sis__buf_str(b, " <span class=\"tag\">");
    sis__html_plural(b, c->found.size, "subset");
    sis__buf_str(b, "</span></h4>\n");
}

int sis__page_cluster(sis__buf *b, const sis_report *report, const sis__clusters *set, size_t i,
                      const size_t *runs, size_t n) {
    const sis__cluster *c = &set->clusters[i];
    int noise = is_noise(set, i), code = SIS_OK;
    sis__look look = look_of(report, c);
    if (look == SIS__DNA && !noise) {
        sis__buf_str(b, "<div class=\"motif\">");
        code = add_logo(b, report, c);
        add_patterns(b, c);
        sis__buf_str(b, "</div>\n");
    } else if (look != SIS__IMAGE && c->found.n_patterns) {
        add_patterns(b, c);
    }
    if (code == SIS_OK && c->n_members &&
        (look == SIS__IMAGE || look == SIS__DNA || !c->found.n_patterns))
        code = add_rows(b, report, c, runs, n);
    if (c->n_members == 0)
        sis__buf_str(b,
                     "<p class=\"soft\">None of its members is in the results shown here.</p>\n");
    return code;
}

static int add_cluster(sis__buf *b, const sis_report *report, const sis__clusters *set, size_t i) {
    sis__page_cluster_heading(b, set, i);
    int code = sis__page_cluster(b, report, set, i, NULL, 0);
    add_shares(b, &set->clusters[i]);
    sis__buf_str(b, "</div>\n");
    return code;
}

static int add_set(sis__buf *b, const sis_report *report, const sis__clusters *set) {
    size_t n = set->n_clusters - (set->found.n_noise > 0);
    int code = SIS_OK;
    sis__buf_str(b, "<h3><bdi>");
    sis__html_clip(b, set->name, 80);
    sis__buf_str(b, "</bdi></h3>\n<p class=\"soft\">");
    sis__html_plural(b, n, "cluster");
    sis__buf_str(b, " of ");
    sis__html_plural(b, set->found.n, "subset");
    if (set->found.distance) {
        sis__buf_str(b, " by ");
        sis__html_clip(b, set->found.distance, 40);
        sis__buf_str(b, " distance");
    }
    if (set->found.strands && strcmp(set->found.strands, "both") == 0)
        sis__buf_str(b, " on both strands");
    if (!isnan(set->found.eps))
        sis__buf_printf(b, ", neighbours within %.4g", set->found.eps);
    sis__buf_str(b, ". Members shown are spread evenly over their cluster.</p>\n");
    for (size_t i = 0; code == SIS_OK && i < set->n_clusters; i++)
        if (i < CLUSTERS_MOST || i + 1 == set->n_clusters)
            code = add_cluster(b, report, set, i);
    if (set->n_clusters > CLUSTERS_MOST)
        sis__buf_printf(b, "<p class=\"soft\">The first %d are shown.</p>\n", CLUSTERS_MOST);
    return code;
}

int sis__page_clusters(sis__buf *b, const sis_report *report) {
    int code = SIS_OK;
    for (size_t i = 0; code == SIS_OK && i < report->n_sets; i++)
        code = add_set(b, report, &report->sets[i]);
    return code;
}
