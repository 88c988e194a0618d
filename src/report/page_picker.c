/* SPDX-License-Identifier: MIT
 *
 * Data of the threshold picker: about a hundred thresholds and, for each example with a stored
 * walk, the size of its first subset at each threshold and its features by rank. The library's
 * rule compares scores with thresholds here, so the script need not.
 *
 *     {"t":[0.1,0.2],"x":[{"k":[0,3,1,5],"o":[12,7,9,4,2]}]}
 *
 * k holds pairs: 3 features from threshold number 0 on, 5 from number 1 on. 0 features: the masked
 * input is decided; -1: the whole input is not. f, if present, is the feature of each pixel. The
 * data are numbers only, so they cannot end the script element.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/order.h"
#include "report/page.h"
#include "report/stats.h"

enum { STEPS = 100 };

/* The range of useful thresholds: between the extreme scores of whole inputs and of the ends of
 * stored walks. */
static int find_range(const sis_report *report, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < report->n; i++) {
        const sis__trace_summary *w = &report->examples[i].traced;
        if (w->n_steps == 0)
            continue;
        *low = fmin(*low, fmin(w->steps[0].score, w->score));
        *high = fmax(*high, fmax(w->steps[0].score, w->score));
    }
    return isfinite(*high - *low) && *high > *low;
}

int sis__picker_grid(const sis_report *report, double **grid, size_t *n_grid) {
    double low, high;
    *n_grid = 0;
    *grid = SIS_NEW_RAW(double, STEPS + 3 + report->n_runs);
    if (!*grid)
        return SIS_E_NOMEM;
    if (!find_range(report, &low, &high))
        return SIS_OK;
    double step = sis__round_step((high - low) / STEPS);
    if (!(step > 0) || !isfinite(step))
        return SIS_OK;
    for (double k = ceil(low / step); *n_grid < STEPS + 2 && k * step <= high; k++)
        (*grid)[(*n_grid)++] = k * step;
    for (size_t i = 0; i < report->n_runs; i++)
        (*grid)[(*n_grid)++] = report->runs[i].threshold_low;
    qsort(*grid, *n_grid, sizeof **grid, sis__by_double);
    size_t kept = 0;
    for (size_t i = 0; i < *n_grid; i++)
        if (kept == 0 || (*grid)[i] - (*grid)[kept - 1] > step / 1000)
            (*grid)[kept++] = (*grid)[i];
    *n_grid = kept;
    return SIS_OK;
}

/* Add the sizes where they change; returns the largest. */
static size_t add_sizes(sis__buf *b, const sis__report_example *e, const double *grid,
                        size_t n_grid) {
    size_t before = 0, largest = 0;
    sis__buf_str(b, "\"k\":[");
    for (size_t g = 0; g < n_grid; g++) {
        size_t size = sis__trace_summary_find(&e->traced, grid[g], e->record.question.below);
        if (g > 0 && size == before)
            continue;
        sis__buf_printf(b, g ? ",%zu," : "%zu,", g);
        sis__buf_printf(b, "%ld", size == SIZE_MAX ? -1L : (long)size);
        if (size != SIZE_MAX && size > largest)
            largest = size;
        before = size;
    }
    sis__buf_char(b, ']');
    return largest;
}

static void add_pixel_features(sis__buf *b, const sis__report_example *e) {
    size_t n = sis__pixels(e), p = 0;
    while (p < n && sis__pixel_feature(e, p) == (int)p)
        p++;
    if (p == n)
        return;
    sis__buf_str(b, ",\"f\":[");
    for (p = 0; p < n; p++)
        sis__buf_printf(b, p ? ",%d" : "%d", sis__pixel_feature(e, p));
    sis__buf_char(b, ']');
}

static void add_walk(sis__buf *b, const sis__report_example *e, const double *grid, size_t n_grid) {
    sis__buf_char(b, '{');
    size_t largest = add_sizes(b, e, grid, n_grid);
    sis__buf_str(b, ",\"o\":[");
    for (size_t i = 0; i < largest && i < e->traced.n_order; i++)
        sis__buf_printf(b, i ? ",%d" : "%d", e->traced.order[i]);
    sis__buf_char(b, ']');
    if (e->look == SIS__IMAGE)
        add_pixel_features(b, e);
    sis__buf_char(b, '}');
}

void sis__page_picker(sis__buf *b, const sis_report *report, const sis__layout *layout,
                      const double *grid, size_t n_grid) {
    size_t written = 0;
    if (n_grid == 0)
        return;
    sis__buf_str(b, "<script type=\"application/json\" id=\"walks\">{\"t\":[");
    for (size_t g = 0; g < n_grid; g++)
        sis__buf_printf(b, g ? ",%.6g" : "%.6g", grid[g]);
    sis__buf_str(b, "],\"x\":[");
    for (size_t k = 0; k < layout->n; k++) {
        const sis__report_example *e = &report->examples[layout->order[k]];
        if (e->traced.n_steps) {
            sis__buf_str(b, written++ ? ",\n" : "\n");
            add_walk(b, e, grid, n_grid);
        }
    }
    sis__buf_str(b, "]}</script>\n");
}
