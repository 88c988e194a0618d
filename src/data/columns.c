/* SPDX-License-Identifier: MIT
 *
 * Tables with categories. See columns.h. A column is known to hold categories only after its last
 * cell, so each cell is stored both as a number and as a code of its distinct text. Then the layout
 * is determined: each value is either a column's number or one of its categories. Finally every row
 * is converted.
 */
#include "data/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "data/cell.h"

enum { NUMBER = -1, UNWANTED = -2, MISSING = -3 };
static const size_t VALUES_MAX = (size_t)1 << 28;

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
    if (number == UINT32_MAX && c->cells.n == SIS__CATEGORIES_MAX)
        c->full = 1;
    else if (number == UINT32_MAX)
        error = add_cell(c, cell, n, &number);
    *code = c->full || error ? 0 : (uint16_t)number;
    return error;
}

uint16_t sis__column_find(const sis__column *c, const char *cell) {
    uint32_t number = c->full ? 0 : sis__names_find(&c->cells, cell, strlen(cell));
    return number == UINT32_MAX ? 0 : (uint16_t)number;
}

int sis__column_is_category(const sis__column *c) {
    return c->type == SIS__COLUMN_CATEGORY || (c->type == SIS__COLUMN_ANY && c->words > 0);
}

/* ---- The layout of values ------------------------------------------------------------------ */

typedef struct {
    size_t column;
    /* NUMBER, or the index of the cell in the column; UNWANTED: not in the file; MISSING: any
     * missing cell */
    int category;
    const char *const *words; /* the value is the position of the cell in this list; or NULL */
} value;

struct sis__layout {
    const char *path;
    const sis__column *columns; /* (width) */
    size_t width;
    sis_missing missing;
    const sis_data_opt *opt; /* only during construction */
    int given;               /* the caller named the values, and other categories are an error */
    int no_missing;          /* the model has no value for missing words, by its number of values */
    unsigned char *is_category; /* (width) */
    value *values;              /* (n) */
    size_t n, room;
    sis__strings list;  /* names of values, during construction */
    const char **names; /* (n) the final names */
    int names_owned;
};
typedef sis__layout layout;

/* Is the column not a feature? */
static int is_aside(const layout *l, size_t column) {
    return l->columns[column].type >= SIS__COLUMN_IGNORE;
}

/* Is a missing word NaN in each value of the column? */
static int is_absent(const layout *l, const sis__column *c, size_t cell) {
    return l->missing >= SIS_MISSING_ALL && c->absent[cell];
}

static int add_value(layout *l, size_t column, int category, const char *name) {
    int code = sis__reserve(&l->values, &l->room, l->n + 1, sizeof *l->values);
    if (code != SIS_OK)
        return code;
    l->values[l->n++] = (value){column, category, NULL};
    sis__strings_add(&l->list, name);
    return sis__buf_error(&l->list.text);
}

static int too_many(const layout *l, size_t column) {
    char name[SIS__EXCERPT_SIZE];
    return sis__fail(SIS_E_FORMAT,
                     "%s, column \"%s\": more than %d different cells, and not all are numbers; "
                     "ignore the column (type ignore), or fix the cells that are not numbers",
                     l->path, sis__cell_excerpt(l->columns[column].name, name),
                     SIS__CATEGORIES_MAX);
}

typedef struct {
    const char *text;
    double number; /* NaN: not a number */
    int category;
} sortable;

static sortable sortable_of(const char *text, int category) {
    sortable s = {text, NAN, category};
    return sis__cell_number(text, &s.number) ? s : (sortable){text, NAN, category};
}

static int by_text(const void *a, const void *b) {
    return strcmp(((const sortable *)a)->text, ((const sortable *)b)->text);
}

static int by_number(const void *a, const void *b) {
    double x = ((const sortable *)a)->number, y = ((const sortable *)b)->number;
    return x != y ? (x > y) - (x < y) : by_text(a, b);
}

/* In the order of common encoders: words as text, numeric categories by value. */
static void sort_categories(sortable *all, size_t n) {
    int words = 0;
    for (size_t k = 0; k < n; k++)
        words |= isnan(all[k].number) != 0;
    qsort(all, n, sizeof *all, words ? by_text : by_number);
}

static const char *behind_name(const sis__column *c, const char *name, char separator) {
    size_t n = strlen(c->name);
    return strncmp(name, c->name, n) == 0 && name[n] == separator ? name + n + 1 : NULL;
}

/* The category that a value's name refers to, if it belongs to this column; else NULL. Column names
 * may contain '=': "a=b=c" belongs to the column "a=b" if that is a column of words, otherwise to
 * "a". */
