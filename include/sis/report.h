/* SPDX-License-Identifier: MIT
 *
 * sis/report.h - reports of results: an HTML page, letters, figures, text for terminals.
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
 * The page is one self-contained file: it loads nothing from a network or other files. It is
 * complete without scripts. Scripts add tabs, pages of examples and a slider that reads the first
 * subset for any threshold from the traces of the records (sis explain --trace). Content of records
 * is escaped.
 *
 * A report keeps every record, but of traces only what a figure needs. Errors: 0 or a negative code
 * of sis/error.h. Two threads must not use one report at a time.
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

/* Add a record from sis_results_next or sis_record_parse, of the results file `source`. The report
 * takes ownership, even on failure: *record is zeroed. */
int sis_report_add(sis_report *report, const char *source, sis_record *record);

/* Add the clusters in n bytes of JSON from sis cluster; `name` is used in messages. Add their
 * records first: other members are counted but not drawn. */
int sis_report_add_clusters(sis_report *report, const char *name, const char *json, size_t n);

/* The same for a comparison of two models from sis compare --output. */
int sis_report_add_comparison(sis_report *report, const char *name, const char *json, size_t n);

/* The same for an evaluation of several methods from sis evaluate --json. */
int sis_report_add_evaluation(sis_report *report, const char *name, const char *json, size_t n);

/* Compare groups of examples by a column on the page, as in sis_groups_new; NULL: none.
 * SIS_E_OPTION: an added record has no such column. */
int sis_report_by(sis_report *report, const char *column);

/* Options of a page; zero or NULL is the default. */
typedef struct sis_page_opt {
    const char *title; /* NULL: derived from the records */
    size_t examples;   /* maximum number of examples drawn, spread evenly over the records; 0: all.
                          Counts and distributions always cover all */
    int cards;         /* only the examples, without heading, tabs and script: to embed in another
                          page, such as a notebook */
} sis_page_opt;

/* The page, *n bytes of UTF-8 and a NUL; free() it. */
int sis_report_page(const sis_report *report, const sis_page_opt *opt, char **html, size_t *n);

/* ---- Letters --------------------------------------------------------------------------------- */

/* Letters: one printable page per example with the decision, its reasons, what is proved and what
 * would change it. Records of one id form one letter: reasons come from subsets, changes from
 * method "contrast".
 *
 * A template is HTML with {{field}}: title; and between {{#letters}} and {{/letters}}, which is
 * repeated for each letter: id, label, model, score, threshold, decision (a sentence), reasons (a
 * list), reasons_are (a sentence before it), proof (about the reasons), changes (a list),
 * changes_are, nearest (about the changes) and column:NAME, a column of the example. {{#field}} ...
 * {{/field}} is left out if the field is empty. Fields are escaped. */
typedef struct sis_letter_opt {
    const char *title;         /* NULL: the model's name */
    const char *template_text; /* (n_template) NULL: sis_letter_template */
    size_t n_template;
} sis_letter_opt;

/* *n bytes of UTF-8 and a NUL; free() them. SIS_E_OPTION: an error in the template. */
int sis_report_letters(const sis_report *report, const sis_letter_opt *opt, char **html, size_t *n);

/* The default template: *n bytes. */
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
    const char *caption; /* what is shown, and the number of examples */
    const char *bytes;
    size_t n;
} sis_figure;

/* Draw all figures that have data, one after the other. `done` borrows each; nonzero stops and is
 * the result. */
int sis_report_figures(const sis_report *report, sis_figure_format format,
                       int (*done)(void *ctx, const sis_figure *figure), void *ctx);

/* Draw the counts of sis summary: features, words or pieces of sequence by class, or by right and
 * wrong if there is one class; for images the places of pixels. `rows`: maximum number of features,
 * at most 200; 0: twenty. `done` is not called without subsets. */
int sis_report_summary(const sis_report *report, size_t rows, sis_figure_format format,
                       int (*done)(void *ctx, const sis_figure *figure), void *ctx);

/* ---- Text ---------------------------------------------------------------------------------- */

/* Options of a record's text on a terminal, as sis show prints it. */
typedef struct sis_text_opt {
    size_t width;             /* columns, at least 24; default 80 */
    int colour;               /* mark with colours; default: brackets and numbers */
    int lines;                /* features as lines, also for texts, DNA and images */
    size_t subsets;           /* at most, 0 (default): all */
    size_t features;          /* maximum per subset as lines; 0 (default): all */
    const sis_motifs *motifs; /* to name DNA motifs; NULL: none. Borrowed */
    int whole;                /* the whole of a long text; default: the words around chosen ones */
} sis_text_opt;

void sis_text_opt_init(sis_text_opt *opt);

/* *n bytes and a NUL, free(*text). Control characters from records are removed. */
int sis_record_text(const sis_record *record, const sis_text_opt *opt, char **text, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
