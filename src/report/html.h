/* SPDX-License-Identifier: MIT
 *
 * Writing HTML. All data reach a page through these functions, so that any text ends up as text
 * between tags or as a quoted attribute.
 */
#ifndef SIS_REPORT_HTML_H
#define SIS_REPORT_HTML_H

#include <stddef.h>

#include "base/buf.h"

/* Add HTML in the format of printf, whose arguments become text and numbers as a page shows them:
 *
 *     %s       escaped text; %.40s at most 40 characters
 *     %'zu     1,234,567; %zu, %d, %ld without commas
 *     %g       sis__html_number(); %.3g, %.1f as printf
 *     %%       a percent sign */
__attribute__((format(printf, 2, 3))) void sis__html(sis__buf *b, const char *format, ...);

/* Add escaped text, for use between tags or quotes. Invalid UTF-8 becomes U+FFFD; control
 * characters and those that change the text direction are shown as U+202E. */
void sis__html_text(sis__buf *b, const char *text);

/* The same, cut to `max` characters with an ellipsis. */
void sis__html_clip(sis__buf *b, const char *text, size_t max);

/* The name of a file without folders and ending, clipped. */
void sis__html_stem(sis__buf *b, const char *path, size_t max);

/* The text with the same replacements but no escapes, for output other than HTML. */
void sis__plain_text(sis__buf *b, const char *text);

/* "0.9123", "1.2e-07", "&gt;0.9999": four digits, six for large numbers; never 1 for less than
 * 1. */
void sis__html_number(sis__buf *b, double v);

/* "1,234,567" */
void sis__html_count(sis__buf *b, size_t n);

/* The plural ending: "%zu subset%s", n, sis__plural(n). */
static inline const char *sis__plural(size_t n) {
    return n == 1 ? "" : "s";
}

/* The bytes in base64. */
void sis__html_base64(sis__buf *b, const unsigned char *bytes, size_t n);

/* An image of width x height pixels, four bytes each (red, green, blue, opacity), as a PNG in a
 * data: URL. SIS_E_NOMEM or 0. */
int sis__html_png(sis__buf *b, const unsigned char *rgba, size_t width, size_t height);

#endif
