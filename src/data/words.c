/* SPDX-License-Identifier: MIT
 *
 * Splits text into words. Letters are lowercased in place: in the alphabets covered here a letter
 * and its lower case have the same number of bytes in UTF-8, so offsets are the same in both texts.
 */
#include <stdlib.h>
#include <string.h>

#include <sis/text.h>

#include "base/error.h"
#include "base/mem.h"
#include "data/data.h"

/* ---- Lower case ---------------------------------------------------------------------------- */

/* The lower case of a two-byte character. */
static unsigned small_letter(unsigned c) {
    if ((c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9 && c != 0x3A2) ||
        (c >= 0x410 && c <= 0x42F))
        return c + 32;
    if (c >= 0x400 && c <= 0x40F)
        return c + 80;
    if (c == 0x178)
        return 0xFF;
    if ((c >= 0x100 && c <= 0x137 && c != 0x130 && c != 0x131) || (c >= 0x14A && c <= 0x177))
        return c | 1;
    if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E))
        return c + (c & 1);
    return c;
}

static void make_small(char *text) {
    for (unsigned char *s = (unsigned char *)text; *s; s++) {
        if (*s >= 'A' && *s <= 'Z')
            *s = (unsigned char)(*s + 32);
        if ((*s & 0xE0) != 0xC0 || (s[1] & 0xC0) != 0x80)
            continue;
        unsigned c = small_letter((unsigned)(*s & 0x1F) << 6 | (s[1] & 0x3F));
        *s = (unsigned char)(0xC0 | c >> 6);
        *++s = (unsigned char)(0x80 | (c & 0x3F));
    }
}

/* ---- Words --------------------------------------------------------------------------------- */

static int is_separator(char c) {
    return (unsigned char)c <= ' ' || c == 0x7F || strchr("!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~", c);
}

/* A lowercase copy of n bytes. */
static int begin(sis_words *w, const char *text, size_t n) {
    int code = sis__reserve(&w->lower, &w->lower_room, n + 1, 1);
    w->n = 0;
    if (code != SIS_OK)
        return code;
    memcpy(w->lower, text, n);
    w->lower[n] = '\0';
    make_small(w->lower);
    return SIS_OK;
}

static int add(sis_words *w, size_t start, size_t length) {
    int code = sis__reserve(&w->items, &w->items_room, w->n + 1, sizeof *w->items);
    if (code != SIS_OK)
        return code;
    w->lower[start + length] = '\0';
    w->items[w->n++] = (sis_word){w->lower + start, start, length};
    return SIS_OK;
}

int sis_words_split(const char *text, sis_words *words) {
    size_t n = strlen(text);
    int code = begin(words, text, n);
    for (size_t at = 0; at < n && code == SIS_OK;) {
        size_t start = at;
        while (at < n && !is_separator(text[at]))
            at++;
        if (at > start)
            code = add(words, start, at - start);
        at++;
    }
    return code;
}

int sis__words_given(const char *text, const int *lengths, size_t n, sis_words *words) {
    size_t at = 0, bytes = n ? n - 1 : 0;
    for (size_t i = 0; i < n; i++)
        bytes += (size_t)lengths[i];
    int code = begin(words, text, bytes);
    for (size_t i = 0; i < n && code == SIS_OK; i++) {
        code = add(words, at, (size_t)lengths[i]);
        at += (size_t)lengths[i] + 1;
    }
    return code;
}

void sis_words_release(sis_words *words) {
    free(words->items);
    free(words->lower);
    *words = (sis_words){0};
}
