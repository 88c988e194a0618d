/* SPDX-License-Identifier: MIT
 *
 * Masks made from a data set: feature means in one pass.
 */
#include <sis/sis.h>

void sis_mean_add(double *mean, const double *row, size_t n_values, size_t number) {
    for (size_t i = 0; i < n_values; i++)
        mean[i] += (row[i] - mean[i]) / (double)number;
}
