/* SPDX-License-Identifier: MIT
 *
 * Collections that end early: a limit on subsets, a stop at the first drop, and models with
 * inconsistent answers.
 */
#include "support.h"

#include "support_oracle.h"

static void a_cap_on_subsets_keeps_the_first_ones(void **state) {
    (void)state;
    const double x[] = {5, 4, 3, 2}, z[4] = {0};
    problem p = {.f = {.temper = LINEAR, .n = 4, .w = {1, 1, 1, 1}}};
    sis_model m = {.size = sizeof m, .predict = function_predict, .ctx = &p.f, .n_outputs = 1};
    sis_input in = {.values = x, .mask = z, .n_values = 4};
    sis_opt opt = decision(2);
    opt.max_subsets = 3;
    sis_collection c;
    assert_int_equal(sis_collect(&m, &in, &opt, &c), SIS_OK);
    assert_int_equal(c.n_subsets, 3);
    assert_int_equal(c.complete, 0);
    assert_true(c.rest_score == 2);
    sis_audit audit;
    assert_int_equal(sis_verify(&m, &in, &opt, &c, &audit), SIS_OK);
    assert_true(audit.holds && !audit.complete);
    sis_audit_release(&audit);
    sis_collection_release(&c);
}

/* The score first drops and then recovers as features are masked: a local minimum. */
static int dip(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    static const double by_count[] = {1.0, 0.4, 0.9, 0.95, 0.1}; /* masked features -> score */
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        size_t masked = 0;
        for (size_t v = 0; v < width; v++)
            masked += rows[i * width + v] == 0;
        scores[i] = by_count[masked];
    }
    return 0;
}

static void an_early_stop_gives_a_larger_subset(void **state) {
    (void)state;
    const double x[] = {1, 1, 1, 1}, z[4] = {0};
    sis_model m = {.size = sizeof m, .predict = dip, .n_outputs = 1};
    sis_input in = {.values = x, .mask = z, .n_values = 4};
    sis_opt opt = decision(0.7);
    sis_collection full, early;
    assert_int_equal(sis_collect(&m, &in, &opt, &full), SIS_OK);
    assert_int_equal(full.subsets[0].n, 1);
    opt.early_stop = 1;
    assert_int_equal(sis_collect(&m, &in, &opt, &early), SIS_OK);
    assert_int_equal(early.subsets[0].n, 4);
    assert_int_equal(early.subsets[0].trace.n, 1);
    sis_collection_release(&full);
    sis_collection_release(&early);
}

static void early_stops_rank_and_verify_what_they_leave(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 26);
    for (int round = 0; round < 1000; round++) {
        problem p;
        problem_init(&p, &r);
        sis_opt opt = decision(p.threshold);
        opt.early_stop = 1;
        sis_collection c;
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &c), SIS_OK);
        assert_holds(&p.model, &p.input, &opt, &c);
        sis_collection_release(&c);
    }
}

/* Asserts that the collection cut by a limit is the beginning of the whole one, and that its
 * bound is sufficient. */
static void assert_begins(const sis_collection *cut, const sis_collection *whole) {
    assert_true(cut->n_subsets <= whole->n_subsets && cut->score == whole->score);
    for (size_t k = 0; k < cut->n_subsets; k++) {
        assert_int_equal(cut->subsets[k].n, whole->subsets[k].n);
        assert_memory_equal(cut->subsets[k].features, whole->subsets[k].features,
                            cut->subsets[k].n * sizeof(int));
    }
    if (cut->status != SIS_STATUS_CUT)
        return;
    const sis_trace *t = &cut->bound.trace;
    assert_true(cut->bound.n > 0 && !cut->complete);
    assert_memory_equal(t->order, whole->subsets[cut->n_subsets].trace.order, t->n * sizeof(int));
}

static void limits_leave_the_beginning_and_a_sufficient_bound(void **state) {
    sis__rng r;
    size_t cut = 0;
    (void)state;
    sis__rng_init(&r, 31);
    for (int round = 0; round < 1000; round++) {
        problem p;
        sis_collection whole, part;
        problem_init(&p, &r);
        sis_opt opt = decision(p.threshold);
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &whole), SIS_OK);
        opt.max_evaluations = 1 + sis__rng_below(&r, 60);
        opt.time_limit = round % 10 == 0 ? 1e-9 : 0;
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &part), SIS_OK);
        assert_begins(&part, &whole);
        assert_holds(&p.model, &p.input, &opt, &part);
        cut += part.status == SIS_STATUS_CUT;
        sis_collection_release(&whole);
        sis_collection_release(&part);
    }
    assert_true(cut > 100);
}

/* A nondeterministic model gives an error, never a crash or a claim. */
static int fickle(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    sis__rng *r = (sis__rng *)ctx;
    (void)rows, (void)width;
    for (size_t i = 0; i < n; i++)
        scores[i] = sis__rng_uniform(r);
    return 0;
}

static void a_model_that_changes_its_mind_is_survived(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 29);
    double x[40], z[40] = {0};
    for (size_t i = 0; i < 40; i++)
        x[i] = 1;
    sis_model m = {.size = sizeof m, .predict = fickle, .ctx = &r, .n_outputs = 1};
    for (int round = 0; round < 2000; round++) {
        sis_input in = {.values = x, .mask = z, .n_values = 1 + sis__rng_below(&r, 40)};
        sis_opt opt = decision(sis__rng_uniform(&r));
        opt.early_stop = round % 2;
        opt.max_evaluations = round % 3 == 0 ? sis__rng_below(&r, 30) : 0;
        sis_collection c;
        assert_int_equal(sis_collect(&m, &in, &opt, &c), SIS_E_UNSTABLE);
        sis_collection_release(&c);
    }
}

/* Half of the features reach the threshold. So does the mask, but not the first time it is
 * scored. */
typedef struct {
    size_t asked;
} second_thoughts;

static int think_again(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    second_thoughts *t = (second_thoughts *)ctx;
    for (size_t i = 0; i < n; i++) {
        size_t left = 0;
        for (size_t j = 0; j < width; j++)
            left += rows[i * width + j] != 0;
        scores[i] = left >= width / 2 || (left == 0 && t->asked++);
    }
    return 0;
}

static void a_bound_of_nothing_is_released_once(void **state) {
    (void)state;
    double x[40], z[40] = {0};
    size_t failed = 0, p = 29, all = p * (p + 1) / 2;
    for (size_t i = 0; i < 40; i++)
        x[i] = 1;
    for (size_t max = all - 20; max <= all + 60; max++) {
        second_thoughts t = {0};
        sis_model m = {.size = sizeof m, .predict = think_again, .ctx = &t, .n_outputs = 1};
        sis_input in = {.values = x, .mask = z, .n_values = p};
        sis_opt opt = decision(0.5);
        sis_collection c;
        opt.max_evaluations = max;
        int error = sis_collect(&m, &in, &opt, &c);
        assert_true(error == SIS_OK || error == SIS_E_UNSTABLE);
        failed += error != SIS_OK;
        sis_collection_release(&c);
    }
    assert_true(failed > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cap_on_subsets_keeps_the_first_ones),
        cmocka_unit_test(an_early_stop_gives_a_larger_subset),
        cmocka_unit_test(early_stops_rank_and_verify_what_they_leave),
        cmocka_unit_test(limits_leave_the_beginning_and_a_sufficient_bound),
        cmocka_unit_test(a_model_that_changes_its_mind_is_survived),
        cmocka_unit_test(a_bound_of_nothing_is_released_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
