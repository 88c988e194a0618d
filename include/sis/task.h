/* SPDX-License-Identifier: MIT
 *
 * sis/task.h - runs the analysis of `sis explain`: opens a model and a file, returns records.
 *
 * Stable: declarations do not change as long as SIS_ABI stays the same.
 *
 *     sis_task_opt o;  sis_task_opt_init(&o);
 *     o.model.spec = "imdb.onnx";  o.examples.input = "reviews.txt";
 *     o.question.threshold = "0.8";
 *     sis_task *task;
 *     sis_record r;
 *     int got = sis_task_open(&o, &task);
 *     while (got >= 0 && (got = sis_task_next(task, &r)) == 1)
 *         use(&r);                                  // sis/results.h: sis_record_format(&r, ...)
 *     if (got < 0)
 *         fprintf(stderr, "%s\n", sis_error_detail());
 *     sis_task_free(task);
 *
 * A task combines a model, examples, a definition of features, a mask and a decision. It reads
 * examples, encodes them for the model (texts as token ids, images in the network's layout), masks
 * features and evaluates the model. Its records equal those of the program, byte for byte except
 * for run times.
 *
 * Sections: options, records, the same analysis of other examples (for servers), the examples of a
 * task, verification, scores. sis/example.h gives one encoded example.
 *
 * Memory: the data set stays packed. In addition a task holds the ids of the examples, 16 bytes per
 * word for texts of models other than networks, and 8 bytes per example while it runs. Values,
 * masks, words and feature maps exist only while their example is explained.
 *
 * Messages name options as the program does: --mask is opt.mask, --target is opt.target. Errors: 0
 * or a negative code of sis/error.h; SIS_E_OPTION if an option makes no sense. Threads: one thread
 * at a time uses a task, except for sis_task_cancel, sis_task_explain and functions that take a
 * const task. Any number of tasks may share one opened model, also a language model: what a
 * task tells a model stays in its own handle (sis_model_share).
 */
#ifndef SIS_TASK_H
#define SIS_TASK_H

#include <stddef.h>
#include <stdint.h>

#include <sis/data.h>
#include <sis/error.h>
#include <sis/model.h>
#include <sis/results.h>
#include <sis/sis.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sis_rationale sis_rationale; /* sis/explain.h */

/* ---- Options ------------------------------------------------------------------------------- */

/* Default number of hot-deck samples (opt.samples = 0). */
enum { SIS_TASK_DRAWS = 32 };

/* Parameters of the other methods (sis/explain.h). */
typedef struct sis_task_numbers {
    size_t size;
    size_t steps;        /* ig: points on the path */
    int zero_baseline;   /* ig: the path starts at zero instead of the mask */
    size_t step;         /* gradient: features masked at once */
    int prefer;          /* quick: which features to keep if it can choose, a sis_preference */
    double width, ridge; /* lime: width of the kernel, penalty on squared weights */
} sis_task_numbers;

/* The model. */
typedef struct sis_task_model_opt {
    size_t size;
    const char *spec;   /* as in sis_model_open; with `opened`, the model's name in records */
    sis_model_opt open; /* how it is opened */
    size_t n_with;
    const char *const
        *with; /* (n_with) NAME=FILE or NAME=NUMBER: values of other inputs of a network; a number
                  fills the whole input. Only read by sis_task_open */
    const sis_model *opened; /* an opened model, or one with your own predict function */

    /* For a predict function that reads texts: receives the model's ctx and the pieces of the text
     * in its rows (see sis_model_take_texts). NULL: it reads no texts. */
    int (*take_texts)(void *ctx, const sis_piece *pieces, size_t n);
} sis_task_model_opt;

/* The examples: a file, or a data set (sis_data_from_values and related functions). A task with
 * neither serves sis_task_derive only. */
