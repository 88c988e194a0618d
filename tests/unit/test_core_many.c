/* SPDX-License-Identifier: MIT
 *
 * Many inputs at once: order, threads, progress, cancellation, failure; caps and early stops; and
 * the audit of collections, true and false ones.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "support_oracle.h"

enum { INPUTS = 200 };

static double values[INPUTS][MOST], masks[MOST];
static sis_input inputs[INPUTS];

/* Inputs of different lengths for one network. */
static void fill(function *f, sis__rng *r) {
    problem p;
    do
        problem_init(&p, r);
    while (p.f.temper != NETWORK || p.f.n < 20);
    *f = p.f;
    for (size_t i = 0; i < INPUTS; i++) {
        for (size_t v = 0; v < MOST; v++)
            values[i][v] = sis__rng_normal(r);
        inputs[i] = (sis_input){.values = values[i], .mask = masks, .n_values = 10 + i % 10};
    }
}

/* A function of as many values as it is given, without state. */
static int any_length(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    function f = *(const function *)ctx;
    f.n = width;
    for (size_t i = 0; i < n; i++)
        scores[i] = function_value(&f, rows + i * width);
    return 0;
}

typedef struct {
    sis__buf text;
    size_t next, stop_at;
} listener;

static int listen_to(void *ctx, size_t i, const sis_collection *c) {
    listener *l = (listener *)ctx;
    assert_int_equal(i, l->next); /* in the order of the inputs */
    l->next++;
    sis__buf_printf(&l->text, "%zu %s %zu", i, sis_status_name(c->status), c->evaluations);
    for (size_t k = 0; k < c->n_subsets; k++)
        for (size_t j = 0; j < c->subsets[k].n; j++)
            sis__buf_printf(&l->text, " %d %a", c->subsets[k].features[j], c->subsets[k].score);
    sis__buf_char(&l->text, '\n');
    return l->stop_at && l->next == l->stop_at ? SIS_E_IO : 0;
}

static void any_number_of_threads_gives_the_same_bytes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 21);
    function f;
    fill(&f, &r);
    sis_model m = {
        .predict = any_length, .ctx = &f, .n_outputs = 1, .worker_new = sis_worker_share};
    listener one = {0}, other = {0};
    for (int jobs = 1; jobs <= 4; jobs++) {
        sis_opt opt = decision(2);
        opt.jobs = jobs;
        listener *l = jobs == 1 ? &one : &other;
        l->next = 0;
        sis__buf_clear(&l->text);
        assert_int_equal(sis_collect_many(&m, inputs, INPUTS, &opt, listen_to, l), SIS_OK);
        assert_int_equal(l->next, INPUTS);
        if (jobs > 1)
            assert_string_equal(one.text.data, other.text.data);
    }
    assert_non_null(strstr(one.text.data, "explained"));
    sis__buf_release(&one.text);
    sis__buf_release(&other.text);
}

static int nan_or_failure(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    const double *marks = (const double *)ctx;
    for (size_t i = 0; i < n; i++) {
        scores[i] = 1;
        for (size_t v = 0; v < width; v++) {
            if (rows[i * width + v] == marks[0])
                scores[i] = NAN;
            if (rows[i * width + v] == marks[1])
                return SIS_E_MODEL;
        }
    }
    return 0;
}

static void nan_fails_one_input_and_a_broken_model_stops_all(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 22);
    function f;
    fill(&f, &r);
    for (int jobs = 1; jobs <= 2; jobs++) {
        double marks[] = {values[7][3], values[50][0]};
        sis_model m = {.predict = nan_or_failure,
                       .ctx = marks,
                       .n_outputs = 1,
                       .worker_new = sis_worker_share};
        sis_opt opt = decision(2);
        opt.jobs = jobs;
        listener l = {0};
        assert_int_equal(sis_collect_many(&m, inputs, INPUTS, &opt, listen_to, &l), SIS_E_MODEL);
        assert_int_equal(l.next, 50); /* all before it, none after it */
        assert_non_null(strstr(sis_error_detail(), "example 50: "));
        assert_non_null(strstr(l.text.data, "\n7 error 0\n"));
        sis__buf_release(&l.text);
    }
}

static int count_down(void *ctx, const sis_progress *p) {
    long *left = (long *)ctx;
    assert_int_equal(p->inputs, INPUTS);
    assert_true(p->inputs_done <= INPUTS && p->walk >= 0 && p->walk <= 1);
    return --*left < 0;
}

