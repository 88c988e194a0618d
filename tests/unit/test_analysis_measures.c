/* SPDX-License-Identifier: MIT
 *
 * Parts of inputs, importance, hot decks and robustness, on models small enough that the results
 * are known.
 */
#include "support_data.h"

#include <math.h>

#include <sis/analysis.h>

#include "base/rng.h"

enum { WIDTH = 6 };
static const double WEIGHTS[WIDTH] = {1, 2, 4, 8, 16, 32};

/* Two outputs: the weighted sum, and its negative. */
static int weigh(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        scores[2 * i] = 0;
        for (size_t v = 0; v < width; v++)
            scores[2 * i] += WEIGHTS[v % WIDTH] * rows[i * width + v];
        scores[2 * i + 1] = -scores[2 * i];
    }
    return 0;
}

static const sis_model LINEAR = {.size = sizeof LINEAR, .predict = weigh, .n_outputs = 2};

/* Ones, masked by zeros: the score is the sum of the weights of the present values. */
static const double ONES[WIDTH] = {1, 1, 1, 1, 1, 1}, ZEROS[WIDTH] = {0};
static const sis_input PLAIN = {.values = ONES, .mask = ZEROS, .n_values = WIDTH};

/* ---- Parts --------------------------------------------------------------------------------- */

static double score_of(const sis_part *part) {
    sis_opt opt = decision(10);
    double score;
    assert_int_equal(sis_part_scores(&LINEAR, part, 1, &opt, &score), SIS_OK);
    return score;
}

static void parts_are_what_is_left_or_masked(void **state) {
    (void)state;
    const int some[] = {3, 1};
    sis_part part = {&PLAIN, some, 2, 0};
    assert_true(score_of(&part) == 10);
    part.without = 1;
    assert_true(score_of(&part) == 53);
    part.n = 0;
    assert_true(score_of(&part) == 63);
    part.without = 0;
    assert_true(score_of(&part) == 0);
}

static void parts_follow_the_input(void **state) {
    (void)state;
    const int map[WIDTH] = {0, 0, 1, 1, -1, 2}, second[] = {1};
    const unsigned char absent[] = {0, 0, 1};
    const double masks[2 * WIDTH] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
    sis_input in = PLAIN;
    in.feature_of = map;
    sis_part part = {&in, second, 1, 0};
    assert_true(score_of(&part) == 4 + 8 + 16); /* value 4 is never masked */
    part.without = 1;
    assert_true(score_of(&part) == 63 - 12);
    in.absent = absent;
    assert_true(score_of(&part) == 63 - 12 - 32);
    in.output = 1;
    assert_true(score_of(&part) == -(63 - 12 - 32));
    in = (sis_input){.values = ONES, .mask = masks, .n_values = WIDTH, .n_samples = 2};
    part = (sis_part){&in, second, 1, 0};
    assert_true(score_of(&part) == (2 + 63) / 2.0); /* the mean over both masks */
}

static void many_parts_keep_their_order(void **state) {
    (void)state;
    enum { N = 500 };
    static sis_part parts[N];
    static double scores[N];
    static const int each[] = {0, 1, 2, 3, 4, 5};
    sis_opt opt = decision(10);
    opt.memory = 16 * WIDTH * sizeof(double); /* a few rows at a time */
    for (size_t i = 0; i < N; i++)
        parts[i] = (sis_part){&PLAIN, &each[i % WIDTH], 1, 0};
    assert_int_equal(sis_part_scores(&LINEAR, parts, N, &opt, scores), SIS_OK);
    for (size_t i = 0; i < N; i++)
        assert_true(scores[i] == WEIGHTS[i % WIDTH]);
    assert_int_equal(sis_part_scores(&LINEAR, parts, 0, &opt, scores), SIS_OK);
}

static void parts_that_are_none_are_refused(void **state) {
    (void)state;
    const int wrong[] = {0, WIDTH};
    sis_opt opt = decision(10);
    double score;
    sis_part part = {&PLAIN, wrong, 2, 0};
    assert_int_equal(sis_part_scores(&LINEAR, &part, 1, &opt, &score), SIS_E_ARGUMENT);
    assert_message_has("feature 6 is not one of the 6");
    sis_input in = PLAIN;
    in.output = 2;
    part = (sis_part){&in, wrong, 1, 0};
    assert_int_equal(sis_part_scores(&LINEAR, &part, 1, &opt, &score), SIS_E_ARGUMENT);
    assert_message_has("output 2");
}

