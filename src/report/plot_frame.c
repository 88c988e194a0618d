/* SPDX-License-Identifier: MIT
 *
 * The frame of a plot: axes with round ticks, a light grid, labels, a legend.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/plot.h"

#include "base/number.h"

static const double SMALL = 11, LABEL = 12, LINE = 13, LARGEST = 1e300;
enum { NAMES_LEVEL = 8, NAME_SIZE = 80 };

int sis__series_colour(size_t k) {
    return SIS__FIRST + (int)(k % SIS__COLOURS);
}

int sis__legend_colour(const sis__plot *a, size_t k) {
    return a->series[k].colour ? a->series[k].colour : sis__series_colour(k);
}

/* ---- Axes ------------------------------------------------------------------------------------ */

sis__plot_axis sis__plot_axis_fit(const char *label, double low, double high, double ticks,
                                  int whole) {
    sis__plot_axis a = {.label = label};
    low =
        isfinite(low) ? fmax(-LARGEST, fmin(LARGEST, low)) : 0; /* so that differences are finite */
    high = isfinite(high) ? fmax(-LARGEST, fmin(LARGEST, high)) : 0;
    double min = fmax(1 / LARGEST, fmax(fabs(low), fabs(high)) * 1e-12);
    if (!(high - low > min)) {
        double room = fmax(0.5, fabs(low) / 100);
        low -= room;
        high = low + 2 * room;
    }
    a.step = sis__round_step((high - low) / ticks);
    if (whole && a.step < 1)
        a.step = 1;
    a.low = floor(low / a.step + 1e-9) * a.step;
    a.high = ceil(high / a.step - 1e-9) * a.step;
    if (!(a.high > a.low))
        a.high = a.low + a.step;
    a.first = a.low;
    return a;
}

static void tick_text(double v, double step, char *text, size_t size) {
    double shown = fabs(v) < step / 1000 ? 0 : v;
    sis__format(text, size, "%s%.6g", shown < 0 ? "\xE2\x88\x92" : "", fabs(shown));
}

/* The index of the last tick; ticks are at first + k * step. */
static int last_tick(const sis__plot_axis *a) {
    double end = fmax(a->low, a->high); /* an axis may be reversed */
    double n = a->step > 0 ? floor((end - a->first) / a->step + 1e-6) : -1;
    return n > 50 ? 50 : (int)n;
}

double sis__frame_x(const sis__frame *f, double v) {
    return f->left + (v - f->x.low) / (f->x.high - f->x.low) * (f->right - f->left);
}

double sis__frame_y(const sis__frame *f, double v) {
    return f->bottom - (v - f->y.low) / (f->y.high - f->y.low) * (f->bottom - f->top);
}

/* ---- Around the plot ------------------------------------------------------------------------- */

static double widest_tick(const sis__plot_axis *a) {
    double width = 0;
    char text[32];
    for (int k = 0; k <= last_tick(a); k++) {
        tick_text(a->first + k * a->step, a->step, text, sizeof text);
        width = fmax(width, sis__text_width(text, SMALL));
    }
    return width;
}

static void draw_y(const sis__frame *f) {
    char text[32];
    for (int k = 0; k <= last_tick(&f->y); k++) {
        double v = f->y.first + k * f->y.step, y = sis__frame_y(f, v);
        sis__pen_line(f->pen, f->left, y, f->right, y, (sis__ink){.colour = SIS__RULE});
        tick_text(v, f->y.step, text, sizeof text);
        sis__pen_text(f->pen, f->left - 7, y + 4, text,
                      (sis__letters){SMALL, SIS__END, SIS__SOFT, 0, 0});
    }
    sis__pen_text(f->pen, 13, (f->top + f->bottom) / 2, f->y.label,
                  (sis__letters){LABEL, SIS__MIDDLE, SIS__INK, 0, 1});
}

/* ---- Names under the axis -------------------------------------------------------------------- */

/* A few names are horizontal, each below its tick: on two lines if one is too short, in smaller
 * letters if that is not enough, and cut if letters become too small. Many names are vertical. */

static int is_level(const sis__plot_axis *a, size_t k) {
    return a->n_names <= NAMES_LEVEL || strlen(a->names[k]) < 4;
}

static double name_width(const sis__frame *f) {
    return (f->right - f->left) / (double)f->x.n_names - 10;
}

/* Where to break a name: after the blank, '-' or '_' that makes the longer line shortest, or
 * nowhere. */
static size_t find_break(const char *name) {
    size_t n = strlen(name), best = n, shortest = n;
    for (size_t i = 1; i < n; i++) {
        size_t longer = i > n - i ? i : n - i;
        if (strchr(" -_", name[i - 1]) && longer < shortest) {
            best = i;
            shortest = longer;
        }
    }
    return best;
}

static void name_lines(const sis__frame *f, size_t k, char lines[2][NAME_SIZE]) {
    const char *name = f->x.names[k];
    size_t n = strlen(name);
    int folds = f->x.n_names <= NAMES_LEVEL && sis__text_width(name, SMALL) > name_width(f);
    size_t at = folds ? find_break(name) : n, end = at > 0 && name[at - 1] == ' ' ? at - 1 : at;
    snprintf(lines[0], NAME_SIZE, "%.*s", (int)(end < NAME_SIZE ? end : NAME_SIZE), name);
    snprintf(lines[1], NAME_SIZE, "%s", name + at);
}

/* The size of letters at which every name fits below its tick, if still readable. */
static double name_size(const sis__frame *f) {
    double widest = 1;
    char lines[2][NAME_SIZE];
    for (size_t k = 0; k < f->x.n_names; k++) {
        name_lines(f, k, lines);
        for (int i = 0; i < 2; i++)
            widest = fmax(widest, sis__text_width(lines[i], SMALL));
    }
    return fmax(8, SMALL * fmin(1, name_width(f) / widest));
}

