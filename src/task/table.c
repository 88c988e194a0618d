/* SPDX-License-Identifier: MIT
 *
 * Tables with missing values and words: treatment of missing values, categories from the mask's
 * data as well as the input, and rows sent to a model as cells.
 *
 * Internally a column of words has one value per category, 0 or 1, and these are one feature.
 * Records, masks and walks see only numbers; the request to a cmd: or http: model restores the
 * words (sis_model_take_rows).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/files.h>
#include <sis/handle.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "task/task.h"

/* ---- Options ------------------------------------------------------------------------------- */

/* The handling of missing values. */
static int find_missing(const sis_task_opt *o, sis__task_encoding *e, int known) {
    static const struct {
        const char *name;
        sis_missing value;
    } ways[] = {{"nan", SIS_MISSING_NAN},
                {"mean", SIS_MISSING_MEAN},
                {"median", SIS_MISSING_MEDIAN},
                {"drop", SIS_MISSING_ALL},
                {"error", SIS_MISSING_ERROR}};
    if (!o->examples.missing) {
        if (known && e->read.missing == SIS_MISSING_ERROR)
            e->read.missing = SIS_MISSING_NAN;
        return SIS_OK;
    }
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
        if (strcmp(o->examples.missing, ways[k].name) == 0) {
            e->read.missing = ways[k].value;
            e->drop = ways[k].value == SIS_MISSING_ALL;
            if (o->examples.data && (e->read.missing >= SIS_MISSING_MEAN))
                return sis__fail(SIS_E_OPTION,
                                 "--missing %s needs a file; fill in missing values of a data set "
                                 "in memory yourself",
                                 o->examples.missing);
            return SIS_OK;
        }
    return sis__fail(SIS_E_OPTION,
                     "--missing: expected nan, mean, median, drop or error, found \"%s\"",
                     o->examples.missing);
}

static int find_rows_as(const sis_task_opt *o, sis__task_encoding *e) {
    const char *as = o->examples.rows_as ? o->examples.rows_as : "one-hot";
    e->rows.wanted = strcmp(as, "values") == 0 || strcmp(as, "objects") == 0;
    e->rows.form.objects = strcmp(as, "objects") == 0;
    if (!e->rows.wanted)
        return strcmp(as, "one-hot") == 0
                   ? SIS_OK
                   : sis__fail(SIS_E_OPTION,
                               "--rows-as: expected values, objects or one-hot, found \"%s\"", as);
    e->read.categorical = 1;
    return SIS_OK;
}

/* Columns that hold words even if they look like numbers: those of the options, and string inputs
 * of one column. */
static int name_words(sis__task_encoding *e) {
    sis_net_tensor input;
    sis__buf names;
    size_t n;
    sis__buf_init(&names);
    sis__buf_str(&names, e->read.categories ? e->read.categories : "");
    for (size_t i = 0; i < sis_net_inputs(e->net); i++) {
        if (!sis_net_input_is_fed(e->net, i) || sis_net_input_get(e->net, i, &input) != SIS_OK ||
            input.type != SIS_NET_TEXTS || input.shape.rank > 2 || strchr(input.name, ',') ||
            (input.shape.rank == 2 && input.shape.dims[1] != 1))
            continue;
        sis__buf_str(&names, names.len ? "," : "");
        sis__buf_str(&names, input.name);
    }
    int error = sis__buf_give(&names, &e->words, &n);
    e->read.categories = n ? e->words : NULL;
    return error;
}

/* A network with string inputs takes words of tables and texts, whatever --rows-as says. */
static int find_words(sis__task_encoding *e) {
    if (!e->net || !sis_net_takes_words(e->net))
        return SIS_OK;
    int said = e->read.categorical == 1 || e->read.categories;
    e->rows.wanted = 1;
    e->read.categorical = said ? 1 : 2;
    return e->read.types ? SIS_OK : name_words(e);
}

int sis__task_table_open(sis_task *t) {
    sis__task_encoding *e = &t->encoding;
    int error = find_rows_as(&t->opt, e), known = t->model.missing || e->rows.wanted;
    if (error == SIS_OK)
        error = find_words(e);
    if (error == SIS_OK)
        error = find_missing(&t->opt, e, known);
    if (e->rows.wanted && e->read.missing == SIS_MISSING_NAN)
        e->read.missing = SIS_MISSING_ALL; /* a missing word is null as well */
    return error;
}

/* ---- Categories of the mask's data ----------------------------------------------------------- */

/* The file that a mask is made from; NULL: none. */
static const char *file_of_mask(const char *mask) {
    const char *file;
    int from_data = sis__text_is(mask, "mean", &file) || sis__mask_is_drawn(mask, &file);
    return from_data && *file && strcmp(file, "-") != 0 ? file : NULL;
}

/* Missing words are another category. */
static size_t count_of(const sis_column *c) {
    return c->n_categories ? c->n_categories + (c->missing > 0) : 0;
}

