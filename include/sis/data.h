/* SPDX-License-Identifier: MIT
 *
 * sis/data.h - examples from files, or from memory.
 *
 * Stable: what is declared here stays as it is for as long as SIS_ABI does.
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
 * The end of the file name says what a file is; ".gz" after it changes nothing, and what is gzipped
 * is unpacked whatever it is called:
 *
 *     .npy         NumPy array of numbers: versions 1.0 to 3.0, float16/32/64, int and uint of 8 to
 *                  64 bits, bool, both byte orders, C and Fortran order. The first axis counts the
 *                  examples, the others are the shape of one.
 *     .csv, .tsv   table of numbers with a header, whose cells are the names of the features. Cells
 *                  are separated by commas (.csv) or tabs (.tsv) and may be quoted (RFC 4180);
 *                  blank lines do not count. Without a header columns are called c0, c1, ...: if
 *                  opt.no_header says so, if the first line holds nothing but numbers (other than
 *                  0, 1, 2 ... or 1, 2, 3 ..., which are names), or the same number twice. "-" is a
 *                  .csv on standard input, or a .jsonl if it begins with "{".
 *     .idx, -ubyte IDX array, the format of MNIST; the first axis counts the examples. Bytes with
 *                  two or three axes behind it are images: pixels from 0 to 1 (a byte divided by
 *                  255). "train-labels-idx1-ubyte" beside "train-images-idx3-ubyte" holds the
 *                  labels. An array with one axis is itself labels: the value is the label.
 *     .png, .jpg   one image, grey (height, width) or colour (height, width, 3), at most 4096
 *                  pixels a side: pixels from 0 to 1. Palettes are looked up, 16 bits are cut to 8,
 *                  what is transparent is laid on black. JPEG if built with libjpeg.
 *     a folder     of such images, in folders of its own, too. An example is called by its path in
 *                  it, "cat/1.jpg", and labelled by the first folder of that, "cat". Pixels stay in
 *                  the files until they are asked for.
 *     .txt         texts, one a line; a blank line is a text without words, at the end of the file
 *                  it is none. Lines of any file of text end with LF, CRLF or CR.
 *     .tsv         also texts, with their labels: if the header has a column "text"; without a
 *                  header, if every column but the last holds numbers (ratings, separated by tabs
 *                  or blanks), or if there are two columns and the second holds several words;
 *                  never with no_header, types, categorical or categories, which are of tables.
 *     .jsonl       JSON Lines: an object a line with "text", "words" (a list of text, taken as they
 *                  are) or "values" (a list of numbers), all lines alike, and optionally "id",
 *                  "label" and "human" (numbers of the words that a person marked). Other fields
 *                  are passed over.
 *     .fa, .fasta  DNA sequences with their names (FASTA): lines of any length, both cases, letters
 *                  A C G T and N. The labels may stand in a file beside it that ends in .target: a
 *                  line a sequence, whose first number is the label ("1 0": bound, "0 1": not).
 *     .seq         DNA sequences as a table with tabs (ENCODE, DeepBind): a header with a column
 *                  "seq", and optionally "EventID" and "Bound" (the label).
 *
 * A sequence is (4, length) values: rows A C G T, 1 where the base is; N is 0.25 in each. What is
 * masked together is a base.
 *
 * Examples are numbered from 0, in messages too: "row 7" of a table is the eighth line of numbers.
 * Every value is finite and every text is UTF-8; whatever else a file holds is an error that says
 * where.
 *
 * Ownership: what the accessors return is borrowed and lives as long as the data set; with
 * opt.memory what they return of an example lives until the same thread asks for another example.
 * Threads: a data set does not change once it is read; any number of threads may use it.
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

/* What an absent value is: a cell of a table that is empty, NA, NaN, N/A or null (none, too, in a
 * column of numbers), null in a list of values of a .jsonl, NaN in an array. */
typedef enum sis_missing {
    SIS_MISSING_ERROR,  /* an error; in a column of words the category "nan", the last one, unless
                           opt.names or opt.n_values leave none for it */
    SIS_MISSING_NAN,    /* NaN; in a column of words the same, but 0 for every category if there is
                           none for it */
    SIS_MISSING_ALL,    /* NaN, of a column of words in each of its values */
    SIS_MISSING_MEAN,   /* the mean of the other rows; of words the most frequent one */
    SIS_MISSING_MEDIAN, /* the median of the other rows; of words the most frequent one */
} sis_missing;

