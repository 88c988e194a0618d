/* SPDX-License-Identifier: MIT
 *
 * Training: every architecture memorises 64 examples, padding that is computed once gives the
 * results of full rows, training stops early, and untrainable networks are refused.
 */
#include "support_train.h"

#include <math.h>
#include <stdlib.h>

#include "support.h"
#include "train/train.h"

/* ---- Whole networks -------------------------------------------------------------------------- */

static void learns_by_heart(const char *name, size_t epochs, double rate) {
    lesson k;
    void *bytes;
    size_t n;
    double first, loss;
    lesson_make(&k, name, ROWS);
    k.opt.rate = rate;
    lesson_train(&k, 1, NULL, &bytes, &n, &first);
    free(bytes);
    lesson_train(&k, rounds(epochs), NULL, &bytes, &n, &loss);
    free(bytes);
    int all = rounds(epochs) == epochs; /* fewer when sanitized: the loss falls */
    if (!(loss < first && (loss < 0.01 || !all)))
        fail_msg("%s: loss %g after %zu epochs, %g after the first", name, loss, epochs, first);
    lesson_release(&k);
}

static void every_architecture_learns_64_examples(void **state) {
    (void)state;
    learns_by_heart("mnist-cnn", 18, 0.002);
    learns_by_heart("mnist-mlp", 80, 0.002);
    learns_by_heart("dna-cnn", 80, 0.005);
    learns_by_heart("text-cnn", 80, 0.01);
    learns_by_heart("text-lstm", 80, 0.02);
    learns_by_heart("mlp", 80, 0.01);
}

static void linear_data_is_fitted(void **state) {
    (void)state;
    lesson k;
    void *bytes;
    size_t n;
    double loss;
    lesson_make(&k, "linear", ROWS);
    k.arch.plain_output = 1;
    k.opt.loss = SIS_LOSS_MSE;
    sis_train_opt_use(&k.opt, SIS_SGD);
    for (size_t i = 0; i < ROWS; i++)
        k.targets[i] = 100 + 3 * k.rows[i * 30] - 7 * k.rows[i * 30 + 29];
    lesson_train(&k, 300, NULL, &bytes, &n, &loss);
    assert_true(loss < 1e-3);
    /* The written network takes raw values. */
    sis_net *net;
    float scores[ROWS];
    assert_int_equal(sis_net_parse(bytes, n, &net), 0);
    sis_net_batch b = {.rows = k.rows, .n_rows = ROWS, .n_values = 30};
    assert_int_equal(sis_net_forward(net, &b, scores), 0);
    for (size_t i = 0; i < ROWS; i++)
        assert_float_equal(scores[i], k.targets[i], 0.1);
    sis_net_free(net);
    free(bytes);
    lesson_release(&k);
}

static void written_networks_give_the_validated_scores(void **state) {
    (void)state;
    const char *const names[] = {"mnist-mlp", "text-lstm", "text-cnn", "mlp"};
    for (size_t i = 0; i < 4; i++) {
        lesson k;
        sis_trainer *t;
        sis_net *net;
        sis_fit fit;
        float scores[ROWS * 10];
        size_t right = 0;
        lesson_make(&k, names[i], ROWS);
        k.arch.dropout[1] = 0.5;
        assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, NULL, &t), 0);
        for (size_t e = 0; e < 5; e++)
            assert_int_equal(sis_trainer_epoch(t), 0);
        assert_int_equal(sis_trainer_evaluate(t, &k.train, &fit), 0);
        assert_int_equal(sis_trainer_finish(t, &net), 0);
        sis_net_batch b = {.rows = k.rows, .n_rows = ROWS, .n_values = k.train.n_values};
        assert_int_equal(sis_net_forward(net, &b, scores), 0);
        for (size_t r = 0; r < ROWS; r++) {
            size_t best = 0, outputs = k.arch.outputs;
            for (size_t c = 1; c < outputs; c++)
                best = scores[r * outputs + c] > scores[r * outputs + best] ? c : best;
            right += outputs > 1 ? best == (size_t)k.targets[r]
                                 : (scores[r] >= 0.5f) == (k.targets[r] >= 0.5f);
        }
        assert_float_equal(fit.accuracy, (double)right / ROWS, 1.01 / ROWS);
        sis_net_free(net);
        sis_trainer_free(t);
        lesson_release(&k);
    }
}

