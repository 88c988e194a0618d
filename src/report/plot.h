/* SPDX-License-Identifier: MIT
 *
 * Plots of numbers, independent of what the numbers mean. Each fills the pen's paper from y = 0 to
 * its height; the caller supplies labels and units.
 */
#ifndef SIS_REPORT_PLOT_H
#define SIS_REPORT_PLOT_H

#include "report/pen.h"
#include "report/stats.h"

/* Numbers of one kind, with their name in the legend. */
typedef struct sis__series {
    const char *name;
    sis__numbers x, y; /* y: scatter only */
    int colour;        /* of boxes and bars; 0: by number, for boxes the first */
} sis__series;

/* A line across a plot at a value that matters. */
typedef struct sis__mark {
    double at;
    const char *text;
    size_t first, n; /* boxes: spans n of them from the first; 0: all */
} sis__mark;

typedef struct sis__plot {
    const char *x_label, *y_label;
    size_t n;
    sis__series *series; /* (n) */
    size_t n_marks;
    const sis__mark *marks; /* vertical in histograms, horizontal in others */
    int whole;              /* values are integers */
    int violin;             /* boxes: draw the density too */
    double from, to;        /* lines: where they begin and end; from may exceed to */
    int mixed;              /* lines: of decisions in both directions; no median is drawn */
    size_t n_bars;          /* bars */
    const char *const *bar_names;
    int stacked, percent; /* bars: stacked; of 100 percent */
} sis__plot;

/* A histogram with stacked series. */
int sis__plot_histogram(sis__pen *p, const sis__plot *a);

/* A box plot of each series: quartiles, median, whiskers to the last value within 1.5 box lengths,
 * and a dot for each value beyond (at most two hundred). Sorts the series. */
int sis__plot_boxes(sis__pen *p, const sis__plot *a);

/* Bars with their values: x[i] of every series is in bar i, side by side or stacked. */
int sis__plot_bars(sis__pen *p, const sis__plot *a);

/* A scatter plot. A single series with very many points is drawn as density where crowded; darker
 * means more. */
int sis__plot_scatter(sis__pen *p, const sis__plot *a);

/* Every series is a line of y, evenly spaced over from .. to; x is not used. A thick line shows the
 * median of all, unless they are mixed. */
int sis__plot_lines(sis__pen *p, const sis__plot *a);

/* Shown beside bar i: the chosen values by series over all values, sorted; or words. */
typedef struct sis__value_row {
    sis__numbers all, *held; /* held: (series) */
    char words[160];
} sis__value_row;

/* A row for each bar: its name, its parts stacked horizontally, and values: rows (n_bars). */
void sis__plot_features_size(const sis__plot *a, const sis__value_row *rows, double *width,
                             double *height);
int sis__plot_features(sis__pen *p, const sis__plot *a, const sis__value_row *rows);

/* ---- Rows of images -------------------------------------------------------------------------- */

typedef struct sis__picture {
    size_t row, column, width, height;
    unsigned char *rgba; /* (height * width * 4), owned by the plot */
} sis__picture;

typedef struct sis__pictures {
    size_t rows, columns, n;
    const char *const *row_names;        /* (rows) */
    const char *first_name, *other_name; /* above the first column, above the others; or NULL */
    const char *last_name;               /* above column `last`, or NULL */
    size_t last;
    double cell;         /* side of an image; 0: small */
    sis__picture *items; /* (n) */
} sis__pictures;

void sis__pictures_size(const sis__pictures *a, double *width, double *height);
int sis__plot_pictures(sis__pen *p, const sis__pictures *a);

/* ---- Sequence logos -------------------------------------------------------------------------- */

/* counts (n, 4) of A, C, G, T. The height of a column is its information in bits: two minus the
 * entropy, with the usual small-sample correction; letters share it by frequency. */
void sis__plot_logo(sis__pen *p, const double *counts, size_t n);

/* ---- Frame ----------------------------------------------------------------------------------- */

typedef struct sis__plot_axis {
    const char *label;
    double low, high, first, step; /* ticks begin at `first`; step 0: none */
    size_t n_names;                /* names instead of ticks, at 0, 1, 2, ... */
    const char *const *names;
} sis__plot_axis;

typedef struct sis__frame {
    sis__pen *pen;
    double left, top, right, bottom; /* the plot area, on the paper */
    sis__plot_axis x, y;
} sis__frame;

/* An axis with round ends and about `ticks` ticks that includes low..high. */
sis__plot_axis sis__plot_axis_fit(const char *label, double low, double high, double ticks,
                                  int whole);

/* Draw the grid, the ticks and the labels, with `head` points at the top for a legend. */
void sis__frame_draw(sis__frame *f, double head);

double sis__frame_x(const sis__frame *f, double v);
double sis__frame_y(const sis__frame *f, double v);

/* The height of the legend, 0 for one series; and the legend. */
double sis__legend_height(const sis__plot *a);
void sis__legend_draw(sis__pen *p, const sis__plot *a, double left);

/* Vertical lines at the marks, with their labels. */
void sis__marks_draw(const sis__frame *f, const sis__plot *a);

int sis__series_colour(size_t k);

/* The colour of series k of a legend. */
int sis__legend_colour(const sis__plot *a, size_t k);

#endif
