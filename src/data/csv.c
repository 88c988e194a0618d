/* SPDX-License-Identifier: MIT
 *
 * Reads tables of numbers: an optional header with the names of the features, then one row per
 * example. If the caller allows it, also missing values, categories, labels and ids (columns.c,
 * types.c). Cells are read one at a time (cells.c), so memory holds the numbers and one cell, never
 * the whole text. For a table in blocks (blocks.h) columns and layout are kept, and rows are read
 * again.
 */
#include "data/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/utf8.h"
#include "data/blocks.h"
#include "data/cell.h"
#include "data/cells.h"
#include "data/columns.h"

/* Labels and ids of rows. */
typedef struct {
    size_t label, id;               /* columns; SIZE_MAX: none */
    int keeps;                      /* some columns are kept */
    sis__strings labels, ids, kept; /* so far; kept: a JSON object per row */
    sis__buf row;                   /* the object of the current row, without its end */
} table_names;

typedef struct {
    sis__cells in;
    char *path;           /* owned */
    const char **names;   /* (width) the header, or c0, c1, ... */
    int names_lent;       /* owned by the data set now */
    const char **first;   /* (width) without a header: the cells of the first row */
    size_t width, height; /* columns; rows so far */
    size_t dropped;       /* no longer in memory */
    double *numbers;      /* (height - dropped, width) */
    size_t used, room;
    sis__marks marks;

    /* Columns that may hold more than numbers also store cells as text; else NULL. */
    const sis_data_opt *opt;
    sis__column *columns; /* (width) */
    int complete;         /* all cells have been read */
    uint16_t *codes;      /* (height - dropped, width) */
    size_t codes_room;
    sis__layout *layout; /* of a table in blocks */
    int all_types;       /* any cell is accepted, only to describe the columns */
    table_names of;
} table;

/* ---- The header ---------------------------------------------------------------------------- */

/* Names of features must be unique. */
static int check_names(const table *t) {
    char name[SIS__EXCERPT_SIZE];
    sis__ids sorted;
    int code = sis__ids_init(&sorted, t->names, t->width);
    for (size_t k = 1; code == SIS_OK && k < t->width; k++) {
        const sis__id *one = &sorted.items[k - 1], *other = &sorted.items[k];
        if (strcmp(one->id, other->id) == 0)
            code = sis__fail(SIS_E_FORMAT,
                             "%s: columns %zu and %zu are both named \"%s\"; rename one, or give "
                             "--no-header if the first line is a row",
                             t->in.source.name, one->at + 1, other->at + 1,
                             sis__cell_excerpt(one->id, name));
    }
    sis__ids_release(&sorted);
    return code;
}

/* A first column without a name is a pandas index: it is the id. */
static int has_index(const table *t) {
    return t->width > 1 && !t->first && !*t->names[0];
}

static int check_blank(const table *t) {
    for (size_t k = t->width > 1; k < t->width; k++)
        if (!*t->names[k])
            return sis__fail(SIS_E_FORMAT,
                             "%s: column %zu has no name in the header; name it, or remove it",
                             t->in.source.name, k + 1);
    return SIS_OK;
}

/* Are the numbers 0, 1, 2 ... or 1, 2, 3 ...? Such numbers are column names. */
static int are_counted(const double *numbers, size_t n) {
    for (size_t k = 1; k < n; k++)
        if (numbers[k] != numbers[0] + (double)k)
            return 0;
    return n > 2 && (numbers[0] == 0 || numbers[0] == 1);
}

/* Does a number occur twice? */
static int is_repeated(double *numbers, size_t n) {
    qsort(numbers, n, sizeof *numbers, sis__by_double);
    for (size_t k = 1; k < n; k++)
        if (numbers[k] == numbers[k - 1])
            return 1;
    return 0;
}

/* Is the first line a row of data rather than a header? */
static int is_row(const table *t, const char *const *cells, int *out) {
    double *numbers = SIS_NEW_RAW(double, t->width);
    size_t n = 0, missing = 0;
    if (!numbers)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < t->width; k++) {
        int number = sis__cell_number(cells[k], &numbers[n]);
        missing += !number && sis__cell_missing(cells[k]);
        n += (size_t)number;
    }
    *out = t->opt->no_header || (n > 0 && n + missing == t->width && !are_counted(numbers, n)) ||
           is_repeated(numbers, n);
    free(numbers);
    return SIS_OK;
}