static size_t count_categories(const sis_columns *c) {
    size_t n = 0;
    for (size_t k = 0; k < c->n; k++)
        n += count_of(&c->items[k]);
    return n;
}

/* "column=category" of all categories. */
static int name_categories(sis__task_encoding *e, const sis_columns *c) {
    size_t n = count_categories(c), used = 0;
    e->seed = n ? SIS_NEW(char *, n) : NULL;
    if (n && !e->seed)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < c->n; k++)
        for (size_t j = 0; j < count_of(&c->items[k]); j++) {
            const char *column = c->items[k].name;
            const char *category =
                j < c->items[k].n_categories ? c->items[k].categories[j] : ""; /* missing */
            if (!(e->seed[used++] = sis__buf_text("%s=%s", column, category)))
                return SIS_E_NOMEM;
            e->n_seed = used;
        }
    return SIS_OK;
}

int sis__task_seed_open(sis_task *t) {
    sis__task_encoding *e = &t->encoding;
    const char *file = file_of_mask(t->opt.question.mask);
    int wanted = e->read.categorical || e->read.categories || e->read.types;
    if (!file || !wanted || e->read.names || t->opt.question.plain ||
        (t->opt.examples.input && sis__file_same(file, t->opt.examples.input)))
        return SIS_OK; /* the input itself has all categories */
    sis_columns columns;
    sis_data_opt opt = e->read;
    opt.label = opt.id = opt.kept = NULL; /* these columns are optional */
    int error = sis_columns_read(file, &opt, &columns);
    if (error != SIS_OK) /* errors are reported when the mask is made */
        return error == SIS_E_NOMEM ? error : SIS_OK;
    error = name_categories(e, &columns);
    sis_columns_release(&columns);
    e->read.names = (const char *const *)e->seed;
    e->read.n_names = e->n_seed;
    e->read.more_names = 1;
    return error;
}

void sis__task_seed_close(sis__task_encoding *e) {
    if (!e->read.more_names)
        return;
    for (size_t k = 0; e->seed && k < e->n_seed; k++)
        free(e->seed[k]);
    free(e->seed);
    e->seed = NULL;
    e->read.names = NULL;
    e->read.n_names = e->n_seed = 0;
    e->read.more_names = 0;
}

/* ---- Rows with missing values ---------------------------------------------------------------- */

int sis__task_has_missing(const sis_data *data, size_t row, double *values, int *out) {
    size_t width = sis_data_width(data, row);
    int error = sis_data_values(data, row, values);
    *out = 0;
    for (size_t v = 0; error == SIS_OK && v < width && !*out; v++)
        *out = isnan(values[v]) != 0;
    return error;
}

int sis__task_drop(sis_task *t) {
    sis__task_source *s = &t->source;
    size_t n = 0, room = 0;
    double *values = NULL;
    int error = SIS_OK, missing = 0;
    if (!t->encoding.drop || sis__task_is_kind(s->data, "text"))
        return SIS_OK;
    size_t *rows = SIS_NEW_RAW(size_t, s->n);
    error = rows ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < s->n; i++) {
        size_t row = sis__task_row(s, i);
        error = sis__reserve(&values, &room, sis_data_width(s->data, row), sizeof *values);
        if (error == SIS_OK)
            error = sis__task_has_missing(s->data, row, values, &missing);
        if (error == SIS_OK && !missing)
            rows[n++] = row;
    }
    free(values);
    free(s->rows);
    s->rows = rows;
    if (error == SIS_OK && n == 0)
        error = sis__fail(SIS_E_ARGUMENT,
                          "--missing drop: every example has a missing value, so none is left");
    s->dropped = s->n - n;
    s->n = error == SIS_OK ? n : s->n;
    return error;
}

/* ---- Rows as cells ------------------------------------------------------------------------- */

static size_t last_of(const int *map, size_t from, size_t n) {
    size_t to = from + 1;
    while (to < n && map[to] == map[from])
        to++;
    return to;
}

/* 1 if all n texts are numbers, or all are true or false, which become 1 and 0. */
static int are_numbers(const char *const *texts, size_t n, double *out) {
    size_t k = 0;
    while (k < n && sis__text_number(texts[k], &out[k]))
        k++;
    return k == n;
}

static int are_truths(const char *const *texts, size_t n, double *out) {
    size_t k = 0;
    for (; k < n; k++) {
        int truth = sis__same_word(texts[k], "true");
        if (!truth && !sis__same_word(texts[k], "false"))
            break;
        out[k] = truth;
    }
    return k == n;
}

