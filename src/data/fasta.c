/* SPDX-License-Identifier: MIT
 *
 * DNA sequences: FASTA, with labels in a file beside it, and ENCODE tables (.seq).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/replace.h"
#include "data/cell.h"
#include "data/examples.h"
#include "data/lines.h"

/* Add the letters of one line to the pool, in upper case, without blanks. */
static int add_letters(const sis__lines *l, const char *line, sis__examples *e) {
    for (const char *s = line; *s; s++) {
        char c = sis__upper(*s);
        if (c == ' ' || c == '\t')
            continue;
        if (!strchr("ACGTN", c))
            return sis__fail(
                SIS_E_FORMAT,
                (unsigned char)c >= 0x20 && (unsigned char)c < 0x7F
                    ? "%s, line %zu: '%c' is not a base; expected A, C, G, T or N"
                    : "%s, line %zu: byte 0x%02x is not a base; expected A, C, G, T or N",
                l->source.name, l->number, (unsigned char)*s);
        sis__buf_char(&e->text, c);
    }
    return sis__buf_error(&e->text);
}

/* Crop or pad the last n letters of the pool around their middle. */
static void set_length(sis__buf *letters, size_t n, size_t length) {
    char *first = letters->data + letters->len - n;
    if (n > length) {
        memmove(first, first + (n - length) / 2, length);
        letters->len -= n - length;
        return;
    }
    size_t before = (length - n) / 2;
    for (size_t k = n; k < length; k++)
        sis__buf_char(letters, 'N');
    if (sis__buf_error(letters) != SIS_OK)
        return;
    first = letters->data + letters->len - length;
    memmove(first + before, first, n);
    memset(first, 'N', before);
}

/* End the sequence that began at x->text. length: required number of bases; 0: any. */
static int end_sequence(const sis__lines *l, size_t line, size_t length, sis__examples *e) {
    sis__example *x = &e->items[e->n - 1];
    size_t n = e->text.len - x->text;
    int error = sis__buf_error(&e->text);
    if (error == SIS_OK && n == 0)
        error = sis__fail(SIS_E_FORMAT, "%s, line %zu: a name without a sequence", l->source.name,
                          line);
    if (error != SIS_OK)
        return error;
    if (length && length != n) {
        set_length(&e->text, n, length);
        x->full_length = n;
    }
    x->rank = 2;
    x->shape[0] = 4;
    x->shape[1] = length ? length : n;
    sis__buf_add(&e->text, "", 1);
    return sis__buf_error(&e->text);
}

/* ---- FASTA --------------------------------------------------------------------------------- */

/* Is it chr1:100-201, perhaps followed by (+), (-) or (.)? */
static int is_place(const char *word, size_t n) {
    static const char digits[] = "0123456789";
    const char *end = word + n, *at = end;
    while (at > word && at[-1] != ':')
        at--;
    size_t start = strspn(at, digits), stop = at[start] == '-' ? strspn(at + start + 1, digits) : 0;
    if (at - word < 2 || start == 0 || stop == 0)
        return 0;
    at += start + 1 + stop;
    return at == end || (end - at == 3 && at[0] == '(' && strchr("+-.", at[1]) && at[2] == ')');
}

/* ">name description". A position after the name is kept in the id as name::chr1:100-201, like
 * bedtools. */
static int begin_sequence(const sis__lines *l, sis__examples *e) {
    const char *name = l->line.data + 1 + strspn(l->line.data + 1, " \t");
    size_t n = strcspn(name, " \t");
    const char *place = name + n + strspn(name + n, " \t");
    size_t n_place = strcspn(place, " \t");
    sis__example *x = sis__examples_add(e, l->start, l->number);
    if (!x)
        return SIS_E_NOMEM;
    if (n > 0 && !is_place(name, n) && is_place(place, n_place)) {
        x->id = e->text.len;
        sis__buf_add(&e->text, name, n);
        sis__buf_add(&e->text, "::", 2);
        sis__examples_text(e, place, n_place);
    } else if (n > 0) {
        x->id = sis__examples_text(e, name, n);
    }
    x->text = e->text.len;
    return sis__buf_error(&e->text);
}