static void progress_is_told_and_can_cancel(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 23);
    function f;
    fill(&f, &r);
    sis_model m = {
        .predict = any_length, .ctx = &f, .n_outputs = 1, .worker_new = sis_worker_share};
    sis_opt opt = decision(2);
    opt.jobs = 2;
    opt.progress = count_down;
    long left = 1000;
    opt.progress_ctx = &left;
    listener l = {0};
    assert_int_equal(sis_collect_many(&m, inputs, INPUTS, &opt, listen_to, &l), SIS_E_CANCELLED);
    assert_true(l.next > 0 && l.next < INPUTS);
    sis__buf_release(&l.text);
}

static void the_caller_can_stop(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 24);
    function f;
    fill(&f, &r);
    sis_model m = {.predict = any_length, .ctx = &f, .n_outputs = 1};
    sis_opt opt = decision(2);
    opt.jobs = 4; /* one thread all the same: the model has no worker_new */
    listener l = {.stop_at = 5};
    assert_int_equal(sis_collect_many(&m, inputs, INPUTS, &opt, listen_to, &l), SIS_E_IO);
    assert_int_equal(l.next, 5);
    sis__buf_release(&l.text);
}

static int many_once(void *ctx) {
    sis_model *m = (sis_model *)ctx;
    sis_opt opt = decision(2);
    opt.jobs = 2;
    listener l = {0};
    int error = sis_collect_many(m, inputs, 6, &opt, listen_to, &l);
    if (error == SIS_OK)
        error = sis__buf_error(&l.text);
    sis__buf_release(&l.text);
    return error;
}

static void every_failing_allocation_is_survived(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 25);
    function f;
    fill(&f, &r);
    sis_model m = {
        .predict = any_length, .ctx = &f, .n_outputs = 1, .worker_new = sis_worker_share};
    assert_true(with_failing_allocations(many_once, &m) > 10);
}

static void plain_scores_are_the_model_s(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 28);
    function f;
    fill(&f, &r);
    double marks[] = {values[7][3], 1e9}, scores[INPUTS], expected;
    sis_model m = {
        .predict = any_length, .ctx = &f, .n_outputs = 1, .worker_new = sis_worker_share};
    sis_opt opt;
    sis_opt_init(&opt);
    for (opt.jobs = 0; opt.jobs < 4; opt.jobs++) {
        assert_int_equal(sis_predict(&m, inputs, INPUTS, &opt, scores), SIS_OK);
        for (size_t i = 0; i < INPUTS; i++) {
            any_length(&f, values[i], 1, inputs[i].n_values, &expected);
            assert_true(scores[i] == expected);
        }
    }
    m.predict = nan_or_failure;
    m.ctx = marks;
    assert_int_equal(sis_predict(&m, inputs, INPUTS, &opt, scores), SIS_E_NAN);
    assert_string_equal(sis_error_detail(), "example 7: the model answered NaN for output 0");
    m.n_values = 3;
    assert_int_equal(sis_predict(&m, inputs, INPUTS, &opt, scores), SIS_E_ARGUMENT);
    m = (sis_model){.predict = any_length, .ctx = &f};
    assert_int_equal(sis_predict(&m, inputs, INPUTS, &opt, scores), SIS_E_ARGUMENT);
    assert_string_equal(sis_error_detail(), "a model needs predict and n_outputs");
    m.n_outputs = 1;
    sis_input bare[2] = {inputs[0], {.n_values = 0}};
    assert_int_equal(sis_predict(&m, bare, 2, &opt, scores), SIS_E_ARGUMENT);
    assert_string_equal(sis_error_detail(), "example 1: it has no values");
}

/* ctx: how many inputs may be done before it is enough. */
static int enough(void *ctx, const sis_progress *p) {
    assert_int_equal(p->inputs, INPUTS);
    assert_int_equal(p->inputs_done, p->evaluations);
    return p->inputs_done > *(const size_t *)ctx;
}

static void predicting_reports_progress_and_can_be_cancelled(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 28);
    function f;
    fill(&f, &r);
    double scores[INPUTS];
    size_t most = INPUTS;
    sis_model m = {.predict = any_length, .ctx = &f, .n_outputs = 1, .max_rows = 1};
    sis_opt opt;
    sis_opt_init(&opt);
    opt.progress = enough;
    opt.progress_ctx = &most;
    assert_int_equal(sis_predict(&m, inputs, INPUTS, &opt, scores), SIS_OK);
    most = 0;
    assert_int_equal(sis_predict(&m, inputs, INPUTS, &opt, scores), SIS_E_CANCELLED);
}

