/* SPDX-License-Identifier: MIT
 *
 * sis/results.h - the results file: one explained decision a line.
 *
 * Stable: what is declared here stays as it is for as long as SIS_ABI does.
 *
 * A results file is JSON Lines: each line is one JSON object (UTF-8, no newline inside) that ends
 * in '\n'. A line is written whole and flushed, so an interrupted run leaves whole lines and at
 * most one torn one at the end. One line, here on several:
 *
 *     {"sis":2,"id":"0","model":"m.onnx","method":"sis","target":7,"n_outputs":10,
 *      "direction":">=","threshold":0.7,"score":0.999,"masked_score":0.065,"status":"explained",
 *      "n_features":784,"subsets":[{"features":[233,234],"score":0.704}],"rest_score":0.31,
 *      "verified":true,"complete":true,"evaluations":307723,"seconds":0.15,"kind":"image",
 *      "shape":[28,28],...}
 *
 * Fields are written in this order; readers take them in any order and ignore those they do not
 * know. "?" marks what may be absent.
 *
 *     sis             2, the version of this format. Version 1, of releases before 1.0, is read too: there
 *                     `target` is called "output", `target_label` "output_label", `provenance`
 *                     "made", and the status "not_decided" also "below_threshold"
 *     id              text: what the example is called; its number if it has no name
 *     model, method   text: the model's name (sis_model_name); "sis", "quick", "gradient", "ig", "lime",
 *                     "perturb", "contrast". Subsets of contrasts lose the decision. Without `guarantee` they do so
 *                     if they are masked: a subset's score is that of the input without its features,
 *                     `rest_score` that of all subsets alone
 *     constraint    ? text, of other methods than "sis" and "quick": "sufficient", "length" or "top"; their
 *                     subsets are rationales, which need not be minimal, and with the last two not
 *                     even sufficient. They say so: "sufficient" is a field of each
 *     guarantee     ? object: for what the subsets are sufficient. Absent: with everything else masked,
 *                     {"kind":"all","proved":true,"minimal":true,"domain":"any"}: for every value of
 *                     everything else within the domain, in the words of --domain; "minimal" is
 *                     false if a question was given up, so that a subset may have more than it
 *                     needs. `masked_score`, `rest_score` are then scores of inputs without the
 *                     decision, and a subset's that of the worst input that was met with it.
 *                     "smallest":true: no subset has fewer features than the first. "bounds" (of trees): for each
 *                     subset a score, or null; it is proved that no other values of the rest score worse.
 *                     Of contrasts, "nearest":true: no input that changes the same features alone is
 *                     nearer than that of `examples`; "cheapest":true: that of the first is the nearest
 *                     of all; "fixed": features that are never changed
 *                     {"kind":"chance","share":0.95,"confidence":0.95,"seed":1,"minimal":true,
 *                     "subsets":[{"draws":200,"kept":199,"low":0.97,"high":0.99}]}: for a share of
 *                     the values of everything else, drawn from data. Scores of subsets are then means
 *     keep          ? "class": the decision is that no other output is higher. Scores are how far the
 *                     margin of this one is ahead of the highest other, the threshold is 0
 *     target          which of the model's outputs is explained, from 0
 *     n_outputs     ? how many outputs the model has, more than `target`
 *     target_label  ? text: what that output is called
 *     direction       ">=" or "<=": how the score must compare with the threshold
 *     threshold       number
 *     score           of the input
 *     masked_score    of the input with everything masked
 *     status          "explained", "not_decided", "default_decision", "error" or "cut": a limit of
 *                     time or evaluations came before the end
 *     message       ? text, with status "error" only: what happened
 *     n_features      features of the input, at least 1; they are numbered from 0. With status
 *                     "error" also 0: not known, and nothing below is held against it
 *     subsets         list, empty unless the status is "explained" or "cut"; each subset is an object:
 *       features        numbers of features, most important first, each once, at least one
 *       score           of these alone
 *       without       ? of prompts: of the input without these, everything else kept
 *       start         ? score before the first of `order` was masked
 *       order         ? features in the order in which they were masked, each at most once
 *       trace         ? scores, as many as `order`: after each of them
 *     bound         ? with status "cut": such an object of what was left of the selection under way
 *                     when it last reached the threshold, with `order` so far: sufficient, not minimal
 *     rest_score      of the input with all subsets masked; absent if there are none
 *     attributions  ? what each feature contributes by the method's account: n_features numbers
 *     completeness  ? of "ig": {"sum":0.92,"difference":0.93,"error":0.01}, what the attributions
 *                     add up to, the score of the input minus that of the baseline, which it should
 *                     be, and how far it is from that, relatively
 *     verified      ? true: the claims were checked by full passes; false if absent
 *     complete      ? true: nothing sufficient is left outside the subsets; false if absent
 *     evaluations   ? masked copies asked about; 0 if absent
 *     seconds       ? time taken, to the microsecond; 0 if absent
 *
 * and, each of them optional, what it takes to draw the example:
 *
 *     kind            text: "array", "table", "text", "dna", "image"
 *     shape           lengths of the axes; their product is the number of values
 *     values          numbers, null for a missing one
 *     examples        of method "contrast", whose subsets are what it takes to lose the decision: the
 *                     values of an input for each of them, one behind the other, that differs in its
 *                     features alone and has lost it. A subset's score is that input's. Absent where
 *                     the model takes other values than are shown
 *     distances       of `examples`: the sum of |change| / scale, and 1 for another category; null where
 *                     it is not known. The scale is a unit of --units, else the standard deviation in the
 *                     data
 *     mask            the same, as many as values: what each looks like when it is masked
 *     masking         text, where `mask` cannot say it: how features are masked, in the words of
 *                     --mask ("pad", "remove", "token:the", "blur:3", "hotdeck:train.csv"), or "own": as the
 *                     model has it
 *     names           text for each value or each feature
 *     value_names     text for each value, where it says more than `names`: the values of a column
 *                     that holds categories are called "housing=own", "housing=rent"
 *     feature_map     for each value the number of its feature, -1 = never masked; absent if each
 *                     value is a feature (there are then n_features values)
 *     label           text: what the example really is
 *     columns         object: columns of the table that are no features (--keep-columns), as texts
 *     words           text for each feature
 *     unit            text: what a feature is, where its kind does not say it: "sentence", "token"
 *     text            the whole of it as it was written
 *     spans           start and end of each feature in `text`, in characters: two numbers for each,
 *                     ascending, none before the end of the one before it
 *     sequence        text with one letter for each feature
 *     full_length     of a sequence that was cropped or padded around its middle (--length): how many
 *                     letters it has in its file
 *     human           features that a person marked, each once
 *     before, after   of a language model: what stands in front of `text` in its prompt, and behind it
 *     answer          the answer that the scores are about; with it
 *     own_answer      true: the model gave this answer itself; false: it was given
 *     bounded         true: some scores are upper bounds, since a token was not among those reported
 *     noise           the largest difference between two scores of one question
 *     requests, prompt_tokens, completion_tokens   what it cost, as the server counts tokens
 *     row             number of the example in its data set, from 0, where `id` does not say it
 *     provenance      of the first record of a file: how it was made (below)
 *
 * How results were made is an object, so that they can be checked and made again:
 *
 *     version         text, of the library
 *     command       ? words of the command, with every option that has a say in the answers; those
 *                     that only say where, when and by how many they are found are left out
 *     model_sha256  ? digests of the files that model, examples, mask, feature map and domain were
 *     input_sha256  ? read from
 *     mask_sha256   ?
 *     features_sha256 ?
 *     domain_sha256 ?
 *     examples        how many examples the data set has
 *     rows          ? text: which of them were asked for, as --rows says it; absent: all
 *     mask          ? text: what a missing feature is, as --mask says it; absent: as the model has it
 *     samples, seed   of random numbers: draws of a hot deck or of lime, and their beginning
 *     kernels, machine  text: the instruction set that networks ran on, and the processor's kind
 *     shard         ? text, "2/8": only that part of the rows (--shard), the third of eight
 *
 * Numbers are written with as many digits as it takes to read them back exactly. What JSON cannot
 * say: an infinite score is written as ±1.7976931348623157e+308; with status "error", `score` and
 * `masked_score` are null if they are not known or not a number.
 *
 * Ownership: records hold borrowed pointers when you fill them, their own when sis_record_parse or
 * sis_results_next does: release those, and only those. Errors: SIS_E_FORMAT with a message that
 * names the field, and the file and line where there is one.
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

/* The question. */
typedef struct sis_question {
    const char *method;     /* "sis", "quick", ... */
    const char *constraint; /* of other methods than "sis" and "quick" */
    const char *domain;     /* of a guarantee for all: "any", "data:FILE", "ball:E" */
    const char *keep;       /* "class"; NULL: the score */
    size_t target;          /* which output, from 0 */
    size_t n_outputs;       /* of the model; 0: not known */
    const char *target_label;
    int below; /* direction "<=" */
    double threshold;
    void *reserved[8];
} sis_question;