static int read_sequences(sis__lines *l, void *how, sis__examples *e) {
    int found, code = SIS_OK;
    size_t began = 0, length = *(const size_t *)how;
    while (code == SIS_OK && (found = sis__lines_next(l)) != 0) {
        const char *line = l->line.data;
        if (found < 0)
            code = found;
        else if (*line == '>') {
            code = began ? end_sequence(l, began, length, e) : SIS_OK;
            began = l->number;
            code = code == SIS_OK ? begin_sequence(l, e) : code;
        } else if (!sis__lines_blank(l) && *line != ';')
            code = began ? add_letters(l, line, e)
                         : sis__lines_fail(l, "not FASTA: expected a line that begins with '>' and "
                                              "the name of a sequence");
    }
    if (code == SIS_OK && !began)
        return sis__fail(
            SIS_E_FORMAT,
            "%s: is empty; expected sequences, each after a line with '>' and its name",
            l->source.name);
    return code == SIS_OK ? end_sequence(l, began, length, e) : code;
}

/* ---- Labels -------------------------------------------------------------------------------- */

/* Length of the path without .gz and the last extension. */
static size_t stem_length(const char *path) {
    size_t n = strlen(path);
    if (n > 3 && sis__same_word(path + n - 3, ".gz"))
        n -= 3;
    while (n > 0 && path[n - 1] != '.')
        n--;
    return n - 1; /* FASTA files always have an extension */
}

/* Add a label from a line of one or two numbers. */
static int add_label(const sis__lines *l, sis__strings *labels) {
    char first[64];
    const char *at = l->line.data + strspn(l->line.data, " \t");
    size_t n = strcspn(at, " \t");
    double v;
    if (n == 0 || n >= sizeof first)
        return sis__lines_fail(l, "expected a label");
    memcpy(first, at, n);
    first[n] = '\0';
    if (!sis__cell_number(first, &v))
        return sis__lines_fail(l, "expected a number as the label");
    sis__strings_add(labels, first);
    return sis__buf_error(&labels->text);
}

static int read_labels(sis__lines *l, const char *path, sis_data *data) {
    sis__strings labels = {0};
    int found = 0, code = sis__lines_open(l, path);
    while (code == SIS_OK && (found = sis__lines_next(l)) > 0) {
        if (sis__lines_blank(l))
            continue;
        code = labels.n < data->count ? add_label(l, &labels)
                                      : sis__lines_fail(l, "more labels than there are sequences");
    }
    code = code == SIS_OK ? found : code;
    if (code == SIS_OK && labels.n < data->count)
        code = sis__fail(SIS_E_FORMAT, "%s: %zu labels for %zu sequences of %s", path, labels.n,
                         data->count, data->name);
    if (code == SIS_OK && !(data->labels = sis__strings_finish(&labels)))
        code = SIS_E_NOMEM;
    sis__strings_release(&labels);
    return code;
}

/* Read labels from the file beside the sequences, if it exists. */
static int find_labels(const char *path, sis_data *data) {
    sis__lines l = {0};
    char *beside = sis__buf_text("%.*s.target", (int)stem_length(path), path);
    int code = beside ? SIS_OK : SIS_E_NOMEM;
    if (code == SIS_OK && access(beside, F_OK) == 0) {
        code = sis__replace_never(beside);
        code = code == SIS_OK ? read_labels(&l, beside, data) : code;
        sis__lines_close(&l);
    }
    free(beside);
    return code;
}

int sis__data_read_fasta(const char *path, const sis_data_opt *opt, sis_data **out) {
    static const sis__line_format format = {SIS_KIND_DNA, sizeof opt->length, read_sequences};
    int code = sis__examples_of_lines(path, &format, &opt->length, opt->memory, out);
    return code == SIS_OK ? find_labels(path, *out) : code;
}

