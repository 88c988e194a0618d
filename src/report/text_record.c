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
 * Features without names are shown by number, those of an image by row and column. Texts, DNA and
 * images are drawn with the chosen features marked in place.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <sis/record.h>

#include "report/text.h"

#include "base/columns.h"
#include "base/error.h"
#include "base/number.h"

static const char *const BOLD = "1", *const GREEN = "32", *const YELLOW = "33", *const DIM = "2",
                         *const RED = "31";

/* ---- Colours ------------------------------------------------------------------------------- */

void sis__text_paint(const sis__text *p, const char *style, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    sis__vformat(text, sizeof text, format, args);
    va_end(args);
    if (p->opt->colour)
        sis__buf_printf(p->out, "\033[%sm", style);
    sis__buf_str(p->out, text);
    sis__buf_str(p->out, p->opt->colour ? "\033[0m" : "");
}

/* Print our own word and an external text, made safe, in one style. */
static void paint_word(const sis__text *p, const char *style, const char *word, const char *text) {
    if (p->opt->colour)
        sis__buf_printf(p->out, "\033[%sm", style);
    sis__buf_str(p->out, word);
    sis__buf_safe(p->out, text);
    sis__buf_str(p->out, p->opt->colour ? "\033[0m" : "");
}

int sis__text_colour(size_t k, size_t rank, size_t n) {
    /* Orange, blue, green, yellow, red, purple: distinguishable by colour-blind readers. */
    static const unsigned char shades[][3] = {{208, 215, 223}, {39, 117, 153},  {35, 78, 157},
                                              {184, 227, 230}, {203, 210, 224}, {134, 177, 183}};
    return shades[k % (sizeof shades / sizeof *shades)][n ? 3 * rank / n : 0];
}

/* ---- Features -------------------------------------------------------------------------------- */

/* "name", or "great (word 12)", or "row 3, column 7", or "feature 12". */
static void feature_label(const sis_record *r, int feature, char *text, size_t size) {
    int named = sis_record_name(r, feature, text, size);
    size_t n = strlen(text), at = (size_t)feature;
    if (r->drawing.words && n < size)
        sis__format(text + n, size - n, " (word %d)", feature);
    else if (!named && r->drawing.shape && r->drawing.rank == 2 && !r->drawing.feature_map)
        sis__format(text, size, "row %zu, column %zu", at / r->drawing.shape[1],
                    at % r->drawing.shape[1]);
}

/* The number of values from number k of a feature on that encode one categorical column, with
 * exactly one value 1: home=none, home=own, home=rent. *category is the one with value 1. 0:
 * none. */
static size_t category_column(const sis_record *r, const double *values, int feature, size_t k,
                              size_t count, const char **category) {
    size_t n = 0, ones = 0, stem = 0;
    const char *first = NULL;
    for (; k + n < count; n++) {
        size_t v = sis_record_value(r, feature, k + n);
        const char *name = sis_record_value_name(r, v), *end = name ? strrchr(name, '=') : NULL;
        if (!end || (first && strncmp(name, first, stem) != 0) ||
            (values[v] != 0 && values[v] != 1))
            break;
        first = first ? first : name;
        stem = (size_t)(end + 1 - name);
        ones += values[v] == 1;
        *category = values[v] == 1 ? end + 1 : *category;
    }
    return n > 1 && ones == 1 ? n : 0;
}

/* The values of a feature: its category, "0.5", "[0.5 0.1 0.9]" or, if named, "own 0.7, rent 0.3",
 * at most four; for several columns "own, 0.3". */
static void values_text(const sis_record *r, const double *values, int feature, char *text,
                        size_t size) {
    size_t count, first = sis_record_values(r, feature, &count), shown = 0, k = 0;
    const char *category = sis_record_category(r, values, feature);
    int named = count > 1 && sis_record_value_name(r, first), bare = count > 1 && !named;
    sis__format(text, size, "%s", category ? category : bare ? "[" : "");
    if (category)
        return;
    for (size_t column; shown < 4 && k < count; shown++, k += column ? column : 1) {
        size_t v = sis_record_value(r, feature, k), n = strlen(text);
        char number[SIS_NUMBER_SIZE] = "missing";
        column = category_column(r, values, feature, k, count, &category);
        if (!isnan(values[v]))
            sis__format(number, sizeof number, "%g", values[v]);
        sis__format(text + n, size - n, "%s%s%s%s",
                    !shown  ? ""
                    : named ? ", "
                            : " ",
                    column  ? category
                    : named ? sis_record_value_name(r, v)
                            : "",
                    named && !column ? " " : "", column ? "" : number);
    }
    size_t n = strlen(text);
    sis__format(text + n, size - n, "%s%s", k < count ? " ..." : "", bare ? "]" : "");
}

/* Should values be shown? Those of a text are only ids. */
static int has_values(const sis_record *r) {
    return r->drawing.values && !r->drawing.words;
}

static size_t wider(size_t width, const char *text) {
    return sis__columns(text) > width ? sis__columns(text) : width;
}

