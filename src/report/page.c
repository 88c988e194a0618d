/* SPDX-License-Identifier: MIT
 *
 * The whole page. Its content security policy allows only the script below, by its hash, and no
 * requests: even if text got through as markup, it could do nothing.
 */
#include "report/page.h"

#include <string.h>

#include "base/error.h"
#include "report/figures.h"
#include "report/page_files.h"

/* ---- Head ------------------------------------------------------------------------------------ */

static unsigned nibble(char c) {
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Add the script's hash in base64, converted from hexadecimal. */
static void add_script_hash(sis__buf *b) {
    unsigned char bytes[32];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] =
            (unsigned char)(nibble(PAGE_JS_SHA256[2 * i]) << 4 | nibble(PAGE_JS_SHA256[2 * i + 1]));
    sis__html_base64(b, bytes, sizeof bytes);
}

/* Do all results have the same model? */
static int is_one_model(const sis_report *report) {
    for (size_t i = 0; i < report->n_runs; i++)
        if (report->runs[i].mixed || strcmp(report->examples[report->runs[i].first].record.model,
                                            report->examples[report->runs[0].first].record.model))
            return 0;
    return report->n_runs > 0;
}

/* Add the given title, or one made from the records. */
static void add_title(sis__buf *b, const sis_report *report, const char *title) {
    if (title && *title)
        sis__html_clip(b, title, 200);
    else if (!is_one_model(report))
        sis__buf_printf(b, "Decisions in %zu results files", report->n_runs);
    else {
        const char *model = report->examples[report->runs[0].first].record.model,
                   *behind = strchr(model, '#'); /* a model at an address */
        sis__buf_str(b, "Decisions of ");
        if (!(behind && behind[1]) && strncmp(model, "cmd:", 4) != 0 && strchr(model, ':') &&
            strchr(model, '/'))
            sis__html_clip(b, model, 100); /* an address without a name */
        else
            sis__html_stem(b, behind && behind[1] ? behind + 1 : model, 100);
    }
}

static void add_head(sis__buf *b, const sis_report *report, const char *title) {
    sis__buf_str(b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action "
                    "'none'; script-src 'sha256-");
    add_script_hash(b);
    sis__buf_str(b, "'\">\n<meta name=\"viewport\" content=\"width=device-width, "
                    "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
                    "<link rel=\"icon\" href=\"data:,\">\n<title>");
    add_title(b, report, title);
    sis__buf_str(b, "</title>\n<style>\n");
    sis__buf_add(b, PAGE_CSS, sizeof PAGE_CSS);
    sis__buf_str(b, "</style>\n</head>\n");
}

/* ---- Body ------------------------------------------------------------------------------------ */

static void add_banner(sis__buf *b, const sis_report *report, const char *title) {
    sis__buf_printf(b,
                    "<header class=\"banner\"><p class=\"soft\">Which part of this input %s?</p>\n"
                    "<h1><bdi>",
                    report->n && !(sis__kinds_of(report) & ~(SIS__CONTRASTS | SIS__NOT_MINIMAL))
                        ? "has to change to lose the decision"
                        : "was enough for the decision");
    add_title(b, report, title);
    sis__buf_str(b, "</bdi></h1>\n");
}

static int add_spread(sis__buf *b, const sis_report *report) {
    return sis__page_figures(b, report, "spread", 0);
}

static int add_histories(sis__buf *b, const sis_report *report) {
    return sis__page_figures(b, report, "histories", 0);
}

static const struct {
    const char *id, *title;
    int (*fill)(sis__buf *b, const sis_report *report); /* NULL: sis__page_examples */
} SECTIONS[] = {
    {"overview", "Overview", sis__page_overview},
    {"examples", "Examples", NULL},
    {"spread", "Distributions", add_spread},
    {"histories", "Histories", add_histories},
    {"groups", "Groups", sis__page_groups},
    {"clusters", "Clusters", sis__page_clusters},
    {"comparison", "Comparison", sis__page_comparisons},
    {"methods", "Methods", sis__page_evaluations},
};
enum { N_SECTIONS = sizeof SECTIONS / sizeof *SECTIONS };

/* Add section i and the link to it, unless it is empty. */
static int add_section(sis__buf *body, sis__buf *links, const sis_report *report, size_t i,
                       size_t examples) {
    const char *id = SECTIONS[i].id, *title = SECTIONS[i].title;
    size_t before = body->len;
    sis__html(body, "<section id=\"%s\" aria-labelledby=\"t-%s\">\n<h2 id=\"t-%s\">%s</h2>\n", id,
              id, id, title);
    size_t empty = body->len;
    int code = SECTIONS[i].fill ? SECTIONS[i].fill(body, report)
                                : sis__page_examples(body, report, examples);
    if (body->len == empty) {
        body->len = before;
        return code;
    }
    sis__buf_str(body, "</section>\n");
    sis__html(links, "<a href=\"#%s\">%s</a>", id, title);
    return code;
}

/* Add links to the sections that are not empty, then the sections. */
static int add_sections(sis__buf *b, const sis_report *report, size_t examples) {
    sis__buf body;
    int code = SIS_OK;
    sis__buf_init(&body);
    sis__buf_str(b, "<nav class=\"tabs\" id=\"tabs\" aria-label=\"Sections\">");
    for (size_t i = 0; code == SIS_OK && i < N_SECTIONS; i++)
        code = add_section(&body, b, report, i, examples);
    sis__buf_str(b, "</nav></header>\n<main>\n");
    if (code == SIS_OK && (code = sis__buf_error(&body)) == SIS_OK)
        sis__buf_add(b, body.data, body.len);
    sis__buf_str(b, "</main>\n");
    sis__buf_release(&body);
    return code;
}

/* Add heading, tabs, sections and the script that switches between them. */
static int add_whole(sis__buf *b, const sis_report *report, const sis_page_opt *opt) {
    add_banner(b, report, opt->title);
    int code = add_sections(b, report, opt->examples);
    sis__buf_str(b, "<footer class=\"soft\">Made by sis"
                    ". This file is complete: it needs no network and sends nothing."
                    "</footer>\n<script>");
    sis__buf_add(b, PAGE_JS, sizeof PAGE_JS);
    sis__buf_str(b, "</script>\n");
    return code;
}

static int add_cards_alone(sis__buf *b, const sis_report *report, size_t max) {
    sis__layout layout;
    int code = sis__layout_make(report, max, &layout);
    if (code == SIS_OK)
        code = sis__page_cards(b, report, &layout);
    sis__layout_release(&layout);
    return code;
}

int sis_report_page(const sis_report *report, const sis_page_opt *opt, char **html, size_t *n) {
    const sis_page_opt o = opt ? *opt : (sis_page_opt){0};
    sis__buf b;
    sis__buf_init(&b);
    *html = NULL;
    *n = 0;
    if (report->n == 0)
        return sis__fail(SIS_E_ARGUMENT, "no records to report");
    add_head(&b, report, o.title);
    sis__buf_str(&b, "<body>\n");
    int code = o.cards ? add_cards_alone(&b, report, o.examples) : add_whole(&b, report, &o);
    sis__buf_str(&b, "</body>\n</html>\n");
    if (code == SIS_OK)
        code = sis__buf_give(&b, html, n);
    sis__buf_release(&b);
    return code;
}
