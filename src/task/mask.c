/* SPDX-License-Identifier: MIT
 *
 * Masks for every kind of model and input: one value for all, or rows as wide as the examples, made
 * once from a file, another data set or the model's own mask.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/example.h>
#include <sis/explain.h>
#include <sis/files.h>
#include <sis/text.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "task/task.h"

int sis__mask_is_drawn(const char *mask, const char **file) {
    return sis__text_is(mask, "hotdeck", file) || sis__text_is(mask, "rows", file);
}

int sis__task_mask_fill(sis_task *t, double value) {
    t->mask = (sis__task_mask){.ready = 1, .constant = 1, .fill = value, .n_samples = 1};
    return SIS_OK;
}

/* Allocate n samples of the examples' width. */
static int make_rows(sis_task *t, size_t n, size_t width) {
    t->mask = (sis__task_mask){.ready = 1, .n_samples = n, .width = width};
    if (n > SIZE_MAX / sizeof(double) / (width ? width : 1))
        return sis__fail(SIS_E_NOMEM, "out of memory: %zu masks of %zu values", n, width);
    t->mask.rows = (double *)sis__alloc(n, width * sizeof(double));
    return t->mask.rows ? SIS_OK : SIS_E_NOMEM;
}

/* ---- Another data set ---------------------------------------------------------------------- */

/* Columns are found by name. Columns of ids and labels, which are no features, may be absent; texts
 * may be in a file without columns. */
static int read_beside(const char *path, const sis_data_opt *wanted, sis_data **out) {
    int error = SIS_E_ARGUMENT;
    for (int without = 0; error == SIS_E_ARGUMENT && without < 16; without++) {
        sis_data_opt opt = *wanted;
        if (((without & 1) && !opt.id) || ((without & 2) && !opt.label) ||
            ((without & 4) && !opt.text) || ((without & 8) && !opt.kept))
            continue;
        opt.id = without & 1 ? NULL : opt.id;
        opt.label = without & 2 ? NULL : opt.label;
        opt.text = without & 4 ? NULL : opt.text;
        opt.kept = without & 8 ? NULL : opt.kept;
        opt.labels = NULL;
        error = sis_data_read(path, &opt, out);
    }
    return error;
}

/* 1 if the columns are those of the input, in the same order, or either has no names. */
static int same_columns(const sis_data *a, const sis_data *b) {
    const char *const *names = sis_data_names(a), *const *others = sis_data_names(b);
    size_t n = sis_data_width(a, 0);
    if (!names || !others)
        return 1;
    for (size_t v = 0; v < n; v++)
        if (v >= sis_data_width(b, 0) || strcmp(names[v], others[v]) != 0)
            return 0;
    return sis_data_width(b, 0) == n;
}

/* Read a data set with the columns of the input, found by name if they are not the same. */
static int read_columns(const sis_task *t, const char *option, const char *path, sis_data **out) {
    const sis_data *data = t->source.data;
    sis_data_opt opt = t->encoding.read;
    int given = opt.names || !sis__task_is_kind(data, "table");
    int error = given || !opt.categorical ? read_beside(path, &opt, out) : SIS_E_FORMAT;
    if (given || (error != SIS_OK && error != SIS_E_FORMAT) || (!error && same_columns(data, *out)))
        return error ? sis__fail_in(error, "%s", option) : SIS_OK;
    if (!error)
        sis_data_free(*out);
    opt.names = sis_data_names(data);
    opt.n_names = sis_data_width(data, 0);
    opt.categorical = 1;
    error = read_beside(path, &opt, out);
    return error ? sis__fail_in(error, "%s, with the columns of the input", option) : SIS_OK;
}

int sis__task_is_input(const sis_task *t, const char *path) {
    const sis__task_source *s = &t->source;
    int whole = !t->opt.examples.rows || sis__task_is_kind(s->data, "table");
    return s->read && whole && !t->encoding.pieces.items && !t->encoding.prompts.items &&
           sis__file_same(path, t->opt.examples.input);
}

