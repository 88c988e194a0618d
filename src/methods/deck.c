/* SPDX-License-Identifier: MIT
 *
 * Checks of a subset beyond the mask it was found with: values drawn from other inputs (hot deck)
 * for missing features, the study that compares them with a mask feature by feature, and the
 * surroundings of a subset.
 *
 * A deck draws the donor of each feature at random, or one donor for all features (ROWS). ANYWHERE
 * also draws the donor's feature, uniformly among all features of all inputs, so that words are
 * drawn by frequency; it must have as many values as the missing feature. ANYWHERE scans the donor
 * for each feature; the other modes copy each value.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/explain.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

struct sis_deck {
    const sis_input *inputs;
    size_t n;
    sis_deck_kind kind;
    size_t *before; /* (n + 1) number of features of all inputs before each one */
};

/* ---- The deck ------------------------------------------------------------------------------ */

static int count_features(sis_deck *d) {
    for (size_t i = 0; i < d->n; i++) {
        const sis_input *in = &d->inputs[i];
        long n = sis_input_features(in);
        if (n < 0)
            return (int)n;
        if (d->kind != SIS_DECK_ANYWHERE && in->n_values != d->inputs[0].n_values)
            return sis__fail(SIS_E_ARGUMENT,
                             "hot-deck: inputs 0 and %zu have %zu and %zu values; they must have "
                             "equally many",
                             i, d->inputs[0].n_values, in->n_values);
        d->before[i + 1] = d->before[i] + (size_t)n;
    }
    return SIS_OK;
}

int sis_deck_new(const sis_input *inputs, size_t n, sis_deck_kind kind, sis_deck **out) {
    *out = NULL;
    if (n == 0)
        return sis__fail(SIS_E_ARGUMENT, "a hot deck needs at least one input");
    sis_deck *d = SIS_NEW(sis_deck, 1);
    if (!d)
        return SIS_E_NOMEM;
    *d = (sis_deck){.inputs = inputs, .n = n, .kind = kind};
    d->before = SIS_NEW(size_t, n + 1);
    int code = d->before ? count_features(d) : SIS_E_NOMEM;
    if (code == SIS_OK && d->before[n] == 0)
        code = sis__fail(SIS_E_ARGUMENT, "a hot deck needs at least one feature");
    if (code == SIS_OK)
        *out = d;
    else
        sis_deck_free(d);
    return code;
}

void sis_deck_free(sis_deck *deck) {
    if (!deck)
        return;
    free(deck->before);
    free(deck);
}

