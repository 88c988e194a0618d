/* SPDX-License-Identifier: MIT
 *
 * Drawings of a report: the plots that the page shows and that files are made of.
 */
#ifndef SIS_REPORT_FIGURES_H
#define SIS_REPORT_FIGURES_H

#include "report/plot.h"
#include "report/report.h"

enum { SIS__GROUPS_MAX = 20, SIS__NAME_SIZE = 64, SIS__MARKS_MAX = 4 };

/* Everything a drawing is made of. Zero it, make it, draw it as often as you like, release it. */
typedef struct sis__drawing sis__drawing;
struct sis__drawing {
    char name[40], title[120];
    sis__buf caption; /* plain text: what is shown, of how many */
    double width, height;
    int dull; /* all values are the same: not worth a place on the page */
    sis__plot plot;
    char (*names)[SIS__NAME_SIZE]; /* of the series, or of the rows of pictures */
    const char **row_names;
    sis__mark marks[SIS__MARKS_MAX];
    char mark_texts[SIS__MARKS_MAX][SIS__NAME_SIZE + 32];
    sis__pictures pictures;
    sis__value_row *values; /* (plot.n_bars) of features */
    double *counts;         /* (n_counts, 4) of a logo */
    size_t n_counts;
    const sis__report_example **shown; /* (n_shown) the report's, of a drawing of examples */
    size_t n_shown;
    int (*chart)(sis__pen *p, const sis__plot *plot); /* of `plot`; NULL: drawn by `draw` */
    int (*draw)(sis__pen *p, const sis__drawing *d);
};

void sis__drawing_release(sis__drawing *d);

/* Name, title, labels, and the usual size. Of number k > 0 of a family, the name ends in "-2",
 * ... */
void sis__drawing_begin(sis__drawing *d, const char *name, const char *title, const char *x,
                        const char *y);
void sis__drawing_number(sis__drawing *d, size_t k);

/* Room for series and bars with names: d->plot.series[k].name and d->plot.bar_names[i] are
 * d->names[k] and d->names[series + i]. */
int sis__drawing_series(sis__drawing *d, size_t series, size_t bars);

/* d->shown: the first explained examples that are wanted, at most `max`; each with those of the
 * same id in other results files behind it, so that they can be compared. */
int sis__drawing_choose(sis__drawing *d, const sis_report *report, size_t max,
                        int (*wanted)(const sis__report_example *));

/* "7: 9", id and decision; with the name of its results file in front if there are several, and its
 * label behind if that is something else: "after 7: 4 (9)". `size` is at least SIS__NAME_SIZE. */
void sis__example_title(const sis_report *report, const sis__report_example *e, char *text,
                        size_t size);

/* The plural ending: "%zu subset%s", n, sis__plural(n). */
static inline const char *sis__plural(size_t n) {
    return n == 1 ? "" : "s";
}

/* Opens the caption of a drawing of n examples: "The first 6 explained examples, by name and
 * decision.", or "One explained example, ...". */
void sis__drawing_caption_first(sis__drawing *d, size_t n);

/* The figures of a section of the page, number k of each family, as <figure> elements. */
int sis__page_figures(sis__buf *b, const sis_report *report, const char *section, size_t k);

/* The drawing in the colours of the page. */
int sis__drawing_inline(sis__buf *b, const sis__drawing *d);

/* ---- Makers: figures_*.c --------------------------------------------------------------------
 *
 * Each makes number k of its family: 1, 0 if there is nothing to show, or a negative code. */

typedef int sis__maker(const sis_report *report, size_t k, sis__drawing *d);

sis__maker sis__make_decided, sis__make_scores, sis__make_sizes, sis__make_numbers,
    sis__make_size_boxes, sis__make_number_boxes, sis__make_score_size, sis__make_histories,
    sis__make_history_ends, sis__make_thresholds, sis__make_pictures, sis__make_passages;

/* What subsets are made of, and where it lies: figures_features.c. */
sis__maker sis__make_features, sis__make_features_right, sis__make_positions, sis__make_places,
    sis__make_places_right;

/* The first of them that there is something to show of, with at most so many rows (0: as usual). */
int sis__make_summary(const sis_report *report, size_t rows, sis__drawing *d);

/* Of set k of clusters; of cluster k over all sets, and of any one cluster. */
sis__maker sis__make_cluster_rows, sis__make_logo;
int sis__make_cluster_logo(const sis_report *report, const sis__cluster *c, sis__drawing *d);

/* The known motif that it is most like, column below column. 0: none is known. */
int sis__make_match_logo(const sis__cluster *c, sis__drawing *d);

/* Of comparison k. */
sis__maker sis__make_decisions, sis__make_cross_scores, sis__make_joint_shares,
    sis__make_joint_rows, sis__make_differences;

/* Of evaluation k: figures_evaluate.c. */
sis__maker sis__make_lengths, sis__make_score_length, sis__make_importance, sis__make_sufficient,
    sis__make_marked, sis__make_quality, sis__make_imputation, sis__make_divergence,
    sis__make_aopc_sufficiency, sis__make_aopc_comprehensiveness, sis__make_stability,
    sis__make_token_f1;

/* Rows of pictures of a set of clusters; 0 if it has none. */
int sis__make_set_rows(const sis_report *report, const sis__clusters *set, sis__drawing *d);

/* Rows of pictures, one after the other: room for them, then each picture into row
 * d->pictures.rows. subset SIZE_MAX is the original. */
int sis__rows_make(sis__drawing *d, size_t rows, size_t columns);
int sis__rows_add(sis__drawing *d, const sis__report_example *e, size_t subset, size_t column);

/* ---- motif.c --------------------------------------------------------------------------------- */

/* How often each base was chosen in each column, the members laid over the medoid (or the first of
 * them) where they agree most: *counts (n, 4). A base that a member masks counts as a quarter of
 * each. n is 0 if no member is a sequence. */
int sis__motif_count(const sis_report *report, const sis__cluster *c, double **counts, size_t *n);

#endif
