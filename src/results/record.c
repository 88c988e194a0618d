/* SPDX-License-Identifier: MIT
 *
 * Records: validation, writing, parsing and freeing. results.h defines the fields and their order.
 * A record is validated when it is written or read: features exist, lists have matching lengths,
 * numbers are finite. Other code may then use its contents as indices. Parsing takes memory
 * proportional to the text, and validation that of one list of features, regardless of n_features.
 */
#include "results/record.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/files.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/sized.h"
#include "base/utf8.h"
#include "data/packed.h"
#include "results/fields.h"

enum { FORMAT = 2 }; /* the version written; version 1 can still be read */

/* ---- Rules: lists ---------------------------------------------------------------------------- */

/* Is any of the n numbers a duplicate? *twice: that number, or -1. */
static int find_twice(const int *numbers, size_t n, int *twice) {
    int *sorted = (int *)sis__copy(numbers, n, sizeof *numbers);
    *twice = -1;
    if (!sorted)
        return SIS_E_NOMEM;
    qsort(sorted, n, sizeof *sorted, sis__by_int);
    for (size_t i = 1; i < n && *twice < 0; i++)
        if (sorted[i] == sorted[i - 1])
            *twice = sorted[i];
    free(sorted);
    return SIS_OK;
}

/* Numbers from `min` to n_features - 1. */
static int check_range(const sis_record *r, int code, const char *field, const int *numbers,
                       size_t n, int min) {
    size_t n_features = r->collection.n_features;
    for (size_t i = 0; i < n; i++)
        if (numbers[i] < min || (numbers[i] >= 0 && (size_t)numbers[i] >= n_features))
            return sis__fail(code, "field \"%s\": %d is not one of the %zu features", field,
                             numbers[i], n_features);
    return SIS_OK;
}

/* Features, without duplicates. */
static int check_features(const sis_record *r, int code, const char *field, const int *features,
                          size_t n) {
    int twice, result = check_range(r, code, field, features, n, 0);
    if (result == SIS_OK)
        result = find_twice(features, n, &twice);
    if (result == SIS_OK && twice >= 0)
        result = sis__fail(code, "field \"%s\": feature %d occurs twice", field, twice);
    return result;
}

static int check_finite(int code, const char *field, const double *numbers, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(numbers[i]))
            return sis__fail(code, "field \"%s\": number %zu is not finite", field, i);
    return SIS_OK;
}

/* In values and masks NaN means missing. */
static int check_values_finite(int code, const char *field, const double *numbers, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (isinf(numbers[i]))
            return sis__fail(code, "field \"%s\": number %zu is not finite", field, i);
    return SIS_OK;
}

static int check_count(int code, const char *field, size_t found, size_t expected,
                       const char *what) {
    return found == expected ? SIS_OK
                             : sis__fail(code,
                                         "field \"%s\": expected %zu entries, one for each %s, "
                                         "found %zu",
                                         field, expected, what, found);
}

/* ---- Rules: the collection ------------------------------------------------------------------- */

static int check_head(const sis_record *r, int code) {
    const sis_collection *c = &r->collection;
    int failed = c->status == SIS_STATUS_ERROR;
    if (!r->id || !r->model || !r->question.method)
        return sis__fail(code, "field \"%s\": is missing",
                         !r->id      ? "id"
                         : !r->model ? "model"
                                     : "method");
    if (r->question.target > PTRDIFF_MAX || c->evaluations > PTRDIFF_MAX)
        return sis__fail(code, "field \"%s\": is too large",
                         r->question.target > PTRDIFF_MAX ? "target" : "evaluations");
    if (r->question.n_outputs > PTRDIFF_MAX ||
        (r->question.n_outputs && r->question.target >= r->question.n_outputs))
        return sis__fail(code, "field \"n_outputs\": target %zu is not one of %zu",
                         r->question.target, r->question.n_outputs);
    if ((unsigned)c->status >= SIS_N_STATUSES)
        return sis__fail(code, "field \"status\": unknown status %d", (int)c->status);
    if (!isfinite(r->question.threshold))
        return sis__fail(code, "field \"threshold\": is not a finite number");
    if (!failed && (isnan(c->score) || isnan(c->masked_score)))
        return sis__fail(code, "field \"%s\": is not a number, but the status is not \"error\"",
                         isnan(c->score) ? "score" : "masked_score");
    if (c->message && !failed)
        return sis__fail(code, "field \"message\": the status is not \"error\"");
    if (c->n_features > INT_MAX || (c->n_features == 0 && !failed))
        return sis__fail(code, "field \"n_features\": expected 1 to %d, found %zu", INT_MAX,
                         c->n_features);
    if (!(c->seconds >= 0) || isinf(c->seconds))
        return sis__fail(code, "field \"seconds\": is not a time");
    int result = check_finite(code, "attributions", r->attributions, r->n_attributions);
    return result == SIS_OK && r->completeness
               ? check_finite(code, "completeness", r->completeness, 2)
               : result;
}

