/* SPDX-License-Identifier: MIT
 *
 * Character properties and normal forms by utf8proc; only this file uses the library. See
 * unicode.h. Normal forms are computed run by run: a character and its combining marks, because
 * composition and reordering never go beyond that (Hangul syllables are such runs, too). If the
 * number of characters in a run stays the same, each keeps its bytes; otherwise each stands for all
 * bytes of the run.
 */
#include "data/unicode.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

int sis__chars_add(sis__chars *list, uint32_t c, size_t start, size_t end) {
    int code = sis__reserve(&list->items, &list->room, list->n + 1, sizeof *list->items);
    if (code == SIS_OK)
        list->items[list->n++] = (sis__char){c, start, end};
    return code;
}

int sis__unicode_is_space(uint32_t c) {
    return (c >= 9 && c <= 13) || c == 0x85 || sis__unicode_class(c) == 'Z';
}

int sis__unicode_is_letter(uint32_t c) {
    return sis__unicode_class(c) == 'L';
}

#ifdef SIS_UTF8PROC

#include <utf8proc.h>

int sis__unicode_known(void) {
    return 1;
}

char sis__unicode_class(uint32_t c) {
    static const char letters[] = "CLLLLLMmmNNNPPPPPPPSSSSZZZCCCC";
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return (size_t)k < sizeof letters - 1 ? letters[k] : 'C';
}

int sis__unicode_is_number(uint32_t c) {
    return sis__unicode_class(c) == 'N';
}

int sis__unicode_is_word(uint32_t c) {
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NL) || k == UTF8PROC_CATEGORY_PC;
}

uint32_t sis__unicode_lower(uint32_t c) {
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
}

/* Does it combine with the character before it? */
static int continues(uint32_t c) {
    const utf8proc_property_t *p = utf8proc_get_property((utf8proc_int32_t)c);
    return p->combining_class != 0 || sis__unicode_class(c) == 'M' ||
           sis__unicode_class(c) == 'm' || (c >= 0x1160 && c <= 0x11FF);
}

enum { RUN_MAX = 64, DECOMPOSED_MAX = 18 }; /* of one character, in any normal form */

/* Add the normal form of a run of n characters, at most RUN_MAX, to `out`. */
static int normalize_run(const sis__char *run, size_t n, int compose, int compatible,
                         sis__chars *out) {
    utf8proc_int32_t text[RUN_MAX * DECOMPOSED_MAX];
    int kind = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
    utf8proc_ssize_t used = 0, max = (utf8proc_ssize_t)(sizeof text / sizeof *text);
    int last = 0, code = SIS_OK;
    for (size_t i = 0; i < n; i++) {
        utf8proc_ssize_t got = utf8proc_decompose_char((utf8proc_int32_t)run[i].c, text + used,
                                                       max - used, (utf8proc_option_t)kind, &last);
        used += got > 0 && got <= max - used ? got : 0;
    }
    /* insertion sort: marks are few and almost sorted */
    for (utf8proc_ssize_t i = 1; i < used; i++)
        for (utf8proc_ssize_t k = i; k > 0; k--) {
            int a = utf8proc_get_property(text[k - 1])->combining_class;
            int b = utf8proc_get_property(text[k])->combining_class;
            if (b == 0 || a <= b)
                break;
            utf8proc_int32_t c = text[k];
            text[k] = text[k - 1];
            text[k - 1] = c;
        }
    if (compose)
        used = utf8proc_normalize_utf32(
            text, used, (utf8proc_option_t)(UTF8PROC_COMPOSE | UTF8PROC_STABLE | kind));
    for (utf8proc_ssize_t i = 0; code == SIS_OK && i < used; i++) {
        int unchanged = (size_t)used == n;
        code = sis__chars_add(out, (uint32_t)text[i], run[unchanged ? i : 0].start,
                              run[unchanged ? (size_t)i : n - 1].end);
    }
    return code;
}

int sis__unicode_normalize(sis__chars *list, int compose, int compatible) {
    sis__chars out = {0};
    int code = SIS_OK;
    for (size_t i = 0, n; code == SIS_OK && i < list->n; i += n) {
        for (n = 1; i + n < list->n && n < RUN_MAX && continues(list->items[i + n].c);)
            n++;
        code = normalize_run(list->items + i, n, compose, compatible, &out);
    }
    if (code != SIS_OK) {
        free(out.items);
        return code;
    }
    free(list->items);
    *list = out;
    return SIS_OK;
}

#else

int sis__unicode_known(void) {
    return 0;
}

char sis__unicode_class(uint32_t c) {
    return c == ' ' ? 'Z' : c < 32 ? 'C' : 'L';
}

int sis__unicode_is_number(uint32_t c) {
    return c >= '0' && c <= '9';
}

int sis__unicode_is_word(uint32_t c) {
    return sis__unicode_is_letter(c);
}

uint32_t sis__unicode_lower(uint32_t c) {
    return c;
}

int sis__unicode_normalize(sis__chars *list, int compose, int compatible) {
    (void)list;
    (void)compose;
    (void)compatible;
    return sis__fail(SIS_E_UNSUPPORTED, "this build has no Unicode tables; install libutf8proc "
                                        "(Debian: libutf8proc-dev) and build again");
}

#endif
