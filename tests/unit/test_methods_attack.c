/* SPDX-License-Identifier: MIT
 *
 * The Carlini-Wagner attack: on a linear network, whose nearest point on the other side is known;
 * on the shipped MLP; and unsupported inputs.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

#include "support_net.h"

enum { N = 6 };

static sis_attack_opt options(double confidence) {
    sis_attack_opt opt;
    sis_attack_opt_init(&opt);
    opt.confidence = confidence;
    return opt;
}

/* x (6) -> `outputs` logits -> softmax or sigmoid. */
static sis_net *linear_net(const float *w, size_t outputs) {
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new("linear");
    sis_net_add_input(b, "x", 0, SHAPE(0, N));
    sis_net_add_param(b, "w", SHAPE(N, outputs), w);
    sis_net_add_node(b, "MatMul", "x w", "z");
    sis_net_add_node(b, outputs == 1 ? "Sigmoid" : "Softmax", "z", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    return net;
}

/* z_1 - z_0 = d . x, so the nearest x' with a lead of k lies (k - d . x) / |d| away, along d. */
static void the_change_is_the_smallest_on_a_linear_network(void **state) {
    (void)state;
    const float w[N * 2] = {1, -1, 0.5F, 1, -1, 1, 2, 0, 0, 1, 0.5F, 0.25F};
    const double x[N] = {0.5, 0.4, 0.45, 0.5, 0.55, 0.5};
    sis_net *net = linear_net(w, 2);
    double lead = 0, square = 0;
    for (size_t i = 0; i < N; i++) {
        double d = w[2 * i + 1] - w[2 * i];
        lead += d * x[i];
        square += d * d;
    }
    for (double confidence = 0; confidence < 0.7; confidence += 0.3) {
        sis_attack_opt opt = options(confidence);
        opt.searches = 12;
        opt.steps = 800;
        opt.rate = 0.01;
        sis_attack_result r;
        size_t target = 1;
        assert_int_equal(sis_attack(net, x, 1, &target, &opt, &r), SIS_OK);
        assert_true(r.reached);
        double nearest = (confidence - lead) / sqrt(square);
        assert_true(nearest > 0.1); /* the point is inside the box */
        assert_true(r.distance >= nearest - 1e-6 && r.distance < 1.02 * nearest);
        assert_true(r.lead >= confidence);
        double found = 0;
        for (size_t i = 0; i < N; i++)
            found += ((double)w[2 * i + 1] - w[2 * i]) * r.values[i];
        assert_true(fabs(found - r.lead) < 1e-5);
        sis_attack_result_release(&r);
    }
    sis_net_free(net);
}

static void a_network_of_one_output_has_two_targets(void **state) {
    (void)state;
    const float w[N] = {4, -4, 2, 1, -3, 0};
    const double rows[2 * N] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.9, 0.1, 0.5, 0.5, 0.2, 0.5};
    const size_t targets[] = {1, 0};
    sis_net *net = linear_net(w, 1);
    sis_attack_opt opt = options(1);
    sis_attack_result r[2];
    assert_int_equal(sis_attack(net, rows, 2, targets, &opt, r), SIS_OK);
    for (size_t k = 0; k < 2; k++) {
        double z = 0;
        assert_true(r[k].reached);
        for (size_t i = 0; i < N; i++)
            z += w[i] * r[k].values[i];
        assert_true(k == 0 ? z >= 1 - 1e-5 : z <= -1 + 1e-5);
        sis_attack_result_release(&r[k]);
    }
    sis_net_free(net);
}

/* If no point of the box reaches the target, the input is returned unchanged. */
static void what_cannot_be_reached_is_said(void **state) {
    (void)state;
    const float w[N * 2] = {0.1F, 0, 0.1F, 0, 0.1F, 0, 0.1F, 0, 0.1F, 0, 0.1F, 0};
    const double x[N] = {0.5, 0.4, 0.45, 0.5, 0.55, 0.5};
    sis_net *net = linear_net(w, 2);
    sis_attack_opt opt = options(1);
    sis_attack_result r;
    size_t target = 1;
    assert_int_equal(sis_attack(net, x, 1, &target, &opt, &r), SIS_OK);
    assert_false(r.reached);
    assert_true(r.distance == 0);
    for (size_t i = 0; i < N; i++)
        assert_true(r.values[i] == (float)x[i]);
    assert_true(fabs(r.lead + 0.29) < 1e-5);
    sis_attack_result_release(&r);
    sis_net_free(net);
}

