/* SPDX-License-Identifier: MIT
 *
 * Data sets: the table of formats, their common functions, and data sets whose examples are rows of
 * one array.
 */
#include "data/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sis/text.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sized.h"
#include "data/cell.h"
#include "data/packed.h"

/* ---- Formats ------------------------------------------------------------------------------- */

static const struct {
    const char *extension;
    sis__data_reader *read;
    int named; /* it has named columns or fields */
} formats[] = {
    {".npy", sis__data_read_npy, 0},     {".csv", sis__data_read_csv, 1},
    {".tsv", sis__data_read_tsv, 1},     {".txt", sis__data_read_text, 0},
    {".jsonl", sis__data_read_jsonl, 1}, {".idx", sis__data_read_idx, 0},
    {"-ubyte", sis__data_read_idx, 0},   {".fa", sis__data_read_fasta, 0},
    {".fasta", sis__data_read_fasta, 0}, {".seq", sis__data_read_seq, 1},
    {".png", sis__data_read_image, 0},   {".jpg", sis__data_read_image, 0},
    {".jpeg", sis__data_read_image, 0},
};
enum { FORMATS = sizeof formats / sizeof *formats };

int sis__data_ends_in(const char *path, const char *extension) {
    size_t n = strlen(path), m = strlen(extension);
    if (n > 3 && sis__same_word(path + n - 3, ".gz"))
        n -= 3;
    return n > m && sis__same_start(path + n - m, extension, m);
}

static int unknown_format(const char *path) {
    char list[512] = "";
    for (size_t k = 0, used = 0; k < FORMATS && used < sizeof list; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 k == 0            ? ""
                                 : k + 1 < FORMATS ? ", "
                                                   : " or ",
                                 formats[k].extension);
    return sis__fail(SIS_E_UNSUPPORTED,
                     "%s: unknown format; expected a name ending in %s, or a folder of images",
                     path, list);
}

static int no_columns(const char *path, const char *name) {
    char excerpt[SIS__EXCERPT_SIZE];
    return sis__fail(SIS_E_ARGUMENT, "%s: has no named columns, so no column \"%s\"", path,
                     sis__cell_excerpt(name, excerpt));
}

static const sis__sized opt_type = {
    "sis_data_opt", "sis_data_opt_init", sizeof(sis_data_opt), {{0}}};

void sis_data_opt_defaults(sis_data_opt *opt) {
    sis__sized_copy(&opt_type, opt, &(sis_data_opt){.size = sizeof *opt});
}

int sis__data_opt_take(const sis_data_opt *given, sis_data_opt *out) {
    sis_data_opt_init(out);
    return given ? sis__sized_copy(&opt_type, out, given) : SIS_OK;
}

