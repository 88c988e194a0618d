/* SPDX-License-Identifier: MIT
 *
 * Records: validation, and the fields in their order (results.h), which one set of functions writes,
 * reads and releases (fields.h).
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
        return check_count(code, "guarantee.bounds", g->n_bounds, r->collection.n_subsets,
                           "subset");
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
    if (result == SIS_E_FORMAT || (result == SIS_OK && !json_is_object(root)) || strchr(text, '\n'))
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

/* ---- Fields: the question -------------------------------------------------------------------- */

/* The context of the functions below. */
typedef struct {
    const sis_record *record;
    int with_trace;
} passing;

static void pass_share(sis__fields *f, void *item) {
    sis_kept *share = item;
    sis__field_count(f, "draws", &share->draws, SIS__REQUIRED);
    sis__field_count(f, "kept", &share->kept, SIS__REQUIRED);
    sis__field_share(f, "low", &share->low);
    sis__field_share(f, "high", &share->high);
}

static void pass_shares(sis__fields *f, sis_guarantee *g) {
    static const sis__entry share = {sizeof(sis_kept), pass_share, 0};
    size_t seed = (size_t)g->seed;
    sis__field_share(f, "share", &g->share);
    sis__field_share(f, "confidence", &g->confidence);
    sis__field_count(f, "seed", &seed, 0);
    if (sis__reading(f))
        g->seed = seed;
    sis__field_find(f, "subsets", SIS__REQUIRED);
    sis__field_entries(f, "subsets", &g->shares, &g->n_shares, &share);
}

#define NAME(code, text) text,
static void pass_guarantee(sis__fields *f, void *item) {
    static const char *const kinds[] = {SIS_GUARANTEES(NAME) NULL};
    sis_record *r = item;
    sis_guarantee *g = (sis_guarantee *)(uintptr_t)r->guarantee;
    sis__field_choice(f, "kind", &g->kind, kinds, SIS__REQUIRED);
    if (!f->out || g->kind == SIS_GUARANTEE_ALL)
        sis__field_flag(f, "proved", &g->proved, 0);
    sis__field_flag(f, "minimal", &g->minimal, 0);
    sis__field_flag(f, "smallest", &g->smallest, SIS__KNOWN);
    sis__field_flag(f, "nearest", &g->nearest, SIS__KNOWN);
    sis__field_flag(f, "cheapest", &g->cheapest, SIS__KNOWN);
    sis__field_ints(f, "fixed", &g->fixed, &g->n_fixed, NULL);
    f->nulls = 1;
    sis__field_numbers(f, "bounds", &g->bounds, &g->n_bounds, NULL);
    f->nulls = 0;
    sis__field_text(f, "domain", &r->question.domain, 0);
    if (g->kind == SIS_GUARANTEE_CHANCE)
        pass_shares(f, g);
}

static void pass_question(sis__fields *f, sis_record *r) {
    static const char *const directions[] = {">=", "<=", NULL};
    sis_question *q = &r->question;
    sis__field_text(f, "id", &r->id, SIS__REQUIRED);
    sis__field_text(f, "model", &r->model, SIS__REQUIRED);
    sis__field_text(f, "method", &q->method, SIS__REQUIRED);
    sis__field_text(f, "constraint", &q->constraint, 0);
    int guaranteed = sis__field_there(f, "guarantee", r->guarantee != NULL);
    if (guaranteed && sis__reading(f) && !(r->guarantee = SIS_NEW(sis_guarantee, 1)))
        f->code = SIS_E_NOMEM;
    else if (guaranteed)
        sis__field_object(f, "guarantee", r, pass_guarantee);
    sis__field_text(f, "keep", &q->keep, 0);
    sis__field_count(f, "target", &q->target, SIS__REQUIRED);
    sis__field_count(f, "n_outputs", &q->n_outputs, SIS__KNOWN);
    sis__field_text(f, "target_label", &q->target_label, 0);
    sis__field_choice(f, "direction", &q->below, directions, SIS__REQUIRED);
    sis__field_number(f, "threshold", &q->threshold, SIS__REQUIRED);
}

/* ---- Fields: the collection ------------------------------------------------------------------ */

/* For prompts; the bound has none. */
static int has_without(const sis_record *r, const sis_subset *s) {
    return r->prompted && strcmp(r->question.method, "contrast") != 0 && s != &r->collection.bound;
}

