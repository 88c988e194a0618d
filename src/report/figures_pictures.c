/* SPDX-License-Identifier: MIT
 *
 * Figures of images and motifs: examples with their subsets in rows, clusters in rows, logos.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

#include "base/mem.h"
#include "base/number.h"
#include "report/figures.h"
#include "report/html.h"
#include "report/page.h"

enum { EXAMPLES_MAX = 8, SUBSETS_MAX = 8, MEMBERS_MAX = 15, CLUSTERS_MAX = 20 };

static int draw_pictures(sis__pen *p, const sis__drawing *d) {
    return sis__plot_pictures(p, &d->pictures);
}

static int draw_logo(sis__pen *p, const sis__drawing *d) {
    sis__plot_logo(p, d->counts, d->n_counts);
    return SIS_OK;
}

void sis__rows_make(sis__drawing *d, size_t rows, size_t columns) {
    d->names = sis__alloc(rows, sizeof *d->names);
    d->row_names = (const char **)sis__alloc(rows, sizeof *d->row_names);
    d->pictures.items = SIS_NEW(sis__picture, rows * columns);
    for (size_t i = 0; d->names && d->row_names && i < rows; i++)
        d->row_names[i] = d->names[i];
    d->pictures.row_names = d->row_names;
    d->draw = draw_pictures;
    if (!d->names || !d->row_names || !d->pictures.items)
        d->error = SIS_E_NOMEM;
}

void sis__rows_add(sis__drawing *d, const sis__report_example *e, size_t subset, size_t column) {
    sis__pictures *a = &d->pictures;
    unsigned char *rgba;
    if (d->error || (d->error = sis__paint_image(e, subset, &rgba)) != SIS_OK)
        return;
    a->items[a->n++] = (sis__picture){a->rows, column, e->at.columns, e->at.rows, rgba};
    a->columns = column + 1 > a->columns ? column + 1 : a->columns;
}

/* ---- Examples -------------------------------------------------------------------------------- */

static void add_example(const sis_report *report, sis__drawing *d, const sis__report_example *e) {
    sis__example_title(report, e, d->names[d->pictures.rows], SIS__NAME_SIZE);
    sis__rows_add(d, e, SIZE_MAX, 0);
    for (size_t k = 0; k < e->record.collection.n_subsets && k < SUBSETS_MAX; k++)
        sis__rows_add(d, e, k, k + 1);
    d->pictures.rows++;
}

static int is_image(const sis__report_example *e) {
    return e->look == SIS__IMAGE;
}

int sis__make_pictures(const sis_report *report, size_t k, sis__drawing *d) {
    size_t max = report->n_runs > 1 ? 2 * EXAMPLES_MAX : EXAMPLES_MAX;
    (void)k;
    sis__drawing_choose(d, report, max, is_image);
    sis__rows_make(d, d->n_shown, SUBSETS_MAX + 1);
    for (size_t i = 0; !d->error && i < d->n_shown; i++)
        add_example(report, d, d->shown[i]);
    d->pictures.first_name = "original";
    d->pictures.other_name = d->pictures.columns > 3   ? "subsets, in the order found"
                             : d->pictures.columns > 2 ? "subsets"
                                                       : "subset"; /* short enough for the column */
    sis__pictures_size(&d->pictures, &d->width, &d->height);
    sis__drawing_caption_first(d, d->pictures.rows);
    sis__buf_str(&d->caption, " Chosen pixels are orange if bright and blue if dark.");
    return d->n_shown > 0;
}

/* ---- Clusters -------------------------------------------------------------------------------- */

static int is_picture(const sis_report *report, const sis__member *m) {
    return report->examples[m->example].look == SIS__IMAGE;
}

/* "3 (57)": number and size. With several results files also the share of the first: "3 (57), 80 %
 * cnn". */
static void name_cluster(const sis__cluster *c, char *name) {
    int n = c->found.number
                ? snprintf(name, SIS__NAME_SIZE, "%zu (%zu)", c->found.number, c->found.size)
                : snprintf(name, SIS__NAME_SIZE, "none (%zu)", c->found.size);
    if (c->found.n_shares < 2)
        return;
    int length;
    const char *source = sis__file_name(c->found.shares[0].source, &length);
    sis__format(name + n, SIS__NAME_SIZE - (size_t)n, ", %.0f %% %.*s",
                100 * c->found.shares[0].share, length < 14 ? length : 14, source);
}

static void add_cluster(const sis_report *report, const sis__cluster *c, sis__drawing *d) {
    size_t column = 0, shown = c->n_members < MEMBERS_MAX ? c->n_members : MEMBERS_MAX;
    name_cluster(c, d->names[d->pictures.rows]);
    for (size_t i = 0; i < shown; i++) {
        const sis__member *m = &c->members[i * c->n_members / shown];
        if (is_picture(report, m))
            sis__rows_add(d, &report->examples[m->example], m->subset, column++);
    }
    d->pictures.rows += column > 0;
}

int sis__make_set_rows(const sis_report *report, const sis__clusters *set, sis__drawing *d) {
    sis__rows_make(d, CLUSTERS_MAX, MEMBERS_MAX);
    for (size_t i = 0; !d->error && i < set->n_clusters && d->pictures.rows < CLUSTERS_MAX; i++)
        add_cluster(report, &set->clusters[i], d);
    sis__pictures_size(&d->pictures, &d->width, &d->height);
    size_t rows = d->pictures.rows, n = set->found.n;
    sis__buf_printf(&d->caption,
                    "Up to %d subsets of %s%zu row%s, with the size of the cluster; %zu subset%s "
                    "in all, %zu of them in no cluster.",
                    MEMBERS_MAX, rows == 1 ? "" : "each of ", rows, sis__plural(rows), n,
                    sis__plural(n), set->found.n_noise);
    return rows > 0;
}

