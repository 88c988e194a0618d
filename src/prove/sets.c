/* SPDX-License-Identifier: MIT
 *
 * Minimal and smallest sets of features by questions to an oracle, with hitting sets. See sets.h.
 */
#include "prove/sets.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

int sis__sets_init(sis__sets *s, sis__oracle *o) {
    *s = (sis__sets){.o = o,
                     .example = SIS_NEW(double, o->width),
                     .kept = SIS_NEW(unsigned char, o->n_features)};
    return s->example && s->kept ? SIS_OK : SIS_E_NOMEM;
}

void sis__sets_release(sis__sets *s) {
    free(s->changed);
    free(s->example);
    free(s->kept);
    *s = (sis__sets){0};
}

/* ---- Questions ------------------------------------------------------------------------------- */

/* Remember the features that the last example changes. */
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

/* Does a known example change none of the kept features? */
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
    *proof = SIS__PROOF_NONE;
    sis__oracle_keep(s->o, kept, s->kept);
    int error = sis__oracle_late(s->o) ? SIS_OK : s->o->ask(s->o, s->kept, proof, s->example);
    return error || *proof != SIS__PROOF_FAILS ? error : remember(s);
}

/* ---- Minimal sets ---------------------------------------------------------------------------- */

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

/* Sort n features by their harm, given the kept ones. */
static int sort_by_harm(sis__sets *s, const unsigned char *kept, int *order, size_t n) {
    harmful *all = SIS_NEW(harmful, n);
    double *harm = SIS_NEW(double, s->o->n_features);
    int error = all && harm ? s->o->harms(s->o, kept, harm) : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < n; i++)
        all[i] = (harmful){isnan(harm[order[i]]) ? INFINITY : harm[order[i]], order[i]};
    if (!error)
        qsort(all, n, sizeof *all, by_harm);
    for (size_t i = 0; !error && i < n; i++)
        order[i] = all[i].feature;
    free(all);
    free(harm);
    return error;
}

int sis__sets_order(sis__sets *s, int *order) {
    size_t n = s->o->n_features;
    unsigned char *kept = SIS_NEW(unsigned char, n);
    for (size_t i = 0; i < n; i++)
        order[i] = (int)i;
    if (kept)
        memset(kept, 1, n);
    int error = kept ? sort_by_harm(s, kept, order, n) : SIS_E_NOMEM;
    free(kept);
    return error;
}

/* Features are given up several at a time: twice as many after a success, fewer after a failure.
 * The result is the same as one by one if supersets of sufficient sets are sufficient. */
typedef struct {
    sis__sets *s;
    unsigned char *kept;
    int *order;        /* kept features that have not been tried alone, */
    size_t n;          /* their number, */
    size_t at, stride; /* the position and size of the next group */
    int proved;
} giving_up;

static int give_up_next(giving_up *g) {
    size_t n = g->stride < g->n - g->at ? g->stride : g->n - g->at;
    sis__proof proof;
    int known;
    for (size_t i = 0; i < n; i++)
        g->kept[g->order[g->at + i]] = 0;
    int error = sis__sets_ask(g->s, g->kept, &proof, &known);
    int holds = !error && proof == SIS__PROOF_HOLDS;
    for (size_t i = 0; !holds && i < n; i++)
        g->kept[g->order[g->at + i]] = 1;
    if (holds || n == 1)
        g->at += n;
    g->proved &= holds || n > 1 || proof != SIS__PROOF_NONE;
    g->stride = holds ? 2 * n : n > 1 ? n / 2 : 1;
    if (!error && holds && n > 1 && g->s->o->adapts)
        error = sort_by_harm(g->s, g->kept, g->order + g->at, g->n - g->at);
    return error;
}

