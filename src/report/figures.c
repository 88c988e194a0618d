/* SPDX-License-Identifier: MIT
 *
 * The list of all figures, and their output: in the page, where the caption is HTML, or as files,
 * where title and caption are drawn below the plot.
 */
#include "report/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "report/html.h"

static size_t one(const sis_report *report) {
    return report->n > 0;
}

static size_t sets(const sis_report *report) {
    return report->n_sets;
}

static size_t clusters(const sis_report *report) {
    size_t n = 0;
    for (size_t i = 0; i < report->n_sets; i++)
        n += report->sets[i].n_clusters;
    return n;
}

static size_t comparisons(const sis_report *report) {
    return report->n_comparisons;
}

static size_t evaluations(const sis_report *report) {
    return report->n_evaluations;
}

/* Families of drawings: the number of drawings in this report, and the function that makes number
 * k. */
typedef struct {
    const char *section; /* of the page: "spread", "histories"; NULL: only in files */
    size_t (*count)(const sis_report *report);
    sis__maker *make;
    const char *name, *title, *x_label, *y_label;
} family;

static const family FAMILIES[] = {
    {"overview", one, sis__make_features, "features", "Features in subsets.",
     "subsets with this feature", "values"},
    {"overview", one, sis__make_features_right, "features-by-right",
     "Features in the subsets of right and wrong decisions.", "subsets with this feature",
     "values"},
    {"overview", one, sis__make_positions, "positions", "Where chosen bases lie.",
     "position in the sequence", "chosen bases"},
    {"overview", one, sis__make_places, "places", "Where chosen pixels lie.", NULL, NULL},
    {"overview", one, sis__make_places_right, "places-by-right", "Where chosen pixels lie.", NULL,
     NULL},
    {"spread", one, sis__make_scores, "scores", "Scores of the inputs.", "score of the input",
     "examples"},
    {"spread", one, sis__make_decided, "decided", "Decisions for each output.", "decided to be",
     "examples"},
    {"spread", one, sis__make_sizes, "sizes", "Sizes of subsets.", "features in a subset",
     "subsets"},
    {"spread", one, sis__make_numbers, "numbers", "Subsets per example.", "subsets of an example",
     "examples"},
    {"spread", one, sis__make_size_boxes, "sizes-by-group", "Sizes of subsets, side by side.", NULL,
     "features in a subset"},
    {"spread", one, sis__make_number_boxes, "numbers-by-group",
     "Subsets per example, side by side.", NULL, "subsets of an example"},
    {"spread", one, sis__make_score_size, "score-size", "Score of a subset alone against its size.",
     "features in a subset", "score of the subset alone"},
    {"histories", one, sis__make_histories, "histories", "Score as features are masked.",
     "features masked (%)", "score of the remaining features"},
    {"histories", one, sis__make_history_ends, "history-ends", "The last features.",
     "features left", "score of the remaining features"},
    {NULL, one, sis__make_pictures, "examples", "Pictures and their subsets.", NULL, NULL},
    {NULL, sets, sis__make_cluster_rows, "clusters", "Clusters of subsets.", NULL, NULL},
    {NULL, clusters, sis__make_logo, "logo", "", NULL, NULL},
    {NULL, one, sis__make_passages, "passages", "Inputs with their subsets.", NULL, NULL},
    {"comparison", comparisons, sis__make_decisions, "decisions", "Do they decide alike?",
     "the models decide", "examples"},
    {"comparison", comparisons, sis__make_cross_scores, "cross-scores",
     "Are subsets of one model enough for the other?", "subsets", "score of a subset alone"},
    {NULL, comparisons, sis__make_joint_rows, "joint-clusters",
     "Clusters of the subsets of both models.", NULL, NULL},
    {"methods", evaluations, sis__make_lengths, "lengths", "Length of rationales.", "method",
     "features in a rationale"},
    {"methods", evaluations, sis__make_score_length, "score-length",
     "Score of a rationale alone against its length.", "features in a rationale",
     "score of the rationale alone"},
    {"methods", evaluations, sis__make_importance, "importance",
     "Importance inside and outside of rationales.", "method", "median importance of a feature"},
    {"methods", evaluations, sis__make_sufficient, "sufficient",
     "How often rationales are sufficient.", "method", "sufficient (%)"},
    {"methods", evaluations, sis__make_aopc_sufficiency, "aopc-sufficiency", "Sufficiency (AOPC).",
     "method", "fall of the score"},
    {"methods", evaluations, sis__make_aopc_comprehensiveness, "aopc-comprehensiveness",
     "Comprehensiveness (AOPC).", "method", "fall of the score"},
    {"methods", evaluations, sis__make_stability, "stability",
     "Stability when other features are unmasked.", "method", "share that stays sufficient"},
    {"methods", evaluations, sis__make_token_f1, "token-f1", "Token F1 against marks of people.",
     "method", "token F1"},
    {"methods", evaluations, sis__make_marked, "marked", "Agreement with people.", "method",
     "share that a person marked"},
    {"methods", evaluations, sis__make_quality, "quality",
     "Agreement against the quality of the marks.", "share of a rationale that a person marked",
     "score of the marked features minus score of all"},
    {"methods", evaluations, sis__make_divergence, "divergence", "Divergence from the motif.",
     "method", "divergence (nats)"},
    {"methods", evaluations, sis__make_imputation, "imputation",
     "Effect of masking one feature on the score.", "change of the score", "draws"},
    {NULL, comparisons, sis__make_differences, "differences", "Where subsets differ most.", NULL,
     NULL},
};
enum { N_FAMILIES = sizeof FAMILIES / sizeof *FAMILIES };

