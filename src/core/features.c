/* SPDX-License-Identifier: MIT
 *
 * From the feature map (value -> feature) to its inverse (feature -> values), which is what masking
 * needs, in compressed rows. Checks everything about an input that can be wrong, so that nothing
 * after this has to.
 */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "core/core.h"

/* The first number below n that no value has, or n. */
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
                             "the feature map gives value %zu the feature %d; expected -1 (never "
                             "masked) to %zu",
                             i, f, input->n_values - 1);
        if (f > largest)
            largest = f;
    }
    if (largest < 0)
        return sis__fail(SIS_E_ARGUMENT, "the feature map has no feature: every value is -1");
    long gap = first_gap(input, largest + 1);
    if (gap >= 0 && gap <= largest)
        return sis__fail(SIS_E_ARGUMENT,
                         "the feature map has %ld features but none of the values is feature %ld; "
                         "number features without gaps",
                         largest + 1, gap);
    return gap;
}

int sis_input_check(const sis_input *input, const sis_model *model) {
    if (!model->predict || model->n_outputs == 0)
        return sis__fail(SIS_E_ARGUMENT, "a model needs predict and n_outputs");
    if (!input->values || !input->mask)
        return sis__fail(SIS_E_ARGUMENT, "an input needs values and a mask");
    if (model->n_values && model->n_values != input->n_values)
        return sis__fail(SIS_E_ARGUMENT, "the model takes %zu values, the input has %zu",
                         model->n_values, input->n_values);
    if (input->output >= model->n_outputs)
        return sis__fail(SIS_E_ARGUMENT, "output %zu was asked for, the model has %zu (from 0)",
                         input->output, model->n_outputs);
    return SIS_OK;
}

/* Equal as inputs of a model: NaN, which some models read as "missing", equals NaN. */
static int equal(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static int feature_is_same(const sis__features *f, size_t i, const sis_input *in) {
    size_t samples = in->n_samples ? in->n_samples : 1;
    for (size_t s = 0; s < samples; s++)
        for (size_t k = f->start[i]; k < f->start[i + 1]; k++) {
            size_t v = f->value[k];
            if (!equal(in->values[v], in->mask[s * in->n_values + v]))
                return 0;
        }
    return 1;
}

/* Counting sort of the values by feature. */
static void invert(sis__features *f, const sis_input *in) {
    const int *map = in->feature_of;
    for (size_t v = 0; v < in->n_values; v++)
        if (!map || map[v] >= 0)
            f->start[(map ? (size_t)map[v] : v) + 1]++;
    for (size_t i = 0; i < f->n; i++)
        f->start[i + 1] += f->start[i];
    for (size_t v = in->n_values; v-- > 0;)
        if (!map || map[v] >= 0)
            f->value[--f->start[(map ? (size_t)map[v] : v) + 1]] = v;
    for (size_t i = 0; i < f->n; i++) /* each start now stands one place too far right */
        f->start[i] = f->start[i + 1];
    size_t total = 0;
    for (size_t v = 0; v < in->n_values; v++)
        total += !map || map[v] >= 0;
    f->start[f->n] = total;
}

int sis__features_init(sis__features *f, const sis_model *model, const sis_input *input) {
    *f = (sis__features){0};
    int error = sis_input_check(input, model);
    long n = error ? error : sis_input_features(input);
    if (n < 0)
        return (int)n;
    f->n = (size_t)n;
    f->start = SIS_NEW(size_t, f->n + 1);
    f->value = SIS_NEW(size_t, input->n_values);
    f->same = SIS_NEW(unsigned char, f->n);
    f->absent = SIS_NEW(unsigned char, f->n);
    if (!f->start || !f->value || !f->same || !f->absent) {
        sis__features_release(f);
        return SIS_E_NOMEM;
    }
    invert(f, input);
    for (size_t i = 0; i < f->n; i++) {
        f->same[i] = (unsigned char)feature_is_same(f, i, input);
        f->absent[i] = input->absent && input->absent[i];
    }
    return SIS_OK;
}

void sis__features_release(sis__features *f) {
    free(f->start);
    free(f->value);
    free(f->same);
    free(f->absent);
    *f = (sis__features){0};
}

int sis__example_fail(int code, const sis_input *inputs, size_t i, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (inputs[i].name)
        return sis__fail(code, "example %s: %s", inputs[i].name, text);
    return sis__fail(code, "example %zu: %s", i, text);
}
