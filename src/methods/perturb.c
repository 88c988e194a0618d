/* SPDX-License-Identifier: MIT
 *
 * Perturbation: the effect on the score of masking each feature alone. One evaluation per feature,
 * by full passes; features equal to their mask have no effect. Attributions are differences of
 * scores, as in the paper. The order uses differences of margins, which rank identically and still
 * separate features where the score rounds to 1.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "methods/methods.h"

typedef struct {
    size_t n;
    const int *masked; /* feature masked in each copy, -1: none */
} singles;

static void choose(void *ctx, size_t i, unsigned char *present) {
    const singles *s = (const singles *)ctx;
    memset(present, 1, s->n);
    if (s->masked[i] >= 0)
        present[s->masked[i]] = 0;
}

int sis__perturb(sis__masked_scorer *v, sis__ranking *out) {
    int *masked = SIS_NEW_RAW(int, v->features.n + 1);
    double *margins = SIS_NEW_RAW(double, v->features.n + 1), sign = v->opt->below ? -1 : 1;
    int error = masked && margins ? SIS_OK : SIS_E_NOMEM;
    size_t n = 0;
    if (error == SIS_OK) {
        masked[n++] = -1;
        for (size_t f = 0; f < v->features.n; f++)
            if (!v->features.same[f] && !v->features.absent[f])
                masked[n++] = (int)f;
        singles s = {v->features.n, masked};
        error =
            sis__scorer_margins(v, &(sis__copies){.n = n, .choose = choose, .ctx = &s}, margins);
    }
    for (size_t k = 1; error == SIS_OK && k < n; k++) {
        int f = masked[k];
        out->attributions[f] = sis__scorer_score(v, margins[0]) - sis__scorer_score(v, margins[k]);
        out->importance[f] = sign * (margins[0] - margins[k]);
    }
    free(masked);
    free(margins);
    return error;
}