/* c0, c1, ... */
static const char **count_names(size_t n) {
    sis__strings names = {0};
    char name[32];
    for (size_t k = 0; k < n; k++) {
        snprintf(name, sizeof name, "c%zu", k);
        sis__strings_add(&names, name);
    }
    return sis__strings_finish(&names);
}

/* Take the cells of the first line: names, or values of columns without names. */
static int take_first(table *t, sis__strings *cells) {
    int row = 0, code = SIS_OK;
    t->width = cells->n;
    const char **first = sis__strings_finish(cells);
    if (!first)
        return SIS_E_NOMEM;
    t->names = first;
    code = is_row(t, first, &row);
    if (code != SIS_OK || !row)
        return code != SIS_OK ? code : check_blank(t) != SIS_OK ? SIS_E_FORMAT : check_names(t);
    t->first = first;
    t->names = count_names(t->width);
    return t->names ? SIS_OK : SIS_E_NOMEM;
}

/* A header without commas but with other common separators is a different kind of table. */
static int check_separator(const table *t) {
    char header[SIS__EXCERPT_SIZE];
    const char *cell = t->in.cell.data, *found = strpbrk(cell, ";\t");
    if (t->in.separator != ',' || !t->in.last || t->in.quoted || !found)
        return SIS_OK;
    return sis__fail(SIS_E_FORMAT,
                     "%s: the header is a single cell, \"%s\"; expected commas between cells, %s",
                     t->in.source.name, sis__cell_excerpt(cell, header),
                     *found == ';' ? "not semicolons: save it with commas"
                                   : "or tabs and a name ending in .tsv");
}

