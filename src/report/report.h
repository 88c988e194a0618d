/* SPDX-License-Identifier: MIT
 *
 * Files of this folder:
 *
 *     report.c      adds records; a run counts the records of one results file
 *     trace_summary.c  the part of a trace that is kept: steps for every threshold, score histories
 *     members.c     adds clusters, comparisons and evaluations, and matches them to examples
 *
 *     page.c        the page: head, tabs, sections. Sections are page_overview.c, page_examples.c,
 *                   page_clusters.c, page_compare.c, page_evaluate.c and page_groups.c.
 *                   card_*.c draw one kind of input, choices.c maps features to subsets,
 *                   page_layout.c selects and orders examples, population.c has the values of all
 *                   records, score_bar.c and attribution.c are parts of every card, page_picker.c
 *                   writes the numbers for the script
 *     html.c        escapes text for HTML; numbers; images as data: URLs
 *     letter.c      letters: a page of text for each example, from a template, letter.html
 *     page.css, page.js   become arrays in report/page_files.h when the build is configured
 *
 *     figures.c     the list of all figures; figures_*.c take their numbers from records
 *     plot_*.c      one kind of plot each, drawn with a pen, independent of records; stats.c
 *     pen.h         lines, areas, dots and words on paper: pen_svg.c, pen_cairo.c
 */
#ifndef SIS_REPORT_REPORT_H
#define SIS_REPORT_REPORT_H

#include <sis/analysis.h>
#include <sis/record.h>
#include <sis/report.h>

#include "base/buf.h"
#include "report/stats.h"

/* How an example is drawn. */
typedef enum { SIS__LIST, SIS__TABLE, SIS__IMAGE, SIS__TEXT, SIS__DNA } sis__look;

/* The smallest suffix of a walk's order that reaches `score` has `size` features. The steps of an
 * example are sorted by size, and their scores improve. */
typedef struct sis__trace_step {
    size_t size;
    double score;
} sis__trace_step;

enum { SIS__TAIL = 60 };

/* The stored trace of the first backward selection of an example. */
typedef struct sis__trace_summary {
    double score; /* of the whole input */
    size_t n_steps;
    sis__trace_step *steps;
    size_t n_order;
    int *order; /* (n_order) most important first, up to the last step */
    size_t n_history;
    double *history; /* (n_history) the score from no feature masked to all masked, evenly spaced */
    double *tail;    /* (SIS__TAIL + 1) the score of the last SIS__TAIL, ... 0 features. NULL if
                        there are hardly more than that */
} sis__trace_summary;

typedef struct sis__report_example {
    sis_record record; /* without its traces */
    sis__look look;
    size_t run;    /* index of its run */
    sis_raster at; /* IMAGE: the layout of its values */
    sis__trace_summary traced;
} sis__report_example;

/* One results file. */
typedef struct sis__report_run {
    char *source, *stem; /* its path; its name without folders and ending */
    size_t first;        /* its first example */
    size_t n, status[SIS_N_STATUSES], verified, complete, subsets, traced;
    double threshold_low, threshold_high, masked_low, masked_high;
    size_t evaluations;
    double seconds;
    int mixed; /* models, methods or directions differ between records */
} sis__report_run;

/* A subset that belongs to a cluster. */
typedef struct sis__member {
    size_t example, subset; /* SIZE_MAX: not among the examples */
} sis__member;

typedef struct sis__cluster {
    sis_found_cluster found;
    size_t n_members;
    sis__member *members; /* only those among the examples */
    sis__member medoid;
} sis__cluster;

typedef struct sis__clusters {
    sis_clustering found; /* owned by the comparison if there is one */
    char *name;           /* of the file; NULL in a comparison */
    size_t n_clusters;    /* the last one may hold the unclustered subsets */
    sis__cluster *clusters;
} sis__clusters;

typedef struct sis__compared {
    sis_comparison found;
    sis__clusters joint;
    size_t (*examples)[2]; /* (n_differences) for each side; SIZE_MAX: not among the examples */
} sis__compared;

struct sis_report {
    size_t n, cap;
    sis__report_example *examples;
    size_t n_runs, cap_runs;
    sis__report_run *runs;
    size_t n_sets, cap_sets;
    sis__clusters *sets; /* (n_sets) of clusters */
    size_t n_comparisons, cap_comparisons;
    sis__compared *comparisons;
    size_t n_evaluations, cap_evaluations;
    sis_evaluation *evaluations;
    sis_groups *groups; /* NULL: none */
};

/* ---- trace_summary.c ------------------------------------------------------------------------- */

/* Summarize the trace of a subset; leaves the summary empty if there is none. */
int sis__trace_summarise(const sis_record *record, sis__trace_summary *out);
void sis__trace_summary_release(sis__trace_summary *w);

/* Kinds of subsets, which determine the wording of the page. */
enum {
    SIS__ENOUGH = 1, /* sufficient with everything else masked */
    SIS__DRAWN = 2,
    SIS__PROVED = 4,
    SIS__CONTRAST = 8, /* proved */
    SIS__RATIONALE = 16,
    SIS__NOT_MINIMAL = 32,    /* combined with another kind */
    SIS__MASKED_CONTRAST = 64 /* loses the decision if masked */
};
enum { SIS__CONTRASTS = SIS__CONTRAST | SIS__MASKED_CONTRAST };
int sis__kind_of(const sis_record *r);
int sis__kinds_of(const sis_report *report);            /* of all records, combined by | */
const char *sis__subset_word(const sis_report *report); /* "sufficient subset", "contrast" ... */

/* The size of the first subset at a threshold: 0 if the masked input reaches it, SIZE_MAX if the
 * whole input does not (then there is no decision, whatever a part of it scores). */
size_t sis__trace_summary_find(const sis__trace_summary *w, double threshold, int below);

/* ---- report.c -------------------------------------------------------------------------------- */

/* The decision for an example: the label of the output, or its number. */
void sis__output_name(const sis_record *r, char *text, size_t size);

/* Is it the model's only output, without a name? Then it is not mentioned. */
int sis__output_is_plain(const sis_record *r);

/* For an IMAGE: the number of pixels; the first value of a pixel; its feature, negative if never
 * masked. */
size_t sis__pixels(const sis__report_example *e);
size_t sis__pixel_value(const sis__report_example *e, size_t pixel);
int sis__pixel_feature(const sis__report_example *e, size_t pixel);

/* "Reason", "Proof", "What would change it": the title of the record's card. */
const char *sis__record_title(const sis_record *r);

/* The name of the results file on the page: without folders and ending, if that is unique. */
const char *sis__run_name(const sis_report *report, size_t run);

/* ---- members.c ------------------------------------------------------------------------------- */

/* The last part of a path. *stem, unless NULL, is its length without the ending. */
const char *sis__file_name(const char *path, int *stem);

void sis__clusters_release(sis__clusters *set);
void sis__compared_release(sis__compared *c);

/* The share of the cluster's subsets from side 0 or 1, between 0 and 1. */
double sis__side_share(const sis__compared *c, const sis__cluster *cluster, size_t side);

/* The run of that side; SIZE_MAX: its results are not in the report. */
size_t sis__side_run(const sis_report *report, const sis_side *side);

/* "mnist-cnn", or "A" if both models have the same name. At most `size` bytes. */
void sis__side_name(const sis__compared *c, size_t side, char *text, size_t size);

#endif
