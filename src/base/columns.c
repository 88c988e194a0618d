/* SPDX-License-Identifier: MIT
 *
 * The width of text on a terminal.
 */
#include "base/columns.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

typedef struct {
    unsigned from, to;
} span;

static int within(unsigned c, const span *spans, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (c >= spans[i].from && c <= spans[i].to)
            return 1;
    return 0;
}

/* East Asian scripts and pictographs take two columns, combining marks none. */
static size_t columns_of(unsigned c) {
    static const span none[] = {
        {0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},    {0x64B, 0x65F},
        {0x1AB0, 0x1AFF}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064},  {0x20D0, 0x20FF},
        {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0x1F3FB, 0x1F3FF}};
    static const span two[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
                               {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
                               {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE4F},
                               {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                               {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
    if (within(c, none, sizeof none / sizeof *none))
        return 0;
    return within(c, two, sizeof two / sizeof *two) ? 2 : 1;
}

/* The length in bytes of the next character or colour sequence, and the columns it takes. */
static size_t step(const char *s, size_t *columns) {
    uint32_t c;
    *columns = 0;
    if (*s == 033 && s[1] == '[') {
        size_t n = 2 + strcspn(s + 2, "m");
        return n + (s[n] != 0);
    }
    size_t n = sis__utf8_step(s, &c);
    *columns = columns_of(c);
    return n;
}

size_t sis__columns(const char *text) {
    size_t n = 0, columns;
    for (; *text; n += columns)
        text += step(text, &columns);
    return n;
}

size_t sis__columns_fitting(const char *text, size_t max) {
    size_t used = 0, at = 0, columns;
    while (text[at]) {
        size_t n = step(text + at, &columns);
        used += columns;
        if (used > max)
            break;
        at += n;
    }
    return at;
}
