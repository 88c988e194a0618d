/* SPDX-License-Identifier: MIT
 *
 * Audits of true and false collections, and the exhaustive test for smaller subsets.
 */
#include "support.h"

#include <string.h>

#include "support_oracle.h"

static void false_claims_are_found(void **state) {
    (void)state;
    const double x[] = {5, 4, 1, 1}, z[4] = {0};
    problem p = {.f = {.temper = LINEAR, .n = 4, .w = {1, 1, 1, 1}}};
    sis_model m = {.size = sizeof m, .predict = function_predict, .ctx = &p.f, .n_outputs = 1};
    sis_input in = {.values = x, .mask = z, .n_values = 4};
    sis_opt opt = decision(4);
    const struct {
        sis_status status;
        int a[4], b[4];
        size_t n_a, n_b;
        int complete;
        const char *reason;
    } cases[] = {
        {SIS_STATUS_EXPLAINED, {0}, {1}, 1, 1, 1, ""},
        {SIS_STATUS_EXPLAINED, {0}, {2}, 1, 1, 0, "subset 1 alone scores 1 and does not meet"},
        {SIS_STATUS_EXPLAINED, {0, 2}, {1}, 2, 1, 1, "subset 0 meets the threshold without one"},
        {SIS_STATUS_EXPLAINED, {0}, {0}, 1, 1, 0, "subset 1: feature 0 is absent or in an earlier"},
        {SIS_STATUS_EXPLAINED, {0}, {0}, 1, 0, 1, "the rest still meets the threshold (6)"},
        {SIS_STATUS_EXPLAINED, {0}, {0}, 0, 0, 0, "there is no subset"},
        {SIS_STATUS_NOT_DECIDED, {0}, {0}, 0, 0, 0, "status: found \"explained\", claimed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int a[4], b[4];
        memcpy(a, cases[i].a, sizeof a);
        memcpy(b, cases[i].b, sizeof b);
        double rest = 11, scores[2] = {0};
        for (size_t k = 0; k < cases[i].n_a; k++)
            scores[0] += x[a[k]];
        for (size_t k = 0; k < cases[i].n_b; k++)
            scores[1] += x[b[k]];
        rest -= scores[0] + (a[0] == b[0] ? 0 : scores[1]);
        sis_subset subsets[] = {{.n = cases[i].n_a, .features = a, .score = scores[0]},
                                {.n = cases[i].n_b, .features = b, .score = scores[1]}};
        sis_collection claim = {.status = cases[i].status,
                                .n_subsets = (size_t)(cases[i].n_a > 0) + (cases[i].n_b > 0),
                                .subsets = subsets,
                                .n_features = 4,
                                .score = 11,
                                .rest_score = rest,
                                .complete = cases[i].complete};
        sis_audit audit;
        assert_int_equal(sis_verify(&m, &in, &opt, &claim, &audit), SIS_OK);
        assert_int_equal(audit.holds, cases[i].reason[0] == '\0');
        if (!audit.holds)
            assert_non_null(strstr(audit.reason, cases[i].reason));
        sis_audit_release(&audit);
    }
}

static void false_scores_are_found(void **state) {
    (void)state;
    const double x[] = {5, 4, 1, 1}, z[4] = {0};
    problem p = {.f = {.temper = LINEAR, .n = 4, .w = {1, 1, 1, 1}}};
    sis_model m = {.size = sizeof m,
                   .predict = function_predict,
                   .ctx = &p.f,
                   .n_outputs = 1,
                   .worker_new = sis_worker_share};
    sis_input in = {.values = x, .mask = z, .n_values = 4};
    sis_opt opt = decision(4);
    sis_collection c;
    assert_int_equal(sis_collect(&m, &in, &opt, &c), SIS_OK);
    double *claims[] = {&c.score, &c.masked_score, &c.rest_score, &c.subsets[1].score};
    const char *const names[] = {"the score:", "the masked score", "of the rest", "of subset 1"};
    for (size_t i = 0; i < 4; i++) {
        sis_audit audit;
        *claims[i] += 0.01;
        assert_int_equal(sis_verify_many(&m, &in, 1, &opt, &c, &audit), SIS_OK);
        assert_false(audit.holds);
        assert_non_null(strstr(audit.reason, names[i]));
        sis_audit_release(&audit);
        *claims[i] -= 0.01;
        assert_int_equal(sis_verify_many(&m, &in, 1, &opt, &c, &audit), SIS_OK);
        assert_true(audit.holds);
        sis_audit_release(&audit);
    }
    sis_collection_release(&c);
}

static int needs_pair(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        const double *x = rows + i * width;
        scores[i] = x[0] + x[1] + x[2] == 3 ? 1 : x[3] + x[4] == 2 ? 0.9 : 0;
    }
    return 0;
}

