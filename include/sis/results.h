/* SPDX-License-Identifier: MIT
 *
 * sis/results.h - the results file: one explained decision per line.
 *
 * Stable: declarations do not change as long as SIS_ABI stays the same.
 *
 * A results file is JSON Lines: each line is one JSON object (UTF-8, no newline inside) that ends
 * in '\n'. Each line is flushed as a whole, so an interrupted run leaves complete lines and at most
 * one incomplete line at the end. One line, wrapped here:
 *
 *     {"sis":2,"id":"0","model":"m.onnx","method":"sis","target":7,"n_outputs":10,
 *      "direction":">=","threshold":0.7,"score":0.999,"masked_score":0.065,"status":"explained",
 *      "n_features":784,"subsets":[{"features":[233,234],"score":0.704}],"rest_score":0.31,
 *      "verified":true,"complete":true,"evaluations":307723,"seconds":0.15,"kind":"image",
 *      "shape":[28,28],...}
 *
 * Fields are written in this order; readers accept any order and ignore unknown fields. "?" marks
 * optional fields.
 *
 *     sis             2, the version of this format. Version 1, of releases before 1.0, can be
 *                     read: there `target` is called "output", `target_label` "output_label",
 *                     `provenance` "made", and the status "not_decided" also "below_threshold"
 *     id              text: the name of the example, or its number if it has none
 *     model, method   text: the model's name (sis_model_name); "sis", "quick", "gradient", "ig",
 *                     "lime", "perturb", "contrast". Subsets of contrasts lose the decision.
 *                     Without `guarantee`, they lose it by being masked: a subset's score is that
 *                     of the input without its features, `rest_score` that of all subsets alone
 *     constraint    ? text, for methods other than "sis" and "quick": "sufficient", "length" or
 *                     "top". Their subsets are rationales: not necessarily minimal and, with the
 *                     last two, not necessarily sufficient; each has a field "sufficient"
 *     guarantee     ? object: the condition under which subsets are sufficient. Absent: everything
 *                     else is masked.
 *                     {"kind":"all","proved":true,"minimal":true,"domain":"any"}: for every value
 *                     of everything else within the domain, in the words of
 *                     --domain; "minimal" is false if a proof was given up, so that a subset may
 *                     have unneeded features. `masked_score`, `rest_score` are then scores of
 *                     inputs without the decision, and a subset's score is the worst one found with
 *                     it. "smallest":true: no subset has fewer features than the first. "bounds"
 *                     (of trees): for each subset the proved worst score over all values of the
 *                     rest, or null. Contrasts: "nearest":true: no input that changes only the same
 *                     features is nearer than that of `examples`; "cheapest":true: the first is the
 *                     nearest of all; "fixed": features that never change
 *                     {"kind":"chance","share":0.95,"confidence":0.95,"seed":1,"minimal":true,
 *                     "subsets":[{"draws":200,"kept":199,"low":0.97,"high":0.99}]}: for a share of
 *                     the values of everything else, drawn from data. Scores of subsets are means
 *     keep          ? "class": the decision is that no other output is higher. Scores are its
 *                     margin minus the highest other margin; the threshold is 0
 *     target          index of the explained output, from 0
 *     n_outputs     ? number of outputs of the model, more than `target`
 *     target_label  ? text: name of that output
 *     direction       ">=" or "<=": how the score must compare with the threshold
 *     threshold       number
 *     score           of the input
 *     masked_score    of the input with everything masked
 *     status          "explained", "not_decided", "default_decision", "error" or "cut": stopped by
 *                     a limit of time or evaluations
 *     message       ? text, with status "error" only: what happened
 *     n_features      features of the input, at least 1, numbered from 0. With status "error" also
 *                     0: unknown, and the fields below are not checked against it
 *     subsets         list, empty unless the status is "explained" or "cut", of objects:
 *       features        numbers of features, most important first, each once, at least one
 *       score           of these alone
 *       without       ? prompts: of the input without these, everything else kept
 *       start         ? score before the first of `order` was masked
 *       order         ? features in the order in which they were masked, each at most once
 *       trace         ? scores, as many as `order`: after each of them
 *     bound         ? with status "cut": an object of the features left when the unfinished
 *                     selection last reached the threshold, with `order` so far: sufficient but not
 *                     minimal
 *     rest_score      of the input with all subsets masked; absent if there are none
 *     attributions  ? the method's attribution of each feature: n_features numbers
 *     completeness  ? of "ig": {"sum":0.92,"difference":0.93,"error":0.01}: the sum of the
 *                     attributions; its expected value, the score of the input minus that of the
 *                     baseline; and the relative error
 *     verified      ? true: the claims were checked by full passes; false if absent
 *     complete      ? true: nothing sufficient is left outside the subsets; false if absent
 *     evaluations   ? masked copies evaluated; 0 if absent
 *     seconds       ? time taken, to the microsecond; 0 if absent
 *
 * Optional fields that describe the example:
 *
 *     kind            text: "array", "table", "text", "dna", "image"
 *     shape           lengths of the axes; their product is the number of values
 *     values          numbers, null for a missing one
 *     examples        method "contrast": for each subset, the values of an input that differs only
 *                     in its features and loses the decision, one input after the other. A subset's
 *                     score is that of its input. Absent if the model takes other values than those
 *                     shown
 *     distances       of `examples`: the sum of |change| / scale, and 1 for another category; null
 *                     if unknown. The scale is a unit of --units, else the standard deviation in
 *                     the data
 *     mask            the masked value of each value
 *     masking         text, if `mask` cannot express it: how features are masked, as in --mask
 *                     ("pad", "remove", "token:the", "blur:3", "hotdeck:train.csv"), or "own": the
 *                     model's mask
 *     names           text for each value or each feature
 *     value_names     text for each value, if more specific than `names`: the values of a
 *                     categorical column are named "housing=own", "housing=rent"
 *     categories      for each value null, or a list of words: the value is the position of its word
 *     feature_map     for each value the number of its feature, -1 = never masked; absent if each
 *                     value is a feature (there are then n_features values)
 *     label           text: the true label of the example
 *     columns         object: columns of the table that are no features (--keep-columns), as texts
 *     words           text for each feature
 *     unit            text: the unit of features, if not given by the kind: "sentence", "token"
 *     text            the whole original text
 *     spans           start and end of each feature in `text`, in characters: two numbers for each,
 *                     ascending without overlap
 *     sequence        text with one letter for each feature
 *     full_length     length in its file of a sequence that was cropped or padded at both ends
 *                     (--length)
 *     human           features that a person marked, each once
 *     before, after   language models: the prompt before and after `text`
 *     answer          the answer that is scored; with it
 *     own_answer      true: the model's own answer; false: it was given
 *     bounded         true: some scores are upper bounds, because a token was not reported
 *     noise           the largest difference between two scores of one prompt
 *     requests, prompt_tokens, completion_tokens   what it cost, as the server counts tokens
 *     row             number of the example in its data set, from 0, if `id` is another text
 *     provenance      first record of a file: how it was made (below)
 *
 * The provenance is an object from which results can be checked and reproduced:
 *
 *     version         text, of the library
 *     command       ? words of the command, with every option that affects results; options for
 *                     output, timing and threads are left out
 *     model_sha256  ? digests of the files that model, examples, mask, feature map and domain were
 *     input_sha256  ? read from
 *     mask_sha256   ?
 *     features_sha256 ?
 *     domain_sha256 ?
 *     examples        number of examples in the data set
 *     rows          ? text: the selected ones, as in --rows; absent: all
 *     mask          ? text: the mask, as in --mask; absent: the model's mask
 *     samples, seed   of random numbers: draws of a hot deck or of lime, and their seed
 *     kernels, machine  text: the instruction set of the network kernels, and the processor
 *     shard         ? text, "2/8": the third of eight parts of the rows (--shard)
 *
 * Numbers are written with enough digits to read them back exactly. An infinite score is written as
 * ±1.7976931348623157e+308. With status "error", `score` and `masked_score` are null if they are
 * unknown or NaN.
 *
 * Ownership: release records from sis_record_parse and sis_results_next. Records that you fill
 * borrow their pointers and must not be released. Errors: SIS_E_FORMAT with a message that names
 * the field, and the file and line where there is one.
 */
