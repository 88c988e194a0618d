/* SPDX-License-Identifier: MIT
 *
 * Shapes of examples for models with several free sizes. The model sees rows of numbers, and one
 * number of values may be a wide image or a high one. A model handle knows one shape for each
 * number of values (sis_model_take_shape). If examples have equal numbers of values in different
 * shapes, the task uses another handle for each shape.
 */
#include <stdlib.h>
#include <string.h>

#include <sis/handle.h>

#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

int sis__task_needs_shapes(const sis_task *t) {
    const sis__task_encoding *e = &t->encoding;
    sis_net_shape s;
    return !e->texts && !e->rows.wanted && sis_model_row_shape(&t->model, &s) > 1;
}

/* 1 if the example has a shape, 0 if it is a list of numbers. */
static int has_shape(const sis_task *t, size_t row) {
    size_t rank;
    sis_data_shape(t->source.data, row, &rank);
    return rank > 1;
}

const sis_model *sis__task_model_for(const sis_task *t, const sis_model *model, size_t row) {
    size_t dims[3], rank;
    if (t->n_others == 0 || !has_shape(t, row))
        return model;
    const size_t *shape = sis__task_shape(t, row, dims, &rank);
    for (size_t k = 0; k < t->n_others; k++)
        if (sis_model_takes_shape(&t->others[k], shape, rank))
            return &t->others[k];
    return model;
}

/* Add a handle like the first. */
static int add_handle(sis_task *t) {
    sis_model handle;
    sis_model *more = (sis_model *)sis__alloc(t->n_others + 1, sizeof *more);
    int error = more ? sis_model_share(&t->model, &handle) : SIS_E_NOMEM;
    if (error != SIS_OK) {
        free(more);
        return error;
    }
    if (t->n_others)
        memcpy(more, t->others, t->n_others * sizeof *more);
    free(t->others);
    more[t->n_others++] = handle;
    t->others = more;
    return SIS_OK;
}

/* Pass the shape to the first handle without another one. Whether it fits was checked before. */
static int tell(sis_task *t, size_t row) {
    size_t dims[3], rank;
    const size_t *shape = sis__task_shape(t, row, dims, &rank);
    int error = sis_model_take_shape(&t->model, shape, rank);
    for (size_t k = 0; error == SIS_E_ARGUMENT && k < t->n_others; k++)
        error = sis_model_take_shape(&t->others[k], shape, rank);
    if (error == SIS_E_ARGUMENT && (error = add_handle(t)) == SIS_OK)
        error = sis_model_take_shape(&t->others[t->n_others - 1], shape, rank);
    return error;
}

int sis__task_shapes_tell(sis_task *t, size_t n) {
    const char *threshold = t->opt.question.threshold;
    int all = n > 1 && threshold && *threshold == 'p'; /* a percentile covers the whole file */
    if (!sis__task_needs_shapes(t))
        return SIS_OK;
    int error = sis__task_take_model(t);
    n = all ? sis_data_count(t->source.data) : n < t->source.n ? n : t->source.n;
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        size_t row = all ? i : sis__task_row(&t->source, i);
        if (has_shape(t, row))
            error = tell(t, row);
    }
    return error;
}

void sis__task_shapes_release(sis_task *t) {
    for (size_t k = 0; k < t->n_others; k++)
        sis_model_close(&t->others[k]);
    free(t->others);
}

int sis__task_other_shape(const sis_task *t, const sis_data *data, size_t row) {
    size_t rank, own_rank;
    if (!sis__task_is_kind(data, "image") || !sis__task_is_kind(t->source.data, "image"))
        return 0;
    const size_t *shape = sis_data_shape(data, row, &rank);
    size_t dims[3] = {0};
    memcpy(dims, shape, (rank < 3 ? rank : 3) * sizeof *dims);
    const size_t *own = sis_data_shape(t->source.data, sis__task_row(&t->source, 0), &own_rank);
    return rank != own_rank || memcmp(own, dims, rank * sizeof *own) != 0;
}
