/* SPDX-License-Identifier: MIT
 *
 * Tables of numbers: a header with the names of the features, then a row of numbers an example;
 * where the caller allows it, also categories, a column of labels and one of ids (columns.c).
 *
 * Cells come one at a time (cells.c), so memory holds the numbers and one cell, never the text.
 */
#include "data/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "data/cell.h"
#include "data/cells.h"
#include "data/columns.h"

typedef struct {
    sis__cells in;
    const char **names;   /* (width) the header */
    size_t width, height; /* columns; rows so far */
    double *numbers;      /* (height, width) */
    size_t used, room;

    /* Cells as text too, where columns may be categories, labels or ids; else NULL. */
    const sis_data_opt *opt;
    sis__column *columns; /* (width) */
    uint16_t *codes;      /* (height, width) */
    size_t codes_room;
    size_t label, id;         /* columns; SIZE_MAX: none */
    sis__strings labels, ids; /* so far */
} table;

/* ---- The header ---------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(**(const char **const *)a, **(const char **const *)b);
}

/* A feature is known by its name: no two alike. */
static int check_names(const table *t) {
    const char ***sorted = SIS_NEW_RAW(const char **, t->width);
    int code = SIS_OK;
    if (!sorted)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < t->width; k++)
        sorted[k] = &t->names[k];
    qsort(sorted, t->width, sizeof *sorted, by_name);
    for (size_t k = 1; k < t->width && code == SIS_OK; k++) {
        char name[SIS__EXCERPT_SIZE];
        size_t one = (size_t)(sorted[k - 1] - t->names), other = (size_t)(sorted[k] - t->names);
        if (strcmp(*sorted[k - 1], *sorted[k]) == 0)
            code =
                sis__fail(SIS_E_FORMAT,
                          "%s: columns %zu and %zu are both called \"%s\"; give each its own name",
                          t->in.source.name, (one < other ? one : other) + 1,
                          (one < other ? other : one) + 1, sis__cell_excerpt(*sorted[k], name));
    }
    free(sorted);
    return code;
}

static int add_name(table *t, sis__strings *names, size_t *numeric) {
    double ignored;
    const char *name = sis__cells_text(&t->in);
    if (*name == '\0')
        return sis__fail(SIS_E_FORMAT,
                         "%s: column %zu has no name in the header; name it, or remove it if it "
                         "only numbers the rows",
                         t->in.source.name, names->n + 1);
    *numeric += (size_t)sis__cell_number(name, &ignored);
    sis__strings_add(names, name);
    return sis__buf_error(&names->text);
}

/* A header without commas, but with what separates cells elsewhere, is that of another kind of
 * table. */
static int check_separator(const table *t) {
    char header[SIS__EXCERPT_SIZE];
    const char *cell = t->in.cell.data, *found = strpbrk(cell, ";\t");
    if (t->in.separator != ',' || !t->in.last || t->in.quoted || !found)
        return SIS_OK;
    return sis__fail(SIS_E_FORMAT,
                     "%s: the header is a single cell, \"%s\"; cells are separated by commas here, "
                     "%s",
                     t->in.source.name, sis__cell_excerpt(cell, header),
                     *found == ';' ? "not by semicolons: save it with commas"
                                   : "a table with tabs needs a name ending in .tsv");
}

