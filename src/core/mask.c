/* SPDX-License-Identifier: MIT
 *
 * Masks computed from a data set: feature means in one pass.
 */
#include <math.h>
#include <stdlib.h>

#include <sis/sis.h>

#include "base/mem.h"
#include "base/sum.h"

void sis_mean_add(sis_mean *means, const double *row, size_t n_values) {
    for (size_t i = 0; i < n_values; i++)
        if (!isnan(row[i])) {
            sis__sum_add(&means[i].high, &means[i].low, row[i]);
            means[i].n++;
        }
}

double sis_mean_get(const sis_mean *mean) {
    return mean->n ? sis__sum_mean(mean->high, mean->low, mean->n) : NAN;
}

int sis_mean_choose(const int *feature_of, size_t n_values, double *mean) {
    size_t n = 0;
    for (size_t v = 0; v < n_values; v++)
        n = feature_of[v] >= (int)n ? (size_t)feature_of[v] + 1 : n;
    size_t *best = SIS_NEW(size_t, n), *sizes = SIS_NEW(size_t, n);
    for (size_t v = 0; best && sizes && v < n_values; v++) {
        int k = feature_of[v];
        if (k >= 0 && (sizes[k]++ == 0 || mean[v] > mean[best[k]]))
            best[k] = v;
    }
    for (size_t v = 0; best && sizes && v < n_values; v++) {
        int k = feature_of[v];
        if (k >= 0 && sizes[k] > 1 && mean[v] == mean[v]) /* NaN stays */
            mean[v] = v == best[k];
    }
    int error = best && sizes ? SIS_OK : SIS_E_NOMEM;
    free(best);
    free(sizes);
    return error;
}
