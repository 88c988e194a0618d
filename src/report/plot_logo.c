/* SPDX-License-Identifier: MIT
 *
 * Sequence logos. Letters are polygons in a unit square that are stretched to their share of a
 * column: SVG viewers stretch fonts differently, and glyphs do not fill their box.
 */
#include <math.h>

#include "report/plot.h"

/* ---- Letters --------------------------------------------------------------------------------- */

enum { ARC = 28, POINTS_MAX = 2 * ARC + 16 };

/* x from 0 to 1, y from 0 (top) to 1. */
typedef struct {
    double xy[2 * POINTS_MAX];
    size_t n, parts[2], n_parts;
} outline;

static void add(outline *o, double x, double y) {
    o->xy[2 * o->n] = x;
    o->xy[2 * o->n++ + 1] = y;
}

static void add_all(outline *o, const double *xy, size_t n) {
    for (size_t i = 0; i < n; i++)
        add(o, xy[2 * i], xy[2 * i + 1]);
    o->parts[o->n_parts++] = n;
}

static void letter_a(outline *o) {
    static const double outer[] = {0, 1, .38, 0, .62, 0, 1, 1, .8, 1, .71, .74, .29, .74, .2, 1};
    static const double inner[] = {.5, .17, .655, .58, .345, .58};
    add_all(o, outer, 8);
    add_all(o, inner, 3);
}

static void letter_t(outline *o) {
    static const double xy[] = {0, 0, 1, 0, 1, .18, .6, .18, .6, 1, .4, 1, .4, .18, 0, .18};
    add_all(o, xy, 8);
}

/* A ring open on the right: along the outer edge and back along the inner one. */
static void ring(outline *o, double from, double to) {
    for (int i = 0; i < ARC; i++) {
        double at = from + (to - from) * i / (ARC - 1);
        add(o, .5 + .5 * cos(at), .5 - .5 * sin(at));
    }
    for (int i = ARC - 1; i >= 0; i--) {
        double at = from + (to - from) * i / (ARC - 1);
        add(o, .5 + .3 * cos(at), .5 - .33 * sin(at));
    }
}

static void letter_c(outline *o) {
    ring(o, 0.75, 2 * acos(-1) - 0.75);
    o->parts[o->n_parts++] = o->n;
}

static void letter_g(outline *o) {
    ring(o, 0.75, 2 * acos(-1) - 0.55);
    o->parts[o->n_parts++] = o->n;
}

static void draw_bar_of_g(sis__pen *p, double x, double y, double w, double h, sis__ink ink) {
    static const double bar[] = {.55, .5, .96, .5, .96, .96, .78, .96, .78, .66, .55, .66};
    double xy[12];
    for (int i = 0; i < 6; i++) {
        xy[2 * i] = x + w * bar[2 * i];
        xy[2 * i + 1] = y + h * bar[2 * i + 1];
    }
    sis__pen_shape(p, xy, 6, ink);
}

/* Draw letter number 0..3 of ACGT in a box. */
static void draw_letter(sis__pen *p, int letter, double x, double y, double w, double h) {
    static void (*const outlines[])(outline *) = {letter_a, letter_c, letter_g, letter_t};
    static const int colours[] = {SIS__FIRST + 2, SIS__FIRST, SIS__FIRST + 4, SIS__FIRST + 1};
    outline o = {.n = 0};
    sis__ink ink = {.colour = colours[letter]};
    outlines[letter](&o);
    for (size_t i = 0; i < o.n; i++) {
        o.xy[2 * i] = x + w * o.xy[2 * i];
        o.xy[2 * i + 1] = y + h * o.xy[2 * i + 1];
    }
    if (!p->error)
        p->ops->area(p, o.xy, o.parts, o.n_parts, &ink);
    if (letter == 2)
        draw_bar_of_g(p, x, y, w, h, ink);
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* Bits: two minus the entropy minus the small-sample correction. */
static double information(const double *counts, double total) {
    double bits = 2 - 3 / (2 * log(2) * total);
    for (int b = 0; b < 4; b++)
        if (counts[b] > 0)
            bits += counts[b] / total * log2(counts[b] / total);
    return fmax(0, bits);
}

/* Draw the letters of a column, the rarest at the bottom, the most frequent on top. */
static void draw_column(const sis__frame *f, const double *counts, double x, double w) {
    double total = counts[0] + counts[1] + counts[2] + counts[3], bottom = 0;
    int order[4] = {0, 1, 2, 3};
    if (!(total > 0))
        return;
    for (int i = 1; i < 4; i++)
        for (int k = i; k > 0 && counts[order[k]] < counts[order[k - 1]]; k--) {
            int swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
    double bits = information(counts, total);
    for (int i = 0; i < 4; i++) {
        double height = bits * counts[order[i]] / total;
        double y1 = sis__frame_y(f, bottom + height), y2 = sis__frame_y(f, bottom);
        if (y2 - y1 > 0.5)
            draw_letter(f->pen, order[i], x, y1, w, y2 - y1);
        bottom += height;
    }
}

void sis__plot_logo(sis__pen *p, const double *counts, size_t n) {
    sis__frame f = {.pen = p,
                    .x = sis__plot_axis_fit("position", 1, (double)n, 10, 1),
                    .y = sis__plot_axis_fit("bits", 0, 2, 4, 0)};
    f.x.first = f.x.step > 1 ? f.x.step : 1;
    f.x.low = 0.5;
    f.x.high = (double)n + 0.5;
    sis__frame_draw(&f, 0);
    for (size_t i = 0; i < n; i++) {
        double x1 = sis__frame_x(&f, (double)i + 0.52), x2 = sis__frame_x(&f, (double)i + 1.48);
        draw_column(&f, counts + 4 * i, x1, x2 - x1);
    }
}
