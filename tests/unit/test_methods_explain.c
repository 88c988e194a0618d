/* SPDX-License-Identifier: MIT
 *
 * The methods other than SIS on random functions, against a plain version of the paper's
 * procedures: perturbation, FindSIS on an order, lengths, and the claims of rationales.
 */
#include "support.h"

#include <math.h>
#include <string.h>

#include <sis/explain.h>

#include "support_oracle.h"

enum { ROUNDS = 2000 };

/* Score with only the first `size` of the order present. */
static double prefix_score(const problem *p, const int *order, size_t size) {
    unsigned char present[MAX] = {0};
    for (size_t k = 0; k < size; k++)
        present[order[k]] = 1;
    return present_value(p, present);
}

/* Selection sort: the largest first; among equals the higher number first. */
static void plain_order(const double *importance, size_t n, int *order) {
    unsigned char taken[MAX] = {0};
    for (size_t k = 0; k < n; k++) {
        int best = -1;
        for (size_t i = 0; i < n; i++)
            if (!taken[i] && (best < 0 || importance[i] >= importance[best]))
                best = (int)i;
        taken[best] = 1;
        order[k] = best;
    }
}

static void plain_perturb(const problem *p, int below, double *attributions, int *order) {
    unsigned char present[MAX];
    double importance[MAX];
    memset(present, 1, sizeof present);
    double all = present_value(p, present);
    for (size_t i = 0; i < p->f.n; i++) {
        present[i] = 0;
        attributions[i] = all - present_value(p, present);
        importance[i] = below ? -attributions[i] : attributions[i];
        present[i] = 1;
    }
    plain_order(importance, p->f.n, order);
}

static sis_opt decision_of(double threshold, int below) {
    sis_opt opt = decision(threshold);
    opt.below = below;
    return opt;
}

static sis_method_opt method(sis_method name, sis_constraint constraint) {
    sis_method_opt how = method_opt(name);
    how.constraint = constraint;
    return how;
}

/* The rationale has the first features of the order, with their score and that of the rest. */
static void assert_prefix(const problem *p, const sis_rationale *r, const int *order, size_t size) {
    const sis_collection *c = &r->collection;
    unsigned char rest[MAX];
    memset(rest, 1, sizeof rest);
    assert_int_equal(c->n_subsets, 1);
    assert_int_equal(c->subsets[0].n, size);
    for (size_t k = 0; k < size; k++) {
        assert_int_equal(c->subsets[0].features[k], order[k]);
        rest[order[k]] = 0;
    }
    assert_true(c->subsets[0].score == prefix_score(p, order, size));
    assert_true(c->rest_score == present_value(p, rest));
}

static void sufficient_rationales_are_those_of_findsis(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 11);
    size_t explained = 0, longer = 0;
    for (int round = 0; round < ROUNDS; round++) {
        problem p;
        problem_init(&p, &r);
        int below = (int)sis__rng_below(&r, 2), order[MAX];
        double threshold = below ? function_value(&p.f, p.x) + 0.2 : p.threshold;
        double attributions[MAX];
        sis_rationale found;
        sis_opt opt = decision_of(threshold, below);
        sis_method_opt how = method(SIS_METHOD_PERTURB, SIS_CONSTRAINT_SUFFICIENT);
        how.trace = 1;
        assert_int_equal(sis_explain(&p.model, &p.input, &opt, &how, &found), SIS_OK);
        plain_perturb(&p, below, attributions, order);
        if (sis_decided(prefix_score(&p, order, 0), threshold, below)) {
            assert_int_equal(found.collection.status, SIS_STATUS_DEFAULT_DECISION);
        } else {
            size_t size = 1;
            while (!sis_decided(prefix_score(&p, order, size), threshold, below))
                size++;
            assert_int_equal(found.collection.status, SIS_STATUS_EXPLAINED);
            assert_int_equal(found.collection.claim, SIS_CLAIM_SUFFICIENT);
            assert_prefix(&p, &found, order, size);
            for (size_t i = 0; i < p.f.n; i++)
                assert_true(found.attributions[i] == attributions[i]);
            const sis_trace *t = &found.collection.subsets[0].trace;
            assert_int_equal(t->n, p.f.n);
            for (size_t k = 0; k < t->n; k++) {
                assert_int_equal(t->order[k], order[t->n - 1 - k]);
                assert_true(t->scores[k] == prefix_score(&p, order, t->n - 1 - k));
            }
            explained++;
            longer += size > 1;
        }
        sis_rationale_release(&found);
    }
    assert_true(explained > ROUNDS / 4);
    assert_true(longer > ROUNDS / 10);
}

