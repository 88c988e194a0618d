/* SPDX-License-Identifier: MIT
 *
 * Types of columns, from options (label, id, categories) or from a file with one line per column:
 *
 *     column     type       missing  distinct  values
 *     age        number           2        57  18 to 96
 *     housing    category         0         3  free 108, own 713, rent 179
 *     row        ignore           0      1000
 *
 * A line begins with the name of a column, as in the table, and a type; the rest is for people. The
 * longest matching name wins, so names may contain blanks. Columns that are not features may be
 * missing in the table, so that data without labels can use the same file.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/cell.h"
#include "data/columns.h"
#include "data/lines.h"

/* ---- Columns by name ----------------------------------------------------------------------- */

/* The column with this name or number; SIZE_MAX: none. */
static size_t find_column(const sis__column *columns, size_t n, const char *name, int by_number) {
    size_t number = 0, digits = strspn(name, "0123456789");
    for (size_t k = 0; k < n; k++)
        if (strcmp(columns[k].name, name) == 0)
            return k;
    if (!by_number || digits == 0 || digits > 9 || name[digits])
        return SIZE_MAX;
    for (const char *at = name; *at; at++)
        number = number * 10 + (size_t)(*at - '0');
    return number < n ? number : SIZE_MAX;
}

/* Fail: no such column. The message lists the columns. */
static int no_column(const sis__column *columns, size_t n, const char *path, const char *wanted) {
    enum { MAX = 12 };
    char name[SIS__EXCERPT_SIZE], list[MAX * (SIS__EXCERPT_SIZE + 2)] = "";
    for (size_t k = 0, used = 0; k < n && k < MAX && used < sizeof list; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", k ? ", " : "",
                                 sis__cell_excerpt(columns[k].name, name));
    return sis__fail(SIS_E_ARGUMENT, "%s: no column \"%s\" in the header: %s%s", path,
                     sis__cell_excerpt(wanted, name), list, n > MAX ? ", ..." : "");
}

/* Context for finding the types of all columns. */
typedef struct {
    sis__column *columns;
    size_t n;
    const char *path; /* of the table */
    int by_number;
} finder;

/* Set the type of the named column; name NULL: do nothing. */
static int set_type(const finder *f, const char *name, sis__column_type type) {
    size_t k = name ? find_column(f->columns, f->n, name, f->by_number) : 0;
    if (name && k == SIZE_MAX)
        return no_column(f->columns, f->n, f->path, name);
    if (name)
        f->columns[k].type = type;
    return SIS_OK;
}

/* ---- Lists --------------------------------------------------------------------------------- */

/* Set the type of the columns in a comma-separated list. A name with commas is matched as a
 * whole. */
static int set_types(const finder *f, const char *list, const char *option, sis__column_type type) {
    char name[1024];
    for (size_t n; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        for (size_t k = 0; k < f->n; k++) {
            size_t m = strlen(f->columns[k].name);
            if (m > n && strncmp(list, f->columns[k].name, m) == 0 && (list[m] == ',' || !list[m]))
                n = m;
        }
        if (n == 0 || n >= sizeof name)
            return sis__fail(SIS_E_ARGUMENT,
                             "%s: %s: expected names separated by commas, found \"%.60s\"", f->path,
                             option, list);
        memcpy(name, list, n);
        name[n] = '\0';
        int error = set_type(f, name, type);
        if (error != SIS_OK)
            return error;
    }
    return SIS_OK;
}

/* ---- Files --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    sis__column_type type;
} types[] = {{"number", SIS__COLUMN_NUMBER}, {"category", SIS__COLUMN_CATEGORY},
             {"ignore", SIS__COLUMN_IGNORE}, {"id", SIS__COLUMN_ID},
             {"label", SIS__COLUMN_LABEL},   {"kept", SIS__COLUMN_KEPT}};
enum { TYPES = sizeof types / sizeof *types };

/* The column whose name the line begins with; SIZE_MAX: none. */
static size_t column_of(const finder *f, const char *line, size_t *length) {
    size_t found = SIZE_MAX;
    *length = 0;
    for (size_t k = 0; k < f->n; k++) {
        size_t n = strlen(f->columns[k].name);
        if (n >= *length && strncmp(line, f->columns[k].name, n) == 0 &&
            (line[n] == ' ' || line[n] == '\t')) {
            found = k;
            *length = n;
        }
    }
    return found;
}

/* Is it the title line? */
static int is_title(const char *line) {
    return strncmp(line, "column", 6) == 0 &&
           strncmp(line + 6 + strspn(line + 6, " \t"), "type", 4) == 0;
}

