/* SPDX-License-Identifier: MIT
 *
 * A pen that writes SVG, with the same bytes on every machine. Coordinates have two decimals.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/number.h"
#include "report/html.h"
#include "report/pen.h"

typedef struct {
    sis__pen pen;
    int themed;
    sis__buf out;
} svg;

/* "12.5", "-0.25", "3"; values far off the paper are clamped. */
static void add_number(sis__buf *b, double v) {
    char text[32];
    double bounded = isnan(v) ? 0 : fmin(1e6, fmax(-1e6, v));
    int n = sis__format(text, sizeof text, "%.2f", bounded);
    while (text[n - 1] == '0')
        n--;
    n -= text[n - 1] == '.';
    if (n == 2 && text[0] == '-' && text[1] == '0')
        sis__buf_char(b, '0');
    else
        sis__buf_add(b, text, (size_t)n);
}

static void add_pair(sis__buf *b, char before, double x, double y) {
    sis__buf_char(b, before);
    add_number(b, x);
    sis__buf_char(b, ' ');
    add_number(b, y);
}

static void add_colour(svg *s, const char *attribute, int colour, const unsigned char *rgb) {
    static const char *const names[] = {"ink", "soft", "line", "card"};
    const unsigned char *c = rgb ? rgb : sis__colour_rgb(colour);
    if (!s->themed || rgb)
        sis__buf_printf(&s->out, " %s=\"#%02x%02x%02x\"", attribute, c[0], c[1], c[2]);
    else if (colour < SIS__FIRST)
        sis__buf_printf(&s->out, " %s=\"var(--%s)\"", attribute, names[colour]);
    else
        sis__buf_printf(&s->out, " %s=\"var(--c%d)\"", attribute, colour - SIS__FIRST);
}

static void add_opacity(svg *s, const char *attribute, double opacity) {
    if (opacity > 0 && opacity < 1) {
        sis__buf_printf(&s->out, " %s=\"", attribute);
        add_number(&s->out, opacity);
        sis__buf_char(&s->out, '"');
    }
}

static void draw_line(sis__pen *p, const double *xy, size_t n, const sis__ink *ink) {
    svg *s = (svg *)p;
    sis__buf_str(&s->out, "<path d=\"");
    for (size_t i = 0; i < n; i++)
        add_pair(&s->out, i ? 'L' : 'M', xy[2 * i], xy[2 * i + 1]);
    sis__buf_str(&s->out, "\" fill=\"none\"");
    add_colour(s, "stroke", ink->colour, ink->rgb);
    add_opacity(s, "stroke-opacity", ink->opacity);
    if (ink->width > 0 && ink->width != 1) {
        sis__buf_str(&s->out, " stroke-width=\"");
        add_number(&s->out, ink->width);
        sis__buf_char(&s->out, '"');
    }
    sis__buf_str(&s->out, ink->dashed ? " stroke-dasharray=\"5 4\"/>\n" : "/>\n");
}

static void draw_area(sis__pen *p, const double *xy, const size_t *parts, size_t n_parts,
                      const sis__ink *ink) {
    svg *s = (svg *)p;
    sis__buf_str(&s->out, "<path d=\"");
    for (size_t k = 0; k < n_parts; k++) {
        for (size_t i = 0; i < parts[k]; i++, xy += 2)
            add_pair(&s->out, i ? 'L' : 'M', xy[0], xy[1]);
        sis__buf_char(&s->out, 'z');
    }
    sis__buf_str(&s->out, n_parts > 1 ? "\" fill-rule=\"evenodd\"" : "\"");
    add_colour(s, "fill", ink->colour, ink->rgb);
    add_opacity(s, "fill-opacity", ink->opacity);
    sis__buf_str(&s->out, "/>\n");
}

static void draw_dot(sis__pen *p, double x, double y, double r, const sis__ink *ink) {
    svg *s = (svg *)p;
    sis__buf_str(&s->out, "<circle cx=\"");
    add_number(&s->out, x);
    sis__buf_str(&s->out, "\" cy=\"");
    add_number(&s->out, y);
    sis__buf_str(&s->out, "\" r=\"");
    add_number(&s->out, r);
    sis__buf_char(&s->out, '"');
    add_colour(s, "fill", ink->colour, ink->rgb);
    add_opacity(s, "fill-opacity", ink->opacity);
    sis__buf_str(&s->out, "/>\n");
}

static void draw_text(sis__pen *p, double x, double y, const char *text, const sis__letters *a) {
    static const char *const anchors[] = {"start", "middle", "end"};
    svg *s = (svg *)p;
    sis__buf_str(&s->out, "<text x=\"");
    add_number(&s->out, x);
    sis__buf_str(&s->out, "\" y=\"");
    add_number(&s->out, y);
    sis__buf_str(&s->out, "\" font-size=\"");
    add_number(&s->out, a->size);
    sis__buf_char(&s->out, '"');
    if (a->anchor != SIS__START)
        sis__buf_printf(&s->out, " text-anchor=\"%s\"", anchors[a->anchor]);
    if (a->bold)
        sis__buf_str(&s->out, " font-weight=\"600\"");
    if (a->upwards) {
        sis__buf_str(&s->out, " transform=\"rotate(-90");
        add_pair(&s->out, ' ', x, y);
        sis__buf_str(&s->out, ")\"");
    }
    add_colour(s, "fill", a->colour, NULL);
    sis__buf_char(&s->out, '>');
    sis__html_text(&s->out, text);
    sis__buf_str(&s->out, "</text>\n");
}

static int finish(sis__pen *p, sis__buf *out) {
    svg *s = (svg *)p;
    sis__buf_str(&s->out, "</svg>\n");
    if (sis__buf_error(&s->out) == SIS_OK)
        sis__buf_add(out, s->out.data, s->out.len);
    return sis__buf_error(&s->out) ? SIS_E_NOMEM : sis__buf_error(out);
}

static void free_pen(sis__pen *p) {
    sis__buf_release(&((svg *)p)->out);
    free(p);
}

int sis__pen_svg(double width, double height, const char *title, int themed, sis__pen **out) {
    static const sis__pen_ops ops = {draw_line, draw_area, draw_dot, draw_text, finish, free_pen};
    svg *s = SIS_NEW(svg, 1);
    *out = (sis__pen *)s;
    if (!s)
        return SIS_E_NOMEM;
    s->pen = (sis__pen){&ops, width, height, 0};
    s->themed = themed;
    sis__buf_init(&s->out);
    if (themed)
        sis__buf_printf(&s->out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", width,
                        height);
    else
        sis__buf_printf(&s->out,
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                        "viewBox=\"0 0 %.0f %.0f\" font-family=\"system-ui, sans-serif\">\n<title>",
                        width, height, width, height);
    sis__html_text(&s->out, title);
    sis__buf_str(&s->out, themed ? "\">\n" : "</title>\n");
    if (!themed)
        sis__pen_rect(*out, 0, 0, width, height, (sis__ink){.colour = SIS__PAPER});
    return SIS_OK;
}
