/* SPDX-License-Identifier: MIT
 *
 * Draws digits for use without MNIST: strokes with round ends on 28 x 28 pixels. A pixel is
 * brighter the closer it is to the stroke.
 */
#include <math.h>
#include <stdio.h>

#include "demo.h"
#include "output.h"

enum { SIDE = 28, DIGITS = 3, POINTS = 24 };

typedef struct {
    double x, y;
} point;

/* A digit: points in pixels, lines between them; x < 0 lifts the pen. */
typedef struct {
    size_t n;
    point at[POINTS];
} strokes;

static const strokes drawn[DIGITS] = {
    {3, {{8, 7}, {20, 7}, {12, 22}}},
    {6, {{10, 6}, {8, 15}, {20, 15}, {-1, 0}, {19, 7}, {18, 23}}},
    {13,
     {{14, 6},
      {10.5, 7.5},
      {8.5, 11},
      {8, 15},
      {9.5, 19.5},
      {12.5, 22},
      {16, 21.5},
      {19, 18.5},
      {20, 14.5},
      {19.5, 10},
      {17.5, 7},
      {15, 5.8},
      {14, 6}}},
};

/* Distance from p to the line from a to b. */
static double distance(point p, point a, point b) {
    double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
    double t = length > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

static unsigned char brightness(const strokes *s, point p) {
    double nearest = SIDE;
    for (size_t i = 0; i + 1 < s->n; i++)
        if (s->at[i].x >= 0 && s->at[i + 1].x >= 0)
            nearest = fmin(nearest, distance(p, s->at[i], s->at[i + 1]));
    double light = 2.1 - nearest;
    return (unsigned char)(255 * (light < 0 ? 0 : light > 1 ? 1 : light));
}

int cli_demo_digits(const char *path) {
    static const unsigned char head[16] = {0, 0, 8, 3,    0, 0, 0, DIGITS,
                                           0, 0, 0, SIDE, 0, 0, 0, SIDE};
    cli_output out;
    int status = cli_output_open(&out, path);
    if (status == CLI_DONE)
        status = cli_output_add(&out, (const char *)head, sizeof head);
    for (size_t i = 0; status == CLI_DONE && i < DIGITS; i++)
        for (int v = 0; v < SIDE * SIDE; v++)
            fputc(brightness(&drawn[i], (point){v % SIDE, v / SIDE}), out.file);
    return cli_output_close(&out, status);
}
