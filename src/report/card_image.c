/* SPDX-License-Identifier: MIT
 *
 * Cards of images: the original, then each subset. Chosen pixels are orange if the image is bright
 * there and blue if it is dark; the rest is a faint copy that is visible on light and dark
 * backgrounds. Chosen pixels of colour images keep their colours.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/record.h>

#include "base/mem.h"
#include "report/page.h"

static const unsigned char DARK[3] = {0, 114, 178}, BRIGHT[3] = {230, 120, 0};

static int is_coloured(const sis__report_example *e) {
    return e->at.channels >= 3;
}

/* The red, green or blue value of a pixel; a grey image has one channel for all. */
static double channel(const sis__report_example *e, size_t pixel, size_t c) {
    size_t k = is_coloured(e) ? c : 0;
    return e->record.drawing.values[sis__pixel_value(e, pixel) + k * e->at.channel_step];
}

/* Maps the range of the image's values, at least 0 to 1, to 0..1. */
typedef struct {
    double low, scale;
} range;

static range find_range(const sis_record *r) {
    double low = 0, high = 1;
    for (size_t v = 0; v < r->drawing.n_values; v++) {
        low = fmin(low, r->drawing.values[v]);
        high = fmax(high, r->drawing.values[v]);
    }
    return (range){low, 1 / (high / 2 - low / 2) / 2}; /* halved to avoid overflow */
}

static double normal(const range *a, double v) {
    return fmin(1, fmax(0, v * a->scale - a->low * a->scale));
}

static void paint_original(const sis__report_example *e, const range *a, size_t pixel,
                           unsigned char *rgba) {
    for (size_t c = 0; c < 3; c++)
        rgba[c] = (unsigned char)lrint(255 * normal(a, channel(e, pixel, c)));
    rgba[3] = 255;
}

static void paint_ghost(const sis__report_example *e, const range *a, size_t pixel,
                        unsigned char *rgba) {
    double grey = 0;
    for (size_t c = 0; c < 3; c++)
        grey += normal(a, channel(e, pixel, c)) / 3;
    rgba[0] = rgba[1] = rgba[2] = 128;
    rgba[3] = (unsigned char)(24 + 16 * lrint(5 * grey)); /* few levels make small files */
}

static void paint_chosen(const sis__report_example *e, const range *a, size_t pixel,
                         unsigned char *rgba) {
    double v = normal(a, channel(e, pixel, 0));
    const unsigned char *colour = v >= 0.5 ? BRIGHT : DARK;
    double strength = 0.55 + 0.45 * (v >= 0.5 ? 2 * v - 1 : 1 - 2 * v);
    if (is_coloured(e)) {
        paint_original(e, a, pixel, rgba);
        return;
    }
    for (size_t c = 0; c < 3; c++)
        rgba[c] = colour[c];
    rgba[3] = (unsigned char)(15 * lrint(17 * strength));
}

int sis__paint_image(const sis__report_example *e, size_t k, unsigned char **out) {
    size_t n = sis__pixels(e);
    sis__choices choices = {0};
    range a = find_range(&e->record);
    unsigned char *rgba = (unsigned char *)sis__alloc_raw(n, 4);
    int code = rgba ? SIS_OK : SIS_E_NOMEM;
    if (code == SIS_OK && k != SIZE_MAX)
        code = sis__choices_make(&e->record.collection, k, 1, &choices);
    for (size_t p = 0; code == SIS_OK && p < n; p++) {
        if (k == SIZE_MAX)
            paint_original(e, &a, p, rgba + 4 * p);
        else if (sis__choices_find(&choices, sis__pixel_feature(e, p)))
            paint_chosen(e, &a, p, rgba + 4 * p);
        else
            paint_ghost(e, &a, p, rgba + 4 * p);
    }
    free(choices.items);
    if (code != SIS_OK) {
        free(rgba);
        rgba = NULL;
    }
    *out = rgba;
    return code;
}

