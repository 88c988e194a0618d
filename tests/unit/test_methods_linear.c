/* SPDX-License-Identifier: MIT
 *
 * The methods on a linear model with known results: LIME finds its coefficients, integrated
 * gradients each product exactly.
 */
#include "support.h"

#include <math.h>

#include <sis/explain.h>

#include "base/rng.h"

enum { N = 9 };
static const double weights[N] = {2, -1.5, 0.75, 0, 3.25, -0.5, 1, 0.125, -2.25};

static int linear(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        scores[i] = 0.5;
        for (size_t v = 0; v < width; v++)
            scores[i] += weights[v] * rows[i * width + v];
    }
    return 0;
}

static int linear_gradient(void *ctx, const sis_slopes *s) {
    linear(ctx, s->points, s->n, s->width, s->scores);
    for (size_t i = 0; i < s->n * s->width; i++)
        s->d_points[i] = weights[i % s->width];
    return 0;
}

static const double ones[N] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, zeros[N] = {0};

static void lime_finds_the_coefficients_of_a_linear_model(void **state) {
    (void)state;
    sis_model model = {.size = sizeof model, .predict = linear, .n_outputs = 1};
    sis_input input = {.values = ones, .mask = zeros, .n_values = N};
    sis_opt opt = decision(2);
    sis_method_opt how = method_opt(SIS_METHOD_LIME);
    sis_rationale r, again;
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_OK);
    for (size_t i = 0; i < N; i++)
        assert_true(fabs(r.attributions[i] - weights[i]) < 0.005 * (1 + fabs(weights[i])));
    assert_int_equal(r.collection.subsets[0].n, 1);
    assert_int_equal(r.collection.subsets[0].features[0], 4);
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &again), SIS_OK);
    assert_memory_equal(r.attributions, again.attributions, N * sizeof(double));
    sis_rationale_release(&again);
    how.seed = 2;
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &again), SIS_OK);
    assert_memory_not_equal(r.attributions, again.attributions, N * sizeof(double));
    sis_rationale_release(&again);
    sis_rationale_release(&r);
}

/* The mask of LIME's samples may differ from the mask that scores rationales: here it doubles
 * missing values. */
static void lime_may_have_a_mask_of_its_own(void **state) {
    (void)state;
    const double twice[N] = {2, 2, 2, 2, 2, 2, 2, 2, 2};
    sis_model model = {.size = sizeof model, .predict = linear, .n_outputs = 1};
    sis_input input = {.values = ones, .mask = zeros, .n_values = N};
    sis_opt opt = decision(2);
    sis_method_opt how = method_opt(SIS_METHOD_LIME);
    how.lime_mask = twice;
    sis_rationale r;
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_OK);
    for (size_t i = 0; i < N; i++)
        assert_true(fabs(r.attributions[i] + weights[i]) < 0.005 * (1 + fabs(weights[i])));
    assert_true(r.collection.masked_score == 0.5);
    sis_rationale_release(&r);
}

static void ig_of_a_linear_model_is_exact(void **state) {
    (void)state;
    const double x[] = {1, 2, -1, 4, 0.5, 2, 1, -3, 1}, z[] = {0, 1, 1, 0, -1, 2, 0, 0, 0.5};
    const int map[] = {0, 0, 1, 2, 3, 4, 4, 5, -1};
    sis_model model = {
        .size = sizeof model, .predict = linear, .gradient = linear_gradient, .n_outputs = 1};
    sis_input input = {.values = x, .mask = z, .n_values = N, .feature_of = map};
    sis_opt opt = decision(-3); /* the score is -2.25, that of the mask -5.625 */
    sis_method_opt how = method_opt(SIS_METHOD_IG);
    how.steps = 7;
    sis_rationale r;
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_OK);
    assert_int_equal(r.collection.status, SIS_STATUS_EXPLAINED);
    double want[6] = {0}, size[6] = {0};
    for (size_t v = 0; v < N; v++)
        if (map[v] >= 0) {
            want[map[v]] += weights[v] * (x[v] - z[v]);
            size[map[v]] += fabs(weights[v] * (x[v] - z[v]));
        }
    for (size_t f = 0; f < 6; f++)
        assert_true(fabs(r.attributions[f] - want[f]) < 1e-12);
    assert_true(sis_rationale_error(&r) < 1e-12);
    for (size_t k = 1; k < r.collection.subsets[0].n; k++) /* ordered by absolute sums */
        assert_true(size[r.collection.subsets[0].features[k - 1]] >=
                    size[r.collection.subsets[0].features[k]]);
    sis_rationale_release(&r);
}

