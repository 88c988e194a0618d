/* SPDX-License-Identifier: MIT
 *
 * What the files of a task share. The way of an example through them:
 *
 *     task.c      options, model, examples: which there are, what they are called
 *     encode.c    what a data set holds -> the values that the model takes
 *     pieces.c    the same for texts of models that read them by themselves
 *     prompts.c   prompts of language models
 *     table.c     absent values, categories of two files, rows with words
 *     features.c  which values are a feature, what features are called
 *     parts.c     parts of pictures, and from parts to pixels
 *     tokens.c    features of texts, masks of models that take tokens
 *     sentences.c where sentences end
 *     mask.c      what a missing feature looks like
 *     blur.c      and if it is the image itself, blurred
 *     output.c    which output is meant
 *     shapes.c    what shape examples have, where the network leaves it open
 *     load.c      all of that for one example
 *     method.c    how to explain, what earlier results say about it
 *     guarantee.c for what subsets are to be sufficient, and proofs
 *     explain.c   examples -> answers -> records, on threads
 *     scores.c    plain scores; thresholds
 *     verify.c    records held against examples and model
 *     provenance.c how records are made, for their file
 *     resume.c    what an earlier run left in that file
 *
 * `opt` strings are the task's own copies. A message names options as the program does.
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
#include <sis/task.h>
#include <sis/text.h>

#include "base/buf.h"

/* An id by its hash: names themselves stay in the data set. */
typedef struct sis__task_id_hash {
    uint64_t hash;
    size_t at;
} sis__task_id_hash;

/* Where examples come from, and which of them. */
typedef struct sis__task_source {
    const sis_data *data;
    sis_data *read; /* the same, if the task has read it */
    size_t *rows;   /* (n) their numbers in it; NULL: first, first + step, ... */
    size_t first, step, n;
    size_t dropped;           /* rows left out because a value is absent */
    sis__task_id_hash *by_id; /* (n) by hash; NULL: rows are not chosen and called by number */
} sis__task_source;

/* Its number in the data set, and what it is called: that of the data set, or a number. */
size_t sis__task_row(const sis__task_source *s, size_t i);
const char *sis__task_name(const sis__task_source *s, size_t i, char number[SIS_ID_SIZE]);

/* Texts cut for a model that reads them by itself. */
typedef struct sis__task_pieces {
    sis_piece *items; /* NULL: there are none. The last stands for masked words */
    size_t *first;    /* (examples of the data set + 1) where those of each begin */
    char *stand_in;   /* text of the last */
    sis__buf texts;   /* of all examples, each with its NUL */
} sis__task_pieces;

/* An example of a language model (prompts.c), texts of its own. */
typedef struct sis__task_prompt {
    char *line;                                /* as it was given */
    char *before, *text, *after, *answer, *id; /* the last two may be NULL */
    sis_piece *parts;                          /* (n) of text */
    size_t n, room;
    int list; /* parts are entries of a list */
    int *human; /* (n_human) parts that a person marked; NULL: nothing is said */
    size_t n_human;
} sis__task_prompt;

typedef struct sis__task_prompts {
    sis__task_prompt *items; /* (n) NULL: there are none */
    size_t n, room;
    sis_prompt *told; /* (n) as the model has them */
    const char *unit; /* "sentence" ...: what texts are cut into */
} sis__task_prompts;

/* Rows of a table as a cmd: or http: model is given them. */
typedef struct sis__task_rows {
    int wanted;
    sis_row_form form;
    sis_row_column *columns; /* (form.n) */
    const char **categories; /* (values) what columns point to; texts of the data set */
    double *numbers;         /* (values) the same as numbers */
} sis__task_rows;