static int read_header(table *t) {
    sis__strings names = {0};
    size_t numeric = 0;
    int code = sis__cells_begin(&t->in);
    int found = code == SIS_OK ? sis__cells_row(&t->in) : code;
    if (found <= 0)
        return found < 0 ? found
                         : sis__fail(SIS_E_FORMAT,
                                     "%s: is empty; expected a header with the names of the "
                                     "features, then rows of numbers",
                                     t->in.source.name);
    code = check_separator(t);
    while (code == SIS_OK && (code = add_name(t, &names, &numeric)) == SIS_OK && !t->in.last)
        if ((code = sis__cells_next(&t->in)) != SIS_OK)
            break;
    t->width = names.n;
    if (code == SIS_OK && numeric == names.n)
        code = sis__fail(SIS_E_FORMAT,
                         "%s: the first line holds only numbers; expected a header with the names "
                         "of the features",
                         t->in.source.name);
    if (code == SIS_OK) {
        t->names = sis__strings_finish(&names);
        code = t->names ? check_names(t) : SIS_E_NOMEM;
    }
    sis__strings_release(&names);
    return code;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

/* Does the cell stand for a number that is missing? */
static int is_missing(const char *cell) {
    static const char *const none[] = {"nan", "na", "n/a", "null", "none"};
    if (sis__cell_blank(cell))
        return 1;
    cell += strspn(cell, " \t");
    for (size_t k = 0; k < sizeof none / sizeof *none; k++)
        if (strcasecmp(cell, none[k]) == 0)
            return 1;
    return 0;
}

/* Does the cell hold a word? What stands for a number is none. */
static int is_word(const char *cell) {
    cell += strspn(cell, " \t");
    if (is_missing(cell) || strcasecmp(cell, "inf") == 0 || strcasecmp(cell, "infinity") == 0)
        return 0;
    return (*cell >= 'A' && *cell <= 'Z') || (*cell >= 'a' && *cell <= 'z') ||
           (unsigned char)*cell >= 0x80;
}

/* What to do about a cell that is no number; "" if there is nothing to say. */
static const char *advice(const table *t, size_t column) {
    const char *cell = t->in.cell.data;
    if (t->width == 1 && t->in.separator == '\t' && strchr(cell, ','))
        return " (cells are separated by tabs here; commas need .csv)";
    if (sis__cell_decimal_comma(cell))
        return SIS__DECIMAL_POINT;
    if (!is_word(cell))
        return "";
    return strcasecmp(t->names[column], "text") == 0
               ? "; texts are read from a .tsv with a column \"text\", a .txt or a .jsonl"
               : "; for a column of words there are the options categorical, label and id, or "
                 "take it out of the table";
}

/* Why the cell of this column cannot be used. */
static int bad_cell(const table *t, size_t column) {
    char name[SIS__EXCERPT_SIZE], found[SIS__EXCERPT_SIZE];
    const char *cell = t->in.cell.data;
    sis__cell_excerpt(t->names[column], name);
    if (sis__cell_blank(cell))
        return sis__fail(SIS_E_FORMAT,
                         "%s, row %zu (line %zu), column \"%s\": expected a number, found an empty "
                         "cell",
                         t->in.source.name, t->height, t->in.row_line, name);
    return sis__fail(SIS_E_FORMAT,
                     "%s, row %zu (line %zu), column \"%s\": expected a %snumber, found \"%s\"%s",
                     t->in.source.name, t->height, t->in.row_line, name,
                     strspn(cell, "+-.0123456789eE \t") == strlen(cell) ? "finite " : "",
                     sis__cell_excerpt(cell, found), advice(t, column));
}

static int ragged(const table *t, size_t found) {
    return sis__fail(
        SIS_E_FORMAT, "%s, row %zu (line %zu): expected %zu cell%s as in the header, found %zu",
        t->in.source.name, t->height, t->in.row_line, t->width, t->width == 1 ? "" : "s", found);
}

/* Remember the cell as text, and what kind of column it makes. */
static int keep_text(table *t, size_t column, int number) {
    sis__column *c = &t->columns[column];
    if (!number && (column == t->label ? sis__cell_blank(t->in.cell.data) : !t->opt->categorical))
        return bad_cell(t, column);
    const char *cell = sis__cells_text(&t->in);
    if (column == t->label) {
        t->codes[t->used + column] = 0;
        sis__strings_add(&t->labels, cell);
        return sis__buf_error(&t->labels.text);
    }
    if (!number && !c->words) {
        c->words = 1;
        c->word_row = t->height;
        c->word_line = t->in.row_line;
    }
    return sis__column_add(c, cell, &t->codes[t->used + column]);
}

/* The cell is what its row is called. */
static int keep_id(table *t) {
    char name[SIS__EXCERPT_SIZE];
    const char *cell = sis__cells_text(&t->in);
    size_t n = strlen(cell);
    if (sis__cell_blank(cell) || sis__utf8_check(cell, n) != n)
        return sis__fail(
            SIS_E_FORMAT, "%s, row %zu (line %zu), column \"%s\": expected an id, found %s",
            t->in.source.name, t->height, t->in.row_line, sis__cell_excerpt(t->names[t->id], name),
            sis__cell_blank(cell) ? "an empty cell" : "bytes that are not UTF-8 text");
    t->numbers[t->used + t->id] = 0;
    t->codes[t->used + t->id] = 0;
    sis__strings_add(&t->ids, cell);
    return sis__buf_error(&t->ids.text);
}

static int keep_cell(table *t, size_t column) {
    double v = 0;
    if (column == t->id)
        return keep_id(t);
    int number = sis__cell_number(t->in.cell.data, &v) && isfinite(v);
    if (!number && t->opt->missing && column != t->label && is_missing(t->in.cell.data)) {
        number = 1;
        v = NAN;
    }
    t->numbers[t->used + column] = v;
    return t->columns ? keep_text(t, column, number) : number ? SIS_OK : bad_cell(t, column);
}

/* Room for another row. */
static int reserve_row(table *t) {
    int code = sis__reserve(&t->numbers, &t->room, t->used + t->width, sizeof *t->numbers);
    if (code == SIS_OK && t->columns)
        code = sis__reserve(&t->codes, &t->codes_room, t->used + t->width, sizeof *t->codes);
    return code;
}

/* The rest of the row whose first cell has been read. */
static int read_row(table *t) {
    int code = reserve_row(t);
    size_t column = 0;
    while (code == SIS_OK) {
        if (column < t->width)
            code = keep_cell(t, column);
        column++;
        if (t->in.last || code != SIS_OK)
            break;
        code = sis__cells_next(&t->in);
    }
    if (code != SIS_OK)
        return code;
    if (column != t->width)
        return ragged(t, column);
    t->used += t->width;
    t->height++;
    return SIS_OK;
}

static int no_column(const table *t, const char *wanted) {
    enum { MOST = 12 };
    char name[SIS__EXCERPT_SIZE], list[MOST * (SIS__EXCERPT_SIZE + 2)] = "";
    for (size_t k = 0, used = 0; k < t->width && k < MOST && used < sizeof list; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", k ? ", " : "",
                                 sis__cell_excerpt(t->names[k], name));
    return sis__fail(SIS_E_ARGUMENT, "%s: there is no column \"%s\" in the header: %s%s",
                     t->in.source.name, sis__cell_excerpt(wanted, name), list,
                     t->width > MOST ? ", ..." : "");
}

/* The column of that name; SIZE_MAX for NULL. */
static int find_column(const table *t, const char *name, size_t *column) {
    *column = SIZE_MAX;
    for (size_t k = 0; name && k < t->width; k++)
        if (strcmp(t->names[k], name) == 0)
            *column = k;
    return !name || *column != SIZE_MAX ? SIS_OK : no_column(t, name);
}

/* Columns to remember cells in, if anything but numbers is wanted. */
static int begin_columns(table *t) {
    char name[SIS__EXCERPT_SIZE];
    int code = find_column(t, t->opt->label, &t->label);
    if (code == SIS_OK)
        code = find_column(t, t->opt->id, &t->id);
    if (code == SIS_OK && t->id != SIZE_MAX && t->id == t->label)
        code = sis__fail(SIS_E_ARGUMENT, "%s: column \"%s\" cannot be both the id and the label",
                         t->in.source.name, sis__cell_excerpt(t->opt->id, name));
    if (code != SIS_OK || (!t->opt->categorical && !t->opt->label && !t->opt->id))
        return code;
    if (!(t->columns = SIS_NEW(sis__column, t->width)))
        return SIS_E_NOMEM;
    for (size_t k = 0; k < t->width; k++)
        t->columns[k].name = t->names[k];
    return SIS_OK;
}

static int read_table(table *t) {
    int code = read_header(t), found = 0;
    if (code == SIS_OK)
        code = begin_columns(t);
    while (code == SIS_OK && (found = sis__cells_row(&t->in)) > 0)
        code = read_row(t);
    if (code == SIS_OK && found < 0)
        code = found;
    if (code == SIS_OK && t->height == 0)
        code =
            sis__fail(SIS_E_FORMAT, "%s: has a header but no rows of numbers", t->in.source.name);
    return code;
}

/* The numbers as they are, which become the data set's. */
static int finish_numbers(table *t, const char *path, sis_data **out) {
    void *fitted = sis__realloc(t->numbers, t->used, sizeof *t->numbers);
    sis__packed rows = {.type = sis__packed_type_find('f', sizeof(double)),
                        .rank = 2,
                        .dims = {t->height, t->width},
                        .n = t->used,
                        .bytes = (unsigned char *)(fitted ? fitted : t->numbers)};
    int code = sis__data_from_rows(path, SIS_KIND_TABLE, &rows, t->names, out);
    t->numbers = NULL;
    t->names = NULL;
    return code;
}

static int finish_columns(const table *t, sis_data **out) {
    sis__columns columns = {.path = t->in.source.name,
                            .width = t->width,
                            .height = t->height,
                            .columns = t->columns,
                            .numbers = t->numbers,
                            .codes = t->codes,
                            .label = t->label,
                            .id = t->id};
    return sis__columns_finish(&columns, t->opt, out);
}

/* Labels or ids go along with the rows. */
static int finish_texts(sis__strings *texts, void (*set)(sis_data *, const char **),
                        sis_data *data) {
    const char **list = sis__strings_finish(texts);
    if (list)
        set(data, list);
    return list ? SIS_OK : SIS_E_NOMEM;
}

static int read_separated(const char *path, char separator, const sis_data_opt *opt,
                          sis_data **out) {
    table t = {.opt = opt};
    *out = NULL;
    int code = sis__cells_open(&t.in, path, separator);
    if (code == SIS_OK)
        code = read_table(&t);
    if (code == SIS_OK)
        code = t.columns ? finish_columns(&t, out) : finish_numbers(&t, path, out);
    if (code == SIS_OK && t.label != SIZE_MAX)
        code = finish_texts(&t.labels, sis__data_set_labels, *out);
    if (code == SIS_OK && t.id != SIZE_MAX)
        code = finish_texts(&t.ids, sis__data_set_ids, *out);
    if (code != SIS_OK) {
        sis_data_free(*out);
        *out = NULL;
    }
    for (size_t k = 0; t.columns && k < t.width; k++)
        sis__column_release(&t.columns[k]);
    free(t.columns);
    free(t.codes);
    sis__strings_release(&t.labels);
    sis__strings_release(&t.ids);
    free(t.numbers);
    free(t.names);
    sis__cells_close(&t.in);
    return code;
}

int sis__data_read_csv(const char *path, const sis_data_opt *opt, sis_data **out) {
    return read_separated(path, ',', opt, out);
}

int sis__data_read_tsv(const char *path, const sis_data_opt *opt, sis_data **out) {
    int texts = sis__data_is_labelled_text(path);
    if (texts != 0)
        return texts < 0 ? texts : sis__data_read_labelled_text(path, opt, out);
    return read_separated(path, '\t', opt, out);
}