/* ---- Drawings -------------------------------------------------------------------------------- */

void sis__drawing_release(sis__drawing *d) {
    for (size_t k = 0; d->plot.series && k < d->plot.n; k++) {
        sis__numbers_release(&d->plot.series[k].x);
        sis__numbers_release(&d->plot.series[k].y);
    }
    for (size_t i = 0; d->values && i < d->plot.n_bars; i++) {
        for (size_t k = 0; d->values[i].held && k < d->plot.n; k++)
            sis__numbers_release(&d->values[i].held[k]);
        sis__numbers_release(&d->values[i].all);
        free(d->values[i].held);
    }
    for (size_t i = 0; i < d->pictures.n; i++)
        free(d->pictures.items[i].rgba);
    free(d->values);
    free(d->plot.series);
    free(d->names);
    free(d->row_names);
    free(d->pictures.items);
    free(d->counts);
    free(d->shown);
    sis__buf_release(&d->caption);
    *d = (sis__drawing){0};
}

void sis__drawing_series(sis__drawing *d, size_t series, size_t bars) {
    d->names = sis__alloc(series + bars, sizeof *d->names);
    d->row_names = (const char **)sis__alloc(bars, sizeof *d->row_names);
    d->plot.series = SIS_NEW(sis__series, series);
    d->plot.bar_names = d->row_names;
    if (!d->names || !d->row_names || !d->plot.series) {
        d->error = SIS_E_NOMEM;
        return;
    }
    d->plot.n = series;
    d->plot.n_bars = bars;
    for (size_t k = 0; k < series; k++)
        d->plot.series[k].name = d->names[k];
    for (size_t i = 0; i < bars; i++)
        d->row_names[i] = d->names[series + i];
}

void sis__drawing_add(sis__drawing *d, sis__numbers *to, double v) {
    if (!d->error && isfinite(v))
        d->error = sis__numbers_add(to, v);
}

void sis__drawing_point(sis__drawing *d, sis__series *s, double x, double y) {
    if (!isfinite(x) || !isfinite(y))
        return;
    sis__drawing_add(d, &s->x, x);
    sis__drawing_add(d, &s->y, y);
}

/* Make number k of a family: 1, 0 if there is nothing to show, or a negative code. Logos have their
 * own numbers. */
static int make(const sis_report *report, const family *f, size_t k, size_t rows, sis__drawing *d) {
    *d = (sis__drawing){.width = 480, .height = 300, .rows = rows};
    d->plot.x_label = f->x_label;
    d->plot.y_label = f->y_label;
    snprintf(d->title, sizeof d->title, "%s", f->title);
    int made = f->make(report, k, d);
    if (!*d->name && k > 0)
        snprintf(d->name, sizeof d->name, "%s-%zu", f->name, k + 1);
    else if (!*d->name)
        snprintf(d->name, sizeof d->name, "%s", f->name);
    return d->error ? d->error : made;
}

static int draw(sis__pen *p, const sis__drawing *d) {
    return d->chart ? d->chart(p, &d->plot) : d->draw(p, d);
}

/* ---- In the page ----------------------------------------------------------------------------- */

int sis__drawing_inline(sis__buf *b, const sis__drawing *d) {
    sis__pen *pen;
    int code = sis__pen_svg(d->width, d->height, d->title, 1, &pen);
    if (code != SIS_OK)
        return code;
    int drawn = draw(pen, d);
    code = sis__pen_finish(pen, b);
    return drawn != SIS_OK ? drawn : code;
}

static int add_figure(sis__buf *b, const sis__drawing *d) {
    sis__buf_str(b, "<figure class=\"plot\"><div class=\"scroll\">");
    int code = sis__drawing_inline(b, d);
    sis__buf_str(b, "</div><figcaption><b>");
    sis__html_text(b, d->title);
    sis__buf_str(b, "</b> ");
    sis__html_text(b, d->caption.len ? d->caption.data : "");
    sis__buf_str(b, "</figcaption></figure>\n");
    return code != SIS_OK ? code : sis__buf_error(&d->caption);
}

/* Make and add number k of a family; 1 if it is not empty. */
static int add_made(sis__buf *b, const sis_report *report, const family *f, size_t k) {
    sis__drawing d;
    int made = make(report, f, k, 0, &d), code = made > 0 && !d.dull ? add_figure(b, &d) : made;
    sis__drawing_release(&d);
    return code < 0 ? code : made;
}

static int is_of(const family *f, const char *section) {
    return f->section && strcmp(f->section, section) == 0;
}

