/* SPDX-License-Identifier: MIT
 *
 * Reads masks and feature maps from .npy files of any shape.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/data.h>
#include <sis/files.h>

#include "base/error.h"
#include "base/mem.h"
#include "data/npy.h"

int sis_array_read(const char *path, sis_array *out) {
    sis__packed stored;
    *out = (sis_array){0};
    int code = sis__npy_read(path, 0, &stored);
    if (code != SIS_OK)
        return code;
    if (stored.n > (size_t)1 << 28) {
        code = sis__fail(SIS_E_FORMAT, "%s: has %zu values; expected one example", path, stored.n);
        sis__packed_release(&stored);
        return code;
    }
    out->rank = stored.rank;
    out->n = stored.n;
    memcpy(out->dims, stored.dims, sizeof out->dims);
    out->values = SIS_NEW_RAW(double, stored.n);
    if (!out->values)
        code = SIS_E_NOMEM;
    else
        sis__packed_all(&stored, out->values);
    sis__packed_release(&stored);
    for (size_t i = 0; i < out->n && code == SIS_OK; i++)
        if (!isfinite(out->values[i]))
            code =
                sis__fail(SIS_E_FORMAT, "%s: value %zu is %s; every value must be a finite number",
                          path, i, isnan(out->values[i]) ? "NaN" : "infinite");
    if (code != SIS_OK)
        sis_array_release(out);
    return code;
}

void sis_array_release(sis_array *array) {
    if (!array)
        return;
    free(array->values);
    *array = (sis_array){0};
}

/* Are the features used[0..n) numbered without gaps, and is there one? */
static int check_gaps(const char *path, const unsigned char *used, size_t n) {
    size_t features = 0, largest = 0;
    for (size_t f = 0; f < n; f++)
        if (used[f]) {
            features++;
            largest = f;
        }
    if (features == 0)
        return sis__fail(SIS_E_FORMAT, "%s: every value is -1 (never masked); expected a feature",
                         path);
    for (size_t f = 0; f < largest; f++)
        if (!used[f])
            return sis__fail(
                SIS_E_FORMAT,
                "%s: no value belongs to feature %zu; features must be numbered from 0 "
                "to %zu without gaps",
                path, f, largest);
    return SIS_OK;
}

/* Without gaps, the largest feature is below the number of values. */
static int copy_map(const char *path, const sis_array *from, int *map) {
    unsigned char *used = SIS_NEW(unsigned char, from->n);
    int code = used ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; i < from->n && code == SIS_OK; i++) {
        double v = from->values[i];
        if (v != floor(v) || v < -1 || v >= (double)from->n || v > INT_MAX)
            code = sis__fail(SIS_E_FORMAT,
                             "%s: value %zu is %.17g; expected the number of a feature, 0 "
                             "to %zu, or -1 (never masked)",
                             path, i, v, from->n - 1);
        else if ((map[i] = (int)v) >= 0)
            used[map[i]] = 1;
    }
    if (code == SIS_OK)
        code = check_gaps(path, used, from->n);
    free(used);
    return code;
}

int sis_feature_map_read(const char *path, size_t n_values, int **map) {
    sis_array array;
    *map = NULL;
    int code = sis_array_read(path, &array);
    if (code != SIS_OK)
        return code;
    if (array.n != n_values)
        code =
            sis__fail(SIS_E_FORMAT,
                      "%s: a feature map of %zu numbers; expected one for each of the %zu values",
                      path, array.n, n_values);
    else if (!(*map = SIS_NEW(int, n_values)))
        code = SIS_E_NOMEM;
    else
        code = copy_map(path, &array, *map);
    if (code != SIS_OK) {
        free(*map);
        *map = NULL;
    }
    sis_array_release(&array);
    return code;
}