/* ---- Caps and early stops ----------------------------------------------------------------------
 */

static void a_cap_on_subsets_keeps_the_first_ones(void **state) {
    (void)state;
    const double x[] = {5, 4, 3, 2}, z[4] = {0};
    problem p = {.f = {.temper = LINEAR, .n = 4, .w = {1, 1, 1, 1}}};
    sis_model m = {.predict = function_predict, .ctx = &p.f, .n_outputs = 1};
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

/* Masking 0 first costs much and pays later: a local minimum on the way. */
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
    sis_model m = {.predict = dip, .n_outputs = 1};
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

/* ---- Audits -------------------------------------------------------------------------------------
 */

static void false_claims_are_found(void **state) {
    (void)state;
    const double x[] = {5, 4, 1, 1}, z[4] = {0};
    problem p = {.f = {.temper = LINEAR, .n = 4, .w = {1, 1, 1, 1}}};
    sis_model m = {.predict = function_predict, .ctx = &p.f, .n_outputs = 1};
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
        {SIS_STATUS_EXPLAINED, {0}, {2}, 1, 1, 0, "subset 1 alone scores 1 and does not reach"},
        {SIS_STATUS_EXPLAINED, {0, 2}, {1}, 2, 1, 1, "subset 0 reaches the threshold without one"},
        {SIS_STATUS_EXPLAINED, {0}, {0}, 1, 1, 0, "subset 1: feature 0 is absent or in an earlier"},
        {SIS_STATUS_EXPLAINED, {0}, {0}, 1, 0, 1, "the rest still reaches the threshold (6)"},
        {SIS_STATUS_EXPLAINED, {0}, {0}, 0, 0, 0, "without a subset"},
        {SIS_STATUS_BELOW_THRESHOLD, {0}, {0}, 0, 0, 0, "status is \"explained\", claimed is"},
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
    sis_model m = {
        .predict = function_predict, .ctx = &p.f, .n_outputs = 1, .worker_new = sis_worker_share};
    sis_input in = {.values = x, .mask = z, .n_values = 4};
    sis_opt opt = decision(4);
    sis_collection c;
    assert_int_equal(sis_collect(&m, &in, &opt, &c), SIS_OK);
    double *claims[] = {&c.score, &c.masked_score, &c.rest_score, &c.subsets[1].score};
    const char *const names[] = {"the score is", "the masked score", "of the rest", "of subset 1"};
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

/* A model that is no function of its input: an answer or an error, never a crash. */
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
    sis_model m = {.predict = fickle, .ctx = &r, .n_outputs = 1};
    int failed = 0;
    for (int round = 0; round < 2000; round++) {
        sis_input in = {.values = x, .mask = z, .n_values = 1 + sis__rng_below(&r, 40)};
        sis_opt opt = decision(sis__rng_uniform(&r));
        opt.early_stop = round % 2;
        sis_collection c;
        int error = sis_collect(&m, &in, &opt, &c);
        assert_true(error == SIS_OK || error == SIS_E_MODEL);
        failed += error != SIS_OK;
        sis_collection_release(&c);
    }
    assert_true(failed > 0);
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
    sis_model m = {.predict = needs_pair, .n_outputs = 1};
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

/* Against every subset counted out. */
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
                double row[MOST];
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(nan_fails_one_input_and_a_broken_model_stops_all),
        cmocka_unit_test(progress_is_told_and_can_cancel),
        cmocka_unit_test(the_caller_can_stop),
        cmocka_unit_test(every_failing_allocation_is_survived),
        cmocka_unit_test(plain_scores_are_the_model_s),
        cmocka_unit_test(predicting_reports_progress_and_can_be_cancelled),
        cmocka_unit_test(a_cap_on_subsets_keeps_the_first_ones),
        cmocka_unit_test(an_early_stop_gives_a_larger_subset),
        cmocka_unit_test(early_stops_rank_and_verify_what_they_leave),
        cmocka_unit_test(false_claims_are_found),
        cmocka_unit_test(false_scores_are_found),
        cmocka_unit_test(a_model_that_changes_its_mind_is_survived),
        cmocka_unit_test(the_exhaustive_test_finds_a_smaller_subset_that_backward_selection_cannot),
        cmocka_unit_test(the_exhaustive_test_misses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
