/* SPDX-License-Identifier: MIT
 *
 * Transformer operators (net/lower/attention.c) and quantised operators (net/lower/exact_quant.h)
 * are lowered to standard ones; plans fuse them and walks follow them. unit.net_onnx_cases compares
 * the results with ONNX Runtime; the networks here are some of its cases.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/onnx/proto.h"
#include "net/ops/ops.h"
#include "net/plan/net.h"
#include "net/walk/walk.h"
#include "support_net.h"
#include "support_nets.h"

enum { LENGTH = 5, MASK = 2 }; /* of the encoders; the id of masked words */

static const char *const encoders[] = {"encoder_lengths", "encoder_mask", "encoder_heads",
                                       "encoder_standard", "encoder_rotary"};
enum { ENCODERS = sizeof encoders / sizeof *encoders };

static sis_net *open_network_of(const char *name) {
    sis_net *net;
    assert_int_equal(sis__net_adopt(recorded_model(name), &net), SIS_OK);
    assert_int_equal(sis_net_ready(net), SIS_OK);
    return net;
}

/* Every word is a feature. */
static void start_case(walk_case *c, const char *name, sis__rng *r) {
    const float *matrix;
    size_t words, dim;
    *c = (walk_case){.net = open_network_of(name), .embedded = 1, .n_features = LENGTH};
    sis_net_embedding(c->net, &matrix, &words, &dim);
    assert_non_null(matrix);
    c->n_values = LENGTH * dim;
    c->x = malloc(c->n_values * sizeof *c->x);
    c->z = malloc(c->n_values * sizeof *c->z);
    c->feature_of = malloc(c->n_values * sizeof *c->feature_of);
    for (size_t t = 0; t < LENGTH; t++) {
        size_t id = MASK + 1 + sis__rng_below(r, words - MASK - 1);
        for (size_t d = 0; d < dim; d++) {
            c->x[t * dim + d] = (double)matrix[id * dim + d];
            c->z[t * dim + d] = (double)matrix[MASK * dim + d];
            c->feature_of[t * dim + d] = (int)t;
        }
    }
    c->input = (sis_input){
        .values = c->x, .mask = c->z, .n_values = c->n_values, .feature_of = c->feature_of};
    c->input.output = sis__rng_below(r, 3);
}

static void encoders_are_walked(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 51);
    for (size_t i = 0; i < ENCODERS; i++) {
        walk_seen seen = {0};
        for (int k = 0; k < 6; k++) {
            walk_case c;
            sis_walk *w;
            sis_net_walk_opt opt = {.embedded = 1};
            start_case(&c, encoders[i], &r);
            if (sis__walk_by(&sis__rule_attention, c.net, &c.input, &opt, &w) != SIS_OK)
                fail_msg("%s: %s", encoders[i], sis_error_detail());
            check_windows(&c, w, &r, LENGTH, &seen);
            w->ops->free(w);
            walk_case_release(&c);
        }
        printf("%s: %zu margins, error %g\n", encoders[i], seen.probes, seen.error);
        assert_true(seen.probes > 10 && seen.error == 0);
    }
}

static void attention_is_one_step(void **state) {
    (void)state;
    for (size_t i = 0; i < ENCODERS; i++) {
        sis_net *net = open_network_of(encoders[i]);
        sis__feed feed = {.value = net->embedded, .rank = 3, .dims = {1, LENGTH, 8}};
        sis__feed ids = {.value = net->input, .rank = 2, .dims = {1, LENGTH}};
        sis__plan_spec spec = {.feeds = (sis__feed[]){feed, ids},
                               .n_feeds = 2,
                               .outputs = &net->pre_output,
                               .n_outputs = 1,
                               .batch = 1};
        sis__plan *plan;
        size_t attentions = 0, gelus = 0;
        if (sis__plan_new(net, &spec, &plan) != SIS_OK)
            fail_msg("%s: %s", encoders[i], sis_error_detail());
        for (size_t k = 0; k < plan->n_steps; k++) {
            attentions += plan->steps[k].op == SIS__OP_FUSED_ATTENTION;
            gelus += plan->steps[k].op == SIS__OP_GELU;
            assert_true(plan->steps[k].op != SIS__OP_SOFTMAX);
        }
        assert_int_equal(attentions, 1);
        assert_int_equal(gelus, 1);
        sis__plan_free(plan);
        sis_net_free(net);
    }
}

/* x (rows, 3, 8) to one operator. */
static sis_net_builder *one_node(const char *op, const char *inputs, const char *outputs) {
    static const float zeros[8 * 24];
    sis_net_builder *b = sis_net_builder_new("refused");
    sis_net_add_input(b, "x", 0, SHAPE(0, 3, 8));
    sis_net_add_param(b, "w", SHAPE(8, 24), zeros);
    sis_net_add_param(b, "past", SHAPE(1, 2, 2, 4), zeros);
    sis_net_add_ints(b, "ends", SHAPE(1), (int64_t[]){3});
    sis_net_add_node(b, op, inputs, outputs);
    sis_net_add_output(b, "y");
    return b;
}

