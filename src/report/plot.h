/* SPDX-License-Identifier: MIT
 *
 * Plots: numbers in, drawings out. None of them knows what the numbers are of. Each fills the pen's
 * paper between y = 0 and its height; labels and units are the caller's words.
 */
#ifndef SIS_REPORT_PLOT_H
#define SIS_REPORT_PLOT_H

#include "report/pen.h"
#include "report/stats.h"

/* Numbers of one kind, and what they are called in the legend. */
typedef struct sis__series {
    const char *name;
    sis__numbers x, y; /* y: scatter only */
    int colour;        /* of boxes and bars; 0: by its number, of boxes the first */
} sis__series;

/* A line across a plot at a value that matters. */
typedef struct sis__mark {
    double at;
    const char *text;
    size_t first, n; /* boxes: over n of them, from the first; 0: all */
} sis__mark;

typedef struct sis__plot {
    const char *x_label, *y_label;
    size_t n;
    sis__series *series; /* (n) */
    size_t n_marks;
    const sis__mark *marks; /* upright in histograms, level in others */
    int whole;              /* values are whole numbers */
    int violin;             /* boxes: draw the density too */
    double from, to;        /* lines: where they begin and end; from may be more than to */
    int mixed;              /* lines: of decisions both ways, whose median would say nothing */
    size_t n_bars;          /* bars */
    const char *const *bar_names;
    int stacked, percent; /* bars: on top of each other; of a hundred */
} sis__plot;

/* How many fall where, one series on top of the other. */
int sis__plot_histogram(sis__pen *p, const sis__plot *a);

/* A box from quartile to quartile for each series, with its median, whiskers to the last value
 * within one and a half boxes, and a dot for each value beyond (at most two hundred). Sorts the
 * series. */
int sis__plot_boxes(sis__pen *p, const sis__plot *a);

/* Bars with their values: x[i] of every series is in bar i, beside those of the other series or on
 * top of them. */
int sis__plot_bars(sis__pen *p, const sis__plot *a);

/* A dot for each x and y. Of one series with very many, crowded places are drawn as their density,
 * the darker the more. */
int sis__plot_scatter(sis__pen *p, const sis__plot *a);

/* Every series is a line of y, evenly spaced over from .. to; x is not used. The thick one is the
 * median of all, unless they are mixed. */
int sis__plot_lines(sis__pen *p, const sis__plot *a);

/* The series 0, 1 and 2 are the lower quartile, the median and the upper one of something over the
 * same x: a line in a band. Marks are upright. */
int sis__plot_band(sis__pen *p, const sis__plot *a);

/* What goes beside bar i: the values that were chosen, by series, and all there are, sorted; or words. */
typedef struct sis__value_row {
    sis__numbers all, *held; /* held: (series) */
    char words[160];
} sis__value_row;

/* A row for each bar: its name, its parts stacked sideways, and values: rows (n_bars). */
void sis__plot_features_size(const sis__plot *a, const sis__value_row *rows, double *width,
                             double *height);
int sis__plot_features(sis__pen *p, const sis__plot *a, const sis__value_row *rows);

/* ---- Rows of pictures ------------------------------------------------------------------------ */

typedef struct sis__picture {
    size_t row, column, width, height;
    unsigned char *rgba; /* (height * width * 4), the plot's */
} sis__picture;

typedef struct sis__pictures {
    size_t rows, columns, n;
    const char *const *row_names;        /* (rows) */
    const char *first_name, *other_name; /* over the first column, over the others; or NULL */
    const char *last_name;               /* over column `last`, or NULL */
    size_t last;
    double cell;         /* side of a picture; 0: small */
    sis__picture *items; /* (n) */
} sis__pictures;

void sis__pictures_size(const sis__pictures *a, double *width, double *height);
int sis__plot_pictures(sis__pen *p, const sis__pictures *a);

/* ---- Sequence logos -------------------------------------------------------------------------- */

/* counts (n, 4) of A, C, G, T. The height of a column is its information in bits: two minus the
 * entropy, with the usual correction for few sequences; letters share it by their frequency. */
void sis__plot_logo(sis__pen *p, const double *counts, size_t n);

/* ---- Frame ----------------------------------------------------------------------------------- */

typedef struct sis__plot_axis {
    const char *label;
    double low, high, first, step; /* ticks from `first` on; step 0: none */
    size_t n_names;                /* names instead of ticks, at 0, 1, 2, ... */
    const char *const *names;
} sis__plot_axis;

typedef struct sis__frame {
    sis__pen *pen;
    double left, top, right, bottom; /* the inside, on the paper */
    sis__plot_axis x, y;
} sis__frame;

/* An axis with round ends and about `ticks` ticks around low..high. */
sis__plot_axis sis__plot_axis_fit(const char *label, double low, double high, double ticks,
                                  int whole);

/* Draw the grid, the ticks and the labels, leaving `head` points at the top for a legend. */
void sis__frame_draw(sis__frame *f, double head);

double sis__frame_x(const sis__frame *f, double v);
double sis__frame_y(const sis__frame *f, double v);

/* The height a legend of the series takes, 0 if there is only one; and the legend. */
double sis__legend_height(const sis__plot *a);
void sis__legend_draw(sis__pen *p, const sis__plot *a, double left);

/* Upright lines at the marks, with their words beside them. */
void sis__marks_draw(const sis__frame *f, const sis__plot *a);

int sis__series_colour(size_t k);

/* The colour of series k of a legend. */
int sis__legend_colour(const sis__plot *a, size_t k);

#endif
