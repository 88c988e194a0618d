/* SPDX-License-Identifier: MIT
 *
 * Reads values of further network inputs, NAME=FILE or NAME=NUMBER, as tensors for sis_model_open.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/data.h>
#include <sis/files.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "task/task.h"

/* Floats hold integers up to 2^24 only; int64 holds all integers that doubles hold. */
static int are_whole(const double *v, size_t n) {
    const double max = 9007199254740992; /* 2^53 */
    for (size_t k = 0; k < n; k++)
        if (v[k] != floor(v[k]) || fabs(v[k]) > max)
            return 0;
    return 1;
}

/* Store numbers as the tensor's data; the network converts them to the type of the input. */
static int put_numbers(const double *v, size_t n, sis_net_tensor *t) {
    t->type = are_whole(v, n) ? SIS_NET_INTS : SIS_NET_FLOATS;
    int64_t *whole = t->type == SIS_NET_INTS ? SIS_NEW(int64_t, n + 1) : NULL;
    float *floats = t->type == SIS_NET_FLOATS ? SIS_NEW(float, n + 1) : NULL;
    for (size_t k = 0; k < n && (whole || floats); k++) {
        if (whole)
            whole[k] = (int64_t)v[k];
        else
            floats[k] = (float)v[k];
        if (floats && !isfinite(floats[k])) {
            free(floats);
            return sis__fail(SIS_E_ARGUMENT, "%g is out of range for an input", v[k]);
        }
    }
    t->data = whole ? (const void *)whole : floats;
    return t->data ? SIS_OK : SIS_E_NOMEM;
}

/* An array of any shape. */
static int read_npy(const char *path, sis_net_tensor *t) {
    sis_array a;
    int error = sis_array_read(path, &a);
    if (error)
        return error;
    t->shape.rank = a.rank;
    if (a.rank > SIS_NET_MAX_RANK)
        error = sis__fail(SIS_E_FORMAT, "%s: an array of %zu axes; expected at most %d", path,
                          a.rank, SIS_NET_MAX_RANK);
    else
        memcpy(t->shape.dims, a.dims, a.rank * sizeof *a.dims);
    if (!error)
        error = put_numbers(a.values, a.n, t);
    sis_array_release(&a);
    return error;
}

/* A whole data set as one tensor. */
static int read_rows(const char *path, sis_net_tensor *t) {
    sis_data *data;
    size_t rank = 0, n;
    int error = sis_data_read(path, NULL, &data);
    if (error)
        return error;
    const size_t *dims = sis_data_shape(data, 0, &rank);
    n = sis_data_count(data);
    if (!dims || rank + 1 > SIS_NET_MAX_RANK)
        error = sis__fail(SIS_E_FORMAT, "%s contains no array", path);
    t->shape.rank = rank + 1;
    t->shape.dims[0] = n;
    for (size_t d = 0; !error && d < rank; d++)
        t->shape.dims[d + 1] = dims[d];
    size_t width = error ? 0 : sis_data_width(data, 0);
    double *values = SIS_NEW(double, n *width + 1);
    if (!error && !values)
        error = SIS_E_NOMEM;
    for (size_t i = 0; i < n && !error; i++)
        error = sis_data_width(data, i) == width
                    ? sis_data_values(data, i, values + i * width)
                    : sis__fail(SIS_E_FORMAT, "%s: rows of different lengths", path);
    if (!error)
        error = put_numbers(values, n * width, t);
    free(values);
    sis_data_free(data);
    return error;
}

static int read_one(const char *text, sis_net_tensor *t) {
    const char *equals = strchr(text, '=');
    char *end;
    if (!equals || equals == text || !equals[1])
        return sis__fail(SIS_E_ARGUMENT, "%s: expected NAME=FILE or NAME=NUMBER", text);
    char *name = sis__strndup(text, (size_t)(equals - text));
    if (!name)
        return SIS_E_NOMEM;
    t->name = name;
    double number = sis__number(equals + 1, &end);
    int error = !*end                                   ? put_numbers(&number, 1, t)
                : sis__text_ends_in(equals + 1, ".npy") ? read_npy(equals + 1, t)
                                                        : read_rows(equals + 1, t);
    return error && error != SIS_E_NOMEM ? sis__fail_in(error, "--with %.60s", name) : error;
}

int sis__given_read(const char *const *texts, size_t n, sis_net_tensor **out) {
    int error = SIS_OK;
    *out = SIS_NEW(sis_net_tensor, n + 1);
    if (!*out)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n && !error; i++)
        error = read_one(texts[i], &(*out)[i]);
    return error;
}

void sis__given_free(sis_net_tensor *t, size_t n) {
    for (size_t i = 0; t && i < n; i++) {
        free((void *)(uintptr_t)t[i].name);
        free((void *)(uintptr_t)t[i].data);
    }
    free(t);
}
