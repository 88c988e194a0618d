/* SPDX-License-Identifier: MIT
 *
 * The attribution of a feature as a background colour: orange if it raises the score, blue if it
 * lowers it. Larger attributions have stronger colours.
 */
#include <math.h>

#include "report/page.h"

double sis__attribution_max(const sis_record *r) {
    double max = 0;
    if (!r->attributions || r->n_attributions != r->collection.n_features)
        return 0;
    for (size_t i = 0; i < r->n_attributions; i++)
        if (isfinite(r->attributions[i]))
            max = fmax(max, fabs(r->attributions[i]));
    return max;
}

void sis__attribution_style(sis__buf *b, double attribution, double max) {
    double strength = isfinite(attribution) && max > 0 ? fabs(attribution) / max : 0;
    long percent = lrint(70 * strength);
    if (percent > 0)
        sis__buf_printf(b, " style=\"background:rgb(%s / %ld%%)\"",
                        attribution > 0 ? "230 120 0" : "0 114 178", percent);
}