typedef struct sis_task_examples_opt {
    size_t size;
    const char *input;
    const sis_data *data;
    sis_data_opt read;   /* how files are read: columns of ids and labels, categories, types,
                            images */
    const char *missing; /* treatment of missing values: "nan", "mean", "median" (of the file's
                            other rows), "drop" (leave the example out), "error". NULL: "nan" if the
                            model supports NaN (boosted trees, cmd:), else "error" */
    const char *rows_as; /* tables: "one-hot" (default): one value per category; "values",
                            "objects": cmd: and http: models get the cells of a row as a list or by
                            name. Cells may then be words, whatever read.categorical says */
    const char *tokenizer; /* the tokenizer file of the network: vocab.txt or tokenizer.json. NULL:
                              the network's own vocabulary */
    int fit;               /* resize images of files to the network's input */
    const char *rows;      /* as in sis_rows_parse; NULL: all */
    size_t shard;  /* use only every `shards`-th of these, from number `shard` on; */
    size_t shards; /* shards 0 to shards - 1 together are all examples. Default 0 of 1 */
    const char *
        prompt; /* language models: a file with the prompt, in which {field} stands for a field of
                   the input (.jsonl). model.open.explain names the field that is split into
                   features: "sentence" (default), "paragraph", "line", "word"; a list is split into
                   its entries */
    const char *answer; /* for examples without a field "answer"; NULL: the model's own answer */
    const char *prompt_text; /* the prompt as text instead of a file */
    const char *objects;     /* the examples of prompts as text, one JSON object per line, instead
                                of a file */
} sis_task_examples_opt;

/* What is explained about each example. */
typedef struct sis_task_question_opt {
    size_t size;
    const char *features;       /* units that are masked together: "each" value (default), "axis:A",
                                   FILE.npy; texts: "word" (default), "token" or "sentence"; images:
                                   "grid:N", "superpixel:N" */
    int refine;                 /* with the last two: explain the parts, then the pixels of the
                                   parts found */
    const char *mask;           /* what replaces masked features, as in sis explain --mask:
                                   "mean:FILE", "zero", "blur:3", "hotdeck:FILE", "rows:FILE" ...
                                   NULL: the model's own mask */
    const sis_data *background; /* the data set for "mean", "hotdeck" and "rows" without a file */
    size_t samples;             /* draws of a hot deck or of lime; 0: the default */
    uint64_t seed;              /* of both; default 1 */
    const char *target;         /* the output to explain: a label of the model; a position from 0 if
                                   it has no labels; or "top" (default): the highest score of each
                                   example. NULL: the records say it */
    const char *target_index;   /* the position of the output, from 0; NULL: `target` is used */
    const char *threshold;      /* "0.8", or "p90": a percentile of the scores of all examples,
                                   computed when the task is opened. NULL: search.threshold */
    int plain;                  /* only scores: there is no mask and nothing can be explained;
                                   sis_task_predict and sis_task_load work */
    const char *keep; /* what a subset must keep: "score" (default), or "class": the output stays
                         highest, without a threshold. For one output with a link: the score stays
                         on its side of link(0), which is 0.5 for probabilities */
    const char *guarantee; /* "mask" (default). "all": subsets are proved sufficient for every value
                              of the other features, without a mask (models: sis/prove.h).
                              "chance:P": sufficient for a share P of the values that the hot deck
                              in `mask` draws; `samples` is then the number of draws per example (0:
                              2000) */
    double confidence;     /* of "chance:P"; default 0.95 */
    int smallest;          /* with "all": find subsets of the fewest features */
    const char *domain;    /* with "all": the values that features may take: "any" number (default);
                              "data:FILE": the range of each column in FILE; "ball:E[,LOW:HIGH]": at
                              most E from the example's value (and within that range) */
    const char *units;     /* contrasts: "income=100,age=1": these features change by multiples of
                              the unit, and distances count units; others are divided by their
                              standard deviation in the data of the domain, else in the examples.
                              NULL: no units */
    const char *fixed;     /* contrasts: features that never change ("age,sex"). NULL: none */
    int cheapest;          /* contrasts: find the nearest, not one with the fewest features */
} sis_task_question_opt;

