/* SPDX-License-Identifier: MIT
 *
 * A small graph around every operator that has a gradient; see support_net.h.
 */
#include "support_net.h"

#include <stdio.h>
#include <string.h>

#include "support.h"

static sis__rng rng;

static void param(sis_net_builder *b, const char *name, const sis_net_shape *s) {
    add_random(b, name, s, &rng, 0.6);
}

/* A parameter with values well above zero. */
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

static void conv_and_add(sis_net_builder *b) {
    param(b, "w", SHAPE(3, 2, 2, 2));
    param(b, "q", SHAPE(3, 1, 1));
    NODE("Conv", "x w", "s");
    NODE("Add", "q s", "y");
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

static void gemm_turned(sis_net_builder *b) { /* all of x is one row */
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
    NODE("Sum", "d p a", "y");
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

/* Operators that the standard has removed. */
static void old_broadcasting(sis_net_builder *b) {
    param(b, "p", SHAPE(3));
    NODE("Mul", "x p", "y"); /* p along the channels */
    sis_net_attr_int(b, "axis", 1);
    sis_net_attr_int(b, "broadcast", 1);
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

/* Functions of one input that are smooth around 0, their results side by side. */
static void add_functions(sis_net_builder *b, const char *const *names, size_t n) {
    char out[32], list[512] = "";
    for (size_t i = 0; i < n; i++) {
        snprintf(out, sizeof out, "f%zu", i);
        NODE(names[i], "x", out);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? " " : "", out);
    }
    NODE("Concat", list, "y");
    sis_net_attr_int(b, "axis", 1);
}

static void more_functions(sis_net_builder *b) {
    static const char *const names[] = {"Selu",  "Celu",     "HardSwish", "Mish",
                                        "Swish", "Gelu",     "Erf",       "Sin",
                                        "Cos",   "Softsign", "Round",     "ms.QuickGelu"};
    add_functions(b, names, sizeof names / sizeof *names);
}

static void gelu_tanh(sis_net_builder *b) {
    NODE("Gelu", "x", "y");
    sis_net_attr_text(b, "approximate", "tanh");
}

/* Step functions. */
static void bounded_functions(sis_net_builder *b) {
    float four = 4;
    sis_net_add_param(b, "four", SHAPE(1), &four);
    NODE("Shrink", "x", "f4");
    sis_net_attr_float(b, "lambd", 0.05f);
    sis_net_attr_float(b, "bias", 0.1f);
    NODE("ThresholdedRelu", "x", "f5");
    sis_net_attr_float(b, "alpha", 0.05f);
    NODE("CastLike", "x four", "f7");
    NODE("Concat", "f4 f5 f7", "y");
    sis_net_attr_int(b, "axis", 1);
}

static void remainders(sis_net_builder *b) {
    float seven = 7;
    sis_net_add_param(b, "seven", SHAPE(1), &seven);
    NODE("Add", "x seven", "l");
    NODE("Mod", "l seven", "y");
    sis_net_attr_int(b, "fmod", 1);
}

static void more_reductions(sis_net_builder *b) {
    NODE("ReduceL2", "x", "c");
    INTS("axes", 2);
    NODE("ReduceSumSquare", "x", "d");
    INTS("axes", 2);
    NODE("Concat", "c d", "y");
    sis_net_attr_int(b, "axis", 2);
}

static void layer_norms(sis_net_builder *b) {
    param(b, "w", SHAPE(6));
    param(b, "q", SHAPE(6));
    NODE("LayerNormalization", "x w q", "a");
    NODE("RMSNormalization", "a w", "d");
    NODE("SimplifiedLayerNormalization", "d q", "e");
    NODE("Add", "a e", "y");
}

static void skip_norms(sis_net_builder *b) {
    param(b, "w", SHAPE(6));
    param(b, "q", SHAPE(6));
    param(b, "e", SHAPE(6));
    param(b, "k", SHAPE(1, 2, 6));
    NODE("ms.SkipLayerNormalization", "x k w q e", "a - - s");
    NODE("ms.SkipSimplifiedLayerNormalization", "a s w e", "y");
}

static void lowered_attention(sis_net_builder *b) {
    param(b, "m", SHAPE(3, 3));
    param(b, "c", SHAPE(1, 3, 2));
    param(b, "s", SHAPE(1, 3, 2));
    NODE("RotaryEmbedding", "x c s", "t");
    sis_net_attr_int(b, "num_heads", 2);
    NODE("Attention", "t x x m", "y");
    sis_net_attr_int(b, "q_num_heads", 2);
    sis_net_attr_int(b, "kv_num_heads", 2);
    sis_net_attr_int(b, "is_causal", 1);
}

static void sums_of_products(sis_net_builder *b) {
    param(b, "w", SHAPE(4, 3));
    param(b, "v", SHAPE(2, 3));
    NODE("Einsum", "x w", "a");
    sis_net_attr_text(b, "equation", "bij,jk->bki");
    NODE("Einsum", "a a", "c");
    sis_net_attr_text(b, "equation", "bki , bji -> bkj");
    NODE("Einsum", "v c", "d");
    sis_net_attr_text(b, "equation", "mk,bkj->jbm");
    NODE("Einsum", "d", "y");
    sis_net_attr_text(b, "equation", "jbm->bjm");
}

static void fused_gelus(sis_net_builder *b) {
    param(b, "w", SHAPE(4));
    NODE("ms.BiasGelu", "x w", "a");
    NODE("ms.FastGelu", "x w", "c");
    NODE("ms.Gelu", "a", "d");
    NODE("Mul", "c d", "y");
}

static void channel_norms(sis_net_builder *b) {
    param(b, "w", SHAPE(4));
    param(b, "q", SHAPE(4));
    NODE("InstanceNormalization", "x w q", "a");
    NODE("GroupNormalization", "a w q", "y");
    sis_net_attr_int(b, "num_groups", 2);
}

static void picks(sis_net_builder *b) {
    sis_net_add_ints(b, "i", SHAPE(1, 2, 3), (int64_t[]){1, 0, 2, 2, 1, -1});
    sis_net_add_ints(b, "t", SHAPE(2, 3), (int64_t[]){0, 1, 2, 0, 0, 1});
    NODE("GatherElements", "x i", "a");
    sis_net_attr_int(b, "axis", 1);
    NODE("GatherND", "x t", "c");
    NODE("ReduceSum", "c", "s");
    NODE("Mul", "a s", "y");
}

static void rearrangements(sis_net_builder *b) {
    CONSTANT("axis", 2);
    NODE("CumSum", "x axis", "c");
    sis_net_attr_int(b, "exclusive", 1);
    NODE("Trilu", "c", "d");
    NODE("Mul", "d d", "y");
}

static void columns(sis_net_builder *b) {
    CONSTANT("c", 2, 0);
    NODE("ml.ArrayFeatureExtractor", "x c", "a");
    NODE("ml.Imputer", "x", "d");
    sis_net_attr_floats(b, "imputed_value_floats", (float[]){0.5f}, 1);
    sis_net_attr_float(b, "replaced_value_float", 100);
    NODE("ml.FeatureVectorizer", "a d", "y");
}

/* Operators that ONNX Runtime's optimizer writes. */
static void lowered_operators(sis_net_builder *b) {
    param(b, "w", SHAPE(3, 2));
    param(b, "v", SHAPE(4, 3));
    param(b, "q", SHAPE(4));
    NODE("ms.FusedMatMul", "x w", "a");
    sis_net_attr_int(b, "transA", 1);
    sis_net_attr_float(b, "alpha", 0.7f);
    NODE("ms.FusedMatMul", "a v", "c");
    sis_net_attr_int(b, "transA", 1);
    sis_net_attr_int(b, "transB", 1);
    NODE("Add", "c q", "d");
    NODE("Tanh", "d", "y");
}

/* The same over the axis before the rows of a matrix. */
static void fused_batches(sis_net_builder *b) {
    param(b, "w", SHAPE(2, 4, 3));
    NODE("ms.FusedMatMul", "x w", "a");
    sis_net_attr_int(b, "transBatchA", 1);
    NODE("Tanh", "a", "y");
}

const operator_case operator_cases[] = {
    {"Conv 1-D", {3, {0, 2, 9}}, conv_1d},
    {"Conv 2-D", {4, {0, 2, 6, 5}}, conv_2d},
    {"Conv, and a bias added", {4, {0, 2, 3, 4}}, conv_and_add},
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
    {"Max, Min, Sum", {3, {0, 3, 4}}, extremes},
    {"PRelu", {3, {0, 3, 4}}, prelu},
    {"Where", {3, {0, 3, 4}}, where},
    {"smooth functions", {2, {0, 4}}, functions},
    {"bent functions", {2, {0, 7}}, bent_functions},
    {"Softmax, LogSoftmax", {3, {0, 3, 4}}, softmax},
    {"reductions", {3, {0, 4, 3}}, reductions},
    {"BatchNormalization", {4, {0, 3, 2, 2}}, batch_norm},
    {"broadcasting of old files", {4, {0, 3, 3, 2}}, old_broadcasting},
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
    {"more functions", {2, {0, 4}}, more_functions},
    {"Gelu by tanh", {2, {0, 4}}, gelu_tanh},
    {"functions with bounds", {2, {0, 5}}, bounded_functions},
    {"Mod", {2, {0, 5}}, remainders},
    {"more reductions", {3, {0, 3, 4}}, more_reductions},
    {"LayerNormalization and its kin", {3, {0, 2, 6}}, layer_norms},
    {"SkipLayerNormalization and its kin", {3, {0, 2, 6}}, skip_norms},
    {"attention", {3, {0, 3, 8}}, lowered_attention},
    {"Einsum", {3, {0, 2, 4}}, sums_of_products},
    {"fused Gelus", {2, {0, 4}}, fused_gelus},
    {"normalizations of channels", {4, {0, 4, 2, 3}}, channel_norms},
    {"picks", {3, {1, 3, 3}}, picks},
    {"rearrangements", {4, {0, 4, 2, 3}}, rearrangements},
    {"columns", {2, {0, 4}}, columns},
    {"lowered", {3, {0, 3, 3}}, lowered_operators},
    {"FusedMatMul of batches", {3, {3, 2, 4}}, fused_batches},
};
const size_t n_operator_cases = sizeof operator_cases / sizeof *operator_cases;

int build_operator(const operator_case *c, sis_net **out) {
    sis_net_builder *b = sis_net_builder_new(c->name);
    sis__rng_init(&rng, 77);
    sis_net_add_input(b, "x", 0, &c->x);
    c->add(b);
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}