/* With several masks, everything is the mean over them. */
static void masks_of_several_samples_are_averaged(void **state) {
    (void)state;
    double z[3 * N], want[N] = {0};
    sis__rng r;
    sis__rng_init(&r, 6);
    for (size_t i = 0; i < 3 * N; i++) {
        z[i] = sis__rng_uniform(&r) / 2;
        want[i % N] += weights[i % N] * (1 - z[i]) / 3;
    }
    sis_model model = {
        .size = sizeof model, .predict = linear, .gradient = linear_gradient, .n_outputs = 1};
    sis_input input = {.values = ones, .mask = z, .n_values = N, .n_samples = 3};
    sis_opt opt = decision(3.2);
    sis_method_opt how = method_opt(SIS_METHOD_IG);
    sis_rationale found;
    sis_audit audit;
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &found), SIS_OK);
    assert_int_equal(found.collection.status, SIS_STATUS_EXPLAINED);
    for (size_t i = 0; i < N; i++)
        assert_true(fabs(found.attributions[i] - want[i]) < 1e-12);
    assert_true(sis_rationale_error(&found) < 1e-12);
    sis_rationale_release(&found);
    how = method_opt(SIS_METHOD_GRADIENT);
    opt.max_subsets = 5;
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &found), SIS_OK);
    assert_true(found.collection.n_subsets > 0);
    assert_int_equal(sis_verify(&model, &input, &opt, &found.collection, &audit), SIS_OK);
    assert_true(audit.holds);
    sis_audit_release(&audit);
    sis_rationale_release(&found);
}

/* top: attributions of the first features add up to threshold - baseline; zero or mask. */
static void top_takes_what_adds_up(void **state) {
    (void)state;
    sis_model model = {
        .size = sizeof model, .predict = linear, .gradient = linear_gradient, .n_outputs = 1};
    sis_input input = {.values = ones, .mask = zeros, .n_values = N};
    sis_opt opt = decision(3.3);
    sis_method_opt how = method_opt(SIS_METHOD_IG);
    how.constraint = SIS_CONSTRAINT_TOP;
    sis_rationale r;
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_OK);
    /* 3.25, -2.25, 2, -1.5, 1, 0.75 ... : the first, 3.25, already reaches 2.8 */
    assert_int_equal(r.collection.subsets[0].n, 1);
    assert_int_equal(r.collection.claim, SIS_CLAIM_NOTHING);
    sis_rationale_release(&r);
    const double half[N] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
    input.mask = half;
    opt.threshold = 2.7; /* the score is 3.375; the mask's 1.9375, that of zero 0.5 */
    for (how.zero_baseline = 0; how.zero_baseline < 2; how.zero_baseline++) {
        assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_OK);
        double base = how.zero_baseline ? 0.5 : 1.9375, sum = 0;
        assert_true(fabs(r.difference - (3.375 - base)) < 1e-12);
        for (size_t k = 0; k < r.collection.subsets[0].n; k++) {
            assert_true(sum < opt.threshold - base);
            sum += r.attributions[r.collection.subsets[0].features[k]];
        }
        assert_true(sum >= opt.threshold - base);
        sis_rationale_release(&r);
    }
}