/* ---- The shipped MLP ------------------------------------------------------------------------- */

static void digits_are_taken_for_others(void **state) {
    (void)state;
    enum { ROWS = 20 };
    char path[512];
    sis_net *net;
    snprintf(path, sizeof path, "%s/models/mnist-mlp.onnx", SIS_SOURCE_DIR);
    assert_int_equal(sis_net_read(path, &net), SIS_OK);
    double *rows = calloc(ROWS * 784, sizeof *rows);
    size_t targets[ROWS];
    for (size_t i = 0; i < ROWS; i++) { /* strokes of every slope */
        targets[i] = i % 10;
        for (size_t k = 0; k < 40; k++) {
            double along = (double)k / 2 - 10, angle = 0.15 * (double)i;
            size_t row = (size_t)(14 + along * cos(angle)), col = (size_t)(14 + along * sin(angle));
            rows[i * 784 + row * 28 + col] = 1;
            rows[i * 784 + row * 28 + col + 1] = 0.7;
        }
    }
    sis_attack_result r[3][ROWS];
    for (int jobs = 1; jobs <= 3; jobs += 2) {
        sis_attack_opt opt = options(10);
        opt.jobs = jobs;
        opt.searches = 3;
        opt.steps = 150;
        assert_int_equal(sis_attack(net, rows, ROWS, targets, &opt, r[jobs - 1]), SIS_OK);
    }
    size_t reached = 0;
    for (size_t i = 0; i < ROWS; i++) {
        const sis_attack_result *a = &r[0][i];
        double scores[10], best = 0, squared = 0;
        float got[10];
        sis_net_batch batch = {.rows = a->values, .n_rows = 1, .n_values = 784};
        assert_int_equal(sis_net_forward(net, &batch, got), SIS_OK);
        for (size_t k = 0; k < 10; k++) {
            scores[k] = got[k];
            best = k != targets[i] && scores[k] > best ? scores[k] : best;
        }
        for (size_t v = 0; v < 784; v++) {
            double d = a->values[v] - rows[i * 784 + v];
            squared += d * d;
            assert_true(a->values[v] >= 0 && a->values[v] <= 1);
        }
        assert_true(fabs(sqrt(squared) - a->distance) < 1e-6);
        reached += (size_t)a->reached;
        if (a->reached) {
            assert_true(a->lead >= 10 && scores[targets[i]] > 0.999);
            assert_true(fabs(log(scores[targets[i]] / best) - a->lead) < 0.01);
        }
        assert_memory_equal(a->values, r[2][i].values, 784 * sizeof(float));
        sis_attack_result_release(&r[0][i]);
        sis_attack_result_release(&r[2][i]);
    }
    print_message("%zu of %d reached\n", reached, ROWS);
    assert_int_equal(reached, ROWS);
    free(rows);
    sis_net_free(net);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static int stop_at_once(void *ctx, const sis_progress *p) {
    (void)ctx;
    assert_int_equal(p->inputs, 1);
    return 1;
}

static void bad_questions_are_refused(void **state) {
    (void)state;
    const float w[N * 2] = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1};
    double x[N] = {0.5, 0.4, 0.45, 0.5, 0.55, 0.5};
    sis_net *net = linear_net(w, 2);
    sis_attack_result r;
    size_t target = 2;
    sis_attack_opt opt = options(0);
    assert_int_equal(sis_attack(net, x, 1, &target, &opt, &r), SIS_E_ARGUMENT);
    target = 1;
    opt.progress = stop_at_once;
    assert_int_equal(sis_attack(net, x, 1, &target, &opt, &r), SIS_E_CANCELLED);
    assert_null(r.values);
    x[2] = 1.5;
    assert_int_equal(sis_attack(net, x, 1, &target, &opt, &r), SIS_E_ARGUMENT);
    assert_message_has("value 2 is 1.5, outside the box");
    x[2] = NAN;
    assert_int_equal(sis_attack(net, x, 1, &target, &opt, &r), SIS_E_ARGUMENT);
    x[2] = 0.5;
    const sis_attack_opt good = options(0);
    sis_attack_opt bad[6];
    for (size_t i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].confidence = -1;
    bad[1].low = 1;
    bad[2].rate = 0;
    bad[3].constant = NAN;
    bad[4].searches = 0;
    bad[5].jobs = -1;
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(sis_attack(net, x, 1, &target, &bad[i], &r), SIS_E_ARGUMENT);
    sis_net_free(net);
    for (size_t k = 0; k < n_families; k++) { /* tokens have no box */
        if (strcmp(families[k].name, "text") != 0)
            continue;
        assert_int_equal(families[k].build(1, &net), SIS_OK);
        assert_int_equal(sis_attack(net, x, 1, &target, &good, &r), SIS_E_UNSUPPORTED);
        sis_net_free(net);
    }
}

