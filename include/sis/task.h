/* SPDX-License-Identifier: MIT
 *
 * sis/task.h - from a model and a file to records: what `sis explain` does, in five lines.
 *
 * Stable: what is declared here stays as it is for as long as SIS_ABI does.
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
 * A task is a question about examples: which model, which examples, what a feature is, what a
 * missing one looks like, which decision. It reads, encodes for the model (texts become token ids,
 * colours go where the network wants them), masks and asks. The records are those that the program
 * writes, to the byte but for the seconds they took.
 *
 * The header goes up step by step: records one by one, records to a function of yours, the same
 * question about other examples (a server), which examples there are, verification, plain scores.
 * One example as the model is asked about it is in sis/example.h.
 *
 * Memory: a data set stays as its reader holds it, packed; besides it a task holds the ids of the
 * examples, for texts of a model that is no network 16 bytes a word, and while it runs 8 bytes an
 * example. Values, masks, words and feature maps are made for an example when its turn comes and
 * freed after its record.
 *
 * Messages name options as the program does: --mask is opt.mask, --target is opt.target.
 * Errors: 0 or a negative code of sis/error.h; SIS_E_OPTION if an option makes no sense.
 * Threads: a task belongs to one thread at a time, but for sis_task_cancel and what takes a const
 * task. Any number of tasks may share one opened model.
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

/* Samples of a hot deck, unless opt.samples says otherwise. */
enum { SIS_TASK_DRAWS = 32 };

/* Numbers of the other methods, as sis/explain.h says. */
typedef struct sis_task_numbers {
    size_t size;
    size_t steps;        /* ig: points on the path */
    int zero_baseline;   /* ig: from zero instead of the mask */
    size_t step;         /* gradient: features masked at once */
    int prefer;          /* quick: which features it would rather keep, a sis_preference */
    double width, ridge; /* lime: of the kernel; penalty on squared weights */
} sis_task_numbers;

/* The model that is asked. */
typedef struct sis_task_model_opt {
    size_t size;
    const char *spec;   /* as sis_model_open takes it; with `opened`, what records call it */
    sis_model_opt open; /* how it is opened */
    size_t n_with;
    const char *const
        *with; /* (n_with) NAME=FILE or NAME=NUMBER: inputs of a network that are given;
                                a number fills all of it. Only read by sis_task_open */
    const sis_model *opened; /* one that is open already, or your own predict function */

    /* With a predict function of yours that reads texts: told, with the model's ctx, the pieces that
     * its rows are made of, as sis_model_take_texts says. NULL: it reads none. */
    int (*take_texts)(void *ctx, const sis_piece *pieces, size_t n);
} sis_task_model_opt;

/* The examples: a file, or a data set of yours (sis_data_from_values and its kin). With neither
 * there are none: such a task is for sis_task_derive. */
typedef struct sis_task_examples_opt {
    size_t size;
    const char *input;
    const sis_data *data;
    sis_data_opt read;   /* of files: columns of ids and labels, categories, types, images */
    const char *missing; /* what an absent value is: "nan", "mean", "median" (of the file's other
                            rows), "drop" (leave the example out), "error". NULL: "nan" if the model
                            knows them (boosted trees, cmd:), else "error" */
    const char *rows_as; /* of tables: "one-hot" (default): a value a category; "values", "objects":
                            cmd: and http: models are given rows as they are, as lists or by name.
                            Words are then fine, whatever read.categorical says */
    const char *tokenizer; /* a file by which texts become the token ids that the network takes:
                              vocab.txt or tokenizer.json; NULL: the network carries its words */
    int fit;               /* images of files are resized to what the network takes */
    const char *rows;      /* as sis_rows_parse takes it; NULL: all */
    size_t shard;  /* of these only every `shards`-th, from number `shard` on; the shards of */
    size_t shards; /* 0 to shards - 1 are all examples. Default 0 of 1 */
    const char *
        prompt; /* of language models: a file with the prompt, {field} in the places of the fields of the
                           input (.jsonl); model.open.explain is the field that is cut into features.
                           features: "sentence" (default), "paragraph", "line", "word"; a list has its entries */
    const char *answer; /* where an example has no field "answer"; NULL: the model's own */
    const char *prompt_text; /* the prompt itself, instead of a file with it */
    const char *objects;     /* the examples of prompts, a line of JSON each, instead of a file with them */
} sis_task_examples_opt;

