/* SPDX-License-Identifier: MIT
 *
 * One record as text:
 *
 *     3   score 0.912 >= 0.8   2 subsets of 8 features, verified
 *         everything masked 0.31, only the subsets masked 0.55
 *       1   score 0.83   2 features
 *           late_payments = 0       masked 1.9
 *           income        = 52000   masked 31250.4
 *
 * Features without names are shown by their number, those of an image by row and column. Texts, DNA
 * and images are drawn instead, with what was chosen marked in place.
 */
#include <math.h>
#include <string.h>

#include "show.h"

static const char *const BOLD = "1", *const GREEN = "32", *const YELLOW = "33", *const DIM = "2",
                         *const RED = "31";

/* ---- Features -------------------------------------------------------------------------------- */

/* "name", or "great (word 12)", or "row 3, column 7", or "feature 12". */
static void feature_label(const sis_record *r, int feature, char *text, size_t size) {
    int named = sis_record_name(r, feature, text, size);
    size_t n = strlen(text), at = (size_t)feature;
    if (r->drawing.words && n < size)
        snprintf(text + n, size - n, " (word %d)", feature);
    else if (!named && r->drawing.rank == 2 && !r->drawing.feature_map)
        snprintf(text, size, "row %zu, column %zu", at / r->drawing.shape[1],
                 at % r->drawing.shape[1]);
}

/* The values of a feature: the category it is, or "0.5", "[0.5 0.1 0.9]" or, of named ones, "own
 * 0.7, rent 0.3", at most four of them. */
static void values_text(const sis_record *r, const double *values, int feature, char *text,
                        size_t size) {
    size_t count, first = sis_record_values(r, feature, &count), shown = 0, n = 0;
    const char *category = sis_record_category(r, values, feature);
    int named = count > 1 && sis_record_value_name(r, first), bare = count > 1 && !named;
    snprintf(text, size, "%s", category ? category : bare ? "[" : "");
    if (category)
        return;
    for (; shown < 4 && shown < count; shown++) {
        size_t v = sis_record_value(r, feature, shown);
        n = strlen(text);
        char number[SIS_NUMBER_SIZE] = "missing";
        if (!isnan(values[v]))
            snprintf(number, sizeof number, "%g", values[v]);
        snprintf(text + n, size - n, "%s%s%s%s",
                 !shown  ? ""
                 : named ? ", "
                         : " ",
                 named ? sis_record_value_name(r, v) : "", named ? " " : "", number);
    }
    n = strlen(text);
    snprintf(text + n, size - n, "%s%s", count > 4 ? " ..." : "", bare ? "]" : "");
}

/* Numbers worth showing: those of a text are only ids. */
static int has_values(const sis_record *r) {
    return r->drawing.values && !r->drawing.words;
}

static size_t wider(size_t width, const char *text) {
    return cli_columns(text) > width ? cli_columns(text) : width;
}

static void print_padded(const cli_page *p, const char *text, size_t width) {
    size_t used = cli_columns(text);
    cli_print_safe(p->out, text);
    fprintf(p->out, "%*s", used < width ? (int)(width - used) : 0, "");
}

/* name = value   masked value, in columns of these widths. */
static void print_feature(const cli_page *p, int feature, size_t label_width, size_t value_width,
                          const double *becomes) {
    const sis_record *r = p->r;
    char text[256];
    feature_label(r, feature, text, sizeof text);
    fputs("          ", p->out);
    print_padded(p, text, has_values(r) ? label_width : 0);
    if (has_values(r)) {
        values_text(r, r->drawing.values, feature, text, sizeof text);
        fputs(" = ", p->out);
        print_padded(p, text, r->drawing.mask || becomes ? value_width : 0);
    }
    if (has_values(r) && becomes) {
        values_text(r, becomes, feature, text, sizeof text);
        fputs("   ", p->out);
        cli_paint_text(p, BOLD, "becomes ", text);
    } else if (has_values(r) && r->drawing.mask) {
        values_text(r, r->drawing.mask, feature, text, sizeof text);
        fputs("   ", p->out);
        cli_paint_text(p, DIM, "masked ", text);
    }
    fputc('\n', p->out);
}

void cli_show_subset_title(const cli_page *p, size_t k) {
    char style[32];
    fputs("      ", p->out);
    snprintf(style, sizeof style, "1;38;5;16;48;5;%d", cli_subset_colour(k, 0, 1));
    cli_paint(p, style, "%zu", k + 1);
    fprintf(p->out, "   %s %.4g", sis_record_score_name(p->r), p->r->collection.subsets[k].score);
}

const char *cli_short_of(const cli_page *p, size_t k) {
    const sis_record *r = p->r;
    return r->guarantee || sis_decided(r->collection.subsets[k].score, r->question.threshold,
                                       r->question.below)
               ? ""
               : ", not sufficient";
}

size_t cli_shown_subsets(const cli_page *p) {
    size_t n = p->r->collection.n_subsets;
    return p->subsets && p->subsets < n ? p->subsets : n;
}

static void print_subset(const cli_page *p, size_t k) {
    const sis_record *r = p->r;
    const sis_subset *s = &r->collection.subsets[k];
    size_t label_width = 0, value_width = 0;
    for (size_t i = 0; i < s->n; i++) {
        char text[256];
        feature_label(r, s->features[i], text, sizeof text);
        label_width = wider(label_width, text);
        if (has_values(r))
            values_text(r, r->drawing.values, s->features[i], text, sizeof text);
        value_width = wider(value_width, text);
    }
    cli_show_subset_title(p, k);
    fprintf(p->out, "   %zu of %zu features%s\n", s->n, r->collection.n_features,
            cli_short_of(p, k));
    for (size_t i = 0; i < s->n; i++)
        print_feature(p, s->features[i], label_width, value_width,
                      r->guarantee && r->guarantee->examples
                          ? r->guarantee->examples + k * r->drawing.n_values
                          : NULL);
}