static void print_padded(const sis__text *p, const char *text, size_t width) {
    size_t used = sis__columns(text);
    sis__buf_safe(p->out, text);
    sis__buf_printf(p->out, "%*s", used < width ? (int)(width - used) : 0, "");
}

/* Print name = value   masked value, in columns of these widths. */
static void print_feature(const sis__text *p, int feature, size_t label_width, size_t value_width,
                          const double *becomes) {
    const sis_record *r = p->r;
    char text[256];
    feature_label(r, feature, text, sizeof text);
    sis__buf_str(p->out, "          ");
    print_padded(p, text, has_values(r) ? label_width : 0);
    if (has_values(r)) {
        values_text(r, r->drawing.values, feature, text, sizeof text);
        sis__buf_str(p->out, " = ");
        print_padded(p, text, r->drawing.mask || becomes ? value_width : 0);
    }
    if (has_values(r) && becomes) {
        values_text(r, becomes, feature, text, sizeof text);
        sis__buf_str(p->out, "   ");
        paint_word(p, BOLD, "becomes ", text);
    } else if (has_values(r) && r->drawing.mask) {
        values_text(r, r->drawing.mask, feature, text, sizeof text);
        sis__buf_str(p->out, "   ");
        paint_word(p, DIM, "masked ", text);
    }
    sis__buf_char(p->out, '\n');
}

void sis__text_subset_title(const sis__text *p, size_t k) {
    char style[32];
    sis__buf_str(p->out, "      ");
    sis__format(style, sizeof style, "1;38;5;16;48;5;%d", sis__text_colour(k, 0, 1));
    sis__text_paint(p, style, "%zu", k + 1);
    double score;
    const char *name = sis_record_subset_score(p->r, k, &score);
    sis__buf_printf(p->out, "   %s %.4g", name, score);
}

const char *sis__text_short_of(const sis__text *p, size_t k) {
    const sis_record *r = p->r;
    return r->guarantee || sis_record_is_contrast(r) ||
                   sis_decided(r->collection.subsets[k].score, r->question.threshold,
                               r->question.below)
               ? ""
               : ", not sufficient";
}

size_t sis__text_subsets(const sis__text *p) {
    size_t n = p->r->collection.n_subsets;
    return p->opt->subsets && p->opt->subsets < n ? p->opt->subsets : n;
}

static void print_subset(const sis__text *p, size_t k) {
    const sis_record *r = p->r;
    const sis_subset *s = &r->collection.subsets[k];
    size_t label_width = 0, value_width = 0, max = p->opt->features;
    size_t shown = max && max < s->n ? max : s->n;
    for (size_t i = 0; i < shown; i++) {
        char text[256];
        feature_label(r, s->features[i], text, sizeof text);
        label_width = wider(label_width, text);
        if (has_values(r))
            values_text(r, r->drawing.values, s->features[i], text, sizeof text);
        value_width = wider(value_width, text);
    }
    sis__text_subset_title(p, k);
    sis__buf_printf(p->out, "   %zu of %zu features%s", s->n, r->collection.n_features,
                    sis__text_short_of(p, k));
    if (r->guarantee && r->guarantee->distances && !isnan(r->guarantee->distances[k]))
        sis__buf_printf(p->out, ", distance %.4g", r->guarantee->distances[k]);
    sis__buf_char(p->out, '\n');
    for (size_t i = 0; i < shown; i++)
        print_feature(p, s->features[i], label_width, value_width,
                      r->guarantee && r->guarantee->examples
                          ? r->guarantee->examples + k * r->drawing.n_values
                          : NULL);
    if (shown < s->n)
        sis__buf_printf(p->out, "          and %zu more\n", s->n - shown);
}

/* ---- The decision ---------------------------------------------------------------------------- */

/* Numbered classes have numbers for labels, which need a noun. */
static int is_number(const char *label) {
    return *label && strspn(label, "0123456789") == strlen(label);
}

/* "score 0.91 >= 0.8", or "ahead by 2.1" if a class must stay on top. */
static void print_score(const sis__text *p) {
    const sis_record *r = p->r;
    const sis_collection *c = &r->collection;
    int undecided = c->status == SIS_STATUS_NOT_DECIDED;
    sis__buf_str(p->out,
                 r->question.keep ? undecided ? "   behind by " : "   ahead by " : "   score ");
    sis__text_paint(p, BOLD, "%.4g", r->question.keep ? fabs(c->score) : c->score);
    if (!r->question.keep)
        sis__buf_printf(p->out, "%s %s %.4g", undecided ? ", not" : "",
                        r->question.below ? "<=" : ">=", r->question.threshold);
}

static void print_decision(const sis__text *p) {
    const sis_record *r = p->r;
    if (r->collection.status == SIS_STATUS_ERROR)
        return;
    print_score(p);
    if (r->question.target_label) {
        sis__buf_str(p->out, is_number(r->question.target_label) ? " for class " : " for ");
        sis__buf_safe(p->out, r->question.target_label);
    } else if (r->question.target > 0 || r->question.n_outputs > 1) {
        sis__buf_printf(p->out, " for output %zu", r->question.target);
    }
}