static int attack_small(void *ctx) {
    const double x[2 * N] = {0.5, 0.4, 0.45, 0.5, 0.55, 0.5, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
    const size_t targets[] = {0, 1};
    sis_attack_opt opt = options(0.1);
    sis_attack_result r[2];
    opt.steps = opt.searches = 2;
    int error = sis_attack((const sis_net *)ctx, x, 2, targets, &opt, r);
    sis_attack_result_release(&r[0]);
    sis_attack_result_release(&r[1]);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    const float w[N * 2] = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1};
    sis_net *net = linear_net(w, 2);
    assert_true(with_failing_allocations(attack_small, net) > 8);
    sis_net_free(net);
}

/* ---- Examples of a task ----------------------------------------------------------------------- */

static int attack_task(void *ctx) {
    const sis_task *task = ctx;
    sis_attack_opt opt = options(0);
    sis_attacked a = {0};
    int error = sis_attacked_open(task, "next", 1, &a);
    if (error == SIS_OK)
        error = sis_attacked_run(&a, &opt);
    sis_attacked_release(&a);
    return error;
}

static void examples_of_a_task_are_led_where_they_are_asked_to_go(void **state) {
    const float w[2 * N] = {0, 1, 0, 1};
    const double rows[2 * N] = {0.1, 0.2};
    const size_t dims[] = {2, N};
    sis_model model;
    sis_data *data;
    sis_task *task;
    sis_task_opt o;
    sis_attacked a;
    (void)state;
    open_network(linear_net(w, 2), &model);
    assert_int_equal(sis_data_from_values(rows, 2, dims, NULL, &data), SIS_OK);
    sis_task_opt_init(&o);
    o.model.opened = &model;
    o.examples.data = data;
    o.question.plain = 1;
    assert_int_equal(sis_task_open(&o, &task), SIS_OK);
    assert_int_equal(sis_attacked_open(task, "0", 1, &a), SIS_OK);
    assert_int_equal(sis_attacked_decision(&a, a.before), 1);
    assert_int_equal(a.targets[0], 0);
    sis_attacked_release(&a);
    assert_int_equal(sis_attacked_open(task, "2", 1, &a), SIS_E_OPTION);
    assert_true(with_failing_allocations(attack_task, task) > 10);
    sis_task_free(task);
    sis_data_free(data);
    sis_model_close(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_a_task_are_led_where_they_are_asked_to_go),
        cmocka_unit_test(the_change_is_the_smallest_on_a_linear_network),
        cmocka_unit_test(a_network_of_one_output_has_two_targets),
        cmocka_unit_test(what_cannot_be_reached_is_said),
        cmocka_unit_test(digits_are_taken_for_others),
        cmocka_unit_test(bad_questions_are_refused),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
