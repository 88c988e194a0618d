/* SPDX-License-Identifier: MIT
 *
 * Rows of small images, drawn as squares: one area for each colour of an image, with runs of equal
 * pixels joined. To keep files small, colours are first rounded to sixteen levels per channel, an
 * invisible change. Images wider than 64 pixels are drawn with every second, third, ... pixel.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/plot.h"

enum { SIDE_MAX = 64 };
static const double CELL = 58, GAP = 6, HEAD = 22;

static double cell_of(const sis__pictures *a) {
    return a->cell > 0 ? a->cell : CELL;
}

static double name_width(const sis__pictures *a) {
    double width = 0;
    for (size_t i = 0; i < a->rows; i++)
        width = fmax(width, sis__text_width(a->row_names[i], 11));
    return width + 18;
}

void sis__pictures_size(const sis__pictures *a, double *width, double *height) {
    *width = ceil(name_width(a) + (double)a->columns * (cell_of(a) + GAP) + 8);
    *height = ceil(HEAD + (double)a->rows * (cell_of(a) + GAP) + 4);
}

/* ---- One image ------------------------------------------------------------------------------- */

/* The pixel on white, with its colour rounded. */
static unsigned rounded(const unsigned char *rgba) {
    unsigned out = 0;
    for (int c = 0; c < 3; c++) {
        unsigned v = (rgba[c] * rgba[3] + 255u * (255u - rgba[3])) / 255;
        out = out << 8 | (v + 8) / 17 * 17;
    }
    return out;
}

typedef struct {
    unsigned colour;
    size_t x, y, n; /* n equal pixels from x on */
} strip;

static int by_colour(const void *a, const void *b) {
    const strip *s = (const strip *)a, *t = (const strip *)b;
    if (s->colour != t->colour)
        return s->colour < t->colour ? -1 : 1;
    return s->y != t->y ? (s->y < t->y ? -1 : 1) : (s->x > t->x) - (s->x < t->x);
}

static size_t find_strips(const sis__picture *a, size_t stride, strip *out) {
    size_t n = 0;
    for (size_t y = 0; y * stride < a->height; y++)
        for (size_t x = 0; x * stride < a->width; x++) {
            unsigned c = rounded(a->rgba + 4 * (y * stride * a->width + x * stride));
            if (x > 0 && out[n - 1].colour == c)
                out[n - 1].n++;
            else
                out[n++] = (strip){c, x, y, 1};
        }
    qsort(out, n, sizeof *out, by_colour);
    return n;
}

/* Draw the strips of one colour as one area. */
static void draw_colour(sis__pen *p, const strip *s, size_t n, double *xy, size_t *parts) {
    unsigned char rgb[3] = {(unsigned char)(s->colour >> 16), (unsigned char)(s->colour >> 8),
                            (unsigned char)s->colour};
    sis__ink ink = {.rgb = rgb};
    for (size_t i = 0; i < n; i++)
        parts[i] = 4;
    if (!p->error)
        p->ops->area(p, xy, parts, n, &ink);
}

static int draw_picture(sis__pen *p, const sis__picture *a, double cell, double left, double top) {
    size_t longer = a->width > a->height ? a->width : a->height;
    size_t stride = 1 + (longer - 1) / SIDE_MAX, w = (a->width - 1) / stride + 1,
           h = (a->height - 1) / stride + 1;
    double unit = cell / (double)(w > h ? w : h);
    strip *strips = (strip *)sis__alloc_raw(w * h, sizeof *strips);
    double *xy = SIS_NEW_RAW(double, 8 * w * h);
    size_t *parts = SIS_NEW_RAW(size_t, w * h);
    int code = strips && xy && parts ? SIS_OK : SIS_E_NOMEM;
    size_t n = code == SIS_OK ? find_strips(a, stride, strips) : 0;
    for (size_t i = 0, same; i < n; i += same) {
        for (same = 0; i + same < n && strips[i + same].colour == strips[i].colour; same++) {
            const strip *s = &strips[i + same];
            double x1 = left + unit * (double)s->x, x2 = x1 + unit * (double)s->n;
            double y1 = top + unit * (double)s->y, y2 = y1 + unit;
            double corners[] = {x1, y1, x2, y1, x2, y2, x1, y2};
            memcpy(xy + 8 * same, corners, sizeof corners);
        }
        draw_colour(p, &strips[i], same, xy, parts);
    }
    free(strips);
    free(xy);
    free(parts);
    return code;
}

/* ---- All images ------------------------------------------------------------------------------ */

/* Draw a name above the columns from `first` up to `end`, or (0) to the edge of the paper. */
static void draw_head(sis__pen *p, const char *name, double left, size_t first, size_t end) {
    char text[80];
    double x = left + (double)first * (CELL + GAP);
    double right = end ? left + (double)end * (CELL + GAP) - 4 : p->width;
    if (!name)
        return;
    snprintf(text, sizeof text, "%s", name);
    sis__text_fit(text, sizeof text, 11, right - x);
    sis__pen_text(p, x, HEAD - 8, text, (sis__letters){11, SIS__START, SIS__SOFT, 0, 0});
}

int sis__plot_pictures(sis__pen *p, const sis__pictures *a) {
    double left = name_width(a), cell = cell_of(a);
    int code = SIS_OK;
    draw_head(p, a->first_name, left, 0, 1);
    draw_head(p, a->other_name, left, a->first_name != NULL, a->last_name ? a->last : 0);
    draw_head(p, a->last_name, left, a->last, 0);
    for (size_t i = 0; i < a->rows; i++)
        sis__pen_text(p, left - 10, HEAD + (double)i * (cell + GAP) + cell / 2 + 4, a->row_names[i],
                      (sis__letters){11, SIS__END, SIS__INK, 0, 0});
    for (size_t i = 0; code == SIS_OK && i < a->n; i++)
        code = draw_picture(p, &a->items[i], cell, left + (double)a->items[i].column * (cell + GAP),
                            HEAD + (double)a->items[i].row * (cell + GAP));
    return code;
}
