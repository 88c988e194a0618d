/* SPDX-License-Identifier: MIT
 *
 * The section of examples. Each has a card with its decision, the input and its subsets. The page
 * contains all cards; the script shows twenty at a time. Without scripts, or in print, all are
 * shown.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/record.h>

#include "report/page.h"

void sis__subset_caption(sis__buf *b, const sis__report_example *e, size_t k) {
    const sis_record *r = &e->record;
    const sis_collection *c = &r->collection;
    const sis_guarantee *g = r->guarantee;
    double score;
    const char *name = sis_record_subset_score(r, k, &score);
    sis__html(b, "%'zu of %'zu %s%s \xC2\xB7 %s %g", c->subsets[k].n, c->n_features,
              sis_record_unit(r), sis__plural(c->n_features), name, score);
    if (r->prompted && !sis_record_is_contrast(r) && !isnan(c->subsets[k].without))
        sis__html(b, " alone, %g without it", c->subsets[k].without);
    if (sis_record_is_contrast(r)) {
        if (g && g->distances && !isnan(g->distances[k]))
            sis__html(b, " \xC2\xB7 distance %.4g", g->distances[k]);
    } else if (g && g->kind != SIS_GUARANTEE_MASK) {
        char promise[160];
        sis_record_promise(r, k, promise, sizeof promise);
        sis__html(b, " \xC2\xB7 enough <bdi>%s</bdi>", promise);
    }
}

/* The name of a feature, with its value in tables: housing=own, income=52000. */
static void name_cell(const sis__report_example *e, int feature, char *text, size_t size) {
    const sis_record *r = &e->record;
    char number[SIS_NUMBER_SIZE];
    sis_record_name(r, feature, text, size);
    size_t used = strlen(text);
    const char *was = e->look == SIS__TABLE ? sis_record_was(r, feature, number) : NULL;
    if (was)
        snprintf(text + used, size - used, "=%s", was);
}

int sis__thumb(sis__buf *b, const sis__report_example *e, size_t k) {
    enum { SHOWN = 12 };
    const sis_subset *s = &e->record.collection.subsets[k];
    char name[160];
    if (e->look == SIS__IMAGE)
        return sis__thumb_image(b, e, k);
    if (e->look == SIS__DNA)
        return sis__thumb_dna(b, e, k);
    sis__buf_str(b, "<span class=\"words\">");
    for (size_t i = 0; i < s->n && i < SHOWN; i++) {
        name_cell(e, s->features[i], name, sizeof name);
        sis__html(b, "%s<bdi>%.40s</bdi>", i ? " " : "", name);
    }
    sis__buf_str(b, s->n > SHOWN ? " \xE2\x80\xA6</span>" : "</span>");
    return SIS_OK;
}

/* ---- The decision ---------------------------------------------------------------------------- */

/* "score 0.98 ≥ 0.7 for class 7" */
static void add_verdict(sis__buf *b, const sis_record *r) {
    const sis_collection *c = &r->collection;
    char output[200];
    int undecided = c->status == SIS_STATUS_NOT_DECIDED, behind = r->question.keep && undecided;
    sis__html(b, "<p class=\"verdict\">%s <b>%g</b>",
              behind             ? "behind by"
              : r->question.keep ? "ahead by"
                                 : "score",
              behind ? -c->score : c->score);
    if (!r->question.keep)
        sis__html(b, " %s%s %g", undecided ? "is not " : "",
                  r->question.below ? "\xE2\x89\xA4" : "\xE2\x89\xA5", r->question.threshold);
    if (!sis__output_is_plain(r)) {
        sis__output_name(r, output, sizeof output);
        sis__html(b, " for %s<b><bdi>%.60s</bdi></b>", /* a bare number needs a noun */
                  strspn(output, "0123456789") == strlen(output) ? "class " : "", output);
    }
    sis__buf_str(b, "</p>\n");
}

/* The result and the scores without it: "3 sufficient subsets, verified. Everything masked 0.09,
 * only the subsets masked 0.19" */