static const char *category_of(const layout *l, const sis__column *c, const char *name) {
    const char *category = behind_name(c, name, '=');
    for (size_t k = 0; category && k < l->width; k++) {
        const sis__column *other = &l->columns[k];
        if (strlen(other->name) > strlen(c->name) && behind_name(other, name, '=') &&
            (sis__column_is_category(other) || !sis__column_is_category(c)))
            return NULL;
    }
    return category;
}

/* Do the given names make this column categorical? */
static int is_named_category(const layout *l, const sis__column *c) {
    for (size_t k = 0; l->opt->more_names && k < l->opt->n_names; k++)
        if (category_of(l, c, l->opt->names[k]))
            return 1;
    return 0;
}

/* The categories of the file plus those of the given names that it lacks: *n of them in `out`.
 * Returns whether words are missing. */
static int gather(const layout *l, const sis__column *c, sortable *out, size_t *n) {
    int missing = 0;
    *n = 0;
    for (size_t k = 0; k < c->cells.n; k++)
        if (c->absent[k])
            missing = 1;
        else
            out[(*n)++] = sortable_of(cell_text(c, k), (int)k);
    for (size_t k = 0; l->opt->more_names && k < l->opt->n_names; k++) {
        const char *text = category_of(l, c, l->opt->names[k]);
        if (text && sis__cell_missing_word(text))
            missing = 1;
        else if (text && sis__names_find(&c->cells, text, strlen(text)) == UINT32_MAX)
            out[(*n)++] = sortable_of(text, UNWANTED);
    }
    return missing;
}

/* Add "column=category" for each category, sorted. Missing words, if they are a category, come
 * last, as in common encoders. */