/* The columns of a table whose values belong to features by `map` (n). */
static int fill_columns(sis__task_rows *r, const sis_data *data, const int *map, size_t n) {
    const char *const *names = sis_data_names(data);
    const char *const *features = sis_data_feature_names(data);
    size_t k = 0;
    for (size_t v = 0, to; v < n; v = to, k++) {
        const char *name = features[map[v]];
        size_t length = strlen(name);
        to = last_of(map, v, n);
        r->columns[k] = (sis_row_column){.name = name, .first = v, .n = to - v};
        if (strcmp(names[v], name) == 0)
            continue;
        r->columns[k].categories = r->categories + v;
        for (size_t w = v; w < to; w++)
            r->categories[w] = names[w] + length + 1;
        r->columns[k].logical = are_truths(r->categories + v, to - v, r->numbers + v);
        if (r->columns[k].logical || are_numbers(r->categories + v, to - v, r->numbers + v))
            r->columns[k].numbers = r->numbers + v;
    }
    r->form.columns = r->columns;
    r->form.n = k;
    return SIS_OK;
}

static int make_form(sis__task_rows *r, const sis_data *data) {
    size_t n = sis_data_width(data, 0);
    int *map = SIS_NEW_RAW(int, n);
    r->columns = SIS_NEW(sis_row_column, n);
    r->categories = SIS_NEW(const char *, n);
    r->numbers = SIS_NEW(double, n);
    int error = map && r->columns && r->categories && r->numbers ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK) {
        sis_data_features(data, 0, map);
        error = fill_columns(r, data, map, n);
    }
    free(map);
    return error;
}

/* 1 if the examples of a derived task have the columns that the model knows. */
static int check_form(const sis__task_rows *r, const sis_data *data) {
    sis__task_rows own = {.form = {.n = 0}};
    int error = make_form(&own, data);
    int same = error == SIS_OK && own.form.n == r->form.n;
    for (size_t k = 0; same && k < own.form.n; k++) {
        const sis_row_column *a = &own.columns[k], *b = &r->form.columns[k];
        same = a->n == b->n && strcmp(a->name, b->name) == 0 && !a->categories == !b->categories;
        for (size_t j = 0; same && a->categories && j < a->n; j++)
            same = strcmp(a->categories[j], b->categories[j]) == 0;
    }
    sis__task_rows_release(&own);
    return error != SIS_OK ? error
           : same          ? SIS_OK
                           : sis__fail(SIS_E_ARGUMENT,
                                       "--input: its columns and categories differ from those of the task");
}

void sis__task_rows_release(sis__task_rows *r) {
    free(r->columns);
    free(r->categories);
    free(r->numbers);
    r->columns = NULL;
    r->categories = NULL;
    r->numbers = NULL;
}

int sis__task_rows_begin(sis_task *t) {
    sis__task_rows *r = &t->encoding.rows;
    const sis_data *data = t->source.data;
    if (t->encoding.net && !sis__task_is_kind(data, "table"))
        r->wanted = 0;
    if (!r->wanted)
        return SIS_OK;
    if (!sis__task_is_kind(data, "table") || !sis_data_names(data))
        return sis__fail(SIS_E_OPTION, "--rows-as needs a table (.csv, .tsv)");
    if (t->derived)
        return check_form(r, data);
    int error = make_form(r, data);
    if (error == SIS_OK)
        error = sis__task_own_model(t);
    if (error == SIS_OK)
        error = sis_model_take_rows(&t->model, &r->form);
    if (error == SIS_E_ARGUMENT)
        return sis__fail_in(error, "--input");
    return error == SIS_E_UNSUPPORTED ? sis__fail_in(SIS_E_OPTION, "--rows-as") : error;
}

/* A column of words in which a sample of the mask (width) is neither one category nor missing. */
static const char *mixed_column(const sis_row_form *f, const double *mask) {
    for (size_t k = 0; k < f->n; k++) {
        const sis_row_column *c = &f->columns[k];
        size_t ones = 0, zeros = 0, absent = 0;
        for (size_t j = 0; c->categories && j < c->n; j++) {
            double v = mask[c->first + j];
            ones += v == 1;
            zeros += v == 0;
            absent += isnan(v) != 0;
        }
        if (c->categories && absent != c->n && (ones != 1 || ones + zeros != c->n))
            return c->name;
    }
    return NULL;
}

int sis__task_rows_check_mask(const sis_task *t) {
    const sis_row_form *f = &t->encoding.rows.form;
    const char *column = NULL;
    if (!t->encoding.rows.wanted || !t->mask.ready)
        return SIS_OK;
    for (size_t k = 0; t->mask.constant && k < f->n && !isnan(t->mask.fill); k++)
        column = f->columns[k].categories ? f->columns[k].name : column;
    for (size_t s = 0; !t->mask.constant && !column && s < t->mask.n_samples; s++)
        column = mixed_column(f, t->mask.rows + s * t->mask.width);
    return column ? sis__fail(SIS_E_OPTION,
                              "--mask: its value for column \"%.80s\" is not a category; use "
                              "mean:FILE (the most frequent), hotdeck:FILE or rows:FILE",
                              column)
                  : SIS_OK;
}
