/* SPDX-License-Identifier: MIT
 *
 * Compares walks over a network with its full passes. See support_nets.h.
 */
#include "support_nets.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* ---- Cases --------------------------------------------------------------------------------- */

/* Feature maps: each value; runs of neighbours; at random. Some values belong to no feature. */
static size_t draw_features(int *of, size_t n, sis__rng *r) {
    size_t way = sis__rng_below(r, 4), run = between(r, 2, 6), used = 0;
    for (size_t i = 0; i < n; i++)
        of[i] = way == 3 ? (int)sis__rng_below(r, n / 3 + 1) : (int)(way == 2 ? i / run : i);
    for (size_t i = 0; i < n && way > 0; i++)
        if (chance(r, 0.1))
            of[i] = -1;
    /* Every number up to the largest must be used: renumber. */
    int *number = (int *)malloc(n * sizeof *number);
    for (size_t i = 0; i < n; i++)
        number[i] = -1;
    for (size_t i = 0; i < n; i++)
        if (of[i] >= 0) {
            if (number[of[i]] < 0)
                number[of[i]] = (int)used++;
            of[i] = number[of[i]];
        }
    free(number);
    return used;
}

/* Words are features, each with its whole vector. */
static size_t draw_words(int *of, size_t n, size_t dim, sis__rng *r) {
    int used = 0;
    for (size_t i = 0; i < n; i += dim) {
        int word = chance(r, 0.1) ? -1 : used++;
        for (size_t c = 0; c < dim; c++)
            of[i + c] = word;
    }
    return (size_t)used;
}

void walk_case_init(walk_case *c, sis_net *net, int embedded, sis__rng *r) {
    const float *matrix;
    size_t words = 0, dim = 1, n = sis_net_values(net);
    *c = (walk_case){.net = net, .embedded = embedded};
    if (sis_net_is_token(net))
        sis_net_embedding(net, &matrix, &words, &dim);
    n *= embedded ? dim : 1;
    c->n_values = n;
    c->x = (double *)malloc(n * sizeof *c->x);
    c->z = (double *)malloc(n * sizeof *c->z);
    c->feature_of = (int *)malloc(n * sizeof *c->feature_of);
    double faint = chance(r, 0.3) ? 0.3 : 0.0;
    for (size_t i = 0; i < n; i++) {
        int ids = words && !embedded;
        c->x[i] = ids ? (double)sis__rng_below(r, words) : sis__rng_normal(r);
        c->z[i] = ids ? (double)(chance(r, 0.9) ? 0 : sis__rng_below(r, words)) : 0.3;
        if (chance(r, 0.05))
            c->z[i] = c->x[i];
        if (!ids && chance(r, faint))
            c->x[i] = c->z[i] + 1e-6 * sis__rng_normal(r);
        if (!ids && chance(r, 0.2))
            c->x[i] = 0;
    }
    if (chance(r, 0.4)) /* few shades, so that features are equal */
        for (size_t i = 0; i < n; i++)
            c->x[i] = rint(c->x[i]);
    c->n_features =
        embedded ? draw_words(c->feature_of, n, dim, r) : draw_features(c->feature_of, n, r);
    c->input =
        (sis_input){.values = c->x, .mask = c->z, .n_values = n, .feature_of = c->feature_of};
    c->input.output = sis__rng_below(r, sis_net_outputs(net));
}

void walk_case_release(walk_case *c) {
    sis_net_free(c->net);
    free(c->x);
    free(c->z);
    free(c->feature_of);
}

/* ---- Full passes ---------------------------------------------------------------------------- */

static int pass(const walk_case *c, const float *rows, size_t n, double *margins) {
    sis_net_batch b = {.rows = rows, .n_rows = n, .n_values = c->n_values, .embedded = c->embedded};
    return sis_net_margins(c->net, &b, margins);
}

