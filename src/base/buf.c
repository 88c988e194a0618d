/* SPDX-License-Identifier: MIT
 *
 * Growing byte strings and the two encodings everything we write needs: numbers that read back as
 * themselves, and JSON strings.
 */
#include "base/buf.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

void sis__buf_init(sis__buf *b) {
    *b = (sis__buf){0};
}

void sis__buf_release(sis__buf *b) {
    free(b->data);
    *b = (sis__buf){0};
}

void sis__buf_clear(sis__buf *b) {
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

int sis__buf_error(const sis__buf *b) {
    return b->error;
}

int sis__buf_give(sis__buf *b, char **data, size_t *n) {
    int error = b->error;
    if (error != SIS_OK)
        sis__buf_release(b);
    *data = b->data;
    *n = b->len;
    *b = (sis__buf){0};
    return error;
}

/* Room for n more bytes and the NUL. */
static int room(sis__buf *b, size_t n) {
    if (b->error == SIS_OK)
        b->error = sis__reserve(&b->data, &b->cap, b->len + n + 1, 1);
    return b->error;
}

void sis__buf_add(sis__buf *b, const void *bytes, size_t n) {
    if (room(b, n) != SIS_OK)
        return;
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void sis__buf_str(sis__buf *b, const char *s) {
    sis__buf_add(b, s, strlen(s));
}

void sis__buf_char(sis__buf *b, char c) {
    sis__buf_add(b, &c, 1);
}

void sis__buf_printf(sis__buf *b, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n >= 0 && room(b, (size_t)n) == SIS_OK) {
        vsnprintf(b->data + b->len, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void sis__buf_double(sis__buf *b, double v) {
    char text[40];
    if (isnan(v)) {
        sis__buf_str(b, "null");
        return;
    }
    if (isinf(v))
        v = v > 0 ? DBL_MAX : -DBL_MAX;
    if (v == floor(v) && fabs(v) < 1e15) { /* most values of real data: whole numbers */
        snprintf(text, sizeof text, "%.0f", v == 0 ? 0.0 : v);
        sis__buf_str(b, text);
        return;
    }
    /* Any number of up to 15 digits reads back from 15, and %g drops the zeros at the end. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    char *comma = strchr(text, ','); /* the host program's locale is not JSON's */
    if (comma)
        *comma = '.';
    sis__buf_str(b, text);
}

void sis__buf_escape(sis__buf *b, const char *text, size_t length) {
    static const char brevity[] = "\b\f\n\r\t"; /* what JSON has a letter for */
    const char *s = text, *end = s + length, *brief;
    while (s < end) {
        uint32_t c;
        size_t n = sis__utf8_next(s, (size_t)(end - s), &c);
        if (c == SIS__UTF8_BAD) {
            sis__buf_str(b, "\xEF\xBF\xBD");
        } else if (*s == '"' || *s == '\\') {
            sis__buf_char(b, '\\');
            sis__buf_char(b, *s);
        } else if (*s && (brief = strchr(brevity, *s)) != NULL) {
            sis__buf_char(b, '\\');
            sis__buf_char(b, "bfnrt"[brief - brevity]);
        } else if (c < 0x20 || c == 0x7F) {
            sis__buf_printf(b, "\\u%04x", (unsigned)c);
        } else {
            sis__buf_add(b, s, n);
        }
        s += n;
    }
}

void sis__buf_json(sis__buf *b, const char *text) {
    sis__buf_char(b, '"');
    sis__buf_escape(b, text, strlen(text));
    sis__buf_char(b, '"');
}
