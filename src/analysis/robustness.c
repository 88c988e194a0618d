/* SPDX-License-Identifier: MIT
 *
 * Robustness of rationales: a subset that suffices only with one mask says little about the input.
 * So it is scored with other surroundings: values of other inputs (a hot deck), its neighbours,
 * random halves of all other features; and for the metric of stability, random shares of them. All
 * parts of a rationale are scored in one call.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

/* A rationale and parts of the input around it. */
typedef struct {
    const sis_part *part;
    size_t n_features, n; /* features; parts so far */
    size_t n_own;         /* features of the rationale */
    unsigned char *own;   /* (n_features) is it in the rationale? */
    unsigned char *kept;  /* (n_features) scratch */
    int *lists;           /* (max, n_features) features of the parts */
    sis_part *parts;      /* (max) */
    double *scores;       /* (max) */
} surroundings;

static void release(surroundings *a) {
    free(a->own);
    free(a->kept);
    free(a->lists);
    free(a->parts);
    free(a->scores);
}

/* Room for `max` parts. Release it also after a failure. */
static int begin(surroundings *a, const sis_part *part, size_t max) {
    long n = sis_input_features(part->input);
    *a = (surroundings){.part = part, .n_features = n < 0 ? 0 : (size_t)n};
    if (n < 0)
        return (int)n;
    if (part->without)
        return sis__fail(SIS_E_ARGUMENT, "a rationale must not contain masked features");
    a->own = SIS_NEW(unsigned char, a->n_features);
    a->kept = SIS_NEW(unsigned char, a->n_features);
    a->lists = (int *)sis__alloc_raw(max, a->n_features * sizeof *a->lists);
    a->parts = SIS_NEW(sis_part, max);
    a->scores = SIS_NEW(double, max);
    if (!a->own || !a->kept || !a->lists || !a->parts || !a->scores)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < part->n; i++) {
        int f = part->features[i];
        if (f < 0 || f >= n)
            return sis__fail(SIS_E_ARGUMENT, "feature %d is not one of the %ld of the input", f, n);
        a->n_own += !a->own[f];
        a->own[f] = 1;
    }
    return SIS_OK;
}

/* Add a part of the first n features of its list. */
static void add_part(surroundings *a, size_t n) {
    const int *list = a->lists + a->n * a->n_features;
    a->parts[a->n++] = (sis_part){.input = a->part->input, .features = list, .n = n};
}

/* Append the features with this flag to the list of the next part, after n others. */
static size_t list_flagged(surroundings *a, const unsigned char *flags, int flag, size_t n) {
    int *list = a->lists + a->n * a->n_features;
    for (size_t f = 0; f < a->n_features; f++)
        if (flags[f] == flag)
            list[n++] = (int)f;
    return n;
}

static size_t count_enough(const double *scores, size_t n, const sis_opt *opt) {
    size_t enough = 0;
    for (size_t i = 0; i < n; i++)
        enough += (size_t)sis_decided(scores[i], opt->threshold, opt->below);
    return enough;
}

/* ---- Robustness ---------------------------------------------------------------------------- */

/* Put each other feature back with probability one half. */
static void add_half(surroundings *a, sis__rng *rng) {
    memcpy(a->kept, a->own, a->n_features);
    for (size_t f = 0; f < a->n_features; f++)
        if (!a->own[f])
            a->kept[f] = (unsigned char)(sis__rng_next(rng) >> 63);
    add_part(a, list_flagged(a, a->kept, 1, 0));
}

static int add_neighbours(surroundings *a, const sis_robust_opt *o) {
    if (o->height > a->n_features / o->width || o->height * o->width != a->n_features)
        return sis__fail(SIS_E_ARGUMENT, "%zu features do not form %zu rows of %zu", a->n_features,
                         o->height, o->width);
    memcpy(a->kept, a->own, a->n_features);
    int code = sis_features_around(o->height, o->width, a->part->features, a->part->n, o->distance,
                                   a->kept);
    add_part(a, list_flagged(a, a->kept, 1, 0));
    return code;
}

/* The mean of the scores, and the share that is sufficient. */
static void sum_up(const double *scores, size_t n, const sis_opt *opt, double *mean,
                   double *holds) {
    *mean = sis_sample_mean(scores, n);
    *holds = (double)count_enough(scores, n, opt) / (double)n;
}

int sis_robustness_measure(const sis_model *model, const sis_part *part, const sis_opt *opt,
                           const sis_robust_opt *robust, sis_robustness *out) {
    size_t n = robust->samples;
    int neighbours = robust->height > 0 && robust->width > 0;
    surroundings a;
    sis_input *drawn = NULL;
    sis__rng rng;
    if (n == 0 || !robust->deck)
        return sis__fail(SIS_E_ARGUMENT, "robustness needs a hot deck and at least one sample");
    *out = (sis_robustness){.around = NAN, .around_holds = NAN};
    int code = begin(&a, part, 2 * n + 1);
    if (code == SIS_OK)
        code = sis_deck_copies(robust->deck, part->input, n, robust->seed, &drawn);
    for (; code == SIS_OK && a.n < n; a.n++)
        a.parts[a.n] = (sis_part){&drawn[a.n], part->features, part->n, 0};
    sis__rng_init(&rng, robust->seed);
    while (code == SIS_OK && a.n < 2 * n)
        add_half(&a, &rng);
    if (code == SIS_OK && neighbours)
        code = add_neighbours(&a, robust);
    if (code == SIS_OK)
        code = sis_part_scores(model, a.parts, a.n, opt, a.scores);
    if (code == SIS_OK) {
        sum_up(a.scores, n, opt, &out->deck, &out->deck_holds);
        sum_up(a.scores + n, n, opt, &out->half, &out->half_holds);
    }
    if (code == SIS_OK && neighbours)
        sum_up(a.scores + 2 * n, 1, opt, &out->around, &out->around_holds);
    sis_deck_copies_free(drawn);
    release(&a);
    return code;
}

/* ---- Stability ----------------------------------------------------------------------------- */

/* The rationale, and a random share of all others, without replacement. */
static void add_share(surroundings *a, size_t cut, sis__rng *rng) {
    int *list = a->lists + a->n * a->n_features, *others = list + a->n_own;
    size_t n = a->n_features - a->n_own, back = sis_cut_features(cut, n);
    if (a->n == 0)
        list_flagged(a, a->own, 0, list_flagged(a, a->own, 1, 0));
    else /* any order will do */
        memcpy(list, a->lists, a->n_features * sizeof *list);
    for (size_t i = 0; i < back; i++) {
        size_t k = i + sis__rng_below(rng, n - i);
        int f = others[i];
        others[i] = others[k];
        others[k] = f;
    }
    add_part(a, a->n_own + back);
}

int sis_stability_measure(const sis_model *model, const sis_part *part, const sis_opt *opt,
                          size_t samples, uint64_t seed, size_t held[SIS_N_CUTS]) {
    surroundings a;
    sis__rng rng;
    int code = begin(&a, part, SIS_N_CUTS * samples);
    sis__rng_init(&rng, seed);
    while (code == SIS_OK && a.n < SIS_N_CUTS * samples)
        add_share(&a, a.n / samples, &rng);
    if (code == SIS_OK)
        code = sis_part_scores(model, a.parts, a.n, opt, a.scores);
    for (size_t k = 0; code == SIS_OK && k < SIS_N_CUTS; k++)
        held[k] = count_enough(a.scores + k * samples, samples, opt);
    release(&a);
    return code;
}
