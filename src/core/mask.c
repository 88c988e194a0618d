/* SPDX-License-Identifier: MIT
 *
 * Masks made from a data set: feature means in one pass, and hot-deck samples.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "core/core.h"

void sis_mean_add(double *mean, const double *row, size_t n_values, size_t number) {
    for (size_t i = 0; i < n_values; i++)
        mean[i] += (row[i] - mean[i]) / (double)number;
}

int sis_mask_hotdeck(const double *rows, size_t n_rows, const sis_input *shape, size_t n_samples,
                     uint64_t seed, double *mask) {
    if (n_rows == 0 || n_samples == 0)
        return sis__fail(SIS_E_ARGUMENT, "a hot-deck mask needs at least one row and one sample");
    long n = sis_input_features(shape);
    if (n < 0)
        return (int)n;
    size_t width = shape->n_values;
    size_t *donor = SIS_NEW(size_t, (size_t)n);
    if (!donor)
        return SIS_E_NOMEM;
    sis__rng r;
    sis__rng_init(&r, seed);
    for (size_t s = 0; s < n_samples; s++) {
        for (size_t i = 0; i < (size_t)n; i++)
            donor[i] = sis__rng_below(&r, n_rows);
        for (size_t v = 0; v < width; v++) {
            int f = shape->feature_of ? shape->feature_of[v] : (int)v;
            mask[s * width + v] = rows[(f < 0 ? 0 : donor[f]) * width + v];
        }
    }
    free(donor);
    return SIS_OK;
}