static int check_guarantee(const sis_record *r, int code) {
    const sis_guarantee *g = r->guarantee;
    if (r->question.keep && strcmp(r->question.keep, "class") != 0)
        return sis__fail(code, "field \"keep\": expected class");
    if (g && r->collection.n_features) {
        int result = check_features(r, code, "guarantee.fixed", g->fixed, g->n_fixed);
        if (result != SIS_OK)
            return result;
    }
    if (g && g->bounds && g->n_bounds != r->collection.n_subsets)
        return check_count(code, "guarantee.bounds", g->n_bounds, r->collection.n_subsets, "subset");
    if (!g || g->kind != SIS_GUARANTEE_CHANCE)
        return SIS_OK;
    if (g->n_shares != r->collection.n_subsets)
        return check_count(code, "guarantee.subsets", g->n_shares, r->collection.n_subsets,
                           "subset");
    for (size_t k = 0; k < g->n_shares; k++)
        if (g->shares[k].kept > g->shares[k].draws || isnan(g->shares[k].low) ||
            isnan(g->shares[k].high))
            return sis__fail(code, "field \"guarantee.subsets\": entry %zu is not a share", k);
    return isnan(g->share) || isnan(g->confidence)
               ? sis__fail(code, "field \"guarantee\": share or confidence is missing")
               : SIS_OK;
}

static int check_subset(const sis_record *r, int code, const sis_subset *s, const char *name) {
    char field[64];
    snprintf(field, sizeof field, "%s.features", name);
    if (s->n == 0)
        return sis__fail(code, "field \"%s\": is empty; a subset has at least one feature", field);
    int result = check_features(r, code, field, s->features, s->n);
    snprintf(field, sizeof field, "%s.order", name);
    if (result == SIS_OK)
        result = check_features(r, code, field, s->trace.order, s->trace.n);
    snprintf(field, sizeof field, "%s.trace", name);
    for (size_t i = 0; i < s->trace.n && result == SIS_OK; i++)
        if (isnan(s->trace.scores[i]))
            result = sis__fail(code, "field \"%s\": score %zu is not a number", field, i);
    if (result == SIS_OK && isnan(s->score))
        result = sis__fail(code, "field \"%s.score\": is not a number", name);
    return result;
}

static int check_subsets(const sis_record *r, int code) {
    const sis_collection *c = &r->collection;
    char name[48];
    if (c->status != SIS_STATUS_CUT && (c->status == SIS_STATUS_EXPLAINED) != (c->n_subsets > 0))
        return sis__fail(code, "field \"subsets\": expected %s with this status, found %zu",
                         c->n_subsets ? "none" : "at least one", c->n_subsets);
    if (c->n_subsets > 0 && isnan(c->rest_score))
        return sis__fail(code, "field \"rest_score\": is not a number");
    int result = SIS_OK;
    for (size_t k = 0; k < c->n_subsets && result == SIS_OK; k++) {
        snprintf(name, sizeof name, "subsets[%zu]", k);
        result = check_subset(r, code, &c->subsets[k], name);
    }
    if (result == SIS_OK && c->bound.n && c->status != SIS_STATUS_CUT)
        result = sis__fail(code, "field \"bound\": the status is not \"cut\"");
    if (result == SIS_OK && c->bound.n)
        result = check_subset(r, code, &c->bound, "bound");
    return result;
}

/* ---- Rules: the drawing ---------------------------------------------------------------------- */

static int check_values(const sis_record *r, int code) {
    if (!r->drawing.values && (r->drawing.mask || r->drawing.feature_map || r->drawing.value_names))
        return sis__fail(code, "field \"%s\": needs the field \"values\"",
                         r->drawing.mask          ? "mask"
                         : r->drawing.feature_map ? "feature_map"
                                                  : "value_names");
    if (r->drawing.values && r->drawing.n_values == 0)
        return sis__fail(code, "field \"values\": is empty");
    if (r->drawing.shape &&
        (r->drawing.rank > SIS_RANK_MAX ||
         (r->drawing.values &&
          sis__packed_bytes(r->drawing.rank, r->drawing.shape, 1) != r->drawing.n_values)))
        return sis__fail(code, "field \"shape\": does not fit the %zu values", r->drawing.n_values);
    int result = check_values_finite(code, "values", r->drawing.values,
                                     r->drawing.values ? r->drawing.n_values : 0);
    if (result == SIS_OK)
        result = check_values_finite(code, "mask", r->drawing.mask,
                                     r->drawing.mask ? r->drawing.n_values : 0);
    return result;
}