int sis__task_donors_open(const sis_task *t, const char *option, const char *path, size_t wanted,
                          sis__task_donors *d) {
    *d = (sis__task_donors){.data = t->opt.question.background, .width = wanted};
    int error = SIS_OK;
    if (*path && sis__task_is_input(t, path)) {
        d->data = t->source.data;
    } else if (*path) {
        error = read_columns(t, option, path, &d->read);
        d->data = d->read;
    }
    size_t width = 0;
    for (size_t i = 0; error == SIS_OK && i < sis_data_count(d->data); i++) {
        error = sis__task_width(t, d->data, i, &width);
        if (error == SIS_OK && width != wanted)
            error = sis__fail(SIS_E_ARGUMENT,
                              "%s: example %zu of %s has %zu values, but the input has %zu", option,
                              i, *path ? path : "the background", width, wanted);
        else if (error == SIS_OK && sis__task_other_shape(t, d->data, i))
            error = sis__fail(SIS_E_ARGUMENT, "%s: image %zu of %s has another size than the input",
                              option, i, *path ? path : "the background");
    }
    if (error != SIS_OK) {
        sis_data_free(d->read);
        d->read = NULL;
    }
    return error;
}

/* A masked category must exist: use the most frequent one. */
static int choose_categories(const sis_task *t, double *mean) {
    const sis_data *data = t->source.data;
    size_t width = sis_data_width(data, sis__task_row(&t->source, 0));
    if (!sis__task_is_kind(data, "table") || sis_data_features(data, 0, NULL) == width)
        return SIS_OK;
    int *map = SIS_NEW_RAW(int, width);
    if (!map)
        return SIS_E_NOMEM;
    sis_data_features(data, 0, map);
    for (size_t v = 0; v < width; v++)
        mean[v] = sis_data_is_missing_category(data, v) ? -1 : mean[v];
    int error = sis_mean_choose(map, width, mean);
    free(map);
    return error;
}

/* The number of words of each value, added up: (width + 1) */
static size_t *place_words(const sis_task *t, size_t width) {
    const sis_data_opt *read = &t->encoding.read;
    size_t *first = SIS_NEW(size_t, width + 1);
    for (size_t v = 0; first && v < width; v++) {
        first[v + 1] = first[v];
        for (size_t k = 0; read->words[v] && read->words[v][k]; k++)
            first[v + 1]++;
    }
    return first;
}

/* The same for values that are positions of words. */
static int choose_words(const sis_task *t, const sis_data *data, size_t width, double *mean) {
    if (!t->encoding.read.words || t->encoding.read.n_names != width)
        return SIS_OK;
    size_t *first = place_words(t, width);
    size_t *counts = first ? SIS_NEW(size_t, first[width] + 1) : NULL;
    double *row = SIS_NEW_RAW(double, width);
    int error = counts && row ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < sis_data_count(data); i++) {
        error = sis__task_encode(t, data, i, width, row, NULL);
        for (size_t v = 0; error == SIS_OK && v < width; v++)
            if (row[v] >= 0 && row[v] < (double)(first[v + 1] - first[v]))
                counts[first[v] + (size_t)row[v]]++;
    }
    for (size_t v = 0; error == SIS_OK && v < width; v++) {
        size_t best = first[v];
        for (size_t k = first[v]; k < first[v + 1]; k++)
            best = counts[k] > counts[best] ? k : best;
        if (first[v] < first[v + 1])
            mean[v] = counts[best] ? (double)(best - first[v]) : NAN;
    }
    free(first);
    free(counts);
    free(row);
    return error;
}

static int mask_mean(sis_task *t, const char *path, size_t width) {
    sis__task_donors d;
    int error = sis__task_donors_open(t, "--mask", path, width, &d);
    if (error != SIS_OK)
        return error;
    double *row = SIS_NEW_RAW(double, width);
    sis_mean *means = SIS_NEW(sis_mean, width);
    error = row && means ? make_rows(t, 1, width) : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < sis_data_count(d.data); i++) {
        error = sis__task_encode(t, d.data, i, width, row, NULL);
        if (error == SIS_OK)
            sis_mean_add(means, row, width);
    }
    for (size_t v = 0; error == SIS_OK && v < width; v++)
        t->mask.rows[v] = sis_mean_get(&means[v]);
    if (error == SIS_OK)
        error = choose_categories(t, t->mask.rows);
    if (error == SIS_OK)
        error = choose_words(t, d.data, width, t->mask.rows);
    free(row);
    free(means);
    sis_data_free(d.read);
    return error;
}