/* From what a data set holds to what the model takes. */
typedef struct sis__task_encoding {
    const sis_net *net; /* what the model's file carries, or NULL */
    int engine;         /* the engine runs it */
    char *words;        /* columns that are words, with commas between; NULL: none is named */
    int token;          /* it takes token ids */
    int texts;          /* and is given texts, or the model is that reads them itself */
    sis_vocabulary *vocabulary; /* of token ids, or NULL */
    sis_tokenizer *tokenizer;   /* in its place, or NULL */
    double padding;             /* the token id that is no token */
    char **names;               /* (read.n_names) of the values, as the model has them, or NULL */
    sis_data_opt read;          /* how data are read, those of masks too */
    char **seed;                /* (n_seed) while data are read: categories of the mask's */
    size_t n_seed;
    int drop; /* rows with absent values are left out */
    sis__task_rows rows;
    sis__task_pieces pieces;
    sis__task_prompts prompts;
    int shared; /* vocabulary, tokenizer, names and rows are another task's */
} sis__task_encoding;

/* Which values are a feature. */
typedef struct sis__task_features {
    int by_default; /* what the data say, so that sequences and marks of people fit */
    int *map;       /* of all examples; NULL: each has its own */
    char **names;   /* (n) that all examples share, or NULL */
    size_t n;
    size_t parts;    /* of a picture, about so many; 0: features are something else */
    int superpixels; /* by what they look like, not a grid */
    const char *const *value_names; /* those of values where they say more; of the data */
} sis__task_features;

/* What a missing feature looks like: the same for every value of any example, or samples of the
 * examples' width. */
typedef struct sis__task_mask {
    int ready, constant, shared;
    double blur;      /* > 0: each example has its own, the image blurred by so many pixels */
    double fill;      /* constant */
    double *rows;     /* (n_samples, width) */
    size_t n_samples; /* 1 if constant */
    size_t width;
    struct sis__task_deck *deck; /* that samples are drawn from, if more are wanted */
} sis__task_mask;

/* Outputs of the model. */
typedef struct sis__task_outputs {
    char **labels; /* (n) NULL: they have none */
    size_t n;
    size_t fixed; /* the output of every example; SIZE_MAX: top */
} sis__task_outputs;

/* How to explain. */
typedef struct sis__task_method {
    int is_sis;
    int contrast;
    sis_method_opt how; /* of the others */
    size_t *lengths;    /* (examples) from earlier results, 0: unknown; or NULL */
    int **orders;       /* (examples) the same; NULL: unknown */
    size_t *n_orders;
} sis__task_method;

/* What other values may be: of all examples, or so far from each. */
typedef struct sis__task_domain {
    int known;              /* 0: it has not been read; nothing can be proved */
    double *low, *high;     /* (width) NULL: any number, or the radius says it */
    unsigned char *missing; /* (width) NULL: never */
    double radius;          /* NaN: none */
    double min, max;     /* with it: what any value is at least and at most */
} sis__task_domain;

/* For what subsets are to be sufficient, and which decision stays. */
typedef struct sis__task_guarantee {
    sis_guarantee asked;
    int keep_class;
    int keep_side; /* instead, of a model with one output: the score stays on its side of the threshold */
    sis__task_domain domain;
    double *scale, *step; /* (width) of contrasts, NULL: not known. With the domain: shared_domain */
    unsigned char *fixed; /* (features) NULL: none */
    sis_prover *prover;               /* of the task's model; NULL: none is needed */
    int shared_prover, shared_domain; /* they are another task's */
} sis__task_guarantee;

typedef struct sis__task_ahead sis__task_ahead;
typedef struct sis__task_handles sis__task_handles;

/* The memory that an example and its record point into. */
typedef struct sis__example_memory {
    double *values, *mask; /* of its input, if they are not the task's */
    int *map;
    char *pool; /* of its words */
    size_t dims[3];
    double completeness[2];
    sis_prompted prompted;
} sis__example_memory;

/* While examples are explained, by any number of threads. */
typedef struct sis__task_running {
    pthread_mutex_t lock;
    sis__task_handles *handles; /* of the model; NULL: none was needed yet */
    sis_progress progress;
    double told;   /* when it was last reported */
    size_t *which; /* (n_which) examples of sis_task_next; NULL: all */
    size_t n_which;
    sis__task_ahead *ahead; /* what sis_task_next has begun; NULL: nothing */
} sis__task_running;