#ifndef SIS_RESULTS_H
#define SIS_RESULTS_H

#include <stddef.h>

#include <sis/error.h>
#include <sis/kind.h>
#include <sis/sis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Records ------------------------------------------------------------------------------- */

/* What is explained. */
typedef struct sis_question {
    const char *method;     /* "sis", "quick", ... */
    const char *constraint; /* for methods other than "sis" and "quick" */
    const char *domain;     /* for a guarantee for all values: "any", "data:FILE", "ball:E" */
    const char *keep;       /* "class"; NULL: the score */
    size_t target;          /* index of the output, from 0 */
    size_t n_outputs;       /* of the model; 0: unknown */
    const char *target_label;
    int below; /* direction "<=" */
    double threshold;
    void *reserved[8];
} sis_question;

/* The example as it is shown. */
typedef struct sis_drawing {
    const char *kind;
    size_t rank;
    const size_t *shape; /* (rank) */
    size_t n_values;
    const double *values, *mask; /* (n_values) */
    const char *masking;
    size_t n_names;
    const char *const *names;       /* (n_names) */
    const char *const *value_names; /* (n_values) */
    const int *feature_map;         /* (n_values) */
    const int *by_feature;          /* (n_values) with feature_map: the values sorted by feature,
                                       for fast lookup; set by sis_record_parse. NULL: linear
                                       search */
    const char *label;
    const char *columns; /* JSON object of the columns that are kept and are no features, as texts */
    size_t n_words;
    const char *const *words; /* (n_words) */
    const char *unit, *text;
    size_t n_spans;
    const int *spans; /* (n_spans) two for each feature */
    const char *sequence;
    size_t
        full_length; /* length before cropping or padding; 0: unchanged */
    size_t n_human;
    const int *human; /* (n_human) */
    const char *const *const *categories; /* (n_values) NULL, or words and a NULL behind them */
    void *reserved[6];
} sis_drawing;