/* Is the column not a feature? Then it may be missing from the table. */
static int is_aside(const char *line) {
    static const char *const aside[] = {"ignore", "id", "label", "kept"};
    for (size_t i = 0; i < sizeof aside / sizeof *aside; i++)
        for (const char *at = strstr(line, aside[i]); at; at = strstr(at + 1, aside[i])) {
            char before = at == line ? 'x' : at[-1], behind = at[strlen(aside[i])];
            if ((before == ' ' || before == '\t') && (!behind || behind == ' ' || behind == '\t'))
                return 1;
        }
    return 0;
}

static int take_line(const finder *f, const sis__lines *l) {
    char excerpt[SIS__EXCERPT_SIZE];
    size_t length, k = column_of(f, l->line.data, &length);
    if (k == SIZE_MAX && is_aside(l->line.data))
        return SIS_OK;
    if (k == SIZE_MAX)
        return sis__fail(SIS_E_FORMAT, "%s, line %zu: %s has no column \"%s\"", l->source.name,
                         l->number, f->path, sis__cell_excerpt(l->line.data, excerpt));
    const char *word = l->line.data + length;
    word += strspn(word, " \t");
    size_t n = strcspn(word, " \t");
    for (size_t i = 0; i < TYPES; i++)
        if (strlen(types[i].name) == n && strncmp(types[i].name, word, n) == 0) {
            f->columns[k].type = types[i].type;
            return SIS_OK;
        }
    return sis__fail(SIS_E_FORMAT,
                     "%s, line %zu: expected number, category, ignore, id, label or kept after the "
                     "name of the column, found \"%s\"",
                     l->source.name, l->number, sis__cell_excerpt(word, excerpt));
}

static int read_types(const finder *f, const char *path) {
    sis__lines l = {0};
    int error = sis__lines_open(&l, path), found = 0;
    while (error == SIS_OK && (found = sis__lines_next(&l)) > 0)
        if (!sis__lines_blank(&l) && !(l.number == 1 && is_title(l.line.data)))
            error = take_line(f, &l);
    error = error == SIS_OK && found < 0 ? found : error;
    sis__lines_close(&l);
    return error == SIS_OK ? SIS_OK : sis__fail_in(error, "types of columns");
}

/* ---- Entry point --------------------------------------------------------------------------- */

/* An option overrides the file: other columns of this type are ignored. */
static void leave_out(const finder *f, sis__column_type type) {
    for (size_t k = 0; k < f->n; k++)
        if (f->columns[k].type == type)
            f->columns[k].type = SIS__COLUMN_IGNORE;
}

static int has_type(const finder *f, sis__column_type type) {
    for (size_t k = 0; k < f->n; k++)
        if (f->columns[k].type == type)
            return 1;
    return 0;
}

/* At most one column may be the label, and one the id. */
static int check_single(const finder *f, sis__column_type type, const char *what) {
    size_t n = 0;
    for (size_t k = 0; k < f->n; k++)
        n += f->columns[k].type == type;
    return n > 1 ? sis__fail(SIS_E_ARGUMENT, "%s: %zu columns have the type %s; expected one",
                             f->path, n, what)
                 : SIS_OK;
}

int sis__columns_types(sis__column *columns, size_t n, const char *path, const sis_data_opt *opt,
                       int by_number) {
    const finder f = {columns, n, path, by_number};
    char name[SIS__EXCERPT_SIZE];
    int error = opt->types ? read_types(&f, opt->types) : SIS_OK;
    if (error == SIS_OK && opt->categories)
        error = set_types(&f, opt->categories, "--categorical", SIS__COLUMN_CATEGORY);
    if (error == SIS_OK && opt->kept)
        error = set_types(&f, opt->kept, "--keep-columns", SIS__COLUMN_KEPT);
    if (error == SIS_OK && opt->label)
        leave_out(&f, SIS__COLUMN_LABEL);
    if (error == SIS_OK && opt->id)
        leave_out(&f, SIS__COLUMN_ID);
    if (error == SIS_OK)
        error = set_type(&f, opt->label, SIS__COLUMN_LABEL);
    if (error == SIS_OK && opt->id && opt->label && strcmp(opt->id, opt->label) == 0)
        error = sis__fail(SIS_E_ARGUMENT, "%s: column \"%s\" cannot be both the id and the label",
                          path, sis__cell_excerpt(opt->id, name));
    if (error == SIS_OK)
        error = set_type(&f, opt->id, SIS__COLUMN_ID);
    if (error == SIS_OK && n > 1 && !*columns[0].name && columns[0].type == SIS__COLUMN_ANY)
        columns[0].type = has_type(&f, SIS__COLUMN_ID) ? SIS__COLUMN_IGNORE : SIS__COLUMN_ID;
    if (error == SIS_OK)
        error = check_single(&f, SIS__COLUMN_LABEL, "label");
    return error == SIS_OK ? check_single(&f, SIS__COLUMN_ID, "id") : error;
}
