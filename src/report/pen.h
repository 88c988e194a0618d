/* SPDX-License-Identifier: MIT
 *
 * A pen draws lines, areas, dots and words on paper of a fixed size, in points, y downwards. Plots
 * are written against it once and come out as SVG (files, and inside the page in its own colours),
 * PNG or PDF. Errors stick: after one, drawing does nothing, and sis__pen_finish tells.
 *
 * SVG is written here and not by cairo, because cairo draws letters as outlines of whatever font is
 * installed: its bytes differ from machine to machine, and nobody can select or search the words.
 */
#ifndef SIS_REPORT_PEN_H
#define SIS_REPORT_PEN_H

#include <stddef.h>

#include <sis/report.h>

#include "base/buf.h"

/* Colours by what they are for; SIS__FIRST + k is the k-th of six that every eye can tell apart. */
enum { SIS__INK, SIS__SOFT, SIS__RULE, SIS__PAPER, SIS__FIRST, SIS__COLOURS = 6 };

typedef struct sis__ink {
    int colour;
    double opacity; /* 0 stands for 1: opaque */
    double width;   /* of lines; 0 stands for 1 */
    int dashed;
    const unsigned char *rgb; /* another colour, for pictures; NULL: none */
} sis__ink;

typedef enum { SIS__START, SIS__MIDDLE, SIS__END } sis__anchor;

typedef struct sis__letters {
    double size; /* 0 stands for 12 */
    sis__anchor anchor;
    int colour, bold, upwards;
} sis__letters;

typedef struct sis__pen sis__pen;

typedef struct sis__pen_ops {
    void (*line)(sis__pen *p, const double *xy, size_t n, const sis__ink *ink);
    /* Polygons of parts[0], parts[1], ... points; what is inside an even number of them stays. */
    void (*area)(sis__pen *p, const double *xy, const size_t *parts, size_t n_parts,
                 const sis__ink *ink);
    void (*dot)(sis__pen *p, double x, double y, double r, const sis__ink *ink);
    void (*text)(sis__pen *p, double x, double y, const char *text, const sis__letters *letters);
    int (*finish)(sis__pen *p, sis__buf *out);
    void (*free)(sis__pen *p);
} sis__pen_ops;

/* What every pen begins with. */
struct sis__pen {
    const sis__pen_ops *ops;
    double width, height;
    int error;
};

/* `themed`: for the page, whose style says what the colours are; otherwise a whole SVG file with a
 * title. */
int sis__pen_svg(double width, double height, const char *title, int themed, sis__pen **out);

int sis__pen_cairo(double width, double height, sis_figure_format format, sis__pen **out);

/* Add what was drawn to `out`, and free the pen. The first error of any call on it. */
int sis__pen_finish(sis__pen *p, sis__buf *out);

/* ---- Shorthand ------------------------------------------------------------------------------- */

void sis__pen_line(sis__pen *p, double x1, double y1, double x2, double y2, sis__ink ink);
void sis__pen_path(sis__pen *p, const double *xy, size_t n, sis__ink ink);
void sis__pen_rect(sis__pen *p, double x, double y, double w, double h, sis__ink ink);
void sis__pen_shape(sis__pen *p, const double *xy, size_t n, sis__ink ink);
void sis__pen_dot(sis__pen *p, double x, double y, double r, sis__ink ink);
void sis__pen_text(sis__pen *p, double x, double y, const char *text, sis__letters letters);

/* The width of a text, near enough to lay out by, without asking any font. */
double sis__text_width(const char *text, double size);

/* Cut a text that is in `room` bytes so that it is no wider, with an ellipsis for the rest. */
void sis__text_fit(char *text, size_t room, double size, double width);

/* Red, green and blue of a colour on white paper. */
const unsigned char *sis__colour_rgb(int colour);

#endif
