/* SPDX-License-Identifier: MIT
 *
 * Fused operators of transformers and encoders of categories against their definitions: numbers
 * from tests/fused_numbers.py, or worked out by hand.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/plan/net.h"
#include "net/plan/plan.h"
#include "support_net.h"
#include "support_plain.h"

static const double attention[] = {0.745700785, 0.0813064862, -0.593934348, -0.992787911,
                                   0.746871568, 0.0811555762, -0.602554362, -1.00504571,
                                   0.746818293, 0.0811624432, -0.601003278, -1.00284004};
static const double multi_head[] = {0.736884221, 0.141049095,  -0.525212599, -0.892877661,
                                    0.602071803, 0.0584384217, -0.539990518, -0.853658955,
                                    0.717206977, 0.131789381,  -0.514783839, -0.900185158};
static const double rotary[] = {-0.886630515, 0.275748626, -0.216052817, 0.432151986,
                                0.718253603,  -1.00037152, 0.0117864882, -1.02436579,
                                -0.446797454, 1.03053718,  0.322571512,  1.44132027};
static const double embedded[] = {-1.58902662,  -1.44455417, 0.114136941, 1.1795215,
                                  -0.364409249, -1.64276803, -1.14101323, 0.874409516,
                                  -1.80178407,  -1.07884391, 0.470166775, 1.00934039};

/* As in fused_numbers.py. */
static float value(size_t i, double seed) {
    return (float)sin(0.7 * (double)i + seed);
}

