/* SPDX-License-Identifier: MIT
 *
 * Networks that cannot run are refused with a message that names the node and the problem.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support_net.h"

static void refused(sis_net_builder *b, int code, const char *words) {
    sis_net *net;
    assert_int_equal(sis_net_build(b, &net), code);
    assert_message_has(words);
    assert_null(net);
}

/* The network can be built, but takes no rows before the caller gives more information. */
static void rows_are_refused(sis_net_builder *b, const char *words) {
    sis_net *net;
    float x[4] = {1, 2, 3, 4}, y[4];
    sis_net_tensor z = {"z", SIS_NET_FLOATS, {2, {1, 4}}, x};
    char *text;
    assert_int_equal(sis_net_build(b, &net), 0);
    assert_int_equal(sis_net_forward(net, &(sis_net_batch){x, 1, 4, 0, 1, NULL}, y),
                     SIS_E_UNSUPPORTED);
    assert_message_has(words);
    assert_int_equal(sis_net_describe(net, NULL, &text), 0);
    assert_non_null(strstr(text, words));
    free(text);
    assert_int_equal(sis_net_set_input(net, "z", &z), 0);
    assert_int_equal(sis_net_forward(net, &(sis_net_batch){x, 1, 4, 0, 1, NULL}, y), 0);
    assert_true(y[3] == 8);
    sis_net_free(net);
}

static sis_net_builder *begin(void) {
    sis_net_builder *b = sis_net_builder_new("refused");
    sis_net_add_input(b, "x", 0, SHAPE(0, 4));
    return b;
}

/* x through n nodes of an operator, which read `beside` too. */
static sis_net_builder *chain_of(const char *op, const char *beside, int n) {
    sis_net_builder *b = begin();
    char inputs[32] = "x", to[16] = "x";
    sis_net_add_param(b, "w", SHAPE(4, 4), (const float[16]){[0] = 1, [5] = 1, [10] = 1, [15] = 1});
    for (int i = 0; i < n; i++) {
        snprintf(inputs, sizeof inputs, "%s%s", to, beside);
        snprintf(to, sizeof to, "v%d", i);
        sis_net_add_node(b, op, inputs, to);
    }
    sis_net_add_output(b, to);
    return b;
}

/* The maximum number of steps, and one more. */
static void long_chains_are_refused_by_name(void **state) {
    (void)state;
    refused(chain_of("Relu", "", 100001), SIS_E_UNSUPPORTED, "more than 100000 steps");
}

/* Loading a network and looking for a walk takes linear time: seconds, not minutes. */
static void a_long_chain_is_loaded_in_seconds(void **state) {
    (void)state;
    static const char *const chains[][2] = {
        {"Relu", ""}, {"Transpose", ""}, {"MatMul", " w"}, {"Gemm", " w"}};
    const double x[4] = {1, 2, 3, 4}, z[4] = {0};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        sis_net *net;
        sis_walk *walk;
        double score;
        clock_t start = clock();
        assert_int_equal(
            sis_net_build(chain_of(chains[i][0], chains[i][1], (int)rounds(100000)), &net), SIS_OK);
        if (sis_net_walk(net, &(sis_input){.values = x, .mask = z, .n_values = 4}, NULL, &walk) ==
            SIS_OK) {
            assert_int_equal(walk->ops->reset(walk, (const unsigned char[4]){0}, &score), SIS_OK);
            walk->ops->free(walk);
        }
        sis_net_free(net);
        assert_true((double)(clock() - start) < 20.0 * CLOCKS_PER_SEC);
    }
}

