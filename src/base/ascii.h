/* SPDX-License-Identifier: MIT
 *
 * Letters, digits and blanks of ASCII, the same in every locale. The C library's isalpha(),
 * tolower() and strcasecmp() follow the host program's setlocale(): in Turkish, "I" is not the
 * capital of "i".
 */
#ifndef SIS_BASE_ASCII_H
#define SIS_BASE_ASCII_H

#include <stddef.h>

static inline int sis__is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline int sis__is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

static inline int sis__is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

static inline int sis__is_alpha(char c) {
    return sis__is_upper(c) || sis__is_lower(c);
}

static inline int sis__is_alnum(char c) {
    return sis__is_alpha(c) || sis__is_digit(c);
}

static inline int sis__is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline char sis__lower(char c) {
    return sis__is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static inline char sis__upper(char c) {
    return sis__is_lower(c) ? (char)(c - 'a' + 'A') : c;
}

/* strncasecmp(a, b, n) == 0 */
static inline int sis__same_start(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (sis__lower(a[i]) != sis__lower(b[i]))
            return 0;
        else if (!a[i])
            return 1;
    return 1;
}

/* strcasecmp(a, b) == 0 */
static inline int sis__same_word(const char *a, const char *b) {
    return sis__same_start(a, b, (size_t)-1);
}

#endif