/* Method, search and what records contain. */
typedef struct sis_task_answer_opt {
    size_t size;
    const char *method;     /* "sis" (default), a method of sis/explain.h ("quick", "ig" ...), or
                               "contrast" (sis/prove.h) */
    const char *constraint; /* other methods: "sufficient" (default), "length", "top" */
    sis_task_numbers how;   /* parameters of the other methods */
    int remove;             /* lime: remove words instead of masking them */
    const char *lengths;    /* results of sis that give the lengths for "length" */
    const char *orders;     /* results with traces that give the orders */
    sis_opt search;         /* below, max_subsets, memory, jobs, exact, early_stop, progress */
    int keep_going;         /* if the model fails for an example, write a record of status error and
                               go on */
    int trace;              /* records contain the order of the method; those of sis always do */
} sis_task_answer_opt;

/* What sis_task_verify may do and keep. */
typedef struct sis_task_audit_opt {
    size_t size;
    int trust;           /* it may open files that only the records name */
    int counterexamples; /* with "all": keep an input for each feature that shows it is needed */
} sis_task_audit_opt;

/* Strings are copied by sis_task_open; models and data are borrowed until the task is freed. */
typedef struct sis_task_opt {
    size_t size; /* sizeof this struct when your program was compiled; sis_task_opt_init sets it and
                    the sizes of the inner structs */
    sis_task_model_opt model;
    sis_task_examples_opt examples;
    sis_task_question_opt question;
    sis_task_answer_opt answer;
    sis_task_audit_opt audit;
} sis_task_opt;

/* Sets the defaults. */
void sis_task_opt_defaults(sis_task_opt *opt); /* writes as many bytes as the sizes say */
static inline void sis_task_opt_init(sis_task_opt *opt) {
    opt->size = sizeof *opt;
    opt->model.size = sizeof opt->model;
    opt->model.open.size = sizeof opt->model.open;
    opt->examples.size = sizeof opt->examples;
    opt->examples.read.size = sizeof opt->examples.read;
    opt->question.size = sizeof opt->question;
    opt->answer.size = sizeof opt->answer;
    opt->answer.how.size = sizeof opt->answer.how;
    opt->answer.search.size = sizeof opt->answer.search;
    opt->audit.size = sizeof opt->audit;
    sis_task_opt_defaults(opt);
}

/* Open only the model of these options (model, open, with), for use without examples. Close it
 * yourself. */
int sis_task_open_model_sized(const sis_task_opt *opt, sis_model *out);
static inline int sis_task_open_model(const sis_task_opt *opt, sis_model *out) {
    sis_model_init(out);
    return sis_task_open_model_sized(opt, out);
}

/* ---- Records --------------------------------------------------------------------------------- */

typedef struct sis_task sis_task;

/* Open model and data, select examples, prepare masks and threshold. Every example is checked
 * against the model before the first is explained. *out is NULL on failure. */
int sis_task_open(const sis_task_opt *opt, sis_task **out);

/* Cancels a running task. NULL is allowed. */
void sis_task_free(sis_task *task);

/* 1: *record is the record of the next example, in order; borrowed until the next call. 0: there
 * are no more. Negative: a failure; no records follow. If the model returns NaN, or a text has no
 * words, the record has status error and the call succeeds. With several jobs, threads of the task
 * explain examples ahead. */
int sis_task_next(sis_task *task, sis_record *record);

/* Restrict sis_task_next to n examples, which[0..n) ascending, and restart at the first. */
int sis_task_choose(sis_task *task, const size_t *which, size_t n);

/* Explain example i on this thread; returns 0 or an error. Any number of threads may call it at the
 * same time; at most `jobs` of them run, the others wait. *record is borrowed until this thread
 * explains another example, ends, or frees the task. */
int sis_task_explain(sis_task *task, size_t i, sis_record *record);

