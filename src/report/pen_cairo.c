/* SPDX-License-Identifier: MIT
 *
 * A pen that draws with cairo: PNG at twice the size, and PDF. Invalid UTF-8 would put cairo into a
 * permanent error, so texts are repaired first.
 *
 * cairo is loaded by the first PNG or PDF, because it brings 16 other libraries. Its headers are
 * not needed: the functions and numbers below are part of its ABI, which is stable since version
 * 1.0 (PDF metadata: 1.16).
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/library.h"
#include "base/mem.h"
#include "report/html.h"
#include "report/pen.h"

enum { PNG_SCALE = 2 };

/* ---- The library ----------------------------------------------------------------------------- */

typedef struct surface surface;
typedef struct context context;
typedef struct {
    double x_bearing, y_bearing, width, height, x_advance, y_advance;
} text_extents;
typedef int write_bytes(void *ctx, const unsigned char *bytes, unsigned n);

enum { SUCCESS = 0, NO_MEMORY = 1 }; /* status */
enum { RGB24 = 1, EVEN_ODD = 1, ROUND_JOIN = 1, UPRIGHT = 0, BOLD = 1, CREATE_DATE = 5 };

#define CALLS(X)                                                                                   \
    X(create, context *, (surface *))                                                              \
    X(destroy, void, (context *))                                                                  \
    X(status, int, (context *))                                                                    \
    X(status_to_string, const char *, (int))                                                       \
    X(save, void, (context *))                                                                     \
    X(restore, void, (context *))                                                                  \
    X(scale, void, (context *, double, double))                                                    \
    X(translate, void, (context *, double, double))                                                \
    X(rotate, void, (context *, double))                                                           \
    X(set_source_rgba, void, (context *, double, double, double, double))                          \
    X(set_line_width, void, (context *, double))                                                   \
    X(set_line_join, void, (context *, int))                                                       \
    X(set_dash, void, (context *, const double *, int, double))                                    \
    X(set_fill_rule, void, (context *, int))                                                       \
    X(new_path, void, (context *))                                                                 \
    X(new_sub_path, void, (context *))                                                             \
    X(close_path, void, (context *))                                                               \
    X(move_to, void, (context *, double, double))                                                  \
    X(line_to, void, (context *, double, double))                                                  \
    X(arc, void, (context *, double, double, double, double, double))                              \
    X(stroke, void, (context *))                                                                   \
    X(fill, void, (context *))                                                                     \
    X(select_font_face, void, (context *, const char *, int slant, int weight))                    \
    X(set_font_size, void, (context *, double))                                                    \
    X(text_extents, void, (context *, const char *, text_extents *))                               \
    X(show_text, void, (context *, const char *))                                                  \
    X(image_surface_create, surface *, (int format, int width, int height))                        \
    X(pdf_surface_create_for_stream, surface *, (write_bytes *, void *, double, double))           \
    X(pdf_surface_set_metadata, void, (surface *, int, const char *))                              \
    X(surface_write_to_png_stream, int, (surface *, write_bytes *, void *))                        \
    X(surface_flush, void, (surface *))                                                            \
    X(surface_finish, void, (surface *))                                                           \
    X(surface_status, int, (surface *))                                                            \
    X(surface_destroy, void, (surface *))

static struct {
#define POINTER(name, result, arguments) result(*name) arguments;
    CALLS(POINTER)
#undef POINTER
    int is_loaded;
} cairo;

static void load(void) {
    static const char *const files[] = {"libcairo.so.2", "libcairo.2.dylib", NULL};
    void *library = sis__library_open(files);
#define TAKE(name, result, arguments) &&sis__library_take(library, "cairo_" #name, &cairo.name)
    cairo.is_loaded = library CALLS(TAKE);
#undef TAKE
}

static int ensure_loaded(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return cairo.is_loaded ? SIS_OK
                           : sis__fail(SIS_E_UNSUPPORTED,
                                       "PNG and PDF figures need cairo (libcairo.so.2); install it "
                                       "(Debian: libcairo2) or write SVG");
}

/* ---- The pen --------------------------------------------------------------------------------- */

typedef struct {
    sis__pen pen;
    sis_figure_format format;
    surface *surface;
    context *cr;
    sis__buf pdf;
} paper;

static int append(void *ctx, const unsigned char *bytes, unsigned n) {
    sis__buf_add((sis__buf *)ctx, bytes, n);
    return sis__buf_error((sis__buf *)ctx) ? NO_MEMORY : SUCCESS;
}

static void take_colour(paper *a, int colour, double opacity, const unsigned char *rgb) {
    const unsigned char *c = rgb ? rgb : sis__colour_rgb(colour);
    cairo.set_source_rgba(a->cr, c[0] / 255.0, c[1] / 255.0, c[2] / 255.0,
                          opacity > 0 ? opacity : 1);
}

static double bounded(double v) {
    return isnan(v) ? 0 : fmin(1e6, fmax(-1e6, v));
}

static void trace(paper *a, const double *xy, size_t n) {
    for (size_t i = 0; i < n; i++)
        cairo.line_to(a->cr, bounded(xy[2 * i]), bounded(xy[2 * i + 1]));
}

