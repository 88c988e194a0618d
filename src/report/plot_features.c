/* SPDX-License-Identifier: MIT
 *
 * One row per feature: a bar of how often it was chosen, stacked by group, and beside it its values
 * when chosen, over the range of all its values.
 */
#include <math.h>
#include <stdio.h>

#include "report/plot.h"

#include "base/number.h"

enum { NAME_MAX = 120, DOTS_MAX = 300 };
static const double ROW = 25, SMALL = 11, ENDS = 46, HEAD = 20, FOOT = 40, FAR = 16;

static int has_values(const sis__value_row *r) {
    return r->all.n > 0 || r->words[0];
}

static int any_values(const sis__plot *a, const sis__value_row *rows) {
    for (size_t i = 0; i < a->n_bars; i++)
        if (has_values(&rows[i]))
            return 1;
    return 0;
}

void sis__plot_features_size(const sis__plot *a, const sis__value_row *rows, double *width,
                             double *height) {
    *width = any_values(a, rows) ? 760 : 480;
    *height = sis__legend_height(a) + HEAD + ROW * (double)a->n_bars + FOOT;
}

/* ---- Bars ------------------------------------------------------------------------------------ */

static double total(const sis__plot *a, size_t bar) {
    double sum = 0;
    for (size_t k = 0; k < a->n; k++)
        sum += a->series[k].x.items[bar];
    return sum;
}

static double name_width(const sis__plot *a, double max) {
    double width = 40;
    for (size_t i = 0; i < a->n_bars; i++)
        width = fmax(width, sis__text_width(a->bar_names[i], 12));
    return fmin(width, max);
}

static void draw_name(sis__pen *p, const char *name, double right, double y, double width) {
    char text[NAME_MAX];
    snprintf(text, sizeof text, "%s", name);
    sis__text_fit(text, sizeof text, 12, width);
    sis__pen_text(p, right, y + 4, text, (sis__letters){12, SIS__END, SIS__INK, 0, 0});
}

static void draw_bar(const sis__frame *f, const sis__plot *a, size_t bar, double y) {
    double low = 0, sum = total(a, bar);
    char number[32];
    for (size_t k = 0; k < a->n; k++) {
        double v = a->series[k].x.items[bar], x = sis__frame_x(f, low);
        if (v > 0)
            sis__pen_rect(f->pen, x, y - 7, sis__frame_x(f, low + v) - x, 14,
                          (sis__ink){.colour = sis__legend_colour(a, k), .opacity = 0.8});
        low += v;
    }
    sis__format(number, sizeof number, "%.0f", sum);
    sis__pen_text(f->pen, sis__frame_x(f, sum) + 5, y + 4, number,
                  (sis__letters){SMALL, SIS__START, SIS__SOFT, 0, 0});
}

/* ---- Values ---------------------------------------------------------------------------------- */

typedef struct {
    double left, right, low, high;
} strip;

static double strip_x(const strip *s, double v) {
    double share = s->high > s->low ? (v - s->low) / (s->high - s->low) : 0.5;
    return s->left + fmax(0, fmin(1, share)) * (s->right - s->left);
}

static void end_text(sis__pen *p, double x, double y, double v, sis__anchor anchor) {
    char text[32];
    sis__format(text, sizeof text, "%s%.6g", v < 0 ? "\xE2\x88\x92" : "", fabs(v));
    sis__pen_text(p, x, y + 4, text, (sis__letters){10, anchor, SIS__SOFT, 0, 0});
}

/* Marks an end of the line beyond which there are only a few distant values. */
static void draw_far(sis__pen *p, double from, double to, double y) {
    sis__pen_line(p, from, y, to, y, (sis__ink){.colour = SIS__SOFT, .opacity = 0.5, .dashed = 1});
}

/* Minimum to maximum as a line, the middle half as a box, the median as a stroke. */
static void draw_spread(sis__pen *p, const strip *s, const sis__numbers *all, double y) {
    double a = strip_x(s, sis__numbers_quantile(all, 0.25));
    double b = strip_x(s, sis__numbers_quantile(all, 0.75));
    double middle = strip_x(s, sis__numbers_quantile(all, 0.5));
    double min = all->items[0], max = all->items[all->n - 1];
    sis__pen_line(p, s->left, y, s->right, y, (sis__ink){.colour = SIS__SOFT, .opacity = 0.5});
    if (min < s->low)
        draw_far(p, s->left - FAR, s->left, y);
    if (max > s->high)
        draw_far(p, s->right, s->right + FAR, y);
    sis__pen_rect(p, a, y - 7, fmax(b - a, 1), 14, (sis__ink){.colour = SIS__SOFT, .opacity = 0.2});
    sis__pen_line(p, middle, y - 7, middle, y + 7, (sis__ink){.colour = SIS__SOFT, .width = 1.5});
    end_text(p, s->left - (min < s->low ? FAR : 0) - 6, y, min, SIS__END);
    end_text(p, s->right + (max > s->high ? FAR : 0) + 6, y, max, SIS__START);
}

