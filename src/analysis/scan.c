/* SPDX-License-Identifier: MIT
 *
 * The metric of distances that the caller computes (sis_distance_fn). Nothing is known about them,
 * so there is no index: neighbours are found by computing every pair.
 */
#include <math.h>

#include "analysis/space.h"
#include "base/error.h"

static int distances(const sis__space *s, void *scratch, size_t u, const uint32_t *v, size_t n,
                     double *out) {
    int code = SIS_OK;
    (void)scratch;
    for (size_t k = 0; k < n && code == SIS_OK; k++)
        code = sis_points_distance(s->points, u, v[k], &out[k]);
    return code;
}

static int near_points(const sis__space *s, void *scratch, size_t u, sis__near *near) {
    int code = SIS_OK;
    for (uint32_t v = 0; v < u && code == SIS_OK; v++) {
        double d;
        code = distances(s, scratch, u, &v, 1, &d);
        if (code == SIS_OK && d <= s->eps)
            code = sis__near_add(near, v);
    }
    return code;
}

const sis__metric sis__metric_scan = {
    .near = near_points, .distances = distances, .useless = INFINITY};