void full_margins(const walk_case *c, const unsigned char *masked, const int *features, size_t n,
                  double *margins) {
    size_t outputs = sis_net_outputs(c->net);
    float *rows = (float *)malloc((n + 1) * c->n_values * sizeof *rows);
    double *all = (double *)malloc((n + 1) * outputs * sizeof *all);
    for (size_t k = 0; k < n; k++)
        for (size_t v = 0; v < c->n_values; v++) {
            int j = c->feature_of[v];
            int gone = j >= 0 && (masked[j] || j == features[k]);
            rows[k * c->n_values + v] = (float)(gone ? c->z[v] : c->x[v]);
        }
    assert_int_equal(pass(c, rows, n, all), 0);
    for (size_t k = 0; k < n; k++)
        margins[k] = all[k * outputs + c->input.output];
    free(rows);
    free(all);
}

static int predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    float *x = (float *)malloc(n * width * sizeof *x);
    if (!x)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n * width; i++)
        x[i] = (float)rows[i];
    int error = pass((const walk_case *)ctx, x, n, scores);
    free(x);
    return error;
}

static int walk_new(void *ctx, const sis_input *input, size_t memory, sis_walk **walk) {
    const walk_case *c = (const walk_case *)ctx;
    sis_net_walk_opt opt = {.embedded = c->embedded, .memory = memory};
    return sis_net_walk(c->net, input, &opt, walk);
}

sis_model walk_case_model(const walk_case *c) {
    return (sis_model){.size = sizeof(sis_model),
                       .predict = predict,
                       .ctx = (void *)(uintptr_t)c,
                       .n_outputs = sis_net_outputs(c->net),
                       .n_values = c->n_values,
                       .link = sis_net_has_link(c->net) ? sis_net_link : NULL,
                       .walk_new = walk_new};
}

/* ---- Checks -------------------------------------------------------------------------------- */

/* One margin of the walk against that of a full pass. */
static void compare(const sis_walk *w, double walked, double full, walk_seen *seen) {
    double error = fabs(walked - full) / (1 + fabs(full));
    if (!(error <= 1e-5))
        fail_msg("the walk says %.9g, a full pass %.9g", walked, full);
    if (w->tolerance == 0 && walked != full)
        fail_msg("an exact walk says %.17g, a full pass %.17g", walked, full);
    if (w->tolerance > 0 && error > w->tolerance)
        fail_msg("off by %.3g, tolerance %.3g", error, w->tolerance);
    seen->error = fmax(seen->error, error);
    if (w->tolerance > 0)
        seen->portion = fmax(seen->portion, error / w->tolerance);
    seen->exact += w->tolerance == 0;
    seen->probes++;
}

/* If a walk returns the present margin, full passes must leave it unchanged too. */
static void compare_unchanged(double walked, double full, double now, double full_now,
                              walk_seen *seen) {
    if (walked != now)
        return;
    seen->unchanged++;
    if (full != full_now)
        fail_msg("said to change nothing, but %.17g became %.17g", full_now, full);
}

/* Some of the remaining features, ascending; at least one. */
static size_t draw_left(const walk_case *c, const unsigned char *masked, sis__rng *r, double part,
                        int *list) {
    size_t n = 0;
    for (size_t j = 0; j < c->n_features; j++)
        if (!masked[j] && chance(r, part))
            list[n++] = (int)j;
    for (size_t j = 0; j < c->n_features && n == 0; j++)
        if (!masked[j])
            list[n++] = (int)j;
    return n;
}

void check_windows(const walk_case *c, sis_walk *w, sis__rng *r, size_t steps, walk_seen *seen) {
    size_t n = c->n_features;
    unsigned char *masked = (unsigned char *)calloc(n + 1, 1);
    int *list = (int *)malloc((n + 1) * sizeof *list), nothing = -1;
    double *walked = (double *)malloc((n + 1) * sizeof *walked);
    double *full = (double *)malloc((n + 1) * sizeof *full), now, full_now;
    double gone = chance(r, 0.5) ? 0 : sis__rng_uniform(r), part = chance(r, 0.5) ? 1 : 0.2;
    for (size_t j = 0; j < n; j++)
        masked[j] = (unsigned char)chance(r, gone);
    assert_int_equal(w->ops->reset(w, masked, &now), 0);
    for (size_t step = 0;; step++) {
        full_margins(c, masked, &nothing, 1, &full_now);
        compare(w, now, full_now, seen);
        size_t left = draw_left(c, masked, r, part, list);
        if (left == 0 || step == steps)
            break;
        assert_int_equal(w->ops->probe(w, list, left, walked), 0);
        full_margins(c, masked, list, left, full);
        for (size_t k = 0; k < left; k++) {
            compare(w, walked[k], full[k], seen);
            if (w->tolerance > 0)
                compare_unchanged(walked[k], full[k], now, full_now, seen);
        }
        size_t take = sis__rng_below(r, left);
        for (size_t k = 0; k < left && chance(r, 0.5); k++)
            take = walked[k] > walked[take] ? k : take;
        assert_int_equal(w->ops->mask(w, list[take], &now), 0);
        masked[list[take]] = 1;
    }
    free(masked);
    free(list);
    free(walked);
    free(full);
}

