/* SPDX-License-Identifier: MIT
 *
 * Gradients against central differences: every operator that has one in a small graph of its own
 * (the test fails when an operator of the table is missing here), and whole networks of every
 * family.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/cache.h"
#include "net/ops.h"
#include "support_net.h"

static unsigned char covered[SIS__OP_COUNT];

/* Whole networks have kinks (ReLU, maxima) between the two points of a difference, so there four
 * values in five must agree and the rest may only be so far off together; operators always agree.
 */
static int kinks;
static double difference, size;
static size_t checked, off;

/* ---- Comparing ----------------------------------------------------------------------------- */

/* Sum of weights * scores over the batch. */
static double value_of(const sis_net *net, const sis_net_batch *b, const float *weights, size_t k) {
    float *scores = (float *)malloc(b->n_rows * k * sizeof *scores);
    double sum = 0;
    assert_int_equal(sis_net_forward(net, b, scores), 0);
    for (size_t i = 0; i < b->n_rows * k; i++)
        sum += (double)weights[i] * scores[i];
    free(scores);
    return sum;
}

static double margin_value(const sis_net *net, const sis_net_batch *b, const float *weights,
                           size_t k) {
    double *margins = (double *)malloc(b->n_rows * k * sizeof *margins), sum = 0;
    assert_int_equal(sis_net_margins(net, b, margins), 0);
    for (size_t i = 0; i < b->n_rows * k; i++)
        sum += (double)weights[i] * margins[i];
    free(margins);
    return sum;
}

static void expect_close(const char *name, const char *what, size_t i, double got, double want) {
    int close = fabs(got - want) <= 4e-3 * (1 + fabs(want));
    if (!close && !kinks)
        fail_msg("%s: d/d %s[%zu] is %g, differences say %g", name, what, i, got, want);
    checked++;
    off += !close;
    difference += fabs(got - want);
    size += fabs(want);
}

enum { STEPS = 40 }; /* values of a tensor that are checked, spread over it */

static void check_rows(const char *name, const sis_net *net, sis_net_batch b, const float *weights,
                       size_t k, int of_margins) {
    size_t n = b.n_rows * b.n_values, stride = n / STEPS + 1;
    float *x = (float *)malloc(n * sizeof *x), *dx = (float *)malloc(n * sizeof *dx);
    double (*value)(const sis_net *, const sis_net_batch *, const float *, size_t) =
        of_margins ? margin_value : value_of;
    memcpy(x, b.rows, n * sizeof *x);
    sis_net_grad grad = {.weights = weights, .of_margins = of_margins, .d_rows = dx};
    if (sis_net_gradient(net, &b, &grad) != 0)
        fail_msg("%s: %s", name, sis_error_detail());
    b.rows = x;
    for (size_t i = 0; i < n; i += stride) {
        const float h = 2e-3f, at = x[i];
        x[i] = at + h;
        double up = value(net, &b, weights, k);
        x[i] = at - h;
        double down = value(net, &b, weights, k);
        x[i] = at;
        expect_close(name, "rows", i, dx[i], (up - down) / (2 * (double)h));
    }
    free(x);
    free(dx);
}

static void check_param(const char *name, sis_net *net, const sis_net_batch *b,
                        const float *weights, size_t k, size_t which, const float *d) {
    sis_net_param p;
    assert_int_equal(sis_net_param_get(net, which, &p), 0);
    float *v = (float *)malloc(p.count * sizeof *v);
    memcpy(v, p.values, p.count * sizeof *v);
    for (size_t i = 0; i < p.count; i += p.count / 8 + 1) {
        const float h = 2e-3f, at = v[i];
        v[i] = at + h;
        assert_int_equal(sis_net_param_set(net, which, v), 0);
        double up = value_of(net, b, weights, k);
        v[i] = at - h;
        assert_int_equal(sis_net_param_set(net, which, v), 0);
        double down = value_of(net, b, weights, k);
        v[i] = at;
        assert_int_equal(sis_net_param_set(net, which, v), 0);
        expect_close(name, p.name, i, d[i], (up - down) / (2 * (double)h));
    }
    free(v);
}

