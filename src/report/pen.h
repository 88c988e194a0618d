/* SPDX-License-Identifier: MIT
 *
 * A pen draws lines, areas, dots and words on paper of a fixed size, in points, y downwards. Plots
 * use this interface and come out as SVG (files, or inline in the page's colours), PNG or PDF.
 * Errors are kept: after one, drawing does nothing, and sis__pen_finish() returns it.
 *
 * SVG is not written by cairo, which draws letters as outlines of the installed font: its bytes
 * differ between machines, and the words cannot be selected or searched.
 */
#ifndef SIS_REPORT_PEN_H
#define SIS_REPORT_PEN_H

#include <stddef.h>

#include <sis/report.h>

#include "base/buf.h"

/* Colours by purpose; SIS__FIRST + k is the k-th of six colours safe for colour-blind readers. */
enum { SIS__INK, SIS__SOFT, SIS__RULE, SIS__PAPER, SIS__FIRST, SIS__COLOURS = 6 };

typedef struct sis__ink {
    int colour;
    double opacity; /* 0 means 1: opaque */
    double width;   /* of lines; 0 means 1 */
    int dashed;
    const unsigned char *rgb; /* another colour, for images; NULL: none */
} sis__ink;

typedef enum { SIS__START, SIS__MIDDLE, SIS__END } sis__anchor;

typedef struct sis__letters {
    double size; /* 0 means 12 */
    sis__anchor anchor;
    int colour, bold, upwards;
} sis__letters;

typedef struct sis__pen sis__pen;

typedef struct sis__pen_ops {
    void (*line)(sis__pen *p, const double *xy, size_t n, const sis__ink *ink);
    /* Polygons of parts[0], parts[1], ... points, filled by the even-odd rule. */
    void (*area)(sis__pen *p, const double *xy, const size_t *parts, size_t n_parts,
                 const sis__ink *ink);
    void (*dot)(sis__pen *p, double x, double y, double r, const sis__ink *ink);
    void (*text)(sis__pen *p, double x, double y, const char *text, const sis__letters *letters);
    int (*finish)(sis__pen *p, sis__buf *out);
    void (*free)(sis__pen *p);
} sis__pen_ops;

/* The first member of every pen. */
struct sis__pen {
    const sis__pen_ops *ops;
    double width, height;
    int error;
};

/* `themed`: inline in the page, whose style sets the colours; else a complete SVG file with a
 * title. */
int sis__pen_svg(double width, double height, const char *title, int themed, sis__pen **out);

int sis__pen_cairo(double width, double height, sis_figure_format format, sis__pen **out);

/* Append the drawing to `out` and free the pen. Returns the first error of any call on it. */
int sis__pen_finish(sis__pen *p, sis__buf *out);

/* ---- Shorthand ------------------------------------------------------------------------------- */

void sis__pen_line(sis__pen *p, double x1, double y1, double x2, double y2, sis__ink ink);
void sis__pen_path(sis__pen *p, const double *xy, size_t n, sis__ink ink);
void sis__pen_rect(sis__pen *p, double x, double y, double w, double h, sis__ink ink);
void sis__pen_shape(sis__pen *p, const double *xy, size_t n, sis__ink ink);
void sis__pen_dot(sis__pen *p, double x, double y, double r, sis__ink ink);
void sis__pen_text(sis__pen *p, double x, double y, const char *text, sis__letters letters);

/* An estimate of a text's width that is good enough for layout and needs no font. */
double sis__text_width(const char *text, double size);

/* Cut a text stored in `room` bytes to `width`, with an ellipsis. */
void sis__text_fit(char *text, size_t room, double size, double width);

/* Red, green and blue of a colour on white paper. */
const unsigned char *sis__colour_rgb(int colour);

#endif
