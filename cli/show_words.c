/* SPDX-License-Identifier: MIT
 *
 * Texts and DNA with what was chosen marked in place.
 *
 *     A [wonderful]1, [moving]1 film. I [loved]2 every minute.
 *
 *     TTGGCCACTAGGGGGCGCTATTAC
 *     ..111111.1111111.1......
 *
 * On a terminal the marks are colours, a hue for each subset, darker the more important; what a
 * person marked is underlined (_so_ where there are no colours).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "show.h"
#include "task.h"

enum { INDENT = 6 };

int *cli_places(const cli_page *p) {
    const sis_collection *c = &p->r->collection;
    int *places = calloc(3 * c->n_features + 1, sizeof *places);
    if (!places)
        return NULL;
    for (size_t i = 0; i < c->n_features; i++)
        places[i] = -1;
    for (size_t k = cli_shown_subsets(p); k-- > 0;)
        for (size_t i = 0; i < c->subsets[k].n; i++) {
            places[c->subsets[k].features[i]] = (int)k;
            places[c->n_features + (size_t)c->subsets[k].features[i]] = (int)i;
        }
    for (size_t i = 0; i < p->r->drawing.n_human; i++)
        places[2 * c->n_features + (size_t)p->r->drawing.human[i]] = 1;
    return places;
}

static int is_human(const cli_page *p, const int *places, size_t feature) {
    return places[2 * p->r->collection.n_features + feature];
}

/* Begin what marks a feature in colour. */
static void begin_mark(const cli_page *p, const int *places, size_t feature) {
    const sis_collection *c = &p->r->collection;
    int k = places[feature];
    if (!p->colour)
        return;
    if (k >= 0)
        fprintf(
            p->out, "\033[38;5;16;48;5;%dm",
            cli_subset_colour((size_t)k, (size_t)places[c->n_features + feature], c->subsets[k].n));
    if (is_human(p, places, feature))
        fputs("\033[4m", p->out);
}

static void end_mark(const cli_page *p, const int *places, size_t feature) {
    if (p->colour && (places[feature] >= 0 || is_human(p, places, feature)))
        fputs("\033[0m", p->out);
}

/* ---- Texts --------------------------------------------------------------------------------- */

/* Marks around a word where there is no colour: "[", "]1". */
static void plain_marks(const cli_page *p, const int *places, size_t i, char before[4],
                        char after[32]) {
    int human = !p->colour && is_human(p, places, i), chosen = !p->colour && places[i] >= 0;
    snprintf(before, 4, "%s%s", human ? "_" : "", chosen ? "[" : "");
    if (chosen)
        snprintf(after, 32, "]%d%s", places[i] + 1, human ? "_" : "");
    else
        snprintf(after, 32, "%s", human ? "_" : "");
}

/* As many characters of a word as fit. */
static void print_word(const cli_page *p, const char *word, size_t room) {
    if (!word[cli_fitting(word, room)]) {
        cli_print_safe(p->out, word);
        return;
    }
    char *part = strndup(word, cli_fitting(word, room > 3 ? room - 3 : 0));
    if (!part)
        return;
    cli_print_safe(p->out, part);
    fputs("...", p->out);
    free(part);
}

/* A run of the text without white space, in a feature or between two. */
typedef struct {
    const char *text;
    size_t n;
    size_t feature;  /* SIZE_MAX: none */
    int first, last; /* of its feature */
    int apart;       /* there is white space before it */
} part;

typedef struct {
    part *items;
    size_t n, room;
    int apart; /* white space since the last */
} parts;

/* Cut n bytes of the text, a feature or what lies before one, at white space. */
static int add_parts(parts *all, const char *text, size_t n, size_t feature) {
    size_t before = all->n;
    for (size_t at = 0, end; at < n; at = end) {
        size_t from = at;
        while (from < n && strchr(" \t\r\n", text[from]))
            from++;
        all->apart |= from > at;
        for (end = from; end < n && !strchr(" \t\r\n", text[end]);)
            end++;
        if (end == from)
            break;
        if (cli_grow(&all->items, &all->room, all->n, sizeof *all->items) != CLI_DONE)
            return 0;
        all->items[all->n] = (part){.text = text + from,
                                    .n = end - from,
                                    .feature = feature,
                                    .first = all->n == before,
                                    .apart = all->apart};
        all->n++;
        all->apart = 0;
    }
    if (all->n > before)
        all->items[all->n - 1].last = 1;
    return 1;
}