static void models_without_gradients_are_told_so(void **state) {
    (void)state;
    sis_model model = {.size = sizeof model, .predict = linear, .n_outputs = 1};
    sis_input input = {.values = ones, .mask = zeros, .n_values = N};
    sis_opt opt = decision(2);
    sis_rationale r;
    sis_method_opt how = method_opt(SIS_METHOD_IG);
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_E_UNSUPPORTED);
    assert_message_has("ig needs gradients");
    how = method_opt(SIS_METHOD_GRADIENT);
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_E_UNSUPPORTED);
    assert_message_has("gradient needs gradients");
}

/* The matrix of lime's regression must fit the budget. */
static void lime_refuses_what_it_cannot_hold(void **state) {
    (void)state;
    enum { MANY = 3000 };
    static double x[MANY], z[MANY];
    for (size_t i = 0; i < MANY; i++)
        x[i] = 1;
    sis_model model = {.size = sizeof model, .predict = sum_values, .n_outputs = 1};
    sis_input input = {.values = x, .mask = z, .n_values = MANY};
    sis_opt opt = decision(1000);
    opt.memory = 1 << 20;
    sis_method_opt how = method_opt(SIS_METHOD_LIME);
    sis_rationale r;
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_E_ARGUMENT);
    assert_message_has("each of 3000 features, 83 MiB");
}

/* ---- Progress -------------------------------------------------------------------------------- */

typedef struct {
    double last;
    size_t told, back, steps;
} history;

static int keep_history(void *ctx, const sis_progress *p) {
    history *h = (history *)ctx;
    h->back += p->walk < h->last;
    h->steps += p->walk > h->last;
    h->last = p->walk;
    h->told++;
    return 0;
}

static void progress_runs_from_0_to_1(void **state) {
    (void)state;
    sis_model model = {.size = sizeof model,
                       .predict = linear,
                       .gradient = linear_gradient,
                       .n_outputs = 1,
                       .max_rows = 7};
    double masks[3 * N] = {0};
    sis_input input = {.values = ones, .mask = masks, .n_values = N, .n_samples = 3};
    for (sis_method m = SIS_METHOD_PERTURB; m <= SIS_METHOD_QUICK; m++)
        for (int constraint = SIS_CONSTRAINT_SUFFICIENT; constraint <= SIS_CONSTRAINT_LENGTH;
             constraint++) {
            history h = {0};
            sis_rationale r;
            sis_opt opt = decision(3.3);
            sis_method_opt how = method_opt(m);
            how.trace = 1;
            how.samples = 50;
            if (m < SIS_METHOD_GRADIENT)
                how.constraint = (sis_constraint)constraint;
            opt.progress = keep_history;
            opt.progress_ctx = &h;
            opt.progress_every = 0;
            assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_OK);
            assert_int_equal(h.back, 0);
            assert_true(h.last == 1);
            assert_in_range(h.steps, 3, h.told);
            sis_rationale_release(&r);
        }
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static int explain_each_way(void *ctx) {
    const sis_model *model = (const sis_model *)ctx;
    sis_input input = {.values = ones, .mask = zeros, .n_values = N};
    sis_opt opt = decision(3.3);
    int error = SIS_OK;
    for (sis_method m = SIS_METHOD_IG; error == SIS_OK && m <= SIS_METHOD_GRADIENT; m++) {
        sis_method_opt how = method_opt(m);
        how.samples = 50;
        sis_rationale r;
        error = sis_explain(model, &input, &opt, &how, &r);
        sis_rationale_release(&r);
    }
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sis_model model = {
        .size = sizeof model, .predict = linear, .gradient = linear_gradient, .n_outputs = 1};
    assert_true(with_failing_allocations(explain_each_way, &model) > 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lime_finds_the_coefficients_of_a_linear_model),
        cmocka_unit_test(lime_may_have_a_mask_of_its_own),
        cmocka_unit_test(ig_of_a_linear_model_is_exact),
        cmocka_unit_test(masks_of_several_samples_are_averaged),
        cmocka_unit_test(top_takes_what_adds_up),
        cmocka_unit_test(models_without_gradients_are_told_so),
        cmocka_unit_test(progress_runs_from_0_to_1),
        cmocka_unit_test(lime_refuses_what_it_cannot_hold),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
