/* SPDX-License-Identifier: MIT
 *
 * task.h - from the command line to something the library can work on: a model, the examples asked
 * for, and for each of them features, mask and output. What explain, verify and predict share.
 *
 *     task.c           model, examples, plain scores, thresholds
 *     question.c       features, output
 *     question_mask.c  mask
 *     tokens.c         the same for models that take token ids
 *     encode.c         from what a file holds to what the model takes
 *     pieces.c         texts for models that are given them as they are
 */
#ifndef SIS_CLI_TASK_H
#define SIS_CLI_TASK_H

#include <jansson.h>

#include <sis/data.h>
#include <sis/model.h>
#include <sis/sis.h>

#include "cli.h"

/* Which model, which examples. */
typedef struct cli_source {
    const char *model, *input, *rows, *label, *id;
    int categorical;
    double timeout;
    size_t jobs;
} cli_source;
extern const cli_option cli_source_options[];
#define CLI_SOURCE_WITHOUT_MODEL (cli_source_options + 1) /* where --model is not any model */
void cli_source_init(cli_source *s);

/* What a feature is, what a missing one looks like, which output is meant. */
typedef struct cli_question {
    const char *mask, *features;
    const char *output; /* NULL: not asked, because records say it */
    size_t samples;     /* 0: as many as usual */
    size_t seed, memory;
} cli_question;
extern const cli_option cli_question_options[]; /* all but the output */
extern const cli_option cli_output_options[];
void cli_question_init(cli_question *q);

/* How many samples a hot deck has. */
size_t cli_draws(const cli_question *q);

/* A model and the examples asked for, in the order asked for. */
typedef struct cli_task {
    sis_model model;
    const sis_net *net; /* behind an ONNX file, else NULL */
    sis_data_opt opt;   /* how data are read, those of masks too */
    json_t
        *names_list; /* of the values, as the model has them, or NULL; opt.names points into it */
    sis_data *data;
    sis_vocabulary *vocabulary; /* of a network that is given texts, else NULL */
    sis_piece *pieces;   /* of the texts that a cmd: model is given, else NULL; see pieces.c */
    size_t *first_piece; /* (examples of the file) where those of each begin */
    char *stand_in;      /* the piece in the place of a masked one, or NULL */
    size_t *rows;        /* (n) example numbers in the file */
    size_t n;
    char **ids;        /* (n) what they are called */
    sis_input *inputs; /* (n), complete after cli_task_ask */
    double **values;   /* (n) */
    double *mask;      /* (n_samples, width) */
    size_t n_samples;
    int *feature_of;  /* of all examples; NULL: each value is a feature, or they differ */
    int **maps;       /* (n) the feature map of each example, where they differ: token models */
    char ***words;    /* (n) token models: the words of each example's features */
    size_t **word_at; /* (n) texts: for each value the number of its word, SIZE_MAX: padding */
    int **human;      /* (n) texts: the features that a person marked; NULL: not known */
    size_t *n_human;  /* (n) */
    int by_default;   /* features are what the data say, so `sequence` and `human` fit them */
    char **names;     /* (n_features) names that all examples share, or NULL */
    size_t n_features;
    const char *const
        *value_names; /* (width) those of values, where they are others; of the data */
} cli_task;

/* Open model and data, choose and load rows. CLI_DONE or an exit status after one line on stderr.
 * cli_task_close is harmless whatever happened. */
int cli_task_open(cli_task *t, const cli_source *s);
void cli_task_close(cli_task *t);

/* Features, mask and output of every example into inputs. */
int cli_task_ask(cli_task *t, const cli_source *s, const cli_question *q);

/* Scores (n, n_outputs) of n inputs; *scores is free()d by the caller, also after a failure. */
int cli_task_predict(const cli_task *t, const sis_input *inputs, size_t n, size_t jobs,
                     double **scores);

/* "0.7", or "p90": the 90th percentile, over the whole input file, of the score that would be
 * explained. */