/* The bytes of the next n characters. */
static size_t bytes_of(const char *text, size_t n) {
    size_t at = 0;
    uint32_t c;
    while (n-- > 0 && text[at])
        at += sis__utf8_step(text + at, &c);
    return at;
}

/* The whole text as it was written, or the words with blanks between. */
static int cut_text(const sis_record *r, parts *all) {
    int whole = r->drawing.text && r->drawing.spans && r->drawing.n_spans == 2 * r->drawing.n_words,
        good = 1;
    const char *at = r->drawing.text;
    for (size_t i = 0, character = 0; good && i < r->drawing.n_words; i++) {
        all->apart |= !whole;
        if (!whole) {
            good = add_parts(all, r->drawing.words[i], strlen(r->drawing.words[i]), i);
            continue;
        }
        size_t gap = bytes_of(at, (size_t)r->drawing.spans[2 * i] - character);
        size_t n =
            bytes_of(at + gap, (size_t)(r->drawing.spans[2 * i + 1] - r->drawing.spans[2 * i]));
        good = add_parts(all, at, gap, SIZE_MAX) && add_parts(all, at + gap, n, i);
        at += gap + n;
        character = (size_t)r->drawing.spans[2 * i + 1];
    }
    return good && whole ? add_parts(all, at, strlen(at), SIZE_MAX) : good;
}

/* What is put around a part where there are no colours. */
static void part_marks(const cli_page *p, const int *places, const part *x, char before[4],
                       char after[32]) {
    before[0] = after[0] = '\0';
    if (x->feature == SIZE_MAX)
        return;
    plain_marks(p, places, x->feature, before, after);
    if (!x->first)
        before[0] = '\0';
    if (!x->last)
        after[0] = '\0';
}

static size_t part_columns(const cli_page *p, const int *places, const part *x) {
    char before[4], after[32], *text = strndup(x->text, x->n);
    part_marks(p, places, x, before, after);
    size_t n = strlen(before) + strlen(after) + (text ? cli_columns(text) : 0);
    free(text);
    return n;
}

static void print_part(const cli_page *p, const int *places, const part *x, size_t room) {
    char before[4], after[32], *text = strndup(x->text, x->n);
    if (!text)
        return;
    part_marks(p, places, x, before, after);
    size_t marks = strlen(before) + strlen(after);
    fputs(before, p->out);
    if (x->feature != SIZE_MAX)
        begin_mark(p, places, x->feature);
    print_word(p, text, room > marks ? room - marks : 0);
    if (x->feature != SIZE_MAX)
        end_mark(p, places, x->feature);
    fputs(after, p->out);
    free(text);
}

/* Columns from part i to the next white space. */
static size_t run_columns(const cli_page *p, const int *places, const parts *all, size_t i) {
    size_t n = part_columns(p, places, &all->items[i]);
    while (++i < all->n && !all->items[i].apart)
        n += part_columns(p, places, &all->items[i]);
    return n;
}

static void print_passage(const cli_page *p, const int *places) {
    size_t at = 0, most = p->width - INDENT;
    parts all = {0};
    int good = cut_text(p->r, &all);
    fprintf(p->out, "%*s", INDENT, "");
    for (size_t i = 0; good && i < all.n; i++) {
        const part *x = &all.items[i];
        size_t columns = part_columns(p, places, x);
        size_t run = x->apart ? run_columns(p, places, &all, i) : columns;
        columns = columns < most ? columns : most;
        int fits = at + (size_t)x->apart + (run < most ? run : columns) <= most;
        if (at && !fits) {
            fprintf(p->out, "\n%*s", INDENT, "");
            at = 0;
        }
        if (at && x->apart) {
            fputc(' ', p->out);
            at++;
        }
        print_part(p, places, x, most);
        at += columns;
    }
    fputc('\n', p->out);
    free(all.items);
}

