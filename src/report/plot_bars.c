/* SPDX-License-Identifier: MIT
 *
 * Bar charts with printed values; several series are side by side or stacked.
 */
#include <math.h>
#include <stdio.h>

#include "report/plot.h"

#include "base/number.h"

static const double NUMBER = 11;

static double value_of(const sis__plot *a, size_t series, size_t bar) {
    const sis__numbers *v = &a->series[series].x;
    return bar < v->n && v->items[bar] > 0 ? v->items[bar] : 0;
}

/* The height of the highest bar. */
static double find_highest(const sis__plot *a) {
    double highest = 0;
    for (size_t i = 0; i < a->n_bars; i++) {
        double sum = 0;
        for (size_t k = 0; k < a->n; k++) {
            double v = value_of(a, k, i);
            sum = a->stacked ? sum + v : v;
            highest = fmax(highest, sum);
        }
    }
    return highest;
}

static void number_text(const sis__plot *a, double v, char *text, size_t size) {
    if (a->percent)
        sis__format(text, size, a->stacked ? "%.0f %%" : "%.0f", v);
    else
        sis__format(text, size, "%.6g", v);
}

/* Draw a bar from `low` to low + v. The number is inside a stacked bar if it fits, else above the
 * bar. */
static void draw_bar(const sis__frame *f, const sis__plot *a, size_t series, double x, double half,
                     double low, double v) {
    double top = sis__frame_y(f, low + v), bottom = sis__frame_y(f, low);
    char text[32];
    number_text(a, v, text, sizeof text);
    if (v > 0)
        sis__pen_rect(f->pen, x - half, top, 2 * half, bottom - top,
                      (sis__ink){.colour = sis__legend_colour(a, series), .opacity = 0.8});
    int none = v == 0 && a->n > 1 && !a->percent;
    if (none || sis__text_width(text, NUMBER) > 2 * half + 4)
        return;
    if (!a->stacked)
        sis__pen_text(f->pen, x, top - 4, text,
                      (sis__letters){NUMBER, SIS__MIDDLE, SIS__INK, 0, 0});
    else if (bottom - top > 14)
        sis__pen_text(f->pen, x, (top + bottom) / 2 + 4, text,
                      (sis__letters){NUMBER, SIS__MIDDLE, SIS__INK, 0, 0});
}

int sis__plot_bars(sis__pen *p, const sis__plot *a) {
    double highest = a->percent ? 100 : find_highest(a), beside = a->stacked ? 1 : (double)a->n;
    sis__frame f = {.pen = p,
                    .y = sis__plot_axis_fit(a->y_label, 0, fmax(highest, 1), 5, a->whole)};
    f.x = (sis__plot_axis){.label = a->x_label,
                           .low = -0.5,
                           .high = (double)a->n_bars - 0.5,
                           .n_names = a->n_bars,
                           .names = a->bar_names};
    sis__frame_draw(&f, sis__legend_height(a) + 8);
    double room = (f.right - f.left) / (double)a->n_bars;
    double half = fmin(32, room * 0.4 / beside);
    for (size_t i = 0; i < a->n_bars; i++) {
        double low = 0, middle = sis__frame_x(&f, (double)i);
        for (size_t k = 0; k < a->n; k++) {
            double v = fmin(value_of(a, k, i), f.y.high - low);
            double at = a->stacked ? middle : middle + half * (2 * (double)k - beside + 1);
            draw_bar(&f, a, k, at, a->stacked ? half : half * 0.9, a->stacked ? low : 0, v);
            low += a->stacked ? v : 0;
        }
    }
    sis__legend_draw(p, a, f.left);
    return SIS_OK;
}
