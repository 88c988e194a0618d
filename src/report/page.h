/* SPDX-License-Identifier: MIT
 *
 * The parts of the page. Each function appends to a buffer, which records its own errors. Functions
 * that allocate other memory return SIS_OK or SIS_E_NOMEM.
 */
#ifndef SIS_REPORT_PAGE_H
#define SIS_REPORT_PAGE_H

#include "report/html.h"
#include "report/report.h"

/* Number of subset colours: s0 to s11 of page.css. */
enum { SIS__SUBSET_COLOURS = 12 };

/* ---- Chosen features ------------------------------------------------------------------------- */

typedef struct sis__choice {
    int feature;
    size_t subset, rank, of; /* rank 0 is the most important of `of` */
} sis__choice;

/* The features of subsets first .. first + n - 1, sorted for lookup. A feature in two subsets
 * belongs to the first. */
typedef struct sis__choices {
    size_t n;
    sis__choice *items;
} sis__choices;

int sis__choices_make(const sis_collection *c, size_t first, size_t n, sis__choices *out);
const sis__choice *sis__choices_find(const sis__choices *choices, int feature);

/* ' class="s0 r2 h"': subset, rank from 0 (strongest) to 3, marked by a person, and more. choice
 * may be NULL. */
void sis__choice_class(sis__buf *b, const sis__choice *choice, int human, const char *more);

/* ---- Values of all records ------------------------------------------------------------------- */

/* The values of tables over the records of a run. */
typedef struct sis__population {
    size_t n, n_features, n_values; /* n records */
    sis__numbers *numbers; /* (n_features) sorted, of features with one value; NULL: none */
    size_t *ones;          /* (n_values) for categories: the number of records with this category */
} sis__population;

int sis__populations_make(const sis_report *report, sis__population **out); /* (n_runs) */
void sis__populations_free(sis__population *populations, size_t n);

/* Are there enough records to compare this example with? p may be NULL. */
int sis__population_has(const sis__population *p, const sis__report_example *e);

/* The share of records whose feature is less than the value. */
double sis__population_below(const sis__population *p, size_t feature, double value);

/* ---- Examples on the page -------------------------------------------------------------------- */

typedef struct sis__layout {
    size_t n, *order; /* (n) examples; those of the same input in several files are adjacent */
    int *first;       /* (n) is it the first of its input? */
} sis__layout;

/* Choose at most about `max` examples, evenly spaced; 0: all. Release it even after an error. */
int sis__layout_make(const sis_report *report, size_t max, sis__layout *out);
void sis__layout_release(sis__layout *layout);

/* ---- Cards: one example ---------------------------------------------------------------------- */

int sis__card_text(sis__buf *b, const sis__report_example *e);
int sis__card_dna(sis__buf *b, const sis__report_example *e);
int sis__card_image(sis__buf *b, const sis__report_example *e);
int sis__card_table(sis__buf *b, const sis__report_example *e, const sis__population *p);
int sis__card_body(sis__buf *b, const sis__report_example *e,
                   const sis__population *p); /* dispatches by kind */

/* One line with the score of the masked input, the subsets, the threshold and the whole input. */
void sis__score_bar(sis__buf *b, const sis_record *r);

/* ' style="..."': the background of a feature by its attribution, relative to the largest. */
double sis__attribution_max(const sis_record *r);
void sis__attribution_style(sis__buf *b, double attribution, double max);

/* Add a small view of subset k of the example, for rows of clusters. */
int sis__thumb(sis__buf *b, const sis__report_example *e, size_t k);
int sis__thumb_image(sis__buf *b, const sis__report_example *e, size_t k);
int sis__thumb_dna(sis__buf *b, const sis__report_example *e, size_t k);

/* "subset 1 · 12 of 784 features · score 0.703"; a single subset omits the first part. */
void sis__subset_caption(sis__buf *b, const sis__report_example *e, size_t k);

/* The pixels of an image of subset k, or of the original for SIZE_MAX: (height * width * 4). */
int sis__paint_image(const sis__report_example *e, size_t k, unsigned char **rgba);

/* ---- Sections -------------------------------------------------------------------------------- */

/* Add the content of a section; nothing if it is empty. At most `max` examples, 0 for all. */
int sis__page_overview(sis__buf *b, const sis_report *report);
int sis__page_examples(sis__buf *b, const sis_report *report, size_t max);
int sis__page_cards(sis__buf *b, const sis_report *report,
                    const sis__layout *layout); /* legend and cards */
int sis__page_groups(sis__buf *b, const sis_report *report);
int sis__page_clusters(sis__buf *b, const sis_report *report);

/* The logo of the largest cluster of DNA above its best matching motif; nothing if there is
 * none. */
int sis__page_logo(sis__buf *b, const sis_report *report);
int sis__page_evaluations(sis__buf *b, const sis_report *report);
int sis__page_comparisons(sis__buf *b, const sis_report *report);

/* The content of a cluster: its motif or patterns, and rows of members: one row for each of n runs,
 * or a single row for n = 0. */
int sis__page_cluster(sis__buf *b, const sis_report *report, const sis__clusters *set, size_t i,
                      const size_t *runs, size_t n);
void sis__page_cluster_heading(sis__buf *b, const sis__clusters *set, size_t i);

/* The thresholds of the picker, and for each example the subset sizes at these. *n_grid is 0 if no
 * walk was stored. */
int sis__picker_grid(const sis_report *report, double **grid, size_t *n_grid);
void sis__page_picker(sis__buf *b, const sis_report *report, const sis__layout *layout,
                      const double *grid, size_t n_grid);

#endif
