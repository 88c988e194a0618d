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

/* ---- Contrasts ------------------------------------------------------------------------------- */

/* What an example leaves as it was. */
static void keep_unchanged(const sis__sets *s, const unsigned char *changed, unsigned char *kept) {
    for (size_t f = 0; f < s->o->n_features; f++)
        kept[f] = !changed[f];
}

int sis__sets_contrast(sis__sets *s, const int *order, unsigned char *kept, int *proved) {
    size_t n = s->o->n_features;
    sis__proof proof;
    *proved = 1;
    int error = sis__sets_ask(s, kept, &proof, NULL);
    if (!error && proof == SIS__PROOF_FAILS)
        keep_unchanged(s, s->changed + (s->n_examples - 1) * n, kept);
    for (size_t i = n; !error && i-- > 0;) {
        if (kept[order[i]])
            continue;
        kept[order[i]] = 1;
        error = sis__sets_ask(s, kept, &proof, NULL);
        kept[order[i]] = proof == SIS__PROOF_FAILS;
        *proved &= proof != SIS__PROOF_NONE;
        if (!error && proof == SIS__PROOF_FAILS)
            keep_unchanged(s, s->changed + (s->n_examples - 1) * n, kept);
    }
    if (!error) /* the last question may have been another: its example is wanted */
        error = sis__sets_ask(s, kept, &proof, NULL);
    return error;
}

/* ---- Families -------------------------------------------------------------------------------- */

int sis__family_add(sis__family *f, const unsigned char *flags) {
    int error = sis__reserve(&f->flags, &f->room, (f->n + 1) * f->n_features, 1);
    if (!error)
        memcpy(f->flags + f->n++ * f->n_features, flags, f->n_features);
    return error;
}

void sis__family_release(sis__family *f) {
    free(f->flags);
    *f = (sis__family){0};
}

/* A search for a smallest set that meets all: the set with the fewest choices left is met first, by
 * each of its features in turn, which is then out of the question. */
typedef struct {
    const sis__family *meet, *avoid;
    size_t n, steps, most;
    unsigned char *now, *out, *best; /* (n) chosen, not to be chosen, the smallest so far */
    size_t n_now, n_best;            /* SIZE_MAX: none so far */
} hitting;

static int has_all(const hitting *h, const unsigned char *set) {
    for (size_t f = 0; f < h->n; f++)
        if (set[f] && !h->now[f])
            return 0;
    return 1;
}

/* The unmet set with the fewest choices, SIZE_MAX if all are met; *apart: how many unmet sets have no
 * choice in common, so many more features it takes at least. `used` (n) is scratch. */
static size_t hardest(const hitting *h, unsigned char *used, size_t *apart) {
    size_t best = SIZE_MAX, fewest = SIZE_MAX;
    memset(used, 0, h->n);
    *apart = 0;
    for (size_t i = 0; i < h->meet->n; i++) {
        const unsigned char *set = h->meet->flags + i * h->n;
        size_t choices = 0, met = 0, shared = 0;
        for (size_t f = 0; f < h->n; f++) {
            met |= set[f] && h->now[f];
            choices += set[f] && !h->out[f];
            shared |= set[f] && !h->out[f] && used[f];
        }
        if (met)
            continue;
        if (choices < fewest) {
            fewest = choices;
            best = i;
        }
        *apart += !shared;
        for (size_t f = 0; !shared && f < h->n; f++)
            used[f] |= set[f] && !h->out[f];
    }
    return best;
}

static int hit(hitting *h) {
    size_t apart;
    if (++h->steps > h->most)
        return SIS_OK;
    for (size_t i = 0; i < h->avoid->n; i++)
        if (has_all(h, h->avoid->flags + i * h->n))
            return SIS_OK;
    unsigned char *tried = SIS_NEW(unsigned char, h->n);
    if (!tried)
        return SIS_E_NOMEM;
    size_t at = hardest(h, tried, &apart);
    int error = SIS_OK;
    if (at == SIZE_MAX && h->n_now < h->n_best) {
        memcpy(h->best, h->now, h->n);
        h->n_best = h->n_now;
    }
    memset(tried, 0, h->n);
    for (size_t f = 0; at != SIZE_MAX && h->n_now + apart < h->n_best && !error && f < h->n; f++) {
        if (!h->meet->flags[at * h->n + f] || h->out[f])
            continue;
        h->now[f] = 1;
        h->n_now++;
        error = hit(h);
        h->n_now--;
        h->now[f] = 0;
        h->out[f] = tried[f] = 1;
    }
    for (size_t f = 0; f < h->n; f++)
        h->out[f] &= !tried[f];
    free(tried);
    return error;
}

int sis__family_hit(const sis__family *meet, const sis__family *avoid, size_t most,
                    unsigned char *chosen, int *found) {
    size_t n = meet->n_features;
    hitting h = {.meet = meet, .avoid = avoid, .n = n, .most = most, .n_best = SIZE_MAX};
    h.now = SIS_NEW(unsigned char, n);
    h.out = SIS_NEW(unsigned char, n);
    h.best = chosen;
    int error = h.now && h.out ? hit(&h) : SIS_E_NOMEM;
    *found = h.steps > most ? -1 : h.n_best != SIZE_MAX;
    free(h.now);
    free(h.out);
    return error;
}

/* ---- Duality --------------------------------------------------------------------------------- */

enum { STEPS = 2000000 };

static void turn(unsigned char *flags, size_t n) {
    for (size_t f = 0; f < n; f++)
        flags[f] = !flags[f];
}

int sis__sets_smallest(sis__sets *s, const int *order, const sis__family *enough,
                       sis__family *contrasts, unsigned char *kept, int *found) {
    int error = SIS_OK, proved;
    sis__proof proof = SIS__PROOF_NONE;
    while (!error) {
        error = sis__family_hit(contrasts, enough, STEPS, kept, found);
        if (error || *found != 1)
            return error;
        error = sis__sets_ask(s, kept, &proof, NULL);
        if (error || proof != SIS__PROOF_FAILS)
            break;
        error = sis__sets_contrast(s, order, kept, &proved);
        turn(kept, s->o->n_features);
        if (!error)
            error = sis__family_add(contrasts, kept);
    }
    *found = proof == SIS__PROOF_HOLDS ? 1 : -1;
    return error;
}

int sis__sets_next_contrast(sis__sets *s, const int *order, sis__family *enough,
                            const sis__family *contrasts, unsigned char *kept, int *found,
                            int *proved) {
    size_t n = s->o->n_features;
    sis__proof proof;
    int error = SIS_OK;
    while (!error) {
        error = sis__family_hit(enough, contrasts, STEPS, kept, found);
        if (error || *found != 1)
            return error;
        turn(kept, n); /* free: what meets all that is enough */
        error = sis__sets_ask(s, kept, &proof, NULL);
        if (error || proof != SIS__PROOF_HOLDS)
            break;
        error = sis__sets_minimal(s, order, kept, proved);
        if (!error)
            error = sis__family_add(enough, kept);
    }
    if (error || proof == SIS__PROOF_NONE) {
        *found = -1;
        return error;
    }
    return sis__sets_contrast(s, order, kept, proved);
}