/* ---- The decision ---------------------------------------------------------------------------- */

/* Models trained on numbered classes have numbers for labels, which alone would say little. */
static int is_number(const char *label) {
    return *label && strspn(label, "0123456789") == strlen(label);
}

/* "score 0.91 >= 0.8", or "ahead by 2.1" if a class is to stay on top. */
static void print_score(const cli_page *p) {
    const sis_record *r = p->r;
    const sis_collection *c = &r->collection;
    int undecided = c->status == SIS_STATUS_NOT_DECIDED;
    fputs(r->question.keep ? undecided ? "   behind by " : "   ahead by " : "   score ", p->out);
    cli_paint(p, BOLD, "%.4g", r->question.keep ? fabs(c->score) : c->score);
    if (!r->question.keep)
        fprintf(p->out, "%s %s %.4g", undecided ? ", not" : "",
                r->question.below ? "<=" : ">=", r->question.threshold);
}

static void print_decision(const cli_page *p) {
    const sis_record *r = p->r;
    if (r->collection.status == SIS_STATUS_ERROR)
        return;
    print_score(p);
    if (r->question.target_label) {
        fputs(is_number(r->question.target_label) ? " for class " : " for ", p->out);
        cli_print_safe(p->out, r->question.target_label);
    } else if (r->question.target > 0 || r->question.n_outputs > 1) {
        fprintf(p->out, " for output %zu", r->question.target);
    }
}

/* Drawn as what it is, if it can be. */
static int draw(const cli_page *p) {
    return !p->lines && (cli_show_text(p) || cli_show_dna(p) || cli_show_image(p));
}

/* What there would be without the subsets, and without all of it. */
static void print_scores(const cli_page *p) {
    char rest[160];
    sis_record_rest(p->r, rest, sizeof rest);
    if (sis_record_is_contrast(p->r))
        cli_paint(p, DIM, "      %s", rest);
    else
        cli_paint(p, DIM, "      %s %.4g, %s", sis_record_masked_name(p->r),
                  p->r->collection.masked_score, rest);
    fputc('\n', p->out);
    if (!p->r->guarantee || p->r->guarantee->kind == SIS_GUARANTEE_MASK ||
        sis_record_is_contrast(p->r))
        return;
    for (size_t k = 0; k < cli_shown_subsets(p); k++) {
        char promise[160];
        sis_record_promise(p->r, k, promise, sizeof promise);
        fprintf(p->out, "      %zu is enough ", k + 1);
        cli_print_safe(p->out, promise);
        fputc('\n', p->out);
    }
}

static void print_explained(const cli_page *p) {
    const sis_collection *c = &p->r->collection;
    char found[160];
    sis_record_found(p->r, found, sizeof found);
    fputs("   ", p->out);
    cli_paint_text(p, GREEN, "", found);
    fputc('\n', p->out);
    print_scores(p);
    size_t n = cli_shown_subsets(p);
    int drawn = draw(p);
    for (size_t k = 0; k < n && !drawn; k++)
        print_subset(p, k);
    if (n < c->n_subsets)
        fprintf(p->out, "      and %zu more\n", c->n_subsets - n);
}

static void print_cut(const cli_page *p) {
    const sis_collection *c = &p->r->collection;
    if (c->n_subsets)
        print_explained(p);
    else
        fputs("   ", p->out);
    cli_paint(p, YELLOW, "%scut short by a limit", c->n_subsets ? "      " : "");
    if (c->bound.n)
        fprintf(p->out,
                "; %zu of %zu features%s are sufficient but perhaps not minimal: score %.4g",
                c->bound.n, c->n_features, c->n_subsets ? " of the rest" : "", c->bound.score);
    fputc('\n', p->out);
}

static void print_nothing(const cli_page *p) {
    const sis_collection *c = &p->r->collection;
    char reason[256], advice[256];
    sis_record_reason(p->r, reason, sizeof reason);
    sis_record_advice(p->r, advice, sizeof advice);
    fputs("   ", p->out);
    switch (c->status) {
    case SIS_STATUS_NOT_DECIDED:
    case SIS_STATUS_DEFAULT_DECISION:
        cli_paint(p, YELLOW,
                  c->status == SIS_STATUS_NOT_DECIDED ? "not decided" : "decided by default");
        fputs("\n      ", p->out);
        cli_print_safe(p->out, reason);
        fprintf(p->out, "\n      %s\n", advice);
        break;
    default:
        cli_paint(p, RED, "error");
        fputs("\n      ", p->out);
        cli_print_safe(p->out, c->message ? c->message : "the model failed");
        fputc('\n', p->out);
    }
}

void cli_show_record(const cli_page *p) {
    const sis_record *r = p->r;
    cli_paint_text(p, BOLD, "example ", r->id);
    if (r->drawing.label) {
        fputs(" (labelled ", p->out);
        cli_print_safe(p->out, r->drawing.label);
        fputc(')', p->out);
    }
    print_decision(p);
    if (r->collection.status == SIS_STATUS_EXPLAINED)
        print_explained(p);
    else if (r->collection.status == SIS_STATUS_CUT)
        print_cut(p);
    else
        print_nothing(p);
    fputc('\n', p->out);
}
