/* SPDX-License-Identifier: MIT
 *
 * See inputs.h.
 */
#include "model/inputs.h"

#include <stdlib.h>
#include <string.h>

#include <sis/net.h>

#include "base/error.h"
#include "base/mem.h"

enum { PADDING = 0 };

/* ---- How rows fill a tensor -------------------------------------------------------------------- */

/* Limit of a tensor with a fixed number of rows, all of which are filled to predict one. */
static const size_t MAX_FILLED = (size_t)1 << 28;

void sis__shape_text(const sis__shape *s, char text[SIS__DIMS_TEXT]) {
    size_t dims[SIS__RANK];
    for (size_t d = 0; d < s->rank; d++)
        dims[d] = s->dims[d] < 0 ? 0 : (size_t)s->dims[d];
    sis__dims_text(dims, s->rank, text);
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
    char text[SIS__DIMS_TEXT];
    if (n_values == 0 || rows <= 1 || rows <= MAX_FILLED / n_values)
        return SIS_OK;
    sis__shape_text(s, text);
    return sis__fail(SIS_E_UNSUPPORTED,
                     "the model takes a tensor of shape %s with %zu rows, more than %zu values; "
                     "export it with a free number of rows",
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
    char text[SIS__DIMS_TEXT];
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
                     "the model takes a tensor of shape %s, whose first axis counts rows; rows of "
                     "%zu values do not fit",
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

/* ---- All inputs -------------------------------------------------------------------------------- */

int sis__inputs_add(sis__model_inputs *s, const char *name, sis__value_type type,
                    const sis__shape *shape) {
    if (sis__reserve(&s->items, &s->cap, s->n + 1, sizeof *s->items) != SIS_OK)
        return SIS_E_NOMEM;
    s->items[s->n] = (sis__model_input){.name = sis__strdup(name), .type = type, .shape = *shape};
    return s->items[s->n++].name ? SIS_OK : SIS_E_NOMEM;
}

void sis__inputs_release(sis__model_inputs *s) {
    for (size_t i = 0; i < s->n; i++) {
        free(s->items[i].name);
        free(s->items[i].given);
    }
    free(s->items);
    *s = (sis__model_inputs){0};
}

/* ---- Constants ------------------------------------------------------------------------------- */

static double number_of(const sis_net_tensor *t, size_t i) {
    return t->type == SIS_NET_FLOATS  ? (double)((const float *)t->data)[i]
           : t->type == SIS_NET_INTS  ? (double)((const int64_t *)t->data)[i]
           : t->type == SIS_NET_BOOLS ? (double)((const uint8_t *)t->data)[i]
                                      : 0;
}

static void declare(const sis__model_input *in, sis__declared *out) {
    *out = (sis__declared){.name = in->name,
                           .kind = in->type == SIS__VALUE_BYTES ? SIS__INPUT_TEXTS
                                   : sis__value_is_float(in->type) || in->type == SIS__VALUE_BOOL
                                       ? SIS__INPUT_NUMBERS
                                       : SIS__INPUT_WHOLE,
                           .rank = in->shape.rank,
                           .given = in->given != NULL};
    memcpy(out->dims, in->shape.dims, in->shape.rank * sizeof *out->dims);
}

static int set_constant(sis__model_input *in, const sis_net_tensor *t) {
    sis__declared declared;
    size_t dims[SIS__RANK], count;
    declare(in, &declared);
    int error = sis__signature_given(&declared, t->shape.dims, t->shape.rank, dims,
                                     &in->given_shape.rank, &count);
    if (error)
        return error;
    if (t->type == SIS_NET_TEXTS || in->type == SIS__VALUE_BYTES)
        return sis__fail(SIS_E_UNSUPPORTED, "input %.60s: texts are not supported here", in->name);
    for (size_t d = 0; d < in->given_shape.rank; d++)
        in->given_shape.dims[d] = (long long)dims[d];
    in->given = SIS_NEW_RAW(double, count);
    in->n_given = count;
    for (size_t i = 0; in->given && i < count; i++)
        in->given[i] = number_of(t, t->shape.rank ? i : 0);
    return in->given ? sis__values_check(in->type, in->given, count) : SIS_E_NOMEM;
}

static int set_constants(sis__model_inputs *s, const sis_model_opt *opt) {
    for (size_t w = 0; w < opt->n_with; w++) {
        size_t i = 0;
        while (i < s->n && strcmp(s->items[i].name, opt->with[w].name) != 0)
            i++;
        if (i == s->n)
            return sis__fail(SIS_E_ARGUMENT, "the model has no input %.60s that is a tensor",
                             opt->with[w].name);
        int error = s->items[i].given ? SIS_OK : set_constant(&s->items[i], &opt->with[w]);
        if (error != SIS_OK)
            return error;
    }
    return SIS_OK;
}

int sis__inputs_assign(sis__model_inputs *s, const sis_model_opt *opt) {
    sis__declared *declared = SIS_NEW(sis__declared, s->n);
    sis__input_role *roles = SIS_NEW(sis__input_role, s->n);
    sis__signature signature = {0};
    int error = declared && roles ? set_constants(s, opt) : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < s->n; i++)
        declare(&s->items[i], &declared[i]);
    if (error == SIS_OK)
        error = sis__signature_assign(declared, s->n, opt->explain, roles, &signature);
    for (size_t i = 0; error == SIS_OK && i < s->n; i++) {
        s->items[i].follow = roles[i].follow;
        s->items[i].part = roles[i].part;
        s->items[i].count = roles[i].count;
    }
    s->main = signature.main;
    free(declared);
    free(roles);
    return error;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

size_t sis__inputs_values(const sis__model_inputs *s) {
    size_t n = 0;
    if (s->main < s->n)
        return sis__shape_values(&s->items[s->main].shape);
    for (size_t i = 0; i < s->n; i++)
        n += s->items[i].count;
    return n;
}

void sis__inputs_row(const sis__model_inputs *s, sis_net_shape *row) {
    *row = (sis_net_shape){0};
    if (s->main < s->n)
        sis__shape_row(&s->items[s->main].shape, row);
}

/* A derived input has an entry per token, or one per row. Positions and lengths must fit its
 * type. */
static int fit_follower(const sis__model_input *in, const sis__fit *main, sis__fit *out) {
    size_t tokens = sis__inputs_count(main);
    double max = in->follow == SIS__FOLLOWS_PLACE   ? (double)tokens - 1
                 : in->follow == SIS__FOLLOWS_COUNT ? (double)tokens
                                                    : 0;
    if (max > 0 && sis__values_check(in->type, &max, 1) != SIS_OK)
        return sis__fail(SIS_E_ARGUMENT, "input %.60s takes %s, too small a type for %zu tokens",
                         in->name, sis__value_name(in->type), tokens);
    *out = *main;
    if (in->follow == SIS__FOLLOWS_COUNT)
        out->rank = in->shape.rank > 0 ? in->shape.rank - (size_t)(main->batched != 0) : 0;
    for (size_t d = 0; in->follow == SIS__FOLLOWS_COUNT && d < out->rank; d++)
        out->dims[d] = 1;
    return SIS_OK;
}

/* The first axis of a constant is the batch if its size is 1 and the declared size is free. */
static int fit_given(const sis__model_input *in, sis__fit *out) {
    const sis__shape *g = &in->given_shape;
    *out = (sis__fit){.batched = g->rank > 0 && g->dims[0] == 1 && in->shape.rank == g->rank &&
                                 in->shape.dims[0] < 0};
    for (size_t d = out->batched ? 1 : 0; d < g->rank; d++)
        out->dims[out->rank++] = (size_t)g->dims[d];
    return SIS_OK;
}

int sis__inputs_fit(const sis__model_inputs *s, size_t i, const sis_net_shape *declared,
                    size_t n_values, sis__fit *out) {
    const sis__model_input *in = &s->items[i];
    sis__fit main;
    if (in->given)
        return fit_given(in, out);
    if (i == s->main)
        return sis__shape_fit(&in->shape, declared, n_values, out);
    if (s->main == s->n)
        return n_values == sis__inputs_values(s)
                   ? sis__shape_fit(&in->shape, NULL, in->count, out)
                   : sis__fail(SIS_E_ARGUMENT,
                               "the model's inputs take %zu values a row, found %zu",
                               sis__inputs_values(s), n_values);
    int error = sis__shape_fit(&s->items[s->main].shape, declared, n_values, &main);
    return error == SIS_OK ? fit_follower(in, &main, out) : error;
}

size_t sis__inputs_count(const sis__fit *fit) {
    size_t n = 1;
    for (size_t d = 0; d < fit->rank; d++)
        n *= fit->dims[d];
    return n;
}

double sis__inputs_value(const sis__model_inputs *s, size_t i, const double *row, size_t n_values,
                         size_t k) {
    const sis__model_input *in = &s->items[i];
    double present = 0;
    if (in->given)
        return in->given[k < in->n_given ? k : 0];
    switch (in->follow) {
    case SIS__FOLLOWS_MASK:
        return row[k] != PADDING;
    case SIS__FOLLOWS_ZERO:
        return 0;
    case SIS__FOLLOWS_PLACE:
        return (double)k;
    case SIS__FOLLOWS_COUNT:
        for (size_t v = 0; v < n_values; v++)
            present += row[v] != PADDING;
        return present;
    default:
        return row[in->part + k];
    }
}
