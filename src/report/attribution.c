/* SPDX-License-Identifier: MIT
 *
 * What a method attributes to a feature, as a colour: orange for what raises the score, blue for what
 * lowers it, the stronger the more.
 */
#include <math.h>

#include "report/page.h"

double sis__attribution_most(const sis_record *r) {
    double most = 0;
    if (!r->attributions || r->n_attributions != r->collection.n_features)
        return 0;
    for (size_t i = 0; i < r->n_attributions; i++)
        if (isfinite(r->attributions[i]))
            most = fmax(most, fabs(r->attributions[i]));
    return most;
}

void sis__attribution_style(sis__buf *b, double attribution, double most) {
    double strength = isfinite(attribution) && most > 0 ? fabs(attribution) / most : 0;
    long percent = lrint(70 * strength);
    if (percent > 0)
        sis__buf_printf(b, " style=\"background:rgb(%s / %ld%%)\"",
                        attribution > 0 ? "230 120 0" : "0 114 178", percent);
}