static void unsupported_forms_are_refused_by_name(void **state) {
    (void)state;
    static const char *const forms[][4] = {
        {"ms.Attention", "x w - - past", "y", "operator Attention with past state"},
        {"ms.Attention", "x w", "y more", "operator Attention with past state"},
        {"ms.Attention", "x w - ends", "y", "Attention y): a mask of 1 axes"},
        {"ms.MultiHeadAttention", "x", "y", "operator MultiHeadAttention of packed queries"},
        {"ms.MultiHeadAttention", "x x x - - - past past", "y",
         "operator MultiHeadAttention with past state"},
        {"ms.MultiHeadAttention", "x past past", "y",
         "MultiHeadAttention y): 2 heads for an input of 4 axes"},
        {"ms.GroupQueryAttention", "x x x - - ends ends", "y", "operator GroupQueryAttention"},
        {"Attention", "x x x - past past", "y", "operator Attention with past state"},
        {"ms.SkipSimplifiedLayerNormalization", "x x w", "y mean", "with several outputs"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        sis_net *net = NULL;
        sis_net_builder *b = one_node(forms[i][0], forms[i][1], forms[i][2]);
        if (i < 6)
            sis_net_attr_int(b, "num_heads", 2);
        assert_int_equal(sis_net_build(b, &net), SIS_E_UNSUPPORTED);
        assert_message_has(forms[i][3]);
    }
}

static void quantised_networks_are_walked(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 52);
    walk_seen seen = {0};
    for (int k = 0; k < 6; k++) {
        walk_case c;
        sis_walk *w;
        sis_net_walk_opt opt = {0};
        walk_case_init(&c, open_network_of("qlinear_network"), 0, &r);
        int error = sis__walk_by(&sis__rule_window, c.net, &c.input, &opt, &w);
        if (error == SIS_OK) {
            check_windows(&c, w, &r, 20, &seen);
            w->ops->free(w);
        } else { /* features spread over the whole image */
            assert_int_equal(error, SIS_E_UNSUPPORTED);
        }
        walk_case_release(&c);
    }
    assert_true(seen.probes > 100 && seen.error == 0);
}

/* An operator on bytes whose weights and zero points are computed. */
static sis_net_builder *quantised(const char *op, const char *inputs) {
    static const int64_t w[4];
    sis_net_builder *b = sis_net_builder_new("quantised");
    sis_net_add_input(b, "x", 0, SHAPE(0, 4));
    sis_net_add_param(b, "scale", &(sis_net_shape){0, {0}}, (float[]){0.5f});
    sis_net_add_ints(b, "none", &(sis_net_shape){0, {0}}, (int64_t[]){0});
    sis_net_add_ints(b, "w64", SHAPE(4, 1), w);
    sis_net_add_node(b, "Cast", "none", "zero");
    sis_net_attr_int(b, "to", SIS__UINT8);
    sis_net_add_node(b, "Cast", "w64", "weights");
    sis_net_attr_int(b, "to", SIS__UINT8);
    sis_net_add_node(b, "QuantizeLinear", "x scale", "bytes");
    sis_net_add_node(b, op, inputs, "y");
    sis_net_add_output(b, "y");
    return b;
}

static void computed_weights_are_refused(void **state) {
    (void)state;
    static const char *const forms[][2] = {
        {"MatMulInteger", "bytes weights"},
        {"ConvInteger", "bytes weights"},
        {"QLinearMatMul", "bytes scale zero weights scale zero scale zero"},
        {"QLinearConv", "bytes scale zero weights scale zero scale zero"},
        {"ms.QLinearAdd", "bytes scale zero bytes scale zero scale zero"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char words[100];
        sis_net *net = NULL;
        const char *name = forms[i][0] + (i == 4 ? 3 : 0);
        assert_int_equal(sis_net_build(quantised(forms[i][0], forms[i][1]), &net),
                         SIS_E_UNSUPPORTED);
        snprintf(words, sizeof words, "operator %s with weights, scales or zero points that", name);
        assert_message_has(words);
    }
}

static void inexact_sums_are_refused(void **state) {
    (void)state;
    sis_net *net = NULL;
    Sis__Onnx__Model *m = recorded_model("matmul_integer");
    for (size_t i = 0; i < m->graph->n_initializer; i++) {
        Sis__Onnx__Tensor *t = m->graph->initializer[i];
        if (t->n_dims == 2)
            memset(t->raw_data.data, 127, t->raw_data.len);
    }
    assert_int_equal(sis__net_adopt(m, &net), SIS_OK); /* 300 * 155 * 134 */
    sis_net_free(net);
    m = recorded_model("matmul_integer");
    for (size_t i = 0; i < m->graph->n_initializer; i++) {
        Sis__Onnx__Tensor *t = m->graph->initializer[i];
        if (t->n_dims == 2)
            memset(t->raw_data.data, 127, t->raw_data.len);
        else if (t->n_dims == 1)
            memset(t->raw_data.data, 0x80, t->raw_data.len); /* zero points of -128 */
        else
            memset(t->raw_data.data, 0, t->raw_data.len);
    }
    assert_int_equal(sis__net_adopt(m, &net), SIS_E_UNSUPPORTED); /* 300 * 255 * 255 */
    assert_message_has("operator MatMulInteger with sums of 2^24 or more");
}

static int adopt(void *ctx) {
    sis_net *net = NULL;
    sis_net_builder *b = one_node("ms.Attention", "x w", "y");
    (void)ctx;
    sis_net_attr_int(b, "num_heads", 2);
    int error = sis_net_build(b, &net);
    sis_net_free(net);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    assert_true(with_failing_allocations(adopt, NULL) > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoders_are_walked),
        cmocka_unit_test(attention_is_one_step),
        cmocka_unit_test(unsupported_forms_are_refused_by_name),
        cmocka_unit_test(quantised_networks_are_walked),
        cmocka_unit_test(computed_weights_are_refused),
        cmocka_unit_test(inexact_sums_are_refused),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
