/* SPDX-License-Identifier: MIT
 *
 * Internal structs and functions of tasks. The files, in the order of processing:
 *
 *     task.c      options, model, selection and ids of examples
 *     encode.c    values of a data set -> values for the model
 *     pieces.c    the same for texts of models with their own tokenizer
 *     prompts.c   prompts of language models
 *     table.c     missing values, categories of two files, rows as cells
 *     features.c  map of values to features, names of features
 *     parts.c     parts of images, refinement to pixels
 *     tokens.c    features of texts, masks of models that take tokens
 *     sentences.c ends of sentences
 *     mask.c      values of masked features
 *     blur.c      the mask of blurred images
 *     output.c    selection of the output
 *     shapes.c    shapes of examples for networks with free sizes
 *     load.c      all of this for one example
 *     method.c    options of methods, lengths and orders from earlier results
 *     guarantee.c guarantees and proofs
 *     explain.c   examples -> answers -> records, on threads
 *     scores.c    scores without masking; thresholds
 *     verify.c    verification of records
 *     provenance.c provenance of records
 *     resume.c    resuming a results file
 *
 * Strings of `opt` are copies owned by the task. Messages name options as the program does.
 */
#ifndef SIS_TASK_TASK_H
#define SIS_TASK_TASK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <sis/example.h>
#include <sis/explain.h>
#include <sis/files.h>
#include <sis/handle.h>
#include <sis/net.h>
#include <sis/prove.h>
#include <sis/record.h>
#include <sis/task.h>
#include <sis/text.h>

#include "base/buf.h"

/* An id by its hash; the strings stay in the data set. */
typedef struct sis__task_id_hash {
    uint64_t hash;
    size_t at;
} sis__task_id_hash;

/* The examples: data set and selected rows. */
typedef struct sis__task_source {
    const sis_data *data;
    sis_data *read; /* the same if the task read it */
    size_t *rows;   /* (n) row numbers; NULL: first, first + step, ... */
    size_t first, step, n;
    size_t dropped;           /* rows left out because a value is missing */
    sis__task_id_hash *by_id; /* (n) by hash; NULL: all rows, named by number */
} sis__task_source;

/* The row number of example i in the data set; its id, or its number. */
size_t sis__task_row(const sis__task_source *s, size_t i);
const char *sis__task_name(const sis__task_source *s, size_t i, char number[SIS_ID_SIZE]);

/* Texts split for a model with its own tokenizer. */
typedef struct sis__task_pieces {
    sis_piece *items; /* NULL: none. The last replaces masked words */
    size_t *first;    /* (examples of the data set + 1) index of the first piece of each */
    char *stand_in;   /* text of the last piece */
    sis__buf texts;   /* of all examples, each with its NUL */
} sis__task_pieces;

/* An example of a language model (prompts.c); it owns its strings. */
typedef struct sis__task_prompt {
    char *line;                                /* the original JSON */
    char *before, *text, *after, *answer, *id; /* the last two may be NULL */
    sis_piece *parts;                          /* (n) of text */
    size_t n, room;
    int list;   /* parts are entries of a list */
    int *human; /* (n_human) parts that a person marked; NULL: unknown */
    size_t n_human;
} sis__task_prompt;

typedef struct sis__task_prompts {
    sis__task_prompt *items; /* (n) NULL: no prompts */
    size_t n, room;
    sis_prompt *told; /* (n) as passed to the model */
    const char *unit; /* "sentence" ...: how texts are split */
} sis__task_prompts;

/* Rows of a table as cells for a cmd: or http: model. */
typedef struct sis__task_rows {
    int wanted;
    sis_row_form form;
    sis_row_column *columns; /* (form.n) */
    const char **categories; /* (values) memory of the columns; strings of the data set */
    double *numbers;         /* (values) the same as numbers */
} sis__task_rows;

