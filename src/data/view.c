/* SPDX-License-Identifier: MIT
 *
 * Converts images on access: treats arrays as images, moves channels to the end, resizes. The
 * stored data do not change.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "data/data.h"
#include "data/image.h"

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
    return rank == 2 || rank == 3
               ? SIS_OK
               : sis__fail(SIS_E_ARGUMENT,
                           "%s: an example has %zu ax%s; an image has 2, (height, width), or 3, "
                           "with channels",
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
                         "%s: images of shape (%zu, %zu, %zu) may have their channels "
                         "first or last; give --layout chw or hwc",
                         data->name, dims[0], dims[1], dims[2]);
    if (first)
        data->view = (sis__image_view){.rank = 3, .shape = {dims[1], dims[2], dims[0]}, .chw = 1};
    return SIS_OK;
}

/* ---- Resizing ------------------------------------------------------------------------------ */

int sis__data_fit(sis_data *data, const size_t size[3]) {
    size_t resized = 0, own[3];
    if (data->kind != SIS_KIND_IMAGE)
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: --fit needs images; give --kind image if the arrays are "
                         "images",
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
