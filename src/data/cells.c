/* SPDX-License-Identifier: MIT
 *
 * Splits a table into cells. See cells.h.
 */
#include "data/cells.h"

#include "base/error.h"
#include "base/utf8.h"
#include "data/cell.h"

enum { CELL_MAX = 1 << 20, COLUMNS_MAX = 1 << 22 };

int sis__cells_open(sis__cells *t, const char *path, char separator) {
    *t = (sis__cells){.separator = separator, .line = 1};
    return sis__source_open(&t->source, path);
}

void sis__cells_close(sis__cells *t) {
    sis__buf_release(&t->cell);
    sis__source_close(&t->source);
}

static int fail_at_line(const sis__cells *t, const char *what) {
    return sis__fail(SIS_E_FORMAT, "%s, line %zu: %s", t->source.name, t->line, what);
}

/* The next byte of the text. CR and CRLF become '\n' outside quotes. */
static int next_byte(sis__cells *t, int in_quotes) {
    int c = sis__source_byte(&t->source);
    if (c == '\r' && !in_quotes) {
        if (sis__source_peek(&t->source) == '\n')
            sis__source_byte(&t->source);
        c = '\n';
    }
    return c;
}

static void put(sis__buf *b, int c) {
    if (b->len + 1 < b->cap)
        b->data[b->len++] = (char)c;
    else
        sis__buf_char(b, (char)c);
}

/* Add a byte to the cell. */
static int keep(sis__cells *t, int c) {
    if (c == '\0')
        return fail_at_line(t, "a NUL byte; expected text (UTF-8)");
    if (t->cell.len >= CELL_MAX)
        return sis__fail(
            SIS_E_FORMAT, "%s: the row that begins on line %zu has a cell of more than %d bytes%s",
            t->source.name, t->row_line, CELL_MAX, t->quoted ? "; is a quote never closed?" : "");
    if (c == '\n')
        t->line++;
    put(&t->cell, c);
    return sis__buf_error(&t->cell);
}

/* After the opening quote: read up to the closing quote. */
static int read_quoted(sis__cells *t) {
    size_t opened = t->line;
    t->quoted = 1;
    for (;;) {
        int c = next_byte(t, 1);
        if (c == SIS__SOURCE_END)
            return t->source.error != SIS_OK
                       ? t->source.error
                       : sis__fail(SIS_E_FORMAT, "%s, line %zu: a quote is opened and never closed",
                                   t->source.name, opened);
        if (c == '"') {
            if (sis__source_peek(&t->source) != '"')
                return SIS_OK;
            sis__source_byte(&t->source);
        }
        int code = keep(t, c);
        if (code != SIS_OK)
            return code;
    }
}

static int ends_cell(const sis__cells *t, int c) {
    return c == t->separator || c == '\n' || c == SIS__SOURCE_END;
}

int sis__cells_next(sis__cells *t) {
    int c = next_byte(t, 0), code = SIS_OK;
    t->cell.len = 0;
    t->quoted = 0;
    if (c == '"') {
        code = read_quoted(t);
        c = code == SIS_OK ? next_byte(t, 0) : c;
        if (code == SIS_OK && !ends_cell(t, c))
            code = fail_at_line(
                t, "text after a closing quote (inside quotes, a quote is written twice)");
    }
    while (code == SIS_OK && !ends_cell(t, c)) {
        code = keep(t, c);
        c = next_byte(t, 0);
    }
    if (code == SIS_OK)
        code = t->source.error;
    sis__buf_add(&t->cell, "", 0); /* add the NUL */
    t->last = c != t->separator;
    t->column = t->last ? 0 : t->column + 1;
    if (code == SIS_OK && t->column >= COLUMNS_MAX)
        code =
            sis__fail(SIS_E_FORMAT, "%s: the row that begins on line %zu has more than %d columns",
                      t->source.name, t->row_line, COLUMNS_MAX);
    t->line += c == '\n';
    return code != SIS_OK ? code : sis__buf_error(&t->cell);
}

int sis__cells_row(sis__cells *t) {
    while (sis__source_peek(&t->source) != SIS__SOURCE_END) {
        t->row_line = t->line;
        t->row_offset = t->source.offset;
        int code = sis__cells_next(t);
        if (code != SIS_OK)
            return code;
        if (!t->last || t->quoted || !sis__cell_blank(t->cell.data))
            return 1;
    }
    return t->source.error;
}

int sis__cells_begin(sis__cells *t) {
    sis__source *s = &t->source;
    sis__source_skip_mark(s);
    int c = sis__source_peek(s);
    size_t n = s->filled - s->next < 3 ? s->filled - s->next : 3;
    if (c == 0xFE || c == 0xFF)
        return fail_at_line(t, "not UTF-8 text (UTF-16?); save it as UTF-8");
    if (c == 0xEF && sis__utf8_check((const char *)s->chunk + s->next, n) == 0) /* partial mark */
        return fail_at_line(t, "begins with bytes that are not UTF-8 text");
    return s->error;
}

const char *sis__cells_text(sis__cells *t) {
    sis__buf *cell = &t->cell;
    char *s = cell->data;
    if (t->quoted)
        return s;
    while (cell->len > 0 && (s[cell->len - 1] == ' ' || s[cell->len - 1] == '\t'))
        s[--cell->len] = '\0';
    while (*s == ' ' || *s == '\t')
        s++;
    return s;
}