static size_t plain_median(const sis_collection *c) {
    double sizes[MAX];
    for (size_t k = 0; k < c->n_subsets; k++)
        sizes[k] = (double)c->subsets[k].n;
    for (size_t i = 1; i < c->n_subsets; i++)
        for (size_t k = i; k > 0 && sizes[k - 1] > sizes[k]; k--) {
            double swap = sizes[k];
            sizes[k] = sizes[k - 1];
            sizes[k - 1] = swap;
        }
    size_t n = c->n_subsets;
    double median = n % 2 ? sizes[n / 2] : (sizes[n / 2 - 1] + sizes[n / 2]) / 2;
    return (size_t)floor(median + 0.5);
}

static void lengths_are_the_median_of_the_collection(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 12);
    size_t explained = 0, insufficient = 0, given = 0;
    for (int round = 0; round < ROUNDS; round++) {
        problem p;
        problem_init(&p, &r);
        int order[MAX];
        double attributions[MAX];
        sis_collection c;
        sis_rationale found;
        sis_opt opt = decision_of(p.threshold, 0);
        sis_method_opt how = method(SIS_METHOD_PERTURB, SIS_CONSTRAINT_LENGTH);
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &c), SIS_OK);
        how.length = sis__rng_below(&r, 2) ? 0 : 1 + sis__rng_below(&r, MAX);
        assert_int_equal(sis_explain(&p.model, &p.input, &opt, &how, &found), SIS_OK);
        assert_int_equal(found.collection.status, c.status);
        if (c.status == SIS_STATUS_EXPLAINED) {
            plain_perturb(&p, 0, attributions, order);
            size_t size = how.length ? how.length : plain_median(&c);
            assert_prefix(&p, &found, order, size < p.f.n ? size : p.f.n);
            assert_int_equal(found.collection.claim, SIS_CLAIM_NOTHING);
            insufficient += !sis_decided(found.collection.subsets[0].score, p.threshold, 0);
            explained++;
            given += how.length > 0;
        }
        sis_collection_release(&c);
        sis_rationale_release(&found);
    }
    assert_true(explained > ROUNDS / 4 && given > ROUNDS / 10);
    assert_true(insufficient > ROUNDS / 20);
}

/* An audit confirms every claim of a rationale, and refutes exaggerated claims. */
static void orders_found_before_are_taken(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 17);
    size_t explained = 0;
    for (int round = 0; round < ROUNDS / 4; round++) {
        problem p;
        problem_init(&p, &r);
        int order[MAX], torn[MAX];
        double attributions[MAX];
        sis_rationale found;
        sis_opt opt = decision(p.threshold);
        sis_method_opt how = method(SIS_METHOD_LIME, SIS_CONSTRAINT_LENGTH);
        plain_perturb(&p, 0, attributions, order);
        how.order = order;
        how.n_order = p.f.n;
        how.length = 1 + sis__rng_below(&r, p.f.n);
        assert_int_equal(sis_explain(&p.model, &p.input, &opt, &how, &found), SIS_OK);
        if (found.collection.status == SIS_STATUS_EXPLAINED) {
            assert_prefix(&p, &found, order, how.length);
            assert_null(found.attributions);
            explained++;
            memcpy(torn, order, sizeof torn);
            torn[0] = p.f.n > 1 ? torn[1] : (int)p.f.n;
            how.order = torn;
            sis_rationale none;
            assert_int_equal(sis_explain(&p.model, &p.input, &opt, &how, &none), SIS_E_ARGUMENT);
            how.order = order;
            how.n_order--;
            assert_int_equal(sis_explain(&p.model, &p.input, &opt, &how, &none), SIS_E_ARGUMENT);
        }
        sis_rationale_release(&found);
    }
    assert_true(explained > ROUNDS / 16);
}

static void claims_hold_in_an_audit(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 13);
    size_t overstated = 0;
    for (int round = 0; round < ROUNDS; round++) {
        problem p;
        problem_init(&p, &r);
        sis_rationale found;
        sis_audit audit;
        sis_opt opt = decision_of(p.threshold, 0);
        sis_method_opt how = method(SIS_METHOD_PERTURB,
                                    round % 2 ? SIS_CONSTRAINT_SUFFICIENT : SIS_CONSTRAINT_LENGTH);
        assert_int_equal(sis_explain(&p.model, &p.input, &opt, &how, &found), SIS_OK);
        assert_int_equal(sis_verify(&p.model, &p.input, &opt, &found.collection, &audit), SIS_OK);
        assert_true(audit.holds);
        if (found.collection.status == SIS_STATUS_EXPLAINED) {
            int proper = audit.subsets[0].sufficient && audit.subsets[0].minimal;
            sis_audit_release(&audit);
            found.collection.claim = SIS_CLAIM_MINIMAL;
            assert_int_equal(sis_verify(&p.model, &p.input, &opt, &found.collection, &audit),
                             SIS_OK);
            assert_int_equal(audit.holds, proper);
            overstated += !proper;
        }
        sis_audit_release(&audit);
        sis_rationale_release(&found);
    }
    assert_true(overstated > ROUNDS / 20);
}

/* ---- Features of several values, absent ones, several masks ---------------------------------- */

