/* SPDX-License-Identifier: MIT
 *
 * Escapes text for HTML. One function serves text and attributes: it escapes all five characters
 * that are special in either. Scripts and styles contain no data except numbers.
 *
 * Characters that reverse the text direction could change what a page seems to say ("U+202E" before
 * "0.1"). They are shown as code points, and so are control characters.
 */
#include "report/html.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

/* ---- Text ------------------------------------------------------------------------------------ */

static int is_unseen(uint32_t c) {
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) ||
           (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x2028 ||
           c == 0x2029 || (c >= 0xFFFE && c <= 0xFFFF);
}

static void add_seen(sis__buf *b, uint32_t c, const char *bytes, size_t n) {
    if (c == SIS__UTF8_BAD)
        sis__buf_str(b, "\xEF\xBF\xBD");
    else if (is_unseen(c))
        sis__buf_printf(b, "[U+%04lX]", (unsigned long)c);
    else
        sis__buf_add(b, bytes, n);
}

static void add_character(sis__buf *b, uint32_t c, const char *bytes, size_t n) {
    switch (c) {
    case '&':
        sis__buf_str(b, "&amp;");
        break;
    case '<':
        sis__buf_str(b, "&lt;");
        break;
    case '>':
        sis__buf_str(b, "&gt;");
        break;
    case '"':
        sis__buf_str(b, "&quot;");
        break;
    case '\'':
        sis__buf_str(b, "&#39;");
        break;
    default:
        add_seen(b, c, bytes, n);
    }
}

void sis__html_clip(sis__buf *b, const char *text, size_t max) {
    uint32_t c;
    size_t length;
    for (size_t i = 0; *text; i++, text += length) {
        if (i == max) {
            sis__buf_str(b, "\xE2\x80\xA6");
            return;
        }
        length = sis__utf8_step(text, &c);
        add_character(b, c, text, length);
    }
}

void sis__html_text(sis__buf *b, const char *text) {
    sis__html_clip(b, text, SIZE_MAX);
}

void sis__plain_text(sis__buf *b, const char *text) {
    uint32_t c;
    for (size_t length; *text; text += length) {
        length = sis__utf8_step(text, &c);
        add_seen(b, c, text, length);
    }
}

/* ---- Numbers --------------------------------------------------------------------------------- */

void sis__html_number(sis__buf *b, double v) {
    if (isnan(v))
        sis__buf_str(b, "\xE2\x80\x93");
    else if (v > 0.9999 && v < 1) /* close to 1, but not 1 */
        sis__buf_str(b, "&gt;0.9999");
    else
        sis__buf_printf(b, "%s%.*g", v < 0 ? "\xE2\x88\x92" : "", fabs(v) < 1000 ? 4 : 6, fabs(v));
}