/* ---- Importance ---------------------------------------------------------------------------- */

static void importance_is_what_masking_takes_off(void **state) {
    (void)state;
    double importance[WIDTH];
    sis_opt opt = decision(10);
    assert_int_equal(sis_importance(&LINEAR, &PLAIN, &opt, importance), SIS_OK);
    for (int i = 0; i < WIDTH; i++)
        assert_true(importance[i] == WEIGHTS[i]);
    opt.below = 1; /* now masking must raise the score */
    assert_int_equal(sis_importance(&LINEAR, &PLAIN, &opt, importance), SIS_OK);
    for (int i = 0; i < WIDTH; i++)
        assert_true(importance[i] == -WEIGHTS[i]);
}

/* ---- Decks --------------------------------------------------------------------------------- */

static const double LENT[3][WIDTH] = {
    {10, 11, 12, 13, 14, 15}, {20, 21, 22, 23, 24, 25}, {30, 31, 32, 33, 34, 35}};

static void lend_three(sis_input inputs[3]) {
    for (size_t i = 0; i < 3; i++)
        inputs[i] = (sis_input){.values = LENT[i], .mask = ZEROS, .n_values = WIDTH};
}

static void values_come_from_the_same_place(void **state) {
    (void)state;
    enum { N = 300 };
    static double mask[N * WIDTH], again[N * WIDTH];
    sis_input inputs[3];
    sis_deck *deck;
    size_t seen[3] = {0};
    lend_three(inputs);
    assert_int_equal(sis_deck_new(inputs, 3, 0, &deck), SIS_OK);
    assert_int_equal(sis_deck_draw(deck, &PLAIN, N, 7, mask), SIS_OK);
    assert_int_equal(sis_deck_draw(deck, &PLAIN, N, 7, again), SIS_OK);
    assert_memory_equal(mask, again, sizeof mask);
    for (size_t i = 0; i < (size_t)N * WIDTH; i++) {
        assert_int_equal((int)mask[i] % 10, i % WIDTH);
        seen[(int)mask[i] / 10 - 1]++;
    }
    for (size_t k = 0; k < 3; k++) /* 600 each, within five standard deviations */
        assert_in_range(seen[k], 500, 700);
    sis_deck_free(deck);
}

static void whole_rows_are_lent(void **state) {
    (void)state;
    enum { N = 300 };
    static double mask[N * WIDTH];
    sis_input inputs[3];
    sis_deck *deck;
    size_t seen[3] = {0};
    lend_three(inputs);
    assert_int_equal(sis_deck_new(inputs, 3, SIS_DECK_ROWS, &deck), SIS_OK);
    assert_int_equal(sis_deck_draw(deck, &PLAIN, N, 7, mask), SIS_OK);
    for (size_t s = 0; s < N; s++) {
        size_t lender = (size_t)mask[s * WIDTH] / 10 - 1;
        assert_memory_equal(mask + s * WIDTH, LENT[lender], sizeof LENT[lender]);
        seen[lender]++;
    }
    for (size_t k = 0; k < 3; k++) /* 100 each, within five standard deviations */
        assert_in_range(seen[k], 59, 141);
    sis_deck_free(deck);
}

/* Linear model and whole rows: the score is the mean over three rows, and its error is known. */
static void fresh_draws_have_a_mean_and_an_error(void **state) {
    (void)state;
    enum { N = 4000 };
    int two[] = {0, 3};
    sis_subset subsets[] = {{.features = two, .n = 2}, {.features = NULL, .n = 0}};
    sis_input inputs[3];
    sis_deck *deck;
    sis_opt opt = decision(10);
    double scores[2], errors[2];
    lend_three(inputs);
    assert_int_equal(sis_deck_new(inputs, 3, SIS_DECK_ROWS, &deck), SIS_OK);
    assert_int_equal(sis_deck_scores(deck, &LINEAR, &PLAIN, subsets, 2, N, 3, &opt, scores, errors),
                     SIS_OK);
    for (size_t k = 0; k < 2; k++) {
        double rows[3], mean = 0, variance = 0;
        for (size_t i = 0; i < 3; i++) {
            sis_input in = PLAIN;
            in.mask = LENT[i];
            sis_part part = {&in, subsets[k].features, subsets[k].n, 0};
            assert_int_equal(sis_part_scores(&LINEAR, &part, 1, &opt, &rows[i]), SIS_OK);
            mean += rows[i] / 3;
        }
        for (size_t i = 0; i < 3; i++)
            variance += (rows[i] - mean) * (rows[i] - mean) / 3;
        double error = sqrt(variance / N);
        assert_true(error > 0 && fabs(errors[k] / error - 1) < 0.1);
        assert_true(fabs(scores[k] - mean) < 5 * error);
    }
    sis_deck_free(deck);
}