static void
the_exhaustive_test_finds_a_smaller_subset_that_backward_selection_cannot(void **state) {
    (void)state;
    const double x[] = {1, 1, 1, 1, 1}, z[5] = {0};
    sis_model m = {.size = sizeof m, .predict = needs_pair, .n_outputs = 1};
    sis_input in = {.values = x, .mask = z, .n_values = 5};
    sis_opt opt = decision(0.5);
    opt.exhaustive = 16;
    int all[] = {0, 1, 2, 3, 4};
    sis_subset s = {.n = 5, .features = all};
    sis_collection claim = {
        .status = SIS_STATUS_EXPLAINED, .n_features = 5, .score = 1, .n_subsets = 1, .subsets = &s};
    sis_audit audit;
    assert_int_equal(sis_verify(&m, &in, &opt, &claim, &audit), SIS_OK);
    assert_false(audit.holds);
    assert_int_equal(audit.subsets[0].exhaustive, 1);
    assert_int_equal(audit.subsets[0].n_smaller, 2);
    assert_int_equal(audit.subsets[0].smaller[0], 3);
    assert_int_equal(audit.subsets[0].smaller[1], 4);
    sis_audit_release(&audit);
}

/* Compared with an enumeration of all subsets. */
static void the_exhaustive_test_misses_nothing(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 27);
    size_t found = 0;
    for (int round = 0; round < 1000; round++) {
        problem p;
        problem_init(&p, &r);
        sis_opt opt = decision(p.threshold);
        opt.exhaustive = 10;
        sis_collection c;
        sis_audit audit;
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &c), SIS_OK);
        assert_int_equal(sis_verify(&p.model, &p.input, &opt, &c, &audit), SIS_OK);
        assert_true(audit.holds);
        for (size_t k = 0; k < c.n_subsets; k++) {
            const sis_subset *s = &c.subsets[k];
            if (s->n > 10)
                continue;
            size_t smallest = s->n;
            for (size_t bits = 1; bits + 1 < (size_t)1 << s->n; bits++) {
                double row[MAX];
                memcpy(row, p.z, sizeof row);
                for (size_t i = 0; i < s->n; i++)
                    if (bits >> i & 1)
                        row[s->features[i]] = p.x[s->features[i]];
                size_t n = (size_t)__builtin_popcountll(bits);
                if (n < smallest && sis_decided(function_value(&p.f, row), p.threshold, 0))
                    smallest = n;
            }
            assert_int_equal(audit.subsets[k].n_smaller, smallest == s->n ? 0 : smallest);
            found += smallest < s->n;
        }
        sis_audit_release(&audit);
        sis_collection_release(&c);
    }
    assert_true(found > 0);
}

/* ---- Nondeterministic models ----------------------------------------------------------------- */

/* The sum of a row, plus: `noise` times a number that changes from call to call, for rows whose
 * first value is not 0; a relative `rounding` if several rows are scored together; `rare` for
 * every seventh row; `other` times the first value of the row before in the batch. */
typedef struct {
    double noise, rounding, rare, other;
    size_t calls, rows;
} wobble;