/* Two ascending positions in the text for each feature. */
static int check_spans(const sis_record *r, int code) {
    size_t characters = 0;
    uint32_t c;
    if (!r->drawing.text)
        return sis__fail(code, "field \"spans\": needs the field \"text\"");
    for (const char *s = r->drawing.text; *s; characters++)
        s += sis__utf8_step(s, &c);
    for (size_t i = 0; i < r->drawing.n_spans; i++)
        if (r->drawing.spans[i] < (i ? r->drawing.spans[i - 1] : 0) ||
            (size_t)r->drawing.spans[i] > characters)
            return sis__fail(code, "field \"spans\": %d is outside of the text, or out of order",
                             r->drawing.spans[i]);
    return check_count(code, "spans", r->drawing.n_spans, 2 * r->collection.n_features,
                       "end of a feature");
}

/* Lists whose length must be n_features. */
static int check_by_feature(const sis_record *r, int code) {
    size_t n_features = r->collection.n_features;
    int result = SIS_OK;
    if (r->drawing.feature_map)
        result =
            check_range(r, code, "feature_map", r->drawing.feature_map, r->drawing.n_values, -1);
    else if (r->drawing.values)
        result = check_count(code, "values", r->drawing.n_values, n_features,
                             "feature (no feature_map)");
    if (result == SIS_OK && r->attributions)
        result = check_count(code, "attributions", r->n_attributions, n_features, "feature");
    if (result == SIS_OK && r->drawing.names && r->drawing.n_names != r->drawing.n_values)
        result = check_count(code, "names", r->drawing.n_names, n_features, "feature");
    if (result == SIS_OK && r->drawing.words)
        result = check_count(code, "words", r->drawing.n_words, n_features, "feature");
    if (result == SIS_OK && r->drawing.spans)
        result = check_spans(r, code);
    if (result == SIS_OK && r->drawing.sequence)
        result = check_count(code, "sequence", strlen(r->drawing.sequence), n_features, "feature");
    if (result == SIS_OK && r->drawing.human)
        result = check_features(r, code, "human", r->drawing.human, r->drawing.n_human);
    return result;
}

/* Text that is written verbatim must be JSON on one line. */
static int check_object(const char *name, const char *text, int code) {
    json_t *root;
    if (!text)
        return SIS_OK;
    int result = sis__json_read(text, strlen(text), "an object", &root);
    if (result == SIS_E_FORMAT || (result == SIS_OK && !json_is_object(root)) ||
        strchr(text, '\n'))
        result = sis__fail(code, "field \"%s\": expected a JSON object on one line", name);
    json_decref(root);
    return result;
}

