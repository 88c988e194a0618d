/* SPDX-License-Identifier: MIT
 *
 * Texts and DNA with the chosen features marked in place.
 *
 *     A [wonderful]1, [moving]1 film. I [loved]2 every minute.
 *
 *     TTGGCCACTAGGGGGCGCTATTAC
 *     ..111111.1111111.1......
 *
 * A text of more than a hundred words is shortened to the words around the chosen ones.
 *
 * On a terminal the marks are colours: one hue per subset, darker if more important. Human
 * annotations are underlined (_so_ without colours).
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>
#include <sis/record.h>

#include "base/columns.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"
#include "report/text.h"

enum { INDENT = 6 };

int *sis__text_places(const sis__text *p) {
    const sis_collection *c = &p->r->collection;
    int *places = SIS_NEW(int, 3 * c->n_features + 1);
    if (!places)
        return NULL;
    for (size_t i = 0; i < c->n_features; i++)
        places[i] = -1;
    for (size_t k = sis__text_subsets(p); k-- > 0;)
        for (size_t i = 0; i < c->subsets[k].n; i++) {
            places[c->subsets[k].features[i]] = (int)k;
            places[c->n_features + (size_t)c->subsets[k].features[i]] = (int)i;
        }
    for (size_t i = 0; i < p->r->drawing.n_human; i++)
        places[2 * c->n_features + (size_t)p->r->drawing.human[i]] = 1;
    return places;
}

static int is_human(const sis__text *p, const int *places, size_t feature) {
    return places[2 * p->r->collection.n_features + feature];
}

/* Begin the colour of a feature. */
static void begin_mark(const sis__text *p, const int *places, size_t feature) {
    const sis_collection *c = &p->r->collection;
    int k = places[feature];
    if (!p->opt->colour)
        return;
    if (k >= 0)
        sis__buf_printf(
            p->out, "\033[38;5;16;48;5;%dm",
            sis__text_colour((size_t)k, (size_t)places[c->n_features + feature], c->subsets[k].n));
    if (is_human(p, places, feature))
        sis__buf_str(p->out, "\033[4m");
}

static void end_mark(const sis__text *p, const int *places, size_t feature) {
    if (p->opt->colour && (places[feature] >= 0 || is_human(p, places, feature)))
        sis__buf_str(p->out, "\033[0m");
}

/* ---- Texts --------------------------------------------------------------------------------- */

/* Marks around a word without colours: "[", "]1". */
static void plain_marks(const sis__text *p, const int *places, size_t i, char before[4],
                        char after[32]) {
    int human = !p->opt->colour && is_human(p, places, i),
        chosen = !p->opt->colour && places[i] >= 0;
    sis__format(before, 4, "%s%s", human ? "_" : "", chosen ? "[" : "");
    if (chosen)
        sis__format(after, 32, "]%d%s", places[i] + 1, human ? "_" : "");
    else
        sis__format(after, 32, "%s", human ? "_" : "");
}

/* Print as many characters of a word as fit. */
static void print_word(const sis__text *p, const char *word, size_t room) {
    if (!word[sis__columns_fitting(word, room)]) {
        sis__buf_safe(p->out, word);
        return;
    }
    char *part = strndup(word, sis__columns_fitting(word, room > 3 ? room - 3 : 0));
    if (!part)
        return;
    sis__buf_safe(p->out, part);
    sis__buf_str(p->out, "...");
    free(part);
}

/* The feature of text that is never masked: the rest of a prompt. */
static const size_t FIXED = SIZE_MAX - 1;

/* A piece of text without white space, in a feature or between two. */
typedef struct {
    const char *text;
    size_t n;
    size_t feature;  /* SIZE_MAX: none; FIXED */
    int first, last; /* is it the first, the last piece of its feature? */
    int apart;       /* follows white space */
    int lines;       /* line ends before it, in prompts; else 0 */
} part;

typedef struct {
    part *items;
    size_t n, room;
    int apart;       /* white space since the last piece */
    int keeps_lines; /* line ends of the text are kept */
    int lines;       /* line ends since the last piece */
} parts;