/* How values of a data set become values for the model. */
typedef struct sis__task_encoding {
    const sis_net *net; /* the model's file, or NULL */
    int engine;         /* sis's own engine runs it */
    char *words;        /* columns of words, separated by commas; NULL: none named */
    int token;          /* the model takes token ids */
    int texts;          /* examples are texts, for token ids or for the model's own tokenizer */
    sis_vocabulary *vocabulary; /* of token ids, or NULL */
    sis_tokenizer *tokenizer;   /* used instead, or NULL */
    double padding;             /* id of the padding token */
    char **names;               /* (read.n_names) the model's names of values, or NULL */
    sis_data_opt read;          /* how data are read, also those of masks */
    char **seed;                /* (n_seed) categories of the mask's data, while data are read */
    size_t n_seed;
    int drop; /* rows with missing values are dropped */
    sis__task_rows rows;
    sis__task_pieces pieces;
    sis__task_prompts prompts;
    int shared; /* vocabulary, tokenizer, names and rows belong to another task */
} sis__task_encoding;

/* The map of values to features. */
typedef struct sis__task_features {
    int by_default; /* the default of the data, so that sequences and marks of people fit */
    int *map;       /* for all examples; NULL: each has its own */
    char **names;   /* (n) shared by all examples, or NULL */
    size_t n;
    size_t parts;                   /* approximate number of parts of an image; 0: no parts */
    int superpixels;                /* superpixels instead of a grid */
    const char *const *value_names; /* names of values if more specific; owned by the data */
} sis__task_features;

/* The mask: one value for every value of any example, or samples of the examples' width. */
typedef struct sis__task_mask {
    int ready, constant, shared;
    double blur;      /* > 0: each example has its own mask, blurred by this number of pixels */
    double fill;      /* constant */
    double *rows;     /* (n_samples, width) */
    size_t n_samples; /* 1 if constant */
    size_t width;
    struct sis__task_deck *deck; /* from which more samples are drawn */
} sis__task_mask;

/* Outputs of the model. */
typedef struct sis__task_outputs {
    char **labels; /* (n) NULL: they have none */
    size_t n;
    size_t fixed; /* the output of every example; SIZE_MAX: top */
} sis__task_outputs;

/* The explanation method. */
typedef struct sis__task_method {
    int is_sis;
    int contrast;
    sis_method_opt how; /* of methods other than sis */
    size_t *lengths;    /* (examples) from earlier results, 0: unknown; or NULL */
    int **orders;       /* (examples) the same; NULL: unknown */
    size_t *n_orders;
} sis__task_method;

/* The domain of the other values: the same for all examples, or a ball around each. */
typedef struct sis__task_domain {
    int known;              /* 0: not read yet, nothing can be proved */
    double *low, *high;     /* (width) NULL: any number, or given by the radius */
    unsigned char *missing; /* (width) NULL: never */
    double radius;          /* NaN: none */
    double min, max;        /* with the radius: bounds of any value */
} sis__task_domain;

/* The guarantee of subsets, and the decision to keep. */
typedef struct sis__task_guarantee {
    sis_guarantee asked;
    int keep_class;
    int keep_side; /* models with one output: keep the score on its side of the threshold */
    sis__task_domain domain;
    double *scale, *step;             /* (width) of contrasts, NULL: unknown. Owned like the domain:
                             shared_domain */
    unsigned char *fixed;             /* (features) NULL: none */
    sis_prover *prover;               /* of the task's model; NULL: not needed */
    int shared_prover, shared_domain; /* they belong to another task */
} sis__task_guarantee;

typedef struct sis__task_ahead sis__task_ahead;
typedef struct sis__task_handles sis__task_handles;

/* The memory of an example and its record. */
typedef struct sis__example_memory {
    double *values, *mask; /* of its input, if not the task's */
    int *map;
    char *pool; /* of its words */
    size_t dims[3];
    double completeness[2];
    sis_prompted prompted;
} sis__example_memory;

/* State while examples are explained, by any number of threads. */
typedef struct sis__task_running {
    pthread_mutex_t lock;
    sis__task_handles *handles; /* of the model; NULL: not needed yet */
    sis_progress progress;
    double told;   /* time of the last progress report */
    size_t *which; /* (n_which) examples of sis_task_next; NULL: all */
    size_t n_which;
    sis__task_ahead *ahead; /* state of sis_task_next; NULL: not started */
} sis__task_running;

