/* SPDX-License-Identifier: MIT
 *
 * Contrasts by masks, checked with the model itself.
 */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

enum { N = 7 };

typedef struct {
    double weights[N], pairs[N], x[N], mask[N];
    unsigned char absent[N];
    sis_model model;
    sis_input input;
    sis_opt opt;
} example;

static int predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    const example *e = ctx;
    for (size_t i = 0; i < n; i++) {
        const double *x = rows + i * width;
        scores[i] = 0;
        for (size_t j = 0; j < width; j++)
            scores[i] += e->weights[j] * x[j] + e->pairs[j] * x[j] * x[(j + 1) % width];
    }
    return 0;
}

static void draw(example *e, uint64_t seed) {
    sis__rng r;
    sis__rng_init(&r, seed);
    *e = (example){0};
    for (size_t j = 0; j < N; j++) {
        e->weights[j] = sis__rng_normal(&r) + 0.5;
        e->pairs[j] = seed % 2 ? sis__rng_normal(&r) : 0;
        e->x[j] = fabs(sis__rng_normal(&r));
        e->mask[j] = 0.1 * sis__rng_normal(&r);
        e->absent[j] = sis__rng_below(&r, 8) == 0;
    }
    sis_model_init(&e->model);
    e->model.predict = predict;
    e->model.ctx = e;
    e->model.n_outputs = 1;
    e->input = (sis_input){.values = e->x, .mask = e->mask, .n_values = N, .absent = e->absent};
    e->opt = decision(1);
    e->opt.below = seed % 3 == 0;
}

/* 1 if the decision holds with these features and the absent ones masked. */
static int decides(const example *e, const unsigned char *masked) {
    double row[N], score;
    for (size_t j = 0; j < N; j++)
        row[j] = masked[j] || e->absent[j] ? e->mask[j] : e->x[j];
    predict((void *)e, row, 1, N, &score);
    return sis_decided(score, e->opt.threshold, e->opt.below);
}

static void check(const example *e, const sis_collection *c) {
    unsigned char none[N] = {0}, all[N], kept[N], seen[N] = {0};
    memset(all, 1, N);
    memset(kept, 1, N);
    sis_status wanted = !decides(e, none) ? SIS_STATUS_NOT_DECIDED
                        : decides(e, all) ? SIS_STATUS_DEFAULT_DECISION
                                          : SIS_STATUS_EXPLAINED;
    assert_int_equal(c->status, wanted);
    for (size_t k = 0; k < c->n_subsets; k++) {
        unsigned char masked[N] = {0};
        const sis_subset *s = &c->subsets[k];
        for (size_t i = 0; i < s->n; i++) {
            assert_false(seen[s->features[i]]);
            seen[s->features[i]] = masked[s->features[i]] = 1;
            kept[s->features[i]] = 0;
        }
        assert_false(decides(e, masked));
        for (size_t i = 0; i < s->n; i++) {
            masked[s->features[i]] = 0;
            assert_true(decides(e, masked));
            masked[s->features[i]] = 1;
        }
    }
    if (c->status == SIS_STATUS_EXPLAINED) {
        assert_true(c->n_subsets > 0 && c->complete);
        assert_true(decides(e, kept));
    }
}

static void contrasts_lose_the_decision_and_nothing_less_of_them_does(void **state) {
    (void)state;
    size_t found[3] = {0};
    for (size_t k = 0; k < rounds(600); k++) {
        example e;
        sis_collection c;
        sis_audit audit;
        draw(&e, k);
        assert_int_equal(sis_contrast(&e.model, &e.input, &e.opt, &c), SIS_OK);
        check(&e, &c);
        found[c.status]++;
        assert_int_equal(sis_contrast_verify(&e.model, &e.input, &e.opt, &c, &audit), SIS_OK);
        if (!audit.holds)
            fail_msg("case %zu: %s", k, audit.reason);
        assert_true(audit.score == c.score && audit.masked_score == c.masked_score);
        sis_audit_release(&audit);
        sis_collection_release(&c);
    }
    assert_true(found[0] > 0 && found[1] > 0 && found[2] > 0);
}

static void false_contrasts_are_refuted(void **state) {
    (void)state;
    size_t tried = 0;
    for (size_t k = 0; k < rounds(200); k++) {
        example e;
        sis_collection c;
        sis_audit audit;
        draw(&e, k);
        assert_int_equal(sis_contrast(&e.model, &e.input, &e.opt, &c), SIS_OK);
        sis_collection claim = c;
        if (c.status == SIS_STATUS_EXPLAINED && c.subsets[0].n > 1) {
            c.subsets[0].n--;
            tried++;
        } else {
            claim.status = c.status == SIS_STATUS_NOT_DECIDED ? SIS_STATUS_DEFAULT_DECISION
                                                              : SIS_STATUS_NOT_DECIDED;
        }
        assert_int_equal(sis_contrast_verify(&e.model, &e.input, &e.opt, &claim, &audit), SIS_OK);
        assert_false(audit.holds);
        sis_audit_release(&audit);
        sis_collection_release(&c);
    }
    assert_true(tried > 0);
}

static void several_masks_are_refused(void **state) {
    (void)state;
    example e;
    sis_collection c;
    double masks[2 * N] = {0};
    draw(&e, 1);
    e.input.mask = masks;
    e.input.n_samples = 2;
    assert_int_equal(sis_contrast(&e.model, &e.input, &e.opt, &c), SIS_E_ARGUMENT);
    assert_message_has("one mask");
}

static int contrast_once(void *ctx) {
    example *e = ctx;
    sis_collection c;
    sis_audit audit;
    int error = sis_contrast(&e->model, &e->input, &e->opt, &c);
    if (error != SIS_OK)
        return error;
    error = sis_contrast_verify(&e->model, &e->input, &e->opt, &c, &audit);
    if (error == SIS_OK)
        sis_audit_release(&audit);
    sis_collection_release(&c);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    example e;
    draw(&e, 4);
    assert_true(with_failing_allocations(contrast_once, &e) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contrasts_lose_the_decision_and_nothing_less_of_them_does),
        cmocka_unit_test(false_contrasts_are_refuted),
        cmocka_unit_test(several_masks_are_refused),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
