/* SPDX-License-Identifier: MIT
 *
 * LIME (Ribeiro, Singh and Guestrin 2016) as in the authors' code for texts: score copies of the
 * input that lack a random number of random features, weight each by its distance to the input, and
 * fit a linear model to the scores by ridge regression; its coefficients are the attributions.
 *
 *     missing     between 1 and q features, each number equally likely; the first copy lacks none
 *     distance    100 times the cosine distance of the present features to all of them,
 *                 d = 100 (1 - sqrt(k / q)) with k of q present
 *     weight      sqrt(exp(-d^2 / width^2)), width 25 by default
 *     penalty     1 on squared weights, the intercept free
 *
 * Features that equal their mask change nothing: they are left out of the model and get 0. Each
 * occurrence of a word is one feature, whereas LIME's text code joins all occurrences.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "methods/methods.h"
#include "methods/ridge.h"

typedef struct {
    sis__masked_scorer *v;
    size_t n, q;      /* copies, features of the linear model */
    int *column;      /* (q) the feature of each column */
    unsigned char *x; /* (n, q) */
    double *scores;   /* (n) */
    double *weights;  /* (n) */
    double *fitted;   /* (q) */
} lime;

static void lime_release(lime *l) {
    free(l->column);
    free(l->x);
    free(l->scores);
    free(l->weights);
    free(l->fitted);
}

/* The linear model's matrix and the copies must fit the memory budget. */
static int check_size(const lime *l) {
    double bytes = (double)l->q * ((double)l->q * sizeof(double) + (double)l->n);
    if (bytes <= (double)l->v->opt->memory)
        return SIS_OK;
    return sis__fail(SIS_E_ARGUMENT,
                     "lime needs a weight for each of %zu features, %.0f MiB; "
                     "give fewer features with --features, or a larger memory "
                     "budget",
                     l->q, bytes / 0x1p20);
}

static int lime_init(lime *l, sis__masked_scorer *v, size_t samples) {
    *l = (lime){.v = v, .n = samples, .column = SIS_NEW(int, v->features.n)};
    if (!l->column)
        return SIS_E_NOMEM;
    for (size_t f = 0; f < v->features.n; f++)
        if (!v->features.absent[f] && !v->features.same[f])
            l->column[l->q++] = (int)f;
    int error = check_size(l);
    if (error != SIS_OK)
        return error;
    l->x = (unsigned char *)sis__alloc_raw(l->n, l->q);
    l->scores = SIS_NEW(double, l->n);
    l->weights = SIS_NEW(double, l->n);
    l->fitted = SIS_NEW(double, l->q);
    return l->x && l->scores && l->weights && l->fitted ? SIS_OK : SIS_E_NOMEM;
}

/* The random copies and their weights. */
static int draw(lime *l, const sis_method_opt *how) {
    sis__rng r;
    size_t *deck = SIS_NEW_RAW(size_t, l->q);
    if (!deck)
        return SIS_E_NOMEM;
    sis__rng_init(&r, how->seed);
    for (size_t j = 0; j < l->q; j++)
        deck[j] = j;
    memset(l->x, 1, l->n * l->q);
    for (size_t s = 0; s < l->n; s++) {
        size_t missing = s == 0 ? 0 : 1 + sis__rng_below(&r, l->q);
        for (size_t j = 0; j < missing; j++) { /* the start of a shuffle */
            size_t k = j + sis__rng_below(&r, l->q - j), card = deck[k];
            deck[k] = deck[j];
            deck[j] = card;
            l->x[s * l->q + card] = 0;
        }
        double d = 100 * (1 - sqrt((double)(l->q - missing) / (double)l->q));
        l->weights[s] = sqrt(exp(-d * d / (how->width * how->width)));
    }
    free(deck);
    return SIS_OK;
}

static void choose(void *ctx, size_t i, unsigned char *present) {
    const lime *l = (const lime *)ctx;
    memset(present, 1, l->v->features.n);
    for (size_t j = 0; j < l->q; j++)
        present[l->column[j]] = l->x[i * l->q + j];
}

/* Repeat the mask of lime for each of several mask samples. */
static int spread(const sis__masked_scorer *v, const double *mask, double **out) {
    size_t n = v->in->n_values;
    *out = (double *)sis__alloc_raw(v->features.n_samples, n * sizeof **out);
    for (size_t s = 0; *out && s < v->features.n_samples; s++)
        memcpy(*out + s * n, mask, n * sizeof **out);
    return *out ? SIS_OK : SIS_E_NOMEM;
}

static int score(lime *l, const double *mask) {
    double *own = NULL;
    int error = mask ? spread(l->v, mask, &own) : SIS_OK;
    sis__copies copies = {.n = l->n, .choose = choose, .ctx = l, .mask = own};
    if (error == SIS_OK)
        error = sis__scorer_margins(l->v, &copies, l->scores);
    for (size_t s = 0; error == SIS_OK && s < l->n; s++)
        l->scores[s] = sis__scorer_score(l->v, l->scores[s]);
    free(own);
    return error;
}

int sis__lime(sis__masked_scorer *v, const sis_method_opt *how, sis__ranking *out) {
    lime l;
    int error = lime_init(&l, v, how->samples);
    if (error == SIS_OK && l.q > 0) {
        error = draw(&l, how);
        if (error == SIS_OK)
            error = score(&l, how->lime_mask);
        if (error == SIS_OK)
            error = sis__ridge_fit(&(sis__ridge){.n = l.n,
                                                 .q = l.q,
                                                 .x = l.x,
                                                 .y = l.scores,
                                                 .weights = l.weights,
                                                 .penalty = how->ridge,
                                                 .coefficients = l.fitted});
    }
    for (size_t j = 0; error == SIS_OK && j < l.q; j++) {
        out->attributions[l.column[j]] = l.fitted[j];
        out->importance[l.column[j]] = v->opt->below ? -l.fitted[j] : l.fitted[j];
    }
    lime_release(&l);
    return error;
}
