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

/* ' class="s0 r2 h"': subset, rank from 0 (strongest) to 3, marked by a person. choice may be
 * NULL. */
void sis__choice_class(sis__buf *b, const sis__choice *choice, int human);

/* ---- Cards: one example ---------------------------------------------------------------------- */

int sis__card_text(sis__buf *b, const sis__report_example *e);
int sis__card_dna(sis__buf *b, const sis__report_example *e);
int sis__card_image(sis__buf *b, const sis__report_example *e);
int sis__card_table(sis__buf *b, const sis__report_example *e);
int sis__card_body(sis__buf *b, const sis__report_example *e); /* as its kind is */

/* Subset k of the example, small: in rows of clusters. */
int sis__thumb(sis__buf *b, const sis__report_example *e, size_t k);
int sis__thumb_image(sis__buf *b, const sis__report_example *e, size_t k);
int sis__thumb_dna(sis__buf *b, const sis__report_example *e, size_t k);

/* "subset 1 · 12 of 784 features · score 0.703", without the first part for the only one. */
void sis__subset_caption(sis__buf *b, const sis__report_example *e, size_t k);

/* Pixels of a drawing of subset k, or of the original for SIZE_MAX: (height * width * 4). */
int sis__paint_image(const sis__report_example *e, size_t k, unsigned char **rgba);

/* ---- Sections -------------------------------------------------------------------------------- */

/* What is inside them; nothing is written where there is nothing to show. At most `most` examples,
 * 0 for all. */
int sis__page_overview(sis__buf *b, const sis_report *report);
int sis__page_examples(sis__buf *b, const sis_report *report, size_t most);
int sis__page_cards(sis__buf *b, const sis_report *report,
                    size_t most); /* what they mean, and these */
int sis__page_clusters(sis__buf *b, const sis_report *report);
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
void sis__page_picker(sis__buf *b, const sis_report *report, size_t most, const double *grid,
                      size_t n_grid);

/* Is example i among the `most` of n that are drawn? They are spread evenly. */
int sis__is_drawn(size_t i, size_t n, size_t most);

#endif
