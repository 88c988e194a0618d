/* SPDX-License-Identifier: MIT
 *
 * See sets.h.
 */
#include "prove/sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

int sis__sets_init(sis__sets *s, sis__oracle *o) {
    *s = (sis__sets){.o = o, .example = SIS_NEW(double, o->width)};
    return s->example ? SIS_OK : SIS_E_NOMEM;
}

void sis__sets_release(sis__sets *s) {
    free(s->changed);
    free(s->example);
    *s = (sis__sets){0};
}

/* ---- Questions ------------------------------------------------------------------------------- */

/* Remember which features the example found last changes. */
static int remember(sis__sets *s) {
    const sis__oracle *o = s->o;
    size_t n = o->n_features;
    int error = sis__reserve(&s->changed, &s->room, (s->n_examples + 1) * n, 1);
    if (error)
        return error;
    unsigned char *changed = s->changed + s->n_examples++ * n;
    memset(changed, 0, n);
    for (size_t j = 0; j < o->width; j++) {
        double a = s->example[j], b = o->row[j];
        int f = sis__oracle_feature(o, j);
        if (f >= 0 && a != b && !(isnan(a) && isnan(b)))
            changed[f] = 1;
    }
    return SIS_OK;
}

/* Does an example that is known change nothing that is kept? */
static int is_refuted(const sis__sets *s, const unsigned char *kept) {
    size_t n = s->o->n_features;
    for (size_t i = 0; i < s->n_examples; i++) {
        const unsigned char *changed = s->changed + i * n;
        size_t k = 0;
        while (k < n && !(changed[k] && kept[k]))
            k++;
        if (k == n)
            return 1;
    }
    return 0;
}

int sis__sets_ask(sis__sets *s, const unsigned char *kept, sis__proof *proof, int *known) {
    *proof = SIS__PROOF_FAILS;
    if (known && (*known = is_refuted(s, kept)))
        return SIS_OK;
    s->asked++;
    int error = s->o->ask(s->o, kept, proof, s->example);
    return error || *proof != SIS__PROOF_FAILS ? error : remember(s);
}

/* ---- Minimal sets ---------------------------------------------------------------------------- */

int sis__sets_minimal(sis__sets *s, const int *order, unsigned char *kept, int *proved) {
    *proved = 1;
    for (size_t i = 0; i < s->o->n_features; i++) {
        sis__proof proof;
        int known;
        if (!kept[order[i]])
            continue;
        kept[order[i]] = 0;
        int error = sis__sets_ask(s, kept, &proof, &known);
        if (error)
            return error;
        kept[order[i]] = proof != SIS__PROOF_HOLDS;
        *proved &= proof != SIS__PROOF_NONE;
    }
    return SIS_OK;
}

typedef struct {
    double harm;
    int feature;
} harmful;

static int by_harm(const void *a, const void *b) {
    const harmful *x = (const harmful *)a, *y = (const harmful *)b;
    if (x->harm != y->harm)
        return x->harm < y->harm ? -1 : 1;
    return (y->feature > x->feature) - (y->feature < x->feature);
}

int sis__sets_order(sis__sets *s, int *order) {
    size_t n = s->o->n_features;
    harmful *all = SIS_NEW(harmful, n);
    unsigned char *kept = SIS_NEW(unsigned char, n);
    int error = all && kept ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < n; i++) {
        memset(kept, 1, n);
        kept[i] = 0;
        all[i].feature = (int)i;
        error = s->o->harm(s->o, kept, &all[i].harm);
    }
    if (!error)
        qsort(all, n, sizeof *all, by_harm);
    for (size_t i = 0; !error && i < n; i++)
        order[i] = all[i].feature;
    free(all);
    free(kept);
    return error;
}
