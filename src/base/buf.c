/* SPDX-License-Identifier: MIT
 *
 * Growing byte strings, and the two encodings that all output needs: numbers that read back
 * unchanged, and JSON strings.
 */
#include "base/buf.h"
#include "base/number.h"

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

/* Neither a control character (C0, DEL, C1) nor a mark that changes the direction of text. */
static int is_safe(uint32_t c) {
    return c >= 0x20 && (c < 0x7F || c >= 0xA0) && (c < 0x202A || c > 0x202E) &&
           (c < 0x2066 || c > 0x2069);
}

void sis__buf_safe(sis__buf *b, const char *text) {
    uint32_t c;
    for (size_t n; *text; text += n) {
        n = sis__utf8_step(text, &c);
        int bad = c == SIS__UTF8_BAD && n == 1;
        if (!bad && is_safe(c))
            sis__buf_add(b, text, n);
        else
            sis__buf_char(b, '?');
        while (bad && ((unsigned char)text[n] & 0xC0) == 0x80) /* one "?" per character */
            n++;
    }
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

/* Make room for n more bytes and the NUL. */
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

static void add_format(sis__buf *b, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int n = sis__vformat(NULL, 0, format, args);
    if (n >= 0 && room(b, (size_t)n) == SIS_OK) {
        sis__vformat(b->data + b->len, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void sis__buf_printf(sis__buf *b, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_format(b, format, args);
    va_end(args);
}

char *sis__buf_text(const char *format, ...) {
    sis__buf b = {0};
    va_list args;
    va_start(args, format);
    add_format(&b, format, args);
    va_end(args);
    return b.data;
}

/* ---- Numbers ---------------------------------------------------------------------------------
 *
 * A number is written with the fewest digits (15, 16 or 17) that read back as the same number, in
 * the format of printf's %g. Most numbers need no printf: m * 2^e times a power of ten is an exact
 * integer, shifted, and 128 bits hold it. */

typedef struct {
    uint64_t high, low;
} wide;

static wide multiply(uint64_t a, uint64_t b) {
    const uint64_t half = UINT32_MAX;
    uint64_t low = (a & half) * (b & half);
    uint64_t one = (a >> 32) * (b & half) + (low >> 32);
    uint64_t other = (a & half) * (b >> 32) + (one & half);
    return (wide){(a >> 32) * (b >> 32) + (one >> 32) + (other >> 32), other << 32 | (low & half)};
}

/* The lowest n bits, and the bits above them, which fit 64 bits; n < 128. */
static wide low_bits(wide v, int n) {
    uint64_t mask = ((uint64_t)1 << n % 64) - 1;
    return n < 64 ? (wide){0, v.low & mask} : (wide){v.high & mask, v.low};
}

static uint64_t high_bits(wide v, int n) {
    return n < 64 ? v.low >> n | v.high << 1 << (63 - n) : v.high >> (n - 64);
}

enum { TENS_MIN = -11, TENS_MAX = 17, POWERS = 28 };

static const double tens[TENS_MAX - TENS_MIN + 1] = {
    1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0,  1e1,  1e2, 1e3,
    1e4,   1e5,   1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17};
static const uint32_t fives[] = {1,     5,      25,      125,     625,      3125,      15625,
                                 78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125};

/* 5^k, k < POWERS; fits 63 bits. */
static uint64_t power_of_five(int k) {
    return fives[k % 14] * (k >= 14 ? UINT64_C(6103515625) : 1);
}

/* The decimal exponent of v = m * 2^e; it may be off by one next to a power of ten. */
static int first_place(double v, int e) {
    int place = (int)floor((e + 52) * 0.30102999566398120);
    if (place + 1 <= TENS_MAX && place + 1 >= TENS_MIN && v >= tens[place + 1 - TENS_MIN])
        place++;
    return place;
}

/* m * 2^e rounded to n digits, the first of which stands for 10^place. Returns the digits as an
 * integer; 0 if they do not read back as m * 2^e; UINT64_MAX if they do not fit. */
static uint64_t round_digits(uint64_t m, int e, int place, int n) {
    int k = n - 1 - place, shift = -(e + k);
    if (k < 0 || k >= POWERS || shift < 1 || shift > 120)
        return UINT64_MAX;
    uint64_t five = power_of_five(k);
    wide product = multiply(m, five), rest = low_bits(product, shift);
    wide below = low_bits(product, shift - 1); /* the half */
    uint64_t digits = high_bits(product, shift), half = high_bits(product, shift - 1) & 1;
    int up = half && (below.high || below.low || digits & 1);
    if (up) /* 2^shift - rest */
        rest = low_bits((wide){~rest.high + !rest.low, 0 - rest.low}, shift);
    /* The next double is `five` away, which is odd. */
    return rest.high == 0 && rest.low <= five / 2 ? digits + (uint64_t)up : 0;
}

/* Writes n digits (no trailing zeros), the first of which stands for 10^place, as %g does. */
static void format_digits(const char *digits, int n, int place, char *to) {
    int small = place < 0 && place >= -4, zeros = small        ? -place - 1
                                                  : place >= n ? place + 1 - n
                                                               : 0;
    int point = small ? 0 : place < -4 ? 1 : place + 1; /* digits before the point */
    int whole = point < n ? point : n;
    if (small)
        *to++ = '0';
    memcpy(to, digits, (size_t)whole);
    to += whole;
    if (whole < n)
        *to++ = '.';
    memset(to, '0', (size_t)zeros);
    to += zeros;
    memcpy(to, digits + whole, (size_t)(n - whole));
    to += n - whole;
    if (place < -4)
        to += sprintf(to, "e-%02d", -place);
    *to = 0;
}

/* The last n digits of v, two per division. Returns 0 if v has more digits. */
static int split_digits(uint64_t v, int n, char *digits) {
    for (; n > 1; v /= 100) {
        unsigned two = (unsigned)(v % 100);
        digits[--n] = (char)('0' + two % 10);
        digits[--n] = (char)('0' + two / 10);
    }
    if (n == 1) {
        digits[0] = (char)('0' + v % 10);
        v /= 10;
    }
    return v == 0;
}

/* Returns 0 if v needs printf: a power of two, a large or tiny number, or one next to a power of
 * ten. */
static int write_digits(double v, char *text) {
    char digits[20];
    uint64_t bits, found = 0, hidden = (uint64_t)1 << 52;
    memcpy(&bits, &v, sizeof bits);
    uint64_t m = (bits & (hidden - 1)) | hidden;
    int e = (int)(bits >> 52 & 0x7FF) - 1075, n, place = first_place(fabs(v), e);
    if (m == hidden || fabs(v) < 1e-11)
        return 0;
    for (n = 15; n <= 17 && found == 0; n++)
        found = round_digits(m, e, place, n);
    if (found == 0 || found == UINT64_MAX)
        return 0;
    n--;
    if (!split_digits(found, n, digits) || digits[0] == '0')
        return 0;
    while (digits[n - 1] == '0')
        n--;
    *text = '-';
    format_digits(digits, n, place, text + (v < 0));
    return 1;
}

static void write_whole(double v, char *text) {
    char digits[20];
    int n = 0;
    for (uint64_t left = (uint64_t)fabs(v); n == 0 || left > 0; left /= 10)
        digits[n++] = (char)('0' + left % 10);
    if (v < 0)
        *text++ = '-';
    while (n > 0)
        *text++ = digits[--n];
    *text = 0;
}

void sis__buf_double(sis__buf *b, double v) {
    char text[40];
    if (isnan(v)) {
        sis__buf_str(b, "null");
        return;
    }
    if (isinf(v))
        v = v > 0 ? DBL_MAX : -DBL_MAX;
    int whole = v == floor(v) && fabs(v) < 1e15; /* most values of real data */
    if (whole)
        write_whole(v, text);
    if (whole || write_digits(v, text)) {
        sis__buf_str(b, text);
        return;
    }
    /* Any number of up to 15 digits reads back from 15, and %g drops trailing zeros. */
    for (int digits = 15; digits <= 17; digits++) {
        sis__format(text, sizeof text, "%.*g", digits, v);
        if (sis__number(text, NULL) == v)
            break;
    }
    sis__buf_str(b, text);
}

void sis__buf_escape(sis__buf *b, const char *text, size_t length) {
    static const char brevity[] = "\b\f\n\r\t"; /* have a short form in JSON */
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
