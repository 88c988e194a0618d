/* SPDX-License-Identifier: MIT
 *
 * FILE.json, FILE.ubj, FILE.txt: models of XGBoost and LightGBM (src/trees), with their own walk.
 * All threads share a model; each call has its own memory.
 */
#include <math.h>
#include <stdlib.h>

#include <sis/walk.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "model/forest.h"
#include "model/kind.h"
#include "trees/booster.h"
#include "trees/walk.h"

enum { ROWS = 256 };

typedef struct {
    sis__opened opened; /* first: see kind.h */
    sis__booster b;
} forest_model;

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Values as the library's trees see them. */
static void take_values(const sis__forest *f, const double *from, double *to) {
    for (size_t j = 0; j < f->width; j++)
        to[j] = f->single ? (double)(float)from[j] : from[j];
}

static int predict(void *ctx, const double *rows, size_t n, size_t n_values, double *margins) {
    const sis__booster *b = &((const forest_model *)ctx)->b;
    const sis__forest *f = &b->forest;
    size_t k = f->n_sums;
    if (n_values != f->width)
        return sis__fail(SIS_E_ARGUMENT, "the model takes rows of %zu values, found %zu", f->width,
                         n_values);
    double *row = SIS_NEW(double, f->width), *sums = SIS_NEW(double, 2 * k);
    unsigned char *seen = SIS_NEW(unsigned char, k);
    int error = row && sums && seen ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < n; i++) {
        take_values(f, rows + i * n_values, row);
        sis__forest_sums(f, row, sums, seen);
        sis__booster_margins(b, sums, sums + k, 0, k, margins + i * k);
    }
    free(row);
    free(sums);
    free(seen);
    return error;
}

/* ---- Walks ----------------------------------------------------------------------------------- */

enum { BLOCK = 64 }; /* candidates whose sums are computed together */

typedef struct {
    sis_walk walk;
    const sis__booster *b;
    size_t output;
    double *x, *z; /* (width) input and mask */
    sis__forest_walk *trees;
    double *sums, *rest, *bound; /* (BLOCK, n_sums), (n_sums), (n_sums) */
    double margin;               /* of the current state */
    int *final;                  /* (features) candidates that may be the best */
    double *reach;               /* (features) approximate margins */
    int best;                    /* the one with the best margin, -1: not known */
    double best_margin;
} forest_walk;

static int margins_of(forest_walk *w, const int *features, size_t n, double *margins) {
    size_t k = w->b->forest.n_sums;
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t some = n - i < BLOCK ? n - i : BLOCK;
        sis__forest_walk_sums(w->trees, features + i, some, w->sums);
        for (size_t m = 0; m < some; m++) {
            sis__booster_margins(w->b, w->sums + m * k, w->rest, w->output, w->output + 1,
                                 &margins[i + m]);
            if (isnan(margins[i + m]))
                return sis__fail(SIS_E_NAN, "the model returned NaN for output %zu", w->output);
        }
    }
    w->walk.evaluations += n;
    return SIS_OK;
}

/* ---- Candidates that may be the best --------------------------------------------------------- */

/* A candidate's margin, up to rounding. */
static inline double approximate_margin(forest_walk *w, const double *now, const double *change) {
    size_t k = w->output;
    double margin, own = sis__booster_scaled(w->b, now[k] + change[k]);
    if (w->b->link != SIS__LINK_SOFTMAX)
        return own;
    if (w->b->forest.n_sums == 2)
        return own - sis__booster_scaled(w->b, now[1 - k] + change[1 - k]);
    for (k = 0; k < w->b->forest.n_sums; k++)
        w->sums[k] = now[k] + change[k];
    sis__booster_margins(w->b, w->sums, w->rest, w->output, w->output + 1, &margin);
    return margin;
}

/* Bound on the error of that margin: a margin changes at most as much as the sum of its output plus
 * that of the others, with a few roundings of its own. */
static double slack(forest_walk *w, double margin) {
    const sis__booster *b = w->b;
    const double *now = sis__forest_walk_change(w->trees, -1);
    double max = 0, size = fabs(margin);
    for (size_t k = 0; k < b->forest.n_sums; k++) {
        max = fmax(max, w->bound[k]);
        size = fmax(size, fabs(now[k]));
    }
    double factor = b->scale / b->divisor;
    return 2 * factor * max + 0x1p-45 * (1 + size + factor * size) * (double)b->forest.n_sums;
}

