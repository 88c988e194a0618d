/* SPDX-License-Identifier: MIT
 *
 * Images in half blocks, two rows of pixels per line: the input, then each subset bright on the
 * darkened input. Without colours a pixel is on or off: bright pixels of the input, chosen ones of
 * a subset.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <sis/record.h>

#include "base/number.h"
#include "report/text.h"

enum { INDENT = 6, GAP = 2 };

typedef struct {
    const sis__text *p;
    sis_raster at; /* layout of the values */
    double low, high;
    int *places;
    size_t owed; /* pending spaces, printed before further text on the line */
} picture;

/* 0 if the record is no image, or one that does not fit. */
static int picture_init(picture *f, const sis__text *p) {
    const sis_record *r = p->r;
    *f = (picture){.p = p, .low = INFINITY, .high = -INFINITY};
    if (!r->drawing.values || sis_kind_of(r->drawing.kind) != SIS_KIND_IMAGE ||
        !sis_record_raster(r, &f->at))
        return 0;
    for (size_t v = 0; v < r->drawing.n_values; v++) {
        f->low = fmin(f->low, r->drawing.values[v]);
        f->high = fmax(f->high, r->drawing.values[v]);
    }
    return f->at.columns + INDENT <= p->width;
}

/* The brightness of one channel of a pixel, 0 to 1. */
static double brightness(const picture *f, size_t y, size_t x, size_t c) {
    const double *values = f->p->r->drawing.values;
    double v = values[y * f->at.row_step + x * f->at.column_step + c * f->at.channel_step];
    return f->high > f->low ? (v - f->low) / (f->high - f->low) : 0;
}

/* The feature of a pixel, -1 if it has none. */
static int feature_at(const picture *f, size_t y, size_t x) {
    const sis_record *r = f->p->r;
    size_t v = y * f->at.row_step + x * f->at.column_step;
    int feature = r->drawing.feature_map ? r->drawing.feature_map[v] : (int)v;
    return (size_t)feature < r->collection.n_features ? feature : -1;
}

/* One of 256 colours: 24 greys, or a cube of 6 x 6 x 6. */
static int colour_of(const picture *f, size_t y, size_t x, double light) {
    if (f->at.channels < 3)
        return 232 + (int)(23.0 * light * brightness(f, y, x, 0) + 0.5);
    int code = 16, weight[3] = {36, 6, 1};
    for (size_t c = 0; c < 3; c++)
        code += weight[c] * (int)(5.0 * light * brightness(f, y, x, c) + 0.5);
    return code;
}

/* Frame 0 is the input, frame k + 1 subset k. */
static int pixel_colour(const picture *f, size_t frame, size_t y, size_t x) {
    if (y >= f->at.rows)
        return 0;
    int feature = feature_at(f, y, x);
    size_t n = f->p->r->collection.n_features;
    if (frame == 0)
        return colour_of(f, y, x, 1);
    if (feature < 0 || f->places[feature] != (int)frame - 1)
        return colour_of(f, y, x, 0.35);
    return sis__text_colour(frame - 1, (size_t)f->places[n + (size_t)feature],
                            f->p->r->collection.subsets[frame - 1].n);
}

static int pixel_set(const picture *f, size_t frame, size_t y, size_t x) {
    double sum = 0;
    if (y >= f->at.rows)
        return 0;
    int feature = feature_at(f, y, x);
    if (frame)
        return feature >= 0 && f->places[feature] == (int)frame - 1;
    for (size_t c = 0; c < f->at.channels; c++)
        sum += brightness(f, y, x, c);
    return sum >= 0.5 * (double)f->at.channels;
}

/* Print pending spaces, then this. */
__attribute__((format(printf, 2, 3))) static void put(picture *f, const char *format, ...) {
    char text[128];
    va_list args;
    va_start(args, format);
    sis__vformat(text, sizeof text, format, args);
    va_end(args);
    sis__buf_printf(f->p->out, "%*s%s", (int)f->owed, "", text);
    f->owed = 0;
}

static void end_line(picture *f) {
    sis__buf_char(f->p->out, '\n');
    f->owed = INDENT;
}

static void put_line(picture *f, size_t frame, size_t y) {
    static const char *const blocks[] = {NULL, "\u2580", "\u2584", "\u2588"};
    for (size_t x = 0; x < f->at.columns; x++) {
        int set = pixel_set(f, frame, y, x) + 2 * pixel_set(f, frame, y + 1, x);
        if (f->p->opt->colour)
            put(f, "\033[38;5;%d;48;5;%dm\u2580", pixel_colour(f, frame, y, x),
                pixel_colour(f, frame, y + 1, x));
        else if (set)
            put(f, "%s", blocks[set]);
        else
            f->owed++;
    }
    if (f->p->opt->colour)
        put(f, "\033[0m");
}

static void put_title(picture *f, size_t frame) {
    const sis_collection *c = &f->p->r->collection;
    char text[64] = "input";
    if (frame)
        sis__format(text, sizeof text, "%zu  %.4g (%zu)", frame, c->subsets[frame - 1].score,
                    c->subsets[frame - 1].n);
    size_t n = strlen(text) < f->at.columns ? strlen(text) : f->at.columns;
    put(f, "%.*s", (int)n, text);
    f->owed += f->at.columns - n;
}

/* Print frames side by side. */
static void print_frames(picture *f, size_t from, size_t to) {
    f->owed = INDENT;
    for (size_t k = from; k < to; k++, f->owed += GAP)
        put_title(f, k);
    end_line(f);
    for (size_t y = 0; y < f->at.rows; y += 2) {
        for (size_t k = from; k < to; k++, f->owed += GAP)
            put_line(f, k, y);
        end_line(f);
    }
}

int sis__text_image(const sis__text *p) {
    picture f;
    if (!picture_init(&f, p) || !(f.places = sis__text_places(p)))
        return 0;
    size_t frames = sis__text_subsets(p) + 1;
    size_t beside = (p->width - INDENT + GAP) / (f.at.columns + GAP);
    beside = beside ? beside : 1;
    for (size_t from = 0; from < frames; from += beside)
        print_frames(&f, from, from + beside < frames ? from + beside : frames);
    sis__text_paint(p, "2",
                    "      above each subset: its number, its score alone, how many %ss it has",
                    sis_record_unit(p->r));
    sis__buf_char(p->out, '\n');
    free(f.places);
    return 1;
}
