/* SPDX-License-Identifier: MIT
 *
 * Robustness of rationales: a subset that suffices only with one mask says little about the input.
 * So it is scored with other surroundings: values of other inputs (a hot deck), its neighbours,
 * random halves of all other features. All parts of all rationales are scored in one call.
 *
 * Each rationale has `samples` hot-deck parts, `samples` halves, and one part with neighbours, in
 * this order; their lists of features are consecutive in `kept`.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

/* One rationale and its parts. */
typedef struct {
    const sis_part *part;
    size_t n_features;
    double *masks;          /* (samples, n_values) */
    sis_input *decked;      /* (samples) the input with each mask */
    int *kept;              /* (samples + 1, n_features) kept features */
    unsigned char *is_kept; /* (n_features) */
    sis__rng rng;
} trial;

static void release(trial *t) {
    free(t->masks);
    free(t->decked);
    free(t->kept);
    free(t->is_kept);
}

static int begin(trial *t, const sis_part *part, const sis_robust_opt *o, uint64_t seed) {
    const sis_input *in = part->input;
    long n = sis_input_features(in);
    if (n < 0)
        return (int)n;
    if (part->without)
        return sis__fail(SIS_E_ARGUMENT, "a rationale must not contain masked features");
    t->part = part;
    t->n_features = (size_t)n;
    t->masks = (double *)sis__alloc_raw(o->samples, in->n_values * sizeof *t->masks);
    t->decked = SIS_NEW(sis_input, o->samples);
    t->kept = (int *)sis__alloc_raw(o->samples + 1, t->n_features * sizeof *t->kept);
    t->is_kept = SIS_NEW(unsigned char, t->n_features);
    if (!t->masks || !t->decked || !t->kept || !t->is_kept)
        return SIS_E_NOMEM;
    sis__rng_init(&t->rng, seed);
    return sis_deck_draw(o->deck, in, o->samples, seed, t->masks);
}

/* The flagged features as a part. */
static void list_kept(trial *t, size_t slot, sis_part *out) {
    int *list = t->kept + slot * t->n_features;
    size_t n = 0;
    for (size_t f = 0; f < t->n_features; f++)
        if (t->is_kept[f])
            list[n++] = (int)f;
    *out = (sis_part){.input = t->part->input, .features = list, .n = n};
}

static void keep_rationale(trial *t) {
    memset(t->is_kept, 0, t->n_features);
    for (size_t i = 0; i < t->part->n; i++)
        t->is_kept[t->part->features[i]] = 1;
}

/* Put each other feature back with probability one half. */
static void keep_half(trial *t) {
    keep_rationale(t);
    for (size_t f = 0; f < t->n_features; f++)
        if (!t->is_kept[f])
            t->is_kept[f] = (unsigned char)(sis__rng_next(&t->rng) >> 63);
}

static int has_neighbours(const sis_robust_opt *o) {
    return o->height > 0 && o->width > 0;
}

static size_t parts_each(const sis_robust_opt *o) {
    return 2 * o->samples + (size_t)has_neighbours(o);
}

/* Make all parts of one trial. */
static int spread(trial *t, const sis_robust_opt *o, sis_part *parts) {
    const sis_input *in = t->part->input;
    size_t s;
    for (size_t i = 0; i < t->part->n; i++)
        if (t->part->features[i] < 0 || (size_t)t->part->features[i] >= t->n_features)
            return sis__fail(SIS_E_ARGUMENT, "feature %d is not one of the %zu of the input",
                             t->part->features[i], t->n_features);
    for (s = 0; s < o->samples; s++) {
        t->decked[s] = *in;
        t->decked[s].mask = t->masks + s * in->n_values;
        t->decked[s].n_samples = 1;
        parts[s] = *t->part;
        parts[s].input = &t->decked[s];
    }
    for (s = 0; s < o->samples; s++) {
        keep_half(t);
        list_kept(t, s, &parts[o->samples + s]);
    }
    if (!has_neighbours(o))
        return SIS_OK;
    if (o->height > t->n_features / o->width || o->height * o->width != t->n_features)
        return sis__fail(SIS_E_ARGUMENT, "%zu features do not form %zu rows of %zu", t->n_features,
                         o->height, o->width);
    keep_rationale(t);
    int code = sis_features_around(o->height, o->width, t->part->features, t->part->n, o->distance,
                                   t->is_kept);
    list_kept(t, o->samples, &parts[2 * o->samples]);
    return code;
}

/* The mean of the scores, and the share that is sufficient. */
static void sum_up(const double *scores, size_t n, const sis_opt *opt, double *mean,
                   double *holds) {
    size_t enough = 0;
    for (size_t i = 0; i < n; i++)
        enough += (size_t)sis_decided(scores[i], opt->threshold, opt->below);
    *mean = sis_sample_mean(scores, n);
    *holds = (double)enough / (double)n;
}

static void conclude(const double *scores, const sis_opt *opt, const sis_robust_opt *o,
                     sis_robustness *out) {
    *out = (sis_robustness){.around = NAN, .around_holds = NAN};
    sum_up(scores, o->samples, opt, &out->deck, &out->deck_holds);
    sum_up(scores + o->samples, o->samples, opt, &out->half, &out->half_holds);
    if (has_neighbours(o))
        sum_up(scores + 2 * o->samples, 1, opt, &out->around, &out->around_holds);
}

int sis_robustness_measure(const sis_model *model, const sis_part *parts, size_t n,
                           const sis_opt *opt, const sis_robust_opt *robust, sis_robustness *out) {
    size_t each = parts_each(robust);
    if (robust->samples == 0 || !robust->deck)
        return sis__fail(SIS_E_ARGUMENT, "robustness needs a hot deck and at least one sample");
    trial *trials = SIS_NEW(trial, n);
    sis_part *all = (sis_part *)sis__alloc(n, each * sizeof *all);
    double *scores = (double *)sis__alloc_raw(n, each * sizeof *scores);
    int code = trials && all && scores ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; code == SIS_OK && i < n; i++) {
        code = begin(&trials[i], &parts[i], robust, robust->seed + i);
        if (code == SIS_OK)
            code = spread(&trials[i], robust, all + i * each);
    }
    if (code == SIS_OK)
        code = sis_part_scores(model, all, n * each, opt, scores);
    for (size_t i = 0; code == SIS_OK && i < n; i++)
        conclude(scores + i * each, opt, robust, &out[i]);
    for (size_t i = 0; trials && i < n; i++)
        release(&trials[i]);
    free(trials);
    free(all);
    free(scores);
    return code;
}
