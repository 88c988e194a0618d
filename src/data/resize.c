/* SPDX-License-Identifier: MIT
 *
 * Resizing of images. Rows and columns are independent, so one side is resized after the other by
 * the same code: each new pixel is a weighted sum of consecutive old ones. A shrinking side is
 * averaged by area, with pixels on the border counted in part. A growing side is interpolated
 * between the two nearest pixel centres; beyond the outermost centre its pixel is repeated.
 */
#include "data/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* The weight of old pixel k in new pixel i, when n pixels become m. */
static double weight(size_t k, size_t i, size_t n, size_t m) {
    double scale = (double)n / (double)m;
    if (m < n) {
        double low = fmax((double)i * scale, (double)k);
        double high = fmin((double)(i + 1) * scale, (double)(k + 1));
        return fmax(0, high - low) / scale;
    }
    double at = fmin(fmax(((double)i + 0.5) * scale - 0.5, 0), (double)(n - 1));
    return fmax(0, 1 - fabs(at - (double)k));
}

/* The range of old pixels that contribute to new pixel i: returns the first, *end is past the
 * last. */
static size_t reach(size_t i, size_t n, size_t m, size_t *end) {
    double scale = (double)n / (double)m;
    double low = m < n ? (double)i * scale : ((double)i + 0.5) * scale - 1.5;
    double high = m < n ? (double)(i + 1) * scale : ((double)i + 0.5) * scale + 1.5;
    *end = high < (double)n ? (size_t)ceil(high) : n;
    return low > 0 ? (size_t)low : 0;
}

/* in (before, n, after) -> out (before, m, after). */
static void resample(const double *in, size_t before, size_t n, size_t after, double *out,
                     size_t m) {
    for (size_t i = 0; i < m; i++) {
        size_t end, first = reach(i, n, m, &end);
        for (size_t b = 0; b < before; b++) {
            double *to = out + (b * m + i) * after;
            memset(to, 0, after * sizeof *to);
            for (size_t k = first; k < end; k++) {
                double w = weight(k, i, n, m);
                const double *from = in + (b * n + k) * after;
                for (size_t a = 0; w > 0 && a < after; a++)
                    to[a] += w * from[a];
            }
        }
    }
}

/* (pixels, from) -> (pixels, to). */
static void convert(const double *in, size_t pixels, size_t from, double *out, size_t to) {
    static const double light[3] = {0.299, 0.587, 0.114};
    for (size_t p = 0; p < pixels; p++)
        for (size_t c = 0; c < to; c++) {
            const double *v = in + p * from;
            out[p * to + c] = from == to  ? v[c]
                              : from == 1 ? v[0]
                                          : light[0] * v[0] + light[1] * v[1] + light[2] * v[2];
        }
}

int sis__image_resize(const double *values, const size_t from[3], double *out, const size_t to[3]) {
    if (from[2] != to[2] && from[2] != 1 && !(from[2] == 3 && to[2] == 1))
        return sis__fail(SIS_E_UNSUPPORTED,
                         "images of %zu channels cannot be fitted to %zu channels", from[2], to[2]);
    double *rows = (double *)sis__alloc(to[0] * from[1], from[2] * sizeof *rows);
    double *small = (double *)sis__alloc(to[0] * to[1], from[2] * sizeof *small);
    int code = rows && small ? SIS_OK : SIS_E_NOMEM;
    if (code == SIS_OK) {
        resample(values, 1, from[0], from[1] * from[2], rows, to[0]);
        resample(rows, to[0], from[1], from[2], small, to[1]);
        convert(small, to[0] * to[1], from[2], out, to[2]);
    }
    free(rows);
    free(small);
    return code;
}
