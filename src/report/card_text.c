/* SPDX-License-Identifier: MIT
 *
 * Cards of texts and sequences: the whole input with the features of each subset in the subset's
 * colour, stronger if more important. Below it each subset: words by rank, bases as a pattern.
 *
 * A long text is shortened to the words around the subsets; a click opens the whole text.
 *
 * Every word and base is an element, so that the script can mark features for another threshold.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/utf8.h"
#include "report/page.h"
#include "report/text.h"

enum { BLOCK = 10, WORD_MAX = 60, SENTENCE_MAX = 2000, LISTED_MAX = 40, PATTERN_MAX = 400 };

/* ---- Human annotations ----------------------------------------------------------------------- */

/* The features that a person marked, sorted. */
static int sort_human(const sis_record *r, int **out) {
    *out =
        (int *)sis__copy(r->drawing.human, r->drawing.human ? r->drawing.n_human : 0, sizeof **out);
    if (!*out)
        return SIS_E_NOMEM;
    qsort(*out, r->drawing.human ? r->drawing.n_human : 0, sizeof **out, sis__by_int);
    return SIS_OK;
}

static int is_human(const sis_record *r, const int *human, int feature) {
    return r->drawing.human &&
           bsearch(&feature, human, r->drawing.n_human, sizeof *human, sis__by_int) != NULL;
}

/* Lookup tables for marking features; release them even if marks_make() fails. */
typedef struct {
    sis__choices choices;
    int *human;
} marks;

static int marks_make(const sis_record *r, marks *m) {
    *m = (marks){0};
    int code = sis__choices_make(&r->collection, 0, r->collection.n_subsets, &m->choices);
    return code == SIS_OK ? sort_human(r, &m->human) : code;
}

static void marks_release(marks *m) {
    free(m->choices.items);
    free(m->human);
}

/* The class of a passage, which is a block. Its first line is the title if more lines follow. */
static const char *passage_class(const sis_record *r, const char *text) {
    if (!r->prompted || !r->drawing.unit || strcmp(r->drawing.unit, "passage") != 0)
        return "";
    return strchr(text, '\n') ? "passage titled" : "passage";
}

/* Add <i>text</i>, or <mark> if the feature was chosen. */
static void add_marked(sis__buf *b, const sis_record *r, const marks *m, int feature,
                       const char *text) {
    const sis__choice *choice = sis__choices_find(&m->choices, feature);
    const char *tag = choice ? "mark" : "i";
    sis__buf_printf(b, "<%s", tag);
    sis__choice_class(b, choice, is_human(r, m->human, feature), passage_class(r, text));
    if (choice)
        sis__buf_printf(b, " data-k=\"%zu\" title=\"subset %zu, rank %zu of %zu\"",
                        choice->subset + 1, choice->subset + 1, choice->rank + 1, choice->of);
    sis__buf_char(b, '>');
    sis__html_clip(b, text, r->drawing.unit ? SENTENCE_MAX : WORD_MAX);
    sis__buf_printf(b, "</%s>", tag);
}

/* Add a feature coloured by its attribution. */
static void add_attributed(sis__buf *b, double v, double max, const char *text) {
    sis__buf_str(b, "<i");
    sis__attribution_style(b, v, max);
    sis__html(b, " title=\"%.3g\">%.2000s</i>", v, text);
}

static void add_attributions(sis__buf *b, const sis_record *r) {
    double max = sis__attribution_max(r);
    if (max <= 0)
        return;
    sis__html(b,
              "<details class=\"attributions\"%s><summary>What <bdi>%.40s</bdi> attributes to "
              "each</summary><p class=\"%s\">",
              r->collection.n_subsets ? "" : " open", r->question.method,
              r->drawing.sequence ? "dna" : "text");
    for (size_t i = 0; i < r->n_attributions; i++) {
        char base[2] = {r->drawing.sequence ? r->drawing.sequence[i] : 0, 0};
        if (i)
            sis__buf_str(b, r->drawing.sequence ? "" : " ");
        add_attributed(b, r->attributions[i], max,
                       r->drawing.sequence ? base : r->drawing.words[i]);
    }
    sis__buf_str(b, "</p></details>\n");
}

