/* SPDX-License-Identifier: MIT
 *
 * Points at which gradients are computed. For most models a point is a row. For models that look up
 * token ids, a point is made of embeddings, because one can interpolate between embeddings but not
 * between ids. Values that are never masked are the same in the mask's point and in the input.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "methods/methods.h"

static int no_gradient(const char *method) {
    return sis__fail(SIS_E_UNSUPPORTED,
                     "%s needs gradients, which this model does not have; use a "
                     "network (FILE.onnx), or a method without gradients (sis, "
                     "perturb, lime)",
                     method);
}

/* A mask that removes tokens shifts the others: there is no path between mask and input. */
static int no_path(const char *method) {
    return sis__fail(SIS_E_UNSUPPORTED,
                     "%s needs points between the mask and the input, so the mask "
                     "cannot remove features; use another mask",
                     method);
}

static int embed(const sis__masked_scorer *v, const double *row, double *point) {
    size_t n = v->in->n_values;
    if (v->model->embed)
        return v->model->embed(v->model->ctx, row, n, point);
    memcpy(point, row, n * sizeof *row);
    return SIS_OK;
}

/* row: the input where `mask` is NULL or a value is never masked, otherwise the mask. */
static void mix(const sis__masked_scorer *v, const double *mask, double *row) {
    for (size_t i = 0; i < v->in->n_values; i++) {
        int f = v->features.feature_of[i], here = f < 0 || (!mask && !v->features.absent[f]);
        row[i] = here ? v->in->values[i] : mask ? mask[i] : v->in->mask[i];
    }
}

int sis__gradient_points_init(sis__gradient_points *p, const sis__masked_scorer *v,
                              const char *method) {
    size_t n = v->in->n_values;
    *p = (sis__gradient_points){.dim = v->model->embed ? v->model->dim : 1};
    if (!v->model->gradient)
        return no_gradient(method);
    for (size_t i = 0; i < n * v->features.n_samples; i++)
        if (isnan(v->in->mask[i]))
            return no_path(method);
    p->width = n * p->dim;
    double *row = SIS_NEW_RAW(double, n);
    p->input = SIS_NEW_RAW(double, p->width);
    p->mask = (double *)sis__alloc_raw(v->features.n_samples, p->width * sizeof *p->mask);
    int error = row && p->input && p->mask ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK) {
        mix(v, NULL, row); /* absent features as in the first mask sample */
        error = embed(v, row, p->input);
    }
    for (size_t s = 0; error == SIS_OK && s < v->features.n_samples; s++) {
        mix(v, v->in->mask + s * n, row);
        error = embed(v, row, p->mask + s * p->width);
    }
    free(row);
    if (error != SIS_OK)
        sis__gradient_points_release(p);
    return error;
}

void sis__gradient_points_release(sis__gradient_points *p) {
    free(p->input);
    free(p->mask);
    *p = (sis__gradient_points){0};
}

int sis__gradient_points_slopes(sis__masked_scorer *v, const sis__gradient_points *p,
                                sis_slopes *s) {
    s->width = p->width;
    s->output = v->in->output;
    sis_error_set("");
    int result = v->model->gradient(v->model->ctx, s);
    v->evaluations += s->n;
    if (result != 0) {
        if (!*sis_error_detail())
            sis__fail(SIS_E_MODEL, "the model's gradient function returned %d", result);
        return result < 0 ? result : SIS_E_MODEL;
    }
    for (size_t i = 0; i < s->n; i++)
        if (isnan(s->scores[i]))
            return sis__fail(SIS_E_NAN,
                             "the model returned NaN for output %zu between the input and "
                             "the mask",
                             s->output);
    return sis__scorer_tick(v);
}