int cli_task_threshold(const cli_task *t, const char *text, const cli_source *s,
                       const cli_question *q, double *threshold);

/* Why nothing can be asked about input i, or NULL: a text may have no words. */
const char *cli_task_excuse(const cli_task *t, size_t i);

/* Would `output` overwrite the model, the input or the mask? CLI_DONE if not. */
int cli_task_spares(const cli_source *s, const cli_question *q, const char *output);

/* The examples out of `count` that --rows asks for. */
int cli_rows(const char *text, size_t count, size_t **rows, size_t *n);

/* The name of a file without its folder; a cmd: model is what it is. */
const char *cli_last_part(const char *path);

/* Do both name the same model? A file counts as the same wherever it lies. */
int cli_same_model(const char *a, const char *b);

/* ---- Between the files ----------------------------------------------------------------------- */

/* The mask of every example, by --mask. */
int cli_task_mask(cli_task *t, const cli_question *q);

/* n zeroed items, or NULL after an error line. */
void *cli_grab(size_t n, size_t size);

/* Room for one more of n items of `size` bytes. CLI_DONE, or CLI_FAILED after an error line. */
int cli_grow(void **items, size_t *room, size_t n, size_t size);

/* A whole number and nothing else. */
int cli_whole(const char *text, long *value);

/* Does the text end so, with something before it? */
int cli_ends_in(const char *text, const char *end);

/* A number and nothing else, finite. */
int cli_number(const char *text, double *value);

/* Numbers (int) in ascending order, for qsort and bsearch. */
int cli_by_number(const void *a, const void *b);

/* Do all examples have the same number of values? An error line that names the option if not. */
int cli_same_widths(const cli_task *t, const char *option);

/* What the features of input i are by themselves: n_values numbers to `map`, if it is not NULL; how
 * many there are. */
size_t cli_encode_features(const cli_task *t, size_t i, int *map);

/* How the model wants data to be read: the names of its values, if it has any. Then, for data that
 * need it, its vocabulary. */
int cli_encode_names(cli_task *t);
int cli_encode_begin(cli_task *t);

/* One example of a data set as the model takes it: first how many values, then these. */
typedef struct cli_row {
    size_t width;
    double *values;  /* (width) */
    size_t *word_at; /* (width) as in cli_task, or NULL: not wanted */
} cli_row;
int cli_encode_width(const cli_task *t, const sis_data *data, size_t i, size_t *width);
int cli_encode(const cli_task *t, const sis_data *data, size_t i, cli_row *row);

/* The shape of input i: borrowed, or written to `out`. */
const size_t *cli_shape(const cli_task *t, size_t i, size_t *rank, size_t out[3]);

/* The output meant by `text` for an example with these scores (only read for "top"). SIZE_MAX after
 * an error line. */
size_t cli_output_of(const cli_task *t, const char *text, const double *scores);

/* Token ids that a row of this network has; 0: as many as there are words. */
size_t cli_token_length(const sis_net *net);

/* Is it a model of token ids? */
int cli_is_token(const cli_task *t);

/* Are its inputs texts, a feature being a word? As ids for a network, in pieces for a cmd:
 * model. */
int cli_has_words(const cli_task *t);

/* Cut all texts into pieces, one a word, and tell the model. Then those of one example, and
 * masks. */
int cli_pieces_begin(cli_task *t);
size_t cli_pieces_count(const cli_task *t, size_t example);
void cli_pieces_encode(const cli_task *t, size_t example, cli_row *row);
int cli_pieces_mask(cli_task *t, const char *text);

/* Features of models that take words: every one but padding. */
int cli_token_features(cli_task *t);

/* Masks that only token models have, and the ones that are something else for them: 1 if `text` was
 * one and t->mask is filled, 0 if not, negative after an error line. */
int cli_token_mask(cli_task *t, const char *text);

#endif
