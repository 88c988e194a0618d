/* SPDX-License-Identifier: MIT
 *
 * Tables with categories. See columns.h.
 *
 * Whether a column holds categories is known only at its end, so cells are remembered in both ways
 * on the way: as numbers, and as numbers of different texts. Then values are laid out, each either
 * a column's number or one of its categories, and every row is written by that layout.
 */
#include "data/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "data/cell.h"

enum { NUMBER = -1, UNWANTED = -2 };
static const size_t VALUES_MOST = (size_t)1 << 28;

/* ---- Columns ------------------------------------------------------------------------------- */

void sis__column_release(sis__column *c) {
    sis__names_release(&c->cells);
    free(c->absent);
    *c = (sis__column){0};
}

static const char *cell_text(const sis__column *c, size_t i) {
    return sis__names_text(&c->cells, (uint32_t)i);
}

static int add_cell(sis__column *c, const char *cell, size_t n, uint32_t *number) {
    int error = sis__reserve(&c->absent, &c->absent_room, c->cells.n + 1, 1);
    if (error == SIS_OK)
        error = sis__names_add(&c->cells, cell, n, number);
    if (error == SIS_OK)
        c->absent[*number] = (unsigned char)sis__cell_missing_word(cell);
    return error;
}

int sis__column_add(sis__column *c, const char *cell, uint16_t *code) {
    size_t n = strlen(cell);
    uint32_t number = c->full ? 0 : sis__names_find(&c->cells, cell, n);
    int error = SIS_OK;
    if (number == UINT32_MAX && c->cells.n == SIS__CATEGORIES_MOST)
        c->full = 1;
    else if (number == UINT32_MAX)
        error = add_cell(c, cell, n, &number);
    *code = c->full || error ? 0 : (uint16_t)number;
    return error;
}

int sis__column_is_category(const sis__column *c) {
    return c->type == SIS__COLUMN_CATEGORY || (c->type == SIS__COLUMN_ANY && c->words > 0);
}

/* ---- The layout of values ------------------------------------------------------------------ */

typedef struct {
    size_t column;
    int category; /* NUMBER, or which of the column's cells; UNWANTED: one that the file lacks */
} value;

typedef struct {
    const sis__columns *t;
    const sis_data_opt *opt;
    value *values; /* (n) */
    size_t n, room;
    sis__strings names;
} layout;

/* Is it no feature? */
static int is_aside(const layout *l, size_t column) {
    return l->t->columns[column].type >= SIS__COLUMN_IGNORE;
}

/* Is this category an absent value, and such are none? */
static int is_absent(const layout *l, const sis__column *c, size_t cell) {
    return l->opt->missing >= SIS_MISSING_ALL && c->absent[cell];
}

static int add_value(layout *l, size_t column, int category, const char *name) {
    int code = sis__reserve(&l->values, &l->room, l->n + 1, sizeof *l->values);
    if (code != SIS_OK)
        return code;
    l->values[l->n++] = (value){column, category};
    sis__strings_add(&l->names, name);
    return sis__buf_error(&l->names.text);
}

static int too_many(const layout *l, size_t column) {
    char name[SIS__EXCERPT_SIZE];
    return sis__fail(SIS_E_FORMAT,
                     "%s, column \"%s\": more than %d different cells, and not all are numbers; "
                     "leave the column out (type ignore), or mend the cells that are no numbers",
                     l->t->path, sis__cell_excerpt(l->t->columns[column].name, name),
                     SIS__CATEGORIES_MOST);
}

typedef struct {
    const char *text;
    int category;
} sortable;

static int by_text(const void *a, const void *b) {
    return strcmp(((const sortable *)a)->text, ((const sortable *)b)->text);
}

/* The category that a name of a value means, if it is one of the column's; else NULL. */
static const char *category_of(const sis__column *c, const char *name) {
    size_t n = strlen(c->name);
    return strncmp(name, c->name, n) == 0 && name[n] == '=' ? name + n + 1 : NULL;
}

/* Does the list of names give the column categories? */
static int is_named_category(const layout *l, const sis__column *c) {
    for (size_t k = 0; l->opt->more_names && k < l->opt->n_names; k++)
        if (category_of(c, l->opt->names[k]))
            return 1;
    return 0;
}

/* The categories of the file, and those of the list that it lacks: *n of them to `out`. */
static void gather(const layout *l, const sis__column *c, sortable *out, size_t *n) {
    *n = 0;
    for (size_t k = 0; k < c->cells.n; k++)
        if (!is_absent(l, c, k))
            out[(*n)++] = (sortable){cell_text(c, k), (int)k};
    for (size_t k = 0; l->opt->more_names && k < l->opt->n_names; k++) {
        const char *text = category_of(c, l->opt->names[k]);
        if (text && sis__names_find(&c->cells, text, strlen(text)) == UINT32_MAX)
            out[(*n)++] = (sortable){text, UNWANTED};
    }
}

