/* SPDX-License-Identifier: MIT
 *
 * Parses numbers and prints excerpts. See cell.h. Most numbers in tables are short. With at most 15
 * digits and a power of ten up to 22, digits and power are both exact doubles, so one
 * multiplication or division gives the correctly rounded result. The C library parses all other
 * numbers.
 */
#include "data/cell.h"

#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"

enum { EXACT_DIGITS = 15, EXACT_POWER = 22, POWER_LIMIT = 100000 };

static const char *skip_blanks(const char *s) {
    while (*s == ' ' || *s == '\t')
        s++;
    return s;
}

int sis__cell_blank(const char *text) {
    return *skip_blanks(text) == '\0';
}

int sis__cell_missing_word(const char *text) {
    static const char *const none[] = {"nan", "na", "n/a", "null"};
    const char *s = skip_blanks(text);
    size_t n = strlen(s);
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    for (size_t k = 0; k < sizeof none / sizeof *none; k++)
        if (strlen(none[k]) == n && sis__same_start(s, none[k], n))
            return 1;
    return n == 0;
}

int sis__cell_missing(const char *text) {
    const char *s = skip_blanks(text);
    return sis__cell_missing_word(s) || (sis__same_start(s, "none", 4) && sis__cell_blank(s + 4));
}

int sis__cell_truth(const char *text) {
    const char *s = skip_blanks(text);
    if (sis__same_start(s, "true", 4) && sis__cell_blank(s + 4))
        return 1;
    return sis__same_start(s, "false", 5) && sis__cell_blank(s + 5) ? 0 : -1;
}

int sis__cell_decimal_comma(const char *text) {
    const char *s = skip_blanks(text);
    s += *s == '-' || *s == '+';
    size_t whole = strspn(s, "0123456789");
    if (s[whole] != ',')
        return 0;
    size_t decimals = strspn(s + whole + 1, "0123456789");
    return decimals > 0 && sis__cell_blank(s + whole + 1 + decimals);
}

/* Digits seen so far: their number, their value while it is exact, how many are decimals. */
typedef struct {
    size_t n;
    double value;
    int decimals;
} mantissa;

static const char *scan_digits(const char *s, mantissa *m, int decimals) {
    for (; sis__is_digit(*s); s++) {
        m->value = m->value * 10 + (*s - '0');
        m->n++;
        if (decimals && m->decimals < POWER_LIMIT)
            m->decimals++;
    }
    return s;
}

/* Scan an exponent such as "e-7"; NULL if it is incomplete. */
static const char *scan_power(const char *s, int *power) {
    int negative = s[1] == '-', value = 0;
    s += s[1] == '-' || s[1] == '+' ? 2 : 1;
    if (!sis__is_digit(*s))
        return NULL;
    for (; sis__is_digit(*s); s++)
        if (value < POWER_LIMIT)
            value = value * 10 + (*s - '0');
    *power = negative ? -value : value;
    return s;
}

int sis__cell_number(const char *text, double *out) {
    static const double tens[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *start = skip_blanks(text), *s = start;
    int negative = *s == '-', power = 0;
    mantissa m = {0};
    s = scan_digits(*s == '-' || *s == '+' ? s + 1 : s, &m, 0);
    if (*s == '.')
        s = scan_digits(s + 1, &m, 1);
    if (m.n == 0)
        return 0;
    if (*s == 'e' || *s == 'E')
        s = scan_power(s, &power);
    if (!s || *skip_blanks(s) != '\0')
        return 0;
    power -= m.decimals;
    if (m.n > EXACT_DIGITS || power > EXACT_POWER || power < -EXACT_POWER) {
        *out = sis__number(start, NULL);
        return 1;
    }
    double v = power < 0 ? m.value / tens[-power] : m.value * tens[power];
    *out = negative ? -v : v;
    return 1;
}

/* Would a terminal interpret the byte at s instead of showing it? */
static int is_control(const unsigned char *s) {
    return *s < 0x20 || *s == 0x7F || (*s == 0xC2 && s[1] < 0xA0);
}

const char *sis__cell_excerpt(const char *text, char out[SIS__EXCERPT_SIZE]) {
    const unsigned char *s = (const unsigned char *)text;
    size_t n = 0, max = SIS__EXCERPT_SIZE - 4; /* "..." and the NUL */
    for (; *s && n < max; s++)
        out[n++] = is_control(s) ? '?' : (char)*s;
    if (*s) {
        while (n > 0 && (*s & 0xC0) == 0x80) /* not in the middle of a character */
            n--, s--;
        memcpy(out + n, "...", 3);
        n += 3;
    }
    out[n] = '\0';
    return out;
}

void sis__strings_add(sis__strings *list, const char *text) {
    sis__buf_add(&list->text, text, strlen(text) + 1);
    list->n++;
}

void sis__strings_release(sis__strings *list) {
    sis__buf_release(&list->text);
    list->n = 0;
}

const char **sis__strings_finish(sis__strings *list) {
    size_t table = list->n * sizeof(char *);
    char *block =
        sis__buf_error(&list->text) ? NULL : (char *)sis__alloc_raw(table + list->text.len, 1);
    const char **strings = (const char **)(void *)block;
    if (block && list->n) {
        char *text = (char *)memcpy(block + table, list->text.data, list->text.len);
        for (size_t i = 0; i < list->n; i++, text += strlen(text) + 1)
            strings[i] = text;
    }
    sis__strings_release(list);
    return strings;
}