static void add_found(sis__buf *b, const sis_record *r) {
    char text[160];
    sis_record_found(r, text, sizeof text);
    sis__html(b, "<p class=\"found\"><bdi>%s</bdi></p>\n", text);
    if (sis_record_is_contrast(r))
        return;
    sis__buf_str(b, "<p class=\"found soft\">");
    if (sis_record_masked_name(r))
        sis__html(b, "%s %g, ", sis_record_masked_name(r), r->collection.masked_score);
    sis_record_rest(r, text, sizeof text);
    for (const char *c = text; *c; c++) {
        int minus = *c == '-' && c > text && c[-1] == ' ';
        sis__buf_printf(b, "%.*s", minus ? 3 : 1, minus ? "\xE2\x88\x92" : c);
    }
    sis__buf_str(b, "</p>\n");
}

/* Tell why there is no subset. */
static void add_reason(sis__buf *b, const sis_record *r) {
    const sis_collection *c = &r->collection;
    char reason[256], advice[256];
    sis_record_reason(r, reason, sizeof reason);
    sis_record_advice(r, advice, sizeof advice);
    if (*reason)
        sis__html(b, "<p class=\"reason\">%s %s</p>\n", reason, advice);
    else if (c->status != SIS_STATUS_CUT)
        sis__html(b, "<p class=\"reason\">The model failed: <bdi>%.500s</bdi></p>\n",
                  c->message ? c->message : "it did not say why");
    if (*reason || c->status != SIS_STATUS_CUT)
        return;
    sis__html(b,
              "<p class=\"reason\">A limit of time or evaluations was reached. Until then %'zu "
              "sufficient subset%s found.",
              c->n_subsets, c->n_subsets == 1 ? " was" : "s were");
    if (c->bound.n)
        sis__html(b,
                  " These %'zu feature%s of the rest are also sufficient, but perhaps not minimal: "
                  "score %g.",
                  c->bound.n, sis__plural(c->bound.n), c->bound.score);
    sis__buf_str(b, "</p>\n");
}

static const char *status_words(sis_status status) {
    static const char *const words[] = {[SIS_STATUS_EXPLAINED] = "explained",
                                        [SIS_STATUS_NOT_DECIDED] = "not decided",
                                        [SIS_STATUS_DEFAULT_DECISION] = "by default",
                                        [SIS_STATUS_ERROR] = "error",
                                        [SIS_STATUS_CUT] = "cut short"};
    return words[status];
}

static void add_label(sis__buf *b, const sis_record *r) {
    const char *label = r->drawing.label, *target = r->question.target_label;
    int digit = (label[0] == '0' || label[0] == '1') && !label[1];
    int named = digit && r->question.n_outputs == 1 && target &&
                strspn(target, "0123456789.") < strlen(target);
    /* labels 1 and 0 mean the named output */
    sis__html(b, " <span class=\"tag\">labelled %s<bdi>%.40s</bdi></span>",
              named && *label == '0' ? "not " : "", named ? target : label);
}

/* The example, the kind of answer, and the answer. */
static void add_heading(sis__buf *b, const sis_report *report, const sis__report_example *e) {
    const sis_record *r = &e->record;
    sis__html(b, "<header><p class=\"whose\"><bdi>%.60s</bdi>", r->id);
    if (r->drawing.label)
        add_label(b, r);
    if (report->n_runs > 1)
        sis__html(b, " <span class=\"tag run\"><bdi>%.60s</bdi></span>",
                  sis__run_name(report, e->run));
    sis__html(b, "</p>\n<h3>%s</h3>\n", sis__record_title(r));
    if (r->collection.status != SIS_STATUS_ERROR)
        add_verdict(b, r);
    if (r->collection.status == SIS_STATUS_EXPLAINED)
        add_found(b, r);
    else
        add_reason(b, r);
    if (r->collection.status != SIS_STATUS_ERROR)
        sis__score_bar(b, r);
    sis__buf_str(b, "</header>\n");
}

/* ---- Cards ----------------------------------------------------------------------------------- */

