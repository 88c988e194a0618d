/* SPDX-License-Identifier: MIT
 *
 * Queries to networks: tokens, margins, folded shapes and constants, free lengths, parameters,
 * descriptions.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/plan/row_layout.h"
#include "support_net.h"

static void token_models_start_at_ids_or_embeddings(void **state) {
    (void)state;
    const char *const names[] = {"text", "lstm", "bilstm", "gru"};
    for (size_t f = 0; f < 4; f++) {
        sis_net *net = build_family(names[f]);
        const float *matrix;
        size_t words, dim, p;
        sis__rng r;
        sis__rng_init(&r, 6);
        assert_true(sis_net_is_token(net) && sis_net_integers(net));
        assert_int_equal(sis_net_embedding(net, &matrix, &words, &dim), 0);
        float *ids = random_rows(net, &r, 9, &p), a[9], c[9];
        float *embedded = (float *)malloc(9 * p * dim * sizeof *embedded);
        for (size_t i = 0; i < 9 * p; i++)
            memcpy(embedded + i * dim, matrix + (size_t)ids[i] * dim, dim * sizeof *matrix);
        sis_net_batch b = {ids, 9, p, 0, 1, NULL}, e = {embedded, 9, p * dim, 1, 2, NULL};
        assert_int_equal(sis_net_forward(net, &b, a), 0);
        assert_int_equal(sis_net_forward(net, &e, c), 0);
        assert_memory_equal(a, c, sizeof a);
        ids[p] = (float)words; /* unknown word in row 1 */
        assert_int_equal(sis_net_forward(net, &b, a), SIS_E_ARGUMENT);
        ids[p] = NAN;
        assert_int_equal(sis_net_forward(net, &b, a), SIS_E_ARGUMENT);
        free(ids);
        free(embedded);
        sis_net_free(net);
    }
    sis_net *net = build_family("mlp");
    const float *matrix;
    size_t words, dim;
    float x[1] = {0}, y[16];
    sis_net_batch e = {x, 1, 1, 1, 1, NULL};
    assert_int_equal(sis_net_embedding(net, &matrix, &words, &dim), SIS_E_ARGUMENT);
    assert_int_equal(sis_net_forward(net, &e, y), SIS_E_ARGUMENT);
    e.embedded = 0;
    assert_int_equal(sis_net_forward(net, &e, y), SIS_E_ARGUMENT); /* too few values */
    assert_message_has("values a row");
    sis_net_free(net);
}

static void margins_see_beyond_the_score(void **state) {
    (void)state;
    sis_net *net;
    float x[2][3] = {{50, 0, 0}, {70, 0, 0}}, scores[6];
    double margins[6];
    sis_net_builder *b = sis_net_builder_new("softmax");
    sis_net_add_input(b, "x", 0, SHAPE(0, 3));
    sis_net_add_node(b, "Softmax", "x", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    sis_net_batch batch = {x[0], 2, 3, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &batch, scores), 0);
    assert_int_equal(sis_net_margins(net, &batch, margins), 0);
    assert_true(scores[0] == 1 && scores[3] == 1);
    assert_true(fabs(margins[0] - (50 - log(2))) < 1e-12);
    assert_true(fabs(margins[3] - (70 - log(2))) < 1e-12);
    assert_true(sis_net_link(0) == 0.5 && sis_net_link(-800) == 0 && sis_net_link(800) == 1);
    sis_net_free(net);
}

/* x (0, 2) -> Sigmoid -> the nodes of `build` -> y */
static sis_net *behind_sigmoid(void (*build)(sis_net_builder *b)) {
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new("sigmoid");
    sis_net_add_input(b, "x", 0, SHAPE(0, 2));
    sis_net_add_node(b, "Sigmoid", "x", "s");
    build(b);
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    return net;
}

static void cast_to_whole_numbers(sis_net_builder *b) {
    sis_net_add_node(b, "Cast", "s", "i");
    sis_net_attr_int(b, "to", 7);
    sis_net_add_node(b, "Cast", "i", "y");
    sis_net_attr_int(b, "to", 1);
}

static void cast_and_squeeze(sis_net_builder *b) {
    sis_net_add_node(b, "Cast", "s", "d");
    sis_net_attr_int(b, "to", 11);
    sis_net_add_node(b, "Flatten", "d", "y");
}

