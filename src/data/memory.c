/* SPDX-License-Identifier: MIT
 *
 * Data sets from memory: rows of numbers, texts, words, sequences. They are copied into the same
 * structures that file readers build, so that later code sees no difference.
 */
#include <limits.h>
#include <string.h>

#include <sis/files.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sized.h"
#include "base/utf8.h"
#include "data/cell.h"
#include "data/data.h"
#include "data/examples.h"

static const char *name_of(const sis_data_with *with) {
    return with && with->name ? with->name : "the examples";
}

/* ---- Numbers ------------------------------------------------------------------------------- */

/* n texts as one allocation; NULL: out of memory. */
static const char **copy_texts(const char *const *texts, size_t n) {
    sis__strings list = {0};
    for (size_t i = 0; i < n; i++)
        sis__strings_add(&list, texts[i] ? texts[i] : "");
    return sis__strings_finish(&list);
}

static int copy_rows(const double *values, size_t rank, const size_t *dims, sis__packed *out) {
    size_t bytes = rank && rank <= SIS_RANK_MAX ? sis__packed_bytes(rank, dims, sizeof *values) : 0;
    if (bytes == 0 || bytes == SIZE_MAX)
        return sis__fail(SIS_E_ARGUMENT,
                         "an array of %zu axes: expected at least one example, and 1 to %d axes",
                         rank, SIS_RANK_MAX);
    *out = (sis__packed){.type = sis__packed_type_find('f', sizeof *values),
                         .rank = rank,
                         .n = bytes / sizeof *values,
                         .bytes = (unsigned char *)sis__copy(values, bytes, 1)};
    memcpy(out->dims, dims, rank * sizeof *dims);
    return out->bytes ? SIS_OK : SIS_E_NOMEM;
}

/* The kind of rows of numbers; NONE: another kind is requested. */
static sis_kind kind_of(const sis_data_with *with) {
    sis_kind kind = with && with->kind ? sis_kind_of(with->kind) : SIS_KIND_ARRAY;
    int rows = kind == SIS_KIND_ARRAY || kind == SIS_KIND_TABLE || kind == SIS_KIND_IMAGE;
    return rows ? kind : SIS_KIND_NONE;
}

/* Set the feature of each value, and the names of features. */
static int add_map(sis_data *data, const sis_data_with *with) {
    size_t width = sis_data_width(data, 0);
    data->map = (int *)sis__copy(with->map, width, sizeof *with->map);
    if (!data->map)
        return SIS_E_NOMEM;
    for (size_t v = 0; v < width; v++)
        if (with->map[v] >= 0 && (size_t)with->map[v] >= data->n_features)
            data->n_features = (size_t)with->map[v] + 1;
    data->feature_names = with->features ? copy_texts(with->features, data->n_features) : NULL;
    return with->features && !data->feature_names ? SIS_E_NOMEM : SIS_OK;
}

/* Set ids and labels. */
static int add_known(sis_data *data, const sis_data_with *with) {
    int error = SIS__RESERVED_CHECK(sis_data_with, with);
    if (error != SIS_OK)
        return error;
    if (with->map && add_map(data, with) != SIS_OK)
        return SIS_E_NOMEM;
    error = sis__data_set_missing(data, with->missing);
    if (error != SIS_OK)
        return error;
    if (with->labels) {
        const char **labels = copy_texts(with->labels, data->count);
        if (!labels)
            return SIS_E_NOMEM;
        sis__data_set_labels(data, labels);
    }
    if (with->ids) {
        const char **ids = copy_texts(with->ids, data->count);
        if (!ids)
            return SIS_E_NOMEM;
        sis__data_set_ids(data, ids);
    }
    return SIS_OK;
}

int sis_data_from_values(const double *values, size_t rank, const size_t *dims,
                         const sis_data_with *with, sis_data **out) {
    sis__packed rows;
    sis_kind kind = kind_of(with);
    const char **names = NULL;
    *out = NULL;
    if (kind == SIS_KIND_NONE)
        return sis__fail(SIS_E_ARGUMENT, "kind: expected array, table or image, found \"%s\"",
                         with->kind);
    int error = copy_rows(values, rank, dims, &rows);
    if (error != SIS_OK)
        return error;
    if (with && with->names && !(names = copy_texts(with->names, rows.n / dims[0]))) {
        sis__packed_release(&rows);
        return SIS_E_NOMEM;
    }
    error = sis__data_from_rows(name_of(with), kind, &rows, names, out);
    if (error == SIS_OK && with)
        error = add_known(*out, with);
    if (error != SIS_OK) {
        sis_data_free(*out);
        *out = NULL;
    }
    return error;
}

/* ---- Texts --------------------------------------------------------------------------------- */