void sis__html_count(sis__buf *b, size_t n) {
    char digits[32];
    int used = 0;
    do {
        digits[used++] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    while (used > 0) {
        sis__buf_char(b, digits[--used]);
        if (used > 0 && used % 3 == 0)
            sis__buf_char(b, ',');
    }
}

/* ---- Formats --------------------------------------------------------------------------------- */

/* Add the next argument as this conversion says: its n bytes, from "%" to its letter. */
static void put(sis__buf *b, const char *conversion, size_t n, va_list *args) {
    char format[16], letter = conversion[n - 1], *precision;
    snprintf(format, sizeof format, "%.*s", (int)n, conversion);
    precision = strchr(format, '.');
    if (letter == 's')
        sis__html_clip(b, va_arg(*args, const char *),
                       precision ? strtoul(precision + 1, NULL, 10) : SIZE_MAX);
    else if (letter == 'u' && format[1] == '\'')
        sis__html_count(b, va_arg(*args, size_t));
    else if (letter == 'u')
        sis__buf_printf(b, "%zu", va_arg(*args, size_t));
    else if (letter == 'd')
        sis__buf_printf(b, "%ld", format[1] == 'l' ? va_arg(*args, long) : va_arg(*args, int));
    else if (letter == 'g' && !precision)
        sis__html_number(b, va_arg(*args, double));
    else if (letter == 'g')
        sis__buf_printf(b, "%.*g", atoi(precision + 1), va_arg(*args, double));
    else if (letter == 'f')
        sis__buf_printf(b, "%.*f", atoi(precision + 1), va_arg(*args, double));
    else
        sis__buf_char(b, letter);
}

void sis__html(sis__buf *b, const char *format, ...) {
    va_list args;
    va_start(args, format);
    for (const char *mark; (mark = strchr(format, '%'));) {
        size_t n = strspn(mark + 1, "'.0123456789zl") + 2;
        sis__buf_add(b, format, (size_t)(mark - format));
        put(b, mark, n, &args);
        format = mark + n;
    }
    sis__buf_str(b, format);
    va_end(args);
}

/* ---- Images ---------------------------------------------------------------------------------- */

void sis__html_base64(sis__buf *b, const unsigned char *bytes, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)bytes[i] << 16;
        v |= i + 1 < n ? (unsigned)bytes[i + 1] << 8 : 0;
        v |= i + 2 < n ? bytes[i + 2] : 0;
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63], digits[v & 63]};
        if (i + 2 >= n)
            four[3] = '=';
        if (i + 1 >= n)
            four[2] = '=';
        sis__buf_add(b, four, 4);
    }
}

/* An image with as few bytes per pixel as its colours need. */
typedef struct {
    png_image image;
    unsigned char *pixels; /* one byte each: grey, or palette index */
    unsigned char colours[256][4];
    size_t n_colours;
} packed;

static int is_grey(const unsigned char *rgba, size_t n) {
    for (size_t i = 0; i < n; i++, rgba += 4)
        if (rgba[3] != 255 || rgba[0] != rgba[1] || rgba[0] != rgba[2])
            return 0;
    return 1;
}

/* The palette index of the colour, added if new; 256 if there are too many. */
static size_t find_colour(packed *p, const unsigned char *rgba) {
    size_t k = 0;
    while (k < p->n_colours && memcmp(p->colours[k], rgba, 4) != 0)
        k++;
    if (k == p->n_colours && k < 256)
        memcpy(p->colours[p->n_colours++], rgba, 4);
    return k;
}

/* 1: the pixels are packed; 0: too many colours. */
static int pack(packed *p, const unsigned char *rgba, size_t n) {
    if (is_grey(rgba, n)) {
        p->image.format = PNG_FORMAT_GRAY;
        for (size_t i = 0; i < n; i++)
            p->pixels[i] = rgba[4 * i];
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        size_t k = find_colour(p, rgba + 4 * i);
        if (k == 256)
            return 0;
        p->pixels[i] = (unsigned char)k;
    }
    p->image.format = PNG_FORMAT_RGBA_COLORMAP;
    p->image.colormap_entries = (png_uint_32)p->n_colours;
    return 1;
}

int sis__html_png(sis__buf *b, const unsigned char *rgba, size_t width, size_t height) {
    packed p = {.image = {.version = PNG_IMAGE_VERSION,
                          .width = (png_uint_32)width,
                          .height = (png_uint_32)height,
                          .format = PNG_FORMAT_RGBA}};
    png_alloc_size_t n = PNG_IMAGE_PNG_SIZE_MAX(p.image);
    unsigned char *bytes = (unsigned char *)sis__alloc_raw(n, 1);
    p.pixels = (unsigned char *)sis__alloc_raw(width, height);
    int written = 0;
    if (bytes && p.pixels) {
        const void *pixels = pack(&p, rgba, width * height) ? p.pixels : rgba;
        written = png_image_write_to_memory(&p.image, bytes, &n, 0, pixels, 0, p.colours);
    }
    if (written) {
        sis__buf_str(b, "data:image/png;base64,");
        sis__html_base64(b, bytes, n);
    }
    free(bytes);
    free(p.pixels);
    return written ? sis__buf_error(b) : sis__fail(SIS_E_NOMEM, "out of memory");
}
