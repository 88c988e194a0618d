/* SPDX-License-Identifier: MIT
 *
 * Models of tables (ai.onnx.ml) against numbers worked out by hand, and tensors in every storage
 * format.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/onnx/proto.h"
#include "net/plan/context.h"
#include "support_net.h"

/* ---- Trees --------------------------------------------------------------------------------- */

/* Tree 0: x0 MODE 0.5 ? leaf 1 : leaf 2. Tree 1: x1 <= -1 ? leaf 1 : (x2 <= 2 ? leaf 3 : leaf 4).
 */
typedef struct {
    const char *op, *mode, *post, *aggregate;
    const int64_t *ids;   /* class or target of the five leaves */
    const float *weights; /* of the five leaves */
    const float *base;    /* NULL: none */
    size_t n_base;
    int64_t missing; /* nodes_missing_value_tracks_true of the first node */
    int64_t outputs;
} ensemble;

static sis_net *build_ensemble(const ensemble *e) {
    const char *const modes[] = {e->mode, "LEAF",       "LEAF", "BRANCH_LEQ",
                                 "LEAF",  "BRANCH_LEQ", "LEAF", "LEAF"};
    int classes = strstr(e->op, "Classifier") != NULL;
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new("trees");
    sis_net_add_input(b, "x", 0, SHAPE(0, 3));
    sis_net_add_node(b, e->op, "x", classes ? "label y" : "y");
    sis_net_attr_ints(b, "nodes_treeids", (int64_t[]){5, 5, 5, 8, 8, 8, 8, 8}, 8);
    sis_net_attr_ints(b, "nodes_nodeids", (int64_t[]){0, 1, 2, 0, 1, 2, 3, 4}, 8);
    sis_net_attr_ints(b, "nodes_featureids", (int64_t[]){0, 0, 0, 1, 0, 2, 0, 0}, 8);
    sis_net_attr_ints(b, "nodes_truenodeids", (int64_t[]){1, 0, 0, 1, 0, 3, 0, 0}, 8);
    sis_net_attr_ints(b, "nodes_falsenodeids", (int64_t[]){2, 0, 0, 2, 0, 4, 0, 0}, 8);
    sis_net_attr_ints(b, "nodes_missing_value_tracks_true",
                      (int64_t[]){e->missing, 0, 0, 0, 0, 0, 0, 0}, 8);
    sis_net_attr_floats(b, "nodes_values", (float[]){0.5f, 0, 0, -1, 0, 2, 0, 0}, 8);
    sis_net_attr_texts(b, "nodes_modes", modes, 8);
    sis_net_attr_ints(b, classes ? "class_treeids" : "target_treeids", (int64_t[]){5, 5, 8, 8, 8},
                      5);
    sis_net_attr_ints(b, classes ? "class_nodeids" : "target_nodeids", (int64_t[]){1, 2, 1, 3, 4},
                      5);
    sis_net_attr_ints(b, classes ? "class_ids" : "target_ids", e->ids, 5);
    sis_net_attr_floats(b, classes ? "class_weights" : "target_weights", e->weights, 5);
    if (e->base)
        sis_net_attr_floats(b, "base_values", e->base, e->n_base);
    if (e->post)
        sis_net_attr_text(b, "post_transform", e->post);
    if (e->aggregate)
        sis_net_attr_text(b, "aggregate_function", e->aggregate);
    if (classes)
        sis_net_attr_ints(b, "classlabels_int64s", (int64_t[]){0, 1, 2}, (size_t)e->outputs);
    else
        sis_net_attr_int(b, "n_targets", e->outputs);
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != 0)
        fail_msg("%s", sis_error_detail());
    return net;
}

static void expect_scores(const ensemble *e, const float *x, const double *want) {
    sis_net *net = build_ensemble(e);
    float got[3];
    sis_net_batch b = {x, 1, 3, 0, 1, NULL};
    assert_int_equal(sis_net_outputs(net), (size_t)e->outputs);
    assert_int_equal(sis_net_forward(net, &b, got), 0);
    for (int64_t k = 0; k < e->outputs; k++)
        if (!(fabs(got[k] - want[k]) < 1e-6))
            fail_msg("%s %s: output %d is %g, not %g", e->op, e->mode, (int)k, (double)got[k],
                     want[k]);
    sis_net_free(net);
}

