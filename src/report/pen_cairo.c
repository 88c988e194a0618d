/* SPDX-License-Identifier: MIT
 *
 * A pen that draws with cairo: PNG at twice the size, and PDF. Text that is not UTF-8 would put
 * cairo into an error for good, so it is mended first.
 */
#include <math.h>
#include <stdlib.h>

#include <cairo-pdf.h>
#include <cairo.h>

#include "base/error.h"
#include "base/mem.h"
#include "report/html.h"
#include "report/pen.h"

enum { PNG_SCALE = 2 };

typedef struct {
    sis__pen pen;
    sis_figure_format format;
    cairo_surface_t *surface;
    cairo_t *cr;
    sis__buf pdf;
} paper;

static cairo_status_t append(void *ctx, const unsigned char *bytes, unsigned n) {
    sis__buf_add((sis__buf *)ctx, bytes, n);
    return sis__buf_error((sis__buf *)ctx) ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static void take_colour(paper *a, int colour, double opacity, const unsigned char *rgb) {
    const unsigned char *c = rgb ? rgb : sis__colour_rgb(colour);
    cairo_set_source_rgba(a->cr, c[0] / 255.0, c[1] / 255.0, c[2] / 255.0,
                          opacity > 0 ? opacity : 1);
}

static double bounded(double v) {
    return isnan(v) ? 0 : fmin(1e6, fmax(-1e6, v));
}

static void trace(paper *a, const double *xy, size_t n) {
    for (size_t i = 0; i < n; i++)
        cairo_line_to(a->cr, bounded(xy[2 * i]), bounded(xy[2 * i + 1]));
}

static void draw_line(sis__pen *p, const double *xy, size_t n, const sis__ink *ink) {
    static const double dashes[] = {5, 4};
    paper *a = (paper *)p;
    take_colour(a, ink->colour, ink->opacity, ink->rgb);
    cairo_set_line_width(a->cr, ink->width > 0 ? ink->width : 1);
    cairo_set_dash(a->cr, dashes, ink->dashed ? 2 : 0, 0);
    cairo_new_path(a->cr); /* where the last text ended is no beginning */
    trace(a, xy, n);
    cairo_stroke(a->cr);
}

static void draw_area(sis__pen *p, const double *xy, const size_t *parts, size_t n_parts,
                      const sis__ink *ink) {
    paper *a = (paper *)p;
    take_colour(a, ink->colour, ink->opacity, ink->rgb);
    cairo_set_fill_rule(a->cr, CAIRO_FILL_RULE_EVEN_ODD);
    cairo_new_path(a->cr);
    for (size_t k = 0; k < n_parts; xy += 2 * parts[k++]) {
        cairo_new_sub_path(a->cr);
        trace(a, xy, parts[k]);
        cairo_close_path(a->cr);
    }
    cairo_fill(a->cr);
}

static void draw_dot(sis__pen *p, double x, double y, double r, const sis__ink *ink) {
    paper *a = (paper *)p;
    take_colour(a, ink->colour, ink->opacity, ink->rgb);
    cairo_new_path(a->cr);
    cairo_arc(a->cr, bounded(x), bounded(y), r, 0, 2 * acos(-1));
    cairo_fill(a->cr);
}

static void draw_text(sis__pen *p, double x, double y, const char *text,
                      const sis__letters *letters) {
    paper *a = (paper *)p;
    sis__buf clean;
    cairo_text_extents_t box;
    sis__buf_init(&clean);
    sis__plain_text(&clean, text);
    if ((p->error = sis__buf_error(&clean)) == SIS_OK) {
        take_colour(a, letters->colour, 1, NULL);
        cairo_select_font_face(a->cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                               letters->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
        cairo_set_font_size(a->cr, letters->size);
        cairo_text_extents(a->cr, clean.len ? clean.data : "", &box);
        cairo_save(a->cr);
        cairo_translate(a->cr, bounded(x), bounded(y));
        if (letters->upwards)
            cairo_rotate(a->cr, -acos(0));
        cairo_move_to(a->cr, -box.x_advance * (double)letters->anchor / 2, 0);
        cairo_show_text(a->cr, clean.len ? clean.data : "");
        cairo_restore(a->cr);
    }
    sis__buf_release(&clean);
}

static int finish(sis__pen *p, sis__buf *out) {
    paper *a = (paper *)p;
    cairo_status_t status = cairo_status(a->cr);
    if (status == CAIRO_STATUS_SUCCESS && a->format == SIS_FIGURE_PNG) {
        cairo_surface_flush(a->surface);
        status = cairo_surface_write_to_png_stream(a->surface, append, out);
    } else if (status == CAIRO_STATUS_SUCCESS) {
        cairo_surface_finish(a->surface);
        status = cairo_surface_status(a->surface);
        if (status == CAIRO_STATUS_SUCCESS && sis__buf_error(&a->pdf) == SIS_OK)
            sis__buf_add(out, a->pdf.data, a->pdf.len);
    }
    if (sis__buf_error(&a->pdf) || sis__buf_error(out) || status == CAIRO_STATUS_NO_MEMORY)
        return sis__fail(SIS_E_NOMEM, "out of memory");
    return status ? sis__fail(SIS_E_IO, "cairo: %s", cairo_status_to_string(status)) : SIS_OK;
}

static void free_pen(sis__pen *p) {
    paper *a = (paper *)p;
    cairo_destroy(a->cr);
    cairo_surface_destroy(a->surface);
    sis__buf_release(&a->pdf);
    free(a);
}

int sis__pen_cairo(double width, double height, sis_figure_format format, sis__pen **out) {
    static const sis__pen_ops ops = {draw_line, draw_area, draw_dot, draw_text, finish, free_pen};
    paper *a = SIS_NEW(paper, 1);
    *out = (sis__pen *)a;
    if (!a)
        return SIS_E_NOMEM;
    a->pen = (sis__pen){&ops, width, height, 0};
    a->format = format;
    sis__buf_init(&a->pdf);
    if (format == SIS_FIGURE_PNG)
        a->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, PNG_SCALE * (int)ceil(width),
                                                PNG_SCALE * (int)ceil(height));
    else
        a->surface = cairo_pdf_surface_create_for_stream(append, &a->pdf, width, height);
    if (format == SIS_FIGURE_PDF) /* no time in it: the same bytes every day */
        cairo_pdf_surface_set_metadata(a->surface, CAIRO_PDF_METADATA_CREATE_DATE,
                                       "2000-01-01T00:00:00Z");
    a->cr = cairo_create(a->surface);
    if (format == SIS_FIGURE_PNG)
        cairo_scale(a->cr, PNG_SCALE, PNG_SCALE);
    cairo_set_line_join(a->cr, CAIRO_LINE_JOIN_ROUND);
    sis__pen_rect(*out, 0, 0, width, height, (sis__ink){.colour = SIS__PAPER});
    return SIS_OK;
}