/* Stop the current work with SIS_E_CANCELLED after the model's next prediction. May be called from
 * any thread or a signal handler. Nonzero from search.progress does the same. */
void sis_task_cancel(sis_task *task);

/* An estimate of the cost of explaining all examples with a language model, before any request:
 * prompts and tokens (four bytes each) for the first subset of each example, by "quick" and by the
 * other methods. SIS_E_UNSUPPORTED for other models. */
typedef struct sis_task_cost {
    size_t examples, features; /* features of all examples */
    double prompts, tokens;    /* by the method sis */
    double quick_prompts, quick_tokens;
    void *reserved[4];
} sis_task_cost;
int sis_task_estimate(const sis_task *task, sis_task_cost *out);

/* The fields of a language model's prompt, without duplicates: *n strings in *fields. free() each
 * and the array. *n is 0 for other tasks. */
int sis_task_fields(const sis_task *task, char ***fields, size_t *n);
/* Example i as its line of JSON; NULL for tasks without a prompt. */
const char *sis_task_object(const sis_task *task, size_t i);

/* ---- The same analysis of other examples --------------------------------------------------- */

/* A task with the model, mask, features and threshold of `like` for all examples of `data`, for
 * requests that arrive one at a time. Both are borrowed. It reuses what `like` has prepared, so it
 * is cheap. If `like` has a mask, inputs must have its length. Derived tasks may run at the same
 * time if the model may (sis/model.h) and does not read texts itself (cmd: with texts). A model of
 * unknown number of outputs is evaluated each time, unless `like` has examples. */
int sis_task_derive(const sis_task *like, const sis_data *data, sis_task **out);

/* Change the decision: threshold, target and target_index as in the options (NULL, for the last two
 * both: unchanged); `below`: score <= threshold. Records restart at the first example. After a
 * failure the previous decision holds. */
int sis_task_decide(sis_task *task, const char *threshold, int below, const char *target,
                    const char *target_index);

/* Change the maximum number of subsets, 0: find all. Records restart as with sis_task_decide. */
int sis_task_limit(sis_task *task, size_t max_subsets);

/* ---- The examples of a task ---------------------------------------------------------------- */

/* Examples of a task are numbered from 0, without those that shards and rows leave out. */
size_t sis_task_count(const sis_task *task);
const char *sis_task_id(const sis_task *task, size_t i,
                        char number[SIS_ID_SIZE]);   /* as sis_data_id; ids are unique */
size_t sis_task_row(const sis_task *task, size_t i); /* its number in the data set */
size_t sis_task_find(const sis_task *task, const char *id); /* SIZE_MAX: not found */
const sis_data *sis_task_data(const sis_task *task);        /* NULL: the task has none */
const sis_model *sis_task_model(const sis_task *task);
size_t sis_task_dropped(const sis_task *task);   /* examples left out because a value is missing */
double sis_task_threshold(const sis_task *task); /* NaN: not set */

/* The provenance of this task's records (see sis/results.h) as JSON text; free(*provenance). Pass
 * the words of the command, or NULL and 0. Files are read for their digests. */
int sis_task_provenance(const sis_task *task, const char *const *command, size_t n_command,
                        char **provenance);

/* ---- Verification -------------------------------------------------------------------------- */

/* Check the claims of n records, each of an example of the task, with full passes: out (n), as in
 * sis_verify. Threshold, direction and output come from the records. On failure nothing needs to be
 * released. */
int sis_task_verify(sis_task *task, const sis_record *records, size_t n, sis_audit *out);

/* ---- Scores -------------------------------------------------------------------------------- */

/* Scores (n_outputs) of n examples without masking: which[0..n) (NULL: the first n), in order.
 * Nonzero from `done` ends the call. */
typedef int sis_task_scored(void *ctx, size_t i, const double *scores);
int sis_task_predict(sis_task *task, const size_t *which, size_t n, sis_task_scored *done,
                     void *ctx);

#ifdef __cplusplus
}
#endif
#endif
