/* SPDX-License-Identifier: MIT
 *
 * Reads texts, one per line (.txt), or after labels (.tsv). A .tsv has one of three forms:
 *
 *     appearance<TAB>aroma<TAB>text         a header with a column "text"
 *     4.5 3.0<TAB>the head is thin ...      numbers separated by tabs or blanks, then the text
 *     pos<TAB>what a film ...               a label, then the text
 */
#include <string.h>

#include "base/error.h"
#include "data/cell.h"
#include "data/examples.h"
#include "data/lines.h"

/* ---- Texts -------------------------------------------------------------------------------- */

/* The next line of a .tsv; blank lines may only occur at the end. */
static int next_row(sis__lines *l) {
    int found = sis__lines_next(l);
    size_t blank = l->number;
    if (found <= 0 || !sis__lines_blank(l))
        return found;
    while ((found = sis__lines_next(l)) > 0)
        if (!sis__lines_blank(l)) {
            l->number = blank;
            return sis__lines_fail(l, "is empty; expected a text on every line: remove the line");
        }
    return found;
}

/* ---- .txt ---------------------------------------------------------------------------------- */

static int nothing(const sis__lines *l) {
    return sis__fail(SIS_E_FORMAT, "%s: is empty; expected a text on every line", l->source.name);
}

/* A blank line is an empty text, except at the end of the file. */
static int read_texts(sis__lines *l, void *how, sis__examples *e) {
    int code = SIS_OK, found = 0;
    size_t blank = 0; /* lines since the last text */
    (void)how;
    while (code == SIS_OK && (found = sis__lines_next(l)) > 0) {
        blank = sis__lines_blank(l) ? blank + 1 : 0;
        sis__example *x = sis__examples_add(e, l->start, l->number);
        if (x)
            x->text = sis__examples_text(e, l->line.data, l->line.len);
        code = x ? sis__buf_error(&e->text) : SIS_E_NOMEM;
    }
    code = code == SIS_OK ? found : code;
    if (code == SIS_OK && !l->inside)
        sis__examples_drop_last(e, blank);
    return code == SIS_OK && e->base.count == 0 ? nothing(l) : code;
}

int sis__data_read_text(const char *path, const sis_data_opt *opt, sis_data **out) {
    static const sis__line_format format = {SIS_KIND_TEXT, 0, read_texts};
    return sis__examples_of_lines(path, &format, NULL, opt->memory, out);
}

/* ---- Detecting the form of a .tsv ---------------------------------------------------------- */

/* At least one number, separated by blanks. */
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

/* Is it ratings followed by a text? */
static int is_rated(const sis__lines *l) {
    for (size_t k = 0; k + 1 < l->n; k++)
        if (!are_numbers(l->cells[k]))
            return 0;
    return l->n > 1 && !are_numbers(l->cells[l->n - 1]);
}

/* Are there several words? */
static int has_words(const char *cell) {
    cell += strspn(cell, " ");
    cell += strcspn(cell, " ");
    return cell[strspn(cell, " ")] != '\0';
}

/* Could it be a label followed by a text? */
static int is_labelled(const sis__lines *l) {
    return l->n == 2 && !are_numbers(l->cells[1]);
}

/* Do the options make it a table? */
static int is_said_table(const sis_data_opt *opt) {
    int words = opt->categorical == 1 || (opt->categories && !opt->categorical);
    return opt->no_header || opt->types || words;
}

int sis__data_is_labelled_text(const char *path, const sis_data_opt *opt) {
    sis__lines l = {0};
    int texts = 0, words = 0, rows = 0;
    if (is_said_table(opt))
        return 0;
    int code = sis__lines_open(&l, path);
    for (int found = 1; code == SIS_OK && found > 0 && rows < 2 && (rows == 0 || texts);) {
        found = sis__lines_any(&l);
        if (found == SIS_E_NOMEM)
            code = found;
        if (found <= 0 || sis__lines_blank(&l) || memchr(l.line.data, '\0', l.line.len))
            continue; /* the reader reports the error */
        code = sis__lines_cut(&l);
        if (code == SIS_OK && rows++ == 0 &&
            (sis__lines_find(&l, "text") != SIS__NONE || is_rated(&l))) {
            sis__lines_close(&l);
            return 1;
        }
        texts = code == SIS_OK && is_labelled(&l);
        words |= texts && has_words(l.cells[1]);
    }
    sis__lines_close(&l);
    return code == SIS_OK || code == SIS_E_FORMAT ? texts && words : code;
}

/* ---- .tsv ---------------------------------------------------------------------------------- */

/* The layout of columns. */
typedef struct {
    const sis_data_opt *opt;         /* until the header is known */
    size_t columns, text, label, id; /* label, id: SIS__NONE: none */
    int rated;                       /* numbers, separated by tabs or blanks, precede the text */
    size_t rating;                   /* index of the number used */
} layout;

