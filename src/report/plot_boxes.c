/* SPDX-License-Identifier: MIT
 *
 * Box plots, optionally with density (violins); bars where the values do not vary.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/plot.h"

enum { DOTS_MAX = 200, DENSITY_POINTS = 48, SAMPLE_MAX = 2000 };

/* ---- Densities ------------------------------------------------------------------------------- */

/* The bandwidth of the density estimate: Silverman's rule. */
static double bell_width(const sis__numbers *v) {
    double mean = 0, square = 0, n = (double)v->n;
    for (size_t i = 0; i < v->n; i++)
        mean += v->items[i] / n;
    for (size_t i = 0; i < v->n; i++)
        square += (v->items[i] - mean) * (v->items[i] - mean) / n;
    double box = sis__numbers_quantile(v, 0.75) - sis__numbers_quantile(v, 0.25);
    double spread = box > 0 ? fmin(sqrt(square), box / 1.34) : sqrt(square);
    return 0.9 * spread * pow(n, -0.2);
}

static double density(const sis__numbers *v, double at, double width) {
    double sum = 0;
    size_t stride = 1 + v->n / SAMPLE_MAX;
    for (size_t i = 0; i < v->n; i += stride) {
        double z = (at - v->items[i]) / width;
        sum += exp(-z * z / 2);
    }
    return sum;
}

static void draw_violin(const sis__frame *f, const sis__numbers *v, double x, double half, int k) {
    double xy[4 * DENSITY_POINTS], d[DENSITY_POINTS], max = 0, width = bell_width(v);
    double low = v->items[0], high = v->items[v->n - 1];
    if (!(width > 0) || !isfinite(width))
        return;
    for (int i = 0; i < DENSITY_POINTS; i++) {
        d[i] = density(v, low + (high - low) * i / (DENSITY_POINTS - 1), width);
        max = fmax(max, d[i]);
    }
    for (int i = 0; i < DENSITY_POINTS; i++) {
        double y = sis__frame_y(f, low + (high - low) * i / (DENSITY_POINTS - 1));
        int back = 2 * DENSITY_POINTS - 1 - i;
        xy[2 * i] = x + half * d[i] / max;
        xy[2 * back] = x - half * d[i] / max;
        xy[2 * i + 1] = xy[2 * back + 1] = y;
    }
    sis__pen_shape(f->pen, xy, 2 * DENSITY_POINTS, (sis__ink){.colour = k, .opacity = 0.25});
}

/* ---- Boxes ----------------------------------------------------------------------------------- */

static void draw_box(const sis__frame *f, const sis__numbers *v, double x, double half, int k) {
    double q1 = sis__numbers_quantile(v, 0.25), q2 = sis__numbers_quantile(v, 0.5),
           q3 = sis__numbers_quantile(v, 0.75), reach = 1.5 * (q3 - q1);
    size_t first = 0, last = v->n - 1, dots = 0;
    while (v->items[first] < q1 - reach)
        first++;
    while (v->items[last] > q3 + reach)
        last--;
    double bottom = sis__frame_y(f, v->items[first]), top = sis__frame_y(f, v->items[last]);
    double y1 = sis__frame_y(f, q1), y3 = sis__frame_y(f, q3), cap = half / 2;
    sis__ink line = {.colour = k, .width = 1.5};
    sis__pen_line(f->pen, x, bottom, x, y1, line);
    sis__pen_line(f->pen, x, y3, x, top, line);
    sis__pen_line(f->pen, x - cap, bottom, x + cap, bottom, line);
    sis__pen_line(f->pen, x - cap, top, x + cap, top, line);
    sis__pen_rect(f->pen, x - half, y3, 2 * half, y1 - y3,
                  (sis__ink){.colour = k, .opacity = 0.45});
    sis__pen_line(f->pen, x - half, sis__frame_y(f, q2), x + half, sis__frame_y(f, q2),
                  (sis__ink){.colour = SIS__INK, .width = 2});
    for (size_t i = 0; i < v->n && dots < DOTS_MAX; i++)
        if (i < first || i > last) {
            sis__pen_dot(f->pen, x, sis__frame_y(f, v->items[i]), 2,
                         (sis__ink){.colour = k, .opacity = 0.6});
            dots++;
        }
}