struct sis_task {
    sis_task_opt opt;
    sis_model model;
    char name[256];    /* of the model in records */
    int own_model;     /* closed with the task */
    int derived;       /* the model is that of the task from which this one is derived */
    sis_model *others; /* (n_others) further handles for examples of other shapes */
    size_t n_others;
    sis__task_source source;
    sis__task_encoding encoding;
    sis__task_features features;
    sis__task_mask mask;
    sis__task_outputs outputs;
    sis__task_method method;
    sis__task_guarantee guarantee;
    double threshold;
    atomic_int cancelled;
    sis__task_running run;
};

/* ---- given.c ------------------------------------------------------------------------------- */

/* Values for further inputs of a network (given.c). */
int sis__given_read(const char *const *texts, size_t n, sis_net_tensor **out);
void sis__given_free(sis_net_tensor *t, size_t n);

/* ---- task.c -------------------------------------------------------------------------------- */

/* Make sure the task has its own handle, before settings of the model change. */
int sis__task_own_model(sis_task *t);

/* The same, also for a derived task. */
int sis__task_take_model(sis_task *t);

/* 1 if masks are drawn for each example, or records may require it. */
int sis__task_redraws(const sis_task *t);

/* ---- encode.c, pieces.c -------------------------------------------------------------------- */

int sis__task_is_kind(const sis_data *data, const char *kind);

/* The model's requirements for reading data: names of values, vocabulary. */
int sis__task_encode_open(sis_task *t);

/* After the data are read: check texts and choose how to split them. */
int sis__task_encode_begin(sis_task *t);
int sis__task_pieces_begin(sis_task *t);

/* Set the size of images to the network's input. */
int sis__task_fit(sis_task *t);
void sis__task_encode_release(sis__task_encoding *e);

/* Encode an example of a data set: its number of values, then the values. word_at (width), unless
 * NULL: the index of each value's word, SIZE_MAX for padding. */
int sis__task_width(const sis_task *t, const sis_data *data, size_t row, size_t *width);
int sis__task_encode(const sis_task *t, const sis_data *data, size_t row, size_t width,
                     double *values, size_t *word_at);

/* The shape of an example for the model: borrowed, or written to dims. */
const size_t *sis__task_shape(const sis_task *t, size_t row, size_t dims[3], size_t *rank);

/* For each value of the model, the index of the data's value (width). */
void sis__task_order(const sis_task *t, size_t row, size_t width, int *order);

/* The same for an array with one value for each of an example's. Its shape shows the position of
 * channels; an ambiguous one has the model's order. SIS_E_ARGUMENT: it has other axes. */
int sis__task_array_order(const sis_task *t, const sis_array *array, int *order);

/* The default features of an example: a number for each value to `map`, unless NULL; returns their
 * number. */
size_t sis__task_own_features(const sis_task *t, size_t row, int *map);

/* Prompts instead of examples of a file: read them as a data set of the explained texts; pass them
 * to the model; the values of one: its number, and 1 for each part; and the fields of its
 * record. */
int sis__task_has_prompts(const sis_task_opt *o);
int sis__task_prompts_read(sis_task *t, sis_data **out);
int sis__task_prompts_begin(sis_task *t);
double sis__task_prompt_threshold(const sis_task *t); /* the default of prompts */
void sis__task_prompts_release(sis__task_prompts *p);
void sis__task_prompt_encode(const sis_task *t, size_t row, size_t width, double *values,
                             size_t *word_at);
/* Verify a record with its own answer; another given answer is SIS_E_ARGUMENT. */
int sis__task_prompt_take_answer(const sis_task *t, size_t row, const sis_record *r);
void sis__task_prompt_record(const sis_task *t, sis_example *e, sis_record *r);

/* ---- table.c ------------------------------------------------------------------------------- */

/* The options for missing values and for rows. */
int sis__task_table_open(sis_task *t);

/* Before the data are read: add the categories of the mask's file. After: free them. */
int sis__task_seed_open(sis_task *t);
void sis__task_seed_close(sis__task_encoding *e);

