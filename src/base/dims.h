/* SPDX-License-Identifier: MIT
 *
 * Shapes of arrays as people read them.
 */
#ifndef SIS_BASE_DIMS_H
#define SIS_BASE_DIMS_H

#include <stddef.h>

enum { SIS__DIMS_TEXT = 128 };

/* "(3, 8, 8)"; a size of 0 is "any". */
void sis__dims_text(const size_t *dims, size_t rank, char text[SIS__DIMS_TEXT]);

#endif
