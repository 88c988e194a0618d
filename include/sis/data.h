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

/* What the file is to be taken for. */
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
                          a tab, and number, category, ignore (no feature), id or label; what follows
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

/* Does a cell stand for a missing word: nothing, NA, NaN, N/A or null? Is value v, one of a column's
 * categories, that of missing words? */
int sis_word_is_missing(const char *cell);
int sis_data_is_missing_category(const sis_data *data, size_t v);

/* What example i is called: the file's own id for it, or else its number, written to `number`. */
enum { SIS_ID_SIZE = 24 };
const char *sis_data_id(const sis_data *data, size_t i, char number[SIS_ID_SIZE]);

/* The label of example i as the file gives it; NULL if it does not. */
const char *sis_data_label(const sis_data *data, size_t i);

/* The same as a number: 1, or 0 if there is no label or it is no finite number. */
int sis_data_label_number(const sis_data *data, size_t i, double *out);

/* One line on how the file was taken ("3 of 5 images fitted to 28 x 28 pixels"); NULL: as it is. */
const char *sis_data_note(const sis_data *data);

/* The features that a person marked in example i as what matters, *n of them, each once; NULL if
 * the file has none. Of a text: numbers of words. */
const int *sis_data_human(const sis_data *data, size_t i, size_t *n);

/* Why examples could not be read again (opt.memory): the file has changed, say. What the accessors
 * returned of them is empty. 0: nothing went wrong. */
int sis_data_error(const sis_data *data);

/* ---- What columns hold --------------------------------------------------------------------- */