/* 1 if a value of the row is missing; values: scratch. And drop such examples, if requested. */
int sis__task_has_missing(const sis_data *data, size_t row, double *values, int *out);
int sis__task_drop(sis_task *t);

/* If rows are sent as cells: tell the model, and check that the mask has words. */
int sis__task_rows_begin(sis_task *t);
int sis__task_rows_check_mask(const sis_task *t);
void sis__task_rows_release(sis__task_rows *r);

/* ---- features.c, tokens.c, mask.c, output.c ------------------------------------------------ */

/* 1 if the features are words, tokens or sentences. 1 if --features requests that by name. Their
 * name in records; NULL: words, or something else. */
int sis__task_has_words(const sis_task *t);
int sis__task_is_text_unit(const char *features);
const char *sis__task_unit(const sis_task *t);

/* Examples that donate values, as wide as the explained ones; path "": the data set of the options.
 * Free d->read. Errors name the option. */
typedef struct sis__task_donors {
    const sis_data *data;
    sis_data *read; /* the same if it was read for this; NULL: it was in memory */
    size_t width;
} sis__task_donors;
int sis__task_donors_open(const sis_task *t, const char *option, const char *path, size_t wanted,
                          sis__task_donors *d);

/* 1 if the file is the input and all of it is in memory, so that it need not be read again. */
int sis__task_is_input(const sis_task *t, const char *path);

/* The examples of a hot deck, if more than one mask is drawn. */
typedef struct sis__task_deck {
    double *rows;      /* (n, width) */
    sis_input *inputs; /* (n) */
    sis_example like;  /* an example with the layout of its features */
    sis_deck *deck;
} sis__task_deck;
void sis__task_deck_free(sis__task_deck *d);

/* 1 if masks are drawn from data: hotdeck or rows. */
int sis__mask_is_drawn(const char *mask, const char **file);

/* Parts of images: parse "grid:N" and "superpixel:N"; the part of each value (n_values) of an
 * example, or its pixel. */
int sis__task_parts_read(const char *text, sis__task_features *f);
int sis__task_parts_load(const sis_task *t, sis_example *e, int pixels, int *map);

/* The layout of an image's values for the model; `option` is named in the error for other examples. */
int sis__task_raster(const sis_task *t, sis_example *e, const char *option, sis_raster *out);

/* Refine subsets of parts (whole: n_values) to pixels, for an example loaded by pixels. On failure
 * nothing needs to be released. */
int sis__task_refine(const sis_task *t, sis_example *e, const sis_model *model, const sis_opt *opt,
                     int *whole, sis_rationale *out);

/* Features, mask and outputs that all examples share. */
int sis__task_features_begin(sis_task *t);
int sis__task_mask_begin(sis_task *t);
int sis__task_outputs_begin(sis_task *t);

/* Find the output of opt.target or opt.target_index; unchanged on failure. */
int sis__task_outputs_choose(sis__task_outputs *o, const char *target, const char *index);

/* Features and words of an example whose features are words. */
int sis__task_words(const sis_task *t, sis_example *e);

/* Masks of token models and of texts in pieces. SIS_OK if t->mask is ready, or the mask is none of
 * these. */
int sis__task_mask_token(sis_task *t, const char *text);
int sis__task_mask_pieces(sis_task *t, const char *text);

/* Mask every value of any example by this value. */
int sis__task_mask_fill(sis_task *t, double value);

/* Parse blur:S; compute the mask of an example. */
int sis__task_mask_blur(sis_task *t, const char *pixels);
int sis__task_blur(const sis_task *t, sis_example *e);

/* The explained output of an example with these scores (only read for "top"). */
size_t sis__task_output(const sis_task *t, const double *scores);

/* The common number of values of all examples; else an error that names the option. */
int sis__task_same_widths(const sis_task *t, const char *option, size_t *width);

/* ---- shapes.c ------------------------------------------------------------------------------ */

/* 1 if the network has several free sizes and needs the shape of each example. */
int sis__task_needs_shapes(const sis_task *t);

/* Pass the shapes of the first n examples to the network. */
int sis__task_shapes_tell(sis_task *t, size_t n);
void sis__task_shapes_release(sis_task *t);