/* Split n bytes of the text, a feature or the text before one, at white space. */
static int add_parts(parts *all, const char *text, size_t n, size_t feature) {
    size_t before = all->n;
    for (size_t at = 0, end; at < n; at = end) {
        size_t from = at;
        for (; from < n && strchr(" \t\r\n", text[from]); from++)
            all->lines += all->keeps_lines && text[from] == '\n';
        all->apart |= from > at;
        for (end = from; end < n && !strchr(" \t\r\n", text[end]);)
            end++;
        if (end == from)
            break;
        if (sis__reserve(&all->items, &all->room, all->n + 1, sizeof *all->items) != SIS_OK)
            return 0;
        all->items[all->n] = (part){.text = text + from,
                                    .n = end - from,
                                    .feature = feature,
                                    .first = all->n == before,
                                    .apart = all->apart,
                                    .lines = all->lines};
        all->n++;
        all->apart = all->lines = 0;
    }
    if (all->n > before)
        all->items[all->n - 1].last = 1;
    return 1;
}

/* The length in bytes of the next n characters. */
static size_t bytes_of(const char *text, size_t n) {
    size_t at = 0;
    uint32_t c;
    while (n-- > 0 && text[at])
        at += sis__utf8_step(text + at, &c);
    return at;
}

/* Shorten a long fixed part of a prompt: keep its end, which is next to the text, or its
 * beginning. */
static int add_fixed(parts *all, const char *text, int tail) {
    enum { MAX = 400 };
    size_t n = text ? strlen(text) : 0, cut = n > MAX ? n - MAX : 0;
    for (; cut && cut < n && ((unsigned char)text[tail ? cut : n - cut] & 0xC0) == 0x80;)
        cut++;
    if (cut && tail && !add_parts(all, "...", 3, FIXED))
        return 0;
    if (n && !add_parts(all, text + (tail ? cut : 0), n - cut, FIXED))
        return 0;
    return !cut || tail || add_parts(all, "...", 3, FIXED);
}

/* Split the whole original text, or the words separated by blanks. */
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

/* Replace every run of parts outside the excerpt by one part "...". Text in no feature belongs to
 * the word before it. */
static void leave_out(const unsigned char *keep, parts *all) {
    size_t n = 0, word = 0;
    int cut = 0;
    for (size_t i = 0; i < all->n; i++) {
        part x = all->items[i];
        word = x.feature != SIZE_MAX ? x.feature : word;
        if (!keep[word]) {
            if (!cut)
                all->items[n++] = (part){.text = "...", .n = 3, .feature = SIZE_MAX, .apart = 1};
            cut = 1;
            continue;
        }
        x.apart |= cut;
        cut = 0;
        all->items[n++] = x;
    }
    all->n = n;
}

/* A prompt: the text and the fixed parts around it. */
static int cut_all(const sis_record *r, parts *all) {
    if (!r->prompted)
        return cut_text(r, all);
    all->keeps_lines = 1;
    return add_fixed(all, r->prompted->before, 1) && cut_text(r, all) &&
           add_fixed(all, r->prompted->after, 0);
}

/* Print the marks around a part if there are no colours. */
static void part_marks(const sis__text *p, const int *places, const part *x, char before[4],
                       char after[32]) {
    before[0] = after[0] = '\0';
    if (x->feature >= FIXED)
        return;
    plain_marks(p, places, x->feature, before, after);
    if (!x->first)
        before[0] = '\0';
    if (!x->last)
        after[0] = '\0';
}

static size_t part_columns(const sis__text *p, const int *places, const part *x) {
    char before[4], after[32], *text = strndup(x->text, x->n);
    part_marks(p, places, x, before, after);
    size_t n = strlen(before) + strlen(after) + (text ? sis__columns(text) : 0);
    free(text);
    return n;
}