/* "column=category" for each category, sorted. */
static int add_categories(layout *l, size_t column) {
    const sis__column *c = &l->t->columns[column];
    size_t n = 0;
    sortable *sorted = SIS_NEW(sortable, c->cells.n + l->opt->n_names);
    sis__buf name;
    int code = sorted ? SIS_OK : SIS_E_NOMEM;
    sis__buf_init(&name);
    if (code == SIS_OK) {
        gather(l, c, sorted, &n);
        qsort(sorted, n, sizeof *sorted, by_text);
    }
    for (size_t k = 0; code == SIS_OK && k < n; k++) {
        sis__buf_clear(&name);
        sis__buf_printf(&name, "%s=%s", c->name, sorted[k].text);
        code = sis__buf_error(&name);
        if (code == SIS_OK)
            code = add_value(l, column, sorted[k].category, name.data);
    }
    sis__buf_release(&name);
    free(sorted);
    return code;
}

/* A column of numbers is wanted, and the cell of this row is none. */
static int no_number(const layout *l, size_t column, size_t row, size_t line) {
    char name[SIS__EXCERPT_SIZE], cell[SIS__EXCERPT_SIZE];
    const sis__column *c = &l->t->columns[column];
    sis__cell_excerpt(c->name, name);
    if (c->full) /* which cell it was is no longer known */
        return sis__fail(SIS_E_FORMAT,
                         "%s, row %zu (line %zu), column \"%s\": expected a finite number%s",
                         l->t->path, row, line, name, c->words ? "" : SIS__SAY_MISSING);
    const char *found = cell_text(c, l->t->codes[row * l->t->width + column]);
    return sis__fail(
        SIS_E_FORMAT,
        "%s, row %zu (line %zu), column \"%s\": expected a finite number, found %s%s%s%s",
        l->t->path, row, line, name, *found ? "\"" : "an empty cell",
        sis__cell_excerpt(found, cell), *found ? "\"" : "",
        sis__cell_decimal_comma(found) ? SIS__DECIMAL_POINT
        : c->words                     ? ""
                                       : SIS__SAY_MISSING);
}

/* A column of numbers. */
static int add_number(layout *l, size_t column) {
    const sis__column *c = &l->t->columns[column];
    if (sis__column_is_category(c))
        return no_number(l, column, c->word_row, c->word_line);
    if (c->missing && l->opt->missing == SIS_MISSING_ERROR)
        return no_number(l, column, c->missing_row, c->missing_line);
    return add_value(l, column, NUMBER, c->name);
}

/* The values as the file has them. */
static int lay_out(layout *l) {
    int code = SIS_OK;
    for (size_t k = 0; k < l->t->width && code == SIS_OK; k++) {
        const sis__column *c = &l->t->columns[k];
        if (is_aside(l, k))
            continue;
        int categories = sis__column_is_category(c) || is_named_category(l, c);
        if (categories && c->full)
            code = too_many(l, k);
        else
            code = categories ? add_categories(l, k) : add_number(l, k);
    }
    return code;
}

/* The value called so: a column of numbers, or a category of a column of words. */
static int add_named(layout *l, const char *name) {
    char excerpt[SIS__EXCERPT_SIZE];
    for (size_t k = 0; k < l->t->width; k++) {
        const sis__column *c = &l->t->columns[k];
        size_t n = strlen(c->name);
        if (is_aside(l, k) || strncmp(name, c->name, n) != 0)
            continue;
        if (name[n] == '\0')
            return add_number(l, k);
        if (name[n] == '=' && !c->full) {
            uint32_t cell = sis__names_find(&c->cells, name + n + 1, strlen(name + n + 1));
            return add_value(l, k, cell == UINT32_MAX ? UNWANTED : (int)cell, name);
        }
    }
    return sis__fail(SIS_E_FORMAT, "%s: has no column for the value \"%s\"", l->t->path,
                     sis__cell_excerpt(name, excerpt));
}

