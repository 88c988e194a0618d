/* SPDX-License-Identifier: MIT
 *
 * sis/data.h - examples from files, or from memory.
 *
 * Stable: declarations do not change as long as SIS_ABI stays the same.
 *
 * A data set is a number of examples, each a flat array of values with a shape:
 *
 *     sis_data *data;
 *     if (sis_data_read("train.csv", NULL, &data) == 0) {
 *         double *row = malloc(sis_data_width(data, 0) * sizeof *row);
 *         for (size_t i = 0; i < sis_data_count(data); i++)
 *             if (sis_data_values(data, i, row) == 0)
 *                 use(row);
 *         free(row);
 *     }
 *     sis_data_free(data);
 *
 * The file name's extension selects the format. ".gz" may follow it; gzipped content is unpacked
 * whatever the name:
 *
 *     .npy         NumPy array of numbers: versions 1.0 to 3.0, float16/32/64, int and uint of 8 to
 *                  64 bits, bool, both byte orders, C and Fortran order. The first axis counts the
 *                  examples; the others are the shape of one example.
 *     .csv, .tsv   table of numbers with a header, whose cells are the names of the features. Cells
 *                  are separated by commas (.csv) or tabs (.tsv) and may be quoted (RFC 4180);
 *                  blank lines do not count. A table has no header, and its columns are named c0,
 *                  c1, ..., if opt.no_header is set, or if the first line holds only numbers (0, 1,
 *                  2 ... and 1, 2, 3 ... count as names) or one number twice. "-" reads a .csv from
 *                  standard input, or a .jsonl if it begins with "{".
 *     .idx, -ubyte IDX array, the format of MNIST; the first axis counts the examples. Bytes with
 *                  two or three further axes are images: pixels from 0 to 1 (a byte divided by
 *                  255). "train-labels-idx1-ubyte" beside "train-images-idx3-ubyte" holds the
 *                  labels. An array with one axis holds labels.
 *     .png, .jpg   one image, grey (height, width) or colour (height, width, 3), at most 4096
 *                  pixels a side: pixels from 0 to 1. Palettes are expanded, 16 bits reduced to 8,
 *                  transparent pixels blended with black. JPEG requires libjpeg at build time.
 *     a folder     of such images, also in subfolders. The id of an example is its path in the
 *                  folder, "cat/1.jpg"; its label is the first folder of the path, "cat". Pixels
 *                  are read on demand.
 *     .txt         texts, one per line. A blank line is a text without words, except at the end of
 *                  the file. Lines of text files end with LF, CRLF or CR.
 *     .tsv         labelled texts, if the header has a column "text"; without a header, if every
 *                  column but the last holds numbers (ratings, separated by tabs or blanks), or if
 *                  there are two columns and the second holds several words. With no_header, types,
 *                  categorical or categories it is always a table.
 *     .jsonl       JSON Lines: one object per line with "text", "words" (a list of strings, used
 *                  unchanged) or "values" (a list of numbers), the same in all lines, and
 *                  optionally "id", "label" and "human" (numbers of the words that a person
 *                  marked). Other fields are ignored.
 *     .fa, .fasta  DNA sequences with their names (FASTA): lines of any length, both cases, letters
 *                  A C G T and N. Labels may be in a file beside it that ends in .target: one line
 *                  per sequence, its first number is the label ("1 0": bound, "0 1": not).
 *     .seq         DNA sequences as a table with tabs (ENCODE, DeepBind): a header with a column
 *                  "seq", and optionally "EventID" and "Bound" (the label).
 *
 * A sequence has (4, length) values: rows A C G T, 1 in the row of the base; N is 0.25 in each row.
 * A feature is a base.
 *
 * Examples are numbered from 0, in messages too: "row 7" of a table is the eighth line of numbers.
 * Every value must be finite and every text UTF-8; errors name the place.
 *
 * Ownership: results of accessors are borrowed and live as long as the data set. With opt.memory,
 * results about an example live until the same thread accesses another example. Threads: a data set
 * does not change once it is read; any number of threads may use it.
 */
#ifndef SIS_DATA_H
#define SIS_DATA_H

#include <stddef.h>
#include <stdint.h>

#include <sis/error.h>
#include <sis/kind.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Data sets ----------------------------------------------------------------------------- */

typedef struct sis_data sis_data;

/* Treatment of missing values: table cells that are empty, NA, NaN, N/A or null (in numeric columns
 * also none), null in a list of values of a .jsonl, NaN in an array. */
