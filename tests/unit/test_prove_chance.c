/* SPDX-License-Identifier: MIT
 *
 * Guarantees for a share of all completions: intervals contain the true share as often as stated,
 * and guarantees hold for fresh draws.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/explain.h>
#include <sis/prove.h>

#include "base/rng.h"

/* ---- Intervals ------------------------------------------------------------------------------- */

/* The probability of at most k of n. */
static double at_most(size_t k, size_t n, double share) {
    double sum = 0;
    for (size_t i = 0; i <= k; i++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) +
                   (double)i * log(share) + (double)(n - i) * log1p(-share));
    return sum;
}

static void intervals_match_binomial_tails(void **state) {
    (void)state;
    for (size_t n = 1; n <= 60; n += 7)
        for (size_t k = 0; k <= n; k++) {
            double low, high;
            sis_share_interval(k, n, 0.9, &low, &high);
            assert_true(low >= 0 && low <= (double)k / (double)n && high >= (double)k / (double)n);
            if (k > 0)
                assert_true(fabs(1 - at_most(k - 1, n, low) - 0.05) < 1e-9);
            if (k < n)
                assert_true(fabs(at_most(k, n, high) - 0.05) < 1e-9);
        }
    double low, high;
    sis_share_interval(0, 0, 0.95, &low, &high);
    assert_true(low == 0 && high == 1);
}

/* ---- Simulation ------------------------------------------------------------------------------ */

enum { WIDTH = 8, DONORS = 12 };

typedef struct {
    double weights[WIDTH], x[WIDTH], rows[DONORS][WIDTH];
    sis_input deck_inputs[DONORS], input;
    sis_deck *deck;
    sis_model model;
    sis_opt opt;
} example;

static int toy_predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    const example *e = (const example *)ctx;
    for (size_t i = 0; i < n; i++) {
        scores[i] = 0;
        for (size_t j = 0; j < width; j++)
            scores[i] += e->weights[j] * rows[i * width + j];
    }
    return 0;
}

static void draw(example *e, uint64_t seed) {
    sis__rng r;
    double full;
    sis__rng_init(&r, seed);
    for (size_t j = 0; j < WIDTH; j++) {
        e->weights[j] = sis__rng_normal(&r);
        e->x[j] = sis__rng_normal(&r);
        for (size_t i = 0; i < DONORS; i++)
            e->rows[i][j] = sis__rng_normal(&r);
    }
    for (size_t i = 0; i < DONORS; i++)
        e->deck_inputs[i] = (sis_input){.values = e->rows[i], .n_values = WIDTH};
    e->model =
        (sis_model){.size = sizeof(sis_model), .predict = toy_predict, .ctx = e, .n_outputs = 1};
    e->input = (sis_input){.values = e->x, .mask = e->rows[0], .n_values = WIDTH};
    toy_predict(e, e->x, 1, WIDTH, &full);
    e->opt = decision(full - 1);
    assert_int_equal(sis_deck_new(e->deck_inputs, DONORS, 0, &e->deck), SIS_OK);
}

/* The share of completions that keep the decision, by very many draws. */
static double true_share(const example *e, const sis_subset *s) {
    enum { DRAWS = 20000 };
    sis__rng r;
    size_t kept = 0;
    sis__rng_init(&r, 99);
    for (int i = 0; i < DRAWS; i++) {
        double row[WIDTH], score;
        for (size_t j = 0; j < WIDTH; j++)
            row[j] = e->rows[sis__rng_below(&r, DONORS)][j];
        for (size_t k = 0; k < s->n; k++)
            row[s->features[k]] = e->x[s->features[k]];
        toy_predict((void *)(uintptr_t)e, row, 1, WIDTH, &score);
        kept += (size_t)sis_decided(score, e->opt.threshold, e->opt.below);
    }
    return (double)kept / DRAWS;
}

/* One feature decides: every draw keeps the decision, and each is counted once. */
static void draws_are_counted_once(void **state) {
    (void)state;
    example e;
    sis_collection c;
    sis_guarantee g;
    sis_chance_opt opt;
    draw(&e, 1);
    memset(e.weights, 0, sizeof e.weights);
    e.weights[0] = 1;
    e.x[0] = 100;
    e.opt = decision(50);
    sis_chance_opt_init(&opt);
    opt.share = 0.8;
    assert_int_equal(sis_chance_collect(&e.model, &e.input, &e.opt, e.deck, &opt, &c, &g), SIS_OK);
    assert_true(c.n_subsets == 1 && c.subsets[0].n == 1 && c.subsets[0].features[0] == 0);
    assert_true(g.shares[0].draws >= 8 && g.shares[0].kept == g.shares[0].draws);
    sis_collection_release(&c);
    sis_guarantee_release(&g);
    sis_deck_free(e.deck);
}