static void draw_names(const sis__frame *f) {
    double size = f->x.n_names ? name_size(f) : SMALL;
    char lines[2][NAME_SIZE];
    for (size_t k = 0; k < f->x.n_names; k++) {
        double x = sis__frame_x(f, (double)k);
        name_lines(f, k, lines);
        if (!is_level(&f->x, k)) {
            sis__pen_text(f->pen, x + 4, f->bottom + 8, lines[0],
                          (sis__letters){SMALL, SIS__END, SIS__SOFT, 0, 1});
            continue;
        }
        for (int i = 0; i < 2; i++) {
            sis__text_fit(lines[i], NAME_SIZE, size, name_width(f) + 4);
            if (lines[i][0])
                sis__pen_text(f->pen, x, f->bottom + 17 + LINE * i, lines[i],
                              (sis__letters){size, SIS__MIDDLE, SIS__SOFT, 0, 0});
        }
    }
}

/* The height of a second line of names, or of vertical names. */
static double name_room(const sis__frame *f) {
    double room = 0;
    char lines[2][NAME_SIZE];
    for (size_t k = 0; k < f->x.n_names; k++) {
        name_lines(f, k, lines);
        if (!is_level(&f->x, k))
            room = fmax(room, sis__text_width(lines[0], SMALL) - 10);
        else if (lines[1][0])
            room = fmax(room, LINE);
    }
    return room;
}

/* ---- The frame ------------------------------------------------------------------------------- */

static void draw_x(const sis__frame *f) {
    char text[32];
    sis__pen_line(f->pen, f->left, f->bottom, f->right, f->bottom, (sis__ink){.colour = SIS__SOFT});
    for (int k = 0; f->x.n_names == 0 && k <= last_tick(&f->x); k++) {
        double v = f->x.first + k * f->x.step, x = sis__frame_x(f, v);
        sis__pen_line(f->pen, x, f->bottom, x, f->bottom + 4, (sis__ink){.colour = SIS__SOFT});
        tick_text(v, f->x.step, text, sizeof text);
        sis__pen_text(f->pen, x, f->bottom + 17, text,
                      (sis__letters){SMALL, SIS__MIDDLE, SIS__SOFT, 0, 0});
    }
    draw_names(f);
    sis__pen_text(f->pen, (f->left + f->right) / 2, f->pen->height - 6, f->x.label,
                  (sis__letters){LABEL, SIS__MIDDLE, SIS__INK, 0, 0});
}

void sis__frame_draw(sis__frame *f, double head) {
    f->left = 22 + widest_tick(&f->y) + 8;
    f->right = f->pen->width - 14;
    f->top = 10 + head;
    f->bottom = f->pen->height - 44 - fmin(name_room(f), f->pen->height / 3);
    draw_y(f);
    draw_x(f);
}

/* ---- Marks ----------------------------------------------------------------------------------- */

void sis__marks_draw(const sis__frame *f, const sis__plot *a) {
    for (size_t i = 0; i < a->n_marks; i++) {
        double x = sis__frame_x(f, a->marks[i].at);
        int end = x > (f->left + f->right) / 2;
        sis__pen_line(f->pen, x, f->top, x, f->bottom,
                      (sis__ink){.colour = SIS__INK, .width = 1.5, .dashed = 1});
        sis__pen_text(f->pen, x + (end ? -5 : 5), f->top + 11 + 14 * (double)i, a->marks[i].text,
                      (sis__letters){11, end ? SIS__END : SIS__START, SIS__INK, 0, 0});
    }
}

/* ---- Legend ---------------------------------------------------------------------------------- */

/* Does the plot contain the series? Bars have a number for each, possibly 0. Colours with a meaning
 * are always listed. */
static int is_drawn(const sis__plot *a, size_t k) {
    const sis__numbers *v = &a->series[k].x;
    for (size_t i = 0; a->n_bars && i < v->n; i++)
        if (v->items[i] != 0)
            return 1;
    return a->stacked || a->series[k].colour || (!a->n_bars && v->n > 0);
}

/* A single colour needs no legend. */
static int has_legend(const sis__plot *a) {
    size_t n = 0;
    for (size_t k = 0; k < a->n; k++)
        n += (size_t)is_drawn(a, k);
    return n > 1;
}

static void place_entry(const sis__plot *a, size_t k, double width, double *x, double *y) {
    double need = 22 + sis__text_width(a->series[k].name, SMALL);
    if (*x > 0 && *x + need > width) {
        *x = 0;
        *y += 16;
    }
}

double sis__legend_height(const sis__plot *a) {
    double x = 0, y = 0;
    if (!has_legend(a))
        return 0;
    for (size_t k = 0; k < a->n; k++) {
        if (!is_drawn(a, k))
            continue;
        place_entry(a, k, 440, &x, &y);
        x += 22 + sis__text_width(a->series[k].name, SMALL) + 8;
    }
    return y + 20;
}

void sis__legend_draw(sis__pen *p, const sis__plot *a, double left) {
    double x = 0, y = 0;
    for (size_t k = 0; has_legend(a) && k < a->n; k++) {
        if (!is_drawn(a, k))
            continue;
        place_entry(a, k, 440, &x, &y);
        sis__pen_rect(p, left + x, 6 + y, 10, 10, (sis__ink){.colour = sis__legend_colour(a, k)});
        sis__pen_text(p, left + x + 15, 15 + y, a->series[k].name,
                      (sis__letters){SMALL, SIS__START, SIS__SOFT, 0, 0});
        x += 22 + sis__text_width(a->series[k].name, SMALL) + 8;
    }
}