/* The question about each example. */
typedef struct sis_task_question_opt {
    size_t size;
    const char *features;       /* what is masked together: "each" (default), "axis:A", FILE.npy; of
                                   texts "word" (default), "token" or "sentence"; of pictures
                                   "grid:N", "superpixel:N" */
    int refine;                 /* with these two: explain parts, then the pixels inside what was
                                   found */
    const char *mask;           /* what a missing feature is, as sis explain --mask says it:
                                   "mean:FILE", "zero", "blur:3", "hotdeck:FILE", "rows:FILE" ... NULL: the model's
                                   own */
    const sis_data *background; /* the data set of "mean", "hotdeck" and "rows" without a file */
    size_t samples;             /* draws of a hot deck, of lime; 0: as many as usual */
    uint64_t seed;              /* of both; default 1 */
    const char *target;         /* the output to explain: a label of the model; if it has no labels,
                                   a position from 0; or "top" (default): the highest score, example
                                   by example. NULL: not asked, because records say it */
    const char *target_index;   /* or its position, from 0; NULL: as `target` says */
    const char *threshold;      /* "0.8", or "p90": that percentile of the scores of all examples,
                                   found when the task is opened. NULL: search.threshold */
    int plain;                  /* only scores are wanted: there is no mask, nothing can be
                                   explained, sis_task_predict and sis_task_load work */
    const char *keep; /* what has to stay: "score" (default), or "class": the output stays on top;
                         no threshold. If the model has one output with a link: the score stays on
                         its side of link(0), which is 0.5 for probabilities */
    const char *guarantee; /* "mask" (default), or "all": for every value of everything else, proved
                              (sis/prove.h says for which models); no mask. Or "chance:P": for a
                              share P of the values of everything else, drawn from the hot deck that
                              `mask` names; `samples` are then draws an example (0: 2000) */
    double confidence;     /* of "chance:P"; default 0.95 */
    int smallest;          /* with "all": subsets of the fewest features */
    const char *domain;    /* with "all": "any" number (default), "data:FILE", from the smallest to
                              the largest value of each column there, "ball:E[,LOW:HIGH]", so far from its
                              own (and within that range) */
    const char *units;     /* of contrasts: "income=100,age=1": these change by whole units, and
                              distances count units; others are divided by their standard deviation
                              in the data of the domain, else of the examples. NULL: all of them */
    const char *fixed;     /* of contrasts: "age,sex", which are never changed. NULL: none */
    int cheapest;          /* of contrasts: the nearest of all, not one of the fewest features */
} sis_task_question_opt;

/* How the answer is found, and what is kept of it. */
typedef struct sis_task_answer_opt {
    size_t size;
    const char *method;     /* "sis" (default), or one of sis/explain.h: "quick", "ig" ..., or
                               "contrast": sis/prove.h */
    const char *constraint; /* of the others: "sufficient" (default), "length", "top" */
    sis_task_numbers how;   /* numbers of the others */
    int remove;             /* lime: take words out instead of masking them */
    const char *lengths;    /* results of sis to take the lengths for "length" from */
    const char *orders;     /* results with traces to take the orders from */
    sis_opt search;         /* below, max_subsets, memory, jobs, exact, early_stop, progress */
    int keep_going;         /* an example that the model fails for is a record of status error */
    int trace;              /* keep the order of each method in its record; sis keeps it anyway */
} sis_task_answer_opt;

/* What sis_task_verify may do and keeps. */
typedef struct sis_task_audit_opt {
    size_t size;
    int trust;           /* it may open files that only the records name */
    int counterexamples; /* of "all": keep the inputs that show each feature to be needed */
} sis_task_audit_opt;

/* Texts are copied by sis_task_open; pointers to models and data are borrowed until the task is
 * freed. */
typedef struct sis_task_opt {
    size_t size; /* of this struct as your program was compiled; sis_task_opt_init sets it, and
                    those of the structs in it */
    sis_task_model_opt model;
    sis_task_examples_opt examples;
    sis_task_question_opt question;
    sis_task_answer_opt answer;
    sis_task_audit_opt audit;
} sis_task_opt;

/* Every default. */
void sis_task_opt_defaults(sis_task_opt *opt); /* of as many fields as the sizes in it say */
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

/* The model that they name (model, open, with) by itself, for use without examples; yours to close. */
int sis_task_open_model_sized(const sis_task_opt *opt, sis_model *out);
static inline int sis_task_open_model(const sis_task_opt *opt, sis_model *out) {
    sis_model_init(out);
    return sis_task_open_model_sized(opt, out);
}

/* ---- Records one by one -------------------------------------------------------------------- */

typedef struct sis_task sis_task;

/* Open model and data, choose examples, prepare masks and threshold. All examples are looked at
 * once, so that one that does not fit the model is found before the first is explained. *out is
 * NULL on failure. */
int sis_task_open(const sis_task_opt *opt, sis_task **out);

/* A task that runs is cancelled. NULL is fine. */
void sis_task_free(sis_task *task);