/* The input and feature with this number, counted over all features of all inputs. */
static const sis_input *find_feature(const sis_deck *d, size_t number, int *feature) {
    size_t low = 0, high = d->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (d->before[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    *feature = (int)(number - d->before[low]);
    return &d->inputs[low];
}

static int feature_at(const sis_input *in, size_t v) {
    return in->feature_of ? in->feature_of[v] : (int)v;
}

/* The first value at or after v that belongs to the feature; n_values: none. */
static size_t next_value(const sis_input *in, int feature, size_t v) {
    if (!in->feature_of)
        return v <= (size_t)feature ? (size_t)feature : in->n_values;
    while (v < in->n_values && in->feature_of[v] != feature)
        v++;
    return v;
}

/* Copy the values of a feature of `from` over those of feature `missing`, to `row`. */
static int lend(const sis_input *from, int lent, const sis_input *in, int missing, double *row) {
    size_t a = next_value(from, lent, 0), b = next_value(in, missing, 0);
    while (a < from->n_values && b < in->n_values) {
        row[b] = from->values[a];
        a = next_value(from, lent, a + 1);
        b = next_value(in, missing, b + 1);
    }
    if (a < from->n_values || b < in->n_values)
        return sis__fail(SIS_E_ARGUMENT,
                         "hot-deck: features have different numbers of values; they "
                         "must have equally many");
    return SIS_OK;
}

/* Draw values for one feature of an input. */
static int draw_feature(const sis_deck *d, const sis_input *in, int feature, sis__rng *rng,
                        double *row) {
    int lent = feature;
    const sis_input *from = &d->inputs[0];
    if (d->kind == SIS_DECK_ANYWHERE)
        from = find_feature(d, sis__rng_below(rng, d->before[d->n]), &lent);
    else
        from = &d->inputs[sis__rng_below(rng, d->n)];
    return lend(from, lent, in, feature, row);
}

/* One mask where every feature keeps its position: one copy per value. */
static void draw_in_place(const sis_deck *d, const sis_input *in, size_t *lender, size_t n,
                          sis__rng *rng, double *row) {
    for (size_t f = 0; f < n; f++)
        lender[f] = f > 0 && d->kind == SIS_DECK_ROWS ? lender[0] : sis__rng_below(rng, d->n);
    for (size_t v = 0; v < in->n_values; v++) {
        int f = feature_at(in, v);
        if (f >= 0)
            row[v] = d->inputs[lender[f]].values[v];
    }
}

int sis_deck_draw(const sis_deck *deck, const sis_input *input, size_t n_samples, uint64_t seed,
                  double *mask) {
    long n = sis_input_features(input);
    if (n < 0)
        return (int)n;
    int anywhere = deck->kind == SIS_DECK_ANYWHERE;
    if (!anywhere && input->n_values != deck->inputs[0].n_values)
        return sis__fail(SIS_E_ARGUMENT,
                         "hot-deck: the input has %zu values, the inputs of the deck "
                         "have %zu",
                         input->n_values, deck->inputs[0].n_values);
    size_t *lender = SIS_NEW(size_t, (size_t)n);
    if (!lender)
        return SIS_E_NOMEM;
    sis__rng rng;
    sis__rng_init(&rng, seed);
    int code = SIS_OK;
    for (size_t s = 0; code == SIS_OK && s < n_samples; s++) {
        double *row = mask + s * input->n_values;
        memcpy(row, input->values, input->n_values * sizeof *row);
        if (!anywhere)
            draw_in_place(deck, input, lender, (size_t)n, &rng, row);
        for (int f = 0; anywhere && code == SIS_OK && f < n; f++)
            code = draw_feature(deck, input, f, &rng, row);
    }
    free(lender);
    return code;
}

/* ---- Fresh draws --------------------------------------------------------------------------- */

int sis_deck_copies(const sis_deck *deck, const sis_input *input, size_t n, uint64_t seed,
                    sis_input **copies) {
    sis_input *all = SIS_NEW(sis_input, n);
    double *masks = (double *)sis__alloc_raw(n, input->n_values * sizeof *masks);
    int code = all && masks ? sis_deck_draw(deck, input, n, seed, masks) : SIS_E_NOMEM;
    for (size_t s = 0; code == SIS_OK && s < n; s++) {
        all[s] = *input;
        all[s].mask = masks + s * input->n_values;
        all[s].n_samples = 1;
    }
    *copies = code == SIS_OK ? all : NULL;
    if (code != SIS_OK) {
        free(all);
        free(masks);
    }
    return code;
}

void sis_deck_copies_free(sis_input *copies) {
    if (copies)
        free((void *)(uintptr_t)copies->mask);
    free(copies);
}

int sis_deck_scores(const sis_deck *deck, const sis_model *model, const sis_input *input,
                    const sis_subset *subsets, size_t n, size_t n_samples, uint64_t seed,
                    const sis_opt *opt, double *scores, double *errors) {
    sis_input *copies = NULL;
    double *drawn = SIS_NEW(double, n_samples);
    sis_part *parts = SIS_NEW(sis_part, n_samples);
    int code =
        drawn && parts ? sis_deck_copies(deck, input, n_samples, seed, &copies) : SIS_E_NOMEM;
    for (size_t k = 0; code == SIS_OK && k < n; k++) {
        for (size_t s = 0; s < n_samples; s++)
            parts[s] = (sis_part){&copies[s], subsets[k].features, subsets[k].n, 0};
        code = sis_part_scores(model, parts, n_samples, opt, drawn);
        if (code == SIS_OK) {
            scores[k] = sis_sample_mean(drawn, n_samples);
            errors[k] = sis_sample_deviation(drawn, n_samples) / sqrt((double)n_samples);
        }
    }
    free(drawn);
    free(parts);
    sis_deck_copies_free(copies);
    return code;
}

/* ---- The study ----------------------------------------------------------------------------- */

/* Draws scored together: the input as it is, without the feature, with another input's. */
enum { STUDY_BLOCK = 256 };

typedef struct {
    const sis_deck *deck;
    const sis_model *model;
    const sis_opt *opt;
    sis__rng rng;
    sis_input swapped[STUDY_BLOCK];
    double *rows[STUDY_BLOCK]; /* values from the deck */
    int features[STUDY_BLOCK];
    sis_part parts[3 * STUDY_BLOCK];
    double scores[3 * STUDY_BLOCK];
} study;

static int draw_case(study *s, size_t k) {
    const sis_deck *d = s->deck;
    const sis_input *in = &d->inputs[sis__rng_below(&s->rng, d->n)];
    long n = sis_input_features(in);
    if (n <= 0)
        return sis__fail(SIS_E_ARGUMENT, "an input has no feature");
    s->features[k] = (int)sis__rng_below(&s->rng, (size_t)n);
    s->rows[k] = (double *)sis__copy(in->values, in->n_values, sizeof *in->values);
    if (!s->rows[k])
        return SIS_E_NOMEM;
    s->swapped[k] = *in;
    s->swapped[k].mask = s->rows[k];
    s->swapped[k].n_samples = 1;
    s->parts[3 * k] = (sis_part){.input = in, .without = 1};
    s->parts[3 * k + 1] = (sis_part){in, &s->features[k], 1, 1};
    s->parts[3 * k + 2] = (sis_part){&s->swapped[k], &s->features[k], 1, 1};
    return draw_feature(d, in, s->features[k], &s->rng, s->rows[k]);
}

static int study_block(study *s, size_t n, double *by_mask, double *by_deck) {
    int code = SIS_OK;
    for (size_t k = 0; k < n; k++)
        s->rows[k] = NULL;
    for (size_t k = 0; code == SIS_OK && k < n; k++)
        code = draw_case(s, k);
    if (code == SIS_OK)
        code = sis_part_scores(s->model, s->parts, 3 * n, s->opt, s->scores);
    for (size_t k = 0; k < n; k++) {
        if (code == SIS_OK) {
            by_mask[k] = s->scores[3 * k + 1] - s->scores[3 * k];
            by_deck[k] = s->scores[3 * k + 2] - s->scores[3 * k];
        }
        free(s->rows[k]);
    }
    return code;
}

int sis_deck_study(const sis_deck *deck, const sis_model *model, const sis_opt *opt, size_t draws,
                   uint64_t seed, double *by_mask, double *by_deck) {
    study *s = SIS_NEW(study, 1);
    if (!s)
        return SIS_E_NOMEM;
    s->deck = deck;
    s->model = model;
    s->opt = opt;
    sis__rng_init(&s->rng, seed);
    int code = SIS_OK;
    for (size_t first = 0; code == SIS_OK && first < draws; first += STUDY_BLOCK) {
        size_t n = draws - first < STUDY_BLOCK ? draws - first : STUDY_BLOCK;
        code = study_block(s, n, by_mask + first, by_deck + first);
    }
    free(s);
    return code;
}

/* ---- Surroundings -------------------------------------------------------------------------- */

int sis_features_around(size_t height, size_t width, const int *features, size_t n, size_t distance,
                        unsigned char *keep) {
    for (size_t i = 0; i < n; i++) {
        if (width == 0 || features[i] < 0 || (size_t)features[i] / width >= height)
            return sis__fail(SIS_E_ARGUMENT, "feature %d is outside of %zu rows of %zu",
                             features[i], height, width);
        size_t row = (size_t)features[i] / width, column = (size_t)features[i] % width;
        size_t top = row > distance ? row - distance : 0;
        size_t left = column > distance ? column - distance : 0;
        for (size_t y = top; y < height && (y <= row || y - row <= distance); y++)
            for (size_t x = left; x < width && (x <= column || x - column <= distance); x++)
                keep[y * width + x] = 1;
    }
    return SIS_OK;
}