struct sis_task {
    sis_task_opt opt;
    sis_model model;
    char name[256]; /* of the model, in records */
    int own_model;  /* closed with the task */
    int alike;      /* it is that of the task that this one is like */
    sis_model *
        others; /* (n_others) further handles, where examples have as many values in other shapes */
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

/* Before something is told to the model: a handle of the task's own, if it has none. */
int sis__task_own_model(sis_task *t);

/* The same, also for a task that is like another one. */
int sis__task_take_model(sis_task *t);

/* Are masks drawn for each example anew, or may records ask for it? */
int sis__task_redraws(const sis_task *t);

/* ---- encode.c, pieces.c -------------------------------------------------------------------- */

int sis__task_is_kind(const sis_data *data, const char *kind);

/* How the model wants data to be read: the names of its values, its vocabulary. */
int sis__task_encode_open(sis_task *t);

/* Now that the data are there: may the model be given texts, how are they cut. */
int sis__task_encode_begin(sis_task *t);
int sis__task_pieces_begin(sis_task *t);

/* Have images read in the size that the network takes. */
int sis__task_fit(sis_task *t);
void sis__task_encode_release(sis__task_encoding *e);

/* An example of a data set as the model takes it: how many values, then these. word_at (width),
 * unless NULL: for each value the number of its word, SIZE_MAX for padding. */
int sis__task_width(const sis_task *t, const sis_data *data, size_t row, size_t *width);
int sis__task_encode(const sis_task *t, const sis_data *data, size_t row, size_t width,
                     double *values, size_t *word_at);

/* Where the values of an image lie, as the model takes them. */
typedef struct sis__task_raster {
    size_t height, width, channels;
    size_t step, channel_step; /* from a pixel to the next, from a channel to the next */
} sis__task_raster;

/* 0: the example is no image. */
int sis__task_is_image(const sis_task *t, size_t row, sis__task_raster *out);

/* The shape of an example as the model takes it: borrowed, or written to dims. */
const size_t *sis__task_shape(const sis_task *t, size_t row, size_t dims[3], size_t *rank);

/* Which value of the data each value is that the model takes (width). */
void sis__task_order(const sis_task *t, size_t row, size_t width, int *order);

/* The same of an array with a value for each of an example's. Its shape says where its channels are;
 * one that says nothing has its values as the model takes them. SIS_E_ARGUMENT: it has other axes. */
int sis__task_array_order(const sis_task *t, const sis_array *array, int *order);

/* What the features of an example are by themselves: a number for each value to `map`, unless that
 * is NULL; how many there are. */
size_t sis__task_own_features(const sis_task *t, size_t row, int *map);

/* Prompts instead of a file's examples: read, as a data set of the texts that are explained; told to the model;
 * the values of one: its number, and 1 for each part; and what a record says of it. */
int sis__task_has_prompts(const sis_task_opt *o);
int sis__task_prompts_read(sis_task *t, sis_data **out);
int sis__task_prompts_begin(sis_task *t);
double sis__task_prompt_threshold(const sis_task *t); /* that needs no telling */
void sis__task_prompts_release(sis__task_prompts *p);
void sis__task_prompt_encode(const sis_task *t, size_t row, size_t width, double *values,
                             size_t *word_at);
/* A record is verified for the answer that it is about; another one that was given is SIS_E_ARGUMENT. */
int sis__task_prompt_take_answer(const sis_task *t, size_t row, const sis_record *r);
void sis__task_prompt_record(const sis_task *t, sis_example *e, sis_record *r);

/* ---- table.c ------------------------------------------------------------------------------- */

/* The options for missing values and for rows. */
int sis__task_table_open(sis_task *t);

/* Before the data are read: let them have the categories of the mask's file, too. After. */
int sis__task_seed_open(sis_task *t);
void sis__task_seed_close(sis__task_encoding *e);

/* Is a value of the row absent? values: room for it. And leave such examples out, if they are to
 * be. */
int sis__task_has_missing(const sis_data *data, size_t row, double *values, int *out);
int sis__task_drop(sis_task *t);

/* Rows as they are, if they are wanted: tell the model; does the mask have words for them? */
int sis__task_rows_begin(sis_task *t);
int sis__task_rows_check_mask(const sis_task *t);
void sis__task_rows_release(sis__task_rows *r);

/* ---- features.c, tokens.c, mask.c, output.c ------------------------------------------------ */

/* Are the features of examples words (or tokens, or sentences)? Is that what --features asks for by
 * name? What they are called in records; NULL: words, or something else. */
int sis__task_has_words(const sis_task *t);
int sis__task_is_text_unit(const char *features);
const char *sis__task_unit(const sis_task *t);

/* Examples that lend their values, as wide as those explained; path "": the data set of the options.
 * Free d->read. A failure names the option. */
typedef struct sis__task_donors {
    const sis_data *data;
    sis_data *read; /* the same, if it was read here */
    size_t width;
} sis__task_donors;
int sis__task_donors_open(const sis_task *t, const char *option, const char *path, size_t wanted,
                          sis__task_donors *d);

/* The examples of a hot deck, while more than one mask is drawn from it. */
typedef struct sis__task_deck {
    double *rows;      /* (n, width) */
    sis_input *inputs; /* (n) */
    sis_example like;  /* where their features lie */
    sis_deck *deck;
} sis__task_deck;
void sis__task_deck_free(sis__task_deck *d);

/* Does the mask draw from data, hotdeck:FILE or rows:FILE, or without a file from a background? How
 * long the name is; 0: no. */
size_t sis__task_deck_name(const char *mask);

/* Parts of pictures: what "grid:N" and "superpixel:N" mean; the part of each value (n_values) of an
 * example, or its pixel. */
int sis__task_parts_read(const char *text, sis__task_features *f);
int sis__task_parts_load(const sis_task *t, sis_example *e, int pixels, int *map);

/* What was found in parts (whole: n_values) of an example that is loaded by pixels, down to these. On
 * failure nothing needs a release. */
int sis__task_refine(const sis_task *t, sis_example *e, const sis_model *model, const sis_opt *opt,
                     int *whole, sis_rationale *out);

/* Features, mask and outputs that all examples share. */
int sis__task_features_begin(sis_task *t);
int sis__task_mask_begin(sis_task *t);
int sis__task_outputs_begin(sis_task *t);

/* The output that opt.target or opt.target_index means; on failure it stays as it was. */
int sis__task_outputs_choose(sis__task_outputs *o, const char *target, const char *index);

/* Features and words of an example of a model that takes words. */
int sis__task_words(const sis_task *t, sis_example *e);

/* Masks that only models of token ids have, and those that are something else for them; masks of
 * texts in pieces. SIS_OK if t->mask is ready, or is none of these. */
int sis__task_mask_token(sis_task *t, const char *text);
int sis__task_mask_pieces(sis_task *t, const char *text);

/* Every value of any example is masked by this. */
int sis__task_mask_fill(sis_task *t, double value);

/* blur:S, and the mask of an example then. */
int sis__task_mask_blur(sis_task *t, const char *pixels);
int sis__task_blur(const sis_task *t, sis_example *e);

/* The output meant for an example with these scores (only read for "top"). */
size_t sis__task_output(const sis_task *t, const double *scores);

/* Have all examples the same number of values? A failure that names the option if not; the width if
 * so. */
int sis__task_same_widths(const sis_task *t, const char *option, size_t *width);

/* ---- shapes.c ------------------------------------------------------------------------------ */

/* Does the network leave so much open that it has to be told the shape of an example? */
int sis__task_needs_shapes(const sis_task *t);

/* Tell it those of the first n examples. */
int sis__task_shapes_tell(sis_task *t, size_t n);
void sis__task_shapes_release(sis_task *t);

/* The model for an example: `model`, or the handle that knows its shape. */
const sis_model *sis__task_model_for(const sis_task *t, const sis_model *model, size_t row);

/* Is an example of a data set an image of another shape than the first of the task? */
int sis__task_other_shape(const sis_task *t, const sis_data *data, size_t row);

/* ---- load.c -------------------------------------------------------------------------------- */

/* Values of an example alone; then its features. */
int sis__task_load_values(const sis_task *t, size_t row, sis_example *out);
int sis__task_load_features(const sis_task *t, sis_example *e);

/* Example i with features and mask. output: SIZE_MAX: found out, by the model if need be. */
int sis__task_load(const sis_task *t, size_t i, const sis_model *model, size_t output,
                   sis_example *out);

/* ---- method.c ------------------------------------------------------------------------------ */

/* Do the options fit each other? Before anything is opened. */
int sis__task_method_check(const sis_task_opt *opt, sis__task_method *method);

/* Does it find collections of minimal subsets, under no constraint? */
int sis__task_minimal(const sis__task_method *m);

/* What earlier results say about the examples. */
int sis__task_method_begin(sis_task *t);
void sis__task_method_release(sis__task_method *m, size_t n);

/* Explain example i, which is loaded, with a model and options for this thread. */
int sis__task_method_find(const sis_task *t, size_t i, const sis_example *e, const sis_model *model,
                          const sis_opt *opt, sis_rationale *out);

/* ---- guarantee.c --------------------------------------------------------------------------- */

/* Do the options fit each other? Before anything is opened; then what all examples share. */
int sis__task_guarantee_check(const sis_task_opt *opt, sis__task_guarantee *g);
int sis__task_guarantee_begin(sis_task *t);
void sis__task_guarantee_share(const sis__task_guarantee *like, sis__task_guarantee *g);
void sis__task_guarantee_release(sis__task_guarantee *g);

/* Explain an input so that it holds for every value of the rest. */
int sis__task_prove(const sis_task *t, const sis_input *input, const sis_opt *search,
                    sis_rationale *out);

/* Or for a share of the values of the rest. */
int sis__task_chance(const sis_task *t, const sis_model *model, const sis_input *input,
                     const sis_opt *search, sis_rationale *out);

/* Check a record that claims a share. */
int sis__task_chance_audit(sis_task *t, const sis_model *model, const sis_input *input,
                           const sis_record *record, sis_audit *out);

/* Check n records of one domain that claim this. */
int sis__task_prove_audit(sis_task *t, const sis_input *inputs, const sis_record *records, size_t n,
                          sis_audit *out);

/* ---- scores.c ------------------------------------------------------------------------------ */

/* A threshold as a number: "0.8", or a percentile of the scores of all examples. */
int sis__task_threshold_find(const sis_task *t, const char *text, double *out);

/* ---- explain.c ----------------------------------------------------------------------------- */

/* Has the task these examples, which[0..n) (NULL: the first n)? 0, or the failure. */
int sis__task_check_examples(const sis_task *t, const size_t *which, size_t n);

/* End the threads of sis_task_next; end the handles of the model. */
void sis__task_ahead_free(sis_task *t);
void sis__task_handles_free(sis_task *t);

/* sis_task_next begins again at the first example. */
void sis__task_begin_again(sis_task *t);

/* ---- Small things -------------------------------------------------------------------------- */

/* With keep_side: does an example of this score stay below the threshold? */
int sis__task_is_below(const sis_task *t, double score);

/* A program's options, which may be shorter than this library's: the rest are defaults. SIS_E_ARGUMENT: a size is not
 * set. */
int sis__task_opt_take(const sis_task_opt *given, sis_task_opt *out);

/* A whole number and nothing else; a number, finite. Does the text end so, with something before? */
int sis__text_whole(const char *text, long *value);
int sis__text_number(const char *text, double *value);
int sis__text_ends_in(const char *text, const char *end);

#endif
