/* SPDX-License-Identifier: MIT
 *
 * sis/files.h - parts of files: columns of tables, choices of rows, arrays, pictures, digests.
 *
 * Experimental: what is declared here may change from one version to the next.
 */
#ifndef SIS_FILES_H
#define SIS_FILES_H

#include <stddef.h>

#include <sis/data.h>
#include <sis/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What columns hold --------------------------------------------------------------------- */

/* A column of a table, or of rows of numbers. */
typedef struct sis_column {
    const char *name;
    const char *type; /* "number", "category", "id", "label", or "ignore": no feature, because the
                         options say so or its words are more than 1000 different ones */
    size_t missing, distinct;      /* cells without a value; different values besides */
    double min, max;            /* of numbers; NaN: there is none */
    size_t n_categories;           /* of categories */
    const char *const *categories; /* (n_categories), sorted */
    const size_t *counts;          /* (n_categories) rows of each */
} sis_column;

typedef struct sis_columns {
    size_t rows, n;
    sis_column *items; /* (n) */
    int has_header;    /* columns have names in the file */
} sis_columns;

/* What the columns of a table hold, as sis_data_read with opt.categorical would take them; also of
 * rows of numbers (.npy with two axes, "values" of a .jsonl), whose columns are called c0, c1, ...
 * SIS_E_UNSUPPORTED for other files. */
int sis_columns_read(const char *path, const sis_data_opt *opt, sis_columns *out);
void sis_columns_release(sis_columns *columns);

/* As lines for people, which opt.types reads, too; free(*text). */
int sis_columns_format(const sis_columns *columns, char **text);

/* The same as one line of JSON; free(*json). */
int sis_columns_json(const sis_columns *columns, char **json, size_t *n);

/* Does a cell stand for a missing word: nothing, NA, NaN, N/A or null? Is value v, one of a column's
 * categories, that of missing words? */
int sis_word_is_missing(const char *cell);
int sis_data_is_missing_category(const sis_data *data, size_t v);

/* ---- Rows ---------------------------------------------------------------------------------- */

/* Example numbers out of `count` from text: "A:B" (A to B - 1), "A:", ":B", "N", or several of
 * these with commas between. Each example at most once, at least one in all. *rows is free()d by
 * you. SIS_E_FORMAT if the text is no such thing, SIS_E_ARGUMENT if there are no such examples. */
int sis_rows_parse(const char *text, size_t count, size_t **rows, size_t *n);

/* One more than the largest number in such a text; 0 if it goes to the end, or is no such text. */
size_t sis_rows_end(const char *text);

/* ---- Arrays -------------------------------------------------------------------------------- */

enum { SIS_RANK_MAX = 32 };

/* An array of any shape: a mask, say. */
typedef struct sis_array {
    size_t rank; /* 0: a single number */
    size_t dims[SIS_RANK_MAX];
    size_t n;       /* the product of dims */
    double *values; /* (n) in C order, all finite */
} sis_array;

int sis_array_read(const char *path, sis_array *out); /* a .npy file */
void sis_array_release(sis_array *array);

/* A feature map (sis_input.feature_of) from a .npy file of n_values whole numbers in any shape: -1
 * for never masked, else a feature; features are numbered from 0 without gaps. *map is free()d by
 * you. */
int sis_feature_map_read(const char *path, size_t n_values, int **map);

/* Write `values`, whose number is the product of dims, in C order as a .npy file of float64 or
 * float32. */
int sis_npy_write(const char *path, const double *values, size_t rank, const size_t *dims);
int sis_npy_write_float(const char *path, const float *values, size_t rank, const size_t *dims);

/* Write an image as a PNG file: dims (height, width, channels), 1 channel or 3, at most 4096 pixels
 * a side; values from 0 to 1 become bytes, what lies outside is cut off. */
int sis_png_write(const char *path, const double *values, const size_t dims[3]);

/* ---- Files --------------------------------------------------------------------------------- */

/* The SHA-256 of what a file holds, as 64 hexadecimal digits: of a gzipped file, what it unpacks
 * to. */
enum { SIS_DIGEST_SIZE = 65 };
int sis_file_digest(const char *path, char hex[SIS_DIGEST_SIZE]);

/* Write a file whole or not at all: its old content is replaced when all bytes are on the disk. Links
 * stay, devices and pipes are written in place. After SIS_E_IO, errno tells why. */
int sis_file_write(const char *path, const void *bytes, size_t n);

#ifdef __cplusplus
}
#endif
#endif
