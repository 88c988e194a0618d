/* SPDX-License-Identifier: MIT
 *
 * Writing HTML. Data reach a page through these functions and no other way: whatever a text holds,
 * it ends up as text between tags, or between the quotes of an attribute.
 */
#ifndef SIS_REPORT_HTML_H
#define SIS_REPORT_HTML_H

#include <stddef.h>

#include "base/buf.h"

/* The text, for a place between tags or between quotes. Bytes that are no UTF-8 become U+FFFD;
 * control characters, and those that turn the direction of what follows, are shown as U+202E. */
void sis__html_text(sis__buf *b, const char *text);

/* The same, but at most `max` characters, then an ellipsis. */
void sis__html_clip(sis__buf *b, const char *text, size_t max);

/* The name of a file without its folders and its ending, clipped. */
void sis__html_stem(sis__buf *b, const char *path, size_t max);

/* The text as it is, mended in the same way, for what is not HTML. */
void sis__plain_text(sis__buf *b, const char *text);

/* "0.9123", "1.2e-07", "&gt;0.9999": four digits, six of
 * what is large, but never 1 for what is less. */
void sis__html_number(sis__buf *b, double v);

/* "1,234,567" */
void sis__html_count(sis__buf *b, size_t n);

/* "1 subset", "3 subsets" */
void sis__html_plural(sis__buf *b, size_t n, const char *noun);

/* The bytes in base 64. */
void sis__html_base64(sis__buf *b, const unsigned char *bytes, size_t n);

/* A picture of width x height pixels, four bytes each (red, green, blue, opacity), as the
 * address of a PNG that holds its own bytes. SIS_E_NOMEM or 0. */
int sis__html_png(sis__buf *b, const unsigned char *rgba, size_t width, size_t height);

#endif