static int wobbly(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    wobble *w = (wobble *)ctx;
    w->calls++;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t v = 0; v < width; v++)
            sum += rows[i * width + v];
        scores[i] = sum * (1 + (n > 1 ? w->rounding : 0));
        if (rows[i * width] != 0)
            scores[i] += w->noise * (double)w->calls;
        if (++w->rows % 7 == 0)
            scores[i] += w->rare;
        if (i > 0)
            scores[i] += w->other * rows[(i - 1) * width];
    }
    return 0;
}

static void a_model_that_answers_differently_is_not_explained(void **state) {
    (void)state;
    const double x[] = {5, 4, 1, 1}, z[4] = {0};
    const struct {
        wobble w;
        double threshold;
        int error;
        const char *message;
    } cases[] = {
        {{0}, 4, SIS_OK, ""},
        {{.noise = 1e-3}, 4, SIS_E_UNSTABLE, "another score for the same row (1"},
        {{.noise = 1e-3}, 20, SIS_E_UNSTABLE, "is dropout left on"}, /* not decided */
        {{.noise = 1e-9}, 4.5, SIS_OK, ""},                          /* last digit of a server */
        {{.rounding = 1e-5}, 4.5, SIS_OK, ""},                       /* last digits of a batch */
        /* more than rounding, whatever the decision */
        {{.rounding = 1e-3}, 4.5, SIS_E_UNSTABLE, "(5.005, then 5)"},
        /* the subset 5 is enough in a batch but not alone */
        {{.rounding = 1e-5}, 5.00002, SIS_E_UNSTABLE, "(5.00005, then 5)"},
        /* the subset 5 + 4 without 4 misses the threshold by less than batches differ */
        {{.rounding = 1e-5}, 5.00008, SIS_E_UNSTABLE, "too much for a score of 5.00005"},
        /* four answers agree by chance; single rows always agree */
        {{.rare = 1}, 4, SIS_E_UNSTABLE, "for the same row"},
        {{.other = 0.1}, 4, SIS_E_UNSTABLE, "for the same row"},
        /* at the threshold, a batch may round to the other side */
        {{.rounding = -1e-7}, 11, SIS_OK, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wobble w = cases[i].w;
        sis_model m = {.size = sizeof m, .predict = wobbly, .ctx = &w, .n_outputs = 1};
        sis_input in = {.values = x, .mask = z, .n_values = 4};
        sis_opt opt = decision(cases[i].threshold);
        sis_collection c;
        assert_int_equal(sis_collect(&m, &in, &opt, &c), cases[i].error);
        if (cases[i].error)
            assert_message_has(cases[i].message);
        else
            assert_true(c.verified && c.n_subsets > 0);
        sis_collection_release(&c);
    }
}

static int keep_status(void *ctx, size_t i, const sis_collection *c) {
    ((sis_status *)ctx)[i] = c->status;
    if (c->status == SIS_STATUS_ERROR)
        assert_non_null(strstr(c->message, "for the same row"));
    return 0;
}

static void only_the_examples_that_wobble_fail(void **state) {
    (void)state;
    const double x[3][2] = {{0, 4}, {5, 1}, {0, 7}}, z[2] = {0};
    wobble w = {.noise = 0.1};
    sis_model m = {.size = sizeof m, .predict = wobbly, .ctx = &w, .n_outputs = 1};
    sis_input in[3];
    sis_status found[3];
    for (size_t i = 0; i < 3; i++)
        in[i] = (sis_input){.values = x[i], .mask = z, .n_values = 2};
    sis_opt opt = decision(3);
    assert_int_equal(sis_collect_many(&m, in, 3, &opt, keep_status, found), SIS_OK);
    assert_int_equal(found[0], SIS_STATUS_EXPLAINED);
    assert_int_equal(found[1], SIS_STATUS_ERROR);
    assert_int_equal(found[2], SIS_STATUS_EXPLAINED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(false_claims_are_found),
        cmocka_unit_test(false_scores_are_found),
        cmocka_unit_test(the_exhaustive_test_finds_a_smaller_subset_that_backward_selection_cannot),
        cmocka_unit_test(the_exhaustive_test_misses_nothing),
        cmocka_unit_test(a_model_that_answers_differently_is_not_explained),
        cmocka_unit_test(only_the_examples_that_wobble_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
