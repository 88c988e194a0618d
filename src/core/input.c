/* SPDX-License-Identifier: MIT
 *
 * Inverts the feature map: from value -> feature to feature -> values (compressed rows), which
 * masking needs. Checks everything that can be wrong with an input, so that later code does not
 * have to. See input.h.
 */
#include "core/input.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/sized.h"
#include "core/core.h"

/* The lowest feature number below n that no value has, or n. */
static long first_gap(const sis_input *input, long n) {
    unsigned char *used = SIS_NEW(unsigned char, (size_t)n);
    if (!used)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < input->n_values; i++)
        if (input->feature_of[i] >= 0)
            used[input->feature_of[i]] = 1;
    long gap = 0;
    while (gap < n && used[gap])
        gap++;
    free(used);
    return gap;
}

long sis_input_features(const sis_input *input) {
    if (input->n_values == 0 || input->n_values > INT_MAX)
        return sis__fail(SIS_E_ARGUMENT, "an input must have 1 to %d values, not %zu", INT_MAX,
                         input->n_values);
    if (!input->feature_of)
        return (long)input->n_values;
    long largest = -1;
    for (size_t i = 0; i < input->n_values; i++) {
        int f = input->feature_of[i];
        if (f < -1 || (f >= 0 && (size_t)f >= input->n_values))
            return sis__fail(SIS_E_ARGUMENT,
                             "feature map: value %zu has feature %d; expected -1 (never "
                             "masked) to %zu",
                             i, f, input->n_values - 1);
        if (f > largest)
            largest = f;
    }
    if (largest < 0)
        return sis__fail(SIS_E_ARGUMENT,
                         "feature map: every value is -1 (never masked); expected at "
                         "least one feature");
    long gap = first_gap(input, largest + 1);
    if (gap >= 0 && gap <= largest)
        return sis__fail(SIS_E_ARGUMENT,
                         "feature map: of %ld features, feature %ld has no value; "
                         "number features without gaps",
                         largest + 1, gap);
    return gap;
}

int sis_input_check(const sis_input *input, const sis_model *model) {
    int error = sis__model_check(model);
    if (error == SIS_OK)
        error = SIS__RESERVED_CHECK(sis_input, input);
    if (error != SIS_OK)
        return error;
    if (!input->values || !input->mask)
        return sis__fail(SIS_E_ARGUMENT, "an input needs values and a mask");
    if (model->n_values && model->n_values != input->n_values)
        return sis__fail(SIS_E_ARGUMENT, "the model takes %zu values, but the input has %zu",
                         model->n_values, input->n_values);
    if (input->output >= model->n_outputs)
        return sis__fail(SIS_E_ARGUMENT, "no output %zu: the model has %zu, numbered from 0",
                         input->output, model->n_outputs);
    return SIS_OK;
}

/* Equal as inputs of a model: NaN, which some models read as "missing", equals NaN. */
static int equal(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* Sets `same` for a feature unless one of its values differs from the mask in some sample. */
static void compare_with_mask(sis__prepared_input *p, const sis_input *in) {
    memset(p->same, 1, p->n);
    for (size_t s = 0; s < p->n_samples; s++)
        for (size_t v = 0; v < p->n_values; v++)
            if (p->feature_of[v] >= 0 && !equal(in->values[v], in->mask[s * p->n_values + v]))
                p->same[p->feature_of[v]] = 0;
}

/* Counting sort of the values by feature. */
static void invert(sis__prepared_input *p) {
    const int *of = p->feature_of;
    for (size_t v = 0; v < p->n_values; v++)
        if (of[v] >= 0)
            p->start[of[v] + 1]++;
    for (size_t i = 0; i < p->n; i++)
        p->start[i + 1] += p->start[i];
    size_t total = p->start[p->n];
    for (size_t v = p->n_values; v-- > 0;)
        if (of[v] >= 0)
            p->value[--p->start[of[v] + 1]] = v;
    for (size_t i = 0; i < p->n; i++) /* the loop above moved each start right */
        p->start[i] = p->start[i + 1];
    p->start[p->n] = total;
}

static int allocate(sis__prepared_input *p, int single) {
    p->feature_of = SIS_NEW_RAW(int, p->n_values);
    p->start = SIS_NEW(size_t, p->n + 1);
    p->value = SIS_NEW_RAW(size_t, p->n_values);
    p->same = SIS_NEW_RAW(unsigned char, p->n);
    p->absent = SIS_NEW(unsigned char, p->n);
    if (single) {
        p->x = SIS_NEW_RAW(float, p->n_values);
        p->z = SIS_NEW_RAW(float, p->n_values);
    }
    return p->feature_of && p->start && p->value && p->same && p->absent &&
                   (!single || (p->x && p->z))
               ? SIS_OK
               : SIS_E_NOMEM;
}

int sis__prepared_input_init(sis__prepared_input *p, const sis_input *input, int single) {
    *p = (sis__prepared_input){0};
    long n = sis_input_features(input);
    if (n < 0)
        return (int)n;
    p->n = (size_t)n;
    p->n_values = input->n_values;
    p->n_samples = input->n_samples ? input->n_samples : 1;
    if (allocate(p, single) != SIS_OK) {
        sis__prepared_input_release(p);
        return SIS_E_NOMEM;
    }
    for (size_t v = 0; v < p->n_values; v++)
        p->feature_of[v] = input->feature_of ? input->feature_of[v] : (int)v;
    for (size_t i = 0; i < p->n && input->absent; i++)
        p->absent[i] = input->absent[i] != 0;
    invert(p);
    compare_with_mask(p, input);
    for (size_t v = 0; v < p->n_values && single; v++) {
        p->x[v] = (float)input->values[v];
        p->z[v] = (float)input->mask[v];
    }
    return SIS_OK;
}

void sis__prepared_input_release(sis__prepared_input *p) {
    free(p->feature_of);
    free(p->start);
    free(p->value);
    free(p->same);
    free(p->absent);
    free(p->x);
    free(p->z);
    *p = (sis__prepared_input){0};
}

void sis__prepared_input_row(const sis__prepared_input *p, const unsigned char *masked,
                             float *row) {
    memcpy(row, p->x, p->n_values * sizeof *row);
    for (size_t i = 0; i < p->n; i++)
        if (masked[i])
            sis__prepared_input_mask(p, (int)i, row);
}

void sis__prepared_input_mask(const sis__prepared_input *p, int feature, float *row) {
    for (size_t k = p->start[feature]; k < p->start[feature + 1]; k++)
        row[p->value[k]] = p->z[p->value[k]];
}

int sis__example_fail(int code, const sis_input *inputs, size_t i, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    sis__vformat(text, sizeof text, format, args);
    va_end(args);
    if (inputs[i].name)
        return sis__fail(code, "example %s: %s", inputs[i].name, text);
    return sis__fail(code, "example %zu: %s", i, text);
}