typedef enum sis_missing {
    SIS_MISSING_ERROR,  /* an error; in a column of words the category "nan", the last one, unless
                           opt.names or opt.n_values leave no room for it */
    SIS_MISSING_NAN,    /* NaN; in a column of words as above, but 0 for every category if there is
                           no room */
    SIS_MISSING_ALL,    /* NaN; in a column of words NaN in each of its values */
    SIS_MISSING_MEAN,   /* the mean of the other rows; of words the most frequent */
    SIS_MISSING_MEDIAN, /* the median of the other rows; of words the most frequent */
} sis_missing;

/* How to read the file. */
typedef struct sis_data_opt {
    size_t size;       /* sizeof this struct when your program was compiled; set by
                          sis_data_opt_init */
    const char *label; /* the column or field of the label: by name, or by number from 0 without a
                          header. A label column of a table is no feature. Default NULL: "label" in
                          a .jsonl, "Bound" in a .seq, the first column other than text and id in a
                          .tsv of texts */
    const char *id;    /* the column or field, by name, of the ids; ids may not be empty. An id
                          column of a table is no feature. Default NULL: "id" in a .jsonl, "EventID"
                          in a .seq; rows of tables are numbered */
    int categorical;   /* tables: a column with a cell that is neither a number nor missing holds
                          categories, at most 1000. Each category is a value, 0 or 1, named
                          "column=category", sorted by category: as numbers if all are numbers, else
                          as text. The values of a column are one feature. true and false are the
                          numbers 1 and 0. 2: the same, unless a .tsv holds texts. Default 0: such a
                          cell is an error */
    const char *categories; /* tables: names of columns, separated by commas, that hold categories
                               whatever their cells are. Default NULL */
    const char *types; /* tables: a file with the types of columns, one per line: name, blanks or
                          a tab, and number, category, ignore (no feature), id, label or kept;
                          the rest of the line is ignored. sis_columns_format() writes such a
                          file. Default NULL: detected */
    int no_header;     /* tables: the first line is a row of data. Default 0: detected */
    const char *const *names; /* categorical tables: the names of the values, in order (from
                                 sis_data_names of the training data, or "column_category"); other
                                 categories are an error. Default NULL: the categories of the
                                 file */
    size_t n_names;
    size_t n_values; /* categorical tables without names: the number of values that the model takes.
                        If it has no room for the categories of missing words, these are 0 in each
                        category. Default 0: any number */
    const char *labels; /* a file of labels: a table of ids and labels, or one label per example in
                           a table of one column, .npy or IDX. Default NULL: the labels of the file
                           itself */
    const char *kind;   /* "image": the examples of an array are images, (height, width) with or
                           without channels. Default NULL: an array */
    const char *layout; /* images of arrays, "chw" or "hwc": the position of the channels.
                           sis_data_values always returns them last. Default NULL: detected if
                           unambiguous */
    size_t fit[3];      /* images are resized to (height, width, channels): shorter sides by
                           averaging areas, longer ones bilinearly; grey becomes equal colours,
                           colours become their brightness. Default 0: not resized */
    int more_names;     /* names only adds categories to those of the file; columns keep their
                           order. Default 0 */
    sis_missing missing; /* treatment of missing values */
    size_t memory;       /* bytes: if texts, sequences or tables take more, only a few blocks of
                            examples are in memory; others are read again on demand, from a
                            temporary copy if the input is a pipe or gzipped. Default 0: all
                            examples are in memory */
    size_t needed;       /* arrays (.npy, IDX): only the first `needed` examples are used, and
                            others are not held; sis_data_count() counts all. Default 0: all */
    size_t length; /* DNA: longer sequences are cropped, shorter ones padded with N, equally at both
                      ends (the end gets an odd one). Default 0: unchanged */
    const char *text; /* .csv, .tsv: the column, by name, that holds texts; only it, label and id
                         are read. Default NULL: the columns are features */
    const char *kept; /* tables: names of columns, separated by commas, that are no features but are
                         kept with their example (sis_data_kept). Default NULL */
    const char *const *const *words; /* (n_names) with names: NULL, or words and a NULL behind them:
                                        the value of the column is the position of its word, -1 is
                                        never used. Default NULL: no such column */
} sis_data_opt;

/* Sets the defaults. */
void sis_data_opt_defaults(sis_data_opt *opt); /* writes opt->size bytes */
static inline void sis_data_opt_init(sis_data_opt *opt) {
    opt->size = sizeof *opt;
    sis_data_opt_defaults(opt);
}

/* Read a file with at least one example; opt may be NULL. Numbers of an array keep the file's type:
 * a pixel of one byte takes one byte in memory. *out is NULL on failure. */
