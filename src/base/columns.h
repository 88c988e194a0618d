/* SPDX-License-Identifier: MIT
 *
 * How wide text is on a terminal: wide characters take two columns, combining ones and escape
 * sequences none.
 */
#ifndef SIS_BASE_COLUMNS_H
#define SIS_BASE_COLUMNS_H

#include <stddef.h>

size_t sis__columns(const char *text);

/* How many bytes of it, from the first, take at most so many columns. */
size_t sis__columns_fitting(const char *text, size_t most);

#endif