/* The example as it is drawn. */
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
    const int *by_feature;          /* (n_values) with feature_map: the values, sorted by feature, so that those of
                                       one are found quickly; sis_record_parse makes it. NULL: they are searched */
    const char *label;
    const char *columns; /* JSON object of the columns that are kept and are no features, as texts */
    size_t n_words;
    const char *const *words; /* (n_words) */
    const char *unit, *text;
    size_t n_spans;
    const int *spans; /* (n_spans) two for each feature */
    const char *sequence;
    size_t
        full_length; /* of a sequence that was cropped or padded around its middle; 0: it was not */
    size_t n_human;
    const int *human; /* (n_human) */
    void *reserved[7];
} sis_drawing;

/* The prompt of a record of a language model. */
typedef struct sis_prompted {
    const char *before, *after; /* `text` of the drawing; both never left out */
    const char *answer;         /* that the scores are about */
    int own;      /* the model gave it itself */
    int bounded;  /* some scores are upper bounds: a token was not among those reported */
    double noise; /* the largest difference between two scores of the same question */
    size_t requests, prompt_tokens, completion_tokens;
    void *reserved[8];
} sis_prompted;

/* One line. What is absent is NULL, and its length 0. */
typedef struct sis_record {
    const char *id, *model;
    int has_row; /* is `row` known? */
    size_t row;  /* number of the example in its data set */
    sis_question question;
    sis_collection collection;      /* what was found */
    const sis_guarantee *guarantee; /* what it holds for; NULL: with everything else masked */
    size_t n_attributions;
    const double *attributions; /* (n_attributions) */
    const double *completeness; /* (2) sum and difference */
    sis_drawing drawing;
    const sis_prompted *prompted; /* of language models, or NULL */
    const char *provenance;       /* JSON text of the object, or NULL */
    void *reserved[8];
} sis_record;

