/* SPDX-License-Identifier: MIT
 *
 * The parts of a training step: losses against differences, optimisers against numbers computed by
 * hand.
 */
#include "support.h"

#include <math.h>

#include <sis/train.h>

#include "train/train.h"

/* ---- Losses ---------------------------------------------------------------------------------- */

static void check_loss(sis_loss loss, int plain, size_t n, const float *target) {
    float z[3] = {0.7f, -1.3f, 2.1f}, dz[3];
    sis__row_loss r = {loss, plain, n, z, target};
    sis__loss(&r, 1, dz);
    for (size_t i = 0; i < n; i++) {
        const float h = 1e-3f, at = z[i];
        z[i] = at + h;
        double up = sis__loss(&r, 1, NULL);
        z[i] = at - h;
        double down = sis__loss(&r, 1, NULL);
        z[i] = at;
        assert_true(fabs((up - down) / (2 * (double)h) - (double)dz[i]) < 1e-3);
    }
}

static void losses_have_their_gradients(void **state) {
    (void)state;
    check_loss(SIS_LOSS_CROSS_ENTROPY, 0, 3, (const float[]){1});
    check_loss(SIS_LOSS_BINARY, 0, 1, (const float[]){1});
    check_loss(SIS_LOSS_BINARY, 0, 1, (const float[]){0.3f});
    check_loss(SIS_LOSS_MSE, 0, 1, (const float[]){0.3f});
    check_loss(SIS_LOSS_MSE, 0, 3, (const float[]){0.3f, 0, 1});
    check_loss(SIS_LOSS_MSE, 1, 3, (const float[]){0.3f, -4, 7});
}

static void losses_of_extreme_scores_are_finite(void **state) {
    (void)state;
    float z[3] = {1000, -1000, 0}, dz[3], one = 1, zero = 0;
    sis__row_loss r = {SIS_LOSS_CROSS_ENTROPY, 0, 3, z, &one};
    assert_float_equal(sis__loss(&r, 1, dz), 2000, 1e-6);
    assert_float_equal(dz[0], 1, 1e-6);
    r = (sis__row_loss){SIS_LOSS_BINARY, 0, 1, z, &zero};
    assert_float_equal(sis__loss(&r, 1, dz), 1000, 1e-6);
    r.target = &one;
    assert_float_equal(sis__loss(&r, 1, dz), 0, 1e-6);
}

/* ---- Optimisers ------------------------------------------------------------------------------ */

/* Two updates with gradients 0.5 and -0.25 from w = 1. */
static float two_updates(const sis_train_opt *o) {
    float w = 1, a = 0, b = 0;
    const float d[2] = {0.5f, -0.25f};
    for (size_t i = 0; i < 2; i++)
        sis__optimizer_update(&(sis__update){o, i + 1, 1, &w, &d[i], {&a, &b}});
    return w;
}

static void optimisers_compute_known_steps(void **state) {
    (void)state;
    sis_train_opt o = {0};
    sis_train_opt_use(&o, SIS_SGD);
    /* v = -0.005, w = 0.995; v = 0.9 * -0.005 + 0.0025 = -0.002, w = 0.993 */
    assert_float_equal(two_updates(&o), 0.993f, 1e-7);
    sis_train_opt_use(&o, SIS_ADAM);
    /* w -= 0.001; then m = 0.02, v = 3.1225e-4, rate = 0.001 sqrt(0.001999) / 0.19:
     * 0.0002353182 * 0.02 / 0.0176706 = 0.0002663388 */
    assert_float_equal(two_updates(&o), 0.9987336612f, 2e-7);
    sis_train_opt_use(&o, SIS_ADADELTA);
    /* a = 0.0125, move = 0.5 sqrt(1e-7) / sqrt(0.0125001) = 0.00141420, s = 0.05 move^2 =
     * 9.99980e-8; a = 0.015, move = -0.25 sqrt(1.999980e-7) / sqrt(0.0150001) = -0.000912864 */
    assert_float_equal(two_updates(&o), 0.999498664f, 2e-7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_have_their_gradients),
        cmocka_unit_test(losses_of_extreme_scores_are_finite),
        cmocka_unit_test(optimisers_compute_known_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