static void values_come_from_anywhere(void **state) {
    (void)state;
    enum { N = 400 };
    static double mask[N * 4];
    const int pairs[WIDTH] = {-1, 0, 1, 0, 1, -1}, own[4] = {-1, 0, 0, -1};
    const double values[4] = {1, 2, 3, 4};
    sis_input inputs[3], in = {
                             .values = values, .mask = ZEROS, .n_values = 4, .feature_of = own};
    sis_deck *deck;
    size_t second = 0;
    lend_three(inputs);
    for (size_t i = 0; i < 3; i++)
        inputs[i].feature_of = pairs;
    assert_int_equal(sis_deck_new(inputs, 3, 1, &deck), SIS_OK);
    assert_int_equal(sis_deck_draw(deck, &in, N, 3, mask), SIS_OK);
    for (size_t i = 0; i < N; i++) {
        const double *row = mask + 4 * i;
        assert_true(row[0] == 1 && row[3] == 4); /* never masked */
        assert_true(row[2] == row[1] + 2);       /* the values of a feature are drawn together */
        second += (int)row[1] % 10 == 2;
    }
    assert_in_range(second, 150, 250);
    sis_deck_free(deck);
}

static void decks_that_do_not_fit_are_refused(void **state) {
    (void)state;
    double mask[WIDTH];
    const int uneven[WIDTH] = {0, 0, 0, 1, 1, 2}, three[WIDTH] = {0, 0, 0, 1, 1, 1};
    sis_input inputs[3], in = PLAIN;
    sis_deck *deck;
    lend_three(inputs);
    assert_int_equal(sis_deck_new(inputs, 0, 0, &deck), SIS_E_ARGUMENT);
    assert_null(deck);
    inputs[2].n_values = 4;
    assert_int_equal(sis_deck_new(inputs, 3, 0, &deck), SIS_E_ARGUMENT);
    assert_message_has("inputs 0 and 2 have 6 and 4 values");
    assert_int_equal(sis_deck_new(inputs, 2, 0, &deck), SIS_OK);
    in.n_values = 4;
    assert_int_equal(sis_deck_draw(deck, &in, 1, 1, mask), SIS_E_ARGUMENT);
    sis_deck_free(deck);
    lend_three(inputs);
    for (size_t i = 0; i < 3; i++)
        inputs[i].feature_of = three;
    assert_int_equal(sis_deck_new(inputs, 3, 1, &deck), SIS_OK);
    in = PLAIN;
    in.feature_of = uneven;
    assert_int_equal(sis_deck_draw(deck, &in, 1, 1, mask), SIS_E_ARGUMENT);
    assert_message_has("different numbers of values");
    sis_deck_free(deck);
}

/* Masking value v of input i by 0 changes the score by -w[v] (10 (i + 1) + v); the deck changes it
 * by w[v] times 0, 10 or 20 up or down. */
static void study_draws_examples_and_features(void **state) {
    (void)state;
    enum { N = 1000 };
    static double by_mask[N], by_deck[N];
    sis_input inputs[3];
    sis_deck *deck;
    sis_opt opt = decision(10);
    size_t seen[WIDTH] = {0}, same = 0;
    lend_three(inputs);
    assert_int_equal(sis_deck_new(inputs, 3, 0, &deck), SIS_OK);
    assert_int_equal(sis_deck_study(deck, &LINEAR, &opt, N, 5, by_mask, by_deck), SIS_OK);
    for (size_t i = 0; i < N; i++) {
        int found = -1;
        for (int v = 0; v < WIDTH; v++)
            for (int k = 0; k < 3; k++)
                if (by_mask[i] == -WEIGHTS[v] * LENT[k][v] &&
                    fmod(by_deck[i], WEIGHTS[v] * 10) == 0)
                    found = v;
        assert_true(found >= 0);
        seen[found]++;
        same += by_deck[i] == 0;
    }
    for (size_t v = 0; v < WIDTH; v++)
        assert_true(seen[v] > 100);
    assert_in_range(same, 260, 410); /* a third takes its own value */
    sis_deck_free(deck);
}