static void fractions_hold_for_new_draws(void **state) {
    (void)state;
    size_t subsets = 0, inside = 0, kept = 0, partial = 0, n = rounds(300);
    for (uint64_t seed = 1; seed <= n; seed++) {
        example e;
        sis_collection c;
        sis_guarantee g;
        sis_audit a;
        sis_chance_opt opt;
        draw(&e, seed);
        sis_chance_opt_init(&opt);
        opt.share = 0.8;
        opt.samples = 1200;
        opt.seed = seed;
        assert_int_equal(sis_chance_collect(&e.model, &e.input, &e.opt, e.deck, &opt, &c, &g),
                         SIS_OK);
        assert_true(g.n_shares == c.n_subsets);
        for (size_t k = 0; k < c.n_subsets; k++) {
            double share = true_share(&e, &c.subsets[k]);
            assert_true(g.shares[k].low >= 0.8);
            subsets++;
            inside += share >= g.shares[k].low - 0.01 && share <= g.shares[k].high + 0.01;
            kept += share >= 0.8;
            partial += c.subsets[k].n < WIDTH;
        }
        assert_int_equal(sis_chance_audit(&e.model, &e.input, &e.opt, e.deck, &c, &g, &a), SIS_OK);
        assert_true(a.holds);
        sis_audit_release(&a);
        if (c.n_subsets && c.subsets[0].n < WIDTH) { /* a false claim */
            g.share = g.shares[0].low = g.shares[0].high = 0.99999;
            assert_int_equal(sis_chance_audit(&e.model, &e.input, &e.opt, e.deck, &c, &g, &a),
                             SIS_OK);
            assert_true(!a.holds || true_share(&e, &c.subsets[0]) > 0.95);
            sis_audit_release(&a);
        }
        sis_collection_release(&c);
        sis_guarantee_release(&g);
        sis_deck_free(e.deck);
    }
    assert_true(subsets > n / 2 && partial > subsets / 2);
    assert_true((double)inside >= 0.95 * (double)subsets);
    assert_true((double)kept >= 0.95 * (double)subsets);
}

static void equal_seeds_give_equal_answers(void **state) {
    (void)state;
    example e;
    sis_collection a, b;
    sis_guarantee g, h;
    sis_chance_opt opt;
    draw(&e, 5);
    sis_chance_opt_init(&opt);
    opt.share = 0.8;
    assert_int_equal(sis_chance_collect(&e.model, &e.input, &e.opt, e.deck, &opt, &a, &g), SIS_OK);
    assert_int_equal(sis_chance_collect(&e.model, &e.input, &e.opt, e.deck, &opt, &b, &h), SIS_OK);
    assert_same_subsets(&a, &b);
    for (size_t k = 0; k < g.n_shares; k++)
        assert_memory_equal(&g.shares[k], &h.shares[k], sizeof *g.shares);
    sis_collection_release(&a);
    sis_collection_release(&b);
    sis_guarantee_release(&g);
    sis_guarantee_release(&h);
    opt.samples = 20; /* too few for a share of 0.8 */
    assert_int_equal(sis_chance_collect(&e.model, &e.input, &e.opt, e.deck, &opt, &a, &g),
                     SIS_E_ARGUMENT);
    assert_message_has("too few");
    opt.share = 1;
    assert_int_equal(sis_chance_collect(&e.model, &e.input, &e.opt, e.deck, &opt, &a, &g),
                     SIS_E_ARGUMENT);
    sis_deck_free(e.deck);
}

static int collect_once(void *ctx) {
    example *e = (example *)ctx;
    sis_collection c;
    sis_guarantee g;
    sis_chance_opt opt;
    sis_chance_opt_init(&opt);
    opt.share = 0.6;
    opt.samples = 100;
    int error = sis_chance_collect(&e->model, &e->input, &e->opt, e->deck, &opt, &c, &g);
    if (!error) {
        sis_collection_release(&c);
        sis_guarantee_release(&g);
    }
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    example e;
    draw(&e, 2);
    assert_true(with_failing_allocations(collect_once, &e) > 20);
    sis_deck_free(e.deck);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_match_binomial_tails),
        cmocka_unit_test(draws_are_counted_once),
        cmocka_unit_test(fractions_hold_for_new_draws),
        cmocka_unit_test(equal_seeds_give_equal_answers),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