/* ---- Padding --------------------------------------------------------------------------------- */

/* Weights after some SGD steps, with padding computed once and as ordinary words. */
static void padding_gives_what_full_rows_give(void **state) {
    (void)state;
    const char *const names[] = {"text-lstm", "text-cnn"};
    for (size_t i = 0; i < 2; i++) {
        sis_trainer *t[2];
        double off = 0, size = 0;
        lesson k;
        lesson_make(&k, names[i], 2 * ROWS);
        sis_train_opt_use(&k.opt, SIS_SGD); /* Adam would amplify rounding of tiny gradients */
        k.opt.rate = 0.5;
        k.opt.batch = 2 * ROWS; /* rows of all lengths in every update */
        for (int full = 0; full < 2; full++) {
            k.opt.full_rows = full;
            assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, NULL, &t[full]), 0);
            for (int e = 0; e < 3; e++)
                assert_int_equal(sis_trainer_epoch(t[full]), 0);
        }
        assert_true(t[0]->pass.padding.used > 0 || i == 1);
        assert_float_equal(t[0]->at.curve[2].loss, t[1]->at.curve[2].loss, 1e-6);
        sis_trainer *start;
        assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, NULL, &start), 0);
        for (size_t p = 0; p < t[0]->weights.n_params; p++)
            for (size_t j = 0; j < t[0]->weights.params[p].count; j++) {
                float moved = t[1]->weights.params[p].w[j] - start->weights.params[p].w[j];
                off = fmax(
                    off, fabs((double)t[0]->weights.params[p].w[j] - t[1]->weights.params[p].w[j]));
                size = fmax(size, fabs((double)moved));
            }
        assert_true(size > 1e-3);
        if (off > 1e-4 * size)
            fail_msg("%s: weights differ by %g after moving by %g", names[i], off, size);
        sis_trainer_free(start);
        sis_trainer_free(t[0]);
        sis_trainer_free(t[1]);
        lesson_release(&k);
    }
}

/* ---- Early stopping, errors ------------------------------------------------------------------ */

static void training_stops_when_validation_gets_worse(void **state) {
    (void)state;
    lesson k, other;
    sis_trainer *t;
    sis_fit fit;
    size_t n;
    lesson_make(&k, "mlp", ROWS);
    lesson_make(&other, "mlp", ROWS);
    for (size_t i = 0; i < ROWS; i++) /* labels are inverted there */
        other.targets[i] = 1 - other.targets[i];
    k.opt.epochs = 50;
    k.opt.patience = 2;
    k.opt.rate = 0.01;
    assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, &other.train, &t), 0);
    while (!sis_trainer_done(t))
        assert_int_equal(sis_trainer_epoch(t), 0);
    const sis_epoch *curve = sis_trainer_curve(t, &n);
    assert_int_equal(n, sis_trainer_best(t) + 3);
    assert_true(n < 20);
    for (size_t i = 0; i < n; i++)
        assert_true(curve[i].valid.loss >= curve[sis_trainer_best(t)].valid.loss);
    assert_int_equal(sis_trainer_evaluate(t, &other.train, &fit), 0);
    assert_float_equal(fit.loss, curve[sis_trainer_best(t)].valid.loss, 1e-12);
    sis_trainer_free(t);
    lesson_release(&k);
    lesson_release(&other);
}

static void expect_refused(const lesson *k, const char *why) {
    sis_trainer *t;
    assert_int_equal(sis_trainer_new(&k->arch, &k->opt, &k->train, NULL, &t), SIS_E_ARGUMENT);
    assert_message_has(why);
}