/* ---- Hot decks ----------------------------------------------------------------------------- */

/* The first example with features: its layout is that of the deck's examples. */
static int find_like(const sis_task *t, sis_example *like) {
    int error = SIS_OK;
    for (size_t i = 0; error == SIS_OK && i < t->source.n; i++) {
        error = sis__task_load_values(t, sis__task_row(&t->source, i), like);
        if (error == SIS_OK)
            error = sis__task_load_features(t, like);
        if (error == SIS_OK && (!like->error || i + 1 == t->source.n))
            return SIS_OK;
        sis_example_release(like);
    }
    return error;
}

void sis__task_deck_free(sis__task_deck *d) {
    if (!d)
        return;
    sis_deck_free(d->deck);
    sis_example_release(&d->like);
    free(d->inputs);
    free(d->rows);
    free(d);
}

/* A deck of the n examples in d->rows, for inputs like the first one. */
static int make_deck(const sis_task *t, size_t n, sis_deck_kind kind, sis__task_deck *d) {
    int error = find_like(t, &d->like);
    if (error != SIS_OK)
        return error;
    d->inputs = SIS_NEW(sis_input, n);
    if (!d->inputs)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        d->inputs[i] = d->like.input;
        d->inputs[i].values = d->rows + i * d->like.input.n_values;
    }
    return sis_deck_new(d->inputs, n, kind, &d->deck);
}

/* The values of the donors: *n rows. Examples with missing values are skipped if such examples are
 * dropped. */
static int load_donors(const sis_task *t, const sis__task_donors *d, double *rows, size_t *n) {
    int error = SIS_OK, missing = 0;
    *n = 0;
    for (size_t i = 0; error == SIS_OK && i < sis_data_count(d->data); i++) {
        double *row = rows + *n * d->width;
        if (t->encoding.drop)
            error = sis__task_has_missing(d->data, i, row, &missing);
        if (error == SIS_OK && !missing)
            error = sis__task_encode(t, d->data, i, d->width, row, NULL);
        *n += !missing;
    }
    return error == SIS_OK && *n == 0
               ? sis__fail(SIS_E_ARGUMENT, "--mask: every row of the hot deck has a missing value")
               : error;
}

static int mask_hotdeck(sis_task *t, sis_deck_kind kind, const char *path, size_t width) {
    sis__task_donors from;
    int error = sis__task_donors_open(t, "--mask", path, width, &from);
    if (error != SIS_OK)
        return error;
    size_t n = sis_data_count(from.data);
    sis__task_deck *d = SIS_NEW(sis__task_deck, 1);
    if (d)
        d->rows = (double *)sis__alloc_raw(n, width * sizeof *d->rows);
    error = d && d->rows
                ? make_rows(t, t->opt.question.samples ? t->opt.question.samples : SIS_TASK_DRAWS,
                            width)
                : SIS_E_NOMEM;
    error = error == SIS_OK ? load_donors(t, &from, d->rows, &n) : error;
    if (error == SIS_OK)
        error = make_deck(t, n, kind, d);
    if (error == SIS_OK)
        error = sis_deck_draw(d->deck, &d->inputs[0], t->mask.n_samples, t->opt.question.seed,
                              t->mask.rows);
    sis_data_free(from.read);
    if (error == SIS_OK && sis__task_redraws(t))
        t->mask.deck = d;
    else
        sis__task_deck_free(d);
    return error;
}

/* ---- Single masks ---------------------------------------------------------------------------- */

