/* SPDX-License-Identifier: MIT
 *
 * Texts and sequences with the features of each subset in the subset's colour, stronger if more
 * important; human annotations are underlined. A word is centred in its estimated width, so that
 * the coloured box fits any font. Bases have cells of equal width.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "report/figures.h"
#include "report/html.h"
#include "report/page.h"

enum { PASSAGES_MAX = 6, WORDS_MAX = 250, WORD_BYTES = 40 };
static const double WIDTH = 640, EDGE = 12, SIZE = 12, LINE = 20, HEAD = 24, CELL = 9.6;

static int is_passage(const sis__report_example *e) {
    return e->look == SIS__TEXT || e->look == SIS__DNA;
}

/* ---- Choosing examples ----------------------------------------------------------------------- */

static int is_taken(const sis__drawing *d, const sis__report_example *e) {
    for (size_t i = 0; i < d->n_shown; i++)
        if (d->shown[i] == e)
            return 1;
    return 0;
}

static int is_shown(const sis__report_example *e, int (*wanted)(const sis__report_example *)) {
    return e->record.collection.n_subsets > 0 && wanted(e);
}

void sis__drawing_choose(sis__drawing *d, const sis_report *report, size_t max,
                         int (*wanted)(const sis__report_example *)) {
    if (!(d->shown = (const sis__report_example **)sis__alloc(max, sizeof *d->shown))) {
        d->error = SIS_E_NOMEM;
        return;
    }
    for (size_t i = 0; i < report->n && d->n_shown < max; i++) {
        const sis__report_example *e = &report->examples[i];
        if (!is_shown(e, wanted) || is_taken(d, e))
            continue;
        d->shown[d->n_shown++] = e;
        for (size_t j = i + 1; j < report->n && d->n_shown < max; j++) {
            const sis__report_example *other = &report->examples[j];
            if (other->run != e->run && strcmp(other->record.id, e->record.id) == 0 &&
                is_shown(other, wanted))
                d->shown[d->n_shown++] = other;
        }
    }
}

void sis__drawing_caption_first(sis__drawing *d, size_t n) {
    if (n == 1)
        sis__buf_str(&d->caption, "One explained example");
    else
        sis__buf_printf(&d->caption, "The first %zu explained examples", n);
    sis__buf_str(&d->caption, ", by name and decision.");
}

void sis__example_title(const sis_report *report, const sis__report_example *e, char *text,
                        size_t size) {
    char output[SIS__NAME_SIZE / 2];
    int length;
    const char *name = sis__file_name(report->runs[e->run].source, &length);
    int n = report->n_runs > 1 ? snprintf(text, size, "%.*s ", length < 16 ? length : 16, name) : 0;
    n += snprintf(text + n, size - (size_t)n, "%.20s", e->record.id);
    output[0] = '\0';
    if (!sis__output_is_plain(&e->record)) {
        sis__output_name(&e->record, output, sizeof output);
        n += snprintf(text + n, size - (size_t)n, ": %s%.20s",
                      e->record.question.below ? "not " : "", output);
    }
    if (e->record.drawing.label && strcmp(e->record.drawing.label, output) != 0 &&
        !e->record.question.below)
        snprintf(text + n, size - (size_t)n, " (%.12s)", e->record.drawing.label);
}

/* ---- One passage ----------------------------------------------------------------------------- */

/* The position of the next word; the pen is NULL to measure only. */
typedef struct {
    sis__pen *pen;
    const sis__report_example *e;
    sis__choices choices;
    double x, y;
} writer;

static int is_human(const sis_record *r, size_t feature) {
    for (size_t i = 0; r->drawing.human && i < r->drawing.n_human; i++)
        if ((size_t)r->drawing.human[i] == feature)
            return 1;
    return 0;
}