static int is_folder(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Apply the options that concern any data set. */
static int apply(sis_data *data, const sis_data_opt *opt) {
    int code = SIS_OK;
    if (opt->kind && strcmp(opt->kind, "image") != 0)
        code = sis__fail(SIS_E_OPTION, "--kind: expected image, found \"%s\"", opt->kind);
    else if (opt->kind || opt->layout)
        code = sis__data_as_images(data, opt->layout);
    if (code == SIS_OK && opt->fit[0])
        code = sis__data_fit(data, opt->fit);
    if (code == SIS_OK)
        code = sis__data_set_missing(data, opt->missing);
    return code == SIS_OK && opt->labels ? sis__data_label(data, opt->labels) : code;
}

static int read_file(const char *path, const sis_data_opt *opt, sis_data **out) {
    const char *column = opt->id ? opt->id : opt->label;
    sis__data_reader *read = strcmp(path, "-") == 0 ? sis__data_read_standard
                             : is_folder(path)      ? sis__data_read_folder
                                                    : NULL;
    if (read == sis__data_read_folder && column)
        return no_columns(path, column);
    for (size_t k = 0; !read && k < FORMATS; k++)
        if (sis__data_ends_in(path, formats[k].extension)) {
            if (column && !formats[k].named)
                return no_columns(path, column);
            read = formats[k].read;
        }
    if (read && opt->text && read != sis__data_read_csv && read != sis__data_read_tsv)
        return sis__fail(SIS_E_ARGUMENT, "%s: --text COLUMN is for tables, .csv and .tsv", path);
    int code = read ? read(path, opt, out) : unknown_format(path);
    if (code == SIS_OK)
        code = apply(*out, opt);
    if (code != SIS_OK) {
        sis_data_free(*out);
        *out = NULL;
    }
    return code;
}

int sis_data_read(const char *path, const sis_data_opt *given, sis_data **out) {
    sis_data_opt opt;
    int code = sis__data_opt_take(given, &opt);
    *out = NULL;
    return code == SIS_OK ? read_file(path, &opt, out) : code;
}

/* ---- Common functions ---------------------------------------------------------------------- */

void sis_data_free(sis_data *data) {
    if (!data)
        return;
    free(data->name);
    free(data->names);
    free(data->labels);
    free(data->map);
    free(data->feature_names);
    free(data->is_position);
    free(data->fill);
    data->ops->free(data);
}

size_t sis_data_count(const sis_data *data) {
    return data->count;
}

const char *sis_data_kind(const sis_data *data) {
    return sis_kind_name(data->kind);
}

const size_t *sis_data_shape(const sis_data *data, size_t i, size_t *rank) {
    if (!data->view.rank)
        return data->ops->shape(data, i, rank);
    *rank = data->view.rank;
    return data->view.shape;
}

size_t sis_data_width(const sis_data *data, size_t i) {
    size_t rank, width = 1;
    const size_t *dims = sis_data_shape(data, i, &rank);
    for (size_t k = 0; k < rank; k++)
        width *= dims[k];
    return width;
}

int sis_data_values(const sis_data *data, size_t i, double *out) {
    if (i >= data->count)
        return sis__fail(SIS_E_ARGUMENT, "%s: no example %zu; the file has %zu", data->name, i,
                         data->count);
    int code = (data->view.rank ? sis__view_values : data->ops->values)(data, i, out);
    size_t width = sis_data_width(data, i);
    int nan_is_fine = data->missing == SIS_MISSING_NAN || data->missing == SIS_MISSING_ALL;
    for (size_t k = 0; data->fill && k < width && code == SIS_OK; k++)
        out[k] = isnan(out[k]) ? data->fill[k] : out[k];
    for (size_t k = 0; k < width && code == SIS_OK; k++)
        if (!isfinite(out[k]) && !(isnan(out[k]) && nan_is_fine))
            code =
                sis__fail(SIS_E_FORMAT,
                          "%s, example %zu: value %zu is %s; every value must be a finite number%s",
                          data->name, i, k, isnan(out[k]) ? "NaN" : "infinite",
                          isnan(out[k]) ? SIS__SAY_MISSING : "");
    return code;
}

const char *const *sis_data_names(const sis_data *data) {
    return data->names;
}

const char *const *sis_data_feature_names(const sis_data *data) {
    return data->feature_names ? data->feature_names : data->names;
}

size_t sis_data_features(const sis_data *data, size_t i, int *map) {
    size_t rank, width = sis_data_width(data, i);
    if (data->map) {
        if (map)
            memcpy(map, data->map, width * sizeof *map);
        return data->n_features;
    }
    const size_t *dims = sis_data_shape(data, i, &rank);
    int dna = data->kind == SIS_KIND_DNA;
    size_t channels = dna ? dims[0] : data->kind == SIS_KIND_IMAGE && rank == 3 ? dims[2] : 1;
    for (size_t v = 0; map && v < width; v++)
        map[v] = (int)(dna ? v % dims[1] : v / channels);
    return width / channels;
}

const char *sis_data_id(const sis_data *data, size_t i, char number[SIS_ID_SIZE]) {
    const char *own = data->ops->id ? data->ops->id(data, i) : NULL;
    if (own)
        return own;
    snprintf(number, SIS_ID_SIZE, "%zu", i);
    return number;
}

const char *sis_data_note(const sis_data *data) {
    return *data->note ? data->note : NULL;
}

const char *sis_data_label(const sis_data *data, size_t i) {
    if (data->labels)
        return data->labels[i];
    return data->ops->label ? data->ops->label(data, i) : NULL;
}

const char *sis_data_kept(const sis_data *data, size_t i) {
    return data->ops->kept ? data->ops->kept(data, i) : NULL;
}

int sis_data_label_number(const sis_data *data, size_t i, double *out) {
    const char *label = sis_data_label(data, i);
    return label && sis__cell_number(label, out) && isfinite(*out);
}

const int *sis_data_human(const sis_data *data, size_t i, size_t *n) {
    *n = 0;
    return data->ops->human ? data->ops->human(data, i, n) : NULL;
}

const char *sis_data_text(const sis_data *data, size_t i) {
    return data->ops->text && data->ops->words ? data->ops->text(data, i) : NULL;
}

const char *sis_data_sequence(const sis_data *data, size_t i) {
    return data->ops->text && !data->ops->words ? data->ops->text(data, i) : NULL;
}

size_t sis_data_full_length(const sis_data *data, size_t i) {
    return data->ops->full_length ? data->ops->full_length(data, i) : 0;
}

int sis_data_words(const sis_data *data, size_t i, sis_words *words) {
    if (!data->ops->words)
        return sis__fail(SIS_E_ARGUMENT, "%s: contains no texts", data->name);
    if (i >= data->count)
        return sis__fail(SIS_E_ARGUMENT, "%s: no example %zu; the file has %zu", data->name, i,
                         data->count);
    return data->ops->words(data, i, words);
}

/* ---- Rows of one array --------------------------------------------------------------------- */

typedef struct {
    sis_data base;
    sis__packed rows;
    double divisor;      /* divides every value */
    const char **labels; /* (count), one allocation, owned; NULL: none */
    const char **ids;    /* likewise */
    const char **kept;   /* the same */
} row_data;

static int row_values(const sis_data *data, size_t i, double *out) {
    const row_data *d = (const row_data *)data;
    if (i >= d->rows.dims[0])
        return sis__fail(SIS_E_ARGUMENT, "%s: example %zu was not selected, so it was not read",
                         data->name, i);
    sis__packed_row(&d->rows, i, out);
    for (size_t k = 0, n = d->rows.n / d->rows.dims[0]; d->divisor != 1 && k < n; k++)
        out[k] /= d->divisor;
    return SIS_OK;
}

static const char *row_label(const sis_data *data, size_t i) {
    const row_data *d = (const row_data *)data;
    return d->labels && i < d->rows.dims[0] ? d->labels[i] : NULL;
}

static const char *row_kept(const sis_data *data, size_t i) {
    const row_data *d = (const row_data *)data;
    return d->kept && i < d->rows.dims[0] ? d->kept[i] : NULL;
}

static const char *row_id(const sis_data *data, size_t i) {
    const row_data *d = (const row_data *)data;
    return d->ids && i < d->rows.dims[0] ? d->ids[i] : NULL;
}

static const size_t *row_shape(const sis_data *data, size_t i, size_t *rank) {
    static const size_t single = 1;
    const sis__packed *rows = &((const row_data *)data)->rows;
    (void)i;
    *rank = rows->rank > 1 ? rows->rank - 1 : 1;
    return rows->rank > 1 ? rows->dims + 1 : &single;
}

static void row_free(sis_data *data) {
    row_data *d = (row_data *)data;
    sis__packed_release(&d->rows);
    free(d->labels);
    free(d->ids);
    free(d->kept);
    free(d);
}

void sis__data_divide(sis_data *data, double divisor) {
    ((row_data *)data)->divisor = divisor;
}

void sis__data_set_labels(sis_data *data, const char **labels) {
    ((row_data *)data)->labels = labels;
}

void sis__data_set_kept(sis_data *data, const char **kept) {
    ((row_data *)data)->kept = kept;
}

void sis__data_set_ids(sis_data *data, const char **ids) {
    ((row_data *)data)->ids = ids;
}

int sis__data_from_rows(const char *path, sis_kind kind, sis__packed *rows, const char **names,
                        sis_data **out) {
    static const sis__data_ops ops = {.values = row_values,
                                      .shape = row_shape,
                                      .id = row_id,
                                      .label = row_label,
                                      .kept = row_kept,
                                      .free = row_free};
    row_data *data = SIS_NEW(row_data, 1);
    char *name = sis__strdup(strcmp(path, "-") == 0 ? "standard input" : path);
    if (!data || !name) {
        free(data);
        free(name);
        free(names);
        sis__packed_release(rows);
        return SIS_E_NOMEM;
    }
    data->base = (sis_data){.ops = &ops,
                            .kind = kind,
                            .name = name,
                            .count = rows->total ? rows->total : rows->dims[0],
                            .names = names};
    data->rows = *rows;
    data->divisor = 1;
    *rows = (sis__packed){0};
    *out = &data->base;
    return SIS_OK;
}

int sis__data_read_npy(const char *path, const sis_data_opt *opt, sis_data **out) {
    sis__packed rows;
    int code = sis__npy_read(path, opt->needed, &rows);
    if (code != SIS_OK)
        return code;
    if (rows.rank > 0 && rows.n > 0)
        return sis__data_from_rows(path, SIS_KIND_ARRAY, &rows, NULL, out);
    code = sis__fail(SIS_E_FORMAT,
                     rows.rank == 0 ? "%s: is a single number; expected an array whose first axis "
                                      "counts the examples (for one example: array[None])"
                                    : "%s: an array without values; expected at least one example",
                     path);
    sis__packed_release(&rows);
    return code;
}
