/* SPDX-License-Identifier: MIT
 *
 * See shape.h.
 */
#include "model/shape.h"

#include <stdio.h>
#include <string.h>

#include "base/dims.h"
#include "base/error.h"

/* Limit of a tensor with a fixed number of rows, all of which are filled to predict one. */
static const size_t MAX_FILLED = (size_t)1 << 28;

void sis__shape_text(const sis__shape *s, char text[SIS__SHAPE_TEXT]) {
    size_t used = (size_t)snprintf(text, SIS__SHAPE_TEXT, "[");
    for (size_t d = 0; d < s->rank && used < SIS__SHAPE_TEXT; d++)
        used +=
            (size_t)snprintf(text + used, SIS__SHAPE_TEXT - used, d ? ",%lld" : "%lld", s->dims[d]);
    if (used < SIS__SHAPE_TEXT)
        snprintf(text + used, SIS__SHAPE_TEXT - used, "]");
}

/* The product of the fixed axes from `first` on; 0 if it is too large for memory. *free_axes counts
 * the others. */
static size_t fixed_part(const sis__shape *s, size_t first, size_t *free_axes) {
    size_t product = 1;
    *free_axes = 0;
    for (size_t d = first; d < s->rank; d++) {
        if (s->dims[d] < 0)
            ++*free_axes;
        else if (s->dims[d] == 0 || (size_t)s->dims[d] > ((size_t)1 << 40) / product)
            return 0;
        else
            product *= (size_t)s->dims[d];
    }
    return product;
}

/* Fill the axes from `first` on with one row. */
static int fill(const sis__shape *s, size_t first, const sis_net_shape *declared, size_t n_values,
                sis__fit *out) {
    out->rank = s->rank - first;
    if (declared && declared->rank == out->rank) {
        memcpy(out->dims, declared->dims, declared->rank * sizeof *declared->dims);
        return 1;
    }
    return sis__dims_row(s->dims + first, out->rank, n_values, out->dims) == SIS_OK;
}

/* Refuse a fixed number of rows that is too large to fill. */
static int check_rows(const sis__shape *s, size_t n_values, size_t rows) {
    char text[SIS__SHAPE_TEXT];
    if (n_values == 0 || rows <= 1 || rows <= MAX_FILLED / n_values)
        return SIS_OK;
    sis__shape_text(s, text);
    return sis__fail(SIS_E_UNSUPPORTED,
                     "the model takes a tensor of shape %s with %zu rows, more "
                     "than %zu values; export it with a free number of rows",
                     text, rows, MAX_FILLED);
}

static int fit_single(const sis__shape *s, size_t n_values, sis__fit *out) {
    out->batched = 0;
    out->rows = 1;
    return fill(s, 0, NULL, n_values, out);
}

/* Several rows at a time: any number, or a fixed one. */
static int fit_batch(const sis__shape *s, const sis_net_shape *declared, size_t n_values,
                     sis__fit *out) {
    if (s->rank == 0 || s->dims[0] == 0 || !fill(s, 1, declared, n_values, out))
        return 0;
    out->batched = 1;
    out->rows = s->dims[0] < 0 ? 0 : (size_t)s->dims[0];
    return 1;
}

int sis__shape_fit(const sis__shape *s, const sis_net_shape *declared, size_t n_values,
                   sis__fit *out) {
    char text[SIS__SHAPE_TEXT];
    *out = (sis__fit){0};
    int fixed = s->rank > 0 && s->dims[0] > 1;
    if (fixed && fit_single(s, n_values, out))
        return SIS_OK;
    if (fit_batch(s, declared, n_values, out))
        return check_rows(s, n_values, out->rows);
    if (!fixed && fit_single(s, n_values, out))
        return SIS_OK;
    sis__shape_text(s, text);
    return sis__fail(SIS_E_ARGUMENT,
                     "the model takes a tensor of shape %s (-1: free; the first "
                     "axis counts rows); rows of %zu values do not fit",
                     text, n_values);
}

void sis__shape_row(const sis__shape *s, sis_net_shape *row) {
    *row = (sis_net_shape){0};
    if (s->rank > 1 && s->rank - 1 <= SIS_NET_MAX_RANK && s->dims[0] <= 1)
        for (size_t d = 1; d < s->rank; d++)
            row->dims[row->rank++] = s->dims[d] < 0 ? 0 : (size_t)s->dims[d];
}

size_t sis__shape_values(const sis__shape *s) {
    size_t free_axes, product = s->rank ? fixed_part(s, 1, &free_axes) : 0;
    return product && free_axes == 0 && s->rank > 1 && s->dims[0] <= 1 ? product : 0;
}