/* The prompt in a record of a language model. */
typedef struct sis_prompted {
    const char *before, *after; /* the prompt around `text` of the drawing; never left out */
    const char *answer;         /* the scored answer */
    int own;      /* it is the model's own answer */
    int bounded;  /* some scores are upper bounds: a token was not among those reported */
    double noise; /* the largest difference between two scores of one prompt */
    size_t requests, prompt_tokens, completion_tokens;
    void *reserved[8];
} sis_prompted;

/* One line. Absent fields are NULL, with length 0. */
typedef struct sis_record {
    const char *id, *model;
    int has_row; /* `row` is known */
    size_t row;  /* number of the example in its data set */
    sis_question question;
    sis_collection collection;      /* the result */
    const sis_guarantee *guarantee; /* condition of sufficiency; NULL: everything else is masked */
    size_t n_attributions;
    const double *attributions; /* (n_attributions) */
    const double *completeness; /* (2) sum and difference */
    sis_drawing drawing;
    const sis_prompted *prompted; /* of language models, or NULL */
    const char *provenance;       /* JSON text of the object, or NULL */
    void *reserved[8];
} sis_record;

/* The parts of `provenance` that programs use; absent texts are NULL. Release it with
 * sis_provenance_release. */
typedef struct sis_provenance {
    const char *version;
    size_t n_command;
    const char *const *command; /* (n_command) */
    const char *model_sha256, *input_sha256, *mask_sha256, *features_sha256, *domain_sha256;
    size_t examples;
    const char *rows, *mask;
    size_t samples, seed;
    const char *kernels, *machine;
    const char *engine;   /* that computed the scores; NULL: sis itself */
    size_t shard, shards; /* 0 of 1 without a shard */
    void *reserved[8];
} sis_provenance;

/* To JSON text (free(*json)), and from the text of a record. */
int sis_provenance_format(const sis_provenance *provenance, char **json);
int sis_provenance_parse(const char *json, sis_provenance *out);
void sis_provenance_release(sis_provenance *provenance);

/* The record as one line with its newline: *n bytes and a NUL, free() it. `order` and `trace` of
 * the subsets are only written with_trace. SIS_E_ARGUMENT: the record violates a rule above.
 * Invalid UTF-8 is repaired. */
int sis_record_format(const sis_record *record, int with_trace, char **line, size_t *n);

/* The record in n bytes of text, with or without the newline. */
int sis_record_parse(const char *line, size_t n, sis_record *out);

/* Release what was parsed. Harmless on a zeroed or failed one. */
void sis_record_release(sis_record *record);

/* ---- Features of a record -------------------------------------------------------------------- */

/* The name of a feature, at most `size` bytes with the NUL: its word or name, or the common part of
 * its values' names. 1, or 0 if it has no name: "feature 12". */
int sis_record_name(const sis_record *record, int feature, char *text, size_t size);

/* The category of a one-hot feature: if one of its values is 1 and the others are 0, and their
 * names are categories, the name of that one, "own". All 0 (an encoded missing word): "(none)"; all
 * NaN: "missing". Otherwise NULL. `values` are the record's values or its mask. */
const char *sis_record_category(const sis_record *record, const double *values, int feature);

/* The value of a feature as one word or number: its category, or its only value, written into
 * `number`. NULL: it has several values, or none. */
enum { SIS_NUMBER_SIZE = 32 };
const char *sis_record_was(const sis_record *record, int feature, char number[SIS_NUMBER_SIZE]);

/* ---- Files --------------------------------------------------------------------------------- */

typedef struct sis_results sis_results;

/* Read a results file ("-": standard input) record by record. */
int sis_results_open(const char *path, sis_results **out);

/* 1: *out is the next record; release it. 0: no more records. Negative: a failure, "FILE, line N:
 * ...". Blank lines are skipped. */
int sis_results_next(sis_results *results, sis_record *out);

/* Skip the next record without parsing it: 1, 0 or negative as above. */
int sis_results_skip(sis_results *results);

void sis_results_close(sis_results *results);

#ifdef __cplusplus
}
#endif
#endif