int sis__make_cluster_rows(const sis_report *report, size_t k, sis__drawing *d) {
    return sis__make_set_rows(report, &report->sets[k], d);
}

/* ---- Logos ----------------------------------------------------------------------------------- */

/* The best matching motif of the cluster's matrix, if they can be aligned. */
static const sis_found_match *match_of(const sis__cluster *c) {
    const sis_found_match *m = c->found.n_matches ? &c->found.matches[0] : NULL;
    return m && m->n_matrix && c->found.n_matrix && fabs(m->offset) <= 1000 ? m : NULL;
}

/* The number of empty columns before a motif of n columns to align it with one that begins `offset`
 * columns later; *all is the number of columns of both together. */
static size_t columns_before(double offset, size_t n, size_t other, size_t *all) {
    size_t before = offset < 0 ? (size_t)-offset : 0, behind = offset > 0 ? (size_t)offset : 0;
    *all = before + n > behind + other ? before + n : behind + other;
    return before;
}

/* Set the drawing's counts and size: numbers (n, 4) times `scale`, padded with empty columns. */
static void lay_out(sis__drawing *d, const double *numbers, size_t n, size_t before, size_t all,
                    double scale) {
    d->counts = SIS_NEW(double, 4 * all);
    d->n_counts = d->counts ? all : 0;
    d->error = d->counts ? SIS_OK : SIS_E_NOMEM;
    for (size_t k = 0; d->counts && k < 4 * n; k++)
        d->counts[4 * before + k] = scale * numbers[k];
    d->width = fmax(260, 80 + 22 * (double)all);
    d->height = 180;
    d->draw = draw_logo;
}

int sis__make_match_logo(const sis__cluster *c, sis__drawing *d) {
    const sis_found_match *m = match_of(c);
    size_t all;
    if (!m)
        return 0;
    size_t before = columns_before(-m->offset, m->n_matrix / 4, c->found.n_matrix / 4, &all);
    lay_out(d, m->matrix, m->n_matrix / 4, before, all, 1000); /* shares, not counts */
    snprintf(d->title, sizeof d->title, "Motif most similar to cluster %zu.", c->found.number);
    return 1;
}

/* Learn the matrix of the members of a cluster that was found without one, such as one by jaccard
 * distance. The medoid comes first: the others are aligned with it. */
static void learn_logo(const sis_report *report, const sis__cluster *c, sis__drawing *d) {
    char **texts = SIS_NEW(char *, c->n_members + 1);
    const sis__member *medoid = c->medoid.example != SIZE_MAX ? &c->medoid : NULL;
    double *numbers = NULL;
    sis_motif found;
    size_t n = 0, length;
    d->error = texts ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !d->error && i <= c->n_members; i++) {
        const sis__member *m = i == 0 ? medoid : &c->members[i - 1];
        if (m &&
            (i == 0 || !medoid || m->example != medoid->example || m->subset != medoid->subset))
            d->error = sis_subset_letters(&report->examples[m->example].record, m->subset,
                                          &texts[n++], &length);
    }
    if (!d->error)
        d->error =
            sis_motif_learn((const char *const *)texts, n, "cluster", NULL, &found, &numbers);
    if (!d->error)
        lay_out(d, found.counts, found.length, 0, found.length, 1);
    for (size_t i = 0; i < n; i++)
        free(texts[i]);
    free(texts);
    free(numbers);
}

static int has_sequences(const sis_report *report, const sis__cluster *c) {
    for (size_t i = 0; i < c->n_members; i++)
        if (report->examples[c->members[i].example].look != SIS__DNA)
            return 0;
    return c->n_members > 0;
}

int sis__make_cluster_logo(const sis_report *report, const sis__cluster *c, sis__drawing *d) {
    const sis_found_match *m = match_of(c);
    size_t n = c->found.n_matrix / 4, all = n, before = 0;
    if (!has_sequences(report, c))
        return 0;
    if (m)
        before = columns_before(m->offset, n, m->n_matrix / 4, &all);
    if (n)
        lay_out(d, c->found.matrix, n, before, all, 1);
    else
        learn_logo(report, c, d);
    snprintf(d->title, sizeof d->title, "Motif of cluster %zu.", c->found.number);
    sis__buf_printf(&d->caption,
                    "Bases chosen in %zu subset%s; a masked base counts as a quarter of each.",
                    c->n_members, sis__plural(c->n_members));
    return 1;
}

int sis__make_logo(const sis_report *report, size_t k, sis__drawing *d) {
    size_t set = 0, at = k;
    while (at >= report->sets[set].n_clusters)
        at -= report->sets[set++].n_clusters;
    const sis__cluster *c = &report->sets[set].clusters[at];
    int noise = report->sets[set].found.n_noise && at + 1 == report->sets[set].n_clusters;
    snprintf(d->name, sizeof d->name, set ? "logo-%zu-%zu" : "logo-%zu", set ? set + 1 : at + 1,
             at + 1);
    return !noise && sis__make_cluster_logo(report, c, d);
}