static const float leaves[5] = {0.25f, 0.5f, 1, 2, 4};
static const float signed_leaves[5] = {0.25f, -0.5f, 1, -2, 4};

static void branches_go_where_they_should(void **state) {
    (void)state;
    static const struct {
        const char *mode;
        float x;
        int64_t missing;
        int yes;
    } cases[] = {{"BRANCH_LEQ", 0.5f, 0, 1}, {"BRANCH_LT", 0.5f, 0, 0}, {"BRANCH_GTE", 0.5f, 0, 1},
                 {"BRANCH_GT", 0.5f, 0, 0},  {"BRANCH_EQ", 0.5f, 0, 1}, {"BRANCH_NEQ", 0.5f, 0, 0},
                 {"BRANCH_LEQ", 0.6f, 0, 0}, {"BRANCH_LT", 0.4f, 0, 1}, {"BRANCH_GTE", 0.4f, 0, 0},
                 {"BRANCH_GT", 0.6f, 0, 1},  {"BRANCH_EQ", 0.6f, 0, 0}, {"BRANCH_NEQ", 0.6f, 0, 1},
                 {"BRANCH_LEQ", NAN, 0, 0},  {"BRANCH_LEQ", NAN, 1, 1}, {"BRANCH_GT", NAN, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ensemble e = {.op = "ml.TreeEnsembleRegressor",
                      .mode = cases[i].mode,
                      .ids = (int64_t[]){0, 0, 0, 0, 0},
                      .weights = leaves,
                      .missing = cases[i].missing,
                      .outputs = 1};
        float x[3] = {cases[i].x, -1, 0};
        double want[1] = {(cases[i].yes ? 0.25 : 0.5) + 1};
        expect_scores(&e, x, want);
    }
}

static void regressors_aggregate(void **state) {
    (void)state;
    const float x[3] = {0, 0, 3}; /* leaves 0.25 and 4, or their targets 0 and 1 */
    static const struct {
        const char *how;
        double same, first, second;
    } cases[] = {{"SUM", 4.25, 0.25, 4},
                 {"AVERAGE", 2.125, 0.125, 2},
                 {"MIN", 0.25, 0.25, 4},
                 {"MAX", 4, 0.25, 4}};
    for (size_t i = 0; i < 4; i++) {
        ensemble e = {.op = "ml.TreeEnsembleRegressor",
                      .mode = "BRANCH_LEQ",
                      .aggregate = cases[i].how,
                      .ids = (int64_t[]){0, 0, 0, 0, 0},
                      .weights = leaves,
                      .outputs = 1};
        expect_scores(&e, x, &cases[i].same);
        e.ids = (int64_t[]){0, 0, 1, 1, 1};
        e.outputs = 2;
        e.base = (float[]){10, 20};
        e.n_base = 2;
        expect_scores(&e, x, (double[]){cases[i].first + 10, cases[i].second + 20});
    }
}

static double logistic(double v) {
    return 1 / (1 + exp(-v));
}

static void classifiers_transform_scores(void **state) {
    (void)state;
    const float x[3] = {0, 0, 3};
    ensemble e = {.op = "ml.TreeEnsembleClassifier",
                  .mode = "BRANCH_LEQ",
                  .ids = (int64_t[]){0, 1, 2, 1, 2},
                  .weights = leaves,
                  .outputs = 3};
    expect_scores(&e, x, (double[]){0.25, 0, 4});
    e.post = "LOGISTIC";
    expect_scores(&e, x, (double[]){logistic(0.25), 0.5, logistic(4)});
    e.post = "SOFTMAX";
    double sum = exp(0.25) + 1 + exp(4);
    expect_scores(&e, x, (double[]){exp(0.25) / sum, 1 / sum, exp(4) / sum});
    /* two classes, weights of the first only: one score for both */
    e = (ensemble){.op = "ml.TreeEnsembleClassifier",
                   .mode = "BRANCH_LEQ",
                   .ids = (int64_t[]){0, 0, 0, 0, 0},
                   .weights = (float[]){0.25f, 0.5f, 0.1f, 0.2f, 0.3f},
                   .outputs = 2};
    expect_scores(&e, x, (double[]){1 - 0.55, 0.55});
    e.weights = signed_leaves;
    expect_scores(&e, x, (double[]){-4.25, 4.25});
    e.post = "LOGISTIC";
    e.base = (float[]){0.5f};
    e.n_base = 1;
    expect_scores(&e, x, (double[]){logistic(-4.75), logistic(4.75)});
    e.post = NULL;
    e.base = (float[]){0.5f, 0.1f};
    e.n_base = 2;
    expect_scores(&e, x, (double[]){4.75, 0}); /* as ONNX Runtime: no weights, no base value */
    e.ids = (int64_t[]){1, 1, 1, 1, 1};
    e.base = NULL;
    expect_scores(&e, x, (double[]){0, 4.25});
}

static sis_net_builder *begin_trees(void) {
    sis_net_builder *b = sis_net_builder_new("bad");
    sis_net_add_input(b, "x", 0, SHAPE(0, 3));
    sis_net_add_node(b, "ml.TreeEnsembleRegressor", "x", "y");
    return b;
}

/* A node that tests the feature, with the children `yes` and `no` among nodes 0 to 2. */
static sis_net_builder *stump(int64_t feature, int64_t yes, int64_t no, const char *mode) {
    const char *const modes[] = {mode, "LEAF", "LEAF"};
    sis_net_builder *b = begin_trees();
    sis_net_attr_ints(b, "nodes_treeids", (int64_t[]){0, 0, 0}, 3);
    sis_net_attr_ints(b, "nodes_nodeids", (int64_t[]){0, 1, 2}, 3);
    sis_net_attr_ints(b, "nodes_featureids", (int64_t[]){feature, 0, 0}, 3);
    sis_net_attr_ints(b, "nodes_truenodeids", (int64_t[]){yes, 0, 0}, 3);
    sis_net_attr_ints(b, "nodes_falsenodeids", (int64_t[]){no, 0, 0}, 3);
    sis_net_attr_floats(b, "nodes_values", (float[]){0, 0, 0}, 3);
    sis_net_attr_texts(b, "nodes_modes", modes, 3);
    return b;
}

static void refused(sis_net_builder *b, const char *words) {
    sis_net *net;
    sis_net_add_output(b, "y");
    int error = sis_net_build(b, &net);
    assert_true(error == SIS_E_FORMAT || error == SIS_E_UNSUPPORTED);
    assert_message_has(words);
}

static void malformed_trees_are_refused(void **state) {
    (void)state;
    refused(begin_trees(), "nodes_modes");
    refused(stump(3, 1, 2, "BRANCH_LEQ"), "feature 3 of an input of 3 columns");
    refused(stump(0, 1, 7, "BRANCH_LEQ"), "a child that does not exist");
    refused(stump(0, 0, 2, "BRANCH_LEQ"), "belong to no tree");
    refused(stump(0, 1, 1, "BRANCH_LEQ"), "two parents");
    refused(stump(0, 1, 2, "BRANCH_MEMBER"), "BRANCH_MEMBER");
    sis_net_builder *b = stump(0, 1, 2, "BRANCH_LEQ");
    sis_net_attr_ints(b, "target_treeids", (int64_t[]){0}, 1);
    sis_net_attr_ints(b, "target_nodeids", (int64_t[]){0}, 1);
    sis_net_attr_ints(b, "target_ids", (int64_t[]){0}, 1);
    sis_net_attr_floats(b, "target_weights", (float[]){1}, 1);
    refused(b, "weight 0 belongs to no leaf");
}

/* ---- Linear models, scaling ------------------------------------------------------------------ */

static void linear_models_match_their_formula(void **state) {
    (void)state;
    sis_net *net;
    const float x[2] = {2, -1}, w[4] = {1, 2, -0.5f, 1};
    float y[2];
    sis_net_builder *b = sis_net_builder_new("linear");
    sis_net_add_input(b, "x", 0, SHAPE(0, 2));
    sis_net_add_node(b, "ml.Scaler", "x", "s");
    sis_net_attr_floats(b, "offset", (float[]){1, 1}, 2);
    sis_net_attr_floats(b, "scale", (float[]){2}, 1);
    sis_net_add_node(b, "ml.LinearRegressor", "s", "y");
    sis_net_attr_floats(b, "coefficients", w, 4);
    sis_net_attr_floats(b, "intercepts", (float[]){0.5f, 0}, 2);
    sis_net_attr_int(b, "targets", 2);
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    sis_net_batch batch = {x, 1, 2, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(fabs(y[0] - (2 + 2 * -4 + 0.5)) < 1e-6 && fabs(y[1] - (-1 - 4)) < 1e-6);
    sis_net_free(net);
    b = sis_net_builder_new("logistic");
    sis_net_add_input(b, "x", 0, SHAPE(0, 2));
    sis_net_add_node(b, "ml.LinearClassifier", "x", "label y");
    sis_net_attr_floats(b, "coefficients", w, 2);
    sis_net_attr_floats(b, "intercepts", (float[]){0.5f}, 1);
    sis_net_attr_text(b, "post_transform", "LOGISTIC");
    sis_net_attr_ints(b, "classlabels_ints", (int64_t[]){0, 1}, 2);
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(fabs(y[1] - logistic(0.5)) < 1e-6 && fabs(y[0] - logistic(-0.5)) < 1e-6);
    sis_net_free(net);
}

static void normalizers_divide_by_their_norm(void **state) {
    (void)state;
    static const char *const names[] = {"MAX", "L1", "L2"};
    const double by[] = {4, 8, sqrt(26)};
    for (int i = 0; i < 3; i++) {
        sis_net *net;
        const float x[6] = {4, -3, 1, 0, 0, 0};
        float y[6];
        sis_net_builder *b = sis_net_builder_new("norm");
        sis_net_add_input(b, "x", 0, SHAPE(0, 3));
        sis_net_add_node(b, "ml.Normalizer", "x", "y");
        sis_net_attr_text(b, "norm", names[i]);
        sis_net_add_output(b, "y");
        assert_int_equal(sis_net_build(b, &net), 0);
        sis_net_batch batch = {x, 2, 3, 0, 1, NULL};
        assert_int_equal(sis_net_forward(net, &batch, y), 0);
        for (int k = 0; k < 3; k++)
            assert_true(fabs(y[k] - x[k] / by[i]) < 1e-6 && y[3 + k] == 0);
        sis_net_free(net);
    }
}

/* ---- Tensors ------------------------------------------------------------------------------- */

static Sis__Onnx__Tensor tensor(int type, int64_t *dims, size_t rank) {
    Sis__Onnx__Tensor t = SIS__ONNX__TENSOR__INIT;
    t.has_data_type = 1;
    t.data_type = type;
    t.dims = dims;
    t.n_dims = rank;
    return t;
}

static void expect_decoded(Sis__Onnx__Tensor *t, sis__dtype type, const double *want, size_t n) {
    sis__decoded d;
    assert_int_equal(sis__tensor_decode(t, NULL, &d), 0);
    assert_int_equal(d.dtype, type);
    assert_int_equal(d.count, n);
    for (size_t i = 0; i < n; i++) {
        double got = type == SIS__F32   ? (double)((const float *)d.data)[i]
                     : type == SIS__I64 ? (double)((const int64_t *)d.data)[i]
                                        : (double)((const uint8_t *)d.data)[i];
        if (got != want[i] && !(isnan(got) && isnan(want[i])))
            fail_msg("type %d value %zu: %g, not %g", t->data_type, i, got, want[i]);
    }
    free(d.owned);
}

static void set_raw(Sis__Onnx__Tensor *t, void *bytes, size_t n) {
    t->has_raw_data = 1;
    t->raw_data.data = (uint8_t *)bytes;
    t->raw_data.len = n;
}

static void tensors_are_read_in_every_form(void **state) {
    (void)state;
    enum { FLOAT = 1, I32 = 6, I64 = 7, BOOL = 9, HALF = 10, DOUBLE = 11, BRAIN = 16 };
    int64_t three[] = {3}, i64[] = {1, -2, 7};
    const double want[] = {1, -2, 0.5}, whole[] = {1, -2, 7}, flags[] = {1, 0, 1};
    float f[] = {1, -2, 0.5f};
    double d[] = {1, -2, 0.5};
    int32_t i32[] = {1, -2, 7}, halves[] = {0x3C00, 0xC000, 0x3800}, yes[] = {1, 0, 5};
    uint16_t half[] = {0x3C00, 0xC000, 0x3800}, brain[] = {0x3F80, 0xC000, 0x3F00};
    uint8_t bits[] = {1, 0, 9};
    const struct {
        int32_t type;
        void *raw;
        size_t bytes;
        sis__dtype dtype;
        const double *want;
    } packed[] = {
        {FLOAT, f, sizeof f, SIS__F32, want},        {DOUBLE, d, sizeof d, SIS__F32, want},
        {HALF, half, sizeof half, SIS__F32, want},   {BRAIN, brain, sizeof brain, SIS__F32, want},
        {I32, i32, sizeof i32, SIS__I64, whole},     {I64, i64, sizeof i64, SIS__I64, whole},
        {BOOL, bits, sizeof bits, SIS__BOOL, flags},
    };
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        Sis__Onnx__Tensor t = tensor(packed[i].type, three, 1);
        set_raw(&t, packed[i].raw, packed[i].bytes);
        expect_decoded(&t, packed[i].dtype, packed[i].want, 3);
    }
    const struct {
        int32_t type, *numbers;
        sis__dtype dtype;
        const double *want;
    } spread[] = {
        {HALF, halves, SIS__F32, want}, {I32, i32, SIS__I64, whole}, {BOOL, yes, SIS__BOOL, flags}};
    for (size_t i = 0; i < sizeof spread / sizeof *spread; i++) {
        Sis__Onnx__Tensor t = tensor(spread[i].type, three, 1);
        t.int32_data = spread[i].numbers;
        t.n_int32_data = 3;
        expect_decoded(&t, spread[i].dtype, spread[i].want, 3);
    }
    Sis__Onnx__Tensor floats = tensor(FLOAT, three, 1), doubles = tensor(DOUBLE, three, 1),
                      longs = tensor(I64, three, 1);
    floats.float_data = f;
    doubles.double_data = d;
    longs.int64_data = i64;
    floats.n_float_data = doubles.n_double_data = longs.n_int64_data = 3;
    expect_decoded(&floats, SIS__F32, want, 3);
    expect_decoded(&doubles, SIS__F32, want, 3);
    expect_decoded(&longs, SIS__I64, whole, 3);
}

static void half_precision_keeps_its_extremes(void **state) {
    (void)state;
    int64_t six[] = {6};
    uint16_t half[] = {0x7C00, 0xFC00, 0x7E00, 0x0001, 0x8000, 0x7BFF};
    const double want[] = {INFINITY, -INFINITY, NAN, 0x1p-24, 0, 65504};
    Sis__Onnx__Tensor t = tensor(10, six, 1);
    set_raw(&t, half, sizeof half);
    expect_decoded(&t, SIS__F32, want, 6);
}

static void tensors_whose_sizes_disagree_are_refused(void **state) {
    (void)state;
    sis__decoded d;
    float f[4] = {0};
    int64_t dims[9] = {4, 1, 1, 1, 1, 1, 1, 1, 1};
    for (size_t bytes = 0; bytes <= sizeof f; bytes++) {
        Sis__Onnx__Tensor t = tensor(1, dims, 1);
        set_raw(&t, f, bytes);
        assert_int_equal(sis__tensor_decode(&t, NULL, &d), bytes == 16 ? SIS_OK : SIS_E_FORMAT);
    }
    Sis__Onnx__Tensor t = tensor(1, dims, 9);
    set_raw(&t, f, sizeof f);
    assert_int_equal(sis__tensor_decode(&t, NULL, &d), SIS_E_UNSUPPORTED);
    dims[0] = 0; /* empty, which is valid */
    t = tensor(1, dims, 2);
    assert_int_equal(sis__tensor_decode(&t, NULL, &d), SIS_OK);
    assert_true(d.count == 0 && d.data != NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_go_where_they_should),
        cmocka_unit_test(regressors_aggregate),
        cmocka_unit_test(classifiers_transform_scores),
        cmocka_unit_test(malformed_trees_are_refused),
        cmocka_unit_test(linear_models_match_their_formula),
        cmocka_unit_test(normalizers_divide_by_their_norm),
        cmocka_unit_test(tensors_are_read_in_every_form),
        cmocka_unit_test(half_precision_keeps_its_extremes),
        cmocka_unit_test(tensors_whose_sizes_disagree_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