/* ---- Surroundings -------------------------------------------------------------------------- */

static void neighbours_lie_around(void **state) {
    (void)state;
    unsigned char keep[20] = {0}, row[7] = {0};
    const int corner[] = {0, 14}, ends[] = {0, 5};
    assert_int_equal(sis_features_around(4, 5, corner, 2, 1, keep), SIS_OK);
    const unsigned char expected[20] = {1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1};
    assert_memory_equal(keep, expected, 20);
    assert_int_equal(sis_features_around(1, 7, ends, 2, 1, row), SIS_OK);
    assert_memory_equal(row, ((unsigned char[]){1, 1, 0, 0, 1, 1, 1}), 7);
    assert_int_equal(sis_features_around(1, 7, ends, 1, SIZE_MAX, row), SIS_OK);
    assert_memory_equal(row, ((unsigned char[]){1, 1, 1, 1, 1, 1, 1}), 7);
    const int outside[] = {20};
    assert_int_equal(sis_features_around(4, 5, outside, 1, 1, keep), SIS_E_ARGUMENT);
    assert_int_equal(sis_features_around(4, 0, corner, 1, 1, keep), SIS_E_ARGUMENT);
}

/* ---- Robustness ---------------------------------------------------------------------------- */

/* The deck has ones and minus ones. Features 1 and 3 score 10 alone; they stay sufficient unless
 * values drawn elsewhere lower the score. */
static void rationales_are_tried_with_other_things_around(void **state) {
    (void)state;
    enum { SAMPLES = 400 };
    const double low[WIDTH] = {-1, -1, -1, -1, -1, -1};
    const sis_input inputs[2] = {PLAIN, {.values = low, .mask = ZEROS, .n_values = WIDTH}};
    const int some[] = {3, 1};
    const sis_part part = {&PLAIN, some, 2, 0};
    sis_robust_opt robust = {
        .samples = SAMPLES, .seed = 1, .height = 1, .width = WIDTH, .distance = 1};
    sis_robustness r;
    sis_opt opt = decision(10);
    sis_deck *deck;
    assert_int_equal(sis_deck_new(inputs, 2, 0, &deck), SIS_OK);
    robust.deck = deck;
    assert_int_equal(sis_robustness_measure(&LINEAR, &part, &opt, &robust, &r), SIS_OK);
    assert_true(r.around == 1 + 2 + 4 + 8 + 16 && r.around_holds == 1);
    assert_true(r.deck_holds > 0.4 && r.deck_holds < 0.6); /* feature 5 decides: plus or minus 32 */
    assert_true(fabs(r.deck - 10) < 10);
    assert_true(r.half_holds == 1); /* unmasked features never lower the score */
    assert_true(fabs(r.half - (10 + 53 / 2.0)) < 5);
    opt.threshold = 40;
    robust.height = 0;
    assert_int_equal(sis_robustness_measure(&LINEAR, &part, &opt, &robust, &r), SIS_OK);
    assert_true(isnan(r.around) && isnan(r.around_holds));
    assert_true(r.half_holds > 0.35 && r.half_holds < 0.65);
    sis_deck_free(deck);
}

static void robustness_needs_what_it_uses(void **state) {
    (void)state;
    const int some[] = {3, WIDTH};
    sis_part part = {&PLAIN, some, 1, 0};
    sis_robust_opt robust = {.samples = 1, .seed = 1};
    sis_robustness r;
    sis_opt opt = decision(10);
    sis_deck *deck;
    assert_int_equal(sis_robustness_measure(&LINEAR, &part, &opt, &robust, &r), SIS_E_ARGUMENT);
    assert_int_equal(sis_deck_new(&PLAIN, 1, 0, &deck), SIS_OK);
    robust.deck = deck;
    robust.height = 2;
    robust.width = 4;
    assert_int_equal(sis_robustness_measure(&LINEAR, &part, &opt, &robust, &r), SIS_E_ARGUMENT);
    assert_message_has("6 features do not form 2 rows of 4");
    robust.height = SIZE_MAX;
    assert_int_equal(sis_robustness_measure(&LINEAR, &part, &opt, &robust, &r), SIS_E_ARGUMENT);
    robust.height = 0;
    part.n = 2;
    assert_int_equal(sis_robustness_measure(&LINEAR, &part, &opt, &robust, &r), SIS_E_ARGUMENT);
    part = (sis_part){&PLAIN, some, 1, 1};
    assert_int_equal(sis_robustness_measure(&LINEAR, &part, &opt, &robust, &r), SIS_E_ARGUMENT);
    sis_deck_free(deck);
}