static int lay_out_named(layout *l, const sis_data_opt *opt) {
    int code = SIS_OK;
    for (size_t k = 0; k < opt->n_names && code == SIS_OK; k++)
        code = add_named(l, opt->names[k]);
    return code;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* The cell of this row is none of the column's categories; say which there are. */
static int unknown_category(const layout *l, size_t row, size_t column) {
    enum { MOST = 8 };
    const sis__column *c = &l->t->columns[column];
    const char *found = cell_text(c, l->t->codes[row * l->t->width + column]);
    const char *text = l->names.text.data; /* "column=category", each with its NUL */
    char name[SIS__EXCERPT_SIZE], cell[SIS__EXCERPT_SIZE],
        list[MOST * (SIS__EXCERPT_SIZE + 2)] = "";
    size_t n = 0, used = 0;
    for (size_t v = 0; v < l->n; v++, text += strlen(text) + 1)
        if (l->values[v].column == column && n++ < MOST && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", n > 1 ? ", " : "",
                                     sis__cell_excerpt(text + strlen(c->name) + 1, cell));
    return sis__fail(SIS_E_FORMAT,
                     "%s, row %zu, column \"%s\": \"%s\" is not among the known categories: %s%s",
                     l->t->path, row, sis__cell_excerpt(c->name, name),
                     sis__cell_excerpt(found, cell), list, n > MOST ? ", ..." : "");
}

/* Is the category of each column among the values? One that is absent may be none of them: then
 * all are. Only asked where values were given. */
static int check_known(const layout *l, size_t row, const unsigned char *is_category,
                       double *values) {
    for (size_t k = 0; k < l->t->width; k++) {
        const sis__column *c = &l->t->columns[k];
        double sum = 0;
        if (!is_category[k])
            continue;
        for (size_t v = 0; v < l->n; v++)
            sum += l->values[v].column == k ? values[v] : 0;
        if (sum == 1 || isnan(sum))
            continue;
        if (l->opt->missing == SIS_MISSING_ERROR || !c->absent[l->t->codes[row * l->t->width + k]])
            return unknown_category(l, row, k);
        for (size_t v = 0; v < l->n; v++)
            values[v] = l->values[v].column == k ? NAN : values[v];
    }
    return SIS_OK;
}

/* One value of a row: (width) numbers and codes. */
static double value_at(const layout *l, const value *x, const double *numbers,
                       const uint16_t *codes) {
    uint16_t code = codes[x->column];
    if (x->category == NUMBER)
        return numbers[x->column];
    return is_absent(l, &l->t->columns[x->column], code) ? NAN : code == x->category;
}

static int fill(const layout *l, int given, double *out) {
    const sis__columns *t = l->t;
    unsigned char *is_category = SIS_NEW(unsigned char, t->width);
    int code = is_category ? SIS_OK : SIS_E_NOMEM;
    for (size_t v = 0; code == SIS_OK && v < l->n; v++)
        is_category[l->values[v].column] = l->values[v].category != NUMBER;
    for (size_t i = 0; code == SIS_OK && i < t->height; i++, out += l->n) {
        for (size_t v = 0; v < l->n; v++)
            out[v] = value_at(l, &l->values[v], t->numbers + i * t->width, t->codes + i * t->width);
        if (given)
            code = check_known(l, i, is_category, out);
    }
    free(is_category);
    return code;
}

/* Number the features, one a column, in the order of their values. */
static int map_features(const layout *l, sis_data *data) {
    sis__strings names = {0};
    int *feature = SIS_NEW(int, l->t->width), n = 0;
    data->map = SIS_NEW(int, l->n);
    for (size_t v = 0; feature && data->map && v < l->n; v++) {
        size_t column = l->values[v].column;
        if (feature[column] == 0) {
            feature[column] = ++n;
            sis__strings_add(&names, l->t->columns[column].name);
        }
        data->map[v] = feature[column] - 1;
    }
    data->n_features = (size_t)n;
    if (feature && data->map)
        data->feature_names = sis__strings_finish(&names);
    free(feature);
    sis__strings_release(&names);
    return data->feature_names ? SIS_OK : SIS_E_NOMEM;
}

/* ---- The data set -------------------------------------------------------------------------- */

static int make_rows(layout *l, int given, sis_data **out) {
    if (l->n == 0 || l->n > VALUES_MOST / l->t->height)
        return sis__fail(SIS_E_FORMAT, "%s: %zu rows of %zu values %s", l->t->path, l->t->height,
                         l->n, l->n ? "are too many" : "leave nothing to explain");
    double *numbers = SIS_NEW_RAW(double, l->n * l->t->height);
    int code = numbers ? fill(l, given, numbers) : SIS_E_NOMEM;
    const char **names = code == SIS_OK ? sis__strings_finish(&l->names) : NULL;
    if (code == SIS_OK && !names)
        code = SIS_E_NOMEM;
    if (code != SIS_OK) {
        free(numbers);
        return code;
    }
    sis__packed rows = {.type = sis__packed_type_find('f', sizeof(double)),
                        .rank = 2,
                        .dims = {l->t->height, l->n},
                        .n = l->n * l->t->height,
                        .bytes = (unsigned char *)numbers};
    return sis__data_from_rows(l->t->path, SIS_KIND_TABLE, &rows, names, out);
}

int sis__columns_finish(const sis__columns *t, const sis_data_opt *opt, sis_data **out) {
    layout l = {.t = t, .opt = opt};
    int given = opt->names && !opt->more_names;
    int code = given ? lay_out_named(&l, opt) : lay_out(&l);
    if (code == SIS_OK)
        code = make_rows(&l, given, out);
    if (code == SIS_OK)
        code = map_features(&l, *out);
    if (code != SIS_OK) {
        sis_data_free(*out);
        *out = NULL;
    }
    sis__strings_release(&l.names);
    free(l.values);
    return code;
}