static void draw_line(sis__pen *p, const double *xy, size_t n, const sis__ink *ink) {
    static const double dashes[] = {5, 4};
    paper *a = (paper *)p;
    take_colour(a, ink->colour, ink->opacity, ink->rgb);
    cairo.set_line_width(a->cr, ink->width > 0 ? ink->width : 1);
    cairo.set_dash(a->cr, dashes, ink->dashed ? 2 : 0, 0);
    cairo.new_path(a->cr); /* drop the current point left by the last text */
    trace(a, xy, n);
    cairo.stroke(a->cr);
}

static void draw_area(sis__pen *p, const double *xy, const size_t *parts, size_t n_parts,
                      const sis__ink *ink) {
    paper *a = (paper *)p;
    take_colour(a, ink->colour, ink->opacity, ink->rgb);
    cairo.set_fill_rule(a->cr, EVEN_ODD);
    cairo.new_path(a->cr);
    for (size_t k = 0; k < n_parts; xy += 2 * parts[k++]) {
        cairo.new_sub_path(a->cr);
        trace(a, xy, parts[k]);
        cairo.close_path(a->cr);
    }
    cairo.fill(a->cr);
}

static void draw_dot(sis__pen *p, double x, double y, double r, const sis__ink *ink) {
    paper *a = (paper *)p;
    take_colour(a, ink->colour, ink->opacity, ink->rgb);
    cairo.new_path(a->cr);
    cairo.arc(a->cr, bounded(x), bounded(y), r, 0, 2 * acos(-1));
    cairo.fill(a->cr);
}

static void draw_text(sis__pen *p, double x, double y, const char *text,
                      const sis__letters *letters) {
    paper *a = (paper *)p;
    sis__buf clean;
    text_extents box;
    sis__buf_init(&clean);
    sis__plain_text(&clean, text);
    if ((p->error = sis__buf_error(&clean)) == SIS_OK) {
        take_colour(a, letters->colour, 1, NULL);
        cairo.select_font_face(a->cr, "sans-serif", UPRIGHT, letters->bold ? BOLD : 0);
        cairo.set_font_size(a->cr, letters->size);
        cairo.text_extents(a->cr, clean.len ? clean.data : "", &box);
        cairo.save(a->cr);
        cairo.translate(a->cr, bounded(x), bounded(y));
        if (letters->upwards)
            cairo.rotate(a->cr, -acos(0));
        cairo.move_to(a->cr, -box.x_advance * (double)letters->anchor / 2, 0);
        cairo.show_text(a->cr, clean.len ? clean.data : "");
        cairo.restore(a->cr);
    }
    sis__buf_release(&clean);
}

static int finish(sis__pen *p, sis__buf *out) {
    paper *a = (paper *)p;
    int status = cairo.status(a->cr);
    if (status == SUCCESS && a->format == SIS_FIGURE_PNG) {
        cairo.surface_flush(a->surface);
        status = cairo.surface_write_to_png_stream(a->surface, append, out);
    } else if (status == SUCCESS) {
        cairo.surface_finish(a->surface);
        status = cairo.surface_status(a->surface);
        if (status == SUCCESS && sis__buf_error(&a->pdf) == SIS_OK)
            sis__buf_add(out, a->pdf.data, a->pdf.len);
    }
    if (sis__buf_error(&a->pdf) || sis__buf_error(out) || status == NO_MEMORY)
        return sis__fail(SIS_E_NOMEM, "out of memory");
    return status ? sis__fail(SIS_E_IO, "cairo: %s", cairo.status_to_string(status)) : SIS_OK;
}

static void free_pen(sis__pen *p) {
    paper *a = (paper *)p;
    cairo.destroy(a->cr);
    cairo.surface_destroy(a->surface);
    sis__buf_release(&a->pdf);
    free(a);
}

int sis__pen_cairo(double width, double height, sis_figure_format format, sis__pen **out) {
    static const sis__pen_ops ops = {draw_line, draw_area, draw_dot, draw_text, finish, free_pen};
    *out = NULL;
    if (ensure_loaded() != SIS_OK)
        return SIS_E_UNSUPPORTED;
    paper *a = SIS_NEW(paper, 1);
    *out = (sis__pen *)a;
    if (!a)
        return SIS_E_NOMEM;
    a->pen = (sis__pen){&ops, width, height, 0};
    a->format = format;
    sis__buf_init(&a->pdf);
    if (format == SIS_FIGURE_PNG)
        a->surface = cairo.image_surface_create(RGB24, PNG_SCALE * (int)ceil(width),
                                                PNG_SCALE * (int)ceil(height));
    else
        a->surface = cairo.pdf_surface_create_for_stream(append, &a->pdf, width, height);
    if (format == SIS_FIGURE_PDF) /* no date, so that output is reproducible */
        cairo.pdf_surface_set_metadata(a->surface, CREATE_DATE, "2000-01-01T00:00:00Z");
    a->cr = cairo.create(a->surface);
    if (format == SIS_FIGURE_PNG)
        cairo.scale(a->cr, PNG_SCALE, PNG_SCALE);
    cairo.set_line_join(a->cr, ROUND_JOIN);
    sis__pen_rect(*out, 0, 0, width, height, (sis__ink){.colour = SIS__PAPER});
    return SIS_OK;
}