static void pass_subset(sis__fields *f, void *item) {
    sis_subset *s = item;
    const passing *p = f->ctx;
    const sis_record *r = p->record;
    sis__field_find(f, "features", SIS__REQUIRED);
    sis__field_ints(f, "features", &s->features, &s->n, NULL);
    sis__field_number(f, "score", &s->score, SIS__REQUIRED);
    if (!f->out || has_without(r, s))
        sis__field_number(f, "without", &s->without, SIS__KNOWN);
    if (f->out && r->question.constraint)
        sis__json_flag(f->out, "sufficient",
                       sis_decided(s->score, r->question.threshold, r->question.below));
    if (f->out && (s->trace.n == 0 || !(p->with_trace || s == &r->collection.bound)))
        return;
    sis__field_number(f, "start", &s->trace.start, SIS__KNOWN);
    sis__field_ints(f, "order", &s->trace.order, &s->trace.n, NULL);
    sis__field_find(f, "trace", s->trace.n > 0);
    sis__field_numbers(f, "trace", &s->trace.scores, &s->trace.n, "order");
}

static void pass_subsets(sis__fields *f, sis_collection *c) {
    static const sis__entry subset = {sizeof(sis_subset), pass_subset, 0};
    sis__field_find(f, "subsets", SIS__REQUIRED);
    sis__field_entries(f, "subsets", &c->subsets, &c->n_subsets, &subset);
    if (sis__reading(f) && c->n_subsets > 0 && isnan(c->subsets[0].trace.start))
        c->subsets[0].trace.start = c->score;
    if (sis__field_there(f, "bound", c->bound.n > 0))
        sis__field_object(f, "bound", &c->bound, pass_subset);
    if (sis__reading(f))
        c->rest_score = c->score; /* without subsets, the rest is the whole input */
    if (c->n_subsets > 0)
        sis__field_number(f, "rest_score", &c->rest_score, SIS__REQUIRED);
}

static void pass_completeness(sis__fields *f, void *item) {
    double *pair = item;
    sis__field_number(f, "sum", &pair[0], SIS__REQUIRED);
    sis__field_number(f, "difference", &pair[1], SIS__REQUIRED);
    if (f->out)
        sis__json_number(f->out, "error", fabs(pair[0] - pair[1]) / fabs(pair[1]));
}

static void pass_attributions(sis__fields *f, sis_record *r) {
    sis__field_numbers(f, "attributions", &r->attributions, &r->n_attributions, NULL);
    if (!sis__field_there(f, "completeness", r->completeness != NULL))
        return;
    if (sis__reading(f) && !(r->completeness = SIS_NEW(double, 2)))
        f->code = SIS_E_NOMEM;
    else
        sis__field_object(f, "completeness", (double *)(uintptr_t)r->completeness,
                          pass_completeness);
}

static void pass_collection(sis__fields *f, sis_record *r) {
    static const char *const statuses[] = {SIS_STATUSES(NAME) NULL};
    sis_collection *c = &r->collection;
    double seconds = c->seconds < 1e9 ? round(c->seconds * 1e6) / 1e6 : c->seconds;
    const char *failed = json_string_value(json_object_get(f->object, "status"));
    f->nulls = failed && strcmp(failed, "error") == 0;
    sis__field_number(f, "score", &c->score, SIS__REQUIRED);
    sis__field_number(f, "masked_score", &c->masked_score, SIS__REQUIRED);
    f->nulls = 0;
    sis__field_choice(f, "status", &c->status, statuses, SIS__REQUIRED);
    sis__field_text(f, "message", (const char **)&c->message, 0);
    sis__field_count(f, "n_features", &c->n_features, SIS__REQUIRED);
    pass_subsets(f, c);
    pass_attributions(f, r);
    sis__field_flag(f, "verified", &c->verified, 0);
    sis__field_flag(f, "complete", &c->complete, 0);
    sis__field_count(f, "evaluations", &c->evaluations, 0);
    sis__field_number(f, "seconds", &seconds, 0);
    if (sis__reading(f))
        c->seconds = isnan(seconds) ? 0 : seconds;
}
#undef NAME

/* ---- Fields: the drawing --------------------------------------------------------------------- */

/* The inputs that show a contrast, one for each subset, concatenated. */
static void pass_examples(sis__fields *f, sis_record *r) {
    sis_guarantee *g = (sis_guarantee *)(uintptr_t)r->guarantee;
    size_t n = g ? g->n_examples * r->drawing.n_values : 0;
    double *examples = g ? g->examples : NULL;
    sis__field_numbers(f, "examples", &examples, &n, NULL);
    if (sis__reading(f) && examples) {
        if (!g || !r->drawing.values || n != r->collection.n_subsets * r->drawing.n_values) {
            free(examples);
            sis__field_wrong(f, "examples", "the values of an input for each subset of a proof",
                             json_object_get(f->object, "examples"));
            return;
        }
        g->examples = examples;
        g->n_examples = r->collection.n_subsets;
    }
    if (examples)
        sis__field_numbers(f, "distances", &g->distances, &g->n_examples, "subsets");
}