int sis__page_figures(sis__buf *b, const sis_report *report, const char *section, size_t k) {
    int code = SIS_OK;
    size_t before = b->len;
    sis__buf_printf(b, "<div class=\"plots %s\">\n", section);
    size_t empty = b->len;
    for (size_t m = 0; code >= 0 && m < N_FAMILIES; m++)
        if (is_of(&FAMILIES[m], section))
            code = add_made(b, report, &FAMILIES[m], k);
    if (b->len == empty)
        b->len = before;
    else
        sis__buf_str(b, "</div>\n");
    return code < 0 ? code : SIS_OK;
}

/* ---- As files -------------------------------------------------------------------------------- */

static const double CAPTION = 11, LEADING = 16;

/* The length of the first line of `text` that fits `width`. */
static size_t line_length(const char *text, double width) {
    size_t last = 0, n = 0;
    double used = 0;
    while (text[n]) {
        char one_byte[2] = {text[n], '\0'};
        used += ((unsigned char)text[n] & 0xC0) == 0x80 ? 0 : sis__text_width(one_byte, CAPTION);
        if (used > width)
            return last ? last : n;
        n++;
        if (text[n] == ' ' || text[n] == '\0')
            last = n;
    }
    return n;
}

/* Draw the caption from y on, if there is a pen; returns the number of lines. */
static size_t draw_caption(sis__pen *pen, const char *text, double width, double y) {
    size_t lines = 0;
    while (*text) {
        size_t n = line_length(text, width);
        char line[512];
        n = n ? n : 1;
        snprintf(line, sizeof line, "%.*s", (int)(n < 500 ? n : 500), text);
        if (pen)
            sis__pen_text(pen, 12, y + LEADING * (double)lines, line,
                          (sis__letters){CAPTION, SIS__START, SIS__SOFT, 0, 0});
        text += n;
        text += *text == ' ';
        lines++;
    }
    return lines;
}

static int draw_file(const sis__drawing *d, sis_figure_format format, sis__buf *out) {
    const char *caption = d->caption.len ? d->caption.data : "";
    double width = fmax(d->width, 360);
    size_t lines = draw_caption(NULL, caption, width - 24, 0);
    double height = d->height + 30 + LEADING * (double)(lines + 1);
    sis__pen *pen;
    int code = format == SIS_FIGURE_SVG ? sis__pen_svg(width, height, d->title, 0, &pen)
                                        : sis__pen_cairo(width, height, format, &pen);
    if (code != SIS_OK)
        return code;
    pen->width = d->width;
    pen->height = d->height;
    int drawn = draw(pen, d);
    sis__pen_text(pen, 12, d->height + 26, d->title,
                  (sis__letters){12, SIS__START, SIS__INK, 1, 0});
    draw_caption(pen, caption, width - 24, d->height + 26 + LEADING);
    code = sis__pen_finish(pen, out);
    return drawn != SIS_OK ? drawn : code;
}

static int hand_over(const sis__drawing *d, sis_figure_format format,
                     int (*done)(void *, const sis_figure *), void *ctx) {
    sis__buf bytes;
    sis__buf_init(&bytes);
    int code = sis__buf_error(&d->caption);
    if (code == SIS_OK)
        code = draw_file(d, format, &bytes);
    sis_figure figure = {d->name, d->caption.len ? d->caption.data : "", bytes.data, bytes.len};
    if (code == SIS_OK)
        code = done(ctx, &figure);
    sis__buf_release(&bytes);
    return code;
}

static int check_format(sis_figure_format format) {
    return (unsigned)format > SIS_FIGURE_PDF
               ? sis__fail(SIS_E_ARGUMENT, "unknown figure format %d", (int)format)
               : SIS_OK;
}

int sis_report_figures(const sis_report *report, sis_figure_format format,
                       int (*done)(void *ctx, const sis_figure *figure), void *ctx) {
    int code = check_format(format);
    for (size_t m = 0; code == SIS_OK && m < N_FAMILIES; m++)
        for (size_t k = 0; code == SIS_OK && k < FAMILIES[m].count(report); k++) {
            sis__drawing d;
            code = make(report, &FAMILIES[m], k, 0, &d);
            if (code > 0)
                code = hand_over(&d, format, done, ctx);
            sis__drawing_release(&d);
        }
    return code;
}

enum { ROWS = 20 };

/* The figures that show the counts of a summary; the first that is not empty is drawn. */
static sis__maker *const SUMMARIES[] = {sis__make_features, sis__make_features_right,
                                        sis__make_places, sis__make_places_right};

int sis_report_summary(const sis_report *report, size_t rows, sis_figure_format format,
                       int (*done)(void *ctx, const sis_figure *figure), void *ctx) {
    int code = check_format(format), made = 0;
    for (size_t i = 0; code == SIS_OK && !made && i < sizeof SUMMARIES / sizeof *SUMMARIES; i++)
        for (size_t m = 0; !made && m < N_FAMILIES; m++) {
            sis__drawing d;
            if (FAMILIES[m].make != SUMMARIES[i])
                continue;
            made = make(report, &FAMILIES[m], 0, rows ? rows : ROWS, &d);
            code = made > 0 ? hand_over(&d, format, done, ctx) : made;
            sis__drawing_release(&d);
        }
    return code;
}