static void a_cast_that_loses_digits_ends_the_search_for_a_link(void **state) {
    (void)state;
    float x[2] = {0.7f, 40};
    double margins[2];
    sis_net_batch batch = {x, 1, 2, 0, 1, NULL};
    sis_net *net = behind_sigmoid(cast_to_whole_numbers);
    assert_false(sis_net_has_link(net));
    assert_int_equal(sis_net_margins(net, &batch, margins), 0);
    assert_true(margins[0] == 0 && margins[1] == 1);
    sis_net_free(net);
    net = behind_sigmoid(cast_and_squeeze);
    assert_true(sis_net_has_link(net));
    assert_int_equal(sis_net_margins(net, &batch, margins), 0);
    assert_true(margins[0] == 0.7f && margins[1] == 40);
    sis_net_free(net);
}

/* A softmax over another axis than the scores of a row has no margins. */
static void only_a_softmax_over_all_scores_is_a_link(void **state) {
    (void)state;
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new("softmax");
    sis_net_add_input(b, "x", 0, SHAPE(0, 3, 4));
    sis_net_add_node(b, "Softmax", "x", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    assert_false(sis_net_has_link(net));
    sis_net_free(net);
}

/* The nodes that PyTorch writes for x.view(x.size(0), -1), and Keras for the states of a
 * recurrent layer. */
static void shape_arithmetic_is_folded(void **state) {
    (void)state;
    sis_net *net;
    sis__row_layout *g;
    sis__rng r;
    sis__rng_init(&r, 1);
    sis_net_builder *b = sis_net_builder_new("shapes");
    sis_net_add_input(b, "x", 0, SHAPE(0, 6, 2, 2));
    sis_net_add_ints(b, "first", SHAPE(1), (int64_t[]){0});
    sis_net_add_ints(b, "rest", SHAPE(1), (int64_t[]){-1});
    sis_net_add_ints(b, "four", SHAPE(1), (int64_t[]){4});
    sis_net_add_ints(b, "one", SHAPE(1), (int64_t[]){1});
    sis_net_add_ints(b, "scalar", &(sis_net_shape){0, {0}}, (int64_t[]){0});
    add_random(b, "w", SHAPE(1, 12, 4), &r, 0.4);
    add_random(b, "r", SHAPE(1, 12, 3), &r, 0.4);
    sis_net_add_node(b, "Shape", "x", "s");
    sis_net_add_node(b, "Gather", "s scalar", "n");
    sis_net_add_node(b, "Unsqueeze", "n first", "nu");
    sis_net_add_node(b, "Cast", "nu", "nf");
    sis_net_attr_int(b, "to", 1);
    sis_net_add_node(b, "Cast", "nf", "ni");
    sis_net_attr_int(b, "to", 7);
    sis_net_add_node(b, "Concat", "ni rest four", "to");
    sis_net_attr_int(b, "axis", 0);
    sis_net_add_node(b, "Reshape", "x to", "seq");
    sis_net_add_node(b, "Transpose", "seq", "tm");
    sis_net_attr_ints(b, "perm", (int64_t[]){1, 0, 2}, 3);
    sis_net_add_node(b, "Shape", "tm", "ts");
    sis_net_add_node(b, "Slice", "ts one four", "bs");
    sis_net_add_ints(b, "three", SHAPE(1), (int64_t[]){3});
    sis_net_add_node(b, "Slice", "ts one three first one", "b2"); /* (batch, 4): 2 numbers */
    sis_net_add_node(b, "Gather", "b2 first", "b1");
    sis_net_add_node(b, "Concat", "one b1 three", "hs");
    sis_net_attr_int(b, "axis", 0);
    sis_net_add_node(b, "ConstantOfShape", "hs", "h0");
    sis_net_add_node(b, "LSTM", "tm w r - - h0 h0", "- h");
    sis_net_add_node(b, "Squeeze", "h first", "y");
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != 0)
        fail_msg("%s", sis_error_detail());
    assert_int_equal(sis_net_outputs(net), 3);
    assert_int_equal(sis__row_layout_get(net, &(sis__row_form){.n_values = 24}, &g), 0);
    assert_true(g->batched);
    assert_int_equal(g->plans[SIS__SCORES][0]->plan->n_steps,
                     4); /* Reshape Transpose LSTM Squeeze */
    sis_net_free(net);
}

/* A convolution of 2 channels (2 filters of 1 x 1, with or without bias) and its normalisation.
 * `shared`: the weights are read twice, so they must not change. Returns the number of steps of
 * the plan. */
