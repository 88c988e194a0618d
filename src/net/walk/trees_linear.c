/* SPDX-License-Identifier: MIT
 *
 * Sums of products: LinearClassifier and LinearRegressor. Masking a feature always adds the same
 * number to each sum. See trees.h.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ml_scores.h"
#include "net/ops/ops.h"
#include "net/walk/trees.h"

typedef struct {
    sis__additive sums;
    const sis__linear *l;
    const sis__entry *f;
    unsigned char *masked; /* (features) */
    double *changes;       /* (features, n) */
} linear;

static void linear_reset(sis__additive *s, const unsigned char *masked) {
    linear *w = (linear *)s;
    memcpy(w->masked, masked, w->f->s->in.n);
}

static void linear_mask(sis__additive *s, int feature) {
    ((linear *)s)->masked[feature] = 1;
}

static void linear_total(sis__additive *s, int feature, double *sums) {
    const linear *w = (const linear *)s;
    const sis__linear *l = w->l;
    for (size_t k = 0; k < s->n; k++) {
        double sum = l->bias ? l->bias[k] : 0;
        for (size_t j = 0; j < l->width; j++) {
            int owner = w->f->feature[j];
            int masked = owner >= 0 && (owner == feature || w->masked[owner]);
            sum += (double)(masked ? w->f->z : w->f->x)[j] * l->weights[k * l->width + j];
        }
        sums[k] = sum;
    }
}

static void linear_change(sis__additive *s, int feature, double *change) {
    const linear *w = (const linear *)s;
    memcpy(change, w->changes + (size_t)feature * s->n, s->n * sizeof *change);
}

static void linear_round(const sis__additive *s, const double *sums, float *raw) {
    for (size_t k = 0; k < s->n; k++)
        raw[k] = (float)sums[k];
}

static void linear_finish(const sis__additive *s, float *scores) {
    sis__linear_finish(((const linear *)s)->l, scores);
}

/* Compute the changes, and the largest difference of base + change from a sum in order; no bound if
 * a term is not finite. */
static void fill_changes(linear *w) {
    const sis__linear *l = w->l;
    sis__additive *s = &w->sums;
    int finite = 1;
    for (size_t k = 0; k < s->n; k++) {
        double all = l->bias ? fabs((double)l->bias[k]) : 0;
        for (size_t j = 0; j < l->width; j++) {
            double weight = l->weights[k * l->width + j], x = w->f->x[j], z = w->f->z[j];
            if (w->f->feature[j] >= 0)
                w->changes[(size_t)w->f->feature[j] * s->n + k] += z * weight - x * weight;
            all += fmax(fabs(x * weight), fabs(z * weight));
            finite &= isfinite(x * weight) && isfinite(z * weight);
        }
        s->bound[k] = 16.0 * (double)(l->width + 8) * 0x1p-53 * all;
        finite &= isfinite(s->bound[k]);
    }
    if (!finite)
        s->bound = NULL;
}

int sis__linear_new(const sis__entry *f, const sis__step *s, sis__arena *memory,
                    sis__additive **out) {
    *out = NULL;
    const sis__linear *l = &s->p.linear;
    if (!sis__is(s, SIS__LINEAR_MODEL) || l->n != 1 || l->width != f->n)
        return SIS_E_UNSUPPORTED;
    linear *w = SIS_ARENA(memory, linear, 1);
    if (!w)
        return SIS_E_NOMEM;
    *w = (linear){.l = l, .f = f};
    w->sums = (sis__additive){.n = l->rows,
                              .outputs = l->outputs,
                              .scores_at = (size_t)l->scores_at,
                              .note = "terms of the feature",
                              .reset = linear_reset,
                              .mask = linear_mask,
                              .total = linear_total,
                              .change = linear_change,
                              .round = linear_round,
                              .finish = linear_finish};
    w->masked = SIS_ARENA(memory, unsigned char, f->s->in.n);
    w->changes = (double *)sis__arena_own(memory, sis__alloc(f->s->in.n, l->rows * sizeof(double)));
    w->sums.bound = SIS_ARENA(memory, double, l->rows);
    if (w->masked && w->changes && w->sums.bound)
        fill_changes(w);
    *out = &w->sums;
    return sis__arena_error(memory);
}
