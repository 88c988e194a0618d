/* SPDX-License-Identifier: MIT
 *
 * The width of text on a terminal: wide characters take two columns, combining characters and
 * escape sequences none.
 */
#ifndef SIS_BASE_COLUMNS_H
#define SIS_BASE_COLUMNS_H

#include <stddef.h>

size_t sis__columns(const char *text);

/* The length in bytes of the longest beginning of `text` that fits `max` columns. */
size_t sis__columns_fitting(const char *text, size_t max);

#endif