static int check_text(const sis_data_with *with, size_t i, const char *text) {
    size_t n = strlen(text), good = sis__utf8_check(text, n);
    return good == n ? SIS_OK
                     : sis__fail(SIS_E_FORMAT, "%s, text %zu: byte %zu is not UTF-8", name_of(with),
                                 i, good);
}

/* The next example, with its id and label. */
static sis__example *begin_example(sis__examples *e, const sis_data_with *with) {
    size_t i = e->base.count;
    sis__example *x = sis__examples_add(e, 0, 0);
    const char *id = with && with->ids ? with->ids[i] : NULL;
    const char *label = with && with->labels ? with->labels[i] : NULL;
    if (x && id)
        x->id = sis__examples_text(e, id, strlen(id));
    if (x && label)
        x->label = sis__examples_text(e, label, strlen(label));
    return x;
}

static int finish(sis__examples *e, const sis_data_with *with, int error, sis_data **out) {
    if (error == SIS_OK && e->base.count == 0)
        error = sis__fail(SIS_E_ARGUMENT, "%s: is empty; expected at least one", name_of(with));
    return sis__examples_finish(e, error, out);
}

int sis_data_from_texts(const char *const *texts, size_t n, const sis_data_with *with,
                        sis_data **out) {
    sis__examples *e = sis__examples_new(name_of(with), SIS_KIND_TEXT);
    int error = SIS_OK;
    *out = NULL;
    if (!e)
        return SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        error = check_text(with, i, texts[i]);
        sis__example *x = error == SIS_OK ? begin_example(e, with) : NULL;
        if (x)
            x->text = sis__examples_text(e, texts[i], strlen(texts[i]));
        error = error != SIS_OK ? error : x ? sis__buf_error(&e->text) : SIS_E_NOMEM;
    }
    return finish(e, with, error, out);
}

/* Add a text given as words. */
static int add_words(sis__examples *e, const sis_data_with *with, const char *const *words,
                     size_t n) {
    size_t i = e->base.count;
    sis__example *x = begin_example(e, with);
    int error = x ? SIS_OK : SIS_E_NOMEM;
    if (error != SIS_OK)
        return error;
    x->text = e->text.len;
    x->words = e->n_ints;
    x->n_words = n;
    for (size_t k = 0; error == SIS_OK && k < n; k++) {
        size_t length = strlen(words[k]);
        error = check_text(with, i, words[k]);
        if (error == SIS_OK && (length == 0 || length > INT_MAX))
            error = sis__fail(SIS_E_ARGUMENT, "%s, text %zu: word %zu is %s", name_of(with), i, k,
                              length ? "too long" : "empty");
        if (error == SIS_OK)
            error = sis__examples_int(e, (int)length);
        if (k > 0)
            sis__buf_char(&e->text, ' ');
        sis__buf_add(&e->text, words[k], length);
    }
    sis__buf_char(&e->text, '\0');
    return error == SIS_OK ? sis__buf_error(&e->text) : error;
}

int sis_data_from_words(const char *const *words, const size_t *n_words, size_t n,
                        const sis_data_with *with, sis_data **out) {
    sis__examples *e = sis__examples_new(name_of(with), SIS_KIND_TEXT);
    int error = SIS_OK;
    *out = NULL;
    if (!e)
        return SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < n; words += n_words[i], i++)
        error = add_words(e, with, words, n_words[i]);
    return finish(e, with, error, out);
}

/* ---- Sequences ----------------------------------------------------------------------------- */

static int add_sequence(sis__examples *e, const sis_data_with *with, const char *letters) {
    size_t i = e->base.count;
    sis__example *x = begin_example(e, with);
    int error = x ? SIS_OK : SIS_E_NOMEM;
    if (error != SIS_OK)
        return error;
    x->rank = 2;
    x->shape[0] = 4;
    x->shape[1] = strlen(letters);
    x->text = e->text.len;
    if (x->shape[1] == 0)
        return sis__fail(SIS_E_FORMAT, "%s: sequence %zu is empty", name_of(with), i);
    for (const char *s = letters; *s; s++) {
        char c = *s >= 'a' && *s <= 'z' ? (char)(*s - 32) : *s;
        if (!strchr("ACGTN", c))
            return sis__fail(
                SIS_E_FORMAT,
                "%s, sequence %zu: byte 0x%02x is not a base; expected A, C, G, T or N",
                name_of(with), i, (unsigned char)*s);
        sis__buf_char(&e->text, c);
    }
    sis__buf_char(&e->text, '\0');
    return sis__buf_error(&e->text);
}

int sis_data_from_sequences(const char *const *letters, size_t n, const sis_data_with *with,
                            sis_data **out) {
    sis__examples *e = sis__examples_new(name_of(with), SIS_KIND_DNA);
    int error = SIS_OK;
    *out = NULL;
    if (!e)
        return SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        error = add_sequence(e, with, letters[i]);
    return finish(e, with, error, out);
}