static int mask_file(sis_task *t, const char *path, size_t width) {
    sis_array a;
    int error = sis_array_read(path, &a);
    if (error != SIS_OK)
        return sis__fail_in(error, "--mask");
    if (a.n != width)
        error = sis__fail(SIS_E_ARGUMENT, "--mask: %s has %zu values, but an example has %zu", path,
                          a.n, width);
    int *order = error == SIS_OK ? SIS_NEW_RAW(int, width) : NULL;
    if (error == SIS_OK && !order)
        error = SIS_E_NOMEM;
    if (error == SIS_OK && (error = sis__task_array_order(t, &a, order)) != SIS_OK)
        sis__fail_in(error, "--mask: %s", path);
    if (error == SIS_OK)
        error = make_rows(t, 1, width);
    for (size_t v = 0; error == SIS_OK && v < width; v++)
        t->mask.rows[v] = a.values[order[v]];
    free(order);
    sis_array_release(&a);
    return error;
}

/* Set each value of a feature to 1 / (number of its values). */
static int share_out(sis_task *t, const int *feature_of, size_t n) {
    size_t *sizes = SIS_NEW(size_t, n);
    int error = sizes ? make_rows(t, 1, n) : SIS_E_NOMEM;
    for (size_t v = 0; error == SIS_OK && v < n; v++)
        if (feature_of[v] >= 0)
            sizes[feature_of[v]]++;
    for (size_t v = 0; error == SIS_OK && v < n; v++)
        if (feature_of[v] >= 0)
            t->mask.rows[v] = 1.0 / (double)sizes[feature_of[v]];
    free(sizes);
    return error;
}

/* The same for all features: an unknown base. */
static int mask_uniform(sis_task *t) {
    sis_example first = {0};
    int error = sis__task_load_values(t, sis__task_row(&t->source, 0), &first);
    if (error == SIS_OK)
        error = sis__task_load_features(t, &first);
    if (error == SIS_OK && !first.input.feature_of)
        error =
            sis__fail(SIS_E_ARGUMENT,
                      "--mask uniform: every feature has one value; group values with --features");
    if (error == SIS_OK)
        error = share_out(t, first.input.feature_of, first.input.n_values);
    sis_example_release(&first);
    return error;
}

/* Masked values are NaN, for models that support missing values. */
static int mask_missing(sis_task *t) {
    if (!t->model.missing)
        return sis__fail(
            SIS_E_OPTION,
            "--mask missing needs a model that takes missing values, such as XGBoost and LightGBM");
    return sis__task_mask_fill(t, NAN);
}

/* The model's own mask. */
static int mask_own(sis_task *t, size_t width) {
    size_t n = 0;
    const float *own = t->encoding.net ? sis_net_mask(t->encoding.net, &n) : NULL;
    if (!own)
        return sis__fail(SIS_E_OPTION,
                         "--mask is missing, and the model has none of its own; %s: mean:FILE, "
                         "zero, value:V, uniform, FILE.npy, hotdeck:FILE or rows:FILE",
                         t->opt.question.target ? "give one"
                                                : "give the one the results were made with");
    if (n != width)
        return sis__fail(SIS_E_ARGUMENT,
                         "--mask: the model's own mask has %zu values, but an example has %zu", n,
                         width);
    int error = make_rows(t, 1, n);
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        t->mask.rows[i] = own[i];
    return error;
}

/* ---- Masks by name --------------------------------------------------------------------------- */

/* The default mask of DNA of any length: an unknown base. */
static int is_unknown_base(const sis_task *t, const char *text) {
    size_t n;
    const sis_net *net = t->encoding.net;
    if (!sis__task_is_kind(t->source.data, "dna") || !t->features.by_default)
        return 0;
    return strcmp(text, "uniform") == 0 || (!*text && !(net && sis_net_mask(net, &n)));
}

static int mask_value(sis_task *t, const char *text) {
    double v;
    return sis__text_number(text, &v)
               ? sis__task_mask_fill(t, v)
               : sis__fail(SIS_E_OPTION, "--mask value:V: expected a number, found \"%s\"", text);
}