int sis__sets_minimal(sis__sets *s, const int *order, unsigned char *kept, int *proved) {
    giving_up g = {.s = s, .kept = kept, .proved = 1, .stride = 1};
    g.order = SIS_NEW(int, s->o->n_features);
    int error = g.order ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < s->o->n_features; i++)
        if (kept[order[i]])
            g.order[g.n++] = order[i];
    g.stride = g.n / 8 + 1;
    while (!error && g.at < g.n)
        error = give_up_next(&g);
    *proved = g.proved;
    free(g.order);
    return error;
}

/* ---- Contrasts ------------------------------------------------------------------------------- */

/* Keep the features that an example does not change. */
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
    if (!error) /* repeat the question to get its example */
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

/* ---- Hitting sets ---------------------------------------------------------------------------- */

enum { STEPS = 2000000 };

/* Search for a smallest set that meets all given sets: the set with the fewest possible features is
 * met first, by each of its features in turn, which is then excluded. Sets are words of bits,
 * smallest first. Pairwise disjoint unmet sets give a lower bound: each needs another feature. */
typedef struct {
    size_t words, n_meet, n_avoid;
    uint64_t *meet, *avoid;
    uint64_t *now, *out;  /* (words) chosen, excluded */
    uint64_t *best;       /* (words) the smallest set so far, */
    size_t n_now, n_best; /* their sizes; sets of n_best or more are not searched */
    size_t steps;
    const sis__oracle *o; /* its deadline is used */
    int found, given_up;
} hitting;

static size_t count_bits(const uint64_t *set, const uint64_t *without, size_t words) {
    size_t n = 0;
    for (size_t w = 0; w < words; w++)
        n += (size_t)__builtin_popcountll(set[w] & ~(without ? without[w] : 0));
    return n;
}

static int share(const uint64_t *a, const uint64_t *b, size_t words) {
    uint64_t both = 0;
    for (size_t w = 0; w < words; w++)
        both |= a[w] & b[w];
    return both != 0;
}

/* Does the chosen set contain a set that must be avoided? */
static int is_avoided(const hitting *h) {
    for (size_t i = 0; i < h->n_avoid; i++)
        if (count_bits(h->avoid + i * h->words, h->now, h->words) == 0)
            return 1;
    return 0;
}

/* The unmet set with the fewest possible features, NULL if all are met; *apart: number of pairwise
 * disjoint unmet sets. used (words) is scratch. */
static const uint64_t *hardest(const hitting *h, uint64_t *used, size_t *apart) {
    const uint64_t *best = NULL;
    size_t fewest = SIZE_MAX;
    memset(used, 0, h->words * sizeof *used);
    *apart = 0;
    for (size_t i = 0; i < h->n_meet; i++) {
        const uint64_t *set = h->meet + i * h->words;
        uint64_t shared = 0;
        if (share(set, h->now, h->words))
            continue;
        size_t choices = count_bits(set, h->out, h->words);
        if (choices < fewest) {
            fewest = choices;
            best = set;
        }
        for (size_t w = 0; w < h->words; w++)
            shared |= set[w] & ~h->out[w] & used[w];
        if (shared)
            continue;
        ++*apart;
        for (size_t w = 0; w < h->words; w++)
            used[w] |= set[w] & ~h->out[w];
    }
    return best;
}

static int hit(hitting *h);

/* Try each feature of a set in turn; tried (words, 0) is scratch. */
static int hit_each(hitting *h, const uint64_t *set, size_t apart, uint64_t *tried) {
    int error = SIS_OK;
    for (size_t f = 0; !error && f < 64 * h->words; f++) {
        uint64_t bit = (uint64_t)1 << (f % 64), *now = &h->now[f / 64], *out = &h->out[f / 64];
        if (!(set[f / 64] & bit) || *out & bit)
            continue;
        if (h->n_now + apart >= h->n_best || h->given_up)
            break;
        *now |= bit;
        h->n_now++;
        error = hit(h);
        h->n_now--;
        *now &= ~bit;
        *out |= bit;
        tried[f / 64] |= bit;
    }
    for (size_t w = 0; w < h->words; w++)
        h->out[w] &= ~tried[w];
    return error;
}

