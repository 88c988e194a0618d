/* SPDX-License-Identifier: MIT
 *
 * Weighted ridge regression: the gradient of the objective is zero at the coefficients and the
 * intercept; one case is solved by hand.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>

#include <sis/error.h>

#include "base/rng.h"
#include "methods/ridge.h"

static sis__ridge one_column(double *coefficient) {
    static const unsigned char x[] = {1, 0, 1, 0};
    static const double y[] = {3, 1, 4, 2}, w[] = {1, 1, 2, 1};
    return (sis__ridge){
        .n = 4, .q = 1, .x = x, .y = y, .weights = w, .penalty = 0.1, .coefficients = coefficient};
}

/* One column: c = cov(x, y) / (var(x) + penalty), weighted sums. */
static void one_column_by_hand(void **state) {
    (void)state;
    double c;
    /* weighted means 0.6 and 2.8; sum w dx dy = 11 - 5 * 0.6 * 2.8 = 2.6, sum w dx^2 = 1.2 */
    sis__ridge p = one_column(&c);
    assert_int_equal(sis__ridge_fit(&p), SIS_OK);
    assert_true(fabs(c - 2.6 / 1.3) < 1e-12);
}

/* Largest gradient of the objective, relative to the size of its terms. */
static double slope_left(const sis__ridge *p) {
    double total = 0, base = 0, worst = 0, size = 0;
    double *rest = calloc(p->n, sizeof *rest);
    for (size_t s = 0; s < p->n; s++) {
        rest[s] = p->y[s];
        for (size_t j = 0; j < p->q; j++)
            rest[s] -= p->x[s * p->q + j] * p->coefficients[j];
        base += p->weights[s] * rest[s];
        total += p->weights[s];
    }
    for (size_t j = 0; j < p->q; j++) { /* the intercept is base / total */
        double d = -p->penalty * p->coefficients[j];
        for (size_t s = 0; s < p->n; s++)
            d += p->x[s * p->q + j] * p->weights[s] * (rest[s] - base / total);
        worst = fabs(d) > worst ? fabs(d) : worst;
    }
    for (size_t s = 0; s < p->n; s++)
        size += p->weights[s] * fabs(p->y[s]);
    free(rest);
    return worst / size;
}

static void the_minimum_is_found(void **state) {
    (void)state;
    static const size_t columns[] = {1, 2, 7, 47, 48, 49, 130, 200};
    sis__rng r;
    sis__rng_init(&r, 21);
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        size_t q = columns[k], n = k % 2 ? 2 * q + 10 : q; /* also fewer rows than unknowns */
        unsigned char *x = calloc(n * q, 1);
        double *numbers = calloc(2 * n + q, sizeof *numbers);
        for (size_t i = 0; i < n * q; i++)
            x[i] = (unsigned char)sis__rng_below(&r, 2);
        for (size_t i = 0; i < n; i++) {
            numbers[i] = sis__rng_normal(&r);
            numbers[n + i] = 0.1 + sis__rng_uniform(&r);
        }
        sis__ridge p = {.n = n,
                        .q = q,
                        .x = x,
                        .y = numbers,
                        .weights = numbers + n,
                        .penalty = 0.5,
                        .coefficients = numbers + 2 * n};
        assert_int_equal(sis__ridge_fit(&p), SIS_OK);
        assert_true(slope_left(&p) < 1e-12);
        free(x);
        free(numbers);
    }
}

static void scores_without_end_are_refused(void **state) {
    (void)state;
    const unsigned char x[] = {1, 0, 1, 0};
    const double y[] = {3, 1, 4, 2}, w[] = {1, 1, INFINITY, 1};
    double c;
    sis__ridge p = {.n = 4, .q = 1, .x = x, .y = y, .weights = w, .penalty = 0.1};
    p.coefficients = &c;
    assert_int_equal(sis__ridge_fit(&p), SIS_E_MODEL);
}

static int fit(void *ctx) {
    return sis__ridge_fit((const sis__ridge *)ctx);
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    double c;
    sis__ridge p = one_column(&c);
    assert_int_equal(with_failing_allocations(fit, &p), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_column_by_hand),
        cmocka_unit_test(the_minimum_is_found),
        cmocka_unit_test(scores_without_end_are_refused),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