static void draw_dots(sis__pen *p, const strip *s, const sis__plot *a, const sis__value_row *r,
                      double y) {
    size_t n = 0;
    for (size_t k = 0; k < a->n; k++)
        n += r->held[k].n < DOTS_MAX ? r->held[k].n : DOTS_MAX;
    double opacity = fmax(0.15, fmin(0.65, 4 / sqrt((double)n + 1)));
    for (size_t k = 0; k < a->n; k++)
        for (size_t i = 0; i < r->held[k].n && i < DOTS_MAX; i++) {
            double aside = (double)((i * 7 + k * 3) % 9) - 4; /* separates equal values */
            sis__pen_dot(p, strip_x(s, r->held[k].items[i]), y + aside, 2.6,
                         (sis__ink){.colour = sis__legend_colour(a, k), .opacity = opacity});
        }
}

static void draw_values(sis__pen *p, const sis__plot *a, const sis__value_row *r, double left,
                        double y) {
    char text[sizeof r->words];
    if (r->all.n) {
        strip s = {.left = left + ENDS, .right = p->width - 14 - ENDS};
        sis__numbers_range(&r->all, &s.low, &s.high);
        for (size_t k = 0; k < a->n; k++)
            for (size_t i = 0; i < r->held[k].n && i < DOTS_MAX; i++) {
                s.low = fmin(s.low, r->held[k].items[i]);
                s.high = fmax(s.high, r->held[k].items[i]);
            }
        s.left += r->all.items[0] < s.low ? FAR : 0;
        s.right -= r->all.items[r->all.n - 1] > s.high ? FAR : 0;
        draw_spread(p, &s, &r->all, y);
        draw_dots(p, &s, a, r, y);
        return;
    }
    snprintf(text, sizeof text, "%s", r->words);
    sis__text_fit(text, sizeof text, SMALL, p->width - 14 - left);
    sis__pen_text(p, left, y + 4, text, (sis__letters){SMALL, SIS__START, SIS__SOFT, 0, 0});
}

/* ---- The plot -------------------------------------------------------------------------------- */

static void draw_axis(const sis__frame *f) {
    char text[32];
    for (double v = f->x.first; v <= f->x.high * 1.0001; v += f->x.step) {
        double x = sis__frame_x(f, v);
        sis__pen_line(f->pen, x, f->top, x, f->bottom, (sis__ink){.colour = SIS__RULE});
        sis__format(text, sizeof text, "%.6g", v);
        sis__pen_text(f->pen, x, f->bottom + 14, text,
                      (sis__letters){SMALL, SIS__MIDDLE, SIS__SOFT, 0, 0});
    }
    sis__pen_text(f->pen, (f->left + f->right) / 2, f->bottom + 31, f->x.label,
                  (sis__letters){12, SIS__MIDDLE, SIS__INK, 0, 0});
}

int sis__plot_features(sis__pen *p, const sis__plot *a, const sis__value_row *rows) {
    double highest = 1, name = name_width(a, 150);
    int values = any_values(a, rows);
    for (size_t i = 0; i < a->n_bars; i++)
        highest = fmax(highest, total(a, i));
    sis__frame f = {.pen = p, .x = sis__plot_axis_fit(a->x_label, 0, highest, 4, 1)};
    f.left = name + 22;
    f.right = values ? f.left + (p->width - f.left) * 0.4 : p->width - 40;
    f.top = sis__legend_height(a) + HEAD;
    f.bottom = f.top + ROW * (double)a->n_bars;
    draw_axis(&f);
    if (values)
        sis__pen_text(p, (f.right + 40 + p->width - 14) / 2, f.bottom + 31, a->y_label,
                      (sis__letters){12, SIS__MIDDLE, SIS__INK, 0, 0});
    for (size_t i = 0; i < a->n_bars; i++) {
        double y = f.top + ROW * ((double)i + 0.5);
        draw_name(p, a->bar_names[i], f.left - 8, y, name);
        draw_bar(&f, a, i, y);
        if (values)
            draw_values(p, a, &rows[i], f.right + 40, y);
    }
    sis__legend_draw(p, a, f.left);
    return SIS_OK;
}
