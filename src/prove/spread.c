/* SPDX-License-Identifier: MIT
 *
 * The standard deviation of each column, the unit of distances of contrasts: one pass over the rows
 * with Welford's algorithm.
 */
#include <math.h>
#include <stdlib.h>

#include <sis/prove.h>

#include "base/mem.h"

typedef struct {
    size_t n;             /* number of values that are not missing */
    double mean, squares; /* their mean, and the sum of squared distances from it */
    int broken;           /* some value is not an integer */
} column;

struct sis_spread {
    size_t n_values;
    column *columns; /* (n_values) */
};

int sis_spread_new(size_t n_values, sis_spread **out) {
    sis_spread *s = SIS_NEW(sis_spread, 1);
    if (s)
        *s = (sis_spread){n_values, SIS_NEW(column, n_values)};
    if (s && !s->columns) {
        free(s);
        s = NULL;
    }
    *out = s;
    return s ? SIS_OK : SIS_E_NOMEM;
}

void sis_spread_add(sis_spread *s, const double *row) {
    for (size_t j = 0; j < s->n_values; j++) {
        column *c = &s->columns[j];
        if (isnan(row[j]))
            continue;
        double from = row[j] - c->mean;
        c->mean += from / (double)++c->n;
        c->squares += from * (row[j] - c->mean);
        c->broken |= row[j] != nearbyint(row[j]);
    }
}

void sis_spread_get(const sis_spread *s, double *scale, double *step) {
    for (size_t j = 0; j < s->n_values; j++) {
        const column *c = &s->columns[j];
        double deviation = c->n > 1 ? sqrt(c->squares / (double)(c->n - 1)) : 0;
        scale[j] = deviation > 0 && isfinite(deviation) ? deviation : 1;
        step[j] = c->n && !c->broken;
    }
}

void sis_spread_free(sis_spread *s) {
    if (!s)
        return;
    free(s->columns);
    free(s);
}