/* The model for an example: `model`, or the handle with its shape. */
const sis_model *sis__task_model_for(const sis_task *t, const sis_model *model, size_t row);

/* 1 if an example of a data set is an image of another shape than the task's first. */
int sis__task_other_shape(const sis_task *t, const sis_data *data, size_t row);

/* ---- load.c -------------------------------------------------------------------------------- */

/* Load only the values of an example; then its features. */
int sis__task_load_values(const sis_task *t, size_t row, sis_example *out);
int sis__task_load_features(const sis_task *t, sis_example *e);

/* Load example i with features and mask. output SIZE_MAX: determined, by a prediction if needed. */
int sis__task_load(const sis_task *t, size_t i, const sis_model *model, size_t output,
                   sis_example *out);

/* ---- method.c ------------------------------------------------------------------------------ */

/* Check the combination of options, before anything is opened. */
int sis__task_method_check(const sis_task_opt *opt, sis__task_method *method);

/* 1 if the method finds collections of minimal subsets without a constraint. */
int sis__task_minimal(const sis__task_method *m);

/* Read lengths and orders from earlier results. */
int sis__task_method_begin(sis_task *t);
void sis__task_method_release(sis__task_method *m, size_t n);

/* Explain example i, already loaded, with a model and options of this thread. */
int sis__task_method_find(const sis_task *t, size_t i, const sis_example *e, const sis_model *model,
                          const sis_opt *opt, sis_rationale *out);

/* ---- guarantee.c --------------------------------------------------------------------------- */

/* Check the combination of options, before anything is opened; then prepare what examples share. */
int sis__task_guarantee_check(const sis_task_opt *opt, sis__task_guarantee *g);
int sis__task_guarantee_begin(sis_task *t);
void sis__task_guarantee_share(const sis__task_guarantee *like, sis__task_guarantee *g);
void sis__task_guarantee_release(sis__task_guarantee *g);

/* Explain an input with a proof for every value of the rest. */
int sis__task_prove(const sis_task *t, const sis_input *input, const sis_opt *search,
                    sis_rationale *out);

/* Explain an input for a share of the values of the rest. */
int sis__task_chance(const sis_task *t, const sis_model *model, const sis_input *input,
                     const sis_opt *search, sis_rationale *out);

/* Check a record that claims a share. */
int sis__task_chance_audit(sis_task *t, const sis_model *model, const sis_input *input,
                           const sis_record *record, sis_audit *out);

/* Check n records of one domain that claim a proof. */
int sis__task_prove_audit(sis_task *t, const sis_input *inputs, const sis_record *records, size_t n,
                          sis_audit *out);

/* ---- scores.c ------------------------------------------------------------------------------ */

/* Parse a threshold: "0.8", or a percentile of the scores of all examples. */
int sis__task_threshold_find(const sis_task *t, const char *text, double *out);

/* ---- explain.c ----------------------------------------------------------------------------- */

/* 0 if the task has these examples, which[0..n) (NULL: the first n); else an error. */
int sis__task_check_examples(const sis_task *t, const size_t *which, size_t n);

/* End the threads of sis_task_next; close the handles of the model. */
void sis__task_ahead_free(sis_task *t);
void sis__task_handles_free(sis_task *t);

/* Restart sis_task_next at the first example. */
void sis__task_begin_again(sis_task *t);

/* ---- Helpers ------------------------------------------------------------------------------- */

/* With keep_side: 1 if an example of this score is below the threshold. */
int sis__task_is_below(const sis_task *t, double score);

/* Copy a program's options, which may be shorter than this library's; the rest are defaults.
 * SIS_E_ARGUMENT: a size is not set. */
int sis__task_opt_take(const sis_task_opt *given, sis_task_opt *out);

/* Parse an integer; parse a finite number; 1 if the text has this suffix after something else. */
int sis__text_whole(const char *text, long *value);
int sis__text_number(const char *text, double *value);
int sis__text_ends_in(const char *text, const char *end);

/* 1 if an option is NAME or NAME:REST; *rest is "" without a colon. */
int sis__text_is(const char *text, const char *name, const char **rest);

#endif
