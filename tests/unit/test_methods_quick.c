/* SPDX-License-Identifier: MIT
 *
 * Quick: collections fulfil the guarantees of SIS with few questions.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum { WIDTH = 256 };

/* Sums of weighted values and of products of pairs. With the products, masking a feature raises
 * the score as often as it lowers it. */
typedef struct {
    double weights[WIDTH], pairs[WIDTH];
    size_t rows, requests;
} toy;

static int toy_predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    toy *t = (toy *)ctx;
    for (size_t i = 0; i < n; i++) {
        const double *x = rows + i * width;
        scores[i] = 0;
        for (size_t j = 0; j < width; j++)
            scores[i] += t->weights[j] * x[j] + t->pairs[j] * x[j] * x[(j + 1) % width];
    }
    t->rows += n;
    t->requests++;
    return 0;
}

typedef struct {
    toy t;
    double x[WIDTH], mask[2 * WIDTH];
    int map[WIDTH];
    unsigned char absent[WIDTH];
    sis_model model;
    sis_input input;
    sis_opt opt;
} example;

/* Half of the examples are monotone: more features never lose the decision. */
static void draw(example *e, uint64_t seed, size_t width) {
    sis__rng r;
    sis__rng_init(&r, seed);
    *e = (example){0};
    int monotone = seed % 2 == 0;
    for (size_t j = 0; j < width; j++) {
        e->t.weights[j] = sis__rng_normal(&r);
        e->t.weights[j] = monotone ? fabs(e->t.weights[j]) : e->t.weights[j];
        e->t.pairs[j] = monotone ? 0 : sis__rng_normal(&r);
        e->x[j] = fabs(sis__rng_normal(&r));
        e->mask[j] = seed % 5 == 0 && j % 7 == 0 ? e->x[j] : 0;
        e->mask[width + j] = monotone ? 0 : 0.1 * sis__rng_normal(&r);
        e->map[j] = (int)(j / 2);
        e->absent[j] = sis__rng_below(&r, 8) == 0;
    }
    e->model = (sis_model){
        .size = sizeof(sis_model), .predict = toy_predict, .ctx = &e->t, .n_outputs = 1};
    e->input = (sis_input){.values = e->x, .mask = e->mask, .n_values = width};
    e->input.n_samples = seed % 11 == 0 ? 2 : 1;
    e->input.feature_of = seed % 3 == 0 && width % 2 == 0 ? e->map : NULL;
    e->input.absent = seed % 7 == 0 ? e->absent : NULL;
    double full, none;
    toy_predict(&e->t, e->x, 1, width, &full);
    toy_predict(&e->t, e->mask, 1, width, &none);
    e->opt = decision(none + (full - none) * (0.2 + 0.6 * sis__rng_uniform(&r)));
    e->opt.below = full < none;
}

typedef struct {
    double last;
    size_t told, steps, back;
} history;

static int keep_history(void *ctx, const sis_progress *p) {
    history *h = (history *)ctx;
    h->back += p->walk < h->last || p->walk > 1;
    h->steps += p->walk > h->last;
    h->last = p->walk;
    h->told++;
    return 0;
}

static void progress_goes_on_and_never_back(void **state) {
    (void)state;
    size_t told = 0, steps = 0;
    for (uint64_t seed = 0; seed < rounds(60); seed++) {
        example e;
        sis_rationale r;
        history h = {0};
        sis_method_opt how;
        draw(&e, seed, WIDTH);
        e.opt.progress = keep_history;
        e.opt.progress_ctx = &h;
        e.opt.progress_every = 0;
        e.opt.max_subsets = seed % 3;
        sis_method_opt_init(&how);
        how.method = SIS_METHOD_QUICK;
        assert_int_equal(sis_explain(&e.model, &e.input, &e.opt, &how, &r), SIS_OK);
        assert_int_equal(h.back, 0);
        assert_true(h.last == 1);
        told += h.told;
        steps += h.steps;
        sis_rationale_release(&r);
    }
    assert_true(5 * steps > told); /* progress advances */
}