/* The attribution of each pixel. */
static int paint_attributions(const sis__report_example *e, unsigned char **out) {
    size_t n = sis__pixels(e);
    double max = sis__attribution_max(&e->record);
    if (!(*out = (unsigned char *)sis__alloc_raw(n, 4)))
        return SIS_E_NOMEM;
    for (size_t p = 0; p < n; p++) {
        int f = sis__pixel_feature(e, p);
        double v = f < 0 || !isfinite(e->record.attributions[f]) ? 0 : e->record.attributions[f];
        memcpy(*out + 4 * p, v > 0 ? BRIGHT : DARK, 3);
        (*out)[4 * p + 3] = (unsigned char)(15 * lrint(17 * fabs(v) / max));
    }
    return SIS_OK;
}

static const size_t ORIGINAL = SIZE_MAX, ATTRIBUTIONS = SIZE_MAX - 1;

static int add_picture(sis__buf *b, const sis__report_example *e, size_t k, const char *alt) {
    unsigned char *rgba;
    int code = k == ATTRIBUTIONS ? paint_attributions(e, &rgba) : sis__paint_image(e, k, &rgba);
    if (code != SIS_OK)
        return code;
    sis__buf_printf(b, "<img width=\"%zu\" height=\"%zu\" alt=\"%s\" loading=\"lazy\" src=\"",
                    e->at.columns, e->at.rows, alt);
    code = sis__html_png(b, rgba, e->at.columns, e->at.rows);
    sis__buf_str(b, "\">");
    free(rgba);
    return code;
}

int sis__thumb_image(sis__buf *b, const sis__report_example *e, size_t k) {
    return add_picture(b, e, k, "subset");
}

/* The number of subsets drawn: each is an image with all pixels. */
static size_t pictures_of(const sis__report_example *e) {
    enum { MIN = 8, MAX = 200, PIXELS = 1 << 22 };
    size_t fit = PIXELS / sis__pixels(e), n = e->record.collection.n_subsets;
    fit = fit < MIN ? MIN : fit > MAX ? MAX : fit;
    return n < fit ? n : fit;
}

int sis__card_image(sis__buf *b, const sis__report_example *e) {
    size_t shown = pictures_of(e), more = e->record.collection.n_subsets - shown;
    const char *unit = sis_record_unit(&e->record);
    sis__buf_printf(b, "<div class=\"pictures\">\n<figure class=\"original%s\">",
                    is_coloured(e) ? " colour" : "");
    int code = add_picture(b, e, ORIGINAL, "original");
    sis__buf_printf(b,
                    "<figcaption>original<br><span class=\"soft\">%zu \xC3\x97 %zu</span>"
                    "</figcaption></figure>\n",
                    e->at.columns, e->at.rows);
    for (size_t k = 0; code == SIS_OK && k < shown; k++) {
        const sis_subset *s = &e->record.collection.subsets[k];
        sis__buf_str(b, "<figure class=\"subset\">");
        code = add_picture(b, e, k, "chosen pixels");
        sis__html(b,
                  "<figcaption>%'zu %s%s<br><span class=\"soft\">score %g</span></figcaption>"
                  "</figure>\n",
                  s->n, unit, sis__plural(s->n), s->score);
    }
    if (code == SIS_OK && sis__attribution_max(&e->record) > 0) {
        sis__buf_str(b, "<figure class=\"attributed\">");
        code = add_picture(b, e, ATTRIBUTIONS, "attributions");
        sis__html(b,
                  "<figcaption>attributions<br><span class=\"soft\">of <bdi>%.40s</bdi></span>"
                  "</figcaption></figure>\n",
                  e->record.question.method);
    }
    sis__buf_str(b, "</div>\n");
    if (more)
        sis__html(b, "<p class=\"soft\">And %zu more subset%s.</p>\n", more, sis__plural(more));
    return code;
}