static void unsupported_operators_are_refused_by_name(void **state) {
    (void)state;
    sis_net_builder *b = begin();
    sis_net_add_node(b, "ImageDecoder", "x", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_UNSUPPORTED, "operator ImageDecoder (node y)");
    b = begin();
    sis_net_add_node(b, "Relu", "x", "y");
    sis_net_attr_int(b, "speed", 2);
    sis_net_add_output(b, "y");
    refused(b, SIS_E_UNSUPPORTED, "attribute speed");
    b = begin();
    sis_net_add_node(b, "LeakyRelu", "x", "y");
    sis_net_attr_int(b, "alpha", 2);
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "wrong type");
    b = begin();
    sis_net_add_input(b, "z", 0, SHAPE(0, 0));
    sis_net_add_node(b, "Add", "x z", "y");
    sis_net_add_output(b, "y");
    rows_are_refused(b, "2 inputs, and z leaves a size free");
    b = begin();
    sis_net_add_node(b, "Add", "x nothing", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "reads nothing, which nothing computes");
    b = begin();
    sis_net_add_node(b, "Add", "x b", "a");
    sis_net_add_node(b, "Relu", "a", "b");
    sis_net_add_output(b, "b");
    refused(b, SIS_E_FORMAT, "cycle");
    b = begin();
    sis_net_add_node(b, "Relu", "x", "y");
    sis_net_add_node(b, "Tanh", "x", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "computed twice");
    b = begin();
    sis_net_add_output(b, "q");
    refused(b, SIS_E_FORMAT, "output q");
    b = begin();
    sis_net_add_param(b, "w", SHAPE(5, 2), (float[10]){0});
    sis_net_add_node(b, "MatMul", "x w", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "4 columns on the left, 5 rows");
    b = begin();
    sis_net_attr_int(b, "alpha", 2);
    refused(b, SIS_E_ARGUMENT, "before any node");
    b = sis_net_builder_new("nothing");
    refused(b, SIS_E_FORMAT, "no input");
    b = sis_net_builder_new("wide");
    sis_net_add_input(b, "x", 0, SHAPE(0, 1 << 20, 1 << 20));
    sis_net_add_node(b, "Relu", "x", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_UNSUPPORTED, "2^31");
}

/* y = op(x, c). */
static sis_net_builder *begin_binary(const char *op, const sis_net_shape *shape, const float *c) {
    sis_net_builder *b = begin();
    sis_net_add_param(b, "c", shape, c);
    sis_net_add_node(b, op, "x c", "y");
    sis_net_add_output(b, "y");
    return b;
}

static void operands_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const float c[6] = {0};
    refused(begin_binary("Add", SHAPE(3), c), SIS_E_FORMAT, "inputs whose shapes do not fit");
    refused(begin_binary("Max", SHAPE(3), c), SIS_E_FORMAT, "inputs whose shapes do not fit");
    refused(begin_binary("And", SHAPE(4), c), SIS_E_FORMAT, "inputs that are not bool");
    refused(begin_binary("PRelu", SHAPE(3), c), SIS_E_FORMAT, "a slope that does not fit");
    sis_net_builder *b = begin();
    sis_net_add_ints(b, "i", SHAPE(4), (int64_t[]){1, 2, 3, 4});
    sis_net_add_node(b, "Add", "x i", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "inputs of different types");
    b = begin();
    sis_net_add_node(b, "Where", "x x x", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "a condition that is not bool");
    b = begin();
    sis_net_add_node(b, "Greater", "x x", "g");
    sis_net_add_node(b, "Add", "g g", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_UNSUPPORTED, "arithmetic of bool");
    b = begin();
    sis_net_add_node(b, "Constant", "", "c");
    sis_net_attr_text(b, "value_other", "no");
    sis_net_add_node(b, "Add", "x c", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_UNSUPPORTED, "value");
}

static void convolutions_without_filters_are_refused(void **state) {
    (void)state;
    sis_net_builder *b = sis_net_builder_new("refused");
    sis_net_add_input(b, "x", 0, SHAPE(0, 1, 5, 5));
    sis_net_add_param(b, "w", SHAPE(2, 1, 3, 3), (float[18]){0});
    sis_net_add_ints(b, "none", SHAPE(1), (int64_t[]){0});
    sis_net_add_node(b, "Slice", "w none none", "few"); /* (0, 1, 3, 3) */
    sis_net_add_node(b, "Conv", "x few", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "0 filters of 1 channels");
}

/* Tuples of indices into leading axes of nothing. */
static void empty_sizes_are_refused_before_division(void **state) {
    (void)state;
    sis_net_builder *b = begin();
    sis_net_add_param(b, "w", SHAPE(1, 3), (float[3]){0});
    sis_net_add_ints(b, "none", SHAPE(1), (int64_t[]){0});
    sis_net_add_ints(b, "i", SHAPE(2, 1), (int64_t[]){0, 1});
    sis_net_add_node(b, "Slice", "w none none", "few"); /* (0, 3) */
    sis_net_add_node(b, "GatherND", "few i", "g");
    sis_net_attr_int(b, "batch_dims", 1);
    sis_net_add_node(b, "ReduceSum", "g", "s");
    sis_net_add_node(b, "Add", "x s", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "indices that do not fit the leading axes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_chains_are_refused_by_name),
        cmocka_unit_test(a_long_chain_is_loaded_in_seconds),
        cmocka_unit_test(unsupported_operators_are_refused_by_name),
        cmocka_unit_test(operands_that_do_not_fit_are_refused),
        cmocka_unit_test(convolutions_without_filters_are_refused),
        cmocka_unit_test(empty_sizes_are_refused_before_division),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