static int read_header(table *t) {
    sis__strings cells = {0};
    int code = sis__cells_begin(&t->in);
    int found = code == SIS_OK ? sis__cells_row(&t->in) : code;
    if (found <= 0)
        return found < 0 ? found
                         : sis__fail(SIS_E_FORMAT,
                                     "%s: is empty; expected a header with the names of the "
                                     "features, then rows of numbers",
                                     t->in.source.name);
    code = check_separator(t);
    for (int last = 0; code == SIS_OK && !last;) {
        sis__strings_add(&cells, sis__cells_text(&t->in));
        code = sis__buf_error(&cells.text);
        last = t->in.last;
        if (code == SIS_OK && !last)
            code = sis__cells_next(&t->in);
    }
    if (code == SIS_OK)
        code = take_first(t, &cells);
    sis__strings_release(&cells);
    return code;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

/* Does the cell hold a word, as opposed to a number or a missing value? */
static int is_word(const char *cell) {
    cell += strspn(cell, " \t");
    if (sis__cell_missing(cell) || sis__same_word(cell, "inf") || sis__same_word(cell, "infinity"))
        return 0;
    return (*cell >= 'A' && *cell <= 'Z') || (*cell >= 'a' && *cell <= 'z') ||
           (unsigned char)*cell >= 0x80;
}

/* Advice about a cell that is not a number; "" if there is none. */
static const char *advice(const table *t, size_t column) {
    const char *cell = t->in.cell.data;
    if (t->width == 1 && t->in.separator == '\t' && strchr(cell, ','))
        return " (cells are separated by tabs here; commas need .csv)";
    if (sis__cell_decimal_comma(cell))
        return SIS__DECIMAL_POINT;
    if (sis__cell_missing(cell))
        return SIS__SAY_MISSING;
    if (!is_word(cell))
        return "";
    return sis__same_word(t->names[column], "text")
               ? "; --text COLUMN takes a column as texts"
               : "; for a column of words there are the options categorical, label and id, or take "
                 "it out of the table";
}

/* Fail: tell why the cell of this column is invalid. */
static int bad_cell(const table *t, size_t column) {
    char name[SIS__EXCERPT_SIZE], found[SIS__EXCERPT_SIZE];
    const char *cell = t->in.cell.data;
    sis__cell_excerpt(t->names[column], name);
    if (sis__cell_blank(cell))
        return sis__fail(
            SIS_E_FORMAT,
            "%s, row %zu (line %zu), column \"%s\": expected a %s, found an empty cell%s",
            t->in.source.name, t->height, t->in.row_line, name,
            column == t->of.label ? "label" : "number",
            column == t->of.label ? "" : SIS__SAY_MISSING);
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

/* Is the cell allowed in this column? */
static int is_allowed(const table *t, const sis__column *c, int number, int absent) {
    int words = c->type == SIS__COLUMN_CATEGORY || c->type >= SIS__COLUMN_IGNORE ||
                (c->type == SIS__COLUMN_ANY && (t->opt->categorical || t->all_types));
    return number || words || (absent && (t->opt->missing != SIS_MISSING_ERROR || t->all_types));
}

/* Count a cell that is not a number; the first of each kind is remembered for messages. */
static void count_cell(const table *t, sis__column *c, int absent, uint16_t cell) {
    if (absent && c->missing++ == 0) {
        c->missing_row = t->height;
        c->missing_line = t->in.row_line;
        c->missing_code = cell;
    }
    if (!absent && c->words++ == 0) {
        c->word_row = t->height;
        c->word_line = t->in.row_line;
        c->word_code = cell;
    }
}

static int keep_label(table *t) {
    if (sis__cell_blank(t->in.cell.data) && !t->all_types)
        return bad_cell(t, t->of.label);
    t->codes[t->used + t->of.label] = 0;
    sis__strings_add(&t->of.labels, sis__cells_text(&t->in));
    return sis__buf_error(&t->of.labels.text);
}

/* Add the cell to the kept columns of its row. */
static int keep_aside(table *t, size_t column) {
    t->codes[t->used + column] = 0;
    if (t->of.row.len == 0)
        sis__buf_char(&t->of.row, '{');
    sis__json_text(&t->of.row, t->names[column], sis__cells_text(&t->in));
    return sis__buf_error(&t->of.row);
}

/* Store the kept columns of a row that has been read. */
static int end_row(table *t) {
    t->used += t->width;
    t->height++;
    if (!t->of.keeps)
        return SIS_OK;
    sis__buf_char(&t->of.row, '}');
    sis__buf_char(&t->of.row, '\0');
    int error = sis__buf_error(&t->of.row);
    if (error == SIS_OK)
        sis__strings_add(&t->of.kept, t->of.row.data);
    sis__buf_clear(&t->of.row);
    return error == SIS_OK ? sis__buf_error(&t->of.kept.text) : error;
}

/* Store the cell as text. */
static int keep_text(table *t, size_t column, int number, int absent) {
    sis__column *c = &t->columns[column];
    uint16_t *cell = &t->codes[t->used + column];
    if (!is_allowed(t, c, number, absent))
        return bad_cell(t, column);
    if (t->complete) {
        *cell = sis__column_find(c, sis__cells_text(&t->in));
        return SIS_OK;
    }
    int code = sis__column_add(c, sis__cells_text(&t->in), cell);
    if (code == SIS_OK && !number)
        count_cell(t, c, absent, *cell);
    return code;
}

/* Store the cell as the id of its row. */
static int keep_id(table *t) {
    char name[SIS__EXCERPT_SIZE];
    const char *cell = sis__cells_text(&t->in);
    size_t n = strlen(cell);
    if (sis__cell_blank(cell) || sis__utf8_check(cell, n) != n)
        return sis__fail(SIS_E_FORMAT,
                         "%s, row %zu (line %zu), column \"%s\": expected an id, found %s",
                         t->in.source.name, t->height, t->in.row_line,
                         sis__cell_excerpt(t->names[t->of.id], name),
                         sis__cell_blank(cell) ? "an empty cell" : "bytes that are not UTF-8 text");
    t->numbers[t->used + t->of.id] = 0;
    t->codes[t->used + t->of.id] = 0;
    sis__strings_add(&t->of.ids, cell);
    return sis__buf_error(&t->of.ids.text);
}

static int keep_cell(table *t, size_t column) {
    double v = 0;
    sis__column_type type = t->columns ? t->columns[column].type : SIS__COLUMN_NUMBER;
    if (type == SIS__COLUMN_ID && !t->all_types)
        return keep_id(t);
    int number = sis__cell_number(t->in.cell.data, &v) && isfinite(v);
    int truth = number ? -1 : sis__cell_truth(t->in.cell.data);
    int absent = !number && sis__cell_missing(t->in.cell.data);
    t->numbers[t->used + column] = number ? v : truth >= 0 ? (double)truth : (double)NAN;
    if (type == SIS__COLUMN_LABEL && !t->all_types)
        return keep_label(t);
    if (type == SIS__COLUMN_KEPT && !t->all_types)
        return keep_aside(t, column);
    if (type == SIS__COLUMN_IGNORE && !t->all_types) {
        t->codes[t->used + column] = 0;
        return SIS_OK;
    }
    if (t->columns && truth >= 0 && !t->complete)
        t->columns[column].truths++;
    if (t->columns)
        return keep_text(t, column, number || truth >= 0, absent);
    return number || truth >= 0 || (absent && t->opt->missing != SIS_MISSING_ERROR)
               ? SIS_OK
               : bad_cell(t, column);
}

static void drop_rows(table *t) {
    sis__strings_release(&t->of.labels);
    sis__strings_release(&t->of.ids);
    sis__strings_release(&t->of.kept);
    sis__buf_release(&t->of.row);
    free(t->numbers);
    free(t->codes);
    t->numbers = NULL;
    t->codes = NULL;
    t->used = t->room = t->codes_room = 0;
    t->dropped = t->height;
}

/* Room for another row. */
static int reserve_row(table *t) {
    size_t held = t->used * (sizeof *t->numbers + (t->columns ? sizeof *t->codes : 0)) +
                  t->of.labels.text.len + t->of.ids.text.len + t->of.kept.text.len;
    int code =
        sis__marks_add(&t->marks, (sis__mark){t->height, t->in.row_offset, t->in.row_line}, held);
    if (code > 0)
        drop_rows(t);
    if (code >= 0)
        code = sis__reserve(&t->numbers, &t->room, t->used + t->width, sizeof *t->numbers);
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
    return end_row(t);
}

/* Start to collect cells by column, if anything but numbers is allowed. */
static int begin_columns(table *t) {
    const sis_data_opt *o = t->opt;
    t->of.label = t->of.id = SIZE_MAX;
    if (!o->categorical && !o->label && !o->id && !o->kept && !o->types && !o->categories &&
        !o->names && !t->all_types && !has_index(t))
        return SIS_OK;
    if (!(t->columns = SIS_NEW(sis__column, t->width)))
        return SIS_E_NOMEM;
    for (size_t k = 0; k < t->width; k++)
        t->columns[k].name = t->names[k];
    int code = sis__columns_types(t->columns, t->width, t->in.source.name, o, t->first != NULL);
    for (size_t k = 0; code == SIS_OK && k < t->width; k++) {
        t->of.label = t->columns[k].type == SIS__COLUMN_LABEL ? k : t->of.label;
        t->of.id = t->columns[k].type == SIS__COLUMN_ID ? k : t->of.id;
        t->of.keeps |= t->columns[k].type == SIS__COLUMN_KEPT;
    }
    return code;
}

/* Store the first line as a row, if there is no header. */
static int keep_first(table *t) {
    int code = reserve_row(t);
    for (size_t k = 0; code == SIS_OK && k < t->width; k++) {
        sis__buf_clear(&t->in.cell);
        sis__buf_str(&t->in.cell, t->first[k]);
        t->in.quoted = 1; /* blanks are already removed */
        code = sis__buf_error(&t->in.cell);
        if (code == SIS_OK)
            code = keep_cell(t, k);
    }
    return code == SIS_OK ? end_row(t) : code;
}

static int read_rows(table *t) {
    int code = SIS_OK, found = 0;
    while (code == SIS_OK && (found = sis__cells_row(&t->in)) > 0)
        code = read_row(t);
    return code == SIS_OK ? found : code;
}

static int read_table(table *t) {
    int code = read_header(t);
    if (code == SIS_OK)
        code = begin_columns(t);
    if (code == SIS_OK && t->first)
        code = keep_first(t);
    if (code == SIS_OK)
        code = read_rows(t);
    if (code == SIS_OK && t->height == 0)
        code =
            sis__fail(SIS_E_FORMAT, "%s: has a header but no rows of numbers", t->in.source.name);
    return code;
}

/* Hand the numbers over to a data set. */
static int take_numbers(table *t, sis_data **out) {
    void *fitted = sis__realloc(t->numbers, t->used, sizeof *t->numbers);
    sis__packed rows = {.type = sis__packed_type_find('f', sizeof(double)),
                        .rank = 2,
                        .dims = {t->height - t->dropped, t->width},
                        .n = t->used,
                        .bytes = (unsigned char *)(fitted ? fitted : t->numbers)};
    t->numbers = NULL;
    return sis__data_from_rows(t->in.source.name, SIS_KIND_TABLE, &rows, NULL, out);
}

static sis__columns columns_of(const table *t) {
    return (sis__columns){.path = t->in.source.name,
                          .width = t->width,
                          .height = t->height - t->dropped,
                          .columns = t->columns,
                          .numbers = t->numbers,
                          .codes = t->codes,
                          .has_header = t->first == NULL,
                          .first = t->dropped};
}

/* Attach labels or ids to the rows. */
static int finish_texts(sis__strings *texts, void (*set)(sis_data *, const char **),
                        sis_data *data) {
    const char **list = sis__strings_finish(texts);
    if (list)
        set(data, list);
    return list ? SIS_OK : SIS_E_NOMEM;
}

/* The rows in memory as a data set, without names of values. */
static int take_rows(table *t, sis_data **out) {
    sis__columns columns = columns_of(t);
    int code = t->layout ? sis__layout_rows(t->layout, &columns, out) : take_numbers(t, out);
    if (code == SIS_OK && t->of.label != SIZE_MAX)
        code = finish_texts(&t->of.labels, sis__data_set_labels, *out);
    if (code == SIS_OK && t->of.id != SIZE_MAX)
        code = finish_texts(&t->of.ids, sis__data_set_ids, *out);
    if (code == SIS_OK && t->of.keeps)
        code = finish_texts(&t->of.kept, sis__data_set_kept, *out);
    return code;
}

static void release_columns(table *t) {
    for (size_t k = 0; t->columns && k < t->width; k++)
        sis__column_release(&t->columns[k]);
    free(t->columns);
    sis__layout_free(t->layout);
    if (!t->names_lent)
        free(t->names);
    free(t->first);
    free(t->path);
}

static void release_table(table *t) {
    drop_rows(t);
    release_columns(t);
    free(t->marks.items);
    sis__cells_close(&t->in);
}

/* ---- Tables in blocks ---------------------------------------------------------------------- */

/* Shared by the sections of a file: a table without rows, and its options. */
typedef struct {
    table table;
    sis_data_opt opt;
} whole;

static void free_whole(void *how) {
    release_columns(&((whole *)how)->table);
    free(how);
}

static int read_section(const void *how, const sis__section *section, sis_data **out) {
    table t = ((const whole *)how)->table;
    t.in = (sis__cells){.separator = t.in.separator, .line = section->at->line};
    t.height = t.dropped = section->at->example;
    int code = sis__source_section(&t.in.source, section->from, section->at->offset, section->end);
    if (code == SIS_OK)
        code = read_rows(&t);
    if (code == SIS_OK)
        code = take_rows(&t, out);
    drop_rows(&t);
    sis__cells_close(&t.in);
    return code;
}

/* Names of values, and the feature of each value. */
static int name_values(table *t, sis_data *data) {
    if (t->layout)
        return sis__layout_name(t->layout, data);
    data->names = t->names;
    t->names_lent = 1;
    return SIS_OK;
}

static int take_blocks(table *t, sis_data **out) {
    static const sis__blocks_reader reader = {read_section, free_whole};
    whole *w = SIS_NEW(whole, 1);
    if (!w)
        return SIS_E_NOMEM;
    drop_rows(t);
    w->opt = (sis_data_opt){
        .size = sizeof w->opt, .missing = t->opt->missing, .categorical = t->opt->categorical};
    w->table = (table){.in.separator = t->in.separator,
                       .path = t->path,
                       .names = t->names,
                       .width = t->width,
                       .opt = &w->opt,
                       .columns = t->columns,
                       .complete = 1,
                       .layout = t->layout,
                       .of.label = t->of.label,
                       .of.id = t->of.id,
                       .of.keeps = t->of.keeps};
    sis__marks marks = t->marks;
    t->path = NULL;
    t->names = NULL;
    t->columns = NULL;
    t->layout = NULL;
    t->marks = (sis__marks){0};
    int code = sis__blocks_new(&t->in.source, &marks, t->height, &reader, w, out);
    if (code == SIS_OK)
        sis__blocks_lack(*out, t->of.id == SIZE_MAX, t->of.label == SIZE_MAX, 1);
    if (code == SIS_OK && w->table.layout && sis__layout_is_strict(w->table.layout))
        code = sis__blocks_check(*out);
    return code == SIS_OK ? name_values(&w->table, *out) : code;
}

/* ---- Tables -------------------------------------------------------------------------------- */

static int lay_out(table *t) {
    sis__columns columns = columns_of(t);
    columns.path = t->path;
    return t->columns ? sis__layout_new(&columns, t->opt, &t->layout) : SIS_OK;
}

/* Read the data set of an open table. */
static int take_table(table *t, sis_data **out) {
    t->marks.memory = t->opt->memory;
    t->path = sis__strdup(t->in.source.name);
    int code = t->path ? read_table(t) : SIS_E_NOMEM;
    if (code == SIS_OK)
        code = lay_out(t);
    if (code == SIS_OK && t->marks.over)
        code = take_blocks(t, out);
    else if (code == SIS_OK) {
        code = take_rows(t, out);
        code = code == SIS_OK ? name_values(t, *out) : code;
    }
    if (code != SIS_OK) {
        sis_data_free(*out);
        *out = NULL;
    }
    return code;
}

static int open_table(table *t, const char *path, char separator) {
    int code = sis__cells_open(&t->in, path, separator);
    return code == SIS_OK && t->opt->memory ? sis__source_keep(&t->in.source, t->opt->memory)
                                            : code;
}

static int read_separated(const char *path, char separator, const sis_data_opt *opt,
                          sis_data **out) {
    table t = {.opt = opt};
    *out = NULL;
    int code = open_table(&t, path, separator);
    if (code == SIS_OK)
        code = take_table(&t, out);
    release_table(&t);
    return code;
}

int sis__data_read_standard(const char *path, const sis_data_opt *opt, sis_data **out) {
    table t = {.opt = opt};
    *out = NULL;
    int code = open_table(&t, path, ',');
    if (code == SIS_OK)
        code = sis__cells_begin(&t.in);
    if (code == SIS_OK)
        code = sis__source_peek(&t.in.source) == '{' ? sis__data_take_jsonl(&t.in.source, opt, out)
                                                     : take_table(&t, out);
    release_table(&t);
    return code;
}

int sis__columns_of_csv(const char *path, char separator, const sis_data_opt *opt,
                        sis__columns_use *use, void *ctx) {
    table t = {.opt = opt, .all_types = 1};
    int code = sis__cells_open(&t.in, path, separator);
    if (code == SIS_OK)
        code = read_table(&t);
    if (code == SIS_OK) {
        sis__columns columns = columns_of(&t);
        code = use(&columns, ctx);
    }
    release_table(&t);
    return code;
}

int sis__data_read_csv(const char *path, const sis_data_opt *opt, sis_data **out) {
    return opt->text ? sis__data_read_text_column(path, ',', opt, out)
                     : read_separated(path, ',', opt, out);
}

int sis__data_read_tsv(const char *path, const sis_data_opt *opt, sis_data **out) {
    if (opt->text)
        return sis__data_read_text_column(path, '\t', opt, out);
    int texts = sis__data_is_labelled_text(path, opt);
    if (texts != 0)
        return texts < 0 ? texts : sis__data_read_labelled_text(path, opt, out);
    return read_separated(path, '\t', opt, out);
}
