/* SPDX-License-Identifier: MIT
 *
 * Shapes of arrays: as text, and whether one fits another.
 */
#ifndef SIS_BASE_DIMS_H
#define SIS_BASE_DIMS_H

#include <stddef.h>

enum { SIS__DIMS_TEXT = 128 };

/* Fit a shape to `wanted` (n axes, 0: any size) and write the result to `out`. Axes of size 1 may
 * be missing in the array or superfluous. SIS_E_ARGUMENT: it does not fit. */
int sis__dims_fit(const size_t *dims, size_t rank, const size_t *wanted, size_t n, size_t *out);

/* Sizes of a row of n values, from those that its model declares (negative: free). One free size takes what is
 * left; two are equal, as the sides of an image usually are. SIS_E_ARGUMENT: n values do not fit;
 * SIS_E_UNSUPPORTED: they do not say what the free sizes are. Sets no message. */
int sis__dims_row(const long long *declared, size_t rank, size_t n, size_t *out);

/* "(3, 8, 8)"; a size of 0 is "any". */
void sis__dims_text(const size_t *dims, size_t rank, char text[SIS__DIMS_TEXT]);

#endif