/* What `provenance` says of a file, as far as programs ask; absent texts are NULL. Released with
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
    const char *engine;   /* that computed the scores, if it is not that of sis */
    size_t shard, shards; /* 0 of 1 without a shard */
    void *reserved[8];
} sis_provenance;

/* To text (free(*json)), and from the text of a record. */
int sis_provenance_format(const sis_provenance *provenance, char **json);
int sis_provenance_parse(const char *json, sis_provenance *out);
void sis_provenance_release(sis_provenance *provenance);

/* The record as one line with its newline: *n bytes and a NUL, free()d by you. `order` and `trace`
 * of the subsets are left out unless with_trace. A record that breaks a rule above is
 * SIS_E_ARGUMENT; text that is not UTF-8 is mended. */
int sis_record_format(const sis_record *record, int with_trace, char **line, size_t *n);

/* The record in n bytes of text, with or without the newline. */
int sis_record_parse(const char *line, size_t n, sis_record *out);

/* Release what was parsed. Harmless on a zeroed or failed one. */
void sis_record_release(sis_record *record);

/* ---- Features of a record -------------------------------------------------------------------- */

/* What a feature is called, at most `size` bytes with the NUL: its word or name, and what the names
 * of its values share if only they have names. 1, or 0 if it has no name: "feature 12". */
int sis_record_name(const sis_record *record, int feature, char *text, size_t size);

/* If exactly one of the feature's values is 1 and the others are 0, and they are categories by
 * their names: that one's name, "own". If all are 0, as encoders have a missing word: "(none)"; if all
 * are NaN: "missing". Otherwise NULL. `values` are the record's values or its mask. */
const char *sis_record_category(const sis_record *record, const double *values, int feature);

/* What the feature was, where one word or number says it: its category, or its only value as it is
 * written into `number`. NULL: it has several values, or none. */
enum { SIS_NUMBER_SIZE = 32 };
const char *sis_record_was(const sis_record *record, int feature, char number[SIS_NUMBER_SIZE]);

/* ---- Files --------------------------------------------------------------------------------- */

typedef struct sis_results sis_results;

/* Read a results file ("-": standard input) record by record. */
int sis_results_open(const char *path, sis_results **out);

/* 1: *out is the next record; release it. 0: there is none. Negative: a failure, "FILE, line N:
 * ...". Blank lines are skipped. */
int sis_results_next(sis_results *results, sis_record *out);

/* Leave the next record out, without looking at what it says: 1, 0 or negative as before. */
int sis_results_skip(sis_results *results);

void sis_results_close(sis_results *results);

#ifdef __cplusplus
}
#endif
#endif