static void print_part(const sis__text *p, const int *places, const part *x, size_t room) {
    char before[4], after[32], *text = strndup(x->text, x->n);
    if (!text)
        return;
    part_marks(p, places, x, before, after);
    size_t marks = strlen(before) + strlen(after);
    sis__buf_str(p->out, before);
    if (x->feature < FIXED)
        begin_mark(p, places, x->feature);
    else if (x->feature == FIXED && p->opt->colour)
        sis__buf_str(p->out, "\033[2m");
    print_word(p, text, room > marks ? room - marks : 0);
    if (x->feature < FIXED)
        end_mark(p, places, x->feature);
    else if (x->feature == FIXED && p->opt->colour)
        sis__buf_str(p->out, "\033[0m");
    sis__buf_str(p->out, after);
    free(text);
}

/* The width in columns from part i to the next white space. */
static size_t run_columns(const sis__text *p, const int *places, const parts *all, size_t i) {
    size_t n = part_columns(p, places, &all->items[i]);
    while (++i < all->n && !all->items[i].apart)
        n += part_columns(p, places, &all->items[i]);
    return n;
}

static void print_passage(const sis__text *p, const int *places) {
    size_t at = 0, max = p->width - INDENT;
    parts all = {0};
    int good = cut_all(p->r, &all);
    unsigned char *keep = p->opt->whole || p->r->prompted ? NULL : sis__excerpt(p->r);
    if (keep)
        leave_out(keep, &all);
    free(keep);
    sis__buf_printf(p->out, "%*s", INDENT, "");
    for (size_t i = 0; good && i < all.n; i++) {
        const part *x = &all.items[i];
        size_t columns = part_columns(p, places, x);
        size_t run = x->apart ? run_columns(p, places, &all, i) : columns;
        columns = columns < max ? columns : max;
        int fits = !x->lines && at + (size_t)x->apart + (run < max ? run : columns) <= max;
        if (at && !fits) {
            sis__buf_printf(p->out, "%s\n%*s", x->lines > 1 ? "\n" : "", INDENT, "");
            at = 0;
        }
        if (at && x->apart) {
            sis__buf_char(p->out, ' ');
            at++;
        }
        print_part(p, places, x, max);
        at += columns;
    }
    sis__buf_char(p->out, '\n');
    free(all.items);
}

/* Print a passage by its title, which is its first line. */
static void print_item(const sis__text *p, const char *word, size_t room) {
    char *line = strndup(word, strcspn(word, "\n"));
    if (line)
        print_word(p, line, room);
    free(line);
}

/* Print the words of a subset, most important first. */
static void print_list(const sis__text *p, size_t k) {
    const sis_subset *s = &p->r->collection.subsets[k];
    const char *unit = sis_record_unit(p->r);
    size_t indent = INDENT + 4, at;
    char text[160];
    sis__text_subset_title(p, k);
    at = (size_t)sis__format(text, sizeof text, "      %zu   score %.4g   %zu of %zu %ss%s:", k + 1,
                             s->score, s->n, p->r->collection.n_features, unit,
                             sis__text_short_of(p, k));
    int without = p->r->prompted && !sis_record_is_contrast(p->r) && !isnan(s->without);
    if (without)
        at += (size_t)sis__format(text, sizeof text, ", without it %.4g", s->without);
    sis__buf_printf(p->out, "%s   %zu of %zu %ss%s:", without ? text : "", s->n,
                    p->r->collection.n_features, unit, sis__text_short_of(p, k));
    for (size_t i = 0; i < s->n; i++) {
        const char *word = p->r->drawing.words[s->features[i]];
        size_t columns = strcspn(word, "\n");
        columns = (word[columns] ? columns : sis__columns(word)) + (i + 1 < s->n);
        if (at + 1 + columns > p->width) {
            sis__buf_printf(p->out, "\n%*s", (int)indent, "");
            at = indent;
        } else {
            sis__buf_char(p->out, ' ');
            at++;
        }
        print_item(p, word, p->width - indent - 1);
        sis__buf_str(p->out, i + 1 < s->n ? "," : "");
        at += columns;
    }
    sis__buf_char(p->out, '\n');
}

