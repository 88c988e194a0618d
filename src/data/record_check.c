/* SPDX-License-Identifier: MIT
 *
 * What a record must hold to be written or believed: features that exist, lists that are as long as
 * each other, numbers that are numbers. Whoever draws or counts a record may index with what it
 * says. Costs memory for one list of features at a time, whatever n_features claims.
 */
#include "data/record.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"
#include "data/packed.h"

/* ---- Lists --------------------------------------------------------------------------------- */

/* Is any of the n numbers there twice? *twice is it, or -1. */
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

/* Numbers from `least` to n_features - 1. */
static int check_range(const sis_record *r, int code, const char *field, const int *numbers,
                       size_t n, int least) {
    size_t n_features = r->collection.n_features;
    for (size_t i = 0; i < n; i++)
        if (numbers[i] < least || (numbers[i] >= 0 && (size_t)numbers[i] >= n_features))
            return sis__fail(code, "field \"%s\": %d is not one of the %zu features", field,
                             numbers[i], n_features);
    return SIS_OK;
}

/* Features, none of them twice. */
static int check_features(const sis_record *r, int code, const char *field, const int *features,
                          size_t n) {
    int twice, result = check_range(r, code, field, features, n, 0);
    if (result == SIS_OK)
        result = find_twice(features, n, &twice);
    if (result == SIS_OK && twice >= 0)
        result = sis__fail(code, "field \"%s\": feature %d is there twice", field, twice);
    return result;
}

static int check_finite(int code, const char *field, const double *numbers, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(numbers[i]))
            return sis__fail(code, "field \"%s\": number %zu is not finite", field, i);
    return SIS_OK;
}

/* Of values and masks NaN is a missing one. */
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

/* ---- The collection ------------------------------------------------------------------------ */

static int check_head(const sis_record *r, int code) {
    const sis_collection *c = &r->collection;
    int failed = c->status == SIS_STATUS_ERROR;
    if (!r->id || !r->model || !r->method)
        return sis__fail(code, "field \"%s\": is missing",
                         !r->id      ? "id"
                         : !r->model ? "model"
                                     : "method");
    if (r->output > PTRDIFF_MAX || c->evaluations > PTRDIFF_MAX)
        return sis__fail(code, "field \"%s\": is too large",
                         r->output > PTRDIFF_MAX ? "output" : "evaluations");
    if (r->n_outputs > PTRDIFF_MAX || (r->n_outputs && r->output >= r->n_outputs))
        return sis__fail(code, "field \"n_outputs\": output %zu is none of %zu", r->output,
                         r->n_outputs);
    if ((unsigned)c->status > SIS_STATUS_ERROR)
        return sis__fail(code, "field \"status\": there is no status %d", (int)c->status);
    if (!isfinite(r->threshold))
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

static int check_subset(const sis_record *r, int code, size_t k) {
    const sis_subset *s = &r->collection.subsets[k];
    char field[64];
    snprintf(field, sizeof field, "subsets[%zu].features", k);
    if (s->n == 0)
        return sis__fail(code, "field \"%s\": is empty; a subset has at least one feature", field);
    int result = check_features(r, code, field, s->features, s->n);
    snprintf(field, sizeof field, "subsets[%zu].order", k);
    if (result == SIS_OK)
        result = check_features(r, code, field, s->trace.order, s->trace.n);
    snprintf(field, sizeof field, "subsets[%zu].trace", k);
    for (size_t i = 0; i < s->trace.n && result == SIS_OK; i++)
        if (isnan(s->trace.scores[i]))
            result = sis__fail(code, "field \"%s\": score %zu is not a number", field, i);
    if (result == SIS_OK && isnan(s->score))
        result = sis__fail(code, "field \"subsets[%zu].score\": is not a number", k);
    return result;
}

static int check_subsets(const sis_record *r, int code) {
    const sis_collection *c = &r->collection;
    if ((c->status == SIS_STATUS_EXPLAINED) != (c->n_subsets > 0))
        return sis__fail(code, "field \"subsets\": expected %s with this status, found %zu",
                         c->n_subsets ? "none" : "at least one", c->n_subsets);
    if (c->n_subsets > 0 && isnan(c->rest_score))
        return sis__fail(code, "field \"rest_score\": is not a number");
    int result = SIS_OK;
    for (size_t k = 0; k < c->n_subsets && result == SIS_OK; k++)
        result = check_subset(r, code, k);
    return result;
}

/* ---- The drawing --------------------------------------------------------------------------- */

static int check_values(const sis_record *r, int code) {
    if (!r->values && (r->mask || r->feature_map || r->value_names))
        return sis__fail(code, "field \"%s\": there are no values it could belong to",
                         r->mask          ? "mask"
                         : r->feature_map ? "feature_map"
                                          : "value_names");
    if (r->values && r->n_values == 0)
        return sis__fail(code, "field \"values\": is empty");
    if (r->shape && (r->rank > SIS_RANK_MAX ||
                     (r->values && sis__packed_bytes(r->rank, r->shape, 1) != r->n_values)))
        return sis__fail(code, "field \"shape\": is not that of the %zu values", r->n_values);
    int result = check_values_finite(code, "values", r->values, r->values ? r->n_values : 0);
    if (result == SIS_OK)
        result = check_values_finite(code, "mask", r->mask, r->mask ? r->n_values : 0);
    return result;
}

/* What is held against n_features. */
static int check_by_feature(const sis_record *r, int code) {
    size_t n_features = r->collection.n_features;
    int result = SIS_OK;
    if (r->feature_map)
        result = check_range(r, code, "feature_map", r->feature_map, r->n_values, -1);
    else if (r->values)
        result = check_count(code, "values", r->n_values, n_features, "feature (no feature_map)");
    if (result == SIS_OK && r->attributions)
        result = check_count(code, "attributions", r->n_attributions, n_features, "feature");
    if (result == SIS_OK && r->names && r->n_names != r->n_values)
        result = check_count(code, "names", r->n_names, n_features, "feature");
    if (result == SIS_OK && r->words)
        result = check_count(code, "words", r->n_words, n_features, "feature");
    if (result == SIS_OK && r->sequence)
        result = check_count(code, "sequence", strlen(r->sequence), n_features, "feature");
    if (result == SIS_OK && r->human)
        result = check_features(r, code, "human", r->human, r->n_human);
    return result;
}

int sis__record_check(const sis_record *r, int code) {
    int result = check_head(r, code);
    if (result == SIS_OK)
        result = check_subsets(r, code);
    if (result == SIS_OK)
        result = check_values(r, code);
    if (result == SIS_OK && r->collection.n_features > 0)
        result = check_by_feature(r, code);
    return result;
}
