/* SPDX-License-Identifier: MIT
 *
 * Texts and DNA with what was chosen marked in place.
 *
 *     A [wonderful]1 [moving]1 film. I [loved]2 every minute.
 *
 *     TTGGCCACTAGGGGGCGCTATTAC
 *     ..111111.1111111.1......
 *
 * On a terminal the marks are colours, a hue for each subset, darker the more important; what a
 * person marked is underlined (_so_ where there are no colours).
 */
#include <stdlib.h>
#include <string.h>

#include "show.h"

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
    for (size_t i = 0; i < p->r->n_human; i++)
        places[2 * c->n_features + (size_t)p->r->human[i]] = 1;
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

static void print_passage(const cli_page *p, const int *places) {
    const sis_record *r = p->r;
    size_t at = 0, most = p->width - INDENT;
    fprintf(p->out, "%*s", INDENT, "");
    for (size_t i = 0; i < r->n_words; i++) {
        char before[4], after[32];
        plain_marks(p, places, i, before, after);
        size_t marks = strlen(before) + strlen(after), room = most - marks;
        size_t columns = cli_columns(r->words[i]);
        columns = (columns < room ? columns : room) + marks;
        if (at && at + 1 + columns > most) {
            fprintf(p->out, "\n%*s", INDENT, "");
            at = 0;
        }
        fprintf(p->out, "%s%s", at ? " " : "", before);
        begin_mark(p, places, i);
        print_word(p, r->words[i], room);
        end_mark(p, places, i);
        fputs(after, p->out);
        at += columns + (at > 0);
    }
    fputc('\n', p->out);
}

/* The words of a subset, most important first. */
static void print_list(const cli_page *p, size_t k) {
    const sis_subset *s = &p->r->collection.subsets[k];
    size_t indent = INDENT + 4, at;
    char text[96];
    cli_show_subset_title(p, k);
    at = (size_t)snprintf(text, sizeof text, "      %zu   score %.4g   %zu of %zu words%s:", k + 1,
                          s->score, s->n, p->r->collection.n_features, cli_short_of(p, k));
    fprintf(p->out, "   %zu of %zu words%s:", s->n, p->r->collection.n_features,
            cli_short_of(p, k));
    for (size_t i = 0; i < s->n; i++) {
        const char *word = p->r->words[s->features[i]];
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
    if (!r->words || r->n_words != r->collection.n_features)
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
    const char *s = p->r->sequence;
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
        fputc(places[i] == (int)k ? p->r->sequence[i] : 'N', p->out);
    fputc('\n', p->out);
    if (p->motifs)
        cli_show_motif(p, k);
}

int cli_show_dna(const cli_page *p) {
    const sis_record *r = p->r;
    if (!r->sequence || strlen(r->sequence) != r->collection.n_features)
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
