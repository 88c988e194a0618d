/* SPDX-License-Identifier: MIT
 *
 * Plots of y over x: scatter plots, with density where crowded; many lines.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/plot.h"

enum { DOTS_MAX = 5000, LINES_MAX = 150, CROWD = 1000, ACROSS = 48, DOWN = 28, FEW = 2 };

typedef struct {
    double low, high;
} span;

static void stretch(span *s, double v) {
    s->low = fmin(s->low, v);
    s->high = fmax(s->high, v);
}

static void draw_levels(const sis__frame *f, const sis__plot *a, sis__anchor anchor) {
    for (size_t i = 0; i < a->n_marks; i++) {
        double y = sis__frame_y(f, a->marks[i].at);
        sis__pen_line(f->pen, f->left, y, f->right, y,
                      (sis__ink){.colour = SIS__INK, .width = 1.5, .dashed = 1});
        double by = y - 5 < f->top + 8 ? 13 : -5; /* below the line at the upper edge */
        sis__pen_text(f->pen, anchor == SIS__END ? f->right - 4 : f->left + 4, y + by,
                      a->marks[i].text, (sis__letters){11, anchor, SIS__INK, 0, 0});
    }
}

/* Integers from low to high, with room for a dot at both ends. */
static sis__plot_axis fit_whole(const char *label, span x) {
    double room = fmax(0.5, (x.high - x.low) / 40);
    if (!(x.low >= 0 && x.high < 1e9))
        return sis__plot_axis_fit(label, fmin(0, x.low), x.high, 8, 1);
    sis__plot_axis a = sis__plot_axis_fit(label, x.low - room, x.high + room, 8, 1);
    a.low = x.low - room;
    a.high = x.high + room;
    a.first = ceil(a.low / a.step - 1e-9) * a.step;
    return a;
}

/* ---- Scatter --------------------------------------------------------------------------------- */

/* The grid cell of a point. */
static size_t cell_of(const sis__frame *f, double x, double y) {
    double across = (sis__frame_x(f, x) - f->left) / (f->right - f->left) * ACROSS;
    double down = (sis__frame_y(f, y) - f->top) / (f->bottom - f->top) * DOWN;
    size_t column = (size_t)fmax(0, fmin(ACROSS - 1, across));
    return (size_t)fmax(0, fmin(DOWN - 1, down)) * ACROSS + column;
}

/* Draw dots. Integer dots that would overlap are placed side by side, within the distance to the
 * next integer. */
static void draw_dots(const sis__frame *f, const sis__plot *a, size_t n) {
    static const double STEP = 4.5;
    double opacity = fmax(0.08, fmin(0.7, 12 / sqrt((double)n + 1)));
    double room = a->whole ? 0.4 * (sis__frame_x(f, 1) - sis__frame_x(f, 0)) / STEP : 0;
    size_t stride = 1 + n / DOTS_MAX, side = (size_t)fmin(room, 20), counts[ACROSS * DOWN] = {0};
    for (size_t k = 0; k < a->n; k++)
        for (size_t i = 0; i < a->series[k].x.n; i += stride) {
            double x = a->series[k].x.items[i], y = a->series[k].y.items[i];
            size_t at = counts[cell_of(f, x, y)]++ % (2 * side + 1); /* 0, -1, 1, -2, 2 ... */
            double aside = (double)((at + 1) / 2) * (at % 2 ? -STEP : STEP);
            sis__pen_dot(f->pen, sis__frame_x(f, x) + aside, sis__frame_y(f, y), 3,
                         (sis__ink){.colour = sis__series_colour(k), .opacity = opacity});
        }
}

/* Draw crowded cells by their density, the other points as dots. */
static void draw_density(const sis__frame *f, const sis__series *s) {
    size_t counts[ACROSS * DOWN] = {0}, max = 0;
    double w = (f->right - f->left) / ACROSS, h = (f->bottom - f->top) / DOWN;
    for (size_t i = 0; i < s->x.n; i++) {
        size_t n = ++counts[cell_of(f, s->x.items[i], s->y.items[i])];
        max = n > max ? n : max;
    }
    for (size_t c = 0; c < ACROSS * DOWN; c++)
        if (counts[c] > FEW)
            sis__pen_rect(f->pen, f->left + w * (double)(c % ACROSS),
                          f->top + h * (double)(c / ACROSS), w, h,
                          (sis__ink){.colour = SIS__FIRST,
                                     .opacity = 0.2 + 0.8 * sqrt((double)counts[c] / (double)max)});
    for (size_t i = 0; i < s->x.n; i++)
        if (counts[cell_of(f, s->x.items[i], s->y.items[i])] <= FEW)
            sis__pen_dot(f->pen, sis__frame_x(f, s->x.items[i]), sis__frame_y(f, s->y.items[i]), 2,
                         (sis__ink){.colour = SIS__FIRST, .opacity = 0.6});
}

