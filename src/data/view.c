/* SPDX-License-Identifier: MIT
 *
 * Converts images on access: treats arrays as images, moves channels to the end, resizes. The
 * stored data do not change.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "data/data.h"
#include "data/image.h"

/* ---- Resizing ----------------------------------------------------------------------------------
 *
 * Rows and columns are independent, so one side is resized after the other by the same code: each
 * new pixel is a weighted sum of consecutive old ones. A shrinking side is averaged by area, with
 * pixels on the border counted in part. A growing side is interpolated between the two nearest pixel
 * centres; beyond the outermost centre its pixel is repeated. */

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

/* ---- Values -------------------------------------------------------------------------------- */

/* (height, width, channels) of example i as stored. */
static void stored_size(const sis_data *data, size_t i, size_t size[3]) {
    size_t rank;
    const size_t *dims = data->ops->shape(data, i, &rank);
    int chw = rank == 3 && data->view.chw;
    size[0] = dims[chw ? 1 : 0];
    size[1] = dims[chw ? 2 : 1];
    size[2] = rank == 3 ? dims[chw ? 0 : 2] : 1;
}

/* Move channels from the front to the end. */
static void turn(const double *in, const size_t size[3], double *out) {
    size_t places = size[0] * size[1];
    for (size_t p = 0; p < places; p++)
        for (size_t c = 0; c < size[2]; c++)
            out[p * size[2] + c] = in[c * places + p];
}

int sis__view_values(const sis_data *data, size_t i, double *out) {
    const sis__image_view *v = &data->view;
    const size_t to[3] = {v->shape[0], v->shape[1], v->rank == 3 ? v->shape[2] : 1};
    size_t size[3];
    stored_size(data, i, size);
    size_t n = size[0] * size[1] * size[2];
    double *stored = SIS_NEW_RAW(double, n), *turned = v->chw ? SIS_NEW_RAW(double, n) : stored;
    int code = stored && turned ? data->ops->values(data, i, stored) : SIS_E_NOMEM;
    if (code == SIS_OK && v->chw)
        turn(stored, size, turned);
    if (code == SIS_OK)
        code = sis__image_resize(turned, size, out, to);
    if (v->chw)
        free(turned);
    free(stored);
    return code;
}

/* ---- Arrays as images ---------------------------------------------------------------------- */

static int is_channels(size_t n) {
    return n == 1 || n == 3 || n == 4;
}

/* Are channels first? -1: ambiguous. */
static int channels_first(const size_t dims[3], const char *layout) {
    if (layout)
        return strcmp(layout, "chw") == 0;
    int first = is_channels(dims[0]), last = is_channels(dims[2]);
    return first == last ? -1 : first;
}

static int check_axes(const sis_data *data, const char *layout, size_t rank) {
    if (layout && strcmp(layout, "chw") != 0 && strcmp(layout, "hwc") != 0)
        return sis__fail(SIS_E_OPTION, "--layout: expected chw or hwc, found \"%s\"", layout);
    if (data->kind != SIS_KIND_ARRAY && data->kind != SIS_KIND_IMAGE)
        return sis__fail(SIS_E_ARGUMENT, "%s: --kind image needs arrays, found %s", data->name,
                         data->kind == SIS_KIND_TABLE ? "a table"
                         : data->kind == SIS_KIND_DNA ? "DNA"
                                                      : "texts");
    return rank == 2 || rank == 3 ? SIS_OK
                                  : sis__fail(SIS_E_ARGUMENT,
                                              "%s: an example has %zu ax%s; an image has 2, "
                                              "(height, width), or 3, with channels",
                                              data->name, rank, rank == 1 ? "is" : "es");
}

int sis__data_as_images(sis_data *data, const char *layout) {
    size_t rank;
    const size_t *dims = data->ops->shape(data, 0, &rank);
    int read_so = data->kind == SIS_KIND_IMAGE;
    int code = check_axes(data, layout, rank);
    if (code != SIS_OK)
        return code;
    data->kind = SIS_KIND_IMAGE;
    if (rank == 2 || read_so) /* image readers put channels last */
        return SIS_OK;
    int first = channels_first(dims, layout);
    if (first < 0)
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: images of shape (%zu, %zu, %zu) may have their channels first or "
                         "last; give --layout chw or hwc",
                         data->name, dims[0], dims[1], dims[2]);
    if (first)
        data->view = (sis__image_view){.rank = 3, .shape = {dims[1], dims[2], dims[0]}, .chw = 1};
    return SIS_OK;
}

/* ---- One size for all ---------------------------------------------------------------------- */

int sis__data_fit(sis_data *data, const size_t size[3]) {
    size_t resized = 0, own[3];
    if (data->kind != SIS_KIND_IMAGE)
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: --fit needs images; give --kind image if the arrays are images",
                         data->name);
    for (size_t k = 0; k < 3; k++)
        if (size[k] == 0 || size[k] > SIS__SIDE_MAX)
            return sis__fail(SIS_E_UNSUPPORTED, "--fit: images of (%zu, %zu, %zu) values", size[0],
                             size[1], size[2]);
    for (size_t i = 0; i < data->count; i++) {
        stored_size(data, i, own);
        resized += memcmp(own, size, sizeof own) != 0;
    }
    if (resized == 0)
        return SIS_OK;
    data->view.rank = size[2] == 1 ? 2 : 3;
    memcpy(data->view.shape, size, 3 * sizeof *size);
    snprintf(data->note, sizeof data->note, "%zu of %zu image%s fitted to %zu x %zu pixels%s",
             resized, data->count, data->count == 1 ? "" : "s", size[1], size[0],
             size[2] == 1 ? ", grey" : "");
    return SIS_OK;
}
