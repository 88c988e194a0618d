/* SPDX-License-Identifier: MIT
 *
 * A growing string of bytes, always followed by a NUL that is not counted. Errors are sticky: after
 * a failed allocation every call does nothing, and sis__buf_error() reports it.
 */
#ifndef SIS_BASE_BUF_H
#define SIS_BASE_BUF_H

#include <stddef.h>

typedef struct sis__buf {
    char *data;
    size_t len, cap;
    int error;
} sis__buf;

void sis__buf_init(sis__buf *b);
void sis__buf_release(sis__buf *b);
void sis__buf_clear(sis__buf *b); /* len = 0, memory kept */

void sis__buf_add(sis__buf *b, const void *bytes, size_t n);
void sis__buf_str(sis__buf *b, const char *s);
void sis__buf_char(sis__buf *b, char c);
void sis__buf_printf(sis__buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A new string, the caller's to free; NULL: no memory. */
char *sis__buf_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The shortest decimal that reads back as the same double. JSON has no infinity or NaN: infinity is
 * written as 1.7976931348623157e308 with its sign, NaN as null. */
void sis__buf_double(sis__buf *b, double v);

/* A JSON string with its quotes. Invalid UTF-8 becomes U+FFFD. */
void sis__buf_json(sis__buf *b, const char *s);

/* The content of a JSON string without quotes: at most n bytes, up to the first NUL. */
void sis__buf_escape(sis__buf *b, const char *s, size_t n);

/* Text for a terminal: control characters, marks that change the direction of text, and invalid
 * UTF-8 become "?". */
void sis__buf_safe(sis__buf *b, const char *text);

/* Hand the bytes over: the receiver free()s *data, and the buffer is empty again. After a failed
 * allocation returns SIS_E_NOMEM and sets *data to NULL. */
int sis__buf_give(sis__buf *b, char **data, size_t *n);

/* 0 or SIS_E_NOMEM. */
int sis__buf_error(const sis__buf *b);

#endif