int sis__plot_scatter(sis__pen *p, const sis__plot *a) {
    span x = {INFINITY, -INFINITY}, y = {INFINITY, -INFINITY};
    size_t n = 0;
    for (size_t k = 0; k < a->n; k++)
        for (size_t i = 0; i < a->series[k].x.n; i++, n++) {
            stretch(&x, a->series[k].x.items[i]);
            stretch(&y, a->series[k].y.items[i]);
        }
    for (size_t i = 0; i < a->n_marks; i++)
        stretch(&y, a->marks[i].at);
    sis__frame f = {.pen = p,
                    .x = a->whole ? fit_whole(a->x_label, x)
                                  : sis__plot_axis_fit(a->x_label, x.low, x.high, 8, 0),
                    .y = sis__plot_axis_fit(a->y_label, y.low, y.high, 6, 0)};
    sis__frame_draw(&f, sis__legend_height(a));
    if (a->n == 1 && n > CROWD)
        draw_density(&f, &a->series[0]);
    else
        draw_dots(&f, a, n);
    draw_levels(&f, a, SIS__END);
    sis__legend_draw(p, a, f.left);
    return SIS_OK;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

enum { MEDIAN_POINTS = 101 };

/* The value of a line at a fraction of its length, by linear interpolation. */
static double value_at(const sis__numbers *v, double share) {
    double at = share * (double)(v->n - 1);
    size_t i = (size_t)at;
    double part = at - floor(at);
    return i + 1 < v->n ? v->items[i] * (1 - part) + v->items[i + 1] * part : v->items[v->n - 1];
}

static int draw_median(const sis__frame *f, const sis__plot *a) {
    double xy[2 * MEDIAN_POINTS];
    sis__numbers at = {0};
    for (int i = 0; i < MEDIAN_POINTS; i++) {
        at.n = 0;
        for (size_t k = 0; k < a->n; k++)
            if (a->series[k].y.n &&
                sis__numbers_add(&at, value_at(&a->series[k].y, i / (MEDIAN_POINTS - 1.0))))
                goto fail;
        sis__numbers_sort(&at);
        xy[2 * i] = sis__frame_x(f, a->from + (a->to - a->from) * i / (MEDIAN_POINTS - 1));
        xy[2 * i + 1] = sis__frame_y(f, sis__numbers_quantile(&at, 0.5));
    }
    sis__numbers_release(&at);
    sis__pen_path(f->pen, xy, MEDIAN_POINTS, (sis__ink){.colour = SIS__FIRST + 1, .width = 3});
    return SIS_OK;
fail:
    sis__numbers_release(&at);
    return SIS_E_NOMEM;
}

static int draw_line(const sis__frame *f, const sis__plot *a, const sis__numbers *v,
                     double opacity) {
    double *xy = SIS_NEW_RAW(double, 2 * v->n);
    if (!xy)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < v->n; i++) {
        xy[2 * i] = sis__frame_x(f, a->from + (a->to - a->from) * (double)i / (double)(v->n - 1));
        xy[2 * i + 1] = sis__frame_y(f, v->items[i]);
    }
    sis__pen_path(f->pen, xy, v->n, (sis__ink){.colour = SIS__FIRST, .opacity = opacity});
    free(xy);
    return SIS_OK;
}

int sis__plot_lines(sis__pen *p, const sis__plot *a) {
    span y = {INFINITY, -INFINITY};
    int code = SIS_OK;
    for (size_t k = 0; k < a->n; k++)
        for (size_t i = 0; i < a->series[k].y.n; i++)
            stretch(&y, a->series[k].y.items[i]);
    for (size_t i = 0; i < a->n_marks; i++)
        stretch(&y, a->marks[i].at);
    sis__frame f = {
        .pen = p,
        .x = sis__plot_axis_fit(a->x_label, fmin(a->from, a->to), fmax(a->from, a->to), 5, 0),
        .y = sis__plot_axis_fit(a->y_label, y.low, y.high, 6, 0)};
    if (a->from > a->to) {
        f.x.low = a->from;
        f.x.high = a->to;
    }
    sis__frame_draw(&f, 0);
    size_t stride = 1 + (a->n - 1) / LINES_MAX;
    double opacity = fmax(0.12, fmin(0.6, 4 / sqrt((double)(a->n / stride) + 1)));
    for (size_t k = 0; code == SIS_OK && k < a->n; k += stride)
        if (a->series[k].y.n > 1)
            code = draw_line(&f, a, &a->series[k].y, opacity);
    if (code == SIS_OK && a->n > 2 && !a->mixed)
        code = draw_median(&f, a);
    draw_levels(&f, a, SIS__START);
    return code;
}