static size_t normalized(int bias, int shared, float *y) {
    sis_net *net;
    sis__row_layout *g;
    const float x[2] = {3, -5};
    sis_net_builder *b = sis_net_builder_new("normalized");
    sis_net_add_input(b, "x", 0, SHAPE(0, 2, 1, 1));
    sis_net_add_param(b, "w", SHAPE(2, 2, 1, 1), (const float[]){1, 2, -1, 0.5f});
    sis_net_add_param(b, "b", SHAPE(2), (const float[]){10, 20});
    sis_net_add_param(b, "s", SHAPE(2), (const float[]){3, -4});
    sis_net_add_param(b, "t", SHAPE(2), (const float[]){1, 2});
    sis_net_add_param(b, "m", SHAPE(2), (const float[]){5, 6});
    sis_net_add_param(b, "v", SHAPE(2), (const float[]){8.75f, 3.75f});
    sis_net_add_node(b, "Conv", bias ? "x w b" : "x w", "c");
    sis_net_add_node(b, "BatchNormalization", "c s t m v", "n");
    sis_net_attr_float(b, "epsilon", 0.25f);
    sis_net_add_node(b, "Conv", shared ? "n w" : "n b1", "z");
    sis_net_add_param(b, "b1", SHAPE(2, 2, 1, 1), (const float[]){1, 2, -1, 0.5f});
    sis_net_add_output(b, "z");
    assert_int_equal(sis_net_build(b, &net), 0);
    assert_int_equal(sis_net_forward(net, &(sis_net_batch){x, 1, 2, 0, 1, NULL}, y), 0);
    assert_int_equal(sis__row_layout_get(net, &(sis__row_form){.n_values = 2}, &g), 0);
    size_t steps = g->plans[SIS__SCORES][0]->plan->n_steps;
    sis_net_free(net);
    return steps;
}

/* By hand: sums (-7, -5.5), after the bias (3, 14.5); scales 1 and -2; then weights again. */
static void a_normalisation_becomes_part_of_a_convolution(void **state) {
    (void)state;
    float y[2];
    assert_int_equal(normalized(1, 0, y), 2); /* n = (3 - 5 + 1, -2 (14.5 - 6) + 2) = (-1, -15) */
    assert_true(fabsf(y[0] + 31) < 1e-4f && fabsf(y[1] + 6.5f) < 1e-4f);
    assert_int_equal(normalized(0, 0, y), 2); /* n = (-7 - 5 + 1, -2 (-5.5 - 6) + 2) = (-11, 25) */
    assert_true(fabsf(y[0] - 39) < 1e-4f && fabsf(y[1] - 23.5f) < 1e-4f);
    assert_int_equal(normalized(0, 1, y), 3);
    assert_true(fabsf(y[0] - 39) < 1e-4f && fabsf(y[1] - 23.5f) < 1e-4f);
}

static void lengths_may_be_free(void **state) {
    (void)state;
    sis_net *net;
    sis__rng r;
    sis__rng_init(&r, 1);
    sis_net_builder *b = sis_net_builder_new("free");
    sis_net_add_input(b, "x", 0, SHAPE(0, 4, 0));
    add_random(b, "w", SHAPE(3, 4, 5), &r, 0.4);
    sis_net_add_node(b, "Conv", "x w", "c");
    sis_net_add_node(b, "GlobalMaxPool", "c", "g");
    sis_net_add_node(b, "Flatten", "g", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    assert_int_equal(sis_net_values(net), 0);
    assert_int_equal(sis_net_outputs(net), 0);
    float *x = random_floats(&r, 4 * 300, 1.0), y[6];
    for (size_t length = 5; length <= 150; length += 29) {
        sis_net_batch batch = {x, 2, 4 * length, 0, 1, NULL};
        assert_int_equal(sis_net_forward(net, &batch, y), 0);
    }
    sis_net_batch odd = {x, 1, 31, 0, 1, NULL}, small = {x, 1, 16, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &odd, y), SIS_E_ARGUMENT);
    assert_int_equal(sis_net_forward(net, &small, y), SIS_E_FORMAT); /* shorter than the window */
    char *text;
    assert_int_equal(sis_net_describe(net, NULL, &text), 0);
    assert_non_null(strstr(text, "(4, any)"));
    free(text);
    free(x);
    sis_net_free(net);
}

static void parameters_can_be_replaced(void **state) {
    (void)state;
    sis_net *net = build_family("mlp");
    sis_net_param p;
    size_t n = sis_net_values(net);
    float *x = (float *)calloc(n, sizeof *x), y[7], zero[7] = {0};
    for (size_t i = 0; i < sis_net_params(net); i++) {
        assert_int_equal(sis_net_param_get(net, i, &p), 0);
        float *v = (float *)calloc(p.count, sizeof *v);
        assert_int_equal(sis_net_param_set(net, i, v), 0);
        free(v);
    }
    sis_net_batch b = {x, 1, n, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &b, y), 0);
    for (size_t i = 0; i < 7; i++)
        assert_true(fabs(y[i] - 1.0 / 7) < 1e-6);
    assert_int_equal(sis_net_param_get(net, 99, &p), SIS_E_ARGUMENT);
    assert_int_equal(sis_net_param_set(net, 99, zero), SIS_E_ARGUMENT);
    free(x);
    sis_net_free(net);
}

