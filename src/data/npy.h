/* SPDX-License-Identifier: MIT
 *
 * Reads NumPy's .npy files in their stored type.
 */
#ifndef SIS_DATA_NPY_H
#define SIS_DATA_NPY_H

#include "data/packed.h"

/* Read the array in `path`; only the first `needed` elements of its first axis (sis__packed_read).
 * Release it; on failure there is nothing to release. */
int sis__npy_read(const char *path, size_t needed, sis__packed *out);

#endif
