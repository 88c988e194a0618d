/* SPDX-License-Identifier: MIT
 *
 * Histograms: at most sixty bins of a round width, with stacked series.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/plot.h"

enum { BINS_MAX = 60, BAR_MAX = 64 };

typedef struct {
    double low, width;
    size_t n;
    double *counts; /* (series, n) */
} bins;

static void find_range(const sis__plot *a, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t k = 0; k < a->n; k++)
        for (size_t i = 0; i < a->series[k].x.n; i++) {
            *low = fmin(*low, a->series[k].x.items[i]);
            *high = fmax(*high, a->series[k].x.items[i]);
        }
    for (size_t i = 0; i < a->n_marks; i++) {
        *low = fmin(*low, a->marks[i].at);
        *high = fmax(*high, a->marks[i].at);
    }
}

static int count(const sis__plot *a, bins *b) {
    double low, high;
    find_range(a, &low, &high);
    sis__plot_axis fit = sis__plot_axis_fit("", low, high, 30, a->whole);
    b->width = fit.step;
    /* Integers: bins of 1 to 5, 6 to 10, ..., with edges between integers. */
    double first = fmax(fit.low, fmin(low, fit.high)), last = fmax(fit.low, fmin(high, fit.high));
    b->low = a->whole ? floor((first - 1) / b->width) * b->width + 0.5 : fit.low;
    last = a->whole ? last + 0.5 : fit.high;
    b->n = (size_t)fmax(1, fmin(BINS_MAX, ceil((last - b->low) / b->width - 1e-9)));
    if (!(b->counts = SIS_NEW(double, a->n * b->n)))
        return SIS_E_NOMEM;
    for (size_t k = 0; k < a->n; k++)
        for (size_t i = 0; i < a->series[k].x.n; i++) {
            double at = floor((a->series[k].x.items[i] - b->low) / b->width);
            size_t bin = at < 0 ? 0 : at >= (double)b->n ? b->n - 1 : (size_t)at;
            b->counts[k * b->n + bin]++;
        }
    return SIS_OK;
}

static double highest(const sis__plot *a, const bins *b) {
    double max = 1;
    for (size_t i = 0; i < b->n; i++) {
        double sum = 0;
        for (size_t k = 0; k < a->n; k++)
            sum += b->counts[k * b->n + i];
        max = fmax(max, sum);
    }
    return max;
}

static void draw_bars(const sis__frame *f, const sis__plot *a, const bins *b) {
    for (size_t i = 0; i < b->n; i++) {
        double sum = 0, left = b->low + (double)i * b->width;
        double x1 = sis__frame_x(f, left), x2 = sis__frame_x(f, left + b->width);
        double gap = fmax(fmin(1.5, (x2 - x1) * 0.1), (x2 - x1 - BAR_MAX) / 2);
        for (size_t k = 0; k < a->n; k++) {
            double n = b->counts[k * b->n + i];
            double top = sis__frame_y(f, sum + n), bottom = sis__frame_y(f, sum);
            if (n > 0)
                sis__pen_rect(f->pen, x1 + gap, top, x2 - x1 - 2 * gap, bottom - top,
                              (sis__ink){.colour = sis__series_colour(k)});
            sum += n;
        }
    }
}

int sis__plot_histogram(sis__pen *p, const sis__plot *a) {
    bins b = {0};
    int code = count(a, &b);
    if (code != SIS_OK)
        return code;
    double high = b.low + (double)b.n * b.width;
    sis__frame f = {.pen = p};
    f.x = sis__plot_axis_fit(a->x_label, b.low, high, 8, a->whole);
    f.x.first = ceil(b.low / f.x.step) * f.x.step;
    f.x.low = b.low;
    f.x.high = high;
    f.y = sis__plot_axis_fit(a->y_label, 0, highest(a, &b), 5, 1);
    sis__frame_draw(&f, sis__legend_height(a));
    draw_bars(&f, a, &b);
    sis__marks_draw(&f, a);
    sis__legend_draw(p, a, f.left);
    free(b.counts);
    return SIS_OK;
}
