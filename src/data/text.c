/* SPDX-License-Identifier: MIT
 *
 * Texts as lines: one a line (.txt), or behind its labels (.tsv). Three shapes of the latter:
 *
 *     appearance<TAB>aroma<TAB>text         a header with a column "text"
 *     4.5 3.0<TAB>the head is thin ...      numbers by tabs or blanks, then the text
 *     pos<TAB>what a film ...               a label, then the text
 *
 * A cell in quotes from end to end is taken out of them; any other quote is part of the text.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "data/cell.h"
#include "data/examples.h"
#include "data/source.h"
#include "data/words.h"

enum { LINE_MOST = 32 << 20, COLUMNS_MOST = 1000 };

/* A file of lines, cut at the tabs. */
typedef struct {
    sis__source source;
    sis__buf line;
    size_t number; /* of the line, counted from 1 */
    char **cells;  /* (n) of the line */
    size_t n, room;
} lines;

/* ---- Lines --------------------------------------------------------------------------------- */

static int fail_at(const lines *l, const char *what) {
    return sis__fail(SIS_E_FORMAT, "%s, line %zu: %s", l->source.name, l->number, what);
}

/* Cut the line's end off, and the mark some programs put before UTF-8. */
static void strip(lines *l) {
    sis__buf *b = &l->line;
    while (b->len > 0 && (b->data[b->len - 1] == '\n' || b->data[b->len - 1] == '\r'))
        b->data[--b->len] = '\0';
    if (l->number == 1 && b->len >= 3 && memcmp(b->data, "\xEF\xBB\xBF", 3) == 0) {
        b->len -= 3;
        memmove(b->data, b->data + 3, b->len + 1);
    }
}

static int is_blank(const sis__buf *line) {
    return strspn(line->data, " \t") == line->len;
}

/* The next line, checked. 1: there it is, 0: there is none. */
static int next_line(lines *l) {
    int found = sis__source_line(&l->source, LINE_MOST, &l->line);
    l->number++;
    if (found < 0)
        return found == l->source.error
                   ? found
                   : sis__fail_in(found, "%s, line %zu", l->source.name, l->number);
    if (found == 0)
        return 0;
    strip(l);
    size_t good = sis__utf8_check(l->line.data, l->line.len);
    if (good != l->line.len)
        return sis__fail(SIS_E_FORMAT, "%s, line %zu: byte %zu is %s; save it as UTF-8",
                         l->source.name, l->number, good + 1,
                         l->line.data[good] ? "not UTF-8 text" : "NUL, not text");
    return 1;
}

/* The same for texts: blank lines may only come at the end. */
static int next_text(lines *l) {
    int found = next_line(l);
    size_t blank = l->number;
    if (found <= 0 || !is_blank(&l->line))
        return found;
    while ((found = next_line(l)) > 0)
        if (!is_blank(&l->line)) {
            l->number = blank;
            return fail_at(l, "is empty; expected a text on every line");
        }
    return found;
}

/* Take a cell out of its quotes if it is in quotes from end to end. */
static char *unquote(char *cell) {
    size_t n = strlen(cell), to = 0;
    if (n < 2 || cell[0] != '"' || cell[n - 1] != '"')
        return cell;
    for (size_t i = 1; i + 1 < n; i++)
        if (cell[i] == '"' && (cell[i + 1] != '"' || ++i + 1 >= n))
            return cell;
    for (size_t i = 1; i + 1 < n; i++) {
        cell[to++] = cell[i];
        i += cell[i] == '"';
    }
    cell[to] = '\0';
    return cell;
}

static int cut_line(lines *l) {
    l->n = 0;
    for (char *at = l->line.data, *tab; at; at = tab) {
        void *cells = l->cells;
        if (l->n >= COLUMNS_MOST)
            return fail_at(l, "more than 1000 columns");
        int code = sis__reserve(&cells, &l->room, l->n + 1, sizeof *l->cells);
        l->cells = (char **)cells;
        if (code != SIS_OK)
            return code;
        tab = strchr(at, '\t');
        if (tab)
            *tab++ = '\0';
        l->cells[l->n++] = unquote(at);
    }
    return SIS_OK;
}