static void collections_hold_what_they_promise(void **state) {
    (void)state;
    size_t explained = 0, several = 0;
    for (uint64_t seed = 0; seed < rounds(600); seed++) {
        example e;
        sis_rationale r;
        sis_audit a;
        draw(&e, seed, 1 + seed % 40);
        sis_method_opt how = method_opt(SIS_METHOD_QUICK);
        how.prefer = seed % 4 == 1 ? SIS_PREFER_NONE : SIS_PREFER_PERTURB;
        assert_int_equal(sis_explain(&e.model, &e.input, &e.opt, &how, &r), SIS_OK);
        assert_int_equal(sis_verify(&e.model, &e.input, &e.opt, &r.collection, &a), SIS_OK);
        assert_string_equal(a.reason, "");
        assert_true(a.holds && r.collection.claim == SIS_CLAIM_MINIMAL);
        assert_true(r.collection.complete || r.collection.status != SIS_STATUS_EXPLAINED);
        explained += r.collection.status == SIS_STATUS_EXPLAINED;
        several += r.collection.n_subsets > 1;
        sis_audit_release(&a);
        sis_rationale_release(&r);
    }
    assert_true(explained > rounds(600) / 3 && several > rounds(600) / 20);
}

/* k needed features among p: about 2k(1 + log2(p/k)) questions. */
static void questions_grow_with_the_logarithm(void **state) {
    (void)state;
    for (size_t k = 1; k <= 16; k *= 2) {
        example e;
        sis_rationale r;
        draw(&e, 0, WIDTH);
        memset(e.mask, 0, sizeof e.mask);
        memset(e.t.weights, 0, sizeof e.t.weights);
        e.input.feature_of = NULL;
        e.input.absent = NULL;
        e.input.n_samples = 1;
        for (size_t i = 0; i < k; i++) {
            e.x[(i * 37 + 5) % WIDTH] = 1;
            e.t.weights[(i * 37 + 5) % WIDTH] = 1;
        }
        e.opt = decision((double)k - 0.5);
        sis_method_opt how = method_opt(SIS_METHOD_QUICK);
        how.prefer = SIS_PREFER_NONE;
        e.t.rows = 0;
        assert_int_equal(sis_explain(&e.model, &e.input, &e.opt, &how, &r), SIS_OK);
        assert_int_equal(r.collection.n_subsets, 1);
        assert_int_equal(r.collection.subsets[0].n, k);
        assert_int_equal(r.collection.evaluations, e.t.rows);
        double max = 2 * (double)k * (1 + log2((double)WIDTH / (double)k)) + 2 * WIDTH;
        assert_true((double)e.t.rows < max);
        sis_rationale_release(&r);
        how.prefer = SIS_PREFER_PERTURB; /* most questions go in one request */
        e.t.requests = 0;
        assert_int_equal(sis_explain(&e.model, &e.input, &e.opt, &how, &r), SIS_OK);
        assert_int_equal(r.collection.subsets[0].n, k);
        assert_true(e.t.requests < 17);
        sis_rationale_release(&r);
    }
}

static void subsets_are_cut_off_as_asked(void **state) {
    (void)state;
    example e;
    sis_rationale r;
    draw(&e, 4, 40);
    e.opt.max_subsets = 1;
    sis_method_opt how = method_opt(SIS_METHOD_QUICK);
    assert_int_equal(sis_explain(&e.model, &e.input, &e.opt, &how, &r), SIS_OK);
    assert_int_equal(r.collection.n_subsets, 1);
    sis_rationale_release(&r);
    how.prefer = SIS_PREFER_GRADIENT;
    assert_int_equal(sis_explain(&e.model, &e.input, &e.opt, &how, &r), SIS_E_UNSUPPORTED);
    how.prefer = (sis_preference)9;
    assert_int_equal(sis_explain(&e.model, &e.input, &e.opt, &how, &r), SIS_E_ARGUMENT);
    how = method_opt(SIS_METHOD_QUICK);
    how.constraint = SIS_CONSTRAINT_LENGTH;
    assert_int_equal(sis_explain(&e.model, &e.input, &e.opt, &how, &r), SIS_E_ARGUMENT);
}

static int explain_once(void *ctx) {
    example *e = (example *)ctx;
    sis_rationale r;
    sis_method_opt how = method_opt(SIS_METHOD_QUICK);
    int error = sis_explain(&e->model, &e->input, &e->opt, &how, &r);
    if (error == SIS_OK)
        sis_rationale_release(&r);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    example e;
    draw(&e, 1, 20);
    e.model.ctx = &e.t;
    assert_true(with_failing_allocations(explain_once, &e) > 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collections_hold_what_they_promise),
        cmocka_unit_test(progress_goes_on_and_never_back),
        cmocka_unit_test(questions_grow_with_the_logarithm),
        cmocka_unit_test(subsets_are_cut_off_as_asked),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