/* ---- Metrics ---------------------------------------------------------------------------- */

static void cuts_are_rounded_up(void **state) {
    (void)state;
    for (size_t k = 0; k < SIS_N_CUTS; k++)
        for (size_t n = 0; n < 1000; n++)
            assert_int_equal(sis_cut_features(k, n),
                             (size_t)ceil((double)n * sis_cut_percent(k) / 100 - 1e-9));
}

/* A nonlinear model, so that scores of a part and of its complement do not add up. */
static int twist(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        double a = 0, b = 1;
        for (size_t v = 0; v < width; v++) {
            a += rows[i * width + v] * (double)(v % 5);
            b *= 1 + 0.1 * rows[i * width + v];
        }
        scores[i] = a / (1 + fabs(a)) + b / 10;
    }
    return 0;
}

enum { MANY = 137 };
static const sis_model TWISTED = {.size = sizeof TWISTED, .predict = twist, .n_outputs = 1};

/* One row by hand: the first n features of `order` present and all others masked, or the
 * reverse. */
static double score_by_hand(const sis_input *in, const double *mask, const int *order, size_t n,
                            int without) {
    double row[MANY], score;
    unsigned char chosen[MANY] = {0};
    for (size_t i = 0; i < n; i++)
        chosen[order[i]] = 1;
    for (size_t v = 0; v < MANY; v++)
        row[v] = chosen[v] != without ? in->values[v] : mask[v];
    twist(NULL, row, 1, MANY, &score);
    return score;
}

static void make_twisted(double *values, double *mask, int *order, sis_input *in, sis__rng *rng) {
    for (size_t v = 0; v < MANY; v++) {
        values[v] = sis__rng_normal(rng);
        mask[v] = 0.1 * sis__rng_normal(rng);
        size_t k = sis__rng_below(rng, v + 1);
        order[v] = order[k];
        order[k] = (int)v;
    }
    *in = (sis_input){.values = values, .mask = mask, .n_values = MANY};
}

static void check_cut(const sis_ranking *r, const double *deck_masks, const sis_opt *opt, size_t k,
                      const sis_faithfulness *f) {
    const sis_input *in = r->input;
    static const size_t counts[SIS_N_CUTS] = {1, 2, 3, 5, 10};
    size_t n = r->by_count ? counts[k] : (size_t)ceil(MANY * sis_cut_percent(k) / 100);
    n = n < r->n ? n : r->n;
    double whole = score_by_hand(in, in->mask, NULL, 0, 1), sign = opt->below ? -1 : 1;
    double left = score_by_hand(in, in->mask, r->order, n, 0), pgi = 0, pgu = 0;
    double masked = score_by_hand(in, in->mask, r->order, n, 1);
    assert_true(fabs(f->sufficiency[k] - sign * (whole - left)) < 1e-12);
    assert_true(fabs(f->comprehensiveness[k] - sign * (whole - masked)) < 1e-12);
    for (size_t s = 0; s < r->samples; s++) {
        const double *mask = deck_masks + s * MANY;
        pgi += fabs(whole - score_by_hand(in, mask, r->order, n, 1)) / (double)r->samples;
        pgu += fabs(whole - score_by_hand(in, mask, r->order, n, 0)) / (double)r->samples;
    }
    assert_true(fabs(f->pgi[k] - pgi) < 1e-12 && fabs(f->pgu[k] - pgu) < 1e-12);
}

