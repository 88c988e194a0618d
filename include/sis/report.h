/* SPDX-License-Identifier: MIT
 *
 * sis/report.h - results that a person can look at: one HTML page, and figures as files.
 *
 * Experimental: may change from one version to the next.
 *
 *     sis_report *report;
 *     sis_record record;
 *     sis_report_new(&report);
 *     while (sis_results_next(file, &record) > 0)
 *         sis_report_add(report, "results.jsonl", &record);   // the record is the report's now
 *     sis_report_page(report, NULL, &html, &n);               // free(html)
 *     sis_report_free(report);
 *
 * The page is one file that asks nobody for anything: no network, no other file. Without scripts it
 * is complete; with them it has tabs, pages of examples and a picker that reads the first subset of
 * any threshold from the traces of the records (sis explain --trace). Whatever a record says is
 * shown as text, never obeyed.
 *
 * A report keeps every record, but of traces only what a drawing needs.
 * Errors: 0 or a negative code of sis/error.h. Two threads must not use one report at a time.
 */
#ifndef SIS_REPORT_H
#define SIS_REPORT_H

#include <stddef.h>

#include <sis/data.h>
#include <sis/dna.h>
#include <sis/error.h>
#include <sis/results.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sis_report sis_report;

int sis_report_new(sis_report **out);
void sis_report_free(sis_report *report);

/* Add a record that sis_results_next or sis_record_parse made, of the results file `source`. The
 * report takes it over, whatever the outcome: *record is zeroed. */
int sis_report_add(sis_report *report, const char *source, sis_record *record);

/* Add the clusters in n bytes of JSON, as sis cluster writes them; messages call it `name`. Call it
 * after the records they are of have been added: members that are not among them are counted, but
 * cannot be drawn. */
int sis_report_add_clusters(sis_report *report, const char *name, const char *json, size_t n);

/* The same for a comparison of two models, as sis compare --output writes it. */
int sis_report_add_comparison(sis_report *report, const char *name, const char *json, size_t n);

/* The same for an evaluation of several methods, as sis evaluate --json writes it. */
int sis_report_add_evaluation(sis_report *report, const char *name, const char *json, size_t n);

/* Compare groups of examples by a column on the page, as sis_groups_new has it; NULL: none. SIS_E_OPTION: a
 * record that was added has no such column. */
int sis_report_by(sis_report *report, const char *column);

/* What may be said about a page; zero, or NULL for all of it, is the default. */
typedef struct sis_page_opt {
    const char *title; /* NULL: one made from the records */
    size_t examples;   /* draw at most that many, spread evenly over the records; 0: all. Counts and
                          distributions are always of all */
    int cards;         /* the examples alone, without heading, tabs and script: for a frame in
                          another page, such as a notebook */
} sis_page_opt;

/* The page, *n bytes of UTF-8 and a NUL; free() it. */
int sis_report_page(const sis_report *report, const sis_page_opt *opt, char **html, size_t *n);

/* ---- Letters --------------------------------------------------------------------------------- */

/* One page for each example, in words, for print: the decision, its reasons, what is proved and what that
 * means, what would change it. Records of one id make one letter: reasons come from subsets, changes from
 * method "contrast".
 *
 * A template is HTML with {{field}} in it: title; and between {{#letters}} and {{/letters}}, which is
 * repeated for each letter, id, label, model, score, threshold, decision (a sentence), reasons (a list),
 * reasons_are (a sentence before it), proof (what holds of them), changes (a list), changes_are, nearest
 * (what holds of them) and column:NAME, a column of the example. {{#field}} ... {{/field}} is left out
 * where the field is empty. Fields are escaped: whatever records hold, it is text. */
typedef struct sis_letter_opt {
    const char *title;         /* NULL: the model's name */
    const char *template_text; /* (n_template) NULL: sis_letter_template */
    size_t n_template;
} sis_letter_opt;

/* *n bytes of UTF-8 and a NUL; free() them. SIS_E_OPTION: what is wrong with the template. */
int sis_report_letters(const sis_report *report, const sis_letter_opt *opt, char **html, size_t *n);

/* The template that is used without one: *n bytes. */
const char *sis_letter_template(size_t *n);

/* ---- Figures --------------------------------------------------------------------------------- */

/* name, file name ending */
#define SIS_FIGURE_FORMATS(X)                                                                      \
    X(SVG, "svg") /* the same bytes everywhere: text is text, in the reader's font */              \
    X(PNG, "png") /* twice the size in pixels */                                                   \
    X(PDF, "pdf")

typedef enum sis_figure_format {
#define SIS_FIGURE_CODE(name, text) SIS_FIGURE_##name,
    SIS_FIGURE_FORMATS(SIS_FIGURE_CODE)
#undef SIS_FIGURE_CODE
} sis_figure_format;

typedef struct sis_figure {
    const char *name;    /* "sizes": a file name without its ending */
    const char *caption; /* what is shown, of how many examples */
    const char *bytes;
    size_t n;
} sis_figure;

/* Draw every figure there is something to show of, one after the other. `done` borrows each;
 * nonzero from it stops and is the result. */
int sis_report_figures(const sis_report *report, sis_figure_format format,
                       int (*done)(void *ctx, const sis_figure *figure), void *ctx);

/* Draw what subsets are made of, as sis summary counts it: features, words or pieces of sequence by
 * class, or by right and wrong where there is one class; of pictures the places of pixels. `rows`: at
 * most so many features, not above 200; 0: twenty. `done` is not called if there is no subset. */
int sis_report_summary(const sis_report *report, size_t rows, sis_figure_format format,
                       int (*done)(void *ctx, const sis_figure *figure), void *ctx);

/* ---- Text ---------------------------------------------------------------------------------- */

/* How a record looks on a terminal, as sis show prints it. */
typedef struct sis_text_opt {
    size_t width;             /* columns, at least 24; default 80 */
    int colour;               /* marks are colours; default: brackets and numbers */
    int lines;                /* features as lines, also of texts, DNA and images */
    size_t subsets;           /* at most, 0 (default): all */
    size_t features;          /* of a subset as lines, at most; 0 (default): all */
    const sis_motifs *motifs; /* to name those of DNA by; NULL: none. Borrowed */
    int whole;                /* all of a long text; default: the words around what was chosen */
} sis_text_opt;

void sis_text_opt_init(sis_text_opt *opt);

/* *n bytes and a NUL, free(*text). What comes from elsewhere has no control characters. */
int sis_record_text(const sis_record *record, const sis_text_opt *opt, char **text, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