int sis__text_words(const sis__text *p) {
    const sis_record *r = p->r;
    if (!r->drawing.words || r->drawing.n_words != r->collection.n_features)
        return 0;
    int *places = sis__text_places(p);
    if (!places)
        return 0;
    print_passage(p, places);
    for (size_t k = 0; k < sis__text_subsets(p); k++)
        print_list(p, k);
    free(places);
    return 1;
}

/* ---- DNA ----------------------------------------------------------------------------------- */

static char mark_of(const sis__text *p, const int *places, size_t i) {
    if (places[i] >= 0)
        return places[i] < 9 ? (char)('1' + places[i]) : '+';
    return is_human(p, places, i) ? '_' : '.';
}

static void print_bases(const sis__text *p, const int *places) {
    const char *s = p->r->drawing.sequence;
    size_t n = p->r->collection.n_features, max = (p->width - INDENT) / 10 * 10;
    for (size_t from = 0; from < n; from += max) {
        size_t to = from + max < n ? from + max : n;
        sis__buf_printf(p->out, "%*s", INDENT, "");
        for (size_t i = from; i < to; i++) {
            begin_mark(p, places, i);
            sis__buf_char(p->out, s[i]);
            end_mark(p, places, i);
        }
        sis__buf_char(p->out, '\n');
        if (!p->opt->colour)
            sis__buf_printf(p->out, "%*s", INDENT, "");
        for (size_t i = from; i < to && !p->opt->colour; i++)
            sis__buf_char(p->out, mark_of(p, places, i));
        if (!p->opt->colour)
            sis__buf_char(p->out, '\n');
    }
}

/* Print the best matching known motif of a subset: its letters form a matrix of one sequence,
 * searched like the matrix of a cluster. */
static void print_known(const sis__text *p, size_t k) {
    sis_motif matrix;
    double *numbers = NULL;
    char *letters = NULL;
    sis_motif_match *matches = NULL;
    size_t n;
    if (sis_subset_letters(p->r, k, &letters, &n) != SIS_OK)
        return;
    const char *strings[] = {letters};
    if (sis_motif_learn(strings, 1, "subset", NULL, &matrix, &numbers) == SIS_OK &&
        sis_motif_test(&matrix, p->opt->motifs, 1, &matches) > 0) {
        const sis_motif *motif = &p->opt->motifs->items[matches[0].motif];
        sis__buf_printf(p->out, "%*smost like ", INDENT + 4, "");
        sis__buf_safe(p->out, motif->name);
        if (strcmp(motif->name, motif->id) != 0) {
            sis__buf_str(p->out, " (");
            sis__buf_safe(p->out, motif->id);
            sis__buf_char(p->out, ')');
        }
        sis__buf_printf(p->out, "   divergence %.2f   p %.2g%s\n", matches[0].divergence,
                        matches[0].p, matches[0].reverse ? ", other strand" : "");
    }
    free(matches);
    free(numbers);
    free(letters);
}

/* TGGCCACNAGG: from the first base of the subset to the last, with N in gaps. */
static void print_motif(const sis__text *p, const int *places, size_t k) {
    const sis_subset *s = &p->r->collection.subsets[k];
    size_t from = SIZE_MAX, to = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t f = (size_t)s->features[i];
        from = f < from ? f : from;
        to = f > to ? f : to;
    }
    sis__text_subset_title(p, k);
    sis__buf_printf(p->out, "   %zu of %zu bases%s, %zu to %zu: ", s->n,
                    p->r->collection.n_features, sis__text_short_of(p, k), from + 1, to + 1);
    for (size_t i = from; i <= to; i++)
        sis__buf_char(p->out, places[i] == (int)k ? p->r->drawing.sequence[i] : 'N');
    sis__buf_char(p->out, '\n');
    if (p->opt->motifs)
        print_known(p, k);
}

int sis__text_dna(const sis__text *p) {
    const sis_record *r = p->r;
    if (!r->drawing.sequence || strlen(r->drawing.sequence) != r->collection.n_features)
        return 0;
    int *places = sis__text_places(p);
    if (!places)
        return 0;
    print_bases(p, places);
    for (size_t k = 0; k < sis__text_subsets(p); k++)
        print_motif(p, places, k);
    free(places);
    return 1;
}