static int add_categories(layout *l, size_t column) {
    const sis__column *c = &l->columns[column];
    size_t n = 0;
    sortable *sorted = SIS_NEW(sortable, c->cells.n + l->opt->n_names + 1);
    sis__buf name;
    int code = sorted ? SIS_OK : SIS_E_NOMEM;
    sis__buf_init(&name);
    if (code == SIS_OK) {
        int missing = gather(l, c, sorted, &n);
        sort_categories(sorted, n);
        if (missing && l->missing < SIS_MISSING_ALL && !l->no_missing)
            sorted[n++] = (sortable){SIS__MISSING_CATEGORY, NAN, MISSING};
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

/* Fail: the column must be numeric, and this cell is not. */
static int no_number(const layout *l, size_t column, size_t row, size_t line, uint16_t cell_code) {
    char name[SIS__EXCERPT_SIZE], cell[SIS__EXCERPT_SIZE];
    const sis__column *c = &l->columns[column];
    sis__cell_excerpt(c->name, name);
    if (c->full) /* the cell is no longer known */
        return sis__fail(SIS_E_FORMAT,
                         "%s, row %zu (line %zu), column \"%s\": expected a finite number%s",
                         l->path, row, line, name, c->words ? "" : SIS__SAY_MISSING);
    const char *found = cell_text(c, cell_code);
    return sis__fail(
        SIS_E_FORMAT,
        "%s, row %zu (line %zu), column \"%s\": expected a finite number, found %s%s%s%s", l->path,
        row, line, name, *found ? "\"" : "an empty cell", sis__cell_excerpt(found, cell),
        *found ? "\"" : "",
        sis__cell_decimal_comma(found) ? SIS__DECIMAL_POINT
        : !c->words || !*found         ? SIS__SAY_MISSING
        : l->opt->n_names
            ? "; give a category as the number it had in training, or its words by --categories"
            : "");
}

/* Add a numeric column. */
static int add_number(layout *l, size_t column) {
    const sis__column *c = &l->columns[column];
    if (sis__column_is_category(c))
        return no_number(l, column, c->word_row, c->word_line, c->word_code);
    if (c->missing && l->missing == SIS_MISSING_ERROR)
        return no_number(l, column, c->missing_row, c->missing_line, c->missing_code);
    return add_value(l, column, NUMBER, c->name);
}

/* Lay out the values in the order of the file. */
static int lay_out(layout *l) {
    int code = SIS_OK;
    for (size_t k = 0; k < l->width && code == SIS_OK; k++) {
        const sis__column *c = &l->columns[k];
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

/* Is this the column's name, ignoring surrounding blanks? */
static int is_called(const sis__column *c, const char *name) {
    size_t n = strlen(c->name);
    name += strspn(name, " \t");
    return strncmp(name, c->name, n) == 0 && sis__cell_blank(name + n);
}

/* The cell of a model's category: the same text or the same number ("1" and "1.0"). */
static int find_cell(const sis__column *c, const char *category) {
    uint32_t cell = sis__names_find(&c->cells, category, strlen(category));
    double wanted, found;
    if (cell != UINT32_MAX || !sis__cell_number(category, &wanted))
        return cell == UINT32_MAX ? UNWANTED : (int)cell;
    for (size_t k = 0; k < c->cells.n; k++)
        if (sis__cell_number(cell_text(c, k), &found) && found == wanted)
            return (int)k;
    return UNWANTED;
}

/* The column that this value is a category of: "column=category", or "column_category" as encoders
 * write it, if the column holds words; the longest name wins. l->width: none. */
static size_t find_column(const layout *l, const char *name, const char **category) {
    static const char separators[] = "=_";
    size_t best = l->width;
    for (const char *s = separators; *s && best == l->width; s++)
        for (size_t k = 0; k < l->width; k++) {
            const sis__column *c = &l->columns[k];
            const char *found = is_aside(l, k) || c->full ? NULL
                                : *s == '='               ? category_of(l, c, name)
                                                          : behind_name(c, name, *s);
            if (!found || (*s == '_' && !sis__column_is_category(c) && !c->truths))
                continue;
            if (best == l->width || (*s == '_' && found > *category)) {
                best = k;
                *category = found;
            }
        }
    return best;
}

/* The position of a cell in a list of words: the same text or the same number; -1: not there. */
static int find_word(const char *const *words, const char *cell) {
    double found, wanted;
    int is_number = sis__cell_number(cell, &wanted);
    for (int k = 0; words[k]; k++)
        if (strcmp(words[k], cell) == 0 ||
            (is_number && sis__cell_number(words[k], &found) && found == wanted))
            return k;
    return -1;
}

/* Is the column made of positions already? It has no word, and the list has no number. */
static int has_positions(const sis__column *c, const char *const *words) {
    double number;
    for (size_t k = 0; words[k]; k++)
        if (sis__cell_number(words[k], &number))
            return 0;
    return c->words == 0;
}

/* Add a column whose values are positions of words. */
static int add_words(layout *l, size_t column, const char *const *words) {
    const sis__column *c = &l->columns[column];
    if (has_positions(c, words))
        return add_number(l, column);
    if (c->full)
        return too_many(l, column);
    if (c->missing && l->missing == SIS_MISSING_ERROR)
        return no_number(l, column, c->missing_row, c->missing_line, c->missing_code);
    int code = add_value(l, column, NUMBER, c->name);
    if (code == SIS_OK)
        l->values[l->n - 1].words = words;
    return code;
}

/* Add value i of the given names: a column of numbers, or a category of a column of words. */
static int add_named(layout *l, size_t i) {
    char excerpt[SIS__EXCERPT_SIZE];
    const char *category = NULL, *name = l->opt->names[i];
    for (size_t k = 0; k < l->width; k++)
        if (!is_aside(l, k) && is_called(&l->columns[k], name))
            return l->opt->words && l->opt->words[i] ? add_words(l, k, l->opt->words[i])
                                                     : add_number(l, k);
    size_t column = find_column(l, name, &category);
    if (column < l->width)
        return add_value(l, column, find_cell(&l->columns[column], category), name);
    return sis__fail(SIS_E_FORMAT, "%s: has no column for the value \"%s\"", l->path,
                     sis__cell_excerpt(name, excerpt));
}

static int lay_out_named(layout *l) {
    int code = SIS_OK;
    for (size_t k = 0; k < l->opt->n_names && code == SIS_OK; k++)
        code = add_named(l, k);
    return code;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* Fail: the cell is not one of the column's categories. The message lists them. */
static int unknown_category(const layout *l, size_t row, size_t column, uint16_t found) {
    enum { MAX = 8 };
    const sis__column *c = &l->columns[column];
    char name[SIS__EXCERPT_SIZE], cell[SIS__EXCERPT_SIZE], list[MAX * (SIS__EXCERPT_SIZE + 2)] = "";
    size_t n = 0, used = 0;
    for (size_t v = 0; v < l->n; v++) /* "column=category" */
        if (l->values[v].column == column && n++ < MAX && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", n > 1 ? ", " : "",
                                     sis__cell_excerpt(l->names[v] + strlen(c->name) + 1, cell));
    return sis__fail(SIS_E_FORMAT,
                     "%s, row %zu, column \"%s\": unknown category \"%s\"; expected %s%s", l->path,
                     row, sis__cell_excerpt(c->name, name),
                     sis__cell_excerpt(cell_text(c, found), cell), list, n > MAX ? ", ..." : "");
}

/* The same for a list of words. */
static int unknown_word(const layout *l, size_t row, const value *x, uint16_t found) {
    enum { MAX = 8 };
    const sis__column *c = &l->columns[x->column];
    char name[SIS__EXCERPT_SIZE], cell[SIS__EXCERPT_SIZE], list[MAX * (SIS__EXCERPT_SIZE + 2)] = "";
    size_t n = 0, used = 0;
    for (; x->words[n]; n++)
        if (n < MAX && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "",
                                     sis__cell_excerpt(x->words[n], cell));
    return sis__fail(SIS_E_FORMAT,
                     "%s, row %zu, column \"%s\": unknown category \"%s\"; expected %s%s", l->path,
                     row, sis__cell_excerpt(c->name, name),
                     sis__cell_excerpt(cell_text(c, found), cell), list, n > MAX ? ", ..." : "");
}

/* Fail: a word is missing, and the model has no value for that. */
static int missing_word(const layout *l, size_t row, size_t column) {
    char name[SIS__EXCERPT_SIZE];
    return sis__fail(SIS_E_FORMAT,
                     "%s, row %zu, column \"%s\": the cell is empty, and the model has no category "
                     "for that; --missing nan sends 0 for every category",
                     l->path, row, sis__cell_excerpt(l->columns[column].name, name));
}

/* The model's value for missing words of a column; l->n: none. */
static size_t find_missing(const layout *l, size_t column) {
    size_t v = 0, n = strlen(l->columns[column].name);
    while (v < l->n && (l->values[v].column != column || l->values[v].category == NUMBER ||
                        !sis__cell_missing_word(l->names[v] + n + 1)))
        v++;
    return v;
}

/* Check that the category of each column is among the values. A missing word is the model's value
 * for it, or else 0 in each value, as encoders do. Needed only if values were given, or if the
 * model has no value for missing words. `codes` belong to the row. */
static int check_known(const layout *l, size_t row, const uint16_t *codes, double *values) {
    for (size_t k = 0; k < l->width; k++) {
        const sis__column *c = &l->columns[k];
        double sum = 0;
        if (!l->is_category[k])
            continue;
        for (size_t v = 0; v < l->n; v++)
            sum += l->values[v].column == k ? values[v] : 0;
        if (sum == 1 || isnan(sum))
            continue;
        size_t missing = find_missing(l, k);
        if (!c->absent[codes[k]])
            return unknown_category(l, row, k, codes[k]);
        if (missing < l->n)
            values[missing] = 1;
        else if (l->missing == SIS_MISSING_ERROR)
            return missing_word(l, row, k);
    }
    return SIS_OK;
}

/* The positions of words in a row; a word that is missing is NaN. */
static int fill_words(const layout *l, size_t row, const uint16_t *codes, double *values) {
    for (size_t v = 0; v < l->n; v++) {
        const value *x = &l->values[v];
        const sis__column *c = &l->columns[x->column];
        if (!x->words)
            continue;
        int at = find_word(x->words, cell_text(c, codes[x->column]));
        values[v] = at < 0 ? (double)NAN : at;
        if (at < 0 && !c->absent[codes[x->column]])
            return unknown_word(l, row, x, codes[x->column]);
    }
    return SIS_OK;
}

/* One value of a row, from its numbers and codes (width). */
static double value_at(const layout *l, const value *x, const double *numbers,
                       const uint16_t *codes) {
    uint16_t code = codes[x->column];
    if (x->category == NUMBER)
        return numbers[x->column];
    if (is_absent(l, &l->columns[x->column], code))
        return NAN;
    return x->category == MISSING ? l->columns[x->column].absent[code] : code == x->category;
}

static int fill(const layout *l, const sis__columns *t, double *out) {
    int code = SIS_OK;
    for (size_t i = 0; code == SIS_OK && i < t->height; i++, out += l->n) {
        const uint16_t *codes = t->codes + i * t->width;
        for (size_t v = 0; v < l->n; v++)
            out[v] = value_at(l, &l->values[v], t->numbers + i * t->width, codes);
        code = fill_words(l, t->first + i, codes, out);
        if (code == SIS_OK && sis__layout_is_strict(l))
            code = check_known(l, t->first + i, codes, out);
    }
    return code;
}

int sis__layout_rows(const sis__layout *l, const sis__columns *t, sis_data **out) {
    if (l->n > VALUES_MAX / t->height)
        return sis__fail(SIS_E_FORMAT, "%s: %zu rows of %zu values are too many", l->path,
                         t->height, l->n);
    double *numbers = SIS_NEW_RAW(double, l->n * t->height);
    int code = numbers ? fill(l, t, numbers) : SIS_E_NOMEM;
    if (code != SIS_OK) {
        free(numbers);
        return code;
    }
    sis__packed rows = {.type = sis__packed_type_find('f', sizeof(double)),
                        .rank = 2,
                        .dims = {t->height, l->n},
                        .n = l->n * t->height,
                        .bytes = (unsigned char *)numbers};
    return sis__data_from_rows(l->path, SIS_KIND_TABLE, &rows, NULL, out);
}

/* ---- Complete layouts ----------------------------------------------------------------------- */

/* Number the features, one per column, in the order of their values. */
static int map_features(const layout *l, sis_data *data) {
    sis__strings names = {0};
    int *feature = SIS_NEW(int, l->width), n = 0;
    data->map = SIS_NEW(int, l->n);
    for (size_t v = 0; feature && data->map && v < l->n; v++) {
        size_t column = l->values[v].column;
        if (feature[column] == 0) {
            feature[column] = ++n;
            sis__strings_add(&names, l->columns[column].name);
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

/* Note how missing words are treated. */
static void note_missing(const layout *l, sis_data *data) {
    size_t zeros = 0, own = 0;
    for (size_t k = 0; k < l->width && l->missing < SIS_MISSING_ALL; k++) {
        const sis__column *c = &l->columns[k];
        int missing = 0;
        for (size_t i = 0; l->is_category[k] && i < c->cells.n; i++)
            missing |= c->absent[i];
        own += missing && find_missing(l, k) < l->n;
        zeros += missing && find_missing(l, k) == l->n;
    }
    if (own + zeros)
        snprintf(data->note, sizeof data->note,
                 "missing words: a category of their own in %zu column%s, no category (0) in %zu",
                 own, own == 1 ? "" : "s", zeros);
}

int sis__layout_name(sis__layout *l, sis_data *data) {
    note_missing(l, data);
    data->is_position = SIS_NEW(unsigned char, l->n);
    if (!data->is_position)
        return SIS_E_NOMEM;
    for (size_t v = 0; v < l->n; v++)
        data->is_position[v] = l->values[v].words != NULL;
    data->names = l->names;
    l->names_owned = 0;
    return map_features(l, data);
}

int sis__layout_is_strict(const sis__layout *l) {
    return l->given || l->no_missing;
}

void sis__layout_free(sis__layout *l) {
    if (!l)
        return;
    sis__strings_release(&l->list);
    if (l->names_owned)
        free(l->names);
    free(l->values);
    free(l->is_category);
    free(l);
}

/* The number of values for missing words. */
static size_t count_missing(const layout *l) {
    size_t n = 0;
    for (size_t v = 0; v < l->n; v++)
        n += l->values[v].category == MISSING;
    return n;
}

/* The layout of the file. A model without value names may have been trained without values for
 * missing words: then it has fewer values. */
static int lay_out_own(layout *l) {
    int code = lay_out(l);
    size_t missing = count_missing(l), wanted = l->opt->n_values;
    if (code != SIS_OK || !missing || !wanted || l->n != wanted + missing)
        return code;
    l->no_missing = 1;
    l->n = 0;
    sis__strings_release(&l->list);
    l->list = (sis__strings){0};
    return lay_out(l);
}

static int lay_out_all(layout *l) {
    int code = l->given ? lay_out_named(l) : lay_out_own(l);
    if (code == SIS_OK && l->n == 0)
        code = sis__fail(SIS_E_FORMAT, "%s: no column is a feature", l->path);
    if (code != SIS_OK)
        return code;
    l->names = sis__strings_finish(&l->list);
    l->names_owned = 1;
    l->is_category = SIS_NEW(unsigned char, l->width);
    for (size_t v = 0; l->is_category && v < l->n; v++)
        l->is_category[l->values[v].column] = l->values[v].category != NUMBER;
    return l->names && l->is_category ? SIS_OK : SIS_E_NOMEM;
}

int sis__layout_new(const sis__columns *t, const sis_data_opt *opt, sis__layout **out) {
    layout *l = *out = SIS_NEW(layout, 1);
    if (!l)
        return SIS_E_NOMEM;
    *l = (layout){.path = t->path,
                  .columns = t->columns,
                  .width = t->width,
                  .missing = opt->missing,
                  .opt = opt,
                  .given = opt->names && !opt->more_names};
    int code = lay_out_all(l);
    l->opt = NULL;
    if (code != SIS_OK) {
        sis__layout_free(l);
        *out = NULL;
    }
    return code;
}