/* Names come from files: control characters and line ends are not printed. */
static void descriptions_print_each_name_on_one_line(void **state) {
    (void)state;
    sis_net_builder *b = sis_net_builder_new("test");
    sis_net *net;
    char *text;
    sis_net_add_input(b, "x\033[31m\x7f", 0, SHAPE(0, 3));
    sis_net_add_node(b, "Relu", "x\033[31m\x7f", "y\033]0;");
    sis_net_add_output(b, "y\033]0;");
    assert_int_equal(sis_net_build(b, &net), 0);
    assert_int_equal(sis_net_describe(net, NULL, &text), 0);
    assert_string_equal(text, "input x?[31m?: float (3)\n"
                              "mask: none of its own\n"
                              "  operator               result of one row    parameters  node\n"
                              "  Relu                   (3)                           0  y?]0;\n"
                              "output y?]0;: (3)\n"
                              "0 parameters in use, about 3 operations a row\n");
    free(text);
    sis_net_free(net);
}

static void a_description_shows_nodes_and_parameters(void **state) {
    (void)state;
    sis_net *net = build_family("dna");
    char *text;
    assert_int_equal(sis_net_describe(net, NULL, &text), 0);
    assert_string_equal(text, "input x: float (4, 31)\n"
                              "mask: none of its own\n"
                              "  operator               result of one row    parameters  node\n"
                              "  Conv                   (12, 24)                    396  c\n"
                              "  Relu                   (12, 24)                      0  r\n"
                              "  GlobalMaxPool          (12, 1)                       0  g\n"
                              "  Flatten                (12)                          0  f\n"
                              "  Gemm                   (5)                          65  d\n"
                              "  Tanh                   (5)                           0  t\n"
                              "  Gemm                   (1)                           6  z\n"
                              "  Sigmoid                (1)                           0  y\n"
                              "output y: (1)\n"
                              "467 parameters in use, about 1.91e+04 operations a row\n");
    free(text);
    sis_net_free(net);
}

/* y = the largest of each half of (x + {1, 2, 3, 4}) * 0.5. */
static void constants_may_have_every_exported_form(void **state) {
    (void)state;
    const float x[4] = {1, -2, 3, 0.5f};
    float y[2];
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new("constants");
    sis_net_add_input(b, "x", 0, SHAPE(0, 4));
    sis_net_add_node(b, "Constant", "", "c");
    sis_net_attr_floats(b, "value_floats", (float[]){1, 2, 3, 4}, 4);
    sis_net_add_node(b, "Constant", "", "half");
    sis_net_attr_float(b, "value_float", 0.5f);
    sis_net_add_node(b, "Constant", "", "shape");
    sis_net_attr_ints(b, "value_ints", (int64_t[]){-1, 2, 2}, 3);
    sis_net_add_node(b, "Add", "x c", "a");
    sis_net_add_node(b, "Mul", "a half", "m");
    sis_net_add_node(b, "Reshape", "m shape", "r");
    sis_net_add_node(b, "ReduceMax", "r", "y");
    sis_net_attr_ints(b, "axes", (int64_t[]){2}, 1);
    sis_net_attr_int(b, "keepdims", 0);
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    sis_net_batch batch = {.rows = x, .n_rows = 1, .n_values = 4};
    assert_int_equal(sis_net_forward(net, &batch, y), SIS_OK);
    assert_true(y[0] == 1 && y[1] == 3);
    sis_net_free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_models_start_at_ids_or_embeddings),
        cmocka_unit_test(margins_see_beyond_the_score),
        cmocka_unit_test(a_cast_that_loses_digits_ends_the_search_for_a_link),
        cmocka_unit_test(only_a_softmax_over_all_scores_is_a_link),
        cmocka_unit_test(shape_arithmetic_is_folded),
        cmocka_unit_test(a_normalisation_becomes_part_of_a_convolution),
        cmocka_unit_test(lengths_may_be_free),
        cmocka_unit_test(parameters_can_be_replaced),
        cmocka_unit_test(a_description_shows_nodes_and_parameters),
        cmocka_unit_test(descriptions_print_each_name_on_one_line),
        cmocka_unit_test(constants_may_have_every_exported_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