/* ---- .seq ---------------------------------------------------------------------------------- */

typedef struct {
    const sis_data_opt *opt; /* until the header is read */
    size_t columns, sequence, id, label;
    size_t length; /* of every sequence; 0: any */
    int named;     /* every sequence must have an id */
} layout;

static int read_header(sis__lines *l, layout *a) {
    const sis_data_opt *opt = a->opt;
    char excerpt[SIS__EXCERPT_SIZE];
    int found = sis__lines_next(l);
    int code = found > 0 ? sis__lines_cut(l) : found;
    if (code != SIS_OK)
        return code;
    *a = (layout){.columns = l->n,
                  .sequence = SIS__NONE,
                  .id = SIS__NONE,
                  .label = SIS__NONE,
                  .length = opt->length,
                  .named = opt->id != NULL};
    if (found > 0) {
        a->sequence = sis__lines_find(l, "seq");
        a->id = sis__lines_find(l, opt->id ? opt->id : "EventID");
        a->label = sis__lines_find(l, opt->label ? opt->label : "Bound");
    }
    if (a->sequence == SIS__NONE)
        return sis__fail(SIS_E_FORMAT, "%s: expected a header with a column \"seq\"",
                         l->source.name);
    const char *missing = opt->label && a->label == SIS__NONE ? opt->label
                          : opt->id && a->id == SIS__NONE     ? opt->id
                                                              : NULL;
    return missing ? sis__fail(SIS_E_ARGUMENT, "%s: no column \"%s\" in the header", l->source.name,
                               sis__cell_excerpt(missing, excerpt))
                   : SIS_OK;
}

static int add_row(sis__lines *l, const layout *a, sis__examples *e) {
    int code = sis__lines_cut(l);
    if (code == SIS_OK && l->n != a->columns)
        code = sis__fail(SIS_E_FORMAT,
                         "%s, line %zu: expected %zu columns as in the header, found %zu",
                         l->source.name, l->number, a->columns, l->n);
    sis__example *x = code == SIS_OK ? sis__examples_add(e, l->start, l->number) : NULL;
    if (!x)
        return code != SIS_OK ? code : SIS_E_NOMEM;
    const char *id = a->id == SIS__NONE ? "" : l->cells[a->id];
    const char *label = a->label == SIS__NONE ? "" : l->cells[a->label];
    if (a->named && sis__cell_blank(id))
        return sis__lines_fail(l, "the id is empty");
    if (!sis__cell_blank(id))
        x->id = sis__examples_text(e, id, strlen(id));
    if (a->label != SIS__NONE && sis__cell_blank(label))
        return sis__lines_fail(l, "the label is missing");
    if (!sis__cell_blank(label))
        x->label = sis__examples_text(e, label, strlen(label));
    x->text = e->text.len;
    code = add_letters(l, l->cells[a->sequence], e);
    return code == SIS_OK ? end_sequence(l, l->number, a->length, e) : code;
}

static int read_rows(sis__lines *l, void *how, sis__examples *e) {
    layout *a = (layout *)how;
    int found = 0, code = a->opt ? read_header(l, a) : SIS_OK;
    while (code == SIS_OK && (found = sis__lines_next(l)) > 0)
        if (!sis__lines_blank(l))
            code = add_row(l, a, e);
    code = code == SIS_OK ? found : code;
    if (code == SIS_OK && e->base.count == 0)
        code = sis__fail(SIS_E_FORMAT, "%s: has a header but no sequences", l->source.name);
    return code;
}

int sis__data_read_seq(const char *path, const sis_data_opt *opt, sis_data **out) {
    static const sis__line_format format = {SIS_KIND_DNA, sizeof(layout), read_rows};
    return sis__examples_of_lines(path, &format, &(layout){.opt = opt}, opt->memory, out);
}
