/* SPDX-License-Identifier: MIT
 *
 * Order statistics for box plots and summaries.
 */
#include "report/stats.h"

#include <math.h>
#include <stdlib.h>

#include <sis/error.h>

#include "base/mem.h"
#include "base/order.h"

int sis__numbers_add(sis__numbers *v, double x) {
    int code = sis__reserve(&v->items, &v->cap, v->n + 1, sizeof *v->items);
    if (code == SIS_OK)
        v->items[v->n++] = x;
    return code;
}

void sis__numbers_release(sis__numbers *v) {
    free(v->items);
    *v = (sis__numbers){0};
}

void sis__numbers_sort(sis__numbers *v) {
    if (v->n > 1)
        qsort(v->items, v->n, sizeof *v->items, sis__by_double);
}

double sis__numbers_quantile(const sis__numbers *sorted, double q) {
    return sis__quantile(sorted->items, sorted->n, q);
}

void sis__numbers_range(const sis__numbers *sorted, double *low, double *high) {
    double a = sis__numbers_quantile(sorted, 0.25), b = sis__numbers_quantile(sorted, 0.75);
    *low = sorted->items[0];
    *high = sorted->items[sorted->n - 1];
    if (b > a) {
        *low = fmax(*low, a - 3 * (b - a));
        *high = fmin(*high, b + 3 * (b - a));
    }
}

double sis__round_step(double step) {
    double power = pow(10, floor(log10(step)));
    double times = step / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}