static void close_lines(lines *l) {
    sis__source_close(&l->source);
    sis__buf_release(&l->line);
    free(l->cells);
}

/* ---- .txt ---------------------------------------------------------------------------------- */

static int nothing(const lines *l) {
    return sis__fail(SIS_E_FORMAT, "%s: is empty; expected a text on every line", l->source.name);
}

int sis__data_read_text(const char *path, const sis_data_opt *opt, sis_data **out) {
    lines l = {0};
    sis__examples *e = sis__examples_new(path, "text");
    int code = e ? sis__source_open(&l.source, path) : SIS_E_NOMEM, found = 0;
    (void)opt;
    while (code == SIS_OK && (found = next_text(&l)) > 0) {
        sis__example *x = sis__examples_add(e);
        if (x)
            x->text = sis__examples_text(e, l.line.data, l.line.len);
        code = x ? sis__buf_error(&e->text) : SIS_E_NOMEM;
    }
    code = code == SIS_OK ? found : code;
    if (code == SIS_OK && e->base.count == 0)
        code = nothing(&l);
    if (e)
        code = sis__examples_finish(e, code, out);
    close_lines(&l);
    return code;
}

/* ---- What a .tsv is ------------------------------------------------------------------------ */

static size_t find_cell(const lines *l, const char *name) {
    for (size_t k = 0; k < l->n; k++)
        if (strcasecmp(l->cells[k], name) == 0)
            return k;
    return SIS__NONE;
}

/* Numbers with blanks between them, at least one. */
static int are_numbers(const char *cell) {
    char word[64];
    double v;
    size_t n = 0;
    for (cell += strspn(cell, " "); *cell; cell += strspn(cell, " "), n++) {
        size_t length = strcspn(cell, " ");
        if (length >= sizeof word)
            return 0;
        memcpy(word, cell, length);
        word[length] = '\0';
        if (!sis__cell_number(word, &v))
            return 0;
        cell += length;
    }
    return n > 0;
}

/* Is it ratings, then a text? */
static int is_rated(const lines *l) {
    for (size_t k = 0; k + 1 < l->n; k++)
        if (!are_numbers(l->cells[k]))
            return 0;
    return l->n > 1 && !are_numbers(l->cells[l->n - 1]);
}

/* Could it be a label, then a text? */
static int is_labelled(const lines *l) {
    return l->n == 2 && !are_numbers(l->cells[1]);
}

int sis__data_is_labelled_text(const char *path) {
    lines l = {0};
    int code = sis__source_open(&l.source, path), texts = 0, words = 0, rows = 0;
    for (int found = 1; code == SIS_OK && found > 0 && rows < 2 && (rows == 0 || texts);) {
        found = sis__source_line(&l.source, LINE_MOST, &l.line);
        l.number++;
        if (found <= 0 || is_blank(&l.line) || memchr(l.line.data, '\0', l.line.len))
            continue; /* whoever reads it says what is wrong */
        strip(&l);
        if (is_blank(&l.line))
            continue;
        code = cut_line(&l);
        if (code == SIS_OK && rows++ == 0 && (find_cell(&l, "text") != SIS__NONE || is_rated(&l))) {
            close_lines(&l);
            return 1;
        }
        texts = code == SIS_OK && is_labelled(&l);
        words |= texts && strchr(l.cells[1], ' ');
    }
    close_lines(&l);
    return code == SIS_OK || code == SIS_E_FORMAT ? texts && words : code;
}

/* ---- .tsv ---------------------------------------------------------------------------------- */

/* Which columns hold what. */
typedef struct {
    size_t columns, text, label; /* label: SIS__NONE if there is none */
    int rated;                   /* numbers, separated by tabs or blanks, in front of the text */
    size_t rating;               /* which of them */
} layout;