/* Draw the input by its kind. 0: it has no drawing. */
static int draw(const sis__text *p) {
    return !p->opt->lines && (sis__text_words(p) || sis__text_dna(p) || sis__text_image(p));
}

/* Print the answer of a language model, the reliability of its scores, and their cost. */
static void print_prompted(const sis__text *p) {
    const sis_prompted *q = p->r->prompted;
    if (!q)
        return;
    sis__buf_str(p->out, "      answer: ");
    sis__buf_safe(p->out, q->answer + strspn(q->answer, " "));
    sis__text_paint(p, DIM, "   %zu request%s, %zu tokens, noise %.2g%s", q->requests,
                    q->requests == 1 ? "" : "s", q->prompt_tokens + q->completion_tokens, q->noise,
                    q->bounded ? ", some scores are upper bounds" : "");
    sis__buf_char(p->out, '\n');
}

/* Print the scores without the subsets and with everything masked. */
static void print_scores(const sis__text *p) {
    char rest[160];
    print_prompted(p);
    sis_record_rest(p->r, rest, sizeof rest);
    if (sis_record_is_contrast(p->r))
        sis__text_paint(p, DIM, "      %s", rest);
    else
        sis__text_paint(p, DIM, "      %s %.4g, %s", sis_record_masked_name(p->r),
                        p->r->collection.masked_score, rest);
    sis__buf_char(p->out, '\n');
    if (!p->r->guarantee || p->r->guarantee->kind == SIS_GUARANTEE_MASK ||
        sis_record_is_contrast(p->r))
        return;
    for (size_t k = 0; k < sis__text_subsets(p); k++) {
        char promise[160];
        sis_record_promise(p->r, k, promise, sizeof promise);
        sis__buf_printf(p->out, "      subset %zu is enough ", k + 1);
        sis__buf_safe(p->out, promise);
        sis__buf_char(p->out, '\n');
    }
}

static void print_explained(const sis__text *p) {
    const sis_collection *c = &p->r->collection;
    char found[160];
    sis_record_found(p->r, found, sizeof found);
    sis__buf_str(p->out, "   ");
    paint_word(p, GREEN, "", found);
    sis__buf_char(p->out, '\n');
    print_scores(p);
    size_t n = sis__text_subsets(p);
    int drawn = draw(p);
    for (size_t k = 0; k < n && !drawn; k++)
        print_subset(p, k);
    if (n < c->n_subsets)
        sis__buf_printf(p->out, "      and %zu more\n", c->n_subsets - n);
}

static void print_cut(const sis__text *p) {
    const sis_collection *c = &p->r->collection;
    if (c->n_subsets)
        print_explained(p);
    else
        sis__buf_str(p->out, "   ");
    sis__text_paint(p, YELLOW, "%scut short by a limit", c->n_subsets ? "      " : "");
    if (c->bound.n)
        sis__buf_printf(
            p->out, "; %zu of %zu features%s are sufficient but perhaps not minimal: score %.4g",
            c->bound.n, c->n_features, c->n_subsets ? " of the rest" : "", c->bound.score);
    sis__buf_char(p->out, '\n');
}

static void print_nothing(const sis__text *p) {
    const sis_collection *c = &p->r->collection;
    char reason[256], advice[256];
    sis_record_reason(p->r, reason, sizeof reason);
    sis_record_advice(p->r, advice, sizeof advice);
    sis__buf_str(p->out, "   ");
    switch (c->status) {
    case SIS_STATUS_NOT_DECIDED:
    case SIS_STATUS_DEFAULT_DECISION:
        sis__text_paint(p, YELLOW,
                        c->status == SIS_STATUS_NOT_DECIDED ? "not decided" : "decided by default");
        sis__buf_str(p->out, "\n      ");
        sis__buf_safe(p->out, reason);
        sis__buf_printf(p->out, "\n      %s\n", advice);
        break;
    default:
        sis__text_paint(p, RED, "error");
        sis__buf_str(p->out, "\n      ");
        sis__buf_safe(p->out, c->message ? c->message : "the model failed");
        sis__buf_char(p->out, '\n');
    }
}

void sis_text_opt_init(sis_text_opt *opt) {
    *opt = (sis_text_opt){.width = 80};
}

int sis_record_text(const sis_record *r, const sis_text_opt *opt, char **text, size_t *n) {
    sis__buf out;
    sis__text page = {.out = &out, .r = r, .opt = opt, .width = opt->width < 24 ? 24 : opt->width};
    const sis__text *p = &page;
    sis__buf_init(&out);
    paint_word(p, BOLD, "example ", r->id);
    if (r->drawing.label) {
        sis__buf_str(p->out, " (labelled ");
        sis__buf_safe(p->out, r->drawing.label);
        sis__buf_char(p->out, ')');
    }
    print_decision(p);
    if (r->collection.status == SIS_STATUS_EXPLAINED)
        print_explained(p);
    else if (r->collection.status == SIS_STATUS_CUT)
        print_cut(p);
    else
        print_nothing(p);
    sis__buf_char(p->out, '\n');
    return sis__buf_give(&out, text, n);
}