static void rankings_are_worth_what_rows_by_hand_say(void **state) {
    (void)state;
    enum { TIMES = 20, SAMPLES = 3 };
    double values[4][MANY], mask[MANY], masks[SAMPLES * MANY];
    int order[MANY];
    sis__rng rng;
    sis__rng_init(&rng, 5);
    for (size_t t = 0; t < TIMES; t++) {
        sis_input in[4];
        sis_deck *deck;
        sis_faithfulness f;
        sis_opt opt = decision(1);
        opt.below = t % 2 == 1;
        for (size_t i = 0; i < 4; i++)
            make_twisted(values[i], mask, order, &in[i], &rng);
        assert_int_equal(sis_deck_new(in + 1, 3, 0, &deck), SIS_OK);
        sis_ranking r = {.input = in,
                         .order = order,
                         .n = t % 3 ? MANY : t % 2 ? 20 : 4,
                         .by_count = t % 4 < 2,
                         .deck = deck,
                         .samples = SAMPLES,
                         .seed = t};
        assert_int_equal(sis_faithfulness_measure(&TWISTED, &r, &opt, &f), SIS_OK);
        assert_int_equal(sis_deck_draw(deck, in, SAMPLES, t, masks), SIS_OK);
        for (size_t k = 0; k < SIS_N_CUTS; k++)
            check_cut(&r, masks, &opt, k, &f);
        r.deck = NULL;
        assert_int_equal(sis_faithfulness_measure(&TWISTED, &r, &opt, &f), SIS_OK);
        assert_true(isnan(f.pgi[0]) && isnan(f.pgu[4]) && isfinite(f.sufficiency[2]));
        sis_deck_free(deck);
    }
}

/* Feature 0 is the rationale; each of ten others lowers the score below 1 if it is unmasked. */
static int spoil(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        double bad = 0;
        for (size_t v = 1; v <= 10; v++)
            bad += rows[i * width + v];
        scores[i] = rows[i * width] - bad;
    }
    return 0;
}

static void stability_is_how_often_no_spoiler_comes_back(void **state) {
    (void)state;
    enum { DRAWS = 4000 };
    const sis_model model = {.size = sizeof model, .predict = spoil, .n_outputs = 1};
    static double ones[101], zeros[101];
    const int own[] = {0};
    size_t held[SIS_N_CUTS];
    for (size_t v = 0; v < 101; v++)
        ones[v] = 1;
    sis_input in = {.values = ones, .mask = zeros, .n_values = 101};
    sis_part part = {&in, own, 1, 0};
    sis_opt opt = decision(1);
    assert_int_equal(sis_stability_measure(&model, &part, &opt, DRAWS, 3, held), SIS_OK);
    for (size_t k = 0; k < SIS_N_CUTS; k++) { /* r of 100 others, none of the ten */
        double chance = 1, low, high;
        for (size_t i = 0; i < (size_t)sis_cut_percent(k); i++)
            chance *= (90.0 - (double)i) / (100.0 - (double)i);
        sis_share_interval(held[k], DRAWS, 0.9999, &low, &high);
        assert_true(low <= chance && chance <= high);
    }
    part.without = 1;
    assert_int_equal(sis_stability_measure(&model, &part, &opt, 1, 3, held), SIS_E_ARGUMENT);
    const int wrong[] = {101};
    part = (sis_part){&in, wrong, 1, 0};
    assert_int_equal(sis_stability_measure(&model, &part, &opt, 1, 3, held), SIS_E_ARGUMENT);
}

/* Flags of a set of up to 40 features, and the spans in it. */
static size_t list_spans(const unsigned char *is, int (*spans)[2]) {
    size_t n = 0;
    for (int f = 0; f < 40; f++)
        if (is[f] && (f == 0 || !is[f - 1])) {
            spans[n][0] = f;
            while (f < 39 && is[f + 1])
                f++;
            spans[n++][1] = f;
        }
    return n;
}

static double iou_by_hand(const unsigned char *a, const unsigned char *b) {
    int x[40][2], y[40][2];
    size_t nx = list_spans(a, x), ny = list_spans(b, y), right = 0;
    for (size_t i = 0; i < nx; i++) {
        int good = 0;
        for (size_t k = 0; k < ny; k++) {
            int both = 0, any = 0;
            for (int f = 0; f < 40; f++) {
                int in_x = f >= x[i][0] && f <= x[i][1], in_y = f >= y[k][0] && f <= y[k][1];
                both += in_x && in_y;
                any += in_x || in_y;
            }
            good = good || 2 * both >= any;
        }
        right += (size_t)good;
    }
    double p = (double)right / (double)nx, r = (double)right / (double)ny;
    return p + r > 0 ? 2 * p * r / (p + r) : 0;
}

