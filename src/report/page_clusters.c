/* SPDX-License-Identifier: MIT
 *
 * The section of clusters. Images are shown as a row of members; sequences as a motif beside the
 * most frequent patterns, with members below; words as patterns with counts; tables as shared
 * features with the range of their values. With several files, the source of members is shown.
 * Clusters keep the order of the file, which sis cluster sorts by size.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/record.h>

#include "base/mem.h"
#include "base/order.h"
#include "report/figures.h"
#include "report/page.h"

enum { ROW_MAX = 15, PATTERNS_MAX = 8, CLUSTERS_MAX = 100, LOOKS_MAX = 200 };

/* How its members are drawn; a list if unknown. */
static sis__look look_of(const sis_report *report, const sis__cluster *c) {
    return c->n_members ? report->examples[c->members[0].example].look : SIS__LIST;
}

static int is_in_run(const sis_report *report, const sis__member *m, const size_t *run) {
    return !run || report->examples[m->example].run == *run;
}

/* The text of a member, and the number of members with this text. */
typedef struct {
    sis__buf text;
    size_t count;
} look_alike;

static int by_count(const void *a, const void *b) {
    const look_alike *x = (const look_alike *)a, *y = (const look_alike *)b;
    return (x->count < y->count) - (x->count > y->count);
}

static void count_look(sis__buf *text, look_alike *seen, size_t *n) {
    size_t k = 0;
    while (k < *n &&
           (seen[k].text.len != text->len || memcmp(seen[k].text.data, text->data, text->len) != 0))
        k++;
    if (k == *n && *n < LOOKS_MAX) {
        seen[(*n)++] = (look_alike){*text, 1};
        return;
    }
    sis__buf_release(text);
    if (k < *n)
        seen[k].count++;
}

/* Add each distinct text once, the most frequent first. */
static int add_lines(sis__buf *b, const sis_report *report, const sis__cluster *c,
                     const size_t *run) {
    look_alike *seen = SIS_NEW(look_alike, LOOKS_MAX);
    size_t n = 0;
    int code = seen ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; code == SIS_OK && i < c->n_members; i++) {
        const sis__member *m = &c->members[i];
        sis__buf text = {0};
        if (!is_in_run(report, m, run))
            continue;
        code = sis__thumb(&text, &report->examples[m->example], m->subset);
        if (code == SIS_OK && (code = sis__buf_error(&text)) == SIS_OK)
            count_look(&text, seen, &n);
        else
            sis__buf_release(&text);
    }
    if (n)
        qsort(seen, n, sizeof *seen, by_count);
    sis__buf_str(b, n ? "<div class=\"row lines\">" : "");
    for (size_t k = 0; code == SIS_OK && k < n && k < ROW_MAX; k++) {
        sis__buf_str(b, "<span>");
        sis__buf_add(b, seen[k].text.data, seen[k].text.len);
        if (seen[k].count > 1)
            sis__html(b, " <span class=\"soft\">\xC3\x97 %zu</span>", seen[k].count);
        sis__buf_str(b, "</span>");
    }
    sis__buf_str(b, n ? "</div>\n" : "");
    for (size_t k = 0; k < n; k++)
        sis__buf_release(&seen[k].text);
    free(seen);
    return code;
}

