/* SPDX-License-Identifier: MIT
 *
 * The mask blur:S: masked pixels get the image blurred by a Gaussian of S pixels, cut off at 4 S.
 * Weights are normalised over the pixels inside the image, so a uniform image is unchanged. Each
 * example has its own mask.
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

enum { BLUR_MAX = 4096 };

/* Blur one line of n values, `step` apart, with weights (reach + 1) by distance. */
static void blur_line(const double *in, double *out, size_t n, size_t step, const double *weights,
                      size_t reach) {
    for (size_t i = 0; i < n; i++) {
        size_t first = i > reach ? i - reach : 0, last = i + reach < n ? i + reach : n - 1;
        double sum = 0, all = 0;
        for (size_t k = first; k <= last; k++) {
            double w = weights[k > i ? k - i : i - k];
            sum += w * in[k * step];
            all += w;
        }
        out[i * step] = sum / all;
    }
}

/* Blur rows into `half`, then its columns into `out`. */
static void blur(const sis_raster *a, const double *in, double *half, double *out,
                 const double *weights, size_t reach) {
    for (size_t c = 0; c < a->channels; c++) {
        size_t at = c * a->channel_step;
        for (size_t y = 0; y < a->rows; y++) {
            size_t row = at + y * a->row_step;
            blur_line(in + row, half + row, a->columns, a->column_step, weights, reach);
        }
        for (size_t x = 0; x < a->columns; x++) {
            size_t column = at + x * a->column_step;
            blur_line(half + column, out + column, a->rows, a->row_step, weights, reach);
        }
    }
}

int sis__task_blur(const sis_task *t, sis_example *e) {
    sis_raster a;
    int error = sis__task_raster(t, e, "--mask blur:S", &a);
    if (error != SIS_OK)
        return error;
    size_t longest = a.rows > a.columns ? a.rows : a.columns;
    size_t reach = (size_t)ceil(4 * t->mask.blur);
    reach = reach < longest ? reach : longest;
    double *weights = SIS_NEW_RAW(double, reach + 1);
    double *half = SIS_NEW_RAW(double, e->input.n_values);
    e->own->mask = SIS_NEW_RAW(double, e->input.n_values);
    error = weights && half && e->own->mask ? SIS_OK : SIS_E_NOMEM;
    for (size_t d = 0; error == SIS_OK && d <= reach; d++)
        weights[d] = exp(-0.5 * (double)d * (double)d / (t->mask.blur * t->mask.blur));
    if (error == SIS_OK)
        blur(&a, e->own->values, half, e->own->mask, weights, reach);
    free(weights);
    free(half);
    e->input.mask = e->own->mask;
    return error;
}

int sis__task_mask_blur(sis_task *t, const char *pixels) {
    double s;
    if (!sis__text_number(pixels, &s) || !(s > 0) || s > BLUR_MAX)
        return sis__fail(SIS_E_OPTION,
                         "--mask blur:S: expected pixels, more than 0 and at most %d, found \"%s\"",
                         BLUR_MAX, pixels);
    if (!sis__task_is_kind(t->source.data, "image"))
        return sis__fail(SIS_E_OPTION,
                         "--mask blur:S needs images; give --kind image if the arrays are images");
    t->mask = (sis__task_mask){.ready = 1, .blur = s, .n_samples = 1};
    return SIS_OK;
}
