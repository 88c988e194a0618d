/* SPDX-License-Identifier: MIT
 *
 * Many inputs at once: order, threads, progress, cancellation, failure.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sis/walk.h>

#include "base/buf.h"
#include "base/clock.h"
#include "support_oracle.h"

enum { INPUTS = 200 };

static double values[INPUTS][MAX], masks[MAX];
static sis_input inputs[INPUTS];

/* Inputs of different lengths for one model. */
static void fill(function *f, sis__rng *r) {
    problem p;
    do
        problem_init(&p, r);
    while (p.f.temper != NETWORK || p.f.n < 20);
    *f = p.f;
    for (size_t i = 0; i < INPUTS; i++) {
        for (size_t v = 0; v < MAX; v++)
            values[i][v] = sis__rng_normal(r);
        inputs[i] = (sis_input){.values = values[i], .mask = masks, .n_values = 10 + i % 10};
    }
}

/* A stateless function of any number of values. */
static int any_length(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    function f = *(const function *)ctx;
    f.n = width;
    for (size_t i = 0; i < n; i++)
        scores[i] = function_value(&f, rows + i * width);
    return 0;
}

/* Fill the inputs, and make a model that several threads may call. */
static sis_model shared_model(uint64_t seed, function *f) {
    sis__rng r;
    sis__rng_init(&r, seed);
    fill(f, &r);
    return (sis_model){.size = sizeof(sis_model),
                       .predict = any_length,
                       .ctx = f,
                       .n_outputs = 1,
                       .worker_new = sis_worker_share};
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
    function f;
    sis_model m = shared_model(21, &f);
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
    function f;
    sis_model m = shared_model(22, &f);
    double marks[] = {values[7][3], values[50][0]};
    m.predict = nan_or_failure;
    m.ctx = marks;
    for (int jobs = 1; jobs <= 2; jobs++) {
        sis_opt opt = decision(2);
        opt.jobs = jobs;
        listener l = {0};
        assert_int_equal(sis_collect_many(&m, inputs, INPUTS, &opt, listen_to, &l), SIS_E_MODEL);
        assert_int_equal(l.next, 50); /* all examples before it, none after it */
        assert_message_has("example 50: ");
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
    function f;
    sis_model m = shared_model(23, &f);
    sis_opt opt = decision(2);
    opt.jobs = 2;
    opt.progress = count_down;
    opt.progress_every = 0;
    long left = 1000;
    opt.progress_ctx = &left;
    listener l = {0};
    assert_int_equal(sis_collect_many(&m, inputs, INPUTS, &opt, listen_to, &l), SIS_E_CANCELLED);
    assert_true(l.next > 0 && l.next < INPUTS);
    sis__buf_release(&l.text);
}

typedef struct {
    double first, last; /* the share of the work that is done, 0..1 */
    size_t calls, back, steps, evaluations, inputs_done;
} history;

static int keep_history(void *ctx, const sis_progress *p) {
    history *h = (history *)ctx;
    double done = fmin(1, ((double)p->inputs_done + p->walk) / (double)p->inputs);
    h->first = h->calls++ ? h->first : done;
    h->back += done < h->last || p->evaluations < h->evaluations || !(p->walk >= 0 && p->walk <= 1);
    h->steps += done > h->last;
    h->last = done;
    h->evaluations = p->evaluations;
    h->inputs_done = p->inputs_done;
    return h->inputs_done == p->inputs; /* too late to cancel */
}

static void assert_from_0_to_1(const history *h, size_t n, size_t steps) {
    assert_true(h->first < 0.2);
    assert_true(h->last == 1);
    assert_int_equal(h->inputs_done, n);
    assert_int_equal(h->back, 0);
    assert_true(h->steps >= steps);
}

/* Half of the reported work is near half of the selection, for one subset and for all. */
static void progress_runs_from_0_to_1(void **state) {
    (void)state;
    function f;
    sis_model m = shared_model(29, &f);
    size_t explained = 0;
    for (size_t i = 0; i < INPUTS; i++)
        for (size_t max = 0; max <= 2; max++) {
            history h = {0}, one = {0};
            sis_collection c;
            sis_trace t;
            sis_walk *w;
            sis_opt opt = decision(2);
            opt.max_subsets = max;
            opt.progress = keep_history;
            opt.progress_ctx = &h;
            opt.progress_every = 0;
            assert_int_equal(sis_collect(&m, &inputs[i], &opt, &c), SIS_OK);
            assert_from_0_to_1(&h, 1, c.n_subsets ? inputs[i].n_values : 1);
            assert_int_equal(h.evaluations, c.evaluations);
            explained += c.n_subsets > 0;
            sis_collection_release(&c);
            opt.progress_ctx = &one;
            assert_int_equal(sis_walk_new(&m, &inputs[i], &opt, &w), SIS_OK);
            assert_int_equal(sis_backselect(w, &opt, &t), SIS_OK);
            assert_from_0_to_1(&one, 1, inputs[i].n_values);
            sis_trace_release(&t);
            sis_walk_free(w);
        }
    assert_true(explained > INPUTS);
    history h = {0};
    listener l = {0};
    sis_opt opt = decision(2);
    opt.progress = keep_history;
    opt.progress_ctx = &h;
    opt.progress_every = 0;
    assert_int_equal(sis_collect_many(&m, inputs, INPUTS, &opt, listen_to, &l), SIS_OK);
    assert_from_0_to_1(&h, INPUTS, INPUTS);
    sis__buf_release(&l.text);
}

/* Reported at most 20 times a second and at the end, for any number of threads. */
static void progress_is_not_told_too_often(void **state) {
    (void)state;
    function f;
    sis_model m = shared_model(30, &f);
    double scores[INPUTS];
    for (int jobs = 1; jobs <= 3; jobs++) {
        history h = {0}, predicted = {0};
        sis_opt opt = decision(2);
        opt.jobs = jobs;
        opt.progress = keep_history;
        opt.progress_ctx = &h;
        double began = sis__seconds();
        for (int again = 0; again < 10; again++) {
            listener l = {0};
            assert_int_equal(sis_collect_many(&m, inputs, INPUTS, &opt, listen_to, &l), SIS_OK);
            sis__buf_release(&l.text);
        }
        double max = 10 * 2 + (sis__seconds() - began) / 0.05;
        assert_int_equal(h.inputs_done, INPUTS);
        assert_in_range(h.calls, 20, (size_t)max);
        opt.progress_ctx = &predicted;
        m.max_rows = 1;
        began = sis__seconds();
        assert_int_equal(sis_predict(&m, inputs, INPUTS, &opt, scores), SIS_OK);
        assert_in_range(predicted.calls, 2, (size_t)(2 + (sis__seconds() - began) / 0.05));
        assert_from_0_to_1(&predicted, INPUTS, 1);
    }
}

static void the_caller_can_stop(void **state) {
    (void)state;
    function f;
    sis_model m = shared_model(24, &f);
    m.worker_new = NULL;
    sis_opt opt = decision(2);
    opt.jobs = 4; /* one thread only: the model has no worker_new */
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

static void failing_allocations_are_reported(void **state) {
    (void)state;
    function f;
    sis_model m = shared_model(25, &f);
    assert_true(with_failing_allocations(many_once, &m) > 10);
}

static void plain_scores_are_the_model_s(void **state) {
    (void)state;
    function f;
    sis_model m = shared_model(28, &f);
    double marks[] = {values[7][3], 1e9}, scores[INPUTS], expected;
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
    assert_string_equal(sis_error_detail(), "example 7: the model returned NaN for output 0");
    m.n_values = 3;
    assert_int_equal(sis_predict(&m, inputs, INPUTS, &opt, scores), SIS_E_ARGUMENT);
    m = (sis_model){.size = sizeof(sis_model), .predict = any_length, .ctx = &f};
    assert_int_equal(sis_predict(&m, inputs, INPUTS, &opt, scores), SIS_E_ARGUMENT);
    assert_string_equal(sis_error_detail(), "a model needs predict and n_outputs");
    m.n_outputs = 1;
    sis_input bare[2] = {inputs[0], {.n_values = 0}};
    assert_int_equal(sis_predict(&m, bare, 2, &opt, scores), SIS_E_ARGUMENT);
    assert_string_equal(sis_error_detail(), "example 1: it has no values");
}

/* Cancels after more than *ctx inputs. */
static int enough(void *ctx, const sis_progress *p) {
    assert_int_equal(p->inputs, INPUTS);
    assert_int_equal(p->inputs_done, p->evaluations);
    return p->inputs_done > *(const size_t *)ctx;
}

static void predicting_reports_progress_and_can_be_cancelled(void **state) {
    (void)state;
    function f;
    sis_model m = shared_model(28, &f);
    m.worker_new = NULL;
    m.max_rows = 1;
    double scores[INPUTS];
    size_t max = INPUTS;
    sis_opt opt;
    sis_opt_init(&opt);
    opt.progress = enough;
    opt.progress_ctx = &max;
    assert_int_equal(sis_predict(&m, inputs, INPUTS, &opt, scores), SIS_OK);
    max = 0;
    assert_int_equal(sis_predict(&m, inputs, INPUTS, &opt, scores), SIS_E_CANCELLED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(nan_fails_one_input_and_a_broken_model_stops_all),
        cmocka_unit_test(progress_is_told_and_can_cancel),
        cmocka_unit_test(progress_runs_from_0_to_1),
        cmocka_unit_test(progress_is_not_told_too_often),
        cmocka_unit_test(the_caller_can_stop),
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(plain_scores_are_the_model_s),
        cmocka_unit_test(predicting_reports_progress_and_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