int sis_data_read(const char *path, const sis_data_opt *opt, sis_data **out);
void sis_data_free(sis_data *data);

size_t sis_data_count(const sis_data *data);     /* examples */
const char *sis_data_kind(const sis_data *data); /* "array", "table", "image", "text" or "dna" */

/* For example i < count: its number of values, and its shape (*rank numbers whose product is the
 * width). A text has words instead of values: its width is 0. */
size_t sis_data_width(const sis_data *data, size_t i);
const size_t *sis_data_shape(const sis_data *data, size_t i, size_t *rank);

/* Write the values of example i to `out` (width numbers, C order). */
int sis_data_values(const sis_data *data, size_t i, double *out);

/* The name of each value of an example (a table's header); NULL if the file has none. */
const char *const *sis_data_names(const sis_data *data);

/* The name of each feature (the columns of a table); NULL if the file has none. */
const char *const *sis_data_feature_names(const sis_data *data);

/* The feature of each value of example i, to `map` (width numbers) unless it is NULL. The channels
 * of a pixel, the four values of a base and the categories of a column are one feature each; any
 * other value is a feature by itself. Returns the number of features. */
size_t sis_data_features(const sis_data *data, size_t i, int *map);

/* The id of example i: from the file, or else its number, written to `number`. */
enum { SIS_ID_SIZE = 24 };
const char *sis_data_id(const sis_data *data, size_t i, char number[SIS_ID_SIZE]);

/* The label of example i as the file gives it; NULL if it does not. */
const char *sis_data_label(const sis_data *data, size_t i);

/* The same as a number: 1, or 0 if there is no label or it is no finite number. */
int sis_data_label_number(const sis_data *data, size_t i, double *out);

/* The kept columns of example i, as a JSON object of texts; NULL if there are none. */
const char *sis_data_kept(const sis_data *data, size_t i);

/* One line about conversions ("3 of 5 images fitted to 28 x 28 pixels"); NULL: none. */
const char *sis_data_note(const sis_data *data);

/* The features that a person marked as important in example i, *n of them, without duplicates; NULL
 * if the file has none. For texts: numbers of words. */
const int *sis_data_human(const sis_data *data, size_t i, size_t *n);

/* Why examples could not be read again (opt.memory), for example because the file changed.
 * Accessors return empty results for them. 0: no error. */
int sis_data_error(const sis_data *data);

/* ---- Data sets in memory ------------------------------------------------------------------- */

/* Optional information about examples. Zeroed, or a NULL pointer: none. */
typedef struct sis_data_with {
    const char *name;            /* name of the data set in messages; NULL: "the examples" */
    const char *kind;            /* numbers: "array" (NULL), "table" or "image" */
    sis_missing missing;         /* numbers: treatment of NaN */
    const char *const *names;    /* (values of an example) names of columns */
    const int *map;              /* (values of an example) numbers: the feature of each value, from
                                    0 without gaps; NULL: by kind */
    const char *const *features; /* with map: names of the features */
    const char *const *ids;      /* (examples) ids; NULL: numbers */
    const char *const *labels;   /* (examples) */
    void *reserved[8];
} sis_data_with;

/* Data sets from memory. Everything is copied, and *out is NULL on failure. values: dims[0]
 * examples, the other axes are the shape of one example; finite numbers. texts: UTF-8. words: texts
 * given as words, n_words[i] for example i, one example after the other. sequences: letters A C G T
 * N. */
int sis_data_from_values(const double *values, size_t rank, const size_t *dims,
                         const sis_data_with *with, sis_data **out);
int sis_data_from_texts(const char *const *texts, size_t n, const sis_data_with *with,
                        sis_data **out);
int sis_data_from_words(const char *const *words, const size_t *n_words, size_t n,
                        const sis_data_with *with, sis_data **out);
int sis_data_from_sequences(const char *const *letters, size_t n, const sis_data_with *with,
                            sis_data **out);

/* ---- Texts --------------------------------------------------------------------------------- */

/* Text i as written, UTF-8 (words are joined by blanks); NULL if the data set holds no texts. */
const char *sis_data_text(const sis_data *data, size_t i);

/* ---- DNA ----------------------------------------------------------------------------------- */

/* The letters of sequence i, upper case; NULL if the data set holds no DNA. */
const char *sis_data_sequence(const sis_data *data, size_t i);

/* The length of sequence i in its file if opt.length changed it; 0: unchanged. */
size_t sis_data_full_length(const sis_data *data, size_t i);

#ifdef __cplusplus
}
#endif
#endif
