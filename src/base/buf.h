/* SPDX-License-Identifier: MIT
 *
 * A growing string of bytes, always ended by a NUL that does not count. Errors stick: after an
 * allocation has failed every call is a no-op, and sis__buf_error() tells at the end.
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

/* The shortest decimal that reads back as the same double; infinity as 1.7976931348623157e308 with
 * its sign and NaN as null, because that is what JSON can say. */
void sis__buf_double(sis__buf *b, double v);

/* A JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void sis__buf_json(sis__buf *b, const char *s);

/* The inside of one: n bytes of a text that goes on or ends in NUL. */
void sis__buf_escape(sis__buf *b, const char *s, size_t n);

/* Text for a terminal: "?" in the place of control characters, marks that turn the direction of text,
 * and bytes that are no UTF-8. */
void sis__buf_safe(sis__buf *b, const char *text);

/* Hand the bytes over: *data is free()d by the receiver, and the buffer is empty again. After a
 * failure SIS_E_NOMEM and *data is NULL. */
int sis__buf_give(sis__buf *b, char **data, size_t *n);

/* 0 or SIS_E_NOMEM. */
int sis__buf_error(const sis__buf *b);

#endif