size_t check_left_out(const walk_case *c, sis_walk *asked, sis_walk *all, int wants) {
    size_t n = 0, left_out = 0;
    int features[4096];
    double margins[2][4096], margin;
    unsigned char masked[4096] = {0};
    for (size_t j = 0; j < c->n_features; j++)
        features[n++] = (int)j;
    assert_int_equal(asked->ops->reset(asked, masked, &margin), SIS_OK);
    assert_int_equal(all->ops->reset(all, masked, &margin), SIS_OK);
    for (; n > 0; n--) {
        size_t best = 0;
        asked->wants = wants;
        assert_int_equal(asked->ops->probe(asked, features, n, margins[0]), SIS_OK);
        assert_int_equal(all->ops->probe(all, features, n, margins[1]), SIS_OK);
        for (size_t k = 1; k < n; k++)
            if (wants * margins[1][k] > wants * margins[1][best])
                best = k;
        for (size_t k = 0; k < n; k++)
            if (margins[0][k] != margins[1][k]) {
                left_out++;
                if (!(isinf(margins[0][k]) && wants * margins[0][k] < 0) ||
                    !(wants * margins[1][k] < wants * margins[1][best]))
                    fail_msg("feature %d of %zu: %.17g, not %.17g; the best has %.17g", features[k],
                             n, margins[0][k], margins[1][k], margins[1][best]);
            }
        int feature = features[best];
        assert_int_equal(asked->ops->mask(asked, feature, &margin), SIS_OK);
        assert_int_equal(all->ops->mask(all, feature, &margin), SIS_OK);
        memmove(features + best, features + best + 1, (n - best - 1) * sizeof *features);
    }
    return left_out;
}

size_t check_same_collection(const walk_case *c, sis__rng *r) {
    sis_model m = walk_case_model(c);
    sis_opt opt;
    sis_collection fast, plain;
    int nothing = -1;
    double margins[2];
    unsigned char *all = (unsigned char *)malloc(c->n_features);
    memset(all, 0, c->n_features);
    full_margins(c, all, &nothing, 1, &margins[0]);
    memset(all, 1, c->n_features);
    full_margins(c, all, &nothing, 1, &margins[1]);
    free(all);
    double part = 0.2 + 0.7 * sis__rng_uniform(r);
    double margin = margins[1] + part * (margins[0] - margins[1]);
    sis_opt_init(&opt);
    opt.threshold = m.link ? m.link(margin) : margin;
    opt.below = margins[0] < margins[1];
    opt.max_subsets = 3;
    assert_int_equal(sis_collect(&m, &c->input, &opt, &fast), 0);
    opt.exact = 1;
    assert_int_equal(sis_collect(&m, &c->input, &opt, &plain), 0);
    assert_int_equal(fast.status, plain.status);
    assert_int_equal(fast.n_subsets, plain.n_subsets);
    for (size_t k = 0; k < fast.n_subsets; k++) {
        assert_int_equal(fast.subsets[k].n, plain.subsets[k].n);
        assert_memory_equal(fast.subsets[k].features, plain.subsets[k].features,
                            fast.subsets[k].n * sizeof(int));
        assert_true(fast.subsets[k].score == plain.subsets[k].score);
    }
    size_t n = fast.n_subsets;
    sis_collection_release(&fast);
    sis_collection_release(&plain);
    return n;
}