/* How to read the file. */
typedef struct sis_data_opt {
    size_t size;       /* of this struct as your program was compiled; set by sis_data_opt_init */
    const char *label; /* the column or field that holds the label: by name, or by number from 0
                          where there is no header. Default NULL: "label" of a .jsonl, "Bound" of a
                          .seq, the first column but the text and the id of a .tsv of texts. Of a
                          table, that column is then no feature */
    const char *id;    /* the column or field, by name, whose text each example is called by; it may
                          not be empty. Of a table, that column is then no feature. Default NULL:
                          "id" of a .jsonl, "EventID" of a .seq; rows of tables have numbers */
    int categorical;   /* tables: a column with any cell that is neither a number nor missing is
                          categories, at most 1000 different ones. Each is a value, 0 or 1, called
                          "column=category", sorted by category: as numbers if all are numbers, else
                          as text; all values of the column are one feature. A column of true and
                          false is one of numbers, 1 and 0. 2: the same, if a .tsv is a table and not texts. Default 0: such a
                          cell is an error */
    const char *categories; /* tables: columns, by name, with commas between, that are categories
                               whatever their cells are. Default NULL */
    const char *types; /* tables: a file that says what columns are, one a line: its name, blanks or
                          a tab, and number, category, ignore (no feature), id, label or kept; what follows
                          is passed over. What sis_columns_format() writes is such a file. Default
                          NULL: found out, column by column */
    int no_header;     /* tables: the first line is a row like others. Default 0: looked at */
    const char *const *names; /* categorical tables: the values as they are to be, by name (what
                                 sis_data_names gave when a model was trained, or
                                 "column_category"); a category that is not among them is an error.
                                 Default NULL: those of the file */
    size_t n_names;
    size_t n_values; /* categorical tables without names: how many values the model takes. If that
                        leaves out the categories of missing words, these are 0 in each category.
                        Default 0: any number */
    const char *labels; /* a file of labels: a table of names and labels, or a label an example as
                           a table of one column, .npy or IDX. Default NULL: what the file itself
                           says */
    const char *kind;   /* "image": the examples of an array are images, (height, width) or with
                           channels. Default NULL: an array */
    const char *layout; /* of these, "chw" or "hwc": where the channels are. sis_data_values hands
                           them out last in any case. Default NULL: found out if it is clear */
    size_t fit[3];      /* images are resized to (height, width, channels): sides that get shorter
                           by averaging areas, longer ones bilinearly; grey becomes colours that are
                           alike, colours become their brightness. Default 0: as they are */
    int more_names;     /* names only adds to the categories of columns: those of the file are there
                       too, and columns stand as in the file. Default 0 */
    sis_missing missing; /* what an absent value is */
    size_t memory;       /* bytes: of texts, sequences and tables that take more, a few blocks of
                            examples are held at a time, and others are read from the file again
                            when they are asked for; of a pipe and of what is gzipped, from a copy in
                            a temporary file. Default 0: all examples are held */
    size_t needed;       /* of arrays (.npy, IDX) only the first so many examples are asked for, so
                            that others are not held; sis_data_count() counts all. Default 0: all */
    size_t length; /* DNA: longer sequences lose as many bases at both ends, shorter ones get as
                            many N (of an odd number the end gets one more). Default 0: as they are */
    const char *text; /* .csv, .tsv: the column, by name, that holds a text in every row; other columns
                         than label and id are not read. Default NULL: the columns are features */
    const char *kept; /* tables: columns, by name, with commas between, that are no features and stay with
                         their example (sis_data_kept). Default NULL */
} sis_data_opt;

/* Every default. */
void sis_data_opt_defaults(sis_data_opt *opt); /* of as many fields as opt->size says */
static inline void sis_data_opt_init(sis_data_opt *opt) {
    opt->size = sizeof *opt;
    sis_data_opt_defaults(opt);
}

/* Read a file with at least one example; opt may be NULL. Numbers of an array stay in the file's
 * own type, so that one byte a pixel in the file is one byte in memory. *out is NULL on failure. */
int sis_data_read(const char *path, const sis_data_opt *opt, sis_data **out);
void sis_data_free(sis_data *data);

size_t sis_data_count(const sis_data *data);     /* examples */
const char *sis_data_kind(const sis_data *data); /* "array", "table", "image", "text" or "dna" */