/* A column of a table, or of rows of numbers. */
typedef struct sis_column {
    const char *name;
    const char *type; /* "number", "category", "id", "label", or "ignore": no feature, because the
                         options say so or its words are more than 1000 different ones */
    size_t missing, distinct;      /* cells without a value; different values besides */
    double least, most;            /* of numbers; NaN: there is none */
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

/* ---- Data sets in memory ------------------------------------------------------------------- */

/* What is known of examples beside themselves. Zeroed, or NULL in the place of all of it: nothing. */
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

/* A word of a text, and where it stands. */
typedef struct sis_word {
    const char *text;     /* in lower case: what a vocabulary knows */
    size_t start, length; /* bytes of the text as it was written */
} sis_word;

/* The words of a text, in order. Zeroed before it is first filled; filling it again reuses its
 * memory. */
typedef struct sis_words {
    size_t n;
    sis_word *items; /* (n) */
    char *lower;     /* what they point to */
    size_t items_room, lower_room;
} sis_words;

/* The tokenizer: what is left between blanks, control characters and
 * !"#$%&()*+,-./:;<=>?@[\]^_`{|}~ are words (the default of Keras, as in the paper). Lower case of
 * ASCII, Latin, Greek and Cyrillic letters. */
#define SIS_TOKENIZER "words"
int sis_words_split(const char *text, sis_words *words);
void sis_words_release(sis_words *words);

/* The words of example i: those the file gives, or those of its text. */
int sis_data_words(const sis_data *data, size_t i, sis_words *words);

/* ---- Vocabularies -------------------------------------------------------------------------- */

/* Words and their numbers, from 0 without gaps. Number 0 is padding. Words that are not in it share
 * one number if it has a word "<unknown>" (or <unk>, <oov>, [UNK], as others call it). */
typedef struct sis_vocabulary sis_vocabulary;

#define SIS_WORD_PADDING "<padding>"
#define SIS_WORD_UNKNOWN "<unknown>"

/* Padding, unknown, then the `most` most frequent words of the texts rows[0..n_rows) (NULL: all),
 * most frequent first, equally frequent ones in the order of their first appearance. */
int sis_vocabulary_build(const sis_data *texts, const size_t *rows, size_t n_rows, size_t most,
                         sis_vocabulary **out);

/* From and to a JSON list of words, as models carry it (SIS_NET_META_VOCABULARY); free(*json). */
int sis_vocabulary_parse(const char *json, sis_vocabulary **out);
int sis_vocabulary_format(const sis_vocabulary *v, char **json);
void sis_vocabulary_free(sis_vocabulary *v);

size_t sis_vocabulary_size(const sis_vocabulary *v);
const char *sis_vocabulary_word(const sis_vocabulary *v, size_t id); /* NULL if there is none */

/* The number of a word in lower case; that of unknown words, or 0 if they have none. */
size_t sis_vocabulary_find(const sis_vocabulary *v, const char *word);

/* The last `length` words as numbers, with padding in front of fewer. word_at (NULL: not wanted) is
 * for each place the index of its word in `words`, SIZE_MAX for padding. Returns how many words
 * there are. */
size_t sis_vocabulary_encode(const sis_vocabulary *v, const sis_words *words, size_t length,
                             double *ids, size_t *word_at);

/* ---- Tokenizers ---------------------------------------------------------------------------- */

/* What makes tokens of texts for networks such as BERT and GPT, from the file that comes with them:
 * vocab.txt (WordPiece, a token a line; small letters if no token has a capital one) or
 * tokenizer.json (Hugging Face): WordPiece or byte-level BPE, normalizers BertNormalizer, Lowercase,
 * StripAccents, NFC, NFD, NFKC, NFKD, Strip; pre-tokenizers BertPreTokenizer, Whitespace,
 * WhitespaceSplit, Punctuation, Digits, ByteLevel; special tokens by TemplateProcessing,
 * BertProcessing or RobertaProcessing. What a file asks for beyond that is SIS_E_UNSUPPORTED; so is
 * every file if the library was built without libutf8proc. */
typedef struct sis_tokenizer sis_tokenizer;

int sis_tokenizer_read(const char *path, sis_tokenizer **out); /* *out is NULL on failure */
void sis_tokenizer_free(sis_tokenizer *tokenizer);

size_t sis_tokenizer_size(const sis_tokenizer *tokenizer); /* the highest number, and one */
const char *sis_tokenizer_word(const sis_tokenizer *tokenizer, size_t id); /* NULL: none */
long sis_tokenizer_find(const sis_tokenizer *tokenizer, const char *word); /* -1: none */

/* Tokens that stand for no text, by number; -1: there is none. */
typedef enum sis_special {
    SIS_SPECIAL_PAD,
    SIS_SPECIAL_MASK,
    SIS_SPECIAL_UNKNOWN,
    SIS_N_SPECIALS
} sis_special;
long sis_tokenizer_special(const sis_tokenizer *tokenizer, sis_special special);

/* A token, and where it stands. */
typedef struct sis_token {
    int id;
    size_t start, length; /* bytes of the text, without the blank in front of a word */
    size_t word;          /* which word of the text, from 0; SIZE_MAX: a special token around it */
} sis_token;

/* Zeroed before it is first filled; filling it again reuses its memory. */
typedef struct sis_tokens {
    size_t n;
    sis_token *items; /* (n) */
    size_t room;
} sis_tokens;

/* The tokens of a text with the special ones around it, at most `most` in all (0: any number): what
 * does not fit is cut off behind. Words are the pieces that the tokenizer cuts a text into before it
 * looks them up, with what an apostrophe ties together. */
int sis_tokenizer_encode(const sis_tokenizer *tokenizer, const char *text, size_t most,
                         sis_tokens *out);
void sis_tokens_release(sis_tokens *tokens);

/* ---- DNA ----------------------------------------------------------------------------------- */

/* The letters of sequence i, upper case; NULL if the data set holds no DNA. */
const char *sis_data_sequence(const sis_data *data, size_t i);

/* A motif: how often each base is seen at each of its positions. */
typedef struct sis_motif {
    const char *id, *name; /* "MA0139.1", "CTCF"; the id again if there is no name */
    size_t length;
    const double *counts;        /* (length, 4) A C G T, as in the file */
    const double *probabilities; /* (length, 4) each position adds up to 1 */
} sis_motif;

typedef struct sis_motifs {
    size_t n;
    sis_motif *items; /* (n) */
    double *numbers;  /* what they point to */
    const char **strings;
} sis_motifs;

/* Read a file of motifs, or of FILE:ID the one that sis_motifs_find finds in it. Its content says
 * which format it is:
 *
 *     >MA0139.1 CTCF     then rows A, C, G and T with a number for each position (JASPAR .pfm,
 *                        pscan .wil), perhaps as "A [ 87 167 ]" (.jaspar); or a row of four numbers
 *                        for each position, if that is how every motif of the file is written
 *     MEME version 4     MOTIF lines and letter-probability matrices
 */
int sis_motifs_read(const char *path, sis_motifs *out);
void sis_motifs_release(sis_motifs *motifs);

/* The motif of that id ("MA0139.1"), or else of that name or of an id that goes on behind a full stop or
 * underscore ("MA0139": its newest version), whatever the case; of several alike the last. NULL:
 * none. */
const sis_motif *sis_motifs_find(const sis_motifs *motifs, const char *name);

/* The same, and an error that says what `file`, where they are from, has instead. */
int sis_motifs_pick(const sis_motifs *motifs, const char *file, const char *name,
                    const sis_motif **out);

/* Shuffle a sequence of A C G T N so that it has as many of each pair of neighbours as before,
 * every such sequence with the same probability. It begins and ends with the same letter. n letters
 * and a NUL to `out`. */
int sis_dna_shuffle(const char *sequence, uint64_t seed, char *out);

/* Sequences made up: a background, and in positive ones a motif planted on either strand. */
typedef struct sis_dna_opt {
    size_t length;           /* of a sequence; default 101 */
    double composition[4];   /* of the background: shares of A C G T; default 0.25 each */
    const char *peak;        /* or the background is this sequence of A C G T N, its dinucleotides
                                shuffled; default NULL */
    const sis_motif *motifs; /* (n_motifs), at least one: each equally often; borrowed */
    size_t n_motifs;
    uint64_t seed;
} sis_dna_opt;

void sis_dna_opt_init(sis_dna_opt *opt);

/* Where the motif was planted, and what of it. */
typedef struct sis_dna_site {
    size_t motif, start, length;
    int reverse; /* on the other strand */
} sis_dna_site;

/* Sequence number i: the same for the same options, seed and i. *sequence is free()d by you. `site`
 * is only written if it is positive. */
int sis_dna_make(const sis_dna_opt *opt, size_t i, int positive, char **sequence,
                 sis_dna_site *site);

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

#ifdef __cplusplus
}
#endif
#endif