static int hit(hitting *h) {
    size_t apart;
    h->given_up |= ++h->steps > STEPS && h->o->deadline == 0;
    h->given_up |= h->steps % 1024 == 0 && sis__oracle_late(h->o);
    if (h->given_up || h->n_now >= h->n_best || is_avoided(h))
        return SIS_OK;
    uint64_t *scratch = SIS_NEW(uint64_t, h->words);
    if (!scratch)
        return SIS_E_NOMEM;
    const uint64_t *set = hardest(h, scratch, &apart);
    int error = SIS_OK;
    memset(scratch, 0, h->words * sizeof *scratch);
    if (set)
        error = hit_each(h, set, apart, scratch);
    if (!set) {
        memcpy(h->best, h->now, h->words * sizeof *h->best);
        h->n_best = h->n_now;
        h->found = 1;
    }
    free(scratch);
    return error;
}

/* The sets of a family as bits, smallest first. */
static uint64_t *bits_of(const sis__family *f, size_t words) {
    uint64_t *bits = (uint64_t *)sis__alloc(f->n ? f->n : 1, words * sizeof *bits);
    size_t *sizes = SIS_NEW(size_t, f->n + 1), at = 0;
    for (size_t i = 0; bits && sizes && i < f->n; i++)
        for (size_t k = 0; k < f->n_features; k++)
            sizes[i] += f->flags[i * f->n_features + k];
    for (size_t size = 0; bits && sizes && size <= f->n_features; size++)
        for (size_t i = 0; i < f->n; i++) {
            for (size_t k = 0; sizes[i] == size && k < f->n_features; k++)
                if (f->flags[i * f->n_features + k])
                    bits[at * words + k / 64] |= (uint64_t)1 << (k % 64);
            at += sizes[i] == size;
        }
    if (!sizes) {
        free(bits);
        bits = NULL;
    }
    free(sizes);
    return bits;
}

/* A smallest set of fewer than `below` features that intersects each of `meet` and contains none of
 * `avoid`. *found 1: `chosen` is one; 0: there is none; -1: given up. */
static int family_hit(const sis__family *meet, const sis__family *avoid, const sis__oracle *o,
                      size_t below, unsigned char *chosen, int *found) {
    size_t words = (meet->n_features + 63) / 64;
    hitting h = {.words = words, .n_meet = meet->n, .n_avoid = avoid->n, .n_best = below, .o = o};
    h.meet = bits_of(meet, words);
    h.avoid = bits_of(avoid, words);
    h.now = SIS_NEW(uint64_t, words);
    h.out = SIS_NEW(uint64_t, words);
    h.best = SIS_NEW(uint64_t, words);
    int error = h.meet && h.avoid && h.now && h.out && h.best ? hit(&h) : SIS_E_NOMEM;
    *found = h.given_up ? -1 : h.found;
    for (size_t f = 0; !error && *found == 1 && f < meet->n_features; f++)
        chosen[f] = h.best[f / 64] >> (f % 64) & 1;
    free(h.meet);
    free(h.avoid);
    free(h.now);
    free(h.out);
    free(h.best);
    return error;
}

/* ---- Sufficient sets and contrasts ----------------------------------------------------------- */

static void turn(unsigned char *flags, size_t n) {
    for (size_t f = 0; f < n; f++)
        flags[f] = !flags[f];
}

static size_t count_flags(const unsigned char *flags, size_t n) {
    size_t count = 0;
    for (size_t f = 0; f < n; f++)
        count += flags[f];
    return count;
}

/* Search for a smallest sufficient set. */
typedef struct {
    sis__sets *s;
    const int *order;
    const sis__family *enough; /* sets that are already known */
    sis__family *contrasts;
    unsigned char *best, *now, *flags; /* (n) sufficient; `proved`: no feature can be given up */
    int proved;
} shrinking;

