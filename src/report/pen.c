/* SPDX-License-Identifier: MIT
 *
 * Shared by all pens: colours, shorthand, and estimates of text width.
 */
#include "report/pen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The palette of Okabe and Ito, without yellow (illegible on white) and black (used for ink). */
const unsigned char *sis__colour_rgb(int colour) {
    static const unsigned char table[][3] = {
        [SIS__INK] = {28, 30, 34},        [SIS__SOFT] = {92, 99, 110},
        [SIS__RULE] = {226, 227, 223},    [SIS__PAPER] = {255, 255, 255},
        [SIS__FIRST + 0] = {0, 114, 178}, [SIS__FIRST + 1] = {213, 94, 0},
        [SIS__FIRST + 2] = {0, 158, 115}, [SIS__FIRST + 3] = {204, 121, 167},
        [SIS__FIRST + 4] = {230, 159, 0}, [SIS__FIRST + 5] = {86, 180, 233},
    };
    return table[colour];
}

/* The width of a character of a common sans serif font, relative to its size. */
static double letter_width(unsigned char c) {
    if (c >= 0xE2)
        return 1.0;
    if (strchr("mwMW", c))
        return 0.85;
    if (c >= 'A' && c <= 'Z')
        return 0.7;
    return strchr("il.", c) ? 0.3 : 0.56;
}

double sis__text_width(const char *text, double size) {
    double width = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s; s++)
        if ((*s & 0xC0) != 0x80)
            width += letter_width(*s);
    return width * size;
}

void sis__text_fit(char *text, size_t room, double size, double width) {
    static const char ellipsis[] = "\xE2\x80\xA6";
    size_t n = strlen(text);
    if (sis__text_width(text, size) <= width)
        return;
    while (n > 0 && (n + sizeof ellipsis > room ||
                     sis__text_width(text, size) + sis__text_width(ellipsis, size) > width)) {
        while (--n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
            continue;
        text[n] = '\0';
    }
    snprintf(text + n, room - n, "%s", ellipsis);
}

int sis__pen_finish(sis__pen *p, sis__buf *out) {
    int code = p->error ? p->error : p->ops->finish(p, out);
    p->ops->free(p);
    return code;
}

void sis__pen_path(sis__pen *p, const double *xy, size_t n, sis__ink ink) {
    if (!p->error && n > 1)
        p->ops->line(p, xy, n, &ink);
}

void sis__pen_line(sis__pen *p, double x1, double y1, double x2, double y2, sis__ink ink) {
    double xy[] = {x1, y1, x2, y2};
    sis__pen_path(p, xy, 2, ink);
}

void sis__pen_shape(sis__pen *p, const double *xy, size_t n, sis__ink ink) {
    if (!p->error && n > 2)
        p->ops->area(p, xy, &n, 1, &ink);
}

void sis__pen_rect(sis__pen *p, double x, double y, double w, double h, sis__ink ink) {
    double xy[] = {x, y, x + w, y, x + w, y + h, x, y + h};
    sis__pen_shape(p, xy, 4, ink);
}

void sis__pen_dot(sis__pen *p, double x, double y, double r, sis__ink ink) {
    if (!p->error)
        p->ops->dot(p, x, y, r, &ink);
}

void sis__pen_text(sis__pen *p, double x, double y, const char *text, sis__letters letters) {
    letters.size = letters.size > 0 ? letters.size : 12;
    if (!p->error)
        p->ops->text(p, x, y, text, &letters);
}