/* Put the candidates that may be the best into w->final. The margins of the others are marked as
 * worse; features that change no tree get the current margin. */
static size_t gather(forest_walk *w, const int *features, size_t n, double *margins) {
    const double *now = sis__forest_walk_change(w->trees, -1);
    const double *changes = sis__forest_walk_change(w->trees, 0);
    const uint32_t *turns = sis__forest_walk_turns(w->trees);
    double sign = w->walk.wants, best = -INFINITY, worst = 0;
    size_t count = 0, sums = w->b->forest.n_sums;
    for (size_t i = 0; i < n; i++) {
        double reach = w->margin;
        margins[i] = reach;
        if (w->b->forest.linear || turns[features[i]] > 0) {
            margins[i] = -sign * INFINITY;
            reach = approximate_margin(w, now, changes + (size_t)features[i] * sums);
        }
        w->reach[i] = reach;
        best = sign * reach > best ? sign * reach : best;
        worst = fabs(reach) > worst ? fabs(reach) : worst;
    }
    best -= 2 * slack(w, worst);
    for (size_t i = 0; i < n; i++)
        if (isinf(margins[i]) && !(sign * w->reach[i] < best))
            w->final[count++] = (int)i;
    return count;
}

/* Compute the margins of those in w->final exactly. */
static int compute_final(forest_walk *w, const int *features, size_t n, double *margins) {
    double sign = w->walk.wants;
    for (size_t i = 0; i < n; i++)
        w->final[i] = features[w->final[i]];
    int error = margins_of(w, w->final, n, w->reach);
    for (size_t i = 0, at = 0; error == SIS_OK && i < n; i++) {
        while (features[at] != w->final[i])
            at++;
        margins[at] = w->reach[i];
        if (w->best < 0 || sign * w->reach[i] > sign * w->best_margin) {
            w->best = w->final[i];
            w->best_margin = w->reach[i];
        }
    }
    return error;
}

/* ---- The walk -------------------------------------------------------------------------------- */

static int walk_reset(sis_walk *walk, const unsigned char *masked, double *margin) {
    forest_walk *w = (forest_walk *)walk;
    sis__forest_walk_reset(w->trees, masked);
    w->best = -1;
    int error = margins_of(w, (int[]){-1}, 1, &w->margin);
    *margin = w->margin;
    return error;
}

static int walk_probe(sis_walk *walk, const int *features, size_t n, double *margins) {
    forest_walk *w = (forest_walk *)walk;
    if (!walk->wants || !sis__forest_walk_bound(w->trees, w->bound))
        return margins_of(w, features, n, margins);
    size_t before = walk->evaluations, final = gather(w, features, n, margins);
    int error = compute_final(w, features, final, margins);
    walk->evaluations = before + n;
    return error;
}

static int walk_mask(sis_walk *walk, int feature, double *margin) {
    forest_walk *w = (forest_walk *)walk;
    size_t before = walk->evaluations; /* already counted as a candidate */
    int error = SIS_OK;
    sis__forest_walk_mask(w->trees, feature);
    if (feature == w->best)
        w->margin = w->best_margin;
    else
        error = margins_of(w, (int[]){-1}, 1, &w->margin);
    w->best = -1;
    walk->evaluations = before;
    *margin = w->margin;
    return error;
}

static void walk_free(sis_walk *walk) {
    forest_walk *w = (forest_walk *)walk;
    sis__forest_walk_free(w->trees);
    free(w->x);
    free(w->z);
    free(w->sums);
    free(w->rest);
    free(w->bound);
    free(w->final);
    free(w->reach);
    free(w);
}

static int walk_init(forest_walk *w, const sis_input *input) {
    const sis__forest *f = &w->b->forest;
    long n = sis_input_features(input);
    if (n < 0)
        return (int)n;
    w->x = SIS_NEW(double, f->width);
    w->z = SIS_NEW(double, f->width);
    w->sums = (double *)sis__alloc(BLOCK, f->n_sums * sizeof *w->sums);
    w->rest = SIS_NEW(double, f->n_sums);
    w->bound = SIS_NEW(double, f->n_sums);
    w->final = SIS_NEW(int, (size_t)n);
    w->reach = SIS_NEW(double, (size_t)n);
    if (!w->x || !w->z || !w->sums || !w->rest || !w->bound || !w->final || !w->reach)
        return SIS_E_NOMEM;
    take_values(f, input->values, w->x);
    take_values(f, input->mask, w->z);
    return sis__forest_walk_new(f, &(sis__forest_input){w->x, w->z, input->feature_of, (size_t)n},
                                &w->trees);
}

