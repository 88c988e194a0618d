/* SPDX-License-Identifier: MIT
 *
 * Maps values to features, and names features that all examples share.
 */
#include <stdlib.h>
#include <string.h>

#include <sis/files.h>
#include <sis/record.h>

#include "base/error.h"
#include "base/ids.h"
#include "base/mem.h"
#include "task/task.h"

int sis__task_same_widths(const sis_task *t, const char *option, size_t *width) {
    size_t other;
    const sis__task_source *s = &t->source;
    int error = sis__task_width(t, s->data, sis__task_row(s, 0), width);
    for (size_t i = 1; error == SIS_OK && i < s->n; i++) {
        error = sis__task_width(t, s->data, sis__task_row(s, i), &other);
        if (error == SIS_OK && other != *width)
            error =
                sis__fail(SIS_E_ARGUMENT,
                          "%s: examples %zu and %zu have %zu and %zu values; expected equally many",
                          option, sis__task_row(s, 0), sis__task_row(s, i), *width, other);
        else if (error == SIS_OK && sis__task_other_shape(t, s->data, sis__task_row(s, i)))
            error = sis__fail(SIS_E_ARGUMENT,
                              "%s: images %zu and %zu have different sizes; expected one size",
                              option, sis__task_row(s, 0), sis__task_row(s, i));
    }
    return error;
}

/* ---- Maps ---------------------------------------------------------------------------------- */

/* Values that differ only along `axis` of an example's shape are one feature. The shape is that of
 * the data, in whatever order the model takes them. */
static int map_by_axis(sis_task *t, const char *text, size_t n) {
    size_t rank, after = 1, row = sis__task_row(&t->source, 0);
    const size_t *shape = sis_data_shape(t->source.data, row, &rank);
    long axis;
    if (!sis__text_whole(text, &axis) || axis < -(long)rank || axis >= (long)rank)
        return sis__fail(SIS_E_ARGUMENT,
                         "--features axis:%s: an example has %zu ax%s, numbered from 0", text, rank,
                         rank == 1 ? "is" : "es");
    axis += axis < 0 ? (long)rank : 0;
    for (size_t d = (size_t)axis + 1; d < rank; d++)
        after *= shape[d];
    int *map = t->features.map = SIS_NEW_RAW(int, n);
    if (!map)
        return SIS_E_NOMEM;
    sis__task_order(t, row, n, map);
    for (size_t i = 0; i < n; i++) {
        size_t v = (size_t)map[i];
        map[i] = (int)(v / (after * shape[axis]) * after + v % after);
    }
    return SIS_OK;
}

/* Read the map from a file, in the layout of its shape. */
static int map_by_file(sis_task *t, const char *path, size_t n) {
    sis_array array = {0};
    int *map = NULL, *order = SIS_NEW_RAW(int, n);
    int error = order ? sis_feature_map_read(path, n, &map) : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = sis_array_read(path, &array);
    if (error == SIS_OK && (error = sis__task_array_order(t, &array, order)) != SIS_OK)
        sis__fail_in(error, "--features: %s", path);
    if (error == SIS_OK) {
        for (size_t v = 0; v < n; v++)
            order[v] = map[order[v]];
        t->features.map = order;
        order = NULL;
    }
    sis_array_release(&array);
    free(order);
    free(map);
    return error;
}

static int find_map(sis_task *t, const char *text) {
    const char *rest;
    size_t width;
    if (t->encoding.prompts.items)
        return SIS_OK;
    if (strcmp(text, "each") == 0) {
        t->features.by_default = !sis__task_has_words(t);
        return SIS_OK;
    }
    if (sis__task_is_text_unit(text))
        return t->encoding.texts || (t->encoding.token && strcmp(text, "token") == 0)
                   ? SIS_OK
                   : sis__fail(SIS_E_OPTION, "--features %s needs texts", text);
    int error = sis__task_parts_read(text, &t->features);
    if (error == SIS_OK && !t->features.parts)
        error = sis__task_same_widths(t, "--features", &width);
    if (error != SIS_OK || t->features.parts)
        return error;
    if (sis__text_is(text, "axis", &rest) && *rest)
        return map_by_axis(t, rest, width);
    if (sis__text_ends_in(text, ".npy"))
        return map_by_file(t, text, width);
    return sis__fail(SIS_E_OPTION,
                     "--features: expected each, axis:A, FILE.npy, word, token or sentence "
                     "(texts), grid:N or superpixel:N (images), found \"%s\"",
                     text);
}

/* ---- Names --------------------------------------------------------------------------------- */

/* Names and features of the values, the same for every example. */
typedef struct {
    const char *const *names; /* (n_values) */
    const int *feature_of;    /* NULL: each value is a feature */
    size_t n_values;
} naming;

/* The feature of value v; -1: none. */
static int feature_at(const naming *x, size_t v) {
    return x->feature_of ? x->feature_of[v] : (int)v;
}