int sis__card_body(sis__buf *b, const sis__report_example *e, const sis__population *p) {
    switch (e->look) {
    case SIS__TEXT:
        return sis__card_text(b, e);
    case SIS__DNA:
        return sis__card_dna(b, e);
    case SIS__IMAGE:
        return sis__card_image(b, e);
    default:
        return sis__card_table(b, e, p);
    }
}

/* Add the attributes that the script sorts and filters by. */
static void add_order(sis__buf *b, const sis_record *r) {
    const sis_collection *c = &r->collection;
    int right = sis_record_is_right(r);
    sis__buf_printf(b, " data-class=\"%zu\" data-subsets=\"%zu\" data-size=\"%zu\"",
                    r->question.target, c->n_subsets, c->n_subsets ? c->subsets[0].n : 0);
    if (isfinite(c->score))
        sis__buf_printf(b, " data-score=\"%.9g\"", c->score);
    if (right >= 0)
        sis__buf_printf(b, " data-right=\"%d\"", right);
}

static int add_card(sis__buf *b, const sis_report *report, size_t i, size_t walk,
                    const sis__population *p) {
    static const char *const looks[] = {[SIS__LIST] = "list",
                                        [SIS__TABLE] = "table",
                                        [SIS__IMAGE] = "image",
                                        [SIS__TEXT] = "text",
                                        [SIS__DNA] = "dna"};
    const sis__report_example *e = &report->examples[i];
    sis__buf_printf(b,
                    "<article class=\"card\" id=\"e%zu\" data-run=\"%zu\" data-status=\"%s\" "
                    "data-look=\"%s\"",
                    i, e->run, sis_status_name(e->record.collection.status), looks[e->look]);
    if (e->traced.n_steps)
        sis__buf_printf(b, " data-walk=\"%zu\"", walk);
    add_order(b, &e->record);
    sis__buf_str(b, ">\n");
    add_heading(b, report, e);
    sis__buf_str(b, "<div class=\"body\">\n");
    int code = sis__card_body(b, e, p);
    sis__buf_str(b, "</div>\n</article>\n");
    return code;
}

/* ---- Controls -------------------------------------------------------------------------------- */

static void add_status_filter(sis__buf *b, const sis_report *report, const sis__layout *layout) {
    int counts[SIS_N_STATUSES] = {0};
    for (size_t k = 0; k < layout->n; k++)
        counts[report->examples[layout->order[k]].record.collection.status]++;
    sis__buf_str(b, "<label>Show <select id=\"status\"><option value=\"\">all</option>");
    for (int s = 0; s < SIS_N_STATUSES; s++)
        if (counts[s])
            sis__buf_printf(b, "<option value=\"%s\"%s>%s (%d)</option>",
                            sis_status_name((sis_status)s),
                            s == SIS_STATUS_EXPLAINED ? " selected" : "",
                            status_words((sis_status)s), counts[s]);
    sis__buf_str(b, "</select></label>\n");
}

static void add_run_filter(sis__buf *b, const sis_report *report) {
    sis__buf_str(b, "<label>of <select id=\"run\"><option value=\"\">every file</option>");
    for (size_t i = 0; i < report->n_runs; i++)
        sis__html(b, "<option value=\"%zu\">%.60s</option>", i, sis__run_name(report, i));
    sis__buf_str(b, "</select></label>\n");
}

/* A filter by output, if there are several, sorted by number. */
static void add_class_filter(sis__buf *b, const sis_report *report) {
    enum { MAX = 1000 };
    size_t first[MAX], n = 0, highest = 0;
    char name[200];
    for (size_t k = 0; k < MAX; k++)
        first[k] = SIZE_MAX;
    for (size_t i = 0; i < report->n; i++) {
        size_t output = report->examples[i].record.question.target;
        if (output < MAX && first[output] == SIZE_MAX) {
            first[output] = i;
            n++;
            highest = output > highest ? output : highest;
        }
    }
    if (n < 2)
        return;
    sis__buf_str(b, "<label>for <select id=\"class\"><option value=\"\">every class</option>");
    for (size_t k = 0; k <= highest; k++)
        if (first[k] != SIZE_MAX) {
            sis__output_name(&report->examples[first[k]].record, name, sizeof name);
            sis__html(b, "<option value=\"%zu\">%.40s</option>", k, name);
        }
    sis__buf_str(b, "</select></label>\n");
}