/* Write a word or a base in a box of that width. */
static void write_piece(writer *w, size_t feature, const char *text, double width, double gap) {
    if (w->x + width > WIDTH - EDGE && w->x > EDGE) {
        w->x = EDGE;
        w->y += LINE;
    }
    if (w->pen) {
        const sis__choice *c = sis__choices_find(&w->choices, (int)feature);
        if (c)
            sis__pen_rect(w->pen, w->x, w->y - SIZE, width, SIZE + 4,
                          (sis__ink){.colour = sis__series_colour(c->subset % SIS__COLOURS),
                                     .opacity = 0.65 - 0.45 * (double)c->rank / (double)c->of});
        sis__pen_text(w->pen, w->x + width / 2, w->y, text,
                      (sis__letters){SIZE, SIS__MIDDLE, c ? SIS__INK : SIS__SOFT, 0, 0});
        if (is_human(&w->e->record, feature))
            sis__pen_line(w->pen, w->x, w->y + 5, w->x + width, w->y + 5,
                          (sis__ink){.colour = SIS__INK});
    }
    w->x += width + gap;
}

/* The width in the widest common font. */
static double word_width(const char *word) {
    double width = sis__text_width(word, SIZE) + 4;
    for (; *word; word++)
        width += strchr("mwMW", *word)          ? 0.36 * SIZE
                 : *word >= 'A' && *word <= 'Z' ? 0.12 * SIZE
                                                : 0;
    return width;
}

static void write_words(writer *w) {
    const sis_record *r = &w->e->record;
    char word[WORD_BYTES];
    for (size_t i = 0; i < r->drawing.n_words && i < WORDS_MAX; i++) {
        size_t n = strlen(r->drawing.words[i]), kept = n < sizeof word ? n : sizeof word - 1;
        while (kept < n && kept > 0 && ((unsigned char)r->drawing.words[i][kept] & 0xC0) == 0x80)
            kept--;
        snprintf(word, sizeof word, "%.*s", (int)kept, r->drawing.words[i]);
        write_piece(w, i, word, word_width(word), 3);
    }
    if (r->drawing.n_words > WORDS_MAX)
        write_piece(w, SIZE_MAX >> 1, "\xE2\x80\xA6", SIZE, 0);
}

static void write_bases(writer *w) {
    const char *s = w->e->record.drawing.sequence;
    for (size_t i = 0; s[i] && i < 4 * WORDS_MAX; i++) {
        char base[2] = {s[i], '\0'};
        write_piece(w, i, base, CELL, 0);
    }
}

/* Write title and input, with a gap below; advances w->y. */
static int write_example(writer *w, const char *title) {
    const sis_collection *c = &w->e->record.collection;
    char line[160];
    int code = sis__choices_make(c, 0, c->n_subsets, &w->choices);
    if (code != SIS_OK)
        return code;
    sis__format(line, sizeof line, "%.64s (score %.3g), %zu subset%s", title, c->score,
                c->n_subsets, sis__plural(c->n_subsets));
    if (w->pen)
        sis__pen_text(w->pen, EDGE, w->y, line, (sis__letters){SIZE, SIS__START, SIS__INK, 1, 0});
    w->y += LINE;
    w->x = EDGE;
    if (w->e->look == SIS__DNA)
        write_bases(w);
    else
        write_words(w);
    w->y += LINE + 8;
    free(w->choices.items);
    return SIS_OK;
}

static int write_all(sis__pen *pen, const sis__drawing *d, double *height) {
    writer w = {.pen = pen, .y = HEAD};
    int code = SIS_OK;
    for (size_t i = 0; code == SIS_OK && i < d->n_shown; i++) {
        w.e = d->shown[i];
        code = write_example(&w, d->names[i]);
    }
    *height = w.y;
    return code;
}

static int draw_passages(sis__pen *p, const sis__drawing *d) {
    double height;
    return write_all(p, d, &height);
}

int sis__make_passages(const sis_report *report, size_t k, sis__drawing *d) {
    (void)k;
    sis__drawing_choose(d, report, PASSAGES_MAX, is_passage);
    d->names = sis__alloc(d->n_shown, sizeof *d->names);
    d->error = d->error || d->names ? d->error : SIS_E_NOMEM;
    if (d->error || d->n_shown == 0)
        return 0;
    for (size_t i = 0; i < d->n_shown; i++)
        sis__example_title(report, d->shown[i], d->names[i], SIS__NAME_SIZE);
    d->width = WIDTH;
    d->draw = draw_passages;
    sis__drawing_caption_first(d, d->n_shown);
    sis__buf_str(
        &d->caption,
        " Each subset has a colour; stronger means more important. Words that a person marked "
        "are underlined.");
    d->error = write_all(NULL, d, &d->height);
    return 1;
}