static int no_column(const sis__lines *l, const char *name) {
    char excerpt[SIS__EXCERPT_SIZE];
    return sis__fail(SIS_E_ARGUMENT, "%s: no column \"%s\" in the header", l->source.name,
                     sis__cell_excerpt(name, excerpt));
}

/* The line is a header with a column "text". */
static int read_header(const sis__lines *l, const sis_data_opt *opt, layout *a) {
    a->id = opt->id ? sis__lines_find(l, opt->id) : SIS__NONE;
    a->label = opt->label ? sis__lines_find(l, opt->label) : SIS__NONE;
    for (size_t k = l->n; k-- > 0 && !opt->label;)
        if (k != a->text && k != a->id)
            a->label = k; /* the first of the others */
    if (opt->id && a->id == SIS__NONE)
        return no_column(l, opt->id);
    return opt->label && a->label == SIS__NONE ? no_column(l, opt->label) : SIS_OK;
}

static int read_layout(sis__lines *l, layout *a) {
    const sis_data_opt *opt = a->opt;
    char excerpt[SIS__EXCERPT_SIZE];
    *a = (layout){.columns = l->n, .text = sis__lines_find(l, "text"), .id = SIS__NONE};
    double number = 0;
    if (a->text != SIS__NONE)
        return read_header(l, opt, a);
    if (opt->id)
        return sis__fail(SIS_E_ARGUMENT, "%s: has no header, so no column \"%s\"", l->source.name,
                         sis__cell_excerpt(opt->id, excerpt));
    a->text = l->n - 1;
    a->rated = is_rated(l);
    if (opt->label && (!sis__cell_number(opt->label, &number) || number < 0 || number > 1000 ||
                       number != (double)(size_t)number))
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: has no header; give the label column by number, from 0, found \"%s\"",
                         l->source.name, sis__cell_excerpt(opt->label, excerpt));
    a->rating = (size_t)number;
    return SIS_OK;
}

/* The n-th number in the cells before the text, NUL-terminated in place. NULL: there are fewer. */
static char *find_rating(const sis__lines *l, size_t n) {
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
static int find_label(const sis__lines *l, const layout *a, const char **label) {
    *label = NULL;
    if (!a->rated) {
        *label = a->label == SIS__NONE ? NULL : l->cells[a->label];
        if (*label && sis__cell_blank(*label))
            return sis__lines_fail(l, "the label is missing");
        return SIS_OK;
    }
    if (!is_rated(l))
        return sis__lines_fail(l, "expected numbers, then a text, as on the first line");
    if (!(*label = find_rating(l, a->rating)))
        return sis__fail(SIS_E_FORMAT, "%s, line %zu: has no number %zu in front of the text",
                         l->source.name, l->number, a->rating);
    return SIS_OK;
}

static int add_line(sis__lines *l, const layout *a, sis__examples *e) {
    const char *label;
    if (l->n != a->columns)
        return sis__fail(SIS_E_FORMAT,
                         "%s, line %zu: expected %zu columns as on the first line, found %zu",
                         l->source.name, l->number, a->columns, l->n);
    int code = find_label(l, a, &label);
    if (code != SIS_OK)
        return code;
    const char *text = l->cells[a->text], *id = a->id == SIS__NONE ? NULL : l->cells[a->id];
    if (id && sis__cell_blank(id))
        return sis__lines_fail(l, "the id is empty");
    sis__example *x = sis__examples_add(e, l->start, l->number);
    if (!x)
        return SIS_E_NOMEM;
    x->text = sis__examples_text(e, text, strlen(text));
    if (label)
        x->label = sis__examples_text(e, label, strlen(label));
    if (id)
        x->id = sis__examples_text(e, id, strlen(id));
    return sis__buf_error(&e->text);
}

static int read_labelled(sis__lines *l, void *how, sis__examples *e) {
    layout *a = (layout *)how;
    int found, code = SIS_OK;
    while (code == SIS_OK && (found = next_row(l)) != 0) {
        code = found < 0 ? found : sis__lines_cut(l);
        int first = a->opt != NULL;
        int header = first && code == SIS_OK && sis__lines_find(l, "text") != SIS__NONE;
        if (first && code == SIS_OK)
            code = read_layout(l, a);
        if (code == SIS_OK && !header)
            code = add_line(l, a, e);
    }
    return code == SIS_OK && e->base.count == 0 ? nothing(l) : code;
}

int sis__data_read_labelled_text(const char *path, const sis_data_opt *opt, sis_data **out) {
    static const sis__line_format format = {SIS_KIND_TEXT, sizeof(layout), read_labelled};
    return sis__examples_of_lines(path, &format, &(layout){.opt = opt}, opt->memory, out);
}