static int read_layout(lines *l, const sis_data_opt *opt, layout *a) {
    char excerpt[SIS__EXCERPT_SIZE];
    *a = (layout){.columns = l->n, .text = find_cell(l, "text")};
    double number = 0;
    if (a->text != SIS__NONE) {
        a->label = opt->label ? find_cell(l, opt->label) : l->n > 1 ? a->text == 0 : SIS__NONE;
        if (opt->label && a->label == SIS__NONE)
            return sis__fail(SIS_E_ARGUMENT, "%s: there is no column \"%s\" in the header",
                             l->source.name, sis__cell_excerpt(opt->label, excerpt));
        return SIS_OK;
    }
    a->text = l->n - 1;
    a->rated = is_rated(l);
    if (opt->label && (!sis__cell_number(opt->label, &number) || number < 0 || number > 1000 ||
                       number != (double)(size_t)number))
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: has no header; expected the number of the column with the label, "
                         "from 0, found \"%s\"",
                         l->source.name, sis__cell_excerpt(opt->label, excerpt));
    a->rating = (size_t)number;
    return SIS_OK;
}

/* The n-th number of the cells in front of the text: its end cut off. NULL: there are fewer. */
static char *find_rating(const lines *l, size_t n) {
    for (size_t k = 0; k + 1 < l->n; k++)
        for (char *at = l->cells[k]; *(at += strspn(at, " "));) {
            size_t length = strcspn(at, " ");
            if (n-- == 0) {
                at[length] = '\0';
                return at;
            }
            at += length;
        }
    return NULL;
}

/* The label of the line; *label NULL: none. */
static int find_label(const lines *l, const layout *a, const char **label) {
    *label = NULL;
    if (!a->rated) {
        *label = a->label == SIS__NONE ? NULL : l->cells[a->label];
        if (*label && sis__cell_blank(*label))
            return fail_at(l, "the label is missing");
        return SIS_OK;
    }
    if (!is_rated(l))
        return fail_at(l, "expected numbers, then a text, as on the first line");
    if (!(*label = find_rating(l, a->rating)))
        return sis__fail(SIS_E_FORMAT, "%s, line %zu: has no number %zu in front of the text",
                         l->source.name, l->number, a->rating);
    return SIS_OK;
}

static int add_line(lines *l, const layout *a, sis__examples *e) {
    const char *label;
    if (l->n != a->columns)
        return sis__fail(SIS_E_FORMAT,
                         "%s, line %zu: expected %zu columns as on the first line, "
                         "found %zu",
                         l->source.name, l->number, a->columns, l->n);
    int code = find_label(l, a, &label);
    if (code != SIS_OK)
        return code;
    const char *text = l->cells[a->text];
    if (sis__cell_blank(text))
        return fail_at(l, "the text is empty");
    sis__example *x = sis__examples_add(e);
    if (!x)
        return SIS_E_NOMEM;
    x->text = sis__examples_text(e, text, strlen(text));
    if (label)
        x->label = sis__examples_text(e, label, strlen(label));
    return sis__buf_error(&e->text);
}

static int read_labelled(lines *l, const sis_data_opt *opt, sis__examples *e) {
    layout a = {0};
    int found, code = SIS_OK;
    for (size_t first = 1; code == SIS_OK && (found = next_text(l)) != 0; first = 0) {
        code = found < 0 ? found : cut_line(l);
        int header = first && code == SIS_OK && find_cell(l, "text") != SIS__NONE;
        if (first && code == SIS_OK)
            code = read_layout(l, opt, &a);
        if (code == SIS_OK && !header)
            code = add_line(l, &a, e);
    }
    if (code == SIS_OK && e->base.count == 0)
        code = nothing(l);
    return code;
}

int sis__data_read_labelled_text(const char *path, const sis_data_opt *opt, sis_data **out) {
    lines l = {0};
    sis__examples *e = sis__examples_new(path, "text");
    int code = e ? sis__source_open(&l.source, path) : SIS_E_NOMEM;
    if (code == SIS_OK)
        code = read_labelled(&l, opt, e);
    if (e)
        code = sis__examples_finish(e, code, out);
    close_lines(&l);
    return code;
}
