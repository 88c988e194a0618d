/* SPDX-License-Identifier: MIT
 *
 * What a data set is made of, and how a format becomes one.
 *
 * A new format is one function that reads a file into a sis_data and one line in the table of
 * data.c. Formats whose examples are rows of one array of numbers (arrays, tables, pixels) hand
 * that array to sis__data_from_rows() and are done; others begin a struct of their own with a
 * sis_data.
 */
#ifndef SIS_DATA_DATA_H
#define SIS_DATA_DATA_H

#include <sis/data.h>

#include "data/packed.h"

/* What differs between formats. i < count in all of them. */
typedef struct sis__data_ops {
    int (*values)(const sis_data *data, size_t i, double *out);
    const size_t *(*shape)(const sis_data *data, size_t i, size_t *rank);
    const char *(*id)(const sis_data *data, size_t i);              /* NULL: numbers */
    const char *(*label)(const sis_data *data, size_t i);           /* NULL: none */
    const int *(*human)(const sis_data *data, size_t i, size_t *n); /* NULL: none */
    const char *(*text)(const sis_data *data, size_t i); /* NULL: no texts, no sequences */
    int (*words)(const sis_data *data, size_t i, sis_words *words); /* NULL: no texts */
    void (*free)(sis_data *data);
} sis__data_ops;

/* Images that are handed out otherwise than they are stored: (height, width, channels), channels
 * from the front to the back, in another size. */
typedef struct sis__image_view {
    size_t rank, shape[3]; /* rank 0: as they are stored */
    int chw;               /* stored as (channels, height, width) */
} sis__image_view;

struct sis_data {
    const sis__data_ops *ops;
    sis_kind kind;
    char *name; /* the file, for messages; owned */
    size_t count;
    sis_missing missing; /* what NaN is */
    double *fill;        /* (width) what stands in the place of NaN; owned, NULL: nothing */
    const char **names;  /* one allocation, owned; NULL: none */
    const char **labels; /* (count) from a file of their own; the same */
    sis__image_view view;
    int in_blocks; /* it is one of blocks.h */
    char note[96]; /* what is to be known of how it was read; "": nothing */

    /* Where features are not as the kind has them: owned, else NULL. */
    int *map; /* (width) */
    size_t n_features;
    const char **feature_names; /* one allocation */
};

/* opt is never NULL. */
/* Options as this library knows them, of a program that may know fewer; NULL: the defaults. */
int sis__data_opt_take(const sis_data_opt *given, sis_data_opt *out);

typedef int sis__data_reader(const char *path, const sis_data_opt *opt, sis_data **out);

sis__data_reader sis__data_read_npy, sis__data_read_csv, sis__data_read_tsv, sis__data_read_idx;
sis__data_reader sis__data_read_image, sis__data_read_folder;
sis__data_reader sis__data_read_text, sis__data_read_jsonl, sis__data_read_fasta,
    sis__data_read_seq;

/* Does the name of a file, ".gz" left aside, end so? */
int sis__data_ends_in(const char *path, const char *extension);

/* Standard input: a .jsonl if it begins with "{", else a .csv. And lines from where they come. */
sis__data_reader sis__data_read_standard;
struct sis__source;
int sis__data_take_jsonl(struct sis__source *s, const sis_data_opt *opt, sis_data **out);

/* The .tsv is a file of texts with labels: 1, a table: 0, or a failure. And reading it as such. */
int sis__data_is_labelled_text(const char *path, const sis_data_opt *opt);
sis__data_reader sis__data_read_labelled_text;

/* A data set whose examples are the elements of the first axis of `rows`. Takes `rows` and `names`
 * (NULL: none), also when it fails. */
int sis__data_from_rows(const char *path, sis_kind kind, sis__packed *rows, const char **names,
                        sis_data **out);

/* Of such a data set: divide each value by `divisor` when it is asked for; give it labels or ids,
 * one an example, as one allocation that is the data set's from now on. */
void sis__data_divide(sis_data *data, double divisor);
void sis__data_set_labels(sis_data *data, const char **labels);
void sis__data_set_ids(sis_data *data, const char **ids);

/* Give any data set the labels of a file (labels.c). */
int sis__data_label(sis_data *data, const char *path);

/* Take rows of an array for images, in that layout ("chw", "hwc" or NULL: found out); hand images
 * out in one size (height, width, channels) (view.c). */
int sis__data_as_images(sis_data *data, const char *layout);
int sis__data_fit(sis_data *data, const size_t size[3]);
int sis__view_values(const sis_data *data, size_t i, double *out);

/* Now that all of it is there: what NaN is, and where that is another value, which. */
int sis__data_set_missing(sis_data *data, sis_missing missing);

#endif