static int sum_of_squares(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        scores[i] = 0;
        for (size_t v = 0; v < width; v++)
            scores[i] += rows[i * width + v] * rows[i * width + v];
    }
    return 0;
}

static void features_may_be_groups_or_absent(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 4, 5, 6}, mask[] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
    const int map[] = {0, 1, 2, 2, 1, -1};
    const unsigned char absent[] = {1, 0, 0};
    sis_model model = {.size = sizeof model, .predict = sum_of_squares, .n_outputs = 1};
    sis_input input = {.values = x,
                       .mask = mask,
                       .n_values = 6,
                       .n_samples = 2,
                       .feature_of = map,
                       .absent = absent};
    sis_opt opt = decision_of(55, 0);
    sis_method_opt how = method(SIS_METHOD_PERTURB, SIS_CONSTRAINT_SUFFICIENT);
    sis_rationale r;
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_OK);
    assert_true(r.collection.score == 90.5); /* 36 + 4 + 25 + 9 + 16 + half of the mask's 1 */
    assert_true(r.collection.masked_score == 38.5);
    assert_true(r.attributions[0] == 0 && r.attributions[1] == 28 && r.attributions[2] == 24);
    assert_int_equal(r.collection.subsets[0].n, 1);
    assert_int_equal(r.collection.subsets[0].features[0], 1);
    assert_true(r.collection.subsets[0].score == 66.5);
    sis_rationale_release(&r);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static int answers_nan(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++)
        scores[i] = rows[i * width] == 0 ? NAN : 1;
    return 0;
}

static int answers_without_end(void *ctx, const double *rows, size_t n, size_t width,
                               double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++)
        scores[i] = rows[i * width] * rows[i * width + 1] == 0 ? -INFINITY : INFINITY;
    return 0;
}

static void bad_questions_are_refused(void **state) {
    (void)state;
    const double x[] = {1, 2}, z[] = {0, 0};
    sis_model model = {.size = sizeof model, .predict = sum_of_squares, .n_outputs = 1},
              nan = model;
    nan.predict = answers_nan;
    sis_input input = {.values = x, .mask = z, .n_values = 2};
    sis_opt opt = decision_of(3, 0), unset;
    sis_opt_init(&unset);
    sis_rationale r;
    sis_method_opt how = method(SIS_METHOD_PERTURB, SIS_CONSTRAINT_TOP);
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_E_ARGUMENT);
    how = method(SIS_METHOD_GRADIENT, SIS_CONSTRAINT_LENGTH);
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_E_ARGUMENT);
    how = method((sis_method)9, SIS_CONSTRAINT_SUFFICIENT);
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_E_ARGUMENT);
    how = method(SIS_METHOD_PERTURB, SIS_CONSTRAINT_SUFFICIENT);
    assert_int_equal(sis_explain(&model, &input, &unset, &how, &r), SIS_E_ARGUMENT);
    assert_int_equal(sis_explain(&nan, &input, &opt, &how, &r), SIS_E_NAN);
    nan.predict = answers_without_end;
    assert_int_equal(sis_explain(&nan, &input, &opt, &how, &r), SIS_E_NAN);
    how.method = SIS_METHOD_LIME;
    assert_true(sis_explain(&nan, &input, &opt, &how, &r) < 0);
    input.output = 1;
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &r), SIS_E_ARGUMENT);
    assert_null(r.collection.subsets);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static int explain_twice(void *ctx) {
    const problem *p = (const problem *)ctx;
    sis_opt opt = decision_of(p->threshold, 0);
    sis_method_opt how[2] = {method(SIS_METHOD_PERTURB, SIS_CONSTRAINT_LENGTH),
                             method(SIS_METHOD_PERTURB, SIS_CONSTRAINT_SUFFICIENT)};
    how[1].trace = 1;
    int code = SIS_OK;
    for (int i = 0; i < 2 && code == SIS_OK; i++) {
        sis_rationale found;
        code = sis_explain(&p->model, &p->input, &opt, &how[i], &found);
        sis_rationale_release(&found);
    }
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 14);
    problem p;
    sis_rationale found = {0};
    sis_method_opt how = method(SIS_METHOD_PERTURB, SIS_CONSTRAINT_SUFFICIENT);
    do { /* one with something to find */
        sis_rationale_release(&found);
        problem_init(&p, &r);
        sis_opt opt = decision_of(p.threshold, 0);
        assert_int_equal(sis_explain(&p.model, &p.input, &opt, &how, &found), SIS_OK);
    } while (found.collection.n_subsets == 0 || found.collection.subsets[0].n < 2);
    sis_rationale_release(&found);
    assert_true(with_failing_allocations(explain_twice, &p) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sufficient_rationales_are_those_of_findsis),
        cmocka_unit_test(lengths_are_the_median_of_the_collection),
        cmocka_unit_test(orders_found_before_are_taken),
        cmocka_unit_test(claims_hold_in_an_audit),
        cmocka_unit_test(features_may_be_groups_or_absent),
        cmocka_unit_test(bad_questions_are_refused),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