/* 1: *record is of the next example, in their order; it is borrowed until the next call. 0: there
 * are no more. Negative: a failure, after which there are no more. An example that the model
 * answers NaN for, or a text without words, is a record of status error and no failure. With more
 * than one job the examples are explained ahead, by threads of the task. */
int sis_task_next(sis_task *task, sis_record *record);

/* sis_task_next gives these n examples alone, which[0..n) ascending, and begins with the first. */
int sis_task_choose(sis_task *task, const size_t *which, size_t n);

/* Explain example i on this thread: 0, or the failure. Any number of threads may do so at the same
 * time; those that are more than the jobs of the task wait for their turn. *record is borrowed until
 * this thread explains another example so, ends, or frees the task. */
int sis_task_explain(sis_task *task, size_t i, sis_record *record);

/* From any thread, or a signal handler: end what is under way at the next answer of the model, with
 * SIS_E_CANCELLED. So does search.progress with a result other than 0. */
void sis_task_cancel(sis_task *task);

/* About what it costs to explain all examples of a language model, before it is asked: prompts for the first subset
 * of each, by "quick" and by the other methods, and tokens (four bytes each). SIS_E_UNSUPPORTED for other models. */
typedef struct sis_task_cost {
    size_t examples, features; /* features of all examples */
    double prompts, tokens;    /* by the method sis */
    double quick_prompts, quick_tokens;
    void *reserved[4];
} sis_task_cost;
int sis_task_estimate(const sis_task *task, sis_task_cost *out);

/* The fields of the prompt of a language model, each once, in *fields (*n): free() each and the list. 0 of them for
 * other tasks. */
int sis_task_fields(const sis_task *task, char ***fields, size_t *n);
/* Example i of such a task as its line of JSON; NULL for others. */
const char *sis_task_object(const sis_task *task, size_t i);

/* ---- The same question about other examples ------------------------------------------------ */

/* A task like another one (model, mask, features, threshold) about all examples of `data`: for
 * requests that come one at a time. Both are borrowed. What has been prepared for `like` is used
 * again, so this costs little; a mask that `like` has is for inputs of the same length. Tasks like
 * the same one may run at the same time if their model may (sis/model.h), and if that is no model
 * that reads texts by itself (cmd: and texts): then one after the other. A model that does not say
 * how many scores it gives is asked each time, unless `like` has examples of its own. */
int sis_task_derive(const sis_task *like, const sis_data *data, sis_task **out);

/* Another decision: threshold, target and target_index as options have them (NULL, for the last two
 * both: as before), score <= threshold if `below`. Records begin again at the first example; after a
 * failure they are those of the decision before. */
int sis_task_decide(sis_task *task, const char *threshold, int below, const char *target,
                    const char *target_index);

/* Another number of subsets: stop after that many, 0: find all. As sis_task_decide. */
int sis_task_limit(sis_task *task, size_t max_subsets);

/* ---- Which examples there are -------------------------------------------------------------- */

/* Examples of a task are numbered from 0 in their order; shards and rows leave some of the file
 * out. */
size_t sis_task_count(const sis_task *task);
const char *sis_task_id(const sis_task *task, size_t i,
                        char number[SIS_ID_SIZE]);   /* as sis_data_id; no two are the same */
size_t sis_task_row(const sis_task *task, size_t i); /* its number in the data set */
size_t sis_task_find(const sis_task *task, const char *id); /* SIZE_MAX: there is none */
const sis_data *sis_task_data(const sis_task *task);        /* NULL: none was given */
const sis_model *sis_task_model(const sis_task *task);
size_t sis_task_dropped(const sis_task *task);   /* examples left out because a value is absent */
double sis_task_threshold(const sis_task *task); /* NaN: none was given */

/* How records of this task are made, as `provenance` of sis/results.h: the JSON text, free(*provenance). The words
 * of a command are yours to tell; NULL and 0: there was none. Files are read for their digests. */
int sis_task_provenance(const sis_task *task, const char *const *command, size_t n_command,
                        char **provenance);

/* ---- Verification -------------------------------------------------------------------------- */

/* Check the claims of n records, each of an example of the task, with full passes: out (n), as
 * sis_verify says. Threshold, direction and output come from the records. On failure nothing needs a
 * release. */
int sis_task_verify(sis_task *task, const sis_record *records, size_t n, sis_audit *out);

/* ---- Scores -------------------------------------------------------------------------------- */

/* Plain scores (n_outputs) of n examples, which[0..n) (NULL: the first n), in order. A result of
 * `done` other than 0 ends it. */
typedef int sis_task_scored(void *ctx, size_t i, const double *scores);
int sis_task_predict(sis_task *task, const size_t *which, size_t n, sis_task_scored *done,
                     void *ctx);

#ifdef __cplusplus
}
#endif
#endif