static const char *many(const sis_record *r) {
    return r->collection.n_subsets > 1 ? " many" : "";
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Add a feature of a subset to its list; a passage is listed by its title. */
static void add_item(sis__buf *b, const sis_record *r, const char *text) {
    char *line = strndup(text, r->prompted ? strcspn(text, "\n") : strlen(text));
    if (line)
        sis__html_clip(b, line, r->drawing.unit ? SENTENCE_MAX : WORD_MAX);
    else
        b->error = SIS_E_NOMEM;
    free(line);
}

static void add_ranked_words(sis__buf *b, const sis__report_example *e, size_t k) {
    const sis_subset *s = &e->record.collection.subsets[k];
    sis__buf_printf(b, "<li><span class=\"key s%zu r0\">%zu</span> <span class=\"words\">",
                    k % SIS__SUBSET_COLOURS, k + 1);
    for (size_t i = 0; i < s->n && i < LISTED_MAX; i++) {
        sis__buf_str(b, i ? " <bdi>" : "<bdi>");
        add_item(b, &e->record, e->record.drawing.words[s->features[i]]);
        sis__buf_str(b, "</bdi>");
    }
    if (s->n > LISTED_MAX)
        sis__buf_printf(b, " <span class=\"soft\">and %zu more</span>", s->n - LISTED_MAX);
    sis__buf_str(b, "</span> <span class=\"soft\">");
    sis__subset_caption(b, e, k);
    sis__buf_str(b, "</span></li>\n");
}

/* Skip n characters. */
static const char *skip(const char *at, size_t n) {
    uint32_t c;
    while (n-- > 0 && *at)
        at += sis__utf8_step(at, &c);
    return at;
}

/* Add the text between two features, from `at` to `end`. */
static void add_gap(sis__buf *b, const char *at, const char *end) {
    sis__buf gap;
    sis__buf_init(&gap);
    sis__buf_add(&gap, at, (size_t)(end - at));
    if (sis__buf_error(&gap) == SIS_OK && gap.len)
        sis__html_text(b, gap.data);
    else if (sis__buf_error(&gap) != SIS_OK)
        b->error = SIS_E_NOMEM;
    sis__buf_release(&gap);
}

/* Add the parts of a prompt that are never masked. */
static void add_fixed(sis__buf *b, const char *text) {
    if (text && *text)
        sis__html(b, "<span class=\"fixed\">%s</span>", text);
}

/* Add a text with its features marked: the original text, or the words separated by blanks. keep
 * (n_words): show only these words, with an ellipsis for the others; NULL: all. */
static void add_words(sis__buf *b, const sis_record *r, const marks *m, const unsigned char *keep) {
    const int *spans = r->drawing.spans;
    size_t n = r->drawing.n_words, character = 0;
    int whole = r->drawing.text && spans && r->drawing.n_spans == 2 * n;
    const char *at = whole ? r->drawing.text : "";
    sis__buf_printf(b, "<p class=\"text%s%s%s\" dir=\"auto\">", keep ? " excerpt" : "", many(r),
                    r->prompted ? " prompt" : "");
    add_fixed(b, r->prompted ? r->prompted->before : NULL);
    for (size_t i = 0; i < n; i++) {
        int shown = !keep || keep[i], follows = !keep || i == 0 || keep[i - 1];
        const char *word = whole ? skip(at, (size_t)spans[2 * i] - character) : at;
        if (shown && follows && whole)
            add_gap(b, at, word);
        else if (i && (shown || follows))
            sis__buf_char(b, ' ');
        if (shown)
            add_marked(b, r, m, (int)i, r->drawing.words[i]);
        else if (follows)
            sis__buf_str(b, "<span class=\"soft\">\xE2\x80\xA6</span>");
        if (whole) {
            at = skip(word, (size_t)(spans[2 * i + 1] - spans[2 * i]));
            character = (size_t)spans[2 * i + 1];
        }
    }
    if (!keep || keep[n - 1])
        add_gap(b, at, at + strlen(at));
    add_fixed(b, r->prompted ? r->prompted->after : NULL);
    sis__buf_str(b, "</p>\n");
}

static void add_answer(sis__buf *b, const sis_prompted *p) {
    size_t tokens = p->prompt_tokens + p->completion_tokens;
    sis__html(
        b,
        "<p class=\"answer\" dir=\"auto\">%s</p>\n<p class=\"soft cost\">%'zu request%s, %'zu "
        "token%s",
        p->answer + strspn(p->answer, " "), p->requests, sis__plural(p->requests), tokens,
        sis__plural(tokens));
    if (p->noise > 0)
        sis__html(b, "; scores of one question differed by up to %.2g", p->noise);
    sis__html(b, "%s</p>\n", p->bounded ? "; some scores are upper bounds" : "");
}

int sis__card_text(sis__buf *b, const sis__report_example *e) {
    const sis_record *r = &e->record;
    marks m;
    int code = marks_make(r, &m);
    unsigned char *keep = code == SIS_OK && !r->prompted ? sis__excerpt(r) : NULL;
    if (keep) {
        add_words(b, r, &m, keep);
        sis__html(b, "<details><summary>The whole text, %'zu words</summary>\n",
                  r->drawing.n_words);
    }
    if (code == SIS_OK)
        add_words(b, r, &m, NULL);
    sis__buf_str(b, keep ? "</details>\n" : "");
    free(keep);
    if (r->prompted)
        add_answer(b, r->prompted);
    if (r->collection.n_subsets)
        sis__buf_str(b, "<ol class=\"subsets\">\n");
    for (size_t k = 0; k < r->collection.n_subsets; k++)
        add_ranked_words(b, e, k);
    if (r->collection.n_subsets)
        sis__buf_str(b, "</ol>\n");
    add_attributions(b, r);
    marks_release(&m);
    return code;
}

/* ---- Sequences ------------------------------------------------------------------------------- */

static void find_span(const sis_subset *s, int *first, int *last) {
    *first = *last = s->features[0];
    for (size_t i = 1; i < s->n; i++) {
        *first = s->features[i] < *first ? s->features[i] : *first;
        *last = s->features[i] > *last ? s->features[i] : *last;
    }
}

int sis__thumb_dna(sis__buf *b, const sis__report_example *e, size_t k) {
    const sis_subset *s = &e->record.collection.subsets[k];
    sis__choices choices;
    int first, last, end;
    find_span(s, &first, &last);
    end = last - first >= PATTERN_MAX ? first + PATTERN_MAX - 1 : last;
    if (sis__choices_make(&e->record.collection, k, 1, &choices) != SIS_OK)
        return SIS_E_NOMEM;
    sis__buf_str(b, "<code class=\"pattern\">");
    for (int f = first; f <= end; f++) {
        char base[2] = {e->record.drawing.sequence[f], '\0'};
        if (sis__choices_find(&choices, f))
            sis__html_text(b, base);
        else
            sis__buf_str(b, "<i>N</i>");
    }
    sis__buf_printf(b, "%s</code>", end < last ? "\xE2\x80\xA6" : "");
    free(choices.items);
    return SIS_OK;
}

static int add_pattern(sis__buf *b, const sis__report_example *e, size_t k) {
    int first, last;
    find_span(&e->record.collection.subsets[k], &first, &last);
    sis__buf_printf(b, "<li><span class=\"key s%zu r0\">%zu</span> <span class=\"scroll\">",
                    k % SIS__SUBSET_COLOURS, k + 1);
    int code = sis__thumb_dna(b, e, k);
    sis__buf_printf(b, "</span> <span class=\"soft\">positions %d\xE2\x80\x93%d \xC2\xB7 ",
                    first + 1, last + 1);
    sis__subset_caption(b, e, k);
    sis__buf_str(b, "</span></li>\n");
    return code;
}

int sis__card_dna(sis__buf *b, const sis__report_example *e) {
    const sis_record *r = &e->record;
    size_t n = strlen(r->drawing.sequence);
    marks m;
    int code = marks_make(r, &m);
    sis__buf_printf(b, "<p class=\"dna%s\">", many(r));
    for (size_t i = 0; code == SIS_OK && i < n; i++) {
        char base[2] = {r->drawing.sequence[i], '\0'};
        if (i % BLOCK == 0 &&
            (i == 0 || n - i >= BLOCK / 2)) /* a short rest joins the last block */
            sis__buf_printf(b, "%s<span data-n=\"%zu\">", i ? "</span> " : "", i + 1);
        add_marked(b, r, &m, (int)i, base);
    }
    sis__buf_str(b, n && code == SIS_OK ? "</span></p>\n" : "</p>\n");
    if (r->collection.n_subsets)
        sis__buf_str(b, "<ol class=\"subsets\">\n");
    for (size_t k = 0; code == SIS_OK && k < r->collection.n_subsets; k++)
        code = add_pattern(b, e, k);
    if (r->collection.n_subsets)
        sis__buf_str(b, "</ol>\n");
    add_attributions(b, r);
    marks_release(&m);
    return code;
}