/* Of example i < count: how many values it has; its shape, *rank numbers whose product that is. A
 * text has words instead of values: its width is 0. */
size_t sis_data_width(const sis_data *data, size_t i);
const size_t *sis_data_shape(const sis_data *data, size_t i, size_t *rank);

/* The values of example i, in C order: width numbers to `out`. */
int sis_data_values(const sis_data *data, size_t i, double *out);

/* A name for each value of an example (a table's header); NULL if the file has none. */
const char *const *sis_data_names(const sis_data *data);

/* A name for each feature: the columns of a table; NULL if the file has none. */
const char *const *sis_data_feature_names(const sis_data *data);

/* Which feature each value of example i belongs to: the channels of a pixel are one feature, so are
 * the four values of a base and the categories of a column; otherwise each value is its own.
 * `width` numbers to `map`, if that is not NULL. Returns how many features there are. */
size_t sis_data_features(const sis_data *data, size_t i, int *map);

/* What example i is called: the file's own id for it, or else its number, written to `number`. */
enum { SIS_ID_SIZE = 24 };
const char *sis_data_id(const sis_data *data, size_t i, char number[SIS_ID_SIZE]);

/* The label of example i as the file gives it; NULL if it does not. */
const char *sis_data_label(const sis_data *data, size_t i);

/* The same as a number: 1, or 0 if there is no label or it is no finite number. */
int sis_data_label_number(const sis_data *data, size_t i, double *out);

/* The kept columns of example i, as a JSON object of texts; NULL if there are none. */
const char *sis_data_kept(const sis_data *data, size_t i);

/* One line on how the file was taken ("3 of 5 images fitted to 28 x 28 pixels"); NULL: as it is. */
const char *sis_data_note(const sis_data *data);

/* The features that a person marked in example i as what matters, *n of them, each once; NULL if
 * the file has none. Of a text: numbers of words. */
const int *sis_data_human(const sis_data *data, size_t i, size_t *n);

/* Why examples could not be read again (opt.memory): the file has changed, say. What the accessors
 * returned of them is empty. 0: nothing went wrong. */
int sis_data_error(const sis_data *data);

/* ---- Data sets in memory ------------------------------------------------------------------- */

/* Optional information about examples. Zeroed, or a NULL pointer: none. */
typedef struct sis_data_with {
    const char *name;            /* of the data set in messages; NULL: "the examples" */
    const char *kind;            /* of numbers: "array" (NULL), "table" or "image" */
    sis_missing missing;         /* of numbers: what NaN is */
    const char *const *names;    /* (values of an example) of columns */
    const int *map;              /* (values of an example) of numbers: the feature of each, from 0
                                  without gaps; NULL: as the kind has it */
    const char *const *features; /* with map: what each feature is called */
    const char *const *ids;      /* (examples) what they are called; NULL: by number */
    const char *const *labels;   /* (examples) */
    void *reserved[8];
} sis_data_with;

/* As if read from a file: everything is copied, and *out is NULL on failure.
 * values: dims[0] examples, the other axes are the shape of one; finite numbers.
 * texts: UTF-8. words: texts whose words are taken as they are, n_words[i] of example i, those of
 * one example behind those of the other. sequences: letters A C G T N. */
int sis_data_from_values(const double *values, size_t rank, const size_t *dims,
                         const sis_data_with *with, sis_data **out);
int sis_data_from_texts(const char *const *texts, size_t n, const sis_data_with *with,
                        sis_data **out);
int sis_data_from_words(const char *const *words, const size_t *n_words, size_t n,
                        const sis_data_with *with, sis_data **out);
int sis_data_from_sequences(const char *const *letters, size_t n, const sis_data_with *with,
                            sis_data **out);

/* ---- Texts --------------------------------------------------------------------------------- */

/* Text i as it was written, UTF-8 (given as words: these with blanks between); NULL if the data set
 * holds no texts. */
const char *sis_data_text(const sis_data *data, size_t i);

/* ---- DNA ----------------------------------------------------------------------------------- */

/* The letters of sequence i, upper case; NULL if the data set holds no DNA. */
const char *sis_data_sequence(const sis_data *data, size_t i);

/* How many bases it has in its file, if opt.length made them more or fewer; 0: as many. */
size_t sis_data_full_length(const sis_data *data, size_t i);

#ifdef __cplusplus
}
#endif
#endif
