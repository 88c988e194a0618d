/* SPDX-License-Identifier: MIT
 *
 * Drawings of a report: the plots for the page and for figure files.
 */
#ifndef SIS_REPORT_FIGURES_H
#define SIS_REPORT_FIGURES_H

#include "report/plot.h"
#include "report/report.h"

enum { SIS__GROUPS_MAX = 20, SIS__NAME_SIZE = 64, SIS__MARKS_MAX = 4 };

/* A drawing and its data. Zero it, make it, draw it any number of times, release it. */
typedef struct sis__drawing sis__drawing;
struct sis__drawing {
    char name[40], title[120];
    sis__buf caption; /* plain text: what is shown, and of how many */
    double width, height;
    size_t rows; /* features: the maximum; 0: as on the page */
    int dull;    /* all values are equal: left out of the page */
    int error;   /* the first failure; after it, the functions below do nothing */
    sis__plot plot;
    char (*names)[SIS__NAME_SIZE]; /* of the series, or of the rows of images */
    const char **row_names;
    sis__mark marks[SIS__MARKS_MAX];
    char mark_texts[SIS__MARKS_MAX][SIS__NAME_SIZE + 32];
    sis__pictures pictures;
    sis__value_row *values; /* (plot.n_bars) of features */
    double *counts;         /* (n_counts, 4) of a logo */
    size_t n_counts;
    const sis__report_example **shown; /* (n_shown) borrowed; for drawings of examples */
    size_t n_shown;
    int (*chart)(sis__pen *p, const sis__plot *plot); /* draws `plot`; NULL: `draw` is used */
    int (*draw)(sis__pen *p, const sis__drawing *d);
};

void sis__drawing_release(sis__drawing *d);

/* Allocate series and bars with names: d->plot.series[k].name and d->plot.bar_names[i] point to
 * d->names[k] and d->names[series + i]. After a failure there are none. */
void sis__drawing_series(sis__drawing *d, size_t series, size_t bars);

/* Add a number to a series, or a point; those that are not finite are left out. */
void sis__drawing_add(sis__drawing *d, sis__numbers *to, double v);
void sis__drawing_point(sis__drawing *d, sis__series *s, double x, double y);

/* Set d->shown: the first `max` suitable explained examples, each followed by those of the same id
 * in other results files. */
void sis__drawing_choose(sis__drawing *d, const sis_report *report, size_t max,
                         int (*wanted)(const sis__report_example *));

/* "7: 9", id and decision. With several results files the file's name precedes; a differing label
 * follows: "after 7: 4 (9)". `size` is at least SIS__NAME_SIZE. */
void sis__example_title(const sis_report *report, const sis__report_example *e, char *text,
                        size_t size);

/* Begin the caption of a drawing of n examples: "The first 6 explained examples, by name and
 * decision.", or "One explained example, ...". */
void sis__drawing_caption_first(sis__drawing *d, size_t n);

/* Add the figures of a section of the page, number k of each family, as <div class="plots SECTION">;
 * nothing
 * if there are none. */
int sis__page_figures(sis__buf *b, const sis_report *report, const char *section, size_t k);

/* Add the drawing as inline SVG in the colours of the page. */
int sis__drawing_inline(sis__buf *b, const sis__drawing *d);

/* ---- Groups of examples: figures_groups.c ---------------------------------------------------- */

/* Maps an example to its series. BY_OUTPUT: the last group also has the other outputs if `others`. */
typedef struct sis__groups {
    enum { SIS__BY_NOTHING, SIS__BY_RUN, SIS__BY_OUTPUT, SIS__BY_RIGHT } by;
    size_t n;
    size_t outputs[SIS__GROUPS_MAX]; /* BY_OUTPUT: ascending */
    int others;
} sis__groups;

/* By the outputs of the wanted examples: the first `max` (at most SIS__GROUPS_MAX) that occur; or,
 * with 2 to `max` results files, by file. */
sis__groups sis__outputs_find(const sis_report *report, size_t max,
                              int (*wanted)(const sis__report_example *));
sis__groups sis__groups_find(const sis_report *report, size_t max,
                             int (*wanted)(const sis__report_example *));

/* The group of an example, SIZE_MAX: none; its name, in SIS__NAME_SIZE bytes. */
size_t sis__group_of(const sis__groups *g, const sis__report_example *e);
void sis__group_name(const sis_report *report, const sis__groups *g, size_t k, char *name);

/* ---- Makers: figures_*.c --------------------------------------------------------------------
 *
 * Each fills number k of its family, whose name, title and labels are set. Returns 1, or 0 if there
 * is nothing to show; d->error has failures. */

typedef int sis__maker(const sis_report *report, size_t k, sis__drawing *d);

sis__maker sis__make_decided, sis__make_scores, sis__make_sizes, sis__make_numbers,
    sis__make_size_boxes, sis__make_number_boxes, sis__make_score_size, sis__make_histories,
    sis__make_history_ends, sis__make_pictures, sis__make_passages;

/* The content and the position of subsets: figures_features.c. */
sis__maker sis__make_features, sis__make_features_right, sis__make_positions, sis__make_places,
    sis__make_places_right;

/* For set k of clusters; for cluster k over all sets; for any one cluster. */
sis__maker sis__make_cluster_rows, sis__make_logo;
int sis__make_cluster_logo(const sis_report *report, const sis__cluster *c, sis__drawing *d);

/* The logo of the best matching known motif, aligned with the cluster's. 0: no match. */
int sis__make_match_logo(const sis__cluster *c, sis__drawing *d);

/* For comparison k. */
sis__maker sis__make_decisions, sis__make_cross_scores, sis__make_joint_rows, sis__make_differences;

/* For evaluation k: figures_evaluate.c. */
sis__maker sis__make_lengths, sis__make_score_length, sis__make_importance, sis__make_sufficient,
    sis__make_marked, sis__make_quality, sis__make_imputation, sis__make_divergence,
    sis__make_aopc_sufficiency, sis__make_aopc_comprehensiveness, sis__make_stability,
    sis__make_token_f1;

/* Rows of images of a set of clusters; 0 if it has none. */
int sis__make_set_rows(const sis_report *report, const sis__clusters *set, sis__drawing *d);

/* Rows of images: allocate them, then add each image to row d->pictures.rows. subset SIZE_MAX is
 * the original. */
void sis__rows_make(sis__drawing *d, size_t rows, size_t columns);
void sis__rows_add(sis__drawing *d, const sis__report_example *e, size_t subset, size_t column);

#endif
