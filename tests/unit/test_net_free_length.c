/* SPDX-License-Identifier: MIT
 *
 * Networks that take rows of any length: their walks, their use as models, and refused walks.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/model.h>
#include <sis/net.h>

#include "support_net.h"

enum { MAX = 40 };

/* Conv, activation, mean over all positions, two scores, and the last activation. */
static sis_net *build_pooled(const char *activation, const char *last) {
    sis_net *net;
    sis__rng r;
    sis__rng_init(&r, 5);
    sis_net_builder *b = sis_net_builder_new("free");
    sis_net_add_input(b, "x", 0, SHAPE(0, 1, 0));
    add_random(b, "w1", SHAPE(6, 1, 3), &r, 0.8);
    add_random(b, "b1", SHAPE(6), &r, 0.1);
    add_random(b, "w2", SHAPE(6, 2), &r, 0.8);
    sis_net_add_node(b, "Conv", "x w1 b1", "c");
    sis_net_add_node(b, activation, "c", "r");
    sis_net_add_node(b, "GlobalAveragePool", "r", "g");
    sis_net_add_node(b, "Flatten", "g", "f");
    sis_net_add_node(b, "Gemm", "f w2", "z");
    sis_net_add_node(b, last, "z", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    return net;
}

/* Any number of ids: embedding, convolution, maximum. */
static sis_net *build_tokens(void) {
    sis_net *net;
    sis__rng r;
    sis__rng_init(&r, 6);
    sis_net_builder *b = sis_net_builder_new("tokens");
    sis_net_add_input(b, "x", 1, SHAPE(0, 0));
    add_random(b, "e", SHAPE(30, 4), &r, 0.7);
    add_random(b, "w1", SHAPE(5, 4, 2), &r, 0.7);
    add_random(b, "w2", SHAPE(5, 1), &r, 0.9);
    sis_net_add_node(b, "Gather", "e x", "v");
    sis_net_add_node(b, "Transpose", "v", "t");
    sis_net_attr_ints(b, "perm", (int64_t[]){0, 2, 1}, 3);
    sis_net_add_node(b, "Conv", "t w1", "c");
    sis_net_add_node(b, "Relu", "c", "r");
    sis_net_add_node(b, "GlobalMaxPool", "r", "g");
    sis_net_add_node(b, "Flatten", "g", "f");
    sis_net_add_node(b, "MatMul", "f w2", "z");
    sis_net_add_node(b, "Sigmoid", "z", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    return net;
}

static void fill(double *x, double *z, size_t n, unsigned seed) {
    sis__rng r;
    sis__rng_init(&r, seed);
    for (size_t i = 0; i < n; i++) {
        x[i] = sis__rng_normal(&r);
        z[i] = 0.2;
    }
}

/* Margin of output 1 of x with features below `masked` and feature `top` masked. */
static double full_margin(const sis_net *net, const sis_input *in, size_t masked, size_t top) {
    float row[MAX];
    double margins[2];
    for (size_t v = 0; v < in->n_values; v++)
        row[v] = (float)(v < masked || v == top ? in->mask[v] : in->values[v]);
    sis_net_batch b = {.rows = row, .n_rows = 1, .n_values = in->n_values};
    assert_int_equal(sis_net_margins(net, &b, margins), SIS_OK);
    return margins[1];
}

static void walks_over_any_length_agree_with_full_passes(void **state) {
    static const char *const activations[] = {"Relu", "Tanh"};
    double x[MAX], z[MAX], margin, margins[MAX];
    unsigned char masked[MAX] = {0};
    int features[MAX];
    (void)state;
    for (size_t i = 0; i < MAX; i++)
        features[i] = (int)i;
    for (size_t k = 0; k < 4; k++) {
        sis_net *net = build_pooled(activations[k % 2], "Identity");
        size_t n = k < 2 ? 11 : MAX;
        fill(x, z, n, (unsigned)k);
        sis_input in = {.values = x, .mask = z, .n_values = n, .output = 1};
        sis_walk *w;
        assert_int_equal(sis_net_walk(net, &in, NULL, &w), SIS_OK);
        assert_int_equal(w->ops->reset(w, masked, &margin), SIS_OK);
        for (size_t step = 0; step < n; step++) {
            assert_int_equal(w->ops->probe(w, features + step, n - step, margins), SIS_OK);
            for (size_t i = 0; i < n - step; i++) {
                double full = full_margin(net, &in, step, step + i);
                assert_true(fabs(margins[i] - full) <= w->tolerance * (1 + fabs(full)));
            }
            assert_int_equal(w->ops->mask(w, (int)step, &margin), SIS_OK);
        }
        w->ops->free(w);
        sis_net_free(net);
    }
}

/* Explained by the network's own walk and by full passes. */
static void assert_same_both_ways(const sis_model *model, const sis_input *in) {
    sis_collection fast, slow;
    double scores[2][2] = {{0}};
    sis_opt opt = decision(0);
    sis_input mask = *in;
    mask.values = in->mask;
    assert_int_equal(sis_predict(model, in, 1, &opt, scores[0]), SIS_OK);
    assert_int_equal(sis_predict(model, &mask, 1, &opt, scores[1]), SIS_OK);
    opt.threshold = (scores[0][0] + scores[1][0]) / 2;
    opt.below = scores[0][0] < scores[1][0];
    assert_int_equal(sis_collect(model, in, &opt, &fast), SIS_OK);
    opt.exact = 1;
    assert_int_equal(sis_collect(model, in, &opt, &slow), SIS_OK);
    assert_true(slow.n_subsets > 0);
    assert_same_subsets(&fast, &slow);
    sis_collection_release(&fast);
    sis_collection_release(&slow);
}

static void models_take_rows_of_any_length(void **state) {
    double x[MAX], z[MAX];
    sis_model model;
    (void)state;
    open_network(build_pooled("Relu", "Identity"), &model);
    assert_int_equal(model.n_outputs, 0);
    fill(x, z, MAX, 3);
    assert_int_equal(sis_predict(&model, &(sis_input){.values = x, .n_values = 9}, 1,
                                 &(sis_opt){.size = sizeof(sis_opt), .memory = 1 << 20}, z),
                     SIS_E_ARGUMENT);
    fill(x, z, MAX, 3);
    assert_int_equal(sis_model_measure(&model, x, 12), SIS_OK);
    assert_int_equal(model.n_outputs, 2);
    for (size_t n = 12; n <= MAX; n += 14)
        assert_same_both_ways(&model, &(sis_input){.values = x, .mask = z, .n_values = n});
    sis_model_close(&model);
}

static void token_models_take_rows_of_any_length(void **state) {
    double ids[MAX], mask[MAX];
    sis_model model;
    (void)state;
    open_network(build_tokens(), &model);
    for (size_t i = 0; i < MAX; i++) {
        ids[i] = (double)(i * 7 % 30);
        mask[i] = SIS_TOKEN_MASK;
    }
    assert_int_equal(sis_model_measure(&model, ids, 10), SIS_OK);
    assert_int_equal(model.n_outputs, 1);
    for (size_t n = 10; n <= MAX; n += 15)
        assert_same_both_ways(&model, &(sis_input){.values = ids, .mask = mask, .n_values = n});
    sis_model_close(&model);
}

/* The first length that is tried is shorter than the kernel. */
static void a_long_kernel_keeps_the_softmax(void **state) {
    (void)state;
    sis_net *net;
    sis__rng r;
    float row[150], scores[2];
    double margins[2];
    sis__rng_init(&r, 7);
    sis_net_builder *b = sis_net_builder_new("long");
    sis_net_add_input(b, "x", 0, SHAPE(0, 1, 0));
    add_random(b, "w1", SHAPE(6, 1, 100), &r, 0.1);
    add_random(b, "w2", SHAPE(6, 2), &r, 0.8);
    sis_net_add_node(b, "Conv", "x w1", "c");
    sis_net_add_node(b, "GlobalMaxPool", "c", "g");
    sis_net_add_node(b, "Flatten", "g", "f");
    sis_net_add_node(b, "Gemm", "f w2", "z");
    sis_net_add_node(b, "Softmax", "z", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    assert_true(sis_net_has_link(net));
    for (size_t i = 0; i < 150; i++)
        row[i] = (float)sis__rng_normal(&r);
    sis_net_batch batch = {row, 1, 150, 0, 2, NULL};
    assert_int_equal(sis_net_forward(net, &batch, scores), SIS_OK);
    assert_int_equal(sis_net_margins(net, &batch, margins), SIS_OK);
    assert_float_equal(margins[0], log((double)scores[0] / (double)scores[1]), 1e-4);
    sis_net_free(net);
}

static void another_number_of_scores_is_refused(void **state) {
    sis_net *net;
    sis_model model;
    double x[8] = {1, 2, 3, 4}, z[8] = {0}, scores[8], d[8];
    (void)state;
    sis_net_builder *b = sis_net_builder_new("each");
    sis_net_add_input(b, "x", 0, SHAPE(0, 0));
    sis_net_add_node(b, "Tanh", "x", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    open_network(net, &model);
    assert_int_equal(sis_model_measure(&model, x, 2), SIS_OK);
    assert_int_equal(model.n_outputs, 2);
    assert_int_equal(model.predict(model.ctx, x, 2, 2, scores), SIS_OK);
    assert_true(fabs(scores[3] - tanh(4)) < 1e-6);
    assert_int_equal(model.predict(model.ctx, x, 1, 4, scores), SIS_E_UNSUPPORTED);
    assert_message_has("2 before, 4 for 4 values");
    sis_slopes slopes = {.points = x, .n = 1, .width = 4, .scores = scores, .d_points = d};
    assert_int_equal(model.gradient(model.ctx, &slopes), SIS_E_UNSUPPORTED);
    slopes.width = 2;
    assert_int_equal(model.gradient(model.ctx, &slopes), SIS_OK);
    sis_opt opt = decision(0.5);
    sis_collection c;
    sis_input in = {.values = x, .mask = z, .n_values = 4};
    assert_int_equal(sis_collect(&model, &in, &opt, &c), SIS_E_UNSUPPORTED);
    sis_model_close(&model);
}

static void walks_refuse_unsupported_inputs(void **state) {
    double x[12] = {1, 2, 3}, z[24] = {0};
    sis_walk *w = NULL;
    (void)state;
    sis_net *net = build_pooled("Relu", "Identity");
    sis_input in = {.values = x, .mask = z, .n_values = 12};
    assert_int_equal(sis_net_walk(net, &in, &(sis_net_walk_opt){.embedded = 1}, &w),
                     SIS_E_ARGUMENT);
    assert_message_has("no embeddings");
    in.n_samples = 2;
    assert_int_equal(sis_net_walk(net, &in, NULL, &w), SIS_E_UNSUPPORTED);
    assert_null(w);
    sis_net_free(net);
}

static void scores_that_are_not_numbers_are_reported(void **state) {
    double x[12] = {1, 2, 3}, z[12] = {0}, margin;
    unsigned char masked[12] = {0};
    sis_net *net = build_pooled("Relu", "Sqrt");
    size_t seen = 0;
    (void)state;
    for (size_t output = 0; output < 2; output++) {
        sis_input in = {.values = x, .mask = z, .n_values = 12, .output = output};
        sis_walk *w;
        assert_int_equal(sis_net_walk(net, &in, NULL, &w), SIS_OK);
        int error = w->ops->reset(w, masked, &margin);
        if (error != SIS_OK) { /* the square root of a negative number */
            assert_int_equal(error, SIS_E_NAN);
            assert_message_has("returned NaN");
            seen++;
        }
        w->ops->free(w);
    }
    assert_true(seen > 0);
    sis_net_free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_over_any_length_agree_with_full_passes),
        cmocka_unit_test(models_take_rows_of_any_length),
        cmocka_unit_test(token_models_take_rows_of_any_length),
        cmocka_unit_test(a_long_kernel_keeps_the_softmax),
        cmocka_unit_test(another_number_of_scores_is_refused),
        cmocka_unit_test(walks_refuse_unsupported_inputs),
        cmocka_unit_test(scores_that_are_not_numbers_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