/* A filter by right and wrong, if there are both. */
static void add_right_filter(sis__buf *b, const sis_report *report) {
    size_t counts[2] = {0};
    for (size_t i = 0; i < report->n; i++) {
        int right = sis_record_is_right(&report->examples[i].record);
        if (right >= 0)
            counts[right]++;
    }
    if (counts[0] && counts[1])
        sis__buf_printf(b,
                        "<label>decided <select id=\"right\"><option value=\"\">either way</option>"
                        "<option value=\"1\">right (%zu)</option>"
                        "<option value=\"0\">wrong (%zu)</option></select></label>\n",
                        counts[1], counts[0]);
}

static void add_sort(sis__buf *b) {
    sis__buf_str(b, "<label>by <select id=\"sort\"><option value=\"\">order of the file</option>"
                    "<option value=\"-score\">highest score</option>"
                    "<option value=\"score\">lowest score</option>"
                    "<option value=\"size\">smallest first subset</option>"
                    "<option value=\"-size\">largest first subset</option>"
                    "<option value=\"-subsets\">most subsets</option></select></label>\n");
}

static void add_picker(sis__buf *b, const double *grid, size_t n_grid, double at) {
    size_t start = 0;
    while (start + 1 < n_grid && grid[start] < at)
        start++;
    sis__html(
        b,
        "<div class=\"picker\" id=\"picker\"><label for=\"threshold\">Threshold</label>\n"
        "<input type=\"range\" id=\"threshold\" min=\"0\" max=\"%zu\" value=\"%zu\" step=\"1\" "
        "aria-describedby=\"picked\">\n<output id=\"at\" for=\"threshold\">%g</output>\n"
        "<button type=\"button\" id=\"reset\" disabled>As explained</button>\n"
        "<p id=\"picked\" class=\"soft\" aria-live=\"polite\">Move the slider to see the first "
        "subset at another threshold.</p></div>\n",
        n_grid - 1, start, at);
}

static void add_bar(sis__buf *b, const sis_report *report, const sis__layout *layout,
                    const double *grid, size_t n_grid) {
    sis__buf_str(b, "<form class=\"bar\" id=\"bar\">\n");
    if (n_grid) {
        size_t first = 0;
        while (!report->examples[first].traced.n_steps)
            first++;
        add_picker(b, grid, n_grid, report->examples[first].record.question.threshold);
    }
    sis__buf_str(b, "<div class=\"filters\">");
    add_status_filter(b, report, layout);
    if (report->n_runs > 1)
        add_run_filter(b, report);
    add_class_filter(b, report);
    add_right_filter(b, report);
    add_sort(b);
    sis__buf_str(b, "<label>with <input type=\"search\" id=\"find\" placeholder=\"id or "
                    "text\"></label>\n</div>\n</form>\n");
}

/* Add the legend of the bars of scores, for records of these kinds. */
static void add_bar_legend(sis__buf *b, int kinds) {
    int proofs = kinds && !(kinds & ~(SIS__PROVED | SIS__CONTRAST));
    int contrasts = kinds && !(kinds & ~SIS__CONTRASTS);
    const char *subset = !contrasts ? kinds == SIS__RATIONALE ? "a rationale" : "a subset"
                         : kinds == SIS__CONTRAST ? "a contrast changed"
                                                  : "a contrast masked";
    sis__buf_printf(b,
                    "<p class=\"legend soft scorebar\"><span><i class=\"masked s0\"></i> %s</span> "
                    "<span><i class=\"sub s0\"></i> %s</span> "
                    "<span><i class=\"limit s0\"></i> threshold</span> "
                    "<span><i class=\"full s0\"></i> the whole input</span></p>\n",
                    proofs ? "other values of everything" : "everything masked", subset);
}