static int walk_new(void *ctx, const sis_input *input, size_t memory, sis_walk **out) {
    static const sis_walk_ops ops = {walk_reset, walk_probe, walk_mask, walk_free};
    const sis__booster *b = &((const forest_model *)ctx)->b;
    *out = NULL;
    if (input->n_values != b->forest.width || sis__forest_walk_size(&b->forest) > (double)memory)
        return SIS_E_UNSUPPORTED;
    forest_walk *w = SIS_NEW(forest_walk, 1);
    if (!w)
        return SIS_E_NOMEM;
    w->walk.ops = &ops;
    w->b = b;
    w->output = input->output;
    int error = walk_init(w, input);
    if (error) {
        walk_free(&w->walk);
        return error;
    }
    *out = &w->walk;
    return SIS_OK;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void forest_close(void *ctx) {
    forest_model *m = (forest_model *)ctx;
    sis__booster_release(&m->b);
    free(m);
}

static int read_booster(const char *path, sis__booster *b) {
    char *bytes;
    size_t n;
    int error = sis__file_read(path, &bytes, &n);
    if (error)
        return error;
    error =
        sis__lightgbm_is(bytes, n) ? sis__lightgbm_parse(bytes, n, b)
        : sis__xgboost_is(bytes, n)
            ? sis__xgboost_parse(bytes, n, b)
            : sis__fail(SIS_E_FORMAT, "not a model of XGBoost (JSON, UBJSON) or LightGBM (text)");
    free(bytes);
    return error && error != SIS_E_NOMEM ? sis__fail_in(error, "%s", path) : error;
}

static int read_categories(const char *path, sis__booster *b) {
    char *bytes;
    size_t n;
    int error = sis__file_read(path, &bytes, &n);
    if (error)
        return sis__fail_in(error, "--categories");
    error = sis__booster_take_words(b, bytes, n);
    free(bytes);
    return error && error != SIS_E_NOMEM ? sis__fail_in(error, "--categories %s", path) : error;
}

static int forest_open(const char *spec, const sis_model_opt *opt, sis_model *out) {
    forest_model *m = SIS_NEW(forest_model, 1);
    if (!m)
        return SIS_E_NOMEM;
    m->opened.kind = &sis__model_forest;
    int error = read_booster(spec, &m->b);
    if (!error && opt->categories)
        error = read_categories(opt->categories, &m->b);
    if (error) {
        forest_close(m);
        return error;
    }
    *out = (sis_model){.size = sizeof *out,
                       .predict = predict,
                       .ctx = m,
                       .n_outputs = m->b.forest.n_sums,
                       .n_values = m->b.forest.width,
                       .max_rows = ROWS,
                       .link = sis__booster_score(&m->b),
                       .worker_new = sis_worker_share,
                       .walk_new = walk_new,
                       .missing = 1};
    return SIS_OK;
}

const sis__booster *sis__model_booster(const sis_model *model) {
    const forest_model *m = (const forest_model *)model->ctx;
    return m && m->opened.kind == &sis__model_forest ? &m->b : NULL;
}

static int recognises(const char *head, size_t n) {
    return sis__lightgbm_is(head, n) || sis__xgboost_is(head, n);
}

static const char *const *names(const void *ctx) {
    return (const char *const *)((const forest_model *)ctx)->b.names;
}

static const char *const *const *words(const void *ctx) {
    return (const char *const *const *)((const forest_model *)ctx)->b.words;
}

static int describe(const void *ctx, char **text) {
    return sis__booster_describe(&((const forest_model *)ctx)->b, text);
}

const sis__model_kind sis__model_forest = {
    .suffix = ".json .ubj .txt",
    .recognises = recognises,
    .form = "FILE.json",
    .meaning = "a model of XGBoost, also .ubj, or LightGBM, .txt",
    .open = forest_open,
    .predict = predict,
    .close = forest_close,
    .names = names,
    .words = words,
    .describe = describe,
};
