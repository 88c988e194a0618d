/* SPDX-License-Identifier: MIT
 *
 * Plots of y over x: scatter, where places with many points darken, and bundles of lines.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/plot.h"

enum { DOTS_MOST = 5000, LINES_MOST = 150 };

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
        sis__pen_text(f->pen, anchor == SIS__END ? f->right - 4 : f->left + 4, y - 5,
                      a->marks[i].text, (sis__letters){11, anchor, SIS__INK, 0, 0});
    }
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
    sis__frame f = {
        .pen = p,
        .x = sis__axis_fit(a->x_label, a->whole ? fmin(0, x.low) : x.low, x.high, 8, a->whole),
        .y = sis__axis_fit(a->y_label, y.low, y.high, 6, 0)};
    sis__frame_draw(&f, sis__legend_height(a));
    double opacity = fmax(0.08, fmin(0.7, 12 / sqrt((double)n + 1)));
    size_t stride = 1 + n / DOTS_MOST;
    for (size_t k = 0; k < a->n; k++)
        for (size_t i = 0; i < a->series[k].x.n; i += stride)
            sis__pen_dot(p, sis__frame_x(&f, a->series[k].x.items[i]),
                         sis__frame_y(&f, a->series[k].y.items[i]), 3,
                         (sis__ink){.colour = sis__series_colour(k), .opacity = opacity});
    draw_levels(&f, a, SIS__END);
    sis__legend_draw(p, a, f.left);
    return SIS_OK;
}

/* ---- Bundles --------------------------------------------------------------------------------- */

enum { MEDIAN_POINTS = 101 };

/* The value of a line at a share of its length, between its points by proportion. */
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
    sis__frame f = {.pen = p,
                    .x =
                        sis__axis_fit(a->x_label, fmin(a->from, a->to), fmax(a->from, a->to), 5, 0),
                    .y = sis__axis_fit(a->y_label, y.low, y.high, 6, 0)};
    if (a->from > a->to) {
        f.x.low = a->from;
        f.x.high = a->to;
    }
    sis__frame_draw(&f, 0);
    size_t stride = 1 + (a->n - 1) / LINES_MOST;
    double opacity = fmax(0.12, fmin(0.6, 4 / sqrt((double)(a->n / stride) + 1)));
    for (size_t k = 0; code == SIS_OK && k < a->n; k += stride)
        if (a->series[k].y.n > 1)
            code = draw_line(&f, a, &a->series[k].y, opacity);
    if (code == SIS_OK && a->n > 2)
        code = draw_median(&f, a);
    draw_levels(&f, a, SIS__START);
    return code;
}