/* Add the legend of colours, once for each kind of example. */
static void add_legend(sis__buf *b, const sis_report *report) {
    int seen[5] = {0}, human = 0, grey = 0, attributed = 0;
    sis_raster raster;
    for (size_t i = 0; i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        seen[e->look] = 1;
        grey |=
            e->look == SIS__IMAGE && sis_record_raster(&e->record, &raster) && raster.channels < 3;
        human |= e->record.drawing.n_human > 0;
        attributed |= e->record.n_attributions > 0;
    }
    sis__buf_str(b, "<p class=\"legend soft\">");
    if (seen[SIS__IMAGE] && !grey)
        sis__buf_str(b, "Chosen pixels keep their colour, <span class=\"swatch ghost\"></span> "
                        "masked ones are grey. ");
    if (grey)
        sis__buf_str(b, "<span><span class=\"swatch bright\"></span> chosen and bright</span> "
                        "<span><span class=\"swatch dark\"></span> chosen and dark</span> "
                        "<span><span class=\"swatch ghost\"></span> masked.</span> ");
    if (seen[SIS__TEXT] || seen[SIS__DNA])
        sis__buf_str(b, "Each subset has its colour and number; the stronger the colour, the more "
                        "important. ");
    if (attributed)
        sis__buf_str(
            b, "Attributions: <span><span class=\"swatch bright\"></span> raises the score</span> "
               "<span><span class=\"swatch dark\"></span> lowers it.</span> ");
    if (human)
        sis__buf_str(b, "<u>Underlined</u>: marked by a person. ");
    sis__buf_str(b, "Features come most important first.</p>\n");
    add_bar_legend(b, sis__kinds_of(report) & ~SIS__NOT_MINIMAL);
}

static void add_pager(sis__buf *b) {
    sis__buf_str(b, "<nav class=\"pager\" id=\"pager\" aria-label=\"Pages of examples\" hidden>"
                    "<button type=\"button\" id=\"previous\">Previous</button> "
                    "<span id=\"where\" aria-live=\"polite\"></span> "
                    "<button type=\"button\" id=\"next\">Next</button></nav>\n");
}

int sis__page_cards(sis__buf *b, const sis_report *report, const sis__layout *layout) {
    size_t walk = 0;
    sis__population *populations;
    int code = sis__populations_make(report, &populations);
    add_legend(b, report);
    sis__buf_str(b, "<div id=\"cards\">\n");
    for (size_t k = 0; code == SIS_OK && k < layout->n; k++) {
        const sis__report_example *e = &report->examples[layout->order[k]];
        int begins = layout->first[k] && k + 1 < layout->n && !layout->first[k + 1];
        int ends = !layout->first[k] && (k + 1 == layout->n || layout->first[k + 1]);
        if (begins)
            sis__buf_str(b, "<div class=\"together\">\n");
        code = add_card(b, report, layout->order[k], walk, &populations[e->run]);
        walk += e->traced.n_steps > 0;
        if (ends)
            sis__buf_str(b, "</div>\n");
    }
    sis__buf_str(b, "</div>\n");
    sis__populations_free(populations, report->n_runs);
    return code;
}

int sis__page_examples(sis__buf *b, const sis_report *report, size_t max) {
    double *grid = NULL;
    size_t n_grid = 0;
    sis__layout layout;
    int code = sis__layout_make(report, max, &layout);
    if (code == SIS_OK)
        code = sis__picker_grid(report, &grid, &n_grid);
    if (code == SIS_OK)
        add_bar(b, report, &layout, grid, n_grid);
    if (layout.n < report->n)
        sis__html(b, "<p>%'zu of %'zu example%s are drawn, spread evenly over the results.</p>\n",
                  layout.n, report->n, sis__plural(report->n));
    if (code == SIS_OK)
        code = sis__page_cards(b, report, &layout);
    sis__buf_str(b, "<p id=\"none\" hidden>No example matches.</p>\n");
    add_pager(b);
    if (code == SIS_OK)
        sis__page_picker(b, report, &layout, grid, n_grid);
    sis__layout_release(&layout);
    free(grid);
    return code;
}