static void sets_agree_as_flags_say(void **state) {
    (void)state;
    sis__rng rng;
    sis__rng_init(&rng, 11);
    for (size_t t = 0; t < 3000; t++) {
        unsigned char a[40] = {0}, b[40] = {0};
        int x[30], y[30];
        size_t nx = 1 + sis__rng_below(&rng, 30), ny = 1 + sis__rng_below(&rng, 30);
        double na = 0, nb = 0, both = 0;
        sis_overlap o;
        for (size_t i = 0; i < nx; i++)
            a[x[i] = (int)sis__rng_below(&rng, 40)] = 1;
        for (size_t i = 0; i < ny; i++)
            b[y[i] = (int)sis__rng_below(&rng, 40)] = 1;
        for (size_t f = 0; f < 40; f++)
            na += a[f], nb += b[f], both += a[f] && b[f];
        assert_int_equal(sis_overlap_measure(x, nx, y, ny, &o), SIS_OK);
        assert_true(o.precision == both / na && o.recall == both / nb);
        assert_true(fabs(o.f1 - (both > 0 ? 2 / (na / both + nb / both) : 0)) < 1e-12);
        assert_true(o.jaccard == both / (na + nb - both));
        assert_true(fabs(o.iou_f1 - iou_by_hand(a, b)) < 1e-12);
    }
    sis_overlap none = {1, 1, 1, 1, 1};
    assert_int_equal(sis_overlap_measure(NULL, 0, NULL, 0, &none), SIS_OK);
    assert_true(none.f1 == 0 && none.iou_f1 == 0 && none.jaccard == 0);
}

/* ---- Memory -------------------------------------------------------------------------------- */

static int everything(void *ctx) {
    const int some[] = {3, 1};
    const sis_part part = {&PLAIN, some, 2, 0};
    double importance[WIDTH], score, by_mask[3], by_deck[3];
    sis_robustness r;
    sis_deck *deck = NULL;
    sis_opt opt = decision(10);
    (void)ctx;
    int code = sis_part_scores(&LINEAR, &part, 1, &opt, &score);
    if (code == SIS_OK)
        code = sis_importance(&LINEAR, &PLAIN, &opt, importance);
    if (code == SIS_OK)
        code = sis_deck_new(&PLAIN, 1, 0, &deck);
    sis_robust_opt robust = {.deck = deck, .samples = 2, .height = 2, .width = 3, .distance = 1};
    if (code == SIS_OK)
        code = sis_deck_study(deck, &LINEAR, &opt, 3, 1, by_mask, by_deck);
    if (code == SIS_OK)
        code = sis_robustness_measure(&LINEAR, &part, &opt, &robust, &r);
    sis_ranking ranking = {.input = &PLAIN, .order = some, .n = 2, .deck = deck, .samples = 2};
    sis_faithfulness f;
    sis_overlap o;
    size_t held[SIS_N_CUTS];
    if (code == SIS_OK)
        code = sis_faithfulness_measure(&LINEAR, &ranking, &opt, &f);
    if (code == SIS_OK)
        code = sis_stability_measure(&LINEAR, &part, &opt, 2, 1, held);
    if (code == SIS_OK)
        code = sis_overlap_measure(some, 2, some, 1, &o);
    sis_deck_free(deck);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    assert_true(with_failing_allocations(everything, NULL) > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_what_is_left_or_masked),
        cmocka_unit_test(parts_follow_the_input),
        cmocka_unit_test(many_parts_keep_their_order),
        cmocka_unit_test(parts_that_are_none_are_refused),
        cmocka_unit_test(importance_is_what_masking_takes_off),
        cmocka_unit_test(values_come_from_the_same_place),
        cmocka_unit_test(whole_rows_are_lent),
        cmocka_unit_test(fresh_draws_have_a_mean_and_an_error),
        cmocka_unit_test(values_come_from_anywhere),
        cmocka_unit_test(decks_that_do_not_fit_are_refused),
        cmocka_unit_test(study_draws_examples_and_features),
        cmocka_unit_test(neighbours_lie_around),
        cmocka_unit_test(rationales_are_tried_with_other_things_around),
        cmocka_unit_test(robustness_needs_what_it_uses),
        cmocka_unit_test(cuts_are_rounded_up),
        cmocka_unit_test(rankings_are_worth_what_rows_by_hand_say),
        cmocka_unit_test(stability_is_how_often_no_spoiler_comes_back),
        cmocka_unit_test(sets_agree_as_flags_say),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