static void put_categories(sis__buf *b, const sis_drawing *d) {
    const char *const *const *words = d->categories;
    sis__json_list(b, "categories");
    for (size_t v = 0; v < d->n_values; v++) {
        sis__json_comma(b, v);
        sis__buf_str(b, words[v] ? "[" : "null");
        for (size_t k = 0; words[v] && words[v][k]; k++) {
            sis__json_comma(b, k);
            sis__buf_json(b, words[v][k]);
        }
        sis__buf_str(b, words[v] ? "]" : "");
    }
    sis__buf_char(b, ']');
}

/* Checks the lists of words; counts their words and bytes. */
static void measure_categories(sis__fields *f, const json_t *list, size_t *n, size_t *bytes) {
    const json_t *words, *word;
    size_t i, k;
    json_array_foreach(list, i, words) {
        if (!json_is_null(words) && json_array_size(words) == 0)
            sis__field_wrong(f, "categories", "a list of words, or null", words);
        *n += json_array_size(words) + 1;
        json_array_foreach(words, k, word) {
            if (!json_is_string(word))
                sis__field_wrong(f, "categories", "words", word);
            *bytes += json_string_length(word) + 1;
        }
    }
}

/* The words of all columns, in one allocation. */
static void take_categories(sis__fields *f, const json_t *list, sis_drawing *d) {
    size_t n = json_array_size(list), pointers = 0, bytes = 1, i, k;
    const json_t *words, *word;
    measure_categories(f, list, &pointers, &bytes);
    if (f->code == SIS_OK && n != d->n_values)
        f->code = sis__fail(
            SIS_E_FORMAT, "field \"categories\": expected %zu entries as in \"values\", found %zu",
            d->n_values, n);
    if (f->code != SIS_OK)
        return;
    const char ***out = sis__alloc(n * sizeof *out + pointers * sizeof **out + bytes, 1);
    d->categories = (const char *const *const *)out;
    f->code = out ? SIS_OK : SIS_E_NOMEM;
    const char **item = out ? (const char **)(out + n) : NULL;
    char *text = out ? (char *)(item + pointers) : NULL;
    json_array_foreach(list, i, words) {
        if (!out)
            return;
        out[i] = json_is_null(words) ? NULL : item;
        json_array_foreach(words, k, word) {
            size_t length = json_string_length(word) + 1;
            *item++ = memcpy(text, json_string_value(word), length);
            text += length;
        }
        *item++ = NULL;
    }
}

static void pass_categories(sis__fields *f, sis_drawing *d) {
    const json_t *list = sis__field_find(f, "categories", 0);
    if (f->out && d->categories)
        put_categories(f->out, d);
    if (f->releasing) {
        free((void *)(uintptr_t)d->categories);
        d->categories = NULL;
    }
    if (list && !json_is_array(list))
        sis__field_wrong(f, "categories", "a list", list);
    else if (list)
        take_categories(f, list, d);
}

static void pass_drawing(sis__fields *f, sis_record *r) {
    sis_drawing *d = &r->drawing;
    sis__field_text(f, "kind", &d->kind, 0);
    sis__field_counts(f, "shape", &d->shape, &d->rank);
    f->nulls = 1; /* NaN for missing values */
    sis__field_numbers(f, "values", &d->values, &d->n_values, NULL);
    if (!f->releasing)
        pass_examples(f, r);
    sis__field_numbers(f, "mask", &d->mask, &d->n_values, "values");
    f->nulls = 0;
    sis__field_text(f, "masking", &d->masking, 0);
    sis__field_texts(f, "names", &d->names, &d->n_names, NULL);
    sis__field_texts(f, "value_names", &d->value_names, &d->n_values, "values");
    pass_categories(f, d);
    sis__field_ints(f, "feature_map", &d->feature_map, &d->n_values, "values");
    sis__field_text(f, "label", &d->label, 0);
    sis__field_json(f, "columns", &d->columns);
    sis__field_texts(f, "words", &d->words, &d->n_words, NULL);
    sis__field_text(f, "unit", &d->unit, 0);
    sis__field_text(f, "text", &d->text, 0);
    sis__field_ints(f, "spans", &d->spans, &d->n_spans, NULL);
    sis__field_text(f, "sequence", &d->sequence, 0);
    sis__field_count(f, "full_length", &d->full_length, SIS__KNOWN);
    sis__field_ints(f, "human", &d->human, &d->n_human, NULL);
}

