/* SPDX-License-Identifier: MIT
 *
 * The parts of the page, each written to the end of a buffer. Those that need other memory too
 * return SIS_OK or SIS_E_NOMEM; the buffer keeps its own errors.
 */
#ifndef SIS_REPORT_PAGE_H
#define SIS_REPORT_PAGE_H

#include "report/html.h"
#include "report/report.h"

/* Subsets that can be told apart by their colour: s0 to s11 of page.css. */
enum { SIS__SUBSET_COLOURS = 12 };

/* ---- Which features were chosen -------------------------------------------------------------- */

typedef struct sis__choice {
    int feature;
    size_t subset, rank, of; /* rank 0 is the most important of `of` */
} sis__choice;

/* The features of subsets first .. first + n - 1, sorted by number, for looking them up. A feature
 * that is in two subsets belongs to the first. */
typedef struct sis__choices {
    size_t n;
    sis__choice *items;
} sis__choices;

int sis__choices_make(const sis_collection *c, size_t first, size_t n, sis__choices *out);
const sis__choice *sis__choices_find(const sis__choices *choices, int feature);

/* ' class="s0 r2 h"': subset, rank from 0 (strongest) to 3, marked by a person, and more. choice may
 * be NULL. */
void sis__choice_class(sis__buf *b, const sis__choice *choice, int human, const char *more);

/* ---- What a value is held against ------------------------------------------------------------ */

/* The values of tables over the records of a run. */
typedef struct sis__population {
    size_t n, n_features, n_values; /* n records */
    sis__numbers *numbers; /* (n_features) sorted, of features with one value; NULL: none */
    size_t *ones;          /* (n_values) of categories: how many records are it */
} sis__population;

int sis__populations_make(const sis_report *report, sis__population **out); /* (n_runs) */
void sis__populations_free(sis__population *populations, size_t n);

/* Is there enough to hold this example against? p may be NULL. */
int sis__population_has(const sis__population *p, const sis__report_example *e);

/* The share of records whose feature is less than the value. */
double sis__population_below(const sis__population *p, size_t feature, double value);

/* ---- Which examples are on the page ---------------------------------------------------------- */

typedef struct sis__layout {
    size_t n, *order; /* (n) examples; those of the same input from several files are neighbours, */
    int *first;       /* (n) of whom this is the first */
} sis__layout;

/* At most about `max` examples, spread evenly; 0: all. Release it whatever was returned. */
int sis__layout_make(const sis_report *report, size_t max, sis__layout *out);
void sis__layout_release(sis__layout *layout);

/* ---- Cards: one example ---------------------------------------------------------------------- */

int sis__card_text(sis__buf *b, const sis__report_example *e);
int sis__card_dna(sis__buf *b, const sis__report_example *e);
int sis__card_image(sis__buf *b, const sis__report_example *e);
int sis__card_table(sis__buf *b, const sis__report_example *e, const sis__population *p);
int sis__card_body(sis__buf *b, const sis__report_example *e,
                   const sis__population *p); /* as its kind is */

/* Everything masked, subsets, threshold and whole input on one line. */
void sis__score_bar(sis__buf *b, const sis_record *r);

/* ' style="..."': the background of a feature by its attribution, against the largest of them. */
double sis__attribution_max(const sis_record *r);
void sis__attribution_style(sis__buf *b, double attribution, double max);

/* Subset k of the example, small: in rows of clusters. */
int sis__thumb(sis__buf *b, const sis__report_example *e, size_t k);
int sis__thumb_image(sis__buf *b, const sis__report_example *e, size_t k);
int sis__thumb_dna(sis__buf *b, const sis__report_example *e, size_t k);

/* "subset 1 · 12 of 784 features · score 0.703", without the first part for the only one. */
void sis__subset_caption(sis__buf *b, const sis__report_example *e, size_t k);

/* Pixels of a drawing of subset k, or of the original for SIZE_MAX: (height * width * 4). */
int sis__paint_image(const sis__report_example *e, size_t k, unsigned char **rgba);

/* ---- Sections -------------------------------------------------------------------------------- */

/* What is inside them; nothing is written where there is nothing to show. At most `max` examples,
 * 0 for all. */
int sis__page_overview(sis__buf *b, const sis_report *report);
int sis__page_examples(sis__buf *b, const sis_report *report, size_t max);
int sis__page_cards(sis__buf *b, const sis_report *report,
                    const sis__layout *layout); /* what they mean, and these */
int sis__page_groups(sis__buf *b, const sis_report *report);
int sis__page_clusters(sis__buf *b, const sis_report *report);

/* The logo of the largest cluster of DNA, over the motif it is most like; nothing if there is none. */
int sis__page_logo(sis__buf *b, const sis_report *report);
int sis__page_evaluations(sis__buf *b, const sis_report *report);
int sis__page_comparisons(sis__buf *b, const sis_report *report);

/* What a cluster of the set holds: its motif or patterns, and rows of members; those of each of n
 * runs in a row of its own, or all in one for n = 0. */
int sis__page_cluster(sis__buf *b, const sis_report *report, const sis__clusters *set, size_t i,
                      const size_t *runs, size_t n);
void sis__page_cluster_heading(sis__buf *b, const sis__clusters *set, size_t i);

/* The thresholds of the picker, and per example what its walk answers to them. *n_grid is 0 if no
 * walk was stored. */
int sis__picker_grid(const sis_report *report, double **grid, size_t *n_grid);
void sis__page_picker(sis__buf *b, const sis_report *report, const sis__layout *layout,
                      const double *grid, size_t n_grid);

#endif
