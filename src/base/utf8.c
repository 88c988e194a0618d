/* SPDX-License-Identifier: MIT
 *
 * See utf8.h.
 */
#include "base/utf8.h"

/* Length of a character with this first byte; 0: not a first byte. */
static size_t length_of(unsigned char first) {
    return first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

size_t sis__utf8_next(const char *text, size_t n, uint32_t *c) {
    static const uint32_t min_code[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    size_t length = length_of(s[0]);
    uint32_t found = length == 1 ? s[0] : s[0] & (0x7Fu >> length);
    *c = SIS__UTF8_BAD;
    if (length == 0 || length > n || s[0] > 0xF4)
        return 1;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 1;
        found = found << 6 | (s[i] & 0x3Fu);
    }
    if (found < min_code[length] || found > 0x10FFFF || (found >= 0xD800 && found < 0xE000))
        return 1;
    *c = found;
    return length;
}

size_t sis__utf8_step(const char *s, uint32_t *c) {
    size_t n = 1; /* a NUL is not a continuation byte, so nothing after it is read */
    while (n < 4 && s[n - 1])
        n++;
    return sis__utf8_next(s, n, c);
}

size_t sis__utf8_check(const char *text, size_t n) {
    uint32_t c;
    for (size_t at = 0, length; at < n; at += length) {
        length = sis__utf8_next(text + at, n - at, &c);
        if (c == 0 || (c == SIS__UTF8_BAD && length == 1))
            return at;
    }
    return n;
}

int sis__utf8_same(const char *a, const char *b) {
    uint32_t x = 0, y = 0;
    while (*a && *b && x == y) {
        a += sis__utf8_step(a, &x);
        b += sis__utf8_step(b, &y);
    }
    return x == y && !*a && !*b;
}

size_t sis__utf8_put(uint32_t c, char text[4]) {
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        text[i] = (char)(0x80 | (c & 0x3F));
    text[0] = (char)(n == 1 ? c : c | (0xF00u >> n & 0xF0));
    return n;
}