static void check_params(const char *name, sis_net *net, const sis_net_batch *b,
                         const float *weights, size_t k) {
    size_t n = sis_net_params(net);
    float **d = (float **)calloc(n + 1, sizeof *d);
    for (size_t i = 0; i < n; i++) {
        sis_net_param p;
        assert_int_equal(sis_net_param_get(net, i, &p), 0);
        d[i] = (float *)calloc(p.count ? p.count : 1, sizeof **d);
    }
    sis_net_grad grad = {.weights = weights, .d_params = d};
    if (n && sis_net_gradient(net, b, &grad) != 0)
        fail_msg("%s: %s", name, sis_error_detail());
    for (size_t i = 0; i < n; i++) {
        check_param(name, net, b, weights, k, i, d[i]);
        free(d[i]);
    }
    free(d);
}

static void check_network(const char *name, sis_net *net, size_t n_rows, unsigned seed) {
    sis__rng r;
    sis__rng_init(&r, seed);
    size_t p, k = sis_net_outputs(net);
    float *x = random_rows(net, &r, n_rows, &p), *weights = random_floats(&r, n_rows * k, 1.0);
    sis_net_batch b = {x, n_rows, p, 0, 1};
    check_params(name, net, &b, weights, k);
    float *embedded = NULL;
    if (sis_net_is_token(net)) {
        const float *matrix;
        size_t words, dim;
        sis_net_embedding(net, &matrix, &words, &dim);
        embedded = (float *)malloc(n_rows * p * dim * sizeof *embedded);
        for (size_t i = 0; i < n_rows * p; i++)
            memcpy(embedded + i * dim, matrix + (size_t)x[i] * dim, dim * sizeof *embedded);
        b = (sis_net_batch){embedded, n_rows, p * dim, 1, 1};
    }
    check_rows(name, net, b, weights, k, 0);
    if (sis_net_has_link(net))
        check_rows(name, net, b, weights, k, 1);
    for (size_t i = 0; i < net->graph.n_nodes; i++)
        covered[net->graph.nodes[i].op_id] = 1;
    free(x);
    free(weights);
    free(embedded);
}

/* ---- Operators ----------------------------------------------------------------------------- */

static sis__rng rng;

/* A graph around one operator: x (rows, ...) and the parameters p, q, s that it may use. */
typedef struct {
    const char *name;
    sis_net_shape x;
    void (*add)(sis_net_builder *b); /* from x to y */
} operator_case;

static void run_operator(const operator_case *c) {
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new(c->name);
    sis__rng_init(&rng, 77);
    sis_net_add_input(b, "x", 0, &c->x);
    c->add(b);
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != 0)
        fail_msg("%s: %s", c->name, sis_error_detail());
    check_network(c->name, net, c->x.dims[0] == 0 ? 3 : 1, 5);
    sis_net_free(net);
}

static void param(sis_net_builder *b, const char *name, const sis_net_shape *s) {
    add_random(b, name, s, &rng, 0.6);
}

/* A parameter of numbers well above zero. */
static void positive(sis_net_builder *b, const char *name, size_t n) {
    float v[64];
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(0.6 + sis__rng_uniform(&rng));
    sis_net_add_param(b, name, SHAPE(n), v);
}

