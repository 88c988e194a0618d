/* SPDX-License-Identifier: MIT
 *
 * The structure of a data set, and how to add a format. A new format is one function that reads a
 * file into a sis_data and one line in the table of data.c. Formats whose examples are rows of one
 * array of numbers (arrays, tables, pixels) pass it to sis__data_from_rows(); others start their
 * own struct with a sis_data.
 */
#ifndef SIS_DATA_DATA_H
#define SIS_DATA_DATA_H

#include <sis/data.h>
#include <sis/text.h>

#include "data/packed.h"

/* Functions of a format. i < count in all of them. */
typedef struct sis__data_ops {
    int (*values)(const sis_data *data, size_t i, double *out);
    const size_t *(*shape)(const sis_data *data, size_t i, size_t *rank);
    const char *(*id)(const sis_data *data, size_t i);              /* NULL: numbers */
    const char *(*label)(const sis_data *data, size_t i);           /* NULL: none */
    const char *(*kept)(const sis_data *data, size_t i);            /* NULL: none */
    const int *(*human)(const sis_data *data, size_t i, size_t *n); /* NULL: none */
    const char *(*text)(const sis_data *data, size_t i);   /* NULL: no texts, no sequences */
    size_t (*full_length)(const sis_data *data, size_t i); /* NULL: no sequences */
    int (*words)(const sis_data *data, size_t i, sis_words *words); /* NULL: no texts */
    void (*free)(sis_data *data);
} sis__data_ops;

/* Images that are returned differently from how they are stored: as (height, width, channels), with
 * channels last, or resized. */
typedef struct sis__image_view {
    size_t rank, shape[3]; /* rank 0: as they are stored */
    int chw;               /* stored as (channels, height, width) */
} sis__image_view;

struct sis_data {
    const sis__data_ops *ops;
    sis_kind kind;
    char *name; /* the file, for messages; owned */
    size_t count;
    sis_missing missing; /* treatment of NaN */
    double *fill;        /* (width) replacement of NaN; owned, NULL: none */
    const char **names;  /* one allocation, owned; NULL: none */
    const char **labels; /* (count) from a separate file; likewise */
    sis__image_view view;
    int in_blocks; /* see blocks.h */
    char note[96]; /* a note for the user about how it was read; "": none */

    /* Set if features differ from the default of the kind: owned, else NULL. */
    int *map; /* (width) */
    size_t n_features;
    const char **feature_names; /* one allocation */
    unsigned char *is_position; /* (width) the value is the position of a word; NULL: none is */
};

/* Copy options of a program whose struct may be shorter; NULL: the defaults. */
int sis__data_opt_take(const sis_data_opt *given, sis_data_opt *out);

/* opt is never NULL. */
typedef int sis__data_reader(const char *path, const sis_data_opt *opt, sis_data **out);

sis__data_reader sis__data_read_npy, sis__data_read_csv, sis__data_read_tsv, sis__data_read_idx;
sis__data_reader sis__data_read_image, sis__data_read_folder;
sis__data_reader sis__data_read_text, sis__data_read_jsonl, sis__data_read_fasta,
    sis__data_read_seq;

/* Does the file name, without ".gz", end in `extension`? */
int sis__data_ends_in(const char *path, const char *extension);

/* Standard input: JSON Lines if it begins with "{", else CSV. */
sis__data_reader sis__data_read_standard;
struct sis__source;
int sis__data_take_jsonl(struct sis__source *s, const sis_data_opt *opt, sis_data **out);

/* Is the .tsv a file of labelled texts? 1, 0: a table, or an error. */
int sis__data_is_labelled_text(const char *path, const sis_data_opt *opt);
sis__data_reader sis__data_read_labelled_text;

/* A table with texts in the column opt->text. */
int sis__data_read_text_column(const char *path, char separator, const sis_data_opt *opt,
                               sis_data **out);

/* A data set whose examples are the elements of the first axis of `rows`. Takes ownership of `rows`
 * and `names` (NULL: none), even if it fails. */
int sis__data_from_rows(const char *path, sis_kind kind, sis__packed *rows, const char **names,
                        sis_data **out);

/* For such a data set: divide each value by `divisor` on access; set labels or ids, one per
 * example, as one allocation owned by the data set. */
void sis__data_divide(sis_data *data, double divisor);
void sis__data_set_labels(sis_data *data, const char **labels);
void sis__data_set_kept(sis_data *data, const char **kept);
void sis__data_set_ids(sis_data *data, const char **ids);

/* Words given by the caller (words.c): n words of these lengths in the text, separated by blanks. */
int sis__words_given(const char *text, const int *lengths, size_t n, sis_words *words);

/* Set labels from a file (labels.c). */
int sis__data_label(sis_data *data, const char *path);

/* Treat rows of an array as images in this layout ("chw", "hwc" or NULL: detect); return images in
 * one size (height, width, channels) (view.c). */
int sis__data_as_images(sis_data *data, const char *layout);
int sis__data_fit(sis_data *data, const size_t size[3]);
int sis__view_values(const sis_data *data, size_t i, double *out);

/* Set the treatment of NaN, and compute replacements if needed, once the data set is complete. */
int sis__data_set_missing(sis_data *data, sis_missing missing);

#endif