static void pass_prompted(sis__fields *f, sis_record *r) {
    if (!sis__field_there(f, "answer", r->prompted != NULL))
        return;
    if (sis__reading(f) && !(r->prompted = SIS_NEW(sis_prompted, 1))) {
        f->code = SIS_E_NOMEM;
        return;
    }
    sis_prompted *p = (sis_prompted *)(uintptr_t)r->prompted;
    const char *answer = f->out && !p->answer ? "" : p->answer;
    double noise = p->noise;
    sis__field_text(f, "before", &p->before, 0);
    sis__field_text(f, "after", &p->after, 0);
    sis__field_text(f, "answer", &answer, 0);
    sis__field_flag(f, "own_answer", &p->own, 0);
    sis__field_flag(f, "bounded", &p->bounded, 0);
    sis__field_number(f, "noise", &noise, 0);
    sis__field_count(f, "requests", &p->requests, 0);
    sis__field_count(f, "prompt_tokens", &p->prompt_tokens, 0);
    sis__field_count(f, "completion_tokens", &p->completion_tokens, 0);
    if (sis__reading(f)) {
        p->answer = answer;
        p->noise = isnan(noise) ? 0 : noise;
    }
}

/* The number of the example in its data set is left out if it equals the id. */
static void pass_origin(sis__fields *f, sis_record *r) {
    char number[24];
    snprintf(number, sizeof number, "%zu", r->row);
    int there = sis__field_there(f, "row", r->has_row && strcmp(number, r->id) != 0);
    if (sis__reading(f))
        r->has_row = there;
    if (there)
        sis__field_count(f, "row", &r->row, 0);
    sis__field_json(f, "provenance", &r->provenance);
}

static void pass_record(sis__fields *f, sis_record *r) {
    pass_question(f, r);
    pass_collection(f, r);
    pass_drawing(f, r);
    pass_prompted(f, r);
    pass_origin(f, r);
}

/* ---- Writing and reading --------------------------------------------------------------------- */

int sis_record_format(const sis_record *record, int with_trace, char **line, size_t *n) {
    *line = NULL;
    *n = 0;
    int code = check_record(record, SIS_E_ARGUMENT);
    if (code != SIS_OK)
        return code;
    sis__buf b;
    sis__buf_init(&b);
    sis__fields f = {.out = &b, .ctx = &(passing){record, with_trace}};
    sis__buf_char(&b, '{');
    sis__json_count(&b, "sis", FORMAT);
    pass_record(&f, (sis_record *)(uintptr_t)record);
    sis__buf_str(&b, "}\n");
    return sis__buf_give(&b, line, n);
}

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
    sis__field_count(f, "sis", &version, SIS__REQUIRED);
    if (f->code != SIS_OK)
        return;
    if (version == 1)
        f->code = upgrade_version_1(record);
    else if (version != FORMAT)
        f->code = sis__fail(SIS_E_FORMAT,
                            "field \"sis\": version %zu of the format; this program reads 1 and %d",
                            version, FORMAT);
}

/* The claims of the method about its subsets. */
static sis_claim claim_of(const sis_record *r) {
    if (!r->question.constraint || strcmp(r->question.method, "gradient") == 0)
        return SIS_CLAIM_MINIMAL;
    return strcmp(r->question.constraint, "sufficient") == 0 ? SIS_CLAIM_SUFFICIENT
                                                             : SIS_CLAIM_NOTHING;
}

int sis_record_parse(const char *line, size_t n, sis_record *out) {
    json_t *root;
    *out = (sis_record){0};
    int code = sis__json_read(line, n, "a record", &root);
    if (code != SIS_OK)
        return code;
    sis__fields f = {.object = root, .ctx = &(passing){out, 1}};
    if (!json_is_object(root))
        f.code = sis__fail(SIS_E_FORMAT, "not a record: expected a JSON object, found a list");
    take_version(&f, root);
    if (f.code == SIS_OK)
        pass_record(&f, out);
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

void sis_record_release(sis_record *record) {
    if (!record)
        return;
    sis__fields f = {.releasing = 1, .ctx = &(passing){record, 1}};
    pass_question(&f, record);
    pass_attributions(&f, record);
    pass_drawing(&f, record);
    pass_prompted(&f, record);
    sis__field_json(&f, "provenance", &record->provenance);
    free((void *)(uintptr_t)record->drawing.by_feature);
    free((void *)(uintptr_t)record->completeness);
    free((void *)(uintptr_t)record->prompted);
    sis_guarantee *g = (sis_guarantee *)(uintptr_t)record->guarantee;
    if (g)
        sis_guarantee_release(g);
    free(g);
    sis_collection_release(&record->collection);
    *record = (sis_record){0};
}