/* For each feature the common part of the names of its values. */
static int share_names(const sis__task_features *f, const naming *x, char **shared) {
    size_t *ends = SIS_NEW(size_t, f->n); /* 1 + length; 0: a single value */
    int error = ends ? SIS_OK : SIS_E_NOMEM;
    for (size_t v = 0; error == SIS_OK && v < x->n_values; v++) {
        int k = feature_at(x, v);
        if (k < 0 || strcmp(f->names[k], x->names[v]) == 0)
            continue;
        size_t end = 1 + sis_name_stem(f->names[k], x->names[v]);
        ends[k] = ends[k] == 0 || end < ends[k] ? end : ends[k];
    }
    for (size_t k = 0; error == SIS_OK && k < f->n; k++) {
        shared[k] = sis__strdup(f->names[k]);
        if (!shared[k])
            error = SIS_E_NOMEM;
        else if (ends[k] > 1)
            shared[k][ends[k] - 1] = '\0';
    }
    free(ends);
    return error;
}

/* The number of equal names at the front of a sorted list. */
static size_t count_alike(const sis__ids *ids, size_t from) {
    size_t n = 1;
    while (from + n < ids->n && strcmp(ids->items[from].id, ids->items[from + n].id) == 0)
        n++;
    return n;
}

/* Use short names that no other feature has, short or long. all (2n): short, then long. */
static int take_short(sis__task_features *f, char **all) {
    size_t n = f->n;
    sis__ids ids;
    int error = sis__ids_init(&ids, (const char *const *)all, 2 * n);
    for (size_t i = 0, more; error == SIS_OK && i < ids.n; i += more) {
        size_t k = ids.items[i].at % n, others = 0;
        more = count_alike(&ids, i);
        for (size_t j = i; j < i + more; j++)
            others += ids.items[j].at % n != k;
        if (others > 0) /* all features with this short name keep their long names */
            for (size_t j = i; j < i + more; j++)
                if (ids.items[j].at < n)
                    all[n + ids.items[j].at] = NULL;
    }
    for (size_t k = 0; error == SIS_OK && k < n; k++)
        if (all[n + k])
            strcpy(f->names[k], all[k]); /* never longer */
    sis__ids_release(&ids);
    return error;
}

/* Name features by the common part of their values' names, "housing" for housing=own and
 * housing=rent, unless the name is ambiguous. */
static int shorten_names(sis__task_features *f, const naming *x) {
    char **all = SIS_NEW(char *, 2 * f->n); /* common parts, then full names */
    int error = all ? share_names(f, x, all) : SIS_E_NOMEM;
    for (size_t k = 0; error == SIS_OK && k < f->n; k++)
        all[f->n + k] = f->names[k];
    if (error == SIS_OK)
        error = take_short(f, all);
    for (size_t k = 0; all && k < f->n; k++)
        free(all[k]);
    free(all);
    return error;
}

/* Names of features from names of values, which are kept too if they are more specific. */
static int take_names(sis__task_features *f, const naming *x, const char *const *features) {
    f->names = SIS_NEW(char *, f->n);
    if (!f->names)
        return SIS_E_NOMEM;
    for (size_t v = 0; v < x->n_values; v++) {
        int k = feature_at(x, v);
        if (k >= 0 && !f->names[k] &&
            !(f->names[k] = sis__strdup(f->by_default ? features[k] : x->names[v])))
            return SIS_E_NOMEM;
    }
    int error = f->by_default ? SIS_OK : shorten_names(f, x);
    for (size_t v = 0; error == SIS_OK && v < x->n_values; v++) {
        int k = feature_at(x, v);
        if (k >= 0 && strcmp(f->names[k], x->names[v]) != 0)
            f->value_names = x->names;
    }
    return error;
}

/* The names of features if examples do not have their own. */
static int name_features(sis_task *t) {
    const sis_data *data = t->source.data;
    naming x = {.names = sis_data_names(data), .feature_of = t->features.map};
    int *own = NULL;
    size_t row = sis__task_row(&t->source, 0);
    int error = sis__task_width(t, data, row, &x.n_values);
    if (error == SIS_OK && t->features.by_default &&
        sis__task_own_features(t, row, NULL) != x.n_values) {
        x.feature_of = own = SIS_NEW_RAW(int, x.n_values);
        if (own)
            sis__task_own_features(t, row, own);
        else
            error = SIS_E_NOMEM;
    }
    sis_input first = {.n_values = x.n_values, .feature_of = x.feature_of};
    long n = error == SIS_OK ? sis_input_features(&first) : error;
    t->features.n = n < 0 ? 0 : (size_t)n;
    error = n < 0 ? (int)n : SIS_OK;
    if (error == SIS_OK && x.names)
        error = take_names(&t->features, &x, sis_data_feature_names(data));
    free(own);
    return error;
}

int sis__task_features_begin(sis_task *t) {
    int error = find_map(t, t->opt.question.features);
    if (error == SIS_OK && t->opt.question.refine && !t->features.parts)
        error = sis__fail(SIS_E_OPTION, "--refine needs --features grid:N or superpixel:N");
    if (error != SIS_OK || sis__task_has_words(t) || t->features.parts)
        return error;
    return name_features(t);
}