/* Masks with a value for each value of an example: from data (NAME:FILE, or NAME alone with a
 * background) or from a file. */
static int mask_by_values(sis_task *t, const char *text, size_t width) {
    const char *file;
    int rows = sis__text_is(text, "rows", &file), mean = sis__text_is(text, "mean", &file);
    int from_data = rows || mean || sis__text_is(text, "hotdeck", &file);
    if (!from_data && sis__text_ends_in(text, ".npy"))
        return mask_file(t, text, width);
    if (!from_data || (!*file && (strchr(text, ':') || !t->opt.question.background)))
        return sis__fail(SIS_E_OPTION,
                         "--mask: expected mean:FILE, zero, value:V, uniform, blur:S, FILE.npy, "
                         "hotdeck:FILE or rows:FILE, found \"%s\"",
                         text);
    return mean ? mask_mean(t, file, width)
                : mask_hotdeck(t, rows ? SIS_DECK_ROWS : SIS_DECK_FEATURES, file, width);
}

static int mask_by_name(sis_task *t, const char *text) {
    const char *rest;
    size_t width = 0;
    if (strcmp(text, "zero") == 0)
        return sis__task_mask_fill(t, 0);
    if (strcmp(text, "missing") == 0)
        return mask_missing(t);
    if (sis__text_is(text, "value", &rest))
        return mask_value(t, rest);
    if (sis__text_is(text, "blur", &rest))
        return sis__task_mask_blur(t, rest);
    int error = sis__task_same_widths(t, "--mask", &width);
    if (error != SIS_OK)
        return error;
    return !*text                         ? mask_own(t, width)
           : strcmp(text, "uniform") == 0 ? mask_uniform(t)
                                          : mask_by_values(t, text, width);
}

/* Check the mask of the task from which this one is derived. */
static int check_shared(const sis_task *t) {
    size_t width;
    int any = t->mask.constant || t->mask.blur > 0;
    int error = any ? SIS_OK : sis__task_same_widths(t, "--mask", &width);
    if (error == SIS_OK && !any && width != t->mask.width)
        error = sis__fail(SIS_E_ARGUMENT, "--mask: it has %zu values, but an example has %zu",
                          t->mask.width, width);
    return error;
}

/* Without --mask and a mask of the network, use the tokenizer's mask token, by name, so that
 * records contain it. */
static int mask_by_tokenizer(sis_task *t) {
    size_t n;
    long id = sis_tokenizer_special(t->encoding.tokenizer, SIS_SPECIAL_MASK);
    if (id < 0 || sis_net_mask(t->encoding.net, &n))
        return SIS_OK;
    t->opt.question.mask =
        sis__buf_text("token:%s", sis_tokenizer_word(t->encoding.tokenizer, (size_t)id));
    return t->opt.question.mask ? SIS_OK : SIS_E_NOMEM;
}

int sis__task_mask_begin(sis_task *t) {
    const char *text = t->opt.question.mask ? t->opt.question.mask : "";
    int error = SIS_OK;
    if (t->opt.question.mask && !*text)
        return sis__fail(SIS_E_OPTION,
                         "--mask: is empty; leave the option out to use the model's own mask");
    if (!t->opt.question.mask && t->encoding.tokenizer) {
        error = mask_by_tokenizer(t);
        text = t->opt.question.mask ? t->opt.question.mask : "";
    }
    if (error != SIS_OK)
        return error;
    if (!t->source.data) /* the mask of tokens may already be known */
        return t->encoding.token ? sis__task_mask_token(t, text) : SIS_OK;
    if (t->encoding.prompts.items)
        return sis__task_mask_fill(t, 0);
    if (t->encoding.pieces.items)
        return sis__task_mask_pieces(t, text);
    if (t->mask.ready)
        return check_shared(t);
    if (t->encoding.token)
        error = sis__task_mask_token(t, text);
    if (error != SIS_OK || t->mask.ready)
        return error;
    return is_unknown_base(t, text) ? sis__task_mask_fill(t, 0.25) : mask_by_name(t, text);
}
