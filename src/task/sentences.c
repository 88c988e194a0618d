/* SPDX-License-Identifier: MIT
 *
 * Splits texts into sentences: after . ! ? and similar characters with closing quotes and brackets,
 * before white space; and at the end of a line. Not after an initial ("J. Smith"), a title ("Dr.
 * Who"), the number that begins a line ("1. Open it"), or before a lowercase letter ("approx.
 * three").
 */
#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "task/task.h"

static int ends_sentence(uint32_t c) {
    return c == '.' || c == '!' || c == '?' || c == 0x2026 || c == 0x3002 || c == 0xFF01 ||
           c == 0xFF1F || c == 0x061F || c == 0x06D4 || c == 0x0964 || c == 0x1362; /* Arabic, Urdu,
                                                                          * Hindi, Amharic */
}

static int closes(uint32_t c) {
    return c == '"' || c == '\'' || c == ')' || c == ']' || c == 0x201D || c == 0x2019 || c == 0xBB;
}

/* 1 if the letters that end at text[at], before a full stop, are an initial or a title. */
static int is_short(const char *text, size_t from, size_t at) {
    static const char *const titles[] = {"mr", "mrs", "ms", "dr", "st", "vs", "prof", "jr", "sr"};
    size_t start = at;
    while (start > from && sis__is_alpha(text[start - 1]))
        start--;
    size_t n = at - start;
    if (n == 1)
        return sis__is_upper(text[start]) != 0;
    for (size_t k = 0; k < sizeof titles / sizeof *titles; k++)
        if (n == strlen(titles[k]) && sis__same_start(text + start, titles[k], n))
            return 1;
    return 0;
}

/* Skip further stops and closing characters after text[at]. */
static size_t pass_stops(const char *text, size_t at) {
    uint32_t c;
    while (text[at]) {
        size_t step = sis__utf8_step(text + at, &c);
        if (!ends_sentence(c) && !closes(c))
            break;
        at += step;
    }
    return at;
}

/* 1 if only digits are between the start of the line and text[at]. */
static int is_number_of_line(const char *text, size_t at) {
    size_t start = at;
    while (start > 0 && text[start - 1] >= '0' && text[start - 1] <= '9')
        start--;
    size_t digits = at - start;
    while (start > 0 && (text[start - 1] == ' ' || text[start - 1] == '\t'))
        start--;
    return digits > 0 && digits < 4 && (start == 0 || text[start - 1] == '\n');
}

size_t sis_sentence_end(const char *text, size_t from) {
    uint32_t c;
    size_t at = from;
    for (size_t step; text[at] && text[at] != '\n'; at += step) {
        step = sis__utf8_step(text + at, &c);
        if (!ends_sentence(c) ||
            (c == '.' && (is_short(text, from, at) || is_number_of_line(text, at))))
            continue;
        size_t end = pass_stops(text, at), next = end;
        while (text[next] == ' ' || text[next] == '\t')
            next++;
        int wide = c >= 0x3002; /* written without blanks */
        if (wide || !text[end] || text[end] == '\n' ||
            (next > end && !(c == '.' && sis__is_lower(text[next]))))
            return end;
        step = end - at;
    }
    return text[at] ? at + 1 : at;
}
