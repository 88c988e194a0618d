/* SPDX-License-Identifier: MIT
 *
 * Colours, and how wide text is.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"
#include "show.h"

enum { WIDEST = 400, NARROWEST = 24, USUAL = 80 };

static size_t width_of(FILE *out) {
    struct winsize w;
    const char *told = getenv("COLUMNS");
    long columns = told ? strtol(told, NULL, 10) : 0;
    if (columns <= 0 && isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &w) == 0)
        columns = w.ws_col;
    if (columns <= 0)
        columns = USUAL;
    return columns < NARROWEST ? NARROWEST : columns > WIDEST ? WIDEST : (size_t)columns;
}

void cli_page_init(cli_page *p, FILE *out) {
    const char *no = getenv("NO_COLOR");
    *p = (cli_page){
        .out = out, .colour = isatty(fileno(out)) && !(no && *no), .width = width_of(out)};
}

void cli_paint(const cli_page *p, const char *style, const char *format, ...) {
    va_list args;
    if (p->colour)
        fprintf(p->out, "\033[%sm", style);
    va_start(args, format);
    vfprintf(p->out, format, args);
    va_end(args);
    if (p->colour)
        fputs("\033[0m", p->out);
}

void cli_paint_text(const cli_page *p, const char *style, const char *word, const char *text) {
    if (p->colour)
        fprintf(p->out, "\033[%sm", style);
    fputs(word, p->out);
    cli_print_safe(p->out, text);
    if (p->colour)
        fputs("\033[0m", p->out);
}

int cli_subset_colour(size_t k, size_t rank, size_t n) {
    /* Orange, blue, green, yellow, red, purple: told apart by people who see fewer colours too. */
    static const unsigned char shades[][3] = {{208, 215, 223}, {39, 117, 153},  {35, 78, 157},
                                              {184, 227, 230}, {203, 210, 224}, {134, 177, 183}};
    return shades[k % (sizeof shades / sizeof *shades)][n ? 3 * rank / n : 0];
}

/* ---- Width --------------------------------------------------------------------------------- */

typedef struct {
    unsigned from, to;
} span;

static int within(unsigned c, const span *spans, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (c >= spans[i].from && c <= spans[i].to)
            return 1;
    return 0;
}

/* The scripts of East Asia and pictographs fill two columns; marks that join what is before
 * none. */
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

/* Bytes of the next character, or of a sequence that only sets a colour, and the columns it
 * fills. */
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

size_t cli_columns(const char *text) {
    size_t n = 0, columns;
    for (; *text; n += columns)
        text += step(text, &columns);
    return n;
}

size_t cli_fitting(const char *text, size_t most) {
    size_t used = 0, at = 0, columns;
    while (text[at]) {
        size_t n = step(text + at, &columns);
        used += columns;
        if (used > most)
            break;
        at += n;
    }
    return at;
}
