/* SPDX-License-Identifier: MIT
 *
 * See support_net.h. The families are small versions of the paper's five models, and networks for
 * other operators.
 */
#include "support_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/model.h>
#include <sis/net.h>

#include "net/onnx/proto.h"
#include "support.h"

float *random_floats(sis__rng *r, size_t n, double size) {
    float *v = (float *)malloc((n ? n : 1) * sizeof *v);
    for (size_t i = 0; v && i < n; i++)
        v[i] = (float)(size * sis__rng_normal(r));
    return v;
}

void add_random(sis_net_builder *b, const char *name, const sis_net_shape *shape, sis__rng *r,
                double size) {
    static float v[1 << 15]; /* static, because tests of failing allocations call this */
    size_t n = 1;
    for (size_t d = 0; d < shape->rank; d++)
        n *= shape->dims[d];
    assert_true(n <= sizeof v / sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(size * sis__rng_normal(r));
    sis_net_add_param(b, name, shape, v);
}

static sis_net_builder *start(unsigned seed, sis__rng *r) {
    sis__rng_init(r, seed);
    return sis_net_builder_new("test");
}

static int build_mlp(unsigned seed, sis_net **out) {
    sis__rng r;
    sis_net_builder *b = start(seed, &r);
    size_t in = 5 + seed % 40, hidden = 3 + seed % 50;
    sis_net_add_input(b, "x", 0, SHAPE(0, in));
    add_random(b, "w1", SHAPE(in, hidden), &r, 0.3);
    add_random(b, "b1", SHAPE(hidden), &r, 0.1);
    add_random(b, "w2", SHAPE(7, hidden), &r, 0.3);
    add_random(b, "b2", SHAPE(7), &r, 0.1);
    sis_net_add_node(b, "MatMul", "x w1", "a");
    sis_net_add_node(b, "Add", "a b1", "c");
    sis_net_add_node(b, "Relu", "c", "d");
    sis_net_add_node(b, "Gemm", "d w2 b2", "z");
    sis_net_attr_int(b, "transB", 1);
    sis_net_add_node(b, "Softmax", "z", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

/* Dense layers as PyTorch and Keras write them. */
static int build_dense(unsigned seed, sis_net **out) {
    sis__rng r;
    sis_net_builder *b = start(seed, &r);
    size_t in = 7 + seed % 20;
    sis_net_add_input(b, "x", 0, SHAPE(0, in));
    add_random(b, "w1", SHAPE(40, in), &r, 0.3);
    add_random(b, "b1", SHAPE(40), &r, 0.1);
    add_random(b, "w2", SHAPE(40, 33), &r, 0.3);
    add_random(b, "b2", SHAPE(33), &r, 0.1);
    add_random(b, "w3", SHAPE(33, 1), &r, 0.3);
    sis_net_add_node(b, "Gemm", "x w1 b1", "a");
    sis_net_attr_int(b, "transB", 1);
    sis_net_add_node(b, "Relu", "a", "c");
    sis_net_add_node(b, "Gemm", "c w2 b2", "d");
    sis_net_add_node(b, "Relu", "d", "e");
    sis_net_add_node(b, "Identity", "e", "f");
    sis_net_add_node(b, "Gemm", "f w3", "z");
    sis_net_add_node(b, "Sigmoid", "z", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

static int build_cnn(unsigned seed, sis_net **out) {
    sis__rng r;
    sis_net_builder *b = start(seed, &r);
    size_t side = 12 + seed % 5, half = (side - 4) / 2;
    sis_net_add_input(b, "x", 0, SHAPE(0, 1, side, side));
    add_random(b, "w1", SHAPE(6, 1, 3, 3), &r, 0.4);
    add_random(b, "b1", SHAPE(6), &r, 0.1);
    add_random(b, "w2", SHAPE(9, 6, 3, 3), &r, 0.2);
    add_random(b, "b2", SHAPE(9), &r, 0.1);
    add_random(b, "w3", SHAPE(9 * half * half, 4), &r, 0.1);
    add_random(b, "b3", SHAPE(4), &r, 0.1);
    sis_net_add_node(b, "Conv", "x w1 b1", "c1");
    sis_net_add_node(b, "Relu", "c1", "r1");
    sis_net_add_node(b, "Conv", "r1 w2 b2", "c2");
    sis_net_add_node(b, "Relu", "c2", "r2");
    sis_net_add_node(b, "MaxPool", "r2", "p");
    sis_net_attr_ints(b, "kernel_shape", (int64_t[]){2, 2}, 2);
    sis_net_attr_ints(b, "strides", (int64_t[]){2, 2}, 2);
    sis_net_add_node(b, "Flatten", "p", "f");
    sis_net_add_node(b, "Gemm", "f w3 b3", "z");
    sis_net_add_node(b, "LogSoftmax", "z", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

/* Strides, padding, dilation, groups, normalization, average pooling. */
static int build_deep(unsigned seed, sis_net **out) {
    sis__rng r;
    sis_net_builder *b = start(seed, &r);
    sis_net_add_input(b, "x", 0, SHAPE(0, 4, 9, 11));
    add_random(b, "w1", SHAPE(8, 2, 3, 3), &r, 0.3);
    add_random(b, "w2", SHAPE(8, 1, 3, 3), &r, 0.3);
    add_random(b, "s", SHAPE(8), &r, 0.5);
    add_random(b, "m", SHAPE(8), &r, 0.1);
    float var[8] = {1, 2, 0.5f, 1, 3, 1, 0.7f, 1.5f};
    sis_net_add_param(b, "v", SHAPE(8), var);
    sis_net_add_node(b, "Conv", "x w1", "c1");
    sis_net_attr_int(b, "group", 2);
    sis_net_attr_ints(b, "pads", (int64_t[]){1, 2, 1, 0}, 4);
    sis_net_attr_ints(b, "strides", (int64_t[]){2, 1}, 2);
    sis_net_add_node(b, "BatchNormalization", "c1 s m m v", "n1");
    sis_net_add_node(b, "LeakyRelu", "n1", "l1");
    sis_net_attr_float(b, "alpha", 0.2f);
    sis_net_add_node(b, "Conv", "l1 w2", "c2");
    sis_net_attr_int(b, "group", 8);
    sis_net_attr_text(b, "auto_pad", "SAME_UPPER");
    sis_net_add_node(b, "Add", "c2 l1", "sum");
    sis_net_add_node(b, "AveragePool", "sum", "p");
    sis_net_attr_ints(b, "kernel_shape", (int64_t[]){2, 3}, 2);
    sis_net_attr_int(b, "ceil_mode", 1);
    sis_net_attr_ints(b, "strides", (int64_t[]){2, 2}, 2);
    sis_net_add_node(b, "GlobalAveragePool", "p", "g");
    sis_net_add_node(b, "Flatten", "g", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

static int build_dna(unsigned seed, sis_net **out) {
    sis__rng r;
    sis_net_builder *b = start(seed, &r);
    sis_net_add_input(b, "x", 0, SHAPE(0, 4, 31));
    add_random(b, "w1", SHAPE(12, 4, 8), &r, 0.3);
    add_random(b, "b1", SHAPE(12), &r, 0.1);
    add_random(b, "w2", SHAPE(12, 5), &r, 0.3);
    add_random(b, "b2", SHAPE(5), &r, 0.1);
    add_random(b, "w3", SHAPE(5, 1), &r, 0.5);
    add_random(b, "b3", SHAPE(1), &r, 0.1);
    sis_net_add_node(b, "Conv", "x w1 b1", "c");
    sis_net_add_node(b, "Relu", "c", "r");
    sis_net_add_node(b, "GlobalMaxPool", "r", "g");
    sis_net_add_node(b, "Flatten", "g", "f");
    sis_net_add_node(b, "Gemm", "f w2 b2", "d");
    sis_net_add_node(b, "Tanh", "d", "t");
    sis_net_add_node(b, "Gemm", "t w3 b3", "z");
    sis_net_add_node(b, "Sigmoid", "z", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

static int build_text_cnn(unsigned seed, sis_net **out) {
    sis__rng r;
    sis_net_builder *b = start(seed, &r);
    sis_net_add_input(b, "x", 1, SHAPE(0, 20));
    add_random(b, "e", SHAPE(50, 6), &r, 0.5);
    add_random(b, "w1", SHAPE(10, 6, 3), &r, 0.3);
    add_random(b, "b1", SHAPE(10), &r, 0.1);
    add_random(b, "w2", SHAPE(10, 1), &r, 0.5);
    sis_net_add_node(b, "Gather", "e x", "v");
    sis_net_add_node(b, "Transpose", "v", "t");
    sis_net_attr_ints(b, "perm", (int64_t[]){0, 2, 1}, 3);
    sis_net_add_node(b, "Conv", "t w1 b1", "c");
    sis_net_add_node(b, "Relu", "c", "r");
    sis_net_add_node(b, "ReduceMax", "r", "g");
    sis_net_attr_ints(b, "axes", (int64_t[]){2}, 1);
    sis_net_attr_int(b, "keepdims", 0);
    sis_net_add_node(b, "MatMul", "g w2", "z");
    sis_net_add_node(b, "Sigmoid", "z", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

/* Two layers over embedded tokens, the last state into a dense layer. */
static int build_recurrent(unsigned seed, const char *op, size_t gates, int both, sis_net **out) {
    sis__rng r;
    sis_net_builder *b = start(seed, &r);
    size_t hidden = 7 + seed % 5, d = both ? 2 : 1;
    sis_net_add_input(b, "x", 1, SHAPE(0, 13));
    add_random(b, "e", SHAPE(40, 5), &r, 0.5);
    add_random(b, "w1", SHAPE(d, gates * hidden, 5), &r, 0.3);
    add_random(b, "r1", SHAPE(d, gates * hidden, hidden), &r, 0.3);
    add_random(b, "b1", SHAPE(d, 2 * gates * hidden), &r, 0.1);
    add_random(b, "w2", SHAPE(1, gates * hidden, d * hidden), &r, 0.3);
    add_random(b, "r2", SHAPE(1, gates * hidden, hidden), &r, 0.3);
    add_random(b, "w3", SHAPE(hidden, 1), &r, 0.5);
    sis_net_add_ints(b, "merge", SHAPE(3), (int64_t[]){13, -1, (int64_t)(d * hidden)});
    sis_net_add_ints(b, "zero", SHAPE(1), (int64_t[]){0});
    sis_net_add_node(b, "Gather", "e x", "v");
    sis_net_add_node(b, "Transpose", "v", "t");
    sis_net_attr_ints(b, "perm", (int64_t[]){1, 0, 2}, 3);
    sis_net_add_node(b, op, "t w1 r1 b1", "h1");
    sis_net_attr_int(b, "hidden_size", (int64_t)hidden);
    sis_net_attr_text(b, "direction", both ? "bidirectional" : "forward");
    if (gates == 3)
        sis_net_attr_int(b, "linear_before_reset", 1);
    sis_net_add_node(b, "Transpose", "h1", "h1t");
    sis_net_attr_ints(b, "perm", (int64_t[]){0, 2, 1, 3}, 4);
    sis_net_add_node(b, "Reshape", "h1t merge", "h1m");
    sis_net_add_node(b, op, "h1m w2 r2", "- h2");
    sis_net_attr_int(b, "hidden_size", (int64_t)hidden);
    sis_net_add_node(b, "Squeeze", "h2 zero", "last");
    sis_net_add_node(b, "MatMul", "last w3", "z");
    sis_net_add_node(b, "Sigmoid", "z", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

static int build_lstm(unsigned seed, sis_net **out) {
    return build_recurrent(seed, "LSTM", 4, 0, out);
}

static int build_bilstm(unsigned seed, sis_net **out) {
    return build_recurrent(seed, "LSTM", 4, 1, out);
}

static int build_gru(unsigned seed, sis_net **out) {
    return build_recurrent(seed, "GRU", 3, 0, out);
}

/* Scikit-learn: scaler and logistic regression with labels and a map of names. */
static int build_logistic(unsigned seed, sis_net **out) {
    sis__rng r;
    sis_net_builder *b = start(seed, &r);
    float w[18], offset[6], scale[6];
    for (size_t i = 0; i < 18; i++)
        w[i] = (float)sis__rng_normal(&r);
    for (size_t i = 0; i < 6; i++) {
        offset[i] = (float)sis__rng_normal(&r);
        scale[i] = (float)(0.5 + sis__rng_uniform(&r));
    }
    const char *const names[] = {"setosa", "versicolor", "virginica"};
    sis_net_add_input(b, "x", 0, SHAPE(0, 6));
    sis_net_add_node(b, "ml.Scaler", "x", "s");
    sis_net_attr_floats(b, "offset", offset, 6);
    sis_net_attr_floats(b, "scale", scale, 6);
    sis_net_add_node(b, "ml.LinearClassifier", "s", "label p");
    sis_net_attr_floats(b, "coefficients", w, 18);
    sis_net_attr_floats(b, "intercepts", (float[]){0.1f, -0.2f, 0.3f}, 3);
    sis_net_attr_texts(b, "classlabels_strings", names, 3);
    sis_net_attr_text(b, "post_transform", "LOGISTIC");
    sis_net_add_node(b, "ml.Normalizer", "p", "q");
    sis_net_attr_text(b, "norm", "L1");
    sis_net_add_node(b, "ml.ZipMap", "q", "y");
    sis_net_attr_texts(b, "classlabels_strings", names, 3);
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

/* Two stumps and a deeper tree over three features; two classes. */
static int build_trees(unsigned seed, sis_net **out) {
    sis__rng r;
    sis_net_builder *b = start(seed, &r);
    const char *const modes[] = {"BRANCH_LEQ", "LEAF",      "LEAF", "BRANCH_LT",
                                 "LEAF",       "BRANCH_GT", "LEAF", "LEAF"};
    float values[8] = {0}, weights[5];
    for (size_t i = 0; i < 8; i++)
        values[i] = (float)(0.3 * sis__rng_normal(&r));
    for (size_t i = 0; i < 5; i++)
        weights[i] = (float)sis__rng_uniform(&r);
    sis_net_add_input(b, "x", 0, SHAPE(0, 3));
    sis_net_add_node(b, "ml.TreeEnsembleClassifier", "x", "label y");
    sis_net_attr_ints(b, "nodes_treeids", (int64_t[]){0, 0, 0, 1, 1, 1, 1, 1}, 8);
    sis_net_attr_ints(b, "nodes_nodeids", (int64_t[]){0, 1, 2, 0, 1, 2, 3, 4}, 8);
    sis_net_attr_ints(b, "nodes_featureids", (int64_t[]){0, 0, 0, 1, 0, 2, 0, 0}, 8);
    sis_net_attr_ints(b, "nodes_truenodeids", (int64_t[]){1, 0, 0, 1, 0, 3, 0, 0}, 8);
    sis_net_attr_ints(b, "nodes_falsenodeids", (int64_t[]){2, 0, 0, 2, 0, 4, 0, 0}, 8);
    sis_net_attr_floats(b, "nodes_values", values, 8);
    sis_net_attr_texts(b, "nodes_modes", modes, 8);
    sis_net_attr_ints(b, "class_treeids", (int64_t[]){0, 0, 1, 1, 1}, 5);
    sis_net_attr_ints(b, "class_nodeids", (int64_t[]){1, 2, 1, 3, 4}, 5);
    sis_net_attr_ints(b, "class_ids", (int64_t[]){0, 1, 0, 1, 0}, 5);
    sis_net_attr_floats(b, "class_weights", weights, 5);
    sis_net_attr_ints(b, "classlabels_int64s", (int64_t[]){7, 9}, 2);
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

/* A network exported for one row: Reshape to (1, ...), a batch axis of 1. */
static int build_fixed(unsigned seed, sis_net **out) {
    sis__rng r;
    sis_net_builder *b = start(seed, &r);
    sis_net_add_input(b, "x", 0, SHAPE(1, 2, 6, 6));
    add_random(b, "w1", SHAPE(4, 2, 3, 3), &r, 0.3);
    add_random(b, "w2", SHAPE(64, 3), &r, 0.2);
    sis_net_add_ints(b, "row", SHAPE(2), (int64_t[]){1, 64});
    sis_net_add_node(b, "Conv", "x w1", "c");
    sis_net_add_node(b, "Elu", "c", "l");
    sis_net_add_node(b, "Reshape", "l row", "f");
    sis_net_add_node(b, "MatMul", "f w2", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

/* A network whose rows cannot be batched: a mean over everything, rows included. */
static int build_mixing(unsigned seed, sis_net **out) {
    sis__rng r;
    sis_net_builder *b = start(seed, &r);
    sis_net_add_input(b, "x", 0, SHAPE(0, 6));
    add_random(b, "w", SHAPE(6, 3), &r, 0.3);
    sis_net_add_node(b, "ReduceMean", "x", "m");
    sis_net_add_node(b, "Sub", "x m", "d");
    sis_net_add_node(b, "MatMul", "d w", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

const family families[] = {
    {"mlp", build_mlp, 1},       {"cnn", build_cnn, 1},       {"deep", build_deep, 1},
    {"dna", build_dna, 1},       {"text", build_text_cnn, 1}, {"lstm", build_lstm, 1},
    {"bilstm", build_bilstm, 1}, {"gru", build_gru, 1},       {"logistic", build_logistic, 0},
    {"trees", build_trees, 0},   {"fixed", build_fixed, 1},   {"mixing", build_mixing, 1},
    {"dense", build_dense, 1},
};
const size_t n_families = sizeof families / sizeof *families;

float *random_rows(const sis_net *net, sis__rng *r, size_t n, size_t *n_values) {
    const float *matrix;
    size_t words = 0, dim;
    *n_values = sis_net_values(net);
    float *rows = random_floats(r, n * *n_values, 1.0);
    if (sis_net_is_token(net))
        sis_net_embedding(net, &matrix, &words, &dim);
    for (size_t i = 0; rows && words && i < n * *n_values; i++)
        rows[i] = (float)sis__rng_below(r, words);
    return rows;
}

sis_net *build_family(const char *name) {
    sis_net *net = NULL;
    size_t i = 0;
    while (i < n_families && strcmp(families[i].name, name) != 0)
        i++;
    if (i == n_families || families[i].build(1, &net) != SIS_OK)
        fail_msg("%s: %s", name, i == n_families ? "no such family" : sis_error_detail());
    return net;
}

void open_network(sis_net *net, sis_model *model) {
    char path[512];
    snprintf(path, sizeof path, "%s/tests/network_%ld.onnx", SIS_BINARY_DIR, (long)getpid());
    assert_int_equal(sis_net_write(net, path), SIS_OK);
    sis_net_free(net);
    if (sis_model_open(path, NULL, model) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    remove(path);
}

struct Sis__Onnx__Model *recorded_model(const char *name) {
    FILE *f = fopen(SIS_SOURCE_DIR "/tests/unit/ort_cases.txt", "r");
    char *line = NULL, *rest = NULL;
    size_t size = 0, n = 0;
    ProtobufCMessage *m = NULL;
    assert_non_null(f);
    while (!m && getline(&line, &size, f) > 0) {
        if (strcmp(strtok_r(line, " ", &rest), name) != 0)
            continue;
        char *hex = strtok_r(NULL, " ", &rest);
        unsigned char *bytes = (unsigned char *)hex; /* decoded in place: half as many bytes */
        for (n = 0; hex[2 * n]; n++) {
            unsigned v;
            assert_int_equal(sscanf(hex + 2 * n, "%2x", &v), 1);
            bytes[n] = (unsigned char)v;
        }
        assert_int_equal(sis__proto_parse(&sis__onnx__model__descriptor, bytes, n, &m), 0);
    }
    free(line);
    fclose(f);
    assert_non_null(m);
    return (Sis__Onnx__Model *)m;
}