/* x->now is not sufficient: add disjoint contrasts until it is sufficient together with them. */
static int add_contrasts(shrinking *x, sis__proof *proof) {
    size_t n = x->s->o->n_features;
    int error = SIS_OK, proved;
    *proof = SIS__PROOF_FAILS;
    while (!error && *proof == SIS__PROOF_FAILS) {
        memcpy(x->flags, x->now, n);
        error = sis__sets_contrast(x->s, x->order, x->flags, &proved);
        turn(x->flags, n);
        if (!error && sis__oracle_late(x->s->o))
            *proof = SIS__PROOF_NONE;
        if (error || *proof != SIS__PROOF_FAILS)
            break;
        error = sis__family_add(x->contrasts, x->flags);
        for (size_t f = 0; f < n; f++)
            x->now[f] |= x->flags[f];
        if (!error)
            error = sis__sets_ask(x->s, x->now, proof, NULL);
    }
    return error;
}

/* x->now is sufficient: give up features, and keep the result if it is a new best one. */
static int keep_smaller(shrinking *x) {
    size_t n = x->s->o->n_features;
    int proved, error = sis__sets_minimal(x->s, x->order, x->now, &proved);
    if (error || count_flags(x->now, n) >= count_flags(x->best, n))
        return error;
    memcpy(x->best, x->now, n);
    x->proved = proved;
    return error;
}

/* Find a smaller set than x->best, which is sufficient (unless the first ones are known already),
 * or that there is none. */
static int shrink(shrinking *x, int *found) {
    size_t n = x->s->o->n_features;
    int error = SIS_OK, first = x->enough->n == 0;
    sis__proof proof = SIS__PROOF_FAILS;
    while (!error && proof != SIS__PROOF_NONE) {
        size_t below = first ? count_flags(x->best, n) : SIZE_MAX;
        error = family_hit(x->contrasts, x->enough, x->s->o, below, x->now, found);
        if (error || *found != 1) {
            *found = *found == 0 && first ? 1 : *found; /* none is smaller */
            return error;
        }
        error = sis__sets_ask(x->s, x->now, &proof, NULL);
        if (!error && proof == SIS__PROOF_HOLDS) {
            memcpy(x->best, x->now, n);
            return SIS_OK;
        }
        if (!error && proof == SIS__PROOF_FAILS)
            error = add_contrasts(x, &proof);
        if (!error && first && proof == SIS__PROOF_HOLDS)
            error = keep_smaller(x);
    }
    *found = -1;
    return error;
}

int sis__sets_smallest(sis__sets *s, const int *order, const sis__family *enough,
                       sis__family *contrasts, unsigned char *kept, int *found, int *proved) {
    size_t n = s->o->n_features;
    shrinking x = {.s = s, .order = order, .enough = enough, .contrasts = contrasts, .best = kept};
    x.now = SIS_NEW(unsigned char, n);
    x.flags = SIS_NEW(unsigned char, n);
    int error = x.now && x.flags ? SIS_OK : SIS_E_NOMEM;
    *found = -1;
    memset(kept, 1, n);
    if (!error && enough->n == 0)
        error = sis__sets_minimal(s, order, kept, &x.proved);
    if (!error)
        error = shrink(&x, found);
    *proved = *found == 1 || x.proved;
    free(x.now);
    free(x.flags);
    return error;
}

int sis__sets_next_contrast(sis__sets *s, const int *order, sis__family *enough,
                            const sis__family *contrasts, unsigned char *kept, int *found,
                            int *proved) {
    size_t n = s->o->n_features;
    sis__proof proof;
    int error = SIS_OK;
    while (!error) {
        error = family_hit(enough, contrasts, s->o, SIZE_MAX, kept, found);
        if (error || *found != 1)
            return error;
        turn(kept, n); /* free: a set that meets all sufficient sets */
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
