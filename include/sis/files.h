/* SPDX-License-Identifier: MIT
 *
 * sis/files.h - helpers for files: columns of tables, selections of rows, arrays, images, digests.
 *
 * Experimental: may change from one version to the next.
 */
#ifndef SIS_FILES_H
#define SIS_FILES_H

#include <stddef.h>

#include <sis/data.h>
#include <sis/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Columns of tables ----------------------------------------------------------------------- */

/* A column of a table, or of rows of numbers. */
typedef struct sis_column {
    const char *name;
    const char *type; /* "number", "category", "id", "label", or "ignore": no feature, because of
                         the options or because it has more than 1000 different words */
    size_t missing, distinct;      /* missing cells; distinct other values */
    double min, max;            /* of numbers; NaN: none */
    size_t n_categories;           /* of categories */
    const char *const *categories; /* (n_categories), sorted */
    const size_t *counts;          /* (n_categories) rows of each */
} sis_column;

typedef struct sis_columns {
    size_t rows, n;
    sis_column *items; /* (n) */
    int has_header;    /* columns have names in the file */
} sis_columns;

/* The types of the columns of a table, as sis_data_read with opt.categorical reads them; also of
 * rows of numbers (.npy with two axes, "values" of a .jsonl), whose columns are named c0, c1, ...
 * SIS_E_UNSUPPORTED for other files. */
int sis_columns_read(const char *path, const sis_data_opt *opt, sis_columns *out);
void sis_columns_release(sis_columns *columns);

/* Text for people, which opt.types also reads; free(*text). */
int sis_columns_format(const sis_columns *columns, char **text);

/* The same as one line of JSON; free(*json). */
int sis_columns_json(const sis_columns *columns, char **json, size_t *n);

/* 1 if the cell is a missing word: empty, NA, NaN, N/A or null. 1 if value v is the category of
 * missing words in its column. */
int sis_word_is_missing(const char *cell);
int sis_data_is_missing_category(const sis_data *data, size_t v);

/* ---- Rows ---------------------------------------------------------------------------------- */

/* Example numbers below `count` from text: "A:B" (A to B - 1), "A:", ":B", "N", or several of these
 * separated by commas. At least one example, each at most once. free() *rows. SIS_E_FORMAT: invalid
 * text; SIS_E_ARGUMENT: no such examples. */
int sis_rows_parse(const char *text, size_t count, size_t **rows, size_t *n);

/* One more than the largest number in such a text; 0 if it is open-ended or invalid. */
size_t sis_rows_end(const char *text);

/* ---- Arrays -------------------------------------------------------------------------------- */

enum { SIS_RANK_MAX = 32 };

/* An array of any shape, such as a mask. */
typedef struct sis_array {
    size_t rank; /* 0: a single number */
    size_t dims[SIS_RANK_MAX];
    size_t n;       /* the product of dims */
    double *values; /* (n) in C order, all finite */
} sis_array;

int sis_array_read(const char *path, sis_array *out); /* a .npy file */
void sis_array_release(sis_array *array);

/* A feature map (sis_input.feature_of) from a .npy file of n_values integers in any shape: -1 for
 * never masked, else a feature from 0 without gaps. free() *map. */
int sis_feature_map_read(const char *path, size_t n_values, int **map);

/* Write `values` in C order as a .npy file of float64 or float32; their number is the product of
 * dims. */
int sis_npy_write(const char *path, const double *values, size_t rank, const size_t *dims);
int sis_npy_write_float(const char *path, const float *values, size_t rank, const size_t *dims);

/* Write an image as a PNG file: dims (height, width, channels), 1 or 3 channels, at most 4096
 * pixels a side; values from 0 to 1 become bytes, others are clipped. */
int sis_png_write(const char *path, const double *values, const size_t dims[3]);

/* ---- Files --------------------------------------------------------------------------------- */

/* The SHA-256 of a file's content as 64 hexadecimal digits; of a gzipped file, of the unpacked
 * content. */
enum { SIS_DIGEST_SIZE = 65 };
int sis_file_digest(const char *path, char hex[SIS_DIGEST_SIZE]);

/* Write a file atomically: the old content is replaced once all bytes are on disk. Symbolic links
 * are kept; devices and pipes are written in place. After SIS_E_IO, errno is the reason. */
int sis_file_write(const char *path, const void *bytes, size_t n);

#ifdef __cplusplus
}
#endif
#endif