/* Horizontal lines across some of the boxes, labelled above the frame. */
static void draw_levels(const sis__frame *f, const sis__plot *a) {
    for (size_t i = 0; i < a->n_marks; i++) {
        const sis__mark *m = &a->marks[i];
        double x1 = m->n ? sis__frame_x(f, (double)m->first - 0.5) : f->left;
        double x2 = m->n ? sis__frame_x(f, (double)(m->first + m->n) - 0.5) : f->right;
        double y = sis__frame_y(f, m->at);
        sis__pen_line(f->pen, x1 + 3, y, x2 - 3, y,
                      (sis__ink){.colour = SIS__INK, .width = 1.5, .dashed = 1});
        sis__pen_text(f->pen, (x1 + x2) / 2, f->top - 7, m->text,
                      (sis__letters){11, SIS__MIDDLE, SIS__INK, 0, 0});
    }
}

/* If at least half of the values are equal, a box and a density show nothing: draw a bar. */
static int is_bar(const sis__plot *a, const sis__numbers *v) {
    return a->whole && sis__numbers_quantile(v, 0.25) == sis__numbers_quantile(v, 0.75);
}

static void draw_bar(const sis__frame *f, const sis__numbers *v, double x, double half, int k) {
    double at = sis__numbers_quantile(v, 0.5), top = sis__frame_y(f, at);
    size_t dots = 0;
    sis__pen_rect(f->pen, x - half, top, 2 * half, f->bottom - top,
                  (sis__ink){.colour = k, .opacity = 0.45});
    for (size_t i = 0; i < v->n && dots < DOTS_MAX; i++)
        if (v->items[i] != at) {
            sis__pen_dot(f->pen, x, sis__frame_y(f, v->items[i]), 2,
                         (sis__ink){.colour = k, .opacity = 0.6});
            dots++;
        }
}

int sis__plot_boxes(sis__pen *p, const sis__plot *a) {
    double low = a->whole ? 0 : INFINITY, high = -INFINITY;
    const char **names = (const char **)sis__alloc(a->n, sizeof *names);
    if (!names)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < a->n; k++) {
        sis__numbers *v = &a->series[k].x;
        names[k] = a->series[k].name;
        sis__numbers_sort(v);
        if (v->n) {
            low = fmin(low, v->items[0]);
            high = fmax(high, v->items[v->n - 1]);
        }
    }
    for (size_t i = 0; i < a->n_marks; i++) {
        low = fmin(low, a->marks[i].at);
        high = fmax(high, a->marks[i].at);
    }
    sis__frame f = {.pen = p, .y = sis__plot_axis_fit(a->y_label, low, high, 6, a->whole)};
    f.x = (sis__plot_axis){.label = a->x_label,
                           .low = -0.5,
                           .high = (double)a->n - 0.5,
                           .n_names = a->n,
                           .names = names};
    sis__frame_draw(&f, a->n_marks ? 16 : 0);
    double half = fmin(26, (f.right - f.left) / (double)a->n * 0.3);
    for (size_t k = 0; k < a->n; k++) {
        const sis__numbers *v = &a->series[k].x;
        double x = sis__frame_x(&f, (double)k);
        int colour = a->series[k].colour ? a->series[k].colour : sis__series_colour(0);
        int bar = v->n && is_bar(a, v), violin = a->violin && v->n > 4 && !bar;
        if (bar) {
            draw_bar(&f, v, x, half, colour);
            continue;
        }
        if (violin)
            draw_violin(&f, v, x, half * 1.5, colour);
        if (v->n)
            draw_box(&f, v, x, violin ? half / 3 : half, colour);
    }
    draw_levels(&f, a);
    free(names);
    return SIS_OK;
}