/* Add members of the run (or of all runs), evenly spaced. */
static int add_row(sis__buf *b, const sis_report *report, const sis__cluster *c,
                   const size_t *run) {
    size_t n = 0, at = 0, shown = 0;
    int code = SIS_OK;
    if (look_of(report, c) != SIS__IMAGE)
        return add_lines(b, report, c, run);
    for (size_t i = 0; i < c->n_members; i++)
        n += (size_t)is_in_run(report, &c->members[i], run);
    size_t max = n < ROW_MAX ? n : ROW_MAX;
    if (n == 0)
        return SIS_OK;
    sis__buf_str(b, "<div class=\"row\">");
    for (size_t i = 0; code == SIS_OK && i < c->n_members; i++) {
        const sis__member *m = &c->members[i];
        if (!is_in_run(report, m, run))
            continue;
        if (shown < max && at++ == shown * n / max) {
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

static void add_pattern(sis__buf *b, const char *text, size_t count) {
    sis__html(b, "<li><bdi>%.120s</bdi> <span class=\"soft\">\xC3\x97 %'zu</span></li>\n", text,
              count);
}

/* "great 5, very good 2", as chips. */
static void add_patterns(sis__buf *b, const sis__cluster *c) {
    sis__buf_str(b, "<ul class=\"patterns\" aria-label=\"Most frequent patterns\">");
    for (size_t i = 0; i < c->found.n_patterns && i < PATTERNS_MAX; i++)
        add_pattern(b, c->found.patterns[i].text, c->found.patterns[i].count);
    sis__buf_str(b, "</ul>\n");
}

/* ---- Tables: shared features ----------------------------------------------------------------- */

enum { SHARED_MAX = 8, CATEGORIES_MAX = 3 };

/* A set of features shared by members, with the values of each: a range, or categories. */
typedef struct {
    size_t n, count;
    int features[SHARED_MAX]; /* sorted */
    double low[SHARED_MAX], high[SHARED_MAX];
    const char *words[SHARED_MAX][CATEGORIES_MAX + 1];
    const sis_record *like;
} shared;

static void add_word(shared *s, size_t k, const char *word) {
    for (size_t i = 0; i <= CATEGORIES_MAX; i++) {
        if (!s->words[k][i])
            s->words[k][i] = word;
        if (strcmp(s->words[k][i], word) == 0)
            return;
    }
}

/* Add this member's value of feature k of the set. */
static void add_value(shared *s, size_t k, const sis_record *r) {
    size_t count, v = sis_record_values(r, s->features[k], &count);
    const char *word =
        r->drawing.values ? sis_record_category(r, r->drawing.values, s->features[k]) : NULL;
    if (word)
        add_word(s, k, word);
    else if (r->drawing.values && count == 1) {
        s->low[k] = fmin(s->low[k], r->drawing.values[v]);
        s->high[k] = fmax(s->high[k], r->drawing.values[v]);
    }
}

static shared *find_shared(shared *sets, size_t *n, size_t max, const sis_record *r,
                           const sis_subset *subset) {
    shared s = {.n = subset->n, .like = r};
    if (subset->n > SHARED_MAX)
        return NULL;
    memcpy(s.features, subset->features, s.n * sizeof *s.features);
    qsort(s.features, s.n, sizeof *s.features, sis__by_int);
    for (size_t k = 0; k < *n; k++)
        if (sets[k].n == s.n && memcmp(sets[k].features, s.features, s.n * sizeof *s.features) == 0)
            return &sets[k];
    for (size_t k = 0; k < s.n; k++) {
        s.low[k] = INFINITY;
        s.high[k] = -INFINITY;
    }
    if (*n == max)
        return NULL;
    sets[*n] = s;
    return &sets[(*n)++];
}

static int by_shared_count(const void *a, const void *b) {
    const shared *x = (const shared *)a, *y = (const shared *)b;
    return (x->count < y->count) - (x->count > y->count);
}

/* "Amount 1400 to 3075", "Job partime, others". */
static void add_shared_feature(sis__buf *b, const shared *s, size_t k) {
    char name[200];
    sis_record_name(s->like, s->features[k], name, sizeof name);
    sis__html(b, "<bdi>%.60s <small>", name);
    for (size_t i = 0; i < CATEGORIES_MAX && s->words[k][i]; i++)
        sis__html(b, "%s%.40s", i ? ", " : "", s->words[k][i]);
    if (s->words[k][CATEGORIES_MAX])
        sis__buf_str(b, ", \xE2\x80\xA6");
    if (!s->words[k][0] && s->low[k] <= s->high[k])
        sis__html(b, "%g", s->low[k]);
    if (!s->words[k][0] && s->low[k] < s->high[k])
        sis__html(b, " to %g", s->high[k]);
    sis__buf_str(b, "</small></bdi>");
}

/* Add members by their set of features, with ranges of values. 1: something was added. */
static int add_ranges(sis__buf *b, const sis_report *report, const sis__cluster *c) {
    shared *sets = SIS_NEW(shared, LOOKS_MAX);
    size_t n = 0, rest = 0;
    if (!sets)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < c->n_members; i++) {
        const sis_record *r = &report->examples[c->members[i].example].record;
        const sis_subset *subset = &r->collection.subsets[c->members[i].subset];
        shared *s = find_shared(sets, &n, LOOKS_MAX, r, subset);
        rest += !s;
        for (size_t k = 0; s && k < s->n; k++)
            add_value(s, k, r);
        if (s)
            s->count++;
    }
    qsort(sets, n, sizeof *sets, by_shared_count);
    sis__buf_str(b, n ? "<ul class=\"patterns\" aria-label=\"Features of members\">" : "");
    for (size_t i = 0; i < n && i < PATTERNS_MAX; i++) {
        sis__buf_str(b, "<li>");
        for (size_t k = 0; k < sets[i].n; k++)
            add_shared_feature(b, &sets[i], k);
        sis__html(b, " <span class=\"soft\">\xC3\x97 %zu</span></li>\n", sets[i].count);
    }
    for (size_t i = PATTERNS_MAX; i < n; i++)
        rest += sets[i].count;
    sis__buf_str(b, n ? "</ul>\n" : "");
    if (n && rest)
        sis__buf_printf(b, "<p class=\"soft\">and %zu others</p>\n", rest);
    free(sets);
    return n > 0;
}

static void add_shares(sis__buf *b, const sis__cluster *c) {
    for (size_t i = 0; c->found.n_shares > 1 && i < c->found.n_shares; i++)
        sis__html(b,
                  i ? ", %.0f %% of <bdi>%.60s</bdi>"
                    : "<p class=\"soft\">%.0f %% of <bdi>%.60s</bdi>",
                  100 * c->found.shares[i].share, c->found.shares[i].source);
    sis__buf_str(b, c->found.n_shares > 1 ? "</p>\n" : "");
}

/* Add a drawing and release it. */
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

/* "FOXA1 MA0148.4 p 2e-9, q 1e-6" for each known motif that matches the cluster. */
static void add_matches(sis__buf *b, const sis__cluster *c) {
    sis__buf_str(b,
                 "<div class=\"matches\"><p class=\"soft\">Known motifs like this one; the first "
                 "is drawn below it:</p><ul>");
    for (size_t i = 0; i < c->found.n_matches && i < PATTERNS_MAX; i++) {
        const sis_found_match *m = &c->found.matches[i];
        sis__html(b, "<li><bdi>%.60s</bdi> <span class=\"soft\"><bdi>%.60s</bdi> divergence %.3g",
                  m->name, strcmp(m->id, m->name) ? m->id : "", m->divergence);
        if (!isnan(m->p))
            sis__html(b, ", p %.2g, q %.2g", m->p, m->q);
        sis__html(b, "%s</span></li>\n", m->reverse ? ", other strand" : "");
    }
    sis__buf_str(b, "</ul></div>\n");
}

/* Add the logo of the cluster above that of its best matching motif. */
static int add_logo(sis__buf *b, const sis_report *report, const sis__cluster *c) {
    sis__drawing d = {0};
    sis__buf_str(b, "<div class=\"logos\">");
    int code = add_drawing(b, &d, sis__make_cluster_logo(report, c, &d));
    d = (sis__drawing){0};
    if (code == SIS_OK && c->found.n_matches)
        code = add_drawing(b, &d, sis__make_match_logo(c, &d));
    sis__buf_str(b, "</div>\n");
    if (code == SIS_OK && c->found.n_matches)
        add_matches(b, c);
    return code;
}

static int is_noise(const sis__clusters *set, size_t i) {
    return set->found.n_noise && i + 1 == set->n_clusters;
}

void sis__page_cluster_heading(sis__buf *b, const sis__clusters *set, size_t i) {
    const sis_found_cluster *f = &set->clusters[i].found;
    if (is_noise(set, i))
        sis__buf_str(b, "<div class=\"cluster\"><h4>In no cluster");
    else
        sis__html(b, "<div class=\"cluster\"><h4>Cluster <bdi>%'zu</bdi>", f->number);
    sis__html(b, " <span class=\"tag\">%'zu subset%s</span></h4>\n", f->size, sis__plural(f->size));
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
    } else if (look == SIS__TABLE && !noise && (code = add_ranges(b, report, c)) != 0) {
        return code < 0 ? code : SIS_OK;
    } else if (look != SIS__IMAGE && c->found.n_patterns) {
        add_patterns(b, c);
    }
    if (code == SIS_OK && c->n_members &&
        (look == SIS__IMAGE || look == SIS__DNA || !c->found.n_patterns))
        code = add_rows(b, report, c, runs, n);
    if (c->n_members == 0)
        sis__buf_str(b, "<p class=\"soft\">Its members are not in the results on this page.</p>\n");
    return code;
}

static int add_cluster(sis__buf *b, const sis_report *report, const sis__clusters *set, size_t i) {
    sis__page_cluster_heading(b, set, i);
    int code = sis__page_cluster(b, report, set, i, NULL, 0);
    add_shares(b, &set->clusters[i]);
    sis__buf_str(b, "</div>\n");
    return code;
}

/* Find the largest cluster of DNA in all sets. 0: none. */
static int find_largest(const sis_report *report, const sis__clusters **set, size_t *at) {
    *set = NULL;
    for (size_t s = 0; s < report->n_sets; s++)
        for (size_t i = 0; i < report->sets[s].n_clusters; i++) {
            const sis__cluster *c = &report->sets[s].clusters[i];
            if (is_noise(&report->sets[s], i) || look_of(report, c) != SIS__DNA ||
                (*set && c->found.size <= (*set)->clusters[*at].found.size))
                continue;
            *set = &report->sets[s];
            *at = i;
        }
    return *set != NULL;
}

int sis__page_logo(sis__buf *b, const sis_report *report) {
    const sis__clusters *set;
    size_t i;
    if (!find_largest(report, &set, &i))
        return SIS_OK;
    const sis__cluster *c = &set->clusters[i];
    sis__html(b,
              "<div class=\"cluster first\"><h4>What the largest cluster looks like "
              "<span class=\"tag\">%'zu of %'zu subset%s</span></h4>\n<div class=\"motif\">",
              c->found.size, set->found.n, sis__plural(set->found.n));
    int code = add_logo(b, report, c);
    sis__buf_str(b, "</div></div>\n");
    return code;
}

/* For subsets of one word each: the words, and the number of subsets of each. */
static void add_counts(sis__buf *b, const sis__clusters *set) {
    sis__html(b,
              "%'zu subset%s, each of one word. Number of subsets with each word:</p>\n"
              "<ul class=\"patterns\" aria-label=\"Words\">",
              set->found.n, sis__plural(set->found.n));
    for (size_t i = 0; i < set->n_clusters && i < CLUSTERS_MAX; i++) {
        const sis_found_cluster *f = &set->clusters[i].found;
        add_pattern(b, f->n_patterns ? f->patterns[0].text : "", f->size);
    }
    sis__buf_str(b, "</ul>\n");
}

static int add_set(sis__buf *b, const sis_report *report, const sis__clusters *set) {
    const sis_clustering *found = &set->found;
    size_t n = set->n_clusters - (found->n_noise > 0);
    int code = SIS_OK;
    if (report->n_sets > 1) {
        sis__buf_str(b, "<h3><bdi>");
        sis__html_stem(b, set->name, 80);
        sis__buf_str(b, "</bdi></h3>\n");
    }
    sis__buf_str(b, "<p class=\"soft\">");
    if (found->counts) {
        add_counts(b, set);
        return code;
    }
    sis__html(b, "%'zu cluster%s of %'zu subset%s", n, sis__plural(n), found->n,
              sis__plural(found->n));
    if (found->distance)
        sis__html(b, " by %.40s distance", found->distance);
    if (found->strands && strcmp(found->strands, "both") == 0)
        sis__buf_str(b, " on both strands");
    if (!isnan(found->eps))
        sis__html(b, ", neighbours within %.4g", found->eps);
    sis__buf_str(b, ".</p>\n");
    for (size_t i = 0; code == SIS_OK && i < set->n_clusters; i++)
        if (i < CLUSTERS_MAX || i + 1 == set->n_clusters)
            code = add_cluster(b, report, set, i);
    if (set->n_clusters > CLUSTERS_MAX)
        sis__html(b, "<p class=\"soft\">The largest %d are shown.</p>\n", CLUSTERS_MAX);
    return code;
}

int sis__page_clusters(sis__buf *b, const sis_report *report) {
    int code = SIS_OK;
    for (size_t i = 0; code == SIS_OK && i < report->n_sets; i++)
        code = add_set(b, report, &report->sets[i]);
    return code;
}