static void unsupported_training_is_refused(void **state) {
    (void)state;
    lesson k;
    lesson_make(&k, "text-cnn", ROWS);
    lesson bad = k;
    sis_arch arch;
    assert_int_equal(sis_arch_init(&arch, "resnet"), SIS_E_ARGUMENT);
    k.rows[81] = 40;
    expect_refused(&k, "training row 1: 40 at position 1 is not a token of a vocabulary of 40");
    k.rows[81] = 1.5f;
    expect_refused(&k, "is not a token");
    k.rows[81] = NAN;
    expect_refused(&k, "row 1: value 1 is not finite");
    k.rows[81] = 0;
    k.targets[3] = 2;
    expect_refused(&k, "row 3: target 2, expected a number between 0 and 1");
    k.targets[3] = 0;
    bad.train.n = 0;
    expect_refused(&bad, "no training rows");
    bad = k;
    bad.train.n_values = 79;
    expect_refused(&bad, "79 values, but text-cnn takes 80");
    bad = k;
    bad.opt.loss = SIS_LOSS_CROSS_ENTROPY;
    expect_refused(&bad, "classes");
    bad = k;
    bad.arch.plain_output = 1;
    bad.opt.loss = SIS_LOSS_BINARY;
    expect_refused(&bad, "probability");
    bad = k;
    bad.opt.rate = NAN;
    expect_refused(&bad, "rate");
    bad = k;
    bad.opt.batch = 0;
    expect_refused(&bad, "batch");
    bad = k;
    bad.arch.width = 81;
    expect_refused(&bad, "wider");
    bad = k;
    bad.arch.dropout[1] = 1;
    expect_refused(&bad, "dropout");
    lesson_release(&k);
    lesson_make(&k, "mnist-mlp", ROWS);
    k.targets[0] = 10;
    expect_refused(&k, "row 0: class 10, expected 0 to 9");
    lesson_release(&k);
}

static void diverging_losses_are_errors(void **state) {
    (void)state;
    lesson k;
    sis_trainer *t;
    lesson_make(&k, "linear", ROWS);
    k.arch.plain_output = 1;
    k.opt.loss = SIS_LOSS_MSE;
    sis_train_opt_use(&k.opt, SIS_SGD);
    k.opt.rate = 1e5;
    assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, NULL, &t), 0);
    int error = SIS_OK;
    for (int e = 0; e < 50 && error == SIS_OK; e++)
        error = sis_trainer_epoch(t);
    assert_int_equal(error, SIS_E_NAN);
    assert_message_has("learning rate");
    sis_trainer_free(t);
    lesson_release(&k);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static int train_little(void *ctx) {
    const lesson *k = (const lesson *)ctx;
    sis_trainer *t;
    sis_net *net = NULL;
    int error = sis_trainer_new(&k->arch, &k->opt, &k->train, &k->train, &t);
    if (error)
        return error;
    error = sis_trainer_epoch(t);
    if (!error)
        error = sis_trainer_finish(t, &net);
    sis_net_free(net);
    sis_trainer_free(t);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    const char *const names[] = {"linear", "text-lstm"};
    for (size_t i = 0; i < 2; i++) {
        lesson k;
        lesson_make(&k, names[i], 3);
        k.opt.jobs = 1;
        assert_true(with_failing_allocations(train_little, &k) > 50);
        lesson_release(&k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_architecture_learns_64_examples),
        cmocka_unit_test(linear_data_is_fitted),
        cmocka_unit_test(written_networks_give_the_validated_scores),
        cmocka_unit_test(padding_gives_what_full_rows_give),
        cmocka_unit_test(training_stops_when_validation_gets_worse),
        cmocka_unit_test(unsupported_training_is_refused),
        cmocka_unit_test(diverging_losses_are_errors),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