#define NODE(op, in, out) sis_net_add_node(b, op, in, out)
#define INTS(name, ...)                                                                            \
    sis_net_attr_ints(b, name, (int64_t[]){__VA_ARGS__},                                           \
                      sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define CONSTANT(name, ...)                                                                        \
    sis_net_add_ints(b, name, SHAPE(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),           \
                     (int64_t[]){__VA_ARGS__})

static void conv_1d(sis_net_builder *b) {
    param(b, "w", SHAPE(3, 2, 3));
    param(b, "q", SHAPE(3));
    NODE("Conv", "x w q", "y");
    INTS("pads", 2, 1);
    INTS("dilations", 2);
}

static void conv_2d(sis_net_builder *b) {
    param(b, "w", SHAPE(4, 1, 3, 2));
    NODE("Conv", "x w", "y");
    INTS("strides", 2, 1);
    INTS("pads", 1, 0, 1, 1);
    sis_net_attr_int(b, "group", 2);
}

static void conv_3d(sis_net_builder *b) {
    param(b, "w", SHAPE(2, 1, 2, 2, 2));
    NODE("Conv", "x w", "y");
}

static void max_pool(sis_net_builder *b) {
    NODE("MaxPool", "x", "y");
    INTS("kernel_shape", 3, 2);
    INTS("pads", 1, 0, 1, 1);
    INTS("strides", 2, 1);
}

static void average_pool(sis_net_builder *b) {
    NODE("AveragePool", "x", "y");
    INTS("kernel_shape", 3, 2);
    INTS("pads", 1, 0, 1, 1);
    sis_net_attr_int(b, "count_include_pad", 1);
}

static void global_pools(sis_net_builder *b) {
    NODE("GlobalMaxPool", "x", "m");
    NODE("GlobalAveragePool", "x", "a");
    NODE("Concat", "m a", "y");
    sis_net_attr_int(b, "axis", 1);
}

static void gemm(sis_net_builder *b) {
    param(b, "w", SHAPE(5, 4));
    param(b, "q", SHAPE(1, 4));
    NODE("Gemm", "x w q", "y");
    sis_net_attr_float(b, "alpha", 0.7f);
    sis_net_attr_float(b, "beta", 1.3f);
}

static void gemm_turned(sis_net_builder *b) { /* the whole of x is one row */
    param(b, "w", SHAPE(4, 3));
    param(b, "q", SHAPE(2, 1));
    NODE("Gemm", "x w q", "y");
    sis_net_attr_int(b, "transA", 1);
    sis_net_attr_int(b, "transB", 1);
}

static void matmul(sis_net_builder *b) {
    param(b, "w", SHAPE(4, 2));
    NODE("MatMul", "x w", "t");
    NODE("Transpose", "x", "xt");
    INTS("perm", 0, 2, 1);
    NODE("MatMul", "xt x", "g");
    NODE("MatMul", "g w", "h");
    NODE("Concat", "t h", "y");
    sis_net_attr_int(b, "axis", 1);
}

static void matmul_vector(sis_net_builder *b) {
    param(b, "w", SHAPE(3, 1, 4, 2));
    param(b, "q", SHAPE(2));
    NODE("MatMul", "x w", "t");
    NODE("MatMul", "t q", "y");
}

static void arithmetic(sis_net_builder *b) {
    param(b, "p", SHAPE(3, 1));
    positive(b, "q", 4);
    param(b, "s", SHAPE(1));
    NODE("Add", "x p", "a");
    NODE("Sub", "q a", "c");
    NODE("Mul", "c x", "d");
    NODE("Div", "d q", "e");
    NODE("Mul", "e s", "y");
}

static void powers(sis_net_builder *b) {
    float two = 2;
    positive(b, "q", 4);
    sis_net_add_param(b, "two", SHAPE(1), &two);
    NODE("Abs", "x", "a");
    NODE("Add", "a q", "c");
    NODE("Pow", "c q", "d");
    NODE("Mul", "x x", "xx");
    NODE("Add", "d xx", "y");
}

static void extremes(sis_net_builder *b) {
    param(b, "p", SHAPE(4));
    param(b, "q", SHAPE(3, 1));
    NODE("Max", "x p q", "a");
    NODE("Min", "x p", "c");
    NODE("Sum", "a c x", "d");
    NODE("Mean", "d p a", "y");
}

static void prelu(sis_net_builder *b) {
    param(b, "p", SHAPE(3, 1));
    NODE("PRelu", "x p", "y");
}

static void where(sis_net_builder *b) {
    param(b, "p", SHAPE(4));
    param(b, "q", SHAPE(3, 4));
    NODE("Greater", "q p", "c");
    NODE("Where", "c x q", "y");
}

static void functions(sis_net_builder *b) {
    positive(b, "q", 4);
    NODE("Sigmoid", "x", "a");
    NODE("Tanh", "a", "c");
    NODE("Exp", "c", "d");
    NODE("Log", "d", "e");
    NODE("Add", "e q", "f");
    NODE("Sqrt", "f", "g");
    NODE("Reciprocal", "g", "h");
    NODE("Neg", "h", "i");
    NODE("Softplus", "i", "j");
    NODE("Mul", "j x", "y");
}

static void bent_functions(sis_net_builder *b) {
    NODE("Relu", "x", "a");
    NODE("LeakyRelu", "x", "c");
    NODE("Elu", "x", "d");
    sis_net_attr_float(b, "alpha", 1.5f);
    NODE("HardSigmoid", "x", "e");
    sis_net_attr_float(b, "alpha", 0.4f);
    NODE("Clip", "x", "f");
    sis_net_attr_float(b, "min", -0.5f);
    sis_net_attr_float(b, "max", 0.8f);
    NODE("Floor", "x", "g");
    NODE("Ceil", "x", "h");
    NODE("Abs", "x", "i");
    NODE("Cast", "i", "j");
    sis_net_attr_int(b, "to", 1);
    NODE("Sum", "a c d e f g h j", "y");
}

static void softmax(sis_net_builder *b) {
    NODE("Softmax", "x", "a");
    sis_net_attr_int(b, "axis", 1);
    NODE("LogSoftmax", "x", "c");
    sis_net_attr_int(b, "axis", 2);
    NODE("Mul", "a c", "y");
}

static void reductions(sis_net_builder *b) {
    CONSTANT("axis", 1);
    NODE("ReduceMax", "x", "a");
    INTS("axes", 1);
    NODE("ReduceMin", "x", "c");
    INTS("axes", -2);
    NODE("ReduceMean", "x", "d");
    INTS("axes", 1);
    NODE("ReduceSum", "x axis", "e");
    NODE("ReduceProd", "x", "f");
    INTS("axes", 1);
    NODE("Sum", "a c d e f", "y");
}

static void batch_norm(sis_net_builder *b) {
    param(b, "s", SHAPE(3));
    param(b, "p", SHAPE(3));
    param(b, "m", SHAPE(3));
    positive(b, "v", 3);
    NODE("BatchNormalization", "x s p m v", "y");
}

static void tables(sis_net_builder *b) {
    NODE("ml.Scaler", "x", "s");
    sis_net_attr_floats(b, "offset", (float[]){0.5f}, 1);
    sis_net_attr_floats(b, "scale", (float[]){1, 2, 0.5f, 1.5f}, 4);
    NODE("ml.Normalizer", "s", "a");
    sis_net_attr_text(b, "norm", "L2");
    NODE("ml.Normalizer", "s", "c");
    sis_net_attr_text(b, "norm", "L1");
    NODE("ml.LinearRegressor", "a", "d");
    sis_net_attr_floats(b, "coefficients", (float[]){1, -1, 2, 0.5f}, 4);
    NODE("ml.LinearClassifier", "c", "label e");
    sis_net_attr_floats(b, "coefficients", (float[]){1, -1, 2, 0.5f, 0, 1, -2, 1}, 8);
    sis_net_attr_ints(b, "classlabels_ints", (int64_t[]){0, 1}, 2);
    sis_net_attr_text(b, "post_transform", "SOFTMAX");
    NODE("ml.LinearClassifier", "c", "label2 f");
    sis_net_attr_floats(b, "coefficients", (float[]){1, -1, 2, 0.5f}, 4);
    sis_net_attr_ints(b, "classlabels_ints", (int64_t[]){0, 1}, 2);
    sis_net_attr_text(b, "post_transform", "LOGISTIC");
    NODE("ml.ZipMap", "f", "g");
    NODE("Concat", "d e g a", "y");
    sis_net_attr_int(b, "axis", 1);
}

static void normalizer_max(sis_net_builder *b) {
    positive(b, "q", 4);
    NODE("Mul", "x x", "s");
    NODE("Add", "s q", "t");
    NODE("ml.Normalizer", "t", "y");
}

static void views(sis_net_builder *b) {
    CONSTANT("shape", 0, 6, 2);
    CONSTANT("one", 1);
    NODE("Reshape", "x shape", "a");
    NODE("Unsqueeze", "a one", "c");
    NODE("Squeeze", "c one", "d");
    NODE("Identity", "d", "e");
    NODE("Dropout", "e", "f");
    NODE("Flatten", "f", "g");
    NODE("Mul", "g g", "y");
}

static void moves(sis_net_builder *b) {
    CONSTANT("from", 3, 2);
    CONSTANT("to", -5, 0);
    CONSTANT("axes", 2, 1);
    CONSTANT("steps", -2, -1);
    CONSTANT("twice", 1, 1, 2);
    CONSTANT("wide", 1, 2, 4);
    CONSTANT("parts", 1, 3);
    CONSTANT("which", 1, 0, -1);
    NODE("Slice", "x from to axes steps", "a");
    NODE("Tile", "a twice", "c");
    NODE("Expand", "c wide", "d");
    NODE("Split", "d parts", "e f");
    sis_net_attr_int(b, "axis", 2);
    NODE("Gather", "f which", "g");
    sis_net_attr_int(b, "axis", 2);
    NODE("Concat", "g e", "h");
    sis_net_attr_int(b, "axis", 2);
    NODE("Transpose", "h", "i");
    INTS("perm", 0, 2, 1);
    NODE("Mul", "i i", "y");
}

static void pads(sis_net_builder *b) {
    CONSTANT("pads", 0, 1, 2, 0, 0, -1);
    NODE("Pad", "x pads", "a");
    NODE("Pad", "a pads", "c");
    sis_net_attr_text(b, "mode", "reflect");
    NODE("Pad", "c pads", "d");
    sis_net_attr_text(b, "mode", "edge");
    NODE("Mul", "d d", "y");
}

static void lookup(sis_net_builder *b) {
    param(b, "e", SHAPE(5, 3));
    sis_net_add_ints(b, "ids", SHAPE(2, 2), (int64_t[]){4, 0, 0, -2});
    NODE("Gather", "e ids", "g");
    NODE("Mul", "x g", "y");
}

static void lstm_all(sis_net_builder *b) {
    param(b, "w", SHAPE(2, 12, 4));
    param(b, "r", SHAPE(2, 12, 3));
    param(b, "q", SHAPE(2, 24));
    param(b, "h0", SHAPE(2, 2, 3));
    param(b, "c0", SHAPE(2, 2, 3));
    CONSTANT("n", 5, 3);
    NODE("LSTM", "x w r q n h0 c0", "a h c");
    sis_net_attr_text(b, "direction", "bidirectional");
    sis_net_attr_int(b, "hidden_size", 3);
    NODE("ReduceSum", "a", "s");
    NODE("Mul", "h c", "hc");
    NODE("Mul", "hc s", "y");
}

static void lstm_batch_first(sis_net_builder *b) {
    param(b, "w", SHAPE(1, 12, 4));
    param(b, "r", SHAPE(1, 12, 3));
    param(b, "h0", SHAPE(1, 1, 3));
    NODE("LSTM", "x w r - - h0", "y");
    sis_net_attr_text(b, "direction", "reverse");
    sis_net_attr_int(b, "layout", 1);
}

static void gru_all(sis_net_builder *b) {
    param(b, "w", SHAPE(2, 9, 4));
    param(b, "r", SHAPE(2, 9, 3));
    param(b, "q", SHAPE(2, 18));
    param(b, "h0", SHAPE(2, 2, 3));
    CONSTANT("n", 5, 3);
    NODE("GRU", "x w r q n h0", "a h");
    sis_net_attr_text(b, "direction", "bidirectional");
    NODE("ReduceSum", "a", "s");
    NODE("Mul", "h s", "y");
}

static void gru_linear(sis_net_builder *b) {
    param(b, "w", SHAPE(1, 9, 4));
    param(b, "r", SHAPE(1, 9, 3));
    param(b, "q", SHAPE(1, 18));
    CONSTANT("n", 5, 3);
    NODE("GRU", "x w r q n", "a h");
    sis_net_attr_int(b, "linear_before_reset", 1);
    NODE("ReduceSum", "a", "s");
    NODE("Mul", "h s", "y");
}

static const operator_case cases[] = {
    {"Conv 1-D", {3, {0, 2, 9}}, conv_1d},
    {"Conv 2-D", {4, {0, 2, 6, 5}}, conv_2d},
    {"Conv 3-D", {5, {0, 1, 3, 4, 3}}, conv_3d},
    {"MaxPool", {4, {0, 2, 5, 6}}, max_pool},
    {"AveragePool", {4, {0, 2, 5, 6}}, average_pool},
    {"global pools", {4, {0, 3, 4, 5}}, global_pools},
    {"Gemm", {2, {0, 5}}, gemm},
    {"Gemm transposed", {2, {3, 2}}, gemm_turned},
    {"MatMul", {3, {0, 3, 4}}, matmul},
    {"MatMul of vectors", {1, {4}}, matmul_vector},
    {"arithmetic", {3, {0, 3, 4}}, arithmetic},
    {"Pow", {3, {0, 3, 4}}, powers},
    {"Max, Min, Sum, Mean", {3, {0, 3, 4}}, extremes},
    {"PRelu", {3, {0, 3, 4}}, prelu},
    {"Where", {3, {0, 3, 4}}, where},
    {"smooth functions", {2, {0, 4}}, functions},
    {"bent functions", {2, {0, 7}}, bent_functions},
    {"Softmax, LogSoftmax", {3, {0, 3, 4}}, softmax},
    {"reductions", {3, {0, 4, 3}}, reductions},
    {"BatchNormalization", {4, {0, 3, 2, 2}}, batch_norm},
    {"tables", {2, {0, 4}}, tables},
    {"Normalizer by maximum", {2, {0, 4}}, normalizer_max},
    {"views", {3, {0, 3, 4}}, views},
    {"moves", {3, {0, 3, 5}}, moves},
    {"Pad", {3, {0, 3, 5}}, pads},
    {"Gather of a parameter", {4, {0, 2, 2, 3}}, lookup},
    {"LSTM", {3, {5, 2, 4}}, lstm_all},
    {"LSTM, batch first", {3, {0, 5, 4}}, lstm_batch_first},
    {"GRU", {3, {5, 2, 4}}, gru_all},
    {"GRU, linear before reset", {3, {5, 2, 4}}, gru_linear},
};

static void operators_match_differences(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_operator(&cases[i]);
#define CHECK(id, domain, name, op)                                                                \
    if (sis__op_##op.backward && !covered[SIS__OP_##id])                                           \
        fail_msg("no gradient test of %s", name);
    SIS__OPS(CHECK)
#undef CHECK
}

static void networks_match_differences(void **state) {
    (void)state;
    kinks = 1;
    for (size_t i = 0; i < n_families; i++) {
        sis_net *net;
        if (!families[i].trains)
            continue;
        assert_int_equal(families[i].build(3, &net), 0);
        checked = off = 0;
        difference = size = 0;
        check_network(families[i].name, net, 3, 8);
        if (off > checked / 5 || difference > 0.05 * size)
            fail_msg("%s: %zu of %zu gradients are off, by %g of %g", families[i].name, off,
                     checked, difference, size);
        sis_net_free(net);
    }
}

/* ---- Beyond the numbers ---------------------------------------------------------------------- */

static void sums_do_not_depend_on_threads(void **state) {
    (void)state;
    sis_net *net;
    sis__rng r;
    size_t p;
    float *sums[3][8] = {{0}};
    float *rows[3];
    assert_int_equal(families[1].build(1, &net), 0);
    sis__rng_init(&r, 3);
    float *x = random_rows(net, &r, 150, &p);
    for (int jobs = 1; jobs <= 3; jobs++) {
        for (size_t i = 0; i < sis_net_params(net); i++) {
            sis_net_param q;
            sis_net_param_get(net, i, &q);
            sums[jobs - 1][i] = (float *)calloc(q.count, sizeof(float));
        }
        rows[jobs - 1] = (float *)calloc(150 * p, sizeof(float));
        sis_net_batch b = {x, 150, p, 0, jobs};
        sis_net_grad g = {.output = 2, .d_rows = rows[jobs - 1], .d_params = sums[jobs - 1]};
        assert_int_equal(sis_net_gradient(net, &b, &g), 0);
    }
    for (int jobs = 1; jobs <= 3; jobs++) {
        assert_memory_equal(rows[jobs - 1], rows[0], 150 * p * sizeof(float));
        for (size_t i = 0; i < sis_net_params(net); i++) {
            sis_net_param q;
            sis_net_param_get(net, i, &q);
            assert_memory_equal(sums[jobs - 1][i], sums[0][i], q.count * sizeof(float));
        }
    }
    for (int j = 0; j < 3; j++) {
        free(rows[j]);
        for (size_t i = 0; i < 8; i++)
            free(sums[j][i]);
    }
    free(x);
    sis_net_free(net);
}

static void what_has_no_gradient_says_so(void **state) {
    (void)state;
    sis_net *net;
    float x[3] = {0}, dx[3];
    for (size_t i = 0; i < n_families; i++) {
        if (strcmp(families[i].name, "trees") != 0)
            continue;
        assert_int_equal(families[i].build(1, &net), 0);
        sis_net_batch b = {x, 1, 3, 0, 1};
        sis_net_grad g = {.output = 0, .d_rows = dx};
        assert_int_equal(sis_net_gradient(net, &b, &g), SIS_E_UNSUPPORTED);
        g.output = 2;
        assert_int_equal(sis_net_gradient(net, &b, &g), SIS_E_ARGUMENT);
        sis_net_free(net);
    }
    assert_int_equal(families[4].build(1, &net), 0); /* token ids */
    float ids[20] = {0}, d[20];
    sis_net_batch b = {ids, 1, 20, 0, 1};
    sis_net_grad g = {.d_rows = d};
    assert_int_equal(sis_net_gradient(net, &b, &g), SIS_E_UNSUPPORTED);
    assert_non_null(strstr(sis_error_detail(), "embeddings"));
    sis_net_free(net);
}

static int gradient_again(void *ctx) {
    const sis_net *net = (const sis_net *)ctx;
    size_t p = sis_net_values(net);
    float *x = (float *)calloc(p, sizeof *x), *dx = (float *)calloc(p, sizeof *dx);
    int error = SIS_E_NOMEM;
    if (x && dx) {
        sis_net_batch b = {x, 1, p, 0, 1};
        sis_net_grad g = {.d_rows = dx};
        sis__cache_clear(net->cache);
        error = sis_net_gradient(net, &b, &g);
    }
    free(x);
    free(dx);
    return error;
}

static void gradients_survive_failing_allocations(void **state) {
    (void)state;
    sis_net *net;
    assert_int_equal(families[2].build(1, &net), 0);
    assert_true(with_failing_allocations(gradient_again, net) > 5);
    sis_net_free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_match_differences),
        cmocka_unit_test(networks_match_differences),
        cmocka_unit_test(sums_do_not_depend_on_threads),
        cmocka_unit_test(what_has_no_gradient_says_so),
        cmocka_unit_test(gradients_survive_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