/* The words of a subset, most important first. */
static void print_list(const cli_page *p, size_t k) {
    const sis_subset *s = &p->r->collection.subsets[k];
    const char *unit = sis_record_unit(p->r);
    size_t indent = INDENT + 4, at;
    char text[160];
    cli_show_subset_title(p, k);
    at = (size_t)snprintf(text, sizeof text, "      %zu   score %.4g   %zu of %zu %ss%s:", k + 1,
                          s->score, s->n, p->r->collection.n_features, unit, cli_short_of(p, k));
    fprintf(p->out, "   %zu of %zu %ss%s:", s->n, p->r->collection.n_features, unit,
            cli_short_of(p, k));
    for (size_t i = 0; i < s->n; i++) {
        const char *word = p->r->drawing.words[s->features[i]];
        size_t columns = cli_columns(word) + (i + 1 < s->n);
        if (at + 1 + columns > p->width) {
            fprintf(p->out, "\n%*s", (int)indent, "");
            at = indent;
        } else {
            fputc(' ', p->out);
            at++;
        }
        print_word(p, word, p->width - indent - 1);
        fputs(i + 1 < s->n ? "," : "", p->out);
        at += columns;
    }
    fputc('\n', p->out);
}

int cli_show_text(const cli_page *p) {
    const sis_record *r = p->r;
    if (!r->drawing.words || r->drawing.n_words != r->collection.n_features)
        return 0;
    int *places = cli_places(p);
    if (!places)
        return 0;
    print_passage(p, places);
    for (size_t k = 0; k < cli_shown_subsets(p); k++)
        print_list(p, k);
    free(places);
    return 1;
}

/* ---- DNA ----------------------------------------------------------------------------------- */

static char mark_of(const cli_page *p, const int *places, size_t i) {
    if (places[i] >= 0)
        return places[i] < 9 ? (char)('1' + places[i]) : '+';
    return is_human(p, places, i) ? '_' : '.';
}

static void print_bases(const cli_page *p, const int *places) {
    const char *s = p->r->drawing.sequence;
    size_t n = p->r->collection.n_features, most = (p->width - INDENT) / 10 * 10;
    for (size_t from = 0; from < n; from += most) {
        size_t to = from + most < n ? from + most : n;
        fprintf(p->out, "%*s", INDENT, "");
        for (size_t i = from; i < to; i++) {
            begin_mark(p, places, i);
            fputc(s[i], p->out);
            end_mark(p, places, i);
        }
        fputc('\n', p->out);
        if (!p->colour)
            fprintf(p->out, "%*s", INDENT, "");
        for (size_t i = from; i < to && !p->colour; i++)
            fputc(mark_of(p, places, i), p->out);
        if (!p->colour)
            fputc('\n', p->out);
    }
}

/* TGGCCACNAGG: from the first base of the subset to its last, N where it leaves gaps. */
static void print_motif(const cli_page *p, const int *places, size_t k) {
    const sis_subset *s = &p->r->collection.subsets[k];
    size_t from = SIZE_MAX, to = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t f = (size_t)s->features[i];
        from = f < from ? f : from;
        to = f > to ? f : to;
    }
    cli_show_subset_title(p, k);
    fprintf(p->out, "   %zu of %zu bases%s, %zu to %zu: ", s->n, p->r->collection.n_features,
            cli_short_of(p, k), from + 1, to + 1);
    for (size_t i = from; i <= to; i++)
        fputc(places[i] == (int)k ? p->r->drawing.sequence[i] : 'N', p->out);
    fputc('\n', p->out);
    if (p->motifs)
        cli_show_motif(p, k);
}

int cli_show_dna(const cli_page *p) {
    const sis_record *r = p->r;
    if (!r->drawing.sequence || strlen(r->drawing.sequence) != r->collection.n_features)
        return 0;
    int *places = cli_places(p);
    if (!places)
        return 0;
    print_bases(p, places);
    for (size_t k = 0; k < cli_shown_subsets(p); k++)
        print_motif(p, places, k);
    free(places);
    return 1;
}