static void param(sis_net_builder *b, const char *name, double seed, const sis_net_shape *shape) {
    size_t n = 1;
    for (size_t d = 0; d < shape->rank; d++)
        n *= shape->dims[d];
    float *v = malloc(n * sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = value(i, seed);
    sis_net_add_param(b, name, shape, v);
    free(v);
}

/* Build the network and compare its output for one row. */
static void check(sis_net_builder *b, const char *output, const float *row, size_t n,
                  const double *wanted, size_t n_wanted) {
    sis_net *net;
    sis_net_add_output(b, output);
    if (sis_net_build(b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    sis_net_batch batch = {.rows = row, .n_rows = 1, .n_values = n, .jobs = 1};
    size_t outputs;
    float scores[32];
    if (sis_net_batch_outputs(net, &batch, &outputs) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    assert_int_equal(outputs, n_wanted);
    assert_int_equal(sis_net_forward(net, &batch, scores), SIS_OK);
    for (size_t i = 0; i < n_wanted; i++)
        if (fabs(scores[i] - wanted[i]) > 2e-6)
            fail_msg("%s %zu: %.9g, not %.9g", output, i, (double)scores[i], wanted[i]);
    sis_net_free(net);
}

static const float *row_of(float *row) {
    for (size_t i = 0; i < 12; i++)
        row[i] = value(i, 1);
    return row;
}

static sis_net_builder *begin(void) {
    sis_net_builder *b = sis_net_builder_new("fused");
    sis_net_add_input(b, "x", 0, SHAPE(0, 3, 4));
    return b;
}

static void attention_respects_masks(void **state) {
    (void)state;
    float row[12];
    sis_net_builder *b = begin();
    param(b, "w", 2, SHAPE(4, 12));
    param(b, "b", 3, SHAPE(12));
    sis_net_add_ints(b, "mask", SHAPE(1, 3), (const int64_t[]){1, 1, 0});
    sis_net_add_node(b, "ms.Attention", "x w b mask", "y");
    sis_net_attr_int(b, "num_heads", 2);
    check(b, "y", row_of(row), 12, attention, 12);
}

static void attention_heads_are_separate(void **state) {
    (void)state;
    float row[12];
    sis_net_builder *b = begin();
    param(b, "wk", 4, SHAPE(4, 4));
    param(b, "wv", 5, SHAPE(4, 4));
    param(b, "b", 3, SHAPE(12));
    sis_net_add_node(b, "MatMul", "x wk", "k");
    sis_net_add_node(b, "MatMul", "x wv", "v");
    sis_net_add_node(b, "ms.MultiHeadAttention", "x k v b", "y");
    sis_net_attr_int(b, "num_heads", 2);
    check(b, "y", row_of(row), 12, multi_head, 12);
}

static void rotary_embeddings_rotate_by_position(void **state) {
    (void)state;
    float row[12];
    sis_net_builder *b = begin();
    param(b, "cosine", 6, SHAPE(5, 1));
    param(b, "sine", 7, SHAPE(5, 1));
    sis_net_add_ints(b, "from", SHAPE(1, 3), (const int64_t[]){0, 1, 2});
    sis_net_add_node(b, "ms.RotaryEmbedding", "x from cosine sine", "y");
    sis_net_attr_int(b, "num_heads", 2);
    check(b, "y", row_of(row), 12, rotary, 12);
}

static void embeddings_are_added_and_normalised(void **state) {
    (void)state;
    const float ids[] = {4, 0, 5};
    sis_net_builder *b = sis_net_builder_new("fused");
    sis_net_add_input(b, "ids", 1, SHAPE(0, 3));
    param(b, "words", 8, SHAPE(6, 4));
    param(b, "places", 9, SHAPE(3, 4));
    param(b, "gamma", 10, SHAPE(4));
    param(b, "beta", 11, SHAPE(4));
    sis_net_add_node(b, "ms.EmbedLayerNormalization", "ids - words places - gamma beta", "y");
    check(b, "y", ids, 3, embedded, 12);
}

static void old_broadcasting_aligns_at_its_axis(void **state) {
    (void)state;
    float row[12];
    double want[12];
    sis_net_builder *b = begin();
    sis_net_add_param(b, "p", SHAPE(3), (const float[]){10, 20, 30});
    sis_net_add_node(b, "Sub", "x p", "y");
    sis_net_attr_int(b, "axis", 1);
    sis_net_attr_int(b, "broadcast", 1);
    row_of(row);
    for (size_t i = 0; i < 12; i++)
        want[i] = (double)(row[i] - 10 * (float)(i / 4 + 1));
    check(b, "y", row, 12, want, 12);
}

/* (3, 4) of each row times (4, 2) and (2, 3), with each side transposed once. */
static void einsum_is_a_product(void **state) {
    (void)state;
    static const float w[] = {1, -2, 3, 0.5f, -1, 4, 2, -3}, v[] = {2, -1, 3, 0.25f, 1, -2};
    float row[12];
    double right[6] = {0}, left[8] = {0};
    row_of(row);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 4; j++)
            for (size_t k = 0; k < 2; k++) {
                right[k * 3 + i] += (double)row[i * 4 + j] * (double)w[j * 2 + k];
                left[j * 2 + k] += (double)v[k * 3 + i] * (double)row[i * 4 + j];
            }
    sis_net_builder *b = begin();
    sis_net_add_param(b, "w", SHAPE(4, 2), w);
    sis_net_add_node(b, "Einsum", "x w", "y");
    sis_net_attr_text(b, "equation", "bij,jk->bki");
    check(b, "y", row, 12, right, 6);
    b = begin();
    sis_net_add_param(b, "v", SHAPE(2, 3), v);
    sis_net_add_node(b, "Einsum", "v x", "y");
    sis_net_attr_text(b, "equation", "ki,bij->bjk");
    check(b, "y", row, 12, left, 8);
}

static void unsupported_einsum_is_refused(void **state) {
    (void)state;
    static const char *const equations[] = {"bij->bi",      "bii->b", "...i,...j->...ij",
                                            "bij,bij->bij", "bij,jk", "bij,jk->bk"};
    for (size_t i = 0; i < sizeof equations / sizeof *equations; i++) {
        sis_net *net;
        sis_net_builder *b = begin();
        sis_net_add_node(b, "Einsum", strchr(equations[i], ',') ? "x x" : "x", "y");
        sis_net_attr_text(b, "equation", equations[i]);
        sis_net_add_output(b, "y");
        assert_int_equal(sis_net_build(b, &net), SIS_E_UNSUPPORTED);
        assert_message_has("operator Einsum that is no MatMul");
    }
}

/* Numbers that stand for texts: 5 is "red", 9 "green", 2 "red green". */
static void name_colours(sis_net_builder *b) {
    sis_net_add_input(b, "x", 1, SHAPE(0, 3));
    sis_net_add_node(b, "ml.LabelEncoder", "x", "names");
    sis_net_attr_ints(b, "keys_int64s", (const int64_t[]){5, 9, 2}, 3);
    sis_net_attr_texts(b, "values_strings", (const char *const[]){"red", "green", "red green"}, 3);
    sis_net_attr_text(b, "default_string", "none");
}

static void number_colours(sis_net_builder *b, const char *from) {
    sis_net_add_node(b, "ml.LabelEncoder", from, "numbers");
    sis_net_attr_texts(b, "keys_strings", (const char *const[]){"green", "red"}, 2);
    sis_net_attr_floats(b, "values_floats", (const float[]){2.5f, -4.0f}, 2);
    sis_net_attr_float(b, "default_float", 0.5f);
}

static void labels_are_encoded(void **state) {
    (void)state;
    const float row[] = {9, 5, 7};
    const double wanted[] = {2.5, -4, 0.5};
    sis_net_builder *b = sis_net_builder_new("colours");
    name_colours(b);
    number_colours(b, "names");
    check(b, "numbers", row, 3, wanted, 3);
}

static void texts_are_split_at_separators(void **state) {
    (void)state;
    const int64_t row[] = {2, 9, 5};
    const float wanted[] = {-4, 2.5f, 2.5f, 0.5f, -4, 0.5f};
    sis_net_tensor x = {.name = "x", .type = SIS_NET_INTS, .shape = *SHAPE(1, 3), .data = row};
    sis_net *net;
    plain_pass pass;
    sis_net_builder *b = sis_net_builder_new("colours");
    name_colours(b);
    sis_net_add_node(b, "ms.Tokenizer", "names", "tokens");
    sis_net_attr_texts(b, "separators", (const char *const[]){" "}, 1);
    sis_net_attr_text(b, "pad_value", "#");
    sis_net_attr_int(b, "mincharnum", 1);
    sis_net_attr_int(b, "mark", 0);
    number_colours(b, "tokens");
    sis_net_add_output(b, "numbers");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    if (plain_run(net, &x, 1, &pass) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    const sis__tensor *y = plain_output(&pass, "numbers");
    assert_true(y && y->rank == 3 && y->dims[2] == 2);
    assert_memory_equal(y->data, wanted, sizeof wanted);
    plain_release(&pass);
    sis_net_free(net);
}

/* x times its sigmoid: by a plan that keeps all tensors, or by one that fuses them. */
static size_t run_silu(const sis_net *net, int keep, const float *x, float *y) {
    sis__feed feed = {.value = net->input, .rank = 2, .dims = {2, 11}};
    sis__plan_spec spec = {.feeds = &feed,
                           .n_feeds = 1,
                           .outputs = &net->output,
                           .n_outputs = 1,
                           .batch = 2,
                           .keep_all = keep};
    sis__plan *plan;
    sis__run *run;
    assert_int_equal(sis__plan_new(net, &spec, &plan), SIS_OK);
    assert_int_equal(sis__run_new(plan, &run), SIS_OK);
    memcpy(run->data[net->input], x, 22 * sizeof *x);
    assert_int_equal(sis__run_forward(run), SIS_OK);
    memcpy(y, run->data[net->output], 22 * sizeof *y);
    size_t steps = plan->n_steps;
    sis__run_free(run);
    sis__plan_free(plan);
    return steps;
}

static void a_value_times_its_sigmoid_is_one_step(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        sis_net_builder *b = sis_net_builder_new("silu");
        sis_net *net;
        float x[22], y[2][22];
        sis_net_add_input(b, "x", 0, SHAPE(0, 11));
        sis_net_add_node(b, "Sigmoid", "x", "s");
        sis_net_add_node(b, "Mul", k == 0 ? "x s" : "s x", "m");
        sis_net_add_node(b, "Add", k == 2 ? "m s" : "m m", "y"); /* 2: another reader */
        sis_net_add_output(b, "y");
        assert_int_equal(sis_net_build(b, &net), SIS_OK);
        for (size_t i = 0; i < 22; i++)
            x[i] = 20 * value(i, 3);
        assert_int_equal(run_silu(net, 1, x, y[0]), 3);
        assert_int_equal(run_silu(net, 0, x, y[1]), k == 2 ? 3 : 2);
        assert_memory_equal(y[0], y[1], sizeof y[0]);
        sis_net_free(net);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_times_its_sigmoid_is_one_step),
        cmocka_unit_test(attention_respects_masks),
        cmocka_unit_test(attention_heads_are_separate),
        cmocka_unit_test(rotary_embeddings_rotate_by_position),
        cmocka_unit_test(embeddings_are_added_and_normalised),
        cmocka_unit_test(old_broadcasting_aligns_at_its_axis),
        cmocka_unit_test(einsum_is_a_product),
        cmocka_unit_test(unsupported_einsum_is_refused),
        cmocka_unit_test(labels_are_encoded),
        cmocka_unit_test(texts_are_split_at_separators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