static int check_record(const sis_record *r, int code) {
    int result = SIS__RESERVED_CHECK(sis_record, r);
    if (result == SIS_OK)
        result = SIS__RESERVED_CHECK(sis_question, &r->question);
    if (result == SIS_OK)
        result = SIS__RESERVED_CHECK(sis_collection, &r->collection);
    if (result == SIS_OK)
        result = SIS__RESERVED_CHECK(sis_drawing, &r->drawing);
    if (result == SIS_OK)
        result = check_head(r, code);
    if (result == SIS_OK)
        result = check_guarantee(r, code);
    if (result == SIS_OK)
        result = check_object("provenance", r->provenance, code);
    if (result == SIS_OK)
        result = check_object("columns", r->drawing.columns, code);
    if (result == SIS_OK)
        result = check_subsets(r, code);
    if (result == SIS_OK)
        result = check_values(r, code);
    if (result == SIS_OK && r->collection.n_features > 0)
        result = check_by_feature(r, code);
    return result;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* For prompts; the bound has none. */
static int has_without(const sis_record *r, const sis_subset *s) {
    return r->prompted && strcmp(r->question.method, "contrast") != 0 &&
           s != &r->collection.bound && !isnan(s->without);
}

static void put_subset(sis__buf *b, const sis_record *r, const sis_subset *s, int with_trace) {
    sis__buf_char(b, '{');
    sis__json_ints(b, "features", s->features, s->n);
    sis__json_number(b, "score", s->score);
    if (has_without(r, s))
        sis__json_number(b, "without", s->without);
    if (r->question.constraint)
        sis__json_flag(b, "sufficient",
                       sis_decided(s->score, r->question.threshold, r->question.below));
    if (with_trace && s->trace.n > 0) {
        if (!isnan(s->trace.start))
            sis__json_number(b, "start", s->trace.start);
        sis__json_ints(b, "order", s->trace.order, s->trace.n);
        sis__json_numbers(b, "trace", s->trace.scores, s->trace.n);
    }
    sis__buf_char(b, '}');
}

static void put_shares(sis__buf *b, const sis_guarantee *g) {
    sis__json_number(b, "share", g->share);
    sis__json_number(b, "confidence", g->confidence);
    sis__json_count(b, "seed", (size_t)g->seed);
    sis__json_list(b, "subsets");
    for (size_t k = 0; k < g->n_shares; k++) {
        sis__json_comma(b, k);
        sis__buf_char(b, '{');
        sis__json_count(b, "draws", g->shares[k].draws);
        sis__json_count(b, "kept", g->shares[k].kept);
        sis__json_number(b, "low", g->shares[k].low);
        sis__json_number(b, "high", g->shares[k].high);
        sis__buf_char(b, '}');
    }
    sis__buf_char(b, ']');
}

static void put_guarantee(sis__buf *b, const sis_record *r) {
    const sis_guarantee *g = r->guarantee;
    sis__json_name(b, "guarantee");
    sis__buf_char(b, '{');
    sis__json_text(b, "kind", sis_guarantee_name(g->kind));
    if (g->kind == SIS_GUARANTEE_ALL)
        sis__json_flag(b, "proved", g->proved);
    sis__json_flag(b, "minimal", g->minimal);
    if (g->smallest)
        sis__json_flag(b, "smallest", 1);
    if (g->nearest)
        sis__json_flag(b, "nearest", 1);
    if (g->cheapest)
        sis__json_flag(b, "cheapest", 1);
    sis__json_ints(b, "fixed", g->fixed, g->n_fixed);
    sis__json_numbers(b, "bounds", g->bounds, g->n_bounds);
    sis__json_text(b, "domain", r->question.domain);
    if (g->kind == SIS_GUARANTEE_CHANCE)
        put_shares(b, g);
    sis__buf_char(b, '}');
}

static void put_decision(sis__buf *b, const sis_record *r) {
    sis__json_count(b, "sis", FORMAT);
    sis__json_text(b, "id", r->id);
    sis__json_text(b, "model", r->model);
    sis__json_text(b, "method", r->question.method);
    sis__json_text(b, "constraint", r->question.constraint);
    if (r->guarantee)
        put_guarantee(b, r);
    sis__json_text(b, "keep", r->question.keep);
    sis__json_count(b, "target", r->question.target);
    if (r->question.n_outputs)
        sis__json_count(b, "n_outputs", r->question.n_outputs);
    sis__json_text(b, "target_label", r->question.target_label);
    sis__json_text(b, "direction", r->question.below ? "<=" : ">=");
    sis__json_number(b, "threshold", r->question.threshold);
}

static void put_attributions(sis__buf *b, const sis_record *r) {
    sis__json_numbers(b, "attributions", r->attributions, r->n_attributions);
    if (!r->completeness)
        return;
    double sum = r->completeness[0], difference = r->completeness[1];
    sis__json_name(b, "completeness");
    sis__buf_char(b, '{');
    sis__json_number(b, "sum", sum);
    sis__json_number(b, "difference", difference);
    sis__json_number(b, "error", fabs(sum - difference) / fabs(difference));
    sis__buf_char(b, '}');
}

static void put_collection(sis__buf *b, const sis_record *r, int with_trace) {
    const sis_collection *c = &r->collection;
    sis__json_number(b, "score", c->score);
    sis__json_number(b, "masked_score", c->masked_score);
    sis__json_text(b, "status", sis_status_name(c->status));
    sis__json_text(b, "message", c->message);
    sis__json_count(b, "n_features", c->n_features);
    sis__json_list(b, "subsets");
    for (size_t k = 0; k < c->n_subsets; k++) {
        sis__json_comma(b, k);
        put_subset(b, r, &c->subsets[k], with_trace);
    }
    sis__buf_char(b, ']');
    if (c->bound.n) {
        sis__json_name(b, "bound");
        put_subset(b, r, &c->bound, 1);
    }
    if (c->n_subsets > 0)
        sis__json_number(b, "rest_score", c->rest_score);
    put_attributions(b, r);
    sis__json_flag(b, "verified", c->verified);
    sis__json_flag(b, "complete", c->complete);
    sis__json_count(b, "evaluations", c->evaluations);
    sis__json_number(b, "seconds", c->seconds < 1e9 ? round(c->seconds * 1e6) / 1e6 : c->seconds);
}

static void put_object(sis__buf *b, const char *name, const char *text) {
    if (!text)
        return;
    sis__json_name(b, name);
    sis__buf_str(b, text);
}

static void put_drawing(sis__buf *b, const sis_record *r) {
    sis__json_text(b, "kind", r->drawing.kind);
    sis__json_counts(b, "shape", r->drawing.shape, r->drawing.rank);
    sis__json_numbers(b, "values", r->drawing.values, r->drawing.n_values);
    if (r->guarantee) {
        sis__json_numbers(b, "examples", r->guarantee->examples,
                          r->guarantee->n_examples * r->drawing.n_values);
        sis__json_numbers(b, "distances", r->guarantee->distances, r->guarantee->n_examples);
    }
    sis__json_numbers(b, "mask", r->drawing.mask, r->drawing.n_values);
    sis__json_text(b, "masking", r->drawing.masking);
    sis__json_texts(b, "names", r->drawing.names, r->drawing.n_names);
    sis__json_texts(b, "value_names", r->drawing.value_names, r->drawing.n_values);
    sis__json_ints(b, "feature_map", r->drawing.feature_map, r->drawing.n_values);
    sis__json_text(b, "label", r->drawing.label);
    put_object(b, "columns", r->drawing.columns);
    sis__json_texts(b, "words", r->drawing.words, r->drawing.n_words);
    sis__json_text(b, "unit", r->drawing.unit);
    sis__json_text(b, "text", r->drawing.text);
    sis__json_ints(b, "spans", r->drawing.spans, r->drawing.n_spans);
    sis__json_text(b, "sequence", r->drawing.sequence);
    if (r->drawing.full_length)
        sis__json_count(b, "full_length", r->drawing.full_length);
    sis__json_ints(b, "human", r->drawing.human, r->drawing.n_human);
}

static void put_prompted(sis__buf *b, const sis_prompted *p) {
    if (!p)
        return;
    sis__json_text(b, "before", p->before);
    sis__json_text(b, "after", p->after);
    sis__json_text(b, "answer", p->answer ? p->answer : "");
    sis__json_flag(b, "own_answer", p->own);
    sis__json_flag(b, "bounded", p->bounded);
    sis__json_number(b, "noise", p->noise);
    sis__json_count(b, "requests", p->requests);
    sis__json_count(b, "prompt_tokens", p->prompt_tokens);
    sis__json_count(b, "completion_tokens", p->completion_tokens);
}

/* Write the number of the example in its data set, unless it equals the id. */
static void put_origin(sis__buf *b, const sis_record *r) {
    char number[24];
    snprintf(number, sizeof number, "%zu", r->row);
    if (r->has_row && strcmp(number, r->id) != 0)
        sis__json_count(b, "row", r->row);
    put_object(b, "provenance", r->provenance);
}

int sis_record_format(const sis_record *record, int with_trace, char **line, size_t *n) {
    *line = NULL;
    *n = 0;
    int code = check_record(record, SIS_E_ARGUMENT);
    if (code != SIS_OK)
        return code;
    sis__buf b;
    sis__buf_init(&b);
    sis__buf_char(&b, '{');
    put_decision(&b, record);
    put_collection(&b, record, with_trace);
    put_drawing(&b, record);
    put_prompted(&b, record->prompted);
    put_origin(&b, record);
    sis__buf_str(&b, "}\n");
    return sis__buf_give(&b, line, n);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Give the fields of a version 1 record the names of version 2. */
static int upgrade_version_1(json_t *record) {
    static const char *const names[][2] = {
        {"output", "target"}, {"output_label", "target_label"}, {"made", "provenance"}};
    int failed = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get(record, names[i][0]);
        failed |= value && json_object_set(record, names[i][1], value) != 0;
    }
    const char *status = json_string_value(json_object_get(record, "status"));
    if (status && strcmp(status, "below_threshold") == 0)
        failed |= json_object_set_new(record, "status", json_string("not_decided")) != 0;
    return failed ? SIS_E_NOMEM : SIS_OK;
}

static void take_version(sis__fields *f, json_t *record) {
    size_t version = FORMAT;
    sis__take_count(f, "sis", SIS__REQUIRED, &version);
    if (f->code != SIS_OK)
        return;
    if (version == 1)
        f->code = upgrade_version_1(record);
    else if (version != FORMAT)
        f->code = sis__fail(SIS_E_FORMAT,
                            "field \"sis\": version %zu of the format; this program reads 1 and %d",
                            version, FORMAT);
}

static void take_shares(sis__fields *f, sis_guarantee *g) {
    size_t n, seed = 0;
    sis__take_share(f, "share", &g->share);
    sis__take_share(f, "confidence", &g->confidence);
    sis__take_count(f, "seed", SIS__OPTIONAL, &seed);
    g->seed = seed;
    const json_t *list = sis__find_list(f, "subsets", SIS__REQUIRED, &n);
    if (f->code != SIS_OK || n == 0)
        return;
    g->shares = SIS_NEW(sis_kept, n);
    f->code = g->shares ? SIS_OK : SIS_E_NOMEM;
    g->n_shares = g->shares ? n : 0;
    for (size_t k = 0; k < g->n_shares && f->code == SIS_OK; k++) {
        sis__fields one = sis__enter_item(f, "subsets", list, k);
        sis__take_count(&one, "draws", SIS__REQUIRED, &g->shares[k].draws);
        sis__take_count(&one, "kept", SIS__REQUIRED, &g->shares[k].kept);
        sis__take_share(&one, "low", &g->shares[k].low);
        sis__take_share(&one, "high", &g->shares[k].high);
        sis__leave(f, &one);
    }
}

static void take_guarantee(sis__fields *f, sis_record *r) {
    static const char *const kinds[] = {
#define KIND_NAME(code, text) [SIS_GUARANTEE_##code] = text,
        SIS_GUARANTEES(KIND_NAME)
#undef KIND_NAME
    };
    if (!sis__find_field(f, "guarantee", SIS__OPTIONAL))
        return;
    sis_guarantee *g = SIS_NEW(sis_guarantee, 1);
    r->guarantee = g;
    sis__fields inner = sis__enter(f, "guarantee", SIS__REQUIRED);
    if (!g)
        inner.code = SIS_E_NOMEM;
    if (inner.code == SIS_OK) {
        g->kind = (sis_guarantee_kind)sis__take_choice(&inner, "kind", kinds,
                                                       sizeof kinds / sizeof *kinds);
        sis__take_flag(&inner, "proved", &g->proved);
        sis__take_flag(&inner, "minimal", &g->minimal);
        sis__take_flag(&inner, "smallest", &g->smallest);
        sis__take_flag(&inner, "nearest", &g->nearest);
        sis__take_flag(&inner, "cheapest", &g->cheapest);
        g->fixed = sis__take_ints(&inner, "fixed", SIS__OPTIONAL, &g->n_fixed);
        inner.nulls = 1;
        g->bounds = sis__take_numbers(&inner, "bounds", &g->n_bounds);
        inner.nulls = 0;
        r->question.domain = sis__take_text(&inner, "domain", SIS__OPTIONAL);
        if (g->kind == SIS_GUARANTEE_CHANCE)
            take_shares(&inner, g);
    }
    sis__leave(f, &inner);
}

static void take_decision(sis__fields *f, sis_record *r) {
    static const char *const directions[] = {">=", "<="};
    r->id = sis__take_text(f, "id", SIS__REQUIRED);
    r->model = sis__take_text(f, "model", SIS__REQUIRED);
    r->question.method = sis__take_text(f, "method", SIS__REQUIRED);
    r->question.constraint = sis__take_text(f, "constraint", SIS__OPTIONAL);
    take_guarantee(f, r);
    r->question.keep = sis__take_text(f, "keep", SIS__OPTIONAL);
    sis__take_count(f, "target", SIS__REQUIRED, &r->question.target);
    sis__take_some(f, "n_outputs", &r->question.n_outputs);
    r->question.target_label = sis__take_text(f, "target_label", SIS__OPTIONAL);
    r->question.below = (int)sis__take_choice(f, "direction", directions, 2);
    sis__take_number(f, "threshold", SIS__REQUIRED, &r->question.threshold);
}

/* A score that is null if the model failed. */
static void take_score(sis__fields *f, const char *name, sis_status status, double *out) {
    *out = NAN;
    if (status != SIS_STATUS_ERROR || !json_is_null(json_object_get(f->object, name)))
        sis__take_number(f, name, SIS__REQUIRED, out);
}

static void take_subset(sis__fields *f, sis_subset *s) {
    size_t scores;
    s->features = sis__take_ints(f, "features", SIS__REQUIRED, &s->n);
    sis__take_number(f, "score", SIS__REQUIRED, &s->score);
    s->trace.start = s->without = NAN;
    sis__take_number(f, "without", SIS__OPTIONAL, &s->without);
    sis__take_number(f, "start", SIS__OPTIONAL, &s->trace.start);
    s->trace.order = sis__take_ints(f, "order", SIS__OPTIONAL, &s->trace.n);
    s->trace.scores = sis__take_numbers(f, "trace", &scores);
    sis__fields_pair(f, "trace", scores, "order", s->trace.n);
}

static void take_subsets(sis__fields *f, sis_collection *c) {
    size_t n;
    const json_t *list = sis__find_list(f, "subsets", SIS__REQUIRED, &n);
    if (n == 0 || f->code != SIS_OK)
        return;
    if (!(c->subsets = SIS_NEW(sis_subset, n))) {
        f->code = SIS_E_NOMEM;
        return;
    }
    c->n_subsets = n;
    for (size_t k = 0; k < n && f->code == SIS_OK; k++) {
        sis__fields subset = {.object = json_array_get(list, k)};
        snprintf(subset.prefix, sizeof subset.prefix, "subsets[%zu].", k);
        if (json_is_object(subset.object))
            take_subset(&subset, &c->subsets[k]);
        else
            sis__fields_wrong(&subset, "features", "an object around it", subset.object);
        f->code = subset.code;
    }
    if (isnan(c->subsets[0].trace.start))
        c->subsets[0].trace.start = c->score;
}

static void take_bound(sis__fields *f, sis_collection *c) {
    if (!sis__find_field(f, "bound", SIS__OPTIONAL))
        return;
    sis__fields inner = sis__enter(f, "bound", SIS__REQUIRED);
    if (inner.code == SIS_OK)
        take_subset(&inner, &c->bound);
    sis__leave(f, &inner);
}

static void take_collection(sis__fields *f, sis_collection *c) {
    static const char *const statuses[] = {
#define STATUS_NAME(code, text) [SIS_STATUS_##code] = text,
        SIS_STATUSES(STATUS_NAME)
#undef STATUS_NAME
    };
    c->status =
        (sis_status)sis__take_choice(f, "status", statuses, sizeof statuses / sizeof *statuses);
    c->message = sis__take_text(f, "message", SIS__OPTIONAL);
    take_score(f, "score", c->status, &c->score);
    take_score(f, "masked_score", c->status, &c->masked_score);
    sis__take_count(f, "n_features", SIS__REQUIRED, &c->n_features);
    take_subsets(f, c);
    take_bound(f, c);
    c->rest_score = c->score; /* without subsets, the rest is the whole input */
    if (c->n_subsets > 0)
        sis__take_number(f, "rest_score", SIS__REQUIRED, &c->rest_score);
    sis__take_flag(f, "verified", &c->verified);
    sis__take_flag(f, "complete", &c->complete);
    sis__take_count(f, "evaluations", SIS__OPTIONAL, &c->evaluations);
    sis__take_number(f, "seconds", SIS__OPTIONAL, &c->seconds);
}

/* The claims of the method about its subsets. */
static sis_claim claim_of(const sis_record *r) {
    if (!r->question.constraint || strcmp(r->question.method, "gradient") == 0)
        return SIS_CLAIM_MINIMAL;
    return strcmp(r->question.constraint, "sufficient") == 0 ? SIS_CLAIM_SUFFICIENT
                                                             : SIS_CLAIM_NOTHING;
}

static void take_attributions(sis__fields *f, sis_record *r) {
    r->attributions = sis__take_numbers(f, "attributions", &r->n_attributions);
    const json_t *v = sis__find_field(f, "completeness", SIS__OPTIONAL);
    double *pair = v ? SIS_NEW(double, 2) : NULL;
    if (!v)
        return;
    if (!pair)
        f->code = SIS_E_NOMEM;
    else if (!json_is_object(v))
        sis__fields_wrong(f, "completeness", "an object", v);
    r->completeness = pair;
    sis__fields inner = {.object = v, .prefix = "completeness.", .code = f->code};
    if (f->code == SIS_OK) {
        sis__take_number(&inner, "sum", SIS__REQUIRED, &pair[0]);
        sis__take_number(&inner, "difference", SIS__REQUIRED, &pair[1]);
    }
    f->code = inner.code;
}

/* Read the counterexamples, one for each subset, concatenated. */
static void take_examples(sis__fields *f, sis_record *r) {
    size_t n;
    double *examples = sis__take_numbers(f, "examples", &n);
    sis_guarantee *g = (sis_guarantee *)(uintptr_t)r->guarantee;
    if (!examples)
        return;
    if (!g || !r->drawing.values || n != r->collection.n_subsets * r->drawing.n_values) {
        free(examples);
        sis__fields_wrong(f, "examples", "the values of an input for each subset of a proof",
                          json_object_get(f->object, "examples"));
        return;
    }
    g->examples = examples;
    g->n_examples = r->collection.n_subsets;
    g->distances = sis__take_numbers(f, "distances", &n);
    if (g->distances)
        sis__fields_pair(f, "distances", n, "subsets", g->n_examples);
}

/* An object as text, or NULL. */
static char *take_object(sis__fields *f, const char *name) {
    const json_t *object = sis__find_field(f, name, SIS__OPTIONAL);
    if (object && !json_is_object(object))
        sis__fields_wrong(f, name, "an object", object);
    char *text = json_is_object(object) ? sis__json_dump(object, JSON_COMPACT) : NULL;
    if (json_is_object(object) && !text)
        f->code = SIS_E_NOMEM;
    return text;
}

static void take_drawing(sis__fields *f, sis_record *r) {
    size_t n;
    r->drawing.kind = sis__take_text(f, "kind", SIS__OPTIONAL);
    r->drawing.shape = sis__take_counts(f, "shape", &r->drawing.rank);
    f->nulls = 1; /* NaN for missing values */
    r->drawing.values = sis__take_numbers(f, "values", &r->drawing.n_values);
    r->drawing.mask = sis__take_numbers(f, "mask", &n);
    take_examples(f, r);
    f->nulls = 0;
    if (r->drawing.mask)
        sis__fields_pair(f, "mask", n, "values", r->drawing.n_values);
    r->drawing.masking = sis__take_text(f, "masking", SIS__OPTIONAL);
    r->drawing.names = sis__take_texts(f, "names", &r->drawing.n_names);
    r->drawing.value_names = sis__take_texts(f, "value_names", &n);
    if (r->drawing.value_names)
        sis__fields_pair(f, "value_names", n, "values", r->drawing.n_values);
    r->drawing.feature_map = sis__take_ints(f, "feature_map", SIS__OPTIONAL, &n);
    if (r->drawing.feature_map)
        sis__fields_pair(f, "feature_map", n, "values", r->drawing.n_values);
    r->drawing.label = sis__take_text(f, "label", SIS__OPTIONAL);
    r->drawing.columns = take_object(f, "columns");
    r->drawing.words = sis__take_texts(f, "words", &r->drawing.n_words);
    r->drawing.unit = sis__take_text(f, "unit", SIS__OPTIONAL);
    r->drawing.text = sis__take_text(f, "text", SIS__OPTIONAL);
    r->drawing.spans = sis__take_ints(f, "spans", SIS__OPTIONAL, &r->drawing.n_spans);
    r->drawing.sequence = sis__take_text(f, "sequence", SIS__OPTIONAL);
    sis__take_count(f, "full_length", SIS__OPTIONAL, &r->drawing.full_length);
    r->drawing.human = sis__take_ints(f, "human", SIS__OPTIONAL, &r->drawing.n_human);
}

static void take_prompted(sis__fields *f, sis_record *r) {
    if (!sis__find_field(f, "answer", SIS__OPTIONAL))
        return;
    sis_prompted *p = SIS_NEW(sis_prompted, 1);
    if (!p) {
        f->code = SIS_E_NOMEM;
        return;
    }
    r->prompted = p;
    p->before = sis__take_text(f, "before", SIS__OPTIONAL);
    p->after = sis__take_text(f, "after", SIS__OPTIONAL);
    p->answer = sis__take_text(f, "answer", SIS__OPTIONAL);
    sis__take_flag(f, "own_answer", &p->own);
    sis__take_flag(f, "bounded", &p->bounded);
    sis__take_number(f, "noise", SIS__OPTIONAL, &p->noise);
    sis__take_count(f, "requests", SIS__OPTIONAL, &p->requests);
    sis__take_count(f, "prompt_tokens", SIS__OPTIONAL, &p->prompt_tokens);
    sis__take_count(f, "completion_tokens", SIS__OPTIONAL, &p->completion_tokens);
}

static void take_origin(sis__fields *f, sis_record *r) {
    r->has_row = sis__find_field(f, "row", SIS__OPTIONAL) != NULL;
    sis__take_count(f, "row", SIS__OPTIONAL, &r->row);
    r->provenance = take_object(f, "provenance");
}

int sis_record_parse(const char *line, size_t n, sis_record *out) {
    json_t *root;
    *out = (sis_record){0};
    int code = sis__json_read(line, n, "a record", &root);
    if (code != SIS_OK)
        return code;
    sis__fields f = {.object = root};
    if (!json_is_object(root))
        f.code = sis__fail(SIS_E_FORMAT, "not a record: expected a JSON object, found a list");
    take_version(&f, root);
    take_decision(&f, out);
    take_collection(&f, &out->collection);
    take_attributions(&f, out);
    take_drawing(&f, out);
    take_prompted(&f, out);
    take_origin(&f, out);
    if (f.code == SIS_OK) {
        out->collection.claim = claim_of(out);
        f.code = check_record(out, SIS_E_FORMAT);
    }
    if (f.code == SIS_OK && out->drawing.feature_map)
        f.code = sis__record_index(out);
    if (f.code != SIS_OK)
        sis_record_release(out);
    json_decref(root);
    return f.code;
}

/* ---- Release ------------------------------------------------------------------------------- */

/* A parsed record owns the memory behind its const pointers. */
static void drop(const void *p) {
    free((void *)p);
}

void sis_record_release(sis_record *record) {
    if (!record)
        return;
    const void *const owned[] = {record->id,
                                 record->model,
                                 record->question.method,
                                 record->question.target_label,
                                 record->drawing.kind,
                                 record->drawing.shape,
                                 record->drawing.values,
                                 record->drawing.mask,
                                 record->drawing.names,
                                 record->drawing.feature_map,
                                 record->drawing.label,
                                 record->drawing.columns,
                                 record->drawing.words,
                                 record->drawing.sequence,
                                 record->drawing.human,
                                 record->question.constraint,
                                 record->attributions,
                                 record->completeness,
                                 record->drawing.value_names,
                                 record->drawing.by_feature,
                                 record->drawing.masking,
                                 record->question.domain,
                                 record->question.keep,
                                 record->drawing.unit,
                                 record->drawing.text,
                                 record->drawing.spans,
                                 record->provenance};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        drop(owned[i]);
    if (record->prompted) {
        drop(record->prompted->before);
        drop(record->prompted->after);
        drop(record->prompted->answer);
    }
    drop(record->prompted);
    if (record->guarantee)
        sis_guarantee_release((sis_guarantee *)(uintptr_t)record->guarantee);
    drop(record->guarantee);
    sis_collection_release(&record->collection);
    *record = (sis_record){0};
}
